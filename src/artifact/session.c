/*
 * session.c - see session.h: names, finding the session under a path, its files.
 *
 * Pairing is in session_pair.c. A directory is a session when it directly holds a file named like
 * an artifact; names are enough to find it, content decides what each file is.
 */
#include "artifact/session.h"

#include "artifact/session_internal.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PARENT_LEVELS      3u     /* how far below the given path a session is looked for */
#define SEARCH_DIRS_MAX    20000u /* directories looked into before the search is given up */
#define SEARCH_FOUND_MAX   3u     /* sessions named in the message, by whole paths */
#define CREATE_TRIES       1000u
#define SESSION_MEMORY_MAX ((size_t)256 << 20)

/* ---- names ---- */

char *osc_neff_file_name(uint64_t hash, uint32_t core, char out[OSC_FILE_NAME_MAX])
{
    (void)snprintf(out, OSC_FILE_NAME_MAX, "neff_%" PRIu64 "_vnc_%" PRIu32 ".neff", hash, core);
    return out;
}

char *osc_ntff_file_name(uint64_t hash, uint32_t instance_index, uint32_t core,
                         char out[OSC_FILE_NAME_MAX])
{
    (void)snprintf(out, OSC_FILE_NAME_MAX, "%" PRIu64 "_instid_%" PRIu32 "_vnc_%" PRIu32 ".ntff",
                   hash, instance_index, core);
    return out;
}

/* Takes digits off the front of *s; false when there are none or too many. */
static bool take_number(osc_str *s, uint64_t *out)
{
    size_t n = 0;
    while (n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9')
        n++;
    if (!osc_parse_u64(osc_str_sub(*s, 0, n), out))
        return false;
    *s = osc_str_sub(*s, n, s->len - n);
    return true;
}

static bool take_text(osc_str *s, const char *text)
{
    osc_str prefix = osc_str_from_cstr(text);
    if (!osc_str_starts(*s, prefix))
        return false;
    *s = osc_str_sub(*s, prefix.len, s->len - prefix.len);
    return true;
}

static bool take_core(osc_str *s, uint32_t *core)
{
    uint64_t v;
    if (!take_number(s, &v) || v > UINT32_MAX)
        return false;
    *core = (uint32_t)v;
    return true;
}

/* neff_<hash>.neff, graph_<hash>.neff (older and framework naming) and neff_<hash>_vnc_<n>.neff */
static void parse_neff_name(osc_str name, osc_session_file *f)
{
    if (!take_text(&name, "neff_") && !take_text(&name, "graph_"))
        return;
    f->has_hash = take_number(&name, &f->hash);
    f->has_core = f->has_hash && take_text(&name, "_vnc_") && take_core(&name, &f->core);
}

static void parse_ntff_name(osc_str name, osc_session_file *f)
{
    uint32_t index;
    if (!take_number(&name, &f->hash) || !take_text(&name, "_instid_") || !take_core(&name, &index))
        return;
    f->has_hash = true;
    f->instance_index = index;
    f->has_core = take_text(&name, "_vnc_") && take_core(&name, &f->core);
}

/* What a file's name promises: an empty or torn file keeps it, so that readers can say what is
 * missing. OSC_ART_UNKNOWN: no artifact. */
static osc_artifact_kind kind_of_name(osc_str name)
{
    if (osc_str_ends(name, OSC_STR(".ntff")))
        return OSC_ART_NTFF;
    if (osc_str_ends(name, OSC_STR(".neff")))
        return OSC_ART_NEFF;
    if (osc_str_eq_cstr(name, "ntrace.pb"))
        return OSC_ART_NTRACE;
    if (osc_str_eq_cstr(name, "trace_info.pb"))
        return OSC_ART_TRACE_INFO;
    if (osc_str_eq_cstr(name, "cpu_util.pb"))
        return OSC_ART_CPU_UTIL;
    if (osc_str_eq_cstr(name, "host_mem.pb"))
        return OSC_ART_HOST_MEM;
    if (osc_str_eq_cstr(name, "trace.json") || osc_str_eq_cstr(name, "trace.json.gz"))
        return OSC_ART_TRACE_JSON;
    return osc_str_eq_cstr(name, "run.json") ? OSC_ART_RUN_JSON : OSC_ART_UNKNOWN;
}

/* ---- creating ---- */

static osc_status make_stamp_dir(const char *parent, int64_t now_ns, char **path, osc_err *err)
{
    char stamp[OSC_TIME_TEXT], name[OSC_TIME_TEXT + 16];
    (void)osc_format_utc_compact(now_ns, stamp);
    for (unsigned n = 1; n <= CREATE_TRIES; n++) {
        (void)snprintf(name, sizeof name, n == 1 ? "%s" : "%s_%u", stamp, n);
        char *full = osc_path_join(parent, name);
        if (!full)
            return osc_fail(err, OSC_ENOMEM, parent, OSC_NO_OFFSET, "no memory for a path");
        if (mkdir(full, 0777) == 0) {
            *path = full;
            return OSC_OK;
        }
        int reason = errno;
        osc_free(full);
        if (reason != EEXIST)
            return osc_fail(err, OSC_EIO, parent, OSC_NO_OFFSET,
                            "cannot create the session directory %s: %s", name, strerror(reason));
    }
    return osc_fail(err, OSC_EIO, parent, OSC_NO_OFFSET,
                    "holds %u sessions of the same second; choose another output directory",
                    CREATE_TRIES);
}

osc_status osc_session_create(const char *dir, const char *instance, uint64_t pid, int64_t now_ns,
                              char **path, osc_err *err)
{
    *path = NULL;
    if (instance[0] == '\0' || strchr(instance, '/'))
        return osc_fail(err, OSC_EINVAL, dir, OSC_NO_OFFSET,
                        "\"%s\" cannot be part of a directory's name", instance);
    osc_buf parent;
    osc_buf_init(&parent, SIZE_MAX);
    osc_buf_printf(&parent, "%s/%s_pid_%" PRIu64, dir, instance, pid);
    osc_status st = osc_buf_status(&parent, dir, err);
    if (st == OSC_OK)
        st = osc_mkdir_p(osc_buf_c_str(&parent), err);
    if (st == OSC_OK)
        st = make_stamp_dir(osc_buf_c_str(&parent), now_ns, path, err);
    osc_buf_free(&parent);
    return st;
}

/* ---- finding the one session under a path ---- */

/* When a session was made: by the stamp in its path, else by its directory's time. */
struct age {
    char stamp[OSC_TIME_TEXT];
    uint64_t number; /* of sessions of the same second: "20261129_101500_2" */
    int64_t mtime_ns;
};

struct search {
    char *found[SEARCH_FOUND_MAX]; /* owned */
    char *newest;                  /* owned, NULL: none found */
    struct age newest_age;
    size_t count; /* may be more than were kept */
    size_t dirs;  /* looked into */
};

static bool holds_artifact(const osc_dir_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        osc_str name = osc_str_from_cstr(list->entries[i].name);
        if (list->entries[i].is_file && kind_of_name(name) != OSC_ART_UNKNOWN)
            return true;
    }
    return false;
}

static struct age age_of(const char *path)
{
    struct age a = {.number = 1};
    struct stat st;
    osc_str name = osc_path_base(osc_str_from_cstr(path));
    uint64_t day, second, number;
    osc_str rest = name;
    if (stat(path, &st) == 0)
        a.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    (void)osc_format_utc_compact(a.mtime_ns, a.stamp);
    if (take_number(&rest, &day) && take_text(&rest, "_") && take_number(&rest, &second) &&
        name.len - rest.len == strlen(a.stamp)) {
        (void)osc_str_to_array(osc_str_sub(name, 0, name.len - rest.len), a.stamp, sizeof a.stamp);
        if (take_text(&rest, "_") && take_number(&rest, &number))
            a.number = number;
    }
    return a;
}

static bool is_newer(const struct age *a, const struct age *b)
{
    int order = strcmp(a->stamp, b->stamp);
    if (order != 0)
        return order > 0;
    if (a->number != b->number)
        return a->number > b->number;
    return a->mtime_ns >= b->mtime_ns; /* of equals the last in the order of names */
}

static osc_status remember(struct search *s, const char *path, osc_err *err)
{
    struct age age = age_of(path);
    if (!s->newest || is_newer(&age, &s->newest_age)) {
        osc_free(s->newest);
        s->newest = osc_memdup0(path, strlen(path));
        s->newest_age = age;
        if (!s->newest)
            return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a path");
    }
    if (s->count < SEARCH_FOUND_MAX) {
        s->found[s->count] = osc_memdup0(path, strlen(path));
        if (!s->found[s->count])
            return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a path");
    }
    s->count++;
    return OSC_OK;
}

static osc_status search_dir(struct search *s, const char *path, unsigned levels, osc_err *err);

static osc_status search_children(struct search *s, const char *path, const osc_dir_list *list,
                                  unsigned levels, osc_err *err)
{
    for (size_t i = 0; i < list->count && s->dirs < SEARCH_DIRS_MAX; i++) {
        if (!list->entries[i].is_dir)
            continue;
        char *child = osc_path_join(path, list->entries[i].name);
        if (!child)
            return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a path");
        /* An unreadable directory below the given one is not the user's question. */
        osc_err ignored = {0};
        osc_status st = search_dir(s, child, levels, &ignored);
        osc_free(child);
        if (st == OSC_ENOMEM)
            return osc_fail(err, st, path, OSC_NO_OFFSET, "%s", ignored.message);
    }
    return OSC_OK;
}

/* Depth is bounded by levels, so the recursion is at most PARENT_LEVELS deep. */
static osc_status search_dir(struct search *s, const char *path, unsigned levels, osc_err *err)
{
    osc_dir_list list;
    assert(levels <= PARENT_LEVELS);
    s->dirs++;
    osc_status st = osc_list_dir(path, &list, err);
    if (st != OSC_OK)
        return st;
    if (holds_artifact(&list))
        st = remember(s, path, err);
    else if (levels > 0)
        st = search_children(s, path, &list, levels - 1, err);
    osc_dir_list_free(&list);
    return st;
}

static void free_search(struct search *s)
{
    for (size_t i = 0; i < SEARCH_FOUND_MAX; i++)
        osc_free(s->found[i]);
    osc_free(s->newest);
}

static osc_status several(const struct search *s, const char *path, osc_err *err)
{
    osc_buf names;
    osc_buf_init(&names, SIZE_MAX);
    for (size_t i = 0; i < s->count && i < SEARCH_FOUND_MAX; i++)
        osc_buf_printf(&names, "%s%s", i ? ", " : "", s->found[i]);
    if (s->count > SEARCH_FOUND_MAX)
        osc_buf_cstr(&names, ", ...");
    osc_status st = osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET,
                             "holds %zu sessions, the newest is %s; give one of them: %s", s->count,
                             s->newest, osc_buf_c_str(&names));
    osc_buf_free(&names);
    return st;
}

static osc_status none(const struct search *s, const char *path, osc_err *err)
{
    const char *gave_up =
        s->dirs >= SEARCH_DIRS_MAX ? "; the search stopped there, give a deeper directory" : "";
    return osc_fail(
        err, OSC_ENOTFOUND, path, OSC_NO_OFFSET,
        "holds no session: looked for .neff, .ntff, ntrace.pb, trace.json or run.json in %zu "
        "director%s down to %u levels%s",
        s->dirs, s->dirs == 1 ? "y" : "ies", PARENT_LEVELS, gave_up);
}

/* The session's directory in *out (owned by the caller). */
static osc_status locate(const char *path, char **out, osc_err *err)
{
    struct search s = {0};
    *out = NULL;
    if (osc_path_is_file(path))
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET,
                        "is a file; give the session directory that holds it");
    osc_status st = search_dir(&s, path, PARENT_LEVELS, err);
    if (st == OSC_OK && s.count > 1)
        st = several(&s, path, err);
    else if (st == OSC_OK && s.count == 0)
        st = none(&s, path, err);
    else if (st == OSC_OK) {
        *out = s.found[0];
        s.found[0] = NULL;
    }
    free_search(&s);
    return st;
}

osc_status osc_session_newest(const char *path, char **out, size_t *count, osc_err *err)
{
    struct search s = {0};
    *out = NULL;
    osc_status st = search_dir(&s, path, PARENT_LEVELS, err);
    *count = s.count;
    if (st == OSC_OK) {
        *out = s.newest;
        s.newest = NULL;
    }
    free_search(&s);
    return st;
}

/* ---- what the path says ---- */

/* "<instance>_pid_<pid>"; the last "_pid_" counts, an instance id may hold one. */
static bool parse_process_dir(osc_str name, osc_str *instance, uint64_t *pid)
{
    static const char mark[] = "_pid_";
    for (size_t at = name.len; at-- > 0;) {
        osc_str rest = osc_str_sub(name, at, name.len - at);
        if (take_text(&rest, mark)) {
            *instance = osc_str_sub(name, 0, at);
            return at > 0 && osc_parse_u64(rest, pid);
        }
    }
    return false;
}

/* Older captures have no time level: neuron-explorer.md 1.1. */
static void parse_place(osc_session *s)
{
    char real[PATH_MAX];
    const char *full = realpath(s->dir, real) ? real : s->dir;
    osc_str last = osc_path_base(osc_str_from_cstr(full));
    osc_str parent = osc_path_base(osc_path_dir(osc_str_from_cstr(full)));
    osc_str instance = {0}, stamp = {0};
    if (parse_process_dir(parent, &instance, &s->pid))
        stamp = last;
    else if (!parse_process_dir(last, &instance, &s->pid))
        s->pid = 0;
    s->instance = osc_arena_strdup(s->arena, s->pid ? instance : (osc_str){0});
    s->stamp = osc_arena_strdup(s->arena, s->pid ? stamp : (osc_str){0});
}

/* ---- files ---- */

static void check_name(const osc_session *s, const osc_session_file *from_name,
                       const osc_sniff *sniff)
{
    bool hash_differs = from_name->has_hash && from_name->hash != sniff->hash;
    bool core_differs = from_name->has_core && from_name->core != sniff->core;
    if (!hash_differs && !core_differs)
        return;
    osc_findings_add(s->findings, "name-mismatch", OSC_SEV_WARN, OSC_EFORMAT, from_name->name,
                     OSC_NO_OFFSET,
                     "the name says hash %" PRIu64 " and core %u, the content hash %" PRIu64
                     " and core %u; the content is believed (was the file renamed?)",
                     from_name->hash, from_name->core, sniff->hash, sniff->core);
}

static void report_unusual(const osc_session *s, const osc_session_file *f)
{
    osc_err err = {0};
    bool closed = f->kind == OSC_ART_NTFF || f->kind == OSC_ART_NTRACE ||
                  f->kind == OSC_ART_TRACE_INFO || f->kind == OSC_ART_CPU_UTIL ||
                  f->kind == OSC_ART_HOST_MEM;
    if (closed && f->origin == OSC_ORIGIN_VENDOR) {
        osc_status code = osc_foreign_fail(f->path, f->kind, &err);
        osc_findings_add(s->findings, "foreign-file", OSC_SEV_ERROR, code, f->name, 0, "%s",
                         err.message);
    } else if (f->kind == OSC_ART_NTFF && f->size == 0) {
        osc_findings_add(s->findings, "empty-ntff", OSC_SEV_NOTE, OSC_OK, f->name, 0,
                         "0 bytes: the core ran nothing while it was captured");
    } else if (f->size == 0) {
        osc_findings_add(
            s->findings, "empty-file", OSC_SEV_WARN, OSC_ETRUNCATED, f->name, 0,
            "0 bytes: the capture died before it wrote anything here, or the disk was full");
    } else if (f->kind == OSC_ART_UNKNOWN) {
        osc_findings_add(s->findings, "unknown-file", OSC_SEV_NOTE, OSC_OK, f->name, 0,
                         "not an artifact this program knows; ignored");
    }
}

static osc_status add_file(osc_session *s, const osc_dir_entry *entry, osc_err *err)
{
    osc_session_file *f = &s->files[s->file_count];
    *f = (osc_session_file){.size = entry->size};
    f->name = osc_arena_strdup(s->arena, osc_str_from_cstr(entry->name));
    f->path = osc_arena_printf(s->arena, "%s/%s", s->dir, entry->name);
    if (!f->name || !f->path)
        return osc_fail(err, OSC_ENOMEM, s->dir, OSC_NO_OFFSET,
                        "no memory for the session's files");
    osc_sniff sniff;
    osc_status st = osc_sniff_file(f->path, &sniff, err);
    if (st == OSC_ENOTFOUND)
        return OSC_OK; /* removed since the listing */
    if (st != OSC_OK)
        return st;
    osc_str name = osc_str_from_cstr(f->name);
    f->kind = sniff.kind != OSC_ART_UNKNOWN ? sniff.kind : kind_of_name(name);
    f->origin = sniff.origin;
    if (f->kind == OSC_ART_NEFF)
        parse_neff_name(name, f);
    else if (f->kind == OSC_ART_NTFF)
        parse_ntff_name(name, f);
    f->has_uuid = sniff.has_uuid;
    memcpy(f->uuid, sniff.uuid, sizeof f->uuid);
    if (sniff.has_hash) {
        check_name(s, f, &sniff);
        f->has_hash = f->has_core = true;
        f->hash = sniff.hash;
        f->core = sniff.core;
        f->instance_index = sniff.instance_index;
    }
    report_unusual(s, f);
    s->file_count++;
    return OSC_OK;
}

static osc_status list_files(osc_session *s, osc_err *err)
{
    osc_dir_list list;
    osc_status st = osc_list_dir(s->dir, &list, err);
    if (st != OSC_OK)
        return st;
    s->files = OSC_ARENA_ARRAY(s->arena, osc_session_file, list.count);
    if (!s->files || list.count > UINT32_MAX)
        st = osc_fail(err, OSC_ENOMEM, s->dir, OSC_NO_OFFSET, "no memory for the session's files");
    for (size_t i = 0; i < list.count && st == OSC_OK; i++) {
        if (list.entries[i].is_file)
            st = add_file(s, &list.entries[i], err);
    }
    osc_dir_list_free(&list);
    return st;
}

/* ---- public ---- */

osc_status osc_session_open(const char *path, osc_findings *findings, osc_session **out,
                            osc_err *err)
{
    char *dir = NULL;
    *out = NULL;
    osc_status st = locate(path, &dir, err);
    if (st != OSC_OK)
        return st;
    osc_session *s = osc_calloc(1, sizeof *s);
    osc_arena *arena = s ? osc_arena_new(SESSION_MEMORY_MAX) : NULL;
    if (!arena) {
        osc_free(s);
        osc_free(dir);
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a session");
    }
    s->arena = arena;
    s->dir = dir;
    s->findings = findings;
    parse_place(s);
    if (!s->instance || !s->stamp)
        st = osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "no memory for a session");
    if (st == OSC_OK)
        st = list_files(s, err);
    if (st == OSC_OK)
        st = osc_session_make_pairs(s, err);
    if (st != OSC_OK) {
        osc_session_free(s);
        return st;
    }
    s->findings = NULL;
    *out = s;
    return OSC_OK;
}

void osc_session_free(osc_session *s)
{
    if (!s)
        return;
    osc_arena_free(s->arena);
    osc_free(s->dir);
    osc_free(s);
}

const char *osc_session_dir(const osc_session *s)
{
    return s->dir;
}

const char *osc_session_instance(const osc_session *s)
{
    return s->instance;
}

uint64_t osc_session_pid(const osc_session *s)
{
    return s->pid;
}

const char *osc_session_stamp(const osc_session *s)
{
    return s->stamp;
}

const osc_session_file *osc_session_files(const osc_session *s, uint32_t *count)
{
    *count = s->file_count;
    return s->files;
}

const osc_session_pair *osc_session_pairs(const osc_session *s, uint32_t *count)
{
    *count = s->pair_count;
    return s->pairs;
}

const osc_session_file *osc_session_find(const osc_session *s, osc_artifact_kind kind)
{
    bool json = kind == OSC_ART_TRACE_JSON || kind == OSC_ART_PROFILE_JSON;
    for (uint32_t i = 0; i < s->file_count; i++) {
        const osc_session_file *f = &s->files[i];
        if (f->kind == kind && (json || f->origin == OSC_ORIGIN_OURS))
            return f;
    }
    return NULL;
}
