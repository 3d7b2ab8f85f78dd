/*
 * store.h - osc_store, the waist between readers and analyses: columnar tables, immutable once
 * sealed.
 *
 * A reader adds rows and interns strings; failures are sticky, so it checks once, in
 * osc_store_seal. After sealing nothing changes and any thread may read. An analysis takes the
 * columns it needs:
 *
 *     const osc_slice_cols *s = osc_store_slice(store);
 *     for (uint32_t i = 0; i < s->count; i++) sum += s->dur_ns[i];
 *
 * The store knows no file format. All memory belongs to it and is freed as one; adding a row
 * allocates only when a table doubles.
 */
#ifndef OSC_STORE_STORE_H
#define OSC_STORE_STORE_H

#include "artifact/finding.h"
#include "base/status.h"
#include "base/str.h"
#include "scope/store/kinds.h"
#include "scope/store/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_store osc_store;

/* Logical column types; numbers are fixed. */
typedef enum osc_column_type {
    OSC_COLUMN_I64 = 0,
    OSC_COLUMN_U64 = 1,
    OSC_COLUMN_I32 = 2,
    OSC_COLUMN_U32 = 3,
    OSC_COLUMN_U8 = 4,
    OSC_COLUMN_STR = 5 /* uint32_t id of the string pool */
} osc_column_type;

/* Description of one column. Static storage. */
typedef struct osc_column_def {
    const char *name;
    const char *unit; /* "ns", "bytes", a table's name for a reference, "" */
    const char *meaning;
    osc_column_type type;
    uint16_t row_offset;  /* of the field in the row struct */
    uint16_t cols_offset; /* of the pointer in the column view */
} osc_column_def;

/* Description of one table. Static storage. */
typedef struct osc_table_def {
    const char *name; /* "slices" */
    const char *meaning;
    const osc_column_def *columns;
    uint32_t column_count;
} osc_table_def;

/* Numbers of the tables: OSC_TABLE_slice, OSC_TABLE_track, ... */
typedef enum osc_table_id {
#define OSC_STORE_ENUM(row, name, meaning) OSC_TABLE_##row,
    OSC_STORE_TABLES(OSC_STORE_ENUM)
#undef OSC_STORE_ENUM
        OSC_TABLE_COUNT
} osc_table_id;

/* osc_<row>_row: one row by value. osc_<row>_cols: the columns, `count` long each. */
#define OSC_STORE_ROW_FIELD(row, ctype, type, name, unit, meaning) ctype name;
#define OSC_STORE_COL_FIELD(row, ctype, type, name, unit, meaning) ctype *name;
#define OSC_STORE_DECLARE(row, columns)                                                     \
    typedef struct osc_##row##_row {                                                        \
        columns(OSC_STORE_ROW_FIELD, row)                                                   \
    } osc_##row##_row;                                                                      \
    typedef struct osc_##row##_cols {                                                       \
        uint32_t count; /* rows */                                                          \
        uint32_t cap;   /* rows allocated */                                                \
        columns(OSC_STORE_COL_FIELD, row)                                                   \
    } osc_##row##_cols;                                                                     \
    /* The columns; valid while the store lives and, before sealing, until the next add. */ \
    const osc_##row##_cols *osc_store_##row(const osc_store *store);                        \
    /* Adds a copy of the row; its index, or OSC_NO_ROW (sticky) when memory is out. */     \
    uint32_t osc_store_add_##row(osc_store *store, const osc_##row##_row *value);
OSC_STORE_ALL(OSC_STORE_DECLARE)
#undef OSC_STORE_DECLARE
#undef OSC_STORE_ROW_FIELD
#undef OSC_STORE_COL_FIELD

/*
 * Leaves a column out: it takes no memory, its pointer in the view is NULL and what rows say about
 * it is dropped. Only before the table has rows. name must be one of the table's columns.
 */
void osc_store_omit_column(osc_store *store, osc_table_id table, const char *name);

/* End of a slice, ns; start plus length always fits (schema.h). */
static inline int64_t osc_slice_end(const osc_slice_cols *slices, uint32_t slice)
{
    return slices->start_ns[slice] + slices->dur_ns[slice];
}

/* Leaves out of an empty store the columns that another leaves out. */
void osc_store_omit_like(osc_store *store, const osc_store *other);

/* A new empty store; NULL when out of memory. The caller frees it with osc_store_free. */
osc_store *osc_store_new(void);

/* Frees everything; NULL is allowed. */
void osc_store_free(osc_store *store);

/* Id of a text; the text is copied. 0 (the empty text) and a sticky failure when memory is out. */
uint32_t osc_store_intern(osc_store *store, osc_str text);

/* Id of a text that is there already, OSC_NO_ROW when it is not. */
uint32_t osc_store_lookup(const osc_store *store, osc_str text);

/* The text of an id; lives as long as the store. */
osc_str osc_store_text(const osc_store *store, uint32_t id);

/* Number of distinct texts; ids are below it. */
uint32_t osc_store_text_count(const osc_store *store);

/*
 * Records what a reader noticed. The first call with a code adds a row with its sentence and offset
 * (OSC_NO_OFFSET when there is none); later calls add n to its count. code and sentence are copied.
 */
void osc_store_note(osc_store *store, osc_severity severity, const char *code, uint64_t n,
                    uint64_t offset, const char *sentence);

/* True when a finding with this code was recorded for the present input. */
bool osc_store_has_note(const osc_store *store, const char *code);

/* The input that following notes concern; copied. */
void osc_store_set_input(osc_store *store, osc_str name);

/* Sets a fact about the capture; a key set twice keeps the last value. */
void osc_store_set_meta(osc_store *store, const char *key, osc_str value);

/* Value of a fact, the empty view when it is not set. */
osc_str osc_store_get_meta(const osc_store *store, const char *key);

/*
 * Brings a start and a length (NULL: an instant) into the range that schema.h promises, and notes
 * when it had to. Readers call it before they add a row with times of their input.
 */
void osc_store_clamp(osc_store *store, int64_t *start_ns, int64_t *dur_ns);

/* First rows of the tables that hold times of one input. */
typedef struct osc_store_mark {
    uint32_t slice, memory, flow;
} osc_store_mark;

/* The rows that the next adds will get. */
osc_store_mark osc_store_mark_now(const osc_store *store);

/*
 * Adds delta to the times of slices, memory records and flows from mark on, kept in range. For
 * readers that learn the time base last.
 */
void osc_store_shift(osc_store *store, const osc_store_mark *mark, int64_t delta);

/* The column flows.track, for a reader that learns last which lanes there are. NULL when empty. */
uint32_t *osc_store_flow_tracks(osc_store *store);

/*
 * The columns of slices with room for one more row, for a reader that writes each of them itself
 * (those that are not NULL) and then adds one to count. NULL, and a sticky failure, when memory is
 * out.
 */
osc_slice_cols *osc_store_slice_room(osc_store *store);

/* Forgets all rows and texts of an unsealed store; keeps the memory and which columns are left
 * out. */
void osc_store_clear(osc_store *store);

/* How ids of one store translate to another. */
typedef struct osc_store_maps {
    const uint32_t *texts;  /* by text id */
    const uint32_t *tracks; /* by track number; NULL: as they are */
    uint32_t slices;        /* added to slice numbers */
} osc_store_maps;

/* Appends all rows of a table of `from`, ids translated; both leave out the same columns. Sticky
 * failure. */
void osc_store_append(osc_store *store, const osc_store *from, osc_table_id table,
                      const osc_store_maps *maps);

/* Bytes of all columns and texts. */
size_t osc_store_bytes(const osc_store *store);

/* True when an earlier call had no memory; rows may then name rows that do not exist. */
bool osc_store_failed(const osc_store *store);

/* Ends writing. OSC_ENOMEM when an earlier call had no memory; the store may then only be freed. */
OSC_MUST_CHECK osc_status osc_store_seal(osc_store *store, osc_err *err);

/* Description of a table, NULL for a number that is none. */
const osc_table_def *osc_store_table_def(osc_table_id table);

/* A column without knowing its C type, for generic printers: base pointer and row count. The
 * pointer is NULL when the column was left out or the table is empty. */
const void *osc_store_column(const osc_store *store, osc_table_id table, uint32_t column,
                             uint32_t *count);

#endif
