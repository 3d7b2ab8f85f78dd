/*
 * hazard.h - the happens-before checker: finds programs that only work by luck of timing.
 */
#ifndef OSC_NEURON_DEVICE_HAZARD_H
#define OSC_NEURON_DEVICE_HAZARD_H

#include "base/status.h"
#include "isa/sheet.h"
#include "neuron/device/schedule.h"

typedef struct dev_hazard dev_hazard;

/* Rule numbers, in osc_event.a of OSC_EV_HAZARD records. */
typedef enum dev_rule {
    DEV_RULE_UNWRITTEN = 1,    /* reads bytes that nothing has written */
    DEV_RULE_READ_AFTER_WRITE, /* reads what another queue writes, no semaphore between */
    DEV_RULE_WRITE_AFTER_WRITE,
    DEV_RULE_WRITE_AFTER_READ,
    DEV_RULE_ACCUMULATE /* matmul adds to PSUM that no matmul wrote */
} dev_rule;

/* What was found, for a record. */
typedef struct dev_finding {
    dev_rule rule;
    uint8_t engine, other_engine;
    uint32_t index, other_index;
} dev_finding;

/* A checker for one run of the plan. NULL when out of memory. The plan outlives it. */
dev_hazard *dev_hazard_new(const dev_plan *plan, const osc_sheet *sheet);
void dev_hazard_free(dev_hazard *hazard);

/* Observer of dev_schedule_run (context: dev_hazard *). OSC_EHAZARD names both instructions, the
 * address and the source operator. */
OSC_MUST_CHECK osc_status dev_hazard_step(void *context, const dev_step *step, osc_err *err);

/* Valid after dev_hazard_step returned OSC_EHAZARD. */
const dev_finding *dev_hazard_finding(const dev_hazard *hazard);

#endif
