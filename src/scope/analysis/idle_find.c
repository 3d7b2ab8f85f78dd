/*
 * idle_find.c - cuts the idle time of each device into pieces with one class each; see idle.h.
 *
 *     device   ======|                                                  |=======
 *              before|<- - - - - - - - - - idle - - - - - - - - - - - ->|after
 *     host            [ wait for device ][ operators, Python  ][launch]
 *                    |       sync        |      no launch      | launch |
 *
 * The launch of the work after the interval decides. Up to its begin the host had not launched:
 * sync while the launching thread was in a call that waits for the device, host wait while it was
 * in something that waits for anything else, no launch otherwise. From its begin on: launch; or,
 * when it began before the interval did, queue, by stream split by what other streams did
 * meanwhile.
 *
 * Rejected: one class for a whole interval, as HolisticTraceAnalysis has it. A long interval
 * usually has two causes, first the wait and then the host's own time, and only the second can be
 * worked on.
 */
#include "scope/analysis/idle.h"

#include "base/mem.h"
#include "scope/analysis/host_at.h"
#include "scope/analysis/radix.h"

#include <assert.h>
#include <string.h>

struct find {
    const osc_busy *busy;
    const osc_slice_cols *s;
    osc_idle *out;
    bool by_stream;
    osc_block *blocks, *waits; /* calls that wait for the device; frames that wait for others */
    uint32_t block_count, wait_count;
    uint32_t *order; /* items by (group, start); NULL: as they are */
    osc_span *comm;  /* joined collectives and other work of the device at hand; by stream only */
    osc_span *other;
    uint32_t comm_count, other_count;
    uint32_t comm_at, other_at; /* first span that can matter to later intervals */
    bool failed;
};

static uint32_t item_at(const struct find *f, uint32_t i)
{
    return f->order ? f->order[i] : i;
}

static uint32_t group_of(const struct find *f, const osc_busy_item *item)
{
    return f->by_stream ? item->lane : item->device;
}

static void put(struct find *f, const osc_idle_piece *at, int64_t start, int64_t end,
                osc_idle_class cls, uint32_t cause)
{
    osc_idle *out = f->out;
    if (start >= end || f->failed)
        return;
    if (out->count == out->room) {
        uint32_t room = out->room ? out->room + out->room / 2 : 1024;
        osc_idle_piece *grown = osc_realloc_array(out->pieces, room, sizeof *grown);
        if (!grown || room < out->room) {
            f->failed = true;
            return;
        }
        out->pieces = grown;
        out->room = room;
    }
    osc_idle_piece *p = &out->pieces[out->count++];
    *p = *at;
    p->start_ns = start;
    p->end_ns = end;
    p->cls = (uint8_t)cls;
    p->cause = cause;
    p->range = OSC_NO_ROW;
}

/* ---- before the launch ---- */

/* First of a thread's waits that ends after a time. */
static uint32_t first_block(const osc_block *blocks, uint32_t n, uint32_t thread, int64_t time)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const osc_block *b = &blocks[middle];
        if (b->thread < thread || (b->thread == thread && b->end_ns <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* [start, end), cut where the thread begins or ends to wait; what else it was in is asked later. */
static void put_cut(struct find *f, const osc_idle_piece *at, uint32_t thread, int64_t start,
                    int64_t end, osc_idle_class wait)
{
    bool sync = wait == OSC_IDLE_SYNC;
    const osc_block *blocks = sync ? f->blocks : f->waits;
    uint32_t n = sync ? f->block_count : f->wait_count;
    uint32_t i = start < end ? first_block(blocks, n, thread, start) : n;
    for (; start < end; i++) {
        bool more = i < n && blocks[i].thread == thread && blocks[i].start_ns < end;
        int64_t from = !more ? end : blocks[i].start_ns > start ? blocks[i].start_ns : start;
        if (sync) /* what is no wait for the device may be another wait */
            put_cut(f, at, thread, start, from, OSC_IDLE_HOST_WAIT);
        else
            put(f, at, start, from, OSC_IDLE_NO_LAUNCH, OSC_NO_ROW);
        start = from;
        if (more) {
            int64_t to = blocks[i].end_ns < end ? blocks[i].end_ns : end;
            put(f, at, from, to, wait, blocks[i].slice);
            start = to;
        }
    }
}

/* ---- after it ---- */

/* What is at `time` in a joined list: true inside a span; *until is where that changes. */
static bool inside(const osc_span *spans, uint32_t n, uint32_t *at, int64_t time, int64_t *until)
{
    while (*at < n && spans[*at].end_ns <= time)
        (*at)++;
    bool in = *at < n && spans[*at].start_ns <= time;
    int64_t change = *at >= n ? INT64_MAX : in ? spans[*at].end_ns : spans[*at].start_ns;
    *until = change < *until ? change : *until;
    return in;
}

static void put_queued(struct find *f, const osc_idle_piece *at, int64_t start, int64_t end,
                       uint32_t launch)
{
    if (!f->by_stream) {
        put(f, at, start, end, OSC_IDLE_QUEUE, launch);
        return;
    }
    while (start < end) {
        int64_t until = end;
        bool comm = inside(f->comm, f->comm_count, &f->comm_at, start, &until);
        bool other = inside(f->other, f->other_count, &f->other_at, start, &until);
        osc_idle_class cls = comm ? OSC_IDLE_COMM : other ? OSC_IDLE_STREAM : OSC_IDLE_QUEUE;
        put(f, at, start, until, cls, launch);
        start = until;
    }
}

/* The item that ends an idle interval: of those that begin together the one launched first. */
static uint32_t waker(const struct find *f, uint32_t i, uint32_t end)
{
    uint32_t best = item_at(f, i);
    const osc_busy_item *first = &f->busy->items[best];
    for (uint32_t j = i + 1; j < end; j++) {
        const osc_busy_item *item = &f->busy->items[item_at(f, j)];
        uint32_t known = f->busy->items[best].launch;
        if (item->start_ns != first->start_ns)
            break;
        if (item->launch != OSC_NO_ROW &&
            (known == OSC_NO_ROW || f->s->start_ns[item->launch] < f->s->start_ns[known]))
            best = item_at(f, j);
    }
    return best;
}

static void cut(struct find *f, osc_idle_piece *at, int64_t start, int64_t end)
{
    const osc_busy_item *after = &f->busy->items[at->after];
    if (after->launch == OSC_NO_ROW) {
        put(f, at, start, end, at->before == OSC_NO_ROW ? OSC_IDLE_EDGE : OSC_IDLE_UNKNOWN,
            OSC_NO_ROW);
        return;
    }
    int64_t launch = f->s->start_ns[after->launch];
    int64_t middle = launch < start ? start : launch > end ? end : launch;
    put_cut(f, at, osc_busy_thread(f->busy, after->launch), start, middle, OSC_IDLE_SYNC);
    if (launch > start)
        put(f, at, middle, end, OSC_IDLE_LAUNCH, after->launch);
    else
        put_queued(f, at, middle, end, after->launch);
}

/* The pieces of one group, whose items are [first, end). */
static void cut_group(struct find *f, uint32_t group, uint32_t first, uint32_t end)
{
    osc_idle_piece at = {.before = OSC_NO_ROW, .after = OSC_NO_ROW, .group = group};
    int64_t busy_until = f->busy->start_ns;
    for (uint32_t i = first; i < end; i++) {
        const osc_busy_item *item = &f->busy->items[item_at(f, i)];
        if (item->start_ns > busy_until) {
            at.after = waker(f, i, end);
            cut(f, &at, busy_until, item->start_ns);
        }
        if (item->end_ns >= busy_until) {
            busy_until = item->end_ns;
            at.before = item_at(f, i);
        }
    }
    at.after = OSC_NO_ROW;
    put(f, &at, busy_until, f->busy->end_ns, OSC_IDLE_EDGE, OSC_NO_ROW);
}

/* ---- groups ---- */

/* Collectives, and everything else, of a device, without the stream at hand: a stream's own work
 * cannot overlap its idle time, so all of the device's work will do. */
static void join_device(struct find *f, uint32_t device)
{
    const osc_busy *b = f->busy;
    f->comm_count = f->other_count = 0;
    for (uint32_t i = b->device_first[device]; i < b->device_first[device + 1]; i++) {
        osc_span span = {b->items[i].start_ns, b->items[i].end_ns};
        if (b->items[i].cls == OSC_BUSY_COMM)
            f->comm[f->comm_count++] = span;
        else
            f->other[f->other_count++] = span;
    }
    f->comm_count = osc_spans_join(f->comm, f->comm_count);
    f->other_count = osc_spans_join(f->other, f->other_count);
}

static bool order_by_lane(struct find *f, uint32_t *lane_first)
{
    const osc_busy *b = f->busy;
    size_t room = (size_t)b->count + 1;
    f->order = osc_realloc_array(NULL, room, sizeof *f->order);
    f->comm = osc_realloc_array(NULL, room, sizeof *f->comm);
    f->other = osc_realloc_array(NULL, room, sizeof *f->other);
    uint32_t *at = osc_calloc((size_t)b->lane_count + 1, sizeof *at);
    bool ok = f->order && f->comm && f->other && at;
    if (ok) {
        for (uint32_t i = 0; i < b->count; i++)
            lane_first[b->items[i].lane + 1]++;
        for (uint32_t l = 0; l < b->lane_count; l++)
            lane_first[l + 1] += lane_first[l];
        memcpy(at, lane_first, ((size_t)b->lane_count + 1) * sizeof *at);
        for (uint32_t i = 0; i < b->count; i++)
            f->order[at[b->items[i].lane]++] = i;
    }
    osc_free(at);
    return ok;
}

static bool cut_all(struct find *f)
{
    const osc_busy *b = f->busy;
    uint32_t *lanes = NULL;
    f->out->groups = f->by_stream ? b->lane_count : b->device_count;
    f->out->first = osc_calloc((size_t)f->out->groups + 1, sizeof *f->out->first);
    if (f->by_stream)
        lanes = osc_calloc((size_t)b->lane_count + 1, sizeof *lanes);
    bool ok = f->out->first && (!f->by_stream || (lanes && order_by_lane(f, lanes)));
    uint32_t joined = OSC_NO_ROW;
    for (uint32_t g = 0; ok && g < f->out->groups; g++) {
        const uint32_t *first = f->by_stream ? lanes : b->device_first;
        assert(first[g] == first[g + 1] || group_of(f, &b->items[item_at(f, first[g])]) == g);
        if (f->by_stream && b->lanes[g].device != joined)
            join_device(f, joined = b->lanes[g].device);
        f->comm_at = f->other_at = 0;
        cut_group(f, g, first[g], first[g + 1]);
        f->out->first[g + 1] = f->out->count;
    }
    osc_free(lanes);
    return ok && !f->failed;
}

/* ---- what the host was in ---- */

static bool is_asked(const osc_idle_piece *p)
{
    return p->cls <= OSC_IDLE_SYNC;
}

static void take_answer(const struct find *f, osc_idle_piece *p, const osc_instant *q)
{
    p->range = q->range;
    if (p->cls == OSC_IDLE_NO_LAUNCH)
        p->cause = q->inner;
    if (p->cause != OSC_NO_ROW && (osc_busy_name(f->busy, p->cause) & OSC_NAME_STEP)) {
        p->range = p->cause; /* nothing but the step: it is where, not why */
        p->cause = OSC_NO_ROW;
    }
    if (p->range == p->cause)
        p->range = OSC_NO_ROW;
}

/* For pieces in which the host had not launched: what the launching thread was in, at their
 * middle. */
static osc_status ask_host(struct find *f, osc_err *err)
{
    osc_idle *out = f->out;
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->count; i++)
        n += is_asked(&out->pieces[i]);
    osc_instant *q = osc_realloc_array(NULL, (size_t)n + 1, sizeof *q);
    if (!q)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for idle time");
    n = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        const osc_idle_piece *p = &out->pieces[i];
        if (is_asked(p)) {
            uint32_t launch = f->busy->items[p->after].launch;
            q[n++] = (osc_instant){.at_ns = p->start_ns + (p->end_ns - p->start_ns) / 2,
                                   .thread = osc_busy_thread(f->busy, launch)};
        }
    }
    osc_status status = osc_host_at(f->busy, q, n, err);
    n = 0;
    for (uint32_t i = 0; status == OSC_OK && i < out->count; i++) {
        osc_idle_piece *p = &out->pieces[i];
        if (is_asked(p))
            take_answer(f, p, &q[n++]);
        else if (p->cause != OSC_NO_ROW)
            p->range = osc_calls_op(f->busy->calls, f->busy->items[p->after].slice);
    }
    osc_free(q);
    return status;
}

osc_status osc_idle_find(const osc_busy *busy, bool by_stream, osc_idle *out, osc_err *err)
{
    memset(out, 0, sizeof *out);
    struct find f = {.busy = busy, .s = busy->slices, .out = out, .by_stream = by_stream};
    osc_status status = osc_busy_blocks(busy, &f.blocks, &f.block_count, err);
    if (status == OSC_OK)
        status = osc_busy_host_waits(busy, &f.waits, &f.wait_count, err);
    if (status == OSC_OK && !cut_all(&f))
        status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for idle time");
    if (status == OSC_OK)
        status = ask_host(&f, err);
    osc_free(f.blocks);
    osc_free(f.waits);
    osc_free(f.order);
    osc_free(f.comm);
    osc_free(f.other);
    if (status != OSC_OK)
        osc_idle_free(out);
    return status;
}

void osc_idle_free(osc_idle *idle)
{
    if (!idle)
        return;
    osc_free(idle->pieces);
    osc_free(idle->first);
    memset(idle, 0, sizeof *idle);
}

const char *osc_idle_class_name(osc_idle_class cls)
{
    static const char *const names[OSC_IDLE_CLASSES] = {"no launch",  "host wait", "sync",
                                                        "launch",     "queue",     "other stream",
                                                        "collective", "unknown",   "edge"};
    return (unsigned)cls < OSC_IDLE_CLASSES ? names[cls] : "?";
}
