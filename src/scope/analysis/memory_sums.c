/* memory_sums.c - see memory_sums.h. */
#include "scope/analysis/memory_sums.h"

#include "base/mem.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct key {
    int64_t at_ns;
    uint32_t row;
};

/* c10::DeviceType: CPU, MKLDNN, IDEEP. */
static bool is_cpu_type(int32_t type)
{
    return type == 0 || type == 2 || type == 5;
}

/* c10::DeviceType: CUDA, HIP, XPU, PrivateUse1. */
static bool is_device_type(int32_t type)
{
    return type == 1 || type == 6 || type == 12 || type == 20;
}

osc_memory_bytes osc_memory_record_bytes(const osc_memory_cols *m, uint32_t row)
{
    return (osc_memory_bytes){.cpu = is_cpu_type(m->device_type[row]) ? m->bytes[row] : 0,
                              .device = is_device_type(m->device_type[row]) ? m->bytes[row] : 0};
}

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Rows in order of time; they mostly are already. */
static bool sort_rows(osc_memory_sums *s)
{
    const int64_t *at = s->records->at_ns;
    bool sorted = true;
    for (uint32_t i = 0; i < s->records->count; i++) {
        if (s->records->oom[i])
            continue;
        sorted = sorted && (s->count == 0 || at[s->sorted[s->count - 1]] <= at[i]);
        s->sorted[s->count++] = i;
    }
    if (sorted)
        return true;
    struct key *keys = osc_realloc_array(NULL, s->count, sizeof *keys);
    if (!keys)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        keys[i] = (struct key){at[s->sorted[i]], s->sorted[i]};
    qsort(keys, s->count, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < s->count; i++)
        s->sorted[i] = keys[i].row;
    osc_free(keys);
    return true;
}

bool osc_memory_sums_build(const osc_store *store, osc_memory_sums *s)
{
    *s = (osc_memory_sums){.records = osc_store_memory(store)};
    size_t room = (size_t)s->records->count + 1;
    if (s->records->count == 0)
        return true;
    s->sorted = osc_realloc_array(NULL, room, sizeof *s->sorted);
    s->cpu = osc_realloc_array(NULL, room, sizeof *s->cpu);
    s->device = osc_realloc_array(NULL, room, sizeof *s->device);
    s->covered = osc_calloc(room, sizeof *s->covered);
    if (!s->sorted || !s->cpu || !s->device || !s->covered || !sort_rows(s)) {
        osc_memory_sums_free(s);
        return false;
    }
    s->cpu[0] = s->device[0] = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        osc_memory_bytes bytes = osc_memory_record_bytes(s->records, s->sorted[i]);
        s->cpu[i + 1] = osc_add_sat(s->cpu[i], bytes.cpu);
        s->device[i + 1] = osc_add_sat(s->device[i], bytes.device);
    }
    return true;
}

/* The first record from `from` on that is later than time, or not earlier when !after. Steps
 * double, so that a near one is found fast. */
static uint32_t first_record(const osc_memory_sums *s, uint32_t from, int64_t time, bool after)
{
    const int64_t *at = s->records->at_ns;
    uint32_t low = from, step = 1;
    while (low < s->count && s->count - low >= step) {
        int64_t t = at[s->sorted[low + step - 1]];
        if (after ? t > time : t >= time)
            break;
        low += step;
        step *= 2;
    }
    uint32_t high = s->count - low < step ? s->count : low + step - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t t = at[s->sorted[middle]];
        if (after ? t > time : t >= time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

osc_memory_bytes osc_memory_sums_take(osc_memory_sums *s, int64_t start_ns, int64_t end_ns,
                                      uint32_t *cursor)
{
    const int64_t *at = s->records->at_ns;
    uint32_t from = *cursor;
    if (from < s->count && at[s->sorted[from]] < start_ns)
        from = *cursor = first_record(s, from, start_ns, false);
    if (from >= s->count || at[s->sorted[from]] > end_ns)
        return (osc_memory_bytes){0}; /* most events */
    uint32_t to = first_record(s, from, end_ns, true);
    assert(to > from);
    assert(to <= s->count);
    s->covered[from]++;
    s->covered[to]--;
    return (osc_memory_bytes){.cpu = osc_sub_sat(s->cpu[to], s->cpu[from]),
                              .device = osc_sub_sat(s->device[to], s->device[from])};
}

void osc_memory_sums_free(osc_memory_sums *s)
{
    if (!s)
        return;
    osc_free(s->sorted);
    osc_free(s->cpu);
    osc_free(s->device);
    osc_free(s->covered);
    memset(s, 0, sizeof *s);
}
