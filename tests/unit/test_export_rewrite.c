/* scope/export: repair.h, rewrite.h, cut.h. Letters are known-bad-inputs.md. */
#include "scope_support.h"

#include "base/io.h"
#include "base/mem.h"
#include "scope/export/cut.h"
#include "scope/export/repair.h"
#include "scope/export/rewrite.h"
#include "scope/read/open.h"

#include <stdio.h>

/* ---- one value ---- */

/* Repairs text and compares; what comes out must itself need no repair. */
static void check_repair(const char *text, size_t len, const char *want)
{
    osc_buf out, again;
    osc_buf_init(&out, SIZE_MAX);
    osc_buf_init(&again, SIZE_MAX);
    bool changed = osc_repair_value(osc_str_make(text, len), &out);
    TAP_EQ_VIEW(osc_buf_view(&out), want);
    TAP_OK(changed == (len != strlen(want) || memcmp(text, want, len) != 0));
    TAP_OK(!osc_repair_value(osc_buf_view(&out), &again));
    TAP_EQ_VIEW(osc_buf_view(&again), want);
    osc_buf_free(&out);
    osc_buf_free(&again);
}

#define REPAIR(text, want) check_repair((text), sizeof(text) - 1, (want))

static void test_fine_values_stay(void)
{
    REPAIR("{ \"a\" : [1, -2.5e3, true, null, {}] ,\n \"b\": \"x\\u00e9\\n\" }",
           "{ \"a\" : [1, -2.5e3, true, null, {}] ,\n \"b\": \"x\\u00e9\\n\" }");
    REPAIR("{\"a\": 1, \"a\": 2}", "{\"a\": 1, \"a\": 2}"); /* U03 */
    REPAIR("\"\"", "\"\"");
}

static void test_strings_repaired(void)
{
    REPAIR("{\"name\": \"C:\\Users\\p.py\"}", "{\"name\": \"C:\\\\Users\\\\p.py\"}"); /* J01 */
    REPAIR("{\"name\": \"say \"hi\" to\", \"n\": 1}",
           "{\"name\": \"say \\\"hi\\\" to\", \"n\": 1}"); /* J02 */
    REPAIR("{\"name\": \"a\nb\"}", "{\"name\": \"a\\nb\"}");
    REPAIR("{\"name\": \"g\x10\xd6\x07\xc4\xff/\"}",
           "{\"name\": \"g\\u0010\xef\xbf\xbd\\u0007\xef\xbf\xbd\xef\xbf\xbd/\"}"); /* J03 */
    REPAIR("{\"name\": \"S\x01(1)\"}", "{\"name\": \"S\\u0001(1)\"}");              /* J04 */
    REPAIR("[\"\\ud800\"]", "[\"\xef\xbf\xbd\"]");                                  /* U04 */
    REPAIR("[\"\\udc00x\"]", "[\"\xef\xbf\xbdx\"]");
    REPAIR("[\"\\ud83d\\ude00\"]", "[\"\\ud83d\\ude00\"]");
}

static void test_numbers_and_words_repaired(void)
{
    REPAIR("{\"bw\": inf, \"b\": -inf, \"c\": N/A, \"d\": NaN}",
           "{\"bw\": null, \"b\": \"-inf\", \"c\": null, \"d\": null}"); /* J07, J08 */
    REPAIR("[.5, +1, 007, -.5, 1.]", "[0.5, 1, 7, -0.5, \"1.\"]");       /* U05 */
    REPAIR("[0x1f, -Infinity, Infinity]", "[\"0x1f\", \"-Infinity\", null]");
}

static void test_structure_repaired(void)
{
    REPAIR("{\"args\": {\"External id\": 3, }}", "{\"args\": {\"External id\": 3}}"); /* J09 */
    REPAIR("{\"a\": 1,, \"b\": 2}", "{\"a\": 1, \"b\": 2}");
    REPAIR("{\"a\": 1 \"b\": 2}", "{\"a\": 1, \"b\": 2}");
    REPAIR("{\"a\": [1, {\"b\": 2", "{\"a\": [1, {\"b\": 2}]}");
    REPAIR("{\"a\": [1, 2}", "{\"a\": [1, 2]}");
    REPAIR("{\"a\": 1]}", "{\"a\": 1}");
    REPAIR("{\"a\":}", "{\"a\": null}");
    REPAIR("{\"a\"", "{}");
    REPAIR("", "null");
}

/* U06: a million brackets cost memory, not the stack. */
static void test_deep_nesting(void)
{
    osc_buf text, out;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_init(&out, SIZE_MAX);
    osc_buf_cstr(&text, "{\"a\": ");
    osc_buf_fill(&text, '[', 1000000);
    TAP_OK(osc_repair_value(osc_buf_view(&text), &out));
    TAP_EQ_U64(out.len, 6 + 2000000 + 1);
    TAP_OK(out.data && out.data[out.len - 1] == '}' && out.data[out.len - 2] == ']');
    osc_buf_free(&text);
    osc_buf_free(&out);
}

/* ---- whole files ---- */

static char *path_of(const char *name)
{
    return osc_path_join(tap_tmpdir(), name);
}

static osc_rewrite_stats rewrite(const char *text, size_t len, const osc_rewrite_filter *filter,
                                 char **out, size_t *out_len)
{
    char *from = path_of("in.json"), *to = path_of("out.json");
    osc_rewrite_stats stats = {0};
    osc_source_options options = {0};
    osc_source *source = NULL;
    osc_sink *sink = NULL;
    osc_err err = {0};
    *out = NULL;
    *out_len = 0;
    TAP_EQ_STATUS(osc_write_file_atomic(from, text, len, NULL), OSC_OK);
    osc_status status = osc_source_open(from, &options, &source, &err);
    if (status == OSC_OK)
        status = osc_sink_open(to, &sink, &err);
    if (status == OSC_OK)
        status = osc_trace_rewrite(source, "in.json", sink, filter, &stats, &err);
    osc_source_close(source);
    if (status == OSC_OK)
        status = osc_sink_commit(sink, &err);
    else
        osc_sink_drop(sink);
    if (status == OSC_OK)
        status = osc_read_file(to, SIZE_MAX, out, out_len, &err);
    TAP_OKF(status == OSC_OK, "%s", err.message);
    osc_free(from);
    osc_free(to);
    return stats;
}

/* Compares the rewritten text with all white space outside strings left out. */
static void check_file(const char *text, const char *want, uint64_t written, bool truncated)
{
    char *out;
    size_t len, n = 0;
    osc_rewrite_stats stats = rewrite(text, strlen(text), NULL, &out, &len);
    bool inside = false;
    TAP_OK(out && osc_json_strict(osc_str_make(out, len)));
    for (size_t i = 0; i < len; i++) {
        if (out[i] == '"')
            inside = !inside;
        if (inside || !strchr(" \n", out[i]))
            out[n++] = out[i];
    }
    TAP_EQ_VIEW(osc_str_make(out, n), want);
    TAP_EQ_U64(stats.written, written);
    TAP_OK(stats.truncated == truncated);
    osc_free(out);
}

static void test_files(void)
{
    check_file(
        "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\"},{\"ph\":\"M\"}],\"tail\":\"x\"}",
        "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\"},{\"ph\":\"M\"}],\"tail\":\"x\"}", 2,
        false);
    check_file("[{\"ph\":\"X\"}]", "[{\"ph\":\"X\"}]", 1, false); /* J13 */
    check_file("[{\"ph\":\"X\"}", "[{\"ph\":\"X\"}]", 1, true);
    check_file("\xef\xbb\xbf\r\n{\"traceEvents\":[]}", "{\"traceEvents\":[]}", 0,
               false);                                                 /* J16, U02 */
    check_file("{\"a\":1}", "{\"a\":1,\"traceEvents\":[]}", 0, false); /* U01 */
    check_file("{\"traceEvents\":null,\"a\":1}", "{\"a\":1,\"traceEvents\":[]}", 0, false);
    check_file("{\"traceEvents\":[{\"ph\":\"X\"}],\"b\":2,\"traceEvents\":[{\"ph\":\"Y\"}]}",
               "{\"traceEvents\":[{\"ph\":\"X\"},{\"ph\":\"Y\"}],\"b\":2}", 2, false);
    check_file("{\"traceEvents\":{\"n\":1,\"traceEvents\":[{\"ph\":\"X\"}]},\"b\":2}",
               "{\"n\":1,\"traceEvents\":[{\"ph\":\"X\"}],\"b\":2}", 1, false); /* P04 */
    check_file("{\"traceEvents\":[{\"ph\":\"X\"},,{\"ph\":\"Y\"},],,\"b\":2}",
               "{\"traceEvents\":[{\"ph\":\"X\"},{\"ph\":\"Y\"}],\"b\":2}", 2, false); /* J09 */
    check_file("{\"traceEvents\":[{\"ph\":\"X\"}],\"traceName\":\"out/a]b.json\"}",
               "{\"traceEvents\":[{\"ph\":\"X\"}],\"traceName\":\"out/a]b.json\"}", 1,
               false); /* J11 */
}

/* J15: cut after every byte, all complete events are there and the text is JSON. */
static void test_cut_after_every_byte(void)
{
    static const char text[] =
        "{\"schemaVersion\": 1, \"traceEvents\": [\n{\"ph\":\"X\",\"name\":\"a\\\"b\",\"ts\":1},\n"
        "{\"ph\":\"X\",\"name\":\"c\",\"args\":{\"x\":[1,2]}}\n], \"traceName\": \"t\"}";
    size_t bad = 0;
    for (size_t k = 1; k < sizeof text - 1; k++) {
        char *out;
        size_t len;
        osc_rewrite_stats stats = rewrite(text, k, NULL, &out, &len);
        osc_str part = osc_str_make(text, k);
        uint64_t whole = osc_str_find(part, OSC_STR("\"ts\":1}")) != SIZE_MAX;
        whole += osc_str_find(part, OSC_STR("2]}}")) != SIZE_MAX;
        bad += !out || !osc_json_strict(osc_str_make(out, len)) || !stats.truncated ||
               stats.written != whole;
        osc_free(out);
    }
    TAP_EQ_U64(bad, 0);
}

/* Events larger than the window, and strings that end at its edge. */
static void test_large_events(void)
{
    osc_buf text;
    char *out;
    size_t len;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "{\"traceEvents\":[");
    for (int i = 0; i < 40; i++) {
        osc_buf_printf(&text, "%s{\"ph\":\"X\",\"name\":\"n%d", i ? "," : "", i);
        osc_buf_fill(&text, 'x', i == 20 ? 3000000 : (size_t)(i * 7919 % 100003));
        osc_buf_cstr(&text, "\"      }");
    }
    osc_buf_cstr(&text, "]}");
    osc_rewrite_stats stats = rewrite((char *)text.data, text.len, NULL, &out, &len);
    TAP_EQ_U64(stats.written, 40);
    TAP_EQ_U64(stats.repaired + stats.skipped, 0);
    TAP_OK(len > text.len && len < text.len + 200);
    osc_free(out);
    osc_buf_free(&text);
}

/* A key without its first quote turns every string behind it inside out: that event goes, the others stay. */
static void test_a_missing_quote_costs_one_event(void)
{
    static const char text[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1},{\"ph\":\"X\",\"args\":{\"a\":7, b\":0}},"
        "{\"ph\":\"X\",\"ts\":2},{\"ph\":\"X\",\"ts\":3}],\"tail\":1}";
    char *out;
    size_t len;
    osc_rewrite_stats stats = rewrite(text, sizeof text - 1, NULL, &out, &len);
    TAP_EQ_U64(stats.written, 3);
    TAP_EQ_U64(stats.skipped, 1);
    TAP_OK(!stats.truncated);
    osc_str got = osc_str_make(out, len);
    TAP_OK(out && osc_json_strict(got) && osc_str_find(got, OSC_STR("tail")) != SIZE_MAX);
    osc_free(out);
}

/* Bytes that are no event are skipped, counted, and reading goes on behind them. */
static void test_skips(void)
{
    static const char text[] = "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\"}, }}} garbage : ,"
                               "{\"ph\":\"X\",\"name\":\"b\"}, 17, {\"ph\":\"X\",\"name\":\"c\"}]}";
    char *out;
    size_t len;
    osc_rewrite_stats stats = rewrite(text, sizeof text - 1, NULL, &out, &len);
    TAP_EQ_U64(stats.written, 3);
    TAP_OK(stats.skipped > 0);
    osc_free(out);
}

static void test_no_trace(void)
{
    static const char *const texts[] = {"", "  \n", "hello", "\"traceEvents\""};
    for (size_t i = 0; i < 4; i++) {
        char *path = path_of("none.json"), *to = path_of("none.out");
        osc_source_options options = {0};
        osc_rewrite_stats stats;
        osc_source *source = NULL;
        osc_sink *sink = NULL;
        osc_err err = {0};
        TAP_EQ_STATUS(osc_write_file_atomic(path, texts[i], strlen(texts[i]), NULL), OSC_OK);
        TAP_EQ_STATUS(osc_source_open(path, &options, &source, NULL), OSC_OK);
        TAP_EQ_STATUS(osc_sink_open(to, &sink, NULL), OSC_OK);
        TAP_EQ_STATUS(osc_trace_rewrite(source, path, sink, NULL, &stats, &err), OSC_EFORMAT);
        TAP_OK(strstr(err.message, i < 2 ? "empty" : "not a trace") != NULL); /* J14 */
        osc_source_close(source);
        osc_sink_drop(sink);
        osc_free(path);
        osc_free(to);
    }
}

/* ---- windows ---- */

/* clang-format off */
#define HOST "{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"cat\":"
static const char steps[] =
    "{\"baseTimeNanoseconds\":1000000000,\"distributedInfo\":{\"rank\":3},\"traceEvents\":["
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"tid\":0,\"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":8,\"tid\":0,\"args\":{\"name\":\"other\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":7,\"args\":{\"name\":\"main\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":9,\"args\":{\"name\":\"idle\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":7,\"args\":{\"name\":\"main\"}},"
    HOST "\"user_annotation\",\"name\":\"ProfilerStep#1\",\"ts\":0,\"dur\":100,\"args\":{\"External id\":1,\"Ev Idx\":0}},"
    HOST "\"user_annotation\",\"name\":\"ProfilerStep#2\",\"ts\":100,\"dur\":100,\"args\":{\"External id\":2,\"Ev Idx\":1}},"
    HOST "\"cpu_op\",\"name\":\"aten::a\",\"ts\":10,\"dur\":20,\"args\":{\"External id\":3,\"Ev Idx\":2}},"
    HOST "\"cpu_op\",\"name\":\"aten::b\",\"ts\":110,\"dur\":20,\"args\":{\"External id\":4,\"Ev Idx\":3}},"
    HOST "\"cpu_op\",\"name\":\"aten::b\",\"ts\":140,\"dur\":5,\"args\":{\"External id\":5,\"Ev Idx\":4}},"
    HOST "\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"ts\":12,\"dur\":2,\"args\":{\"External id\":3,\"correlation\":21}},"
    HOST "\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"ts\":112,\"dur\":2,\"args\":{\"External id\":4,\"correlation\":22}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ka\",\"pid\":0,\"tid\":7,\"ts\":150,\"dur\":30,\"args\":{\"External id\":3,\"correlation\":21}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"kb\",\"pid\":0,\"tid\":7,\"ts\":300,\"dur\":30,\"args\":{\"External id\":4,\"correlation\":22}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":0,\"tid\":7,\"ts\":300,\"dur\":30,\"args\":{\"External id\":2}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"lost\",\"pid\":0,\"tid\":7,\"ts\":120,\"dur\":1,\"args\":{}},"
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":7,\"tid\":7,\"ts\":115,\"args\":{\"Bytes\":5}},"
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":7,\"tid\":7,\"ts\":15,\"args\":{\"Bytes\":6}},"
    "{\"ph\":\"s\",\"id\":21,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":7,\"tid\":7,\"ts\":12},"
    "{\"ph\":\"f\",\"id\":21,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":150,\"bp\":\"e\"},"
    "{\"ph\":\"s\",\"id\":22,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":7,\"tid\":7,\"ts\":112},"
    "{\"ph\":\"f\",\"id\":22,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":300,\"bp\":\"e\"},"
    "{\"ph\":\"s\",\"id\":1,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"pid\":7,\"tid\":7,\"ts\":10},"
    "{\"ph\":\"f\",\"id\":1,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"pid\":7,\"tid\":7,\"ts\":140,\"bp\":\"e\"}"
    "],\"traceName\":\"t\"}";
/* clang-format on */

static osc_store *open_text(const char *text)
{
    char *path = path_of("steps.json");
    osc_open_options options = {0};
    osc_store *store = NULL;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_write_file_atomic(path, text, strlen(text), NULL), OSC_OK);
    osc_status status = osc_open(path, &options, &store, &err);
    TAP_OKF(status == OSC_OK, "%s", err.message);
    osc_free(path);
    return store;
}

static char *cut(const osc_store *store, osc_window window, const char *text, uint64_t *written)
{
    osc_cut *c = NULL;
    char *out = NULL;
    size_t len;
    TAP_EQ_STATUS(osc_cut_new(store, window, &c, NULL), OSC_OK);
    if (!c)
        return NULL;
    osc_rewrite_filter filter = osc_cut_filter(c);
    *written = rewrite(text, strlen(text), &filter, &out, &len).written;
    TAP_EQ_STATUS(osc_cut_status(c, NULL), OSC_OK);
    osc_cut_free(c);
    return out;
}

static size_t times(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *p = text ? strstr(text, word) : NULL; p; p = strstr(p + 1, word))
        n++;
    return n;
}

static void test_cut_of_a_step(void)
{
    osc_store *store = open_text(steps);
    osc_window window = {0};
    uint64_t written = 0;
    TAP_REQUIRE(store != NULL);
    TAP_EQ_STATUS(osc_window_of_step(store, 2, &window, NULL), OSC_OK);
    TAP_EQ_I64(window.from_ns, 1000100000);
    TAP_EQ_I64(window.to_ns, 1000200000);
    char *out = cut(store, window, steps, &written);
    /* host: step, two calls of b, one launch; device: kb although it runs later, the annotation, lost */
    TAP_EQ_U64(times(out, "\"ph\":\"X\""), 7);
    TAP_EQ_U64(times(out, "\"name\":\"aten::b\""), 2);
    TAP_EQ_U64(times(out, "\"name\":\"kb\""), 1);
    TAP_EQ_U64(times(out, "\"name\":\"ka\""), 0); /* runs in the step, but was launched before it */
    TAP_EQ_U64(times(out, "\"name\":\"lost\""), 1);
    TAP_EQ_U64(times(out, "\"name\":\"ProfilerStep#2\""), 2);
    TAP_EQ_U64(times(out, "\"Bytes\":5"), 1);
    TAP_EQ_U64(times(out, "\"Bytes\":6"), 0);
    TAP_EQ_U64(times(out, "\"id\":22"), 2); /* launch and kernel are both there */
    TAP_EQ_U64(times(out, "\"id\":21") + times(out, "fwdbwd"), 0);
    /* names once, and only of lanes that are left */
    TAP_EQ_U64(times(out, "\"main\""), 1);
    TAP_EQ_U64(times(out, "\"python\""), 1);
    TAP_EQ_U64(times(out, "\"other\"") + times(out, "\"idle\""), 0);
    TAP_EQ_U64(written, 7 + 1 + 2 + 2);
    TAP_EQ_U64(times(out, "\"distributedInfo\": {\"rank\":3}"), 1);
    TAP_EQ_U64(times(out, "\"traceName\": \"t\""), 1);
    osc_free(out);
    osc_store_free(store);
}

/* N04: a frame that begins in the step and ends behind it keeps what it contains, launches included. */
static void test_cut_with_a_crossing_frame(void)
{
    /* clang-format off */
    static const char text[] =
        "{\"baseTimeNanoseconds\":1000000000,\"traceEvents\":["
        HOST "\"user_annotation\",\"name\":\"ProfilerStep#1\",\"ts\":0,\"dur\":100,\"args\":{\"External id\":1}},"
        HOST "\"python_function\",\"name\":\"step\",\"ts\":95,\"dur\":20,\"args\":{\"Python id\":1}},"
        HOST "\"python_function\",\"name\":\"inside\",\"ts\":105,\"dur\":5,\"args\":{\"Python id\":2}},"
        HOST "\"cpu_op\",\"name\":\"aten::in\",\"ts\":106,\"dur\":3,\"args\":{\"External id\":5}},"
        HOST "\"cuda_runtime\",\"name\":\"launch\",\"ts\":107,\"dur\":1,\"args\":{\"External id\":5,\"correlation\":9}},"
        HOST "\"cpu_op\",\"name\":\"aten::after\",\"ts\":120,\"dur\":3,\"args\":{\"External id\":6}},"
        "{\"ph\":\"X\",\"pid\":7,\"tid\":8,\"cat\":\"cpu_op\",\"name\":\"aten::other\",\"ts\":106,\"dur\":3,\"args\":{\"External id\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":300,\"dur\":30,\"args\":{\"External id\":5,\"correlation\":9}}"
        "]}";
    /* clang-format on */
    osc_store *store = open_text(text);
    osc_window window;
    uint64_t written = 0;
    TAP_REQUIRE(store != NULL);
    TAP_EQ_STATUS(osc_window_of_step(store, 1, &window, NULL), OSC_OK);
    char *out = cut(store, window, text, &written);
    TAP_EQ_U64(written, 6);
    TAP_EQ_U64(times(out, "aten::in\"") + times(out, "\"launch\"") + times(out, "\"k\""), 3);
    TAP_EQ_U64(times(out, "aten::after") + times(out, "aten::other"), 0);
    osc_free(out);
    /* of a window of times the frame itself */
    out = cut(store, osc_window_of_times(store, (osc_when){0}, (osc_when){.ns = 100000}), text,
              &written);
    TAP_EQ_U64(written, 2);
    TAP_EQ_U64(times(out, "\"step\"") + times(out, "ProfilerStep#1"), 2);
    osc_free(out);
    osc_store_free(store);
}

static void test_windows(void)
{
    osc_store *store = open_text(steps);
    osc_window w;
    osc_err err = {0};
    TAP_REQUIRE(store != NULL);
    TAP_EQ_STATUS(osc_window_of_step(store, 9, &w, &err), OSC_ENOTFOUND);
    TAP_OK(strstr(err.message, "1 to 2") != NULL);
    TAP_EQ_STATUS(osc_window_of_call(store, OSC_STR("aten::b"), 2, &w, NULL), OSC_OK);
    TAP_OK(w.from_ns == 1000140000 && w.to_ns == 1000145000);
    TAP_EQ_STATUS(osc_window_of_call(store, OSC_STR("aten::b"), 3, &w, &err), OSC_ENOTFOUND);
    TAP_OK(strstr(err.message, "there are 2") != NULL);
    TAP_EQ_STATUS(osc_window_of_call(store, OSC_STR("aten::z"), 1, &w, &err), OSC_ENOTFOUND);
    TAP_EQ_STATUS(osc_window_of_call(store, OSC_STR("ka"), 1, &w, &err), OSC_ENOTFOUND);
    w = osc_window_of_times(store, (osc_when){.ns = 5000}, (osc_when){1000020000, true});
    TAP_OK(w.from_ns == 1000005000 && w.to_ns == 1000020000);
    w = osc_window_of_times(store, (osc_when){0}, (osc_when){.ns = INT64_MAX});
    TAP_EQ_I64(w.to_ns, INT64_MAX);
    osc_store_free(store);
    store = store_of(TRACE(EV("cpu_op", "a", 1, 1, 0, 1, "")));
    TAP_EQ_STATUS(osc_window_of_step(store, 1, &w, &err), OSC_ENOTFOUND);
    TAP_OK(strstr(err.message, "no steps") != NULL);
    osc_store_free(store);
}

static bool cut_under_pressure(void *ctx)
{
    const osc_store *store = ctx;
    osc_window w;
    osc_cut *c = NULL;
    osc_status status = osc_window_of_call(store, OSC_STR("aten::b"), 1, &w, NULL);
    if (status == OSC_OK)
        status = osc_cut_new(store, w, &c, NULL);
    bool good = (status == OSC_OK) == (c != NULL);
    if (c) {
        char *from = osc_path_join(tap_tmpdir(), "steps.json");
        char *to = osc_path_join(tap_tmpdir(), "oom.json");
        osc_source_options options = {0};
        osc_source *source = NULL;
        osc_sink *sink = NULL;
        osc_rewrite_stats stats;
        osc_rewrite_filter filter = osc_cut_filter(c);
        status = from && to ? osc_source_open(from, &options, &source, NULL) : OSC_ENOMEM;
        if (status == OSC_OK)
            status = osc_sink_open(to, &sink, NULL);
        if (status == OSC_OK)
            status = osc_trace_rewrite(source, "x", sink, &filter, &stats, NULL);
        if (status == OSC_OK)
            status = osc_cut_status(c, NULL);
        osc_source_close(source);
        osc_sink_drop(sink);
        osc_free(from);
        osc_free(to);
    }
    osc_cut_free(c);
    return good && (status == OSC_OK || status == OSC_ENOMEM);
}

static void test_out_of_memory(void)
{
    osc_store *store = open_text(steps);
    TAP_OK(store && tap_oom_sweep(cut_under_pressure, store, 600));
    osc_store_free(store);
}

int main(void)
{
    TAP_RUN(test_fine_values_stay);
    TAP_RUN(test_strings_repaired);
    TAP_RUN(test_numbers_and_words_repaired);
    TAP_RUN(test_structure_repaired);
    TAP_RUN(test_deep_nesting);
    TAP_RUN(test_files);
    TAP_RUN(test_cut_after_every_byte);
    TAP_RUN(test_large_events);
    TAP_RUN(test_a_missing_quote_costs_one_event);
    TAP_RUN(test_skips);
    TAP_RUN(test_no_trace);
    TAP_RUN(test_cut_of_a_step);
    TAP_RUN(test_cut_with_a_crossing_frame);
    TAP_RUN(test_windows);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
