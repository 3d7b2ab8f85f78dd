/*
 * stream.c - streams: an order of work, a simulated end, and the first error.
 *
 * All streams of a device share its queue, so their values are computed in submission order
 * whatever the program does. What differs by stream is simulated time: work starts when its
 * stream's earlier work has ended and the engine it needs (core or copy lane) is free.
 *
 * An error of asynchronous work is kept with its stream and returned once, by the next call that
 * waits (torchneuron-face.md 3.2): the first one, since later ones usually follow from it.
 */
#include "neuron/runtime/rt.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

osc_status osc_rt_stream_new(osc_rt_device *device, int32_t priority, osc_rt_stream **out,
                             osc_err *err)
{
    *out = NULL;
    osc_rt_stream *stream = osc_calloc(1, sizeof *stream);
    if (stream == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a stream");
    stream->device = device;
    stream->priority = priority;
    osc_mutex_lock(&device->lock);
    uint32_t id = atomic_load(&device->stream_count);
    if (id < OSC_RT_MAX_STREAMS) {
        stream->id = id;
        atomic_store(&device->streams[id], stream);
        atomic_store(&device->stream_count, id + 1);
    }
    osc_mutex_unlock(&device->lock);
    if (id >= OSC_RT_MAX_STREAMS) {
        osc_free(stream);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "device %d has %u streams already, the most there may be; reuse streams",
                        device->index, OSC_RT_MAX_STREAMS);
    }
    *out = stream;
    return OSC_OK;
}

osc_status osc_rt_stream_get(int32_t device, int64_t stream, osc_rt_stream **out, osc_err *err)
{
    osc_rt_device *d;
    *out = NULL;
    osc_status status = osc_rt_device_get(device, &d, err);
    if (status != OSC_OK)
        return status;
    if (stream >= 0 && stream < OSC_RT_MAX_STREAMS)
        *out = atomic_load_explicit(&d->streams[stream], memory_order_acquire);
    if (*out != NULL)
        return OSC_OK;
    (void)osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "device %d has no stream %lld", device,
                   (long long)stream);
    return OSC_EINVAL;
}

void osc_rt_stream_fail(osc_rt_stream *stream, const char *op, const osc_err *cause)
{
    osc_mutex_lock(&stream->device->lock);
    if (atomic_load(&stream->failed) == 0) {
        stream->error = *cause;
        (void)osc_fail(&stream->error, cause->code, cause->input, cause->offset,
                       "Neuron execution error for operation=%s on device %d; error message=%s",
                       op != NULL && op[0] != '\0' ? op : "(unnamed)", stream->device->index,
                       cause->message);
        atomic_store(&stream->failed, 1);
    }
    osc_mutex_unlock(&stream->device->lock);
}

osc_status osc_rt_stream_take_error(osc_rt_stream *stream, osc_err *err)
{
    if (atomic_load(&stream->failed) == 0)
        return OSC_OK;
    osc_status status = OSC_OK;
    osc_mutex_lock(&stream->device->lock);
    if (atomic_exchange(&stream->failed, 0) != 0) {
        status = stream->error.code;
        if (err != NULL)
            *err = stream->error;
    }
    osc_mutex_unlock(&stream->device->lock);
    return status;
}

void osc_rt_stream_drain(osc_rt_stream *stream)
{
    osc_queue_wait(stream->device->queue, atomic_load(&stream->last_ticket));
    osc_sleep_until_ns(atomic_load(&stream->free_ns));
}

/* ---- public ---- */

osc_status osc_nrt_stream_create(int32_t device, int32_t priority, int64_t *out, osc_err *err)
{
    osc_rt_device *d;
    osc_rt_stream *stream;
    osc_status status = osc_rt_device_get(device, &d, err);
    if (status == OSC_OK)
        status = osc_rt_stream_new(d, priority, &stream, err);
    *out = status == OSC_OK ? stream->id : -1;
    return status;
}

bool osc_nrt_stream_query(int32_t device, int64_t stream)
{
    osc_rt_stream *s;
    if (osc_rt_stream_get(device, stream, &s, NULL) != OSC_OK)
        return true;
    return osc_queue_done(s->device->queue, atomic_load(&s->last_ticket)) &&
           osc_now_ns() >= atomic_load(&s->free_ns);
}

osc_status osc_nrt_stream_synchronize(int32_t device, int64_t stream, osc_err *err)
{
    osc_rt_stream *s;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK)
        return status;
    osc_rt_stream_drain(s);
    return osc_rt_stream_take_error(s, err);
}

osc_status osc_nrt_synchronize(int32_t device, osc_err *err)
{
    osc_rt_device *d;
    osc_status first = osc_rt_device_get(device, &d, err);
    if (first != OSC_OK)
        return first;
    uint32_t count = atomic_load(&d->stream_count);
    for (uint32_t i = 0; i < count; i++)
        osc_rt_stream_drain(atomic_load(&d->streams[i]));
    for (uint32_t i = 0; i < count; i++) {
        osc_err later;
        osc_rt_stream *stream = atomic_load(&d->streams[i]);
        osc_status status = osc_rt_stream_take_error(stream, first == OSC_OK ? err : &later);
        if (first == OSC_OK)
            first = status;
    }
    return first;
}
