/*
 * test_device_values.c - what instructions compute, against slow references written here.
 *
 * Inputs go in and results come out through DMA, as in real programs, with the hazard checker and
 * poisoned memories on: a read of the wrong place gives NaN or a finding.
 */
#include "base/rng.h"
#include "device_builder.h"

static const float SPECIALS[] = {0.0f,   -0.0f,  1.0f,     -1.0f, 0.5f,    -2.5f,    3.0f,
                                 1e-30f, -1e30f, 65504.0f, 88.0f, -100.0f, INFINITY, -INFINITY,
                                 NAN,    1e-42f, 2.0f,     -3.0f, 20.5f,   7.25f};
enum { SPECIAL_COUNT = sizeof SPECIALS / sizeof *SPECIALS };

static bool same_float(float a, float b)
{
    return a == b || (a != a && b != b);
}

static bool close_float(float got, double want, double tolerance)
{
    if (want != want)
        return got != got;
    if (isinf(want) || fabs(want) > 3.4e38)
        return isinf(got) && (got > 0) == (want > 0);
    return fabs((double)got - want) <= tolerance * fabs(want) + 1e-38;
}

/* ---- operators ---- */

static double alu_reference(osc_alu op, float a, float b)
{
    switch (op) {
    case OSC_ALU_BYPASS: return (double)a;
    case OSC_ALU_ADD: return (double)(a + b);
    case OSC_ALU_SUB: return (double)(a - b);
    case OSC_ALU_MUL: return (double)(a * b);
    case OSC_ALU_DIV: return (double)(a / b);
    case OSC_ALU_MAX: return isnan(a) || isnan(b) ? NAN : (double)fmaxf(a, b);
    case OSC_ALU_MIN: return isnan(a) || isnan(b) ? NAN : (double)fminf(a, b);
    case OSC_ALU_POW: return (double)powf(a, b);
    case OSC_ALU_EQ: return a == b;
    case OSC_ALU_NE: return a != b;
    case OSC_ALU_GE: return a >= b;
    case OSC_ALU_GT: return a > b;
    case OSC_ALU_LE: return a <= b;
    case OSC_ALU_LT: return a < b;
    case OSC_ALU_AND: return a != 0 && b != 0;
    case OSC_ALU_OR: return a != 0 || b != 0;
    case OSC_ALU_XOR: return (a != 0) != (b != 0);
    case OSC_ALU_ABSMAX: return isnan(a) || isnan(b) ? NAN : (double)fmaxf(fabsf(a), fabsf(b));
    case OSC_ALU_ABSMIN: return isnan(a) || isnan(b) ? NAN : (double)fminf(fabsf(a), fabsf(b));
    case OSC_ALU_ABS: return (double)fabsf(a);
    case OSC_ALU_SQUARE: return (double)(a * a);
    case OSC_ALU_RELU: return isnan(a) ? NAN : (double)fmaxf(a, 0.0f);
    case OSC_ALU_RSQRT: return (double)(1.0f / sqrtf(a));
    case OSC_ALU_RECIP: return (double)(1.0f / a);
    case OSC_ALU_FLOORMOD: {
        float m = fmodf(a, b);
        return (double)(m != 0 && (m < 0) != (b < 0) ? m + b : m);
    }
    case OSC_ALU_FMOD: return (double)fmodf(a, b);
    default: return NAN;
    }
}

static bool is_float_op(osc_alu op)
{
    return !(op >= OSC_ALU_BITAND && op <= OSC_ALU_SHR);
}

/* Every float operator on every pair of special values, on fp32. */
static void test_alu_special_values(void)
{
    enum { N = SPECIAL_COUNT };
    for (int op = 0; op < OSC_ALU_COUNT; op++) {
        if (!is_float_op((osc_alu)op))
            continue;
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, N * N);
        uint16_t o = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, N);
        uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, N * N);
        for (uint32_t i = 0; i < N * N; i++)
            put(&b, x, OSC_F32, i, (double)SPECIALS[i % N]);
        for (uint32_t i = 0; i < N; i++)
            put(&b, o, OSC_F32, i, (double)SPECIALS[i]);
        osc_ap xs = sb(0, OSC_F32, N, N), os = sb(4096, OSC_F32, N, 1),
               ys = sb(8192, OSC_F32, N, N);
        chain(&b, load(OSC_ENGINE_SYNC, xs, hbm(x, OSC_F32, N, N)), 0);
        chain(&b, load(OSC_ENGINE_SYNC, os, hbm(o, OSC_F32, N, 1)), 1);
        osc_inst inst = tensor_scalar(OSC_ENGINE_VECTOR, (osc_alu)op, ys, xs, 0);
        inst.src[1] = os;
        chain(&b, inst, 2);
        chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, N, N), ys), 3);
        TAP_REQUIRE(bench_run(&b));
        for (uint32_t i = 0; i < N * N; i++) {
            float a = SPECIALS[i % N], second = SPECIALS[i / N];
            float got = (float)get(&b, y, OSC_F32, i),
                  want = (float)alu_reference((osc_alu)op, a, second);
            if (!same_float(got, want))
                TAP_OKF(false, "%s(%g, %g) = %g, want %g", osc_alu_name((osc_alu)op), (double)a,
                        (double)second, (double)got, (double)want);
        }
        bench_close(&b);
    }
}

/* ---- activation functions ---- */

static double act_reference(osc_act f, double x)
{
    switch (f) {
    case OSC_ACT_COPY: return x;
    case OSC_ACT_SQUARE: return x * x;
    case OSC_ACT_RELU: return isnan(x) ? NAN : fmax(x, 0);
    case OSC_ACT_SIGMOID: return 1 / (1 + exp(-x));
    case OSC_ACT_GELU: return x * 0.5 * (1 + erf(x / sqrt(2)));
    case OSC_ACT_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case OSC_ACT_SILU: return x / (1 + exp(-x));
    case OSC_ACT_TANH: return tanh(x);
    case OSC_ACT_SOFTPLUS: return x > 20 ? x : log1p(exp(x));
    case OSC_ACT_ERF: return erf(x);
    case OSC_ACT_EXP: return exp(x);
    case OSC_ACT_SIGN: return (x > 0) - (x < 0);
    case OSC_ACT_ABS: return fabs(x);
    case OSC_ACT_LOG: return log(x);
    case OSC_ACT_SIN: return sin(x);
    case OSC_ACT_COS: return cos(x);
    case OSC_ACT_ARCTAN: return atan(x);
    case OSC_ACT_SQRT: return sqrt(x);
    case OSC_ACT_RSQRT: return 1 / sqrt(x);
    case OSC_ACT_RECIP: return 1 / x;
    case OSC_ACT_LOG1P: return log1p(x);
    case OSC_ACT_EXPM1: return expm1(x);
    case OSC_ACT_FLOOR: return floor(x);
    case OSC_ACT_CEIL: return ceil(x);
    case OSC_ACT_TRUNC: return trunc(x);
    case OSC_ACT_ROUND: return rint(x);
    case OSC_ACT_MISH: return x * tanh(x > 20 ? x : log1p(exp(x)));
    default: return NAN;
    }
}

/* Where 1 + small cancels (gelu below -3), fp32 has no relative accuracy to give: PyTorch's
 * neither. */
static bool cancels(osc_act f, float x)
{
    return (f == OSC_ACT_GELU || f == OSC_ACT_GELU_TANH) && x < -1.5f;
}

static void test_activations(void)
{
    enum { ROWS = 4, COLS = 1500, N = ROWS * COLS };
    osc_rng rng = {42};
    for (int f = 0; f < OSC_ACT_COUNT; f++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, N);
        uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, N);
        for (uint32_t i = 0; i < N; i++)
            put(&b, x, OSC_F32, i,
                i < SPECIAL_COUNT ? (double)SPECIALS[i]
                : i % 2           ? osc_rng_normal(&rng)
                                  : osc_rng_unit(&rng) * 170 - 85);
        osc_ap xs = sb(0, OSC_F32, ROWS, COLS), ys = sb(8192, OSC_F32, ROWS, COLS);
        chain(&b, load(OSC_ENGINE_SYNC, xs, hbm(x, OSC_F32, ROWS, COLS)), 0);
        chain(&b, activation((osc_act)f, ys, xs, 1, 0), 1);
        chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, ROWS, COLS), ys), 2);
        TAP_REQUIRE(bench_run(&b));
        for (uint32_t i = 0; i < N; i++) {
            float in = (float)get(&b, x, OSC_F32, i), got = (float)get(&b, y, OSC_F32, i);
            double want = act_reference((osc_act)f, (double)in);
            bool ok = cancels((osc_act)f, in)
                          ? isnan(want) || fabs((double)got - want) <= 1e-6 * fabs((double)in)
                          : close_float(got, want, 1e-5);
            if (isinf(in) && isnan(want))
                ok = true; /* inf * 0 inside a formula: PyTorch's formula decides */
            if (!ok)
                TAP_OKF(false, "%s(%.9g) = %.9g, want %.9g", osc_act_name((osc_act)f), (double)in,
                        (double)got, want);
        }
        bench_close(&b);
    }
}

/* scale and bias as [P,1] columns, and the row sum. */
static void test_activation_reduce(void)
{
    enum { ROWS = 5, COLS = 2100 };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, ROWS * COLS);
    uint16_t c = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, ROWS * 2);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_BF16, ROWS * COLS);
    uint16_t s = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, ROWS);
    osc_rng rng = {7};
    for (uint32_t i = 0; i < ROWS * COLS; i++)
        put(&b, x, OSC_BF16, i, osc_rng_normal(&rng));
    for (uint32_t i = 0; i < ROWS * 2; i++)
        put(&b, c, OSC_F32, i, osc_rng_unit(&rng) + 0.5);
    osc_ap xs = sb(0, OSC_BF16, ROWS, COLS), cs = sb(8192, OSC_F32, ROWS, 2);
    osc_ap ys = sb(12288, OSC_BF16, ROWS, COLS), ss = sb(20480, OSC_F32, ROWS, 1);
    chain(&b, load(OSC_ENGINE_SYNC, xs, hbm(x, OSC_BF16, ROWS, COLS)), 0);
    chain(&b, load(OSC_ENGINE_SYNC, cs, hbm(c, OSC_F32, ROWS, 2)), 1);
    osc_inst inst = activation(OSC_ACT_SQUARE, ys, xs, 1, 0);
    inst.opcode = OSC_OP_ACTIVATION_REDUCE;
    inst.src[1] = sb(8192, OSC_F32, ROWS, 1);
    inst.src[2] = sb(8196, OSC_F32, ROWS, 1);
    inst.dst2 = ss;
    chain(&b, inst, 2);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_BF16, ROWS, COLS), ys), 3);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(s, OSC_F32, ROWS, 1), ss), 4);
    TAP_REQUIRE(bench_run(&b));
    for (uint32_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (uint32_t i = 0; i < COLS; i++) {
            float in = (float)get(&b, x, OSC_BF16, (uint64_t)r * COLS + i);
            float t =
                in * (float)get(&b, c, OSC_F32, 2 * r) + (float)get(&b, c, OSC_F32, 2 * r + 1);
            sum += (double)(t * t);
            float want = osc_bf16_to_f32(osc_f32_to_bf16(t * t));
            if (!same_float((float)get(&b, y, OSC_BF16, (uint64_t)r * COLS + i), want))
                TAP_OKF(false, "row %u element %u differs", r, i);
        }
        TAP_NEAR(get(&b, s, OSC_F32, r), sum, 1e-6 * sum);
    }
    bench_close(&b);
}

/* ---- elementwise over types, shapes, strides ---- */

/* (x[:, ::-1 by 3] * 1.5 + col) with a strided, reversed source and a transposed destination
 * pattern. */
static void test_strided_patterns(void)
{
    enum { ROWS = 33, A = 7, B = 300 };
    static const osc_dtype types[] = {OSC_F32, OSC_BF16, OSC_F16, OSC_I32,
                                      OSC_I16, OSC_U8,   OSC_BOOL};
    for (unsigned k = 0; k < sizeof types / sizeof *types; k++) {
        osc_dtype type = types[k];
        int64_t size = (int64_t)osc_dtype_size(type);
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, type, ROWS * A * B);
        uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, ROWS * A * B);
        for (uint32_t i = 0; i < ROWS * A * B; i++)
            put(&b, x, type, i,
                type == OSC_BOOL ? i * 7 / 3 % 2 : i % 251 - (type == OSC_U8 ? 0 : 100.0));
        chain(&b, load(OSC_ENGINE_SYNC, sb(0, type, ROWS, A * B), hbm(x, type, ROWS, A * B)), 0);
        osc_ap src =
            strided(sb((A * B - 1) * size, type, ROWS, 1), -B, A, -1, B); /* back to front */
        osc_ap dst = strided(sb(65536, OSC_F32, ROWS, 1), 1, A, A, B);    /* [B, A] memory order */
        osc_inst inst = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_MUL, dst, src, 1.5f);
        inst.alu[1] = OSC_ALU_ADD;
        inst.src[2] = immediate();
        inst.imm[2] = 0.25f;
        chain(&b, inst, 1);
        chain(&b,
              load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, ROWS, A * B), sb(65536, OSC_F32, ROWS, A * B)),
              2);
        TAP_REQUIRE(bench_run(&b));
        uint32_t wrong = 0;
        for (uint32_t r = 0; r < ROWS; r++)
            for (uint32_t i = 0; i < A * B; i++) {
                double in = get(&b, x, type, (uint64_t)r * A * B + (A * B - 1 - i));
                double out = get(&b, y, OSC_F32, (uint64_t)r * A * B + (i % B) * A + i / B);
                wrong += (float)out != (float)in * 1.5f + 0.25f;
            }
        TAP_OKF(wrong == 0, "%s: %u wrong", osc_dtype_name(type), wrong);
        bench_close(&b);
    }
}

/* Rounding at the store, once: nearest even for floats, truncation and saturation for integers. */
static void test_store_rounding(void)
{
    static const struct {
        osc_dtype type;
        float in;
        double want;
    } cases[] = {
        {OSC_I8, 1.9f, 1},
        {OSC_I8, -1.9f, -1},
        {OSC_I8, 300, 127},
        {OSC_I8, -300, -128},
        {OSC_I8, NAN, 0},
        {OSC_U8, -3, 0},
        {OSC_U8, 255.9f, 255},
        {OSC_U8, 256, 255},
        {OSC_I16, 40000, 32767},
        {OSC_I32, 3e9f, 2147483647.0},
        {OSC_I32, -3e9f, -2147483648.0},
        {OSC_I32, -INFINITY, -2147483648.0},
        {OSC_I32, 16777217.0f, 16777216},
        {OSC_BOOL, 0.1f, 1},
        {OSC_BOOL, -0.0f, 0},
        {OSC_BOOL, NAN, 1},
        {OSC_BF16, 1.00390625f, 1.0},
        {OSC_BF16, 1.01171875f, 1.015625},
        {OSC_BF16, 3.4e38f, INFINITY},
        {OSC_F16, 65520.0f, INFINITY},
        {OSC_F16, 2049.0f, 2048},
        {OSC_F16, 2051.0f, 2052},
        {OSC_F16, 1e-8f, 0},
        {OSC_U16, 70000, 65535},
        {OSC_U32, 5e9f, 4294967295.0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 1);
        uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, cases[i].type, 1);
        put(&b, x, OSC_F32, 0, (double)cases[i].in);
        chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_F32, 1, 1), hbm(x, OSC_F32, 1, 1)), 0);
        chain(&b,
              unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(64, cases[i].type, 1, 1),
                    sb(0, OSC_F32, 1, 1)),
              1);
        chain(&b, load(OSC_ENGINE_SYNC, hbm(y, cases[i].type, 1, 1), sb(64, cases[i].type, 1, 1)),
              2);
        TAP_REQUIRE(bench_run(&b));
        double got = get(&b, y, cases[i].type, 0);
        TAP_OKF(got == cases[i].want, "%g to %s gives %g, want %g", (double)cases[i].in,
                osc_dtype_name(cases[i].type), got, cases[i].want);
        bench_close(&b);
    }
}

/* Same-type copies keep every bit, NaN payloads and int32 beyond 2^24 included, on all engines
 * and DMA. */
static void test_copies_keep_bits(void)
{
    static const osc_engine engines[] = {OSC_ENGINE_VECTOR, OSC_ENGINE_GPSIMD, OSC_ENGINE_SCALAR};
    static const uint32_t patterns[] = {0x7fa12345u, 0xffc00001u, 0x01000001u, 0x80000000u,
                                        0x00000001u};
    for (unsigned e = 0; e < 3; e++) {
        for (unsigned f = 0; f < 2; f++) {
            osc_dtype type = f ? OSC_F32 : OSC_I32;
            bench b;
            bench_open(&b, OSC_TRN2);
            uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, type, 5);
            uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, type, 5);
            memcpy(b.memory[x], patterns, sizeof patterns);
            chain(&b, load(OSC_ENGINE_SYNC, sb(0, type, 1, 5), hbm(x, type, 1, 5)), 0);
            chain(&b, unary(OSC_OP_TENSOR_COPY, engines[e], sb(64, type, 1, 5), sb(0, type, 1, 5)),
                  1);
            chain(&b, load(OSC_ENGINE_SYNC, hbm(y, type, 1, 5), sb(64, type, 1, 5)), 2);
            TAP_REQUIRE(bench_run(&b));
            TAP_EQ_MEM(b.memory[y], patterns, sizeof patterns);
            bench_close(&b);
        }
    }
}

/* ---- exact integers ---- */

static int32_t wrap32(int64_t v)
{
    return (int32_t)(uint32_t)(uint64_t)v;
}

static void test_gpsimd_integers(void)
{
    static const int32_t values[] = {
        0, 1, -1, 7, -7, 16777217, 2147483647, -2147483647 - 1, 123456789, -46341, 3, 10};
    enum { N = sizeof values / sizeof *values };
    static const osc_alu ops[] = {OSC_ALU_ADD,      OSC_ALU_SUB,  OSC_ALU_MUL, OSC_ALU_MAX,
                                  OSC_ALU_MIN,      OSC_ALU_EQ,   OSC_ALU_LT,  OSC_ALU_DIV,
                                  OSC_ALU_FLOORMOD, OSC_ALU_FMOD, OSC_ALU_POW};
    for (unsigned k = 0; k < sizeof ops / sizeof *ops; k++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_I32, N * N);
        uint16_t z = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_I32, N * N);
        uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_I32, N * N);
        for (uint32_t i = 0; i < N * N; i++) {
            put(&b, x, OSC_I32, i, values[i / N]);
            put(&b, z, OSC_I32, i, values[i % N]);
        }
        osc_ap xs = sb(0, OSC_I32, N, N), zs = sb(4096, OSC_I32, N, N),
               ys = sb(8192, OSC_I32, N, N);
        chain(&b, load(OSC_ENGINE_SYNC, xs, hbm(x, OSC_I32, N, N)), 0);
        chain(&b, load(OSC_ENGINE_SYNC, zs, hbm(z, OSC_I32, N, N)), 1);
        chain(&b, tensor_tensor(OSC_ENGINE_GPSIMD, ops[k], ys, xs, zs), 2);
        chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_I32, N, N), ys), 3);
        TAP_REQUIRE(bench_run(&b));
        for (uint32_t i = 0; i < N * N; i++) {
            int64_t a = values[i / N], c = values[i % N], want = 0;
            int64_t rem = c == 0 ? 0 : a % c;
            switch (ops[k]) {
            case OSC_ALU_ADD: want = a + c; break;
            case OSC_ALU_SUB: want = a - c; break;
            case OSC_ALU_MUL: want = a * c; break;
            case OSC_ALU_MAX: want = a > c ? a : c; break;
            case OSC_ALU_MIN: want = a < c ? a : c; break;
            case OSC_ALU_EQ: want = a == c; break;
            case OSC_ALU_LT: want = a < c; break;
            case OSC_ALU_DIV: want = c == 0 ? 0 : a / c; break;
            case OSC_ALU_FMOD: want = rem; break;
            case OSC_ALU_FLOORMOD: want = rem != 0 && (rem < 0) != (c < 0) ? rem + c : rem; break;
            default:
                want = c < 0 ? (a == 1 ? 1 : a == -1 ? (c % 2 != 0 ? -1 : 1) : 0) : 1;
                for (int64_t n = 0; c >= 0 && c <= 1000 && n < c; n++)
                    want = wrap32(want * a);
                if (c > 1000)
                    continue;
            }
            int32_t got = (int32_t)get(&b, y, OSC_I32, i);
            if (got != wrap32(want))
                TAP_OKF(false, "%lld %s %lld = %d, want %d", (long long)a, osc_alu_name(ops[k]),
                        (long long)c, got, wrap32(want));
        }
        bench_close(&b);
    }
}

static void test_bit_operators(void)
{
    static const osc_alu ops[] = {OSC_ALU_BITAND, OSC_ALU_BITOR, OSC_ALU_BITXOR, OSC_ALU_SHL,
                                  OSC_ALU_SHR};
    enum { N = 64 };
    osc_rng rng = {3};
    for (unsigned k = 0; k < 5; k++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_I32, N),
                 z = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_I32, N);
        uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_I32, N);
        for (uint32_t i = 0; i < N; i++) {
            put(&b, x, OSC_I32, i, (int32_t)(uint32_t)osc_rng_next(&rng));
            put(&b, z, OSC_I32, i,
                k < 3 ? (int32_t)(uint32_t)osc_rng_next(&rng) : (int32_t)(i % 40));
        }
        chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_I32, 1, N), hbm(x, OSC_I32, 1, N)), 0);
        chain(&b, load(OSC_ENGINE_SYNC, sb(512, OSC_I32, 1, N), hbm(z, OSC_I32, 1, N)), 1);
        chain(&b,
              tensor_tensor(OSC_ENGINE_VECTOR, ops[k], sb(1024, OSC_I32, 1, N),
                            sb(0, OSC_I32, 1, N), sb(512, OSC_I32, 1, N)),
              2);
        chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_I32, 1, N), sb(1024, OSC_I32, 1, N)), 3);
        TAP_REQUIRE(bench_run(&b));
        for (uint32_t i = 0; i < N; i++) {
            int32_t a = (int32_t)get(&b, x, OSC_I32, i), c = (int32_t)get(&b, z, OSC_I32, i),
                    want = 0;
            switch (ops[k]) {
            case OSC_ALU_BITAND: want = a & c; break;
            case OSC_ALU_BITOR: want = a | c; break;
            case OSC_ALU_BITXOR: want = a ^ c; break;
            case OSC_ALU_SHL: want = c > 31 ? 0 : (int32_t)((uint32_t)a << c); break;
            default: want = c > 31 ? (a < 0 ? -1 : 0) : (int32_t)((int64_t)a >> c); break;
            }
            TAP_EQ_I64((int64_t)get(&b, y, OSC_I32, i), want);
        }
        bench_close(&b);
    }
}

/* (x - row) * y, three operands. */
static void test_scalar_tensor_tensor(void)
{
    enum { ROWS = 9, COLS = 1300 };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, ROWS * COLS);
    uint16_t z = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, ROWS * COLS);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, ROWS * COLS);
    for (uint32_t i = 0; i < ROWS * COLS; i++) {
        put(&b, x, OSC_F32, i, i * 0.37);
        put(&b, z, OSC_BF16, i, i % 64 - 32.0);
    }
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_F32, ROWS, COLS), hbm(x, OSC_F32, ROWS, COLS)), 0);
    chain(&b, load(OSC_ENGINE_SYNC, sb(8192, OSC_BF16, ROWS, COLS), hbm(z, OSC_BF16, ROWS, COLS)),
          1);
    osc_inst inst = unary(OSC_OP_SCALAR_TENSOR_TENSOR, OSC_ENGINE_VECTOR,
                          sb(16384, OSC_F32, ROWS, COLS), sb(0, OSC_F32, ROWS, COLS));
    inst.alu[0] = OSC_ALU_SUB;
    inst.src[1] = sb(0, OSC_F32, ROWS, 1); /* each row's first element */
    inst.alu[1] = OSC_ALU_MUL;
    inst.src[2] = sb(8192, OSC_BF16, ROWS, COLS);
    chain(&b, inst, 2);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, ROWS, COLS), sb(16384, OSC_F32, ROWS, COLS)),
          3);
    TAP_REQUIRE(bench_run(&b));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ROWS * COLS; i++) {
        float first = (float)get(&b, x, OSC_F32, i / COLS * COLS);
        float want = ((float)get(&b, x, OSC_F32, i) - first) * (float)get(&b, z, OSC_BF16, i);
        wrong += (float)get(&b, y, OSC_F32, i) != want;
    }
    TAP_EQ_U64(wrong, 0);
    bench_close(&b);
}

/* ---- select, iota, memset, reciprocal ---- */

static void test_select(void)
{
    enum { N = 1200 };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t p = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BOOL, N),
             x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_I32, N);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_I32, N);
    for (uint32_t i = 0; i < N; i++) {
        put(&b, p, OSC_BOOL, i, i % 3 == 0);
        put(&b, x, OSC_I32, i, 16777217.0 + i);
    }
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_BOOL, 1, N), hbm(p, OSC_BOOL, 1, N)), 0);
    chain(&b, load(OSC_ENGINE_SYNC, sb(2048, OSC_I32, 1, N), hbm(x, OSC_I32, 1, N)), 1);
    osc_inst inst =
        unary(OSC_OP_SELECT, OSC_ENGINE_VECTOR, sb(8192, OSC_I32, 1, N), sb(0, OSC_BOOL, 1, N));
    inst.src[1] = sb(2048, OSC_I32, 1, N);
    inst.src[2] = immediate();
    inst.imm[2] = -5;
    chain(&b, inst, 2);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_I32, 1, N), sb(8192, OSC_I32, 1, N)), 3);
    TAP_REQUIRE(bench_run(&b));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < N; i++)
        wrong += get(&b, y, OSC_I32, i) != (i % 3 == 0 ? 16777217.0 + i : -5.0);
    TAP_EQ_U64(wrong, 0);
    bench_close(&b);
}

static void test_iota_memset_reciprocal(void)
{
    enum { ROWS = 3, A = 4, B = 500, N = A * B };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_I32, ROWS * N);
    uint16_t z = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_BF16, ROWS * N);
    osc_inst iota = make(OSC_OP_IOTA, OSC_ENGINE_GPSIMD);
    iota.dst = strided(sb(0, OSC_I32, ROWS, 1), B, A, 1, B);
    iota.src[0].ndim = 2;
    iota.src[0].dim[0] = (osc_ap_dim){1000, A, 0};
    iota.src[0].dim[1] = (osc_ap_dim){-3, B, 0};
    iota.iimm = 16777217;
    iota.channel_multiplier = 7;
    chain(&b, iota, 0);
    osc_inst fill = make(OSC_OP_MEMSET, OSC_ENGINE_VECTOR);
    fill.dst = sb(16384, OSC_BF16, ROWS, N);
    fill.imm[0] = 4;
    chain(&b, fill, 1);
    chain(&b,
          unary(OSC_OP_RECIPROCAL, OSC_ENGINE_VECTOR, sb(16384, OSC_BF16, ROWS, N),
                sb(16384, OSC_BF16, ROWS, N)),
          2);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_I32, ROWS, N), sb(0, OSC_I32, ROWS, N)), 3);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(z, OSC_BF16, ROWS, N), sb(16384, OSC_BF16, ROWS, N)), 4);
    TAP_REQUIRE(bench_run(&b));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < ROWS * N; i++) {
        double want = 16777217.0 + 7 * (i / N) + 1000.0 * (i % N / B) - 3.0 * (i % B);
        wrong += get(&b, y, OSC_I32, i) != want || get(&b, z, OSC_BF16, i) != 0.25;
    }
    TAP_EQ_U64(wrong, 0);
    bench_close(&b);
}

int main(void)
{
    TAP_RUN(test_alu_special_values);
    TAP_RUN(test_activations);
    TAP_RUN(test_activation_reduce);
    TAP_RUN(test_strided_patterns);
    TAP_RUN(test_store_rounding);
    TAP_RUN(test_copies_keep_bits);
    TAP_RUN(test_gpsimd_integers);
    TAP_RUN(test_bit_operators);
    TAP_RUN(test_scalar_tensor_tensor);
    TAP_RUN(test_select);
    TAP_RUN(test_iota_memset_reciprocal);
    return tap_done();
}
