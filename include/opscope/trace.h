/*
 * trace.h - the trace engine as a C library: open any trace, read its tables, run analyses.
 *
 *     osc_trace *trace;
 *     osc_err err = {0};
 *     if (osc_trace_open("trace.json.gz", NULL, &trace, &err) != OSC_OK) ...
 *     osc_column start;
 *     start.size = sizeof start;
 *     if (osc_trace_column(trace, "slices", "start_ns", &start, &err) == OSC_OK)
 *         for (uint64_t i = 0; i < start.rows; i++) use(start.values.i64[i]);
 *
 *     const char *options[] = {"by=shape", "sort=self_device_ns", "limit=10"};
 *     osc_result *top;
 *     if (osc_trace_analyse(trace, "key_averages", options, 3, &top, &err) == OSC_OK) ...
 *
 * Plain C ABI, versioned by OSC_TRACE_ABI. Handles are opaque; structs passed by pointer start with
 * their size, which the caller sets, so that later versions can add members at the end. Nothing
 * prints, exits or installs handlers. Times are int64 nanoseconds; host times count from 1970.
 *
 * Threads: an open trace and a finished result do not change, so any number of threads may read
 * them and run analyses at once. Opening and closing belong to one thread. err may always be NULL.
 */
#ifndef OPSCOPE_TRACE_H
#define OPSCOPE_TRACE_H

#include "opscope/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OSC_TRACE_ABI 1
OSC_API uint32_t osc_trace_abi(void); /* the library's OSC_TRACE_ABI */

typedef struct osc_trace osc_trace;
typedef struct osc_result osc_result;

/* ---- opening ---- */

/* Told now and then how far reading is: bytes of the file done and in all (0: unknown), events so
 * far. */
typedef void (*osc_trace_progress)(void *context, uint64_t done, uint64_t all, uint64_t events);

typedef struct osc_trace_options {
    size_t size;      /* sizeof(osc_trace_options) */
    uint32_t threads; /* 0: one for each processor; results do not depend on it */
    /* Ceiling for the input, inflated; 0: none but the built-in one for compressed input. */
    uint64_t max_bytes;
    bool device;                 /* of sessions, also read what engines did; slower */
    osc_trace_progress progress; /* NULL: none; called from one thread at a time */
    void *progress_context;
} osc_trace_options;

/*
 * Opens a trace file (JSON, plain, gzip or zstd, told by content), a session directory, or a device
 * profile; "-" is standard input. options NULL: the defaults. *out is NULL on failure:
 * OSC_ENOTFOUND, OSC_EFORMAT, OSC_EFOREIGN, OSC_EUNSUPPORTED, OSC_EIO, OSC_ENOMEM, with a message
 * that says the way out.
 */
OSC_API osc_status osc_trace_open(const char *path, const osc_trace_options *options,
                                  osc_trace **out, osc_err *err) OSC_MUST_CHECK;
OSC_API void osc_trace_close(osc_trace *trace); /* NULL allowed; results stay valid */

/* A fact about the whole capture by key ("torch_version"), "" when it is not known. Lives as long
 * as the trace. All facts are the table "metadata". */
OSC_API const char *osc_trace_fact(const osc_trace *trace, const char *key);

/* Bytes of memory that the trace's tables take. */
OSC_API uint64_t osc_trace_bytes(const osc_trace *trace);

/* ---- tables ---- */

/* Types of columns and cells; numbers are fixed. */
typedef enum osc_type {
    OSC_TYPE_I64 = 0,
    OSC_TYPE_U64 = 1,
    OSC_TYPE_I32 = 2,
    OSC_TYPE_U32 = 3,
    OSC_TYPE_U8 = 4,
    OSC_TYPE_TEXT = 5, /* in columns of tables: uint32_t ids for osc_trace_text */
    OSC_TYPE_F64 = 6,  /* of results only */
    OSC_TYPE_BOOL = 7  /* of results only */
} osc_type;

/* A column of a table. Texts are static; values live as long as the trace. */
typedef struct osc_column {
    size_t size; /* sizeof(osc_column) */
    const char *name;
    /* "ns", "bytes", ""; the name of a table: row numbers of it, OSC_NO_ROW_NUMBER none. */
    const char *unit;
    const char *meaning;
    osc_type type;
    uint64_t rows;
    union {
        const void *any;
        const int64_t *i64;
        const uint64_t *u64;
        const int32_t *i32;
        const uint32_t *u32; /* of OSC_TYPE_U32 and OSC_TYPE_TEXT */
        const uint8_t *u8;
    } values; /* by type; NULL when there are no rows */
} osc_column;

#define OSC_NO_ROW_NUMBER UINT32_MAX

/* The tables that every input becomes (docs/formats/store.md): their number, and the name and
 * meaning of table i; NULL behind the last. Static storage. */
OSC_API uint32_t osc_trace_tables(void);
OSC_API const char *osc_trace_table_name(uint32_t i);
OSC_API const char *osc_trace_table_meaning(uint32_t i);

/* Number of columns of a table by name, 0 when there is no such table; rows it has in a trace. */
OSC_API uint32_t osc_trace_columns(const char *table);
OSC_API uint64_t osc_trace_rows(const osc_trace *trace, const char *table);

/* A column by table and name, or by table and number. OSC_ENOTFOUND (with the nearest name),
 * OSC_EINVAL when out->size is too small to be one. */
OSC_API osc_status osc_trace_column(const osc_trace *trace, const char *table, const char *column,
                                    osc_column *out, osc_err *err) OSC_MUST_CHECK;
OSC_API osc_status osc_trace_column_at(const osc_trace *trace, const char *table, uint32_t i,
                                       osc_column *out, osc_err *err) OSC_MUST_CHECK;

/* The text of an id, with a NUL behind it (it may hold others: *len, which may be NULL, is its
 * length). Lives as long as the trace. */
OSC_API const char *osc_trace_text(const osc_trace *trace, uint32_t id, size_t *len);

/* ---- analyses ---- */

/* Name and one line about analysis i, NULL behind the last. Static storage. */
OSC_API const char *osc_analysis_name(uint32_t i);
OSC_API const char *osc_analysis_summary(uint32_t i);

/* Option k of analysis i: its name, what it does, and the NULL-terminated list of its values (NULL:
 * any text, number, or yes/no). False behind the last. out pointers may be NULL. Static storage. */
OSC_API bool osc_analysis_option(uint32_t i, uint32_t k, const char **name, const char **help,
                                 const char *const **values);

/*
 * Runs an analysis by name with n options "name=value". *out is NULL on failure: OSC_ENOTFOUND for
 * an unknown name, OSC_EINVAL for a wrong option, OSC_ENOMEM, and what the analysis says. Freed
 * with osc_result_free; independent of the trace.
 */
OSC_API osc_status osc_trace_analyse(const osc_trace *trace, const char *name,
                                     const char *const *options, uint32_t n, osc_result **out,
                                     osc_err *err) OSC_MUST_CHECK;
OSC_API void osc_result_free(osc_result *result); /* NULL allowed */

/* A column of a result. Texts are static. */
typedef struct osc_result_column {
    size_t size;         /* sizeof(osc_result_column) */
    const char *name;    /* machine name, "self_cpu_ns" */
    const char *label;   /* heading for people */
    const char *meaning; /* one line */
    const char *unit;    /* "", "ns", "bytes", "count", "percent" */
    osc_type type;       /* OSC_TYPE_TEXT, _I64, _F64 or _BOOL */
} osc_result_column;

OSC_API uint64_t osc_result_rows(const osc_result *result);
OSC_API uint32_t osc_result_columns(const osc_result *result);
/* False when there is no such column. */
OSC_API bool osc_result_column_at(const osc_result *result, uint32_t column,
                                  osc_result_column *out);
/* Number of a column by machine name, UINT32_MAX when there is none. */
OSC_API uint32_t osc_result_find(const osc_result *result, const char *name);

/* A cell by the type of its column: numbers as they are (a bool is 0 or 1), 0 or "" for a cell that
 * does not exist or has another type. Texts have no NUL: *len is their length; they live as long as
 * the result. */
OSC_API int64_t osc_result_i64(const osc_result *result, uint64_t row, uint32_t column);
OSC_API double osc_result_f64(const osc_result *result, uint64_t row, uint32_t column);
OSC_API const char *osc_result_text(const osc_result *result, uint64_t row, uint32_t column,
                                    size_t *len);

/* A figure or text about the whole result by key ("total_device_ns"); 0 or "" when there is
 * none. */
OSC_API int64_t osc_result_fact_i64(const osc_result *result, const char *key);
OSC_API const char *osc_result_fact_text(const osc_result *result, const char *key, size_t *len);

/*
 * The whole result as text: "csv", "json", "jsonl", "md" or "table". *text ends with a NUL that
 * *len (may be NULL) does not count; freed with osc_text_free, NULL on failure.
 */
OSC_API osc_status osc_result_format(const osc_result *result, const char *format, char **text,
                                     size_t *len, osc_err *err) OSC_MUST_CHECK;
OSC_API void osc_text_free(char *text); /* NULL allowed */

#ifdef __cplusplus
}
#endif
#endif
