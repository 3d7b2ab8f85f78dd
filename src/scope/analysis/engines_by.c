/*
 * engines_by.c - the same work by opcode and by DMA queue; see engines.h.
 *
 * Rows are sorted by group, then time, and each group is walked once: a sum, a union and a few
 * counters.
 */
#include "scope/analysis/engines.h"

#include "base/mem.h"
#include "scope/analysis/engines_internal.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>

/* A row of the view under what it is grouped by. */
struct item {
    uint64_t key; /* core and engine, or core */
    uint64_t sub; /* opcode, or queue */
    uint32_t row;
};

struct group {
    struct item first;
    uint32_t count;
    int64_t time_ns, active_ns, longest_ns;
    uint64_t bytes, elements, hbm, sbuf, psum, transfers;
};

static int by_group(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->sub != y->sub)
        return x->sub < y->sub ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* By core and engine, then time spent, most first. */
static int by_time(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->first.key != y->first.key)
        return x->first.key < y->first.key ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns > y->time_ns ? -1 : 1;
    return x->first.sub < y->first.sub ? -1 : x->first.sub > y->first.sub;
}

static void add_traffic(const osc_view *v, uint32_t work, struct group *g)
{
    const osc_traffic_cols *t = osc_store_traffic(v->store);
    uint32_t inst = osc_store_work(v->store)->inst[work];
    if (inst >= osc_store_inst(v->store)->count || v->traffic_of[inst] == OSC_NO_ROW)
        return;
    uint32_t row = v->traffic_of[inst];
    osc_grow_sat(&g->elements, t->elements[row]);
    osc_grow_sat(&g->hbm, t->hbm_read[row]);
    osc_grow_sat(&g->hbm, t->hbm_write[row]);
    osc_grow_sat(&g->sbuf, t->sbuf_read[row]);
    osc_grow_sat(&g->sbuf, t->sbuf_write[row]);
    osc_grow_sat(&g->psum, t->psum_read[row]);
    osc_grow_sat(&g->psum, t->psum_write[row]);
}

/* Sums items [from, to), which are one group in time order within each time line. */
static struct group sum_group(const osc_view *v, const struct item *items, uint32_t n, bool traffic)
{
    struct group g = {.first = items[0]};
    const osc_work_cols *w = osc_store_work(v->store);
    int64_t reach = INT64_MIN;
    uint32_t line = OSC_NO_ROW;
    for (uint32_t i = 0; i < n; i++) {
        const osc_view_row *row = &v->rows[items[i].row];
        int64_t length = row->end_ns - row->start_ns;
        if (row->kind == OSC_PART_TRANSFER) {
            g.transfers++;
            continue;
        }
        g.count++;
        g.time_ns = osc_add_sat(g.time_ns, length);
        g.longest_ns = length > g.longest_ns ? length : g.longest_ns;
        if (row->group != line)
            reach = row->start_ns;
        line = row->group;
        int64_t from = row->start_ns > reach ? row->start_ns : reach;
        if (row->end_ns > from) {
            g.active_ns = osc_add_sat(g.active_ns, row->end_ns - from);
            reach = row->end_ns;
        }
        osc_grow_sat(&g.bytes, w->bytes[row->work]);
        if (traffic)
            add_traffic(v, row->work, &g);
    }
    return g;
}

/* The groups of n sorted items; *out is freed by the caller. False: out of memory. */
static bool make_groups(const osc_view *v, struct item *items, uint32_t n, bool traffic,
                        struct group **out, uint32_t *count)
{
    *count = 0;
    qsort(items, n, sizeof *items, by_group);
    *out = osc_realloc_array(NULL, (size_t)n + 1, sizeof **out);
    for (uint32_t i = 0; *out && i < n;) {
        uint32_t from = i;
        while (i < n && items[i].key == items[from].key && items[i].sub == items[from].sub)
            i++;
        (*out)[(*count)++] = sum_group(v, items + from, i - from, traffic);
    }
    if (*out)
        qsort(*out, *count, sizeof **out, by_time);
    return *out != NULL;
}

/* What a table of groups is made of. */
struct grouping {
    const char *name;
    const osc_table_column *columns;
    uint32_t column_count;
    bool traffic; /* bytes by memory and arithmetic are wanted */
    /* The item of a row of the view; false when the row is not of the table. */
    bool (*item)(const osc_view *v, uint32_t row, struct item *out);
    void (*put)(const osc_view *v, const struct group *g, osc_table *t);
};

static osc_status group_table(const osc_store *store, const osc_engine_options *options,
                              const struct grouping *what, osc_table **out, osc_err *err)
{
    osc_view v;
    *out = NULL;
    osc_status status = osc_view_open(&v, store, options, err);
    if (status == OSC_OK) {
        struct item *items = osc_realloc_array(NULL, (size_t)v.count + 1, sizeof *items);
        struct group *groups = NULL;
        osc_table *t = osc_view_table(&v, what->name, what->columns, what->column_count);
        uint32_t n = 0, count = 0;
        for (uint32_t i = 0; items && i < v.count; i++)
            n += what->item(&v, i, &items[n]);
        bool ok = items && t && make_groups(&v, items, n, what->traffic, &groups, &count);
        for (uint32_t i = 0; ok && i < count; i++)
            what->put(&v, &groups[i], t);
        if (ok)
            osc_table_set_fact_i64(t, "total_ns", v.span_ns);
        osc_free(groups);
        osc_free(items);
        status = osc_table_finish(t, ok, out, err);
    }
    osc_view_free(&v);
    return status;
}

/* ---- by opcode ---- */

enum {
    O_CORE = 0,
    O_ENGINE,
    O_OPCODE,
    O_COUNT,
    O_TIME,
    O_MEAN,
    O_LONGEST,
    O_HBM,
    O_SBUF,
    O_PSUM,
    O_FLOPS,
    O_COLUMNS
};

static const osc_table_column opcode_columns[O_COLUMNS] = {
    {"core", "core", "core number", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"engine", "engine", "engine", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"opcode", "opcode", "operation", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"count", "count", "how often", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"time_ns", "time", "sum of lengths", OSC_CELL_I64, OSC_UNIT_NS, false},
    /* instructions take some ns: a column in us would read 0.0 */
    {"mean_ns", "mean ns", "mean length, ns", OSC_CELL_F64, OSC_UNIT_NONE, false},
    {"longest_ns", "longest ns", "longest of them, ns", OSC_CELL_I64, OSC_UNIT_NONE, false},
    {"hbm_bytes", "HBM", "device memory read and written", OSC_CELL_I64, OSC_UNIT_BYTES, false},
    {"sbuf_bytes", "SBUF", "SBUF read and written; compute: of one partition", OSC_CELL_I64,
     OSC_UNIT_BYTES, false},
    {"psum_bytes", "PSUM", "PSUM read and written, of one partition", OSC_CELL_I64, OSC_UNIT_BYTES,
     false},
    {"flops", "flop", "2 x multiply-accumulates", OSC_CELL_I64, OSC_UNIT_COUNT, false},
};

static void put_opcode(const osc_view *v, const struct group *g, osc_table *t)
{
    uint32_t row = osc_table_add_row(t);
    uint32_t work = v->rows[g->first.row].work;
    uint32_t opcode = osc_view_opcode(v, work);
    osc_table_set_i64(t, row, O_CORE, osc_view_core(v, work));
    osc_table_set_str(t, row, O_ENGINE,
                      osc_view_engine_name(v, osc_store_work(v->store)->engine[work]));
    osc_table_set_str(t, row, O_OPCODE,
                      opcode == OSC_NO_ROW ? OSC_STR("?") : osc_store_text(v->store, opcode));
    osc_table_set_i64(t, row, O_COUNT, g->count);
    osc_table_set_i64(t, row, O_TIME, g->time_ns);
    osc_table_set_f64(t, row, O_MEAN, g->count > 0 ? (double)g->time_ns / g->count : 0);
    osc_table_set_i64(t, row, O_LONGEST, g->longest_ns);
    osc_table_set_i64(t, row, O_HBM, osc_i64_sat(g->hbm));
    osc_table_set_i64(t, row, O_SBUF, osc_i64_sat(g->sbuf));
    osc_table_set_i64(t, row, O_PSUM, osc_i64_sat(g->psum));
    osc_table_set_i64(t, row, O_FLOPS, osc_flops_of(g->elements));
}

static bool opcode_item(const osc_view *v, uint32_t row, struct item *out)
{
    uint32_t work = v->rows[row].work;
    *out = (struct item){osc_view_lane_key(v, work), osc_view_opcode(v, work), row};
    return osc_view_is_instruction(&v->rows[row]);
}

osc_status osc_engines_by_opcode(const osc_store *store, const osc_engine_options *options,
                                 osc_table **out, osc_err *err)
{
    static const struct grouping by_opcode = {"engine_opcodes", opcode_columns, O_COLUMNS, true,
                                              opcode_item,      put_opcode};
    return group_table(store, options, &by_opcode, out, err);
}

/* ---- by queue ---- */

enum {
    Q_CORE = 0,
    Q_QUEUE,
    Q_NUMBER,
    Q_TYPE,
    Q_PACKETS,
    Q_TRANSFERS,
    Q_BYTES,
    Q_MEAN,
    Q_TIME,
    Q_ACTIVE,
    Q_RATE,
    Q_COLUMNS
};

static const osc_table_column queue_columns[Q_COLUMNS] = {
    {"core", "core", "core number", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"queue", "queue", "its name, or whose queue it is", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"number", "number", "its number", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"type", "type", "who made the descriptors", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"packets", "packets", "packets it carried", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"transfers", "transfers", "transfers it carried", OSC_CELL_I64, OSC_UNIT_COUNT, true},
    {"bytes", "bytes", "bytes of the packets", OSC_CELL_I64, OSC_UNIT_BYTES, false},
    {"mean_bytes", "mean", "bytes of a packet", OSC_CELL_I64, OSC_UNIT_BYTES, false},
    {"time_ns", "time", "sum of lengths of the packets, on all DMA engines", OSC_CELL_I64,
     OSC_UNIT_NS, false},
    {"active_ns", "active", "time in which at least one packet was under way", OSC_CELL_I64,
     OSC_UNIT_NS, false},
    {"bytes_per_ns", "GB/s", "bytes / active time", OSC_CELL_F64, OSC_UNIT_NONE, false},
};

static osc_str queue_label(const osc_view *v, uint32_t work, osc_str *number, osc_str *type)
{
    const osc_queue_cols *q = osc_store_queue(v->store);
    const osc_work_cols *w = osc_store_work(v->store);
    uint32_t queue = w->queue[work];
    if (queue >= q->count) {
        *type = OSC_STR("static");
        return osc_view_engine_name(v, w->engine[work]);
    }
    osc_str name = osc_store_text(v->store, q->name[queue]);
    *number = osc_store_text(v->store, q->number[queue]);
    *type = osc_store_text(v->store, q->type[queue]);
    return name.len > 0 ? name : OSC_STR("(no name)");
}

static void put_queue(const osc_view *v, const struct group *g, osc_table *t)
{
    uint32_t row = osc_table_add_row(t);
    uint32_t work = v->rows[g->first.row].work;
    osc_str number = {0}, type = {0};
    osc_table_set_i64(t, row, Q_CORE, osc_view_core(v, work));
    osc_table_set_str(t, row, Q_QUEUE, queue_label(v, work, &number, &type));
    osc_table_set_str(t, row, Q_NUMBER, number);
    osc_table_set_str(t, row, Q_TYPE, type);
    osc_table_set_i64(t, row, Q_PACKETS, g->count);
    osc_table_set_i64(t, row, Q_TRANSFERS, osc_i64_sat(g->transfers));
    osc_table_set_i64(t, row, Q_BYTES, osc_i64_sat(g->bytes));
    osc_table_set_i64(t, row, Q_MEAN, g->count > 0 ? osc_i64_sat(g->bytes / g->count) : 0);
    osc_table_set_i64(t, row, Q_TIME, g->time_ns);
    osc_table_set_i64(t, row, Q_ACTIVE, g->active_ns);
    osc_table_set_f64(t, row, Q_RATE,
                      g->active_ns > 0 ? (double)g->bytes / (double)g->active_ns : 0);
}

/* Packets of captures of ours name no queue: those of an engine count as one. */
static bool queue_item(const osc_view *v, uint32_t row, struct item *out)
{
    const osc_work_cols *w = osc_store_work(v->store);
    uint32_t work = v->rows[row].work, queue = w->queue[work];
    bool known = queue < osc_store_queue(v->store)->count;
    *out = (struct item){osc_view_core(v, work),
                         known ? queue : (UINT64_C(1) << 32) + w->engine[work], row};
    return !osc_view_is_instruction(&v->rows[row]);
}

osc_status osc_engines_by_queue(const osc_store *store, const osc_engine_options *options,
                                osc_table **out, osc_err *err)
{
    static const struct grouping by_queue = {"dma_queues", queue_columns, Q_COLUMNS,
                                             false,        queue_item,    put_queue};
    return group_table(store, options, &by_queue, out, err);
}
