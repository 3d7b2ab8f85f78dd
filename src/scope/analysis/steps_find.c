/*
 * steps_find.c - the ranges ProfilerStep#N of a capture; see steps.h.
 *
 * A capture without a schedule has none (kineto-trace-format.md 3); it is then one step, from the
 * first to the last recorded work, on the thread that launched most, or else on the one with most
 * operators.
 */
#include "scope/analysis/steps.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/host_at.h"
#include "scope/analysis/radix.h"

#include <string.h>

osc_str osc_track_process(const osc_store *store, uint32_t track)
{
    const osc_track_cols *t = osc_store_track(store);
    osc_str name = osc_store_text(store, t->name[track]);
    osc_str lane = osc_store_text(store, t->lane[track]);
    return osc_str_sub(name, 0, name.len > lane.len ? name.len - lane.len - 1 : 0);
}

static bool find_processes(const osc_store *store, osc_steps *out)
{
    const osc_track_cols *t = osc_store_track(store);
    osc_intern *names = osc_intern_new(SIZE_MAX);
    for (uint32_t i = 0; i < t->count; i++)
        out->threads = t->thread[i] >= out->threads ? t->thread[i] + 1 : out->threads;
    out->process_of = osc_realloc_array(NULL, (size_t)out->threads + 1, sizeof *out->process_of);
    bool ok = names && out->process_of;
    if (ok)
        memset(out->process_of, 0xff, ((size_t)out->threads + 1) * sizeof *out->process_of);
    for (uint32_t i = 0; ok && i < t->count; i++) {
        if (t->lane_kind[i] != OSC_LANE_THREAD)
            continue;
        uint32_t id = osc_intern_put(names, osc_track_process(store, i));
        ok = id != OSC_INTERN_NONE;
        out->process_of[t->thread[i]] = id;
    }
    osc_intern_free(names);
    return ok;
}

static bool is_step(const osc_busy *b, uint32_t slice)
{
    const osc_slice_cols *s = b->slices;
    bool host = osc_busy_is_host(b, slice) && s->kind[slice] != OSC_KIND_PYTHON &&
                s->kind[slice] != OSC_KIND_RUNTIME;
    return host && (osc_busy_name(b, slice) & OSC_NAME_STEP) && s->dur_ns[slice] > 0 &&
           !(s->flags[slice] & OSC_SLICE_NO_TIME); /* the window of busy.h has none of those */
}

static osc_step make_step(const osc_busy *b, const osc_steps *out, uint32_t slice)
{
    const osc_slice_cols *s = b->slices;
    osc_str name = osc_store_text(b->store, s->name[slice]);
    osc_step step = {.start_ns = s->start_ns[slice],
                     .end_ns = osc_slice_end(s, slice),
                     .slice = slice,
                     .thread = osc_busy_thread(b, slice),
                     .unfinished = (s->flags[slice] & OSC_SLICE_UNFINISHED) != 0};
    size_t hash = osc_str_rfind_char(name, '#');
    if (hash == SIZE_MAX || !osc_parse_i64(osc_str_sub(name, hash + 1, SIZE_MAX), &step.number))
        step.number = -1;
    step.process = step.thread < out->threads ? out->process_of[step.thread] : OSC_NO_ROW;
    return step;
}

/* By (process, start); a range that repeats an overlapping one of its number is left out. */
static bool order_steps(osc_steps *out)
{
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)out->count + 1, 2 * sizeof *keys);
    osc_step *sorted = osc_realloc_array(NULL, (size_t)out->count + 1, sizeof *sorted);
    uint32_t kept = 0;
    bool ok = keys && sorted;
    for (uint32_t i = 0; ok && i < out->count; i++)
        keys[i] = (osc_keyed){(uint64_t)out->items[i].start_ns ^ (UINT64_C(1) << 63), i};
    if (ok) {
        osc_radix_sort(keys, keys + out->count, out->count);
        for (uint32_t i = 0; i < out->count; i++)
            keys[i].key = out->items[keys[i].value].process;
        osc_radix_sort(keys, keys + out->count, out->count);
        for (uint32_t i = 0; i < out->count; i++) {
            const osc_step *step = &out->items[keys[i].value];
            const osc_step *last = kept > 0 ? &sorted[kept - 1] : NULL;
            if (last && last->process == step->process && last->number == step->number &&
                step->start_ns < last->end_ns)
                out->repeated++;
            else
                sorted[kept++] = *step;
        }
        osc_free(out->items);
        out->items = sorted;
        out->count = kept;
        sorted = NULL;
    }
    osc_free(keys);
    osc_free(sorted);
    return ok;
}

/* The thread that launched most device work, or has most operators. */
static uint32_t main_thread(const osc_busy *b, uint32_t threads, uint32_t *votes)
{
    const osc_slice_cols *s = b->slices;
    uint32_t best = 0;
    bool any = false;
    memset(votes, 0, ((size_t)threads + 1) * sizeof *votes);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t launch = b->items[i].launch;
        if (launch != OSC_NO_ROW) {
            votes[osc_busy_thread(b, launch)]++;
            any = true;
        }
    }
    for (uint32_t i = 0; i < s->count && !any; i++) {
        if (osc_busy_is_host(b, i) && s->kind[i] != OSC_KIND_PYTHON)
            votes[osc_busy_thread(b, i)]++;
    }
    for (uint32_t t = 1; t < threads; t++) {
        if (votes[t] > votes[best])
            best = t;
    }
    return best;
}

static bool whole_capture(const osc_busy *b, osc_steps *out)
{
    uint32_t *votes = osc_realloc_array(NULL, (size_t)out->threads + 1, sizeof *votes);
    if (!votes)
        return false;
    out->whole = true;
    out->count = 1;
    out->items[0] = (osc_step){.start_ns = b->start_ns, .end_ns = b->end_ns, .slice = OSC_NO_ROW};
    out->items[0].thread = main_thread(b, out->threads, votes);
    if (out->items[0].thread < out->threads)
        out->items[0].process = out->process_of[out->items[0].thread];
    osc_free(votes);
    return true;
}

osc_status osc_steps_find(const osc_busy *busy, osc_steps *out, osc_err *err)
{
    const osc_slice_cols *s = busy->slices;
    memset(out, 0, sizeof *out);
    uint32_t room = 1;
    for (uint32_t i = 0; i < s->count; i++)
        room += is_step(busy, i);
    out->items = osc_realloc_array(NULL, room, sizeof *out->items);
    bool ok = out->items && find_processes(busy->store, out);
    for (uint32_t i = 0; ok && i < s->count; i++) {
        if (is_step(busy, i))
            out->items[out->count++] = make_step(busy, out, i);
    }
    ok = ok && (out->count > 0 ? order_steps(out) : whole_capture(busy, out));
    if (ok)
        return OSC_OK;
    osc_steps_free(out);
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for steps");
}

void osc_steps_free(osc_steps *steps)
{
    if (!steps)
        return;
    osc_free(steps->items);
    osc_free(steps->process_of);
    memset(steps, 0, sizeof *steps);
}

uint32_t osc_steps_at(const osc_steps *steps, uint32_t thread, int64_t time, uint32_t hint)
{
    if (steps->whole)
        return 0;
    uint32_t process = thread < steps->threads ? steps->process_of[thread] : OSC_NO_ROW;
    uint32_t low = 0, high = steps->count; /* first step after (process, time) */
    if (hint < steps->count && steps->items[hint].process == process &&
        steps->items[hint].start_ns <= time)
        low = hint;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const osc_step *m = &steps->items[middle];
        if (m->process < process || (m->process == process && m->start_ns <= time))
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0) { /* the latest that is still open; overlapping ones are few */
        const osc_step *step = &steps->items[low - 1];
        if (step->process != process)
            return OSC_NO_ROW;
        if (time < step->end_ns)
            return low - 1;
        if (low - 1 == 0 || steps->items[low - 2].end_ns <= time)
            return OSC_NO_ROW;
        low--;
    }
    return OSC_NO_ROW;
}
