/*
 * sat.h - sums that stop at the ends of their type.
 *
 * Single times are bounded by the store; sums over many events, and byte counts, are not. A sum
 * that reaches the end is wrong anyway, and must not wrap into a small number. Inline, because
 * key_averages adds half a dozen figures for each event.
 */
#ifndef OSC_ANALYSIS_SAT_H
#define OSC_ANALYSIS_SAT_H

#include <stdint.h>

static inline int64_t osc_add_sat(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t osc_sub_sat(int64_t a, int64_t b)
{
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : b < 0 ? INT64_MAX : INT64_MIN;
}

/* Adds to a sum of sizes or counts. */
static inline void osc_grow_sat(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = UINT64_MAX;
}

/* A size or count as a cell of a table. */
static inline int64_t osc_i64_sat(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

#endif
