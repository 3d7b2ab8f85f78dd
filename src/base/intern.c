/*
 * intern.c - see intern.h.
 *
 * An open-addressing table of ids (linear probing, at most 3/4 full, 0 = free slot since id 0 never
 * needs one) beside an array of {text, hash}. Texts never move: they are in the arena.
 */
#include "base/intern.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

struct text {
    osc_str str;
    uint64_t hash;
};

struct osc_intern {
    osc_arena *arena;
    struct text *texts; /* by id */
    uint32_t count;
    uint32_t cap;
    uint32_t *slots; /* ids */
    uint32_t slot_count;
};

#define FIRST_SLOTS 64u
#define MAX_SLOTS   (UINT32_C(1) << 31)

osc_intern *osc_intern_new(size_t limit_bytes)
{
    osc_intern *t = osc_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->arena = osc_arena_new(limit_bytes);
    t->slots = osc_calloc(FIRST_SLOTS, sizeof *t->slots);
    t->texts = osc_calloc(FIRST_SLOTS, sizeof *t->texts);
    if (!t->arena || !t->slots || !t->texts) {
        osc_intern_free(t);
        return NULL;
    }
    t->slot_count = FIRST_SLOTS;
    t->cap = FIRST_SLOTS;
    t->texts[0].str = OSC_STR("");
    t->count = 1;
    return t;
}

void osc_intern_free(osc_intern *t)
{
    if (!t)
        return;
    osc_arena_free(t->arena);
    osc_free(t->slots);
    osc_free(t->texts);
    osc_free(t);
}

void osc_intern_clear(osc_intern *t)
{
    osc_arena_reset(t->arena);
    memset(t->slots, 0, t->slot_count * sizeof *t->slots);
    t->count = 1;
}

/* The slot that holds text, or the free one where it belongs. */
static uint32_t find_slot(const osc_intern *t, osc_str text, uint64_t hash)
{
    uint32_t mask = t->slot_count - 1;
    uint32_t i = (uint32_t)hash & mask;
    while (t->slots[i] != 0) {
        const struct text *there = &t->texts[t->slots[i]];
        if (there->hash == hash && osc_str_eq(there->str, text))
            break;
        i = (i + 1) & mask;
    }
    return i;
}

static bool grow_slots(osc_intern *t)
{
    if (t->slot_count >= MAX_SLOTS)
        return false;
    uint32_t count = t->slot_count * 2;
    uint32_t *slots = osc_calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t id = 1; id < t->count; id++) {
        uint32_t i = (uint32_t)t->texts[id].hash & (count - 1);
        while (slots[i] != 0)
            i = (i + 1) & (count - 1);
        slots[i] = id;
    }
    osc_free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    return true;
}

static bool make_room(osc_intern *t)
{
    if (t->count >= t->slot_count / 4 * 3 && !grow_slots(t))
        return false;
    if (t->count < t->cap)
        return true;
    struct text *texts = osc_realloc_array(t->texts, (size_t)t->cap * 2, sizeof *texts);
    if (!texts)
        return false;
    t->texts = texts;
    t->cap *= 2;
    return true;
}

uint32_t osc_intern_put(osc_intern *t, osc_str text)
{
    if (text.len == 0)
        return 0;
    uint64_t hash = osc_hash64_str(text, 0);
    uint32_t slot = find_slot(t, text, hash);
    if (t->slots[slot] != 0)
        return t->slots[slot];
    if (!make_room(t))
        return OSC_INTERN_NONE;
    osc_str copy = osc_arena_copy(t->arena, text);
    if (!copy.ptr)
        return OSC_INTERN_NONE;
    uint32_t id = t->count++;
    t->texts[id].str = copy;
    t->texts[id].hash = hash;
    t->slots[find_slot(t, text, hash)] = id;
    return id;
}

uint32_t osc_intern_find(const osc_intern *t, osc_str text)
{
    if (text.len == 0)
        return 0;
    uint32_t id = t->slots[find_slot(t, text, osc_hash64_str(text, 0))];
    return id != 0 ? id : OSC_INTERN_NONE;
}

osc_str osc_intern_get(const osc_intern *t, uint32_t id)
{
    assert(t->count >= 1);
    return t->texts[id < t->count ? id : 0].str;
}

uint32_t osc_intern_count(const osc_intern *t)
{
    return t->count;
}

size_t osc_intern_bytes(const osc_intern *t)
{
    return osc_arena_used(t->arena) + (size_t)t->cap * sizeof *t->texts +
           (size_t)t->slot_count * sizeof *t->slots;
}
