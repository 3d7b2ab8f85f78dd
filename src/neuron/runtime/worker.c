/*
 * worker.c - what the queue thread does with each kind of work: the values, and the simulated time.
 *
 * Values first, by the host, as fast as it can; then the interval the work takes on the simulated
 * machine: start = max(submitted, stream free, engine free). The engine is the core for executions
 * and one of three copy lanes for bytes, so a copy on one stream overlaps compute on another while
 * a write delays the next execution of its own stream. Nothing here waits for simulated time;
 * callers that synchronise do.
 *
 * A failed execution is charged its launch interval, is kept as the stream's error, and the queue
 * goes on.
 */
#include "neuron/runtime/capture.h"
#include "neuron/runtime/event.h"
#include "neuron/runtime/launch.h"
#include "neuron/runtime/program.h"
#include "neuron/runtime/rt.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Stream times are written by this thread only. */
static int64_t stream_free(const osc_rt_stream *stream)
{
    return atomic_load_explicit(&stream->free_ns, memory_order_relaxed);
}

static void stream_advance(osc_rt_stream *stream, int64_t end_ns)
{
    if (end_ns > stream_free(stream))
        atomic_store(&stream->free_ns, end_ns);
}

static uint64_t next_sequence(osc_rt *rt, osc_rt_unit unit)
{
    uint64_t number = atomic_fetch_add(&rt->sequence[unit], 1) + 1;
    return (uint64_t)unit << 48 | (number & ((UINT64_C(1) << 48) - 1));
}

/* ---- executions ---- */

static bool reserve_bindings(osc_rt_device *device, uint32_t count)
{
    if (count <= device->binding_cap)
        return true;
    osc_binding *more = osc_realloc_array(device->bindings, count, sizeof *more);
    if (more == NULL)
        return false;
    device->bindings = more;
    device->binding_cap = count;
    return true;
}

static osc_status bind(osc_rt_device *device, const osc_work *work, osc_err *err)
{
    const osc_nrt_program *program = work->u.exec.program;
    void *const *addresses = work->u.exec.more != NULL ? work->u.exec.more : work->u.exec.inlined;
    if (!reserve_bindings(device, work->count))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for %u addresses",
                        work->count);
    for (uint32_t i = 0; i < work->count; i++) {
        osc_binding *b = &device->bindings[i];
        *b = (osc_binding){NULL, 0};
        if (program->span_bytes[i] == 0)
            continue;
        if (!osc_devmem_owns(device->memory, addresses[i], program->span_bytes[i]))
            return osc_fail(
                err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                "address %u of %s (%p) is not memory of device %d; all tensors of one operator "
                "must be on its device",
                i, program->name, addresses[i], device->index);
        b->base = osc_devmem_alias(device->memory, addresses[i], &b->bytes);
    }
    return OSC_OK;
}

/* Loads, binds and runs; fills result. */
static osc_status execute(osc_rt_device *device, const osc_work *work, int64_t dev_start_ns,
                          const osc_event_sink *sink, osc_run_result *result, osc_err *err)
{
    osc_loaded *loaded;
    osc_status status = osc_program_load(work->u.exec.program, device, &loaded, err);
    if (status == OSC_OK)
        status = bind(device, work, err);
    osc_run run = {.size = sizeof run,
                   .bindings = device->bindings,
                   .binding_count = work->count,
                   .values = !device->rt->config.timing_only,
                   .start_ns = dev_start_ns,
                   .exec = (uint32_t)device->exec_count,
                   .sink = sink};
    uint64_t rest;
    if (status == OSC_OK && work->u.exec.scratch != NULL)
        run.scratch = osc_devmem_alias(device->memory, work->u.exec.scratch, &rest);
    if (status == OSC_OK)
        status = osc_core_execute(device->core, loaded, &run, result, err);
    return status;
}

static void run_exec(osc_rt_device *device, osc_work *work)
{
    osc_nrt_program *program = work->u.exec.program;
    osc_rt_stream *stream = work->stream;
    osc_capture *capture = osc_capture_of(device, &work->tag);
    osc_capture_exec record = {.work = work, .program = program};
    osc_launch_facts facts = {.captured = capture != NULL,
                              .switched = device->last_program != program->id,
                              .outputs = program->outputs};
    device->exec_count++;
    facts.seed = device->exec_count ^ (uint64_t)device->index << 32;
    osc_launch_model(&device->rt->config.sheet, &facts, &record.launch);
    record.switched = facts.switched;
    record.exec = device->exec_count;
    record.sequence = next_sequence(device->rt, OSC_RT_UNIT_COMPUTE);
    record.start_ns =
        max_i64(work->tag.submit_ns, max_i64(device->core_free_ns, stream_free(stream)));
    record.dev_ns = osc_devclock_to_dev(&device->clock, record.start_ns + record.launch.total_ns);
    osc_run_result result = {0};
    osc_err err = {0};
    const osc_event_sink *sink =
        capture != NULL ? osc_capture_begin_exec(capture, device, &record) : NULL;
    osc_status status = execute(device, work, record.dev_ns, sink, &result, &err);
    if (status != OSC_OK)
        osc_rt_stream_fail(stream, work->tag.name, &err);
    record.body_ns = result.body_ns;
    record.end_ns = osc_devclock_to_host(&device->clock, record.dev_ns + result.body_ns);
    record.failed = status != OSC_OK;
    device->last_program = program->id;
    device->core_free_ns = record.end_ns;
    stream_advance(stream, record.end_ns);
    if (capture != NULL)
        osc_capture_end_exec(capture, device, &record);
    osc_free(work->u.exec.more);
    if (work->u.exec.release)
        osc_nrt_program_release(program);
}

/* ---- bytes ---- */

static int64_t host_link_ns(const osc_sheet *s, uint64_t bytes)
{
    return llround(s->host_copy_fixed_ns + (double)bytes / s->host_link_bw);
}

/* One DMA over all engines: start-up, the slower of engines and HBM, completion. */
static int64_t local_ns(const osc_sheet *s, uint64_t bytes, int passes)
{
    double engines = (double)bytes / (s->dma_engines * s->dma_bw);
    double hbm = (double)bytes * passes / s->hbm_bw;
    return llround(s->dma_start_swdge_ns + fmax(engines, hbm) + s->dma_sem_write_ns +
                   s->dma_wake_ns);
}

typedef struct transfer {
    osc_capture_kind kind;
    osc_rt_lane lane;
    osc_rt_unit unit;
    uint64_t bytes;
    int64_t duration_ns;
} transfer;

static void lay_transfer(osc_rt_device *device, const osc_work *work, const transfer *t)
{
    osc_capture *capture = osc_capture_of(device, &work->tag);
    int64_t start = max_i64(work->tag.submit_ns,
                            max_i64(device->lane_free_ns[t->lane], stream_free(work->stream)));
    int64_t end = start + t->duration_ns;
    device->lane_free_ns[t->lane] = end;
    stream_advance(work->stream, end);
    uint64_t sequence = next_sequence(device->rt, t->unit);
    if (capture != NULL)
        osc_capture_transfer(capture, device,
                             &(osc_capture_move){.work = work,
                                                 .kind = t->kind,
                                                 .sequence = sequence,
                                                 .bytes = t->bytes,
                                                 .start_ns = start,
                                                 .end_ns = end});
}

static void run_write(osc_rt_device *device, osc_work *work)
{
    uint64_t rest, bytes = work->u.io.bytes;
    uint8_t *to = osc_devmem_alias(device->memory, work->u.io.device, &rest);
    assert(bytes <= rest);
    const void *from = work->u.io.host != NULL ? work->u.io.host : work->u.io.inlined;
    memcpy(to, from, (size_t)bytes);
    if (work->u.io.owned) {
        union {
            const void *shared;
            void *mine;
        } host = {.shared = work->u.io.host};
        osc_free(host.mine);
    }
    lay_transfer(device, work,
                 &(transfer){OSC_CAPTURE_WRITE, OSC_RT_LANE_IN, OSC_RT_UNIT_WRITE, bytes,
                             host_link_ns(&device->rt->config.sheet, bytes)});
}

static void run_read(osc_rt_device *device, osc_work *work)
{
    uint64_t rest, bytes = work->u.io.bytes;
    const uint8_t *from = osc_devmem_alias(device->memory, work->u.io.device, &rest);
    assert(bytes <= rest);
    memcpy(work->u.io.into, from, (size_t)bytes);
    lay_transfer(device, work,
                 &(transfer){OSC_CAPTURE_READ, OSC_RT_LANE_OUT, OSC_RT_UNIT_READ, bytes,
                             host_link_ns(&device->rt->config.sheet, bytes)});
}

/* The alias of an address of any open device; submission has checked that there is one. */
static uint8_t *any_alias(osc_rt *rt, const void *address)
{
    uint8_t *alias = NULL;
    for (uint32_t i = 0; i < rt->config.device_count && alias == NULL; i++) {
        osc_rt_device *device = osc_rt_device_peek(rt, i);
        uint64_t rest;
        if (device != NULL && osc_devmem_owns(device->memory, address, 0))
            alias = osc_devmem_alias(device->memory, address, &rest);
    }
    assert(alias != NULL);
    return alias;
}

static void run_copy(osc_rt_device *device, osc_work *work)
{
    uint64_t bytes = work->u.copy.count;
    memmove(any_alias(device->rt, work->u.copy.dst), any_alias(device->rt, work->u.copy.src),
            (size_t)bytes);
    lay_transfer(device, work,
                 &(transfer){OSC_CAPTURE_COPY, OSC_RT_LANE_LOCAL, OSC_RT_UNIT_TENSOR_OP, bytes,
                             local_ns(&device->rt->config.sheet, bytes, 2)});
}

static void run_fill(osc_rt_device *device, osc_work *work)
{
    uint64_t rest, unit = work->count, bytes = work->u.copy.count * unit;
    uint8_t *to = osc_devmem_alias(device->memory, work->u.copy.dst, &rest);
    assert(bytes <= rest);
    if (unit == 1) {
        memset(to, work->u.copy.pattern[0], (size_t)bytes);
    } else {
        memcpy(to, work->u.copy.pattern, (size_t)unit);
        /* doubling: each copy is of whole patterns */
        for (uint64_t done = unit; done < bytes; done *= 2)
            memcpy(to + done, to, (size_t)(bytes - done < done ? bytes - done : done));
    }
    lay_transfer(device, work,
                 &(transfer){OSC_CAPTURE_FILL, OSC_RT_LANE_LOCAL, OSC_RT_UNIT_TENSOR_OP, bytes,
                             local_ns(&device->rt->config.sheet, bytes, 1)});
}

/* ---- events ---- */

static void run_record(osc_work *work)
{
    osc_rt_stream *stream = work->stream;
    osc_event_reach(work->u.sync.event, max_i64(work->tag.submit_ns, stream_free(stream)));
    osc_event_release(work->u.sync.event);
}

static void run_wait(osc_rt_device *device, osc_work *work)
{
    if (work->u.sync.other != device->queue) /* our own earlier work has run */
        osc_queue_wait(work->u.sync.other, work->u.sync.ticket);
    stream_advance(work->stream, osc_event_time(work->u.sync.event));
    osc_event_release(work->u.sync.event);
}

void osc_rt_run(void *context, osc_work *work)
{
    osc_rt_device *device = context;
    switch ((osc_rt_work_kind)work->kind) {
    case OSC_RT_WORK_EXEC: run_exec(device, work); break;
    case OSC_RT_WORK_WRITE: run_write(device, work); break;
    case OSC_RT_WORK_READ: run_read(device, work); break;
    case OSC_RT_WORK_COPY: run_copy(device, work); break;
    case OSC_RT_WORK_FILL: run_fill(device, work); break;
    case OSC_RT_WORK_RECORD: run_record(work); break;
    case OSC_RT_WORK_WAIT: run_wait(device, work); break;
    case OSC_RT_WORK_TRIM:
        osc_devmem_punch(device->memory, work->u.trim.offset, work->u.trim.bytes);
        break;
    }
    osc_program_run_unloads(device);
}
