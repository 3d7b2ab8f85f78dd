/*
 * launch.c - one uniform launch model; its parameters are sheet values, no operator is special.
 *
 * Noise: published per-call times scatter by about 32 us around the model. The default sheets have
 * sigma 0, because a simulation that repeats to the nanosecond is worth more than one that looks
 * real. With sigma set the deviation is drawn from the seed, cut at two sigma, and never makes
 * submit negative.
 */
#include "neuron/runtime/launch.h"

#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static int64_t ns_of_us(double us)
{
    return llround(us * 1000.0);
}

static void add(osc_launch *out, osc_str name, int64_t ns)
{
    if (ns <= 0)
        return;
    assert(out->count < OSC_LAUNCH_PARTS);
    out->parts[out->count++] = (osc_launch_part){.name = name, .ns = ns, .fitted = true};
    out->total_ns += ns;
}

static int64_t noise(double sigma_us, uint64_t seed)
{
    osc_rng rng = {.state = seed};
    double z = osc_rng_normal(&rng);
    z = z > 2.0 ? 2.0 : z < -2.0 ? -2.0 : z;
    return ns_of_us(z * sigma_us);
}

void osc_launch_model(const osc_sheet *sheet, const osc_launch_facts *facts, osc_launch *out)
{
    const osc_sheet *s = sheet;
    bool c = facts->captured;
    memset(out, 0, sizeof *out);
    double sigma = c ? s->launch_sigma_us : s->sync_sigma_us;
    int64_t submit = ns_of_us(c ? s->launch_submit_us : s->sync_submit_us);
    if (sigma > 0) {
        submit += noise(sigma, facts->seed);
        submit = submit > 0 ? submit : 0;
    }
    add(out, OSC_STR("dispatch"), ns_of_us(c ? s->launch_dispatch_us : s->sync_dispatch_us));
    add(out, OSC_STR("lookup"), ns_of_us(c ? s->launch_lookup_us : s->sync_lookup_us));
    add(out, OSC_STR("alloc"),
        (int64_t)facts->outputs * ns_of_us(c ? s->launch_alloc_us : s->sync_alloc_us));
    add(out, OSC_STR("submit"), submit);
    if (facts->switched)
        add(out, OSC_STR("switch"), ns_of_us(c ? s->launch_switch_us : s->sync_switch_us));
    add(out, OSC_STR("notify"), ns_of_us(c ? s->launch_notify_us : s->sync_notify_us));
    add(out, OSC_STR("profiling"), ns_of_us(c ? s->launch_prof_us : s->sync_prof_us));
}
