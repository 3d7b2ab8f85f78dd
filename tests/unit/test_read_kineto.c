/* test_read_kineto.c - the trace reader: eras, writers, damage. Letters are known-bad-inputs.md. */
#include "scope_support.h"

#include "base/mem.h"

#define OP(name, ts, dur, idx) EV("cpu_op", name, 1, 1, ts, dur, "\"Ev Idx\":" #idx)

static void test_one_event(void)
{
    osc_store *s = store_of(
        "{\"baseTimeNanoseconds\":1000000000,\"host_name\":\"vm\",\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":8,\"args\":{\"name\":\"main\"}}"
        "," EV("cpu_op", "aten::mul", 7, 8, 12.345, 1.5,
               "\"External id\":3,\"Ev Idx\":0,\"Input Dims\":[[4,512],[],5,[[1],[2]]]") "]}");
    TAP_REQUIRE(s != NULL);
    const osc_slice_cols *c = osc_store_slice(s);
    TAP_EQ_U64(c->count, 1);
    TAP_EQ_I64(c->start_ns[0], 1000012345);
    TAP_EQ_I64(c->dur_ns[0], 1500);
    TAP_EQ_I64(c->external_id[0], 3);
    TAP_EQ_U64(c->kind[0], OSC_KIND_CPU_OP);
    TAP_EQ_VIEW(osc_store_text(s, c->shapes[0]), "[[4, 512], [], []]");
    TAP_EQ_VIEW(osc_store_text(s, osc_store_track(s)->name[0]), "vm/PID:7/framework/TID:8");
    TAP_EQ_VIEW(osc_store_text(s, osc_store_track(s)->label[0]), "main");
    osc_store_free(s);
}

static int64_t start_of(const char *trace)
{
    osc_store *s = store_of(trace);
    int64_t start = s && osc_store_slice(s)->count == 1 ? osc_store_slice(s)->start_ns[0] : -1;
    osc_store_free(s);
    return start;
}

/* 1.4: every form of a time stamp, exact. */
static void test_times(void)
{
    TAP_EQ_I64(start_of(TRACE(OP("a", 1683564901548726, 0, 0))), 1683564901548726000);
    TAP_EQ_I64(start_of(TRACE(OP("a", 1712345678901234.567, .001, 0))),
               1712345678901234567); /* T04 */
    TAP_EQ_I64(start_of(TRACE(OP("a", 1e3, 1, 0))), 1000000);
    TAP_EQ_I64(start_of(TRACE(OP("a", "12.5", 1, 0))), 12500);
    TAP_EQ_I64(start_of("{\"traceEvents\":[" OP("a", 5, 1, 0) "],\"baseTimeNanoseconds\":100}"),
               5100);
}

static void test_lanes_of_a_neuron_trace(void)
{
    /* clang-format off */
    static const char events[] =
        TRACE(EV("cpu_op", "aten::mul", 9, 9, 0, 5, "\"External id\":2") ","
              EV("privateuse1_runtime", "nrta_execute_schedule", 9, 9, 1, 1,
                 "\"External id\":2,\"nrt_sequence_id\":281474976710685") ","
              EV("kernel", "nc aten::mul", 0, 4, 2, 9, "\"External id\":2,\"exec_id\":6") ","
              "{\"ph\":\"X\",\"cat\":\"privateuse1_driver\",\"name\":\"aten::mul\","
              "\"pid\":0,\"tid\":\"Stream 4\",\"ts\":2,\"dur\":9,"
              "\"args\":{\"opscope_lane\":1}}");
    /* clang-format on */
    osc_store *s = store_of(events);
    TAP_REQUIRE(s != NULL);
    const osc_slice_cols *c = osc_store_slice(s);
    const osc_track_cols *t = osc_store_track(s);
    TAP_REQUIRE(c->count == 4);
    TAP_EQ_VIEW(osc_store_text(s, t->lane[c->track[1]]), "framework/TID:9");
    TAP_EQ_VIEW(osc_store_text(s, t->lane[c->track[2]]), "neuron_hw/NC:0");
    TAP_EQ_VIEW(osc_store_text(s, t->lane[c->track[3]]), "framework/Stream:4");
    TAP_EQ_VIEW(osc_store_text(s, t->name[c->track[3]]), "local/PID:9/framework/Stream:4");
    TAP_EQ_U64(c->kind[3], OSC_KIND_LANE);
    TAP_EQ_U64(osc_store_launch(s)->count, 2);
    TAP_EQ_U64(osc_store_launch(s)->sequence_id[0], 281474976710685u);
    TAP_EQ_I64(osc_store_launch(s)->exec_id[1], 6);
    osc_store_free(s);
}

static void test_old_names(void)
{
    osc_store *s = store_of(
        "[{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"a\",\"pid\":1,\"tid\":\"stream 7\","
        "\"ts\":1,\"dur\":2,\"args\":{\"external id\":\"5\"}}]");
    TAP_REQUIRE(s != NULL);
    TAP_EQ_U64(osc_store_slice(s)->kind[0], OSC_KIND_CPU_OP);
    TAP_EQ_I64(osc_store_slice(s)->external_id[0], 5);
    osc_store_free(s);
}

/* The lanes of L01, L04: thread numbers above 32 bits, negative, equal as number and text. */
static void test_thread_numbers(void)
{
    osc_store *s = store_of(TRACE(
        EV("cpu_op", "a", 1, 4294967297, 1, 1, "") "," EV("cpu_op", "b", 1, 1, 1, 1, "") "," EV(
            "cpu_op", "c", 1, -1847234, 1, 1, "") "," EV("cpu_op", "d", 1, 1.0, 1, 1, "")));
    TAP_REQUIRE(s != NULL);
    TAP_EQ_U64(osc_store_track(s)->count, 3);
    TAP_EQ_I64(osc_store_track(s)->number[0], 4294967297);
    TAP_EQ_U64(osc_store_slice(s)->track[1], osc_store_slice(s)->track[3]);
    osc_store_free(s);
}

static void check_events(const char *what, const char *trace, uint32_t slices, const char *code)
{
    osc_store *s = store_of(trace);
    if (!s)
        return;
    TAP_OKF(osc_store_slice(s)->count == slices, "%s: %u slices for %u", what,
            osc_store_slice(s)->count, slices);
    if (code)
        TAP_OKF(noted(s, code) > 0, "%s: no finding %s", what, code);
    else
        TAP_OKF(osc_store_finding(s)->count <= 1, "%s: %u findings", what,
                osc_store_finding(s)->count);
    osc_store_free(s);
}

static void test_damage(void)
{
    check_events("J02 bare quote", TRACE(OP("say \"hi\" now", 1, 1, 0)), 1, "bare_quote");
    check_events("J02 raw newline", TRACE(OP("two\nlines", 1, 1, 0)), 1, NULL);
    check_events("J03 bad UTF-8", TRACE(OP("\x10\xd6\x07\xc4\xff", 1, 1, 0)), 1, NULL);
    check_events("J07 inf",
                 TRACE(EV("gpu_memcpy", "m", 0, 7, 1, 0, "\"memory bandwidth (GB/s)\": inf")), 1,
                 "bare_word");
    check_events("J09 commas", TRACE(OP("a", 1, 1, 0) ",," OP("b", 2, 1, 1) ","), 2, "stray_comma");
    check_events("J10 tail", "{\"traceEvents\":[" OP("a", 1, 1, 0) "],\"ERROR\":[\"x\" y]", 1,
                 "damaged_tail");
    check_events("J11 bracket in a text",
                 "{\"traceEvents\":[" OP("a", 1, 1, 0) "],\"traceName\":\"a]b\"}", 1, NULL);
    check_events("J12 large number",
                 TRACE(EV("cpu_op", "a", 1, 1, 1, 1, "\"Comms Id\": 18446744073709551615")), 1,
                 NULL);
    check_events("J13 bare array", "[" OP("a", 1, 1, 0), 1, "unclosed_list");
    check_events("J16 BOM", "\xef\xbb\xbf" TRACE(OP("a", 1, 1, 0)), 1, NULL);
    check_events(
        "J17 args no object",
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":[]}]", 1,
        NULL);
    check_events("T06 negative", TRACE(OP("a", 1, -3, 0)), 1, "negative_duration");
    check_events("P03 no dur", "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1}]", 1,
                 "no_duration");
    check_events("P04 nested", "{\"traceEvents\":{\"traceEvents\":[]}}", 0, "nested_trace_events");
    check_events("P05 unknown phase",
                 "[{\"ph\":\"Q\"},{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]", 1,
                 "unknown_phase");
    check_events("U02 blanks", "\n\r\n " TRACE(OP("a", 1, 1, 0)) "\n", 1, NULL);
    check_events("U03 escaped key",
                 "[{\"\\u0070h\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1}]", 1,
                 NULL);
    check_events(
        "lost event",
        "[{\"ph\":\"X\",\"name\":\"x\" \"y\":1, {\"ph\":\"X\",\"name\":\"b\",\"ts\":1,\"dur\":1}]",
        1, "resync");
}

static void test_names_merge_after_unescaping(void)
{
    osc_store *s = store_of(TRACE(OP("a\\u0062", 1, 1, 0) "," OP("ab", 3, 1, 1))); /* U04 */
    TAP_REQUIRE(s != NULL);
    TAP_EQ_U64(osc_store_slice(s)->name[0], osc_store_slice(s)->name[1]);
    osc_store_free(s);
}

static void test_what_is_no_trace(void)
{
    osc_kineto_context context = {.input = "x.json"};
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "empty trace file"},
        {"PK\x03\x04",
         "not a trace: expected '{' or '[' at byte 0, found 'P' (is it a zip archive?)"},
        {"\x01", "not a trace: expected '{' or '[' at byte 0, found byte 0x01"},
        {"\xff\xfe{", "UTF-16 text; save it as UTF-8, e.g. iconv -f UTF-16 -t UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        osc_err err = {0};
        osc_store *store = osc_store_new();
        TAP_REQUIRE(store != NULL);
        TAP_EQ_STATUS(osc_kineto_read(store, cases[i].text, strlen(cases[i].text), &context, &err),
                      OSC_EFORMAT);
        TAP_EQ_STR(err.message, cases[i].message);
        osc_store_free(store);
    }
}

/* J15: cut anywhere, the complete events are a prefix, and the cut is noted. */
static void test_cut_everywhere(void)
{
    const char *whole = TRACE(
        OP("a", 1, 1, 0) "," OP("b\\n", 2, 1, 1) "," EV("kernel", "k", 0, 7, 3, 1, "\"x\":[{}]"));
    size_t len = strlen(whole);
    uint32_t before = 0;
    for (size_t cut = 1; cut < len; cut++) {
        osc_store *s = store_of_bytes(whole, cut);
        TAP_REQUIRE(s != NULL);
        uint32_t count = osc_store_slice(s)->count;
        TAP_OKF(count >= before && count <= 3, "cut at %zu: %u events after %u", cut, count,
                before);
        TAP_OKF(noted(s, "truncated") + noted(s, "damaged_tail") == 1, "cut at %zu: not noted",
                cut);
        before = count;
        osc_store_free(s);
    }
    TAP_EQ_U64(before, 3);
}

static bool read_once(void *context)
{
    (void)context;
    const char *text = TRACE(OP("a", 1, 1, 0) "," OP(
        "b\\u0041", 2, 1, 1) ",{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,"
                             "\"args\":{\"Bytes\":5,\"Device Type\":0}}");
    osc_kineto_context c = {.input = "t"};
    osc_err err = {0};
    osc_store *store = osc_store_new();
    if (!store)
        return true;
    osc_status status = osc_kineto_read(store, text, strlen(text), &c, &err);
    if (status == OSC_OK)
        status = osc_store_seal(store, &err);
    osc_store_free(store);
    return status == (osc_mem_refused() > 0 ? OSC_ENOMEM : OSC_OK);
}

static void test_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(read_once, NULL, 500));
}

int main(void)
{
    TAP_RUN(test_one_event);
    TAP_RUN(test_times);
    TAP_RUN(test_lanes_of_a_neuron_trace);
    TAP_RUN(test_old_names);
    TAP_RUN(test_thread_numbers);
    TAP_RUN(test_damage);
    TAP_RUN(test_names_merge_after_unescaping);
    TAP_RUN(test_what_is_no_trace);
    TAP_RUN(test_cut_everywhere);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
