/*
 * stacks.c - one sweep over frames and nodes in order of time, with a stack of open frames per
 * thread.
 *
 * Frames come from the store, not the tree: in the tables of PyTorch up to 2.11 frames are no rows,
 * so the tree does not hold them.
 */
#include "scope/analysis/stacks.h"

#include "base/buf.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    int64_t start_ns, end_ns;
    uint32_t thread, slice;
    uint32_t around; /* frame open when this one began */
};

/* Frames PyTorch does not show: both parts must occur. */
static bool is_filtered(osc_str name)
{
    static const struct {
        osc_str file, function;
    } filtered[] = {
        {{"autograd/__init__", 17}, {"_make_grads", 11}},
        {{"autograd/__init__", 17}, {"backward", 8}},
        {{"torch/tensor", 12}, {"backward", 8}},
        {{"_internal/common_utils", 22}, {"prof_callable", 13}},
        {{"_internal/common_utils", 22}, {"prof_func_call", 14}},
        {{"_internal/common_utils", 22}, {"prof_meth_call", 14}},
    };
    for (size_t i = 0; i < sizeof filtered / sizeof *filtered; i++) {
        if (osc_str_find(name, filtered[i].file) != SIZE_MAX &&
            osc_str_find(name, filtered[i].function) != SIZE_MAX)
            return true;
    }
    return false;
}

static int compare_frames(const void *left, const void *right)
{
    const struct frame *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (a->slice > b->slice) - (a->slice < b->slice);
}

static struct frame *collect(const osc_store *store, uint32_t *count, uint32_t *threads)
{
    const osc_slice_cols *s = osc_store_slice(store);
    const osc_track_cols *t = osc_store_track(store);
    struct frame *frames = osc_realloc_array(NULL, (size_t)s->count + 1, sizeof *frames);
    *count = 0;
    *threads = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->thread[i] >= *threads)
            *threads = t->thread[i] + 1;
    }
    for (uint32_t i = 0; frames && i < s->count; i++) {
        if (s->kind[i] != OSC_KIND_PYTHON || (s->flags[i] & OSC_SLICE_NO_TIME))
            continue;
        int64_t end = INT64_MAX;
        (void)osc_add_i64(s->start_ns[i], s->dur_ns[i], &end);
        frames[(*count)++] =
            (struct frame){s->start_ns[i], end, t->thread[s->track[i]], i, OSC_NO_ROW};
    }
    if (frames)
        qsort(frames, *count, sizeof *frames, compare_frames);
    return frames;
}

/* Joins up to depth frames from `frame` outward; 0 when there is none. */
static uint32_t join(const osc_store *store, const struct frame *frames, uint32_t frame,
                     uint32_t depth, osc_buf *text, osc_stacks *out)
{
    const osc_slice_cols *s = osc_store_slice(store);
    osc_buf_clear(text);
    for (uint32_t n = 0; frame != OSC_NO_ROW && n < depth; frame = frames[frame].around) {
        assert(frames[frame].around == OSC_NO_ROW || frames[frame].around < frame);
        osc_str name = osc_store_text(store, s->name[frames[frame].slice]);
        if (is_filtered(name))
            continue;
        if (n++ > 0)
            osc_buf_putc(text, '\n');
        osc_buf_str(text, name);
    }
    return osc_intern_put(out->texts, osc_buf_view(text));
}

/* The innermost frame of a thread that is open at time and is not the slice itself. */
static uint32_t open_frame(const struct frame *frames, uint32_t *top, int64_t time, uint32_t self)
{
    while (*top != OSC_NO_ROW && frames[*top].end_ns <= time && frames[*top].start_ns < time)
        *top = frames[*top].around;
    uint32_t frame = *top;
    while (frame != OSC_NO_ROW && frames[frame].slice == self)
        frame = frames[frame].around;
    return frame;
}

static bool sweep(const osc_store *store, const osc_calltree *tree, uint32_t depth,
                  struct frame *frames, uint32_t count, uint32_t *top, osc_stacks *out)
{
    osc_buf text;
    uint32_t next = 0;
    bool ok = true;
    osc_buf_init(&text, SIZE_MAX);
    for (uint32_t i = 0; ok && i < tree->count; i++) {
        const osc_calltree_node *n = &tree->nodes[i];
        if (n->device != OSC_DEVICE_CPU)
            continue;
        while (next < count && frames[next].start_ns <= n->start_ns) {
            uint32_t *open = &top[frames[next].thread];
            (void)open_frame(frames, open, frames[next].start_ns, OSC_NO_ROW);
            frames[next].around = *open;
            *open = next++;
        }
        uint32_t frame = open_frame(frames, &top[n->thread], n->start_ns, n->slice);
        out->of_node[i] = join(store, frames, frame, depth, &text, out);
        ok = out->of_node[i] != OSC_INTERN_NONE && !text.failed;
    }
    osc_buf_free(&text);
    return ok;
}

bool osc_stacks_build(const osc_store *store, const osc_calltree *tree, uint32_t depth,
                      osc_stacks *out)
{
    uint32_t count, threads;
    struct frame *frames = collect(store, &count, &threads);
    uint32_t *top = osc_realloc_array(NULL, (size_t)threads + 1, sizeof *top);
    out->texts = osc_intern_new(SIZE_MAX);
    out->of_node = osc_calloc((size_t)tree->count + 1, sizeof *out->of_node);
    bool ok = frames && top && out->texts && out->of_node;
    if (ok) {
        memset(top, 0xff, ((size_t)threads + 1) * sizeof *top); /* OSC_NO_ROW */
        ok = sweep(store, tree, depth, frames, count, top, out);
    }
    osc_free(frames);
    osc_free(top);
    if (!ok)
        osc_stacks_free(out);
    return ok;
}

osc_str osc_stacks_text(const osc_stacks *stacks, uint32_t id)
{
    return stacks->texts ? osc_intern_get(stacks->texts, id) : (osc_str){0};
}

void osc_stacks_free(osc_stacks *stacks)
{
    if (!stacks)
        return;
    osc_intern_free(stacks->texts);
    osc_free(stacks->of_node);
    memset(stacks, 0, sizeof *stacks);
}
