/*
 * test_read_blocks.c - a file read by several threads in blocks gives, byte for byte, what one
 * thread gives.
 *
 * Files are made to mislead: names that hold what stands between events, events larger than a
 * block, damage, lists that end early. Every number of threads and size of block must agree on
 * rows, texts, lanes, findings.
 */
#include "read_same.h"
#include "tap.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/rng.h"

#include <stdlib.h>

static const uint32_t threads[] = {2, 3, 7};
static const size_t blocks[] = {600, 5000, 70000};

/* Reads a file with n threads (1: on this one). NULL when that fails. */
static osc_store *read_file_by(const char *path, uint32_t n, size_t block)
{
    osc_open_options options = {.threads = n};
    osc_kineto_context context = {.input = "blocks.json", .options = &options, .block = block};
    osc_source_options how = {.no_thread = true};
    osc_source *source = NULL;
    osc_store *store = osc_store_new();
    osc_err err = {0};
    if (!store || osc_source_open(path, &how, &source, &err) != OSC_OK ||
        osc_kineto_read_source(store, source, &context, &err) != OSC_OK) {
        TAP_OKF(false, "cannot read: %s", err.message);
        osc_store_free(store);
        store = NULL;
    }
    osc_source_close(source);
    return store;
}

static void check_file(const char *what, const osc_buf *text)
{
    char path[1024], difference[512];
    osc_err err = {0};
    snprintf(path, sizeof path, "%s/blocks.json", tap_tmpdir());
    TAP_REQUIRE(osc_write_file_atomic(path, text->data, text->len, &err) == OSC_OK);
    osc_store *alone = read_file_by(path, 1, 0);
    TAP_REQUIRE(alone != NULL);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            osc_store *crew = read_file_by(path, threads[t], blocks[b]);
            if (crew)
                TAP_OKF(same_stores(alone, crew, difference, sizeof difference),
                        "%s, %u threads, blocks of %zu: %s", what, threads[t], blocks[b],
                        difference);
            osc_store_free(crew);
        }
    }
    osc_store_free(alone);
}

/* One event of a kind that depends on i; `name` may hold anything. */
static void put_event(osc_buf *out, unsigned i, const char *name)
{
    static const char *const cats[] = {"cpu_op", "kernel", "python_function", "cuda_runtime"};
    const char *cat = cats[i % 4];
    osc_buf_printf(
        out,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u,\n"
        "    \"ts\": %u.%03u, \"dur\": %u.5,\n    \"args\": {\n      \"External id\": %u, "
        "\"correlation\": %u, \"Sequence number\": %u, \"Input Dims\": [[%u, 4], []], \"Ev Idx\": "
        "%u\n    "
        "}\n  }",
        cat, name, i % 4 == 1 ? 0 : 7, i % 5, 100 + i * 3, i % 1000, i % 9, i, i / 2, i / 3, i % 50,
        i);
    if (i % 3 == 0)
        osc_buf_printf(
            out,
            ",\n  {\n    \"ph\": \"s\", \"id\": %u, \"pid\": 7, \"tid\": %u, \"ts\": %u.5,\n"
            "    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }",
            i, i % 5, 100 + i * 3);
    if (i % 7 == 0)
        osc_buf_printf(
            out, ",\n  {\"ph\": \"%s\", \"name\": \"span%u\", \"pid\": 7, \"tid\": %u, \"ts\": %u}",
            i % 2 ? "B" : "E", i % 3, i % 2, i * 4);
}

static void put_head(osc_buf *out)
{
    osc_buf_cstr(out,
                 "{\"baseTimeNanoseconds\": 1767189312000000000, \"traceEvents\": [\n  "
                 "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 7, \"tid\": 0, \"ts\": 1, "
                 "\"args\": {\"name\": \"python\"}}");
}

static void test_threads_agree(void)
{
    osc_buf text;
    char name[64];
    osc_buf_init(&text, SIZE_MAX);
    put_head(&text);
    for (unsigned i = 0; i < 1500; i++) {
        snprintf(name, sizeof name, "op%u", i * 7 % 301);
        put_event(&text, i, name);
        if (i % 100 == 50)
            osc_buf_printf(&text,
                           ",\n  {\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 7, \"tid\": "
                           "%u, \"args\": "
                           "{\"name\": \"worker %u\"}}",
                           i % 4, i);
    }
    osc_buf_cstr(&text, "\n  ], \"host_name\": \"h\"}\n");
    check_file("plain", &text);
    osc_buf_free(&text);
}

/* Names that look like the place between two events make every guess wrong. */
static void test_wrong_guesses(void)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    put_head(&text);
    for (unsigned i = 0; i < 300; i++)
        put_event(&text, i,
                  i < 5 ? "op"
                        : "x },\n  {\n    \\\"ph\\\": \\\"X\\\" },\n  {\n    \\\"ph\\\": "
                          "\\\"X\\\", },\n  {");
    osc_buf_cstr(&text, "\n  ]}");
    check_file("misleading names", &text);
    osc_buf_free(&text);
}

static void test_large_events(void)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    put_head(&text);
    char *name = osc_alloc(200001);
    TAP_REQUIRE(name != NULL);
    memset(name, 'n', 200000);
    name[200000] = '\0';
    for (unsigned i = 0; i < 60; i++) {
        name[i % 3 == 0 ? 200000 : 3000] = '\0';
        put_event(&text, i, i % 10 == 9 ? name : "op");
        name[3000] = 'n';
    }
    osc_buf_cstr(&text, "\n  ]}");
    check_file("large events", &text);
    osc_free(name);
    osc_buf_free(&text);
}

/* The first event alone fills the part that is read to learn from: what stands between events is
 * not known yet. */
static void test_large_first(void)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"");
    for (unsigned i = 0; i < 9000; i++)
        osc_buf_cstr(&text, "Long");
    osc_buf_cstr(&text, "\", \"pid\": 7, \"tid\": 7, \"ts\": 3, \"dur\": 5}");
    for (unsigned i = 0; i < 200; i++)
        put_event(&text, i, "op");
    osc_buf_cstr(&text, "\n  ]}");
    check_file("large first event", &text);
    osc_buf_free(&text);
}

static void test_early_ends(void)
{
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    put_head(&text);
    for (unsigned i = 0; i < 200; i++)
        put_event(&text, i, "op");
    osc_buf_cstr(&text, "\n  ], \"later\": [{}");
    for (unsigned i = 0; i < 200; i++)
        put_event(&text, i, "not of the list");
    osc_buf_cstr(&text, "], \"host_name\": \"h\"}");
    check_file("list ends early", &text);
    osc_buf_truncate(&text, text.len / 3);
    check_file("cut", &text);
    osc_buf_free(&text);
}

static void test_damage(void)
{
    osc_rng rng = {.state = 11};
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    for (int round = 0; round < 12; round++) {
        osc_buf_clear(&text);
        put_head(&text);
        for (unsigned i = 0; i < 250; i++)
            put_event(&text, i, "op");
        osc_buf_cstr(&text, "\n  ]}");
        for (int n = 0; n < 4; n++)
            text.data[osc_rng_below(&rng, text.len)] =
                (unsigned char)"\"{}[],:\\x"[osc_rng_below(&rng, 9)];
        check_file("damage", &text);
    }
    osc_buf_free(&text);
}

int main(void)
{
    TAP_RUN(test_threads_agree);
    TAP_RUN(test_wrong_guesses);
    TAP_RUN(test_large_events);
    TAP_RUN(test_large_first);
    TAP_RUN(test_early_ends);
    TAP_RUN(test_damage);
    return tap_done();
}
