/*
 * cursor.h - reading bytes that nobody promised are right.
 *
 * A cursor walks a memory range and never leaves it. A read past the end gives 0 (or an empty view),
 * sets the sticky error and does not move; the offset of the first failure is kept for the message.
 * So a decoder reads a whole record and checks once. Numbers are little endian unless named _be.
 * A cursor is a plain value: copy it to look ahead.
 */
#ifndef OSC_BASE_CURSOR_H
#define OSC_BASE_CURSOR_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_cursor {
    const unsigned char *data; /* start of the range, not owned */
    size_t len;                /* bytes in the range */
    size_t pos;                /* next byte to read, at most len */
    uint64_t base;             /* offset of data[0] in the whole input, for messages */
    bool failed;               /* a read went wrong; all later reads give 0 */
    bool malformed;            /* it failed on a bad varint rather than at the end */
    uint64_t failed_at;        /* absolute offset where the first failing read began */
} osc_cursor;

/* A cursor over len bytes at data, which must outlive it. */
osc_cursor osc_cursor_make(const void *data, size_t len);

/* The same for a part of an input: base is the absolute offset of data[0]. */
osc_cursor osc_cursor_make_at(const void *data, size_t len, uint64_t base);

/* Bytes left; 0 once failed. */
size_t osc_cursor_left(const osc_cursor *c);

/* True when no byte is left (or it failed). */
bool osc_cursor_done(const osc_cursor *c);

/* Absolute offset of the next byte. */
uint64_t osc_cursor_offset(const osc_cursor *c);

/* Marks the cursor failed at its present place; for decoders that find a bad value. */
void osc_cursor_fail(osc_cursor *c);

uint8_t osc_cursor_u8(osc_cursor *c);
uint16_t osc_cursor_u16(osc_cursor *c);
uint32_t osc_cursor_u32(osc_cursor *c);
uint64_t osc_cursor_u64(osc_cursor *c);
int64_t osc_cursor_i64(osc_cursor *c);
float osc_cursor_f32(osc_cursor *c);
double osc_cursor_f64(osc_cursor *c);

/* LEB128 up to 64 bits. More than ten bytes, or bits beyond 64, is malformed. */
uint64_t osc_cursor_varint(osc_cursor *c);

/* View of the next n bytes in place; empty on failure. */
osc_str osc_cursor_bytes(osc_cursor *c, size_t n);

/* A u32 length and that many bytes, in place. */
osc_str osc_cursor_str32(osc_cursor *c);

/* Copies the next n bytes to out; on failure out is zeroed. */
void osc_cursor_copy(osc_cursor *c, void *out, size_t n);

void osc_cursor_skip(osc_cursor *c, size_t n);

/* Moves to an offset relative to data[0]; fails when beyond the end. */
void osc_cursor_seek(osc_cursor *c, size_t pos);

/* A cursor over the next n bytes, which this one skips; born failed when they are not all there. */
osc_cursor osc_cursor_sub(osc_cursor *c, size_t n);

/*
 * OSC_OK, or OSC_ETRUNCATED / OSC_EFORMAT with the message "<what> ends early" or
 * "<what> holds a malformed number" at the failing offset. input may be NULL.
 */
osc_status osc_cursor_status(const osc_cursor *c, const char *input, const char *what,
                             osc_err *err) OSC_MUST_CHECK;

#endif
