/* verdicts.h - the result of `check` for people: verdict, what should hold, evidence, the way
 * out. */
#ifndef OSC_EXPORT_VERDICTS_H
#define OSC_EXPORT_VERDICTS_H

#include "base/buf.h"
#include "scope/analysis/table.h"

#include <stdbool.h>

/* Appends a table of osc_check (columns found by name; a column "rank" groups it) to out. */
void osc_export_verdicts(const osc_table *checks, bool colour, osc_buf *out);

#endif
