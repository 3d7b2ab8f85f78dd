/*
 * spans.c - sets of time intervals: one walk over two sorted lists, whatever is asked.
 *
 * All of it is the same sweep: two positions that only move forward, so the cost is linear. Spans
 * that are empty or inverted hold no time and vanish when a list is joined.
 *
 * Refuses: allocating. Callers give the room, which is known beforehand, so nothing here can fail.
 *
 * Rejected: an interval tree. Every question asked here is about whole lists, for which a sorted
 * array is both smaller and faster.
 */
#include "scope/analysis/spans.h"

#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const osc_span *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static bool in_order(const osc_span *spans, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (spans[i - 1].start_ns > spans[i].start_ns)
            return false;
    }
    return true;
}

uint32_t osc_spans_join(osc_span *spans, uint32_t n)
{
    uint32_t kept = 0;
    if (!in_order(spans, n)) /* profilers write nearly in order; often there is nothing to do */
        qsort(spans, n, sizeof *spans, compare);
    for (uint32_t i = 0; i < n; i++) {
        osc_span s = spans[i];
        if (s.end_ns <= s.start_ns)
            continue;
        if (kept > 0 && s.start_ns <= spans[kept - 1].end_ns) {
            if (s.end_ns > spans[kept - 1].end_ns)
                spans[kept - 1].end_ns = s.end_ns;
        } else {
            spans[kept++] = s;
        }
    }
    assert(kept <= n);
    return kept;
}

int64_t osc_spans_sum(const osc_span *spans, uint32_t n)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum = osc_add_sat(sum, osc_sub_sat(spans[i].end_ns, spans[i].start_ns));
    return sum;
}

int64_t osc_spans_overlap(const osc_span *a, uint32_t na, const osc_span *b, uint32_t nb)
{
    int64_t sum = 0;
    for (uint32_t i = 0, j = 0; i < na && j < nb;) {
        int64_t start = a[i].start_ns > b[j].start_ns ? a[i].start_ns : b[j].start_ns;
        int64_t end = a[i].end_ns < b[j].end_ns ? a[i].end_ns : b[j].end_ns;
        if (start < end)
            sum = osc_add_sat(sum, osc_sub_sat(end, start));
        if (a[i].end_ns < b[j].end_ns)
            i++;
        else
            j++;
    }
    return sum;
}

uint32_t osc_spans_subtract(const osc_span *a, uint32_t na, const osc_span *b, uint32_t nb,
                            osc_span *out)
{
    uint32_t j = 0, n = 0;
    for (uint32_t i = 0; i < na; i++) {
        int64_t at = a[i].start_ns;
        while (j < nb && b[j].end_ns <= at)
            j++;
        for (uint32_t k = j; k < nb && b[k].start_ns < a[i].end_ns; k++) {
            if (b[k].start_ns > at)
                out[n++] = (osc_span){at, b[k].start_ns};
            at = b[k].end_ns;
        }
        if (at < a[i].end_ns)
            out[n++] = (osc_span){at, a[i].end_ns};
    }
    assert(n <= (uint64_t)na + nb);
    return n;
}
