/*
 * test_compiler_reduce.c - reductions, softmax and norms over random shapes and dims, rows longer than
 * SBUF, and nothing at all.
 */
#include "compiler_support.h"

#include <stdlib.h>

static const osc_dtype FLOATS[] = {OSC_F32, OSC_BF16, OSC_F16};

static uint64_t seed_of(void)
{
    const char *text = getenv("OPSCOPE_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20260730;
}

typedef enum kind { SUM, MEAN, AMAX, AMIN, PROD, ANY, ALL, VAR, STD, SOFTMAX, LOG_SOFTMAX } kind;

typedef struct row {
    const char *name;
    kind what;
} row;

static const row ROWS[] = {
    {"aten::sum.dim_IntList", SUM},
    {"aten::mean.dim", MEAN},
    {"aten::amax", AMAX},
    {"aten::amin", AMIN},
    {"aten::prod.dim_int", PROD},
    {"aten::any.dims", ANY},
    {"aten::all.dims", ALL},
    {"aten::var.correction", VAR},
    {"aten::std.correction", STD},
    {"aten::_softmax", SOFTMAX},
    {"aten::_log_softmax", LOG_SOFTMAX},
};

/* Result of one slice of n elements; softmax is done by the caller. */
static double reduce(kind what, const double *x, int64_t n)
{
    double sum = 0, product = 1, most = -INFINITY, least = INFINITY, any = 0, all = 1, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        product *= x[i];
        most = x[i] > most ? x[i] : most;
        least = x[i] < least ? x[i] : least;
        any = any != 0 || x[i] != 0;
        all = all != 0 && x[i] != 0;
    }
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    switch (what) {
    case SUM: return sum;
    case MEAN: return mean;
    case AMAX: return most;
    case AMIN: return least;
    case PROD: return product;
    case ANY: return any;
    case ALL: return all;
    case VAR: return squares / (double)(n - 1);
    case STD: return sqrt(squares / (double)(n - 1));
    default: return 0;
    }
}

static double exp_sum(const double *x, int64_t n, double most)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return sum;
}

/* Gathers the elements of a slice: index has the kept dims set, the reduced ones are walked. */
static int64_t slice(const cs_tensor *x, const bool *reduced, int64_t *index, double *out)
{
    int64_t n = 1, count = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        n *= reduced[d] ? x->size[d] : 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t left = i;
        for (uint32_t d = x->rank; d-- > 0;) {
            if (!reduced[d])
                continue;
            index[d] = left % x->size[d];
            left /= x->size[d];
        }
        out[count++] = cs_load(x, cs_at(x, index));
    }
    return count;
}

/* Every element of the result against its slice. keep: reduced dims are there with size 1. */
static bool check_reduce(const row *r, const cs_tensor *x, const cs_tensor *y, const bool *reduced,
                         bool keep, double loose)
{
    int64_t index[OSC_MAX_RANK], full[OSC_MAX_RANK];
    double *values = osc_calloc((size_t)x->elems + 1, sizeof *values);
    bool softmax = r->what == SOFTMAX || r->what == LOG_SOFTMAX, ok = true;
    int64_t step =
        softmax && y->elems > 20000 ? y->elems / 50 : 1; /* a slice is walked per element */
    for (int64_t i = 0; i < y->elems && ok; i += step) {
        uint32_t at = 0;
        cs_unravel(y, i, index);
        for (uint32_t d = 0; d < x->rank; d++)
            full[d] = softmax || keep ? index[d] : reduced[d] ? 0 : index[at++];
        double self = softmax ? cs_load(x, cs_at(x, full)) : 0;
        int64_t n = slice(x, reduced, full, values);
        double want = reduce(r->what, values, n);
        if (softmax) {
            double most = reduce(AMAX, values, n), sum = exp_sum(values, n, most);
            want = r->what == SOFTMAX ? exp(self - most) / sum : self - most - log(sum);
        }
        double got = cs_load(y, cs_at(y, index));
        double tolerance = cs_tolerance(y->dtype, want) * loose;
        ok = TAP_OKF(cs_near(got, want, tolerance),
                     "%s %s rank %u element %" PRId64 ": got %.9g, want %.9g", r->name,
                     osc_dtype_name(y->dtype), x->rank, i, got, want);
    }
    osc_free(values);
    return ok && TAP_OKF(cs_gaps_intact(y), "%s wrote outside its view", r->name);
}

static bool run_shape(const row *r, osc_rng *rng, osc_dtype dtype, uint32_t rank,
                      const int64_t *size, const bool *reduced, bool keep, double loose)
{
    cs_case c;
    int64_t dims[OSC_MAX_RANK], out[OSC_MAX_RANK];
    uint32_t ndims = 0, out_rank = 0;
    bool softmax = r->what == SOFTMAX || r->what == LOG_SOFTMAX;
    bool truth = r->what == ANY || r->what == ALL;
    for (uint32_t d = 0; d < rank; d++) {
        if (reduced[d])
            dims[ndims++] = osc_rng_below(rng, 2) ? d : (int64_t)d - rank;
        if (softmax || !reduced[d])
            out[out_rank++] = size[d];
        else if (keep)
            out[out_rank++] = 1;
    }
    cs_begin(&c, r->name);
    cs_tensor *x = cs_in(&c, dtype, rank, size, (cs_layout)osc_rng_below(rng, CS_LAYOUTS));
    cs_tensor *y = cs_out(&c, truth ? OSC_BOOL : dtype, out_rank, out,
                          (cs_layout)osc_rng_below(rng, CS_LAYOUTS));
    cs_fill(x, rng, r->what == PROD ? 0.8 : -2, r->what == PROD ? 1.2 : 2);
    bool one = softmax || r->what == PROD;
    osc_arg args[4] = {cs_t(x), one ? cs_i(dims[0]) : cs_ints(dims, ndims), cs_i(keep), cs_none()};
    if (r->what == VAR || r->what == STD) {
        args[2] = cs_i(1);
        args[3] = cs_i(keep);
    }
    cs_op(&c, r->name, args, 4, y);
    cs_run(&c);
    bool ok = TAP_OKF(c.status == OSC_OK, "%s: %s", r->name, c.err.message) &&
              check_reduce(r, x, y, reduced, keep, loose);
    cs_end(&c);
    return ok;
}

static bool run_random(const row *r, osc_rng *rng, osc_dtype dtype)
{
    static const int64_t sizes[] = {1, 2, 3, 8, 17, 40, 131};
    int64_t size[OSC_MAX_RANK];
    bool reduced[OSC_MAX_RANK] = {false};
    uint32_t rank = 1 + (uint32_t)osc_rng_below(rng, 4);
    int64_t elems = 1;
    for (uint32_t d = 0; d < rank; d++) {
        size[d] = sizes[osc_rng_below(rng, 7)];
        size[d] = elems * size[d] > 6000 ? 2 : size[d];
        elems *= size[d];
        reduced[d] = osc_rng_below(rng, 2) == 0;
    }
    bool one = r->what == SOFTMAX || r->what == LOG_SOFTMAX || r->what == PROD;
    bool any = false;
    for (uint32_t d = 0; d < rank; d++)
        any = any || reduced[d];
    if (one || !any) {
        memset(reduced, 0, sizeof reduced);
        reduced[osc_rng_below(rng, rank)] = true;
    }
    if (r->what == VAR || r->what == STD) /* at least two elements */
        for (uint32_t d = 0; d < rank; d++)
            size[d] = reduced[d] && size[d] == 1 ? 2 : size[d];
    return run_shape(r, rng, dtype, rank, size, reduced, osc_rng_below(rng, 2) == 0, 4);
}

static void test_random_dims(void)
{
    osc_rng rng = {seed_of()};
    tap_note("seed %" PRIu64, rng.state);
    for (size_t r = 0; r < sizeof ROWS / sizeof ROWS[0]; r++) {
        for (unsigned k = 0; k < 9; k++) {
            if (!run_random(&ROWS[r], &rng, FLOATS[k % 3]))
                return;
        }
    }
}

/* Rows that do not fit SBUF are walked in passes; a bf16 and an fp32 row, and one of several axes. */
static void test_long_rows(void)
{
    osc_rng rng = {seed_of() + 1};
    int64_t two[2] = {3, 90001};
    bool last[2] = {false, true};
    for (size_t r = 0; r < sizeof ROWS / sizeof ROWS[0]; r++) {
        if (ROWS[r].what != PROD && !run_shape(&ROWS[r], &rng, OSC_F32, 2, two, last, true, 20))
            return;
    }
    TAP_REQUIRE(run_shape(&ROWS[9], &rng, OSC_BF16, 2, two, last, true, 4));
    int64_t six[6] = {3, 5, 2, 4, 3, 7};
    bool alternate[6] = {true, true, false, true, true, true};
    TAP_REQUIRE(run_shape(&ROWS[0], &rng, OSC_F32, 6, six, alternate, false, 4));
    TAP_REQUIRE(run_shape(&ROWS[1], &rng, OSC_F32, 6, six, alternate, true, 4));
}

static void test_empty(void)
{
    osc_rng rng = {seed_of() + 2};
    int64_t size[2] = {3, 0};
    bool last[2] = {false, true}, first[2] = {true, false};
    TAP_OK(run_shape(&ROWS[0], &rng, OSC_F32, 2, size, last, false, 1));  /* sum: 0 */
    TAP_OK(run_shape(&ROWS[1], &rng, OSC_F32, 2, size, last, true, 1));   /* mean: NaN */
    TAP_OK(run_shape(&ROWS[4], &rng, OSC_BF16, 2, size, last, false, 1)); /* prod: 1 */
    TAP_OK(run_shape(&ROWS[5], &rng, OSC_F32, 2, size, last, false, 1));  /* any: false */
    TAP_OK(run_shape(&ROWS[6], &rng, OSC_F32, 2, size, last, false, 1));  /* all: true */
    TAP_OK(run_shape(&ROWS[0], &rng, OSC_F32, 2, size, first, false, 1)); /* no result elements */
    TAP_OK(run_shape(&ROWS[9], &rng, OSC_F32, 2, size, last, false, 1));
}

/* ---- norms ---- */

typedef struct norm {
    cs_case c;
    cs_tensor *x, *weight, *bias, *y, *mean, *rstd;
    int64_t rows, cols;
} norm;

static void norm_begin(norm *n, osc_rng *rng, bool centre, osc_dtype dtype, int64_t rows,
                       int64_t cols)
{
    int64_t size[2] = {rows, cols}, stat[2] = {rows, 1};
    n->rows = rows;
    n->cols = cols;
    cs_begin(&n->c, centre ? "aten::native_layer_norm" : "aten::_fused_rms_norm");
    n->x = cs_in(&n->c, dtype, 2, size, (cs_layout)osc_rng_below(rng, 2));
    n->weight = cs_in(&n->c, dtype, 1, size + 1, CS_DENSE);
    n->bias = cs_in(&n->c, dtype, 1, size + 1, CS_DENSE);
    n->y = cs_out(&n->c, dtype, 2, size, CS_DENSE);
    n->mean = centre ? cs_out(&n->c, OSC_F32, 2, stat, CS_DENSE) : NULL;
    n->rstd = cs_out(&n->c, OSC_F32, 2, stat, CS_DENSE);
    cs_fill(n->x, rng, -2, 3);
    cs_fill(n->weight, rng, 0.5, 1.5);
    cs_fill(n->bias, rng, -1, 1);
}

static void norm_check(norm *n, bool centre, double eps)
{
    if (!TAP_OKF(n->c.status == OSC_OK, "%s", n->c.err.message))
        return;
    for (int64_t r = 0; r < n->rows; r++) {
        double mean = 0, var = 0;
        for (int64_t i = 0; i < n->cols && centre; i++)
            mean += cs_load(n->x, r * n->x->stride[0] + i * n->x->stride[1]) / (double)n->cols;
        for (int64_t i = 0; i < n->cols; i++) {
            double d = cs_load(n->x, r * n->x->stride[0] + i * n->x->stride[1]) - mean;
            var += d * d / (double)n->cols;
        }
        double rstd = 1 / sqrt(var + eps);
        TAP_REQUIRE(cs_near(cs_load(n->rstd, r), rstd, 1e-4 * rstd));
        for (int64_t i = 0; i < n->cols; i++) {
            double x = cs_load(n->x, r * n->x->stride[0] + i * n->x->stride[1]);
            double want =
                (x - mean) * rstd * cs_load(n->weight, i) + (centre ? cs_load(n->bias, i) : 0);
            double got = cs_load(n->y, r * n->cols + i);
            if (!TAP_OKF(cs_near(got, want, cs_tolerance(n->y->dtype, want) * 2 + 1e-5),
                         "row %" PRId64 " col %" PRId64 ": got %.9g, want %.9g", r, i, got, want))
                return;
        }
    }
}

static void run_norm(osc_rng *rng, bool centre, osc_dtype dtype, int64_t rows, int64_t cols)
{
    norm n;
    norm_begin(&n, rng, centre, dtype, rows, cols);
    osc_arg layer[5] = {cs_t(n.x), cs_ints(&n.cols, 1), cs_t(n.weight), cs_t(n.bias), cs_f(1e-5)};
    osc_arg rms[4] = {cs_t(n.x), cs_ints(&n.cols, 1), cs_t(n.weight), cs_f(1e-6)};
    osc_value outs[3] = {n.y->value, centre ? n.mean->value : n.rstd->value, n.rstd->value};
    osc_graph_op(n.c.graph, centre ? "aten::native_layer_norm" : "aten::_fused_rms_norm",
                 centre ? layer : rms, centre ? 5 : 4, outs, centre ? 3 : 2);
    cs_run(&n.c);
    norm_check(&n, centre, centre ? 1e-5 : 1e-6);
    cs_end(&n.c);
}

static void test_norms(void)
{
    osc_rng rng = {seed_of() + 3};
    for (unsigned k = 0; k < 6; k++) {
        run_norm(&rng, k % 2 == 0, FLOATS[k % 3], 1 + (int64_t)osc_rng_below(&rng, 300),
                 1 + (int64_t)osc_rng_below(&rng, 600));
    }
    run_norm(&rng, true, OSC_F32, 2, 70000);
    run_norm(&rng, false, OSC_BF16, 2, 90000);
}

int main(void)
{
    TAP_RUN(test_random_dims);
    TAP_RUN(test_long_rows);
    TAP_RUN(test_empty);
    TAP_RUN(test_norms);
    return tap_done();
}
