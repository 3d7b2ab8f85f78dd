/*
 * lod_bench.c - the level-of-detail index at size: building in ns an interval, window queries in ns a
 * cell (pixel of a row), beside counting the same pixels out interval by interval.
 *
 *     lod_bench [millions of intervals] [tracks] [threads]      default 10, 64, 1
 *     lod_bench TRACE [threads]                                 a real file: reading it, building, querying
 *
 * The data: half of the tracks are streams (one row, short kernels one after the other), half are
 * threads (calls nested three deep), interleaved in order of time as profilers write them. Building is
 * the best of three by the clock, queries are CPU time of one thread. The last window is compared with counting by brute force: the program fails when a
 * pixel differs. Memory: 20 bytes an interval for the data, 30 while the index is built.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "scope/read/open.h"
#include "scope/store/lod.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIXELS 1600u

static int64_t cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct data {
    int64_t *start, *dur;
    uint32_t *track;
    uint32_t count, tracks;
    int64_t end;
};

struct lane {
    int64_t now; /* where its next interval begins */
    int64_t end[4];
    uint32_t depth;
};

/* The next interval of a thread: inside the open call while there is room, else after it. */
static void next_call(struct lane *lane, osc_rng *rng, int64_t *start, int64_t *dur)
{
    *start = lane->now;
    while (lane->depth > 0 && lane->end[lane->depth - 1] <= *start + 300)
        *start = lane->end[--lane->depth] + 50;
    int64_t room = lane->depth > 0 ? lane->end[lane->depth - 1] - *start : 40000;
    *dur = room / 3 + (int64_t)osc_rng_below(rng, (uint64_t)room / 3);
    if (lane->depth < 3) {
        lane->end[lane->depth++] = *start + *dur;
        lane->now = *start + 40;
    } else {
        lane->now = *start + *dur + 20;
    }
}

static void next_kernel(struct lane *lane, osc_rng *rng, int64_t *start, int64_t *dur)
{
    *start = lane->now + (int64_t)osc_rng_below(rng, 2000);
    *dur = 500 + (int64_t)osc_rng_below(rng, 4000);
    lane->now = *start + *dur;
}

static int make_data(struct data *d, uint32_t count, uint32_t tracks)
{
    osc_rng rng = {1};
    struct lane *lanes = osc_calloc(tracks, sizeof *lanes);
    d->start = osc_realloc_array(NULL, count, sizeof *d->start);
    d->dur = osc_realloc_array(NULL, count, sizeof *d->dur);
    d->track = osc_realloc_array(NULL, count, sizeof *d->track);
    d->count = count;
    d->tracks = tracks;
    if (!lanes || !d->start || !d->dur || !d->track)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = i % tracks; /* all lanes move at about the same speed */
        d->track[i] = t;
        if (t % 2 == 0)
            next_kernel(&lanes[t], &rng, &d->start[i], &d->dur[i]);
        else
            next_call(&lanes[t], &rng, &d->start[i], &d->dur[i]);
        int64_t end = d->start[i] + d->dur[i];
        d->end = end > d->end ? end : d->end;
    }
    osc_free(lanes);
    return 1;
}

/* ns a cell for random windows of a given share of the trace, all rows of all tracks. */
static double query(const struct data *d, const osc_lod *lod, double share, uint64_t *cells,
                    osc_lod_pixel *pixels)
{
    osc_rng rng = {7};
    int64_t spent = 0;
    *cells = 0;
    for (int round = 0; round < 200 && (spent < 500000000 || round < 3); round++) {
        int64_t span = (int64_t)((double)d->end * share);
        span = span > PIXELS ? span : PIXELS;
        int64_t t0 = (int64_t)osc_rng_below(&rng, (uint64_t)(d->end - span) + 1);
        int64_t before = cpu_ns();
        for (uint32_t t = 0; t < d->tracks; t++) {
            for (uint32_t r = 0; r < osc_lod_rows(lod, t); r++) {
                if (!osc_lod_query(lod, t, r, t0, t0 + span, PIXELS, pixels))
                    return -1;
                *cells += PIXELS;
            }
        }
        spent += cpu_ns() - before;
    }
    return (double)spent / (double)*cells;
}

/* The whole trace in PIXELS pixels of each track, all rows at once; ns per pixel of a track. */
static double query_tracks(const struct data *d, const osc_lod *lod, double share,
                           osc_lod_pixel *pixels)
{
    osc_rng rng = {7};
    int64_t spent = 0;
    uint64_t cells = 0;
    for (int round = 0; round < 100 && (spent < 500000000 || round < 3); round++) {
        int64_t span = (int64_t)((double)d->end * share);
        span = span > PIXELS ? span : PIXELS;
        int64_t t0 = (int64_t)osc_rng_below(&rng, (uint64_t)(d->end - span) + 1);
        int64_t before = cpu_ns();
        for (uint32_t t = 0; t < d->tracks; t++) {
            if (!osc_lod_query_track(lod, t, t0, t0 + span, PIXELS, pixels))
                return -1;
            cells += PIXELS;
        }
        spent += cpu_ns() - before;
    }
    return (double)spent / (double)cells;
}

/* Counts the pixels of one track by going through all intervals; ns a cell, wrong cells in *wrong. */
static double brute(const struct data *d, const osc_lod *lod, uint32_t track, uint64_t *wrong,
                    osc_lod_pixel *pixels)
{
    static osc_lod_pixel want[PIXELS];
    int64_t before = cpu_ns(), step = d->end / PIXELS, span = step * PIXELS;
    for (uint32_t p = 0; p < PIXELS; p++)
        want[p] = (osc_lod_pixel){0, OSC_NO_ROW, 0};
    for (uint32_t i = 0; i < d->count; i++) {
        int64_t end = d->start[i] + d->dur[i];
        if (d->track[i] != track)
            continue;
        for (int64_t p = d->start[i] / step; p < PIXELS && p * step < end; p++) {
            want[p].count++;
            if (want[p].longest == OSC_NO_ROW || d->dur[i] > d->dur[want[p].longest])
                want[p].longest = i;
        }
    }
    double ns = (double)(cpu_ns() - before) / PIXELS;
    if (!osc_lod_query_track(lod, track, 0, span, PIXELS, pixels))
        return -1;
    for (uint32_t p = 0; p < PIXELS; p++)
        *wrong += pixels[p].count != want[p].count ||
                  (want[p].count > 0 && d->dur[pixels[p].longest] != d->dur[want[p].longest]);
    return ns;
}

static int measure(const struct data *d, uint32_t threads)
{
    static const double shares[] = {1.0, 0.1, 0.01, 0.0001, 0.000001};
    osc_lod_input in = {.start_ns = d->start,
                        .dur_ns = d->dur,
                        .track = d->track,
                        .count = d->count,
                        .tracks = d->tracks};
    static osc_lod_pixel pixels[PIXELS];
    osc_lod *lod = NULL;
    osc_err err = {0};
    uint64_t rows = 0, cells, wrong = 0;
    int64_t built = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t before = osc_mono_ns();
        osc_lod_free(lod);
        if (osc_lod_build(&in, threads, &lod, &err) != OSC_OK) {
            printf("lod: %s\n", err.message);
            return 1;
        }
        int64_t took = osc_mono_ns() - before;
        built = took < built ? took : built;
    }
    for (uint32_t t = 0; t < d->tracks; t++)
        rows += osc_lod_rows(lod, t);
    printf("%u intervals, %u tracks, %llu rows, %u threads\n", d->count, d->tracks,
           (unsigned long long)rows, threads);
    printf("  build          %8.2f ns an interval, %.2f bytes an interval\n",
           (double)built / d->count, (double)osc_lod_bytes(lod) / d->count);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double ns = query(d, lod, shares[i], &cells, pixels);
        double whole = query_tracks(d, lod, shares[i], pixels);
        printf("  window 1/%-7.0f %7.1f ns a pixel of a row, %7.1f ns a pixel of a track\n",
               1 / shares[i], ns, whole);
    }
    double ns = brute(d, lod, d->tracks - 1, &wrong, pixels);
    printf("  brute force    %8.1f ns a pixel of a track, %llu of %u pixels differ\n", ns,
           (unsigned long long)wrong, PIXELS);
    osc_lod_free(lod);
    return wrong > 0;
}

/* The slices of a file; reading is measured too. */
static int measure_file(const char *path, uint32_t threads)
{
    osc_open_options o = {.threads = threads};
    osc_store *store = NULL;
    osc_err err = {0};
    int64_t before = osc_mono_ns(), zero = INT64_MAX;
    if (osc_open(path, &o, &store, &err) != OSC_OK) {
        printf("lod: %s\n", err.message);
        return 1;
    }
    const osc_slice_cols *s = osc_store_slice(store);
    printf("read             %8.2f ns an interval\n",
           (double)(osc_mono_ns() - before) / (s->count > 0 ? s->count : 1));
    struct data d = {.start = s->start_ns,
                     .dur = s->dur_ns,
                     .track = s->track,
                     .count = s->count,
                     .tracks = osc_store_track(store)->count};
    for (uint32_t i = 0; i < d.count;
         i++) /* times from the first start on, as the made data has them */
        zero = d.start[i] < zero ? d.start[i] : zero;
    for (uint32_t i = 0; i < d.count; i++) {
        d.start[i] -= zero;
        d.end = d.start[i] + d.dur[i] > d.end ? d.start[i] + d.dur[i] : d.end;
    }
    int code = d.count > 0 ? measure(&d, threads) : 0;
    osc_store_free(store);
    return code;
}

int main(int argc, char **argv)
{
    if (argc > 1 && (argv[1][0] < '0' || argv[1][0] > '9'))
        return measure_file(argv[1], argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1);
    double millions = argc > 1 ? strtod(argv[1], NULL) : 10;
    uint32_t tracks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 64;
    uint32_t threads = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1;
    struct data d = {0};
    if (!(millions > 0 && millions < 4000) || tracks < 2 || tracks > 1000000)
        return 2;
    int code = 1;
    if (make_data(&d, (uint32_t)(millions * 1e6), tracks))
        code = measure(&d, threads);
    osc_free(d.start);
    osc_free(d.dur);
    osc_free(d.track);
    return code;
}
