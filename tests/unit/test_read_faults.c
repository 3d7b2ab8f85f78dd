/*
 * test_read_faults.c - the streaming reader when memory or the input gives out: every allocation and every read
 * failing in turn, on one thread and on several. Nothing leaks (the sanitizers say so), and what is said is right.
 */
#include "read_same.h"
#include "tap.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/source_internal.h"

#include <errno.h>

static osc_buf text;
static char path[1024];

static void make_text(void)
{
    osc_err err = {0};
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "{\"traceEvents\": [");
    for (unsigned i = 0; i < 200; i++)
        osc_buf_printf(
            &text,
            "%s\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op%u\", \"pid\": 1, \"tid\": %u, "
            "\"ts\": "
            "%u.125, \"dur\": 1.5, \"args\": {\"External id\": %u, \"Input Dims\": [[%u]]}}",
            i ? "," : "", i % 40, i % 3, i * 2, i, i % 5);
    osc_buf_cstr(&text, "\n]}");
    snprintf(path, sizeof path, "%s/faults.json", tap_tmpdir());
    TAP_OK(osc_write_file_atomic(path, text.data, text.len, &err) == OSC_OK);
}

/* Reads the file by *threads threads. True when it was read whole, or memory was out and it says so. */
static bool read_once(void *threads)
{
    osc_open_options options = {.threads = *(const uint32_t *)threads};
    osc_kineto_context context = {.input = "f", .options = &options, .window = 500, .block = 3000};
    osc_source_options how = {.no_thread = true};
    osc_source *source = NULL;
    osc_err err = {0};
    osc_store *store = osc_store_new();
    if (!store)
        return true;
    osc_status status = osc_source_open(path, &how, &source, &err);
    if (status == OSC_OK)
        status = osc_kineto_read_source(store, source, &context, &err);
    if (status == OSC_OK)
        status = osc_store_seal(store, &err);
    bool whole = status == OSC_OK && osc_store_slice(store)->count == 200;
    osc_source_close(source);
    osc_store_free(store);
    /* with a crew, a thread that cannot start is no failure */
    return whole || (status == OSC_ENOMEM && osc_mem_refused() > 0);
}

static void test_out_of_memory(void)
{
    uint32_t one = 1, three = 3;
    TAP_OK(tap_oom_sweep(read_once, &one, 2000));
    TAP_OK(tap_oom_sweep(read_once, &three, 4000));
}

/* An input that fails after some bytes. */
struct failing {
    size_t at, end;
};

static ssize_t failing_read(void *context, void *buf, size_t n)
{
    struct failing *f = context;
    if (f->at >= f->end) {
        errno = EIO;
        return -1;
    }
    n = n < f->end - f->at ? n : f->end - f->at;
    n = n < 100 ? n : 100;
    memcpy(buf, text.data + f->at, n);
    f->at += n;
    return (ssize_t)n;
}

static void test_reads_fail(void)
{
    for (size_t end = 0; end < text.len; end += 97) {
        struct failing state = {.end = end};
        osc_source_input input = {.context = &state,
                                  .read = failing_read,
                                  .name = osc_memdup0("bad disk", 8),
                                  .limit = UINT64_MAX};
        osc_kineto_context context = {.input = "bad disk", .window = 256};
        osc_source_options how = {.no_thread = true};
        osc_source *source = NULL;
        osc_err err = {0};
        osc_store *store = osc_store_new();
        TAP_REQUIRE(store != NULL && input.name != NULL);
        osc_status status = osc_source_open_input(&input, &how, OSC_GZIP_BEST, &source, &err);
        if (status == OSC_OK)
            status = osc_kineto_read_source(store, source, &context, &err);
        if (status != OSC_EIO)
            TAP_OKF(false, "after %zu bytes: status %d, %s", end, status, err.message);
        osc_source_close(source);
        osc_store_free(store);
    }
    TAP_OK(true);
}

int main(void)
{
    make_text();
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_reads_fail);
    osc_buf_free(&text);
    return tap_done();
}
