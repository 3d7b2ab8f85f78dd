/*
 * path_internal.h - the graph that path_graph.c builds, path_walk.c walks and evaluates, path.c
 * shows.
 *
 * Two kinds of things depend on each other. A point is an instant of a host thread: a launch, the
 * begin and end of a wait, a hand-over to another thread. A task is one piece of device work. Each
 * knows what it could not come before, and by how much later it came than that ("lag"); its own
 * time is the latest of those. So the same data gives the path (walk back along what was latest)
 * and the effect of a change (evaluate again).
 */
#ifndef OSC_ANALYSIS_PATH_INTERNAL_H
#define OSC_ANALYSIS_PATH_INTERNAL_H

#include "scope/analysis/busy.h"
#include "scope/analysis/host_at.h"
#include "scope/analysis/path.h"
#include "scope/analysis/steps.h"

/* Order of points of one thread at one time. */
typedef enum path_point_kind {
    PATH_WAIT_END = 0,  /* a waiting call returns */
    PATH_OUT = 1,       /* gives work to another thread, or ended what another waits for */
    PATH_IN = 2,        /* takes it */
    PATH_LAUNCH_AT = 3, /* a launch begins */
    PATH_WAIT = 4,      /* a waiting call begins */
    PATH_END = 5        /* the step is over */
} path_point_kind;

typedef struct path_point {
    int64_t at_ns;
    int64_t host_lag;  /* own thread: from `before` (or the step's begin) up to at_ns or less */
    int64_t other_lag; /* from `other` */
    int64_t task_lag;  /* from the end of `task` */
    uint32_t slice;    /* the call, OSC_NO_ROW for hand-overs */
    uint32_t thread;
    uint32_t before; /* point before it on the thread, OSC_NO_ROW: the step's begin */
    uint32_t other;  /* point of another thread, OSC_NO_ROW none */
    uint32_t task;   /* task it waited for, OSC_NO_ROW none */
    uint8_t kind;    /* path_point_kind */
} path_point;

typedef struct path_task {
    int64_t start_ns, end_ns;
    int64_t launch_lag;
    uint32_t item;    /* of osc_busy */
    uint32_t launch;  /* point, OSC_NO_ROW: launched before the step, or not known */
    uint32_t before;  /* task before it on its stream, OSC_NO_ROW none */
    uint32_t event;   /* task of another stream it waited for, OSC_NO_ROW none */
    uint8_t inferred; /* `event` follows from times, not from a sync row */
} path_task;

/* What a sync row says of the host call with its correlation number. */
typedef struct path_rule {
    int64_t at_ns;     /* begin of the call */
    int64_t source_ns; /* of event waits: begin of the call that recorded the event */
    int64_t stream;    /* that waits, or is waited for by the host; -1 all */
    int64_t source;    /* stream that is waited for; -1 unknown */
    uint32_t call;     /* the host call */
    uint8_t is_wait;   /* one stream waits for another; else the host waits */
} path_rule;

typedef struct path_graph {
    const osc_busy *busy;
    const osc_step *step;
    path_point *points; /* by (time, kind); owned */
    uint32_t point_count;
    path_task *tasks; /* by (device, start); owned */
    uint32_t task_count;
    uint32_t *order; /* everything by time: a point's number, or points + a task's; owned */
    uint32_t end;    /* the point PATH_END */
    uint32_t inferred;
    uint32_t rule_count; /* sync rows that were understood */
} path_graph;

/*
 * Builds the graph of a step. It ends with the step's range, or, with `last`, with that item of
 * osc_busy, which ends at the step's end_ns; OSC_NO_ROW: none. *out is zeroed on failure
 * (OSC_ENOMEM).
 */
OSC_MUST_CHECK osc_status path_graph_build(const osc_busy *busy, const osc_steps *steps,
                                           const osc_step *step, uint32_t last, path_graph *out,
                                           osc_err *err);
void path_graph_free(path_graph *graph);

/* Sync rows of a capture as rules, by at_ns; *rules is the caller's (osc_free). No rules when the
 * arguments cannot be read. */
OSC_MUST_CHECK osc_status path_rules_read(const osc_busy *busy, path_rule **rules, uint32_t *count,
                                          osc_err *err);

/* ---- path_walk.c ---- */

typedef struct path_segment {
    int64_t start_ns, end_ns;
    uint32_t slice;  /* who is on it, OSC_NO_ROW nobody */
    uint32_t thread; /* host thread; OSC_NO_ROW: on a device */
    uint32_t lane;   /* device lane; OSC_NO_ROW: on a host */
    uint8_t kind;    /* osc_path_kind */
} path_segment;

typedef struct path_walk {
    path_segment *segments; /* by time; owned */
    uint32_t count, room;
    bool failed;
} path_walk;

/* The path, as segments that cover the step without gap or overlap. OSC_ENOMEM. */
OSC_MUST_CHECK osc_status path_walk_back(const path_graph *graph, path_walk *out, osc_err *err);

/* A contributor: all stretches of one kind and name. */
typedef struct path_who {
    uint8_t kind;  /* osc_path_kind */
    uint32_t name; /* name of the store; OSC_NO_ROW: for kinds without one */
} path_who;

/* The contributor that a segment counts for. */
path_who path_who_of(const osc_busy *busy, const path_segment *segment);

/*
 * For each of n contributors, at most 64: how much earlier the step would end if it took no time,
 * all else equal. OSC_ENOMEM. Linear in the graph for each, after one walk over the host's slices.
 */
OSC_MUST_CHECK osc_status path_gains(const path_graph *graph, const path_who *who, uint32_t n,
                                     int64_t *gains, osc_err *err);

#endif
