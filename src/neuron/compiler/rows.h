/*
 * rows.h - the state of one row kernel, shared by lower_rows.c (tiles, loads, order of jobs) and
 * rows_emit.c (micro-operations to instructions).
 */
#ifndef OSC_NEURON_COMPILER_ROWS_H
#define OSC_NEURON_COMPILER_ROWS_H

#include "neuron/compiler/lower.h"

#define OSC_ROWS_SETS     4u                   /* rotating copies of a tile, at most */
#define OSC_ROWS_ROW_SETS 2u                   /* of a [rows, 1] result */
#define OSC_ROWS_DEPTH    (OSC_ROWS_SETS + 1u) /* jobs in the pipeline, at most */

/* One step of the kernel: a block of rows, and either everything or one chunk of one pass. */
typedef struct osc_rows_job {
    int64_t block, chunk;
    uint32_t pass;
    bool whole;    /* all micro-operations in order */
    bool first;    /* of its block */
    bool epilogue; /* end of a pass: row results of the next level */
} osc_rows_job;

/* Buffers of one micro-operation. */
typedef struct osc_rows_home {
    osc_tile tile[OSC_ROWS_SETS];
    /* ROW of another dtype: copy for operands that must be fp32. */
    osc_tile fp32[OSC_ROWS_ROW_SETS];
    uint32_t sets;
    uint32_t slot; /* FULL intermediates: shared slot */
    /* inputs: what the newest set holds */
    uint32_t newest;
    int64_t has_block, has_chunk;
    uint32_t has_rows;
    uint64_t serial; /* loads so far; of computed ROW results, the job's number */
    uint64_t cast_serial[OSC_ROWS_ROW_SETS]; /* serials that fp32[] were made from */
} osc_rows_home;

typedef struct osc_rows {
    osc_lower *lower;
    osc_kernel *kernel;
    osc_group *group;
    const osc_region *region;
    osc_cutting cutting;
    osc_rows_home *homes;
    uint8_t *set_of; /* [pipeline depth][op]: which set a job's input is in */
    uint64_t *serial_of;
    bool *needed;    /* [pass][op] */
    uint32_t passes; /* 0: whole rows */
    uint32_t input_sets, temp_sets;
    uint32_t *slots; /* element size of each shared slot */
    uint32_t slot_count;
    osc_tile *partial; /* [op]: chunk result of a reduction */
    uint64_t job_serial;
    bool whole;      /* of the job being emitted, as are the next ones */
    osc_block block; /* of the job being emitted */
    osc_chunk chunk;
    uint32_t depth_at; /* pipeline position of the job being emitted */
    uint32_t row_set;
} osc_rows;

/* Tile of a result in the job entered. */
const osc_tile *osc_rows_tile(const osc_rows *r, uint32_t ref);
/* Emits one micro-operation of the job entered. */
void osc_rows_emit(osc_rows *r, uint32_t index, const osc_rows_job *j);
/* Stores a result to every output that wants it. */
void osc_rows_store(osc_rows *r, uint32_t index);

#endif
