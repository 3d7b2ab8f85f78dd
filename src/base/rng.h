/*
 * rng.h - repeatable random numbers for tests and generators of test data.
 *
 * splitmix64: state in, next state out. Not for secrets.
 */
#ifndef OSC_BASE_RNG_H
#define OSC_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct osc_rng {
    uint64_t state; /* any value is a good seed */
} osc_rng;

/* Next 64 random bits. */
uint64_t osc_rng_next(osc_rng *r);

/* Uniform in [0, bound), without bias; bound 0 gives 0. */
uint64_t osc_rng_below(osc_rng *r, uint64_t bound);

/* Uniform in [0, 1) with 53 bits. */
double osc_rng_unit(osc_rng *r);

/* Approximately standard normal (sum of 12 uniforms less 6): enough for test data. */
double osc_rng_normal(osc_rng *r);

/* n random bytes. */
void osc_rng_bytes(osc_rng *r, void *out, size_t n);

#endif
