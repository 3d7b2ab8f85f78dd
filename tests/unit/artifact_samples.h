/*
 * artifact_samples.h - a small capture for the tests of the artifact room: three executions with
 * launch parts and their device events. The host's side of it is in artifact_samples_pb.h.
 *
 * Values are distinct in every field, so that two fields swapped anywhere show. Header only: each
 * test is one program. docs/formats/ntff.md prints the start of the file that write_sample_ntff
 * writes.
 */
#ifndef OSC_TESTS_ARTIFACT_SAMPLES_H
#define OSC_TESTS_ARTIFACT_SAMPLES_H

#include "artifact/event.h"
#include "artifact/ntff.h"
#include "base/io.h"
#include "base/mem.h"
#include "isa/isa.h"

#include <stdio.h>
#include <string.h>

#define SAMPLE_EXECS           3u
#define SAMPLE_EVENTS_PER_EXEC 5u
#define SAMPLE_HASH            UINT64_C(3957600758123456789)
#define SAMPLE_T0              INT64_C(1764411300000000000)

static const uint8_t sample_uuid[16] = {0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87,
                                        0x98, 0xa9, 0xba, 0xcb, 0xdc, 0xed, 0xfe, 0x0f};

static const osc_launch_part sample_parts[3] = {
    {.name = {"submit", 6}, .ns = 45000, .fitted = true},
    {.name = {"switch", 6}, .ns = 90000, .fitted = true},
    {.name = {"measured", 8}, .ns = 1234, .fitted = false},
};

static inline osc_ntff_header sample_ntff_header(void)
{
    osc_ntff_header h = {.neff_hash = SAMPLE_HASH,
                         .generation = OSC_TRN2,
                         .core = 3,
                         .instance_index = 1,
                         .simulated = true,
                         .pid = 4711,
                         .capture_start_ns = SAMPLE_T0,
                         .clock_origin_ns = SAMPLE_T0 - 5000000,
                         .clock_hz = 1000000000};
    memcpy(h.neff_uuid, sample_uuid, sizeof h.neff_uuid);
    memcpy(h.instance_id, "i-local", sizeof "i-local");
    return h;
}

/* Execution i of SAMPLE_EXECS; the last one has no parts and no operator. */
static inline osc_ntff_exec sample_exec(uint32_t i)
{
    int64_t at = SAMPLE_T0 + 1000000 * (int64_t)i;
    osc_ntff_exec e = {.exec = i + 1,
                       .sequence = (UINT64_C(1) << 48) + 29 + i,
                       .correlation = 500 + i,
                       .stream = (int64_t)i - 1,
                       .thread_id = 4712,
                       .submit_ns = at,
                       .start_ns = at + 1000,
                       .end_ns = at + 388200,
                       .body_dev_ns = 700000 + 10 * (int64_t)i,
                       .body_ns = 11200,
                       .sync_host_ns = at + 388201,
                       .sync_dev_ns = 711200 + 10 * (int64_t)i,
                       .events_dropped = i};
    if (i + 1 < SAMPLE_EXECS) {
        e.op = i == 0 ? OSC_STR("aten::mul") : OSC_STR("aten::rsqrt");
        e.parts = sample_parts;
        e.part_count = 3 - i;
    }
    return e;
}

/* Event k of execution i. */
static inline osc_event sample_event(uint32_t i, uint32_t k)
{
    int64_t at = 700000 + 10 * (int64_t)i + 100 * (int64_t)k;
    osc_event e = {.kind = k == 0 ? OSC_EV_EXEC : OSC_EV_INST,
                   .engine = OSC_ENGINE_VECTOR,
                   .opcode = OSC_OP_TENSOR_TENSOR,
                   .ring = (uint8_t)(k + 2),
                   .wait_kind = 1,
                   .issuer = OSC_ENGINE_SYNC,
                   .wait_sem = (uint16_t)(300 + k),
                   .index = 70000 + k,
                   .exec = i + 1,
                   .ready_ns = at,
                   .start_ns = at + 20,
                   .end_ns = at + 63,
                   .a = UINT64_C(0x1122334455667788) + k,
                   .b = 4096 + i};
    return e;
}

/* Writes the sample capture to path, one flush per execution; false (with *err) on failure. */
static inline bool write_sample_ntff(const char *path, osc_err *err)
{
    osc_ntff_header h = sample_ntff_header();
    osc_ntff_writer *w;
    osc_status st = osc_ntff_writer_open(path, &h, &w, err);
    for (uint32_t i = 0; i < SAMPLE_EXECS && st == OSC_OK; i++) {
        osc_ntff_exec e = sample_exec(i);
        osc_event events[SAMPLE_EVENTS_PER_EXEC];
        for (uint32_t k = 0; k < SAMPLE_EVENTS_PER_EXEC; k++)
            events[k] = sample_event(i, k);
        st = osc_ntff_writer_exec(w, &e, err);
        if (st == OSC_OK)
            st = osc_ntff_writer_events(w, events, SAMPLE_EVENTS_PER_EXEC, err);
        if (st == OSC_OK)
            st = osc_ntff_writer_flush(w, err);
    }
    osc_status closed = osc_ntff_writer_close(w, SAMPLE_T0 + 9000000, st == OSC_OK ? err : NULL);
    return st == OSC_OK && closed == OSC_OK;
}

#endif
