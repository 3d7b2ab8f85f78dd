/*
 * path_build.h - a graph being built; shared by path_graph.c, path_threads.c and path_streams.c.
 */
#ifndef OSC_ANALYSIS_PATH_BUILD_H
#define OSC_ANALYSIS_PATH_BUILD_H

#include "base/map.h"
#include "scope/analysis/path_internal.h"

/* Stretches in which a thread was in operators or calls. */
struct path_active {
    osc_span *spans; /* owned */
    uint32_t count, room;
    uint32_t thread;
};

struct path_build {
    const osc_busy *busy;
    const osc_slice_cols *s;
    const osc_steps *steps;
    const osc_step *step;
    path_graph *g;
    uint32_t last_item; /* item the step ends with, OSC_NO_ROW: its range */
    uint32_t room;      /* in points */
    osc_map launches;   /* launching slice -> point, before sorting */
    uint32_t *new_of;   /* point before sorting -> after */
    uint32_t *last;     /* [thread] or [lane]: last point or task so far */
    uint32_t threads;
    uint8_t *relevant; /* [thread] */
    osc_block *blocks;
    uint32_t block_count;
    path_rule *rules;
    uint32_t rule_count;
    osc_map rule_of;                    /* waiting host call -> rule */
    uint32_t *by_end;                   /* tasks by end */
    uint32_t *by_lane, *lane_first;     /* tasks by (lane, start) */
    struct path_active main, *backward; /* the step's thread, autograd's */
    uint32_t backward_count;
    bool failed;
};

/* The device work of a task. */
static inline const osc_busy_item *path_item_of(const struct path_build *b, uint32_t task)
{
    return &b->busy->items[b->g->tasks[task].item];
}

/* True within the step, its end not included. */
static inline bool path_in_step(const struct path_build *b, int64_t time)
{
    return time >= b->step->start_ns && time < b->step->end_ns;
}

/* Number of tasks that ended at or before a time: the last of them is by_end[result - 1]. */
uint32_t path_ended_by(const struct path_build *b, int64_t time);

/* A new point; its number before sorting. Failure is sticky in b->failed. */
uint32_t path_add_point(struct path_build *b, int64_t at, uint32_t thread, path_point_kind kind,
                        uint32_t slice);

/* ---- path_threads.c: the step's thread and autograd's ---- */

/* Finds the threads that run backward nodes, and when they and the step's own were active. False:
 * out of memory. */
bool path_find_threads(struct path_build *b);

/* Points where work passes from one of them to another. */
void path_add_hand_overs(struct path_build *b);

/* ---- path_streams.c: waits of one stream for another ---- */

/* Waits of the host by their call. False: out of memory. */
bool path_index_rules(struct path_build *b);

/* Sets the event of each task that waited for another stream, once launches are linked. */
void path_link_events(struct path_build *b);

#endif
