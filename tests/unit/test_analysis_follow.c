/*
 * test_analysis_follow.c - which call, what belongs to it, by which link, and what it waited for.
 *
 * Stores are built row by row, so that no reader takes part. The queue of each kernel is compared
 * with the plain quadratic definition on random streams.
 */
#include "tap.h"

#include "base/rng.h"
#include "scope/analysis/follow.h"
#include "scope/store/store.h"

#include <stdio.h>

enum { MAIN = 0, AUTOGRAD, STREAM7, STREAM8, TRACKS };

static void add_tracks(osc_store *s)
{
    static const char *const lanes[TRACKS] = {"framework/TID:1", "framework/TID:2",
                                              "device:0/Stream:7", "device:0/Stream:8"};
    for (uint32_t i = 0; i < TRACKS; i++) {
        uint32_t lane = osc_store_intern(s, osc_str_from_cstr(lanes[i]));
        osc_track_row row = {.name = lane,
                             .lane = lane,
                             .thread = i,
                             .number = i,
                             .lane_kind = i < STREAM7 ? OSC_LANE_THREAD : OSC_LANE_DEVICE};
        (void)osc_store_add_track(s, &row);
    }
}

static uint32_t add(osc_store *s, uint32_t track, osc_slice_kind kind, const char *name,
                    int64_t start, int64_t dur, int64_t external_id, int64_t correlation)
{
    osc_slice_row row = {.start_ns = start,
                         .dur_ns = dur,
                         .external_id = external_id,
                         .correlation = correlation,
                         .name = osc_store_intern(s, osc_str_from_cstr(name)),
                         .track = track,
                         .kind = (uint8_t)kind,
                         .order = UINT32_MAX};
    return osc_store_add_slice(s, &row);
}

static void add_sequence(osc_store *s, uint32_t slice, int64_t sequence, int64_t fwd_thread)
{
    osc_sequence_row row = {.sequence = sequence, .fwd_thread = fwd_thread, .slice = slice};
    (void)osc_store_add_sequence(s, &row);
}

/* linear > t, addmm on the main thread, its backward on another; a kernel each; a launch outside
 * operators. */
static osc_store *training(void)
{
    osc_store *s = osc_store_new();
    osc_err err = {0};
    if (!s)
        return NULL;
    add_tracks(s);
    uint32_t linear = add(s, MAIN, OSC_KIND_CPU_OP, "aten::linear", 1000, 900, 1, 0);
    uint32_t t = add(s, MAIN, OSC_KIND_CPU_OP, "aten::t", 1010, 50, 2, 0);
    uint32_t addmm = add(s, MAIN, OSC_KIND_CPU_OP, "aten::addmm", 1100, 700, 3, 0);
    (void)add(s, MAIN, OSC_KIND_RUNTIME, "cudaLaunchKernel", 1200, 100, 3, 50);
    (void)add(s, STREAM7, OSC_KIND_KERNEL, "gemm", 1350, 400, 3, 50);
    uint32_t outer = add(s, AUTOGRAD, OSC_KIND_CPU_OP, "evaluate: AddmmBackward0", 3000, 500, 4, 0);
    uint32_t inner = add(s, AUTOGRAD, OSC_KIND_CPU_OP, "AddmmBackward0", 3000, 400, 5, 0);
    (void)add(s, AUTOGRAD, OSC_KIND_RUNTIME, "cudaLaunchKernel", 3100, 100, 5, 51);
    (void)add(s, STREAM7, OSC_KIND_KERNEL, "gemm_backward", 3150, 250, 5, 51);
    (void)add(s, MAIN, OSC_KIND_USER_ANNOTATION, "ProfilerStep#4", 900, 4000, 9, 0);
    (void)add(s, MAIN, OSC_KIND_RUNTIME, "cudaLaunchKernel", 4000, 100, 0, 52);
    (void)add(s, STREAM8, OSC_KIND_KERNEL, "late", 3990, 10, 0, 52);
    (void)add(s, STREAM8, OSC_KIND_KERNEL, "stray", 500, 10, 0, 7);
    add_sequence(s, linear, 5, 0);
    add_sequence(s, t, 5, 0);
    add_sequence(s, addmm, 5, 0);
    add_sequence(s, inner, 5, 1);
    add_sequence(s, outer, 5, 1);
    if (osc_store_seal(s, &err) != OSC_OK) {
        osc_store_free(s);
        return NULL;
    }
    return s;
}

static osc_table *follow(const osc_store *s, const osc_follow_options *options)
{
    osc_table *t = NULL;
    osc_err err = {0};
    osc_status status = osc_follow_call(s, options, &t, &err);
    TAP_OKF(status == OSC_OK, "follow: %s", err.message);
    return t;
}

static osc_table *follow_name(const osc_store *s, const char *name)
{
    osc_follow_options options = {.name = osc_str_from_cstr(name)};
    return follow(s, &options);
}

/* First row of a kind and name, UINT32_MAX none. */
static uint32_t row_of(const osc_table *t, const char *kind, const char *name)
{
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        if (osc_str_eq_cstr(osc_table_cell(t, r, OSC_FOLLOW_KIND).str, kind) &&
            osc_str_eq_cstr(osc_table_cell(t, r, OSC_FOLLOW_NAME).str, name))
            return r;
    }
    return UINT32_MAX;
}

static void check_partner(const osc_store *s, const char *name, const char *kind,
                          const char *partner, const char *detail)
{
    osc_table *t = follow_name(s, name);
    TAP_REQUIRE(t != NULL);
    uint32_t row = row_of(t, kind, partner);
    TAP_OKF(row != UINT32_MAX, "%s has no %s %s", name, kind, partner);
    if (row != UINT32_MAX)
        TAP_EQ_VIEW(osc_table_cell(t, row, OSC_FOLLOW_DETAIL).str, detail);
    osc_table_free(t);
}

/* By sequence number: the outermost backward operator; of the forward ones the last begun, which
 * made the node. */
static void test_partners(void)
{
    osc_store *s = training();
    TAP_REQUIRE(s != NULL);
    const char *back = "sequence 5; device 0.3 us in 1 piece",
               *forth = "sequence 5; device 0.4 us in 1 piece";
    check_partner(s, "aten::addmm", "backward", "evaluate: AddmmBackward0", back);
    check_partner(s, "aten::linear", "backward", "evaluate: AddmmBackward0", back);
    check_partner(s, "AddmmBackward0", "forward", "aten::addmm", forth);
    osc_table *t = follow_name(s, "aten::t"); /* has the number but made no node */
    TAP_REQUIRE(t != NULL);
    TAP_EQ_U64(osc_table_rows(t), 1);
    osc_table_free(t);
    osc_store_free(s);
}

static void check_link(const osc_store *s, const char *name, const char *kernel, const char *rule,
                       int64_t delay)
{
    osc_table *t = follow_name(s, name);
    TAP_REQUIRE(t != NULL);
    uint32_t row = row_of(t, "kernel", kernel);
    TAP_REQUIRE(row != UINT32_MAX);
    TAP_EQ_VIEW(osc_table_cell(t, row, OSC_FOLLOW_RULE).str, rule);
    TAP_EQ_I64(osc_table_cell(t, row, OSC_FOLLOW_DELAY_NS).i64, delay);
    osc_table_free(t);
}

/* Each way of linking says its name; delays are told as they are, negative ones too. */
static void test_links(void)
{
    osc_store *s = training();
    TAP_REQUIRE(s != NULL);
    check_link(s, "aten::linear", "gemm", "external id", 50);
    check_link(s, "AddmmBackward0", "gemm_backward", "external id", -50);
    check_link(s, "ProfilerStep*", "late", "correlation", -110);
    check_link(s, "late", "late", "correlation", -110); /* from below */
    check_link(s, "stray", "stray", "", 0);
    osc_table *t = follow_name(s, "ProfilerStep#4");
    TAP_REQUIRE(t != NULL);
    uint32_t call = row_of(t, "runtime", "cudaLaunchKernel");
    TAP_EQ_VIEW(osc_table_cell(t, call, OSC_FOLLOW_RULE).str, "external id");
    TAP_EQ_I64(osc_table_fact_i64(t, "total_ns"), 410); /* its own thread's: gemm and late */
    TAP_EQ_I64(osc_table_fact_i64(t, "launches"), 2);
    TAP_OK(row_of(t, "kernel", "stray") == UINT32_MAX);
    osc_table_free(t);
    osc_store_free(s);
}

static void check_found(const osc_store *s, const osc_follow_options *options, const char *name)
{
    osc_table *t = follow(s, options);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_VIEW(osc_table_fact_str(t, "name"), name);
    osc_table_free(t);
}

/* A call that begins after the time asked for, and says so. */
static void check_later(const osc_store *s, const osc_follow_options *options, const char *name,
                        int64_t later_ns)
{
    osc_table *t = follow(s, options);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_VIEW(osc_table_fact_str(t, "name"), name);
    TAP_EQ_I64(osc_table_fact_i64(t, "later_ns"), later_ns);
    TAP_OK(osc_str_find(osc_table_fact_str(t, "note"), OSC_STR("later")) != SIZE_MAX);
    osc_table_free(t);
}

static void check_refused(const osc_store *s, const osc_follow_options *options,
                          const char *message)
{
    osc_table *t = NULL;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_follow_call(s, options, &t, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, message);
    TAP_OK(t == NULL);
}

static void test_names(void)
{
    osc_store *s = training();
    TAP_REQUIRE(s != NULL);
    check_found(s, &(osc_follow_options){.name = OSC_STR("addmm")}, "aten::addmm");
    check_found(s, &(osc_follow_options){.name = OSC_STR("lin")}, "aten::linear");
    check_found(s, &(osc_follow_options){.name = OSC_STR("gemm")}, "gemm");
    check_found(s, &(osc_follow_options){.name = OSC_STR("ProfilerStep#4")}, "ProfilerStep#4");
    check_found(s, &(osc_follow_options){.by_time = true, .absolute = true, .at_ns = 1150},
                "aten::addmm");
    check_found(s, &(osc_follow_options){.by_time = true, .at_ns = 515},
                "aten::t"); /* from "stray", the first event */
    check_later(s, &(osc_follow_options){.by_time = true, .absolute = true, .at_ns = 3600},
                "cudaLaunchKernel", 400); /* not the step, which is around everything */
    check_later(s, &(osc_follow_options){.by_time = true, .at_ns = 0}, "aten::linear", 500);
    check_later(s, &(osc_follow_options){.name = OSC_STR("aten::t"), .by_time = true, .at_ns = 500},
                "aten::t", 10);
    check_found(s, &(osc_follow_options){.by_time = true, .absolute = true, .at_ns = 4500},
                "ProfilerStep*"); /* no call follows */
    check_found(s, &(osc_follow_options){.by_slice = true, .slice = 2}, "aten::addmm");
    check_refused(s, &(osc_follow_options){.name = OSC_STR("Addmm")},
                  "2 names have 'Addmm' in them: 'evaluate: AddmmBackward0', "
                  "'AddmmBackward0'");
    check_refused(s, &(osc_follow_options){.name = OSC_STR("aten::adddmm")},
                  "no operator 'aten::adddmm'; the nearest is 'aten::addmm'");
    check_refused(s, &(osc_follow_options){.name = OSC_STR("aten::t"), .nth = 2},
                  "there is only 1 call of 'aten::t', no call 2");
    check_refused(s,
                  &(osc_follow_options){.name = OSC_STR("aten::t"), .by_time = true, .at_ns = 9999},
                  "no call of 'aten::t' runs or begins after that time");
    check_refused(s, &(osc_follow_options){.by_slice = true, .slice = 99},
                  "slice 99 is no operator, range, runtime call or device work");
    check_refused(s, &(osc_follow_options){.by_time = true, .absolute = true, .at_ns = 9000},
                  "no operator or runtime call runs or begins after that time");
    osc_store_free(s);
}

/* ---- queues ---- */

#define PIECES 300u

static osc_store *random_streams(uint64_t seed)
{
    osc_store *s = osc_store_new();
    osc_err err = {0};
    osc_rng rng = {.state = seed};
    if (!s)
        return NULL;
    add_tracks(s);
    (void)add(s, MAIN, OSC_KIND_CPU_OP, "range", 0, 100000, 1, 0);
    for (uint32_t i = 0; i < PIECES; i++) {
        int64_t at = (int64_t)(osc_rng_next(&rng) % 5000),
                length = (int64_t)(osc_rng_next(&rng) % 200);
        bool ours = osc_rng_next(&rng) % 3 == 0;
        uint32_t stream = osc_rng_next(&rng) % 2 ? STREAM7 : STREAM8;
        if (ours)
            (void)add(s, MAIN, OSC_KIND_RUNTIME, "launch", at - 20 > 0 ? at - 20 : 0, 10, 1, i + 1);
        (void)add(s, stream, OSC_KIND_KERNEL, "k", at, length, ours ? 1 : 0, i + 1);
    }
    if (osc_store_seal(s, &err) != OSC_OK) {
        osc_store_free(s);
        return NULL;
    }
    return s;
}

/* The end of what began before a slice on its track and ended last; INT64_MIN none. */
static int64_t plain_free_ns(const osc_store *store, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(store);
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < s->count; i++) {
        bool before = s->start_ns[i] < s->start_ns[slice] ||
                      (s->start_ns[i] == s->start_ns[slice] && i < slice);
        if (s->track[i] == s->track[slice] && before && s->start_ns[i] + s->dur_ns[i] > last)
            last = s->start_ns[i] + s->dur_ns[i];
    }
    return last;
}

static void test_queues(void)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        osc_store *s = random_streams(seed);
        uint32_t kernels = 0;
        TAP_REQUIRE(s != NULL);
        const osc_slice_cols *slices = osc_store_slice(s);
        osc_table *t = follow_name(s, "range");
        TAP_REQUIRE(t != NULL);
        for (uint32_t r = 0; r < osc_table_rows(t); r++) {
            if (!osc_str_eq_cstr(osc_table_cell(t, r, OSC_FOLLOW_KIND).str, "kernel"))
                continue;
            uint32_t slice = (uint32_t)osc_table_cell(t, r, OSC_FOLLOW_SLICE).i64;
            uint32_t call = (uint32_t)osc_table_cell(t, r, OSC_FOLLOW_CALL).i64;
            int64_t start = slices->start_ns[slice], free_ns = plain_free_ns(s, slice);
            int64_t launched = slices->start_ns[call] + slices->dur_ns[call];
            int64_t until = free_ns < start ? free_ns : start;
            TAP_EQ_I64(osc_table_cell(t, r, OSC_FOLLOW_QUEUE_NS).i64,
                       until > launched ? until - launched : 0);
            TAP_EQ_I64(osc_table_cell(t, r, OSC_FOLLOW_GAP_NS).i64, free_ns == INT64_MIN ? -1
                                                                    : start > free_ns
                                                                        ? start - free_ns
                                                                        : 0);
            kernels++;
        }
        TAP_OKF(kernels > PIECES / 5, "only %u kernels of seed %llu", kernels,
                (unsigned long long)seed);
        osc_table_free(t);
        osc_store_free(s);
    }
}

/* One launch with many kernels is one row with them below it, in order of start. */
static void test_graph(void)
{
    osc_store *s = osc_store_new();
    osc_err err = {0};
    TAP_REQUIRE(s != NULL);
    add_tracks(s);
    (void)add(s, MAIN, OSC_KIND_RUNTIME, "cudaGraphLaunch", 100, 50, 0, 9);
    for (int64_t i = 0; i < 400; i++)
        (void)add(s, i % 2 ? STREAM8 : STREAM7, OSC_KIND_KERNEL, "node", 10000 - 20 * i, 10, 0, 9);
    TAP_EQ_STATUS(osc_store_seal(s, &err), OSC_OK);
    osc_table *t = follow_name(s, "cudaGraphLaunch");
    TAP_REQUIRE(t != NULL);
    uint32_t graph = row_of(t, "graph", "cudaGraphLaunch");
    TAP_REQUIRE(graph != UINT32_MAX);
    TAP_EQ_I64(osc_table_cell(t, graph, OSC_FOLLOW_START_NS).i64, 2020);
    TAP_EQ_I64(osc_table_cell(t, graph, OSC_FOLLOW_DUR_NS).i64, 7990);
    TAP_EQ_VIEW(osc_table_cell(t, graph, OSC_FOLLOW_DETAIL).str,
                "unlinked (graph); 400 pieces of device work, 4.0 us busy");
    TAP_EQ_U64(osc_table_rows(t), graph + 401);
    TAP_EQ_I64(osc_table_cell(t, graph + 1, OSC_FOLLOW_LEVEL).i64, 1);
    TAP_EQ_I64(osc_table_fact_i64(t, "total_ns"), 4000);
    TAP_EQ_I64(osc_table_fact_i64(t, "unlinked"), 400);
    osc_table_free(t);
    osc_store_free(s);
}

/* Calls without correlation numbers are paired with the device work of their operator in order. */
static void test_unnumbered_calls(void)
{
    osc_store *s = osc_store_new();
    osc_err err = {0};
    TAP_REQUIRE(s != NULL);
    add_tracks(s);
    (void)add(s, MAIN, OSC_KIND_CPU_OP, "aten::copy_", 0, 1000, 1, 0);
    (void)add(s, MAIN, OSC_KIND_RUNTIME, "nrta_tensor_write", 100, 10, 1, 0);
    (void)add(s, MAIN, OSC_KIND_RUNTIME, "nrta_execute_schedule", 200, 10, 1, 0);
    (void)add(s, STREAM7, OSC_KIND_MEMCPY, "first", 500, 10, 1, 71);
    (void)add(s, STREAM7, OSC_KIND_KERNEL, "second", 600, 10, 1, 72);
    (void)add(s, STREAM7, OSC_KIND_KERNEL, "third", 700, 10, 1, 73);
    TAP_EQ_STATUS(osc_store_seal(s, &err), OSC_OK);
    osc_table *t = follow_name(s, "aten::copy_");
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(osc_table_cell(t, row_of(t, "copy", "first"), OSC_FOLLOW_CALL).i64, 1);
    TAP_EQ_I64(osc_table_cell(t, row_of(t, "copy", "first"), OSC_FOLLOW_DELAY_NS).i64, 390);
    TAP_EQ_I64(osc_table_cell(t, row_of(t, "kernel", "second"), OSC_FOLLOW_CALL).i64, 2);
    TAP_EQ_I64(osc_table_cell(t, row_of(t, "kernel", "third"), OSC_FOLLOW_CALL).i64, -1);
    osc_table_free(t);
    osc_store_free(s);
}

/* ---- out of memory ---- */

static bool survives(void *context)
{
    const osc_store *s = context;
    osc_table *t = NULL;
    osc_err err = {0};
    osc_follow_options options = {.name = OSC_STR("ProfilerStep*"), .frames = true};
    osc_status status = osc_follow_call(s, &options, &t, &err);
    bool right = status == OSC_OK ? t != NULL : status == OSC_ENOMEM && t == NULL;
    osc_table_free(t);
    return right;
}

static void test_no_memory(void)
{
    osc_store *s = training();
    TAP_REQUIRE(s != NULL);
    TAP_OK(tap_oom_sweep(survives, s, 2000));
    osc_store_free(s);
}

int main(void)
{
    TAP_RUN(test_partners);
    TAP_RUN(test_links);
    TAP_RUN(test_names);
    TAP_RUN(test_queues);
    TAP_RUN(test_graph);
    TAP_RUN(test_unnumbered_calls);
    TAP_RUN(test_no_memory);
    return tap_done();
}
