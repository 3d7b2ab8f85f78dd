/*
 * trace_info.c - see trace_info.h. Field numbers: message TraceInfo of docs/formats/systrace.proto.
 *
 * The same framed records as the other .pb files, so that one checksum rule and one reader's habits
 * serve all four. Arrays are counted in a first walk, then filled: exactly the memory they need.
 */
#include "artifact/trace_info.h"

#include "artifact/pbfile.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/pb.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Top level of TraceInfo. */
enum { REC_CAPTURE = 2, REC_CORE = 3, REC_PROGRAM = 4, REC_SETTING = 5 };

/* Capture */
enum {
    CAP_INSTANCE_ID = 1,
    CAP_INSTANCE_TYPE = 2,
    CAP_PID = 3,
    CAP_SIMULATED = 4,
    CAP_PRODUCER = 5,
    CAP_FRAMEWORK = 6,
    CAP_START = 7,
    CAP_END = 8
};

/* Core, Program, Setting, and End of this message */
enum { CORE_NC = 1, CORE_KEPT = 2, CORE_DROPPED = 3, CORE_ORIGIN = 4, CORE_DRIFT = 5 };
enum { PROG_HASH = 1, PROG_UUID = 2, PROG_NAME = 3, PROG_KEY = 4, PROG_MODEL = 5, PROG_FLOPS = 6 };
enum { SET_NAME = 1, SET_VALUE = 2 };
enum { END_RECORDS = 1 };

/* Settings and programs are few; this is far above both. */
#define FILE_MAX ((size_t)256 << 20)

/* ---- writing ---- */

static void write_capture(osc_buf *b, const osc_trace_info *info)
{
    struct pbfile_mark m = pbfile_begin(b, REC_CAPTURE);
    pbfile_put_str(b, CAP_INSTANCE_ID, info->instance_id);
    pbfile_put_str(b, CAP_INSTANCE_TYPE, info->instance_type);
    pbfile_put_u64(b, CAP_PID, info->pid);
    if (info->simulated)
        osc_pb_bool(b, CAP_SIMULATED, true);
    pbfile_put_str(b, CAP_PRODUCER, info->producer);
    pbfile_put_str(b, CAP_FRAMEWORK, info->framework);
    pbfile_put_fixed64(b, CAP_START, (uint64_t)info->window_start_ns);
    pbfile_put_fixed64(b, CAP_END, (uint64_t)info->window_end_ns);
    pbfile_end(b, m);
}

static void write_core(osc_buf *b, const osc_trace_core *core)
{
    struct pbfile_mark m = pbfile_begin(b, REC_CORE);
    pbfile_put_u64(b, CORE_NC, core->nc_idx);
    pbfile_put_u64(b, CORE_KEPT, core->events_kept);
    pbfile_put_u64(b, CORE_DROPPED, core->events_dropped);
    pbfile_put_fixed64(b, CORE_ORIGIN, (uint64_t)core->clock_origin_ns);
    if (core->clock_drift_ppb != 0)
        osc_pb_s64(b, CORE_DRIFT, core->clock_drift_ppb);
    pbfile_end(b, m);
}

static void write_program(osc_buf *b, const osc_trace_program *p)
{
    struct pbfile_mark m = pbfile_begin(b, REC_PROGRAM);
    pbfile_put_fixed64(b, PROG_HASH, p->hash);
    osc_pb_bytes(b, PROG_UUID, p->uuid, sizeof p->uuid);
    pbfile_put_str(b, PROG_NAME, p->name);
    pbfile_put_str(b, PROG_KEY, p->cache_key);
    pbfile_put_u64(b, PROG_MODEL, p->model_id);
    pbfile_put_u64(b, PROG_FLOPS, p->flops);
    pbfile_end(b, m);
}

static void write_setting(osc_buf *b, const osc_trace_setting *s)
{
    struct pbfile_mark m = pbfile_begin(b, REC_SETTING);
    pbfile_put_str(b, SET_NAME, s->name);
    pbfile_put_str(b, SET_VALUE, s->value);
    pbfile_end(b, m);
}

static void write_records(osc_buf *b, const osc_trace_info *info)
{
    pbfile_header(b, OSC_SYSTRACE_INFO);
    write_capture(b, info);
    for (size_t i = 0; i < info->core_count; i++)
        write_core(b, &info->cores[i]);
    for (size_t i = 0; i < info->program_count; i++)
        write_program(b, &info->programs[i]);
    for (size_t i = 0; i < info->setting_count; i++)
        write_setting(b, &info->settings[i]);
    struct pbfile_mark m = pbfile_begin(b, PBFILE_END);
    pbfile_put_u64(b, END_RECORDS,
                   1 + info->core_count + info->program_count + info->setting_count);
    pbfile_end(b, m);
}

osc_status osc_trace_info_write(const char *path, const osc_trace_info *info, osc_err *err)
{
    osc_buf b;
    osc_buf_init(&b, FILE_MAX);
    write_records(&b, info);
    osc_status st = osc_buf_status(&b, path, err);
    if (st == OSC_OK)
        st = osc_write_file_atomic(path, b.data, b.len, err);
    osc_buf_free(&b);
    return st;
}

/* ---- reading ---- */

/* The arrays being filled; counts are their room on the second walk. */
struct lists {
    osc_trace_core *cores;
    osc_trace_program *programs;
    osc_trace_setting *settings;
    size_t core_count, program_count, setting_count;
};

static void read_capture(osc_cursor body, osc_trace_info *out)
{
    osc_pb_field f;
    while (osc_pb_next(&body, &f)) {
        switch (f.number) {
        case CAP_INSTANCE_ID: out->instance_id = osc_pb_get_str(&f); break;
        case CAP_INSTANCE_TYPE: out->instance_type = osc_pb_get_str(&f); break;
        case CAP_PID: out->pid = osc_pb_get_u64(&f); break;
        case CAP_SIMULATED: out->simulated = osc_pb_get_u64(&f) != 0; break;
        case CAP_PRODUCER: out->producer = osc_pb_get_str(&f); break;
        case CAP_FRAMEWORK: out->framework = osc_pb_get_str(&f); break;
        case CAP_START: out->window_start_ns = osc_pb_get_i64(&f); break;
        case CAP_END: out->window_end_ns = osc_pb_get_i64(&f); break;
        default: /* a newer minor's field */ break;
        }
    }
}

static void read_core(osc_cursor body, osc_trace_core *out)
{
    osc_pb_field f;
    while (osc_pb_next(&body, &f)) {
        if (f.number == CORE_NC)
            out->nc_idx = (uint32_t)(osc_pb_get_u64(&f) & UINT32_MAX);
        else if (f.number == CORE_KEPT)
            out->events_kept = osc_pb_get_u64(&f);
        else if (f.number == CORE_DROPPED)
            out->events_dropped = osc_pb_get_u64(&f);
        else if (f.number == CORE_ORIGIN)
            out->clock_origin_ns = osc_pb_get_i64(&f);
        else if (f.number == CORE_DRIFT)
            out->clock_drift_ppb = osc_pb_get_s64(&f);
    }
}

static void read_program(osc_cursor body, osc_trace_program *out)
{
    osc_pb_field f;
    while (osc_pb_next(&body, &f)) {
        osc_str bytes = osc_pb_get_str(&f);
        if (f.number == PROG_HASH)
            out->hash = osc_pb_get_u64(&f);
        else if (f.number == PROG_UUID && bytes.len == sizeof out->uuid)
            memcpy(out->uuid, bytes.ptr, sizeof out->uuid);
        else if (f.number == PROG_NAME)
            out->name = bytes;
        else if (f.number == PROG_KEY)
            out->cache_key = bytes;
        else if (f.number == PROG_MODEL)
            out->model_id = osc_pb_get_u64(&f);
        else if (f.number == PROG_FLOPS)
            out->flops = osc_pb_get_u64(&f);
    }
}

static void read_setting(osc_cursor body, osc_trace_setting *out)
{
    osc_pb_field f;
    while (osc_pb_next(&body, &f)) {
        if (f.number == SET_NAME)
            out->name = osc_pb_get_str(&f);
        else if (f.number == SET_VALUE)
            out->value = osc_pb_get_str(&f);
    }
}

static uint64_t read_end(osc_cursor body)
{
    osc_pb_field f;
    uint64_t records = 0;
    while (osc_pb_next(&body, &f))
        records = f.number == END_RECORDS ? osc_pb_get_u64(&f) : records;
    return records;
}

/* First walk: how many of each. No findings are made; the second walk makes them. */
static struct lists count_records(struct pbfile f)
{
    struct lists n = {0};
    uint32_t field;
    osc_cursor body;
    uint64_t offset;
    f.findings = NULL;
    while (pbfile_next(&f, &field, &body, &offset) == PBFILE_RECORD) {
        n.core_count += field == REC_CORE;
        n.program_count += field == REC_PROGRAM;
        n.setting_count += field == REC_SETTING;
    }
    return n;
}

static bool allocate(osc_arena *arena, struct lists *n)
{
    n->cores = OSC_ARENA_ARRAY(arena, osc_trace_core, n->core_count);
    n->programs = OSC_ARENA_ARRAY(arena, osc_trace_program, n->program_count);
    n->settings = OSC_ARENA_ARRAY(arena, osc_trace_setting, n->setting_count);
    return n->cores && n->programs && n->settings;
}

struct walk {
    uint64_t records;  /* read, End not counted */
    uint64_t expected; /* by End */
    bool has_end;
};

/* Second walk: fills the lists and the capture's own fields. */
static void read_records(struct pbfile *f, struct lists *n, osc_trace_info *out)
{
    struct walk w = {0};
    uint32_t field;
    osc_cursor body;
    uint64_t offset;
    pbfile_step step;
    while ((step = pbfile_next(f, &field, &body, &offset)) == PBFILE_RECORD) {
        w.records++;
        if (field == REC_CAPTURE) {
            read_capture(body, out);
        } else if (field == REC_CORE) {
            read_core(body, &n->cores[out->core_count++]);
        } else if (field == REC_PROGRAM) {
            read_program(body, &n->programs[out->program_count++]);
        } else if (field == REC_SETTING) {
            read_setting(body, &n->settings[out->setting_count++]);
        } else if (field == PBFILE_END) {
            w.records--;
            w.has_end = true;
            w.expected = read_end(body);
        }
    }
    if (step == PBFILE_CUT || !w.has_end)
        osc_findings_add(f->findings, "truncated", OSC_SEV_ERROR, OSC_ETRUNCATED, f->input, offset,
                         "the file ends early at byte %" PRIu64 "; %" PRIu64 " records are kept",
                         offset, w.records);
    else if (w.expected != w.records)
        osc_findings_add(f->findings, "missing-records", OSC_SEV_ERROR, OSC_EFORMAT, f->input,
                         OSC_NO_OFFSET,
                         "the end record counts %" PRIu64 " records; %" PRIu64 " could be read",
                         w.expected, w.records);
}

osc_status osc_trace_info_read(const void *data, size_t len, const char *input, osc_arena *arena,
                               osc_findings *findings, osc_trace_info *out, osc_err *err)
{
    struct pbfile f;
    *out = (osc_trace_info){0};
    osc_status st = pbfile_open(&f, data, len, input, findings, err);
    if (st != OSC_OK)
        return st;
    if (f.kind != OSC_SYSTRACE_INFO)
        return osc_fail(err, OSC_EFORMAT, input, 0, "this is a %s file, not trace_info",
                        osc_systrace_magic(f.kind));
    struct lists n = count_records(f);
    if (!allocate(arena, &n))
        return osc_fail(err, OSC_ENOMEM, input, OSC_NO_OFFSET,
                        "no memory to read the capture's facts");
    out->major = f.major;
    out->minor = f.minor;
    out->cores = n.cores;
    out->programs = n.programs;
    out->settings = n.settings;
    read_records(&f, &n, out);
    assert(out->core_count == n.core_count && out->program_count == n.program_count);
    return OSC_OK;
}
