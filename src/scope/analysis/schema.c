/*
 * schema.c - see schema.h.
 */
#include "scope/analysis/schema.h"

#include "base/num.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { TABLES_NAME = 0, TABLES_COLUMNS, TABLES_MEANING, TABLES_WIDTH };

static const osc_table_column tables_columns[TABLES_WIDTH] = {
    {"table", "table", "name of the table", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"columns", "columns", "how many columns it has", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"meaning", "meaning", "what a row is", OSC_CELL_STR, OSC_UNIT_NONE, false},
};

enum { COLUMN_TABLE = 0, COLUMN_NAME, COLUMN_TYPE, COLUMN_UNIT, COLUMN_MEANING, COLUMN_WIDTH };

static const osc_table_column columns_columns[COLUMN_WIDTH] = {
    {"table", "table", "name of the table", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"column", "column", "name of the column", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"type", "type", "what its cells are", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"unit", "unit", "unit, or the table whose rows it names", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"meaning", "meaning", "what its cells mean", OSC_CELL_STR, OSC_UNIT_NONE, false},
};

const char *osc_column_type_name(osc_column_type type)
{
    static const char *const names[] = {"int64", "uint64", "int32", "uint32", "uint8", "text"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "?";
}

osc_table_id osc_schema_find(osc_str name)
{
    unsigned t = 0;
    while (t < OSC_TABLE_COUNT &&
           !osc_str_eq_cstr(name, osc_store_table_def((osc_table_id)t)->name))
        t++;
    return (osc_table_id)t;
}

const char *osc_schema_nearest(osc_str name)
{
    const char *names[OSC_TABLE_COUNT];
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++)
        names[t] = osc_store_table_def((osc_table_id)t)->name;
    return osc_nearest(name, names, OSC_TABLE_COUNT);
}

osc_status osc_schema_tables(osc_table **out, osc_err *err)
{
    osc_table *table = osc_table_new("schema", tables_columns, TABLES_WIDTH);
    for (unsigned t = 0; table && t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        uint32_t row = osc_table_add_row(table);
        osc_table_set_str(table, row, TABLES_NAME, osc_str_from_cstr(def->name));
        osc_table_set_i64(table, row, TABLES_COLUMNS, def->column_count);
        osc_table_set_str(table, row, TABLES_MEANING, osc_str_from_cstr(def->meaning));
    }
    return osc_table_finish(table, true, out, err);
}

static void add_columns(osc_table *table, const osc_table_def *def)
{
    for (uint32_t c = 0; c < def->column_count; c++) {
        const osc_column_def *column = &def->columns[c];
        uint32_t row = osc_table_add_row(table);
        osc_table_set_str(table, row, COLUMN_TABLE, osc_str_from_cstr(def->name));
        osc_table_set_str(table, row, COLUMN_NAME, osc_str_from_cstr(column->name));
        osc_table_set_str(table, row, COLUMN_TYPE,
                          osc_str_from_cstr(osc_column_type_name(column->type)));
        osc_table_set_str(table, row, COLUMN_UNIT, osc_str_from_cstr(column->unit));
        osc_table_set_str(table, row, COLUMN_MEANING, osc_str_from_cstr(column->meaning));
    }
}

osc_status osc_schema_columns(osc_table_id which, osc_table **out, osc_err *err)
{
    osc_table *table = osc_table_new("schema", columns_columns, COLUMN_WIDTH);
    assert((unsigned)which <= OSC_TABLE_COUNT);
    for (unsigned t = 0; table && t < OSC_TABLE_COUNT; t++) {
        if (which == OSC_TABLE_COUNT || which == (osc_table_id)t)
            add_columns(table, osc_store_table_def((osc_table_id)t));
    }
    if (table && which != OSC_TABLE_COUNT)
        osc_table_add_footer(table, osc_str_from_cstr(osc_store_table_def(which)->meaning));
    return osc_table_finish(table, true, out, err);
}

/* ---- rows of a store ---- */

#define COLUMNS_MAX 64u

static osc_unit unit_of(const osc_column_def *def)
{
    if (strcmp(def->unit, "ns") == 0 && strcmp(def->name, "dur_ns") == 0)
        return OSC_UNIT_NS; /* instants stay numbers: no unit makes 18 digits shorter */
    return strcmp(def->unit, "bytes") == 0 && def->type == OSC_COLUMN_I64 ? OSC_UNIT_BYTES
                                                                          : OSC_UNIT_NONE;
}

/* Where the arguments lie in the file, and the order in it, are the first to go from a narrow
 * screen, then the longest texts. */
static uint8_t use_of(const osc_column_def *def)
{
    if (strncmp(def->name, "args_", 5) == 0 || strcmp(def->name, "order") == 0)
        return OSC_COLUMN_RARE;
    return strcmp(def->name, "shapes") == 0 ? OSC_COLUMN_DETAIL : OSC_COLUMN_SHOWN;
}

/* The columns that were read; their numbers in `which`. */
static uint32_t read_columns(const osc_store *store, osc_table_id table, osc_table_column *columns,
                             uint32_t *which)
{
    const osc_table_def *def = osc_store_table_def(table);
    uint32_t n = 0, rows;
    assert(def->column_count <= COLUMNS_MAX);
    for (uint32_t c = 0; c < def->column_count; c++) {
        const osc_column_def *d = &def->columns[c];
        bool text = d->type == OSC_COLUMN_STR || d->type == OSC_COLUMN_U64;
        if (!osc_store_column(store, table, c, &rows) && rows > 0)
            continue;
        columns[n] = (osc_table_column){d->name,
                                        d->name,
                                        d->meaning,
                                        text ? OSC_CELL_STR : OSC_CELL_I64,
                                        text ? OSC_UNIT_NONE : unit_of(d),
                                        use_of(d)};
        which[n++] = c;
    }
    return n;
}

static void set_cell(const osc_store *store, osc_table *table, uint32_t row, uint32_t column,
                     osc_column_type type, const void *values, uint32_t at)
{
    char text[OSC_NUM_TEXT];
    int64_t i64;
    uint64_t u64;
    uint32_t u32;
    int32_t i32;
    switch (type) {
    case OSC_COLUMN_I64:
        memcpy(&i64, (const char *)values + (size_t)at * sizeof i64, sizeof i64);
        osc_table_set_i64(table, row, column, i64);
        break;
    case OSC_COLUMN_U64:
        memcpy(&u64, (const char *)values + (size_t)at * sizeof u64, sizeof u64);
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)u64);
        osc_table_set_str(table, row, column, osc_str_from_cstr(text));
        break;
    case OSC_COLUMN_I32:
        memcpy(&i32, (const char *)values + (size_t)at * sizeof i32, sizeof i32);
        osc_table_set_i64(table, row, column, i32);
        break;
    case OSC_COLUMN_U8: osc_table_set_i64(table, row, column, ((const uint8_t *)values)[at]); break;
    default: /* OSC_COLUMN_U32, OSC_COLUMN_STR */
        memcpy(&u32, (const char *)values + (size_t)at * sizeof u32, sizeof u32);
        if (type == OSC_COLUMN_STR)
            osc_table_set_str(table, row, column, osc_store_text(store, u32));
        else
            osc_table_set_i64(table, row, column, u32 == OSC_NO_ROW ? -1 : (int64_t)u32);
        break;
    }
}

osc_status osc_schema_rows(const osc_store *store, osc_table_id which, uint32_t first,
                           uint32_t limit, osc_table **out, osc_err *err)
{
    const osc_table_def *def = osc_store_table_def(which);
    osc_table_column columns[COLUMNS_MAX];
    uint32_t numbers[COLUMNS_MAX], rows = 0;
    uint32_t n = read_columns(store, which, columns, numbers);
    osc_table *table = osc_table_new(def->name, columns, n);
    (void)osc_store_column(store, which, 0, &rows);
    uint32_t left = first < rows ? rows - first : 0;
    uint32_t end = first + (limit < left ? limit : left);
    for (uint32_t c = 0; table && c < n; c++)
        osc_table_set_words(table, c, osc_schema_words(&def->columns[numbers[c]]));
    for (uint32_t i = first; table && i < end; i++)
        (void)osc_table_add_row(table);
    for (uint32_t c = 0; table && c < n && osc_table_rows(table) > 0; c++) {
        uint32_t count;
        const void *values = osc_store_column(store, which, numbers[c], &count);
        for (uint32_t i = first; i < end; i++)
            set_cell(store, table, i - first, c, def->columns[numbers[c]].type, values, i);
    }
    return osc_table_finish(table, true, out, err);
}
