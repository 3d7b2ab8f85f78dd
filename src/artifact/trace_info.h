/*
 * trace_info.h - trace_info.pb: what was captured, on what, with which settings.
 *
 * Small, so it is replaced as a whole (atomically): once when the capture opens, again when it
 * closes. A process killed in between leaves the first version, whose window_end_ns is 0. Message
 * TraceInfo of docs/formats/systrace.proto.
 */
#ifndef OSC_ARTIFACT_TRACE_INFO_H
#define OSC_ARTIFACT_TRACE_INFO_H

#include "artifact/finding.h"
#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_trace_program {
    uint64_t hash; /* the number in neff_<hash>_vnc_<n>.neff */
    uint8_t uuid[16];
    osc_str name; /* "aten::mul" or the graph's name */
    osc_str cache_key;
    uint64_t model_id; /* 0 none */
    uint64_t flops;    /* model flops of one execution, 0 unknown */
} osc_trace_program;

typedef struct osc_trace_core {
    uint32_t nc_idx;         /* logical core */
    uint64_t events_kept;    /* system-trace events */
    uint64_t events_dropped; /* beyond max_events_per_nc, or not writable */
    int64_t clock_origin_ns; /* host time at which its device clock showed 0 */
    int64_t clock_drift_ppb; /* device clock against host clock, as the writer knows it */
} osc_trace_core;

typedef struct osc_trace_setting {
    osc_str name, value; /* every profiler setting as text, "max_events_per_nc" "1000000" */
} osc_trace_setting;

typedef struct osc_trace_info {
    uint32_t major, minor; /* of the file; set by the writer */
    osc_str instance_id;   /* "i-local" */
    osc_str instance_type; /* "trn2" */
    uint64_t pid;
    bool simulated;          /* times come from a model */
    osc_str producer;        /* "opscope 0.1.0" */
    osc_str framework;       /* "torch 2.13.0", "" unknown */
    int64_t window_start_ns; /* capture window, host time */
    int64_t window_end_ns;   /* 0: still open, or the process died */
    const osc_trace_core *cores;
    size_t core_count; /* captured cores */
    const osc_trace_program *programs;
    size_t program_count; /* programs that ran in the window */
    const osc_trace_setting *settings;
    size_t setting_count;
} osc_trace_info;

/* Writes or replaces the file at path. Any thread, one at a time per path. */
osc_status osc_trace_info_write(const char *path, const osc_trace_info *info,
                                osc_err *err) OSC_MUST_CHECK;

/*
 * Reads it from memory. Arrays come from arena, texts are views into data; both must outlive *out.
 * Findings as in systrace.h; OSC_EFOREIGN, OSC_EVERSION, OSC_ETRUNCATED, OSC_EFORMAT as there.
 */
osc_status osc_trace_info_read(const void *data, size_t len, const char *input, osc_arena *arena,
                               osc_findings *findings, osc_trace_info *out,
                               osc_err *err) OSC_MUST_CHECK;

#endif
