/*
 * pb.c - see pb.h.
 */
#include "base/pb.h"

#include <assert.h>
#include <string.h>

uint64_t osc_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

int64_t osc_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

void osc_pb_tag(osc_buf *b, uint32_t field, osc_pb_wire wire)
{
    assert(field >= 1 && field <= OSC_PB_MAX_FIELD);
    osc_buf_varint(b, (uint64_t)field << 3 | (uint64_t)wire);
}

void osc_pb_u64(osc_buf *b, uint32_t field, uint64_t value)
{
    osc_pb_tag(b, field, OSC_PB_VARINT);
    osc_buf_varint(b, value);
}

void osc_pb_i64(osc_buf *b, uint32_t field, int64_t value)
{
    osc_pb_u64(b, field, (uint64_t)value);
}

void osc_pb_s64(osc_buf *b, uint32_t field, int64_t value)
{
    osc_pb_u64(b, field, osc_zigzag(value));
}

void osc_pb_bool(osc_buf *b, uint32_t field, bool value)
{
    osc_pb_u64(b, field, value ? 1 : 0);
}

void osc_pb_fixed64(osc_buf *b, uint32_t field, uint64_t value)
{
    osc_pb_tag(b, field, OSC_PB_FIXED64);
    osc_buf_u64(b, value);
}

void osc_pb_fixed32(osc_buf *b, uint32_t field, uint32_t value)
{
    osc_pb_tag(b, field, OSC_PB_FIXED32);
    osc_buf_u32(b, value);
}

void osc_pb_double(osc_buf *b, uint32_t field, double value)
{
    osc_pb_tag(b, field, OSC_PB_FIXED64);
    osc_buf_f64(b, value);
}

void osc_pb_float(osc_buf *b, uint32_t field, float value)
{
    osc_pb_tag(b, field, OSC_PB_FIXED32);
    osc_buf_f32(b, value);
}

void osc_pb_bytes(osc_buf *b, uint32_t field, const void *data, size_t len)
{
    osc_pb_tag(b, field, OSC_PB_BYTES);
    osc_buf_varint(b, len);
    osc_buf_append(b, data, len);
}

void osc_pb_str(osc_buf *b, uint32_t field, osc_str value)
{
    if (osc_utf8_valid(value)) {
        osc_pb_bytes(b, field, value.ptr, value.len);
        return;
    }
    size_t mark = osc_pb_begin(b, field);
    for (size_t pos = 0; pos < value.len && !b->failed;) {
        char utf8[4];
        size_t n = osc_utf8_put(osc_utf8_next(value, &pos), utf8);
        osc_buf_append(b, utf8, n);
    }
    osc_pb_end(b, mark);
}

void osc_pb_cstr(osc_buf *b, uint32_t field, const char *value)
{
    osc_pb_str(b, field, osc_str_from_cstr(value));
}

/* One byte is kept for the length: most messages are shorter than 128 bytes and need no move. */
size_t osc_pb_begin(osc_buf *b, uint32_t field)
{
    osc_pb_tag(b, field, OSC_PB_BYTES);
    osc_buf_u8(b, 0);
    return b->len;
}

void osc_pb_end(osc_buf *b, size_t mark)
{
    if (b->failed)
        return;
    assert(mark >= 1 && mark <= b->len);
    size_t len = b->len - mark, extra = 0;
    for (size_t rest = len >> 7; rest > 0; rest >>= 7)
        extra++;
    if (!osc_buf_extend(b, extra))
        return;
    unsigned char *body = b->data + mark;
    if (extra > 0)
        memmove(body + extra, body, len);
    unsigned char *to = body - 1;
    for (size_t rest = len;; rest >>= 7) {
        *to++ = (unsigned char)(rest >= 0x80 ? (rest & 0x7f) | 0x80 : rest);
        if (rest < 0x80)
            break;
    }
    assert(to == body + extra);
}

bool osc_pb_next(osc_cursor *c, osc_pb_field *f)
{
    memset(f, 0, sizeof *f);
    if (osc_cursor_done(c))
        return false;
    f->offset = osc_cursor_offset(c);
    osc_cursor before = *c;
    uint64_t tag = osc_cursor_varint(c);
    if (c->failed)
        return false;
    uint64_t number = tag >> 3;
    if (number < 1 || number > OSC_PB_MAX_FIELD) {
        *c = before;
        osc_cursor_fail(c);
        return false;
    }
    f->number = (uint32_t)number;
    switch (tag & 7) {
    case OSC_PB_VARINT: f->value = osc_cursor_varint(c); break;
    case OSC_PB_FIXED64: f->value = osc_cursor_u64(c); break;
    case OSC_PB_FIXED32: f->value = osc_cursor_u32(c); break;
    case OSC_PB_BYTES: {
        uint64_t len = osc_cursor_varint(c);
        f->bytes = osc_cursor_bytes(c, len > SIZE_MAX ? SIZE_MAX : (size_t)len);
        break;
    }
    default:
        *c = before;
        osc_cursor_fail(c);
        return false;
    }
    f->wire = (osc_pb_wire)(tag & 7);
    return !c->failed;
}

osc_cursor osc_pb_sub(const osc_pb_field *f, const osc_cursor *parent)
{
    if (f->wire != OSC_PB_BYTES) {
        osc_cursor bad = osc_cursor_make_at(NULL, 0, f->offset);
        osc_cursor_fail(&bad);
        return bad;
    }
    uint64_t base = parent->base;
    if (f->bytes.ptr && parent->data)
        base += (uint64_t)((const unsigned char *)f->bytes.ptr - parent->data);
    return osc_cursor_make_at(f->bytes.ptr, f->bytes.len, base);
}

uint64_t osc_pb_get_u64(const osc_pb_field *f)
{
    return f->wire == OSC_PB_BYTES ? 0 : f->value;
}

int64_t osc_pb_get_i64(const osc_pb_field *f)
{
    return (int64_t)osc_pb_get_u64(f);
}

int64_t osc_pb_get_s64(const osc_pb_field *f)
{
    return osc_unzigzag(f->wire == OSC_PB_VARINT ? f->value : 0);
}

double osc_pb_get_double(const osc_pb_field *f)
{
    double d = 0.0;
    if (f->wire == OSC_PB_FIXED64) {
        memcpy(&d, &f->value, sizeof d);
    } else if (f->wire == OSC_PB_FIXED32) {
        uint32_t bits = (uint32_t)f->value;
        float v;
        memcpy(&v, &bits, sizeof v);
        d = (double)v;
    }
    return d;
}

osc_str osc_pb_get_str(const osc_pb_field *f)
{
    return f->wire == OSC_PB_BYTES ? f->bytes : osc_str_make(NULL, 0);
}
