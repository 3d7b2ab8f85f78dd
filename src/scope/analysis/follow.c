/*
 * follow.c - one call's life as a table; see follow.h.
 *
 * The calls structure says what is linked and nested; this finds the call (follow_find.c), collects
 * its slices (follow_items.c), and tells them (follow_rows.c, follow_device.c, follow_around.c).
 * Refuses: flows as evidence of links, since in real files a third to four fifths of them lack an
 * end (kineto-trace-format.md 1.8).
 */
#include "scope/analysis/follow_internal.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/sat.h"

#include <stdio.h>

static const osc_table_column columns[OSC_FOLLOW_COLUMNS] = {
    {"level", "level",
     "0 slice on a lane, 1 launch, instruction or part of a graph, 2 part or "
     "transfer",
     OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"lane", "lane", "where it happened", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"kind", "kind", "what it is", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"name", "name", "event or operation", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"engine", "engine", "engine that ran or issued it", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"start_ns", "start", "start, host time", OSC_CELL_I64, OSC_UNIT_NS, true},
    {"offset_ns", "offset",
     "start from the first event of the capture (level 0), the execution or the graph",
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
    {"rule", "rule", "how its link to the operator is known", OSC_CELL_STR, OSC_UNIT_NONE, true},
    {"group", "group", "number of its launch within the call, 0 none", OSC_CELL_I64, OSC_UNIT_NONE,
     true},
    {"delay_ns", "delay", "start minus the end of its runtime call", OSC_CELL_I64, OSC_UNIT_NS,
     true},
    {"queue_ns", "queue", "part of the delay behind earlier work on its lane", OSC_CELL_I64,
     OSC_UNIT_NS, true},
    {"slice", "slice", "row of slices, -1 none", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"call", "call", "row of slices of its runtime call, -1 unknown", OSC_CELL_I64, OSC_UNIT_NONE,
     true},
    {"correlation", "correlation", "number shared by a launch and its device work, 0 none",
     OSC_CELL_I64, OSC_UNIT_NONE, true},
};

/* Copies that the runtime reports are device time and data movement. */
static void count_copies(struct follow_call *c)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t slice = c->items[i].slice;
        bool copy =
            s->kind[slice] == OSC_KIND_NRT &&
            osc_str_starts(osc_store_text(c->f.store, s->name[slice]), OSC_STR("dmem_buf_copy"));
        bool kineto = s->kind[slice] == OSC_KIND_MEMCPY || s->kind[slice] == OSC_KIND_MEMSET;
        if (copy)
            c->f.total_ns = osc_add_sat(c->f.total_ns, s->dur_ns[slice]);
        if (copy || kineto)
            c->f.data_ns = osc_add_sat(c->f.data_ns, s->dur_ns[slice]);
    }
}

/* Why a call is told that did not run at the time asked for. */
static void set_note(struct follow_call *c)
{
    char time[OSC_NUM_TEXT], note[160] = "";
    if (c->later_ns > 0)
        snprintf(note, sizeof note, "%s at that time; this call begins %s later",
                 c->options->name.len > 0 ? "none ran" : "no operator or runtime call ran",
                 osc_format_ns(c->later_ns, time));
    osc_table_set_fact_str(c->f.table, "note", osc_str_from_cstr(note));
}

static void set_facts(struct follow_call *c)
{
    osc_table *t = c->f.table;
    count_copies(c);
    osc_table_set_fact_str(t, "name", c->name);
    osc_table_set_fact_i64(t, "call", c->number);
    osc_table_set_fact_i64(t, "calls", c->count_of);
    osc_table_set_fact_i64(t, "total_ns", c->f.total_ns);
    osc_table_set_fact_i64(t, "launch_ns", c->f.launch_ns);
    osc_table_set_fact_i64(t, "data_ns", c->f.data_ns);
    osc_table_set_fact_i64(t, "arithmetic_ns", c->f.arithmetic_ns);
    osc_table_set_fact_i64(t, "simulated",
                           osc_str_eq(osc_store_get_meta(c->f.store, "simulated"), OSC_STR("1")));
    osc_table_set_fact_i64(t, "later_ns", c->later_ns);
    set_note(c);
    osc_table_set_fact_i64(t, "groups", c->groups);
    osc_table_set_fact_i64(t, "launches", c->launches);
    osc_table_set_fact_i64(t, "delay_ns", c->delay_ns);
    osc_table_set_fact_i64(t, "queue_ns", c->queue_ns);
    osc_table_set_fact_i64(t, "unlinked", (int64_t)c->unlinked);
    osc_table_set_fact_str(t, "args", osc_str_from_cstr(c->problem));
}

static bool set_source(struct follow_call *c)
{
    osc_buf_clear(&c->f.text);
    bool ok = c->op == OSC_NO_ROW || osc_follow_source(c, c->op, &c->f.text);
    osc_table_set_fact_str(c->f.table, "source", osc_buf_view(&c->f.text));
    return ok;
}

static bool tell(struct follow_call *c)
{
    c->f.table = osc_table_new("follow", columns, OSC_FOLLOW_COLUMNS);
    if (!c->f.table || !osc_follow_queues(c) || !osc_follow_frames(c) || !osc_follow_rows(c) ||
        !set_source(c) || !osc_follow_partners(c))
        return false;
    set_facts(c);
    return !c->f.text.failed && !c->about.failed;
}

static void free_call(struct follow_call *c)
{
    osc_buf_free(&c->f.text);
    osc_buf_free(&c->about);
    osc_free(c->f.work_first);
    osc_free(c->f.work_order);
    osc_table_free(c->f.table);
    osc_map_free(&c->launch_row);
    osc_map_free(&c->track_end);
    osc_free(c->items);
    osc_calls_free(c->calls);
}

static osc_status follow(struct follow_call *c, osc_err *err)
{
    osc_calls_options options = {.keep_unfinished = true, .threads = c->options->threads};
    osc_status status = osc_calls_build(c->f.store, &options, &c->calls, err);
    c->zero = osc_extent_zero(c->f.store);
    if (status == OSC_OK)
        status = osc_follow_find(c, err);
    if (status != OSC_OK)
        return status;
    if (!osc_follow_index_work(&c->f) || !osc_follow_collect(c))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while following");
    status = osc_follow_args(c, err);
    if (status != OSC_OK)
        return status;
    return tell(c)
               ? osc_table_status(c->f.table, err)
               : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while following");
}

osc_status osc_follow_call(const osc_store *store, const osc_follow_options *options,
                           osc_table **out, osc_err *err)
{
    struct follow_call c = {
        .f = {.store = store}, .options = options, .found = OSC_NO_ROW, .last_call = OSC_NO_ROW};
    *out = NULL;
    osc_buf_init(&c.f.text, SIZE_MAX);
    osc_buf_init(&c.about, UINT32_MAX);
    osc_status status = follow(&c, err);
    if (status == OSC_OK) {
        *out = c.f.table;
        c.f.table = NULL;
    }
    free_call(&c);
    return status;
}

osc_status osc_follow(const osc_store *store, osc_str name, uint32_t nth, osc_table **out,
                      osc_err *err)
{
    osc_follow_options options = {.name = name, .nth = nth};
    return osc_follow_call(store, &options, out, err);
}
