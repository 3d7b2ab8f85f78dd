/*
 * lod_build.c - makes the level-of-detail index.
 *
 * Two passes in file order (counting, then writing) group the intervals by track, 16 bytes each;
 * threads share the passes by pieces of the file. Then threads take tracks one by one: put the
 * intervals in order (lod_sort.c), give each its row (lod_depth.c), and write the rows. Each track
 * has one block of memory of its own, so nothing depends on which thread did what. Fresh memory
 * costs more than the arithmetic: hence 32-bit columns, work space that is used again, and large
 * pages where the system has them.
 *
 * Rejected: grouping numbers only (4 bytes each) and gathering times track by track. With many
 * tracks each cache line of times is then read once per interval: 13 ns each, half of all the work.
 */
#include "scope/store/lod_internal.h"

#include "base/mem.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define LINE       64u               /* bytes of a cache line */
#define LARGE_PAGE ((size_t)2 << 20) /* blocks of several of these ask for large pages */
#define PIECES_MAX 64u

/* What a thread needs for the track at hand. */
struct space {
    lod_entry *spare; /* room to sort */
    uint32_t *depth;  /* per interval: its row */
    uint32_t *fill;   /* per row: intervals written so far */
    lod_view *views;  /* per row */
    uint32_t spare_cap, depth_cap, row_cap;
    lod_depths depths;
};

struct build {
    osc_lod *lod;
    uint32_t pieces;    /* of the input, in which it is read */
    uint32_t *place;    /* per piece and track: intervals, then where they go */
    uint32_t *first;    /* per track and one more: where its entries begin */
    lod_entry *entries; /* by track, in each in the order of the input */
    atomic_uint next;   /* track to do */
    atomic_bool failed;
};

static void use_large_pages(void *memory, size_t bytes)
{
    uintptr_t from = ((uintptr_t)memory + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(uintptr_t)(LARGE_PAGE - 1);
    if (end > from + LARGE_PAGE)
        (void)madvise((void *)from, end - from, MADV_HUGEPAGE); /* a hint; may be refused */
}

static void *take(size_t n, size_t size)
{
    void *memory = osc_realloc_array(NULL, n ? n : 1, size);
    if (memory)
        use_large_pages(memory, n * size);
    return memory;
}

/* ---- intervals by track ---- */

static bool is_in(const osc_lod_input *in, uint32_t i)
{
    return in->track[i] < in->tracks && !(in->flags && (in->flags[i] & in->skip));
}

static uint32_t piece_start(const struct build *b, size_t piece)
{
    return (uint32_t)((uint64_t)b->lod->in.count * piece / b->pieces);
}

static void count_piece(void *context, size_t piece)
{
    struct build *b = context;
    const osc_lod_input *in = &b->lod->in;
    uint32_t *count = b->place + piece * in->tracks;
    for (uint32_t i = piece_start(b, piece); i < piece_start(b, piece + 1); i++) {
        if (is_in(in, i))
            count[in->track[i]]++;
    }
}

static void write_piece(void *context, size_t piece)
{
    struct build *b = context;
    const osc_lod_input *in = &b->lod->in;
    uint32_t *place = b->place + piece * in->tracks;
    for (uint32_t i = piece_start(b, piece); i < piece_start(b, piece + 1); i++) {
        if (!is_in(in, i))
            continue;
        int64_t dur = in->dur_ns[i];
        assert(dur >= 0);
        b->entries[place[in->track[i]]++] =
            (lod_entry){in->start_ns[i], dur < LOD_FAR ? (uint32_t)dur : LOD_FAR, i};
    }
}

/* Turns the counts into places: by track, then by piece. */
static void place_tracks(struct build *b)
{
    uint32_t tracks = b->lod->in.tracks, sum = 0;
    for (uint32_t t = 0; t < tracks; t++) {
        b->first[t] = sum;
        for (uint32_t p = 0; p < b->pieces; p++) {
            uint32_t *place = &b->place[(size_t)p * tracks + t], here = *place;
            *place = sum;
            sum += here;
        }
    }
    b->first[tracks] = sum;
}

static bool group_by_track(struct build *b, size_t threads)
{
    const osc_lod_input *in = &b->lod->in;
    size_t pieces = in->tracks > 0 ? in->count / in->tracks / 16 : 0; /* their counts stay small */
    pieces = pieces < threads ? pieces : threads;
    b->pieces = (uint32_t)(pieces < 1 ? 1 : pieces > PIECES_MAX ? PIECES_MAX : pieces);
    b->first = osc_calloc((size_t)in->tracks + 1, sizeof *b->first);
    b->place = osc_calloc((size_t)in->tracks * b->pieces + 1, sizeof *b->place);
    if (!b->first || !b->place)
        return false;
    osc_parallel_for(b->pieces, threads, count_piece, b);
    place_tracks(b);
    b->entries = take(b->first[in->tracks], sizeof *b->entries);
    if (b->entries)
        osc_parallel_for(b->pieces, threads, write_piece, b);
    return b->entries != NULL;
}

/* ---- one track ---- */

/* *array with room for n; what was in it is lost. */
static bool make_room(void *slot, uint32_t *cap, uint32_t n, size_t size)
{
    void *array;
    if (n <= *cap)
        return true;
    memcpy(&array, slot, sizeof array);
    osc_free(array);
    array = take(n, size);
    memcpy(slot, &array, sizeof array);
    *cap = array ? n : 0;
    return array != NULL;
}

/* Gives each interval its row. */
static bool divide(const osc_lod_input *in, struct space *s, const lod_entry *e, uint32_t n)
{
    osc_lod_depths_reset(&s->depths);
    for (uint32_t i = 0; i < n; i++) {
        s->depth[i] = osc_lod_depth(&s->depths, e[i].start, lod_entry_end(in, &e[i]));
        if (s->depth[i] == OSC_NO_ROW)
            return false;
    }
    return true;
}

static size_t to_line(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Bytes of a row's leaves and of its levels, each in whole lines. */
static size_t leaf_bytes(uint32_t count)
{
    return to_line(lod_padded(count) * 3 * sizeof(uint32_t));
}

static size_t level_bytes(uint32_t count)
{
    return to_line(lod_level_words(count) * sizeof(int64_t));
}

/* Places of lengths that do not fit a leaf, for all rows of the track. */
static uint32_t count_far(const lod_entry *e, uint32_t n)
{
    uint32_t far = 0;
    for (uint32_t i = 0; i < n; i++)
        far += e[i].dur == LOD_FAR;
    return far;
}

static bool make_rows(struct space *s, lod_track *track, uint32_t far)
{
    uint32_t rows = s->depths.rows;
    size_t bytes = LINE + far * sizeof(uint32_t);
    for (uint32_t r = 0; r < rows; r++)
        bytes += leaf_bytes(s->depths.count[r]) + level_bytes(s->depths.count[r]);
    track->rows = osc_calloc(rows, sizeof *track->rows);
    track->memory = take(bytes, 1);
    if (!track->rows || !track->memory)
        return false;
    track->row_count = rows;
    track->bytes = bytes;
    char *at = (char *)track->memory + (LINE - (uintptr_t)track->memory % LINE) % LINE;
    for (uint32_t r = 0; r < rows; r++) {
        lod_row *row = &track->rows[r];
        row->count = s->depths.count[r];
        row->leaf = (uint32_t *)(void *)at;
        at += leaf_bytes(row->count);
        row->level = level_bytes(row->count) > 0 ? (int64_t *)(void *)at : NULL;
        at += level_bytes(row->count);
    }
    if (far > 0)
        track->rows[0].far = (uint32_t *)(void *)at; /* dealt out by deal_far */
    return true;
}

static bool make_views(const osc_lod_input *in, struct space *s, const lod_track *track)
{
    uint32_t cap = s->row_cap;
    if (!make_room(&s->views, &cap, track->row_count, sizeof *s->views) ||
        !make_room(&s->fill, &s->row_cap, track->row_count, sizeof *s->fill))
        return false;
    for (uint32_t r = 0; r < track->row_count; r++) {
        lod_view_of(in, &track->rows[r], &s->views[r]);
        s->fill[r] = 0;
    }
    return true;
}

/* Writes the leaves and their first starts. */
static void write_leaves(struct space *s, lod_track *track, const lod_entry *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = s->depth[i], place = s->fill[row]++;
        const lod_view *v = &s->views[row];
        if (place % LOD_FAN == 0) {
            if (v->levels > 0)
                v->start[0][place / LOD_FAN] = e[i].start;
            else
                track->rows[row].first = e[i].start;
        }
        uint64_t offset = (uint64_t)e[i].start - (uint64_t)lod_leaf_start(v, place / LOD_FAN);
        v->offset[place] = offset < LOD_FAR ? (uint32_t)offset : LOD_FAR;
        v->dur[place] = e[i].dur;
        v->id[place] = e[i].id;
    }
}

/* The longest of up to 16 intervals of a leaf; adds their time to *busy. */
static uint64_t sum_leaf(const lod_view *v, uint32_t leaf, int64_t *busy)
{
    uint32_t from = leaf * LOD_FAN;
    uint32_t end = v->row->count - from < LOD_FAN ? v->row->count : from + LOD_FAN;
    uint64_t best = 0;
    for (uint32_t i = from; i < end; i++) {
        uint64_t packed = lod_pack(v->dur[i], i);
        best = packed > best ? packed : best;
        *busy += lod_dur(v, i);
    }
    return best;
}

/* One level from the one below it, and its padding. */
static void raise_level(const lod_view *v, uint32_t k)
{
    for (uint32_t i = 0; k > 0 && i < v->nodes[k]; i++) {
        uint32_t from = i * LOD_FAN, left = v->nodes[k - 1] - from;
        uint64_t best = 0;
        for (uint32_t c = from; c < from + (left < LOD_FAN ? left : LOD_FAN); c++)
            best = v->best[k - 1][c] > best ? v->best[k - 1][c] : best;
        v->best[k][i] = best;
        v->start[k][i] = v->start[k - 1][from];
    }
    for (size_t i = v->nodes[k]; i < lod_padded(v->nodes[k]); i++) {
        v->start[k][i] = INT64_MAX;
        v->best[k][i] = 0;
    }
}

static void write_levels(const lod_view *v)
{
    int64_t busy = 0;
    for (size_t i = v->row->count; i < lod_padded(v->row->count); i++) {
        v->offset[i] = LOD_FAR;
        v->dur[i] = 0;
        v->id[i] = OSC_NO_ROW;
    }
    for (uint32_t leaf = 0; v->levels > 0 && leaf < v->nodes[0]; leaf++) {
        v->busy[leaf] = busy;
        v->best[0][leaf] = sum_leaf(v, leaf, &busy);
    }
    for (uint32_t k = 0; k < v->levels; k++)
        raise_level(v, k);
}

/* Gives each row its part of the list of lengths that do not fit. */
static void deal_far(lod_track *track, const lod_view *views)
{
    uint32_t *at = track->rows[0].far;
    for (uint32_t r = 0; at && r < track->row_count; r++) {
        lod_row *row = &track->rows[r];
        row->far = at;
        for (uint32_t i = 0; i < row->count; i++) {
            if (views[r].dur[i] == LOD_FAR)
                *at++ = i;
        }
        row->far_count = (uint32_t)(at - row->far);
    }
}

static bool build_track(struct build *b, struct space *s, uint32_t track)
{
    const osc_lod_input *in = &b->lod->in;
    lod_track *t = &b->lod->tracks[track];
    uint32_t n = b->first[track + 1] - b->first[track];
    if (n == 0)
        return true;
    lod_entry *e = b->entries + b->first[track];
    if (!osc_lod_sorted(in, e, n)) {
        if (!make_room(&s->spare, &s->spare_cap, n, sizeof *s->spare))
            return false;
        e = osc_lod_sort(in, e, s->spare, n);
    }
    if (!make_room(&s->depth, &s->depth_cap, n, sizeof *s->depth))
        return false;
    if (!divide(in, s, e, n) || !make_rows(s, t, count_far(e, n)) || !make_views(in, s, t))
        return false;
    write_leaves(s, t, e, n);
    for (uint32_t r = 0; r < t->row_count; r++)
        write_levels(&s->views[r]);
    deal_far(t, s->views);
    return true;
}

/* A thread: takes tracks until there are none. */
static void work(void *context, size_t index)
{
    struct build *b = context;
    struct space s = {0};
    (void)index;
    for (uint32_t t = atomic_fetch_add(&b->next, 1); t < b->lod->in.tracks && !b->failed;
         t = atomic_fetch_add(&b->next, 1)) {
        if (!build_track(b, &s, t))
            b->failed = true;
    }
    osc_free(s.spare);
    osc_free(s.depth);
    osc_free(s.fill);
    osc_free(s.views);
    osc_lod_depths_free(&s.depths);
}

osc_status osc_lod_build(const osc_lod_input *input, uint32_t threads, osc_lod **out, osc_err *err)
{
    struct build b = {0};
    size_t workers = threads ? threads : osc_cpu_count();
    *out = NULL;
    b.lod = osc_calloc(1, sizeof *b.lod);
    bool ok = b.lod != NULL;
    if (ok) {
        b.lod->in = *input;
        b.lod->tracks = osc_calloc((size_t)input->tracks + 1, sizeof *b.lod->tracks);
        ok = b.lod->tracks && group_by_track(&b, workers);
    }
    if (ok) {
        workers = workers < input->tracks ? workers : input->tracks;
        osc_parallel_for(workers, workers, work, &b);
        ok = !b.failed;
    }
    osc_free(b.first);
    osc_free(b.place);
    osc_free(b.entries);
    if (!ok) {
        osc_lod_free(b.lod);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "out of memory for the index of the timeline");
    }
    *out = b.lod;
    return OSC_OK;
}

osc_status osc_lod_of_store(const osc_store *store, uint32_t threads, osc_lod **out, osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(store);
    osc_lod_input input = {.start_ns = s->start_ns,
                           .dur_ns = s->dur_ns,
                           .track = s->track,
                           .flags = s->flags,
                           .skip = OSC_SLICE_NO_TIME,
                           .count = s->count,
                           .tracks = osc_store_track(store)->count};
    return osc_lod_build(&input, threads, out, err);
}

void osc_lod_free(osc_lod *lod)
{
    if (!lod)
        return;
    for (uint32_t t = 0; lod->tracks && t < lod->in.tracks; t++) {
        osc_free(lod->tracks[t].memory);
        osc_free(lod->tracks[t].rows);
    }
    osc_free(lod->tracks);
    osc_free(lod);
}

size_t osc_lod_bytes(const osc_lod *lod)
{
    size_t total = sizeof *lod + lod->in.tracks * sizeof *lod->tracks;
    for (uint32_t t = 0; t < lod->in.tracks; t++)
        total += lod->tracks[t].bytes + lod->tracks[t].row_count * sizeof(lod_row);
    return total;
}
