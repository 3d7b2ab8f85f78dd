/*
 * event.h - events inside the runtime: what the queue thread does with one.
 */
#ifndef OSC_NEURON_RUNTIME_EVENT_H
#define OSC_NEURON_RUNTIME_EVENT_H

#include "opscope/neuron.h"

#include <stdint.h>

/* Drops one reference of the atomic count; the last one frees. */
void osc_event_release(osc_nrt_event *event);

/* The simulated instant at which the event was reached last; written and read by queue threads. */
void osc_event_reach(osc_nrt_event *event, int64_t host_ns);
int64_t osc_event_time(osc_nrt_event *event);

#endif
