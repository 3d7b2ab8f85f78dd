/* check_internal.h - shared by check.c (table and result) and check_*.c (the checks). */
#ifndef OSC_ANALYSIS_CHECK_INTERNAL_H
#define OSC_ANALYSIS_CHECK_INTERNAL_H

#include "base/buf.h"
#include "base/map.h"
#include "base/num.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/check.h"
#include "scope/analysis/extent.h"

/* What all checks of a run share, and the verdict being formed. */
typedef struct osc_check_run {
    const osc_store *store;
    const osc_slice_cols *s;
    osc_calls *calls; /* without python frames, duplicates kept; owned */
    osc_extent extent;
    uint64_t kinds[OSC_KIND_COUNT]; /* slices of each kind */
    uint32_t *work;                 /* device work by (track, start, end); owned */
    uint32_t work_count;
    uint64_t work_unlaunched; /* device work with neither a runtime call nor an operator */
    osc_map worked;           /* correlations that have device work */
    bool failed;              /* memory is out */
    /* The check that is running. */
    osc_severity verdict; /* NOTE: ok */
    uint64_t count;
    osc_buf evidence;
    const char *advice;
} osc_check_run;

/* Evidence of a check that found nothing. */
void osc_check_fine(osc_check_run *run, const char *fmt, ...) OSC_PRINTF(2, 3);

/* A finding: raises the verdict, adds to the count, appends evidence after "; ". */
void osc_check_found(osc_check_run *run, osc_severity severity, uint64_t count, const char *advice,
                     const char *fmt, ...) OSC_PRINTF(5, 6);

/* Text of a slice's name, cut for a sentence; returns out. */
#define OSC_CHECK_NAME_TEXT 64
const char *osc_check_name(const osc_check_run *run, uint32_t slice, char out[OSC_CHECK_NAME_TEXT]);

/* "1 event", "1,204 events"; returns out. */
#define OSC_CHECK_MANY_TEXT (OSC_NUM_TEXT + 64)
const char *osc_check_many(uint64_t count, const char *one, const char *many,
                           char out[OSC_CHECK_MANY_TEXT]);

/* End of a slice. */
int64_t osc_check_end(const osc_check_run *run, uint32_t slice);

/* Times a finding of the readers was noted, 0 never; *offset (may be NULL) where first. */
uint64_t osc_check_noted(const osc_check_run *run, const char *code, uint64_t *offset);

/* True for a runtime call that starts a kernel or a graph. */
bool osc_check_is_launch(const osc_check_run *run, uint32_t slice);

/* Events of the input: what its reader counted, else its intervals. */
uint64_t osc_check_events(const osc_check_run *run);

/* A fact of the capture as a number, 0 when it has none. */
int64_t osc_check_meta(const osc_check_run *run, const char *key);

/* The checks; one group a file. */
void osc_check_truncated(osc_check_run *run);   /* check_input.c */
void osc_check_empty(osc_check_run *run);       /* check_input.c */
void osc_check_damaged(osc_check_run *run);     /* check_input.c */
void osc_check_left_out(osc_check_run *run);    /* check_input.c */
void osc_check_dropped(osc_check_run *run);     /* check_input.c */
void osc_check_cap(osc_check_run *run);         /* check_input.c */
void osc_check_names_lost(osc_check_run *run);  /* check_input.c */
void osc_check_stamps(osc_check_run *run);      /* check_times.c */
void osc_check_durations(osc_check_run *run);   /* check_times.c */
void osc_check_outliers(osc_check_run *run);    /* check_times.c */
void osc_check_precision(osc_check_run *run);   /* check_times.c */
void osc_check_fractions(osc_check_run *run);   /* check_times.c */
void osc_check_unfinished(osc_check_run *run);  /* check_times.c */
void osc_check_nesting(osc_check_run *run);     /* check_nesting.c */
void osc_check_threads(osc_check_run *run);     /* check_nesting.c */
void osc_check_frames(osc_check_run *run);      /* check_nesting.c */
void osc_check_steps(osc_check_run *run);       /* check_steps.c */
void osc_check_window(osc_check_run *run);      /* check_steps.c */
void osc_check_drain(osc_check_run *run);       /* check_steps.c */
void osc_check_device(osc_check_run *run);      /* check_device.c */
void osc_check_launches(osc_check_run *run);    /* check_device.c */
void osc_check_kernels(osc_check_run *run);     /* check_device.c */
void osc_check_linked(osc_check_run *run);      /* check_device.c */
void osc_check_order(osc_check_run *run);       /* check_device.c */
void osc_check_overlap(osc_check_run *run);     /* check_double.c */
void osc_check_annotations(osc_check_run *run); /* check_double.c */
void osc_check_sync_rows(osc_check_run *run);   /* check_double.c */
void osc_check_stream_sync(osc_check_run *run); /* check_double.c */
void osc_check_ids(osc_check_run *run);         /* check_links.c */
void osc_check_flows(osc_check_run *run);       /* check_links.c */
void osc_check_backward(osc_check_run *run);    /* check_links.c */
void osc_check_waits(osc_check_run *run);       /* check_args.c */
void osc_check_comms(osc_check_run *run);       /* check_args.c */
void osc_check_timing(osc_check_run *run);      /* check_session.c */
void osc_check_cores(osc_check_run *run);       /* check_session.c */

#endif
