/*
 * key_averages_merge.c - the tables of several ranks as one: rows that agree in all but their
 * figures are added up.
 */
#include "scope/analysis/key_averages.h"

#include "base/buf.h"
#include "base/intern.h"
#include "base/mem.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <string.h>

#define RANK "rank"

void osc_ka_total_add(osc_ka_total *total, const osc_table *table)
{
    total->cpu_ns = osc_add_sat(total->cpu_ns, osc_table_fact_i64(table, "total_cpu_ns"));
    total->device_ns = osc_add_sat(total->device_ns, osc_table_fact_i64(table, "total_device_ns"));
    total->unlinked = osc_add_sat(total->unlinked, osc_table_fact_i64(table, "unlinked"));
    total->unfinished = osc_add_sat(total->unfinished, osc_table_fact_i64(table, "unfinished"));
    total->python_rows |= osc_table_fact_i64(table, "python_rows") != 0;
    total->with_flops |= osc_table_fact_i64(table, "with_flops") != 0;
    total->profile_memory |= osc_table_fact_i64(table, "profile_memory") != 0;
    if (total->device[0] == '\0')
        osc_str_to_array(osc_table_fact_str(table, "device"), total->device, sizeof total->device);
}

static void set_facts(osc_table *t, const osc_ka_total *total)
{
    osc_table_set_fact_str(t, "device", osc_str_from_cstr(total->device));
    osc_table_set_fact_i64(t, "profile_memory", total->profile_memory);
    osc_table_set_fact_i64(t, "total_cpu_ns", total->cpu_ns);
    osc_table_set_fact_i64(t, "total_device_ns", total->device_ns);
    osc_table_set_fact_i64(t, "unlinked", total->unlinked);
    osc_table_set_fact_i64(t, "unfinished", total->unfinished);
    osc_table_set_fact_i64(t, "python_rows", total->python_rows);
    osc_table_set_fact_i64(t, "with_flops", total->with_flops);
}

/* Columns of the result: from[c] is where the joined table has column c. The rank, if it stays,
 * stands last, so that the numbers of osc_ka_column hold. */
static osc_table *new_table(const osc_table *joined, bool by_rank, uint32_t *from)
{
    uint32_t count = 0, rank = osc_table_find(joined, RANK);
    osc_table_column *columns = osc_realloc_array(NULL, osc_table_columns(joined), sizeof *columns);
    if (!columns)
        return NULL;
    for (uint32_t c = 0; c < osc_table_columns(joined); c++) {
        if (c != rank)
            from[count++] = c;
    }
    if (by_rank && rank != UINT32_MAX)
        from[count++] = rank;
    for (uint32_t c = 0; c < count; c++)
        columns[c] = *osc_table_column_at(joined, from[c]);
    osc_table *t = osc_table_new("key_averages", columns, count);
    osc_free(columns);
    return t;
}

/* True for columns that tell rows apart; the others are figures, or facts of the first event. */
static bool is_key(const osc_table *t, uint32_t column)
{
    osc_cell_type type = osc_table_column_at(t, column)->type;
    return type == OSC_CELL_STR || column == OSC_KA_IS_USER_ANNOTATION || column >= OSC_KA_COLUMNS;
}

static bool is_sum(const osc_table *t, uint32_t column)
{
    return osc_table_column_at(t, column)->type == OSC_CELL_F64 ||
           (osc_table_column_at(t, column)->type == OSC_CELL_I64 && column < OSC_KA_COLUMNS);
}

/* What tells a row apart, as one text: each part with its length before it. */
static void put_key(const osc_table *joined, uint32_t row, const osc_table *t, const uint32_t *from,
                    osc_buf *key)
{
    osc_buf_clear(key);
    for (uint32_t c = 0; c < osc_table_columns(t); c++) {
        osc_cell cell = osc_table_cell(joined, row, from[c]);
        switch (is_key(t, c) ? osc_table_column_at(t, c)->type : OSC_CELL_F64) {
        case OSC_CELL_STR:
            osc_buf_printf(key, "%zu:", cell.str.len);
            osc_buf_str(key, cell.str);
            break;
        case OSC_CELL_BOOL: osc_buf_putc(key, cell.boolean ? '1' : '0'); break;
        case OSC_CELL_I64: osc_buf_printf(key, "%lld;", (long long)cell.i64); break;
        case OSC_CELL_F64: break;
        }
    }
}

static void copy_cell(osc_table *t, uint32_t row, uint32_t c, osc_cell cell)
{
    switch (osc_table_column_at(t, c)->type) {
    case OSC_CELL_STR: osc_table_set_str(t, row, c, cell.str); break;
    case OSC_CELL_I64: osc_table_set_i64(t, row, c, cell.i64); break;
    case OSC_CELL_F64: osc_table_set_f64(t, row, c, cell.f64); break;
    case OSC_CELL_BOOL: osc_table_set_bool(t, row, c, cell.boolean); break;
    }
}

static void add_cell(osc_table *t, uint32_t row, uint32_t c, osc_cell cell)
{
    osc_cell sum = osc_table_cell(t, row, c);
    if (osc_table_column_at(t, c)->type == OSC_CELL_I64)
        osc_table_set_i64(t, row, c, osc_add_sat(sum.i64, cell.i64));
    else
        osc_table_set_f64(t, row, c, sum.f64 + cell.f64);
}

/* Adds a row of the joined table; the keys' ids count from 1 in order of the rows. */
static bool take_row(const osc_table *joined, uint32_t row, const uint32_t *from, osc_table *t,
                     osc_intern *keys, osc_buf *key)
{
    put_key(joined, row, t, from, key);
    uint32_t id = key->failed ? OSC_INTERN_NONE : osc_intern_put(keys, osc_buf_view(key));
    if (id == OSC_INTERN_NONE)
        return false;
    assert(id > 0 && id <= osc_table_rows(t) + 1);
    bool is_new = id == osc_table_rows(t) + 1;
    uint32_t at = is_new ? osc_table_add_row(t) : id - 1;
    if (at >= osc_table_rows(t))
        return false;
    for (uint32_t c = 0; c < osc_table_columns(t); c++) {
        if (is_new)
            copy_cell(t, at, c, osc_table_cell(joined, row, from[c]));
        else if (is_sum(t, c))
            add_cell(t, at, c, osc_table_cell(joined, row, from[c]));
    }
    return true;
}

osc_status osc_ka_merge(const osc_table *joined, bool by_rank, const osc_ka_total *total,
                        osc_table **out, osc_err *err)
{
    uint32_t *from = osc_realloc_array(NULL, osc_table_columns(joined), sizeof *from);
    osc_intern *keys = osc_intern_new(SIZE_MAX);
    osc_table *t = from ? new_table(joined, by_rank, from) : NULL;
    osc_buf key;
    osc_buf_init(&key, SIZE_MAX);
    bool ok = from && keys && t;
    for (uint32_t r = 0; ok && r < osc_table_rows(joined); r++)
        ok = take_row(joined, r, from, t, keys, &key);
    if (ok)
        set_facts(t, total);
    osc_buf_free(&key);
    osc_intern_free(keys);
    osc_free(from);
    osc_status status =
        ok ? osc_table_status(t, err)
           : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the ranks together");
    *out = status == OSC_OK ? t : NULL;
    if (status != OSC_OK)
        osc_table_free(t);
    return status;
}
