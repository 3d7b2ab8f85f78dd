// Autocast for device type neuron: PyTorch's own lists of operators and policies.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast
{ // the macros name things of this namespace
namespace
{

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m)
{
#define OSC_LOWER(...)      KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define OSC_FP32(...)       KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define OSC_FP32_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define OSC_PROMOTE(...)    KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
    AT_FORALL_LOWER_PRECISION_FP(OSC_LOWER)
    AT_FORALL_FP32(OSC_FP32)
    AT_FORALL_FP32_SET_OPT_DTYPE(OSC_FP32_DTYPE)
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
    AT_FORALL_PROMOTE(OSC_PROMOTE)
    KERNEL_PRIVATEUSEONE(cat, promote)
    KERNEL_PRIVATEUSEONE(stack, promote)
#undef OSC_LOWER
#undef OSC_FP32
#undef OSC_FP32_DTYPE
#undef OSC_PROMOTE
}

} // namespace
} // namespace at::autocast
