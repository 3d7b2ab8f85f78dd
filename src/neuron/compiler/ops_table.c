/*
 * ops_table.c - the operators the compiler has a lowering for, one row each, sorted by name.
 *
 * Columns: name, kind, dims that are reduced, expander, lowering of its own, ALU operator, activation
 * function, variant. A name is the schema name with overload; in-place and out= forms come under the same
 * name. The list makes both the table and the array of names, so it stands here once.
 */
#include "neuron/compiler/expand.h"
#include "neuron/compiler/expand_binary.h"
#include "neuron/compiler/expand_reduce.h"
#include "neuron/compiler/expand_ternary.h"
#include "neuron/compiler/expand_unary.h"
#include "neuron/compiler/lower_ops.h"

#include <string.h>

/* clang-format off */
#define OSC_OPS(X) \
    X("aten::_fused_rms_norm", REDUCE, SHAPE, osc_expand_rms_norm, NULL, BYPASS, COPY, 0) \
    X("aten::_log_softmax", REDUCE, ARG1, osc_expand_softmax, NULL, BYPASS, COPY, OSC_SOFTMAX_LOG) \
    X("aten::_log_softmax_backward_data", REDUCE, ARG2, osc_expand_softmax_backward, NULL, BYPASS, COPY, OSC_SOFTMAX_LOG) \
    X("aten::_softmax", REDUCE, ARG1, osc_expand_softmax, NULL, BYPASS, COPY, 0) \
    X("aten::_softmax_backward_data", REDUCE, ARG2, osc_expand_softmax_backward, NULL, BYPASS, COPY, 0) \
    X("aten::_to_copy", ELEMENTWISE, ALL, osc_expand_copy, osc_lower_copy, BYPASS, COPY, 0) \
    X("aten::abs", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_ABS) \
    X("aten::add.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, ADD, COPY, OSC_BINARY_ADD) \
    X("aten::add.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, ADD, COPY, OSC_BINARY_ADD) \
    X("aten::addcdiv", ELEMENTWISE, ALL, osc_expand_ternary, NULL, BYPASS, COPY, OSC_TERNARY_ADDCDIV) \
    X("aten::addcmul", ELEMENTWISE, ALL, osc_expand_ternary, NULL, BYPASS, COPY, OSC_TERNARY_ADDCMUL) \
    X("aten::addmm", WHOLE, ALL, NULL, osc_lower_matmul, BYPASS, COPY, OSC_MATMUL_ADDMM) \
    X("aten::addmv", WHOLE, ALL, NULL, osc_lower_matmul, BYPASS, COPY, OSC_MATMUL_ADDMV) \
    X("aten::all", REDUCE, ALL, osc_expand_reduce, NULL, MIN, COPY, OSC_REDUCE_TRUTH) \
    X("aten::all.dim", REDUCE, ARG1, osc_expand_reduce, NULL, MIN, COPY, OSC_REDUCE_TRUTH) \
    X("aten::all.dims", REDUCE, ARG1, osc_expand_reduce, NULL, MIN, COPY, OSC_REDUCE_TRUTH) \
    X("aten::amax", REDUCE, ARG1, osc_expand_reduce, NULL, MAX, COPY, 0) \
    X("aten::amin", REDUCE, ARG1, osc_expand_reduce, NULL, MIN, COPY, 0) \
    X("aten::any", REDUCE, ALL, osc_expand_reduce, NULL, MAX, COPY, OSC_REDUCE_TRUTH) \
    X("aten::any.dim", REDUCE, ARG1, osc_expand_reduce, NULL, MAX, COPY, OSC_REDUCE_TRUTH) \
    X("aten::any.dims", REDUCE, ARG1, osc_expand_reduce, NULL, MAX, COPY, OSC_REDUCE_TRUTH) \
    X("aten::atan", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, ARCTAN, 0) \
    X("aten::baddbmm", WHOLE, ALL, NULL, osc_lower_matmul, BYPASS, COPY, OSC_MATMUL_BADDBMM) \
    X("aten::bitwise_and.Scalar", ELEMENTWISE, ALL, osc_expand_bitwise, NULL, BITAND, COPY, 0) \
    X("aten::bitwise_and.Tensor", ELEMENTWISE, ALL, osc_expand_bitwise, NULL, BITAND, COPY, 0) \
    X("aten::bitwise_not", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_BITNOT) \
    X("aten::bitwise_or.Scalar", ELEMENTWISE, ALL, osc_expand_bitwise, NULL, BITOR, COPY, 0) \
    X("aten::bitwise_or.Tensor", ELEMENTWISE, ALL, osc_expand_bitwise, NULL, BITOR, COPY, 0) \
    X("aten::bitwise_xor.Scalar", ELEMENTWISE, ALL, osc_expand_bitwise, NULL, BITXOR, COPY, 0) \
    X("aten::bitwise_xor.Tensor", ELEMENTWISE, ALL, osc_expand_bitwise, NULL, BITXOR, COPY, 0) \
    X("aten::bmm", WHOLE, ALL, NULL, osc_lower_matmul, BYPASS, COPY, OSC_MATMUL_BMM) \
    X("aten::cat", WHOLE, ALL, NULL, osc_lower_cat, BYPASS, COPY, 0) \
    X("aten::ceil", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, CEIL, OSC_UNARY_ROUNDING) \
    X("aten::clamp", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_CLAMP) \
    X("aten::clamp.Tensor", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_CLAMP) \
    X("aten::clamp_max", ELEMENTWISE, ALL, osc_expand_binary, NULL, MIN, COPY, 0) \
    X("aten::clamp_max.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, MIN, COPY, 0) \
    X("aten::clamp_min", ELEMENTWISE, ALL, osc_expand_binary, NULL, MAX, COPY, 0) \
    X("aten::clamp_min.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, MAX, COPY, 0) \
    X("aten::clone", ELEMENTWISE, ALL, osc_expand_copy, osc_lower_copy, BYPASS, COPY, 0) \
    X("aten::cos", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, COS, 0) \
    X("aten::cosh", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_COSH) \
    X("aten::div.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, DIV, COPY, 0) \
    X("aten::div.Scalar_mode", ELEMENTWISE, ALL, osc_expand_binary, NULL, DIV, COPY, OSC_BINARY_DIV_MODE) \
    X("aten::div.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, DIV, COPY, 0) \
    X("aten::div.Tensor_mode", ELEMENTWISE, ALL, osc_expand_binary, NULL, DIV, COPY, OSC_BINARY_DIV_MODE) \
    X("aten::elu", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_ELU) \
    X("aten::elu_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_ELU) \
    X("aten::eq.Scalar", ELEMENTWISE, ALL, osc_expand_compare, NULL, EQ, COPY, 0) \
    X("aten::eq.Tensor", ELEMENTWISE, ALL, osc_expand_compare, NULL, EQ, COPY, 0) \
    X("aten::erf", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, ERF, 0) \
    X("aten::exp", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, EXP, 0) \
    X("aten::exp2", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_EXP2) \
    X("aten::expm1", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, EXPM1, 0) \
    X("aten::fill.Scalar", ELEMENTWISE, ALL, osc_expand_fill, NULL, BYPASS, COPY, 0) \
    X("aten::fill.Tensor", ELEMENTWISE, ALL, osc_expand_fill, NULL, BYPASS, COPY, 0) \
    X("aten::floor", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, FLOOR, OSC_UNARY_ROUNDING) \
    X("aten::floor_divide", ELEMENTWISE, ALL, osc_expand_binary, NULL, DIV, COPY, OSC_BINARY_FLOOR_DIV) \
    X("aten::fmax", ELEMENTWISE, ALL, osc_expand_binary, NULL, MAX, COPY, OSC_BINARY_QUIET) \
    X("aten::fmin", ELEMENTWISE, ALL, osc_expand_binary, NULL, MIN, COPY, OSC_BINARY_QUIET) \
    X("aten::fmod.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, FMOD, COPY, 0) \
    X("aten::fmod.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, FMOD, COPY, 0) \
    X("aten::frac", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_FRAC) \
    X("aten::ge.Scalar", ELEMENTWISE, ALL, osc_expand_compare, NULL, GE, COPY, 0) \
    X("aten::ge.Tensor", ELEMENTWISE, ALL, osc_expand_compare, NULL, GE, COPY, 0) \
    X("aten::gelu", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_GELU) \
    X("aten::gelu_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_GELU) \
    X("aten::gt.Scalar", ELEMENTWISE, ALL, osc_expand_compare, NULL, GT, COPY, 0) \
    X("aten::gt.Tensor", ELEMENTWISE, ALL, osc_expand_compare, NULL, GT, COPY, 0) \
    X("aten::hardsigmoid", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_HARDSIGMOID) \
    X("aten::hardsigmoid_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_HARDSIGMOID) \
    X("aten::hardswish", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_HARDSWISH) \
    X("aten::hardtanh", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_HARDTANH) \
    X("aten::hardtanh_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_HARDTANH) \
    X("aten::isinf", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_ISINF) \
    X("aten::isnan", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_ISNAN) \
    X("aten::le.Scalar", ELEMENTWISE, ALL, osc_expand_compare, NULL, LE, COPY, 0) \
    X("aten::le.Tensor", ELEMENTWISE, ALL, osc_expand_compare, NULL, LE, COPY, 0) \
    X("aten::leaky_relu", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_LEAKY_RELU) \
    X("aten::leaky_relu_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_LEAKY_RELU) \
    X("aten::lerp.Scalar", ELEMENTWISE, ALL, osc_expand_ternary, NULL, BYPASS, COPY, OSC_TERNARY_LERP) \
    X("aten::lerp.Tensor", ELEMENTWISE, ALL, osc_expand_ternary, NULL, BYPASS, COPY, OSC_TERNARY_LERP) \
    X("aten::linalg_vector_norm", REDUCE, ARG2, osc_expand_vector_norm, NULL, ADD, COPY, 0) \
    X("aten::log", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, LOG, 0) \
    X("aten::log10", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_LOG10) \
    X("aten::log1p", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, LOG1P, 0) \
    X("aten::log2", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_LOG2) \
    X("aten::log_sigmoid", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_LOG_SIGMOID) \
    X("aten::logaddexp", ELEMENTWISE, ALL, osc_expand_binary, NULL, ADD, COPY, OSC_BINARY_LOGADDEXP) \
    X("aten::logical_and", ELEMENTWISE, ALL, osc_expand_logical, NULL, AND, COPY, 0) \
    X("aten::logical_not", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_NOT) \
    X("aten::logical_or", ELEMENTWISE, ALL, osc_expand_logical, NULL, OR, COPY, 0) \
    X("aten::logical_xor", ELEMENTWISE, ALL, osc_expand_logical, NULL, XOR, COPY, 0) \
    X("aten::lt.Scalar", ELEMENTWISE, ALL, osc_expand_compare, NULL, LT, COPY, 0) \
    X("aten::lt.Tensor", ELEMENTWISE, ALL, osc_expand_compare, NULL, LT, COPY, 0) \
    X("aten::masked_fill.Scalar", ELEMENTWISE, ALL, osc_expand_ternary, NULL, BYPASS, COPY, OSC_TERNARY_MASKED_FILL) \
    X("aten::masked_fill.Tensor", ELEMENTWISE, ALL, osc_expand_ternary, NULL, BYPASS, COPY, OSC_TERNARY_MASKED_FILL) \
    X("aten::max", REDUCE, ALL, osc_expand_reduce, NULL, MAX, COPY, 0) \
    X("aten::maximum", ELEMENTWISE, ALL, osc_expand_binary, NULL, MAX, COPY, 0) \
    X("aten::mean", REDUCE, ALL, osc_expand_reduce, NULL, ADD, COPY, OSC_REDUCE_MEAN) \
    X("aten::mean.dim", REDUCE, ARG1, osc_expand_reduce, NULL, ADD, COPY, OSC_REDUCE_MEAN) \
    X("aten::min", REDUCE, ALL, osc_expand_reduce, NULL, MIN, COPY, 0) \
    X("aten::minimum", ELEMENTWISE, ALL, osc_expand_binary, NULL, MIN, COPY, 0) \
    X("aten::mish", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, MISH, 0) \
    X("aten::mm", WHOLE, ALL, NULL, osc_lower_matmul, BYPASS, COPY, OSC_MATMUL_MM) \
    X("aten::mse_loss", REDUCE, ALL, osc_expand_mse_loss, NULL, ADD, COPY, 0) \
    X("aten::mul.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, MUL, COPY, 0) \
    X("aten::mul.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, MUL, COPY, 0) \
    X("aten::nan_to_num", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_NAN_TO_NUM) \
    X("aten::native_layer_norm", REDUCE, SHAPE, osc_expand_layer_norm, NULL, BYPASS, COPY, 0) \
    X("aten::ne.Scalar", ELEMENTWISE, ALL, osc_expand_compare, NULL, NE, COPY, 0) \
    X("aten::ne.Tensor", ELEMENTWISE, ALL, osc_expand_compare, NULL, NE, COPY, 0) \
    X("aten::neg", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_NEG) \
    X("aten::pow.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, POW, COPY, OSC_BINARY_POW) \
    X("aten::pow.Tensor_Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, POW, COPY, OSC_BINARY_POW) \
    X("aten::pow.Tensor_Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, POW, COPY, OSC_BINARY_POW) \
    X("aten::prod", REDUCE, ALL, osc_expand_reduce, NULL, MUL, COPY, 0) \
    X("aten::prod.dim_int", REDUCE, ARG1, osc_expand_reduce, NULL, MUL, COPY, 0) \
    X("aten::reciprocal", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_RECIPROCAL) \
    X("aten::relu", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_RELU) \
    X("aten::remainder.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, FLOORMOD, COPY, 0) \
    X("aten::remainder.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, FLOORMOD, COPY, 0) \
    X("aten::round", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, ROUND, OSC_UNARY_ROUNDING) \
    X("aten::rsqrt", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, RSQRT, 0) \
    X("aten::rsub.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, SUB, COPY, OSC_BINARY_RSUB) \
    X("aten::rsub.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, SUB, COPY, OSC_BINARY_RSUB) \
    X("aten::sgn", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_SIGN) \
    X("aten::sigmoid", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, SIGMOID, 0) \
    X("aten::sigmoid_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_SIGMOID) \
    X("aten::sign", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_SIGN) \
    X("aten::silu", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, SILU, 0) \
    X("aten::silu_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_SILU) \
    X("aten::sin", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, SIN, 0) \
    X("aten::sinh", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_SINH) \
    X("aten::softplus", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_SOFTPLUS) \
    X("aten::softplus_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_SOFTPLUS) \
    X("aten::sqrt", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, SQRT, 0) \
    X("aten::square", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_SQUARE) \
    X("aten::stack", WHOLE, ALL, NULL, osc_lower_cat, BYPASS, COPY, 1) \
    X("aten::std.correction", REDUCE, ARG1, osc_expand_var, NULL, BYPASS, COPY, OSC_VAR_STD) \
    X("aten::std_mean.correction", REDUCE, ARG1, osc_expand_var, NULL, BYPASS, COPY, OSC_VAR_STD_MEAN) \
    X("aten::sub.Scalar", ELEMENTWISE, ALL, osc_expand_binary, NULL, SUB, COPY, OSC_BINARY_ADD) \
    X("aten::sub.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, SUB, COPY, OSC_BINARY_ADD) \
    X("aten::sum", REDUCE, ALL, osc_expand_reduce, NULL, ADD, COPY, 0) \
    X("aten::sum.dim_IntList", REDUCE, ARG1, osc_expand_reduce, NULL, ADD, COPY, 0) \
    X("aten::tan", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_TAN) \
    X("aten::tanh", ELEMENTWISE, ALL, osc_expand_act, NULL, BYPASS, TANH, 0) \
    X("aten::tanh_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_TANH) \
    X("aten::threshold", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, COPY, OSC_UNARY_THRESHOLD) \
    X("aten::threshold_backward", ELEMENTWISE, ALL, osc_expand_backward, NULL, BYPASS, COPY, OSC_BACKWARD_THRESHOLD) \
    X("aten::trunc", ELEMENTWISE, ALL, osc_expand_unary, NULL, BYPASS, TRUNC, OSC_UNARY_ROUNDING) \
    X("aten::var.correction", REDUCE, ARG1, osc_expand_var, NULL, BYPASS, COPY, OSC_VAR_PLAIN) \
    X("aten::var_mean.correction", REDUCE, ARG1, osc_expand_var, NULL, BYPASS, COPY, OSC_VAR_MEAN) \
    X("aten::where.self", ELEMENTWISE, ALL, osc_expand_ternary, NULL, BYPASS, COPY, OSC_TERNARY_WHERE) \
    X("aten::xlogy.Tensor", ELEMENTWISE, ALL, osc_expand_binary, NULL, MUL, COPY, OSC_BINARY_XLOGY) \
    X("opscope::copy", ELEMENTWISE, ALL, osc_expand_copy, osc_lower_copy, BYPASS, COPY, 0)
/* clang-format on */

#define OP_ROW(name_, kind_, dims_, expand_, lower_, alu_, act_, variant_) \
    {.name = name_,                                                        \
     .kind = OSC_ROW_##kind_,                                              \
     .dims = OSC_DIMS_##dims_,                                             \
     .expand = expand_,                                                    \
     .lower = lower_,                                                      \
     .alu = OSC_ALU_##alu_,                                                \
     .act = OSC_ACT_##act_,                                                \
     .variant = variant_},
static const osc_op_row ROWS[] = {OSC_OPS(OP_ROW)};

#define OP_NAME(name_, ...) name_,
static const char *const NAMES[] = {OSC_OPS(OP_NAME)};

#define ROW_COUNT (sizeof ROWS / sizeof ROWS[0])

const osc_op_row *osc_op_find(osc_str name)
{
    size_t low = 0, high = ROW_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = osc_str_cmp(name, osc_str_from_cstr(ROWS[middle].name));
        if (order == 0)
            return &ROWS[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool osc_compiler_has_op(const char *name)
{
    return osc_op_find(osc_str_from_cstr(name)) != NULL;
}

const char *const *osc_compiler_ops(size_t *count)
{
    *count = ROW_COUNT;
    return NAMES;
}
