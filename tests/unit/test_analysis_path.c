/*
 * test_analysis_path.c - the critical path: each kind of edge on a timeline drawn by hand, then
 * what must hold on random ones. Letters are entries of known-bad-inputs.md.
 */
#include "timeline_support.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "scope/analysis/path_internal.h"
#include "scope/read/open.h"

struct want {
    int64_t start, end;
    const char *kind;
    const char *name; /* of its slice; "" none */
};

/* The graph and the path of a step; index counts in order of start. */
struct found {
    osc_steps steps;
    path_graph graph;
    path_walk walk;
};

static bool find_opened(timeline *t, uint32_t step, struct found *f)
{
    osc_err err = {0};
    memset(f, 0, sizeof *f);
    return tap_check(osc_steps_find(&t->busy, &f->steps, &err) == OSC_OK && step < f->steps.count &&
                         path_graph_build(&t->busy, &f->steps, &f->steps.items[step], OSC_NO_ROW,
                                          &f->graph, &err) == OSC_OK &&
                         path_walk_back(&f->graph, &f->walk, &err) == OSC_OK,
                     __FILE__, __LINE__, "path: %s", err.message);
}

static bool find(timeline *t, uint32_t step, struct found *f)
{
    return tl_open(t) && find_opened(t, step, f);
}

static void release(timeline *t, struct found *f)
{
    osc_free(f->walk.segments);
    path_graph_free(&f->graph);
    osc_steps_free(&f->steps);
    tl_free(t);
}

static void check(const timeline *t, const struct found *f, const struct want *want, uint32_t n)
{
    const osc_slice_cols *s = osc_store_slice(t->store);
    TAP_EQ_U64(f->walk.count, n);
    for (uint32_t i = 0; i < n && i < f->walk.count; i++) {
        const path_segment *p = &f->walk.segments[i];
        TAP_EQ_I64(p->start_ns, want[i].start);
        TAP_EQ_I64(p->end_ns, want[i].end);
        TAP_EQ_STR(osc_path_kind_name((osc_path_kind)p->kind), want[i].kind);
        osc_str name =
            p->slice == OSC_NO_ROW ? (osc_str){0} : osc_store_text(t->store, s->name[p->slice]);
        TAP_EQ_VIEW(name, want[i].name);
    }
}

/* What the step gains without a contributor; name NULL: the kind has none. */
static int64_t gain(const timeline *t, const struct found *f, osc_path_kind kind, const char *name)
{
    int64_t ns = -1;
    osc_err err = {0};
    path_who who = {(uint8_t)kind, OSC_NO_ROW};
    if (name)
        who.name = osc_store_lookup(t->store, osc_str_from_cstr(name));
    TAP_EQ_STATUS(path_gains(&f->graph, &who, 1, &ns, &err), OSC_OK);
    return ns;
}

/* Launch, work, and a wait for it. */
static void test_wait(void)
{
    timeline t = tl_new();
    struct found f;
    tl_step(&t, "ProfilerStep#1", 0, 100);
    tl_op(&t, "aten::mm", 0, 2, 28);
    tl_call(&t, "cudaLaunchKernel", 0, 10, 14, 1);
    tl_call(&t, "cudaDeviceSynchronize", 0, 30, 66, 0);
    tl_work(&t, "gemm", 7, 20, 60, 1);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {
        {0, 2, "other", "ProfilerStep#1"},         {2, 10, "host", "aten::mm"},
        {10, 20, "launch", "cudaLaunchKernel"},    {20, 60, "kernel", "gemm"},
        {60, 66, "sync", "cudaDeviceSynchronize"}, {66, 100, "other", "ProfilerStep#1"},
    };
    check(&t, &f, want, 6);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_KERNEL, "gemm"), 36); /* the wait still begins at 30 */
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_SYNC, "cudaDeviceSynchronize"), 6);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_LAUNCH, "cudaLaunchKernel"), 10);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_HOST, "aten::mm"), 8);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_OTHER, NULL), 36); /* 2 before, 34 after */
    release(&t, &f);
}

/* A host that waits for nothing is its own path, whatever the device does. */
static void test_host_bound(void)
{
    timeline t = tl_new();
    struct found f;
    tl_step(&t, "ProfilerStep#1", 0, 50);
    tl_op(&t, "aten::mm", 0, 0, 50);
    tl_call(&t, "cudaLaunchKernel", 0, 10, 14, 1);
    tl_work(&t, "gemm", 7, 20, 90, 1);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {{0, 10, "host", "aten::mm"},
                                       {10, 14, "host", "cudaLaunchKernel"},
                                       {14, 50, "host", "aten::mm"}};
    check(&t, &f, want, 3);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_KERNEL, "gemm"), 0);
    release(&t, &f);
}

/* Order of a stream, overlap within it (N02), and work that was there before the step. */
static void test_stream(void)
{
    timeline t = tl_new();
    struct found f;
    tl_step(&t, "ProfilerStep#1", 10, 100);
    tl_call(&t, "cudaLaunchKernel", 0, 12, 14, 1);
    tl_call(&t, "cudaLaunchKernel", 0, 15, 17, 2);
    tl_call(&t, "cudaLaunchKernel", 0, 18, 20, 3);
    tl_call(&t, "cudaStreamSynchronize", 0, 22, 92, 0);
    tl_work(&t, "old", 7, 0, 30, 99);
    tl_work(&t, "a", 7, 33, 50, 1);
    tl_work(&t, "b", 7, 48, 70, 2);
    tl_work(&t, "c", 7, 71, 90, 3);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {{10, 30, "kernel", "old"},
                                       {30, 33, "queue", "a"},
                                       {33, 48, "kernel", "a"},
                                       {48, 70, "kernel", "b"},
                                       {70, 71, "queue", "c"},
                                       {71, 90, "kernel", "c"},
                                       {90, 92, "sync", "cudaStreamSynchronize"},
                                       {92, 100, "other", "ProfilerStep#1"}};
    check(&t, &f, want, 8);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_KERNEL, "a"), 15); /* b may not pass it */
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_QUEUE, NULL), 4);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_KERNEL, "c"), 19);
    release(&t, &f);
}

/* A copy that its own call waits for, on another stream than later work. */
static void test_copy(void)
{
    timeline t = tl_new();
    struct found f;
    tl_step(&t, "ProfilerStep#1", 0, 60);
    tl_call(&t, "cudaLaunchKernel", 0, 2, 3, 1);
    tl_call(&t, "cudaMemcpyAsync", 0, 10, 40, 2);
    tl_work(&t, "gemm", 7, 4, 39, 1);
    tl_work(&t, "Memcpy DtoH (Device -> Pageable)", 8, 12, 35, 2);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {{0, 2, "other", "ProfilerStep#1"},
                                       {2, 3, "host", "cudaLaunchKernel"},
                                       {3, 10, "other", "ProfilerStep#1"},
                                       {10, 12, "launch", "cudaMemcpyAsync"},
                                       {12, 35, "copy", "Memcpy DtoH (Device -> Pageable)"},
                                       {35, 40, "sync", "cudaMemcpyAsync"},
                                       {40, 60, "other", "ProfilerStep#1"}};
    check(&t, &f, want, 7);
    release(&t, &f);
}

/* A collective that was queued while another stream computed, and began when that was done. */
static void test_collective(void)
{
    timeline t = tl_new();
    struct found f;
    tl_step(&t, "ProfilerStep#1", 0, 100);
    tl_call(&t, "cudaLaunchKernel", 0, 2, 4, 1);
    tl_call(&t, "cudaLaunchKernel", 0, 5, 7, 2);
    tl_call(&t, "cudaDeviceSynchronize", 0, 10, 95, 0);
    tl_work(&t, "gemm", 7, 8, 50, 1);
    tl_work(&t, "ncclDevKernel_AllReduce", 8, 52, 94, 2);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {{0, 2, "other", "ProfilerStep#1"},
                                       {2, 8, "launch", "cudaLaunchKernel"},
                                       {8, 50, "kernel", "gemm"},
                                       {50, 52, "queue", "ncclDevKernel_AllReduce"},
                                       {52, 94, "comm", "ncclDevKernel_AllReduce"},
                                       {94, 95, "sync", "cudaDeviceSynchronize"},
                                       {95, 100, "other", "ProfilerStep#1"}};
    check(&t, &f, want, 7);
    TAP_EQ_U64(f.graph.inferred, 1);
    /* without gemm the collective is held by its own launch, which was done at 7 */
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_KERNEL, "gemm"), 42);
    release(&t, &f);
}

/* To autograd's thread and back. */
static void test_backward(void)
{
    timeline t = tl_new();
    struct found f;
    tl_step(&t, "ProfilerStep#1", 0, 100);
    tl_op(&t, "aten::forward", 0, 0, 20);
    tl_op(&t, "autograd::engine::evaluate_function: MulBackward0", 1, 25, 40);
    tl_op(&t, "autograd::engine::evaluate_function: MmBackward0", 1, 45, 70);
    tl_op(&t, "aten::optimizer", 0, 80, 95);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {
        {0, 20, "host", "aten::forward"},
        {20, 25, "other", "ProfilerStep#1"},
        {25, 40, "host", "autograd::engine::evaluate_function: MulBackward0"},
        {40, 45, "other", ""},
        {45, 70, "host", "autograd::engine::evaluate_function: MmBackward0"},
        {70, 80, "other", "ProfilerStep#1"},
        {80, 95, "host", "aten::optimizer"},
        {95, 100, "other", "ProfilerStep#1"},
    };
    check(&t, &f, want, 8);
    TAP_EQ_I64(gain(&t, &f, OSC_PATH_HOST, "autograd::engine::evaluate_function: MmBackward0"), 25);
    release(&t, &f);
}

/* T09: work before its launch; R16: no launch at all; both without a gap in the path. */
static void test_odd_launches(void)
{
    timeline t = tl_new();
    struct found f;
    tl_step(&t, "ProfilerStep#1", 0, 100);
    tl_op(&t, "aten::mm", 0, 0, 20);
    tl_call(&t, "cuLaunchKernelEx", 0, 30, 35, 1);
    tl_call(&t, "cudaDeviceSynchronize", 0, 40, 100, 0);
    tl_work(&t, "early", 7, 29, 98, 1);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {{0, 29, "unknown", "early"},
                                       {29, 98, "kernel", "early"},
                                       {98, 100, "sync", "cudaDeviceSynchronize"}};
    check(&t, &f, want, 3);
    release(&t, &f);
}

/* Without steps the path ends with the last work, on the device too. */
static void test_whole(void)
{
    timeline t = tl_new();
    struct found f;
    tl_op(&t, "aten::mm", 0, 0, 20);
    tl_call(&t, "cudaLaunchKernel", 0, 10, 12, 1);
    tl_work(&t, "gemm", 7, 15, 50, 1);
    TAP_REQUIRE(find(&t, 0, &f));
    static const struct want want[] = {{0, 10, "host", "aten::mm"},
                                       {10, 15, "launch", "cudaLaunchKernel"},
                                       {15, 50, "kernel", "gemm"}};
    check(&t, &f, want, 3);
    release(&t, &f);
}

/* ---- sync rows: in a file, since their numbers are in its arguments ---- */

#define X(cat, name, pid, tid, ts, dur, args)                                                \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}}"

/* `waits` is on stream 20, told to wait for what was on stream 7 when the event was recorded:
 * `first`. */
static const char *const sync_events[] = {
    X("user_annotation", "ProfilerStep#1", 9, 9, 0, 100, ""),
    X("cuda_runtime", "cudaLaunchKernel", 9, 9, 2, 1, "\"correlation\":1"),
    X("cuda_runtime", "cudaEventRecord", 9, 9, 4, 1, "\"correlation\":2"),
    X("cuda_runtime", "cudaLaunchKernel", 9, 9, 6, 1, "\"correlation\":3"),
    X("cuda_runtime", "cudaStreamWaitEvent", 9, 9, 8, 1, "\"correlation\":4"),
    X("cuda_runtime", "cudaLaunchKernel", 9, 9, 10, 1, "\"correlation\":5"),
    X("cuda_runtime", "cudaStreamSynchronize", 9, 9, 12, 83, "\"correlation\":6"),
    X("kernel", "first", 0, 7, 12, 28, "\"correlation\":1,\"stream\":7"),
    X("kernel", "longer", 0, 7, 40, 52, "\"correlation\":3,\"stream\":7"),
    X("kernel", "waits", 0, 20, 42, 48, "\"correlation\":5,\"stream\":20"),
    X("cuda_sync", "Stream Wait Event", 0, 20, 8, 1,
      "\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":2,\"stream\":20,\"correlation\":"
      "4"),
    X("cuda_sync", "Stream Sync", 0, 20, 12, 83, "\"stream\":20,\"correlation\":6"),
};

/* Opens a file with these events. */
static bool open_events(timeline *t, const char *const *events, size_t n)
{
    char path[512];
    osc_err err = {0};
    osc_open_options open = {.threads = 1};
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "{\"traceEvents\":[");
    for (size_t i = 0; i < n; i++) {
        osc_buf_cstr(&text, i > 0 ? "," : "");
        osc_buf_cstr(&text, events[i]);
    }
    osc_buf_cstr(&text, "]}");
    snprintf(path, sizeof path, "%s/sync.json", tap_tmpdir());
    bool ok = osc_write_file_atomic(path, text.data, text.len, &err) == OSC_OK &&
              osc_open(path, &open, &t->store, &err) == OSC_OK &&
              osc_busy_open(t->store, &t->calls, &t->busy, &err) == OSC_OK;
    osc_buf_free(&text);
    return tap_check(ok, __FILE__, __LINE__, "opened: %s", err.message);
}

static void test_sync_rows(void)
{
    timeline t = {0};
    struct found f;
    TAP_REQUIRE(open_events(&t, sync_events, sizeof sync_events / sizeof *sync_events));
    TAP_REQUIRE(find_opened(&t, 0, &f));
    TAP_EQ_U64(f.graph.rule_count, 2);
    TAP_EQ_U64(f.graph.inferred, 0);
    /* the host waits for stream 20 only, though `longer` ends later */
    static const struct want want[] = {
        {0, 2000, "other", "ProfilerStep#1"},      {2000, 12000, "launch", "cudaLaunchKernel"},
        {12000, 40000, "kernel", "first"},         {40000, 42000, "queue", "waits"},
        {42000, 90000, "kernel", "waits"},         {90000, 95000, "sync", "cudaStreamSynchronize"},
        {95000, 100000, "other", "ProfilerStep#1"}};
    check(&t, &f, want, 7);
    release(&t, &f);
}

/* ---- what always holds ---- */

static bool holds(const timeline *t, const struct found *f, uint32_t step)
{
    const osc_step *k = &f->steps.items[step];
    int64_t at = k->start_ns, gains[8];
    osc_err err = {0};
    for (uint32_t i = 0; i < f->walk.count; i++) {
        const path_segment *p = &f->walk.segments[i];
        if (p->start_ns != at || p->end_ns <= p->start_ns)
            return tap_check(false, __FILE__, __LINE__, "a gap at %lld", (long long)at);
        at = p->end_ns;
    }
    if (at != k->end_ns)
        return tap_check(false, __FILE__, __LINE__, "ends at %lld", (long long)at);
    path_who who[8] = {
        {OSC_PATH_KERNEL, osc_store_lookup(t->store, OSC_STR("gemm"))},
        {OSC_PATH_COMM, osc_store_lookup(t->store, OSC_STR("ncclDevKernel_AllReduce"))},
        {OSC_PATH_COPY, osc_store_lookup(t->store, OSC_STR("Memcpy DtoH"))},
        {OSC_PATH_HOST, osc_store_lookup(t->store, OSC_STR("aten::add"))},
        {OSC_PATH_SYNC, osc_store_lookup(t->store, OSC_STR("cudaDeviceSynchronize"))},
        {OSC_PATH_OTHER, OSC_NO_ROW},
        {OSC_PATH_QUEUE, OSC_NO_ROW},
        {OSC_PATH_KERNEL, OSC_NO_ROW - 1}}; /* nobody */
    for (uint32_t i = 0; i < 5; i++)
        who[i].name -= who[i].name == OSC_NO_ROW; /* not in this one */
    if (path_gains(&f->graph, who, 8, gains, &err) != OSC_OK)
        return false;
    for (uint32_t i = 0; i < 8; i++) {
        int64_t on_path = 0;
        for (uint32_t j = 0; j < f->walk.count; j++) {
            path_who of = path_who_of(&t->busy, &f->walk.segments[j]);
            if (of.kind == who[i].kind && of.name == who[i].name)
                on_path += f->walk.segments[j].end_ns - f->walk.segments[j].start_ns;
        }
        if (gains[i] < 0 || gains[i] > on_path)
            return tap_check(false, __FILE__, __LINE__, "gain %u is %lld of %lld", i,
                             (long long)gains[i], (long long)on_path);
    }
    return tap_check(gains[7] == 0, __FILE__, __LINE__, "nobody gains %lld", (long long)gains[7]);
}

static void test_random(void)
{
    osc_rng rng = {23};
    for (int round = 0; round < 200; round++) {
        bool steps = round % 4 != 0;
        uint32_t step = steps ? (uint32_t)round % 3 : 0;
        timeline t = tl_random(&rng, steps);
        struct found f;
        TAP_REQUIRE(find(&t, step, &f));
        TAP_REQUIRE(holds(&t, &f, step));
        release(&t, &f);
    }
}

/* With `work` the path goes on to the end of what the step launched, though the host is in the
 * next. */
static void test_until_work(void)
{
    timeline t = tl_new();
    osc_table *table = NULL;
    osc_err err = {0};
    tl_step(&t, "ProfilerStep#1", 0, 50);
    tl_step(&t, "ProfilerStep#2", 50, 90);
    tl_op(&t, "aten::mm", 0, 0, 50);
    tl_call(&t, "cudaLaunchKernel", 0, 10, 14, 1);
    tl_call(&t, "cudaLaunchKernel", 0, 55, 57, 2);
    tl_work(&t, "gemm", 7, 20, 80, 1);
    tl_work(&t, "later", 7, 81, 88, 2);
    TAP_REQUIRE(tl_seal(&t));
    osc_path_options o = {.step = 1, .work = true, .segments = true, .limit = -1};
    TAP_EQ_STATUS(osc_path_table(t.store, &o, &table, &err), OSC_OK);
    TAP_REQUIRE(table && osc_table_rows(table) == 3);
    static const struct want want[] = {{0, 10, "host", "aten::mm"},
                                       {10, 20, "launch", "cudaLaunchKernel"},
                                       {20, 80, "kernel", "gemm"}};
    for (uint32_t r = 0; r < 3; r++) {
        TAP_EQ_I64(osc_table_cell(table, r, osc_table_find(table, "start_ns")).i64, want[r].start);
        TAP_EQ_I64(osc_table_cell(table, r, osc_table_find(table, "dur_ns")).i64,
                   want[r].end - want[r].start);
        TAP_EQ_VIEW(osc_table_cell(table, r, osc_table_find(table, "kind")).str, want[r].kind);
        TAP_EQ_VIEW(osc_table_cell(table, r, osc_table_find(table, "name")).str, want[r].name);
    }
    TAP_EQ_I64(osc_table_fact_i64(table, "length_ns"), 80);
    osc_table_free(table);
    tl_free(&t);
}

/* ---- the table ---- */

static void test_table(void)
{
    osc_rng rng = {29};
    timeline t = tl_random(&rng, true);
    osc_table *table = NULL;
    osc_err err = {0};
    TAP_REQUIRE(tl_seal(&t));
    for (int segments = 0; segments < 2; segments++) {
        osc_path_options o = {.step = 2, .segments = segments == 1, .limit = -1};
        TAP_EQ_STATUS(osc_path_table(t.store, &o, &table, &err), OSC_OK);
        TAP_REQUIRE(table != NULL);
        uint32_t column = osc_table_find(table, segments ? "dur_ns" : "path_ns");
        int64_t sum = 0;
        for (uint32_t r = 0; r < osc_table_rows(table); r++)
            sum += osc_table_cell(table, r, column).i64;
        TAP_EQ_I64(sum, 120);
        TAP_EQ_I64(osc_table_fact_i64(table, "length_ns"), 120);
        osc_table_free(table);
    }
    osc_path_options median = {.step = -1, .limit = -1}; /* of 140, 120, 120 */
    TAP_EQ_STATUS(osc_path_table(t.store, &median, &table, &err), OSC_OK);
    TAP_EQ_VIEW(osc_table_fact_str(table, "step"), "ProfilerStep#3");
    osc_table_free(table);
    osc_path_options none = {.step = 9};
    TAP_EQ_STATUS(osc_path_table(t.store, &none, &table, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "no step 9; there are 1 to 3");
    TAP_OK(table == NULL);
    tl_free(&t);
}

static bool build_table(void *context)
{
    osc_table *table = NULL;
    osc_err err = {0};
    osc_path_options o = {.step = -1, .segments = true, .limit = -1},
                     names = {.step = -1, .limit = -1};
    osc_status status = osc_path_table(context, &o, &table, &err);
    bool right = status == OSC_OK ? table != NULL : status == OSC_ENOMEM && table == NULL;
    osc_table_free(table);
    status = osc_path_table(context, &names, &table, &err);
    right = right && (status == OSC_OK ? table != NULL : status == OSC_ENOMEM && table == NULL);
    osc_table_free(table);
    return right;
}

static void test_out_of_memory(void)
{
    osc_rng rng = {31};
    timeline t = tl_random(&rng, true);
    tl_op(&t, "autograd::engine::evaluate_function: MulBackward0", 1, 395, 398);
    TAP_REQUIRE(tl_seal(&t));
    TAP_OK(tap_oom_sweep(build_table, t.store, 4000));
    tl_free(&t);
}

int main(void)
{
    TAP_RUN(test_wait);
    TAP_RUN(test_host_bound);
    TAP_RUN(test_stream);
    TAP_RUN(test_copy);
    TAP_RUN(test_collective);
    TAP_RUN(test_backward);
    TAP_RUN(test_odd_launches);
    TAP_RUN(test_whole);
    TAP_RUN(test_sync_rows);
    TAP_RUN(test_random);
    TAP_RUN(test_until_work);
    TAP_RUN(test_table);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
