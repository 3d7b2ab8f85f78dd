/*
 * event.c - events: a point in a stream, with the simulated instant at which it is passed.
 *
 * An event remembers where it was recorded last: queue and ticket. It is reached when that ticket
 * has run and the host clock has come to its simulated instant. Waiting on another stream is a
 * piece of work there; across devices that queue's thread waits for the ticket. Every wait is for
 * work submitted before it, so waits cannot form a circle.
 *
 * elapsed is simulated time, not the host's record times (as torchneuron-face.md 3.3 describes for
 * the vendor's): the point of a virtual device is that its durations repeat.
 */
#include "neuron/runtime/event.h"

#include "base/clock.h"
#include "base/mem.h"
#include "neuron/runtime/rt.h"

struct osc_nrt_event {
    _Atomic uint32_t references;
    osc_mutex lock;   /* the two below, together */
    osc_queue *queue; /* NULL: never recorded */
    uint64_t ticket;
    _Atomic int64_t time_ns;
};

typedef struct place {
    osc_queue *queue;
    uint64_t ticket;
} place;

static place recorded_at(osc_nrt_event *event)
{
    osc_mutex_lock(&event->lock);
    place at = {event->queue, event->ticket};
    osc_mutex_unlock(&event->lock);
    return at;
}

static bool reached(osc_nrt_event *event, place at)
{
    return at.queue != NULL && osc_queue_done(at.queue, at.ticket) &&
           osc_now_ns() >= atomic_load(&event->time_ns);
}

static void retain(osc_nrt_event *event)
{
    atomic_fetch_add(&event->references, 1);
}

void osc_event_release(osc_nrt_event *event)
{
    if (atomic_fetch_sub(&event->references, 1) != 1)
        return;
    osc_mutex_destroy(&event->lock);
    osc_free(event);
}

void osc_event_reach(osc_nrt_event *event, int64_t host_ns)
{
    atomic_store(&event->time_ns, host_ns);
}

int64_t osc_event_time(osc_nrt_event *event)
{
    return atomic_load(&event->time_ns);
}

/* ---- public ---- */

osc_status osc_nrt_event_create(osc_nrt_event **out, osc_err *err)
{
    *out = osc_calloc(1, sizeof **out);
    if (*out == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for an event");
    atomic_store(&(*out)->references, 1);
    osc_mutex_init(&(*out)->lock);
    return OSC_OK;
}

void osc_nrt_event_destroy(osc_nrt_event *event)
{
    if (event != NULL && !osc_nrt_in_bad_fork())
        osc_event_release(event);
}

osc_status osc_nrt_event_record(osc_nrt_event *event, int32_t device, int64_t stream, osc_err *err)
{
    osc_rt_stream *s;
    osc_work *work;
    uint64_t ticket;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status == OSC_OK)
        status = osc_rt_begin(s, OSC_RT_WORK_RECORD, NULL, "event record", &work, &ticket, err);
    if (status != OSC_OK)
        return status;
    retain(event);
    work->u.sync.event = event;
    osc_rt_commit(s, work, ticket);
    osc_mutex_lock(&event->lock);
    event->queue = s->device->queue;
    event->ticket = ticket;
    osc_mutex_unlock(&event->lock);
    return OSC_OK;
}

osc_status osc_nrt_event_wait(osc_nrt_event *event, int32_t device, int64_t stream, osc_err *err)
{
    osc_rt_stream *s;
    osc_work *work;
    uint64_t ticket;
    osc_status status = osc_rt_stream_get(device, stream, &s, err);
    if (status != OSC_OK)
        return status;
    place at = recorded_at(event);
    if (at.queue == NULL)
        return OSC_OK;
    status = osc_rt_begin(s, OSC_RT_WORK_WAIT, NULL, "event wait", &work, &ticket, err);
    if (status != OSC_OK)
        return status;
    retain(event);
    work->u.sync.event = event;
    work->u.sync.other = at.queue;
    work->u.sync.ticket = at.ticket;
    osc_rt_commit(s, work, ticket);
    return OSC_OK;
}

bool osc_nrt_event_query(osc_nrt_event *event)
{
    if (osc_nrt_in_bad_fork()) /* its lock may be held for good */
        return true;
    place at = recorded_at(event);
    return at.queue == NULL || reached(event, at);
}

osc_status osc_nrt_event_synchronize(osc_nrt_event *event, osc_err *err)
{
    osc_rt *rt;
    osc_status status = osc_rt_get(&rt, err);
    if (status != OSC_OK)
        return status;
    place at = recorded_at(event);
    if (at.queue == NULL)
        return OSC_OK;
    osc_queue_wait(at.queue, at.ticket);
    osc_sleep_until_ns(atomic_load(&event->time_ns));
    return OSC_OK;
}

osc_status osc_nrt_event_elapsed(osc_nrt_event *start, osc_nrt_event *end, int64_t *ns,
                                 osc_err *err)
{
    *ns = 0;
    if (osc_nrt_in_bad_fork() || !reached(start, recorded_at(start)) ||
        !reached(end, recorded_at(end)))
        return osc_fail(err, OSC_ESTATE, NULL, OSC_NO_OFFSET,
                        "both events must be recorded and reached before their distance is known; "
                        "synchronize the end event first");
    *ns = atomic_load(&end->time_ns) - atomic_load(&start->time_ns);
    return OSC_OK;
}
