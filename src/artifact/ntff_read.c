/*
 * ntff_read.c - the reader half of ntff.h.
 *
 * One walk over the chunk headers checks every checksum and indexes the event chunks; executions
 * are decoded into an array, events stay where they are and are decoded when asked for. A bad
 * payload costs its chunk, a bad chunk header ends the walk: without its length the next border is
 * unknown.
 *
 * Rejected: searching for the next chunk after a bad header by its four letters. It would find
 * letters inside payloads, and what follows a torn header after a crash is the end of the file
 * anyway.
 */
#include "artifact/ntff_layout.h"
#include "artifact/session.h"

#include "base/arena.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Memory allowed per byte of input, and on top. Stated in ntff.h. */
#define MEMORY_FACTOR 8u
#define MEMORY_BASE   ((size_t)64 << 10)

/* A chunk whose checksums were right. */
struct chunk {
    uint64_t offset; /* of the payload */
    uint64_t bytes;  /* of the payload */
    uint64_t first;  /* number of its first record among those of its type */
    uint32_t type;
    uint32_t count;
    uint32_t record_bytes; /* 0: variable */
};

struct osc_ntff {
    const unsigned char *data; /* not owned */
    size_t len;
    const char *input;      /* valid while reading only */
    osc_findings *findings; /* likewise */
    osc_arena *arena;
    osc_ntff_header header;
    struct chunk *chunks; /* EVTS chunks only; owned */
    size_t chunk_count, chunk_cap;
    osc_ntff_exec *execs; /* in the arena */
    size_t exec_count, exec_cap;
    uint64_t event_count;
    uint64_t dropped_execs, dropped_events;
    int64_t end_ns;
    bool has_end, damaged;
};

/* ---- file header ---- */

static osc_status check_magic(const osc_ntff *n, osc_err *err)
{
    size_t have = n->len < NTFF_MAGIC_BYTES ? n->len : NTFF_MAGIC_BYTES;
    if (n->len == 0)
        return osc_fail(err, OSC_ETRUNCATED, n->input, 0,
                        "the file is empty: the core ran nothing while it was captured, or the "
                        "capture did not start");
    if (memcmp(n->data, NTFF_MAGIC, have) != 0)
        return osc_foreign_fail(n->input, OSC_ART_NTFF, err);
    if (n->len < OSC_NTFF_HEADER_BYTES)
        return osc_fail(err, OSC_ETRUNCATED, n->input, n->len,
                        "the file ends inside its %u byte header; nothing was captured",
                        OSC_NTFF_HEADER_BYTES);
    return OSC_OK;
}

static void decode_header(osc_cursor *c, osc_ntff_header *h)
{
    h->neff_hash = osc_cursor_u64(c);
    osc_cursor_copy(c, h->neff_uuid, sizeof h->neff_uuid);
    h->generation = osc_cursor_u32(c);
    h->core = osc_cursor_u32(c);
    h->instance_index = osc_cursor_u32(c);
    h->simulated = (osc_cursor_u32(c) & NTFF_FLAG_SIMULATED) != 0;
    h->pid = osc_cursor_u64(c);
    h->capture_start_ns = osc_cursor_i64(c);
    h->clock_origin_ns = osc_cursor_i64(c);
    h->clock_hz = osc_cursor_u64(c);
    osc_cursor_copy(c, h->instance_id, sizeof h->instance_id);
    h->instance_id[sizeof h->instance_id - 1] = '\0';
}

/* Leaves the cursor at the first chunk. */
static osc_status read_header(osc_ntff *n, osc_cursor *c, osc_err *err)
{
    osc_status st = check_magic(n, err);
    if (st != OSC_OK)
        return st;
    osc_cursor_skip(c, NTFF_MAGIC_BYTES);
    n->header.major = osc_cursor_u16(c);
    n->header.minor = osc_cursor_u16(c);
    uint32_t header_bytes = osc_cursor_u32(c);
    if (n->header.major > OSC_NTFF_MAJOR)
        return osc_fail(
            err, OSC_EVERSION, n->input, NTFF_MAGIC_BYTES,
            "NTFF version %u.%u; this program reads up to %u.x: use the opscope that wrote "
            "it, or a newer one",
            n->header.major, n->header.minor, OSC_NTFF_MAJOR);
    decode_header(c, &n->header);
    osc_cursor crc = osc_cursor_make(n->data, n->len);
    osc_cursor_skip(&crc, NTFF_HEADER_CRC_AT);
    if (osc_cursor_u32(&crc) != osc_crc32c(0, n->data, NTFF_HEADER_CRC_AT))
        return osc_fail(err, OSC_EFORMAT, n->input, NTFF_HEADER_CRC_AT,
                        "the header's checksum is wrong: the file is damaged");
    if (n->header.major == 0 || n->header.generation >= OSC_GENERATIONS ||
        n->header.clock_hz == 0 || header_bytes < OSC_NTFF_HEADER_BYTES ||
        header_bytes > NTFF_HEADER_MAX)
        return osc_fail(err, OSC_EFORMAT, n->input, NTFF_MAGIC_BYTES,
                        "the header holds impossible values");
    if (header_bytes > n->len)
        return osc_fail(err, OSC_ETRUNCATED, n->input, n->len, "the file ends inside its header");
    osc_cursor_seek(c, header_bytes);
    return OSC_OK;
}

/* ---- executions ---- */

/* Parts of an execution into the arena; false when they do not fit the record or memory is out. */
static bool decode_parts(osc_ntff *n, osc_cursor *c, uint32_t count, osc_ntff_exec *e)
{
    if (count > OSC_LAUNCH_PARTS_MAX || count > osc_cursor_left(c) / NTFF_PART_FIXED_BYTES)
        return false;
    osc_launch_part *parts = OSC_ARENA_ARRAY(n->arena, osc_launch_part, count);
    if (!parts)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        parts[i].ns = osc_cursor_i64(c);
        parts[i].fitted = (osc_cursor_u32(c) & NTFF_PART_FITTED) != 0;
        parts[i].name = osc_cursor_str32(c);
    }
    e->parts = parts;
    e->part_count = count;
    return !c->failed;
}

/*
 * One record, whose length field was read; c covers the rest of it. Bytes left over are a newer
 * minor's.
 */
static bool decode_exec(osc_ntff *n, osc_cursor *c, osc_ntff_exec *e)
{
    uint32_t parts = osc_cursor_u32(c);
    e->exec = osc_cursor_u64(c);
    e->sequence = osc_cursor_u64(c);
    e->correlation = osc_cursor_u64(c);
    e->stream = osc_cursor_i64(c);
    e->thread_id = osc_cursor_i64(c);
    e->submit_ns = osc_cursor_i64(c);
    e->start_ns = osc_cursor_i64(c);
    e->end_ns = osc_cursor_i64(c);
    e->body_dev_ns = osc_cursor_i64(c);
    e->body_ns = osc_cursor_i64(c);
    e->sync_host_ns = osc_cursor_i64(c);
    e->sync_dev_ns = osc_cursor_i64(c);
    e->events_dropped = osc_cursor_u64(c);
    osc_cursor_skip(c, sizeof(uint32_t));
    e->op = osc_cursor_str32(c);
    return !c->failed && decode_parts(n, c, parts, e);
}

/* Room for count more executions, each of which takes at least its fixed bytes of the input. */
static bool reserve_execs(osc_ntff *n, size_t count)
{
    if (n->exec_cap - n->exec_count >= count)
        return true;
    size_t cap = n->exec_count + (count > n->exec_count ? count : n->exec_count);
    osc_ntff_exec *execs = osc_realloc_array(n->execs, cap, sizeof *execs);
    if (!execs)
        return false;
    n->execs = execs;
    n->exec_cap = cap;
    return true;
}

static void bad_chunk(osc_ntff *n, uint64_t offset, const char *what)
{
    n->damaged = true;
    osc_findings_add(n->findings, "damaged-chunk", OSC_SEV_ERROR, OSC_EFORMAT, n->input, offset,
                     "%s; the chunk is skipped", what);
}

static void bad_record(osc_ntff *n, uint64_t offset)
{
    n->damaged = true;
    osc_findings_add(n->findings, "damaged-record", OSC_SEV_ERROR, OSC_EFORMAT, n->input, offset,
                     "an execution's times cannot be: it ends before it starts, or a length is "
                     "negative; the execution is skipped");
}

/*
 * Bounds that hold for every execution, so that who adds and subtracts its times cannot overflow.
 * The body is not compared with the interval: it is measured by another clock.
 */
static bool is_possible(const osc_ntff_exec *e)
{
    int64_t length, edge;
    if (e->end_ns < e->start_ns || !osc_sub_i64(e->end_ns, e->start_ns, &length) ||
        e->body_ns < 0 || !osc_sub_i64(e->end_ns, e->body_ns, &edge) ||
        !osc_add_i64(e->body_dev_ns, e->body_ns, &edge))
        return false;
    for (uint32_t i = 0; i < e->part_count; i++) {
        if (e->parts[i].ns < 0)
            return false;
    }
    return true;
}

/* The chunk's records up to the first that does not hold together. */
static osc_status read_execs(osc_ntff *n, const struct chunk *ch, osc_err *err)
{
    osc_cursor c = osc_cursor_make_at(n->data + ch->offset, (size_t)ch->bytes, ch->offset);
    if (ch->count > ch->bytes / NTFF_EXEC_FIXED_BYTES) {
        bad_chunk(n, ch->offset, "more executions than its bytes can hold");
        return OSC_OK;
    }
    if (!reserve_execs(n, ch->count))
        return osc_fail(err, OSC_ENOMEM, n->input, ch->offset, "no memory for %u executions",
                        ch->count);
    for (uint32_t i = 0; i < ch->count; i++) {
        uint64_t at = osc_cursor_offset(&c);
        uint32_t bytes = osc_cursor_u32(&c);
        osc_cursor record =
            osc_cursor_sub(&c, bytes < sizeof bytes ? SIZE_MAX : bytes - sizeof bytes);
        osc_ntff_exec e = {0};
        if (!decode_exec(n, &record, &e)) {
            bad_chunk(n, at, "an execution record does not hold together");
            return OSC_OK;
        }
        if (is_possible(&e))
            n->execs[n->exec_count++] = e;
        else
            bad_record(n, at);
    }
    return OSC_OK;
}

/* ---- chunks ---- */

static osc_status add_events(osc_ntff *n, struct chunk ch, osc_err *err)
{
    if (ch.record_bytes < OSC_NTFF_EVENT_BYTES || ch.bytes / ch.record_bytes < ch.count) {
        bad_chunk(n, ch.offset, "its events do not fit its bytes");
        return OSC_OK;
    }
    if (n->chunk_count == n->chunk_cap) {
        size_t cap = n->chunk_cap ? n->chunk_cap * 2 : 16;
        struct chunk *chunks = osc_realloc_array(n->chunks, cap, sizeof *chunks);
        if (!chunks)
            return osc_fail(err, OSC_ENOMEM, n->input, ch.offset, "no memory for the chunk index");
        n->chunks = chunks;
        n->chunk_cap = cap;
    }
    ch.first = n->event_count;
    n->event_count += ch.count;
    n->chunks[n->chunk_count++] = ch;
    return OSC_OK;
}

static void read_drops(osc_ntff *n, osc_cursor *c)
{
    n->dropped_execs = osc_cursor_u64(c);
    n->dropped_events = osc_cursor_u64(c);
}

static void read_end(osc_ntff *n, const struct chunk *ch, osc_cursor *c)
{
    n->has_end = true;
    n->end_ns = osc_cursor_i64(c);
    uint64_t execs = osc_cursor_u64(c);
    uint64_t events = osc_cursor_u64(c);
    read_drops(n, c);
    if (execs == n->exec_count && events == n->event_count)
        return;
    n->damaged = true;
    osc_findings_add(n->findings, "missing-records", OSC_SEV_ERROR, OSC_EFORMAT, n->input,
                     ch->offset,
                     "the end mark counts %" PRIu64 " executions and %" PRIu64
                     " events; %zu and %" PRIu64 " could be read",
                     execs, events, n->exec_count, n->event_count);
}

static osc_status read_chunk(osc_ntff *n, const struct chunk *ch, osc_err *err)
{
    osc_cursor c = osc_cursor_make_at(n->data + ch->offset, (size_t)ch->bytes, ch->offset);
    switch (ch->type) {
    case NTFF_EXEC: return read_execs(n, ch, err);
    case NTFF_EVENTS: return add_events(n, *ch, err);
    case NTFF_DROPS:
        if (ch->bytes < NTFF_DROPS_BYTES)
            bad_chunk(n, ch->offset, "its drop counters are too short");
        else
            read_drops(n, &c);
        return OSC_OK;
    case NTFF_END:
        if (ch->bytes < NTFF_END_BYTES)
            bad_chunk(n, ch->offset, "its end mark is too short");
        else
            read_end(n, ch, &c);
        return OSC_OK;
    default:
        osc_findings_add(n->findings, "unknown-chunk", OSC_SEV_NOTE, OSC_OK, n->input,
                         ch->offset - NTFF_CHUNK_BYTES,
                         "a chunk of type 0x%08x, which this version does not know; skipped",
                         ch->type);
        return OSC_OK;
    }
}

static void report_cut(osc_ntff *n, uint64_t offset)
{
    n->damaged = true;
    osc_findings_add(n->findings, "truncated", OSC_SEV_ERROR, OSC_ETRUNCATED, n->input, offset,
                     "the file ends inside a chunk at byte %" PRIu64
                     " (the capture died or the disk "
                     "was full); %zu executions and %" PRIu64 " events before it are kept",
                     offset, n->exec_count, n->event_count);
}

/*
 * Takes one chunk off the cursor into *ch and *payload_ok. False when no border after it can be
 * trusted; the finding is made then.
 */
static bool next_chunk(osc_ntff *n, osc_cursor *c, struct chunk *ch, bool *payload_ok)
{
    uint64_t at = osc_cursor_offset(c);
    if (osc_cursor_left(c) < NTFF_CHUNK_BYTES) {
        report_cut(n, at);
        return false;
    }
    uint32_t crc = osc_crc32c(0, n->data + at, NTFF_CHUNK_CRC_AT);
    ch->type = osc_cursor_u32(c);
    ch->count = osc_cursor_u32(c);
    ch->bytes = osc_cursor_u64(c);
    ch->record_bytes = osc_cursor_u32(c);
    uint32_t payload_crc = osc_cursor_u32(c);
    osc_cursor_skip(c, sizeof(uint32_t));
    if (osc_cursor_u32(c) != crc) {
        n->damaged = true;
        osc_findings_add(
            n->findings, "damaged-header", OSC_SEV_ERROR, OSC_EFORMAT, n->input, at,
            "the chunk header at byte %" PRIu64 " is damaged; nothing after it can be read", at);
        return false;
    }
    if (ch->bytes > osc_cursor_left(c)) {
        report_cut(n, at);
        return false;
    }
    ch->offset = osc_cursor_offset(c);
    ch->first = 0;
    *payload_ok = osc_crc32c(0, n->data + ch->offset, (size_t)ch->bytes) == payload_crc;
    osc_cursor_skip(c, (size_t)ch->bytes);
    return true;
}

static osc_status walk_chunks(osc_ntff *n, osc_cursor *c, osc_err *err)
{
    while (osc_cursor_left(c) > 0 && !n->has_end) {
        struct chunk ch;
        bool payload_ok = false;
        if (!next_chunk(n, c, &ch, &payload_ok))
            return OSC_OK;
        if (!payload_ok) {
            bad_chunk(n, ch.offset, "its checksum is wrong");
            continue;
        }
        osc_status st = read_chunk(n, &ch, err);
        if (st != OSC_OK)
            return st;
    }
    if (osc_cursor_left(c) > 0) {
        osc_findings_add(n->findings, "trailing-data", OSC_SEV_WARN, OSC_EFORMAT, n->input,
                         osc_cursor_offset(c), "%zu bytes after the end mark; ignored",
                         osc_cursor_left(c));
    } else if (!n->has_end) {
        n->damaged = true;
        osc_findings_add(
            n->findings, "truncated", OSC_SEV_ERROR, OSC_ETRUNCATED, n->input, n->len,
            "there is no end mark: the capture did not close; %zu executions and %" PRIu64
            " events are kept",
            n->exec_count, n->event_count);
    }
    return OSC_OK;
}

static void report_drops(osc_ntff *n)
{
    if (n->dropped_execs == 0 && n->dropped_events == 0)
        return;
    osc_findings_add(n->findings, "dropped", OSC_SEV_WARN, OSC_OK, n->input, OSC_NO_OFFSET,
                     "the capture did not keep %" PRIu64 " executions and %" PRIu64
                     " events (event limit or full disk)",
                     n->dropped_execs, n->dropped_events);
}

/* ---- public ---- */

osc_status osc_ntff_read(const void *data, size_t len, const char *input, osc_findings *findings,
                         osc_ntff **out, osc_err *err)
{
    *out = NULL;
    osc_ntff *n = osc_calloc(1, sizeof *n);
    size_t limit;
    if (!osc_mul_size(len, MEMORY_FACTOR, &limit) || !osc_add_size(limit, MEMORY_BASE, &limit))
        limit = SIZE_MAX;
    osc_arena *arena = n ? osc_arena_new(limit) : NULL;
    if (!arena) {
        osc_free(n);
        return osc_fail(err, OSC_ENOMEM, input, OSC_NO_OFFSET, "no memory to read a capture file");
    }
    n->data = data;
    n->len = len;
    n->input = input;
    n->findings = findings;
    n->arena = arena;
    osc_cursor c = osc_cursor_make(data, len);
    osc_status st = read_header(n, &c, err);
    if (st == OSC_OK)
        st = walk_chunks(n, &c, err);
    if (st != OSC_OK) {
        osc_ntff_free(n);
        return st;
    }
    report_drops(n);
    n->input = NULL;
    n->findings = NULL;
    *out = n;
    return OSC_OK;
}

void osc_ntff_free(osc_ntff *ntff)
{
    if (!ntff)
        return;
    osc_arena_free(ntff->arena);
    osc_free(ntff->chunks);
    osc_free(ntff->execs);
    osc_free(ntff);
}

const osc_ntff_header *osc_ntff_get_header(const osc_ntff *ntff)
{
    return &ntff->header;
}

const osc_ntff_exec *osc_ntff_execs(const osc_ntff *ntff, size_t *count)
{
    *count = ntff->exec_count;
    return ntff->execs;
}

uint64_t osc_ntff_event_count(const osc_ntff *ntff)
{
    return ntff->event_count;
}

static void decode_event(osc_cursor *c, osc_event *e)
{
    *e = (osc_event){0};
    e->kind = osc_cursor_u8(c);
    e->engine = osc_cursor_u8(c);
    e->opcode = osc_cursor_u8(c);
    e->ring = osc_cursor_u8(c);
    e->wait_kind = osc_cursor_u8(c);
    e->issuer = osc_cursor_u8(c);
    e->wait_sem = osc_cursor_u16(c);
    e->index = osc_cursor_u32(c);
    e->exec = osc_cursor_u32(c);
    e->ready_ns = osc_cursor_i64(c);
    e->start_ns = osc_cursor_i64(c);
    e->end_ns = osc_cursor_i64(c);
    e->a = osc_cursor_u64(c);
    e->b = osc_cursor_u64(c);
}

/* Index of the chunk that holds event number `event`, which exists. */
static size_t chunk_of(const osc_ntff *n, uint64_t event)
{
    size_t low = 0, high = n->chunk_count;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (n->chunks[mid].first <= event)
            low = mid;
        else
            high = mid;
    }
    return low;
}

size_t osc_ntff_events(const osc_ntff *ntff, uint64_t first, size_t n, osc_event *out)
{
    if (first >= ntff->event_count)
        return 0;
    size_t done = 0;
    for (size_t k = chunk_of(ntff, first); k < ntff->chunk_count && done < n; k++) {
        const struct chunk *ch = &ntff->chunks[k];
        for (uint64_t i = first + done - ch->first; i < ch->count && done < n; i++) {
            const unsigned char *at = ntff->data + ch->offset + i * ch->record_bytes;
            osc_cursor c = osc_cursor_make(at, OSC_NTFF_EVENT_BYTES);
            decode_event(&c, &out[done++]);
            assert(!c.failed);
        }
    }
    return done;
}

bool osc_ntff_complete(const osc_ntff *ntff)
{
    return ntff->has_end && !ntff->damaged;
}

int64_t osc_ntff_end_ns(const osc_ntff *ntff)
{
    return ntff->end_ns;
}

uint64_t osc_ntff_dropped_events(const osc_ntff *ntff)
{
    return ntff->dropped_events;
}

uint64_t osc_ntff_dropped_execs(const osc_ntff *ntff)
{
    return ntff->dropped_execs;
}
