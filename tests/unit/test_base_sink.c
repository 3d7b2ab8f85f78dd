/* base/sink.h: what is written comes back, appears whole or not at all, and fails cleanly. */
#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sink.h"
#include "base/source.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *path_of(const char *name)
{
    return osc_path_join(tap_tmpdir(), name);
}

/* False, with a note, when this build cannot write such files. */
static bool can(const char *path)
{
    osc_sink *s = NULL;
    osc_err err = {0};
    osc_status status = osc_sink_open(path, &s, &err);
    osc_sink_drop(s);
    if (status == OSC_EUNSUPPORTED)
        tap_note("left out: %s", err.message);
    else
        TAP_EQ_STATUS(status, OSC_OK);
    return status == OSC_OK;
}

static size_t files_in_tmpdir(void)
{
    osc_dir_list list = {0};
    TAP_EQ_STATUS(osc_list_dir(tap_tmpdir(), &list, NULL), OSC_OK);
    size_t n = list.count;
    osc_dir_list_free(&list);
    return n;
}

static char *pattern(size_t n)
{
    char *data = osc_alloc(n + 1);
    for (size_t i = 0; data && i < n; i++)
        data[i] = (char)('a' + (i * i + i / 1000) % 26);
    return data;
}

/* Writes n bytes in pieces of several sizes. */
static osc_status write_pieces(osc_sink *s, const char *data, size_t n)
{
    osc_status status = OSC_OK;
    for (size_t at = 0, piece = 1; at < n && status == OSC_OK; piece = piece * 3 % 300007 + 1) {
        size_t some = n - at < piece ? n - at : piece;
        status = osc_sink_write(s, data + at, some, NULL);
        at += some;
    }
    return status;
}

static void check_round_trip(const char *name, osc_source_form form, size_t n)
{
    char *path = path_of(name), *data = pattern(n), *back = osc_alloc(n + 1);
    osc_sink *s = NULL;
    osc_source *from = NULL;
    osc_source_options options = {0};
    size_t got = 0;
    TAP_REQUIRE(path && data && back);
    if (can(path)) {
        TAP_EQ_STATUS(osc_sink_open(path, &s, NULL), OSC_OK);
        TAP_EQ_STATUS(write_pieces(s, data, n), OSC_OK);
        TAP_OK(!osc_path_exists(path));
        TAP_EQ_STATUS(osc_sink_commit(s, NULL), OSC_OK);
        TAP_EQ_STATUS(osc_source_open(path, &options, &from, NULL), OSC_OK);
        TAP_EQ_I64(osc_source_form_of(from), form);
        TAP_EQ_STATUS(osc_source_read(from, back, n + 1, &got, NULL), OSC_OK);
        TAP_OK(got == n && memcmp(back, data, n) == 0);
        osc_source_close(from);
        TAP_EQ_STATUS(osc_remove_file(path, NULL), OSC_OK);
    }
    osc_free(back);
    osc_free(data);
    osc_free(path);
}

static void test_round_trips(void)
{
    static const size_t sizes[] = {0, 1, 262144, 1500001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_round_trip("t.json", OSC_SOURCE_PLAIN, sizes[i]);
        check_round_trip("t.json.gz", OSC_SOURCE_GZIP, sizes[i]);
        check_round_trip("t.json.zst", OSC_SOURCE_ZSTD, sizes[i]);
    }
    TAP_EQ_I64(osc_sink_form_of("-"), OSC_SOURCE_PLAIN);
}

/* Dropped or killed: the old file stays, and nothing lies beside it. */
static void test_drop(void)
{
    char *path = path_of("kept.json"), *text = NULL;
    size_t len = 0, before;
    osc_sink *s = NULL;
    TAP_REQUIRE(osc_write_file_atomic(path, "old", 3, NULL) == OSC_OK);
    before = files_in_tmpdir();
    TAP_REQUIRE(osc_sink_open(path, &s, NULL) == OSC_OK);
    TAP_EQ_STATUS(osc_sink_write(s, "new", 3, NULL), OSC_OK);
    osc_sink_drop(s);
    osc_sink_drop(NULL);
    TAP_EQ_U64(files_in_tmpdir(), before);
    TAP_EQ_STATUS(osc_read_file(path, 100, &text, &len, NULL), OSC_OK);
    TAP_EQ_STR(text, "old");
    osc_free(text);
    osc_free(path);
}

static void test_bad_places(void)
{
    osc_sink *s = NULL;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_sink_open("/nowhere/x.json", &s, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.input, "/nowhere/x.json");
    TAP_EQ_STATUS(osc_sink_open(tap_tmpdir(), &s, &err), OSC_EIO);
    TAP_EQ_STATUS(osc_sink_open("/dev/null", &s, &err), OSC_EIO); /* a rename would replace it */
    TAP_OK(s == NULL);
}

/* Disk full: a device that refuses every write, behind a name that is no device. */
static void test_write_fails(void)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        tap_skip("this system has no /dev/full");
        return;
    }
    (void)fclose(full);
    /* standard output is the one descriptor that a sink takes as it is */
    int kept = dup(1);
    TAP_REQUIRE(kept >= 0);
    (void)fflush(stdout);
    TAP_OK(freopen("/dev/full", "w", stdout) != NULL);
    osc_sink *s = NULL;
    osc_err err = {0};
    char *data = pattern(300000);
    osc_status status = osc_sink_open("-", &s, NULL);
    if (status == OSC_OK)
        status = osc_sink_write(s, data, 300000, &err);
    osc_sink_drop(s);
    (void)dup2(kept, 1);
    (void)close(kept);
    TAP_EQ_STATUS(status, OSC_EIO);
    TAP_OK(strstr(err.message, "space") != NULL);
    osc_free(data);
}

typedef struct pressure {
    const char *path;
    const char *data;
} pressure;

static bool write_under_pressure(void *ctx)
{
    const pressure *p = ctx;
    osc_sink *s = NULL;
    osc_status status = osc_sink_open(p->path, &s, NULL);
    bool good = (status == OSC_OK) == (s != NULL);
    if (status == OSC_OK) {
        status = osc_sink_write(s, p->data, 400000, NULL);
        if (status == OSC_OK)
            status = osc_sink_commit(s, NULL);
        else
            osc_sink_drop(s);
    }
    bool there = osc_path_exists(p->path);
    good = good && (status == OSC_OK ? there : status == OSC_ENOMEM && !there);
    return good && osc_remove_file(p->path, NULL) == OSC_OK;
}

static void test_out_of_memory(void)
{
    static const char *const names[] = {"oom.json", "oom.json.gz", "oom.json.zst"};
    char *data = pattern(400000);
    size_t before = files_in_tmpdir();
    for (size_t i = 0; i < 3; i++) {
        pressure p = {path_of(names[i]), data};
        if (can(p.path))
            TAP_OK(tap_oom_sweep(write_under_pressure, &p, 60));
        char *path;
        memcpy(&path, &p.path, sizeof path);
        osc_free(path);
    }
    TAP_EQ_U64(files_in_tmpdir(), before);
    osc_free(data);
}

int main(void)
{
    TAP_RUN(test_round_trips);
    TAP_RUN(test_drop);
    TAP_RUN(test_bad_places);
    TAP_RUN(test_write_fails);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
