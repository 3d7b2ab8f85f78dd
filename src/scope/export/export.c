/*
 * export.c - what the formats share: their names, and cells as people read them.
 *
 * All times of a column are written in one unit with one number of decimals, so that they line up
 * on the decimal point and can be compared by eye.
 */
#include "scope/export/export.h"

#include "base/num.h"

#include <assert.h>

const char *const osc_format_names[] = {"table", "csv", "json", "jsonl", "md", NULL};

void osc_export(const osc_table *table, osc_format format, const osc_look *look, osc_buf *out)
{
    switch (format) {
    case OSC_FORMAT_TABLE: osc_export_text(table, look, out); break;
    case OSC_FORMAT_CSV: osc_export_csv(table, out); break;
    case OSC_FORMAT_JSON: osc_export_json(table, out); break;
    case OSC_FORMAT_JSONL: osc_export_jsonl(table, out); break;
    case OSC_FORMAT_MD:
    case OSC_FORMATS: osc_export_md(table, out); break;
    }
}

static double cell_number(const osc_table *table, uint32_t row, uint32_t column)
{
    osc_cell cell = osc_table_cell(table, row, column);
    return osc_table_column_at(table, column)->type == OSC_CELL_F64 ? cell.f64 : (double)cell.i64;
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

bool osc_export_shows(const osc_table *table, uint32_t column)
{
    return osc_table_column_at(table, column)->use != OSC_COLUMN_MACHINE &&
           !is_blank(table, column);
}

osc_scale osc_export_scale(const osc_table *table, uint32_t column)
{
    const osc_table_column *c = osc_table_column_at(table, column);
    osc_scale scale = {"", 1.0, c->unit == OSC_UNIT_PERCENT ? 1 : 2};
    if (c->unit != OSC_UNIT_NS || (c->type != OSC_CELL_I64 && c->type != OSC_CELL_F64))
        return scale;
    double largest = 0;
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        double value = cell_number(table, r, column);
        value = value < 0 ? -value : value;
        largest = value > largest ? value : largest;
    }
    if (largest >= 10e9)
        scale = (osc_scale){"s", 1e9, 3};
    else if (largest >= 10e6)
        scale = (osc_scale){"ms", 1e6, 3};
    else
        scale = (osc_scale){"us", 1e3, 1};
    return scale;
}

/* Controls, line separators, and marks that turn the direction of what follows. */
static bool steers(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x2028 && cp <= 0x202e) ||
           (cp >= 0x2066 && cp <= 0x2069);
}

void osc_export_safe(osc_str text, osc_buf *out)
{
    size_t pos = 0;
    while (pos < text.len) {
        uint32_t cp = osc_utf8_next(text, &pos);
        char utf8[4];
        if (steers(cp))
            cp = ' ';
        osc_buf_append(out, utf8, osc_utf8_put(cp, utf8));
    }
}

size_t osc_export_cut(osc_str text, size_t columns, osc_buf *out)
{
    size_t used = osc_utf8_columns(text), pos = 0, end = 0;
    assert(columns >= 3);
    if (used <= columns) {
        osc_export_safe(text, out);
        return used;
    }
    while (pos < text.len) {
        (void)osc_utf8_next(text, &pos);
        if (osc_utf8_columns(osc_str_sub(text, 0, pos)) > columns - 3)
            break;
        end = pos;
    }
    osc_export_safe(osc_str_sub(text, 0, end), out);
    osc_buf_cstr(out, "...");
    return osc_utf8_columns(osc_str_sub(text, 0, end)) + 3;
}

void osc_export_wrap(osc_str words, size_t indent, size_t width, osc_buf *out)
{
    size_t column = indent;
    osc_str word;
    bool first = true;
    while (osc_str_split(&words, ' ', &word)) {
        size_t need = osc_utf8_columns(word) + (first ? 0 : 1);
        if (!first && column + need > width) {
            osc_buf_putc(out, '\n');
            osc_buf_fill(out, ' ', indent);
            column = indent;
            need = osc_utf8_columns(word);
        } else if (!first) {
            osc_buf_putc(out, ' ');
        }
        osc_export_safe(word, out);
        column += need;
        first = false;
    }
    osc_buf_putc(out, '\n');
}

/* A time in its column's unit; one that would read as zero there, but is none, in a finer one. */
static void put_time(double ns, const osc_scale *scale, osc_buf *out)
{
    static const osc_scale finer[] = {{"ms", 1e6, 3}, {"us", 1e3, 1}, {"ns", 1, 0}};
    char text[OSC_NUM_TEXT];
    double size = ns < 0 ? -ns : ns;
    for (size_t i = 0; i < sizeof finer / sizeof *finer; i++) {
        double last_digit = scale->digits == 3 ? scale->divisor / 1e3 : scale->divisor / 10;
        if (size == 0 || size >= last_digit / 2)
            break;
        if (finer[i].divisor < scale->divisor)
            scale = &finer[i];
    }
    osc_buf_printf(out, "%s %s", osc_format_fixed(ns / scale->divisor, scale->digits, text),
                   scale->unit);
}

void osc_export_cell(const osc_table *table, uint32_t row, uint32_t column, const osc_scale *scale,
                     osc_buf *out)
{
    const osc_table_column *c = osc_table_column_at(table, column);
    osc_cell cell = osc_table_cell(table, row, column);
    char text[OSC_NUM_TEXT];
    char word[OSC_TABLE_WORD];
    osc_table_words words = osc_table_words_of(table, column);
    if (words && words(cell.i64, word)) {
        osc_buf_cstr(out, word);
    } else if (c->type == OSC_CELL_STR) {
        osc_export_safe(cell.str, out);
    } else if (c->type == OSC_CELL_BOOL) {
        osc_buf_cstr(out, cell.boolean ? "yes" : "no");
    } else if (c->unit == OSC_UNIT_NS) {
        put_time(cell_number(table, row, column), scale, out);
    } else if (c->unit == OSC_UNIT_BYTES && c->type == OSC_CELL_I64) {
        osc_buf_cstr(out, cell.i64 < 0 ? "-" : "");
        uint64_t size = cell.i64 < 0 ? 0 - (uint64_t)cell.i64 : (uint64_t)cell.i64;
        osc_buf_cstr(out, osc_format_bytes(size, text));
    } else if (c->type == OSC_CELL_I64) {
        osc_buf_cstr(out, osc_format_count(cell.i64, text));
    } else {
        osc_buf_cstr(out, osc_format_fixed(cell.f64, scale->digits, text));
    }
}
