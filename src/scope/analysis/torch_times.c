/* torch_times.c - FunctionEvent's properties of PyTorch 2.13, operation by operation. */
#include "scope/analysis/torch_times.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct lists {
    const osc_calltree *tree;
    int64_t start_ns;
    double *kernels;        /* sum of own kernels */
    uint32_t *first, *next; /* children in order */
    uint32_t *by_slice;     /* nodes in the order of the file */
};

static double elapsed_us(const struct lists *l, const osc_calltree_node *n)
{
    return (double)(n->end_ns - l->start_ns) / 1000.0 -
           (double)(n->start_ns - l->start_ns) / 1000.0;
}

static int compare_slices(const void *left, const void *right, void *context)
{
    const osc_calltree_node *nodes = context;
    uint32_t a = nodes[*(const uint32_t *)left].slice, b = nodes[*(const uint32_t *)right].slice;
    return (a > b) - (a < b);
}

/* Adds kernels to their operators in the order of the file; duplicates hand theirs up. */
static void sum_kernels(struct lists *l)
{
    const osc_calltree *t = l->tree;
    for (uint32_t i = 0; i < t->count; i++)
        l->by_slice[i] = i;
    qsort_r(l->by_slice, t->count, sizeof *l->by_slice, compare_slices, t->nodes);
    for (uint32_t k = 0; k < t->count; k++) {
        const osc_calltree_node *n = &t->nodes[l->by_slice[k]];
        bool kernel = n->device == OSC_DEVICE_CUDA || n->device == OSC_DEVICE_PRIVATEUSE1 ||
                      n->device == OSC_DEVICE_XPU;
        if (kernel && n->op != OSC_NO_ROW)
            l->kernels[n->op] += elapsed_us(l, n);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->nodes[i].gone)
            l->kernels[t->nodes[i].parent] = l->kernels[i];
    }
}

static void list_children(struct lists *l)
{
    const osc_calltree *t = l->tree;
    memset(l->first, 0xff, t->count * sizeof *l->first); /* OSC_NO_ROW */
    for (uint32_t i = t->count; i-- > 0;) {
        uint32_t parent = t->nodes[i].parent;
        if (t->nodes[i].gone || parent == OSC_NO_ROW)
            continue;
        assert(parent < i && !t->nodes[parent].gone);
        l->next[i] = l->first[parent];
        l->first[parent] = i;
    }
}

static double sum_children(const struct lists *l, uint32_t node, const double *values)
{
    double sum = 0;
    for (uint32_t c = l->first[node]; c != OSC_NO_ROW; c = l->next[c])
        sum += values[c];
    return sum;
}

/* Children lie after their parents, so the last node first. */
static void compute(const struct lists *l, osc_torch_times *out)
{
    const osc_calltree *t = l->tree;
    for (uint32_t i = t->count; i-- > 0;) {
        const osc_calltree_node *n = &t->nodes[i];
        if (n->gone)
            continue;
        if (n->device != OSC_DEVICE_CPU) {
            out->self_device[i] = out->total_device[i] = elapsed_us(l, n);
            continue;
        }
        out->total_cpu[i] = elapsed_us(l, n);
        out->self_cpu[i] = out->total_cpu[i] - sum_children(l, i, out->total_cpu);
        if (!t->any_device)
            continue;
        double inner = sum_children(l, i, out->total_device);
        out->total_device[i] = l->kernels[i] + inner;
        out->self_device[i] = out->total_device[i] - inner;
    }
}

bool osc_torch_times_build(const osc_calltree *tree, int64_t trace_start_ns, osc_torch_times *out)
{
    size_t n = (size_t)tree->count + 1;
    struct lists l = {.tree = tree, .start_ns = trace_start_ns};
    l.kernels = osc_calloc(n, sizeof *l.kernels);
    l.first = osc_calloc(n, sizeof *l.first);
    l.next = osc_calloc(n, sizeof *l.next);
    l.by_slice = osc_calloc(n, sizeof *l.by_slice);
    out->self_cpu = osc_calloc(n, sizeof(double));
    out->total_cpu = osc_calloc(n, sizeof(double));
    out->self_device = osc_calloc(n, sizeof(double));
    out->total_device = osc_calloc(n, sizeof(double));
    bool ok = l.kernels && l.first && l.next && l.by_slice && out->self_cpu && out->total_cpu &&
              out->self_device && out->total_device;
    if (ok) {
        sum_kernels(&l);
        list_children(&l);
        compute(&l, out);
    } else {
        osc_torch_times_free(out);
    }
    osc_free(l.kernels);
    osc_free(l.first);
    osc_free(l.next);
    osc_free(l.by_slice);
    return ok;
}

void osc_torch_times_free(osc_torch_times *times)
{
    if (!times)
        return;
    osc_free(times->self_cpu);
    osc_free(times->total_cpu);
    osc_free(times->self_device);
    osc_free(times->total_device);
    memset(times, 0, sizeof *times);
}
