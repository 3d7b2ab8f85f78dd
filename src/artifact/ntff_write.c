/*
 * ntff_write.c - the writer half of ntff.h.
 *
 * Records gather in two buffers, one per chunk type, each with room for its chunk header in front;
 * a flush patches the header and hands the whole chunk to one append, which the appender either
 * completes or takes back. So a process that dies leaves complete chunks and at most one torn tail.
 *
 * Rejected: one chunk per execution. Its 64 bytes of headers would be as large as a small
 * execution's events, and a kernel call per execution would show in the captured times.
 */
#include "artifact/ntff_layout.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)256 << 10)
/* One record beyond the flush mark must fit: the ceiling is far above any single call's share. */
#define BUFFER_MAX      ((size_t)64 << 20)
#define EVENTS_PER_STEP 1024u

/* Records of one chunk type that are not yet in the file. */
struct pending {
    osc_buf bytes; /* chunk header and payload */
    uint32_t type;
    uint32_t record_bytes; /* 0: variable */
    uint32_t count;
};

struct osc_ntff_writer {
    osc_file_appender *file;
    char *path;
    struct pending execs, events;
    uint64_t execs_written, events_written;
    uint64_t execs_dropped, events_dropped;
    uint64_t execs_told, events_told; /* drop counts already in the file */
};

static void encode_header(osc_buf *b, const osc_ntff_header *h)
{
    osc_buf_append(b, NTFF_MAGIC, NTFF_MAGIC_BYTES);
    osc_buf_u16(b, OSC_NTFF_MAJOR);
    osc_buf_u16(b, OSC_NTFF_MINOR);
    osc_buf_u32(b, OSC_NTFF_HEADER_BYTES);
    osc_buf_u64(b, h->neff_hash);
    osc_buf_append(b, h->neff_uuid, sizeof h->neff_uuid);
    osc_buf_u32(b, h->generation);
    osc_buf_u32(b, h->core);
    osc_buf_u32(b, h->instance_index);
    osc_buf_u32(b, h->simulated ? NTFF_FLAG_SIMULATED : 0);
    osc_buf_u64(b, h->pid);
    osc_buf_i64(b, h->capture_start_ns);
    osc_buf_i64(b, h->clock_origin_ns);
    osc_buf_u64(b, h->clock_hz);
    /* Bytes after the terminator do not reach the file: same content, same bytes. */
    size_t id = strlen(h->instance_id);
    osc_buf_append(b, h->instance_id, id);
    osc_buf_fill(b, '\0', sizeof h->instance_id - id);
    osc_buf_fill(b, '\0', NTFF_HEADER_CRC_AT - b->len);
    osc_buf_u32(b, osc_crc32c(0, b->data, b->len));
    assert(b->failed || b->len == OSC_NTFF_HEADER_BYTES);
}

static osc_status check_header(const char *path, const osc_ntff_header *h, osc_err *err)
{
    if (h->generation >= OSC_GENERATIONS)
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET, "no such device generation: %u",
                        h->generation);
    if (!memchr(h->instance_id, '\0', sizeof h->instance_id))
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET, "the instance id is not terminated");
    if (h->clock_hz == 0)
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET,
                        "the device clock needs a resolution");
    return OSC_OK;
}

static void pending_clear(struct pending *p)
{
    osc_buf_clear(&p->bytes);
    p->count = 0;
}

static void pending_init(struct pending *p, uint32_t type, uint32_t record_bytes)
{
    osc_buf_init(&p->bytes, BUFFER_MAX);
    p->type = type;
    p->record_bytes = record_bytes;
    p->count = 0;
}

/* Makes room for the chunk header before the first record. */
static osc_buf *pending_begin(struct pending *p)
{
    if (p->bytes.len == 0)
        osc_buf_fill(&p->bytes, '\0', NTFF_CHUNK_BYTES);
    return &p->bytes;
}

static void patch_chunk_header(struct pending *p)
{
    osc_buf *b = &p->bytes;
    assert(b->len >= NTFF_CHUNK_BYTES && !b->failed);
    const unsigned char *payload = b->data + NTFF_CHUNK_BYTES;
    size_t payload_bytes = b->len - NTFF_CHUNK_BYTES;
    osc_buf_patch_u32(b, 0, p->type);
    osc_buf_patch_u32(b, 4, p->count);
    osc_buf_patch_u64(b, 8, payload_bytes);
    osc_buf_patch_u32(b, 16, p->record_bytes);
    osc_buf_patch_u32(b, 20, osc_crc32c(0, payload, payload_bytes));
    osc_buf_patch_u32(b, 24, 0);
    osc_buf_patch_u32(b, NTFF_CHUNK_CRC_AT, osc_crc32c(0, b->data, NTFF_CHUNK_CRC_AT));
}

/* Appends the chunk and empties p whatever happens; the caller counts what a failure lost. */
static osc_status pending_flush(osc_ntff_writer *w, struct pending *p, osc_err *err)
{
    if (p->count == 0)
        return OSC_OK;
    patch_chunk_header(p);
    osc_status st = osc_file_appender_write(w->file, p->bytes.data, p->bytes.len, err);
    pending_clear(p);
    return st;
}

static osc_status flush_execs(osc_ntff_writer *w, osc_err *err)
{
    uint32_t n = w->execs.count;
    osc_status st = pending_flush(w, &w->execs, err);
    *(st == OSC_OK ? &w->execs_written : &w->execs_dropped) += n;
    return st;
}

static osc_status flush_events(osc_ntff_writer *w, osc_err *err)
{
    uint32_t n = w->events.count;
    osc_status st = pending_flush(w, &w->events, err);
    *(st == OSC_OK ? &w->events_written : &w->events_dropped) += n;
    return st;
}

/* One-record chunk made on the spot: drop counters, end mark. */
static osc_status append_small(osc_ntff_writer *w, uint32_t type, const uint64_t *words, size_t n,
                               osc_err *err)
{
    struct pending p;
    pending_init(&p, type, (uint32_t)(n * sizeof(uint64_t)));
    osc_buf *b = pending_begin(&p);
    for (size_t i = 0; i < n; i++)
        osc_buf_u64(b, words[i]);
    p.count = 1;
    osc_status st = osc_buf_status(b, w->path, err);
    if (st == OSC_OK)
        st = pending_flush(w, &p, err);
    osc_buf_free(&p.bytes);
    return st;
}

static osc_status flush_drops(osc_ntff_writer *w, osc_err *err)
{
    if (w->execs_dropped == w->execs_told && w->events_dropped == w->events_told)
        return OSC_OK;
    uint64_t words[] = {w->execs_dropped, w->events_dropped};
    osc_status st = append_small(w, NTFF_DROPS, words, 2, err);
    if (st == OSC_OK) {
        w->execs_told = words[0];
        w->events_told = words[1];
    }
    return st;
}

osc_status osc_ntff_writer_flush(osc_ntff_writer *w, osc_err *err)
{
    /* Executions first: a reader of a torn file then knows the execution its events belong to. */
    osc_status st = flush_execs(w, err);
    osc_status next = flush_events(w, st == OSC_OK ? err : NULL);
    st = st == OSC_OK ? next : st;
    next = flush_drops(w, st == OSC_OK ? err : NULL);
    return st == OSC_OK ? next : st;
}

static void free_writer(osc_ntff_writer *w)
{
    osc_buf_free(&w->execs.bytes);
    osc_buf_free(&w->events.bytes);
    osc_free(w->path);
    osc_free(w);
}

/*
 * Ends a writer whose header did not reach the disk; an empty file would read as a core that ran
 * nothing.
 */
static void abandon(osc_ntff_writer *w)
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

osc_status osc_ntff_writer_open(const char *path, const osc_ntff_header *header,
                                osc_ntff_writer **out, osc_err *err)
{
    *out = NULL;
    osc_status st = check_header(path, header, err);
    if (st != OSC_OK)
        return st;
    osc_ntff_writer *w = osc_calloc(1, sizeof *w);
    if (!w)
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a capture file");
    pending_init(&w->execs, NTFF_EXEC, 0);
    pending_init(&w->events, NTFF_EVENTS, OSC_NTFF_EVENT_BYTES);
    osc_buf head;
    osc_buf_init(&head, OSC_NTFF_HEADER_BYTES);
    encode_header(&head, header);
    st = osc_buf_status(&head, path, err);
    if (st == OSC_OK && !(w->path = osc_memdup0(path, strlen(path))))
        st = osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a capture file");
    if (st == OSC_OK)
        st = osc_file_appender_open(path, true, &w->file, err);
    if (st == OSC_OK)
        st = osc_file_appender_write(w->file, head.data, head.len, err);
    osc_buf_free(&head);
    if (st == OSC_OK) {
        *out = w;
        return OSC_OK;
    }
    abandon(w);
    return st;
}

static void encode_part(osc_buf *b, const osc_launch_part *part)
{
    osc_buf_i64(b, part->ns);
    osc_buf_u32(b, part->fitted ? NTFF_PART_FITTED : 0);
    osc_buf_str32(b, part->name);
}

static void encode_exec(osc_buf *b, const osc_ntff_exec *e)
{
    size_t at = b->len;
    osc_buf_u32(b, 0); /* record length, patched below */
    osc_buf_u32(b, e->part_count);
    osc_buf_u64(b, e->exec);
    osc_buf_u64(b, e->sequence);
    osc_buf_u64(b, e->correlation);
    osc_buf_i64(b, e->stream);
    osc_buf_i64(b, e->thread_id);
    osc_buf_i64(b, e->submit_ns);
    osc_buf_i64(b, e->start_ns);
    osc_buf_i64(b, e->end_ns);
    osc_buf_i64(b, e->body_dev_ns);
    osc_buf_i64(b, e->body_ns);
    osc_buf_i64(b, e->sync_host_ns);
    osc_buf_i64(b, e->sync_dev_ns);
    osc_buf_u64(b, e->events_dropped);
    osc_buf_u32(b, 0); /* flags, none yet */
    osc_buf_str32(b, e->op);
    for (uint32_t i = 0; i < e->part_count; i++)
        encode_part(b, &e->parts[i]);
    if (!b->failed)
        osc_buf_patch_u32(b, at, (uint32_t)(b->len - at));
}

osc_status osc_ntff_writer_exec(osc_ntff_writer *w, const osc_ntff_exec *exec, osc_err *err)
{
    if (exec->part_count > OSC_LAUNCH_PARTS_MAX)
        return osc_fail(err, OSC_EINVAL, w->path, OSC_NO_OFFSET,
                        "an execution with %u launch parts; at most %u are allowed",
                        exec->part_count, OSC_LAUNCH_PARTS_MAX);
    osc_buf *b = pending_begin(&w->execs);
    size_t before = b->len;
    encode_exec(b, exec);
    if (b->failed) {
        osc_status st = osc_buf_status(b, w->path, err);
        b->failed = false; /* the half record is taken back; the buffer is whole again */
        osc_buf_truncate(b, before);
        w->execs_dropped++;
        return st;
    }
    w->execs.count++;
    return b->len >= FLUSH_BYTES ? osc_ntff_writer_flush(w, err) : OSC_OK;
}

/* Bytes of one event, field by field: the file does not depend on the compiler's struct layout. */
static void encode_event(osc_buf *b, const osc_event *e)
{
    osc_buf_u8(b, e->kind);
    osc_buf_u8(b, e->engine);
    osc_buf_u8(b, e->opcode);
    osc_buf_u8(b, e->ring);
    osc_buf_u8(b, e->wait_kind);
    osc_buf_u8(b, e->issuer);
    osc_buf_u16(b, e->wait_sem);
    osc_buf_u32(b, e->index);
    osc_buf_u32(b, e->exec);
    osc_buf_i64(b, e->ready_ns);
    osc_buf_i64(b, e->start_ns);
    osc_buf_i64(b, e->end_ns);
    osc_buf_u64(b, e->a);
    osc_buf_u64(b, e->b);
}

/* At most EVENTS_PER_STEP events; all of them or none are in the buffer afterwards. */
static osc_status buffer_events(osc_ntff_writer *w, const osc_event *events, size_t n, osc_err *err)
{
    osc_buf *b = pending_begin(&w->events);
    size_t before = b->len;
    if (osc_buf_reserve(b, n * OSC_NTFF_EVENT_BYTES)) {
        for (size_t i = 0; i < n; i++)
            encode_event(b, &events[i]);
    }
    if (b->failed) {
        osc_status st = osc_buf_status(b, w->path, err);
        b->failed = false;
        osc_buf_truncate(b, before);
        w->events_dropped += n;
        return st;
    }
    w->events.count += (uint32_t)n;
    return b->len >= FLUSH_BYTES ? osc_ntff_writer_flush(w, err) : OSC_OK;
}

osc_status osc_ntff_writer_events(osc_ntff_writer *w, const osc_event *events, size_t n,
                                  osc_err *err)
{
    osc_status st = OSC_OK;
    while (n > 0) {
        size_t step = n < EVENTS_PER_STEP ? n : EVENTS_PER_STEP;
        osc_status now = buffer_events(w, events, step, st == OSC_OK ? err : NULL);
        st = st == OSC_OK ? now : st;
        events += step;
        n -= step;
    }
    return st;
}

void osc_ntff_writer_dropped(osc_ntff_writer *w, uint64_t execs, uint64_t events)
{
    w->execs_dropped += execs;
    w->events_dropped += events;
}

uint64_t osc_ntff_writer_size(const osc_ntff_writer *w)
{
    return osc_file_appender_size(w->file);
}

osc_status osc_ntff_writer_close(osc_ntff_writer *w, int64_t end_ns, osc_err *err)
{
    if (!w)
        return OSC_OK;
    osc_status st = osc_ntff_writer_flush(w, err);
    uint64_t words[] = {(uint64_t)end_ns, w->execs_written, w->events_written, w->execs_dropped,
                        w->events_dropped};
    osc_status next =
        append_small(w, NTFF_END, words, sizeof words / sizeof *words, st == OSC_OK ? err : NULL);
    st = st == OSC_OK ? next : st;
    next = osc_file_appender_close(w->file, st == OSC_OK ? err : NULL);
    free_writer(w);
    return st == OSC_OK ? next : st;
}
