/*
 * idle.c - the table of idle intervals: each, or summed by class or by cause; see idle.h.
 *
 * Totals are always of all intervals; options only choose which rows are shown.
 */
#include "scope/analysis/idle.h"

#include "base/map.h"
#include "base/mem.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/radix.h"
#include "scope/analysis/sat.h"
#include "scope/analysis/say.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    DEVICE = 0,
    STREAM,
    OFFSET,
    LENGTH,
    CLASS,
    CAUSE,
    RANGE,
    AFTER,
    LEAD,
    BEFORE,
    START,
    COLUMNS
};

static const osc_table_column each_columns[COLUMNS] = {
    {"device", "device", "device that was idle", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"stream", "stream", "stream that was idle", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"offset_ns", "start", "start, from the first event of the capture", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"dur_ns", "length", "length", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"class", "class", "why it was idle", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"cause", "cause", "what the host was in, or the call that launched", OSC_CELL_STR,
     OSC_UNIT_NONE, false},
    {"inside", "inside", "operator, range or frame around the cause", OSC_CELL_STR, OSC_UNIT_NONE,
     OSC_COLUMN_DETAIL},
    {"after", "next work", "work that ended the interval", OSC_CELL_STR, OSC_UNIT_NONE,
     OSC_COLUMN_HELPS},
    {"lead_ns", "launched before", "how long before it began its launch did; 0 unknown",
     OSC_CELL_I64, OSC_UNIT_NS, OSC_COLUMN_DETAIL},
    {"before", "before", "work before the interval", OSC_CELL_STR, OSC_UNIT_NONE, true},
    {"start_ns", "start", "start, host time", OSC_CELL_I64, OSC_UNIT_NS, true},
};

enum {
    SUM_DEVICE = 0,
    SUM_STREAM,
    SUM_CLASS,
    SUM_CAUSE,
    SUM_NS,
    SUM_SHARE,
    SUM_COUNT,
    SUM_LONGEST,
    SUM_COLUMNS
};

static const osc_table_column sum_columns[SUM_COLUMNS] = {
    {"device", "device", "device that was idle", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"stream", "stream", "stream that was idle", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"class", "class", "why it was idle", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"cause", "cause", "what the host was in, or the call that launched", OSC_CELL_STR,
     OSC_UNIT_NONE, false},
    {"idle_ns", "idle", "sum of the intervals", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"share", "%", "share of the window", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    {"intervals", "intervals", "how many", OSC_CELL_I64, OSC_UNIT_COUNT, OSC_COLUMN_HELPS},
    {"longest_ns", "longest", "the longest of them", OSC_CELL_I64, OSC_UNIT_NS, OSC_COLUMN_HELPS},
};

struct show {
    const osc_busy *busy;
    const osc_idle *idle;
    const osc_idle_options *o;
    uint32_t device; /* OSC_NO_ROW: all */
    osc_table *table;
    int64_t class_ns[OSC_IDLE_CLASSES];
    uint64_t class_count[OSC_IDLE_CLASSES];
    int64_t window_ns, idle_ns;
    int64_t zero_ns; /* what starts count from */
    uint64_t pieces;
};

static uint32_t device_of(const struct show *w, uint32_t group)
{
    return w->o->by_stream ? w->busy->lanes[group].device : group;
}

static bool is_shown(const struct show *w, uint32_t group)
{
    return w->device == OSC_NO_ROW || device_of(w, group) == w->device;
}

static int64_t length(const osc_idle_piece *p)
{
    return p->end_ns - p->start_ns;
}

static osc_str slice_text(const struct show *w, uint32_t slice)
{
    return slice == OSC_NO_ROW ? (osc_str){0} : osc_busy_text(w->busy, slice);
}

static osc_str item_text(const struct show *w, uint32_t item)
{
    return item == OSC_NO_ROW ? (osc_str){0} : osc_busy_text(w->busy, w->busy->items[item].slice);
}

static void add_totals(struct show *w)
{
    for (uint32_t g = 0; g < w->idle->groups; g++) {
        if (!is_shown(w, g))
            continue;
        w->window_ns = osc_add_sat(w->window_ns, w->busy->end_ns - w->busy->start_ns);
        for (uint32_t i = w->idle->first[g]; i < w->idle->first[g + 1]; i++) {
            const osc_idle_piece *p = &w->idle->pieces[i];
            w->class_ns[p->cls] = osc_add_sat(w->class_ns[p->cls], length(p));
            w->class_count[p->cls]++;
            w->idle_ns = osc_add_sat(w->idle_ns, length(p));
            w->pieces++;
        }
    }
}

/* ---- a row for each ---- */

static void put_group(const struct show *w, uint32_t row, uint32_t device, uint32_t stream,
                      uint32_t group)
{
    osc_table_set_str(w->table, row, device, osc_busy_device(w->busy, device_of(w, group)));
    if (w->o->by_stream)
        osc_table_set_str(w->table, row, stream, w->busy->lanes[group].name);
}

static void put_piece(const struct show *w, const osc_idle_piece *p)
{
    uint32_t row = osc_table_add_row(w->table);
    put_group(w, row, DEVICE, STREAM, p->group);
    osc_table_set_i64(w->table, row, OFFSET, osc_sub_sat(p->start_ns, w->zero_ns));
    osc_table_set_i64(w->table, row, START, p->start_ns);
    osc_table_set_i64(w->table, row, LENGTH, length(p));
    osc_table_set_str(w->table, row, CLASS,
                      osc_str_from_cstr(osc_idle_class_name((osc_idle_class)p->cls)));
    osc_table_set_str(w->table, row, CAUSE, slice_text(w, p->cause));
    osc_table_set_str(w->table, row, RANGE, slice_text(w, p->range));
    osc_table_set_str(w->table, row, BEFORE, item_text(w, p->before));
    osc_table_set_str(w->table, row, AFTER, item_text(w, p->after));
    uint32_t launch = p->after == OSC_NO_ROW ? OSC_NO_ROW : w->busy->items[p->after].launch;
    if (launch != OSC_NO_ROW)
        osc_table_set_i64(w->table, row, LEAD,
                          w->busy->items[p->after].start_ns - w->busy->slices->start_ns[launch]);
}

/* Keys of the pieces to show, longest first or by time; *count of them. NULL: out of memory. */
static osc_keyed *choose(const struct show *w, uint32_t *count)
{
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)w->idle->count + 1, 2 * sizeof *keys);
    *count = 0;
    for (uint32_t i = 0; keys && i < w->idle->count; i++) {
        const osc_idle_piece *p = &w->idle->pieces[i];
        if (is_shown(w, p->group) && length(p) >= w->o->min_ns)
            keys[(*count)++] = (osc_keyed){UINT64_MAX - (uint64_t)length(p), i};
    }
    if (keys && w->o->longest)
        osc_radix_sort(keys, keys + *count, *count);
    return keys;
}

static bool put_pieces(struct show *w)
{
    uint32_t count;
    osc_keyed *keys = choose(w, &count);
    uint32_t rows = w->o->limit >= 0 && w->o->limit < count ? (uint32_t)w->o->limit : count;
    if (!keys)
        return false;
    for (uint32_t i = 0; i < rows; i++)
        put_piece(w, &w->idle->pieces[keys[i].value]);
    osc_free(keys);
    return true;
}

/* ---- sums ---- */

/* A class, or a cause of a class: what a row of the summed table stands for. */
static uint64_t sum_key(const struct show *w, const osc_idle_piece *p)
{
    uint64_t name = 0;
    if (w->o->by == OSC_IDLE_BY_CAUSE && p->cause != OSC_NO_ROW)
        name = (uint64_t)w->busy->slices->name[p->cause] + 1;
    assert(p->group < UINT32_C(1) << 27);
    return (uint64_t)p->group << 37 | (uint64_t)p->cls << 33 | name;
}

static void add_to_row(struct show *w, uint32_t row, const osc_idle_piece *p)
{
    int64_t sum = osc_table_cell(w->table, row, SUM_NS).i64;
    int64_t longest = osc_table_cell(w->table, row, SUM_LONGEST).i64;
    sum = osc_add_sat(sum, length(p));
    osc_table_set_i64(w->table, row, SUM_NS, sum);
    osc_table_set_i64(w->table, row, SUM_COUNT, osc_table_cell(w->table, row, SUM_COUNT).i64 + 1);
    osc_table_set_i64(w->table, row, SUM_LONGEST, length(p) > longest ? length(p) : longest);
    int64_t window = w->busy->end_ns - w->busy->start_ns;
    osc_table_set_f64(w->table, row, SUM_SHARE,
                      window > 0 ? 100.0 * (double)sum / (double)window : 0);
}

static bool put_sums(struct show *w)
{
    osc_map rows = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->idle->count; i++) {
        const osc_idle_piece *p = &w->idle->pieces[i];
        uint64_t row;
        if (!is_shown(w, p->group) || length(p) < w->o->min_ns)
            continue;
        if (!osc_map_get(&rows, sum_key(w, p), &row)) {
            row = osc_table_add_row(w->table);
            put_group(w, (uint32_t)row, SUM_DEVICE, SUM_STREAM, p->group);
            osc_table_set_str(w->table, (uint32_t)row, SUM_CLASS,
                              osc_str_from_cstr(osc_idle_class_name((osc_idle_class)p->cls)));
            if (w->o->by == OSC_IDLE_BY_CAUSE)
                osc_table_set_str(w->table, (uint32_t)row, SUM_CAUSE,
                                  p->cls == OSC_IDLE_NO_LAUNCH && p->cause == OSC_NO_ROW
                                      ? OSC_STR("host outside operators and calls")
                                      : slice_text(w, p->cause));
            ok = osc_map_put(&rows, sum_key(w, p), row) == OSC_OK;
        }
        if (ok && row < osc_table_rows(w->table))
            add_to_row(w, (uint32_t)row, p);
    }
    osc_map_free(&rows);
    if (ok) {
        osc_table_sort(w->table, SUM_NS, true);
        if (w->o->limit >= 0 && w->o->limit < osc_table_rows(w->table))
            osc_table_truncate(w->table, (uint32_t)w->o->limit);
    }
    return ok;
}

/* ---- facts and the lines below ---- */

static void put_facts(struct show *w)
{
    static const char *const keys[OSC_IDLE_CLASSES] = {
        "idle_no_launch_ns",  "idle_host_wait_ns", "idle_sync_ns",
        "idle_launch_ns",     "idle_queue_ns",     "idle_other_stream_ns",
        "idle_collective_ns", "idle_unknown_ns",   "idle_edge_ns"};
    osc_table *t = w->table;
    osc_table_set_fact_i64(t, "window_ns", w->window_ns);
    osc_table_set_fact_i64(t, "busy_ns", w->window_ns - w->idle_ns);
    osc_table_set_fact_i64(t, "idle_ns", w->idle_ns);
    for (unsigned c = 0; c < OSC_IDLE_CLASSES; c++)
        osc_table_set_fact_i64(t, keys[c], w->class_ns[c]);
    osc_table_set_fact_i64(t, "devices", w->busy->device_count);
    osc_table_set_fact_i64(t, "intervals", (int64_t)w->pieces);
    osc_table_set_fact_i64(t, "unstamped", (int64_t)w->busy->unstamped);
    osc_table_set_fact_str(t, "no_device_work", osc_str_from_cstr(osc_busy_why_none(w->busy)));
}

static void footer(osc_table *t, const char *line)
{
    osc_table_add_footer(t, osc_str_from_cstr(line));
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void put_lines(struct show *w)
{
    char a[OSC_SAY_TEXT], b[OSC_SAY_TEXT], number[OSC_NUM_TEXT], line[256];
    if (osc_busy_why_none(w->busy)[0] != '\0') {
        footer(w->table, osc_busy_why_none(w->busy));
        return;
    }
    uint32_t shown = osc_table_rows(w->table);
    if (w->o->by == OSC_IDLE_EACH && shown < w->pieces) {
        snprintf(line, sizeof line, "%s%u of %s intervals", w->o->longest ? "the longest " : "",
                 shown, osc_format_count((int64_t)w->pieces, number));
        footer(w->table, line);
    }
    snprintf(line, sizeof line, "idle %s of %s, %.1f %%", osc_say_ns(w->idle_ns, a),
             osc_say_ns(w->window_ns, b), percent(w->idle_ns, w->window_ns));
    footer(w->table, line);
    for (unsigned c = 0; c < OSC_IDLE_CLASSES && w->o->by != OSC_IDLE_BY_CLASS; c++) {
        if (w->class_count[c] == 0)
            continue;
        snprintf(line, sizeof line, "  %-12s %12s %6.1f %%   %s interval%s",
                 osc_idle_class_name((osc_idle_class)c), osc_say_ns(w->class_ns[c], a),
                 percent(w->class_ns[c], w->window_ns),
                 osc_format_count((int64_t)w->class_count[c], number),
                 w->class_count[c] == 1 ? "" : "s");
        footer(w->table, line);
    }
    if (w->busy->unstamped > 0) {
        snprintf(line, sizeof line, "%s device events have no length and are left out",
                 osc_format_count((int64_t)w->busy->unstamped, number));
        footer(w->table, line);
    }
}

/* A column that says the same in every row is for machines only. */
static osc_table *new_table(const struct show *w)
{
    osc_table_column columns[COLUMNS]; /* the longer of the two lists */
    _Static_assert((int)COLUMNS >= (int)SUM_COLUMNS, "room for both");
    bool each = w->o->by == OSC_IDLE_EACH;
    memcpy(columns, each ? each_columns : sum_columns,
           each ? sizeof each_columns : sizeof sum_columns);
    if (w->busy->device_count < 2)
        columns[DEVICE].use = OSC_COLUMN_MACHINE;
    if (!w->o->by_stream)
        columns[STREAM].use = OSC_COLUMN_MACHINE;
    if (w->o->by == OSC_IDLE_BY_CLASS)
        columns[SUM_CAUSE].use = OSC_COLUMN_MACHINE;
    osc_table *t = osc_table_new("idle", columns, each ? COLUMNS : SUM_COLUMNS);
    if (t && each)
        osc_table_set_words(t, LEAD, osc_table_blank_zero);
    return t;
}

static osc_status show(struct show *w, osc_err *err)
{
    osc_status status = osc_busy_pick_device(w->busy, w->o->device, &w->device, err);
    if (status != OSC_OK)
        return status;
    w->table = new_table(w);
    if (!w->table)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for idle time");
    add_totals(w);
    put_facts(w);
    if (!(w->o->by == OSC_IDLE_EACH ? put_pieces(w) : put_sums(w)))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for idle time");
    put_lines(w);
    return osc_table_status(w->table, err);
}

osc_status osc_idle_table(const osc_store *store, const osc_idle_options *options, osc_table **out,
                          osc_err *err)
{
    osc_calls *calls = NULL;
    osc_busy busy = {0};
    osc_idle idle = {0};
    struct show w = {.busy = &busy, .idle = &idle, .o = options, .zero_ns = osc_extent_zero(store)};
    osc_status status = osc_busy_open(store, &calls, &busy, err);
    if (status == OSC_OK)
        status = osc_idle_find(&busy, options->by_stream, &idle, err);
    if (status == OSC_OK)
        status = show(&w, err);
    if (status != OSC_OK) {
        osc_table_free(w.table);
        w.table = NULL;
    }
    *out = w.table;
    osc_idle_free(&idle);
    osc_busy_free(&busy);
    osc_calls_free(calls);
    return status;
}
