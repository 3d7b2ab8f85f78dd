/*
 * call_stacks.c - for each thread one sweep over frames and calls in order of time, with the open
 * frames as a chain.
 *
 * Frames come from the store, not from the calls: in the tables of PyTorch up to 2.11 frames are no
 * rows. The text of a frame and those around it is made once, however many calls are inside.
 */
#include "scope/analysis/call_stacks.h"

#include "base/buf.h"
#include "base/mem.h"
#include "scope/analysis/calls_internal.h"
#include "scope/read/args.h"

#include <assert.h>
#include <string.h>

struct frame {
    uint32_t slice;
    uint32_t around; /* frame open when this one began */
    uint32_t text;   /* OSC_INTERN_NONE until it is asked for */
    uint32_t level;  /* frames around it */
};

/* Paths of modules repeat those around them: without a bound deep nesting would take quadratic
 * memory. */
#define MODULE_LEVELS 256u

struct sweep {
    const osc_store *store;
    const osc_slice_cols *slices;
    const osc_calls *calls;
    osc_stack_kind kind;
    uint32_t depth;
    uint32_t *items; /* slices of frames, by thread and time */
    uint32_t *first; /* [threads + 2]: first item of each thread */
    struct frame *frames;
    osc_buf text;
    osc_call_stacks *out;
};

static const osc_str module_prefix = OSC_STR_INIT("nn.Module: ");

/* Frames PyTorch does not show: both parts must occur. */
static bool is_filtered(osc_str name)
{
    static const struct {
        osc_str file, function;
    } filtered[] = {
        {OSC_STR_INIT("autograd/__init__"), OSC_STR_INIT("_make_grads")},
        {OSC_STR_INIT("autograd/__init__"), OSC_STR_INIT("backward")},
        {OSC_STR_INIT("torch/tensor"), OSC_STR_INIT("backward")},
        {OSC_STR_INIT("_internal/common_utils"), OSC_STR_INIT("prof_callable")},
        {OSC_STR_INIT("_internal/common_utils"), OSC_STR_INIT("prof_func_call")},
        {OSC_STR_INIT("_internal/common_utils"), OSC_STR_INIT("prof_meth_call")},
    };
    for (size_t i = 0; i < sizeof filtered / sizeof *filtered; i++) {
        if (osc_str_find(name, filtered[i].file) != SIZE_MAX &&
            osc_str_find(name, filtered[i].function) != SIZE_MAX)
            return true;
    }
    return false;
}

static bool is_frame(const struct sweep *w, uint32_t slice)
{
    if (w->slices->kind[slice] != OSC_KIND_PYTHON || (w->slices->flags[slice] & OSC_SLICE_NO_TIME))
        return false;
    return w->kind == OSC_STACK_FRAMES ||
           osc_str_starts(osc_store_text(w->store, w->slices->name[slice]), module_prefix);
}

static uint32_t thread_of(const struct sweep *w, uint32_t slice)
{
    return w->calls->thread_of_track[w->slices->track[slice]];
}

/* Deals the frames out to their threads, sorted by time. */
static bool collect(struct sweep *w)
{
    uint32_t threads = w->calls->threads;
    w->first = osc_calloc((size_t)threads + 2, sizeof *w->first);
    if (!w->first)
        return false;
    for (uint32_t i = 0; i < w->slices->count; i++) {
        if (is_frame(w, i))
            w->first[thread_of(w, i) + 2]++;
    }
    for (uint32_t t = 2; t < threads + 2; t++)
        w->first[t] += w->first[t - 1];
    size_t room = (size_t)w->first[threads + 1] + 1;
    w->items = osc_realloc_array(NULL, room, sizeof *w->items);
    w->frames = osc_realloc_array(NULL, room, sizeof *w->frames);
    if (!w->items || !w->frames)
        return false;
    for (uint32_t i = 0; i < w->slices->count; i++) {
        if (is_frame(w, i))
            w->items[w->first[thread_of(w, i) + 1]++] = i;
    }
    w->out->any = w->first[threads] > 0;
    for (uint32_t t = 0; t < threads; t++) {
        uint32_t first = w->first[t], count = w->first[t + 1] - first;
        if (!osc_calls_sort_slices(w->slices, w->items + first, count))
            return false;
    }
    return true;
}

/* Joins up to depth frames from `frame` outward. */
static uint32_t join(struct sweep *w, uint32_t frame)
{
    osc_buf_clear(&w->text);
    for (uint32_t n = 0; frame != OSC_NO_ROW && n < w->depth; frame = w->frames[frame].around) {
        assert(w->frames[frame].around == OSC_NO_ROW || w->frames[frame].around < frame);
        osc_str name = osc_store_text(w->store, w->slices->name[w->frames[frame].slice]);
        if (w->kind == OSC_STACK_FRAMES && is_filtered(name))
            continue;
        if (n++ > 0)
            osc_buf_putc(&w->text, '\n');
        osc_buf_str(&w->text, name);
    }
    return osc_intern_put(w->out->texts, osc_buf_view(&w->text));
}

/* "ResNet_0.Linear_3": the text of the frame around, a dot, and the module's own name. */
static uint32_t join_module(struct sweep *w, uint32_t frame)
{
    uint32_t around = w->frames[frame].around;
    if (w->frames[frame].level >= MODULE_LEVELS)
        return w->frames[around].text;
    osc_str name = osc_store_text(w->store, w->slices->name[w->frames[frame].slice]);
    osc_buf_clear(&w->text);
    if (around != OSC_NO_ROW)
        osc_buf_printf(&w->text, "%.*s.",
                       OSC_STR_FMT(osc_intern_get(w->out->texts, w->frames[around].text)));
    osc_buf_str(&w->text, osc_str_sub(name, module_prefix.len, SIZE_MAX));
    return osc_intern_put(w->out->texts, osc_buf_view(&w->text));
}

static uint32_t text_of(struct sweep *w, uint32_t frame)
{
    if (frame == OSC_NO_ROW)
        return 0;
    if (w->frames[frame].text == OSC_INTERN_NONE)
        w->frames[frame].text = join(w, frame);
    return w->frames[frame].text;
}

/* Ends the frames of a chain that are over at a time. */
static uint32_t still_open(const struct sweep *w, uint32_t top, int64_t time)
{
    while (top != OSC_NO_ROW && calls_end(w->slices, w->frames[top].slice) <= time &&
           w->slices->start_ns[w->frames[top].slice] < time)
        top = w->frames[top].around;
    return top;
}

static bool sweep_thread(struct sweep *w, uint32_t thread)
{
    const osc_calls *c = w->calls;
    const int64_t *starts = w->slices->start_ns;
    uint32_t next = w->first[thread], end = w->first[thread + 1], top = OSC_NO_ROW;
    for (uint32_t i = c->thread_first[thread]; i < c->thread_first[thread + 1]; i++) {
        uint32_t slice = c->order[i];
        for (; next < end && starts[w->items[next]] <= starts[slice]; next++) {
            top = still_open(w, top, starts[w->items[next]]);
            w->frames[next] = (struct frame){w->items[next], top, OSC_INTERN_NONE,
                                             top == OSC_NO_ROW ? 0 : w->frames[top].level + 1};
            if (w->kind == OSC_STACK_MODULES)
                w->frames[next].text = join_module(w, next);
            top = next;
        }
        top = still_open(w, top, starts[slice]);
        uint32_t frame = top;
        while (frame != OSC_NO_ROW && w->frames[frame].slice == slice)
            frame = w->frames[frame].around;
        w->out->of_slice[slice] = text_of(w, frame);
        if (w->out->of_slice[slice] == OSC_INTERN_NONE || w->text.failed)
            return false;
    }
    return true;
}

/* ---- modules of TorchScript, which are no frames ---- */

struct hierarchy {
    osc_call_stacks *out;
    osc_buf text;
    bool failed;
};

static void take_hierarchy(void *context, uint32_t slice, osc_str args)
{
    struct hierarchy *h = context;
    if (!osc_args_text(args, "Module Hierarchy", &h->text) || h->text.len == 0)
        return;
    uint32_t id = osc_intern_put(h->out->texts, osc_buf_view(&h->text));
    h->failed |= id == OSC_INTERN_NONE || h->text.failed;
    h->out->of_slice[slice] = id;
    h->out->any = true;
}

/* Reads the arguments of all operators again; false when out of memory. Input that cannot be
 * read twice has no modules then. */
static bool read_hierarchy(const struct sweep *w)
{
    uint32_t *ops = osc_realloc_array(NULL, (size_t)w->calls->order_count + 1, sizeof *ops);
    struct hierarchy h = {.out = w->out};
    uint32_t count = 0;
    osc_err err = {0};
    if (!ops)
        return false;
    osc_buf_init(&h.text, SIZE_MAX);
    for (uint32_t i = 0; i < w->slices->count; i++) {
        if (w->slices->kind[i] == OSC_KIND_CPU_OP && osc_calls_counts(w->calls, i))
            ops[count++] = i;
    }
    osc_status status = osc_args_each(w->store, ops, count, take_hierarchy, &h, &err);
    osc_buf_free(&h.text);
    osc_free(ops);
    return status != OSC_ENOMEM && !h.failed;
}

bool osc_call_stacks_build(const osc_store *store, const osc_calls *calls, osc_stack_kind kind,
                           uint32_t depth, osc_call_stacks *out)
{
    struct sweep w = {.store = store,
                      .slices = osc_store_slice(store),
                      .calls = calls,
                      .kind = kind,
                      .depth = depth,
                      .out = out};
    *out = (osc_call_stacks){.texts = osc_intern_new(SIZE_MAX)};
    out->of_slice = osc_calloc((size_t)w.slices->count + 1, sizeof *out->of_slice);
    osc_buf_init(&w.text, SIZE_MAX);
    bool ok = out->texts && out->of_slice && collect(&w);
    for (uint32_t t = 0; ok && t < calls->threads; t++)
        ok = sweep_thread(&w, t);
    if (ok && kind == OSC_STACK_MODULES && !out->any && w.slices->args_at)
        ok = read_hierarchy(&w);
    osc_buf_free(&w.text);
    osc_free(w.items);
    osc_free(w.first);
    osc_free(w.frames);
    if (!ok)
        osc_call_stacks_free(out);
    return ok;
}

osc_str osc_call_stacks_text(const osc_call_stacks *stacks, uint32_t id)
{
    return stacks->texts ? osc_intern_get(stacks->texts, id) : (osc_str){0};
}

void osc_call_stacks_free(osc_call_stacks *stacks)
{
    if (!stacks)
        return;
    osc_intern_free(stacks->texts);
    osc_free(stacks->of_slice);
    memset(stacks, 0, sizeof *stacks);
}
