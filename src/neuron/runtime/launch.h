/*
 * launch.h - the launch model: what one execution costs besides its device body.
 *
 * neuroncore-model.md 5.3: dispatch + lookup + outputs * alloc + submit + [another program ran
 * last] * switch + notify (with poll) + profiling. All parts together are one interval at the
 * beginning of nc_exec_running, before the device body; none of it is charged to the host. Every
 * part is fitted to published totals, the same for every operator. The launch_* column of the sheet
 * holds while a capture includes the core, the sync_* column otherwise.
 */
#ifndef OSC_NEURON_RUNTIME_LAUNCH_H
#define OSC_NEURON_RUNTIME_LAUNCH_H

#include "artifact/finding.h" /* osc_launch_part */
#include "isa/sheet.h"

#include <stdbool.h>
#include <stdint.h>

#define OSC_LAUNCH_PARTS 8u

typedef struct osc_launch {
    osc_launch_part parts[OSC_LAUNCH_PARTS]; /* those that are not zero, in order */
    uint32_t count;
    int64_t total_ns; /* their sum */
} osc_launch;

typedef struct osc_launch_facts {
    bool captured;    /* a capture includes the core */
    bool switched;    /* the core ran another program before, or none */
    uint32_t outputs; /* tensors the execution allocates for its results */
    uint64_t seed;    /* for the noise: the same seed gives the same noise */
} osc_launch_facts;

/* Fills *out. Any thread; depends on nothing but its arguments. */
void osc_launch_model(const osc_sheet *sheet, const osc_launch_facts *facts, osc_launch *out);

#endif
