/*
 * test_compiler_elementwise.c - elementwise operators over random shapes, strides and dtypes against
 * plain loops in double.
 */
#include "compiler_support.h"

#include <stdlib.h>

typedef double unary_fn(double);
typedef double binary_fn(double, double);

static double d_neg(double x)
{
    return -x;
}
static double d_sign(double x)
{
    return (x > 0) - (x < 0);
}
static double d_square(double x)
{
    return x * x;
}
static double d_recip(double x)
{
    return 1 / x;
}
static double d_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double d_relu(double x)
{
    return x > 0 ? x : 0;
}
static double d_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double d_silu(double x)
{
    return x / (1 + exp(-x));
}
static double d_gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2.0)));
}
static double d_softplus(double x)
{
    return x > 20 ? x : log1p(exp(x));
}
static double d_mish(double x)
{
    return x * tanh(d_softplus(x));
}
static double d_leaky(double x)
{
    return x > 0 ? x : x * 0.01;
}
static double d_elu(double x)
{
    return x > 0 ? x : expm1(x);
}
static double d_hardsigmoid(double x)
{
    return fmin(fmax(x + 3, 0), 6) / 6;
}
static double d_hardswish(double x)
{
    return x * d_hardsigmoid(x);
}
static double d_logsigmoid(double x)
{
    return fmin(x, 0) - log1p(exp(-fabs(x)));
}
static double d_frac(double x)
{
    return x - trunc(x);
}
static double d_exp2(double x)
{
    return exp2(x);
}

typedef struct unary_row {
    const char *name;
    unary_fn *reference;
    double low, high;
} unary_row;

static const unary_row UNARY[] = {
    {"aten::neg", d_neg, -3, 3},
    {"aten::abs", fabs, -3, 3},
    {"aten::sign", d_sign, -3, 3},
    {"aten::square", d_square, -3, 3},
    {"aten::reciprocal", d_recip, 0.5, 3},
    {"aten::relu", d_relu, -3, 3},
    {"aten::exp", exp, -4, 4},
    {"aten::log", log, 0.1, 9},
    {"aten::log2", log2, 0.1, 9},
    {"aten::log10", log10, 0.1, 9},
    {"aten::log1p", log1p, -0.5, 9},
    {"aten::expm1", expm1, -2, 2},
    {"aten::exp2", d_exp2, -4, 4},
    {"aten::sqrt", sqrt, 0, 9},
    {"aten::rsqrt", d_rsqrt, 0.1, 9},
    {"aten::sin", sin, -9, 9},
    {"aten::cos", cos, -9, 9},
    {"aten::tan", tan, -1, 1},
    {"aten::atan", atan, -5, 5},
    {"aten::tanh", tanh, -3, 3},
    {"aten::sinh", sinh, -3, 3},
    {"aten::cosh", cosh, -3, 3},
    {"aten::sigmoid", d_sigmoid, -6, 6},
    {"aten::silu", d_silu, -6, 6},
    {"aten::gelu", d_gelu, -4, 4},
    {"aten::erf", erf, -3, 3},
    {"aten::floor", floor, -9, 9},
    {"aten::ceil", ceil, -9, 9},
    {"aten::trunc", trunc, -9, 9},
    {"aten::round", rint, -9, 9},
    {"aten::softplus", d_softplus, -9, 30},
    {"aten::mish", d_mish, -4, 4},
    {"aten::leaky_relu", d_leaky, -3, 3},
    {"aten::elu", d_elu, -3, 3},
    {"aten::hardsigmoid", d_hardsigmoid, -5, 5},
    {"aten::hardswish", d_hardswish, -5, 5},
    {"aten::log_sigmoid", d_logsigmoid, -5, 5},
    {"aten::frac", d_frac, -5, 5},
};

static double d_add(double a, double b)
{
    return a + b;
}
static double d_sub(double a, double b)
{
    return a - b;
}
static double d_rsub(double a, double b)
{
    return b - a;
}
static double d_mul(double a, double b)
{
    return a * b;
}
static double d_div(double a, double b)
{
    return a / b;
}
static double d_floordiv(double a, double b)
{
    return floor(a / b);
}
static double d_mod(double a, double b)
{
    double m = fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
static double d_eq(double a, double b)
{
    return a == b;
}
static double d_ne(double a, double b)
{
    return a != b;
}
static double d_lt(double a, double b)
{
    return a < b;
}
static double d_le(double a, double b)
{
    return a <= b;
}
static double d_gt(double a, double b)
{
    return a > b;
}
static double d_ge(double a, double b)
{
    return a >= b;
}
static double d_and(double a, double b)
{
    return a != 0 && b != 0;
}
static double d_or(double a, double b)
{
    return a != 0 || b != 0;
}
static double d_xor(double a, double b)
{
    return (a != 0) != (b != 0);
}
static double d_hypot_log(double a, double b)
{
    return log(exp(a) + exp(b));
}
static double d_bitand(double a, double b)
{
    return (double)((int64_t)a & (int64_t)b);
}
static double d_bitor(double a, double b)
{
    return (double)((int64_t)a | (int64_t)b);
}
static double d_bitxor(double a, double b)
{
    return (double)((int64_t)a ^ (int64_t)b);
}

typedef struct binary_row {
    const char *name;
    binary_fn *reference;
    bool truth; /* result is bool */
    bool ints;  /* tested on int32 too */
    bool floats;
    double low, high; /* of the second operand */
} binary_row;

static const binary_row BINARY[] = {
    {"aten::add.Tensor", d_add, false, true, true, -3, 3},
    {"aten::sub.Tensor", d_sub, false, true, true, -3, 3},
    {"aten::rsub.Tensor", d_rsub, false, true, true, -3, 3},
    {"aten::mul.Tensor", d_mul, false, true, true, -3, 3},
    {"aten::div.Tensor", d_div, false, false, true, 0.5, 3},
    {"aten::floor_divide", d_floordiv, false, true, false, 1, 9},
    {"aten::remainder.Tensor", d_mod, false, true, true, 1, 3},
    {"aten::fmod.Tensor", fmod, false, true, true, 1, 3},
    {"aten::maximum", fmax, false, true, true, -3, 3},
    {"aten::minimum", fmin, false, true, true, -3, 3},
    {"aten::fmax", fmax, false, true, true, -3, 3},
    {"aten::logaddexp", d_hypot_log, false, false, true, -3, 3},
    {"aten::eq.Tensor", d_eq, true, true, true, -3, 3},
    {"aten::ne.Tensor", d_ne, true, true, true, -3, 3},
    {"aten::lt.Tensor", d_lt, true, true, true, -3, 3},
    {"aten::le.Tensor", d_le, true, true, true, -3, 3},
    {"aten::gt.Tensor", d_gt, true, true, true, -3, 3},
    {"aten::ge.Tensor", d_ge, true, true, true, -3, 3},
    {"aten::logical_and", d_and, true, true, true, -2, 2},
    {"aten::logical_or", d_or, true, true, true, -2, 2},
    {"aten::logical_xor", d_xor, true, true, true, -2, 2},
    {"aten::bitwise_and.Tensor", d_bitand, false, true, false, -100, 100},
    {"aten::bitwise_or.Tensor", d_bitor, false, true, false, -100, 100},
    {"aten::bitwise_xor.Tensor", d_bitxor, false, true, false, -100, 100},
};

static const osc_dtype FLOATS[] = {OSC_F32, OSC_BF16, OSC_F16};

static uint64_t seed_of(void)
{
    const char *text = getenv("OPSCOPE_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20260729;
}

/* Random shapes, some of them empty, of size 1, thin, or spread over several tiles. */
static uint32_t random_shape(osc_rng *rng, int64_t size[])
{
    static const int64_t choices[] = {1, 2, 3, 5, 7, 16, 33, 130};
    uint32_t rank = (uint32_t)osc_rng_below(rng, 5);
    int64_t elems = 1;
    for (uint32_t d = 0; d < rank; d++) {
        size[d] = choices[osc_rng_below(rng, 8)];
        if (elems * size[d] > 20000)
            size[d] = 2;
        elems *= size[d];
    }
    if (rank > 1 && osc_rng_below(rng, 16) == 0)
        size[osc_rng_below(rng, rank)] = 0;
    return rank;
}

static cs_layout random_layout(osc_rng *rng)
{
    return (cs_layout)osc_rng_below(rng, CS_LAYOUTS);
}

/* Compares the last tensor of a case with reference(index). False stops a loop of comparisons. */
static bool compare(cs_case *c, const char *name, const cs_tensor *out, const double *want)
{
    int64_t index[OSC_MAX_RANK];
    if (!TAP_OKF(c->status == OSC_OK, "%s: %s", name, c->err.message))
        return false;
    for (int64_t i = 0; i < out->elems; i++) {
        cs_unravel(out, i, index);
        double got = cs_load(out, cs_at(out, index));
        if (!cs_near(got, want[i], cs_tolerance(out->dtype, want[i])))
            return tap_check(false, __FILE__, __LINE__,
                             "%s %s rank %u element %" PRId64 ": got %.9g, want %.9g", name,
                             osc_dtype_name(out->dtype), out->rank, i, got, want[i]);
    }
    return TAP_OKF(cs_gaps_intact(out), "%s wrote outside its view", name);
}

static bool run_unary(const unary_row *row, osc_rng *rng, osc_dtype dtype)
{
    cs_case c;
    int64_t size[OSC_MAX_RANK], index[OSC_MAX_RANK];
    uint32_t rank = random_shape(rng, size);
    cs_begin(&c, row->name);
    bool in_place = osc_rng_below(rng, 4) == 0;
    cs_tensor *x = cs_in(&c, dtype, rank, size, random_layout(rng));
    cs_tensor *y = in_place ? cs_tensor_add(&c, dtype, rank, size, CS_DENSE, true, x->slot)
                            : cs_out(&c, dtype, rank, size, random_layout(rng));
    cs_fill(x, rng, row->low, row->high);
    double *want = osc_calloc((size_t)y->elems + 1, sizeof *want);
    for (int64_t i = 0; i < y->elems; i++) {
        cs_unravel(y, i, index);
        want[i] = row->reference(cs_bcast(x, rank, index));
    }
    osc_arg arg = cs_t(x);
    if (in_place && memcmp(x->stride, y->stride, sizeof x->stride) != 0) {
        osc_free(want);
        cs_end(&c);
        return true; /* one buffer cannot have two layouts in this harness */
    }
    cs_op(&c, row->name, &arg, 1, y);
    cs_run(&c);
    bool ok = compare(&c, row->name, y, want);
    osc_free(want);
    cs_end(&c);
    return ok;
}

static void test_unary(void)
{
    osc_rng rng = {seed_of()};
    tap_note("seed %" PRIu64, rng.state);
    for (size_t r = 0; r < sizeof UNARY / sizeof UNARY[0]; r++) {
        for (unsigned k = 0; k < 6; k++) {
            if (!run_unary(&UNARY[r], &rng, FLOATS[k % 3]))
                return;
        }
    }
}

/* Shapes of operands: some dims of size 1, some leading dims left out. */
static uint32_t broadcast_shape(osc_rng *rng, uint32_t rank, const int64_t *size, int64_t out[])
{
    uint32_t drop = rank > 0 ? (uint32_t)osc_rng_below(rng, rank + 1) : 0;
    drop = osc_rng_below(rng, 2) == 0 ? 0 : drop;
    for (uint32_t d = drop; d < rank; d++)
        out[d - drop] = osc_rng_below(rng, 4) == 0 ? 1 : size[d];
    return rank - drop;
}

static bool run_binary(const binary_row *row, osc_rng *rng, osc_dtype dtype)
{
    cs_case c;
    int64_t size[OSC_MAX_RANK], other[OSC_MAX_RANK], index[OSC_MAX_RANK];
    uint32_t rank = random_shape(rng, size), other_rank = broadcast_shape(rng, rank, size, other);
    bool number = osc_rng_below(rng, 5) == 0;
    cs_begin(&c, row->name);
    cs_tensor *a = cs_in(&c, dtype, rank, size, random_layout(rng));
    cs_tensor *b = number ? NULL : cs_in(&c, dtype, other_rank, other, random_layout(rng));
    cs_tensor *y = cs_out(&c, row->truth ? OSC_BOOL : dtype, rank, size, random_layout(rng));
    cs_fill(a, rng, -3, 3);
    double scalar = osc_dtype_is_float(dtype) ? 1.5 : 2;
    if (b != NULL)
        cs_fill(b, rng, row->low, row->high);
    double *want = osc_calloc((size_t)y->elems + 1, sizeof *want);
    for (int64_t i = 0; i < y->elems; i++) {
        cs_unravel(y, i, index);
        want[i] = row->reference(cs_bcast(a, rank, index), b ? cs_bcast(b, rank, index) : scalar);
    }
    osc_arg args[2] = {cs_t(a), b ? cs_t(b) : osc_dtype_is_float(dtype) ? cs_f(scalar) : cs_i(2)};
    cs_op(&c, row->name, args, 2, y);
    cs_run(&c);
    bool ok = compare(&c, row->name, y, want);
    osc_free(want);
    cs_end(&c);
    return ok;
}

static void test_binary(void)
{
    osc_rng rng = {seed_of() + 1};
    for (size_t r = 0; r < sizeof BINARY / sizeof BINARY[0]; r++) {
        for (unsigned k = 0; k < 8; k++) {
            if (BINARY[r].floats && !run_binary(&BINARY[r], &rng, FLOATS[k % 3]))
                return;
            if (BINARY[r].ints && !run_binary(&BINARY[r], &rng, k % 2 ? OSC_I32 : OSC_I16))
                return;
        }
    }
}

int main(void)
{
    TAP_RUN(test_unary);
    TAP_RUN(test_binary);
    return tap_done();
}
