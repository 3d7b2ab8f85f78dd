/*
 * lod.c - window queries of the level-of-detail index.
 *
 * In a row both starts and ends ascend, so one search per border between pixels gives everything:
 * how many intervals start before it, whether the last of them is still open, how much time they
 * cover up to it. Count and busy time of a pixel are differences of two borders; its longest
 * interval is a range maximum over a tree of fan-out 16.
 *
 * At a hundred million intervals each search ends in lines of memory that no cache has. So borders
 * are taken in batches, and a batch goes through in steps: all find their group of leaves in the
 * upper levels, which fit a cache, then all their leaf, then all their place, each step fetching
 * ahead what the next one reads.
 *
 * Everything is inlined into the batch: 25 ns a pixel instead of 30. AVX2 was tried and gives
 * nothing.
 *
 * Rejected: tiles with sums for powers of two of time. They answer for their own borders only; any
 * other window must be redrawn from tiles that do not fit it, which is where viewers become
 * inexact.
 */
#include "scope/store/lod_internal.h"

#define BATCH 64u

/* No interval begins or ends here, so that differences of times fit int64. */
#define BEYOND (INT64_C(1) << 62)

/* The steps of a batch. */
#define HOT static inline __attribute__((always_inline))

/* What is known at a border between pixels. */
struct border {
    int64_t at;      /* ns */
    int64_t covered; /* time that intervals cover before it */
    uint32_t leaf;
    uint32_t place; /* intervals that start before it */
    uint32_t open;  /* 1 when the last of them reaches beyond it */
};

/* ---- borders ---- */

/* Number of 16 ascending starts that lie before t. */
HOT uint32_t starts_before(const int64_t *start, int64_t t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < LOD_FAN; i++)
        n += start[i] < t;
    return n;
}

/* The last of a group of 16 that starts before t, the first when none does. */
HOT uint32_t last_before(const int64_t *start, uint32_t group, int64_t t)
{
    uint32_t n = starts_before(start + group, t);
    return group + (n > 0 ? n - 1 : 0);
}

/*
 * The last node of level 1 that starts before t, going up from one that does (or 0) and down again.
 * Costs the logarithm of the distance.
 */
HOT uint32_t find_group(const lod_view *v, uint32_t from, int64_t t)
{
    uint32_t k = 1, i = from;
    for (;;) {
        uint32_t next = (i | (LOD_FAN - 1)) + 1;
        if (next >= v->nodes[k] || v->start[k][next] >= t)
            break;
        i = next >> LOD_SHIFT;
        k++;
        assert(k < v->levels);
    }
    for (;; k--) {
        i = last_before(v->start[k], i & ~(LOD_FAN - 1), t);
        if (k == 1)
            return i;
        i <<= LOD_SHIFT;
    }
}

/* Step one: which group of leaves; fetches its starts. *group moves along with the borders. */
HOT void find_groups(const lod_view *v, struct border *b, uint32_t n, uint32_t *group)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v->levels > 1)
            *group = find_group(v, *group, b[i].at);
        b[i].leaf = *group << LOD_SHIFT;
        if (v->levels > 0) {
            __builtin_prefetch(&v->start[0][b[i].leaf]);
            __builtin_prefetch(&v->start[0][b[i].leaf + LOD_FAN / 2]);
        }
    }
}

/* Step two: which leaf; fetches it, and what later steps read beside it. */
HOT void find_leaves(const lod_view *v, struct border *b, uint32_t n)
{
    for (uint32_t i = 0; v->levels > 0 && i < n; i++) {
        uint32_t group = b[i].leaf, leaf = last_before(v->start[0], group, b[i].at);
        b[i].leaf = leaf;
        __builtin_prefetch(&v->offset[(size_t)leaf * LOD_FAN]);
        __builtin_prefetch(&v->dur[(size_t)leaf * LOD_FAN]);
        __builtin_prefetch(&v->busy[leaf]);
        __builtin_prefetch(&v->best[0][group]);
        __builtin_prefetch(&v->best[0][group + LOD_FAN / 2]);
    }
}

/* Intervals of a leaf that start before t. */
HOT uint32_t count_in_leaf(const lod_view *v, uint32_t leaf, int64_t t)
{
    int64_t first = lod_leaf_start(v, leaf);
    uint32_t from = leaf * LOD_FAN, n = 0;
    if (t <= first)
        return 0;
    uint64_t after = (uint64_t)t - (uint64_t)first;
    uint32_t offset = after < LOD_FAR ? (uint32_t)after : LOD_FAR;
    for (uint32_t i = 0; i < LOD_FAN; i++)
        n += v->offset[from + i] < offset;
    if (offset == LOD_FAR) {
        while (n < LOD_FAN && from + n < v->row->count && lod_start(v, from + n) < t)
            n++;
    }
    return n;
}

/* Sum of the first n lengths of a leaf. */
HOT int64_t sum_in_leaf(const lod_view *v, uint32_t leaf, uint32_t n)
{
    const uint32_t *dur = v->dur + (size_t)leaf * LOD_FAN;
    int64_t sum = 0;
    bool far = false;
    for (uint32_t i = 0; i < n; i++) {
        sum += dur[i];
        far |= dur[i] == LOD_FAR;
    }
    for (uint32_t i = 0; far && i < n; i++)
        sum += dur[i] == LOD_FAR ? lod_dur(v, leaf * LOD_FAN + i) - (int64_t)LOD_FAR : 0;
    return sum;
}

/* Step three: the place, and what it says. */
HOT void find_places(const lod_view *v, struct border *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t inside = count_in_leaf(v, b[i].leaf, b[i].at);
        b[i].place = b[i].leaf * LOD_FAN + inside;
        b[i].open = 0;
        b[i].covered = v->levels > 0 ? v->busy[b[i].leaf] : 0;
        if (inside == 0)
            continue; /* before the first interval of the row */
        b[i].covered += sum_in_leaf(v, b[i].leaf, inside);
        int64_t end = lod_start(v, b[i].place - 1) + lod_dur(v, b[i].place - 1);
        int64_t beyond = end - b[i].at;
        if (beyond > 0) {
            b[i].covered -= beyond;
            b[i].open = 1;
        }
    }
}

/* ---- pixels ---- */

HOT uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The longest interval of [from, end), from < end, as lod_pack gives it. */
HOT uint64_t longest_in(const lod_view *v, uint32_t from, uint32_t end)
{
    uint64_t best = 0;
    for (; from < end && from % LOD_FAN != 0; from++)
        best = larger(best, lod_pack(v->dur[from], from));
    for (; from < end && end % LOD_FAN != 0; end--)
        best = larger(best, lod_pack(v->dur[end - 1], end - 1));
    for (uint32_t k = 0; from < end; k++) {
        const uint64_t *node = v->best[k];
        from >>= LOD_SHIFT;
        end >>= LOD_SHIFT;
        for (; from < end && from % LOD_FAN != 0; from++)
            best = larger(best, node[from]);
        for (; from < end && end % LOD_FAN != 0; end--)
            best = larger(best, node[end - 1]);
    }
    return best;
}

/* First index of an ascending list that is not below x. */
static uint32_t lower_bound(const uint32_t *list, uint32_t n, uint32_t x)
{
    uint32_t at = 0;
    while (n > 0) {
        uint32_t half = n / 2;
        if (list[at + half] < x) {
            at += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return at;
}

/* The place of the longest interval of [from, end) when it is one that leaves cannot hold. */
static uint32_t longest_far(const lod_view *v, uint32_t from, uint32_t end)
{
    const lod_row *row = v->row;
    uint32_t i = lower_bound(row->far, row->far_count, from), best = OSC_NO_ROW;
    int64_t most = -1;
    for (; i < row->far_count && row->far[i] < end; i++) {
        int64_t dur = lod_dur(v, row->far[i]);
        if (dur > most) {
            most = dur;
            best = row->far[i];
        }
    }
    assert(best != OSC_NO_ROW);
    return best;
}

/* Step four: the pixels between n + 1 borders. */
HOT void put_pixels(const lod_view *v, const struct border *b, uint32_t n, osc_lod_pixel *out)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = b[i].place - b[i].open, end = b[i + 1].place;
        out[i].count = end - from;
        out[i].busy_ns = b[i + 1].covered - b[i].covered;
        out[i].longest = OSC_NO_ROW;
        if (from == end)
            continue;
        uint64_t best = longest_in(v, from, end);
        uint32_t place = best >> 32 == LOD_FAR ? longest_far(v, from, end) : ~(uint32_t)best;
        __builtin_prefetch(&v->id[place]);
        out[i].longest = place;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (out[i].longest != OSC_NO_ROW)
            out[i].longest = v->id[out[i].longest];
    }
}

/* A window, and the borders of its pixels: b(p) = t0 + floor(p * span / n). */
struct window {
    int64_t t0;
    uint64_t span;
    uint32_t n; /* pixels, at most span */
};

/* Borders p to p + count, that is count + 1 of them. */
HOT void put_borders(const struct window *w, uint32_t p, uint32_t count, struct border *b)
{
    uint64_t step = w->span / w->n, rest = w->span % w->n, error = p * rest;
    uint64_t at = (uint64_t)w->t0 + p * step + error / w->n;
    error %= w->n;
    for (uint32_t i = 0; i <= count; i++) {
        b[i].at = (int64_t)at;
        error += rest;
        at += step + (error >= w->n);
        error -= error >= w->n ? w->n : 0;
    }
}

/* The border between first and last, which have the same place, without a search. */
HOT void same_place(const struct border *first, const struct border *last, struct border *b)
{
    int64_t at = b->at;
    *b = *last;
    b->at = at;
    if (first->open && !last->open) { /* the open interval ends between the two */
        int64_t end = first->at + (last->covered - first->covered);
        b->open = end > at;
        b->covered -= b->open ? end - at : 0;
    } else if (last->open) {
        b->covered -= last->at - at;
    }
}

/* Pixels p to p + count of a row. */
static void query_batch(const lod_view *v, const struct window *w, uint32_t p, uint32_t count,
                        osc_lod_pixel *out)
{
    struct border b[BATCH + 1];
    uint32_t group = 0;
    assert(count > 0 && count <= BATCH && w->n <= w->span);
    put_borders(w, p, count, b);
    /* the two ends first; often there is nothing between */
    for (uint32_t i = 0; i <= count; i += count) {
        find_groups(v, b + i, 1, &group);
        find_leaves(v, b + i, 1);
        find_places(v, b + i, 1);
    }
    if (b[0].place == b[count].place) {
        for (uint32_t i = 1; i < count; i++)
            same_place(&b[0], &b[count], &b[i]);
    } else {
        group = v->levels > 0 ? b[0].leaf >> LOD_SHIFT : 0;
        find_groups(v, b + 1, count - 1, &group);
        find_leaves(v, b + 1, count - 1);
        find_places(v, b + 1, count - 1);
    }
    put_pixels(v, b, count, out);
}

/* Lays a row's pixel over what the rows above it gave. */
static void add_pixel(const osc_lod_input *in, osc_lod_pixel *sum, const osc_lod_pixel *p)
{
    if (p->count == 0)
        return;
    sum->count += p->count;
    sum->busy_ns = p->busy_ns > sum->busy_ns ? p->busy_ns : sum->busy_ns;
    if (sum->longest == OSC_NO_ROW || in->dur_ns[p->longest] > in->dur_ns[sum->longest])
        sum->longest = p->longest;
}

/* All pixels of `rows` rows, laid over each other. */
static void query_rows(const osc_lod *lod, const lod_row *row, uint32_t rows,
                       const struct window *w, osc_lod_pixel *out)
{
    osc_lod_pixel below[BATCH];
    lod_view v;
    for (uint32_t p = 0; p < w->n; p += BATCH) {
        uint32_t count = w->n - p < BATCH ? w->n - p : BATCH;
        lod_view_of(&lod->in, row, &v);
        query_batch(&v, w, p, count, out + p);
        for (uint32_t r = 1; r < rows; r++) {
            lod_view_of(&lod->in, &row[r], &v);
            query_batch(&v, w, p, count, below);
            for (uint32_t i = 0; i < count; i++)
                add_pixel(&lod->in, &out[p + i], &below[i]);
        }
    }
}

static bool is_window(int64_t t0, int64_t t1)
{
    return t0 < t1 && t0 >= -BEYOND && t1 <= BEYOND;
}

/*
 * The same for any number of pixels. With more pixels than nanoseconds each nanosecond is asked for
 * once and repeated; from the last pixel back, so that each is read before it is overwritten.
 */
static bool query(const osc_lod *lod, const lod_row *row, uint32_t rows, int64_t t0, int64_t t1,
                  uint32_t n, osc_lod_pixel *out)
{
    if (!row || !is_window(t0, t1) || n == 0)
        return false;
    struct window w = {t0, (uint64_t)t1 - (uint64_t)t0, n};
    w.n = w.span < n ? (uint32_t)w.span : n;
    query_rows(lod, row, rows, &w, out);
    for (uint32_t p = n; w.n < n && p-- > 0;)
        out[p] = out[p * w.span / n];
    return true;
}

/* ---- rows and tracks ---- */

static const lod_row *row_of(const osc_lod *lod, uint32_t track, uint32_t row)
{
    if (track >= lod->in.tracks || row >= lod->tracks[track].row_count)
        return NULL;
    return &lod->tracks[track].rows[row];
}

uint32_t osc_lod_rows(const osc_lod *lod, uint32_t track)
{
    return track < lod->in.tracks ? lod->tracks[track].row_count : 0;
}

uint32_t osc_lod_count(const osc_lod *lod, uint32_t track, uint32_t row)
{
    const lod_row *r = row_of(lod, track, row);
    return r ? r->count : 0;
}

bool osc_lod_query(const osc_lod *lod, uint32_t track, uint32_t row, int64_t t0, int64_t t1,
                   uint32_t n, osc_lod_pixel *out)
{
    return query(lod, row_of(lod, track, row), 1, t0, t1, n, out);
}

bool osc_lod_query_track(const osc_lod *lod, uint32_t track, int64_t t0, int64_t t1, uint32_t n,
                         osc_lod_pixel *out)
{
    return query(lod, row_of(lod, track, 0), osc_lod_rows(lod, track), t0, t1, n, out);
}

void osc_lod_range(const osc_lod *lod, uint32_t track, uint32_t row, int64_t t0, int64_t t1,
                   uint32_t *first, uint32_t *end)
{
    const lod_row *r = row_of(lod, track, row);
    struct border b[2] = {{.at = t0}, {.at = t1}};
    uint32_t group = 0;
    lod_view v;
    *first = *end = 0;
    if (!r || !is_window(t0, t1))
        return;
    lod_view_of(&lod->in, r, &v);
    find_groups(&v, b, 2, &group);
    find_leaves(&v, b, 2);
    find_places(&v, b, 2);
    *first = b[0].place - b[0].open;
    *end = b[1].place;
}

uint32_t osc_lod_at(const osc_lod *lod, uint32_t track, uint32_t row, uint32_t place)
{
    const lod_row *r = row_of(lod, track, row);
    lod_view v;
    if (!r || place >= r->count)
        return OSC_NO_ROW;
    lod_view_of(&lod->in, r, &v);
    return v.id[place];
}
