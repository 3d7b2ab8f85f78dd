/*
 * pattern.h - access patterns: which elements of a memory an instruction touches, in which order.
 *
 * SBUF and PSUM are 128 partitions of bytes; HBM is addressed through the program's tensor table. The
 * memory model is described in isa.h. Plain values without owners; all functions from any thread.
 */
#ifndef OSC_ISA_PATTERN_H
#define OSC_ISA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum osc_space {
    OSC_SPACE_NONE = 0,
    OSC_SPACE_HBM = 1,
    OSC_SPACE_SBUF = 2,
    OSC_SPACE_PSUM = 3,
    OSC_SPACE_IMM = 4, /* the operand is the fp32 immediate inst->imm[i] */
    OSC_SPACE_REG = 5  /* sequencer register number in `offset` */
} osc_space;

#define OSC_AP_DIMS         4
#define OSC_PARTITIONS      128u
#define OSC_PSUM_BANKS      8u
#define OSC_PSUM_BANK_BYTES 2048u
#define OSC_SEMAPHORES      256u
#define OSC_REGISTERS       64u

typedef struct osc_ap_dim {
    int64_t stride; /* elements; may be 0 or (HBM, SBUF) negative */
    uint32_t count; /* >= 1 */
    uint32_t pad;   /* 0 */
} osc_ap_dim;

/* An access pattern: which elements, in which order. Elements are counted partition by partition,
 * then dim[0] (outermost) .. dim[ndim-1] (innermost). */
typedef struct osc_ap {
    uint8_t space;           /* osc_space */
    uint8_t dtype;           /* osc_dtype of the elements in memory */
    uint8_t ndim;            /* 0..OSC_AP_DIMS free dims; 0 means one element per partition */
    uint8_t start_partition; /* SBUF/PSUM only; rules of neuroncore-model.md 1.4 */
    uint16_t nparts;         /* 1..128 rows */
    uint16_t tensor;         /* HBM only: index in the program's tensor table */
    /* Bytes: from the partition's start (SBUF/PSUM) or the tensor's first element (HBM). */
    int64_t offset;
    int64_t part_stride; /* HBM only: elements from one row to the next; 0 broadcasts */
    osc_ap_dim dim[OSC_AP_DIMS];
} osc_ap;

/* Number of elements per partition row (product of counts; 1 when ndim is 0). UINT64_MAX when it is more. */
uint64_t osc_ap_row_elems(const osc_ap *ap);

/* True when every field is zero: the operand is not used. Any thread. */
bool osc_ap_is_absent(const osc_ap *ap);

/* Bytes [*lo, *hi) that the pattern touches: inside each partition (SBUF, PSUM), or in its tensor over
 * all rows (HBM). All counts and nparts must be >= 1. False when that leaves int64. Any thread. */
bool osc_ap_extent(const osc_ap *ap, int64_t *lo, int64_t *hi);

#endif
