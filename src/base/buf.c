/*
 * buf.c - see buf.h.
 */
#include "base/buf.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAP 64

void osc_buf_init(osc_buf *b, size_t max)
{
    memset(b, 0, sizeof *b);
    b->max = max;
}

void osc_buf_free(osc_buf *b)
{
    if (!b)
        return;
    osc_free(b->data);
    osc_buf_init(b, b->max);
}

void osc_buf_clear(osc_buf *b)
{
    b->len = 0;
    b->failed = false;
}

void osc_buf_truncate(osc_buf *b, size_t len)
{
    if (len < b->len)
        b->len = len;
}

bool osc_buf_reserve(osc_buf *b, size_t n)
{
    size_t need;
    if (b->failed)
        return false;
    assert(b->len <= b->cap);
    if (n <= b->cap - b->len)
        return true;
    /* one byte more than cap is allocated, so that a NUL fits behind a full buffer */
    if (!osc_add_size(b->len, n, &need) || need > b->max || need == SIZE_MAX) {
        b->failed = true;
        return false;
    }
    size_t cap = b->cap ? b->cap : FIRST_CAP;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    if (cap > b->max)
        cap = b->max;
    unsigned char *data = osc_realloc(b->data, cap + 1);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

unsigned char *osc_buf_extend(osc_buf *b, size_t n)
{
    if (!osc_buf_reserve(b, n))
        return NULL;
    /* an extension by nothing of an empty buffer must still be a pointer */
    static unsigned char nothing[1];
    if (!b->data)
        return nothing;
    unsigned char *start = b->data + b->len;
    b->len += n;
    return start;
}

void osc_buf_append(osc_buf *b, const void *bytes, size_t n)
{
    unsigned char *to = osc_buf_extend(b, n);
    if (to && n > 0)
        memcpy(to, bytes, n);
}

void osc_buf_str(osc_buf *b, osc_str s)
{
    osc_buf_append(b, s.ptr, s.len);
}

void osc_buf_cstr(osc_buf *b, const char *cstr)
{
    osc_buf_append(b, cstr, strlen(cstr));
}

void osc_buf_putc(osc_buf *b, char c)
{
    osc_buf_u8(b, (uint8_t)c);
}

void osc_buf_fill(osc_buf *b, char c, size_t n)
{
    unsigned char *to = osc_buf_extend(b, n);
    if (to && n > 0)
        memset(to, c, n);
}

void osc_buf_vprintf(osc_buf *b, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    char small[256];
    int len = vsnprintf(small, sizeof small, fmt, args);
    if (len < 0) {
        b->failed = true;
    } else if ((size_t)len < sizeof small) {
        osc_buf_append(b, small, (size_t)len);
    } else if (osc_buf_reserve(b, (size_t)len)) {
        (void)vsnprintf((char *)b->data + b->len, (size_t)len + 1, fmt, again);
        b->len += (size_t)len;
    }
    va_end(again);
}

void osc_buf_printf(osc_buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    osc_buf_vprintf(b, fmt, args);
    va_end(args);
}

/* Stores the low n bytes of v, low first. */
static void put_le(unsigned char *to, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(v >> (8 * i));
}

static void append_le(osc_buf *b, uint64_t v, size_t n)
{
    unsigned char *to = osc_buf_extend(b, n);
    if (to)
        put_le(to, v, n);
}

void osc_buf_u8(osc_buf *b, uint8_t v)
{
    append_le(b, v, 1);
}

void osc_buf_u16(osc_buf *b, uint16_t v)
{
    append_le(b, v, 2);
}

void osc_buf_u32(osc_buf *b, uint32_t v)
{
    append_le(b, v, 4);
}

void osc_buf_u64(osc_buf *b, uint64_t v)
{
    append_le(b, v, 8);
}

void osc_buf_i64(osc_buf *b, int64_t v)
{
    append_le(b, (uint64_t)v, 8);
}

void osc_buf_f32(osc_buf *b, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    append_le(b, bits, 4);
}

void osc_buf_f64(osc_buf *b, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    append_le(b, bits, 8);
}

void osc_buf_varint(osc_buf *b, uint64_t v)
{
    unsigned char bytes[10];
    size_t n = 0;
    while (v >= 0x80) {
        bytes[n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (unsigned char)v;
    osc_buf_append(b, bytes, n);
}

void osc_buf_str32(osc_buf *b, osc_str s)
{
#if SIZE_MAX > UINT32_MAX
    if (s.len > UINT32_MAX) {
        b->failed = true;
        return;
    }
#endif
    osc_buf_u32(b, (uint32_t)s.len);
    osc_buf_str(b, s);
}

static void patch_le(osc_buf *b, size_t at, uint64_t v, size_t n)
{
    if (b->failed)
        return;
    if (at > b->len || b->len - at < n) {
        b->failed = true;
        return;
    }
    put_le(b->data + at, v, n);
}

void osc_buf_patch_u32(osc_buf *b, size_t at, uint32_t v)
{
    patch_le(b, at, v, 4);
}

void osc_buf_patch_u64(osc_buf *b, size_t at, uint64_t v)
{
    patch_le(b, at, v, 8);
}

osc_str osc_buf_view(const osc_buf *b)
{
    return osc_str_make((const char *)b->data, b->len);
}

const char *osc_buf_c_str(osc_buf *b)
{
    if (b->failed || b->len == 0)
        return "";
    b->data[b->len] = '\0';
    return (const char *)b->data;
}

unsigned char *osc_buf_take(osc_buf *b, size_t *len)
{
    unsigned char *data = NULL;
    *len = 0;
    if (b->failed || b->len == 0) {
        osc_buf_free(b);
        return NULL;
    }
    data = b->data;
    data[b->len] = 0;
    *len = b->len;
    osc_buf_init(b, b->max);
    return data;
}

osc_status osc_buf_status(const osc_buf *b, const char *what, osc_err *err)
{
    if (!b->failed)
        return OSC_OK;
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                    "no memory for %s (%zu bytes held, ceiling %zu)", what, b->len, b->max);
}
