/*
 * test_artifact_samples.c - a whole session as the artifact room writes it, opened and read back.
 *
 * With a directory as its argument it only writes the sample files there;
 * tests/python/test_formats.py decodes those with an independent implementation.
 */
#include "artifact/finding.h"
#include "artifact/manifest.h"
#include "artifact/session.h"
#include "artifact_samples_pb.h"
#include "base/clock.h"
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ntrace.pb, cpu_util.pb, host_mem.pb, trace_info.pb, an NTFF and run.json. */
static bool write_all(const char *dir, osc_err *err)
{
    char name[OSC_FILE_NAME_MAX];
    char *ntff = osc_path_join(dir, osc_ntff_file_name(SAMPLE_HASH, 1, 3, name));
    char *ntrace = osc_path_join(dir, "ntrace.pb"), *cpu = osc_path_join(dir, "cpu_util.pb");
    char *mem = osc_path_join(dir, "host_mem.pb"), *info_path = osc_path_join(dir, "trace_info.pb");
    osc_trace_info info = sample_trace_info();
    osc_manifest_facts facts = {.size = sizeof facts,
                                .facts_json = "{\"script\": \"naive.py\"}",
                                .sheet = osc_sheet_default(OSC_TRN2),
                                .instance_id = "i-local",
                                .simulated = true};
    bool good = ntff && ntrace && cpu && mem && info_path && write_sample_ntff(ntff, err) &&
                write_sample_ntrace(ntrace, err) && write_sample_cpu_util(cpu, err) &&
                write_sample_host_mem(mem, err) &&
                osc_trace_info_write(info_path, &info, err) == OSC_OK &&
                osc_manifest_write(dir, &facts, err) == OSC_OK;
    osc_free(ntff);
    osc_free(ntrace);
    osc_free(cpu);
    osc_free(mem);
    osc_free(info_path);
    return good;
}

static void test_session_reads_back(void)
{
    osc_err err = {0};
    osc_findings findings = {0};
    osc_session *s;
    uint32_t files;
    TAP_REQUIRE(write_all(tap_tmpdir(), &err));
    TAP_REQUIRE(osc_session_open(tap_tmpdir(), &findings, &s, &err) == OSC_OK);
    (void)osc_session_files(s, &files);
    TAP_EQ_U64(files, 6);
    TAP_EQ_U64(findings.count, 1); /* the NTFF has no NEFF here */
    TAP_OK(osc_findings_find(&findings, "missing-neff") != NULL);
    for (int kind = OSC_ART_NTFF; kind <= OSC_ART_HOST_MEM; kind++)
        TAP_OKF(osc_session_find(s, (osc_artifact_kind)kind) != NULL, "no %s",
                osc_artifact_kind_name((osc_artifact_kind)kind));
    TAP_OK(osc_session_find(s, OSC_ART_RUN_JSON) != NULL);
    osc_session_free(s);
    osc_findings_free(&findings);
}

/* Names and inputs share an entry; the list has a ceiling and counts what is beyond it. */
static void test_findings(void)
{
    osc_findings f = {0};
    char input[16];
    osc_findings_add(NULL, "a", OSC_SEV_NOTE, OSC_OK, NULL, 0, "nobody listens");
    osc_findings_add(&f, "a", OSC_SEV_NOTE, OSC_OK, NULL, 7, "first %d", 1);
    osc_findings_add(&f, "a", OSC_SEV_NOTE, OSC_OK, "", 8, "second");
    osc_findings_add(&f, "a", OSC_SEV_ERROR, OSC_EFORMAT, "x", 9, "another file");
    TAP_REQUIRE(f.count == 2);
    TAP_OK(f.items[0].count == 2 && f.items[0].offset == 7);
    TAP_EQ_STR(f.items[0].text, "first 1");
    TAP_EQ_U64(osc_findings_at_least(&f, OSC_SEV_WARN), 1);
    TAP_OK(osc_findings_find(&f, "b") == NULL);
    for (unsigned i = 0; i < OSC_FINDINGS_MAX; i++) {
        (void)snprintf(input, sizeof input, "%u", i);
        osc_findings_add(&f, "b", OSC_SEV_WARN, OSC_EFORMAT, input, 0, "many");
    }
    TAP_EQ_U64(f.count, OSC_FINDINGS_MAX);
    TAP_EQ_U64(f.suppressed, 2);
    TAP_EQ_STR(osc_severity_name(OSC_SEV_WARN), "warn");
    osc_findings_free(&f);
    TAP_EQ_U64(f.count, 0);
}

/* ---- a process that is killed while it writes ---- */

#define KILLS 25

/* Appends numbered events to both files for ever, in pieces of odd sizes. */
static void write_until_killed(const char *ntff_path, const char *ntrace_path)
{
    osc_ntff_header h = sample_ntff_header();
    osc_ntff_writer *ntff;
    osc_systrace_writer *ntrace;
    if (osc_ntff_writer_open(ntff_path, &h, &ntff, NULL) != OSC_OK ||
        osc_systrace_writer_open(ntrace_path, OSC_SYSTRACE_NTRACE, &ntrace, NULL) != OSC_OK)
        _exit(1);
    osc_systrace_event e;
    osc_systrace_event_init(&e);
    for (uint32_t i = 0;; i++) {
        osc_event event = {.kind = OSC_EV_INST, .index = i};
        e.start_ns = e.end_ns = i;
        osc_status st = osc_ntff_writer_events(ntff, &event, 1, NULL);
        if (st == OSC_OK)
            st = osc_systrace_writer_event(ntrace, &e, NULL);
        if (st == OSC_OK && i % 37 == 0)
            st = osc_ntff_writer_flush(ntff, NULL);
        if (st == OSC_OK && i % 53 == 0)
            st = osc_systrace_writer_flush(ntrace, NULL);
        if (st != OSC_OK)
            _exit(1);
    }
}

/* All a killed writer may leave to complain about is the missing end. */
static bool only_truncated(const osc_findings *f)
{
    return f->count == 1 && strcmp(f->items[0].name, "truncated") == 0;
}

static uint64_t check_killed_ntff(const char *path)
{
    char *data = NULL;
    size_t len;
    osc_findings findings = {0};
    osc_ntff *n = NULL;
    osc_event e;
    osc_err err = {0};
    uint64_t count = 0;
    if (osc_read_file(path, SIZE_MAX, &data, &len, &err) == OSC_OK &&
        osc_ntff_read(data, len, path, &findings, &n, &err) == OSC_OK) {
        count = osc_ntff_event_count(n);
        for (uint64_t i = 0; i < count; i++)
            TAP_OK(osc_ntff_events(n, i, 1, &e) == 1 && e.index == i);
        TAP_OK(only_truncated(&findings));
    } else {
        TAP_OKF(err.code == OSC_ETRUNCATED || err.code == OSC_ENOTFOUND, "%s", err.message);
    }
    osc_ntff_free(n);
    osc_findings_free(&findings);
    osc_free(data);
    return count;
}

static uint64_t check_killed_ntrace(const char *path)
{
    static osc_systrace_reader r;
    char *data = NULL;
    size_t len;
    osc_findings findings = {0};
    osc_systrace_event e;
    osc_err err = {0};
    uint64_t count = 0;
    if (osc_read_file(path, SIZE_MAX, &data, &len, &err) == OSC_OK &&
        osc_systrace_open(&r, data, len, path, &findings, &err) == OSC_OK) {
        while (osc_systrace_next_event(&r, &e))
            TAP_OK(e.start_ns == (int64_t)count++);
        TAP_OK(only_truncated(&findings));
    } else {
        TAP_OKF(err.code == OSC_ETRUNCATED || err.code == OSC_ENOTFOUND, "%s", err.message);
    }
    osc_findings_free(&findings);
    osc_free(data);
    return count;
}

static void test_killed_at_any_time(void)
{
    char *ntff = osc_path_join(tap_tmpdir(), "killed.ntff");
    char *ntrace = osc_path_join(tap_tmpdir(), "killed.pb");
    uint64_t kept = 0;
    TAP_REQUIRE(ntff && ntrace);
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork();
        TAP_REQUIRE(child >= 0);
        if (child == 0)
            write_until_killed(ntff, ntrace);
        osc_sleep_ns(200000 * (int64_t)i);
        TAP_REQUIRE(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
        kept += check_killed_ntff(ntff) + check_killed_ntrace(ntrace);
        TAP_REQUIRE(osc_remove_file(ntff, NULL) == OSC_OK &&
                    osc_remove_file(ntrace, NULL) == OSC_OK);
    }
    TAP_OK(kept > 0);
    osc_free(ntff);
    osc_free(ntrace);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        osc_err err = {0};
        if (write_all(argv[1], &err))
            return 0;
        (void)fprintf(stderr, "%s: %s\n", err.input, err.message);
        return 1;
    }
    TAP_RUN(test_session_reads_back);
    TAP_RUN(test_findings);
    TAP_RUN(test_killed_at_any_time);
    return tap_done();
}
