/*
 * engine_sync.c - values of the sequencers: 64 registers of 32 bits per engine.
 *
 * Every engine has a sequencer; SyncE has nothing else. Branches and semaphores have no values: the
 * schedule acts on them. Registers wrap like int32.
 */
#include "neuron/device/alu.h"
#include "neuron/device/engine.h"

#include <assert.h>
#include <string.h>

int32_t dev_register_alu(uint8_t op, int32_t a, int32_t b)
{
    int64_t result, wide_a = a, wide_b = b;
    dev_alu_i64(op, &result, &wide_a, &wide_b, 1);
    return (int32_t)(uint32_t)(uint64_t)result;
}

static int32_t *target(dev_unit *unit, const osc_inst *inst)
{
    return &unit->reg[inst->engine][(uint64_t)inst->iimm2 % OSC_REGISTERS];
}

static int32_t operand(const dev_unit *unit, const osc_inst *inst, unsigned index)
{
    const osc_ap *ap = &inst->src[index];
    if (ap->space == OSC_SPACE_REG)
        return unit->reg[inst->engine][(uint64_t)ap->offset % OSC_REGISTERS];
    return (int32_t)(uint32_t)(uint64_t)inst->iimm;
}

/* The one element a load or store names. */
static uint8_t *element(const dev_unit *unit, const osc_ap *ap)
{
    return dev_view_of(&unit->memory, ap).base;
}

void dev_sync_execute(dev_unit *unit, const osc_inst *inst)
{
    int32_t value;
    switch (inst->opcode) {
    case OSC_OP_REG_MOVE: *target(unit, inst) = (int32_t)(uint32_t)(uint64_t)inst->iimm; break;
    case OSC_OP_REG_ALU:
        *target(unit, inst) =
            dev_register_alu(inst->alu[0], operand(unit, inst, 0), operand(unit, inst, 1));
        break;
    case OSC_OP_REG_LOAD:
        memcpy(target(unit, inst), element(unit, &inst->src[0]), sizeof value);
        break;
    case OSC_OP_REG_STORE:
        value = operand(unit, inst, 0);
        memcpy(element(unit, &inst->dst), &value, sizeof value);
        break;
    default: assert(0 && "opcode is not one of the sequencers'");
    }
}
