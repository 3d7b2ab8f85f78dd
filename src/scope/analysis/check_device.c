/*
 * check_device.c - checks of device work: is it there, launched, linked, in order
 * (known-bad-inputs.md T09 to T11, R16, kineto-trace-format.md 1.8 to 1.10).
 */
#include "scope/analysis/check_internal.h"

#include "scope/analysis/say.h"

static uint64_t device_events(const osc_check_run *run)
{
    return run->work_count + run->kinds[OSC_KIND_MTIA] + run->kinds[OSC_KIND_HPU] +
           run->kinds[OSC_KIND_HW] + run->kinds[OSC_KIND_INST] + run->kinds[OSC_KIND_DMA];
}

static uint64_t count_launches(const osc_check_run *run)
{
    uint64_t launches = 0;
    for (uint32_t i = 0; i < run->s->count; i++)
        launches += osc_check_is_launch(run, i);
    return launches;
}

/* Memory records of something that is not the CPU. */
static uint64_t device_memory(const osc_check_run *run)
{
    const osc_memory_cols *m = osc_store_memory(run->store);
    uint64_t records = 0;
    for (uint32_t i = 0; i < m->count; i++)
        records += m->device_type[i] > 0;
    return records;
}

/* There is no device work: why, by what else is there. */
static void say_absent(osc_check_run *run)
{
    uint64_t launches = count_launches(run), memory = device_memory(run);
    osc_str device = osc_store_get_meta(run->store, "device_properties_name");
    char number[OSC_CHECK_MANY_TEXT];
    if (launches > 0)
        osc_check_found(
            run, OSC_SEV_ERROR, launches,
            "the device's events were dropped: the profiler was started and stepped "
            "without a schedule, its buffers were lost, or nothing waited for the device "
            "before it stopped; synchronize before the last step()",
            run->kinds[OSC_KIND_SYNC] > 0 ? "%s, waits or profiler ranges, but no kernels"
                                          : "%s but no device events: device columns are empty",
            osc_check_many(launches, "launch", "launches", number));
    else if (memory > 0)
        osc_check_found(
            run, OSC_SEV_ERROR, memory,
            "the device's activity was not asked for: add ProfilerActivity.CUDA (or XPU, "
            "MTIA, PrivateUse1) to activities=",
            "%s of a device but neither launches nor device events",
            osc_check_many(memory, "memory record", "memory records", number));
    else if (run->kinds[OSC_KIND_RUNTIME] > 0)
        osc_check_found(
            run, OSC_SEV_WARN, run->kinds[OSC_KIND_RUNTIME],
            "no work was given to the device in this window, or its events were lost",
            "%s, none of them a launch, and no device events",
            osc_check_many(run->kinds[OSC_KIND_RUNTIME], "runtime call", "runtime calls", number));
    else if (device.len > 0 && run->kinds[OSC_KIND_CPU_OP] > 0)
        osc_check_found(run, OSC_SEV_WARN, 1,
                        "if the program used it, add the device's ProfilerActivity to activities=",
                        "the file names a device (%.*s) that did nothing", OSC_STR_FMT(device));
    else
        osc_check_fine(run, "CPU only: no sign of a device");
}

void osc_check_device(osc_check_run *run)
{
    uint64_t events = device_events(run);
    char number[OSC_CHECK_MANY_TEXT];
    if (events == 0)
        say_absent(run);
    else
        osc_check_fine(run, "%s%s", osc_check_many(events, "device event", "device events", number),
                       run->kinds[OSC_KIND_CPU_OP] == 0 ? ", no operators: the CPU was not profiled"
                                                        : "");
}

/* ---- launches ---- */

struct launches {
    int64_t first_ns, last_ns; /* starts of the first and last launch that has work */
    uint64_t all, captured, before, between, after;
};

/* Calls fn for each launch in the order of (thread, start); captured: it was recorded into a graph,
 * so nothing ran (between BeginCapture and EndCapture on its thread). */
static void each_launch(const osc_check_run *run, struct launches *l,
                        void (*fn)(const osc_check_run *run, struct launches *l, uint32_t slice,
                                   bool captured))
{
    uint32_t count, thread = OSC_NO_ROW;
    bool capturing = false;
    const uint32_t *order = osc_calls_order(run->calls, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slice = order[i];
        if (run->s->kind[slice] != OSC_KIND_RUNTIME)
            continue;
        if (osc_calls_thread(run->calls, slice) != thread)
            capturing = false;
        thread = osc_calls_thread(run->calls, slice);
        osc_str name = osc_store_text(run->store, run->s->name[slice]);
        if (osc_str_find(name, OSC_STR("BeginCapture")) != SIZE_MAX)
            capturing = true;
        else if (osc_str_find(name, OSC_STR("EndCapture")) != SIZE_MAX)
            capturing = false;
        if (run->s->correlation[slice] != 0 && osc_check_is_launch(run, slice))
            fn(run, l, slice, capturing);
    }
}

static bool has_work(const osc_check_run *run, uint32_t launch)
{
    return osc_map_get(&run->worked, (uint64_t)run->s->correlation[launch], NULL);
}

static void find_ends(const osc_check_run *run, struct launches *l, uint32_t slice, bool captured)
{
    int64_t start = run->s->start_ns[slice];
    l->all++;
    l->captured += captured && !has_work(run, slice);
    if (!has_work(run, slice))
        return;
    l->first_ns = start < l->first_ns ? start : l->first_ns;
    l->last_ns = start > l->last_ns ? start : l->last_ns;
}

static void find_missing(const osc_check_run *run, struct launches *l, uint32_t slice,
                         bool captured)
{
    int64_t start = run->s->start_ns[slice];
    if (captured || has_work(run, slice))
        return;
    l->before += start < l->first_ns;
    l->after += start > l->last_ns;
    l->between += start >= l->first_ns && start <= l->last_ns;
}

void osc_check_launches(osc_check_run *run)
{
    struct launches l = {.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    char n[OSC_NUM_TEXT], all[OSC_NUM_TEXT];
    if (run->kinds[OSC_KIND_RUNTIME] == 0 || run->work_count == 0) {
        osc_check_fine(run, "no launches and device events to compare");
        return;
    }
    each_launch(run, &l, find_ends);
    each_launch(run, &l, find_missing);
    (void)osc_format_count((int64_t)l.all, all);
    if (l.before > 0)
        osc_check_found(
            run, OSC_SEV_ERROR, l.before,
            "kernels stamped before the window are dropped: use a schedule with warm-up "
            "steps and leave the first step out",
            "the first %s of %s launches have no kernel", osc_format_count((int64_t)l.before, n),
            all);
    if (l.after > 0)
        osc_check_found(
            run, OSC_SEV_ERROR, l.after,
            "the profiler stopped before the device was done: synchronize before the last "
            "step()",
            "the last %s of %s launches have no kernel", osc_format_count((int64_t)l.after, n),
            all);
    if (l.between > 0)
        osc_check_found(run, OSC_SEV_ERROR, l.between,
                        "kernels are missing inside the window: the driver lost them",
                        "%s of %s launches have no kernel", osc_format_count((int64_t)l.between, n),
                        all);
    osc_check_fine(run, l.all > 0 ? "each of %s launches has device work" : "no launch of a kernel",
                   all);
    if (l.captured > 0)
        osc_check_fine(run, "but %s recorded into a graph",
                       osc_format_count((int64_t)l.captured, n));
}

void osc_check_kernels(osc_check_run *run)
{
    char n[OSC_NUM_TEXT], all[OSC_NUM_TEXT];
    (void)osc_format_count(run->work_count, all);
    if (run->kinds[OSC_KIND_RUNTIME] == 0 || run->work_count == 0)
        osc_check_fine(run, "no launches and device events to compare");
    else if (run->work_unlaunched > 0)
        osc_check_found(
            run, OSC_SEV_WARN, run->work_unlaunched,
            "they were launched before the window and still ran: they are in the rows of "
            "kernels but belong to no operator; synchronize before the profiler starts",
            "%s of %s device events (%.0f %%) have no launch in the file",
            osc_format_count((int64_t)run->work_unlaunched, n), all,
            100.0 * (double)run->work_unlaunched / (double)run->work_count);
    else
        osc_check_fine(run, "each of %s has a launch or an operator", all);
}

/* ---- links ---- */

void osc_check_linked(osc_check_run *run)
{
    uint64_t by[8] = {0}, linked = 0;
    char all[OSC_NUM_TEXT], number[OSC_NUM_TEXT], many[OSC_CHECK_MANY_TEXT];
    for (uint32_t i = 0; i < run->work_count; i++) {
        if (osc_calls_op(run->calls, run->work[i]) == OSC_NO_ROW)
            continue;
        linked++;
        by[osc_calls_rule(run->calls, run->work[i]) & 7u]++;
    }
    (void)osc_format_count(run->work_count, all);
    if (run->work_count == 0 && run->kinds[OSC_KIND_HW] > 0 && run->kinds[OSC_KIND_CPU_OP] > 0) {
        osc_check_found(run, OSC_SEV_WARN, run->kinds[OSC_KIND_HW],
                        "correlation was off, so device columns are empty: set "
                        "correlate_device_time=True; `opscope follow` shows the executions",
                        "%s on the cores, none in trace.json",
                        osc_check_many(run->kinds[OSC_KIND_HW], "execution", "executions", many));
    } else if (run->work_count == 0 || run->kinds[OSC_KIND_CPU_OP] == 0) {
        osc_check_fine(run, "no operators and device work to link");
    } else if (linked == 0) {
        osc_check_found(run, OSC_SEV_ERROR, run->work_count,
                        "correlation was off when the trace was made, or the ids were cut out: no "
                        "operator has device time",
                        "none of %s device events belongs to an operator", all);
    } else {
        if (run->work_count - linked > run->work_count / 2)
            osc_check_found(run, OSC_SEV_WARN, run->work_count - linked,
                            "device times of operators are too small; rows of kernels are right",
                            "only %s of %s device events belong to an operator",
                            osc_format_count((int64_t)linked, number), all);
        osc_check_fine(run, "%s of %s device events", osc_format_count((int64_t)linked, number),
                       all);
        for (unsigned rule = 1; rule < 8; rule++) {
            if (by[rule] > 0)
                osc_check_fine(run, "%s by %s", osc_format_count((int64_t)by[rule], number),
                               osc_link_rule_name((osc_link_rule)rule));
        }
    }
}

void osc_check_order(osc_check_run *run)
{
    uint64_t early = 0, compared = 0;
    int64_t most = 0;
    uint32_t worst = OSC_NO_ROW;
    char number[OSC_NUM_TEXT], all[OSC_NUM_TEXT], ahead[OSC_SAY_TEXT], name[OSC_CHECK_NAME_TEXT];
    for (uint32_t i = 0; i < run->work_count; i++) {
        uint32_t slice = run->work[i], launch = osc_calls_launch(run->calls, slice);
        if (launch == OSC_NO_ROW || osc_extent_stampless(&run->extent, run->s, slice))
            continue;
        compared++;
        int64_t by = run->s->start_ns[launch] - run->s->start_ns[slice];
        if (by <= 0)
            continue;
        early++;
        worst = by > most ? slice : worst;
        most = by > most ? by : most;
    }
    (void)osc_format_count((int64_t)compared, all);
    if (early > 0)
        osc_check_found(run, OSC_SEV_ERROR, early,
                        "the clocks of host and device disagree by at least that much: gaps and "
                        "launch delays are wrong, sums are not",
                        "%s of %s start before their launch, %s by %s",
                        osc_format_count((int64_t)early, number), all,
                        osc_check_name(run, worst, name), osc_say_ns(most, ahead));
    osc_check_fine(run, compared > 0 ? "each of %s" : "no launches and device events to compare",
                   all);
}
