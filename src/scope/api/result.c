/*
 * result.c - opscope/trace.h: analyses by name, and their results.
 */
#include "scope/api/api.h"

#include "base/mem.h"
#include "scope/analysis/registry.h"
#include "scope/export/export.h"

#include <string.h>

struct osc_result {
    osc_table *table;
};

void osc_api_put(const void *from, size_t bytes, void *to, size_t room)
{
    size_t n = room < bytes ? room : bytes;
    if (n > sizeof(size_t))
        memcpy((char *)to + sizeof(size_t), (const char *)from + sizeof(size_t),
               n - sizeof(size_t));
}

/* ---- analyses ---- */

static const osc_analysis *analysis_at(uint32_t i)
{
    uint32_t count;
    const osc_analysis *all = osc_analyses(&count);
    return i < count ? &all[i] : NULL;
}

const char *osc_analysis_name(uint32_t i)
{
    const osc_analysis *a = analysis_at(i);
    return a ? a->name : NULL;
}

const char *osc_analysis_summary(uint32_t i)
{
    const osc_analysis *a = analysis_at(i);
    return a ? a->summary : NULL;
}

bool osc_analysis_option(uint32_t i, uint32_t k, const char **name, const char **help,
                         const char *const **values)
{
    const osc_analysis *a = analysis_at(i);
    uint32_t common;
    const osc_param *p = osc_analysis_common(&common);
    if (!a || k >= a->param_count + common)
        return false;
    p = k < a->param_count ? &a->params[k] : &p[k - a->param_count];
    if (name)
        *name = p->name;
    if (help)
        *help = p->help;
    if (values)
        *values = p->choices;
    return true;
}

osc_status osc_trace_analyse(const osc_trace *trace, const char *name, const char *const *options,
                             uint32_t n, osc_result **out, osc_err *err)
{
    osc_result *result = osc_calloc(1, sizeof *result);
    *out = NULL;
    if (!result)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the result");
    osc_status status = osc_analysis_run(osc_api_store(trace), osc_str_from_cstr(name), options, n,
                                         &result->table, err);
    if (status != OSC_OK)
        osc_free(result);
    else
        *out = result;
    return status;
}

void osc_result_free(osc_result *result)
{
    if (!result)
        return;
    osc_table_free(result->table);
    osc_free(result);
}

/* ---- cells ---- */

uint64_t osc_result_rows(const osc_result *result)
{
    return osc_table_rows(result->table);
}

uint32_t osc_result_columns(const osc_result *result)
{
    return osc_table_columns(result->table);
}

static osc_type type_of(osc_cell_type type)
{
    switch (type) {
    case OSC_CELL_I64: return OSC_TYPE_I64;
    case OSC_CELL_F64: return OSC_TYPE_F64;
    case OSC_CELL_BOOL: return OSC_TYPE_BOOL;
    default: return OSC_TYPE_TEXT;
    }
}

bool osc_result_column_at(const osc_result *result, uint32_t column, osc_result_column *out)
{
    if (column >= osc_table_columns(result->table))
        return false;
    const osc_table_column *c = osc_table_column_at(result->table, column);
    osc_result_column found = {.name = c->name,
                               .label = c->label,
                               .meaning = c->meaning,
                               .unit = osc_unit_name(c->unit),
                               .type = type_of(c->type)};
    osc_api_put(&found, sizeof found, out, out->size);
    return true;
}

uint32_t osc_result_find(const osc_result *result, const char *name)
{
    return osc_table_find(result->table, name);
}

/* The cell, when it is there and of this type. */
static bool cell_of(const osc_result *r, uint64_t row, uint32_t column, osc_cell_type type,
                    osc_cell *out)
{
    if (row >= osc_table_rows(r->table) || column >= osc_table_columns(r->table) ||
        osc_table_column_at(r->table, column)->type != type)
        return false;
    *out = osc_table_cell(r->table, (uint32_t)row, column);
    return true;
}

int64_t osc_result_i64(const osc_result *result, uint64_t row, uint32_t column)
{
    osc_cell cell;
    if (cell_of(result, row, column, OSC_CELL_I64, &cell))
        return cell.i64;
    return cell_of(result, row, column, OSC_CELL_BOOL, &cell) ? cell.boolean : 0;
}

double osc_result_f64(const osc_result *result, uint64_t row, uint32_t column)
{
    osc_cell cell;
    return cell_of(result, row, column, OSC_CELL_F64, &cell) ? cell.f64 : 0;
}

static const char *text(osc_str s, size_t *len)
{
    if (len)
        *len = s.len;
    return s.len > 0 ? s.ptr : "";
}

const char *osc_result_text(const osc_result *result, uint64_t row, uint32_t column, size_t *len)
{
    osc_cell cell = {0};
    bool there = cell_of(result, row, column, OSC_CELL_STR, &cell);
    return text(there ? cell.str : (osc_str){0}, len);
}

int64_t osc_result_fact_i64(const osc_result *result, const char *key)
{
    return osc_table_fact_i64(result->table, key);
}

const char *osc_result_fact_text(const osc_result *result, const char *key, size_t *len)
{
    return text(osc_table_fact_str(result->table, key), len);
}

/* ---- text ---- */

osc_status osc_result_format(const osc_result *result, const char *format, char **out, size_t *len,
                             osc_err *err)
{
    osc_buf buf;
    unsigned f = 0;
    size_t n = 0;
    *out = NULL;
    if (len)
        *len = 0;
    while (osc_format_names[f] && strcmp(osc_format_names[f], format) != 0)
        f++;
    if (!osc_format_names[f])
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "no format '%s': csv, json, jsonl, md or table", format);
    osc_buf_init(&buf, SIZE_MAX);
    osc_export(result->table, (osc_format)f, NULL, &buf);
    osc_status status = osc_buf_status(&buf, "the result", err);
    if (status == OSC_OK && buf.len == 0)
        *out = osc_memdup0("", 0);
    else if (status == OSC_OK)
        *out = (char *)osc_buf_take(&buf, &n);
    if (status == OSC_OK && !*out)
        status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the result");
    if (*out && len)
        *len = n;
    osc_buf_free(&buf);
    return status;
}

void osc_text_free(char *formatted)
{
    osc_free(formatted);
}
