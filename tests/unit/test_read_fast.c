/*
 * test_read_fast.c - the fast reader against the reference: same rows, texts, findings on every
 * input.
 *
 * Inputs are events in the styles of all writers, the same with one thing damaged in thousands of
 * ways, and the real traces where OPSCOPE_SHARED (default ../shared) has them. Ways to read are the
 * SIMD levels of the machine and windows so small that events are cut at every place.
 */
#include "read_same.h"
#include "tap.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/rng.h"

#include <stdlib.h>

static const read_way ways[] = {
    {.name = "plain", .simd = OSC_SIMD_PLAIN},
    {.name = "avx2", .simd = OSC_SIMD_AVX2},
    {.name = "avx512", .simd = OSC_SIMD_AVX512},
    {.name = "window of 700", .window = 700},
    {.name = "window of 64", .window = 64},
    {.name = "nothing wanted", .omit = 0x1f, .frames = OSC_FRAMES_DROP},
    {.name = "reference in a window of 97", .window = 97, .reference = true},
};
#define WAYS (sizeof ways / sizeof *ways)

/* Events as the C++ writers, the Python exporter and rewriters lay them out. */
static const char cpp[] =
    "{\n  \"schemaVersion\": 1,\n  \"baseTimeNanoseconds\": 1767189312000000000,\n  "
    "\"traceEvents\": [\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::to\", \"pid\": 412, \"tid\": "
    "413,\n"
    "    \"ts\": 3605057436110.823, \"dur\": 8.675,\n    \"args\": {\n      \"External id\": 1026,"
    "\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"[1, 2]\"], \"Input type\": "
    "[\"TensorList\", \"\"], "
    "\"Input Dims\": [[[12288, 4096], [12288]], []], \"Ev Idx\": 1\n    }\n  },\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 412, \"tid\": "
    "413,\n"
    "    \"ts\": 3605057436111.023, \"dur\": 7,\n    \"args\": {\n      \"External id\": "
    "1027,\"Sequence number\""
    ": 5, \"Fwd thread id\": 0, \"Input Dims\": [[4, 5], [5, 6]], \"Ev Idx\": 2\n    }\n  },\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 412, \"tid\": "
    "414,\n"
    "    \"ts\": 3605057436112.9, \"dur\": 7.01,\n    \"args\": {\n      \"External id\": "
    "1028,\"Sequence number\""
    ": 6, \"Fwd thread id\": 1, \"Input Dims\": [[4, 5], [5, 6]], \"Ev Idx\": 3\n    }\n  },\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py(1): f\", \"pid\": 412, "
    "\"tid\": 413,\n"
    "    \"ts\": 3605057436110.023, \"dur\": 90.5,\n    \"args\": {\n      \"Python parent id\": "
    "null, "
    "\"Python id\": 1, \"Ev Idx\": 4\n    }\n  },\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py(2): g\", \"pid\": 412, "
    "\"tid\": 413,\n"
    "    \"ts\": 3605057436110.123, \"dur\": 80.5,\n    \"args\": {\n      \"Python parent id\": "
    "1, "
    "\"Python id\": 2, \"Ev Idx\": 5\n    }\n  },\n"
    "  {\n    \"ph\": \"s\", \"id\": 52001, \"pid\": 412, \"tid\": 413, \"ts\": "
    "3605057436112.611,\n"
    "    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n"
    "  {\n    \"ph\": \"f\", \"id\": 52001, \"pid\": 0, \"tid\": 7, \"ts\": 3605057436119.611,\n"
    "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n"
    "  {\n    \"ph\": \"s\", \"id\": 52002, \"pid\": 412, \"tid\": 413, \"ts\": "
    "3605057436112.612,\n"
    "    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n"
    "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
    "\"[memory]\",\n"
    "    \"pid\": 412, \"tid\": 413,\n    \"ts\": 3605057436128.938,\n    \"args\": {\n      "
    "\"Total Allocated\": 5, "
    "\"Bytes\": -2048, \"Addr\": 139681326962346, \"Device Id\": 0, \"Device Type\": 1, \"Ev "
    "Idx\": 8\n    }\n  },\n"
    "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
    "\"[memory]\",\n"
    "    \"pid\": 412, \"tid\": 413,\n    \"ts\": 3605057436129.938,\n    \"args\": {\n      "
    "\"Total Allocated\": 5, "
    "\"Bytes\": 512, \"Addr\": 1396813, \"Device Id\": -1, \"Device Type\": 0, \"Ev Idx\": 9\n    "
    "}\n  },\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD\", \"pid\": 0, "
    "\"tid\": 7,\n"
    "    \"ts\": 3605057436121.130, \"dur\": 1.120,\n    \"args\": {\n      \"External id\": "
    "1028,\n"
    "      \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 52001, \"bytes\": 4096, "
    "\"memory bandwidth (GB/s)\": 48.22\n    }\n  },\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD\", \"pid\": 0, "
    "\"tid\": 7,\n"
    "    \"ts\": 3605057436131.130, \"dur\": 1.120,\n    \"args\": {\n      \"External id\": "
    "1029,\n"
    "      \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": 52002, \"bytes\": 8192, "
    "\"occupancy\": {\"External id\": 9, \"a\": [1, {\"b\": true}]}, \"correlation\": 52003\n    "
    "}\n  },\n"
    "  {\"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": "
    "\"\", \"ts\": 36050.4}\n"
    "  ],\n  \"traceName\": \"a]b.json\"\n}\n";

static const char python[] =
    "{\"schemaVersion\":1,\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,\"ts\":10.5,"
    "\"dur\":2.25,"
    "\"args\":{\"External id\":1,\"Ev Idx\":0}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"caf\xc3\xa9\",\"pid\":1,\"tid\":1,\"ts\":14.5,"
    "\"dur\":2.25,"
    "\"args\":{\"External id\":2,\"Ev Idx\":1}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"q\\\"q\",\"pid\":1,\"tid\":1,\"ts\":18.5,\"dur\":"
    "2.25,"
    "\"args\":{\"External id\":3,\"Ev Idx\":2}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"after\",\"pid\":1,\"tid\":1,\"ts\":1e3,\"dur\":0."
    "0005,"
    "\"args\":{\"External id\":4,\"kernel_kwargs\":{\"x\":\"a\\\\\",\"Ev Idx\":77},\"Ev Idx\":3}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream "
    "7\",\"ts\":20,\"dur\":2,"
    "\"args\":{\"External id\":4,\"correlation\":9}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream "
    "7\",\"ts\":24,\"dur\":2,"
    "\"args\":{\"External id\":4,\"correlation\":10}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":19,\"dur\":1},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":21,\"dur\":-1},"
    "{\"ph\":\"B\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"E\",\"pid\":1,\"tid\":1,"
    "\"ts\":9},"
    "{\"ph\":\"t\",\"id\":\"id42\",\"pid\":1,\"tid\":1,\"ts\":19,\"cat\":\"c\",\"name\":\"c\"},"
    "{\"ph\":\"t\",\"id\":\"0x1f\",\"pid\":1,\"tid\":1,\"ts\":19,\"cat\":\"c\",\"name\":\"c\"},"
    "{\"ph\":\"C\",\"name\":\"n\",\"pid\":1,\"ts\":1,\"args\":{\"\":1}}]}";

static const char *const texts[] = {cpp, python};

static void check_all(const char *what, const char *data, size_t len)
{
    char difference[512];
    for (size_t w = 0; w < WAYS; w++)
        TAP_OKF(reads_same(data, len, &ways[w], difference, sizeof difference), "%s, %s: %s", what,
                ways[w].name, difference);
}

static void test_styles(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_all("style", texts[i], strlen(texts[i]));
}

/* Cut behind every byte. */
static void test_cut_anywhere(void)
{
    char difference[512];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t len = 0; len <= strlen(texts[i]); len++) {
            const read_way *way = &ways[len % WAYS];
            if (!reads_same(texts[i], len, way, difference, sizeof difference))
                TAP_OKF(false, "text %zu cut at %zu, %s: %s", i, len, way->name, difference);
        }
    }
    TAP_OK(true);
}

/* Damages a copy in one to three places; returns its length. */
static size_t damage(osc_rng *rng, const char *text, size_t len, char *out)
{
    static const char odd[] = "\"\\{}[],: \n09.-eE\0nullx\x01\xff\t/";
    memcpy(out, text, len);
    for (uint64_t n = 1 + osc_rng_next(rng) % 3; n > 0 && len > 8; n--) {
        size_t at = (size_t)(osc_rng_next(rng) % (len - 4)),
               span = 1 + (size_t)(osc_rng_next(rng) % 3);
        char c = odd[osc_rng_next(rng) % (sizeof odd - 1)];
        switch (osc_rng_next(rng) % 4) {
        case 0: out[at] = c; break;
        case 1: /* one byte more */
            memmove(out + at + 1, out + at, len - at);
            out[at] = c;
            len++;
            break;
        case 2: /* bytes less */
            memmove(out + at, out + at + span, len - at - span);
            len -= span;
            break;
        default: /* a piece from elsewhere */
            memmove(out + at, out + osc_rng_next(rng) % (len - 4), span);
        }
    }
    return len;
}

static void test_damaged(void)
{
    char difference[512];
    osc_rng rng = {.state = 4};
    size_t wrong = 0;
    for (int i = 0; i < 6000 && wrong < 5; i++) {
        const char *text = texts[i % 2];
        size_t len = strlen(text);
        char *copy = osc_alloc(len + 8);
        TAP_REQUIRE(copy != NULL);
        len = damage(&rng, text, len, copy);
        const read_way *way = &ways[(size_t)i / 2 % WAYS];
        if (!reads_same(copy, len, way, difference, sizeof difference)) {
            TAP_OKF(false, "damage %d, %s: %s", i, way->name, difference);
            tap_note("%.*s", (int)len, copy);
            wrong++;
        }
        osc_free(copy);
    }
    TAP_EQ_U64(wrong, 0);
}

/* Events that come again with other numbers of as many digits, so that patterns of them are
 * known. */
static void put_repeats(osc_buf *out, const char *last_frame)
{
    osc_buf_cstr(out, "{\"traceEvents\": [\n");
    for (unsigned i = 0; i < 6; i++)
        osc_buf_printf(
            out,
            "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 412, \"tid\": "
            "413, "
            "\"ts\": 36%u1.023, \"dur\": 7.125, \"args\": {\"External id\": 102%u, \"Input Dims\": "
            "[[%u, 5], [5, 6]], \"Concrete Inputs\": [\"\", \"2\"], \"Ratio\": 0.%u5, \"Ev Idx\": "
            "%u}},\n"
            "  {\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"%s\", \"pid\": 412, "
            "\"tid\": 413, \"ts\": 36%u2.023, \"dur\": 3.125, \"args\": {\"Python id\": 1%u, "
            "\"Ev Idx\": %u}},\n"
            "  {\"ph\": \"s\", \"id\": 5%u, \"pid\": 412, \"tid\": 413, \"ts\": 36%u2.611, "
            "\"cat\": "
            "\"ac2g\", \"name\": \"ac2g\"}%s\n",
            i, i, i, i, i, i < 5 ? "a.py(7): f" : last_frame, i, i, i, i, i, i < 5 ? "," : "");
    osc_buf_cstr(out, "]}");
}

/* One byte of the later ones is another: what a pattern lets pass must be what the reference
 * takes. */
static void test_damaged_repeats(void)
{
    static const char odd[] = "\"\\{}[],: \n/:;?09.-eEx\xb0\xff";
    char difference[512];
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    put_repeats(&text, "[memory]");
    check_all("frame that is a record", (const char *)text.data, text.len);
    osc_buf_clear(&text);
    put_repeats(&text, "a.py(7): f");
    check_all("repeats", (const char *)text.data, text.len);
    size_t wrong = 0;
    for (size_t at = text.len / 2; at < text.len && wrong < 5; at++) {
        for (size_t c = 0; c < sizeof odd - 1; c++) {
            unsigned char was = text.data[at];
            const read_way *way = &ways[(at + c) % WAYS];
            text.data[at] = (unsigned char)odd[c];
            if (!reads_same((const char *)text.data, text.len, way, difference,
                            sizeof difference)) {
                TAP_OKF(false, "byte %zu as %02x, %s: %s", at, (unsigned char)odd[c], way->name,
                        difference);
                wrong++;
            }
            text.data[at] = was;
        }
    }
    TAP_EQ_U64(wrong, 0);
    osc_buf_free(&text);
}

static void test_real_traces_slow(void)
{
    const char *shared = getenv("OPSCOPE_SHARED");
    char folder[1024], difference[512];
    osc_dir_list list = {0};
    osc_err err;
    snprintf(folder, sizeof folder, "%s/traces", shared ? shared : "../shared");
    if (osc_list_dir(folder, &list, &err) != OSC_OK) {
        tap_skip("no traces; set OPSCOPE_SHARED");
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        char path[2048], *data = NULL;
        size_t len = 0;
        if (!list.entries[i].is_file || list.entries[i].name[0] == 'R')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, list.entries[i].name);
        if (osc_read_file_auto(path, SIZE_MAX / 4, &data, &len, NULL, &err) != OSC_OK) {
            TAP_OKF(false, "%s: %s", path, err.message);
            continue;
        }
        const read_way *way = &ways[i % 4];
        TAP_OKF(reads_same(data, len, way, difference, sizeof difference), "%s, %s: %s",
                list.entries[i].name, way->name, difference);
        osc_free(data);
    }
    osc_dir_list_free(&list);
}

int main(void)
{
    TAP_RUN(test_styles);
    TAP_RUN(test_cut_anywhere);
    TAP_RUN(test_damaged);
    TAP_RUN(test_damaged_repeats);
    TAP_RUN(test_real_traces_slow);
    return tap_done();
}
