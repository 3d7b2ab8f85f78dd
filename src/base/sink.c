/*
 * sink.c - see sink.h.
 *
 * zlib is linked; libzstd is loaded when a .zst file is to be written, as it is for reading
 * (source_zstd.c). Compressed bytes carry no time stamp: same bytes in, same bytes out.
 */
#include "base/sink.h"

#include "base/io_internal.h"
#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef OSC_NO_ZLIB
#include <zlib.h>
#endif

#ifdef OSC_HAVE_ZSTD
#include <dlfcn.h>
#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_customMem: the library's memory comes through ours */
#include <zstd.h>
#include <zstd_errors.h>
#endif

#define OUT_BYTES   ((size_t)256 << 10)
#define GZIP_WINDOW (15 + 16) /* zlib: largest window, gzip wrapper */
#define GZIP_LEVEL  6
#define ZSTD_LEVEL  3

static osc_status no_memory(const char *path, osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory to write it");
}

struct osc_sink {
    char *path;
    char *temporary; /* NULL: standard output */
    int fd;
    osc_source_form form;
    unsigned char *out; /* compressed bytes, or plain ones that wait for more */
    size_t out_len;
#ifndef OSC_NO_ZLIB
    z_stream z;
    bool z_open;
#endif
#ifdef OSC_HAVE_ZSTD
    void *library;
    ZSTD_CCtx *context;
    __typeof__(ZSTD_createCCtx_advanced) *create;
    __typeof__(ZSTD_freeCCtx) *release;
    __typeof__(ZSTD_compressStream2) *deflate;
    __typeof__(ZSTD_getErrorCode) *error_of;
#endif
};

osc_source_form osc_sink_form_of(const char *path)
{
    osc_str name = osc_str_from_cstr(path);
    if (osc_str_ends(name, OSC_STR(".gz")))
        return OSC_SOURCE_GZIP;
    return osc_str_ends(name, OSC_STR(".zst")) ? OSC_SOURCE_ZSTD : OSC_SOURCE_PLAIN;
}

static osc_status flush(osc_sink *s, osc_err *err)
{
    const char *shown = s->temporary ? s->path : "standard output";
    osc_status status = osc_io_write_all(s->fd, shown, s->out, s->out_len, err);
    s->out_len = 0;
    return status;
}

/* ---- plain ---- */

static osc_status write_plain(osc_sink *s, const unsigned char *p, size_t n, osc_err *err)
{
    while (n > 0) {
        size_t room = OUT_BYTES - s->out_len;
        size_t some = n < room ? n : room;
        memcpy(s->out + s->out_len, p, some);
        s->out_len += some;
        p += some;
        n -= some;
        if (s->out_len == OUT_BYTES) {
            osc_status status = flush(s, err);
            if (status != OSC_OK)
                return status;
        }
    }
    return OSC_OK;
}

/* ---- gzip ---- */

#ifdef OSC_NO_ZLIB

static osc_status open_gzip(osc_sink *s, osc_err *err)
{
    return osc_fail(err, OSC_EUNSUPPORTED, s->path, OSC_NO_OFFSET, "gzip is not built in");
}

static osc_status write_gzip(osc_sink *s, const unsigned char *p, size_t n, bool end, osc_err *err)
{
    (void)p;
    (void)n;
    (void)end;
    return open_gzip(s, err);
}

static void close_gzip(osc_sink *s)
{
    (void)s;
}

#else

static voidpf z_alloc(voidpf opaque, uInt items, uInt size)
{
    (void)opaque;
    return osc_calloc(items, size);
}

static void z_free(voidpf opaque, voidpf ptr)
{
    (void)opaque;
    osc_free(ptr);
}

static osc_status open_gzip(osc_sink *s, osc_err *err)
{
    s->z = (z_stream){.zalloc = z_alloc, .zfree = z_free};
    s->z_open =
        deflateInit2(&s->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    return s->z_open ? OSC_OK : no_memory(s->path, err);
}

/* Compresses n bytes; end: and the stream's trailer. */
static osc_status write_gzip(osc_sink *s, const unsigned char *p, size_t n, bool end, osc_err *err)
{
    union {
        const unsigned char *in;
        Bytef *out;
    } cast = {.in = p}; /* zlib does not write through it */
    int code = Z_OK;
    assert(n <= UINT32_MAX / 2);
    s->z.next_in = cast.out;
    s->z.avail_in = (uInt)n;
    while (s->z.avail_in > 0 || (end && code != Z_STREAM_END)) {
        s->z.next_out = s->out + s->out_len;
        s->z.avail_out = (uInt)(OUT_BYTES - s->out_len);
        code = deflate(&s->z, end ? Z_FINISH : Z_NO_FLUSH);
        assert(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR);
        s->out_len = OUT_BYTES - s->z.avail_out;
        osc_status status = s->out_len == OUT_BYTES ? flush(s, err) : OSC_OK;
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}

static void close_gzip(osc_sink *s)
{
    if (s->z_open)
        (void)deflateEnd(&s->z);
}

#endif

/* ---- zstd ---- */

#ifndef OSC_HAVE_ZSTD

static osc_status open_zstd(osc_sink *s, osc_err *err)
{
    return osc_fail(err, OSC_EUNSUPPORTED, s->path, OSC_NO_OFFSET,
                    "this program was built without zstd; choose a name that ends in .gz");
}

static osc_status write_zstd(osc_sink *s, const unsigned char *p, size_t n, bool end, osc_err *err)
{
    (void)p;
    (void)n;
    (void)end;
    return open_zstd(s, err);
}

static void close_zstd(osc_sink *s)
{
    (void)s;
}

#else

static void *zstd_alloc(void *opaque, size_t size)
{
    (void)opaque;
    return osc_alloc(size);
}

static void zstd_release(void *opaque, void *ptr)
{
    (void)opaque;
    osc_free(ptr);
}

/* A function of the library; function and object pointers are of one size on every POSIX system. */
static bool find(const osc_sink *s, const char *name, void *function)
{
    void *address = s->library ? dlsym(s->library, name) : NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static osc_status open_zstd(osc_sink *s, osc_err *err)
{
    s->library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!find(s, "ZSTD_createCCtx_advanced", &s->create) ||
        !find(s, "ZSTD_freeCCtx", &s->release) || !find(s, "ZSTD_compressStream2", &s->deflate) ||
        !find(s, "ZSTD_getErrorCode", &s->error_of))
        return osc_fail(err, OSC_EUNSUPPORTED, s->path, OSC_NO_OFFSET,
                        "the zstd library (libzstd.so.1, Debian package libzstd1) is not on this "
                        "machine; choose a name that ends in .gz");
    s->context = s->create((ZSTD_customMem){zstd_alloc, zstd_release, NULL});
    return s->context ? OSC_OK : no_memory(s->path, err);
}

static osc_status write_zstd(osc_sink *s, const unsigned char *p, size_t n, bool end, osc_err *err)
{
    ZSTD_inBuffer in = {.src = p, .size = n, .pos = 0};
    size_t left = 1;
    while (in.pos < in.size || (end && left > 0)) {
        ZSTD_outBuffer out = {.dst = s->out, .size = OUT_BYTES, .pos = s->out_len};
        left = s->deflate(s->context, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (s->error_of(left) != ZSTD_error_no_error)
            return no_memory(s->path, err); /* nothing else can go wrong with default parameters */
        s->out_len = out.pos;
        osc_status status = s->out_len == OUT_BYTES ? flush(s, err) : OSC_OK;
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}

static void close_zstd(osc_sink *s)
{
    if (s->context)
        (void)s->release(s->context);
    if (s->library)
        (void)dlclose(s->library);
}

#endif

/* ---- the sink ---- */

static osc_status open_file(osc_sink *s, osc_err *err)
{
    if (strcmp(s->path, "-") == 0) {
        s->fd = STDOUT_FILENO;
        return OSC_OK;
    }
    struct stat st;
    if (stat(s->path, &st) == 0 && !S_ISREG(st.st_mode))
        return osc_fail(err, OSC_EIO, s->path, OSC_NO_OFFSET, "cannot write: not a regular file");
    s->fd = osc_io_create_temporary(s->path, &s->temporary);
    return s->fd >= 0 ? OSC_OK : osc_io_fail(err, s->path, "create");
}

osc_status osc_sink_open(const char *path, osc_sink **out, osc_err *err)
{
    osc_sink *s = osc_calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return no_memory(path, err);
    s->fd = -1;
    s->form = osc_sink_form_of(path);
    s->path = osc_memdup0(path, strlen(path));
    s->out = osc_alloc(OUT_BYTES);
    osc_status status = OSC_OK;
    if (!s->path || !s->out)
        status = no_memory(path, err);
    if (status == OSC_OK && s->form == OSC_SOURCE_GZIP)
        status = open_gzip(s, err);
    if (status == OSC_OK && s->form == OSC_SOURCE_ZSTD)
        status = open_zstd(s, err);
    if (status == OSC_OK)
        status = open_file(s, err);
    if (status != OSC_OK) {
        osc_sink_drop(s);
        return status;
    }
    *out = s;
    return OSC_OK;
}

static osc_status write_form(osc_sink *s, const unsigned char *p, size_t n, bool end, osc_err *err)
{
    if (s->form == OSC_SOURCE_GZIP)
        return write_gzip(s, p, n, end, err);
    if (s->form == OSC_SOURCE_ZSTD)
        return write_zstd(s, p, n, end, err);
    return write_plain(s, p, n, err);
}

osc_status osc_sink_write(osc_sink *s, const void *bytes, size_t n, osc_err *err)
{
    const unsigned char *p = bytes;
    osc_status status = OSC_OK;
    while (n > 0 && status == OSC_OK) {
        size_t some = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
        status = write_form(s, p, some, false, err);
        p += some;
        n -= some;
    }
    return status;
}

osc_status osc_sink_commit(osc_sink *s, osc_err *err)
{
    osc_status status = write_form(s, (const unsigned char *)"", 0, true, err);
    if (status == OSC_OK)
        status = flush(s, err);
    if (s->temporary) {
        int failed = close(s->fd);
        s->fd = -1;
        if (status == OSC_OK && failed != 0)
            status = osc_io_fail(err, s->path, "close");
        if (status == OSC_OK && rename(s->temporary, s->path) != 0)
            status = osc_io_fail(err, s->path, "rename into place");
        if (status == OSC_OK) {
            osc_free(s->temporary);
            s->temporary = NULL;
        }
    }
    osc_sink_drop(s);
    return status;
}

void osc_sink_drop(osc_sink *s)
{
    if (!s)
        return;
    if (s->temporary) {
        if (s->fd >= 0)
            (void)close(s->fd);
        (void)unlink(s->temporary);
    }
    close_gzip(s);
    close_zstd(s);
    osc_free(s->temporary);
    osc_free(s->path);
    osc_free(s->out);
    osc_free(s);
}
