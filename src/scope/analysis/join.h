/*
 * join.h - the tables of several ranks as one.
 */
#ifndef OSC_ANALYSIS_JOIN_H
#define OSC_ANALYSIS_JOIN_H

#include "scope/analysis/table.h"

/*
 * One table with the rows of count > 0 tables of one analysis, in the order given, and a first
 * column "rank" with the number of each. Columns are joined by name; a table that lacks one leaves
 * its cells empty. Facts that all tables agree on stay, and "ranks" is added; footers get their
 * rank in front. *out is NULL on failure (OSC_ENOMEM). The inputs stay with the caller.
 */
OSC_MUST_CHECK osc_status osc_table_join(const osc_table *const *tables, const int64_t *ranks,
                                         uint32_t count, osc_table **out, osc_err *err);

#endif
