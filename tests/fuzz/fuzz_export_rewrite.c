/* Rewriting arbitrary bytes: what comes out is JSON, and rewriting that changes nothing more. */
#include "base/io.h"
#include "base/mem.h"
#include "base/source_internal.h"
#include "scope/export/repair.h"
#include "scope/export/rewrite.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 400 /* the strict check knows 512 levels */

typedef struct input {
    const uint8_t *data;
    size_t len, at, piece;
} input;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ssize_t read_piece(void *context, void *buf, size_t n)
{
    input *in = context;
    n = n < in->piece ? n : in->piece;
    n = n < in->len - in->at ? n : in->len - in->at;
    memcpy(buf, in->data + in->at, n);
    in->at += n;
    return (ssize_t)n;
}

static void remove_folder(void)
{
    if (osc_remove_tree(tap_tmpdir(), NULL) != OSC_OK)
        fprintf(stderr, "%s stays\n", tap_tmpdir());
}

/* The rewritten bytes, NULL when they are no trace. */
static char *rewrite(const void *data, size_t size, size_t piece, size_t *len,
                     osc_rewrite_stats *stats)
{
    static char path[600];
    input in = {.data = data, .len = size, .piece = piece};
    osc_source_input from = {.context = &in,
                             .read = read_piece,
                             .name = osc_memdup0("fuzz", 4),
                             .limit = UINT64_MAX,
                             .inflate_always = (uint64_t)1 << 20};
    osc_source_options options = {.no_thread = true};
    osc_source *source = NULL;
    osc_sink *sink = NULL;
    char *out = NULL;
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/rewritten.json", tap_tmpdir());
        (void)atexit(remove_folder);
    }
    if (osc_source_open_input(&from, &options, OSC_GZIP_BEST, &source, NULL) != OSC_OK)
        return NULL;
    if (osc_sink_open(path, &sink, NULL) != OSC_OK)
        abort();
    osc_status status = osc_trace_rewrite(source, "fuzz", sink, NULL, stats, NULL);
    osc_source_close(source);
    if (status != OSC_OK)
        osc_sink_drop(sink);
    else if (osc_sink_commit(sink, NULL) != OSC_OK ||
             osc_read_file(path, SIZE_MAX, &out, len, NULL) != OSC_OK)
        abort();
    return out;
}

static size_t brackets(const uint8_t *data, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += data[i] == '{' || data[i] == '[';
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t piece = size > 0 ? (size_t)data[size - 1] + 1 : 1, len = 0, again_len = 0, split_len = 0;
    osc_rewrite_stats stats, again_stats, split_stats;
    char *out = rewrite(data, size, SIZE_MAX, &len, &stats);
    if (!out)
        return 0;
    char *split = rewrite(data, size, piece, &split_len, &split_stats);
    if (!split || split_len != len || memcmp(split, out, len) != 0)
        abort(); /* how the bytes arrive must not matter */
    if (brackets(data, size) < DEEPEST && !osc_json_strict(osc_str_make(out, len)))
        abort();
    char *again = rewrite(out, len, SIZE_MAX, &again_len, &again_stats);
    if (!again || again_len != len || memcmp(again, out, len) != 0 ||
        again_stats.written != stats.written || again_stats.skipped > 0 || again_stats.truncated)
        abort();
    osc_free(out);
    osc_free(split);
    osc_free(again);
    return 0;
}
