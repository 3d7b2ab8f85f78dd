// Elementwise operators of two tensors: arithmetic, comparisons, logic.
#include "structured.h"

#include <ATen/ops/add_meta.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/atan2_meta.h>
#include <ATen/ops/atan2_ops.h>
#include <ATen/ops/bitwise_and_meta.h>
#include <ATen/ops/bitwise_and_ops.h>
#include <ATen/ops/bitwise_or_meta.h>
#include <ATen/ops/bitwise_or_ops.h>
#include <ATen/ops/bitwise_xor_meta.h>
#include <ATen/ops/bitwise_xor_ops.h>
#include <ATen/ops/div_meta.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/eq_meta.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/fmod_meta.h>
#include <ATen/ops/fmod_ops.h>
#include <ATen/ops/ge_meta.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gt_meta.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/le_meta.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/lt_meta.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/maximum_meta.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/minimum_meta.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mul_meta.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/ne_meta.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/pow_meta.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/remainder_meta.h>
#include <ATen/ops/remainder_ops.h>
#include <ATen/ops/sub_meta.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ScalarOps.h>

namespace osc
{
namespace
{

namespace ops = at::_ops;
namespace meta = at::meta;

// x > 2: the number travels like that of x + 2, as the second operand of the Tensor overload.
template <class TensorOp, class TensorInplace, class TensorOut, class M> struct WithNumber {
    static at::Tensor call(const at::Tensor &self, const at::Scalar &other)
    {
        return Functional<TensorOp, M, ScalarUse::rounded>::call(self, wrap(other));
    }
    static at::Tensor &call_inplace(at::Tensor &self, const at::Scalar &other)
    {
        return Inplace<TensorOp, TensorInplace, M, ScalarUse::rounded>::call(self, wrap(other));
    }
    static at::Tensor &call_out(const at::Tensor &self, const at::Scalar &other, at::Tensor &out)
    {
        return Out<TensorOp, TensorOut, M, ScalarUse::rounded>::call(self, wrap(other), out);
    }

  private:
    static at::Tensor wrap(const at::Scalar &s)
    {
        return at::native::wrapped_scalar_tensor(s);
    }
};

#define OSC_BIND_COMPARISON(m, op)                                                      \
    do {                                                                                \
        OSC_BIND_TENSOR(m, op, op##_Tensor_out, ScalarUse::rounded);                    \
        using W = WithNumber<ops::op##_Tensor, ops::op##__Tensor, ops::op##_Tensor_out, \
                             meta::structured_##op##_Tensor>;                           \
        m.impl(#op ".Scalar", TORCH_FN((W::call)));                                     \
        m.impl(#op "_.Scalar", TORCH_FN((W::call_inplace)));                            \
        m.impl(#op ".Scalar_out", TORCH_FN((W::call_out)));                             \
    } while (0)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    OSC_BIND_TENSOR(m, add, add_out, ScalarUse::exact);
    OSC_BIND_TENSOR(m, sub, sub_out, ScalarUse::exact);
    OSC_BIND_TENSOR(m, mul, mul_out, ScalarUse::exact);
    OSC_BIND_TENSOR(m, div, div_out, ScalarUse::exact);
    OSC_BIND_TENSOR(m, fmod, fmod_Tensor_out, ScalarUse::rounded);
    OSC_BIND_TENSOR(m, remainder, remainder_Tensor_out, ScalarUse::rounded);
    OSC_BIND2(m, maximum);
    OSC_BIND2(m, minimum);
    OSC_BIND3(m, atan2);

    using DivMode = meta::structured_div_Tensor_mode;
    constexpr ScalarUse exact = ScalarUse::exact;
    bind<ops::div_Tensor_mode, DivMode, exact>(m);
    bind_inplace<ops::div_Tensor_mode, ops::div__Tensor_mode, DivMode, exact>(m);
    bind_out<ops::div_Tensor_mode, ops::div_out_mode, DivMode, exact>(m);

    using PowTensor = meta::structured_pow_Tensor_Tensor;
    bind<ops::pow_Tensor_Tensor, PowTensor>(m);
    bind_inplace<ops::pow_Tensor_Tensor, ops::pow__Tensor, PowTensor>(m);
    bind_out<ops::pow_Tensor_Tensor, ops::pow_Tensor_Tensor_out, PowTensor>(m);
    using PowScalar = meta::structured_pow_Tensor_Scalar;
    bind<ops::pow_Tensor_Scalar, PowScalar>(m);
    bind_inplace<ops::pow_Tensor_Scalar, ops::pow__Scalar, PowScalar>(m);
    bind_out<ops::pow_Tensor_Scalar, ops::pow_Tensor_Scalar_out, PowScalar>(m);

    OSC_BIND_COMPARISON(m, eq);
    OSC_BIND_COMPARISON(m, ne);
    OSC_BIND_COMPARISON(m, lt);
    OSC_BIND_COMPARISON(m, le);
    OSC_BIND_COMPARISON(m, gt);
    OSC_BIND_COMPARISON(m, ge);

    OSC_BIND_TENSOR(m, bitwise_and, bitwise_and_Tensor_out, ScalarUse::rounded);
    OSC_BIND_TENSOR(m, bitwise_or, bitwise_or_Tensor_out, ScalarUse::rounded);
    OSC_BIND_TENSOR(m, bitwise_xor, bitwise_xor_Tensor_out, ScalarUse::rounded);
}

} // namespace
} // namespace osc
