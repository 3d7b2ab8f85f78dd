/*
 * capture.h - profiling windows of the virtual NeuronCore: files in a session directory, and
 * records.
 *
 * Part of neuron.h's interface and version; included by it. Calls are thread-safe, start, stop and
 * release of one capture excepted. What a capture holds and how it ends: docs/runtime.md.
 */
#ifndef OPSCOPE_CAPTURE_H
#define OPSCOPE_CAPTURE_H

#include "opscope/neuron.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OSC_MODE_DEVICE      0x1u /* .neff and .ntff */
#define OSC_MODE_RUNTIME     0x2u /* ntrace.pb and trace_info.pb */
#define OSC_MODE_CPU_UTIL    0x4u /* cpu_util.pb */
#define OSC_MODE_HOST_MEMORY 0x8u /* host_mem.pb */

typedef struct osc_capture_options {
    size_t size;    /* sizeof(osc_capture_options) */
    uint32_t modes; /* OSC_MODE_*; 0: no files, only the records below */
    /* Files go to <output_dir>/<instance>_pid_<pid>/<timestamp>/. NULL with modes 0. */
    const char *output_dir;
    const uint32_t *cores; /* device indices to capture */
    uint32_t core_count;   /* 0: all */
    /* System-trace events per core; beyond, the newest are dropped and counted. 0: 1,000,000. */
    uint64_t max_events_per_nc;
    /* Where the framework keeps its NEFFs; recorded as a setting. When set, the session's NEFFs are
     * written at stop, so that the window is not disturbed (a killed process then leaves none).
     * NULL: each is written at its program's first captured execution. */
    const char *neff_cache_dir;
    /* Serialise the NEFFs of known programs before the window opens instead of inside it. Each
     * is still written to its file at its first captured execution, so that every NEFF has its
     * NTFF. */
    bool precache;
    const char *facts_json; /* JSON object of framework facts for run.json, NULL if none; copied */
} osc_capture_options;

typedef enum osc_capture_kind {
    OSC_CAPTURE_EXEC = 1,
    OSC_CAPTURE_WRITE = 2, /* host to device */
    OSC_CAPTURE_READ = 3,  /* device to host */
    OSC_CAPTURE_COPY = 4,
    OSC_CAPTURE_FILL = 5
} osc_capture_kind;

/* One piece of work on a captured core, complete. Host times, ns. */
typedef struct osc_capture_op {
    uint32_t kind; /* osc_capture_kind */
    int32_t device;
    int64_t stream;
    const char *name;      /* osc_nrt_op.name */
    const char *cache_key; /* EXEC: of the program, until the capture is released; "" otherwise */
    uint64_t correlation;
    int64_t thread_id;
    uint64_t sequence;  /* nrta sequence id: 16-bit execution unit << 48 | number */
    uint64_t exec_id;   /* EXEC: execution number on its core, from 1 */
    uint64_t neff_hash; /* EXEC */
    int64_t enter_ns;   /* framework entered the operator */
    /* Handed to the queue: end of nrta_execute_schedule on the caller's thread. */
    int64_t submit_ns;
    /* nc_exec_running, or the copy's interval. EXEC: end - start = launch_ns + body_ns, exactly
     * while the device clock has no drift. */
    int64_t start_ns, end_ns;
    int64_t launch_ns; /* EXEC: fitted launch interval */
    int64_t body_ns;   /* EXEC: device body in device clock; 0: it failed */
    uint64_t bytes;    /* copies */
} osc_capture_op;

typedef struct osc_capture osc_capture;

/* One capture per process at a time: OSC_ESTATE otherwise. Creates the session directory and its
 * files at once (OSC_EIO with path and reason when it cannot). Starts the runtime if needed. */
OSC_API osc_status osc_capture_start(const osc_capture_options *options, osc_capture **out,
                                     osc_err *err) OSC_MUST_CHECK;
/* Waits for captured cores, closes the window, completes the files. The records stay readable. */
OSC_API osc_status osc_capture_stop(osc_capture *capture, osc_err *err) OSC_MUST_CHECK;
/* Session directory, "" with modes 0. Lives as long as the capture. */
OSC_API const char *osc_capture_dir(const osc_capture *capture);
/* Records in order of start_ns per device; valid until release. Only after stop. */
OSC_API const osc_capture_op *osc_capture_ops(const osc_capture *capture, uint64_t *count);
OSC_API uint64_t osc_capture_dropped(const osc_capture *capture);
/* Host to device-clock facts for trace metadata: JSON object text, lives as long as the capture. */
OSC_API const char *osc_capture_device_json(const osc_capture *capture);
OSC_API void osc_capture_release(osc_capture *capture); /* stops it first if needed; NULL allowed */
/* Writes <dir>/run.json: facts, device parameters, settings, every file in dir with size and
 * SHA-256. Called by stop, and again by whoever adds files (trace.json) to the directory.
 * facts_json NULL keeps those of the existing file. */
OSC_API osc_status osc_capture_write_manifest(const char *dir, const char *facts_json,
                                              osc_err *err) OSC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
