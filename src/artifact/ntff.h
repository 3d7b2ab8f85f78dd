/*
 * ntff.h - our open NTFF: every captured execution of one NEFF on one core, and its device events.
 *
 * A fixed header, then append-only chunks, each with its own checksums: executions, events, drop
 * counters, end mark. A chunk is complete on disk or it is not there; a file cut at any byte keeps
 * all chunks before the cut. Byte-by-byte specification: docs/formats/ntff.md. The vendor's closed
 * format of the same extension is recognised (artifact/session.h) and refused here with
 * OSC_EFOREIGN.
 */
#ifndef OSC_ARTIFACT_NTFF_H
#define OSC_ARTIFACT_NTFF_H

#include "artifact/event.h"
#include "artifact/finding.h"
#include "base/status.h"
#include "base/str.h"
#include "isa/sheet.h" /* osc_generation */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OSC_NTFF_MAJOR        1u
#define OSC_NTFF_MINOR        0u
#define OSC_NTFF_HEADER_BYTES 192u
#define OSC_NTFF_EVENT_BYTES  56u

typedef struct osc_ntff_header {
    uint16_t major, minor;    /* set by the writer */
    uint64_t neff_hash;       /* the number in neff_<hash>_vnc_<n>.neff */
    uint8_t neff_uuid[16];    /* bytes 204..219 of that NEFF's header */
    uint32_t generation;      /* osc_generation */
    uint32_t core;            /* the <n> of vnc_<n> */
    uint32_t instance_index;  /* the <i> of instid_<i> */
    bool simulated;           /* the times come from a model */
    uint64_t pid;             /* of the captured process */
    int64_t capture_start_ns; /* host time the capture window opened */
    int64_t clock_origin_ns;  /* host time when the device clock showed 0, as the writer knows it */
    uint64_t clock_hz;        /* resolution of the device clock; 1,000,000,000 for times in ns */
    char instance_id[64];     /* "i-local", NUL-terminated */
} osc_ntff_header;

/*
 * One execution. Host times are ns since the UNIX epoch, *_dev_ns are device clock. nc_exec_running
 * is [start_ns, end_ns]: first the launch interval (the sum of the parts), then the device body.
 */
typedef struct osc_ntff_exec {
    uint64_t exec;            /* execution number on the core, from 1: osc_event.exec */
    uint64_t sequence;        /* nrta sequence id, 0 if none */
    uint64_t correlation;     /* framework correlation id, 0 if none */
    int64_t stream;           /* framework stream */
    int64_t thread_id;        /* OS thread that submitted */
    int64_t submit_ns;        /* host: handed to the queue */
    int64_t start_ns, end_ns; /* host: nc_exec_running */
    int64_t body_dev_ns;      /* device: preamble start */
    int64_t body_ns;          /* preamble start through postamble end */
    /* The execution's sync point: the same instant on both clocks. */
    int64_t sync_host_ns, sync_dev_ns;
    uint64_t events_dropped;      /* device events of this execution that were not kept */
    osc_str op;                   /* framework operator, "aten::mul"; "" if none */
    const osc_launch_part *parts; /* of the launch interval, in order */
    uint32_t part_count;          /* at most OSC_LAUNCH_PARTS_MAX */
} osc_ntff_exec;

/* ---- writing: one thread at a time per writer ---- */

typedef struct osc_ntff_writer osc_ntff_writer;

/*
 * Creates (empties) the file at path and writes the header at once. The header is copied. The
 * caller ends it with osc_ntff_writer_close. NULL in *out on failure (OSC_EIO, OSC_ENOMEM,
 * OSC_EINVAL for a bad header).
 */
osc_status osc_ntff_writer_open(const char *path, const osc_ntff_header *header,
                                osc_ntff_writer **out, osc_err *err) OSC_MUST_CHECK;

/*
 * Buffers one execution, or n events; everything is copied. About every 256 KiB the buffer goes to
 * the file by itself. A failure (disk full) loses what was buffered: it is counted, the count goes
 * into the file with the next chunk that fits, and the writer stays usable.
 */
osc_status osc_ntff_writer_exec(osc_ntff_writer *w, const osc_ntff_exec *exec,
                                osc_err *err) OSC_MUST_CHECK;
osc_status osc_ntff_writer_events(osc_ntff_writer *w, const osc_event *events, size_t n,
                                  osc_err *err) OSC_MUST_CHECK;

/* Adds to the counts of what the capture itself did not keep (event limit, memory). */
void osc_ntff_writer_dropped(osc_ntff_writer *w, uint64_t execs, uint64_t events);

/* Puts everything buffered into the file as complete chunks. */
osc_status osc_ntff_writer_flush(osc_ntff_writer *w, osc_err *err) OSC_MUST_CHECK;

/* Bytes in the file so far. */
uint64_t osc_ntff_writer_size(const osc_ntff_writer *w);

/*
 * Flushes, writes the end mark (end_ns: host time the window closed), syncs, closes, frees - freed
 * on failure too. NULL allowed (OSC_OK).
 */
osc_status osc_ntff_writer_close(osc_ntff_writer *w, int64_t end_ns, osc_err *err) OSC_MUST_CHECK;

/* ---- reading ---- */

typedef struct osc_ntff osc_ntff;

/*
 * Indexes len bytes at data, which must outlive the result; events are not copied. input names the
 * file in messages. Damage inside goes to findings (may be NULL) and the intact rest is kept:
 *   "truncated"      the file ends inside a chunk, or without end mark; offset: first byte not kept
 *   "damaged-chunk"  a chunk's payload checksum is wrong; the chunk is skipped
 *   "damaged-record" an execution whose times cannot be; skipped
 *   "damaged-header" a chunk's own header is wrong; nothing after it can be found
 *   "unknown-chunk"  a chunk type of a newer minor version; skipped (note)
 *   "missing-records" the end mark counts more than could be read
 *   "dropped"        the capture itself dropped executions or events
 *   "trailing-data"  bytes after the end mark
 * Fails only when the file header is unusable: OSC_ETRUNCATED (shorter than a header, or empty),
 * OSC_EFOREIGN (a vendor file), OSC_EFORMAT, OSC_EVERSION (newer major), OSC_ENOMEM. *out NULL
 * then. Memory: at most 8 bytes per byte of input plus 64 KiB (in practice well under 1: events
 * stay in place).
 */
osc_status osc_ntff_read(const void *data, size_t len, const char *input, osc_findings *findings,
                         osc_ntff **out, osc_err *err) OSC_MUST_CHECK;

/* Frees the index; NULL allowed. */
void osc_ntff_free(osc_ntff *ntff);

/* Everything below: any thread, valid until osc_ntff_free. */
const osc_ntff_header *osc_ntff_get_header(const osc_ntff *ntff);

/*
 * Executions in file order. Names and parts are views into the input or the index. Each has
 * start_ns <= end_ns, body_ns >= 0 and no negative part; end_ns - start_ns, end_ns - body_ns and
 * body_dev_ns + body_ns do not overflow.
 */
const osc_ntff_exec *osc_ntff_execs(const osc_ntff *ntff, size_t *count);

/* Number of events kept, over all executions. */
uint64_t osc_ntff_event_count(const osc_ntff *ntff);

/*
 * Decodes events [first, first + n) into out; returns how many there were (less at the end). Their
 * values are as the file has them: the caller checks kind, engine, times and exec.
 */
size_t osc_ntff_events(const osc_ntff *ntff, uint64_t first, size_t n, osc_event *out);

/* True when the end mark was there and nothing was damaged. */
bool osc_ntff_complete(const osc_ntff *ntff);

/* Host time the window closed; 0 when the end mark is missing. */
int64_t osc_ntff_end_ns(const osc_ntff *ntff);

/* What the capture itself did not keep: event limit, memory, disk full. */
uint64_t osc_ntff_dropped_events(const osc_ntff *ntff);
uint64_t osc_ntff_dropped_execs(const osc_ntff *ntff);

#endif
