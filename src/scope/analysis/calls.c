/*
 * calls.c - which slices count, and the questions one can ask; see calls.h.
 *
 * Built in passes over flat arrays: which slices count and what they are called (here,
 * calls_names.c), who belongs to whom (calls_link.c), in which order and how deep (calls_order.c).
 * What can be read from the store's columns is not stored again.
 *
 * Rejected: a node per event with all its facts (96 bytes, sorted as a whole). It was simple and
 * took twice the memory of the trace's own columns, most of its time in moving nodes about.
 */
#include "scope/analysis/calls_internal.h"

#include "base/mem.h"
#include "base/thread.h"
#include "scope/store/era.h"

#include <assert.h>
#include <string.h>

/* Share of repeated ids from which a file is of the correlation era (kineto-trace-format.md
 * 1.9). */
#define ERA_SHARE 0.9

/* What kernels of this file are called, from the runtimes it names (2.1 item 7). */
static osc_device kernel_device(const osc_slice_cols *s)
{
    uint8_t seen = 0;
    for (uint32_t i = 0; i < s->count; i++)
        seen |= s->flags[i];
    if (seen & OSC_SLICE_XPU)
        return OSC_DEVICE_XPU;
    return seen & OSC_SLICE_PRIVATEUSE1 ? OSC_DEVICE_PRIVATEUSE1 : OSC_DEVICE_CUDA;
}

static void set_devices(osc_calls *c)
{
    static const osc_slice_kind kernels[] = {OSC_KIND_KERNEL, OSC_KIND_MEMCPY, OSC_KIND_MEMSET,
                                             OSC_KIND_GPU_ANNOTATION, OSC_KIND_SYNC};
    osc_device device = kernel_device(c->slices);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        c->device_of_kind[kernels[i]] = (uint8_t)device;
    c->device_of_kind[OSC_KIND_MTIA] = OSC_DEVICE_MTIA;
    c->device_of_kind[OSC_KIND_HPU] = OSC_DEVICE_HPU;
}

/* ---- which slices count ---- */

static void widen(struct calls_range *r, int64_t id)
{
    r->low = r->count == 0 || id < r->low ? id : r->low;
    r->high = r->count == 0 || id > r->high ? id : r->high;
    r->count++;
}

/* Notes the numbers of a counted slice: what the indexes will hold, and of which era they are. */
static void look_at_ids(const osc_slice_cols *s, uint32_t slice, struct calls_counts *n)
{
    osc_slice_kind kind = (osc_slice_kind)s->kind[slice];
    int64_t id = s->external_id[slice], correlation = s->correlation[slice];
    if (kind == OSC_KIND_CPU_OP || kind == OSC_KIND_USER_ANNOTATION) {
        if (id > 0)
            widen(&n->op_ids, id);
        return;
    }
    if (kind == OSC_KIND_RUNTIME && correlation != 0)
        widen(&n->launch_ids, correlation);
    bool repeated = id != 0 && id == correlation;
    if (repeated)
        widen(&n->repeats, id);
    if (osc_slice_kind_is_device_work(kind) && id != 0) {
        n->work_ids++;
        n->work_repeats += repeated;
    }
}

/* Notes that some counted slice has a name; false when such slices do not count. Workers may
 * meet a name at the same time: all write the same. */
static bool want_name(osc_calls *c, uint32_t slice)
{
    bool cut = c->cut_overloads && c->slices->kind[slice] == OSC_KIND_CPU_OP;
    uint32_t *name = &c->name_map[(size_t)c->slices->name[slice] * 2 + cut];
    uint32_t known = __atomic_load_n(name, __ATOMIC_RELAXED);
    if (known == CALLS_NAME_UNSEEN)
        __atomic_store_n(name, CALLS_NAME_WANTED, __ATOMIC_RELAXED);
    return known != CALLS_NAME_DROPPED;
}

/* Marks the slices of a share that count (2.1): Kineto's own kinds, which stand first, but for
 * spans. */
static void mark(void *shares, size_t worker)
{
    struct calls_share *share = (struct calls_share *)shares + worker;
    osc_calls *c = share->build->calls;
    const osc_slice_cols *s = c->slices;
    bool unfinished = share->build->options->keep_unfinished, takes[OSC_KIND_COUNT];
    for (int k = 0; k < OSC_KIND_COUNT; k++)
        takes[k] = k <= OSC_KIND_OVERHEAD && (k != OSC_KIND_PYTHON || c->facts.python_rows);
    for (uint32_t i = share->from; i < share->to; i++) {
        uint8_t kind = s->kind[i];
        assert(kind < OSC_KIND_COUNT);
        c->flags[i] = 0;
        if (!takes[kind] || (s->flags[i] & OSC_SLICE_NO_TIME) || !want_name(c, i))
            continue;
        if ((s->flags[i] & OSC_SLICE_UNFINISHED) && !unfinished) {
            share->counts.unfinished++;
            continue;
        }
        c->flags[i] = CALLS_COUNTED;
        share->counts.per_kind[kind]++;
        look_at_ids(s, i, &share->counts);
    }
}

static void join_ranges(struct calls_range *to, const struct calls_range *from)
{
    uint32_t count = to->count + from->count;
    if (from->count > 0) {
        widen(to, from->low);
        widen(to, from->high);
    }
    to->count = count;
}

static void add_counts(struct calls_counts *to, const struct calls_counts *from)
{
    for (int k = 0; k < OSC_KIND_COUNT; k++)
        to->per_kind[k] += from->per_kind[k];
    join_ranges(&to->op_ids, &from->op_ids);
    join_ranges(&to->launch_ids, &from->launch_ids);
    join_ranges(&to->repeats, &from->repeats);
    to->work_ids += from->work_ids;
    to->work_repeats += from->work_repeats;
    to->unfinished += from->unfinished;
}

uint32_t osc_calls_workers(uint32_t threads, uint32_t events)
{
    size_t most = threads ? threads : osc_cpu_count();
    size_t useful = events / CALLS_PER_WORKER;
    most = most < useful ? most : useful;
    return most < 1 ? 1 : most < CALLS_WORKERS_MAX ? (uint32_t)most : CALLS_WORKERS_MAX;
}

void osc_calls_each_share(struct calls_build *b, void (*body)(void *shares, size_t i))
{
    osc_parallel_for(b->workers, b->workers, body, b->shares);
}

/* Gives every worker its slices. */
static void share_out(struct calls_build *b)
{
    uint64_t count = b->calls->slices->count;
    b->workers = osc_calls_workers(b->options->threads, (uint32_t)count);
    for (uint32_t i = 0; i < b->workers; i++)
        b->shares[i] = (struct calls_share){.build = b,
                                            .from = (uint32_t)(count * i / b->workers),
                                            .to = (uint32_t)(count * (i + 1) / b->workers)};
}

/* Which slices count, what they are called, and the facts that follow. False: out of memory. */
static bool mark_all(struct calls_build *b)
{
    share_out(b);
    osc_calls_drop_names(b->calls);
    osc_calls_each_share(b, mark);
    for (uint32_t i = 0; i < b->workers; i++)
        add_counts(&b->counts, &b->shares[i].counts);
    b->calls->facts.unfinished = b->counts.unfinished;
    b->calls->facts.by_correlation =
        b->counts.work_ids > 0 &&
        (double)b->counts.work_repeats > ERA_SHARE * (double)b->counts.work_ids;
    return osc_calls_learn_names(b);
}

static void set_device_facts(struct calls_build *b)
{
    osc_calls_facts *f = &b->calls->facts;
    uint64_t per_device[OSC_DEVICE_TYPES] = {0};
    for (int k = 0; k < OSC_KIND_COUNT; k++)
        per_device[b->calls->device_of_kind[k]] += b->counts.per_kind[k];
    for (int d = OSC_DEVICE_CPU + 1; d < OSC_DEVICE_TYPES; d++) {
        if (per_device[d] > 0 && (!f->any_device || per_device[d] > per_device[f->device])) {
            f->any_device = true;
            f->device = (osc_device)d;
        }
    }
}

/* ---- building ---- */

static bool allocate(osc_calls *c)
{
    size_t slices = (size_t)c->slices->count + 1;
    size_t names = (size_t)osc_store_text_count(c->store) * 2;
    c->names = osc_intern_new(SIZE_MAX);
    c->flags = osc_alloc(slices);
    c->up = osc_realloc_array(NULL, slices, sizeof *c->up);
    c->own = osc_calloc(slices, sizeof *c->own);
    c->name_map = osc_realloc_array(NULL, names + 1, sizeof *c->name_map);
    if (!c->names || !c->flags || !c->up || !c->own || !c->name_map)
        return false;
    memset(c->up, 0xff, slices * sizeof *c->up);                  /* OSC_NO_ROW */
    memset(c->name_map, 0xff, (names + 1) * sizeof *c->name_map); /* CALLS_NAME_UNSEEN */
    return true;
}

static bool build(struct calls_build *b)
{
    osc_calls *c = b->calls;
    if (!allocate(c) || !mark_all(b))
        return false;
    set_device_facts(b);
    if (!c->facts.by_correlation && !osc_calls_link_by_id(b))
        return false;
    if (!osc_calls_sort(b))
        return false;
    if (c->facts.by_correlation && !osc_calls_link_by_correlation(b))
        return false;
    return osc_calls_nest(b);
}

osc_status osc_calls_build(const osc_store *store, const osc_calls_options *options,
                           osc_calls **out, osc_err *err)
{
    osc_calls *c = osc_calloc(1, sizeof *c);
    struct calls_build b = {.calls = c, .options = options};
    bool ok = c != NULL;
    *out = NULL;
    osc_mutex_init(&b.lock);
    if (ok) {
        c->store = store;
        c->slices = osc_store_slice(store);
        c->thread_of_track = osc_store_track(store)->thread;
        c->cut_overloads = !options->keep_overloads;
        c->facts.python_rows =
            options->python == OSC_PYTHON_YES ||
            (options->python == OSC_PYTHON_AUTO && osc_era_python(store) == OSC_PYTHON_ERA_ROWS);
        set_devices(c);
        ok = build(&b);
    }
    osc_demangler_close(&b.demangler);
    osc_mutex_destroy(&b.lock);
    osc_ids_free(&b.ops);
    osc_free(b.around);
    osc_free(b.done);
    osc_free(b.ooms);
    if (!ok) {
        osc_calls_free(c);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "out of memory for the calls of the trace");
    }
    *out = c;
    return OSC_OK;
}

void osc_calls_free(osc_calls *c)
{
    if (!c)
        return;
    osc_intern_free(c->names);
    osc_ids_free(&c->launches);
    osc_map_free(&c->big);
    osc_free(c->flags);
    osc_free(c->up);
    osc_free(c->own);
    osc_free(c->order);
    osc_free(c->thread_first);
    osc_free(c->processes);
    osc_free(c->name_map);
    osc_free(c);
}

bool osc_calls_set_kernel_ns(struct calls_build *b, uint32_t slice, int64_t ns)
{
    osc_calls *c = b->calls;
    bool runtime = c->slices->kind[slice] == OSC_KIND_RUNTIME;
    assert(ns >= 0);
    if (ns <= UINT32_MAX && !runtime) {
        c->own[slice] = (uint32_t)ns;
        c->flags[slice] &= (uint8_t)~CALLS_BIG;
        return true;
    }
    if (ns == 0 && !(c->flags[slice] & CALLS_BIG))
        return true;
    if (osc_map_put(&c->big, slice, (uint64_t)ns) != OSC_OK)
        return false;
    c->flags[slice] |= CALLS_BIG;
    return true;
}

/* ---- questions ---- */

const osc_calls_facts *osc_calls_facts_of(const osc_calls *c)
{
    return &c->facts;
}

bool osc_calls_counts(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return c->flags[slice] & CALLS_COUNTED;
}

bool osc_calls_gone(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return c->flags[slice] & CALLS_GONE;
}

uint32_t osc_calls_parent(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return calls_on_cpu(c, slice) ? c->up[slice] : OSC_NO_ROW;
}

uint32_t osc_calls_op(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    if (osc_calls_rule(c, slice) == 0)
        return OSC_NO_ROW;
    uint32_t op = calls_on_cpu(c, slice) ? c->own[slice] : c->up[slice];
    return c->flags[op] & CALLS_GONE ? c->up[op] : op;
}

osc_link_rule osc_calls_rule(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return (osc_link_rule)((c->flags[slice] & CALLS_RULE) >> CALLS_RULE_SHIFT);
}

uint32_t osc_calls_launch(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return calls_on_cpu(c, slice) ? OSC_NO_ROW : osc_calls_find_launch(c, slice);
}

osc_device osc_calls_device(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return (osc_device)c->device_of_kind[c->slices->kind[slice]];
}

uint32_t osc_calls_thread(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return calls_thread(c, slice);
}

int64_t osc_calls_kernel_ns(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return calls_on_cpu(c, slice) ? calls_kernel_ns(c, slice) : 0;
}

uint32_t osc_calls_name(const osc_calls *c, uint32_t slice)
{
    assert(slice < c->slices->count);
    return calls_row_name(c, slice);
}

uint32_t osc_calls_names(const osc_calls *c)
{
    return osc_intern_count(c->names);
}

osc_str osc_calls_text(const osc_calls *c, uint32_t name)
{
    return osc_intern_get(c->names, name);
}

const uint32_t *osc_calls_order(const osc_calls *c, uint32_t *count)
{
    *count = c->order_count;
    return c->order;
}
