/*
 * devprofile_work.c - instructions and DMA packets of a device profile as rows.
 *
 * How long an instruction waited for a semaphore is not simply `evt_wait_time`: that is a 16-bit
 * counter of core cycles which wraps every 46.8 us, and on some instructions of GpSimd it means
 * nothing (summary-metrics.md 1.2). The engine cannot have waited longer than the gap to its
 * instruction before, so the wait is the largest value not above that gap which the counter agrees
 * with, and the gap itself where the counter claims more. Only instructions whose operands name a
 * wait have one.
 */
#include "scope/read/devprofile_internal.h"

#include "base/json.h"
#include "base/mem.h"
#include "isa/isa.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define ENGINE_OVERFLOW 255u
#define RING_UNKNOWN    255u

/* The counter starts at the earliest some ns before the start of the instruction in front: on
 * Scalar the next one waits already while that one runs (neuroncore-v2-measured.md 1). */
#define WRAP_TOLERANCE_NS 64

/* ---- engines ---- */

static uint8_t known_engine(osc_str name)
{
    for (unsigned e = 1; e < OSC_ENGINE_COUNT; e++) {
        if (e != OSC_ENGINE_DMA &&
            osc_str_eq_nocase(name, osc_str_from_cstr(osc_engine_name((osc_engine)e))))
            return (uint8_t)e;
    }
    return OSC_ENGINE_NONE;
}

static uint8_t engine_number(osc_dp_reader *r, osc_str name)
{
    uint64_t number;
    uint32_t id = osc_dp_intern(r, name);
    if (osc_map_get(&r->engines, id, &number))
        return (uint8_t)number;
    number = known_engine(name);
    if (number == OSC_ENGINE_NONE) {
        number = OSC_DP_FIRST_OTHER_ENGINE + r->other_engines;
        if (number < ENGINE_OVERFLOW)
            r->other_engines++;
        else
            osc_store_note(r->store, OSC_SEV_WARN, "profile_engines", 1, OSC_NO_OFFSET,
                           "more engines than can be told apart; the last ones share a number");
    }
    osc_engine_row row = {.name = id, .number = (uint8_t)number};
    osc_store_add_engine(r->store, &row);
    osc_dp_put(r, &r->engines, id, number);
    return (uint8_t)number;
}

/* ---- instructions ---- */

/* Text of a member of hlo_attrs: [{"op_type":"","source_file":"","source_line":"0"}]. */
static osc_str attribute(osc_str json, const char *key)
{
    osc_json j;
    osc_json_token t;
    osc_str found = {0};
    osc_json_init(&j, json.ptr, json.len);
    if (json.len == 0 || osc_json_next(&j).type != OSC_JSON_ARR_BEGIN ||
        osc_json_next(&j).type != OSC_JSON_OBJ_BEGIN)
        return found;
    while (osc_json_next_member(&j, &t)) {
        bool wanted = osc_json_is(&t, key);
        osc_json_token value = osc_json_next(&j);
        if (wanted && (value.type == OSC_JSON_STRING || value.type == OSC_JSON_NUMBER))
            found = value.text;
        if (!osc_json_skip_value(&j, &value))
            break;
    }
    return found;
}

static uint32_t source_at(osc_dp_reader *r, const osc_dp_inst *inst)
{
    osc_str file = attribute(inst->hlo_attrs, "source_file");
    if (file.len == 0)
        return 0;
    osc_str line = attribute(inst->hlo_attrs, "source_line");
    osc_buf_clear(&r->text);
    osc_buf_printf(&r->text, "%.*s:%.*s", OSC_STR_FMT(file), OSC_STR_FMT(line));
    return osc_dp_intern(r, osc_buf_view(&r->text));
}

/* A counter of the file, which cannot be negative. */
static uint64_t counter(osc_dp_reader *r, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    osc_store_note(r->store, OSC_SEV_WARN, "profile_negative", 1, OSC_NO_OFFSET,
                   "negative byte counts were taken for 0");
    return 0;
}

static void add_traffic(osc_dp_reader *r, const osc_dp_inst *inst, uint32_t row)
{
    osc_traffic_row t = {.elements = counter(r, inst->elements),
                         .hbm_read = counter(r, inst->hbm_read),
                         .hbm_write = counter(r, inst->hbm_write),
                         .sbuf_read = counter(r, inst->sbuf_read),
                         .sbuf_write = counter(r, inst->sbuf_write),
                         .psum_read = counter(r, inst->psum_read),
                         .psum_write = counter(r, inst->psum_write),
                         .psum_to_sbuf = counter(r, inst->psum_to_sbuf),
                         .input_queue = counter(r, inst->input_queue),
                         .output_queue = counter(r, inst->output_queue),
                         .weight_queue = counter(r, inst->weight_queue),
                         .spill_save = counter(r, inst->spill_save),
                         .spill_reload = counter(r, inst->spill_reload),
                         .inst = row};
    uint64_t any = t.elements | t.hbm_read | t.hbm_write | t.sbuf_read | t.sbuf_write |
                   t.psum_read | t.psum_write | t.psum_to_sbuf | t.input_queue | t.output_queue |
                   t.weight_queue | t.spill_save | t.spill_reload;
    if (any == 0 && !inst->is_psum_to_sbuf)
        return;
    if (osc_str_eq_cstr(inst->type, "REGULAR"))
        t.flags |= OSC_TRAFFIC_REGULAR;
    if (osc_str_eq_cstr(inst->type, "TRANSPOSE"))
        t.flags |= OSC_TRAFFIC_TRANSPOSE;
    if (inst->is_psum_to_sbuf)
        t.flags |= OSC_TRAFFIC_PSUM_TO_SBUF;
    osc_store_add_traffic(r->store, &t);
}

uint32_t osc_dp_sem_number(const osc_dp_sync *sync)
{
    uint32_t number = sync->number < OSC_SEM_EVENT ? sync->number : OSC_SEM_EVENT - 1;
    return sync->event ? number + OSC_SEM_EVENT : number;
}

void osc_dp_note_owner(osc_dp_reader *r, const osc_dp_sync *sync)
{
    uint32_t sem = osc_dp_sem_number(sync);
    if (sync->owner.len == 0 || osc_map_get(&r->owners, sem, NULL))
        return;
    osc_semaphore_row row = {
        .program = r->program, .sem = sem, .owner = osc_dp_intern(r, sync->owner)};
    osc_store_add_semaphore(r->store, &row);
    osc_dp_put(r, &r->owners, sem, 1);
}

static void add_semop(osc_dp_reader *r, uint32_t inst, const osc_dp_sync *sync, bool wait)
{
    uint32_t value = sync->value < 0            ? 0
                     : sync->value > UINT32_MAX ? UINT32_MAX
                                                : (uint32_t)sync->value;
    osc_semop_row row = {
        .inst = inst, .sem = osc_dp_sem_number(sync), .value = value, .is_wait = (uint8_t)wait};
    osc_store_add_semop(r->store, &row);
    osc_dp_note_owner(r, sync);
}

/* Waits and updates, those of a DMA instruction's own fields included. */
static void add_semops(osc_dp_reader *r, uint32_t inst, const osc_dp_operands *o)
{
    const osc_dp_field *sem = osc_dp_operands_field(o, "semaphore");
    const osc_dp_field *by = osc_dp_operands_field(o, "sem_increment");
    for (uint32_t i = 0; i < o->wait_count; i++)
        add_semop(r, inst, &o->waits[i], true);
    for (uint32_t i = 0; i < o->update_count; i++)
        add_semop(r, inst, &o->updates[i], false);
    if (sem && by && sem->kind == OSC_DP_NUMBER && by->kind == OSC_DP_NUMBER && sem->number >= 0 &&
        sem->number < (int64_t)OSC_SEM_EVENT) {
        osc_dp_sync raised = {
            .op = OSC_DP_ADD, .number = (uint32_t)sem->number, .value = by->number};
        add_semop(r, inst, &raised, false);
    }
}

/* Row of instructions; its place in the stream is its program counter where the file has one. */
static uint32_t add_inst(osc_dp_reader *r, const osc_dp_inst *inst, uint8_t engine, size_t nth)
{
    bool has_pc = inst->pc >= 0 && inst->pc < UINT32_MAX;
    osc_str operands = osc_str_trim(inst->operands);
    osc_inst_row row = {.program = r->program,
                        .index = has_pc ? (uint32_t)inst->pc : (uint32_t)nth,
                        .opcode = osc_dp_intern(r, inst->opcode),
                        .label = osc_dp_intern(r, inst->name.len ? inst->name : inst->opcode),
                        .source_op = osc_dp_intern(r, inst->layer),
                        .source_at = source_at(r, inst),
                        .engine = engine};
    osc_buf_clear(&r->text);
    osc_buf_str(&r->text, inst->opcode);
    osc_buf_cstr(&r->text, operands.len > 0 ? " " : "");
    osc_buf_str(&r->text, operands);
    row.text = osc_dp_intern(r, osc_buf_view(&r->text));
    return osc_store_add_inst(r->store, &row);
}

/* How long the engine waited before an instruction that names a wait; see the top. gap: since the
 * end of the instruction in front; since_start: since its start. */
static int64_t waited(const osc_dp_reader *r, const osc_dp_inst *inst, int64_t gap,
                      int64_t since_start)
{
    int64_t counted = inst->wait_ns > 0 ? inst->wait_ns : 0;
    if (gap <= 0)
        return 0;
    if (counted >= gap)
        return gap;
    double wraps = floor((double)(since_start - counted + WRAP_TOLERANCE_NS) / r->wrap_ns);
    int64_t waited_ns = counted + (int64_t)(wraps * r->wrap_ns);
    return waited_ns < gap ? waited_ns : gap;
}

/* Start and end of the engine's instruction in front; this one takes its place when it ends
 * later. */
static void in_front(osc_dp_reader *r, const osc_work_row *work, int64_t *start, int64_t *end)
{
    uint64_t key = (uint64_t)work->exec << 8 | work->engine, value;
    int64_t own_end = work->start_ns + work->dur_ns;
    *end = osc_map_get(&r->last_end, key, &value) ? (int64_t)value : r->first_ns;
    *start = osc_map_get(&r->last_start, key, &value) ? (int64_t)value : r->first_ns;
    if (own_end >= *end) {
        osc_dp_put(r, &r->last_end, key, (uint64_t)own_end);
        osc_dp_put(r, &r->last_start, key, (uint64_t)work->start_ns);
    }
}

static void add_instruction(osc_dp_reader *r, const osc_dp_inst *inst, size_t nth)
{
    osc_dp_operands operands;
    osc_work_row work = {.start_ns = inst->start_ns,
                         .dur_ns = inst->dur_ns,
                         .queue = OSC_NO_ROW,
                         .ring = RING_UNKNOWN,
                         .kind = OSC_WORK_INST};
    osc_str name = inst->engine.len > 0 ? inst->engine : inst->label;
    osc_store_clamp(r->store, &work.start_ns, &work.dur_ns);
    osc_dp_operands_parse(inst->operands, &operands);
    r->unread += operands.unread;
    work.engine = engine_number(r, name);
    work.exec = osc_dp_exec(r, inst->core);
    work.inst = add_inst(r, inst, work.engine, nth);
    work.amount = inst->elements > 0 ? (uint64_t)inst->elements : 0;
    add_semops(r, work.inst, &operands);
    add_traffic(r, inst, work.inst);
    if (inst->trigger_ns != OSC_DP_NONE)
        osc_dp_put(r, &r->triggers, (uint64_t)inst->start_ns, work.inst);
    int64_t front_start, front_end;
    in_front(r, &work, &front_start, &front_end);
    work.ready_ns = work.start_ns;
    if (operands.wait_count > 0) {
        work.wait = OSC_WAIT_SEMAPHORE;
        work.wait_sem = osc_dp_sem_number(&operands.waits[0]);
        work.ready_ns -= waited(r, inst, work.start_ns - front_end, work.start_ns - front_start);
    }
    osc_store_add_work(r->store, &work);
    osc_slice_row slice = {.start_ns = work.start_ns,
                           .dur_ns = work.dur_ns,
                           .name = osc_dp_intern(r, inst->opcode),
                           .track = osc_dp_track(r, work.exec, name, OSC_LANE_ENGINE),
                           .order = OSC_NO_ROW,
                           .kind = OSC_KIND_INST};
    osc_store_add_slice(r->store, &slice);
}

/* A row's place in time; ties keep the order of the file. */
struct at {
    int64_t start_ns;
    size_t row;
};

static int by_start(const void *a, const void *b)
{
    const struct at *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void osc_dp_add_instructions(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_inst *inst = osc_dp_inst_rows(r->profile, &count);
    struct at *order = osc_realloc_array(NULL, count + 1, sizeof *order);
    if (!order) {
        r->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (struct at){inst[i].start_ns, i};
    qsort(order, count, sizeof *order, by_start);
    for (size_t i = 0; i < count && !r->failed && !osc_store_failed(r->store); i++)
        add_instruction(r, &inst[order[i].row], i);
    osc_free(order);
    if (r->unread > 0)
        osc_store_note(r->store, OSC_SEV_NOTE, "profile_operands", r->unread, OSC_NO_OFFSET,
                       "parts of operand texts have a form that is not known; they are kept as "
                       "text");
}

/* ---- DMA ---- */

static uint8_t class_of(osc_str type)
{
    static const struct {
        const char *type;
        osc_dma_class dma_class;
    } classes[] = {
        {"data", OSC_DMA_STATIC},
        {"instruction", OSC_DMA_STATIC},
        {"input", OSC_DMA_STATIC}, /* all four: neuron-explorer.md 6.8 */
        {"output", OSC_DMA_STATIC},
        {"software_dynamic", OSC_DMA_SOFTWARE_DYNAMIC},
        {"hardware_dynamic", OSC_DMA_HARDWARE_DYNAMIC},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (osc_str_eq_cstr(type, classes[i].type))
            return (uint8_t)classes[i].dma_class;
    }
    return OSC_DMA_OTHER;
}

/* The queue's name in a lane: "queue" of "queue-Q1-E0", nothing of "Q0-E3", all of a transfer's. */
static osc_str queue_name(osc_str lane, bool aggregated)
{
    size_t at = osc_str_find(lane, OSC_STR("-Q"));
    if (aggregated)
        return lane;
    return at == SIZE_MAX ? (osc_str){0} : osc_str_sub(lane, 0, at);
}

static uint32_t queue_row(osc_dp_reader *r, const osc_dp_dma *dma)
{
    uint64_t row;
    osc_queue_row queue = {.program = r->program,
                           .name = osc_dp_intern(r, queue_name(dma->lane, dma->aggregated)),
                           .number = osc_dp_intern(r, dma->queue),
                           .type = osc_dp_intern(r, dma->type),
                           .dma_class = class_of(dma->type)};
    osc_buf_clear(&r->text);
    osc_buf_printf(&r->text, "%u/%u/%u", queue.name, queue.number, queue.type);
    uint64_t key = osc_dp_intern(r, osc_buf_view(&r->text));
    if (osc_map_get(&r->queues, key, &row))
        return (uint32_t)row;
    row = osc_store_add_queue(r->store, &queue);
    osc_dp_put(r, &r->queues, key, row);
    return (uint32_t)row;
}

/* The instruction that started a transfer or a packet of it. */
static uint32_t issuer(const osc_dp_reader *r, const osc_dp_dma *dma)
{
    uint64_t row;
    if (dma->aggregated)
        return dma->trigger_ns != OSC_DP_NONE &&
                       osc_map_get(&r->triggers, (uint64_t)dma->trigger_ns, &row)
                   ? (uint32_t)row
                   : OSC_NO_ROW;
    return osc_map_get(&r->transfers, (uint64_t)dma->transfer, &row) ? (uint32_t)row : OSC_NO_ROW;
}

static void note_transfer_owner(osc_dp_reader *r, const osc_dp_dma *dma)
{
    osc_dp_sync sync;
    if (osc_dp_semaphore_parse(dma->semaphore, &sync))
        osc_dp_note_owner(r, &sync);
}

static void add_packet(osc_dp_reader *r, const osc_dp_dma *dma)
{
    osc_work_row work = {.start_ns = dma->start_ns,
                         .dur_ns = dma->dur_ns,
                         .bytes = counter(r, dma->bytes),
                         .inst = issuer(r, dma),
                         .kind = dma->aggregated ? OSC_WORK_TRANSFER : OSC_WORK_DMA,
                         .ring = dma->engine >= 0 && dma->engine < RING_UNKNOWN
                                     ? (uint8_t)dma->engine
                                     : RING_UNKNOWN};
    osc_store_clamp(r->store, &work.start_ns, &work.dur_ns);
    work.ready_ns = work.start_ns;
    work.exec = osc_dp_exec(r, dma->core);
    work.queue = queue_row(r, dma);
    work.engine =
        work.inst == OSC_NO_ROW ? OSC_ENGINE_NONE : osc_store_inst(r->store)->engine[work.inst];
    note_transfer_owner(r, dma);
    osc_store_add_work(r->store, &work);
    osc_buf_clear(&r->text);
    osc_buf_printf(&r->text, "DMA %.*s", OSC_STR_FMT(dma->lane));
    uint32_t lane = osc_dp_intern(r, osc_buf_view(&r->text));
    osc_str label = dma->variable.len > 0 ? dma->variable : dma->type;
    osc_slice_row slice = {
        .start_ns = work.start_ns,
        .dur_ns = work.dur_ns,
        .name = osc_dp_intern(r, label),
        .track = osc_dp_track(r, work.exec, osc_store_text(r->store, lane), OSC_LANE_QUEUE),
        .order = OSC_NO_ROW,
        .kind = OSC_KIND_DMA};
    osc_store_add_slice(r->store, &slice);
}

void osc_dp_add_packets(osc_dp_reader *r)
{
    size_t count;
    const osc_dp_dma *dma = osc_dp_dma_rows(r->profile, &count);
    struct at *order = osc_realloc_array(NULL, count + 1, sizeof *order);
    if (!order) {
        r->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct at){dma[i].start_ns, i};
        if (dma[i].aggregated && issuer(r, &dma[i]) != OSC_NO_ROW)
            osc_dp_put(r, &r->transfers, (uint64_t)dma[i].id, issuer(r, &dma[i]));
    }
    qsort(order, count, sizeof *order, by_start);
    for (size_t i = 0; i < count && !r->failed && !osc_store_failed(r->store); i++)
        add_packet(r, &dma[order[i].row]);
    osc_free(order);
}
