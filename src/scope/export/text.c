/*
 * text.c - aligned columns for a terminal: texts left, numbers right, the last text column
 * unpadded.
 *
 * Widths are counted in terminal columns, so that wide characters line up. Names longer than a
 * limit are cut with three dots; machine formats never cut.
 */
#include "scope/export/export.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define NAME_MAX_COLUMNS 48u
#define MAX_COLUMNS      64u
#define GAP              "   "

struct layout {
    uint32_t shown[MAX_COLUMNS]; /* table columns that are printed */
    size_t width[MAX_COLUMNS];
    osc_scale scale[MAX_COLUMNS];
    uint32_t count;
};

static bool is_text(const osc_table *table, uint32_t column)
{
    osc_cell_type type = osc_table_column_at(table, column)->type;
    return type == OSC_CELL_STR || type == OSC_CELL_BOOL;
}

/* The cell as it is printed, in scratch. */
static osc_str cell_text(const osc_table *table, const struct layout *l, uint32_t row, uint32_t i,
                         osc_buf *scratch)
{
    osc_buf_clear(scratch);
    osc_export_cell(table, row, l->shown[i], &l->scale[i], scratch);
    if (!is_text(table, l->shown[i]) || i + 1 == l->count)
        return osc_buf_view(scratch);
    size_t start = scratch->len;
    osc_buf whole;
    osc_buf_init(&whole, SIZE_MAX);
    osc_buf_str(&whole, osc_buf_view(scratch));
    (void)osc_export_cut(osc_buf_view(&whole), NAME_MAX_COLUMNS, scratch);
    osc_buf_free(&whole);
    return osc_str_sub(osc_buf_view(scratch), start, SIZE_MAX);
}

/* True when there are rows and every cell of a text column is empty. */
static bool is_blank(const osc_table *table, uint32_t column)
{
    if (osc_table_rows(table) == 0 || osc_table_column_at(table, column)->type != OSC_CELL_STR)
        return false;
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        if (osc_table_cell(table, r, column).str.len > 0)
            return false;
    }
    return true;
}

static void measure(const osc_table *table, struct layout *l, osc_buf *scratch)
{
    assert(osc_table_columns(table) <= MAX_COLUMNS);
    for (uint32_t c = 0; c < osc_table_columns(table); c++) {
        if (osc_table_column_at(table, c)->machine_only || is_blank(table, c))
            continue;
        l->shown[l->count] = c;
        l->scale[l->count] = osc_export_scale(table, c);
        l->width[l->count] = strlen(osc_table_column_at(table, c)->label);
        l->count++;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        for (uint32_t r = 0; r < osc_table_rows(table); r++) {
            size_t width = osc_utf8_columns(cell_text(table, l, r, i, scratch));
            l->width[i] = width > l->width[i] ? width : l->width[i];
        }
    }
}

static void put(const osc_table *table, const struct layout *l, uint32_t i, osc_str text,
                osc_buf *out)
{
    size_t width = osc_utf8_columns(text);
    size_t pad = l->width[i] > width ? l->width[i] - width : 0;
    if (i > 0)
        osc_buf_cstr(out, GAP);
    if (is_text(table, l->shown[i])) {
        osc_buf_str(out, text);
        if (i + 1 < l->count)
            osc_buf_fill(out, ' ', pad);
    } else {
        osc_buf_fill(out, ' ', pad);
        osc_buf_str(out, text);
    }
}

void osc_export_text(const osc_table *table, bool colour, osc_buf *out)
{
    struct layout l = {.count = 0};
    osc_buf scratch;
    osc_buf_init(&scratch, SIZE_MAX);
    measure(table, &l, &scratch);
    osc_buf_cstr(out, colour ? "\033[1m" : "");
    for (uint32_t i = 0; i < l.count; i++)
        put(table, &l, i, osc_str_from_cstr(osc_table_column_at(table, l.shown[i])->label), out);
    osc_buf_cstr(out, colour ? "\033[0m\n" : "\n");
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        for (uint32_t i = 0; i < l.count; i++)
            put(table, &l, i, cell_text(table, &l, r, i, &scratch), out);
        osc_buf_putc(out, '\n');
    }
    for (uint32_t f = 0; f < osc_table_footers(table); f++) {
        osc_buf_fill(out, ' ', l.count > 0 ? l.width[0] + strlen(GAP) : 0);
        osc_buf_str(out, osc_table_footer(table, f));
        osc_buf_putc(out, '\n');
    }
    osc_buf_free(&scratch);
}
