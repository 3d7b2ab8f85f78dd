/*
 * extent.h - from when to when the slices of a trace lie, work without time stamps left out, and
 * which of them are steps.
 *
 * first_ns is the zero of all views: the times they show and take count from it.
 */
#ifndef OSC_ANALYSIS_EXTENT_H
#define OSC_ANALYSIS_EXTENT_H

#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_extent {
    int64_t first_ns, last_ns; /* of all slices with times; last < first when there is none */
    int64_t host_end_ns;       /* last end of host work, INT64_MIN when there is none */
    int64_t zero_ns;           /* where a time stamp of zero lies on this clock */
    uint32_t stampless; /* device slices stamped zero although the trace lies elsewhere (T05) */
} osc_extent;

osc_extent osc_extent_of(const osc_store *store);

/* The zero of a capture: first_ns of its extent, 0 when no slice has a time. */
int64_t osc_extent_zero(const osc_store *store);

/* A moment as people give it: from the zero of the capture, or absolute. */
typedef struct osc_when {
    int64_t ns;
    bool absolute;
} osc_when;

/* The same on the store's clock, kept within int64. */
int64_t osc_when_ns(osc_when when, int64_t zero_ns);

/* True for a slice counted in `stampless`. */
bool osc_extent_stampless(const osc_extent *extent, const osc_slice_cols *slices, uint32_t slice);

/*
 * True for a range ProfilerStep#N of the host. PyTorch 1.8 writes it as an operator, later versions
 * as an annotation; the annotations of that name on a device are none.
 */
bool osc_slice_is_step(const osc_store *store, uint32_t slice);

#endif
