/* follow_internal.h - state of one `follow`; shared by follow.c (lanes) and follow_device.c
 * (executions). */
#ifndef OSC_ANALYSIS_FOLLOW_INTERNAL_H
#define OSC_ANALYSIS_FOLLOW_INTERNAL_H

#include "base/buf.h"
#include "scope/analysis/follow.h"

struct follow {
    const osc_store *store;
    osc_table *table;
    osc_buf text;         /* scratch for details */
    uint32_t *work_first; /* per execution: first entry of work_order; executions + 1 long */
    uint32_t *work_order; /* rows of device_work by execution, then as captured */
    int64_t total_ns, launch_ns, data_ns, arithmetic_ns;
};

/* Groups device work by execution. False: out of memory. */
bool osc_follow_index_work(struct follow *f);

/* Rows for what happened inside an execution: launch, parts, preamble, instructions, transfers. */
bool osc_follow_execution(struct follow *f, uint32_t exec);

/* The execution whose slice this is, OSC_NO_ROW when it is none. */
uint32_t osc_follow_exec_of(const struct follow *f, uint32_t slice);

/* "Sync", "Vector", ... as the store's numbers mean them. Static storage. */
const char *osc_follow_engine_name(unsigned engine);

#endif
