/*
 * discover.c - the virtual machine, from the environment.
 *
 * There is no hardware to ask, so what an instance is comes from variables: its type picks the
 * parameter sheet, the core variables of the vendor's runtime pick how many logical cores are seen.
 * Without them the machine is one chip of a trn2. A wrong value is an error, never a silent
 * default: a profile taken on another machine than the one asked for would be worse than none.
 *
 * Refuses to create anything: no thread, no memory. Source: torchneuron-face.md 1.7,
 * neuroncore-model.md 1.1.
 */
#include "neuron/runtime/discover.h"

#include "base/hash.h"
#include "base/num.h"
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB           (UINT64_C(1) << 20)
#define MAX_DRIFT_PPB 1000000 /* 0.1 %: an oscillator that far off is broken */

/* Logical cores of one chip at the default LNC (neuroncore-model.md 1.1). */
static const uint32_t chip_cores[OSC_GENERATIONS] = {
    [OSC_TRN1] = 2, [OSC_TRN2] = 4, [OSC_TRN3] = 4};

/* The variable's value, the empty view when unset or empty. */
static osc_str env(const char *name)
{
    return osc_str_trim(osc_str_from_cstr(getenv(name)));
}

static osc_status bad_value(osc_err *err, const char *name, osc_str value, const char *allowed)
{
    return osc_fail(err, OSC_EINVAL, name, OSC_NO_OFFSET, "%s=\"%.*s\" is not usable: set it to %s",
                    name, OSC_STR_FMT(value), allowed);
}

static osc_status env_bool(const char *name, bool *out, osc_err *err)
{
    osc_str value = env(name);
    if (value.len == 0 || osc_parse_bool(value, out))
        return OSC_OK;
    return bad_value(err, name, value, "0 or 1");
}

static osc_status env_i64(const char *name, int64_t min, int64_t max, int64_t *out, osc_err *err)
{
    osc_str value = env(name);
    int64_t number;
    if (value.len == 0)
        return OSC_OK;
    if (osc_parse_i64(value, &number) && number >= min && number <= max) {
        *out = number;
        return OSC_OK;
    }
    char allowed[96];
    (void)snprintf(allowed, sizeof allowed, "an integer from %lld to %lld", (long long)min,
                   (long long)max);
    return bad_value(err, name, value, allowed);
}

/* "trn2" or "trn2.48xlarge": the family decides. */
static osc_status read_instance(osc_rt_config *config, osc_err *err)
{
    osc_str value = env("OPSCOPE_INSTANCE_TYPE");
    osc_str family = value, rest = value;
    if (value.len == 0)
        family = OSC_STR("trn2");
    else
        (void)osc_str_split(&rest, '.', &family);
    char name[16];
    osc_str_to_array(family, name, sizeof name);
    if (osc_generation_parse(name, &config->generation, NULL) != OSC_OK)
        return bad_value(err, "OPSCOPE_INSTANCE_TYPE", value, "trn1, trn2, trn3 or inf2");
    memcpy(config->instance_type, name, sizeof name);
    config->sheet = *osc_sheet_default(config->generation);
    return OSC_OK;
}

/* Marks cores lo..hi; false when one is out of range or named twice. */
static bool mark_cores(uint64_t lo, uint64_t hi, bool seen[OSC_RT_MAX_DEVICES], uint32_t *count)
{
    if (lo > hi || hi >= OSC_RT_MAX_DEVICES)
        return false;
    for (uint64_t i = lo; i <= hi; i++) {
        if (seen[i])
            return false;
        seen[i] = true;
        (*count)++;
    }
    return true;
}

/* "0,2-3" -> 3 cores. Devices are numbered 0.. in the process, as the vendor's virtual cores
 * are. */
static bool count_cores(osc_str list, uint32_t *count)
{
    bool seen[OSC_RT_MAX_DEVICES] = {false};
    osc_str item;
    *count = 0;
    while (osc_str_split(&list, ',', &item)) {
        item = osc_str_trim(item);
        size_t dash = osc_str_find_char(item, '-', 0);
        uint64_t lo, hi;
        osc_str first = dash == SIZE_MAX ? item : osc_str_sub(item, 0, dash);
        osc_str last = dash == SIZE_MAX ? item : osc_str_sub(item, dash + 1, item.len);
        if (!osc_parse_u64(osc_str_trim(first), &lo) || !osc_parse_u64(osc_str_trim(last), &hi) ||
            !mark_cores(lo, hi, seen, count))
            return false;
    }
    return *count > 0;
}

static osc_status read_cores(osc_rt_config *config, osc_err *err)
{
    config->device_count = chip_cores[config->generation];
    osc_str visible = env("NEURON_RT_VISIBLE_CORES");
    if (visible.len > 0) {
        if (count_cores(visible, &config->device_count))
            return OSC_OK;
        return bad_value(err, "NEURON_RT_VISIBLE_CORES", visible,
                         "core numbers below 128 and ranges, each once, such as 0,2-3");
    }
    int64_t number = config->device_count;
    osc_status status = env_i64("NEURON_RT_NUM_CORES", 1, OSC_RT_MAX_DEVICES, &number, err);
    config->device_count = (uint32_t)number;
    return status;
}

static osc_status read_sheet_changes(osc_rt_config *config, osc_err *err)
{
    osc_str list = env("OPSCOPE_SHEET"), item;
    while (osc_str_split(&list, ',', &item)) {
        size_t equals = osc_str_find_char(item, '=', 0);
        char name[64];
        double value;
        if (equals == SIZE_MAX ||
            !osc_parse_f64(osc_str_trim(osc_str_sub(item, equals + 1, item.len)), &value))
            return bad_value(err, "OPSCOPE_SHEET", item, "name=number pairs separated by commas");
        osc_str_to_array(osc_str_trim(osc_str_sub(item, 0, equals)), name, sizeof name);
        osc_status status = osc_sheet_set(&config->sheet, name, value, err);
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}

static osc_status read_memory(osc_rt_config *config, osc_err *err)
{
    osc_str value = env("OPSCOPE_HBM_BYTES");
    config->hbm_bytes = (uint64_t)config->sheet.hbm_bytes;
    if (value.len > 0 && (!osc_parse_size(value, &config->hbm_bytes) || config->hbm_bytes < MIB ||
                          config->hbm_bytes > (UINT64_C(1) << 40)))
        return bad_value(err, "OPSCOPE_HBM_BYTES", value, "a size from 1M to 1024G");
    config->hbm_bytes -= config->hbm_bytes % MIB;
    assert(config->hbm_bytes >= MIB);
    return OSC_OK;
}

/* Stable on one host, different between hosts that share a file system. */
static void name_instance(osc_rt_config *config)
{
    osc_str value = env("OPSCOPE_INSTANCE_ID");
    if (value.len > 0 && memchr(value.ptr, '/', value.len) == NULL) {
        osc_str_to_array(value, config->instance_id, sizeof config->instance_id);
        return;
    }
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    uint64_t hash = osc_hash64(host, strlen(host), 0);
    (void)snprintf(config->instance_id, sizeof config->instance_id, "i-local-%08x",
                   (unsigned)(hash & UINT32_MAX));
}

static osc_status read_cache(osc_rt_config *config, osc_err *err)
{
    bool off = false, off_too = false; /* both spellings exist: torchneuron-face.md 1.7 */
    osc_str dir = env("TORCH_NEURONX_NEFF_CACHE_DIR");
    osc_status status = env_bool("TORCH_NEURONX_DISABLE_NEFF_CACHE", &off, err);
    if (status == OSC_OK)
        status = env_bool("TORCH_NEURONX_NEFF_DISABLE_CACHE", &off_too, err);
    if (status != OSC_OK)
        return status;
    config->disk_cache = !off && !off_too;
    if (dir.len >= OSC_RT_PATH_MAX / 2)
        return bad_value(err, "TORCH_NEURONX_NEFF_CACHE_DIR", osc_str_sub(dir, 0, 40),
                         "a path under 2,048 bytes");
    osc_str_to_array(dir.len > 0 ? dir : OSC_STR("/tmp/neff_cache"), config->cache_dir,
                     sizeof config->cache_dir);
    return OSC_OK;
}

static osc_status read_switches(osc_rt_config *config, osc_err *err)
{
    osc_status status = env_bool("NEURON_LAUNCH_BLOCKING", &config->launch_blocking, err);
    if (status == OSC_OK)
        status = env_bool("OPSCOPE_TIMING_ONLY", &config->timing_only, err);
    if (status == OSC_OK)
        status = env_bool("OPSCOPE_CHECK_HAZARDS", &config->check_hazards, err);
    if (status == OSC_OK)
        status = env_i64("OPSCOPE_CLOCK_OFFSET_NS", -INT64_C(1000000000000000000),
                         INT64_C(1000000000000000000), &config->clock_offset_ns, err);
    if (status == OSC_OK)
        status = env_i64("OPSCOPE_CLOCK_DRIFT_PPB", -MAX_DRIFT_PPB, MAX_DRIFT_PPB,
                         &config->clock_drift_ppb, err);
    return status;
}

osc_status osc_rt_discover(osc_rt_config *config, osc_err *err)
{
    memset(config, 0, sizeof *config);
    osc_status (*const steps[])(osc_rt_config *, osc_err *) = {
        read_instance, read_cores, read_sheet_changes, read_memory, read_cache, read_switches};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        osc_status status = steps[i](config, err);
        if (status != OSC_OK)
            return status;
    }
    name_instance(config);
    return OSC_OK;
}
