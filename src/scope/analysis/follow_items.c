/*
 * follow_items.c - which slices belong to a call, and in which order they are told.
 *
 * Runtime calls and device work belong to the call when the operator they are linked to lies within
 * it, or when their runtime call does. Links are tried best first: by External id, by correlation
 * through the runtime call, by containment in time (kineto-trace-format.md 1.9). The link table of
 * a session adds the stream lane, the runtime's own events and the executions; the same launch may
 * be known twice there (Kineto's copy and the runtime's own), the runtime's is told. Slices of one
 * launch stand together, launches in the order they began.
 *
 * One pass over all slices, without a table of them: most are sorted out by their times.
 */
#include "scope/analysis/follow_internal.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

/* ---- what belongs ---- */

bool osc_follow_inside(const struct follow_call *c, uint32_t op, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    int64_t begin = s->start_ns[op];
    if (slice != OSC_NO_ROW && s->start_ns[slice] > begin + s->dur_ns[op])
        return false;
    while (slice != OSC_NO_ROW && slice != op && s->start_ns[slice] >= begin)
        slice = osc_calls_parent(c->calls, slice);
    return slice == op;
}

/* The operator or range around a runtime call; frames are passed over. */
static uint32_t op_around(const struct follow_call *c, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint32_t around = osc_calls_parent(c->calls, slice);
    while (around != OSC_NO_ROW && s->kind[around] != OSC_KIND_CPU_OP &&
           s->kind[around] != OSC_KIND_USER_ANNOTATION)
        around = osc_calls_parent(c->calls, around);
    return around;
}

uint32_t osc_follow_op_of(const struct follow_call *c, uint32_t slice, uint8_t *rule)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint32_t op = osc_calls_op(c->calls, slice), call;
    *rule = op == OSC_NO_ROW ? 0 : (uint8_t)osc_calls_rule(c->calls, slice);
    if (op != OSC_NO_ROW || s->kind[slice] == OSC_KIND_GPU_ANNOTATION)
        return op;
    if (s->kind[slice] == OSC_KIND_RUNTIME) {
        op = op_around(c, slice);
        *rule = op == OSC_NO_ROW ? 0 : OSC_LINK_CONTAINMENT;
        return op;
    }
    call = osc_calls_launch(c->calls, slice);
    if (call == OSC_NO_ROW)
        return OSC_NO_ROW;
    op = osc_calls_op(c->calls, call);
    if (op == OSC_NO_ROW)
        op = op_around(c, call);
    *rule = op == OSC_NO_ROW ? 0 : OSC_LINK_CORRELATION;
    return op;
}

static bool is_launched(const struct follow_call *c, uint32_t slice)
{
    return osc_store_slice(c->f.store)->kind[slice] == OSC_KIND_RUNTIME ||
           osc_calls_device(c->calls, slice) != OSC_DEVICE_CPU;
}

/* For a call that is a launch or device work itself: what shares its launch. */
static bool shares_launch(const struct follow_call *c, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    return s->correlation[slice] != 0 && s->correlation[slice] == s->correlation[c->slice];
}

static uint32_t rank_of(const osc_store *store, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(store);
    uint8_t lane = osc_store_track(store)->lane_kind[s->track[slice]];
    switch ((osc_slice_kind)s->kind[slice]) {
    case OSC_KIND_CPU_OP:
    case OSC_KIND_USER_ANNOTATION:
    case OSC_KIND_PYTHON: return RANK_OP;
    case OSC_KIND_LANE: return RANK_STREAM;
    case OSC_KIND_RUNTIME: return s->flags[slice] & OSC_SLICE_STREAM ? RANK_STREAM : RANK_CALL;
    case OSC_KIND_NRT: return lane == OSC_LANE_RUNTIME ? RANK_RUNTIME : RANK_CORE;
    default: return RANK_DEVICE;
    }
}

/* Adds an item; false when out of memory. */
static bool add_item(struct follow_call *c, uint32_t slice, uint32_t op, uint8_t rule)
{
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        struct follow_item *items = osc_realloc_array(c->items, room, sizeof *items);
        if (!items)
            return false;
        c->items = items;
        c->room = room;
    }
    c->items[c->count++] = (struct follow_item){.slice = slice,
                                                .rank = rank_of(c->f.store, slice),
                                                .op = op,
                                                .call = OSC_NO_ROW,
                                                .before = OSC_NO_ROW,
                                                .about = OSC_NO_ROW,
                                                .rule = rule};
    return true;
}

/* Adds a slice of the counted kinds if it belongs to the call. */
static bool take_slice(struct follow_call *c, uint32_t slice, bool by_launch)
{
    uint8_t rule = 0;
    bool ours;
    uint32_t op = OSC_NO_ROW;
    if (by_launch) {
        ours = slice == c->slice || shares_launch(c, slice);
        if (ours)
            op = osc_follow_op_of(c, slice, &rule);
    } else {
        op = osc_follow_op_of(c, slice, &rule);
        ours = (op != OSC_NO_ROW && osc_follow_inside(c, c->slice, op)) ||
               (osc_store_slice(c->f.store)->kind[slice] == OSC_KIND_RUNTIME &&
                osc_follow_inside(c, c->slice, slice));
    }
    return !ours || add_item(c, slice, op, rule);
}

static bool add_counted(struct follow_call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    bool by_launch = is_launched(c, c->slice), ok = true;
    uint8_t rule;
    c->op = by_launch ? osc_follow_op_of(c, c->slice, &rule) : c->slice;
    if (c->op != OSC_NO_ROW)
        ok = add_item(c, c->op, OSC_NO_ROW, 0);
    for (uint32_t i = 0; i < s->count && ok; i++) {
        if (osc_calls_counts(c->calls, i) && is_launched(c, i))
            ok = take_slice(c, i, by_launch);
    }
    return ok;
}

/* Slices that the session's links give to operators inside the call. */
static bool add_linked(struct follow_call *c)
{
    const osc_link_cols *l = osc_store_link(c->f.store);
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    bool ok = true;
    if (is_launched(c, c->slice))
        return true;
    for (uint32_t i = 0; i < l->count && ok; i++) {
        uint8_t kind = s->kind[l->to[i]];
        bool own = kind == OSC_KIND_LANE || kind == OSC_KIND_NRT || kind == OSC_KIND_HW;
        if (own && l->rule[i] == OSC_LINK_EXTERNAL_ID && osc_follow_inside(c, c->slice, l->from[i]))
            ok = add_item(c, l->to[i], l->from[i], l->rule[i]);
    }
    return ok;
}

/* ---- numbers of launches ---- */

/* The rows of launches that our slices have: one pass with a mark per slice, no table of all. */
static bool index_launches(struct follow_call *c)
{
    const osc_launch_cols *l = osc_store_launch(c->f.store);
    uint32_t slices = osc_store_slice(c->f.store)->count;
    uint8_t *ours = osc_calloc((size_t)slices + 1, sizeof *ours);
    bool ok = ours != NULL;
    for (uint32_t i = 0; i < c->count && ok; i++)
        ours[c->items[i].slice] = 1;
    for (uint32_t i = 0; i < l->count && ok; i++) {
        if (l->slice[i] < slices && ours[l->slice[i]])
            ok = osc_map_put(&c->launch_row, l->slice[i], i) == OSC_OK;
    }
    osc_free(ours);
    return ok;
}

static void number_items(struct follow_call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    const osc_launch_cols *l = osc_store_launch(c->f.store);
    for (uint32_t i = 0; i < c->count; i++) {
        struct follow_item *item = &c->items[i];
        uint64_t row;
        if (osc_map_get(&c->launch_row, item->slice, &row)) {
            item->sequence_id = l->sequence_id[row];
            item->exec_id = l->exec_id[row];
            item->bytes = l->bytes[row];
        }
        item->launch =
            item->sequence_id ? item->sequence_id : (uint64_t)s->correlation[item->slice];
        if (is_launched(c, item->slice) && s->kind[item->slice] != OSC_KIND_RUNTIME)
            item->call = osc_calls_launch(c->calls, item->slice);
    }
}

/* True when the runtime or the hardware reports this item itself, or the launch's parts tell it. */
static bool is_copy(const struct follow_call *c, const struct follow_item *item,
                    const osc_map *reported, const osc_map *ran)
{
    osc_slice_kind kind = (osc_slice_kind)osc_store_slice(c->f.store)->kind[item->slice];
    if (item->sequence_id == 0)
        return false;
    if (kind == OSC_KIND_RUNTIME || osc_slice_kind_is_device_work(kind))
        return osc_map_get(reported, item->sequence_id, NULL);
    return kind == OSC_KIND_NRT && item->rank == RANK_CORE &&
           osc_map_get(ran, item->sequence_id, NULL);
}

/* Leaves out Kineto's copy of what the runtime reports itself, and the model switch, which is a
 * part of the execution's launch. */
static bool drop_copies(struct follow_call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_map reported = {0}, ran = {0};
    uint32_t kept = 0;
    bool ok = true;
    for (uint32_t i = 0; i < c->count && ok; i++) {
        uint8_t kind = s->kind[c->items[i].slice];
        uint64_t id = c->items[i].sequence_id;
        if ((kind == OSC_KIND_NRT || kind == OSC_KIND_HW) && id != 0)
            ok = osc_map_put(&reported, id, 1) == OSC_OK &&
                 (kind == OSC_KIND_NRT || osc_map_put(&ran, id, 1) == OSC_OK);
    }
    for (uint32_t i = 0; i < c->count && ok; i++) {
        if (!is_copy(c, &c->items[i], &reported, &ran))
            c->items[kept++] = c->items[i];
    }
    c->count = ok ? kept : c->count;
    osc_map_free(&reported);
    osc_map_free(&ran);
    return ok;
}

/* Gives every slice of a launch the time the launch began; the operator comes first. */
static bool date_launches(struct follow_call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_map begin = {0};
    bool ok = true;
    for (uint32_t i = 0; i < c->count && ok; i++) {
        const struct follow_item *item = &c->items[i];
        uint64_t known;
        int64_t start = s->start_ns[item->slice];
        if (!osc_map_get(&begin, item->launch, &known) || start < (int64_t)known)
            ok = osc_map_put(&begin, item->launch, (uint64_t)start) == OSC_OK;
    }
    for (uint32_t i = 0; i < c->count && ok; i++) {
        uint64_t known = 0;
        (void)osc_map_get(&begin, c->items[i].launch, &known);
        c->items[i].launch_ns = c->items[i].rank == RANK_OP ? INT64_MIN : (int64_t)known;
        if (c->items[i].launch == 0 && c->items[i].rank != RANK_OP)
            c->items[i].launch_ns = s->start_ns[c->items[i].slice];
    }
    osc_map_free(&begin);
    return ok;
}

static int compare_items(const void *left, const void *right, void *context)
{
    const struct follow_item *a = left, *b = right;
    const osc_slice_cols *s = context;
    if (a->launch_ns != b->launch_ns)
        return a->launch_ns < b->launch_ns ? -1 : 1;
    if (a->launch != b->launch)
        return a->launch < b->launch ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (s->start_ns[a->slice] != s->start_ns[b->slice])
        return s->start_ns[a->slice] < s->start_ns[b->slice] ? -1 : 1;
    return a->slice < b->slice ? -1 : a->slice > b->slice;
}

/* A runtime call without a correlation number, as PrivateUse1 has them in PyTorch 2.13. */
static bool is_unnumbered_call(const struct follow_call *c, const struct follow_item *item)
{
    return item->rank == RANK_CALL && item->op != OSC_NO_ROW &&
           osc_store_slice(c->f.store)->correlation[item->slice] == 0;
}

/*
 * Where no correlation names the runtime call of device work: the calls of an operator and its
 * device work are paired in order. Items are in order of time; later[i] is the next such call of
 * the same operator, first_call the first one left of each. False: out of memory.
 */
static bool pair_calls(struct follow_call *c, uint32_t *later, osc_map *first_call)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint64_t at;
    bool ok = true;
    for (uint32_t i = c->count; i-- > 0 && ok;) {
        if (!is_unnumbered_call(c, &c->items[i]))
            continue;
        later[i] = osc_map_get(first_call, c->items[i].op, &at) ? (uint32_t)at : OSC_NO_ROW;
        ok = osc_map_put(first_call, c->items[i].op, i) == OSC_OK;
    }
    for (uint32_t i = 0; i < c->count && ok && first_call->count > 0; i++) {
        struct follow_item *item = &c->items[i];
        if (item->rank != RANK_DEVICE || item->call != OSC_NO_ROW || item->op == OSC_NO_ROW ||
            !osc_map_get(first_call, item->op, &at))
            continue;
        if (s->start_ns[c->items[at].slice] > s->start_ns[item->slice])
            continue;
        item->call = c->items[at].slice;
        if (later[at] == OSC_NO_ROW)
            (void)osc_map_remove(first_call, item->op);
        else
            ok = osc_map_put(first_call, item->op, later[at]) == OSC_OK;
    }
    return ok;
}

static bool guess_calls(struct follow_call *c)
{
    osc_map first_call = {0};
    uint32_t *later = osc_realloc_array(NULL, (size_t)c->count + 1, sizeof *later);
    bool ok = later && pair_calls(c, later, &first_call);
    osc_map_free(&first_call);
    osc_free(later);
    return ok;
}

bool osc_follow_collect(struct follow_call *c)
{
    if (!add_counted(c) || !add_linked(c) || !index_launches(c))
        return false;
    number_items(c);
    if (!drop_copies(c) || !date_launches(c))
        return false;
    osc_slice_cols slices = *osc_store_slice(c->f.store);
    if (c->count > 1)
        qsort_r(c->items, c->count, sizeof *c->items, compare_items, &slices);
    return guess_calls(c);
}
