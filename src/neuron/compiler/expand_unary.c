/*
 * expand_unary.c - operators of one tensor: activation functions and short compositions of them.
 *
 * A function the Scalar engine has is one ACT; the rest is arithmetic on Vector around one. Formulas follow
 * PyTorch's CPU kernels where they differ at the edges (NaN, infinities, large arguments). Integer tensors
 * stay integers where PyTorch keeps them (abs, neg, sign, square, clamp) and are exact on GpSimd.
 */
#include "neuron/compiler/expand.h"
#include "neuron/compiler/expand_unary.h"

#include <math.h>
#include <string.h>

typedef osc_group *G;

static osc_ir_arg imm(double v)
{
    return osc_ir_imm(v);
}

void osc_expand_act(osc_expand *ex)
{
    osc_ex_out(ex, 0, osc_ir_act(ex->group, (osc_act)ex->row->act, osc_ex_arg(ex, 0)));
}

/* Integer arithmetic, exact, in the result's dtype. */
static osc_ir_arg int_op(osc_expand *ex, osc_alu alu, osc_ir_arg a, osc_ir_arg b)
{
    return osc_ir_alu_as(ex->group, alu, a, b, osc_ex_out_dtype(ex, 0), OSC_ENGINE_GPSIMD);
}

static bool is_unsigned(osc_dtype dtype)
{
    return dtype == OSC_BOOL || dtype == OSC_U8 || dtype == OSC_U16 || dtype == OSC_U32;
}

static osc_ir_arg expand_int(osc_expand *ex, osc_ir_arg x)
{
    switch (ex->row->variant) {
    case OSC_UNARY_NEG: return int_op(ex, OSC_ALU_SUB, imm(0), x);
    case OSC_UNARY_ABS:
        if (is_unsigned(osc_ex_out_dtype(ex, 0)))
            return x;
        return int_op(ex, OSC_ALU_MAX, x, int_op(ex, OSC_ALU_SUB, imm(0), x));
    case OSC_UNARY_SQUARE: return int_op(ex, OSC_ALU_MUL, x, x);
    case OSC_UNARY_RELU: return int_op(ex, OSC_ALU_MAX, x, imm(0));
    case OSC_UNARY_SIGN:
        return int_op(ex, OSC_ALU_MIN, int_op(ex, OSC_ALU_MAX, x, imm(-1)), imm(1));
    case OSC_UNARY_ROUNDING: return x;
    case OSC_UNARY_BITNOT:
        if (osc_ex_out_dtype(ex, 0) == OSC_BOOL)
            return osc_ir_alu_as(ex->group, OSC_ALU_EQ, x, imm(0), OSC_BOOL, OSC_ENGINE_VECTOR);
        return int_op(ex, OSC_ALU_SUB, imm(-1), x);
    case OSC_UNARY_CLAMP:
    case OSC_UNARY_HARDTANH:
        if (osc_ex_has(ex, 1))
            x = int_op(ex, OSC_ALU_MAX, x, osc_ex_arg(ex, 1));
        if (osc_ex_has(ex, 2))
            x = int_op(ex, OSC_ALU_MIN, x, osc_ex_arg(ex, 2));
        return x;
    default: osc_ex_refuse(ex, "it is defined on floating point only"); return x;
    }
}

/* x clamped to [args[1], args[2]], NaN kept (MAX and MIN hand it on). */
static osc_ir_arg clamp(osc_expand *ex, osc_ir_arg x)
{
    if (osc_ex_has(ex, 1))
        x = osc_ir_alu(ex->group, OSC_ALU_MAX, x, osc_ex_arg(ex, 1));
    if (osc_ex_has(ex, 2))
        x = osc_ir_alu(ex->group, OSC_ALU_MIN, x, osc_ex_arg(ex, 2));
    return x;
}

/* beta x > threshold ? x : log(1 + exp(beta x)) / beta */
static osc_ir_arg softplus(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    double beta = osc_ex_number(ex, 1, 1), threshold = osc_ex_number(ex, 2, 20);
    if (beta == 1 && threshold == 20)
        return osc_ir_act(g, OSC_ACT_SOFTPLUS, x);
    osc_ir_arg scaled = osc_ir_alu(g, OSC_ALU_MUL, x, imm(beta));
    osc_ir_arg soft = osc_ir_act(g, OSC_ACT_LOG1P, osc_ir_act(g, OSC_ACT_EXP, scaled));
    osc_ir_arg divided = osc_ir_alu(g, OSC_ALU_DIV, soft, imm(beta));
    osc_ir_arg linear =
        osc_ir_alu_as(g, OSC_ALU_GT, scaled, imm(threshold), OSC_BOOL, OSC_ENGINE_VECTOR);
    return osc_ir_select(g, linear, x, divided, OSC_F32);
}

/* x > 0 ? x * positive : negative, which must not be NaN where x > 0 is taken. */
static osc_ir_arg by_sign(osc_expand *ex, osc_ir_arg x, double positive, osc_ir_arg negative)
{
    G g = ex->group;
    osc_ir_arg above = osc_ir_alu_as(g, OSC_ALU_GT, x, imm(0), OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ir_arg scaled = positive == 1 ? x : osc_ir_alu(g, OSC_ALU_MUL, x, imm(positive));
    return osc_ir_select(g, above, scaled, negative, OSC_F32);
}

/* elu(x; alpha, scale, input_scale) */
static osc_ir_arg elu(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    double alpha = osc_ex_number(ex, 1, 1), scale = osc_ex_number(ex, 2, 1);
    double input = osc_ex_number(ex, 3, 1);
    osc_ir_arg grown = osc_ir_act_affine(g, OSC_ACT_EXPM1, x, imm(input), osc_ir_none());
    return by_sign(ex, x, scale, osc_ir_alu(g, OSC_ALU_MUL, grown, imm(alpha * scale)));
}

/* min(max(x + 3, 0), 6) / 6 */
static osc_ir_arg hard_sigmoid(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    osc_ir_arg low = osc_ir_alu(g, OSC_ALU_MAX, osc_ir_alu(g, OSC_ALU_ADD, x, imm(3)), imm(0));
    return osc_ir_alu(g, OSC_ALU_DIV, osc_ir_alu(g, OSC_ALU_MIN, low, imm(6)), imm(6));
}

/* min(x, 0) - log1p(exp(-|x|)), PyTorch's stable form. */
static osc_ir_arg log_sigmoid(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    osc_ir_arg far = osc_ir_act(g, OSC_ACT_ABS, x);
    osc_ir_arg small = osc_ir_act_affine(g, OSC_ACT_EXP, far, imm(-1), osc_ir_none());
    return osc_ir_alu(g, OSC_ALU_SUB, osc_ir_alu(g, OSC_ALU_MIN, x, imm(0)),
                      osc_ir_act(g, OSC_ACT_LOG1P, small));
}

/* sinh by e = expm1(|x|), so that small arguments keep their digits; sign put back. */
static osc_ir_arg sinh_of(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    osc_ir_arg far = osc_ir_act(g, OSC_ACT_ABS, x);
    osc_ir_arg half = osc_ir_act_affine(g, OSC_ACT_EXP, far, imm(1), imm(-M_LN2));
    osc_ir_arg e = osc_ir_act(g, OSC_ACT_EXPM1, far);
    osc_ir_arg ratio = osc_ir_alu(g, OSC_ALU_DIV, e, osc_ir_alu(g, OSC_ALU_ADD, e, imm(1)));
    osc_ir_arg near = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_ADD, e, ratio), imm(0.5));
    osc_ir_arg large = osc_ir_alu_as(g, OSC_ALU_GT, far, imm(20), OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ir_arg value = osc_ir_select(g, large, half, near, OSC_F32);
    osc_ir_arg negative = osc_ir_alu_as(g, OSC_ALU_LT, x, imm(0), OSC_BOOL, OSC_ENGINE_VECTOR);
    return osc_ir_select(g, negative, osc_ir_alu(g, OSC_ALU_MUL, value, imm(-1)), value, OSC_F32);
}

static osc_ir_arg cosh_of(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    osc_ir_arg far = osc_ir_act(g, OSC_ACT_ABS, x);
    osc_ir_arg up = osc_ir_act_affine(g, OSC_ACT_EXP, far, imm(1), imm(-M_LN2));
    osc_ir_arg down = osc_ir_act_affine(g, OSC_ACT_EXP, far, imm(-1), imm(-M_LN2));
    return osc_ir_alu(g, OSC_ALU_ADD, up, down);
}

/* nan_to_num(x; nan, posinf, neginf), defaults 0 and the largest finite values of the dtype. */
static osc_ir_arg nan_to_num(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    osc_dtype dtype = osc_ex_out_dtype(ex, 0);
    double most = dtype == OSC_F16 ? 65504.0 : dtype == OSC_BF16 ? 0x1.fep127 : 0x1.fffffep127;
    osc_ir_arg isnan = osc_ir_alu_as(g, OSC_ALU_NE, x, x, OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ir_arg top = osc_ir_alu_as(g, OSC_ALU_EQ, x, imm(INFINITY), OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ir_arg bottom =
        osc_ir_alu_as(g, OSC_ALU_EQ, x, imm(-INFINITY), OSC_BOOL, OSC_ENGINE_VECTOR);
    x = osc_ir_select(g, isnan, imm(osc_ex_number(ex, 1, 0)), x, OSC_F32);
    x = osc_ir_select(g, top, imm(osc_ex_number(ex, 2, most)), x, OSC_F32);
    return osc_ir_select(g, bottom, imm(osc_ex_number(ex, 3, -most)), x, OSC_F32);
}

static osc_ir_arg sign_of(osc_expand *ex, osc_ir_arg x)
{
    return osc_ir_act(ex->group, OSC_ACT_SIGN, x);
}

static osc_ir_arg threshold_of(osc_expand *ex, osc_ir_arg x)
{
    /* x <= threshold ? value : x, so that NaN stays NaN */
    osc_ir_arg low =
        osc_ir_alu_as(ex->group, OSC_ALU_LE, x, osc_ex_arg(ex, 1), OSC_BOOL, OSC_ENGINE_VECTOR);
    return osc_ir_select(ex->group, low, osc_ex_arg(ex, 2), x, OSC_F32);
}

static osc_ir_arg tan_of(osc_expand *ex, osc_ir_arg x)
{
    return osc_ir_alu(ex->group, OSC_ALU_DIV, osc_ir_act(ex->group, OSC_ACT_SIN, x),
                      osc_ir_act(ex->group, OSC_ACT_COS, x));
}

static osc_ir_arg expand_float(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    switch (ex->row->variant) {
    case OSC_UNARY_NEG: return osc_ir_alu(g, OSC_ALU_MUL, x, imm(-1));
    case OSC_UNARY_ABS: return osc_ir_act(g, OSC_ACT_ABS, x);
    case OSC_UNARY_SIGN: return sign_of(ex, x);
    case OSC_UNARY_SQUARE: return osc_ir_alu(g, OSC_ALU_MUL, x, x);
    case OSC_UNARY_RECIPROCAL: return osc_ir_alu(g, OSC_ALU_DIV, imm(1), x);
    case OSC_UNARY_RELU: return osc_ir_alu(g, OSC_ALU_MAX, x, imm(0));
    case OSC_UNARY_LOG2:
        return osc_ir_alu(g, OSC_ALU_MUL, osc_ir_act(g, OSC_ACT_LOG, x), imm(M_LOG2E));
    case OSC_UNARY_LOG10:
        return osc_ir_alu(g, OSC_ALU_MUL, osc_ir_act(g, OSC_ACT_LOG, x), imm(M_LOG10E));
    case OSC_UNARY_EXP2: return osc_ir_alu(g, OSC_ALU_POW, imm(2), x);
    case OSC_UNARY_GELU:
        return osc_ir_act(g, osc_ex_int(ex, 1, 0) ? OSC_ACT_GELU_TANH : OSC_ACT_GELU, x);
    case OSC_UNARY_SOFTPLUS: return softplus(ex, x);
    case OSC_UNARY_ROUNDING: return osc_ir_act(g, (osc_act)ex->row->act, x);
    case OSC_UNARY_HARDTANH:
    case OSC_UNARY_CLAMP: return clamp(ex, x);
    case OSC_UNARY_LEAKY_RELU:
        return by_sign(ex, x, 1, osc_ir_alu(g, OSC_ALU_MUL, x, imm(osc_ex_number(ex, 1, 0.01))));
    case OSC_UNARY_ELU: return elu(ex, x);
    case OSC_UNARY_HARDSIGMOID: return hard_sigmoid(ex, x);
    case OSC_UNARY_HARDSWISH: return osc_ir_alu(g, OSC_ALU_MUL, x, hard_sigmoid(ex, x));
    case OSC_UNARY_LOG_SIGMOID: return log_sigmoid(ex, x);
    case OSC_UNARY_SINH: return sinh_of(ex, x);
    case OSC_UNARY_COSH: return cosh_of(ex, x);
    case OSC_UNARY_TAN: return tan_of(ex, x);
    case OSC_UNARY_FRAC: return osc_ir_alu(g, OSC_ALU_SUB, x, osc_ir_act(g, OSC_ACT_TRUNC, x));
    case OSC_UNARY_THRESHOLD: return threshold_of(ex, x);
    case OSC_UNARY_NAN_TO_NUM: return nan_to_num(ex, x);
    default: osc_ex_refuse(ex, "it is defined on integers only"); return x;
    }
}

/* Results of dtype bool. */
static osc_ir_arg expand_predicate(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    switch (ex->row->variant) {
    case OSC_UNARY_NOT: return osc_ir_alu_as(g, OSC_ALU_EQ, x, imm(0), OSC_BOOL, OSC_ENGINE_VECTOR);
    case OSC_UNARY_ISNAN: return osc_ir_alu_as(g, OSC_ALU_NE, x, x, OSC_BOOL, OSC_ENGINE_VECTOR);
    default: /* isinf */
        return osc_ir_alu_as(g, OSC_ALU_EQ, osc_ir_act(g, OSC_ACT_ABS, x), imm(INFINITY), OSC_BOOL,
                             OSC_ENGINE_VECTOR);
    }
}

void osc_expand_unary(osc_expand *ex)
{
    osc_ir_arg x = osc_ex_arg(ex, 0);
    unsigned variant = ex->row->variant;
    if (variant == OSC_UNARY_NOT || variant == OSC_UNARY_ISNAN || variant == OSC_UNARY_ISINF)
        x = expand_predicate(ex, x);
    else if (osc_dtype_is_float(osc_ex_out_dtype(ex, 0)))
        x = expand_float(ex, x);
    else
        x = expand_int(ex, x);
    osc_ex_out(ex, 0, x);
}

/* ---- copies and fills ---- */

/* 64-bit cells as two int32 halves: what the engines can make of them exactly. */
static bool strides_of(osc_expand *ex, osc_value value, int64_t stride[])
{
    const osc_value_info *info = osc_graph_value(ex->lower->graph, value);
    if (osc_ex_strides(ex->group, info, stride))
        return true;
    osc_ex_refuse(ex, "the operands' shapes do not broadcast to the result's");
    return false;
}

static void store_halves(osc_expand *ex, osc_ir_arg low, osc_ir_arg high)
{
    int64_t stride[OSC_MAX_RANK];
    osc_value out = ex->node->outs[0];
    if (!strides_of(ex, out, stride) || ex->group->failed)
        return;
    osc_group_store_half(ex->group, low.ref, out, stride, 0);
    osc_group_store_half(ex->group, high.ref, out, stride, 1);
}

/* Integers to int64: the value, and its sign repeated. */
static void widen(osc_expand *ex)
{
    if (osc_dtype_is_float(osc_ex_dtype(ex, 0))) {
        osc_ex_refuse(ex, "values beyond int32 would be lost on the way to int64");
        return;
    }
    osc_ir_arg x = osc_ex_arg(ex, 0);
    osc_ir_arg low = osc_ir_copy(ex->group, x, OSC_I32, OSC_ENGINE_GPSIMD);
    osc_ir_arg high =
        osc_ir_alu_as(ex->group, OSC_ALU_SHR, low, osc_ir_fill(ex->group, OSC_I32, 31), OSC_I32,
                      OSC_ENGINE_VECTOR);
    if (osc_ex_dtype(ex, 0) == OSC_U32)
        high = osc_ir_fill(ex->group, OSC_I32, 0);
    store_halves(ex, low, high);
}

/* int64 to bool: whether any bit is set. Narrower integers are moves (lower_copy.c). */
static void int64_to_bool(osc_expand *ex)
{
    int64_t stride[OSC_MAX_RANK];
    osc_value value = ex->node->args[0].tensor;
    if (!strides_of(ex, value, stride))
        return;
    osc_ir_arg low = osc_ir_input_half(ex->group, value, stride, 0);
    osc_ir_arg high = osc_ir_input_half(ex->group, value, stride, 1);
    osc_ir_arg bits =
        osc_ir_alu_as(ex->group, OSC_ALU_BITOR, low, high, OSC_I32, OSC_ENGINE_VECTOR);
    osc_ex_out(ex, 0, osc_ex_convert(ex, bits, OSC_BOOL));
}

void osc_expand_copy(osc_expand *ex)
{
    osc_dtype from = osc_ex_dtype(ex, 0), to = osc_ex_out_dtype(ex, 0);
    if (from != to && to == OSC_I64)
        widen(ex);
    else if (from == OSC_I64 && to == OSC_BOOL && ex->node->args[0].kind == OSC_ARG_TENSOR)
        int64_to_bool(ex);
    else
        osc_ex_out(ex, 0, osc_ex_convert(ex, osc_ex_arg(ex, 0), to));
}

/* fill(self, value): the value may be a number or a tensor of one element. */
void osc_expand_fill(osc_expand *ex)
{
    osc_dtype to = osc_ex_out_dtype(ex, 0);
    const osc_arg *arg = osc_ex_raw(ex, 1);
    bool number = arg->kind == OSC_ARG_INT || arg->kind == OSC_ARG_FLOAT;
    if ((to != OSC_I64 && to != OSC_F64) || !number) {
        osc_ex_out(ex, 0, osc_ex_convert(ex, osc_ex_arg(ex, 1), to));
        return;
    }
    uint64_t bits = (uint64_t)osc_ex_int(ex, 1, 0);
    double real = osc_ex_number(ex, 1, 0);
    if (to == OSC_F64)
        memcpy(&bits, &real, sizeof bits);
    osc_ir_arg low = osc_ir_fill(ex->group, OSC_I32, (double)(int32_t)(uint32_t)bits);
    osc_ir_arg high = osc_ir_fill(ex->group, OSC_I32, (double)(int32_t)(uint32_t)(bits >> 32));
    store_halves(ex, low, high);
}
