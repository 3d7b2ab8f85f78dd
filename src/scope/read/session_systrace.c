/*
 * session_systrace.c - ntrace.pb: the runtime's calls, copies, and executions on cores.
 *
 * Host calls go to neuron_rt/NC:<n>, hardware events to neuron_hw/NC:<n> (neuron-explorer.md 3.1).
 * nc_exec_running becomes an execution: first the launch interval, by its parts, then the device
 * body. Sync points are not drawn: the runtime has moved hardware times onto the host's clock
 * already.
 */
#include "scope/read/session_internal.h"

#include "artifact/systrace.h"
#include "base/mem.h"

#include <assert.h>

static osc_str event_name(const osc_systrace_event *e)
{
    const char *name = osc_st_type_name(e->type);
    return name ? osc_str_from_cstr(name) : e->type_name;
}

static void add_exec(osc_session_reader *r, const osc_systrace_event *e)
{
    assert(e->end_ns >= e->start_ns && e->body_ns >= 0); /* bound_times */
    osc_exec_row row = {.sequence_id = e->sequence_id,
                        .exec_id = (int64_t)e->exec_id,
                        .start_ns = e->start_ns,
                        .dur_ns = e->end_ns - e->start_ns,
                        .body_ns = e->end_ns - e->body_ns,
                        .body_dur_ns = e->body_ns,
                        .core = e->nc_idx < 0 ? 0 : (uint32_t)e->nc_idx,
                        .program =
                            osc_session_program(r, e->neff_hash, e->model_name, (osc_str){0})};
    (void)osc_session_add_exec(r, &row, (int64_t)e->correlation, e->parts, e->part_count);
}

static void add_call(osc_session_reader *r, const osc_systrace_event *e)
{
    bool hardware = osc_st_type_is_hardware(e->type);
    osc_slice_row slice = {.start_ns = e->start_ns,
                           .dur_ns = e->end_ns - e->start_ns,
                           .external_id = (int64_t)e->correlation,
                           .name = osc_store_intern(r->store, event_name(e)),
                           .track = osc_session_track(r, e->nc_idx < 0 ? 0 : e->nc_idx,
                                                      hardware ? OSC_LANE_CORE : OSC_LANE_RUNTIME),
                           .order = UINT32_MAX,
                           .kind = OSC_KIND_NRT};
    uint32_t row = osc_store_add_slice(r->store, &slice);
    osc_launch_row launch = {.sequence_id = e->sequence_id,
                             .exec_id = (int64_t)e->exec_id,
                             .bytes = (int64_t)e->size,
                             .device = e->nc_idx,
                             .slice = row};
    if (row != OSC_NO_ROW && (launch.sequence_id || launch.exec_id || launch.bytes))
        osc_store_add_launch(r->store, &launch);
}

/* Turns a START / STOP pair into one interval: keeps the first, completes it with the second. */
static bool pair_up(osc_session_reader *r, osc_systrace_event *e)
{
    uint64_t start;
    if (e->phase == OSC_ST_START) {
        if (osc_map_put(&r->tracking, e->tracking_id, (uint64_t)e->start_ns) != OSC_OK)
            r->failed = true;
        return false;
    }
    if (e->phase != OSC_ST_STOP)
        return true;
    if (!osc_map_get(&r->tracking, e->tracking_id, &start)) {
        osc_findings_add(&r->findings, "stop-without-start", OSC_SEV_WARN, OSC_EFORMAT, "ntrace.pb",
                         OSC_NO_OFFSET, "an interval ends that did not begin in the window");
        return false;
    }
    (void)osc_map_remove(&r->tracking, e->tracking_id);
    e->start_ns = (int64_t)start < e->end_ns ? (int64_t)start : e->end_ns;
    return true;
}

/* The event's times, in the range of the store. */
static void bound_times(osc_session_reader *r, osc_systrace_event *e)
{
    int64_t dur = 0;
    if (!osc_sub_i64(e->end_ns, e->start_ns, &dur))
        dur = INT64_MAX;
    osc_store_clamp(r->store, &e->start_ns, &dur);
    e->end_ns = e->start_ns + dur;
    e->body_ns = e->body_ns < 0 ? 0 : e->body_ns > dur ? dur : e->body_ns;
}

static void take_event(osc_session_reader *r, osc_systrace_event *e)
{
    if (e->type == OSC_ST_TIMESTAMP_SYNC_POINT || !pair_up(r, e))
        return;
    bound_times(r, e);
    if (e->type == OSC_ST_NC_EXEC_RUNNING)
        add_exec(r, e);
    else
        add_call(r, e);
}

osc_status osc_session_read_systrace(osc_session_reader *r, osc_err *err)
{
    const osc_session_file *file = osc_session_find(r->session, OSC_ART_NTRACE);
    char *data = NULL;
    size_t len = 0;
    osc_err mine = {0};
    osc_systrace_event event;
    if (!file || !osc_session_bytes(r, file, &data, &len))
        return OSC_OK;
    osc_systrace_reader *reader = osc_calloc(1, sizeof *reader);
    osc_status status = reader
                            ? osc_systrace_open(reader, data, len, file->name, &r->findings, &mine)
                            : osc_fail(&mine, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    if (status == OSC_OK) {
        while (osc_systrace_next_event(reader, &event))
            take_event(r, &event);
        osc_session_note_file(r, file, osc_systrace_complete(reader) ? "complete" : "incomplete",
                              reader->records);
    } else if (osc_session_note_failure(r, file, status, &mine)) {
        status = OSC_OK;
    } else {
        *err = mine;
    }
    osc_free(reader);
    osc_free(data);
    return status;
}
