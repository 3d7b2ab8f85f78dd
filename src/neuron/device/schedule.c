/*
 * schedule.c - five in-order engines, sixteen DMA engines, counting semaphores, in device time.
 *
 * The idea: every engine has a candidate start for the instruction at its head, the latest of:
 * engine free, waits met, result it reads visible, stage free. The engine with the earliest
 * candidate goes next. An instruction not yet started can only signal after its own start, which
 * is not earlier, so no later decision can move the chosen start: one pass, no event queue,
 * starts come out in order. Candidates are computed anew only when their engine moves or one of
 * their semaphores changes.
 *
 * A transfer's semaphore rises when its last DMA engine is done, not in up to 16 steps: what
 * waits for a transfer waits for all of it. Rejected: a heap of events. It costs more than the
 * five comparisons that replace it, and starts would have to be sorted again for ties.
 */
#include "neuron/device/schedule.h"

#include "base/buf.h"
#include "base/mem.h"
#include "neuron/device/engine.h"
#include "neuron/device/flight.h"
#include "neuron/device/semaphore.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Steps beyond one for each instruction, which only loops make: more is taken for one without
 * end. */
#define MAX_LOOP_STEPS (UINT64_C(1) << 21)

typedef struct engine {
    const dev_cost *cost;
    uint32_t count, pc;
    int64_t free_ps;      /* next instruction may start */
    int64_t visible_ps;   /* all results visible */
    int64_t candidate_ps; /* start of the head; DEV_NEVER while blocked or done */
    int64_t busy_until_ps;
    uint16_t why_sem;
    uint8_t why;
    bool in_barrier;
    size_t barrier_step; /* its step in the timeline, to be ended when the barrier opens */
} engine;

/* The PE array's stages (1.6): weights load behind a running stream into a second buffer. */
typedef struct array_state {
    int64_t stream_free_ps;
    int64_t weights_usable_ps;
    int64_t buffer_free_ps; /* the spare weight buffer */
    int64_t ramp_busy_ps;   /* busy time since the rate limit was last armed */
} array_state;

typedef struct barrier {
    int64_t number;
    int64_t latest_ps;
    uint8_t members, arrived; /* bit per engine */
} barrier;

typedef struct schedule {
    const dev_schedule_args *args;
    const osc_sheet *sheet;
    dev_timeline *timeline;
    osc_err *err;
    engine engine[OSC_ENGINE_COUNT];
    dev_semaphore sem[OSC_SEMAPHORES];
    array_state array;
    dev_dma_state dma;
    int64_t sbuf_port_ps[OSC_ENGINE_COUNT]; /* end of its last use */
    int64_t bank_ps[OSC_ENGINE_COUNT][OSC_PSUM_BANKS];
    barrier *barriers;
    uint32_t barrier_count;
    dev_registers own_registers;
    dev_registers *registers;
    int64_t now_ps, hop_ps, landed_ps, sem_write_ps, last_landed_ps;
    uint64_t steps;
    uint8_t table_set; /* function set Scalar holds; 0 at the start: none */
    bool failed;       /* out of memory */
} schedule;

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t ns_ps(double ns)
{
    return (int64_t)(ns * 1000.0 + 0.5);
}

/* ---- semaphores ---- */

static void find_candidate(schedule *s, unsigned e);

static void post(schedule *s, uint16_t number, int64_t time_ps, uint64_t add)
{
    dev_semaphore *sem = &s->sem[number];
    if (!dev_semaphore_add(sem, s->now_ps, time_ps, add)) {
        s->failed = true;
        return;
    }
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        if (((unsigned)sem->waiters >> e & 1u) != 0)
            find_candidate(s, e);
}

/* Raises the semaphores of an instruction; they change at changed_ps and are seen at seen_ps. */
static void signal_all(schedule *s, const dev_cost *cost, int64_t changed_ps, int64_t seen_ps,
                       uint32_t times)
{
    for (unsigned i = 0; i < cost->nincs; i++) {
        uint64_t add = (uint64_t)cost->incs[i].value * times;
        post(s, cost->incs[i].sem, seen_ps, add);
        if (!s->timeline->record)
            continue;
        dev_timeline *t = s->timeline;
        void *array = t->change;
        dev_sem_change *change =
            dev_timeline_push(t, &array, &t->change_count, &t->change_cap, sizeof *change);
        t->change = array;
        if (change != NULL)
            *change = (dev_sem_change){changed_ps, (uint32_t)add, cost->incs[i].sem};
    }
}

/* ---- candidates ---- */

static void set_waiting(schedule *s, unsigned e, const dev_cost *cost, bool on)
{
    for (unsigned i = 0; i < cost->nwaits; i++) {
        dev_semaphore *sem = &s->sem[cost->waits[i].sem];
        uint8_t bit = (uint8_t)(1u << e);
        sem->waiters = on ? (uint8_t)(sem->waiters | bit) : (uint8_t)(sem->waiters & ~bit);
    }
}

static void no_earlier(engine *g, int64_t time_ps, uint8_t why)
{
    if (time_ps > g->candidate_ps) {
        g->candidate_ps = time_ps;
        g->why = why;
    }
}

static void find_candidate(schedule *s, unsigned e)
{
    engine *g = &s->engine[e];
    if (g->pc >= g->count || g->in_barrier) {
        g->candidate_ps = DEV_NEVER;
        return;
    }
    const dev_cost *cost = &g->cost[g->pc];
    g->candidate_ps = g->free_ps;
    g->why = DEV_WAIT_NONE;
    if (cost->depends)
        no_earlier(g, g->visible_ps + s->hop_ps, DEV_WAIT_BUSY);
    if (cost->kind == DEV_WEIGHTS)
        no_earlier(g, s->array.buffer_free_ps, DEV_WAIT_BUSY);
    if (cost->kind == DEV_STREAM)
        no_earlier(g, later(s->array.stream_free_ps, s->array.weights_usable_ps), DEV_WAIT_BUSY);
    for (unsigned i = 0; i < cost->nwaits; i++) {
        int64_t time_ps = dev_semaphore_reached(&s->sem[cost->waits[i].sem], cost->waits[i].value);
        if (time_ps > g->candidate_ps)
            g->why_sem = cost->waits[i].sem;
        no_earlier(g, time_ps, DEV_WAIT_SEMAPHORE);
    }
}

/* The next instruction of an engine becomes its head. */
static void advance(schedule *s, unsigned e, uint32_t pc)
{
    engine *g = &s->engine[e];
    set_waiting(s, e, &g->cost[g->pc], false);
    g->pc = pc;
    if (pc < g->count)
        set_waiting(s, e, &g->cost[pc], true);
    find_candidate(s, e);
}

/* ---- ports (1.5) ---- */

static int64_t port_free(const schedule *s, unsigned e, const dev_cost *cost)
{
    int64_t free_ps = 0;
    if (cost->sbuf_port)
        free_ps = s->sbuf_port_ps[e == OSC_ENGINE_VECTOR ? OSC_ENGINE_GPSIMD : OSC_ENGINE_VECTOR];
    if (cost->psum_banks == 0)
        return free_ps;
    unsigned other = e == OSC_ENGINE_VECTOR ? OSC_ENGINE_SCALAR : OSC_ENGINE_VECTOR;
    for (unsigned bank = 0; bank < OSC_PSUM_BANKS; bank++)
        if ((cost->psum_banks >> bank & 1u) != 0)
            free_ps = later(free_ps, s->bank_ps[other][bank]);
    return free_ps;
}

static void take_ports(schedule *s, unsigned e, const dev_cost *cost, int64_t until_ps)
{
    if (cost->sbuf_port)
        s->sbuf_port_ps[e] = until_ps;
    for (unsigned bank = 0; cost->psum_banks >> bank != 0; bank++)
        if ((cost->psum_banks >> bank & 1u) != 0)
            s->bank_ps[e][bank] = until_ps;
}

/* ---- the PE array ---- */

/* 1.3: after idling the array runs at pe_ramp_start of its rate and gains the rest linearly over
 * pe_ramp_us of work. Idle for half of the window arms the limit again. */
static int64_t ramped(schedule *s, int64_t start_ps, int64_t busy_ps)
{
    array_state *a = &s->array;
    double ramp_ps = s->sheet->pe_ramp_us * 1e6, window_ps = s->sheet->pe_ramp_window_us * 1e6;
    if (s->sheet->pe_ramp_start >= 1 || ramp_ps <= 0)
        return busy_ps;
    if ((double)(start_ps - a->stream_free_ps) > window_ps / 2)
        a->ramp_busy_ps = 0;
    double done = (double)a->ramp_busy_ps / ramp_ps;
    double rate = done >= 1 ? 1 : s->sheet->pe_ramp_start + (1 - s->sheet->pe_ramp_start) * done;
    int64_t real_ps = (int64_t)((double)busy_ps / rate + 0.5);
    a->ramp_busy_ps += real_ps;
    return real_ps;
}

static void start_weights(schedule *s, engine *g, const dev_cost *cost, dev_step *step)
{
    s->array.weights_usable_ps = step->start_ps + cost->busy_ps;
    step->end_ps = step->start_ps + cost->alone_ps;
    s->array.buffer_free_ps = step->end_ps; /* or when a stream takes the weights over */
    g->free_ps = step->start_ps;
}

static void start_stream(schedule *s, engine *g, const dev_cost *cost, dev_step *step)
{
    int64_t busy_ps = ramped(s, step->start_ps, cost->busy_ps);
    s->array.stream_free_ps = step->start_ps + busy_ps;
    s->array.buffer_free_ps = step->start_ps;
    step->end_ps = step->start_ps + busy_ps + (cost->alone_ps - cost->busy_ps);
    g->free_ps = step->start_ps;
}

/* ---- transfers ---- */

static void keep_flight(schedule *s, const dev_flight *flight, const dev_ring_use *uses,
                        uint32_t count)
{
    dev_timeline *t = s->timeline;
    void *array = t->flight;
    dev_flight *kept = dev_timeline_push(t, &array, &t->flight_count, &t->flight_cap, sizeof *kept);
    t->flight = array;
    if (kept != NULL) {
        *kept = *flight;
        kept->first_use = (uint32_t)t->use_count;
    }
    for (uint32_t i = 0; i < count; i++) {
        array = t->use;
        dev_ring_use *use = dev_timeline_push(t, &array, &t->use_count, &t->use_cap, sizeof *use);
        t->use = array;
        if (use != NULL)
            *use = uses[i];
    }
}

static void keep_interval(schedule *s, int64_t begin_ps, int64_t end_ps)
{
    dev_timeline *t = s->timeline;
    void *array = t->moving;
    dev_interval *m = dev_timeline_push(t, &array, &t->moving_count, &t->moving_cap, sizeof *m);
    t->moving = array;
    if (m != NULL)
        *m = (dev_interval){begin_ps, end_ps};
}

/* Returns when the last byte has moved. */
static int64_t fly(schedule *s, const dev_cost *trigger, dev_step *step)
{
    const dev_transfer_cost *cost = &s->args->plan->transfer[trigger->transfer];
    dev_ring_use uses[DEV_DMA_ENGINES];
    dev_flight flight = dev_fly(&s->dma, cost, step->start_ps, uses);
    flight.cost = trigger->transfer;
    s->timeline->transfers++;
    s->timeline->dma_bytes += cost->bytes;
    keep_interval(s, flight.begin_ps, flight.end_ps);
    if (s->timeline->record) {
        step->flight = (uint32_t)s->timeline->flight_count;
        keep_flight(s, &flight, uses, cost->engines);
    }
    return flight.end_ps;
}

/* ---- registers, branches, barriers ---- */

static const osc_inst *inst_of(const schedule *s, unsigned e, uint32_t index)
{
    return &osc_program_stream(s->args->plan->program, (osc_engine)e).inst[index];
}

static int32_t register_value(const schedule *s, unsigned e, const osc_ap *ap, int64_t otherwise)
{
    if (ap->space == OSC_SPACE_REG)
        return (*s->registers)[e][(uint64_t)ap->offset % OSC_REGISTERS];
    return (int32_t)(uint32_t)(uint64_t)otherwise;
}

/* Keeps the schedule's own registers, unless the value side of the run does. */
static void track_register(schedule *s, unsigned e, uint32_t index, uint8_t opcode)
{
    if (s->registers != &s->own_registers)
        return;
    if (opcode != OSC_OP_REG_MOVE && opcode != OSC_OP_REG_ALU)
        return;
    const osc_inst *inst = inst_of(s, e, index);
    int32_t *target = &(*s->registers)[e][(uint64_t)inst->iimm2 % OSC_REGISTERS];
    if (opcode == OSC_OP_REG_MOVE)
        *target = (int32_t)(uint32_t)(uint64_t)inst->iimm;
    else
        *target = dev_register_alu(inst->alu[0], register_value(s, e, &inst->src[0], 0),
                                   register_value(s, e, &inst->src[1], inst->iimm));
}

static uint32_t branch_target(const schedule *s, unsigned e, uint32_t index)
{
    const osc_inst *inst = inst_of(s, e, index);
    int32_t value = register_value(s, e, &inst->src[0], 0);
    int32_t taken = dev_register_alu(inst->alu[0], value, (int32_t)(uint32_t)(uint64_t)inst->iimm);
    return taken != 0 ? (uint32_t)inst->iimm2 : index + 1;
}

static barrier *barrier_of(schedule *s, unsigned e, uint32_t index)
{
    int64_t number = inst_of(s, e, index)->iimm;
    for (uint32_t i = 0; i < s->barrier_count; i++)
        if (s->barriers[i].number == number)
            return &s->barriers[i];
    assert(0 && "every barrier was found at the start");
    return NULL;
}

/* The engine has come to a barrier; when it is the last, all members go on. */
static void arrive(schedule *s, unsigned e, const dev_cost *cost, int64_t done_ps)
{
    barrier *b = barrier_of(s, e, s->engine[e].pc);
    b->arrived = (uint8_t)(b->arrived | 1u << e);
    b->latest_ps = later(b->latest_ps, done_ps);
    s->engine[e].in_barrier = true;
    s->engine[e].barrier_step = s->timeline->step_count - 1;
    find_candidate(s, e);
    if (b->arrived != b->members)
        return;
    int64_t free_ps = b->latest_ps + cost->busy_ps;
    b->arrived = 0;
    b->latest_ps = 0;
    for (unsigned i = 0; i < OSC_ENGINE_COUNT; i++) {
        if (((unsigned)b->members >> i & 1u) == 0)
            continue;
        s->engine[i].in_barrier = false;
        if (s->timeline->record && !s->timeline->failed)
            s->timeline->step[s->engine[i].barrier_step].end_ps = free_ps;
        s->engine[i].free_ps = free_ps;
        s->engine[i].visible_ps = later(s->engine[i].visible_ps, free_ps);
        advance(s, i, s->engine[i].pc + 1);
    }
}

/* ---- one step ---- */

static void account(schedule *s, unsigned e, const dev_step *step)
{
    engine *g = &s->engine[e];
    g->visible_ps = later(g->visible_ps, step->end_ps);
    if (step->end_ps > g->busy_until_ps) {
        s->timeline->busy_ps[e] += step->end_ps - later(step->start_ps, g->busy_until_ps);
        g->busy_until_ps = step->end_ps;
    }
    s->timeline->instructions++;
}

static osc_status publish(schedule *s, const dev_step *step)
{
    dev_timeline *t = s->timeline;
    if (t->record) {
        void *array = t->step;
        dev_step *kept = dev_timeline_push(t, &array, &t->step_count, &t->step_cap, sizeof *kept);
        t->step = array;
        if (kept != NULL)
            *kept = *step;
    }
    for (uint32_t i = 0; i < s->args->observer_count; i++) {
        const dev_observer *o = &s->args->observers[i];
        osc_status status = o->step(o->context, step, s->err);
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}

/* An activation whose function set is not the loaded one loads it first, as the hardware would
 * (neuroncore-model.md 3.1); a compiler avoids that by an act_table_load in good time. */
static int64_t table_load(schedule *s, const dev_cost *cost)
{
    if (cost->table_set == 0 || cost->table_set == s->table_set)
        return 0;
    s->table_set = cost->table_set;
    return cost->opcode == OSC_OP_ACT_TABLE_LOAD ? 0 : ns_ps(s->sheet->act_table_load_ns);
}

static void start_compute(schedule *s, engine *g, const dev_cost *cost, dev_step *step)
{
    bool piped = step->start_ps < g->visible_ps;
    int64_t table_ps = table_load(s, cost);
    step->end_ps = step->start_ps + table_ps + (piped ? cost->piped_ps : cost->alone_ps);
    g->free_ps = step->start_ps + table_ps + cost->busy_ps;
}

/* Starts the head of engine e at its candidate time. */
static osc_status start(schedule *s, unsigned e)
{
    engine *g = &s->engine[e];
    const dev_cost *cost = &g->cost[g->pc];
    dev_step step = {.ready_ps = g->free_ps,
                     .start_ps = g->candidate_ps,
                     .index = g->pc,
                     .flight = DEV_NO_FLIGHT,
                     .wait_sem = g->why_sem,
                     .engine = (uint8_t)e,
                     .wait_kind = g->why};
    uint32_t next = g->pc + 1, signals = 1;
    s->now_ps = step.start_ps;
    switch ((dev_kind)cost->kind) {
    case DEV_COMPUTE: start_compute(s, g, cost, &step); break;
    case DEV_WEIGHTS: start_weights(s, g, cost, &step); break;
    case DEV_STREAM: start_stream(s, g, cost, &step); break;
    case DEV_DMA:
        step.end_ps = step.start_ps + cost->busy_ps;
        g->free_ps = step.end_ps;
        break;
    case DEV_CONTROL:
    case DEV_BRANCH:
    case DEV_BARRIER:
        step.end_ps = later(step.start_ps + cost->alone_ps, g->visible_ps);
        g->free_ps = step.start_ps + cost->busy_ps;
        break;
    }
    account(s, e, &step);
    take_ports(s, e, cost, g->free_ps);
    int64_t changed_ps = step.end_ps, seen_ps = step.end_ps + s->hop_ps;
    if (cost->kind == DEV_DMA) {
        changed_ps = fly(s, cost, &step) + s->sem_write_ps;
        seen_ps = changed_ps + s->landed_ps;
        signals = s->args->plan->transfer[cost->transfer].engines;
        s->last_landed_ps = later(s->last_landed_ps, seen_ps);
    }
    step.signal_ps = seen_ps;
    osc_status status = publish(s, &step);
    if (status != OSC_OK)
        return status;
    track_register(s, e, step.index, cost->opcode);
    if (cost->kind == DEV_BRANCH)
        next = branch_target(s, e, step.index);
    if (cost->kind == DEV_BARRIER)
        arrive(s, e, cost, step.end_ps - cost->alone_ps);
    else
        advance(s, e, next);
    signal_all(s, cost, changed_ps, seen_ps, signals);
    return OSC_OK;
}

/* The engine whose head starts first; ports may still push a candidate back. OSC_ENGINE_COUNT:
 * none. */
static unsigned choose(schedule *s)
{
    for (;;) {
        unsigned best = OSC_ENGINE_COUNT;
        int64_t best_ps = DEV_NEVER;
        for (unsigned e = 1; e < OSC_ENGINE_COUNT; e++) {
            if (s->engine[e].candidate_ps < best_ps) {
                best = e;
                best_ps = s->engine[e].candidate_ps;
            }
        }
        if (best == OSC_ENGINE_COUNT)
            return best;
        engine *g = &s->engine[best];
        const dev_cost *cost = &g->cost[g->pc];
        if (!cost->sbuf_port && cost->psum_banks == 0)
            return best;
        int64_t port_ps = port_free(s, best, cost);
        if (port_ps <= best_ps)
            return best;
        no_earlier(g, port_ps, DEV_WAIT_PORT);
    }
}

/* ---- deadlock in words ---- */

/* Names the first instruction that has not run yet and would raise the semaphore. */
static void say_who_raises(const schedule *s, unsigned number, osc_buf *out)
{
    char name[128];
    for (unsigned e = 1; e < OSC_ENGINE_COUNT; e++) {
        const engine *g = &s->engine[e];
        for (uint32_t i = g->pc; i < g->count; i++) {
            for (unsigned k = 0; k < g->cost[i].nincs; k++) {
                if (g->cost[i].incs[k].sem != number)
                    continue;
                dev_name_inst(s->args->plan->program, e, i, name, sizeof name);
                osc_buf_printf(out, ", which %s would raise", name);
                return;
            }
        }
    }
    osc_buf_cstr(out, ", which nobody left would raise");
}

static void say_barrier(schedule *s, unsigned e, osc_buf *out)
{
    const barrier *b = barrier_of(s, e, s->engine[e].pc);
    osc_buf_printf(out, "waits in barrier %lld for", (long long)b->number);
    for (unsigned i = 1; i < OSC_ENGINE_COUNT; i++)
        if ((b->members >> i & 1u) != 0 && (b->arrived >> i & 1u) == 0)
            osc_buf_printf(out, " %s", osc_engine_name((osc_engine)i));
}

static void say_blocked(schedule *s, unsigned e, osc_buf *out)
{
    const engine *g = &s->engine[e];
    char name[128];
    dev_name_inst(s->args->plan->program, e, g->pc, name, sizeof name);
    osc_buf_printf(out, "%s%s ", out->len > 0 ? "; " : "", name);
    if (g->in_barrier) {
        say_barrier(s, e, out);
        return;
    }
    const dev_cost *cost = &g->cost[g->pc];
    for (unsigned i = 0; i < cost->nwaits; i++) {
        const dev_semaphore *sem = &s->sem[cost->waits[i].sem];
        if (sem->total >= cost->waits[i].value)
            continue;
        osc_buf_printf(out, "waits for semaphore %u >= %u, now %llu", cost->waits[i].sem,
                       cost->waits[i].value, (unsigned long long)sem->total);
        say_who_raises(s, cost->waits[i].sem, out);
        return;
    }
}

static osc_status report_deadlock(schedule *s)
{
    osc_buf out;
    osc_buf_init(&out, sizeof((osc_err *)0)->message);
    for (unsigned e = 1; e < OSC_ENGINE_COUNT; e++)
        if (s->engine[e].pc < s->engine[e].count)
            say_blocked(s, e, &out);
    osc_status status =
        osc_fail(s->err, OSC_EDEADLOCK, NULL, OSC_NO_OFFSET, "deadlock: %s", osc_buf_c_str(&out));
    osc_buf_free(&out);
    return status;
}

/* ---- the run ---- */

/* Finds which engines meet in which barrier. */
static osc_status find_barriers(schedule *s)
{
    const dev_plan *plan = s->args->plan;
    uint32_t total = 0;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        for (uint32_t i = 0; i < plan->count[e]; i++)
            total += plan->cost[e][i].kind == DEV_BARRIER;
    if (total == 0)
        return OSC_OK;
    s->barriers = osc_calloc(total, sizeof *s->barriers);
    if (s->barriers == NULL)
        return osc_fail(s->err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory for %u barriers",
                        total);
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        for (uint32_t i = 0; i < plan->count[e]; i++) {
            if (plan->cost[e][i].kind != DEV_BARRIER)
                continue;
            int64_t number = inst_of(s, e, i)->iimm;
            uint32_t at = 0;
            while (at < s->barrier_count && s->barriers[at].number != number)
                at++;
            s->barrier_count += at == s->barrier_count;
            s->barriers[at].number = number;
            s->barriers[at].members = (uint8_t)(s->barriers[at].members | 1u << e);
        }
    }
    return OSC_OK;
}

static void begin(schedule *s)
{
    const osc_sheet *sheet = s->sheet;
    const dev_plan *plan = s->args->plan;
    s->hop_ps = ns_ps(sheet->sem_hop_ns);
    s->landed_ps = ns_ps(sheet->dma_wake_ns);
    s->sem_write_ps = ns_ps(sheet->dma_sem_write_ns);
    dev_dma_start(&s->dma, sheet);
    s->registers = s->args->registers != NULL ? s->args->registers : &s->own_registers;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        engine *g = &s->engine[e];
        g->cost = plan->cost[e];
        g->count = plan->count[e];
        g->free_ps = ns_ps(sheet->neff_preamble_ns);
        if (g->count > 0)
            set_waiting(s, e, &g->cost[0], true);
        find_candidate(s, e);
    }
}

static osc_status run_all(schedule *s)
{
    uint64_t limit = osc_program_inst_count(s->args->plan->program) + MAX_LOOP_STEPS;
    for (unsigned e; (e = choose(s)) != OSC_ENGINE_COUNT;) {
        osc_status status = start(s, e);
        if (status != OSC_OK)
            return status;
        if (s->failed || s->timeline->failed)
            return osc_fail(s->err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                            "no memory to schedule a program");
        if (++s->steps > limit)
            return osc_fail(s->err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                            "the program runs more than %llu instructions; does a loop not end?",
                            (unsigned long long)limit);
    }
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        if (s->engine[e].pc < s->engine[e].count)
            return report_deadlock(s);
    return OSC_OK;
}

/* The postamble begins when every result is visible and the end of every transfer has been seen. */
static void finish(schedule *s)
{
    dev_timeline *t = s->timeline;
    t->end_ps = later(ns_ps(s->sheet->neff_preamble_ns), s->last_landed_ps);
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        t->end_ps = later(t->end_ps, later(s->engine[e].visible_ps, s->engine[e].free_ps));
    t->end_ps += ns_ps(s->sheet->neff_postamble_ns);
    t->busy_ps[OSC_ENGINE_DMA] = dev_timeline_dma_busy(t);
}

osc_status dev_schedule_run(const dev_schedule_args *args, dev_timeline *timeline, osc_err *err)
{
    schedule *s = osc_calloc(1, sizeof *s);
    if (s == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory to schedule a program");
    s->args = args;
    s->sheet = args->sheet;
    s->timeline = timeline;
    s->err = err;
    osc_status status = find_barriers(s);
    if (status == OSC_OK) {
        begin(s);
        status = run_all(s);
    }
    if (status == OSC_OK)
        finish(s);
    for (unsigned i = 0; i < OSC_SEMAPHORES; i++)
        dev_semaphore_free(&s->sem[i]);
    osc_free(s->barriers);
    osc_free(s);
    return status;
}
