/*
 * clock.c - host time to device time and back, in integers.
 *
 * Doubles would do for display, but the sum of an execution's parts must equal its interval to the
 * nanosecond, and 1.7e18 ns do not fit 53 bits. So the drift is taken per second and remainder,
 * which stays exact in 64 bits, and the inverse corrects its first guess.
 */
#include "neuron/runtime/clock.h"

#include <assert.h>

#define SECOND INT64_C(1000000000)

/* d * ppb / 1e9, rounded toward 0 within each second; monotone in d for |ppb| < 1e9. */
static int64_t drift_of(int64_t d, int64_t ppb)
{
    assert(ppb > -SECOND && ppb < SECOND);
    return d / SECOND * ppb + d % SECOND * ppb / SECOND;
}

int64_t osc_devclock_to_dev(const osc_devclock *clock, int64_t host_ns)
{
    int64_t d = host_ns - clock->opened_ns;
    return clock->offset_ns + d + drift_of(d, clock->drift_ppb);
}

int64_t osc_devclock_to_host(const osc_devclock *clock, int64_t dev_ns)
{
    int64_t shown = dev_ns - clock->offset_ns;
    int64_t d = shown - drift_of(shown, clock->drift_ppb);
    /* Each round leaves the drift's share (at most 1e-3) of the error: six reach 1 ns from any
     * distance. */
    for (int round = 0; round < 6; round++)
        d += shown - d - drift_of(d, clock->drift_ppb);
    while (d + drift_of(d, clock->drift_ppb) < shown)
        d++;
    while (d - 1 + drift_of(d - 1, clock->drift_ppb) >= shown)
        d--;
    return clock->opened_ns + d;
}
