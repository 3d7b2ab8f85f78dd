/* test_read_scan.c - the forgiving scanner: agrees with JSON, repairs what real files break. */
#include "tap.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/rng.h"
#include "scope/read/scan.h"

#include <stdlib.h>
#include <string.h>

static osc_scan scan_of(const char *text)
{
    osc_scan s;
    osc_scan_init(&s, text, strlen(text));
    return s;
}

static void test_values(void)
{
    osc_scan s = scan_of(" [\"a\\\"b\" , -12.5e3, true, {\"x\":[1,{\"y\":2}]}, [1,2] ] ");
    osc_scan_value v = {0};
    bool ended;
    TAP_OK(osc_scan_take(&s, '['));
    TAP_OK(osc_scan_element(&s, &ended) && osc_scan_value_next(&s, &v));
    TAP_OK(v.type == OSC_SCAN_STRING && v.escaped);
    TAP_EQ_VIEW(v.text, "a\\\"b");
    TAP_OK(osc_scan_element(&s, &ended) && osc_scan_value_next(&s, &v));
    TAP_OK(v.type == OSC_SCAN_NUMBER);
    TAP_EQ_VIEW(v.text, "-12.5e3");
    TAP_OK(osc_scan_element(&s, &ended) && osc_scan_value_next(&s, &v));
    TAP_OK(v.type == OSC_SCAN_WORD);
    TAP_OK(osc_scan_element(&s, &ended) && osc_scan_value_next(&s, &v));
    TAP_OK(v.type == OSC_SCAN_OBJECT);
    TAP_EQ_VIEW(v.text, "{\"x\":[1,{\"y\":2}]}");
    TAP_OK(osc_scan_element(&s, &ended) && osc_scan_value_next(&s, &v));
    TAP_OK(v.type == OSC_SCAN_ARRAY);
    TAP_OK(!osc_scan_element(&s, &ended) && ended);
    TAP_OK(!osc_scan_value_next(&s, &v));
    TAP_EQ_U64(s.repairs[OSC_REPAIR_WORD], 0);
}

/* known-bad-inputs.md J02: a quote inside a name that nobody escaped. */
static void test_bare_quotes(void)
{
    osc_scan s = scan_of("\"quote \" inside\", 7");
    osc_scan_value v;
    TAP_OK(osc_scan_value_next(&s, &v));
    TAP_EQ_VIEW(v.text, "quote \" inside");
    TAP_EQ_U64(s.repairs[OSC_REPAIR_BARE_QUOTE], 1);
    TAP_EQ_U64(s.first_repair[OSC_REPAIR_BARE_QUOTE], 7);
}

/* J07, J08: inf, N/A; J09: commas. */
static void test_words_and_commas(void)
{
    osc_scan s = scan_of("{\"bandwidth (GB/s)\": N/A, , \"x\": inf,}");
    osc_scan_value key, v;
    bool ended;
    TAP_OK(osc_scan_take(&s, '{'));
    TAP_OK(osc_scan_member(&s, &key, &ended) && osc_scan_value_next(&s, &v));
    TAP_EQ_VIEW(v.text, "N/A");
    TAP_OK(osc_scan_member(&s, &key, &ended) && osc_scan_value_next(&s, &v));
    TAP_EQ_VIEW(key.text, "x");
    TAP_OK(!osc_scan_member(&s, &key, &ended) && ended);
    TAP_EQ_U64(s.repairs[OSC_REPAIR_WORD], 2);
    TAP_EQ_U64(s.repairs[OSC_REPAIR_COMMA], 2);
}

static void check_unescape(const char *json, const char *want, uint64_t repairs)
{
    osc_scan s = scan_of(json);
    osc_scan_value v;
    osc_buf out;
    osc_buf_init(&out, SIZE_MAX);
    TAP_OK(osc_scan_value_next(&s, &v));
    osc_scan_unescape(&s, &v, &out);
    TAP_EQ_VIEW(osc_buf_view(&out), want);
    TAP_EQ_U64(s.repairs[OSC_REPAIR_ESCAPE], repairs);
    osc_buf_free(&out);
}

static void test_unescape(void)
{
    check_unescape("\"a\\u0062\\n\\/\"", "ab\n/", 0);
    check_unescape("\"\\ud83d\\ude80\"", "\xf0\x9f\x9a\x80", 0);
    check_unescape("\"\\ud83d x\"", "\xef\xbf\xbd x", 0); /* a lone surrogate */
    check_unescape("\"C:\\Users\"", "C:\\Users", 1);      /* J01 */
    check_unescape("\"\\u12\"", "\\u12", 1);
}

static void test_resync(void)
{
    const char *text =
        "[{\"ph\":\"X\",\"name\":oops \"args\":{\"name\":\"n\"} junk {\"cat\":\"k\"}]";
    osc_scan s = scan_of(text);
    TAP_OK(osc_scan_resync(&s, 1));
    TAP_EQ_U64(s.pos, (size_t)(strstr(text, "{\"cat\"") - text)); /* not the args object */
    TAP_OK(!osc_scan_resync(&s, s.pos));
    TAP_EQ_U64(s.pos, strlen(text));
}

/* The next element of an array, as a number and as a time. */
static bool next_number(osc_scan *s, int64_t *number, int64_t *ns)
{
    osc_scan_value v;
    bool ended;
    *ns = -1;
    if (!osc_scan_element(s, &ended) || !osc_scan_value_next(s, &v))
        return false;
    (void)!osc_scan_us_to_ns(&v, ns);
    return osc_scan_i64(&v, number);
}

static void test_numbers(void)
{
    osc_scan s = scan_of("[12, \"13\", 14.0, 18446744073709551615, 1e2, x]");
    int64_t n = 0, ns = 0;
    TAP_OK(osc_scan_take(&s, '['));
    TAP_OK(next_number(&s, &n, &ns) && n == 12 && ns == 12000);
    TAP_OK(next_number(&s, &n, &ns) && n == 13 && ns == 13000);
    TAP_OK(next_number(&s, &n, &ns) && n == 14 && ns == 14000);
    TAP_OK(!next_number(&s, &n, &ns) && ns == INT64_MAX); /* J12, U08 */
    TAP_OK(next_number(&s, &n, &ns) && n == 100 && ns == 100000);
    TAP_OK(!next_number(&s, &n, &ns) && ns == -1);
}

/* Writes a random JSON value; numbers, texts and containers to a depth. */
static void random_value(osc_rng *rng, osc_jw *w, int depth)
{
    switch (osc_rng_below(rng, depth > 0 ? 6 : 4)) {
    case 0: osc_jw_i64(w, (int64_t)osc_rng_next(rng)); break;
    case 1: osc_jw_f64(w, osc_rng_unit(rng)); break;
    case 2: osc_jw_str(w, OSC_STR("te\"x\\t ,:}]\n")); break;
    case 3: osc_jw_bool(w, osc_rng_below(rng, 2) == 0); break;
    case 4:
        osc_jw_begin_obj(w);
        for (uint64_t i = osc_rng_below(rng, 4); i > 0; i--) {
            osc_jw_key(w, i % 2 ? "k\"{" : "plain");
            random_value(rng, w, depth - 1);
        }
        osc_jw_end_obj(w);
        break;
    default:
        osc_jw_begin_arr(w);
        for (uint64_t i = osc_rng_below(rng, 4); i > 0; i--)
            random_value(rng, w, depth - 1);
        osc_jw_end_arr(w);
        break;
    }
}

/* On valid JSON: one value, all of it, no repair. */
static void test_agrees_with_json(void)
{
    osc_rng rng = {42};
    for (int i = 0; i < 2000; i++) {
        osc_buf out;
        osc_jw w;
        osc_scan s;
        osc_scan_value v;
        osc_buf_init(&out, SIZE_MAX);
        osc_jw_init(&w, &out, i % 3 == 0 ? 2 : 0);
        random_value(&rng, &w, 5);
        osc_scan_init(&s, (const char *)out.data, out.len);
        bool ok = osc_scan_value_next(&s, &v) && osc_scan_peek(&s) == '\0' && s.pos == s.len;
        for (unsigned r = 0; r < OSC_REPAIR_COUNT; r++)
            ok = ok && s.repairs[r] == 0;
        TAP_OKF(ok, "seed 42, value %d: %s", i, osc_buf_c_str(&out));
        osc_buf_free(&out);
    }
}

/* Depth costs a counter (known-bad-inputs.md U06); a string of backslashes costs one pass. */
static void test_hostile_sizes(void)
{
    size_t n = 1000000;
    char *text = malloc(2 * n + 2);
    osc_scan s;
    osc_scan_value v;
    TAP_REQUIRE(text != NULL);
    memset(text, '[', n);
    memset(text + n, ']', n);
    osc_scan_init(&s, text, 2 * n);
    TAP_OK(osc_scan_value_next(&s, &v) && v.text.len == 2 * n);
    text[0] = '"';
    memset(text + 1, '\\', 2 * n);
    osc_scan_init(&s, text, 2 * n + 1);
    TAP_OK(!osc_scan_value_next(&s, &v));
    free(text);
}

int main(void)
{
    TAP_RUN(test_values);
    TAP_RUN(test_bare_quotes);
    TAP_RUN(test_words_and_commas);
    TAP_RUN(test_unescape);
    TAP_RUN(test_resync);
    TAP_RUN(test_numbers);
    TAP_RUN(test_agrees_with_json);
    TAP_RUN(test_hostile_sizes);
    return tap_done();
}
