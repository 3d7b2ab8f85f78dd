/*
 * kineto_fast_numbers.h - digits and texts, 8 and 64 bytes at a time; included by
 * kineto_fast_args.h.
 *
 * Little-endian only, as all of the fast reader. Up to OSC_FEED_FRONT bytes before and OSC_FEED_PAD
 * behind what is looked at are loaded and masked.
 */
#ifndef OSC_READ_KINETO_FAST_NUMBERS_H
#define OSC_READ_KINETO_FAST_NUMBERS_H

#include "scope/read/kineto_fast_internal.h"

#include "base/jsonpattern.h"

/* ---- numbers ---- */

/* How many of the 8 bytes in w, from the lowest on, are digits. */
static inline unsigned digit_count(uint64_t w)
{
    uint64_t d = w ^ UINT64_C(0x3030303030303030);
    uint64_t other = (d + UINT64_C(0x0606060606060606)) | d;
    other &= UINT64_C(0xf0f0f0f0f0f0f0f0);
    return other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
}

/* Value of the first n digits in w, n from 1 to 8. */
static inline uint64_t digits_value(uint64_t w, unsigned n)
{
    uint64_t d = (w ^ UINT64_C(0x3030303030303030)) << (64 - 8 * n);
    d = d * 10 + (d >> 8);
    return (((d & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
            (((d >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
           32;
}

/* 1 to 16 digits at p. The byte behind them, or NULL when there are more or none. */
static inline const char *take_digits(const char *p, uint64_t *value)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    uint64_t w = osc_fast_load(p, 8);
    unsigned n = digit_count(w);
    if (n < 8) {
        if (n == 0)
            return NULL;
        *value = digits_value(w, n);
        return p + n;
    }
    uint64_t high = digits_value(w, 8);
    w = osc_fast_load(p + 8, 8);
    n = digit_count(w);
    *value = n ? high * powers[n] + digits_value(w, n) : high;
    if (n == 8 && (unsigned char)(p[16] - '0') < 10)
        return NULL;
    return p + 8 + n;
}

/* Microseconds as ns: digits, then perhaps a point and 1 to 3 more. */
static inline const char *take_time(const char *p, int64_t *ns, uint32_t *fraction)
{
    static const uint16_t scale[] = {0, 100, 10, 1};
    uint64_t whole, part = 0;
    p = take_digits(p, &whole);
    if (!p || whole > UINT64_C(9000000000000000))
        return NULL;
    *fraction = 0;
    if (*p == '.') {
        uint64_t w = osc_fast_load(p + 1, 8);
        unsigned n = digit_count(w);
        if (n == 0 || n > 3)
            return NULL;
        part = digits_value(w, n) * scale[n];
        *fraction = 1u << n;
        if ((char)w == '0')
            *fraction |= OSC_FRACTION_LEAD;
        if (p[n] == '0')
            *fraction |= OSC_FRACTION_TRAIL;
        p += n + 1;
    }
    *ns = (int64_t)(whole * 1000 + part);
    return p;
}

/* 1 where every byte of d is a digit's value. */
static inline bool all_digits(uint64_t d)
{
    return (((d + UINT64_C(0x7676767676767676)) | d) & UINT64_C(0x8080808080808080)) == 0;
}

/* Value of 8 digits given as their values, the first in the lowest byte. */
static inline uint64_t eight_value(uint64_t d)
{
    d = d * 10 + (d >> 8);
    return (((d & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
            (((d >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
           32;
}

/* Value of n digits (1 to 16) at p; false when they are not all digits. Nothing that follows
 * depends on them. */
static inline bool digits_of(const char *p, unsigned n, uint64_t *value)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t low = osc_fast_load(p + n - 8, 8) ^ zeros, high = 0;
    if (n < 8)
        low &= ~UINT64_C(0) << (64 - 8 * n);
    else if (n > 8)
        high = (osc_fast_load(p + n - 16, 8) ^ zeros) & ~UINT64_C(0) << (128 - 8 * n);
    *value = eight_value(low) + (n > 8 ? eight_value(high) * 100000000 : 0);
    return all_digits(low) && all_digits(high);
}

/* Value of n (1 to 16) bytes at p that are digits. */
static inline uint64_t digits_there(const char *p, unsigned n)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t low = osc_fast_load(p + n - 8, 8) ^ zeros;
    if (n <= 8)
        return eight_value(low & ~UINT64_C(0) << (64 - 8 * n));
    uint64_t high = (osc_fast_load(p + n - 16, 8) ^ zeros) & ~UINT64_C(0) << (128 - 8 * n);
    return eight_value(low) + eight_value(high) * 100000000;
}

/*
 * The same as take_time for n digits (at most 15), a point and 3 digits; NULL when that is not what
 * p has. What comes behind lies at p + n + 4 whatever the digits are, so the processor need not
 * wait for them to go on.
 */
static inline const char *take_time_of(const char *p, unsigned n, int64_t *ns, uint32_t *fraction)
{
    uint64_t whole;
    uint32_t tail;
    memcpy(&tail, p + n, 4);
    tail ^= UINT32_C(0x3030302e);
    if (!digits_of(p, n, &whole) || !all_digits(tail) || (tail & 0xff) != 0)
        return NULL;
    uint32_t part = (tail >> 8 & 0xff) * 100 + (tail >> 16 & 0xff) * 10 + (tail >> 24);
    *fraction = OSC_FRACTION_3 | (part < 100 ? OSC_FRACTION_LEAD : 0) |
                (tail >> 24 == 0 ? OSC_FRACTION_TRAIL : 0);
    *ns = (int64_t)(whole * 1000 + part);
    return p + n + 4;
}

/* A start: as many digits as the last one had, else whatever is there. */
static inline const char *take_start(osc_fast *f, const char *p, int64_t *ns, uint32_t *fraction)
{
    unsigned n = f->time_digits;
    const char *end = n ? take_time_of(p, n, ns, fraction) : NULL;
    if (end)
        return end;
    end = take_time(p, ns, fraction);
    if (end && (*fraction & OSC_FRACTION_3) && end - p >= 5 && end - p <= 19)
        f->time_digits = (uint32_t)(end - p - 4);
    return end;
}

/* A length: its digits differ from event to event. */
static inline const char *take_length(const char *p, int64_t *ns, uint32_t *fraction)
{
    unsigned n = digit_count(osc_fast_load(p, 8));
    const char *end = n - 1 < 7 ? take_time_of(p, n, ns, fraction) : NULL;
    return end ? end : take_time(p, ns, fraction);
}

/* An integer argument, perhaps as a text, with one of , } or white space behind it. */
static inline bool take_integer(const char *p, int64_t *out)
{
    uint64_t value;
    bool text = *p == '"', negative = p[text] == '-';
    p = take_digits(p + text + negative, &value);
    if (!p || (text && *p++ != '"'))
        return false;
    if (!(*p == ',' || *p == '}' || *p == '\n' || *p == ' ' || *p == '\r' || *p == '\t'))
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* ---- texts ---- */

/* The quote that ends a text whose first byte is p; NULL when it holds a backslash or does not
 * end. */
static inline const char *text_end(const char *p, const char *limit)
{
    for (; p < limit; p += 64) {
        uint64_t ends = osc_jsonbits_text_ends(p);
        if (ends) {
            p += osc_jsonbits_first(ends);
            return *p == '"' ? p : NULL;
        }
    }
    return NULL;
}

#endif
