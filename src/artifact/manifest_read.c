/*
 * manifest_read.c - the reader half of manifest.h.
 *
 * One pass over the JSON; members in any order, unknown ones skipped, those of a wrong type
 * reported and left unset. Lists are counted by looking ahead with a copy of the scanner, then
 * filled.
 */
#include "artifact/manifest.h"

#include "artifact/manifest_members.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct reader {
    osc_json j;
    const char *input;
    osc_arena *arena;
    osc_findings *findings;
    osc_manifest *out;
    osc_buf text; /* for unescaping */
    uint64_t major, minor;
    bool has_format; /* "format" said what it must */
    bool no_memory;
};

static void bad_member(struct reader *r, const osc_json_token *at, const char *name)
{
    osc_findings_add(r->findings, "bad-member", OSC_SEV_WARN, OSC_EFORMAT, r->input, at->offset,
                     "\"%s\" has a value of the wrong kind; left out", name);
}

/* ---- values; each takes one whole value ---- */

/* The token's text without escapes; input text is used in place when it has none. */
static osc_str plain_text(struct reader *r, const osc_json_token *t)
{
    if (!t->escaped)
        return t->text;
    osc_buf_clear(&r->text);
    osc_str copy = {0};
    if (osc_json_unescape(t->text, &r->text, NULL))
        copy = osc_arena_copy(r->arena, osc_buf_view(&r->text));
    r->no_memory |= !copy.ptr && r->text.len > 0;
    return copy;
}

static osc_str get_text(struct reader *r, const char *name)
{
    osc_json_token t = osc_json_next(&r->j);
    if (t.type == OSC_JSON_STRING)
        return plain_text(r, &t);
    if (t.type != OSC_JSON_NULL)
        bad_member(r, &t, name);
    (void)osc_json_skip_value(&r->j, &t);
    return (osc_str){0};
}

static int64_t get_i64(struct reader *r, const char *name)
{
    int64_t v = 0;
    osc_json_token t = osc_json_next(&r->j);
    if (t.type != OSC_JSON_NUMBER || !osc_json_i64(&t, &v)) {
        bad_member(r, &t, name);
        (void)osc_json_skip_value(&r->j, &t);
    }
    return v;
}

static uint64_t get_u64(struct reader *r, const char *name)
{
    osc_json_token t = osc_json_peek(&r->j);
    int64_t v = get_i64(r, name);
    if (v < 0)
        bad_member(r, &t, name);
    return v < 0 ? 0 : (uint64_t)v;
}

static bool get_bool(struct reader *r, const char *name)
{
    osc_json_token t = osc_json_next(&r->j);
    if (t.type == OSC_JSON_TRUE || t.type == OSC_JSON_FALSE)
        return t.type == OSC_JSON_TRUE;
    bad_member(r, &t, name);
    (void)osc_json_skip_value(&r->j, &t);
    return false;
}

/* Raw text of a value that must be an object. */
static osc_str get_raw_object(struct reader *r, const char *name)
{
    osc_json_token first = osc_json_peek(&r->j);
    if (!osc_json_skip_value(&r->j, NULL))
        return (osc_str){0};
    if (first.type != OSC_JSON_OBJ_BEGIN) {
        bad_member(r, &first, name);
        return (osc_str){0};
    }
    return osc_str_make(r->j.data + first.offset, r->j.pos - (size_t)first.offset);
}

/* Takes the opening of an object; false (value skipped, reported) when it is something else. */
static bool enter(struct reader *r, osc_json_type type, const char *name)
{
    osc_json_token t = osc_json_next(&r->j);
    if (t.type == type)
        return true;
    bad_member(r, &t, name);
    (void)osc_json_skip_value(&r->j, &t);
    return false;
}

/* Members of the object, or elements of the array, that the scanner has just entered. */
static size_t count_ahead(const struct reader *r, bool object)
{
    osc_json j = r->j;
    osc_json_token t;
    size_t n = 0;
    while (object ? osc_json_next_member(&j, &t) : osc_json_next_element(&j, &t)) {
        n++;
        if (!osc_json_skip_value(&j, object ? NULL : &t))
            break;
    }
    return n;
}

/* ---- members ---- */

static void read_instance(struct reader *r)
{
    osc_json_token key;
    if (!enter(r, OSC_JSON_OBJ_BEGIN, MEMBER_INSTANCE))
        return;
    while (osc_json_next_member(&r->j, &key)) {
        if (osc_json_is(&key, INSTANCE_ID))
            r->out->instance_id = get_text(r, INSTANCE_ID);
        else if (osc_json_is(&key, INSTANCE_TYPE))
            r->out->instance_type = get_text(r, INSTANCE_TYPE);
        else if (osc_json_is(&key, INSTANCE_PID))
            r->out->pid = get_u64(r, INSTANCE_PID);
        else
            (void)osc_json_skip_value(&r->j, NULL);
    }
}

static void read_window(struct reader *r)
{
    osc_json_token key;
    if (!enter(r, OSC_JSON_OBJ_BEGIN, MEMBER_WINDOW))
        return;
    while (osc_json_next_member(&r->j, &key)) {
        if (osc_json_is(&key, WINDOW_START))
            r->out->window_start_ns = get_i64(r, WINDOW_START);
        else if (osc_json_is(&key, WINDOW_END))
            r->out->window_end_ns = get_i64(r, WINDOW_END);
        else
            (void)osc_json_skip_value(&r->j, NULL);
    }
}

/* "value" of a parameter's object, as raw JSON. */
static osc_str read_parameter(struct reader *r)
{
    osc_json_token key;
    osc_str value = {0};
    if (!enter(r, OSC_JSON_OBJ_BEGIN, DEVICE_PARAMETERS))
        return value;
    while (osc_json_next_member(&r->j, &key)) {
        osc_json_token first = osc_json_peek(&r->j);
        if (!osc_json_skip_value(&r->j, NULL))
            break;
        if (osc_json_is(&key, PARAMETER_VALUE))
            value = osc_str_make(r->j.data + first.offset, r->j.pos - (size_t)first.offset);
    }
    return value;
}

static void read_parameters(struct reader *r)
{
    osc_json_token key;
    if (!enter(r, OSC_JSON_OBJ_BEGIN, DEVICE_PARAMETERS))
        return;
    size_t n = 0, room = count_ahead(r, true);
    osc_manifest_pair *pairs = OSC_ARENA_ARRAY(r->arena, osc_manifest_pair, room);
    r->no_memory |= !pairs;
    while (!r->no_memory && osc_json_next_member(&r->j, &key)) {
        assert(n < room);
        pairs[n].name = plain_text(r, &key);
        pairs[n++].value = read_parameter(r);
    }
    r->out->parameters = pairs;
    r->out->parameter_count = n;
}

static void read_device(struct reader *r)
{
    osc_json_token key;
    if (!enter(r, OSC_JSON_OBJ_BEGIN, MEMBER_DEVICE))
        return;
    while (!r->no_memory && osc_json_next_member(&r->j, &key)) {
        if (osc_json_is(&key, DEVICE_GENERATION))
            r->out->generation = get_text(r, DEVICE_GENERATION);
        else if (osc_json_is(&key, DEVICE_PARAMETERS))
            read_parameters(r);
        else
            (void)osc_json_skip_value(&r->j, NULL);
    }
}

static void read_environment(struct reader *r)
{
    osc_json_token key;
    if (!enter(r, OSC_JSON_OBJ_BEGIN, MEMBER_ENVIRONMENT))
        return;
    size_t n = 0, room = count_ahead(r, true);
    osc_manifest_pair *pairs = OSC_ARENA_ARRAY(r->arena, osc_manifest_pair, room);
    r->no_memory |= !pairs;
    while (!r->no_memory && osc_json_next_member(&r->j, &key)) {
        assert(n < room);
        pairs[n].name = plain_text(r, &key);
        pairs[n++].value = get_text(r, MEMBER_ENVIRONMENT);
    }
    r->out->env = pairs;
    r->out->env_count = n;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_digest(osc_str hex, uint8_t out[OSC_SHA256_SIZE])
{
    if (hex.len != 2 * OSC_SHA256_SIZE)
        return false;
    for (size_t i = 0; i < OSC_SHA256_SIZE; i++) {
        int high = hex_digit(hex.ptr[2 * i]), low = hex_digit(hex.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

/* Members of one artifact whose opening was taken; false when it lacks a name or a right digest. */
static bool read_artifact(struct reader *r, osc_manifest_artifact *a)
{
    osc_json_token key;
    bool digest = false;
    *a = (osc_manifest_artifact){0};
    while (osc_json_next_member(&r->j, &key)) {
        if (osc_json_is(&key, ARTIFACT_NAME))
            a->name = get_text(r, ARTIFACT_NAME);
        else if (osc_json_is(&key, ARTIFACT_BYTES))
            a->size = get_u64(r, ARTIFACT_BYTES);
        else if (osc_json_is(&key, ARTIFACT_SHA256))
            digest = parse_digest(get_text(r, ARTIFACT_SHA256), a->sha256);
        else
            (void)osc_json_skip_value(&r->j, NULL);
    }
    return digest && a->name.len > 0;
}

static void read_artifacts(struct reader *r)
{
    osc_json_token t;
    if (!enter(r, OSC_JSON_ARR_BEGIN, MEMBER_ARTIFACTS))
        return;
    size_t n = 0, room = count_ahead(r, false);
    osc_manifest_artifact *list = OSC_ARENA_ARRAY(r->arena, osc_manifest_artifact, room);
    r->no_memory |= !list;
    while (!r->no_memory && osc_json_next_element(&r->j, &t)) {
        assert(n < room);
        if (t.type != OSC_JSON_OBJ_BEGIN) {
            bad_member(r, &t, MEMBER_ARTIFACTS);
            (void)osc_json_skip_value(&r->j, &t);
        } else if (read_artifact(r, &list[n])) {
            n++;
        } else {
            bad_member(r, &t, MEMBER_ARTIFACTS);
        }
    }
    r->out->artifacts = list;
    r->out->artifact_count = n;
}

static void read_member(struct reader *r, const osc_json_token *key)
{
    osc_manifest *m = r->out;
    if (osc_json_is(key, MEMBER_FORMAT))
        r->has_format = osc_str_eq_cstr(get_text(r, MEMBER_FORMAT), MANIFEST_FORMAT);
    else if (osc_json_is(key, MEMBER_MAJOR))
        r->major = get_u64(r, MEMBER_MAJOR);
    else if (osc_json_is(key, MEMBER_MINOR))
        r->minor = get_u64(r, MEMBER_MINOR);
    else if (osc_json_is(key, MEMBER_PRODUCER))
        m->producer = get_text(r, MEMBER_PRODUCER);
    else if (osc_json_is(key, MEMBER_SIMULATED))
        m->simulated = get_bool(r, MEMBER_SIMULATED);
    else if (osc_json_is(key, MEMBER_INSTANCE))
        read_instance(r);
    else if (osc_json_is(key, MEMBER_WINDOW))
        read_window(r);
    else if (osc_json_is(key, MEMBER_DROPPED))
        m->dropped_events = get_u64(r, MEMBER_DROPPED);
    else if (osc_json_is(key, MEMBER_FRAMEWORK))
        m->facts = get_raw_object(r, MEMBER_FRAMEWORK);
    else if (osc_json_is(key, MEMBER_SETTINGS))
        m->settings = get_raw_object(r, MEMBER_SETTINGS);
    else if (osc_json_is(key, MEMBER_DEVICE))
        read_device(r);
    else if (osc_json_is(key, MEMBER_ENVIRONMENT))
        read_environment(r);
    else if (osc_json_is(key, MEMBER_ARTIFACTS))
        read_artifacts(r);
    else
        (void)osc_json_skip_value(&r->j, NULL);
}

/*
 * What the members said about the file as a whole. A newer version is refused even when the rest is
 * odd.
 */
static osc_status judge(struct reader *r, osc_err *err)
{
    if (r->no_memory)
        return osc_fail(err, OSC_ENOMEM, r->input, OSC_NO_OFFSET, "no memory to read it");
    if (r->has_format && r->major > OSC_MANIFEST_MAJOR)
        return osc_fail(err, OSC_EVERSION, r->input, 0,
                        "run.json version %" PRIu64 ".%" PRIu64
                        "; this program reads up to %u.x: use the "
                        "opscope that wrote it, or a newer one",
                        r->major, r->minor, OSC_MANIFEST_MAJOR);
    osc_status st = osc_json_status(&r->j, r->input, err);
    if (st != OSC_OK)
        return st;
    if (!r->has_format || r->major == 0)
        return osc_fail(err, OSC_EFORMAT, r->input, 0,
                        "is not a run manifest: \"format\" must be \"" MANIFEST_FORMAT
                        "\" and \"major\" 1");
    r->out->major = (uint32_t)r->major;
    r->out->minor = r->minor > UINT32_MAX ? UINT32_MAX : (uint32_t)r->minor;
    return OSC_OK;
}

osc_status osc_manifest_read(const char *data, size_t len, const char *input, osc_arena *arena,
                             osc_findings *findings, osc_manifest *out, osc_err *err)
{
    struct reader r = {.input = input, .arena = arena, .findings = findings, .out = out};
    osc_json_token key;
    *out = (osc_manifest){0};
    /* Unescaping at worst turns one bad byte into the three of U+FFFD. */
    size_t longest;
    osc_buf_init(&r.text, osc_mul_size(len, 3, &longest) ? longest : SIZE_MAX);
    osc_json_init(&r.j, data, len);
    osc_json_token first = osc_json_next(&r.j);
    osc_status st = OSC_OK;
    if (first.type != OSC_JSON_OBJ_BEGIN && first.type != OSC_JSON_ERROR)
        st = osc_fail(err, OSC_EFORMAT, input, first.offset, "is not a JSON object");
    while (st == OSC_OK && !r.no_memory && osc_json_next_member(&r.j, &key))
        read_member(&r, &key);
    if (st == OSC_OK && !r.no_memory && r.j.status == OSC_OK)
        (void)osc_json_next(&r.j); /* what follows the object must be nothing */
    if (st == OSC_OK)
        st = judge(&r, err);
    osc_buf_free(&r.text);
    if (st != OSC_OK)
        *out = (osc_manifest){0};
    return st;
}

/* ---- verification ---- */

static void verify_one(const char *dir, const osc_manifest_artifact *a, osc_findings *findings)
{
    unsigned char digest[OSC_SHA256_SIZE];
    uint64_t size = 0;
    char name[256];
    (void)osc_str_to_array(a->name, name, sizeof name);
    /* A manifest names files of its own directory, nothing else on the machine. */
    if (strchr(name, '/') || strlen(name) != a->name.len) {
        osc_findings_add(findings, "artifact-missing", OSC_SEV_ERROR, OSC_EFORMAT, name,
                         OSC_NO_OFFSET, "not a plain file name");
        return;
    }
    char *path = osc_path_join(dir, name);
    osc_err err = {0};
    osc_status st = path ? osc_sha256_file(path, digest, &size, &err) : OSC_ENOMEM;
    osc_free(path);
    if (st != OSC_OK)
        osc_findings_add(findings, "artifact-missing", OSC_SEV_ERROR, st, name, OSC_NO_OFFSET,
                         "listed in run.json, but cannot be read: %s", err.message);
    else if (size != a->size || memcmp(digest, a->sha256, sizeof digest) != 0)
        osc_findings_add(findings, "artifact-changed", OSC_SEV_ERROR, OSC_EFORMAT, name,
                         OSC_NO_OFFSET,
                         "changed since run.json was written: %" PRIu64 " bytes listed, %" PRIu64
                         " found, SHA-256 %s",
                         a->size, size, size == a->size ? "differs" : "not compared");
}

static bool is_listed(const osc_manifest *m, const char *name)
{
    for (size_t i = 0; i < m->artifact_count; i++) {
        if (osc_str_eq_cstr(m->artifacts[i].name, name))
            return true;
    }
    return false;
}

osc_status osc_manifest_verify(const char *dir, const osc_manifest *m, osc_findings *findings,
                               osc_err *err)
{
    osc_dir_list list;
    osc_status st = osc_list_dir(dir, &list, err);
    if (st != OSC_OK)
        return st;
    for (size_t i = 0; i < m->artifact_count; i++)
        verify_one(dir, &m->artifacts[i], findings);
    for (size_t i = 0; i < list.count; i++) {
        if (osc_manifest_lists(&list.entries[i]) && !is_listed(m, list.entries[i].name))
            osc_findings_add(findings, "artifact-unlisted", OSC_SEV_NOTE, OSC_OK,
                             list.entries[i].name, OSC_NO_OFFSET, "not listed in run.json");
    }
    osc_dir_list_free(&list);
    return OSC_OK;
}
