/*
 * systrace_read.c - the reader half of systrace.h.
 *
 * A pull reader: it holds a place in the file and hands out one record at a time, whose texts are
 * views into the input. Nothing is allocated, so no file can make it need memory.
 */
#include "artifact/systrace.h"

#include "artifact/pbfile.h"
#include "artifact/systrace_fields.h"
#include "base/mem.h"
#include "base/pb.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

osc_status osc_systrace_open(osc_systrace_reader *r, const void *data, size_t len,
                             const char *input, osc_findings *findings, osc_err *err)
{
    struct pbfile f;
    *r = (osc_systrace_reader){.input = input, .findings = findings, .ended = true};
    osc_status st = pbfile_open(&f, data, len, input, findings, err);
    if (st != OSC_OK)
        return st;
    if (f.kind == OSC_SYSTRACE_INFO)
        return osc_fail(err, OSC_EFORMAT, input, 0,
                        "this is a trace_info file, which has no events");
    r->at = f.at;
    r->kind = f.kind;
    r->major = f.major;
    r->minor = f.minor;
    r->ended = false;
    return OSC_OK;
}

/* ---- end of the file ---- */

static void read_end(osc_systrace_reader *r, osc_cursor body)
{
    osc_pb_field f;
    r->has_end = true;
    while (osc_pb_next(&body, &f)) {
        if (f.number == END_RECORDS) {
            r->expected = osc_pb_get_u64(&f);
        } else if (f.number == END_TIME) {
            r->end_ns = osc_pb_get_i64(&f);
        } else if (f.number == END_LOST) {
            r->dropped += osc_pb_get_u64(&f);
        } else if (f.number == END_CORE) {
            osc_cursor core = osc_pb_sub(&f, &body);
            osc_pb_field g;
            while (osc_pb_next(&core, &g))
                r->dropped += g.number == DROP_RECORDS ? osc_pb_get_u64(&g) : 0;
        }
    }
}

/* Says what the end record and the end of the bytes tell together. offset: first byte not read. */
static void report_end(osc_systrace_reader *r, pbfile_step step, uint64_t offset)
{
    assert(step != PBFILE_RECORD && !r->ended);
    r->ended = true;
    if (step == PBFILE_CUT) {
        r->damaged = true;
        bool malformed = r->at.malformed;
        osc_findings_add(r->findings, malformed ? "damaged-record" : "truncated", OSC_SEV_ERROR,
                         malformed ? OSC_EFORMAT : OSC_ETRUNCATED, r->input, offset,
                         "the file %s at byte %" PRIu64 "; %" PRIu64 " records before it are kept",
                         malformed ? "makes no sense from a record" : "ends inside a record",
                         offset, r->records);
    } else if (!r->has_end) {
        r->damaged = true;
        osc_findings_add(r->findings, "truncated", OSC_SEV_ERROR, OSC_ETRUNCATED, r->input, offset,
                         "there is no end record: the capture did not close; %" PRIu64
                         " records are kept",
                         r->records);
    }
    if (r->has_end && r->expected != r->records) {
        r->damaged = true;
        osc_findings_add(r->findings, "missing-records", OSC_SEV_ERROR, OSC_EFORMAT, r->input,
                         OSC_NO_OFFSET,
                         "the end record counts %" PRIu64 " records; %" PRIu64 " could be read",
                         r->expected, r->records);
    }
    if (r->dropped > 0)
        osc_findings_add(r->findings, "dropped", OSC_SEV_WARN, OSC_OK, r->input, OSC_NO_OFFSET,
                         "the capture did not keep %" PRIu64 " records (event limit or full disk)",
                         r->dropped);
}

/*
 * Body of the next record of the file's kind; false at the end, when report_end was called. *offset
 * is where the record began.
 */
static bool next_record(osc_systrace_reader *r, osc_cursor *body, uint64_t *offset)
{
    struct pbfile f = {.at = r->at, .input = r->input, .findings = r->findings, .kind = r->kind};
    uint32_t field = 0;
    pbfile_step step = PBFILE_DONE;
    while (!r->ended) {
        step = pbfile_next(&f, &field, body, offset);
        r->at = f.at;
        r->damaged |= f.damaged;
        if (step != PBFILE_RECORD) {
            report_end(r, step, *offset);
        } else if (field == PBFILE_END) {
            read_end(r, *body);
        } else if (field == REC_EVENT) {
            return true;
        } else if (field != PBFILE_HEADER) {
            osc_findings_add(r->findings, "unknown-field", OSC_SEV_NOTE, OSC_OK, r->input, *offset,
                             "records of kind %u, which this version does not know; skipped",
                             field);
        }
    }
    return false;
}

static void bad_record(osc_systrace_reader *r, uint64_t offset, const char *what)
{
    struct pbfile f = {.input = r->input, .findings = r->findings};
    pbfile_bad_record(&f, offset, what);
    r->damaged = true;
}

/* ---- events ---- */

static void read_part(osc_cursor body, osc_launch_part *part)
{
    osc_pb_field f;
    *part = (osc_launch_part){0};
    while (osc_pb_next(&body, &f)) {
        if (f.number == PART_NAME)
            part->name = osc_pb_get_str(&f);
        else if (f.number == PART_NS)
            part->ns = osc_pb_get_i64(&f);
        else if (f.number == PART_FITTED)
            part->fitted = osc_pb_get_u64(&f) != 0;
    }
}

static void add_part(osc_systrace_reader *r, const osc_pb_field *f, const osc_cursor *body,
                     uint64_t offset, osc_systrace_event *e)
{
    if (e->part_count == OSC_LAUNCH_PARTS_MAX) {
        osc_findings_add(r->findings, "too-many-parts", OSC_SEV_WARN, OSC_EUNSUPPORTED, r->input,
                         offset, "an execution has over %u launch parts; the rest is left out",
                         OSC_LAUNCH_PARTS_MAX);
        return;
    }
    read_part(osc_pb_sub(f, body), &r->parts[e->part_count++]);
}

static void read_text_field(const osc_pb_field *f, osc_systrace_event *e)
{
    osc_str text = osc_pb_get_str(f);
    switch (f->number) {
    case EV_MODEL_NAME: e->model_name = text; break;
    case EV_OP_NAME: e->op_name = text; break;
    case EV_TENSOR_NAME: e->tensor_name = text; break;
    case EV_EXTRA: e->extra_json = text; break;
    case EV_TYPE_NAME: e->type_name = text; break;
    default: /* a newer minor's field */ break;
    }
}

/* Small non-negative numbers with -1 for "none"; a number beyond the type means none too. */
static int32_t get_index(const osc_pb_field *f)
{
    uint64_t v = osc_pb_get_u64(f);
    return v <= INT32_MAX ? (int32_t)v : -1;
}

static void read_number_field(const osc_pb_field *f, osc_systrace_event *e, uint64_t *duration)
{
    uint64_t v = osc_pb_get_u64(f);
    switch (f->number) {
    case EV_ID: e->id = v; break;
    case EV_TYPE: e->type = v <= UINT32_MAX ? (uint32_t)v : OSC_ST_OTHER; break;
    case EV_PHASE: e->phase = v <= UINT32_MAX ? (uint32_t)v : UINT32_MAX; break;
    case EV_START: e->start_ns = osc_pb_get_i64(f); break;
    case EV_DURATION: *duration = v; break;
    case EV_NC: e->nc_idx = get_index(f); break;
    case EV_PCORE: e->pcore_idx = get_index(f); break;
    case EV_THREAD: e->thread_id = osc_pb_get_i64(f); break;
    case EV_STREAM: e->stream = v <= INT64_MAX ? (int64_t)v : -1; break;
    case EV_TRACKING: e->tracking_id = v; break;
    case EV_FLOW: e->flow_id = v; break;
    case EV_EXEC: e->exec_id = v; break;
    case EV_SEQUENCE: e->sequence_id = v; break;
    case EV_CORRELATION: e->correlation = v; break;
    case EV_PARENT: e->parent_id = v; break;
    case EV_NEFF_HASH: e->neff_hash = v; break;
    case EV_MODEL: e->model_id = v; break;
    case EV_TENSOR: e->tensor_id = v; break;
    case EV_SIZE: e->size = v; break;
    case EV_NC_START: e->nc_start_ns = osc_pb_get_i64(f); break;
    case EV_NC_STOP:
        e->nc_stop_ns = osc_pb_get_i64(f);
        e->has_nc_time = true;
        break;
    case EV_BODY: e->body_ns = osc_pb_get_i64(f); break;
    default: /* a newer minor's field */ break;
    }
}

static bool parts_are_lengths(const osc_systrace_event *e)
{
    for (uint32_t i = 0; i < e->part_count; i++) {
        if (e->parts[i].ns < 0)
            return false;
    }
    return true;
}

/* False when the fields make no event. */
static bool read_event(osc_systrace_reader *r, osc_cursor body, uint64_t offset,
                       osc_systrace_event *e)
{
    osc_pb_field f;
    uint64_t duration = 0;
    osc_systrace_event_init(e);
    while (osc_pb_next(&body, &f)) {
        if (f.wire != OSC_PB_BYTES)
            read_number_field(&f, e, &duration);
        else if (f.number == EV_PART)
            add_part(r, &f, &body, offset, e);
        else
            read_text_field(&f, e);
    }
    e->parts = e->part_count > 0 ? r->parts : NULL;
    if (body.failed || e->phase > OSC_ST_INSTANT || duration > INT64_MAX)
        return false;
    int64_t body_start;
    return osc_add_i64(e->start_ns, (int64_t)duration, &e->end_ns) && e->body_ns >= 0 &&
           osc_sub_i64(e->end_ns, e->body_ns, &body_start) && parts_are_lengths(e);
}

bool osc_systrace_next_event(osc_systrace_reader *r, osc_systrace_event *out)
{
    osc_cursor body;
    uint64_t offset;
    if (r->kind != OSC_SYSTRACE_NTRACE)
        return false;
    while (next_record(r, &body, &offset)) {
        if (read_event(r, body, offset, out)) {
            r->records++;
            return true;
        }
        bad_record(r, offset, "an event's fields make no sense");
    }
    return false;
}

/* ---- samples ---- */

/* A time and a length whose sum is a time again. */
static bool is_span(int64_t time_ns, int64_t duration_ns)
{
    int64_t end;
    return duration_ns >= 0 && osc_add_i64(time_ns, duration_ns, &end);
}

/* False when the bytes are no list of floats. */
static bool read_percent(osc_systrace_reader *r, osc_str packed, uint64_t offset,
                         osc_cpu_sample *out)
{
    size_t n = packed.len / sizeof(float);
    if (packed.len % sizeof(float) != 0)
        return false;
    if (n > OSC_CPUS_MAX) {
        osc_findings_add(r->findings, "too-many-cpus", OSC_SEV_WARN, OSC_EUNSUPPORTED, r->input,
                         offset, "a sample of %zu CPUs; those above %u are left out", n,
                         OSC_CPUS_MAX);
        n = OSC_CPUS_MAX;
    }
    osc_cursor c = osc_cursor_make(packed.ptr, packed.len);
    for (size_t i = 0; i < n; i++)
        r->percent[i] = osc_cursor_f32(&c);
    out->percent = r->percent;
    out->cpus = (uint32_t)n;
    return true;
}

static bool read_cpu(osc_systrace_reader *r, osc_cursor body, uint64_t offset, osc_cpu_sample *out)
{
    osc_pb_field f;
    bool good = true;
    *out = (osc_cpu_sample){0};
    while (osc_pb_next(&body, &f)) {
        if (f.number == CPU_TIME)
            out->time_ns = osc_pb_get_i64(&f);
        else if (f.number == CPU_DURATION)
            out->duration_ns = osc_pb_get_i64(&f);
        else if (f.number == CPU_PERCENT)
            good &= read_percent(r, osc_pb_get_str(&f), offset, out);
    }
    return good && !body.failed && is_span(out->time_ns, out->duration_ns);
}

bool osc_systrace_next_cpu(osc_systrace_reader *r, osc_cpu_sample *out)
{
    osc_cursor body;
    uint64_t offset;
    if (r->kind != OSC_SYSTRACE_CPU_UTIL)
        return false;
    while (next_record(r, &body, &offset)) {
        if (read_cpu(r, body, offset, out)) {
            r->records++;
            return true;
        }
        bad_record(r, offset, "a CPU sample's fields make no sense");
    }
    return false;
}

static bool read_mem(osc_cursor body, osc_mem_sample *out)
{
    osc_pb_field f;
    *out = (osc_mem_sample){0};
    while (osc_pb_next(&body, &f)) {
        if (f.number == MEM_TIME)
            out->time_ns = osc_pb_get_i64(&f);
        else if (f.number == MEM_DURATION)
            out->duration_ns = osc_pb_get_i64(&f);
        else if (f.number == MEM_TOTAL)
            out->total_bytes = osc_pb_get_u64(&f);
        else if (f.number == MEM_USED)
            out->used_bytes = osc_pb_get_u64(&f);
        else if (f.number == MEM_PROCESS)
            out->process_bytes = osc_pb_get_u64(&f);
    }
    return !body.failed && is_span(out->time_ns, out->duration_ns);
}

bool osc_systrace_next_mem(osc_systrace_reader *r, osc_mem_sample *out)
{
    osc_cursor body;
    uint64_t offset;
    if (r->kind != OSC_SYSTRACE_HOST_MEM)
        return false;
    while (next_record(r, &body, &offset)) {
        if (read_mem(body, out)) {
            r->records++;
            return true;
        }
        bad_record(r, offset, "a memory sample's fields make no sense");
    }
    return false;
}

bool osc_systrace_complete(const osc_systrace_reader *r)
{
    return r->ended && r->has_end && !r->damaged;
}
