/* engines_text.h - one screen about a device profile: picture of the engines, breakdown,
 * summary. */
#ifndef OSC_EXPORT_ENGINES_TEXT_H
#define OSC_EXPORT_ENGINES_TEXT_H

#include "base/buf.h"
#include "scope/analysis/table.h"
#include "scope/export/export.h"

/* The tables of analysis/engines.h and analysis/summary.h; all are needed. Failures are out's. */
typedef struct osc_engines_page {
    const osc_table *engines, *timeline, *summary, *missing;
} osc_engines_page;

void osc_export_engines(const osc_engines_page *page, const osc_look *look, osc_buf *out);

#endif
