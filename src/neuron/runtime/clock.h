/*
 * clock.h - the device's own clock: counts from the moment the core opened, and may be wrong.
 *
 * dev = offset + d + d * drift / 1e9, with d = host - opened, in ns. Offset and drift stand for
 * what real clocks do to a trace, so that readers must fit sync points also here
 * (torchneuron-face.md 2.5). With drift 0 both directions are exact. Any thread.
 */
#ifndef OSC_NEURON_RUNTIME_CLOCK_H
#define OSC_NEURON_RUNTIME_CLOCK_H

#include <stdint.h>

typedef struct osc_devclock {
    int64_t opened_ns; /* host time at which the core opened */
    int64_t offset_ns; /* what the device clock showed then */
    int64_t drift_ppb; /* ns gained per second of host time */
} osc_devclock;

/* Device time at a host instant. */
int64_t osc_devclock_to_dev(const osc_devclock *clock, int64_t host_ns);

/* The earliest host instant at which the device clock shows dev_ns or more. */
int64_t osc_devclock_to_host(const osc_devclock *clock, int64_t dev_ns);

#endif
