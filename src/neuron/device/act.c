/*
 * act.c - the activation functions of ScalarE on fp32 arrays.
 *
 * The hardware evaluates piecewise polynomials whose coefficients are not public; this device
 * gives the function itself, to a few units in the last place, with the formulas PyTorch's CPU
 * kernels use, so that device and CPU agree within 1e-5. The exponential, tanh and erf, on which
 * half of the functions rest, are polynomials that vectorise; the others call the C library.
 *
 * Rejected: modelling the hardware's approximation error. It is unknown, and wrong values that
 * look right are worse than better values than the hardware's.
 */
#include "neuron/device/alu.h"
#include "neuron/device/clones.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Where softplus goes over to x itself (PyTorch's default threshold). */
static const float SOFTPLUS_LINEAR = 20.0f;

/*
 * Eight values at a time, by the compilers' vector extension: both compilers then make the same
 * code for both instruction sets, which their loop vectorisers do not promise for code with
 * selections. Passed by pointer, because how such vectors are passed by value depends on the
 * instruction set.
 */
typedef float f8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));
enum { WIDTH = 8 };

#define SPLAT(v)         ((f8){(v), (v), (v), (v), (v), (v), (v), (v)})
#define PICK(mask, a, b) ((f8)(((i8)(a) & (mask)) | ((i8)(b) & ~(mask))))
#define ABS8(x)          ((f8)((i8)(x)&0x7fffffff))
#define SIGN_OF(x, y)    ((f8)(((i8)(x) & (i8)SPLAT(-0.0f)) | (i8)(y)))

/*
 * exp(x) = 2^k * exp(r), k = round(x / ln 2), |r| <= ln 2 / 2, ln 2 in two parts so that r is
 * exact enough. The polynomial is the minimax one of the Cephes library (relative error below
 * 2e-8). 2^k goes on in two factors, so that results in the subnormal range and at the top are
 * right.
 */
static inline __attribute__((always_inline)) void exp8(const f8 *in, f8 *out)
{
    const f8 magic = SPLAT(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    f8 x = *in;
    f8 bounded = PICK(x > 89.0f, SPLAT(89.0f), x);
    bounded = PICK(bounded >= -104.0f, bounded, SPLAT(-104.0f)); /* NaN too: put back at the end */
    f8 k = (bounded * 1.44269504088896341f + magic) - magic;
    f8 r = (bounded - k * 0.693359375f) - k * -2.12194440e-4f;
    f8 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    i8 exponent = __builtin_convertvector(k, i8);
    i8 half = exponent >> 1;
    f8 low = (f8)((half + 127) << 23), high = (f8)((exponent - half + 127) << 23);
    *out = PICK(x == x, p * low * high, x);
}

/* Near 0 the polynomial of the Cephes library, else 1 - 2 / (exp(2|x|) + 1). */
static inline __attribute__((always_inline)) void tanh8(const f8 *in, f8 *out)
{
    f8 x = *in, a = ABS8(x), z = x * x, twice = a + a, e;
    exp8(&twice, &e);
    f8 far = 1.0f - 2.0f / (e + 1.0f);
    f8 p = z * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * z + -5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z + -3.33332819422e-1f;
    f8 near = p * z * x + x;
    *out = PICK(a < 0.625f, near, SIGN_OF(x, far));
}

/* Near 0 an odd polynomial, else 1 - exp(polynomial in |x|); both within 2 units in the last
 * place. */
static inline __attribute__((always_inline)) void erf8(const f8 *in, f8 *out)
{
    f8 x = *in, t = ABS8(x), s = x * x, e;
    f8 q = (t * -1.72853470e-5f + 3.83197126e-4f) * s + (t * -3.88396438e-3f + 2.42546219e-2f);
    q = q * t + -1.06777877e-1f;
    q = q * t + -6.34846687e-1f;
    q = q * t + -1.28717512e-1f;
    q = q * t - t;
    exp8(&q, &e);
    f8 far = 1.0f - e;
    f8 p = s * -5.96761703e-4f + 4.99119423e-3f;
    p = p * s + -2.67681349e-2f;
    p = p * s + 1.12819925e-1f;
    p = p * s + -3.76125336e-1f;
    p = p * s + 1.28379166e-1f;
    f8 near = p * x + x;
    *out = PICK(t > 0.927734375f, SIGN_OF(x, far), near);
}

static inline __attribute__((always_inline)) void sigmoid8(const f8 *in, f8 *out)
{
    f8 negative = -*in, e;
    exp8(&negative, &e);
    *out = 1.0f / (1.0f + e);
}

static inline __attribute__((always_inline)) void silu8(const f8 *in, f8 *out)
{
    f8 negative = -*in, e;
    exp8(&negative, &e);
    *out = *in / (1.0f + e);
}

static inline __attribute__((always_inline)) void gelu8(const f8 *in, f8 *out)
{
    f8 scaled = *in * 0.70710678118654752f, e;
    erf8(&scaled, &e);
    *out = *in * 0.5f * (1.0f + e);
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
static inline __attribute__((always_inline)) void gelu_tanh8(const f8 *in, f8 *out)
{
    f8 x = *in, t;
    f8 inner = 0.7978845608028654f * (x + 0.044715f * (x * x * x));
    tanh8(&inner, &t);
    *out = 0.5f * x * (1.0f + t);
}

/* x tanh(log(1 + e)) with e = exp(x) is x (e^2 + 2e) / (e^2 + 2e + 2); x itself where softplus is
 * x. */
static inline __attribute__((always_inline)) void mish8(const f8 *in, f8 *out)
{
    f8 x = *in, e;
    exp8(&x, &e);
    f8 n = e * (e + 2.0f);
    *out = PICK(x > SOFTPLUS_LINEAR, x, x * (n / (n + 2.0f)));
}

/* A loop over whole vectors, the rest in a padded one. */
#define DEFINE_ACT8(name, eight)                                       \
    DEV_CLONES static void name(float *out, const float *in, size_t n) \
    {                                                                  \
        f8 x, y;                                                       \
        size_t i = 0;                                                  \
        for (; i + WIDTH <= n; i += WIDTH) {                           \
            memcpy(&x, in + i, sizeof x);                              \
            eight(&x, &y);                                             \
            memcpy(out + i, &y, sizeof y);                             \
        }                                                              \
        if (i < n) {                                                   \
            x = SPLAT(0.0f);                                           \
            memcpy(&x, in + i, (n - i) * sizeof *in);                  \
            eight(&x, &y);                                             \
            memcpy(out + i, &y, (n - i) * sizeof *out);                \
        }                                                              \
    }

#define DEFINE_ACT(name, expression)                                   \
    DEV_CLONES static void name(float *out, const float *in, size_t n) \
    {                                                                  \
        for (size_t i = 0; i < n; i++) {                               \
            float x = in[i];                                           \
            out[i] = (expression);                                     \
        }                                                              \
    }

/* For functions that call the C library there is nothing to vectorise. */
#define DEFINE_ACT_LIBM(name, expression)                   \
    static void name(float *out, const float *in, size_t n) \
    {                                                       \
        for (size_t i = 0; i < n; i++) {                    \
            float x = in[i];                                \
            out[i] = (expression);                          \
        }                                                   \
    }

static inline float softplus_one(float x)
{
    return x > SOFTPLUS_LINEAR ? x : log1pf(expf(x));
}

/* 0 for NaN, as PyTorch's vectorised sign. */
static inline float sign_one(float x)
{
    return (x > 0.0f ? 1.0f : 0.0f) - (x < 0.0f ? 1.0f : 0.0f);
}

DEFINE_ACT(a_copy, x)
DEFINE_ACT(a_square, x *x)
DEFINE_ACT(a_relu, x < 0.0f ? 0.0f : x)
DEFINE_ACT8(a_sigmoid, sigmoid8)
DEFINE_ACT8(a_silu, silu8)
DEFINE_ACT8(a_exp, exp8)
DEFINE_ACT(a_sign, sign_one(x))
DEFINE_ACT(a_abs, fabsf(x))
DEFINE_ACT(a_sqrt, sqrtf(x))
DEFINE_ACT(a_rsqrt, 1.0f / sqrtf(x))
DEFINE_ACT(a_recip, 1.0f / x)
DEFINE_ACT8(a_gelu, gelu8)
DEFINE_ACT8(a_gelu_tanh, gelu_tanh8)
DEFINE_ACT8(a_tanh, tanh8)
DEFINE_ACT_LIBM(a_softplus, softplus_one(x))
DEFINE_ACT8(a_mish, mish8)
DEFINE_ACT8(a_erf, erf8)
DEFINE_ACT_LIBM(a_log, logf(x))
DEFINE_ACT_LIBM(a_log1p, log1pf(x))
DEFINE_ACT_LIBM(a_expm1, expm1f(x))
DEFINE_ACT_LIBM(a_sin, sinf(x))
DEFINE_ACT_LIBM(a_cos, cosf(x))
DEFINE_ACT_LIBM(a_arctan, atanf(x))
DEFINE_ACT_LIBM(a_floor, floorf(x))
DEFINE_ACT_LIBM(a_ceil, ceilf(x))
DEFINE_ACT_LIBM(a_trunc, truncf(x))
DEFINE_ACT_LIBM(a_round, rintf(x))

typedef void act_fn(float *out, const float *in, size_t n);

static act_fn *const ACT_TABLE[OSC_ACT_COUNT] = {
    [OSC_ACT_COPY] = a_copy,       [OSC_ACT_SQUARE] = a_square, [OSC_ACT_RELU] = a_relu,
    [OSC_ACT_SIGMOID] = a_sigmoid, [OSC_ACT_GELU] = a_gelu,     [OSC_ACT_GELU_TANH] = a_gelu_tanh,
    [OSC_ACT_SILU] = a_silu,       [OSC_ACT_TANH] = a_tanh,     [OSC_ACT_SOFTPLUS] = a_softplus,
    [OSC_ACT_ERF] = a_erf,         [OSC_ACT_EXP] = a_exp,       [OSC_ACT_SIGN] = a_sign,
    [OSC_ACT_ABS] = a_abs,         [OSC_ACT_LOG] = a_log,       [OSC_ACT_SIN] = a_sin,
    [OSC_ACT_COS] = a_cos,         [OSC_ACT_ARCTAN] = a_arctan, [OSC_ACT_SQRT] = a_sqrt,
    [OSC_ACT_RSQRT] = a_rsqrt,     [OSC_ACT_RECIP] = a_recip,   [OSC_ACT_LOG1P] = a_log1p,
    [OSC_ACT_EXPM1] = a_expm1,     [OSC_ACT_FLOOR] = a_floor,   [OSC_ACT_CEIL] = a_ceil,
    [OSC_ACT_TRUNC] = a_trunc,     [OSC_ACT_ROUND] = a_round,   [OSC_ACT_MISH] = a_mish,
};

void dev_act_f32(uint8_t f, float *out, const float *in, size_t n)
{
    assert(f < OSC_ACT_COUNT && ACT_TABLE[f] != NULL);
    ACT_TABLE[f](out, in, n);
}
