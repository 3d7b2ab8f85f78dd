/*
 * steps.h - what each step of the profiler's schedule took, on the host and on the device.
 *
 * A step is a CPU range ProfilerStep#N of a process; annotations of that name on a device are not
 * counted (known-bad-inputs.md R09). The work of a step is what was launched in it, wherever it ran
 * (kineto-trace-format.md 3); busy and idle are of the step's own window. Each launch belongs to
 * one step: of two that overlap, as adjust_profiler_step makes them, to the later.
 */
#ifndef OSC_ANALYSIS_STEPS_H
#define OSC_ANALYSIS_STEPS_H

#include "scope/analysis/busy.h"
#include "scope/analysis/table.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_step {
    int64_t start_ns, end_ns;
    int64_t number;   /* N of ProfilerStep#N; 0 for the whole capture */
    uint32_t slice;   /* OSC_NO_ROW: the whole capture */
    uint32_t thread;  /* thread of the range; of the whole capture, the one that did most */
    uint32_t process; /* index, equal for threads of one process */
    bool unfinished;  /* open when the profiler stopped */
} osc_step;

typedef struct osc_steps {
    osc_step *items;      /* by (process, start); owned */
    uint32_t count;       /* at least 1 */
    bool whole;           /* no steps in the capture: the one item is all of it */
    uint32_t *process_of; /* [thread number]: process, OSC_NO_ROW unknown; owned */
    uint32_t threads;
    uint64_t repeated; /* ranges left out because one of that name overlaps them */
} osc_steps;

/* Finds the steps. *out is zeroed on failure (OSC_ENOMEM). */
OSC_MUST_CHECK osc_status osc_steps_find(const osc_busy *busy, osc_steps *out, osc_err *err);
void osc_steps_free(osc_steps *steps); /* NULL allowed; zeroes it */

/* "instance/PID:12" of a track; equal for the lanes of one process. Points into the store. */
osc_str osc_track_process(const osc_store *store, uint32_t track);

/* The step that what a thread did at a time belongs to, OSC_NO_ROW: none. `hint` is the last
 * answer. */
uint32_t osc_steps_at(const osc_steps *steps, uint32_t thread, int64_t time, uint32_t hint);

typedef struct osc_steps_options {
    osc_str device; /* only its work; empty: all devices, each a row */
} osc_steps_options;

/*
 * One row per step and device. Facts: steps, whole (1: no steps in the capture), median_wall_ns,
 * min_wall_ns, max_wall_ns, busy_ns, wall_ns, outside (work launched in no step), unlaunched. *out
 * is NULL on failure: OSC_ENOMEM, OSC_ENOTFOUND.
 */
OSC_MUST_CHECK osc_status osc_steps_table(const osc_store *store, const osc_steps_options *options,
                                          osc_table **out, osc_err *err);

#endif
