/*
 * idle.h - when devices did nothing, and why: each idle interval with its class and the evidence
 * for it.
 *
 * The next work after an idle interval tells: when its launch began, on which thread, and what that
 * thread did until then. An interval is cut where the cause changes, so that each piece has one
 * class, and the pieces of a device add up to its window minus its busy time exactly.
 */
#ifndef OSC_ANALYSIS_IDLE_H
#define OSC_ANALYSIS_IDLE_H

#include "scope/analysis/busy.h"
#include "scope/analysis/table.h"

#include <stdbool.h>

/* Numbers are fixed; docs/traces.md draws them. */
typedef enum osc_idle_class {
    OSC_IDLE_NO_LAUNCH = 0, /* the host had not launched the next work, but did something else */
    OSC_IDLE_HOST_WAIT = 1, /* the same, while the host waited for data, a lock, or time to pass */
    OSC_IDLE_SYNC = 2,      /* the same, while the launching thread waited for the device */
    OSC_IDLE_LAUNCH = 3,    /* the launch began in the interval and had not reached the device */
    OSC_IDLE_QUEUE = 4,   /* launched before the interval began: queue, stream order, event wait */
    OSC_IDLE_STREAM = 5,  /* the same, while another stream of the device worked (by stream only) */
    OSC_IDLE_COMM = 6,    /* the same, while another stream ran a collective (by stream only) */
    OSC_IDLE_UNKNOWN = 7, /* the launch of the next work is not in the capture */
    OSC_IDLE_EDGE = 8,    /* before the first work whose launch is unknown; after the last work */
    OSC_IDLE_CLASSES = 9
} osc_idle_class;

/* "no launch", "sync", ... Static storage. */
const char *osc_idle_class_name(osc_idle_class cls);

typedef struct osc_idle_piece {
    int64_t start_ns, end_ns;
    uint32_t before; /* item of osc_busy before the whole interval, OSC_NO_ROW at its edge */
    uint32_t after;  /* and behind it */
    uint32_t cause;  /* slice on the host, OSC_NO_ROW none known */
    uint32_t range;  /* frame, annotation or operator around it, OSC_NO_ROW none */
    uint32_t group;  /* device, or lane with by_stream */
    uint8_t cls;     /* osc_idle_class */
} osc_idle_piece;

typedef struct osc_idle {
    osc_idle_piece *pieces; /* by (group, start); owned */
    uint32_t count, room;
    uint32_t groups;
    uint32_t *first; /* [groups + 1]: where each group's pieces begin; owned */
} osc_idle;

/* The idle time of each device, or of each stream. *out is zeroed on failure (OSC_ENOMEM). */
OSC_MUST_CHECK osc_status osc_idle_find(const osc_busy *busy, bool by_stream, osc_idle *out,
                                        osc_err *err);
void osc_idle_free(osc_idle *idle); /* NULL allowed; zeroes it */

typedef enum osc_idle_by {
    OSC_IDLE_EACH = 0,
    OSC_IDLE_BY_CLASS = 1,
    OSC_IDLE_BY_CAUSE = 2
} osc_idle_by;

typedef struct osc_idle_options {
    bool by_stream;
    osc_idle_by by;
    osc_str device; /* only that one; empty: all */
    int64_t min_ns; /* rows shorter than that are left out; totals keep them */
    int64_t limit;  /* at most so many rows, -1: all */
    bool longest;   /* rows by length, else by time */
} osc_idle_options;

/*
 * Rows: one per piece, or one per class or cause. Facts: window_ns, busy_ns, idle_ns and one
 * idle_<class>_ns each, summed over the devices (streams) shown; devices; rows; hidden rows; why
 * there is no device work. *out is NULL on failure: OSC_ENOMEM, OSC_ENOTFOUND (no such device, with
 * those there are).
 */
OSC_MUST_CHECK osc_status osc_idle_table(const osc_store *store, const osc_idle_options *options,
                                         osc_table **out, osc_err *err);

#endif
