/*
 * mem.c - see mem.h.
 *
 * The failure counter is one atomic: negative means off, else the number of allocations that may still
 * succeed. It costs one relaxed load per allocation when off.
 */
#include "base/mem.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static osc_mem_hook hook;
static atomic_bool failing = false;
static _Atomic int64_t allowed = 0;
static _Atomic uint64_t refused = 0;

void osc_mem_set_hook(const osc_mem_hook *replacement)
{
    if (replacement) {
        assert(replacement->reallocate && replacement->release);
        hook = *replacement;
    } else {
        memset(&hook, 0, sizeof hook);
    }
}

void osc_mem_fail_after(int64_t n)
{
    atomic_store(&refused, 0);
    atomic_store(&allowed, n);
    atomic_store(&failing, n >= 0);
}

uint64_t osc_mem_refused(void)
{
    return atomic_load(&refused);
}

/* True when the present allocation must fail. */
static bool injected(void)
{
    if (!atomic_load_explicit(&failing, memory_order_relaxed))
        return false;
    if (atomic_fetch_sub(&allowed, 1) > 0)
        return false;
    atomic_fetch_add(&refused, 1);
    return true;
}

void *osc_realloc(void *ptr, size_t size)
{
    if (injected())
        return NULL;
    if (size == 0)
        size = 1;
    return hook.reallocate ? hook.reallocate(hook.user, ptr, size) : realloc(ptr, size);
}

void *osc_alloc(size_t size)
{
    return osc_realloc(NULL, size);
}

void *osc_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!osc_mul_size(count, size, &bytes))
        return NULL;
    if (!hook.reallocate) {
        /* calloc gets fresh pages from the kernel already zeroed; a memset would touch them all */
        return injected() ? NULL : calloc(bytes ? bytes : 1, 1);
    }
    void *ptr = osc_realloc(NULL, bytes);
    if (ptr)
        memset(ptr, 0, bytes);
    return ptr;
}

void *osc_realloc_array(void *ptr, size_t count, size_t size)
{
    size_t bytes;
    return osc_mul_size(count, size, &bytes) ? osc_realloc(ptr, bytes) : NULL;
}

void osc_free(void *ptr)
{
    if (!ptr)
        return;
    if (hook.release)
        hook.release(hook.user, ptr);
    else
        free(ptr);
}

char *osc_memdup0(const char *src, size_t len)
{
    size_t bytes;
    if (!osc_add_size(len, 1, &bytes))
        return NULL;
    char *copy = osc_alloc(bytes);
    if (!copy)
        return NULL;
    if (len > 0)
        memcpy(copy, src, len);
    copy[len] = '\0';
    return copy;
}

/* The builtins store the wrapped result; callers must not see it. */
#define CHECKED(op, a, b, out)                           \
    do {                                                 \
        if (!__builtin_##op##_overflow((a), (b), (out))) \
            return true;                                 \
        *(out) = 0;                                      \
        return false;                                    \
    } while (0)

bool osc_mul_size(size_t a, size_t b, size_t *out)
{
    CHECKED(mul, a, b, out);
}

bool osc_add_size(size_t a, size_t b, size_t *out)
{
    CHECKED(add, a, b, out);
}

bool osc_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    CHECKED(mul, a, b, out);
}

bool osc_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    CHECKED(add, a, b, out);
}

bool osc_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    CHECKED(mul, a, b, out);
}

bool osc_add_i64(int64_t a, int64_t b, int64_t *out)
{
    CHECKED(add, a, b, out);
}

bool osc_sub_i64(int64_t a, int64_t b, int64_t *out)
{
    CHECKED(sub, a, b, out);
}
