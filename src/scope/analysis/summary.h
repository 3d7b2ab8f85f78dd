/*
 * summary.h - the summary metrics of a device profile, recomputed from its rows, under the names
 * and units of the vendor's tools: seconds, fractions, bytes.
 *
 * Each field is one row of a table in summary_fields.c: name, unit, what it rests on, formula.
 * Figures carry the bounds between which the exact value lies, since exported times are cut to
 * whole ns; when the file brings its own summary, a field differs only when the stated value lies
 * outside. What rows do not determine is listed as underivable with the reason, never guessed.
 * Formulas: summary-metrics.md 2.
 */
#ifndef OSC_ANALYSIS_SUMMARY_H
#define OSC_ANALYSIS_SUMMARY_H

#include "scope/analysis/engines.h"

/* Columns of osc_summary. */
enum {
    OSC_SU_FIELD = 0,
    OSC_SU_VALUE, /* number; 0 for a text */
    OSC_SU_TEXT,  /* the value written out */
    OSC_SU_IS_TEXT,
    OSC_SU_UNIT,  /* "s", "fraction", "B", "n", "flop", "flop/B", "cycles", "ns", "" */
    OSC_SU_BASIS, /* "rows", "fitted", "zero", "copied" */
    OSC_SU_LOW,   /* bounds of the exact value */
    OSC_SU_HIGH,
    OSC_SU_STATED,  /* the file's own value as it has it, empty when it has none */
    OSC_SU_VERDICT, /* "exact", "within", "differs", or empty */
    OSC_SU_FORMULA,
    OSC_SU_COLUMNS
};

/*
 * One row per field that can be derived, in a fixed order. Facts: executions, fields, differ,
 * underivable. *missing (may be NULL) receives a table of the fields that cannot: field, reason,
 * stated. Both are freed by the caller. Failures as osc_engines.
 */
OSC_MUST_CHECK osc_status osc_summary(const osc_store *store, const osc_engine_options *options,
                                      osc_table **out, osc_table **missing, osc_err *err);

#endif
