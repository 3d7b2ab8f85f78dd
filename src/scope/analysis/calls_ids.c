/* calls_ids.c - see calls_ids.h. */
#include "scope/analysis/calls_ids.h"

#include "base/hash.h"
#include "base/mem.h"
#include "scope/store/schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* An array may have this many cells for each event before hashing takes less memory. */
#define CELLS_PER_EVENT 4u

bool osc_ids_init(osc_ids *ids, const int64_t *column, uint32_t count, int64_t low, int64_t high)
{
    *ids = (osc_ids){.column = column, .low = low};
    if (count == 0)
        return true;
    assert(low <= high);
    uint64_t range = (uint64_t)high - (uint64_t)low;
    ids->size = (size_t)count * CELLS_PER_EVENT;
    ids->hashed = range >= ids->size;
    if (ids->hashed) {
        ids->size = 16;
        while (ids->size < (size_t)count * 2)
            ids->size *= 2;
    } else {
        ids->size = (size_t)range + 1;
    }
    ids->cells = osc_realloc_array(NULL, ids->size, sizeof *ids->cells);
    if (!ids->cells)
        return false;
    memset(ids->cells, 0xff, ids->size * sizeof *ids->cells); /* OSC_NO_ROW */
    return true;
}

/* The cell of an id: the one it is in, or the free one where it would go; NULL outside the
 * array. */
static uint32_t *cell_of(const osc_ids *ids, int64_t id)
{
    if (!ids->hashed) {
        uint64_t at = (uint64_t)id - (uint64_t)ids->low;
        return at < ids->size ? &ids->cells[at] : NULL;
    }
    size_t at = (size_t)osc_hash_u64((uint64_t)id) & (ids->size - 1);
    while (ids->cells[at] != OSC_NO_ROW && ids->column[ids->cells[at]] != id)
        at = (at + 1) & (ids->size - 1);
    return &ids->cells[at];
}

static bool add_repeat(osc_ids *ids, int64_t id, uint32_t slice)
{
    if (ids->repeat_count == ids->repeat_cap) {
        size_t cap = ids->repeat_cap ? ids->repeat_cap * 2 : 64;
        struct osc_ids_repeat *grown = osc_realloc_array(ids->repeats, cap, sizeof *grown);
        if (!grown)
            return false;
        ids->repeats = grown;
        ids->repeat_cap = cap;
    }
    ids->repeats[ids->repeat_count++] = (struct osc_ids_repeat){id, slice};
    return true;
}

bool osc_ids_add(osc_ids *ids, uint32_t slice)
{
    int64_t id = ids->column[slice];
    uint32_t *cell = cell_of(ids, id);
    assert(cell);
    if (*cell != OSC_NO_ROW)
        return add_repeat(ids, id, slice);
    *cell = slice;
    return true;
}

static int compare_repeats(const void *left, const void *right)
{
    const struct osc_ids_repeat *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->slice > b->slice) - (a->slice < b->slice);
}

void osc_ids_finish(osc_ids *ids)
{
    if (ids->repeat_count > 1)
        qsort(ids->repeats, ids->repeat_count, sizeof *ids->repeats, compare_repeats);
}

uint32_t osc_ids_first(const osc_ids *ids, int64_t id)
{
    if (!ids->cells)
        return OSC_NO_ROW;
    const uint32_t *cell = cell_of(ids, id);
    return cell ? *cell : OSC_NO_ROW;
}

/* Index of the first repeat whose id is at least id. */
static size_t repeat_from(const osc_ids *ids, int64_t id)
{
    size_t low = 0, high = ids->repeat_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids->repeats[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct osc_ids_repeat *osc_ids_repeats(const osc_ids *ids, int64_t id, size_t *count)
{
    *count = 0;
    if (ids->repeat_count == 0)
        return NULL;
    size_t from = repeat_from(ids, id);
    size_t to = id == INT64_MAX ? ids->repeat_count : repeat_from(ids, id + 1);
    *count = to - from;
    return *count > 0 ? ids->repeats + from : NULL;
}

void osc_ids_free(osc_ids *ids)
{
    osc_free(ids->cells);
    osc_free(ids->repeats);
    memset(ids, 0, sizeof *ids);
}
