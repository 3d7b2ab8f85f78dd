/*
 * footprint.h - the exact set of bytes an access pattern touches, for the hazard checker.
 *
 * On chip, bytes are those of one partition, and the partitions form a range; in HBM the row axis
 * is one more dimension and there is a single "partition". Dimensions are normalised: positive
 * strides, largest first, adjacent bytes joined into one run.
 */
#ifndef OSC_NEURON_DEVICE_FOOTPRINT_H
#define OSC_NEURON_DEVICE_FOOTPRINT_H

#include "isa/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEV_FOOT_DIMS = OSC_AP_DIMS + 1 };

typedef struct dev_foot {
    uint32_t first_row, rows; /* partitions; 0 and 1 in HBM */
    int64_t low, high;        /* hull in bytes: [low, high) */
    int64_t run;              /* bytes of one contiguous run */
    uint32_t ndim;            /* dimensions outside the run; 0: the hull is full */
    int64_t stride[DEV_FOOT_DIMS];
    uint32_t count[DEV_FOOT_DIMS];
} dev_foot;

dev_foot dev_foot_of(const osc_ap *ap);

/* True when the two touch a common byte. */
bool dev_foot_overlap(const dev_foot *a, const dev_foot *b);

/* True when they touch the same bytes by the same shape. */
bool dev_foot_same(const dev_foot *a, const dev_foot *b);

/* One bit per byte of a memory, 128 or 1 rows. */
typedef struct dev_bits {
    uint64_t *word; /* owned */
    uint64_t row_words;
    uint32_t rows;
} dev_bits;

/* False when out of memory. */
bool dev_bits_init(dev_bits *bits, uint32_t rows, uint64_t row_bytes);
void dev_bits_free(dev_bits *bits);
void dev_bits_set(dev_bits *bits, const dev_foot *foot, bool value);
bool dev_bits_all(const dev_bits *bits, const dev_foot *foot); /* every byte is set */
bool dev_bits_any(const dev_bits *bits, const dev_foot *foot); /* some byte is set */

#endif
