/*
 * scope_session.h - writes a small session: two executions of one program on core 0, the first after a
 * scalar was copied to the device. Every number is chosen so that a swapped one shows.
 *
 *     t = T0     aten::add            [0, 40] us   External id 5
 *     +2         write, 4 bytes       sequence 70; copied in at +100 for 9 us
 *     +4         schedule             sequence 71; runs [110, 500] us: launch 380, body 10
 *     t = +50    aten::add, call 2    [50, 60] us  External id 6, sequence 72, runs [500, 890] us
 */
#ifndef OSC_TESTS_UNIT_SCOPE_SESSION_H
#define OSC_TESTS_UNIT_SCOPE_SESSION_H

#include "program_samples.h"
#include "tap.h"

#include "artifact/neff.h"
#include "artifact/ntff.h"
#include "artifact/session.h"
#include "artifact/systrace.h"
#include "artifact/trace_info.h"
#include "base/io.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define SESSION_T0   INT64_C(1764411300000000000)
#define SESSION_US   1000
#define SESSION_PATH "i-test_pid_4711/20251129_101500"

static const osc_launch_part session_parts[2] = {
    {.name = {"submit", 6}, .ns = 200000, .fitted = true},
    {.name = {"switch", 6}, .ns = 180000, .fitted = true},
};

/* dma input0 -> SBUF raises 3; Vector waits for it, raises 4; dma SBUF -> output0 waits for that. */
static inline osc_program *session_program(void)
{
    osc_program *p = sample_base("aten::add");
    osc_err err = {0};
    if (!p)
        return NULL;
    add_line(
        p,
        "Sync dma_copy dst=sbuf.bf16(p0,n4,@0)[512:1] src0=hbm.bf16(t0,n4,s512,@0)[512:1] inc=3+1 "
        "source=0");
    add_line(p, "Sync dma_copy dst=hbm.bf16(t1,n4,s512,@0)[512:1] "
                "src0=sbuf.bf16(p0,n4,@1024)[512:1] wait=4>=1 "
                "source=0");
    add_line(p, "Vector tensor_scalar alu0=add imm1=2 dst=sbuf.bf16(p0,n4,@1024)[512:1] "
                "src0=sbuf.bf16(p0,n4,@0)[512:1] src1=imm wait=3>=1 inc=4+1 source=0");
    osc_status status = osc_program_seal(p, &err);
    TAP_OKF(status == OSC_OK, "sealed: %s", err.message);
    return p;
}

static inline void session_put(const char *dir, const char *name, const void *data, size_t len)
{
    osc_err err = {0};
    char *path = osc_path_join(dir, name);
    osc_status status = path ? osc_write_file_atomic(path, data, len, &err) : OSC_ENOMEM;
    TAP_OKF(status == OSC_OK, "%s: %s", name, err.message);
    osc_free(path);
}

static const char session_trace[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NEURON\"}],\n"
    "\"baseTimeNanoseconds\": 1764411300000000000, \"traceEvents\": [\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"pid\":4711,\"tid\":"
    "4712,\"ts\":-1.000,"
    "\"dur\":1000.000,\"args\":{\"External id\":4,\"Ev Idx\":0}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":4711,\"tid\":4712,\"ts\":0."
    "000,\"dur\":40.000,"
    "\"args\":{\"External id\":5,\"Ev Idx\":1,\"Input Dims\":[[4, 512], []]}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":4711,\"tid\":4712,\"ts\":50."
    "000,\"dur\":10.000,"
    "\"args\":{\"External id\":6,\"Ev Idx\":2,\"Input Dims\":[[4, 512], [4, 512]]}},\n"
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"model.py(27): "
    "norm\",\"pid\":4711,\"tid\":4712,\"ts\":-0.500,"
    "\"dur\":900.000,\"args\":{\"Python id\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"privateuse1_runtime\",\"name\":\"nrta_execute_schedule\",\"pid\":4711,"
    "\"tid\":4712,"
    "\"ts\":4.000,\"dur\":1.000,\"args\":{\"External "
    "id\":5,\"nrt_sequence_id\":71,\"exec_id\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nc "
    "aten::add\",\"pid\":0,\"tid\":0,\"ts\":110.000,\"dur\":390.000,"
    "\"args\":{\"External id\":5,\"nrt_sequence_id\":71,\"exec_id\":1,\"correlation\":91}},\n"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"dmem_buf_copyin (host to "
    "device)\",\"pid\":0,\"tid\":0,"
    "\"ts\":100.000,\"dur\":9.000,\"args\":{\"External "
    "id\":5,\"nrt_sequence_id\":70,\"bytes\":4,\"correlation\":90}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nc "
    "aten::add\",\"pid\":0,\"tid\":0,\"ts\":500.000,\"dur\":390.000,"
    "\"args\":{\"External id\":6,\"nrt_sequence_id\":72,\"exec_id\":2,\"correlation\":92}},\n"
    "{\"ph\":\"X\",\"cat\":\"privateuse1_driver\",\"name\":\"aten::add\",\"pid\":0,\"tid\":"
    "\"Stream 0\",\"ts\":5.000,"
    "\"dur\":495.000,\"args\":{\"External "
    "id\":5,\"nrt_sequence_id\":71,\"opscope_lane\":1,\"exec_id\":1}}\n"
    "]}\n";

static const char session_manifest[] =
    "{\"format\": \"opscope.run\", \"major\": 1, \"minor\": 0, \"producer\": \"opscope 0.1.0\",\n"
    "\"instance\": {\"id\": \"i-test\", \"type\": \"trn2\", \"pid\": 4711}, \"simulated\": true,\n"
    "\"framework\": {\"versions\": {\"torch\": \"2.13.0\"},\n"
    "\"compile_path\": {\"kind\": \"eager\"}}}\n";

static inline void session_ntrace(const char *dir)
{
    osc_err err = {0};
    osc_systrace_writer *w = NULL;
    char *path = osc_path_join(dir, "ntrace.pb");
    TAP_EQ_STATUS(osc_systrace_writer_open(path, OSC_SYSTRACE_NTRACE, &w, &err), OSC_OK);
    static const struct {
        uint32_t type;
        int64_t from, to;
        uint64_t sequence, correlation, exec, size;
    } rows[] = {
        {OSC_ST_NRTA_TENSOR_WRITE, 2, 3, 70, 5, 0, 4},
        {OSC_ST_DMEM_BUF_COPYIN, 100, 109, 70, 5, 0, 4},
        {OSC_ST_NRTA_EXECUTE_SCHEDULE, 4, 5, 71, 5, 1, 0},
        {OSC_ST_NRT_MODEL_SWITCH, 310, 490, 71, 5, 1, 0},
        {OSC_ST_NC_EXEC_RUNNING, 110, 500, 71, 5, 1, 0},
        {OSC_ST_TIMESTAMP_SYNC_POINT, 500, 500, 71, 5, 1, 0},
        {OSC_ST_NRTA_EXECUTE_SCHEDULE, 51, 52, 72, 6, 2, 0},
        {OSC_ST_NC_EXEC_RUNNING, 500, 890, 72, 6, 2, 0},
    };
    osc_program *p = session_program();
    for (size_t i = 0; i < sizeof rows / sizeof *rows && w && p; i++) {
        osc_systrace_event e;
        osc_systrace_event_init(&e);
        e.type = rows[i].type;
        e.start_ns = SESSION_T0 + rows[i].from * SESSION_US;
        e.end_ns = SESSION_T0 + rows[i].to * SESSION_US;
        e.nc_idx = 0;
        e.sequence_id = rows[i].sequence;
        e.correlation = rows[i].correlation;
        e.exec_id = rows[i].exec;
        e.size = rows[i].size;
        e.neff_hash = rows[i].exec ? osc_program_hash(p) : 0;
        e.model_name = OSC_STR("aten::add");
        if (rows[i].type == OSC_ST_NC_EXEC_RUNNING) {
            e.body_ns = 10 * SESSION_US;
            e.parts = session_parts;
            e.part_count = 2;
        }
        TAP_EQ_STATUS(osc_systrace_writer_event(w, &e, &err), OSC_OK);
    }
    TAP_EQ_STATUS(osc_systrace_writer_close(w, SESSION_T0 + 1000 * SESSION_US, &err), OSC_OK);
    osc_program_release(p);
    osc_free(path);
}

static inline void session_trace_info(const char *dir, const osc_program *p)
{
    osc_err err = {0};
    char *path = osc_path_join(dir, "trace_info.pb");
    osc_trace_program program = {.hash = osc_program_hash(p), .name = OSC_STR("aten::add")};
    osc_trace_core core = {.nc_idx = 0, .events_kept = 8};
    osc_trace_info info = {.instance_id = OSC_STR("i-test"),
                           .instance_type = OSC_STR("trn2"),
                           .pid = 4711,
                           .simulated = true,
                           .producer = OSC_STR("opscope 0.1.0"),
                           .window_start_ns = SESSION_T0,
                           .window_end_ns = SESSION_T0 + 1000 * SESSION_US,
                           .cores = &core,
                           .core_count = 1,
                           .programs = &program,
                           .program_count = 1};
    osc_neff_uuid(p, program.uuid);
    TAP_EQ_STATUS(osc_trace_info_write(path, &info, &err), OSC_OK);
    osc_free(path);
}

/* Device events of an execution; times from the start of its body. */
static const struct {
    uint8_t kind, engine, opcode, ring, wait;
    uint16_t sem;
    uint32_t index;
    int16_t ready, start, end;
    uint16_t a;
} session_events[] = {
    {OSC_EV_PHASE, 0, 0, 0, 0, 0, 0, 0, 0, 4000, 0},
    {OSC_EV_INST, OSC_ENGINE_SYNC, OSC_OP_DMA_COPY, 0, 0, 0, 0, 4000, 4000, 4010, 0},
    {OSC_EV_DMA, OSC_ENGINE_DMA, OSC_OP_DMA_COPY, 0, 5, 0, 0, 4010, 5000, 5200, 2048},
    {OSC_EV_DMA, OSC_ENGINE_DMA, OSC_OP_DMA_COPY, 1, 5, 0, 0, 4010, 5000, 5300, 2048},
    {OSC_EV_INST, OSC_ENGINE_VECTOR, OSC_OP_TENSOR_SCALAR, 0, 1, 3, 0, 4000, 5400, 5900, 0},
    {OSC_EV_INST, OSC_ENGINE_SYNC, OSC_OP_DMA_COPY, 0, 1, 4, 1, 4010, 6000, 6010, 0},
    {OSC_EV_DMA, OSC_ENGINE_DMA, OSC_OP_DMA_COPY, 0, 5, 0, 1, 6010, 7000, 7400, 4096},
    {OSC_EV_PHASE, 0, 0, 0, 0, 0, 0, 7400, 7400, 10000, 1},
};

/* The device clock runs 5 ms behind the host's. */
static inline void session_exec(osc_ntff_writer *w, uint32_t exec, int64_t start_ns)
{
    osc_err err = {0};
    int64_t dev = start_ns + 380 * SESSION_US - SESSION_T0 - 5000000;
    osc_ntff_exec e = {.exec = exec,
                       .sequence = 70 + exec,
                       .correlation = 4 + exec,
                       .start_ns = start_ns,
                       .end_ns = start_ns + 390 * SESSION_US,
                       .body_dev_ns = dev,
                       .body_ns = 10 * SESSION_US,
                       .sync_host_ns = start_ns + 390 * SESSION_US,
                       .sync_dev_ns = dev + 10 * SESSION_US,
                       .op = OSC_STR("aten::add"),
                       .parts = session_parts,
                       .part_count = 2};
    TAP_EQ_STATUS(osc_ntff_writer_exec(w, &e, &err), OSC_OK);
    for (size_t i = 0; i < sizeof session_events / sizeof *session_events; i++) {
        osc_event event = {.kind = session_events[i].kind,
                           .engine = session_events[i].engine,
                           .opcode = session_events[i].opcode,
                           .ring = session_events[i].ring,
                           .wait_kind = session_events[i].wait,
                           .issuer = OSC_ENGINE_SYNC,
                           .wait_sem = session_events[i].sem,
                           .index = session_events[i].index,
                           .exec = exec,
                           .ready_ns = dev + session_events[i].ready,
                           .start_ns = dev + session_events[i].start,
                           .end_ns = dev + session_events[i].end,
                           .a = session_events[i].a};
        TAP_EQ_STATUS(osc_ntff_writer_events(w, &event, 1, &err), OSC_OK);
    }
}

static inline void session_device(const char *dir, const osc_program *p)
{
    char name[OSC_FILE_NAME_MAX];
    osc_err err = {0};
    osc_buf neff;
    osc_buf_init(&neff, SIZE_MAX);
    TAP_EQ_STATUS(osc_neff_write(p, &neff, &err), OSC_OK);
    session_put(dir, osc_neff_file_name(osc_program_hash(p), 0, name), neff.data, neff.len);
    osc_buf_free(&neff);
    osc_ntff_header h = {.neff_hash = osc_program_hash(p),
                         .generation = OSC_TRN2,
                         .simulated = true,
                         .pid = 4711,
                         .capture_start_ns = SESSION_T0,
                         .clock_origin_ns = SESSION_T0 + 5000000,
                         .clock_hz = 1000000000,
                         .instance_id = "i-test"};
    osc_neff_uuid(p, h.neff_uuid);
    osc_ntff_writer *w = NULL;
    char *path = osc_path_join(dir, osc_ntff_file_name(osc_program_hash(p), 0, 0, name));
    TAP_EQ_STATUS(osc_ntff_writer_open(path, &h, &w, &err), OSC_OK);
    session_exec(w, 1, SESSION_T0 + 110 * SESSION_US);
    session_exec(w, 2, SESSION_T0 + 500 * SESSION_US);
    TAP_EQ_STATUS(osc_ntff_writer_close(w, SESSION_T0 + 1000 * SESSION_US, &err), OSC_OK);
    osc_free(path);
}

/* Writes the session below top; the directory of its files, freed by the caller with osc_free. */
static inline char *write_session(const char *top)
{
    osc_err err = {0};
    char *dir = osc_path_join(top, SESSION_PATH);
    osc_program *p = session_program();
    if (dir && p && osc_mkdir_p(dir, &err) == OSC_OK) {
        session_put(dir, "trace.json", session_trace, sizeof session_trace - 1);
        session_put(dir, "run.json", session_manifest, sizeof session_manifest - 1);
        session_ntrace(dir);
        session_trace_info(dir, p);
        session_device(dir, p);
    }
    osc_program_release(p);
    return dir;
}

#endif
