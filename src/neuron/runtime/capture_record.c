/*
 * capture_record.c - what the queue threads note while a capture is active.
 *
 * Limit. Each core has a budget of system-trace events. An execution or copy is kept with all its
 * events or not at all, and after the first one that does not fit nothing more is kept: the newest
 * is dropped, what is there has no holes. Dropped events are counted and announced once.
 *
 * An execution is one record, one NTFF entry with its device events, and three or four system-trace
 * events (schedule, switch, running, sync point), all from the same numbers.
 */
#include "neuron/runtime/capture_internal.h"

#include "base/mem.h"

#include <inttypes.h>

#define EXEC_EVENTS 4

osc_capture *osc_capture_of(osc_rt_device *device, const osc_work_tag *tag)
{
    osc_capture *c = atomic_load(&device->rt->capture);
    if (c == NULL || c->cores[device->index] == NULL || tag->submit_ns < c->start_ns ||
        tag->submit_ns > atomic_load(&c->until_ns))
        return NULL;
    return c;
}

/* Takes `events` from the core's budget; false when they do not fit. */
static bool admit(osc_capture *c, osc_rt_device *device, uint64_t events)
{
    osc_captured_core *core = c->cores[device->index];
    if (!core->full && core->events + events <= c->max_events) {
        core->events += events;
        return true;
    }
    core->full = true;
    core->dropped += events;
    if (atomic_exchange(&c->warned, 1) == 0)
        osc_log(OSC_LOG_WARN,
                "capture: core %d reached %" PRIu64
                " events; later events are dropped and counted; raise "
                "max_events_per_nc or profile fewer steps",
                device->index, c->max_events);
    return false;
}

static void emit_events(void *context, const osc_event *events, uint32_t count)
{
    osc_captured_core *core = context;
    osc_err err = {0};
    osc_status status = osc_ntff_writer_events(core->ntff, events, count, &err);
    osc_capture_files_note(core->capture->files, status, &err);
}

/* The records show the program's cache key until the capture is released. */
static void hold_program(osc_capture *c, osc_nrt_program *program)
{
    osc_mutex_lock(&c->held_lock);
    bool known = false;
    for (uint64_t i = c->held_count; i > 0 && !known; i--)
        known = c->held[i - 1] == program;
    if (!known && c->held_count == c->held_cap) {
        uint64_t cap = c->held_cap > 0 ? c->held_cap * 2 : 16;
        osc_nrt_program **more = osc_realloc_array(c->held, cap, sizeof(osc_nrt_program *));
        if (more != NULL) {
            c->held = more;
            c->held_cap = cap;
        }
    }
    /* Without room the program is kept alive for good: a leak, and no dangling text. */
    if (!known)
        osc_nrt_program_retain(program);
    if (!known && c->held_count < c->held_cap)
        c->held[c->held_count++] = program;
    osc_mutex_unlock(&c->held_lock);
}

const osc_event_sink *osc_capture_begin_exec(osc_capture *capture, osc_rt_device *device,
                                             const osc_capture_exec *exec)
{
    osc_captured_core *core = capture->cores[device->index];
    core->ntff = NULL;
    core->keep = admit(capture, device, exec->switched ? EXEC_EVENTS : EXEC_EVENTS - 1);
    if (capture->files != NULL)
        core->ntff = osc_capture_files_ntff(capture->files, device, exec->program);
    if (core->keep)
        hold_program(capture, exec->program);
    else if (core->ntff != NULL)
        osc_ntff_writer_dropped(core->ntff, 1, 0);
    core->sink = (osc_event_sink){.context = core, .emit = emit_events};
    return core->keep && core->ntff != NULL ? &core->sink : NULL;
}

static void append_op(osc_captured_core *core, const osc_capture_op *op)
{
    if (core->count == core->cap) {
        uint64_t cap = core->cap > 0 ? core->cap * 2 : 256;
        osc_capture_op *more = osc_realloc_array(core->ops, cap, sizeof *more);
        if (more == NULL) {
            core->dropped++;
            return;
        }
        core->ops = more;
        core->cap = cap;
    }
    core->ops[core->count++] = *op;
}

static osc_capture_op op_of(const osc_rt_device *device, const osc_work *work)
{
    return (osc_capture_op){.device = device->index,
                            .stream = work->stream->id,
                            .name = work->tag.name,
                            .cache_key = "",
                            .correlation = work->tag.correlation,
                            .thread_id = work->tag.thread_id,
                            .enter_ns = work->tag.enter_ns,
                            .submit_ns = work->tag.submit_ns};
}

static osc_systrace_event event_of(const osc_rt_device *device, const osc_work *work,
                                   uint64_t sequence, osc_st_type type, int64_t start_ns,
                                   int64_t end_ns)
{
    osc_systrace_event e;
    osc_systrace_event_init(&e);
    e.type = type;
    e.phase = start_ns == end_ns && type == OSC_ST_TIMESTAMP_SYNC_POINT ? OSC_ST_INSTANT
                                                                        : OSC_ST_INTERVAL;
    e.start_ns = start_ns;
    e.end_ns = end_ns;
    e.nc_idx = device->index;
    e.thread_id = work->tag.thread_id;
    e.stream = work->stream->id;
    e.tracking_id = e.flow_id = e.sequence_id = sequence;
    e.correlation = work->tag.correlation;
    e.op_name = osc_str_from_cstr(work->tag.name);
    return e;
}

/* Where the switch lies inside the launch interval. */
static void switch_span(const osc_capture_exec *x, int64_t *start, int64_t *end)
{
    *start = *end = x->start_ns;
    for (uint32_t i = 0; i < x->launch.count; i++) {
        *end = *start + x->launch.parts[i].ns;
        if (osc_str_eq(x->launch.parts[i].name, OSC_STR("switch")))
            return;
        *start = *end;
    }
}

static void write_exec_events(osc_capture *c, osc_rt_device *device, const osc_capture_exec *x)
{
    osc_systrace_event e[EXEC_EVENTS];
    size_t n = 0;
    e[n++] = event_of(device, x->work, x->sequence, OSC_ST_NRTA_EXECUTE_SCHEDULE,
                      x->work->tag.schedule_ns, x->work->tag.submit_ns);
    if (x->switched) {
        int64_t start, end;
        switch_span(x, &start, &end);
        e[n++] = event_of(device, x->work, x->sequence, OSC_ST_NRT_MODEL_SWITCH, start, end);
    }
    osc_systrace_event *run = &e[n++];
    *run = event_of(device, x->work, x->sequence, OSC_ST_NC_EXEC_RUNNING, x->start_ns, x->end_ns);
    run->has_nc_time = true;
    run->nc_start_ns = osc_devclock_to_dev(&device->clock, x->start_ns);
    run->nc_stop_ns = x->dev_ns + x->body_ns;
    run->body_ns = x->body_ns;
    run->parts = x->launch.parts;
    run->part_count = x->launch.count;
    if (x->failed)
        run->extra_json = OSC_STR("{\"failed\":true}");
    osc_systrace_event *sync = &e[n++];
    *sync =
        event_of(device, x->work, x->sequence, OSC_ST_TIMESTAMP_SYNC_POINT, x->end_ns, x->end_ns);
    sync->has_nc_time = true;
    sync->nc_start_ns = sync->nc_stop_ns = x->dev_ns + x->body_ns;
    for (size_t i = 0; i < n; i++) {
        e[i].exec_id = x->exec;
        e[i].model_id = x->program->id;
        e[i].neff_hash = x->program->hash;
        e[i].model_name = osc_str_from_cstr(x->program->name);
        e[i].pcore_idx = e[i].type == OSC_ST_NRTA_EXECUTE_SCHEDULE ? -1 : 0;
    }
    osc_capture_files_events(c->files, e, n);
}

static void write_ntff_exec(osc_capture *c, osc_captured_core *core, const osc_capture_exec *x)
{
    osc_err err = {0};
    osc_ntff_exec e = {.exec = x->exec,
                       .sequence = x->sequence,
                       .correlation = x->work->tag.correlation,
                       .stream = x->work->stream->id,
                       .thread_id = x->work->tag.thread_id,
                       .submit_ns = x->work->tag.submit_ns,
                       .start_ns = x->start_ns,
                       .end_ns = x->end_ns,
                       .body_dev_ns = x->dev_ns,
                       .body_ns = x->body_ns,
                       .sync_host_ns = x->end_ns,
                       .sync_dev_ns = x->dev_ns + x->body_ns,
                       .op = osc_str_from_cstr(x->work->tag.name),
                       .parts = x->launch.parts,
                       .part_count = x->launch.count};
    osc_status status = osc_ntff_writer_exec(core->ntff, &e, &err);
    if (status == OSC_OK)
        status = osc_ntff_writer_flush(core->ntff, &err);
    osc_capture_files_note(c->files, status, &err);
}

void osc_capture_end_exec(osc_capture *capture, osc_rt_device *device, const osc_capture_exec *exec)
{
    osc_captured_core *core = capture->cores[device->index];
    if (!core->keep)
        return;
    osc_capture_op op = op_of(device, exec->work);
    op.kind = OSC_CAPTURE_EXEC;
    op.cache_key = exec->program->cache_key;
    op.sequence = exec->sequence;
    op.exec_id = exec->exec;
    op.neff_hash = exec->program->hash;
    op.start_ns = exec->start_ns;
    op.end_ns = exec->end_ns;
    op.launch_ns = exec->launch.total_ns;
    op.body_ns = exec->body_ns;
    append_op(core, &op);
    if (core->ntff != NULL)
        write_ntff_exec(capture, core, exec);
    if (capture->files != NULL)
        write_exec_events(capture, device, exec);
}

void osc_capture_transfer(osc_capture *capture, osc_rt_device *device, const osc_capture_move *move)
{
    static const osc_st_type call[] = {[OSC_CAPTURE_WRITE] = OSC_ST_NRTA_TENSOR_WRITE,
                                       [OSC_CAPTURE_READ] = OSC_ST_NRTA_TENSOR_READ,
                                       [OSC_CAPTURE_COPY] = OSC_ST_NRTA_TENSOR_COPY,
                                       [OSC_CAPTURE_FILL] = OSC_ST_NRTA_TENSOR_FILL};
    static const osc_st_type moved[] = {[OSC_CAPTURE_WRITE] = OSC_ST_DMEM_BUF_COPYIN,
                                        [OSC_CAPTURE_READ] = OSC_ST_DMEM_BUF_COPYOUT,
                                        [OSC_CAPTURE_COPY] = OSC_ST_DMEM_BUF_COPY,
                                        [OSC_CAPTURE_FILL] = OSC_ST_DMEM_BUF_COPY};
    const osc_work *work = move->work;
    osc_capture_op op = op_of(device, work);
    if (!admit(capture, device, 2))
        return;
    op.kind = move->kind;
    op.sequence = move->sequence;
    op.start_ns = move->start_ns;
    op.end_ns = move->end_ns;
    op.bytes = move->bytes;
    append_op(capture->cores[device->index], &op);
    if (capture->files == NULL)
        return;
    osc_systrace_event e[2] = {
        event_of(device, work, move->sequence, call[move->kind], work->tag.schedule_ns,
                 work->tag.submit_ns),
        event_of(device, work, move->sequence, moved[move->kind], move->start_ns, move->end_ns)};
    e[0].size = e[1].size = move->bytes;
    osc_capture_files_events(capture->files, e, 2);
}
