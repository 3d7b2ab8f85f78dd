/*
 * source.h - a stream of bytes from wherever a trace lies: a file, a pipe, standard input; plain,
 * gzip or zstd, told apart by content.
 *
 * Compressed input is inflated on a thread of its own, ahead of the reader, into buffers that are
 * used again and again; several members or frames in a row count as one stream. Reading is bounded:
 * what is inflated may not exceed a stated multiple of the compressed bytes nor a stated total.
 */
#ifndef OSC_BASE_SOURCE_H
#define OSC_BASE_SOURCE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_source osc_source;

typedef enum osc_source_form {
    OSC_SOURCE_PLAIN = 0,
    OSC_SOURCE_GZIP = 1,
    OSC_SOURCE_ZSTD = 2
} osc_source_form;

typedef struct osc_source_options {
    uint64_t
        max_bytes;  /* ceiling for the stream, inflated; 0: none for plain regular files, else the
                           default limit of source.c, stated in its message */
    bool no_thread; /* inflate on the reader's thread */
} osc_source_options;

/*
 * Opens path ("-": standard input). Directories, missing files and unreadable ones fail with a
 * message that names the path. *out is NULL on failure; freed with osc_source_close.
 */
osc_status osc_source_open(const char *path, const osc_source_options *options, osc_source **out,
                           osc_err *err) OSC_MUST_CHECK;

/* Closes, joins the thread, frees; NULL allowed. */
void osc_source_close(osc_source *s);

/*
 * Fills buf with up to n > 0 bytes of the stream; *got is less than n only where the stream ends or
 * breaks, and 0 after that. The call that meets damage fails, and its *got bytes, all those before
 * the damage, are good: OSC_ETRUNCATED (cut) or OSC_EFORMAT (damaged), with the offset in the
 * compressed file; OSC_EUNSUPPORTED when a ceiling is met; OSC_EIO when the system refuses. Every
 * later call fails in the same way with 0 bytes. One thread at a time.
 */
osc_status osc_source_read(osc_source *s, void *buf, size_t n, size_t *got,
                           osc_err *err) OSC_MUST_CHECK;

/*
 * Bytes [at, at + n) of a plain regular file, independent of the stream's position; *got is less
 * than n only at the end of the file. Any thread. Only where osc_source_seekable.
 */
osc_status osc_source_read_at(osc_source *s, uint64_t at, void *buf, size_t n, size_t *got,
                              osc_err *err) OSC_MUST_CHECK;

/* True for a plain regular file. */
bool osc_source_seekable(const osc_source *s);

osc_source_form osc_source_form_of(const osc_source *s);

/* Size in bytes of the file as it lies on disk when it was opened; 0 when not known (pipe). */
uint64_t osc_source_file_size(const osc_source *s);

/* Bytes of the file consumed so far, compressed ones for a compressed file; for progress. Any
 * thread. */
uint64_t osc_source_file_position(const osc_source *s);

/* After the end: bytes behind the last gzip member or zstd frame that are neither zeros nor a
 * member. */
uint64_t osc_source_trailing_garbage(const osc_source *s);

/* Which libraries this build can use, e.g. "gzip by ISA-L or zlib, zstd". Static storage. */
const char *osc_source_built_with(void);

#endif
