/*
 * num_format.c - numbers to text for people and for files; declared in num.h.
 *
 * Nothing here depends on the locale: decimals are printed as scaled integers, and the one use of
 * printf for doubles (shortest round trip) has its decimal point repaired.
 */
#include "base/num.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/*
 * Writes [-]whole.fraction with commas in the whole part: value is the number times 10^digits.
 * The longest, 20 digits with 6 commas, sign, point and 9 decimals, fits OSC_NUM_TEXT.
 */
static char *put_fixed(bool negative, uint64_t value, int digits, char out[OSC_NUM_TEXT])
{
    char reversed[OSC_NUM_TEXT];
    int n = 0, place = 0;
    assert(digits >= 0 && digits <= 9);
    for (; place < digits; place++, value /= 10)
        reversed[n++] = (char)('0' + value % 10);
    if (digits > 0)
        reversed[n++] = '.';
    for (int k = 0; k == 0 || value > 0; k++, value /= 10) {
        if (k > 0 && k % 3 == 0)
            reversed[n++] = ',';
        reversed[n++] = (char)('0' + value % 10);
    }
    if (negative)
        reversed[n++] = '-';
    for (int i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    out[n] = '\0';
    return out;
}

/* value / divisor rounded half up. */
static uint64_t divide(uint64_t value, uint64_t divisor)
{
    return value / divisor + (value % divisor >= (divisor + 1) / 2 ? 1 : 0);
}

char *osc_format_us(int64_t ns, int digits, char out[OSC_NUM_TEXT])
{
    static const uint64_t divisor[] = {1000, 100, 10, 1};
    assert(digits >= 0 && digits <= 3);
    uint64_t value = divide(magnitude(ns), divisor[digits]);
    return put_fixed(ns < 0 && value > 0, value, digits, out);
}

char *osc_format_us_plain(int64_t ns, char out[OSC_NUM_TEXT])
{
    uint64_t m = magnitude(ns);
    (void)snprintf(out, OSC_NUM_TEXT, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", m / 1000,
                   (unsigned)(m % 1000));
    return out;
}

char *osc_format_ns(int64_t ns, char out[OSC_NUM_TEXT])
{
    uint64_t m = magnitude(ns);
    const char *unit;
    uint64_t value;
    int digits;
    if (m < 9999950) { /* up to 9,999.9 us */
        value = divide(m, 100);
        digits = 1;
        unit = " us";
    } else if (m < UINT64_C(9999999500)) { /* up to 9,999.999 ms */
        value = divide(m, 1000);
        digits = 3;
        unit = " ms";
    } else {
        value = divide(m, 1000000);
        digits = 3;
        unit = " s";
    }
    (void)put_fixed(ns < 0 && value > 0, value, digits, out);
    size_t n = strlen(out);
    (void)snprintf(out + n, OSC_NUM_TEXT - n, "%s", unit);
    return out;
}

char *osc_format_bytes(uint64_t bytes, char out[OSC_NUM_TEXT])
{
    static const char *const units[] = {" KB", " MB", " GB", " TB", " PB", " EB"};
    if (bytes < 1000) {
        (void)snprintf(out, OSC_NUM_TEXT, "%" PRIu64 " B", bytes);
        return out;
    }
    uint64_t unit = 1000;
    size_t i = 0;
    /* 999,950 would print as 1000.0 KB */
    while (i + 1 < sizeof units / sizeof units[0] && divide(bytes, unit / 10) >= 10000) {
        unit *= 1000;
        i++;
    }
    (void)put_fixed(false, divide(bytes, unit / 10), 1, out);
    size_t n = strlen(out);
    (void)snprintf(out + n, OSC_NUM_TEXT - n, "%s", units[i]);
    return out;
}

char *osc_format_count(int64_t value, char out[OSC_NUM_TEXT])
{
    return put_fixed(value < 0, magnitude(value), 0, out);
}

/* The host program may have set a locale whose decimal point is not a '.'. */
static void repair_point(char *text)
{
    for (char *p = text; *p; p++) {
        if (*p == ',')
            *p = '.';
    }
}

char *osc_format_f64(double value, char out[OSC_NUM_TEXT])
{
    if (isnan(value) || isinf(value)) {
        (void)snprintf(out, OSC_NUM_TEXT, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return out;
    }
    /*
     * 15 digits always survive text -> double -> text, 17 always survive double -> text -> double.
     * Numbers below the normal range carry fewer digits than that.
     */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        (void)snprintf(out, OSC_NUM_TEXT, "%.*g", digits, value);
        /* compared by bits in effect: -0.0 == 0.0, but %g keeps the sign; same locale as the
         * printf */
        double back = strtod(out, NULL);
        if (back <= value && back >= value)
            break;
    }
    repair_point(out);
    if (!strpbrk(out, ".e"))
        (void)snprintf(out + strlen(out), OSC_NUM_TEXT - strlen(out), ".0");
    return out;
}

char *osc_format_fixed(double value, int digits, char out[OSC_NUM_TEXT])
{
    assert(digits >= 0 && digits <= 9);
    double scale = 1.0;
    for (int i = 0; i < digits; i++)
        scale *= 10.0;
    double scaled = fabs(value) * scale;
    if (!(scaled < 1e18)) /* too large for an integer, infinite or not a number */
        return osc_format_f64(value, out);
    uint64_t v = (uint64_t)osc_round(scaled);
    return put_fixed(value < 0 && v > 0, v, digits, out);
}
