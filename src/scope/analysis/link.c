/*
 * link.c - which operator caused which runtime call and device work
 * (kineto-trace-format.md 1.9, 2.2).
 *
 * Since PyTorch 2.3 (and before 1.11) "External id" names the operator. In between it repeats the
 * event's own correlation number, so the way is: device work -> runtime call with the same
 * correlation
 * -> innermost operator open on that thread at that time. Which era a file is of follows from how
 * many of its ids are mere repetitions. Until late 2024 writers fell back to the correlation number
 * for single unlinked events; such an id counts only when the launch lies inside the operator it
 * names.
 *
 * Refuses: flows ("ac2g" arrows). In real files a third to four fifths of them lack an end (1.8).
 */
#include "scope/analysis/calltree_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "scope/analysis/sat.h"

#include <stdlib.h>
#include <string.h>

/* Share of repeated ids from which a file is of the correlation era. */
#define ERA_SHARE 0.9

struct links {
    struct build *b;
    const osc_slice_cols *slices;
    osc_map by_id;    /* External id -> node of the operator or annotation */
    osc_map launches; /* correlation -> node of the runtime call, the first one */
    uint32_t *ops;    /* operator nodes by (thread, start, -end, order) */
    uint32_t *around; /* for each entry of ops the entry around it, or OSC_NO_ROW */
    uint32_t op_count;
};

static osc_calltree_node *node_at(const struct links *l, uint32_t node)
{
    return &l->b->tree->nodes[node];
}

static int64_t external_id(const struct links *l, const osc_calltree_node *n)
{
    return l->slices->external_id[n->slice];
}

static int64_t correlation(const struct links *l, const osc_calltree_node *n)
{
    return l->slices->correlation[n->slice];
}

/* The operator id an event carries; annotations on a device name theirs only on XPU (2.2). */
static int64_t linked_id(const struct links *l, const osc_calltree_node *n)
{
    if (n->kind == OSC_KIND_GPU_ANNOTATION && n->device != OSC_DEVICE_XPU)
        return 0;
    return external_id(l, n);
}

static bool index_ids(struct links *l)
{
    uint64_t with_id = 0, repeated = 0;
    for (uint32_t i = 0; i < l->b->tree->count; i++) {
        const osc_calltree_node *n = node_at(l, i);
        int64_t id = external_id(l, n);
        if ((n->kind == OSC_KIND_CPU_OP || n->kind == OSC_KIND_USER_ANNOTATION) && id > 0 &&
            osc_map_put(&l->by_id, (uint64_t)id, i) != OSC_OK)
            return false;
        int64_t launch = correlation(l, n);
        if (n->kind == OSC_KIND_RUNTIME && launch != 0 &&
            !osc_map_get(&l->launches, (uint64_t)launch, NULL) &&
            osc_map_put(&l->launches, (uint64_t)launch, i) != OSC_OK)
            return false;
        if (osc_slice_kind_is_device_work((osc_slice_kind)n->kind) && id != 0) {
            with_id++;
            repeated += id == launch;
        }
    }
    l->b->tree->by_correlation = with_id > 0 && (double)repeated > ERA_SHARE * (double)with_id;
    return true;
}

/* ---- innermost operator at a time, for files of the correlation era ---- */

static int compare_ops(const void *left, const void *right, void *context)
{
    const osc_calltree_node *nodes = context;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const osc_calltree_node *a = &nodes[i], *b = &nodes[j];
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return i < j ? -1 : 1;
}

static bool index_ops(struct links *l)
{
    uint32_t count = l->b->tree->count;
    l->ops = osc_realloc_array(NULL, (size_t)count + 1, sizeof *l->ops);
    l->around = osc_realloc_array(NULL, (size_t)count + 1, sizeof *l->around);
    if (!l->ops || !l->around)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (node_at(l, i)->kind == OSC_KIND_CPU_OP)
            l->ops[l->op_count++] = i;
    }
    qsort_r(l->ops, l->op_count, sizeof *l->ops, compare_ops, l->b->tree->nodes);
    uint32_t open = OSC_NO_ROW;
    for (uint32_t i = 0; i < l->op_count; i++) {
        const osc_calltree_node *n = node_at(l, l->ops[i]);
        if (i > 0 && node_at(l, l->ops[i - 1])->thread != n->thread)
            open = OSC_NO_ROW;
        while (open != OSC_NO_ROW && node_at(l, l->ops[open])->end_ns <= n->start_ns)
            open = l->around[open];
        l->around[i] = open;
        open = i;
    }
    return true;
}

/* The innermost operator of a thread open at a time, OSC_NO_ROW when there is none. */
static uint32_t covering_op(const struct links *l, uint32_t thread, int64_t time)
{
    uint32_t low = 0, high = l->op_count; /* first entry after (thread, time) */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const osc_calltree_node *n = node_at(l, l->ops[middle]);
        bool before = n->thread < thread || (n->thread == thread && n->start_ns <= time);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t at = low == 0 ? OSC_NO_ROW : low - 1;
    if (at != OSC_NO_ROW && node_at(l, l->ops[at])->thread != thread)
        return OSC_NO_ROW;
    while (at != OSC_NO_ROW && node_at(l, l->ops[at])->end_ns < time)
        at = l->around[at];
    return at == OSC_NO_ROW ? OSC_NO_ROW : l->ops[at];
}

/* ---- the two ways ---- */

/* The runtime call behind a node: itself, or the one with its correlation. */
static const osc_calltree_node *launch_of(const struct links *l, const osc_calltree_node *n)
{
    uint64_t node;
    if (n->kind == OSC_KIND_RUNTIME)
        return n;
    int64_t id = correlation(l, n);
    return id != 0 && osc_map_get(&l->launches, (uint64_t)id, &node) ? node_at(l, (uint32_t)node)
                                                                     : NULL;
}

static uint32_t op_by_correlation(const struct links *l, const osc_calltree_node *n, uint8_t *rule)
{
    if (n->kind == OSC_KIND_GPU_ANNOTATION)
        return OSC_NO_ROW;
    const osc_calltree_node *launch = launch_of(l, n);
    if (!launch)
        return OSC_NO_ROW;
    *rule = launch == n ? OSC_LINK_CONTAINMENT : OSC_LINK_CORRELATION;
    return covering_op(l, launch->thread, launch->start_ns);
}

static uint32_t op_by_id(const struct links *l, const osc_calltree_node *n, uint8_t *rule)
{
    int64_t id = linked_id(l, n);
    uint64_t op;
    if (id == 0 || !osc_map_get(&l->by_id, (uint64_t)id, &op))
        return OSC_NO_ROW;
    if (id == correlation(l, n) && n->kind != OSC_KIND_GPU_ANNOTATION) {
        const osc_calltree_node *launch = launch_of(l, n), *around = node_at(l, (uint32_t)op);
        if (!launch || launch->start_ns < around->start_ns || launch->start_ns > around->end_ns)
            return OSC_NO_ROW;
    }
    *rule = OSC_LINK_EXTERNAL_ID;
    return (uint32_t)op;
}

static void find_ops(struct links *l)
{
    osc_calltree *tree = l->b->tree;
    for (uint32_t i = 0; i < tree->count; i++) {
        osc_calltree_node *n = node_at(l, i);
        if (n->device == OSC_DEVICE_CPU && n->kind != OSC_KIND_RUNTIME)
            continue;
        uint8_t rule = 0;
        n->op = tree->by_correlation ? op_by_correlation(l, n, &rule) : op_by_id(l, n, &rule);
        n->rule = n->op == OSC_NO_ROW ? 0 : rule;
        if (n->op == OSC_NO_ROW && osc_slice_kind_is_device_work((osc_slice_kind)n->kind))
            tree->unlinked++;
    }
}

static void add_kernel(osc_calltree_node *op, const osc_calltree_node *kernel)
{
    op->kernel_ns = osc_add_sat(op->kernel_ns, kernel->end_ns - kernel->start_ns);
}

/* After all lookups, as they must not see a thread that was already changed. */
static void apply(struct links *l)
{
    for (uint32_t i = 0; i < l->b->tree->count; i++) {
        osc_calltree_node *n = node_at(l, i);
        if (n->op == OSC_NO_ROW)
            continue;
        if (n->device == OSC_DEVICE_CPU)
            n->thread = node_at(l, n->op)->thread;
        else if (n->device == OSC_DEVICE_CUDA || n->device == OSC_DEVICE_PRIVATEUSE1 ||
                 n->device == OSC_DEVICE_XPU)
            add_kernel(node_at(l, n->op), n);
    }
}

bool osc_calltree_link(struct build *b)
{
    struct links l = {.b = b, .slices = osc_store_slice(b->store)};
    bool ok = index_ids(&l) && (!b->tree->by_correlation || index_ops(&l));
    if (ok) {
        find_ops(&l);
        apply(&l);
    }
    osc_map_free(&l.by_id);
    osc_map_free(&l.launches);
    osc_free(l.ops);
    osc_free(l.around);
    return ok;
}
