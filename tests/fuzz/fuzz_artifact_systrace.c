/*
 * fuzz_artifact_systrace.c - ntrace.pb, cpu_util.pb, host_mem.pb and trace_info.pb from any bytes.
 *
 * Two doors: the bytes as they are, and the same records with right checksums, so that mutations
 * reach the decoders of events and samples.
 */
#include "artifact/systrace.h"
#include "artifact/trace_info.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/pb.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A view that lies wholly inside the input. */
static void check_view(osc_str s, const uint8_t *data, size_t size)
{
    const uint8_t *p = (const uint8_t *)s.ptr;
    assert(s.len == 0 || (p >= data && s.len <= size && p + s.len <= data + size));
    (void)p;
    (void)data;
    (void)size;
}

static void read_records(osc_systrace_reader *r, const uint8_t *data, size_t size)
{
    osc_systrace_event e;
    osc_cpu_sample cpu;
    osc_mem_sample mem;
    while (osc_systrace_next_event(r, &e)) {
        assert(e.end_ns - e.start_ns >= 0 && e.end_ns - e.body_ns <= e.end_ns);
        assert(e.part_count <= OSC_LAUNCH_PARTS_MAX);
        check_view(e.op_name, data, size);
        check_view(e.extra_json, data, size);
        for (uint32_t i = 0; i < e.part_count; i++)
            check_view(e.parts[i].name, data, size);
    }
    while (osc_systrace_next_cpu(r, &cpu))
        assert(cpu.cpus <= OSC_CPUS_MAX);
    while (osc_systrace_next_mem(r, &mem))
        assert(mem.duration_ns >= 0);
}

static void read_all(const uint8_t *data, size_t size)
{
    static osc_systrace_reader r;
    osc_findings findings = {0};
    osc_err err = {0};
    if (osc_systrace_open(&r, data, size, "fuzz/ntrace.pb", &findings, &err) == OSC_OK) {
        read_records(&r, data, size);
        assert(osc_systrace_complete(&r) || findings.count > 0);
    } else {
        assert(err.message[0] != '\0');
    }
    osc_trace_info info;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    if (arena && osc_trace_info_read(data, size, "fuzz/trace_info.pb", arena, &findings, &info,
                                     &err) == OSC_OK) {
        for (size_t i = 0; i < info.program_count; i++)
            check_view(info.programs[i].name, data, size);
        for (size_t i = 0; i < info.setting_count; i++)
            check_view(info.settings[i].value, data, size);
    }
    osc_arena_free(arena);
    osc_findings_free(&findings);
}

/* The same top-level records, each with its last six bytes replaced by a right checksum. */
static void put_right(osc_buf *out, const uint8_t *data, size_t size)
{
    osc_cursor c = osc_cursor_make(data, size);
    osc_pb_field f;
    while (osc_pb_next(&c, &f)) {
        unsigned char kind = (unsigned char)f.number;
        if (f.wire != OSC_PB_BYTES || f.number > 15)
            continue;
        size_t content = f.bytes.len > 6 ? f.bytes.len - 6 : 0;
        osc_buf record;
        osc_buf_init(&record, SIZE_MAX);
        osc_buf_append(&record, f.bytes.ptr, content);
        osc_pb_fixed32(&record, 100, osc_crc32c(osc_crc32c(0, &kind, 1), f.bytes.ptr, content));
        osc_pb_bytes(out, f.number, record.data, record.len);
        osc_buf_free(&record);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_buf file;
    osc_buf_init(&file, SIZE_MAX);
    read_all(data, size);
    put_right(&file, data, size);
    read_all(file.data, file.len);
    osc_buf_free(&file);
    return 0;
}
