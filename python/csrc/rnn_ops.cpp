// LSTM and GRU cells. PyTorch asks every device beside the CPU for fused cells, which have no CPU
// kernel, so the generic fallback cannot serve them. They are written out in operators the device
// has.
//
// Registered above autograd: the gradient is that of the parts, and the workspace for a fused
// backward stays undefined. Rejected: the fused backward kernels too, twice the formulas for the
// same launches.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <vector>

namespace osc
{
namespace
{

using Bias = std::optional<at::Tensor>;

at::Tensor with_bias(const at::Tensor &gates, const Bias &bias)
{
    return bias.has_value() && bias->defined() ? gates + *bias : gates;
}

// Gates in the order input, forget, cell, output.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor &input_gates,
                                                         const at::Tensor &hidden_gates,
                                                         const at::Tensor &cx,
                                                         const Bias &input_bias,
                                                         const Bias &hidden_bias)
{
    const at::Tensor gates =
        with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias);
    const std::vector<at::Tensor> part = gates.chunk(4, 1);
    const at::Tensor cy = at::sigmoid(part[1]) * cx + at::sigmoid(part[0]) * at::tanh(part[2]);
    return {at::sigmoid(part[3]) * at::tanh(cy), cy, at::Tensor()};
}

// Gates in the order reset, update, new.
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor &input_gates,
                                            const at::Tensor &hidden_gates, const at::Tensor &hx,
                                            const Bias &input_bias, const Bias &hidden_bias)
{
    const std::vector<at::Tensor> in = with_bias(input_gates, input_bias).chunk(3, 1);
    const std::vector<at::Tensor> hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
    const at::Tensor reset = at::sigmoid(in[0] + hidden[0]);
    const at::Tensor update = at::sigmoid(in[1] + hidden[1]);
    const at::Tensor fresh = at::tanh(in[2] + reset * hidden[2]);
    return {fresh + update * (hx - fresh), at::Tensor()};
}

void implement(torch::Library &m)
{
    m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
    m.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m)
{
    implement(m);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    implement(m);
}

} // namespace
} // namespace osc
