/*
 * alu.c - operators on arrays (see alu.h).
 *
 * One flat loop per operator, chosen by table once per block. Semantics follow PyTorch's CPU
 * kernels where the hardware documentation is silent: MAX and MIN hand on NaN, FLOORMOD takes the
 * sign of the divisor, RELU hands on NaN.
 */
#include "neuron/device/alu.h"

#include "neuron/device/clones.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define DEFINE_F32(name, expression)                                                  \
    DEV_CLONES static void name(float *out, const float *a, const float *b, size_t n) \
    {                                                                                 \
        (void)b;                                                                      \
        for (size_t i = 0; i < n; i++)                                                \
            out[i] = (expression);                                                    \
    }

/* A comparison with NaN is false, so the other operand is taken; then a NaN on the left is put
 * back. */
static inline float max_nan(float a, float b)
{
    float m = a > b ? a : b;
    return a != a ? a : m;
}

static inline float min_nan(float a, float b)
{
    float m = a < b ? a : b;
    return a != a ? a : m;
}

static inline float floor_mod(float a, float b)
{
    float m = fmodf(a, b);
    if (m != 0.0f && (b < 0.0f) != (m < 0.0f))
        m += b;
    return m;
}

DEFINE_F32(f_bypass, a[i])
DEFINE_F32(f_add, a[i] + b[i])
DEFINE_F32(f_sub, a[i] - b[i])
DEFINE_F32(f_mul, a[i] * b[i])
DEFINE_F32(f_div, a[i] / b[i])
DEFINE_F32(f_max, max_nan(a[i], b[i]))
DEFINE_F32(f_min, min_nan(a[i], b[i]))
DEFINE_F32(f_eq, a[i] == b[i] ? 1.0f : 0.0f)
DEFINE_F32(f_ne, a[i] != b[i] ? 1.0f : 0.0f)
DEFINE_F32(f_ge, a[i] >= b[i] ? 1.0f : 0.0f)
DEFINE_F32(f_gt, a[i] > b[i] ? 1.0f : 0.0f)
DEFINE_F32(f_le, a[i] <= b[i] ? 1.0f : 0.0f)
DEFINE_F32(f_lt, a[i] < b[i] ? 1.0f : 0.0f)
DEFINE_F32(f_and, ((a[i] != 0.0f) & (b[i] != 0.0f)) ? 1.0f : 0.0f)
DEFINE_F32(f_or, ((a[i] != 0.0f) | (b[i] != 0.0f)) ? 1.0f : 0.0f)
DEFINE_F32(f_xor, ((a[i] != 0.0f) ^ (b[i] != 0.0f)) ? 1.0f : 0.0f)
DEFINE_F32(f_absmax, max_nan(fabsf(a[i]), fabsf(b[i])))
DEFINE_F32(f_absmin, min_nan(fabsf(a[i]), fabsf(b[i])))
DEFINE_F32(f_abs, fabsf(a[i]))
DEFINE_F32(f_square, a[i] * a[i])
DEFINE_F32(f_relu, a[i] < 0.0f ? 0.0f : a[i])
DEFINE_F32(f_rsqrt, 1.0f / sqrtf(a[i]))
DEFINE_F32(f_recip, 1.0f / a[i])

/* These call the C library for each element. */
static void f_pow(float *out, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = powf(a[i], b[i]);
}

static void f_fmod(float *out, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = fmodf(a[i], b[i]);
}

static void f_floormod(float *out, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = floor_mod(a[i], b[i]);
}

static dev_alu_fn *const F32_TABLE[OSC_ALU_COUNT] = {
    [OSC_ALU_BYPASS] = f_bypass,
    [OSC_ALU_ADD] = f_add,
    [OSC_ALU_SUB] = f_sub,
    [OSC_ALU_MUL] = f_mul,
    [OSC_ALU_DIV] = f_div,
    [OSC_ALU_MAX] = f_max,
    [OSC_ALU_MIN] = f_min,
    [OSC_ALU_POW] = f_pow,
    [OSC_ALU_EQ] = f_eq,
    [OSC_ALU_NE] = f_ne,
    [OSC_ALU_GE] = f_ge,
    [OSC_ALU_GT] = f_gt,
    [OSC_ALU_LE] = f_le,
    [OSC_ALU_LT] = f_lt,
    [OSC_ALU_AND] = f_and,
    [OSC_ALU_OR] = f_or,
    [OSC_ALU_XOR] = f_xor,
    [OSC_ALU_ABSMAX] = f_absmax,
    [OSC_ALU_ABSMIN] = f_absmin,
    [OSC_ALU_ABS] = f_abs,
    [OSC_ALU_SQUARE] = f_square,
    [OSC_ALU_RELU] = f_relu,
    [OSC_ALU_RSQRT] = f_rsqrt,
    [OSC_ALU_RECIP] = f_recip,
    [OSC_ALU_FLOORMOD] = f_floormod,
    [OSC_ALU_FMOD] = f_fmod,
};

dev_alu_fn *dev_alu_f32(uint8_t op)
{
    assert(op < OSC_ALU_COUNT);
    return F32_TABLE[op];
}

bool dev_alu_is_unary(uint8_t op)
{
    switch (op) {
    case OSC_ALU_BYPASS:
    case OSC_ALU_BITNOT:
    case OSC_ALU_ABS:
    case OSC_ALU_SQUARE:
    case OSC_ALU_RELU:
    case OSC_ALU_RSQRT:
    case OSC_ALU_RECIP: return true;
    default: return false;
    }
}

bool dev_alu_is_bitwise(uint8_t op)
{
    return op >= OSC_ALU_BITAND && op <= OSC_ALU_SHR;
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Square and multiply; a negative exponent gives 0 except for bases 1 and -1, as in PyTorch. */
static int64_t pow_i64(int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
    int64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0)
            result = wrap_mul(result, base);
        base = wrap_mul(base, base);
    }
    return result;
}

static int64_t div_i64(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t rem_i64(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t floormod_i64(int64_t a, int64_t b)
{
    int64_t m = rem_i64(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static int64_t abs_i64(int64_t a)
{
    return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
}

static int64_t shl_i64(int64_t a, int64_t b)
{
    return b < 0 || b > 31 ? 0 : (int64_t)((uint64_t)a << b);
}

static int64_t shr_i64(int64_t a, int64_t b)
{
    if (b < 0 || b > 31)
        return a < 0 ? -1 : 0;
    return a < 0 ? ~(~a >> b) : a >> b;
}

static int64_t add_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t sub_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

#define EACH(expression)           \
    for (size_t i = 0; i < n; i++) \
        out[i] = (expression);     \
    return

void dev_alu_i64(uint8_t op, int64_t *out, const int64_t *a, const int64_t *b, size_t n)
{
    switch (op) {
    case OSC_ALU_BYPASS: EACH(a[i]);
    case OSC_ALU_ADD: EACH(add_i64(a[i], b[i]));
    case OSC_ALU_SUB: EACH(sub_i64(a[i], b[i]));
    case OSC_ALU_MUL: EACH(wrap_mul(a[i], b[i]));
    case OSC_ALU_DIV: EACH(div_i64(a[i], b[i]));
    case OSC_ALU_MAX: EACH(a[i] > b[i] ? a[i] : b[i]);
    case OSC_ALU_MIN: EACH(a[i] < b[i] ? a[i] : b[i]);
    case OSC_ALU_POW: EACH(pow_i64(a[i], b[i]));
    case OSC_ALU_EQ: EACH(a[i] == b[i]);
    case OSC_ALU_NE: EACH(a[i] != b[i]);
    case OSC_ALU_GE: EACH(a[i] >= b[i]);
    case OSC_ALU_GT: EACH(a[i] > b[i]);
    case OSC_ALU_LE: EACH(a[i] <= b[i]);
    case OSC_ALU_LT: EACH(a[i] < b[i]);
    case OSC_ALU_AND: EACH((a[i] != 0) & (b[i] != 0));
    case OSC_ALU_OR: EACH((a[i] != 0) | (b[i] != 0));
    case OSC_ALU_XOR: EACH((a[i] != 0) ^ (b[i] != 0));
    case OSC_ALU_BITAND: EACH(a[i] & b[i]);
    case OSC_ALU_BITOR: EACH(a[i] | b[i]);
    case OSC_ALU_BITXOR: EACH(a[i] ^ b[i]);
    case OSC_ALU_BITNOT: EACH(~a[i]);
    case OSC_ALU_SHL: EACH(shl_i64(a[i], b[i]));
    case OSC_ALU_SHR: EACH(shr_i64(a[i], b[i]));
    case OSC_ALU_ABSMAX: EACH(abs_i64(a[i]) > abs_i64(b[i]) ? abs_i64(a[i]) : abs_i64(b[i]));
    case OSC_ALU_ABSMIN: EACH(abs_i64(a[i]) < abs_i64(b[i]) ? abs_i64(a[i]) : abs_i64(b[i]));
    case OSC_ALU_ABS: EACH(abs_i64(a[i]));
    case OSC_ALU_SQUARE: EACH(wrap_mul(a[i], a[i]));
    case OSC_ALU_RELU: EACH(a[i] < 0 ? 0 : a[i]);
    case OSC_ALU_FLOORMOD: EACH(floormod_i64(a[i], b[i]));
    case OSC_ALU_FMOD: EACH(rem_i64(a[i], b[i]));
    default: assert(0 && "operator has no integer form");
    }
}

static float identity_f32(uint8_t op)
{
    switch (op) {
    case OSC_ALU_MUL:
    case OSC_ALU_AND: return 1.0f;
    case OSC_ALU_MAX: return -INFINITY;
    case OSC_ALU_MIN:
    case OSC_ALU_ABSMIN: return INFINITY;
    default: return 0.0f; /* ADD, OR, XOR, ABSMAX */
    }
}

int64_t dev_reduce_identity_i64(uint8_t op)
{
    switch (op) {
    case OSC_ALU_MUL:
    case OSC_ALU_AND: return 1;
    case OSC_ALU_BITAND: return -1;
    case OSC_ALU_MAX: return INT64_MIN;
    case OSC_ALU_MIN:
    case OSC_ALU_ABSMIN: return INT64_MAX;
    default: return 0;
    }
}

void dev_lanes_start(uint8_t op, dev_lanes *lanes)
{
    float identity = identity_f32(op);
    for (unsigned i = 0; i < DEV_LANES; i++)
        lanes->lane[i] = identity;
}

DEV_CLONES static void feed_add(float *lane, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i += DEV_LANES)
        for (unsigned j = 0; j < DEV_LANES; j++)
            lane[j] += in[i + j];
}

DEV_CLONES static void feed_max(float *lane, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i += DEV_LANES)
        for (unsigned j = 0; j < DEV_LANES; j++)
            lane[j] = max_nan(lane[j], in[i + j]);
}

void dev_lanes_feed(uint8_t op, dev_lanes *lanes, const float *in, size_t n)
{
    size_t whole = n - n % DEV_LANES;
    dev_alu_fn *fn = dev_alu_f32(op);
    assert(fn != NULL);
    if (op == OSC_ALU_ADD)
        feed_add(lanes->lane, in, whole);
    else if (op == OSC_ALU_MAX)
        feed_max(lanes->lane, in, whole);
    else
        for (size_t i = 0; i < whole; i += DEV_LANES)
            fn(lanes->lane, lanes->lane, in + i, DEV_LANES);
    if (whole < n)
        fn(lanes->lane, lanes->lane, in + whole, n - whole);
}

float dev_lanes_finish(uint8_t op, const dev_lanes *lanes)
{
    float fold[DEV_LANES];
    memcpy(fold, lanes->lane, sizeof fold);
    dev_alu_fn *fn = dev_alu_f32(op);
    for (unsigned half = DEV_LANES / 2; half > 0; half /= 2)
        fn(fold, fold, fold + half, half);
    return fold[0];
}
