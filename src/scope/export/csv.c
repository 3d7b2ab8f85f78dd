/* csv.c - RFC 4180 with exact integers. Texts are never altered, only quoted: what is read back is
 * equal. */
#include "scope/export/export.h"

#include "base/num.h"

#include <string.h>

static void put_text(osc_str text, osc_buf *out)
{
    bool quote = text.len > 0 && strchr("=+-@", text.ptr[0]) != NULL;
    for (size_t i = 0; i < text.len && !quote; i++)
        quote =
            text.ptr[i] == ',' || text.ptr[i] == '"' || text.ptr[i] == '\n' || text.ptr[i] == '\r';
    if (!quote) {
        osc_buf_str(out, text);
        return;
    }
    osc_buf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            osc_buf_putc(out, '"');
        osc_buf_putc(out, text.ptr[i]);
    }
    osc_buf_putc(out, '"');
}

static void put_cell(const osc_table *table, uint32_t row, uint32_t column, osc_buf *out)
{
    osc_cell cell = osc_table_cell(table, row, column);
    char text[OSC_NUM_TEXT];
    switch (osc_table_column_at(table, column)->type) {
    case OSC_CELL_STR: put_text(cell.str, out); break;
    case OSC_CELL_I64: osc_buf_printf(out, "%lld", (long long)cell.i64); break;
    case OSC_CELL_F64: osc_buf_cstr(out, osc_format_f64(cell.f64, text)); break;
    case OSC_CELL_BOOL: osc_buf_cstr(out, cell.boolean ? "true" : "false"); break;
    }
}

void osc_export_csv(const osc_table *table, osc_buf *out)
{
    uint32_t columns = osc_table_columns(table);
    for (uint32_t c = 0; c < columns; c++)
        osc_buf_printf(out, "%s%s", c ? "," : "", osc_table_column_at(table, c)->name);
    osc_buf_cstr(out, "\n");
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        for (uint32_t c = 0; c < columns; c++) {
            if (c > 0)
                osc_buf_putc(out, ',');
            put_cell(table, r, c, out);
        }
        osc_buf_putc(out, '\n');
    }
}
