/*
 * device.h - one virtual NeuronCore: memories, engines, DMA, semaphores, time, hazards.
 *
 * Loading a program checks it, precomputes each instruction's cost from the parameter sheet and,
 * when its control flow does not depend on data, schedules it once: an event-driven run in device
 * time that yields the order of effects, every event, and the duration. A later execution then
 * only repeats the values in that order. Programs with REG_LOAD are scheduled and executed
 * together, each time.
 *
 * The device knows no files, no threads and no host clock: time comes from the sheet alone, so
 * the same program always takes the same number of nanoseconds. Not thread-safe: one thread per
 * core at a time.
 */
#ifndef OSC_NEURON_DEVICE_DEVICE_H
#define OSC_NEURON_DEVICE_DEVICE_H

#include "artifact/event.h"
#include "artifact/program.h"
#include "base/status.h"
#include "isa/sheet.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_core osc_core;     /* one physical core: SBUF, PSUM, clocks */
typedef struct osc_loaded osc_loaded; /* a program made ready for one core's sheet */

typedef struct osc_core_options {
    size_t size;        /* sizeof(osc_core_options) */
    bool check_hazards; /* happens-before checker on every scheduled run */
    bool poison; /* fill SBUF, PSUM with NaN (floats) before each execution: finds reads before
                  * writes */
} osc_core_options;

/* Allocates SBUF and PSUM lazily at the first value run. The sheet is copied. NULL when out of
 * memory. */
osc_core *osc_core_new(const osc_sheet *sheet, const osc_core_options *options);
void osc_core_free(osc_core *core);

/* Retains the program. Fails with OSC_EDEADLOCK (message holds the wait graph in words) or
 * OSC_EHAZARD (message names instruction, engine, address, source op) when scheduling finds one. */
OSC_MUST_CHECK osc_status osc_core_load(osc_core *core, osc_program *program, osc_loaded **out,
                                        osc_err *err);
void osc_core_unload(osc_loaded *loaded);

/* Duration of the device body, preamble through postamble, ns. 0 when it depends on data. */
int64_t osc_loaded_body_ns(const osc_loaded *loaded);

/* Host-visible memory behind one slot of the launch. */
typedef struct osc_binding {
    uint8_t *base;  /* first element of the tensor's view */
    uint64_t bytes; /* valid from base; must cover the tensor's span_bytes */
} osc_binding;

typedef struct osc_run {
    size_t size;                 /* sizeof(osc_run) */
    const osc_binding *bindings; /* one per slot; NULL allowed with values = false */
    uint32_t binding_count;
    uint8_t *scratch;           /* osc_program_scratch_bytes() bytes, NULL if that is 0 */
    bool values;                /* false: timing only */
    int64_t start_ns;           /* device time of the preamble's start; events are laid from here */
    uint32_t exec;              /* number for the events */
    const osc_event_sink *sink; /* NULL: no events */
} osc_run;

typedef struct osc_run_result {
    int64_t body_ns;
    uint64_t instructions;
    uint64_t transfers; /* DMA instructions */
    uint64_t dma_bytes;
    int64_t busy_ns[OSC_ENGINE_COUNT]; /* per engine, DMA = union over rings */
} osc_run_result;

/* Runs once. result may be NULL. */
OSC_MUST_CHECK osc_status osc_core_execute(osc_core *core, osc_loaded *loaded, const osc_run *run,
                                           osc_run_result *result, osc_err *err);

/* Schedules the program anew without values or cached schedule: the path that the simulation-speed
 * benchmark measures. */
OSC_MUST_CHECK osc_status osc_core_simulate(osc_core *core, const osc_loaded *loaded,
                                            osc_run_result *result, osc_err *err);

#endif
