/*
 * key_averages.c - PyTorch's table of operators (kineto-trace-format.md 2.5, 2.6): the sums of
 * key_averages_sum.c as a table, its facts, and the orders people ask for.
 */
#include "scope/analysis/key_averages.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/calls_internal.h"
#include "scope/analysis/key_averages_internal.h"
#include "scope/analysis/sat.h"
#include "scope/analysis/torch_times.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const osc_table_column columns[OSC_KA_TORCH_COLUMNS] = {
    {"name", "op", "operator, runtime call, kernel or annotation", OSC_CELL_STR, OSC_UNIT_NONE,
     false},
    {"device_type", "device", "where its time is spent", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"is_user_annotation", "annotation", "a range the user named", OSC_CELL_BOOL, OSC_UNIT_NONE,
     true},
    {"input_shapes", "input shapes", "shapes of the inputs", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"count", "calls", "number of calls", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"self_cpu_ns", "self cpu", "CPU time less that of calls inside", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"total_cpu_ns", "total cpu", "CPU time with calls inside", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"self_device_ns", "self device", "device work it started itself", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"total_device_ns", "total device", "device work started inside", OSC_CELL_I64, OSC_UNIT_NS,
     false},
    {"cpu_bytes", "cpu mem", "host bytes taken less given back", OSC_CELL_I64, OSC_UNIT_BYTES,
     true},
    {"self_cpu_bytes", "self cpu mem", "the same less calls inside", OSC_CELL_I64, OSC_UNIT_BYTES,
     true},
    {"device_bytes", "device mem", "device bytes taken less given back", OSC_CELL_I64,
     OSC_UNIT_BYTES, true},
    {"self_device_bytes", "self device mem", "the same less calls inside", OSC_CELL_I64,
     OSC_UNIT_BYTES, true},
    {"has_parent", "nested", "its first event lies inside another", OSC_CELL_BOOL, OSC_UNIT_NONE,
     true},
    {"stack", "stack", "python frames around it, innermost first", OSC_CELL_STR, OSC_UNIT_NONE,
     true},
    {"linked_count", "linked", "of device work: calls whose operator is known", OSC_CELL_I64,
     OSC_UNIT_COUNT, true},
    {"linked_ns", "linked time", "their time", OSC_CELL_I64, OSC_UNIT_NS, true},
    {"torch_self_cpu_us", "", "self CPU time in PyTorch's doubles", OSC_CELL_F64, OSC_UNIT_NONE,
     true},
    {"torch_total_cpu_us", "", "CPU time in PyTorch's doubles", OSC_CELL_F64, OSC_UNIT_NONE, true},
    {"torch_self_device_us", "", "self device time, likewise", OSC_CELL_F64, OSC_UNIT_NONE, true},
    {"torch_total_device_us", "", "device time, likewise", OSC_CELL_F64, OSC_UNIT_NONE, true},
};

/* Columns of the ways of grouping that have none above. */
static const osc_table_column group_columns[OSC_KA_BY_COUNT] = {
    [OSC_KA_BY_MODULE] = {"module", "module", "nn.Module frames around it, outermost first",
                          OSC_CELL_STR, OSC_UNIT_NONE, false},
    [OSC_KA_BY_STEP] = {"step", "step", "profiler step that was open", OSC_CELL_STR, OSC_UNIT_NONE,
                        false},
    [OSC_KA_BY_STREAM] = {"stream", "stream", "lane of the device work", OSC_CELL_STR,
                          OSC_UNIT_NONE, false},
    [OSC_KA_BY_THREAD] = {"thread", "thread", "lane of the host work", OSC_CELL_STR, OSC_UNIT_NONE,
                          false},
    [OSC_KA_BY_DEVICE] = {"device", "device", "device the work ran on", OSC_CELL_STR, OSC_UNIT_NONE,
                          false},
};

const char *const osc_ka_sort_names[] = {
    "self_device",       "total_device", "self_cpu",  "total_cpu",      "avg_device",
    "avg_cpu",           "count",        "cpu_bytes", "self_cpu_bytes", "device_bytes",
    "self_device_bytes", "name",         NULL};

/* ---- the table ---- */

static osc_str name_text(const struct ka_work *w, uint32_t name)
{
    if (name < osc_calls_names(w->calls))
        return osc_calls_text(w->calls, name);
    return name == w->memory_names[0] ? OSC_STR("[memory]") : OSC_STR("[OutOfMemory]");
}

static void set_sums(osc_table *t, uint32_t row, const struct ka_sums *s)
{
    const int64_t values[] = {s->count,          s->self_cpu_ns,     s->total_cpu_ns,
                              s->self_device_ns, s->total_device_ns, s->cpu_bytes,
                              s->self_cpu_bytes, s->device_bytes,    s->self_device_bytes};
    static_assert(OSC_KA_SELF_DEVICE_BYTES - OSC_KA_COUNT + 1 == sizeof values / sizeof *values,
                  "figures of a row stand side by side");
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++)
        osc_table_set_i64(t, row, OSC_KA_COUNT + i, values[i]);
    osc_table_set_i64(t, row, OSC_KA_LINKED, s->linked);
    osc_table_set_i64(t, row, OSC_KA_LINKED_NS, s->linked_ns);
}

static void set_row(const struct ka_work *w, osc_table *t, const struct ka_row *r)
{
    uint32_t row = osc_table_add_row(t);
    if (row >= osc_table_rows(t))
        return; /* no memory; the table's status says so */
    osc_table_set_str(t, row, OSC_KA_NAME, name_text(w, r->name));
    osc_table_set_str(t, row, OSC_KA_DEVICE_TYPE,
                      osc_str_from_cstr(osc_device_name((osc_device)r->device)));
    osc_table_set_bool(t, row, OSC_KA_IS_USER_ANNOTATION, r->annotation);
    osc_table_set_bool(t, row, OSC_KA_HAS_PARENT, r->has_parent);
    set_sums(t, row, &r->sums);
    for (uint32_t k = 0; k < w->groups.kinds; k++) {
        osc_ka_by by = w->groups.by[k];
        uint32_t column = by == OSC_KA_BY_SHAPE   ? (uint32_t)OSC_KA_INPUT_SHAPES
                          : by == OSC_KA_BY_STACK ? (uint32_t)OSC_KA_STACK
                                                  : osc_table_find(t, group_columns[by].name);
        osc_table_set_str(t, row, column, osc_ka_group_text(&w->groups, r->group, by));
    }
}

static osc_table *new_table(const struct ka_work *w, bool torch)
{
    osc_table_column all[OSC_KA_TORCH_COLUMNS + OSC_KA_BY_COUNT];
    uint32_t count = torch ? OSC_KA_TORCH_COLUMNS : OSC_KA_COLUMNS;
    memcpy(all, columns, count * sizeof *all);
    for (uint32_t k = 0; k < w->groups.kinds; k++) {
        if (group_columns[w->groups.by[k]].name)
            all[count++] = group_columns[w->groups.by[k]];
    }
    return osc_table_new("key_averages", all, count);
}

static void set_torch(osc_table *t, uint32_t row, const osc_torch_sums *s)
{
    osc_table_set_f64(t, row, OSC_KA_TORCH_SELF_CPU, s->self_cpu);
    osc_table_set_f64(t, row, OSC_KA_TORCH_TOTAL_CPU, s->total_cpu);
    osc_table_set_f64(t, row, OSC_KA_TORCH_SELF_DEVICE, s->self_device);
    osc_table_set_f64(t, row, OSC_KA_TORCH_TOTAL_DEVICE, s->total_device);
}

/* Title of the device columns: a backend's own name, else the type, upper case (2.7). */
static void set_device_fact(const struct ka_work *w, osc_table *t)
{
    char title[64];
    osc_str name = {0};
    const osc_calls_facts *f = osc_calls_facts_of(w->calls);
    if (f->any_device)
        name = osc_str_from_cstr(osc_device_name(f->device));
    if (f->any_device && f->device == OSC_DEVICE_PRIVATEUSE1) {
        osc_str own = osc_store_get_meta(w->store, "device_name");
        name = own.len > 0 ? own : name;
    }
    osc_str_to_array(name, title, sizeof title);
    for (char *c = title; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    osc_table_set_fact_str(t, "device", osc_str_from_cstr(title));
}

/* True when the file says that an option of the profiler was on. */
static bool is_on(const struct ka_work *w, const char *option)
{
    return osc_str_eq(osc_store_get_meta(w->store, option), OSC_STR("1"));
}

static void set_facts(const struct ka_work *w, osc_table *t)
{
    const osc_calls_facts *f = osc_calls_facts_of(w->calls);
    int64_t cpu = 0, device = 0;
    for (uint32_t r = 0; r < w->rows.count; r++) {
        const struct ka_row *row = &w->rows.rows[r];
        cpu = osc_add_sat(cpu, row->sums.self_cpu_ns);
        if (row->device != OSC_DEVICE_CPU && row->device != OSC_DEVICE_HPU && !row->annotation)
            device = osc_add_sat(device, row->sums.self_device_ns);
    }
    set_device_fact(w, t);
    osc_table_set_fact_i64(t, "profile_memory", is_on(w, "profile_memory"));
    osc_table_set_fact_i64(t, "total_cpu_ns", cpu);
    osc_table_set_fact_i64(t, "total_device_ns", device);
    osc_table_set_fact_i64(t, "unlinked", (int64_t)f->unlinked);
    osc_table_set_fact_i64(t, "unfinished", (int64_t)f->unfinished);
    osc_table_set_fact_i64(t, "python_rows", f->python_rows);
    osc_table_set_fact_i64(t, "with_flops", is_on(w, "with_flops"));
}

/* ---- the work ---- */

/* Where the profiler started, when PyTorch's doubles are wanted and the session says it. */
static bool torch_start(const struct ka_work *w, int64_t *start)
{
    return w->options->like_torch &&
           osc_parse_i64(osc_store_get_meta(w->store, "opscope_trace_start_ns"), start) &&
           *start >= -OSC_TIME_MAX && *start <= OSC_TIME_MAX;
}

/* Names of memory rows: those of slices that are called so, else two behind all names. */
static void name_memory(struct ka_work *w)
{
    static const osc_str texts[] = {OSC_STR_INIT("[memory]"), OSC_STR_INIT("[OutOfMemory]")};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t id = osc_intern_find(w->calls->names, texts[i]);
        w->memory_names[i] = id == OSC_INTERN_NONE ? osc_calls_names(w->calls) + i : id;
    }
}

static bool sum(struct ka_work *w)
{
    if (!osc_ka_groups_init(&w->groups, w->store, w->calls, w->options) ||
        !osc_ka_rows_init(&w->rows, osc_calls_names(w->calls) + 2) ||
        !osc_memory_sums_build(w->store, &w->memory))
        return false;
    name_memory(w);
    return osc_ka_sum(w) && !w->groups.failed;
}

/* The table of the sums, with PyTorch's doubles when torch is not NULL. */
static bool make_table(struct ka_work *w, const int64_t *start, osc_table **out)
{
    size_t slices = w->calls->slices->count;
    uint32_t *moved = osc_realloc_array(NULL, (size_t)w->rows.count + 1, sizeof *moved);
    osc_torch_sums *torch = osc_calloc((size_t)w->rows.count + 1, sizeof *torch);
    *out = new_table(w, start != NULL);
    bool ok = moved && torch && *out && osc_ka_rows_sort(&w->rows, moved);
    for (size_t i = 0; ok && start && i < slices; i++)
        w->row_of[i] = w->row_of[i] == OSC_NO_ROW ? OSC_NO_ROW : moved[w->row_of[i]];
    ok = ok && (!start || osc_torch_times_add(w->calls, *start, w->row_of, torch));
    for (uint32_t r = 0; ok && r < w->rows.count; r++) {
        set_row(w, *out, &w->rows.rows[r]);
        if (start && r < osc_table_rows(*out))
            set_torch(*out, r, &torch[r]);
    }
    if (ok)
        set_facts(w, *out);
    osc_free(moved);
    osc_free(torch);
    return ok;
}

static bool aggregate(struct ka_work *w, osc_table **out)
{
    int64_t start = 0;
    bool torch = torch_start(w, &start);
    size_t slices = (size_t)w->calls->slices->count;
    if (torch) {
        w->row_of = osc_realloc_array(NULL, slices + 1, sizeof *w->row_of);
        if (!w->row_of)
            return false;
        memset(w->row_of, 0xff, slices * sizeof *w->row_of); /* OSC_NO_ROW */
    }
    return sum(w) && make_table(w, torch ? &start : NULL, out);
}

osc_status osc_key_averages(const osc_store *store, const osc_ka_options *options, osc_table **out,
                            osc_err *err)
{
    struct ka_work w = {.store = store, .options = options};
    osc_calls *calls = NULL;
    osc_calls_options build = options->calls;
    *out = NULL;
    /* Who launched unlinked work matters only where it has to be put somewhere. */
    build.no_launches =
        !(options->by & (1u << OSC_KA_BY_STEP | 1u << OSC_KA_BY_THREAD | 1u << OSC_KA_BY_MODULE));
    osc_status status = osc_calls_build(store, &build, &calls, err);
    if (status != OSC_OK)
        return status;
    w.calls = calls;
    if (!aggregate(&w, out))
        status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                          "out of memory for the table of operators");
    else
        status = osc_table_status(*out, err);
    if (status != OSC_OK) {
        osc_table_free(*out);
        *out = NULL;
    }
    osc_memory_sums_free(&w.memory);
    osc_ka_rows_free(&w.rows);
    osc_ka_groups_free(&w.groups);
    osc_free(w.row_of);
    osc_calls_free(calls);
    return status;
}

/* ---- sorting ---- */

/* PyTorch's attribute names and ours; device names are "device" here (2.7). */
static const struct {
    const char *name;
    osc_ka_column column;
    bool average;
} sort_columns[] = {
    {"name", OSC_KA_NAME, false},
    {"key", OSC_KA_NAME, false},
    {"count", OSC_KA_COUNT, false},
    {"calls", OSC_KA_COUNT, false},
    {"self_device", OSC_KA_SELF_DEVICE_NS, false},
    {"self_device_ns", OSC_KA_SELF_DEVICE_NS, false},
    {"self_device_time_total", OSC_KA_SELF_DEVICE_NS, false},
    {"total_device", OSC_KA_TOTAL_DEVICE_NS, false},
    {"total_device_ns", OSC_KA_TOTAL_DEVICE_NS, false},
    {"device_time_total", OSC_KA_TOTAL_DEVICE_NS, false},
    {"avg_device", OSC_KA_TOTAL_DEVICE_NS, true},
    {"avg_device_ns", OSC_KA_TOTAL_DEVICE_NS, true},
    {"device_time", OSC_KA_TOTAL_DEVICE_NS, true},
    {"self_cpu", OSC_KA_SELF_CPU_NS, false},
    {"self_cpu_ns", OSC_KA_SELF_CPU_NS, false},
    {"self_cpu_time_total", OSC_KA_SELF_CPU_NS, false},
    {"total_cpu", OSC_KA_TOTAL_CPU_NS, false},
    {"total_cpu_ns", OSC_KA_TOTAL_CPU_NS, false},
    {"cpu_time_total", OSC_KA_TOTAL_CPU_NS, false},
    {"avg_cpu", OSC_KA_TOTAL_CPU_NS, true},
    {"avg_cpu_ns", OSC_KA_TOTAL_CPU_NS, true},
    {"cpu_time", OSC_KA_TOTAL_CPU_NS, true},
    {"cpu_bytes", OSC_KA_CPU_BYTES, false},
    {"cpu_memory_usage", OSC_KA_CPU_BYTES, false},
    {"self_cpu_bytes", OSC_KA_SELF_CPU_BYTES, false},
    {"self_cpu_memory_usage", OSC_KA_SELF_CPU_BYTES, false},
    {"device_bytes", OSC_KA_DEVICE_BYTES, false},
    {"device_memory_usage", OSC_KA_DEVICE_BYTES, false},
    {"self_device_bytes", OSC_KA_SELF_DEVICE_BYTES, false},
    {"self_device_memory_usage", OSC_KA_SELF_DEVICE_BYTES, false},
};

osc_ka_column osc_ka_column_of(osc_str name, bool *average)
{
    static const char *const devices[] = {"privateuse1", "neuron", "cuda", "hip",
                                          "xpu",         "mtia",   "hpu",  "npu"};
    char plain[128];
    osc_str_to_array(name, plain, sizeof plain);
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        size_t at = osc_str_find(name, osc_str_from_cstr(devices[d]));
        if (at == SIZE_MAX)
            continue;
        snprintf(plain, sizeof plain, "%.*sdevice%.*s", OSC_STR_FMT(osc_str_sub(name, 0, at)),
                 OSC_STR_FMT(osc_str_sub(name, at + strlen(devices[d]), SIZE_MAX)));
        break;
    }
    for (size_t i = 0; i < sizeof sort_columns / sizeof *sort_columns; i++) {
        if (strcmp(plain, sort_columns[i].name) == 0) {
            *average = sort_columns[i].average;
            return sort_columns[i].column;
        }
    }
    return OSC_KA_COLUMNS;
}

/* The column of PyTorch's doubles for one of nanoseconds, when the table has them; else itself. */
static osc_ka_column exact_column(const osc_table *table, osc_ka_column column)
{
    if (osc_table_find(table, columns[OSC_KA_TORCH_SELF_CPU].name) == UINT32_MAX)
        return column;
    switch (column) {
    case OSC_KA_SELF_CPU_NS: return OSC_KA_TORCH_SELF_CPU;
    case OSC_KA_TOTAL_CPU_NS: return OSC_KA_TORCH_TOTAL_CPU;
    case OSC_KA_SELF_DEVICE_NS: return OSC_KA_TORCH_SELF_DEVICE;
    case OSC_KA_TOTAL_DEVICE_NS: return OSC_KA_TORCH_TOTAL_DEVICE;
    default: return column;
    }
}

double osc_ka_us(const osc_table *table, uint32_t row, osc_ka_column column)
{
    osc_ka_column exact = exact_column(table, column);
    osc_cell cell = osc_table_cell(table, row, exact);
    return exact == column ? (double)cell.i64 / 1000.0 : cell.f64;
}

osc_status osc_ka_sort(osc_table *table, osc_ka_column column, bool average, bool reverse,
                       osc_err *err)
{
    uint32_t rows = osc_table_rows(table);
    if (!average) {
        osc_table_sort(table, exact_column(table, column), (column != OSC_KA_NAME) != reverse);
        return osc_table_status(table, err);
    }
    double *keys = osc_realloc_array(NULL, (size_t)rows + 1, sizeof *keys);
    if (!keys)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while sorting");
    for (uint32_t r = 0; r < rows; r++)
        keys[r] = osc_ka_us(table, r, column) / (double)osc_table_cell(table, r, OSC_KA_COUNT).i64;
    osc_table_sort_keys(table, keys, !reverse);
    osc_free(keys);
    return osc_table_status(table, err);
}
