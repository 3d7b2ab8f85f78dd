// Derivatives of activations and softmax.
#include "structured.h"

#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/elu_backward_meta.h>
#include <ATen/ops/elu_backward_ops.h>
#include <ATen/ops/gelu_backward_meta.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/hardsigmoid_backward_meta.h>
#include <ATen/ops/hardsigmoid_backward_ops.h>
#include <ATen/ops/leaky_relu_backward_meta.h>
#include <ATen/ops/leaky_relu_backward_ops.h>
#include <ATen/ops/logit_backward_meta.h>
#include <ATen/ops/logit_backward_ops.h>
#include <ATen/ops/mse_loss_meta.h>
#include <ATen/ops/mse_loss_ops.h>
#include <ATen/ops/sigmoid_backward_meta.h>
#include <ATen/ops/sigmoid_backward_ops.h>
#include <ATen/ops/silu_backward_meta.h>
#include <ATen/ops/silu_backward_ops.h>
#include <ATen/ops/softplus_backward_meta.h>
#include <ATen/ops/softplus_backward_ops.h>
#include <ATen/ops/tanh_backward_meta.h>
#include <ATen/ops/tanh_backward_ops.h>
#include <ATen/ops/threshold_backward_meta.h>
#include <ATen/ops/threshold_backward_ops.h>

namespace osc
{

template <> inline constexpr bool float_only<at::_ops::gelu_backward> = true;
template <> inline constexpr bool float_only<at::_ops::silu_backward> = true;
template <> inline constexpr bool float_only<at::_ops::sigmoid_backward> = true;
template <> inline constexpr bool float_only<at::_ops::tanh_backward> = true;
template <> inline constexpr bool float_only<at::_ops::elu_backward> = true;
template <> inline constexpr bool float_only<at::_ops::leaky_relu_backward> = true;
template <> inline constexpr bool float_only<at::_ops::hardsigmoid_backward> = true;
template <> inline constexpr bool float_only<at::_ops::softplus_backward> = true;
template <> inline constexpr bool float_only<at::_ops::_softmax_backward_data> = true;
template <> inline constexpr bool float_only<at::_ops::_log_softmax_backward_data> = true;

namespace
{

namespace ops = at::_ops;
namespace meta = at::meta;

#define OSC_BIND_GRAD(m, op)                                               \
    do {                                                                   \
        bind<ops::op, meta::structured_##op>(m);                           \
        bind_out<ops::op, ops::op##_grad_input, meta::structured_##op>(m); \
    } while (0)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    OSC_BIND_GRAD(m, threshold_backward);
    OSC_BIND_GRAD(m, gelu_backward);
    OSC_BIND_GRAD(m, silu_backward);
    OSC_BIND_GRAD(m, sigmoid_backward);
    OSC_BIND_GRAD(m, tanh_backward);
    OSC_BIND_GRAD(m, elu_backward);
    OSC_BIND_GRAD(m, leaky_relu_backward);
    OSC_BIND_GRAD(m, hardsigmoid_backward);
    OSC_BIND_GRAD(m, softplus_backward);
    OSC_BIND_GRAD(m, logit_backward);
    OSC_BIND2(m, _softmax_backward_data);
    OSC_BIND2(m, _log_softmax_backward_data);
    OSC_BIND2(m, mse_loss);
}

} // namespace
} // namespace osc
