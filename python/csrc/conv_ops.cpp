// Convolutions. A backend outside PyTorch is asked for convolution_overrideable, which has no CPU
// kernel, so the generic fallback cannot serve it: these run at::convolution on CPU copies, counted.
#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <torch/library.h>

#include <array>
#include <tuple>

#include "fallback.h"

namespace osc
{
namespace
{

at::Tensor convolution(const at::Tensor &input, const at::Tensor &weight,
                       const std::optional<at::Tensor> &bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups)
{
    count_fallback("aten::convolution_overrideable");
    const std::optional<at::Tensor> cpu_bias =
        bias.has_value() && bias->defined() ? std::optional<at::Tensor>(bias->cpu()) : std::nullopt;
    const at::Tensor out = at::convolution(input.cpu(), weight.cpu(), cpu_bias, stride, padding,
                                           dilation, transposed, output_padding, groups);
    return out.to(input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor &grad, const at::Tensor &input, const at::Tensor &weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> mask)
{
    count_fallback("aten::convolution_backward_overrideable");
    // With a bias gradient asked for, its size is the number of output channels.
    const at::OptionalIntArrayRef bias_size =
        mask[2] ? at::OptionalIntArrayRef(grad.sizes().slice(1, 1)) : std::nullopt;
    const auto [dx, dw, db] =
        at::convolution_backward(grad.cpu(), input.cpu(), weight.cpu(), bias_size, stride, padding,
                                 dilation, transposed, output_padding, groups, mask);
    const auto back = [&](const at::Tensor &t) {
        return t.defined() ? t.to(input.device()) : at::Tensor();
    };
    return {back(dx), back(dw), back(db)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("convolution_overrideable", TORCH_FN(convolution));
    m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
}

} // namespace
} // namespace osc
