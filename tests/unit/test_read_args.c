/* scope/read/args.h: the arguments of events read again, from plain and compressed files. */
#include "scope_support.h"

#include "base/io.h"
#include "base/mem.h"
#include "scope/read/args.h"
#include "scope/read/open.h"

#include <stdio.h>
#include <unistd.h>

#define EVENTS 3000

/* A trace of EVENTS operators; event i has the argument "n": i, and every tenth one 200 KB of padding. */
static void make_trace(osc_buf *out)
{
    osc_buf_cstr(out, "{\"traceEvents\":[\n");
    for (int i = 0; i < EVENTS; i++) {
        osc_buf_printf(out,
                       "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%d\",\"pid\":1,\"tid\":1,"
                       "\"ts\":%d,\"dur\":1,\"args\":{\"Ev Idx\":%d,\"text\":\"a\\\"b\",\"n\":%d",
                       i ? ",\n" : "", i % 7, i * 2, i, i);
        if (i % 100 == 50) {
            osc_buf_cstr(out, ",\"pad\":\"");
            osc_buf_fill(out, 'x', 200000);
            osc_buf_cstr(out, "\"");
        }
        osc_buf_cstr(out, "}}");
    }
    osc_buf_cstr(out, "\n]}\n");
}

static char *write_trace(const char *name, bool gzip)
{
    osc_buf text;
    char *packed = NULL, *path = osc_path_join(tap_tmpdir(), name);
    size_t len = 0;
    osc_buf_init(&text, SIZE_MAX);
    make_trace(&text);
    if (gzip && osc_gzip(text.data, text.len, &packed, &len, NULL) != OSC_OK)
        tap_note("cannot compress");
    TAP_EQ_STATUS(
        osc_write_file_atomic(path, gzip ? packed : (char *)text.data, gzip ? len : text.len, NULL),
        OSC_OK);
    osc_free(packed);
    osc_buf_free(&text);
    return path;
}

static osc_store *open_path(const char *path, uint32_t omit)
{
    osc_open_options options = {.omit = omit};
    osc_store *store = NULL;
    osc_err err = {0};
    osc_status status = osc_open(path, &options, &store, &err);
    TAP_OKF(status == OSC_OK, "%s: %s", path, err.message);
    return store;
}

typedef struct seen {
    uint32_t count, wrong;
    uint64_t last;
    const osc_store *store;
} seen;

static void look(void *context, uint32_t slice, osc_str args)
{
    seen *s = context;
    int64_t n = -1;
    const osc_slice_cols *c = osc_store_slice(s->store);
    /* event n starts at 2 n us; the file's base time moves all alike */
    bool right = osc_args_i64(args, "n", &n) && c->start_ns[slice] - c->start_ns[0] == n * 2000 &&
                 args.len == c->args_len[slice] && c->args_at[slice] >= s->last;
    s->wrong += !right;
    s->last = c->args_at[slice];
    s->count++;
}

static void check_slices(const osc_store *store, const uint32_t *slices, uint32_t n)
{
    seen s = {.store = store};
    osc_err err = {0};
    osc_status status = osc_args_each(store, slices, n, look, &s, &err);
    TAP_OKF(status == OSC_OK, "%s", err.message);
    TAP_EQ_U64(s.count, n);
    TAP_EQ_U64(s.wrong, 0);
}

/* All slices backwards, a few far apart, one twice. */
static void check_file(bool gzip)
{
    static uint32_t all[EVENTS];
    char *path = write_trace(gzip ? "t.json.gz" : "t.json", gzip);
    osc_store *store = open_path(path, 0);
    if (store) {
        TAP_EQ_U64(osc_store_slice(store)->count, EVENTS);
        for (uint32_t i = 0; i < EVENTS; i++)
            all[i] = EVENTS - 1 - i;
        check_slices(store, all, EVENTS);
        check_slices(store, (const uint32_t[]){2950, 50, 1500, 50}, 4);
        check_slices(store, (const uint32_t[]){7}, 1);
        check_slices(store, NULL, 0);
    }
    osc_store_free(store);
    osc_free(path);
}

static void test_plain_file(void)
{
    check_file(false);
}

static void test_gzip_file(void)
{
    check_file(true);
}

static void count_calls(void *context, uint32_t slice, osc_str args)
{
    (void)slice;
    (void)args;
    ++*(uint32_t *)context;
}

/* A file that is not what it was is refused before anything is told. */
static void test_changed_file(void)
{
    char *path = write_trace("changed.json", false);
    osc_store *store = open_path(path, 0);
    uint32_t slice = 5, calls = 0;
    osc_err err = {0};
    TAP_REQUIRE(store != NULL);
    TAP_EQ_STATUS(osc_write_file_atomic(path, "[]", 2, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_args_each(store, &slice, 1, count_calls, &calls, &err), OSC_EIO);
    TAP_OK(strstr(err.message, "changed") != NULL && calls == 0);
    (void)unlink(path);
    TAP_EQ_STATUS(osc_args_each(store, &slice, 1, count_calls, &calls, &err), OSC_EIO);
    osc_store_free(store);
    osc_free(path);
}

static void test_without_places(void)
{
    char *path = write_trace("places.json", false);
    uint32_t slice = 5, calls = 0;
    osc_err err = {0};
    osc_store *store = open_path(path, OSC_OMIT_ARGS);
    TAP_REQUIRE(store != NULL);
    TAP_EQ_STATUS(osc_args_each(store, &slice, 1, count_calls, &calls, &err), OSC_EUNSUPPORTED);
    osc_store_free(store);
    store = store_of(TRACE(EV("cpu_op", "a", 1, 1, 0, 1, "\"n\":1")));
    slice = 0;
    TAP_EQ_STATUS(osc_args_each(store, &slice, 1, count_calls, &calls, &err), OSC_EUNSUPPORTED);
    TAP_OK(strstr(err.message, "save it to a file") != NULL && calls == 0);
    osc_store_free(store);
    osc_free(path);
}

static void test_values(void)
{
    osc_str args =
        OSC_STR("{\"n\": 3, \"t\": \"a\\\"b\", \"n\": 4, \"list\": [1, 2], \"q\": \"17\"}");
    osc_buf text;
    int64_t n = 0;
    osc_buf_init(&text, SIZE_MAX);
    TAP_OK(osc_args_i64(args, "n", &n) && n == 4); /* the last of repeated keys */
    TAP_OK(osc_args_i64(args, "q", &n) && n == 17);
    TAP_OK(!osc_args_i64(args, "t", &n) && !osc_args_i64(args, "none", &n));
    TAP_OK(osc_args_text(args, "t", &text));
    TAP_EQ_VIEW(osc_buf_view(&text), "a\"b");
    TAP_OK(osc_args_text(args, "list", &text));
    TAP_EQ_VIEW(osc_buf_view(&text), "[1, 2]");
    TAP_OK(!osc_args_text(args, "none", &text) && text.len == 0);
    TAP_OK(!osc_args_text(OSC_STR("[]"), "none", &text));
    osc_buf_free(&text);
}

typedef struct pressure {
    const osc_store *store;
} pressure;

static bool read_under_pressure(void *ctx)
{
    const pressure *p = ctx;
    uint32_t slices[] = {10, 2000}, calls = 0;
    osc_status status = osc_args_each(p->store, slices, 2, count_calls, &calls, NULL);
    return status == OSC_OK ? calls == 2 : status == OSC_ENOMEM;
}

static void test_out_of_memory(void)
{
    for (int gzip = 0; gzip < 2; gzip++) {
        char *path = write_trace("oom.json", gzip);
        pressure p = {open_path(path, 0)};
        TAP_OK(p.store && tap_oom_sweep(read_under_pressure, &p, 60));
        osc_store *store;
        memcpy(&store, &p.store, sizeof store);
        osc_store_free(store);
        osc_free(path);
    }
}

int main(void)
{
    TAP_RUN(test_plain_file);
    TAP_RUN(test_gzip_file);
    TAP_RUN(test_changed_file);
    TAP_RUN(test_without_places);
    TAP_RUN(test_values);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
