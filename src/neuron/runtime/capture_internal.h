/*
 * capture_internal.h - the body of a capture, shared by its lifecycle and its recording side.
 */
#ifndef OSC_NEURON_RUNTIME_CAPTURE_INTERNAL_H
#define OSC_NEURON_RUNTIME_CAPTURE_INTERNAL_H

#include "neuron/runtime/capture.h"
#include "neuron/runtime/capture_files.h"

#define OSC_CAPTURE_SETTINGS 4u
#define OSC_CAPTURE_TEXT     512u

/* One captured core; its queue thread's until the capture is detached. */
typedef struct osc_captured_core {
    osc_capture *capture;
    uint64_t events, dropped;
    bool full;             /* something did not fit: nothing more is kept */
    bool keep;             /* the execution that runs now is kept */
    osc_ntff_writer *ntff; /* of the execution that runs now, NULL if none */
    osc_event_sink sink;   /* hands device events to ntff */
    osc_capture_op *ops;
    uint64_t count, cap;
} osc_captured_core;

struct osc_capture {
    osc_rt *rt;
    uint32_t modes;
    uint64_t max_events;
    int64_t start_ns;
    /* Work submitted later is not ours; INT64_MAX while the window is open. */
    _Atomic int64_t until_ns;
    int64_t end_ns; /* the window closed; set by stop */
    _Atomic uint32_t warned;
    osc_captured_core *cores[OSC_RT_MAX_DEVICES]; /* NULL: not captured */
    char *facts_json, *settings_json, *device_json, *dir;
    char setting_text[OSC_CAPTURE_SETTINGS][OSC_CAPTURE_TEXT];
    osc_trace_setting settings[OSC_CAPTURE_SETTINGS];
    osc_capture_files *files; /* NULL with modes 0, and after stop */
    bool stopped;             /* rt->lock */
    osc_nrt_program **held;   /* programs whose cache_key the records show */
    uint64_t held_count, held_cap;
    osc_mutex held_lock;
    osc_capture_op *ops; /* after stop: all cores' */
    uint64_t count;
};

#endif
