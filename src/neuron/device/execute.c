/*
 * execute.c - from opcode to the engine function that computes its values.
 */
#include "neuron/device/engine.h"

void dev_execute(dev_unit *unit, const osc_inst *inst)
{
    switch (inst->opcode) {
    case OSC_OP_NOP:
    case OSC_OP_SEM_WAIT:
    case OSC_OP_SEM_INC:
    case OSC_OP_BRANCH:
    case OSC_OP_NOTIFY:
    case OSC_OP_BARRIER: return;
    case OSC_OP_DMA_COPY:
    case OSC_OP_DMA_TRANSPOSE: dev_dma_execute(unit, inst); return;
    case OSC_OP_LDWEIGHTS:
    case OSC_OP_MATMUL:
    case OSC_OP_PE_TRANSPOSE: dev_tensor_execute(unit, inst); return;
    case OSC_OP_ACTIVATION:
    case OSC_OP_ACTIVATION_REDUCE:
    case OSC_OP_ACT_TABLE_LOAD: dev_scalar_execute(unit, inst); return;
    case OSC_OP_REG_MOVE:
    case OSC_OP_REG_ALU:
    case OSC_OP_REG_LOAD:
    case OSC_OP_REG_STORE: dev_sync_execute(unit, inst); return;
    case OSC_OP_IOTA:
    case OSC_OP_PARTITION_REDUCE: dev_gpsimd_execute(unit, inst); return;
    default:
        if (dev_is_exact_int(inst))
            dev_gpsimd_execute(unit, inst);
        else
            dev_vector_execute(unit, inst);
    }
}
