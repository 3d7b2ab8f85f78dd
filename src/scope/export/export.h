/*
 * export.h - osc_table and findings as text, CSV, JSON, JSON lines and Markdown.
 *
 * One file per format; none of them decides what to show. Machine formats carry every column and
 * exact integers, and are stable: JSON has a version that grows when a member changes meaning. Text
 * tables are for people and may change.
 */
#ifndef OSC_EXPORT_EXPORT_H
#define OSC_EXPORT_EXPORT_H

#include "base/buf.h"
#include "base/str.h"
#include "scope/analysis/table.h"

#include <stdbool.h>

/* Version of the JSON forms. */
#define OSC_EXPORT_JSON_VERSION 1

typedef enum osc_format {
    OSC_FORMAT_TABLE = 0,
    OSC_FORMAT_CSV = 1,
    OSC_FORMAT_JSON = 2,
    OSC_FORMAT_JSONL = 3,
    OSC_FORMAT_MD = 4,
    OSC_FORMATS = 5
} osc_format;

/* "table", "csv", "json", "jsonl", "md"; NULL-terminated, in the order of the enum. */
extern const char *const osc_format_names[];

/* Width of text tables where no terminal says another. */
#define OSC_EXPORT_WIDTH 120u

/* How a text for people looks. */
typedef struct osc_look {
    bool colour;    /* with escape sequences */
    uint32_t width; /* terminal columns that it may take, 0: any */
} osc_look;

/*
 * Appends the table to out; failures are out's. look: of the text form; NULL: no colour and
 * OSC_EXPORT_WIDTH. Exporters keep a terminal safe: control bytes in texts become spaces (text, Markdown).
 */
void osc_export(const osc_table *table, osc_format format, const osc_look *look, osc_buf *out);

/* The single formats. */
void osc_export_text(const osc_table *table, const osc_look *look, osc_buf *out);
void osc_export_csv(const osc_table *table, osc_buf *out);
void osc_export_json(const osc_table *table, osc_buf *out);
void osc_export_jsonl(const osc_table *table, osc_buf *out);
void osc_export_md(const osc_table *table, osc_buf *out);

/*
 * Several tables as one JSON object: {"version":1,"<name>":[{row},...],...}. With `object` the
 * table's rows are members themselves, {"<field>":value,...}: its columns must be named field,
 * value, text, is_text. Whole numbers are written as integers.
 */
typedef struct osc_export_member {
    const char *name;
    const osc_table *table;
    bool object;
} osc_export_member;
void osc_export_json_members(const osc_export_member *members, size_t count, osc_buf *out);

/*
 * A cell as people read it: times of a column share the unit its largest value asks for, given by
 * scale_ns (osc_export_scale). Appended to out, which is not cleared.
 */
typedef struct osc_scale {
    const char *unit; /* "us", "ms", "s", "" */
    double divisor;   /* ns per unit */
    int digits;
} osc_scale;
osc_scale osc_export_scale(const osc_table *table, uint32_t column);

/* True for a column that tables for people show: meant for them, and not without any text. */
bool osc_export_shows(const osc_table *table, uint32_t column);

void osc_export_cell(const osc_table *table, uint32_t row, uint32_t column, const osc_scale *scale,
                     osc_buf *out);

/* Appends a text of the input with control characters as spaces, so that it cannot steer a
 * terminal. */
void osc_export_safe(osc_str text, osc_buf *out);

/* The same, cut to a number of terminal columns (at least 3), three dots included, at a character's
 * border. Returns the columns used. */
size_t osc_export_cut(osc_str text, size_t columns, osc_buf *out);

/* Words on lines of at most width columns where their length allows, later lines indented, a line
 * end behind the last; the caller is at column `indent`. */
void osc_export_wrap(osc_str words, size_t indent, size_t width, osc_buf *out);

#endif
