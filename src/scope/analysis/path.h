/*
 * path.h - the critical path of a step: the chain of host time, launches, device work and waits
 * that its length is made of, and how much shorter it would be without each contributor.
 */
#ifndef OSC_ANALYSIS_PATH_H
#define OSC_ANALYSIS_PATH_H

#include "scope/analysis/table.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* What a stretch of the path is. Numbers are fixed. */
typedef enum osc_path_kind {
    OSC_PATH_HOST = 0,    /* an operator or runtime call on a host thread */
    OSC_PATH_OTHER = 1,   /* a host thread in neither: Python, or nothing recorded */
    OSC_PATH_LAUNCH = 2,  /* from the begin of a launch to the begin of its work */
    OSC_PATH_KERNEL = 3,  /* computing */
    OSC_PATH_COPY = 4,    /* copies and fills */
    OSC_PATH_COMM = 5,    /* collectives */
    OSC_PATH_SYNC = 6,    /* from the end of work to the return of the call that waited for it */
    OSC_PATH_QUEUE = 7,   /* from the end of work to the begin of work that was queued behind it */
    OSC_PATH_UNKNOWN = 8, /* nothing recorded explains it */
    OSC_PATH_KINDS = 9
} osc_path_kind;

/* "host", "launch", "kernel", ... Static storage. */
const char *osc_path_kind_name(osc_path_kind kind);

typedef struct osc_path_options {
    int64_t step; /* N of ProfilerStep#N; -1: the step of median length */
    bool work; /* to the end of the last work launched in the step, when that is after its range */
    bool segments;    /* a row for each segment; else one for each contributor */
    int64_t limit;    /* at most so many rows, -1: all */
    uint32_t what_if; /* for how many contributors the gain is computed; 0: the default */
} osc_path_options;

/*
 * Rows: segments in order of time, or contributors (kind and name) by their time on the path, with
 * what the step would gain at most without them (-1: not computed). Segments add up to the step's
 * length exactly. Facts: step, start_ns, length_ns, work_after_ns (how long work of the step runs
 * on after it), segments, <kind>_ns, inferred, sync_rows, no_device_work. The store must have been
 * opened with arguments for sync rows to count; without, waits are known from calls alone. *out is
 * NULL on failure: OSC_ENOMEM, OSC_ENOTFOUND (no such step).
 */
OSC_MUST_CHECK osc_status osc_path_table(const osc_store *store, const osc_path_options *options,
                                         osc_table **out, osc_err *err);

#endif
