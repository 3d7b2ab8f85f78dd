/* overview.h - the table of `info` as aligned lines, findings below them. */
#ifndef OSC_EXPORT_OVERVIEW_H
#define OSC_EXPORT_OVERVIEW_H

#include "base/buf.h"
#include "scope/analysis/table.h"

#include <stdbool.h>

/* Appends the text. colour: FAIL red, warn yellow. */
void osc_export_overview(const osc_table *info, bool colour, osc_buf *out);

#endif
