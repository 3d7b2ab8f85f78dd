/*
 * follow.h - the life of one call of an operator: through every lane, down to instructions.
 *
 * From any trace: the operator, the operators inside it that launch, their runtime calls, the
 * device work with its launch delay and what it queued behind, graph launches, and the forward or
 * backward partner. From a session also the stream, the execution, launch parts, engine
 * instructions and DMA transfers, each with what it waited for. What belongs to a call is what was
 * linked to it or to operators inside it; the column "rule" says how each link is known.
 */
#ifndef OSC_ANALYSIS_FOLLOW_H
#define OSC_ANALYSIS_FOLLOW_H

#include "scope/analysis/table.h"
#include "scope/store/store.h"

/* Columns of the result. */
typedef enum osc_follow_column {
    OSC_FOLLOW_LEVEL = 0, /* 0 slice on a lane, 1 inside it, 2 part or transfer */
    OSC_FOLLOW_LANE,      /* "framework/TID:12" */
    OSC_FOLLOW_KIND, /* "op", "runtime", "kernel", "copy", "graph", "stream", "execution", "launch",
                             "part", "preamble", "instruction", "dma", "transfer", "postamble"; around
                             the call "frame", "forward", "backward", "previous", "next" */
    OSC_FOLLOW_NAME, /* event, operation, or part */
    OSC_FOLLOW_ENGINE,
    OSC_FOLLOW_START_NS, /* absolute */
    OSC_FOLLOW_OFFSET_NS, /* from the first event of the capture (level 0), the execution, the graph */
    OSC_FOLLOW_DUR_NS,
    OSC_FOLLOW_GAP_NS, /* idle time on the lane or engine before it, -1 when nothing was */
    OSC_FOLLOW_WAITED_FOR,
    OSC_FOLLOW_DETAIL,
    OSC_FOLLOW_FITTED, /* a fitted model gave the length */
    OSC_FOLLOW_BYTES,
    OSC_FOLLOW_TRANSFERS,
    OSC_FOLLOW_RING, /* DMA engine, -1 none */
    OSC_FOLLOW_SEQUENCE_ID,
    OSC_FOLLOW_EXEC_ID,
    OSC_FOLLOW_TEXT,     /* disassembly */
    OSC_FOLLOW_RULE,     /* how its link to the operator is known: osc_link_rule_name,
                      "" for none */
    OSC_FOLLOW_GROUP,    /* number of its launch within the call, from 1; 0 for what
                       is no launch */
    OSC_FOLLOW_DELAY_NS, /* start minus the end of its runtime call; negative:
                          before the call returned */
    OSC_FOLLOW_QUEUE_NS, /* part of the delay during which earlier work kept its
                          lane busy */
    OSC_FOLLOW_SLICE,    /* row of `slices`, -1 none */
    OSC_FOLLOW_CALL,     /* row of the runtime call that launched it, -1 unknown: the
                      delay is then 0 */
    OSC_FOLLOW_CORRELATION,
    OSC_FOLLOW_COLUMNS
} osc_follow_column;

typedef struct osc_follow_options {
    osc_str name;  /* an operator, range, runtime call or kernel: its name, or a
                   part that one name only has; empty: whatever runs at at_ns */
    uint32_t nth;  /* which call, from 1 in order of start; 0: the first */
    bool by_time;  /* instead of nth the call that runs at at_ns, else the next one
                 */
    int64_t at_ns; /* from the zero of the capture (extent.h), as the column
                    offset_ns; or absolute */
    bool absolute; /* at_ns is absolute */
    bool frames;   /* also the python frames around the call */
    bool by_slice; /* instead of a name: this row of `slices` */
    uint32_t slice;
    uint32_t threads; /* as in osc_calls_options */
} osc_follow_options;

/*
 * Follows one call. The store's input is read again for arguments (grid, block, bytes) where it can
 * be. Facts: name, call, calls, source ("file:line function", may be empty), total_ns (device time
 * of the call), launch_ns, data_ns, arithmetic_ns (each part of total_ns), groups (of the column),
 * later_ns (from the time asked for to the call's start, 0 when it ran then) and note (the same in
 * words, else empty),
 * launches (with device work), delay_ns and queue_ns (sums over launches, negative delays left
 * out), unlinked (device work here without an operator), args (why there are no arguments; empty:
 * there are), simulated. *out is NULL on failure: OSC_ENOTFOUND (no such operator, with the
 * nearest; several; or fewer calls), OSC_ENOMEM.
 */
OSC_MUST_CHECK osc_status osc_follow_call(const osc_store *store, const osc_follow_options *options,
                                          osc_table **out, osc_err *err);

/* The same for call nth of name. */
OSC_MUST_CHECK osc_status osc_follow(const osc_store *store, osc_str name, uint32_t nth,
                                     osc_table **out, osc_err *err);

#endif
