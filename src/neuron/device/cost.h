/*
 * cost.h - what each instruction costs, computed once when a program is loaded.
 *
 * The schedule works on these small records alone and never looks at an instruction again. Times
 * are picoseconds in int64: a 2.4 GHz cycle is 416.67 ps, so rounding one cycle costs under 0.1
 * %, and the costs below round whole instructions, not cycles.
 */
#ifndef OSC_NEURON_DEVICE_COST_H
#define OSC_NEURON_DEVICE_COST_H

#include "isa/isa.h"
#include "isa/sheet.h"

#include <stdbool.h>
#include <stdint.h>

#define DEV_DMA_ENGINES 16u

/* How the schedule treats an instruction. */
typedef enum dev_kind {
    DEV_COMPUTE = 0, /* Vector, Scalar, GpSimd data path */
    DEV_WEIGHTS,     /* first stage of the PE array */
    DEV_STREAM,      /* second stage: matmul, transpose */
    DEV_DMA,         /* trigger of a transfer */
    DEV_CONTROL,     /* nop, semaphores, registers, notify: done when all before it is done */
    DEV_BRANCH,
    DEV_BARRIER
} dev_kind;

/* One transfer. Rows are dealt to its DMA engines in equal blocks, the last engine takes the
 * rest. */
typedef struct dev_transfer_cost {
    uint64_t bytes;       /* the larger side of a converting transfer */
    uint64_t descriptors; /* pieces contiguous on both sides */
    uint32_t rows;
    uint32_t engines;    /* 1..16 */
    uint32_t rows_each;  /* rows of every engine but the last */
    int64_t row_data_ps; /* moving one row's bytes at the engine's rate */
    int64_t row_desc_ps; /* processing one row's descriptors */
    int64_t start_ps;    /* trigger to first data */
    int64_t hbm_ps;      /* at the core's share of HBM, both sides counted */
    bool hardware_queue; /* descriptors come from one of the hardware generators */
} dev_transfer_cost;

typedef struct dev_cost {
    int64_t busy_ps;  /* start to the next instruction's start */
    int64_t alone_ps; /* start to result visible, pipeline empty */
    int64_t piped_ps; /* the same behind an instruction still in the pipeline */
    uint8_t kind;     /* dev_kind */
    uint8_t opcode;
    bool depends;       /* reads what one of the instructions just before it wrote */
    bool sbuf_port;     /* uses the SBUF port that Vector and GpSimd share (1.5) */
    uint8_t psum_banks; /* PSUM banks it occupies against the other of Vector and Scalar (1.5) */
    uint8_t table_set;  /* Scalar: function set it needs or loads; 0: any */
    uint8_t nwaits, nincs;
    uint32_t transfer; /* DMA: index into the transfer costs */
    osc_sem_op waits[OSC_INST_WAITS];
    osc_sem_op incs[OSC_INST_INCS];
} dev_cost;

/* Everything but `depends` and `transfer`. */
dev_cost dev_cost_of(const osc_inst *inst, const osc_sheet *sheet);

/* For DMA instructions. */
dev_transfer_cost dev_transfer_cost_of(const osc_inst *inst, const osc_sheet *sheet);

/* True when `later` reads bytes that `earlier` writes, judged by the hulls of their patterns. */
bool dev_reads_result(const osc_inst *later, const osc_inst *earlier);

/* Elements per partition of the main operand: what cost formulas call N. */
uint64_t dev_elements(const osc_inst *inst);

#endif
