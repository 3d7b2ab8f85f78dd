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
