/* kineto_internal.h - shared by kineto_json.c (events) and kineto_args.c (their arguments). */
#ifndef OSC_READ_KINETO_INTERNAL_H
#define OSC_READ_KINETO_INTERNAL_H

#include "base/buf.h"
#include "base/intern.h"
#include "scope/read/kineto.h"
#include "scope/read/scan.h"
#include "scope/read/tracks.h"

/* Categories a file may use before further ones count as unknown. */
#define OSC_KINETO_CATEGORIES 256u

typedef struct osc_kineto {
    osc_scan scan;
    osc_store *store;
    const osc_kineto_context *context;
    osc_tracks *tracks;
    osc_buf text;     /* scratch: unescaped names, shapes */
    osc_intern *cats; /* category texts; their ids index the two arrays */
    uint8_t cat_kind[OSC_KINETO_CATEGORIES];
    uint8_t cat_flags[OSC_KINETO_CATEGORIES];
    uint32_t cat_known;                 /* entries of the two arrays filled */
    uint8_t seen_flags;                 /* OSC_SLICE_* bits of all categories met */
    uint32_t first_slice, first_memory; /* rows the store had before */
    int64_t base_ns;                    /* baseTimeNanoseconds */
    bool has_base;
    bool truncated;
    uint64_t events;
} osc_kineto;

/* The members of one event that matter; OSC_SCAN_NONE when absent. Repeated key: last wins. */
typedef struct osc_kineto_event {
    osc_scan_value ph, cat, name, pid, tid, ts, dur, args, external;
} osc_kineto_event;

/* What the arguments of an event say; zero or empty when absent. */
typedef struct osc_kineto_args {
    int64_t external_id, correlation, order;     /* order -1: absent */
    int64_t device_type, bytes, exec_id, device; /* device -1: absent */
    uint64_t sequence_id;
    osc_scan_value shapes, cache_key, name;
    bool unfinished, lane;
} osc_kineto_args;

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

#endif
