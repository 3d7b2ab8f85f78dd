/*
 * source_gzip.c - one gzip member at a time, by ISA-L or by zlib.
 *
 * ISA-L inflates trace text 2.7 times as fast as zlib (libraries.md 6: 2,660 against 990 MB/s), but
 * it is for 64-bit x86 and Arm only and not installed everywhere. So it is loaded when the first
 * gzip file is opened, and zlib does the work where it cannot be: the bytes are the same. With
 * OSC_NO_ZLIB (32-bit builds) neither is there and gzip is refused with a sentence.
 *
 * Rejected: libdeflate, as fast but only for whole files in memory; linking ISA-L, which every
 * start of the program would pay for and which would make it a library the program cannot run
 * without.
 */
#include "base/mem.h"
#include "base/source_internal.h"

#include <assert.h>
#include <string.h>

#if defined(OSC_HAVE_ISAL)

#include <dlfcn.h>
#include <isa-l/igzip_lib.h>

#define ISAL_LIBRARY "libisal.so.2" /* the ABI of struct inflate_state goes with this name */

typedef struct isal_inflater {
    osc_inflater base; /* first: the two pointers are the same */
    void *library;
    __typeof__(isal_inflate_init) *init;
    __typeof__(isal_inflate_reset) *restart;
    __typeof__(isal_inflate) *inflate;
    struct inflate_state state;
} isal_inflater;

/* The library wants a non-const input pointer but does not write through it. */
static uint8_t *without_const(const unsigned char *in)
{
    union {
        const unsigned char *in;
        uint8_t *out;
    } cast = {.in = in};
    return cast.out;
}

static osc_inflate_code isal_code(const isal_inflater *z, int code)
{
    if (code == ISAL_DECOMP_OK)
        return z->state.block_state == ISAL_BLOCK_FINISH ? OSC_INFLATE_END : OSC_INFLATE_MORE;
    if (code == ISAL_END_INPUT || code == ISAL_OUT_OVERFLOW)
        return OSC_INFLATE_MORE;
    return code == ISAL_INCORRECT_CHECKSUM ? OSC_INFLATE_CHECKSUM : OSC_INFLATE_DAMAGED;
}

static osc_inflate_code isal_step(osc_inflater *self, const unsigned char *in, size_t n,
                                  size_t *used, unsigned char *out, size_t cap, size_t *made)
{
    isal_inflater *z = (isal_inflater *)(void *)self;
    uint32_t give = n < UINT32_MAX / 2 ? (uint32_t)n : UINT32_MAX / 2;
    uint32_t room = cap < UINT32_MAX / 2 ? (uint32_t)cap : UINT32_MAX / 2;
    z->state.next_in = without_const(in);
    z->state.avail_in = give;
    z->state.next_out = out;
    z->state.avail_out = room;
    int code = z->inflate(&z->state);
    /* after damage avail_in of 2.30 may have run below zero; the pointers are right always */
    size_t taken = (size_t)(z->state.next_in - in);
    *used = taken < give ? taken : give;
    *made = (size_t)(z->state.next_out - out);
    assert(*made <= room && (code < 0 || z->state.avail_in == give - *used));
    return isal_code(z, code);
}

static bool isal_again(osc_inflater *self)
{
    isal_inflater *z = (isal_inflater *)(void *)self;
    z->restart(&z->state);
    z->state.crc_flag = ISAL_GZIP;
    return true;
}

static void isal_free(osc_inflater *self)
{
    isal_inflater *z = (isal_inflater *)(void *)self;
    if (z->library)
        (void)dlclose(z->library);
    osc_free(z);
}

/* A function of the library; function and object pointers are of one size on every POSIX system. */
static bool isal_find(const isal_inflater *z, const char *name, void *function)
{
    void *address = z->library ? dlsym(z->library, name) : NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* OSC_EUNSUPPORTED when the library is not on this machine. */
static osc_status isal_new(osc_inflater **out)
{
    isal_inflater *z = osc_calloc(1, sizeof *z);
    if (!z)
        return OSC_ENOMEM;
    z->base = (osc_inflater){.step = isal_step, .reset = isal_again, .free = isal_free};
    z->library = dlopen(ISAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!isal_find(z, "isal_inflate_init", &z->init) ||
        !isal_find(z, "isal_inflate_reset", &z->restart) ||
        !isal_find(z, "isal_inflate", &z->inflate)) {
        isal_free(&z->base);
        return OSC_EUNSUPPORTED;
    }
    z->init(&z->state);
    *out = &z->base;
    return OSC_OK;
}

#else

static osc_status isal_new(osc_inflater **out)
{
    *out = NULL;
    return OSC_EUNSUPPORTED;
}

#endif

#ifndef OSC_NO_ZLIB

#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: largest window, gzip wrapper */

typedef struct zlib_inflater {
    osc_inflater base; /* first: the two pointers are the same */
    z_stream z;
} zlib_inflater;

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

static osc_inflate_code zlib_code(const z_stream *z, int code)
{
    switch (code) {
    case Z_OK:
    case Z_BUF_ERROR: return OSC_INFLATE_MORE; /* no input or no room; no fault */
    case Z_STREAM_END: return OSC_INFLATE_END;
    case Z_MEM_ERROR: return OSC_INFLATE_NO_MEMORY;
    default: break;
    }
    bool checksum = z->msg && strcmp(z->msg, "incorrect data check") == 0;
    return checksum ? OSC_INFLATE_CHECKSUM : OSC_INFLATE_DAMAGED;
}

static osc_inflate_code zlib_step(osc_inflater *self, const unsigned char *in, size_t n,
                                  size_t *used, unsigned char *out, size_t cap, size_t *made)
{
    z_stream *z = &((zlib_inflater *)(void *)self)->z;
    uInt give = n < UINT32_MAX / 2 ? (uInt)n : UINT32_MAX / 2;
    uInt room = cap < UINT32_MAX / 2 ? (uInt)cap : UINT32_MAX / 2;
    union {
        const unsigned char *in;
        Bytef *out;
    } cast = {.in = in}; /* zlib does not write through it */
    z->next_in = cast.out;
    z->avail_in = give;
    z->next_out = out;
    z->avail_out = room;
    int code = inflate(z, Z_NO_FLUSH);
    assert(z->avail_in <= give && z->avail_out <= room);
    *used = give - z->avail_in;
    *made = room - z->avail_out;
    return zlib_code(z, code);
}

static bool zlib_again(osc_inflater *self)
{
    return inflateReset(&((zlib_inflater *)(void *)self)->z) == Z_OK;
}

static void zlib_free(osc_inflater *self)
{
    (void)inflateEnd(&((zlib_inflater *)(void *)self)->z);
    osc_free(self);
}

static osc_status zlib_new(osc_inflater **out)
{
    zlib_inflater *z = osc_calloc(1, sizeof *z);
    if (!z)
        return OSC_ENOMEM;
    z->base = (osc_inflater){.step = zlib_step, .reset = zlib_again, .free = zlib_free};
    z->z.zalloc = hook_alloc;
    z->z.zfree = hook_free;
    if (inflateInit2(&z->z, GZIP_WINDOW) != Z_OK) {
        osc_free(z);
        return OSC_ENOMEM;
    }
    *out = &z->base;
    return OSC_OK;
}

#else

static osc_status zlib_new(osc_inflater **out)
{
    *out = NULL;
    return OSC_EUNSUPPORTED;
}

#endif

osc_status osc_gzip_inflater_new(osc_gzip_engine engine, const char *name, osc_inflater **out,
                                 osc_err *err)
{
    *out = NULL;
    osc_status status = engine == OSC_GZIP_ZLIB ? OSC_EUNSUPPORTED : isal_new(out);
    if (status == OSC_EUNSUPPORTED && engine != OSC_GZIP_ISAL)
        status = zlib_new(out);
    if (status == OSC_ENOMEM)
        return osc_fail(err, status, name, OSC_NO_OFFSET, "no memory to inflate");
    if (status != OSC_OK)
        return osc_fail(err, status, name, OSC_NO_OFFSET, "gzip is not built in; gunzip it first");
    assert(*out != NULL);
    return OSC_OK;
}
