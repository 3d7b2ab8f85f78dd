/*
 * capture_files.h - the files of one capture: what is written where, and what happens when it
 * cannot be.
 *
 * Every call writes through to the file before it returns, so a process that dies leaves whole
 * records. A failure is remembered (the first one), logged once, and never stops the program being
 * profiled. Calls for one core come from its queue thread; the system trace and the list of
 * programs have a lock.
 */
#ifndef OSC_NEURON_RUNTIME_CAPTURE_FILES_H
#define OSC_NEURON_RUNTIME_CAPTURE_FILES_H

#include "artifact/ntff.h"
#include "artifact/systrace.h"
#include "artifact/trace_info.h"
#include "neuron/runtime/capture.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_capture_files osc_capture_files;

/* What is known at the start; texts stay the caller's and outlive the files. */
typedef struct osc_capture_setup {
    osc_rt *rt;
    uint32_t modes;
    bool precache;
    bool neffs_at_stop; /* write NEFFs when the window is closed, not inside it */
    const char *output_dir;
    const char *facts_json; /* may be NULL */
    const char *settings_json;
    const osc_trace_setting *settings;
    size_t setting_count;
    int64_t start_ns;
} osc_capture_setup;

/* Creates the session directory and its files. OSC_EIO names path and reason; nothing is left
 * then. */
osc_status osc_capture_files_open(const osc_capture_setup *setup, osc_capture_files **out,
                                  osc_err *err) OSC_MUST_CHECK;
const char *osc_capture_files_dir(const osc_capture_files *files);

/* Opens the program's NTFF on this core and saves its NEFF (or leaves that for the stop), the first
 * time; NULL when it cannot. */
osc_ntff_writer *osc_capture_files_ntff(osc_capture_files *files, osc_rt_device *device,
                                        osc_nrt_program *program);
/* Keeps the first failure. Any thread. */
void osc_capture_files_note(osc_capture_files *files, osc_status status, const osc_err *err);

/* Appends events to the system trace and numbers them; parent: the first one causes the others. */
void osc_capture_files_events(osc_capture_files *files, osc_systrace_event *events, size_t count);

/* What became of the window, per core; arrays stay the caller's. */
typedef struct osc_capture_outcome {
    int64_t end_ns;
    const osc_trace_core *cores;
    size_t core_count;
    uint64_t dropped;
} osc_capture_outcome;

/* Completes and closes everything, frees files. Returns the first failure of the whole capture. */
osc_status osc_capture_files_close(osc_capture_files *files, const osc_capture_outcome *outcome,
                                   osc_err *err) OSC_MUST_CHECK;

#endif
