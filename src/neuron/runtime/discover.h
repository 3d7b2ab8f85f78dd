/*
 * discover.h - which virtual machine this process sees: read from the environment, once.
 */
#ifndef OSC_NEURON_RUNTIME_DISCOVER_H
#define OSC_NEURON_RUNTIME_DISCOVER_H

#include "base/status.h"
#include "isa/sheet.h"

#include <stdbool.h>
#include <stdint.h>

#define OSC_RT_MAX_DEVICES 128u
#define OSC_RT_PATH_MAX    4096u

/* Plain value, no owner. Every field comes from one environment variable or its default. */
typedef struct osc_rt_config {
    osc_generation generation;       /* OPSCOPE_INSTANCE_TYPE */
    char instance_type[16];          /* "trn2" */
    char instance_id[64];            /* OPSCOPE_INSTANCE_ID, or "i-local-" and a hash of the host */
    uint32_t device_count;           /* NEURON_RT_VISIBLE_CORES, NEURON_RT_NUM_CORES, or one chip */
    uint64_t hbm_bytes;              /* OPSCOPE_HBM_BYTES, or the sheet's; per device, whole MiB */
    osc_sheet sheet;                 /* the generation's, with the changes of OPSCOPE_SHEET */
    bool launch_blocking;            /* NEURON_LAUNCH_BLOCKING */
    bool timing_only;                /* OPSCOPE_TIMING_ONLY */
    bool check_hazards;              /* OPSCOPE_CHECK_HAZARDS */
    bool disk_cache;                 /* not TORCH_NEURONX_DISABLE_NEFF_CACHE */
    char cache_dir[OSC_RT_PATH_MAX]; /* TORCH_NEURONX_NEFF_CACHE_DIR */
    int64_t clock_offset_ns;         /* OPSCOPE_CLOCK_OFFSET_NS */
    int64_t clock_drift_ppb;         /* OPSCOPE_CLOCK_DRIFT_PPB */
} osc_rt_config;

/*
 * Reads the environment into *config. OSC_EINVAL names the variable, its value and what is allowed.
 * Not while another thread changes the environment.
 */
osc_status osc_rt_discover(osc_rt_config *config, osc_err *err) OSC_MUST_CHECK;

#endif
