/*
 * key_averages.c - aggregation of the call tree by name (kineto-trace-format.md 2.5, 2.6).
 *
 * Per node: total is its length, self is that less its direct children; device totals are own
 * kernels plus those of all children, so one pass from the last node to the first sums them. A
 * row's key is (name, device, annotation, shapes, stack), found through two exact 64-bit maps; no
 * key is hashed to fewer bits than it has.
 */
#include "scope/analysis/key_averages.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/stacks.h"
#include "scope/analysis/torch_times.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const osc_table_column columns[OSC_KA_ALL_COLUMNS] = {
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
    {"torch_self_cpu_us", "", "self CPU time in PyTorch's doubles", OSC_CELL_F64, OSC_UNIT_NONE,
     true},
    {"torch_total_cpu_us", "", "CPU time in PyTorch's doubles", OSC_CELL_F64, OSC_UNIT_NONE, true},
    {"torch_self_device_us", "", "self device time, likewise", OSC_CELL_F64, OSC_UNIT_NONE, true},
    {"torch_total_device_us", "", "device time, likewise", OSC_CELL_F64, OSC_UNIT_NONE, true},
};

const char *const osc_ka_sort_names[] = {
    "self_device",       "total_device", "self_cpu",  "total_cpu",      "avg_device",
    "avg_cpu",           "count",        "cpu_bytes", "self_cpu_bytes", "device_bytes",
    "self_device_bytes", "name",         NULL};

/* What a node's direct children take from its self figures. */
struct inner {
    int64_t cpu_ns, device_ns;
    int64_t cpu_bytes, device_bytes;
    int64_t total_device_ns; /* of the node itself, not of its children */
};

struct work {
    const osc_store *store;
    const osc_ka_options *options;
    osc_calltree tree;
    struct inner *inner; /* one per node */
    osc_map groups;      /* shapes << 32 | stack -> group number */
    osc_map rows;        /* (group * 16 + device * 2 + annotation) << 32 | name -> row */
    osc_stacks stacks;
    osc_torch_times torch; /* NULL arrays when not wanted or not possible */
    osc_table *table;
    bool failed;
};

/* Device totals from the leaves up, then what children take from their parents. */
static void sum_children(struct work *w)
{
    for (uint32_t i = w->tree.count; i-- > 0;) {
        const osc_calltree_node *n = &w->tree.nodes[i];
        if (n->gone)
            continue;
        struct inner *own = &w->inner[i];
        own->total_device_ns = osc_add_sat(own->total_device_ns, n->kernel_ns);
        if (n->parent == OSC_NO_ROW)
            continue;
        assert(!w->tree.nodes[n->parent].gone);
        struct inner *around = &w->inner[n->parent];
        around->total_device_ns = osc_add_sat(around->total_device_ns, own->total_device_ns);
        around->device_ns = osc_add_sat(around->device_ns, own->total_device_ns);
        around->cpu_ns = osc_add_sat(around->cpu_ns, n->end_ns - n->start_ns);
        around->cpu_bytes = osc_add_sat(around->cpu_bytes, n->cpu_bytes);
        around->device_bytes = osc_add_sat(around->device_bytes, n->device_bytes);
    }
}

/* Value under a key, the next free number when it is new. */
static uint32_t number_of(struct work *w, osc_map *map, uint64_t key, uint32_t next, bool *is_new)
{
    uint64_t value;
    *is_new = !osc_map_get(map, key, &value);
    if (!*is_new)
        return (uint32_t)value;
    if (osc_map_put(map, key, next) != OSC_OK)
        w->failed = true;
    return next;
}

static osc_str shapes_of(const struct work *w, const osc_calltree_node *n, uint32_t *id)
{
    *id = n->slice == OSC_NO_ROW ? 0 : osc_store_slice(w->store)->shapes[n->slice];
    return *id == 0 ? OSC_STR("[]") : osc_store_text(w->store, *id);
}

/* The row of a node, made when it is the first of its key. */
static uint32_t row_of(struct work *w, uint32_t node)
{
    const osc_calltree_node *n = &w->tree.nodes[node];
    uint32_t shapes = 0, stack = w->stacks.of_node ? w->stacks.of_node[node] : 0;
    osc_str shapes_text = {0};
    bool is_new;
    if (w->options->by_shape) {
        shapes_text = shapes_of(w, n, &shapes);
        if (osc_str_eq(shapes_text, OSC_STR("[]")))
            shapes = 0; /* not recorded and empty are one row */
    }
    uint32_t group = number_of(w, &w->groups, (uint64_t)shapes << 32 | stack,
                               (uint32_t)w->groups.count, &is_new);
    uint64_t key = (uint64_t)(group * 16 + n->device * 2u + n->annotation) << 32 | n->name;
    uint32_t row = number_of(w, &w->rows, key, osc_table_rows(w->table), &is_new);
    if (!is_new)
        return row;
    osc_table_add_row(w->table);
    osc_table_set_str(w->table, row, OSC_KA_NAME, osc_intern_get(w->tree.names, n->name));
    osc_table_set_str(w->table, row, OSC_KA_DEVICE_TYPE,
                      osc_str_from_cstr(osc_device_name((osc_device)n->device)));
    osc_table_set_bool(w->table, row, OSC_KA_IS_USER_ANNOTATION, n->annotation);
    osc_table_set_str(w->table, row, OSC_KA_INPUT_SHAPES, shapes_text);
    osc_table_set_bool(w->table, row, OSC_KA_HAS_PARENT, n->parent != OSC_NO_ROW);
    osc_table_set_str(w->table, row, OSC_KA_STACK, osc_stacks_text(&w->stacks, stack));
    return row;
}

static void add(struct work *w, uint32_t row, osc_ka_column column, int64_t value)
{
    osc_cell cell = osc_table_cell(w->table, row, column);
    osc_table_set_i64(w->table, row, column, osc_add_sat(cell.i64, value));
}

static void add_torch(struct work *w, uint32_t row, osc_ka_column column, double us)
{
    osc_table_set_f64(w->table, row, column, osc_table_cell(w->table, row, column).f64 + us);
}

static void add_torch_times(struct work *w, uint32_t row, uint32_t node)
{
    if (!w->torch.self_cpu)
        return;
    add_torch(w, row, OSC_KA_TORCH_SELF_CPU, w->torch.self_cpu[node]);
    add_torch(w, row, OSC_KA_TORCH_TOTAL_CPU, w->torch.total_cpu[node]);
    add_torch(w, row, OSC_KA_TORCH_SELF_DEVICE, w->torch.self_device[node]);
    add_torch(w, row, OSC_KA_TORCH_TOTAL_DEVICE, w->torch.total_device[node]);
}

static void add_node(struct work *w, uint32_t node)
{
    const osc_calltree_node *n = &w->tree.nodes[node];
    const struct inner *in = &w->inner[node];
    int64_t duration = n->end_ns - n->start_ns;
    uint32_t row = row_of(w, node);
    if (row >= osc_table_rows(w->table))
        return; /* no memory; the table's status says so */
    add(w, row, OSC_KA_COUNT, 1);
    add_torch_times(w, row, node);
    if (n->device != OSC_DEVICE_CPU) {
        add(w, row, OSC_KA_SELF_DEVICE_NS, duration);
        add(w, row, OSC_KA_TOTAL_DEVICE_NS, duration);
        return;
    }
    add(w, row, OSC_KA_SELF_CPU_NS, osc_sub_sat(duration, in->cpu_ns));
    add(w, row, OSC_KA_TOTAL_CPU_NS, duration);
    if (w->tree.any_device) {
        add(w, row, OSC_KA_SELF_DEVICE_NS, osc_sub_sat(in->total_device_ns, in->device_ns));
        add(w, row, OSC_KA_TOTAL_DEVICE_NS, in->total_device_ns);
    }
    add(w, row, OSC_KA_CPU_BYTES, n->cpu_bytes);
    add(w, row, OSC_KA_SELF_CPU_BYTES, osc_sub_sat(n->cpu_bytes, in->cpu_bytes));
    add(w, row, OSC_KA_DEVICE_BYTES, n->device_bytes);
    add(w, row, OSC_KA_SELF_DEVICE_BYTES, osc_sub_sat(n->device_bytes, in->device_bytes));
}

/* Title of the device columns: a backend's own name, else the type, upper case (2.7). */
static void set_device_fact(struct work *w)
{
    char title[64];
    osc_str name = {0};
    if (w->tree.any_device)
        name = osc_str_from_cstr(osc_device_name(w->tree.device));
    if (w->tree.any_device && w->tree.device == OSC_DEVICE_PRIVATEUSE1) {
        osc_str own = osc_store_get_meta(w->store, "device_name");
        name = own.len > 0 ? own : name;
    }
    osc_str_to_array(name, title, sizeof title);
    for (char *c = title; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    osc_table_set_fact_str(w->table, "device", osc_str_from_cstr(title));
}

static void set_facts(struct work *w)
{
    int64_t cpu = 0, device = 0;
    for (uint32_t r = 0; r < osc_table_rows(w->table); r++) {
        osc_str type = osc_table_cell(w->table, r, OSC_KA_DEVICE_TYPE).str;
        cpu = osc_add_sat(cpu, osc_table_cell(w->table, r, OSC_KA_SELF_CPU_NS).i64);
        if (!osc_str_eq(type, OSC_STR("CPU")) && !osc_str_eq(type, OSC_STR("HPU")) &&
            !osc_table_cell(w->table, r, OSC_KA_IS_USER_ANNOTATION).boolean)
            device = osc_add_sat(device, osc_table_cell(w->table, r, OSC_KA_SELF_DEVICE_NS).i64);
    }
    set_device_fact(w);
    osc_table_set_fact_i64(
        w->table, "profile_memory",
        osc_str_eq(osc_store_get_meta(w->store, "profile_memory"), OSC_STR("1")));
    osc_table_set_fact_i64(w->table, "total_cpu_ns", cpu);
    osc_table_set_fact_i64(w->table, "total_device_ns", device);
    osc_table_set_fact_i64(w->table, "unlinked", (int64_t)w->tree.unlinked);
    osc_table_set_fact_i64(w->table, "unfinished", (int64_t)w->tree.unfinished);
    osc_table_set_fact_i64(w->table, "python_rows", w->tree.python_rows);
}

/* PyTorch's doubles, when they are wanted and the session says when the profiler started. */
static bool build_torch_times(struct work *w)
{
    int64_t start;
    if (!w->options->torch_times ||
        !osc_parse_i64(osc_store_get_meta(w->store, "opscope_trace_start_ns"), &start) ||
        start < -OSC_TIME_MAX || start > OSC_TIME_MAX)
        return true;
    return osc_torch_times_build(&w->tree, start, &w->torch);
}

static osc_status aggregate(struct work *w, osc_err *err)
{
    w->inner = osc_calloc((size_t)w->tree.count + 1, sizeof *w->inner);
    bool ok = w->inner && build_torch_times(w);
    w->table = osc_table_new("key_averages", columns,
                             w->torch.self_cpu ? OSC_KA_ALL_COLUMNS : OSC_KA_COLUMNS);
    ok = ok && w->table &&
         (w->options->stack_depth == 0 ||
          osc_stacks_build(w->store, &w->tree, w->options->stack_depth, &w->stacks));
    if (ok) {
        sum_children(w);
        for (uint32_t i = 0; i < w->tree.count; i++) {
            if (!w->tree.nodes[i].gone)
                add_node(w, i);
        }
        set_facts(w);
    }
    if (!ok || w->failed)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "out of memory for the table of operators");
    return osc_table_status(w->table, err);
}

osc_status osc_key_averages(const osc_store *store, const osc_ka_options *options, osc_table **out,
                            osc_err *err)
{
    struct work w = {.store = store, .options = options};
    *out = NULL;
    osc_status status = osc_calltree_build(store, &options->tree, &w.tree, err);
    if (status == OSC_OK)
        status = aggregate(&w, err);
    if (status == OSC_OK) {
        *out = w.table;
        w.table = NULL;
    }
    osc_table_free(w.table);
    osc_stacks_free(&w.stacks);
    osc_torch_times_free(&w.torch);
    osc_map_free(&w.groups);
    osc_map_free(&w.rows);
    osc_free(w.inner);
    osc_calltree_free(&w.tree);
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
    {"self_device", OSC_KA_SELF_DEVICE_NS, false},
    {"self_device_ns", OSC_KA_SELF_DEVICE_NS, false},
    {"self_device_time_total", OSC_KA_SELF_DEVICE_NS, false},
    {"total_device", OSC_KA_TOTAL_DEVICE_NS, false},
    {"total_device_ns", OSC_KA_TOTAL_DEVICE_NS, false},
    {"device_time_total", OSC_KA_TOTAL_DEVICE_NS, false},
    {"avg_device", OSC_KA_TOTAL_DEVICE_NS, true},
    {"device_time", OSC_KA_TOTAL_DEVICE_NS, true},
    {"self_cpu", OSC_KA_SELF_CPU_NS, false},
    {"self_cpu_ns", OSC_KA_SELF_CPU_NS, false},
    {"self_cpu_time_total", OSC_KA_SELF_CPU_NS, false},
    {"total_cpu", OSC_KA_TOTAL_CPU_NS, false},
    {"total_cpu_ns", OSC_KA_TOTAL_CPU_NS, false},
    {"cpu_time_total", OSC_KA_TOTAL_CPU_NS, false},
    {"avg_cpu", OSC_KA_TOTAL_CPU_NS, true},
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
    static const char *const devices[] = {"privateuse1", "neuron", "cuda", "xpu", "mtia", "hpu"};
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
    if (osc_table_columns(table) < OSC_KA_ALL_COLUMNS)
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

osc_status osc_ka_sort(osc_table *table, osc_ka_column column, bool average, osc_err *err)
{
    uint32_t rows = osc_table_rows(table);
    if (!average) {
        osc_table_sort(table, exact_column(table, column), column != OSC_KA_NAME);
        return osc_table_status(table, err);
    }
    double *keys = osc_realloc_array(NULL, (size_t)rows + 1, sizeof *keys);
    if (!keys)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while sorting");
    for (uint32_t r = 0; r < rows; r++)
        keys[r] = osc_ka_us(table, r, column) / (double)osc_table_cell(table, r, OSC_KA_COUNT).i64;
    osc_table_sort_keys(table, keys, true);
    osc_free(keys);
    return osc_table_status(table, err);
}
