// compiled_graph.cpp - compiled graphs for Python: build an osc_graph call by call, compile, launch.
//
// One launch is one entry in the profile: it opens a RecordFunction under the graph's name, which also
// makes Kineto push the correlation id that the runtime attaches to the work (pytorch-adapter.md
// section 5). Which nodes form a graph, and what happens to the rest, is Python's business
// (torch_neuronx/compile).
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "opscope/neuron.h"
#include "runtime.h"

namespace py = pybind11;

namespace
{

// torch_neuronx._C.GraphUnsupported: no lowering; the caller runs the nodes one by one instead.
struct GraphUnsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void check(osc_status status, const osc_err &err)
{
    if (status == OSC_EUNSUPPORTED)
        throw GraphUnsupported(err.message);
    osc::check(status, err);
}

// Names travel with work that may outlive every Python object, so they are kept for good.
const char *intern_name(const std::string &name)
{
    static std::mutex mutex;
    static auto *names = new std::set<std::string>();
    const std::lock_guard<std::mutex> lock(mutex);
    return names->insert(name).first->c_str();
}

struct OutputSpec {
    std::vector<int64_t> size, stride;
    at::ScalarType dtype;
};

class CompiledGraph
{
  public:
    CompiledGraph(osc_nrt_program *program, const std::string &name,
                  std::vector<OutputSpec> outputs)
        : program_(program), name_(intern_name(name)), outputs_(std::move(outputs))
    {
    }
    CompiledGraph(const CompiledGraph &) = delete;
    CompiledGraph &operator=(const CompiledGraph &) = delete;
    ~CompiledGraph()
    {
        osc_nrt_program_release(program_);
    }

    std::string name() const
    {
        return name_;
    }

    py::dict info() const
    {
        osc_nrt_program_info info{};
        info.size = sizeof info;
        osc_err err{};
        check(osc_nrt_program_get_info(program_, &info, &err), err);
        py::dict d;
        d["hash"] = info.hash;
        d["body_ns"] = info.body_ns;
        d["instructions"] = info.instructions;
        d["flops"] = info.flops;
        d["from_disk_cache"] = info.from_disk_cache;
        return d;
    }

    // inputs: device tensors in slot order, laid out as compiled. Returns fresh outputs.
    std::vector<at::Tensor> launch(const std::vector<at::Tensor> &inputs)
    {
        RECORD_FUNCTION(name_, c10::ArrayRef<const c10::IValue>());
        const int64_t enter_ns = osc::now_ns();
        const c10::DeviceIndex index =
            inputs.empty() ? osc::current_device() : inputs[0].device().index();
        const c10::Device device(c10::DeviceType::PrivateUse1, index);
        std::vector<void *> addresses;
        addresses.reserve(inputs.size() + outputs_.size());
        for (const at::Tensor &input : inputs) {
            TORCH_CHECK(input.device() == device,
                        "Expected all tensors to be on the same device: graph ", name_,
                        " got one on ", input.device(), " and one on ", device);
            addresses.push_back(input.numel() ? const_cast<void *>(input.const_data_ptr())
                                              : nullptr);
        }
        std::vector<at::Tensor> results = allocate(device, &addresses);
        const osc_nrt_op op = osc::facts(name_, enter_ns);
        osc_err err{};
        check(osc_nrt_launch(index, osc::current_stream(index), program_, addresses.data(),
                             static_cast<uint32_t>(addresses.size()), &op, &err),
              err);
        return results;
    }

  private:
    std::vector<at::Tensor> allocate(c10::Device device, std::vector<void *> *addresses) const
    {
        std::vector<at::Tensor> results;
        results.reserve(outputs_.size());
        for (const OutputSpec &spec : outputs_) {
            results.push_back(at::empty_strided(spec.size, spec.stride,
                                                at::TensorOptions(device).dtype(spec.dtype)));
            addresses->push_back(results.back().numel() ? results.back().mutable_data_ptr()
                                                        : nullptr);
        }
        return results;
    }

    osc_nrt_program *program_;
    const char *name_;
    std::vector<OutputSpec> outputs_;
};

// Builds one graph. Slots: inputs in the order of add_input, then outputs in the order of add_output.
class GraphBuilder
{
  public:
    explicit GraphBuilder(const std::string &name)
        : name_(name), graph_(osc_graph_new(name.c_str()), osc_graph_free)
    {
        if (!graph_)
            throw std::bad_alloc();
    }

    osc_value add_input(uint32_t dtype, const std::vector<int64_t> &size,
                        const std::vector<int64_t> &stride)
    {
        TORCH_CHECK(outputs_.empty(), "all inputs of a graph are added before its first output");
        return add(dtype, size, stride, true, false, inputs_++);
    }

    osc_value add_output(uint32_t dtype, const std::vector<int64_t> &size,
                         const std::vector<int64_t> &stride, const at::ScalarType &torch_dtype)
    {
        const osc_value value =
            add(dtype, size, stride, false, true, inputs_ + static_cast<uint32_t>(outputs_.size()));
        outputs_.push_back({size, stride, torch_dtype});
        return value;
    }

    osc_value add_intermediate(uint32_t dtype, const std::vector<int64_t> &size,
                               const std::vector<int64_t> &stride)
    {
        return add(dtype, size, stride, false, false, OSC_NO_SLOT);
    }

    // args: None, bool, int, float, list of int, ("t", value) or ("ts", [values]), in schema order.
    void add_op(const std::string &name, const py::list &args, const std::vector<osc_value> &outs,
                const std::string &file, uint32_t line)
    {
        std::vector<osc_arg> packed;
        std::vector<std::vector<int64_t>> lists(
            args.size()); // keeps the int lists alive until the call
        for (size_t i = 0; i < args.size(); i++)
            packed.push_back(pack(args[i], &lists[i]));
        osc_graph_op(graph_.get(), name.c_str(), packed.data(),
                     static_cast<uint32_t>(packed.size()), outs.data(),
                     static_cast<uint32_t>(outs.size()));
        if (!file.empty())
            osc_graph_op_source(graph_.get(), file.c_str(), line);
    }

    std::shared_ptr<CompiledGraph> compile()
    {
        osc_nrt_program *program = nullptr;
        osc_err err{};
        osc_status status = OSC_OK;
        {
            const py::gil_scoped_release release;
            osc::ensure_started();
            status = osc_nrt_compile(graph_.get(), &program, &err);
        }
        check(status, err);
        return std::make_shared<CompiledGraph>(program, name_, outputs_);
    }

  private:
    osc_value add(uint32_t dtype, const std::vector<int64_t> &size,
                  const std::vector<int64_t> &stride, bool input, bool output, uint32_t slot)
    {
        const osc_value value = osc_graph_tensor(graph_.get(), static_cast<osc_dtype>(dtype),
                                                 static_cast<uint32_t>(size.size()), size.data(),
                                                 stride.data(), input, output, slot);
        if (value == OSC_NO_VALUE)
            throw GraphUnsupported("a tensor of rank " + std::to_string(size.size()) +
                                   " does not fit a graph");
        return value;
    }

    static osc_arg pack(const py::handle &value, std::vector<int64_t> *ints)
    {
        osc_arg arg{};
        if (value.is_none()) {
            arg.kind = OSC_ARG_NONE;
        } else if (py::isinstance<py::bool_>(value) || py::isinstance<py::int_>(value)) {
            arg.kind = OSC_ARG_INT;
            arg.i = value.cast<int64_t>();
        } else if (py::isinstance<py::float_>(value)) {
            arg.kind = OSC_ARG_FLOAT;
            arg.f = value.cast<double>();
        } else if (py::isinstance<py::tuple>(value)) {
            pack_tensors(value.cast<py::tuple>(), ints, &arg);
        } else {
            *ints = value.cast<std::vector<int64_t>>();
            arg.kind = OSC_ARG_INTS;
            arg.ints = ints->data();
            arg.count = static_cast<uint32_t>(ints->size());
        }
        return arg;
    }

    static void pack_tensors(const py::tuple &tagged, std::vector<int64_t> *ints, osc_arg *arg)
    {
        if (tagged[0].cast<std::string>() == "t") {
            arg->kind = OSC_ARG_TENSOR;
            arg->tensor = tagged[1].cast<osc_value>();
            return;
        }
        *ints = tagged[1].cast<std::vector<int64_t>>();
        arg->kind = OSC_ARG_TENSORS;
        arg->ints = ints->data();
        arg->count = static_cast<uint32_t>(ints->size());
    }

    std::string name_;
    std::unique_ptr<osc_graph, decltype(&osc_graph_free)> graph_;
    uint32_t inputs_ = 0;
    std::vector<OutputSpec> outputs_;
};

std::vector<std::string> op_names()
{
    size_t count = 0;
    const char *const *names = osc_nrt_op_names(&count);
    return std::vector<std::string>(names, names + count);
}

} // namespace

void bind_compiled_graph(PyObject *module)
{
    auto m = py::reinterpret_borrow<py::module_>(module);
    py::register_exception<GraphUnsupported>(m, "GraphUnsupported", PyExc_RuntimeError);
    py::class_<CompiledGraph, std::shared_ptr<CompiledGraph>>(m, "CompiledGraph")
        .def_property_readonly("name", &CompiledGraph::name)
        .def("info", &CompiledGraph::info)
        .def("launch", &CompiledGraph::launch, py::arg("inputs"),
             py::call_guard<py::gil_scoped_release>());
    py::class_<GraphBuilder>(m, "GraphBuilder")
        .def(py::init<const std::string &>(), py::arg("name"))
        .def("add_input", &GraphBuilder::add_input)
        .def("add_output", &GraphBuilder::add_output)
        .def("add_intermediate", &GraphBuilder::add_intermediate)
        .def("add_op", &GraphBuilder::add_op, py::arg("name"), py::arg("args"), py::arg("outs"),
             py::arg("file") = "", py::arg("line") = 0)
        .def("compile", &GraphBuilder::compile);
    m.def("_compiler_ops", &op_names, "Names of the operators with a lowering, sorted.");
}
