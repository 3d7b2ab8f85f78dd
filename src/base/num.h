/*
 * num.h - text to numbers, exactly or not at all, and numbers to text a person reads.
 *
 * Parsers take the whole view: no leading or trailing space, no locale, no partial success. They
 * return false for anything else and then leave *out untouched. All functions may be called from
 * any thread and depend on no locale.
 */
#ifndef OSC_BASE_NUM_H
#define OSC_BASE_NUM_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal with an optional '-' (no '+'); false on overflow. */
bool osc_parse_i64(osc_str s, int64_t *out);

/* Decimal digits only; false on overflow. */
bool osc_parse_u64(osc_str s, uint64_t *out);

/* Decimal, or hexadecimal after "0x". */
bool osc_parse_u64_any(osc_str s, uint64_t *out);

/*
 * JSON number syntax plus "inf", "-inf", "nan" (any case) and leading '+'; correctly rounded. At
 * most 1,000 characters. Overflow gives +-infinity, underflow 0, both true.
 */
bool osc_parse_f64(osc_str s, double *out);

/* "1"/"true"/"yes"/"on" and "0"/"false"/"no"/"off", any case. */
bool osc_parse_bool(osc_str s, bool *out);

/* A byte size: digits with an optional suffix K, M, G, T (powers of 1024), "B" or "iB" after it. */
bool osc_parse_size(osc_str s, uint64_t *out);

/*
 * Microseconds in decimal text to integer nanoseconds, exactly: "12345.678" -> 12345678. Optional
 * sign and JSON exponent ("1.5e3"); "+1" and ".5" are taken too, as traces have them. Digits below
 * one nanosecond are rounded half away from zero and set *inexact (may be NULL) when they are not
 * all 0. False on bad syntax or when the value leaves int64.
 */
bool osc_parse_us_to_ns(osc_str s, int64_t *ns, bool *inexact);

/*
 * The general form: value * 10^scale as int64, e.g. scale 9 for seconds to ns, 6 for ms to ns, 3
 * for us to ns, 0 for an integer. scale is 0 to 18.
 */
bool osc_parse_scaled(osc_str s, int scale, int64_t *out, bool *inexact);

/* The nearest integer, halves away from zero, as llround: without libm, whose loading is a tenth of
 * the start of the program. The value must lie within int64. */
static inline int64_t osc_round(double value)
{
    int64_t whole = (int64_t)value;
    double rest =
        value - (double)whole; /* exact: both are near each other, or value is an integer */
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

/* Formatters write to a caller's array, always NUL-terminated, and return it. */
#define OSC_NUM_TEXT 48

/* Nanoseconds in the unit a person would say: "0.4 us", "1,164.5 us", "23.555 ms", "12.300 s". */
char *osc_format_ns(int64_t ns, char out[OSC_NUM_TEXT]);

/* Nanoseconds as microseconds with `digits` (0 to 3) decimals and thousands commas: "1,164.5". */
char *osc_format_us(int64_t ns, int digits, char out[OSC_NUM_TEXT]);

/* Nanoseconds as microseconds with all three decimals and no commas, as JSON traces want:
 * "1164.512" */
char *osc_format_us_plain(int64_t ns, char out[OSC_NUM_TEXT]);

/* Bytes: "0 B", "512 B", "4.1 KB", "25.2 MB" in powers of 1000. */
char *osc_format_bytes(uint64_t bytes, char out[OSC_NUM_TEXT]);

/* Integer with commas: "1,312", "-40,000". */
char *osc_format_count(int64_t value, char out[OSC_NUM_TEXT]);

/*
 * Shortest decimal text that reads back as the same double, JSON syntax where finite ("0.1",
 * "1e+22", "-0.0", "3.0"); "nan", "inf", "-inf" otherwise.
 */
char *osc_format_f64(double value, char out[OSC_NUM_TEXT]);

/* The value with a fixed count of decimals (0 to 9) and thousands commas: "1,234.50". */
char *osc_format_fixed(double value, int digits, char out[OSC_NUM_TEXT]);

#endif
