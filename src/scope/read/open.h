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

/* What a caller can do without; columns and tables left out take no memory (columns are then
 * NULL). */
#define OSC_OMIT_ARGS      0x01u /* slices.args_at, args_len */
#define OSC_OMIT_SHAPES    0x02u /* slices.shapes */
#define OSC_OMIT_SEQUENCES 0x04u /* table sequences */
#define OSC_OMIT_FLOWS     0x08u /* table flows */
#define OSC_OMIT_LAUNCHES  0x10u /* table launches, of trace files */

typedef enum osc_frames {
    OSC_FRAMES_KEEP = 0,
    OSC_FRAMES_DROP = 1,
    OSC_FRAMES_BY_ERA = 2 /* kept only where they are rows of key_averages (store/era.h) */
} osc_frames;

/* Told now and then how far reading is: bytes of the file done and in all (0: unknown), events so
 * far. Called from one thread at a time. */
typedef void (*osc_progress_fn)(void *context, uint64_t done, uint64_t all, uint64_t events);

typedef struct osc_open_options {
    size_t max_bytes; /* ceiling for one file, inflated; 0: the default of base/source.h */
    bool device;      /* also read device events and programs (.ntff, .neff); slower */
    uint32_t omit;    /* OSC_OMIT_* bits */
    osc_frames frames;
    uint32_t threads;         /* 0: one for each processor; the result is the same for any number */
    osc_progress_fn progress; /* NULL: none */
    void *progress_context;
} osc_open_options;

/*
 * A sealed store with all that was read. *out is NULL on failure: OSC_ENOTFOUND (with the nearest
 * name in that directory), OSC_EFORMAT, OSC_EFOREIGN (a vendor's closed file, with the command that
 * makes it readable), OSC_EUNSUPPORTED (a file of ours that is no trace: says what to do with it),
 * OSC_EIO, OSC_ENOMEM. Metadata "source" says what was opened: "trace" or "session".
 */
OSC_MUST_CHECK osc_status osc_open(const char *path, const osc_open_options *options,
                                   osc_store **out, osc_err *err);

/* Reads a session (artifact/session.h) that path names into store; used by osc_open. */
OSC_MUST_CHECK osc_status osc_session_read(osc_store *store, const char *path,
                                           const osc_open_options *options, osc_err *err);

#endif
