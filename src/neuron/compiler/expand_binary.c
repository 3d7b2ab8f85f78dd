/*
 * expand_binary.c - arithmetic, comparisons and logic of two operands, either of which may be a number.
 *
 * Float results are computed in fp32 on Vector whatever the operands are. Integer results are computed on
 * GpSimd, which is exact and wraps like the host (neuroncore-model.md 3.2: Vector is exact up to 2^24
 * only); so are comparisons that involve int32. Comparisons of narrower integers are exact in fp32.
 */
#include "neuron/compiler/expand.h"
#include "neuron/compiler/expand_binary.h"

#include <math.h>

static bool is_int(osc_dtype dtype)
{
    return !osc_dtype_is_float(dtype);
}

/* Both operands are integers, and at least one tensor is wide enough to be inexact in fp32. */
static bool needs_exact(const osc_expand *ex, uint32_t a, uint32_t b)
{
    osc_dtype x = osc_ex_dtype(ex, a), y = osc_ex_dtype(ex, b);
    bool wide = x == OSC_I32 || y == OSC_I32 || x == OSC_U32 || y == OSC_U32;
    return is_int(x) && is_int(y) && wide;
}

/* A number compared with a bf16 or fp16 tensor is rounded to the tensor's dtype first, as PyTorch does. */
static osc_ir_arg rounded(osc_expand *ex, osc_ir_arg number, uint32_t tensor_index)
{
    if (number.kind != OSC_IR_IMM)
        return number;
    osc_dtype dtype = osc_ex_dtype(ex, tensor_index);
    if (dtype == OSC_BF16)
        number.imm = (double)osc_bf16_to_f32(osc_f32_to_bf16((float)number.imm));
    if (dtype == OSC_F16)
        number.imm = (double)osc_f16_to_f32(osc_f32_to_f16((float)number.imm));
    return number;
}

static osc_ir_arg arith(osc_expand *ex, osc_alu alu, osc_ir_arg a, osc_ir_arg b)
{
    osc_dtype out = osc_ex_out_dtype(ex, 0);
    if (osc_dtype_is_float(out))
        return osc_ir_alu(ex->group, alu, a, b);
    return osc_ir_alu_as(ex->group, alu, a, b, out, OSC_ENGINE_GPSIMD);
}

/* Sum and product of booleans are or and and. */
static osc_alu bool_form(osc_alu alu)
{
    switch (alu) {
    case OSC_ALU_ADD:
    case OSC_ALU_MAX: return OSC_ALU_OR;
    case OSC_ALU_MUL:
    case OSC_ALU_MIN: return OSC_ALU_AND;
    default: return OSC_ALU_BYPASS;
    }
}

/* self op other * alpha; for rsub other - self * alpha. */
static void expand_add(osc_expand *ex, osc_ir_arg a, osc_ir_arg b)
{
    double alpha = osc_ex_number(ex, 2, 1);
    if (ex->row->variant == OSC_BINARY_RSUB) {
        osc_ir_arg swap = a;
        a = b;
        b = swap;
    }
    if (alpha != 1)
        b = arith(ex, OSC_ALU_MUL, b, osc_ir_imm(alpha));
    osc_ex_out(ex, 0, arith(ex, (osc_alu)ex->row->alu, a, b));
}

/* Exponents with an exact or cheaper form; everything else is the power operator. */
static osc_ir_arg power(osc_expand *ex, osc_ir_arg a, osc_ir_arg b)
{
    if (b.kind == OSC_IR_IMM && b.imm == 2)
        return arith(ex, OSC_ALU_MUL, a, a);
    if (b.kind == OSC_IR_IMM && b.imm == 1)
        return a;
    if (b.kind == OSC_IR_IMM && b.imm == 0.5 && a.kind == OSC_IR_REF &&
        osc_dtype_is_float(osc_ex_out_dtype(ex, 0)))
        return osc_ir_act(ex->group, OSC_ACT_SQRT, a);
    return arith(ex, OSC_ALU_POW, a, b);
}

static osc_ir_arg nan_as(osc_expand *ex, osc_ir_arg a, osc_ir_arg otherwise)
{
    osc_group *g = ex->group;
    if (a.kind != OSC_IR_REF)
        return isnan(a.imm) ? otherwise : a;
    osc_ir_arg bad = osc_ir_alu_as(g, OSC_ALU_NE, a, a, OSC_BOOL, OSC_ENGINE_VECTOR);
    return osc_ir_select(g, bad, otherwise, a, OSC_F32);
}

/* fmax, fmin: a NaN gives way to the other operand. */
static osc_ir_arg quiet(osc_expand *ex, osc_alu alu, osc_ir_arg a, osc_ir_arg b)
{
    if (!osc_dtype_is_float(osc_ex_out_dtype(ex, 0)))
        return arith(ex, alu, a, b);
    return osc_ir_alu(ex->group, alu, nan_as(ex, a, b), nan_as(ex, b, a));
}

/* log(exp(a) + exp(b)) = max + log1p(exp(-|a - b|)); equal infinities give themselves. */
static osc_ir_arg log_add_exp(osc_expand *ex, osc_ir_arg a, osc_ir_arg b)
{
    osc_group *g = ex->group;
    osc_ir_arg far = osc_ir_act(g, OSC_ACT_ABS, osc_ir_alu(g, OSC_ALU_SUB, a, b));
    osc_ir_arg small = osc_ir_act_affine(g, OSC_ACT_EXP, far, osc_ir_imm(-1), osc_ir_none());
    osc_ir_arg most = osc_ir_alu(g, OSC_ALU_MAX, a, b);
    osc_ir_arg sum = osc_ir_alu(g, OSC_ALU_ADD, most, osc_ir_act(g, OSC_ACT_LOG1P, small));
    osc_ir_arg size = osc_ir_act(g, OSC_ACT_ABS, most);
    osc_ir_arg infinite =
        osc_ir_alu_as(g, OSC_ALU_EQ, size, osc_ir_imm(INFINITY), OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ir_arg same = osc_ir_alu_as(g, OSC_ALU_EQ, a, b, OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ir_arg both = osc_ir_alu_as(g, OSC_ALU_AND, infinite, same, OSC_BOOL, OSC_ENGINE_VECTOR);
    return osc_ir_select(g, both, a, sum, OSC_F32);
}

/* xlogy(a, b) = b is NaN ? NaN : a == 0 ? 0 : a log b */
static osc_ir_arg xlogy(osc_expand *ex, osc_ir_arg a, osc_ir_arg b)
{
    osc_group *g = ex->group;
    osc_ir_arg product = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_act(g, OSC_ACT_LOG, b), a);
    if (a.kind == OSC_IR_IMM)
        a = osc_ir_fill(g, OSC_F32, a.imm);
    osc_ir_arg zero = osc_ir_alu_as(g, OSC_ALU_EQ, a, osc_ir_imm(0), OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ir_arg value = osc_ir_select(g, zero, osc_ir_imm(0), product, OSC_F32);
    if (b.kind == OSC_IR_IMM)
        return value;
    osc_ir_arg bad = osc_ir_alu_as(g, OSC_ALU_NE, b, b, OSC_BOOL, OSC_ENGINE_VECTOR);
    return osc_ir_select(g, bad, b, value, OSC_F32);
}

/* Quotient rounded towards zero or down. Integers divide towards zero, one too high for floor exactly where
 * the two remainders differ. For floats floor is exact from fmod: (a - floormod(a, b)) / b. */
static osc_ir_arg rounded_quotient(osc_expand *ex, osc_ir_arg a, osc_ir_arg b, bool down)
{
    osc_group *g = ex->group;
    if (!osc_dtype_is_float(osc_ex_out_dtype(ex, 0))) {
        osc_ir_arg quotient = arith(ex, OSC_ALU_DIV, a, b);
        if (!down)
            return quotient;
        osc_ir_arg high = osc_ir_alu_as(g, OSC_ALU_NE, arith(ex, OSC_ALU_FLOORMOD, a, b),
                                        arith(ex, OSC_ALU_FMOD, a, b), OSC_BOOL, OSC_ENGINE_GPSIMD);
        return arith(ex, OSC_ALU_SUB, quotient, high);
    }
    if (!down) { /* PyTorch rounds the quotient to the dtype before it truncates */
        osc_dtype out = osc_ex_out_dtype(ex, 0);
        return osc_ir_act(g, OSC_ACT_TRUNC,
                          osc_ir_alu_as(g, OSC_ALU_DIV, a, b, out, OSC_ENGINE_VECTOR));
    }
    osc_ir_arg rest = osc_ir_alu(g, OSC_ALU_FLOORMOD, a, b);
    osc_ir_arg exact = osc_ir_alu(g, OSC_ALU_DIV, osc_ir_alu(g, OSC_ALU_SUB, a, rest), b);
    osc_ir_arg whole = osc_ir_act(g, OSC_ACT_ROUND, exact);
    osc_ir_arg zero = osc_ir_alu_as(g, OSC_ALU_EQ, b, osc_ir_imm(0), OSC_BOOL, OSC_ENGINE_VECTOR);
    return osc_ir_select(g, zero, osc_ir_alu(g, OSC_ALU_DIV, a, b), whole, OSC_F32);
}

void osc_expand_binary(osc_expand *ex)
{
    osc_ir_arg a = osc_ex_arg(ex, 0), b = osc_ex_arg(ex, 1);
    osc_alu alu = (osc_alu)ex->row->alu;
    if (osc_ex_out_dtype(ex, 0) == OSC_BOOL) {
        if (bool_form(alu) == OSC_ALU_BYPASS) {
            osc_ex_refuse(ex, "it is not defined on booleans");
            return;
        }
        osc_ex_out(ex, 0,
                   osc_ir_alu_as(ex->group, bool_form(alu), a, b, OSC_BOOL, OSC_ENGINE_VECTOR));
        return;
    }
    switch (ex->row->variant) {
    case OSC_BINARY_ADD:
    case OSC_BINARY_RSUB: expand_add(ex, a, b); return;
    case OSC_BINARY_POW: osc_ex_out(ex, 0, power(ex, a, b)); return;
    case OSC_BINARY_QUIET: osc_ex_out(ex, 0, quiet(ex, alu, a, b)); return;
    case OSC_BINARY_LOGADDEXP: osc_ex_out(ex, 0, log_add_exp(ex, a, b)); return;
    case OSC_BINARY_XLOGY: osc_ex_out(ex, 0, xlogy(ex, a, b)); return;
    case OSC_BINARY_FLOOR_DIV: osc_ex_out(ex, 0, rounded_quotient(ex, a, b, true)); return;
    case OSC_BINARY_DIV_MODE: { /* 1 trunc, 2 floor, None true division */
        int64_t mode = osc_ex_int(ex, 2, 0);
        osc_ex_out(ex, 0,
                   mode == 0 ? arith(ex, OSC_ALU_DIV, a, b)
                             : rounded_quotient(ex, a, b, mode == 2));
        return;
    }
    default: osc_ex_out(ex, 0, arith(ex, alu, a, b)); return;
    }
}

void osc_expand_compare(osc_expand *ex)
{
    osc_ir_arg a = rounded(ex, osc_ex_arg(ex, 0), 1), b = rounded(ex, osc_ex_arg(ex, 1), 0);
    osc_engine engine = needs_exact(ex, 0, 1) ? OSC_ENGINE_GPSIMD : OSC_ENGINE_VECTOR;
    osc_ir_arg y = osc_ir_alu_as(ex->group, (osc_alu)ex->row->alu, a, b, OSC_BOOL, engine);
    osc_ex_out(ex, 0, y);
}

void osc_expand_logical(osc_expand *ex)
{
    osc_ir_arg y = osc_ir_alu_as(ex->group, (osc_alu)ex->row->alu, osc_ex_arg(ex, 0),
                                 osc_ex_arg(ex, 1), OSC_BOOL, OSC_ENGINE_VECTOR);
    osc_ex_out(ex, 0, y);
}

/* On booleans the logical operator of the same name; on integers the bits, on Vector. */
void osc_expand_bitwise(osc_expand *ex)
{
    osc_ir_arg a = osc_ex_arg(ex, 0), b = osc_ex_arg(ex, 1);
    osc_dtype out = osc_ex_out_dtype(ex, 0);
    osc_alu alu = (osc_alu)ex->row->alu;
    if (osc_dtype_is_float(out)) {
        osc_ex_refuse(ex, "it is defined on integers only");
        return;
    }
    if (out == OSC_BOOL)
        alu = alu == OSC_ALU_BITAND ? OSC_ALU_AND : alu == OSC_ALU_BITOR ? OSC_ALU_OR : OSC_ALU_XOR;
    else if (a.kind == OSC_IR_IMM)
        a = osc_ir_fill(ex->group, out, a.imm);
    else if (b.kind == OSC_IR_IMM)
        b = osc_ir_fill(ex->group, out, b.imm);
    osc_ex_out(ex, 0, osc_ir_alu_as(ex->group, alu, a, b, out, OSC_ENGINE_VECTOR));
}
