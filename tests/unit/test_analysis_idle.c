/*
 * test_analysis_idle.c - classes of idle time: each on a timeline drawn by hand, and all of them
 * against a reference that asks at every instant. Letters are entries of known-bad-inputs.md.
 */
#include "timeline_support.h"

#include "base/mem.h"
#include "scope/analysis/idle.h"

struct want {
    int64_t start, end;
    osc_idle_class cls;
    const char *cause; /* NULL: none */
};

static void check(timeline *t, bool by_stream, uint32_t group, const struct want *want, uint32_t n)
{
    osc_idle idle;
    osc_err err = {0};
    const osc_slice_cols *s = osc_store_slice(t->store);
    TAP_REQUIRE(tl_open(t));
    TAP_EQ_STATUS(osc_idle_find(&t->busy, by_stream, &idle, &err), OSC_OK);
    TAP_REQUIRE(group < idle.groups);
    uint32_t first = idle.first[group];
    TAP_EQ_U64(idle.first[group + 1] - first, n);
    for (uint32_t i = 0; i < n && first + i < idle.first[group + 1]; i++) {
        const osc_idle_piece *p = &idle.pieces[first + i];
        TAP_EQ_I64(p->start_ns, want[i].start);
        TAP_EQ_I64(p->end_ns, want[i].end);
        TAP_EQ_STR(osc_idle_class_name((osc_idle_class)p->cls), osc_idle_class_name(want[i].cls));
        osc_str cause =
            p->cause == OSC_NO_ROW ? (osc_str){0} : osc_store_text(t->store, s->name[p->cause]);
        TAP_EQ_VIEW(cause, want[i].cause ? want[i].cause : "");
    }
    osc_idle_free(&idle);
    tl_free(t);
}

/* The host waits, goes on, launches late; then two launches in advance. */
static void test_classes(void)
{
    timeline t = tl_new();
    tl_op(&t, "aten::first", 0, 0, 20);
    tl_call(&t, "cudaLaunchKernel", 0, 5, 10, 1);
    tl_call(&t, "cudaStreamSynchronize", 0, 30, 65, 0);
    tl_op(&t, "aten::index", 0, 70, 100);
    tl_call(&t, "cudaLaunchKernel", 0, 90, 95, 2);
    tl_call(&t, "cudaLaunchKernel", 0, 110, 115, 3);
    tl_op(&t, "aten::last", 0, 190, 200);
    tl_work(&t, "k1", 7, 12, 60, 1);
    tl_work(&t, "k2", 7, 98, 130, 2);
    tl_work(&t, "k3", 7, 140, 150, 3);
    static const struct want want[] = {
        {0, 5, OSC_IDLE_NO_LAUNCH, "aten::first"},
        {5, 12, OSC_IDLE_LAUNCH, "cudaLaunchKernel"},
        {60, 65, OSC_IDLE_SYNC, "cudaStreamSynchronize"},
        {65, 90, OSC_IDLE_NO_LAUNCH, "aten::index"},
        {90, 98, OSC_IDLE_LAUNCH, "cudaLaunchKernel"},
        {130, 140, OSC_IDLE_QUEUE, "cudaLaunchKernel"},
        {150, 200, OSC_IDLE_EDGE, NULL},
    };
    check(&t, false, 0, want, 7);
}

/* A frame that waits for a queue is host wait; another is no launch. */
static void test_host_wait(void)
{
    timeline t = tl_new();
    tl_add(&t, OSC_KIND_PYTHON, "queue.py(154): get", 0, 10, 40, 0);
    tl_add(&t, OSC_KIND_PYTHON, "model.py(3): forward", 0, 48, 60, 0);
    tl_call(&t, "cudaLaunchKernel", 0, 0, 2, 1);
    tl_call(&t, "cudaLaunchKernel", 0, 45, 47, 2);
    tl_call(&t, "cudaLaunchKernel", 0, 58, 59, 3);
    tl_work(&t, "k1", 7, 2, 10, 1);
    tl_work(&t, "k2", 7, 45, 50, 2);
    tl_work(&t, "k3", 7, 59, 70, 3);
    static const struct want want[] = {
        {0, 2, OSC_IDLE_QUEUE, "cudaLaunchKernel"}, /* the launch begins with the window */
        {10, 40, OSC_IDLE_HOST_WAIT, "queue.py(154): get"},
        {40, 45, OSC_IDLE_NO_LAUNCH, NULL},
        {50, 58, OSC_IDLE_NO_LAUNCH, "model.py(3): forward"},
        {58, 59, OSC_IDLE_LAUNCH, "cudaLaunchKernel"},
    };
    check(&t, false, 0, want, 5);
}

/* By stream: queued behind a collective, then behind work, then behind nothing. */
static void test_streams(void)
{
    timeline t = tl_new();
    tl_call(&t, "cudaLaunchKernel", 0, 0, 1, 1);
    tl_call(&t, "cudaLaunchKernel", 0, 1, 2, 2);
    tl_call(&t, "cudaLaunchKernel", 0, 2, 3, 3);
    tl_call(&t, "cudaLaunchKernel", 0, 3, 4, 4);
    tl_work(&t, "a", 7, 1, 10, 1);
    tl_work(&t, "ncclDevKernel_AllReduce_Sum", 8, 12, 20, 2);
    tl_work(&t, "gemm", 8, 20, 30, 3);
    tl_work(&t, "b", 7, 33, 40, 4);
    static const struct want want[] = {
        {0, 1, OSC_IDLE_QUEUE, "cudaLaunchKernel"},   {10, 12, OSC_IDLE_QUEUE, "cudaLaunchKernel"},
        {12, 20, OSC_IDLE_COMM, "cudaLaunchKernel"},  {20, 30, OSC_IDLE_STREAM, "cudaLaunchKernel"},
        {30, 33, OSC_IDLE_QUEUE, "cudaLaunchKernel"},
    };
    check(&t, true, 0, want, 5);
}

/* R16: launched before the capture. T09: work before its launch. T05: work without length. N07:
 * sync rows. */
static void test_bad_input(void)
{
    timeline t = tl_new();
    tl_work(&t, "leftover", 7, 10, 20, 99);
    tl_work(&t, "leftover", 7, 25, 30, 98);
    tl_call(&t, "cudaLaunchKernel", 0, 0, 2, 0);
    tl_call(&t, "cudaLaunchKernel", 0, 42, 44, 5);
    tl_work(&t, "early", 7, 40, 50, 5);
    tl_work(&t, "unstamped", 7, 0, 0, 6);
    tl_add(&t, OSC_KIND_SYNC, "Stream Sync", 2, 0, 60, 7);
    tl_add(&t, OSC_KIND_GPU_ANNOTATION, "ProfilerStep#1", 2, 0, 60, 0);
    static const struct want want[] = {
        {0, 10, OSC_IDLE_EDGE, NULL},
        {20, 25, OSC_IDLE_UNKNOWN, NULL},
        {30, 40, OSC_IDLE_NO_LAUNCH, NULL},
    };
    check(&t, false, 0, want, 3);
}

/* L03: host and device have the same process and thread number; the category tells them apart. */
static void test_same_numbers(void)
{
    timeline t = {.store = osc_store_new()};
    tl_track(t.store, "framework/TID:0", 0, 0, OSC_LANE_THREAD);
    tl_track(t.store, "device:0/Stream:0", 0, 0, OSC_LANE_DEVICE);
    tl_call(&t, "cudaLaunchKernel", 0, 10, 12, 1);
    tl_op(&t, "aten::mm", 0, 0, 40);
    tl_add(&t, OSC_KIND_KERNEL, "gemm", 1, 15, 30, 1);
    static const struct want want[] = {{0, 10, OSC_IDLE_NO_LAUNCH, "aten::mm"},
                                       {10, 15, OSC_IDLE_LAUNCH, "cudaLaunchKernel"},
                                       {30, 40, OSC_IDLE_EDGE, NULL}};
    check(&t, false, 0, want, 3);
}

/* A call that launched a copy and was open when that ended waited for it. */
static void test_waiting_copy(void)
{
    timeline t = tl_new();
    osc_block *blocks;
    uint32_t n;
    osc_err err = {0};
    tl_call(&t, "cudaMemcpyAsync", 0, 0, 30, 1); /* pageable: waits */
    tl_call(&t, "cudaMemcpyAsync", 0, 40, 42, 2);
    tl_call(&t, "hipEventSynchronize", 1, 5, 9, 0);
    tl_call(&t, "cudaStreamWaitEvent", 1, 20, 29, 0); /* does not wait, whatever its name says */
    tl_work(&t, "Memcpy DtoH (Device -> Pageable)", 7, 10, 28, 1);
    tl_work(&t, "Memcpy HtoD (Pinned -> Device)", 7, 41, 60, 2);
    TAP_REQUIRE(tl_open(&t));
    TAP_EQ_STATUS(osc_busy_blocks(&t.busy, &blocks, &n, &err), OSC_OK);
    TAP_EQ_U64(n, 2);
    TAP_REQUIRE(n == 2);
    TAP_EQ_I64(blocks[0].end_ns, 30);
    TAP_EQ_U64(blocks[0].item, 0);
    TAP_EQ_I64(blocks[1].start_ns, 5);
    osc_free(blocks);
    tl_free(&t);
}

/* An operator that stays open, with nothing else on its thread, until its copy is done, waits for
 * it. */
static void test_silent_wait(void)
{
    timeline t = tl_new();
    osc_block *blocks;
    uint32_t n;
    osc_err err = {0};
    for (int k = 0; k < 2; k++) { /* the second time the thread does something meanwhile */
        uint32_t op =
            tl_add(&t, OSC_KIND_CPU_OP, "aten::_local_scalar_dense", 0, 100 * k, 100 * k + 60, 0);
        int64_t id = osc_store_slice(t.store)->external_id[op];
        osc_slice_row call = {.start_ns = 100 * k + 2,
                              .dur_ns = 3,
                              .external_id = id,
                              .correlation = k + 1,
                              .name = osc_store_intern(t.store, OSC_STR("cudaMemcpyAsync")),
                              .order = 50 + (uint32_t)k,
                              .kind = OSC_KIND_RUNTIME};
        osc_slice_row copy = {.start_ns = 100 * k + 30,
                              .dur_ns = 20,
                              .external_id = id,
                              .correlation = k + 1,
                              .name = osc_store_intern(t.store, OSC_STR("Memcpy DtoH")),
                              .track = 2,
                              .order = 60 + (uint32_t)k,
                              .kind = OSC_KIND_MEMCPY};
        osc_store_add_slice(t.store, &call);
        osc_store_add_slice(t.store, &copy);
    }
    tl_op(&t, "aten::view", 0, 110, 115);
    TAP_REQUIRE(tl_open(&t));
    TAP_EQ_STATUS(osc_busy_blocks(&t.busy, &blocks, &n, &err), OSC_OK);
    TAP_EQ_U64(n, 1);
    TAP_REQUIRE(n == 1);
    TAP_EQ_I64(blocks[0].start_ns, 5);
    TAP_EQ_I64(blocks[0].end_ns, 50);
    TAP_EQ_U64(blocks[0].item, 0);
    osc_free(blocks);
    tl_free(&t);
}

/* ---- against every instant ---- */

static bool covers(const osc_slice_cols *s, uint32_t i, int64_t at)
{
    return s->start_ns[i] <= at && at < s->start_ns[i] + s->dur_ns[i];
}

static bool is_item(const osc_slice_cols *s, uint32_t i, uint32_t track)
{
    return s->kind[i] >= OSC_KIND_KERNEL && s->kind[i] <= OSC_KIND_MEMSET && s->dur_ns[i] > 0 &&
           (track == OSC_NO_ROW || s->track[i] == track);
}

static uint32_t launcher(const osc_slice_cols *s, uint32_t item)
{
    for (uint32_t i = 0; i < s->count && s->correlation[item] != 0; i++) {
        if (s->kind[i] == OSC_KIND_RUNTIME && s->correlation[i] == s->correlation[item])
            return i;
    }
    return OSC_NO_ROW;
}

/* A waiting call of a thread, as the format document says it: by name, or its copy ended within
 * it. */
static bool waits(const osc_store *store, uint32_t call)
{
    const osc_slice_cols *s = osc_store_slice(store);
    if (osc_str_eq_cstr(osc_store_text(store, s->name[call]), "cudaDeviceSynchronize"))
        return true;
    for (uint32_t i = 0; i < s->count; i++) {
        if (is_item(s, i, OSC_NO_ROW) && s->kind[i] != OSC_KIND_KERNEL && launcher(s, i) == call &&
            s->start_ns[i] + s->dur_ns[i] <= s->start_ns[call] + s->dur_ns[call])
            return true;
    }
    return false;
}

static bool is_comm(const osc_store *store, uint32_t i)
{
    osc_str name = osc_store_text(store, osc_store_slice(store)->name[i]);
    return osc_str_starts(name, OSC_STR("nccl"));
}

/* The class at an instant; OSC_IDLE_CLASSES when busy. track: a stream's, OSC_NO_ROW the device. */
static osc_idle_class class_at(const osc_store *store, uint32_t track, int64_t at)
{
    const osc_slice_cols *s = osc_store_slice(store);
    int64_t next = INT64_MAX, gap = INT64_MIN;
    bool comm = false, other = false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (is_item(s, i, OSC_NO_ROW) && covers(s, i, at)) {
            comm = comm || is_comm(store, i);
            other = other || !is_comm(store, i);
        }
        if (!is_item(s, i, track))
            continue;
        if (covers(s, i, at))
            return OSC_IDLE_CLASSES;
        int64_t end = s->start_ns[i] + s->dur_ns[i];
        if (s->start_ns[i] > at && s->start_ns[i] < next)
            next = s->start_ns[i];
        if (end <= at && end > gap)
            gap = end;
    }
    if (next == INT64_MAX)
        return OSC_IDLE_EDGE;
    uint32_t launch = OSC_NO_ROW;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!is_item(s, i, track) || s->start_ns[i] != next)
            continue;
        uint32_t found = launcher(s, i);
        if (found != OSC_NO_ROW &&
            (launch == OSC_NO_ROW || s->start_ns[found] < s->start_ns[launch]))
            launch = found;
    }
    if (launch == OSC_NO_ROW)
        return gap == INT64_MIN ? OSC_IDLE_EDGE : OSC_IDLE_UNKNOWN;
    if (at < s->start_ns[launch]) {
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->kind[i] == OSC_KIND_RUNTIME && s->track[i] == s->track[launch] &&
                covers(s, i, at) && waits(store, i))
                return OSC_IDLE_SYNC;
        }
        return OSC_IDLE_NO_LAUNCH;
    }
    int64_t began = gap; /* of the window, before the first work: found by the caller */
    if (began == INT64_MIN) {
        began = INT64_MAX;
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->dur_ns[i] > 0 && s->start_ns[i] < began)
                began = s->start_ns[i];
        }
    }
    if (s->start_ns[launch] > began)
        return OSC_IDLE_LAUNCH;
    return track == OSC_NO_ROW ? OSC_IDLE_QUEUE
           : comm              ? OSC_IDLE_COMM
           : other             ? OSC_IDLE_STREAM
                               : OSC_IDLE_QUEUE;
}

/* Pieces of a group cover exactly the idle instants, in order, with the class of each. */
static bool agrees(const timeline *t, const osc_idle *idle, uint32_t group, uint32_t track)
{
    uint32_t i = idle->first[group], end = idle->first[group + 1];
    for (int64_t at = t->busy.start_ns; at < t->busy.end_ns; at++) {
        while (i < end && idle->pieces[i].end_ns <= at)
            i++;
        bool in = i < end && idle->pieces[i].start_ns <= at;
        osc_idle_class got = in ? (osc_idle_class)idle->pieces[i].cls : OSC_IDLE_CLASSES;
        osc_idle_class want = class_at(t->store, track, at);
        if (got != want) {
            tap_note("at %lld: %s, not %s", (long long)at, osc_idle_class_name(got),
                     osc_idle_class_name(want));
            return false;
        }
    }
    return i >= end || i + 1 == end;
}

static void test_random(void)
{
    osc_rng rng = {7};
    for (int round = 0; round < 60; round++) {
        timeline t = tl_random(&rng, round % 2 == 0);
        osc_idle idle;
        osc_err err = {0};
        TAP_REQUIRE(tl_open(&t));
        TAP_EQ_STATUS(osc_idle_find(&t.busy, false, &idle, &err), OSC_OK);
        TAP_REQUIRE(idle.groups == 1 && agrees(&t, &idle, 0, OSC_NO_ROW));
        osc_idle_free(&idle);
        TAP_EQ_STATUS(osc_idle_find(&t.busy, true, &idle, &err), OSC_OK);
        for (uint32_t g = 0; g < idle.groups; g++)
            TAP_REQUIRE(agrees(&t, &idle, g, t.busy.lanes[g].track));
        osc_idle_free(&idle);
        tl_free(&t);
    }
}

/* ---- the table ---- */

static osc_table *table_of(timeline *t, const osc_idle_options *o)
{
    osc_table *table = NULL;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_idle_table(t->store, o, &table, &err), OSC_OK);
    return table;
}

/* Sums equal the window less busy, whatever is shown and however it is summed (invariant 4, 5). */
static void test_sums(void)
{
    osc_rng rng = {11};
    for (int round = 0; round < 20; round++) {
        timeline t = tl_random(&rng, false);
        TAP_REQUIRE(tl_seal(&t));
        for (int by = 0; by < 3; by++) {
            osc_idle_options o = {.by = (osc_idle_by)by, .limit = -1};
            osc_table *table = table_of(&t, &o);
            TAP_REQUIRE(table != NULL);
            uint32_t column = osc_table_find(table, by == 0 ? "dur_ns" : "idle_ns");
            int64_t sum = 0;
            for (uint32_t r = 0; r < osc_table_rows(table); r++)
                sum += osc_table_cell(table, r, column).i64;
            TAP_EQ_I64(sum, osc_table_fact_i64(table, "idle_ns"));
            TAP_EQ_I64(sum + osc_table_fact_i64(table, "busy_ns"),
                       osc_table_fact_i64(table, "window_ns"));
            osc_table_free(table);
        }
        tl_free(&t);
    }
}

static void test_options(void)
{
    timeline t = tl_new();
    osc_err err = {0};
    osc_table *none = NULL;
    tl_call(&t, "cudaLaunchKernel", 0, 0, 1, 1);
    tl_call(&t, "cudaLaunchKernel", 0, 60, 61, 2);
    tl_work(&t, "a", 7, 2, 10, 1);
    tl_work(&t, "b", 7, 63, 70, 2);
    TAP_REQUIRE(tl_seal(&t));
    osc_table *longest = table_of(&t, &(osc_idle_options){.limit = 1, .longest = true});
    TAP_EQ_U64(osc_table_rows(longest), 1);
    TAP_EQ_I64(osc_table_cell(longest, 0, osc_table_find(longest, "dur_ns")).i64, 50);
    osc_table *min = table_of(&t, &(osc_idle_options){.limit = -1, .min_ns = 3});
    TAP_EQ_U64(osc_table_rows(min), 2);
    TAP_EQ_I64(osc_table_fact_i64(min, "idle_ns"), 55);
    TAP_EQ_STATUS(osc_idle_table(t.store, &(osc_idle_options){.device = OSC_STR("3")}, &none, &err),
                  OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "no device '3'; there is 0");
    TAP_OK(none == NULL);
    osc_table_free(longest);
    osc_table_free(min);
    tl_free(&t);
}

/* T11, T14 and no device at all: no rows, and a sentence that says why. */
static void test_no_device(void)
{
    timeline t = tl_new();
    tl_call(&t, "cudaLaunchKernel", 0, 0, 1, 1);
    TAP_REQUIRE(tl_seal(&t));
    osc_table *table = table_of(&t, &(osc_idle_options){.limit = -1});
    TAP_REQUIRE(table != NULL);
    TAP_EQ_U64(osc_table_rows(table), 0);
    TAP_OK(osc_str_starts(osc_table_fact_str(table, "no_device_work"),
                          OSC_STR("launches are there, but no device events")));
    osc_table_free(table);
    tl_free(&t);
    t = tl_new();
    TAP_REQUIRE(tl_seal(&t));
    table = table_of(&t, &(osc_idle_options){.limit = -1});
    TAP_REQUIRE(table != NULL);
    TAP_EQ_U64(osc_table_footers(table), 1);
    osc_table_free(table);
    tl_free(&t);
}

static bool build_table(void *context)
{
    osc_table *table = NULL;
    osc_err err = {0};
    osc_idle_options o = {.by_stream = true, .by = OSC_IDLE_BY_CAUSE, .limit = -1};
    osc_status status = osc_idle_table(context, &o, &table, &err);
    bool right = status == OSC_OK ? table != NULL : status == OSC_ENOMEM && table == NULL;
    osc_table_free(table);
    return right;
}

static void test_out_of_memory(void)
{
    osc_rng rng = {3};
    timeline t = tl_random(&rng, false);
    TAP_REQUIRE(tl_seal(&t));
    TAP_OK(tap_oom_sweep(build_table, t.store, 2000));
    tl_free(&t);
}

int main(void)
{
    TAP_RUN(test_classes);
    TAP_RUN(test_host_wait);
    TAP_RUN(test_streams);
    TAP_RUN(test_bad_input);
    TAP_RUN(test_same_numbers);
    TAP_RUN(test_waiting_copy);
    TAP_RUN(test_silent_wait);
    TAP_RUN(test_random);
    TAP_RUN(test_sums);
    TAP_RUN(test_options);
    TAP_RUN(test_no_device);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
