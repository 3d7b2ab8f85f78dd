/*
 * table.h - osc_table, the waist between analyses and everything that shows: named, typed columns
 * with units.
 *
 * An analysis builds one and hands it over; CLI, HTTP, CSV, JSON and others print it without
 * knowing what it means. A table owns all its memory, texts included, in one arena. It is written
 * by one thread; a finished one is read by any.
 */
#ifndef OSC_ANALYSIS_TABLE_H
#define OSC_ANALYSIS_TABLE_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_table osc_table;

typedef enum osc_cell_type {
    OSC_CELL_STR = 0,
    OSC_CELL_I64 = 1,
    OSC_CELL_F64 = 2,
    OSC_CELL_BOOL = 3
} osc_cell_type;

/* Units an exporter knows how to write for people; anything else is printed as it is. */
typedef enum osc_unit {
    OSC_UNIT_NONE = 0,
    OSC_UNIT_NS = 1,
    OSC_UNIT_BYTES = 2,
    OSC_UNIT_COUNT = 3,
    OSC_UNIT_PERCENT = 4
} osc_unit;

/* "", "ns", "bytes", "count", "percent". Static storage. */
const char *osc_unit_name(osc_unit unit);

/*
 * Whom a column is for. The first two are what false and true say in a list of columns: of use to
 * machines only. Larger numbers are shown where there is room: a table that is too wide for the
 * terminal goes without those of the largest number first. Machine formats have all columns.
 */
typedef enum osc_column_use {
    OSC_COLUMN_SHOWN = 0,
    OSC_COLUMN_MACHINE = 1, /* left out of tables for people */
    OSC_COLUMN_HELPS = 2,
    OSC_COLUMN_DETAIL = 3,
    OSC_COLUMN_RARE = 4
} osc_column_use;

typedef struct osc_table_column {
    const char *name;    /* machine name, "self_cpu_ns" */
    const char *label;   /* heading for people, "self cpu" */
    const char *meaning; /* one line */
    osc_cell_type type;
    osc_unit unit;
    uint8_t use; /* osc_column_use */
} osc_table_column;

/* One cell; which member counts follows from the column's type. */
typedef union osc_cell {
    osc_str str;
    int64_t i64;
    double f64;
    bool boolean;
} osc_cell;

/*
 * A new table with a copy of the columns (their texts must be static). name is the machine name of
 * the analysis. NULL when out of memory; freed with osc_table_free.
 */
osc_table *osc_table_new(const char *name, const osc_table_column *columns, uint32_t count);
void osc_table_free(osc_table *table); /* NULL allowed */

/* Starts a row; its index. All cells are zero or empty. Memory failures are sticky. */
uint32_t osc_table_add_row(osc_table *table);

/* Set one cell of a row. Texts are copied. */
void osc_table_set_str(osc_table *table, uint32_t row, uint32_t column, osc_str value);
void osc_table_set_i64(osc_table *table, uint32_t row, uint32_t column, int64_t value);
void osc_table_set_f64(osc_table *table, uint32_t row, uint32_t column, double value);
void osc_table_set_bool(osc_table *table, uint32_t row, uint32_t column, bool value);

/* A fact about the whole table ("total_device_ns"), in order of setting; the key must be static. */
void osc_table_set_fact_i64(osc_table *table, const char *key, int64_t value);
void osc_table_set_fact_str(osc_table *table, const char *key, osc_str value);

/*
 * What people read instead of a number of a column: fills out and returns true, or false for the
 * number. Machine formats keep the number.
 */
#define OSC_TABLE_WORD 64u
typedef bool (*osc_table_words)(int64_t value, char out[OSC_TABLE_WORD]);

/* Sets it for a column of integers; NULL, as at first, for none. */
void osc_table_set_words(osc_table *table, uint32_t column, osc_table_words words);
osc_table_words osc_table_words_of(const osc_table *table, uint32_t column);

/* Words for numbers that are 0 where nothing is known: nothing. */
bool osc_table_blank_zero(int64_t value, char out[OSC_TABLE_WORD]);

/* A line for people under the table; copied. */
void osc_table_add_footer(osc_table *table, osc_str line);

/* OSC_ENOMEM when any call above had no memory. */
OSC_MUST_CHECK osc_status osc_table_status(const osc_table *table, osc_err *err);

/* The end of an analysis: hands the table over in *out; when it is NULL, ok is false or its memory
 * failed, frees it, and *out is NULL (OSC_ENOMEM). */
OSC_MUST_CHECK osc_status osc_table_finish(osc_table *table, bool ok, osc_table **out,
                                           osc_err *err);

const char *osc_table_name(const osc_table *table);
uint32_t osc_table_rows(const osc_table *table);
uint32_t osc_table_columns(const osc_table *table);
const osc_table_column *osc_table_column_at(const osc_table *table, uint32_t column);
/* Index of a column by machine name, UINT32_MAX when there is none. */
uint32_t osc_table_find(const osc_table *table, const char *name);
osc_cell osc_table_cell(const osc_table *table, uint32_t row, uint32_t column);

uint32_t osc_table_facts(const osc_table *table);
/* Key of fact i; *text is set when it is a text, else *number. */
const char *osc_table_fact(const osc_table *table, uint32_t i, bool *is_text, osc_str *text,
                           int64_t *number);
/* Fact by key, 0 or empty when absent. */
int64_t osc_table_fact_i64(const osc_table *table, const char *key);
osc_str osc_table_fact_str(const osc_table *table, const char *key);
uint32_t osc_table_footers(const osc_table *table);
osc_str osc_table_footer(const osc_table *table, uint32_t i);

/* Stable sort by one column, texts by bytes; descending when so asked. */
void osc_table_sort(osc_table *table, uint32_t column, bool descending);

/* The same by one key per row, given in the present order of rows. */
void osc_table_sort_keys(osc_table *table, const double *keys, bool descending);

/* Keeps the first n rows. */
void osc_table_truncate(osc_table *table, uint32_t n);

#endif
