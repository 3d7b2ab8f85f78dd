/* torch_times.c - FunctionEvent's properties of PyTorch 2.13, operation by operation. */
#include "scope/analysis/torch_times.h"

#include "base/mem.h"
#include "scope/analysis/calls_internal.h"

#include <assert.h>

/* All arrays by slice. */
struct times {
    const osc_calls *calls;
    int64_t start_ns;
    double *kernels;      /* sum of own kernels */
    double *inner_cpu;    /* sum of the children's totals, in their order */
    double *inner_device; /* the same of device time */
};

static double elapsed_us(const struct times *t, uint32_t slice)
{
    const osc_slice_cols *s = t->calls->slices;
    return (double)(calls_end(s, slice) - t->start_ns) / 1000.0 -
           (double)(s->start_ns[slice] - t->start_ns) / 1000.0;
}

static bool is_kernel(const osc_calls *c, uint32_t slice)
{
    uint8_t device = c->device_of_kind[c->slices->kind[slice]];
    return (c->flags[slice] & CALLS_RULE) &&
           (device == OSC_DEVICE_CUDA || device == OSC_DEVICE_PRIVATEUSE1 ||
            device == OSC_DEVICE_XPU);
}

/* Adds kernels to their operators in the order of the file; duplicates hand theirs up. */
static void sum_kernels(struct times *t)
{
    const osc_calls *c = t->calls;
    for (uint32_t i = 0; i < c->slices->count; i++) {
        if (is_kernel(c, i))
            t->kernels[c->up[i]] += elapsed_us(t, i);
    }
    for (uint32_t i = 0; i < c->order_count; i++) {
        if (c->flags[c->order[i]] & CALLS_GONE)
            t->kernels[c->up[c->order[i]]] = t->kernels[c->order[i]];
    }
}

/* An event is complete: its parent takes its totals. Children complete in their order. */
static uint32_t leave(struct times *t, uint32_t slice)
{
    uint32_t parent = t->calls->up[slice];
    if (parent != OSC_NO_ROW) {
        t->inner_cpu[parent] += elapsed_us(t, slice);
        t->inner_device[parent] += t->kernels[slice] + t->inner_device[slice];
    }
    return parent;
}

static void sum_children(struct times *t)
{
    const osc_calls *c = t->calls;
    uint32_t open = OSC_NO_ROW; /* left for good at the end of each thread */
    for (uint32_t i = 0; i < c->order_count; i++) {
        uint32_t slice = c->order[i];
        if (c->flags[slice] & CALLS_GONE)
            continue;
        while (open != OSC_NO_ROW && open != c->up[slice])
            open = leave(t, open);
        assert(open == c->up[slice]);
        open = slice;
    }
    while (open != OSC_NO_ROW)
        open = leave(t, open);
}

static void add(const struct times *t, uint32_t slice, osc_torch_sums *row)
{
    double us = elapsed_us(t, slice);
    if (!calls_on_cpu(t->calls, slice)) {
        row->self_device += us;
        row->total_device += us;
        return;
    }
    row->total_cpu += us;
    row->self_cpu += us - t->inner_cpu[slice];
    if (!t->calls->facts.any_device)
        return;
    double device = t->kernels[slice] + t->inner_device[slice];
    row->total_device += device;
    row->self_device += device - t->inner_device[slice];
}

/* All events in one order of time, as the rows of PyTorch meet them. */
static bool add_all(const struct times *t, const uint32_t *row_of, osc_torch_sums *rows)
{
    const osc_slice_cols *s = t->calls->slices;
    uint32_t *items = osc_realloc_array(NULL, (size_t)s->count + 1, sizeof *items), count = 0;
    if (!items)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (row_of[i] != OSC_NO_ROW)
            items[count++] = i;
    }
    bool ok = osc_calls_sort_slices(s, items, count);
    for (uint32_t i = 0; ok && i < count; i++)
        add(t, items[i], &rows[row_of[items[i]]]);
    osc_free(items);
    return ok;
}

bool osc_torch_times_add(const osc_calls *calls, int64_t trace_start_ns, const uint32_t *row_of,
                         osc_torch_sums *rows)
{
    struct times t = {.calls = calls, .start_ns = trace_start_ns};
    t.kernels = osc_calloc((size_t)calls->slices->count + 1, sizeof *t.kernels);
    t.inner_cpu = osc_calloc((size_t)calls->slices->count + 1, sizeof *t.inner_cpu);
    t.inner_device = osc_calloc((size_t)calls->slices->count + 1, sizeof *t.inner_device);
    bool ok = t.kernels && t.inner_cpu && t.inner_device;
    if (ok) {
        sum_kernels(&t);
        sum_children(&t);
        ok = add_all(&t, row_of, rows);
    }
    osc_free(t.kernels);
    osc_free(t.inner_cpu);
    osc_free(t.inner_device);
    return ok;
}
