/*
 * torch_times.h - the times of rows in the very doubles that PyTorch computes with.
 *
 * PyTorch subtracts the profiler's start, divides by 1000 and then adds and subtracts doubles in a
 * certain order. Its printed tables round those, so a value that lies exactly between two last
 * digits falls as the doubles fall (kineto-trace-format.md 2.8). With the start known - sessions of
 * ours say it - the same operations in the same order give the same digits.
 */
#ifndef OSC_ANALYSIS_TORCH_TIMES_H
#define OSC_ANALYSIS_TORCH_TIMES_H

#include "scope/analysis/calls.h"

/* Microseconds of a row. */
typedef struct osc_torch_sums {
    double self_cpu, total_cpu, self_device, total_device;
} osc_torch_sums;

/*
 * Adds the times of all calls whose duplicates are removed to the rows that row_of[slice] names
 * (OSC_NO_ROW: none). False when out of memory; rows are then incomplete.
 */
bool osc_torch_times_add(const osc_calls *calls, int64_t trace_start_ns, const uint32_t *row_of,
                         osc_torch_sums *rows);

#endif
