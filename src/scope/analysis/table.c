/*
 * table.c - rows of cells in one growing array, texts in an arena.
 *
 * Result tables are small (one row per operator name, not per event), so rows are kept whole and
 * sorted by moving them. Rejected: columnar storage as in the store; printers and sorts go row by
 * row.
 */
#include "scope/analysis/table.h"

#include "base/arena.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define FACTS_MAX   32u
#define FOOTERS_MAX 16u

struct fact {
    const char *key;
    bool is_text;
    osc_str text;
    int64_t number;
};

struct osc_table {
    osc_arena *arena;
    const char *name;
    osc_table_column *columns;
    osc_table_words *words; /* [column_count] */
    uint32_t column_count;
    osc_cell *cells; /* rows * column_count */
    uint32_t rows, cap;
    struct fact facts[FACTS_MAX];
    uint32_t fact_count;
    osc_str footers[FOOTERS_MAX];
    uint32_t footer_count;
    bool failed;
};

const char *osc_unit_name(osc_unit unit)
{
    static const char *const names[] = {"", "ns", "bytes", "count", "percent"};
    return (unsigned)unit < sizeof names / sizeof *names ? names[unit] : "";
}

osc_table *osc_table_new(const char *name, const osc_table_column *columns, uint32_t count)
{
    assert(count > 0);
    osc_table *t = osc_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->name = name;
    t->arena = osc_arena_new(SIZE_MAX);
    t->columns = t->arena ? OSC_ARENA_ARRAY(t->arena, osc_table_column, count) : NULL;
    t->words = t->arena ? OSC_ARENA_ARRAY(t->arena, osc_table_words, count) : NULL;
    if (!t->columns || !t->words) {
        osc_table_free(t);
        return NULL;
    }
    memcpy(t->columns, columns, count * sizeof *columns);
    t->column_count = count;
    return t;
}

void osc_table_free(osc_table *t)
{
    if (!t)
        return;
    osc_arena_free(t->arena);
    osc_free(t->cells);
    osc_free(t);
}

/* Grows by doubling; after a failure the last row is overwritten, and the status says so. */
uint32_t osc_table_add_row(osc_table *t)
{
    if (t->rows == t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 32;
        osc_cell *grown = NULL;
        if (cap < UINT32_MAX / 2)
            grown = osc_realloc_array(t->cells, (size_t)cap * t->column_count, sizeof *grown);
        if (!grown) {
            t->failed = true;
            return t->rows ? t->rows - 1 : 0;
        }
        t->cells = grown;
        t->cap = cap;
    }
    memset(t->cells + (size_t)t->rows * t->column_count, 0, t->column_count * sizeof(osc_cell));
    return t->rows++;
}

static osc_cell *cell_at(osc_table *t, uint32_t row, uint32_t column, osc_cell_type type)
{
    assert(column < t->column_count && t->columns[column].type == type);
    (void)type;
    if (row >= t->rows) {
        assert(t->failed);
        return NULL;
    }
    return &t->cells[(size_t)row * t->column_count + column];
}

static osc_str copy_text(osc_table *t, osc_str value)
{
    if (value.len == 0)
        return (osc_str){0};
    osc_str copy = osc_arena_copy(t->arena, value);
    if (!copy.ptr)
        t->failed = true;
    return copy;
}

void osc_table_set_str(osc_table *t, uint32_t row, uint32_t column, osc_str value)
{
    osc_cell *cell = cell_at(t, row, column, OSC_CELL_STR);
    if (cell)
        cell->str = copy_text(t, value);
}

void osc_table_set_i64(osc_table *t, uint32_t row, uint32_t column, int64_t value)
{
    osc_cell *cell = cell_at(t, row, column, OSC_CELL_I64);
    if (cell)
        cell->i64 = value;
}

void osc_table_set_f64(osc_table *t, uint32_t row, uint32_t column, double value)
{
    osc_cell *cell = cell_at(t, row, column, OSC_CELL_F64);
    if (cell)
        cell->f64 = value;
}

void osc_table_set_bool(osc_table *t, uint32_t row, uint32_t column, bool value)
{
    osc_cell *cell = cell_at(t, row, column, OSC_CELL_BOOL);
    if (cell)
        cell->boolean = value;
}

static struct fact *fact_of(osc_table *t, const char *key)
{
    for (uint32_t i = 0; i < t->fact_count; i++) {
        if (strcmp(t->facts[i].key, key) == 0)
            return &t->facts[i];
    }
    assert(t->fact_count < FACTS_MAX);
    t->facts[t->fact_count].key = key;
    return &t->facts[t->fact_count++];
}

void osc_table_set_fact_i64(osc_table *t, const char *key, int64_t value)
{
    struct fact *fact = fact_of(t, key);
    fact->is_text = false;
    fact->number = value;
}

void osc_table_set_fact_str(osc_table *t, const char *key, osc_str value)
{
    struct fact *fact = fact_of(t, key);
    fact->is_text = true;
    fact->text = copy_text(t, value);
}

void osc_table_set_words(osc_table *t, uint32_t column, osc_table_words words)
{
    assert(column < t->column_count && (!words || t->columns[column].type == OSC_CELL_I64));
    t->words[column] = words;
}

osc_table_words osc_table_words_of(const osc_table *t, uint32_t column)
{
    assert(column < t->column_count);
    return t->words[column];
}

bool osc_table_blank_zero(int64_t value, char out[OSC_TABLE_WORD])
{
    out[0] = '\0';
    return value == 0;
}

void osc_table_add_footer(osc_table *t, osc_str line)
{
    assert(t->footer_count < FOOTERS_MAX);
    t->footers[t->footer_count++] = copy_text(t, line);
}

osc_status osc_table_status(const osc_table *t, osc_err *err)
{
    if (t->failed)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the result table");
    return OSC_OK;
}

osc_status osc_table_finish(osc_table *t, bool ok, osc_table **out, osc_err *err)
{
    bool done = t && ok && !t->failed;
    *out = done ? t : NULL;
    if (done)
        return OSC_OK;
    osc_table_free(t);
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the result table");
}

const char *osc_table_name(const osc_table *t)
{
    return t->name;
}

uint32_t osc_table_rows(const osc_table *t)
{
    return t->rows;
}

uint32_t osc_table_columns(const osc_table *t)
{
    return t->column_count;
}

const osc_table_column *osc_table_column_at(const osc_table *t, uint32_t column)
{
    assert(column < t->column_count);
    return &t->columns[column];
}

uint32_t osc_table_find(const osc_table *t, const char *name)
{
    for (uint32_t c = 0; c < t->column_count; c++) {
        if (strcmp(t->columns[c].name, name) == 0)
            return c;
    }
    return UINT32_MAX;
}

osc_cell osc_table_cell(const osc_table *t, uint32_t row, uint32_t column)
{
    assert(row < t->rows && column < t->column_count);
    return t->cells[(size_t)row * t->column_count + column];
}

uint32_t osc_table_facts(const osc_table *t)
{
    return t->fact_count;
}

const char *osc_table_fact(const osc_table *t, uint32_t i, bool *is_text, osc_str *text,
                           int64_t *number)
{
    assert(i < t->fact_count);
    *is_text = t->facts[i].is_text;
    *text = t->facts[i].text;
    *number = t->facts[i].number;
    return t->facts[i].key;
}

int64_t osc_table_fact_i64(const osc_table *t, const char *key)
{
    for (uint32_t i = 0; i < t->fact_count; i++) {
        if (strcmp(t->facts[i].key, key) == 0)
            return t->facts[i].number;
    }
    return 0;
}

osc_str osc_table_fact_str(const osc_table *t, const char *key)
{
    for (uint32_t i = 0; i < t->fact_count; i++) {
        if (strcmp(t->facts[i].key, key) == 0)
            return t->facts[i].text;
    }
    return (osc_str){0};
}

uint32_t osc_table_footers(const osc_table *t)
{
    return t->footer_count;
}

osc_str osc_table_footer(const osc_table *t, uint32_t i)
{
    assert(i < t->footer_count);
    return t->footers[i];
}

static int compare_cells(osc_cell a, osc_cell b, osc_cell_type type)
{
    switch (type) {
    case OSC_CELL_STR: return osc_str_cmp(a.str, b.str);
    case OSC_CELL_I64: return (a.i64 > b.i64) - (a.i64 < b.i64);
    case OSC_CELL_F64: return (a.f64 > b.f64) - (a.f64 < b.f64);
    case OSC_CELL_BOOL: return (int)a.boolean - (int)b.boolean;
    }
    return 0;
}

/* What rows are sorted by: a column, or one key per row. */
struct order_by {
    const osc_table *table;
    uint32_t column;
    const double *keys; /* NULL: the column */
    bool descending;
};

static bool in_order(const struct order_by *by, uint32_t a, uint32_t b)
{
    int order;
    if (by->keys)
        order = (by->keys[a] > by->keys[b]) - (by->keys[a] < by->keys[b]);
    else
        order = compare_cells(osc_table_cell(by->table, a, by->column),
                              osc_table_cell(by->table, b, by->column),
                              by->table->columns[by->column].type);
    return by->descending ? order >= 0 : order <= 0;
}

/* Merges the sorted halves [0, half) and [half, n) of rows into out. */
static void merge_rows(const struct order_by *by, const uint32_t *rows, uint32_t half, uint32_t n,
                       uint32_t *out)
{
    uint32_t a = 0, b = half;
    for (uint32_t i = 0; i < n; i++) {
        bool take_a = b == n || (a < half && in_order(by, rows[a], rows[b]));
        out[i] = take_a ? rows[a++] : rows[b++];
    }
}

/* Stable merge sort of row numbers; the result lies in one of the two arrays. */
static const uint32_t *sort_rows(const struct order_by *by, uint32_t *from, uint32_t *to,
                                 uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        from[i] = i;
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t at = 0; at < n; at += 2 * width) {
            uint32_t span = n - at < 2 * width ? n - at : 2 * width;
            merge_rows(by, from + at, span < width ? span : width, span, to + at);
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static void sort_by(osc_table *t, const struct order_by *by)
{
    uint32_t n = t->rows;
    size_t row_size = t->column_count * sizeof(osc_cell);
    uint32_t *order = osc_realloc_array(NULL, (size_t)n + 1, 2 * sizeof *order);
    osc_cell *sorted = osc_realloc_array(NULL, (size_t)t->cap + 1, row_size);
    if (!order || !sorted) {
        t->failed = true;
        osc_free(order);
        osc_free(sorted);
        return;
    }
    const uint32_t *rows = sort_rows(by, order, order + n, n);
    for (uint32_t i = 0; i < n; i++)
        memcpy(sorted + (size_t)i * t->column_count, t->cells + (size_t)rows[i] * t->column_count,
               row_size);
    osc_free(t->cells);
    osc_free(order);
    t->cells = sorted;
}

void osc_table_sort(osc_table *t, uint32_t column, bool descending)
{
    assert(column < t->column_count);
    struct order_by by = {t, column, NULL, descending};
    sort_by(t, &by);
}

void osc_table_sort_keys(osc_table *t, const double *keys, bool descending)
{
    struct order_by by = {t, 0, keys, descending};
    sort_by(t, &by);
}

void osc_table_truncate(osc_table *t, uint32_t n)
{
    if (n < t->rows)
        t->rows = n;
}
