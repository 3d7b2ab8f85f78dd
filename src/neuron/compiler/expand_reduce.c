/*
 * expand_reduce.c - reductions, softmax and the norms, as micro-operations on rows.
 *
 * Sums run in fp32 whatever the dtypes. The norms are the recipes of neuroncore-model.md 4.3 and 4.5:
 * select.c turns square-and-sum and exp-and-sum into activation_reduce, mean and epsilon into the scale
 * and bias of rsqrt, and the two last multiplications into one scalar_tensor_tensor. A variance is summed
 * from centred values: with E[x^2] - mean^2 an fp32 row of large mean would lose its digits.
 */
#include "neuron/compiler/expand.h"
#include "neuron/compiler/expand_reduce.h"

#include <float.h>
#include <math.h>

typedef osc_group *G;

static osc_ir_arg imm(double v)
{
    return osc_ir_imm(v);
}

static osc_ir_arg mean_of(osc_expand *ex, osc_ir_arg x)
{
    osc_ir_arg sum = osc_ir_reduce(ex->group, OSC_ALU_ADD, x);
    return osc_ir_alu(ex->group, OSC_ALU_MUL, sum, imm(1.0 / osc_ex_reduced_count(ex)));
}

/* Maximum and minimum of int32 through fp32 would lose digits, and sums of integers are int64. */
static bool refused_dtype(osc_expand *ex)
{
    osc_dtype in = osc_ex_dtype(ex, 0), out = osc_ex_out_dtype(ex, 0);
    if (osc_dtype_is_float(out) || out == OSC_BOOL)
        return false;
    bool order = ex->row->variant == OSC_REDUCE_PLAIN &&
                 (ex->row->alu == OSC_ALU_MAX || ex->row->alu == OSC_ALU_MIN);
    if (order && in != OSC_I32 && in != OSC_U32 && in == out)
        return false;
    osc_ex_refuse(ex, "reductions of this integer dtype are not exact on the device");
    return true;
}

static bool keeps_dims(const osc_expand *ex)
{
    switch (ex->row->variant) {
    case OSC_REDUCE_PLAIN:
    case OSC_REDUCE_MEAN:
    case OSC_REDUCE_TRUTH: return ex->row->dims == OSC_DIMS_ARG1 && osc_ex_int(ex, 2, 0) != 0;
    default: return false;
    }
}

/* any and all: what counts is whether elements are zero. */
static osc_ir_arg truth_of(osc_expand *ex, osc_ir_arg x)
{
    osc_ir_arg set = osc_ir_alu(ex->group, OSC_ALU_NE, x, imm(0));
    osc_ir_arg found = osc_ir_reduce(ex->group, (osc_alu)ex->row->alu, set);
    if (osc_ex_reduced_count(ex) ==
        0) /* the largest of nothing is -infinity, but any(nothing) is false */
        return osc_ir_alu(ex->group, OSC_ALU_MAX, found, imm(0));
    return found;
}

/* linalg_vector_norm(self, ord, dim, keepdim, dtype) */
void osc_expand_vector_norm(osc_expand *ex)
{
    G g = ex->group;
    osc_ir_arg x = osc_ex_arg(ex, 0), size = osc_ir_act(g, OSC_ACT_ABS, x), y;
    double order = osc_ex_number(ex, 1, 2);
    if (isinf(order) && osc_ex_reduced_count(ex) == 0) {
        osc_ex_refuse(ex, "nothing has no maximum or minimum");
        return;
    }
    if (isinf(order))
        y = osc_ir_reduce(g, order > 0 ? OSC_ALU_MAX : OSC_ALU_MIN, size);
    else if (order == 0)
        y = osc_ir_reduce(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_NE, x, imm(0)));
    else if (order == 1)
        y = osc_ir_reduce(g, OSC_ALU_ADD, size);
    else if (order == 2)
        y = osc_ir_act(g, OSC_ACT_SQRT,
                       osc_ir_reduce(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, x, x)));
    else
        y = osc_ir_alu(g, OSC_ALU_POW,
                       osc_ir_reduce(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_POW, size, imm(order))),
                       imm(1 / order));
    osc_ex_out_kept(ex, 0, y, osc_ex_int(ex, 3, 0) != 0);
}

/* mse_loss(self, target, reduction): 1 mean, 2 sum. Without a reduction it is another space. */
void osc_expand_mse_loss(osc_expand *ex)
{
    G g = ex->group;
    int64_t reduction = osc_ex_int(ex, 2, 1);
    if (reduction != 1 && reduction != 2) {
        osc_ex_refuse(ex, "without a reduction it runs as sub and mul");
        return;
    }
    osc_ir_arg d = osc_ir_alu(g, OSC_ALU_SUB, osc_ex_arg(ex, 0), osc_ex_arg(ex, 1));
    osc_ir_arg square = osc_ir_alu(g, OSC_ALU_MUL, d, d);
    osc_ex_out_kept(
        ex, 0, reduction == 1 ? mean_of(ex, square) : osc_ir_reduce(g, OSC_ALU_ADD, square), false);
}

void osc_expand_reduce(osc_expand *ex)
{
    osc_ir_arg x = osc_ex_arg(ex, 0), y;
    bool keep = keeps_dims(ex);
    if (refused_dtype(ex))
        return;
    bool order = ex->row->alu == OSC_ALU_MAX || ex->row->alu == OSC_ALU_MIN;
    if (order && ex->row->variant == OSC_REDUCE_PLAIN && osc_ex_reduced_count(ex) == 0) {
        osc_ex_refuse(ex, "nothing has no maximum or minimum");
        return;
    }
    switch (ex->row->variant) {
    case OSC_REDUCE_MEAN: y = mean_of(ex, x); break;
    case OSC_REDUCE_TRUTH: y = truth_of(ex, x); break;
    default: y = osc_ir_reduce(ex->group, (osc_alu)ex->row->alu, x); break;
    }
    osc_ex_out_kept(ex, 0, y, keep);
}

/* var.correction(self, dim, correction, keepdim); variants: its root, and with the mean as well. */
void osc_expand_var(osc_expand *ex)
{
    G g = ex->group;
    osc_ir_arg x = osc_ex_arg(ex, 0), mean = mean_of(ex, x);
    double count = osc_ex_reduced_count(ex) - osc_ex_number(ex, 2, 1);
    osc_ir_arg centred = osc_ir_alu(g, OSC_ALU_SUB, x, mean);
    osc_ir_arg sum = osc_ir_reduce(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, centred, centred));
    osc_ir_arg var = osc_ir_alu(g, OSC_ALU_DIV, sum, imm(count > 0 ? count : 0));
    bool keep = osc_ex_int(ex, 3, 0) != 0;
    if (ex->row->variant == OSC_VAR_STD || ex->row->variant == OSC_VAR_STD_MEAN)
        var = osc_ir_act(g, OSC_ACT_SQRT, var);
    osc_ex_out_kept(ex, 0, var, keep);
    if (ex->row->variant == OSC_VAR_MEAN || ex->row->variant == OSC_VAR_STD_MEAN)
        osc_ex_out_kept(ex, 1, mean, keep);
}

/* _softmax(self, dim, half_to_float), and its logarithm: x - max - log(sum exp(x - max)). */
void osc_expand_softmax(osc_expand *ex)
{
    G g = ex->group;
    osc_ir_arg x = osc_ex_arg(ex, 0);
    osc_ir_arg most = osc_ir_reduce(g, OSC_ALU_MAX, x);
    osc_ir_arg shift = osc_ir_alu(g, OSC_ALU_MUL, most, imm(-1));
    osc_ir_arg e = osc_ir_act_affine(g, OSC_ACT_EXP, x, osc_ir_none(), shift);
    osc_ir_arg sum = osc_ir_reduce(g, OSC_ALU_ADD, e);
    if (ex->row->variant == OSC_SOFTMAX_LOG) {
        osc_ir_arg log = osc_ir_act(g, OSC_ACT_LOG, sum);
        osc_ir_arg low = osc_ir_alu(g, OSC_ALU_ADD, x, shift);
        osc_ex_out(ex, 0, osc_ir_alu(g, OSC_ALU_SUB, low, log));
        return;
    }
    osc_ex_out(ex, 0, osc_ir_alu(g, OSC_ALU_DIV, e, sum));
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps) -> y, mean, rstd */
void osc_expand_layer_norm(osc_expand *ex)
{
    G g = ex->group;
    osc_ir_arg x = osc_ex_arg(ex, 0), mean = mean_of(ex, x);
    osc_ir_arg centred = osc_ir_alu(g, OSC_ALU_SUB, x, mean);
    osc_ir_arg sum = osc_ir_reduce(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, centred, centred));
    osc_ir_arg var = osc_ir_alu(g, OSC_ALU_MUL, sum, imm(1.0 / osc_ex_reduced_count(ex)));
    osc_ir_arg rstd = osc_ir_act(g, OSC_ACT_RSQRT,
                                 osc_ir_alu(g, OSC_ALU_ADD, var, imm(osc_ex_number(ex, 4, 1e-5))));
    osc_ir_arg y = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_SUB, x, mean), rstd);
    if (osc_ex_has(ex, 2))
        y = osc_ir_alu(g, OSC_ALU_MUL, y, osc_ex_arg(ex, 2));
    if (osc_ex_has(ex, 3))
        y = osc_ir_alu(g, OSC_ALU_ADD, y, osc_ex_arg(ex, 3));
    osc_ex_out(ex, 0, y);
    osc_ex_out(ex, 1, mean);
    osc_ex_out(ex, 2, rstd);
}

/* _fused_rms_norm(input, normalized_shape, weight, eps) -> y, rstd; eps None is fp32's epsilon, whatever
 * the dtype, as PyTorch computes in fp32. */
void osc_expand_rms_norm(osc_expand *ex)
{
    G g = ex->group;
    osc_ir_arg x = osc_ex_arg(ex, 0);
    double eps = osc_ex_number(ex, 3, (double)FLT_EPSILON);
    osc_ir_arg sum = osc_ir_reduce(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, x, x));
    osc_ir_arg mean = osc_ir_alu(g, OSC_ALU_MUL, sum, imm(1.0 / osc_ex_reduced_count(ex)));
    osc_ir_arg rstd = osc_ir_act(g, OSC_ACT_RSQRT, osc_ir_alu(g, OSC_ALU_ADD, mean, imm(eps)));
    osc_ir_arg y = osc_ir_alu(g, OSC_ALU_MUL, x, rstd);
    if (osc_ex_has(ex, 2))
        y = osc_ir_alu(g, OSC_ALU_MUL, y, osc_ex_arg(ex, 2));
    osc_ex_out(ex, 0, y);
    osc_ex_out(ex, 1, rstd);
}

/* _softmax_backward_data(grad, y, dim, dtype): y (grad - sum(grad y)); log: grad - exp(y) sum(grad). */
void osc_expand_softmax_backward(osc_expand *ex)
{
    G g = ex->group;
    osc_ir_arg grad = osc_ex_arg(ex, 0), y = osc_ex_arg(ex, 1);
    if (ex->row->variant == OSC_SOFTMAX_LOG) {
        osc_ir_arg sum = osc_ir_reduce(g, OSC_ALU_ADD, grad);
        osc_ir_arg part = osc_ir_alu(g, OSC_ALU_MUL, osc_ir_act(g, OSC_ACT_EXP, y), sum);
        osc_ex_out(ex, 0, osc_ir_alu(g, OSC_ALU_SUB, grad, part));
        return;
    }
    osc_ir_arg sum = osc_ir_reduce(g, OSC_ALU_ADD, osc_ir_alu(g, OSC_ALU_MUL, grad, y));
    osc_ex_out(ex, 0, osc_ir_alu(g, OSC_ALU_MUL, osc_ir_alu(g, OSC_ALU_SUB, grad, sum), y));
}
