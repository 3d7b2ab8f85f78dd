/*
 * sync.c - derives semaphores from what instructions read and write.
 *
 * Each engine has one counting semaphore (its number), raised by those of its instructions that someone
 * waits for. DMA transfers finish out of order and raise a semaphore once per DMA engine, so two of them
 * must never count on the same semaphore at once: each transfer takes a semaphore of a pool whose last
 * transfer the issuing engine already knows to be complete.
 *
 * What an engine knows is a vector clock: for each engine the number of instructions, for each pool
 * semaphore the number of transfers, that are complete whenever this engine goes on. A wait joins the
 * clock of what was waited for, and a dependence that the clock already covers costs nothing:
 *
 *     Sync    dma x -> A        dma A' ...            Vector waits once per tile, not once per operand
 *     Vector  wait(dma) A+A -> B   B*g -> C           second instruction: same engine, in order, no wait
 *
 * Clocks are immutable versions, shared by all instructions issued between two waits of an engine.
 *
 * Rejected: semaphores written by the lowering code (one forgotten edge is a wrong value on some shape
 * nobody tested), and a dependence graph over the whole program (a large matmul has 10^5 instructions;
 * the outstanding accesses at any moment are a few hundred).
 */
#include "neuron/compiler/sync.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define DMA_POOL  96u /* semaphores for transfers */
#define DMA_FIRST 16u /* the first of them; engines use their own number */
#define SOURCES   (OSC_ENGINE_COUNT + DMA_POOL) /* whatever completion one can wait for */

typedef struct clock_version {
    uint32_t engine[OSC_ENGINE_COUNT]; /* instructions of the stream known complete */
    uint32_t dma[DMA_POOL];            /* transfers of the pool semaphore known complete */
} clock_version;

/* Completion of one instruction or transfer. */
typedef struct token {
    bool is_dma;
    uint16_t id;       /* engine, or pool index */
    uint32_t count;    /* stream index + 1, or the transfer's number on its pool semaphore */
    uint32_t value;    /* semaphore value that says so (DMA) */
    uint64_t sequence; /* emission order */
    const clock_version *when; /* what its issuer knew */
} token;

typedef struct access {
    token by;
    uint8_t space, first, last; /* partitions, inclusive */
    bool write;
    int64_t lo, hi; /* bytes within a partition */
} access;

/* Transfers that touched one HBM tensor, latest per pool semaphore; count 0 means none. */
typedef struct hbm_log {
    token reads[DMA_POOL], writes[DMA_POOL];
} hbm_log;

typedef struct hbm_state {
    uint32_t phase;          /* of `current` */
    hbm_log current, before; /* this phase, all earlier ones */
} hbm_state;

struct osc_sync {
    osc_arena *arena;
    osc_program *program;
    const clock_version *clock[OSC_ENGINE_COUNT];
    uint32_t issued[OSC_ENGINE_COUNT]; /* stream lengths */
    uint8_t *awaited[OSC_ENGINE_COUNT];
    uint32_t awaited_cap[OSC_ENGINE_COUNT];
    uint32_t dma_count[DMA_POOL], dma_value[DMA_POOL];
    token dma_last[DMA_POOL];
    access *live;
    uint32_t live_count, live_cap;
    hbm_state **hbm; /* by tensor index */
    uint32_t hbm_cap;
    uint32_t phase;
    uint64_t sequence;
    /* Scratch of the instruction being emitted: the latest needed of each source. */
    token deps[SOURCES];
};

osc_sync *osc_sync_new(osc_arena *arena, osc_program *program)
{
    osc_sync *sync = OSC_ARENA_NEW(arena, osc_sync);
    clock_version *zero = OSC_ARENA_NEW(arena, clock_version);
    if (sync == NULL || zero == NULL)
        return NULL;
    sync->arena = arena;
    sync->program = program;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        sync->clock[e] = zero;
    return sync;
}

void osc_sync_phase(osc_sync *sync)
{
    sync->phase++;
}

/* Doubles an arena array; the old one stays behind, which a doubling series bounds by its last size. */
static bool grow(osc_arena *arena, void **array, uint32_t used, uint32_t *cap, size_t element)
{
    if (used < *cap)
        return true;
    uint32_t wanted = *cap == 0 ? 64 : *cap * 2;
    void *bigger = osc_arena_calloc(arena, wanted, element);
    if (bigger == NULL)
        return false;
    if (used != 0)
        memcpy(bigger, *array, used * element);
    *array = bigger;
    *cap = wanted;
    return true;
}

static bool is_dma(const osc_inst *inst)
{
    return inst->opcode == OSC_OP_DMA_COPY || inst->opcode == OSC_OP_DMA_TRANSPOSE;
}

static bool knows(const clock_version *clock, const token *t)
{
    return t->is_dma ? clock->dma[t->id] >= t->count : clock->engine[t->id] >= t->count;
}

static void join(clock_version *clock, const token *t)
{
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        if (clock->engine[e] < t->when->engine[e])
            clock->engine[e] = t->when->engine[e];
    }
    for (unsigned s = 0; s < DMA_POOL; s++) {
        if (clock->dma[s] < t->when->dma[s])
            clock->dma[s] = t->when->dma[s];
    }
    uint32_t *own = t->is_dma ? &clock->dma[t->id] : &clock->engine[t->id];
    if (*own < t->count)
        *own = t->count;
}

/* ---- what an instruction touches ---- */

static access on_chip_access(const osc_ap *ap, bool write)
{
    int64_t element = (int64_t)osc_dtype_size((osc_dtype)ap->dtype);
    access a = {.space = ap->space,
                .first = ap->start_partition,
                .write = write,
                .last = (uint8_t)(ap->start_partition + ap->nparts - 1),
                .lo = ap->offset,
                .hi = ap->offset + element};
    for (unsigned d = 0; d < ap->ndim; d++) {
        int64_t reach = ap->dim[d].stride * (int64_t)(ap->dim[d].count - 1) * element;
        if (reach < 0)
            a.lo += reach;
        else
            a.hi += reach;
    }
    return a;
}

static bool overlap(const access *a, const access *b)
{
    return a->space == b->space && a->first <= b->last && b->first <= a->last && a->lo < b->hi &&
           b->lo < a->hi;
}

static bool covers(const access *outer, const access *inner)
{
    return outer->space == inner->space && outer->first <= inner->first &&
           outer->last >= inner->last && outer->lo <= inner->lo && outer->hi >= inner->hi;
}

/* Of one engine or pool semaphore the latest completion implies the earlier ones. */
static void add_dep(osc_sync *sync, const token *t)
{
    token *latest = &sync->deps[t->is_dma ? OSC_ENGINE_COUNT + t->id : t->id];
    if (t->count > latest->count)
        *latest = *t;
}

static void on_chip_deps(osc_sync *sync, const osc_ap *ap, bool write)
{
    if (ap->space != OSC_SPACE_SBUF && ap->space != OSC_SPACE_PSUM)
        return;
    access mine = on_chip_access(ap, write);
    for (uint32_t i = 0; i < sync->live_count; i++) {
        const access *other = &sync->live[i];
        if ((write || other->write) && overlap(&mine, other))
            add_dep(sync, &other->by);
    }
}

/* Remembers an access and drops those it stands for: whoever is ordered after it is after them too. */
static bool on_chip_record(osc_sync *sync, const osc_ap *ap, bool write, const token *by)
{
    if (ap->space != OSC_SPACE_SBUF && ap->space != OSC_SPACE_PSUM)
        return true;
    access mine = on_chip_access(ap, write);
    mine.by = *by;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sync->live_count; i++) {
        const access *other = &sync->live[i];
        bool same_queue = !by->is_dma && !other->by.is_dma && other->by.id == by->id;
        bool implied = covers(&mine, other) && (write ? true : same_queue && !other->write);
        if (!implied || other->by.sequence == by->sequence)
            sync->live[kept++] = *other;
    }
    sync->live_count = kept;
    if (!grow(sync->arena, (void **)&sync->live, kept, &sync->live_cap, sizeof mine))
        return false;
    sync->live[sync->live_count++] = mine;
    return true;
}

static void merge_log(hbm_log *into, const hbm_log *from)
{
    for (unsigned s = 0; s < DMA_POOL; s++) {
        if (from->reads[s].count > into->reads[s].count)
            into->reads[s] = from->reads[s];
        if (from->writes[s].count > into->writes[s].count)
            into->writes[s] = from->writes[s];
    }
}

/* State of a tensor, its current log belonging to the present phase. NULL when out of memory. */
static hbm_state *hbm_of(osc_sync *sync, uint32_t tensor)
{
    while (tensor >= sync->hbm_cap) {
        uint32_t used = sync->hbm_cap;
        if (!grow(sync->arena, (void **)&sync->hbm, used, &sync->hbm_cap, sizeof *sync->hbm))
            return NULL;
    }
    hbm_state *state = sync->hbm[tensor];
    if (state == NULL) {
        state = OSC_ARENA_NEW(sync->arena, hbm_state);
        if (state == NULL)
            return NULL;
        state->phase = sync->phase;
        sync->hbm[tensor] = state;
    }
    if (state->phase != sync->phase) {
        merge_log(&state->before, &state->current);
        memset(&state->current, 0, sizeof state->current);
        state->phase = sync->phase;
    }
    return state;
}

static bool hbm_deps(osc_sync *sync, const osc_ap *ap, bool write)
{
    if (ap->space != OSC_SPACE_HBM)
        return true;
    const hbm_state *state = hbm_of(sync, ap->tensor);
    if (state == NULL)
        return false;
    for (unsigned s = 0; s < DMA_POOL; s++) {
        add_dep(sync, &state->before.writes[s]);
        if (write)
            add_dep(sync, &state->before.reads[s]);
    }
    return true;
}

static bool hbm_record(osc_sync *sync, const osc_ap *ap, bool write, const token *by)
{
    if (ap->space != OSC_SPACE_HBM)
        return true;
    hbm_state *state = hbm_of(sync, ap->tensor);
    if (state == NULL)
        return false;
    assert(by->is_dma); /* engines reach HBM through DMA only */
    (write ? state->current.writes : state->current.reads)[by->id] = *by;
    return true;
}

static bool collect_deps(osc_sync *sync, const osc_inst *inst)
{
    memset(sync->deps, 0, sizeof sync->deps);
    on_chip_deps(sync, &inst->dst, true);
    on_chip_deps(sync, &inst->dst2, true);
    bool ok = hbm_deps(sync, &inst->dst, true);
    for (unsigned s = 0; s < 3; s++) {
        on_chip_deps(sync, &inst->src[s], false);
        ok = ok && hbm_deps(sync, &inst->src[s], false);
    }
    return ok;
}

static bool record_accesses(osc_sync *sync, const osc_inst *inst, const token *by)
{
    bool ok = true;
    for (unsigned s = 0; s < 3; s++)
        ok = ok && on_chip_record(sync, &inst->src[s], false, by) &&
             hbm_record(sync, &inst->src[s], false, by);
    return ok && on_chip_record(sync, &inst->dst, true, by) &&
           on_chip_record(sync, &inst->dst2, true, by) && hbm_record(sync, &inst->dst, true, by);
}

/* ---- waits ---- */

static bool append(osc_sync *sync, const osc_inst *inst)
{
    if (osc_program_add_inst(sync->program, inst) == UINT32_MAX)
        return false;
    unsigned e = inst->engine;
    if (!grow(sync->arena, (void **)&sync->awaited[e], sync->issued[e], &sync->awaited_cap[e], 1))
        return false;
    sync->issued[e]++;
    return true;
}

/* Adds one wait; a full instruction sends its waits ahead in a SEM_WAIT of the same engine. */
static bool add_wait(osc_sync *sync, osc_inst *inst, const token *t)
{
    if (inst->nwaits == OSC_INST_WAITS) {
        osc_inst ahead = {.opcode = OSC_OP_SEM_WAIT,
                          .engine = inst->engine,
                          .source = inst->source,
                          .nwaits = inst->nwaits};
        memcpy(ahead.waits, inst->waits, sizeof ahead.waits);
        memset(inst->waits, 0, sizeof inst->waits);
        inst->nwaits = 0;
        if (!append(sync, &ahead))
            return false;
    }
    osc_sem_op *wait = &inst->waits[inst->nwaits++];
    if (t->is_dma) {
        *wait = (osc_sem_op){.sem = (uint16_t)(DMA_FIRST + t->id), .value = t->value};
    } else {
        sync->awaited[t->id][t->count - 1] = 1;
        *wait =
            (osc_sem_op){.sem = t->id, .value = t->count}; /* osc_sync_finish makes it a count */
    }
    return true;
}

/* The collected dependence emitted last that the engine does not know to be complete, NULL if none. */
static const token *latest_unknown(const osc_sync *sync, const osc_inst *inst)
{
    const token *latest = NULL;
    for (unsigned i = 0; i < SOURCES; i++) {
        const token *t = &sync->deps[i];
        bool in_order = !t->is_dma && t->id == inst->engine && !is_dma(inst);
        if (t->count == 0 || in_order || knows(sync->clock[inst->engine], t))
            continue;
        if (latest == NULL || t->sequence > latest->sequence)
            latest = t;
    }
    return latest;
}

/* Waits for every collected dependence; the latest first, because it often implies the others. */
static bool wait_for_deps(osc_sync *sync, osc_inst *inst)
{
    clock_version *clock = NULL;
    for (const token *t; (t = latest_unknown(sync, inst)) != NULL;) {
        if (clock == NULL) {
            clock = OSC_ARENA_NEW(sync->arena, clock_version);
            if (clock == NULL)
                return false;
            *clock = *sync->clock[inst->engine];
            sync->clock[inst->engine] = clock;
        }
        if (!add_wait(sync, inst, t))
            return false;
        join(clock, t);
    }
    return true;
}

/* A pool semaphore whose last transfer this engine knows to be complete, else the oldest one. */
static unsigned choose_semaphore(const osc_sync *sync, unsigned engine, bool *quiet)
{
    const clock_version *clock = sync->clock[engine];
    unsigned oldest = 0;
    for (unsigned s = 0; s < DMA_POOL; s++) {
        *quiet = clock->dma[s] >= sync->dma_count[s];
        if (*quiet)
            return s;
        if (sync->dma_last[s].sequence < sync->dma_last[oldest].sequence)
            oldest = s;
    }
    return oldest;
}

static bool issue_dma(osc_sync *sync, osc_inst *inst, token *by)
{
    bool quiet;
    unsigned s = choose_semaphore(sync, inst->engine, &quiet);
    if (!quiet) {
        add_dep(sync, &sync->dma_last[s]);
        if (!wait_for_deps(sync, inst))
            return false;
    }
    sync->dma_count[s]++;
    sync->dma_value[s] += osc_isa_dma_engines(inst);
    inst->incs[0] = (osc_sem_op){.sem = (uint16_t)(DMA_FIRST + s), .value = 1};
    inst->nincs = 1;
    *by = (token){.is_dma = true,
                  .id = (uint16_t)s,
                  .count = sync->dma_count[s],
                  .value = sync->dma_value[s],
                  .sequence = sync->sequence,
                  .when = sync->clock[inst->engine]};
    sync->dma_last[s] = *by;
    return append(sync, inst);
}

static osc_status no_memory(osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                    "no memory to order the instructions of this program");
}

osc_status osc_sync_emit(osc_sync *sync, const osc_inst *source, osc_err *err)
{
    osc_inst inst = *source;
    inst.nwaits = inst.nincs = 0;
    memset(inst.waits, 0, sizeof inst.waits);
    memset(inst.incs, 0, sizeof inst.incs);
    assert(inst.engine < OSC_ENGINE_COUNT && inst.engine != OSC_ENGINE_DMA);
    sync->sequence++;
    token by = {0};
    bool ok = collect_deps(sync, &inst) && wait_for_deps(sync, &inst);
    if (ok && is_dma(&inst)) {
        ok = issue_dma(sync, &inst, &by);
    } else if (ok) {
        ok = append(sync, &inst);
        by = (token){.id = inst.engine,
                     .count = sync->issued[inst.engine],
                     .sequence = sync->sequence,
                     .when = sync->clock[inst.engine]};
    }
    if (!ok || !record_accesses(sync, &inst, &by))
        return no_memory(err);
    return OSC_OK;
}

/* Gives each awaited instruction its increment. */
static void number_increments(osc_sync *sync, osc_engine engine)
{
    for (uint32_t i = 0; i < sync->issued[engine]; i++) {
        if (!sync->awaited[engine][i])
            continue;
        osc_inst *inst = osc_program_inst_mut(sync->program, engine, i);
        assert(inst->nincs == 0);
        inst->incs[inst->nincs++] = (osc_sem_op){.sem = (uint16_t)engine, .value = 1};
    }
}

static void renumber_waits(osc_sync *sync, osc_engine engine, uint32_t *const prefix[])
{
    for (uint32_t i = 0; i < sync->issued[engine]; i++) {
        osc_inst *inst = osc_program_inst_mut(sync->program, engine, i);
        for (unsigned w = 0; w < inst->nwaits; w++) {
            osc_sem_op *wait = &inst->waits[w];
            if (wait->sem < OSC_ENGINE_COUNT)
                wait->value = prefix[wait->sem][wait->value - 1];
        }
    }
}

osc_status osc_sync_finish(osc_sync *sync, osc_err *err)
{
    uint32_t *prefix[OSC_ENGINE_COUNT] = {NULL};
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        prefix[e] = OSC_ARENA_ARRAY(sync->arena, uint32_t, sync->issued[e]);
        if (prefix[e] == NULL)
            return no_memory(err);
        uint32_t count = 0;
        for (uint32_t i = 0; i < sync->issued[e]; i++) {
            count += sync->awaited[e][i];
            prefix[e][i] = count;
        }
        number_increments(sync, (osc_engine)e);
    }
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        renumber_waits(sync, (osc_engine)e, prefix);
    return OSC_OK;
}
