/*
 * engine_scalar.c - values of ScalarE: out = f(in * scale + bias), with the row sum on request.
 *
 * The sum is taken over the fp32 results before they are rounded to the destination's type, as the
 * accumulator sits before the output converter (neuroncore-model.md 2.1, activation).
 */
#include "neuron/device/alu.h"
#include "neuron/device/engine.h"

#include <assert.h>
#include <string.h>

/* in * scale + bias, leaving out what changes nothing (x * 1 and x + -0 are x for every x). */
typedef struct affine {
    dev_operand scale, bias;
    bool use_scale, use_bias;
} affine;

static affine affine_of(const dev_unit *unit, const osc_inst *inst)
{
    affine f;
    f.scale = dev_operand_of(unit, inst, 1);
    f.bias = dev_operand_of(unit, inst, 2);
    if (inst->src[1].space == OSC_SPACE_NONE)
        f.scale.value = 1.0f;
    f.use_scale = !(f.scale.immediate && f.scale.value == 1.0f);
    f.use_bias = !(f.bias.immediate && f.bias.value == 0.0f);
    return f;
}

static void activation(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    affine f = affine_of(unit, inst);
    bool sum = inst->opcode == OSC_OP_ACTIVATION_REDUCE;
    dev_view total = dst;
    if (sum)
        total = dev_view_of(&unit->memory, &inst->dst2);
    float x[DEV_BLOCK], scale[DEV_BLOCK], bias[DEV_BLOCK];
    dev_lanes lanes[OSC_PARTITIONS];
    bool scale_filled = false, bias_filled = false;
    dev_block block = dev_block_first(dst.rows, dst.row_elems);
    do {
        uint32_t n = block.rows * block.cols;
        dev_load_f32(&src, &block, x);
        if (f.use_scale) {
            dev_operand_load(&f.scale, &block, scale, &scale_filled);
            dev_alu_f32(OSC_ALU_MUL)(x, x, scale, n);
        }
        if (f.use_bias) {
            dev_operand_load(&f.bias, &block, bias, &bias_filled);
            dev_alu_f32(OSC_ALU_ADD)(x, x, bias, n);
        }
        dev_act_f32(inst->act, x, x, n);
        dev_store_f32(&dst, &block, x);
        if (sum)
            dev_reduce_rows(&total, dst.row_elems, &block, OSC_ALU_ADD, x, lanes);
    } while (dev_block_next(&block, dst.rows, dst.row_elems));
}

void dev_scalar_execute(dev_unit *unit, const osc_inst *inst)
{
    switch (inst->opcode) {
    case OSC_OP_ACTIVATION:
    case OSC_OP_ACTIVATION_REDUCE: activation(unit, inst); break;
    case OSC_OP_ACT_TABLE_LOAD: break; /* tables have no values of their own here */
    default: assert(0 && "opcode is not one of ScalarE's");
    }
}
