/*
 * systrace.h - the system-trace files: ntrace.pb, cpu_util.pb, host_mem.pb, trace_info.pb.
 *
 * Each is one protobuf message (published: docs/formats/systrace.proto). The first three are
 * written by appending length-delimited fields - a concatenation of fields is a valid message - so
 * a file cut short keeps its complete part and any protobuf library reads a whole one. Every record
 * carries a CRC-32C. trace_info.pb is small and replaced as a whole. Specification:
 * docs/formats/systrace.md. Field meaning: neuron-explorer.md 2.6, 2.7; torchneuron-face.md 2.3 to
 * 2.6.
 */
#ifndef OSC_ARTIFACT_SYSTRACE_H
#define OSC_ARTIFACT_SYSTRACE_H

#include "artifact/finding.h"
#include "base/cursor.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OSC_SYSTRACE_MAJOR 1u
#define OSC_SYSTRACE_MINOR 0u

/* Which of the append-only files. The number is not in the file. */
typedef enum osc_systrace_kind {
    OSC_SYSTRACE_NTRACE = 1,   /* ntrace.pb, magic "opscope.ntrace" */
    OSC_SYSTRACE_CPU_UTIL = 2, /* cpu_util.pb, magic "opscope.cpu_util" */
    OSC_SYSTRACE_HOST_MEM = 3, /* host_mem.pb, magic "opscope.host_mem" */
    OSC_SYSTRACE_INFO = 4      /* trace_info.pb, magic "opscope.trace_info"; not append-only */
} osc_systrace_kind;

/* File name ("ntrace.pb") and magic of a kind. Static storage. */
const char *osc_systrace_file_name(osc_systrace_kind kind);
const char *osc_systrace_magic(osc_systrace_kind kind);

/* Fixed numbers, part of the format (enum EventType of the .proto); never reused. */
typedef enum osc_st_type {
    OSC_ST_OTHER = 0,           /* named by type_name */
    OSC_ST_NC_EXEC_RUNNING = 1, /* hardware: one execution on a core, launch interval and body */
    OSC_ST_TIMESTAMP_SYNC_POINT =
        2, /* hardware: start_ns and nc_start_ns are one instant on both clocks */
    OSC_ST_NRT_MODEL_SWITCH = 3, /* hardware: the core changed to another NEFF */
    OSC_ST_NRTA_EXECUTE_SCHEDULE = 10,
    OSC_ST_NRTA_TENSOR_WRITE = 11,
    OSC_ST_NRTA_TENSOR_READ = 12,
    OSC_ST_NRTA_TENSOR_COPY = 13,
    OSC_ST_NRTA_TENSOR_FILL = 14,
    OSC_ST_NRT_TENSOR_ALLOCATE = 20,
    OSC_ST_NRT_TENSOR_FREE = 21,
    OSC_ST_DMEM_BUF_COPYIN = 22,  /* host to device */
    OSC_ST_DMEM_BUF_COPYOUT = 23, /* device to host */
    OSC_ST_DMEM_BUF_COPY = 24,    /* device to device */
    OSC_ST_KBL_EXEC_WAIT = 30,    /* host blocked on the device */
    OSC_ST_NRT_LOAD = 40,
    OSC_ST_NRT_PROFILE_ADD_NODE_INFO = 41
} osc_st_type;

/* Vendor spelling, "nc_exec_running"; NULL for OTHER and unknown numbers. */
const char *osc_st_type_name(uint32_t type);
/* The number of a name, OSC_ST_OTHER when it has none. */
uint32_t osc_st_type_parse(osc_str name);
/* True for the hardware group (lane neuron_hw), false for software (lane neuron_rt). */
bool osc_st_type_is_hardware(uint32_t type);

typedef enum osc_st_phase {
    OSC_ST_INTERVAL = 0, /* start_ns to end_ns */
    OSC_ST_START = 1,    /* begin of an interval; its STOP has the same tracking_id */
    OSC_ST_STOP = 2,
    OSC_ST_INSTANT = 3 /* end_ns == start_ns */
} osc_st_phase;

/*
 * One event. Start from osc_systrace_event_init: some fields use -1 for "none". Writer and reader
 * see to it that end_ns >= start_ns, body_ns and the parts are not negative, and that end_ns -
 * start_ns and end_ns - body_ns do not overflow.
 */
typedef struct osc_systrace_event {
    uint64_t id;        /* unique in the file, from 1; 0: the writer numbers it */
    uint64_t parent_id; /* event that caused it, 0 none */
    uint32_t type;      /* osc_st_type */
    uint32_t phase;     /* osc_st_phase */
    osc_str type_name;  /* OTHER only */
    int64_t start_ns;   /* host time, hardware events already moved onto it */
    int64_t end_ns;     /* >= start_ns */
    int32_t nc_idx;     /* logical core, -1 none */
    int32_t pcore_idx;  /* physical core within it, -1 none */
    int64_t thread_id;  /* OS thread, 0 none */
    int64_t stream;     /* framework stream, -1 none */
    /* Pairs START with STOP; equal for host call and hardware interval, 0 none. */
    uint64_t tracking_id;
    uint64_t flow_id; /* joins framework, runtime and hardware events; the sequence id, 0 none */
    uint64_t exec_id; /* execution number on the core, 0 none */
    uint64_t sequence_id; /* nrta sequence id, 0 none */
    uint64_t correlation; /* framework correlation id, 0 none */
    uint64_t model_id;    /* loaded model, 0 none */
    uint64_t neff_hash;   /* 0 none */
    osc_str model_name;   /* program name */
    osc_str op_name;      /* framework operator, "aten::mul" */
    osc_str tensor_name;
    uint64_t tensor_id;              /* 0 none */
    uint64_t size;                   /* bytes moved, allocated, freed */
    bool has_nc_time;                /* the two below are set */
    int64_t nc_start_ns, nc_stop_ns; /* device clock */
    int64_t body_ns;                 /* nc_exec_running: device body, preamble through postamble */
    const osc_launch_part *parts;    /* nc_exec_running: parts of the launch interval, in order */
    uint32_t part_count;             /* at most OSC_LAUNCH_PARTS_MAX */
    osc_str extra_json;              /* any further attributes: a JSON object, or "" */
} osc_systrace_event;

/* A zeroed event with nc_idx, pcore_idx and stream "none". */
void osc_systrace_event_init(osc_systrace_event *e);

/* Load of all CPUs over [time_ns, time_ns + duration_ns]. */
typedef struct osc_cpu_sample {
    int64_t time_ns, duration_ns;
    const float *percent; /* 0..100 per CPU, index = CPU number */
    uint32_t cpus;        /* at most OSC_CPUS_MAX */
} osc_cpu_sample;
#define OSC_CPUS_MAX 4096u

typedef struct osc_mem_sample {
    int64_t time_ns, duration_ns;
    uint64_t total_bytes, used_bytes; /* of the host */
    uint64_t process_bytes;           /* resident set of the captured process */
} osc_mem_sample;

/* ---- writing the append-only files: one thread at a time per writer ---- */

typedef struct osc_systrace_writer osc_systrace_writer;

/* Creates (empties) the file and writes its header at once. NULL in *out on failure. */
osc_status osc_systrace_writer_open(const char *path, osc_systrace_kind kind,
                                    osc_systrace_writer **out, osc_err *err) OSC_MUST_CHECK;

/*
 * Buffers one record, of the writer's kind (OSC_EINVAL otherwise); everything is copied. At 64 KiB
 * the buffer goes to the file by itself. When that fails (disk full) the buffered records are
 * counted as dropped, the status says so, and the writer stays usable.
 */
osc_status osc_systrace_writer_event(osc_systrace_writer *w, const osc_systrace_event *e,
                                     osc_err *err) OSC_MUST_CHECK;
osc_status osc_systrace_writer_cpu(osc_systrace_writer *w, const osc_cpu_sample *s,
                                   osc_err *err) OSC_MUST_CHECK;
osc_status osc_systrace_writer_mem(osc_systrace_writer *w, const osc_mem_sample *s,
                                   osc_err *err) OSC_MUST_CHECK;

/* Adds to the count of records the capture itself dropped (max_events_per_nc) on a core. */
void osc_systrace_writer_dropped(osc_systrace_writer *w, uint32_t nc_idx, uint64_t records);

/* Everything buffered is in the file afterwards, as complete records. */
osc_status osc_systrace_writer_flush(osc_systrace_writer *w, osc_err *err) OSC_MUST_CHECK;

/* Flushes, writes the end record, syncs, closes, frees (on failure too). NULL allowed. */
osc_status osc_systrace_writer_close(osc_systrace_writer *w, int64_t end_ns,
                                     osc_err *err) OSC_MUST_CHECK;

/* ---- reading them: pull, nothing is allocated, views point into the input ---- */

typedef struct osc_systrace_reader {
    osc_cursor at;          /* the file */
    const char *input;      /* for messages, not owned */
    osc_findings *findings; /* not owned, may be NULL */
    osc_systrace_kind kind;
    uint32_t major, minor; /* of the file */
    bool ended;            /* no further record */
    bool damaged;          /* a record was skipped, or reading stopped early */
    bool has_end;          /* the end record was there */
    uint64_t records;      /* handed out so far */
    uint64_t dropped;      /* by the capture, known at the end */
    uint64_t expected;     /* records the end record promises */
    int64_t end_ns;        /* of the end record, 0 none */
    osc_launch_part parts[OSC_LAUNCH_PARTS_MAX]; /* of the event handed out last */
    float percent[OSC_CPUS_MAX];                 /* of the sample handed out last */
} osc_systrace_reader;

/*
 * Starts reading an append-only file of any of the three kinds (see reader->kind afterwards). Fails
 * with OSC_EFOREIGN (a vendor .pb), OSC_EVERSION, OSC_ETRUNCATED (header not complete),
 * OSC_EFORMAT. input and findings must outlive the reader.
 */
osc_status osc_systrace_open(osc_systrace_reader *r, const void *data, size_t len,
                             const char *input, osc_findings *findings,
                             osc_err *err) OSC_MUST_CHECK;

/*
 * Next record of the file's kind: true and *out, false at the end. Damage goes to findings
 * ("truncated" with the offset of the first byte not kept, "damaged-record", "dropped",
 * "missing-records") and reading goes on while record borders hold. Calling the function of another
 * kind gives false. parts / percent stay valid until the next call.
 */
bool osc_systrace_next_event(osc_systrace_reader *r, osc_systrace_event *out);
bool osc_systrace_next_cpu(osc_systrace_reader *r, osc_cpu_sample *out);
bool osc_systrace_next_mem(osc_systrace_reader *r, osc_mem_sample *out);

/*
 * True when the end record was reached and nothing was damaged. Meaningful after next gave false.
 */
bool osc_systrace_complete(const osc_systrace_reader *r);

#endif
