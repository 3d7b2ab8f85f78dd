/*
 * lod_depth.c - divides the intervals of a track into rows that do not overlap.
 *
 * The row of an interval is the first free one below all open intervals that contain it. For calls
 * that nest this is their depth, found in constant time: the deepest open interval contains the
 * next one. Where intervals overlap partly (kernels of one stream, coroutines on one thread) the
 * rule still keeps what contains above what is contained, and needs few rows.
 *
 * With thousands of intervals open at once, all overlapping, looking at each row would be
 * quadratic. Ends in a row only grow, so a largest end for each 64 rows is exact for free, and a
 * least end that may lag behind is still a bound; both let a search skip 64 rows at a time.
 *
 * Rejected: depth = one below the deepest open interval. A chain of kernels of which each overlaps
 * the next would walk down like a staircase without end.
 */
#include "scope/store/lod_internal.h"

#include "base/mem.h"

#include <string.h>

#define BLOCK 64u

void osc_lod_depths_reset(lod_depths *d)
{
    for (uint32_t i = 0; i < d->cap; i++) {
        d->end[i] = INT64_MIN;
        d->count[i] = 0;
    }
    for (uint32_t b = 0; b < d->cap / BLOCK; b++)
        d->most[b] = d->least[b] = INT64_MIN;
    d->rows = 0;
    d->open = 0;
}

void osc_lod_depths_free(lod_depths *d)
{
    osc_free(d->end);
    osc_free(d->most);
    osc_free(d->least);
    osc_free(d->count);
    memset(d, 0, sizeof *d);
}

/* Resizes the array whose pointer lies at `slot`. */
static bool resize(void *slot, size_t n, size_t size)
{
    void *array;
    memcpy(&array, slot, sizeof array);
    array = osc_realloc_array(array, n, size);
    if (array)
        memcpy(slot, &array, sizeof array);
    return array != NULL;
}

/* Arrays grown before a failure stay so; cap says what all have. */
static bool grow(lod_depths *d)
{
    if (d->cap > UINT32_MAX / 2)
        return false;
    uint32_t cap = d->cap ? d->cap * 2 : BLOCK;
    if (!resize(&d->end, cap, sizeof *d->end) || !resize(&d->count, cap, sizeof *d->count) ||
        !resize(&d->most, cap / BLOCK, sizeof *d->most) ||
        !resize(&d->least, cap / BLOCK, sizeof *d->least))
        return false;
    for (uint32_t i = d->cap; i < cap; i++) {
        d->end[i] = INT64_MIN;
        d->count[i] = 0;
    }
    for (uint32_t b = d->cap / BLOCK; b < cap / BLOCK; b++)
        d->most[b] = d->least[b] = INT64_MIN;
    d->cap = cap;
    return true;
}

/* One below the deepest open row whose interval contains one that ends at `end`; 0 when none
 * does. */
static uint32_t below_containers(const lod_depths *d, int64_t end)
{
    uint32_t row = d->open;
    while (row > 0) {
        uint32_t block = (row - 1) / BLOCK;
        if (d->most[block] < end) {
            row = block * BLOCK;
            continue;
        }
        for (; row > block * BLOCK; row--) {
            if (d->end[row - 1] >= end)
                return row;
        }
    }
    return 0;
}

/* The first row at or below `row` that is free at `start`. */
static uint32_t first_free(lod_depths *d, uint32_t row, int64_t start)
{
    while (row < d->open) {
        uint32_t block = row / BLOCK, from = row, end = (block + 1) * BLOCK;
        if (d->least[block] > start) {
            row = end;
            continue;
        }
        int64_t least = INT64_MAX;
        for (end = end < d->open ? end : d->open; row < end; row++) {
            if (d->end[row] <= start)
                return row;
            least = d->end[row] < least ? d->end[row] : least;
        }
        if (from % BLOCK == 0 && end % BLOCK == 0)
            d->least[block] = least;
    }
    return d->open;
}

uint32_t osc_lod_depth(lod_depths *d, int64_t start, int64_t end)
{
    assert(end > start);
    while (d->open > 0 && d->end[d->open - 1] <= start)
        d->open--;
    uint32_t row = d->open;
    if (row > 0 && d->end[row - 1] < end)
        row = first_free(d, below_containers(d, end), start);
    if (row == d->cap && !grow(d))
        return OSC_NO_ROW;
    assert(d->end[row] <= start);
    d->end[row] = end;
    d->count[row]++;
    int64_t *most = &d->most[row / BLOCK];
    *most = end > *most ? end : *most;
    d->open = row >= d->open ? row + 1 : d->open;
    d->rows = d->open > d->rows ? d->open : d->rows;
    return row;
}
