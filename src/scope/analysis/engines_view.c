/*
 * engines_view.c - the device work of the chosen executions, sorted once for all figures.
 *
 * A vendor's profile has one clock for all cores, so all of it is one time line. In a capture of
 * ours each execution is a time line of its own: unions are taken inside an execution and added up.
 */
#include "scope/analysis/engines_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "isa/isa.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_COLUMNS_MAX 16u

/* ---- choice ---- */

/* An execution and when its body began. */
struct chosen {
    int64_t start_ns;
    uint32_t exec;
};

static int by_body(const void *a, const void *b)
{
    const struct chosen *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->exec < y->exec ? -1 : x->exec > y->exec;
}

/* The executions that the options leave, in time order; how many. */
static uint32_t choose(const osc_store *store, const osc_engine_options *o, struct chosen *out)
{
    const osc_exec_cols *e = osc_store_exec(store);
    const osc_program_cols *p = osc_store_program(store);
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        bool known = e->program[i] < p->count;
        if (o->hash != 0 && (!known || p->hash[e->program[i]] != o->hash))
            continue;
        if (o->program &&
            (!known || !osc_str_eq_cstr(osc_store_text(store, p->name[e->program[i]]), o->program)))
            continue;
        out[n++] = (struct chosen){e->body_ns[i], i};
    }
    qsort(out, n, sizeof *out, by_body);
    return n;
}

static osc_status fail_choice(const osc_view *v, const osc_engine_options *o, uint32_t left,
                              osc_err *err)
{
    if (osc_store_exec(v->store)->count == 0)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no device executions here; give a device profile, or a session with its "
                        ".ntff and .neff files");
    if (o->program && left == 0)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no execution of a program named '%s'", o->program);
    if (o->nth > 0)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "there is no execution %lld; there %s %u", (long long)o->nth,
                        left == 1 ? "is" : "are", left);
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                    "the executions here have no device events");
}

static osc_status choose_groups(osc_view *v, const osc_engine_options *o, osc_err *err)
{
    const osc_exec_cols *e = osc_store_exec(v->store);
    struct chosen *chosen = osc_realloc_array(NULL, (size_t)e->count + 1, sizeof *chosen);
    v->group_of = osc_realloc_array(NULL, (size_t)e->count + 1, sizeof *v->group_of);
    if (!chosen || !v->group_of) {
        osc_free(chosen);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for executions");
    }
    uint32_t n = choose(v->store, o, chosen), from = 0, to = n;
    if (o->nth > 0) {
        uint32_t runs = v->profile && n > 0 ? 1 : n; /* a profile is one run, whatever its cores */
        from = o->nth <= runs ? (uint32_t)o->nth - 1 : n;
        to = v->profile || from == n ? n : from + 1;
    }
    memset(v->group_of, 0xff, ((size_t)e->count + 1) * sizeof *v->group_of);
    for (uint32_t i = from; i < to; i++) {
        bool new_group = !v->profile || v->group_count == 0;
        v->group_count += new_group;
        v->group_of[chosen[i].exec] = v->group_count - 1;
        if (new_group)
            v->span_ns = osc_add_sat(v->span_ns, e->body_dur_ns[chosen[i].exec]);
        v->exec_count++;
    }
    for (uint32_t i = from; i < to; i++) {
        if (e->core[chosen[i].exec] != e->core[chosen[from].exec])
            v->core_count = 2;
    }
    osc_free(chosen);
    return v->exec_count > 0 ? OSC_OK : fail_choice(v, o, n, err);
}

/* ---- rows ---- */

static void find_opcodes(osc_view *v)
{
    static const char *const matmul[4] = {"MATMUL", "matmul", "pe_transpose", "MATMUL_SPARSE"};
    static const char *const activate[4] = {"ACTIVATE", "ACTIVATE_QUANTIZE", "activation",
                                            "activation_reduce"};
    static const char *const barrier[2] = {"EVENT_SEMAPHORE", "sem_wait"};
    static const char *const notify[2] = {"NOTIFY", "notify"};
    for (size_t i = 0; i < 4; i++) {
        v->matmul[i] = osc_store_lookup(v->store, osc_str_from_cstr(matmul[i]));
        v->activate[i] = osc_store_lookup(v->store, osc_str_from_cstr(activate[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        v->barrier[i] = osc_store_lookup(v->store, osc_str_from_cstr(barrier[i]));
        v->notify[i] = osc_store_lookup(v->store, osc_str_from_cstr(notify[i]));
    }
}

uint32_t osc_view_opcode(const osc_view *v, uint32_t work)
{
    const osc_inst_cols *inst = osc_store_inst(v->store);
    uint32_t row = osc_store_work(v->store)->inst[work];
    return row < inst->count ? inst->opcode[row] : OSC_NO_ROW;
}

bool osc_view_is(const osc_view *v, uint32_t work, const uint32_t *ids, size_t n)
{
    uint32_t opcode = osc_view_opcode(v, work);
    for (size_t i = 0; i < n; i++) {
        if (opcode != OSC_NO_ROW && opcode == ids[i])
            return true;
    }
    return false;
}

uint32_t osc_view_core(const osc_view *v, uint32_t work)
{
    return osc_store_exec(v->store)->core[osc_store_work(v->store)->exec[work]];
}

osc_table *osc_view_table(const osc_view *v, const char *name, const osc_table_column *columns,
                          uint32_t count)
{
    osc_table_column own[TABLE_COLUMNS_MAX];
    assert(count > 0 && count <= TABLE_COLUMNS_MAX);
    memcpy(own, columns, count * sizeof *own);
    own[0].use = v->core_count < 2 ? OSC_COLUMN_MACHINE : OSC_COLUMN_SHOWN;
    return osc_table_new(name, own, count);
}

unsigned osc_engine_slot(uint8_t engine)
{
    switch ((osc_engine)engine) {
    case OSC_ENGINE_TENSOR: return 0;
    case OSC_ENGINE_VECTOR: return 1;
    case OSC_ENGINE_SCALAR: return 2;
    case OSC_ENGINE_GPSIMD: return 3;
    case OSC_ENGINE_SYNC: return 4;
    default: return OSC_ENGINE_SLOTS;
    }
}

uint64_t osc_view_lane_key(const osc_view *v, uint32_t work)
{
    uint8_t engine = osc_store_work(v->store)->engine[work];
    return (uint64_t)osc_view_core(v, work) << 16 | osc_engine_slot(engine) << 8 | engine;
}

osc_str osc_view_engine_name(const osc_view *v, unsigned engine)
{
    return osc_engine_text(v->store, engine);
}

osc_str osc_engine_text(const osc_store *store, unsigned engine)
{
    const osc_engine_cols *names = osc_store_engine(store);
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->number[i] == engine)
            return osc_store_text(store, names->name[i]);
    }
    return engine > 0 && engine < OSC_ENGINE_COUNT
               ? osc_str_from_cstr(osc_engine_name((osc_engine)engine))
               : OSC_STR("?");
}

/* What a row of device_work is here; 0: preamble, postamble, and what is not chosen. */
static uint8_t part_kind(const osc_view *v, uint32_t work)
{
    const osc_work_cols *w = osc_store_work(v->store);
    if (w->exec[work] >= osc_store_exec(v->store)->count ||
        v->group_of[w->exec[work]] == OSC_NO_ROW)
        return 0;
    switch (w->kind[work]) {
    case OSC_WORK_INST:
        return osc_view_is(v, work, v->barrier, 2) ? OSC_PART_BARRIER : OSC_PART_WORKING;
    case OSC_WORK_DMA: return OSC_PART_PACKET;
    case OSC_WORK_TRANSFER: return OSC_PART_TRANSFER;
    default: return 0;
    }
}

static int by_time(const void *a, const void *b)
{
    const osc_view_row *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->work < y->work ? -1 : x->work > y->work;
}

static bool collect(osc_view *v)
{
    const osc_work_cols *w = osc_store_work(v->store);
    v->rows = osc_realloc_array(NULL, (size_t)w->count + 1, sizeof *v->rows);
    if (!v->rows)
        return false;
    for (uint32_t i = 0; i < w->count; i++) {
        uint8_t kind = part_kind(v, i);
        if (kind != 0)
            v->rows[v->count++] = (osc_view_row){.start_ns = w->start_ns[i],
                                                 .end_ns = w->start_ns[i] + w->dur_ns[i],
                                                 .group = v->group_of[w->exec[i]],
                                                 .work = i,
                                                 .kind = kind};
    }
    qsort(v->rows, v->count, sizeof *v->rows, by_time);
    return true;
}

static bool index_traffic(osc_view *v)
{
    const osc_traffic_cols *t = osc_store_traffic(v->store);
    uint32_t insts = osc_store_inst(v->store)->count;
    v->traffic_of = osc_realloc_array(NULL, (size_t)insts + 1, sizeof *v->traffic_of);
    if (!v->traffic_of)
        return false;
    memset(v->traffic_of, 0xff, ((size_t)insts + 1) * sizeof *v->traffic_of);
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->inst[i] < insts)
            v->traffic_of[t->inst[i]] = i;
    }
    return true;
}

osc_status osc_view_open(osc_view *v, const osc_store *store, const osc_engine_options *options,
                         osc_err *err)
{
    *v = (osc_view){.store = store, .core_count = 1};
    v->profile = osc_str_eq_cstr(osc_store_get_meta(store, "source"), "device-profile");
    osc_status status = choose_groups(v, options, err);
    if (status != OSC_OK)
        return status;
    find_opcodes(v);
    if (!collect(v) || !index_traffic(v))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for device work");
    return v->count > 0 ? OSC_OK : fail_choice(v, &(osc_engine_options){0}, 0, err);
}

void osc_view_free(osc_view *v)
{
    osc_free(v->rows);
    osc_free(v->group_of);
    osc_free(v->traffic_of);
    v->rows = NULL;
    v->group_of = v->traffic_of = NULL;
}

/* ---- sums ---- */

/* Rows that touch or overlap, while they are met. */
struct cluster {
    int64_t start, reach; /* the rows together */
    int64_t late_reach;   /* the same when every start is 1 ns later */
    int64_t late;         /* length of their union then */
    uint32_t n;
};

/* Adds a finished cluster. A time cut to whole ns lies 0 to 1 ns before the true one, a sum of two
 * 0 to 2 ns: a row alone can only have lost 1 ns, a cluster is bounded by its latest starts and
 * latest end. */
static void add_cluster(const osc_view *v, const struct cluster *c, osc_bounds *sum)
{
    double length = (double)(c->reach - c->start);
    if (c->n == 0)
        return;
    sum->value += length;
    sum->low += v->profile && c->n > 1 ? (double)c->late : length;
    sum->high += length + (v->profile ? c->n > 1 ? 2 : 1 : 0);
}

osc_bounds osc_view_union(const osc_view *v, osc_view_filter filter, int arg)
{
    osc_bounds sum = {0};
    struct cluster c = {0};
    uint32_t group = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        const osc_view_row *row = &v->rows[i];
        if (!filter(v, row, arg))
            continue;
        if (c.n == 0 || row->group != group || row->start_ns > c.reach) {
            add_cluster(v, &c, &sum);
            c = (struct cluster){
                .start = row->start_ns, .reach = row->start_ns, .late_reach = row->start_ns};
            group = row->group;
        }
        int64_t late = row->start_ns < row->end_ns ? row->start_ns + 1 : row->end_ns;
        late = late > c.late_reach ? late : c.late_reach;
        c.late += row->end_ns > late ? row->end_ns - late : 0;
        c.late_reach = row->end_ns > c.late_reach ? row->end_ns : c.late_reach;
        c.reach = row->end_ns > c.reach ? row->end_ns : c.reach;
        c.n++;
    }
    add_cluster(v, &c, &sum);
    return sum;
}

osc_bounds osc_view_sum(const osc_view *v, osc_view_filter filter, int arg)
{
    int64_t total = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        if (!filter(v, &v->rows[i], arg))
            continue;
        total = osc_add_sat(total, v->rows[i].end_ns - v->rows[i].start_ns);
        n++;
    }
    return (osc_bounds){(double)total, (double)total, (double)total + (v->profile ? n : 0)};
}

/* ---- owners ---- */

/* How a semaphore is raised: the engine, whether by DMA, or by several. */
#define RAISER_DMA     0x100u
#define RAISER_SEVERAL 0x200u

struct osc_owners {
    const osc_view *view;
    osc_map named;   /* program, semaphore -> text id */
    osc_map raisers; /* program, semaphore -> engine and the bits above */
};

static uint64_t owner_key(uint32_t program, uint32_t sem)
{
    return (uint64_t)program << 32 | sem;
}

static bool is_dma_opcode(osc_str opcode)
{
    return osc_str_starts(opcode, OSC_STR("dma_")) || osc_str_starts(opcode, OSC_STR("DMA_"));
}

static bool add_raiser(osc_owners *o, uint32_t op)
{
    const osc_semop_cols *s = osc_store_semop(o->view->store);
    const osc_inst_cols *inst = osc_store_inst(o->view->store);
    if (s->is_wait[op] || s->inst[op] >= inst->count)
        return true;
    uint32_t row = s->inst[op];
    uint64_t key = owner_key(inst->program[row], s->sem[op]), before;
    uint64_t raiser = inst->engine[row];
    if (is_dma_opcode(osc_store_text(o->view->store, inst->opcode[row])))
        raiser |= RAISER_DMA;
    if (osc_map_get(&o->raisers, key, &before) && before != raiser)
        raiser = RAISER_SEVERAL;
    return osc_map_put(&o->raisers, key, raiser) == OSC_OK;
}

osc_owners *osc_owners_new(const osc_view *v)
{
    osc_owners *o = osc_calloc(1, sizeof *o);
    const osc_semaphore_cols *names = osc_store_semaphore(v->store);
    bool ok = o != NULL;
    if (o)
        o->view = v;
    for (uint32_t i = 0; ok && i < names->count; i++)
        ok = osc_map_put(&o->named, owner_key(names->program[i], names->sem[i]), names->owner[i]) ==
             OSC_OK;
    for (uint32_t i = 0; ok && i < osc_store_semop(v->store)->count; i++)
        ok = add_raiser(o, i);
    if (!ok) {
        osc_owners_free(o);
        return NULL;
    }
    return o;
}

void osc_owners_free(osc_owners *owners)
{
    if (!owners)
        return;
    osc_map_free(&owners->named);
    osc_map_free(&owners->raisers);
    osc_free(owners);
}

static osc_str dma_owner(unsigned engine)
{
    static const char *const names[OSC_ENGINE_COUNT] = {
        "DMA", "DMA of Tensor", "DMA of Scalar", "DMA of GpSimd",
        "DMA", "DMA of Vector", "DMA of Sync"};
    return osc_str_from_cstr(engine < OSC_ENGINE_COUNT ? names[engine] : "DMA");
}

osc_str osc_owner_of(const osc_owners *owners, uint32_t program, uint32_t sem)
{
    uint64_t key = owner_key(program, sem), value;
    if (osc_map_get(&owners->named, key, &value))
        return osc_store_text(owners->view->store, (uint32_t)value);
    if (!osc_map_get(&owners->raisers, key, &value))
        return (osc_str){0};
    if (value & RAISER_SEVERAL)
        return OSC_STR("all engines");
    if (value & RAISER_DMA)
        return dma_owner((unsigned)value & 0xffu);
    return osc_view_engine_name(owners->view, (unsigned)value & 0xffu);
}
