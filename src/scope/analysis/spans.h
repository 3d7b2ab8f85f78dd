/*
 * spans.h - sets of time intervals: union, overlap, difference.
 *
 * Busy time of a stream is a union, never a sum: kernels overlap (known-bad-inputs.md N02). A
 * joined list is sorted by start and its spans neither overlap nor touch; all but osc_spans_join
 * take joined lists.
 */
#ifndef OSC_ANALYSIS_SPANS_H
#define OSC_ANALYSIS_SPANS_H

#include <stdint.h>

typedef struct osc_span {
    int64_t start_ns, end_ns; /* end not included */
} osc_span;

/* Sorts and joins n spans in place; the number left. Nearly linear on spans in order. */
uint32_t osc_spans_join(osc_span *spans, uint32_t n);

/* Sum of lengths, saturating. */
int64_t osc_spans_sum(const osc_span *spans, uint32_t n);

/* Time that both lists share. */
int64_t osc_spans_overlap(const osc_span *a, uint32_t na, const osc_span *b, uint32_t nb);

/* Writes what is in a and not in b to out, which has room for na + nb spans; the number written. */
uint32_t osc_spans_subtract(const osc_span *a, uint32_t na, const osc_span *b, uint32_t nb,
                            osc_span *out);

#endif
