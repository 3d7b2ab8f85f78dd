/*
 * capture.c - one profiling window: its settings, its two ends, its results.
 *
 * Work belongs to a capture when it was submitted inside the window on a captured core. Queue
 * threads ask for each piece of work; what they find is one pointer, so a program that is not being
 * profiled pays a load. Stop first lets the queues run what was submitted, then takes the pointer
 * away, then waits once more until no queue thread can still hold it.
 */
#include "neuron/runtime/capture.h"

#include "artifact/manifest.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "neuron/runtime/capture_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAX_EVENTS 1000000u /* torchneuron-face.md 1.7 */

static const uint32_t all_modes =
    OSC_MODE_DEVICE | OSC_MODE_RUNTIME | OSC_MODE_CPU_UTIL | OSC_MODE_HOST_MEMORY;

/* ---- settings as text ---- */

static const char *const mode_names[] = {"DEVICE", "RUNTIME", "CPU_UTIL", "HOST_MEMORY"};

/* For trace_info.pb: every setting as one short text. */
static void list_settings(osc_capture *c, const osc_capture_options *o)
{
    static const char *const names[OSC_CAPTURE_SETTINGS] = {"modes", "capture_enabled_for_nc",
                                                            "max_events_per_nc", "neff_cache_dir"};
    size_t at[2] = {0, 0};
    for (uint32_t i = 0; i < 4; i++)
        if ((c->modes & 1u << i) != 0)
            at[0] += (size_t)snprintf(c->setting_text[0] + at[0], OSC_CAPTURE_TEXT - at[0], "%s%s",
                                      at[0] > 0 ? "," : "", mode_names[i]);
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES && at[1] + 8 < OSC_CAPTURE_TEXT; i++)
        if (c->cores[i] != NULL)
            at[1] += (size_t)snprintf(c->setting_text[1] + at[1], OSC_CAPTURE_TEXT - at[1], "%s%u",
                                      at[1] > 0 ? "," : "", i);
    (void)snprintf(c->setting_text[2], OSC_CAPTURE_TEXT, "%" PRIu64, c->max_events);
    osc_str_to_array(osc_str_from_cstr(o->neff_cache_dir), c->setting_text[3], OSC_CAPTURE_TEXT);
    for (uint32_t i = 0; i < OSC_CAPTURE_SETTINGS; i++)
        c->settings[i] =
            (osc_trace_setting){osc_str_from_cstr(names[i]), osc_str_from_cstr(c->setting_text[i])};
}

/* For run.json: the same, typed. */
static osc_status describe_settings(osc_capture *c, const osc_capture_options *o, osc_err *err)
{
    osc_buf text;
    osc_jw json;
    osc_buf_init(&text, 65536);
    osc_jw_init(&json, &text, 0);
    osc_jw_begin_obj(&json);
    osc_jw_key(&json, "modes");
    osc_jw_begin_arr(&json);
    for (uint32_t i = 0; i < 4; i++)
        if ((c->modes & 1u << i) != 0)
            osc_jw_cstr(&json, mode_names[i]);
    osc_jw_end_arr(&json);
    osc_jw_key(&json, "capture_enabled_for_nc");
    osc_jw_begin_arr(&json);
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES; i++)
        if (c->cores[i] != NULL)
            osc_jw_u64(&json, i);
    osc_jw_end_arr(&json);
    osc_jw_kv_u64(&json, "max_events_per_nc", c->max_events);
    osc_jw_kv_cstr(&json, "neff_cache_dir", o->neff_cache_dir);
    osc_jw_kv_bool(&json, "precache_node_info", o->precache);
    osc_jw_end_obj(&json);
    osc_status status = osc_buf_status(&text, "the capture settings", err);
    if (status == OSC_OK) {
        c->settings_json = osc_memdup0((const char *)text.data, text.len);
        if (c->settings_json == NULL)
            status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a capture");
    }
    osc_buf_free(&text);
    return status;
}

/* Clock and model facts of every captured core. */
static char *describe_device(const osc_capture *c)
{
    const osc_rt_config *config = &c->rt->config;
    osc_buf text;
    osc_jw json;
    osc_buf_init(&text, 1u << 20);
    osc_jw_init(&json, &text, 0);
    osc_jw_begin_obj(&json);
    osc_jw_kv_bool(&json, "simulated", true);
    osc_jw_kv_cstr(&json, "generation", osc_generation_name(config->generation));
    osc_jw_kv_cstr(&json, "instance_id", config->instance_id);
    osc_jw_kv_cstr(&json, "instance_type", config->instance_type);
    osc_jw_kv_i64(&json, "window_start_ns", c->start_ns);
    osc_jw_kv_i64(&json, "window_end_ns", c->end_ns);
    osc_jw_key(&json, "cores");
    osc_jw_begin_arr(&json);
    for (uint32_t i = 0; i < config->device_count; i++) {
        const osc_rt_device *device = osc_rt_device_peek(c->rt, i);
        if (c->cores[i] == NULL || device == NULL)
            continue;
        osc_jw_begin_obj(&json);
        osc_jw_kv_u64(&json, "nc_idx", i);
        osc_jw_kv_i64(&json, "clock_origin_ns", osc_devclock_to_host(&device->clock, 0));
        osc_jw_kv_i64(&json, "clock_drift_ppb", device->clock.drift_ppb);
        osc_jw_kv_u64(&json, "events_kept", c->cores[i]->events);
        osc_jw_kv_u64(&json, "events_dropped", c->cores[i]->dropped);
        osc_jw_end_obj(&json);
    }
    osc_jw_end_arr(&json);
    osc_jw_end_obj(&json);
    char *out = text.failed ? NULL : osc_memdup0((const char *)text.data, text.len);
    osc_buf_free(&text);
    return out;
}

/* ---- start ---- */

static void destroy(osc_capture *c)
{
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES; i++)
        if (c->cores[i] != NULL) {
            osc_free(c->cores[i]->ops);
            osc_free(c->cores[i]);
        }
    for (uint64_t i = 0; i < c->held_count; i++)
        osc_nrt_program_release(c->held[i]);
    osc_free(c->held);
    osc_free(c->ops);
    osc_free(c->dir);
    osc_free(c->device_json);
    osc_free(c->settings_json);
    osc_free(c->facts_json);
    osc_mutex_destroy(&c->held_lock);
    osc_free(c);
}

static osc_status check_options(const osc_rt *rt, const osc_capture_options *o, osc_err *err)
{
    if (o->size != sizeof *o)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "osc_capture_options.size must be sizeof(osc_capture_options)");
    if ((o->modes & ~all_modes) != 0)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "capture modes 0x%x are unknown",
                        o->modes & ~all_modes);
    if (o->modes != 0 && (o->output_dir == NULL || o->output_dir[0] == '\0'))
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "a capture with files needs an output directory");
    for (uint32_t i = 0; i < o->core_count; i++)
        if (o->cores[i] >= rt->config.device_count)
            return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                            "cannot capture core %u: this process sees cores 0 to %u", o->cores[i],
                            rt->config.device_count - 1);
    return OSC_OK;
}

static bool add_core(osc_capture *c, uint32_t index)
{
    if (c->cores[index] != NULL)
        return true;
    osc_captured_core *core = osc_calloc(1, sizeof *core);
    if (core == NULL)
        return false;
    core->capture = c;
    c->cores[index] = core;
    return true;
}

static bool add_cores(osc_capture *c, const osc_capture_options *o)
{
    bool ok = true;
    uint32_t count = o->core_count > 0 ? o->core_count : c->rt->config.device_count;
    for (uint32_t i = 0; i < count && ok; i++)
        ok = add_core(c, o->core_count > 0 ? o->cores[i] : i);
    return ok;
}

static osc_status prepare(osc_capture *c, const osc_capture_options *o, osc_err *err)
{
    if (o->facts_json != NULL)
        c->facts_json = osc_memdup0(o->facts_json, strlen(o->facts_json));
    if (!add_cores(c, o) || (o->facts_json != NULL && c->facts_json == NULL))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a capture");
    list_settings(c, o);
    osc_status status = describe_settings(c, o, err);
    if (status != OSC_OK || c->modes == 0)
        return status;
    osc_capture_setup setup = {.rt = c->rt,
                               .modes = c->modes,
                               .precache = o->precache,
                               .neffs_at_stop = o->neff_cache_dir != NULL,
                               .output_dir = o->output_dir,
                               .facts_json = c->facts_json,
                               .settings_json = c->settings_json,
                               .settings = c->settings,
                               .setting_count = OSC_CAPTURE_SETTINGS,
                               .start_ns = c->start_ns};
    status = osc_capture_files_open(&setup, &c->files, err);
    if (status != OSC_OK)
        return status;
    const char *dir = osc_capture_files_dir(c->files);
    c->dir = osc_memdup0(dir, strlen(dir));
    if (c->dir != NULL)
        return OSC_OK;
    osc_capture_outcome nothing = {.end_ns = c->start_ns};
    status = osc_capture_files_close(c->files, &nothing, NULL);
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a capture (%s)",
                    osc_status_name(status));
}

osc_status osc_capture_start(const osc_capture_options *options, osc_capture **out, osc_err *err)
{
    osc_rt *rt;
    *out = NULL;
    osc_status status = osc_rt_get(&rt, err);
    if (status == OSC_OK)
        status = check_options(rt, options, err);
    if (status != OSC_OK)
        return status;
    osc_capture *c = osc_calloc(1, sizeof *c);
    if (c == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a capture");
    osc_mutex_init(&c->held_lock);
    c->rt = rt;
    c->modes = options->modes;
    c->max_events =
        options->max_events_per_nc > 0 ? options->max_events_per_nc : DEFAULT_MAX_EVENTS;
    c->start_ns = osc_now_ns();
    atomic_store(&c->until_ns, INT64_MAX);
    osc_mutex_lock(&rt->lock);
    if (atomic_load(&rt->capture) != NULL)
        status = osc_fail(
            err, OSC_ESTATE, NULL, OSC_NO_OFFSET,
            "a capture is active in this process already; stop it before starting another");
    else
        status = prepare(c, options, err);
    if (status == OSC_OK)
        atomic_store(&rt->capture, c);
    osc_mutex_unlock(&rt->lock);
    if (status != OSC_OK) {
        destroy(c);
        return status;
    }
    *out = c;
    return OSC_OK;
}

/* ---- stop ---- */

/* Everything submitted so far has run on all devices. */
static void drain_queues(osc_rt *rt)
{
    for (uint32_t i = 0; i < rt->config.device_count; i++) {
        osc_rt_device *device = osc_rt_device_peek(rt, i);
        if (device != NULL)
            osc_queue_wait(device->queue, osc_queue_last(device->queue));
    }
}

/* The simulated end of what the window holds. */
static int64_t last_end(const osc_capture *c)
{
    int64_t last = 0;
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES; i++)
        for (uint64_t k = 0; c->cores[i] != NULL && k < c->cores[i]->count; k++)
            last = c->cores[i]->ops[k].end_ns > last ? c->cores[i]->ops[k].end_ns : last;
    return last;
}

static int by_start(const void *a, const void *b)
{
    const osc_capture_op *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* All cores' records in one array, by core, then start. */
static osc_status merge_ops(osc_capture *c, osc_err *err)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES; i++)
        total += c->cores[i] != NULL ? c->cores[i]->count : 0;
    c->ops = osc_calloc(total + 1, sizeof *c->ops);
    if (c->ops == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "no host memory for %" PRIu64 " records", total);
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES; i++) {
        osc_captured_core *core = c->cores[i];
        if (core == NULL || core->count == 0)
            continue;
        memcpy(c->ops + c->count, core->ops, core->count * sizeof *core->ops);
        qsort(c->ops + c->count, core->count, sizeof *core->ops, by_start);
        c->count += core->count;
    }
    return OSC_OK;
}

static osc_status close_files(osc_capture *c, osc_err *err)
{
    osc_trace_core cores[OSC_RT_MAX_DEVICES];
    osc_capture_outcome outcome = {
        .end_ns = c->end_ns, .cores = cores, .dropped = osc_capture_dropped(c)};
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES; i++) {
        const osc_rt_device *device = osc_rt_device_peek(c->rt, i);
        if (c->cores[i] == NULL)
            continue;
        osc_trace_core core = {.nc_idx = i,
                               .events_kept = c->cores[i]->events,
                               .events_dropped = c->cores[i]->dropped,
                               .clock_drift_ppb = c->rt->config.clock_drift_ppb};
        if (device != NULL)
            core.clock_origin_ns = osc_devclock_to_host(&device->clock, 0);
        cores[outcome.core_count++] = core;
    }
    osc_status status = osc_capture_files_close(c->files, &outcome, err);
    c->files = NULL;
    return status;
}

/* Needs rt->lock. */
static osc_status finish(osc_capture *c, osc_err *err)
{
    osc_rt *rt = c->rt;
    osc_status files = OSC_OK;
    if (c->stopped)
        return OSC_OK;
    c->stopped = true;
    atomic_store(&c->until_ns, osc_now_ns());
    drain_queues(rt);
    osc_sleep_until_ns(last_end(c));
    c->end_ns = osc_now_ns();
    atomic_store(&rt->capture, NULL);
    drain_queues(rt); /* a queue thread may have picked the capture up just before */
    osc_status status = merge_ops(c, err);
    c->device_json = describe_device(c);
    if (c->files != NULL)
        files = close_files(c, status == OSC_OK ? err : NULL);
    return status != OSC_OK ? status : files;
}

osc_status osc_capture_stop(osc_capture *capture, osc_err *err)
{
    if (osc_nrt_in_bad_fork())
        return osc_fail(err, OSC_ESTATE, NULL, OSC_NO_OFFSET,
                        "the capture belongs to the parent process, which completes it");
    osc_mutex_lock(&capture->rt->lock);
    osc_status status = finish(capture, err);
    osc_mutex_unlock(&capture->rt->lock);
    return status;
}

void osc_capture_finish_active(osc_rt *rt)
{
    osc_err err = {0};
    osc_mutex_lock(&rt->lock);
    osc_capture *active = atomic_load(&rt->capture);
    if (active != NULL && finish(active, &err) != OSC_OK)
        osc_log(OSC_LOG_WARN, "capture: %s", err.message);
    osc_mutex_unlock(&rt->lock);
}

/* ---- results ---- */

const char *osc_capture_dir(const osc_capture *capture)
{
    return capture->dir != NULL ? capture->dir : "";
}

const osc_capture_op *osc_capture_ops(const osc_capture *capture, uint64_t *count)
{
    *count = capture->count;
    return capture->ops;
}

uint64_t osc_capture_dropped(const osc_capture *capture)
{
    uint64_t dropped = 0;
    for (uint32_t i = 0; i < OSC_RT_MAX_DEVICES; i++)
        dropped += capture->cores[i] != NULL ? capture->cores[i]->dropped : 0;
    return dropped;
}

const char *osc_capture_device_json(const osc_capture *capture)
{
    return capture->device_json != NULL ? capture->device_json : "{}";
}

void osc_capture_release(osc_capture *capture)
{
    osc_err err = {0};
    if (capture == NULL || osc_nrt_in_bad_fork())
        return;
    if (osc_capture_stop(capture, &err) != OSC_OK)
        osc_log(OSC_LOG_WARN, "capture: %s", err.message);
    destroy(capture);
}

osc_status osc_capture_write_manifest(const char *dir, const char *facts_json, osc_err *err)
{
    return osc_manifest_refresh(dir, facts_json, err);
}
