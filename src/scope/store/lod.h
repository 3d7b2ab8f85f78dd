/*
 * lod.h - the level-of-detail index: what to draw of millions of intervals in a few hundred pixels,
 * exactly, at any zoom.
 *
 * Each track is divided into rows in which intervals do not overlap: an interval lies below every
 * interval that contains it, otherwise as high as there is room, so nothing hides anything. A
 * window [t0, t1) of n pixels then asks per row and pixel: how many intervals are in it, which is
 * the longest of them, and for how long is the row busy. No answer is an estimate.
 *
 *     pixel p is [b(p), b(p + 1)) with b(p) = t0 + floor(p * (t1 - t0) / n), and at least 1 ns wide
 *     an interval is in a pixel when they share a nanosecond; one of length 0 counts as 1 ns long
 *
 * Memory: 13.6 bytes an interval plus a few hundred bytes a row, once built; while building, 16
 * bytes an interval more, and for each thread 4 (20 when it is not in order) bytes an interval of
 * the largest track.
 */
#ifndef OSC_STORE_LOD_H
#define OSC_STORE_LOD_H

#include "base/status.h"
#include "scope/store/store.h"

#include <stddef.h>
#include <stdint.h>

typedef struct osc_lod osc_lod;

/* The intervals of any table. Arrays are borrowed and must outlive the index. Starts and lengths
 * are in the range that schema.h promises for the store. */
typedef struct osc_lod_input {
    const int64_t *start_ns;
    const int64_t *dur_ns; /* never negative */
    const uint32_t *track; /* intervals of a track at or above `tracks` are left out */
    const uint8_t *flags;  /* NULL: none */
    uint8_t skip;          /* intervals with any of these bits in flags are left out */
    uint32_t count;        /* length of the arrays */
    uint32_t tracks;       /* number of tracks */
} osc_lod_input;

/* What is in one pixel of one row. */
typedef struct osc_lod_pixel {
    uint32_t count;   /* intervals in it */
    uint32_t longest; /* the longest of them, the earliest of equals; OSC_NO_ROW when none */
    int64_t busy_ns;  /* part of the pixel that intervals cover */
} osc_lod_pixel;

/*
 * Builds the index of all tracks on up to `threads` threads (0: one for each processor); the result
 * is the same for any number. *out is NULL on failure (OSC_ENOMEM); freed with osc_lod_free.
 */
OSC_MUST_CHECK osc_status osc_lod_build(const osc_lod_input *input, uint32_t threads, osc_lod **out,
                                        osc_err *err);

/* The same for the slices of a sealed store, which must outlive the index; slices without a time
 * are left out. */
OSC_MUST_CHECK osc_status osc_lod_of_store(const osc_store *store, uint32_t threads, osc_lod **out,
                                           osc_err *err);
void osc_lod_free(osc_lod *lod); /* NULL allowed */

/* Rows of a track, 0 for an empty one; intervals in a row. Any thread. */
uint32_t osc_lod_rows(const osc_lod *lod, uint32_t track);
uint32_t osc_lod_count(const osc_lod *lod, uint32_t track, uint32_t row);

/*
 * Fills n pixels of a row for the window [t0, t1). False, and nothing written, when t0 >= t1, a
 * time is beyond +-2^62 (where no interval is), n is 0, or there is no such row. Allocates nothing.
 * Any thread.
 */
bool osc_lod_query(const osc_lod *lod, uint32_t track, uint32_t row, int64_t t0, int64_t t1,
                   uint32_t n, osc_lod_pixel *out);

/* The same for a whole track drawn as one line: counts are sums over its rows, the longest is that
 * of all rows (upper rows first among equals), busy_ns that of the busiest row. */
bool osc_lod_query_track(const osc_lod *lod, uint32_t track, int64_t t0, int64_t t1, uint32_t n,
                         osc_lod_pixel *out);

/*
 * The intervals of a row that are in [t0, t1), for zooms at which each can be drawn: their places
 * are [*first, *end) in order of time, and osc_lod_at gives the interval of a place. Any thread.
 */
void osc_lod_range(const osc_lod *lod, uint32_t track, uint32_t row, int64_t t0, int64_t t1,
                   uint32_t *first, uint32_t *end);
uint32_t osc_lod_at(const osc_lod *lod, uint32_t track, uint32_t row, uint32_t place);

/* Bytes of the index. */
size_t osc_lod_bytes(const osc_lod *lod);

#endif
