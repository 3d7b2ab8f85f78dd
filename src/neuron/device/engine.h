/*
 * engine.h - what instructions do to values: one function per engine, all on one unit's memories.
 *
 * The schedule decides the order; these functions only compute. Instructions were checked when the
 * program was loaded (shapes agree, patterns are inside their memories), so nothing here can fail.
 */
#ifndef OSC_NEURON_DEVICE_ENGINE_H
#define OSC_NEURON_DEVICE_ENGINE_H

#include "isa/isa.h"
#include "neuron/device/alu.h"
#include "neuron/device/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* The stationary operand of the PE array, as fp32. */
typedef struct dev_weights {
    float value[OSC_PARTITIONS][OSC_PARTITIONS]; /* [k][m] */
    uint32_t k, m;
    float panels[OSC_PARTITIONS *
                 512]; /* work space of MATMUL: the moving operand, 16 columns a panel */
} dev_weights;

/* The state that instructions change. */
typedef struct dev_unit {
    dev_memory memory;
    dev_weights *weights; /* allocated with the memories */
    int32_t reg[OSC_ENGINE_COUNT][OSC_REGISTERS];
} dev_unit;

/* Runs one instruction's values, whatever its engine. */
void dev_execute(dev_unit *unit, const osc_inst *inst);

/* One per engine file; each handles the opcodes its engine adds to the shared ones. */
void dev_vector_execute(dev_unit *unit,
                        const osc_inst *inst); /* elementwise, reductions, copies, fills */
void dev_scalar_execute(dev_unit *unit, const osc_inst *inst); /* activation functions */
void dev_gpsimd_execute(dev_unit *unit,
                        const osc_inst *inst); /* exact integers, iota, over partitions */
void dev_tensor_execute(dev_unit *unit, const osc_inst *inst); /* weights, matmul, transpose */
void dev_sync_execute(dev_unit *unit, const osc_inst *inst);   /* registers */
void dev_dma_execute(dev_unit *unit,
                     const osc_inst *inst); /* copies and transposes between memories */

/* True when the instruction works on exact integers: bitwise operators anywhere, and GpSimd when
 * all its operands are integers. Then dev_gpsimd_execute does it. */
bool dev_is_exact_int(const osc_inst *inst);

/* The value of REG operands and branches: reg[a] alu b. */
int32_t dev_register_alu(uint8_t op, int32_t a, int32_t b);

/* An operand of an elementwise instruction: memory (possibly [P,1]) or an immediate. */
typedef struct dev_operand {
    dev_view view;
    bool immediate;
    float value;
} dev_operand;

dev_operand dev_operand_of(const dev_unit *unit, const osc_inst *inst, unsigned index);
/* The operand's values for a block; in buffer unless it is an immediate, which is filled in once:
 * *filled tells whether buffer holds it already. */
void dev_operand_load(const dev_operand *operand, const dev_block *block, float *buffer,
                      bool *filled);

/* Feeds a block of results to its rows' reductions and stores them in `total` ([P,1]) when the
 * rows are complete. Rows are either whole in one block or one at a time; lanes holds
 * OSC_PARTITIONS. */
void dev_reduce_rows(const dev_view *total, uint64_t row_elems, const dev_block *block, uint8_t op,
                     const float *values, dev_lanes *lanes);

#endif
