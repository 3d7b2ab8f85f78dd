/*
 * memory.h - the three memories behind one table of base addresses, and views of access patterns.
 *
 * A view is an access pattern with its address resolved, its inner dimensions merged where they are
 * adjacent and its strides in bytes. Resolving is cheap (no allocation) and happens each time an
 * instruction runs; whether a pattern stays inside its memory is checked once, when the program is
 * loaded, so that views need no bounds of their own.
 */
#ifndef OSC_NEURON_DEVICE_MEMORY_H
#define OSC_NEURON_DEVICE_MEMORY_H

#include "base/status.h"
#include "isa/isa.h"
#include "isa/sheet.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes a program may touch. */
typedef struct dev_memory {
    uint8_t *sbuf; /* OSC_PARTITIONS rows of sbuf_pitch bytes; NULL until the first value run */
    uint8_t *psum; /* OSC_PARTITIONS rows of psum_pitch bytes */
    uint64_t sbuf_bytes; /* usable per partition */
    uint64_t psum_bytes;
    uint64_t sbuf_pitch; /* distance of two partitions in host memory */
    uint64_t psum_pitch;
    uint8_t **tensor; /* base address per entry of the running program's tensor table */
    uint32_t tensor_count;
} dev_memory;

/* Fills in sizes from a sheet; allocates nothing. */
void dev_memory_init(dev_memory *memory, const osc_sheet *sheet);
/* Allocates SBUF and PSUM, zeroed, unless they are there. */
OSC_MUST_CHECK osc_status dev_memory_ensure(dev_memory *memory, osc_err *err);
/* Fills both with all-ones bytes: NaN for every float type. */
void dev_memory_poison(dev_memory *memory);
void dev_memory_free(dev_memory *memory);

typedef struct dev_view {
    uint8_t *base;      /* first element of row 0 */
    int64_t row_pitch;  /* bytes from row to row */
    uint64_t row_elems; /* elements of one row */
    uint32_t rows;
    uint8_t dtype, esize;        /* element type, bytes per element */
    uint8_t ndim;                /* inner dimensions after merging, 0..4 */
    bool dense;                  /* the elements of a row are adjacent */
    int64_t stride[OSC_AP_DIMS]; /* bytes, outermost first */
    uint32_t count[OSC_AP_DIMS];
} dev_view;

/* The view of a memory pattern (HBM, SBUF, PSUM) that was checked at load. */
dev_view dev_view_of(const dev_memory *memory, const osc_ap *ap);

/* Elements [col, col + n) of one row, to or from packed bytes. */
void dev_view_gather(const dev_view *v, uint32_t row, uint64_t col, uint32_t n, uint8_t *packed);
void dev_view_scatter(const dev_view *v, uint32_t row, uint64_t col, uint32_t n,
                      const uint8_t *packed);

/*
 * Blocks: the unit in which engines compute. A block is either some whole rows or a piece of one
 * row, at most DEV_BLOCK elements, walked in the order of the pattern.
 */
#define DEV_BLOCK 1024u

typedef struct dev_block {
    uint32_t row, rows; /* rows [row, row + rows) */
    uint64_t col;       /* first element; 0 when rows > 1 */
    uint32_t cols;      /* elements of each row */
} dev_block;

/* First block of a shape of rows x elems (both at least 1), cut at multiples of DEV_BLOCK
 * elements. */
dev_block dev_block_first(uint32_t rows, uint64_t elems);
/* Moves to the next; false at the end. */
bool dev_block_next(dev_block *block, uint32_t rows, uint64_t elems);

/* Loads a block as fp32 (or exact integers), rows packed one after another. A view of one element
 * per row under a wider block is repeated along the row: the [P,1] operands. */
void dev_load_f32(const dev_view *v, const dev_block *block, float *out);
void dev_load_i64(const dev_view *v, const dev_block *block, int64_t *out);
/* Stores a block, rounding once to the view's type. */
void dev_store_f32(const dev_view *v, const dev_block *block, const float *in);
void dev_store_i64(const dev_view *v, const dev_block *block, const int64_t *in);
/* The elements' bytes, unconverted. */
void dev_load_raw(const dev_view *v, const dev_block *block, uint8_t *out);
void dev_store_raw(const dev_view *v, const dev_block *block, const uint8_t *in);

#endif
