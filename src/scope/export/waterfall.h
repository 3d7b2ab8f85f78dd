/* waterfall.h - the table of `follow` as an indented text, at most 80 columns wide. */
#ifndef OSC_EXPORT_WATERFALL_H
#define OSC_EXPORT_WATERFALL_H

#include "base/buf.h"
#include "scope/analysis/table.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Appends the text. Of each execution at most `limit` instructions, of a graph launch as many
 * kernels, of the call as many launches are told (-1: all), and groups of instructions that repeat
 * once; a line says what was left out. Transfers and launch parts are told within their line.
 * colour: bold lanes.
 */
void osc_export_waterfall(const osc_table *follow, int64_t limit, bool colour, osc_buf *out);

#endif
