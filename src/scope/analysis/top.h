/*
 * top.h - the table of operators for people: few columns, ranked, with a total under it.
 *
 * Built from key_averages: when there is device time, the operators that started any, by that; else
 * every row that spends CPU time, by that. What only the store knows is looked up before, so that
 * several ranks can be looked at one after the other.
 */
#ifndef OSC_ANALYSIS_TOP_H
#define OSC_ANALYSIS_TOP_H

#include "scope/analysis/key_averages.h"

/* What the line under the table says of the traces it is from. Zero-initialise. */
typedef struct osc_top_facts {
    int64_t busy_ns;   /* union of kernels, copies and fills during the steps */
    int64_t window_ns; /* union of the steps, or the whole capture when there are none */
    int64_t steps;     /* ProfilerStep# ranges */
    bool executed;     /* the runtime's own trace has executions, whatever PyTorch was told */
    bool instructions; /* it is a profile of a device's engines */
} osc_top_facts;

/* Adds those of a trace. OSC_ENOMEM. */
OSC_MUST_CHECK osc_status osc_top_look(const osc_store *store, osc_top_facts *facts, osc_err *err);

typedef struct osc_top_options {
    int64_t limit;    /* rows at most; -1: all */
    uint32_t by;      /* osc_ka_options.by: also show those columns */
    bool by_rank;     /* also a column "rank", which key_averages then has */
    bool linked_only; /* osc_ka_options.linked_only, to be said */
} osc_top_options;

/*
 * Rows of key_averages (already in the order wanted) that people look for. *out is NULL on failure
 * (OSC_ENOMEM).
 */
OSC_MUST_CHECK osc_status osc_top(const osc_table *key_averages, const osc_top_facts *facts,
                                  const osc_top_options *options, osc_table **out, osc_err *err);

#endif
