/*
 * test_analysis_key_averages.c - the table of operators against a slow and plain implementation of
 * kineto-trace-format.md 2, on random traces; and the invariants of known-bad-inputs.md 10.
 *
 * The plain one works as PyTorch does: a list of events sorted once, kernels kept in lists,
 * duplicates removed in passes until nothing changes, totals by recursion.
 */
#include "scope_support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "scope/analysis/top.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENTS_MAX 48
#define ROUNDS     1500

/* ---- a random trace ---- */

struct made {
    osc_slice_row slices[EVENTS_MAX];
    osc_memory_row memory[8];
    uint32_t count, records;
};

static const char *const names[] = {
    "a", "b", "aten::c.Tensor", "aten::c", "ProfilerStep#1", "ProfilerStep#2", "aten::is_leaf"};
enum { NAMES = sizeof names / sizeof *names, TRACKS = 6 };

static osc_slice_kind random_kind(osc_rng *r)
{
    static const osc_slice_kind kinds[] = {
        OSC_KIND_CPU_OP,  OSC_KIND_CPU_OP,  OSC_KIND_CPU_OP,          OSC_KIND_CPU_OP,
        OSC_KIND_RUNTIME, OSC_KIND_RUNTIME, OSC_KIND_USER_ANNOTATION, OSC_KIND_PYTHON,
        OSC_KIND_KERNEL,  OSC_KIND_KERNEL,  OSC_KIND_MEMCPY,          OSC_KIND_GPU_ANNOTATION,
        OSC_KIND_SYNC,    OSC_KIND_MTIA,    OSC_KIND_OVERHEAD,        OSC_KIND_SPAN};
    return kinds[osc_rng_below(r, sizeof kinds / sizeof *kinds)];
}

/* One event; id is its own number where an operator has one. by_correlation: ids of device work
 * repeat the correlation (1.9). */
static osc_slice_row random_slice(osc_rng *r, int64_t id, bool by_correlation)
{
    osc_slice_kind kind = random_kind(r);
    bool op = kind == OSC_KIND_CPU_OP || kind == OSC_KIND_USER_ANNOTATION;
    osc_slice_row s = {.start_ns = (int64_t)osc_rng_below(r, 40),
                       .dur_ns = (int64_t)osc_rng_below(r, 1 + osc_rng_below(r, 40)),
                       .kind = (uint8_t)kind,
                       .name = (uint32_t)osc_rng_below(r, NAMES),
                       .track = (uint32_t)osc_rng_below(r, TRACKS),
                       .order = (uint32_t)id};
    if (op)
        s.external_id = osc_rng_below(r, 8) ? id : 0;
    else if (osc_rng_below(r, 4))
        s.external_id = (int64_t)osc_rng_below(r, EVENTS_MAX);
    if (kind == OSC_KIND_RUNTIME)
        s.correlation = 1000 + id;
    else if (!op && osc_rng_below(r, 4))
        s.correlation = 1000 + (int64_t)osc_rng_below(r, EVENTS_MAX);
    if (!op && (by_correlation || osc_rng_below(r, 10) == 0))
        s.external_id = s.correlation;
    if (osc_rng_below(r, 30) == 0)
        s.flags = OSC_SLICE_UNFINISHED;
    return s;
}

static void make_up(osc_rng *r, struct made *m)
{
    bool by_correlation = osc_rng_below(r, 3) == 0;
    memset(m, 0, sizeof *m);
    m->count = (uint32_t)osc_rng_below(r, EVENTS_MAX) + 1;
    m->records = osc_rng_below(r, 2) ? (uint32_t)osc_rng_below(r, 8) : 0;
    for (uint32_t i = 0; i < m->count; i++)
        m->slices[i] = random_slice(r, 1 + (int64_t)i, by_correlation);
    for (uint32_t i = 0; i < m->records; i++)
        m->memory[i] = (osc_memory_row){.at_ns = (int64_t)osc_rng_below(r, 60),
                                        .bytes = (int64_t)osc_rng_below(r, 200) - 100,
                                        .device_type = osc_rng_below(r, 2) ? 1 : 0,
                                        .track = (uint32_t)osc_rng_below(r, TRACKS),
                                        .oom = osc_rng_below(r, 4) == 0};
}

/* The trace as a store: in the order perm, with all times moved by shift. */
static osc_store *store_made(const struct made *m, const uint32_t *perm, int64_t shift)
{
    osc_store *s = osc_store_new();
    osc_err err = {0};
    if (!s)
        return NULL;
    for (uint32_t t = 0; t < TRACKS; t++) {
        char lane[32];
        snprintf(lane, sizeof lane, "lane %u", t);
        osc_store_add_track(s,
                            &(osc_track_row){.thread = t % 3,
                                             .lane = osc_store_intern(s, osc_str_from_cstr(lane))});
    }
    for (uint32_t i = 0; i < m->count; i++) {
        osc_slice_row row = m->slices[perm ? perm[i] : i];
        row.name = osc_store_intern(s, osc_str_from_cstr(names[row.name]));
        row.shapes = osc_store_intern(s, row.order % 3 ? OSC_STR("[[2]]") : OSC_STR("[]"));
        row.start_ns += shift;
        osc_store_add_slice(s, &row);
    }
    for (uint32_t i = 0; i < m->records; i++) {
        osc_memory_row row = m->memory[i];
        row.at_ns += shift;
        osc_store_add_memory(s, &row);
    }
    TAP_EQ_STATUS(osc_store_seal(s, &err), OSC_OK);
    return s;
}

/* ---- the plain implementation ---- */

struct event {
    const osc_slice_row *s; /* NULL: a memory record */
    const char *name;
    int64_t start, end;
    uint32_t thread, order, index;
    bool device, annotation, gone;
    struct event *parent;
    int64_t kernels[EVENTS_MAX]; /* lengths of device work linked to it */
    uint32_t kernel_count;
    int64_t bytes[2]; /* host, device */
    struct event *op;
};

struct plain {
    const struct made *m;
    const osc_ka_options *options;
    struct event events[EVENTS_MAX + 8]; /* sorted */
    uint32_t count;
    bool by_correlation, any_device;
};

static bool is_work(uint8_t kind)
{
    return kind == OSC_KIND_KERNEL || kind == OSC_KIND_MEMCPY;
}

static bool is_op(const struct event *e)
{
    return e->s && (e->s->kind == OSC_KIND_CPU_OP || e->s->kind == OSC_KIND_USER_ANNOTATION);
}

static const char *plain_name(const struct plain *p, const osc_slice_row *s)
{
    const char *name = names[s->name];
    if (strncmp(name, "ProfilerStep#", 13) == 0)
        return "ProfilerStep*";
    bool cut = s->kind == OSC_KIND_CPU_OP && !p->options->calls.keep_overloads;
    return cut && strcmp(name, "aten::c.Tensor") == 0 ? "aten::c" : name;
}

static int compare_events(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void collect(struct plain *p)
{
    uint32_t ids = 0, repeated = 0;
    for (uint32_t i = 0; i < p->m->count; i++) {
        const osc_slice_row *s = &p->m->slices[i];
        if (s->kind == OSC_KIND_SPAN || s->flags & OSC_SLICE_UNFINISHED ||
            strcmp(names[s->name], "aten::is_leaf") == 0 ||
            (s->kind == OSC_KIND_PYTHON && p->options->calls.python != OSC_PYTHON_YES))
            continue;
        bool gpu = is_work(s->kind) || s->kind == OSC_KIND_GPU_ANNOTATION ||
                   s->kind == OSC_KIND_SYNC || s->kind == OSC_KIND_MTIA;
        p->any_device |= gpu;
        ids += is_work(s->kind) && s->external_id != 0;
        repeated += is_work(s->kind) && s->external_id != 0 && s->external_id == s->correlation;
        p->events[p->count++] = (struct event){.s = s,
                                               .name = plain_name(p, s),
                                               .start = s->start_ns,
                                               .end = s->start_ns + s->dur_ns,
                                               .thread = s->track % 3,
                                               .order = s->order,
                                               .index = i,
                                               .device = gpu,
                                               .annotation = s->kind == OSC_KIND_USER_ANNOTATION ||
                                                             s->kind == OSC_KIND_GPU_ANNOTATION};
    }
    p->by_correlation = ids > 0 && repeated > 0.9 * ids;
}

static struct event *launch_of(struct plain *p, struct event *e)
{
    if (e->s->kind == OSC_KIND_RUNTIME)
        return e;
    for (uint32_t i = 0; e->s->correlation != 0 && i < p->count; i++) {
        if (p->events[i].s && p->events[i].s->kind == OSC_KIND_RUNTIME &&
            p->events[i].s->correlation == e->s->correlation)
            return &p->events[i];
    }
    return NULL;
}

static struct event *plain_op(struct plain *p, struct event *e)
{
    struct event *launch = launch_of(p, e), *found = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        struct event *op = &p->events[i];
        if (!op->s)
            continue;
        if (p->by_correlation) { /* the innermost, so the last that covers the launch */
            if (launch && op->s->kind == OSC_KIND_CPU_OP && op->thread == launch->thread &&
                op->start <= launch->start && op->end >= launch->start)
                found = op;
        } else if (is_op(op) && e->s->external_id > 0 && op->s->external_id == e->s->external_id) {
            found = op;
        }
    }
    bool doubtful = !p->by_correlation && e->s->external_id == e->s->correlation;
    if (found && doubtful &&
        (!launch || launch->start < found->start || launch->start > found->end))
        return NULL;
    return found;
}

static void link_all(struct plain *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        struct event *e = &p->events[i];
        if (!e->s)
            continue;
        if (e->s->kind == OSC_KIND_RUNTIME || (e->device && e->s->kind != OSC_KIND_GPU_ANNOTATION))
            e->op = plain_op(p, e);
    }
    for (uint32_t i = 0; i < p->count; i++) {
        struct event *e = &p->events[i];
        if (e->op && !e->device)
            e->thread = e->op->thread;
        else if (e->op && e->s->kind != OSC_KIND_MTIA)
            e->op->kernels[e->op->kernel_count++] = e->end - e->start;
    }
}

/* 2.3 word by word, one thread after the other. */
static void build_tree(struct plain *p)
{
    for (uint32_t thread = 0; thread < 3; thread++) {
        struct event *stack[EVENTS_MAX + 8];
        uint32_t depth = 0;
        for (uint32_t i = 0; i < p->count; i++) {
            struct event *e = &p->events[i];
            if (e->device || e->thread != thread)
                continue;
            while (depth > 0 &&
                   (e->start >= stack[depth - 1]->end || e->end > stack[depth - 1]->end))
                depth--;
            e->parent = depth > 0 ? stack[depth - 1] : NULL;
            stack[depth++] = e;
        }
    }
}

static uint32_t children_of(const struct plain *p, const struct event *parent)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->count; i++)
        n += !p->events[i].gone && p->events[i].parent == parent;
    return n;
}

/* 2.4: until nothing changes. */
static void remove_all(struct plain *p)
{
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < p->count; i++) {
            struct event *e = &p->events[i], *parent = e->parent;
            if (e->gone || !parent || strcmp(e->name, parent->name) != 0 ||
                children_of(p, parent) != 1)
                continue;
            e->gone = again = true;
            memcpy(parent->kernels, e->kernels, sizeof e->kernels);
            parent->kernel_count = e->kernel_count;
            for (uint32_t c = 0; c < p->count; c++) {
                if (p->events[c].parent == e)
                    p->events[c].parent = parent;
            }
        }
    }
}

/* 2.5: records inside events, of all threads; the others become events. */
static void take_memory(struct plain *p)
{
    uint32_t slices = p->count;
    for (uint32_t i = 0; i < p->m->records; i++) {
        const osc_memory_row *r = &p->m->memory[i];
        int kind = r->device_type == 1;
        bool covered = false;
        for (uint32_t k = 0; !r->oom && k < slices; k++) {
            struct event *e = &p->events[k];
            if (e->device || r->at_ns < e->start || r->at_ns > e->end)
                continue;
            e->bytes[kind] += r->bytes;
            covered = true;
        }
        if (covered)
            continue;
        struct event *e = &p->events[p->count++];
        *e = (struct event){.name = r->oom ? "[OutOfMemory]" : "[memory]",
                            .start = r->at_ns,
                            .end = r->at_ns,
                            .thread = r->track % 3,
                            .order = UINT32_MAX,
                            .index = p->m->count + i};
        e->bytes[kind] = r->bytes;
    }
    qsort(p->events, p->count, sizeof *p->events, compare_events);
}

static int64_t device_total(const struct plain *p, const struct event *e)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < e->kernel_count; i++)
        sum += e->kernels[i];
    for (uint32_t i = 0; i < p->count; i++) {
        if (!p->events[i].gone && p->events[i].parent == e)
            sum += device_total(p, &p->events[i]);
    }
    return p->any_device ? sum : 0;
}

/* Figures of an event, in the order of the columns from OSC_KA_COUNT on. */
static void figures_of(const struct plain *p, const struct event *e, int64_t f[9])
{
    int64_t total = e->end - e->start;
    memset(f, 0, 9 * sizeof *f);
    f[0] = 1;
    if (e->device) {
        f[3] = f[4] = total;
        return;
    }
    f[1] = f[2] = total;
    f[3] = f[4] = device_total(p, e);
    f[5] = f[6] = e->bytes[0];
    f[7] = f[8] = e->bytes[1];
    for (uint32_t i = 0; i < p->count; i++) {
        const struct event *c = &p->events[i];
        if (c->gone || c->parent != e)
            continue;
        f[1] -= c->end - c->start;
        f[3] -= device_total(p, c);
        f[6] -= c->bytes[0];
        f[8] -= c->bytes[1];
    }
}

struct plain_row {
    const char *name, *device;
    bool annotation, has_parent;
    int64_t figures[9];
};

static const char *device_name(const struct event *e)
{
    return !e->device ? "CPU" : e->s->kind == OSC_KIND_MTIA ? "MTIA" : "CUDA";
}

static uint32_t plain_rows(const struct made *m, const osc_ka_options *options,
                           struct plain_row *rows)
{
    static struct plain p; /* too large for a stack */
    uint32_t count = 0;
    memset(&p, 0, sizeof p);
    p.m = m;
    p.options = options;
    collect(&p);
    take_memory(&p);
    link_all(&p);
    build_tree(&p);
    if (!options->calls.keep_duplicates)
        remove_all(&p);
    for (uint32_t i = 0; i < p.count; i++) {
        const struct event *e = &p.events[i];
        uint32_t r = 0;
        int64_t f[9];
        if (e->gone)
            continue;
        while (r < count &&
               (strcmp(rows[r].name, e->name) != 0 || strcmp(rows[r].device, device_name(e)) != 0 ||
                rows[r].annotation != e->annotation))
            r++;
        if (r == count)
            rows[count++] =
                (struct plain_row){e->name, device_name(e), e->annotation, e->parent != NULL, {0}};
        figures_of(&p, e, f);
        for (int k = 0; k < 9; k++)
            rows[r].figures[k] += f[k];
    }
    return count;
}

/* ---- comparing ---- */

static bool same_row(const osc_table *t, uint32_t r, const struct plain_row *row)
{
    bool same = osc_str_eq_cstr(osc_table_cell(t, r, OSC_KA_NAME).str, row->name) &&
                osc_str_eq_cstr(osc_table_cell(t, r, OSC_KA_DEVICE_TYPE).str, row->device) &&
                osc_table_cell(t, r, OSC_KA_IS_USER_ANNOTATION).boolean == row->annotation &&
                osc_table_cell(t, r, OSC_KA_HAS_PARENT).boolean == row->has_parent;
    for (uint32_t k = 0; k < 9; k++)
        same = same && osc_table_cell(t, r, OSC_KA_COUNT + k).i64 == row->figures[k];
    return same;
}

static osc_table *table_of(const struct made *m, const uint32_t *perm, int64_t shift,
                           const osc_ka_options *options)
{
    osc_store *s = store_made(m, perm, shift);
    osc_table *t = NULL;
    osc_err err = {0};
    if (s)
        TAP_EQ_STATUS(osc_key_averages(s, options, &t, &err), OSC_OK);
    osc_store_free(s);
    return t;
}

static osc_ka_options random_options(osc_rng *r)
{
    return (osc_ka_options){
        .calls = {.python = osc_rng_below(r, 2) ? OSC_PYTHON_YES : OSC_PYTHON_NO,
                  .keep_duplicates = osc_rng_below(r, 4) == 0,
                  .keep_overloads = osc_rng_below(r, 4) == 0,
                  .threads = 1}};
}

/* Every row, in order, against the plain implementation. */
static void test_against_plain(void)
{
    osc_rng rng = {.state = 20260704};
    uint32_t different = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct made m;
        static struct plain_row rows[EVENTS_MAX + 8];
        uint64_t seed = rng.state;
        make_up(&rng, &m);
        osc_ka_options options = random_options(&rng);
        uint32_t count = plain_rows(&m, &options, rows);
        osc_table *t = table_of(&m, NULL, 0, &options);
        TAP_REQUIRE(t != NULL);
        bool same = osc_table_rows(t) == count;
        for (uint32_t r = 0; same && r < count; r++)
            same = same_row(t, r, &rows[r]);
        if (!same && different++ == 0)
            TAP_OKF(same, "seed %llu: other rows than the plain implementation",
                    (unsigned long long)seed);
        osc_table_free(t);
    }
    TAP_EQ_U64(different, 0);
}

static void put_rows(const osc_table *t, osc_buf *out)
{
    osc_buf_clear(out);
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        osc_buf_printf(out, "%.*s/%.*s/%d:", OSC_STR_FMT(osc_table_cell(t, r, OSC_KA_NAME).str),
                       OSC_STR_FMT(osc_table_cell(t, r, OSC_KA_DEVICE_TYPE).str),
                       osc_table_cell(t, r, OSC_KA_IS_USER_ANNOTATION).boolean);
        for (uint32_t k = OSC_KA_COUNT; k <= OSC_KA_SELF_DEVICE_BYTES; k++)
            osc_buf_printf(out, " %lld", (long long)osc_table_cell(t, r, k).i64);
        osc_buf_putc(out, '\n');
    }
}

/* Invariants 1 and 7: order of the file and an offset of all times change nothing, since Ev Idx
 * breaks every tie. */
static void test_order_and_offset(void)
{
    osc_rng rng = {.state = 7};
    osc_buf want, got;
    osc_buf_init(&want, SIZE_MAX);
    osc_buf_init(&got, SIZE_MAX);
    uint32_t different = 0;
    for (int round = 0; round < 300; round++) {
        struct made m;
        uint32_t perm[EVENTS_MAX];
        make_up(&rng, &m);
        osc_ka_options options = random_options(&rng);
        for (uint32_t i = 0; i < m.count; i++) {
            uint32_t at = (uint32_t)osc_rng_below(&rng, i + 1);
            perm[i] = perm[at];
            perm[at] = i;
        }
        osc_table *t = table_of(&m, NULL, 0, &options);
        osc_table *moved = table_of(&m, perm, INT64_C(1700000000000000000), &options);
        TAP_REQUIRE(t && moved);
        put_rows(t, &want);
        put_rows(moved, &got);
        different += !osc_str_eq(osc_buf_view(&want), osc_buf_view(&got));
        osc_table_free(t);
        osc_table_free(moved);
    }
    TAP_EQ_U64(different, 0);
    osc_buf_free(&want);
    osc_buf_free(&got);
}

/* A trace large enough for several workers: calls in calls on three threads, kernels, memory. */
static osc_store *large_store(void)
{
    enum { COUNT = 240000 };
    osc_rng rng = {.state = 3};
    osc_err err = {0};
    osc_store *s = osc_store_new();
    for (uint32_t t = 0; s && t < TRACKS; t++)
        osc_store_add_track(s, &(osc_track_row){.thread = t % 3});
    for (uint32_t i = 0; s && i < COUNT; i++) {
        osc_slice_row row = random_slice(&rng, 1 + (int64_t)i, false);
        row.start_ns += (int64_t)i / 100 * 80;
        row.dur_ns = row.dur_ns > 40 ? 40 : row.dur_ns;
        row.name = osc_store_intern(s, osc_str_from_cstr(names[row.name]));
        if (row.kind == OSC_KIND_KERNEL)
            row.external_id = 1 + (int64_t)osc_rng_below(&rng, COUNT);
        osc_store_add_slice(s, &row);
        if (i % 7 == 0)
            osc_store_add_memory(s, &(osc_memory_row){.at_ns = row.start_ns, .bytes = (int64_t)i});
    }
    if (s)
        TAP_EQ_STATUS(osc_store_seal(s, &err), OSC_OK);
    return s;
}

/* Invariant 10: any number of threads, the same table. */
static void test_threads(void)
{
    osc_store *s = large_store();
    osc_buf want, got;
    TAP_REQUIRE(s != NULL);
    osc_buf_init(&want, SIZE_MAX);
    osc_buf_init(&got, SIZE_MAX);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        osc_ka_options options = {.calls = {.python = OSC_PYTHON_YES, .threads = threads}};
        osc_table *t = NULL;
        osc_err err = {0};
        TAP_EQ_STATUS(osc_key_averages(s, &options, &t, &err), OSC_OK);
        TAP_REQUIRE(t != NULL);
        put_rows(t, threads == 1 ? &want : &got);
        TAP_OK(threads == 1 || osc_str_eq(osc_buf_view(&want), osc_buf_view(&got)));
        osc_table_free(t);
    }
    TAP_OK(want.len > 1000);
    osc_buf_free(&want);
    osc_buf_free(&got);
    osc_store_free(s);
}

static int64_t total(const osc_table *t, uint32_t column)
{
    int64_t sum = 0;
    for (uint32_t r = 0; r < osc_table_rows(t); r++)
        sum += osc_table_cell(t, r, column).i64;
    return sum;
}

/* Invariants 4 (R06) and 9 (R05): no grouping changes a total; raw counts are not smaller. */
static void test_totals(void)
{
    osc_rng rng = {.state = 11};
    uint32_t different = 0, fewer = 0;
    for (int round = 0; round < 300; round++) {
        struct made m;
        make_up(&rng, &m);
        osc_ka_options options = random_options(&rng);
        osc_table *t = table_of(&m, NULL, 0, &options);
        options.by = (uint32_t)osc_rng_below(&rng, 1u << OSC_KA_BY_COUNT);
        options.stack_depth = 2;
        osc_table *grouped = table_of(&m, NULL, 0, &options);
        options.calls.keep_duplicates = true;
        osc_table *raw = table_of(&m, NULL, 0, &options);
        TAP_REQUIRE(t && grouped && raw);
        for (uint32_t k = OSC_KA_COUNT; k <= OSC_KA_SELF_DEVICE_BYTES; k++)
            different += total(t, k) != total(grouped, k);
        different += osc_table_fact_i64(t, "total_device_ns") !=
                     osc_table_fact_i64(grouped, "total_device_ns");
        fewer += total(raw, OSC_KA_COUNT) < total(t, OSC_KA_COUNT);
        osc_table_free(t);
        osc_table_free(grouped);
        osc_table_free(raw);
    }
    TAP_EQ_U64(different, 0);
    TAP_EQ_U64(fewer, 0);
}

/* Invariant 3, in raw mode: own kernels of operators and unlinked work are the device rows. */
static void test_kernels_are_kept(void)
{
    osc_rng rng = {.state = 13};
    uint32_t different = 0;
    for (int round = 0; round < 300; round++) {
        struct made m;
        make_up(&rng, &m);
        for (uint32_t i = 0; i < m.count; i++) {
            if (m.slices[i].kind == OSC_KIND_MTIA || m.slices[i].kind == OSC_KIND_SYNC)
                m.slices[i].kind = OSC_KIND_KERNEL;
        }
        osc_ka_options options = {.calls = {.python = OSC_PYTHON_YES, .keep_duplicates = true}};
        osc_table *t = table_of(&m, NULL, 0, &options);
        TAP_REQUIRE(t != NULL);
        int64_t own = 0, work = 0, linked = 0;
        for (uint32_t r = 0; r < osc_table_rows(t); r++) {
            bool cpu = osc_str_eq_cstr(osc_table_cell(t, r, OSC_KA_DEVICE_TYPE).str, "CPU");
            bool annotation = osc_table_cell(t, r, OSC_KA_IS_USER_ANNOTATION).boolean;
            int64_t self = osc_table_cell(t, r, OSC_KA_SELF_DEVICE_NS).i64;
            own += cpu ? self : 0;
            work += !cpu && !annotation ? self : 0;
            linked += osc_table_cell(t, r, OSC_KA_LINKED_NS).i64;
        }
        different += own != linked || work != osc_table_fact_i64(t, "total_device_ns");
        options.linked_only = true;
        osc_table *only = table_of(&m, NULL, 0, &options);
        TAP_REQUIRE(only != NULL);
        different += osc_table_fact_i64(only, "total_device_ns") != linked;
        osc_table_free(t);
        osc_table_free(only);
    }
    TAP_EQ_U64(different, 0);
}

/* ---- groupings ---- */

/* Text of a column of a row; "?" when there is none. */
static osc_str text_in(const osc_table *t, uint32_t row, const char *column)
{
    uint32_t c = osc_table_find(t, column);
    return row == UINT32_MAX || c == UINT32_MAX ? OSC_STR("?") : osc_table_cell(t, row, c).str;
}

#define OP(name, ts, dur, id) \
    EV("cpu_op", name, 1, 1, ts, dur, "\"External id\":" #id ",\"Ev Idx\":" #id)
#define FRAME(name, ts, dur) EV("python_function", name, 1, 1, ts, dur, "")

static const char grouped[] = TRACE(EV("user_annotation", "ProfilerStep#3", 1, 1, 0, 50, "") "," EV(
    "user_annotation", "ProfilerStep#4", 1, 1, 50, 50,
    "") "," FRAME("train.py(3): step", 0,
                  100) "," FRAME("nn.Module: Net_0", 1,
                                 90) "," FRAME("nn.Module: Linear_1", 5,
                                               20) "," OP("a", 10, 5,
                                                          1) "," OP("a", 60, 5,
                                                                    2) "," EV("cuda_runtime",
                                                                              "launch", 1, 1, 11, 1,
                                                                              "\"External "
                                                                              "id\":1,"
                                                                              "\"correlation\":"
                                                                              "5") "," EV("kerne"
                                                                                          "l",
                                                                                          "k", 0, 7,
                                                                                          70, 4,
                                                                                          "\"Ext"
                                                                                          "ernal"
                                                                                          " id\""
                                                                                          ":1,"
                                                                                          "\"cor"
                                                                                          "relat"
                                                                                          "ion\""
                                                                                          ":5") "," EV("kerne"
                                                                                                       "l",
                                                                                                       "k",
                                                                                                       1,
                                                                                                       20,
                                                                                                       71,
                                                                                                       8,
                                                                                                       "\"Ext"
                                                                                                       "ernal"
                                                                                                       " id\""
                                                                                                       ":2,"
                                                                                                       "\"cor"
                                                                                                       "relat"
                                                                                                       "ion\""
                                                                                                       ":6"));

static osc_table *by(uint32_t ways)
{
    osc_ka_options options = {.by = ways, .stack_depth = 3, .calls = {.python = OSC_PYTHON_NO}};
    return rows_of(grouped, &options);
}

/* Device work belongs to the step and the module of the operator that launched it, also when it ran
 * later; streams and devices are its own (R14). */
static void test_groupings(void)
{
    static const struct {
        osc_ka_by by;
        const char *column;
        const char *op[2], *kernel[2]; /* of the two rows "a", and "k" */
    } cases[] = {
        {OSC_KA_BY_STEP,
         "step",
         {"ProfilerStep#3", "ProfilerStep#4"},
         {"ProfilerStep#3", "ProfilerStep#4"}},
        {OSC_KA_BY_MODULE, "module", {"Net_0.Linear_1", "Net_0"}, {"Net_0.Linear_1", "Net_0"}},
        {OSC_KA_BY_STREAM, "stream", {"", ""}, {"device:0/Stream:7", "device:1/Stream:20"}},
        {OSC_KA_BY_DEVICE, "device", {"", ""}, {"device:0", "device:1"}},
        {OSC_KA_BY_THREAD, "thread", {"framework/TID:1", ""}, {"framework/TID:1", ""}},
        {OSC_KA_BY_STACK,
         "stack",
         {"nn.Module: Linear_1\nnn.Module: Net_0\ntrain.py(3): step",
          "nn.Module: Net_0\ntrain.py(3): step"},
         {"", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        osc_table *t = by(1u << cases[i].by);
        uint32_t ops = 0, kernels = 0;
        TAP_REQUIRE(t != NULL);
        for (uint32_t r = 0; r < osc_table_rows(t); r++) {
            osc_str name = osc_table_cell(t, r, OSC_KA_NAME).str;
            if (osc_str_eq_cstr(name, "a") && ops < 2)
                TAP_EQ_VIEW(text_in(t, r, cases[i].column), cases[i].op[ops++]);
            if (osc_str_eq_cstr(name, "k") && kernels < 2)
                TAP_EQ_VIEW(text_in(t, r, cases[i].column), cases[i].kernel[kernels++]);
        }
        TAP_OKF(ops > 0 && kernels > 0, "%s: no rows", cases[i].column);
        osc_table_free(t);
    }
}

/* Several ways at once make one row for each combination, and every column. */
static void test_two_groupings(void)
{
    osc_table *t = by(1u << OSC_KA_BY_STEP | 1u << OSC_KA_BY_DEVICE);
    TAP_REQUIRE(t != NULL);
    uint32_t row = row_named(t, "k", "CUDA");
    TAP_EQ_VIEW(text_in(t, row, "step"), "ProfilerStep#3");
    TAP_EQ_VIEW(text_in(t, row, "device"), "device:0");
    TAP_EQ_VIEW(text_in(t, row + 1, "device"), "device:1");
    osc_table_free(t);
}

/* R16: device work without a launch in the window: counted apart, and left out when so asked. */
static void test_linked_and_unlinked(void)
{
    static const char trace[] = TRACE(OP("a", 10, 5, 1) "," EV(
        "kernel", "k", 0, 7, 12, 4, "\"External id\":1") "," EV("kernel", "k", 0, 7, 2, 30, ""));
    osc_ka_options options = {.calls = {.python = OSC_PYTHON_NO}};
    osc_table *t = rows_of(trace, &options);
    options.linked_only = true;
    osc_table *only = rows_of(trace, &options);
    TAP_REQUIRE(t && only);
    uint32_t row = row_named(t, "k", "CUDA");
    TAP_EQ_I64(osc_table_cell(t, row, OSC_KA_COUNT).i64, 2);
    TAP_EQ_I64(osc_table_cell(t, row, OSC_KA_LINKED).i64, 1);
    TAP_EQ_I64(osc_table_cell(t, row, OSC_KA_LINKED_NS).i64, 4000);
    TAP_EQ_I64(osc_table_cell(only, row_named(only, "k", "CUDA"), OSC_KA_SELF_DEVICE_NS).i64, 4000);
    TAP_EQ_I64(osc_table_fact_i64(t, "unlinked"), 1);
    osc_table_free(t);
    osc_table_free(only);
}

/* R04: a range between two calls of a name keeps both, as live; on request only the outer one
 * counts. */
static void test_double_dispatch(void)
{
    static const char trace[] = TRACE(OP("aten::mm", 0, 100, 1) "," OP(
        "PythonDispatchMode", 5, 90, 2) "," OP("aten::mm", 10, 80, 3));
    osc_table *t = rows_of(trace, NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "aten::mm", OSC_KA_COUNT), 2);
    TAP_EQ_I64(figure(t, "aten::mm", OSC_KA_TOTAL_CPU_NS), 180000);
    osc_table_free(t);
    osc_ka_options options = {.outermost = true, .calls = {.python = OSC_PYTHON_NO}};
    t = rows_of(trace, &options);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(figure(t, "aten::mm", OSC_KA_COUNT), 1);
    TAP_EQ_I64(figure(t, "aten::mm", OSC_KA_TOTAL_CPU_NS), 100000);
    TAP_EQ_I64(figure(t, "aten::mm", OSC_KA_SELF_CPU_NS), 90000);
    osc_table_free(t);
}

/* N02: kernels that overlap on a stream count in full. */
static void test_overlapping_kernels(void)
{
    osc_table *t = rows_of(
        TRACE(EV("kernel", "k", 0, 7, 0, 10, "") "," EV("kernel", "k", 0, 7, 8, 12, "")), NULL);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(osc_table_fact_i64(t, "total_device_ns"), 22000);
    osc_table_free(t);
}

/* ---- ranks ---- */

/* A table as osc_cli_analyse joins it: the column "rank" first. */
static osc_table *with_rank(const osc_table *t, int64_t first)
{
    osc_table_column columns[OSC_KA_COLUMNS + 1] = {
        {"rank", "rank", "", OSC_CELL_I64, OSC_UNIT_NONE, false}};
    for (uint32_t c = 0; c < OSC_KA_COLUMNS; c++)
        columns[c + 1] = *osc_table_column_at(t, c);
    osc_table *out = osc_table_new("joined", columns, OSC_KA_COLUMNS + 1);
    for (uint32_t i = 0; out && i < 2 * osc_table_rows(t); i++) {
        uint32_t r = i % osc_table_rows(t), row = osc_table_add_row(out);
        osc_table_set_i64(out, row, 0, first + i / osc_table_rows(t));
        for (uint32_t c = 0; c < OSC_KA_COLUMNS; c++) {
            osc_cell cell = osc_table_cell(t, r, c);
            switch (columns[c + 1].type) {
            case OSC_CELL_STR: osc_table_set_str(out, row, c + 1, cell.str); break;
            case OSC_CELL_I64: osc_table_set_i64(out, row, c + 1, cell.i64); break;
            case OSC_CELL_F64: osc_table_set_f64(out, row, c + 1, cell.f64); break;
            case OSC_CELL_BOOL: osc_table_set_bool(out, row, c + 1, cell.boolean); break;
            }
        }
    }
    return out;
}

/* S08: rows of ranks are added up, or stay apart. */
static void test_ranks(void)
{
    osc_table *t = by(0), *joined = t ? with_rank(t, 4) : NULL, *merged = NULL, *apart = NULL;
    osc_ka_total sum = {0};
    osc_err err = {0};
    TAP_REQUIRE(t && joined);
    osc_ka_total_add(&sum, t);
    osc_ka_total_add(&sum, t);
    TAP_EQ_STATUS(osc_ka_merge(joined, false, &sum, &merged, &err), OSC_OK);
    TAP_EQ_STATUS(osc_ka_merge(joined, true, &sum, &apart, &err), OSC_OK);
    TAP_REQUIRE(merged && apart);
    TAP_EQ_U64(osc_table_rows(merged), osc_table_rows(t));
    TAP_EQ_U64(osc_table_rows(apart), 2 * osc_table_rows(t));
    TAP_OK(osc_table_find(merged, "rank") == UINT32_MAX);
    TAP_EQ_U64(osc_table_find(apart, "rank"), OSC_KA_COLUMNS);
    TAP_EQ_I64(osc_table_cell(apart, 0, OSC_KA_COLUMNS).i64, 4);
    for (uint32_t k = OSC_KA_COUNT; k <= OSC_KA_SELF_DEVICE_BYTES; k++)
        TAP_EQ_I64(total(merged, k), 2 * total(t, k));
    TAP_EQ_I64(osc_table_fact_i64(merged, "total_device_ns"), 24000);
    TAP_EQ_VIEW(osc_table_fact_str(merged, "device"), "CUDA");
    osc_table_free(t);
    osc_table_free(joined);
    osc_table_free(merged);
    osc_table_free(apart);
}

/* ---- memory ---- */

static bool table_once(void *context)
{
    osc_table *t = NULL, *merged = NULL, *top = NULL;
    osc_err err = {0};
    osc_ka_options options = {
        .by = (1u << OSC_KA_BY_COUNT) - 1, .stack_depth = 3, .calls = {.python = OSC_PYTHON_YES}};
    osc_ka_total sum = {0};
    osc_status status = osc_key_averages(context, &options, &t, &err);
    TAP_OK((t != NULL) == (status == OSC_OK));
    if (status == OSC_OK) {
        status = osc_ka_merge(t, true, &sum, &merged, &err);
        TAP_OK((merged != NULL) == (status == OSC_OK));
    }
    if (status == OSC_OK) {
        osc_top_facts facts = {0};
        osc_top_options wanted = {.limit = -1, .by = options.by};
        status = osc_top_look(context, &facts, &err);
        if (status == OSC_OK)
            status = osc_top(t, &facts, &wanted, &top, &err);
        TAP_OK((top != NULL) == (status == OSC_OK));
    }
    osc_table_free(top);
    osc_table_free(t);
    osc_table_free(merged);
    return status == (osc_mem_refused() > 0 ? OSC_ENOMEM : OSC_OK);
}

static void test_out_of_memory(void)
{
    osc_store *s = store_of(grouped);
    TAP_REQUIRE(s != NULL);
    TAP_OK(tap_oom_sweep(table_once, s, 2000));
    osc_store_free(s);
}

int main(void)
{
    TAP_RUN(test_against_plain);
    TAP_RUN(test_order_and_offset);
    TAP_RUN(test_threads);
    TAP_RUN(test_totals);
    TAP_RUN(test_kernels_are_kept);
    TAP_RUN(test_groupings);
    TAP_RUN(test_two_groupings);
    TAP_RUN(test_linked_and_unlinked);
    TAP_RUN(test_double_dispatch);
    TAP_RUN(test_overlapping_kernels);
    TAP_RUN(test_ranks);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
