/* markdown.c - a pipe table for people to paste: the columns of the text table, its footers below.
 * Pipes and markup in names are escaped. */
#include "scope/export/export.h"

#include <assert.h>
#include <string.h>

static void put_escaped(osc_str text, osc_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr("|\\`*_<>", text.ptr[i]) && text.ptr[i] != '\0')
            osc_buf_putc(out, '\\');
        osc_buf_putc(out, text.ptr[i]);
    }
}

static bool is_number(const osc_table_column *column)
{
    return column->type == OSC_CELL_I64 || column->type == OSC_CELL_F64;
}

static void put_head(const osc_table *table, osc_buf *out)
{
    uint32_t columns = osc_table_columns(table);
    for (uint32_t c = 0; c < columns; c++) {
        if (osc_export_shows(table, c))
            osc_buf_printf(out, "| %s ", osc_table_column_at(table, c)->label);
    }
    osc_buf_cstr(out, "|\n");
    for (uint32_t c = 0; c < columns; c++) {
        if (osc_export_shows(table, c))
            osc_buf_cstr(out, is_number(osc_table_column_at(table, c)) ? "|---:" : "|---");
    }
    osc_buf_cstr(out, "|\n");
}

void osc_export_md(const osc_table *table, osc_buf *out)
{
    uint32_t columns = osc_table_columns(table);
    osc_scale scales[64];
    bool shows[64];
    osc_buf cell;
    assert(columns <= 64);
    osc_buf_init(&cell, SIZE_MAX);
    put_head(table, out);
    for (uint32_t c = 0; c < columns; c++) {
        scales[c] = osc_export_scale(table, c);
        shows[c] = osc_export_shows(table, c);
    }
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        for (uint32_t c = 0; c < columns; c++) {
            if (!shows[c])
                continue;
            osc_buf_clear(&cell);
            osc_export_cell(table, r, c, &scales[c], &cell);
            osc_buf_cstr(out, "| ");
            put_escaped(osc_buf_view(&cell), out);
            osc_buf_putc(out, ' ');
        }
        osc_buf_cstr(out, "|\n");
    }
    for (uint32_t f = 0; f < osc_table_footers(table); f++) {
        osc_buf_putc(out, '\n');
        put_escaped(osc_table_footer(table, f), out);
        osc_buf_putc(out, '\n');
    }
    osc_buf_free(&cell);
}
