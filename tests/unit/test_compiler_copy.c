/*
 * test_compiler_copy.c - strided copies, casts, narrow and wide integers, fills, cat and stack.
 */
#include "compiler_support.h"

#include <stdlib.h>

static uint64_t seed_of(void)
{
    const char *text = getenv("OPSCOPE_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20260732;
}

/* What PyTorch's `to` makes of a value. */
static double cast(double x, osc_dtype from, osc_dtype to)
{
    (void)from;
    switch (to) {
    case OSC_BOOL: return x != 0;
    case OSC_U8: return (double)(uint8_t)(int64_t)x;
    case OSC_I8: return (double)(int8_t)(int64_t)x;
    case OSC_I16: return (double)(int16_t)(int64_t)x;
    case OSC_I32: return (double)(int32_t)(int64_t)x;
    case OSC_I64: return (double)(int64_t)x;
    case OSC_F16: return (double)osc_f16_to_f32(osc_f32_to_f16((float)x));
    case OSC_BF16: return (double)osc_bf16_to_f32(osc_f32_to_bf16((float)x));
    case OSC_F32: return (double)(float)x;
    default: return x;
    }
}

static bool run_cast(osc_rng *rng, osc_dtype from, osc_dtype to, uint32_t rank, const int64_t *size,
                     cs_layout in, cs_layout out)
{
    cs_case c;
    int64_t index[OSC_MAX_RANK];
    bool wide = from == OSC_I64 || from == OSC_I32;
    double limit = osc_dtype_is_float(from) || to == OSC_BOOL ? 100 : wide ? 70000 : 100;
    cs_begin(&c, "opscope::copy");
    cs_tensor *x = cs_in(&c, from, rank, size, in);
    cs_tensor *y = cs_out(&c, to, rank, size, out);
    cs_fill(x, rng, from == OSC_U8 || from == OSC_BOOL ? 0 : -limit, limit);
    osc_arg arg = cs_t(x);
    cs_op(&c, "opscope::copy", &arg, 1, y);
    cs_run(&c);
    bool ok = TAP_OKF(c.status == OSC_OK, "%s to %s: %s", osc_dtype_name(from), osc_dtype_name(to),
                      c.err.message);
    for (int64_t i = 0; i < y->elems && ok; i++) {
        cs_unravel(y, i, index);
        double value = cs_load(x, cs_at(x, index)), got = cs_load(y, cs_at(y, index));
        ok = TAP_OKF(got == cast(value, from, to), "%s to %s of %.9g: got %.9g, want %.9g",
                     osc_dtype_name(from), osc_dtype_name(to), value, got, cast(value, from, to));
    }
    ok = ok && TAP_OKF(cs_gaps_intact(y), "copy wrote outside its view");
    cs_end(&c);
    return ok;
}

static void test_casts(void)
{
    static const osc_dtype native[] = {OSC_BOOL, OSC_U8,  OSC_I8,   OSC_I16,
                                       OSC_I32,  OSC_F16, OSC_BF16, OSC_F32};
    static const osc_dtype narrower[] = {OSC_BOOL, OSC_U8, OSC_I8, OSC_I16, OSC_I32};
    osc_rng rng = {seed_of()};
    int64_t size[3] = {5, 7, 33};
    tap_note("seed %" PRIu64, rng.state);
    for (unsigned a = 0; a < 8; a++) {
        for (unsigned b = 0; b < 8; b++) {
            cs_layout in = (cs_layout)osc_rng_below(&rng, CS_LAYOUTS + 2) % (CS_BROADCAST + 1);
            TAP_REQUIRE(run_cast(&rng, native[a], native[b], 3, size, in,
                                 (cs_layout)osc_rng_below(&rng, CS_LAYOUTS)));
        }
    }
    for (unsigned i = 0; i < 5; i++) {
        TAP_REQUIRE(run_cast(&rng, OSC_I64, narrower[i], 3, size, CS_PADDED, CS_DENSE));
        TAP_REQUIRE(run_cast(&rng, narrower[i], OSC_I64, 3, size, CS_DENSE, CS_PADDED));
    }
    TAP_REQUIRE(run_cast(&rng, OSC_I64, OSC_I64, 3, size, CS_PERMUTED, CS_PADDED));
    TAP_REQUIRE(run_cast(&rng, OSC_F64, OSC_F64, 3, size, CS_DENSE, CS_PERMUTED));
}

/* Values that no fp32 holds survive a copy and a widening. */
static void test_exact(void)
{
    cs_case c;
    int64_t size[1] = {3};
    static const int32_t values[3] = {INT32_MAX, -16777217, 123456789};
    cs_begin(&c, "aten::_to_copy");
    cs_tensor *x = cs_in(&c, OSC_I32, 1, size, CS_DENSE);
    cs_tensor *y = cs_out(&c, OSC_I64, 1, size, CS_DENSE);
    memcpy(x->data, values, sizeof values);
    osc_arg arg = cs_t(x);
    cs_op(&c, "aten::_to_copy", &arg, 1, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    for (int i = 0; i < 3; i++)
        TAP_EQ_F64(cs_load(y, i), values[i]);
    cs_end(&c);
}

static void test_refused(void)
{
    static const osc_dtype pairs[][2] = {
        {OSC_F32, OSC_I64}, {OSC_I64, OSC_F32}, {OSC_F64, OSC_F32}, {OSC_F32, OSC_F64}};
    int64_t size[1] = {3};
    for (unsigned i = 0; i < 4; i++) {
        cs_case c;
        cs_begin(&c, "opscope::copy");
        cs_tensor *x = cs_in(&c, pairs[i][0], 1, size, CS_DENSE);
        cs_tensor *y = cs_out(&c, pairs[i][1], 1, size, CS_DENSE);
        osc_arg arg = cs_t(x);
        cs_op(&c, "opscope::copy", &arg, 1, y);
        TAP_EQ_STATUS(cs_run(&c), OSC_EUNSUPPORTED);
        TAP_OK(strstr(c.err.message, "opscope::copy") != NULL);
        cs_end(&c);
    }
}

static void test_layouts(void)
{
    static const osc_dtype moved[] = {OSC_F32, OSC_BF16, OSC_U8, OSC_I64, OSC_I32};
    osc_rng rng = {seed_of() + 1};
    int64_t shapes[][4] = {
        {200, 300, 1, 1}, {3, 140, 20, 9}, {2, 3, 4, 5}, {5000, 3, 1, 1}, {1, 1, 1, 1}};
    for (unsigned d = 0; d < 5; d++) {
        for (unsigned s = 0; s < 5; s++) {
            for (unsigned k = 0; k < 2; k++) {
                TAP_REQUIRE(run_cast(&rng, moved[d], moved[d], 4, shapes[s],
                                     (cs_layout)osc_rng_below(&rng, CS_LAYOUTS),
                                     (cs_layout)osc_rng_below(&rng, CS_LAYOUTS)));
            }
        }
    }
    int64_t eight[8] = {2, 3, 2, 3, 2, 3, 2, 3};
    TAP_OK(run_cast(&rng, OSC_F32, OSC_F32, 8, eight, CS_BROADCAST, CS_PADDED));
    TAP_OK(run_cast(&rng, OSC_F32, OSC_BF16, 8, eight, CS_PADDED, CS_PERMUTED));
}

/* In place: the destination is the source read along other axes. */
static void test_overlapping_views(void)
{
    cs_case c;
    int64_t size[2] = {40, 40}, index[2];
    cs_begin(&c, "opscope::copy");
    cs_tensor *x = cs_in(&c, OSC_F32, 2, size, CS_PERMUTED);
    cs_tensor *y = cs_tensor_add(&c, OSC_F32, 2, size, CS_DENSE, true, x->slot);
    for (int64_t i = 0; i < 1600; i++)
        cs_store(x, i, (double)i);
    osc_arg arg = cs_t(x);
    cs_op(&c, "opscope::copy", &arg, 1, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    for (int64_t i = 0; i < 1600; i++) {
        cs_unravel(y, i, index);
        TAP_REQUIRE(cs_load(y, cs_at(y, index)) == (double)(index[1] * 40 + index[0]));
    }
    cs_end(&c);
}

static void test_fill(void)
{
    static const osc_dtype dtypes[] = {OSC_F32, OSC_BF16, OSC_I32, OSC_BOOL,
                                       OSC_I64, OSC_F64,  OSC_U8};
    int64_t size[2] = {300, 37};
    for (unsigned d = 0; d < 7; d++) {
        cs_case c;
        cs_begin(&c, "aten::fill.Scalar");
        cs_tensor *y = cs_out(&c, dtypes[d], 2, size, CS_PADDED);
        osc_arg args[2] = {cs_t(y), d == 4 ? cs_i(-5000000000) : cs_f(3)};
        cs_op(&c, "aten::fill.Scalar", args, 2, y);
        double want = d == 4 ? -5e9 : dtypes[d] == OSC_BOOL ? 1 : 3;
        TAP_EQ_STATUS(cs_run(&c), OSC_OK);
        TAP_OKF(cs_load(y, 0) == want && cs_load(y, y->span - 1) == want, "%s: got %g",
                osc_dtype_name(dtypes[d]), cs_load(y, 0));
        TAP_OK(cs_gaps_intact(y));
        cs_end(&c);
    }
}

static void test_cat(void)
{
    cs_case c;
    osc_rng rng = {seed_of() + 2};
    int64_t a_size[2] = {4, 5}, b_size[2] = {4, 3}, none[1] = {0}, out[2] = {4, 8}, index[2];
    cs_begin(&c, "aten::cat");
    cs_tensor *a = cs_in(&c, OSC_BF16, 2, a_size, CS_PADDED),
              *b = cs_in(&c, OSC_BF16, 2, b_size, CS_PERMUTED);
    cs_tensor *e = cs_in(&c, OSC_BF16, 1, none, CS_DENSE);
    cs_tensor *y = cs_out(&c, OSC_BF16, 2, out, CS_DENSE);
    cs_fill(a, &rng, -1, 1);
    cs_fill(b, &rng, -1, 1);
    int64_t list[3] = {a->value, e->value, b->value};
    osc_arg args[2] = {{.kind = OSC_ARG_TENSORS, .ints = list, .count = 3}, cs_i(-1)};
    cs_op(&c, "aten::cat", args, 2, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    for (int64_t i = 0; i < y->elems; i++) {
        cs_unravel(y, i, index);
        const cs_tensor *from = index[1] < 5 ? a : b;
        int64_t at[2] = {index[0], index[1] < 5 ? index[1] : index[1] - 5};
        TAP_REQUIRE(cs_load(y, cs_at(y, index)) == cs_load(from, cs_at(from, at)));
    }
    cs_end(&c);
}

static void test_stack(void)
{
    cs_case c;
    osc_rng rng = {seed_of() + 3};
    int64_t size[2] = {4, 5}, out[3] = {4, 2, 5}, index[3];
    cs_begin(&c, "aten::stack");
    cs_tensor *in[2] = {cs_in(&c, OSC_F32, 2, size, CS_DENSE),
                        cs_in(&c, OSC_F32, 2, size, CS_PERMUTED)};
    cs_tensor *y = cs_out(&c, OSC_F32, 3, out, CS_DENSE);
    cs_fill(in[0], &rng, -1, 1);
    cs_fill(in[1], &rng, -1, 1);
    int64_t list[2] = {in[0]->value, in[1]->value};
    osc_arg args[2] = {{.kind = OSC_ARG_TENSORS, .ints = list, .count = 2}, cs_i(1)};
    cs_op(&c, "aten::stack", args, 2, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    for (int64_t i = 0; i < y->elems; i++) {
        cs_unravel(y, i, index);
        int64_t at[2] = {index[0], index[2]};
        const cs_tensor *from = in[index[1]];
        TAP_REQUIRE(cs_load(y, cs_at(y, index)) == cs_load(from, cs_at(from, at)));
    }
    cs_end(&c);
}

int main(void)
{
    TAP_RUN(test_casts);
    TAP_RUN(test_exact);
    TAP_RUN(test_refused);
    TAP_RUN(test_layouts);
    TAP_RUN(test_overlapping_views);
    TAP_RUN(test_fill);
    TAP_RUN(test_cat);
    TAP_RUN(test_stack);
    return tap_done();
}
