/*
 * test_analysis_calls.c - nesting, links and memory as PyTorch has them. Numbers are sections of
 * kineto-trace-format.md, letters entries of known-bad-inputs.md.
 */
#include "scope_support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/demangle.h"

#include <stdio.h>

#define OP(name, ts, dur, id) \
    EV("cpu_op", name, 1, 1, ts, dur, "\"External id\":" #id ",\"Ev Idx\":" #id)
#define LAUNCH(ts, id, corr)                            \
    EV("cuda_runtime", "cudaLaunchKernel", 1, 1, ts, 1, \
       "\"External id\":" #id ",\"correlation\":" #corr)
#define KERNEL(ts, dur, id, corr) \
    EV("kernel", "k", 0, 7, ts, dur, "\"External id\":" #id ",\"correlation\":" #corr)

static osc_calls *calls_of(const osc_store *store)
{
    static const osc_calls_options options = {.python = OSC_PYTHON_NO};
    osc_calls *calls = NULL;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_calls_build(store, &options, &calls, &err), OSC_OK);
    return calls;
}

/* The counted slice of a name as rows show it, OSC_NO_ROW when there is none. */
static uint32_t slice_named(const osc_store *store, const osc_calls *c, const char *name)
{
    for (uint32_t i = 0; i < osc_store_slice(store)->count; i++) {
        if (osc_calls_counts(c, i) && !osc_calls_gone(c, i) &&
            osc_str_eq_cstr(osc_calls_text(c, osc_calls_name(c, i)), name))
            return i;
    }
    return OSC_NO_ROW;
}

/* Name of a slice, "" for none. */
static osc_str name_of(const osc_calls *c, uint32_t slice)
{
    return slice == OSC_NO_ROW ? (osc_str){0} : osc_calls_text(c, osc_calls_name(c, slice));
}

static void check_parents(const char *trace, const char *const pairs[][2], size_t count)
{
    osc_store *s = store_of(trace);
    TAP_REQUIRE(s != NULL);
    osc_calls *c = calls_of(s);
    TAP_REQUIRE(c != NULL);
    for (size_t i = 0; i < count; i++) {
        uint32_t slice = slice_named(s, c, pairs[i][0]);
        TAP_REQUIRE(slice != OSC_NO_ROW);
        osc_str parent = name_of(c, osc_calls_parent(c, slice));
        TAP_OKF(osc_str_eq_cstr(parent, pairs[i][1]), "%s is in '%.*s', not in '%s'", pairs[i][0],
                OSC_STR_FMT(parent), pairs[i][1]);
    }
    osc_calls_free(c);
    osc_store_free(s);
}

/* 2.3: the edges of containment. */
static void test_nesting(void)
{
    static const char *const plain[][2] = {{"a", ""}, {"b", "a"}, {"c", "b"}, {"d", "a"}};
    check_parents(TRACE(OP("a", 0, 100, 1) "," OP("b", 10, 50, 2) "," OP("c", 20, 10,
                                                                         3) "," OP("d", 60, 10, 4)),
                  plain, 4);
    static const char *const edges[][2] = {{"p", ""}, {"start", "p"}, {"end", ""}, {"after", ""}};
    check_parents(TRACE(OP("p", 0, 10, 1) "," OP("start", 0, 0, 2) "," OP("end", 10, 0, 3) "," OP(
                      "after", 10, 0, 4)),
                  edges, 4); /* N08 */
    static const char *const equal[][2] = {{"first", ""}, {"second", "first"}};
    check_parents(TRACE(OP("second", 0, 10, 2) "," OP("first", 0, 10, 1)), equal,
                  2); /* Ev Idx decides */
    static const char *const crossing[][2] = {{"p", ""}, {"x", ""}, {"inside", "x"}};
    check_parents(TRACE(OP("p", 0, 10, 1) "," OP("x", 5, 7, 2) "," OP("inside", 6, 2, 3)), crossing,
                  3); /* N01 */
}

static int64_t self_device(const char *trace, const char *name)
{
    osc_table *t = rows_of(trace, NULL);
    int64_t ns = t ? figure(t, name, OSC_KA_SELF_DEVICE_NS) : INT64_MIN;
    osc_table_free(t);
    return ns;
}

/* 1.9: by External id; the runtime's correlation number is another space (L06). */
static void test_link_by_external_id(void)
{
    const char *trace = TRACE(OP("seven", 0, 5, 7) "," OP("three", 10, 5, 3) "," LAUNCH(
        11, 3, 7) "," KERNEL(20, 4, 3, 7));
    TAP_EQ_I64(self_device(trace, "three"), 4000);
    TAP_EQ_I64(self_device(trace, "seven"), 0);
}

/* 1.9, PyTorch 1.11 to 2.2: the id repeats the correlation; the way is launch and containment
 * (L07). */
static void test_link_by_correlation(void)
{
    const char *trace =
        TRACE(OP("outer", 0, 50, 1) "," OP("inner", 10, 10, 2) "," OP("other", 100, 5, 500) "," EV(
            "cuda_runtime", "cudaLaunchKernel", 1, 1, 12, 1,
            "\"External id\":500,\"correlation\":500") "," KERNEL(60, 4, 500, 500));
    TAP_EQ_I64(self_device(trace, "inner"), 4000);
    TAP_EQ_I64(self_device(trace, "other"), 0);
}

/* L08: one repeated id among honest ones counts only when the launch lies inside that operator. */
static void test_refuted_ids(void)
{
    const char *trace = TRACE(OP("a", 0, 10, 1) "," OP("b", 100, 10, 9) "," LAUNCH(
        1, 1, 5) "," KERNEL(20, 4, 1, 5) "," EV("cuda_runtime", "cudaLaunchKernel", 1, 1, 50, 1,
                                                "\"correlation\":9") "," KERNEL(60, 3, 9, 9));
    TAP_EQ_I64(self_device(trace, "a"), 4000);
    TAP_EQ_I64(self_device(trace, "b"), 0);
}

/* R03: absent and zero ids match nothing. R02: overhead has no device time. */
static void test_no_id(void)
{
    const char *trace = TRACE(EV("cpu_op", "a", 1, 1, 0, 10, "") "," EV(
        "kernel", "k", 0, 7, 1, 4, "") "," EV("overhead", "o", -1, 0, 0, 5, "\"External id\":3"));
    TAP_EQ_I64(self_device(trace, "a"), 0);
    TAP_EQ_I64(self_device(trace, "o"), 0);
}

/* R01: annotations on the device are rows, but neither kernels of an operator nor in the sum. */
static void test_device_annotations(void)
{
    osc_table *t =
        rows_of(TRACE(EV("user_annotation", "step", 1, 1, 0, 50,
                         "\"External id\":5") "," EV("gpu_user_annotation", "step", 0, 7, 10, 100,
                                                     "\"External id\":5") "," KERNEL(10, 50, 6, 1)),
                NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "step", OSC_KA_TOTAL_DEVICE_NS), 0);
    TAP_OK(row_named(t, "step", "CUDA") != UINT32_MAX);
    TAP_EQ_I64(osc_table_fact_i64(t, "total_device_ns"), 50000);
    osc_table_free(t);
}

/* 2.4, R05: an only child of the same name goes; its kernels replace the parent's. */
static void test_duplicates(void)
{
    osc_table *t =
        rows_of(TRACE(OP("a", 0, 100, 1) "," OP("a", 10, 50, 2) "," OP("a", 20, 30, 3) "," OP(
                    "c", 25, 5, 4) "," KERNEL(200, 7, 1, 91) "," KERNEL(300, 9, 3, 92)),
                NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "a", OSC_KA_COUNT), 1);
    TAP_EQ_I64(figure(t, "a", OSC_KA_SELF_CPU_NS), 95000);
    TAP_EQ_I64(figure(t, "a", OSC_KA_SELF_DEVICE_NS), 9000);
    osc_table_free(t);
}

/* S07: long chains and many pairs take linear time. */
static void test_many_duplicates(void)
{
    enum { PAIRS = 50000 };
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "[");
    for (int i = 0; i < PAIRS; i++)
        osc_buf_printf(&text,
                       "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":%d,\"dur\":%d}",
                       i ? "," : "", i, 4 * PAIRS - 2 * i);
    osc_buf_cstr(&text, "]");
    osc_table *t = rows_of(osc_buf_c_str(&text), NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "a", OSC_KA_COUNT), 1);
    TAP_EQ_I64(figure(t, "a", OSC_KA_SELF_CPU_NS), (int64_t)4000 * PAIRS);
    osc_table_free(t);
    osc_buf_free(&text);
}

#define MEM(ts, bytes, type)                                                                   \
    "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1," \
    "\"tid\":2,\"ts\":" #ts ",\"args\":{\"Bytes\":" #bytes ",\"Device Type\":" #type "}}"

/* 2.5, R08: bytes of all threads inside an event, ends included; the rest is a row of its own. */
static void test_memory(void)
{
    osc_table *t =
        rows_of(TRACE(OP("a", 10, 10, 1) "," OP("b", 12, 4, 2) "," MEM(10, 100, 0) "," MEM(
                    14, 20, 0) "," MEM(20, 5, 20) "," MEM(30, -100, 0)),
                NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "a", OSC_KA_CPU_BYTES), 120);
    TAP_EQ_I64(figure(t, "a", OSC_KA_SELF_CPU_BYTES), 100);
    TAP_EQ_I64(figure(t, "b", OSC_KA_CPU_BYTES), 20);
    TAP_EQ_I64(figure(t, "a", OSC_KA_DEVICE_BYTES), 5);
    TAP_EQ_I64(figure(t, "[memory]", OSC_KA_CPU_BYTES), -100);
    TAP_EQ_I64(osc_table_fact_i64(t, "profile_memory"), 1);
    osc_table_free(t);
}

/* 2.1: what has no row, and what rows are called. */
static void test_names(void)
{
    osc_table *t = rows_of(
        TRACE(OP("aten::is_leaf", 0, 1, 1) "," EV(
            "user_annotation", "ProfilerStep#4", 1, 1, 0, 9,
            "") "," OP("aten::add.Tensor", 1, 1,
                       2) "," OP("aten::x.1", 3, 1,
                                 3) "," EV("cpu_op", "open", 1, 1, 5, 1,
                                           "\"finished\": false") "," EV("Trace", "span", 1, 1, 0,
                                                                         9, "") "," EV("python_"
                                                                                       "function",
                                                                                       "f.py(1): g",
                                                                                       1, 1, 0, 9,
                                                                                       "")),
        NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_U64(osc_table_rows(t), 3);
    TAP_EQ_I64(figure(t, "ProfilerStep*", OSC_KA_COUNT), 1);
    TAP_EQ_I64(figure(t, "aten::add", OSC_KA_COUNT), 1);
    TAP_EQ_I64(figure(t, "aten::x.1", OSC_KA_COUNT), 1);
    TAP_EQ_I64(osc_table_fact_i64(t, "unfinished"), 1);
    osc_table_free(t);
}

/* 5: frames are rows since PyTorch 2.12, told by the quarter in the time base. */
static void test_python_rows_by_era(void)
{
    static const osc_ka_options automatic = {.calls = {.python = OSC_PYTHON_AUTO}};
    static const struct {
        const char *base;
        bool rows;
    } eras[] = {{"1751410836000000000", false}, {"1790857026000000000", true}};
    for (size_t i = 0; i < 2; i++) {
        char trace[512];
        snprintf(trace, sizeof trace, "{\"baseTimeNanoseconds\":%s,\"traceEvents\":[%s]}",
                 eras[i].base, EV("python_function", "f.py(1): g", 1, 1, 0, 9, ""));
        osc_table *t = rows_of(trace, &automatic);
        TAP_REQUIRE(t != NULL);
        TAP_EQ_U64(osc_table_rows(t), eras[i].rows);
        osc_table_free(t);
    }
}

static void test_demangling(void)
{
    osc_demangler d = {0};
    char *plain = osc_demangle(&d, OSC_STR("_ZN2at6native4copyEi"));
    if (!plain && !d.library) {
        tap_skip("libstdc++.so.6 is not installed");
        return;
    }
    TAP_EQ_STR(plain ? plain : "", "at::native::copy(int)");
    osc_free(plain);
    TAP_OK(osc_demangle(&d, OSC_STR("_Znot a symbol")) == NULL);
    osc_demangler_close(&d);
}

/* ---- several events with one number ---- */

/* Self device time of each operator "a0", "a1", ... of a trace. */
static void check_devices(const char *trace, const int64_t *want, uint32_t count)
{
    osc_table *t = rows_of(trace, NULL);
    TAP_REQUIRE(t != NULL);
    for (uint32_t i = 0; i < count; i++) {
        char name[8];
        snprintf(name, sizeof name, "a%u", i);
        TAP_OKF(figure(t, name, OSC_KA_SELF_DEVICE_NS) == want[i], "%s has %lld, not %lld", name,
                (long long)figure(t, name, OSC_KA_SELF_DEVICE_NS), (long long)want[i]);
    }
    osc_table_free(t);
}

/* A rank as Kineto writes it: operator, launch, kernel; all numbers as in any other rank. */
#define RANK(name, pid, tid, ts, dur, id)                                                    \
    EV("cpu_op", name, pid, tid, ts, 10, "\"External id\":" #id)                             \
    "," EV("cuda_runtime", "cudaLaunchKernel", pid, tid, ts, 2,                              \
           "\"External id\":" #id ",\"correlation\":9") "," EV("kernel", "k", 0, 7, 50, dur, \
                                                               "\"External id\":" #id        \
                                                               ",\"correlation\":9")

/* L11: ranks in one file; the same ids, correlations and times in each, other processes. */
static void test_merged_ranks(void)
{
    static const int64_t want[] = {3000, 4000, 5000};
    check_devices(TRACE(RANK("a0", 100, 1, 0, 3, 5) "," RANK("a1", 200, 1, 0, 4,
                                                             5) "," RANK("a2", 300, 1, 0, 5, 5)),
                  want, 3);
}

/* L12: a number that came round again belongs to the later operator for what was launched later. */
static void test_wrapped_ids(void)
{
    static const int64_t want[] = {3000, 4000};
    check_devices(
        TRACE(OP("a0", 0, 10, 5) "," OP("a1", 1000, 10, 5) "," LAUNCH(1, 5, 71) "," LAUNCH(
            1001, 5, 72) "," KERNEL(20, 3, 5, 71) "," KERNEL(1020, 4, 5, 72)),
        want, 2);
}

/* Numbers too far apart for an array are hashed; the result is the same. */
static void test_sparse_ids(void)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "[");
    for (int i = 0; i < 200; i++)
        osc_buf_printf(&text,
                       "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a%d\",\"ts\":%d,\"dur\":5,"
                       "\"args\":{\"External id\":%lld}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                       "\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{\"External id\":"
                       "%lld,\"correlation\":%d}},",
                       i, 10 * i, 1 + 1000003LL * i * i, 10 * i, i, 1 + 1000003LL * i * i, 3 + i);
    osc_buf_cstr(&text, "{}]");
    int64_t want[200];
    for (int i = 0; i < 200; i++)
        want[i] = 1000 * i;
    check_devices(osc_buf_c_str(&text), want, 200);
    osc_buf_free(&text);
}

/* ---- links ---- */

/* Checks the operator, the rule and the launch of the slice called name. */
static void check_link(const char *trace, const char *name, const char *op, osc_link_rule rule,
                       const char *launch)
{
    osc_store *s = store_of(trace);
    TAP_REQUIRE(s != NULL);
    osc_calls *c = calls_of(s);
    uint32_t slice = slice_named(s, c, name);
    TAP_REQUIRE(slice != OSC_NO_ROW);
    TAP_EQ_VIEW(name_of(c, osc_calls_op(c, slice)), op);
    TAP_EQ_U64(osc_calls_rule(c, slice), rule);
    TAP_EQ_VIEW(name_of(c, osc_calls_launch(c, slice)), launch);
    osc_calls_free(c);
    osc_store_free(s);
}

/* L05: an id holds across threads, and the call moves to its operator's thread (2.1 item 5). */
static void test_launch_on_another_thread(void)
{
    const char *trace = TRACE(
        OP("a0", 0, 10, 5) "," EV("cuda_runtime", "launch", 1, 140213, 2, 3,
                                  "\"External id\":5,\"correlation\":7") "," KERNEL(20, 4, 5, 7));
    static const char *const parents[][2] = {{"launch", "a0"}};
    check_parents(trace, parents, 1);
    check_link(trace, "k", "a0", OSC_LINK_EXTERNAL_ID, "launch");
    check_link(trace, "launch", "a0", OSC_LINK_EXTERNAL_ID, "");
    osc_table *t = rows_of(trace, NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "a0", OSC_KA_SELF_CPU_NS), 7000);
    osc_table_free(t);
}

/* T09, L07: a kernel before its launch is linked all the same, by correlation. */
static void test_kernel_before_its_launch(void)
{
    const char *trace = TRACE(OP("a0", 0, 10, 1) "," EV(
        "cuda_runtime", "launch", 1, 1, 5, 2,
        "\"External id\":30,\"correlation\":30") "," KERNEL(4, 2, 30, 30));
    check_link(trace, "k", "a0", OSC_LINK_CORRELATION, "launch");
    check_link(trace, "launch", "a0", OSC_LINK_CONTAINMENT, "");
}

/* L10: all kernels of a graph launch carry its correlation and the id of the operator around it. */
static void test_graph_launch(void)
{
    static const int64_t want[] = {9000};
    check_devices(
        TRACE(OP("a0", 0, 10, 5) "," EV(
            "cuda_runtime", "cudaGraphLaunch", 1, 1, 2, 3,
            "\"External id\":5,\"correlation\":7") "," KERNEL(20, 4, 5,
                                                              7) "," KERNEL(24, 3, 5,
                                                                            7) "," KERNEL(28, 2, 5,
                                                                                          7)),
        want, 1);
}

/* R11: an annotation on an XPU is no kernel of the range it shows, although it carries its id. */
static void test_xpu_annotation(void)
{
    osc_table *t = rows_of(
        TRACE(EV("user_annotation", "step", 1, 1, 0, 50, "\"External id\":5") "," OP(
            "a0", 5, 10,
            6) "," EV("xpu_runtime", "launch", 1, 1, 6, 1,
                      "\"External id\":6,\"correlation\":9") "," KERNEL(10, 100, 6,
                                                                        9) "," EV("gpu_user_"
                                                                                  "annotation",
                                                                                  "step", 0, 7, 10,
                                                                                  100,
                                                                                  "\"External "
                                                                                  "id\":5")),
        NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "step", OSC_KA_TOTAL_DEVICE_NS), 100000);
    TAP_EQ_I64(osc_table_fact_i64(t, "total_device_ns"), 100000);
    TAP_OK(row_named(t, "k", "XPU") != UINT32_MAX);
    osc_table_free(t);
}

/* ---- order ---- */

/* Reads a made-up list of operators: count of them, at(i) saying when each starts and how long
 * it is. */
static osc_store *made_up(uint32_t count, osc_slice_row (*at)(uint32_t i))
{
    osc_store *s = osc_store_new();
    osc_err err = {0};
    if (!s)
        return NULL;
    uint32_t name = osc_store_intern(s, OSC_STR("a"));
    osc_store_add_track(s, &(osc_track_row){.thread = 0});
    for (uint32_t i = 0; i < count; i++) {
        osc_slice_row row = at(i);
        row.name = name;
        row.kind = OSC_KIND_CPU_OP;
        osc_store_add_slice(s, &row);
    }
    TAP_EQ_STATUS(osc_store_seal(s, &err), OSC_OK);
    return s;
}

static osc_slice_row descending(uint32_t i)
{
    return (osc_slice_row){
        .start_ns = 10 * (300000 - (int64_t)i), .dur_ns = 5, .order = UINT32_MAX};
}

static osc_slice_row all_equal(uint32_t i)
{
    return (osc_slice_row){.start_ns = 7, .dur_ns = 5, .order = 300000 - i};
}

static osc_slice_row scattered(uint32_t i)
{
    return (osc_slice_row){.start_ns = (int64_t)(i * 2654435761u >> 12), /* Knuth's multiplier */
                           .dur_ns = (int64_t)(i % 3),
                           .order = UINT32_MAX};
}

static bool in_order(const osc_store *store, uint32_t a, uint32_t b)
{
    const osc_slice_cols *s = osc_store_slice(store);
    if (s->start_ns[a] != s->start_ns[b])
        return s->start_ns[a] < s->start_ns[b];
    if (s->dur_ns[a] != s->dur_ns[b])
        return s->dur_ns[a] > s->dur_ns[b];
    return s->order[a] != s->order[b] ? s->order[a] < s->order[b] : a < b;
}

/* S06: any order of the file, in O(n log n) and without recursion; every slice once. */
static void check_order(osc_slice_row (*at)(uint32_t i))
{
    enum { COUNT = 300000 };
    osc_store *s = made_up(COUNT, at);
    TAP_REQUIRE(s != NULL);
    osc_calls *c = calls_of(s);
    uint32_t count, wrong = 0;
    uint64_t sum = 0;
    const uint32_t *order = osc_calls_order(c, &count);
    TAP_EQ_U64(count, COUNT);
    for (uint32_t i = 0; i < count; i++) {
        wrong += i > 0 && !in_order(s, order[i - 1], order[i]);
        sum += order[i];
    }
    TAP_EQ_U64(wrong, 0);
    TAP_EQ_U64(sum, (uint64_t)COUNT * (COUNT - 1) / 2);
    osc_calls_free(c);
    osc_store_free(s);
}

static void test_order(void)
{
    check_order(descending);
    check_order(all_equal);
    check_order(scattered);
}

/* ---- memory ---- */

static bool build_once(void *context)
{
    osc_calls *c = NULL;
    osc_err err = {0};
    osc_calls_options options = {.python = OSC_PYTHON_NO};
    osc_status status = osc_calls_build(context, &options, &c, &err);
    TAP_OK((c != NULL) == (status == OSC_OK));
    osc_calls_free(c);
    return status == (osc_mem_refused() > 0 ? OSC_ENOMEM : OSC_OK);
}

/* Every allocation failing in turn: repeated numbers, disorder and sums above 32 bits included. */
static void test_out_of_memory(void)
{
    osc_store *s =
        store_of(TRACE(OP("b", 20, 10, 2) "," OP("a", 0, 10, 1) "," OP("a", 30, 10, 1) "," LAUNCH(
            1, 1, 5) "," LAUNCH(1, 1, 5) "," KERNEL(2, 3, 1, 5) "," KERNEL(2, 5000000, 2,
                                                                           2) "," OP("c", 5, 1,
                                                                                     9)));
    TAP_REQUIRE(s != NULL);
    TAP_OK(tap_oom_sweep(build_once, s, 200));
    osc_store_free(s);
}

/* An operator whose kernels last longer than 32 bits of nanoseconds hold. */
static void test_long_kernels(void)
{
    static const int64_t want[] = {10000000000, 7000};
    check_devices(TRACE(OP("a0", 0, 10, 1) "," OP("a1", 20, 10, 2) "," KERNEL(
                      0, 4000000, 1, 81) "," KERNEL(0, 6000000, 1, 82) "," KERNEL(0, 7, 2, 83)),
                  want, 2);
}

int main(void)
{
    TAP_RUN(test_nesting);
    TAP_RUN(test_link_by_external_id);
    TAP_RUN(test_link_by_correlation);
    TAP_RUN(test_refuted_ids);
    TAP_RUN(test_no_id);
    TAP_RUN(test_device_annotations);
    TAP_RUN(test_duplicates);
    TAP_RUN(test_many_duplicates);
    TAP_RUN(test_memory);
    TAP_RUN(test_names);
    TAP_RUN(test_python_rows_by_era);
    TAP_RUN(test_demangling);
    TAP_RUN(test_merged_ranks);
    TAP_RUN(test_wrapped_ids);
    TAP_RUN(test_sparse_ids);
    TAP_RUN(test_launch_on_another_thread);
    TAP_RUN(test_kernel_before_its_launch);
    TAP_RUN(test_graph_launch);
    TAP_RUN(test_xpu_annotation);
    TAP_RUN(test_order);
    TAP_RUN(test_long_kernels);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
