/*
 * test_analysis_steps.c - figures of steps: by hand, and against a reference that looks at every
 * instant. Letters are entries of known-bad-inputs.md.
 */
#include "timeline_support.h"

#include "scope/analysis/steps.h"

static osc_table *table_of(timeline *t)
{
    static const osc_steps_options options = {0};
    osc_table *table = NULL;
    osc_err err = {0};
    osc_status status = osc_steps_table(t->store, &options, &table, &err);
    tap_check(status == OSC_OK, __FILE__, __LINE__, "steps: %s", err.message);
    return table;
}

static int64_t figure(const osc_table *t, uint32_t row, const char *column)
{
    uint32_t c = osc_table_find(t, column);
    if (!tap_check(c != UINT32_MAX, __FILE__, __LINE__, "no column %s", column))
        return INT64_MIN;
    return osc_table_cell(t, row, c).i64;
}

static osc_str word(const osc_table *t, uint32_t row, const char *column)
{
    return osc_table_cell(t, row, osc_table_find(t, column)).str;
}

static void check(const osc_table *t, uint32_t row, const char *const columns[],
                  const int64_t *want, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t got = figure(t, row, columns[i]);
        TAP_OKF(got == want[i], "row %u %s is %lld, not %lld", row, columns[i], (long long)got,
                (long long)want[i]);
    }
}

/*
 *     step 4   0 ....................... 100     launches gemm, all-reduce, copy
 *     step 5                             100 ......................... 200
 *     stream 7        gemm [20, 60]           gemm [110, 150]
 *     stream 8            nccl [40, 90]                    copy [145, 160]
 */
static void test_by_hand(void)
{
    timeline t = tl_new();
    tl_step(&t, "ProfilerStep#4", 0, 100);
    tl_step(&t, "ProfilerStep#5", 100, 200);
    tl_add(&t, OSC_KIND_GPU_ANNOTATION, "ProfilerStep#4", 2, 20, 90, 0); /* R09: not a step */
    tl_op(&t, "aten::mm", 0, 2, 18);
    tl_call(&t, "cudaLaunchKernel", 0, 10, 14, 1);
    tl_call(&t, "cudaLaunchKernel", 1, 30, 32, 2); /* another thread of the process */
    tl_call(&t, "cudaLaunchKernel", 0, 95, 98, 3); /* runs in step 5, belongs to step 4 */
    tl_call(&t, "cudaMemcpyAsync", 0, 120, 124, 4);
    tl_call(&t, "cudaDeviceSynchronize", 0, 130, 165, 0);
    tl_call(&t, "cudaLaunchKernel", 0, 180, 182, 5); /* its work is missing */
    tl_work(&t, "gemm", 7, 20, 60, 1);
    tl_work(&t, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 8, 40, 90, 2);
    tl_work(&t, "gemm", 7, 110, 150, 3);
    tl_work(&t, "Memcpy DtoH (Device -> Pinned)", 8, 145, 160, 4);
    TAP_REQUIRE(tl_seal(&t));
    osc_table *table = table_of(&t);
    TAP_REQUIRE(table && osc_table_rows(table) == 2);
    TAP_EQ_VIEW(word(table, 0, "step"), "ProfilerStep#4");
    static const char *const columns[] = {
        "wall_ns",        "busy_ns",         "idle_ns",       "idle_no_launch_ns",
        "idle_launch_ns", "idle_sync_ns",    "idle_queue_ns", "idle_edge_ns",
        "work_ns",        "compute_ns",      "comm_ns",       "exposed_comm_ns",
        "copy_ns",        "exposed_copy_ns", "kernels",       "copies",
        "collectives",    "launches",        "ops",           "host_op_ns",
        "host_call_ns",   "host_sync_ns",    "host_other_ns", "work_end_ns"};
    /* 4: idle [0, 10) unlaunched, [10, 20) launch, [90, 95) unlaunched, [95, 100) launch.
     * Work: gemm 20-60, nccl 40-90, gemm 110-150: compute 80, comm 50, exposed 30. */
    static const int64_t four[] = {100, 70, 30, 15, 15, 0, 0, 0,  110, 80, 50, 30,
                                   0,   0,  2,  0,  1,  3, 1, 12, 7,   0,  81, 150};
    check(table, 0, columns, four, 24);
    /* 5: idle [100, 110) launch, [160, 200) edge; the thread waits [130, 165). */
    static const int64_t five[] = {100, 50, 50, 0, 10, 0, 0, 40, 15, 0,  0,  0,
                                   15,  15, 0,  1, 0,  2, 0, 0,  6,  35, 59, 160};
    check(table, 1, columns, five, 24);
    TAP_EQ_VIEW(word(table, 0, "cut"), "");
    TAP_EQ_VIEW(word(table, 1, "cut"), "work missing");
    TAP_EQ_I64(osc_table_fact_i64(table, "steps"), 2);
    TAP_EQ_I64(osc_table_fact_i64(table, "outside"), 0);
    osc_table_free(table);
    tl_free(&t);
}

/* Overlapping steps share no launch; a range given twice counts once; unlaunched work and open
 * steps are told. */
static void test_odd_steps(void)
{
    timeline t = tl_new();
    tl_step(&t, "ProfilerStep#1", 0, 50);
    tl_step(&t, "ProfilerStep#2", 40, 90); /* adjust_profiler_step */
    tl_step(&t, "ProfilerStep#2", 41, 90); /* R09 */
    osc_slice_row open = {.start_ns = 90,
                          .dur_ns = 30,
                          .name = osc_store_intern(t.store, OSC_STR("ProfilerStep#3")),
                          .order = 9,
                          .kind = OSC_KIND_USER_ANNOTATION,
                          .flags = OSC_SLICE_UNFINISHED};
    osc_store_add_slice(t.store, &open);
    tl_call(&t, "cudaLaunchKernel", 0, 42, 44, 1);
    tl_call(&t, "cudaLaunchKernel", 0, 5, 6, 2);
    tl_work(&t, "a", 7, 45, 60, 1);
    tl_work(&t, "b", 7, 10, 20, 2);
    tl_work(&t, "before", 7, 0, 5, 77); /* R16 */
    TAP_REQUIRE(tl_seal(&t));
    osc_table *table = table_of(&t);
    TAP_REQUIRE(table && osc_table_rows(table) == 3);
    TAP_EQ_I64(figure(table, 0, "work_ns"), 10);
    TAP_EQ_I64(figure(table, 1, "work_ns"), 15);
    TAP_EQ_I64(figure(table, 0, "launches"), 1);
    TAP_EQ_I64(figure(table, 1, "launches"), 1);
    TAP_EQ_VIEW(word(table, 0, "cut"), "work from before");
    TAP_EQ_VIEW(word(table, 2, "cut"), "unfinished");
    TAP_EQ_I64(osc_table_fact_i64(table, "repeated"), 1);
    TAP_EQ_I64(osc_table_fact_i64(table, "outside"), 1);
    TAP_EQ_I64(osc_table_fact_i64(table, "median_wall_ns"), 50);
    osc_table_free(table);
    tl_free(&t);
}

/* No steps: the whole capture, and why. No device either: host columns only. */
static void test_without_steps(void)
{
    timeline t = tl_new();
    tl_op(&t, "aten::add", 0, 10, 40);
    tl_op(&t, "aten::mul", 1, 50, 60);
    TAP_REQUIRE(tl_seal(&t));
    osc_table *table = table_of(&t);
    TAP_REQUIRE(table && osc_table_rows(table) == 1);
    TAP_EQ_VIEW(word(table, 0, "step"), "whole capture");
    TAP_EQ_I64(figure(table, 0, "wall_ns"), 50);
    TAP_EQ_I64(figure(table, 0, "ops"), 2);
    TAP_EQ_I64(figure(table, 0, "host_op_ns"), 30);
    TAP_EQ_I64(figure(table, 0, "host_other_ns"), 20);
    TAP_EQ_I64(osc_table_fact_i64(table, "steps"), 0);
    TAP_OK(osc_str_starts(osc_table_footer(table, 0), OSC_STR("no ProfilerStep#")));
    osc_table_free(table);
    tl_free(&t);
    t = tl_new();
    TAP_REQUIRE(tl_seal(&t));
    table = table_of(&t); /* an empty capture */
    TAP_REQUIRE(table && osc_table_rows(table) == 1);
    TAP_EQ_I64(figure(table, 0, "wall_ns"), 0);
    osc_table_free(table);
    tl_free(&t);
}

/* ---- against every instant ---- */

enum { STEPS = 3 };
static const int64_t step_of[STEPS][2] = {{10, 150}, {140, 260}, {270, 390}};

static int step_at(int64_t time)
{
    for (int k = STEPS - 1; k >= 0; k--) {
        if (time >= step_of[k][0] && time < step_of[k][1])
            return k;
    }
    return -1;
}

static uint32_t launcher(const osc_slice_cols *s, uint32_t item)
{
    for (uint32_t i = 0; i < s->count && s->correlation[item] != 0; i++) {
        if (s->kind[i] == OSC_KIND_RUNTIME && s->correlation[i] == s->correlation[item])
            return i;
    }
    return OSC_NO_ROW;
}

/* Bits of what runs at an instant: 1 compute, 2 collective, 4 copy; of one step, or (-1) of all. */
static int running(const osc_store *store, int step, int64_t at)
{
    const osc_slice_cols *s = osc_store_slice(store);
    int bits = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        bool item = s->kind[i] >= OSC_KIND_KERNEL && s->kind[i] <= OSC_KIND_MEMSET;
        if (!item || at < s->start_ns[i] || at >= s->start_ns[i] + s->dur_ns[i])
            continue;
        uint32_t launch = launcher(s, i);
        if (step >= 0 && (launch == OSC_NO_ROW || step_at(s->start_ns[launch]) != step))
            continue;
        osc_str name = osc_store_text(store, s->name[i]);
        bits |= osc_str_starts(name, OSC_STR("nccl")) ? 2 : s->kind[i] == OSC_KIND_KERNEL ? 1 : 4;
    }
    return bits;
}

static void check_random(const timeline *t, const osc_table *table, uint32_t k)
{
    static const char *const columns[] = {"work_ns",         "compute_ns", "comm_ns",
                                          "exposed_comm_ns", "copy_ns",    "exposed_copy_ns",
                                          "busy_ns"};
    int64_t want[7] = {0};
    for (int64_t at = -10; at < 500; at++) {
        int bits = running(t->store, (int)k, at);
        want[0] += bits != 0;
        want[1] += (bits & 1) != 0;
        want[2] += (bits & 2) != 0;
        want[3] += (bits & 3) == 2;
        want[4] += (bits & 4) != 0;
        want[5] += bits == 4;
        want[6] += at >= step_of[k][0] && at < step_of[k][1] && running(t->store, -1, at) != 0;
    }
    check(table, k, columns, want, 7);
}

static void test_random(void)
{
    osc_rng rng = {19};
    for (int round = 0; round < 25; round++) {
        timeline t = tl_random(&rng, true);
        TAP_REQUIRE(tl_seal(&t));
        osc_table *table = table_of(&t);
        TAP_REQUIRE(table && osc_table_rows(table) == STEPS);
        for (uint32_t k = 0; k < STEPS; k++) {
            check_random(&t, table, k);
            int64_t host = figure(table, k, "host_op_ns") + figure(table, k, "host_call_ns") +
                           figure(table, k, "host_sync_ns") + figure(table, k, "host_other_ns");
            TAP_EQ_I64(host, figure(table, k, "wall_ns"));
            TAP_EQ_I64(figure(table, k, "busy_ns") + figure(table, k, "idle_ns"),
                       figure(table, k, "wall_ns"));
            TAP_EQ_I64(figure(table, k, "compute_ns") + figure(table, k, "exposed_comm_ns") +
                           figure(table, k, "exposed_copy_ns"),
                       figure(table, k, "work_ns"));
        }
        osc_table_free(table);
        tl_free(&t);
    }
}

static bool build_table(void *context)
{
    static const osc_steps_options options = {0};
    osc_table *table = NULL;
    osc_err err = {0};
    osc_status status = osc_steps_table(context, &options, &table, &err);
    bool right = status == OSC_OK ? table != NULL : status == OSC_ENOMEM && table == NULL;
    osc_table_free(table);
    return right;
}

static void test_out_of_memory(void)
{
    osc_rng rng = {5};
    timeline t = tl_random(&rng, true);
    TAP_REQUIRE(tl_seal(&t));
    TAP_OK(tap_oom_sweep(build_table, t.store, 2000));
    tl_free(&t);
}

int main(void)
{
    TAP_RUN(test_by_hand);
    TAP_RUN(test_odd_steps);
    TAP_RUN(test_without_steps);
    TAP_RUN(test_random);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
