// Elementwise operators that PyTorch does not define as structured: their meta classes are here.
//
// Each states its result through TensorIterator as ATen's own CPU function does, so shapes, types
// and errors agree; then the templates of structured.h apply.
#include "structured.h"

#include <ATen/ScalarOps.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/abs_ops.h>
#include <ATen/ops/hardswish_ops.h>
#include <ATen/ops/hardtanh_ops.h>
#include <ATen/ops/isnan_ops.h>
#include <ATen/ops/logical_and_ops.h>
#include <ATen/ops/logical_not_ops.h>
#include <ATen/ops/logical_or_ops.h>
#include <ATen/ops/logical_xor_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/min_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/where_ops.h>

namespace osc
{

template <> inline constexpr bool float_only<at::_ops::hardswish> = true;

namespace
{

namespace ops = at::_ops;

struct SameType : at::TensorIteratorBase {
    void meta(const at::Tensor &self)
    {
        build_borrowing_unary_op(maybe_get_output(), self);
    }
};

struct ReluMeta : at::TensorIteratorBase {
    void meta(const at::Tensor &self)
    {
        TORCH_CHECK(self.scalar_type() != at::kBool, "Boolean inputs not supported for relu");
        build_borrowing_unary_op(maybe_get_output(), self);
    }
};

struct HardtanhMeta : at::TensorIteratorBase {
    void meta(const at::Tensor &self, const at::Scalar &, const at::Scalar &)
    {
        build_borrowing_unary_op(maybe_get_output(), self);
    }
};

// Result bool, operand of any type.
struct BoolUnary : at::TensorIteratorBase {
    void meta(const at::Tensor &self)
    {
        at::TensorIteratorConfig config;
        config.check_all_same_dtype(false);
        if (!maybe_get_output().defined()) {
            config.declare_static_dtype(at::kBool);
        }
        build(config.add_output(maybe_get_output()).add_const_input(self));
    }
};

struct BoolBinary : at::TensorIteratorBase {
    void meta(const at::Tensor &self, const at::Tensor &other)
    {
        build_borrowing_comparison_op(maybe_get_output(), self, other);
    }
};

struct WhereMeta : at::TensorIteratorBase {
    static constexpr bool computes_in_result_type = true;
    void meta(const at::Tensor &condition, const at::Tensor &self, const at::Tensor &other)
    {
        const at::ScalarType type = at::native::result_type(self, other);
        TORCH_CHECK(condition.scalar_type() == at::kBool,
                    "where expected condition to be a boolean tensor, but got a tensor with dtype ",
                    condition.scalar_type());
        const at::Tensor &out = maybe_get_output();
        TORCH_CHECK(!out.defined() || out.scalar_type() == type, "Expected out type to be ", type,
                    " but got ", out.scalar_type());
        at::TensorIteratorConfig config;
        config.check_all_same_dtype(false).allow_cpu_scalars(true);
        if (!out.defined()) {
            config.declare_static_dtype(type);
        }
        build(
            config.add_output(out).add_const_input(condition).add_const_input(self).add_const_input(
                other));
    }
};

struct MaskedFillMeta : at::TensorIteratorBase {
    static constexpr bool computes_in_result_type = true;
    void meta(const at::Tensor &self, const at::Tensor &mask, const at::Scalar &)
    {
        TORCH_CHECK(mask.scalar_type() == at::kBool,
                    "masked_fill_ only supports boolean masks, but got mask with dtype ",
                    mask.scalar_type());
        const at::Tensor &out = maybe_get_output();
        at::TensorIteratorConfig config;
        config.check_all_same_dtype(false).resize_outputs(false);
        if (!out.defined()) {
            config.declare_static_dtype(self.scalar_type());
        }
        // In place, self is result and operand at once.
        build(config.set_check_mem_overlap(false)
                  .add_output(out)
                  .add_const_input(self)
                  .add_const_input(mask));
    }
};

// Largest or smallest of all elements.
template <bool largest> struct ExtremeMeta : at::impl::MetaBase {
    void meta(const at::Tensor &self)
    {
        TORCH_CHECK(self.numel() > 0, largest ? "max()" : "min()",
                    ": Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument.");
        set_output_raw_strided(0, {}, {}, self.options());
    }
};

// TensorIterator takes one CPU number beside device operands; where() may bring three.
at::Tensor beside(const at::Tensor &t, const at::Tensor &device_operand)
{
    return !on_device(t) && t.dim() == 0 ? t.to(device_operand.device()) : t;
}

const at::Tensor &first_on_device(const at::Tensor &a, const at::Tensor &b, const at::Tensor &c)
{
    return on_device(a) ? a : on_device(b) ? b : c;
}

using Where = Functional<ops::where_self, WhereMeta, ScalarUse::rounded>;
using WhereOut = Out<ops::where_self, ops::where_self_out, WhereMeta, ScalarUse::rounded>;

at::Tensor where(const at::Tensor &condition, const at::Tensor &self, const at::Tensor &other)
{
    const at::Tensor &device = first_on_device(condition, self, other);
    const at::Tensor a = on_device(other) ? self : beside(self, device);
    return Where::call(beside(condition, device), a, other);
}

at::Tensor &where_out(const at::Tensor &condition, const at::Tensor &self, const at::Tensor &other,
                      at::Tensor &out)
{
    const at::Tensor &device = first_on_device(condition, self, other);
    const at::Tensor a = on_device(other) ? self : beside(self, device);
    return WhereOut::call(beside(condition, device), a, other, out);
}

// Numbers that do not fit the tensor's type, and integers: the CPU has the exact rules.
bool immediate_fits(const at::Tensor &self, const at::Scalar &value)
{
    return at::isFloatingType(self.scalar_type()) && !value.isComplex();
}

at::Tensor masked_fill(const at::Tensor &self, const at::Tensor &mask, const at::Scalar &value)
{
    if (!immediate_fits(self, value)) {
        return Fallback<ops::masked_fill_Scalar>::call(self, mask, value);
    }
    return Functional<ops::masked_fill_Scalar, MaskedFillMeta, ScalarUse::rounded>::call(self, mask,
                                                                                         value);
}

at::Tensor &masked_fill_(at::Tensor &self, const at::Tensor &mask, const at::Scalar &value)
{
    if (!immediate_fits(self, value)) {
        return Fallback<ops::masked_fill__Scalar>::call(self, mask, value);
    }
    return Inplace<ops::masked_fill_Scalar, ops::masked_fill__Scalar, MaskedFillMeta,
                   ScalarUse::rounded>::call(self, mask, value);
}

at::Tensor hardtanh(const at::Tensor &self, const at::Scalar &low, const at::Scalar &high)
{
    if (!at::isFloatingType(self.scalar_type())) {
        return Fallback<ops::hardtanh>::call(self, low, high);
    }
    return Functional<ops::hardtanh, HardtanhMeta, ScalarUse::rounded>::call(self, low, high);
}

#define OSC_BIND_OWN3(m, op, M)                  \
    do {                                         \
        bind<ops::op, M>(m);                     \
        bind_inplace<ops::op, ops::op##_, M>(m); \
        bind_out<ops::op, ops::op##_out, M>(m);  \
    } while (0)

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    bind<ops::abs, SameType>(m);
    bind_out<ops::abs, ops::abs_out, SameType>(m);
    bind<ops::relu, ReluMeta>(m);
    bind_inplace<ops::relu, ops::relu_, ReluMeta>(m);
    bind<ops::hardswish, SameType>(m);
    bind_inplace<ops::hardswish, ops::hardswish_, SameType>(m);
    bind<ops::isnan, BoolUnary>(m);
    m.impl("hardtanh", TORCH_FN(hardtanh));

    OSC_BIND_OWN3(m, logical_not, BoolUnary);
    OSC_BIND_OWN3(m, logical_and, BoolBinary);
    OSC_BIND_OWN3(m, logical_or, BoolBinary);
    OSC_BIND_OWN3(m, logical_xor, BoolBinary);

    m.impl("where.self", TORCH_FN(where));
    m.impl("where.self_out", TORCH_FN(where_out));
    m.impl("masked_fill.Scalar", TORCH_FN(masked_fill));
    m.impl("masked_fill_.Scalar", TORCH_FN(masked_fill_));

    bind<ops::max, ExtremeMeta<true>>(m);
    bind<ops::min, ExtremeMeta<false>>(m);
}

} // namespace
} // namespace osc
