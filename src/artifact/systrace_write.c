/*
 * systrace_write.c - names of the system-trace files, and the writer half of systrace.h.
 *
 * Records are encoded straight into one buffer that goes to the file whole; an append that fails is
 * taken back by the appender, so the file always ends at a record border unless the process dies in
 * the system call itself. Field numbers are those of docs/formats/systrace.proto.
 *
 * Rejected: writing through a memory map. A full disk then is a SIGBUS instead of a status.
 */
#include "artifact/systrace.h"

#include "artifact/pbfile.h"
#include "artifact/systrace_fields.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/map.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)64 << 10)
/* One record on top of the flush mark must fit; the longest has four texts of framework length. */
#define BUFFER_MAX ((size_t)64 << 20)

/* ---- names ---- */

static const struct {
    const char *file, *magic;
} kinds[] = {
    [OSC_SYSTRACE_NTRACE] = {"ntrace.pb", "opscope.ntrace"},
    [OSC_SYSTRACE_CPU_UTIL] = {"cpu_util.pb", "opscope.cpu_util"},
    [OSC_SYSTRACE_HOST_MEM] = {"host_mem.pb", "opscope.host_mem"},
    [OSC_SYSTRACE_INFO] = {"trace_info.pb", "opscope.trace_info"},
};

const char *osc_systrace_file_name(osc_systrace_kind kind)
{
    assert(kind >= OSC_SYSTRACE_NTRACE && kind <= OSC_SYSTRACE_INFO);
    return kinds[kind].file;
}

const char *osc_systrace_magic(osc_systrace_kind kind)
{
    assert(kind >= OSC_SYSTRACE_NTRACE && kind <= OSC_SYSTRACE_INFO);
    return kinds[kind].magic;
}

/* Spellings of neuron-explorer.md 2.7 and torchneuron-face.md 2.6. */
static const struct {
    uint32_t type;
    bool hardware;
    const char *name;
} types[] = {
    {OSC_ST_NC_EXEC_RUNNING, true, "nc_exec_running"},
    {OSC_ST_TIMESTAMP_SYNC_POINT, true, "timestamp_sync_point"},
    {OSC_ST_NRT_MODEL_SWITCH, true, "nrt_model_switch"},
    {OSC_ST_NRTA_EXECUTE_SCHEDULE, false, "nrta_execute_schedule"},
    {OSC_ST_NRTA_TENSOR_WRITE, false, "nrta_tensor_write"},
    {OSC_ST_NRTA_TENSOR_READ, false, "nrta_tensor_read"},
    {OSC_ST_NRTA_TENSOR_COPY, false, "nrta_tensor_copy"},
    {OSC_ST_NRTA_TENSOR_FILL, false, "nrta_tensor_fill"},
    {OSC_ST_NRT_TENSOR_ALLOCATE, false, "nrt_tensor_allocate"},
    {OSC_ST_NRT_TENSOR_FREE, false, "nrt_tensor_free"},
    {OSC_ST_DMEM_BUF_COPYIN, false, "dmem_buf_copyin"},
    {OSC_ST_DMEM_BUF_COPYOUT, false, "dmem_buf_copyout"},
    {OSC_ST_DMEM_BUF_COPY, false, "dmem_buf_copy"},
    {OSC_ST_KBL_EXEC_WAIT, false, "kbl_exec_wait"},
    {OSC_ST_NRT_LOAD, false, "nrt_load"},
    {OSC_ST_NRT_PROFILE_ADD_NODE_INFO, false, "nrt_profile_add_node_info"},
};

#define TYPE_COUNT (sizeof types / sizeof *types)

const char *osc_st_type_name(uint32_t type)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (types[i].type == type)
            return types[i].name;
    }
    return NULL;
}

uint32_t osc_st_type_parse(osc_str name)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (osc_str_eq_cstr(name, types[i].name))
            return types[i].type;
    }
    return OSC_ST_OTHER;
}

bool osc_st_type_is_hardware(uint32_t type)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (types[i].type == type)
            return types[i].hardware;
    }
    return false;
}

void osc_systrace_event_init(osc_systrace_event *e)
{
    *e = (osc_systrace_event){.nc_idx = -1, .pcore_idx = -1, .stream = -1};
}

/* ---- writer ---- */

struct osc_systrace_writer {
    osc_file_appender *file;
    char *path;
    osc_systrace_kind kind;
    osc_buf pending; /* whole records */
    uint64_t pending_records;
    uint64_t written;          /* records in the file */
    uint64_t next_id;          /* of events the caller did not number */
    uint64_t lost;             /* records a full disk or lack of memory cost */
    osc_map dropped;           /* core -> records the capture dropped */
    uint64_t dropped_unlisted; /* dropped, but memory for the core's entry was out */
};

static void free_writer(osc_systrace_writer *w)
{
    osc_buf_free(&w->pending);
    osc_map_free(&w->dropped);
    osc_free(w->path);
    osc_free(w);
}

/*
 * Ends a writer whose header did not reach the disk; an empty file would read as a capture of
 * nothing.
 */
static void abandon(osc_systrace_writer *w)
{
    if (w->file) {
        osc_status ignored = osc_file_appender_close(w->file, NULL);
        /* never a device or a pipe: the path is the caller's */
        if (osc_path_is_file(w->path))
            ignored = osc_remove_file(w->path, NULL);
        (void)ignored; /* the first failure is the one reported */
    }
    free_writer(w);
}

osc_status osc_systrace_writer_open(const char *path, osc_systrace_kind kind,
                                    osc_systrace_writer **out, osc_err *err)
{
    *out = NULL;
    if (kind < OSC_SYSTRACE_NTRACE || kind > OSC_SYSTRACE_HOST_MEM)
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET, "not an append-only kind of file: %d",
                        (int)kind);
    osc_systrace_writer *w = osc_calloc(1, sizeof *w);
    if (!w)
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a capture file");
    w->kind = kind;
    w->next_id = 1;
    osc_buf_init(&w->pending, BUFFER_MAX);
    osc_map_init(&w->dropped);
    w->path = osc_memdup0(path, strlen(path));
    osc_status st =
        w->path ? OSC_OK
                : osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a capture file");
    if (st == OSC_OK)
        st = osc_file_appender_open(path, true, &w->file, err);
    if (st == OSC_OK) {
        pbfile_header(&w->pending, kind);
        st = osc_buf_status(&w->pending, path, err);
    }
    if (st == OSC_OK)
        st = osc_systrace_writer_flush(w, err);
    if (st != OSC_OK) {
        abandon(w);
        return st;
    }
    *out = w;
    return OSC_OK;
}

osc_status osc_systrace_writer_flush(osc_systrace_writer *w, osc_err *err)
{
    if (w->pending.len == 0)
        return OSC_OK;
    assert(!w->pending.failed);
    osc_status st = osc_file_appender_write(w->file, w->pending.data, w->pending.len, err);
    *(st == OSC_OK ? &w->written : &w->lost) += w->pending_records;
    osc_buf_clear(&w->pending);
    w->pending_records = 0;
    return st;
}

/* Ends the record begun at m: keeps it, or takes it back when memory was out. */
static osc_status finish_record(osc_systrace_writer *w, struct pbfile_mark m, size_t before,
                                osc_err *err)
{
    pbfile_end(&w->pending, m);
    if (w->pending.failed) {
        osc_status st = osc_buf_status(&w->pending, w->path, err);
        w->pending.failed = false;
        osc_buf_truncate(&w->pending, before);
        w->lost++;
        return st;
    }
    w->pending_records++;
    return w->pending.len >= FLUSH_BYTES ? osc_systrace_writer_flush(w, err) : OSC_OK;
}

static osc_status wrong_kind(const osc_systrace_writer *w, const char *what, osc_err *err)
{
    return osc_fail(err, OSC_EINVAL, w->path, OSC_NO_OFFSET, "%s does not go into %s", what,
                    osc_systrace_file_name(w->kind));
}

/* Field explicitly present even when 0; negative means absent. */
static void put_optional(osc_buf *b, uint32_t field, int64_t value)
{
    if (value >= 0)
        osc_pb_u64(b, field, (uint64_t)value);
}

static void encode_part(osc_buf *b, const osc_launch_part *part)
{
    size_t m = osc_pb_begin(b, EV_PART);
    pbfile_put_str(b, PART_NAME, part->name);
    pbfile_put_i64(b, PART_NS, part->ns);
    if (part->fitted)
        osc_pb_bool(b, PART_FITTED, true);
    osc_pb_end(b, m);
}

/* In order of field numbers, so that the bytes are those a protobuf library would write. */
static void encode_event(osc_buf *b, const osc_systrace_event *e, uint64_t id)
{
    pbfile_put_u64(b, EV_ID, id);
    pbfile_put_u64(b, EV_TYPE, e->type);
    pbfile_put_u64(b, EV_PHASE, e->phase);
    pbfile_put_fixed64(b, EV_START, (uint64_t)e->start_ns);
    pbfile_put_u64(b, EV_DURATION, (uint64_t)e->end_ns - (uint64_t)e->start_ns);
    put_optional(b, EV_NC, e->nc_idx);
    put_optional(b, EV_PCORE, e->pcore_idx);
    pbfile_put_i64(b, EV_THREAD, e->thread_id);
    put_optional(b, EV_STREAM, e->stream);
    pbfile_put_u64(b, EV_TRACKING, e->tracking_id);
    pbfile_put_u64(b, EV_FLOW, e->flow_id);
    pbfile_put_u64(b, EV_EXEC, e->exec_id);
    pbfile_put_u64(b, EV_SEQUENCE, e->sequence_id);
    pbfile_put_u64(b, EV_CORRELATION, e->correlation);
    pbfile_put_u64(b, EV_PARENT, e->parent_id);
    pbfile_put_fixed64(b, EV_NEFF_HASH, e->neff_hash);
    pbfile_put_u64(b, EV_MODEL, e->model_id);
    pbfile_put_str(b, EV_MODEL_NAME, e->model_name);
    pbfile_put_str(b, EV_OP_NAME, e->op_name);
    pbfile_put_str(b, EV_TENSOR_NAME, e->tensor_name);
    pbfile_put_u64(b, EV_TENSOR, e->tensor_id);
    pbfile_put_u64(b, EV_SIZE, e->size);
    if (e->has_nc_time) {
        osc_pb_i64(b, EV_NC_START, e->nc_start_ns);
        osc_pb_i64(b, EV_NC_STOP, e->nc_stop_ns);
    }
    pbfile_put_i64(b, EV_BODY, e->body_ns);
    for (uint32_t i = 0; i < e->part_count; i++)
        encode_part(b, &e->parts[i]);
    pbfile_put_str(b, EV_EXTRA, e->extra_json);
    pbfile_put_str(b, EV_TYPE_NAME, e->type_name);
}

/* What the reader demands of an event. */
static bool is_event(const osc_systrace_event *e)
{
    int64_t length, body_start;
    if (e->end_ns < e->start_ns || !osc_sub_i64(e->end_ns, e->start_ns, &length) ||
        e->body_ns < 0 || !osc_sub_i64(e->end_ns, e->body_ns, &body_start) ||
        e->phase > OSC_ST_INSTANT || e->part_count > OSC_LAUNCH_PARTS_MAX)
        return false;
    for (uint32_t i = 0; i < e->part_count; i++) {
        if (e->parts[i].ns < 0)
            return false;
    }
    return true;
}

osc_status osc_systrace_writer_event(osc_systrace_writer *w, const osc_systrace_event *e,
                                     osc_err *err)
{
    if (w->kind != OSC_SYSTRACE_NTRACE)
        return wrong_kind(w, "an event", err);
    if (!is_event(e))
        return osc_fail(err, OSC_EINVAL, w->path, OSC_NO_OFFSET,
                        "an event that ends before it starts, whose body or launch parts have no "
                        "possible length, or with over %u launch parts",
                        OSC_LAUNCH_PARTS_MAX);
    uint64_t id = e->id ? e->id : w->next_id;
    size_t before = w->pending.len;
    struct pbfile_mark m = pbfile_begin(&w->pending, REC_EVENT);
    encode_event(&w->pending, e, id);
    osc_status st = finish_record(w, m, before, err);
    if (id >= w->next_id)
        w->next_id = id + 1;
    return st;
}

osc_status osc_systrace_writer_cpu(osc_systrace_writer *w, const osc_cpu_sample *s, osc_err *err)
{
    if (w->kind != OSC_SYSTRACE_CPU_UTIL)
        return wrong_kind(w, "a CPU sample", err);
    if (s->cpus > OSC_CPUS_MAX || s->duration_ns < 0)
        return osc_fail(err, OSC_EINVAL, w->path, OSC_NO_OFFSET,
                        "a sample of over %u CPUs, or of negative length", OSC_CPUS_MAX);
    size_t before = w->pending.len;
    struct pbfile_mark m = pbfile_begin(&w->pending, REC_SAMPLE);
    pbfile_put_fixed64(&w->pending, CPU_TIME, (uint64_t)s->time_ns);
    pbfile_put_i64(&w->pending, CPU_DURATION, s->duration_ns);
    if (s->cpus > 0) {
        size_t packed = osc_pb_begin(&w->pending, CPU_PERCENT);
        for (uint32_t i = 0; i < s->cpus; i++)
            osc_buf_f32(&w->pending, s->percent[i]);
        osc_pb_end(&w->pending, packed);
    }
    return finish_record(w, m, before, err);
}

osc_status osc_systrace_writer_mem(osc_systrace_writer *w, const osc_mem_sample *s, osc_err *err)
{
    if (w->kind != OSC_SYSTRACE_HOST_MEM)
        return wrong_kind(w, "a memory sample", err);
    if (s->duration_ns < 0)
        return osc_fail(err, OSC_EINVAL, w->path, OSC_NO_OFFSET, "a sample of negative length");
    size_t before = w->pending.len;
    struct pbfile_mark m = pbfile_begin(&w->pending, REC_SAMPLE);
    pbfile_put_fixed64(&w->pending, MEM_TIME, (uint64_t)s->time_ns);
    pbfile_put_i64(&w->pending, MEM_DURATION, s->duration_ns);
    pbfile_put_u64(&w->pending, MEM_TOTAL, s->total_bytes);
    pbfile_put_u64(&w->pending, MEM_USED, s->used_bytes);
    pbfile_put_u64(&w->pending, MEM_PROCESS, s->process_bytes);
    return finish_record(w, m, before, err);
}

void osc_systrace_writer_dropped(osc_systrace_writer *w, uint32_t nc_idx, uint64_t records)
{
    uint64_t so_far = 0;
    (void)osc_map_get(&w->dropped, nc_idx, &so_far);
    if (osc_map_put(&w->dropped, nc_idx, so_far + records) != OSC_OK)
        w->dropped_unlisted += records;
}

/* Per-core counts in order of the core's number: same captures, same bytes. */
static void encode_dropped(const osc_systrace_writer *w, osc_buf *b)
{
    for (int64_t last = -1;;) {
        size_t pos = 0;
        uint64_t key, value, best = UINT64_MAX, best_value = 0;
        while (osc_map_next(&w->dropped, &pos, &key, &value)) {
            if ((int64_t)key > last && key < best) {
                best = key;
                best_value = value;
            }
        }
        if (best == UINT64_MAX)
            return;
        last = (int64_t)best;
        size_t m = osc_pb_begin(b, END_CORE);
        pbfile_put_u64(b, DROP_NC, best);
        pbfile_put_u64(b, DROP_RECORDS, best_value);
        osc_pb_end(b, m);
    }
}

static osc_status write_end(osc_systrace_writer *w, int64_t end_ns, osc_err *err)
{
    osc_buf *b = &w->pending;
    assert(b->len == 0 && w->pending_records == 0);
    struct pbfile_mark m = pbfile_begin(b, PBFILE_END);
    pbfile_put_u64(b, END_RECORDS, w->written);
    pbfile_put_fixed64(b, END_TIME, (uint64_t)end_ns);
    pbfile_put_u64(b, END_LOST, w->lost + w->dropped_unlisted);
    encode_dropped(w, b);
    pbfile_end(b, m);
    osc_status st = osc_buf_status(b, w->path, err);
    if (st == OSC_OK)
        st = osc_file_appender_write(w->file, b->data, b->len, err);
    osc_buf_clear(b);
    return st;
}

osc_status osc_systrace_writer_close(osc_systrace_writer *w, int64_t end_ns, osc_err *err)
{
    if (!w)
        return OSC_OK;
    osc_status st = osc_systrace_writer_flush(w, err);
    osc_status next = write_end(w, end_ns, st == OSC_OK ? err : NULL);
    st = st == OSC_OK ? next : st;
    next = osc_file_appender_close(w->file, st == OSC_OK ? err : NULL);
    free_writer(w);
    return st == OSC_OK ? next : st;
}
