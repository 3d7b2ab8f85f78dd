/*
 * systrace_fields.h - field numbers of docs/formats/systrace.proto, for its writer and reader only.
 * A test parses the .proto and compares.
 */
#ifndef OSC_ARTIFACT_SYSTRACE_FIELDS_H
#define OSC_ARTIFACT_SYSTRACE_FIELDS_H

/* Top level of NTrace, CpuUtil, HostMem. */
enum { REC_EVENT = 2, REC_SAMPLE = 2 };

/* Event */
enum {
    EV_ID = 1,
    EV_TYPE = 2,
    EV_PHASE = 3,
    EV_START = 4,
    EV_DURATION = 5,
    EV_NC = 6,
    EV_PCORE = 7,
    EV_THREAD = 8,
    EV_STREAM = 9,
    EV_TRACKING = 10,
    EV_FLOW = 11,
    EV_EXEC = 12,
    EV_SEQUENCE = 13,
    EV_CORRELATION = 14,
    EV_PARENT = 15,
    EV_NEFF_HASH = 16,
    EV_MODEL = 17,
    EV_MODEL_NAME = 18,
    EV_OP_NAME = 19,
    EV_TENSOR_NAME = 20,
    EV_TENSOR = 21,
    EV_SIZE = 22,
    EV_NC_START = 23,
    EV_NC_STOP = 24,
    EV_BODY = 25,
    EV_PART = 26,
    EV_EXTRA = 27,
    EV_TYPE_NAME = 28
};

/* LaunchPart */
enum { PART_NAME = 1, PART_NS = 2, PART_FITTED = 3 };

/* CpuSample, MemSample */
enum { CPU_TIME = 1, CPU_DURATION = 2, CPU_PERCENT = 3 };
enum { MEM_TIME = 1, MEM_DURATION = 2, MEM_TOTAL = 3, MEM_USED = 4, MEM_PROCESS = 5 };

/* End, Dropped */
enum { END_RECORDS = 1, END_TIME = 2, END_LOST = 3, END_CORE = 4 };
enum { DROP_NC = 1, DROP_RECORDS = 2 };

#endif
