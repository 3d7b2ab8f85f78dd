// torch_neuronx._C: what the Python face of the adapter calls. Translation only.
//
// Everything that may wait for the device releases the interpreter lock. Errors arrive as the
// exceptions that PyTorch would raise (runtime.cpp); c10 errors carry no C++ backtrace here.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>

#include <string>

#include "backward_threads.h"
#include "bindings.h"
#include "fallback.h"
#include "generator.h"
#include "launch.h"
#include "runtime.h"

#include <c10/core/DeviceType.h>

namespace py = pybind11;
using NoGil = py::call_guard<py::gil_scoped_release>;

namespace osc
{
namespace
{

py::dict info()
{
    osc_nrt_info i{};
    i.size = sizeof i;
    Err err;
    check(osc_nrt_get_info(&i, err), err);
    py::dict d;
    d["instance_type"] = i.instance_type;
    d["instance_id"] = i.instance_id;
    d["device_count"] = i.device_count;
    d["hbm_bytes"] = i.hbm_bytes;
    d["is_virtual"] = i.is_virtual;
    return d;
}

py::dict memory(int device)
{
    ensure_started();
    osc_nrt_memory m{};
    m.size = sizeof m;
    Err err;
    check(osc_nrt_memory_stats(resolve_device(static_cast<c10::DeviceIndex>(device)), &m, err),
          err);
    py::dict d;
    d["capacity"] = m.capacity;
    d["allocated"] = m.allocated;
    d["peak_allocated"] = m.peak_allocated;
    d["reserved"] = m.reserved;
    d["peak_reserved"] = m.peak_reserved;
    d["alloc_count"] = m.alloc_count;
    d["free_count"] = m.free_count;
    d["oom_count"] = m.oom_count;
    d["total_allocated_bytes"] = m.total_allocated_bytes;
    d["total_freed_bytes"] = m.total_freed_bytes;
    return d;
}

// At interpreter exit, without its lock.
void shutdown()
{
    settle_backward_threads();
    osc_nrt_shutdown();
}

py::dict cache_stats()
{
    osc_nrt_cache_stats s{};
    s.size = sizeof s;
    osc_nrt_get_cache_stats(&s);
    py::dict d;
    d["memory_hits"] = s.memory_hits;
    d["memory_misses"] = s.memory_misses;
    d["disk_hits"] = s.disk_hits;
    d["disk_misses"] = s.disk_misses;
    d["compilations"] = s.compilations;
    d["compile_ns"] = s.compile_ns;
    d["unsupported"] = s.unsupported;
    return d;
}

c10::DeviceIndex checked(int device)
{
    const int count = device_count();
    if (device < 0 || device >= count) {
        throw py::value_error("Invalid device id: " + std::to_string(device) +
                              ". Valid range is 0 to " + std::to_string(count - 1));
    }
    return static_cast<c10::DeviceIndex>(device);
}

void synchronize(int device)
{
    ensure_started();
    Err err;
    check(osc_nrt_synchronize(device < 0 ? current_device() : checked(device), err), err);
}

py::object generator_object(int device)
{
    return py::reinterpret_steal<py::object>(THPGenerator_Wrap(default_generator(checked(device))));
}

void bind_state(py::module_ &m)
{
    m.def("_info", &info, "Instance type, devices and memory, without starting the runtime.");
    m.def("_init", &ensure_started);
    m.def("_is_initialized", &osc_nrt_is_initialized);
    m.def("_in_bad_fork", &osc_nrt_in_bad_fork);
    m.def("_shutdown", &shutdown, NoGil());
    m.def("_device_count", [] { return static_cast<int>(device_count()); });
    m.def("_current_device", [] { return static_cast<int>(current_device()); });
    m.def("_exchange_device",
          [](int device) { return static_cast<int>(exchange_device(checked(device))); });
    m.def("_synchronize", &synchronize, py::arg("device"), NoGil());
    m.def("_default_generator", &generator_object, py::arg("device"));
    m.def("_set_bake_scalars", &set_bake_scalars);
    m.def("_bake_scalars", &bake_scalars);
}

void bind_memory(py::module_ &m)
{
    m.def("_memory_stats", &memory, py::arg("device"));
    m.def("_memory_reset_peak", [](int d) { osc_nrt_memory_reset_peak(checked(d)); });
    m.def("_memory_reset_totals", [](int d) { osc_nrt_memory_reset_totals(checked(d)); });
    m.def("_empty_cache", &osc_nrt_empty_cache, NoGil());
}

void bind_tracking(py::module_ &m)
{
    m.def("_cache_stats", &cache_stats);
    m.def("_fallback_counts", &fallback_counts, "[(operator, times it ran on the CPU)], sorted.");
    m.def("_executed_ops", &Site::executed, "Operators that ran on a device, sorted.");
    m.def("_clear_op_tracking", [] {
        clear_fallbacks();
        Site::clear();
    });
}

} // namespace
} // namespace osc

PYBIND11_MODULE(_C, m)
{
    m.doc() = "PyTorch's door to the virtual NeuronCore; use torch.neuron and torch_neuronx.";
    py::register_local_exception_translator([](std::exception_ptr p) {
        try {
            if (p) {
                std::rethrow_exception(p);
            }
        } catch (const c10::OutOfMemoryError &e) {
            PyErr_SetString(py::module_::import("torch").attr("OutOfMemoryError").ptr(),
                            e.what_without_backtrace());
        } catch (const c10::Error &e) {
            PyErr_SetString(PyExc_RuntimeError, e.what_without_backtrace());
        }
    });
    c10::register_privateuse1_backend("neuron");
    osc::bind_state(m);
    osc::bind_memory(m);
    osc::bind_tracking(m);
    bind_profiler(m.ptr());
    bind_compiled_graph(m.ptr());
}
