/*
 * map.h - uint64 to uint64, open addressing.
 *
 * For id linking: any key and any value are allowed. Linear probing over a power-of-two table at most
 * 3/4 full; removal shifts back, so there are no tombstones. Iteration order is the table's, which
 * depends only on the sequence of calls. One thread at a time.
 */
#ifndef OSC_BASE_MAP_H
#define OSC_BASE_MAP_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct osc_map_slot;

typedef struct osc_map {
    struct osc_map_slot *slots; /* owned; NULL while empty */
    size_t cap;                 /* slots allocated, 0 or a power of two */
    size_t count;               /* entries */
} osc_map;

/* An empty map; allocates nothing. A zeroed osc_map is one too. */
void osc_map_init(osc_map *m);

/* Frees the slots and leaves an empty map. NULL is allowed. */
void osc_map_free(osc_map *m);

/* Sets key to value, replacing; OSC_ENOMEM leaves the map unchanged. */
osc_status osc_map_put(osc_map *m, uint64_t key, uint64_t value) OSC_MUST_CHECK;

/* True and *value when key is there; *value untouched otherwise. value may be NULL. */
bool osc_map_get(const osc_map *m, uint64_t key, uint64_t *value);

/* Removes key; true when it was there. */
bool osc_map_remove(osc_map *m, uint64_t key);

/* Walks all entries: start with *pos = 0, false at the end. The map must not change meanwhile. */
bool osc_map_next(const osc_map *m, size_t *pos, uint64_t *key, uint64_t *value);

#endif
