/*
 * describe.c - what a single artifact says of itself.
 *
 * Only headers and counts: the records are shown by the commands that take the file.
 */
#include "scope/read/describe.h"

#include "artifact/manifest.h"
#include "artifact/neff.h"
#include "artifact/ntff.h"
#include "artifact/session.h"
#include "artifact/systrace.h"
#include "artifact/trace_info.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/read/open.h"

#include <stdio.h>

#define MAX_BYTES ((size_t)1 << 30)

struct described {
    osc_store *store;
    const char *path;
    char *data;
    size_t len;
    osc_findings findings;
    osc_arena *arena;
};

static void fact(struct described *d, const char *key, osc_str value)
{
    if (value.len > 0)
        osc_store_set_meta(d->store, key, value);
}

static void fact_count(struct described *d, const char *key, uint64_t value)
{
    char text[OSC_NUM_TEXT];
    fact(d, key, osc_str_from_cstr(osc_format_count((int64_t)value, text)));
}

/* Numbers that name something are written without separators. */
static void fact_id(struct described *d, const char *key, uint64_t value)
{
    char text[OSC_NUM_TEXT];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    fact(d, key, osc_str_from_cstr(text));
}

static void fact_time(struct described *d, const char *key, int64_t ns)
{
    char text[OSC_TIME_TEXT];
    if (ns != 0)
        fact(d, key, osc_str_from_cstr(osc_format_utc_human(ns, text)));
}

static void fact_complete(struct described *d, bool complete)
{
    fact(d, "state",
         complete ? OSC_STR("complete") : OSC_STR("incomplete; what is complete can be read"));
}

static osc_status describe_neff(struct described *d, osc_err *err)
{
    osc_program *p = NULL;
    char key[32];
    osc_status status = osc_neff_read((const uint8_t *)d->data, d->len, d->path, &p, err);
    if (status != OSC_OK)
        return status;
    fact(d, "kind", OSC_STR("device program (NEFF) written by opscope"));
    fact(d, "program", osc_program_name(p));
    fact(d, "device", osc_str_from_cstr(osc_generation_name(osc_program_generation(p))));
    fact(d, "cache key", osc_program_cache_key(p));
    fact_id(d, "hash", osc_program_hash(p));
    fact_count(d, "instructions", osc_program_inst_count(p));
    for (unsigned e = 1; e < OSC_ENGINE_COUNT; e++) {
        osc_stream stream = osc_program_stream(p, (osc_engine)e);
        snprintf(key, sizeof key, "  on %s", osc_engine_name((osc_engine)e));
        if (stream.count > 0)
            fact_count(d, key, stream.count);
    }
    uint32_t tensors;
    (void)osc_program_tensors(p, &tensors);
    fact_count(d, "tensors", tensors);
    osc_program_release(p);
    return OSC_OK;
}

static osc_status describe_ntff(struct described *d, osc_err *err)
{
    osc_ntff *n = NULL;
    osc_status status = osc_ntff_read(d->data, d->len, d->path, &d->findings, &n, err);
    if (status != OSC_OK)
        return status;
    const osc_ntff_header *h = osc_ntff_get_header(n);
    size_t execs;
    (void)osc_ntff_execs(n, &execs);
    fact(d, "kind", OSC_STR("device trace (NTFF) written by opscope"));
    fact(d, "instance", osc_str_from_cstr(h->instance_id));
    fact_id(d, "pid", h->pid);
    fact_id(d, "core", h->core);
    fact_id(d, "program hash", h->neff_hash);
    fact_time(d, "captured", h->capture_start_ns);
    fact_count(d, "executions", execs);
    fact_count(d, "events", osc_ntff_event_count(n));
    fact_count(d, "events dropped", osc_ntff_dropped_events(n));
    fact(d, "time", h->simulated ? OSC_STR("simulated") : OSC_STR("measured"));
    fact_complete(d, osc_ntff_complete(n));
    osc_ntff_free(n);
    return OSC_OK;
}

static uint64_t count_records(osc_systrace_reader *r)
{
    osc_systrace_event event;
    osc_cpu_sample cpu;
    osc_mem_sample memory;
    uint64_t n = 0;
    while (osc_systrace_next_event(r, &event) || osc_systrace_next_cpu(r, &cpu) ||
           osc_systrace_next_mem(r, &memory))
        n++;
    return n;
}

static osc_status describe_systrace(struct described *d, osc_err *err)
{
    osc_systrace_reader *r = osc_calloc(1, sizeof *r);
    if (!r)
        return osc_fail(err, OSC_ENOMEM, d->path, OSC_NO_OFFSET, "out of memory");
    osc_status status = osc_systrace_open(r, d->data, d->len, d->path, &d->findings, err);
    if (status == OSC_OK) {
        fact(d, "kind", osc_str_from_cstr(osc_systrace_magic(r->kind)));
        fact_count(d, "records", count_records(r));
        fact_count(d, "dropped", r->dropped);
        fact_time(d, "window closed", r->end_ns);
        fact_complete(d, osc_systrace_complete(r));
    }
    osc_free(r);
    return status;
}

static osc_status describe_trace_info(struct described *d, osc_err *err)
{
    osc_trace_info info;
    osc_status status =
        osc_trace_info_read(d->data, d->len, d->path, d->arena, &d->findings, &info, err);
    if (status != OSC_OK)
        return status;
    fact(d, "kind", OSC_STR("capture description (trace_info) written by opscope"));
    fact(d, "instance", info.instance_id);
    fact(d, "device", info.instance_type);
    fact_id(d, "pid", info.pid);
    fact(d, "producer", info.producer);
    fact_time(d, "captured", info.window_start_ns);
    fact_count(d, "cores", info.core_count);
    fact_count(d, "programs", info.program_count);
    fact(d, "time", info.simulated ? OSC_STR("simulated") : OSC_STR("measured"));
    fact(d, "state",
         info.window_end_ns ? OSC_STR("complete")
                            : OSC_STR("window still open, or the process died"));
    return OSC_OK;
}

static osc_status describe_manifest(struct described *d, osc_err *err)
{
    osc_manifest m;
    osc_status status =
        osc_manifest_read(d->data, d->len, d->path, d->arena, &d->findings, &m, err);
    if (status != OSC_OK)
        return status;
    fact(d, "kind", OSC_STR("run manifest (run.json) written by opscope"));
    fact(d, "producer", m.producer);
    fact(d, "instance", m.instance_id);
    fact(d, "device", m.instance_type);
    fact_id(d, "pid", m.pid);
    fact_time(d, "captured", m.window_start_ns);
    fact_count(d, "artifacts", m.artifact_count);
    fact_count(d, "device parameters", m.parameter_count);
    fact(d, "state",
         m.window_end_ns ? OSC_STR("complete") : OSC_STR("window still open, or the process died"));
    return OSC_OK;
}

/* A closed file of the vendor: named, with the way to read it. */
static osc_status describe_foreign(struct described *d, osc_artifact_kind kind)
{
    osc_err how = {0};
    char text[96];
    (void)!osc_foreign_fail(d->path, kind, &how);
    snprintf(text, sizeof text, "%s file of the AWS Neuron tools; its format is closed",
             osc_artifact_kind_name(kind));
    fact(d, "kind", osc_str_from_cstr(text));
    osc_findings_add(&d->findings, "foreign-file", OSC_SEV_WARN, OSC_EFOREIGN, "", OSC_NO_OFFSET,
                     "%s", how.message);
    return OSC_OK;
}

static osc_status describe_artifact(struct described *d, const osc_sniff *sniff, osc_err *err)
{
    if (sniff->origin == OSC_ORIGIN_VENDOR)
        return describe_foreign(d, sniff->kind);
    switch (sniff->kind) {
    case OSC_ART_NEFF: return describe_neff(d, err);
    case OSC_ART_NTFF: return describe_ntff(d, err);
    case OSC_ART_NTRACE:
    case OSC_ART_CPU_UTIL:
    case OSC_ART_HOST_MEM: return describe_systrace(d, err);
    case OSC_ART_TRACE_INFO: return describe_trace_info(d, err);
    case OSC_ART_RUN_JSON: return describe_manifest(d, err);
    default:
        fact(d, "kind", OSC_STR("device profile in the export form of the AWS Neuron tools"));
        return OSC_OK;
    }
}

static osc_status finish(struct described *d, osc_err *err)
{
    fact_count(d, "bytes", d->len);
    for (size_t i = 0; i < d->findings.count; i++) {
        const osc_finding *f = &d->findings.items[i];
        osc_store_set_input(d->store, osc_str_from_cstr(f->input));
        osc_store_note(d->store, f->severity, f->name, f->count, f->offset, f->text);
    }
    return osc_store_seal(d->store, err);
}

static osc_status read_artifact(const char *path, const osc_sniff *sniff, osc_store **out,
                                osc_err *err)
{
    struct described d = {.path = path, .store = osc_store_new(), .arena = osc_arena_new(SIZE_MAX)};
    osc_status status = d.store && d.arena
                            ? osc_read_file(path, MAX_BYTES, &d.data, &d.len, err)
                            : osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "out of memory");
    if (status == OSC_OK) {
        osc_store_set_meta(d.store, "source", OSC_STR("artifact"));
        status = describe_artifact(&d, sniff, err);
    }
    if (status == OSC_OK)
        status = finish(&d, err);
    osc_free(d.data);
    osc_arena_free(d.arena);
    osc_findings_free(&d.findings);
    if (status != OSC_OK) {
        osc_store_free(d.store);
        return status;
    }
    *out = d.store;
    return OSC_OK;
}

osc_status osc_describe(const char *path, const osc_open_options *options, osc_store **out,
                        osc_err *err)
{
    osc_open_options with_device = *options;
    osc_sniff sniff;
    with_device.device = true;
    *out = NULL;
    bool file = osc_path_exists(path) && osc_path_is_file(path);
    if (!file || osc_sniff_file(path, &sniff, NULL) != OSC_OK)
        return osc_open(path, &with_device, out, err);
    bool trace = sniff.kind == OSC_ART_TRACE_JSON || sniff.kind == OSC_ART_PROFILE_JSON ||
                 (sniff.kind == OSC_ART_UNKNOWN && sniff.origin != OSC_ORIGIN_VENDOR);
    return trace ? osc_open(path, &with_device, out, err) : read_artifact(path, &sniff, out, err);
}
