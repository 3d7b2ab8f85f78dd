/* scope/read/ranks.h: which files of a directory are ranks, and which number each has. */
#include "tap.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "scope/read/ranks.h"

#include <stdio.h>
#include <string.h>

#define EVENT "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"pid\":1,\"tid\":1}"

static char folder[512];

/* A fresh directory for the files of one test. */
static void start(const char *name)
{
    snprintf(folder, sizeof folder, "%s/%s", tap_tmpdir(), name);
    TAP_EQ_STATUS(osc_mkdir_p(folder, NULL), OSC_OK);
}

static void put(const char *name, const char *text)
{
    char *path = osc_path_join(folder, name);
    TAP_EQ_STATUS(osc_write_file_atomic(path, text, strlen(text), NULL), OSC_OK);
    osc_free(path);
}

/* "a.json=3 b.json=4? ": names with numbers, '?' after guessed ones. */
static char *listed(void)
{
    static char text[2048];
    osc_ranks ranks;
    osc_err err = {0};
    size_t used = 0;
    text[0] = '\0';
    if (osc_ranks_find(folder, &ranks, &err) != OSC_OK) {
        snprintf(text, sizeof text, "failed: %s", err.message);
        return text;
    }
    for (uint32_t i = 0; i < ranks.count; i++) {
        osc_str base = osc_path_base(osc_str_from_cstr(ranks.items[i].path));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s=%lld%s", i ? " " : "",
                                 OSC_STR_FMT(base), (long long)ranks.items[i].rank,
                                 ranks.items[i].guessed ? "?" : "");
    }
    osc_ranks_free(&ranks);
    TAP_OK(ranks.count == 0 && ranks.items == NULL);
    return text;
}

/* P02: the number in the head, as a number or a text, before the events. */
static void test_head(void)
{
    start("head");
    put("b.json", "{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":1},"
                  "\"traceEvents\":[" EVENT "]}");
    put("a.json", "{\"distributedInfo\": {\"rank\": \"12\", \"pg\": [{\"rank\": 99}]}, "
                  "\"traceEvents\":[" EVENT "]}");
    put("c.json", "\n{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0},\"traceEvents\":[]}");
    TAP_EQ_STR(listed(), "c.json=0 b.json=1 a.json=12");
}

/* Behind 200 KB of events; text that only looks like the key is not it. */
static void test_tail(void)
{
    osc_buf text;
    start("tail");
    osc_buf_init(&text, SIZE_MAX);
    for (int rank = 0; rank < 2; rank++) {
        char name[16];
        osc_buf_clear(&text);
        osc_buf_cstr(&text, "{\"traceEvents\":[" EVENT);
        for (int i = 0; i < 4000; i++)
            osc_buf_cstr(&text, ",\n" EVENT);
        osc_buf_printf(&text, "],\"distributedInfo\":{\"world_size\":\"2\",\"rank\":\"%d\"},",
                       1 - rank);
        osc_buf_cstr(&text, "\"note\":\"\\\"distributedInfo\\\": x\"}");
        snprintf(name, sizeof name, "%c.json", 'a' + rank);
        put(name, osc_buf_c_str(&text));
    }
    osc_buf_free(&text);
    TAP_EQ_STR(listed(), "b.json=0 a.json=1");
}

static void test_names(void)
{
    start("names");
    put("run-TP-3.trace.json", "{\"traceEvents\":[]}");
    put("Rank_10.json", "{\"traceEvents\":[]}");
    put("host_worker7.1712345678901234567.pt.trace.json", "{\"traceEvents\":[]}");
    put("job_4.json", "[" EVENT "]");
    put("v100.json", "{\"traceEvents\":[]}");               /* a number behind a letter is none */
    put("host_1712345678901.json", "{\"traceEvents\":[]}"); /* a time is none */
    TAP_EQ_STR(listed(),
               "host_1712345678901.json=0? v100.json=1? run-TP-3.trace.json=3? job_4.json=4? "
               "host_worker7.1712345678901234567.pt.trace.json=7? Rank_10.json=10?");
}

/* Two files that say 0: the first by name keeps it, and both are there. */
static void test_duplicates(void)
{
    osc_ranks ranks;
    start("duplicates");
    put("x.json", "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[]}");
    put("y.json", "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[]}");
    put("z.json", "{\"distributedInfo\":{\"rank\":1},\"traceEvents\":[]}");
    TAP_EQ_STR(listed(), "x.json=0 z.json=1 y.json=2?");
    TAP_EQ_STATUS(osc_ranks_find(folder, &ranks, NULL), OSC_OK);
    TAP_EQ_I64(ranks.items[2].said, 0);
    osc_ranks_free(&ranks);
}

static void test_other_files(void)
{
    osc_ranks ranks;
    start("others");
    put("rank0.json", "{\"traceEvents\":[]}");
    put("rank1.json", "{\"traceEvents\":[]}");
    put("config.json", "{\"a\":1}");
    put("empty.json", "");
    put("notes.txt", "hello");
    put(".rank2.json", "{\"traceEvents\":[]}");
    put("results.json",
        "[{\"name\": \"a\", \"value\": {\"ph\": 1}}]"); /* a list, but of no events */
    put("rank2.json", "[" EVENT "]");
    TAP_EQ_STR(listed(), "rank0.json=0? rank1.json=1? rank2.json=2?");
    TAP_EQ_STATUS(osc_ranks_find(folder, &ranks, NULL), OSC_OK);
    TAP_EQ_U64(ranks.others, 3);
    osc_ranks_free(&ranks);
}

static void test_compressed(void)
{
    char *packed = NULL, *path;
    size_t len = 0;
    const char *text = "{\"distributedInfo\":{\"rank\":5},\"traceEvents\":[]}";
    start("compressed");
    put("rank1.json", "{\"traceEvents\":[]}");
    TAP_REQUIRE(osc_gzip(text, strlen(text), &packed, &len, NULL) == OSC_OK);
    path = osc_path_join(folder, "other.json.gz");
    TAP_EQ_STATUS(osc_write_file_atomic(path, packed, len, NULL), OSC_OK);
    TAP_EQ_STR(listed(), "rank1.json=1? other.json.gz=5");
    osc_free(path);
    osc_free(packed);
}

/* What is no directory of ranks is one input: itself. */
static void test_single_inputs(void)
{
    osc_ranks ranks;
    start("single");
    put("trace.json", "{\"traceEvents\":[]}");
    TAP_EQ_STR(listed(), "single=0?"); /* a session of the framework alone */
    put("run.json", "{}");
    put("rank1.json", "{\"traceEvents\":[]}");
    TAP_EQ_STR(listed(), "single=0?");
    start("nothing");
    TAP_EQ_STR(listed(), "nothing=0?");
    start("alone");
    put("my.json", "{\"distributedInfo\":{\"rank\":9},\"traceEvents\":[]}");
    TAP_EQ_STR(listed(), "my.json=9");
    TAP_EQ_STATUS(osc_ranks_find("-", &ranks, NULL), OSC_OK);
    TAP_OK(ranks.count == 1 && strcmp(ranks.items[0].path, "-") == 0);
    osc_ranks_free(&ranks);
    TAP_EQ_STATUS(osc_ranks_find("/nowhere.json", &ranks, NULL), OSC_OK);
    TAP_OK(ranks.count == 1); /* opening it will say what is wrong */
    osc_ranks_free(&ranks);
    osc_ranks_free(NULL);
}

static bool find_under_pressure(void *ctx)
{
    osc_ranks ranks;
    (void)ctx;
    osc_status status = osc_ranks_find(folder, &ranks, NULL);
    bool good = status == OSC_OK ? ranks.count == 2 : status == OSC_ENOMEM && ranks.count == 0;
    osc_ranks_free(&ranks);
    return good;
}

static void test_out_of_memory(void)
{
    start("memory");
    put("rank0.json", "{\"traceEvents\":[]}");
    put("rank1.json", "{\"traceEvents\":[]}");
    TAP_OK(tap_oom_sweep(find_under_pressure, NULL, 200));
}

int main(void)
{
    TAP_RUN(test_head);
    TAP_RUN(test_tail);
    TAP_RUN(test_names);
    TAP_RUN(test_duplicates);
    TAP_RUN(test_other_files);
    TAP_RUN(test_compressed);
    TAP_RUN(test_single_inputs);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
