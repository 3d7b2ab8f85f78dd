/*
 * intern.h - each distinct string once, named by a dense uint32 id.
 *
 * Ids are handed out in order of first appearance: 0, 1, 2, ... Id 0 is always the empty string, so
 * a zeroed record names "". Texts are copied into the table's own arena and stay at their address
 * until the table is freed. One writer at a time; readers may share a table nobody writes.
 */
#ifndef OSC_BASE_INTERN_H
#define OSC_BASE_INTERN_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define OSC_INTERN_NONE UINT32_MAX

typedef struct osc_intern osc_intern;

/* A new table whose texts may take limit_bytes together (SIZE_MAX: no limit); NULL: out of
 * memory. */
osc_intern *osc_intern_new(size_t limit_bytes);

/* Forgets all texts; keeps the memory. */
void osc_intern_clear(osc_intern *t);

/* Frees the table and all texts; NULL is allowed. */
void osc_intern_free(osc_intern *t);

/* Id of text, added when new. OSC_INTERN_NONE when memory is out or the limit is reached. */
uint32_t osc_intern_put(osc_intern *t, osc_str text);

/* Id of text, or OSC_INTERN_NONE when it was never put. */
uint32_t osc_intern_find(const osc_intern *t, osc_str text);

/* The text of an id, with a NUL after it; the empty string for an id that does not exist. */
osc_str osc_intern_get(const osc_intern *t, uint32_t id);

/* Number of ids, the empty string included. */
uint32_t osc_intern_count(const osc_intern *t);

/* Bytes the table holds, texts and index. */
size_t osc_intern_bytes(const osc_intern *t);

#endif
