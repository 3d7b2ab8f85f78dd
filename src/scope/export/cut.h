/*
 * cut.h - which events of a trace belong to a window of time: a smaller trace for bug reports and
 * viewers.
 *
 * Kept are host events that overlap the window, device work launched in it (also when it runs
 * later), device work whose launch is not known but that starts in it, arrows whose ends are all
 * kept, instants and counters inside, and the names of the lanes that are left. The head of the
 * file stays.
 */
#ifndef OSC_EXPORT_CUT_H
#define OSC_EXPORT_CUT_H

#include "base/status.h"
#include "base/str.h"
#include "scope/analysis/extent.h"
#include "scope/export/rewrite.h"
#include "scope/store/store.h"

#include <stdint.h>

typedef struct osc_window {
    int64_t from_ns, to_ns; /* on the store's clock; to_ns is not included */
    bool whole_frames;      /* python frames that begin in it keep what lies in them behind it */
} osc_window;

/* Window of ProfilerStep#number, with whole frames, so that the rows of the step keep their values.
 * OSC_ENOTFOUND names the steps there are. */
OSC_MUST_CHECK osc_status osc_window_of_step(const osc_store *store, int64_t number,
                                             osc_window *out, osc_err *err);

/* Window of the nth call (from 1) of a host event, in order of start. OSC_ENOTFOUND says how many
 * there are. */
OSC_MUST_CHECK osc_status osc_window_of_call(const osc_store *store, osc_str name, uint32_t nth,
                                             osc_window *out, osc_err *err);

/* Window between two times; INT64_MAX: to the end. Empty in a trace without times. */
osc_window osc_window_of_times(const osc_store *store, osc_when from, osc_when to);

typedef struct osc_cut osc_cut;

/*
 * Decides what is kept. The store must have been opened from the trace that is rewritten, with
 * places of arguments and flows, and outlives the result. *out is NULL on failure (OSC_ENOMEM,
 * OSC_EUNSUPPORTED when the store has no places).
 */
OSC_MUST_CHECK osc_status osc_cut_new(const osc_store *store, osc_window window, osc_cut **out,
                                      osc_err *err);
void osc_cut_free(osc_cut *cut); /* NULL allowed */

/* The filter that osc_trace_rewrite takes, once. */
osc_rewrite_filter osc_cut_filter(osc_cut *cut);

/* OSC_ENOMEM when the filter had no memory; look after rewriting. */
OSC_MUST_CHECK osc_status osc_cut_status(const osc_cut *cut, osc_err *err);

#endif
