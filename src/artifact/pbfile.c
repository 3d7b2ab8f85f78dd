/*
 * pbfile.c - see pbfile.h.
 */
#include "artifact/pbfile.h"

#include "artifact/session.h"
#include "base/hash.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Field numbers of Header. */
enum { HEADER_MAGIC = 1, HEADER_MAJOR = 2, HEADER_MINOR = 3 };

static uint32_t record_crc(uint32_t field, const void *content, size_t len)
{
    unsigned char kind = (unsigned char)field;
    assert(field <= UINT8_MAX);
    return osc_crc32c(osc_crc32c(0, &kind, 1), content, len);
}

struct pbfile_mark pbfile_begin(osc_buf *b, uint32_t field)
{
    struct pbfile_mark m = {.mark = osc_pb_begin(b, field), .field = field};
    m.content = b->len;
    return m;
}

void pbfile_end(osc_buf *b, struct pbfile_mark m)
{
    if (!b->failed) {
        assert(b->len >= m.content);
        osc_pb_fixed32(b, PBFILE_CRC, record_crc(m.field, b->data + m.content, b->len - m.content));
    }
    osc_pb_end(b, m.mark);
}

void pbfile_put_u64(osc_buf *b, uint32_t field, uint64_t value)
{
    if (value != 0)
        osc_pb_u64(b, field, value);
}

void pbfile_put_i64(osc_buf *b, uint32_t field, int64_t value)
{
    if (value != 0)
        osc_pb_i64(b, field, value);
}

void pbfile_put_fixed64(osc_buf *b, uint32_t field, uint64_t value)
{
    if (value != 0)
        osc_pb_fixed64(b, field, value);
}

void pbfile_put_str(osc_buf *b, uint32_t field, osc_str value)
{
    if (value.len != 0)
        osc_pb_str(b, field, value);
}

void pbfile_header(osc_buf *b, osc_systrace_kind kind)
{
    struct pbfile_mark m = pbfile_begin(b, PBFILE_HEADER);
    osc_pb_cstr(b, HEADER_MAGIC, osc_systrace_magic(kind));
    pbfile_put_u64(b, HEADER_MAJOR, OSC_SYSTRACE_MAJOR);
    pbfile_put_u64(b, HEADER_MINOR, OSC_SYSTRACE_MINOR);
    pbfile_end(b, m);
}

/* Splits a record into content and checksum; false when they do not belong together. */
static bool check_record(const osc_pb_field *f, const osc_cursor *parent, osc_cursor *content)
{
    if (f->wire != OSC_PB_BYTES || f->bytes.len < PBFILE_CRC_BYTES)
        return false;
    osc_cursor whole = osc_pb_sub(f, parent);
    *content = osc_cursor_sub(&whole, f->bytes.len - PBFILE_CRC_BYTES);
    osc_pb_field crc;
    if (!osc_pb_next(&whole, &crc) || crc.number != PBFILE_CRC || crc.wire != OSC_PB_FIXED32)
        return false;
    return crc.value == record_crc(f->number, content->data, content->len);
}

/* ---- header ---- */

static bool find_kind(osc_str magic, osc_systrace_kind *kind)
{
    for (int k = OSC_SYSTRACE_NTRACE; k <= OSC_SYSTRACE_INFO; k++) {
        if (osc_str_eq_cstr(magic, osc_systrace_magic((osc_systrace_kind)k))) {
            *kind = (osc_systrace_kind)k;
            return true;
        }
    }
    return false;
}

static osc_status read_header(struct pbfile *f, osc_cursor content, osc_err *err)
{
    osc_pb_field field;
    osc_str magic = {0};
    uint64_t major = 0, minor = 0;
    while (osc_pb_next(&content, &field)) {
        if (field.number == HEADER_MAGIC)
            magic = osc_pb_get_str(&field);
        else if (field.number == HEADER_MAJOR)
            major = osc_pb_get_u64(&field);
        else if (field.number == HEADER_MINOR)
            minor = osc_pb_get_u64(&field);
    }
    if (content.failed || !find_kind(magic, &f->kind))
        return osc_fail(err, OSC_EFORMAT, f->input, 0,
                        "the header names no kind of file this program knows");
    if (major > OSC_SYSTRACE_MAJOR)
        return osc_fail(err, OSC_EVERSION, f->input, 0,
                        "%s version %" PRIu64 ".%" PRIu64
                        "; this program reads up to %u.x: use the "
                        "opscope that wrote it, or a newer one",
                        osc_systrace_magic(f->kind), major, minor, OSC_SYSTRACE_MAJOR);
    if (major == 0)
        return osc_fail(err, OSC_EFORMAT, f->input, 0, "the header holds no version");
    f->major = (uint32_t)major;
    f->minor = minor > UINT32_MAX ? UINT32_MAX : (uint32_t)minor;
    return OSC_OK;
}

/* What to say of a file that does not begin with our header record. */
static osc_status refuse(const struct pbfile *f, const void *data, size_t len, osc_err *err)
{
    osc_sniff sniff;
    osc_sniff_bytes(f->input, data, len, len, &sniff);
    if (sniff.origin == OSC_ORIGIN_VENDOR)
        return osc_foreign_fail(f->input, sniff.kind, err);
    if (sniff.origin == OSC_ORIGIN_OURS)
        return osc_fail(err, OSC_EFORMAT, f->input, 0,
                        "the header's checksum is wrong: the file is damaged");
    return osc_fail(err, OSC_EFORMAT, f->input, 0, "this is not a system-trace file");
}

osc_status pbfile_open(struct pbfile *f, const void *data, size_t len, const char *input,
                       osc_findings *findings, osc_err *err)
{
    *f = (struct pbfile){.at = osc_cursor_make(data, len), .input = input, .findings = findings};
    if (len == 0)
        return osc_fail(err, OSC_ETRUNCATED, input, 0,
                        "the file is empty: the capture did not start");
    osc_pb_field field;
    osc_cursor content;
    if (!osc_pb_next(&f->at, &field)) {
        osc_sniff sniff;
        osc_sniff_bytes(input, data, len, len, &sniff);
        if (f->at.failed && !f->at.malformed && sniff.origin == OSC_ORIGIN_OURS)
            return osc_fail(err, OSC_ETRUNCATED, input, len,
                            "the file ends inside its header; nothing was captured");
        return refuse(f, data, len, err);
    }
    if (field.number != PBFILE_HEADER || !check_record(&field, &f->at, &content))
        return refuse(f, data, len, err);
    return read_header(f, content, err);
}

/* ---- records ---- */

void pbfile_bad_record(struct pbfile *f, uint64_t offset, const char *what)
{
    f->damaged = true;
    osc_findings_add(f->findings, "damaged-record", OSC_SEV_ERROR, OSC_EFORMAT, f->input, offset,
                     "%s; the record is skipped", what);
}

pbfile_step pbfile_next(struct pbfile *f, uint32_t *field, osc_cursor *body, uint64_t *offset)
{
    osc_pb_field record;
    for (;;) {
        *offset = osc_cursor_offset(&f->at);
        if (!osc_pb_next(&f->at, &record))
            return f->at.failed ? PBFILE_CUT : PBFILE_DONE;
        if (record.number > PBFILE_END) {
            osc_findings_add(f->findings, "unknown-field", OSC_SEV_NOTE, OSC_OK, f->input, *offset,
                             "field %u, which this version does not know; skipped", record.number);
            continue;
        }
        if (check_record(&record, &f->at, body))
            break;
        pbfile_bad_record(f, *offset, "its checksum is wrong");
    }
    *field = record.number;
    return PBFILE_RECORD;
}
