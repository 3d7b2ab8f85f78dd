/*
 * analysis_bench.c - processor seconds of each analysis per 10 million events, once a trace is loaded.
 *
 *     analysis_bench [FILE]         prints one JSON object; without FILE a store of 3 million events
 *
 * Each analysis starts from the sealed store, so building the structure of calls is inside each figure. Best of
 * three.
 */
#include "base/mem.h"
#include "scope/analysis/follow.h"
#include "scope/analysis/idle.h"
#include "scope/analysis/path.h"
#include "scope/analysis/steps.h"
#include "scope/analysis/table.h"
#include "scope/read/open.h"
#include "scope/store/store.h"

#include <stdio.h>
#include <time.h>

#define ROUNDS 3
#define OPS    1000000u

/* One thread, one stream: operators that launch one kernel each, a thousand to a step. */
static void add_events(osc_store *s)
{
    uint32_t op = osc_store_intern(s, OSC_STR("aten::mm")),
             call = osc_store_intern(s, OSC_STR("cudaLaunchKernel"));
    uint32_t kernel = osc_store_intern(s, OSC_STR("gemm"));
    for (uint32_t i = 0; i < OPS; i++) {
        int64_t at = (int64_t)i * 10000;
        osc_slice_row row = {.start_ns = at,
                             .dur_ns = 9000,
                             .external_id = i + 1,
                             .name = op,
                             .order = i,
                             .kind = OSC_KIND_CPU_OP};
        if (i % 1000 == 0) {
            char name[32];
            osc_slice_row step = row;
            (void)snprintf(name, sizeof name, "ProfilerStep#%u", i / 1000);
            step.name = osc_store_intern(s, osc_str_from_cstr(name));
            step.kind = OSC_KIND_USER_ANNOTATION;
            step.dur_ns = 1000 * 10000;
            step.external_id = OPS + 1 + i;
            (void)osc_store_add_slice(s, &step);
        }
        (void)osc_store_add_slice(s, &row);
        row.start_ns = at + 1000;
        row.dur_ns = 4000;
        row.correlation = i + 1;
        row.name = call;
        row.kind = OSC_KIND_RUNTIME;
        (void)osc_store_add_slice(s, &row);
        row.start_ns = at + 7000;
        row.name = kernel;
        row.kind = OSC_KIND_KERNEL;
        row.track = 1;
        (void)osc_store_add_slice(s, &row);
    }
}

static osc_status make_store(osc_store **out, osc_err *err)
{
    osc_store *s = osc_store_new();
    *out = NULL;
    if (!s)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    for (uint32_t i = 0; i < 2; i++) {
        osc_track_row track = {.thread = i, .lane_kind = i ? OSC_LANE_DEVICE : OSC_LANE_THREAD};
        (void)osc_store_add_track(s, &track);
    }
    add_events(s);
    osc_status status = osc_store_seal(s, err);
    if (status == OSC_OK)
        *out = s;
    else
        osc_store_free(s);
    return status;
}

/* ---- the analyses ---- */

/* An operator in the middle of the file. */
static osc_status run_follow(const osc_store *s, osc_table **out, osc_err *err)
{
    const osc_slice_cols *slices = osc_store_slice(s);
    osc_follow_options options = {.by_slice = true, .slice = slices->count / 4, .threads = 1};
    while (options.slice + 1 < slices->count && slices->kind[options.slice] != OSC_KIND_CPU_OP)
        options.slice++;
    return osc_follow_call(s, &options, out, err);
}

static osc_status run_steps(const osc_store *s, osc_table **out, osc_err *err)
{
    osc_steps_options options = {0};
    return osc_steps_table(s, &options, out, err);
}

static osc_status run_idle(const osc_store *s, osc_table **out, osc_err *err)
{
    osc_idle_options options = {.by = OSC_IDLE_BY_CAUSE, .limit = -1};
    return osc_idle_table(s, &options, out, err);
}

static osc_status run_path(const osc_store *s, osc_table **out, osc_err *err)
{
    osc_path_options options = {.step = -1, .limit = -1};
    return osc_path_table(s, &options, out, err);
}

static const struct {
    const char *name;
    osc_status (*run)(const osc_store *store, osc_table **out, osc_err *err);
} analyses[] = {
    {"follow", run_follow},
    {"steps", run_steps},
    {"idle", run_idle},
    {"path", run_path},
};

/* Best of several runs in seconds of processor time, all threads; negative when it failed. */
static double best_seconds(const osc_store *s, size_t which)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        osc_table *table = NULL;
        osc_err err = {0};
        clock_t start = clock();
        osc_status status = analyses[which].run(s, &table, &err);
        double took = (double)(clock() - start) / CLOCKS_PER_SEC;
        osc_table_free(table);
        if (status != OSC_OK) {
            fprintf(stderr, "analysis_bench: %s: %s\n", analyses[which].name, err.message);
            return -1;
        }
        best = took < best ? took : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    osc_open_options open = {.threads = 1};
    osc_store *s = NULL;
    osc_err err = {0};
    int code = 0;
    osc_status status = argc > 1 ? osc_open(argv[1], &open, &s, &err) : make_store(&s, &err);
    if (status != OSC_OK) {
        fprintf(stderr, "analysis_bench: %s\n", err.message);
        return 1;
    }
    uint32_t events = osc_store_slice(s)->count;
    printf("{\"events\": %u, \"seconds_per_10m\": {", events);
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++) {
        double seconds = best_seconds(s, i);
        code |= seconds < 0;
        printf("%s\"%s\": %.4f", i ? ", " : "", analyses[i].name, seconds * 1e7 / (double)events);
    }
    printf("}}\n");
    osc_store_free(s);
    return code;
}
