/* Streams of arbitrary bytes: with and without a thread, by every engine, in pieces the input chooses. */
#include "base/mem.h"
#include "base/source_internal.h"

#include <stdlib.h>
#include <string.h>

#define CEILING ((size_t)1 << 18)

typedef struct input {
    const uint8_t *data;
    size_t len, at, piece;
} input;

typedef struct outcome {
    osc_status status;
    size_t len;
    uint64_t garbage;
    unsigned char *bytes;
} outcome;

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

static outcome stream(const uint8_t *data, size_t size, size_t piece, osc_gzip_engine engine,
                      bool no_thread)
{
    input in = {.data = data, .len = size, .piece = piece};
    osc_source_input from = {.context = &in, .read = read_piece, .name = osc_memdup0("fuzz", 4)};
    osc_source_options options = {.max_bytes = CEILING, .no_thread = no_thread};
    osc_source *s;
    outcome r = {.bytes = osc_alloc(CEILING + 1)};
    size_t got = 1;
    r.status = r.bytes ? osc_source_open_input(&from, &options, engine, &s, NULL) : OSC_ENOMEM;
    if (r.status != OSC_OK)
        return r;
    while (r.status == OSC_OK && got > 0) {
        r.status = osc_source_read(s, r.bytes + r.len, CEILING + 1 - r.len, &got, NULL);
        r.len += got;
        if (r.len > CEILING)
            abort();
    }
    r.garbage = osc_source_trailing_garbage(s);
    osc_source_close(s);
    return r;
}

/*
 * What two ways of reading gave: the same verdict, and the same bytes where all is well. Of damaged
 * members the engines may give more or fewer bytes, and name the damage differently.
 */
static void must_agree(const outcome *a, const outcome *b)
{
    if (a->status == OSC_EUNSUPPORTED || b->status == OSC_EUNSUPPORTED)
        return;
    if (a->status == OSC_OK && b->status == OSC_OK &&
        (a->len != b->len || memcmp(a->bytes, b->bytes, a->len) != 0 || a->garbage != b->garbage))
        abort();
    size_t common = a->len < b->len ? a->len : b->len;
    if (a->status == OSC_OK && (b->len > a->len || memcmp(a->bytes, b->bytes, common) != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t piece = size > 0 ? (size_t)data[size - 1] + 1 : 1;
    outcome whole = stream(data, size, SIZE_MAX, OSC_GZIP_ZLIB, true);
    outcome pieces = stream(data, size, piece, OSC_GZIP_ZLIB, false);
    outcome best = stream(data, size, piece, OSC_GZIP_BEST, true);
    if (whole.status != pieces.status && whole.status != OSC_EUNSUPPORTED &&
        pieces.status != OSC_EUNSUPPORTED)
        abort();
    must_agree(&whole, &pieces);
    must_agree(&whole, &best);
    osc_free(whole.bytes);
    osc_free(pieces.bytes);
    osc_free(best.bytes);
    return 0;
}
