/*
 * scan.h - a forgiving JSON scanner for traces as they are found, not as they should be.
 *
 * Real traces hold unescaped quotes and control bytes in names, bare inf and N/A, doubled commas,
 * and end anywhere (known-bad-inputs.md J01 to J17). The strict scanner of base/json.h refuses
 * them; this one repairs what has one sensible reading, counts each kind of repair with its first
 * offset, and gives up on an event only when nothing else is possible. On valid JSON it agrees with
 * the strict one.
 *
 * Nesting costs a counter, not the C stack. Texts are views into the input. Nothing is allocated.
 */
#ifndef OSC_READ_SCAN_H
#define OSC_READ_SCAN_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of repair; descriptions in osc_scan_repair_code and osc_scan_repair_sentence. */
typedef enum osc_scan_repair {
    OSC_REPAIR_BARE_QUOTE = 0, /* a quote inside a string was not escaped */
    OSC_REPAIR_ESCAPE = 1,     /* a backslash before a letter that is no escape */
    OSC_REPAIR_COMMA = 2,      /* a comma too many or too few */
    OSC_REPAIR_WORD = 3,       /* inf, nan, N/A without quotes */
    OSC_REPAIR_RESYNC = 4,     /* bytes skipped to the next event */
    OSC_REPAIR_COUNT
} osc_scan_repair;

typedef struct osc_scan {
    const char *data; /* the input, not owned */
    size_t len;
    size_t pos;    /* next byte, at most len */
    uint64_t base; /* offset of data[0] in the whole input */
    bool more;     /* input goes on behind len */
    bool opened;   /* a bracket was opened and nothing taken since: no comma is due */
    bool starved;  /* a byte at len was asked for; set only. More input could change the answer */
    uint64_t repairs[OSC_REPAIR_COUNT];      /* how many of each */
    uint64_t first_repair[OSC_REPAIR_COUNT]; /* offset of the first of each, in the whole input */
} osc_scan;

typedef enum osc_scan_type {
    OSC_SCAN_NONE = 0, /* no value: the input ended or the byte begins none */
    OSC_SCAN_STRING = 1,
    OSC_SCAN_NUMBER = 2, /* text that begins like a number; syntax is the parser's business */
    OSC_SCAN_WORD = 3,   /* true, false, null, or another bare word */
    OSC_SCAN_OBJECT = 4, /* text spans the whole value, braces included */
    OSC_SCAN_ARRAY = 5
} osc_scan_type;

typedef struct osc_scan_value {
    osc_scan_type type;
    bool escaped;  /* STRING: holds a backslash */
    osc_str text;  /* STRING: between the quotes; else the whole value */
    size_t offset; /* of its first byte */
} osc_scan_value;

/* Starts a scan of len bytes at data, which must outlive it. A UTF-8 BOM is skipped. */
void osc_scan_init(osc_scan *s, const char *data, size_t len);

/* Counts a repair at an offset in data. */
void osc_scan_note(osc_scan *s, osc_scan_repair kind, size_t offset);

/* Adds the repairs that another scan of the same input counted; `except` (or OSC_REPAIR_COUNT) is
 * left out. */
void osc_scan_add_repairs(osc_scan *s, const osc_scan *other, osc_scan_repair except);

/* Stable name and one sentence for a kind of repair. Static storage. */
const char *osc_scan_repair_code(osc_scan_repair kind);
const char *osc_scan_repair_sentence(osc_scan_repair kind);

/* Skips white space (and NUL padding); the next byte, or 0 at the end. */
char osc_scan_peek(osc_scan *s);

/* Skips white space and takes c when it is next. */
bool osc_scan_take(osc_scan *s, char c);

/*
 * Takes one value whole, containers included. An object ends at the brace that balances its first
 * one, an array at the bracket; the other kind is not looked at, so that a bracket too few inside
 * does no harm. False when the input ends inside it or it is none.
 */
bool osc_scan_value_next(osc_scan *s, osc_scan_value *out);

/*
 * Walks an object whose '{' was taken: true with the next member's key, its ':' taken; the caller
 * then takes the value. False at '}' (taken), or when no key follows: *ended tells which.
 */
bool osc_scan_member(osc_scan *s, osc_scan_value *key, bool *ended);

/*
 * Walks an array whose '[' was taken: true when an element follows (not taken). False at ']'
 * (taken), or at the end of input: *ended tells which.
 */
bool osc_scan_element(osc_scan *s, bool *ended);

/*
 * Moves to the next '{' that is followed by a key of a trace event, from one byte after `from` on;
 * false when there is none (pos is then the end). Counts a resynchronisation.
 */
bool osc_scan_resync(osc_scan *s, size_t from);

/*
 * The search of osc_scan_resync from `at` on, without counting. False when there is none or, with
 * `starved` set, when it cannot be told yet: the search then goes on at pos once there are more
 * bytes (those of OSC_SCAN_LOOKBACK before pos must stay).
 */
bool osc_scan_find_event(osc_scan *s, size_t at);
#define OSC_SCAN_LOOKBACK 256u

/* Undoes the escapes of a STRING into out (appended); unknown escapes stay as they are, counted in
 * s. */
void osc_scan_unescape(osc_scan *s, const osc_scan_value *value, osc_buf *out);

/* Integer of a NUMBER or quoted number; digits after a point are dropped. False when it is none. */
bool osc_scan_i64(const osc_scan_value *value, int64_t *out);

/* Microseconds to nanoseconds, exactly; rounds below 1 ns. A number that leaves int64 gives the end
 * it lies beyond. False when it is none. */
bool osc_scan_us_to_ns(const osc_scan_value *value, int64_t *ns);

#endif
