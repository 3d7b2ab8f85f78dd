/*
 * isa.h - the instruction set of the virtual NeuronCore: one table row per opcode.
 *
 * An instruction is a decoded, fixed-size value (osc_inst). The table (osc_isa_rows) says for each
 * opcode which engines run it, which operands it has and where they may lie, its cost formula and its
 * semantics in words; encode, decode and disassemble are driven by it. Nothing here executes.
 *
 * Memory model. SBUF and PSUM are 128 partitions of bytes; a pattern (osc_ap) names a start partition,
 * a number of partitions and up to four (stride, count) pairs inside the partition, outermost first,
 * strides in elements. HBM is addressed through the program's tensor table: byte offset in the tensor,
 * and for the "partition" axis a stride in elements (0 broadcasts). A stride of 0 reads the same
 * element again. Source: neuroncore-model.md 1.4, 2, 9.
 *
 * Synchronisation. Each engine runs its stream in order. An instruction issues when its engine is free
 * and each wait (semaphore >= value) holds; on completion it adds to the semaphores of its incs.
 * A DMA adds its `by` ONCE PER PARTICIPATING DMA ENGINE (osc_isa_dma_engines), as the hardware's
 * per-engine semaphore write does: a 16-engine transfer with by = 1 raises it by 16.
 */
#ifndef OSC_ISA_ISA_H
#define OSC_ISA_ISA_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/status.h"
#include "isa/dtype.h"
#include "isa/ops.h"
#include "isa/pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers as in the vendor's enum (neuroncore-model.md 1.1). */
typedef enum osc_engine {
    OSC_ENGINE_NONE = 0,
    OSC_ENGINE_TENSOR = 1,
    OSC_ENGINE_SCALAR = 2,
    OSC_ENGINE_GPSIMD = 3,
    OSC_ENGINE_DMA = 4, /* never runs a stream; names the 16 DMA engines as a group */
    OSC_ENGINE_VECTOR = 5,
    OSC_ENGINE_SYNC = 6,
    OSC_ENGINE_COUNT = 7
} osc_engine;

const char *osc_engine_name(
    osc_engine engine); /* "Tensor", "Scalar", "GpSimd", "DMA", "Vector", "Sync" */

typedef enum osc_opcode {
    OSC_OP_NOP = 0,
    OSC_OP_DMA_COPY =
        1, /* dst <- src, element by element, cast allowed; issued by any engine's queue */
    OSC_OP_DMA_TRANSPOSE = 2, /* 2-D [rows, cols] -> [cols, rows]; 2- and 4-byte elements */
    OSC_OP_TENSOR_COPY = 3,   /* dst <- src (cast) */
    OSC_OP_TENSOR_TENSOR = 4, /* dst <- src[0] alu[0] src[1] */
    OSC_OP_TENSOR_SCALAR =
        5, /* dst <- (src[0] alu[0] o0) alu[1] o1; o_i = src[1+i]: IMM or [P,1] fp32 */
    OSC_OP_SCALAR_TENSOR_TENSOR = 6, /* dst <- (src[0] alu[0] o0) alu[1] src[2]; o0 = src[1] */
    OSC_OP_TENSOR_REDUCE = 7, /* dst <- reduce by alu[0] over the last `axes` free dims of src[0] */
    OSC_OP_TENSOR_SCALAR_REDUCE =
        8, /* dst as TENSOR_SCALAR with alu[0]; dst2 [P,1] <- reduce by alu[1] of the results */
    OSC_OP_MEMSET = 9, /* dst <- imm[0] (int dtypes: iimm) */
    OSC_OP_ACTIVATION =
        10, /* dst <- act(src[0] * scale + bias); scale = src[1], bias = src[2], IMM or [P,1] */
    OSC_OP_ACTIVATION_REDUCE =
        11, /* the same, and dst2 [P,1] fp32 <- sum of the results over the row */
    OSC_OP_ACT_TABLE_LOAD = 12, /* iimm = set */
    OSC_OP_RECIPROCAL = 13,     /* dst <- 1 / src[0] */
    OSC_OP_LDWEIGHTS = 14,      /* stationary src[0]: [K<=128 partitions, M<=128] SBUF */
    OSC_OP_MATMUL =
        15, /* dst PSUM [M, N<=512 fp32] (+)= stationary^T . src[0] [K, N]; flag ACCUMULATE */
    OSC_OP_PE_TRANSPOSE = 16, /* dst PSUM [F, P] <- src[0] SBUF [P<=128, F<=128], bit exact */
    OSC_OP_IOTA =
        17, /* dst <- iimm + channel_multiplier*partition + sum(step_i * index_i); steps are src[0].dim strides */
    OSC_OP_SELECT =
        18, /* dst <- src[0] (predicate, non-zero) ? src[1] : src[2]; 1 and 2 tensor or IMM */
    OSC_OP_SEM_WAIT = 19,  /* only its waits matter */
    OSC_OP_SEM_INC = 20,   /* only its incs matter */
    OSC_OP_REG_MOVE = 21,  /* reg[iimm2] <- iimm */
    OSC_OP_REG_ALU = 22,   /* reg[iimm2] <- reg[src[0]] alu[0] (reg or iimm) */
    OSC_OP_REG_LOAD = 23,  /* reg[iimm2] <- one int32 element of src[0] */
    OSC_OP_REG_STORE = 24, /* one int32 element dst <- reg[src[0]] */
    OSC_OP_BRANCH = 25,    /* if (reg[src[0]] alu[0] iimm) goto instruction iimm2 of this stream */
    OSC_OP_NOTIFY = 26,    /* iimm = payload, delivered to the event sink */
    OSC_OP_BARRIER = 27,   /* all engines that have a BARRIER with the same iimm meet */
    OSC_OP_PARTITION_REDUCE =
        28, /* GpSimd: dst [1, N] <- reduce by alu[0] over the partitions of src[0] [P, N] */
    OSC_OPCODE_COUNT
} osc_opcode;

#define OSC_INST_ACCUMULATE 0x1u /* MATMUL: add to what PSUM holds */
#define OSC_INST_REVERSE0   0x2u /* swap the operands of alu[0] */
#define OSC_INST_REVERSE1   0x4u /* swap the operands of alu[1] */
#define OSC_INST_NEGATE     0x8u /* TENSOR_REDUCE: negate the result */
#define OSC_INST_FP32_FULL \
    0x10u /* MATMUL/LDWEIGHTS: fp32 operands in four passes (full precision) */

/* Operands that may be left out (OSC_SPACE_NONE): o0 and o1 where their operator takes one operand
 * (BYPASS, BITNOT, ABS .. RECIP); the second operand of REG_ALU (then iimm). IOTA's src[0] is no memory:
 * its space is NONE or IMM, and its dims count like dst's. Everything else in the list above is required. */

#define OSC_SEMAPHORES 256u
#define OSC_REGISTERS  64u /* of each sequencer, 32 bits (neuroncore-model.md 1.3) */
#define OSC_INST_WAITS 4
#define OSC_INST_INCS  2

typedef struct osc_sem_op {
    uint16_t sem; /* < OSC_SEMAPHORES */
    uint16_t pad;
    uint32_t value; /* wait: at least this much; inc: add this much */
} osc_sem_op;

/* One decoded instruction. Plain value; unused operands have space OSC_SPACE_NONE and are all zero. */
typedef struct osc_inst {
    uint8_t opcode; /* osc_opcode */
    uint8_t engine; /* osc_engine whose stream it is in */
    uint8_t alu[2]; /* osc_alu */
    uint8_t act;    /* osc_act */
    uint8_t axes;   /* TENSOR_REDUCE: how many trailing free dims are reduced, >= 1 */
    uint8_t nwaits, nincs;
    uint32_t flags;             /* OSC_INST_* */
    uint32_t source;            /* index in the program's source map, or OSC_NO_SOURCE */
    int64_t iimm;               /* integer immediate */
    int64_t iimm2;              /* second integer immediate */
    float imm[3];               /* fp32 immediates of src[0..2] when their space is OSC_SPACE_IMM */
    int32_t channel_multiplier; /* IOTA */
    osc_sem_op waits[OSC_INST_WAITS];
    osc_sem_op incs[OSC_INST_INCS];
    osc_ap dst;
    osc_ap dst2; /* the [P,1] result of *_REDUCE */
    osc_ap src[3];
} osc_inst;
#define OSC_NO_SOURCE UINT32_MAX

/* One row of the table. Static storage. */
typedef struct osc_isa_row {
    osc_opcode opcode;
    const char *name;       /* "tensor_tensor" */
    uint32_t engines;       /* bit (1u << osc_engine) */
    const char *operands;   /* operands and their legal places, in words */
    const char *cost;       /* cost formula, in words */
    const char *semantics;  /* one or two sentences */
    const char *provenance; /* document section the row follows */
    uint8_t nsrc;           /* how many src operands are used */
    bool has_dst, has_dst2;
} osc_isa_row;

/* Row of an opcode, NULL when out of range. Any thread. */
const osc_isa_row *osc_isa_row_of(unsigned opcode);

/* Static legality of one instruction (engine, spaces, partition and bank rules, counts, dtypes) for a
 * generation's sheet. OSC_EHAZARD, with the rule that is broken in words. Any thread. */
struct osc_sheet;
OSC_MUST_CHECK osc_status osc_isa_check(const osc_inst *inst, const struct osc_sheet *sheet,
                                        osc_err *err);

/* Binary form: version 1, length-prefixed, little endian, only the used operands (docs/formats/neff.md). */
void osc_isa_encode(const osc_inst *inst, osc_buf *out);
OSC_MUST_CHECK osc_status osc_isa_decode(osc_cursor *in, osc_inst *inst, osc_err *err);

/* One line of text without newline, at most cap-1 bytes plus NUL; no line is OSC_ISA_TEXT_MAX or longer.
 * The operand grammar is in docs/formats/neff.md. */
#define OSC_ISA_TEXT_MAX 2048
void osc_isa_disassemble(const osc_inst *inst, char *out, size_t cap);
/* The inverse of disassemble, used by tests and tools. */
OSC_MUST_CHECK osc_status osc_isa_assemble(const char *text, osc_inst *inst, osc_err *err);

/* How many of the 16 DMA engines a DMA instruction uses: min(16, ceil(rows / 8)) where rows is the
 * larger nparts of dst and src (one engine serves 8 of 128 rows; neuroncore-model.md 1.8). */
uint32_t osc_isa_dma_engines(const osc_inst *inst);

#endif
