/*
 * device.c - one logical core as the runtime sees it: memory, queue, core, clock, streams.
 *
 * A device is opened by the first call that names it, so a process that uses one core of a machine
 * with 64 pays for one. It is never closed before the process ends; shutdown only ends its thread.
 */
#include "neuron/runtime/program.h"
#include "neuron/runtime/rt.h"

#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

/* Page trimming takes its turn in the queue: older work may still read the freed range. */
static bool trim_later(void *context, uint64_t offset, uint64_t bytes)
{
    osc_rt_device *device = context;
    uint64_t ticket;
    osc_work *work = device->queue != NULL ? osc_queue_try_reserve(device->queue, &ticket) : NULL;
    if (work == NULL)
        return false;
    work->kind = OSC_RT_WORK_TRIM;
    work->stream = NULL;
    work->u.trim.offset = offset;
    work->u.trim.bytes = bytes;
    osc_queue_commit(device->queue, ticket);
    return true;
}

/* Freed device memory may hold on to an eighth of the host's RAM. */
static uint64_t cache_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t eighth = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 8 : 0;
    return eighth > OSC_DEVMEM_CACHE_BYTES ? eighth : OSC_DEVMEM_CACHE_BYTES;
}

static osc_status open_parts(osc_rt_device *device, osc_err *err)
{
    const osc_rt_config *config = &device->rt->config;
    osc_core_options options = {.size = sizeof options, .check_hazards = config->check_hazards};
    char name[16];
    osc_rt_stream *stream;
    osc_status status = osc_devmem_open(device->index, config->hbm_bytes, &device->memory, err);
    if (status != OSC_OK)
        return status;
    device->core = osc_core_new(&config->sheet, &options);
    if (device->core == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for device %d",
                        device->index);
    status = osc_rt_stream_new(device, 0, &stream, err);
    if (status != OSC_OK)
        return status;
    assert(stream->id == 0);
    (void)snprintf(name, sizeof name, "osc-nc%d", device->index);
    osc_devmem_set_cache_limit(device->memory, cache_limit());
    osc_devmem_set_trim(device->memory, trim_later, device);
    return osc_queue_open(name, osc_rt_run, device, &device->queue, err);
}

static void discard(osc_rt_device *device)
{
    osc_free(atomic_load(&device->streams[0]));
    osc_core_free(device->core);
    osc_devmem_close(device->memory);
    osc_mutex_destroy(&device->lock);
    osc_free(device);
}

/* Needs rt->lock. */
static osc_status open_device(osc_rt *rt, uint32_t index, osc_rt_device **out, osc_err *err)
{
    osc_rt_device *device = osc_calloc(1, sizeof *device);
    if (device == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for device %u",
                        index);
    device->rt = rt;
    device->index = (int32_t)index;
    osc_mutex_init(&device->lock);
    device->clock = (osc_devclock){.opened_ns = osc_now_ns(),
                                   .offset_ns = rt->config.clock_offset_ns,
                                   .drift_ppb = rt->config.clock_drift_ppb};
    osc_status status = open_parts(device, err);
    if (status != OSC_OK) {
        discard(device);
        return status;
    }
    atomic_store(&rt->devices[index], device);
    *out = device;
    return OSC_OK;
}

osc_rt_device *osc_rt_device_peek(osc_rt *rt, uint32_t index)
{
    assert(index < OSC_RT_MAX_DEVICES);
    return atomic_load_explicit(&rt->devices[index], memory_order_acquire);
}

osc_status osc_rt_device_get(int32_t index, osc_rt_device **out, osc_err *err)
{
    osc_rt *rt;
    *out = NULL;
    osc_status status = osc_rt_get(&rt, err);
    if (status != OSC_OK)
        return status;
    if (index < 0 || (uint32_t)index >= rt->config.device_count)
        return osc_fail(
            err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
            "Invalid device id: %d. Valid range is 0 to %u (NEURON_RT_NUM_CORES sets how many "
            "there are)",
            index, rt->config.device_count - 1);
    *out = osc_rt_device_peek(rt, (uint32_t)index);
    if (*out != NULL)
        return OSC_OK;
    osc_mutex_lock(&rt->lock);
    *out = osc_rt_device_peek(rt, (uint32_t)index);
    if (*out == NULL)
        status = open_device(rt, (uint32_t)index, out, err);
    osc_mutex_unlock(&rt->lock);
    return status;
}

void osc_rt_device_stop(osc_rt_device *device)
{
    osc_queue_close(device->queue);
    osc_program_run_unloads(device);
}

/* ---- public: memory ---- */

osc_status osc_nrt_alloc(int32_t device, int64_t stream, uint64_t bytes, void **out, osc_err *err)
{
    osc_rt_stream *on;
    *out = NULL;
    osc_status status = osc_rt_stream_get(device, stream, &on, err);
    if (status != OSC_OK || bytes == 0)
        return status;
    return osc_devmem_alloc(on->device->memory, bytes, out, err);
}

static osc_rt_device *owner_of(const void *address)
{
    osc_rt *rt = osc_rt_peek();
    if (rt == NULL || address == NULL)
        return NULL;
    for (uint32_t i = 0; i < rt->config.device_count; i++) {
        osc_rt_device *device = osc_rt_device_peek(rt, i);
        if (device != NULL && osc_devmem_owns(device->memory, address, 0))
            return device;
    }
    return NULL;
}

void osc_nrt_free(void *address)
{
    osc_rt_device *device = owner_of(address);
    if (device != NULL && !osc_devmem_free(device->memory, address))
        osc_log(OSC_LOG_WARN, "free of %p on device %d: not the start of a block in use, ignored",
                address, device->index);
}

int32_t osc_nrt_device_of(const void *address)
{
    const osc_rt_device *device = owner_of(address);
    return device != NULL ? device->index : -1;
}

osc_status osc_nrt_memory_stats(int32_t device, osc_nrt_memory *out, osc_err *err)
{
    osc_rt_device *d;
    if (out == NULL || out->size != sizeof *out)
        return osc_fail(
            err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
            "osc_nrt_memory.size must be sizeof(osc_nrt_memory): caller and library disagree");
    osc_status status = osc_rt_device_get(device, &d, err);
    if (status == OSC_OK)
        osc_devmem_stats(d->memory, out);
    return status;
}

void osc_nrt_memory_reset_peak(int32_t device)
{
    osc_rt_device *d;
    if (osc_rt_device_get(device, &d, NULL) == OSC_OK)
        osc_devmem_reset_peak(d->memory);
}

void osc_nrt_memory_reset_totals(int32_t device)
{
    osc_rt_device *d;
    if (osc_rt_device_get(device, &d, NULL) == OSC_OK)
        osc_devmem_reset_totals(d->memory);
}

void osc_nrt_empty_cache(void)
{
    osc_rt *rt = osc_rt_peek();
    for (uint32_t i = 0; rt != NULL && i < rt->config.device_count; i++) {
        osc_rt_device *device = osc_rt_device_peek(rt, i);
        if (device != NULL)
            osc_devmem_empty_cache(device->memory);
    }
}
