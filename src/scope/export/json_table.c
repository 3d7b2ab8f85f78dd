/*
 * json_table.c - tables as JSON and JSON lines.
 *
 *     {"version":1,"table":"key_averages","facts":{...},
 *      "columns":[{"name":"count","type":"int","unit":"count"},...],
 *      "rows":[
 *     {"name":"aten::mul",...},
 *     ...
 *     ]}
 *
 * One row a line, so that line tools work on it. JSON lines are the rows alone.
 */
#include "scope/export/export.h"

#include "base/json.h"

#include <assert.h>

static void put_row(const osc_table *table, uint32_t row, osc_jw *w)
{
    osc_jw_begin_obj(w);
    for (uint32_t c = 0; c < osc_table_columns(table); c++) {
        const osc_table_column *column = osc_table_column_at(table, c);
        osc_cell cell = osc_table_cell(table, row, c);
        osc_jw_key(w, column->name);
        switch (column->type) {
        case OSC_CELL_STR: osc_jw_str(w, cell.str); break;
        case OSC_CELL_I64: osc_jw_i64(w, cell.i64); break;
        case OSC_CELL_F64: osc_jw_f64(w, cell.f64); break;
        case OSC_CELL_BOOL: osc_jw_bool(w, cell.boolean); break;
        }
    }
    osc_jw_end_obj(w);
}

static void put_facts(const osc_table *table, osc_jw *w)
{
    osc_jw_key(w, "facts");
    osc_jw_begin_obj(w);
    for (uint32_t i = 0; i < osc_table_facts(table); i++) {
        bool is_text;
        osc_str text;
        int64_t number;
        const char *key = osc_table_fact(table, i, &is_text, &text, &number);
        if (is_text)
            osc_jw_kv_str(w, key, text);
        else
            osc_jw_kv_i64(w, key, number);
    }
    osc_jw_end_obj(w);
}

static void put_columns(const osc_table *table, osc_jw *w)
{
    static const char *const types[] = {"text", "int", "float", "bool"};
    osc_jw_key(w, "columns");
    osc_jw_begin_arr(w);
    for (uint32_t c = 0; c < osc_table_columns(table); c++) {
        const osc_table_column *column = osc_table_column_at(table, c);
        osc_jw_begin_obj(w);
        osc_jw_kv_cstr(w, "name", column->name);
        osc_jw_kv_cstr(w, "type", types[column->type]);
        osc_jw_kv_cstr(w, "unit", osc_unit_name(column->unit));
        osc_jw_kv_cstr(w, "meaning", column->meaning);
        osc_jw_end_obj(w);
    }
    osc_jw_end_arr(w);
}

void osc_export_json(const osc_table *table, osc_buf *out)
{
    osc_jw w;
    osc_jw_init(&w, out, 0);
    osc_jw_begin_obj(&w);
    osc_jw_kv_i64(&w, "version", OSC_EXPORT_JSON_VERSION);
    osc_jw_kv_cstr(&w, "table", osc_table_name(table));
    put_facts(table, &w);
    put_columns(table, &w);
    osc_buf_cstr(out, ",\n\"rows\":["); /* by hand, so that each line ends in its comma */
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        osc_jw row;
        osc_buf_cstr(out, r > 0 ? ",\n" : "\n");
        osc_jw_init(&row, out, 0);
        put_row(table, r, &row);
    }
    osc_buf_cstr(out, "\n]}\n");
}

void osc_export_jsonl(const osc_table *table, osc_buf *out)
{
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        osc_jw w;
        osc_jw_init(&w, out, 0);
        put_row(table, r, &w);
        osc_buf_putc(out, '\n');
    }
}

/* A number as people and other programs write it: 16, not 16.0. */
static void put_number(osc_jw *w, double value)
{
    const double exact = 9007199254740992.0; /* 2^53 */
    if (value >= -exact && value <= exact && value == (double)(int64_t)value)
        osc_jw_i64(w, (int64_t)value);
    else
        osc_jw_f64(w, value);
}

static void put_fields(const osc_table *table, osc_jw *w)
{
    uint32_t field = osc_table_find(table, "field"), value = osc_table_find(table, "value");
    uint32_t text = osc_table_find(table, "text"), is_text = osc_table_find(table, "is_text");
    assert(field != UINT32_MAX && value != UINT32_MAX && text != UINT32_MAX &&
           is_text != UINT32_MAX);
    osc_jw_begin_obj(w);
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        osc_jw_key_str(w, osc_table_cell(table, r, field).str);
        if (osc_table_cell(table, r, is_text).boolean)
            osc_jw_str(w, osc_table_cell(table, r, text).str);
        else
            put_number(w, osc_table_cell(table, r, value).f64);
    }
    osc_jw_end_obj(w);
}

void osc_export_json_members(const osc_export_member *members, size_t count, osc_buf *out)
{
    osc_buf_printf(out, "{\"version\":%d", OSC_EXPORT_JSON_VERSION);
    for (size_t i = 0; i < count; i++) {
        osc_jw w;
        osc_buf_cstr(out, ",\n");
        osc_json_quote(out, osc_str_from_cstr(members[i].name));
        osc_buf_putc(out, ':');
        osc_jw_init(&w, out, 0);
        if (members[i].object) {
            put_fields(members[i].table, &w);
            continue;
        }
        osc_buf_putc(out, '[');
        for (uint32_t r = 0; r < osc_table_rows(members[i].table); r++) {
            osc_buf_cstr(out, r > 0 ? ",\n" : "\n");
            osc_jw_init(&w, out, 0);
            put_row(members[i].table, r, &w);
        }
        osc_buf_putc(out, ']');
    }
    osc_buf_cstr(out, "}\n");
}
