/*
 * memory.c - bytes allocated and freed inside each operator (kineto-trace-format.md 2.5).
 *
 * PyTorch adds to a CPU event every record whose time lies within it, of all threads, ends
 * included. With the records sorted and summed up once, an event's figure is a difference of two
 * sums. Records that no event covers, and out-of-memory records, become events of their own.
 */
#include "scope/analysis/calltree_internal.h"

#include "base/mem.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct record {
    int64_t at_ns;
    uint32_t row;
};

struct sums {
    struct record *records; /* [memory] records by time, file order on ties */
    int64_t *cpu, *device;  /* [i]: bytes of the first i records */
    int32_t *covered; /* [i]: events that begin to cover record i, less those that end before it */
    uint32_t count;
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

static int compare_records(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool sum_up(const osc_memory_cols *m, struct sums *s)
{
    size_t room = (size_t)m->count + 1;
    s->records = osc_realloc_array(NULL, room, sizeof *s->records);
    s->cpu = osc_calloc(room, sizeof *s->cpu);
    s->device = osc_calloc(room, sizeof *s->device);
    s->covered = osc_calloc(room, sizeof *s->covered);
    if (!s->records || !s->cpu || !s->device || !s->covered)
        return false;
    for (uint32_t i = 0; i < m->count; i++) {
        if (!m->oom[i])
            s->records[s->count++] = (struct record){m->at_ns[i], i};
    }
    qsort(s->records, s->count, sizeof *s->records, compare_records);
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t row = s->records[i].row;
        int64_t bytes = m->bytes[row];
        s->cpu[i + 1] = osc_add_sat(s->cpu[i], is_cpu_type(m->device_type[row]) ? bytes : 0);
        s->device[i + 1] =
            osc_add_sat(s->device[i], is_device_type(m->device_type[row]) ? bytes : 0);
    }
    return true;
}

/* Number of records before time, or up to and including it. */
static uint32_t records_until(const struct sums *s, int64_t time, bool inclusive)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t at = s->records[middle].at_ns;
        if (at < time || (inclusive && at == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void attribute(osc_calltree *tree, struct sums *s)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        osc_calltree_node *n = &tree->nodes[i];
        if (n->device != OSC_DEVICE_CPU)
            continue;
        uint32_t from = records_until(s, n->start_ns, false);
        uint32_t to = records_until(s, n->end_ns, true);
        if (to <= from)
            continue;
        assert(to <= s->count);
        n->cpu_bytes = osc_sub_sat(s->cpu[to], s->cpu[from]);
        n->device_bytes = osc_sub_sat(s->device[to], s->device[from]);
        s->covered[from]++;
        s->covered[to]--;
    }
}

static void append_record(struct build *b, uint32_t row)
{
    const osc_memory_cols *m = osc_store_memory(b->store);
    osc_str name = m->oom[row] ? OSC_STR("[OutOfMemory]") : OSC_STR("[memory]");
    uint32_t id = osc_intern_put(b->tree->names, name);
    if (id == OSC_INTERN_NONE)
        b->failed = true;
    b->tree->nodes[b->tree->count++] =
        (osc_calltree_node){.start_ns = m->at_ns[row],
                            .end_ns = m->at_ns[row],
                            .cpu_bytes = is_cpu_type(m->device_type[row]) ? m->bytes[row] : 0,
                            .device_bytes = is_device_type(m->device_type[row]) ? m->bytes[row] : 0,
                            .slice = OSC_NO_ROW,
                            .name = id,
                            .thread = osc_store_track(b->store)->thread[m->track[row]],
                            .order = UINT32_MAX,
                            .parent = OSC_NO_ROW,
                            .op = OSC_NO_ROW,
                            .device = OSC_DEVICE_CPU,
                            .kind = OSC_KIND_OTHER};
}

bool osc_calltree_memory(struct build *b)
{
    const osc_memory_cols *m = osc_store_memory(b->store);
    if (m->count == 0)
        return true;
    struct sums s = {0};
    bool ok = sum_up(m, &s);
    if (ok) {
        attribute(b->tree, &s);
        for (uint32_t i = 0; i < m->count; i++) {
            if (m->oom[i])
                append_record(b, i);
        }
        int32_t depth = 0;
        for (uint32_t i = 0; i < s.count; i++) {
            depth += s.covered[i];
            if (depth == 0)
                append_record(b, s.records[i].row);
        }
    }
    osc_free(s.records);
    osc_free(s.cpu);
    osc_free(s.device);
    osc_free(s.covered);
    return ok;
}
