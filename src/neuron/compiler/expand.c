/*
 * expand.c - arguments, conversions and results of expanders.
 *
 * Engines read any native dtype into fp32 for free, so operands are used as they lie in memory; only a
 * change of kind (float to integer, anything to bool) needs micro-operations. A node's float result stays
 * fp32 in SBUF until it is stored: a fused group rounds at its border only, as the vendor's compiler does,
 * and an operator run alone rounds exactly once. Explicit casts round where they stand.
 */
#include "neuron/compiler/expand.h"

#include <assert.h>
#include <math.h>

const osc_arg *osc_ex_raw(const osc_expand *ex, uint32_t index)
{
    static const osc_arg none = {.kind = OSC_ARG_NONE};
    return index < ex->node->nargs ? &ex->node->args[index] : &none;
}

bool osc_ex_has(const osc_expand *ex, uint32_t index)
{
    return osc_ex_raw(ex, index)->kind != OSC_ARG_NONE;
}

void osc_ex_refuse(osc_expand *ex, const char *why)
{
    osc_lower_refuse(ex->lower, why);
}

bool osc_ex_strides(const osc_group *group, const osc_value_info *info, int64_t stride[])
{
    if (info->rank > group->rank)
        return false;
    uint32_t lead = group->rank - info->rank;
    for (uint32_t d = 0; d < group->rank; d++) {
        stride[d] = 0;
        if (d < lead || info->size[d - lead] == 1)
            continue;
        if (info->size[d - lead] != group->size[d])
            return false;
        stride[d] = info->stride[d - lead];
    }
    return true;
}

static osc_ir_arg tensor_arg(osc_expand *ex, osc_value value)
{
    int64_t stride[OSC_MAX_RANK];
    if (ex->lower->ref_of[value] != UINT32_MAX)
        return (osc_ir_arg){.kind = OSC_IR_REF, .ref = ex->lower->ref_of[value]};
    const osc_value_info *info = osc_graph_value(ex->lower->graph, value);
    if (!osc_lower_is_computed(ex->lower, value)) {
        osc_ex_refuse(ex, "an operand is computed by no earlier operator");
        return osc_ir_imm(0);
    }
    if (!osc_dtype_is_native((osc_dtype)info->dtype)) {
        osc_ex_refuse(ex, "the engines do not compute with this dtype");
        return osc_ir_imm(0);
    }
    if (!osc_ex_strides(ex->group, info, stride)) {
        osc_ex_refuse(ex, "the operands' shapes do not broadcast to the result's");
        return osc_ir_imm(0);
    }
    return osc_ir_input(ex->group, value, (osc_dtype)info->dtype, stride);
}

osc_ir_arg osc_ex_arg(osc_expand *ex, uint32_t index)
{
    const osc_arg *arg = osc_ex_raw(ex, index);
    switch (arg->kind) {
    case OSC_ARG_TENSOR: return tensor_arg(ex, arg->tensor);
    case OSC_ARG_INT: return osc_ir_imm((double)arg->i);
    case OSC_ARG_FLOAT: return osc_ir_imm(arg->f);
    case OSC_ARG_NONE: return osc_ir_none();
    default:
        osc_ex_refuse(ex, "a list stands where a tensor or a number is expected");
        return osc_ir_imm(0);
    }
}

osc_dtype osc_ex_dtype(const osc_expand *ex, uint32_t index)
{
    const osc_arg *arg = osc_ex_raw(ex, index);
    if (arg->kind == OSC_ARG_TENSOR)
        return (osc_dtype)osc_graph_value(ex->lower->graph, arg->tensor)->dtype;
    return arg->kind == OSC_ARG_INT ? OSC_I32 : OSC_F32;
}

double osc_ex_number(const osc_expand *ex, uint32_t index, double when_none)
{
    const osc_arg *arg = osc_ex_raw(ex, index);
    if (arg->kind == OSC_ARG_INT)
        return (double)arg->i;
    return arg->kind == OSC_ARG_FLOAT ? arg->f : when_none;
}

int64_t osc_ex_int(const osc_expand *ex, uint32_t index, int64_t when_none)
{
    const osc_arg *arg = osc_ex_raw(ex, index);
    if (arg->kind == OSC_ARG_FLOAT)
        return (int64_t)arg->f;
    return arg->kind == OSC_ARG_INT ? arg->i : when_none;
}

osc_dtype osc_ex_out_dtype(const osc_expand *ex, uint32_t index)
{
    if (index >= ex->node->nouts || ex->node->outs[index] == OSC_NO_VALUE)
        return OSC_F32;
    return (osc_dtype)osc_graph_value(ex->lower->graph, ex->node->outs[index])->dtype;
}

osc_dtype osc_ex_tile_dtype(const osc_expand *ex, osc_ir_arg a)
{
    if (a.kind == OSC_IR_REF && !ex->group->failed)
        return (osc_dtype)ex->group->ops[a.ref].dtype;
    return OSC_F32;
}

/* fp32 of an integer is exact up to 16 bits; int32 is rounded once, as PyTorch does. */
static osc_ir_arg float_to_int(osc_expand *ex, osc_ir_arg a, osc_dtype to)
{
    osc_ir_arg whole = osc_ir_act(ex->group, OSC_ACT_TRUNC, a);
    osc_ir_arg wide = osc_ir_copy(ex->group, whole, OSC_I32, OSC_ENGINE_VECTOR);
    return to == OSC_I32 ? wide : osc_ir_copy(ex->group, wide, to, OSC_ENGINE_GPSIMD);
}

osc_ir_arg osc_ex_convert(osc_expand *ex, osc_ir_arg a, osc_dtype to)
{
    if (!osc_dtype_is_native(to)) {
        osc_ex_refuse(ex, "the engines do not write this dtype");
        return a;
    }
    if (a.kind == OSC_IR_IMM)
        return osc_ir_fill(ex->group, to, to == OSC_BOOL ? (a.imm != 0) : a.imm);
    osc_dtype from = osc_ex_tile_dtype(ex, a);
    if (from == to)
        return a;
    if (to == OSC_BOOL)
        return osc_ir_alu_as(ex->group, OSC_ALU_NE, a, osc_ir_imm(0), OSC_BOOL, OSC_ENGINE_VECTOR);
    if (osc_dtype_is_float(to))
        return osc_ir_copy(ex->group, a, to, OSC_ENGINE_VECTOR);
    if (osc_dtype_is_float(from))
        return float_to_int(ex, a, to);
    return osc_ir_copy(ex->group, a, to, OSC_ENGINE_GPSIMD);
}

/*
 * Binds a value to a result. A float result stays a fp32 tile until it is stored; the first value bound to
 * a micro-operation may set its dtype then (fuse.c).
 */
static void bind(osc_expand *ex, osc_value value, osc_ir_arg a)
{
    osc_dtype to = (osc_dtype)osc_graph_value(ex->lower->graph, value)->dtype;
    bool computed =
        a.kind == OSC_IR_REF && !ex->group->failed && ex->group->ops[a.ref].kind != OSC_IR_INPUT;
    bool loose = computed && osc_dtype_is_native(to) && osc_dtype_is_float(to) &&
                 ex->group->ops[a.ref].dtype == OSC_F32;
    if (!loose)
        a = osc_ex_convert(ex, a, to);
    if (ex->group->failed || a.kind != OSC_IR_REF)
        return;
    if (ex->group->ops[a.ref].kind == OSC_IR_INPUT)
        a = osc_ir_copy(ex->group, a, to, OSC_ENGINE_VECTOR);
    if (ex->group->failed)
        return;
    if (ex->group->ops[a.ref].value == OSC_NO_VALUE)
        ex->group->ops[a.ref].value = value;
    assert(a.ref < ex->group->count);
    ex->lower->ref_of[value] = a.ref;
}

void osc_ex_out(osc_expand *ex, uint32_t index, osc_ir_arg a)
{
    if (index < ex->node->nouts && ex->node->outs[index] != OSC_NO_VALUE)
        bind(ex, ex->node->outs[index], a);
}

void osc_ex_out_kept(osc_expand *ex, uint32_t index, osc_ir_arg a, bool keepdim)
{
    osc_ex_out(ex, index, a);
    if (index < ex->node->nouts && ex->node->outs[index] != OSC_NO_VALUE)
        ex->lower->squeezed[ex->node->outs[index]] = !keepdim;
}

double osc_ex_reduced_count(const osc_expand *ex)
{
    double count = 1;
    for (uint32_t d = 0; d < ex->group->rank; d++) {
        if (ex->group->reduced[d])
            count *= (double)ex->group->size[d];
    }
    return count;
}
