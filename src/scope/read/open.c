/*
 * open.c - from a path to a store: finds out what the path names and calls the reader for it.
 *
 * The messages for what cannot be read are most of the work: a wrong name gets the nearest one, an
 * artifact that is no trace gets the command that takes it, a vendor's closed file gets the tool
 * that opens it.
 */
#include "scope/read/open.h"

#include "artifact/session.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "scope/read/args.h"
#include "scope/read/devprofile.h"
#include "scope/read/kineto.h"

#include <string.h>

/* Formats that are not streamed, and the pieces they are read in. */
#define WHOLE_MAX_BYTES ((size_t)1 << (sizeof(size_t) > 4 ? 34 : 30))
#define PIECE_BYTES     ((size_t)1 << 20)

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

/* All of a source as one block behind the head that was read already; for formats that are read
 * whole. */
static osc_status read_whole(osc_source *source, const char *head, size_t len, const char *path,
                             osc_store *store, osc_err *err)
{
    osc_buf all;
    osc_buf_init(&all, WHOLE_MAX_BYTES);
    osc_buf_append(&all, head, len);
    osc_status status = OSC_OK;
    for (size_t got = len; status == OSC_OK && got > 0 && !all.failed;) {
        got = 0;
        if (osc_buf_reserve(&all, PIECE_BYTES))
            status = osc_source_read(source, all.data + all.len, PIECE_BYTES, &got, err);
        all.len += got;
    }
    if (status == OSC_OK)
        status = osc_buf_status(&all, path, err);
    if (status == OSC_OK)
        status = osc_devprofile_to_store(store, osc_buf_view(&all).ptr, all.len, path, err);
    osc_buf_free(&all);
    return status;
}

/* Finds out by the first bytes what a source holds and reads it. */
static osc_status read_source(osc_store *store, osc_source *source, const char *path,
                              const osc_open_options *options, osc_err *err)
{
    char head[OSC_SNIFF_BYTES];
    size_t len;
    osc_sniff sniff;
    osc_status status = osc_source_read(source, head, sizeof head, &len, err);
    /* what a broken compressed stream gave before it broke is read; the reader meets the failure
     * again */
    bool broken = status == OSC_ETRUNCATED || status == OSC_EFORMAT;
    if (status != OSC_OK && !(broken && len > 0))
        return status;
    uint64_t size =
        osc_source_form_of(source) == OSC_SOURCE_PLAIN ? osc_source_file_size(source) : 0;
    osc_sniff_bytes(path, head, len, size > len ? size : len, &sniff);
    if (sniff.origin == OSC_ORIGIN_VENDOR && sniff.kind != OSC_ART_PROFILE_JSON)
        return osc_foreign_fail(path, sniff.kind, err);
    if (sniff.kind == OSC_ART_PROFILE_JSON)
        return read_whole(source, head, len, path, store, err);
    if (sniff.kind != OSC_ART_UNKNOWN && sniff.kind != OSC_ART_TRACE_JSON)
        return fail_other_artifact(path, &sniff, err);
    osc_kineto_context context = {
        .input = path, .options = options, .head = osc_str_make(head, len)};
    osc_store_set_meta(store, "source", OSC_STR("trace"));
    return osc_kineto_read_source(store, source, &context, err);
}

static bool has_finding(const osc_store *store, const char *code)
{
    const osc_finding_cols *f = osc_store_finding(store);
    for (uint32_t i = 0; i < f->count; i++) {
        if (osc_str_eq_cstr(osc_store_text(store, f->code[i]), code))
            return true;
    }
    return false;
}

/* Reads a compressed source on to its end, which may lie behind that of the trace: its checksum is
 * there. */
static void note_end_of_source(osc_store *store, osc_source *source)
{
    char rest[4096];
    size_t got = 1;
    osc_err err = {0};
    osc_status status = OSC_OK;
    if (osc_source_form_of(source) == OSC_SOURCE_PLAIN)
        return;
    while (status == OSC_OK && got > 0)
        status = osc_source_read(source, rest, sizeof rest, &got, &err);
    uint64_t garbage = osc_source_trailing_garbage(source);
    if (status == OSC_ETRUNCATED && !has_finding(store, "gzip_truncated"))
        osc_store_note(store, OSC_SEV_ERROR, "gzip_truncated", 1, err.offset,
                       "the compressed file ends early, behind the end of the trace");
    else if (status == OSC_EFORMAT && !has_finding(store, "gzip_damaged"))
        osc_store_note(store, OSC_SEV_ERROR, "gzip_damaged", 1, err.offset,
                       "the compressed file is damaged behind the end of the trace");
    if (garbage > 0)
        osc_store_note(
            store, OSC_SEV_WARN, "trailing_garbage", 1,
            osc_source_file_size(source) > garbage ? osc_source_file_size(source) - garbage
                                                   : OSC_NO_OFFSET,
            "bytes that are not compressed data follow the last member; they were left out");
}

static osc_status read_file(osc_store *store, const char *path, const osc_open_options *options,
                            osc_err *err)
{
    osc_source_options how = {.max_bytes = options->max_bytes, .no_thread = options->threads == 1};
    osc_source *source;
    bool from_stdin = strcmp(path, "-") == 0;
    osc_status status = osc_source_open(path, &how, &source, err);
    if (status == OSC_OK)
        status = read_source(store, source, from_stdin ? "standard input" : path, options, err);
    if (status == OSC_OK) {
        note_end_of_source(store, source);
        osc_args_note_input(store, path);
    }
    osc_source_close(source);
    return status;
}

static void omit_columns(osc_store *store, uint32_t omit)
{
    if (omit & OSC_OMIT_ARGS) {
        osc_store_omit_column(store, OSC_TABLE_slice, "args_at");
        osc_store_omit_column(store, OSC_TABLE_slice, "args_len");
    }
    if (omit & OSC_OMIT_SHAPES)
        osc_store_omit_column(store, OSC_TABLE_slice, "shapes");
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
    omit_columns(store, options->omit);
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
