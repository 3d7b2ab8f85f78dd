/*
 * cursor.c - see cursor.h.
 */
#include "base/cursor.h"

#include <assert.h>
#include <string.h>

osc_cursor osc_cursor_make_at(const void *data, size_t len, uint64_t base)
{
    osc_cursor c = {.data = data, .len = len, .base = base};
    return c;
}

osc_cursor osc_cursor_make(const void *data, size_t len)
{
    return osc_cursor_make_at(data, len, 0);
}

size_t osc_cursor_left(const osc_cursor *c)
{
    assert(c->pos <= c->len);
    return c->failed ? 0 : c->len - c->pos;
}

bool osc_cursor_done(const osc_cursor *c)
{
    return osc_cursor_left(c) == 0;
}

uint64_t osc_cursor_offset(const osc_cursor *c)
{
    return c->base + c->pos;
}

/* The first failure stays; the position does not move any more. */
static void fail(osc_cursor *c, bool malformed)
{
    if (c->failed)
        return;
    c->failed = true;
    c->malformed = malformed;
    c->failed_at = osc_cursor_offset(c);
}

void osc_cursor_fail(osc_cursor *c)
{
    fail(c, true);
}

/* The next n bytes, which the cursor passes; NULL when they are not there. */
static const unsigned char *take(osc_cursor *c, size_t n)
{
    if (c->failed || n > c->len - c->pos) {
        fail(c, false);
        return NULL;
    }
    /* no arithmetic on a NULL range, even by 0 */
    const unsigned char *p = c->data ? c->data + c->pos : (const unsigned char *)"";
    c->pos += n;
    return p;
}

static uint64_t get_le(osc_cursor *c, size_t n)
{
    const unsigned char *p = take(c, n);
    uint64_t v = 0;
    if (!p)
        return 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint8_t osc_cursor_u8(osc_cursor *c)
{
    return (uint8_t)get_le(c, 1);
}

uint16_t osc_cursor_u16(osc_cursor *c)
{
    return (uint16_t)get_le(c, 2);
}

uint32_t osc_cursor_u32(osc_cursor *c)
{
    return (uint32_t)get_le(c, 4);
}

uint64_t osc_cursor_u64(osc_cursor *c)
{
    return get_le(c, 8);
}

int64_t osc_cursor_i64(osc_cursor *c)
{
    return (int64_t)get_le(c, 8);
}

float osc_cursor_f32(osc_cursor *c)
{
    uint32_t bits = osc_cursor_u32(c);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

double osc_cursor_f64(osc_cursor *c)
{
    uint64_t bits = osc_cursor_u64(c);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

uint64_t osc_cursor_varint(osc_cursor *c)
{
    if (c->failed)
        return 0;
    uint64_t v = 0;
    for (size_t i = 0; i < 10; i++) {
        if (i >= c->len - c->pos) {
            fail(c, false);
            return 0;
        }
        unsigned char byte = c->data[c->pos + i];
        if (i == 9 && byte > 1)
            break; /* bits beyond 64 */
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            c->pos += i + 1;
            return v;
        }
    }
    fail(c, true);
    return 0;
}

osc_str osc_cursor_bytes(osc_cursor *c, size_t n)
{
    const unsigned char *p = take(c, n);
    return p ? osc_str_make((const char *)p, n) : osc_str_make(NULL, 0);
}

osc_str osc_cursor_str32(osc_cursor *c)
{
    uint32_t n = osc_cursor_u32(c);
    return osc_cursor_bytes(c, n);
}

void osc_cursor_copy(osc_cursor *c, void *out, size_t n)
{
    const unsigned char *p = take(c, n);
    if (n == 0)
        return;
    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}

void osc_cursor_skip(osc_cursor *c, size_t n)
{
    (void)take(c, n);
}

void osc_cursor_seek(osc_cursor *c, size_t pos)
{
    if (c->failed)
        return;
    if (pos > c->len)
        fail(c, false);
    else
        c->pos = pos;
}

osc_cursor osc_cursor_sub(osc_cursor *c, size_t n)
{
    osc_cursor sub = osc_cursor_make_at(NULL, 0, osc_cursor_offset(c));
    const unsigned char *p = take(c, n);
    if (p) {
        sub.data = p;
        sub.len = n;
    } else {
        sub.failed = true;
        sub.malformed = c->malformed;
        sub.failed_at = c->failed_at;
    }
    return sub;
}

osc_status osc_cursor_status(const osc_cursor *c, const char *input, const char *what, osc_err *err)
{
    if (!c->failed)
        return OSC_OK;
    if (c->malformed)
        return osc_fail(err, OSC_EFORMAT, input, c->failed_at, "%s holds a malformed number", what);
    return osc_fail(err, OSC_ETRUNCATED, input, c->failed_at, "%s ends early", what);
}
