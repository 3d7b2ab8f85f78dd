/*
 * calltree.c - which slices count, in which order, and how they nest; linking is in link.c.
 *
 * The nesting follows PyTorch to the letter because counts and self times depend on it: a stack per
 * thread; the top is popped while the next event starts at or after its end or ends after it; what
 * is left is the parent (kineto-trace-format.md 2.3). Since an event is pushed only above its
 * parent or onto an empty stack, the stack is the chain of parents and needs no memory of its own.
 *
 * Rejected: duplicate removal by repeated passes as PyTorch does it. A pass that goes parents first
 * finds all of them: when a node vanishes, its children meet exactly the condition they would have
 * met before, so one pass is enough and the cost is linear (known-bad-inputs.md S07).
 */
#include "scope/analysis/calltree_internal.h"

#include "base/mem.h"
#include "base/num.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* The first quarter of a year in which PyTorch 2.12 was the current release begins here. */
#define PYTHON_ROWS_SINCE_NS 1782967788000000000LL

const char *osc_device_name(osc_device device)
{
    static const char *const names[OSC_DEVICE_TYPES] = {"CPU", "CUDA", "PrivateUse1",
                                                        "XPU", "MTIA", "HPU"};
    return (unsigned)device < OSC_DEVICE_TYPES ? names[device] : "?";
}

/* ---- names ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* "aten::add.Tensor" -> "aten::add"; other names unchanged. Pattern: word::word.identifier */
static osc_str cut_overload(osc_str name)
{
    size_t dot = osc_str_rfind_char(name, '.');
    size_t colons = osc_str_find(name, OSC_STR("::"));
    if (dot == SIZE_MAX || colons == SIZE_MAX || colons == 0 || dot <= colons + 2 ||
        dot + 1 >= name.len)
        return name;
    for (size_t i = 0; i < name.len; i++) {
        bool fixed = i == dot || i == colons || i == colons + 1;
        if (!fixed && !is_word(name.ptr[i]))
            return name;
    }
    if (isdigit((unsigned char)name.ptr[dot + 1]))
        return name;
    return osc_str_sub(name, 0, dot);
}

/* The name a row shows (kineto-trace-format.md 2.1 item 3). */
static uint32_t row_name(struct build *b, osc_str name, bool cut)
{
    if (osc_str_starts(name, OSC_STR("ProfilerStep#")))
        return osc_intern_put(b->tree->names, OSC_STR("ProfilerStep*"));
    if (cut)
        name = cut_overload(name);
    if (!osc_str_starts(name, OSC_STR("_Z")))
        return osc_intern_put(b->tree->names, name);
    char *plain = osc_demangle(&b->demangler, name);
    uint32_t id = osc_intern_put(b->tree->names, plain ? osc_str_from_cstr(plain) : name);
    osc_free(plain);
    return id;
}

/* The row name of a store name, remembered per name and per whether overloads are cut. */
static uint32_t name_of(struct build *b, uint32_t store_name, bool cut)
{
    uint32_t *known = &b->name_map[(size_t)store_name * 2 + cut];
    if (*known == OSC_INTERN_NONE)
        *known = row_name(b, osc_store_text(b->store, store_name), cut);
    if (*known == OSC_INTERN_NONE)
        b->failed = true;
    return *known;
}

/* ---- which slices count ---- */

/* Names PyTorch leaves out (kineto-trace-format.md 2.1 item 2). */
static bool is_dropped_name(osc_str name)
{
    static const char *const dropped[] = {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    };
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        if (osc_str_eq_cstr(name, dropped[i]))
            return true;
    }
    return false;
}

static bool counts(struct build *b, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(b->store);
    switch ((osc_slice_kind)s->kind[slice]) {
    case OSC_KIND_SPAN:
    case OSC_KIND_LANE:
    case OSC_KIND_NRT:
    case OSC_KIND_HW: return false;
    case OSC_KIND_PYTHON:
        if (!b->tree->python_rows)
            return false;
        break;
    default: break;
    }
    if (s->flags[slice] & OSC_SLICE_NO_TIME)
        return false;
    if (is_dropped_name(osc_store_text(b->store, s->name[slice])))
        return false;
    if ((s->flags[slice] & OSC_SLICE_UNFINISHED) && !b->options->keep_unfinished) {
        b->tree->unfinished++;
        return false;
    }
    return true;
}

/* Device type of a slice; kernels take that of the file's runtime calls
 * (kineto-trace-format.md 2.1). */
static osc_device device_of(const struct build *b, osc_slice_kind kind)
{
    switch (kind) {
    case OSC_KIND_KERNEL:
    case OSC_KIND_MEMCPY:
    case OSC_KIND_MEMSET:
    case OSC_KIND_GPU_ANNOTATION:
    case OSC_KIND_SYNC: return b->kernel_device;
    case OSC_KIND_MTIA: return OSC_DEVICE_MTIA;
    case OSC_KIND_HPU: return OSC_DEVICE_HPU;
    default: return OSC_DEVICE_CPU;
    }
}

static void fill_node(struct build *b, uint32_t slice, osc_calltree_node *n)
{
    const osc_slice_cols *s = osc_store_slice(b->store);
    osc_slice_kind kind = (osc_slice_kind)s->kind[slice];
    *n = (osc_calltree_node){
        .start_ns = s->start_ns[slice],
        .slice = slice,
        .name = name_of(b, s->name[slice], kind == OSC_KIND_CPU_OP && !b->options->keep_overloads),
        .thread = osc_store_track(b->store)->thread[s->track[slice]],
        .order = s->order[slice],
        .parent = OSC_NO_ROW,
        .op = OSC_NO_ROW,
        .device = (uint8_t)device_of(b, kind),
        .kind = (uint8_t)kind,
        .annotation = kind == OSC_KIND_USER_ANNOTATION || kind == OSC_KIND_GPU_ANNOTATION};
    if (!osc_add_i64(n->start_ns, s->dur_ns[slice], &n->end_ns))
        n->end_ns = INT64_MAX;
}

static void collect(struct build *b)
{
    const osc_slice_cols *s = osc_store_slice(b->store);
    uint64_t per_device[OSC_DEVICE_TYPES] = {0};
    for (uint32_t i = 0; i < s->count; i++) {
        if (!counts(b, i))
            continue;
        osc_calltree_node *n = &b->tree->nodes[b->tree->count++];
        fill_node(b, i, n);
        per_device[n->device]++;
    }
    for (unsigned d = OSC_DEVICE_CPU + 1; d < OSC_DEVICE_TYPES; d++) {
        if (per_device[d] > 0 &&
            (!b->tree->any_device || per_device[d] > per_device[b->tree->device])) {
            b->tree->any_device = true;
            b->tree->device = (osc_device)d;
        }
    }
}

/* What kernels of this file are called, from the runtimes it names. */
static osc_device kernel_device(const osc_store *store)
{
    const osc_slice_cols *s = osc_store_slice(store);
    uint8_t seen = 0;
    for (uint32_t i = 0; i < s->count; i++)
        seen |= s->flags[i];
    if (seen & OSC_SLICE_XPU)
        return OSC_DEVICE_XPU;
    return seen & OSC_SLICE_PRIVATEUSE1 ? OSC_DEVICE_PRIVATEUSE1 : OSC_DEVICE_CUDA;
}

/* True when the PyTorch that wrote the file made rows of python frames: by its version when the
 * session says it, else by the quarter in the time base (kineto-trace-format.md 1.4, 5). */
static bool python_by_era(const osc_store *store)
{
    osc_str version = osc_store_get_meta(store, "torch_version"), part;
    int64_t major, minor, base;
    if (osc_str_split(&version, '.', &part) && osc_parse_i64(part, &major) &&
        osc_str_split(&version, '.', &part) && osc_parse_i64(part, &minor))
        return major > 2 || (major == 2 && minor >= 12);
    return osc_parse_i64(osc_store_get_meta(store, "base_time_ns"), &base) &&
           base >= PYTHON_ROWS_SINCE_NS;
}

/* ---- order ---- */

struct sort_key {
    int64_t start_ns, end_ns;
    uint32_t order, node;
};

static bool comes_after(const struct sort_key *a, const struct sort_key *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns > b->start_ns;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns;
    return a->order > b->order;
}

/* Stable merge of two sorted neighbours; nothing to do when they are in order already. */
static void merge_keys(const struct sort_key *in, size_t half, size_t n, struct sort_key *out)
{
    if (half >= n || !comes_after(&in[half - 1], &in[half])) {
        memcpy(out, in, n * sizeof *in);
        return;
    }
    size_t a = 0, b = half;
    for (size_t i = 0; i < n; i++) {
        bool take_a = b == n || (a < half && !comes_after(&in[a], &in[b]));
        out[i] = take_a ? in[a++] : in[b++];
    }
}

static struct sort_key *sort_keys(struct sort_key *keys, struct sort_key *spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t span = n - at < 2 * width ? n - at : 2 * width;
            merge_keys(keys + at, span < width ? span : width, span, spare + at);
        }
        struct sort_key *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

/* Sorts the nodes by (start, -end, order) and renumbers op. */
static bool sort_nodes(struct build *b)
{
    size_t n = b->tree->count;
    struct sort_key *keys = osc_realloc_array(NULL, n + 1, 2 * sizeof *keys);
    osc_calltree_node *sorted = osc_realloc_array(NULL, n + 1, sizeof *sorted);
    uint32_t *moved = osc_realloc_array(NULL, n + 1, sizeof *moved);
    bool ok = keys && sorted && moved;
    if (ok) {
        for (uint32_t i = 0; i < n; i++)
            keys[i] = (struct sort_key){b->tree->nodes[i].start_ns, b->tree->nodes[i].end_ns,
                                        b->tree->nodes[i].order, i};
        struct sort_key *done = sort_keys(keys, keys + n, n);
        for (uint32_t i = 0; i < n; i++) {
            sorted[i] = b->tree->nodes[done[i].node];
            moved[done[i].node] = i;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (sorted[i].op != OSC_NO_ROW)
                sorted[i].op = moved[sorted[i].op];
        }
        osc_free(b->tree->nodes);
        b->tree->nodes = sorted;
        sorted = NULL;
    }
    osc_free(keys);
    osc_free(sorted);
    osc_free(moved);
    return ok;
}

/* ---- nesting ---- */

static bool nest(struct build *b)
{
    uint32_t threads = 0;
    osc_calltree_node *nodes = b->tree->nodes;
    for (uint32_t i = 0; i < b->tree->count; i++) {
        if (nodes[i].thread >= threads)
            threads = nodes[i].thread + 1;
    }
    uint32_t *top = osc_realloc_array(NULL, (size_t)threads + 1, sizeof *top);
    if (!top)
        return false;
    memset(top, 0xff, ((size_t)threads + 1) * sizeof *top); /* OSC_NO_ROW */
    for (uint32_t i = 0; i < b->tree->count; i++) {
        osc_calltree_node *n = &nodes[i];
        if (n->device != OSC_DEVICE_CPU)
            continue;
        uint32_t around = top[n->thread];
        while (around != OSC_NO_ROW &&
               (n->start_ns >= nodes[around].end_ns || n->end_ns > nodes[around].end_ns))
            around = nodes[around].parent;
        n->parent = around;
        if (around != OSC_NO_ROW)
            nodes[around].children++;
        top[n->thread] = i;
    }
    osc_free(top);
    return true;
}

/* An only child with its parent's name vanishes; its children and its kernels move up, and the
 * parent's own kernels are replaced (kineto-trace-format.md 2.4). */
static void remove_duplicates(osc_calltree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        osc_calltree_node *n = &tree->nodes[i];
        if (n->parent == OSC_NO_ROW)
            continue;
        assert(n->parent < i);
        if (tree->nodes[n->parent].gone)
            n->parent = tree->nodes[n->parent].parent;
        osc_calltree_node *parent = &tree->nodes[n->parent];
        if (parent->name == n->name && parent->children == 1) {
            parent->children = n->children;
            parent->kernel_ns = n->kernel_ns;
            n->gone = true;
        }
    }
}

osc_status osc_calltree_build(const osc_store *store, const osc_calltree_options *options,
                              osc_calltree *out, osc_err *err)
{
    memset(out, 0, sizeof *out);
    struct build b = {.store = store, .options = options, .tree = out};
    size_t names = (size_t)osc_store_text_count(store) * 2;
    size_t room = (size_t)osc_store_slice(store)->count + osc_store_memory(store)->count;
    out->names = osc_intern_new(SIZE_MAX);
    out->nodes = osc_realloc_array(NULL, room + 1, sizeof *out->nodes);
    b.name_map = osc_realloc_array(NULL, names + 1, sizeof *b.name_map);
    bool ok = out->names && out->nodes && b.name_map;
    if (ok) {
        memset(b.name_map, 0xff, names * sizeof *b.name_map); /* OSC_INTERN_NONE */
        b.kernel_device = kernel_device(store);
        out->python_rows = options->python == OSC_PYTHON_YES ||
                           (options->python == OSC_PYTHON_AUTO && python_by_era(store));
        collect(&b);
        ok = osc_calltree_link(&b) && osc_calltree_memory(&b) && !b.failed && sort_nodes(&b) &&
             nest(&b);
    }
    osc_demangler_close(&b.demangler);
    osc_free(b.name_map);
    if (!ok) {
        osc_calltree_free(out);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "out of memory for the tree of calls");
    }
    if (!options->keep_duplicates)
        remove_duplicates(out);
    return OSC_OK;
}

void osc_calltree_free(osc_calltree *tree)
{
    if (!tree)
        return;
    osc_intern_free(tree->names);
    osc_free(tree->nodes);
    memset(tree, 0, sizeof *tree);
}
