/*
 * kineto_internal.h - what the parts of the trace reader share.
 *
 *   kineto_json.c    the document: top-level members, where the events are, what is known at the end
 *   kineto_events.c  one event, any event: members, rows, findings. The reference
 *   kineto_args.c    arguments of an event, the same way
 *   kineto_fast.c    layouts that the writer repeats, learned from events that the reference took
 *   kineto_fast_body.h and what it includes: events in a known layout, 64 bytes at a time; compiled once for
 *                    each SIMD level
 *   kineto_blocks.c  blocks of a plain file on several threads
 */
#ifndef OSC_READ_KINETO_INTERNAL_H
#define OSC_READ_KINETO_INTERNAL_H

#include "base/buf.h"
#include "base/intern.h"
#include "scope/read/feed.h"
#include "scope/read/kineto.h"
#include "scope/read/scan.h"
#include "scope/read/tracks.h"

/* Categories a file may use before further ones count as unknown. */
#define OSC_KINETO_CATEGORIES 256u

/* How fractions of times look, over all X events; decides which era's warning is due (1.4). */
#define OSC_FRACTION_1     0x02u /* one digit after the point */
#define OSC_FRACTION_2     0x04u
#define OSC_FRACTION_3     0x08u
#define OSC_FRACTION_MORE  0x10u
#define OSC_FRACTION_LEAD  0x20u /* the first digit is 0 */
#define OSC_FRACTION_TRAIL 0x40u /* the last digit is 0 */

typedef struct osc_fast osc_fast; /* kineto_fast.h */

/* Half of a B/E pair, until the end of the input. */
typedef struct osc_kineto_half {
    int64_t at_ns;
    uint32_t name, track;
    osc_slice_row row; /* of a B; its dur_ns is not known */
    bool end;
} osc_kineto_half;

typedef struct osc_kineto {
    osc_scan scan; /* over the window of feed */
    osc_feed feed;
    uint64_t stop; /* events from this offset on belong to somebody else; UINT64_MAX */
    osc_store *store;
    const osc_kineto_context *context;
    osc_tracks *tracks;
    osc_fast *fast;   /* NULL: every event goes through the reference */
    osc_buf text;     /* scratch: unescaped names, shapes */
    osc_intern *cats; /* category texts; their ids index the two arrays */
    uint8_t cat_kind[OSC_KINETO_CATEGORIES];
    uint8_t cat_flags[OSC_KINETO_CATEGORIES];
    uint32_t cat_known;   /* entries of the two arrays filled */
    uint8_t seen_flags;   /* OSC_SLICE_* bits of all categories met */
    uint8_t fractions;    /* OSC_FRACTION_* */
    osc_store_mark first; /* rows the store had before */
    int64_t base_ns;      /* baseTimeNanoseconds */
    bool has_base;
    bool truncated;
    bool drop_frames; /* python frames are not stored */
    bool failed;      /* out of memory outside the store */
    bool huge;        /* an event did not fit into the window */
    uint32_t omit;    /* OSC_OMIT_* bits of the caller */
    uint64_t events;
    uint64_t dropped;  /* python frames not stored */
    uint64_t instants; /* events of phase i that are no allocator records */
    uint64_t counters; /* events of phase C */
    osc_kineto_half *halves;
    uint32_t half_count, half_cap;
} osc_kineto;

/* The members of one event that matter; OSC_SCAN_NONE when absent. Repeated key: last wins. */
typedef struct osc_kineto_event {
    osc_scan_value ph, cat, name, pid, tid, ts, dur, args, external, id;
    size_t at; /* of its '{' */
} osc_kineto_event;

/* What the arguments of an event say; zero or empty when absent. */
typedef struct osc_kineto_args {
    int64_t external_id, correlation, order;     /* order -1: absent */
    int64_t sequence, fwd_thread;                /* sequence -1: absent */
    int64_t device_type, bytes, exec_id, device; /* device -1: absent */
    uint64_t sequence_id;
    osc_scan_value shapes, cache_key, name;
    bool unfinished, lane;
} osc_kineto_args;

/* ---- kineto_args.c ---- */

/* Decodes an args object; anything but an object is no arguments (known-bad-inputs.md J17). */
void osc_kineto_args_read(osc_kineto *k, const osc_scan_value *args, osc_kineto_args *out);

/*
 * Id of the input shapes as Python prints the list that FunctionEvent.input_shapes holds: arguments
 * that are no tensor are left out, a list of tensors is "[]" (kineto-trace-format.md 2.6). 0 when
 * the event has none.
 */
uint32_t osc_kineto_shapes(osc_kineto *k, const osc_scan_value *dims);

/* Text of a value: unescaped for strings. Valid until the scratch buffer is used again. */
osc_str osc_kineto_text(osc_kineto *k, const osc_scan_value *value);

/* ---- kineto_events.c ---- */

/* Takes the members of an event whose '{' was taken. False when it is damaged or the input ends. */
bool osc_kineto_take_event(osc_kineto *k, osc_kineto_event *e);

/* Adds what an event says to the store. */
void osc_kineto_handle_event(osc_kineto *k, const osc_kineto_event *e);

/* Keeps half of a pair. False when out of memory. */
bool osc_kineto_add_half(osc_kineto *k, const osc_kineto_half *half);

/* Adds the slices of B/E pairs, in the order of their ends; the same for any number of threads. */
void osc_kineto_pair_halves(osc_kineto *k);

/* Kind and flags of a category. */
osc_slice_kind osc_kineto_category(osc_kineto *k, const osc_scan_value *cat, uint8_t *flags);

/* The lane that slices of a kind are drawn on. */
osc_lane_kind osc_kineto_lane(osc_slice_kind kind, uint8_t flags);

void osc_kineto_note(osc_kineto *k, osc_severity severity, const char *code, size_t at,
                     const char *sentence);

typedef enum osc_kineto_step {
    OSC_STEP_MORE = 0, /* an event was taken, or bytes skipped */
    OSC_STEP_END = 1,  /* the list's bracket was taken */
    OSC_STEP_STOP = 2, /* the next event lies at or behind k->stop; its position is scan.pos */
    OSC_STEP_EOF = 3,  /* the input ended inside the list; noted */
    OSC_STEP_FAIL = 4  /* feed.status says why */
} osc_kineto_step;

/* Takes the events of a list until it ends, or stop, or the input ends. */
osc_kineto_step osc_kineto_take_events(osc_kineto *k);

/* More input into the window; bytes before `keep` go and positions move. False: see
 * osc_feed_more. */
bool osc_kineto_more(osc_kineto *k, size_t keep);

/*
 * Skips the text or container at pos, which may be longer than any window; quotes inside texts
 * count as JSON says, without repairs. False when the input ends inside.
 */
bool osc_kineto_skip_value(osc_kineto *k);

/* The input ended inside the trace. Noted once. */
void osc_kineto_note_cut(osc_kineto *k, size_t at);

/* ---- kineto_json.c ---- */

/* State with its own lanes and categories that adds to store. False when out of memory. */
bool osc_kineto_init(osc_kineto *k, osc_store *store, const osc_kineto_context *context);
void osc_kineto_free(osc_kineto *k);

#endif
