/*
 * num.c - text to numbers; see num.h. Numbers to text are in num_format.c.
 *
 * Integers and scaled decimals are computed in integers. Doubles go to strtod on a checked,
 * NUL-terminated copy: its grammar is wider than ours (hexadecimal, locale), so the text is matched
 * against ours first.
 */
#include "base/num.h"

#include "base/mem.h"

#include <assert.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define F64_MAX_TEXT 1000

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool osc_parse_u64(osc_str s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) || !osc_mul_u64(v, 10, &v) ||
            !osc_add_u64(v, (uint64_t)(s.ptr[i] - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

/* Magnitude and sign to int64; false when outside. */
static bool signed_value(uint64_t magnitude, bool negative, int64_t *out)
{
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool osc_parse_i64(osc_str s, int64_t *out)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    uint64_t magnitude;
    return osc_parse_u64(osc_str_sub(s, negative, SIZE_MAX), &magnitude) &&
           signed_value(magnitude, negative, out);
}

/* Value of a hexadecimal digit, or -1. */
static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool osc_parse_u64_any(osc_str s, uint64_t *out)
{
    if (!osc_str_starts(s, OSC_STR("0x")))
        return osc_parse_u64(s, out);
    uint64_t v = 0;
    if (s.len < 3)
        return false;
    for (size_t i = 2; i < s.len; i++) {
        int digit = hex_digit(s.ptr[i]);
        if (digit < 0 || v >> 60 != 0)
            return false;
        v = v << 4 | (uint64_t)digit;
    }
    *out = v;
    return true;
}

/* The parts of a decimal number in text. */
struct decimal {
    bool negative;
    osc_str whole;    /* digits before the point, at least one */
    osc_str fraction; /* digits after it, may be empty */
    int exponent;     /* clipped to +-100,000 */
};

static osc_str take_digits(osc_str *s)
{
    size_t n = 0;
    while (n < s->len && is_digit(s->ptr[n]))
        n++;
    osc_str digits = osc_str_sub(*s, 0, n);
    *s = osc_str_sub(*s, n, SIZE_MAX);
    return digits;
}

/* Takes "e+12" from the front of *s if it is there; false when an 'e' has no digits. */
static bool take_exponent(osc_str *s, int *exponent)
{
    *exponent = 0;
    if (s->len == 0 || (s->ptr[0] != 'e' && s->ptr[0] != 'E'))
        return true;
    *s = osc_str_sub(*s, 1, SIZE_MAX);
    bool negative = s->len > 0 && s->ptr[0] == '-';
    if (s->len > 0 && (s->ptr[0] == '-' || s->ptr[0] == '+'))
        *s = osc_str_sub(*s, 1, SIZE_MAX);
    osc_str digits = take_digits(s);
    for (size_t i = 0; i < digits.len && *exponent < 100000; i++)
        *exponent = *exponent * 10 + (digits.ptr[i] - '0');
    if (negative)
        *exponent = -*exponent;
    return digits.len > 0;
}

/* Splits text of the form -12.34e5; leading zeros, "+1" and ".5" are allowed, which JSON's scanner
 * refuses itself. */
static bool split_decimal(osc_str s, struct decimal *d)
{
    d->negative = s.len > 0 && s.ptr[0] == '-';
    s = osc_str_sub(s, s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+'), SIZE_MAX);
    d->whole = take_digits(&s);
    d->fraction = osc_str_make(NULL, 0);
    if (d->whole.len == 0 && (s.len == 0 || s.ptr[0] != '.'))
        return false;
    if (s.len > 0 && s.ptr[0] == '.') {
        s = osc_str_sub(s, 1, SIZE_MAX);
        d->fraction = take_digits(&s);
        if (d->fraction.len == 0)
            return false;
    }
    return take_exponent(&s, &d->exponent) && s.len == 0;
}

bool osc_parse_f64(osc_str s, double *out)
{
    struct decimal d;
    char text[F64_MAX_TEXT + 1];
    if (s.len > 1 && s.ptr[0] == '+' && s.ptr[1] != '-' && s.ptr[1] != '+')
        s = osc_str_sub(s, 1, SIZE_MAX);
    bool negative = s.len > 0 && s.ptr[0] == '-';
    osc_str word = osc_str_sub(s, negative, SIZE_MAX);
    if (osc_str_eq_nocase(word, OSC_STR("inf")) || osc_str_eq_nocase(word, OSC_STR("infinity"))) {
        *out = negative ? -INFINITY : INFINITY;
        return true;
    }
    if (osc_str_eq_nocase(s, OSC_STR("nan"))) {
        *out = NAN;
        return true;
    }
    if (s.len > F64_MAX_TEXT || !split_decimal(s, &d) || d.whole.len == 0)
        return false;
    (void)osc_str_to_array(s, text, sizeof text);
    /* strtod wants the host program's decimal point, which need not be a '.' */
    char *point = strchr(text, '.');
    const struct lconv *conv = localeconv();
    if (point && conv->decimal_point[0] != '\0' && conv->decimal_point[1] == '\0')
        *point = conv->decimal_point[0];
    *out = strtod(text, NULL);
    return true;
}

bool osc_parse_bool(osc_str s, bool *out)
{
    static const struct {
        osc_str word;
        bool value;
    } words[] = {
        {OSC_STR_INIT("1"), true},   {OSC_STR_INIT("true"), true}, {OSC_STR_INIT("yes"), true},
        {OSC_STR_INIT("on"), true},  {OSC_STR_INIT("0"), false},   {OSC_STR_INIT("false"), false},
        {OSC_STR_INIT("no"), false}, {OSC_STR_INIT("off"), false},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (osc_str_eq_nocase(s, words[i].word)) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

/* Power of 1024 of a size suffix: "" 0, "K"/"KB"/"KiB" 1, ...; -1 when it is none. */
static int size_power(osc_str suffix)
{
    static const char letters[] = "KMGT";
    if (suffix.len == 0 || osc_str_eq_nocase(suffix, OSC_STR("B")))
        return 0;
    osc_str tail = osc_str_sub(suffix, 1, SIZE_MAX);
    if (tail.len > 0 && !osc_str_eq_nocase(tail, OSC_STR("B")) &&
        !osc_str_eq_nocase(tail, OSC_STR("iB")))
        return -1;
    for (int i = 0; i < 4; i++) {
        if (osc_str_eq_nocase(osc_str_sub(suffix, 0, 1), osc_str_make(letters + i, 1)))
            return i + 1;
    }
    return -1;
}

bool osc_parse_size(osc_str s, uint64_t *out)
{
    uint64_t v;
    osc_str digits = take_digits(&s);
    int power = size_power(s);
    if (power < 0 || !osc_parse_u64(digits, &v))
        return false;
    for (int i = 0; i < power; i++) {
        if (!osc_mul_u64(v, 1024, &v))
            return false;
    }
    *out = v;
    return true;
}

/* Appends the digits to *v while *places allows; sets *rest to what is left over. False on
 * overflow. */
static bool feed_digits(osc_str digits, int64_t *places, uint64_t *v, osc_str *rest)
{
    size_t i = 0;
    while (*places > 0 && i < digits.len) {
        if (!osc_mul_u64(*v, 10, v) || !osc_add_u64(*v, (uint64_t)(digits.ptr[i] - '0'), v))
            return false;
        i++;
        (*places)--;
    }
    *rest = osc_str_sub(digits, i, SIZE_MAX);
    return true;
}

static bool all_zero(osc_str digits)
{
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] != '0')
            return false;
    }
    return true;
}

/*
 * All digits are one string with the decimal point after `places` of them once the scale and the
 * exponent are applied: the ones before it make the result, the ones after it round it.
 */
bool osc_parse_scaled(osc_str s, int scale, int64_t *out, bool *inexact)
{
    struct decimal d;
    assert(scale >= 0 && scale <= 18);
    if (!split_decimal(s, &d))
        return false;
    bool zero = all_zero(d.whole) && all_zero(d.fraction);
    int64_t places = (int64_t)d.whole.len + scale + d.exponent;
    bool below_half = places < 0; /* the first digit lies beyond the first rounded place */
    uint64_t v = 0;
    osc_str rest_whole = d.whole, rest_fraction = d.fraction;
    if (!feed_digits(d.whole, &places, &v, &rest_whole) ||
        !feed_digits(d.fraction, &places, &v, &rest_fraction))
        return false;
    for (; places > 0 && v != 0; places--) {
        if (!osc_mul_u64(v, 10, &v))
            return false;
    }
    osc_str first_rest = rest_whole.len > 0 ? rest_whole : rest_fraction;
    bool lost = !zero && !(all_zero(rest_whole) && all_zero(rest_fraction));
    if (!below_half && first_rest.len > 0 && first_rest.ptr[0] >= '5' && !osc_add_u64(v, 1, &v))
        return false;
    if (!signed_value(v, d.negative, out))
        return false;
    if (inexact)
        *inexact = lost;
    return true;
}

bool osc_parse_us_to_ns(osc_str s, int64_t *ns, bool *inexact)
{
    return osc_parse_scaled(s, 3, ns, inexact);
}
