/*
 * test_analysis_check.c - every check both ways: a trace on which it fires and one on which it does not.
 *
 * docs/checks.md lists the checks from their table; with OPSCOPE_REGEN_DOCS=1 it is rewritten instead of compared.
 */
#include "scope_support.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "scope/analysis/check.h"
#include "scope/read/open.h"

#include <stdio.h>
#include <stdlib.h>

#define OP(name, ts, dur, id) EV("cpu_op", name, 1, 1, ts, dur, "\"External id\":" #id)
#define LAUNCH(ts, id, corr)                            \
    EV("cuda_runtime", "cudaLaunchKernel", 1, 1, ts, 1, \
       "\"External id\":" #id ",\"correlation\":" #corr)
#define KERNEL(name, ts, dur, id, corr) \
    EV("kernel", name, 0, 7, ts, dur, "\"External id\":" #id ",\"correlation\":" #corr)
#define CALL(name, ts)   EV("cuda_runtime", name, 1, 1, ts, 1, "\"External id\":1")
#define STEP(n, ts, dur) EV("user_annotation", "ProfilerStep#" #n, 1, 1, ts, dur, "")

/* An operator with one launch and its kernel: nothing is wrong with it. */
#define FINE OP("op", 0.25, 20, 1) "," LAUNCH(1, 1, 7) "," KERNEL("k", 3, 5, 1, 7)

/* Row of a check, UINT32_MAX when it is not listed. */
static uint32_t row_of(const osc_table *t, const char *name)
{
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        if (osc_str_eq_cstr(osc_table_cell(t, r, OSC_CHECK_NAME).str, name))
            return r;
    }
    return UINT32_MAX;
}

static osc_table *checked(const osc_store *store, const osc_check_options *options)
{
    static const osc_check_options all;
    osc_table *t = NULL;
    osc_err err = {0};
    if (store && osc_check(store, options ? options : &all, &t, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "no checks: %s", err.message);
    return t;
}

/* A count that depends on how the reader finds its way back. */
#define SOME INT64_C(-1)

/* The verdict of one check on a store, which is freed, and how many cases. */
static void expect_store(const char *check, const char *verdict, int64_t count, osc_store *store)
{
    osc_table *t = checked(store, NULL);
    uint32_t row = t ? row_of(t, check) : UINT32_MAX;
    TAP_OKF(row != UINT32_MAX, "no check %s", check);
    if (row != UINT32_MAX) {
        osc_str got = osc_table_cell(t, row, OSC_CHECK_VERDICT).str;
        osc_str why = osc_table_cell(t, row, OSC_CHECK_EVIDENCE).str;
        int64_t cases = osc_table_cell(t, row, OSC_CHECK_COUNT).i64;
        TAP_OKF(osc_str_eq_cstr(got, verdict) && (cases == count || (count == SOME && cases > 0)),
                "%s: %.*s with %lld cases (%.*s), not %s with %lld", check, OSC_STR_FMT(got),
                (long long)cases, OSC_STR_FMT(why), verdict, (long long)count);
        TAP_OKF(why.len > 0, "%s: no evidence", check);
        bool advised = osc_table_cell(t, row, OSC_CHECK_ADVICE).str.len > 0;
        TAP_OKF(advised == (cases > 0 || !osc_str_eq_cstr(got, "ok")), "%s: advice", check);
    }
    osc_table_free(t);
    osc_store_free(store);
}

static void expect(const char *check, const char *verdict, int64_t count, const char *trace)
{
    expect_store(check, verdict, count, store_of(trace));
}

static void test_all_is_well(void)
{
    uint32_t count;
    const osc_check_doc *docs = osc_check_docs(&count);
    osc_store *store = store_of("{\"host_name\":\"h\",\"traceEvents\":[" FINE "]}");
    osc_table *t = checked(store, NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_U64(osc_table_rows(t), count - 1); /* but the one over ranks */
    for (uint32_t i = 0; i + 1 < count; i++) {
        uint32_t row = row_of(t, docs[i].name);
        TAP_OKF(row != UINT32_MAX &&
                    osc_str_eq_cstr(osc_table_cell(t, row, OSC_CHECK_VERDICT).str, "ok"),
                "%s is not ok", docs[i].name);
    }
    TAP_EQ_I64(osc_table_fact_i64(t, "failures"), 0);
    TAP_EQ_I64(osc_table_fact_i64(t, "warnings"), 0);
    osc_table_free(t);
    osc_store_free(store);
}

static void test_input(void)
{
    expect("truncated", "FAIL", 1, "{\"traceEvents\":[" FINE ",{\"ph\":\"X\",\"na");
    expect("empty", "warn", 1, TRACE("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}"));
    expect("damaged", "warn", 2, TRACE(FINE "," OP("say \"hi\" now", 30, 1, 2)));
    expect("damaged", "FAIL", SOME, TRACE(FINE ",{\"ph\":\"X\",\"ts\":, " OP("b", 30, 1, 2)));
    expect("left_out", "warn", 1, TRACE(FINE ",{\"ph\":\"Q\",\"name\":\"q\",\"ts\":1}"));
    expect("dropped", "FAIL", 12, "{\"dropped_events\":12,\"traceEvents\":[" FINE "]}");
    expect("names", "warn", 1, TRACE(FINE "," OP("unknown", 30, 1, 2)));
}

static void test_cap(void)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "[");
    for (unsigned i = 0; i < 100000; i++)
        osc_buf_printf(&text, "{\"ph\":\"X\",\"name\":\"a\",\"ts\":%u,\"dur\":1},", i * 2);
    osc_buf_cstr(&text, "]");
    expect("cap", "warn", 1, osc_buf_c_str(&text));
    osc_buf_free(&text);
}

/* n operators 3 us apart, each start formatted by one of two formats of the fraction in ns. */
static void expect_fractions(const char *verdict, int64_t count, bool padded)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "[");
    for (unsigned i = 0; i < 1500; i++) {
        osc_buf_printf(&text,
                       padded ? "{\"ph\":\"X\",\"name\":\"a\",\"ts\":%u.%03u,\"dur\":1},"
                              : "{\"ph\":\"X\",\"name\":\"a\",\"ts\":%u.%u,\"dur\":1},",
                       i * 3, 1 + (i * 7919u) % 999u);
    }
    osc_buf_cstr(&text, "]");
    expect("fractions", verdict, count, osc_buf_c_str(&text));
    osc_buf_free(&text);
}

static void test_times(void)
{
    expect("stamps", "FAIL", 1,
           TRACE(EV("kernel", "k0", 0, 7, 0, 0, "\"correlation\":3") "," OP("a", 1712345678901234,
                                                                            9, 1)));
    expect("stamps", "ok", 0, TRACE(EV("kernel", "k0", 0, 7, 0, 0, "") "," OP("a", 12, 9, 1)));
    expect("durations", "FAIL", 2, TRACE(OP("a", 1, -3, 1) "," OP("b", 10, -1.5, 2)));
    expect("precision", "warn", 1, TRACE(OP("a", 1, 3, 1) "," OP("b", 10, 0, 2)));
    expect("precision", "ok", 0, TRACE(OP("a", 1, 3, 1) "," OP("b", 10.001, 0, 2)));
    expect("unfinished", "warn", 1,
           TRACE(FINE "," EV("cpu_op", "u", 1, 2, 1, 9, "\"finished\":false")));
    expect_fractions("warn", 1500, false);
    expect_fractions("ok", 0, true);
}

/* Eleven kernels of 5 us, and one more of a given length. */
static void expect_outlier(const char *verdict, int64_t count, unsigned us)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "[");
    for (unsigned i = 0; i < 11; i++)
        osc_buf_printf(&text,
                       "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":"
                       "%u,\"dur\":5},",
                       i * 1000);
    osc_buf_printf(&text,
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"long\",\"pid\":0,\"tid\":7,\"ts\":"
                   "3500,\"dur\":%u}]",
                   us);
    expect("outliers", verdict, count, osc_buf_c_str(&text));
    osc_buf_free(&text);
}

static void test_outliers(void)
{
    expect_outlier("FAIL", 1, 20000); /* longer than the trace */
    expect_outlier("FAIL", 1, 6000);  /* covers six later ones */
    expect_outlier("ok", 0, 2000);    /* covers two */
}

static void test_nesting(void)
{
    expect("nesting", "warn", 1, TRACE(OP("a", 0, 10, 1) "," OP("b", 5, 7, 2)));
    expect("nesting", "ok", 0, TRACE(OP("a", 0, 10, 1) "," OP("b", 5, 5, 2) "," OP("c", 10, 7, 3)));
    expect("threads", "warn", 1,
           TRACE(EV("cpu_op", "a", 0, 0, 0, 10, "") "," EV("cpu_op", "b", 0, 0, 5, 10, "")));
    expect("threads", "ok", 0, TRACE(EV("cpu_op", "a", 1, 0, 0, 10, "")));
}

/* Frames that all end at 1000. */
static void expect_frames(const char *verdict, int64_t count, unsigned frames)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "[");
    for (unsigned i = 0; i < frames; i++)
        osc_buf_printf(&text,
                       "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f\",\"pid\":1,\"tid\":"
                       "1,\"ts\":%u,\"dur\":%u},",
                       i, 1000 - i);
    osc_buf_cstr(&text, OP("a", 990.5, 9.5, 1) "]");
    expect("frames", verdict, count, osc_buf_c_str(&text));
    osc_buf_free(&text);
}

static void test_frames(void)
{
    expect_frames("warn", 100, 100);
    expect_frames("ok", 0, 99);
}

static void test_steps(void)
{
    expect("steps", "warn", 1, TRACE(STEP(3, 0, 9) "," STEP(3, 20, 9)));
    expect("steps", "warn", 1, TRACE(STEP(3, 0, 9) "," STEP(5, 20, 9)));
    expect("steps", "ok", 0,
           TRACE(STEP(3, 0, 9) "," STEP(4, 20, 9) "," EV("gpu_user_annotation", "ProfilerStep#3", 0,
                                                         7, 3, 9, "")));
    expect("window", "warn", 1,
           TRACE(STEP(1, 0, 3) "," STEP(2, 10, 9) "," STEP(3, 20, 9) "," STEP(4, 30, 9) "," STEP(
               5, 40, 9)));
    expect("window", "ok", 0,
           TRACE(STEP(1, 0, 8) "," STEP(2, 10, 9) "," STEP(3, 20, 9) "," STEP(4, 30, 9) "," STEP(
               5, 40, 9)));
    expect("window", "warn", 1,
           TRACE(EV("user_annotation", "ProfilerStep#1", 1, 1, 0, 3, "\"finished\":\"false\"")));
    expect(
        "synchronize", "warn", 1,
        TRACE(STEP(1, 0, 9) "," OP("op", 1, 5, 1) "," LAUNCH(2, 1, 7) "," KERNEL("k", 8, 5, 1, 7)));
    expect("synchronize", "ok", 0,
           TRACE(STEP(1, 0, 19) "," OP("op", 1, 5, 1) "," LAUNCH(2, 1, 7) "," KERNEL("k", 8, 5, 1,
                                                                                     7)));
}

static void test_device(void)
{
    static const char memory[] =
        "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,"
        "\"ts\":5,\"args\":{\"Bytes\":64,\"Device Type\":1}}";
    osc_buf text;
    expect("device", "FAIL", 1, TRACE(OP("op", 0, 9, 1) "," LAUNCH(1, 1, 7)));
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_printf(&text, "[%s,%s]", OP("op", 0, 9, 1), memory);
    expect("device", "FAIL", 1, osc_buf_c_str(&text));
    osc_buf_free(&text);
    expect("device", "warn", 1,
           "{\"deviceProperties\":[{\"id\":0,\"name\":\"GPU X\"}],\"traceEvents\":[" OP("op", 0, 9,
                                                                                        1) "]}");
    expect("device", "warn", 1,
           TRACE(OP("op", 0, 9, 1) "," EV("cuda_runtime", "cudaMalloc", 1, 1, 1, 1, "")));
    expect("device", "ok", 0, TRACE(OP("op", 0, 9, 1)));
    expect("launches", "FAIL", 1, TRACE(FINE "," LAUNCH(0.5, 1, 6)));
    expect("launches", "FAIL", 1, TRACE(FINE "," LAUNCH(9, 1, 8)));
    expect("launches", "FAIL", 1,
           TRACE(FINE "," LAUNCH(2.5, 1, 8) "," LAUNCH(4, 1, 9) "," KERNEL("k", 9, 1, 1, 9)));
    expect("kernels", "warn", 1,
           TRACE(FINE "," EV("kernel", "k", 0, 7, 10, 3, "\"correlation\":99")));
    expect("linked", "FAIL", 1, TRACE(OP("op", 0, 9, 1) "," EV("kernel", "k", 0, 7, 10, 3, "")));
    expect(
        "linked", "warn", 2,
        TRACE(FINE "," EV("kernel", "k", 0, 7, 10, 3, "") "," EV("kernel", "k", 0, 7, 20, 3, "")));
    expect("order", "FAIL", 1,
           TRACE(OP("op", 0, 9, 1) "," LAUNCH(5, 1, 7) "," KERNEL("k", 4.5, 5, 1, 7)));
}

static void test_double(void)
{
    expect("overlap", "warn", 1,
           TRACE(EV("kernel", "a", 0, 7, 0, 10, "") "," EV("kernel", "b", 0, 7, 8, 12, "")));
    expect("overlap", "ok", 0,
           TRACE(EV("kernel", "a", 0, 7, 0, 10, "") "," EV("kernel", "b", 0, 8, 8, 12, "") "," EV(
               "kernel", "c", 0, 7, 10, 1, "")));
    expect("annotations", "warn", 1, TRACE(EV("kernel", "ProfilerStep#2", 0, 7, 0, 10, "")));
    expect("annotations", "ok", 0,
           TRACE(EV("gpu_user_annotation", "ProfilerStep#2", 0, 7, 0, 10, "")));
    expect("sync", "warn", 1, TRACE(EV("cuda_sync", "Context Sync", 0, 7, 0, 10, "")));
    expect("stream_sync", "warn", 1,
           TRACE(EV("kernel", "a", 0, 7, 0, 10, "") "," EV("cuda_sync", "Stream Sync", 0, 7, 5, 10,
                                                           "")));
    expect("stream_sync", "warn", 1,
           TRACE(EV("kernel", "a", 0, 7, 0, 10, "") "," EV("cuda_sync", "Stream Sync", 0, 1000007,
                                                           5, 10, "")));
    expect("stream_sync", "ok", 0,
           TRACE(EV("kernel", "a", 0, 7, 0, 10, "") "," EV("cuda_sync", "Stream Sync", 0, 8, 5, 10,
                                                           "")));
    expect("stream_sync", "ok", 0,
           TRACE(EV("kernel", "a", 0, 7, 0, 10, "") "," EV("cuda_sync", "Stream Sync", 1, 7, 5, 10,
                                                           "")));
}

static void test_ids(void)
{
    expect("ids", "FAIL", 1, TRACE(OP("a", 0, 5, 4) "," OP("b", 9, 5, 4)));
    expect("ids", "warn", 1,
           TRACE(OP("a", 0, 5, 4) "," LAUNCH(1, 7, 7) "," KERNEL(
               "k", 3, 5, 7, 7))); /* 1.9, PyTorch 1.11 to 2.2 */
    expect("ids", "warn", 1, TRACE(OP("a", 0, 5, -4)));
}

#define FLOW(ph, id, ts)                                               \
    "{\"ph\":\"" ph "\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":" id \
    ",\"pid\":1,\"tid\":1,\"ts\":" #ts "}"
#define BACKWARD(name, ts, seq)                                             \
    EV("cpu_op", "autograd::engine::evaluate_function: " name, 1, 1, ts, 5, \
       "\"Sequence number\":" #seq ",\"Fwd thread id\":1")

static void test_flows(void)
{
    expect("flows", "ok", 0,
           TRACE(FINE "," FLOW("s", "7", 1) "," FLOW("f", "7", 3) "," FLOW("f", "9", 4)));
    expect("flows", "warn", 1,
           TRACE(FINE "," FLOW("s", "7", 1) "," FLOW("s", "7", 2) "," FLOW("f", "7", 3)));
    expect("flows", "warn", 1, TRACE(FINE "," FLOW("s", "\"0x7\"", 1) "," FLOW("f", "7", 3)));
    expect("backward", "ok", 0,
           TRACE(BACKWARD("MulBackward0", 1, 3) "," BACKWARD("MulBackward0", 9, 3) "," BACKWARD(
               "AddBackward0", 20, 4)));
    expect("backward", "warn", 1,
           TRACE(BACKWARD("MulBackward0", 1, 3) "," BACKWARD("AddBackward0", 9, 3)));
}

/* The same for checks that read arguments again: the trace lies in a file. */
static void expect_file(const char *check, const char *verdict, int64_t count, const char *trace)
{
    static const osc_open_options options;
    char path[1024];
    osc_store *store = NULL;
    osc_err err = {0};
    snprintf(path, sizeof path, "%s/trace.json", tap_tmpdir());
    TAP_REQUIRE(osc_write_file_atomic(path, trace, strlen(trace), &err) == OSC_OK);
    TAP_REQUIRE(osc_open(path, &options, &store, &err) == OSC_OK);
    expect_store(check, verdict, count, store);
}

#define RECORD(ts, corr) \
    EV("cuda_runtime", "cudaEventRecord", 1, 1, ts, 1, "\"correlation\":" #corr)
#define WAIT(name, ts, corr) \
    EV("cuda_sync", name, 0, 7, ts, 1, "\"wait_on_cuda_event_record_corr_id\":" #corr)
#define COMMS(args) EV("cpu_op", "record_param_comms", 1, 1, 1, 9, args)
#define FOUR                                                                               \
    "\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":4,\"Out msg " \
    "nelems\":4"

static void test_args(void)
{
    expect_file("waits", "ok", 0, TRACE(RECORD(1, 5) "," WAIT("Stream Wait Event", 3, 5)));
    expect_file("waits", "warn", 1, TRACE(RECORD(1, 5) "," WAIT("Stream Wait Event", 3, -1)));
    expect_file("waits", "warn", 1, TRACE(RECORD(1, 5) "," WAIT("Stream Wait Event", 3, 6)));
    expect_file("waits", "warn", 1, TRACE(RECORD(4, 5) "," WAIT("Stream Wait Event", 3, 5)));
    expect_file("waits", "ok", 0, TRACE(WAIT("Event Sync", 3, 5)));
    expect_file("waits", "warn", 1, TRACE(WAIT("Event Sync", 3, -1)));
    expect_file("comms", "ok", 0, TRACE(COMMS(FOUR ",\"Group size\":2")));
    expect_file("comms", "warn", 1, TRACE(COMMS(FOUR)));
    expect("comms", "ok", 0, TRACE(FINE));
}

/* The table over ranks: two stores whose steps begin `apart` us from each other. */
static void expect_ranks(const char *verdict, const char *first, const char *second)
{
    static const osc_check_options all;
    osc_store *a = store_of(first), *b = store_of(second);
    osc_check_ranks *ranks = osc_check_ranks_new();
    osc_table *t = checked(a, NULL);
    TAP_REQUIRE(a && b && ranks && t);
    TAP_OK(osc_check_ranks_add(ranks, a, 0));
    osc_check_ranks_verdict(ranks, &all, t);
    TAP_EQ_U64(row_of(t, "rank_clocks"), UINT32_MAX); /* one rank: nothing to compare */
    TAP_OK(osc_check_ranks_add(ranks, b, 1));
    osc_check_ranks_verdict(ranks, &all, t);
    uint32_t row = row_of(t, "rank_clocks");
    TAP_REQUIRE(row != UINT32_MAX);
    TAP_EQ_VIEW(osc_table_cell(t, row, OSC_CHECK_VERDICT).str, verdict);
    osc_check_ranks_free(ranks);
    osc_table_free(t);
    osc_store_free(a);
    osc_store_free(b);
}

#define BASE "{\"baseTimeNanoseconds\":1767189312000000000,\"traceEvents\":["

static void test_ranks(void)
{
    expect_ranks("ok", BASE STEP(1, 10, 90) "]}", BASE STEP(1, 60, 90) "]}");
    expect_ranks("FAIL", BASE STEP(1, 10, 90) "]}", BASE STEP(1, 160, 90) "]}");
    expect_ranks("FAIL", BASE STEP(1, 10, 90) "]}", TRACE(STEP(1, 10, 90)));
    expect_ranks("warn", TRACE(STEP(1, 10, 90)), TRACE(STEP(1, 10, 90)));
    expect_ranks("warn", BASE EV("kernel", "ncclKernel_AllReduce", 0, 7, 10, 5, "") "]}",
                 BASE EV("kernel", "ncclKernel_AllReduce", 0, 7, 5010, 5, "") "]}");
    expect_ranks("ok", BASE EV("kernel", "ncclKernel_AllReduce", 0, 7, 10, 5, "") "]}",
                 BASE EV("kernel", "ncclKernel_AllReduce", 0, 7, 14, 2, "") "]}");
}

static void test_only_and_allow(void)
{
    static const char *const allow[] = {"order", "device"};
    osc_store *store =
        store_of(TRACE(OP("op", 0, 9, 1) "," LAUNCH(5, 1, 7) "," KERNEL("k", 4.5, 5, 1, 7)));
    osc_table *t = checked(store, &(osc_check_options){.only = "order"});
    TAP_REQUIRE(t != NULL);
    TAP_EQ_U64(osc_table_rows(t), 1);
    TAP_EQ_I64(osc_table_fact_i64(t, "failures"), 1);
    osc_table_free(t);
    t = checked(store, &(osc_check_options){.allow = allow, .allow_count = 2});
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(osc_table_fact_i64(t, "failures"), 0);
    TAP_EQ_I64(osc_table_fact_i64(t, "warnings"), 1);
    TAP_EQ_I64(osc_table_cell(t, row_of(t, "order"), OSC_CHECK_COUNT).i64, 1);
    osc_table_free(t);
    osc_store_free(store);
}

/* Memory runs out at each allocation in turn: a clean error, nothing leaked (the sanitizers see that). */
static void test_no_memory(void)
{
    static const osc_check_options all;
    osc_store *store =
        store_of(TRACE(FINE "," STEP(3, 0, 40) "," COMMS(FOUR) "," WAIT("Event Sync", 3, -1)));
    TAP_REQUIRE(store != NULL);
    int64_t n = 0;
    for (bool done = false; !done && n < 10000; n++) {
        osc_table *t = NULL;
        osc_err err = {0};
        osc_mem_fail_after(n);
        osc_status status = osc_check(store, &all, &t, &err);
        done = osc_mem_refused() == 0;
        osc_mem_fail_after(-1);
        TAP_OKF(done ? status == OSC_OK : status == OSC_ENOMEM && t == NULL,
                "allocation %lld: status %d", (long long)n, (int)status);
        osc_table_free(t);
    }
    TAP_OK(n > 10);
    osc_store_free(store);
}

/* ---- docs/checks.md ---- */

static void render(osc_buf *out)
{
    uint32_t count;
    const osc_check_doc *docs = osc_check_docs(&count);
    osc_buf_cstr(out,
                 "| check | what should hold | worst | what it looks at |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < count; i++)
        osc_buf_printf(out, "| `%s` | %s | %s | %s |\n", docs[i].name, docs[i].title, docs[i].worst,
                       docs[i].looks);
}

static void test_page(void)
{
    static const char begin[] = "<!-- begin generated: checks -->\n";
    static const char end[] = "<!-- end generated -->\n";
    char path[1024], *data = NULL;
    size_t len = 0;
    osc_err err = {0};
    osc_buf page;
    snprintf(path, sizeof path, "%s/docs/checks.md", tap_source_dir());
    TAP_REQUIRE(osc_read_file(path, 1u << 20, &data, &len, &err) == OSC_OK);
    const char *from = strstr(data, begin), *to = strstr(data, end);
    TAP_REQUIRE(from && to && from < to);
    osc_buf_init(&page, SIZE_MAX);
    osc_buf_append(&page, data, (size_t)(from - data) + sizeof begin - 1);
    render(&page);
    osc_buf_cstr(&page, to);
    const char *regen = getenv("OPSCOPE_REGEN_DOCS");
    if (regen && strcmp(regen, "1") == 0)
        TAP_OK(osc_write_file_atomic(path, page.data, page.len, &err) == OSC_OK);
    else
        TAP_OKF(page.len == len && memcmp(page.data, data, len) == 0,
                "docs/checks.md is old; run with OPSCOPE_REGEN_DOCS=1");
    osc_buf_free(&page);
    osc_free(data);
}

int main(void)
{
    TAP_RUN(test_all_is_well);
    TAP_RUN(test_input);
    TAP_RUN(test_cap);
    TAP_RUN(test_times);
    TAP_RUN(test_outliers);
    TAP_RUN(test_nesting);
    TAP_RUN(test_frames);
    TAP_RUN(test_steps);
    TAP_RUN(test_device);
    TAP_RUN(test_double);
    TAP_RUN(test_ids);
    TAP_RUN(test_flows);
    TAP_RUN(test_args);
    TAP_RUN(test_ranks);
    TAP_RUN(test_only_and_allow);
    TAP_RUN(test_no_memory);
    TAP_RUN(test_page);
    return tap_done();
}
