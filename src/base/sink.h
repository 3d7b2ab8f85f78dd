/*
 * sink.h - a stream of bytes into a file, plain, gzip or zstd by the file's name.
 *
 * The file appears under its name only when all is written (osc_sink_commit); until then, and when
 * the process dies, the name keeps what it had. One thread at a time.
 */
#ifndef OSC_BASE_SINK_H
#define OSC_BASE_SINK_H

#include "base/source.h"
#include "base/status.h"

#include <stddef.h>

typedef struct osc_sink osc_sink;

/* What the name asks for: ".gz" gzip, ".zst" zstd, else plain. */
osc_source_form osc_sink_form_of(const char *path);

/*
 * Opens a temporary file beside path; "-" is standard output, which cannot be taken back.
 * OSC_EUNSUPPORTED when this build or machine cannot compress so. *out is NULL on failure.
 */
osc_status osc_sink_open(const char *path, osc_sink **out, osc_err *err) OSC_MUST_CHECK;

/* Writes n bytes. After a failure (OSC_EIO with the system's reason, OSC_ENOMEM) only osc_sink_drop
 * is allowed. */
osc_status osc_sink_write(osc_sink *s, const void *bytes, size_t n, osc_err *err) OSC_MUST_CHECK;

/* Ends the stream, puts the file in its place and frees the sink; on failure as osc_sink_drop. */
osc_status osc_sink_commit(osc_sink *s, osc_err *err) OSC_MUST_CHECK;

/* Removes what was written and frees; NULL allowed. */
void osc_sink_drop(osc_sink *s);

#endif
