/*
 * check_double.c - checks for time that would be counted twice on a device
 * (known-bad-inputs.md N02, N07, R01; kineto-trace-format.md 2.1 item 7).
 */
#include "scope/analysis/check_internal.h"

#include "scope/analysis/sat.h"
#include "scope/analysis/say.h"

void osc_check_overlap(osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    uint64_t pairs = 0;
    int64_t twice = 0, reach = 0;
    char number[OSC_CHECK_MANY_TEXT], time[OSC_SAY_TEXT];
    for (uint32_t i = 0; i < run->work_count; i++) {
        uint32_t slice = run->work[i];
        int64_t start = s->start_ns[slice], end = osc_check_end(run, slice);
        if (i == 0 || s->track[slice] != s->track[run->work[i - 1]])
            reach = start;
        if (start < reach) {
            pairs++;
            twice = osc_add_sat(twice, (end < reach ? end : reach) - start);
        }
        reach = end > reach ? end : reach;
    }
    if (pairs > 0)
        osc_check_found(
            run, OSC_SEV_WARN, pairs,
            "sums of kernels exceed the busy time by it; `opscope steps` and `idle` take "
            "the union",
            "%s before the one ahead on the stream ends, %s in all",
            osc_check_many(pairs, "kernel begins", "kernels begin", number),
            osc_say_ns(twice, time));
    osc_check_fine(run, "no two overlap on a stream");
}

/* A kernel that bears the name of a device annotation is the annotation, written with the wrong
 * category. */
static uint64_t disguised(const osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    uint64_t found = 0;
    for (uint32_t i = 0; i < run->work_count; i++)
        found += osc_str_starts(osc_store_text(run->store, s->name[run->work[i]]),
                                OSC_STR("ProfilerStep#"));
    return found;
}

void osc_check_annotations(osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    uint64_t count = run->kinds[OSC_KIND_GPU_ANNOTATION], wrong = disguised(run);
    int64_t time = 0;
    char number[OSC_CHECK_MANY_TEXT], text[OSC_SAY_TEXT];
    for (uint32_t i = 0; i < s->count && count > 0; i++) {
        if (s->kind[i] == OSC_KIND_GPU_ANNOTATION)
            time = osc_add_sat(time, s->dur_ns[i]);
    }
    if (wrong > 0)
        osc_check_found(
            run, OSC_SEV_WARN, wrong,
            "they cover the kernels inside them, whose time counts twice; leave their rows "
            "out",
            "%s written as kernels", osc_check_many(wrong, "step", "steps", number));
    osc_check_fine(run, count == 0 ? "none" : "%s kept out of device totals, %s",
                   osc_check_many(count, "annotation", "annotations", number),
                   osc_say_ns(time, text));
}

/* Events and profiler ranges are drawn like waits; only waits last. */
void osc_check_sync_rows(osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    uint64_t count = 0;
    int64_t time = 0;
    char number[OSC_CHECK_MANY_TEXT], text[OSC_SAY_TEXT];
    for (uint32_t i = 0; i < s->count && run->kinds[OSC_KIND_SYNC] > 0; i++) {
        if (s->kind[i] != OSC_KIND_SYNC || s->dur_ns[i] <= 1)
            continue;
        count++;
        time = osc_add_sat(time, s->dur_ns[i]);
    }
    if (count > 0)
        osc_check_found(
            run, OSC_SEV_WARN, count,
            "PyTorch's table counts them as device time, so its total is too large by it; "
            "`opscope steps` and `idle` do not",
            "%s drawn on streams, %s",
            osc_check_many(count, "wait or range", "waits or ranges", number),
            osc_say_ns(time, text));
    osc_check_fine(run, "none");
}

/* ---- a stream's synchronization and its kernels ---- */

/* Number of the stream a sync row is about: since 2026 its lane is the stream's plus a million
 * (1.5). */
static int64_t stream_of(const osc_check_run *run, uint32_t slice)
{
    int64_t number = osc_store_track(run->store)->number[run->s->track[slice]];
    return number >= 1000000 ? number - 1000000 : number;
}

/* Device part of a lane's name: "device:0" of "device:0/Stream:7". */
static osc_str device_of(const osc_check_run *run, uint32_t slice)
{
    osc_str lane =
        osc_store_text(run->store, osc_store_track(run->store)->lane[run->s->track[slice]]);
    size_t slash = osc_str_find(lane, OSC_STR("/"));
    return slash == SIZE_MAX ? lane : osc_str_make(lane.ptr, slash);
}

/* First work of the same stream that starts before `at` and ends after it. */
static uint32_t running_at(const osc_check_run *run, uint32_t sync)
{
    const osc_slice_cols *s = run->s;
    int64_t at = s->start_ns[sync];
    for (uint32_t i = 0; i < run->work_count;) {
        uint32_t track = s->track[run->work[i]], low = i, high = run->work_count;
        while (low < high) { /* the end of this stream's work */
            uint32_t middle = low + (high - low) / 2;
            if (s->track[run->work[middle]] == track)
                low = middle + 1;
            else
                high = middle;
        }
        if (stream_of(run, run->work[i]) == stream_of(run, sync) &&
            osc_str_eq(device_of(run, run->work[i]), device_of(run, sync))) {
            uint32_t next = i, stop = low;
            while (next < stop) { /* the first that starts at or after the wait */
                uint32_t middle = next + (stop - next) / 2;
                if (s->start_ns[run->work[middle]] < at)
                    next = middle + 1;
                else
                    stop = middle;
            }
            if (next > i && s->kind[run->work[next - 1]] == OSC_KIND_KERNEL &&
                osc_check_end(run, run->work[next - 1]) > at)
                return run->work[next - 1];
        }
        i = low;
    }
    return OSC_NO_ROW;
}

void osc_check_stream_sync(osc_check_run *run)
{
    uint32_t name = osc_store_lookup(run->store, OSC_STR("Stream Sync"));
    uint64_t syncs = 0, early = 0;
    uint32_t first = OSC_NO_ROW;
    char n[OSC_NUM_TEXT], all[OSC_NUM_TEXT], text[OSC_CHECK_NAME_TEXT];
    for (uint32_t i = 0; name != OSC_NO_ROW && i < run->s->count; i++) {
        if (run->s->name[i] != name || run->s->kind[i] != OSC_KIND_SYNC)
            continue;
        syncs++;
        uint32_t running = running_at(run, i);
        first = running != OSC_NO_ROW && early == 0 ? running : first;
        early += running != OSC_NO_ROW;
    }
    (void)osc_format_count((int64_t)syncs, all);
    if (early > 0)
        osc_check_found(
            run, OSC_SEV_WARN, early,
            "the wait is drawn from the call, not from when the stream was idle: do not "
            "read it as device activity",
            "%s of %s begin while a kernel of their stream runs, first %s",
            osc_format_count((int64_t)early, n), all, osc_check_name(run, first, text));
    osc_check_fine(run, syncs == 0 ? "none recorded" : "none of %s begins during a kernel", all);
}
