/*
 * expand_ternary.c - operators of three tensors, and gradients of activation functions.
 *
 * Gradients are elementwise formulas of the incoming gradient and what the forward pass kept; they follow
 * PyTorch's CPU kernels, comparisons included (hardtanh passes no gradient at its bounds).
 */
#include "neuron/compiler/expand.h"
#include "neuron/compiler/expand_ternary.h"

#include <math.h>

typedef osc_group *G;

static osc_ir_arg imm(double v)
{
    return osc_ir_imm(v);
}

static osc_ir_arg truth(osc_expand *ex, osc_alu alu, osc_ir_arg a, osc_ir_arg b)
{
    return osc_ir_alu_as(ex->group, alu, a, b, OSC_BOOL, OSC_ENGINE_VECTOR);
}

/* One side of a selection in the result's dtype; fp32 stands for every float. */
static osc_ir_arg side(osc_expand *ex, osc_ir_arg a)
{
    osc_dtype out = osc_ex_out_dtype(ex, 0);
    if (a.kind == OSC_IR_IMM && (double)(float)a.imm == a.imm)
        return a;
    if (a.kind == OSC_IR_IMM && osc_dtype_is_float(out))
        return a;
    if (osc_dtype_is_float(out) && osc_dtype_is_float(osc_ex_tile_dtype(ex, a)))
        return a;
    return osc_ex_convert(ex, a, out);
}

static osc_ir_arg choose(osc_expand *ex, osc_ir_arg predicate, osc_ir_arg yes, osc_ir_arg no)
{
    osc_dtype out = osc_ex_out_dtype(ex, 0);
    return osc_ir_select(ex->group, predicate, side(ex, yes), side(ex, no),
                         osc_dtype_is_float(out) ? OSC_F32 : out);
}

/* self + value * t1 op t2; integer results on GpSimd. */
static osc_ir_arg add_combined(osc_expand *ex, osc_alu alu)
{
    osc_dtype out = osc_ex_out_dtype(ex, 0);
    osc_ir_arg self = osc_ex_arg(ex, 0), t1 = osc_ex_arg(ex, 1), t2 = osc_ex_arg(ex, 2);
    osc_ir_arg value = imm(osc_ex_number(ex, 3, 1));
    if (osc_dtype_is_float(out)) {
        osc_ir_arg product =
            osc_ir_alu(ex->group, alu, osc_ir_alu(ex->group, OSC_ALU_MUL, t1, value), t2);
        return osc_ir_alu(ex->group, OSC_ALU_ADD, self, product);
    }
    osc_ir_arg scaled = osc_ir_alu_as(ex->group, OSC_ALU_MUL, t1, value, out, OSC_ENGINE_GPSIMD);
    osc_ir_arg product = osc_ir_alu_as(ex->group, alu, scaled, t2, out, OSC_ENGINE_GPSIMD);
    return osc_ir_alu_as(ex->group, OSC_ALU_ADD, self, product, out, OSC_ENGINE_GPSIMD);
}

/* |w| < 0.5 ? a + w (b - a) : b - (b - a)(1 - w), exact at both ends as PyTorch's. */
static osc_ir_arg lerp(osc_expand *ex)
{
    G g = ex->group;
    osc_ir_arg a = osc_ex_arg(ex, 0), b = osc_ex_arg(ex, 1), w = osc_ex_arg(ex, 2);
    osc_ir_arg span = osc_ir_alu(g, OSC_ALU_SUB, b, a);
    if (w.kind == OSC_IR_IMM && fabs(w.imm) < 0.5)
        return osc_ir_alu(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, span, w), a);
    osc_ir_arg rest = w.kind == OSC_IR_IMM ? imm(1 - w.imm) : osc_ir_alu(g, OSC_ALU_SUB, imm(1), w);
    osc_ir_arg high = osc_ir_alu(g, OSC_ALU_SUB, b, osc_ir_alu(g, OSC_ALU_MUL, span, rest));
    if (w.kind == OSC_IR_IMM)
        return high;
    osc_ir_arg low = osc_ir_alu(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, span, w), a);
    osc_ir_arg near = truth(ex, OSC_ALU_LT, osc_ir_act(g, OSC_ACT_ABS, w), imm(0.5));
    return osc_ir_select(g, near, low, high, OSC_F32);
}

void osc_expand_ternary(osc_expand *ex)
{
    osc_ir_arg y;
    switch (ex->row->variant) {
    case OSC_TERNARY_WHERE:
        y = choose(ex, osc_ex_arg(ex, 0), osc_ex_arg(ex, 1), osc_ex_arg(ex, 2));
        break;
    case OSC_TERNARY_MASKED_FILL:
        y = choose(ex, osc_ex_arg(ex, 1), osc_ex_arg(ex, 2), osc_ex_arg(ex, 0));
        break;
    case OSC_TERNARY_ADDCMUL: y = add_combined(ex, OSC_ALU_MUL); break;
    case OSC_TERNARY_ADDCDIV: y = add_combined(ex, OSC_ALU_DIV); break;
    default: y = lerp(ex); break;
    }
    osc_ex_out(ex, 0, y);
}

/* grad * s (1 + x (1 - s)), s = sigmoid(x) */
static osc_ir_arg silu_slope(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    osc_ir_arg s = osc_ir_act(g, OSC_ACT_SIGMOID, x);
    osc_ir_arg rest = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_SUB, imm(1), s), x);
    return osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_ADD, rest, imm(1)), s);
}

/* Derivative of x Phi(x): Phi(x) + x phi(x). */
static osc_ir_arg gelu_slope(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    osc_ir_arg e = osc_ir_act_affine(g, OSC_ACT_ERF, x, imm(M_SQRT1_2), osc_ir_none());
    osc_ir_arg cdf = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_ADD, e, imm(1)), imm(0.5));
    osc_ir_arg square = osc_ir_alu(g, OSC_ALU_MUL, x, x);
    osc_ir_arg bell = osc_ir_act_affine(g, OSC_ACT_EXP, square, imm(-0.5), osc_ir_none());
    osc_ir_arg density = osc_ir_alu(g, OSC_ALU_MUL, bell, imm(0.5 * M_2_SQRTPI * M_SQRT1_2));
    return osc_ir_alu(g, OSC_ALU_ADD, cdf, osc_ir_alu(g, OSC_ALU_MUL, density, x));
}

/* Derivative of 0.5 x (1 + tanh(u)), u = k (x + 0.044715 x^3). */
static osc_ir_arg gelu_tanh_slope(osc_expand *ex, osc_ir_arg x)
{
    G g = ex->group;
    const double k = M_SQRT2 * M_2_SQRTPI * 0.5, c = 0.044715;
    osc_ir_arg square = osc_ir_alu(g, OSC_ALU_MUL, x, x);
    osc_ir_arg poly =
        osc_ir_alu(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, square, imm(k * c)), imm(k));
    osc_ir_arg t = osc_ir_act(g, OSC_ACT_TANH, osc_ir_alu(g, OSC_ALU_MUL, poly, x));
    osc_ir_arg left = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_ADD, t, imm(1)), imm(0.5));
    osc_ir_arg du =
        osc_ir_alu(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, square, imm(3 * k * c)), imm(k));
    osc_ir_arg dt = osc_ir_alu(g, OSC_ALU_SUB, imm(1), osc_ir_alu(g, OSC_ALU_MUL, t, t));
    osc_ir_arg right = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_MUL, dt, du), x);
    return osc_ir_alu(g, OSC_ALU_ADD, left, osc_ir_alu(g, OSC_ALU_MUL, right, imm(0.5)));
}

/* softplus_backward(grad, x, beta, threshold) */
static osc_ir_arg softplus_gradient(osc_expand *ex, osc_ir_arg grad, osc_ir_arg x)
{
    G g = ex->group;
    double beta = osc_ex_number(ex, 2, 1), threshold = osc_ex_number(ex, 3, 20);
    osc_ir_arg scaled = osc_ir_alu(g, OSC_ALU_MUL, x, imm(beta));
    osc_ir_arg slope = osc_ir_act(g, OSC_ACT_SIGMOID, scaled);
    osc_ir_arg linear = truth(ex, OSC_ALU_GT, scaled, imm(threshold));
    return osc_ir_select(g, linear, grad, osc_ir_alu(g, OSC_ALU_MUL, grad, slope), OSC_F32);
}

/* elu_backward(grad, alpha, scale, input_scale, is_result, x or y) */
static osc_ir_arg elu_gradient(osc_expand *ex, osc_ir_arg grad, osc_ir_arg x)
{
    G g = ex->group;
    double alpha = osc_ex_number(ex, 1, 1), scale = osc_ex_number(ex, 2, 1);
    double input = osc_ex_number(ex, 3, 1);
    osc_ir_arg slope;
    if (osc_ex_int(ex, 4, 0)) {
        slope = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_ADD, x, imm(alpha * scale)),
                           imm(input));
    } else {
        osc_ir_arg e = osc_ir_act_affine(g, OSC_ACT_EXP, x, imm(input), osc_ir_none());
        slope = osc_ir_alu(g, OSC_ALU_MUL, e, imm(input * alpha * scale));
    }
    osc_ir_arg low = osc_ir_alu(g, OSC_ALU_MUL, slope, grad);
    osc_ir_arg high = osc_ir_alu(g, OSC_ALU_MUL, grad, imm(scale));
    return osc_ir_select(g, truth(ex, OSC_ALU_LE, x, imm(0)), low, high, OSC_F32);
}

static osc_ir_arg hard_sigmoid_gradient(osc_expand *ex, osc_ir_arg grad, osc_ir_arg x)
{
    osc_ir_arg below = truth(ex, OSC_ALU_LE, x, imm(-3)), above = truth(ex, OSC_ALU_GE, x, imm(3));
    osc_ir_arg slope = osc_ir_alu(ex->group, OSC_ALU_DIV, grad, imm(6));
    return osc_ir_select(ex->group, truth(ex, OSC_ALU_OR, below, above), imm(0), slope, OSC_F32);
}

static osc_ir_arg gradient(osc_expand *ex, osc_ir_arg grad, osc_ir_arg x)
{
    G g = ex->group;
    switch (ex->row->variant) {
    case OSC_BACKWARD_THRESHOLD: /* (grad, self, threshold) */
        return osc_ir_select(g, truth(ex, OSC_ALU_LE, x, osc_ex_arg(ex, 2)), imm(0), grad, OSC_F32);
    case OSC_BACKWARD_SIGMOID: /* grad (1 - y) y */
        return osc_ir_alu(g, OSC_ALU_MUL,
                          osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_SUB, imm(1), x), grad),
                          x);
    case OSC_BACKWARD_TANH: /* grad (1 - y^2) */
        return osc_ir_alu(g, OSC_ALU_MUL,
                          osc_ir_alu(g, OSC_ALU_SUB, imm(1), osc_ir_alu(g, OSC_ALU_MUL, x, x)),
                          grad);
    case OSC_BACKWARD_SILU: return osc_ir_alu(g, OSC_ALU_MUL, silu_slope(ex, x), grad);
    case OSC_BACKWARD_GELU: /* (grad, self, approximate) */
        return osc_ir_alu(g, OSC_ALU_MUL,
                          osc_ex_int(ex, 2, 0) ? gelu_tanh_slope(ex, x) : gelu_slope(ex, x), grad);
    case OSC_BACKWARD_LEAKY_RELU: { /* (grad, self, slope, self_is_result) */
        osc_ir_arg low = osc_ir_alu(g, OSC_ALU_MUL, grad, imm(osc_ex_number(ex, 2, 0.01)));
        return osc_ir_select(g, truth(ex, OSC_ALU_GT, x, imm(0)), grad, low, OSC_F32);
    }
    case OSC_BACKWARD_HARDTANH: { /* (grad, self, min, max) */
        osc_ir_arg below = truth(ex, OSC_ALU_LE, x, osc_ex_arg(ex, 2));
        osc_ir_arg above = truth(ex, OSC_ALU_GE, x, osc_ex_arg(ex, 3));
        return osc_ir_select(g, truth(ex, OSC_ALU_OR, below, above), imm(0), grad, OSC_F32);
    }
    case OSC_BACKWARD_HARDSIGMOID: return hard_sigmoid_gradient(ex, grad, x);
    case OSC_BACKWARD_ELU: return elu_gradient(ex, grad, x);
    default: return softplus_gradient(ex, grad, x);
    }
}

void osc_expand_backward(osc_expand *ex)
{
    osc_ir_arg grad = osc_ex_arg(ex, 0);
    osc_ir_arg x = osc_ex_arg(ex, ex->row->variant == OSC_BACKWARD_ELU ? 5 : 1);
    if (grad.kind != OSC_IR_REF || x.kind != OSC_IR_REF) {
        osc_ex_refuse(ex, "gradient and input must be tensors");
        return;
    }
    osc_ex_out(ex, 0, gradient(ex, grad, x));
}
