/* test_artifact_session.c - names, recognition by content, finding a session, pairing. */
#include "artifact/session.h"
#include "artifact_samples_pb.h"
#include "base/buf.h"
#include "base/clock.h"
#include "tap.h"

#include <sys/stat.h>

#define PID 4711u

static char *join(const char *a, const char *b)
{
    char *path = osc_path_join(a, b);
    TAP_OK(path != NULL);
    return path;
}

static void put_file(const char *dir, const char *name, const void *data, size_t len)
{
    osc_err err = {0};
    char *path = join(dir, name);
    TAP_OKF(osc_write_file_atomic(path, data, len, &err) == OSC_OK, "%s: %s", name, err.message);
    osc_free(path);
}

/* A NEFF header (neuron-explorer.md 1.5) as far as it is looked at, and the start of a tar. */
static void put_neff(const char *dir, const char *name, const uint8_t uuid[16], const char *build)
{
    unsigned char neff[1024 + 512] = {2};
    neff[8] = 0x00;
    neff[9] = 0x04; /* header size 1024 */
    memcpy(neff + 40, build, strlen(build));
    memcpy(neff + 204, uuid, 16);
    put_file(dir, name, neff, sizeof neff);
}

static void put_ntff(const char *dir, const char *name)
{
    osc_err err = {0};
    char *path = join(dir, name);
    TAP_OKF(write_sample_ntff(path, &err), "%s: %s", name, err.message);
    osc_free(path);
}

/* A fresh directory <tmp>/<test>; caller frees. */
static char *fresh(const char *test)
{
    osc_err err = {0};
    char *dir = join(tap_tmpdir(), test);
    TAP_OK(osc_mkdir_p(dir, &err) == OSC_OK);
    return dir;
}

/* A session below fresh(test); caller frees. */
static char *fresh_session(const char *test, char **top)
{
    osc_err err = {0};
    char *path = NULL;
    *top = fresh(test);
    TAP_OKF(osc_session_create(*top, "i-local", PID, SAMPLE_T0, &path, &err) == OSC_OK, "%s",
            err.message);
    return path;
}

static void test_names(void)
{
    char name[OSC_FILE_NAME_MAX];
    TAP_EQ_STR(osc_neff_file_name(3957600758, 2, name), "neff_3957600758_vnc_2.neff");
    TAP_EQ_STR(osc_ntff_file_name(UINT64_MAX, UINT32_MAX, UINT32_MAX, name),
               "18446744073709551615_instid_4294967295_vnc_4294967295.ntff");
}

static void test_create(void)
{
    char *top, *again = NULL, *first = fresh_session("create", &top), stamp[OSC_TIME_TEXT];
    osc_err err = {0};
    TAP_REQUIRE(first != NULL);
    osc_buf want;
    osc_buf_init(&want, SIZE_MAX);
    osc_buf_printf(&want, "%s/i-local_pid_4711/%s", top, osc_format_utc_compact(SAMPLE_T0, stamp));
    TAP_EQ_STR(first, osc_buf_c_str(&want));
    TAP_OK(osc_path_is_dir(first));
    TAP_EQ_STATUS(osc_session_create(top, "i-local", PID, SAMPLE_T0, &again, &err), OSC_OK);
    osc_buf_cstr(&want, "_2");
    TAP_EQ_STR(again, osc_buf_c_str(&want));
    osc_free(again);
    TAP_EQ_STATUS(osc_session_create(top, "a/b", PID, SAMPLE_T0, &again, &err), OSC_EINVAL);
    put_file(top, "plain", "x", 1);
    char *plain = join(top, "plain");
    TAP_OK(osc_session_create(plain, "i", PID, SAMPLE_T0, &again, &err) != OSC_OK);
    TAP_OK(again == NULL && err.message[0] != '\0');
    osc_free(plain);
    osc_buf_free(&want);
    osc_free(first);
    osc_free(top);
}

static void test_whole_session(void)
{
    char *top, *dir = fresh_session("whole", &top), name[OSC_FILE_NAME_MAX];
    osc_findings findings = {0};
    osc_session *s;
    osc_err err = {0};
    uint32_t n;
    put_neff(dir, osc_neff_file_name(SAMPLE_HASH, 3, name), sample_uuid, "opscope 0.1.0");
    put_ntff(dir, osc_ntff_file_name(SAMPLE_HASH, 1, 3, name));
    put_file(dir, "trace.json", "{\"schemaVersion\": 1, \"traceEvents\": []}", 39);
    put_file(dir, "run.json", "{\"format\": \"opscope.run\", \"major\": 1}", 37);
    char *pb = join(dir, "ntrace.pb");
    TAP_OK(write_sample_ntrace(pb, &err));
    osc_free(pb);
    TAP_REQUIRE(osc_session_open(dir, &findings, &s, &err) == OSC_OK);
    TAP_EQ_U64(findings.count, 0);
    TAP_EQ_STR(osc_session_dir(s), dir);
    TAP_EQ_STR(osc_session_instance(s), "i-local");
    TAP_EQ_U64(osc_session_pid(s), PID);
    TAP_OK(strlen(osc_session_stamp(s)) == 15);
    (void)osc_session_files(s, &n);
    TAP_EQ_U64(n, 5);
    const osc_session_pair *pairs = osc_session_pairs(s, &n);
    TAP_REQUIRE(n == 1);
    TAP_OK(pairs[0].matched && pairs[0].hash == SAMPLE_HASH && pairs[0].core == 3);
    const osc_session_file *files = osc_session_files(s, &n);
    TAP_EQ_U64(files[pairs[0].neff].kind, OSC_ART_NEFF);
    TAP_EQ_U64(files[pairs[0].neff].origin, OSC_ORIGIN_OURS);
    TAP_EQ_U64(files[pairs[0].ntff].kind, OSC_ART_NTFF);
    TAP_EQ_U64(files[pairs[0].ntff].instance_index, 1);
    TAP_OK(osc_session_find(s, OSC_ART_NTRACE) && osc_session_find(s, OSC_ART_TRACE_JSON) &&
           osc_session_find(s, OSC_ART_RUN_JSON) && !osc_session_find(s, OSC_ART_CPU_UTIL));
    osc_session_free(s);
    /* the same session from each level above */
    char *process = join(top, "i-local_pid_4711");
    TAP_EQ_STATUS(osc_session_open(process, NULL, &s, &err), OSC_OK);
    TAP_EQ_STR(osc_session_dir(s), dir);
    osc_session_free(s);
    TAP_EQ_STATUS(osc_session_open(top, NULL, &s, &err), OSC_OK);
    TAP_EQ_STR(osc_session_instance(s), "i-local");
    osc_session_free(s);
    osc_findings_free(&findings);
    osc_free(process);
    osc_free(dir);
    osc_free(top);
}

static void test_several_none_and_files(void)
{
    char *top, *first = fresh_session("several", &top), *second = NULL;
    osc_session *s;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_session_open(top, NULL, &s, &err), OSC_ENOTFOUND);
    TAP_OK(s == NULL && strstr(err.message, "ntrace.pb"));
    TAP_EQ_STATUS(osc_session_create(top, "i-local", PID, SAMPLE_T0, &second, &err), OSC_OK);
    put_file(first, "trace.json", "[]", 2);
    put_file(second, "trace.json", "[]", 2);
    TAP_EQ_STATUS(osc_session_open(top, NULL, &s, &err), OSC_EINVAL);
    TAP_OKF(strstr(err.message, "holds 2 sessions") &&
                strstr(err.message, second + strlen(top) + 1),
            "%s", err.message);
    char *newest = NULL, *third = NULL;
    size_t count = 0;
    TAP_EQ_STATUS(osc_session_newest(top, &newest, &count, &err), OSC_OK);
    TAP_OK(count == 2 && newest && strstr(err.message, newest) != NULL);
    osc_free(newest);
    TAP_EQ_STATUS(osc_session_create(top, "a-local", 1, SAMPLE_T0 + 5000000000, &third, &err),
                  OSC_OK); /* first by name, but made last */
    put_file(third, "trace.json", "[]", 2);
    TAP_EQ_STATUS(osc_session_newest(top, &newest, &count, &err), OSC_OK);
    TAP_EQ_U64(count, 3);
    TAP_EQ_STR(newest, third);
    osc_free(newest);
    osc_free(third);
    char *file = join(first, "trace.json");
    TAP_EQ_STATUS(osc_session_open(file, NULL, &s, &err), OSC_EINVAL);
    TAP_OK(strstr(err.message, "directory"));
    TAP_EQ_STATUS(osc_session_open("/nonexistent/session", NULL, &s, &err), OSC_ENOTFOUND);
    TAP_EQ_STATUS(osc_session_open("", NULL, &s, &err), OSC_ENOTFOUND);
    osc_free(file);
    osc_free(first);
    osc_free(second);
    osc_free(top);
}

/* Opens the session in dir; its findings and the only session. */
static osc_session *open_one(const char *dir, osc_findings *findings)
{
    osc_session *s = NULL;
    osc_err err = {0};
    TAP_OKF(osc_session_open(dir, findings, &s, &err) == OSC_OK, "%s", err.message);
    return s;
}

static void test_broken_pairs(void)
{
    char *top, *dir = fresh_session("pairs", &top), name[OSC_FILE_NAME_MAX];
    const uint8_t other_uuid[16] = {9};
    osc_findings findings = {0};
    uint32_t n;
    put_ntff(dir, osc_ntff_file_name(SAMPLE_HASH, 1, 3, name));
    put_file(dir, osc_ntff_file_name(5, 0, 1, name), "", 0);
    put_neff(dir, "neff_77_vnc_0.neff", other_uuid, "opscope 0.1.0");
    osc_session *s = open_one(dir, &findings);
    TAP_REQUIRE(s != NULL);
    TAP_OK(osc_findings_find(&findings, "missing-neff") &&
           osc_findings_find(&findings, "missing-ntff") &&
           osc_findings_find(&findings, "empty-ntff"));
    TAP_EQ_U64(findings.count, 3);
    const osc_session_pair *p = osc_session_pairs(s, &n);
    TAP_REQUIRE(n == 3);
    TAP_OK(p[0].core == 0 && p[0].ntff == OSC_NO_FILE && p[0].neff != OSC_NO_FILE);
    TAP_OK(p[1].core == 1 && p[1].neff == OSC_NO_FILE && !p[1].matched);
    TAP_OK(p[2].core == 3 && p[2].neff == OSC_NO_FILE && !p[2].matched);
    osc_session_free(s);
    osc_findings_free(&findings);

    /* same hash, another compilation */
    put_neff(dir, osc_neff_file_name(SAMPLE_HASH, 3, name), other_uuid, "opscope 0.1.0");
    s = open_one(dir, &findings);
    const osc_finding *f = osc_findings_find(&findings, "uuid-mismatch");
    TAP_REQUIRE(s && f);
    TAP_OK(strstr(f->text, name) && strstr(f->text, "another compilation"));
    osc_session_free(s);
    osc_findings_free(&findings);

    /* of two with the hash the one with the uuid; here it lies under an older name */
    put_neff(dir, "graph_3957600758123456789.neff", sample_uuid, "2.22.12471");
    s = open_one(dir, &findings);
    TAP_OK(osc_findings_find(&findings, "uuid-mismatch") == NULL);
    p = osc_session_pairs(s, &n);
    TAP_OK(n == 4 && p[2].matched && p[3].ntff == OSC_NO_FILE);
    osc_session_free(s);
    osc_findings_free(&findings);
    osc_free(dir);
    osc_free(top);
}

static void test_renamed_files(void)
{
    char *top, *dir = fresh_session("renamed", &top);
    osc_findings findings = {0};
    uint32_t n;
    put_ntff(dir, "1_instid_0_vnc_0.ntff");
    put_neff(dir, "file.neff", sample_uuid, "opscope 0.1.0");
    osc_session *s = open_one(dir, &findings);
    TAP_REQUIRE(s != NULL);
    TAP_OK(osc_findings_find(&findings, "name-mismatch") != NULL);
    const osc_session_pair *p = osc_session_pairs(s, &n);
    TAP_OK(n == 1 && p[0].matched && p[0].hash == SAMPLE_HASH && p[0].core == 3);
    osc_session_free(s);
    osc_findings_free(&findings);
    osc_free(dir);
    osc_free(top);
}

static void test_foreign_files(void)
{
    char *top, *dir = fresh_session("foreign", &top);
    osc_findings findings = {0};
    uint32_t n;
    put_neff(dir, "neff_8_vnc_0.neff", sample_uuid, "2.22.12471");
    put_file(dir, "8_instid_0_vnc_0.ntff", "\x07\x81 closed bytes", 15);
    put_file(dir, "profile_nc_0_session_1.ntff", "\x07\x81 closed bytes", 15);
    put_file(dir, "ntrace.pb", "\x08\x05\x12\x01x", 5);
    put_file(dir, "host_mem.pb", "", 0);
    put_file(dir, "notes.txt", "hello", 5);
    osc_session *s = open_one(dir, &findings);
    TAP_REQUIRE(s != NULL);
    const osc_finding *f = osc_findings_find(&findings, "foreign-file");
    TAP_REQUIRE(f != NULL);
    TAP_EQ_STATUS(f->code, OSC_EFOREIGN);
    TAP_OKF(strstr(f->text, "8_instid_0_vnc_0.ntff") &&
                strstr(f->text, "--output-format json --output-file F"),
            "%s", f->text);
    size_t foreign = 0;
    for (size_t i = 0; i < findings.count; i++)
        foreign += strcmp(findings.items[i].name, "foreign-file") == 0;
    TAP_EQ_U64(foreign, 3);
    TAP_OK(osc_findings_find(&findings, "empty-file") &&
           osc_findings_find(&findings, "unknown-file"));
    TAP_EQ_U64(findings.count, 5);
    TAP_OK(osc_session_find(s, OSC_ART_NTRACE) == NULL);
    const osc_session_pair *p = osc_session_pairs(s, &n);
    TAP_OK(n == 1 && p[0].neff != OSC_NO_FILE && p[0].ntff != OSC_NO_FILE && !p[0].matched);
    osc_session_free(s);
    osc_findings_free(&findings);
    osc_free(dir);
    osc_free(top);
}

/* ---- recognition ---- */

struct sniff_case {
    const char *name, *bytes;
    size_t len;
    osc_artifact_kind kind;
    osc_origin origin;
};

static void test_sniff_table(void)
{
    static const char profile[] = "{\"pending_dma\":[{\"value\":3}],\"ham\":[]}";
    static const char array[] = "[\n{\"ph\":\"X\"}]";
    static const char run[] = " {\"major\":1,\"format\":\"opscope.run\"}";
    static const char late[] = "{\"deviceProperties\":[{\"id\":0}],\"traceEvents\":[";
    const struct sniff_case cases[] = {
        {"x", "", 0, OSC_ART_UNKNOWN, OSC_ORIGIN_UNKNOWN},
        {"a.ntff", "OSC", 3, OSC_ART_NTFF, OSC_ORIGIN_OURS},
        {"a.ntff", "NTFF", 4, OSC_ART_NTFF, OSC_ORIGIN_VENDOR},
        {"any", "OSCNTFF\0", 8, OSC_ART_NTFF, OSC_ORIGIN_OURS},
        {"dir/ntrace.pb", "\x08\x01", 2, OSC_ART_NTRACE, OSC_ORIGIN_VENDOR},
        {"cpu_util.pb", "\x0a", 1, OSC_ART_CPU_UTIL, OSC_ORIGIN_OURS},
        {"host_mem.pb", "\x0a\x20\x0a\x10opscope.host", 16, OSC_ART_HOST_MEM, OSC_ORIGIN_OURS},
        {"trace_info.pb", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10, OSC_ART_TRACE_INFO,
         OSC_ORIGIN_UNKNOWN},
        {"p", profile, sizeof profile - 1, OSC_ART_PROFILE_JSON, OSC_ORIGIN_VENDOR},
        {"t", array, sizeof array - 1, OSC_ART_TRACE_JSON, OSC_ORIGIN_UNKNOWN},
        {"r", run, sizeof run - 1, OSC_ART_RUN_JSON, OSC_ORIGIN_OURS},
        {"t", late, sizeof late - 1, OSC_ART_TRACE_JSON, OSC_ORIGIN_UNKNOWN},
        {"t", "{\"a\":1}", 7, OSC_ART_UNKNOWN, OSC_ORIGIN_UNKNOWN},
        {"t", "[1,2]", 5, OSC_ART_UNKNOWN, OSC_ORIGIN_UNKNOWN},
        {"t", "\x1f\x8b broken", 9, OSC_ART_UNKNOWN, OSC_ORIGIN_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        osc_sniff got;
        osc_sniff_bytes(cases[i].name, cases[i].bytes, cases[i].len, cases[i].len, &got);
        TAP_OKF(got.kind == cases[i].kind && got.origin == cases[i].origin,
                "case %zu: %s, origin %d", i, osc_artifact_kind_name(got.kind), (int)got.origin);
    }
}

/* A gzip file is judged by what is inside, also when only its head is there. */
static void test_sniff_gzip(void)
{
    osc_buf text;
    osc_sniff got;
    osc_err err = {0};
    char *packed = NULL;
    size_t len = 0;
    uint64_t noise = 1;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "{\"schemaVersion\":1,\"traceEvents\":[");
    for (int i = 0; i < 2000; i++) {
        noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407u;
        osc_buf_printf(&text, "{\"ts\":%u},", (unsigned)(noise >> 33));
    }
    osc_status st = osc_gzip(text.data, text.len, &packed, &len, &err);
    if (st == OSC_EUNSUPPORTED) {
        osc_buf_free(&text);
        tap_skip("this build has no gzip");
        return;
    }
    TAP_REQUIRE(st == OSC_OK);
    TAP_OK(len > OSC_SNIFF_BYTES);
    osc_sniff_bytes("t.json", packed, OSC_SNIFF_BYTES, len, &got);
    TAP_EQ_U64(got.kind, OSC_ART_TRACE_JSON);
    osc_free(packed);
    osc_buf_free(&text);
}

static void test_sniff_file(void)
{
    osc_sniff got;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_sniff_file("/nonexistent", &got, &err), OSC_ENOTFOUND);
    TAP_EQ_STATUS(osc_sniff_file(tap_tmpdir(), &got, &err), OSC_EIO);
    char *pipe_path = join(tap_tmpdir(), "pipe");
    TAP_REQUIRE(mkfifo(pipe_path, 0600) == 0);
    TAP_EQ_STATUS(osc_sniff_file(pipe_path, &got, &err), OSC_OK); /* and does not hang */
    TAP_EQ_U64(got.kind, OSC_ART_UNKNOWN);
    osc_free(pipe_path);
}

/* The way out must survive the longest path. */
static void test_foreign_message_fits(void)
{
    char path[600];
    osc_err err = {0};
    memset(path, 'd', sizeof path);
    path[300] = '/';
    path[sizeof path - 1] = '\0';
    TAP_EQ_STATUS(osc_foreign_fail(path, OSC_ART_NTFF, &err), OSC_EFOREIGN);
    TAP_OKF(strstr(err.message, "then open F"), "%s", err.message);
    TAP_EQ_STATUS(osc_foreign_fail(NULL, OSC_ART_NTFF, &err), OSC_EFOREIGN);
    TAP_OK(strstr(err.message, "-d DIR"));
}

static bool oom_open(void *dir)
{
    osc_session *s;
    osc_findings findings = {0};
    osc_err err = {0};
    osc_status st = osc_session_open(dir, &findings, &s, &err);
    bool good = (st == OSC_OK) == (s != NULL) && (st == OSC_OK || err.code == st);
    osc_session_free(s);
    osc_findings_free(&findings);
    return good;
}

static void test_out_of_memory(void)
{
    char *top, *dir = fresh_session("oom", &top);
    put_ntff(dir, "1_instid_0_vnc_0.ntff");
    put_neff(dir, "file.neff", sample_uuid, "opscope 0.1.0");
    put_file(dir, "notes.txt", "hello", 5);
    TAP_OK(tap_oom_sweep(oom_open, top, 1000));
    osc_free(dir);
    osc_free(top);
}

int main(void)
{
    TAP_RUN(test_names);
    TAP_RUN(test_create);
    TAP_RUN(test_whole_session);
    TAP_RUN(test_several_none_and_files);
    TAP_RUN(test_broken_pairs);
    TAP_RUN(test_renamed_files);
    TAP_RUN(test_foreign_files);
    TAP_RUN(test_sniff_table);
    TAP_RUN(test_sniff_gzip);
    TAP_RUN(test_sniff_file);
    TAP_RUN(test_foreign_message_fits);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
