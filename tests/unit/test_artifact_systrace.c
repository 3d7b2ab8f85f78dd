/*
 * test_artifact_systrace.c - ntrace.pb, cpu_util.pb, host_mem.pb, trace_info.pb: round trips and
 * damage.
 */
#include "artifact/systrace.h"

#include "artifact_samples_pb.h"
#include "base/hash.h"
#include "base/pb.h"
#include "tap.h"

#include <signal.h>
#include <sys/resource.h>

/* One sample file of a kind, in memory. */
struct sample {
    const char *name;
    bool (*write)(const char *path, osc_err *err);
    char *data;
    size_t len;
};

static bool write_info(const char *path, osc_err *err)
{
    osc_trace_info info = sample_trace_info();
    return osc_trace_info_write(path, &info, err) == OSC_OK;
}

enum { NTRACE, CPU_UTIL, HOST_MEM, INFO, KINDS };
static struct sample samples[KINDS] = {
    [NTRACE] = {"ntrace.pb", write_sample_ntrace, NULL, 0},
    [CPU_UTIL] = {"cpu_util.pb", write_sample_cpu_util, NULL, 0},
    [HOST_MEM] = {"host_mem.pb", write_sample_host_mem, NULL, 0},
    [INFO] = {"trace_info.pb", write_info, NULL, 0},
};

static void test_samples_are_there(void)
{
    osc_err err = {0};
    for (int k = 0; k < KINDS; k++) {
        char *path = osc_path_join(tap_tmpdir(), samples[k].name);
        TAP_REQUIRE(path && samples[k].write(path, &err));
        TAP_REQUIRE(osc_read_file(path, SIZE_MAX, &samples[k].data, &samples[k].len, &err) ==
                    OSC_OK);
        osc_free(path);
    }
}

static bool same_parts(const osc_systrace_event *a, const osc_systrace_event *b)
{
    bool same = a->part_count == b->part_count;
    for (uint32_t i = 0; same && i < a->part_count; i++)
        same = osc_str_eq(a->parts[i].name, b->parts[i].name) && a->parts[i].ns == b->parts[i].ns &&
               a->parts[i].fitted == b->parts[i].fitted;
    return same;
}

static bool same_event(const osc_systrace_event *a, const osc_systrace_event *b)
{
    return a->id == b->id && a->parent_id == b->parent_id && a->type == b->type &&
           a->phase == b->phase && osc_str_eq(a->type_name, b->type_name) &&
           a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->nc_idx == b->nc_idx &&
           a->pcore_idx == b->pcore_idx && a->thread_id == b->thread_id && a->stream == b->stream &&
           a->tracking_id == b->tracking_id && a->flow_id == b->flow_id &&
           a->exec_id == b->exec_id && a->sequence_id == b->sequence_id &&
           a->correlation == b->correlation && a->model_id == b->model_id &&
           a->neff_hash == b->neff_hash && osc_str_eq(a->model_name, b->model_name) &&
           osc_str_eq(a->op_name, b->op_name) && osc_str_eq(a->tensor_name, b->tensor_name) &&
           a->tensor_id == b->tensor_id && a->size == b->size && a->has_nc_time == b->has_nc_time &&
           a->nc_start_ns == b->nc_start_ns && a->nc_stop_ns == b->nc_stop_ns &&
           a->body_ns == b->body_ns && osc_str_eq(a->extra_json, b->extra_json) && same_parts(a, b);
}

static void test_events_round_trip(void)
{
    static osc_systrace_reader r;
    osc_findings findings = {0};
    osc_systrace_event e;
    osc_err err = {0};
    TAP_REQUIRE(osc_systrace_open(&r, samples[NTRACE].data, samples[NTRACE].len, "ntrace.pb",
                                  &findings, &err) == OSC_OK);
    TAP_EQ_U64(r.kind, OSC_SYSTRACE_NTRACE);
    TAP_EQ_U64(r.major, OSC_SYSTRACE_MAJOR);
    TAP_EQ_U64(r.minor, OSC_SYSTRACE_MINOR);
    for (uint32_t i = 0; i < SAMPLE_SYSTRACE_EVENTS; i++) {
        osc_systrace_event want = sample_systrace_event(i);
        TAP_REQUIRE(osc_systrace_next_event(&r, &e));
        TAP_OKF(same_event(&e, &want), "event %u differs", i);
    }
    TAP_OK(!osc_systrace_next_event(&r, &e));
    TAP_OK(osc_systrace_complete(&r));
    TAP_EQ_I64(r.end_ns, SAMPLE_T0 + 9000000);
    TAP_EQ_U64(findings.count, 0);
    osc_findings_free(&findings);
}

static void test_samples_round_trip(void)
{
    static osc_systrace_reader r;
    osc_cpu_sample cpu;
    osc_mem_sample mem;
    osc_systrace_event e;
    TAP_REQUIRE(osc_systrace_open(&r, samples[CPU_UTIL].data, samples[CPU_UTIL].len, NULL, NULL,
                                  NULL) == OSC_OK);
    TAP_OK(!osc_systrace_next_event(&r, &e)); /* another kind */
    for (uint32_t i = 0; i < 2; i++) {
        TAP_REQUIRE(osc_systrace_next_cpu(&r, &cpu));
        TAP_EQ_I64(cpu.time_ns, SAMPLE_T0 + 1000000000 * (int64_t)i);
        TAP_EQ_I64(cpu.duration_ns, 1000000000);
        TAP_EQ_U64(cpu.cpus, 3 - i);
        TAP_EQ_MEM(cpu.percent, sample_percent, (3 - i) * sizeof(float));
    }
    TAP_OK(!osc_systrace_next_cpu(&r, &cpu) && osc_systrace_complete(&r));
    TAP_REQUIRE(osc_systrace_open(&r, samples[HOST_MEM].data, samples[HOST_MEM].len, NULL, NULL,
                                  NULL) == OSC_OK);
    for (uint32_t i = 0; i < 2; i++) {
        TAP_REQUIRE(osc_systrace_next_mem(&r, &mem));
        TAP_EQ_I64(mem.time_ns, SAMPLE_T0 + (int64_t)i);
        TAP_EQ_I64(mem.duration_ns, 5);
        TAP_EQ_U64(mem.total_bytes, UINT64_C(64) << 30);
        TAP_EQ_U64(mem.used_bytes, (UINT64_C(8) << 30) + i);
        TAP_EQ_U64(mem.process_bytes, 123456789);
    }
    TAP_OK(!osc_systrace_next_mem(&r, &mem) && osc_systrace_complete(&r));
}

static void test_info_round_trip(void)
{
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_findings findings = {0};
    osc_trace_info got, want = sample_trace_info();
    osc_err err = {0};
    TAP_REQUIRE(arena != NULL);
    TAP_REQUIRE(osc_trace_info_read(samples[INFO].data, samples[INFO].len, "trace_info.pb", arena,
                                    &findings, &got, &err) == OSC_OK);
    TAP_EQ_U64(findings.count, 0);
    TAP_OK(osc_str_eq(got.instance_id, want.instance_id) &&
           osc_str_eq(got.instance_type, want.instance_type));
    TAP_OK(osc_str_eq(got.producer, want.producer) && osc_str_eq(got.framework, want.framework));
    TAP_OK(got.pid == want.pid && got.simulated);
    TAP_EQ_I64(got.window_start_ns, want.window_start_ns);
    TAP_EQ_I64(got.window_end_ns, want.window_end_ns);
    TAP_REQUIRE(got.core_count == 2 && got.program_count == 2 && got.setting_count == 2);
    for (size_t i = 0; i < 2; i++) {
        TAP_EQ_U64(got.cores[i].nc_idx, want.cores[i].nc_idx);
        TAP_EQ_U64(got.cores[i].events_kept, want.cores[i].events_kept);
        TAP_EQ_U64(got.cores[i].events_dropped, want.cores[i].events_dropped);
        TAP_EQ_I64(got.cores[i].clock_origin_ns, want.cores[i].clock_origin_ns);
        TAP_EQ_I64(got.cores[i].clock_drift_ppb, want.cores[i].clock_drift_ppb);
        TAP_EQ_U64(got.programs[i].hash, want.programs[i].hash);
        TAP_EQ_MEM(got.programs[i].uuid, want.programs[i].uuid, 16);
        TAP_OK(osc_str_eq(got.programs[i].name, want.programs[i].name));
        TAP_OK(osc_str_eq(got.programs[i].cache_key, want.programs[i].cache_key));
        TAP_EQ_U64(got.programs[i].model_id, want.programs[i].model_id);
        TAP_EQ_U64(got.programs[i].flops, want.programs[i].flops);
        TAP_OK(osc_str_eq(got.settings[i].name, want.settings[i].name));
        TAP_OK(osc_str_eq(got.settings[i].value, want.settings[i].value));
    }
    osc_findings_free(&findings);
    osc_arena_free(arena);
}

/* What reading one image of a sample gave. */
struct outcome {
    osc_status status;
    osc_err err;
    uint64_t records;
    bool complete, prefix;
    osc_findings findings;
};

static void read_events(osc_systrace_reader *r, struct outcome *o)
{
    osc_systrace_event e;
    osc_cpu_sample cpu;
    osc_mem_sample mem;
    uint32_t n = 0;
    o->prefix = true;
    while (osc_systrace_next_event(r, &e)) {
        osc_systrace_event want = sample_systrace_event(n < SAMPLE_SYSTRACE_EVENTS ? n : 0);
        o->prefix &= n < SAMPLE_SYSTRACE_EVENTS && same_event(&e, &want);
        n++;
    }
    while (osc_systrace_next_cpu(r, &cpu))
        o->prefix &= cpu.cpus == 3 - n && cpu.time_ns == SAMPLE_T0 + 1000000000 * (int64_t)n++;
    while (osc_systrace_next_mem(r, &mem))
        o->prefix &= mem.time_ns == SAMPLE_T0 + (int64_t)n++;
    o->records = n;
    o->complete = osc_systrace_complete(r);
}

/* Reads an image from an exactly sized heap block, so that ASan sees a read past the end. */
static void read_image(const struct sample *s, const char *data, size_t len, struct outcome *o)
{
    static osc_systrace_reader r;
    char *exact = osc_alloc(len ? len : 1);
    *o = (struct outcome){.status = OSC_ENOMEM};
    if (!exact)
        return;
    if (len > 0)
        memcpy(exact, data, len);
    if (s == &samples[INFO]) {
        osc_trace_info info;
        osc_arena *arena = osc_arena_new(SIZE_MAX);
        o->status = osc_trace_info_read(exact, len, s->name, arena, &o->findings, &info, &o->err);
        o->records = info.core_count + info.program_count + info.setting_count;
        o->prefix = true;
        osc_arena_free(arena);
    } else {
        o->status = osc_systrace_open(&r, exact, len, s->name, &o->findings, &o->err);
        if (o->status == OSC_OK)
            read_events(&r, o);
    }
    osc_free(exact);
}

static void test_truncation_at_every_byte(void)
{
    for (int k = 0; k < KINDS; k++) {
        uint64_t last = 0;
        bool opened = false;
        for (size_t cut = 0; cut < samples[k].len; cut++) {
            struct outcome o;
            read_image(&samples[k], samples[k].data, cut, &o);
            if (o.status != OSC_OK) {
                TAP_OKF(!opened && cut < 32, "%s cut at %zu did not open", samples[k].name, cut);
                TAP_OKF(o.status == OSC_ETRUNCATED, "%s cut at %zu: %s", samples[k].name, cut,
                        o.err.message);
            } else {
                const osc_finding *f = osc_findings_find(&o.findings, "truncated");
                opened = true;
                TAP_REQUIRE(f != NULL);
                TAP_OK(f->offset <= cut && f->code == OSC_ETRUNCATED && o.findings.count == 1);
                TAP_OKF(o.records >= last && o.prefix && !o.complete, "%s cut at %zu",
                        samples[k].name, cut);
                last = o.records;
            }
            osc_findings_free(&o.findings);
        }
        TAP_OK(last == (k == NTRACE ? 4 : k == INFO ? 6 : 2));
    }
}

static void test_every_flip_is_reported(void)
{
    for (int k = 0; k < KINDS; k++) {
        const struct sample *s = &samples[k];
        char *copy = osc_memdup0(s->data, s->len);
        TAP_REQUIRE(copy != NULL);
        for (size_t bit = 0; bit < s->len * 8; bit++) {
            struct outcome o;
            copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << (bit % 8));
            read_image(s, copy, s->len, &o);
            TAP_OKF(o.status != OSC_OK || o.findings.count > 0, "%s: flipped bit %zu went unseen",
                    s->name, bit);
            TAP_OK(!o.complete);
            osc_findings_free(&o.findings);
            copy[bit / 8] = s->data[bit / 8];
        }
        osc_free(copy);
    }
}

/* A damaged event in the middle costs one event. */
static void test_damaged_record_is_skipped(void)
{
    struct outcome o;
    osc_cursor c = osc_cursor_make(samples[NTRACE].data, samples[NTRACE].len);
    osc_pb_field f;
    TAP_REQUIRE(osc_pb_next(&c, &f) && osc_pb_next(&c, &f)); /* header, first event */
    char *copy = osc_memdup0(samples[NTRACE].data, samples[NTRACE].len);
    TAP_REQUIRE(copy != NULL);
    copy[f.offset + 20] ^= 1;
    read_image(&samples[NTRACE], copy, samples[NTRACE].len, &o);
    TAP_EQ_U64(o.records, SAMPLE_SYSTRACE_EVENTS - 1);
    const osc_finding *found = osc_findings_find(&o.findings, "damaged-record");
    TAP_REQUIRE(found != NULL);
    TAP_EQ_U64(found->offset, f.offset);
    TAP_OK(osc_findings_find(&o.findings, "missing-records") != NULL);
    osc_findings_free(&o.findings);
    osc_free(copy);
}

/* ---- other writers ---- */

/* A record as another program would write it. */
static void put_record(osc_buf *b, uint32_t field, const osc_buf *content)
{
    unsigned char kind = (unsigned char)field;
    osc_buf whole;
    osc_buf_init(&whole, SIZE_MAX);
    osc_buf_append(&whole, content->data, content->len);
    osc_pb_fixed32(&whole, 100, osc_crc32c(osc_crc32c(0, &kind, 1), content->data, content->len));
    osc_pb_bytes(b, field, whole.data, whole.len);
    osc_buf_free(&whole);
}

static void put_header(osc_buf *b, const char *magic, uint64_t major, uint64_t minor)
{
    osc_buf content;
    osc_buf_init(&content, SIZE_MAX);
    osc_pb_cstr(&content, 1, magic);
    if (major)
        osc_pb_u64(&content, 2, major);
    osc_pb_u64(&content, 3, minor);
    osc_pb_str(&content, 50, OSC_STR("a newer field"));
    put_record(b, 1, &content);
    osc_buf_free(&content);
}

static void test_versions(void)
{
    static osc_systrace_reader r;
    osc_buf b;
    osc_err err = {0};
    osc_buf_init(&b, SIZE_MAX);
    put_header(&b, "opscope.ntrace", 2, 5);
    TAP_EQ_STATUS(osc_systrace_open(&r, b.data, b.len, "ntrace.pb", NULL, &err), OSC_EVERSION);
    TAP_OK(strstr(err.message, "opscope.ntrace version 2.5") && strstr(err.message, "newer"));
    osc_buf_clear(&b);
    put_header(&b, "opscope.ntrace", 1, 77);
    TAP_EQ_STATUS(osc_systrace_open(&r, b.data, b.len, "ntrace.pb", NULL, &err), OSC_OK);
    TAP_EQ_U64(r.minor, 77);
    osc_buf_clear(&b);
    put_header(&b, "opscope.ntrace", 0, 1);
    TAP_EQ_STATUS(osc_systrace_open(&r, b.data, b.len, "ntrace.pb", NULL, &err), OSC_EFORMAT);
    osc_buf_clear(&b);
    put_header(&b, "opscope.unheard", 1, 1);
    TAP_EQ_STATUS(osc_systrace_open(&r, b.data, b.len, "ntrace.pb", NULL, &err), OSC_EFORMAT);
    osc_buf_clear(&b);
    put_header(&b, "opscope.trace_info", 2, 0);
    osc_trace_info info;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    TAP_EQ_STATUS(osc_trace_info_read(b.data, b.len, "trace_info.pb", arena, NULL, &info, &err),
                  OSC_EVERSION);
    TAP_EQ_STATUS(osc_trace_info_read(samples[NTRACE].data, samples[NTRACE].len, "x", arena, NULL,
                                      &info, &err),
                  OSC_EFORMAT);
    TAP_OK(strstr(err.message, "ntrace"));
    TAP_EQ_STATUS(osc_systrace_open(&r, samples[INFO].data, samples[INFO].len, "x", NULL, &err),
                  OSC_EFORMAT);
    osc_arena_free(arena);
    osc_buf_free(&b);
}

/* Unknown records and fields are passed over; what is known is read. */
static void test_newer_minor_is_read(void)
{
    static osc_systrace_reader r;
    osc_buf b, content;
    osc_findings findings = {0};
    osc_systrace_event e;
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_init(&content, SIZE_MAX);
    put_header(&b, "opscope.ntrace", 1, 9);
    osc_pb_u64(&b, 200, 7); /* a top-level field of a newer version */
    osc_pb_u64(&content, 99, 1);
    put_record(&b, 9, &content); /* a record kind of a newer version */
    osc_buf_clear(&content);
    osc_pb_fixed64(&content, 4, (uint64_t)SAMPLE_T0);
    osc_pb_u64(&content, 60, 1);
    osc_pb_u64(&content, 2, 4000); /* a type of a newer version */
    put_record(&b, 2, &content);
    TAP_REQUIRE(osc_systrace_open(&r, b.data, b.len, "ntrace.pb", &findings, NULL) == OSC_OK);
    TAP_REQUIRE(osc_systrace_next_event(&r, &e));
    TAP_EQ_I64(e.start_ns, SAMPLE_T0);
    TAP_EQ_U64(e.type, 4000);
    TAP_OK(osc_st_type_name(e.type) == NULL);
    TAP_OK(!osc_systrace_next_event(&r, &e));
    const osc_finding *f = osc_findings_find(&findings, "unknown-field");
    TAP_REQUIRE(f != NULL);
    TAP_EQ_U64(f->count, 2);
    TAP_OK(osc_findings_find(&findings, "damaged-record") == NULL);
    osc_findings_free(&findings);
    osc_buf_free(&content);
    osc_buf_free(&b);
}

/* Right checksum, impossible content. */
static void test_impossible_values(void)
{
    static osc_systrace_reader r;
    osc_buf b, content;
    osc_findings findings = {0};
    osc_systrace_event e;
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_init(&content, SIZE_MAX);
    put_header(&b, "opscope.ntrace", 1, 0);
    osc_pb_fixed64(&content, 4, INT64_MAX);
    osc_pb_u64(&content, 5, 1); /* ends after the end of time */
    put_record(&b, 2, &content);
    osc_buf_clear(&content);
    osc_pb_u64(&content, 5, UINT64_MAX);
    put_record(&b, 2, &content);
    osc_buf_clear(&content);
    osc_pb_u64(&content, 3, 99); /* no such phase */
    put_record(&b, 2, &content);
    osc_buf_clear(&content);
    osc_pb_i64(&content, 25, -1); /* a negative body */
    put_record(&b, 2, &content);
    osc_buf_clear(&content);
    osc_pb_bytes(&content, 26, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                 11); /* a part of -1 */
    put_record(&b, 2, &content);
    osc_buf_clear(&content);
    for (int i = 0; i < 20; i++)
        osc_pb_bytes(&content, 26, "", 0); /* over OSC_LAUNCH_PARTS_MAX parts */
    osc_pb_u64(&content, 6, UINT64_MAX);   /* a core beyond all cores */
    put_record(&b, 2, &content);
    TAP_REQUIRE(osc_systrace_open(&r, b.data, b.len, "ntrace.pb", &findings, NULL) == OSC_OK);
    TAP_REQUIRE(osc_systrace_next_event(&r, &e));
    TAP_EQ_U64(e.part_count, OSC_LAUNCH_PARTS_MAX);
    TAP_EQ_I64(e.nc_idx, -1);
    TAP_OK(!osc_systrace_next_event(&r, &e));
    const osc_finding *f = osc_findings_find(&findings, "damaged-record");
    TAP_REQUIRE(f != NULL);
    TAP_EQ_U64(f->count, 5);
    TAP_OK(osc_findings_find(&findings, "too-many-parts") != NULL);
    osc_findings_free(&findings);
    osc_buf_free(&content);
    osc_buf_free(&b);
}

static void test_too_many_cpus(void)
{
    static osc_systrace_reader r;
    static float percent[OSC_CPUS_MAX + 10];
    osc_buf b, content;
    osc_findings findings = {0};
    osc_cpu_sample s;
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_init(&content, SIZE_MAX);
    put_header(&b, "opscope.cpu_util", 1, 0);
    osc_pb_bytes(&content, 3, percent, sizeof percent);
    put_record(&b, 2, &content);
    osc_buf_clear(&content);
    osc_pb_bytes(&content, 3, percent, 5); /* no whole number of floats */
    put_record(&b, 2, &content);
    TAP_REQUIRE(osc_systrace_open(&r, b.data, b.len, "cpu_util.pb", &findings, NULL) == OSC_OK);
    TAP_REQUIRE(osc_systrace_next_cpu(&r, &s));
    TAP_EQ_U64(s.cpus, OSC_CPUS_MAX);
    TAP_OK(!osc_systrace_next_cpu(&r, &s));
    TAP_OK(osc_findings_find(&findings, "too-many-cpus") &&
           osc_findings_find(&findings, "damaged-record"));
    osc_findings_free(&findings);
    osc_buf_free(&content);
    osc_buf_free(&b);
}

static void test_foreign(void)
{
    static osc_systrace_reader r;
    osc_err err = {0};
    /* protobuf on the wire, but not ours: {1: 5, 2: "x"} */
    TAP_EQ_STATUS(osc_systrace_open(&r, "\x08\x05\x12\x01x", 5, "run/ntrace.pb", NULL, &err),
                  OSC_EFOREIGN);
    TAP_OK(strstr(err.message, "ntrace.pb") &&
           strstr(err.message, "neuron-explorer view -d run --output-format json --output-file F"));
    TAP_EQ_STATUS(osc_systrace_open(&r, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11,
                                    "ntrace.pb", NULL, &err),
                  OSC_EFORMAT);
    TAP_EQ_STATUS(osc_systrace_open(&r, "", 0, "ntrace.pb", NULL, &err), OSC_ETRUNCATED);
}

/* ---- writer ---- */

static void test_writer_refuses(void)
{
    osc_systrace_writer *w;
    osc_err err = {0};
    char *path = osc_path_join(tap_tmpdir(), "refuse.pb");
    osc_systrace_event e;
    osc_cpu_sample cpu = {.cpus = OSC_CPUS_MAX + 1};
    osc_mem_sample mem = {.duration_ns = -1};
    osc_systrace_event_init(&e);
    TAP_REQUIRE(path != NULL);
    TAP_EQ_STATUS(osc_systrace_writer_open(path, OSC_SYSTRACE_INFO, &w, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_systrace_writer_open("/nonexistent/x.pb", OSC_SYSTRACE_NTRACE, &w, &err),
                  OSC_ENOTFOUND);
    TAP_OK(w == NULL);
    TAP_REQUIRE(osc_systrace_writer_open(path, OSC_SYSTRACE_NTRACE, &w, &err) == OSC_OK);
    TAP_EQ_STATUS(osc_systrace_writer_cpu(w, &cpu, &err), OSC_EINVAL);
    TAP_OK(strstr(err.message, "ntrace.pb"));
    TAP_EQ_STATUS(osc_systrace_writer_mem(w, &mem, &err), OSC_EINVAL);
    e.start_ns = 5;
    e.end_ns = 4;
    TAP_EQ_STATUS(osc_systrace_writer_event(w, &e, &err), OSC_EINVAL);
    e.end_ns = 5;
    e.body_ns = -1;
    TAP_EQ_STATUS(osc_systrace_writer_event(w, &e, &err), OSC_EINVAL);
    e.body_ns = 0;
    e.phase = 4;
    TAP_EQ_STATUS(osc_systrace_writer_event(w, &e, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_systrace_writer_close(w, 0, &err), OSC_OK);
    TAP_REQUIRE(osc_systrace_writer_open(path, OSC_SYSTRACE_CPU_UTIL, &w, &err) == OSC_OK);
    TAP_EQ_STATUS(osc_systrace_writer_cpu(w, &cpu, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_systrace_writer_close(w, 0, &err), OSC_OK);
    TAP_EQ_STATUS(osc_systrace_writer_close(NULL, 0, &err), OSC_OK);
    osc_free(path);
}

static bool limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return false;
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/* Events beyond a full disk are counted, those after it are kept, the file stays whole. */
static void test_full_disk_and_drops(void)
{
    static osc_systrace_reader r;
    osc_systrace_writer *w;
    osc_err err = {0};
    char *path = osc_path_join(tap_tmpdir(), "full.pb"), *data = NULL;
    size_t len;
    osc_systrace_event e = sample_systrace_event(0);
    e.id = 0;
    TAP_REQUIRE(path && osc_systrace_writer_open(path, OSC_SYSTRACE_NTRACE, &w, &err) == OSC_OK);
    TAP_EQ_STATUS(osc_systrace_writer_event(w, &e, &err), OSC_OK);
    TAP_EQ_STATUS(osc_systrace_writer_flush(w, &err), OSC_OK);
    TAP_REQUIRE(limit_file_size(1000));
    for (int i = 0; i < 50; i++)
        TAP_EQ_STATUS(osc_systrace_writer_event(w, &e, &err), OSC_OK);
    TAP_EQ_STATUS(osc_systrace_writer_flush(w, &err), OSC_EIO);
    TAP_REQUIRE(limit_file_size(RLIM_INFINITY));
    TAP_EQ_STATUS(osc_systrace_writer_event(w, &e, &err), OSC_OK);
    osc_systrace_writer_dropped(w, 1, 3);
    osc_systrace_writer_dropped(w, 0, 4);
    osc_systrace_writer_dropped(w, 1, 5);
    TAP_EQ_STATUS(osc_systrace_writer_close(w, 0, &err), OSC_OK);
    TAP_REQUIRE(osc_read_file(path, SIZE_MAX, &data, &len, &err) == OSC_OK);
    osc_findings findings = {0};
    TAP_REQUIRE(osc_systrace_open(&r, data, len, path, &findings, &err) == OSC_OK);
    TAP_OK(osc_systrace_next_event(&r, &e) && e.id == 1);
    TAP_OK(osc_systrace_next_event(&r, &e) && e.id == 52);
    TAP_OK(!osc_systrace_next_event(&r, &e));
    TAP_EQ_U64(r.dropped, 50 + 12);
    TAP_OK(osc_systrace_complete(&r) && osc_findings_find(&findings, "dropped"));
    osc_findings_free(&findings);
    osc_free(data);
    osc_free(path);
}

/* Enough events for several appends, each of which must end at a record border. */
static void test_many_events(void)
{
    enum { COUNT = 5000 };
    static osc_systrace_reader r;
    osc_systrace_writer *w;
    osc_err err = {0};
    char *path = osc_path_join(tap_tmpdir(), "many.pb"), *data = NULL;
    size_t len;
    osc_systrace_event e;
    osc_systrace_event_init(&e);
    e.op_name = OSC_STR("bytes \xff that are no UTF-8");
    TAP_REQUIRE(path && osc_systrace_writer_open(path, OSC_SYSTRACE_NTRACE, &w, &err) == OSC_OK);
    for (int i = 0; i < COUNT; i++) {
        e.start_ns = e.end_ns = i;
        TAP_REQUIRE(osc_systrace_writer_event(w, &e, &err) == OSC_OK);
    }
    TAP_REQUIRE(osc_read_file(path, SIZE_MAX, &data, &len, &err) == OSC_OK); /* before the close */
    TAP_OK(len > (64 << 10));
    uint64_t seen = 0;
    TAP_REQUIRE(osc_systrace_open(&r, data, len, path, NULL, &err) == OSC_OK);
    while (osc_systrace_next_event(&r, &e))
        TAP_OK(e.start_ns == (int64_t)seen++ &&
               osc_str_starts(e.op_name, OSC_STR("bytes \xef\xbf\xbd")));
    TAP_OK(seen > 1000 && seen < COUNT && !r.at.failed); /* ended at a border */
    TAP_EQ_STATUS(osc_systrace_writer_close(w, 0, &err), OSC_OK);
    osc_free(data);
    osc_free(path);
}

static void test_type_names(void)
{
    TAP_EQ_STR(osc_st_type_name(OSC_ST_NC_EXEC_RUNNING), "nc_exec_running");
    TAP_OK(osc_st_type_name(OSC_ST_OTHER) == NULL);
    TAP_EQ_U64(osc_st_type_parse(OSC_STR("dmem_buf_copyin")), OSC_ST_DMEM_BUF_COPYIN);
    TAP_EQ_U64(osc_st_type_parse(OSC_STR("hw_notify")), OSC_ST_OTHER);
    TAP_OK(osc_st_type_is_hardware(OSC_ST_TIMESTAMP_SYNC_POINT));
    TAP_OK(!osc_st_type_is_hardware(OSC_ST_NRTA_EXECUTE_SCHEDULE));
    TAP_OK(!osc_st_type_is_hardware(4000));
}

static bool oom_write(void *path)
{
    osc_err err = {0};
    return write_sample_ntrace(path, &err) || err.code == OSC_ENOMEM;
}

static bool oom_info(void *path)
{
    osc_err err = {0};
    osc_trace_info info;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    bool good = !arena;
    if (arena) {
        osc_status st = osc_trace_info_read(samples[INFO].data, samples[INFO].len, "i", arena, NULL,
                                            &info, &err);
        good = st == OSC_OK || st == OSC_ENOMEM;
    }
    osc_arena_free(arena);
    osc_err write_err = {0};
    good = good && (write_info(path, &write_err) || write_err.code != OSC_OK);
    if (!good)
        tap_note("%d %s; %d %s", err.code, err.message, write_err.code, write_err.message);
    return good;
}

static void test_out_of_memory(void)
{
    char *path = osc_path_join(tap_tmpdir(), "oom.pb");
    TAP_REQUIRE(path != NULL);
    TAP_OK(tap_oom_sweep(oom_write, path, 1000));
    TAP_OK(tap_oom_sweep(oom_info, path, 1000));
    osc_free(path);
}

int main(void)
{
    TAP_RUN(test_samples_are_there);
    TAP_RUN(test_events_round_trip);
    TAP_RUN(test_samples_round_trip);
    TAP_RUN(test_info_round_trip);
    TAP_RUN(test_truncation_at_every_byte);
    TAP_RUN(test_every_flip_is_reported);
    TAP_RUN(test_damaged_record_is_skipped);
    TAP_RUN(test_versions);
    TAP_RUN(test_newer_minor_is_read);
    TAP_RUN(test_impossible_values);
    TAP_RUN(test_too_many_cpus);
    TAP_RUN(test_foreign);
    TAP_RUN(test_writer_refuses);
    TAP_RUN(test_full_disk_and_drops);
    TAP_RUN(test_many_events);
    TAP_RUN(test_type_names);
    TAP_RUN(test_out_of_memory);
    for (int k = 0; k < KINDS; k++)
        osc_free(samples[k].data);
    return tap_done();
}
