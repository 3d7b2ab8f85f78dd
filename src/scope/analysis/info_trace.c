/*
 * info_trace.c - the lines of `info` about a trace file: who wrote it and when, what is in it, how
 * it hangs together.
 *
 * PyTorch's version is not in the file. What can be told is the era (kineto-trace-format.md 1.1,
 * 1.4, 1.9), and each guess names its evidence, so that a reader can disagree.
 */
#include "scope/analysis/info_internal.h"

#include "base/hash.h"
#include "base/map.h"
#include "scope/store/era.h"

#include <stdio.h>

/* ---- who wrote it ---- */

static bool has(const struct info *i, const char *key)
{
    return info_meta(i, key).len > 0;
}

/* "Kineto's C++ writer (traceName)": by top-level members that only one writer has (1.2). */
static const char *writer(const struct info *i)
{
    if (has(i, "cudaGraphInlineAnnotated"))
        return "PyTorch's Python exporter (cudaGraphInlineAnnotated)";
    if (has(i, "traceName"))
        return "Kineto's C++ writer (traceName)";
    if (has(i, "schemaVersion"))
        return "Kineto, or a program that rewrote its file (no traceName)";
    return "another program, or PyTorch without Kineto (no schemaVersion)";
}

/* True when all times are whole microseconds. */
static bool whole_microseconds(const struct info *i)
{
    const osc_slice_cols *s = osc_store_slice(i->store);
    for (uint32_t n = 0; n < s->count; n++) {
        if ((s->start_ns[n] - i->extent.zero_ns) % 1000 != 0 || s->dur_ns[n] % 1000 != 0)
            return false;
    }
    return s->count > 0;
}

static const char *era(const struct info *i)
{
    if (osc_era_python(i->store) == OSC_PYTHON_ERA_ROWS)
        return "PyTorch 2.12 or later (base time)";
    if (has(i, "base_time_ns"))
        return "PyTorch 2.4 or later (base time)";
    if (osc_calls_facts_of(i->calls)->by_correlation)
        return "PyTorch 1.11 to 2.2 (External ids repeat correlation numbers)";
    if (whole_microseconds(i))
        return "PyTorch 2.3 or older (whole microseconds)";
    if (i->extent.first_ns > INFO_DATES_SINCE_NS)
        return "builds of spring 2024 (absolute times with fractions)";
    return "";
}

static void tell_writer(struct info *i)
{
    char text[160];
    const char *when = osc_store_slice(i->store)->count > 0 ? era(i) : "";
    osc_buf_cstr(&i->text, writer(i));
    info_end_line(i, "writer", (osc_str){0}, (osc_str){0});
    osc_buf_cstr(&i->text, when);
    if (when[0])
        info_end_line(i, "era", (osc_str){0}, (osc_str){0});
    osc_str rank = info_meta(i, "rank"), world = info_meta(i, "world_size");
    osc_str backend = info_meta(i, "distributed_backend");
    if (rank.len == 0)
        return;
    snprintf(text, sizeof text, world.len > 0 ? "rank %.*s of %.*s" : "rank %.*s",
             OSC_STR_FMT(rank), OSC_STR_FMT(world));
    info_put(i, "", text);
    if (backend.len > 0) {
        snprintf(text, sizeof text, "%.*s", OSC_STR_FMT(backend));
        info_put(i, ", ", text);
    }
    info_end_line(i, "job", (osc_str){0}, (osc_str){0});
}

/* ---- what is in it ---- */

/* Lanes of devices, and the devices they belong to. False: memory is out. */
static bool count_lanes(const struct info *i, uint64_t *devices, uint64_t *streams)
{
    const osc_track_cols *t = osc_store_track(i->store);
    osc_map seen;
    bool ok = true;
    osc_map_init(&seen);
    for (uint32_t n = 0; n < t->count && ok; n++) {
        if (t->lane_kind[n] != OSC_LANE_DEVICE && t->lane_kind[n] != OSC_LANE_CORE)
            continue;
        osc_str lane = osc_store_text(i->store, t->lane[n]);
        size_t slash = osc_str_find_char(lane, '/', 0);
        (*streams)++;
        if (slash != SIZE_MAX)
            lane.len = slash; /* "device:0" of "device:0/Stream:7" */
        ok = osc_map_put(&seen, osc_hash64_str(lane, 0), n) == OSC_OK;
    }
    *devices = seen.count;
    osc_map_free(&seen);
    return ok;
}

static bool tell_device(struct info *i)
{
    osc_str name = info_meta(i, "device_properties_name");
    uint64_t devices = 0, streams = 0;
    if (!count_lanes(i, &devices, &streams))
        return false;
    if (name.len == 0 && !osc_str_eq(info_meta(i, "device_name"), OSC_STR("python")))
        name = info_meta(i, "device_name"); /* a process label, in files without properties */
    if (name.len == 0 && streams == 0)
        return true;
    osc_buf_str(&i->text, name.len > 0 ? name : OSC_STR("name not in the file"));
    if (streams > 0) {
        info_put_count(i, devices, "device with work", "devices with work");
        info_put_count(i, streams, "stream", "streams");
    } else {
        info_put(i, ", ", "no work");
    }
    info_end_line(i, "device", (osc_str){0}, (osc_str){0});
    return true;
}

static void tell_events(struct info *i)
{
    const uint64_t *k = i->kinds;
    uint64_t events = (uint64_t)info_number(i, "event_count");
    info_put_count(i, events > 0 ? events : osc_store_slice(i->store)->count, "event", "events");
    info_put_some(i, osc_store_flow(i->store)->count, "flow end", "flow ends");
    info_put_some(i, osc_store_memory(i->store)->count, "memory record", "memory records");
    info_end_line(i, "events", (osc_str){0}, (osc_str){0});
    info_put_some(i, k[OSC_KIND_CPU_OP], "operator", "operators");
    info_put_some(i, k[OSC_KIND_USER_ANNOTATION], "range", "ranges");
    info_put_some(i, k[OSC_KIND_RUNTIME], "runtime call", "runtime calls");
    info_put_some(i, k[OSC_KIND_PYTHON], "python frame", "python frames");
    info_put_some(i, k[OSC_KIND_OVERHEAD], "overhead", "overheads");
    info_put_some(i, k[OSC_KIND_OTHER], "event of another category", "events of other categories");
    if (i->text.len > 0)
        info_end_line(i, "on the host", (osc_str){0}, (osc_str){0});
    info_put_some(i, k[OSC_KIND_KERNEL], "kernel", "kernels");
    info_put_some(i, k[OSC_KIND_MEMCPY] + k[OSC_KIND_MEMSET], "copy or fill", "copies and fills");
    info_put_some(i, k[OSC_KIND_MTIA] + k[OSC_KIND_HPU], "operation", "operations");
    info_put_some(i, k[OSC_KIND_INST], "instruction", "instructions");
    info_put_some(i, k[OSC_KIND_DMA], "transfer", "transfers");
    info_put_some(i, k[OSC_KIND_SYNC], "wait or event", "waits and events");
    info_put_some(i, k[OSC_KIND_GPU_ANNOTATION], "annotation", "annotations");
    if (i->text.len > 0)
        info_end_line(i, "on the device", (osc_str){0}, (osc_str){0});
}

static bool any_shapes(const struct info *i)
{
    const osc_slice_cols *s = osc_store_slice(i->store);
    for (uint32_t n = 0; s->shapes && n < s->count; n++) {
        if (s->shapes[n] != 0)
            return true;
    }
    return false;
}

static void tell_recorded(struct info *i)
{
    char text[96];
    uint64_t slices = osc_store_slice(i->store)->count;
    if (any_shapes(i))
        info_put(i, ", ", "shapes");
    if (osc_store_memory(i->store)->count > 0)
        info_put(i, ", ", "memory");
    if (has(i, "with_modules"))
        info_put(i, ", ", "modules");
    if (has(i, "with_flops"))
        info_put(i, ", ", "FLOPs (not in the file)");
    if (i->kinds[OSC_KIND_PYTHON] > 0) {
        snprintf(text, sizeof text, "stacks (%.0f %% of the intervals are python frames)",
                 100.0 * (double)i->kinds[OSC_KIND_PYTHON] / (double)slices);
        info_put(i, ", ", text);
    }
    if (i->text.len > 0)
        info_end_line(i, "recorded", (osc_str){0}, (osc_str){0});
}

/* ---- how it hangs together ---- */

static void tell_links(struct info *i)
{
    const osc_slice_cols *s = osc_store_slice(i->store);
    uint64_t work = 0, by[8] = {0}, linked = 0;
    char number[OSC_NUM_TEXT], of[OSC_NUM_TEXT], text[96];
    for (uint32_t n = 0; n < s->count; n++) {
        if (!osc_slice_kind_is_device_work((osc_slice_kind)s->kind[n]))
            continue;
        work++;
        if (osc_calls_op(i->calls, n) == OSC_NO_ROW)
            continue;
        linked++;
        by[osc_calls_rule(i->calls, n) & 7u]++;
    }
    if (work == 0)
        return;
    osc_buf_printf(&i->text, "%s of %s device events belong to an operator",
                   osc_format_count((int64_t)linked, number), osc_format_count((int64_t)work, of));
    for (unsigned rule = 1; rule < 8; rule++) {
        if (by[rule] == 0)
            continue;
        snprintf(text, sizeof text, "%s by %s", osc_format_count((int64_t)by[rule], number),
                 osc_link_rule_name((osc_link_rule)rule));
        info_put(i, ", ", text);
    }
    info_end_line(i, "linked", (osc_str){0}, (osc_str){0});
}

/* What a device profile brings instead of lanes. */
static void tell_profile(struct info *i)
{
    info_put_some(i, osc_store_program(i->store)->count, "program", "programs");
    info_put_some(i, osc_store_exec(i->store)->count, "execution", "executions");
    info_put_some(i, osc_store_engine(i->store)->count, "engine", "engines");
    info_put_some(i, osc_store_queue(i->store)->count, "DMA queue", "DMA queues");
    info_put_some(i, osc_store_semup(i->store)->count, "semaphore update", "semaphore updates");
    info_put_some(i, osc_store_throttle(i->store)->count, "throttled interval",
                  "throttled intervals");
    if (i->text.len > 0)
        info_end_line(i, "profile", (osc_str){0}, (osc_str){0});
}

bool info_tell_trace(struct info *i)
{
    char text[160];
    osc_str host = info_meta(i, "host_name");
    osc_buf_cstr(&i->text, i->kinds[OSC_KIND_INST] > 0 ? "device profile" : "PyTorch profiler");
    if (host.len > 0) {
        snprintf(text, sizeof text, "host %.*s", OSC_STR_FMT(host));
        info_put(i, ", ", text);
    }
    info_put_when(i);
    info_put_steps(i);
    info_end_line(i, "trace", (osc_str){0}, (osc_str){0});
    if (i->kinds[OSC_KIND_INST] == 0)
        tell_writer(i);
    else
        tell_profile(i);
    bool ok = tell_device(i);
    tell_events(i);
    tell_recorded(i);
    tell_links(i);
    return ok;
}
