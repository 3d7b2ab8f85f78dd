/*
 * top.h - the table of operators for people: few columns, ranked, with a total under it.
 *
 * Built from key_averages: when there is device time, the operators that started any, by that; else
 * every row that spends CPU time, by that. The facts of the busy time come from the store.
 */
#ifndef OSC_ANALYSIS_TOP_H
#define OSC_ANALYSIS_TOP_H

#include "scope/analysis/key_averages.h"

/*
 * Rows of key_averages (already in the order wanted) that people look for, at most limit (-1: all).
 * by_shape, by_stack: also show that column. *out is NULL on failure (OSC_ENOMEM).
 */
OSC_MUST_CHECK osc_status osc_top(const osc_store *store, const osc_table *key_averages,
                                  int64_t limit, bool by_shape, bool by_stack, osc_table **out,
                                  osc_err *err);

#endif
