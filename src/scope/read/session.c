/*
 * session.c - a session directory becomes one store.
 *
 * Each artifact has its reader in artifact/; here their records become rows, and the rows are
 * joined by the ids they share: External id between operator and runtime call, nrt_sequence_id
 * between runtime call and execution, (core, execution number) between the system trace and the
 * device trace (neuron-explorer.md 1.6). Every artifact may be missing or damaged; what is there is
 * shown.
 */
#include "scope/read/session_internal.h"

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/read/args.h"
#include "scope/read/kineto.h"

#include <assert.h>
#include <stdio.h>

#define MAX_ARTIFACT ((size_t)1 << (sizeof(size_t) > 4 ? 36 : 30))

bool osc_session_bytes(osc_session_reader *r, const osc_session_file *file, char **data,
                       size_t *len)
{
    osc_err err = {0};
    osc_status status = osc_read_file(file->path, MAX_ARTIFACT, data, len, &err);
    if (status == OSC_OK)
        return true;
    osc_findings_add(&r->findings, "unreadable", OSC_SEV_ERROR, status, file->name, OSC_NO_OFFSET,
                     "%s", err.message);
    osc_session_note_file(r, file, "unreadable", 0);
    return false;
}

void osc_session_note_file(osc_session_reader *r, const osc_session_file *file, const char *state,
                           uint64_t events)
{
    osc_file_row row = {
        .name = osc_store_intern(r->store, osc_str_from_cstr(file->name)),
        .role = osc_store_intern(r->store, osc_str_from_cstr(osc_artifact_kind_name(file->kind))),
        .state = osc_store_intern(r->store, osc_str_from_cstr(state)),
        .bytes = file->size,
        .events = events};
    osc_store_add_file(r->store, &row);
}

bool osc_session_note_failure(osc_session_reader *r, const osc_session_file *file,
                              osc_status status, const osc_err *why)
{
    assert(status != OSC_OK);
    if (status == OSC_ENOMEM)
        return false;
    osc_findings_add(&r->findings, status == OSC_EFOREIGN ? "foreign-file" : "unreadable",
                     OSC_SEV_ERROR, status, file->name, why->offset, "%s", why->message);
    osc_session_note_file(r, file,
                          status == OSC_EFORMAT    ? "damaged"
                          : status == OSC_EVERSION ? "newer version"
                                                   : osc_status_name(status),
                          0);
    return true;
}

uint32_t osc_session_program(osc_session_reader *r, uint64_t hash, osc_str name, osc_str cache_key)
{
    uint64_t known;
    if (hash == 0)
        return OSC_NO_ROW;
    if (osc_map_get(&r->programs, hash, &known))
        return (uint32_t)known;
    osc_program_row row = {.hash = hash,
                           .name = osc_store_intern(r->store, name),
                           .cache_key = osc_store_intern(r->store, cache_key)};
    uint32_t program = osc_store_add_program(r->store, &row);
    if (program == OSC_NO_ROW || osc_map_put(&r->programs, hash, program) != OSC_OK) {
        r->failed = true;
        return OSC_NO_ROW;
    }
    return program;
}

static uint64_t exec_key(uint32_t core, uint64_t exec_id)
{
    return ((uint64_t)core << 48) ^ exec_id;
}

uint32_t osc_session_exec(osc_session_reader *r, uint32_t core, uint64_t exec_id, bool *found)
{
    uint64_t row = OSC_NO_ROW;
    *found = osc_map_get(&r->execs, exec_key(core, exec_id), &row);
    return (uint32_t)row;
}

uint32_t osc_session_track(osc_session_reader *r, int64_t core, osc_lane_kind kind)
{
    char tid[OSC_NUM_TEXT];
    snprintf(tid, sizeof tid, "%lld", (long long)core);
    return osc_tracks_get(r->tracks, osc_str_from_cstr(r->pid), osc_str_from_cstr(tid), kind);
}

uint32_t osc_session_add_exec(osc_session_reader *r, osc_exec_row *row, int64_t correlation,
                              const osc_launch_part *parts, uint32_t part_count)
{
    osc_slice_row slice = {.start_ns = row->start_ns,
                           .dur_ns = row->dur_ns,
                           .external_id = correlation,
                           .name = osc_store_intern(r->store, OSC_STR("nc_exec_running")),
                           .track = osc_session_track(r, row->core, OSC_LANE_CORE),
                           .order = UINT32_MAX,
                           .kind = OSC_KIND_HW};
    row->slice = osc_store_add_slice(r->store, &slice);
    uint32_t exec = osc_store_add_exec(r->store, row);
    for (uint32_t i = 0; i < part_count && exec != OSC_NO_ROW; i++) {
        int64_t start = 0, dur = parts[i].ns;
        osc_store_clamp(r->store, &start, &dur);
        osc_part_row part = {.exec = exec,
                             .name = osc_store_intern(r->store, parts[i].name),
                             .dur_ns = dur,
                             .fitted = parts[i].fitted};
        osc_store_add_part(r->store, &part);
    }
    osc_launch_row launch = {.sequence_id = row->sequence_id,
                             .exec_id = row->exec_id,
                             .device = row->core,
                             .slice = row->slice};
    osc_store_add_launch(r->store, &launch);
    if (exec != OSC_NO_ROW &&
        osc_map_put(&r->execs, exec_key(row->core, (uint64_t)row->exec_id), exec) != OSC_OK)
        r->failed = true;
    return exec;
}

/* ---- JSON facts ---- */

osc_str osc_session_json_text(osc_session_reader *r, osc_str json, const char *path)
{
    osc_json j;
    osc_json_token key;
    osc_str rest = osc_str_from_cstr(path), want;
    osc_json_init(&j, json.ptr ? json.ptr : "", json.len);
    while (osc_str_split(&rest, '/', &want)) {
        char name[64];
        bool found = false;
        if (osc_json_next(&j).type != OSC_JSON_OBJ_BEGIN)
            return (osc_str){0};
        osc_str_to_array(want, name, sizeof name);
        while (!found && osc_json_next_member(&j, &key)) {
            found = osc_json_is(&key, name);
            if (!found && !osc_json_skip_value(&j, NULL))
                return (osc_str){0};
        }
        if (!found)
            return (osc_str){0};
    }
    osc_json_token value = osc_json_next(&j);
    if (value.type != OSC_JSON_STRING)
        return (osc_str){0};
    osc_buf text;
    osc_buf_init(&text, 1u << 16);
    osc_str copy = {0};
    if (osc_json_unescape(value.text, &text, NULL))
        copy = osc_arena_copy(r->arena, osc_buf_view(&text));
    osc_buf_free(&text);
    return copy;
}

/* ---- trace.json ---- */

static osc_status read_framework(osc_session_reader *r, osc_err *err)
{
    const osc_session_file *file = osc_session_find(r->session, OSC_ART_TRACE_JSON);
    osc_source *source = NULL;
    if (!file) {
        osc_store_note(
            r->store, OSC_SEV_NOTE, "no_framework", 1, OSC_NO_OFFSET,
            "there is no trace.json: no operators, only what the runtime and the device saw");
        return OSC_OK;
    }
    osc_err mine = {0};
    osc_source_options how = {.max_bytes = MAX_ARTIFACT, .no_thread = r->options->threads == 1};
    osc_status status = osc_source_open(file->path, &how, &source, &mine);
    if (status == OSC_OK) {
        osc_kineto_context context = {.input = file->name,
                                      .instance =
                                          osc_str_from_cstr(osc_session_instance(r->session)),
                                      .pid = osc_str_from_cstr(r->pid),
                                      .options = r->options};
        uint64_t before = osc_store_finding(r->store)->count;
        status = osc_kineto_read_source(r->store, source, &context, &mine);
        osc_args_note_input(r->store, file->path);
        bool hurt = osc_store_finding(r->store)->count > before;
        uint64_t events = 0;
        (void)osc_parse_u64(osc_store_get_meta(r->store, "event_count"), &events);
        osc_session_note_file(r, file,
                              status != OSC_OK ? "unreadable"
                              : hurt           ? "with findings"
                                               : "complete",
                              events);
    }
    osc_source_close(source);
    if (status == OSC_ENOMEM) {
        *err = mine;
        return status;
    }
    if (status != OSC_OK)
        osc_findings_add(&r->findings, "unreadable", OSC_SEV_ERROR, status, file->name, mine.offset,
                         "%s", mine.message);
    return OSC_OK;
}

/* ---- the whole ---- */

static void set_identity(osc_session_reader *r)
{
    uint64_t pid = osc_session_pid(r->session);
    if (pid != 0)
        snprintf(r->pid, sizeof r->pid, "%llu", (unsigned long long)pid);
    osc_store_set_meta(r->store, "source", OSC_STR("session"));
    osc_store_set_meta(r->store, "session_dir", osc_str_from_cstr(osc_session_dir(r->session)));
    osc_store_set_meta(r->store, "instance", osc_str_from_cstr(osc_session_instance(r->session)));
    osc_store_set_meta(r->store, "pid", osc_str_from_cstr(r->pid));
    osc_store_set_meta(r->store, "stamp", osc_str_from_cstr(osc_session_stamp(r->session)));
}

static void note_pairs(osc_session_reader *r)
{
    char text[OSC_NUM_TEXT];
    uint32_t count, matched = 0;
    const osc_session_pair *pairs = osc_session_pairs(r->session, &count);
    for (uint32_t i = 0; i < count; i++)
        matched += pairs[i].matched;
    snprintf(text, sizeof text, "%u", count);
    osc_store_set_meta(r->store, "pairs", osc_str_from_cstr(text));
    snprintf(text, sizeof text, "%u", matched);
    osc_store_set_meta(r->store, "pairs_matched", osc_str_from_cstr(text));
}

static void copy_findings(osc_session_reader *r)
{
    for (size_t i = 0; i < r->findings.count; i++) {
        const osc_finding *f = &r->findings.items[i];
        osc_store_set_input(r->store, osc_str_from_cstr(f->input));
        osc_store_note(r->store, f->severity, f->name, f->count, f->offset, f->text);
    }
}

static osc_status read_all(osc_session_reader *r, osc_err *err)
{
    set_identity(r);
    osc_status status = osc_session_read_facts(r, err);
    if (status == OSC_OK)
        status = read_framework(r, err);
    if (status != OSC_OK)
        return status;
    r->tracks = osc_tracks_new(r->store);
    if (!r->tracks)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    status = osc_session_read_systrace(r, err);
    if (status == OSC_OK && r->options->device)
        status = osc_session_read_device(r, err);
    if (status == OSC_OK)
        status = osc_tracks_finish(r->tracks, osc_str_from_cstr(osc_session_instance(r->session)),
                                   osc_str_from_cstr(r->pid), true, err);
    if (status == OSC_OK && (r->failed || osc_store_failed(r->store)))
        status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the session");
    if (status == OSC_OK)
        status = osc_session_link(r, err);
    note_pairs(r);
    copy_findings(r);
    return status;
}

osc_status osc_session_read(osc_store *store, const char *path, const osc_open_options *options,
                            osc_err *err)
{
    osc_session_reader r = {.store = store, .options = options};
    r.arena = osc_arena_new(SIZE_MAX);
    osc_status status = r.arena ? osc_session_open(path, &r.findings, &r.session, err)
                                : osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "out of memory");
    if (status == OSC_OK)
        status = read_all(&r, err);
    osc_tracks_free(r.tracks);
    osc_map_free(&r.programs);
    osc_map_free(&r.execs);
    osc_map_free(&r.tracking);
    osc_findings_free(&r.findings);
    osc_session_free(r.session);
    osc_arena_free(r.arena);
    return status;
}
