/*
 * calls_link.c - which operator caused which runtime call and device work (kineto-trace-format.md
 * 1.9, 2.2).
 *
 * Since PyTorch 2.3 (and before 1.11) "External id" names the operator. In between it repeats the
 * event's own correlation number, so the way is: device work -> runtime call with the same
 * correlation -> innermost operator open on that thread at that time. Which era a file is of
 * follows from how many of its ids are mere repetitions. Until late 2024 writers fell back to the
 * correlation number for single unlinked events; such an id counts only when the launch lies inside
 * the operator it names.
 *
 * When several operators carry one id, the process decides, then time, then the place in the file
 * (known-bad-inputs.md L11, L12).
 *
 * Refuses: flows ("ac2g" arrows). In real files a third to four fifths of them lack an end (1.8).
 * Refuses also: annotations on a device as kernels of the range they show, which doubles its device
 * time on XPU (R11).
 */
#include "scope/analysis/calls_internal.h"

#include "base/mem.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <string.h>

/* How many events of one number are looked at, before and after the place in the file. */
#define CANDIDATES 32u

/* ---- one of several with the same number ---- */

/* What is known of the event that a number leads away from. */
struct origin {
    uint32_t slice;
    uint32_t process; /* OSC_NO_ROW when it does not say */
    int64_t at_ns;
};

/* True when candidate a fits better than b. */
static bool fits_better(const osc_calls *c, const struct origin *o, uint32_t a, uint32_t b)
{
    uint32_t process_a = c->processes[c->slices->track[a]];
    uint32_t process_b = c->processes[c->slices->track[b]];
    if ((process_a == o->process) != (process_b == o->process))
        return process_a == o->process;
    /* Ranks joined one after the other: host work stands before its device's. */
    if (process_a != process_b && (a < o->slice) != (b < o->slice))
        return a < o->slice;
    if (process_a != process_b)
        return a > b;
    int64_t start_a = c->slices->start_ns[a], start_b = c->slices->start_ns[b];
    if ((start_a <= o->at_ns) != (start_b <= o->at_ns))
        return start_a <= o->at_ns;
    if (start_a != start_b)
        return (start_a > start_b) == (start_a <= o->at_ns); /* the nearest */
    return (a < o->slice) != (b < o->slice) ? a < o->slice : a > b;
}

static uint32_t pick(const osc_calls *c, const osc_ids *ids, int64_t id, const struct origin *o)
{
    size_t count;
    uint32_t best = osc_ids_first(ids, id);
    if (best == OSC_NO_ROW || ids->repeat_count == 0)
        return best;
    const struct osc_ids_repeat *repeats = osc_ids_repeats(ids, id, &count);
    size_t low = 0, high = count; /* first repeat behind the event */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (repeats[middle].slice < o->slice)
            low = middle + 1;
        else
            high = middle;
    }
    size_t from = low > CANDIDATES ? low - CANDIDATES : 0;
    size_t to = count - low > CANDIDATES ? low + CANDIDATES : count;
    for (size_t i = from; i < to; i++) {
        if (fits_better(c, o, repeats[i].slice, best))
            best = repeats[i].slice;
    }
    return best;
}

uint32_t *osc_calls_number_processes(const osc_store *store)
{
    const osc_track_cols *t = osc_store_track(store);
    osc_intern *pids = osc_intern_new(SIZE_MAX);
    uint32_t *processes = osc_realloc_array(NULL, (size_t)t->count + 1, sizeof *processes);
    bool ok = pids && processes;
    for (uint32_t i = 0; ok && i < t->count; i++) {
        osc_str name = osc_store_text(store, t->name[i]);
        size_t at = osc_str_find(name, OSC_STR("/PID:"));
        osc_str pid = at == SIZE_MAX ? (osc_str){0} : osc_str_sub(name, at + 5, SIZE_MAX);
        processes[i] = osc_intern_put(pids, osc_str_sub(pid, 0, osc_str_find_char(pid, '/', 0)));
        ok = processes[i] != OSC_INTERN_NONE;
    }
    osc_intern_free(pids);
    if (!ok) {
        osc_free(processes);
        return NULL;
    }
    return processes;
}

/* ---- indexes ---- */

static bool is_range(uint8_t kind)
{
    return kind == OSC_KIND_CPU_OP || kind == OSC_KIND_USER_ANNOTATION;
}

static bool index_ops(struct calls_build *b)
{
    const osc_calls *c = b->calls;
    const osc_slice_cols *s = c->slices;
    const struct calls_range *r = &b->counts.op_ids;
    if (!osc_ids_init(&b->ops, s->external_id, r->count, r->low, r->high))
        return false;
    for (uint32_t i = 0; r->count > 0 && i < s->count; i++) {
        if (is_range(s->kind[i]) && s->external_id[i] > 0 && (c->flags[i] & CALLS_COUNTED) &&
            !osc_ids_add(&b->ops, i))
            return false;
    }
    osc_ids_finish(&b->ops);
    return true;
}

static bool index_launches(struct calls_build *b)
{
    osc_calls *c = b->calls;
    const osc_slice_cols *s = c->slices;
    const struct calls_range *r = &b->counts.launch_ids;
    if (!osc_ids_init(&c->launches, s->correlation, r->count, r->low, r->high))
        return false;
    for (uint32_t i = 0; r->count > 0 && i < s->count; i++) {
        if (s->kind[i] == OSC_KIND_RUNTIME && s->correlation[i] != 0 &&
            (c->flags[i] & CALLS_COUNTED) && !osc_ids_add(&c->launches, i))
            return false;
    }
    osc_ids_finish(&c->launches);
    return true;
}

/* True when some repeated correlation may be an operator's id as well, which only its launch can tell. In files of
 * 2024 the two never meet, and the index of launches would be made for nothing. */
static bool may_be_ops(const struct calls_counts *n)
{
    return n->repeats.count > 0 && n->op_ids.count > 0 && n->repeats.low <= n->op_ids.high &&
           n->repeats.high >= n->op_ids.low;
}

/* Both indexes as far as they are needed, and the processes when some number is not unique. */
static bool build_indexes(struct calls_build *b)
{
    osc_calls *c = b->calls;
    if (!c->facts.by_correlation && !index_ops(b))
        return false;
    bool launches = !b->options->no_launches || c->facts.by_correlation || may_be_ops(&b->counts) ||
                    b->ops.repeat_count > 0;
    if (launches && !index_launches(b))
        return false;
    if (b->ops.repeat_count == 0 && c->launches.repeat_count == 0)
        return true;
    c->processes = osc_calls_number_processes(c->store);
    return c->processes != NULL;
}

uint32_t osc_calls_find_launch(const osc_calls *c, uint32_t slice)
{
    const osc_slice_cols *s = c->slices;
    if (s->kind[slice] == OSC_KIND_RUNTIME)
        return slice;
    if (s->correlation[slice] == 0)
        return OSC_NO_ROW;
    struct origin o = {slice, OSC_NO_ROW, s->start_ns[slice]};
    return pick(c, &c->launches, s->correlation[slice], &o);
}

/* ---- what both ways share ---- */

/* Device types whose linked events become kernels of their operator (2.5). */
static bool makes_kernels(osc_device device)
{
    return device == OSC_DEVICE_CUDA || device == OSC_DEVICE_PRIVATEUSE1 ||
           device == OSC_DEVICE_XPU;
}

/* Notes what a runtime call or device slice belongs to. Touches nothing but the slice's own
 * entries, so that workers do not meet. */
static void link_to(struct calls_share *share, uint32_t slice, uint32_t op, osc_link_rule rule)
{
    osc_calls *c = share->build->calls;
    if (op == OSC_NO_ROW) {
        share->counts.unlinked +=
            osc_slice_kind_is_device_work((osc_slice_kind)c->slices->kind[slice]);
        return;
    }
    assert(op < c->slices->count && is_range(c->slices->kind[op]));
    c->flags[slice] |= (uint8_t)(rule << CALLS_RULE_SHIFT);
    if (c->slices->kind[slice] == OSC_KIND_RUNTIME)
        c->own[slice] = op;
    else
        c->up[slice] = op;
}

/* Adds device work to its operators. False: out of memory. */
static bool add_kernels(struct calls_build *b)
{
    osc_calls *c = b->calls;
    for (uint32_t i = 0; c->facts.any_device && i < c->slices->count; i++) {
        if (!(c->flags[i] & CALLS_RULE) ||
            !makes_kernels((osc_device)c->device_of_kind[c->slices->kind[i]]))
            continue;
        uint32_t op = c->up[i];
        int64_t sum = osc_add_sat(calls_kernel_ns(c, op), c->slices->dur_ns[i]);
        if (!osc_calls_set_kernel_ns(b, op, sum))
            return false;
    }
    return true;
}

/* Links all slices by body, share by share, and sums up. */
static bool link_all(struct calls_build *b, void (*body)(void *shares, size_t i))
{
    osc_calls_each_share(b, body);
    for (uint32_t i = 0; i < b->workers; i++)
        b->calls->facts.unlinked += b->shares[i].counts.unlinked;
    return add_kernels(b);
}

/* Runtime calls and device work; annotations on a device belong to no operator (R01, R11). */
static bool takes_link(const osc_calls *c, uint32_t slice)
{
    uint8_t kind = c->slices->kind[slice];
    return (c->flags[slice] & CALLS_COUNTED) && kind != OSC_KIND_GPU_ANNOTATION &&
           (kind == OSC_KIND_RUNTIME || c->device_of_kind[kind] != OSC_DEVICE_CPU);
}

/* Lets the index of launches go when nobody will ask for it. */
static void forget_launches(struct calls_build *b)
{
    if (b->options->no_launches)
        osc_ids_free(&b->calls->launches);
}

/* ---- by id ---- */

/* The operator with a slice's id, when several have it. */
static uint32_t pick_op(const struct calls_build *b, uint32_t slice)
{
    const osc_calls *c = b->calls;
    const osc_slice_cols *s = c->slices;
    uint32_t launch = osc_calls_find_launch(c, slice);
    struct origin o = {slice, OSC_NO_ROW, s->start_ns[slice]};
    if (launch != OSC_NO_ROW) {
        o.process = c->processes[s->track[launch]];
        o.at_ns = s->start_ns[launch];
    }
    return pick(c, &b->ops, s->external_id[slice], &o);
}

static uint32_t op_by_id(const struct calls_build *b, uint32_t slice)
{
    const osc_slice_cols *s = b->calls->slices;
    int64_t id = s->external_id[slice];
    uint32_t op = id == 0 ? OSC_NO_ROW : osc_ids_first(&b->ops, id);
    if (op == OSC_NO_ROW)
        return OSC_NO_ROW;
    if (b->ops.repeat_count > 0)
        op = pick_op(b, slice);
    if (id != s->correlation[slice])
        return op;
    uint32_t launch = osc_calls_find_launch(b->calls, slice);
    bool inside = launch != OSC_NO_ROW && s->start_ns[launch] >= s->start_ns[op] &&
                  s->start_ns[launch] <= calls_end(s, op);
    return inside ? op : OSC_NO_ROW;
}

static void link_share_by_id(void *shares, size_t worker)
{
    struct calls_share *share = (struct calls_share *)shares + worker;
    for (uint32_t i = share->from; i < share->to; i++) {
        if (takes_link(share->build->calls, i))
            link_to(share, i, op_by_id(share->build, i), OSC_LINK_EXTERNAL_ID);
    }
}

bool osc_calls_link_by_id(struct calls_build *b)
{
    if (!build_indexes(b) || !link_all(b, link_share_by_id))
        return false;
    osc_ids_free(&b->ops);
    forget_launches(b);
    return true;
}

/* ---- by correlation and containment ---- */

/* For each operator of the order the one open when it began, on its thread. */
static bool find_around(struct calls_build *b)
{
    const osc_calls *c = b->calls;
    const osc_slice_cols *s = c->slices;
    b->around = osc_realloc_array(NULL, (size_t)c->order_count + 1, sizeof *b->around);
    if (!b->around)
        return false;
    for (uint32_t t = 0; t < c->threads; t++) {
        uint32_t open = OSC_NO_ROW; /* entry of order */
        for (uint32_t i = c->thread_first[t]; i < c->thread_first[t + 1]; i++) {
            uint32_t slice = c->order[i];
            /* What is no operator repeats the last one, so that a search may end anywhere. */
            b->around[i] = open;
            if (s->kind[slice] != OSC_KIND_CPU_OP)
                continue;
            while (open != OSC_NO_ROW && calls_end(s, c->order[open]) <= s->start_ns[slice])
                open = b->around[open];
            b->around[i] = open;
            open = i;
        }
    }
    return true;
}

/* The innermost operator of a thread open at a time, OSC_NO_ROW when there is none. */
static uint32_t covering_op(const struct calls_build *b, uint32_t thread, int64_t time)
{
    const osc_calls *c = b->calls;
    const osc_slice_cols *s = c->slices;
    uint32_t first = c->thread_first[thread], low = first, high = c->thread_first[thread + 1];
    while (low < high) { /* first entry that starts after time */
        uint32_t middle = low + (high - low) / 2;
        if (s->start_ns[c->order[middle]] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == first)
        return OSC_NO_ROW;
    uint32_t at = low - 1;
    if (s->kind[c->order[at]] != OSC_KIND_CPU_OP)
        at = b->around[at];
    while (at != OSC_NO_ROW && calls_end(s, c->order[at]) < time)
        at = b->around[at];
    return at == OSC_NO_ROW ? OSC_NO_ROW : c->order[at];
}

static void link_share_by_correlation(void *shares, size_t worker)
{
    struct calls_share *share = (struct calls_share *)shares + worker;
    const osc_calls *c = share->build->calls;
    for (uint32_t i = share->from; i < share->to; i++) {
        if (!takes_link(c, i))
            continue;
        uint32_t launch = osc_calls_find_launch(c, i), op = OSC_NO_ROW;
        if (launch != OSC_NO_ROW)
            op = covering_op(share->build, c->thread_of_track[c->slices->track[launch]],
                             c->slices->start_ns[launch]);
        link_to(share, i, op, launch == i ? OSC_LINK_CONTAINMENT : OSC_LINK_CORRELATION);
    }
}

bool osc_calls_link_by_correlation(struct calls_build *b)
{
    if (!build_indexes(b) || !find_around(b) || !link_all(b, link_share_by_correlation))
        return false;
    osc_free(b->around);
    b->around = NULL;
    forget_launches(b);
    return true;
}
