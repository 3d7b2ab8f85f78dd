/*
 * events.h - from a timeline to osc_event records.
 */
#ifndef OSC_NEURON_DEVICE_EVENTS_H
#define OSC_NEURON_DEVICE_EVENTS_H

#include "artifact/event.h"
#include "base/status.h"
#include "isa/sheet.h"
#include "neuron/device/schedule.h"
#include "neuron/device/timeline.h"

typedef struct dev_events {
    osc_event *event; /* owned; in order of start_ns, times from the start of the preamble */
    size_t count;
} dev_events;

/* All records of one execution. *out is empty on failure. */
OSC_MUST_CHECK osc_status dev_events_build(const dev_plan *plan, const dev_timeline *timeline,
                                           const osc_sheet *sheet, dev_events *out, osc_err *err);
void dev_events_free(dev_events *events);

/* Hands the records to the sink, moved to start_ns and numbered exec, in batches. */
void dev_events_emit(const dev_events *events, int64_t start_ns, uint32_t exec,
                     const osc_event_sink *sink);

#endif
