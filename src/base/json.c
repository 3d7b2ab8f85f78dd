/*
 * json.c - the pull scanner; see json.h. Escapes are in json_text.c, the writer in json_write.c.
 *
 * `expect` says what may come next; together with one bit per open level it is the whole parser state.
 */
#include "base/json.h"

#include "base/num.h"

#include <assert.h>
#include <string.h>

enum {
    EXPECT_VALUE = 0,         /* a value must come */
    EXPECT_FIRST_ELEMENT = 1, /* after '[': a value or ']' */
    EXPECT_FIRST_KEY = 2,     /* after '{': a key or '}' */
    EXPECT_COMMA = 3,         /* after a value inside a container: ',' or the end of it */
    EXPECT_END = 4            /* after the document's value: only white space */
};

static bool level_is_object(const uint64_t *bits, uint32_t level)
{
    return bits[level / 64] >> (level % 64) & 1;
}

static void set_level(uint64_t *bits, uint32_t level, bool object)
{
    uint64_t bit = UINT64_C(1) << (level % 64);
    bits[level / 64] = object ? bits[level / 64] | bit : bits[level / 64] & ~bit;
}

void osc_json_init(osc_json *j, const char *data, size_t len)
{
    memset(j, 0, sizeof *j);
    j->data = data;
    j->len = len;
    j->expect = EXPECT_VALUE;
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        j->pos = 3;
}

static osc_json_token error_token(const osc_json *j)
{
    osc_json_token t = {.type = OSC_JSON_ERROR, .offset = j->error_offset};
    return t;
}

/* Records the first error; `text` is a static sentence. At the end of input it is a truncation. */
static osc_json_token fail(osc_json *j, size_t at, const char *text)
{
    assert(at <= j->len);
    if (j->status == OSC_OK) {
        j->truncated = at == j->len;
        j->status = j->truncated ? OSC_ETRUNCATED : OSC_EFORMAT;
        j->error_offset = at;
        j->error_text = text;
    }
    return error_token(j);
}

static void skip_space(osc_json *j)
{
    while (j->pos < j->len) {
        char c = j->data[j->pos];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            break;
        j->pos++;
    }
}

/* A token of the bytes [start, pos). */
static osc_json_token make_token(const osc_json *j, osc_json_type type, size_t start)
{
    osc_json_token t = {.type = type, .offset = start};
    t.text = osc_str_make(j->data + start, j->pos - start);
    return t;
}

/* After a complete value: what may come next depends on where it stood. */
static void value_done(osc_json *j)
{
    j->expect = j->depth > 0 ? EXPECT_COMMA : EXPECT_END;
}

/* A string from its opening quote; the token's text is what stands between the quotes. */
static osc_json_token scan_string(osc_json *j, osc_json_type type)
{
    size_t start = j->pos, from = start + 1;
    bool escaped = false;
    for (size_t at = from;;) {
        /* the bytes up to the next quote are most of a trace: memchr is ten times a byte loop */
        const char *quote = at < j->len ? memchr(j->data + at, '"', j->len - at) : NULL;
        if (!quote)
            return fail(j, j->len, "a string is not closed");
        size_t end = (size_t)(quote - j->data), slashes = 0;
        while (end - slashes > at && j->data[end - slashes - 1] == '\\')
            slashes++;
        escaped = escaped || slashes > 0 || memchr(j->data + at, '\\', end - at) != NULL;
        at = end + 1;
        if (slashes % 2 == 1)
            continue;
        j->pos = at;
        osc_json_token t = {.type = type, .escaped = escaped, .offset = start};
        t.text = osc_str_make(j->data + from, end - from);
        return t;
    }
}

static size_t digits_from(const osc_json *j, size_t at)
{
    while (at < j->len && j->data[at] >= '0' && j->data[at] <= '9')
        at++;
    return at;
}

/* RFC 8259 section 6. Sets pos behind the number. */
static osc_json_token scan_number(osc_json *j)
{
    size_t start = j->pos, at = start;
    at += j->data[at] == '-';
    size_t end = digits_from(j, at);
    if (end == at)
        return fail(j, at, "expected a digit");
    if (j->data[at] == '0' && end > at + 1)
        return fail(j, at, "a number may not begin with 0");
    at = end;
    if (at < j->len && j->data[at] == '.') {
        end = digits_from(j, at + 1);
        if (end == at + 1)
            return fail(j, end, "expected a digit after the decimal point");
        at = end;
    }
    if (at < j->len && (j->data[at] == 'e' || j->data[at] == 'E')) {
        at++;
        at += at < j->len && (j->data[at] == '+' || j->data[at] == '-');
        end = digits_from(j, at);
        if (end == at)
            return fail(j, end, "expected a digit in the exponent");
        at = end;
    }
    j->pos = at;
    value_done(j);
    return make_token(j, OSC_JSON_NUMBER, start);
}

static osc_json_token scan_word(osc_json *j)
{
    static const struct {
        osc_str word;
        osc_json_type type;
    } words[] = {
        {OSC_STR_INIT("true"), OSC_JSON_TRUE},       {OSC_STR_INIT("false"), OSC_JSON_FALSE},
        {OSC_STR_INIT("null"), OSC_JSON_NULL},       {OSC_STR_INIT("NaN"), OSC_JSON_NUMBER},
        {OSC_STR_INIT("Infinity"), OSC_JSON_NUMBER}, {OSC_STR_INIT("-Infinity"), OSC_JSON_NUMBER},
    };
    osc_str left = osc_str_make(j->data + j->pos, j->len - j->pos);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t start = j->pos;
        if (osc_str_starts(left, words[i].word)) {
            j->pos += words[i].word.len;
            value_done(j);
            return make_token(j, words[i].type, start);
        }
        if (left.len > 0 && osc_str_starts(words[i].word, left))
            return fail(j, j->len, "a word is cut short");
    }
    return fail(j, j->pos, "expected a value");
}

static osc_json_token open_level(osc_json *j, bool object)
{
    size_t start = j->pos;
    if (j->depth == OSC_JSON_MAX_DEPTH)
        return fail(j, start, "nested too deeply");
    set_level(j->in_object, j->depth, object);
    j->depth++;
    j->pos++;
    j->expect = object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ELEMENT;
    return make_token(j, object ? OSC_JSON_OBJ_BEGIN : OSC_JSON_ARR_BEGIN, start);
}

static osc_json_token close_level(osc_json *j)
{
    size_t start = j->pos;
    assert(j->depth > 0);
    bool object = level_is_object(j->in_object, j->depth - 1);
    if (j->data[start] != (object ? '}' : ']'))
        return fail(j, start, object ? "expected ',' or '}'" : "expected ',' or ']'");
    j->depth--;
    j->pos++;
    value_done(j);
    return make_token(j, object ? OSC_JSON_OBJ_END : OSC_JSON_ARR_END, start);
}

static osc_json_token scan_value(osc_json *j)
{
    if (j->pos == j->len)
        return fail(j, j->pos, "the input ends where a value should be");
    char c = j->data[j->pos];
    if (c == '{' || c == '[')
        return open_level(j, c == '{');
    if (c == '"') {
        osc_json_token t = scan_string(j, OSC_JSON_STRING);
        if (t.type == OSC_JSON_STRING)
            value_done(j);
        return t;
    }
    bool infinity = c == '-' && j->pos + 1 < j->len && j->data[j->pos + 1] == 'I';
    if ((c >= '0' && c <= '9') || (c == '-' && !infinity))
        return scan_number(j);
    return scan_word(j);
}

static osc_json_token scan_key(osc_json *j)
{
    if (j->pos == j->len || j->data[j->pos] != '"')
        return fail(j, j->pos, "expected a member's name in quotes");
    osc_json_token t = scan_string(j, OSC_JSON_KEY);
    if (t.type == OSC_JSON_ERROR)
        return t;
    skip_space(j);
    if (j->pos == j->len || j->data[j->pos] != ':')
        return fail(j, j->pos, "expected ':'");
    j->pos++;
    j->expect = EXPECT_VALUE;
    return t;
}

osc_json_token osc_json_next(osc_json *j)
{
    if (j->status != OSC_OK)
        return error_token(j);
    skip_space(j);
    char c = j->pos < j->len ? j->data[j->pos] : '\0';
    switch (j->expect) {
    case EXPECT_FIRST_ELEMENT: return c == ']' ? close_level(j) : scan_value(j);
    case EXPECT_FIRST_KEY: return c == '}' ? close_level(j) : scan_key(j);
    case EXPECT_COMMA:
        if (j->pos == j->len)
            return fail(j, j->pos, "the input ends inside an object or array");
        if (c != ',')
            return close_level(j);
        j->pos++;
        skip_space(j);
        return level_is_object(j->in_object, j->depth - 1) ? scan_key(j) : scan_value(j);
    case EXPECT_END:
        if (j->pos < j->len)
            return fail(j, j->pos, "unexpected text after the document");
        return make_token(j, OSC_JSON_END, j->pos);
    default: return scan_value(j);
    }
}

osc_json_token osc_json_peek(const osc_json *j)
{
    osc_json copy = *j;
    return osc_json_next(&copy);
}

bool osc_json_skip_value(osc_json *j, const osc_json_token *first)
{
    osc_json_token t = first ? *first : osc_json_next(j);
    if (t.type == OSC_JSON_ERROR || t.type == OSC_JSON_END)
        return false;
    if (t.type != OSC_JSON_OBJ_BEGIN && t.type != OSC_JSON_ARR_BEGIN)
        return true;
    uint32_t outside = j->depth - 1;
    while (j->depth > outside) {
        if (osc_json_next(j).type == OSC_JSON_ERROR)
            return false;
    }
    return true;
}

bool osc_json_next_member(osc_json *j, osc_json_token *key)
{
    *key = osc_json_next(j);
    return key->type == OSC_JSON_KEY;
}

bool osc_json_next_element(osc_json *j, osc_json_token *value)
{
    *value = osc_json_next(j);
    return value->type != OSC_JSON_ARR_END && value->type != OSC_JSON_ERROR &&
           value->type != OSC_JSON_END;
}

osc_status osc_json_status(const osc_json *j, const char *input, osc_err *err)
{
    if (j->status == OSC_OK)
        return OSC_OK;
    return osc_fail(err, j->status, input, j->error_offset, "not valid JSON: %s", j->error_text);
}

bool osc_json_is(const osc_json_token *t, const char *text)
{
    if (t->type != OSC_JSON_KEY && t->type != OSC_JSON_STRING)
        return false;
    if (!t->escaped)
        return osc_str_eq_cstr(t->text, text);
    /* rare: some writers escape '/', so the name must be undone before it is compared */
    osc_buf plain;
    osc_buf_init(&plain, SIZE_MAX);
    bool same =
        osc_json_unescape(t->text, &plain, NULL) && osc_str_eq_cstr(osc_buf_view(&plain), text);
    osc_buf_free(&plain);
    return same;
}

bool osc_json_i64(const osc_json_token *t, int64_t *out)
{
    int64_t value;
    bool inexact;
    if (t->type != OSC_JSON_NUMBER)
        return false;
    if (osc_parse_i64(t->text, out))
        return true;
    if (!osc_parse_scaled(t->text, 0, &value, &inexact) || inexact)
        return false;
    *out = value;
    return true;
}

bool osc_json_f64(const osc_json_token *t, double *out)
{
    return t->type == OSC_JSON_NUMBER && osc_parse_f64(t->text, out);
}
