/*
 * copy.c - bytes between host and device, device and device, and fills.
 *
 * A write takes its bytes before it returns when they are few or the caller said non_blocking: up
 * to 64 travel inside the piece of work, which makes the 4-byte scalar of an eager operator free of
 * allocation. Larger blocking writes hand over the caller's pointer and wait, as the vendor's do
 * (torchneuron-face.md 3.6). Between devices a copy is ordered against both queues by two events:
 * it starts after what the source's device had been given, and that device goes on after the copy.
 */
#include "neuron/runtime/rt.h"

#include "base/mem.h"

#include <string.h>

#define STAGE_BYTES 4096u /* blocking writes up to here are staged instead of waited for */

static osc_status check_range(const osc_rt_device *device, const void *address, uint64_t bytes,
                              const char *what, osc_err *err)
{
    if (osc_devmem_owns(device->memory, address, bytes))
        return OSC_OK;
    return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                    "%s: %p is not memory of device %d with %llu bytes", what, address,
                    device->index, (unsigned long long)bytes);
}

/* The host's side of a copy: touching device memory there would fault, in another thread at that. */
static osc_status check_host(const void *address, const char *what, osc_err *err)
{
    int32_t device = osc_nrt_device_of(address);
    if (address != NULL && device < 0)
        return OSC_OK;
    if (address == NULL)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "%s: the host address is NULL", what);
    return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                    "%s: %p is memory of device %d, not of the host; use osc_nrt_copy", what,
                    address, device);
}

/* A copy of the bytes for the queue thread, or NULL with *out unset when they travel inside the
 * work. */
static osc_status stage(const void *src, uint64_t bytes, void **out, osc_err *err)
{
    *out = NULL;
    if (bytes <= OSC_RT_WORK_INLINE)
        return OSC_OK;
    *out = osc_alloc((size_t)bytes);
    if (*out == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "no host memory to stage %llu bytes; write without non_blocking",
                        (unsigned long long)bytes);
    memcpy(*out, src, (size_t)bytes);
    return OSC_OK;
}

osc_status osc_nrt_write(int32_t device, int64_t stream, void *dst, const void *src, uint64_t bytes,
                         bool non_blocking, const osc_nrt_op *op, osc_err *err)
{
    osc_rt_stream *s;
    osc_work *work;
    uint64_t ticket;
    void *staged = NULL;
    bool take = non_blocking || bytes <= STAGE_BYTES;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK || bytes == 0)
        return status;
    status = check_range(s->device, dst, bytes, "write", err);
    if (status == OSC_OK)
        status = check_host(src, "write", err);
    if (status == OSC_OK && take)
        status = stage(src, bytes, &staged, err);
    if (status == OSC_OK)
        status = osc_rt_begin(s, OSC_RT_WORK_WRITE, op, "neuron::copy::cpu_to_neuron", &work,
                              &ticket, err);
    if (status != OSC_OK) {
        osc_free(staged);
        return status;
    }
    work->u.io.device = dst;
    work->u.io.bytes = bytes;
    work->u.io.owned = staged != NULL;
    work->u.io.host = staged != NULL ? staged : take ? NULL : src;
    if (work->u.io.host == NULL)
        memcpy(work->u.io.inlined, src, (size_t)bytes);
    osc_rt_commit(s, work, ticket);
    if (take)
        return osc_rt_finish(s, err);
    osc_rt_stream_drain(s);
    return osc_rt_stream_take_error(s, err);
}

osc_status osc_nrt_read(int32_t device, int64_t stream, void *dst, const void *src, uint64_t bytes,
                        const osc_nrt_op *op, osc_err *err)
{
    osc_rt_stream *s;
    osc_work *work;
    uint64_t ticket;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK || bytes == 0)
        return status;
    status = check_range(s->device, src, bytes, "read", err);
    if (status == OSC_OK)
        status = check_host(dst, "read", err);
    if (status == OSC_OK)
        status = osc_rt_begin(s, OSC_RT_WORK_READ, op, "neuron::copy::neuron_to_cpu", &work,
                              &ticket, err);
    if (status != OSC_OK)
        return status;
    union {
        const void *shared;
        void *plain;
    } from = {.shared = src};
    work->u.io.device = from.plain;
    work->u.io.into = dst;
    work->u.io.bytes = bytes;
    osc_rt_commit(s, work, ticket);
    osc_rt_stream_drain(s);
    return osc_rt_stream_take_error(s, err);
}

static osc_status submit_copy(osc_rt_stream *s, void *dst, const void *src, uint64_t bytes,
                              const osc_nrt_op *op, osc_err *err)
{
    osc_work *work;
    uint64_t ticket;
    osc_status status = osc_rt_begin(s, OSC_RT_WORK_COPY, op, "neuron::copy::neuron_to_neuron",
                                     &work, &ticket, err);
    if (status != OSC_OK)
        return status;
    work->u.copy.dst = dst;
    work->u.copy.src = src;
    work->u.copy.count = bytes;
    osc_rt_commit(s, work, ticket);
    return OSC_OK;
}

/* Orders everything queued on from's device before what comes next on to. */
static osc_status order(osc_rt_stream *from, osc_rt_stream *to, osc_err *err)
{
    osc_nrt_event *event;
    osc_status status = osc_nrt_event_create(&event, err);
    if (status == OSC_OK)
        status = osc_nrt_event_record(event, from->device->index, from->id, err);
    if (status == OSC_OK)
        status = osc_nrt_event_wait(event, to->device->index, to->id, err);
    osc_nrt_event_destroy(event);
    return status;
}

osc_status osc_nrt_copy(int32_t device, int64_t stream, void *dst, const void *src, uint64_t bytes,
                        const osc_nrt_op *op, osc_err *err)
{
    osc_rt_stream *s, *peer = NULL;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK || bytes == 0)
        return status;
    int32_t to = osc_nrt_device_of(dst), from = osc_nrt_device_of(src);
    if (to != device && from != device)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "copy: neither %p nor %p is memory of device %d", dst, src, device);
    int32_t other = to == device ? from : to;
    if (other < 0)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "copy: %p is not memory of any device", to < 0 ? dst : src);
    if (other != device)
        status = osc_rt_stream_get(other, 0, &peer, err);
    osc_rt_device *dst_device = to == device ? s->device : peer != NULL ? peer->device : NULL;
    osc_rt_device *src_device = from == device ? s->device : peer != NULL ? peer->device : NULL;
    if (status == OSC_OK)
        status = check_range(dst_device, dst, bytes, "copy", err);
    if (status == OSC_OK)
        status = check_range(src_device, src, bytes, "copy", err);
    if (status == OSC_OK && peer != NULL)
        status = order(peer, s, err);
    if (status == OSC_OK)
        status = submit_copy(s, dst, src, bytes, op, err);
    if (status == OSC_OK && peer != NULL)
        status = order(s, peer, err);
    return status == OSC_OK ? osc_rt_finish(s, err) : status;
}

osc_status osc_nrt_fill(int32_t device, int64_t stream, void *dst, uint64_t count,
                        const void *pattern, uint32_t pattern_bytes, const osc_nrt_op *op,
                        osc_err *err)
{
    osc_rt_stream *s;
    osc_work *work;
    uint64_t ticket, bytes;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK || count == 0)
        return status;
    if (pattern == NULL || pattern_bytes == 0 || pattern_bytes > 16 ||
        (pattern_bytes & (pattern_bytes - 1)) != 0)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "fill: a pattern has 1, 2, 4, 8 or 16 bytes, not %u",
                        pattern == NULL ? 0 : pattern_bytes);
    if (!osc_mul_u64(count, pattern_bytes, &bytes))
        bytes = UINT64_MAX; /* more than any device has: refused next */
    status = check_range(s->device, dst, bytes, "fill", err);
    if (status == OSC_OK)
        status = osc_rt_begin(s, OSC_RT_WORK_FILL, op, "neuron::fill", &work, &ticket, err);
    if (status != OSC_OK)
        return status;
    work->count = pattern_bytes;
    work->u.copy.dst = dst;
    work->u.copy.count = count;
    memcpy(work->u.copy.pattern, pattern, pattern_bytes);
    osc_rt_commit(s, work, ticket);
    return osc_rt_finish(s, err);
}
