/*
 * path_graph.c - who waited for whom in a step, as points and tasks; see path_internal.h.
 *
 *     host thread   --o-launch------o-launch---o wait ........ o wait end --- o end
 *                      \             \                        /
 *     stream            [ task ]------[ task ]---------------+      (stream order, launch order)
 *
 * Known edges: program order of a thread; launch to work by correlation; order of a stream; waits
 * of one stream for another from sync rows; a waiting call and the last work that ended within it,
 * of the stream its sync row names. Inferred ones: a collective that began when computing ended on
 * another stream of its device, or the other way round, and had been queued all the while, waited
 * for it. Autograd: a thread that runs backward nodes took work from the step's thread where that
 * one was active since its own last operator; the step's thread waited for it where the backward
 * ended in a gap of its own.
 *
 * Rejected: a graph with a node for each operator. Nothing but time passes between two points of a
 * thread, and the operators in it are looked up for the few stretches that end up on the path.
 */
#include "scope/analysis/path_build.h"

#include "base/mem.h"
#include "scope/analysis/radix.h"

#include <assert.h>
#include <string.h>

/* ---- tasks ---- */

static bool overlaps(const osc_busy_item *item, const osc_step *step)
{
    return item->start_ns < step->end_ns && item->end_ns > step->start_ns;
}

static bool collect_tasks(struct path_build *b)
{
    path_graph *g = b->g;
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->busy->count; i++)
        n += overlaps(&b->busy->items[i], b->step);
    size_t lanes = (size_t)b->busy->lane_count + 1;
    g->tasks = osc_realloc_array(NULL, (size_t)n + 1, sizeof *g->tasks);
    uint32_t *last = osc_realloc_array(NULL, lanes, sizeof *last);
    bool ok = g->tasks && last;
    if (ok)
        memset(last, 0xff, lanes * sizeof *last); /* OSC_NO_ROW */
    for (uint32_t i = 0; ok && i < b->busy->count; i++) {
        const osc_busy_item *item = &b->busy->items[i];
        if (!overlaps(item, b->step))
            continue;
        uint32_t before = last[item->lane];
        g->tasks[g->task_count] = (path_task){.start_ns = item->start_ns,
                                              .end_ns = item->end_ns,
                                              .item = i,
                                              .launch = OSC_NO_ROW,
                                              .before = before,
                                              .event = OSC_NO_ROW};
        if (before == OSC_NO_ROW || g->tasks[before].end_ns <= item->end_ns)
            last[item->lane] = g->task_count;
        g->task_count++;
    }
    osc_free(last);
    return ok;
}

/* Tasks by end, and by lane in order of start. */
static bool index_tasks(struct path_build *b)
{
    uint32_t n = b->g->task_count;
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)n + 1, 2 * sizeof *keys);
    b->by_end = osc_realloc_array(NULL, (size_t)n + 1, sizeof *b->by_end);
    b->by_lane = osc_realloc_array(NULL, (size_t)n + 1, sizeof *b->by_lane);
    b->lane_first = osc_calloc((size_t)b->busy->lane_count + 2, sizeof *b->lane_first);
    bool ok = keys && b->by_end && b->by_lane && b->lane_first;
    for (uint32_t i = 0; ok && i < n; i++)
        keys[i] = (osc_keyed){(uint64_t)(b->g->tasks[i].end_ns - b->step->start_ns), i};
    if (ok) {
        osc_radix_sort(keys, keys + n, n);
        for (uint32_t i = 0; i < n; i++) {
            b->by_end[i] = keys[i].value;
            b->lane_first[path_item_of(b, i)->lane + 1]++;
        }
        for (uint32_t l = 0; l < b->busy->lane_count; l++)
            b->lane_first[l + 1] += b->lane_first[l];
        for (uint32_t i = 0; i < n; i++)
            b->by_lane[b->lane_first[path_item_of(b, i)->lane]++] = i;
        for (uint32_t l = b->busy->lane_count; l > 0; l--)
            b->lane_first[l] = b->lane_first[l - 1];
        b->lane_first[0] = 0;
    }
    osc_free(keys);
    return ok;
}

/* Number of tasks that ended at or before a time: the last of them is by_end[result - 1]. */
uint32_t path_ended_by(const struct path_build *b, int64_t time)
{
    uint32_t low = 0, high = b->g->task_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b->g->tasks[b->by_end[middle]].end_ns <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- points ---- */

uint32_t path_add_point(struct path_build *b, int64_t at, uint32_t thread, path_point_kind kind,
                        uint32_t slice)
{
    path_graph *g = b->g;
    if (g->point_count == b->room) {
        uint32_t room = b->room ? b->room * 2 : 256;
        path_point *grown = osc_realloc_array(g->points, room, sizeof *grown);
        if (!grown) {
            b->failed = true;
            return 0;
        }
        g->points = grown;
        b->room = room;
    }
    g->points[g->point_count] = (path_point){.at_ns = at,
                                             .host_lag = -1,
                                             .slice = slice,
                                             .thread = thread,
                                             .before = OSC_NO_ROW,
                                             .other = OSC_NO_ROW,
                                             .task = OSC_NO_ROW,
                                             .kind = (uint8_t)kind};
    return g->point_count++;
}

static void add_launches(struct path_build *b)
{
    for (uint32_t i = 0; i < b->g->task_count && !b->failed; i++) {
        uint32_t launch = path_item_of(b, i)->launch;
        if (launch == OSC_NO_ROW || !path_in_step(b, b->s->start_ns[launch]) ||
            osc_map_get(&b->launches, launch, NULL))
            continue;
        uint32_t thread = osc_busy_thread(b->busy, launch);
        uint32_t point = path_add_point(b, b->s->start_ns[launch], thread, PATH_LAUNCH_AT, launch);
        if (thread < b->threads)
            b->relevant[thread] = 1;
        if (osc_map_put(&b->launches, launch, point) != OSC_OK)
            b->failed = true;
    }
}

/* The stream that a waiting call waits for: -1 any. */
static int64_t stream_of_wait(const struct path_build *b, uint32_t call)
{
    uint64_t rule;
    return osc_map_get(&b->rule_of, call, &rule) ? b->rules[rule].stream : -1;
}

/* The task a waiting call waited for: the last that ended within it, of its stream. */
static uint32_t awaited(const struct path_build *b, const osc_block *block)
{
    const osc_track_cols *t = osc_store_track(b->busy->store);
    int64_t stream = stream_of_wait(b, block->slice);
    for (uint32_t i = path_ended_by(b, block->end_ns); i > 0; i--) {
        uint32_t task = b->by_end[i - 1];
        const osc_busy_item *item = path_item_of(b, task);
        bool launched =
            item->launch == OSC_NO_ROW || b->s->start_ns[item->launch] <= block->start_ns;
        bool here = stream < 0 || t->number[b->busy->lanes[item->lane].track] == stream;
        if (item->end_ns <= block->start_ns)
            break;
        if (block->item == OSC_NO_ROW ? launched && here : b->g->tasks[task].item == block->item)
            return task;
    }
    return OSC_NO_ROW;
}

static void add_waits(struct path_build *b)
{
    for (uint32_t i = 0; i < b->block_count && !b->failed; i++) {
        const osc_block *block = &b->blocks[i];
        if (block->thread >= b->threads || !b->relevant[block->thread])
            continue;
        if (path_in_step(b, block->start_ns))
            path_add_point(b, block->start_ns, block->thread, PATH_WAIT, block->slice);
        if (block->end_ns > b->step->start_ns && block->end_ns <= b->step->end_ns) {
            uint32_t point =
                path_add_point(b, block->end_ns, block->thread, PATH_WAIT_END, block->slice);
            uint32_t task = awaited(b, block);
            if (b->failed || task == OSC_NO_ROW)
                continue;
            b->g->points[point].task = task;
            b->g->points[point].task_lag = block->end_ns - b->g->tasks[task].end_ns;
        }
    }
}

/* The thread of the host slice that ends last, and when that is. */
static uint32_t last_thread(const struct path_build *b, int64_t *end)
{
    uint32_t last = OSC_NO_ROW;
    for (uint32_t i = 0; i < b->s->count; i++) {
        if (b->s->kind[i] != OSC_KIND_PYTHON && osc_busy_is_host(b->busy, i) &&
            (last == OSC_NO_ROW || osc_slice_end(b->s, i) > osc_slice_end(b->s, last)))
            last = i;
    }
    *end = last == OSC_NO_ROW ? b->step->start_ns : osc_slice_end(b->s, last);
    return last == OSC_NO_ROW ? b->step->thread : osc_busy_thread(b->busy, last);
}

/* The task the step ends with; OSC_NO_ROW: it ends on the host. *host is when the host was done. */
static uint32_t last_task(const struct path_build *b, int64_t *host, uint32_t *thread)
{
    uint32_t n = b->g->task_count;
    *thread = b->step->thread;
    *host = b->step->start_ns;
    if (b->last_item != OSC_NO_ROW) {
        *host = osc_slice_end(b->s, b->step->slice); /* what the host did later is of other steps */
        for (uint32_t i = 0; i < n; i++) {
            if (b->g->tasks[i].item == b->last_item)
                return i;
        }
    }
    if (!b->steps->whole)
        return OSC_NO_ROW;
    *thread = last_thread(b, host);
    return n > 0 && b->g->tasks[b->by_end[n - 1]].end_ns >= *host ? b->by_end[n - 1] : OSC_NO_ROW;
}

/* The end of the step; a whole capture ends with whatever ended last, on a host thread or a
 * device. */
static void add_end(struct path_build *b)
{
    int64_t host;
    uint32_t thread, task = last_task(b, &host, &thread);
    uint32_t point = path_add_point(b, b->step->end_ns, thread, PATH_END, b->step->slice);
    if (b->failed || task == OSC_NO_ROW)
        return;
    b->g->points[point].task = task;
    b->g->points[point].task_lag = b->step->end_ns - b->g->tasks[task].end_ns;
    b->g->points[point].host_lag = host; /* made relative as for hand-overs */
}

/* ---- order ---- */

static bool sort_points(struct path_build *b)
{
    path_graph *g = b->g;
    uint32_t n = g->point_count;
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)n + 1, 2 * sizeof *keys);
    path_point *sorted = osc_realloc_array(NULL, (size_t)n + 1, sizeof *sorted);
    b->new_of = osc_realloc_array(NULL, (size_t)n + 1, sizeof *b->new_of);
    bool ok = keys && sorted && b->new_of;
    for (uint32_t i = 0; ok && i < n; i++) {
        const path_point *p = &g->points[i];
        assert(p->at_ns >= b->step->start_ns && p->at_ns <= b->step->end_ns);
        keys[i] = (osc_keyed){(uint64_t)(p->at_ns - b->step->start_ns) << 3 | p->kind, i};
    }
    if (ok) {
        osc_radix_sort(keys, keys + n, n);
        for (uint32_t i = 0; i < n; i++) {
            sorted[i] = g->points[keys[i].value];
            b->new_of[keys[i].value] = i;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (sorted[i].other != OSC_NO_ROW)
                sorted[i].other = b->new_of[sorted[i].other];
        }
        osc_free(g->points);
        g->points = sorted;
        sorted = NULL;
    }
    osc_free(keys);
    osc_free(sorted);
    return ok;
}

/* The place in `last` of the thread of a point. */
static uint32_t *last_of(const struct path_build *b, const path_point *p)
{
    return &b->last[p->thread < b->threads ? p->thread : b->threads];
}

static void forget_last(struct path_build *b)
{
    memset(b->last, 0xff, ((size_t)b->threads + 1) * sizeof *b->last); /* OSC_NO_ROW */
}

/* Program order of each thread, and how long after the point before each point came. */
static void chain_points(struct path_build *b)
{
    path_graph *g = b->g;
    forget_last(b);
    for (uint32_t i = 0; i < g->point_count; i++) {
        path_point *p = &g->points[i];
        uint32_t *last = last_of(b, p);
        p->before = *last;
        *last = i;
        bool by_task = p->kind == PATH_END && p->task != OSC_NO_ROW;
        while (by_task && p->before != OSC_NO_ROW && g->points[p->before].at_ns > p->host_lag)
            p->before = g->points[p->before].before;
        int64_t since = p->before == OSC_NO_ROW ? b->step->start_ns : g->points[p->before].at_ns;
        int64_t until = p->at_ns;
        if (p->kind == PATH_WAIT_END && p->task != OSC_NO_ROW)
            until = since;
        else if (p->kind == PATH_IN || by_task)
            until = p->host_lag; /* when the thread fell idle */
        p->host_lag = until > since ? until - since : 0;
        if (p->kind == PATH_END)
            g->end = i;
    }
}

/*
 * The point of a task's launch; of a launch after its task (T09) the last point of its thread
 * before the task. Tasks of a device come in order of time, so points are passed once for each
 * device, however far the clocks are apart.
 */
static void link_launches(struct path_build *b)
{
    path_graph *g = b->g;
    uint32_t passed = 0;
    forget_last(b);
    for (uint32_t i = 0; i < g->task_count; i++) {
        const osc_busy_item *item = path_item_of(b, i);
        uint32_t launch = item->launch;
        uint64_t old;
        if (i > 0 && path_item_of(b, i - 1)->device != item->device) {
            forget_last(b);
            passed = 0;
        }
        for (; passed < g->point_count && g->points[passed].at_ns <= item->start_ns; passed++)
            *last_of(b, &g->points[passed]) = passed;
        if (launch == OSC_NO_ROW || !osc_map_get(&b->launches, launch, &old))
            continue;
        uint32_t point = b->new_of[old];
        if (g->points[point].at_ns > item->start_ns)
            point = *last_of(b, &g->points[point]);
        g->tasks[i].launch = point;
        if (point == OSC_NO_ROW)
            continue;
        int64_t end = osc_slice_end(b->s, launch);
        /* a copy from pageable memory keeps its call until its turn */
        if (end > item->start_ns)
            end = item->cls == OSC_BUSY_COPY ? 0 : item->start_ns;
        end -= g->points[point].at_ns;
        g->tasks[i].launch_lag = end > 0 ? end : 0;
    }
}

/* Points and tasks in one order of time, points first. */
static bool order_all(struct path_build *b)
{
    path_graph *g = b->g;
    uint32_t n = g->point_count + g->task_count;
    int64_t least = b->step->start_ns;
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)n + 1, 2 * sizeof *keys);
    g->order = osc_realloc_array(NULL, (size_t)n + 1, sizeof *g->order);
    bool ok = keys && g->order && n >= g->point_count;
    for (uint32_t i = 0; ok && i < g->task_count; i++)
        least = g->tasks[i].start_ns < least ? g->tasks[i].start_ns : least;
    for (uint32_t i = 0; ok && i < n; i++) {
        bool point = i < g->point_count;
        int64_t at = point ? g->points[i].at_ns : g->tasks[i - g->point_count].start_ns;
        keys[i] = (osc_keyed){(uint64_t)(at - least) << 1 | !point, i};
    }
    if (ok) {
        osc_radix_sort(keys, keys + n, n);
        for (uint32_t i = 0; i < n; i++)
            g->order[i] = keys[i].value;
    }
    osc_free(keys);
    return ok;
}

static bool build(struct path_build *b)
{
    if (!path_index_rules(b) || !collect_tasks(b) || !index_tasks(b) || !path_find_threads(b))
        return false;
    add_launches(b);
    add_waits(b);
    path_add_hand_overs(b);
    add_end(b);
    if (b->failed || !sort_points(b))
        return false;
    chain_points(b);
    link_launches(b);
    path_link_events(b);
    return order_all(b);
}

static void release(struct path_build *b)
{
    osc_map_free(&b->launches);
    osc_map_free(&b->rule_of);
    osc_free(b->new_of);
    osc_free(b->last);
    osc_free(b->relevant);
    osc_free(b->blocks);
    osc_free(b->rules);
    osc_free(b->by_end);
    osc_free(b->by_lane);
    osc_free(b->lane_first);
    osc_free(b->main.spans);
    for (uint32_t k = 0; k < b->backward_count; k++)
        osc_free(b->backward[k].spans);
    osc_free(b->backward);
}

osc_status path_graph_build(const osc_busy *busy, const osc_steps *steps, const osc_step *step,
                            uint32_t last, path_graph *out, osc_err *err)
{
    memset(out, 0, sizeof *out);
    out->busy = busy;
    out->step = step;
    struct path_build b = {.busy = busy,
                           .s = busy->slices,
                           .steps = steps,
                           .step = step,
                           .g = out,
                           .last_item = last,
                           .threads = steps->threads};
    osc_status status = osc_busy_blocks(busy, &b.blocks, &b.block_count, err);
    if (status == OSC_OK)
        status = path_rules_read(busy, &b.rules, &b.rule_count, err);
    out->rule_count = b.rule_count;
    if (status == OSC_OK) {
        b.last = osc_realloc_array(NULL, (size_t)b.threads + 1, sizeof *b.last);
        b.relevant = osc_calloc((size_t)b.threads + 1, 1);
        if (!b.last || !b.relevant || !build(&b))
            status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                              "out of memory for the critical path");
    }
    release(&b);
    if (status != OSC_OK)
        path_graph_free(out);
    return status;
}

void path_graph_free(path_graph *graph)
{
    osc_free(graph->points);
    osc_free(graph->tasks);
    osc_free(graph->order);
    memset(graph, 0, sizeof *graph);
}
