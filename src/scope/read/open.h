/*
 * open.h - opens whatever a path names: a trace file, a session directory, or a parent of one.
 *
 * Files are known by content, not by name. What cannot be read is named, with the way out.
 */
#ifndef OSC_READ_OPEN_H
#define OSC_READ_OPEN_H

#include "base/status.h"
#include "scope/store/store.h"

#include <stddef.h>

typedef struct osc_open_options {
    size_t max_bytes; /* ceiling for one file, inflated; 0: 64 GiB, 4 for a pipe */
    bool device;      /* also read device events and programs (.ntff, .neff); slower */
} osc_open_options;

/*
 * A sealed store with all that was read. *out is NULL on failure: OSC_ENOTFOUND (with the nearest
 * name in that directory), OSC_EFORMAT, OSC_EFOREIGN (a vendor's closed file, with the command that
 * makes it readable), OSC_EUNSUPPORTED (a file of ours that is no trace: says what to do with it),
 * OSC_EIO, OSC_ENOMEM. Metadata "source" says what was opened: "trace" or "session".
 */
OSC_MUST_CHECK osc_status osc_open(const char *path, const osc_open_options *options,
                                   osc_store **out, osc_err *err);

/*
 * Bytes of a trace file, inflated when compressed; a compressed file cut short gives what is there
 * and notes it in store. *data is freed by the caller with osc_free.
 */
OSC_MUST_CHECK osc_status osc_trace_load(osc_store *store, const char *path, size_t max,
                                         char **data, size_t *len, osc_err *err);

/* Reads a session (artifact/session.h) that path names into store; used by osc_open. */
OSC_MUST_CHECK osc_status osc_session_read(osc_store *store, const char *path,
                                           const osc_open_options *options, osc_err *err);

#endif
