/*
 * follow_rows.c - the call and its launches as rows.
 *
 * The operator first. Then launch by launch: the operator inside the call that launches, when it is
 * another one; the runtime call; the device work, with the delay from the end of the runtime call
 * to its start and how much of that earlier work on the lane takes up. A delay may be negative:
 * work begins before the call returns, or, where clocks disagree, even before it began
 * (known-bad-inputs.md T09); it is told as it is.
 *
 * One graph launch runs hundreds of kernels under one correlation number (L10): they get a row in
 * common, and one each below it.
 */
#include "scope/analysis/follow_internal.h"

#include "base/num.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <string.h>

/* Pieces of device work under one launch from which it is told as a group whatever its name. */
#define GROUP_FROM 8u

/* ---- cells of a slice ---- */

static const char *kind_text(const osc_store *store, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(store);
    switch ((osc_slice_kind)s->kind[slice]) {
    case OSC_KIND_CPU_OP: return "op";
    case OSC_KIND_USER_ANNOTATION: return "annotation";
    case OSC_KIND_PYTHON: return "frame";
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

/* The file's own name, which tells a step's number and an overload; mangled ones as rows show
 * them. */
static osc_str name_of(const struct follow_call *c, uint32_t slice)
{
    osc_str name = osc_store_text(c->f.store, osc_store_slice(c->f.store)->name[slice]);
    return osc_str_starts(name, OSC_STR("_Z")) && osc_calls_counts(c->calls, slice)
               ? osc_calls_text(c->calls, osc_calls_name(c->calls, slice))
               : name;
}

uint32_t osc_follow_slice_row(struct follow_call *c, uint32_t slice, const char *kind)
{
    const osc_store *store = c->f.store;
    const osc_slice_cols *s = osc_store_slice(store);
    osc_table *t = c->f.table;
    uint32_t row = osc_table_add_row(t);
    osc_str lane = osc_store_text(store, osc_store_track(store)->lane[s->track[slice]]);
    osc_table_set_i64(t, row, OSC_FOLLOW_LEVEL, 0);
    osc_table_set_str(t, row, OSC_FOLLOW_LANE, lane);
    osc_table_set_str(t, row, OSC_FOLLOW_KIND,
                      osc_str_from_cstr(kind ? kind : kind_text(store, slice)));
    osc_table_set_str(t, row, OSC_FOLLOW_NAME, name_of(c, slice));
    osc_table_set_i64(t, row, OSC_FOLLOW_START_NS, s->start_ns[slice]);
    osc_table_set_i64(t, row, OSC_FOLLOW_OFFSET_NS, s->start_ns[slice] - c->zero);
    osc_table_set_i64(t, row, OSC_FOLLOW_DUR_NS, s->dur_ns[slice]);
    osc_table_set_i64(t, row, OSC_FOLLOW_GAP_NS, -1);
    osc_table_set_i64(t, row, OSC_FOLLOW_RING, -1);
    osc_table_set_i64(t, row, OSC_FOLLOW_SLICE, slice);
    osc_table_set_i64(t, row, OSC_FOLLOW_CALL, -1);
    osc_table_set_i64(t, row, OSC_FOLLOW_CORRELATION, s->correlation[slice]);
    return row;
}

/* Time between the end of the slice before it on the same track and its start. False: no memory. */
static bool set_gap(struct follow_call *c, uint32_t row, const struct follow_item *item)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    int64_t start = s->start_ns[item->slice], end = start + s->dur_ns[item->slice], free_ns = 0;
    uint64_t told;
    bool known = item->rank == RANK_DEVICE && item->before != OSC_NO_ROW;
    if (known)
        free_ns = s->start_ns[item->before] + s->dur_ns[item->before];
    else if (osc_map_get(&c->track_end, s->track[item->slice], &told)) {
        known = true;
        free_ns = (int64_t)told;
    }
    if (known)
        osc_table_set_i64(c->f.table, row, OSC_FOLLOW_GAP_NS,
                          start > free_ns ? start - free_ns : 0);
    return osc_map_put(&c->track_end, s->track[item->slice], (uint64_t)end) == OSC_OK;
}

/* ---- links and waits ---- */

/* "by id", "by correlation", "by time"; "" for links of a session, which need no telling. */
static const char *rule_word(uint8_t rule)
{
    switch ((osc_link_rule)rule) {
    case OSC_LINK_EXTERNAL_ID: return "by id";
    case OSC_LINK_CORRELATION: return "by correlation";
    case OSC_LINK_CONTAINMENT: return "by time";
    default: return "";
    }
}

static bool is_graph_launch(const struct follow_call *c, uint32_t call)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    return call != OSC_NO_ROW && osc_str_find(osc_store_text(c->f.store, s->name[call]),
                                              OSC_STR("GraphLaunch")) != SIZE_MAX;
}

static void append_part(osc_buf *text, const char *part)
{
    if (part[0] != '\0')
        osc_buf_printf(text, "%s%s", text->len ? "; " : "", part);
}

/* What its arguments say, after "graph 7, ", which a graph's row tells for all. */
static const char *about_of(const struct follow_call *c, const struct follow_item *item,
                            bool in_graph)
{
    const char *about = item->about == OSC_NO_ROW ? "" : (const char *)c->about.data + item->about;
    const char *rest = strstr(about, ", ");
    return in_graph && rest && strncmp(about, "graph ", 6) == 0 ? rest + 2 : about;
}

/* "graph 7"; "" when the arguments name none. */
static const char *graph_of(const struct follow_call *c, const struct follow_item *item, char *out,
                            size_t size)
{
    const char *about = about_of(c, item, false);
    out[0] = '\0';
    if (strncmp(about, "graph ", 6) == 0)
        (void)osc_str_to_array(osc_str_make(about, strcspn(about, ",")), out, size);
    return out;
}

static osc_str detail_of(struct follow_call *c, const struct follow_item *item, bool in_graph)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_buf *text = &c->f.text;
    uint8_t kind = s->kind[item->slice];
    char size[OSC_NUM_TEXT];
    osc_buf_clear(text);
    if (kind != OSC_KIND_NRT && kind != OSC_KIND_HW && kind != OSC_KIND_LANE && !in_graph)
        append_part(text, rule_word(item->rule));
    if (item->rank == RANK_DEVICE && item->op == OSC_NO_ROW && !in_graph)
        append_part(text, is_graph_launch(c, item->call) ? "unlinked (graph)" : "unlinked");
    if (item->bytes > 0)
        append_part(text, osc_format_bytes((uint64_t)item->bytes, size));
    append_part(text, about_of(c, item, in_graph));
    return osc_buf_view(text);
}

/* "launch 10.0 us", "queue 120.0 us: gemm", "launch -0.6 us, before its call" */
static osc_str wait_text(struct follow_call *c, const struct follow_item *item, int64_t delay,
                         int64_t queued)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_buf *text = &c->f.text;
    char time[OSC_NUM_TEXT];
    osc_buf_clear(text);
    if (queued > 0 && queued >= delay / 2) {
        osc_str name = name_of(c, item->before);
        osc_buf_printf(text, "queue %s: %.*s", osc_format_ns(queued, time), OSC_STR_FMT(name));
    } else {
        osc_buf_printf(text, "launch %s", osc_format_ns(delay, time));
        if (s->start_ns[item->slice] < s->start_ns[item->call])
            osc_buf_cstr(text, ", before its call");
    }
    return osc_buf_view(text);
}

/* Delay since the launch's end and the part of it spent in the lane's queue; false: unknown. */
static bool waits_of(const struct follow_call *c, const struct follow_item *item, int64_t *delay,
                     int64_t *queued)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    int64_t start = s->start_ns[item->slice];
    *delay = *queued = 0;
    if (item->call == OSC_NO_ROW)
        return false;
    int64_t launched = s->start_ns[item->call] + s->dur_ns[item->call];
    *delay = start - launched;
    if (item->before != OSC_NO_ROW && *delay > 0) {
        int64_t free_ns = s->start_ns[item->before] + s->dur_ns[item->before];
        int64_t behind = (free_ns < start ? free_ns : start) - launched;
        *queued = behind > 0 ? behind : 0;
    }
    assert(*queued >= 0 && (*queued == 0 || *queued <= *delay));
    return true;
}

/* "device: gemm" for a host call that waits: what ended last while it did. */
static osc_str sync_text(struct follow_call *c, const struct follow_item *item)
{
    osc_buf_clear(&c->f.text);
    osc_buf_printf(&c->f.text, "device: %.*s", OSC_STR_FMT(name_of(c, item->before)));
    return osc_buf_view(&c->f.text);
}

/* Sets them, and says them for what is no part of a graph. In the sums counts the first piece of
 * a launch, and no negative delay: a blocking copy runs inside its call. */
static void set_waits(struct follow_call *c, uint32_t row, const struct follow_item *item,
                      bool in_graph)
{
    osc_table *t = c->f.table;
    int64_t delay, queued;
    if (item->rank == RANK_CALL && item->before != OSC_NO_ROW)
        osc_table_set_str(t, row, OSC_FOLLOW_WAITED_FOR, sync_text(c, item));
    if (osc_store_slice(c->f.store)->kind[item->slice] == OSC_KIND_SYNC ||
        !waits_of(c, item, &delay, &queued))
        return;
    if (item->call != c->last_call) {
        c->launches++;
        c->last_call = item->call;
        c->delay_ns = osc_add_sat(c->delay_ns, delay > 0 ? delay : 0);
        c->queue_ns = osc_add_sat(c->queue_ns, queued);
    }
    osc_table_set_i64(t, row, OSC_FOLLOW_CALL, item->call);
    osc_table_set_i64(t, row, OSC_FOLLOW_DELAY_NS, delay);
    osc_table_set_i64(t, row, OSC_FOLLOW_QUEUE_NS, queued);
    if (!in_graph)
        osc_table_set_str(t, row, OSC_FOLLOW_WAITED_FOR, wait_text(c, item, delay, queued));
}

/* ---- executions of a session ---- */

/* The execution that ended last on the core before this one began but after it was submitted. */
static uint32_t core_busy_with(const struct follow_call *c, uint32_t exec, int64_t submitted)
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
static int64_t submitted_ns(const struct follow_call *c, uint32_t at)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    for (uint32_t i = at; i-- > 0 && c->items[i].launch == c->items[at].launch;) {
        uint32_t slice = c->items[i].slice;
        if (c->items[i].rank == RANK_CALL || c->items[i].rank == RANK_RUNTIME)
            return s->start_ns[slice] + s->dur_ns[slice];
    }
    return INT64_MAX;
}

static void describe_execution(struct follow_call *c, uint32_t at, uint32_t row, uint32_t exec)
{
    const osc_store *store = c->f.store;
    const osc_exec_cols *e = osc_store_exec(store);
    const osc_program_cols *p = osc_store_program(store);
    osc_buf *text = &c->f.text;
    osc_buf_clear(text);
    if (e->program[exec] != OSC_NO_ROW)
        osc_buf_printf(text, "neff %llu (%.*s)", (unsigned long long)p->hash[e->program[exec]],
                       OSC_STR_FMT(osc_store_text(store, p->name[e->program[exec]])));
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_DETAIL, osc_buf_view(text));
    uint32_t before = core_busy_with(c, exec, submitted_ns(c, at));
    if (before == OSC_NO_ROW)
        return;
    osc_buf_clear(text);
    osc_buf_cstr(text, "core");
    if (e->program[before] != OSC_NO_ROW)
        osc_buf_printf(text, ": %.*s",
                       OSC_STR_FMT(osc_store_text(store, p->name[e->program[before]])));
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_WAITED_FOR, osc_buf_view(text));
}

static bool add_execution(struct follow_call *c, uint32_t at, uint32_t row)
{
    uint32_t exec = osc_follow_exec_of(&c->f, c->items[at].slice);
    if (exec == OSC_NO_ROW)
        return true;
    describe_execution(c, at, row, exec);
    return osc_follow_execution(&c->f, exec);
}

/* ---- graphs ---- */

/* Device work from index at on that one launch runs, when there is so much that it is a group;
 * else 0. */
static uint32_t graph_size(const struct follow_call *c, uint32_t at)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint32_t n = 0;
    if (c->items[at].launch == 0)
        return 0;
    while (at + n < c->count && c->items[at + n].launch == c->items[at].launch &&
           c->items[at + n].launch_ns == c->items[at].launch_ns &&
           osc_slice_kind_is_device_work((osc_slice_kind)s->kind[c->items[at + n].slice]))
        n++;
    return n >= GROUP_FROM || (n > 1 && is_graph_launch(c, c->items[at].call)) ? n : 0;
}

/* "421 kernels on 1 lane, 1.2 ms busy; unlinked (graph)". Items of a launch are in order of
 * start. */
static void describe_graph(struct follow_call *c, uint32_t at, uint32_t n, uint32_t row)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    int64_t start = s->start_ns[c->items[at].slice], end = start, busy = 0;
    uint32_t linked = 0;
    char count[OSC_NUM_TEXT], time[OSC_NUM_TEXT], graph[32];
    for (uint32_t i = at; i < at + n; i++) {
        int64_t from = s->start_ns[c->items[i].slice], to = from + s->dur_ns[c->items[i].slice];
        if (to > end) {
            busy += to - (from > end ? from : end);
            end = to;
        }
        linked += c->items[i].op != OSC_NO_ROW;
    }
    osc_buf_clear(&c->f.text);
    append_part(&c->f.text, linked < n ? "unlinked (graph)" : rule_word(c->items[at].rule));
    osc_buf_printf(&c->f.text, "; %s pieces of device work, %s busy", osc_format_count(n, count),
                   osc_format_ns(busy, time));
    append_part(&c->f.text, graph_of(c, &c->items[at], graph, sizeof graph));
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_DETAIL, osc_buf_view(&c->f.text));
    osc_table_set_i64(c->f.table, row, OSC_FOLLOW_DUR_NS, end - start);
}

static void add_graph_row(struct follow_call *c, uint32_t at, uint32_t n)
{
    const struct follow_item *item = &c->items[at];
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint32_t row = osc_follow_slice_row(c, item->slice, "graph");
    osc_str name = item->call != OSC_NO_ROW ? osc_store_text(c->f.store, s->name[item->call])
                                            : OSC_STR("one launch");
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_NAME, name);
    osc_table_set_i64(c->f.table, row, OSC_FOLLOW_SLICE, -1);
    osc_table_set_i64(c->f.table, row, OSC_FOLLOW_GROUP, c->groups);
    osc_table_set_str(c->f.table, row, OSC_FOLLOW_RULE,
                      item->rule ? osc_str_from_cstr(osc_link_rule_name(item->rule)) : OSC_STR(""));
    int64_t delay, queued;
    if (waits_of(c, item, &delay, &queued))
        osc_table_set_str(c->f.table, row, OSC_FOLLOW_WAITED_FOR,
                          wait_text(c, item, delay, queued));
    describe_graph(c, at, n, row);
}

/* ---- rows ---- */

static bool add_item_row(struct follow_call *c, uint32_t at, int64_t graph_ns)
{
    const struct follow_item *item = &c->items[at];
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    osc_table *t = c->f.table;
    uint8_t kind = s->kind[item->slice];
    bool in_graph = graph_ns != INT64_MIN;
    uint32_t row = osc_follow_slice_row(c, item->slice, NULL);
    if (row >= osc_table_rows(t) || !set_gap(c, row, item))
        return false;
    osc_table_set_i64(t, row, OSC_FOLLOW_BYTES, item->bytes);
    osc_table_set_i64(t, row, OSC_FOLLOW_SEQUENCE_ID, (int64_t)item->sequence_id);
    osc_table_set_i64(t, row, OSC_FOLLOW_EXEC_ID, item->exec_id);
    osc_table_set_i64(t, row, OSC_FOLLOW_GROUP, item->rank == RANK_OP ? 0 : c->groups);
    if (item->rule)
        osc_table_set_str(t, row, OSC_FOLLOW_RULE,
                          osc_str_from_cstr(osc_link_rule_name((osc_link_rule)item->rule)));
    osc_table_set_str(t, row, OSC_FOLLOW_DETAIL, detail_of(c, item, in_graph));
    set_waits(c, row, item, in_graph);
    if (in_graph) {
        osc_table_set_i64(t, row, OSC_FOLLOW_LEVEL, 1);
        osc_table_set_i64(t, row, OSC_FOLLOW_OFFSET_NS, s->start_ns[item->slice] - graph_ns);
    }
    if (item->rank == RANK_DEVICE && item->op == OSC_NO_ROW)
        c->unlinked++;
    if (osc_slice_kind_is_device_work((osc_slice_kind)kind) || kind == OSC_KIND_HW ||
        kind == OSC_KIND_MTIA || kind == OSC_KIND_HPU)
        c->f.total_ns = osc_add_sat(c->f.total_ns, s->dur_ns[item->slice]);
    return kind != OSC_KIND_HW || add_execution(c, at, row);
}

/* True when an item begins another launch than the one before it. */
static bool begins_launch(const struct follow_call *c, uint32_t at)
{
    const struct follow_item *item = &c->items[at], *last = at > 0 ? item - 1 : NULL;
    if (item->rank == RANK_OP)
        return false;
    if (!last || last->rank == RANK_OP)
        return true;
    if (item->launch != 0)
        return item->launch != last->launch &&
               (item->rank != RANK_DEVICE || item->call != last->slice);
    return !(item->rank == RANK_DEVICE && item->call == last->slice);
}

/* The operator that a launch belongs to, when it is not the one told last. */
static void add_op_row(struct follow_call *c, const struct follow_item *item, uint32_t *told)
{
    if (item->op == OSC_NO_ROW || item->op == *told)
        return;
    *told = item->op;
    uint32_t row = osc_follow_slice_row(c, item->op, NULL);
    osc_table_set_i64(c->f.table, row, OSC_FOLLOW_GROUP, c->groups);
}

bool osc_follow_rows(struct follow_call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint32_t told = c->op, graph_end = 0;
    int64_t graph_ns = INT64_MIN;
    for (uint32_t i = 0; i < c->count; i++) {
        if (begins_launch(c, i)) {
            c->groups++;
            add_op_row(c, &c->items[i], &told);
        }
        uint32_t n = i >= graph_end && c->items[i].rank == RANK_DEVICE ? graph_size(c, i) : 0;
        if (n > 0) {
            add_graph_row(c, i, n);
            graph_end = i + n;
            graph_ns = s->start_ns[c->items[i].slice];
        }
        if (!add_item_row(c, i, i < graph_end ? graph_ns : INT64_MIN))
            return false;
    }
    return true;
}
