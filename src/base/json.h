/*
 * json.h - a pull scanner over JSON in memory, and a writer that cannot make bad JSON.
 *
 * Scanner: osc_json_next gives one token at a time; nesting is kept in a bit stack, so there is no
 * recursion and a hostile file costs OSC_JSON_MAX_DEPTH bits, not the C stack. Strings and numbers are
 * views into the input; nothing is allocated. It accepts RFC 8259 and, because real traces contain
 * them, the bare words NaN, Infinity and -Infinity as numbers, raw control bytes inside strings, and
 * any bytes that are not UTF-8. All else is an error with its byte offset.
 *
 * Rejected: a document tree. A trace of 2 GB as a tree is 20 GB.
 */
#ifndef OSC_BASE_JSON_H
#define OSC_BASE_JSON_H

#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deepest nesting the scanner and the writer take. */
#define OSC_JSON_MAX_DEPTH 512

typedef enum osc_json_type {
    OSC_JSON_END = 0,       /* the document is complete (only white space follows) */
    OSC_JSON_ERROR = 1,     /* see osc_json_status; stays so */
    OSC_JSON_OBJ_BEGIN = 2, /* { */
    OSC_JSON_OBJ_END = 3,   /* } */
    OSC_JSON_ARR_BEGIN = 4, /* [ */
    OSC_JSON_ARR_END = 5,   /* ] */
    OSC_JSON_KEY = 6,       /* a member's name; its value is the next token */
    OSC_JSON_STRING = 7,
    OSC_JSON_NUMBER = 8,
    OSC_JSON_TRUE = 9,
    OSC_JSON_FALSE = 10,
    OSC_JSON_NULL = 11
} osc_json_type;

typedef struct osc_json_token {
    osc_json_type type;
    bool escaped;    /* KEY, STRING: text holds at least one backslash, so it must be unescaped */
    osc_str text;    /* KEY, STRING: between the quotes, raw; NUMBER: the digits; else the token */
    uint64_t offset; /* of the token's first byte in the input */
} osc_json_token;

typedef struct osc_json {
    const char *data;                            /* the input, not owned */
    size_t len;                                  /* its length */
    size_t pos;                                  /* next byte */
    uint32_t depth;                              /* open objects and arrays */
    uint8_t expect;                              /* internal: what may come next */
    bool truncated;                              /* the error is that the input ended */
    osc_status status;                           /* OSC_OK until the first error */
    uint64_t error_offset;                       /* where */
    const char *error_text;                      /* static sentence: what was expected */
    uint64_t in_object[OSC_JSON_MAX_DEPTH / 64]; /* bit d: level d is an object */
} osc_json;

/* Starts a scan of len bytes at data, which must outlive the scanner. A UTF-8 BOM is skipped. */
void osc_json_init(osc_json *j, const char *data, size_t len);

/* Next token. After END or ERROR it keeps returning the same. */
osc_json_token osc_json_next(osc_json *j);

/* Looks at the next token without taking it. */
osc_json_token osc_json_peek(const osc_json *j);

/*
 * Skips one whole value: called when the next token begins a value (after a KEY, or in an array).
 * Given the first token of the value in `first` when it was already taken, else pass NULL.
 * False on an error.
 */
bool osc_json_skip_value(osc_json *j, const osc_json_token *first);

/*
 * Iterates an object after its OBJ_BEGIN was taken: true and *key (a KEY token) per member, false at
 * OBJ_END (taken) or on an error. The caller must take the member's value each time.
 */
bool osc_json_next_member(osc_json *j, osc_json_token *key);

/*
 * Iterates an array after its ARR_BEGIN was taken: true and *value, the first token of the element;
 * false at ARR_END (taken) or on an error.
 */
bool osc_json_next_element(osc_json *j, osc_json_token *value);

/* OSC_OK, OSC_ETRUNCATED or OSC_EFORMAT; the latter two fill err with the offset. input may be NULL. */
osc_status osc_json_status(const osc_json *j, const char *input, osc_err *err) OSC_MUST_CHECK;

/*
 * Undoes the escapes of a KEY or STRING token's raw text into out (appended). The result is always
 * valid UTF-8: surrogate pairs are joined, a lone surrogate, a bad escape or a bad byte becomes
 * U+FFFD. Returns false when out failed. Set *replaced (may be NULL) when something became U+FFFD.
 */
bool osc_json_unescape(osc_str raw, osc_buf *out, bool *replaced);

/* True when the token is a KEY or STRING whose unescaped text equals plain ASCII `text`. */
bool osc_json_is(const osc_json_token *t, const char *text);

/* The number of a NUMBER token as int64 (exact integers only, "1.0" and "1e3" are ones) or double. */
bool osc_json_i64(const osc_json_token *t, int64_t *out);
bool osc_json_f64(const osc_json_token *t, double *out);

/*
 * Writer. Commas, colons and nesting are its business; a call in the wrong place (value where a key is
 * due, end of the wrong kind, too deep) sets the buffer's sticky failure. Strings may hold any bytes:
 * what comes out is valid UTF-8 JSON, invalid bytes become U+FFFD. NaN and infinities become null.
 */
typedef struct osc_jw {
    osc_buf *out;                                /* not owned */
    uint32_t depth;                              /* open levels */
    uint32_t indent;                             /* spaces per level, 0 = compact */
    bool after_key;                              /* a key was written, its value is due */
    bool empty;                                  /* the open level has no item yet */
    uint64_t in_object[OSC_JSON_MAX_DEPTH / 64]; /* bit d: level d is an object */
} osc_jw;

/* Starts a writer that appends to out. indent 0 writes one line, 2 is for people. */
void osc_jw_init(osc_jw *w, osc_buf *out, uint32_t indent);

void osc_jw_begin_obj(osc_jw *w);
void osc_jw_end_obj(osc_jw *w);
void osc_jw_begin_arr(osc_jw *w);
void osc_jw_end_arr(osc_jw *w);
void osc_jw_key(osc_jw *w, const char *key);
void osc_jw_key_str(osc_jw *w, osc_str key);
void osc_jw_str(osc_jw *w, osc_str value);
void osc_jw_cstr(osc_jw *w, const char *value); /* NULL writes null */
void osc_jw_i64(osc_jw *w, int64_t value);
void osc_jw_u64(osc_jw *w, uint64_t value);
void osc_jw_f64(osc_jw *w, double value);
void osc_jw_bool(osc_jw *w, bool value);
void osc_jw_null(osc_jw *w);

/* A value that is already JSON text (e.g. "12.345"); the caller vouches for it. */
void osc_jw_raw(osc_jw *w, osc_str json);

/* key and value in one call. */
void osc_jw_kv_str(osc_jw *w, const char *key, osc_str value);
void osc_jw_kv_cstr(osc_jw *w, const char *key, const char *value);
void osc_jw_kv_i64(osc_jw *w, const char *key, int64_t value);
void osc_jw_kv_u64(osc_jw *w, const char *key, uint64_t value);
void osc_jw_kv_f64(osc_jw *w, const char *key, double value);
void osc_jw_kv_bool(osc_jw *w, const char *key, bool value);

/* Appends one JSON string literal, quotes included, to out. */
void osc_json_quote(osc_buf *out, osc_str value);

#endif
