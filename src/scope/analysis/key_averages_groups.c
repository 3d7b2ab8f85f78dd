/*
 * key_averages_groups.c - what splits the rows of a name: shapes, stacks, modules, steps, lanes.
 *
 * Each way gives an event a number, 0 for none; several ways together are numbered by pairs. The
 * numbers mean something only here, so rows carry one of them and ask for its text at the end.
 */
#include "scope/analysis/key_averages_internal.h"

#include "base/mem.h"
#include "scope/analysis/calls_internal.h"
#include "scope/analysis/extent.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct ka_step {
    int64_t start_ns, end_ns;
    uint32_t process, name; /* text of the store */
};

const char *const osc_ka_by_names[] = {"shape",  "stack",  "module", "step",
                                       "stream", "thread", "device", NULL};

/* ---- steps ---- */

static bool is_step(const struct ka_groups *g, uint32_t slice)
{
    const osc_slice_cols *s = g->calls->slices;
    return !(s->flags[slice] & OSC_SLICE_NO_TIME) && osc_slice_is_step(g->store, slice);
}

static int compare_steps(const void *left, const void *right)
{
    const struct ka_step *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static bool collect_steps(struct ka_groups *g)
{
    const osc_slice_cols *s = g->calls->slices;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++)
        count += is_step(g, i);
    g->processes = osc_calls_number_processes(g->store);
    g->steps = osc_realloc_array(NULL, (size_t)count + 1, sizeof *g->steps);
    if (!g->processes || !g->steps)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (is_step(g, i))
            g->steps[g->step_count++] = (struct ka_step){s->start_ns[i], calls_end(s, i),
                                                         g->processes[s->track[i]], s->name[i]};
    }
    qsort(g->steps, g->step_count, sizeof *g->steps, compare_steps);
    return true;
}

/* The step of a process that is open at a time, as a text of the store; 0 when there is none. Steps
 * may overlap the one before (kineto-trace-format.md 3); the later one counts. */
static uint32_t step_at(const struct ka_groups *g, uint32_t process, int64_t time)
{
    uint32_t low = 0, high = g->step_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct ka_step *s = &g->steps[middle];
        bool begun = s->process < process || (s->process == process && s->start_ns <= time);
        if (begun)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t back = 1; back <= 2 && back <= low; back++) {
        const struct ka_step *s = &g->steps[low - back];
        if (s->process == process && time < s->end_ns)
            return s->name;
    }
    return 0;
}

/* ---- one way ---- */

/* The host slice that stands for a slice: itself, or the operator or launch behind device work. */
static uint32_t cause_of(const struct ka_groups *g, uint32_t slice)
{
    if (calls_on_cpu(g->calls, slice))
        return slice;
    uint32_t op = osc_calls_op(g->calls, slice);
    return op != OSC_NO_ROW ? op : osc_calls_find_launch(g->calls, slice);
}

/* Text of a lane: "framework/TID:12", "device:0/Stream:7". */
static uint32_t lane_of(const struct ka_groups *g, uint32_t track)
{
    return osc_store_track(g->store)->lane[track];
}

static uint32_t number_of(const struct ka_groups *g, osc_ka_by by, uint32_t slice)
{
    const osc_slice_cols *s = g->calls->slices;
    bool on_cpu = calls_on_cpu(g->calls, slice);
    uint32_t cause;
    switch (by) {
    case OSC_KA_BY_SHAPE:
        return !s->shapes || s->shapes[slice] == g->no_shapes ? 0 : s->shapes[slice];
    case OSC_KA_BY_STACK: return on_cpu && g->stacks.of_slice ? g->stacks.of_slice[slice] : 0;
    case OSC_KA_BY_STREAM: return on_cpu ? 0 : lane_of(g, s->track[slice]);
    case OSC_KA_BY_DEVICE: return on_cpu ? 0 : g->devices[s->track[slice]];
    default: break;
    }
    cause = cause_of(g, slice);
    if (cause == OSC_NO_ROW)
        return 0;
    switch (by) {
    case OSC_KA_BY_MODULE: return g->modules.of_slice[cause];
    case OSC_KA_BY_STEP: return step_at(g, g->processes[s->track[cause]], s->start_ns[cause]);
    default: return lane_of(g, s->track[cause]);
    }
}

static osc_str text_of(const struct ka_groups *g, osc_ka_by by, uint32_t number)
{
    switch (by) {
    case OSC_KA_BY_STACK: return osc_call_stacks_text(&g->stacks, number);
    case OSC_KA_BY_MODULE: return osc_call_stacks_text(&g->modules, number);
    case OSC_KA_BY_SHAPE: return number == 0 ? OSC_STR("[]") : osc_store_text(g->store, number);
    case OSC_KA_BY_DEVICE: return osc_intern_get(g->device_texts, number);
    default: return osc_store_text(g->store, number);
    }
}

/* ---- several ways together ---- */

/* The number of a pair, new when unseen. */
static uint32_t join(struct ka_groups *g, uint32_t so_far, uint32_t number)
{
    uint64_t found, key = (uint64_t)so_far << 32 | number;
    if (osc_map_get(&g->pairs, key, &found))
        return (uint32_t)found;
    if (g->part_count == g->part_cap) {
        uint32_t cap = g->part_cap ? g->part_cap * 2 : 64;
        uint64_t *grown = osc_realloc_array(g->parts, cap, sizeof *grown);
        if (!grown) {
            g->failed = true;
            return 0;
        }
        g->parts = grown;
        g->part_cap = cap;
    }
    if (osc_map_put(&g->pairs, key, g->part_count) != OSC_OK) {
        g->failed = true;
        return 0;
    }
    g->parts[g->part_count] = key;
    return g->part_count++;
}

uint32_t osc_ka_group(struct ka_groups *g, uint32_t slice)
{
    uint32_t group = g->kinds == 0 ? 0 : number_of(g, g->by[0], slice);
    for (uint32_t k = 1; k < g->kinds; k++)
        group = join(g, group, number_of(g, g->by[k], slice));
    return group;
}

uint32_t osc_ka_group_of_memory(struct ka_groups *g, uint32_t row)
{
    const osc_memory_cols *m = osc_store_memory(g->store);
    uint32_t group = 0;
    for (uint32_t k = 0; k < g->kinds; k++) {
        uint32_t number = 0;
        if (g->by[k] == OSC_KA_BY_STEP)
            number = step_at(g, g->processes[m->track[row]], m->at_ns[row]);
        else if (g->by[k] == OSC_KA_BY_THREAD)
            number = lane_of(g, m->track[row]);
        group = k == 0 ? number : join(g, group, number);
    }
    return group;
}

osc_str osc_ka_group_text(const struct ka_groups *g, uint32_t group, osc_ka_by by)
{
    for (uint32_t k = g->kinds; k-- > 0;) {
        uint32_t number = k == 0 ? group : (uint32_t)g->parts[group];
        if (g->by[k] == by)
            return text_of(g, by, number);
        group = k == 0 ? 0 : (uint32_t)(g->parts[group] >> 32);
    }
    return (osc_str){0};
}

/* "device:0" of "device:0/Stream:7", for each track. */
static bool name_devices(struct ka_groups *g)
{
    const osc_track_cols *t = osc_store_track(g->store);
    g->device_texts = osc_intern_new(SIZE_MAX);
    g->devices = osc_realloc_array(NULL, (size_t)t->count + 1, sizeof *g->devices);
    bool ok = g->device_texts && g->devices;
    for (uint32_t i = 0; ok && i < t->count; i++) {
        osc_str lane = osc_store_text(g->store, t->lane[i]);
        osc_str device = osc_str_sub(lane, 0, osc_str_find(lane, OSC_STR("/Stream:")));
        g->devices[i] = osc_intern_put(g->device_texts, device);
        ok = g->devices[i] != OSC_INTERN_NONE;
    }
    return ok;
}

bool osc_ka_groups_init(struct ka_groups *g, const osc_store *store, const osc_calls *calls,
                        const osc_ka_options *options)
{
    *g = (struct ka_groups){.store = store, .calls = calls};
    g->no_shapes = osc_store_lookup(store, OSC_STR("[]"));
    for (int by = 0; by < OSC_KA_BY_COUNT; by++) {
        if (options->by & 1u << by)
            g->by[g->kinds++] = (osc_ka_by)by;
    }
    assert(options->by >> OSC_KA_BY_COUNT == 0);
    bool no_stacks = options->like_torch && osc_calls_facts_of(calls)->python_rows;
    return (!(options->by & 1u << OSC_KA_BY_STACK) || no_stacks ||
            osc_call_stacks_build(store, calls, OSC_STACK_FRAMES, options->stack_depth,
                                  &g->stacks)) &&
           (!(options->by & 1u << OSC_KA_BY_MODULE) ||
            osc_call_stacks_build(store, calls, OSC_STACK_MODULES, UINT32_MAX, &g->modules)) &&
           (!(options->by & 1u << OSC_KA_BY_STEP) || collect_steps(g)) &&
           (!(options->by & 1u << OSC_KA_BY_DEVICE) || name_devices(g));
}

void osc_ka_groups_free(struct ka_groups *g)
{
    osc_call_stacks_free(&g->stacks);
    osc_call_stacks_free(&g->modules);
    osc_intern_free(g->device_texts);
    osc_free(g->devices);
    osc_free(g->steps);
    osc_free(g->processes);
    osc_map_free(&g->pairs);
    osc_free(g->parts);
    memset(g, 0, sizeof *g);
}
