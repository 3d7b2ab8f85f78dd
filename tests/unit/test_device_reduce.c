/*
 * test_device_reduce.c - reductions along rows and over partitions, against plain loops.
 */
#include "base/rng.h"
#include "device_builder.h"

/* Extremes that hand on NaN. */
static double fold(osc_alu op, double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    switch (op) {
    case OSC_ALU_MAX: return fmax(a, b);
    case OSC_ALU_MIN: return fmin(a, b);
    default: return fmax(fabs(a), fabs(b));
    }
}

static void test_tensor_reduce(void)
{
    static const struct {
        uint32_t kept, reduced;
    } shapes[] = {{1, 1}, {1, 5000}, {7, 33}, {300, 2}, {2, 1024}, {3, 1025}};
    static const osc_alu ops[] = {OSC_ALU_ADD, OSC_ALU_MAX, OSC_ALU_MIN, OSC_ALU_MUL,
                                  OSC_ALU_ABSMAX};
    enum { ROWS = 3 };
    osc_rng rng = {11};
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (unsigned k = 0; k < 5; k++) {
            uint32_t kept = shapes[s].kept, reduced = shapes[s].reduced, n = kept * reduced;
            bench b;
            bench_open(&b, OSC_TRN2);
            uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, ROWS * n);
            uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, ROWS * kept);
            for (uint32_t i = 0; i < ROWS * n; i++)
                put(&b, x, OSC_F32, i,
                    ops[k] == OSC_ALU_MUL ? 1 + osc_rng_unit(&rng) * 1e-3 : osc_rng_normal(&rng));
            if (n > 40)
                put(&b, x, OSC_F32, 40, ops[k] == OSC_ALU_MAX ? NAN : 1);
            osc_ap src = strided(sb(0, OSC_F32, ROWS, 1), reduced, kept, 1, reduced);
            chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_F32, ROWS, n), hbm(x, OSC_F32, ROWS, n)), 0);
            osc_inst inst =
                unary(OSC_OP_TENSOR_REDUCE, OSC_ENGINE_VECTOR, sb(32768, OSC_F32, ROWS, kept), src);
            inst.alu[0] = (uint8_t)ops[k];
            inst.axes = 1;
            inst.flags = OSC_INST_NEGATE;
            chain(&b, inst, 1);
            chain(
                &b,
                load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, ROWS, kept), sb(32768, OSC_F32, ROWS, kept)),
                2);
            TAP_REQUIRE(bench_run(&b));
            for (uint32_t g = 0; g < ROWS * kept; g++) {
                double want = get(&b, x, OSC_F32, (uint64_t)g * reduced), scale = fabs(want);
                if (ops[k] == OSC_ALU_ABSMAX)
                    want = fabs(want);
                for (uint32_t i = 1; i < reduced; i++) {
                    double v = get(&b, x, OSC_F32, (uint64_t)g * reduced + i);
                    scale += fabs(v);
                    want = ops[k] == OSC_ALU_ADD   ? want + v
                           : ops[k] == OSC_ALU_MUL ? want * v
                                                   : fold(ops[k], want, v);
                }
                double got = -get(&b, y, OSC_F32, g);
                bool ok = isnan(want)
                              ? isnan(got)
                              : fabs(got - want) <=
                                    (ops[k] == OSC_ALU_ADD ? 3e-7 * scale : 3e-5 * fabs(want));
                if (!ok)
                    TAP_OKF(false, "%s of %u, group %u: %.9g, want %.9g", osc_alu_name(ops[k]),
                            reduced, g, got, want);
            }
            bench_close(&b);
        }
    }
}

/* Integer sums on GpSimd are exact where fp32 is not. */
static void test_integer_reduce(void)
{
    enum { N = 1500 };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_I32, 2 * N);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_I32, 2);
    uint16_t z = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_I32, N);
    int64_t want[2] = {0, 0};
    for (uint32_t i = 0; i < 2 * N; i++) {
        int32_t v = (int32_t)(1000003u * i % 2000001u) - 1000000;
        put(&b, x, OSC_I32, i, v);
        want[i / N] += v;
    }
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_I32, 2, N), hbm(x, OSC_I32, 2, N)), 0);
    osc_inst sum = unary(OSC_OP_TENSOR_REDUCE, OSC_ENGINE_GPSIMD, sb(8192, OSC_I32, 2, 1),
                         sb(0, OSC_I32, 2, N));
    sum.alu[0] = OSC_ALU_ADD;
    sum.axes = 1;
    chain(&b, sum, 1);
    osc_inst over = unary(OSC_OP_PARTITION_REDUCE, OSC_ENGINE_GPSIMD, sb(16384, OSC_I32, 1, N),
                          sb(0, OSC_I32, 2, N));
    over.alu[0] = OSC_ALU_MAX;
    chain(&b, over, 2);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_I32, 2, 1), sb(8192, OSC_I32, 2, 1)), 3);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(z, OSC_I32, 1, N), sb(16384, OSC_I32, 1, N)), 4);
    TAP_REQUIRE(bench_run(&b));
    TAP_EQ_I64((int64_t)get(&b, y, OSC_I32, 0), (int32_t)(uint32_t)(uint64_t)(want[0]));
    TAP_EQ_I64((int64_t)get(&b, y, OSC_I32, 1), (int32_t)(uint32_t)(uint64_t)(want[1]));
    for (uint32_t i = 0; i < N; i++)
        TAP_OK(get(&b, z, OSC_I32, i) == fmax(get(&b, x, OSC_I32, i), get(&b, x, OSC_I32, N + i)));
    bench_close(&b);
}

static void test_partition_reduce_float(void)
{
    enum { P = 128, N = 1100 };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, P * N);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, N);
    for (uint32_t i = 0; i < P * N; i++)
        put(&b, x, OSC_F32, i, i % 17 - 8.0);
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_F32, P, N), hbm(x, OSC_F32, P, N)), 0);
    osc_inst sum = unary(OSC_OP_PARTITION_REDUCE, OSC_ENGINE_GPSIMD, sb(8192, OSC_F32, 1, N),
                         sb(0, OSC_F32, P, N));
    sum.alu[0] = OSC_ALU_ADD;
    chain(&b, sum, 1);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, 1, N), sb(8192, OSC_F32, 1, N)), 2);
    TAP_REQUIRE(bench_run(&b));
    for (uint32_t i = 0; i < N; i++) {
        double want = 0;
        for (uint32_t p = 0; p < P; p++)
            want += get(&b, x, OSC_F32, p * N + i);
        TAP_OK(get(&b, y, OSC_F32, i) == want); /* small integers: every order is exact */
    }
    bench_close(&b);
}

static void test_tensor_scalar_reduce(void)
{
    enum { ROWS = 40, COLS = 25 };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, ROWS * COLS);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, ROWS);
    for (uint32_t i = 0; i < ROWS * COLS; i++)
        put(&b, x, OSC_BF16, i, i * 37 % 101 - 50.0);
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_BF16, ROWS, COLS), hbm(x, OSC_BF16, ROWS, COLS)), 0);
    osc_inst inst = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_SUB, sb(256, OSC_BF16, ROWS, COLS),
                                  sb(0, OSC_BF16, ROWS, COLS), 100);
    inst.opcode = OSC_OP_TENSOR_SCALAR_REDUCE;
    inst.alu[1] = OSC_ALU_MAX;
    inst.flags = OSC_INST_REVERSE0; /* 100 - x */
    inst.dst2 = sb(512, OSC_F32, ROWS, 1);
    chain(&b, inst, 1);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, ROWS, 1), sb(512, OSC_F32, ROWS, 1)), 2);
    TAP_REQUIRE(bench_run(&b));
    for (uint32_t r = 0; r < ROWS; r++) {
        double want = -INFINITY;
        for (uint32_t i = 0; i < COLS; i++)
            want = fmax(want, 100 - get(&b, x, OSC_BF16, r * COLS + i));
        TAP_EQ_F64(get(&b, y, OSC_F32, r), want);
    }
    bench_close(&b);
}

int main(void)
{
    TAP_RUN(test_tensor_reduce);
    TAP_RUN(test_integer_reduce);
    TAP_RUN(test_partition_reduce_float);
    TAP_RUN(test_tensor_scalar_reduce);
    return tap_done();
}
