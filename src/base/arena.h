/*
 * arena.h - memory that is freed as one.
 *
 * A parse or an analysis makes thousands of small objects that live exactly as long as its result.
 * They come from an arena owned by that result: allocation is a pointer bump, freeing is one call.
 * Blocks double in size up to 1 MiB; a request larger than a block gets a block of its own. Every
 * arena has a ceiling, so that no input can make it grow without bound.
 *
 * An arena belongs to one thread at a time; it has no lock.
 */
#ifndef OSC_BASE_ARENA_H
#define OSC_BASE_ARENA_H

#include "base/str.h"

#include <stddef.h>

typedef struct osc_arena osc_arena;

/*
 * A new arena that will hand out at most limit_bytes (SIZE_MAX: no limit). NULL when out of memory.
 * The caller frees it with osc_arena_free.
 */
osc_arena *osc_arena_new(size_t limit_bytes);

/*
 * n bytes aligned to align (a power of two, at most 64; 0 means the alignment of any object),
 * uninitialised. NULL when the limit is reached or memory is out; the arena stays usable. n = 0 gives
 * a valid pointer. The memory lives until reset or free.
 */
void *osc_arena_alloc(osc_arena *arena, size_t n, size_t align);

/* count * size zeroed bytes, aligned for any object; NULL also when the product overflows. */
void *osc_arena_calloc(osc_arena *arena, size_t count, size_t size);

/* One zeroed object of a type, or NULL: `struct x *p = OSC_ARENA_NEW(arena, struct x);` */
#define OSC_ARENA_NEW(arena, type) ((type *)osc_arena_calloc((arena), 1, sizeof(type)))

/* An array of n zeroed objects of a type, or NULL. */
#define OSC_ARENA_ARRAY(arena, type, n) ((type *)osc_arena_calloc((arena), (n), sizeof(type)))

/* A NUL-terminated copy of text in the arena, or NULL. */
char *osc_arena_strdup(osc_arena *arena, osc_str text);

/* A view of a copy of text in the arena; {NULL, 0} when memory is out. The copy has a NUL after it. */
osc_str osc_arena_copy(osc_arena *arena, osc_str text);

/* A NUL-terminated formatted string in the arena, or NULL. */
char *osc_arena_printf(osc_arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Forgets all allocations and keeps the first block for reuse. */
void osc_arena_reset(osc_arena *arena);

/* Frees the arena and all that came from it; NULL is allowed. */
void osc_arena_free(osc_arena *arena);

/* Bytes handed out since creation or reset, padding included. */
size_t osc_arena_used(const osc_arena *arena);

#endif
