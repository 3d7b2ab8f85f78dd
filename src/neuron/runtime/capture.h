/*
 * capture.h - captures inside the runtime: what queue threads tell the active one.
 *
 * At most one capture is active. Queue threads find it by osc_capture_of; stop waits until none of
 * them can still hold it. Each captured core has its own records and NTFF files, touched by its
 * queue thread alone; the system trace is shared and locked.
 */
#ifndef OSC_NEURON_RUNTIME_CAPTURE_H
#define OSC_NEURON_RUNTIME_CAPTURE_H

#include "artifact/event.h"
#include "neuron/runtime/launch.h"
#include "neuron/runtime/program.h"
#include "neuron/runtime/rt.h"
#include "neuron/runtime/work.h"

#include <stdbool.h>
#include <stdint.h>

/* One execution; work and program stay the caller's. Fields after the blank line are known at the
 * end. */
typedef struct osc_capture_exec {
    const osc_work *work;
    osc_nrt_program *program;
    osc_launch launch;
    bool switched; /* another program ran last on the core */
    uint64_t exec; /* number on the core, from 1 */
    uint64_t sequence;
    int64_t start_ns; /* host */
    int64_t dev_ns;   /* device clock at the start of the body */

    int64_t body_ns;
    int64_t end_ns; /* host */
    bool failed;
} osc_capture_exec;

/* One copy, write, read or fill. Host times. */
typedef struct osc_capture_move {
    const osc_work *work;
    osc_capture_kind kind;
    uint64_t sequence;
    uint64_t bytes;
    int64_t start_ns, end_ns;
} osc_capture_move;

/* The active capture when it wants work of this device submitted at this time, else NULL. Queue
 * thread. */
osc_capture *osc_capture_of(osc_rt_device *device, const osc_work_tag *tag);

/* Before an execution: the sink for its device events, NULL when they are not wanted or over the
 * limit. */
const osc_event_sink *osc_capture_begin_exec(osc_capture *capture, osc_rt_device *device,
                                             const osc_capture_exec *exec);
/* After it: the record and the system-trace events; everything is in the files when this
 * returns. */
void osc_capture_end_exec(osc_capture *capture, osc_rt_device *device,
                          const osc_capture_exec *exec);
void osc_capture_transfer(osc_capture *capture, osc_rt_device *device,
                          const osc_capture_move *move);

/* Completes the active capture, if any, before the queues end. */
void osc_capture_finish_active(osc_rt *rt);

#endif
