/*
 * manifest_write.c - the writer half of manifest.h.
 *
 * The file is one JSON object, indented for people. What the framework says is copied verbatim; a
 * refresh copies every member it does not replace in the same way, so that a file written by a
 * newer minor version loses nothing when an older program adds its trace to the directory.
 */
#include "artifact/manifest.h"

#include "artifact/manifest_members.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_MAX ((size_t)64 << 20)

extern char **environ;

/* ---- environment ---- */

static bool starts_with_any(osc_str name, const char *const *prefixes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (osc_str_starts(name, osc_str_from_cstr(prefixes[i])))
            return true;
    }
    return false;
}

static bool smells_of_secret(osc_str name)
{
    static const char *const words[] = {"TOKEN", "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (osc_str_find(name, osc_str_from_cstr(words[i])) != SIZE_MAX)
            return true;
    }
    return osc_str_ends(name, OSC_STR("KEY"));
}

bool osc_manifest_env_wanted(const char *name)
{
    static const char *const prefixes[] = {"NEURON_", "NEURONX_", "TORCH_NEURONX_", "OPSCOPE_",
                                           "NKI_",    "XLA_",     "TORCHINDUCTOR_", "TORCHDYNAMO_"};
    static const char *const names[] = {
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "PYTHONHASHSEED",
        "TORCH_LOGS",
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "PYTORCH_KERNEL_CACHE_PATH",
        "TORCH_DEVICE_BACKEND_AUTOLOAD",
    };
    osc_str n = osc_str_from_cstr(name);
    if (smells_of_secret(n))
        return false;
    if (starts_with_any(n, prefixes, sizeof prefixes / sizeof *prefixes))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (osc_str_eq_cstr(n, names[i]))
            return true;
    }
    return false;
}

/*
 * "NAME=value" entries that are wanted, sorted; *count of them. NULL: out of memory. Caller frees.
 */
static int compare_entries(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static const char **wanted_entries(size_t *count)
{
    size_t total = 0;
    while (environ && environ[total])
        total++;
    const char **entries = osc_calloc(total + 1, sizeof *entries);
    *count = 0;
    for (size_t i = 0; entries && i < total; i++) {
        const char *equals = strchr(environ[i], '=');
        char *name = equals ? osc_memdup0(environ[i], (size_t)(equals - environ[i])) : NULL;
        if (name && osc_manifest_env_wanted(name))
            entries[(*count)++] = environ[i];
        osc_free(name);
    }
    if (entries)
        qsort(entries, *count, sizeof *entries, compare_entries);
    return entries;
}

static osc_status put_environment(osc_jw *w, const char *path, osc_err *err)
{
    size_t count;
    const char **entries = wanted_entries(&count);
    if (!entries)
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory to list the environment");
    osc_jw_key(w, MEMBER_ENVIRONMENT);
    osc_jw_begin_obj(w);
    for (size_t i = 0; i < count; i++) {
        osc_str entry = osc_str_from_cstr(entries[i]);
        size_t equals = osc_str_find_char(entry, '=', 0);
        osc_jw_key_str(w, osc_str_sub(entry, 0, equals));
        osc_jw_str(w, osc_str_sub(entry, equals + 1, entry.len));
    }
    osc_jw_end_obj(w);
    osc_free(entries);
    return OSC_OK;
}

/* ---- artifacts ---- */

static osc_status put_artifact(osc_jw *w, const char *dir, const char *name, osc_err *err)
{
    unsigned char digest[OSC_SHA256_SIZE];
    char hex[OSC_SHA256_HEX];
    uint64_t size = 0;
    char *path = osc_path_join(dir, name);
    if (!path)
        return osc_fail(err, OSC_ENOMEM, dir, OSC_NO_OFFSET, "no memory for a path");
    osc_status st = osc_sha256_file(path, digest, &size, err);
    osc_free(path);
    if (st != OSC_OK)
        return st;
    osc_jw_begin_obj(w);
    osc_jw_kv_cstr(w, ARTIFACT_NAME, name);
    osc_jw_kv_u64(w, ARTIFACT_BYTES, size);
    osc_jw_kv_cstr(w, ARTIFACT_SHA256, osc_sha256_hex(digest, hex));
    osc_jw_end_obj(w);
    return OSC_OK;
}

bool osc_manifest_lists(const osc_dir_entry *entry)
{
    /* A half-written replacement of a whole file (base/io.h) is no artifact. */
    return entry->is_file && strcmp(entry->name, OSC_MANIFEST_FILE) != 0 &&
           !strstr(entry->name, ".tmp-");
}

static osc_status put_artifacts(osc_jw *w, const char *dir, osc_err *err)
{
    osc_dir_list list;
    osc_status st = osc_list_dir(dir, &list, err);
    if (st != OSC_OK)
        return st;
    osc_jw_key(w, MEMBER_ARTIFACTS);
    osc_jw_begin_arr(w);
    for (size_t i = 0; i < list.count && st == OSC_OK; i++) {
        if (osc_manifest_lists(&list.entries[i]))
            st = put_artifact(w, dir, list.entries[i].name, err);
    }
    osc_jw_end_arr(w);
    osc_dir_list_free(&list);
    return st;
}

/* ---- the members ---- */

/* The text as a value, if it is one JSON object. */
static osc_status put_object(osc_jw *w, const char *key, osc_str json, const char *path,
                             osc_err *err)
{
    osc_json j;
    json = osc_str_trim(json);
    osc_json_init(&j, json.ptr, json.len);
    osc_json_token first = osc_json_peek(&j);
    bool good = first.type == OSC_JSON_OBJ_BEGIN && osc_json_skip_value(&j, NULL) &&
                osc_json_next(&j).type == OSC_JSON_END;
    if (!good)
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET, "\"%s\" must be one JSON object",
                        key);
    osc_jw_key(w, key);
    osc_jw_raw(w, json);
    return OSC_OK;
}

static void put_device(osc_jw *w, const osc_sheet *sheet)
{
    size_t count;
    const osc_sheet_row *rows = osc_sheet_rows(&count);
    osc_jw_key(w, MEMBER_DEVICE);
    osc_jw_begin_obj(w);
    osc_jw_kv_cstr(w, DEVICE_GENERATION, osc_generation_name(sheet->generation));
    osc_jw_key(w, DEVICE_PARAMETERS);
    osc_jw_begin_obj(w);
    for (size_t i = 0; i < count; i++) {
        double value, usual = rows[i].value[sheet->generation];
        memcpy(&value, (const char *)sheet + rows[i].offset, sizeof value);
        osc_jw_key(w, rows[i].name);
        osc_jw_begin_obj(w);
        osc_jw_kv_f64(w, PARAMETER_VALUE, value);
        osc_jw_kv_cstr(w, PARAMETER_UNIT, rows[i].unit);
        if (memcmp(&value, &usual, sizeof value) != 0)
            osc_jw_kv_f64(w, PARAMETER_DEFAULT, usual);
        osc_jw_end_obj(w);
    }
    osc_jw_end_obj(w);
    osc_jw_end_obj(w);
}

static void put_text(osc_jw *w, const char *key, const char *value)
{
    if (value)
        osc_jw_kv_cstr(w, key, value);
}

static void put_identity(osc_jw *w, const osc_manifest_facts *facts)
{
    osc_jw_kv_cstr(w, MEMBER_FORMAT, MANIFEST_FORMAT);
    osc_jw_kv_u64(w, MEMBER_MAJOR, OSC_MANIFEST_MAJOR);
    osc_jw_kv_u64(w, MEMBER_MINOR, OSC_MANIFEST_MINOR);
    osc_jw_kv_cstr(w, MEMBER_PRODUCER, "opscope " OSC_VERSION);
    osc_jw_kv_bool(w, MEMBER_SIMULATED, facts->simulated);
    osc_jw_key(w, MEMBER_INSTANCE);
    osc_jw_begin_obj(w);
    put_text(w, INSTANCE_ID, facts->instance_id);
    put_text(w, INSTANCE_TYPE, facts->instance_type);
    osc_jw_kv_u64(w, INSTANCE_PID, facts->pid);
    osc_jw_end_obj(w);
    osc_jw_key(w, MEMBER_WINDOW);
    osc_jw_begin_obj(w);
    osc_jw_kv_i64(w, WINDOW_START, facts->window_start_ns);
    osc_jw_kv_i64(w, WINDOW_END, facts->window_end_ns);
    osc_jw_end_obj(w);
    osc_jw_kv_u64(w, MEMBER_DROPPED, facts->dropped_events);
}

static osc_status put_all(osc_jw *w, const char *dir, const char *path,
                          const osc_manifest_facts *facts, osc_err *err)
{
    osc_status st = OSC_OK;
    osc_jw_begin_obj(w);
    put_identity(w, facts);
    if (facts->facts_json)
        st = put_object(w, MEMBER_FRAMEWORK, osc_str_from_cstr(facts->facts_json), path, err);
    if (st == OSC_OK && facts->settings_json)
        st = put_object(w, MEMBER_SETTINGS, osc_str_from_cstr(facts->settings_json), path, err);
    if (st == OSC_OK && facts->sheet)
        put_device(w, facts->sheet);
    if (st == OSC_OK)
        st = put_environment(w, path, err);
    if (st == OSC_OK)
        st = put_artifacts(w, dir, err);
    osc_jw_end_obj(w);
    return st;
}

static osc_status replace_file(const char *path, osc_buf *text, osc_err *err)
{
    osc_buf_putc(text, '\n');
    osc_status st = osc_buf_status(text, path, err);
    return st == OSC_OK ? osc_write_file_atomic(path, text->data, text->len, err) : st;
}

osc_status osc_manifest_write(const char *dir, const osc_manifest_facts *facts, osc_err *err)
{
    assert(facts->size >= sizeof *facts);
    char *path = osc_path_join(dir, OSC_MANIFEST_FILE);
    if (!path)
        return osc_fail(err, OSC_ENOMEM, dir, OSC_NO_OFFSET, "no memory for a path");
    osc_buf text;
    osc_jw w;
    osc_buf_init(&text, MANIFEST_MAX);
    osc_jw_init(&w, &text, 2);
    osc_status st = put_all(&w, dir, path, facts, err);
    if (st == OSC_OK)
        st = replace_file(path, &text, err);
    osc_buf_free(&text);
    osc_free(path);
    return st;
}

/* ---- refresh ---- */

/* The raw text of the value that starts with the next token. */
static osc_str take_raw(osc_json *j)
{
    osc_json_token first = osc_json_peek(j);
    if (!osc_json_skip_value(j, NULL))
        return (osc_str){0};
    return osc_str_make(j->data + first.offset, j->pos - (size_t)first.offset);
}

/* Copies the members of the old file but those written anew. */
static osc_status copy_members(osc_jw *w, osc_str old, const char *path, bool new_facts,
                               osc_err *err)
{
    osc_json j;
    osc_json_token key;
    osc_buf name;
    osc_buf_init(&name, MANIFEST_MAX);
    osc_json_init(&j, old.ptr, old.len);
    osc_status st = OSC_OK;
    if (osc_json_next(&j).type != OSC_JSON_OBJ_BEGIN)
        st = osc_fail(err, OSC_EFORMAT, path, 0, "is not a JSON object");
    while (st == OSC_OK && osc_json_next_member(&j, &key)) {
        osc_str raw = take_raw(&j);
        if (osc_json_is(&key, MEMBER_ARTIFACTS) ||
            (new_facts && osc_json_is(&key, MEMBER_FRAMEWORK)))
            continue;
        osc_buf_clear(&name);
        (void)osc_json_unescape(key.text, &name, NULL);
        st = osc_buf_status(&name, path, err);
        osc_jw_key_str(w, osc_buf_view(&name));
        osc_jw_raw(w, raw);
    }
    if (st == OSC_OK)
        st = osc_json_status(&j, path, err);
    osc_buf_free(&name);
    return st;
}

/* A newer major version may mean other things by the same names: it is not touched. */
static osc_status check_old(osc_str old, const char *path, osc_err *err)
{
    osc_manifest m;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    if (!arena)
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory to read it");
    osc_status st = osc_manifest_read(old.ptr, old.len, path, arena, NULL, &m, err);
    osc_arena_free(arena);
    return st;
}

static osc_status refresh_text(osc_buf *text, const char *dir, const char *path, osc_str old,
                               const char *facts_json, osc_err *err)
{
    osc_jw w;
    osc_jw_init(&w, text, 2);
    osc_jw_begin_obj(&w);
    osc_status st = copy_members(&w, old, path, facts_json != NULL, err);
    if (st == OSC_OK && facts_json)
        st = put_object(&w, MEMBER_FRAMEWORK, osc_str_from_cstr(facts_json), path, err);
    if (st == OSC_OK)
        st = put_artifacts(&w, dir, err);
    osc_jw_end_obj(&w);
    return st;
}

osc_status osc_manifest_refresh(const char *dir, const char *facts_json, osc_err *err)
{
    char *path = osc_path_join(dir, OSC_MANIFEST_FILE);
    char *old = NULL;
    size_t len = 0;
    osc_buf text;
    osc_buf_init(&text, MANIFEST_MAX);
    osc_status st = path ? osc_read_file(path, MANIFEST_MAX, &old, &len, err)
                         : osc_fail(err, OSC_ENOMEM, dir, OSC_NO_OFFSET, "no memory for a path");
    if (st == OSC_OK)
        st = check_old(osc_str_make(old, len), path, err);
    if (st == OSC_OK)
        st = refresh_text(&text, dir, path, osc_str_make(old, len), facts_json, err);
    if (st == OSC_OK)
        st = replace_file(path, &text, err);
    osc_buf_free(&text);
    osc_free(old);
    osc_free(path);
    return st;
}
