/*
 * trace.c - opscope/trace.h: traces and their tables.
 *
 * A thin layer: names become numbers, internal structs become the public ones. Whatever decides
 * anything lives below. Public structs are filled as far as the size that the caller knows.
 */
#include "scope/api/api.h"

#include "base/mem.h"
#include "scope/analysis/schema.h"
#include "scope/read/open.h"
#include "scope/store/store.h"

#include <string.h>

struct osc_trace {
    osc_store *store;
};

_Static_assert((int)OSC_TYPE_I64 == (int)OSC_COLUMN_I64 &&
                   (int)OSC_TYPE_U64 == (int)OSC_COLUMN_U64 &&
                   (int)OSC_TYPE_I32 == (int)OSC_COLUMN_I32 &&
                   (int)OSC_TYPE_U32 == (int)OSC_COLUMN_U32 &&
                   (int)OSC_TYPE_U8 == (int)OSC_COLUMN_U8 &&
                   (int)OSC_TYPE_TEXT == (int)OSC_COLUMN_STR,
               "public types have the numbers of the store's");
_Static_assert(OSC_NO_ROW_NUMBER == OSC_NO_ROW, "no row is the same number");

uint32_t osc_trace_abi(void)
{
    return OSC_TRACE_ABI;
}

const osc_store *osc_api_store(const osc_trace *trace)
{
    return trace->store;
}

osc_status osc_trace_open(const char *path, const osc_trace_options *options, osc_trace **out,
                          osc_err *err)
{
    osc_trace_options o = {0};
    *out = NULL;
    if (options) {
        if (options->size < sizeof options->size)
            return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                            "osc_trace_options: size is not set");
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    }
    osc_trace *trace = osc_calloc(1, sizeof *trace);
    if (!trace)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the trace");
    osc_open_options open = {.max_bytes = o.max_bytes > SIZE_MAX ? SIZE_MAX : (size_t)o.max_bytes,
                             .device = o.device,
                             .threads = o.threads,
                             .progress = o.progress,
                             .progress_context = o.progress_context};
    osc_status status = osc_open(path, &open, &trace->store, err);
    if (status != OSC_OK)
        osc_free(trace);
    else
        *out = trace;
    return status;
}

void osc_trace_close(osc_trace *trace)
{
    if (!trace)
        return;
    osc_store_free(trace->store);
    osc_free(trace);
}

const char *osc_trace_fact(const osc_trace *trace, const char *key)
{
    osc_str value = osc_store_get_meta(trace->store, key);
    return value.len > 0 ? value.ptr : ""; /* texts of the store end with a NUL */
}

uint64_t osc_trace_bytes(const osc_trace *trace)
{
    return osc_store_bytes(trace->store);
}

/* ---- tables ---- */

uint32_t osc_trace_tables(void)
{
    return OSC_TABLE_COUNT;
}

const char *osc_trace_table_name(uint32_t i)
{
    return i < OSC_TABLE_COUNT ? osc_store_table_def((osc_table_id)i)->name : NULL;
}

const char *osc_trace_table_meaning(uint32_t i)
{
    return i < OSC_TABLE_COUNT ? osc_store_table_def((osc_table_id)i)->meaning : NULL;
}

uint32_t osc_trace_columns(const char *table)
{
    osc_table_id id = osc_schema_find(osc_str_from_cstr(table));
    return id < OSC_TABLE_COUNT ? osc_store_table_def(id)->column_count : 0;
}

uint64_t osc_trace_rows(const osc_trace *trace, const char *table)
{
    osc_table_id id = osc_schema_find(osc_str_from_cstr(table));
    uint32_t rows = 0;
    if (id < OSC_TABLE_COUNT)
        (void)osc_store_column(trace->store, id, 0, &rows);
    return rows;
}

static osc_status fail_name(const char *what, const char *name, const char *near, osc_err *err)
{
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET, "no %s '%s'%s%s%s", what, name,
                    near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
}

static osc_status find_table(const char *name, osc_table_id *out, osc_err *err)
{
    *out = osc_schema_find(osc_str_from_cstr(name));
    if (*out < OSC_TABLE_COUNT)
        return OSC_OK;
    return fail_name("table", name, osc_schema_nearest(osc_str_from_cstr(name)), err);
}

static osc_status put_column(const osc_trace *trace, osc_table_id table, uint32_t i,
                             osc_column *out, osc_err *err)
{
    const osc_column_def *def = &osc_store_table_def(table)->columns[i];
    uint32_t rows;
    osc_column column = {.name = def->name,
                         .unit = def->unit,
                         .meaning = def->meaning,
                         .type = (osc_type)def->type,
                         .values.any = osc_store_column(trace->store, table, i, &rows)};
    if (out->size < sizeof out->size)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "osc_column: size is not set");
    column.rows = column.values.any ? rows : 0; /* a column that was not read has no rows */
    osc_api_put(&column, sizeof column, out, out->size);
    return OSC_OK;
}

osc_status osc_trace_column(const osc_trace *trace, const char *table, const char *column,
                            osc_column *out, osc_err *err)
{
    const char *names[64];
    osc_table_id id;
    osc_status status = find_table(table, &id, err);
    if (status != OSC_OK)
        return status;
    const osc_table_def *def = osc_store_table_def(id);
    uint32_t n = 0;
    for (; n < def->column_count && n < 64; n++) {
        names[n] = def->columns[n].name;
        if (strcmp(names[n], column) == 0)
            return put_column(trace, id, n, out, err);
    }
    return fail_name("column", column, osc_nearest(osc_str_from_cstr(column), names, n), err);
}

osc_status osc_trace_column_at(const osc_trace *trace, const char *table, uint32_t i,
                               osc_column *out, osc_err *err)
{
    osc_table_id id;
    osc_status status = find_table(table, &id, err);
    if (status != OSC_OK)
        return status;
    if (i >= osc_store_table_def(id)->column_count)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET, "table '%s' has no column %u",
                        table, i);
    return put_column(trace, id, i, out, err);
}

const char *osc_trace_text(const osc_trace *trace, uint32_t id, size_t *len)
{
    osc_str text = osc_store_text(trace->store, id);
    if (len)
        *len = text.len;
    return text.len > 0 ? text.ptr : "";
}
