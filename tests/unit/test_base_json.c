/* The JSON scanner: grammar, limits, offsets, escapes. */
#include "tap.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* One character per token, keys as 'k'; ends with '.' or '!' for an error. */
static const char *shape_of(osc_str text, osc_json *j)
{
    static const char letters[] = ".!{}[]ksn10-";
    static char out[2000];
    size_t n = 0;
    osc_json_init(j, text.ptr, text.len);
    for (;;) {
        osc_json_token t = osc_json_next(j);
        out[n++] = letters[t.type];
        if (t.type == OSC_JSON_END || t.type == OSC_JSON_ERROR || n + 1 == sizeof out)
            break;
    }
    out[n] = '\0';
    return out;
}

static void test_shapes(void)
{
    osc_json j;
    TAP_EQ_STR(shape_of(OSC_STR("{}"), &j), "{}.");
    TAP_EQ_STR(shape_of(OSC_STR(" [ ] "), &j), "[].");
    TAP_EQ_STR(
        shape_of(OSC_STR("{\"a\":1,\"b\":[true,false,null,\"x\"],\"c\":{\"d\":-2.5e-3}}"), &j),
        "{knk[10-s]k{kn}}.");
    TAP_EQ_STR(shape_of(OSC_STR("\xef\xbb\xbf\"bom\""), &j), "s.");
    TAP_EQ_STR(shape_of(OSC_STR("0"), &j), "n.");
    TAP_EQ_STR(shape_of(OSC_STR("[NaN,Infinity,-Infinity]"), &j), "[nnn].");
    TAP_EQ_STR(shape_of(OSC_STR("\t\r\n[1 , 2]\n"), &j), "[nn].");
    TAP_EQ_STR(shape_of(OSC_STR("[\"raw\ncontrol\x01\"]"), &j), "[s].");
}

static void test_errors_have_offsets(void)
{
    static const struct {
        const char *text;
        uint64_t offset;
        osc_status status;
    } cases[] = {
        {"", 0, OSC_ETRUNCATED},          {"PK\3\4", 0, OSC_EFORMAT},
        {"{", 1, OSC_ETRUNCATED},         {"{,}", 1, OSC_EFORMAT},
        {"{\"a\"}", 4, OSC_EFORMAT},      {"{\"a\":}", 5, OSC_EFORMAT},
        {"{\"a\":1,}", 7, OSC_EFORMAT},   {"{\"a\":1 \"b\"", 7, OSC_EFORMAT},
        {"[1,]", 3, OSC_EFORMAT},         {"[1}", 2, OSC_EFORMAT},
        {"{\"a\":1]", 6, OSC_EFORMAT},    {"[1", 2, OSC_ETRUNCATED},
        {"[1,", 3, OSC_ETRUNCATED},       {"[01]", 1, OSC_EFORMAT},
        {"[-]", 2, OSC_EFORMAT},          {"[1.]", 3, OSC_EFORMAT},
        {"[1e]", 3, OSC_EFORMAT},         {"[1e+", 4, OSC_ETRUNCATED},
        {"[-", 2, OSC_ETRUNCATED},        {"[+1]", 1, OSC_EFORMAT},
        {"[tru", 4, OSC_ETRUNCATED},      {"[trux]", 1, OSC_EFORMAT},
        {"[-Inf]", 1, OSC_EFORMAT},       {"\"abc", 4, OSC_ETRUNCATED},
        {"\"abc\\\"", 6, OSC_ETRUNCATED}, {"1 2", 2, OSC_EFORMAT},
        {"[] x", 3, OSC_EFORMAT},         {"]", 0, OSC_EFORMAT},
        {"{1:2}", 1, OSC_EFORMAT},        {"{\"a\":1,2}", 7, OSC_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        osc_json j;
        osc_err err = {0};
        const char *shape = shape_of(osc_str_from_cstr(cases[i].text), &j);
        osc_status status = osc_json_status(&j, "in.json", &err);
        TAP_OKF(strchr(shape, '!') && status == cases[i].status && err.offset == cases[i].offset,
                "'%s' gives %s, %s at %llu", cases[i].text, shape, osc_status_name(status),
                (unsigned long long)err.offset);
        TAP_EQ_I64(osc_json_next(&j).type, OSC_JSON_ERROR);
    }
}

static void test_offsets_and_text(void)
{
    static const char text[] = "{\"key\": [12.5, \"a\\\"b\"]}";
    osc_json j;
    osc_json_init(&j, text, sizeof text - 1);
    TAP_EQ_I64(osc_json_peek(&j).type, OSC_JSON_OBJ_BEGIN);
    osc_json_token t = osc_json_next(&j);
    TAP_EQ_U64(t.offset, 0);
    t = osc_json_next(&j);
    TAP_OK(t.type == OSC_JSON_KEY && t.offset == 1 && !t.escaped);
    TAP_EQ_VIEW(t.text, "key");
    t = osc_json_next(&j);
    TAP_EQ_U64(t.offset, 8);
    t = osc_json_next(&j);
    TAP_EQ_VIEW(t.text, "12.5");
    t = osc_json_next(&j);
    TAP_OK(t.escaped && t.offset == 15);
    TAP_EQ_VIEW(t.text, "a\\\"b");
    TAP_EQ_I64(osc_json_next(&j).type, OSC_JSON_ARR_END);
    TAP_EQ_I64(osc_json_next(&j).type, OSC_JSON_OBJ_END);
    TAP_EQ_I64(osc_json_next(&j).type, OSC_JSON_END);
    TAP_EQ_I64(osc_json_next(&j).type, OSC_JSON_END);
    TAP_EQ_STATUS(osc_json_status(&j, NULL, NULL), OSC_OK);
}

static void test_depth_limit(void)
{
    static char text[2 * (OSC_JSON_MAX_DEPTH + 1)];
    osc_json j;
    memset(text, '[', OSC_JSON_MAX_DEPTH);
    memset(text + OSC_JSON_MAX_DEPTH, ']', OSC_JSON_MAX_DEPTH);
    (void)shape_of(osc_str_make(text, (size_t)2 * OSC_JSON_MAX_DEPTH), &j);
    TAP_EQ_STATUS(osc_json_status(&j, NULL, NULL), OSC_OK);
    memset(text, '[', sizeof text);
    (void)shape_of(osc_str_make(text, sizeof text), &j);
    TAP_EQ_STATUS(osc_json_status(&j, NULL, NULL), OSC_EFORMAT);
    TAP_EQ_U64(j.error_offset, OSC_JSON_MAX_DEPTH);
}

/* Objects and arrays alternate over word borders of the level bits. */
static void test_mixed_nesting(void)
{
    char text[1200], end[400];
    size_t n = 0, m = 0;
    for (int i = 0; i < 130; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", i % 3 ? "[" : "{\"k\":");
        end[m++] = i % 3 ? ']' : '}';
    }
    text[n++] = '1';
    while (m > 0)
        text[n++] = end[--m];
    osc_json j;
    (void)shape_of(osc_str_make(text, n), &j);
    TAP_EQ_STATUS(osc_json_status(&j, NULL, NULL), OSC_OK);
}

static void test_skip_value(void)
{
    static const char text[] = "{\"a\":{\"x\":[1,{\"y\":2}]},\"b\":3,\"c\":[],\"d\":\"s\"}";
    osc_json j;
    osc_json_token key;
    int64_t b = 0;
    size_t members = 0;
    osc_json_init(&j, text, sizeof text - 1);
    (void)osc_json_next(&j);
    while (osc_json_next_member(&j, &key)) {
        members++;
        if (osc_json_is(&key, "b")) {
            osc_json_token t = osc_json_next(&j);
            TAP_OK(osc_json_i64(&t, &b));
        } else {
            TAP_OK(osc_json_skip_value(&j, NULL));
        }
    }
    TAP_EQ_U64(members, 4);
    TAP_EQ_I64(b, 3);
    TAP_EQ_I64(osc_json_next(&j).type, OSC_JSON_END);
    osc_json_init(&j, "[1,[2", 5);
    (void)osc_json_next(&j);
    TAP_OK(osc_json_skip_value(&j, NULL));
    TAP_OK(!osc_json_skip_value(&j, NULL));
}

static void test_elements(void)
{
    osc_json j;
    osc_json_token t;
    int64_t sum = 0;
    osc_json_init(&j, "[1,[7,7],2]", 11);
    (void)osc_json_next(&j);
    while (osc_json_next_element(&j, &t)) {
        int64_t v = 0;
        if (osc_json_i64(&t, &v))
            sum += v;
        else
            TAP_OK(osc_json_skip_value(&j, &t));
    }
    TAP_EQ_I64(sum, 3);
    TAP_EQ_STATUS(osc_json_status(&j, NULL, NULL), OSC_OK);
}

static void test_numbers(void)
{
    osc_json j;
    int64_t i = 0;
    double d = 0;
    osc_json_init(&j, "[1e3,1.0,1.5,9223372036854775808,\"1\",-0.25]", 43);
    (void)osc_json_next(&j);
    osc_json_token t = osc_json_next(&j);
    TAP_OK(osc_json_i64(&t, &i) && i == 1000);
    t = osc_json_next(&j);
    TAP_OK(osc_json_i64(&t, &i) && i == 1);
    t = osc_json_next(&j);
    TAP_OK(!osc_json_i64(&t, &i) && osc_json_f64(&t, &d));
    TAP_EQ_F64(d, 1.5);
    t = osc_json_next(&j);
    TAP_OK(!osc_json_i64(&t, &i));
    t = osc_json_next(&j);
    TAP_OK(!osc_json_i64(&t, &i) && !osc_json_f64(&t, &d));
    t = osc_json_next(&j);
    TAP_OK(osc_json_f64(&t, &d));
    TAP_EQ_F64(d, -0.25);
}

static void check_unescape(const char *raw, const char *want, bool want_replaced)
{
    osc_buf out;
    bool replaced = !want_replaced;
    osc_buf_init(&out, SIZE_MAX);
    TAP_OK(osc_json_unescape(osc_str_from_cstr(raw), &out, &replaced));
    TAP_EQ_STR(osc_buf_c_str(&out), want);
    TAP_OKF(replaced == want_replaced, "'%s': replaced is %d", raw, replaced);
    osc_buf_free(&out);
}

static void test_unescape(void)
{
    check_unescape("plain", "plain", false);
    check_unescape("", "", false);
    check_unescape("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", false);
    check_unescape("\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac", false);
    check_unescape("\\ud83d\\ude00!", "\xf0\x9f\x98\x80!", false);
    check_unescape("\\ud83d", "\xef\xbf\xbd", true);
    check_unescape("\\ude00x", "\xef\xbf\xbdx", true);
    check_unescape("\\ud83dx", "\xef\xbf\xbdx", true);
    check_unescape("\\ud83d\\u0041", "\xef\xbf\xbd\x41", true);
    check_unescape("\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80", true);
    check_unescape("\\u12", "\xef\xbf\xbd\x31\x32", true);
    check_unescape("\\x", "\xef\xbf\xbd", true);
    check_unescape("end\\", "end\xef\xbf\xbd", true);
    check_unescape("a\xff\xe2\x82z", "a\xef\xbf\xbd\xef\xbf\xbdz", true);
    check_unescape("\xe4\xb8\xad", "\xe4\xb8\xad", false);
}

static void test_unescape_ceiling(void)
{
    osc_buf out;
    osc_buf_init(&out, 3);
    TAP_OK(!osc_json_unescape(OSC_STR("abcd"), &out, NULL));
    osc_buf_free(&out);
    osc_buf_init(&out, SIZE_MAX);
    TAP_OK(osc_json_unescape(OSC_STR("a\\u0000b"), &out, NULL));
    TAP_EQ_U64(out.len, 3);
    osc_buf_free(&out);
}

static void test_is(void)
{
    osc_json j;
    osc_json_init(&j, "[\"a\\/b\",\"plain\",1]", 18);
    (void)osc_json_next(&j);
    osc_json_token t = osc_json_next(&j);
    TAP_OK(osc_json_is(&t, "a/b") && !osc_json_is(&t, "a\\/b"));
    t = osc_json_next(&j);
    TAP_OK(osc_json_is(&t, "plain") && !osc_json_is(&t, "plainer"));
    t = osc_json_next(&j);
    TAP_OK(!osc_json_is(&t, "1"));
}

int main(void)
{
    TAP_RUN(test_shapes);
    TAP_RUN(test_errors_have_offsets);
    TAP_RUN(test_offsets_and_text);
    TAP_RUN(test_depth_limit);
    TAP_RUN(test_mixed_nesting);
    TAP_RUN(test_skip_value);
    TAP_RUN(test_elements);
    TAP_RUN(test_numbers);
    TAP_RUN(test_unescape);
    TAP_RUN(test_unescape_ceiling);
    TAP_RUN(test_is);
    return tap_done();
}
