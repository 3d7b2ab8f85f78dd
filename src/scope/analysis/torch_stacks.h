/*
 * torch_stacks.h - what PyTorch's export_stacks() writes: a line per event, with its python stack.
 *
 * PyTorch lists an event when it has a stack and its metric, cut to whole microseconds, is
 * positive; in order of start, longest first; lines of equal stacks are not merged
 * (kineto-trace-format.md 2.6). It has stacks only when the capture was made with
 * _ExperimentalConfig(verbose=True), which then also stand in the arguments of operators; otherwise
 * its file is empty. Values are cut from exact nanoseconds: PyTorch's doubles may fall one lower
 * where a time is a whole number of microseconds.
 */
#ifndef OSC_ANALYSIS_TORCH_STACKS_H
#define OSC_ANALYSIS_TORCH_STACKS_H

#include "base/status.h"
#include "scope/analysis/call_stacks.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_torch_stacks_line {
    int64_t value_us;
    uint32_t stack; /* id in osc_torch_stacks.texts */
} osc_torch_stacks_line;

typedef struct osc_torch_stacks {
    osc_call_stacks texts;
    osc_torch_stacks_line *lines; /* owned */
    uint32_t count;
} osc_torch_stacks;

/* The metrics that export_stacks takes, NULL at the end: self_cpu_time_total, self_cuda_time_total,
 * ... */
extern const char *const osc_torch_stacks_metrics[];

/* True when a metric is of the device, not of the CPU. */
bool osc_torch_stacks_on_device(const char *metric);

/*
 * The lines for host or device time from a sealed store. *out is zeroed on failure (OSC_ENOMEM);
 * freed with osc_torch_stacks_free.
 */
OSC_MUST_CHECK osc_status osc_torch_stacks_build(const osc_store *store, osc_python_rows python,
                                                 bool device, uint32_t threads,
                                                 osc_torch_stacks *out, osc_err *err);
/*
 * Whether the capture recorded stacks, so that PyTorch's file was not empty: reads the arguments of
 * a few operators that have a stack. Fails as osc_args_each does. Before the stacks are freed.
 */
OSC_MUST_CHECK osc_status osc_torch_stacks_recorded(const osc_store *store,
                                                    const osc_torch_stacks *stacks, bool *recorded,
                                                    osc_err *err);
void osc_torch_stacks_free(osc_torch_stacks *stacks); /* NULL allowed; zeroes */

#endif
