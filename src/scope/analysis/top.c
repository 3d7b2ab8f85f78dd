/* top.c - the short table; see top.h. */
#include "scope/analysis/top.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/say.h"
#include "scope/analysis/sat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOP_OP = 0,
    TOP_SHAPES,
    TOP_STACK,
    TOP_CALLS,
    TOP_SELF_CPU,
    TOP_SELF,
    TOP_PERCENT,
    TOP_AVG,
    TOP_COLUMNS
};

static const osc_table_column device_columns[TOP_COLUMNS] = {
    {"name", "op", "operator", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"input_shapes", "input shapes", "shapes of the inputs", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"stack", "called from", "innermost python frame", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"count", "calls", "number of calls", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"self_cpu_ns", "self cpu", "CPU time less that of calls inside", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"self_device_ns", "self device", "device work it started", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"percent", "%", "share of all device work", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    {"avg_device_ns", "avg device", "device work a call", OSC_CELL_F64, OSC_UNIT_NS, false},
};

static const osc_table_column cpu_columns[TOP_COLUMNS] = {
    {"name", "op", "operator", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"input_shapes", "input shapes", "shapes of the inputs", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"stack", "called from", "innermost python frame", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"count", "calls", "number of calls", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"total_cpu_ns", "total cpu", "CPU time with calls inside", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"self_cpu_ns", "self cpu", "CPU time less that of calls inside", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"percent", "%", "share of all CPU time", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    {"avg_cpu_ns", "avg cpu", "CPU time a call", OSC_CELL_F64, OSC_UNIT_NS, false},
};

/* ---- device busy time ---- */

struct span {
    int64_t start_ns, end_ns;
};

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Sorts and joins overlapping spans in place; the number left. */
static uint32_t join(struct span *spans, uint32_t count)
{
    uint32_t out = 0;
    qsort(spans, count, sizeof *spans, compare_spans);
    for (uint32_t i = 0; i < count; i++) {
        if (out > 0 && spans[i].start_ns <= spans[out - 1].end_ns) {
            if (spans[i].end_ns > spans[out - 1].end_ns)
                spans[out - 1].end_ns = spans[i].end_ns;
        } else {
            spans[out++] = spans[i];
        }
    }
    return out;
}

/* Time both lists of joined spans share. */
static int64_t overlap(const struct span *a, uint32_t na, const struct span *b, uint32_t nb)
{
    int64_t sum = 0;
    for (uint32_t i = 0, j = 0; i < na && j < nb;) {
        int64_t start = a[i].start_ns > b[j].start_ns ? a[i].start_ns : b[j].start_ns;
        int64_t end = a[i].end_ns < b[j].end_ns ? a[i].end_ns : b[j].end_ns;
        sum = osc_add_sat(sum, end > start ? end - start : 0);
        if (a[i].end_ns < b[j].end_ns)
            i++;
        else
            j++;
    }
    return sum;
}

static bool is_step(const osc_store *store, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(store);
    return s->kind[slice] == OSC_KIND_USER_ANNOTATION &&
           osc_str_starts(osc_store_text(store, s->name[slice]), OSC_STR("ProfilerStep#"));
}

/* Slices that count as host or device activity of the capture. */
static bool in_window(uint8_t kind)
{
    return kind != OSC_KIND_SPAN && kind != OSC_KIND_PYTHON && kind != OSC_KIND_OTHER;
}

/* How long devices worked during the steps (ProfilerStep# ranges), or during the whole capture when
 * there are none: *busy_ns is the union of kernels, copies and fills, *window_ns what it is part
 * of. Returns the number of steps, 0 for the whole capture, or -1 when out of memory. */
static int64_t device_busy(const osc_store *store, int64_t *busy_ns, int64_t *window_ns)
{
    const osc_slice_cols *s = osc_store_slice(store);
    struct span *spans = osc_realloc_array(NULL, (size_t)s->count + 1, 2 * sizeof *spans);
    struct span whole = {INT64_MAX, INT64_MIN};
    uint32_t work = 0, steps = 0;
    *busy_ns = *window_ns = 0;
    if (!spans)
        return -1;
    struct span *step_spans = spans + s->count + 1;
    for (uint32_t i = 0; i < s->count; i++) {
        struct span span = {s->start_ns[i], INT64_MAX};
        if (s->flags[i] & OSC_SLICE_NO_TIME)
            continue;
        (void)osc_add_i64(s->start_ns[i], s->dur_ns[i], &span.end_ns);
        if (osc_slice_kind_is_device_work((osc_slice_kind)s->kind[i]))
            spans[work++] = span;
        if (is_step(store, i))
            step_spans[steps++] = span;
        if (in_window(s->kind[i])) {
            whole.start_ns = span.start_ns < whole.start_ns ? span.start_ns : whole.start_ns;
            whole.end_ns = span.end_ns > whole.end_ns ? span.end_ns : whole.end_ns;
        }
    }
    int64_t found = steps;
    if (steps == 0 && whole.end_ns > whole.start_ns)
        step_spans[steps++] = whole;
    steps = join(step_spans, steps);
    work = join(spans, work);
    for (uint32_t i = 0; i < steps; i++)
        *window_ns = osc_add_sat(*window_ns, step_spans[i].end_ns - step_spans[i].start_ns);
    *busy_ns = overlap(spans, work, step_spans, steps);
    osc_free(spans);
    return found;
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

static view view_of(const osc_table *t)
{
    if (osc_table_fact_i64(t, "total_device_ns") <= 0)
        return VIEW_CPU;
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
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

static void add_row(osc_table *out, const osc_table *t, uint32_t r, bool device, bool by_shape,
                    bool by_stack)
{
    int64_t count = cell(t, r, OSC_KA_COUNT).i64;
    int64_t total = cell(t, r, device ? OSC_KA_TOTAL_DEVICE_NS : OSC_KA_TOTAL_CPU_NS).i64;
    int64_t self = cell(t, r, device ? OSC_KA_SELF_DEVICE_NS : OSC_KA_SELF_CPU_NS).i64;
    osc_str stack = cell(t, r, OSC_KA_STACK).str, frame = {0};
    uint32_t row = osc_table_add_row(out);
    osc_table_set_str(out, row, TOP_OP, cell(t, r, OSC_KA_NAME).str);
    if (by_shape)
        osc_table_set_str(out, row, TOP_SHAPES, cell(t, r, OSC_KA_INPUT_SHAPES).str);
    if (by_stack && osc_str_split(&stack, '\n', &frame))
        osc_table_set_str(out, row, TOP_STACK, frame);
    osc_table_set_i64(out, row, TOP_CALLS, count);
    osc_table_set_i64(out, row, TOP_SELF_CPU,
                      cell(t, r, device ? OSC_KA_SELF_CPU_NS : OSC_KA_TOTAL_CPU_NS).i64);
    osc_table_set_i64(out, row, TOP_SELF, self);
    osc_table_set_f64(
        out, row, TOP_PERCENT,
        share(self, osc_table_fact_i64(t, device ? "total_device_ns" : "total_cpu_ns")));
    osc_table_set_f64(out, row, TOP_AVG, (double)total / (double)count);
}

/* The runtime's own trace has executions, whatever PyTorch was told. */
static bool device_worked(const osc_store *store)
{
    const osc_slice_cols *s = osc_store_slice(store);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->kind[i] == OSC_KIND_HW)
            return true;
    }
    return false;
}

/* Under a table without device time: what there is, and why there is no more. */
static void add_cpu_footer(const osc_store *store, const osc_table *t, osc_table *out)
{
    char line[160], time[OSC_SAY_TEXT];
    if (osc_table_rows(t) == 0) {
        osc_table_add_footer(
            out, OSC_STR("no operators were recorded; opscope info says what is there"));
        return;
    }
    osc_say_ns(osc_table_fact_i64(t, "total_cpu_ns"), time);
    snprintf(line, sizeof line, "total self cpu %s, no device time", time);
    osc_table_add_footer(out, osc_str_from_cstr(line));
    if (device_worked(store))
        osc_table_add_footer(out, OSC_STR("the device worked; for its time set "
                                          "correlate_device_time=True, or see opscope follow"));
}

/* "total device 2.355 ms, busy 60 % of the step" */
static osc_status add_footer(const osc_store *store, const osc_table *t, bool device,
                             osc_table *out, osc_err *err)
{
    if (!device) {
        add_cpu_footer(store, t, out);
        return OSC_OK;
    }
    char line[160], time[OSC_SAY_TEXT];
    osc_say_ns(osc_table_fact_i64(t, "total_device_ns"), time);
    int64_t busy, window;
    int64_t steps = device_busy(store, &busy, &window);
    if (steps < 0)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the busy time");
    const char *of = steps == 0 ? "capture" : steps == 1 ? "step" : "steps";
    snprintf(line, sizeof line, "total device %s, busy %.0f %% of the %s", time,
             share(busy, window), of);
    osc_table_add_footer(out, osc_str_from_cstr(line));
    if (osc_table_fact_i64(t, "unlinked") > 0) {
        char count[OSC_NUM_TEXT];
        bool one = osc_table_fact_i64(t, "unlinked") == 1;
        snprintf(line, sizeof line, "%s device event%s to no operator in the file",
                 osc_format_count(osc_table_fact_i64(t, "unlinked"), count),
                 one ? " belongs" : "s belong");
        osc_table_add_footer(out, osc_str_from_cstr(line));
    }
    return OSC_OK;
}

/* Says why all rows of a grouping look alike when the profile did not record what it groups by. */
static void explain_grouping(const osc_table *key_averages, bool by_shape, osc_table *t)
{
    osc_ka_column column = by_shape ? OSC_KA_INPUT_SHAPES : OSC_KA_STACK;
    uint32_t rows = osc_table_rows(key_averages), r = 0;
    while (r < rows && (cell(key_averages, r, column).str.len == 0 ||
                        osc_str_eq(cell(key_averages, r, column).str, OSC_STR("[]"))))
        r++;
    if (r < rows || rows == 0)
        return;
    osc_table_add_footer(t, by_shape
                                ? OSC_STR("no shapes in the file; profile with record_shapes=True")
                                : OSC_STR("no stacks in the file; profile with with_stack=True"));
}

osc_status osc_top(const osc_store *store, const osc_table *key_averages, int64_t limit,
                   bool by_shape, bool by_stack, osc_table **out, osc_err *err)
{
    view v = view_of(key_averages);
    bool device = v != VIEW_CPU;
    *out = NULL;
    osc_table_column columns[TOP_COLUMNS];
    memcpy(columns, device ? device_columns : cpu_columns, sizeof columns);
    columns[TOP_SHAPES].machine_only = !by_shape;
    columns[TOP_STACK].machine_only = !by_stack;
    osc_table *t = osc_table_new("top", columns, TOP_COLUMNS);
    if (!t)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the table");
    for (uint32_t r = 0; r < osc_table_rows(key_averages); r++) {
        if (limit >= 0 && osc_table_rows(t) >= limit)
            break;
        if (wanted(key_averages, r, v))
            add_row(t, key_averages, r, device, by_shape, by_stack);
    }
    osc_status status = add_footer(store, key_averages, device, t, err);
    if (by_shape || by_stack)
        explain_grouping(key_averages, by_shape, t);
    if (status == OSC_OK)
        status = osc_table_status(t, err);
    if (status != OSC_OK) {
        osc_table_free(t);
        return status;
    }
    *out = t;
    return OSC_OK;
}
