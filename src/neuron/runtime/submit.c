/*
 * submit.c - the few lines every asynchronous call shares: take a place, stamp it, hand it over.
 */
#include "neuron/runtime/rt.h"

#include "base/clock.h"

osc_status osc_rt_begin(osc_rt_stream *stream, osc_rt_work_kind kind, const osc_nrt_op *op,
                        const char *name, osc_work **work, uint64_t *ticket, osc_err *err)
{
    osc_rt *rt = stream->device->rt;
    if (op != NULL && op->size != sizeof *op)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "osc_nrt_op.size must be sizeof(osc_nrt_op): caller and library disagree");
    /* A second reading of the clock only while somebody looks at it. */
    bool captured = atomic_load_explicit(&rt->capture, memory_order_relaxed) != NULL;
    int64_t schedule_ns = captured ? osc_now_ns() : 0;
    osc_work *w = osc_queue_reserve(stream->device->queue, ticket);
    if (w == NULL)
        return osc_fail(err, OSC_ESTATE, NULL, OSC_NO_OFFSET,
                        "the Neuron runtime of this process was shut down; %s was not started",
                        name);
    w->kind = (uint32_t)kind;
    w->stream = stream;
    w->tag = (osc_work_tag){.name = name, .schedule_ns = schedule_ns};
    if (op != NULL) {
        if (op->name != NULL)
            w->tag.name = op->name;
        w->tag.correlation = op->correlation;
        w->tag.thread_id = op->thread_id;
        w->tag.enter_ns = op->enter_ns;
    }
    *work = w;
    return OSC_OK;
}

void osc_rt_commit(osc_rt_stream *stream, osc_work *work, uint64_t ticket)
{
    int64_t now = osc_now_ns();
    work->tag.submit_ns = now;
    if (work->tag.schedule_ns == 0)
        work->tag.schedule_ns = now;
    if (work->tag.enter_ns == 0)
        work->tag.enter_ns = work->tag.schedule_ns;
    uint64_t newest = atomic_load_explicit(&stream->last_ticket, memory_order_relaxed);
    while (newest < ticket &&
           !atomic_compare_exchange_weak(&stream->last_ticket, &newest, ticket)) {
    }
    osc_queue_commit(stream->device->queue, ticket);
}

osc_status osc_rt_finish(osc_rt_stream *stream, osc_err *err)
{
    if (!stream->device->rt->config.launch_blocking)
        return OSC_OK;
    osc_rt_stream_drain(stream);
    return osc_rt_stream_take_error(stream, err);
}
