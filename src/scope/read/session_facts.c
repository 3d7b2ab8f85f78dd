/*
 * session_facts.c - run.json and trace_info.pb: who ran what, with which versions and settings.
 *
 * The facts become metadata of the store under plain keys ("torch_version", "simulated", ...);
 * analyses and `info` read those and never the files.
 */
#include "scope/read/session_internal.h"

#include "artifact/manifest.h"
#include "artifact/trace_info.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>

static void set_text(osc_session_reader *r, const char *key, osc_str value)
{
    if (value.len > 0)
        osc_store_set_meta(r->store, key, value);
}

static void set_number(osc_session_reader *r, const char *key, int64_t value)
{
    char text[OSC_NUM_TEXT];
    snprintf(text, sizeof text, "%lld", (long long)value);
    osc_store_set_meta(r->store, key, osc_str_from_cstr(text));
}

static void take_manifest(osc_session_reader *r, const osc_manifest *m)
{
    set_text(r, "producer", m->producer);
    set_text(r, "instance_type", m->instance_type);
    set_text(r, "generation", m->generation);
    osc_store_set_meta(r->store, "simulated", m->simulated ? OSC_STR("1") : OSC_STR("0"));
    for (size_t i = 0; i < m->parameter_count; i++) {
        char key[64];
        snprintf(key, sizeof key, "parameter.%.*s", OSC_STR_FMT(m->parameters[i].name));
        set_text(r, key, m->parameters[i].value);
    }
    set_number(r, "window_start_ns", m->window_start_ns);
    set_number(r, "window_end_ns", m->window_end_ns);
    set_number(r, "dropped_events", (int64_t)m->dropped_events);
    set_text(r, "torch_version", osc_session_json_text(r, m->facts, "versions/torch"));
    set_text(r, "compile_kind", osc_session_json_text(r, m->facts, "compile_path/kind"));
    set_text(r, "script", osc_session_json_text(r, m->facts, "script/path"));
    set_text(r, "cpu_fallbacks", osc_session_json_text(r, m->facts, "cpu_fallbacks/names"));
}

static osc_status read_manifest(osc_session_reader *r, osc_err *err)
{
    const osc_session_file *file = osc_session_find(r->session, OSC_ART_RUN_JSON);
    char *data = NULL;
    size_t len = 0;
    osc_manifest manifest;
    osc_err mine = {0};
    if (!file || !osc_session_bytes(r, file, &data, &len))
        return OSC_OK;
    osc_status status =
        osc_manifest_read(data, len, file->name, r->arena, &r->findings, &manifest, &mine);
    if (status == OSC_OK) {
        take_manifest(r, &manifest);
        osc_session_note_file(r, file, "complete", manifest.artifact_count);
    } else if (osc_session_note_failure(r, file, status, &mine)) {
        status = OSC_OK;
    } else {
        *err = mine;
    }
    osc_free(data);
    return status;
}

static void take_trace_info(osc_session_reader *r, const osc_trace_info *info)
{
    uint64_t dropped = 0;
    set_text(r, "instance_type", info->instance_type);
    set_text(r, "producer", info->producer);
    set_text(r, "framework", info->framework);
    osc_store_set_meta(r->store, "simulated", info->simulated ? OSC_STR("1") : OSC_STR("0"));
    set_number(r, "window_start_ns", info->window_start_ns);
    set_number(r, "window_end_ns", info->window_end_ns);
    set_number(r, "captured_cores", (int64_t)info->core_count);
    for (size_t i = 0; i < info->core_count; i++)
        dropped += info->cores[i].events_dropped;
    set_number(r, "dropped_events", (int64_t)dropped);
    for (size_t i = 0; i < info->program_count; i++)
        (void)osc_session_program(r, info->programs[i].hash, info->programs[i].name,
                                  info->programs[i].cache_key);
}

static osc_status read_trace_info(osc_session_reader *r, osc_err *err)
{
    const osc_session_file *file = osc_session_find(r->session, OSC_ART_TRACE_INFO);
    char *data = NULL;
    size_t len = 0;
    osc_trace_info info;
    osc_err mine = {0};
    if (!file || !osc_session_bytes(r, file, &data, &len))
        return OSC_OK;
    osc_status status =
        osc_trace_info_read(data, len, file->name, r->arena, &r->findings, &info, &mine);
    if (status == OSC_OK) {
        take_trace_info(r, &info);
        osc_session_note_file(r, file, info.window_end_ns == 0 ? "window still open" : "complete",
                              info.program_count);
    } else if (osc_session_note_failure(r, file, status, &mine)) {
        status = OSC_OK;
    } else {
        *err = mine;
    }
    osc_free(data);
    return status;
}

osc_status osc_session_read_facts(osc_session_reader *r, osc_err *err)
{
    osc_status status = read_manifest(r, err);
    return status == OSC_OK ? read_trace_info(r, err) : status;
}
