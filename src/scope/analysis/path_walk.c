/*
 * path_walk.c - walks the graph of a step back from its end, and evaluates it with contributors
 * taken out.
 *
 * Walking: what came last of all that a point or a task could not come before is what it waited
 * for. Following that from the end of the step gives stretches that touch, so their lengths add up
 * to the step's.
 *
 * Evaluating: with every lag and length as observed, the same rule in order of time gives the
 * observed times back. With some of them set to zero it gives what the step would have taken, as
 * far as the trace tells. The path of before is still a chain of what must follow each other, less
 * the stretches taken out, so the gain is at most their time on the path; it is less where another
 * chain is then the longest.
 */
#include "scope/analysis/path_internal.h"

#include "base/map.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

const char *osc_path_kind_name(osc_path_kind kind)
{
    static const char *const names[OSC_PATH_KINDS] = {"host", "other", "launch", "kernel", "copy",
                                                      "comm", "sync",  "queue",  "unknown"};
    return (unsigned)kind < OSC_PATH_KINDS ? names[kind] : "?";
}

/* ---- pieces of host threads, one walk for each thread ---- */

struct host {
    const osc_busy *busy;
    osc_pieces *of;   /* [thread] */
    uint32_t *first;  /* [thread]: where its slices begin in osc_calls_order */
    uint8_t *started; /* [thread] */
    uint32_t threads;
};

static bool host_open(struct host *h, const path_graph *g)
{
    h->busy = g->busy;
    for (uint32_t i = 0; i < g->point_count; i++)
        h->threads = g->points[i].thread >= h->threads ? g->points[i].thread + 1 : h->threads;
    h->of = osc_calloc((size_t)h->threads + 1, sizeof *h->of);
    h->first = osc_calloc((size_t)h->threads + 1, sizeof *h->first);
    h->started = osc_calloc((size_t)h->threads + 1, 1);
    return h->of && h->first && h->started;
}

static void host_close(struct host *h)
{
    for (uint32_t t = 0; t < h->threads && h->of; t++)
        osc_pieces_free(&h->of[t]);
    osc_free(h->of);
    osc_free(h->first);
    osc_free(h->started);
}

/* The walk of a thread, from one time to another; cheap when it stands at `from` already. */
static osc_pieces *host_pieces(struct host *h, uint32_t thread, int64_t from, int64_t to)
{
    osc_pieces *p = &h->of[thread];
    uint32_t end = p->end;
    assert(thread < h->threads);
    if (!h->started[thread])
        osc_thread_range(h->busy, thread, &h->first[thread], &end);
    if (!h->started[thread] || p->at_ns != from)
        osc_pieces_start(p, h->busy, h->first[thread], end, from, to);
    p->to_ns = to;
    h->started[thread] = 1;
    return p;
}

/* What a piece counts as: an operator or call, or neither. */
static uint8_t piece_kind(const struct host *h, const osc_piece *piece)
{
    const osc_slice_cols *s = h->busy->slices;
    bool host = piece->slice != OSC_NO_ROW && (osc_busy_is_op(h->busy, piece->slice) ||
                                               s->kind[piece->slice] == OSC_KIND_RUNTIME);
    return host ? OSC_PATH_HOST : OSC_PATH_OTHER;
}

/* ---- the walk ---- */

struct walker {
    const path_graph *g;
    struct host host;
    path_walk *out;
};

static void put(struct walker *w, int64_t start, int64_t end, osc_path_kind kind, uint32_t slice,
                uint32_t thread, uint32_t lane)
{
    path_walk *out = w->out;
    if (start >= end || out->failed)
        return;
    if (out->count == out->room) {
        uint32_t room = out->room ? out->room * 2 : 256;
        path_segment *grown = osc_realloc_array(out->segments, room, sizeof *grown);
        if (!grown) {
            out->failed = true;
            return;
        }
        out->segments = grown;
        out->room = room;
    }
    out->segments[out->count++] = (path_segment){.start_ns = start,
                                                 .end_ns = end,
                                                 .slice = slice,
                                                 .thread = thread,
                                                 .lane = lane,
                                                 .kind = (uint8_t)kind};
}

static void reverse(path_segment *s, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        path_segment swap = s[i];
        s[i] = s[n - 1 - i];
        s[n - 1 - i] = swap;
    }
}

/* A stretch of a host thread, piece by piece; the walk goes back, so the pieces are turned
 * round. */
static void put_host(struct walker *w, uint32_t thread, int64_t start, int64_t end)
{
    uint32_t first = w->out->count;
    osc_piece piece;
    if (start >= end)
        return;
    osc_pieces *p = host_pieces(&w->host, thread, start, end);
    while (osc_pieces_next(p, &piece))
        put(w, piece.start_ns, piece.end_ns, (osc_path_kind)piece_kind(&w->host, &piece),
            piece.slice, thread, OSC_NO_ROW);
    w->out->failed = w->out->failed || p->failed;
    if (!w->out->failed)
        reverse(w->out->segments + first, w->out->count - first);
}

/* Where the walk is: at a point, or within a task up to a time. */
struct position {
    uint32_t point, task;
    int64_t at_ns;
};

/* Back from a point; false at the begin of the step. */
static bool from_point(struct walker *w, struct position *pos)
{
    const path_graph *g = w->g;
    const path_point *p = &g->points[pos->point];
    int64_t since = p->before == OSC_NO_ROW ? g->step->start_ns : g->points[p->before].at_ns;
    if (p->task != OSC_NO_ROW && since + p->host_lag < p->at_ns) {
        osc_path_kind kind = p->kind == PATH_WAIT_END ? OSC_PATH_SYNC : OSC_PATH_UNKNOWN;
        put(w, p->at_ns - p->task_lag, p->at_ns, kind, p->slice, p->thread, OSC_NO_ROW);
        *pos = (struct position){OSC_NO_ROW, p->task, g->tasks[p->task].end_ns};
        return true;
    }
    if (p->other != OSC_NO_ROW) {
        put_host(w, p->thread, p->at_ns - p->other_lag, p->at_ns);
        *pos = (struct position){p->other, OSC_NO_ROW, g->points[p->other].at_ns};
        return true;
    }
    put_host(w, p->thread, since, p->at_ns);
    *pos = (struct position){p->before, OSC_NO_ROW, since};
    return p->before != OSC_NO_ROW;
}

/* What a task waited for: its launch, the task before it, or a task of another stream. */
enum binding { BY_NOTHING, BY_LAUNCH, BY_BEFORE, BY_EVENT };

static enum binding binding_of(const path_graph *g, const path_task *t, int64_t *ready)
{
    enum binding best = BY_NOTHING;
    *ready = INT64_MIN;
    if (t->launch != OSC_NO_ROW) {
        *ready = g->points[t->launch].at_ns + t->launch_lag;
        best = BY_LAUNCH;
    }
    if (t->before != OSC_NO_ROW) {
        int64_t end = g->tasks[t->before].end_ns;
        end = end < t->start_ns ? end : t->start_ns;
        if (end >= *ready) {
            *ready = end;
            best = BY_BEFORE;
        }
    }
    if (t->event != OSC_NO_ROW && g->tasks[t->event].end_ns > *ready) {
        *ready = g->tasks[t->event].end_ns;
        best = BY_EVENT;
    }
    assert(*ready <= t->start_ns);
    return best;
}

static osc_path_kind kind_of_class(uint8_t cls)
{
    return cls == OSC_BUSY_COMPUTE ? OSC_PATH_KERNEL
           : cls == OSC_BUSY_COMM  ? OSC_PATH_COMM
                                   : OSC_PATH_COPY;
}

/* Back from within a task; false at the begin of the step. */
static bool from_task(struct walker *w, struct position *pos)
{
    const path_graph *g = w->g;
    const path_task *t = &g->tasks[pos->task];
    const osc_busy_item *item = &g->busy->items[t->item];
    int64_t begin = g->step->start_ns, ready;
    put(w, t->start_ns > begin ? t->start_ns : begin, pos->at_ns, kind_of_class(item->cls),
        item->slice, OSC_NO_ROW, item->lane);
    if (t->start_ns <= begin)
        return false;
    switch (binding_of(g, t, &ready)) {
    case BY_LAUNCH: {
        const path_point *p = &g->points[t->launch];
        put(w, p->at_ns, t->start_ns, OSC_PATH_LAUNCH, item->launch, p->thread, OSC_NO_ROW);
        *pos = (struct position){t->launch, OSC_NO_ROW, p->at_ns};
        return true;
    }
    case BY_BEFORE:
    case BY_EVENT: {
        uint32_t task =
            t->event != OSC_NO_ROW && g->tasks[t->event].end_ns == ready ? t->event : t->before;
        put(w, ready, t->start_ns, OSC_PATH_QUEUE, item->slice, OSC_NO_ROW, item->lane);
        *pos = (struct position){OSC_NO_ROW, task, ready};
        return true;
    }
    case BY_NOTHING: break;
    }
    put(w, begin, t->start_ns, OSC_PATH_UNKNOWN, item->slice, OSC_NO_ROW, item->lane);
    return false;
}

/* Stretches that only a point of no interest separates become one. */
static void merge(path_walk *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        path_segment *s = &out->segments[i], *last = kept > 0 ? &out->segments[kept - 1] : NULL;
        assert(!last || last->end_ns == s->start_ns);
        if (last && last->kind == s->kind && last->slice == s->slice && last->thread == s->thread &&
            last->lane == s->lane)
            last->end_ns = s->end_ns;
        else
            out->segments[kept++] = *s;
    }
    out->count = kept;
}

osc_status path_walk_back(const path_graph *g, path_walk *out, osc_err *err)
{
    memset(out, 0, sizeof *out);
    struct walker w = {.g = g, .out = out};
    struct position pos = {g->end, OSC_NO_ROW, g->step->end_ns};
    bool more = host_open(&w.host, g);
    out->failed = !more;
    while (more && !out->failed)
        more = pos.task != OSC_NO_ROW ? from_task(&w, &pos) : from_point(&w, &pos);
    host_close(&w.host);
    if (out->failed) {
        osc_free(out->segments);
        memset(out, 0, sizeof *out);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the path");
    }
    reverse(out->segments, out->count);
    merge(out);
    return OSC_OK;
}

path_who path_who_of(const osc_busy *busy, const path_segment *segment)
{
    bool named = segment->slice != OSC_NO_ROW && segment->kind != OSC_PATH_OTHER &&
                 segment->kind != OSC_PATH_QUEUE && segment->kind != OSC_PATH_UNKNOWN;
    return (path_who){segment->kind, named ? busy->slices->name[segment->slice] : OSC_NO_ROW};
}

/* ---- evaluating ---- */

/* Host time of one contributor between two points. */
struct share {
    uint32_t point;
    uint8_t who;
    bool other; /* of other_lag, not host_lag */
    int64_t ns;
};

struct shares {
    struct share *items;
    uint32_t count, room;
};

static bool add_share(struct shares *s, struct share share)
{
    if (s->count > 0) { /* a name in several pieces between two points */
        struct share *last = &s->items[s->count - 1];
        if (last->point == share.point && last->who == share.who && last->other == share.other) {
            last->ns += share.ns;
            return true;
        }
    }
    if (s->count == s->room) {
        uint32_t room = s->room ? s->room * 2 : 256;
        struct share *grown = osc_realloc_array(s->items, room, sizeof *grown);
        if (!grown)
            return false;
        s->items = grown;
        s->room = room;
    }
    s->items[s->count++] = share;
    return true;
}

struct gains {
    const path_graph *g;
    const path_who *who;
    uint32_t n;
    struct host host;
    osc_map host_who; /* name + 1 (0: other) -> index of who */
    struct shares shares;
    int64_t *host_less, *other_less; /* [point]: what is taken from the lags */
    int64_t *point_at, *task_start, *task_end;
    int64_t *residual; /* [task]: from when it could have begun to when it did */
    uint8_t *by;       /* [task]: enum binding */
};

/* What each task waited for, as observed; the same in every evaluation. */
static void bind_all(struct gains *x)
{
    for (uint32_t i = 0; i < x->g->task_count; i++) {
        int64_t ready;
        x->by[i] = (uint8_t)binding_of(x->g, &x->g->tasks[i], &ready);
        x->residual[i] = x->by[i] == BY_NOTHING ? 0 : x->g->tasks[i].start_ns - ready;
    }
}

static bool share_out(struct gains *x, uint32_t point, bool other, int64_t from, int64_t to)
{
    const osc_slice_cols *s = x->g->busy->slices;
    osc_piece piece;
    if (from >= to)
        return true;
    osc_pieces *p = host_pieces(&x->host, x->g->points[point].thread, from, to);
    while (osc_pieces_next(p, &piece)) {
        uint64_t who;
        bool named = piece_kind(&x->host, &piece) == OSC_PATH_HOST;
        if (!osc_map_get(&x->host_who, named ? (uint64_t)s->name[piece.slice] + 1 : 0, &who))
            continue;
        struct share share = {point, (uint8_t)who, other, piece.end_ns - piece.start_ns};
        if (!add_share(&x->shares, share))
            return false;
    }
    return !p->failed;
}

/* How much of each lag on the host belongs to which contributor. */
static bool share_all(struct gains *x)
{
    const path_graph *g = x->g;
    for (uint32_t k = 0; k < x->n; k++) {
        bool named = x->who[k].kind == OSC_PATH_HOST;
        if ((named || x->who[k].kind == OSC_PATH_OTHER) &&
            osc_map_put(&x->host_who, named ? (uint64_t)x->who[k].name + 1 : 0, k) != OSC_OK)
            return false;
    }
    for (uint32_t i = 0; x->host_who.count > 0 && i < g->point_count; i++) {
        const path_point *p = &g->points[i];
        int64_t since = p->before == OSC_NO_ROW ? g->step->start_ns : g->points[p->before].at_ns;
        if (!share_out(x, i, false, since, since + p->host_lag) ||
            (p->other != OSC_NO_ROW && !share_out(x, i, true, p->at_ns - p->other_lag, p->at_ns)))
            return false;
    }
    return true;
}

static uint32_t name_of(const struct gains *x, uint32_t slice)
{
    return slice == OSC_NO_ROW ? OSC_NO_ROW : x->g->busy->slices->name[slice];
}

/* True when a stretch of this kind and name takes no time. */
static bool is_out(const struct gains *x, const path_who *who, uint8_t kind, uint32_t slice)
{
    return who && who->kind == kind && (who->name == OSC_NO_ROW || who->name == name_of(x, slice));
}

static void evaluate_point(struct gains *x, const path_who *who, uint32_t i)
{
    const path_point *p = &x->g->points[i];
    int64_t at = p->before == OSC_NO_ROW ? x->g->step->start_ns : x->point_at[p->before];
    at += p->host_lag - x->host_less[i];
    if (p->other != OSC_NO_ROW) {
        int64_t other = x->point_at[p->other] + p->other_lag - x->other_less[i];
        at = other > at ? other : at;
    }
    if (p->task != OSC_NO_ROW) {
        int64_t lag = is_out(x, who, OSC_PATH_SYNC, p->slice) ? 0 : p->task_lag;
        int64_t task = x->task_end[p->task] + lag;
        at = task > at ? task : at;
    }
    x->point_at[i] = at;
}

static void evaluate_task(struct gains *x, const path_who *who, uint32_t i)
{
    const path_graph *g = x->g;
    const path_task *t = &g->tasks[i];
    const osc_busy_item *item = &g->busy->items[t->item];
    int64_t at = INT64_MIN;
    enum binding by = (enum binding)x->by[i];
    bool no_launch = is_out(x, who, OSC_PATH_LAUNCH, item->launch);
    bool no_queue = is_out(x, who, OSC_PATH_QUEUE, item->slice);
    bool out = is_out(x, who, (uint8_t)kind_of_class(item->cls), item->slice);
    if (t->start_ns <= g->step->start_ns) { /* only what lies in the step can be taken out */
        x->task_start[i] = g->step->start_ns;
        x->task_end[i] = out ? g->step->start_ns : t->end_ns;
        return;
    }
    if (t->launch != OSC_NO_ROW)
        at = x->point_at[t->launch] + (no_launch ? 0 : t->launch_lag);
    if (t->before != OSC_NO_ROW) {
        int64_t over = t->start_ns - g->tasks[t->before].end_ns;
        int64_t before = x->task_end[t->before] + (over < 0 ? over : 0);
        if (before < x->task_start[t->before]) /* they overlap, but keep their order */
            before = x->task_start[t->before];
        at = before > at ? before : at;
    }
    if (t->event != OSC_NO_ROW && x->task_end[t->event] > at)
        at = x->task_end[t->event];
    if (by == BY_NOTHING)
        at = t->start_ns; /* what came before the step stays where it was */
    else if (!(by == BY_LAUNCH ? no_launch : no_queue))
        at += x->residual[i];
    x->task_start[i] = at;
    x->task_end[i] = at + (out ? 0 : t->end_ns - t->start_ns);
}

/* When the step would end without one contributor (NULL: with all). */
static int64_t evaluate(struct gains *x, const path_who *who, uint32_t index)
{
    const path_graph *g = x->g;
    memset(x->host_less, 0, ((size_t)g->point_count + 1) * sizeof *x->host_less);
    memset(x->other_less, 0, ((size_t)g->point_count + 1) * sizeof *x->other_less);
    for (uint32_t i = 0; who && i < x->shares.count; i++) {
        const struct share *s = &x->shares.items[i];
        if (s->who == index)
            (s->other ? x->other_less : x->host_less)[s->point] += s->ns;
    }
    for (uint32_t i = 0; i < g->point_count + g->task_count; i++) {
        if (g->order[i] < g->point_count)
            evaluate_point(x, who, g->order[i]);
        else
            evaluate_task(x, who, g->order[i] - g->point_count);
    }
    return x->point_at[g->end];
}

osc_status path_gains(const path_graph *g, const path_who *who, uint32_t n, int64_t *gains,
                      osc_err *err)
{
    assert(n <= 64);
    struct gains x = {.g = g, .who = who, .n = n};
    size_t points = (size_t)g->point_count + 1;
    x.host_less = osc_realloc_array(NULL, points, sizeof *x.host_less);
    x.other_less = osc_realloc_array(NULL, points, sizeof *x.other_less);
    x.point_at = osc_realloc_array(NULL, points, sizeof *x.point_at);
    x.task_start = osc_realloc_array(NULL, (size_t)g->task_count + 1, sizeof *x.task_start);
    x.task_end = osc_realloc_array(NULL, (size_t)g->task_count + 1, sizeof *x.task_end);
    x.residual = osc_realloc_array(NULL, (size_t)g->task_count + 1, sizeof *x.residual);
    x.by = osc_realloc_array(NULL, (size_t)g->task_count + 1, sizeof *x.by);
    bool ok = x.host_less && x.other_less && x.point_at && x.task_start && x.task_end &&
              x.residual && x.by && host_open(&x.host, g) && share_all(&x);
    if (ok) {
        bind_all(&x);
        int64_t whole = evaluate(&x, NULL, 0);
        assert(whole == g->step->end_ns);
        for (uint32_t k = 0; k < n; k++)
            gains[k] = whole - evaluate(&x, &who[k], k);
    }
    host_close(&x.host);
    osc_map_free(&x.host_who);
    osc_free(x.shares.items);
    osc_free(x.host_less);
    osc_free(x.other_less);
    osc_free(x.point_at);
    osc_free(x.task_start);
    osc_free(x.task_end);
    osc_free(x.residual);
    osc_free(x.by);
    return ok ? OSC_OK
              : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the path");
}
