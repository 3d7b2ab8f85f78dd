/*
 * torch_times.h - the times of a call tree in the very doubles that PyTorch computes with.
 *
 * PyTorch subtracts the profiler's start, divides by 1000 and then adds and subtracts doubles in a
 * certain order. Its printed tables round those, so a value that lies exactly between two last digits
 * falls as the doubles fall (kineto-trace-format.md 2.8). With the start known - sessions of ours say
 * it - the same operations in the same order give the same digits.
 */
#ifndef OSC_ANALYSIS_TORCH_TIMES_H
#define OSC_ANALYSIS_TORCH_TIMES_H

#include "scope/analysis/calltree.h"

/* One per node, microseconds; arrays owned, NULL when not built. */
typedef struct osc_torch_times {
    double *self_cpu, *total_cpu, *self_device, *total_device;
} osc_torch_times;

/* Computes them for a tree whose duplicates are removed. False (and zeroed) when out of memory. */
bool osc_torch_times_build(const osc_calltree *tree, int64_t trace_start_ns, osc_torch_times *out);

void osc_torch_times_free(osc_torch_times *times); /* NULL allowed; zeroes */

#endif
