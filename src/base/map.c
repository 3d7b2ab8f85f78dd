/*
 * map.c - see map.h.
 */
#include "base/map.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

struct osc_map_slot {
    uint64_t key;
    uint64_t value;
    uint64_t used; /* 0 or 1; 64 bits because the struct is padded to that anyway */
};

#define FIRST_CAP 16

void osc_map_init(osc_map *m)
{
    memset(m, 0, sizeof *m);
}

void osc_map_free(osc_map *m)
{
    if (!m)
        return;
    osc_free(m->slots);
    osc_map_init(m);
}

/* Where a key's search begins. */
static size_t home(const osc_map *m, uint64_t key)
{
    return (size_t)osc_hash_u64(key) & (m->cap - 1);
}

/* The slot of key, or the free slot where it belongs. cap must not be 0. */
static size_t find(const osc_map *m, uint64_t key)
{
    assert(m->cap > m->count);
    size_t i = home(m, key);
    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

static osc_status grow(osc_map *m)
{
    osc_map bigger = {.cap = m->cap ? m->cap * 2 : FIRST_CAP, .count = m->count};
    bigger.slots = osc_calloc(bigger.cap, sizeof *bigger.slots);
    if (!bigger.slots)
        return OSC_ENOMEM;
    for (size_t i = 0; i < m->cap; i++) {
        if (m->slots[i].used)
            bigger.slots[find(&bigger, m->slots[i].key)] = m->slots[i];
    }
    osc_free(m->slots);
    *m = bigger;
    return OSC_OK;
}

osc_status osc_map_put(osc_map *m, uint64_t key, uint64_t value)
{
    if (m->count >= m->cap / 4 * 3) {
        /* a full table may still replace, which needs no room */
        size_t at = m->cap ? find(m, key) : 0;
        if (m->cap && m->slots[at].used) {
            m->slots[at].value = value;
            return OSC_OK;
        }
        if (grow(m) != OSC_OK)
            return OSC_ENOMEM;
    }
    struct osc_map_slot *slot = &m->slots[find(m, key)];
    m->count += !slot->used;
    slot->key = key;
    slot->value = value;
    slot->used = 1;
    return OSC_OK;
}

bool osc_map_get(const osc_map *m, uint64_t key, uint64_t *value)
{
    if (m->count == 0)
        return false;
    const struct osc_map_slot *slot = &m->slots[find(m, key)];
    if (slot->used && value)
        *value = slot->value;
    return slot->used != 0;
}

bool osc_map_remove(osc_map *m, uint64_t key)
{
    if (m->count == 0)
        return false;
    size_t hole = find(m, key);
    if (!m->slots[hole].used)
        return false;
    /* move back each follower whose home does not lie between the hole and itself */
    size_t mask = m->cap - 1;
    for (size_t i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
        if (((i - home(m, m->slots[i].key)) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole].used = 0;
    m->count--;
    return true;
}

bool osc_map_next(const osc_map *m, size_t *pos, uint64_t *key, uint64_t *value)
{
    while (*pos < m->cap) {
        const struct osc_map_slot *slot = &m->slots[(*pos)++];
        if (slot->used) {
            *key = slot->key;
            *value = slot->value;
            return true;
        }
    }
    return false;
}
