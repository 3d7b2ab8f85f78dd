/*
 * scan.c - the forgiving JSON scanner.
 *
 * The one guess it takes is where a damaged string ends: at a quote that is followed by optional
 * white space and one of , : } ] or the end (known-bad-inputs.md J02). In valid JSON every closing
 * quote is followed by one of these, so the guess changes nothing there.
 *
 * Rejected: a separate strict pass first and this one on failure. Files that need it are as large
 * as the others, and two readers that must agree are two places to be wrong.
 */
#include "scope/read/scan.h"

#include "base/num.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\0';
}

void osc_scan_init(osc_scan *s, const char *data, size_t len)
{
    memset(s, 0, sizeof *s);
    s->data = data;
    s->len = len;
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        s->pos = 3;
}

void osc_scan_note(osc_scan *s, osc_scan_repair kind, size_t offset)
{
    assert(kind < OSC_REPAIR_COUNT);
    if (s->repairs[kind]++ == 0)
        s->first_repair[kind] = s->base + offset;
}

void osc_scan_add_repairs(osc_scan *s, const osc_scan *other, osc_scan_repair except)
{
    for (unsigned r = 0; r < OSC_REPAIR_COUNT; r++) {
        if (other->repairs[r] == 0 || r == (unsigned)except)
            continue;
        if (s->repairs[r] == 0 || other->first_repair[r] < s->first_repair[r])
            s->first_repair[r] = other->first_repair[r];
        s->repairs[r] += other->repairs[r];
    }
}

const char *osc_scan_repair_code(osc_scan_repair kind)
{
    static const char *const codes[OSC_REPAIR_COUNT] = {"bare_quote", "bad_escape", "stray_comma",
                                                        "bare_word", "resync"};
    assert(kind < OSC_REPAIR_COUNT);
    return codes[kind];
}

const char *osc_scan_repair_sentence(osc_scan_repair kind)
{
    static const char *const sentences[OSC_REPAIR_COUNT] = {
        "strings hold quotes that are not escaped; not valid JSON, read as far as it is clear",
        "strings hold backslashes that begin no escape; kept as they are",
        "commas are missing or doubled; not valid JSON, read all the same",
        "values such as inf or N/A stand without quotes; read as no value",
        "bytes between events could not be read and were skipped",
    };
    assert(kind < OSC_REPAIR_COUNT);
    return sentences[kind];
}

char osc_scan_peek(osc_scan *s)
{
    while (s->pos < s->len && is_space(s->data[s->pos]))
        s->pos++;
    if (s->pos < s->len)
        return s->data[s->pos];
    s->starved = true;
    return '\0';
}

bool osc_scan_take(osc_scan *s, char c)
{
    assert(c != '\0');
    if (osc_scan_peek(s) != c)
        return false;
    s->pos++;
    s->opened = c == '{' || c == '[';
    return true;
}

/* True when a string may end before byte `after`. */
static bool string_may_end(osc_scan *s, size_t after)
{
    while (after < s->len && is_space(s->data[after]))
        after++;
    if (after >= s->len) {
        s->starved = true;
        return true;
    }
    char c = s->data[after];
    return c == ',' || c == ':' || c == '}' || c == ']';
}

/* Takes a string whose opening quote is at pos. False when the input ends inside. */
static bool take_string(osc_scan *s, osc_scan_value *out)
{
    size_t start = s->pos + 1;
    size_t at = start;  /* bytes before it are known to be inside */
    size_t end = start; /* the next quote, once at <= end and quote_known */
    bool quote_known = false;
    out->escaped = false;
    out->offset = s->pos;
    out->type = OSC_SCAN_STRING;
    for (;;) {
        if (!quote_known || end < at) {
            const char *quote = at < s->len ? memchr(s->data + at, '"', s->len - at) : NULL;
            if (!quote) {
                s->starved = true;
                return false;
            }
            end = (size_t)(quote - s->data);
            quote_known = true;
        }
        const char *slash = memchr(s->data + at, '\\', end - at);
        if (slash) {
            out->escaped = true;
            at = (size_t)(slash - s->data) + 2; /* the byte after a backslash ends nothing */
            continue;
        }
        at = end + 1;
        if (string_may_end(s, at)) {
            out->text = osc_str_make(s->data + start, end - start);
            s->pos = at;
            return true;
        }
        osc_scan_note(s, OSC_REPAIR_BARE_QUOTE, end);
    }
}

/* Takes a number or word: everything up to a delimiter. */
static bool take_bare(osc_scan *s, osc_scan_value *out)
{
    size_t start = s->pos;
    size_t at = start;
    /* a NUL is padding between tokens, but does not end one */
    while (at < s->len &&
           (s->data[at] == '\0' || (!is_space(s->data[at]) && !strchr(",:}]{[\"", s->data[at]))))
        at++;
    s->starved = s->starved || at == s->len;
    if (at == start)
        return false;
    char c = s->data[start];
    bool digit = (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
    out->type = digit ? OSC_SCAN_NUMBER : OSC_SCAN_WORD;
    out->escaped = false;
    out->offset = start;
    out->text = osc_str_make(s->data + start, at - start);
    s->pos = at;
    if (!digit && !osc_str_eq(out->text, OSC_STR("true")) &&
        !osc_str_eq(out->text, OSC_STR("false")) && !osc_str_eq(out->text, OSC_STR("null")))
        osc_scan_note(s, OSC_REPAIR_WORD, start);
    return true;
}

/* Takes an object or array whole; only brackets of its own kind count. */
static bool take_container(osc_scan *s, osc_scan_value *out)
{
    size_t start = s->pos;
    size_t depth = 0;
    char open = s->data[start], close = open == '{' ? '}' : ']';
    osc_scan_value inner;
    while (s->pos < s->len) {
        char c = s->data[s->pos];
        if (c == '"') {
            if (!take_string(s, &inner))
                return false;
            continue;
        }
        s->pos++;
        if (c == open) {
            depth++;
        } else if (c == close) {
            if (--depth == 0) {
                out->type = open == '{' ? OSC_SCAN_OBJECT : OSC_SCAN_ARRAY;
                out->escaped = false;
                out->offset = start;
                out->text = osc_str_make(s->data + start, s->pos - start);
                return true;
            }
        }
    }
    s->starved = true;
    return false;
}

bool osc_scan_value_next(osc_scan *s, osc_scan_value *out)
{
    memset(out, 0, sizeof *out);
    char c = osc_scan_peek(s);
    s->opened = false;
    if (s->pos >= s->len)
        return false;
    if (c == '"')
        return take_string(s, out);
    if (c == '{' || c == '[')
        return take_container(s, out);
    return take_bare(s, out);
}

/* Takes the commas between items; counts when there is not exactly one, or any before the first. */
static void take_commas(osc_scan *s, char close)
{
    size_t count = 0;
    size_t at = s->pos;
    bool first = s->opened;
    while (osc_scan_take(s, ','))
        count++;
    bool closing = osc_scan_peek(s) == close;
    size_t due = first || closing ? 0 : 1;
    if (count != due && s->pos < s->len)
        osc_scan_note(s, OSC_REPAIR_COMMA, at);
}

bool osc_scan_member(osc_scan *s, osc_scan_value *key, bool *ended)
{
    *ended = false;
    take_commas(s, '}');
    char c = osc_scan_peek(s);
    if (c == '}') {
        s->pos++;
        s->opened = false;
        *ended = true;
        return false;
    }
    if (c != '"')
        return false;
    s->opened = false;
    return take_string(s, key) && osc_scan_take(s, ':');
}

bool osc_scan_element(osc_scan *s, bool *ended)
{
    *ended = false;
    take_commas(s, ']');
    char c = osc_scan_peek(s);
    if (c == ']') {
        s->pos++;
        s->opened = false;
        *ended = true;
        return false;
    }
    return s->pos < s->len;
}

#define PROBE_BYTES 128u

/* True when an object at `at` begins with a member that trace events have. */
static bool looks_like_event(const osc_scan *s, size_t at)
{
    static const char *const keys[] = {"ph", "cat", "name", "pid", "tid",
                                       "ts", "dur", "args", "id"};
    osc_scan probe = *s;
    osc_scan_value key;
    probe.pos = at + 1;
    if (probe.len - at > PROBE_BYTES)
        probe.len = at + PROBE_BYTES; /* a probe must not cost more than this */
    if (osc_scan_peek(&probe) != '"' || !take_string(&probe, &key) || osc_scan_peek(&probe) != ':')
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (osc_str_eq_cstr(key.text, keys[i]))
            return true;
    }
    return false;
}

/* True when the '{' at `at` is the value of a member, so not an event of the list. */
static bool is_member_value(const osc_scan *s, size_t at)
{
    while (at > 0 && is_space(s->data[at - 1]))
        at--;
    return at > 0 && s->data[at - 1] == ':';
}

bool osc_scan_resync(osc_scan *s, size_t from)
{
    osc_scan_note(s, OSC_REPAIR_RESYNC, from);
    return osc_scan_find_event(s, from + 1);
}

bool osc_scan_find_event(osc_scan *s, size_t at)
{
    s->opened = true; /* whatever comes next, no comma is missing before it */
    while (at < s->len) {
        const char *brace = memchr(s->data + at, '{', s->len - at);
        if (!brace)
            break;
        at = (size_t)(brace - s->data);
        s->starved = s->starved || s->len - at < PROBE_BYTES;
        if (!is_member_value(s, at) && looks_like_event(s, at)) {
            s->pos = at;
            return true;
        }
        if (s->more && s->len - at < PROBE_BYTES) {
            s->pos = at;
            return false;
        }
        at++;
    }
    s->pos = s->len;
    s->starved = true;
    return false;
}

/* Four hex digits at p, or -1. */
static int hex4(osc_str s, size_t p)
{
    int value = 0;
    if (p + 4 > s.len)
        return -1;
    for (size_t i = p; i < p + 4; i++) {
        char c = s.ptr[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Appends the code point of a \u escape whose 'u' is at *p and moves *p behind it. */
static bool unescape_unicode(osc_str t, size_t *p, osc_buf *out)
{
    int high = hex4(t, *p + 1);
    if (high < 0)
        return false;
    *p += 5;
    uint32_t cp = (uint32_t)high;
    if (high >= 0xd800 && high < 0xdc00 && *p + 1 < t.len && t.ptr[*p] == '\\' &&
        t.ptr[*p + 1] == 'u') {
        int low = hex4(t, *p + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            cp = 0x10000u + (((uint32_t)high - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u);
            *p += 6;
        }
    }
    char utf8[4];
    osc_buf_append(out, utf8, osc_utf8_put(cp, utf8));
    return true;
}

void osc_scan_unescape(osc_scan *s, const osc_scan_value *value, osc_buf *out)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    osc_str t = value->text;
    for (size_t p = 0; p < t.len;) {
        const char *slash = memchr(t.ptr + p, '\\', t.len - p);
        size_t plain = slash ? (size_t)(slash - t.ptr) - p : t.len - p;
        osc_buf_append(out, t.ptr + p, plain);
        p += plain;
        if (!slash)
            break;
        char c = p + 1 < t.len ? t.ptr[p + 1] : '\0';
        const char *known = c ? strchr(from, c) : NULL;
        p++;
        if (known) {
            osc_buf_putc(out, to[known - from]);
            p++;
        } else if (c != 'u' || !unescape_unicode(t, &p, out)) {
            osc_buf_putc(out, '\\');
            osc_scan_note(s, OSC_REPAIR_ESCAPE, (size_t)(t.ptr - s->data) + p - 1);
        }
    }
}

bool osc_scan_i64(const osc_scan_value *value, int64_t *out)
{
    if (value->type != OSC_SCAN_NUMBER && value->type != OSC_SCAN_STRING)
        return false;
    osc_str t = osc_str_trim(value->text);
    if (osc_parse_i64(t, out))
        return true;
    double d;
    if (value->type != OSC_SCAN_NUMBER || !osc_parse_f64(t, &d) || !(d > -9.2e18 && d < 9.2e18))
        return false;
    *out = (int64_t)d;
    return true;
}

bool osc_scan_us_to_ns(const osc_scan_value *value, int64_t *ns)
{
    if (value->type != OSC_SCAN_NUMBER && value->type != OSC_SCAN_STRING)
        return false;
    osc_str t = osc_str_trim(value->text);
    double d;
    if (osc_parse_us_to_ns(t, ns, NULL))
        return true;
    if (!osc_parse_f64(t, &d) || !isfinite(d))
        return false;
    *ns = d < 0 ? INT64_MIN : INT64_MAX; /* the store brings it into range and says so */
    return true;
}
