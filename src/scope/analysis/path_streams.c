/*
 * path_streams.c - which work of another stream a task waited for; see path_graph.c.
 *
 * Sync rows tell it, when they are there. Without one a wait is inferred only between collectives
 * and other work, which frameworks order by events: the task had been queued during all of the
 * other's run, and began when that ended. Between other streams chance looks the same, so nothing
 * is inferred.
 */
#include "scope/analysis/path_build.h"

static int64_t launch_time(const struct path_build *b, uint32_t task)
{
    uint32_t launch = path_item_of(b, task)->launch;
    return launch == OSC_NO_ROW ? INT64_MIN : b->s->start_ns[launch];
}

/* The last task of a stream that was launched before a time, on the device of another task. */
static uint32_t last_launched(const struct path_build *b, uint32_t device, int64_t stream,
                              int64_t time)
{
    const osc_track_cols *t = osc_store_track(b->busy->store);
    uint32_t best = OSC_NO_ROW;
    for (uint32_t l = 0; l < b->busy->lane_count; l++) {
        const osc_busy_lane *lane = &b->busy->lanes[l];
        if (lane->device != device || t->number[lane->track] != stream)
            continue;
        uint32_t low = b->lane_first[l], high = b->lane_first[l + 1];
        while (low < high) { /* a stream runs in the order of its launches */
            uint32_t middle = low + (high - low) / 2;
            if (launch_time(b, b->by_lane[middle]) < time)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > b->lane_first[l])
            best = b->by_lane[low - 1];
    }
    return best;
}

/* By sync rows: the wait that its stream was told between the launch before and this one. */
static void link_rules(struct path_build *b, uint32_t task)
{
    const osc_track_cols *t = osc_store_track(b->busy->store);
    path_task *w = &b->g->tasks[task];
    const osc_busy_item *item = path_item_of(b, task);
    int64_t stream = t->number[b->busy->lanes[item->lane].track];
    int64_t to = launch_time(b, task);
    int64_t from = w->before == OSC_NO_ROW ? INT64_MIN : launch_time(b, w->before);
    uint32_t low = 0, high = b->rule_count;
    while (low < high) { /* first rule after `from` */
        uint32_t middle = low + (high - low) / 2;
        if (b->rules[middle].at_ns <= from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < b->rule_count && b->rules[low].at_ns <= to; low++) {
        const path_rule *rule = &b->rules[low];
        if (!rule->is_wait || rule->stream != stream)
            continue;
        uint32_t source = last_launched(b, item->device, rule->source, rule->source_ns);
        if (source == OSC_NO_ROW || b->g->tasks[source].end_ns > w->start_ns)
            continue;
        if (w->event == OSC_NO_ROW || b->g->tasks[source].end_ns > b->g->tasks[w->event].end_ns)
            w->event = source;
    }
}

/* When a task could have begun, as far as the edges so far tell. */
static int64_t ready(const struct path_build *b, const path_task *w)
{
    int64_t at = INT64_MIN;
    if (w->launch != OSC_NO_ROW)
        at = b->g->points[w->launch].at_ns + w->launch_lag;
    if (w->before != OSC_NO_ROW && b->g->tasks[w->before].end_ns > at)
        at = b->g->tasks[w->before].end_ns;
    return at;
}

/* By times: a collective behind computing, or the other way round, that was queued while it ran. */
static void infer(struct path_build *b, uint32_t task)
{
    path_task *w = &b->g->tasks[task];
    const osc_busy_item *item = path_item_of(b, task);
    if (item->launch == OSC_NO_ROW || w->event != OSC_NO_ROW)
        return;
    int64_t launched = osc_slice_end(b->s, item->launch), at = ready(b, w);
    for (uint32_t i = path_ended_by(b, w->start_ns); i > 0; i--) {
        uint32_t source = b->by_end[i - 1];
        const osc_busy_item *other = path_item_of(b, source);
        if (other->end_ns <= at || other->end_ns <= launched)
            break;
        if (other->device == item->device && other->lane != item->lane &&
            (other->cls == OSC_BUSY_COMM) != (item->cls == OSC_BUSY_COMM) &&
            other->start_ns >= launched) {
            w->event = source;
            w->inferred = 1;
            b->g->inferred++;
            return;
        }
    }
}

bool path_index_rules(struct path_build *b)
{
    for (uint32_t i = 0; i < b->rule_count; i++) {
        if (!b->rules[i].is_wait && osc_map_put(&b->rule_of, b->rules[i].call, i) != OSC_OK)
            return false;
    }
    return true;
}

void path_link_events(struct path_build *b)
{
    for (uint32_t i = 0; i < b->g->task_count; i++) {
        if (b->rule_count > 0 && path_item_of(b, i)->launch != OSC_NO_ROW)
            link_rules(b, i);
        infer(b, i);
    }
}
