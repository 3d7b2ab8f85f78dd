// Everything that no kernel of ours takes runs on the CPU, visibly: each operator is counted and
// listed by torch_neuronx.get_fallback_ops(). The copies to and from the CPU are rows of their own
// in a profile. An operator may ask for the CPU here without ever being registered elsewhere: the
// catch-all registration below covers the whole of aten.
#include "fallback.h"

#include <torch/library.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "launch.h"

namespace osc
{
namespace
{

struct Counts {
    std::mutex mutex; // guards by_name; a leaf lock
    std::map<std::string, uint64_t> by_name;
};

Counts &counts()
{
    static auto *instance = new Counts; // leaked: operators run during interpreter exit too
    return *instance;
}

// torchneuron-face.md 4.2: "1" turns a kernel that could not run into an error.
bool only_unimplemented()
{
    static const bool on = [] {
        const char *v = std::getenv("TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS");
        return v && std::strcmp(v, "1") == 0;
    }();
    return on;
}

// Operators whose sizes and indices may live on the CPU beside device operands, as on other devices
// (indexing by x[i], not index_select and its kin).
bool may_mix(const std::string &name)
{
    static const std::unordered_set<std::string> names = {"aten::index",
                                                          "aten::index_put",
                                                          "aten::index_put_",
                                                          "aten::_index_put_impl_",
                                                          "aten::_unsafe_index",
                                                          "aten::_unsafe_index_put",
                                                          "aten::ctc_loss",
                                                          "aten::_ctc_loss",
                                                          "aten::_ctc_loss_backward",
                                                          "aten::_pack_padded_sequence"};
    return names.count(name) != 0;
}

// The device all operands share. 0-d CPU tensors are numbers and go with anything.
class SameDevice
{
  public:
    void see(const at::Tensor &t)
    {
        if (!t.defined() || (t.is_cpu() && t.dim() == 0)) {
            return;
        }
        if (!first_.has_value()) {
            first_ = t.device();
        }
        TORCH_CHECK(
            *first_ == t.device(),
            "Expected all tensors to be on the same device, but found at least two devices, ",
            *first_, " and ", t.device(), "!");
    }
    void see(const c10::IValue &value)
    {
        if (value.isTensor()) {
            see(value.toTensor());
        } else if (value.isTensorList()) {
            for (const at::Tensor &t : value.toTensorVector()) {
                see(t);
            }
        }
    }

    std::optional<at::Device> device() const
    {
        return first_;
    }

  private:
    std::optional<at::Device> first_;
};

// at::native::cpu_fallback would quietly take CPU tensors beside device tensors.
std::optional<at::Device> common_device(const c10::OperatorHandle &op,
                                        const torch::jit::Stack &stack)
{
    SameDevice same;
    if (!may_mix(op.schema().name())) {
        for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); i++) {
            same.see(stack[i]);
        }
    }
    return same.device();
}

// New results go where the operands are. cpu_fallback looks at the first tensor for that, which may be a
// 0-d CPU tensor (2.0 / x).
void move_results(const c10::OperatorHandle &op, torch::jit::Stack *stack, at::Device device)
{
    const auto &returns = op.schema().returns();
    const size_t begin = stack->size() - returns.size();
    for (size_t i = 0; i < returns.size(); i++) {
        c10::IValue &value = (*stack)[begin + i];
        if (returns[i].alias_info() == nullptr && value.isTensor() && value.toTensor().defined() &&
            value.toTensor().is_cpu()) {
            value = value.toTensor().to(device);
        }
    }
}

} // namespace

void count_fallback(const std::string &name)
{
    Counts &c = counts();
    std::lock_guard<std::mutex> guard(c.mutex);
    c.by_name[name]++;
}

std::vector<std::pair<std::string, uint64_t>> fallback_counts()
{
    Counts &c = counts();
    std::lock_guard<std::mutex> guard(c.mutex);
    return {c.by_name.begin(), c.by_name.end()};
}

void clear_fallbacks()
{
    Counts &c = counts();
    std::lock_guard<std::mutex> guard(c.mutex);
    c.by_name.clear();
}

void counted_fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    const std::string &name = op.schema().name();
    TORCH_CHECK(
        !only_unimplemented() || !Site::known(name),
        "CPU fallback disabled because TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS=1. "
        "Operation ",
        name, " failed to execute on Neuron (no lowering for these operands).");
    const std::optional<at::Device> device = common_device(op, *stack);
    count_fallback(name);
    at::native::cpu_fallback(op, stack);
    if (device.has_value()) {
        move_results(op, stack, *device);
    }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&counted_fallback>());
}

// Composite kernels that look up a device kernel themselves and would find none.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    for (const char *name : {"conj_physical_"}) {
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&counted_fallback>());
    }
}

} // namespace osc
