/*
 * rewrite.c - see rewrite.h.
 *
 * The window slides: bytes before the value being read go, more come in behind, and it grows while one
 * value does not fit. A value counts as read only when the window goes on behind it (or the input has
 * ended), since what follows a quote decides whether it ends a string (scan.h).
 *
 * Members that stand behind the events are kept back and written last, so that two traceEvents lists
 * (known-bad-inputs.md U01) become one. Lists inside a traceEvents object (P04) are taken as the list.
 */
#include "scope/export/rewrite.h"

#include "base/mem.h"
#include "scope/export/repair.h"
#include "scope/read/scan.h"

#include <assert.h>
#include <string.h>

#define WINDOW_BYTES ((size_t)1 << 20)
#define WINDOW_MAX   ((size_t)256 << 20)
#define LOOK_AHEAD   64u  /* bytes behind a value that must be there before it is believed */
#define LOOK_BACK    256u /* bytes kept before the place where a search goes on */
#define NESTED_MAX   64u  /* traceEvents inside traceEvents */

struct osc_rewriter {
    osc_source *source;
    const char *name;
    osc_sink *sink;
    const osc_rewrite_filter *filter;
    osc_rewrite_stats *stats;
    osc_err *err;
    osc_status status; /* sticky */

    char *window;
    size_t cap;
    uint64_t base; /* offset of window[0] in the input */
    bool eof;
    osc_scan scan; /* over the window */

    osc_buf text;    /* one value, repaired */
    osc_buf key;     /* key of the member being read, between its quotes */
    osc_buf tail;    /* members to be written behind the events */
    bool list;       /* the output's traceEvents is open */
    bool array_form; /* the trace is a bare array */
    uint64_t members;
};

/* ---- the window ---- */

static bool fail(osc_rewriter *w, osc_status status)
{
    w->status = status;
    return false;
}

static bool grow(osc_rewriter *w)
{
    size_t cap = w->cap ? w->cap * 2 : WINDOW_BYTES;
    if (cap > WINDOW_MAX)
        return fail(w, osc_fail(w->err, OSC_EUNSUPPORTED, w->name, w->base,
                                "a value here is longer than %zu MiB", WINDOW_MAX >> 20));
    char *window = osc_realloc(w->window, cap);
    if (!window)
        return fail(w, osc_fail(w->err, OSC_ENOMEM, w->name, OSC_NO_OFFSET, "out of memory"));
    w->window = window;
    w->cap = cap;
    return true;
}

/* Drops the bytes before `keep` and reads more; the scan's position moves along. False at the end. */
static bool refill(osc_rewriter *w, size_t keep)
{
    osc_err mine = {0};
    size_t got = 0, left = w->scan.len - keep;
    assert(keep <= w->scan.pos && w->scan.pos <= w->scan.len);
    if (w->eof || w->status != OSC_OK)
        return false;
    if (left > 0)
        memmove(w->window, w->window + keep, left);
    if (left + LOOK_AHEAD >= w->cap && !grow(w))
        return false;
    osc_status status = osc_source_read(w->source, w->window + left, w->cap - left, &got, &mine);
    w->base += keep;
    w->scan.pos -= keep;
    w->scan.data = w->window;
    w->scan.len = left + got;
    if (status == OSC_ETRUNCATED || status == OSC_EFORMAT) {
        w->stats->truncated = true;
        w->eof = true;
    } else if (status != OSC_OK) {
        if (w->err)
            *w->err = mine;
        return fail(w, status);
    } else if (got == 0) {
        w->eof = true;
    }
    return got > 0;
}

/* The next byte that is no white space, 0 at the end. */
static char peek(osc_rewriter *w)
{
    for (;;) {
        char c = osc_scan_peek(&w->scan);
        if (w->scan.pos < w->scan.len)
            return c;
        if (!refill(w, w->scan.pos))
            return '\0';
    }
}

/* True when what was read up to pos cannot change with more input. */
static bool settled(const osc_rewriter *w, bool container)
{
    return w->eof || container || w->scan.pos + LOOK_AHEAD < w->scan.len;
}

/*
 * An element of the list. An event is taken as the reader does, member by member: where a quote is
 * missing the event ends at the next key that is none, and not where brackets happen to match.
 */
static bool next_element(osc_scan *scan, osc_scan_value *value)
{
    osc_scan_value key, member;
    size_t start = scan->pos;
    bool ended = false;
    if (!osc_scan_take(scan, '{'))
        return osc_scan_value_next(scan, value);
    while (osc_scan_member(scan, &key, &ended)) {
        if (!osc_scan_value_next(scan, &member))
            return false;
    }
    *value = (osc_scan_value){.type = OSC_SCAN_OBJECT,
                              .text = osc_str_make(scan->data + start, scan->pos - start)};
    return ended;
}

/* Takes a whole value, or an element of the list; its text is in the window until the next call. False at the
 * end, or when it is none. */
static bool take_value(osc_rewriter *w, bool element, osc_scan_value *value)
{
    (void)peek(w);
    size_t start = w->scan.pos;
    for (;;) {
        w->scan.starved = false;
        bool ok = element ? next_element(&w->scan, value) : osc_scan_value_next(&w->scan, value);
        bool known = ok || !element || w->scan.starved;
        bool container = ok && (value->type == OSC_SCAN_OBJECT || value->type == OSC_SCAN_ARRAY);
        if (ok && settled(w, container))
            return true;
        w->scan.pos = start;
        if (!known)
            return false; /* more input would not change it */
        if (!refill(w, start)) {
            if (ok)
                return element ? next_element(&w->scan, value)
                               : osc_scan_value_next(&w->scan, value);
            return false;
        }
        start = 0;
    }
}

/* Takes a member's key into w->key. False at the end of the object (*ended) or when no key follows. */
static bool take_key(osc_rewriter *w, bool *ended)
{
    osc_scan_value key;
    char c = peek(w);
    while (c == ',' && w->status == OSC_OK) {
        (void)osc_scan_take(&w->scan, ',');
        c = peek(w);
    }
    size_t start = w->scan.pos;
    for (;;) {
        bool ok = osc_scan_member(&w->scan, &key, ended);
        if ((ok || *ended) && settled(w, *ended)) {
            osc_buf_clear(&w->key);
            if (ok)
                osc_buf_str(&w->key, key.text);
            return ok;
        }
        bool again = !w->eof;
        w->scan.pos = start;
        if (!again || (!refill(w, start) && w->status != OSC_OK))
            return false;
        start = 0;
    }
}

/* ---- the output ---- */

static bool put(osc_rewriter *w, const void *bytes, size_t n)
{
    if (w->status == OSC_OK)
        w->status = osc_sink_write(w->sink, bytes, n, w->err);
    return w->status == OSC_OK;
}

static bool put_cstr(osc_rewriter *w, const char *text)
{
    return put(w, text, strlen(text));
}

/* The value in valid JSON, in w->text. */
static bool repaired(osc_rewriter *w, osc_str value, uint64_t at)
{
    osc_buf_clear(&w->text);
    if (osc_repair_value(value, &w->text)) {
        if (w->stats->repaired++ == 0)
            w->stats->first_repair = at;
    }
    if (w->text.failed)
        return fail(w, osc_fail(w->err, OSC_ENOMEM, w->name, OSC_NO_OFFSET, "out of memory"));
    return true;
}

/* Opens the output's list of events. */
static bool open_list(osc_rewriter *w)
{
    if (w->list)
        return true;
    w->list = true;
    if (w->array_form)
        return put_cstr(w, "[");
    return put_cstr(w, w->members > 0 ? ",\n\"traceEvents\": [" : "{\n\"traceEvents\": [");
}

static bool put_event(osc_rewriter *w, osc_str text, uint64_t at)
{
    if (!repaired(w, text, at) || !put_cstr(w, w->stats->written > 0 ? ",\n" : "\n"))
        return false;
    w->stats->written++;
    return put(w, w->text.data, w->text.len);
}

osc_status osc_rewriter_put(osc_rewriter *w, osc_str text, osc_err *err)
{
    w->err = err;
    (void)put_event(w, text, OSC_NO_OFFSET);
    return w->status;
}

/* A member of the head goes out at once, one behind the events is kept back. */
static bool put_member(osc_rewriter *w, osc_str value, uint64_t at)
{
    osc_buf key;
    bool first = w->members++ == 0;
    osc_buf_init(&key, SIZE_MAX);
    osc_buf_putc(&key, '"');
    osc_buf_str(&key, osc_buf_view(&w->key));
    osc_buf_putc(&key, '"');
    bool ok = repaired(w, osc_buf_view(&key), at);
    osc_buf_clear(&key);
    osc_buf_cstr(&key, first && !w->list ? "{\n" : ",\n");
    osc_buf_str(&key, osc_buf_view(&w->text));
    osc_buf_cstr(&key, ": ");
    ok = ok && repaired(w, value, at);
    osc_buf_str(&key, osc_buf_view(&w->text));
    if (w->list)
        osc_buf_str(&w->tail, osc_buf_view(&key));
    if (key.failed || w->tail.failed)
        ok = fail(w, osc_fail(w->err, OSC_ENOMEM, w->name, OSC_NO_OFFSET, "out of memory"));
    else if (ok && !w->list)
        ok = put(w, key.data, key.len);
    osc_buf_free(&key);
    return ok;
}

static bool finish(osc_rewriter *w)
{
    if (!open_list(w))
        return false;
    if (w->filter && w->filter->last)
        w->status = w->filter->last(w->filter->context, w, w->err);
    if (w->status != OSC_OK || !put_cstr(w, w->stats->written > 0 ? "\n]" : "]"))
        return false;
    if (w->array_form)
        return put_cstr(w, "\n");
    return put(w, w->tail.data, w->tail.len) && put_cstr(w, "\n}\n");
}

/* ---- the events ---- */

/* Looks for the next event from one byte behind pos on. False at the end. */
static bool resync(osc_rewriter *w)
{
    w->stats->skipped++;
    size_t from = w->scan.pos;
    for (;;) {
        if (osc_scan_resync(&w->scan, from) &&
            (w->eof || w->scan.pos + 2 * LOOK_AHEAD < w->scan.len))
            return true;
        size_t keep = w->scan.len > LOOK_BACK ? w->scan.len - LOOK_BACK : 0;
        if (keep <= from)
            keep = from < w->scan.len ? from : w->scan.len;
        bool ended = w->eof;
        w->scan.pos = w->scan.len;
        if (ended || (!refill(w, keep) && w->status != OSC_OK))
            return false;
        from = 0;
    }
}

/* Offset in the input of a byte of the window. */
static uint64_t offset_of(const osc_rewriter *w, const char *p)
{
    assert(p >= w->window && p <= w->window + w->scan.len);
    return w->base + (uint64_t)(p - w->window);
}

static bool take_event(osc_rewriter *w, const osc_scan_value *value)
{
    uint64_t at = offset_of(w, value->text.ptr);
    bool keep = true;
    w->stats->read++;
    if (w->filter)
        keep = w->filter->keep(w->filter->context, value->text, at);
    return !keep || put_event(w, value->text, at);
}

/* Reads the elements of a list whose '[' was taken. True when its end was found. */
static bool take_list(osc_rewriter *w)
{
    if (!open_list(w))
        return false;
    while (w->status == OSC_OK) {
        osc_scan_value value;
        char c = peek(w);
        if (c == '\0')
            return false;
        if (c == ',' || c == ']' || c == '}') { /* the brace is left over from a damaged event */
            (void)osc_scan_take(&w->scan, c);
            if (c == ']')
                return true;
            continue;
        }
        if (take_value(w, true, &value)) {
            if (value.type == OSC_SCAN_OBJECT && !take_event(w, &value))
                return false;
            w->stats->skipped += value.type != OSC_SCAN_OBJECT;
        } else if (w->status != OSC_OK || !resync(w)) {
            return false;
        }
    }
    return false;
}

/* ---- the document ---- */

static bool is_events_key(const osc_rewriter *w)
{
    return osc_str_eq(osc_buf_view(&w->key), OSC_STR("traceEvents"));
}

/* Takes a member whose key was taken. False when nothing can be read behind it. */
static bool take_member(osc_rewriter *w, uint32_t *depth)
{
    osc_scan_value value;
    char c = peek(w);
    if (is_events_key(w) && c == '[') {
        (void)osc_scan_take(&w->scan, '[');
        return take_list(w);
    }
    if (is_events_key(w) && c == '{' && *depth < NESTED_MAX) {
        (void)osc_scan_take(&w->scan, '{');
        ++*depth;
        return true;
    }
    if (!take_value(w, false, &value))
        return false;
    if (is_events_key(w))
        return true; /* null, or another thing that holds no events */
    osc_str whole = value.text;
    if (value.type == OSC_SCAN_STRING)
        whole = osc_str_make(whole.ptr - 1, whole.len + 2); /* with its quotes */
    return put_member(w, whole, offset_of(w, whole.ptr));
}

static void take_object(osc_rewriter *w)
{
    uint32_t depth = 1;
    while (depth > 0 && w->status == OSC_OK) {
        bool ended = false;
        if (take_key(w, &ended)) {
            if (!take_member(w, &depth))
                break;
        } else if (ended) {
            depth--;
        } else {
            break;
        }
    }
    w->stats->truncated = w->stats->truncated || depth > 0;
}

static bool take_document(osc_rewriter *w)
{
    if (!refill(w, 0) && w->status != OSC_OK)
        return false;
    osc_scan_init(&w->scan, w->scan.data ? w->scan.data : "", w->scan.len);
    char c = peek(w);
    if (c == '\0')
        return fail(w, osc_fail(w->err, OSC_EFORMAT, w->name, 0, "empty trace file"));
    if (c != '{' && c != '[')
        return fail(w, osc_fail(w->err, OSC_EFORMAT, w->name, w->base + w->scan.pos,
                                "not a trace: expected '{' or '[' at its beginning"));
    (void)osc_scan_take(&w->scan, c);
    w->array_form = c == '[';
    if (c == '{')
        take_object(w);
    else if (!take_list(w))
        w->stats->truncated = true;
    return w->status == OSC_OK && finish(w);
}

osc_status osc_trace_rewrite(osc_source *in, const char *name, osc_sink *out,
                             const osc_rewrite_filter *filter, osc_rewrite_stats *stats,
                             osc_err *err)
{
    osc_rewriter w = {
        .source = in, .name = name, .sink = out, .filter = filter, .stats = stats, .err = err};
    *stats = (osc_rewrite_stats){.first_repair = OSC_NO_OFFSET};
    osc_buf_init(&w.text, SIZE_MAX);
    osc_buf_init(&w.key, SIZE_MAX);
    osc_buf_init(&w.tail, SIZE_MAX);
    (void)take_document(&w);
    osc_buf_free(&w.text);
    osc_buf_free(&w.key);
    osc_buf_free(&w.tail);
    osc_free(w.window);
    return w.status;
}
