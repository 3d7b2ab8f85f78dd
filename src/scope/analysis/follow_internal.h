/*
 * follow_internal.h - state of one `follow`, shared by its files.
 *
 * follow_find.c: which call; follow_items.c: what belongs to it; follow_queue.c: what each queued
 * behind; follow_rows.c: lanes as rows; follow_device.c: inside executions; follow_around.c:
 * frames, partner, neighbours; follow_args.c: arguments.
 */
#ifndef OSC_ANALYSIS_FOLLOW_INTERNAL_H
#define OSC_ANALYSIS_FOLLOW_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/follow.h"

struct follow {
    const osc_store *store;
    osc_table *table;
    osc_buf text;         /* scratch for details */
    uint32_t *work_first; /* per execution: first entry of work_order; executions + 1 long */
    uint32_t *work_order; /* rows of device_work by execution, then as captured */
    int64_t total_ns, launch_ns, data_ns, arithmetic_ns;
};

/* Order of lanes within a launch. */
enum { RANK_OP = 0, RANK_STREAM, RANK_CALL, RANK_RUNTIME, RANK_CORE, RANK_DEVICE };

/* A slice of the call. */
struct follow_item {
    uint32_t slice;
    uint32_t rank;
    uint64_t launch;   /* what slices of one launch share, 0 none */
    int64_t launch_ns; /* when the launch began */
    uint64_t sequence_id;
    int64_t exec_id, bytes;
    uint32_t op;     /* its operator, OSC_NO_ROW unknown */
    uint32_t call;   /* the runtime call that launched it, OSC_NO_ROW unknown */
    uint32_t before; /* work before it on its lane, the one that ended last; for a host call that
                        waits, the device work that ended last meanwhile; OSC_NO_ROW none */
    uint32_t about;  /* offset of what its arguments say in follow_call.about, OSC_NO_ROW none */
    uint8_t rule;    /* how op is known */
};

struct follow_call {
    struct follow f;
    const osc_follow_options *options;
    osc_calls *calls;
    uint32_t found; /* slice that a time alone means, OSC_NO_ROW: not asked for */
    uint32_t slice; /* the call */
    uint32_t op;    /* told first: the call, or the operator of a runtime call or device work */
    osc_str name;   /* as rows show it */
    uint32_t number, count_of; /* call number of count_of */
    uint32_t previous, next;   /* calls of the same name, OSC_NO_ROW none */
    osc_map launch_row;        /* slice -> row of launches, for the call's slices */
    osc_map track_end;         /* track -> end of the slice told last on it */
    struct follow_item *items;
    size_t room;
    uint32_t count;
    osc_buf about;      /* descriptions of arguments, each ended by NUL */
    char problem[160];  /* why there are none */
    int64_t zero;       /* what offsets count from */
    int64_t later_ns;   /* how long after the time asked for the call begins; 0: it runs then */
    uint32_t groups;    /* runtime calls told, and device work without one */
    uint32_t launches;  /* runtime calls that launched device work */
    uint32_t last_call; /* the last of these */
    uint64_t unlinked;
    int64_t delay_ns, queue_ns;
};

/* Groups device work by execution. False: out of memory. */
bool osc_follow_index_work(struct follow *f);

/* Rows for what happened inside an execution: launch, parts, preamble, instructions, transfers. */
bool osc_follow_execution(struct follow *f, uint32_t exec);

/* The execution whose slice this is, OSC_NO_ROW when it is none. */
uint32_t osc_follow_exec_of(const struct follow *f, uint32_t slice);

/* "Sync", "Vector", ... as the store's numbers mean them. Static storage. */
const char *osc_follow_engine_name(unsigned engine);

/* Finds the call that the options mean: slice, name, number, neighbours. */
osc_status osc_follow_find(struct follow_call *c, osc_err *err);

/* True when a slice lies within an operator: it is that, or nested below. */
bool osc_follow_inside(const struct follow_call *c, uint32_t op, uint32_t slice);

/* The operator of a runtime call or device work, by the best rule that gives one; *rule is 0 for
 * none. */
uint32_t osc_follow_op_of(const struct follow_call *c, uint32_t slice, uint8_t *rule);

/* Collects what belongs to the call, in the order it is told. False: out of memory. */
bool osc_follow_collect(struct follow_call *c);

/* Fills before of all items. False: out of memory. */
bool osc_follow_queues(struct follow_call *c);

/* Fills about of items and bytes they say. OSC_ENOMEM, or OSC_OK with problem set when there are
 * none. */
osc_status osc_follow_args(struct follow_call *c, osc_err *err);

/* One row for a slice, without what depends on its launch. */
uint32_t osc_follow_slice_row(struct follow_call *c, uint32_t slice, const char *kind);

/* Rows of the call itself and its launches; of the frames around it; of its partner and
 * neighbours. */
bool osc_follow_rows(struct follow_call *c);
bool osc_follow_frames(struct follow_call *c);
bool osc_follow_partners(struct follow_call *c);

/* "file.py:27 function" of the innermost python frame around a slice. False: out of memory. */
bool osc_follow_source(struct follow_call *c, uint32_t slice, osc_buf *out);

#endif
