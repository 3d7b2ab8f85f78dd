/*
 * dtype.c - sizes, names and single-value conversions of the element types.
 *
 * The conversions work on the bits, so they give the same result on every host and need no compiler
 * support for half precision. Rounding is to nearest even, as neuroncore-model.md 3.3 says of every
 * write. Bulk conversion loops live with whoever owns the loop; these are their reference.
 *
 * Rejected: _Float16 and __bf16 of the compiler. They are not C11 and differ between gcc 12 and clang
 * in how they round through float.
 */
#include "isa/dtype.h"

#include <assert.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;
    uint8_t size; /* bytes */
    bool is_float;
    bool is_native; /* the compute engines may read and write it */
} dtype_row;

static const dtype_row ROWS[OSC_DTYPE_COUNT] = {
    [OSC_DTYPE_NONE] = {"none", 0, false, false}, [OSC_BOOL] = {"bool", 1, false, true},
    [OSC_U8] = {"uint8", 1, false, true},         [OSC_I8] = {"int8", 1, false, true},
    [OSC_I16] = {"int16", 2, false, true},        [OSC_I32] = {"int32", 4, false, true},
    [OSC_I64] = {"int64", 8, false, false},       [OSC_F16] = {"fp16", 2, true, true},
    [OSC_BF16] = {"bf16", 2, true, true},         [OSC_F32] = {"fp32", 4, true, true},
    [OSC_F64] = {"fp64", 8, true, false},         [OSC_U16] = {"uint16", 2, false, true},
    [OSC_U32] = {"uint32", 4, false, true},       [OSC_RAW128] = {"raw128", 16, false, false},
};

static const dtype_row *row_of(osc_dtype dtype)
{
    unsigned number = (unsigned)dtype;
    return number < OSC_DTYPE_COUNT ? &ROWS[number] : &ROWS[OSC_DTYPE_NONE];
}

size_t osc_dtype_size(osc_dtype dtype)
{
    return row_of(dtype)->size;
}

const char *osc_dtype_name(osc_dtype dtype)
{
    return (unsigned)dtype < OSC_DTYPE_COUNT ? ROWS[dtype].name : "?";
}

bool osc_dtype_is_float(osc_dtype dtype)
{
    return row_of(dtype)->is_float;
}

bool osc_dtype_is_native(osc_dtype dtype)
{
    return row_of(dtype)->is_native;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float osc_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 0x1fu;
    uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1f)
        return float_of_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0)
        return float_of_bits(sign | (exponent + 112u) << 23 | mantissa << 13);
    /* Zero or subnormal: mantissa * 2^-24 is exact in fp32. */
    float magnitude = (float)mantissa * 5.9604644775390625e-8f;
    return float_of_bits(sign | bits_of_float(magnitude));
}

/* value >> shift, rounded to nearest even; shift is 1..31. */
static uint32_t shift_right_rne(uint32_t value, uint32_t shift)
{
    assert(shift >= 1 && shift <= 31);
    uint32_t half = 1u << (shift - 1);
    uint32_t rest = value & ((half << 1) - 1u);
    uint32_t kept = value >> shift;
    if (rest > half || (rest == half && (kept & 1u)))
        kept++;
    return kept;
}

uint16_t osc_f32_to_f16(float value)
{
    uint32_t bits = bits_of_float(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) /* NaN: keep the top of its payload, and keep it quiet */
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x38800000u) /* 2^-14: normal in fp16; a carry out of the mantissa is right */
        return (uint16_t)(sign | (shift_right_rne(magnitude, 13) - (112u << 10)));
    if (magnitude < 0x33000000u) /* below 2^-25 */
        return (uint16_t)sign;
    uint32_t shift = 126u - (magnitude >> 23); /* 14..24 for the subnormals of fp16 */
    return (uint16_t)(sign | shift_right_rne((magnitude & 0x7fffffu) | 0x800000u, shift));
}

float osc_bf16_to_f32(uint16_t bits)
{
    return float_of_bits((uint32_t)bits << 16);
}

uint16_t osc_f32_to_bf16(float value)
{
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u); /* NaN stays NaN when its payload is cut */
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
