/*
 * flame.c - stacks merged into a tree; see flame.h.
 *
 * Calls come in order of time with parents before children (calls.h), so the node of a call is the
 * child of its parent's node that has its name: one probe of a hash table for each call. Exclusive
 * time needs no second pass: a call adds its length to its own node and takes it from its parent's.
 *
 * Rejected: joining the text of each stack and counting texts. It is quadratic in the depth, and
 * python stacks are hundreds of frames deep.
 */
#include "scope/analysis/flame.h"

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ROOT       0u
#define NAME_UNSET UINT32_MAX

const char *const osc_flame_by_names[] = {"python", "op", "module", NULL};
const char *const osc_flame_metric_names[] = {"self_cpu", "self_device", "count", NULL};

static const char *const no_operator = "[no_operator]";
static const char *const module_prefix = "nn.Module: ";

struct node {
    int64_t self, total;
    uint32_t parent, name;
    uint32_t child, sibling; /* first child, next sibling; ROOT for none */
    uint32_t depth;          /* of the root 0, unlike osc_flame_node */
    uint8_t kind;
    bool is_base; /* the root, a rank, a thread: no call */
};

struct osc_flame {
    osc_flame_facts facts;
    osc_flame_options options;
    osc_map known;     /* parent << 32 | name -> node; while stores are added */
    osc_map said;      /* clean name -> the name as it was, where they differ */
    osc_intern *names; /* both */
    struct node *nodes;
    uint32_t count, cap; /* nodes, the root included */
    uint32_t *order;     /* nodes but the root, parents before children, children by name */
};

/* What exists only while a store is added. */
struct build {
    osc_flame *flame;
    const osc_store *store;
    const osc_slice_cols *slices;
    const osc_flame_options *options;
    osc_calls *calls;
    uint32_t *node_of; /* [slice]: node of a host call */
    uint32_t *names;   /* [name of calls]: clean name, NAME_UNSET */
    uint32_t *bases;   /* [thread]: node that its outermost calls are below, ROOT: b->base */
    uint32_t base;     /* node that the outermost calls are below */
    osc_buf text;
    bool failed; /* out of memory */
};

/* ---- the tree ---- */

static uint32_t add_node(struct build *b, uint32_t parent, uint32_t name, osc_flame_kind kind)
{
    osc_flame *f = b->flame;
    if (f->count == f->cap) {
        uint32_t cap = f->cap ? f->cap * 2 : 256;
        struct node *grown =
            f->cap < UINT32_MAX / 2 ? osc_realloc_array(f->nodes, cap, sizeof *grown) : NULL;
        if (!grown) {
            b->failed = true;
            return ROOT;
        }
        f->nodes = grown;
        f->cap = cap;
    }
    f->nodes[f->count] = (struct node){.parent = parent, .name = name, .kind = (uint8_t)kind};
    if (f->count > 0)
        f->nodes[f->count].depth = f->nodes[parent].depth + 1;
    return f->count++;
}

/* The child of a node with a name, made when new. ROOT on failure. */
static uint32_t child_of(struct build *b, uint32_t parent, uint32_t name, osc_flame_kind kind)
{
    uint64_t key = (uint64_t)parent << 32 | name, node;
    if (b->failed || name == OSC_INTERN_NONE) {
        b->failed = true;
        return ROOT;
    }
    if (osc_map_get(&b->flame->known, key, &node))
        return (uint32_t)node;
    node = add_node(b, parent, name, kind);
    if (!b->failed && osc_map_put(&b->flame->known, key, node) != OSC_OK)
        b->failed = true;
    return (uint32_t)node;
}

void osc_flame_clean(osc_str name, osc_buf *out)
{
    unsigned char *to = osc_buf_extend(out, name.len);
    for (size_t i = 0; to && i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool steers = c < ' ' || c == 0x7f; /* controls, which a terminal obeys */
        to[i] = c == ' ' || c == ';' || steers ? '_' : c;
    }
}

static uint32_t clean_id(struct build *b, osc_str name)
{
    osc_buf_clear(&b->text);
    osc_flame_clean(name.len > 0 ? name : OSC_STR("[no_name]"), &b->text);
    b->failed |= b->text.failed;
    uint32_t id = osc_intern_put(b->flame->names, osc_buf_view(&b->text));
    uint64_t known;
    if (b->failed || name.len == 0 || id == OSC_INTERN_NONE ||
        osc_str_eq(name, osc_buf_view(&b->text)) || osc_map_get(&b->flame->said, id, &known))
        return id;
    uint32_t said = osc_intern_put(b->flame->names, name);
    b->failed |= said == OSC_INTERN_NONE || osc_map_put(&b->flame->said, id, said) != OSC_OK;
    return id;
}

/* The clean name of a call; modules go without the words that all of them begin with. */
static uint32_t name_of(struct build *b, uint32_t slice)
{
    uint32_t *known = &b->names[osc_calls_name(b->calls, slice)];
    if (*known == NAME_UNSET) {
        osc_str name = osc_calls_text(b->calls, osc_calls_name(b->calls, slice));
        osc_str prefix = osc_str_from_cstr(module_prefix);
        if (b->options->by == OSC_FLAME_MODULE && osc_str_starts(name, prefix))
            name = osc_str_sub(name, prefix.len, SIZE_MAX);
        *known = clean_id(b, name);
    }
    return *known;
}

static void add_value(struct build *b, uint32_t node, int64_t value)
{
    int64_t *self = &b->flame->nodes[node].self;
    *self = osc_add_sat(*self, value);
}

/* ---- calls ---- */

/* True when a call is a level of its own; else what it does belongs to the one around it. */
static bool is_level(const struct build *b, uint32_t slice)
{
    if (b->slices->kind[slice] != OSC_KIND_PYTHON || b->options->by == OSC_FLAME_PYTHON)
        return true;
    osc_str name = osc_store_text(b->store, b->slices->name[slice]);
    return b->options->by == OSC_FLAME_MODULE &&
           osc_str_starts(name, osc_str_from_cstr(module_prefix));
}

static bool is_wanted(const struct build *b, uint32_t slice)
{
    uint32_t track = b->slices->track[slice];
    return !b->options->one_thread ||
           osc_store_track(b->store)->number[track] == b->options->thread;
}

/* A node for something that is no call. */
static uint32_t base_of_name(struct build *b, uint32_t parent, osc_str name)
{
    uint32_t node = child_of(b, parent, clean_id(b, name), OSC_FLAME_HOST);
    if (!b->failed)
        b->flame->nodes[node].is_base = true;
    return node;
}

static uint32_t thread_of(const struct build *b, uint32_t slice)
{
    return osc_store_track(b->store)->thread[b->slices->track[slice]];
}

/* True when the calls come from more than one thread. */
static bool are_several(const struct build *b)
{
    uint32_t count;
    const uint32_t *order = osc_calls_order(b->calls, &count);
    for (uint32_t i = 1; i < count; i++) {
        if (thread_of(b, order[i]) != thread_of(b, order[0]))
            return true;
    }
    return false;
}

/* Gives every thread that has calls a node, when that is asked for and there are several. */
static void add_threads(struct build *b)
{
    const osc_track_cols *t = osc_store_track(b->store);
    uint32_t count;
    const uint32_t *order = osc_calls_order(b->calls, &count);
    if (b->options->one_thread || !are_several(b))
        return;
    b->flame->facts.threads_added |= !b->options->by_thread;
    if (!b->options->by_thread)
        return;
    for (uint32_t i = 0; i < count && !b->failed; i++) {
        uint32_t track = b->slices->track[order[i]], thread = t->thread[track];
        if (b->bases[thread] == ROOT)
            b->bases[thread] = base_of_name(b, b->base, osc_store_text(b->store, t->lane[track]));
    }
}

/* What an outermost call is below. */
static uint32_t base_of(const struct build *b, uint32_t slice)
{
    uint32_t base = b->bases[thread_of(b, slice)];
    return base == ROOT ? b->base : base;
}

/* Gives every host call its node, and its time or its count. */
static void add_calls(struct build *b)
{
    uint32_t count;
    const uint32_t *order = osc_calls_order(b->calls, &count);
    for (uint32_t i = 0; i < count && !b->failed; i++) {
        uint32_t slice = order[i], parent = osc_calls_parent(b->calls, slice);
        bool frame = b->slices->kind[slice] == OSC_KIND_PYTHON;
        uint32_t around = parent == OSC_NO_ROW ? base_of(b, slice) : b->node_of[parent];
        uint32_t node = around;
        if (is_level(b, slice))
            node = child_of(b, around, name_of(b, slice), frame ? OSC_FLAME_FRAME : OSC_FLAME_HOST);
        b->node_of[slice] = node;
        b->flame->facts.by_python |= frame;
        if (!is_wanted(b, slice) || node == around)
            continue;
        if (b->options->metric == OSC_FLAME_COUNT)
            add_value(b, node, 1);
        if (b->options->metric != OSC_FLAME_SELF_CPU)
            continue;
        add_value(b, node, b->slices->dur_ns[slice]);
        if (!b->flame->nodes[around].is_base)
            add_value(b, around, -b->slices->dur_ns[slice]);
    }
}

/* Kernels, copies and fills of any accelerator; no annotations, no rows of waiting. */
static bool is_work(const struct build *b, uint32_t slice)
{
    osc_slice_kind kind = (osc_slice_kind)b->slices->kind[slice];
    return osc_calls_counts(b->calls, slice) &&
           (osc_slice_kind_is_device_work(kind) || kind == OSC_KIND_MTIA || kind == OSC_KIND_HPU);
}

/* Hangs device work below the operator that started it. */
static void add_device_work(struct build *b)
{
    uint32_t unlinked = clean_id(b, osc_str_from_cstr(no_operator));
    for (uint32_t i = 0; i < b->slices->count && !b->failed; i++) {
        if (!is_work(b, i) || !is_wanted(b, i))
            continue;
        uint32_t op = osc_calls_op(b->calls, i);
        uint32_t around =
            op == OSC_NO_ROW ? child_of(b, b->base, unlinked, OSC_FLAME_HOST) : b->node_of[op];
        uint32_t node = child_of(b, around, name_of(b, i), OSC_FLAME_DEVICE);
        add_value(b, node, b->slices->dur_ns[i]);
        b->flame->facts.unlinked += op == OSC_NO_ROW;
    }
}

/* ---- the finished tree ---- */

/* Takes out negative values and adds up totals; children have larger numbers than their parents. */
static void sum_up(osc_flame *f)
{
    for (uint32_t i = f->count; i-- > 1;) {
        struct node *n = &f->nodes[i];
        if (n->self < 0) {
            f->facts.negative = osc_add_sat(f->facts.negative, n->self);
            n->self = 0;
        }
        n->total = osc_add_sat(n->total, n->self);
        f->nodes[n->parent].total = osc_add_sat(f->nodes[n->parent].total, n->total);
    }
    f->facts.total = f->nodes[ROOT].total;
}

struct named {
    osc_str name;
    uint32_t node, depth;
};

static int compare_names(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = a->depth != b->depth ? (a->depth > b->depth) - (a->depth < b->depth)
                                     : osc_str_cmp(a->name, b->name);
    return order != 0 ? order : (a->node > b->node) - (a->node < b->node);
}

/* Links children to parents by name, and writes the order. Nodes without a value are left out. */
static bool put_in_order(osc_flame *f)
{
    struct named *all = osc_realloc_array(NULL, f->count, sizeof *all);
    f->order = osc_realloc_array(NULL, f->count, sizeof *f->order);
    if (!all || !f->order) {
        osc_free(all);
        return false;
    }
    for (uint32_t i = 0; i < f->count; i++)
        all[i] = (struct named){osc_intern_get(f->names, f->nodes[i].name), i, f->nodes[i].depth};
    qsort(all, f->count, sizeof *all, compare_names);
    /* last name first, so that lists begin with the first */
    for (uint32_t i = f->count; i-- > 1;) {
        struct node *n = &f->nodes[all[i].node];
        if (n->total > 0) {
            n->sibling = f->nodes[n->parent].child;
            f->nodes[n->parent].child = all[i].node;
        }
    }
    osc_free(all);
    uint32_t at = f->nodes[ROOT].child;
    while (at != ROOT) {
        f->order[f->facts.nodes++] = at;
        uint32_t next = f->nodes[at].child;
        for (; next == ROOT && at != ROOT; at = f->nodes[at].parent)
            next = f->nodes[at].sibling;
        at = next;
    }
    return true;
}

static bool thread_exists(const osc_store *store, int64_t number)
{
    const osc_track_cols *t = osc_store_track(store);
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->number[i] == number)
            return true;
    }
    return false;
}

/* A zero for each thread; NULL: no memory. */
static uint32_t *new_bases(const osc_store *store)
{
    const osc_track_cols *t = osc_store_track(store);
    size_t threads = 1;
    for (uint32_t i = 0; i < t->count; i++)
        threads = t->thread[i] >= threads ? (size_t)t->thread[i] + 1 : threads;
    return osc_calloc(threads, sizeof(uint32_t));
}

static bool add(struct build *b, osc_str root)
{
    uint32_t names = osc_calls_names(b->calls);
    b->node_of = osc_calloc((size_t)b->slices->count + 1, sizeof *b->node_of);
    b->names = osc_realloc_array(NULL, (size_t)names + 1, sizeof *b->names);
    b->bases = new_bases(b->store);
    if (!b->node_of || !b->names || !b->bases)
        return false;
    memset(b->names, 0xff, ((size_t)names + 1) * sizeof *b->names); /* NAME_UNSET */
    if (b->flame->count == 0)
        (void)add_node(b, ROOT, 0, OSC_FLAME_HOST);
    if (!b->failed)
        b->flame->nodes[ROOT].is_base = true;
    if (!b->failed && root.len > 0)
        b->base = base_of_name(b, ROOT, root);
    if (!b->failed)
        add_threads(b);
    if (!b->failed)
        add_calls(b);
    if (!b->failed && b->options->metric == OSC_FLAME_SELF_DEVICE)
        add_device_work(b);
    b->flame->facts.thread_exists |=
        !b->options->one_thread || thread_exists(b->store, b->options->thread);
    return !b->failed;
}

static osc_status out_of_memory(osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the stacks");
}

osc_flame *osc_flame_new(const osc_flame_options *options)
{
    osc_flame *f = osc_calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->options = *options;
    f->names = osc_intern_new(SIZE_MAX);
    if (!f->names) {
        osc_free(f);
        return NULL;
    }
    return f;
}

osc_status osc_flame_add(osc_flame *flame, const osc_store *store, osc_str root, osc_err *err)
{
    const osc_flame_options *options = &flame->options;
    osc_calls_options o = {.python = options->by == OSC_FLAME_OP ? OSC_PYTHON_NO : OSC_PYTHON_YES,
                           .keep_duplicates = true,
                           .threads = options->threads};
    struct build b = {
        .flame = flame, .store = store, .slices = osc_store_slice(store), .options = options};
    assert(!flame->order);
    osc_status status = osc_calls_build(store, &o, &b.calls, err);
    if (status != OSC_OK)
        return status;
    osc_buf_init(&b.text, SIZE_MAX);
    bool ok = add(&b, root);
    osc_calls_free(b.calls);
    osc_buf_free(&b.text);
    osc_free(b.node_of);
    osc_free(b.names);
    osc_free(b.bases);
    return ok ? OSC_OK : out_of_memory(err);
}

osc_status osc_flame_finish(osc_flame *flame, osc_err *err)
{
    assert(flame->count > 0 && !flame->order);
    osc_map_free(&flame->known);
    sum_up(flame);
    return put_in_order(flame) ? OSC_OK : out_of_memory(err);
}

osc_status osc_flame_build(const osc_store *store, const osc_flame_options *options,
                           osc_flame **out, osc_err *err)
{
    osc_flame *flame = osc_flame_new(options);
    *out = NULL;
    if (!flame)
        return out_of_memory(err);
    osc_status status = osc_flame_add(flame, store, (osc_str){0}, err);
    if (status == OSC_OK)
        status = osc_flame_finish(flame, err);
    if (status != OSC_OK)
        osc_flame_free(flame);
    else
        *out = flame;
    return status;
}

void osc_flame_free(osc_flame *f)
{
    if (!f)
        return;
    osc_intern_free(f->names);
    osc_map_free(&f->known);
    osc_map_free(&f->said);
    osc_free(f->nodes);
    osc_free(f->order);
    osc_free(f);
}

const osc_flame_facts *osc_flame_facts_of(const osc_flame *f)
{
    return &f->facts;
}

osc_flame_node osc_flame_at(const osc_flame *f, uint32_t i)
{
    assert(i < f->facts.nodes);
    const struct node *n = &f->nodes[f->order[i]];
    uint64_t said = n->name;
    (void)osc_map_get(&f->said, n->name, &said);
    return (osc_flame_node){.name = osc_intern_get(f->names, n->name),
                            .said = osc_intern_get(f->names, (uint32_t)said),
                            .self = n->self,
                            .total = n->total,
                            .depth = n->depth - 1,
                            .kind = (osc_flame_kind)n->kind};
}

const char *osc_flame_unit(const osc_flame *f)
{
    return f->options.metric == OSC_FLAME_COUNT ? "count" : "ns";
}

bool osc_flame_path_to(osc_flame_path *path, const osc_flame *flame, uint32_t i,
                       osc_flame_node *node)
{
    *node = osc_flame_at(flame, i);
    if (path->cap == 0)
        osc_buf_init(&path->text, SIZE_MAX);
    if (node->depth >= path->cap) {
        /* enough: a node is at most one deeper than those before it */
        uint32_t cap = path->cap ? path->cap * 2 : 64;
        size_t *grown = osc_realloc_array(path->ends, cap, sizeof *grown);
        if (!grown)
            return false;
        path->ends = grown;
        path->cap = cap;
    }
    osc_buf_truncate(&path->text, node->depth > 0 ? path->ends[node->depth - 1] : 0);
    if (node->depth > 0)
        osc_buf_putc(&path->text, ';');
    osc_buf_str(&path->text, node->name);
    path->ends[node->depth] = path->text.len;
    return !path->text.failed;
}

void osc_flame_path_free(osc_flame_path *path)
{
    if (path->cap > 0)
        osc_buf_free(&path->text);
    osc_free(path->ends);
    *path = (osc_flame_path){0};
}

static osc_table *new_table(osc_flame_metric metric)
{
    static const char *const names[] = {"self_cpu_ns", "self_device_ns", "count"};
    static const char *const labels[] = {"self cpu", "self device", "calls"};
    osc_unit unit = metric == OSC_FLAME_COUNT ? OSC_UNIT_COUNT : OSC_UNIT_NS;
    const osc_table_column columns[] = {
        {"stack", "stack", "calls, outermost first", OSC_CELL_STR, OSC_UNIT_NONE, false},
        {names[metric], labels[metric], "of this very stack", OSC_CELL_I64, unit, false}};
    return osc_table_new("flame", columns, 2);
}

osc_status osc_flame_table(const osc_flame *f, osc_table **out, osc_err *err)
{
    osc_table *table = new_table(f->options.metric);
    osc_flame_path path = {0};
    osc_flame_node node;
    bool ok = table != NULL;
    for (uint32_t i = 0; ok && i < f->facts.nodes; i++) {
        ok = osc_flame_path_to(&path, f, i, &node);
        if (ok && node.self > 0) {
            uint32_t row = osc_table_add_row(table);
            osc_table_set_str(table, row, 0, osc_buf_view(&path.text));
            osc_table_set_i64(table, row, 1, node.self);
        }
    }
    osc_flame_path_free(&path);
    if (table)
        osc_table_set_fact_i64(table, "total", f->facts.total);
    return osc_table_finish(table, ok, out, err);
}
