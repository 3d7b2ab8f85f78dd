/*
 * schedule.h - the event-driven run of a program in device time.
 */
#ifndef OSC_NEURON_DEVICE_SCHEDULE_H
#define OSC_NEURON_DEVICE_SCHEDULE_H

#include "artifact/program.h"
#include "base/status.h"
#include "isa/sheet.h"
#include "neuron/device/cost.h"
#include "neuron/device/timeline.h"

#include <stdbool.h>
#include <stdint.h>

/* A program's costs, made once. */
typedef struct dev_plan {
    const osc_program *program;       /* not owned */
    dev_cost *cost[OSC_ENGINE_COUNT]; /* per stream, owned */
    uint32_t count[OSC_ENGINE_COUNT];
    dev_transfer_cost *transfer; /* owned */
    uint32_t transfer_count;
    bool reads_data; /* has REG_LOAD: control flow may depend on values */
} dev_plan;

OSC_MUST_CHECK osc_status dev_plan_make(dev_plan *plan, const osc_program *program,
                                        const osc_sheet *sheet, osc_err *err);
void dev_plan_free(dev_plan *plan);

/* Told about each step in order of start, before the next one is chosen. */
typedef struct dev_observer {
    void *context;
    osc_status (*step)(void *context, const dev_step *step, osc_err *err);
} dev_observer;

/* Registers a run starts with (all zero) or shares with the value side of a run with data. */
typedef int32_t dev_registers[OSC_ENGINE_COUNT][OSC_REGISTERS];

typedef struct dev_schedule_args {
    const dev_plan *plan;
    const osc_sheet *sheet;
    dev_registers *registers; /* non-NULL: kept by the observer; NULL: kept by the schedule */
    const dev_observer *observers;
    uint32_t observer_count;
} dev_schedule_args;

/*
 * Runs the program from preamble to postamble and adds to *timeline (initialised by the caller).
 * Fails with OSC_EDEADLOCK (who waits for what, in words), OSC_EINVAL (a loop that does not end),
 * OSC_ENOMEM, or an observer's failure.
 */
OSC_MUST_CHECK osc_status dev_schedule_run(const dev_schedule_args *args, dev_timeline *timeline,
                                           osc_err *err);

/* "Vector[3] tensor_tensor of aten::mul" into out. */
void dev_name_inst(const osc_program *program, unsigned engine, uint32_t index, char *out,
                   size_t cap);

#endif
