// Elementwise operators of one tensor, and those that take immediates besides.
#include "structured.h"

#include <ATen/ops/acos_meta.h>
#include <ATen/ops/acos_ops.h>
#include <ATen/ops/acosh_meta.h>
#include <ATen/ops/acosh_ops.h>
#include <ATen/ops/addcdiv_meta.h>
#include <ATen/ops/addcdiv_ops.h>
#include <ATen/ops/addcmul_meta.h>
#include <ATen/ops/addcmul_ops.h>
#include <ATen/ops/asin_meta.h>
#include <ATen/ops/asin_ops.h>
#include <ATen/ops/asinh_meta.h>
#include <ATen/ops/asinh_ops.h>
#include <ATen/ops/atan_meta.h>
#include <ATen/ops/atan_ops.h>
#include <ATen/ops/atanh_meta.h>
#include <ATen/ops/atanh_ops.h>
#include <ATen/ops/bitwise_not_meta.h>
#include <ATen/ops/bitwise_not_ops.h>
#include <ATen/ops/ceil_meta.h>
#include <ATen/ops/ceil_ops.h>
#include <ATen/ops/clamp_meta.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/clamp_max_meta.h>
#include <ATen/ops/clamp_max_ops.h>
#include <ATen/ops/clamp_min_meta.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/cos_meta.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/cosh_meta.h>
#include <ATen/ops/cosh_ops.h>
#include <ATen/ops/elu_meta.h>
#include <ATen/ops/elu_ops.h>
#include <ATen/ops/erf_meta.h>
#include <ATen/ops/erf_ops.h>
#include <ATen/ops/erfc_meta.h>
#include <ATen/ops/erfc_ops.h>
#include <ATen/ops/erfinv_meta.h>
#include <ATen/ops/erfinv_ops.h>
#include <ATen/ops/exp_meta.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/exp2_meta.h>
#include <ATen/ops/exp2_ops.h>
#include <ATen/ops/expm1_meta.h>
#include <ATen/ops/expm1_ops.h>
#include <ATen/ops/floor_meta.h>
#include <ATen/ops/floor_ops.h>
#include <ATen/ops/fmax_meta.h>
#include <ATen/ops/fmax_ops.h>
#include <ATen/ops/fmin_meta.h>
#include <ATen/ops/fmin_ops.h>
#include <ATen/ops/frac_meta.h>
#include <ATen/ops/frac_ops.h>
#include <ATen/ops/gelu_meta.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/hardsigmoid_meta.h>
#include <ATen/ops/hardsigmoid_ops.h>
#include <ATen/ops/isneginf_meta.h>
#include <ATen/ops/isneginf_ops.h>
#include <ATen/ops/isposinf_meta.h>
#include <ATen/ops/isposinf_ops.h>
#include <ATen/ops/leaky_relu_meta.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/lerp_meta.h>
#include <ATen/ops/lerp_ops.h>
#include <ATen/ops/log_meta.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/log10_meta.h>
#include <ATen/ops/log10_ops.h>
#include <ATen/ops/log1p_meta.h>
#include <ATen/ops/log1p_ops.h>
#include <ATen/ops/log2_meta.h>
#include <ATen/ops/log2_ops.h>
#include <ATen/ops/logaddexp_meta.h>
#include <ATen/ops/logaddexp_ops.h>
#include <ATen/ops/logaddexp2_meta.h>
#include <ATen/ops/logaddexp2_ops.h>
#include <ATen/ops/mish_meta.h>
#include <ATen/ops/mish_ops.h>
#include <ATen/ops/neg_meta.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/reciprocal_meta.h>
#include <ATen/ops/reciprocal_ops.h>
#include <ATen/ops/round_meta.h>
#include <ATen/ops/round_ops.h>
#include <ATen/ops/rsqrt_meta.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sgn_meta.h>
#include <ATen/ops/sgn_ops.h>
#include <ATen/ops/sigmoid_meta.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/sign_meta.h>
#include <ATen/ops/sign_ops.h>
#include <ATen/ops/signbit_meta.h>
#include <ATen/ops/signbit_ops.h>
#include <ATen/ops/silu_meta.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sin_meta.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/sinh_meta.h>
#include <ATen/ops/sinh_ops.h>
#include <ATen/ops/softplus_meta.h>
#include <ATen/ops/softplus_ops.h>
#include <ATen/ops/softshrink_meta.h>
#include <ATen/ops/softshrink_ops.h>
#include <ATen/ops/sqrt_meta.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/tan_meta.h>
#include <ATen/ops/tan_ops.h>
#include <ATen/ops/tanh_meta.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/threshold_meta.h>
#include <ATen/ops/threshold_ops.h>
#include <ATen/ops/tril_meta.h>
#include <ATen/ops/tril_ops.h>
#include <ATen/ops/triu_meta.h>
#include <ATen/ops/triu_ops.h>
#include <ATen/ops/trunc_meta.h>
#include <ATen/ops/trunc_ops.h>

namespace osc
{

template <> inline constexpr bool float_only<at::_ops::lerp_Scalar> = true;
template <> inline constexpr bool float_only<at::_ops::lerp_Tensor> = true;
template <> inline constexpr bool float_only<at::_ops::gelu> = true;
template <> inline constexpr bool float_only<at::_ops::silu> = true;
template <> inline constexpr bool float_only<at::_ops::mish> = true;
template <> inline constexpr bool float_only<at::_ops::softplus> = true;
template <> inline constexpr bool float_only<at::_ops::softshrink> = true;
template <> inline constexpr bool float_only<at::_ops::elu> = true;
template <> inline constexpr bool float_only<at::_ops::leaky_relu> = true;
template <> inline constexpr bool float_only<at::_ops::hardsigmoid> = true;
template <> inline constexpr bool float_only<at::_ops::logaddexp> = true;
template <> inline constexpr bool float_only<at::_ops::logaddexp2> = true;

namespace
{

namespace ops = at::_ops;
namespace meta = at::meta;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    OSC_BIND3(m, neg);
    OSC_BIND3(m, exp);
    OSC_BIND3(m, exp2);
    OSC_BIND3(m, expm1);
    OSC_BIND3(m, log);
    OSC_BIND3(m, log2);
    OSC_BIND3(m, log10);
    OSC_BIND3(m, log1p);
    OSC_BIND3(m, sqrt);
    OSC_BIND3(m, rsqrt);
    OSC_BIND3(m, reciprocal);
    OSC_BIND3(m, sin);
    OSC_BIND3(m, cos);
    OSC_BIND3(m, tan);
    OSC_BIND3(m, sinh);
    OSC_BIND3(m, cosh);
    OSC_BIND3(m, tanh);
    OSC_BIND3(m, sigmoid);
    OSC_BIND3(m, erf);
    OSC_BIND3(m, erfc);
    OSC_BIND3(m, erfinv);
    OSC_BIND3(m, floor);
    OSC_BIND3(m, ceil);
    OSC_BIND3(m, round);
    OSC_BIND3(m, trunc);
    OSC_BIND3(m, frac);
    OSC_BIND3(m, sign);
    OSC_BIND3(m, sgn);
    OSC_BIND3(m, asin);
    OSC_BIND3(m, acos);
    OSC_BIND3(m, atan);
    OSC_BIND3(m, asinh);
    OSC_BIND3(m, acosh);
    OSC_BIND3(m, atanh);
    OSC_BIND3(m, silu);
    OSC_BIND3(m, mish);
    OSC_BIND3(m, hardsigmoid);

    OSC_BIND3(m, gelu);
    OSC_BIND3(m, leaky_relu);
    OSC_BIND3(m, elu);
    OSC_BIND3(m, threshold);
    OSC_BIND3(m, clamp);
    OSC_BIND3(m, clamp_min);
    OSC_BIND3(m, clamp_max);
    OSC_BIND3(m, addcmul);
    OSC_BIND3(m, addcdiv);
    OSC_BIND3(m, bitwise_not);
    OSC_BIND3(m, tril);
    OSC_BIND3(m, triu);

    OSC_BIND2(m, signbit);
    OSC_BIND2(m, softplus);
    OSC_BIND2(m, softshrink);
    OSC_BIND2(m, logaddexp);
    OSC_BIND2(m, logaddexp2);
    OSC_BIND2(m, isposinf);
    OSC_BIND2(m, isneginf);
    OSC_BIND2(m, fmax);
    OSC_BIND2(m, fmin);

    OSC_BIND_TENSOR(m, clamp, clamp_Tensor_out, ScalarUse::rounded);
    OSC_BIND_TENSOR(m, clamp_min, clamp_min_Tensor_out, ScalarUse::rounded);
    OSC_BIND_TENSOR(m, clamp_max, clamp_max_Tensor_out, ScalarUse::rounded);
    OSC_BIND_TENSOR(m, lerp, lerp_Tensor_out, ScalarUse::rounded);

    using LerpScalar = meta::structured_lerp_Scalar;
    bind<ops::lerp_Scalar, LerpScalar>(m);
    bind_inplace<ops::lerp_Scalar, ops::lerp__Scalar, LerpScalar>(m);
    bind_out<ops::lerp_Scalar, ops::lerp_Scalar_out, LerpScalar>(m);
}

} // namespace
} // namespace osc
