/*
 * artifact_samples_pb.h - the host's side of the capture of artifact_samples.h: system-trace
 * events, CPU and memory samples, and the facts of the capture. Values are distinct in every field
 * here too; tests/python/test_formats.py expects these very values.
 */
#ifndef OSC_TESTS_ARTIFACT_SAMPLES_PB_H
#define OSC_TESTS_ARTIFACT_SAMPLES_PB_H

#include "artifact_samples.h"

#include "artifact/systrace.h"
#include "artifact/trace_info.h"

#define SAMPLE_SYSTRACE_EVENTS 4u

/*
 * System-trace event i: one with every field, one bare, a sync point, one of a type without a
 * number.
 */
static inline osc_systrace_event sample_systrace_event(uint32_t i)
{
    osc_systrace_event e;
    osc_systrace_event_init(&e);
    e.id = i + 1;
    e.start_ns = SAMPLE_T0 + 1000 * (int64_t)i;
    e.end_ns = e.start_ns;
    if (i == 0) {
        e.type = OSC_ST_NC_EXEC_RUNNING;
        e.end_ns = e.start_ns + 388200;
        e.parent_id = 77;
        e.nc_idx = 0;
        e.pcore_idx = 1;
        e.thread_id = 4712;
        e.stream = 0;
        e.tracking_id = 11;
        e.flow_id = (UINT64_C(1) << 48) + 29;
        e.exec_id = 7;
        e.sequence_id = (UINT64_C(1) << 48) + 30;
        e.correlation = 501;
        e.model_id = 1001;
        e.neff_hash = SAMPLE_HASH;
        e.model_name = OSC_STR("aten::mul");
        e.op_name = OSC_STR("aten::mul.Tensor");
        e.tensor_name = OSC_STR("output0");
        e.tensor_id = 12;
        e.size = 4096;
        e.has_nc_time = true;
        e.nc_start_ns = -5;
        e.nc_stop_ns = 1002345;
        e.body_ns = 11200;
        e.parts = sample_parts;
        e.part_count = 3;
        e.extra_json = OSC_STR("{\"queue\":\"q0\",\"quote\":\"a\\\"b\"}");
    } else if (i == 2) {
        e.type = OSC_ST_TIMESTAMP_SYNC_POINT;
        e.phase = OSC_ST_INSTANT;
        e.nc_idx = 3;
        e.has_nc_time = true;
        e.nc_start_ns = 0;
        e.nc_stop_ns = 0;
    } else if (i == 3) {
        e.type_name = OSC_STR("hw_notify");
        e.phase = OSC_ST_START;
        e.tracking_id = 9;
    }
    return e;
}

static inline bool write_sample_ntrace(const char *path, osc_err *err)
{
    osc_systrace_writer *w;
    osc_status st = osc_systrace_writer_open(path, OSC_SYSTRACE_NTRACE, &w, err);
    for (uint32_t i = 0; i < SAMPLE_SYSTRACE_EVENTS && st == OSC_OK; i++) {
        osc_systrace_event e = sample_systrace_event(i);
        st = osc_systrace_writer_event(w, &e, err);
    }
    osc_status closed =
        osc_systrace_writer_close(w, SAMPLE_T0 + 9000000, st == OSC_OK ? err : NULL);
    return st == OSC_OK && closed == OSC_OK;
}

static const float sample_percent[3] = {0.0f, 12.5f, 100.0f};

static inline bool write_sample_cpu_util(const char *path, osc_err *err)
{
    osc_systrace_writer *w;
    osc_status st = osc_systrace_writer_open(path, OSC_SYSTRACE_CPU_UTIL, &w, err);
    for (uint32_t i = 0; i < 2 && st == OSC_OK; i++) {
        osc_cpu_sample s = {.time_ns = SAMPLE_T0 + 1000000000 * (int64_t)i,
                            .duration_ns = 1000000000,
                            .percent = sample_percent,
                            .cpus = 3 - i};
        st = osc_systrace_writer_cpu(w, &s, err);
    }
    osc_status closed =
        osc_systrace_writer_close(w, SAMPLE_T0 + 9000000, st == OSC_OK ? err : NULL);
    return st == OSC_OK && closed == OSC_OK;
}

static inline bool write_sample_host_mem(const char *path, osc_err *err)
{
    osc_systrace_writer *w;
    osc_status st = osc_systrace_writer_open(path, OSC_SYSTRACE_HOST_MEM, &w, err);
    for (uint32_t i = 0; i < 2 && st == OSC_OK; i++) {
        osc_mem_sample s = {.time_ns = SAMPLE_T0 + (int64_t)i,
                            .duration_ns = 5,
                            .total_bytes = UINT64_C(64) << 30,
                            .used_bytes = (UINT64_C(8) << 30) + i,
                            .process_bytes = 123456789};
        st = osc_systrace_writer_mem(w, &s, err);
    }
    osc_status closed =
        osc_systrace_writer_close(w, SAMPLE_T0 + 9000000, st == OSC_OK ? err : NULL);
    return st == OSC_OK && closed == OSC_OK;
}

static const osc_trace_core sample_cores[2] = {
    {.nc_idx = 0, .events_kept = 96, .clock_origin_ns = SAMPLE_T0 - 7, .clock_drift_ppb = -250},
    {.nc_idx = 2, .events_kept = 1, .events_dropped = 5, .clock_drift_ppb = 250},
};

static const osc_trace_setting sample_settings[2] = {
    {.name = {"max_events_per_nc", 17}, .value = {"1000000", 7}},
    {.name = {"modes", 5}, .value = {"DEVICE,RUNTIME", 14}},
};

static const osc_trace_program sample_programs[2] = {
    {.hash = SAMPLE_HASH,
     .uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
     .name = {"aten::mul", 9},
     .cache_key = {"mul--_[4,512]:BFloat16:S(C)", 27},
     .model_id = 1001,
     .flops = 2048},
    {.hash = 1, .name = {"aten::add", 9}},
};

static inline osc_trace_info sample_trace_info(void)
{
    osc_trace_info info = {.instance_id = OSC_STR("i-local"),
                           .instance_type = OSC_STR("trn2"),
                           .pid = 4711,
                           .simulated = true,
                           .producer = OSC_STR("opscope 0.1.0"),
                           .framework = OSC_STR("torch 2.13.0"),
                           .window_start_ns = SAMPLE_T0,
                           .window_end_ns = SAMPLE_T0 + 9000000,
                           .cores = sample_cores,
                           .core_count = 2,
                           .programs = sample_programs,
                           .program_count = 2,
                           .settings = sample_settings,
                           .setting_count = 2};
    return info;
}

#endif
