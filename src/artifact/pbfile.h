/*
 * pbfile.h - the frame that all .pb files of ours share; internal to the artifact room.
 *
 * A file is one protobuf message whose fields are records: embedded messages that end in a CRC-32C.
 *
 *     field 1  Header {magic, major, minor}   first, once
 *     field 2..14  records                    any number
 *     field 15 End                            last, once; absent: the writer died
 *
 * Every record's last field is number 100, fixed32: CRC-32C over one byte holding the record's own
 * field number, then the record's bytes before that field. So a flipped bit shows even where it
 * only turns one kind of record into another. Number 100 is above all others: a protobuf library
 * that writes fields in order of their numbers reproduces our bytes.
 */
#ifndef OSC_ARTIFACT_PBFILE_H
#define OSC_ARTIFACT_PBFILE_H

#include "artifact/finding.h"
#include "artifact/systrace.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/pb.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PBFILE_HEADER    1u
#define PBFILE_END       15u
#define PBFILE_CRC       100u
#define PBFILE_CRC_BYTES 6u /* two bytes of tag, four of value */

/* An open record: where osc_pb_begin was, and where the content starts. */
struct pbfile_mark {
    size_t mark;
    size_t content;
    uint32_t field;
};

/* Writing one record: begin, osc_pb_* calls, end. Failures stick to the buffer. */
struct pbfile_mark pbfile_begin(osc_buf *b, uint32_t field);
void pbfile_end(osc_buf *b, struct pbfile_mark m);

/* Fields at proto3's default (0, the empty text) are not written. */
void pbfile_put_u64(osc_buf *b, uint32_t field, uint64_t value);
void pbfile_put_i64(osc_buf *b, uint32_t field, int64_t value);
void pbfile_put_fixed64(osc_buf *b, uint32_t field, uint64_t value);
void pbfile_put_str(osc_buf *b, uint32_t field, osc_str value);

/* The Header record of a kind. */
void pbfile_header(osc_buf *b, osc_systrace_kind kind);

/* A file being read. */
struct pbfile {
    osc_cursor at;
    const char *input;      /* not owned, may be NULL */
    osc_findings *findings; /* not owned, may be NULL */
    osc_systrace_kind kind;
    uint32_t major, minor;
    bool damaged; /* something was skipped or cut */
};

/* Checks the Header and leaves the cursor behind it. Failures as osc_systrace_open. */
osc_status pbfile_open(struct pbfile *f, const void *data, size_t len, const char *input,
                       osc_findings *findings, osc_err *err) OSC_MUST_CHECK;

typedef enum pbfile_step {
    PBFILE_RECORD = 0, /* *field and *body hold a record whose checksum is right */
    PBFILE_DONE = 1,   /* the bytes end at a border */
    PBFILE_CUT =
        2 /* they end inside a record, or make no sense; *offset says where. No finding is made */
} pbfile_step;

/*
 * Next record with a right checksum; damaged ones and unknown fields are counted and passed over.
 */
pbfile_step pbfile_next(struct pbfile *f, uint32_t *field, osc_cursor *body, uint64_t *offset);

/* Says that a record with a right checksum holds values that cannot be. */
void pbfile_bad_record(struct pbfile *f, uint64_t offset, const char *what);

#endif
