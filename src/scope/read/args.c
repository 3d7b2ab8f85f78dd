/*
 * args.c - reading the arguments of some events again; see args.h.
 *
 * Slices are visited in the order of the file. In a plain file neighbours within 64 KiB are fetched
 * by one read of at most a megabyte; a compressed one is inflated once, up to the last slice asked
 * for.
 *
 * Rejected: keeping all arguments in memory. They are half of a trace and few commands show any.
 */
#include "scope/read/args.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/source.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GAP_BYTES  ((size_t)64 << 10) /* reading so much too much is cheaper than another call */
#define READ_BYTES ((size_t)1 << 20)

/* Where the arguments of a slice lie. */
typedef struct place {
    uint64_t at;
    uint32_t len;
    uint32_t slice;
} place;

/* A visit of places in order of the file. */
typedef struct visit {
    osc_source *source;
    const char *name;
    const place *places;
    size_t count;
    osc_args_fn fn;
    void *context;
    char *buf;
    size_t cap;
} visit;

/* ---- the input is still what it was ---- */

static bool stat_input(const char *path, struct stat *st)
{
    int failed = strcmp(path, "-") == 0 ? fstat(0, st) : stat(path, st);
    return failed == 0 && S_ISREG(st->st_mode);
}

static int64_t mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

void osc_args_note_input(osc_store *store, const char *path)
{
    struct stat st;
    char text[OSC_NUM_TEXT];
    if (!stat_input(path, &st))
        return;
    osc_store_set_meta(store, "input_path", osc_str_from_cstr(path));
    snprintf(text, sizeof text, "%lld", (long long)st.st_size);
    osc_store_set_meta(store, "input_size", osc_str_from_cstr(text));
    snprintf(text, sizeof text, "%lld", (long long)mtime_ns(&st));
    osc_store_set_meta(store, "input_mtime_ns", osc_str_from_cstr(text));
}

/* Opens the input of a store for a second reading. */
static osc_status open_again(const osc_store *store, osc_source **out, osc_err *err)
{
    osc_str path = osc_store_get_meta(store, "input_path");
    struct stat st;
    int64_t size = -1, mtime = -1;
    *out = NULL;
    if (path.len == 0)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET,
                        "the input cannot be read twice, so the arguments of events are gone; "
                        "save it to a file and give that");
    char *name = osc_memdup0(path.ptr, path.len);
    if (!name)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    (void)osc_parse_i64(osc_store_get_meta(store, "input_size"), &size);
    (void)osc_parse_i64(osc_store_get_meta(store, "input_mtime_ns"), &mtime);
    osc_status status = OSC_OK;
    if (!stat_input(name, &st) || st.st_size != size || mtime_ns(&st) != mtime)
        status = osc_fail(err, OSC_EIO, name, OSC_NO_OFFSET,
                          "changed since it was read; run the command again");
    /* a second descriptor of its own position, also of standard input */
    osc_source_options options = {.max_bytes = UINT64_MAX};
    if (status == OSC_OK)
        status = osc_source_open(strcmp(name, "-") == 0 ? "/dev/fd/0" : name, &options, out, err);
    osc_free(name);
    return status;
}

/* ---- the visit ---- */

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->slice > y->slice) - (x->slice < y->slice);
}

/* The places of the slices that have arguments, sorted; *count of them. NULL: no memory. */
static place *places_of(const osc_store *store, const uint32_t *slices, size_t n, size_t *count)
{
    const osc_slice_cols *s = osc_store_slice(store);
    place *places = osc_realloc_array(NULL, n + 1, sizeof *places);
    *count = 0;
    for (size_t i = 0; places && i < n; i++) {
        uint32_t slice = slices[i];
        assert(slice < s->count);
        if (s->args_len[slice] > 0)
            places[(*count)++] = (place){s->args_at[slice], s->args_len[slice], slice};
    }
    if (places)
        qsort(places, *count, sizeof *places, by_place);
    return places;
}

static bool reserve(visit *v, size_t n)
{
    if (n <= v->cap)
        return true;
    char *grown = osc_realloc(v->buf, n);
    if (!grown)
        return false;
    v->buf = grown;
    v->cap = n;
    return true;
}

static osc_status fail_memory(const visit *v, osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, v->name, OSC_NO_OFFSET, "no memory for arguments of events");
}

static osc_status fail_changed(const visit *v, const place *p, osc_err *err)
{
    return osc_fail(err, OSC_EFORMAT, v->name, p->at,
                    "the arguments of an event are not where they were; did the file change?");
}

/* Hands one place's text over, after a look whether it can be arguments at all. */
static osc_status give(const visit *v, const place *p, const char *text, osc_err *err)
{
    if (text[0] != '{' || text[p->len - 1] != '}')
        return fail_changed(v, p, err);
    v->fn(v->context, p->slice, osc_str_make(text, p->len));
    return OSC_OK;
}

/* Number of places from i on that one read takes; *len bytes from the first of them on. */
static size_t group_from(const visit *v, size_t i, size_t *len)
{
    uint64_t begin = v->places[i].at, end = begin + v->places[i].len;
    size_t n = 1;
    for (; i + n < v->count; n++) {
        const place *p = &v->places[i + n];
        uint64_t with = p->at + p->len > end ? p->at + p->len : end;
        if (p->at > end + GAP_BYTES || with - begin > READ_BYTES)
            break;
        end = with;
    }
    *len = (size_t)(end - begin);
    return n;
}

static osc_status visit_plain(visit *v, osc_err *err)
{
    osc_status status = OSC_OK;
    for (size_t i = 0, n = 0; i < v->count && status == OSC_OK; i += n) {
        size_t len, got;
        uint64_t begin = v->places[i].at;
        n = group_from(v, i, &len);
        if (!reserve(v, len))
            return fail_memory(v, err);
        status = osc_source_read_at(v->source, begin, v->buf, len, &got, err);
        if (status == OSC_OK && got < len)
            status = fail_changed(v, &v->places[i], err);
        for (size_t k = i; k < i + n && status == OSC_OK; k++)
            status = give(v, &v->places[k], v->buf + (v->places[k].at - begin), err);
    }
    return status;
}

/* Reads on until the buffer holds the stream from `from` on for len bytes; *at is where it
 * begins. */
static osc_status slide_to(visit *v, uint64_t from, size_t len, uint64_t *at, size_t *have,
                           osc_err *err)
{
    for (;;) {
        if (from > *at) {
            size_t drop = from - *at < *have ? (size_t)(from - *at) : *have;
            if (*have > drop)
                memmove(v->buf, v->buf + drop, *have - drop);
            *at += drop;
            *have -= drop;
        }
        if (*at == from && *have >= len)
            return OSC_OK;
        size_t got;
        if (!reserve(v, (*at == from && len > READ_BYTES ? len : READ_BYTES) + READ_BYTES))
            return fail_memory(v, err);
        osc_status status = osc_source_read(v->source, v->buf + *have, v->cap - *have, &got, err);
        if (status != OSC_OK)
            return status;
        if (got == 0)
            return osc_fail(err, OSC_EFORMAT, v->name, from,
                            "the stream ends before the arguments of an event; did it change?");
        *have += got;
    }
}

static osc_status visit_stream(visit *v, osc_err *err)
{
    uint64_t at = 0; /* of the first byte in the buffer */
    size_t have = 0;
    osc_status status = OSC_OK;
    for (size_t i = 0; i < v->count && status == OSC_OK; i++) {
        const place *p = &v->places[i];
        uint64_t from = p->at;
        if (from < at)
            return fail_changed(v, p, err); /* places of one file never overlap */
        status = slide_to(v, from, p->len, &at, &have, err);
        if (status == OSC_OK)
            status = give(v, p, v->buf, err);
    }
    return status;
}

osc_status osc_args_each(const osc_store *store, const uint32_t *slices, size_t n, osc_args_fn fn,
                         void *context, osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(store);
    visit v = {.fn = fn, .context = context, .name = "the input"};
    char name[256];
    if (n == 0)
        return OSC_OK;
    if (!s->args_at || !s->args_len)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET,
                        "the trace was opened without the places of its arguments");
    place *places = places_of(store, slices, n, &v.count);
    if (!places)
        return fail_memory(&v, err);
    osc_status status = v.count > 0 ? open_again(store, &v.source, err) : OSC_OK;
    if (v.source) {
        osc_str_to_array(osc_store_get_meta(store, "input_path"), name, sizeof name);
        v.name = name;
        v.places = places;
        status = osc_source_seekable(v.source) ? visit_plain(&v, err) : visit_stream(&v, err);
    }
    osc_source_close(v.source);
    osc_free(v.buf);
    osc_free(places);
    return status;
}

/* ---- one value ---- */

bool osc_args_find(osc_str args, const char *key, osc_scan_value *out)
{
    osc_scan s;
    osc_scan_value name, value;
    bool ended, found = false;
    osc_scan_init(&s, args.ptr, args.len);
    if (!osc_scan_take(&s, '{'))
        return false;
    while (osc_scan_member(&s, &name, &ended) && osc_scan_value_next(&s, &value)) {
        if (osc_str_eq_cstr(name.text, key)) {
            *out = value;
            found = true;
        }
    }
    return found;
}

bool osc_args_i64(osc_str args, const char *key, int64_t *out)
{
    osc_scan_value value;
    return osc_args_find(args, key, &value) && osc_scan_i64(&value, out);
}

bool osc_args_text(osc_str args, const char *key, osc_buf *out)
{
    osc_scan s;
    osc_scan_value value;
    osc_buf_clear(out);
    if (!osc_args_find(args, key, &value))
        return false;
    osc_scan_init(&s, value.text.ptr, value.text.len);
    if (value.type == OSC_SCAN_STRING && value.escaped)
        osc_scan_unescape(&s, &value, out);
    else
        osc_buf_str(out, value.text);
    return !out->failed;
}
