/*
 * sat.h - sums that stop at the ends of int64.
 *
 * Single times are bounded by the store; sums over many events, and byte counts, are not. A sum that
 * reaches the end is wrong anyway, and must not wrap into a small number.
 */
#ifndef OSC_ANALYSIS_SAT_H
#define OSC_ANALYSIS_SAT_H

#include "base/mem.h"

#include <stdint.h>

static inline int64_t osc_add_sat(int64_t a, int64_t b)
{
    int64_t sum;
    return osc_add_i64(a, b, &sum) ? sum : b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t osc_sub_sat(int64_t a, int64_t b)
{
    int64_t difference;
    return osc_sub_i64(a, b, &difference) ? difference : b < 0 ? INT64_MAX : INT64_MIN;
}

#endif
