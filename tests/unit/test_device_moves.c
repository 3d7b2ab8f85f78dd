/*
 * test_device_moves.c - matmul, transposes and DMA: bit for bit against plain loops.
 */
#include "base/rng.h"
#include "device_builder.h"

/* ---- matmul ---- */

static void matmul_case(osc_dtype type, uint16_t k, uint16_t m, uint32_t n, bool accumulate)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t w = bench_tensor(&b, OSC_TENSOR_INPUT, type, (uint64_t)k * m);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, type, (uint64_t)k * n);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, (uint64_t)m * n);
    osc_rng rng = {5};
    for (uint32_t i = 0; i < (uint32_t)k * m; i++)
        put(&b, w, type, i, osc_rng_normal(&rng));
    for (uint32_t i = 0; i < k * n; i++)
        put(&b, x, type, i, osc_rng_normal(&rng));
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, type, k, m), hbm(w, type, k, m)), 0);
    chain(&b, load(OSC_ENGINE_SYNC, sb(1024, type, k, n), hbm(x, type, k, n)), 1);
    osc_inst weights = make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR);
    weights.src[0] = sb(0, type, k, m);
    osc_inst mm =
        unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(2048, OSC_F32, m, n), sb(1024, type, k, n));
    weights.flags = mm.flags = type == OSC_F32 ? OSC_INST_FP32_FULL : 0;
    chain(&b, weights, 2);
    chain(&b, mm, 3);
    uint16_t step = 4;
    if (accumulate) {
        mm.flags |= OSC_INST_ACCUMULATE;
        chain(&b, mm, step++);
    }
    chain(&b, activation(OSC_ACT_COPY, sb(8192, OSC_F32, m, n), ps(2048, OSC_F32, m, n), 1, 0),
          step);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, m, n), sb(8192, OSC_F32, m, n)),
          (uint16_t)(step + 1));
    TAP_REQUIRE(bench_run(&b));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            float sum = 0;
            for (uint32_t l = 0; l < k; l++)
                sum += (float)get(&b, w, type, (uint64_t)l * m + i) *
                       (float)get(&b, x, type, (uint64_t)l * n + j);
            wrong +=
                (float)get(&b, y, OSC_F32, (uint64_t)i * n + j) != (accumulate ? sum + sum : sum);
        }
    TAP_OKF(wrong == 0, "%s k=%u m=%u n=%u: %u of %u differ", osc_dtype_name(type), k, m, n, wrong,
            m * n);
    bench_close(&b);
}

/* Bit for bit: fp32 sums in the order of k. */
static void test_matmul(void)
{
    matmul_case(OSC_F32, 128, 128, 512, false);
    matmul_case(OSC_BF16, 128, 128, 512, true);
    matmul_case(OSC_F16, 5, 3, 1, false);
    matmul_case(OSC_F32, 1, 1, 1, true);
    matmul_case(OSC_BF16, 77, 33, 131, true);
    matmul_case(OSC_F32, 32, 127, 15, false);
}

/* Without FP32_FULL one pass: operands rounded to 10 mantissa bits. */
static void test_matmul_one_pass(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 2);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 1);
    put(&b, x, OSC_F32, 0, 1 + 1.0 / 4096); /* a quarter of the last tf32 place: lost */
    put(&b, x, OSC_F32, 1, 1 + 1.0 / 1024); /* the last place: kept */
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_F32, 1, 2), hbm(x, OSC_F32, 1, 2)), 0);
    osc_inst weights = make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR);
    weights.src[0] = sb(0, OSC_F32, 1, 1);
    chain(&b, weights, 1);
    chain(&b, unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 1, 1), sb(4, OSC_F32, 1, 1)),
          2);
    chain(&b,
          unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(64, OSC_F32, 1, 1), ps(0, OSC_F32, 1, 1)),
          3);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, 1, 1), sb(64, OSC_F32, 1, 1)), 4);
    TAP_REQUIRE(bench_run(&b));
    TAP_EQ_F64(get(&b, y, OSC_F32, 0), 1 + 1.0 / 1024);
    bench_close(&b);
}

static void transpose_case(osc_opcode opcode, osc_dtype type, uint16_t rows, uint16_t cols)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    size_t size = osc_dtype_size(type);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, type, (uint64_t)rows * cols);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, type, (uint64_t)rows * cols);
    osc_rng rng = {9};
    osc_rng_bytes(&rng, b.memory[x], rows * cols * size); /* any bits, NaN among them */
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, type, rows, cols), hbm(x, type, rows, cols)), 0);
    if (opcode == OSC_OP_PE_TRANSPOSE) {
        chain(&b,
              unary(opcode, OSC_ENGINE_TENSOR, ps(0, type, cols, rows), sb(0, type, rows, cols)),
              1);
        chain(&b,
              unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(1024, type, cols, rows),
                    ps(0, type, cols, rows)),
              2);
    } else {
        chain(&b,
              unary(opcode, OSC_ENGINE_SYNC, sb(2048, type, cols, rows), sb(0, type, rows, cols)),
              1);
        chain(&b, load(OSC_ENGINE_SYNC, sb(1024, type, cols, rows), sb(2048, type, cols, rows)), 2);
    }
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, type, cols, rows), sb(1024, type, cols, rows)), 3);
    TAP_REQUIRE(bench_run(&b));
    uint32_t wrong = 0;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++)
            wrong += memcmp(b.memory[x] + (r * cols + c) * size,
                            b.memory[y] + (c * rows + r) * size, size) != 0;
    TAP_OKF(wrong == 0, "%s of %s [%u, %u]: %u wrong", opcode == OSC_OP_PE_TRANSPOSE ? "PE" : "DMA",
            osc_dtype_name(type), rows, cols, wrong);
    bench_close(&b);
}

static void test_transposes(void)
{
    static const osc_opcode opcodes[] = {OSC_OP_PE_TRANSPOSE, OSC_OP_DMA_TRANSPOSE};
    for (unsigned i = 0; i < 2; i++) {
        transpose_case(opcodes[i], OSC_BF16, 128, 128);
        transpose_case(opcodes[i], OSC_F32, 128, 97);
        transpose_case(opcodes[i], OSC_F16, 1, 128);
        transpose_case(opcodes[i], OSC_I32, 31, 5);
    }
}

/* ---- DMA ---- */

/* Every pair of native types and the 64-bit border that the instruction set lets pass. */
static void test_dma_casts(void)
{
    static const osc_dtype types[] = {OSC_BOOL, OSC_U8,   OSC_I8,  OSC_I16, OSC_I32, OSC_I64,
                                      OSC_F16,  OSC_BF16, OSC_F32, OSC_U16, OSC_U32};
    enum { N = 300, TYPES = sizeof types / sizeof *types };
    uint32_t tried = 0;
    for (unsigned f = 0; f < TYPES; f++) {
        for (unsigned t = 0; t < TYPES; t++) {
            bench b;
            bench_open(&b, OSC_TRN2);
            uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, types[f], N);
            uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, types[t], N);
            for (uint32_t i = 0; i < N; i++)
                put(&b, x, types[f], i, i % 2);
            osc_inst copy =
                load(OSC_ENGINE_SYNC, hbm(y, types[t], 3, N / 3), hbm(x, types[f], 3, N / 3));
            osc_err ignored;
            if (osc_isa_check(&copy, &b.sheet, &ignored) == OSC_OK) {
                chain(&b, copy, 0);
                TAP_REQUIRE(bench_run(&b));
                uint32_t wrong = 0;
                for (uint32_t i = 0; i < N; i++)
                    wrong += get(&b, y, types[t], i) != i % 2;
                TAP_OKF(wrong == 0, "%s to %s: %u wrong", osc_dtype_name(types[f]),
                        osc_dtype_name(types[t]), wrong);
                tried++;
            }
            bench_close(&b);
        }
    }
    TAP_OK(tried >= 100);
}

/* Row and element broadcasts, shapes that differ between the sides, reversed HBM patterns,
 * 128-bit cells. */
static void test_dma_patterns(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 12),
             raw = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_RAW128, 6);
    uint16_t rows = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 48),
             cells = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 24);
    uint16_t back = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 12),
             wide = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_RAW128, 6);
    for (uint32_t i = 0; i < 12; i++)
        put(&b, x, OSC_F32, i, i);
    for (uint32_t i = 0; i < 96; i++)
        b.memory[raw][i] = (uint8_t)(i * 5);
    osc_ap row = hbm(x, OSC_F32, 4, 12);
    row.part_stride = 0;
    chain(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_F32, 4, 12), row), 0);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(rows, OSC_F32, 4, 12), sb(0, OSC_F32, 4, 12)), 1);
    osc_ap cell =
        strided(hbm(x, OSC_F32, 1, 1), 1, 12, 0, 2); /* each element twice; 1 row to 3 rows */
    chain(&b, load(OSC_ENGINE_SYNC, hbm(cells, OSC_F32, 3, 8), cell), 2);
    osc_ap reversed = hbm(x, OSC_F32, 1, 12);
    reversed.offset = 44;
    reversed.dim[0].stride = -1;
    chain(&b, load(OSC_ENGINE_SYNC, hbm(back, OSC_F32, 1, 12), reversed), 3);
    osc_ap turned = strided(hbm(raw, OSC_RAW128, 1, 1), 1, 3, 3, 2);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(wide, OSC_RAW128, 1, 6), turned), 4);
    TAP_REQUIRE(bench_run(&b));
    for (uint32_t i = 0; i < 48; i++)
        TAP_EQ_F64(get(&b, rows, OSC_F32, i), i % 12);
    for (uint32_t i = 0; i < 24; i++)
        TAP_EQ_F64(get(&b, cells, OSC_F32, i), i / 2);
    for (uint32_t i = 0; i < 12; i++)
        TAP_EQ_F64(get(&b, back, OSC_F32, i), 11.0 - i);
    for (uint32_t i = 0; i < 6; i++)
        TAP_EQ_MEM(b.memory[wide] + 16 * i, b.memory[raw] + 16 * (i / 2 + i % 2 * 3), 16);
    bench_close(&b);
}

int main(void)
{
    TAP_RUN(test_matmul);
    TAP_RUN(test_matmul_one_pass);
    TAP_RUN(test_transposes);
    TAP_RUN(test_dma_casts);
    TAP_RUN(test_dma_patterns);
    return tap_done();
}
