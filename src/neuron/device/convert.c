/*
 * convert.c - element conversions (see convert.h).
 *
 * Each conversion is one flat loop over unaligned elements so that the compiler can vectorise it;
 * the switch over types runs once per call, that is once per block of up to a thousand elements.
 *
 * Rejected: F16C and AVX-512 intrinsics. They would be faster for fp16 only, and the portable
 * loops must exist anyway.
 */
#include "neuron/device/convert.h"

#include "isa/dtype.h"
#include "neuron/device/clones.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool dev_is_int(uint8_t dtype)
{
    switch (dtype) {
    case OSC_BOOL:
    case OSC_U8:
    case OSC_I8:
    case OSC_I16:
    case OSC_I32:
    case OSC_I64:
    case OSC_U16:
    case OSC_U32: return true;
    default: return false;
    }
}

DEV_CLONES static void bf16_to_f32(const uint8_t *raw, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, raw + 2 * i, 2);
        uint32_t u = (uint32_t)h << 16;
        memcpy(&out[i], &u, 4);
    }
}

DEV_CLONES static void f32_to_bf16(const float *in, size_t n, uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &in[i], 4);
        uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
        uint32_t quiet = (u >> 16) | 0x40u;
        uint16_t h = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
        memcpy(raw + 2 * i, &h, 2);
    }
}

/* Exponent and mantissa move to their fp32 place; a multiplication by 2^112 rebiases and
 * normalises. */
DEV_CLONES static void f16_to_f32(const uint8_t *raw, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, raw + 2 * i, 2);
        uint32_t magnitude = (uint32_t)(h & 0x7fffu) << 13;
        uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u; /* infinity, NaN */
        float scaled;
        memcpy(&scaled, &magnitude, 4);
        scaled *= 0x1p112f;
        uint32_t u;
        memcpy(&u, &scaled, 4);
        u |= special | ((uint32_t)(h & 0x8000u) << 16);
        memcpy(&out[i], &u, 4);
    }
}

static void f32_to_f16(const float *in, size_t n, uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h = osc_f32_to_f16(in[i]);
        memcpy(raw + 2 * i, &h, 2);
    }
}

#define DEFINE_TO_F32(name, type)                                         \
    DEV_CLONES static void name(const uint8_t *raw, size_t n, float *out) \
    {                                                                     \
        for (size_t i = 0; i < n; i++) {                                  \
            type v;                                                       \
            memcpy(&v, raw + sizeof v * i, sizeof v);                     \
            out[i] = (float)v;                                            \
        }                                                                 \
    }
DEFINE_TO_F32(u8_to_f32, uint8_t)
DEFINE_TO_F32(i8_to_f32, int8_t)
DEFINE_TO_F32(i16_to_f32, int16_t)
DEFINE_TO_F32(u16_to_f32, uint16_t)
DEFINE_TO_F32(i32_to_f32, int32_t)
DEFINE_TO_F32(u32_to_f32, uint32_t)
DEFINE_TO_F32(i64_to_f32, int64_t)
DEFINE_TO_F32(f64_to_f32, double)

void dev_to_f32(uint8_t dtype, const uint8_t *raw, size_t n, float *out)
{
    switch (dtype) {
    case OSC_F32: memcpy(out, raw, n * sizeof *out); return;
    case OSC_BF16: bf16_to_f32(raw, n, out); return;
    case OSC_F16: f16_to_f32(raw, n, out); return;
    case OSC_BOOL:
    case OSC_U8: u8_to_f32(raw, n, out); return;
    case OSC_I8: i8_to_f32(raw, n, out); return;
    case OSC_I16: i16_to_f32(raw, n, out); return;
    case OSC_U16: u16_to_f32(raw, n, out); return;
    case OSC_I32: i32_to_f32(raw, n, out); return;
    case OSC_U32: u32_to_f32(raw, n, out); return;
    case OSC_I64: i64_to_f32(raw, n, out); return;
    case OSC_F64: f64_to_f32(raw, n, out); return;
    default: assert(0 && "dtype has no fp32 value");
    }
}

/* low and past are exact in fp32; past is the first value beyond the type. */
#define DEFINE_FROM_F32(name, type, low, past, last)                     \
    DEV_CLONES static void name(const float *in, size_t n, uint8_t *raw) \
    {                                                                    \
        for (size_t i = 0; i < n; i++) {                                 \
            float v = in[i];                                             \
            type r;                                                      \
            if (v >= (past))                                             \
                r = (last);                                              \
            else if (v > (low))                                          \
                r = (type)v;                                             \
            else                                                         \
                r = v <= (low) ? (type)(low) : (type)0;                  \
            memcpy(raw + sizeof r * i, &r, sizeof r);                    \
        }                                                                \
    }
DEFINE_FROM_F32(f32_to_u8, uint8_t, 0.0f, 256.0f, UINT8_MAX)
DEFINE_FROM_F32(f32_to_i8, int8_t, -128.0f, 128.0f, INT8_MAX)
DEFINE_FROM_F32(f32_to_i16, int16_t, -32768.0f, 32768.0f, INT16_MAX)
DEFINE_FROM_F32(f32_to_u16, uint16_t, 0.0f, 65536.0f, UINT16_MAX)
DEFINE_FROM_F32(f32_to_i32, int32_t, -2147483648.0f, 2147483648.0f, INT32_MAX)
DEFINE_FROM_F32(f32_to_u32, uint32_t, 0.0f, 4294967296.0f, UINT32_MAX)
DEFINE_FROM_F32(f32_to_i64, int64_t, -0x1p63f, 0x1p63f, INT64_MAX)

static void f32_to_f64(const float *in, size_t n, uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)in[i];
        memcpy(raw + sizeof v * i, &v, sizeof v);
    }
}

DEV_CLONES static void f32_to_bool(const float *in, size_t n, uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &in[i], 4);
        raw[i] = (u & 0x7fffffffu) != 0;
    }
}

void dev_from_f32(uint8_t dtype, const float *in, size_t n, uint8_t *raw)
{
    switch (dtype) {
    case OSC_F32: memcpy(raw, in, n * sizeof *in); return;
    case OSC_BF16: f32_to_bf16(in, n, raw); return;
    case OSC_F16: f32_to_f16(in, n, raw); return;
    case OSC_BOOL: f32_to_bool(in, n, raw); return;
    case OSC_U8: f32_to_u8(in, n, raw); return;
    case OSC_I8: f32_to_i8(in, n, raw); return;
    case OSC_I16: f32_to_i16(in, n, raw); return;
    case OSC_U16: f32_to_u16(in, n, raw); return;
    case OSC_I32: f32_to_i32(in, n, raw); return;
    case OSC_U32: f32_to_u32(in, n, raw); return;
    case OSC_I64: f32_to_i64(in, n, raw); return;
    case OSC_F64: f32_to_f64(in, n, raw); return;
    default: assert(0 && "dtype has no fp32 value");
    }
}

#define DEFINE_TO_I64(name, type)                                           \
    DEV_CLONES static void name(const uint8_t *raw, size_t n, int64_t *out) \
    {                                                                       \
        for (size_t i = 0; i < n; i++) {                                    \
            type v;                                                         \
            memcpy(&v, raw + sizeof v * i, sizeof v);                       \
            out[i] = (int64_t)v;                                            \
        }                                                                   \
    }
DEFINE_TO_I64(u8_to_i64, uint8_t)
DEFINE_TO_I64(i8_to_i64, int8_t)
DEFINE_TO_I64(i16_to_i64, int16_t)
DEFINE_TO_I64(u16_to_i64, uint16_t)
DEFINE_TO_I64(i32_to_i64, int32_t)
DEFINE_TO_I64(u32_to_i64, uint32_t)

void dev_to_i64(uint8_t dtype, const uint8_t *raw, size_t n, int64_t *out)
{
    switch (dtype) {
    case OSC_BOOL:
    case OSC_U8: u8_to_i64(raw, n, out); return;
    case OSC_I8: i8_to_i64(raw, n, out); return;
    case OSC_I16: i16_to_i64(raw, n, out); return;
    case OSC_U16: u16_to_i64(raw, n, out); return;
    case OSC_I32: i32_to_i64(raw, n, out); return;
    case OSC_U32: u32_to_i64(raw, n, out); return;
    case OSC_I64: memcpy(out, raw, n * sizeof *out); return;
    default: assert(0 && "dtype is no integer");
    }
}

#define DEFINE_FROM_I64(name, type)                                        \
    DEV_CLONES static void name(const int64_t *in, size_t n, uint8_t *raw) \
    {                                                                      \
        for (size_t i = 0; i < n; i++) {                                   \
            type v = (type)in[i];                                          \
            memcpy(raw + sizeof v * i, &v, sizeof v);                      \
        }                                                                  \
    }
DEFINE_FROM_I64(exact_to_8, uint8_t)
DEFINE_FROM_I64(exact_to_16, uint16_t)
DEFINE_FROM_I64(exact_to_32, uint32_t)
DEFINE_FROM_I64(exact_to_f32, float)
DEFINE_FROM_I64(exact_to_f64, double)

/* Results are at most 32 bits wide where this is used, so the step over fp32 rounds only beyond
 * 2^24. */
static void exact_to_half(uint8_t dtype, const int64_t *in, size_t n, uint8_t *raw)
{
    for (size_t i = 0; i < n; i++) {
        float v = (float)in[i];
        dev_from_f32(dtype, &v, 1, raw + 2 * i);
    }
}

void dev_from_i64(uint8_t dtype, const int64_t *in, size_t n, uint8_t *raw)
{
    switch (dtype) {
    case OSC_BOOL:
        for (size_t i = 0; i < n; i++)
            raw[i] = in[i] != 0;
        return;
    case OSC_U8:
    case OSC_I8: exact_to_8(in, n, raw); return;
    case OSC_U16:
    case OSC_I16: exact_to_16(in, n, raw); return;
    case OSC_U32:
    case OSC_I32: exact_to_32(in, n, raw); return;
    case OSC_I64: memcpy(raw, in, n * sizeof *in); return;
    case OSC_F32: exact_to_f32(in, n, raw); return;
    case OSC_F64: exact_to_f64(in, n, raw); return;
    case OSC_F16:
    case OSC_BF16: exact_to_half(dtype, in, n, raw); return;
    default: assert(0 && "dtype holds no integer");
    }
}
