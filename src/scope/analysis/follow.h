/*
 * follow.h - the life of one call of an operator: through every lane, down to instructions.
 *
 * From a session: operator, stream, runtime call, execution, launch parts, engine instructions and
 * DMA transfers, each with what it waited for. From a plain trace: operator, runtime calls, device
 * work. What belongs to a call is what was linked to it or to operators inside it.
 */
#ifndef OSC_ANALYSIS_FOLLOW_H
#define OSC_ANALYSIS_FOLLOW_H

#include "scope/analysis/calltree.h"
#include "scope/analysis/table.h"

/* Columns of the result. */
typedef enum osc_follow_column {
    OSC_FOLLOW_LEVEL = 0, /* 0 slice on a lane, 1 launch or instruction, 2 part or transfer */
    OSC_FOLLOW_LANE,      /* "framework/TID:12" */
    OSC_FOLLOW_KIND, /* "op", "stream", "runtime", "execution", "copy", "kernel", "launch", "part",
                             "preamble", "instruction", "dma", "transfer", "postamble" */
    OSC_FOLLOW_NAME, /* event, operation, or part */
    OSC_FOLLOW_ENGINE,
    OSC_FOLLOW_START_NS,  /* absolute */
    OSC_FOLLOW_OFFSET_NS, /* from the start of the window (level 0) or of the execution */
    OSC_FOLLOW_DUR_NS,
    OSC_FOLLOW_GAP_NS, /* idle time on the lane or engine before it, -1 when nothing was before */
    OSC_FOLLOW_WAITED_FOR,
    OSC_FOLLOW_DETAIL,
    OSC_FOLLOW_FITTED, /* a fitted model gave the length */
    OSC_FOLLOW_BYTES,
    OSC_FOLLOW_TRANSFERS,
    OSC_FOLLOW_RING, /* DMA engine, -1 none */
    OSC_FOLLOW_SEQUENCE_ID,
    OSC_FOLLOW_EXEC_ID,
    OSC_FOLLOW_TEXT, /* disassembly */
    OSC_FOLLOW_COLUMNS
} osc_follow_column;

/*
 * Follows call nth (from 1) of the operator or annotation `name`, in order of start. Facts: name,
 * call, calls, source ("file:line function", may be empty), total_ns (device time of the call),
 * launch_ns, data_ns, arithmetic_ns (each part of total_ns), simulated. *out is NULL on failure:
 * OSC_ENOTFOUND (no such operator, with the nearest; or fewer calls), OSC_ENOMEM.
 */
OSC_MUST_CHECK osc_status osc_follow(const osc_store *store, osc_str name, uint32_t nth,
                                     osc_table **out, osc_err *err);

#endif
