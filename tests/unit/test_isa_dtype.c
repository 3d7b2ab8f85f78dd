/* test_isa_dtype.c - sizes, names, and the conversions against an independent statement of rounding. */
#include "tap.h"

#include "base/rng.h"
#include "isa/isa.h"

#include <math.h>
#include <string.h>

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Value of a finite 16-bit float with `mantissa` bits, by its definition. */
static double value_of(uint16_t bits, int mantissa, int bias)
{
    int exponent = (bits & 0x7fff) >> mantissa;
    double fraction = (double)(bits & ((1 << mantissa) - 1));
    double magnitude = exponent == 0
                           ? ldexp(fraction, 1 - bias - mantissa)
                           : ldexp(fraction + ldexp(1, mantissa), exponent - bias - mantissa);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void test_table(void)
{
    for (unsigned i = 1; i < OSC_DTYPE_COUNT; i++) {
        TAP_OKF(osc_dtype_size((osc_dtype)i) > 0, "size of %u", i);
        TAP_OK(strcmp(osc_dtype_name((osc_dtype)i), "?") != 0);
        for (unsigned k = 0; k < i; k++)
            TAP_OK(strcmp(osc_dtype_name((osc_dtype)i), osc_dtype_name((osc_dtype)k)) != 0);
    }
    TAP_EQ_U64(osc_dtype_size(OSC_DTYPE_NONE), 0);
    TAP_EQ_U64(osc_dtype_size((osc_dtype)99), 0);
    TAP_EQ_STR(osc_dtype_name((osc_dtype)99), "?");
    TAP_EQ_STR(osc_dtype_name(OSC_BF16), "bf16");
    TAP_OK(osc_dtype_is_float(OSC_F64) && !osc_dtype_is_native(OSC_F64));
    TAP_OK(!osc_dtype_is_float(OSC_I32) && osc_dtype_is_native(OSC_I32));
    TAP_OK(!osc_dtype_is_native(OSC_I64) && !osc_dtype_is_native(OSC_RAW128));
}

static void test_all_16_bit_values(void)
{
    unsigned wrong = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t bits = (uint16_t)i;
        float half = osc_f16_to_f32(bits), brain = osc_bf16_to_f32(bits);
        bool half_finite = (bits & 0x7c00) != 0x7c00, brain_finite = (bits & 0x7f80) != 0x7f80;
        wrong += half_finite && (double)half != value_of(bits, 10, 15);
        wrong += brain_finite && (double)brain != value_of(bits, 7, 127);
        wrong += !half_finite && (isnan(half) != ((bits & 0x3ff) != 0));
        wrong += !isnan(half) && osc_f32_to_f16(half) != bits;
        wrong += !isnan(brain) && osc_f32_to_bf16(brain) != bits;
        wrong += isnan(half) && (osc_f32_to_f16(half) & 0x7fff) <= 0x7c00;
        wrong += isnan(brain) && (osc_f32_to_bf16(brain) & 0x7fff) <= 0x7f80;
    }
    TAP_EQ_U64(wrong, 0);
}

/* The result must be nearest, and even on a tie: compare with both neighbours in exact doubles. */
static bool is_nearest_even(float value, uint16_t got, int mantissa, int bias, uint16_t infinity)
{
    uint16_t magnitude = got & 0x7fff;
    double x = fabs((double)value);
    double half_step = ldexp(1, -1);
    if (((got >> 15) != 0) != (signbit(value) != 0))
        return false;
    if (magnitude ==
        infinity) { /* at or beyond the middle between the largest and the next power */
        double top = value_of((uint16_t)(infinity - 1), mantissa, bias);
        double step = top - value_of((uint16_t)(infinity - 2), mantissa, bias);
        return x >= top + step * half_step;
    }
    double here = value_of(magnitude, mantissa, bias);
    double above = magnitude + 1 == infinity
                       ? here + (here - value_of((uint16_t)(magnitude - 1), mantissa, bias))
                       : value_of((uint16_t)(magnitude + 1), mantissa, bias);
    double below = magnitude == 0 ? -above : value_of((uint16_t)(magnitude - 1), mantissa, bias);
    bool even = (magnitude & 1) == 0;
    return (even ? x <= (here + above) / 2 && x >= (here + below) / 2
                 : x < (here + above) / 2 && x > (here + below) / 2);
}

static void test_rounding(void)
{
    osc_rng r = {7};
    unsigned wrong = 0;
    tap_note("seed 7");
    for (unsigned i = 0; i < 400000; i++) {
        /* random bits, and bits near the exponents where fp16 turns subnormal or infinite */
        uint32_t bits = (uint32_t)osc_rng_next(&r);
        if (i % 2)
            bits = (bits & 0x807fffffu) | (uint32_t)(100 + osc_rng_below(&r, 46)) << 23;
        if (i % 4 == 1)
            bits &= 0xfffff000u; /* many exact ties */
        float value = float_of(bits);
        if (isnan(value) || isinf(value))
            continue;
        wrong += !is_nearest_even(value, osc_f32_to_f16(value), 10, 15, 0x7c00);
        wrong += !is_nearest_even(value, osc_f32_to_bf16(value), 7, 127, 0x7f80);
    }
    TAP_EQ_U64(wrong, 0);
}

static void test_special_values(void)
{
    TAP_EQ_U64(osc_f32_to_f16(65504.0f), 0x7bff);
    TAP_EQ_U64(osc_f32_to_f16(65519.99f), 0x7bff);
    TAP_EQ_U64(osc_f32_to_f16(65520.0f), 0x7c00);
    TAP_EQ_U64(osc_f32_to_f16(-INFINITY), 0xfc00);
    TAP_EQ_U64(osc_f32_to_f16(5.9604645e-8f), 1);
    TAP_EQ_U64(osc_f32_to_f16(2.9802322e-8f), 0); /* half of the least: tie to even */
    TAP_EQ_U64(osc_f32_to_f16(2.9802326e-8f), 1);
    TAP_EQ_U64(osc_f32_to_f16(6.1035156e-5f), 0x400);
    TAP_EQ_U64(osc_f32_to_f16(6.1005e-5f), 0x3ff);
    TAP_EQ_U64(osc_f32_to_f16(-0.0f), 0x8000);
    TAP_EQ_U64(osc_f32_to_bf16(3.3895314e38f), 0x7f7f);
    TAP_EQ_U64(osc_f32_to_bf16(3.4028235e38f), 0x7f80);
    TAP_EQ_U64(osc_f32_to_bf16(float_of(0x7f800001u)) & 0x7fffu, 0x7fc0);
    TAP_EQ_U64(bits_of(osc_bf16_to_f32(0xffc1)), 0xffc10000u);
}

static void test_names_of_isa(void)
{
    for (unsigned i = 0; i < OSC_ALU_COUNT; i++)
        for (unsigned k = 0; k < i; k++)
            TAP_OKF(strcmp(osc_alu_name((osc_alu)i), osc_alu_name((osc_alu)k)) != 0,
                    "alu %u and %u", i, k);
    for (unsigned i = 0; i < OSC_ACT_COUNT; i++)
        for (unsigned k = 0; k < i; k++)
            TAP_OKF(strcmp(osc_act_name((osc_act)i), osc_act_name((osc_act)k)) != 0,
                    "act %u and %u", i, k);
    TAP_EQ_STR(osc_alu_name(OSC_ALU_COUNT), "?");
    TAP_EQ_STR(osc_act_name(OSC_ACT_COUNT), "?");
    TAP_EQ_STR(osc_engine_name(OSC_ENGINE_COUNT), "?");
    TAP_EQ_STR(osc_engine_name(OSC_ENGINE_VECTOR), "Vector");
    TAP_EQ_U64(osc_act_set(OSC_ACT_COPY), 0);
    TAP_EQ_U64(osc_act_set(OSC_ACT_EXP), osc_act_set(OSC_ACT_LOG));
    TAP_OK(osc_act_set(OSC_ACT_RSQRT) != osc_act_set(OSC_ACT_EXP) &&
           osc_act_set(OSC_ACT_RSQRT) != 0);
}

int main(void)
{
    TAP_RUN(test_table);
    TAP_RUN(test_all_16_bit_values);
    TAP_RUN(test_rounding);
    TAP_RUN(test_special_values);
    TAP_RUN(test_names_of_isa);
    return tap_done();
}
