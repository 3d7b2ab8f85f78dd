/*
 * test_compiler_ternary.c - selections, combined arithmetic, clamps, gradients, NaN and infinities.
 */
#include "compiler_support.h"

#include <stdlib.h>

static uint64_t seed_of(void)
{
    const char *text = getenv("OPSCOPE_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20260734;
}

typedef double fn3(double, double, double);

static double d_where(double c, double a, double b)
{
    return c != 0 ? a : b;
}
static double d_masked(double a, double mask, double value)
{
    return mask != 0 ? value : a;
}
static double d_addcmul(double s, double a, double b)
{
    return s + 0.5 * a * b;
}
static double d_addcdiv(double s, double a, double b)
{
    return s + 0.5 * a / b;
}
static double d_lerp(double a, double b, double w)
{
    return a + w * (b - a);
}
static double d_clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}
static double d_threshold_b(double g, double x, double t)
{
    return x <= t ? 0 : g;
}
static double d_sigmoid_b(double g, double y, double u)
{
    (void)u;
    return g * (1 - y) * y;
}
static double d_tanh_b(double g, double y, double u)
{
    (void)u;
    return g * (1 - y * y);
}
static double d_silu_b(double g, double x, double u)
{
    double s = 1 / (1 + exp(-x));
    (void)u;
    return g * s * (1 + x * (1 - s));
}
static double d_gelu_b(double g, double x, double u)
{
    (void)u;
    return g * (0.5 * (1 + erf(x * M_SQRT1_2)) + x * exp(-x * x / 2) / sqrt(2 * M_PI));
}
static double d_gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
static double d_gelu_tanh_b(double g, double x, double u)
{
    (void)u;
    return g * (d_gelu_tanh(x + 1e-5) - d_gelu_tanh(x - 1e-5)) / 2e-5;
}
static double d_leaky_b(double g, double x, double slope)
{
    return x > 0 ? g : g * slope;
}
static double d_softplus_b(double g, double x, double u)
{
    (void)u;
    return g / (1 + exp(-x));
}
static double d_hardsigmoid_b(double g, double x, double u)
{
    (void)u;
    return x > -3 && x < 3 ? g / 6 : 0;
}

typedef struct row {
    const char *name;
    fn3 *reference;
    bool truth;  /* first operand is bool */
    bool second; /* second operand is bool */
    uint32_t tensors;
    osc_arg extra[4];
    uint32_t extras;
    double low, high; /* of the last tensor operand */
    double third;     /* what the reference gets when there is no third tensor */
} row;

#define INT(v)                        \
    {                                 \
        .kind = OSC_ARG_INT, .i = (v) \
    }
#define FLOAT(v)                        \
    {                                   \
        .kind = OSC_ARG_FLOAT, .f = (v) \
    }

static const row ROWS[] = {
    {"aten::where.self", d_where, true, false, 3, {{0}}, 0, -2, 2, 0},
    {"aten::masked_fill.Tensor", d_masked, false, true, 3, {{0}}, 0, -2, 2, 0},
    {"aten::masked_fill.Scalar", d_masked, false, true, 2, {FLOAT(0.25)}, 1, 0, 2, 0.25},
    {"aten::addcmul", d_addcmul, false, false, 3, {FLOAT(0.5)}, 1, -2, 2, 0},
    {"aten::addcdiv", d_addcdiv, false, false, 3, {FLOAT(0.5)}, 1, 0.5, 2, 0},
    {"aten::lerp.Tensor", d_lerp, false, false, 3, {{0}}, 0, 0, 1, 0},
    {"aten::lerp.Scalar", d_lerp, false, false, 2, {FLOAT(0.75)}, 1, -2, 2, 0.75},
    {"aten::lerp.Scalar", d_lerp, false, false, 2, {FLOAT(0.125)}, 1, -2, 2, 0.125},
    {"aten::clamp.Tensor", d_clamp, false, false, 3, {{0}}, 0, 0.5, 2, 0},
    {"aten::threshold_backward", d_threshold_b, false, false, 2, {FLOAT(0)}, 1, -2, 2, 0},
    {"aten::sigmoid_backward", d_sigmoid_b, false, false, 2, {{0}}, 0, 0, 1, 0},
    {"aten::tanh_backward", d_tanh_b, false, false, 2, {{0}}, 0, -1, 1, 0},
    {"aten::silu_backward", d_silu_b, false, false, 2, {{0}}, 0, -4, 4, 0},
    {"aten::gelu_backward", d_gelu_b, false, false, 2, {INT(0)}, 1, -3, 3, 0},
    {"aten::gelu_backward", d_gelu_tanh_b, false, false, 2, {INT(1)}, 1, -3, 3, 0},
    {"aten::leaky_relu_backward",
     d_leaky_b,
     false,
     false,
     2,
     {FLOAT(0.125), INT(0)},
     2,
     -2,
     2,
     0.125},
    {"aten::softplus_backward", d_softplus_b, false, false, 2, {FLOAT(1), FLOAT(20)}, 2, -4, 4, 0},
    {"aten::hardsigmoid_backward", d_hardsigmoid_b, false, false, 2, {{0}}, 0, -5, 5, 0},
};

static bool run_row(const row *r, osc_rng *rng, osc_dtype dtype)
{
    cs_case c;
    int64_t size[3] = {1 + (int64_t)osc_rng_below(rng, 5), 1 + (int64_t)osc_rng_below(rng, 150),
                       1 + (int64_t)osc_rng_below(rng, 40)};
    int64_t index[3];
    cs_tensor *in[3] = {NULL, NULL, NULL};
    osc_arg args[8];
    uint32_t n = 0;
    cs_begin(&c, r->name);
    for (uint32_t t = 0; t < r->tensors; t++) {
        bool truth = (t == 0 && r->truth) || (t == 1 && r->second);
        uint32_t drop = t > 0 ? (uint32_t)osc_rng_below(rng, 3) : 0;
        in[t] = cs_in(&c, truth ? OSC_BOOL : dtype, 3 - drop, size + drop,
                      (cs_layout)osc_rng_below(rng, CS_LAYOUTS));
        bool last = t == r->tensors - 1;
        cs_fill(in[t], rng, truth ? 0 : last ? r->low : -2, truth ? 2 : last ? r->high : 2);
        args[n++] = cs_t(in[t]);
    }
    for (uint32_t e = 0; e < r->extras; e++)
        args[n++] = r->extra[e];
    cs_tensor *y = cs_out(&c, dtype, 3, size, (cs_layout)osc_rng_below(rng, CS_LAYOUTS));
    cs_op(&c, r->name, args, n, y);
    cs_run(&c);
    bool ok = TAP_OKF(c.status == OSC_OK, "%s: %s", r->name, c.err.message);
    for (int64_t i = 0; i < y->elems && ok; i++) {
        cs_unravel(y, i, index);
        double v[3] = {0, 0, r->third};
        for (uint32_t t = 0; t < r->tensors; t++)
            v[t] = cs_bcast(in[t], 3, index);
        double want = r->reference(v[0], v[1], v[2]), got = cs_load(y, cs_at(y, index));
        ok = TAP_OKF(cs_near(got, want, cs_tolerance(dtype, want) + 2e-6),
                     "%s %s element %" PRId64 ": got %.9g, want %.9g", r->name,
                     osc_dtype_name(dtype), i, got, want);
    }
    ok = ok && TAP_OKF(cs_gaps_intact(y), "%s wrote outside its view", r->name);
    cs_end(&c);
    return ok;
}

static void test_rows(void)
{
    static const osc_dtype dtypes[] = {OSC_F32, OSC_BF16, OSC_F16};
    osc_rng rng = {seed_of()};
    tap_note("seed %" PRIu64, rng.state);
    for (size_t r = 0; r < sizeof ROWS / sizeof ROWS[0]; r++) {
        for (unsigned k = 0; k < 6; k++) {
            if (!run_row(&ROWS[r], &rng, dtypes[k % 3]))
                return;
        }
    }
}

/* One operand of special values against each other operand of special values. */
typedef double fn2(double, double);

static double p_max(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}
static double p_min(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}
static double p_clamp(double a, double b)
{
    (void)b;
    return isnan(a) ? NAN : fmin(fmax(a, -1), 1);
}
static double p_relu(double a, double b)
{
    (void)b;
    return isnan(a) ? NAN : fmax(a, 0);
}
static double p_sign(double a, double b)
{
    (void)b;
    return (a > 0) - (a < 0);
}
static double p_isnan(double a, double b)
{
    (void)b;
    return isnan(a);
}
static double p_isinf(double a, double b)
{
    (void)b;
    return isinf(a) != 0;
}
static double p_eq(double a, double b)
{
    return a == b;
}
static double p_ne(double a, double b)
{
    return a != b;
}
static double p_sigmoid(double a, double b)
{
    (void)b;
    return 1 / (1 + exp(-a));
}
static double p_nan_to_num(double a, double b)
{
    (void)b;
    return isnan(a) ? 0 : isinf(a) ? copysign((double)0x1.fffffep127, a) : a;
}
static double p_xlogy(double a, double b)
{
    return isnan(b) ? NAN : a == 0 ? 0 : a * log(b);
}

static const struct {
    const char *name;
    fn2 *reference;
    uint32_t operands;
    bool truth;
} SPECIAL[] = {
    {"aten::maximum", p_max, 2, false},
    {"aten::minimum", p_min, 2, false},
    {"aten::fmax", fmax, 2, false},
    {"aten::fmin", fmin, 2, false},
    {"aten::clamp", p_clamp, 1, false},
    {"aten::relu", p_relu, 1, false},
    {"aten::sign", p_sign, 1, false},
    {"aten::isnan", p_isnan, 1, true},
    {"aten::isinf", p_isinf, 1, true},
    {"aten::eq.Tensor", p_eq, 2, true},
    {"aten::ne.Tensor", p_ne, 2, true},
    {"aten::sigmoid", p_sigmoid, 1, false},
    {"aten::nan_to_num", p_nan_to_num, 1, false},
    {"aten::xlogy.Tensor", p_xlogy, 2, false},
};

static void test_special_values(void)
{
    static const double values[] = {0.0, -0.0, 1.5, -2.0, INFINITY, -INFINITY, NAN, 1e30, -1e-30};
    int64_t size[2] = {9, 9};
    for (size_t r = 0; r < sizeof SPECIAL / sizeof SPECIAL[0]; r++) {
        cs_case c;
        cs_begin(&c, SPECIAL[r].name);
        cs_tensor *a = cs_in(&c, OSC_F32, 2, size, CS_DENSE),
                  *b = cs_in(&c, OSC_F32, 2, size, CS_DENSE);
        cs_tensor *y = cs_out(&c, SPECIAL[r].truth ? OSC_BOOL : OSC_F32, 2, size, CS_DENSE);
        for (int64_t i = 0; i < 81; i++) {
            cs_store(a, i, values[i / 9]);
            cs_store(b, i, values[i % 9]);
        }
        osc_arg args[3] = {cs_t(a), cs_t(b)};
        bool clamp = SPECIAL[r].reference == p_clamp;
        if (clamp) {
            args[1] = cs_f(-1);
            args[2] = cs_f(1);
        }
        cs_op(&c, SPECIAL[r].name, args, clamp ? 3 : SPECIAL[r].operands, y);
        TAP_EQ_STATUS(cs_run(&c), OSC_OK);
        for (int64_t i = 0; i < 81; i++) {
            double x = (double)(float)values[i / 9], w = (double)(float)values[i % 9];
            double want = SPECIAL[r].reference(x, w), got = cs_load(y, i);
            TAP_OKF(cs_near(got, want, fabs(want) * 1e-5), "%s(%g, %g): got %g, want %g",
                    SPECIAL[r].name, x, w, got, want);
        }
        cs_end(&c);
    }
}

/* int32 values that fp32 does not hold: arithmetic, order and selection are exact. */
static void test_exact_integers(void)
{
    static const int32_t a[6] = {INT32_MAX, 16777217, -16777217, 5, INT32_MIN, 123456789};
    static const int32_t b[6] = {INT32_MAX - 1, 16777216, -16777216, 5, INT32_MAX, 123456788};
    static const char *const names[] = {"aten::sub.Tensor",         "aten::maximum",
                                        "aten::gt.Tensor",          "aten::eq.Tensor",
                                        "aten::bitwise_xor.Tensor", "aten::mul.Tensor"};
    int64_t size[1] = {6};
    for (unsigned k = 0; k < 6; k++) {
        cs_case c;
        cs_begin(&c, names[k]);
        cs_tensor *x = cs_in(&c, OSC_I32, 1, size, CS_DENSE),
                  *w = cs_in(&c, OSC_I32, 1, size, CS_DENSE);
        cs_tensor *y = cs_out(&c, k == 2 || k == 3 ? OSC_BOOL : OSC_I32, 1, size, CS_DENSE);
        memcpy(x->data, a, sizeof a);
        memcpy(w->data, b, sizeof b);
        cs_op(&c, names[k], (osc_arg[]){cs_t(x), cs_t(w)}, 2, y);
        TAP_EQ_STATUS(cs_run(&c), OSC_OK);
        for (unsigned i = 0; i < 6; i++) {
            uint32_t p = (uint32_t)a[i], q = (uint32_t)b[i];
            int32_t want[6] = {(int32_t)(p - q), a[i] > b[i] ? a[i] : b[i], a[i] > b[i],
                               a[i] == b[i],     (int32_t)(p ^ q),          (int32_t)(p * q)};
            TAP_OKF(cs_load(y, i) == want[k], "%s element %u: got %g, want %d", names[k], i,
                    cs_load(y, i), want[k]);
        }
        cs_end(&c);
    }
}

int main(void)
{
    TAP_RUN(test_rows);
    TAP_RUN(test_special_values);
    TAP_RUN(test_exact_integers);
    return tap_done();
}
