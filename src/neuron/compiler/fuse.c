/*
 * fuse.c - groups nodes into kernels, in graph order.
 *
 * One group is open at a time. A node joins it when its iteration space is the group's, its reduction (if
 * it has one) runs over the dims the group already reduces, and what it reads of the group lies the way
 * the space does. Otherwise the group is closed: results that are outputs, or that later nodes read, go
 * to HBM, the rest never leaves SBUF. Groups are runs of consecutive nodes, so no cycle can arise and the
 * result depends on nothing but the graph.
 *
 *     mul mean add rsqrt mul mul     space [4, 512], reduced {1}: one kernel, one load of x, one store
 *
 * Rejected: a search for the best partition. Framework graphs put producers next to consumers, and
 * compile time matters more than the last merge.
 */
#include "neuron/compiler/expand.h"

#include <assert.h>
#include <string.h>

/* Micro-operations of a group, so that its tiles stay wide enough to keep the engines busy. */
#define GROUP_OPS_MOST 160

/* ---- the space of a node ---- */

typedef struct space {
    uint32_t rank;
    int64_t size[OSC_MAX_RANK];
    bool reduced[OSC_MAX_RANK];
    bool has_reduce;
} space;

static void mark_last(space *s, uint32_t count)
{
    for (uint32_t d = 0; d < count && d < s->rank; d++)
        s->reduced[s->rank - 1 - d] = true;
}

static bool mark_dim(space *s, int64_t dim)
{
    int64_t rank = (int64_t)s->rank;
    if (dim < 0)
        dim += rank;
    if (rank == 0)
        return dim == 0 || dim == -1;
    if (dim < 0 || dim >= rank)
        return false;
    s->reduced[dim] = true;
    return true;
}

/* Dims in an argument: a list, one number, or None (and the empty list) for all. */
static bool mark_arg(space *s, const osc_arg *arg)
{
    if (arg->kind == OSC_ARG_INT)
        return mark_dim(s, arg->i);
    if (arg->kind == OSC_ARG_NONE || (arg->kind == OSC_ARG_INTS && arg->count == 0)) {
        mark_last(s, s->rank);
        return true;
    }
    if (arg->kind != OSC_ARG_INTS)
        return false;
    for (uint32_t i = 0; i < arg->count; i++) {
        if (!mark_dim(s, arg->ints[i]))
            return false;
    }
    return true;
}

static bool reduce_space(const osc_expand *ex, space *s)
{
    s->has_reduce = true;
    switch (ex->row->dims) {
    case OSC_DIMS_ARG1: return mark_arg(s, osc_ex_raw(ex, 1));
    case OSC_DIMS_ARG2: return mark_arg(s, osc_ex_raw(ex, 2));
    case OSC_DIMS_SHAPE:
        mark_last(s, osc_ex_raw(ex, 1)->count);
        return osc_ex_raw(ex, 1)->kind == OSC_ARG_INTS;
    case OSC_DIMS_SHAPE2:
        mark_last(s, osc_ex_raw(ex, 2)->count);
        return osc_ex_raw(ex, 2)->kind == OSC_ARG_INTS;
    default: mark_last(s, s->rank); return true;
    }
}

static bool node_space(const osc_expand *ex, space *s)
{
    memset(s, 0, sizeof *s);
    osc_value shaped = OSC_NO_VALUE;
    if (ex->row->kind == OSC_ROW_REDUCE) {
        if (osc_ex_raw(ex, 0)->kind == OSC_ARG_TENSOR)
            shaped = ex->node->args[0].tensor;
    } else {
        for (uint32_t o = 0; o < ex->node->nouts && shaped == OSC_NO_VALUE; o++)
            shaped = ex->node->outs[o];
    }
    if (shaped == OSC_NO_VALUE)
        return false;
    const osc_value_info *info = osc_graph_value(ex->lower->graph, shaped);
    s->rank = info->rank;
    memcpy(s->size, info->size, sizeof s->size);
    return ex->row->kind != OSC_ROW_REDUCE || reduce_space(ex, s);
}

/* ---- joining ---- */

/* A shape that lies in the space right-aligned, reduced dims either whole or of size 1. */
static bool fits_space(const osc_group *group, const osc_value_info *info)
{
    int64_t stride[OSC_MAX_RANK];
    return osc_ex_strides(group, info, stride);
}

static bool args_fit(const osc_lower *lower, const osc_node *node)
{
    for (uint32_t a = 0; a < node->nargs; a++) {
        if (node->args[a].kind != OSC_ARG_TENSOR)
            continue;
        osc_value v = node->args[a].tensor;
        const osc_value_info *info = osc_graph_value(lower->graph, v);
        if (!fits_space(lower->group, info))
            return false;
        if (lower->ref_of[v] != UINT32_MAX && lower->squeezed[v] && info->rank > 0)
            return false;
    }
    return true;
}

/* An elementwise node may also compute row results: its shape has size 1 exactly on the reduced dims. */
static bool is_row_shape(const osc_group *group, const space *s)
{
    if (!group->has_reduce || s->rank > group->rank)
        return false;
    uint32_t lead = group->rank - s->rank;
    for (uint32_t d = 0; d < group->rank; d++) {
        int64_t size = d < lead ? 1 : s->size[d - lead];
        if (size != (group->reduced[d] ? 1 : group->size[d]))
            return false;
    }
    return true;
}

static bool same_size(const osc_group *group, const space *s)
{
    return s->rank == group->rank && memcmp(s->size, group->size, s->rank * sizeof s->size[0]) == 0;
}

static bool can_join(const osc_lower *lower, const osc_op_row *row, const osc_node *node,
                     const space *s)
{
    const osc_group *group = lower->group;
    if (group == NULL || group->closed || !lower->fuse || group->count > GROUP_OPS_MOST)
        return false;
    if (!args_fit(lower, node))
        return false;
    if (row->kind == OSC_ROW_ELEMENTWISE)
        return same_size(group, s) || is_row_shape(group, s);
    if (!same_size(group, s))
        return false;
    return !group->has_reduce ||
           memcmp(group->reduced, s->reduced, s->rank * sizeof s->reduced[0]) == 0;
}

/* ---- closing ---- */

/* A result that repeats elements cannot be written. */
static bool repeats(const osc_value_info *info)
{
    bool repeated = false;
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->size[d] == 0)
            return false;
        repeated = repeated || (info->size[d] > 1 && info->stride[d] == 0);
    }
    return repeated;
}

/* Strides of a squeezed result on the kept dims. */
static bool kept_strides(const osc_group *group, const osc_value_info *info, int64_t stride[])
{
    uint32_t at = 0;
    for (uint32_t d = 0; d < group->rank; d++) {
        stride[d] = 0;
        if (group->reduced[d])
            continue;
        if (at >= info->rank || info->size[at] != group->size[d])
            return false;
        stride[d] = info->size[at] == 1 ? 0 : info->stride[at];
        at++;
    }
    return at == info->rank;
}

/* The micro-operation whose tile is stored for a value: the value's own, rounded to its dtype. */
static uint32_t stored_ref(osc_lower *lower, osc_value value)
{
    osc_group *group = lower->group;
    uint32_t ref = lower->ref_of[value];
    osc_dtype dtype = (osc_dtype)osc_graph_value(lower->graph, value)->dtype;
    osc_ir_op *op = &group->ops[ref];
    if (op->dtype == dtype)
        return ref;
    if (op->value == value && op->kind != OSC_IR_REDUCE) {
        op->dtype = (uint8_t)dtype;
        return ref;
    }
    osc_ir_arg from = {.kind = OSC_IR_REF, .ref = ref};
    return osc_ir_copy(group, from, dtype, OSC_ENGINE_VECTOR).ref;
}

static void store_value(osc_lower *lower, osc_value value)
{
    int64_t stride[OSC_MAX_RANK];
    const osc_value_info *info = osc_graph_value(lower->graph, value);
    bool placed = lower->squeezed[value] ? kept_strides(lower->group, info, stride)
                                         : osc_ex_strides(lower->group, info, stride);
    if (!placed || repeats(info)) {
        osc_lower_refuse(lower, "a result's shape or strides do not fit the operation");
        return;
    }
    osc_group_store(lower->group, stored_ref(lower, value), value, (osc_dtype)info->dtype, stride);
}

static osc_status close_group(osc_lower *lower)
{
    osc_group *group = lower->group;
    if (group == NULL)
        return lower->kernel.status;
    for (osc_value v = 0; v < osc_graph_value_count(lower->graph); v++) {
        if (lower->ref_of[v] == UINT32_MAX)
            continue;
        bool later = lower->last_use[v] != UINT32_MAX && lower->last_use[v] > lower->group_last;
        if (osc_graph_value(lower->graph, v)->is_output || later)
            store_value(lower, v);
        lower->ref_of[v] = UINT32_MAX;
    }
    lower->group = NULL;
    return osc_lower_group(lower, group);
}

static osc_status open_group(osc_lower *lower, const space *s)
{
    lower->group = osc_group_new(lower->arena, s->rank, s->size);
    if (lower->group == NULL)
        return osc_kernel_fail(&lower->kernel, OSC_ENOMEM, "no memory to compile this operator");
    return OSC_OK;
}

/* ---- nodes ---- */

/* A copy that keeps bits, or the low ones of int64, and does not read the open group: DMA does it. */
static bool is_move(const osc_lower *lower, const osc_node *node)
{
    if (node->nargs < 1 || node->nouts < 1 || node->args[0].kind != OSC_ARG_TENSOR ||
        node->outs[0] == OSC_NO_VALUE)
        return false;
    osc_value value = node->args[0].tensor;
    osc_dtype from = (osc_dtype)osc_graph_value(lower->graph, value)->dtype;
    osc_dtype to = (osc_dtype)osc_graph_value(lower->graph, node->outs[0])->dtype;
    bool narrows =
        from == OSC_I64 && !osc_dtype_is_float(to) && to != OSC_BOOL && osc_dtype_is_native(to);
    return lower->ref_of[value] == UINT32_MAX && (from == to || narrows);
}

static osc_status add_to_group(osc_lower *lower, osc_expand *ex, uint32_t index)
{
    space s;
    if (!node_space(ex, &s))
        return osc_lower_refuse(lower, "its arguments do not say what shape it works on");
    if (!can_join(lower, ex->row, ex->node, &s)) {
        osc_status status = close_group(lower);
        if (status != OSC_OK)
            return status;
        lower->node = ex->node;
        status = open_group(lower, &s);
        if (status != OSC_OK)
            return status;
    }
    osc_group *group = lower->group;
    ex->group = group;
    group->source = lower->source;
    if (s.has_reduce) {
        group->has_reduce = true;
        memcpy(group->reduced, s.reduced, sizeof s.reduced);
    }
    lower->group_last = index;
    ex->row->expand(ex);
    if (group->failed)
        return osc_kernel_fail(&lower->kernel, OSC_ENOMEM, "no memory to compile this operator");
    return lower->kernel.status;
}

/* A node that is a kernel of its own. */
static osc_status lower_whole(osc_lower *lower, const osc_expand *ex)
{
    osc_status status = close_group(lower);
    if (status != OSC_OK)
        return status;
    lower->node = ex->node;
    lower->kernel.source = lower->source;
    for (uint32_t a = 0; a < ex->node->nargs; a++) {
        const osc_arg *arg = &ex->node->args[a];
        bool known = arg->kind != OSC_ARG_TENSOR || osc_lower_is_computed(lower, arg->tensor);
        for (uint32_t i = 0; arg->kind == OSC_ARG_TENSORS && i < arg->count; i++)
            known = known && osc_lower_is_computed(lower, (osc_value)arg->ints[i]);
        if (!known)
            return osc_lower_refuse(lower, "an operand is computed by no earlier operator");
    }
    return ex->row->lower(lower, ex->row);
}

static osc_status lower_node(osc_lower *lower, uint32_t index)
{
    const osc_node *node = osc_graph_node(lower->graph, index);
    osc_expand ex = {.lower = lower, .node = node, .row = osc_op_find(node->name)};
    lower->node = node;
    if (ex.row == NULL)
        return osc_lower_refuse(lower, "there is no lowering for it");
    size_t dot = osc_str_find_char(node->name, '.', 0);
    osc_source source = {.op = osc_str_sub(node->name, 0, dot),
                         .file = node->file,
                         .line = node->line,
                         .graph_node = index};
    lower->source = osc_program_add_source(lower->kernel.program, &source);
    osc_status status;
    if (ex.row->kind != OSC_ROW_WHOLE && (ex.row->lower == NULL || !is_move(lower, node)))
        status = add_to_group(lower, &ex, index);
    else
        status = lower_whole(lower, &ex);
    for (uint32_t o = 0; o < node->nouts && status == OSC_OK; o++) {
        if (node->outs[o] != OSC_NO_VALUE)
            lower->computed[node->outs[o]] = true;
    }
    return status;
}

osc_status osc_lower_graph(osc_lower *lower)
{
    for (uint32_t n = 0; n < osc_graph_node_count(lower->graph); n++) {
        osc_status status = lower_node(lower, n);
        if (status != OSC_OK)
            return status;
    }
    return close_group(lower);
}
