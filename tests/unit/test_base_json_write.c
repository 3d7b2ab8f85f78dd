/* The JSON writer: what it writes reads back, what it may not write fails. */
#include "tap.h"

#include "base/json.h"
#include "base/rng.h"

#include <math.h>

static osc_buf out;
static osc_jw w;

static void start(uint32_t indent)
{
    osc_buf_free(&out);
    osc_buf_init(&out, SIZE_MAX);
    osc_jw_init(&w, &out, indent);
}

static const char *text(void)
{
    return osc_buf_c_str(&out);
}

static void write_sample(void)
{
    osc_jw_begin_obj(&w);
    osc_jw_kv_cstr(&w, "name", "mul");
    osc_jw_kv_i64(&w, "ns", -5);
    osc_jw_key(&w, "list");
    osc_jw_begin_arr(&w);
    osc_jw_u64(&w, UINT64_MAX);
    osc_jw_bool(&w, true);
    osc_jw_null(&w);
    osc_jw_end_arr(&w);
    osc_jw_key(&w, "empty");
    osc_jw_begin_obj(&w);
    osc_jw_end_obj(&w);
    osc_jw_end_obj(&w);
}

static void test_compact(void)
{
    start(0);
    write_sample();
    TAP_EQ_STR(
        text(),
        "{\"name\":\"mul\",\"ns\":-5,\"list\":[18446744073709551615,true,null],\"empty\":{}}");
}

static void test_indented(void)
{
    start(2);
    write_sample();
    TAP_EQ_STR(text(),
               "{\n  \"name\": \"mul\",\n  \"ns\": -5,\n  \"list\": [\n    18446744073709551615,\n"
               "    true,\n    null\n  ],\n  \"empty\": {}\n}");
}

static void test_numbers(void)
{
    start(0);
    osc_jw_begin_arr(&w);
    osc_jw_f64(&w, 0.1);
    osc_jw_f64(&w, NAN);
    osc_jw_f64(&w, -INFINITY);
    osc_jw_i64(&w, INT64_MIN);
    osc_jw_raw(&w, OSC_STR("12.345"));
    osc_jw_end_arr(&w);
    TAP_EQ_STR(text(), "[0.1,null,null,-9223372036854775808,12.345]");
}

static void test_key_values(void)
{
    start(0);
    osc_jw_begin_obj(&w);
    osc_jw_kv_str(&w, "a", OSC_STR("x"));
    osc_jw_kv_u64(&w, "b", 1);
    osc_jw_kv_f64(&w, "c", 2.5);
    osc_jw_kv_bool(&w, "d", false);
    osc_jw_kv_cstr(&w, "e", NULL);
    osc_jw_key_str(&w, OSC_STR("f\"g"));
    osc_jw_cstr(&w, "");
    osc_jw_end_obj(&w);
    TAP_EQ_STR(text(), "{\"a\":\"x\",\"b\":1,\"c\":2.5,\"d\":false,\"e\":null,\"f\\\"g\":\"\"}");
}

static void test_quote(void)
{
    start(0);
    osc_json_quote(&out, osc_str_make("\"\\\n\t\0\x1f\x7f/", 8));
    TAP_EQ_STR(text(), "\"\\\"\\\\\\n\\t\\u0000\\u001f\\u007f/\"");
    osc_buf_clear(&out);
    osc_json_quote(&out, OSC_STR("\xc2\x80\xc2\x9b\xc2\xa0"));
    TAP_EQ_STR(text(), "\"\\u0080\\u009b\xc2\xa0\"");
    start(0);
    osc_json_quote(&out, OSC_STR("\xe4\xb8\xad\xff\xed\xa0\x80"));
    TAP_EQ_STR(text(), "\"\xe4\xb8\xad\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Each of these is a mistake of the caller; the buffer's failure tells. */
static void test_misuse_fails(void)
{
    start(0);
    osc_jw_end_obj(&w);
    TAP_OK(out.failed);
    start(0);
    osc_jw_key(&w, "k");
    TAP_OK(out.failed);
    start(0);
    osc_jw_begin_obj(&w);
    osc_jw_i64(&w, 1);
    TAP_OK(out.failed);
    start(0);
    osc_jw_begin_obj(&w);
    osc_jw_key(&w, "k");
    osc_jw_key(&w, "k");
    TAP_OK(out.failed);
    start(0);
    osc_jw_begin_obj(&w);
    osc_jw_key(&w, "k");
    osc_jw_end_obj(&w);
    TAP_OK(out.failed);
    start(0);
    osc_jw_begin_arr(&w);
    osc_jw_end_obj(&w);
    TAP_OK(out.failed);
    start(0);
    osc_jw_i64(&w, 1);
    osc_jw_i64(&w, 2);
    TAP_OK(out.failed);
    start(0);
    for (int i = 0; i <= OSC_JSON_MAX_DEPTH; i++)
        osc_jw_begin_arr(&w);
    TAP_OK(out.failed);
}

/* Random bytes as strings always scan, unescape to valid UTF-8, and quote to the same text again. */
static void test_random_strings_survive(void)
{
    osc_rng rng = {77};
    osc_buf back;
    osc_buf_init(&back, SIZE_MAX);
    bool good = true;
    for (int i = 0; i < 2000 && good; i++) {
        char bytes[40];
        size_t n = (size_t)osc_rng_below(&rng, sizeof bytes);
        osc_rng_bytes(&rng, bytes, n);
        start(0);
        osc_jw_str(&w, osc_str_make(bytes, n));
        osc_json j;
        osc_json_init(&j, (const char *)out.data, out.len);
        osc_json_token t = osc_json_next(&j);
        osc_buf_clear(&back);
        good = t.type == OSC_JSON_STRING && osc_json_next(&j).type == OSC_JSON_END &&
               osc_json_unescape(t.text, &back, NULL) && osc_utf8_valid(osc_buf_view(&back)) &&
               osc_utf8_valid(osc_buf_view(&out));
        if (good && osc_utf8_valid(osc_str_make(bytes, n)))
            good = osc_str_eq(osc_buf_view(&back), osc_str_make(bytes, n));
    }
    TAP_OK(good);
    osc_buf_free(&back);
}

int main(void)
{
    TAP_RUN(test_compact);
    TAP_RUN(test_indented);
    TAP_RUN(test_numbers);
    TAP_RUN(test_key_values);
    TAP_RUN(test_quote);
    TAP_RUN(test_misuse_fails);
    TAP_RUN(test_random_strings_survive);
    osc_buf_free(&out);
    return tap_done();
}
