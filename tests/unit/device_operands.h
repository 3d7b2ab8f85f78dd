/*
 * device_operands.h - operands and instructions for the device's tests, as values.
 *
 * Everything is static inline so that each test program uses what it needs.
 */
#ifndef OSC_TESTS_DEVICE_OPERANDS_H
#define OSC_TESTS_DEVICE_OPERANDS_H

#include "isa/isa.h"

#include <string.h>

/* ---- operands ---- */

static inline osc_ap on_chip(osc_space space, uint8_t start, uint16_t rows, int64_t offset,
                             osc_dtype dtype, uint32_t cols)
{
    osc_ap ap;
    memset(&ap, 0, sizeof ap);
    ap.space = (uint8_t)space;
    ap.dtype = (uint8_t)dtype;
    ap.ndim = 1;
    ap.start_partition = start;
    ap.nparts = rows;
    ap.offset = offset;
    ap.dim[0].stride = 1;
    ap.dim[0].count = cols;
    return ap;
}

static inline osc_ap sb(int64_t offset, osc_dtype dtype, uint16_t rows, uint32_t cols)
{
    return on_chip(OSC_SPACE_SBUF, 0, rows, offset, dtype, cols);
}

static inline osc_ap ps(int64_t offset, osc_dtype dtype, uint16_t rows, uint32_t cols)
{
    return on_chip(OSC_SPACE_PSUM, 0, rows, offset, dtype, cols);
}

/* Row-major [rows, cols] at the tensor's start. */
static inline osc_ap hbm(uint16_t tensor, osc_dtype dtype, uint16_t rows, uint32_t cols)
{
    osc_ap ap = on_chip(OSC_SPACE_HBM, 0, rows, 0, dtype, cols);
    ap.tensor = tensor;
    ap.part_stride = (int64_t)cols;
    return ap;
}

/* The pattern with two free dimensions of the given strides (elements). */
static inline osc_ap strided(osc_ap ap, int64_t outer, uint32_t outer_count, int64_t inner,
                             uint32_t inner_count)
{
    ap.ndim = 2;
    ap.dim[0].stride = outer;
    ap.dim[0].count = outer_count;
    ap.dim[1].stride = inner;
    ap.dim[1].count = inner_count;
    return ap;
}

static inline osc_ap immediate(void)
{
    osc_ap ap;
    memset(&ap, 0, sizeof ap);
    ap.space = OSC_SPACE_IMM;
    return ap;
}

/* ---- instructions ---- */

static inline osc_inst make(osc_opcode opcode, osc_engine engine)
{
    osc_inst inst;
    memset(&inst, 0, sizeof inst);
    inst.opcode = (uint8_t)opcode;
    inst.engine = (uint8_t)engine;
    inst.source = OSC_NO_SOURCE;
    return inst;
}

static inline osc_inst unary(osc_opcode opcode, osc_engine engine, osc_ap dst, osc_ap src)
{
    osc_inst inst = make(opcode, engine);
    inst.dst = dst;
    inst.src[0] = src;
    return inst;
}

static inline osc_inst activation(osc_act f, osc_ap dst, osc_ap src, float scale, float bias)
{
    osc_inst inst = unary(OSC_OP_ACTIVATION, OSC_ENGINE_SCALAR, dst, src);
    inst.act = (uint8_t)f;
    inst.src[1] = inst.src[2] = immediate();
    inst.imm[1] = scale;
    inst.imm[2] = bias;
    return inst;
}

static inline osc_inst tensor_tensor(osc_engine engine, osc_alu op, osc_ap dst, osc_ap a, osc_ap b)
{
    osc_inst inst = unary(OSC_OP_TENSOR_TENSOR, engine, dst, a);
    inst.alu[0] = (uint8_t)op;
    inst.src[1] = b;
    return inst;
}

static inline osc_inst tensor_scalar(osc_engine engine, osc_alu op, osc_ap dst, osc_ap a,
                                     float value)
{
    osc_inst inst = unary(OSC_OP_TENSOR_SCALAR, engine, dst, a);
    inst.alu[0] = (uint8_t)op;
    inst.src[1] = immediate();
    inst.imm[1] = value;
    return inst;
}

static inline void waits(osc_inst *inst, uint16_t sem, uint32_t value)
{
    inst->waits[inst->nwaits++] = (osc_sem_op){sem, 0, value};
}

static inline void incs(osc_inst *inst, uint16_t sem, uint32_t value)
{
    inst->incs[inst->nincs++] = (osc_sem_op){sem, 0, value};
}

static inline osc_inst load(osc_engine queue, osc_ap dst, osc_ap src)
{
    return unary(OSC_OP_DMA_COPY, queue, dst, src);
}

#endif
