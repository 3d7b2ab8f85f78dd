/*
 * join.c - see join.h.
 *
 * Ranks are analysed one after the other so that only one trace is in memory; what is kept of each
 * is its result table. Rejected: one store for all ranks. Ids, streams and threads of different
 * processes collide in it (known-bad-inputs.md L11), and 200 GB of traces do not fit (S08).
 */
#include "scope/analysis/join.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define FOOTERS_KEPT 15u /* table.c holds one more, which then says that some were left out */

static const osc_table_column rank_column = {
    .name = "rank",
    .label = "rank",
    .meaning = "process of a distributed job that the row is about",
    .type = OSC_CELL_I64,
    .unit = OSC_UNIT_NONE,
};

/* All columns of all tables by name, the rank first. The caller frees; NULL: no memory. */
static osc_table_column *all_columns(const osc_table *const *tables, uint32_t count, uint32_t *n)
{
    size_t most = 1;
    for (uint32_t t = 0; t < count; t++)
        most += osc_table_columns(tables[t]);
    osc_table_column *columns = osc_realloc_array(NULL, most, sizeof *columns);
    if (!columns)
        return NULL;
    columns[0] = rank_column;
    *n = 1;
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t c = 0; c < osc_table_columns(tables[t]); c++) {
            const osc_table_column *column = osc_table_column_at(tables[t], c);
            uint32_t at = 1;
            while (at < *n && strcmp(columns[at].name, column->name) != 0)
                at++;
            if (at == *n)
                columns[(*n)++] = *column;
            assert(columns[at].type == column->type); /* one analysis made them all */
        }
    }
    return columns;
}

static void copy_cell(osc_table *to, uint32_t row, uint32_t column, osc_cell_type type,
                      osc_cell cell)
{
    switch (type) {
    case OSC_CELL_STR: osc_table_set_str(to, row, column, cell.str); break;
    case OSC_CELL_I64: osc_table_set_i64(to, row, column, cell.i64); break;
    case OSC_CELL_F64: osc_table_set_f64(to, row, column, cell.f64); break;
    case OSC_CELL_BOOL: osc_table_set_bool(to, row, column, cell.boolean); break;
    }
}

static void copy_rows(osc_table *to, const osc_table *from, int64_t rank)
{
    uint32_t first = osc_table_rows(to);
    for (uint32_t r = 0; r < osc_table_rows(from); r++)
        osc_table_set_i64(to, osc_table_add_row(to), 0, rank);
    if (osc_table_rows(to) - first != osc_table_rows(from))
        return; /* no memory, and the table knows */
    for (uint32_t c = 0; c < osc_table_columns(from); c++) {
        const osc_table_column *column = osc_table_column_at(from, c);
        uint32_t at = osc_table_find(to, column->name);
        for (uint32_t r = 0; r < osc_table_rows(from); r++)
            copy_cell(to, first + r, at, column->type, osc_table_cell(from, r, c));
    }
}

/* True when table t has the fact with the same value. */
static bool agrees(const osc_table *t, const char *key, bool is_text, osc_str text, int64_t number)
{
    for (uint32_t i = 0; i < osc_table_facts(t); i++) {
        bool other_is_text;
        osc_str other_text;
        int64_t other_number;
        const char *other = osc_table_fact(t, i, &other_is_text, &other_text, &other_number);
        if (strcmp(other, key) == 0)
            return is_text == other_is_text &&
                   (is_text ? osc_str_eq(text, other_text) : number == other_number);
    }
    return false;
}

static void copy_facts(osc_table *to, const osc_table *const *tables, uint32_t count)
{
    for (uint32_t i = 0; i < osc_table_facts(tables[0]); i++) {
        bool is_text, same = true;
        osc_str text;
        int64_t number;
        const char *key = osc_table_fact(tables[0], i, &is_text, &text, &number);
        for (uint32_t t = 1; t < count; t++)
            same = same && agrees(tables[t], key, is_text, text, number);
        if (same && is_text)
            osc_table_set_fact_str(to, key, text);
        else if (same)
            osc_table_set_fact_i64(to, key, number);
    }
    osc_table_set_fact_i64(to, "ranks", count);
}

static void copy_footers(osc_table *to, const osc_table *from, int64_t rank)
{
    for (uint32_t i = 0; i < osc_table_footers(from); i++) {
        osc_str footer = osc_table_footer(from, i);
        char line[512];
        if (osc_table_footers(to) > FOOTERS_KEPT)
            return;
        if (osc_table_footers(to) == FOOTERS_KEPT)
            snprintf(line, sizeof line, "and the same of further ranks (--format json has all)");
        else
            snprintf(line, sizeof line, "rank %lld: %.*s", (long long)rank, OSC_STR_FMT(footer));
        osc_table_add_footer(to, osc_str_from_cstr(line));
    }
}

osc_status osc_table_join(const osc_table *const *tables, const int64_t *ranks, uint32_t count,
                          osc_table **out, osc_err *err)
{
    uint32_t n = 0;
    assert(count > 0);
    *out = NULL;
    osc_table_column *columns = all_columns(tables, count, &n);
    osc_table *t = columns ? osc_table_new(osc_table_name(tables[0]), columns, n) : NULL;
    osc_free(columns);
    for (uint32_t i = 0; t && i < count; i++) {
        for (uint32_t c = 0; c < osc_table_columns(tables[i]); c++)
            osc_table_set_words(t, osc_table_find(t, osc_table_column_at(tables[i], c)->name),
                                osc_table_words_of(tables[i], c));
        copy_rows(t, tables[i], ranks[i]);
        copy_footers(t, tables[i], ranks[i]);
    }
    if (t)
        copy_facts(t, tables, count);
    return osc_table_finish(t, true, out, err);
}
