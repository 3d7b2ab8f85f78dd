/*
 * buf.h - a growing byte buffer with a ceiling and a sticky failure.
 *
 * Writers append dozens of pieces and check once: after the first failure (memory out, ceiling
 * reached) every further append does nothing and `failed` stays set. Multi-byte numbers are written
 * little endian. A buffer belongs to one thread at a time.
 */
#ifndef OSC_BASE_BUF_H
#define OSC_BASE_BUF_H

#include "base/status.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_buf {
    unsigned char *data; /* owned; NULL while nothing was appended */
    size_t len;          /* bytes in use */
    size_t cap;          /* bytes allocated */
    size_t max;          /* ceiling for len */
    bool failed;         /* an append was refused; data up to len is what fitted before */
} osc_buf;

/* Starts an empty buffer that may grow to max bytes (SIZE_MAX: no ceiling). Allocates nothing. */
void osc_buf_init(osc_buf *b, size_t max);

/* Frees the bytes and leaves an empty buffer with the same ceiling, not failed. NULL allowed. */
void osc_buf_free(osc_buf *b);

/* Empties the buffer and clears `failed`; keeps the memory. */
void osc_buf_clear(osc_buf *b);

/* Shortens to len (no effect when already shorter). */
void osc_buf_truncate(osc_buf *b, size_t len);

/* Makes room for n more bytes. False (and failed) when that is over the ceiling or memory is out. */
bool osc_buf_reserve(osc_buf *b, size_t n);

/* Appends n bytes and returns where they start, for the caller to fill; NULL on failure. */
unsigned char *osc_buf_extend(osc_buf *b, size_t n);

void osc_buf_append(osc_buf *b, const void *bytes, size_t n);
void osc_buf_str(osc_buf *b, osc_str s);
void osc_buf_cstr(osc_buf *b, const char *cstr);
void osc_buf_putc(osc_buf *b, char c);

/* n times the byte c. */
void osc_buf_fill(osc_buf *b, char c, size_t n);

void osc_buf_printf(osc_buf *b, const char *fmt, ...) OSC_PRINTF(2, 3);
void osc_buf_vprintf(osc_buf *b, const char *fmt, va_list args) OSC_PRINTF(2, 0);

/* Little endian numbers. */
void osc_buf_u8(osc_buf *b, uint8_t v);
void osc_buf_u16(osc_buf *b, uint16_t v);
void osc_buf_u32(osc_buf *b, uint32_t v);
void osc_buf_u64(osc_buf *b, uint64_t v);
void osc_buf_i64(osc_buf *b, int64_t v);
void osc_buf_f32(osc_buf *b, float v);
void osc_buf_f64(osc_buf *b, double v);

/* LEB128, the protobuf varint: 7 bits a byte, low first. */
void osc_buf_varint(osc_buf *b, uint64_t v);

/* A u32 length followed by the bytes; failed when s is 4 GiB or longer. */
void osc_buf_str32(osc_buf *b, osc_str s);

/* Overwrites 4 or 8 bytes at offset `at`, which must lie wholly inside len (else failed). */
void osc_buf_patch_u32(osc_buf *b, size_t at, uint32_t v);
void osc_buf_patch_u64(osc_buf *b, size_t at, uint64_t v);

/* View of the content; valid until the next append. */
osc_str osc_buf_view(const osc_buf *b);

/* The content with a NUL after it (not counted in len); "" on an empty or failed buffer. */
const char *osc_buf_c_str(osc_buf *b);

/*
 * Hands the bytes to the caller (a NUL follows them), who frees them with osc_free; the buffer is empty afterwards.
 * NULL (and *len 0) when the buffer is empty or failed.
 */
unsigned char *osc_buf_take(osc_buf *b, size_t *len);

/* OSC_OK, or OSC_ENOMEM with a message that names `what` and the ceiling when the buffer failed. */
osc_status osc_buf_status(const osc_buf *b, const char *what, osc_err *err) OSC_MUST_CHECK;

#endif
