// profiler_bindings.cpp - the finished capture as Python values, for torch_neuronx.profiling.
#include <pybind11/pybind11.h>

#include "bindings.h"
#include "profiler.h"
#include "profiler_config.h"

namespace py = pybind11;

namespace
{

py::dict op_dict(const osc_capture_op &op)
{
    py::dict d;
    d["kind"] = op.kind;
    d["device"] = op.device;
    d["stream"] = op.stream;
    d["name"] = op.name;
    d["cache_key"] = op.cache_key;
    d["correlation"] = op.correlation;
    d["thread_id"] = op.thread_id;
    d["sequence"] = op.sequence;
    d["exec_id"] = op.exec_id;
    d["neff_hash"] = op.neff_hash;
    d["enter_ns"] = op.enter_ns;
    d["submit_ns"] = op.submit_ns;
    d["start_ns"] = op.start_ns;
    d["end_ns"] = op.end_ns;
    d["launch_ns"] = op.launch_ns;
    d["body_ns"] = op.body_ns;
    d["bytes"] = op.bytes;
    return d;
}

// None before the first window; otherwise what the exporter needs, copied.
py::object last_capture()
{
    const auto finished = last_finished_capture();
    if (!finished)
        return py::none();
    py::dict d;
    d["id"] = finished->id;
    d["error"] = finished->error;
    d["correlated"] = finished->correlated;
    py::list ops;
    if (finished->capture) {
        uint64_t count = 0;
        const osc_capture_op *records = osc_capture_ops(finished->capture, &count);
        for (uint64_t i = 0; i < count; i++)
            ops.append(op_dict(records[i]));
        d["dir"] = osc_capture_dir(finished->capture);
        d["dropped"] = osc_capture_dropped(finished->capture);
        d["device_json"] = osc_capture_device_json(finished->capture);
    } else {
        d["dir"] = "";
        d["dropped"] = 0;
        d["device_json"] = "";
    }
    d["ops"] = ops;
    return d;
}

void write_manifest(const std::string &dir, const std::string &facts_json)
{
    osc_err err{};
    if (osc_capture_write_manifest(dir.c_str(), facts_json.c_str(), &err) != OSC_OK) {
        PyErr_SetString(PyExc_OSError, (std::string(err.input) + ": " + err.message).c_str());
        throw py::error_already_set();
    }
}

py::dict config_dict(const std::string &text)
{
    const ProfilerConfig config = parse_profiler_config(text);
    py::dict d;
    d["modes"] = config.modes;
    d["profile_output_dir"] = config.output_dir;
    py::list cores, warnings;
    for (const uint32_t core : config.cores)
        cores.append(core);
    for (const std::string &warning : config.warnings)
        warnings.append(warning);
    d["cores"] = cores;
    d["warnings"] = warnings;
    d["max_events_per_nc"] = config.max_events_per_nc;
    d["neff_cache_dir"] = config.neff_cache_dir;
    d["precache_node_info"] = config.precache_node_info;
    d["correlate_device_time"] = config.correlate_device_time;
    return d;
}

} // namespace

void bind_profiler(PyObject *module)
{
    auto m = py::reinterpret_borrow<py::module_>(module);
    m.def("_last_capture", &last_capture, "The newest finished capture window as a dict, or None.");
    m.def("_is_profiling", &is_profiling, "True while a profile with device neuron is recording.");
    m.def("_set_capture_facts", &set_capture_facts,
          "JSON object that later captures put in run.json.");
    m.def("_write_manifest", &write_manifest, py::arg("dir"), py::arg("facts_json"),
          "Writes run.json anew over every file in a session directory.");
    m.def("_parse_profiler_config", &config_dict,
          "How the Kineto session reads a custom config string.");
}
