/*
 * torch_stacks.c - see torch_stacks.h.
 */
#include "scope/analysis/torch_stacks.h"

#include "base/map.h"
#include "base/mem.h"
#include "scope/analysis/calls_internal.h"
#include "scope/read/args.h"

#include <string.h>

#define SAMPLES 64u /* operators whose arguments are looked at */

const char *const osc_torch_stacks_metrics[] = {
    "self_cpu_time_total",         "self_cuda_time_total",   "self_xpu_time_total",
    "self_privateuse1_time_total", "self_device_time_total", NULL};

bool osc_torch_stacks_on_device(const char *metric)
{
    return strcmp(metric, osc_torch_stacks_metrics[0]) != 0;
}

/* ---- backward ---- */

#define NO_FORWARD (OSC_NO_ROW - 1) /* inside a backward operator without a forward one */

/*
 * Everything inside a backward operator has the stack of the first forward event with its sequence
 * number (2.6). PyTorch also compares the forward thread, by a number that the file does not have
 * for forward events; where several threads went forward, the first of all is taken.
 */
struct backward {
    const osc_calls *calls;
    const osc_sequence_cols *rows;
    uint32_t
        *inside; /* [slice]: row of the backward operator that it is in; NO_FORWARD; OSC_NO_ROW */
    osc_map forward; /* sequence number -> slice of the first forward event */
};

static bool comes_first(const osc_slice_cols *s, uint32_t a, uint32_t b)
{
    if (s->start_ns[a] != s->start_ns[b])
        return s->start_ns[a] < s->start_ns[b];
    return s->dur_ns[a] > s->dur_ns[b];
}

/* True for a backward operator; not for what the engine calls around it, which has the same
 * numbers. */
static bool is_backward(const struct backward *b, uint32_t row)
{
    const osc_calls *c = b->calls;
    osc_str name = osc_store_text(c->store, c->slices->name[b->rows->slice[row]]);
    return b->rows->fwd_thread[row] != 0 &&
           !osc_str_starts(name, OSC_STR("autograd::engine::evaluate_function"));
}

static void find_inside(struct backward *b)
{
    const osc_calls *c = b->calls;
    for (uint32_t r = 0; r < b->rows->count; r++) {
        if (is_backward(b, r))
            b->inside[b->rows->slice[r]] = r;
    }
    uint32_t leaf = osc_store_lookup(c->store, OSC_STR("torch::autograd::AccumulateGrad"));
    for (uint32_t i = 0; i < c->order_count; i++) {
        uint32_t slice = c->order[i], parent = c->up[slice];
        if (c->slices->name[slice] == leaf)
            b->inside[slice] = NO_FORWARD;
        if (b->inside[slice] == OSC_NO_ROW && parent != OSC_NO_ROW)
            b->inside[slice] = b->inside[parent];
    }
}

static bool find_forward(struct backward *b)
{
    const osc_calls *c = b->calls;
    for (uint32_t r = 0; r < b->rows->count; r++) {
        uint64_t key = (uint64_t)b->rows->sequence[r], known;
        uint32_t slice = b->rows->slice[r];
        if (b->inside[slice] != OSC_NO_ROW || !(c->flags[slice] & CALLS_COUNTED) ||
            c->flags[slice] & CALLS_GONE)
            continue;
        if (osc_map_get(&b->forward, key, &known) && comes_first(c->slices, (uint32_t)known, slice))
            continue;
        if (osc_map_put(&b->forward, key, slice) != OSC_OK)
            return false;
    }
    return true;
}

/* Gives calls inside backward operators the stack of the forward one. */
static bool set_backward(const osc_store *store, const osc_calls *c, osc_call_stacks *stacks)
{
    struct backward b = {.calls = c, .rows = osc_store_sequence(store)};
    size_t slices = (size_t)c->slices->count + 1;
    if (b.rows->count == 0)
        return true;
    b.inside = osc_realloc_array(NULL, slices, sizeof *b.inside);
    bool ok = b.inside != NULL;
    if (ok) {
        memset(b.inside, 0xff, slices * sizeof *b.inside); /* OSC_NO_ROW */
        find_inside(&b);
        ok = find_forward(&b);
    }
    for (uint32_t i = 0; ok && i < c->order_count; i++) {
        uint32_t slice = c->order[i], row = b.inside[slice];
        uint64_t forward;
        if (row == OSC_NO_ROW)
            continue;
        bool known =
            row != NO_FORWARD && osc_map_get(&b.forward, (uint64_t)b.rows->sequence[row], &forward);
        stacks->of_slice[slice] = known ? stacks->of_slice[forward] : 0;
    }
    osc_map_free(&b.forward);
    osc_free(b.inside);
    return ok;
}

/* ---- lines ---- */

/* [slice]: ns of the direct children of a host call. NULL: out of memory. */
static int64_t *sum_children(const osc_calls *c)
{
    int64_t *inside = osc_calloc((size_t)c->slices->count + 1, sizeof *inside);
    for (uint32_t i = 0; inside && i < c->order_count; i++) {
        uint32_t slice = c->order[i], parent = c->up[slice];
        if (!(c->flags[slice] & CALLS_GONE) && parent != OSC_NO_ROW)
            inside[parent] += c->slices->dur_ns[slice];
    }
    return inside;
}

/* Host calls of all threads in one order. */
static uint32_t *all_in_order(const osc_calls *c)
{
    uint32_t *all = osc_realloc_array(NULL, (size_t)c->order_count + 1, sizeof *all);
    if (!all)
        return NULL;
    memcpy(all, c->order, c->order_count * sizeof *all);
    if (!osc_calls_sort_slices(c->slices, all, c->order_count)) {
        osc_free(all);
        return NULL;
    }
    return all;
}

static bool put_lines(const osc_calls *c, bool device, osc_torch_stacks *out)
{
    int64_t *inside = device ? NULL : sum_children(c);
    uint32_t *all = all_in_order(c);
    out->lines = osc_realloc_array(NULL, (size_t)c->order_count + 1, sizeof *out->lines);
    bool ok = all && out->lines && (device || inside);
    for (uint32_t i = 0; ok && i < c->order_count; i++) {
        uint32_t slice = all[i], stack = out->texts.of_slice[slice];
        if (c->flags[slice] & CALLS_GONE || osc_call_stacks_text(&out->texts, stack).len == 0)
            continue;
        int64_t ns = device ? calls_kernel_ns(c, slice) : c->slices->dur_ns[slice] - inside[slice];
        if (ns / 1000 > 0)
            out->lines[out->count++] = (osc_torch_stacks_line){ns / 1000, stack};
    }
    osc_free(inside);
    osc_free(all);
    return ok;
}

osc_status osc_torch_stacks_build(const osc_store *store, osc_python_rows python, bool device,
                                  uint32_t threads, osc_torch_stacks *out, osc_err *err)
{
    osc_calls_options o = {.python = python, .threads = threads};
    osc_calls *calls;
    memset(out, 0, sizeof *out);
    osc_status status = osc_calls_build(store, &o, &calls, err);
    if (status != OSC_OK)
        return status;
    bool ok = osc_call_stacks_build(store, calls, OSC_STACK_FRAMES, UINT32_MAX, &out->texts) &&
              set_backward(store, calls, &out->texts) && put_lines(calls, device, out);
    osc_calls_free(calls);
    if (ok)
        return OSC_OK;
    osc_torch_stacks_free(out);
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the stacks");
}

static void look_for_stack(void *context, uint32_t slice, osc_str args)
{
    bool *found = context;
    osc_scan_value value;
    (void)slice;
    *found |= osc_args_find(args, "Call stack", &value);
}

osc_status osc_torch_stacks_recorded(const osc_store *store, const osc_torch_stacks *stacks,
                                     bool *recorded, osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(store);
    uint32_t asked[SAMPLES], n = 0;
    *recorded = false;
    for (uint32_t i = 0; i < s->count && n < SAMPLES; i++) {
        if (s->kind[i] == OSC_KIND_CPU_OP && stacks->texts.of_slice[i] != 0)
            asked[n++] = i;
    }
    return n > 0 ? osc_args_each(store, asked, n, look_for_stack, recorded, err) : OSC_OK;
}

void osc_torch_stacks_free(osc_torch_stacks *stacks)
{
    if (!stacks)
        return;
    osc_call_stacks_free(&stacks->texts);
    osc_free(stacks->lines);
    memset(stacks, 0, sizeof *stacks);
}
