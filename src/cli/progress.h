/*
 * progress.h - one line on a terminal that says how far long work is.
 */
#ifndef OSC_CLI_PROGRESS_H
#define OSC_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_progress {
    const char *what; /* shown first; not owned, may be NULL */
    int64_t begin_ns; /* osc_mono_ns when the work began */
    int64_t drawn_ns; /* when the line was drawn last, 0 never */
    bool on;          /* stderr is a terminal that can erase a line */
} osc_progress;

/* Starts the clock. Nothing is drawn yet, and never when stderr is no terminal or TERM is dumb. */
void osc_progress_begin(osc_progress *p, const char *what);

/* An osc_progress_fn (scope/read/open.h); context is an osc_progress. Draws at most ten times a
 * second, and first when the work has taken half a second. */
void osc_progress_draw(void *context, uint64_t done, uint64_t all, uint64_t events);

/* Erases the line. */
void osc_progress_end(osc_progress *p);

#endif
