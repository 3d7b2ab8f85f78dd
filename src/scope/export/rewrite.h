/*
 * rewrite.h - a trace file written again: some of its events, and always in valid JSON.
 *
 * The input is read once as a stream; what is in memory is a window of it. Events that are fine are
 * copied byte by byte, others are repaired (repair.h), and what cannot be read at all is skipped
 * and counted.
 */
#ifndef OSC_EXPORT_REWRITE_H
#define OSC_EXPORT_REWRITE_H

#include "base/sink.h"
#include "base/source.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_rewriter osc_rewriter;

typedef struct osc_rewrite_filter {
    void *context;
    /* Whether an event of traceEvents is written; text begins at byte `at` of the input,
     * inflated. */
    bool (*keep)(void *context, osc_str text, uint64_t at);
    /* Called after the last event: may write more with osc_rewriter_put. NULL: none. */
    osc_status (*last)(void *context, osc_rewriter *w, osc_err *err);
} osc_rewrite_filter;

typedef struct osc_rewrite_stats {
    uint64_t read;         /* events of the input */
    uint64_t written;      /* events of the output */
    uint64_t repaired;     /* values that were no valid JSON: events, and members of the head */
    uint64_t first_repair; /* offset of the first of them, OSC_NO_OFFSET when none */
    uint64_t skipped;      /* places where bytes could not be read */
    bool truncated;        /* the input ends inside a value or without its last bracket */
} osc_rewrite_stats;

/*
 * Copies what follows in a source to a sink. name is the input's, for messages. OSC_EFORMAT when it
 * is no trace; OSC_EUNSUPPORTED for a value longer than 256 MiB. A cut or damaged compressed stream
 * ends the output properly and counts as truncated.
 */
OSC_MUST_CHECK osc_status osc_trace_rewrite(osc_source *in, const char *name, osc_sink *out,
                                            const osc_rewrite_filter *filter,
                                            osc_rewrite_stats *stats, osc_err *err);

/* Writes one more event, repaired where it must be. Only from `last`. */
OSC_MUST_CHECK osc_status osc_rewriter_put(osc_rewriter *w, osc_str text, osc_err *err);

#endif
