/*
 * kineto.h - reads a Chrome trace as PyTorch's profilers write it (kineto-trace-format.md) into a
 * store.
 *
 * Takes every era and all five writers (1.1, 1.4): object or bare array, any key order, integer or
 * fractional microseconds with or without a base time, categories by old and new names, ids as
 * numbers or texts. Damage is repaired where one reading makes sense and noted with count and
 * offset; a file cut anywhere gives its complete events.
 */
#ifndef OSC_READ_KINETO_H
#define OSC_READ_KINETO_H

#include "base/simd.h"
#include "base/source.h"
#include "base/status.h"
#include "base/str.h"
#include "scope/read/open.h"
#include "scope/store/store.h"

#include <stddef.h>

typedef struct osc_kineto_context {
    const char *input; /* file name for messages */
    osc_str instance;  /* instance the process ran on; empty: the file's host_name, else "local" */
    osc_str pid;       /* process id; empty: that of the first host thread */
    osc_str head;      /* bytes of the source that the caller has taken from it already */
    const osc_open_options *options; /* what to leave out, threads, progress; NULL: all, defaults */
    /* for tests, which compare the ways to the same rows */
    bool reference; /* every event through the reference scanner, none through the fast reader */
    osc_simd_level simd; /* OSC_SIMD_BEST, or a lower level */
    size_t window;       /* first size of the window, 0: feed.h's */
    size_t block;        /* size of a thread's block, 0: kineto_blocks.c's */
} osc_kineto_context;

/*
 * Adds the events of a source, from its position on, to store, with times on the UNIX clock when
 * the file says so. Sets metadata by the file's top-level keys ("trace_id", "host_name", ...) and,
 * derived:
 *
 *     device_name     name a backend gives itself ("NEURON"), from deviceProperties or process names
 *     profile_memory  "1" when memory was recorded
 *     base_time_ns    the file's time base, absent in files without one
 *     event_count     events of any phase
 *
 * OSC_EFORMAT when it is no trace at all; OSC_ENOMEM.
 */
OSC_MUST_CHECK osc_status osc_kineto_read_source(osc_store *store, osc_source *source,
                                                 const osc_kineto_context *context, osc_err *err);

/* The same for len bytes at data, on the calling thread. */
OSC_MUST_CHECK osc_status osc_kineto_read(osc_store *store, const char *data, size_t len,
                                          const osc_kineto_context *context, osc_err *err);

#endif
