/*
 * test_compiler_matmul.c - mm, bmm, addmm, baddbmm with every operand layout, sizes that are no multiple
 * of anything, and K longer than a panel.
 */
#include "compiler_support.h"

#include <stdlib.h>

static uint64_t seed_of(void)
{
    const char *text = getenv("OPSCOPE_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20260731;
}

typedef struct problem {
    const char *name;
    bool batched, biased;
    osc_dtype dtype;
    int64_t b, m, n, k;
    double alpha, beta;
    uint32_t bias_rank;
} problem;

/* Sum over k and the sum of magnitudes, which bounds fp32's error. */
static double element(const cs_tensor *left, const cs_tensor *right, const int64_t *index,
                      uint32_t rank, int64_t k_count, double *size)
{
    double sum = 0;
    int64_t l[3] = {index[0], 0, 0}, r[3] = {index[0], 0, 0};
    *size = 0;
    for (int64_t k = 0; k < k_count; k++) {
        l[rank - 2] = index[rank - 2];
        l[rank - 1] = k;
        r[rank - 2] = k;
        r[rank - 1] = index[rank - 1];
        double product = cs_load(left, cs_at(left, l)) * cs_load(right, cs_at(right, r));
        sum += product;
        *size += fabs(product);
    }
    return sum;
}

static bool check(const problem *p, const cs_tensor *left, const cs_tensor *right,
                  const cs_tensor *bias, const cs_tensor *y, osc_rng *rng)
{
    int64_t index[3];
    uint32_t rank = p->batched ? 3 : 2;
    int64_t checks = y->elems < 3000 ? y->elems : 3000;
    for (int64_t i = 0; i < checks; i++) {
        int64_t at = checks == y->elems ? i : (int64_t)osc_rng_below(rng, (uint64_t)y->elems);
        double size;
        cs_unravel(y, at, index);
        double want = p->alpha * element(left, right, index, rank, p->k, &size);
        if (bias != NULL)
            want += p->beta * cs_bcast(bias, rank, index);
        double got = cs_load(y, cs_at(y, index));
        double tolerance = cs_tolerance(y->dtype, want) + size * 1e-6;
        if (!TAP_OKF(cs_near(got, want, tolerance),
                     "%s %s %" PRId64 "x%" PRId64 "x%" PRId64 " element %" PRId64
                     ": got %.9g, want %.9g",
                     p->name, osc_dtype_name(p->dtype), p->m, p->n, p->k, at, got, want))
            return false;
    }
    return TAP_OKF(cs_gaps_intact(y), "%s wrote outside its view", p->name);
}

static bool run(const problem *p, osc_rng *rng)
{
    cs_case c;
    uint32_t rank = p->batched ? 3 : 2, skip = 3 - rank;
    int64_t ls[3] = {p->b, p->m, p->k}, rs[3] = {p->b, p->k, p->n}, ys[3] = {p->b, p->m, p->n};
    cs_begin(&c, p->name);
    cs_tensor *left =
        cs_in(&c, p->dtype, rank, ls + skip, (cs_layout)osc_rng_below(rng, CS_LAYOUTS));
    cs_tensor *right =
        cs_in(&c, p->dtype, rank, rs + skip, (cs_layout)osc_rng_below(rng, CS_LAYOUTS));
    cs_tensor *bias = NULL;
    if (p->biased)
        bias = cs_in(&c, p->dtype, p->bias_rank, ys + 3 - p->bias_rank, CS_DENSE);
    cs_tensor *y = cs_out(&c, p->dtype, rank, ys + skip, (cs_layout)osc_rng_below(rng, CS_LAYOUTS));
    cs_fill(left, rng, -1, 1);
    cs_fill(right, rng, -1, 1);
    if (bias != NULL)
        cs_fill(bias, rng, -1, 1);
    osc_arg args[5] = {cs_t(left), cs_t(right)};
    if (bias != NULL) {
        args[0] = cs_t(bias);
        args[1] = cs_t(left);
        args[2] = cs_t(right);
        args[3] = cs_f(p->beta);
        args[4] = cs_f(p->alpha);
    }
    cs_op(&c, p->name, args, bias ? 5 : 2, y);
    cs_run(&c);
    bool ok = TAP_OKF(c.status == OSC_OK, "%s: %s", p->name, c.err.message) &&
              check(p, left, right, bias, y, rng);
    cs_end(&c);
    return ok;
}

static void test_random(void)
{
    static const osc_dtype dtypes[] = {OSC_F32, OSC_BF16, OSC_F16};
    static const int64_t sizes[] = {1, 2, 17, 64, 129, 200};
    static const problem kinds[] = {
        {.name = "aten::mm", .alpha = 1},
        {.name = "aten::bmm", .batched = true, .alpha = 1},
        {.name = "aten::addmm", .biased = true, .alpha = 1, .beta = 1, .bias_rank = 1},
        {.name = "aten::addmm", .biased = true, .alpha = 0.5, .beta = 2, .bias_rank = 2},
        {.name = "aten::baddbmm",
         .batched = true,
         .biased = true,
         .alpha = 2,
         .beta = 0,
         .bias_rank = 3},
        {.name = "aten::baddbmm",
         .batched = true,
         .biased = true,
         .alpha = 1,
         .beta = 0.5,
         .bias_rank = 3},
    };
    osc_rng rng = {seed_of()};
    tap_note("seed %" PRIu64, rng.state);
    for (unsigned i = 0; i < 36; i++) {
        problem p = kinds[i % 6];
        p.dtype = dtypes[i % 3];
        p.b = 1 + (int64_t)osc_rng_below(&rng, 3);
        p.m = sizes[osc_rng_below(&rng, 6)];
        p.n = sizes[osc_rng_below(&rng, 6)];
        p.k = i == 5 ? 0 : sizes[osc_rng_below(&rng, 6)];
        if (!run(&p, &rng))
            return;
    }
}

/* Several result tiles, and K cut into panels. */
static void test_large(void)
{
    osc_rng rng = {seed_of() + 1};
    problem wide = {
        .name = "aten::mm", .dtype = OSC_BF16, .m = 300, .n = 1100, .k = 520, .alpha = 1};
    problem deep = {.name = "aten::mm", .dtype = OSC_F32, .m = 5, .n = 9, .k = 9000, .alpha = 1};
    problem bias = {.name = "aten::addmm",
                    .dtype = OSC_F32,
                    .m = 130,
                    .n = 600,
                    .k = 6000,
                    .alpha = 0.5,
                    .beta = 2,
                    .biased = true,
                    .bias_rank = 1};
    TAP_OK(run(&wide, &rng));
    TAP_OK(run(&deep, &rng));
    TAP_OK(run(&bias, &rng));
}

/* addmv: a matrix and a vector. */
static void test_vector(void)
{
    cs_case c;
    osc_rng rng = {seed_of() + 2};
    int64_t size[2] = {150, 70}, index[2] = {0, 0};
    cs_begin(&c, "aten::addmv");
    cs_tensor *self = cs_in(&c, OSC_F32, 1, size, CS_DENSE),
              *a = cs_in(&c, OSC_F32, 2, size, CS_PADDED);
    cs_tensor *x = cs_in(&c, OSC_F32, 1, size + 1, CS_PADDED),
              *y = cs_out(&c, OSC_F32, 1, size, CS_DENSE);
    cs_fill(self, &rng, -1, 1);
    cs_fill(a, &rng, -1, 1);
    cs_fill(x, &rng, -1, 1);
    osc_arg args[5] = {cs_t(self), cs_t(a), cs_t(x), cs_f(0.5), cs_f(2)};
    cs_op(&c, "aten::addmv", args, 5, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    for (index[0] = 0; index[0] < 150; index[0]++) {
        double want = 0.5 * cs_load(self, index[0]);
        for (index[1] = 0; index[1] < 70; index[1]++)
            want += 2 * cs_load(a, cs_at(a, index)) * cs_load(x, index[1] * x->stride[0]);
        TAP_REQUIRE(cs_near(cs_load(y, index[0]), want, 1e-4));
    }
    cs_end(&c);
}

/* 4.5: 128 matmuls and as many weight loads for 1024^3 in bf16, and the 64 transposes of the left
 * operand, each turned once. */
static void test_instruction_count(void)
{
    cs_case c;
    int64_t size[2] = {1024, 1024};
    cs_begin(&c, "aten::mm");
    cs_tensor *a = cs_in(&c, OSC_BF16, 2, size, CS_DENSE),
              *b = cs_in(&c, OSC_BF16, 2, size, CS_DENSE);
    cs_tensor *y = cs_out(&c, OSC_BF16, 2, size, CS_DENSE);
    osc_arg args[2] = {cs_t(a), cs_t(b)};
    memset(a->data, 0, (size_t)a->span * 2);
    memset(b->data, 0, (size_t)b->span * 2);
    cs_op(&c, "aten::mm", args, 2, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    TAP_EQ_U64(c.opcodes[OSC_OP_MATMUL], 128);
    TAP_EQ_U64(c.opcodes[OSC_OP_LDWEIGHTS], 128);
    TAP_EQ_U64(c.opcodes[OSC_OP_PE_TRANSPOSE], 64);
    tap_note("1024^3 bf16: body %" PRId64 " ns, %u instructions", c.body_ns, c.instructions);
    cs_end(&c);
}

int main(void)
{
    TAP_RUN(test_random);
    TAP_RUN(test_large);
    TAP_RUN(test_vector);
    TAP_RUN(test_instruction_count);
    return tap_done();
}
