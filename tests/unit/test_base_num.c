/* Text to numbers and back. */
#include "tap.h"

#include "base/num.h"
#include "base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The parsed value, or `otherwise` when it was refused. */
static int64_t i64_or(const char *text, int64_t otherwise)
{
    int64_t v = otherwise;
    return osc_parse_i64(osc_str_from_cstr(text), &v) ? v : otherwise;
}

static void test_integers(void)
{
    TAP_EQ_I64(i64_or("0", 7), 0);
    TAP_EQ_I64(i64_or("-0", 7), 0);
    TAP_EQ_I64(i64_or("0012", 7), 12);
    TAP_EQ_I64(i64_or("9223372036854775807", 7), INT64_MAX);
    TAP_EQ_I64(i64_or("-9223372036854775808", 7), INT64_MIN);
    TAP_EQ_I64(i64_or("9223372036854775808", 7), 7);
    TAP_EQ_I64(i64_or("-9223372036854775809", 7), 7);
    static const char *const bad[] = {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        TAP_OKF(i64_or(bad[i], 7) == 7, "'%s' is refused", bad[i]);
}

static void test_unsigned(void)
{
    uint64_t v = 7;
    TAP_OK(osc_parse_u64(OSC_STR("18446744073709551615"), &v) && v == UINT64_MAX);
    TAP_OK(!osc_parse_u64(OSC_STR("18446744073709551616"), &v) && v == UINT64_MAX);
    TAP_OK(!osc_parse_u64(OSC_STR("-1"), &v));
    TAP_OK(osc_parse_u64_any(OSC_STR("0xFfffFFFFffffFFFF"), &v) && v == UINT64_MAX);
    TAP_OK(osc_parse_u64_any(OSC_STR("12"), &v) && v == 12);
    TAP_OK(!osc_parse_u64_any(OSC_STR("0x"), &v));
    TAP_OK(!osc_parse_u64_any(OSC_STR("0x1g"), &v));
    TAP_OK(!osc_parse_u64_any(OSC_STR("0x10000000000000000"), &v));
}

static void test_doubles(void)
{
    double v = 0;
    TAP_OK(osc_parse_f64(OSC_STR("1.5e3"), &v));
    TAP_EQ_F64(v, 1500.0);
    TAP_OK(osc_parse_f64(OSC_STR("-0"), &v) && signbit(v));
    TAP_OK(osc_parse_f64(OSC_STR("0.1"), &v));
    TAP_EQ_F64(v, 0.1);
    TAP_OK(osc_parse_f64(OSC_STR("1e999"), &v) && isinf(v));
    TAP_OK(osc_parse_f64(OSC_STR("1e-999"), &v));
    TAP_EQ_F64(v, 0.0);
    TAP_OK(osc_parse_f64(OSC_STR("+2"), &v));
    TAP_EQ_F64(v, 2.0);
    TAP_OK(osc_parse_f64(OSC_STR("-Infinity"), &v) && isinf(v) && v < 0);
    TAP_OK(osc_parse_f64(OSC_STR("NaN"), &v) && isnan(v));
    static const char *const bad[] = {"",    ".",   "1.", ".5",  "0x1p3", "1e",
                                      "1e+", "1,5", " 1", "+-1", "infx"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        TAP_OKF(!osc_parse_f64(osc_str_from_cstr(bad[i]), &v), "'%s' is refused", bad[i]);
    char huge[2000];
    memset(huge, '1', sizeof huge);
    TAP_OK(!osc_parse_f64(osc_str_make(huge, sizeof huge), &v));
    TAP_OK(osc_parse_f64(osc_str_make(huge, 1000), &v));
}

static void test_bool_and_size(void)
{
    bool b = false;
    uint64_t n = 0;
    TAP_OK(osc_parse_bool(OSC_STR("TRUE"), &b) && b);
    TAP_OK(osc_parse_bool(OSC_STR("off"), &b) && !b);
    TAP_OK(!osc_parse_bool(OSC_STR("2"), &b));
    TAP_OK(osc_parse_size(OSC_STR("512"), &n) && n == 512);
    TAP_OK(osc_parse_size(OSC_STR("4K"), &n) && n == 4096);
    TAP_OK(osc_parse_size(OSC_STR("2MiB"), &n) && n == 2 << 20);
    TAP_OK(osc_parse_size(OSC_STR("1gb"), &n) && n == 1 << 30);
    TAP_OK(osc_parse_size(OSC_STR("16T"), &n) && n == UINT64_C(16) << 40);
    TAP_OK(osc_parse_size(OSC_STR("7B"), &n) && n == 7);
    TAP_OK(!osc_parse_size(OSC_STR("K"), &n));
    TAP_OK(!osc_parse_size(OSC_STR("4X"), &n));
    TAP_OK(!osc_parse_size(OSC_STR("4KX"), &n));
    TAP_OK(!osc_parse_size(OSC_STR("99999999999999999T"), &n));
}

/* The parsed nanoseconds, or -999 when refused; *inexact as parsed. */
static int64_t ns_of(const char *text, bool *inexact)
{
    int64_t ns = -999;
    *inexact = false;
    return osc_parse_us_to_ns(osc_str_from_cstr(text), &ns, inexact) ? ns : -999;
}

static void test_microseconds(void)
{
    static const struct {
        const char *text;
        int64_t ns;
        bool inexact;
    } cases[] = {
        {"12345.678", 12345678, false},
        {"0", 0, false},
        {"0.001", 1, false},
        {"-1.5", -1500, false},
        {"1753000000000000.123", INT64_C(1753000000000000123), false},
        {"9223372036854775.807", INT64_MAX, false},
        {"-9223372036854775.808", INT64_MIN, false},
        {"9223372036854775.808", -999, false},
        {"9223372036854775.8074", INT64_MAX, true},
        {"9223372036854775.8075", -999, false},
        {"1.0004", 1000, true},
        {"1.0005", 1001, true},
        {"-1.0005", -1001, true},
        {"1.000500000000000000000000000000000000001", 1001, true},
        {"1.0000000", 1000, false},
        {"1.5e3", 1500000, false},
        {"15e-1", 1500, false},
        {"1e-3", 1, false},
        {"5e-4", 1, true},
        {"4e-4", 0, true},
        {"9e-5", 0, true},
        {"0e999999999999", 0, false},
        {"1e999999999999", -999, false},
        {"1e-999999999999", 0, true},
        {"000000000000000000000000000000000000000001", 1000, false},
        {"1e12", INT64_C(1000000000000000), false},
        {".5", 500, false},
        {"-.001", -1, false},
        {"+1", 1000, false},
        {".0e9", 0, false},
        {"", -999, false},
        {".", -999, false},
        {"+", -999, false},
        {"+-1", -999, false},
        {".e1", -999, false},
        {"1.", -999, false},
        {"1.2.3", -999, false},
        {"NaN", -999, false},
        {"1e", -999, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool inexact;
        int64_t ns = ns_of(cases[i].text, &inexact);
        TAP_OKF(ns == cases[i].ns && inexact == cases[i].inexact, "'%s' gives %" PRId64 " %d",
                cases[i].text, ns, inexact);
    }
}

static void test_scaled(void)
{
    int64_t v = 0;
    TAP_OK(osc_parse_scaled(OSC_STR("1.5"), 9, &v, NULL) && v == 1500000000);
    TAP_OK(osc_parse_scaled(OSC_STR("2.5"), 0, &v, NULL) && v == 3);
    TAP_OK(osc_parse_scaled(OSC_STR("1e3"), 0, &v, NULL) && v == 1000);
    TAP_OK(osc_parse_scaled(OSC_STR("9"), 18, &v, NULL) && v == INT64_C(9000000000000000000));
    TAP_OK(!osc_parse_scaled(OSC_STR("10"), 18, &v, NULL));
}

static void test_microseconds_round_trip(void)
{
    osc_rng rng = {5};
    bool good = true;
    for (int i = 0; i < 5000; i++) {
        char text[OSC_NUM_TEXT];
        int64_t ns = (int64_t)(osc_rng_next(&rng) >> osc_rng_below(&rng, 64)), back = 0;
        bool inexact = true;
        good =
            good &&
            osc_parse_us_to_ns(osc_str_from_cstr(osc_format_us_plain(ns, text)), &back, &inexact) &&
            back == ns && !inexact;
    }
    TAP_OK(good);
}

static void test_format_time(void)
{
    char t[OSC_NUM_TEXT];
    TAP_EQ_STR(osc_format_ns(0, t), "0.0 us");
    TAP_EQ_STR(osc_format_ns(449, t), "0.4 us");
    TAP_EQ_STR(osc_format_ns(450, t), "0.5 us");
    TAP_EQ_STR(osc_format_ns(1164500, t), "1,164.5 us");
    TAP_EQ_STR(osc_format_ns(-1500, t), "-1.5 us");
    TAP_EQ_STR(osc_format_ns(-3, t), "0.0 us");
    TAP_EQ_STR(osc_format_ns(9999949, t), "9,999.9 us");
    TAP_EQ_STR(osc_format_ns(9999950, t), "10.000 ms");
    TAP_EQ_STR(osc_format_ns(23555000, t), "23.555 ms");
    TAP_EQ_STR(osc_format_ns(12300000000, t), "12.300 s");
    TAP_EQ_STR(osc_format_ns(INT64_MIN, t), "-9,223,372,036.855 s");
    TAP_EQ_STR(osc_format_us(1164512, 1, t), "1,164.5");
    TAP_EQ_STR(osc_format_us(1164512, 0, t), "1,165");
    TAP_EQ_STR(osc_format_us(1164512, 3, t), "1,164.512");
    TAP_EQ_STR(osc_format_us_plain(1164512, t), "1164.512");
    TAP_EQ_STR(osc_format_us_plain(-1, t), "-0.001");
    TAP_EQ_STR(osc_format_us_plain(INT64_MIN, t), "-9223372036854775.808");
}

static void test_round(void)
{
    static const double values[] = {
        0, 0.5, -0.5, 1.5, 2.5, -2.5, 49.499, 0.49999999999999994, 4503599627370495.5, -9.2e18};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        TAP_EQ_I64(osc_round(values[i]), llround(values[i]));
    TAP_EQ_I64(osc_round(0.49999999999999994), 0); /* adding a half first would make it 1 */
    TAP_EQ_I64(osc_round(-2.5), -3);
}

static void test_format_counts(void)
{
    char t[OSC_NUM_TEXT];
    TAP_EQ_STR(osc_format_count(0, t), "0");
    TAP_EQ_STR(osc_format_count(999, t), "999");
    TAP_EQ_STR(osc_format_count(1312, t), "1,312");
    TAP_EQ_STR(osc_format_count(-40000, t), "-40,000");
    TAP_EQ_STR(osc_format_count(INT64_MIN, t), "-9,223,372,036,854,775,808");
    TAP_EQ_STR(osc_format_bytes(0, t), "0 B");
    TAP_EQ_STR(osc_format_bytes(999, t), "999 B");
    TAP_EQ_STR(osc_format_bytes(4096, t), "4.1 KB");
    TAP_EQ_STR(osc_format_bytes(999950, t), "1.0 MB");
    TAP_EQ_STR(osc_format_bytes(25165824, t), "25.2 MB");
    TAP_EQ_STR(osc_format_bytes(UINT64_MAX, t), "18.4 EB");
    TAP_EQ_STR(osc_format_fixed(1234.5, 2, t), "1,234.50");
    TAP_EQ_STR(osc_format_fixed(-0.001, 1, t), "0.0");
    TAP_EQ_STR(osc_format_fixed(49.45, 0, t), "49");
    TAP_EQ_STR(osc_format_fixed(-2.5, 0, t), "-3");
    TAP_EQ_STR(osc_format_fixed(INFINITY, 1, t), "inf");
    TAP_EQ_STR(osc_format_fixed(NAN, 1, t), "nan");
    TAP_EQ_STR(osc_format_fixed(1e300, 1, t), "1e+300");
}

static void test_format_double(void)
{
    char t[OSC_NUM_TEXT];
    TAP_EQ_STR(osc_format_f64(0.1, t), "0.1");
    TAP_EQ_STR(osc_format_f64(3.0, t), "3.0");
    TAP_EQ_STR(osc_format_f64(-0.0, t), "-0.0");
    TAP_EQ_STR(osc_format_f64(1e22, t), "1e+22");
    TAP_EQ_STR(osc_format_f64(0.1 + 0.2, t), "0.30000000000000004");
    TAP_EQ_STR(osc_format_f64(5e-324, t), "5e-324");
    TAP_EQ_STR(osc_format_f64(NAN, t), "nan");
    TAP_EQ_STR(osc_format_f64(-INFINITY, t), "-inf");
    osc_rng rng = {11};
    bool good = true;
    for (int i = 0; i < 5000; i++) {
        uint64_t bits = osc_rng_next(&rng);
        double v, back = 0;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        good = good && osc_parse_f64(osc_str_from_cstr(osc_format_f64(v, t)), &back) &&
               memcmp(&v, &back, sizeof v) == 0;
    }
    TAP_OK(good);
}

int main(void)
{
    TAP_RUN(test_integers);
    TAP_RUN(test_unsigned);
    TAP_RUN(test_doubles);
    TAP_RUN(test_bool_and_size);
    TAP_RUN(test_microseconds);
    TAP_RUN(test_scaled);
    TAP_RUN(test_microseconds_round_trip);
    TAP_RUN(test_format_time);
    TAP_RUN(test_round);
    TAP_RUN(test_format_counts);
    TAP_RUN(test_format_double);
    return tap_done();
}
