/*
 * shape.h - from strided tensors to rows, columns and tiles.
 *
 * The iteration space of a kernel becomes one or two regions. A region has row axes, one of which is laid
 * on the partitions and the others looped, and column axes, which are cut into chunks of at most a given
 * number of elements. In SBUF a tile is always dense [rows, columns]; every stride is dealt with by DMA.
 */
#ifndef OSC_NEURON_COMPILER_SHAPE_H
#define OSC_NEURON_COMPILER_SHAPE_H

#include "base/arena.h"
#include "isa/isa.h"

#define OSC_AXES 10u /* OSC_MAX_RANK and what splitting adds */

/* Strides of one operand on a region's axes, in elements; base = its first element in the region. */
typedef struct osc_layout {
    int64_t base;
    int64_t row[OSC_AXES], col[OSC_AXES];
} osc_layout;

typedef struct osc_region {
    uint32_t nrow, ncol;                  /* axes, outermost first */
    int64_t row[OSC_AXES], col[OSC_AXES]; /* sizes; products may be 0 */
    uint32_t lane;       /* the row axis on the partitions; nrow if there is none */
    osc_layout *layouts; /* one per operand */
} osc_region;

typedef struct osc_plan {
    osc_region regions[2];
    uint32_t count;
} osc_plan;

/* What a plan is made from. reduced may be NULL: an elementwise space, split as suits best. */
typedef struct osc_shape {
    uint32_t rank;
    const int64_t *size;
    const bool *reduced; /* these dims become columns, the others rows */
    uint32_t operands;
    const int64_t *const *strides; /* [operand][dim], 0 broadcasts */
    uint32_t reference;            /* operand whose strides decide the order of dims */
} osc_shape;

/* False when out of memory. Regions live in the arena. */
bool osc_plan_make(osc_arena *arena, const osc_shape *shape, osc_plan *plan);

int64_t osc_region_rows(const osc_region *region); /* product of row sizes, 1 without axes */
int64_t osc_region_cols(const osc_region *region);

/* A block of at most 128 rows on the lane axis at one position of the other row axes. */
typedef struct osc_block {
    int64_t at[OSC_AXES]; /* index on each row axis; on the lane axis the first row */
    uint32_t rows;
} osc_block;
int64_t osc_region_blocks(const osc_region *region);
osc_block osc_region_block(const osc_region *region, int64_t index);

/* A piece of the columns: one position on the outer axes, a range of axis `cut`, all of the inner ones. */
typedef struct osc_chunk {
    uint32_t cut;
    int64_t at[OSC_AXES]; /* index on axes 0..cut */
    int64_t count;        /* elements of axis cut */
    uint32_t cols;        /* elements in all */
} osc_chunk;
/* How columns are cut so that chunks have at most `most` elements. */
typedef struct osc_cutting {
    uint32_t cut;
    int64_t step; /* elements of axis cut in a chunk */
    int64_t chunks;
    uint32_t cols; /* elements in the largest chunk */
} osc_cutting;
osc_cutting osc_region_cut(const osc_region *region, int64_t most);
osc_chunk osc_region_chunk(const osc_region *region, const osc_cutting *cutting, int64_t index);

/* HBM pattern of an operand's block and chunk; chunk NULL: one element per row. offset is in elements
 * of the tensor before the operand's first one. */
osc_ap osc_region_ap(const osc_region *region, uint32_t operand, const osc_block *block,
                     const osc_chunk *chunk, osc_dtype dtype, uint16_t tensor, int64_t offset);

#endif
