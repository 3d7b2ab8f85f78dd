/*
 * lod_internal.h - how a row of the level-of-detail index lies in memory; for lod.c and lod_*.c
 * only.
 *
 *     leaves   16 intervals each: start after the leaf's first start, length, number of the interval
 *     level 0  per leaf: first start; the longest interval; busy time of all leaves before it
 *     level k  per 16 of level k - 1: first start; the longest interval
 *
 * Starts and lengths in leaves are 32 bits; the value LOD_FAR says "look into the input". A leaf is
 * thus three cache lines, and a search touches one line per level.
 */
#ifndef OSC_STORE_LOD_INTERNAL_H
#define OSC_STORE_LOD_INTERNAL_H

#include "scope/store/lod.h"

#include <assert.h>

#define LOD_FAN    16u
#define LOD_SHIFT  4u
#define LOD_LEVELS 8u /* 16^8 = 2^32 intervals */
#define LOD_FAR    UINT32_MAX

/* A row as it is kept. A row of a single leaf has no levels and begins with `first`. */
typedef struct lod_row {
    uint32_t *leaf; /* offsets, lengths, numbers: LOD_FAN * leaves of each */
    int64_t *level; /* busy per leaf, then per level first starts and longest; NULL for one leaf */
    uint32_t *far;  /* places of lengths that are LOD_FAR, ascending */
    int64_t first;  /* start of the first interval */
    uint32_t count; /* intervals, at least 1 */
    uint32_t far_count;
} lod_row;

typedef struct lod_track {
    void *memory; /* all arrays of its rows; owned */
    lod_row *rows;
    size_t bytes; /* size of memory */
    uint32_t row_count;
} lod_track;

struct osc_lod {
    osc_lod_input in;
    lod_track *tracks;
};

/* A row with its arrays found. Arrays of starts are padded to LOD_FAN with INT64_MAX. */
typedef struct lod_view {
    const osc_lod_input *in;
    const lod_row *row;
    uint32_t *offset, *dur, *id; /* by place */
    int64_t *busy;               /* by leaf */
    int64_t *start[LOD_LEVELS];  /* of the first interval below a node */
    uint64_t *best[LOD_LEVELS];  /* lod_pack of the longest interval below a node */
    uint32_t nodes[LOD_LEVELS];  /* of each level */
    uint32_t levels;             /* 0 for one leaf */
} lod_view;

static inline uint32_t lod_groups(uint32_t n)
{
    return n / LOD_FAN + (n % LOD_FAN != 0);
}

/* n rounded up to whole groups. */
static inline size_t lod_padded(uint32_t n)
{
    return (size_t)lod_groups(n) * LOD_FAN;
}

/* Words of a row's levels: busy times, then starts and longest of each level. 0 for one leaf. */
static inline size_t lod_level_words(uint32_t count)
{
    uint32_t n = lod_groups(count);
    if (n <= 1)
        return 0;
    size_t words = lod_padded(n);
    for (;; n = lod_groups(n)) {
        words += 2 * lod_padded(n);
        if (n <= LOD_FAN)
            return words;
    }
}

/* Larger is longer; among equals the earlier place is larger. */
static inline uint64_t lod_pack(uint32_t dur, uint32_t place)
{
    return (uint64_t)dur << 32 | (uint32_t)~place;
}

static inline void lod_view_of(const osc_lod_input *in, const lod_row *row, lod_view *v)
{
    size_t leaf = lod_padded(row->count);
    uint32_t n = lod_groups(row->count);
    int64_t *at = row->level;
    *v = (lod_view){.in = in,
                    .row = row,
                    .offset = row->leaf,
                    .dur = row->leaf + leaf,
                    .id = row->leaf + 2 * leaf,
                    .busy = at};
    if (n <= 1)
        return;
    at += lod_padded(n);
    for (;; n = lod_groups(n)) {
        assert(v->levels < LOD_LEVELS);
        v->nodes[v->levels] = n;
        v->start[v->levels] = at;
        v->best[v->levels] = (uint64_t *)(at + lod_padded(n));
        at += 2 * lod_padded(n);
        v->levels++;
        if (n <= LOD_FAN)
            return;
    }
}

/* First start of a leaf. */
static inline int64_t lod_leaf_start(const lod_view *v, uint32_t leaf)
{
    return v->levels > 0 ? v->start[0][leaf] : v->row->first;
}

static inline int64_t lod_start(const lod_view *v, uint32_t place)
{
    uint32_t offset = v->offset[place];
    return offset == LOD_FAR ? v->in->start_ns[v->id[place]]
                             : lod_leaf_start(v, place >> LOD_SHIFT) + offset;
}

static inline int64_t lod_dur(const lod_view *v, uint32_t place)
{
    uint32_t dur = v->dur[place];
    return dur == LOD_FAR ? v->in->dur_ns[v->id[place]] : dur;
}

/* One interval while a track is sorted and divided. */
typedef struct lod_entry {
    int64_t start;
    uint32_t dur; /* LOD_FAR: look into the input */
    uint32_t id;
} lod_entry;

static inline int64_t lod_entry_dur(const osc_lod_input *in, const lod_entry *e)
{
    return e->dur == LOD_FAR ? in->dur_ns[e->id] : e->dur;
}

/* Where an interval stops taking room: those of length 0 take 1 ns. */
static inline int64_t lod_entry_end(const osc_lod_input *in, const lod_entry *e)
{
    int64_t dur = lod_entry_dur(in, e);
    return e->start + (dur > 0 ? dur : 1);
}

/* lod_sort.c: whether entries are in order, n >= 1: by start, longest first, number. */
bool osc_lod_sorted(const osc_lod_input *in, const lod_entry *entries, uint32_t n);

/* Puts them in order. `spare` holds as many; the result is where it returns. */
lod_entry *osc_lod_sort(const osc_lod_input *in, lod_entry *entries, lod_entry *spare, uint32_t n);

/* lod_depth.c: divides a track into rows, interval by interval in sorted order. */
typedef struct lod_depths {
    int64_t *end;       /* per row: where its last interval ends */
    int64_t *most;      /* per 64 rows: largest end */
    int64_t *least;     /* per 64 rows: no end is smaller */
    uint32_t *count;    /* per row: intervals */
    uint32_t rows, cap; /* in use, allocated (a multiple of 64) */
    uint32_t open;      /* rows at or below this one are free */
} lod_depths;

void osc_lod_depths_reset(lod_depths *d);
void osc_lod_depths_free(lod_depths *d);
/* Row of the next interval [start, end), end > start; OSC_NO_ROW when memory is out. */
uint32_t osc_lod_depth(lod_depths *d, int64_t start, int64_t end);

#endif
