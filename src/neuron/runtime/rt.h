/*
 * rt.h - the runtime's own structures: the process-wide runtime, its devices and their streams.
 *
 * Who may touch what. A device's core, clock, copy engines and counters belong to its
 * queue thread. Stream times are written by the queue thread and read by anyone (atomics).
 * Everything in a lock's comment needs that lock. Lock order: runtime.lock, compile_lock,
 * device.lock, capture locks, memory lock (a leaf).
 */
#ifndef OSC_NEURON_RUNTIME_RT_H
#define OSC_NEURON_RUNTIME_RT_H

#include "base/log.h"
#include "base/thread.h"
#include "neuron/device/device.h"
#include "neuron/runtime/clock.h"
#include "neuron/runtime/discover.h"
#include "neuron/runtime/memory.h"
#include "neuron/runtime/queue.h"
#include "opscope/neuron.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define OSC_RT_MAX_STREAMS 1024u

typedef struct osc_rt osc_rt;
typedef struct osc_rt_device osc_rt_device;

typedef struct osc_rt_stream {
    osc_rt_device *device;
    int64_t id;
    int32_t priority;             /* kept, no effect: one core runs everything in order */
    _Atomic uint64_t last_ticket; /* newest work submitted to this stream */
    _Atomic int64_t free_ns;      /* host time at which all work run so far ends */
    _Atomic uint32_t failed;      /* error below is set */
    osc_err error;                /* the first since it was last reported; device.lock */
} osc_rt_stream;

/* Units of nrta sequence ids: unit << 48 | number. The vendor's header counts TENSOR_READ 0,
 * TENSOR_WRITE, TENSOR_OP, COMPUTE; the published trace shows compute work with unit 1
 * (torchneuron-face.md 2.3), and what is seen wins. */
typedef enum osc_rt_unit {
    OSC_RT_UNIT_READ = 0,
    OSC_RT_UNIT_COMPUTE = 1,
    OSC_RT_UNIT_WRITE = 2,
    OSC_RT_UNIT_TENSOR_OP = 3,
    OSC_RT_UNITS = 4
} osc_rt_unit;

/* Engines that move bytes without the core, so that copies overlap compute. */
typedef enum osc_rt_lane {
    OSC_RT_LANE_IN = 0,
    OSC_RT_LANE_OUT = 1,
    OSC_RT_LANE_LOCAL = 2,
    OSC_RT_LANES = 3
} osc_rt_lane;

struct osc_rt_device {
    osc_rt *rt;
    int32_t index;
    osc_devmem *memory;
    osc_queue *queue;
    osc_devclock clock;
    osc_mutex lock; /* creation of streams, stream errors */
    _Atomic(osc_rt_stream *) streams[OSC_RT_MAX_STREAMS];
    _Atomic uint32_t stream_count;
    /* Loaded programs nobody needs, for the queue thread. */
    _Atomic(struct osc_rt_unload *) unloads;

    /* Queue thread only. */
    osc_core *core;
    int64_t core_free_ns; /* host time at which the core is free */
    int64_t lane_free_ns[OSC_RT_LANES];
    uint64_t exec_count;   /* executions so far: the number of the next is one more */
    uint64_t last_program; /* id of the program the core ran last, 0 none */
    osc_binding *bindings; /* of the execution being prepared */
    uint32_t binding_cap;
};

struct osc_rt {
    osc_rt_config config;
    osc_mutex lock; /* opening of devices, start and stop of captures */
    _Atomic(osc_rt_device *) devices[OSC_RT_MAX_DEVICES];
    _Atomic uint64_t sequence[OSC_RT_UNITS];
    _Atomic(osc_capture *) capture; /* the active one; see capture.h */
    struct osc_programs *programs;  /* caches of compiled programs; see program.h */
};

/* ---- runtime.c ---- */

/* The running runtime, started if need be. OSC_ESTATE after shutdown or in a forked child. */
osc_status osc_rt_get(osc_rt **out, osc_err *err) OSC_MUST_CHECK;
/* The runtime even after shutdown; NULL before init and in a forked child. */
osc_rt *osc_rt_peek(void);

/* ---- device.c ---- */

/* The device, opened if need be; starts the runtime. OSC_EINVAL names the valid range. */
osc_status osc_rt_device_get(int32_t index, osc_rt_device **out, osc_err *err) OSC_MUST_CHECK;
/* The device if it is open, else NULL. */
osc_rt_device *osc_rt_device_peek(osc_rt *rt, uint32_t index);
/* Runs what is queued and joins the thread; memory stays mapped. */
void osc_rt_device_stop(osc_rt_device *device);

/* ---- stream.c ---- */

osc_status osc_rt_stream_new(osc_rt_device *device, int32_t priority, osc_rt_stream **out,
                             osc_err *err) OSC_MUST_CHECK;
/* Device and stream by number. */
osc_status osc_rt_stream_get(int32_t device, int64_t stream, osc_rt_stream **out,
                             osc_err *err) OSC_MUST_CHECK;
/* Keeps the first error; names the operator. Queue thread. */
void osc_rt_stream_fail(osc_rt_stream *stream, const char *op, const osc_err *cause);
/* OSC_OK, or the stored error, which is then forgotten. */
osc_status osc_rt_stream_take_error(osc_rt_stream *stream, osc_err *err) OSC_MUST_CHECK;
/* Waits for the values and the simulated end of everything submitted to the stream. */
void osc_rt_stream_drain(osc_rt_stream *stream);

/* ---- submit.c ---- */

/* A place in the stream's queue with kind, stream and tag filled. OSC_ESTATE when it is closed. op
 * may be NULL. */
osc_status osc_rt_begin(osc_rt_stream *stream, osc_rt_work_kind kind, const osc_nrt_op *op,
                        const char *name, osc_work **work, uint64_t *ticket,
                        osc_err *err) OSC_MUST_CHECK;
/* Stamps the submission time and hands the work over. */
void osc_rt_commit(osc_rt_stream *stream, osc_work *work, uint64_t ticket);
/* After a commit: waits when NEURON_LAUNCH_BLOCKING asks for it and returns the stream's error. */
osc_status osc_rt_finish(osc_rt_stream *stream, osc_err *err) OSC_MUST_CHECK;

/* ---- worker.c ---- */

/* The queue handler; context is the osc_rt_device. */
void osc_rt_run(void *context, osc_work *work);

#endif
