/*
 * calls_order.c - host slices by thread and time, how they nest, and which are duplicates.
 *
 * Slices are dealt out to their threads in order of the file, which is nearly the order of time: a
 * merge sort of the runs that are there already finds little to do, and stays O(n log n) on any
 * input.
 *
 * The nesting follows PyTorch to the letter because counts and self times depend on it: a stack per
 * thread; the top is popped while the next event starts at or after its end or ends after it; what
 * is left is the parent (kineto-trace-format.md 2.3). Since an event is pushed only above its
 * parent or onto an empty stack, the stack is the chain of parents and needs no memory of its own.
 *
 * Rejected: duplicate removal by repeated passes as PyTorch does it. A pass that goes parents first
 * finds all of them: when a slice vanishes, its children meet exactly the condition they would have
 * met before, so one pass is enough and the cost is linear (known-bad-inputs.md S07).
 */
#include "scope/analysis/calls_internal.h"

#include "base/mem.h"
#include "base/thread.h"

#include <assert.h>
#include <string.h>

/* ---- threads ---- */

/* Deals the counted host slices out to their threads, in order of the file. */
static bool deal(osc_calls *c)
{
    const osc_track_cols *tracks = osc_store_track(c->store);
    for (uint32_t i = 0; i < tracks->count; i++)
        c->threads = tracks->thread[i] >= c->threads ? tracks->thread[i] + 1 : c->threads;
    uint32_t *next = osc_calloc((size_t)c->threads + 2, sizeof *next);
    c->thread_first = next;
    if (!next)
        return false;
    for (uint32_t i = 0; i < c->slices->count; i++) {
        if ((c->flags[i] & CALLS_COUNTED) && calls_on_cpu(c, i)) {
            next[calls_thread(c, i) + 2]++;
            c->order_count++;
        }
    }
    c->order = osc_realloc_array(NULL, (size_t)c->order_count + 1, sizeof *c->order);
    if (!c->order)
        return false;
    for (uint32_t t = 2; t < c->threads + 2; t++)
        next[t] += next[t - 1];
    for (uint32_t i = 0; i < c->slices->count; i++) {
        if ((c->flags[i] & CALLS_COUNTED) && calls_on_cpu(c, i))
            c->order[next[calls_thread(c, i) + 1]++] = i;
    }
    assert(next[c->threads] == c->order_count);
    return true;
}

/* ---- sorting ---- */

/* (start, longest, the profiler's own order, order of the file) */
static bool comes_before(const osc_slice_cols *s, uint32_t a, uint32_t b)
{
    if (s->start_ns[a] != s->start_ns[b])
        return s->start_ns[a] < s->start_ns[b];
    if (s->dur_ns[a] != s->dur_ns[b])
        return s->dur_ns[a] > s->dur_ns[b];
    if (s->order[a] != s->order[b])
        return s->order[a] < s->order[b];
    return a < b;
}

static void reverse(uint32_t *items, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t swap = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = swap;
    }
}

/* Length of the run at the front, which is turned round when it descends. */
static uint32_t take_run(const osc_slice_cols *s, uint32_t *items, uint32_t count)
{
    uint32_t n = 1;
    if (count < 2)
        return count;
    if (comes_before(s, items[1], items[0])) {
        while (n < count && comes_before(s, items[n], items[n - 1]))
            n++;
        reverse(items, n);
        return n;
    }
    while (n < count && comes_before(s, items[n - 1], items[n]))
        n++;
    return n;
}

/* Merges two neighbours into out. */
static void merge(const osc_slice_cols *s, const uint32_t *in, uint32_t half, uint32_t count,
                  uint32_t *out)
{
    if (half >= count || comes_before(s, in[half - 1], in[half])) {
        memcpy(out, in, count * sizeof *in);
        return;
    }
    uint32_t a = 0, b = half;
    for (uint32_t i = 0; i < count; i++) {
        bool take_a = b == count || (a < half && comes_before(s, in[a], in[b]));
        out[i] = take_a ? in[a++] : in[b++];
    }
}

/* Merges neighbouring runs, ends[i] being the end of run i, until one is left. */
static void merge_runs(const osc_slice_cols *s, uint32_t *items, uint32_t *spare, uint32_t *ends,
                       uint32_t runs)
{
    uint32_t *from = items, *to = spare, count = ends[runs - 1];
    while (runs > 1) {
        uint32_t left = 0, start = 0;
        for (uint32_t r = 0; r < runs; r += 2) {
            uint32_t half = ends[r] - start, end = ends[r + 1 < runs ? r + 1 : r];
            merge(s, from + start, half, end - start, to + start);
            start = ends[left++] = end;
        }
        runs = left;
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

/* Number of runs; those that descend are turned round, so that a second look finds no more. */
static uint32_t count_runs(const osc_slice_cols *s, uint32_t *items, uint32_t count)
{
    uint32_t runs = 0;
    for (uint32_t done = 0; done < count; runs++)
        done += take_run(s, items + done, count - done);
    return runs;
}

bool osc_calls_sort_slices(const osc_slice_cols *s, uint32_t *items, uint32_t count)
{
    uint32_t runs = count_runs(s, items, count), found = 0;
    if (runs < 2)
        return true;
    uint32_t *spare = osc_realloc_array(NULL, (size_t)count + runs, sizeof *spare);
    if (!spare)
        return false;
    uint32_t *ends = spare + count;
    for (uint32_t done = 0; done < count; ends[found++] = done)
        done += take_run(s, items + done, count - done);
    assert(found <= runs);
    merge_runs(s, items, spare, ends, found);
    osc_free(spare);
    return true;
}

static void sort_thread(void *context, size_t thread)
{
    struct calls_build *b = context;
    osc_calls *c = b->calls;
    uint32_t first = c->thread_first[thread];
    b->done[thread] =
        osc_calls_sort_slices(c->slices, c->order + first, c->thread_first[thread + 1] - first);
}

/* Does body for every thread of the trace; false when one of them had no memory. */
static bool each_thread(struct calls_build *b, void (*body)(void *context, size_t thread))
{
    uint32_t threads = b->calls->threads, done = 0;
    osc_parallel_for(threads, b->workers, body, b);
    for (uint32_t t = 0; t < threads; t++)
        done += b->done[t];
    return done == threads;
}

bool osc_calls_sort(struct calls_build *b)
{
    if (!deal(b->calls))
        return false;
    b->done = osc_calloc((size_t)b->calls->threads + 1, sizeof *b->done);
    return b->done && each_thread(b, sort_thread);
}

/* ---- nesting ---- */

static void count_child(uint8_t *flags)
{
    if ((*flags & CALLS_CHILDREN) < 2u << CALLS_CHILD_SHIFT)
        *flags = (uint8_t)(*flags + (1u << CALLS_CHILD_SHIFT));
}

static void nest_thread(osc_calls *c, uint32_t thread)
{
    const osc_slice_cols *s = c->slices;
    uint32_t top = OSC_NO_ROW;
    for (uint32_t i = c->thread_first[thread]; i < c->thread_first[thread + 1]; i++) {
        uint32_t slice = c->order[i];
        int64_t start = s->start_ns[slice], end = calls_end(s, slice);
        while (top != OSC_NO_ROW && (start >= calls_end(s, top) || end > calls_end(s, top)))
            top = c->up[top];
        c->up[slice] = top;
        if (top != OSC_NO_ROW)
            count_child(&c->flags[top]);
        top = slice;
    }
}

uint32_t osc_calls_open_at(const osc_calls *c, uint32_t thread, int64_t at_ns)
{
    uint32_t first = c->thread_first[thread], low = first, high = c->thread_first[thread + 1];
    while (low < high) { /* first entry that starts later */
        uint32_t middle = low + (high - low) / 2;
        if (c->slices->start_ns[c->order[middle]] <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t slice = low == first ? OSC_NO_ROW : c->order[low - 1];
    while (slice != OSC_NO_ROW && at_ns >= calls_end(c->slices, slice))
        slice = c->up[slice];
    return slice;
}

/* Records of running out of memory are events without length (2.5): children of what is open
 * then. */
static void count_ooms(const struct calls_build *b, uint32_t thread)
{
    const osc_calls *c = b->calls;
    const osc_memory_cols *m = osc_store_memory(c->store);
    for (uint32_t i = 0; i < b->oom_count; i++) {
        uint32_t row = b->ooms[i];
        if (c->thread_of_track[m->track[row]] != thread)
            continue;
        uint32_t around = osc_calls_open_at(c, thread, m->at_ns[row]);
        if (around != OSC_NO_ROW)
            count_child(&c->flags[around]);
    }
}

static bool list_ooms(struct calls_build *b)
{
    const osc_memory_cols *m = osc_store_memory(b->calls->store);
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->count; i++)
        count += m->oom[i] != 0;
    if (count == 0)
        return true;
    b->ooms = osc_realloc_array(NULL, count, sizeof *b->ooms);
    if (!b->ooms)
        return false;
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->oom[i])
            b->ooms[b->oom_count++] = i;
    }
    return true;
}

/* The kernels of an event become those of its parent. Sums in `big` are shared by all threads. */
static bool hand_up_kernels(struct calls_build *b, uint32_t parent, uint32_t slice)
{
    osc_calls *c = b->calls;
    if (!((c->flags[slice] | c->flags[parent]) & CALLS_BIG) &&
        c->slices->kind[parent] != OSC_KIND_RUNTIME)
        return osc_calls_set_kernel_ns(b, parent, calls_kernel_ns(c, slice));
    osc_mutex_lock(&b->lock);
    bool ok = osc_calls_set_kernel_ns(b, parent, calls_kernel_ns(c, slice));
    osc_mutex_unlock(&b->lock);
    return ok;
}

/* An only child with its parent's name vanishes; its children and its kernels move up, and the
 * parent's own kernels are replaced (kineto-trace-format.md 2.4). */
static bool remove_duplicates(struct calls_build *b, uint32_t thread)
{
    osc_calls *c = b->calls;
    for (uint32_t i = c->thread_first[thread]; i < c->thread_first[thread + 1]; i++) {
        uint32_t slice = c->order[i], parent = c->up[slice];
        if (parent == OSC_NO_ROW)
            continue;
        if (c->flags[parent] & CALLS_GONE)
            parent = c->up[slice] = c->up[parent];
        assert(!(c->flags[parent] & CALLS_GONE));
        if ((c->flags[parent] & CALLS_CHILDREN) != 1u << CALLS_CHILD_SHIFT ||
            calls_row_name(c, parent) != calls_row_name(c, slice))
            continue;
        c->flags[parent] =
            (uint8_t)((c->flags[parent] & ~CALLS_CHILDREN) | (c->flags[slice] & CALLS_CHILDREN));
        c->flags[slice] |= CALLS_GONE;
        if (!hand_up_kernels(b, parent, slice))
            return false;
    }
    return true;
}

static void nest_and_clean(void *context, size_t thread)
{
    struct calls_build *b = context;
    nest_thread(b->calls, (uint32_t)thread);
    count_ooms(b, (uint32_t)thread);
    b->done[thread] = b->options->keep_duplicates || remove_duplicates(b, (uint32_t)thread);
}

bool osc_calls_nest(struct calls_build *b)
{
    return list_ooms(b) && each_thread(b, nest_and_clean);
}
