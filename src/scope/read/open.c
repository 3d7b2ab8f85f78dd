/*
 * open.c - from a path to a store: finds out what the path names and calls the reader for it.
 *
 * The messages for what cannot be read are most of the work: a wrong name gets the nearest one, an
 * artifact that is no trace gets the command that takes it, a vendor's closed file gets the tool
 * that opens it.
 */
#include "scope/read/open.h"

#include "artifact/session.h"
#include "base/io.h"
#include "base/mem.h"
#include "scope/read/kineto.h"

#include <string.h>

#define FILE_MAX_BYTES   ((uint64_t)64 << 30)
#define STREAM_MAX_BYTES ((uint64_t)4 << 30) /* a pipe or device does not say where it ends */

static size_t ceiling(const osc_open_options *options, bool stream)
{
    if (options->max_bytes > 0)
        return options->max_bytes;
    uint64_t max = stream ? STREAM_MAX_BYTES : FILE_MAX_BYTES;
    return sizeof(size_t) > 4 ? (size_t)max : SIZE_MAX / 4;
}

/* "cannot open 'x': no such file (did you mean y?)" */
static osc_status fail_not_found(const char *path, osc_err *err)
{
    osc_dir_list list = {0};
    osc_str base = osc_path_base(osc_str_from_cstr(path));
    osc_str dir = osc_path_dir(osc_str_from_cstr(path));
    char *dir_path = osc_memdup0(dir.ptr, dir.len);
    const char *near = NULL;
    const char **names = NULL;
    if (dir_path && osc_list_dir(dir_path, &list, NULL) == OSC_OK)
        names = osc_realloc_array(NULL, list.count + 1, sizeof *names);
    for (size_t i = 0; names && i < list.count; i++)
        names[i] = list.entries[i].is_dir || list.entries[i].is_file ? list.entries[i].name : "";
    if (names)
        near = osc_nearest(base, names, list.count);
    osc_status status =
        near ? osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "cannot open '%s': no such file (did you mean %s?)", path, near)
             : osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET, "cannot open '%s': no such file",
                        path);
    osc_free(names);
    osc_free(dir_path);
    osc_dir_list_free(&list);
    return status;
}

/* A file that is not a trace but something we know: says what to do with it. */
static osc_status fail_other_artifact(const char *path, const osc_sniff *sniff, osc_err *err)
{
    switch (sniff->kind) {
    case OSC_ART_NEFF:
        return osc_fail(err, OSC_EUNSUPPORTED, path, OSC_NO_OFFSET,
                        "a device program (NEFF), not a trace; see opscope disasm %s", path);
    case OSC_ART_RUN_JSON:
        return osc_fail(err, OSC_EUNSUPPORTED, path, OSC_NO_OFFSET,
                        "a run manifest, not a trace; open the directory it lies in");
    case OSC_ART_PROFILE_JSON:
        return osc_fail(err, OSC_EUNSUPPORTED, path, OSC_NO_OFFSET,
                        "a device profile export, not a framework trace");
    default:
        return osc_fail(err, OSC_EUNSUPPORTED, path, OSC_NO_OFFSET,
                        "one file (%s) of a session; open the directory it lies in",
                        osc_artifact_kind_name(sniff->kind));
    }
}

static osc_status read_trace(osc_store *store, const char *path, const char *data, size_t len,
                             uint64_t file_size, osc_err *err)
{
    osc_sniff sniff;
    size_t head = len < OSC_SNIFF_BYTES ? len : OSC_SNIFF_BYTES;
    osc_sniff_bytes(path, data, head, file_size, &sniff);
    if (sniff.origin == OSC_ORIGIN_VENDOR && sniff.kind != OSC_ART_PROFILE_JSON)
        return osc_foreign_fail(path, sniff.kind, err);
    if (sniff.kind != OSC_ART_UNKNOWN && sniff.kind != OSC_ART_TRACE_JSON)
        return fail_other_artifact(path, &sniff, err);
    osc_kineto_context context = {.input = path};
    osc_store_set_meta(store, "source", OSC_STR("trace"));
    return osc_kineto_read(store, data, len, &context, err);
}

osc_status osc_trace_load(osc_store *store, const char *path, size_t max, char **data, size_t *len,
                          osc_err *err)
{
    osc_status status = osc_read_file_auto(path, max, data, len, NULL, err);
    if (status == OSC_ETRUNCATED && *data) {
        osc_store_set_input(store, osc_str_from_cstr(path));
        osc_store_note(store, OSC_SEV_ERROR, "gzip_truncated", 1, OSC_NO_OFFSET,
                       "the compressed file ends early; what could be inflated was read");
        return OSC_OK;
    }
    return status;
}

static osc_status read_file(osc_store *store, const char *path, const osc_open_options *options,
                            osc_err *err)
{
    char *data = NULL;
    size_t len = 0;
    bool from_stdin = strcmp(path, "-") == 0;
    size_t max = ceiling(options, from_stdin || !osc_path_is_file(path));
    osc_status status;
    if (from_stdin) {
        char *raw = NULL;
        status = osc_read_fd(0, "standard input", max, &raw, &len, err);
        data = raw;
        if (status == OSC_OK && len >= 2 && memcmp(raw, "\x1f\x8b", 2) == 0) {
            status = osc_gunzip(raw, len, "standard input", max, &data, &len, err);
            osc_free(raw);
        }
    } else {
        status = osc_trace_load(store, path, max, &data, &len, err);
    }
    if (status == OSC_OK)
        status = read_trace(store, from_stdin ? "standard input" : path, data, len, len, err);
    osc_free(data);
    return status;
}

osc_status osc_open(const char *path, const osc_open_options *options, osc_store **out,
                    osc_err *err)
{
    *out = NULL;
    if (strcmp(path, "-") != 0 && !osc_path_exists(path))
        return fail_not_found(path, err);
    osc_store *store = osc_store_new();
    if (!store)
        return osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "out of memory");
    osc_status status = osc_path_is_dir(path) ? osc_session_read(store, path, options, err)
                                              : read_file(store, path, options, err);
    if (status == OSC_OK)
        status = osc_store_seal(store, err);
    if (status != OSC_OK) {
        osc_store_free(store);
        return status;
    }
    *out = store;
    return OSC_OK;
}
