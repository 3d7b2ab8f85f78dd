/*
 * gzip.c - gzip in memory, with a ceiling; declared in io.h.
 *
 * Inflating is that of source.h's streams (source_members.c, source_gzip.c), for files small enough
 * to hold whole. A file may be several gzip members one after another (RFC 1952, section 2.2);
 * bytes behind the last one that begin no member are an error here, except zeros, which some
 * writers pad with. Deflating is zlib's. With OSC_NO_ZLIB the functions say that this build cannot.
 */
#include "base/io.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/source_internal.h"

#include <assert.h>
#include <string.h>

/* ---- inflating ---- */

/* One step into out; at its ceiling a byte of scratch tells "exactly max" from "more". */
static osc_inflate_code step_into(osc_members *m, const unsigned char *in, size_t n, size_t *used,
                                  size_t *made, osc_buf *out)
{
    unsigned char scratch[1];
    if (out->len < out->max && !osc_buf_reserve(out, 1))
        return OSC_INFLATE_NO_MEMORY;
    bool full = out->len == out->max;
    osc_inflate_code code = osc_members_step(m, in, n, used, full ? scratch : out->data + out->len,
                                             full ? 1 : out->cap - out->len, made);
    if (!full)
        out->len += *made;
    else if (*made > 0)
        out->failed = true;
    assert(out->len <= out->cap || full);
    return out->failed ? OSC_INFLATE_NO_MEMORY : code;
}

static osc_status inflate_all(osc_members *m, const unsigned char *in, size_t n, const char *name,
                              osc_buf *out, osc_err *err)
{
    size_t used = 0, made = 1;
    osc_inflate_code code = OSC_INFLATE_MORE;
    while (code == OSC_INFLATE_MORE && (n > 0 || made > 0)) {
        code = step_into(m, in, n, &used, &made, out);
        in += used;
        n -= used;
    }
    if (out->failed && out->len == out->max)
        return osc_fail(err, OSC_ENOMEM, name, m->consumed,
                        "inflates to more than the ceiling of %zu bytes", out->max);
    if (code < 0)
        return osc_members_fail(m, code, name, err);
    /* bytes that are not gzip at all are damage, not an empty file with garbage behind it */
    if (m->state == OSC_MEMBERS_GARBAGE)
        return osc_fail(err, OSC_EFORMAT, name, m->consumed - m->garbage,
                        "bytes that are not gzip follow the stream");
    return osc_members_end(m) && m->members > 0 ? OSC_OK : osc_members_fail_cut(m, name, err);
}

osc_status osc_gunzip(const void *data, size_t n, const char *name, size_t max, char **ptr,
                      size_t *len, osc_err *err)
{
    osc_buf out;
    osc_inflater *inflater;
    *ptr = NULL;
    *len = 0;
    osc_status status = osc_gzip_inflater_new(OSC_GZIP_BEST, name, &inflater, err);
    if (status != OSC_OK)
        return status;
    osc_members members = {.form = OSC_SOURCE_GZIP, .inflater = inflater};
    osc_buf_init(&out, max);
    status = inflate_all(&members, n > 0 ? data : (const void *)"", n, name, &out, err);
    inflater->free(inflater);
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

/* ---- deflating ---- */

#ifdef OSC_NO_ZLIB

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

/* zlib wants a non-const input pointer but does not write through it. */
static Bytef *input_at(const void *data, size_t at)
{
    union {
        const void *in;
        Bytef *out;
    } cast = {.in = (const unsigned char *)data + at};
    return cast.out;
}

osc_status osc_gzip(const void *data, size_t n, char **ptr, size_t *len, osc_err *err)
{
    osc_buf out;
    *ptr = NULL;
    *len = 0;
    z_stream z = {.zalloc = hook_alloc, .zfree = hook_free};
    osc_buf_init(&out, SIZE_MAX);
    if (deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory to compress");
    size_t at = 0;
    int code = Z_OK;
    while (code == Z_OK && osc_buf_reserve(&out, PIECE)) {
        uInt offered = (uInt)(n - at < PIECE ? n - at : PIECE);
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
