/*
 * test_analysis_calltree.c - nesting, links and memory as PyTorch has them. Numbers are sections of
 * kineto-trace-format.md, letters entries of known-bad-inputs.md.
 */
#include "scope_support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "scope/analysis/calltree.h"
#include "scope/analysis/demangle.h"

#include <stdio.h>

#define OP(name, ts, dur, id) \
    EV("cpu_op", name, 1, 1, ts, dur, "\"External id\":" #id ",\"Ev Idx\":" #id)
#define LAUNCH(ts, id, corr)                            \
    EV("cuda_runtime", "cudaLaunchKernel", 1, 1, ts, 1, \
       "\"External id\":" #id ",\"correlation\":" #corr)
#define KERNEL(ts, dur, id, corr) \
    EV("kernel", "k", 0, 7, ts, dur, "\"External id\":" #id ",\"correlation\":" #corr)

/* Parent's name of the node called name ("" at top level, "?" when there is no such node). */
static osc_str parent_of(const osc_calltree *t, const char *name)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const osc_calltree_node *n = &t->nodes[i];
        if (n->gone || !osc_str_eq_cstr(osc_intern_get(t->names, n->name), name))
            continue;
        return n->parent == OSC_NO_ROW ? (osc_str){0}
                                       : osc_intern_get(t->names, t->nodes[n->parent].name);
    }
    return OSC_STR("?");
}

static void check_parents(const char *trace, const char *const pairs[][2], size_t count)
{
    static const osc_calltree_options options = {.python = OSC_PYTHON_NO};
    osc_store *s = store_of(trace);
    osc_calltree t;
    osc_err err = {0};
    TAP_REQUIRE(s != NULL);
    TAP_EQ_STATUS(osc_calltree_build(s, &options, &t, &err), OSC_OK);
    for (size_t i = 0; i < count; i++) {
        osc_str parent = parent_of(&t, pairs[i][0]);
        TAP_OKF(osc_str_eq_cstr(parent, pairs[i][1]), "%s is in '%.*s', not in '%s'", pairs[i][0],
                OSC_STR_FMT(parent), pairs[i][1]);
    }
    osc_calltree_free(&t);
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

/* 1.9, PyTorch 1.11 to 2.2: the id repeats the correlation; the way is launch and containment (L07). */
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
    static const osc_ka_options automatic = {.tree = {.python = OSC_PYTHON_AUTO}};
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
    if (!d.library) {
        tap_skip("libstdc++.so.6 is not installed");
        return;
    }
    TAP_EQ_STR(plain ? plain : "", "at::native::copy(int)");
    osc_free(plain);
    TAP_OK(osc_demangle(&d, OSC_STR("_Znot a symbol")) == NULL);
    osc_demangler_close(&d);
}

static bool build_once(void *context)
{
    osc_calltree t;
    osc_err err = {0};
    osc_calltree_options options = {.python = OSC_PYTHON_NO};
    osc_status status = osc_calltree_build(context, &options, &t, &err);
    osc_calltree_free(&t);
    return status == (osc_mem_refused() > 0 ? OSC_ENOMEM : OSC_OK);
}

static void test_out_of_memory(void)
{
    osc_store *s = store_of(
        TRACE(OP("a", 0, 10, 1) "," LAUNCH(1, 1, 5) "," KERNEL(2, 3, 1, 5) "," MEM(3, 9, 0)));
    TAP_REQUIRE(s != NULL);
    TAP_OK(tap_oom_sweep(build_once, s, 200));
    osc_store_free(s);
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
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
