/*
 * select.c - instruction selection: micro-operations become the engines' compound instructions.
 *
 *   sum of a square, or of any activation      activation_reduce              (neuroncore-model.md 4.3)
 *   f(x * s + b), s and b row or immediate     activation with scale and bias
 *   (x op row) op row                          tensor_scalar with two operators
 *   (x op row) op tensor                       scalar_tensor_tensor
 *
 * A micro-operation is merged into its user when nobody else wants it. Merging never changes what is
 * rounded where: all of these compute in fp32 and round at the write.
 */
#include "neuron/compiler/ir.h"

#include <assert.h>

static bool is_arith(uint8_t alu)
{
    return alu != OSC_ALU_POW && !(alu >= OSC_ALU_BITAND && alu <= OSC_ALU_SHR);
}

/* A one-stage fp32 ALU operation on Vector that only `user` reads. */
static bool mergeable(const osc_ir_op *op)
{
    return op->kind == OSC_IR_ALU && !op->dead && op->uses == 1 && op->last_use != UINT32_MAX &&
           op->alu[1] == OSC_ALU_BYPASS && op->dtype == OSC_F32 &&
           op->engine == OSC_ENGINE_VECTOR && is_arith(op->alu[0]);
}

/* Immediate, or one value per row beside FULL data: what tensor_scalar takes as its scalar. */
static bool is_scalar_operand(const osc_group *group, const osc_ir_op *op, const osc_ir_arg *arg)
{
    if (arg->kind == OSC_IR_IMM)
        return true;
    return arg->kind == OSC_IR_REF && op->full && !group->ops[arg->ref].full;
}

/* Row operand first and tensor second: swapped, so that the tensor is the data of tensor_scalar. */
static void put_data_first(osc_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        osc_ir_op *op = &group->ops[i];
        if (op->kind != OSC_IR_ALU || op->dead || op->engine != OSC_ENGINE_VECTOR ||
            op->arg[0].kind != OSC_IR_REF || op->arg[1].kind != OSC_IR_REF)
            continue;
        if (group->ops[op->arg[0].ref].full || !group->ops[op->arg[1].ref].full)
            continue;
        osc_ir_arg row = op->arg[0];
        op->arg[0] = op->arg[1];
        op->arg[1] = row;
        op->reverse[0] = !op->reverse[0];
    }
}

static void merge_sums(osc_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        osc_ir_op *sum = &group->ops[i];
        if (sum->kind != OSC_IR_REDUCE || sum->dead || sum->alu[0] != OSC_ALU_ADD)
            continue;
        osc_ir_op *from = &group->ops[sum->arg[0].ref];
        if (!from->full)
            continue;
        bool square = from->kind == OSC_IR_ALU && from->alu[0] == OSC_ALU_MUL &&
                      from->alu[1] == OSC_ALU_BYPASS && from->engine == OSC_ENGINE_VECTOR &&
                      from->arg[0].kind == OSC_IR_REF && from->arg[1].kind == OSC_IR_REF &&
                      from->arg[0].ref == from->arg[1].ref && from->dtype == OSC_F32;
        if (square) {
            from->kind = OSC_IR_ACT;
            from->act = OSC_ACT_SQUARE;
            from->engine = OSC_ENGINE_SCALAR;
            from->arg[1] = from->arg[2] = osc_ir_none();
        }
        if (from->kind != OSC_IR_ACT || from->sum_into != UINT32_MAX || from->dtype != OSC_F32)
            continue;
        assert(sum->arg[0].ref < i);
        from->sum_into = i;
        sum->sum_of = sum->arg[0].ref;
    }
}

/* x + b into the bias, then x * s into the scale. One step; true when something was merged. */
static bool merge_affine_once(osc_group *group, osc_ir_op *act)
{
    osc_ir_op *inner = &group->ops[act->arg[0].ref];
    if (!mergeable(inner) || inner->full != act->full || act->arg[1].kind != OSC_IR_NONE ||
        inner->arg[0].kind != OSC_IR_REF || group->ops[inner->arg[0].ref].full != act->full)
        return false;
    osc_ir_arg *other = &inner->arg[1];
    bool row = other->kind == OSC_IR_REF && !group->ops[other->ref].full;
    if (other->kind != OSC_IR_IMM && !row)
        return false;
    bool no_bias = act->arg[2].kind == OSC_IR_NONE;
    if (inner->alu[0] == OSC_ALU_ADD && no_bias) {
        act->arg[2] = *other;
    } else if (inner->alu[0] == OSC_ALU_SUB && no_bias && !inner->reverse[0] && !row) {
        act->arg[2] = osc_ir_imm(-other->imm);
    } else if (inner->alu[0] == OSC_ALU_MUL) {
        act->arg[1] = *other;
    } else {
        return false;
    }
    act->arg[0] = inner->arg[0];
    inner->dead = true;
    return true;
}

static void merge_affine(osc_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        osc_ir_op *op = &group->ops[i];
        if (op->kind != OSC_IR_ACT || op->dead)
            continue;
        while (op->arg[0].kind == OSC_IR_REF && merge_affine_once(group, op)) {
        }
    }
}

/* op becomes (inner.arg0 alu inner.arg1) alu other. */
static void absorb(osc_ir_op *op, osc_ir_op *inner, osc_ir_arg other, bool reverse)
{
    assert(op->alu[1] == OSC_ALU_BYPASS && inner->alu[1] == OSC_ALU_BYPASS);
    op->alu[1] = op->alu[0];
    op->reverse[1] = reverse;
    op->alu[0] = inner->alu[0];
    op->reverse[0] = inner->reverse[0];
    op->arg[0] = inner->arg[0];
    op->arg[1] = inner->arg[1];
    op->arg[2] = other;
    inner->dead = true;
}

static bool absorbable(const osc_group *group, const osc_ir_op *op, const osc_ir_arg *arg)
{
    if (arg->kind != OSC_IR_REF)
        return false;
    const osc_ir_op *inner = &group->ops[arg->ref];
    return mergeable(inner) && inner->full == op->full && inner->arg[0].kind == OSC_IR_REF &&
           group->ops[inner->arg[0].ref].full == inner->full &&
           is_scalar_operand(group, inner, &inner->arg[1]);
}

static void merge_alu(osc_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        osc_ir_op *op = &group->ops[i];
        if (op->kind != OSC_IR_ALU || op->dead || op->alu[1] != OSC_ALU_BYPASS ||
            op->engine != OSC_ENGINE_VECTOR || !is_arith(op->alu[0]))
            continue;
        bool scalar = is_scalar_operand(group, op, &op->arg[1]);
        bool tensor = op->full && op->arg[1].kind == OSC_IR_REF && group->ops[op->arg[1].ref].full;
        if ((scalar || tensor) && absorbable(group, op, &op->arg[0]))
            absorb(op, &group->ops[op->arg[0].ref], op->arg[1], op->reverse[0]);
        else if (tensor && absorbable(group, op, &op->arg[1]))
            absorb(op, &group->ops[op->arg[1].ref], op->arg[0], !op->reverse[0]);
    }
}

void osc_group_select(osc_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        group->ops[i].sum_into = group->ops[i].sum_of = UINT32_MAX;
    put_data_first(group);
    merge_sums(group);
    merge_affine(group);
    merge_alu(group);
    osc_group_analyse(group);
}
