/*
 * torch_table.h - the text that PyTorch's own table() prints, from a key_averages table.
 *
 * Character for character as PyTorch 2.13 (kineto-trace-format.md 2.7), its quirks included. With
 * PyTorch's own doubles in the table (osc_ka_options.like_torch) the digits are the same; without
 * them - in traces that do not say when the profiler started - a cell whose exact value lies
 * between two last digits may differ by one unit (2.8).
 */
#ifndef OSC_EXPORT_TORCH_TABLE_H
#define OSC_EXPORT_TORCH_TABLE_H

#include "base/buf.h"
#include "base/str.h"
#include "scope/analysis/table.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_torch_table_options {
    int64_t row_limit;                /* -1: all; PyTorch's default is 100 */
    bool top_level_events_only;       /* leave out rows whose first event was nested */
    osc_str header;                   /* line above the table; ptr NULL: none */
    osc_str time_unit;                /* "s", "ms", "us"; empty: each cell its own */
    uint32_t max_name_column_width;   /* 55 */
    uint32_t max_shapes_column_width; /* 80 */
    uint32_t max_src_column_width;    /* 75 */
} osc_torch_table_options;

/* PyTorch's defaults. */
osc_torch_table_options osc_torch_table_defaults(void);

/* Appends the text; rows are printed in the table's order (sort before). */
void osc_export_torch_table(const osc_table *key_averages, const osc_torch_table_options *options,
                            osc_buf *out);

#endif
