/*
 * test_artifact_manifest.c - run.json: written, read, refreshed, verified; damaged and newer files.
 */
#include "artifact/manifest.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define FACTS \
    "{\"script\": \"naive.py\", \"versions\": {\"torch\": \"2.13.0\"}, \"quote\": \"a\\\"b\"}"

/* A fresh directory with two artifacts; caller frees. */
static char *fresh(const char *name)
{
    osc_err err = {0};
    char *dir = osc_path_join(tap_tmpdir(), name);
    char *a = osc_path_join(dir, "ntrace.pb"), *b = osc_path_join(dir, "trace.json");
    TAP_OK(osc_mkdir_p(dir, &err) == OSC_OK);
    TAP_OK(osc_write_file_atomic(a, "abc", 3, &err) == OSC_OK);
    TAP_OK(osc_write_file_atomic(b, "[]", 2, &err) == OSC_OK);
    osc_free(a);
    osc_free(b);
    return dir;
}

/* The manifest in dir; *text is freed by the caller, out lives in the arena. */
static osc_status load(const char *dir, osc_arena *arena, char **text, size_t *len,
                       osc_findings *findings, osc_manifest *out, osc_err *err)
{
    char *path = osc_path_join(dir, OSC_MANIFEST_FILE);
    osc_status st = path ? osc_read_file(path, SIZE_MAX, text, len, err) : OSC_ENOMEM;
    if (st == OSC_OK)
        st = osc_manifest_read(*text, *len, path, arena, findings, out, err);
    osc_free(path);
    return st;
}

static osc_manifest_facts sample_facts(const osc_sheet *sheet)
{
    osc_manifest_facts f = {.size = sizeof f,
                            .facts_json = FACTS,
                            .settings_json = " {\"modes\": [\"DEVICE\"]}\n",
                            .sheet = sheet,
                            .instance_id = "i-local",
                            .instance_type = "trn2",
                            .pid = 4711,
                            .simulated = true,
                            .window_start_ns = 1764411300000000001,
                            .window_end_ns = 1764411300000000009,
                            .dropped_events = 3};
    return f;
}

static const osc_manifest_pair *find_pair(const osc_manifest_pair *pairs, size_t n,
                                          const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (osc_str_eq_cstr(pairs[i].name, name))
            return &pairs[i];
    }
    return NULL;
}

static void check_artifacts(const osc_manifest *m)
{
    unsigned char digest[OSC_SHA256_SIZE];
    TAP_REQUIRE(m->artifact_count == 2);
    TAP_EQ_VIEW(m->artifacts[0].name, "ntrace.pb");
    TAP_EQ_U64(m->artifacts[0].size, 3);
    osc_sha256_bytes("abc", 3, digest);
    TAP_EQ_MEM(m->artifacts[0].sha256, digest, sizeof digest);
    TAP_EQ_VIEW(m->artifacts[1].name, "trace.json");
}

static void test_round_trip(void)
{
    char *dir = fresh("round"), *text = NULL;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_findings findings = {0};
    osc_manifest m;
    osc_err err = {0};
    size_t len, rows;
    osc_sheet sheet = *osc_sheet_default(OSC_TRN2);
    TAP_EQ_STATUS(osc_sheet_set(&sheet, "dma_bw", 123.5, &err), OSC_OK);
    osc_manifest_facts f = sample_facts(&sheet);
    TAP_OK(setenv("OPSCOPE_TEST_ONLY", "a \"quoted\"\nvalue", 1) == 0);
    TAP_OK(setenv("OPSCOPE_TEST_TOKEN", "hush", 1) == 0);
    TAP_OKF(osc_manifest_write(dir, &f, &err) == OSC_OK, "%s", err.message);
    TAP_REQUIRE(load(dir, arena, &text, &len, &findings, &m, &err) == OSC_OK);
    TAP_EQ_U64(findings.count, 0);
    TAP_EQ_U64(m.major, OSC_MANIFEST_MAJOR);
    TAP_EQ_VIEW(m.producer, "opscope " OSC_VERSION);
    TAP_EQ_VIEW(m.instance_id, "i-local");
    TAP_EQ_VIEW(m.instance_type, "trn2");
    TAP_OK(m.pid == 4711 && m.simulated && m.dropped_events == 3);
    TAP_EQ_I64(m.window_start_ns, 1764411300000000001);
    TAP_EQ_I64(m.window_end_ns, 1764411300000000009);
    TAP_EQ_VIEW(m.facts, FACTS);
    TAP_EQ_VIEW(m.settings, "{\"modes\": [\"DEVICE\"]}");
    TAP_EQ_VIEW(m.generation, "trn2");
    (void)osc_sheet_rows(&rows);
    TAP_EQ_U64(m.parameter_count, rows);
    const osc_manifest_pair *p = find_pair(m.parameters, m.parameter_count, "dma_bw");
    TAP_REQUIRE(p != NULL);
    TAP_EQ_VIEW(p->value, "123.5");
    p = find_pair(m.env, m.env_count, "OPSCOPE_TEST_ONLY");
    TAP_REQUIRE(p != NULL);
    TAP_EQ_VIEW(p->value, "a \"quoted\"\nvalue");
    TAP_OK(find_pair(m.env, m.env_count, "OPSCOPE_TEST_TOKEN") == NULL && !strstr(text, "hush"));
    check_artifacts(&m);
    osc_findings_free(&findings);
    osc_arena_free(arena);
    osc_free(text);
    osc_free(dir);
}

/* The same facts and files give the same bytes. */
static void test_deterministic(void)
{
    char *dir = fresh("same"), *first = NULL, *second = NULL;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_manifest m;
    osc_err err = {0};
    size_t len = 0, len2 = 0;
    osc_manifest_facts f = sample_facts(osc_sheet_default(OSC_TRN1));
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_OK);
    TAP_REQUIRE(load(dir, arena, &first, &len, NULL, &m, &err) == OSC_OK);
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_OK);
    TAP_REQUIRE(load(dir, arena, &second, &len2, NULL, &m, &err) == OSC_OK);
    TAP_REQUIRE(len == len2);
    TAP_EQ_MEM(first, second, len);
    osc_free(first);
    osc_free(second);
    osc_arena_free(arena);
    osc_free(dir);
}

static void test_refresh(void)
{
    char *dir = fresh("refresh"), *text = NULL, *late = osc_path_join(dir, "late.bin");
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_manifest m;
    osc_err err = {0};
    size_t len;
    osc_manifest_facts f = sample_facts(osc_sheet_default(OSC_TRN2));
    TAP_EQ_STATUS(osc_manifest_refresh(dir, NULL, &err), OSC_ENOTFOUND);
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_OK);
    TAP_EQ_STATUS(osc_write_file_atomic(late, "x", 1, &err), OSC_OK);
    TAP_OKF(osc_manifest_refresh(dir, NULL, &err) == OSC_OK, "%s", err.message);
    TAP_REQUIRE(load(dir, arena, &text, &len, NULL, &m, &err) == OSC_OK);
    TAP_EQ_U64(m.artifact_count, 3);
    TAP_EQ_VIEW(m.artifacts[0].name, "late.bin");
    TAP_EQ_VIEW(m.facts, FACTS);
    TAP_EQ_VIEW(m.generation, "trn2");
    TAP_OK(m.parameter_count > 0 && m.pid == 4711);
    osc_free(text);
    TAP_EQ_STATUS(osc_manifest_refresh(dir, "{\"new\": 1}", &err), OSC_OK);
    TAP_REQUIRE(load(dir, arena, &text, &len, NULL, &m, &err) == OSC_OK);
    TAP_EQ_VIEW(m.facts, "{\"new\": 1}");
    TAP_EQ_VIEW(m.settings, "{\"modes\": [\"DEVICE\"]}");
    osc_free(text);
    TAP_EQ_STATUS(osc_manifest_refresh(dir, "[1]", &err), OSC_EINVAL);
    TAP_REQUIRE(load(dir, arena, &text, &len, NULL, &m, &err) == OSC_OK);
    TAP_EQ_VIEW(m.facts, "{\"new\": 1}"); /* a refused refresh leaves the file alone */
    osc_free(text);
    osc_arena_free(arena);
    osc_free(late);
    osc_free(dir);
}

/* What a newer minor version wrote survives an older program's refresh. */
static void test_refresh_keeps_unknown_members(void)
{
    static const char newer[] = "{\"format\":\"opscope.run\",\"major\":1,\"minor\":9,"
                                "\"future\":{\"a\":[1,2]},\"b\\\"q\":null,\"artifacts\":[]}";
    char *dir = fresh("unknown"), *path = osc_path_join(dir, OSC_MANIFEST_FILE), *text = NULL;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_manifest m;
    osc_err err = {0};
    size_t len;
    TAP_EQ_STATUS(osc_write_file_atomic(path, newer, sizeof newer - 1, &err), OSC_OK);
    TAP_OKF(osc_manifest_refresh(dir, NULL, &err) == OSC_OK, "%s", err.message);
    TAP_REQUIRE(load(dir, arena, &text, &len, NULL, &m, &err) == OSC_OK);
    TAP_OK(strstr(text, "\"future\": {\"a\":[1,2]}") && strstr(text, "\"b\\\"q\": null"));
    TAP_EQ_U64(m.minor, 9);
    check_artifacts(&m);
    osc_free(text);
    osc_arena_free(arena);
    osc_free(path);
    osc_free(dir);
}

static void test_bad_arguments(void)
{
    char *dir = fresh("bad"), *path = osc_path_join(dir, OSC_MANIFEST_FILE);
    osc_err err = {0};
    osc_manifest_facts f = {.size = sizeof f, .facts_json = "not json"};
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_EINVAL);
    TAP_OK(strstr(err.message, "framework"));
    f.facts_json = "{\"a\": }";
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_EINVAL);
    f.facts_json = "{} {}";
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_EINVAL);
    f.facts_json = NULL;
    f.settings_json = "3";
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_EINVAL);
    TAP_OK(strstr(err.message, "settings") && !osc_path_exists(path));
    f.settings_json = NULL;
    TAP_OK(osc_manifest_write("/nonexistent/dir", &f, &err) != OSC_OK);
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_OK);
    osc_free(path);
    osc_free(dir);
}

/* ---- reading ---- */

static osc_status read_text(const char *json, osc_findings *findings, osc_manifest *m,
                            osc_arena *arena, osc_err *err)
{
    return osc_manifest_read(json, strlen(json), "run.json", arena, findings, m, err);
}

static void test_versions(void)
{
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_manifest m;
    osc_err err = {0};
    TAP_EQ_STATUS(read_text("{\"format\":\"opscope.run\",\"major\":2,\"minor\":4,\"artifacts\":7}",
                            NULL, &m, arena, &err),
                  OSC_EVERSION);
    TAP_OKF(strstr(err.message, "run.json version 2.4") && strstr(err.message, "newer"), "%s",
            err.message);
    TAP_EQ_STATUS(read_text("{\"format\":\"other\",\"major\":1}", NULL, &m, arena, &err),
                  OSC_EFORMAT);
    TAP_EQ_STATUS(read_text("{\"major\":1}", NULL, &m, arena, &err), OSC_EFORMAT);
    TAP_EQ_STATUS(read_text("{\"format\":\"opscope.run\"}", NULL, &m, arena, &err), OSC_EFORMAT);
    TAP_EQ_STATUS(read_text("[]", NULL, &m, arena, &err), OSC_EFORMAT);
    TAP_EQ_STATUS(read_text("", NULL, &m, arena, &err), OSC_ETRUNCATED);
    TAP_EQ_STATUS(read_text("{\"format\":\"opscope.run\",\"major\":1}", NULL, &m, arena, &err),
                  OSC_OK);
    TAP_EQ_STATUS(read_text("{\"format\":\"opscope.run\",\"major\":1} x", NULL, &m, arena, &err),
                  OSC_EFORMAT);
    osc_arena_free(arena);
}

static void test_wrong_types_are_findings(void)
{
    static const char json[] =
        "{\"format\":\"opscope.run\",\"major\":1,\"producer\":7,\"simulated\":\"yes\","
        "\"instance\":[],\"window\":{\"start_ns\":\"x\",\"end_ns\":5},\"dropped_events\":-1,"
        "\"framework\":[1],\"settings\":null,\"device\":{\"generation\":{},\"parameters\":{\"a\":1}"
        "},"
        "\"environment\":{\"N\":{\"deep\":[1]},\"M\":\"m\"},"
        "\"artifacts\":[1,{\"name\":\"f\",\"bytes\":1,\"sha256\":\"short\"},"
        "{\"name\":\"g\",\"bytes\":2,\"sha256\":"
        "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}]}";
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_findings findings = {0};
    osc_manifest m;
    osc_err err = {0};
    TAP_REQUIRE(read_text(json, &findings, &m, arena, &err) == OSC_OK);
    const osc_finding *f = osc_findings_find(&findings, "bad-member");
    TAP_REQUIRE(f != NULL);
    TAP_EQ_U64(f->count, 12);
    TAP_EQ_I64(m.window_end_ns, 5);
    TAP_EQ_U64(m.dropped_events, 0);
    TAP_OK(m.facts.len == 0 && m.settings.len == 0 && m.generation.len == 0 && m.producer.len == 0);
    TAP_REQUIRE(m.env_count == 2 && m.artifact_count == 1);
    TAP_EQ_VIEW(m.env[1].value, "m");
    TAP_EQ_VIEW(m.artifacts[0].name, "g");
    TAP_EQ_U64(m.artifacts[0].sha256[0], 0xba);
    osc_findings_free(&findings);
    osc_arena_free(arena);
}

static void test_truncation_at_every_byte(void)
{
    char *dir = fresh("cut"), *text = NULL;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_manifest m;
    osc_err err = {0};
    size_t len = 0;
    osc_manifest_facts f = sample_facts(NULL);
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_OK);
    TAP_REQUIRE(load(dir, arena, &text, &len, NULL, &m, &err) == OSC_OK);
    while (len > 0 && text[len - 1] == '\n')
        len--; /* the last newline is no part of the object */
    for (size_t cut = 0; cut < len; cut++) {
        osc_arena_reset(arena);
        osc_status st = osc_manifest_read(text, cut, "run.json", arena, NULL, &m, &err);
        TAP_OKF(st == OSC_ETRUNCATED, "cut at %zu: %s", cut, osc_status_name(st));
        TAP_OK(err.offset <= cut && m.artifact_count == 0);
    }
    osc_free(text);
    osc_arena_free(arena);
    osc_free(dir);
}

static void test_verify(void)
{
    char *dir = fresh("verify"), *text = NULL;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_findings findings = {0};
    osc_manifest m;
    osc_err err = {0};
    size_t len = 0;
    osc_manifest_facts f = {.size = sizeof f};
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_OK);
    TAP_REQUIRE(load(dir, arena, &text, &len, NULL, &m, &err) == OSC_OK);
    TAP_EQ_STATUS(osc_manifest_verify(dir, &m, &findings, &err), OSC_OK);
    TAP_EQ_U64(findings.count, 0);
    char *a = osc_path_join(dir, "ntrace.pb"), *b = osc_path_join(dir, "trace.json");
    char *c = osc_path_join(dir, "more.bin");
    TAP_EQ_STATUS(osc_write_file_atomic(a, "abd", 3, &err), OSC_OK);
    TAP_EQ_STATUS(osc_remove_file(b, &err), OSC_OK);
    TAP_EQ_STATUS(osc_write_file_atomic(c, "x", 1, &err), OSC_OK);
    TAP_EQ_STATUS(osc_manifest_verify(dir, &m, &findings, &err), OSC_OK);
    TAP_EQ_U64(findings.count, 3);
    const osc_finding *changed = osc_findings_find(&findings, "artifact-changed");
    TAP_OK(changed && strcmp(changed->input, "ntrace.pb") == 0);
    const osc_finding *missing = osc_findings_find(&findings, "artifact-missing");
    TAP_OK(missing && strcmp(missing->input, "trace.json") == 0);
    TAP_OK(osc_findings_find(&findings, "artifact-unlisted") != NULL);
    osc_findings_free(&findings);
    /* a manifest may not send the reader to other places of the machine */
    osc_manifest_artifact outside = {.name = OSC_STR("../../etc/passwd")};
    osc_manifest bad = {.artifacts = &outside, .artifact_count = 1};
    TAP_EQ_STATUS(osc_manifest_verify(dir, &bad, &findings, &err), OSC_OK);
    missing = osc_findings_find(&findings, "artifact-missing");
    TAP_OK(missing && strstr(missing->text, "plain file name"));
    TAP_EQ_STATUS(osc_manifest_verify("/nonexistent", &m, &findings, &err), OSC_ENOTFOUND);
    osc_findings_free(&findings);
    osc_free(a);
    osc_free(b);
    osc_free(c);
    osc_free(text);
    osc_arena_free(arena);
    osc_free(dir);
}

static void test_environment_choice(void)
{
    TAP_OK(osc_manifest_env_wanted("NEURON_RT_NUM_CORES"));
    TAP_OK(osc_manifest_env_wanted("TORCH_NEURONX_NEFF_CACHE_DIR"));
    TAP_OK(osc_manifest_env_wanted("OPSCOPE_SHEET"));
    TAP_OK(osc_manifest_env_wanted("OMP_NUM_THREADS"));
    TAP_OK(!osc_manifest_env_wanted("HOME"));
    TAP_OK(!osc_manifest_env_wanted("NEURON_API_KEY"));
    TAP_OK(!osc_manifest_env_wanted("OPSCOPE_SECRET_PATH"));
    TAP_OK(!osc_manifest_env_wanted(""));
}

static bool oom_all(void *dir)
{
    osc_err err = {0};
    osc_manifest m;
    osc_manifest_facts f = sample_facts(osc_sheet_default(OSC_TRN3));
    osc_status st = osc_manifest_write(dir, &f, &err);
    if (st == OSC_OK)
        st = osc_manifest_refresh(dir, NULL, &err);
    if (st != OSC_OK)
        return err.code == st;
    char *text = NULL;
    size_t len;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    st = arena ? load(dir, arena, &text, &len, NULL, &m, &err) : OSC_ENOMEM;
    osc_free(text);
    osc_arena_free(arena);
    return st == OSC_OK || st == OSC_ENOMEM;
}

static void test_out_of_memory(void)
{
    char *dir = fresh("oom");
    osc_manifest_facts f = sample_facts(NULL);
    osc_err err = {0};
    TAP_EQ_STATUS(osc_manifest_write(dir, &f, &err), OSC_OK);
    TAP_OK(tap_oom_sweep(oom_all, dir, 2000));
    osc_free(dir);
}

int main(void)
{
    TAP_RUN(test_round_trip);
    TAP_RUN(test_deterministic);
    TAP_RUN(test_refresh);
    TAP_RUN(test_refresh_keeps_unknown_members);
    TAP_RUN(test_bad_arguments);
    TAP_RUN(test_versions);
    TAP_RUN(test_wrong_types_are_findings);
    TAP_RUN(test_truncation_at_every_byte);
    TAP_RUN(test_verify);
    TAP_RUN(test_environment_choice);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
