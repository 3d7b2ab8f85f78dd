/*
 * sampler.h - the load of the host while a capture runs: cpu_util.pb and host_mem.pb.
 */
#ifndef OSC_NEURON_RUNTIME_SAMPLER_H
#define OSC_NEURON_RUNTIME_SAMPLER_H

#include "base/status.h"

#include <stdbool.h>

typedef struct osc_sampler osc_sampler;

/*
 * Creates the wanted files in dir, takes a first sample and starts a thread that takes one a
 * second. dir must outlive the sampler. *out NULL on failure.
 */
osc_status osc_sampler_start(const char *dir, bool cpu, bool memory, osc_sampler **out,
                             osc_err *err) OSC_MUST_CHECK;

/*
 * Takes a last sample, completes the files, frees the sampler; NULL allowed. The first failure of
 * the whole run is returned (a full disk); samples that fitted are kept.
 */
osc_status osc_sampler_stop(osc_sampler *sampler, osc_err *err) OSC_MUST_CHECK;

#endif
