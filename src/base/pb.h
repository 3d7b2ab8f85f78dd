/*
 * pb.h - the protobuf wire format, both ways, without a compiler or a library.
 *
 * Only the wire is here: field numbers and meanings live in the .proto files under docs/formats and in
 * the artifact room. The reader takes fields in any order and lets the caller skip what it does not
 * know. Groups (wire types 3 and 4) are refused: no file of ours has them.
 */
#ifndef OSC_BASE_PB_H
#define OSC_BASE_PB_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum osc_pb_wire {
    OSC_PB_VARINT = 0,
    OSC_PB_FIXED64 = 1,
    OSC_PB_BYTES = 2,
    OSC_PB_FIXED32 = 5
} osc_pb_wire;

/* Largest field number the format allows. */
#define OSC_PB_MAX_FIELD 536870911u

/* Writer: each call appends one field. All are sticky through the buffer. */
void osc_pb_tag(osc_buf *b, uint32_t field, osc_pb_wire wire);
void osc_pb_u64(osc_buf *b, uint32_t field, uint64_t value); /* uint32, uint64, enum */
void osc_pb_i64(osc_buf *b, uint32_t field, int64_t value);  /* int32, int64: negative = 10 bytes */
void osc_pb_s64(osc_buf *b, uint32_t field, int64_t value);  /* sint64: zigzag */
void osc_pb_bool(osc_buf *b, uint32_t field, bool value);
void osc_pb_fixed64(osc_buf *b, uint32_t field, uint64_t value);
void osc_pb_fixed32(osc_buf *b, uint32_t field, uint32_t value);
void osc_pb_double(osc_buf *b, uint32_t field, double value);
void osc_pb_float(osc_buf *b, uint32_t field, float value);
void osc_pb_bytes(osc_buf *b, uint32_t field, const void *data, size_t len);

/* A string field; bytes that are not UTF-8 become U+FFFD, as other readers refuse the message. */
void osc_pb_str(osc_buf *b, uint32_t field, osc_str value);
void osc_pb_cstr(osc_buf *b, uint32_t field, const char *value);

/*
 * A nested message written in place: the returned mark goes to osc_pb_end, which puts the length in
 * front (moving the bytes when it needs more than one length byte). Marks nest like brackets.
 *
 *     size_t m = osc_pb_begin(b, 3);
 *     osc_pb_u64(b, 1, 42);
 *     osc_pb_end(b, m);
 */
size_t osc_pb_begin(osc_buf *b, uint32_t field);
void osc_pb_end(osc_buf *b, size_t mark);

/* Zigzag maps small negative numbers to small unsigned ones. */
uint64_t osc_zigzag(int64_t value);
int64_t osc_unzigzag(uint64_t value);

/* One field read. */
typedef struct osc_pb_field {
    uint32_t number;  /* field number, 1 to OSC_PB_MAX_FIELD */
    osc_pb_wire wire; /* which of the two below holds it */
    uint64_t value;   /* VARINT, FIXED64, FIXED32: the bits */
    osc_str bytes;    /* BYTES: view into the input */
    uint64_t offset;  /* absolute offset of the tag */
} osc_pb_field;

/*
 * Next field of the message under the cursor. True with *f; false at the end of the message or when
 * the bytes are bad - the cursor's failed flag tells which.
 */
bool osc_pb_next(osc_cursor *c, osc_pb_field *f);

/* A cursor over a BYTES field's content, with right absolute offsets; born failed for other wires. */
osc_cursor osc_pb_sub(const osc_pb_field *f, const osc_cursor *parent);

/* The field as the given kind. Wrong wire type gives 0 / 0.0 / the empty view. */
uint64_t osc_pb_get_u64(const osc_pb_field *f);
int64_t osc_pb_get_i64(const osc_pb_field *f);
int64_t osc_pb_get_s64(const osc_pb_field *f);
double osc_pb_get_double(const osc_pb_field *f);
osc_str osc_pb_get_str(const osc_pb_field *f);

#endif
