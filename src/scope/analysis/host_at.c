/*
 * host_at.c - innermost slices; see host_at.h.
 *
 * Instants: the questions are sorted by (thread, time), and a tournament tree lies over them. A
 * slice covers a run of questions, found near where the last slice of its thread found one; it
 * takes each tree node that the run is made of, unless what is there began later. At the end a
 * question asks its leaf and everything above. So tens of millions of python frames need neither
 * sorting nor memory of their own, and most of them, which cover no question, cost two comparisons.
 *
 * Pieces: the slices of a thread come parents first, so the open ones form a stack. A child that
 * outlives its parent (known-bad-inputs.md N01) keeps its time to itself.
 */
#include "scope/analysis/host_at.h"

#include "base/mem.h"
#include "scope/analysis/radix.h"

#include <assert.h>
#include <string.h>

struct tree {
    const osc_busy *busy;
    const osc_slice_cols *s;
    osc_instant *q;
    osc_keyed *sorted; /* questions by (thread, time): value is the index in q */
    int64_t *at;       /* their times, in that order */
    uint32_t n;
    uint32_t *first; /* [threads + 1]: where each thread's questions begin */
    uint32_t *hint;  /* [threads]: where its last slice began */
    uint32_t threads;
    uint32_t *inner, *range; /* [2n] slices; leaves at n.. */
};

/* True when slice x is further in than y. */
static bool further_in(const osc_slice_cols *s, uint32_t x, uint32_t y)
{
    if (y == OSC_NO_ROW || x == OSC_NO_ROW)
        return y == OSC_NO_ROW && x != OSC_NO_ROW;
    if (s->start_ns[x] != s->start_ns[y])
        return s->start_ns[x] > s->start_ns[y];
    if (s->dur_ns[x] != s->dur_ns[y])
        return s->dur_ns[x] < s->dur_ns[y];
    if (s->order[x] != s->order[y])
        return s->order[x] > s->order[y];
    return x > y;
}

static void take(const struct tree *t, uint32_t *node, uint32_t slice)
{
    if (further_in(t->s, slice, *node))
        *node = slice;
}

/* Gives a slice to the questions [low, high). */
static void give(const struct tree *t, uint32_t *nodes, uint32_t low, uint32_t high, uint32_t slice)
{
    uint64_t l = (uint64_t)low + t->n, h = (uint64_t)high + t->n;
    for (; l < h; l /= 2, h /= 2) {
        if (l % 2)
            take(t, &nodes[l++], slice);
        if (h % 2)
            take(t, &nodes[--h], slice);
    }
}

/* First question of [low, high) at or after a time; quick when it is near `from`. */
static uint32_t find(const struct tree *t, uint32_t low, uint32_t high, uint32_t from, int64_t time)
{
    if (from > low && t->at[from - 1] >= time)
        high = from;
    else
        low = from;
    for (uint32_t near = 0; near < 4 && low < high; near++, low++) {
        if (t->at[low] >= time)
            return low;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->at[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void enter(struct tree *t, uint32_t slice)
{
    uint32_t thread = osc_busy_thread(t->busy, slice);
    if (thread >= t->threads || t->first[thread] == t->first[thread + 1])
        return;
    uint32_t end = t->first[thread + 1];
    uint32_t low = find(t, t->first[thread], end, t->hint[thread], t->s->start_ns[slice]);
    t->hint[thread] = low;
    uint32_t high = find(t, low, end, low, osc_slice_end(t->s, slice));
    if (low == high)
        return;
    uint8_t kind = t->s->kind[slice];
    give(t, t->inner, low, high, slice);
    if (kind == OSC_KIND_PYTHON ||
        (kind == OSC_KIND_USER_ANNOTATION && !(osc_busy_name(t->busy, slice) & OSC_NAME_STEP)))
        give(t, t->range, low, high, slice);
}

static void answer(const struct tree *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        osc_instant *q = &t->q[t->sorted[i].value];
        q->inner = q->range = OSC_NO_ROW;
        for (uint64_t node = (uint64_t)i + t->n; node > 0; node /= 2) {
            take(t, &q->inner, t->inner[node]);
            take(t, &q->range, t->range[node]);
        }
    }
}

/* Orders the questions and notes where each thread's begin. */
static void order_questions(struct tree *t)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < t->n; i++)
        least = t->q[i].at_ns < least ? t->q[i].at_ns : least;
    for (uint32_t i = 0; i < t->n; i++)
        t->sorted[i] = (osc_keyed){(uint64_t)(t->q[i].at_ns - least), i};
    osc_radix_sort(t->sorted, t->sorted + t->n, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        t->sorted[i].key = t->q[t->sorted[i].value].thread;
    osc_radix_sort(t->sorted, t->sorted + t->n, t->n);
    for (uint32_t i = 0; i < t->n; i++) {
        t->at[i] = t->q[t->sorted[i].value].at_ns;
        t->first[t->sorted[i].key + 1] = i + 1;
    }
    for (uint32_t i = 0; i < t->threads; i++) {
        if (t->first[i + 1] < t->first[i])
            t->first[i + 1] = t->first[i]; /* a thread without questions */
        t->hint[i] = t->first[i];
    }
}

osc_status osc_host_at(const osc_busy *busy, osc_instant *questions, uint32_t n, osc_err *err)
{
    struct tree t = {.busy = busy, .s = busy->slices, .q = questions, .n = n};
    for (uint32_t i = 0; i < n; i++)
        t.threads = questions[i].thread >= t.threads ? questions[i].thread + 1 : t.threads;
    size_t room = (size_t)n + 1;
    t.sorted = osc_realloc_array(NULL, room, 2 * sizeof *t.sorted);
    t.at = osc_realloc_array(NULL, room, sizeof *t.at);
    t.first = osc_calloc((size_t)t.threads + 1, sizeof *t.first);
    t.hint = osc_calloc((size_t)t.threads + 1, sizeof *t.hint);
    t.inner = osc_realloc_array(NULL, room, 2 * sizeof *t.inner);
    t.range = osc_realloc_array(NULL, room, 2 * sizeof *t.range);
    bool ok = t.sorted && t.at && t.first && t.hint && t.inner && t.range;
    if (ok && n > 0) {
        memset(t.inner, 0xff, room * 2 * sizeof *t.inner); /* OSC_NO_ROW */
        memset(t.range, 0xff, room * 2 * sizeof *t.range);
        order_questions(&t);
        for (uint32_t i = 0; i < t.s->count; i++) {
            if (osc_busy_is_host(busy, i) && t.s->dur_ns[i] > 0)
                enter(&t, i);
        }
        answer(&t);
    }
    osc_free(t.sorted);
    osc_free(t.at);
    osc_free(t.first);
    osc_free(t.hint);
    osc_free(t.inner);
    osc_free(t.range);
    return ok ? OSC_OK
              : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for host threads");
}

/* ---- pieces ---- */

void osc_thread_range(const osc_busy *busy, uint32_t thread, uint32_t *first, uint32_t *end)
{
    uint32_t count, bounds[2];
    const uint32_t *order = osc_calls_order(busy->calls, &count);
    for (uint32_t side = 0; side < 2; side++) { /* first at or after thread, then after it */
        uint32_t low = 0, high = count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            uint32_t here = osc_calls_thread(busy->calls, order[middle]);
            if (here < thread || (side == 1 && here == thread))
                low = middle + 1;
            else
                high = middle;
        }
        bounds[side] = low;
    }
    *first = bounds[0];
    *end = bounds[1];
}

/* Rows that only stand on a thread because their operator does (a driver's view of a stream) are
 * passed over. */
static void push(osc_pieces *p, uint32_t slice)
{
    if (!osc_busy_is_host(p->busy, slice))
        return;
    if (p->depth == p->room) {
        uint32_t room = p->room ? p->room * 2 : 64;
        uint32_t *grown = osc_realloc_array(p->stack, room, sizeof *grown);
        if (!grown) {
            p->failed = true;
            return;
        }
        p->stack = grown;
        p->room = room;
    }
    p->stack[p->depth++] = slice;
}

void osc_pieces_start(osc_pieces *p, const osc_busy *busy, uint32_t first, uint32_t end,
                      int64_t from_ns, int64_t to_ns)
{
    const osc_slice_cols *s = busy->slices;
    uint32_t count, low = first, high = end;
    p->busy = busy;
    p->order = osc_calls_order(busy->calls, &count);
    assert(first <= end && end <= count);
    while (low < high) { /* first slice after from_ns */
        uint32_t middle = low + (high - low) / 2;
        if (s->start_ns[p->order[middle]] <= from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    p->next = low;
    p->end = end;
    p->at_ns = from_ns;
    p->to_ns = to_ns;
    p->depth = 0;
    if (low == first)
        return;
    for (uint32_t open = p->order[low - 1]; open != OSC_NO_ROW;
         open = osc_calls_parent(busy->calls, open)) {
        if (osc_slice_end(s, open) > from_ns)
            push(p, open);
    }
    for (uint32_t i = 0; i < p->depth / 2; i++) { /* outermost first */
        uint32_t swap = p->stack[i];
        p->stack[i] = p->stack[p->depth - 1 - i];
        p->stack[p->depth - 1 - i] = swap;
    }
}

bool osc_pieces_next(osc_pieces *p, osc_piece *out)
{
    const osc_slice_cols *s = p->busy->slices;
    while (!p->failed && p->at_ns < p->to_ns) {
        uint32_t top = p->depth > 0 ? p->stack[p->depth - 1] : OSC_NO_ROW;
        int64_t begins = p->next < p->end ? s->start_ns[p->order[p->next]] : p->to_ns;
        int64_t ends = top != OSC_NO_ROW ? osc_slice_end(s, top) : p->to_ns;
        int64_t until = begins < ends ? begins : ends;
        until = until < p->to_ns ? until : p->to_ns;
        *out = (osc_piece){p->at_ns, until, top};
        if (top != OSC_NO_ROW && ends <= until)
            p->depth--;
        else if (p->next < p->end && begins <= until)
            push(p, p->order[p->next++]);
        if (until > p->at_ns) {
            p->at_ns = until;
            return true;
        }
    }
    return false;
}

void osc_pieces_free(osc_pieces *p)
{
    osc_free(p->stack);
    p->stack = NULL;
    p->depth = p->room = 0;
}
