/*
 * gzip.c - gzip in memory, with a ceiling; declared in io.h.
 *
 * zlib does the work. A file may be several gzip members one after another (RFC 1952, section 2.2);
 * bytes behind the last one that begin no member are an error, except zeros, which some writers pad
 * with. With OSC_NO_ZLIB the functions say that this build cannot.
 */
#include "base/io.h"

#include "base/buf.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#ifdef OSC_NO_ZLIB

osc_status osc_gunzip(const void *data, size_t n, const char *name, size_t max, char **ptr,
                      size_t *len, osc_err *err)
{
    (void)data;
    (void)n;
    (void)max;
    *ptr = NULL;
    *len = 0;
    return osc_fail(err, OSC_EUNSUPPORTED, name, OSC_NO_OFFSET,
                    "gzip is not built in; gunzip it first");
}

osc_status osc_gzip(const void *data, size_t n, char **ptr, size_t *len, osc_err *err)
{
    (void)data;
    (void)n;
    *ptr = NULL;
    *len = 0;
    return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET, "gzip is not built in");
}

#else

#include <zlib.h>

#define PIECE       ((size_t)256 << 10)
#define GZIP_WINDOW (15 + 16) /* zlib: largest window, gzip wrapper */

static voidpf hook_alloc(voidpf opaque, uInt items, uInt size)
{
    (void)opaque;
    return osc_calloc(items, size);
}

static void hook_free(voidpf opaque, voidpf ptr)
{
    (void)opaque;
    osc_free(ptr);
}

static z_stream new_stream(void)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    z.zalloc = hook_alloc;
    z.zfree = hook_free;
    return z;
}

static uInt piece_of(size_t n)
{
    return (uInt)(n < PIECE ? n : PIECE);
}

/* zlib wants a non-const input pointer but does not write through it. */
static Bytef *input_at(const void *data, size_t at)
{
    union {
        const void *in;
        Bytef *out;
    } cast = {.in = (const unsigned char *)data + at};
    return cast.out;
}

static bool only_zeros(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != 0)
            return false;
    }
    return true;
}

/* Inflates one step into out; zlib's code, or Z_MEM_ERROR when out is full and more would come. */
static int inflate_step(z_stream *z, osc_buf *out)
{
    /* at the ceiling the end of the stream may still follow: one byte of scratch tells */
    unsigned char scratch[1];
    bool full = out->len == out->max;
    if (!full && !osc_buf_reserve(out, 1))
        return Z_MEM_ERROR;
    uInt offered = full ? 1 : piece_of(out->cap - out->len);
    z->next_out = full ? scratch : out->data + out->len;
    z->avail_out = offered;
    int code = inflate(z, Z_NO_FLUSH);
    assert(z->avail_out <= offered);
    if (full)
        return z->avail_out == 0 ? Z_MEM_ERROR : code;
    out->len += offered - z->avail_out;
    return code;
}

/* Inflates all members; *at is where in the input it stopped. */
static int inflate_members(z_stream *z, const void *data, size_t n, osc_buf *out, size_t *at)
{
    int code = Z_OK;
    *at = 0;
    for (;;) {
        uInt offered = piece_of(n - *at);
        z->next_in = input_at(data, *at);
        z->avail_in = offered;
        code = inflate_step(z, out);
        *at += offered - z->avail_in;
        if (code == Z_STREAM_END) {
            if (only_zeros((const unsigned char *)data + *at, n - *at))
                return Z_STREAM_END;
            code = inflateReset(z);
        } else if (code == Z_BUF_ERROR && *at < n) {
            code = Z_OK; /* only the output was full */
        }
        if (code != Z_OK)
            return code;
    }
}

static osc_status gunzip_failure(int code, const char *name, size_t at, const osc_buf *out,
                                 osc_err *err)
{
    if (code == Z_BUF_ERROR)
        return osc_fail(err, OSC_ETRUNCATED, name, at, "the gzip stream ends early");
    if (code == Z_MEM_ERROR && out->len >= out->max)
        return osc_fail(err, OSC_ENOMEM, name, at, "inflates to more than the ceiling of %zu bytes",
                        out->max);
    if (code == Z_MEM_ERROR)
        return osc_fail(err, OSC_ENOMEM, name, at, "no memory to inflate");
    return osc_fail(err, OSC_EFORMAT, name, at, "the gzip stream is damaged");
}

osc_status osc_gunzip(const void *data, size_t n, const char *name, size_t max, char **ptr,
                      size_t *len, osc_err *err)
{
    osc_buf out;
    size_t at = 0;
    *ptr = NULL;
    *len = 0;
    z_stream z = new_stream();
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return osc_fail(err, OSC_ENOMEM, name, OSC_NO_OFFSET, "no memory to inflate");
    osc_buf_init(&out, max);
    int code = inflate_members(&z, data, n, &out, &at);
    (void)inflateEnd(&z);
    osc_status status = code == Z_STREAM_END ? OSC_OK : gunzip_failure(code, name, at, &out, err);
    if (status == OSC_OK || status == OSC_ETRUNCATED) {
        *ptr = (char *)osc_buf_take(&out, len);
        if (!*ptr)
            *ptr = osc_memdup0("", 0);
        if (!*ptr)
            status = osc_fail(err, OSC_ENOMEM, name, OSC_NO_OFFSET, "no memory to inflate");
    }
    osc_buf_free(&out);
    return status;
}

osc_status osc_gzip(const void *data, size_t n, char **ptr, size_t *len, osc_err *err)
{
    osc_buf out;
    *ptr = NULL;
    *len = 0;
    z_stream z = new_stream();
    osc_buf_init(&out, SIZE_MAX);
    if (deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory to compress");
    size_t at = 0;
    int code = Z_OK;
    while (code == Z_OK && osc_buf_reserve(&out, PIECE)) {
        uInt offered = piece_of(n - at);
        z.next_in = input_at(data, at);
        z.avail_in = offered;
        z.next_out = out.data + out.len;
        z.avail_out = (uInt)PIECE;
        code = deflate(&z, at + offered == n ? Z_FINISH : Z_NO_FLUSH);
        at += offered - z.avail_in;
        out.len += PIECE - z.avail_out;
    }
    (void)deflateEnd(&z);
    if (code == Z_STREAM_END)
        *ptr = (char *)osc_buf_take(&out, len);
    osc_buf_free(&out);
    return *ptr ? OSC_OK : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory to compress");
}

#endif

osc_status osc_read_file_auto(const char *path, size_t max, char **ptr, size_t *len, bool *was_gzip,
                              osc_err *err)
{
    char *raw;
    size_t raw_len;
    bool gzip = false;
    osc_status status = osc_read_file(path, max, &raw, &raw_len, err);
    if (status == OSC_OK)
        gzip = raw_len >= 2 && memcmp(raw, "\x1f\x8b", 2) == 0;
    if (was_gzip)
        *was_gzip = gzip;
    if (!gzip) {
        *ptr = raw;
        *len = raw_len;
        return status;
    }
    status = osc_gunzip(raw, raw_len, path, max, ptr, len, err);
    osc_free(raw);
    return status;
}
