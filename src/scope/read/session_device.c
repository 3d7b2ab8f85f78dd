/*
 * session_device.c - .neff and .ntff: what each program consists of and what each execution did.
 *
 * Device times are moved onto the host's clock by each execution's own sync point, as the runtime
 * does with its hardware events (neuron-explorer.md 2.7).
 */
#include "scope/read/session_internal.h"

#include "artifact/neff.h"
#include "artifact/ntff.h"
#include "base/mem.h"
#include "scope/read/program.h"

#include <assert.h>
#include <string.h>

#define EVENT_BATCH 512u

/* ---- programs ---- */

struct program_rows {
    uint32_t program;
    uint32_t first[OSC_ENGINE_COUNT]; /* row of each engine's first instruction */
    uint32_t count[OSC_ENGINE_COUNT];
};

/* Reads one .neff; false when there is none or it cannot be read (a finding then). */
static bool read_neff(osc_session_reader *r, const osc_session_file *file,
                      struct program_rows *rows)
{
    char *data = NULL;
    size_t len = 0;
    osc_err mine = {0};
    osc_program *program = NULL;
    if (!osc_session_bytes(r, file, &data, &len))
        return false;
    osc_status status = osc_neff_read((const uint8_t *)data, len, file->name, &program, &mine);
    osc_free(data);
    if (status != OSC_OK) {
        r->failed |= !osc_session_note_failure(r, file, status, &mine);
        return false;
    }
    rows->program = osc_session_program(r, osc_program_hash(program), osc_program_name(program),
                                        osc_program_cache_key(program));
    uint32_t at = osc_store_inst(r->store)->count;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        rows->first[e] = at;
        rows->count[e] = osc_program_stream(program, (osc_engine)e).count;
        at += rows->count[e];
    }
    osc_program_to_store(r->store, program, rows->program);
    if (osc_store_get_meta(r->store, "generation").len == 0)
        osc_store_set_meta(r->store, "generation",
                           osc_str_from_cstr(osc_generation_name(osc_program_generation(program))));
    osc_session_note_file(r, file, "complete", osc_program_inst_count(program));
    osc_program_release(program);
    return true;
}

/* ---- executions ---- */

/* One .ntff being read: executions by number, to place events. */
struct device_file {
    osc_session_reader *r;
    const osc_session_file *file;
    const struct program_rows *rows; /* NULL: no program */
    uint32_t core;
    osc_map exec_row;   /* exec number -> row */
    osc_map host_shift; /* exec number -> host less device time */
};

static bool place_exec(struct device_file *d, const osc_ntff_exec *e, uint32_t program)
{
    bool found;
    uint32_t row = osc_session_exec(d->r, d->core, e->exec, &found);
    int64_t shift = 0;
    if (!osc_sub_i64(e->sync_host_ns, e->sync_dev_ns, &shift))
        shift = 0;
    if (!found) {
        int64_t start = e->start_ns, dur = 0;
        if (!osc_sub_i64(e->end_ns, e->start_ns, &dur))
            dur = INT64_MAX;
        osc_store_clamp(d->r->store, &start, &dur);
        int64_t body = e->body_ns < 0 ? 0 : e->body_ns > dur ? dur : e->body_ns;
        osc_exec_row exec = {.sequence_id = e->sequence,
                             .exec_id = (int64_t)e->exec,
                             .start_ns = start,
                             .dur_ns = dur,
                             .body_ns = start + dur - body,
                             .body_dur_ns = body,
                             .core = d->core,
                             .program = program};
        row = osc_session_add_exec(d->r, &exec, (int64_t)e->correlation, e->parts, e->part_count);
    }
    return row != OSC_NO_ROW && osc_map_put(&d->exec_row, e->exec, row) == OSC_OK &&
           osc_map_put(&d->host_shift, e->exec, (uint64_t)shift) == OSC_OK;
}

static uint32_t inst_row(const struct device_file *d, unsigned engine, uint32_t index)
{
    if (!d->rows || engine >= OSC_ENGINE_COUNT || index >= d->rows->count[engine])
        return OSC_NO_ROW;
    return d->rows->first[engine] + index;
}

static void add_work(struct device_file *d, const osc_event *e)
{
    uint64_t row, shift;
    osc_work_row work = {.bytes = e->kind == OSC_EV_DMA ? e->a : 0,
                         .amount = e->b,
                         .wait_sem = e->wait_sem,
                         .queue = OSC_NO_ROW,
                         .engine = e->engine,
                         .ring = e->ring,
                         .wait = e->wait_kind};
    switch (e->kind) {
    case OSC_EV_INST:
        work.kind = OSC_WORK_INST;
        work.inst = inst_row(d, e->engine, e->index);
        break;
    case OSC_EV_DMA:
        work.kind = OSC_WORK_DMA;
        work.inst = inst_row(d, e->issuer, e->index);
        work.engine = e->issuer;
        break;
    case OSC_EV_PHASE:
        work.kind = e->a == 0 ? OSC_WORK_PREAMBLE : OSC_WORK_POSTAMBLE;
        work.inst = OSC_NO_ROW;
        break;
    case OSC_EV_HAZARD:
        osc_findings_add(&d->r->findings, "hazard", OSC_SEV_WARN, OSC_EHAZARD, d->file->name,
                         OSC_NO_OFFSET,
                         "the device found an ordering or bounds hazard while running the program");
        return;
    default: return;
    }
    if (!osc_map_get(&d->exec_row, e->exec, &row) ||
        !osc_map_get(&d->host_shift, e->exec, &shift)) {
        osc_findings_add(&d->r->findings, "event-without-execution", OSC_SEV_WARN, OSC_EFORMAT,
                         d->file->name, OSC_NO_OFFSET,
                         "device events name an execution that the file does not list");
        return;
    }
    assert(row < osc_store_exec(d->r->store)->count);
    work.exec = (uint32_t)row;
    if (!osc_add_i64(e->ready_ns, (int64_t)shift, &work.ready_ns) ||
        !osc_add_i64(e->start_ns, (int64_t)shift, &work.start_ns) ||
        !osc_sub_i64(e->end_ns, e->start_ns, &work.dur_ns) || work.dur_ns < 0) {
        osc_findings_add(&d->r->findings, "bad-time", OSC_SEV_WARN, OSC_EFORMAT, d->file->name,
                         OSC_NO_OFFSET, "device events with impossible times were left out");
        return;
    }
    osc_store_clamp(d->r->store, &work.ready_ns, NULL);
    osc_store_clamp(d->r->store, &work.start_ns, &work.dur_ns);
    osc_store_add_work(d->r->store, &work);
}

static osc_status take_events(struct device_file *d, const osc_ntff *ntff, osc_err *err)
{
    osc_event *batch = osc_realloc_array(NULL, EVENT_BATCH, sizeof *batch);
    uint64_t at = 0;
    if (!batch)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for device events");
    for (;;) {
        size_t n = osc_ntff_events(ntff, at, EVENT_BATCH, batch);
        for (size_t i = 0; i < n; i++)
            add_work(d, &batch[i]);
        at += n;
        if (n < EVENT_BATCH)
            break;
    }
    osc_free(batch);
    return OSC_OK;
}

static osc_status take_ntff(struct device_file *d, const osc_ntff *ntff, osc_err *err)
{
    const osc_ntff_header *header = osc_ntff_get_header(ntff);
    uint32_t program =
        d->rows ? d->rows->program
                : osc_session_program(d->r, header->neff_hash, (osc_str){0}, (osc_str){0});
    size_t count;
    const osc_ntff_exec *execs = osc_ntff_execs(ntff, &count);
    d->core = header->core;
    for (size_t i = 0; i < count; i++) {
        if (!place_exec(d, &execs[i], program))
            return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for executions");
    }
    osc_session_note_file(d->r, d->file, osc_ntff_complete(ntff) ? "complete" : "incomplete",
                          osc_ntff_event_count(ntff));
    return take_events(d, ntff, err);
}

static osc_status read_ntff(osc_session_reader *r, const osc_session_file *file,
                            const struct program_rows *rows, osc_err *err)
{
    struct device_file d = {.r = r, .file = file, .rows = rows};
    char *data = NULL;
    size_t len = 0;
    osc_ntff *ntff = NULL;
    osc_err mine = {0};
    if (!osc_session_bytes(r, file, &data, &len))
        return OSC_OK;
    osc_status status = osc_ntff_read(data, len, file->name, &r->findings, &ntff, &mine);
    if (status == OSC_OK) {
        status = take_ntff(&d, ntff, err);
    } else if (osc_session_note_failure(r, file, status, &mine)) {
        status = OSC_OK;
    } else {
        *err = mine;
    }
    osc_ntff_free(ntff);
    osc_map_free(&d.exec_row);
    osc_map_free(&d.host_shift);
    osc_free(data);
    return status;
}

osc_status osc_session_read_device(osc_session_reader *r, osc_err *err)
{
    uint32_t files, pairs;
    const osc_session_file *file = osc_session_files(r->session, &files);
    const osc_session_pair *pair = osc_session_pairs(r->session, &pairs);
    for (uint32_t i = 0; i < pairs; i++) {
        struct program_rows rows;
        bool has = pair[i].neff != OSC_NO_FILE && pair[i].neff < files &&
                   file[pair[i].neff].origin == OSC_ORIGIN_OURS &&
                   read_neff(r, &file[pair[i].neff], &rows);
        if (pair[i].ntff == OSC_NO_FILE || pair[i].ntff >= files ||
            file[pair[i].ntff].origin != OSC_ORIGIN_OURS)
            continue;
        osc_status status =
            read_ntff(r, &file[pair[i].ntff], has && pair[i].matched ? &rows : NULL, err);
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}
