/* test_analysis_spans.c - sets of intervals against a bitmap of instants. */
#include "tap.h"

#include "base/rng.h"
#include "scope/analysis/spans.h"

#include <string.h>

static void test_join(void)
{
    osc_span s[] = {{8, 20}, {0, 10}, {30, 30}, {40, 35}, {20, 25}, {50, 60}, {52, 55}};
    uint32_t n = osc_spans_join(s, 7);
    TAP_EQ_U64(n, 2); /* N02: overlap is joined; touching too; empty and inverted vanish */
    TAP_EQ_I64(s[0].start_ns, 0);
    TAP_EQ_I64(s[0].end_ns, 25);
    TAP_EQ_I64(s[1].start_ns, 50);
    TAP_EQ_I64(s[1].end_ns, 60);
    TAP_EQ_I64(osc_spans_sum(s, n), 35);
    TAP_EQ_U64(osc_spans_join(s, 0), 0);
    TAP_EQ_I64(osc_spans_sum(s, 0), 0);
}

static void test_extremes(void)
{
    osc_span all[] = {{INT64_MIN, INT64_MAX}};
    osc_span part[] = {{-5, 5}};
    osc_span out[2];
    TAP_EQ_I64(osc_spans_sum(all, 1), INT64_MAX); /* does not wrap */
    TAP_EQ_I64(osc_spans_overlap(all, 1, part, 1), 10);
    TAP_EQ_U64(osc_spans_subtract(all, 1, part, 1, out), 2);
    TAP_EQ_I64(out[0].end_ns, -5);
    TAP_EQ_I64(out[1].start_ns, 5);
}

enum { INSTANTS = 64, SPANS = 12 };

static uint64_t bits(const osc_span *s, uint32_t n)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (int64_t t = s[i].start_ns; t < s[i].end_ns; t++)
            set |= UINT64_C(1) << t;
    }
    return set;
}

static bool is_joined(const osc_span *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].start_ns >= s[i].end_ns || (i > 0 && s[i - 1].end_ns >= s[i].start_ns))
            return false;
    }
    return true;
}

static uint32_t random_spans(osc_rng *rng, osc_span *s)
{
    uint32_t n = (uint32_t)(osc_rng_below(rng, SPANS));
    for (uint32_t i = 0; i < n; i++) {
        s[i].start_ns = (int64_t)(osc_rng_below(rng, INSTANTS));
        s[i].end_ns = s[i].start_ns + (int64_t)(osc_rng_below(rng, 9));
        if (s[i].end_ns > INSTANTS)
            s[i].end_ns = INSTANTS;
    }
    return n;
}

static void test_against_bitmap(void)
{
    osc_rng rng = {20261129};
    for (int round = 0; round < 2000; round++) {
        osc_span a[SPANS], b[SPANS], out[2 * SPANS];
        uint32_t na = random_spans(&rng, a), nb = random_spans(&rng, b);
        uint64_t ba = bits(a, na), bb = bits(b, nb);
        na = osc_spans_join(a, na);
        nb = osc_spans_join(b, nb);
        TAP_REQUIRE(is_joined(a, na) && is_joined(b, nb) && bits(a, na) == ba);
        TAP_REQUIRE(osc_spans_sum(a, na) == __builtin_popcountll(ba));
        TAP_REQUIRE(osc_spans_overlap(a, na, b, nb) == __builtin_popcountll(ba & bb));
        uint32_t n = osc_spans_subtract(a, na, b, nb, out);
        TAP_REQUIRE(is_joined(out, n) && bits(out, n) == (ba & ~bb));
    }
}

int main(void)
{
    TAP_RUN(test_join);
    TAP_RUN(test_extremes);
    TAP_RUN(test_against_bitmap);
    return tap_done();
}
