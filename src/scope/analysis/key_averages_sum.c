/*
 * key_averages_sum.c - the figures of every event, added to its row (kineto-trace-format.md 2.5).
 *
 * Host events are walked thread by thread, parents first. What an event's children take from it is
 * known when the walk leaves it, so the sums live on a stack as deep as the nesting instead of in
 * an entry for each event. Device events and memory records have no children and are added as they
 * come.
 *
 * Several workers take a share of the host's walk each, cut where no event is open, and a share of
 * the devices; each adds to rows of its own, which are put together at the end. Groups are numbered
 * as they are met, so with groups there is one worker.
 */
#include "scope/analysis/key_averages_internal.h"

#include "base/mem.h"
#include "base/thread.h"
#include "scope/analysis/calls_internal.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <string.h>

/* An event the walk is inside of. */
struct frame {
    uint32_t slice, row;
    int64_t inner_cpu_ns, inner_device_ns; /* of its direct children */
    osc_memory_bytes own, inner;
    bool part; /* inside another of its row, and only part of that one */
};

/* The share of one worker. */
struct walk {
    struct ka_work *w;
    const osc_calls *c;
    struct ka_rows rows;
    osc_memory_sums memory;          /* the work's, with its own `covered` */
    uint32_t host_from, host_to;     /* entries of the order of calls */
    uint32_t device_from, device_to; /* slices */
    struct frame *frames;            /* owned */
    uint32_t depth, cap;
    uint32_t cursor; /* of the memory records */
    bool ok;
};

/* True when an event comes before the first one of its row so far. */
static bool is_first(const struct ka_row *row, int64_t start, int64_t dur, uint32_t order,
                     uint64_t index)
{
    if (start != row->first_start)
        return start < row->first_start;
    if (row->sums.count == 0)
        return true;
    if (dur != row->first_dur)
        return dur > row->first_dur;
    return order != row->first_order ? order < row->first_order : index < row->first_index;
}

static void note_first(struct ka_row *row, const osc_slice_cols *s, uint32_t slice, bool has_parent)
{
    if (s->start_ns[slice] > row->first_start ||
        !is_first(row, s->start_ns[slice], s->dur_ns[slice], s->order[slice], slice))
        return;
    row->first_start = s->start_ns[slice];
    row->first_dur = s->dur_ns[slice];
    row->first_order = s->order[slice];
    row->first_index = slice;
    row->has_parent = has_parent;
}

static void add(int64_t *sum, int64_t value)
{
    *sum = osc_add_sat(*sum, value);
}

/* The row of a slice, its first event noted; OSC_NO_ROW when memory is out. Inline: it runs
 * for every slice, in both loops below. */
static inline __attribute__((always_inline)) uint32_t row_of(struct walk *k, uint32_t slice,
                                                             bool has_parent)
{
    struct ka_work *w = k->w;
    const osc_calls *c = k->c;
    uint8_t kind = c->slices->kind[slice];
    uint32_t row = osc_ka_row(&k->rows, calls_row_name(c, slice), c->device_of_kind[kind],
                              kind == OSC_KIND_USER_ANNOTATION || kind == OSC_KIND_GPU_ANNOTATION,
                              w->groups.kinds == 0 ? 0 : osc_ka_group(&w->groups, slice));
    if (row == OSC_NO_ROW)
        return row;
    note_first(&k->rows.rows[row], c->slices, slice, has_parent);
    k->rows.rows[row].sums.count++;
    if (w->row_of)
        w->row_of[slice] = row;
    return row;
}

/* ---- the host ---- */

static bool grow(struct walk *k)
{
    uint32_t cap = k->cap ? k->cap * 2 : 64;
    struct frame *grown = osc_realloc_array(k->frames, cap, sizeof *grown);
    if (!grown)
        return false;
    k->frames = grown;
    k->cap = cap;
    return true;
}

static bool enter(struct walk *k, uint32_t slice, bool has_parent)
{
    if (k->depth == k->cap && !grow(k))
        return false;
    uint32_t at = row_of(k, slice, has_parent);
    if (at == OSC_NO_ROW)
        return false;
    struct ka_row *row = &k->rows.rows[at];
    struct frame *f = &k->frames[k->depth++];
    f->slice = slice;
    f->row = at;
    f->inner_cpu_ns = f->inner_device_ns = 0;
    f->part = row->open++ > 0 && k->w->options->outermost;
    row->sums.count -= f->part;
    if (k->memory.count > 0) { /* else nobody looks at these */
        f->inner = (osc_memory_bytes){0};
        f->own = osc_memory_sums_take(&k->memory, k->c->slices->start_ns[slice],
                                      calls_end(k->c->slices, slice), &k->cursor);
    }
    return true;
}

/* Adds the figures of an event, which are complete, to its row. */
static void add_frame(struct walk *k, const struct frame *f, int64_t dur, int64_t device)
{
    struct ka_sums *row = &k->rows.rows[f->row].sums;
    int64_t once = !f->part; /* what is inside another of its row is in that one's total already */
    add(&row->self_cpu_ns, osc_sub_sat(dur, f->inner_cpu_ns));
    add(&row->total_cpu_ns, dur * once);
    if (k->c->facts.any_device) {
        add(&row->self_device_ns, osc_sub_sat(device, f->inner_device_ns));
        add(&row->total_device_ns, device * once);
    }
    if (k->memory.count > 0) {
        add(&row->cpu_bytes, f->own.cpu * once);
        add(&row->self_cpu_bytes, osc_sub_sat(f->own.cpu, f->inner.cpu));
        add(&row->device_bytes, f->own.device * once);
        add(&row->self_device_bytes, osc_sub_sat(f->own.device, f->inner.device));
    }
}

/* Leaves the innermost event: its figures go to its row and to the event around. */
static void leave(struct walk *k)
{
    assert(k->depth > 0);
    const struct frame *f = &k->frames[--k->depth];
    int64_t dur = k->c->slices->dur_ns[f->slice];
    int64_t device = osc_add_sat(calls_kernel_ns(k->c, f->slice), f->inner_device_ns);
    k->rows.rows[f->row].open--;
    add_frame(k, f, dur, device);
    if (k->depth == 0)
        return;
    struct frame *around = &k->frames[k->depth - 1];
    add(&around->inner_cpu_ns, dur);
    add(&around->inner_device_ns, device);
    if (k->memory.count > 0) {
        add(&around->inner.cpu, f->own.cpu);
        add(&around->inner.device, f->own.device);
    }
}

static bool sum_host(struct walk *k)
{
    const osc_calls *c = k->c;
    const int64_t *starts = c->slices->start_ns;
    int64_t last = INT64_MIN;
    for (uint32_t i = k->host_from; i < k->host_to; i++) {
        uint32_t slice = c->order[i], parent = c->up[slice];
        if (c->flags[slice] & CALLS_GONE)
            continue;
        while (k->depth > 0 && k->frames[k->depth - 1].slice != parent)
            leave(k);
        assert(k->depth > 0 || parent == OSC_NO_ROW);
        if (starts[slice] < last)
            k->cursor = 0; /* another thread */
        last = starts[slice];
        if (!enter(k, slice, parent != OSC_NO_ROW))
            return false;
    }
    while (k->depth > 0)
        leave(k);
    return true;
}

/* ---- devices and memory ---- */

static bool sum_devices(struct walk *k)
{
    const osc_calls *c = k->c;
    for (uint32_t i = k->device_from; i < k->device_to; i++) {
        if (!(c->flags[i] & CALLS_COUNTED) || calls_on_cpu(c, i))
            continue;
        bool linked = c->flags[i] & CALLS_RULE;
        if (k->w->options->linked_only && !linked)
            continue;
        uint32_t row = row_of(k, i, false);
        if (row == OSC_NO_ROW)
            return false;
        struct ka_sums *sums = &k->rows.rows[row].sums;
        int64_t dur = c->slices->dur_ns[i];
        add(&sums->self_device_ns, dur);
        add(&sums->total_device_ns, dur);
        sums->linked += linked;
        add(&sums->linked_ns, linked ? dur : 0);
    }
    return true;
}

/* Takes the bytes of an out-of-memory record from the self figures of the event that is around
 * it, whose child it is. False: out of memory; *nested is whether there is one. */
static bool take_from_parent(struct ka_work *w, uint32_t record, osc_memory_bytes bytes,
                             bool *nested)
{
    const osc_calls *c = w->calls;
    const osc_memory_cols *m = w->memory.records;
    uint32_t thread = c->thread_of_track[m->track[record]];
    uint32_t slice = osc_calls_open_at(c, thread, m->at_ns[record]);
    *nested = slice != OSC_NO_ROW;
    if (!*nested)
        return true;
    slice = c->flags[slice] & CALLS_GONE ? c->up[slice] : slice;
    uint32_t at = osc_ka_row(&w->rows, calls_row_name(c, slice), OSC_DEVICE_CPU,
                             c->slices->kind[slice] == OSC_KIND_USER_ANNOTATION,
                             w->groups.kinds == 0 ? 0 : osc_ka_group(&w->groups, slice));
    if (at == OSC_NO_ROW)
        return false;
    struct ka_sums *sums = &w->rows.rows[at].sums;
    sums->self_cpu_bytes = osc_sub_sat(sums->self_cpu_bytes, bytes.cpu);
    sums->self_device_bytes = osc_sub_sat(sums->self_device_bytes, bytes.device);
    return true;
}

static bool add_record(struct ka_work *w, uint32_t record)
{
    const osc_memory_cols *m = w->memory.records;
    osc_memory_bytes bytes = osc_memory_record_bytes(m, record);
    uint64_t index = (uint64_t)w->calls->slices->count + record;
    uint32_t group = w->groups.kinds == 0 ? 0 : osc_ka_group_of_memory(&w->groups, record);
    bool nested = false;
    if (m->oom[record] && !take_from_parent(w, record, bytes, &nested))
        return false;
    uint32_t at =
        osc_ka_row(&w->rows, w->memory_names[m->oom[record] != 0], OSC_DEVICE_CPU, false, group);
    if (at == OSC_NO_ROW)
        return false;
    struct ka_row *row = &w->rows.rows[at];
    if (is_first(row, m->at_ns[record], 0, UINT32_MAX, index)) {
        row->first_start = m->at_ns[record];
        row->first_dur = 0;
        row->first_order = UINT32_MAX;
        row->first_index = index;
        row->has_parent = nested;
    }
    row->sums.count++;
    add(&row->sums.cpu_bytes, bytes.cpu);
    add(&row->sums.self_cpu_bytes, bytes.cpu);
    add(&row->sums.device_bytes, bytes.device);
    add(&row->sums.self_device_bytes, bytes.device);
    return true;
}

/* Records of out of memory, and those inside no event of the host. */
static bool sum_records(struct ka_work *w)
{
    const osc_memory_sums *m = &w->memory;
    int64_t depth = 0;
    for (uint32_t i = 0; i < m->records->count; i++) {
        if (m->records->oom[i] && !add_record(w, i))
            return false;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        depth += m->covered[i];
        if (depth == 0 && !add_record(w, m->sorted[i]))
            return false;
    }
    return true;
}

/* ---- workers ---- */

/* The first entry of the order from i on where no event is open. */
static uint32_t next_cut(const osc_calls *c, uint32_t i)
{
    while (i < c->order_count && c->up[c->order[i]] != OSC_NO_ROW)
        i++;
    return i;
}

static bool begin(struct walk *k, struct ka_work *w, uint32_t worker, uint32_t workers)
{
    const osc_calls *c = w->calls;
    uint64_t order = c->order_count, slices = c->facts.any_device ? c->slices->count : 0;
    *k = (struct walk){.w = w, .c = c, .memory = w->memory};
    k->host_from = next_cut(c, (uint32_t)(order * worker / workers));
    k->host_to = next_cut(c, (uint32_t)(order * (worker + 1) / workers));
    k->device_from = (uint32_t)(slices * worker / workers);
    k->device_to = (uint32_t)(slices * (worker + 1) / workers);
    k->memory.covered = NULL;
    if (!osc_ka_rows_init(&k->rows, w->rows.names))
        return false;
    if (w->memory.count > 0)
        k->memory.covered = osc_calloc((size_t)w->memory.count + 1, sizeof *k->memory.covered);
    return w->memory.count == 0 || k->memory.covered;
}

static void work(void *context, size_t i)
{
    struct walk *k = (struct walk *)context + i;
    k->ok = sum_host(k) && sum_devices(k);
}

static void add_sums(struct ka_sums *to, const struct ka_sums *from)
{
    to->count += from->count;
    add(&to->self_cpu_ns, from->self_cpu_ns);
    add(&to->total_cpu_ns, from->total_cpu_ns);
    add(&to->self_device_ns, from->self_device_ns);
    add(&to->total_device_ns, from->total_device_ns);
    add(&to->cpu_bytes, from->cpu_bytes);
    add(&to->self_cpu_bytes, from->self_cpu_bytes);
    add(&to->device_bytes, from->device_bytes);
    add(&to->self_device_bytes, from->self_device_bytes);
    to->linked += from->linked;
    add(&to->linked_ns, from->linked_ns);
}

/* Adds the rows of a worker to those of the whole. */
static bool add_rows(struct ka_work *w, const struct walk *k)
{
    for (uint32_t r = 0; r < k->rows.count; r++) {
        const struct ka_row *from = &k->rows.rows[r];
        uint32_t at = osc_ka_row(&w->rows, from->name, from->device, from->annotation, from->group);
        if (at == OSC_NO_ROW)
            return false;
        struct ka_row *to = &w->rows.rows[at];
        if (is_first(to, from->first_start, from->first_dur, from->first_order,
                     from->first_index)) {
            to->first_start = from->first_start;
            to->first_dur = from->first_dur;
            to->first_order = from->first_order;
            to->first_index = from->first_index;
            to->has_parent = from->has_parent;
        }
        add_sums(&to->sums, &from->sums);
    }
    for (uint32_t i = 0; i <= w->memory.count && w->memory.count > 0; i++)
        w->memory.covered[i] += k->memory.covered[i];
    return true;
}

/* Takes over what the only worker has. */
static void take_rows(struct ka_work *w, struct walk *k)
{
    osc_ka_rows_free(&w->rows);
    w->rows = k->rows;
    k->rows = (struct ka_rows){0};
    if (w->memory.count > 0)
        memcpy(w->memory.covered, k->memory.covered,
               ((size_t)w->memory.count + 1) * sizeof *k->memory.covered);
}

/* Groups are numbered as they are met, and one worker notes the rows of slices. */
static uint32_t workers_for(const struct ka_work *w)
{
    if (w->groups.kinds > 0 || w->row_of)
        return 1;
    return osc_calls_workers(w->options->calls.threads, w->calls->slices->count);
}

bool osc_ka_sum(struct ka_work *w)
{
    uint32_t workers = workers_for(w), begun = 0;
    struct walk *walks = osc_calloc(workers, sizeof *walks);
    bool ok = walks != NULL;
    while (ok && begun < workers) {
        ok = begin(&walks[begun], w, begun, workers);
        begun++;
    }
    if (ok)
        osc_parallel_for(workers, workers, work, walks);
    for (uint32_t i = 0; i < begun; i++) {
        ok = ok && walks[i].ok;
        if (ok && workers == 1)
            take_rows(w, &walks[i]);
        else
            ok = ok && add_rows(w, &walks[i]);
        osc_ka_rows_free(&walks[i].rows);
        osc_free(walks[i].memory.covered);
        osc_free(walks[i].frames);
    }
    osc_free(walks);
    return ok && sum_records(w);
}
