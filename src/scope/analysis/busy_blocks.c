/*
 * busy_blocks.c - when a host thread waited: for the device, or for something else.
 *
 * That a call waits is known from its name, or seen: a copy ended before the call that launched it
 * returned (pageable memory); or an operator stayed open, with nothing else on its thread, until
 * its copy to the host was done (`.item()`, of backends that do not record what they wait in).
 * Waits for a data loader, a lock, a socket or time are known from the names of ranges and frames.
 *
 * Rejected: taking every long call for a wait. cudaMalloc and cudaLaunchKernel can take a second at
 * first use, and the device has nothing to do with it.
 */
#include "scope/analysis/busy.h"

#include "base/mem.h"
#include "scope/analysis/radix.h"

#include <assert.h>
#include <string.h>

static void add_block(osc_block *blocks, uint32_t *n, const osc_busy *b, uint32_t slice,
                      uint32_t item)
{
    const osc_slice_cols *s = b->slices;
    if (s->dur_ns[slice] <= 0)
        return;
    blocks[(*n)++] = (osc_block){.start_ns = s->start_ns[slice],
                                 .end_ns = osc_slice_end(s, slice),
                                 .slice = slice,
                                 .thread = osc_busy_thread(b, slice),
                                 .item = item};
}

/* A copy whose call was still open when it ended: the call waited for it (pageable memory). */
static bool is_waited_for(const osc_busy *b, uint32_t item)
{
    const osc_slice_cols *s = b->slices;
    uint32_t call = b->items[item].launch;
    return b->items[item].cls == OSC_BUSY_COPY && call != OSC_NO_ROW &&
           s->kind[call] == OSC_KIND_RUNTIME && !(osc_busy_name(b, call) & OSC_NAME_BLOCKING) &&
           osc_slice_end(s, call) >= b->items[item].end_ns;
}

/* The first host slice of a thread that begins at or after a time; OSC_NO_ROW when none does. */
static uint32_t next_on_thread(const osc_busy *b, uint32_t thread, int64_t time)
{
    const osc_slice_cols *s = b->slices;
    uint32_t low = 0, high;
    const uint32_t *order = osc_calls_order(b->calls, &high);
    uint32_t count = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t here = osc_calls_thread(b->calls, order[middle]);
        if (here < thread || (here == thread && s->start_ns[order[middle]] < time))
            low = middle + 1;
        else
            high = middle;
    }
    while (low < count && !osc_busy_is_host(b, order[low]) &&
           osc_calls_thread(b->calls, order[low]) == thread)
        low++;
    bool found = low < count && osc_calls_thread(b->calls, order[low]) == thread;
    return found ? order[low] : OSC_NO_ROW;
}

/*
 * A wait that no runtime call shows: the call of a copy to the host returned, its operator stayed
 * open until the copy was done, and the thread began nothing else meanwhile (.item() of backends
 * that do not record what they wait in). Of other copies nobody waits for the end, and one that
 * ends within its operator does so by chance.
 */
static bool is_silent_wait(const osc_busy *b, uint32_t item, osc_block *out)
{
    const osc_slice_cols *s = b->slices;
    const osc_busy_item *copy = &b->items[item];
    uint32_t call = copy->launch, op = osc_calls_op(b->calls, copy->slice);
    if (copy->cls != OSC_BUSY_COPY || call == OSC_NO_ROW || op == OSC_NO_ROW || op == call ||
        s->kind[call] != OSC_KIND_RUNTIME || (osc_busy_name(b, call) & OSC_NAME_BLOCKING) ||
        !(osc_busy_name(b, copy->slice) & OSC_NAME_TO_HOST))
        return false;
    int64_t returned = osc_slice_end(s, call);
    if (returned >= copy->end_ns || osc_slice_end(s, op) < copy->end_ns ||
        s->start_ns[op] > s->start_ns[call])
        return false;
    uint32_t thread = osc_busy_thread(b, call), next = next_on_thread(b, thread, returned);
    *out = (osc_block){returned, copy->end_ns, op, thread, item};
    return next == OSC_NO_ROW || s->start_ns[next] >= copy->end_ns;
}

/* True when a block of the ordered list lies over another one. */
static bool has_block(const osc_block *blocks, uint32_t n, const osc_block *other)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const osc_block *k = &blocks[middle];
        if (k->thread < other->thread ||
            (k->thread == other->thread && k->end_ns <= other->start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && blocks[low].thread == other->thread && blocks[low].start_ns < other->end_ns;
}

/* By (thread, start), those that begin inside the one before left out; the number left. */
static bool order_blocks(osc_block *blocks, uint32_t *count)
{
    uint32_t n = *count, kept = 0;
    int64_t least = INT64_MAX;
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)n + 1, 2 * sizeof *keys);
    osc_block *sorted = osc_realloc_array(NULL, (size_t)n + 1, sizeof *sorted);
    if (keys && sorted) {
        for (uint32_t i = 0; i < n; i++)
            least = blocks[i].start_ns < least ? blocks[i].start_ns : least;
        for (uint32_t i = 0; i < n; i++)
            keys[i] = (osc_keyed){(uint64_t)(blocks[i].start_ns - least), i};
        osc_radix_sort(keys, keys + n, n);
        for (uint32_t i = 0; i < n; i++)
            keys[i].key = blocks[keys[i].value].thread;
        osc_radix_sort(keys, keys + n, n);
        for (uint32_t i = 0; i < n; i++) {
            const osc_block *k = &blocks[keys[i].value];
            if (kept == 0 || sorted[kept - 1].thread != k->thread ||
                sorted[kept - 1].end_ns <= k->start_ns)
                sorted[kept++] = *k;
        }
        memcpy(blocks, sorted, kept * sizeof *sorted);
        *count = kept;
    }
    bool ok = keys && sorted;
    osc_free(keys);
    osc_free(sorted);
    return ok;
}

static bool is_waiting_call(const osc_busy *b, const osc_slice_cols *s, uint32_t slice)
{
    return s->kind[slice] == OSC_KIND_RUNTIME && osc_busy_is_host(b, slice) &&
           (osc_busy_name(b, slice) & OSC_NAME_BLOCKING);
}

static bool is_host_wait(const osc_busy *b, const osc_slice_cols *s, uint32_t slice)
{
    return (s->kind[slice] == OSC_KIND_PYTHON || s->kind[slice] == OSC_KIND_USER_ANNOTATION) &&
           (osc_busy_name(b, slice) & OSC_NAME_HOST_WAIT);
}

/* Slices that `is` names, and with copies the launches that waited for theirs. */
static osc_status find_blocks(const osc_busy *b,
                              bool (*is)(const osc_busy *, const osc_slice_cols *, uint32_t),
                              bool copies, osc_block **out, uint32_t *count, osc_err *err)
{
    const osc_slice_cols *s = b->slices;
    uint32_t room = 0, n = 0;
    for (uint32_t i = 0; i < s->count; i++)
        room += is(b, s, i);
    for (uint32_t i = 0; i < b->count && copies; i++)
        room += (uint32_t)is_waited_for(b, i) + (b->items[i].cls == OSC_BUSY_COPY);
    osc_block *blocks = osc_realloc_array(NULL, (size_t)room + 1, sizeof *blocks);
    for (uint32_t i = 0; i < s->count && blocks; i++) {
        if (is(b, s, i))
            add_block(blocks, &n, b, i, OSC_NO_ROW);
    }
    for (uint32_t i = 0; i < b->count && copies && blocks; i++) {
        if (is_waited_for(b, i))
            add_block(blocks, &n, b, b->items[i].launch, i);
    }
    bool ok = blocks && order_blocks(blocks, &n);
    uint32_t known = n;
    for (uint32_t i = 0; i < b->count && copies && ok; i++) {
        osc_block silent;
        if (is_silent_wait(b, i, &silent) && !has_block(blocks, known, &silent))
            blocks[n++] = silent;
    }
    assert(n <= room);
    ok = ok && (n == known || order_blocks(blocks, &n));
    if (!ok)
        osc_free(blocks);
    *out = ok ? blocks : NULL;
    *count = ok ? n : 0;
    return ok ? OSC_OK
              : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for waiting calls");
}

osc_status osc_busy_blocks(const osc_busy *b, osc_block **out, uint32_t *count, osc_err *err)
{
    return find_blocks(b, is_waiting_call, true, out, count, err);
}

osc_status osc_busy_host_waits(const osc_busy *b, osc_block **out, uint32_t *count, osc_err *err)
{
    return find_blocks(b, is_host_wait, false, out, count, err);
}
