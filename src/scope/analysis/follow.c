/*
 * follow.c - which slices belong to a call, in which order they are told; see follow.h.
 *
 * The call tree says what lies inside the call and which device work was linked to it; the link
 * table of a session adds the stream lane, the runtime's own events and the executions. The same
 * launch may be known twice (Kineto's copy and the runtime's own); the runtime's is shown. Slices
 * of one launch are told together, launches in the order they began.
 */
#include "scope/analysis/follow_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/stacks.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const osc_table_column columns[OSC_FOLLOW_COLUMNS] = {
    {"level", "level", "0 slice on a lane, 1 launch or instruction, 2 part or transfer",
     OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"lane", "lane", "where it happened", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"kind", "kind", "what it is", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"name", "name", "event or operation", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"engine", "engine", "engine that ran or issued it", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"start_ns", "start", "start, host time", OSC_CELL_I64, OSC_UNIT_NS, true},
    {"offset_ns", "offset", "start from that of the window (level 0) or the execution",
     OSC_CELL_I64, OSC_UNIT_NS, false},
    {"dur_ns", "length", "length", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"gap_ns", "gap", "idle time before it on its lane or engine, -1 unknown", OSC_CELL_I64,
     OSC_UNIT_NS, true},
    {"waited_for", "waited for", "what kept it from starting earlier", OSC_CELL_STR, OSC_UNIT_NONE,
     false},
    {"detail", "detail", "more about it", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"fitted", "fitted", "its length comes from a fitted model", OSC_CELL_BOOL, OSC_UNIT_NONE,
     true},
    {"bytes", "bytes", "bytes moved", OSC_CELL_I64, OSC_UNIT_BYTES, true},
    {"transfers", "transfers", "DMA transfers", OSC_CELL_I64, OSC_UNIT_COUNT, true},
    {"ring", "ring", "DMA engine, -1 none", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"sequence_id", "sequence", "nrt_sequence_id, 0 none", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"exec_id", "exec", "execution number on its core, 0 none", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"text", "text", "disassembly", OSC_CELL_STR, OSC_UNIT_NONE, true},
};

/* Order of lanes within a launch. */
enum { RANK_OP = 0, RANK_STREAM, RANK_CALL, RANK_RUNTIME, RANK_CORE, RANK_DEVICE };

/* A slice of the call. */
struct item {
    uint32_t slice;
    uint32_t rank;
    uint64_t launch;   /* what slices of one launch share, 0 none */
    int64_t launch_ns; /* when the launch began */
    uint64_t sequence_id;
    int64_t exec_id, bytes;
};

struct call {
    struct follow f;
    osc_calltree tree;
    uint32_t node;
    uint8_t *inside;    /* per node: the call itself or within it */
    osc_map launch_row; /* slice -> row of launches */
    osc_map track_end;  /* track -> end of the slice told last on it */
    struct item *items;
    size_t room; /* in items: every node and every link once */
    uint32_t count;
    uint32_t calls;
};

/* ---- which call ---- */

/* Operators and ranges by name; with any, also runtime calls, kernels and copies. */
static bool matches(const osc_calltree_node *n, uint32_t name, bool any)
{
    return !n->gone && n->name == name && n->slice != OSC_NO_ROW &&
           (any || n->device == OSC_DEVICE_CPU);
}

/* The full name of one given without its namespace, "aten::mul" for "mul"; NULL when there is none. */
static const char *with_namespace(const struct call *c, osc_str name)
{
    for (uint32_t i = 1; i < osc_intern_count(c->tree.names); i++) {
        osc_str full = osc_intern_get(c->tree.names, i);
        size_t colon = osc_str_rfind_char(full, ':');
        if (colon != SIZE_MAX && osc_str_eq(osc_str_sub(full, colon + 1, SIZE_MAX), name))
            return full.ptr; /* a NUL follows each */
    }
    return NULL;
}

/* "no operator 'x'; the nearest is 'y'" */
static osc_status fail_no_operator(const struct call *c, osc_str name, osc_err *err)
{
    if (c->tree.count == 0)
        return osc_fail(
            err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
            "no operator '%.*s': no operators were recorded; opscope info says what is there",
            OSC_STR_FMT(name));
    uint32_t count = osc_intern_count(c->tree.names);
    const char **names = osc_realloc_array(NULL, (size_t)count + 1, sizeof *names);
    const char *near = NULL;
    if (names) {
        for (uint32_t i = 0; i < count; i++)
            names[i] = osc_intern_get(c->tree.names, i).ptr; /* a NUL follows each */
        near = with_namespace(c, name);
        if (!near)
            near = osc_nearest(name, names + 1, count > 0 ? count - 1 : 0);
    }
    osc_status status =
        near ? osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no operator '%.*s'; the nearest is '%s'", OSC_STR_FMT(name), near)
             : osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no operator '%.*s'; opscope top lists those there are", OSC_STR_FMT(name));
    osc_free(names);
    return status;
}

static void count_calls(struct call *c, uint32_t name, uint32_t nth, bool any)
{
    for (uint32_t i = 0; i < c->tree.count && name != OSC_INTERN_NONE; i++) {
        if (matches(&c->tree.nodes[i], name, any) && ++c->calls == nth)
            c->node = i;
    }
}

static osc_status find_call(struct call *c, osc_str name, uint32_t nth, osc_err *err)
{
    uint32_t id = osc_intern_find(c->tree.names, name);
    c->node = OSC_NO_ROW;
    count_calls(c, id, nth, false);
    if (c->calls == 0)
        count_calls(c, id, nth, true);
    if (c->calls == 0)
        return fail_no_operator(c, name, err);
    if (c->node == OSC_NO_ROW)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "there %s only %u call%s of '%.*s', no call %u",
                        c->calls == 1 ? "is" : "are", c->calls, c->calls == 1 ? "" : "s",
                        OSC_STR_FMT(name), nth);
    return OSC_OK;
}

/* Marks the call and all that lies within it; parents come before children. */
static bool mark_inside(struct call *c)
{
    assert(c->node < c->tree.count);
    c->inside = osc_calloc((size_t)c->tree.count + 1, sizeof *c->inside);
    if (!c->inside)
        return false;
    for (uint32_t i = c->node; i < c->tree.count; i++) {
        const osc_calltree_node *n = &c->tree.nodes[i];
        c->inside[i] = i == c->node || (n->parent != OSC_NO_ROW && c->inside[n->parent]);
    }
    return true;
}

/* ---- its slices ---- */

static bool index_launches(struct call *c)
{
    const osc_launch_cols *l = osc_store_launch(c->f.store);
    for (uint32_t i = 0; i < l->count; i++) {
        if (osc_map_put(&c->launch_row, l->slice[i], i) != OSC_OK)
            return false;
    }
    return true;
}

static uint32_t rank_of(const osc_store *store, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(store);
    uint8_t lane = osc_store_track(store)->lane_kind[s->track[slice]];
    switch ((osc_slice_kind)s->kind[slice]) {
    case OSC_KIND_CPU_OP:
    case OSC_KIND_USER_ANNOTATION: return RANK_OP;
    case OSC_KIND_LANE: return RANK_STREAM;
    case OSC_KIND_RUNTIME:
        return osc_store_slice(store)->flags[slice] & OSC_SLICE_STREAM ? RANK_STREAM : RANK_CALL;
    case OSC_KIND_NRT: return lane == OSC_LANE_RUNTIME ? RANK_RUNTIME : RANK_CORE;
    default: return RANK_DEVICE;
    }
}

static void add_item(struct call *c, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    const osc_launch_cols *l = osc_store_launch(c->f.store);
    assert(c->count < c->room && slice < s->count);
    struct item *item = &c->items[c->count++];
    uint64_t row;
    *item = (struct item){.slice = slice, .rank = rank_of(c->f.store, slice)};
    if (osc_map_get(&c->launch_row, slice, &row)) {
        item->sequence_id = l->sequence_id[row];
        item->exec_id = l->exec_id[row];
        item->bytes = l->bytes[row];
    }
    item->launch = item->sequence_id ? item->sequence_id : (uint64_t)s->correlation[slice];
}

/* For a call that is a launch or device work itself: what shares its launch, and its operator. */
static bool shares_launch(const struct call *c, uint32_t node)
{
    const osc_calltree_node *call = &c->tree.nodes[c->node], *n = &c->tree.nodes[node];
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    if (call->device == OSC_DEVICE_CPU && call->kind != OSC_KIND_RUNTIME)
        return false;
    if (node == call->op)
        return true;
    bool launched = n->kind == OSC_KIND_RUNTIME || n->device != OSC_DEVICE_CPU;
    return launched && s->correlation[call->slice] != 0 &&
           s->correlation[n->slice] == s->correlation[call->slice];
}

/* Nodes inside the call that have work of their own, and what is linked to nodes inside. */
static void add_tree_items(struct call *c)
{
    for (uint32_t i = 0; i < c->tree.count; i++) {
        const osc_calltree_node *n = &c->tree.nodes[i];
        if (n->slice == OSC_NO_ROW)
            continue;
        bool linked = n->op != OSC_NO_ROW && c->inside[n->op];
        bool nested = c->inside[i] && n->kind == OSC_KIND_RUNTIME;
        if (i == c->node || linked || nested || shares_launch(c, i))
            add_item(c, n->slice);
    }
}

/* Slices that the session's links give to operators inside the call. */
static bool add_linked_items(struct call *c)
{
    const osc_link_cols *l = osc_store_link(c->f.store);
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_map ours = {0};
    bool ok = true;
    for (uint32_t i = 0; i < c->tree.count && ok; i++) {
        if (c->inside[i] && c->tree.nodes[i].slice != OSC_NO_ROW)
            ok = osc_map_put(&ours, c->tree.nodes[i].slice, 1) == OSC_OK;
    }
    for (uint32_t i = 0; i < l->count && ok; i++) {
        uint8_t kind = s->kind[l->to[i]];
        bool own = kind == OSC_KIND_LANE || kind == OSC_KIND_NRT || kind == OSC_KIND_HW;
        if (own && l->rule[i] == OSC_LINK_EXTERNAL_ID && osc_map_get(&ours, l->from[i], NULL))
            add_item(c, l->to[i]);
    }
    osc_map_free(&ours);
    return ok;
}

/* True when the runtime or the hardware reports this item itself, or the launch's parts tell it. */
static bool is_copy(const struct call *c, const struct item *item, const osc_map *reported,
                    const osc_map *ran)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_slice_kind kind = (osc_slice_kind)s->kind[item->slice];
    if (item->sequence_id == 0)
        return false;
    if (kind == OSC_KIND_RUNTIME || osc_slice_kind_is_device_work(kind))
        return osc_map_get(reported, item->sequence_id, NULL);
    return kind == OSC_KIND_NRT && item->rank == RANK_CORE &&
           osc_map_get(ran, item->sequence_id, NULL);
}

/* Leaves out Kineto's copy of what the runtime reports itself, and the model switch, which is a
 * part of the execution's launch. */
static bool drop_copies(struct call *c)
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

/* Gives every slice of a launch the time the launch began; operators come first. */
static bool date_launches(struct call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_map begin = {0};
    bool ok = true;
    for (uint32_t i = 0; i < c->count && ok; i++) {
        const struct item *item = &c->items[i];
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
    const struct item *a = left, *b = right;
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

static bool collect(struct call *c)
{
    c->room = (size_t)c->tree.count + osc_store_link(c->f.store)->count + 1;
    c->items = osc_realloc_array(NULL, c->room, sizeof *c->items);
    if (!c->items || !mark_inside(c) || !index_launches(c))
        return false;
    add_tree_items(c);
    if (!add_linked_items(c) || !drop_copies(c) || !date_launches(c))
        return false;
    osc_slice_cols slices = *osc_store_slice(c->f.store);
    qsort_r(c->items, c->count, sizeof *c->items, compare_items, &slices);
    return true;
}

/* ---- rows ---- */

static const char *kind_text(const osc_store *store, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(store);
    switch ((osc_slice_kind)s->kind[slice]) {
    case OSC_KIND_CPU_OP: return "op";
    case OSC_KIND_USER_ANNOTATION: return "annotation";
    case OSC_KIND_LANE: return "stream";
    case OSC_KIND_RUNTIME: return "runtime";
    case OSC_KIND_NRT:
        return osc_store_track(store)->lane_kind[s->track[slice]] == OSC_LANE_CORE ? "core"
                                                                                   : "runtime";
    case OSC_KIND_HW: return "execution";
    case OSC_KIND_MEMCPY: return "copy";
    case OSC_KIND_MEMSET: return "fill";
    case OSC_KIND_KERNEL: return "kernel";
    default: return osc_slice_kind_name((osc_slice_kind)s->kind[slice]);
    }
}

/* Start of what offsets count from: the first profiler step, else the first slice with a time. */
static int64_t window_start(const osc_store *store)
{
    const osc_slice_cols *s = osc_store_slice(store);
    int64_t first = INT64_MAX, step = INT64_MAX;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->flags[i] & OSC_SLICE_NO_TIME)
            continue;
        bool is_step = s->kind[i] == OSC_KIND_USER_ANNOTATION &&
                       osc_str_starts(osc_store_text(store, s->name[i]), OSC_STR("ProfilerStep#"));
        if (is_step && s->start_ns[i] < step)
            step = s->start_ns[i];
        if (s->kind[i] != OSC_KIND_SPAN && s->kind[i] != OSC_KIND_PYTHON && s->start_ns[i] < first)
            first = s->start_ns[i];
    }
    return step != INT64_MAX ? step : first != INT64_MAX ? first : 0;
}

/* The execution that ended last on the core before this one began but after it was submitted. */
static uint32_t core_busy_with(const struct call *c, uint32_t exec, int64_t submitted)
{
    const osc_exec_cols *e = osc_store_exec(c->f.store);
    uint32_t found = OSC_NO_ROW;
    for (uint32_t i = 0; i < e->count; i++) {
        int64_t end = e->start_ns[i] + e->dur_ns[i];
        if (i == exec || e->core[i] != e->core[exec] || end > e->start_ns[exec] || end <= submitted)
            continue;
        if (found == OSC_NO_ROW || end > e->start_ns[found] + e->dur_ns[found])
            found = i;
    }
    return found;
}

/* When the launch's runtime call returned: the work was then in the core's queue. */
static int64_t submitted_ns(const struct call *c, uint32_t at)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    for (uint32_t i = at; i-- > 0 && c->items[i].launch == c->items[at].launch;) {
        uint32_t slice = c->items[i].slice;
        if (c->items[i].rank == RANK_CALL || c->items[i].rank == RANK_RUNTIME)
            return s->start_ns[slice] + s->dur_ns[slice];
    }
    return INT64_MAX;
}

static void describe_execution(struct call *c, uint32_t at, uint32_t row, uint32_t exec)
{
    const osc_store *store = c->f.store;
    const osc_exec_cols *e = osc_store_exec(store);
    osc_buf *text = &c->f.text;
    osc_buf_clear(text);
    if (e->program[exec] != OSC_NO_ROW)
        osc_buf_printf(
            text, "neff %llu (%.*s)",
            (unsigned long long)osc_store_program(store)->hash[e->program[exec]],
            OSC_STR_FMT(osc_store_text(store, osc_store_program(store)->name[e->program[exec]])));
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_DETAIL, osc_buf_view(text));
    uint32_t before = core_busy_with(c, exec, submitted_ns(c, at));
    if (before == OSC_NO_ROW)
        return;
    osc_buf_clear(text);
    osc_buf_cstr(text, "core");
    if (e->program[before] != OSC_NO_ROW)
        osc_buf_printf(
            text, ": %.*s",
            OSC_STR_FMT(osc_store_text(store, osc_store_program(store)->name[e->program[before]])));
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_WAITED_FOR, osc_buf_view(text));
}

static uint32_t add_slice_row(struct call *c, const struct item *item, int64_t zero)
{
    const osc_store *store = c->f.store;
    const osc_slice_cols *s = osc_store_slice(store);
    osc_table *t = c->f.table;
    uint32_t slice = item->slice, row = osc_table_add_row(t);
    const osc_track_cols *tracks = osc_store_track(store);
    osc_table_set_i64(t, row, OSC_FOLLOW_LEVEL, 0);
    osc_table_set_str(t, row, OSC_FOLLOW_LANE,
                      osc_store_text(store, tracks->lane[s->track[slice]]));
    osc_table_set_str(t, row, OSC_FOLLOW_KIND, osc_str_from_cstr(kind_text(store, slice)));
    osc_table_set_str(t, row, OSC_FOLLOW_NAME, osc_store_text(store, s->name[slice]));
    osc_table_set_i64(t, row, OSC_FOLLOW_START_NS, s->start_ns[slice]);
    osc_table_set_i64(t, row, OSC_FOLLOW_OFFSET_NS, s->start_ns[slice] - zero);
    osc_table_set_i64(t, row, OSC_FOLLOW_DUR_NS, s->dur_ns[slice]);
    osc_table_set_i64(t, row, OSC_FOLLOW_GAP_NS, -1);
    osc_table_set_i64(t, row, OSC_FOLLOW_RING, -1);
    osc_table_set_i64(t, row, OSC_FOLLOW_BYTES, item->bytes);
    osc_table_set_i64(t, row, OSC_FOLLOW_SEQUENCE_ID, (int64_t)item->sequence_id);
    osc_table_set_i64(t, row, OSC_FOLLOW_EXEC_ID, item->exec_id);
    if (item->bytes > 0) {
        char size[OSC_NUM_TEXT];
        osc_table_set_str(t, row, OSC_FOLLOW_DETAIL,
                          osc_str_from_cstr(osc_format_bytes((uint64_t)item->bytes, size)));
    }
    return row;
}

/* Time between the end of the slice before it on the same track and its start. False: no memory. */
static bool set_gap(struct call *c, uint32_t row, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    int64_t start = s->start_ns[slice], end = start + s->dur_ns[slice];
    uint64_t before;
    if (osc_map_get(&c->track_end, s->track[slice], &before))
        osc_table_set_i64(c->f.table, row, OSC_FOLLOW_GAP_NS,
                          start > (int64_t)before ? start - (int64_t)before : 0);
    return osc_map_put(&c->track_end, s->track[slice], (uint64_t)end) == OSC_OK;
}

static bool add_rows(struct call *c)
{
    int64_t zero = window_start(c->f.store);
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct item *item = &c->items[i];
        uint32_t row = add_slice_row(c, item, zero);
        uint8_t kind = s->kind[item->slice];
        if (row >= osc_table_rows(c->f.table) || !set_gap(c, row, item->slice))
            return false;
        if (osc_slice_kind_is_device_work((osc_slice_kind)kind) || kind == OSC_KIND_HW)
            c->f.total_ns = osc_add_sat(c->f.total_ns, s->dur_ns[item->slice]);
        if (kind != OSC_KIND_HW)
            continue;
        uint32_t exec = osc_follow_exec_of(&c->f, item->slice);
        if (exec == OSC_NO_ROW)
            continue;
        describe_execution(c, i, row, exec);
        if (!osc_follow_execution(&c->f, exec))
            return false;
    }
    return true;
}

/* Copies that the runtime reports are device time and data movement. */
static void count_copies(struct call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    for (uint32_t i = 0; i < c->count; i++) {
        osc_str name = osc_store_text(c->f.store, s->name[c->items[i].slice]);
        bool copy = s->kind[c->items[i].slice] == OSC_KIND_NRT &&
                    osc_str_starts(name, OSC_STR("dmem_buf_copy"));
        bool kineto = s->kind[c->items[i].slice] == OSC_KIND_MEMCPY ||
                      s->kind[c->items[i].slice] == OSC_KIND_MEMSET;
        if (copy)
            c->f.total_ns = osc_add_sat(c->f.total_ns, s->dur_ns[c->items[i].slice]);
        if (copy || kineto)
            c->f.data_ns = osc_add_sat(c->f.data_ns, s->dur_ns[c->items[i].slice]);
    }
}

/* "file.py:27 function" from the innermost python frame around the call. */
static bool set_source(struct call *c)
{
    osc_stacks stacks = {0};
    char text[256] = "";
    if (!osc_stacks_build(c->f.store, &c->tree, 1, &stacks))
        return false;
    osc_str frame = osc_stacks_text(&stacks, stacks.of_node[c->node]);
    size_t open = osc_str_rfind_char(frame, '('), close = osc_str_find(frame, OSC_STR("): "));
    if (open != SIZE_MAX && close != SIZE_MAX && open < close)
        snprintf(text, sizeof text, "%.*s:%.*s %.*s", OSC_STR_FMT(osc_str_sub(frame, 0, open)),
                 OSC_STR_FMT(osc_str_sub(frame, open + 1, close - open - 1)),
                 OSC_STR_FMT(osc_str_sub(frame, close + 3, SIZE_MAX)));
    osc_table_set_fact_str(c->f.table, "source", osc_str_from_cstr(text));
    osc_stacks_free(&stacks);
    return true;
}

static bool set_facts(struct call *c, osc_str name, uint32_t nth)
{
    osc_table *t = c->f.table;
    count_copies(c);
    osc_table_set_fact_str(t, "name", name);
    osc_table_set_fact_i64(t, "call", nth);
    osc_table_set_fact_i64(t, "calls", c->calls);
    osc_table_set_fact_i64(t, "total_ns", c->f.total_ns);
    osc_table_set_fact_i64(t, "launch_ns", c->f.launch_ns);
    osc_table_set_fact_i64(t, "data_ns", c->f.data_ns);
    osc_table_set_fact_i64(t, "arithmetic_ns", c->f.arithmetic_ns);
    osc_table_set_fact_i64(t, "simulated",
                           osc_str_eq(osc_store_get_meta(c->f.store, "simulated"), OSC_STR("1")));
    return set_source(c);
}

static void free_call(struct call *c)
{
    osc_buf_free(&c->f.text);
    osc_free(c->f.work_first);
    osc_free(c->f.work_order);
    osc_table_free(c->f.table);
    osc_map_free(&c->launch_row);
    osc_map_free(&c->track_end);
    osc_free(c->inside);
    osc_free(c->items);
    osc_calltree_free(&c->tree);
}

osc_status osc_follow(const osc_store *store, osc_str name, uint32_t nth, osc_table **out,
                      osc_err *err)
{
    struct call c = {.f = {.store = store}};
    osc_calltree_options options = {.keep_unfinished = true};
    *out = NULL;
    osc_buf_init(&c.f.text, SIZE_MAX);
    osc_status status = osc_calltree_build(store, &options, &c.tree, err);
    if (status == OSC_OK)
        status = find_call(&c, name, nth, err);
    if (status == OSC_OK) {
        c.f.table = osc_table_new("follow", columns, OSC_FOLLOW_COLUMNS);
        bool ok = c.f.table && osc_follow_index_work(&c.f) && collect(&c) && add_rows(&c) &&
                  set_facts(&c, name, nth) && !c.f.text.failed;
        status =
            ok ? osc_table_status(c.f.table, err)
               : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while following");
    }
    if (status == OSC_OK) {
        *out = c.f.table;
        c.f.table = NULL;
    }
    free_call(&c);
    return status;
}
