/*
 * events.c - the records of an execution, built once per schedule and replayed at every launch.
 *
 * Each instruction gives one INST record, each transfer one DMA record per DMA engine it used,
 * each semaphore change one SEMAPHORE record with the value reached; EXEC and PHASE frame them.
 * Order is by start, then by kind, then by what the record names, so equal runs give equal bytes.
 */
#include "neuron/device/events.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int64_t ps_ns(int64_t ps)
{
    return (ps + 500) / 1000;
}

/* Records that start together: the frame first, then causes before effects. */
static int rank(uint8_t kind)
{
    static const int RANK[] = {
        [OSC_EV_EXEC] = 0, [OSC_EV_PHASE] = 1,     [OSC_EV_INST] = 2,  [OSC_EV_NOTIFY] = 3,
        [OSC_EV_DMA] = 4,  [OSC_EV_SEMAPHORE] = 5, [OSC_EV_HAZARD] = 6};
    return RANK[kind];
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_start(const void *left, const void *right)
{
    const osc_event *a = left, *b = right;
    int o = order(a->start_ns, b->start_ns);
    if (o == 0)
        o = order(rank(a->kind), rank(b->kind));
    if (o == 0 && a->kind == OSC_EV_SEMAPHORE) {
        o = order((int64_t)a->a, (int64_t)b->a);
        return o != 0 ? o : order((int64_t)a->b, (int64_t)b->b);
    }
    if (o == 0)
        o = order(a->issuer, b->issuer);
    if (o == 0)
        o = order(a->engine, b->engine);
    if (o == 0)
        o = order(a->index, b->index);
    if (o == 0)
        o = order(a->end_ns, b->end_ns);
    return o != 0 ? o : order(a->ring, b->ring);
}

static void frame(osc_event **next, uint8_t kind, uint64_t a, int64_t from_ns, int64_t to_ns)
{
    osc_event *e = (*next)++;
    e->kind = kind;
    e->a = a;
    e->ready_ns = e->start_ns = from_ns;
    e->end_ns = to_ns;
}

static const osc_inst *inst_of(const dev_plan *plan, const dev_step *step)
{
    return &osc_program_stream(plan->program, (osc_engine)step->engine).inst[step->index];
}

static uint64_t elements(const osc_inst *inst)
{
    if (inst->dst.space == OSC_SPACE_NONE && inst->src[0].space == OSC_SPACE_NONE)
        return 0;
    return dev_elements(inst) *
           (inst->src[0].nparts > inst->dst.nparts ? inst->src[0].nparts : inst->dst.nparts);
}

static void instruction(osc_event **next, const dev_plan *plan, const dev_step *step)
{
    const osc_inst *inst = inst_of(plan, step);
    osc_event *e = (*next)++;
    e->kind = OSC_EV_INST;
    e->engine = step->engine;
    e->opcode = inst->opcode;
    e->index = step->index;
    e->wait_kind = step->wait_kind;
    e->wait_sem = step->wait_kind == DEV_WAIT_SEMAPHORE ? step->wait_sem : 0;
    e->ready_ns = ps_ns(step->ready_ps);
    e->start_ns = ps_ns(step->start_ps);
    e->end_ns = ps_ns(step->end_ps);
    e->b = elements(inst);
    if (inst->opcode != OSC_OP_NOTIFY)
        return;
    osc_event *notify = (*next)++;
    *notify = *e;
    notify->kind = OSC_EV_NOTIFY;
    notify->a = (uint64_t)inst->iimm;
}

static void transfer(osc_event **next, const dev_plan *plan, const dev_timeline *t,
                     const dev_step *step)
{
    const dev_flight *flight = &t->flight[step->flight];
    const dev_transfer_cost *cost = &plan->transfer[flight->cost];
    uint64_t bytes = cost->bytes, descriptors = cost->descriptors;
    for (uint32_t i = 0, rows = cost->rows; i < cost->engines; i++) {
        uint32_t mine = rows < cost->rows_each ? rows : cost->rows_each;
        const dev_ring_use *use = &t->use[flight->first_use + i];
        osc_event *e = (*next)++;
        e->kind = OSC_EV_DMA;
        e->engine = OSC_ENGINE_DMA;
        e->issuer = step->engine;
        e->opcode = inst_of(plan, step)->opcode;
        e->ring = (uint8_t)((flight->first_engine + i) % DEV_DMA_ENGINES);
        e->index = step->index;
        e->wait_kind = use->queued ? DEV_WAIT_BUSY : DEV_WAIT_START;
        e->ready_ns = ps_ns(flight->trigger_ps);
        e->start_ns = ps_ns(use->begin_ps);
        e->end_ns = ps_ns(use->end_ps);
        /* the last engine takes what rounding left */
        e->a = rows == mine ? bytes : cost->bytes * mine / cost->rows;
        e->b = rows == mine ? descriptors : cost->descriptors * mine / cost->rows;
        bytes -= e->a;
        descriptors -= e->b;
        rows -= mine;
    }
}

static int by_time(const void *left, const void *right)
{
    const dev_sem_change *a = left, *b = right;
    int o = order(a->time_ps, b->time_ps);
    if (o == 0)
        o = order(a->sem, b->sem);
    return o != 0 ? o : order(a->add, b->add);
}

static osc_status semaphores(osc_event **next, const dev_timeline *t, osc_err *err)
{
    if (t->change_count == 0)
        return OSC_OK;
    dev_sem_change *sorted = osc_calloc(t->change_count, sizeof *sorted);
    if (sorted == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "no memory for the records of an execution");
    uint64_t value[OSC_SEMAPHORES] = {0};
    memcpy(sorted, t->change, t->change_count * sizeof *sorted);
    qsort(sorted, t->change_count, sizeof *sorted, by_time);
    for (size_t i = 0; i < t->change_count; i++) {
        osc_event *e = (*next)++;
        value[sorted[i].sem] += sorted[i].add;
        e->kind = OSC_EV_SEMAPHORE;
        e->a = sorted[i].sem;
        e->b = value[sorted[i].sem];
        e->ready_ns = e->start_ns = e->end_ns = ps_ns(sorted[i].time_ps);
    }
    osc_free(sorted);
    return OSC_OK;
}

static size_t count_events(const dev_plan *plan, const dev_timeline *t)
{
    size_t notifications = 0;
    for (size_t i = 0; i < t->step_count; i++)
        notifications += inst_of(plan, &t->step[i])->opcode == OSC_OP_NOTIFY;
    return 3 + t->step_count + notifications + t->use_count + t->change_count;
}

osc_status dev_events_build(const dev_plan *plan, const dev_timeline *timeline,
                            const osc_sheet *sheet, dev_events *out, osc_err *err)
{
    assert(timeline->record);
    size_t count = count_events(plan, timeline);
    *out = (dev_events){osc_calloc(count, sizeof *out->event), 0};
    if (out->event == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "no memory for the records of an execution");
    osc_event *next = out->event;
    int64_t end_ns = ps_ns(timeline->end_ps);
    frame(&next, OSC_EV_EXEC, 0, 0, end_ns);
    frame(&next, OSC_EV_PHASE, 0, 0, (int64_t)(sheet->neff_preamble_ns + 0.5));
    frame(&next, OSC_EV_PHASE, 1, end_ns - (int64_t)(sheet->neff_postamble_ns + 0.5), end_ns);
    for (size_t i = 0; i < timeline->step_count; i++) {
        const dev_step *step = &timeline->step[i];
        instruction(&next, plan, step);
        if (step->flight != DEV_NO_FLIGHT)
            transfer(&next, plan, timeline, step);
    }
    osc_status status = semaphores(&next, timeline, err);
    if (status != OSC_OK) {
        dev_events_free(out);
        return status;
    }
    out->count = count;
    assert(next == out->event + count);
    qsort(out->event, count, sizeof *out->event, by_start);
    return OSC_OK;
}

void dev_events_free(dev_events *events)
{
    osc_free(events->event);
    *events = (dev_events){NULL, 0};
}

void dev_events_emit(const dev_events *events, int64_t start_ns, uint32_t exec,
                     const osc_event_sink *sink)
{
    enum { BATCH = 64 };
    osc_event batch[BATCH];
    for (size_t done = 0; done < events->count;) {
        uint32_t n = 0;
        for (; n < BATCH && done < events->count; n++, done++) {
            batch[n] = events->event[done];
            batch[n].ready_ns += start_ns;
            batch[n].start_ns += start_ns;
            batch[n].end_ns += start_ns;
            batch[n].exec = exec;
        }
        sink->emit(sink->context, batch, n);
    }
}
