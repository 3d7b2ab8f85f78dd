/*
 * key_averages.h - the table that PyTorch's key_averages() would have returned, exact to the
 * nanosecond.
 */
#ifndef OSC_ANALYSIS_KEY_AVERAGES_H
#define OSC_ANALYSIS_KEY_AVERAGES_H

#include "scope/analysis/calls.h"
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
    OSC_KA_LINKED,     /* device work: calls whose operator is known, and their time (R16) */
    OSC_KA_LINKED_NS,
    OSC_KA_COLUMNS,
    /* Only with like_torch and a known start of the profiler: PyTorch's own doubles, us. */
    OSC_KA_TORCH_SELF_CPU = OSC_KA_COLUMNS,
    OSC_KA_TORCH_TOTAL_CPU,
    OSC_KA_TORCH_SELF_DEVICE,
    OSC_KA_TORCH_TOTAL_DEVICE,
    OSC_KA_TORCH_COLUMNS
    /* Behind these, a column for each way of grouping that has none above: osc_table_find(t,
     * "step"). */
} osc_ka_column;

/* What can split the rows of a name; numbers are bits of osc_ka_options.by. */
typedef enum osc_ka_by {
    OSC_KA_BY_SHAPE = 0,  /* input shapes */
    OSC_KA_BY_STACK = 1,  /* stack_depth enclosing python frames */
    OSC_KA_BY_MODULE = 2, /* nn.Module frames around it; device work: around its operator */
    OSC_KA_BY_STEP = 3,   /* ProfilerStep# that was open; device work: when its operator started */
    OSC_KA_BY_STREAM = 4, /* lane of device work */
    OSC_KA_BY_THREAD = 5, /* lane of host work; device work: of its operator */
    OSC_KA_BY_DEVICE = 6, /* device the work ran on */
    OSC_KA_BY_COUNT = 7
} osc_ka_by;

/* "shape", "stack", "module", ...: names of the ways, and of the columns of all but the first
 * two. NULL at the end. */
extern const char *const osc_ka_by_names[];

typedef struct osc_ka_options {
    osc_calls_options calls;
    uint32_t by;          /* bits 1 << osc_ka_by; 0: rows by name */
    uint32_t stack_depth; /* with OSC_KA_BY_STACK: that many frames tell rows apart */
    /* For PyTorch's own text: also the columns OSC_KA_TORCH_*, and no stacks where python frames
     * are rows, as PyTorch 2.12 and later have none then. */
    bool like_torch;
    bool outermost;   /* calls inside another of their row add to its self figures only (R04) */
    bool linked_only; /* leave out device work whose operator is not known (R16) */
} osc_ka_options;

/*
 * Rows in order of first appearance, one per (name, device type, annotation and what `by` says);
 * kineto-trace-format.md 2.5, 2.6. Facts of the table:
 *   device           "NEURON", "CUDA", ...: title of the device columns, "" without such
 *   profile_memory   1 when memory was recorded
 *   total_cpu_ns     sum of self CPU time over all rows
 *   total_device_ns  sum of self device time over device rows that are no annotations (2.7)
 *   unlinked         device events whose operator is not known
 *   unfinished       events left out because they were open at the end
 *   python_rows      1 when python frames are rows
 *   with_flops       1 when PyTorch counted FLOPs, which the file does not carry
 * *out is NULL on failure (OSC_ENOMEM). The caller frees it with osc_table_free.
 */
OSC_MUST_CHECK osc_status osc_key_averages(const osc_store *store, const osc_ka_options *options,
                                           osc_table **out, osc_err *err);

/* Facts of several ranks together. Zero-initialise. */
typedef struct osc_ka_total {
    int64_t cpu_ns, device_ns, unlinked, unfinished;
    bool python_rows, profile_memory, with_flops;
    char device[64]; /* of the first rank that has one */
} osc_ka_total;

/* Adds the facts of a table of osc_key_averages. */
void osc_ka_total_add(osc_ka_total *total, const osc_table *table);

/*
 * Adds up the rows of several such tables that were joined under a column "rank"; with by_rank the
 * ranks stay apart and that column stands last. Rows are in order of first appearance. *out is NULL
 * on failure (OSC_ENOMEM).
 */
OSC_MUST_CHECK osc_status osc_ka_merge(const osc_table *joined, bool by_rank,
                                       const osc_ka_total *total, osc_table **out, osc_err *err);

/*
 * Column by PyTorch's attribute name ("self_cuda_time_total", "cpu_time_total", "count", ...; all
 * spellings of kineto-trace-format.md 2.7) or by ours ("self_device", "self_device_ns").
 * OSC_KA_COLUMNS when unknown. For the averages ("cpu_time", "device_time") *average is set.
 */
osc_ka_column osc_ka_column_of(osc_str name, bool *average);

/*
 * Sorts rows by a column, or by the column divided by count; the largest first, names from A, or
 * the other way round when reversed; ties keep their order. With PyTorch's own doubles in the table
 * it sorts by those.
 */
OSC_MUST_CHECK osc_status osc_ka_sort(osc_table *table, osc_ka_column column, bool average,
                                      bool reverse, osc_err *err);

/* A time column of a row in microseconds, in PyTorch's own doubles when the table has them. */
double osc_ka_us(const osc_table *table, uint32_t row, osc_ka_column column);

/* The sort names people may use, for messages; NULL-terminated. */
extern const char *const osc_ka_sort_names[];

#endif
