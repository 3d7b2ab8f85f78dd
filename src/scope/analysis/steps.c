/*
 * steps.c - the table of steps: wall, device, idle, communication, host; see steps.h.
 *
 * Exposed communication is communication while the device computes nothing. Device work comes
 * sorted by start, so every union is a running end, and what is exposed is the difference of two
 * unions:
 *
 *     compute   =====     ====            U1 = compute
 *     comm         =====                  U2 = compute or comm             exposed comm = U2 - U1
 *     copy                   ====         U3 = compute or comm or copy     exposed copy = U3 - U2
 *
 * so that work = compute + exposed comm + exposed copy holds exactly, without a list of intervals.
 */
#include "scope/analysis/steps.h"

#include "base/mem.h"
#include "scope/analysis/host_at.h"
#include "scope/analysis/idle.h"
#include "scope/analysis/radix.h"
#include "scope/analysis/sat.h"
#include "scope/analysis/say.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    STEP = 0,
    PROCESS,
    DEVICE,
    WALL,
    BUSY,
    BUSY_SHARE,
    IDLE,
    NO_LAUNCH, /* the idle classes in their order; two do not occur for a whole device */
    HOST_WAIT,
    SYNC,
    LAUNCH,
    QUEUE,
    UNKNOWN,
    EDGE,
    WORK,
    COMPUTE,
    COMM,
    EXPOSED_COMM,
    COPY,
    EXPOSED_COPY,
    KERNELS,
    COPIES,
    COMMS,
    LAUNCHES,
    OPS,
    HOST_OP,
    HOST_CALL,
    HOST_SYNC,
    HOST_OTHER,
    CUT,
    START,
    WORK_END,
    COLUMNS
};

#define NS(name, label, meaning, machine)                        \
    {                                                            \
        name, label, meaning, OSC_CELL_I64, OSC_UNIT_NS, machine \
    }
#define COUNT(name, label, meaning, machine)                        \
    {                                                               \
        name, label, meaning, OSC_CELL_I64, OSC_UNIT_COUNT, machine \
    }

static const osc_table_column step_columns[COLUMNS] = {
    {"step", "step", "name of the range", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"process", "process", "the process it belongs to, by its main thread", OSC_CELL_STR,
     OSC_UNIT_NONE, false},
    {"device", "device", "device of the columns from busy to exposed copy", OSC_CELL_STR,
     OSC_UNIT_NONE, false},
    NS("wall_ns", "wall", "length of the step", false),
    NS("busy_ns", "busy", "time in the step in which the device worked, on anything", false),
    {"busy_share", "%", "busy, of wall", OSC_CELL_F64, OSC_UNIT_PERCENT, false},
    NS("idle_ns", "idle", "wall less busy", OSC_COLUMN_HELPS),
    NS("idle_no_launch_ns", "no launch", "idle: the host had not launched", OSC_COLUMN_HELPS),
    NS("idle_host_wait_ns", "host wait", "idle: the host waited for data, a lock, time",
       OSC_COLUMN_DETAIL),
    NS("idle_sync_ns", "sync", "idle: the launching thread waited for the device",
       OSC_COLUMN_DETAIL),
    NS("idle_launch_ns", "launch", "idle: the launch was on its way", OSC_COLUMN_DETAIL),
    NS("idle_queue_ns", "queue", "idle although work was queued", OSC_COLUMN_DETAIL),
    NS("idle_unknown_ns", "unknown", "idle: the launch of the next work was not recorded",
       OSC_COLUMN_RARE),
    NS("idle_edge_ns", "edge", "idle at the ends of the capture", OSC_COLUMN_RARE),
    NS("work_ns", "work", "union of the device work launched in the step, wherever it ran",
       OSC_COLUMN_DETAIL),
    NS("compute_ns", "compute", "of that, computing", true),
    NS("comm_ns", "comm", "of that, communicating; may overlap computing", OSC_COLUMN_DETAIL),
    NS("exposed_comm_ns", "exposed comm", "communicating while not computing", OSC_COLUMN_HELPS),
    NS("copy_ns", "copy", "copies and fills launched in the step", true),
    NS("exposed_copy_ns", "exposed copy", "copying while neither computing nor communicating",
       OSC_COLUMN_DETAIL),
    COUNT("kernels", "kernels", "kernels launched in the step", OSC_COLUMN_HELPS),
    COUNT("copies", "copies", "copies and fills launched in the step", true),
    COUNT("collectives", "collectives", "collectives launched in the step", true),
    COUNT("launches", "launches", "host calls that launched device work", OSC_COLUMN_RARE),
    COUNT("ops", "ops", "operators that began in the step, on any thread", true),
    NS("host_op_ns", "host op", "the step's thread in operators, calls not counted", true),
    NS("host_call_ns", "host call", "in runtime calls", true),
    NS("host_sync_ns", "host sync", "in calls that wait for the device", OSC_COLUMN_DETAIL),
    NS("host_other_ns", "host other", "in neither: Python, or nothing recorded", true),
    {"cut", "cut", "why its figures are incomplete", OSC_CELL_STR, OSC_UNIT_NONE, false},
    NS("start_ns", "start", "start, host time", true),
    NS("work_end_ns", "work end", "end of the last work launched in it, host time; 0 none", true),
};

/* A union of intervals that come by start. */
struct joined {
    int64_t end_ns, sum_ns;
    bool any;
};

static void join(struct joined *j, int64_t start, int64_t end)
{
    if (!j->any || start >= j->end_ns)
        j->sum_ns = osc_add_sat(j->sum_ns, end - start);
    else if (end > j->end_ns)
        j->sum_ns = osc_add_sat(j->sum_ns, end - j->end_ns);
    if (!j->any || end > j->end_ns)
        j->end_ns = end;
    j->any = true;
}

/* Figures of a step on a device. */
struct on_device {
    struct joined all, compute, compute_or_comm, comm, copy;
    int64_t idle_ns[OSC_IDLE_CLASSES];
    uint64_t items[OSC_BUSY_CLASSES];
    int64_t from_before; /* items in its window whose launch is not in the capture */
};

/* Figures of a step on the host. */
struct on_host {
    uint64_t ops, launches, lost;
    int64_t op_ns, call_ns, sync_ns;
};

struct show {
    const osc_busy *busy;
    const osc_steps *steps;
    const osc_idle *idle;
    struct on_device *device; /* [step * devices + device] */
    struct on_host *host;     /* [step] */
    uint8_t *marks;           /* [slice]: LAUNCHED, WAITS */
    osc_block *blocks;
    uint32_t block_count;
    uint64_t outside; /* items launched in no step */
    uint32_t only;    /* device to show, OSC_NO_ROW all */
    osc_table *table;
};

enum { LAUNCHED = 1, WAITS = 2 };

static struct on_device *at(const struct show *w, uint32_t step, uint32_t device)
{
    return &w->device[(size_t)step * w->busy->device_count + device];
}

/* ---- device ---- */

/* What the runtime itself does on a core (nrt_model_switch) keeps it busy, but is no kernel. */
static void add_item(struct on_device *d, const osc_busy_item *item, bool of_runtime)
{
    d->items[item->cls] += !of_runtime;
    join(&d->all, item->start_ns, item->end_ns);
    if (item->cls == OSC_BUSY_COMPUTE)
        join(&d->compute, item->start_ns, item->end_ns);
    if (item->cls != OSC_BUSY_COPY)
        join(&d->compute_or_comm, item->start_ns, item->end_ns);
    if (item->cls == OSC_BUSY_COMM)
        join(&d->comm, item->start_ns, item->end_ns);
    if (item->cls == OSC_BUSY_COPY)
        join(&d->copy, item->start_ns, item->end_ns);
}

/* First step that ends after a time, or that begins at or after it; steps of one process are in
 * order. */
static uint32_t first_step(const osc_steps *steps, int64_t time, bool ends)
{
    uint32_t low = 0, high = steps->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const osc_step *k = &steps->items[middle];
        if (ends ? k->end_ns <= time : k->start_ns < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Counts an item without a launch for the steps it runs in: as differences, added up by
 * sum_from_before. With steps of several processes it is not known whose it is. */
static void add_from_before(struct show *w, const osc_busy_item *item)
{
    const osc_steps *steps = w->steps;
    if (steps->whole || steps->items[0].process != steps->items[steps->count - 1].process)
        return;
    uint32_t first = first_step(steps, item->start_ns, true);
    uint32_t end = first_step(steps, item->end_ns, false);
    if (first >= end)
        return;
    at(w, first, item->device)->from_before++;
    if (end < steps->count)
        at(w, end, item->device)->from_before--;
}

static void sum_from_before(struct show *w)
{
    for (uint32_t k = 1; k < w->steps->count; k++) {
        for (uint32_t d = 0; d < w->busy->device_count; d++)
            at(w, k, d)->from_before += at(w, k - 1, d)->from_before;
    }
}

static void add_items(struct show *w)
{
    const osc_slice_cols *s = w->busy->slices;
    uint32_t step = 0;
    for (uint32_t i = 0; i < w->busy->count; i++) {
        const osc_busy_item *item = &w->busy->items[i];
        if (item->launch == OSC_NO_ROW) {
            add_from_before(w, item);
        } else {
            w->marks[item->launch] |= LAUNCHED;
        }
        uint32_t found = item->launch == OSC_NO_ROW
                             ? (w->steps->whole ? 0 : OSC_NO_ROW)
                             : osc_steps_at(w->steps, osc_busy_thread(w->busy, item->launch),
                                            s->start_ns[item->launch], step);
        if (found == OSC_NO_ROW) {
            w->outside++;
            continue;
        }
        step = found;
        add_item(at(w, step, item->device), item, s->kind[item->slice] == OSC_KIND_NRT);
    }
}

/* First idle piece of [low, high) that ends after a time. */
static uint32_t first_piece(const struct show *w, uint32_t low, uint32_t high, int64_t time)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->idle->pieces[middle].end_ns <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_idle(struct show *w)
{
    for (uint32_t k = 0; k < w->steps->count; k++) {
        const osc_step *step = &w->steps->items[k];
        for (uint32_t d = 0; d < w->busy->device_count; d++) {
            uint32_t end = w->idle->first[d + 1];
            uint32_t i = first_piece(w, w->idle->first[d], end, step->start_ns);
            for (; i < end && w->idle->pieces[i].start_ns < step->end_ns; i++) {
                const osc_idle_piece *p = &w->idle->pieces[i];
                int64_t from = p->start_ns > step->start_ns ? p->start_ns : step->start_ns;
                int64_t to = p->end_ns < step->end_ns ? p->end_ns : step->end_ns;
                at(w, k, d)->idle_ns[p->cls] += to - from;
            }
        }
    }
}

/* ---- host ---- */

static void mark_blocks(struct show *w)
{
    for (uint32_t i = 0; i < w->block_count; i++)
        w->marks[w->blocks[i].slice] |= WAITS;
}

/* A launch of kernels without device work; a copy or a fill of nothing has none either, and is in
 * order. */
static bool is_lost(const struct show *w, uint32_t slice)
{
    const osc_slice_cols *s = w->busy->slices;
    return s->kind[slice] == OSC_KIND_RUNTIME && s->correlation[slice] != 0 &&
           !(w->marks[slice] & LAUNCHED) && (osc_busy_name(w->busy, slice) & OSC_NAME_KERNELS);
}

static void count_slices(struct show *w)
{
    const osc_slice_cols *s = w->busy->slices;
    uint32_t step = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->kind[i] == OSC_KIND_PYTHON || !osc_busy_is_host(w->busy, i))
            continue;
        bool op = osc_busy_is_op(w->busy, i);
        bool lost = is_lost(w, i), launch = lost || (w->marks[i] & LAUNCHED);
        if (!op && !launch)
            continue;
        uint32_t found = osc_steps_at(w->steps, osc_busy_thread(w->busy, i), s->start_ns[i], step);
        if (found == OSC_NO_ROW)
            continue;
        step = found;
        w->host[step].ops += op;
        w->host[step].launches += launch;
        w->host[step].lost += lost;
    }
}

/* Where the step's own thread was, by what was innermost. */
static bool add_host_time(struct show *w)
{
    const osc_slice_cols *s = w->busy->slices;
    osc_pieces walk = {0};
    osc_piece piece;
    for (uint32_t k = 0; k < w->steps->count && !walk.failed; k++) {
        const osc_step *step = &w->steps->items[k];
        struct on_host *host = &w->host[k];
        uint32_t first, end;
        osc_thread_range(w->busy, step->thread, &first, &end);
        osc_pieces_start(&walk, w->busy, first, end, step->start_ns, step->end_ns);
        while (osc_pieces_next(&walk, &piece)) {
            int64_t ns = piece.end_ns - piece.start_ns;
            if (piece.slice == OSC_NO_ROW)
                continue;
            if (w->marks[piece.slice] & WAITS)
                host->sync_ns += ns;
            else if (s->kind[piece.slice] == OSC_KIND_RUNTIME)
                host->call_ns += ns;
            else if (osc_busy_is_op(w->busy, piece.slice))
                host->op_ns += ns;
        }
    }
    bool ok = !walk.failed;
    osc_pieces_free(&walk);
    return ok;
}

/* ---- rows ---- */

static void set(const struct show *w, uint32_t row, uint32_t column, int64_t value)
{
    osc_table_set_i64(w->table, row, column, value);
}

static void put_device(const struct show *w, uint32_t row, uint32_t k, uint32_t d)
{
    static const uint8_t classes[] = {OSC_IDLE_NO_LAUNCH, OSC_IDLE_HOST_WAIT, OSC_IDLE_SYNC,
                                      OSC_IDLE_LAUNCH,    OSC_IDLE_QUEUE,     OSC_IDLE_UNKNOWN,
                                      OSC_IDLE_EDGE};
    const osc_step *step = &w->steps->items[k];
    const struct on_device *f = at(w, k, d);
    int64_t wall = step->end_ns - step->start_ns, idle = 0;
    for (uint32_t c = 0; c < sizeof classes; c++) {
        set(w, row, NO_LAUNCH + c, f->idle_ns[classes[c]]);
        idle += f->idle_ns[classes[c]];
    }
    assert(idle <= wall);
    osc_table_set_str(w->table, row, DEVICE, osc_busy_device(w->busy, d));
    set(w, row, BUSY, wall - idle);
    osc_table_set_f64(w->table, row, BUSY_SHARE,
                      wall > 0 ? 100.0 * (double)(wall - idle) / (double)wall : 0);
    set(w, row, IDLE, idle);
    set(w, row, WORK, f->all.sum_ns);
    set(w, row, COMPUTE, f->compute.sum_ns);
    set(w, row, COMM, f->comm.sum_ns);
    set(w, row, EXPOSED_COMM, f->compute_or_comm.sum_ns - f->compute.sum_ns);
    set(w, row, COPY, f->copy.sum_ns);
    set(w, row, EXPOSED_COPY, f->all.sum_ns - f->compute_or_comm.sum_ns);
    set(w, row, KERNELS, (int64_t)f->items[OSC_BUSY_COMPUTE]);
    set(w, row, COMMS, (int64_t)f->items[OSC_BUSY_COMM]);
    set(w, row, COPIES, (int64_t)f->items[OSC_BUSY_COPY]);
    set(w, row, WORK_END, f->all.any ? f->all.end_ns : 0);
}

static osc_str process_name(const struct show *w, const osc_step *step)
{
    const osc_track_cols *t = osc_store_track(w->busy->store);
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->thread[i] == step->thread && t->lane_kind[i] == OSC_LANE_THREAD)
            return osc_track_process(w->busy->store, i);
    }
    return (osc_str){0};
}

static void put_host(const struct show *w, uint32_t row, uint32_t k, uint32_t d)
{
    const osc_step *step = &w->steps->items[k];
    const struct on_host *h = &w->host[k];
    char cut[128];
    bool before = d != OSC_NO_ROW && at(w, k, d)->from_before > 0;
    osc_table_set_str(w->table, row, STEP,
                      step->slice == OSC_NO_ROW ? OSC_STR("whole capture")
                                                : osc_busy_text(w->busy, step->slice));
    osc_table_set_str(w->table, row, PROCESS, process_name(w, step));
    set(w, row, START, step->start_ns);
    set(w, row, WALL, step->end_ns - step->start_ns);
    set(w, row, OPS, (int64_t)h->ops);
    set(w, row, LAUNCHES, (int64_t)h->launches);
    set(w, row, HOST_OP, h->op_ns);
    set(w, row, HOST_CALL, h->call_ns);
    set(w, row, HOST_SYNC, h->sync_ns);
    set(w, row, HOST_OTHER, step->end_ns - step->start_ns - h->op_ns - h->call_ns - h->sync_ns);
    snprintf(cut, sizeof cut, "%s%s%s%s%s", step->unfinished ? "unfinished" : "",
             step->unfinished && h->lost ? ", " : "", h->lost ? "work missing" : "",
             (step->unfinished || h->lost) && before ? ", " : "", before ? "work from before" : "");
    osc_table_set_str(w->table, row, CUT, osc_str_from_cstr(cut));
}

static void put_rows(const struct show *w)
{
    for (uint32_t k = 0; k < w->steps->count; k++) {
        for (uint32_t d = 0; d < w->busy->device_count; d++) {
            if (w->only != OSC_NO_ROW && d != w->only)
                continue;
            uint32_t row = osc_table_add_row(w->table);
            put_host(w, row, k, d);
            put_device(w, row, k, d);
        }
        if (w->busy->device_count == 0)
            put_host(w, osc_table_add_row(w->table), k, OSC_NO_ROW);
    }
}

/* ---- facts and the lines below ---- */

/* Walls of all steps in order of length; NULL: out of memory. */
static osc_keyed *walls(const struct show *w)
{
    uint32_t n = w->steps->count;
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)n + 1, 2 * sizeof *keys);
    for (uint32_t k = 0; keys && k < n; k++) {
        const osc_step *step = &w->steps->items[k];
        keys[k] = (osc_keyed){(uint64_t)(step->end_ns - step->start_ns), k};
    }
    if (keys)
        osc_radix_sort(keys, keys + n, n);
    return keys;
}

static void line(const struct show *w, const char *text)
{
    osc_table_add_footer(w->table, osc_str_from_cstr(text));
}

static void put_lines(const struct show *w, const osc_keyed *wall, int64_t busy, int64_t all)
{
    uint32_t n = w->steps->count;
    char a[OSC_SAY_TEXT], b[OSC_SAY_TEXT], c[OSC_SAY_TEXT], number[OSC_NUM_TEXT], text[256];
    if (w->steps->whole)
        line(w, "no ProfilerStep# in this capture: it was taken without a schedule, or without "
                "step() calls");
    if (n > 1) {
        snprintf(text, sizeof text, "wall %s median, %s to %s over %u steps",
                 osc_say_ns((int64_t)wall[(n - 1) / 2].key, a), osc_say_ns((int64_t)wall[0].key, b),
                 osc_say_ns((int64_t)wall[n - 1].key, c), n);
        line(w, text);
    }
    if (w->busy->device_count > 0 && all > 0) {
        snprintf(text, sizeof text, "device busy %.1f %% of that time",
                 100.0 * (double)busy / (double)all);
        line(w, text);
    } else if (w->busy->device_count == 0) {
        line(w, osc_busy_why_none(w->busy));
    }
    if (w->outside > 0) {
        snprintf(text, sizeof text, "device work launched in no step: %s",
                 osc_format_count((int64_t)w->outside, number));
        line(w, text);
    }
}

static bool put_facts(const struct show *w)
{
    osc_keyed *wall = walls(w);
    uint32_t n = w->steps->count;
    int64_t busy = 0, all = 0;
    if (!wall)
        return false;
    for (uint32_t r = 0; r < osc_table_rows(w->table); r++) {
        busy = osc_add_sat(busy, osc_table_cell(w->table, r, BUSY).i64);
        all = osc_add_sat(all, osc_table_cell(w->table, r, WALL).i64);
    }
    osc_table_set_fact_i64(w->table, "steps", w->steps->whole ? 0 : n);
    osc_table_set_fact_i64(w->table, "whole", w->steps->whole);
    osc_table_set_fact_i64(w->table, "min_wall_ns", (int64_t)wall[0].key);
    osc_table_set_fact_i64(w->table, "median_wall_ns", (int64_t)wall[(n - 1) / 2].key);
    osc_table_set_fact_i64(w->table, "max_wall_ns", (int64_t)wall[n - 1].key);
    osc_table_set_fact_i64(w->table, "busy_ns", busy);
    osc_table_set_fact_i64(w->table, "wall_ns", all);
    osc_table_set_fact_i64(w->table, "outside", (int64_t)w->outside);
    osc_table_set_fact_i64(w->table, "unlaunched", (int64_t)w->busy->unlaunched);
    osc_table_set_fact_i64(w->table, "lost", (int64_t)w->busy->lost);
    osc_table_set_fact_i64(w->table, "repeated", (int64_t)w->steps->repeated);
    osc_table_set_fact_str(w->table, "no_device_work",
                           osc_str_from_cstr(osc_busy_why_none(w->busy)));
    put_lines(w, wall, busy, all);
    osc_free(wall);
    return true;
}

/* Columns in which nothing happened are for machines only. */
static osc_table *new_table(const struct show *w)
{
    osc_table_column columns[COLUMNS];
    int64_t sums[COLUMNS] = {0};
    memcpy(columns, step_columns, sizeof columns);
    for (uint32_t k = 0; k < w->steps->count; k++) {
        sums[HOST_SYNC] |= w->host[k].sync_ns;
        for (uint32_t d = 0; d < w->busy->device_count; d++) {
            const struct on_device *f = at(w, k, d);
            sums[HOST_WAIT] |= f->idle_ns[OSC_IDLE_HOST_WAIT];
            sums[SYNC] |= f->idle_ns[OSC_IDLE_SYNC];
            sums[UNKNOWN] |= f->idle_ns[OSC_IDLE_UNKNOWN];
            sums[EDGE] |= f->idle_ns[OSC_IDLE_EDGE];
            sums[COMM] |= f->comm.sum_ns;
            sums[EXPOSED_COPY] |= f->all.sum_ns - f->compute_or_comm.sum_ns;
        }
    }
    sums[EXPOSED_COMM] = sums[COMM];
    static const uint8_t optional[] = {HOST_WAIT, SYNC,         UNKNOWN,      EDGE,
                                       COMM,      EXPOSED_COMM, EXPOSED_COPY, HOST_SYNC};
    for (uint32_t i = 0; i < sizeof optional; i++) {
        if (sums[optional[i]] == 0)
            columns[optional[i]].use = OSC_COLUMN_MACHINE;
    }
    bool none = w->busy->device_count == 0;
    for (uint32_t c = BUSY; none && c <= LAUNCHES; c++)
        columns[c].use = OSC_COLUMN_MACHINE;
    if (none)
        columns[OPS].use = columns[HOST_OP].use = columns[HOST_OTHER].use = OSC_COLUMN_SHOWN;
    if (w->busy->device_count < 2)
        columns[DEVICE].use = OSC_COLUMN_MACHINE;
    if (w->steps->items[0].process == w->steps->items[w->steps->count - 1].process)
        columns[PROCESS].use = OSC_COLUMN_MACHINE;
    return osc_table_new("steps", columns, COLUMNS);
}

static osc_status out_of_memory(osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for steps");
}

static osc_status show(struct show *w, osc_err *err)
{
    size_t slices = w->busy->slices->count, cells;
    if (!osc_mul_size(w->steps->count, w->busy->device_count, &cells))
        return out_of_memory(err);
    w->device = osc_calloc(cells + 1, sizeof *w->device);
    w->host = osc_calloc((size_t)w->steps->count + 1, sizeof *w->host);
    w->marks = osc_calloc(slices + 1, 1);
    if (!w->device || !w->host || !w->marks)
        return out_of_memory(err);
    mark_blocks(w);
    add_items(w);
    sum_from_before(w);
    add_idle(w);
    count_slices(w);
    if (!add_host_time(w))
        return out_of_memory(err);
    w->table = new_table(w);
    if (!w->table)
        return out_of_memory(err);
    put_rows(w);
    if (!put_facts(w))
        return out_of_memory(err);
    return osc_table_status(w->table, err);
}

static osc_status analyse(struct show *w, osc_busy *busy, osc_steps *steps, osc_idle *idle,
                          osc_str device, osc_err *err)
{
    w->only = OSC_NO_ROW;
    osc_status status = osc_busy_pick_device(busy, device, &w->only, err);
    if (status == OSC_OK)
        status = osc_steps_find(busy, steps, err);
    if (status == OSC_OK)
        status = osc_idle_find(busy, false, idle, err);
    if (status == OSC_OK)
        status = osc_busy_blocks(busy, &w->blocks, &w->block_count, err);
    return status == OSC_OK ? show(w, err) : status;
}

osc_status osc_steps_table(const osc_store *store, const osc_steps_options *options,
                           osc_table **out, osc_err *err)
{
    osc_calls *calls = NULL;
    osc_busy busy = {0};
    osc_steps steps = {0};
    osc_idle idle = {0};
    struct show w = {.busy = &busy, .steps = &steps, .idle = &idle};
    osc_status status = osc_busy_open(store, &calls, &busy, err);
    if (status == OSC_OK)
        status = analyse(&w, &busy, &steps, &idle, options->device, err);
    if (status != OSC_OK) {
        osc_table_free(w.table);
        w.table = NULL;
    }
    *out = w.table;
    osc_free(w.device);
    osc_free(w.host);
    osc_free(w.marks);
    osc_free(w.blocks);
    osc_idle_free(&idle);
    osc_steps_free(&steps);
    osc_busy_free(&busy);
    osc_calls_free(calls);
    return status;
}
