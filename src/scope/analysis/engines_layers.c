/*
 * engines_layers.c - the engines' work by layer of the network; see engines.h.
 *
 * Rows come sorted by time, so one pass keeps, for each layer and engine, how far the union of its
 * intervals reaches. A layer's length is first start to last end, EVENT_SEMAPHORE included, added
 * up over the time lines; hfu and mfu divide by the time to the tensor engine's last end instead,
 * as the vendor's tool does (summary-metrics.md 2.1).
 */
#include "scope/analysis/engines.h"

#include "base/map.h"
#include "base/mem.h"
#include "isa/isa.h"
#include "scope/analysis/sat.h"
#include "scope/analysis/summary_internal.h"

#include <assert.h>
#include <stdlib.h>

#define ENGINES OSC_ENGINE_SLOTS

struct engine_sum {
    int64_t count, time_ns, active_ns;
    int64_t reach; /* of the union, in the present time line */
};

struct layer {
    uint32_t name;             /* text id; OSC_NO_ROW: all instructions */
    uint32_t line;             /* present time line */
    int64_t first_ns;          /* first start of all */
    int64_t start_ns, end_ns;  /* of the present time line */
    int64_t tensor_end_ns;     /* of its last tensor instruction that counts; start_ns: none */
    int64_t dur_ns, tensor_ns; /* of the time lines before */
    uint64_t instructions, elements, regular;
    struct engine_sum engine[ENGINES];
};

struct layers {
    osc_view view;
    struct layer *items;
    size_t count, cap;
    osc_map index; /* text id of a layer -> item */
};

static struct layer *layer_of(struct layers *l, uint32_t name)
{
    uint64_t at;
    if (osc_map_get(&l->index, name, &at))
        return &l->items[at];
    if (l->count == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 32;
        struct layer *grown = osc_realloc_array(l->items, cap, sizeof *grown);
        if (!grown)
            return NULL;
        l->items = grown;
        l->cap = cap;
    }
    if (osc_map_put(&l->index, name, l->count) != OSC_OK)
        return NULL;
    l->items[l->count] = (struct layer){.name = name, .line = OSC_NO_ROW};
    return &l->items[l->count++];
}

static void end_line(struct layer *layer)
{
    if (layer->line == OSC_NO_ROW)
        return;
    layer->dur_ns = osc_add_sat(layer->dur_ns, osc_sub_sat(layer->end_ns, layer->start_ns));
    layer->tensor_ns =
        osc_add_sat(layer->tensor_ns, osc_sub_sat(layer->tensor_end_ns, layer->start_ns));
}

static void begin_line(struct layer *layer, const osc_view_row *row)
{
    if (layer->line == OSC_NO_ROW)
        layer->first_ns = row->start_ns;
    end_line(layer);
    layer->line = row->group;
    layer->start_ns = layer->tensor_end_ns = row->start_ns;
    layer->end_ns = row->end_ns;
    for (unsigned e = 0; e < ENGINES; e++)
        layer->engine[e].reach = row->start_ns;
}

static void add_engine(struct layer *layer, unsigned slot, const osc_view_row *row)
{
    struct engine_sum *sum = &layer->engine[slot];
    sum->count++;
    if (row->kind != OSC_PART_WORKING)
        return;
    int64_t from = row->start_ns > sum->reach ? row->start_ns : sum->reach;
    sum->time_ns = osc_add_sat(sum->time_ns, row->end_ns - row->start_ns);
    if (row->end_ns > from) {
        sum->active_ns = osc_add_sat(sum->active_ns, row->end_ns - from);
        sum->reach = row->end_ns;
    }
    if (slot == 0 && row->end_ns > layer->tensor_end_ns)
        layer->tensor_end_ns = row->end_ns;
}

static void add_row(const osc_view *v, struct layer *layer, const osc_view_row *row)
{
    const osc_work_cols *w = osc_store_work(v->store);
    const osc_traffic_cols *t = osc_store_traffic(v->store);
    unsigned slot = osc_engine_slot(w->engine[row->work]);
    uint32_t inst = w->inst[row->work];
    if (layer->line != row->group)
        begin_line(layer, row);
    layer->instructions++;
    layer->end_ns = row->end_ns > layer->end_ns ? row->end_ns : layer->end_ns;
    if (slot < ENGINES)
        add_engine(layer, slot, row);
    if (inst >= osc_store_inst(v->store)->count || v->traffic_of[inst] == OSC_NO_ROW)
        return;
    uint32_t traffic = v->traffic_of[inst];
    osc_grow_sat(&layer->elements, t->elements[traffic]);
    if (t->flags[traffic] & OSC_TRAFFIC_REGULAR)
        osc_grow_sat(&layer->regular, t->elements[traffic]);
}

/* False: out of memory. */
static bool collect(struct layers *l)
{
    const osc_view *v = &l->view;
    const osc_inst_cols *inst = osc_store_inst(v->store);
    const osc_work_cols *w = osc_store_work(v->store);
    for (uint32_t i = 0; i < v->count; i++) {
        const osc_view_row *row = &v->rows[i];
        if (!osc_view_is_instruction(row))
            continue;
        struct layer *all = layer_of(l, OSC_NO_ROW);
        if (!all)
            return false;
        add_row(v, all, row);
        uint32_t at = w->inst[row->work];
        uint32_t name = at < inst->count ? inst->source_op[at] : 0;
        if (osc_store_text(v->store, name).len == 0)
            continue; /* code of the runtime */
        struct layer *layer = layer_of(l, name);
        if (!layer)
            return false;
        add_row(v, layer, row);
    }
    for (size_t i = 0; i < l->count; i++)
        end_line(&l->items[i]);
    return true;
}

/* ---- the table ---- */

enum { L_LAYER = 0, L_START, L_DUR, L_COUNT, L_ENGINES };
enum { L_E_COUNT = 0, L_E_TIME, L_E_ACTIVE, L_E_SHARE, L_E_COLUMNS };
enum { L_FLOPS = L_ENGINES + (int)ENGINES * L_E_COLUMNS, L_MODEL, L_HFU, L_MFU, L_COLUMNS };

/* clang-format off */
#define LAYER_ENGINE(name, label)                                                              \
    {name "_engine_instruction_count", label " n", "instructions, waits included",             \
     OSC_CELL_I64, OSC_UNIT_COUNT, true},                                                      \
    {name "_engine_instruction_time", label " time", "sum of lengths", OSC_CELL_I64,           \
     OSC_UNIT_NS, true},                                                                       \
    {name "_engine_active_time", label, "active time", OSC_CELL_I64, OSC_UNIT_NS, false},      \
    {name "_engine_active_percent", label " share", "active time / length of the layer",       \
     OSC_CELL_F64, OSC_UNIT_NONE, true}
/* clang-format on */

static const osc_table_column columns[L_COLUMNS] = {
    {"name", "layer", "layer of the network; (all) every instruction", OSC_CELL_STR, OSC_UNIT_NONE,
     false},
    {"start_ns", "start", "first start", OSC_CELL_I64, OSC_UNIT_NS, true},
    {"duration_ns", "length", "first start to last end", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"instructions", "instructions", "on all engines", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    LAYER_ENGINE("tensor", "Tensor"),
    LAYER_ENGINE("vector", "Vector"),
    LAYER_ENGINE("scalar", "Scalar"),
    LAYER_ENGINE("gpsimd", "GpSimd"),
    LAYER_ENGINE("sync", "Sync"),
    {"tensor_engine_flop_count", "flop", "2 x multiply-accumulates", OSC_CELL_I64, OSC_UNIT_COUNT,
     false},
    {"tensor_engine_model_flop_count", "model flop", "without transposes", OSC_CELL_I64,
     OSC_UNIT_COUNT, true},
    {"tensor_engine_hfu", "hfu", "flops / what the array could do, fraction", OSC_CELL_F64,
     OSC_UNIT_NONE, true},
    {"tensor_engine_mfu", "mfu", "the same of the model's flops, fraction", OSC_CELL_F64,
     OSC_UNIT_NONE, true},
};

static void put_layer(const osc_view *v, const struct layer *l, double peak, osc_table *t)
{
    uint32_t row = osc_table_add_row(t);
    osc_str name = l->name == OSC_NO_ROW ? OSC_STR("(all)") : osc_store_text(v->store, l->name);
    osc_table_set_str(t, row, L_LAYER, name);
    osc_table_set_i64(t, row, L_START, l->first_ns);
    osc_table_set_i64(t, row, L_DUR, l->dur_ns);
    osc_table_set_i64(t, row, L_COUNT, (int64_t)l->instructions);
    for (uint32_t e = 0; e < ENGINES; e++) {
        uint32_t at = L_ENGINES + e * L_E_COLUMNS;
        const struct engine_sum *sum = &l->engine[e];
        osc_table_set_i64(t, row, at + L_E_COUNT, sum->count);
        osc_table_set_i64(t, row, at + L_E_TIME, sum->time_ns);
        osc_table_set_i64(t, row, at + L_E_ACTIVE, sum->active_ns);
        osc_table_set_f64(t, row, at + L_E_SHARE,
                          l->dur_ns > 0 ? (double)sum->active_ns / (double)l->dur_ns : 0);
    }
    int64_t flops = osc_flops_of(l->elements), model = osc_flops_of(l->regular);
    double possible = peak * (double)l->tensor_ns / 1e9;
    osc_table_set_i64(t, row, L_FLOPS, flops);
    osc_table_set_i64(t, row, L_MODEL, model);
    osc_table_set_f64(t, row, L_HFU, possible > 0 ? (double)flops / possible : 0);
    osc_table_set_f64(t, row, L_MFU, possible > 0 ? (double)model / possible : 0);
}

osc_status osc_engines_by_layer(const osc_store *store, const osc_engine_options *options,
                                osc_table **out, osc_err *err)
{
    struct layers l = {.count = 0};
    *out = NULL;
    osc_status status = osc_view_open(&l.view, store, options, err);
    if (status == OSC_OK) {
        osc_table *t = osc_table_new("layer_summary", columns, L_COLUMNS);
        osc_device_facts device;
        osc_device_find(&l.view, &device);
        double peak = osc_peak_flops(&device);
        bool ok = t && collect(&l);
        for (size_t i = 0; ok && i < l.count; i++)
            put_layer(&l.view, &l.items[i], peak, t);
        status = osc_table_finish(t, ok, out, err);
    }
    osc_free(l.items);
    osc_map_free(&l.index);
    osc_view_free(&l.view);
    return status;
}
