/*
 * ir.c - building groups and the facts that lowering needs about them.
 *
 * The list is append-only and in order: an operand always precedes its user, so one pass forward finds
 * classes and levels and one pass backward finds uses. Merging marks ops dead instead of moving them.
 */
#include "neuron/compiler/ir.h"

#include <assert.h>
#include <string.h>

#define GROUP_OPS_MAX (1u << 16)

osc_group *osc_group_new(osc_arena *arena, uint32_t rank, const int64_t *size)
{
    osc_group *group = OSC_ARENA_NEW(arena, osc_group);
    if (group == NULL)
        return NULL;
    group->arena = arena;
    group->rank = rank;
    group->source = OSC_NO_SOURCE;
    for (uint32_t d = 0; d < rank; d++)
        group->size[d] = size[d];
    return group;
}

osc_ir_arg osc_ir_imm(double value)
{
    return (osc_ir_arg){.kind = OSC_IR_IMM, .imm = value};
}

osc_ir_arg osc_ir_none(void)
{
    return (osc_ir_arg){.kind = OSC_IR_NONE};
}

static bool array_grow(osc_arena *arena, void **array, uint32_t count, uint32_t *cap,
                       size_t element)
{
    if (count < *cap)
        return true;
    if (count >= GROUP_OPS_MAX)
        return false;
    uint32_t wanted = *cap == 0 ? 16 : *cap * 2;
    void *bigger = osc_arena_calloc(arena, wanted, element);
    if (bigger == NULL)
        return false;
    if (count != 0)
        memcpy(bigger, *array, count * element);
    *array = bigger;
    *cap = wanted;
    return true;
}

osc_ir_arg osc_ir_append(osc_group *group, const osc_ir_op *op)
{
    osc_ir_arg result = {.kind = OSC_IR_REF};
    if (!array_grow(group->arena, (void **)&group->ops, group->count, &group->cap, sizeof *op)) {
        group->failed = true; /* every further result refers to op 0; nobody uses it */
        return result;
    }
    result.ref = group->count++;
    group->ops[result.ref] = *op;
    return result;
}

/* Appends a fresh micro-operation of the node being expanded. */
static osc_ir_arg append(osc_group *group, osc_ir_op *op)
{
    op->source = group->source;
    op->tensor = op->sum_into = op->sum_of = UINT32_MAX;
    if (op->kind != OSC_IR_INPUT)
        op->value = OSC_NO_VALUE;
    return osc_ir_append(group, op);
}

osc_ir_arg osc_ir_input(osc_group *group, osc_value value, osc_dtype dtype, const int64_t *stride)
{
    osc_ir_op op = {.kind = OSC_IR_INPUT, .dtype = (uint8_t)dtype, .value = value};
    for (uint32_t d = 0; d < group->rank; d++)
        op.stride[d] = stride[d];
    for (uint32_t i = 0; i < group->count; i++) {
        const osc_ir_op *other = &group->ops[i];
        if (other->kind == OSC_IR_INPUT && other->value == value && other->dtype == dtype &&
            other->skip == 0 && memcmp(other->stride, op.stride, sizeof op.stride) == 0)
            return (osc_ir_arg){.kind = OSC_IR_REF, .ref = i};
    }
    return append(group, &op);
}

osc_ir_arg osc_ir_input_half(osc_group *group, osc_value value, const int64_t *stride,
                             unsigned half)
{
    osc_ir_op op = {.kind = OSC_IR_INPUT, .dtype = OSC_I32, .value = value, .skip = half};
    for (uint32_t d = 0; d < group->rank; d++)
        op.stride[d] = stride[d] * 2;
    return append(group, &op);
}

osc_ir_arg osc_ir_fill(osc_group *group, osc_dtype dtype, double value)
{
    osc_ir_op op = {.kind = OSC_IR_FILL, .dtype = (uint8_t)dtype, .engine = OSC_ENGINE_VECTOR};
    op.arg[0] = osc_ir_imm(value);
    return append(group, &op);
}

/* Immediates are fp32: an integer that does not fit one becomes a tile. */
static osc_ir_arg exact_int(osc_group *group, osc_ir_arg a)
{
    if (a.kind == OSC_IR_IMM && (double)(float)a.imm != a.imm)
        return osc_ir_fill(group, OSC_I32, a.imm);
    return a;
}

osc_ir_arg osc_ir_alu_as(osc_group *group, osc_alu alu, osc_ir_arg a, osc_ir_arg b, osc_dtype dtype,
                         osc_engine engine)
{
    osc_ir_op op = {.kind = OSC_IR_ALU,
                    .alu = {(uint8_t)alu, OSC_ALU_BYPASS},
                    .dtype = (uint8_t)dtype,
                    .engine = (uint8_t)engine};
    if (a.kind == OSC_IR_IMM && b.kind == OSC_IR_IMM) /* a comparison's operands are no booleans */
        a = osc_ir_fill(group, dtype == OSC_BOOL ? OSC_F32 : dtype, a.imm);
    if (engine == OSC_ENGINE_GPSIMD && !osc_dtype_is_float(dtype)) {
        a = exact_int(group, a);
        b = exact_int(group, b);
    }
    op.arg[0] = a;
    op.arg[1] = b;
    if (a.kind == OSC_IR_IMM) {
        op.arg[0] = b;
        op.arg[1] = a;
        op.reverse[0] = true;
    }
    return append(group, &op);
}

osc_ir_arg osc_ir_alu(osc_group *group, osc_alu alu, osc_ir_arg a, osc_ir_arg b)
{
    bool tensors = a.kind == OSC_IR_REF && b.kind == OSC_IR_REF;
    osc_engine engine = alu == OSC_ALU_POW && tensors ? OSC_ENGINE_GPSIMD : OSC_ENGINE_VECTOR;
    return osc_ir_alu_as(group, alu, a, b, OSC_F32, engine);
}

osc_ir_arg osc_ir_act_affine(osc_group *group, osc_act act, osc_ir_arg a, osc_ir_arg scale,
                             osc_ir_arg bias)
{
    osc_ir_op op = {
        .kind = OSC_IR_ACT, .act = (uint8_t)act, .dtype = OSC_F32, .engine = OSC_ENGINE_SCALAR};
    if (a.kind == OSC_IR_IMM)
        a = osc_ir_fill(group, OSC_F32, a.imm);
    op.arg[0] = a;
    op.arg[1] = scale;
    op.arg[2] = bias;
    return append(group, &op);
}

osc_ir_arg osc_ir_act(osc_group *group, osc_act act, osc_ir_arg a)
{
    return osc_ir_act_affine(group, act, a, osc_ir_none(), osc_ir_none());
}

osc_ir_arg osc_ir_select(osc_group *group, osc_ir_arg predicate, osc_ir_arg yes, osc_ir_arg no,
                         osc_dtype dtype)
{
    osc_ir_op op = {.kind = OSC_IR_SELECT, .dtype = (uint8_t)dtype, .engine = OSC_ENGINE_VECTOR};
    if (predicate.kind == OSC_IR_IMM)
        predicate = osc_ir_fill(group, OSC_BOOL, predicate.imm);
    op.arg[0] = predicate;
    op.arg[1] = yes;
    op.arg[2] = no;
    return append(group, &op);
}

osc_ir_arg osc_ir_copy(osc_group *group, osc_ir_arg a, osc_dtype dtype, osc_engine engine)
{
    osc_ir_op op = {.kind = OSC_IR_COPY, .dtype = (uint8_t)dtype, .engine = (uint8_t)engine};
    if (a.kind == OSC_IR_IMM)
        return osc_ir_fill(group, dtype, a.imm);
    op.arg[0] = a;
    return append(group, &op);
}

osc_ir_arg osc_ir_reduce(osc_group *group, osc_alu alu, osc_ir_arg a)
{
    osc_ir_op op = {.kind = OSC_IR_REDUCE,
                    .alu = {(uint8_t)alu, OSC_ALU_BYPASS},
                    .dtype = OSC_F32,
                    .engine = OSC_ENGINE_VECTOR};
    group->has_reduce = true;
    op.arg[0] = a.kind == OSC_IR_REF ? a : osc_ir_fill(group, OSC_F32, a.imm);
    return append(group, &op);
}

static void store(osc_group *group, const osc_ir_output *what, const int64_t *stride, int64_t scale)
{
    if (!array_grow(group->arena, (void **)&group->outputs, group->output_count, &group->output_cap,
                    sizeof *group->outputs)) {
        group->failed = true;
        return;
    }
    osc_ir_output *output = &group->outputs[group->output_count++];
    *output = *what;
    output->tensor = UINT32_MAX;
    for (uint32_t d = 0; d < group->rank; d++)
        output->stride[d] = stride[d] * scale;
}

void osc_group_store(osc_group *group, uint32_t ref, osc_value value, osc_dtype dtype,
                     const int64_t *stride)
{
    osc_ir_output what = {.ref = ref, .value = value, .dtype = (uint8_t)dtype};
    store(group, &what, stride, 1);
}

void osc_group_store_half(osc_group *group, uint32_t ref, osc_value value, const int64_t *stride,
                          unsigned half)
{
    osc_ir_output what = {.ref = ref, .value = value, .dtype = OSC_I32, .skip = half};
    group->closed = true;
    store(group, &what, stride, 2);
}

/* ---- analysis ---- */

static void find_class_and_level(osc_group *group, osc_ir_op *op)
{
    op->full = op->kind == OSC_IR_INPUT && op->wide;
    op->level = 0;
    for (unsigned a = 0; a < 3; a++) {
        if (op->arg[a].kind != OSC_IR_REF)
            continue;
        const osc_ir_op *from = &group->ops[op->arg[a].ref];
        op->full = op->full || from->full;
        if (from->level > op->level)
            op->level = from->level;
    }
    if (op->kind == OSC_IR_REDUCE) {
        op->full = false;
        op->level++;
    }
}

/* ROW results whose output tensor has elements along the columns are repeated into FULL tiles. */
static void spread_outputs(osc_group *group)
{
    for (uint32_t o = 0; o < group->output_count; o++) {
        osc_ir_output *output = &group->outputs[o];
        osc_ir_op *op = &group->ops[output->ref];
        if (op->full || !output->wide)
            continue;
        if (op->kind == OSC_IR_FILL) {
            op->full = true;
            continue;
        }
        uint8_t level = op->level, dtype = op->dtype;
        osc_ir_arg from = {.kind = OSC_IR_REF, .ref = output->ref};
        osc_ir_arg wide = osc_ir_copy(group, from, (osc_dtype)dtype, OSC_ENGINE_VECTOR);
        if (group->failed)
            return;
        group->ops[wide.ref].full = true;
        group->ops[wide.ref].level = level;
        output->ref = wide.ref;
    }
}

static void count_uses(osc_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        group->ops[i].uses = 0;
        group->ops[i].last_use = 0;
    }
    for (uint32_t o = 0; o < group->output_count; o++) {
        group->ops[group->outputs[o].ref].uses++;
        group->ops[group->outputs[o].ref].last_use = UINT32_MAX;
    }
    for (uint32_t i = group->count; i-- > 0;) {
        osc_ir_op *op = &group->ops[i];
        op->dead = op->dead || op->uses == 0;
        for (unsigned a = 0; a < 3 && !op->dead; a++) {
            if (op->arg[a].kind != OSC_IR_REF)
                continue;
            osc_ir_op *from = &group->ops[op->arg[a].ref];
            assert(op->arg[a].ref < i);
            from->uses++;
            if (from->last_use < i)
                from->last_use = i;
        }
    }
}

void osc_group_analyse(osc_group *group)
{
    uint32_t original = group->count;
    for (uint32_t i = 0; i < original; i++) {
        bool spread = group->ops[i].kind == OSC_IR_COPY && group->ops[i].full;
        bool filled = group->ops[i].kind == OSC_IR_FILL && group->ops[i].full;
        find_class_and_level(group, &group->ops[i]);
        group->ops[i].full = group->ops[i].full || spread || filled;
    }
    spread_outputs(group);
    count_uses(group);
}
