/* top.c - the short table; see top.h. */
#include "scope/analysis/top.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/busy_internal.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/sat.h"
#include "scope/analysis/say.h"
#include "scope/analysis/spans.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Columns behind the name and those of the grouping. */
enum { TOP_CALLS = 0, TOP_CPU, TOP_SELF, TOP_PERCENT, TOP_AVG, TOP_FIGURES };

static const osc_table_column device_columns[TOP_FIGURES] = {
    {"count", "calls", "number of calls", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"self_cpu_ns", "self cpu", "CPU time less that of calls inside", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"self_device_ns", "self device", "device work it started", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"percent", "%", "share of all device work", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    {"avg_device_ns", "avg device", "device work a call", OSC_CELL_F64, OSC_UNIT_NS,
     OSC_COLUMN_HELPS},
};

static const osc_table_column cpu_columns[TOP_FIGURES] = {
    {"count", "calls", "number of calls", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"total_cpu_ns", "total cpu", "CPU time with calls inside", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"self_cpu_ns", "self cpu", "CPU time less that of calls inside", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"percent", "%", "share of all CPU time", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    {"avg_cpu_ns", "avg cpu", "CPU time a call", OSC_CELL_F64, OSC_UNIT_NS, OSC_COLUMN_HELPS},
};

/* Columns of the grouping: where key_averages has them, what they are called here. */
static const struct {
    const char *from;
    osc_table_column column;
    const char *missing; /* said when no row has any */
} group_columns[OSC_KA_BY_COUNT + 1] = {
    [OSC_KA_BY_SHAPE] = {"input_shapes",
                         {"input_shapes", "input shapes", "shapes of the inputs", OSC_CELL_STR,
                          OSC_UNIT_NONE, false},
                         "no shapes in the file; profile with record_shapes=True"},
    [OSC_KA_BY_STACK] = {"stack",
                         {"stack", "called from", "innermost python frame", OSC_CELL_STR,
                          OSC_UNIT_NONE, false},
                         "no stacks in the file; profile with with_stack=True"},
    [OSC_KA_BY_MODULE] = {"module",
                          {"module", "module", "nn.Module frames around it", OSC_CELL_STR,
                           OSC_UNIT_NONE, false},
                          "no modules in the file; profile with with_stack=True"},
    [OSC_KA_BY_STEP] = {"step",
                        {"step", "step", "profiler step that was open", OSC_CELL_STR, OSC_UNIT_NONE,
                         false},
                        "no steps in the file; profile with a schedule and call step()"},
    [OSC_KA_BY_STREAM] = {"stream",
                          {"stream", "stream", "lane of the device work", OSC_CELL_STR,
                           OSC_UNIT_NONE, false},
                          NULL},
    [OSC_KA_BY_THREAD] = {"thread",
                          {"thread", "thread", "lane of the host work", OSC_CELL_STR, OSC_UNIT_NONE,
                           false},
                          NULL},
    [OSC_KA_BY_DEVICE] = {"device",
                          {"device", "device", "device the work ran on", OSC_CELL_STR,
                           OSC_UNIT_NONE, false},
                          NULL},
    [OSC_KA_BY_COUNT] = {"rank",
                         {"rank", "rank", "rank of the job", OSC_CELL_I64, OSC_UNIT_NONE, false},
                         NULL},
};

/* ---- device busy time ---- */

/* Slices that count as host or device activity of the capture. */
static bool in_window(uint8_t kind)
{
    return kind != OSC_KIND_SPAN && kind != OSC_KIND_PYTHON && kind != OSC_KIND_OTHER;
}

/* What a device was busy with, as in busy.h: rows of MTIA that wait or mark are no work. */
struct work_test {
    const osc_store *store;
    uint32_t name; /* the last one looked up, and whether it is a wait */
    bool waits;
};

static bool is_work(struct work_test *test, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(test->store);
    if (s->kind[slice] == OSC_KIND_MTIA && test->name != s->name[slice]) {
        test->name = s->name[slice];
        test->waits =
            (osc_busy_name_bits(osc_store_text(test->store, test->name)) & OSC_NAME_WAIT) != 0;
    }
    return osc_slice_kind_is_device_work((osc_slice_kind)s->kind[slice]) ||
           s->kind[slice] == OSC_KIND_HPU || (s->kind[slice] == OSC_KIND_MTIA && !test->waits);
}

osc_status osc_top_look(const osc_store *store, osc_top_facts *facts, osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(store);
    osc_span *spans = osc_realloc_array(NULL, (size_t)s->count + 2, sizeof *spans);
    osc_span whole = {INT64_MAX, INT64_MIN};
    osc_extent extent = osc_extent_of(store);
    struct work_test test = {.store = store, .name = OSC_NO_ROW};
    uint32_t work = 0, steps = 0; /* device work from the front, steps from the back */
    if (!spans)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the busy time");
    for (uint32_t i = 0; i < s->count; i++) {
        osc_span span = {s->start_ns[i], osc_add_sat(s->start_ns[i], s->dur_ns[i])};
        facts->executed |= s->kind[i] == OSC_KIND_HW;
        facts->instructions |= s->kind[i] == OSC_KIND_INST;
        if ((s->flags[i] & OSC_SLICE_NO_TIME) || osc_extent_stampless(&extent, s, i))
            continue;
        if (is_work(&test, i))
            spans[work++] = span;
        else if (osc_slice_is_step(store, i))
            spans[s->count - steps++] = span;
        if (in_window(s->kind[i])) {
            whole.start_ns = span.start_ns < whole.start_ns ? span.start_ns : whole.start_ns;
            whole.end_ns = span.end_ns > whole.end_ns ? span.end_ns : whole.end_ns;
        }
    }
    facts->steps += steps;
    if (steps == 0 && whole.end_ns > whole.start_ns)
        spans[s->count - steps++] = whole;
    osc_span *step_spans = spans + s->count + 1 - steps;
    steps = osc_spans_join(step_spans, steps);
    work = osc_spans_join(spans, work);
    facts->window_ns = osc_add_sat(facts->window_ns, osc_spans_sum(step_spans, steps));
    facts->busy_ns = osc_add_sat(facts->busy_ns, osc_spans_overlap(spans, work, step_spans, steps));
    osc_free(spans);
    return OSC_OK;
}

/* ---- the table ---- */

static osc_cell cell(const osc_table *t, uint32_t row, osc_ka_column column)
{
    return osc_table_cell(t, row, column);
}

/* Which rows people look for. */
typedef enum view {
    VIEW_CPU = 0,    /* no device worked: rows with CPU time */
    VIEW_OPS = 1,    /* operators that started device work */
    VIEW_KERNELS = 2 /* device work that belongs to no operator: traces without operators */
} view;

static bool on_cpu(const osc_table *t, uint32_t row)
{
    return osc_str_eq(cell(t, row, OSC_KA_DEVICE_TYPE).str, OSC_STR("CPU"));
}

/* lanes: rows are split by where device work ran, which operators do not say. */
static view view_of(const osc_table *t, bool lanes)
{
    if (osc_table_fact_i64(t, "total_device_ns") <= 0)
        return VIEW_CPU;
    for (uint32_t r = 0; !lanes && r < osc_table_rows(t); r++) {
        if (on_cpu(t, r) && cell(t, r, OSC_KA_SELF_DEVICE_NS).i64 > 0)
            return VIEW_OPS;
    }
    return VIEW_KERNELS;
}

static bool wanted(const osc_table *t, uint32_t row, view v)
{
    if (on_cpu(t, row) != (v != VIEW_KERNELS))
        return false;
    if (v == VIEW_KERNELS)
        return !cell(t, row, OSC_KA_IS_USER_ANNOTATION).boolean;
    return v == VIEW_CPU || cell(t, row, OSC_KA_SELF_DEVICE_NS).i64 > 0;
}

static double share(int64_t part, int64_t whole)
{
    return whole != 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* What a table for people shows of a long path of modules: its end, from a module on. */
#define PATH_SHOWN 46u

/* Sets a column of the grouping: of a stack the innermost frame, of modules the inner ones. */
static void set_group(osc_table *out, uint32_t row, uint32_t at, const osc_table *t, uint32_t r,
                      uint32_t column)
{
    const osc_table_column *c = osc_table_column_at(t, column);
    osc_cell group = osc_table_cell(t, r, column);
    osc_str line = {0};
    if (c->type == OSC_CELL_I64) {
        osc_table_set_i64(out, row, at, group.i64);
        return;
    }
    (void)osc_str_split(&group.str, '\n', &line);
    osc_str inner = line;
    while (strcmp(c->name, "module") == 0 && inner.len > PATH_SHOWN) {
        size_t dot = osc_str_find_char(inner, '.', 0);
        if (dot == SIZE_MAX)
            break;
        inner = osc_str_sub(inner, dot + 1, SIZE_MAX);
    }
    char text[PATH_SHOWN + 8];
    if (inner.len < line.len && inner.len <= PATH_SHOWN) {
        snprintf(text, sizeof text, "...%.*s", OSC_STR_FMT(inner));
        line = osc_str_from_cstr(text);
    }
    osc_table_set_str(out, row, at, line);
}

/* One row; columns[i] of key_averages is the i-th of `groups` ways of grouping. */
static void add_row(osc_table *out, const osc_table *t, uint32_t r, bool device,
                    const uint32_t *columns, uint32_t groups)
{
    int64_t count = cell(t, r, OSC_KA_COUNT).i64;
    int64_t total = cell(t, r, device ? OSC_KA_TOTAL_DEVICE_NS : OSC_KA_TOTAL_CPU_NS).i64;
    int64_t self = cell(t, r, device ? OSC_KA_SELF_DEVICE_NS : OSC_KA_SELF_CPU_NS).i64;
    uint32_t row = osc_table_add_row(out), at = 1;
    osc_table_set_str(out, row, 0, cell(t, r, OSC_KA_NAME).str);
    for (uint32_t g = 0; g < groups; g++)
        set_group(out, row, at++, t, r, columns[g]);
    osc_table_set_i64(out, row, at + TOP_CALLS, count);
    osc_table_set_i64(out, row, at + TOP_CPU,
                      cell(t, r, device ? OSC_KA_SELF_CPU_NS : OSC_KA_TOTAL_CPU_NS).i64);
    osc_table_set_i64(out, row, at + TOP_SELF, self);
    osc_table_set_f64(
        out, row, at + TOP_PERCENT,
        share(self, osc_table_fact_i64(t, device ? "total_device_ns" : "total_cpu_ns")));
    osc_table_set_f64(out, row, at + TOP_AVG, (double)total / (double)count);
}

/* ---- lines under it ---- */

static void say(osc_table *out, const char *line)
{
    osc_table_add_footer(out, osc_str_from_cstr(line));
}

/* "12,345 device events belong to no operator in the file" */
static void say_count(osc_table *out, int64_t count, const char *one, const char *many)
{
    char line[160], text[OSC_NUM_TEXT];
    if (count <= 0)
        return;
    snprintf(line, sizeof line, "%s %s", osc_format_count(count, text), count == 1 ? one : many);
    say(out, line);
}

/* Without device time: what there is, and why there is no more. */
static void add_cpu_footer(const osc_table *t, const osc_top_facts *facts, osc_table *out)
{
    char line[160], time[OSC_SAY_TEXT];
    if (osc_table_rows(t) == 0) {
        say(out, facts->instructions
                     ? "no operators: this is a profile of a device; opscope engines has its times"
                     : "no operators were recorded; opscope info says what is there");
        return;
    }
    osc_say_ns(osc_table_fact_i64(t, "total_cpu_ns"), time);
    snprintf(line, sizeof line, "total self cpu %s, no device time", time);
    say(out, line);
    if (facts->executed)
        say(out, "the device worked; for its time set correlate_device_time=True, or see opscope "
                 "follow");
}

/* "total device 2.355 ms, busy 60 % of the step" */
static void add_device_footer(const osc_table *t, const osc_top_facts *facts, bool linked_only,
                              osc_table *out)
{
    char line[160], time[OSC_SAY_TEXT];
    osc_say_ns(osc_table_fact_i64(t, "total_device_ns"), time);
    const char *of = facts->steps == 0 ? "capture" : facts->steps == 1 ? "step" : "steps";
    snprintf(line, sizeof line, "total device %s, busy %.0f %% of the %s", time,
             share(facts->busy_ns, facts->window_ns), of);
    say(out, line);
    say_count(out, osc_table_fact_i64(t, "unlinked"),
              linked_only ? "device event belongs to no operator in the file, and is left out"
                          : "device event belongs to no operator in the file",
              linked_only ? "device events belong to no operator in the file, and are left out"
                          : "device events belong to no operator in the file");
}

/* Calls of a name, 0 when it has no row on the host. */
static int64_t calls_of(const osc_table *t, osc_str name)
{
    int64_t calls = 0;
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        if (osc_str_eq(cell(t, r, OSC_KA_NAME).str, name) && on_cpu(t, r))
            calls = osc_add_sat(calls, cell(t, r, OSC_KA_COUNT).i64);
    }
    return calls;
}

/* What the file has lost, where it changes what the rows mean (kineto-trace-format.md 2.9). */
static void add_losses(const osc_table *t, osc_table *out)
{
    say_count(out, osc_table_fact_i64(t, "unfinished"),
              "operator was still open when the profiler stopped, and is left out",
              "operators were still open when the profiler stopped, and are left out");
    say_count(out, calls_of(t, OSC_STR("unknown")),
              "event lost its name when the file was written: \"unknown\"",
              "events lost their names when the file was written: \"unknown\"");
    if (osc_table_fact_i64(t, "with_flops") > 0)
        say(out, "PyTorch counted FLOPs; the file does not carry them");
    if (calls_of(t, OSC_STR("forked")) > 0)
        say(out,
            "asynchronous calls cannot be told in the file; of \"forked\" PyTorch says self cpu "
            "0");
}

/* Says why all rows of a grouping look alike when the profile did not record what it groups by. */
static void explain_grouping(const osc_table *t, uint32_t column, const char *missing,
                             osc_table *out)
{
    uint32_t rows = osc_table_rows(t), r = 0;
    while (r < rows && (osc_table_cell(t, r, column).str.len == 0 ||
                        osc_str_eq(osc_table_cell(t, r, column).str, OSC_STR("[]"))))
        r++;
    if (r == rows && rows > 0)
        say(out, missing);
}

/* ---- all of it ---- */

/* The ways of grouping in order of their columns: numbers of group_columns, and where
 * key_averages has them; how many. */
static uint32_t groups_of(const osc_table *t, const osc_top_options *o, uint32_t *ways,
                          uint32_t *columns)
{
    uint32_t count = 0;
    uint32_t by = o->by | (o->by_rank ? 1u << OSC_KA_BY_COUNT : 0);
    for (uint32_t way = 0; way <= OSC_KA_BY_COUNT; way++) {
        if (!(by & 1u << way))
            continue;
        ways[count] = way;
        columns[count] = osc_table_find(t, group_columns[way].from);
        assert(columns[count] != UINT32_MAX);
        count++;
    }
    return count;
}

static osc_table *new_table(bool device, const uint32_t *ways, uint32_t groups)
{
    osc_table_column columns[1 + OSC_KA_BY_COUNT + 1 + TOP_FIGURES] = {
        {"name", "op", "operator", OSC_CELL_STR, OSC_UNIT_NONE, false}};
    for (uint32_t g = 0; g < groups; g++)
        columns[1 + g] = group_columns[ways[g]].column;
    memcpy(columns + 1 + groups, device ? device_columns : cpu_columns, sizeof cpu_columns);
    return osc_table_new("top", columns, 1 + groups + TOP_FIGURES);
}

osc_status osc_top(const osc_table *key_averages, const osc_top_facts *facts,
                   const osc_top_options *options, osc_table **out, osc_err *err)
{
    uint32_t ways[OSC_KA_BY_COUNT + 1], columns[OSC_KA_BY_COUNT + 1];
    uint32_t groups = groups_of(key_averages, options, ways, columns);
    bool lanes = options->by & (1u << OSC_KA_BY_STREAM | 1u << OSC_KA_BY_DEVICE);
    view v = view_of(key_averages, lanes);
    bool device = v != VIEW_CPU;
    osc_table *t = new_table(device, ways, groups);
    *out = NULL;
    if (!t)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the table");
    for (uint32_t r = 0; r < osc_table_rows(key_averages); r++) {
        if (options->limit >= 0 && osc_table_rows(t) >= options->limit)
            break;
        if (wanted(key_averages, r, v))
            add_row(t, key_averages, r, device, columns, groups);
    }
    if (device)
        add_device_footer(key_averages, facts, options->linked_only, t);
    else
        add_cpu_footer(key_averages, facts, t);
    add_losses(key_averages, t);
    for (uint32_t g = 0; g < groups; g++) {
        if (group_columns[ways[g]].missing)
            explain_grouping(key_averages, columns[g], group_columns[ways[g]].missing, t);
    }
    osc_status status = osc_table_status(t, err);
    if (status != OSC_OK) {
        osc_table_free(t);
        return status;
    }
    *out = t;
    return OSC_OK;
}
