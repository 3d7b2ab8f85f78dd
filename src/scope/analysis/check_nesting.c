/*
 * check_nesting.c - checks of how host events lie in each other (known-bad-inputs.md section 5).
 *
 * Python frames are left out of the nesting: the profiler's own frames always straddle the window
 * and the steps (N04).
 */
#include "scope/analysis/check_internal.h"

#include "base/mem.h"
#include "scope/analysis/say.h"

/* So many frames ending with the window are more than a stack that was open when the profiler
 * stopped (N06). */
#define FRAMES_MIN 100u

struct overlaps {
    uint64_t count;
    int64_t most;          /* longest way a call sticks out of the one before it */
    uint32_t outer, inner; /* that pair */
};

static void note_overlap(const osc_check_run *run, struct overlaps *o, uint32_t outer,
                         uint32_t inner)
{
    int64_t out = osc_check_end(run, inner) - osc_check_end(run, outer);
    o->count++;
    if (o->count > 1 && out <= o->most)
        return;
    o->most = out;
    o->outer = outer;
    o->inner = inner;
}

/* Walks calls by (thread, start, longest first) with a stack of open ones, as PyTorch does
 * (2.3). */
static void find_overlaps(const osc_check_run *run, uint32_t *stack, struct overlaps *o)
{
    uint32_t count, depth = 0;
    const uint32_t *order = osc_calls_order(run->calls, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slice = order[i];
        if (i > 0 &&
            osc_calls_thread(run->calls, slice) != osc_calls_thread(run->calls, order[i - 1]))
            depth = 0;
        while (depth > 0) {
            uint32_t top = stack[depth - 1];
            int64_t end = osc_check_end(run, top);
            if (run->s->start_ns[slice] < end && osc_check_end(run, slice) <= end)
                break;
            if (run->s->start_ns[slice] < end)
                note_overlap(run, o, top, slice);
            depth--;
        }
        stack[depth++] = slice;
    }
}

void osc_check_nesting(osc_check_run *run)
{
    uint32_t count;
    struct overlaps o = {0};
    char number[OSC_CHECK_MANY_TEXT], out[OSC_SAY_TEXT], a[OSC_CHECK_NAME_TEXT],
        b[OSC_CHECK_NAME_TEXT];
    (void)osc_calls_order(run->calls, &count);
    uint32_t *stack = osc_realloc_array(NULL, (size_t)count + 1, sizeof *stack);
    if (!stack) {
        run->failed = true;
        return;
    }
    find_overlaps(run, stack, &o);
    osc_free(stack);
    if (o.count > 0)
        osc_check_found(
            run, OSC_SEV_WARN, o.count,
            "such pairs have no parent and child in PyTorch's table: both keep their full "
            "self time; on ROCm the two clocks drift",
            "%s in part; %s ends %s after %s",
            osc_check_many(o.count, "pair overlaps", "pairs overlap", number),
            osc_check_name(run, o.inner, a), osc_say_ns(o.most, out),
            osc_check_name(run, o.outer, b));
    osc_check_fine(run, count == 0 ? "no calls" : "%s in another or apart",
                   osc_check_many(count, "call, lies", "calls, each lies", number));
}

/* True when the lane's name says process 0, thread 0. */
static bool is_nobody(const osc_check_run *run, uint32_t track)
{
    osc_str name = osc_store_text(run->store, osc_store_track(run->store)->name[track]);
    return osc_str_find(name, OSC_STR("/PID:0/")) != SIZE_MAX &&
           osc_store_track(run->store)->number[track] == 0;
}

void osc_check_threads(osc_check_run *run)
{
    const osc_track_cols *t = osc_store_track(run->store);
    uint32_t threads = 0, nobody = 0;
    char number[OSC_NUM_TEXT];
    for (uint32_t i = 0; i < t->count; i++) {
        threads += t->lane_kind[i] == OSC_LANE_THREAD;
        nobody += t->lane_kind[i] == OSC_LANE_THREAD && is_nobody(run, i);
    }
    if (threads > 0 && threads == nobody)
        osc_check_found(
            run, OSC_SEV_WARN, 1,
            "thread numbers were not recorded, so threads are merged into one and nesting "
            "is a guess; self times of operators may be wrong",
            "all host events are on process 0, thread 0");
    osc_check_fine(run,
                   threads == 0   ? "no host threads"
                   : threads == 1 ? "1 thread"
                                  : "%s threads",
                   osc_format_count(threads, number));
}

/* Latest end of anything on each thread. */
static void find_ends(const osc_check_run *run, int64_t *ends, uint64_t *frames)
{
    const osc_slice_cols *s = run->s;
    const osc_track_cols *t = osc_store_track(run->store);
    for (uint32_t i = 0; i < s->count; i++) {
        if (t->lane_kind[s->track[i]] == OSC_LANE_THREAD &&
            osc_check_end(run, i) > ends[s->track[i]])
            ends[s->track[i]] = osc_check_end(run, i);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->kind[i] == OSC_KIND_PYTHON && osc_check_end(run, i) == ends[s->track[i]])
            frames[s->track[i]]++;
    }
}

void osc_check_frames(osc_check_run *run)
{
    uint32_t tracks = osc_store_track(run->store)->count;
    int64_t *ends = osc_realloc_array(NULL, (size_t)tracks + 1, sizeof *ends);
    uint64_t *frames = osc_calloc((size_t)tracks + 1, sizeof *frames);
    uint64_t open = 0, most = 0;
    char number[OSC_NUM_TEXT];
    if (!ends || !frames) {
        run->failed = true;
    } else {
        for (uint32_t i = 0; i < tracks; i++)
            ends[i] = INT64_MIN;
        find_ends(run, ends, frames);
        for (uint32_t i = 0; i < tracks; i++) {
            open += frames[i] >= FRAMES_MIN ? frames[i] : 0;
            most = frames[i] > most ? frames[i] : most;
        }
    }
    osc_free(ends);
    osc_free(frames);
    if (open > 0)
        osc_check_found(
            run, OSC_SEV_WARN, open,
            "their return was missed (greenlets, exceptions, another interpreter): their "
            "times are too long, so are the stacks of what ran under them",
            "%s python frames end with the last event of their thread",
            osc_format_count((int64_t)open, number));
    osc_check_fine(run,
                   most == 0 ? "none open at the end of a thread"
                             : "at most %s open at the end of a thread",
                   osc_format_count((int64_t)most, number));
}
