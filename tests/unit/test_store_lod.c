/*
 * test_store_lod.c - the level-of-detail index against its definition, counted out interval by
 * interval, on random data of every shape that could upset it.
 */
#include "tap.h"

#include "base/mem.h"
#include "base/rng.h"
#include "scope/store/lod.h"

#include <assert.h>
#include <string.h>

#define PIXELS 150u

struct data {
    int64_t *start, *dur;
    uint32_t *track;
    uint8_t *flags;
    osc_lod_input in;
};

enum shape { NESTED = 0, OVERLAPPING, INSTANTS, EQUAL, FAR_APART, LONG, BACKWARDS, DEEP, SHAPES };

static const char *const shape_names[SHAPES] = {"nested",    "overlapping", "instants",  "equal",
                                                "far apart", "long",        "backwards", "deep"};

static void free_data(struct data *d)
{
    osc_free(d->start);
    osc_free(d->dur);
    osc_free(d->track);
    osc_free(d->flags);
}

static bool make_data(struct data *d, uint32_t n, uint32_t tracks)
{
    memset(d, 0, sizeof *d);
    d->start = osc_calloc(n + 1, sizeof *d->start);
    d->dur = osc_calloc(n + 1, sizeof *d->dur);
    d->track = osc_calloc(n + 1, sizeof *d->track);
    d->flags = osc_calloc(n + 1, sizeof *d->flags);
    d->in = (osc_lod_input){d->start, d->dur, d->track, d->flags, 2, n, tracks};
    return d->start && d->dur && d->track && d->flags;
}

static int64_t below(osc_rng *rng, int64_t n)
{
    return (int64_t)osc_rng_below(rng, (uint64_t)n);
}

static void fill(struct data *d, enum shape shape, osc_rng *rng)
{
    uint32_t n = d->in.count;
    int64_t base = shape == BACKWARDS ? -5000000 : 1700000000000000000;
    for (uint32_t i = 0; i < n; i++) {
        d->track[i] = (uint32_t)below(rng, d->in.tracks + 1); /* some of no track */
        d->flags[i] = (uint8_t)(below(rng, 40) == 0 ? 2 : 1);
        switch (shape) {
        case NESTED:
            d->start[i] = base + (int64_t)(i / 8) * 1000 + (int64_t)(i % 8) * 10;
            d->dur[i] = 800 - (int64_t)(i % 8) * 20;
            break;
        case OVERLAPPING:
            d->start[i] = base + below(rng, 20000);
            d->dur[i] = below(rng, 300);
            break;
        case INSTANTS:
            d->start[i] = base + below(rng, 500);
            d->dur[i] = below(rng, 3) == 0;
            break;
        case EQUAL:
            d->start[i] = base;
            d->dur[i] = 100 + below(rng, 3);
            break;
        case FAR_APART:
            d->start[i] = base + (int64_t)i * 1500000000 + below(rng, 1000);
            d->dur[i] = below(rng, 900000000);
            break;
        case LONG:
            d->start[i] = base + (int64_t)i * 1000000000;
            d->dur[i] = below(rng, 4) == 0 ? 4294967290 + below(rng, 12) : below(rng, 999999999);
            break;
        case BACKWARDS:
            d->start[i] = base - (int64_t)i * 700 - below(rng, 300);
            d->dur[i] = below(rng, 1500);
            break;
        default: /* DEEP: each overlaps all before it and none contains another */
            d->start[i] = base + i;
            d->dur[i] = 100000 + i;
            d->track[i] = 0;
            break;
        }
    }
}

static int64_t end_of(const struct data *d, uint32_t i)
{
    return d->start[i] + (d->dur[i] > 0 ? d->dur[i] : 1);
}

/* ---- rows ---- */

/* Each interval is in one row, rows are in order and do not overlap. */
static void check_rows(const struct data *d, const osc_lod *lod, uint32_t *row_of)
{
    uint32_t found = 0, wanted = 0;
    for (uint32_t i = 0; i < d->in.count; i++) {
        row_of[i] = OSC_NO_ROW;
        wanted += d->track[i] < d->in.tracks && !(d->flags[i] & 2);
    }
    for (uint32_t t = 0; t < d->in.tracks; t++) {
        for (uint32_t r = 0; r < osc_lod_rows(lod, t); r++) {
            uint32_t before = OSC_NO_ROW;
            TAP_OK(osc_lod_count(lod, t, r) > 0);
            for (uint32_t p = 0; p < osc_lod_count(lod, t, r); p++, found++) {
                uint32_t i = osc_lod_at(lod, t, r, p);
                TAP_REQUIRE(i < d->in.count && row_of[i] == OSC_NO_ROW);
                TAP_REQUIRE(d->track[i] == t && !(d->flags[i] & 2));
                TAP_REQUIRE(before == OSC_NO_ROW || end_of(d, before) <= d->start[i]);
                row_of[i] = r;
                before = i;
            }
        }
    }
    TAP_EQ_U64(found, wanted);
}

/* What contains lies above what is contained. */
static void check_nesting(const struct data *d, const uint32_t *row_of)
{
    for (uint32_t a = 0; a < d->in.count; a++) {
        for (uint32_t b = 0; b < d->in.count; b++) {
            if (row_of[a] == OSC_NO_ROW || row_of[b] == OSC_NO_ROW || d->track[a] != d->track[b])
                continue;
            bool longer = end_of(d, a) - d->start[a] > end_of(d, b) - d->start[b];
            if (longer && d->start[a] <= d->start[b] && end_of(d, a) >= end_of(d, b))
                TAP_REQUIRE(row_of[a] < row_of[b]);
        }
    }
}

/* ---- pixels ---- */

static void add(const struct data *d, uint32_t i, int64_t from, int64_t to, osc_lod_pixel *pixel)
{
    int64_t end = d->start[i] + d->dur[i];
    if (d->start[i] >= to || end_of(d, i) <= from)
        return;
    int64_t first = d->start[i] > from ? d->start[i] : from, last = end < to ? end : to;
    pixel->count++;
    pixel->busy_ns += last > first ? last - first : 0;
    if (pixel->longest == OSC_NO_ROW || d->dur[i] > d->dur[pixel->longest] ||
        (d->dur[i] == d->dur[pixel->longest] && d->start[i] < d->start[pixel->longest]))
        pixel->longest = i;
}

/* Border p of a window, by the definition (small windows and pixel numbers only: no overflow). */
static int64_t border(int64_t t0, int64_t t1, uint32_t n, uint32_t p)
{
    uint64_t span = (uint64_t)(t1 - t0);
    return t0 + (int64_t)(span / n * p + span % n * p / n);
}

static bool same(const osc_lod_pixel *a, const osc_lod_pixel *b)
{
    return a->count == b->count && a->longest == b->longest && a->busy_ns == b->busy_ns;
}

/* A pixel of one row, or of the track when row is OSC_NO_ROW, interval by interval. */
static osc_lod_pixel counted(const struct data *d, const uint32_t *row_of, uint32_t track,
                             uint32_t row, uint32_t rows, int64_t from, int64_t to)
{
    static osc_lod_pixel of_row[4096];
    osc_lod_pixel sum = {0, OSC_NO_ROW, 0};
    assert(rows <= 4096);
    for (uint32_t r = 0; r < rows; r++)
        of_row[r] = sum;
    for (uint32_t i = 0; i < d->in.count; i++) {
        if (row_of[i] != OSC_NO_ROW && d->track[i] == track)
            add(d, i, from, to, &of_row[row_of[i]]);
    }
    if (row != OSC_NO_ROW)
        return of_row[row];
    for (uint32_t r = 0; r < rows; r++) {
        const osc_lod_pixel *one = &of_row[r];
        sum.count += one->count;
        sum.busy_ns = one->busy_ns > sum.busy_ns ? one->busy_ns : sum.busy_ns;
        if (one->count > 0 &&
            (sum.longest == OSC_NO_ROW || d->dur[one->longest] > d->dur[sum.longest]))
            sum.longest = one->longest;
    }
    return sum;
}

/* One window of one row, or of the track when row is OSC_NO_ROW. */
static bool check_window(const struct data *d, const osc_lod *lod, const uint32_t *row_of,
                         uint32_t track, uint32_t row, int64_t t0, int64_t t1, uint32_t n)
{
    osc_lod_pixel got[PIXELS + 1];
    uint32_t rows = osc_lod_rows(lod, track);
    memset(got, 0x5a, sizeof got);
    bool ok = row == OSC_NO_ROW ? osc_lod_query_track(lod, track, t0, t1, n, got)
                                : osc_lod_query(lod, track, row, t0, t1, n, got);
    if (!ok)
        return rows == 0;
    for (uint32_t p = 0; p < n && ok; p++) {
        int64_t from = border(t0, t1, n, p), to = border(t0, t1, n, p + 1);
        osc_lod_pixel want = counted(d, row_of, track, row, rows, from, to > from ? to : from + 1);
        ok = same(&got[p], &want);
        if (!ok)
            tap_note("track %u row %u pixel %u of %u: %u/%u/%lld, not %u/%u/%lld", track, row, p, n,
                     got[p].count, got[p].longest, (long long)got[p].busy_ns, want.count,
                     want.longest, (long long)want.busy_ns);
    }
    return ok && got[n].count == 0x5a5a5a5a; /* nothing written behind the last pixel */
}

static void check_windows(const struct data *d, const osc_lod *lod, const uint32_t *row_of,
                          osc_rng *rng, uint32_t windows)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    if (d->in.count == 0) {
        TAP_OK(check_window(d, lod, row_of, 0, OSC_NO_ROW, 0, 100, 10));
        return;
    }
    for (uint32_t i = 0; i < d->in.count; i++) {
        least = d->start[i] < least ? d->start[i] : least;
        most = end_of(d, i) > most ? end_of(d, i) : most;
    }
    for (uint32_t w = 0; w < windows; w++) {
        uint32_t track = (uint32_t)below(rng, d->in.tracks);
        uint32_t rows = osc_lod_rows(lod, track);
        uint32_t row = rows == 0 || below(rng, 4) == 0 ? OSC_NO_ROW : (uint32_t)below(rng, rows);
        int64_t span = (most - least) >> below(rng, 40);
        int64_t t0 = least - 20 + below(rng, most - least + 40);
        t0 = w == 0 ? least - 10 : t0;
        span = w == 0 ? most - least + 20 : span + 1;
        TAP_REQUIRE(check_window(d, lod, row_of, track, row, t0, t0 + span,
                                 (uint32_t)below(rng, PIXELS) + 1));
    }
}

static void check_shape(enum shape shape, uint32_t n, uint32_t tracks, uint64_t seed)
{
    struct data d;
    osc_lod *lod = NULL;
    osc_err err = {0};
    osc_rng rng = {seed};
    TAP_REQUIRE(make_data(&d, n, tracks));
    uint32_t *row_of = osc_calloc(n + 1, sizeof *row_of);
    TAP_REQUIRE(row_of != NULL);
    fill(&d, shape, &rng);
    TAP_EQ_STATUS(osc_lod_build(&d.in, 1, &lod, &err), OSC_OK);
    if (lod) {
        check_rows(&d, lod, row_of);
        if (n <= 3000)
            check_nesting(&d, row_of);
        check_windows(&d, lod, row_of, &rng, n > 3000 ? 20 : 100);
    }
    osc_lod_free(lod);
    osc_free(row_of);
    free_data(&d);
}

static void test_every_shape(void)
{
    static const uint32_t sizes[] = {0, 1, 15, 16, 17, 300, 2500};
    for (unsigned shape = 0; shape < SHAPES; shape++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            uint64_t seed = 1000 * shape + i + 1;
            tap_note("%s, %u intervals, seed %llu", shape_names[shape], sizes[i],
                     (unsigned long long)seed);
            check_shape((enum shape)shape, sizes[i], 1 + (uint32_t)i % 3, seed);
        }
    }
}

/* Enough for four levels, and for the radix sort. */
static void test_many_levels(void)
{
    check_shape(OVERLAPPING, 20000, 1, 77);
    check_shape(NESTED, 150000, 1, 78);
    check_shape(BACKWARDS, 30000, 2, 79);
}

/* ---- any number of threads, any failure ---- */

static void test_threads_do_not_matter(void)
{
    struct data d;
    osc_lod *one = NULL, *many = NULL;
    osc_err err = {0};
    osc_lod_pixel a[PIXELS], b[PIXELS];
    osc_rng rng = {5};
    TAP_REQUIRE(make_data(&d, 60000, 17));
    fill(&d, OVERLAPPING, &rng);
    TAP_REQUIRE(osc_lod_build(&d.in, 1, &one, &err) == OSC_OK);
    TAP_REQUIRE(osc_lod_build(&d.in, 7, &many, &err) == OSC_OK);
    TAP_EQ_U64(osc_lod_bytes(one), osc_lod_bytes(many));
    for (uint32_t t = 0; t < 17; t++) {
        TAP_EQ_U64(osc_lod_rows(one, t), osc_lod_rows(many, t));
        for (uint32_t r = 0; r < osc_lod_rows(one, t); r++) {
            TAP_REQUIRE(osc_lod_query(one, t, r, d.start[0], d.start[0] + 7777, PIXELS, a));
            TAP_REQUIRE(osc_lod_query(many, t, r, d.start[0], d.start[0] + 7777, PIXELS, b));
            TAP_EQ_MEM(a, b, sizeof a);
        }
    }
    osc_lod_free(one);
    osc_lod_free(many);
    free_data(&d);
}

static bool build_once(void *context)
{
    const struct data *d = context;
    osc_lod *lod = NULL;
    osc_err err = {0};
    osc_status status = osc_lod_build(&d->in, 2, &lod, &err);
    bool ok = status == OSC_OK ? lod != NULL : status == OSC_ENOMEM && !lod;
    osc_lod_free(lod);
    return ok;
}

static void test_out_of_memory(void)
{
    struct data d;
    osc_rng rng = {6};
    TAP_REQUIRE(make_data(&d, 5000, 3));
    fill(&d, DEEP, &rng);
    TAP_OK(tap_oom_sweep(build_once, &d, 1000));
    free_data(&d);
}

static void test_slices_of_a_store(void)
{
    osc_store *store = osc_store_new();
    osc_lod *lod = NULL;
    osc_err err = {0};
    osc_lod_pixel pixel;
    uint32_t first, end;
    TAP_REQUIRE(store != NULL);
    osc_track_row track = {0};
    (void)osc_store_add_track(store, &track);
    osc_slice_row slices[] = {{.start_ns = 100, .dur_ns = 50},
                              {.start_ns = 110, .dur_ns = 10},
                              {.start_ns = 115, .dur_ns = 90, .flags = OSC_SLICE_NO_TIME},
                              {.start_ns = 160, .dur_ns = 0}};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        (void)osc_store_add_slice(store, &slices[i]);
    TAP_REQUIRE(osc_store_seal(store, &err) == OSC_OK);
    TAP_REQUIRE(osc_lod_of_store(store, 0, &lod, &err) == OSC_OK);
    TAP_EQ_U64(osc_lod_rows(lod, 0), 2);
    TAP_OK(osc_lod_query_track(lod, 0, 90, 170, 1, &pixel));
    TAP_EQ_U64(pixel.count, 3);
    TAP_EQ_U64(pixel.longest, 0);
    TAP_EQ_I64(pixel.busy_ns, 50);
    osc_lod_range(lod, 0, 0, 150, 161, &first, &end);
    TAP_EQ_U64(end - first, 1);
    TAP_EQ_U64(osc_lod_at(lod, 0, 0, first), 3);
    TAP_OK(!osc_lod_query(lod, 0, 2, 0, 1, 1, &pixel) &&
           !osc_lod_query(lod, 1, 0, 0, 1, 1, &pixel));
    TAP_OK(!osc_lod_query(lod, 0, 0, 1, 1, 1, &pixel) &&
           !osc_lod_query(lod, 0, 0, 0, 1, 0, &pixel));
    TAP_OK(!osc_lod_query(lod, 0, 0, INT64_MIN, 1, 1, &pixel));
    TAP_OK(!osc_lod_query(lod, 0, 0, 0, INT64_MAX, 1, &pixel));
    TAP_OK(osc_lod_query(lod, 0, 0, -(INT64_C(1) << 62), INT64_C(1) << 62, 1, &pixel));
    TAP_EQ_U64(pixel.count, 2);
    TAP_EQ_U64(osc_lod_at(lod, 0, 0, 99), OSC_NO_ROW);
    osc_lod_free(lod);
    osc_store_free(store);
}

int main(void)
{
    TAP_RUN(test_every_shape);
    TAP_RUN(test_many_levels);
    TAP_RUN(test_threads_do_not_matter);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_slices_of_a_store);
    return tap_done();
}
