/*
 * follow_device.c - inside one execution: the launch by its parts, then every instruction and
 * transfer.
 *
 * A DMA instruction is triggered on an engine and carried out by up to 16 DMA engines; it becomes
 * one row from the first transfer's start to the last one's end, with one row per transfer below
 * it. What an instruction waited for is found through the program: of the work that raises the
 * semaphore and ended before it started, the last.
 */
#include "scope/analysis/follow_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "isa/isa.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Increments an instruction may have; more are left out of the search for producers. */
#define INCS_MAX 4u

/* Engine numbers are below it. */
#define ENGINES 16u

/* One row to come: an instruction, a DMA instruction, or a phase. */
struct line {
    int64_t ready_ns, start_ns, end_ns;
    uint64_t bytes, amount;
    uint32_t inst;
    uint32_t wait_sem;
    uint32_t transfers;
    uint32_t number; /* order of making; transfers name their line by it */
    uint8_t kind, engine, wait;
};

/* A transfer and the line it is part of. */
struct part_of {
    uint32_t line, work;
};

/* A line that adds to a semaphore when it ends. */
struct raise {
    uint32_t sem, line;
    int64_t end_ns;
};

/* The work of one execution. */
struct body {
    const struct follow *f;
    struct line *lines;
    struct part_of *transfers; /* by line */
    struct raise *raises;      /* by semaphore, then end */
    osc_map dma_of;            /* instruction -> number of its DMA line */
    size_t room;               /* lines, as many transfers, INCS_MAX times as many raises */
    uint32_t line_count, transfer_count, raise_count;
    bool failed;
};

const char *osc_follow_engine_name(unsigned engine)
{
    return engine == OSC_ENGINE_NONE ? "" : osc_engine_name((osc_engine)engine);
}

bool osc_follow_index_work(struct follow *f)
{
    const osc_work_cols *w = osc_store_work(f->store);
    uint32_t execs = osc_store_exec(f->store)->count;
    f->work_first = osc_calloc((size_t)execs + 2, sizeof *f->work_first);
    f->work_order = osc_realloc_array(NULL, (size_t)w->count + 1, sizeof *f->work_order);
    if (!f->work_first || !f->work_order)
        return false;
    for (uint32_t i = 0; i < w->count; i++)
        f->work_first[w->exec[i] + 2]++;
    for (uint32_t e = 1; e < execs; e++)
        f->work_first[e + 1] += f->work_first[e];
    for (uint32_t i = 0; i < w->count; i++)
        f->work_order[f->work_first[w->exec[i] + 1]++] = i;
    return true;
}

uint32_t osc_follow_exec_of(const struct follow *f, uint32_t slice)
{
    const osc_exec_cols *e = osc_store_exec(f->store);
    uint32_t low = 0,
             high = e->count; /* slices are added just before their executions, so in order */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (e->slice[middle] < slice)
            low = middle + 1;
        else
            high = middle;
    }
    return low < e->count && e->slice[low] == slice ? low : OSC_NO_ROW;
}

/* ---- lines ---- */

static void join_transfer(struct line *line, const osc_work_cols *w, uint32_t work)
{
    int64_t end = w->start_ns[work] + w->dur_ns[work];
    if (w->start_ns[work] < line->start_ns)
        line->start_ns = w->start_ns[work];
    if (w->ready_ns[work] < line->ready_ns)
        line->ready_ns = w->ready_ns[work];
    if (end > line->end_ns)
        line->end_ns = end;
    line->bytes =
        line->bytes > UINT64_MAX - w->bytes[work] ? UINT64_MAX : line->bytes + w->bytes[work];
    line->transfers++;
}

static struct line *add_work_line(struct body *b, uint32_t work)
{
    const osc_work_cols *w = osc_store_work(b->f->store);
    assert(b->line_count < b->room);
    struct line *line = &b->lines[b->line_count];
    *line = (struct line){.ready_ns = w->ready_ns[work],
                          .start_ns = w->start_ns[work],
                          .end_ns = w->start_ns[work] + w->dur_ns[work],
                          .bytes = w->bytes[work],
                          .amount = w->amount[work],
                          .inst = w->inst[work],
                          .wait_sem = w->wait_sem[work],
                          .transfers = w->kind[work] == OSC_WORK_DMA,
                          .number = b->line_count++,
                          .kind = w->kind[work],
                          .engine = w->engine[work],
                          .wait = w->wait[work]};
    return line;
}

/* The DMA line of an instruction, NULL when it has none. */
static struct line *dma_line(const struct body *b, uint32_t inst)
{
    uint64_t number;
    bool known = inst != OSC_NO_ROW && osc_map_get(&b->dma_of, inst, &number);
    return known ? &b->lines[number] : NULL;
}

static void take_transfer(struct body *b, uint32_t work)
{
    const osc_work_cols *w = osc_store_work(b->f->store);
    struct line *line = dma_line(b, w->inst[work]);
    if (line) {
        join_transfer(line, w, work);
    } else {
        line = add_work_line(b, work);
        if (w->inst[work] != OSC_NO_ROW &&
            osc_map_put(&b->dma_of, w->inst[work], line->number) != OSC_OK)
            b->failed = true;
    }
    b->transfers[b->transfer_count++] = (struct part_of){line->number, work};
}

/* An instruction or phase; the trigger of a DMA lends its line the reason of its wait. */
static void take_instruction(struct body *b, uint32_t work)
{
    const osc_work_cols *w = osc_store_work(b->f->store);
    struct line *dma = w->kind[work] == OSC_WORK_INST ? dma_line(b, w->inst[work]) : NULL;
    if (!dma) {
        (void)add_work_line(b, work);
    } else if (w->wait[work] != OSC_WAIT_NOTHING) {
        dma->wait = w->wait[work];
        dma->wait_sem = w->wait_sem[work];
    }
}

/* The semaphores each line adds to. */
static void take_raises(struct body *b)
{
    const osc_semop_cols *s = osc_store_semop(b->f->store);
    for (uint32_t i = 0; i < b->line_count; i++) {
        uint32_t inst = b->lines[i].inst, low = 0, high = s->count; /* rows are in order of inst */
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (s->inst[middle] < inst)
                low = middle + 1;
            else
                high = middle;
        }
        uint32_t last = b->raise_count + INCS_MAX;
        for (; low < s->count && s->inst[low] == inst && inst != OSC_NO_ROW; low++) {
            if (!s->is_wait[low] && b->raise_count < last)
                b->raises[b->raise_count++] = (struct raise){s->sem[low], i, b->lines[i].end_ns};
        }
    }
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_parts(const void *left, const void *right)
{
    const struct part_of *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->work < b->work ? -1 : a->work > b->work;
}

static int compare_raises(const void *left, const void *right)
{
    const struct raise *a = left, *b = right;
    if (a->sem != b->sem)
        return a->sem < b->sem ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Sorts an execution's work into lines by start, transfers, and who raises which semaphore. */
static bool gather(struct body *b, uint32_t exec)
{
    const osc_work_cols *w = osc_store_work(b->f->store);
    uint32_t from = b->f->work_first[exec], to = b->f->work_first[exec + 1];
    assert(from <= to);
    b->room = (size_t)(to - from) + 1;
    b->lines = osc_realloc_array(NULL, b->room, sizeof *b->lines);
    b->transfers = osc_realloc_array(NULL, b->room, sizeof *b->transfers);
    b->raises = osc_realloc_array(NULL, b->room, INCS_MAX * sizeof *b->raises);
    if (!b->lines || !b->transfers || !b->raises)
        return false;
    for (uint32_t i = from; i < to; i++) {
        if (w->kind[b->f->work_order[i]] == OSC_WORK_DMA)
            take_transfer(b, b->f->work_order[i]);
    }
    for (uint32_t i = from; i < to; i++) {
        if (w->kind[b->f->work_order[i]] != OSC_WORK_DMA)
            take_instruction(b, b->f->work_order[i]);
    }
    qsort(b->lines, b->line_count, sizeof *b->lines, compare_lines);
    qsort(b->transfers, b->transfer_count, sizeof *b->transfers, compare_parts);
    take_raises(b);
    qsort(b->raises, b->raise_count, sizeof *b->raises, compare_raises);
    return !b->failed;
}

/* ---- why it waited ---- */

/* The last line that raised the semaphore by a time, other than itself; NULL when there is none. */
static const struct line *producer_of(const struct body *b, const struct line *line)
{
    uint32_t low = 0, high = b->raise_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct raise *r = &b->raises[middle];
        if (r->sem < line->wait_sem || (r->sem == line->wait_sem && r->end_ns <= line->start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && b->raises[low].sem == line->wait_sem) {
        if (&b->lines[b->raises[low].line] != line)
            return &b->lines[b->raises[low].line];
    }
    return NULL;
}

static osc_str label_of(const osc_store *store, uint32_t inst)
{
    return inst == OSC_NO_ROW ? (osc_str){0}
                              : osc_store_text(store, osc_store_inst(store)->label[inst]);
}

/* "semaphore 3 <- Sync dma input0 -> SBUF" */
static osc_str waited_for(struct follow *f, const struct body *b, const struct line *line)
{
    static const char *const reasons[] = {
        "", "", "engine or ring busy", "memory port", "barrier", "dma start-up"};
    osc_buf_clear(&f->text);
    if (line->wait != OSC_WAIT_SEMAPHORE) {
        if (line->wait < sizeof reasons / sizeof *reasons)
            osc_buf_cstr(&f->text, reasons[line->wait]);
        return osc_buf_view(&f->text);
    }
    const struct line *producer = producer_of(b, line);
    osc_buf_printf(&f->text, "semaphore %u", line->wait_sem);
    if (producer)
        osc_buf_printf(&f->text, " <- %s %.*s", osc_follow_engine_name(producer->engine),
                       OSC_STR_FMT(label_of(f->store, producer->inst)));
    return osc_buf_view(&f->text);
}

/* ---- rows ---- */

static uint32_t add_row(struct follow *f, uint32_t exec, int64_t level, const char *kind,
                        osc_str name, int64_t start_ns, int64_t dur_ns)
{
    const osc_exec_cols *e = osc_store_exec(f->store);
    const osc_track_cols *t = osc_store_track(f->store);
    uint32_t track = osc_store_slice(f->store)->track[e->slice[exec]];
    uint32_t row = osc_table_add_row(f->table);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_LEVEL, level);
    osc_table_set_str(f->table, row, OSC_FOLLOW_LANE, osc_store_text(f->store, t->lane[track]));
    osc_table_set_str(f->table, row, OSC_FOLLOW_KIND, osc_str_from_cstr(kind));
    osc_table_set_str(f->table, row, OSC_FOLLOW_NAME, name);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_START_NS, start_ns);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_OFFSET_NS, start_ns - e->start_ns[exec]);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_DUR_NS, dur_ns);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_GAP_NS, -1);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_RING, -1);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_SLICE, -1);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_CALL, -1);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_SEQUENCE_ID, (int64_t)e->sequence_id[exec]);
    osc_table_set_i64(f->table, row, OSC_FOLLOW_EXEC_ID, e->exec_id[exec]);
    return row;
}

/* The first launch part of an execution: parts are added with their executions, so in order. */
static uint32_t first_part(const osc_part_cols *p, uint32_t exec)
{
    uint32_t low = 0, high = p->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->exec[middle] < exec)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The launch interval and its parts in the order they happened. */
static void add_launch(struct follow *f, uint32_t exec)
{
    const osc_part_cols *p = osc_store_part(f->store);
    const osc_exec_cols *e = osc_store_exec(f->store);
    int64_t at = e->start_ns[exec], launch = e->dur_ns[exec] - e->body_dur_ns[exec];
    uint32_t first = first_part(p, exec);
    bool fitted = false;
    char us[OSC_NUM_TEXT];
    if (launch <= 0)
        return;
    osc_buf_clear(&f->text);
    for (uint32_t i = first; i < p->count && p->exec[i] == exec; i++) {
        fitted |= p->fitted[i] != 0;
        osc_buf_printf(&f->text, "%s%.*s %s", f->text.len ? ", " : "",
                       OSC_STR_FMT(osc_store_text(f->store, p->name[i])),
                       osc_format_us(p->dur_ns[i], p->dur_ns[i] % 1000 ? 1 : 0, us));
    }
    uint32_t row = add_row(f, exec, 1, "launch", OSC_STR("launch"), at, launch);
    osc_table_set_str(f->table, row, OSC_FOLLOW_DETAIL, osc_buf_view(&f->text));
    osc_table_set_bool(f->table, row, OSC_FOLLOW_FITTED, fitted);
    for (uint32_t i = first; i < p->count && p->exec[i] == exec; i++) {
        row = add_row(f, exec, 2, "part", osc_store_text(f->store, p->name[i]), at, p->dur_ns[i]);
        osc_table_set_bool(f->table, row, OSC_FOLLOW_FITTED, p->fitted[i] != 0);
        at = osc_add_sat(at, p->dur_ns[i]);
    }
    f->launch_ns = osc_add_sat(f->launch_ns, launch);
}

/* "2 transfers, 4.1 KB, 16 B/ns" */
static osc_str transfer_detail(struct follow *f, const struct line *line)
{
    char size[OSC_NUM_TEXT];
    int64_t dur = line->end_ns - line->start_ns;
    osc_buf_clear(&f->text);
    osc_buf_printf(&f->text, "%u transfer%s, %s", line->transfers, line->transfers == 1 ? "" : "s",
                   osc_format_bytes(line->bytes, size));
    if (dur > 0)
        osc_buf_printf(&f->text, ", %.1f B/ns", (double)line->bytes / (double)dur);
    return osc_buf_view(&f->text);
}

static void add_transfers(struct follow *f, uint32_t exec, const struct body *b,
                          const struct line *line)
{
    const osc_work_cols *w = osc_store_work(f->store);
    struct part_of first = {line->number, 0};
    uint32_t low = 0, high = b->transfer_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_parts(&b->transfers[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < b->transfer_count && b->transfers[low].line == line->number; low++) {
        uint32_t work = b->transfers[low].work;
        uint32_t row = add_row(f, exec, 2, "transfer", OSC_STR("transfer"), w->start_ns[work],
                               w->dur_ns[work]);
        osc_table_set_i64(f->table, row, OSC_FOLLOW_RING, w->ring[work]);
        osc_table_set_i64(f->table, row, OSC_FOLLOW_BYTES, (int64_t)w->bytes[work]);
        osc_table_set_i64(f->table, row, OSC_FOLLOW_TRANSFERS, 1);
        osc_table_set_str(f->table, row, OSC_FOLLOW_ENGINE, OSC_STR("DMA"));
    }
}

static void add_line(struct follow *f, uint32_t exec, const struct body *b, const struct line *line,
                     int64_t gap)
{
    const osc_inst_cols *in = osc_store_inst(f->store);
    static const char *const kinds[] = {"", "instruction", "dma", "preamble", "postamble"};
    assert(line->kind < sizeof kinds / sizeof *kinds);
    osc_str name = label_of(f->store, line->inst);
    if (name.len == 0)
        name = osc_str_from_cstr(kinds[line->kind]);
    uint32_t row =
        add_row(f, exec, 1, kinds[line->kind], name, line->start_ns, line->end_ns - line->start_ns);
    if (line->kind == OSC_WORK_INST || line->kind == OSC_WORK_DMA) {
        osc_table_set_str(f->table, row, OSC_FOLLOW_ENGINE,
                          osc_str_from_cstr(osc_follow_engine_name(line->engine)));
        osc_table_set_str(f->table, row, OSC_FOLLOW_WAITED_FOR, waited_for(f, b, line));
        osc_table_set_i64(f->table, row, OSC_FOLLOW_GAP_NS, gap);
    }
    if (line->inst != OSC_NO_ROW)
        osc_table_set_str(f->table, row, OSC_FOLLOW_TEXT,
                          osc_store_text(f->store, in->text[line->inst]));
    if (line->kind == OSC_WORK_DMA) {
        osc_table_set_i64(f->table, row, OSC_FOLLOW_BYTES, (int64_t)line->bytes);
        osc_table_set_i64(f->table, row, OSC_FOLLOW_TRANSFERS, line->transfers);
        osc_table_set_str(f->table, row, OSC_FOLLOW_DETAIL, transfer_detail(f, line));
        add_transfers(f, exec, b, line);
    }
}

/* ---- shares ---- */

/* True for instructions that compute, false for those that only order others. */
static bool computes(const osc_store *store, uint32_t inst)
{
    static const char *const others[] = {"nop",    "sem_wait", "sem_inc", "notify",   "barrier",
                                         "branch", "reg_move", "reg_alu", "reg_load", "reg_store"};
    if (inst == OSC_NO_ROW)
        return true;
    osc_str opcode = osc_store_text(store, osc_store_inst(store)->opcode[inst]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (osc_str_eq_cstr(opcode, others[i]))
            return false;
    }
    return true;
}

/* Time at least one line of the wanted kind was running; lines are in order of start. */
static int64_t covered(const struct follow *f, const struct line *lines, uint32_t count,
                       uint8_t kind)
{
    int64_t sum = 0, until = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        if (lines[i].kind != kind || (kind == OSC_WORK_INST && !computes(f->store, lines[i].inst)))
            continue;
        int64_t from = lines[i].start_ns > until ? lines[i].start_ns : until;
        if (lines[i].end_ns > from) {
            sum = osc_add_sat(sum, lines[i].end_ns - from);
            until = lines[i].end_ns;
        }
    }
    return sum;
}

bool osc_follow_execution(struct follow *f, uint32_t exec)
{
    struct body b = {.f = f};
    int64_t free_at[ENGINES];
    bool ok = gather(&b, exec);
    if (ok) {
        add_launch(f, exec);
        for (unsigned e = 0; e < ENGINES; e++)
            free_at[e] = osc_store_exec(f->store)->body_ns[exec];
        for (uint32_t i = 0; i < b.line_count; i++) {
            int64_t *free_ns = &free_at[b.lines[i].engine % ENGINES];
            int64_t gap = b.lines[i].start_ns > *free_ns ? b.lines[i].start_ns - *free_ns : 0;
            add_line(f, exec, &b, &b.lines[i], gap);
            if (b.lines[i].end_ns > *free_ns)
                *free_ns = b.lines[i].end_ns;
        }
        f->data_ns = osc_add_sat(f->data_ns, covered(f, b.lines, b.line_count, OSC_WORK_DMA));
        f->arithmetic_ns =
            osc_add_sat(f->arithmetic_ns, covered(f, b.lines, b.line_count, OSC_WORK_INST));
    }
    osc_map_free(&b.dma_of);
    osc_free(b.lines);
    osc_free(b.transfers);
    osc_free(b.raises);
    return ok;
}
