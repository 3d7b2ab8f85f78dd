/*
 * repair.c - see repair.h.
 *
 * Nesting is kept in a buffer of one byte a level, not on the C stack: a damaged file may open a
 * million brackets (known-bad-inputs.md U06). Rejected: osc_jw for the whole value; it has a depth
 * limit, and a repair must not lose what is deeper.
 */
#include "scope/export/repair.h"

#include "base/json.h"
#include "scope/read/scan.h"

#include <assert.h>
#include <string.h>

/* ---- is it fine as it is? ---- */

/* The number of a \\u escape whose backslash is at text[at]; -1 when it is none. */
static int unicode_escape(osc_str text, size_t at)
{
    int value = 0;
    if (at + 6 > text.len || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + 6; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = text.ptr[i];
        const char *d = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
        if (!d || c == '\0')
            return -1;
        value = value * 16 + (int)(d - digits);
    }
    return value;
}

/* Length of the escape at text[at], surrogates only in pairs; 0 when not every reader takes it. */
static size_t escape_length(osc_str text, size_t at)
{
    if (at + 1 < text.len && text.ptr[at + 1] != '\0' && strchr("\"\\/bfnrt", text.ptr[at + 1]))
        return 2;
    int first = unicode_escape(text, at);
    if (first < 0 || (first >= 0xdc00 && first < 0xe000))
        return 0;
    if (first < 0xd800 || first >= 0xe000)
        return 6;
    int second = unicode_escape(text, at + 6);
    return second >= 0xdc00 && second < 0xe000 ? 12 : 0;
}

/* A string's raw text without control bytes and without escapes that only some readers take. */
static bool string_strict(osc_str text)
{
    for (size_t i = 0; i < text.len;) {
        if ((unsigned char)text.ptr[i] < 0x20)
            return false;
        size_t step = text.ptr[i] == '\\' ? escape_length(text, i) : 1;
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

bool osc_json_strict(osc_str text)
{
    osc_json j;
    if (!osc_utf8_valid(text) || osc_str_starts(text, OSC_STR("\xef\xbb\xbf")))
        return false;
    osc_json_init(&j, text.ptr, text.len);
    for (;;) {
        osc_json_token t = osc_json_next(&j);
        switch (t.type) {
        case OSC_JSON_END: return true;
        case OSC_JSON_ERROR: return false;
        case OSC_JSON_KEY:
        case OSC_JSON_STRING:
            if (!string_strict(t.text))
                return false;
            break;
        case OSC_JSON_NUMBER:
            /* the scanner also takes NaN and Infinity, which are no JSON */
            if (strchr("NI", t.text.ptr[0]) || (t.text.len > 1 && t.text.ptr[1] == 'I'))
                return false;
            break;
        default: break;
        }
    }
}

/* ---- writing it anew ---- */

typedef struct repair {
    osc_scan scan;
    osc_buf *out;
    osc_buf open;    /* one byte an open container: '{' or '[', and 0x80 once it has an item */
    osc_buf scratch; /* a text without escapes */
} repair;

static void put_text(repair *r, const osc_scan_value *value)
{
    osc_jw w;
    osc_str text = value->text;
    if (value->escaped) {
        osc_buf_clear(&r->scratch);
        osc_scan_unescape(&r->scan, value, &r->scratch);
        text = osc_buf_view(&r->scratch);
        r->out->failed = r->out->failed || r->scratch.failed;
    }
    osc_jw_init(&w, r->out, 0);
    osc_jw_str(&w, text);
}

/* A number that JSON knows, perhaps after a small change; else a text. */
static void put_number(repair *r, const osc_scan_value *value)
{
    osc_str t = value->text;
    char first;
    bool negative = t.ptr[0] == '-';
    if (t.ptr[0] == '+' || negative)
        t = osc_str_sub(t, 1, SIZE_MAX);
    while (t.len > 1 && t.ptr[0] == '0' && t.ptr[1] >= '0' && t.ptr[1] <= '9')
        t = osc_str_sub(t, 1, SIZE_MAX);
    first = t.len > 0 ? t.ptr[0] : '\0';
    size_t start = r->out->len;
    osc_buf_cstr(r->out, negative ? "-" : "");
    osc_buf_cstr(r->out, first == '.' ? "0" : "");
    osc_buf_str(r->out, t);
    osc_str written = osc_str_sub(osc_buf_view(r->out), start, SIZE_MAX);
    if (!osc_json_strict(written)) {
        osc_buf_truncate(r->out, start);
        osc_scan_value whole = *value;
        whole.escaped = false;
        put_text(r, &whole);
    }
}

static void put_scalar(repair *r)
{
    osc_scan_value value;
    size_t at = r->scan.pos;
    if (!osc_scan_value_next(&r->scan, &value)) {
        osc_buf_cstr(r->out, "null");
        /* a byte that begins nothing must not be met again */
        if (r->scan.pos == at && at < r->scan.len && !strchr(",}]", r->scan.data[at]))
            r->scan.pos++;
        return;
    }
    if (value.type == OSC_SCAN_STRING)
        put_text(r, &value);
    else if (value.type == OSC_SCAN_NUMBER)
        put_number(r, &value);
    else if (osc_str_eq(value.text, OSC_STR("true")) || osc_str_eq(value.text, OSC_STR("false")))
        osc_buf_str(r->out, value.text);
    else
        osc_buf_cstr(r->out, "null");
}

/* Takes a value; a container is only opened. */
static void put_value(repair *r)
{
    char c = osc_scan_peek(&r->scan);
    if (c == '{' || c == '[') {
        (void)osc_scan_take(&r->scan, c);
        osc_buf_putc(r->out, c);
        osc_buf_putc(&r->open, c);
    } else {
        put_scalar(r);
    }
}

static void close_container(repair *r)
{
    assert(r->open.len > 0);
    unsigned char kind = r->open.data[r->open.len - 1] & 0x7f;
    osc_buf_putc(r->out, kind == '{' ? '}' : ']');
    osc_buf_truncate(&r->open, r->open.len - 1);
}

/* One item of the innermost container, or its end. False when the text can be read no further. */
static bool put_item(repair *r)
{
    unsigned char *top = &r->open.data[r->open.len - 1];
    bool object = (*top & 0x7f) == '{', ended = false;
    osc_scan_value key;
    char wrong = object ? ']' : '}';
    if (osc_scan_peek(&r->scan) == wrong && r->scan.pos < r->scan.len) {
        /* the bracket of another container: inside an array its own is missing, else this one is
         * extra */
        if (object)
            r->scan.pos++;
        else
            close_container(r);
        return true;
    }
    bool more =
        object ? osc_scan_member(&r->scan, &key, &ended) : osc_scan_element(&r->scan, &ended);
    if (!more) {
        close_container(r);
        return ended;
    }
    if (*top & 0x80)
        osc_buf_cstr(r->out, ", ");
    *top |= 0x80;
    if (object) {
        put_text(r, &key);
        osc_buf_cstr(r->out, ": ");
    }
    put_value(r);
    return true;
}

static void write_anew(osc_str text, osc_buf *out)
{
    repair r = {.out = out};
    osc_buf_init(&r.open, SIZE_MAX);
    osc_buf_init(&r.scratch, SIZE_MAX);
    osc_scan_init(&r.scan, text.ptr, text.len);
    put_value(&r);
    bool readable = true;
    while (r.open.len > 0 && !out->failed && !r.open.failed) {
        if (readable)
            readable = put_item(&r);
        else
            close_container(&r);
    }
    out->failed = out->failed || r.open.failed;
    osc_buf_free(&r.open);
    osc_buf_free(&r.scratch);
}

bool osc_repair_value(osc_str text, osc_buf *out)
{
    bool fine = osc_json_strict(text);
    if (fine)
        osc_buf_str(out, text);
    else
        write_anew(text, out);
    return !fine;
}
