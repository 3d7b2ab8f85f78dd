/*
 * engines.c - the breakdown per engine and the timeline; see engines.h.
 *
 * Per core and engine two lists of spans are made, busy and waiting, joined and subtracted; whoever
 * raises the semaphore that a wait was for gets the wait. A wait that another instruction of the
 * engine covers (a MATMUL streams while its neighbour waits) is busy time, not waiting.
 */
#include "scope/analysis/engines.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/engines_internal.h"
#include "scope/analysis/sat.h"
#include "scope/analysis/spans.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define OWNERS_SHOWN    2u
#define OWNERS_TOLD     64u /* owners told apart */
#define PICTURE_COLUMNS 64u
#define CUT_SHARE       10 /* a stretch longer than a 10th in which nothing is busy is left out */
#define CUTS_MAX        9u

/* ---- one lane: an engine of a core ---- */

struct lane {
    uint32_t core;
    uint8_t engine;
    uint32_t first, count; /* instructions in the order array */
    osc_span *busy, *waits;
    uint32_t busy_count, wait_count;
    int64_t time_ns; /* sum of lengths that count */
};

struct lanes {
    osc_view view;
    osc_owners *owners;
    uint32_t *order; /* rows of the view that are instructions, by core, engine, time */
    uint32_t order_count;
    osc_span *spans; /* memory of all lanes */
    struct lane *lanes;
    uint32_t count;
};

/* By core, then engine, then as in the view (time). */
struct sort_key {
    uint64_t lane;
    uint32_t row;
};

static int by_lane(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool sort_instructions(struct lanes *l)
{
    struct sort_key *keys = osc_realloc_array(NULL, (size_t)l->view.count + 1, sizeof *keys);
    l->order = osc_realloc_array(NULL, (size_t)l->view.count + 1, sizeof *l->order);
    l->lanes = osc_realloc_array(NULL, (size_t)l->view.count + 1, sizeof *l->lanes);
    uint32_t n = 0;
    for (uint32_t i = 0; keys && i < l->view.count; i++) {
        if (osc_view_is_instruction(&l->view.rows[i]))
            keys[n++] = (struct sort_key){osc_view_lane_key(&l->view, l->view.rows[i].work), i};
    }
    if (!keys || !l->order || !l->lanes) {
        osc_free(keys);
        return false;
    }
    qsort(keys, n, sizeof *keys, by_lane);
    for (uint32_t i = 0; i < n; i++) {
        l->order[i] = keys[i].row;
        if (i == 0 || keys[i].lane != keys[i - 1].lane)
            l->lanes[l->count++] = (struct lane){.core = (uint32_t)(keys[i].lane >> 16),
                                                 .engine = (uint8_t)keys[i].lane,
                                                 .first = i};
        l->lanes[l->count - 1].count++;
    }
    l->order_count = n;
    osc_free(keys);
    return true;
}

/* How long a row waited for its semaphore before it started. */
static int64_t waited_before(const osc_view *v, const osc_view_row *row)
{
    const osc_work_cols *w = osc_store_work(v->store);
    return w->wait[row->work] == OSC_WAIT_SEMAPHORE
               ? osc_sub_sat(row->start_ns, w->ready_ns[row->work])
               : 0;
}

static void fill_lane(const struct lanes *l, struct lane *lane, osc_span *memory)
{
    const osc_view *v = &l->view;
    lane->busy = memory;
    lane->waits = memory + lane->count;
    for (uint32_t i = lane->first; i < lane->first + lane->count; i++) {
        const osc_view_row *row = &v->rows[l->order[i]];
        int64_t before = waited_before(v, row);
        osc_span own = {row->start_ns, row->end_ns};
        if (row->kind == OSC_PART_WORKING) {
            lane->busy[lane->busy_count++] = own;
            lane->time_ns = osc_add_sat(lane->time_ns, row->end_ns - row->start_ns);
        } else {
            lane->waits[lane->wait_count++] = own;
        }
        if (before > 0)
            lane->waits[lane->wait_count++] = (osc_span){row->start_ns - before, row->start_ns};
    }
    assert(lane->busy_count <= lane->count && lane->wait_count <= 2 * lane->count);
    lane->busy_count = osc_spans_join(lane->busy, lane->busy_count);
    lane->wait_count = osc_spans_join(lane->waits, lane->wait_count);
}

static osc_status open_lanes(struct lanes *l, const osc_store *store,
                             const osc_engine_options *options, osc_err *err)
{
    osc_status status = osc_view_open(&l->view, store, options, err);
    if (status != OSC_OK)
        return status;
    l->owners = osc_owners_new(&l->view);
    l->spans = osc_realloc_array(NULL, 3 * (size_t)l->view.count + 1, sizeof *l->spans);
    if (!l->owners || !l->spans || !sort_instructions(l))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for engines");
    for (uint32_t i = 0; i < l->count; i++)
        fill_lane(l, &l->lanes[i], l->spans + 3 * (size_t)l->lanes[i].first);
    return OSC_OK;
}

static void close_lanes(struct lanes *l)
{
    osc_view_free(&l->view);
    osc_owners_free(l->owners);
    osc_free(l->order);
    osc_free(l->spans);
    osc_free(l->lanes);
}

/* ---- waits, one by one ---- */

struct tally {
    uint64_t key; /* program << 32 | semaphore */
    uint32_t lane, sem, program, times;
    int64_t ns, longest_ns;
};

struct tallies {
    struct tally *items;
    size_t count, cap;
    osc_map index; /* key -> item, of the lane at hand */
};

static void free_tallies(struct tallies *t)
{
    osc_free(t->items);
    osc_map_free(&t->index);
}

/* Programs number their semaphores for themselves, so the program is part of what is told apart. */
static struct tally *tally_of(struct tallies *t, uint32_t lane, uint32_t program, uint32_t sem)
{
    uint64_t at, key = (uint64_t)program << 32 | sem;
    if (osc_map_get(&t->index, key, &at))
        return &t->items[at];
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        struct tally *grown = osc_realloc_array(t->items, cap, sizeof *grown);
        if (!grown)
            return NULL;
        t->items = grown;
        t->cap = cap;
    }
    if (osc_map_put(&t->index, key, t->count) != OSC_OK)
        return NULL;
    t->items[t->count] = (struct tally){.key = key, .lane = lane, .sem = sem, .program = program};
    return &t->items[t->count++];
}

static uint32_t program_of(const osc_view *v, uint32_t work)
{
    return osc_store_exec(v->store)->program[osc_store_work(v->store)->exec[work]];
}

static bool tally_waits(const struct lanes *l, struct tallies *t)
{
    const osc_work_cols *w = osc_store_work(l->view.store);
    for (uint32_t n = 0; n < l->count; n++) {
        osc_map_free(&t->index);
        for (uint32_t i = l->lanes[n].first; i < l->lanes[n].first + l->lanes[n].count; i++) {
            const osc_view_row *row = &l->view.rows[l->order[i]];
            int64_t ns = waited_before(&l->view, row);
            if (row->kind == OSC_PART_BARRIER)
                ns = osc_add_sat(ns, row->end_ns - row->start_ns);
            if (w->wait[row->work] != OSC_WAIT_SEMAPHORE)
                continue;
            struct tally *tally =
                tally_of(t, n, program_of(&l->view, row->work), w->wait_sem[row->work]);
            if (!tally)
                return false;
            tally->times++;
            tally->ns = osc_add_sat(tally->ns, ns);
            tally->longest_ns = ns > tally->longest_ns ? ns : tally->longest_ns;
        }
    }
    return true;
}

static int by_lane_and_time(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* "S[4]", "E[4]" */
static osc_str sem_text(uint32_t sem, osc_buf *out)
{
    osc_buf_clear(out);
    if (sem >= OSC_SEM_EVENT)
        osc_buf_printf(out, "E[%u]", sem - OSC_SEM_EVENT);
    else
        osc_buf_printf(out, "S[%u]", sem);
    return osc_buf_view(out);
}

/* ---- per engine ---- */

static const osc_table_column engine_columns[OSC_EN_COLUMNS] = {
    {"core", "core", "core number", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"engine", "engine", "engine", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"instructions", "instructions", "instructions it executed, waits included", OSC_CELL_I64,
     OSC_UNIT_COUNT, false},
    {"active_ns", "active", "time in which it executed at least one instruction that is no wait",
     OSC_CELL_I64, OSC_UNIT_NS, false},
    {"waiting_ns", "waiting", "time in which it waited for a semaphore and did nothing else",
     OSC_CELL_I64, OSC_UNIT_NS, false},
    {"idle_ns", "idle", "the rest of the executions' time", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"active_percent", "active %", "active time in percent of the executions' time", OSC_CELL_F64,
     OSC_UNIT_PERCENT, false},
    {"instruction_time_ns", "instruction time", "sum of the lengths, overlaps counted twice",
     OSC_CELL_I64, OSC_UNIT_NS, true},
    {"waits_for", "waits for", "who raises the semaphores, by share of the waiting time",
     OSC_CELL_STR, OSC_UNIT_NONE, false},
};

struct owner_share {
    osc_str owner;
    int64_t ns;
};

static int by_share(const void *a, const void *b)
{
    const struct owner_share *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return osc_str_cmp(x->owner, y->owner);
}

static osc_str owner_name(const struct lanes *l, const struct tally *t)
{
    osc_str owner = osc_owner_of(l->owners, t->program, t->sem);
    return owner.len > 0 ? owner : t->sem >= OSC_SEM_EVENT ? OSC_STR("events") : OSC_STR("unknown");
}

/* "qGpSimdDynamic 99 %, Tensor 1 %" of the tallies of one lane, which stand together. */
static void describe_waits(const struct lanes *l, const struct tally *items, size_t n, osc_buf *out)
{
    struct owner_share shares[OWNERS_TOLD + 1]; /* the last takes all that there is no room for */
    size_t count = 0;
    int64_t all = 0;
    osc_buf_clear(out);
    for (size_t i = 0; i < n; i++) {
        osc_str owner = owner_name(l, &items[i]);
        size_t at = 0;
        while (at < count && !osc_str_eq(shares[at].owner, owner))
            at++;
        if (at == count && count <= OWNERS_TOLD)
            shares[count++] = (struct owner_share){at < OWNERS_TOLD ? owner : OSC_STR("others"), 0};
        at = at < count ? at : OWNERS_TOLD;
        shares[at].ns = osc_add_sat(shares[at].ns, items[i].ns);
        all = osc_add_sat(all, items[i].ns);
    }
    qsort(shares, count, sizeof *shares, by_share);
    for (size_t i = 0; i < count && i < OWNERS_SHOWN && shares[i].ns >= all / 1000 + 1; i++)
        osc_buf_printf(out, "%s%.*s %.1f %%", i > 0 ? ", " : "", OSC_STR_FMT(shares[i].owner),
                       100.0 * (double)shares[i].ns / (double)all);
}

static void put_engine(const struct lanes *l, const struct lane *lane, const struct tally *items,
                       size_t n, osc_span *scratch, osc_table *t, osc_buf *text)
{
    uint32_t row = osc_table_add_row(t);
    int64_t active = osc_spans_sum(lane->busy, lane->busy_count);
    uint32_t left =
        osc_spans_subtract(lane->waits, lane->wait_count, lane->busy, lane->busy_count, scratch);
    int64_t waiting = osc_spans_sum(scratch, left);
    int64_t span = 0;
    const osc_exec_cols *e = osc_store_exec(l->view.store);
    for (uint32_t i = 0; i < e->count; i++) {
        if (l->view.group_of[i] != OSC_NO_ROW && e->core[i] == lane->core)
            span = osc_add_sat(span, e->body_dur_ns[i]);
    }
    int64_t idle = osc_sub_sat(osc_sub_sat(span, active), waiting);
    osc_table_set_i64(t, row, OSC_EN_CORE, lane->core);
    osc_table_set_str(t, row, OSC_EN_ENGINE, osc_view_engine_name(&l->view, lane->engine));
    osc_table_set_i64(t, row, OSC_EN_COUNT, lane->count);
    osc_table_set_i64(t, row, OSC_EN_ACTIVE, active);
    osc_table_set_i64(t, row, OSC_EN_WAITING, waiting);
    osc_table_set_i64(t, row, OSC_EN_IDLE, idle > 0 ? idle : 0);
    osc_table_set_f64(t, row, OSC_EN_SHARE, span > 0 ? 100.0 * (double)active / (double)span : 0);
    osc_table_set_i64(t, row, OSC_EN_TIME, lane->time_ns);
    describe_waits(l, items, n, text);
    osc_table_set_str(t, row, OSC_EN_WAITS_FOR, osc_buf_view(text));
}

/*
 * What bodies and picture leave out: the launches, and on one core the time from the first launch
 * to the end of the last body. A vendor's profile knows neither.
 */
static void set_launches(const osc_view *v, osc_table *t)
{
    const osc_exec_cols *e = osc_store_exec(v->store);
    int64_t launch = 0, first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < e->count && !v->profile; i++) {
        if (v->group_of[i] == OSC_NO_ROW)
            continue;
        int64_t end = osc_add_sat(e->body_ns[i], e->body_dur_ns[i]);
        if (e->start_ns[i] > 0 && e->body_ns[i] > e->start_ns[i])
            launch = osc_add_sat(launch, e->body_ns[i] - e->start_ns[i]);
        first = e->start_ns[i] < first ? e->start_ns[i] : first;
        last = end > last ? end : last;
    }
    osc_table_set_fact_i64(t, "launch_ns", launch);
    osc_table_set_fact_i64(t, "wall_ns",
                           launch > 0 && v->core_count < 2 ? osc_sub_sat(last, first) : 0);
}

static void set_facts(const osc_view *v, osc_table *t)
{
    const osc_exec_cols *e = osc_store_exec(v->store);
    const osc_program_cols *p = osc_store_program(v->store);
    osc_str name = {0};
    for (uint32_t i = 0; i < e->count; i++) {
        if (v->group_of[i] == OSC_NO_ROW || e->program[i] >= p->count)
            continue;
        osc_str own = osc_store_text(v->store, p->name[e->program[i]]);
        if (name.len > 0 && !osc_str_eq(name, own)) {
            name = OSC_STR("several programs");
            break;
        }
        name = own;
    }
    osc_table_set_fact_str(t, "program", name);
    osc_table_set_fact_str(t, "source", osc_store_get_meta(v->store, "source"));
    osc_table_set_fact_i64(t, "executions", v->exec_count);
    osc_table_set_fact_i64(t, "total_ns", v->span_ns);
    set_launches(v, t);
}

/* Tallies of each lane, sorted. There is memory for one even when nobody waited. */
static bool make_tallies(const struct lanes *l, struct tallies *t)
{
    t->cap = 1;
    t->items = osc_calloc(1, sizeof *t->items);
    if (!t->items || !tally_waits(l, t))
        return false;
    if (t->count > 0)
        qsort(t->items, t->count, sizeof *t->items, by_lane_and_time);
    return true;
}

osc_status osc_engines(const osc_store *store, const osc_engine_options *options, osc_table **out,
                       osc_err *err)
{
    struct lanes l = {.count = 0};
    struct tallies tallies = {0};
    osc_buf text;
    *out = NULL;
    osc_buf_init(&text, SIZE_MAX);
    osc_status status = open_lanes(&l, store, options, err);
    if (status == OSC_OK) {
        osc_table *t = osc_view_table(&l.view, "engines", engine_columns, OSC_EN_COLUMNS);
        osc_span *scratch = osc_realloc_array(NULL, 3 * (size_t)l.view.count + 1, sizeof *scratch);
        bool ok = t && scratch && make_tallies(&l, &tallies);
        size_t at = 0;
        for (uint32_t i = 0; ok && i < l.count; i++) {
            size_t from = at;
            while (at < tallies.count && tallies.items[at].lane == i)
                at++;
            put_engine(&l, &l.lanes[i], tallies.items + from, at - from, scratch, t, &text);
        }
        if (ok)
            set_facts(&l.view, t);
        osc_free(scratch);
        status = osc_table_finish(t, ok && !text.failed, out, err);
    }
    osc_buf_free(&text);
    free_tallies(&tallies);
    close_lanes(&l);
    return status;
}

/* ---- per semaphore ---- */

enum { W_CORE = 0, W_ENGINE, W_SEM, W_OWNER, W_TIMES, W_TIME, W_LONGEST, W_SHARE, W_COLUMNS };

static const osc_table_column wait_columns[W_COLUMNS] = {
    {"core", "core", "core number", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"engine", "engine", "who waited", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"semaphore", "for", "S[n] a semaphore, E[n] an event", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"owner", "raised by", "engine or DMA queue that raises it", OSC_CELL_STR, OSC_UNIT_NONE,
     false},
    {"waits", "waits", "instructions that waited for it", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"time_ns", "time", "how long together", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"longest_ns", "longest", "longest of them", OSC_CELL_I64, OSC_UNIT_NS, false},
    {"share_percent", "%", "in percent of the engine's waits", OSC_CELL_F64, OSC_UNIT_PERCENT,
     false},
};

static void put_wait(const struct lanes *l, const struct tally *w, int64_t all, osc_table *t,
                     osc_buf *text)
{
    uint32_t row = osc_table_add_row(t);
    osc_table_set_i64(t, row, W_CORE, l->lanes[w->lane].core);
    osc_table_set_str(t, row, W_ENGINE, osc_view_engine_name(&l->view, l->lanes[w->lane].engine));
    osc_table_set_str(t, row, W_SEM, sem_text(w->sem, text));
    osc_table_set_str(t, row, W_OWNER, owner_name(l, w));
    osc_table_set_i64(t, row, W_TIMES, w->times);
    osc_table_set_i64(t, row, W_TIME, w->ns);
    osc_table_set_i64(t, row, W_LONGEST, w->longest_ns);
    osc_table_set_f64(t, row, W_SHARE, all > 0 ? 100.0 * (double)w->ns / (double)all : 0);
}

osc_status osc_engines_by_semaphore(const osc_store *store, const osc_engine_options *options,
                                    osc_table **out, osc_err *err)
{
    struct lanes l = {.count = 0};
    struct tallies tallies = {0};
    osc_buf text;
    *out = NULL;
    osc_buf_init(&text, SIZE_MAX);
    osc_status status = open_lanes(&l, store, options, err);
    if (status == OSC_OK) {
        osc_table *t = osc_view_table(&l.view, "engine_waits", wait_columns, W_COLUMNS);
        bool ok = t && make_tallies(&l, &tallies);
        for (size_t at = 0; ok && at < tallies.count;) {
            int64_t all = 0;
            size_t end = at;
            while (end < tallies.count && tallies.items[end].lane == tallies.items[at].lane)
                all = osc_add_sat(all, tallies.items[end++].ns);
            for (; at < end; at++)
                put_wait(&l, &tallies.items[at], all, t, &text);
        }
        if (ok)
            set_facts(&l.view, t);
        status = osc_table_finish(t, ok && !text.failed, out, err);
    }
    osc_buf_free(&text);
    free_tallies(&tallies);
    close_lanes(&l);
    return status;
}

/* ---- picture ---- */

/* The axis of the picture: stretches of time that are drawn, one after the other. */
struct axis {
    osc_span drawn[CUTS_MAX + 1];
    uint32_t count;
    int64_t drawn_ns, cut_ns;
    uint32_t columns;
};

/* What is busy at all, joined; memory of the caller. */
static uint32_t all_busy(const osc_view *v, osc_span *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->rows[i].kind == OSC_PART_WORKING || v->rows[i].kind == OSC_PART_PACKET)
            out[n++] = (osc_span){v->rows[i].start_ns, v->rows[i].end_ns};
    }
    return osc_spans_join(out, n);
}

static int by_length(const void *a, const void *b)
{
    const osc_span *x = a, *y = b;
    int64_t lx = x->end_ns - x->start_ns, ly = y->end_ns - y->start_ns;
    if (lx != ly)
        return lx > ly ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int by_place(const void *a, const void *b)
{
    const osc_span *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Cuts out the longest stretches without work, as long as each is a tenth of what was left. */
static void make_axis(struct axis *a, const osc_span *busy, uint32_t n, osc_span *gaps)
{
    osc_span cuts[CUTS_MAX];
    uint32_t cut_count = 0;
    int64_t from = busy[0].start_ns, left = busy[n - 1].end_ns - from;
    for (uint32_t i = 1; i < n; i++)
        gaps[i - 1] = (osc_span){busy[i - 1].end_ns, busy[i].start_ns};
    if (n > 1)
        qsort(gaps, n - 1, sizeof *gaps, by_length);
    for (uint32_t i = 0; i + 1 < n && cut_count < CUTS_MAX; i++) {
        int64_t length = gaps[i].end_ns - gaps[i].start_ns;
        if (length <= left / CUT_SHARE)
            break;
        cuts[cut_count++] = gaps[i];
        left -= length;
        a->cut_ns += length;
    }
    if (cut_count > 0)
        qsort(cuts, cut_count, sizeof *cuts, by_place);
    for (uint32_t i = 0; i < cut_count; i++) {
        a->drawn[a->count++] = (osc_span){from, cuts[i].start_ns};
        from = cuts[i].end_ns;
    }
    a->drawn[a->count++] = (osc_span){from, busy[n - 1].end_ns};
    a->drawn_ns = left;
}

/* Columns of a drawn stretch: its share, at least one. */
static uint32_t columns_of(const struct axis *a, uint32_t i)
{
    int64_t length = a->drawn[i].end_ns - a->drawn[i].start_ns;
    uint32_t room = a->columns > 2 * a->count ? a->columns - 2 * a->count : 1;
    return 1 + (uint32_t)((double)length / (double)(a->drawn_ns > 0 ? a->drawn_ns : 1) * room);
}

/* Appends one stretch of one lane: a character for each column. */
static void draw_stretch(const osc_span *stretch, uint32_t columns, const struct lane *lane,
                         osc_buf *out)
{
    int64_t length = stretch->end_ns - stretch->start_ns;
    for (uint32_t c = 0; c < columns; c++) {
        osc_span cell = {stretch->start_ns + (int64_t)((double)length * c / columns),
                         stretch->start_ns + (int64_t)((double)length * (c + 1) / columns)};
        if (cell.end_ns == cell.start_ns)
            cell.end_ns++;
        int64_t width = cell.end_ns - cell.start_ns;
        int64_t busy = osc_spans_overlap(lane->busy, lane->busy_count, &cell, 1);
        int64_t wait = busy > 0 ? 0 : osc_spans_overlap(lane->waits, lane->wait_count, &cell, 1);
        osc_buf_putc(out, busy * 2 >= width ? '#' : busy > 0 ? '+' : wait * 2 >= width ? '.' : ' ');
    }
}

enum { T_CORE = 0, T_LANE, T_CELLS, T_COLUMNS };

static const osc_table_column timeline_columns[T_COLUMNS] = {
    {"core", "core", "core number", OSC_CELL_I64, OSC_UNIT_NONE, true},
    {"lane", "lane", "engine, or DMA", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"cells", "time", "# busy, + partly busy, . waiting, / cut", OSC_CELL_STR, OSC_UNIT_NONE,
     false},
};

static void put_lane(const struct axis *a, const struct lane *lane, uint32_t cores, osc_str name,
                     osc_table *t, osc_buf *text)
{
    uint32_t row = osc_table_add_row(t);
    osc_buf_clear(text);
    for (uint32_t i = 0; i < a->count; i++) {
        osc_buf_cstr(text, i > 0 ? "/" : "");
        draw_stretch(&a->drawn[i], columns_of(a, i), lane, text);
    }
    osc_table_set_i64(t, row, T_CORE, lane->core);
    osc_table_set_str(t, row, T_CELLS, osc_buf_view(text));
    osc_buf_clear(text);
    if (cores > 1)
        osc_buf_printf(text, "NC%u ", lane->core);
    osc_buf_str(text, name);
    osc_table_set_str(t, row, T_LANE, osc_buf_view(text));
}

/* One lane for the packets of all queues. */
static void put_dma(const struct lanes *l, const struct axis *a, osc_span *scratch, osc_table *t,
                    osc_buf *text)
{
    struct lane dma = {.busy = scratch};
    for (uint32_t i = 0; i < l->view.count; i++) {
        if (l->view.rows[i].kind == OSC_PART_PACKET)
            scratch[dma.busy_count++] =
                (osc_span){l->view.rows[i].start_ns, l->view.rows[i].end_ns};
    }
    if (dma.busy_count == 0)
        return;
    dma.busy_count = osc_spans_join(scratch, dma.busy_count);
    put_lane(a, &dma, 1, OSC_STR("DMA"), t, text);
}

static void draw(const struct lanes *l, uint32_t columns, osc_span *scratch, osc_table *t,
                 osc_buf *text)
{
    struct axis a = {.columns = columns > 0 ? columns : PICTURE_COLUMNS};
    uint32_t n = all_busy(&l->view, scratch);
    osc_table_set_fact_i64(t, "start_ns", n > 0 ? scratch[0].start_ns : 0);
    if (n == 0)
        return;
    make_axis(&a, scratch, n, scratch + l->view.count);
    for (uint32_t i = 0; i < l->count; i++)
        put_lane(&a, &l->lanes[i], l->view.core_count,
                 osc_view_engine_name(&l->view, l->lanes[i].engine), t, text);
    put_dma(l, &a, scratch, t, text);
    osc_table_set_fact_i64(t, "drawn_ns", a.drawn_ns);
    osc_table_set_fact_i64(t, "cut_ns", a.cut_ns);
}

osc_status osc_engine_timeline(const osc_store *store, const osc_engine_options *options,
                               osc_table **out, osc_err *err)
{
    struct lanes l = {.count = 0};
    osc_buf text;
    *out = NULL;
    osc_buf_init(&text, SIZE_MAX);
    osc_status status = open_lanes(&l, store, options, err);
    if (status == OSC_OK) {
        osc_table *t = osc_table_new("engine_timeline", timeline_columns, T_COLUMNS);
        osc_span *scratch = osc_realloc_array(NULL, 2 * (size_t)l.view.count + 1, sizeof *scratch);
        bool ok = t && scratch;
        if (ok)
            draw(&l, options->columns, scratch, t, &text);
        osc_free(scratch);
        status = osc_table_finish(t, ok && !text.failed, out, err);
    }
    osc_buf_free(&text);
    close_lanes(&l);
    return status;
}
