/*
 * key_averages.h - the table that PyTorch's key_averages() would have returned, exact to the
 * nanosecond.
 */
#ifndef OSC_ANALYSIS_KEY_AVERAGES_H
#define OSC_ANALYSIS_KEY_AVERAGES_H

#include "scope/analysis/calltree.h"
#include "scope/analysis/table.h"
#include "scope/store/store.h"

/* Columns of the result, in this order. */
typedef enum osc_ka_column {
    OSC_KA_NAME = 0,
    OSC_KA_DEVICE_TYPE,
    OSC_KA_IS_USER_ANNOTATION,
    OSC_KA_INPUT_SHAPES, /* as Python prints them; empty unless grouped by shape */
    OSC_KA_COUNT,
    OSC_KA_SELF_CPU_NS,
    OSC_KA_TOTAL_CPU_NS,
    OSC_KA_SELF_DEVICE_NS,
    OSC_KA_TOTAL_DEVICE_NS,
    OSC_KA_CPU_BYTES,
    OSC_KA_SELF_CPU_BYTES,
    OSC_KA_DEVICE_BYTES,
    OSC_KA_SELF_DEVICE_BYTES,
    OSC_KA_HAS_PARENT, /* the row's first event lies inside another one */
    OSC_KA_STACK,      /* enclosing python frames, innermost first, one per line */
    OSC_KA_COLUMNS,
    /* Only with torch_times and a known start of the profiler: PyTorch's own doubles, us. */
    OSC_KA_TORCH_SELF_CPU = OSC_KA_COLUMNS,
    OSC_KA_TORCH_TOTAL_CPU,
    OSC_KA_TORCH_SELF_DEVICE,
    OSC_KA_TORCH_TOTAL_DEVICE,
    OSC_KA_ALL_COLUMNS
} osc_ka_column;

typedef struct osc_ka_options {
    osc_calltree_options tree;
    bool by_shape;
    uint32_t stack_depth; /* group by that many enclosing python frames; 0: not by stack */
    bool torch_times;     /* also the four columns of OSC_KA_TORCH_*, for PyTorch's own text */
} osc_ka_options;

/*
 * Rows in order of first appearance, one per (name, device type, annotation[, shapes][, stack]);
 * kineto-trace-format.md 2.5, 2.6. Facts of the table:
 *   device           "NEURON", "CUDA", ...: title of the device columns, empty without device
 * events profile_memory   1 when memory was recorded total_cpu_ns     sum of self CPU time over all
 * rows total_device_ns  sum of self device time over device rows that are no annotations (2.7)
 *   unlinked         device events whose operator is not known
 *   unfinished       events left out because they were open at the end
 *   python_rows      1 when python frames are rows
 * *out is NULL on failure (OSC_ENOMEM). The caller frees it with osc_table_free.
 */
OSC_MUST_CHECK osc_status osc_key_averages(const osc_store *store, const osc_ka_options *options,
                                           osc_table **out, osc_err *err);

/*
 * Column by PyTorch's attribute name ("self_cuda_time_total", "cpu_time_total", "count", ...; all
 * spellings of kineto-trace-format.md 2.7) or by ours ("self_device", "self_device_ns").
 * OSC_KA_COLUMNS when unknown. For the averages ("cpu_time", "device_time") *average is set.
 */
osc_ka_column osc_ka_column_of(osc_str name, bool *average);

/*
 * Sorts rows by a column, or by the column divided by count; descending, ties keep their order. With
 * PyTorch's own doubles in the table it sorts by those.
 */
OSC_MUST_CHECK osc_status osc_ka_sort(osc_table *table, osc_ka_column column, bool average,
                                      osc_err *err);

/* A time column of a row in microseconds, in PyTorch's own doubles when the table has them. */
double osc_ka_us(const osc_table *table, uint32_t row, osc_ka_column column);

/* The sort names people may use, for messages; NULL-terminated. */
extern const char *const osc_ka_sort_names[];

#endif
