/*
 * source_zstd.c - one zstd frame at a time, by libzstd.
 *
 * The library is optional twice: a build without its header says "built without zstd", a machine
 * without it says which package has it. It is loaded when the first .zst file is opened, not at
 * start.
 *
 * Frames that need a window above 128 MiB (made with --long=28 and more) are refused: a few bytes
 * of input could otherwise ask for 2 GiB of memory.
 */
#include "base/mem.h"
#include "base/source_internal.h"

#include <assert.h>

#ifdef OSC_HAVE_ZSTD

#include <dlfcn.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_customMem: the library's memory comes through ours */
#include <zstd.h>
#include <zstd_errors.h>

#define ZSTD_LIBRARY "libzstd.so.1"

typedef struct zstd_inflater {
    osc_inflater base; /* first: the two pointers are the same */
    void *library;
    ZSTD_DCtx *context;
    __typeof__(ZSTD_createDCtx_advanced) *create;
    __typeof__(ZSTD_freeDCtx) *release;
    __typeof__(ZSTD_DCtx_reset) *restart;
    __typeof__(ZSTD_DCtx_setParameter) *set;
    __typeof__(ZSTD_decompressStream) *inflate;
    __typeof__(ZSTD_getErrorCode) *error_of;
} zstd_inflater;

static void *hook_alloc(void *opaque, size_t size)
{
    (void)opaque;
    return osc_alloc(size);
}

static void hook_free(void *opaque, void *ptr)
{
    (void)opaque;
    osc_free(ptr);
}

static osc_inflate_code zstd_code(const zstd_inflater *z, size_t result)
{
    if (result == 0)
        return OSC_INFLATE_END;
    switch ((int)z->error_of(result)) {
    case ZSTD_error_no_error: return OSC_INFLATE_MORE;
    case ZSTD_error_memory_allocation: return OSC_INFLATE_NO_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge: return OSC_INFLATE_WINDOW;
    case ZSTD_error_checksum_wrong: return OSC_INFLATE_CHECKSUM;
    default: return OSC_INFLATE_DAMAGED;
    }
}

static osc_inflate_code zstd_step(osc_inflater *self, const unsigned char *in, size_t n,
                                  size_t *used, unsigned char *out, size_t cap, size_t *made)
{
    zstd_inflater *z = (zstd_inflater *)(void *)self;
    ZSTD_inBuffer from = {.src = in, .size = n, .pos = 0};
    ZSTD_outBuffer to = {.dst = out, .size = cap, .pos = 0};
    size_t result = z->inflate(z->context, &to, &from);
    assert(from.pos <= n && to.pos <= cap);
    *used = from.pos;
    *made = to.pos;
    return zstd_code(z, result);
}

static bool zstd_again(osc_inflater *self)
{
    zstd_inflater *z = (zstd_inflater *)(void *)self;
    return z->error_of(z->restart(z->context, ZSTD_reset_session_only)) == ZSTD_error_no_error;
}

static void zstd_free(osc_inflater *self)
{
    zstd_inflater *z = (zstd_inflater *)(void *)self;
    if (z->context)
        (void)z->release(z->context);
    if (z->library)
        (void)dlclose(z->library);
    osc_free(z);
}

/* A function of the library; function and object pointers are of one size on every POSIX system. */
static bool find(const zstd_inflater *z, const char *name, void *function)
{
    void *address = z->library ? dlsym(z->library, name) : NULL;
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool load(zstd_inflater *z)
{
    z->library = dlopen(ZSTD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return find(z, "ZSTD_createDCtx_advanced", &z->create) &&
           find(z, "ZSTD_freeDCtx", &z->release) && find(z, "ZSTD_DCtx_reset", &z->restart) &&
           find(z, "ZSTD_DCtx_setParameter", &z->set) &&
           find(z, "ZSTD_decompressStream", &z->inflate) &&
           find(z, "ZSTD_getErrorCode", &z->error_of);
}

osc_status osc_zstd_inflater_new(const char *name, osc_inflater **out, osc_err *err)
{
    *out = NULL;
    zstd_inflater *z = osc_calloc(1, sizeof *z);
    if (!z)
        return osc_fail(err, OSC_ENOMEM, name, OSC_NO_OFFSET, "no memory to inflate");
    z->base = (osc_inflater){.step = zstd_step, .reset = zstd_again, .free = zstd_free};
    if (!load(z)) {
        zstd_free(&z->base);
        return osc_fail(err, OSC_EUNSUPPORTED, name, OSC_NO_OFFSET,
                        "compressed with zstd, whose library (" ZSTD_LIBRARY
                        ", Debian package libzstd1) is not on this machine; unzstd it first");
    }
    z->context = z->create((ZSTD_customMem){hook_alloc, hook_free, NULL});
    if (!z->context || z->error_of(z->set(z->context, ZSTD_d_windowLogMax, OSC_ZSTD_WINDOW_LOG)) !=
                           ZSTD_error_no_error) {
        zstd_free(&z->base);
        return osc_fail(err, OSC_ENOMEM, name, OSC_NO_OFFSET, "no memory to inflate");
    }
    *out = &z->base;
    return OSC_OK;
}

#else

osc_status osc_zstd_inflater_new(const char *name, osc_inflater **out, osc_err *err)
{
    *out = NULL;
    return osc_fail(err, OSC_EUNSUPPORTED, name, OSC_NO_OFFSET,
                    "compressed with zstd, and this program was built without zstd; unzstd it "
                    "first");
}

#endif
