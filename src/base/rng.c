/*
 * rng.c - see rng.h.
 */
#include "base/rng.h"

uint64_t osc_rng_next(osc_rng *r)
{
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = r->state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t osc_rng_below(osc_rng *r, uint64_t bound)
{
    if (bound == 0)
        return 0;
    /* values below 2^64 mod bound would make small results likelier */
    uint64_t unfair = (0 - bound) % bound;
    uint64_t v;
    do {
        v = osc_rng_next(r);
    } while (v < unfair);
    return v % bound;
}

double osc_rng_unit(osc_rng *r)
{
    return (double)(osc_rng_next(r) >> 11) * 0x1p-53;
}

double osc_rng_normal(osc_rng *r)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += osc_rng_unit(r);
    return sum;
}

void osc_rng_bytes(osc_rng *r, void *out, size_t n)
{
    unsigned char *p = out;
    while (n > 0) {
        uint64_t v = osc_rng_next(r);
        for (size_t i = 0; i < sizeof v && n > 0; i++, n--)
            *p++ = (unsigned char)(v >> (8 * i));
    }
}
