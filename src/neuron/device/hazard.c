/*
 * hazard.c - happens-before by vector clocks over engine streams and transfers.
 *
 * A clock says, per engine, up to which of its steps (by start time) the owner knows to be
 * complete, and per semaphore, up to which of its changes (by time) it has waited for. An
 * engine's step raises a semaphore with the engine's clock attached; a wait for value v takes
 * over the clocks of exactly those changes that brought the semaphore to v, in order of time. A
 * transfer is ordered before something only if that something knows one of the changes the
 * transfer made; program order on the issuing engine does not count, because the trigger does not
 * wait for the data.
 *
 * Each memory keeps the accesses that can still conflict, and one bit per byte that was ever
 * touched: fresh bytes need no search, and reads of bytes nobody wrote are found. An access
 * leaves the list when a later one of the same shape that is ordered after it takes its place, or
 * when every engine that still has work in that memory knows it.
 *
 * It checks the observed schedule, so a race that another order of semaphore changes would expose
 * can stay hidden. Rejected: exploring orders; programs have thousands of changes.
 */
#include "neuron/device/hazard.h"

#include "base/mem.h"
#include "neuron/device/footprint.h"

#include <stdio.h>
#include <string.h>

#define NO_SEM UINT16_MAX
enum { SBUF_REGION = 0, PSUM_REGION = 1, FIRST_TENSOR_REGION = 2, MIN_SWEEP = 64 };

/* Times known: [0, OSC_ENGINE_COUNT) engines, then one per semaphore the program raises. */
typedef int64_t clock_time;

typedef struct access {
    dev_foot foot;
    clock_time start_ps;                 /* engine steps: the step's start */
    clock_time landed_ps[OSC_INST_INCS]; /* transfers: time of their changes */
    uint16_t landed_sem[OSC_INST_INCS];  /* compact semaphore numbers, NO_SEM where there is none */
    uint32_t index;
    uint8_t engine;
    bool write, transfer;
} access;

typedef struct region {
    access *list;
    uint32_t count, cap, sweep_at;
    uint64_t row_bytes; /* of a partition, or of the tensor */
    dev_bits touched;   /* written; in tensors with content from the start, read or written */
    bool tracked;       /* something in it can be written */
    bool filled;        /* has content before the program starts */
    bool used[OSC_ENGINE_COUNT];
    uint32_t last_use[OSC_ENGINE_COUNT]; /* last instruction of the stream that touches it */
} region;

typedef struct change {
    int64_t time_ps;
    uint64_t add;
    clock_time *clock; /* joined with the clocks of all earlier changes */
} change;

typedef struct sem_history {
    change *item;
    uint32_t count, cap;
    uint64_t dropped; /* value reached by the changes no longer listed */
    bool waits[OSC_ENGINE_COUNT];
} sem_history;

typedef struct meeting {
    int64_t number;
    clock_time *clock;
} meeting;

struct dev_hazard {
    const dev_plan *plan;
    uint32_t clock_size;
    uint16_t compact[OSC_SEMAPHORES];
    sem_history *history; /* by compact number */
    uint32_t sem_count;
    clock_time *clock[OSC_ENGINE_COUNT];
    meeting *meetings;
    uint32_t meeting_count;
    const clock_time *met[OSC_ENGINE_COUNT]; /* join before the next step */
    bool has_branches[OSC_ENGINE_COUNT];
    uint32_t pc[OSC_ENGINE_COUNT];
    region *regions;
    uint32_t region_count;
    uint32_t *region_of_tensor;
    dev_bits from_matmul; /* PSUM bytes last written by a matmul */
    dev_finding finding;
    bool failed;
};

/* ---- set-up ---- */

static osc_stream stream_of(const dev_hazard *h, unsigned e)
{
    return osc_program_stream(h->plan->program, (osc_engine)e);
}

static bool is_memory(const osc_ap *ap)
{
    return ap->space == OSC_SPACE_HBM || ap->space == OSC_SPACE_SBUF || ap->space == OSC_SPACE_PSUM;
}

static region *region_of(dev_hazard *h, const osc_ap *ap)
{
    if (ap->space == OSC_SPACE_SBUF)
        return &h->regions[SBUF_REGION];
    if (ap->space == OSC_SPACE_PSUM)
        return &h->regions[PSUM_REGION];
    return &h->regions[h->region_of_tensor[ap->tensor]];
}

static void number_semaphores(dev_hazard *h)
{
    memset(h->compact, 0xff, sizeof h->compact);
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        osc_stream stream = stream_of(h, e);
        for (uint32_t i = 0; i < stream.count; i++)
            for (unsigned k = 0; k < stream.inst[i].nincs; k++)
                if (h->compact[stream.inst[i].incs[k].sem] == NO_SEM)
                    h->compact[stream.inst[i].incs[k].sem] = (uint16_t)h->sem_count++;
    }
    h->clock_size = OSC_ENGINE_COUNT + h->sem_count;
}

/* What a tensor says about the memory it lies in. */
static void describe_region(region *r, const osc_tensor *tensor)
{
    uint8_t kind = tensor->kind;
    r->tracked |=
        kind == OSC_TENSOR_OUTPUT || kind == OSC_TENSOR_INOUT || kind == OSC_TENSOR_SCRATCH;
    r->filled |= kind == OSC_TENSOR_INPUT || kind == OSC_TENSOR_INOUT || kind == OSC_TENSOR_CONST;
    r->row_bytes = r->row_bytes > tensor->span_bytes ? r->row_bytes : tensor->span_bytes;
}

/* Gives every tensor its region. Tensors behind one slot are one memory. */
static bool number_tensors(dev_hazard *h)
{
    uint32_t count, slots = osc_program_slots(h->plan->program);
    const osc_tensor *tensor = osc_program_tensors(h->plan->program, &count);
    h->region_of_tensor = osc_calloc(count + 1u, sizeof *h->region_of_tensor);
    h->regions = osc_calloc(FIRST_TENSOR_REGION + count, sizeof *h->regions);
    uint32_t *of_slot = osc_calloc(slots + 1u, sizeof *of_slot); /* region, 0: none yet */
    bool complete = h->region_of_tensor != NULL && h->regions != NULL && of_slot != NULL;
    h->region_count = complete ? FIRST_TENSOR_REGION + count : 0;
    for (uint32_t i = 0; i < count && complete; i++) {
        uint32_t number = FIRST_TENSOR_REGION + i;
        if (tensor[i].slot < slots) {
            if (of_slot[tensor[i].slot] == 0)
                of_slot[tensor[i].slot] = number;
            number = of_slot[tensor[i].slot];
        }
        h->region_of_tensor[i] = number;
        describe_region(&h->regions[number], &tensor[i]);
    }
    osc_free(of_slot);
    return complete;
}

static void note_use(dev_hazard *h, const osc_ap *ap, unsigned e, uint32_t index)
{
    if (!is_memory(ap))
        return;
    region *r = region_of(h, ap);
    r->used[e] = true;
    r->last_use[e] = index;
}

static void note_uses(dev_hazard *h)
{
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        osc_stream stream = stream_of(h, e);
        for (uint32_t i = 0; i < stream.count; i++) {
            const osc_inst *inst = &stream.inst[i];
            note_use(h, &inst->dst, e, i);
            note_use(h, &inst->dst2, e, i);
            for (unsigned k = 0; k < 3; k++)
                note_use(h, &inst->src[k], e, i);
            for (unsigned k = 0; k < inst->nwaits; k++)
                if (h->compact[inst->waits[k].sem] != NO_SEM)
                    h->history[h->compact[inst->waits[k].sem]].waits[e] = true;
            h->has_branches[e] |= inst->opcode == OSC_OP_BRANCH;
        }
    }
}

static bool init_regions(dev_hazard *h, const osc_sheet *sheet)
{
    h->regions[SBUF_REGION].row_bytes = (uint64_t)sheet->sbuf_partition_bytes;
    h->regions[PSUM_REGION].row_bytes = (uint64_t)sheet->psum_partition_bytes;
    h->regions[SBUF_REGION].tracked = h->regions[PSUM_REGION].tracked = true;
    for (uint32_t i = 0; i < h->region_count; i++) {
        region *r = &h->regions[i];
        r->sweep_at = MIN_SWEEP;
        uint32_t rows = i < FIRST_TENSOR_REGION ? OSC_PARTITIONS : 1;
        if (r->tracked && !dev_bits_init(&r->touched, rows, r->row_bytes))
            return false;
    }
    return dev_bits_init(&h->from_matmul, OSC_PARTITIONS, h->regions[PSUM_REGION].row_bytes);
}

dev_hazard *dev_hazard_new(const dev_plan *plan, const osc_sheet *sheet)
{
    dev_hazard *h = osc_calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->plan = plan;
    number_semaphores(h);
    h->history = osc_calloc(h->sem_count + 1u, sizeof *h->history);
    bool complete = h->history != NULL && number_tensors(h);
    for (unsigned e = 0; e < OSC_ENGINE_COUNT && complete; e++) {
        h->clock[e] = osc_calloc(h->clock_size, sizeof *h->clock[e]);
        complete = h->clock[e] != NULL;
    }
    if (complete) {
        note_uses(h);
        complete = init_regions(h, sheet);
    }
    if (!complete) {
        dev_hazard_free(h);
        return NULL;
    }
    return h;
}

void dev_hazard_free(dev_hazard *h)
{
    if (h == NULL)
        return;
    for (uint32_t i = 0; h->history != NULL && i < h->sem_count; i++) {
        for (uint32_t k = 0; k < h->history[i].count; k++)
            osc_free(h->history[i].item[k].clock);
        osc_free(h->history[i].item);
    }
    for (uint32_t i = 0; h->regions != NULL && i < h->region_count; i++) {
        osc_free(h->regions[i].list);
        dev_bits_free(&h->regions[i].touched);
    }
    for (uint32_t i = 0; i < h->meeting_count; i++)
        osc_free(h->meetings[i].clock);
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        osc_free(h->clock[e]);
    dev_bits_free(&h->from_matmul);
    osc_free(h->meetings);
    osc_free(h->history);
    osc_free(h->regions);
    osc_free(h->region_of_tensor);
    osc_free(h);
}

const dev_finding *dev_hazard_finding(const dev_hazard *hazard)
{
    return &hazard->finding;
}

/* ---- clocks ---- */

static void join(dev_hazard *h, clock_time *into, const clock_time *from)
{
    for (uint32_t i = 0; i < h->clock_size; i++)
        into[i] = into[i] > from[i] ? into[i] : from[i];
}

/* Changes that every waiting engine knows add nothing any more: their clocks are in those
 * engines'. */
static void drop_known(dev_hazard *h, uint16_t number)
{
    sem_history *history = &h->history[number];
    uint32_t drop = 0;
    while (drop < history->count) {
        bool known = true;
        for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
            if (history->waits[e] &&
                h->clock[e][OSC_ENGINE_COUNT + number] < history->item[drop].time_ps)
                known = false;
        if (!known)
            break;
        history->dropped += history->item[drop].add;
        osc_free(history->item[drop].clock);
        drop++;
    }
    memmove(history->item, history->item + drop, (history->count - drop) * sizeof *history->item);
    history->count -= drop;
}

static bool grow_history(sem_history *history)
{
    if (history->count < history->cap)
        return true;
    uint32_t cap = history->cap == 0 ? 8 : history->cap * 2;
    void *larger = osc_realloc_array(history->item, cap, sizeof *history->item);
    if (larger == NULL)
        return false;
    history->item = larger;
    history->cap = cap;
    return true;
}

/* Enters a change of a semaphore at its place in time. */
static void raise(dev_hazard *h, uint16_t number, int64_t time_ps, uint64_t add,
                  const clock_time *clock)
{
    sem_history *history = &h->history[number];
    if (history->count == history->cap && history->count > 0)
        drop_known(h, number);
    clock_time *own = osc_calloc(h->clock_size, sizeof *own);
    if (own == NULL || !grow_history(history)) {
        osc_free(own);
        h->failed = true;
        return;
    }
    uint32_t at = history->count++;
    for (; at > 0 && history->item[at - 1].time_ps > time_ps; at--)
        history->item[at] = history->item[at - 1];
    memcpy(own, clock, h->clock_size * sizeof *own);
    if (own[OSC_ENGINE_COUNT + number] < time_ps)
        own[OSC_ENGINE_COUNT + number] = time_ps;
    history->item[at] = (change){time_ps, add, own};
    if (at > 0)
        join(h, own, history->item[at - 1].clock);
    for (uint32_t i = at + 1; i < history->count; i++)
        join(h, history->item[i].clock, own);
}

/* What an engine knows after waiting for a value. */
static void wait_for(dev_hazard *h, unsigned e, uint16_t number, uint32_t value)
{
    const sem_history *history = &h->history[number];
    uint64_t sum = history->dropped;
    for (uint32_t i = 0; i < history->count && sum < value; i++) {
        sum += history->item[i].add;
        if (sum >= value)
            join(h, h->clock[e], history->item[i].clock);
    }
}

static clock_time *meeting_clock(dev_hazard *h, int64_t number)
{
    for (uint32_t i = 0; i < h->meeting_count; i++)
        if (h->meetings[i].number == number)
            return h->meetings[i].clock;
    void *larger = osc_realloc_array(h->meetings, h->meeting_count + 1u, sizeof *h->meetings);
    clock_time *clock = osc_calloc(h->clock_size, sizeof *clock);
    if (larger != NULL)
        h->meetings = larger;
    if (larger == NULL || clock == NULL) {
        osc_free(clock);
        h->failed = true;
        return NULL;
    }
    h->meetings[h->meeting_count++] = (meeting){number, clock};
    return clock;
}

/* ---- accesses ---- */

/* True when the old access is complete for whoever owns the clock. */
static bool ordered(const access *old, const clock_time *clock, unsigned engine)
{
    if (!old->transfer)
        return old->engine == engine || clock[old->engine] >= old->start_ps;
    for (unsigned i = 0; i < OSC_INST_INCS; i++)
        if (old->landed_sem[i] != NO_SEM &&
            clock[OSC_ENGINE_COUNT + old->landed_sem[i]] >= old->landed_ps[i])
            return true;
    return false;
}

/* Engines that still have work in the region all know the access. */
static bool known_to_all(const dev_hazard *h, const region *r, const access *a)
{
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        bool working = r->used[e] && (h->has_branches[e] || h->pc[e] <= r->last_use[e]);
        if (working && !ordered(a, h->clock[e], e))
            return false;
    }
    return true;
}

static void sweep(const dev_hazard *h, region *r)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (!known_to_all(h, r, &r->list[i]))
            r->list[kept++] = r->list[i];
    r->count = kept;
    r->sweep_at = kept * 2 > MIN_SWEEP ? kept * 2 : MIN_SWEEP;
}

static void remember(dev_hazard *h, region *r, const access *a)
{
    if (r->count >= r->sweep_at)
        sweep(h, r);
    if (r->count == r->cap) {
        uint32_t cap = r->cap == 0 ? 16 : r->cap * 2;
        void *larger = osc_realloc_array(r->list, cap, sizeof *r->list);
        if (larger == NULL) {
            h->failed = true;
            return;
        }
        r->list = larger;
        r->cap = cap;
    }
    r->list[r->count++] = *a;
}

/* ---- reports ---- */

static void place_text(const dev_hazard *h, const osc_ap *ap, const dev_foot *foot, char *out,
                       size_t cap)
{
    if (ap->space == OSC_SPACE_HBM) {
        uint32_t count;
        const osc_tensor *tensor = osc_program_tensors(h->plan->program, &count);
        snprintf(out, cap, "bytes %lld-%lld of %.*s", (long long)foot->low,
                 (long long)foot->high - 1, OSC_STR_FMT(tensor[ap->tensor].name));
        return;
    }
    snprintf(out, cap, "%s partitions %u-%u bytes %lld-%lld",
             ap->space == OSC_SPACE_SBUF ? "SBUF" : "PSUM", foot->first_row,
             foot->first_row + foot->rows - 1, (long long)foot->low, (long long)foot->high - 1);
}

static osc_status report(dev_hazard *h, dev_rule rule, const access *now, const access *old,
                         const osc_ap *ap, osc_err *err)
{
    char name[128], other[128] = "", place[128];
    dev_name_inst(h->plan->program, now->engine, now->index, name, sizeof name);
    place_text(h, ap, &now->foot, place, sizeof place);
    h->finding = (dev_finding){rule, now->engine, old != NULL ? old->engine : now->engine,
                               now->index, old != NULL ? old->index : now->index};
    if (old != NULL)
        dev_name_inst(h->plan->program, old->engine, old->index, other, sizeof other);
    switch (rule) {
    case DEV_RULE_UNWRITTEN:
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "%s reads %s, which nothing has written", name, place);
    case DEV_RULE_ACCUMULATE:
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "%s accumulates on %s, which no matmul has written", name, place);
    case DEV_RULE_READ_AFTER_WRITE:
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "%s reads %s, which %s writes, with no semaphore between", name, place,
                        other);
    case DEV_RULE_WRITE_AFTER_WRITE:
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "%s writes %s, which %s writes too, with no semaphore between", name, place,
                        other);
    case DEV_RULE_WRITE_AFTER_READ:
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "%s writes %s, which %s reads, with no semaphore between", name, place,
                        other);
    }
    return OSC_EHAZARD;
}

/* ---- checking ---- */

/* The newer access makes the older one superfluous: ordered after it, same bytes, and at least as
 * strict. */
static bool replaces(const access *now, const access *old)
{
    if (!dev_foot_same(&now->foot, &old->foot))
        return false;
    return now->write ||
           (!old->write && !now->transfer && !old->transfer && old->engine == now->engine);
}

/* Looks through what the region remembers; drops what the new access replaces. */
static osc_status search(dev_hazard *h, region *r, const access *now, const osc_ap *ap,
                         osc_err *err)
{
    const clock_time *clock = h->clock[now->engine];
    for (uint32_t i = 0; i < r->count;) {
        access *old = &r->list[i];
        bool same_step = old->engine == now->engine && old->start_ps == now->start_ps;
        bool conflict = (old->write || now->write) && !same_step;
        if (ordered(old, clock, now->engine)) {
            if (replaces(now, old)) {
                *old = r->list[--r->count];
                continue;
            }
        } else if (conflict && dev_foot_overlap(&now->foot, &old->foot)) {
            dev_rule rule = !now->write  ? DEV_RULE_READ_AFTER_WRITE
                            : old->write ? DEV_RULE_WRITE_AFTER_WRITE
                                         : DEV_RULE_WRITE_AFTER_READ;
            return report(h, rule, now, old, ap, err);
        }
        i++;
    }
    return OSC_OK;
}

static osc_status touch(dev_hazard *h, const osc_ap *ap, access *now, bool write, osc_err *err)
{
    if (!is_memory(ap))
        return OSC_OK;
    region *r = region_of(h, ap);
    if (!r->tracked)
        return OSC_OK;
    now->foot = dev_foot_of(ap);
    now->write = write;
    if (!write && !r->filled && !dev_bits_all(&r->touched, &now->foot))
        return report(h, DEV_RULE_UNWRITTEN, now, NULL, ap, err);
    if (dev_bits_any(&r->touched, &now->foot)) {
        osc_status status = search(h, r, now, ap, err);
        if (status != OSC_OK)
            return status;
    }
    if (write || r->filled)
        dev_bits_set(&r->touched, &now->foot, true);
    remember(h, r, now);
    return OSC_OK;
}

/* PSUM remembers which bytes a matmul wrote last: only on those may another accumulate (1.4). */
static osc_status check_psum(dev_hazard *h, const osc_inst *inst, access *now, osc_err *err)
{
    if (inst->dst.space != OSC_SPACE_PSUM)
        return OSC_OK;
    now->foot = dev_foot_of(&inst->dst);
    bool matmul = inst->opcode == OSC_OP_MATMUL;
    if (matmul && (inst->flags & OSC_INST_ACCUMULATE) != 0 &&
        !dev_bits_all(&h->from_matmul, &now->foot))
        return report(h, DEV_RULE_ACCUMULATE, now, NULL, &inst->dst, err);
    dev_bits_set(&h->from_matmul, &now->foot, matmul);
    return OSC_OK;
}

static osc_status check_operands(dev_hazard *h, const osc_inst *inst, access *now, osc_err *err)
{
    osc_status status = OSC_OK;
    for (unsigned i = 0; i < 3 && status == OSC_OK; i++)
        status = touch(h, &inst->src[i], now, false, err);
    if (status == OSC_OK)
        status = check_psum(h, inst, now, err);
    if (status == OSC_OK)
        status = touch(h, &inst->dst, now, true, err);
    if (status == OSC_OK)
        status = touch(h, &inst->dst2, now, true, err);
    return status;
}

static access access_of(const dev_hazard *h, const osc_inst *inst, const dev_step *step)
{
    access a;
    memset(&a, 0, sizeof a);
    a.engine = step->engine;
    a.index = step->index;
    a.start_ps = step->start_ps;
    a.transfer = inst->opcode == OSC_OP_DMA_COPY || inst->opcode == OSC_OP_DMA_TRANSPOSE;
    for (unsigned i = 0; i < OSC_INST_INCS; i++) {
        a.landed_sem[i] = a.transfer && i < inst->nincs ? h->compact[inst->incs[i].sem] : NO_SEM;
        a.landed_ps[i] = step->signal_ps;
    }
    return a;
}

/* After the checks: what the step knows goes out with its increments. */
static void publish(dev_hazard *h, const osc_inst *inst, const dev_step *step, bool transfer)
{
    clock_time *clock = h->clock[step->engine];
    clock[step->engine] = step->start_ps;
    uint32_t times = transfer ? osc_isa_dma_engines(inst) : 1;
    for (unsigned i = 0; i < inst->nincs; i++)
        raise(h, h->compact[inst->incs[i].sem], step->signal_ps,
              (uint64_t)inst->incs[i].value * times, clock);
    if (inst->opcode != OSC_OP_BARRIER)
        return;
    clock_time *shared = meeting_clock(h, inst->iimm);
    if (shared != NULL)
        join(h, shared, clock);
    h->met[step->engine] = shared;
}

osc_status dev_hazard_step(void *context, const dev_step *step, osc_err *err)
{
    dev_hazard *h = context;
    unsigned e = step->engine;
    const osc_inst *inst = &stream_of(h, e).inst[step->index];
    h->pc[e] = step->index;
    if (h->met[e] != NULL) {
        join(h, h->clock[e], h->met[e]);
        h->met[e] = NULL;
    }
    for (unsigned i = 0; i < inst->nwaits; i++)
        if (h->compact[inst->waits[i].sem] != NO_SEM)
            wait_for(h, e, h->compact[inst->waits[i].sem], inst->waits[i].value);
    access now = access_of(h, inst, step);
    osc_status status = check_operands(h, inst, &now, err);
    if (status != OSC_OK)
        return status;
    publish(h, inst, step, now.transfer);
    if (h->failed)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory for the hazard checker");
    return OSC_OK;
}
