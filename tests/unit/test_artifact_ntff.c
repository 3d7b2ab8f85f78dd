/* test_artifact_ntff.c - NTFF: what is written is read, and damage costs no more than it must. */
#include "artifact/ntff.h"
#include "artifact_samples.h"
#include "base/hash.h"
#include "tap.h"

#include <signal.h>
#include <sys/resource.h>

/* The sample file, loaded once by main. */
static char *file;
static size_t file_len;

/* Offsets of the chunks of the sample: EXEC, EVTS per execution, then END. */
#define CHUNK_HEADER 32u

static bool same_exec(const osc_ntff_exec *a, const osc_ntff_exec *b)
{
    bool same =
        a->exec == b->exec && a->sequence == b->sequence && a->correlation == b->correlation &&
        a->stream == b->stream && a->thread_id == b->thread_id && a->submit_ns == b->submit_ns &&
        a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->body_dev_ns == b->body_dev_ns &&
        a->body_ns == b->body_ns && a->sync_host_ns == b->sync_host_ns &&
        a->sync_dev_ns == b->sync_dev_ns && a->events_dropped == b->events_dropped &&
        osc_str_eq(a->op, b->op) && a->part_count == b->part_count;
    for (uint32_t i = 0; same && i < a->part_count; i++)
        same = osc_str_eq(a->parts[i].name, b->parts[i].name) && a->parts[i].ns == b->parts[i].ns &&
               a->parts[i].fitted == b->parts[i].fitted;
    return same;
}

static bool same_event(const osc_event *a, const osc_event *b)
{
    return a->kind == b->kind && a->engine == b->engine && a->opcode == b->opcode &&
           a->ring == b->ring && a->wait_kind == b->wait_kind && a->issuer == b->issuer &&
           a->wait_sem == b->wait_sem && a->index == b->index && a->exec == b->exec &&
           a->ready_ns == b->ready_ns && a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
           a->a == b->a && a->b == b->b;
}

/* Every execution and event kept is one of the sample, in order, from the front. */
static bool is_prefix(const osc_ntff *n)
{
    size_t execs;
    const osc_ntff_exec *e = osc_ntff_execs(n, &execs);
    bool good =
        execs <= SAMPLE_EXECS && osc_ntff_event_count(n) <= SAMPLE_EXECS * SAMPLE_EVENTS_PER_EXEC;
    for (uint32_t i = 0; good && i < execs; i++) {
        osc_ntff_exec want = sample_exec(i);
        good = same_exec(&e[i], &want);
    }
    for (uint32_t i = 0; good && i < osc_ntff_event_count(n); i++) {
        osc_event got, want = sample_event(i / SAMPLE_EVENTS_PER_EXEC, i % SAMPLE_EVENTS_PER_EXEC);
        good = osc_ntff_events(n, i, 1, &got) == 1 && same_event(&got, &want);
    }
    return good;
}

static void test_round_trip(void)
{
    osc_findings findings = {0};
    osc_ntff *n;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_ntff_read(file, file_len, "s.ntff", &findings, &n, &err), OSC_OK);
    TAP_REQUIRE(n != NULL);
    TAP_EQ_U64(findings.count, 0);
    const osc_ntff_header *h = osc_ntff_get_header(n);
    osc_ntff_header want = sample_ntff_header();
    TAP_EQ_U64(h->major, OSC_NTFF_MAJOR);
    TAP_EQ_U64(h->minor, OSC_NTFF_MINOR);
    TAP_EQ_U64(h->neff_hash, want.neff_hash);
    TAP_EQ_MEM(h->neff_uuid, want.neff_uuid, sizeof want.neff_uuid);
    TAP_EQ_U64(h->generation, want.generation);
    TAP_EQ_U64(h->core, want.core);
    TAP_EQ_U64(h->instance_index, want.instance_index);
    TAP_OK(h->simulated);
    TAP_EQ_U64(h->pid, want.pid);
    TAP_EQ_I64(h->capture_start_ns, want.capture_start_ns);
    TAP_EQ_I64(h->clock_origin_ns, want.clock_origin_ns);
    TAP_EQ_U64(h->clock_hz, want.clock_hz);
    TAP_EQ_STR(h->instance_id, "i-local");
    size_t execs;
    (void)osc_ntff_execs(n, &execs);
    TAP_EQ_U64(execs, SAMPLE_EXECS);
    TAP_EQ_U64(osc_ntff_event_count(n), SAMPLE_EXECS * SAMPLE_EVENTS_PER_EXEC);
    TAP_OK(is_prefix(n));
    TAP_OK(osc_ntff_complete(n));
    TAP_EQ_I64(osc_ntff_end_ns(n), SAMPLE_T0 + 9000000);
    osc_ntff_free(n);
    osc_findings_free(&findings);
}

static void test_events_across_chunks(void)
{
    osc_ntff *n;
    osc_event all[SAMPLE_EXECS * SAMPLE_EVENTS_PER_EXEC], some[7];
    TAP_REQUIRE(osc_ntff_read(file, file_len, NULL, NULL, &n, NULL) == OSC_OK);
    TAP_EQ_U64(osc_ntff_events(n, 0, 100, all), 15);
    TAP_EQ_U64(osc_ntff_events(n, 15, 1, some), 0);
    TAP_EQ_U64(osc_ntff_events(n, 12, 7, some), 3);
    for (uint32_t first = 0; first < 15; first++) {
        size_t got = osc_ntff_events(n, first, 7, some);
        TAP_EQ_U64(got, first + 7 <= 15 ? 7 : 15 - first);
        for (size_t i = 0; i < got; i++)
            TAP_OK(same_event(&some[i], &all[first + i]));
    }
    osc_ntff_free(n);
}

/* The bytes as docs/formats/ntff.md prints them. */
static void test_bytes_are_those_of_the_spec(void)
{
    const unsigned char *b = (const unsigned char *)file;
    TAP_EQ_MEM(b, "OSCNTFF\0\1\0\0\0\xc0\0\0\0", 16);
    TAP_EQ_MEM(b + 24, sample_uuid, 16);
    TAP_EQ_MEM(b + 88, "i-local\0", 8);
    TAP_EQ_MEM(b + 192, "EXEC", 4);
    TAP_EQ_U64(b[192 + 4], 1); /* one record */
    uint64_t payload = b[192 + 8] | (uint64_t)b[192 + 9] << 8;
    TAP_EQ_U64(payload, 120 + 9 + 3 * 16 + 6 + 6 + 8);
    const unsigned char *record = b + 192 + CHUNK_HEADER;
    TAP_EQ_U64(record[0], payload);
    TAP_EQ_U64(record[4], 3); /* parts */
    TAP_EQ_MEM(record + 116, "\x09\0\0\0aten::mul", 13);
    const unsigned char *events = record + payload;
    TAP_EQ_MEM(events, "EVTS\5\0\0\0", 8);
    TAP_EQ_U64(events[8] | (uint64_t)events[9] << 8, 5 * OSC_NTFF_EVENT_BYTES);
    TAP_EQ_U64(events[16], OSC_NTFF_EVENT_BYTES);
    TAP_EQ_MEM(events + CHUNK_HEADER + 40, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
    TAP_EQ_MEM(b + file_len - 40 - CHUNK_HEADER, "END \1\0\0\0\x28\0\0\0", 12);
}

static void test_truncation_at_every_byte(void)
{
    size_t last_execs = 0;
    for (size_t cut = 0; cut < file_len; cut++) {
        osc_findings findings = {0};
        osc_ntff *n;
        osc_err err = {0};
        char *exact = osc_alloc(cut ? cut : 1); /* so that ASan sees a read past the end */
        TAP_REQUIRE(exact != NULL);
        memcpy(exact, file, cut);
        osc_status st = osc_ntff_read(exact, cut, "s.ntff", &findings, &n, &err);
        if (cut < OSC_NTFF_HEADER_BYTES) {
            TAP_EQ_STATUS(st, OSC_ETRUNCATED);
            TAP_OK(n == NULL && err.offset == cut);
        } else {
            const osc_finding *f = osc_findings_find(&findings, "truncated");
            size_t execs;
            TAP_EQ_STATUS(st, OSC_OK);
            TAP_REQUIRE(n && f);
            (void)osc_ntff_execs(n, &execs);
            TAP_OK(f->code == OSC_ETRUNCATED && f->offset <= cut && findings.count == 1);
            TAP_OKF(execs >= last_execs && is_prefix(n) && !osc_ntff_complete(n), "cut at %zu",
                    cut);
            last_execs = execs;
        }
        osc_ntff_free(n);
        osc_findings_free(&findings);
        osc_free(exact);
    }
    TAP_EQ_U64(last_execs, SAMPLE_EXECS);
}

/* A cut is reported at the first byte that was not kept: the border of the torn chunk. */
static void test_truncation_names_the_border(void)
{
    osc_findings findings = {0};
    osc_ntff *n;
    size_t second = 192 + CHUNK_HEADER + 197; /* the EVTS chunk of the first execution */
    TAP_REQUIRE(osc_ntff_read(file, second + 40, "s.ntff", &findings, &n, NULL) == OSC_OK);
    const osc_finding *f = osc_findings_find(&findings, "truncated");
    TAP_REQUIRE(f != NULL);
    TAP_EQ_U64(f->offset, second);
    TAP_OK(strstr(f->text, "1 executions and 0 events") != NULL);
    osc_ntff_free(n);
    osc_findings_free(&findings);
}

/* Each bit of the file flipped in turn: never a crash, always a refusal or a finding. */
static void test_every_flip_is_reported(void)
{
    char *copy = osc_memdup0(file, file_len);
    TAP_REQUIRE(copy != NULL);
    for (size_t bit = 0; bit < file_len * 8; bit++) {
        osc_findings findings = {0};
        osc_ntff *n;
        copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << (bit % 8));
        osc_status st = osc_ntff_read(copy, file_len, "s.ntff", &findings, &n, NULL);
        TAP_OKF(st != OSC_OK || findings.count > 0, "flipped bit %zu went unseen", bit);
        TAP_OK(st != OSC_OK || !osc_ntff_complete(n));
        osc_ntff_free(n);
        osc_findings_free(&findings);
        copy[bit / 8] = file[bit / 8];
    }
    osc_free(copy);
}

/* A damaged payload costs its chunk, not those behind it. */
static void test_damaged_chunk_is_skipped(void)
{
    char *copy = osc_memdup0(file, file_len);
    osc_findings findings = {0};
    osc_ntff *n;
    TAP_REQUIRE(copy != NULL);
    copy[192 + CHUNK_HEADER + 50] ^= 1;
    TAP_REQUIRE(osc_ntff_read(copy, file_len, "s.ntff", &findings, &n, NULL) == OSC_OK);
    size_t execs;
    const osc_ntff_exec *e = osc_ntff_execs(n, &execs);
    TAP_EQ_U64(execs, SAMPLE_EXECS - 1);
    TAP_EQ_U64(e[0].exec, 2);
    TAP_EQ_U64(osc_ntff_event_count(n), SAMPLE_EXECS * SAMPLE_EVENTS_PER_EXEC);
    TAP_OK(osc_findings_find(&findings, "damaged-chunk") != NULL);
    TAP_OK(osc_findings_find(&findings, "missing-records") != NULL);
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_free(copy);
}

/* Rewrites the header's checksum after a test changed it. */
static void seal_header(char *copy)
{
    uint32_t crc = osc_crc32c(0, copy, 188);
    for (int i = 0; i < 4; i++)
        copy[188 + i] = (char)(crc >> (8 * i));
}

static void test_versions(void)
{
    char *copy = osc_memdup0(file, file_len);
    osc_ntff *n;
    osc_err err = {0};
    TAP_REQUIRE(copy != NULL);
    copy[8] = 2; /* major */
    copy[10] = 7;
    seal_header(copy);
    TAP_EQ_STATUS(osc_ntff_read(copy, file_len, "s.ntff", NULL, &n, &err), OSC_EVERSION);
    TAP_OK(strstr(err.message, "version 2.7") && strstr(err.message, "newer"));
    TAP_EQ_STR(err.input, "s.ntff");
    copy[8] = 1; /* a newer minor is read */
    seal_header(copy);
    TAP_EQ_STATUS(osc_ntff_read(copy, file_len, "s.ntff", NULL, &n, &err), OSC_OK);
    TAP_OK(osc_ntff_complete(n));
    osc_ntff_free(n);
    osc_free(copy);
}

static void put_u32(osc_buf *b, uint32_t v)
{
    osc_buf_u32(b, v);
}

/* Appends a chunk to b as a newer writer might. */
static void put_chunk(osc_buf *b, const char *type, uint32_t count, uint32_t record_bytes,
                      const void *payload, size_t len)
{
    size_t at = b->len;
    osc_buf_append(b, type, 4);
    put_u32(b, count);
    osc_buf_u64(b, len);
    put_u32(b, record_bytes);
    put_u32(b, osc_crc32c(0, payload, len));
    put_u32(b, 0);
    put_u32(b, osc_crc32c(0, b->data + at, 28));
    osc_buf_append(b, payload, len);
}

/* A newer minor version: a longer header, longer event records, a chunk type we do not know. */
static void test_newer_minor_is_read(void)
{
    osc_buf b;
    osc_findings findings = {0};
    osc_ntff *n;
    unsigned char events[2 * 60] = {0};
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_append(&b, file, 192);
    b.data[10] = 1;
    b.data[12] = 200; /* header bytes */
    seal_header((char *)b.data);
    osc_buf_fill(&b, 'x', 8);
    put_chunk(&b, "NEW!", 1, 0, "whatever", 8);
    events[0] = OSC_EV_INST;
    events[60] = OSC_EV_DMA;
    put_chunk(&b, "EVTS", 2, 60, events, sizeof events);
    TAP_REQUIRE(osc_ntff_read(b.data, b.len, "s.ntff", &findings, &n, NULL) == OSC_OK);
    osc_event got[2];
    TAP_EQ_U64(osc_ntff_events(n, 0, 2, got), 2);
    TAP_EQ_U64(got[0].kind, OSC_EV_INST);
    TAP_EQ_U64(got[1].kind, OSC_EV_DMA);
    TAP_OK(osc_findings_find(&findings, "unknown-chunk") != NULL);
    TAP_OK(osc_findings_find(&findings, "damaged-chunk") == NULL);
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_buf_free(&b);
}

/* Counts that promise more than the bytes hold cost nothing. */
static void test_lying_counts(void)
{
    osc_buf b;
    osc_findings findings = {0};
    osc_ntff *n;
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_append(&b, file, 192);
    put_chunk(&b, "EVTS", UINT32_MAX, 56, "x", 1);
    put_chunk(&b, "EVTS", 1, 0, "x", 1);
    put_chunk(&b, "EXEC", UINT32_MAX, 0, "x", 1);
    char record[120] = {120};
    record[7] = 0x7f; /* two thousand million parts */
    put_chunk(&b, "EXEC", 1, 0, record, sizeof record);
    memset(record, 0, sizeof record); /* a record of length 0 */
    put_chunk(&b, "EXEC", 1, 0, record, sizeof record);
    TAP_REQUIRE(osc_ntff_read(b.data, b.len, "s.ntff", &findings, &n, NULL) == OSC_OK);
    const osc_finding *f = osc_findings_find(&findings, "damaged-chunk");
    TAP_REQUIRE(f != NULL);
    TAP_EQ_U64(f->count, 5);
    TAP_EQ_U64(osc_ntff_event_count(n), 0);
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_buf_free(&b);
}

/* Executions whose times cannot be are skipped one by one. */
static void test_impossible_times(void)
{
    osc_findings findings = {0};
    osc_ntff *n;
    osc_buf b;
    char record[120] = {120};
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_append(&b, file, 192);
    record[8] = 9;
    put_chunk(&b, "EXEC", 1, 0, record, sizeof record);
    record[56] = 1; /* starts after its end */
    put_chunk(&b, "EXEC", 1, 0, record, sizeof record);
    record[56] = 0;
    record[87] = (char)0x80; /* a negative body */
    put_chunk(&b, "EXEC", 1, 0, record, sizeof record);
    TAP_REQUIRE(osc_ntff_read(b.data, b.len, "s.ntff", &findings, &n, NULL) == OSC_OK);
    const osc_finding *f = osc_findings_find(&findings, "damaged-record");
    size_t execs;
    (void)osc_ntff_execs(n, &execs);
    TAP_REQUIRE(f != NULL);
    TAP_OK(f->count == 2 && execs == 1);
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_buf_free(&b);
}

static void test_foreign_and_empty(void)
{
    osc_ntff *n;
    osc_err err = {0};
    TAP_EQ_STATUS(
        osc_ntff_read("\x81\x01vendor bytes", 14, "run/1_instid_0_vnc_0.ntff", NULL, &n, &err),
        OSC_EFOREIGN);
    TAP_OK(strstr(err.message, "neuron-explorer view -d run --output-format json --output-file F"));
    TAP_OK(strstr(err.message, "1_instid_0_vnc_0.ntff"));
    TAP_EQ_STATUS(osc_ntff_read("", 0, "e.ntff", NULL, &n, &err), OSC_ETRUNCATED);
    TAP_OK(strstr(err.message, "empty"));
}

static void test_bytes_after_the_end(void)
{
    osc_findings findings = {0};
    osc_ntff *n;
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_append(&b, file, file_len);
    osc_buf_cstr(&b, "more");
    TAP_REQUIRE(osc_ntff_read(b.data, b.len, "s.ntff", &findings, &n, NULL) == OSC_OK);
    const osc_finding *f = osc_findings_find(&findings, "trailing-data");
    TAP_REQUIRE(f != NULL);
    TAP_EQ_U64(f->offset, file_len);
    TAP_OK(osc_ntff_complete(n));
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_buf_free(&b);
}

/*
 * Many events in one call: several chunks by themselves, and the file says what the capture
 * dropped.
 */
static void test_large_and_dropped(void)
{
    enum { COUNT = 20000 };
    osc_event *events = osc_calloc(COUNT, sizeof *events);
    osc_ntff_header h = sample_ntff_header();
    osc_ntff_writer *w;
    char *path = osc_path_join(tap_tmpdir(), "large.ntff"), *data = NULL;
    osc_err err = {0};
    size_t len;
    TAP_REQUIRE(events && path);
    for (uint32_t i = 0; i < COUNT; i++)
        events[i] = (osc_event){.kind = OSC_EV_INST, .index = i, .exec = 1};
    TAP_REQUIRE(osc_ntff_writer_open(path, &h, &w, &err) == OSC_OK);
    TAP_EQ_STATUS(osc_ntff_writer_events(w, events, COUNT, &err), OSC_OK);
    TAP_OK(osc_ntff_writer_size(w) > (uint64_t)COUNT / 2 * OSC_NTFF_EVENT_BYTES);
    osc_ntff_writer_dropped(w, 2, 30);
    TAP_EQ_STATUS(osc_ntff_writer_close(w, 1, &err), OSC_OK);
    TAP_REQUIRE(osc_read_file(path, SIZE_MAX, &data, &len, &err) == OSC_OK);
    osc_findings findings = {0};
    osc_ntff *n;
    TAP_REQUIRE(osc_ntff_read(data, len, path, &findings, &n, &err) == OSC_OK);
    TAP_EQ_U64(osc_ntff_event_count(n), COUNT);
    TAP_EQ_U64(osc_ntff_events(n, 0, COUNT, events), COUNT);
    TAP_EQ_U64(events[COUNT - 1].index, COUNT - 1);
    TAP_EQ_U64(osc_ntff_dropped_execs(n), 2);
    TAP_EQ_U64(osc_ntff_dropped_events(n), 30);
    TAP_OK(osc_ntff_complete(n) && osc_findings_find(&findings, "dropped") != NULL);
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_free(data);
    osc_free(path);
    osc_free(events);
}

/* No room even for the header: refused at once, and what the path names is left alone. */
static void test_full_device(void)
{
    osc_ntff_header h = sample_ntff_header();
    osc_ntff_writer *w;
    osc_err err = {0};
    if (!osc_path_exists("/dev/full")) {
        tap_skip("no /dev/full");
        return;
    }
    TAP_OK(osc_ntff_writer_open("/dev/full", &h, &w, &err) != OSC_OK);
    TAP_OK(w == NULL && strstr(err.message, "No space") != NULL);
    TAP_OK(osc_path_exists("/dev/full"));
}

/* A disk that fills up, by way of the process's file size limit. */
static bool limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return false;
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/* A full disk loses what was buffered and says so; the writer goes on once there is room again. */
static void test_full_disk(void)
{
    enum { COUNT = 1000 };
    static osc_event events[COUNT];
    osc_ntff_header h = sample_ntff_header();
    osc_ntff_writer *w;
    osc_err err = {0};
    char *path = osc_path_join(tap_tmpdir(), "full.ntff"), *data = NULL;
    size_t len;
    TAP_REQUIRE(path && osc_ntff_writer_open(path, &h, &w, &err) == OSC_OK);
    TAP_EQ_STATUS(osc_ntff_writer_events(w, events, 10, &err), OSC_OK);
    TAP_EQ_STATUS(osc_ntff_writer_flush(w, &err), OSC_OK);
    TAP_REQUIRE(limit_file_size(4096));
    TAP_EQ_STATUS(osc_ntff_writer_events(w, events, COUNT, &err), OSC_OK);
    TAP_EQ_STATUS(osc_ntff_writer_flush(w, &err), OSC_EIO);
    TAP_REQUIRE(limit_file_size(RLIM_INFINITY));
    TAP_EQ_STATUS(osc_ntff_writer_events(w, events, 7, &err), OSC_OK);
    TAP_EQ_STATUS(osc_ntff_writer_close(w, 1, &err), OSC_OK);
    TAP_REQUIRE(osc_read_file(path, SIZE_MAX, &data, &len, &err) == OSC_OK);
    osc_findings findings = {0};
    osc_ntff *n;
    TAP_REQUIRE(osc_ntff_read(data, len, path, &findings, &n, &err) == OSC_OK);
    TAP_EQ_U64(osc_ntff_event_count(n), 17);
    TAP_EQ_U64(osc_ntff_dropped_events(n), COUNT);
    TAP_OK(osc_ntff_complete(n) && findings.count == 1 && osc_findings_find(&findings, "dropped"));
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_free(data);
    osc_free(path);
}

static void test_bad_arguments(void)
{
    osc_ntff_header h = sample_ntff_header();
    osc_ntff_writer *w;
    osc_err err = {0};
    char *path = osc_path_join(tap_tmpdir(), "bad.ntff");
    TAP_REQUIRE(path != NULL);
    h.generation = 9;
    TAP_EQ_STATUS(osc_ntff_writer_open(path, &h, &w, &err), OSC_EINVAL);
    h = sample_ntff_header();
    memset(h.instance_id, 'x', sizeof h.instance_id);
    TAP_EQ_STATUS(osc_ntff_writer_open(path, &h, &w, &err), OSC_EINVAL);
    TAP_OK(!osc_path_exists(path));
    h = sample_ntff_header();
    TAP_EQ_STATUS(osc_ntff_writer_open("/nonexistent/dir/x.ntff", &h, &w, &err), OSC_ENOTFOUND);
    TAP_EQ_STATUS(osc_ntff_writer_open(path, &h, &w, &err), OSC_OK);
    osc_ntff_exec e = {.parts = sample_parts, .part_count = OSC_LAUNCH_PARTS_MAX + 1};
    TAP_EQ_STATUS(osc_ntff_writer_exec(w, &e, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_ntff_writer_close(w, 0, &err), OSC_OK);
    TAP_EQ_STATUS(osc_ntff_writer_close(NULL, 0, &err), OSC_OK);
    osc_free(path);
}

static bool oom_read(void *ctx)
{
    (void)ctx;
    osc_findings findings = {0};
    osc_ntff *n;
    osc_err err = {0};
    osc_status st = osc_ntff_read(file, file_len, "s.ntff", &findings, &n, &err);
    bool good = st == OSC_OK ? n != NULL : st == OSC_ENOMEM && n == NULL;
    osc_ntff_free(n);
    osc_findings_free(&findings);
    /* Memory may be out for one record's parts: then its chunk is reported, nothing crashes. */
    return good;
}

static bool oom_write(void *path)
{
    osc_err err = {0};
    return write_sample_ntff(path, &err) || err.code == OSC_ENOMEM;
}

static void test_out_of_memory(void)
{
    char *path = osc_path_join(tap_tmpdir(), "oom.ntff");
    TAP_REQUIRE(path != NULL);
    TAP_OK(tap_oom_sweep(oom_read, NULL, 1000));
    TAP_OK(tap_oom_sweep(oom_write, path, 1000));
    osc_free(path);
}

static bool load_sample(void)
{
    osc_err err = {0};
    char *path = osc_path_join(tap_tmpdir(), "sample.ntff");
    bool good = path && write_sample_ntff(path, &err) &&
                osc_read_file(path, SIZE_MAX, &file, &file_len, &err) == OSC_OK;
    osc_free(path);
    return good;
}

static void test_sample_is_there(void)
{
    TAP_OK(load_sample());
}

int main(void)
{
    TAP_RUN(test_sample_is_there);
    if (!file)
        return tap_done();
    TAP_RUN(test_round_trip);
    TAP_RUN(test_events_across_chunks);
    TAP_RUN(test_bytes_are_those_of_the_spec);
    TAP_RUN(test_truncation_at_every_byte);
    TAP_RUN(test_truncation_names_the_border);
    TAP_RUN(test_every_flip_is_reported);
    TAP_RUN(test_damaged_chunk_is_skipped);
    TAP_RUN(test_versions);
    TAP_RUN(test_newer_minor_is_read);
    TAP_RUN(test_lying_counts);
    TAP_RUN(test_impossible_times);
    TAP_RUN(test_foreign_and_empty);
    TAP_RUN(test_bytes_after_the_end);
    TAP_RUN(test_large_and_dropped);
    TAP_RUN(test_full_device);
    TAP_RUN(test_full_disk);
    TAP_RUN(test_bad_arguments);
    TAP_RUN(test_out_of_memory);
    osc_free(file);
    return tap_done();
}
