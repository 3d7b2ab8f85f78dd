/*
 * follow_queue.c - what each piece of device work queued behind on its lane, and what host calls
 * waited for.
 *
 * Lanes run their work in order, so work waits for what began before it; of that the one that ended
 * last matters, as kernels of one lane may overlap (programmatic launch). The call has few pieces
 * and the trace has millions, so the call's are sorted and each slice of the trace is offered to
 * the one it precedes; maxima then run forward along each lane. Sorting the whole trace by lane
 * would cost more than reading it.
 */
#include "scope/analysis/follow_internal.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>

struct queue {
    const struct follow_call *c;
    const osc_slice_cols *s;
    uint32_t *order; /* device items by (track, start, slice) */
    uint32_t count;
    uint32_t *first; /* per track: first entry of order, tracks + 1 long */
    uint32_t *syncs; /* items of host calls that wait, by end */
    uint32_t sync_count;
};

static int compare_places(const void *left, const void *right, void *context)
{
    const struct queue *q = context;
    uint32_t a = q->c->items[*(const uint32_t *)left].slice,
             b = q->c->items[*(const uint32_t *)right].slice;
    if (q->s->track[a] != q->s->track[b])
        return q->s->track[a] < q->s->track[b] ? -1 : 1;
    if (q->s->start_ns[a] != q->s->start_ns[b])
        return q->s->start_ns[a] < q->s->start_ns[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Work that keeps a lane busy. */
static bool occupies(const struct queue *q, uint32_t slice)
{
    uint8_t kind = q->s->kind[slice];
    return osc_slice_kind_is_device_work((osc_slice_kind)kind) || kind == OSC_KIND_MTIA ||
           kind == OSC_KIND_HPU;
}

static bool sort_items(struct queue *q)
{
    uint32_t tracks = osc_store_track(q->c->f.store)->count;
    q->order = osc_realloc_array(NULL, (size_t)q->c->count + 1, sizeof *q->order);
    q->first = osc_calloc((size_t)tracks + 2, sizeof *q->first);
    q->syncs = osc_realloc_array(NULL, (size_t)q->c->count + 1, sizeof *q->syncs);
    if (!q->order || !q->first || !q->syncs)
        return false;
    for (uint32_t i = 0; i < q->c->count; i++) {
        if (occupies(q, q->c->items[i].slice))
            q->order[q->count++] = i;
    }
    qsort_r(q->order, q->count, sizeof *q->order, compare_places, q);
    for (uint32_t i = 0; i < q->count; i++)
        q->first[q->s->track[q->c->items[q->order[i]].slice] + 1]++;
    for (uint32_t t = 0; t < tracks; t++)
        q->first[t + 1] += q->first[t];
    return true;
}

static int64_t end_of(const struct queue *q, uint32_t slice)
{
    return q->s->start_ns[slice] + q->s->dur_ns[slice];
}

/* Keeps the one that ended last; of equals the earlier offered. */
static void offer(const struct queue *q, struct follow_item *item, uint32_t slice)
{
    if (item->before == OSC_NO_ROW || end_of(q, slice) > end_of(q, item->before))
        item->before = slice;
}

/* The first item of a lane that begins after a slice. */
static uint32_t item_after(const struct queue *q, uint32_t slice)
{
    uint32_t track = q->s->track[slice], low = q->first[track], high = q->first[track + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, other = q->c->items[q->order[middle]].slice;
        bool after = q->s->start_ns[other] > q->s->start_ns[slice] ||
                     (q->s->start_ns[other] == q->s->start_ns[slice] && other > slice);
        if (after)
            high = middle;
        else
            low = middle + 1;
    }
    return low < q->first[track + 1] ? q->order[low] : OSC_NO_ROW;
}

static void carry_forward(struct follow_call *c, const struct queue *q)
{
    for (uint32_t i = 1; i < q->count; i++) {
        const struct follow_item *a = &c->items[q->order[i - 1]];
        struct follow_item *b = &c->items[q->order[i]];
        if (q->s->track[a->slice] == q->s->track[b->slice] && a->before != OSC_NO_ROW)
            offer(q, b, a->before);
    }
}

/* ---- host calls that wait ---- */

static int compare_ends(const void *left, const void *right, void *context)
{
    const struct queue *q = context;
    uint32_t a = q->c->items[*(const uint32_t *)left].slice,
             b = q->c->items[*(const uint32_t *)right].slice;
    if (end_of(q, a) != end_of(q, b))
        return end_of(q, a) < end_of(q, b) ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void sort_syncs(struct queue *q)
{
    for (uint32_t i = 0; i < q->c->count; i++) {
        osc_str name = osc_store_text(q->c->f.store, q->s->name[q->c->items[i].slice]);
        if (q->c->items[i].rank == RANK_CALL &&
            osc_str_find(name, OSC_STR("Synchronize")) != SIZE_MAX)
            q->syncs[q->sync_count++] = i;
    }
    qsort_r(q->syncs, q->sync_count, sizeof *q->syncs, compare_ends, q);
}

/* Offers device work to the host call during which it ended. */
static void offer_to_sync(struct follow_call *c, const struct queue *q, uint32_t slice)
{
    uint32_t low = 0, high = q->sync_count;
    int64_t end = end_of(q, slice);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (end_of(q, c->items[q->syncs[middle]].slice) < end)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < q->sync_count && q->s->start_ns[c->items[q->syncs[low]].slice] < end)
        offer(q, &c->items[q->syncs[low]], slice);
}

bool osc_follow_queues(struct follow_call *c)
{
    struct queue q = {.c = c, .s = osc_store_slice(c->f.store)};
    bool ok = sort_items(&q);
    if (ok)
        sort_syncs(&q);
    for (uint32_t i = 0; ok && q.count + q.sync_count > 0 && i < q.s->count; i++) {
        uint32_t track = q.s->track[i];
        bool ours = q.first[track] != q.first[track + 1];
        if ((!ours && q.sync_count == 0) || !occupies(&q, i))
            continue;
        uint32_t item = ours ? item_after(&q, i) : OSC_NO_ROW;
        if (item != OSC_NO_ROW)
            offer(&q, &c->items[item], i);
        offer_to_sync(c, &q, i);
    }
    if (ok)
        carry_forward(c, &q);
    osc_free(q.order);
    osc_free(q.first);
    osc_free(q.syncs);
    return ok;
}
