/*
 * arena.c - see arena.h.
 *
 * Blocks form a list, newest first. The oldest block is kept by reset. Under AddressSanitizer a reset
 * frees it as well, so that a use after reset is found.
 */
#include "base/arena.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FIRST_BLOCK   ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20)
#define MAX_ALIGN     ((size_t)64)

struct block {
    struct block *older;
    size_t cap;  /* bytes after the header */
    size_t used; /* of them, handed out */
};

/* Content starts after the header, rounded up so that it is aligned for any object. */
#define HEADER ((sizeof(struct block) + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1))

struct osc_arena {
    struct block *newest;
    size_t limit;
    size_t used;
    size_t next_cap; /* size of the next ordinary block */
};

osc_arena *osc_arena_new(size_t limit_bytes)
{
    osc_arena *arena = osc_calloc(1, sizeof *arena);
    if (!arena)
        return NULL;
    arena->limit = limit_bytes;
    arena->next_cap = FIRST_BLOCK;
    return arena;
}

static void free_blocks(struct block *b)
{
    while (b) {
        struct block *older = b->older;
        osc_free(b);
        b = older;
    }
}

void osc_arena_free(osc_arena *arena)
{
    if (!arena)
        return;
    free_blocks(arena->newest);
    osc_free(arena);
}

void osc_arena_reset(osc_arena *arena)
{
    struct block *b = arena->newest;
    arena->used = 0;
    if (!b)
        return;
#if defined(__SANITIZE_ADDRESS__)
    free_blocks(b);
    arena->newest = NULL;
#else
    while (b->older) {
        struct block *older = b->older;
        osc_free(b);
        b = older;
    }
    b->used = 0;
    arena->newest = b;
#endif
    arena->next_cap = FIRST_BLOCK;
}

size_t osc_arena_used(const osc_arena *arena)
{
    return arena->used;
}

/* Puts a new block that holds at least need bytes in front; false when memory is out. */
static bool add_block(osc_arena *arena, size_t need)
{
    size_t cap = need > arena->next_cap ? need : arena->next_cap;
    size_t bytes;
    if (!osc_add_size(cap, HEADER, &bytes))
        return false;
    struct block *b = osc_alloc(bytes);
    if (!b)
        return false;
    b->cap = cap;
    b->used = 0;
    b->older = arena->newest;
    arena->newest = b;
    if (arena->next_cap < LARGEST_BLOCK)
        arena->next_cap *= 2;
    return true;
}

/* Bytes to skip in a block so that the next address is a multiple of align. */
static size_t padding(const struct block *b, size_t align)
{
    uintptr_t at = (uintptr_t)b + HEADER + b->used;
    return (size_t)(-at & (align - 1));
}

void *osc_arena_alloc(osc_arena *arena, size_t n, size_t align)
{
    if (align == 0)
        align = _Alignof(max_align_t);
    assert((align & (align - 1)) == 0 && align <= MAX_ALIGN);
    struct block *b = arena->newest;
    size_t pad = b ? padding(b, align) : 0;
    size_t total;
    if (!osc_add_size(n, pad, &total))
        return NULL;
    if (!b || b->cap - b->used < total) {
        size_t need;
        if (!osc_add_size(n, align, &need) || n > arena->limit - arena->used ||
            !add_block(arena, need))
            return NULL;
        b = arena->newest;
        pad = padding(b, align);
        total = n + pad;
    }
    if (total > arena->limit - arena->used)
        return NULL;
    char *result = (char *)b + HEADER + b->used + pad;
    b->used += total;
    arena->used += total;
    return result;
}

void *osc_arena_calloc(osc_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (!osc_mul_size(count, size, &bytes))
        return NULL;
    void *ptr = osc_arena_alloc(arena, bytes, 0);
    if (ptr)
        memset(ptr, 0, bytes);
    return ptr;
}

char *osc_arena_strdup(osc_arena *arena, osc_str text)
{
    size_t bytes;
    if (!osc_add_size(text.len, 1, &bytes))
        return NULL;
    char *copy = osc_arena_alloc(arena, bytes, 1);
    if (!copy)
        return NULL;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

osc_str osc_arena_copy(osc_arena *arena, osc_str text)
{
    char *copy = osc_arena_strdup(arena, text);
    return copy ? osc_str_make(copy, text.len) : osc_str_make(NULL, 0);
}

char *osc_arena_printf(osc_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        return NULL;
    char *text = osc_arena_alloc(arena, (size_t)len + 1, 1);
    if (!text)
        return NULL;
    va_start(args, fmt);
    (void)vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}
