/*
 * test_device_cost.c - cost formulas row by row, and the parts that the schedule is made of.
 *
 * Expected cycles are written out from neuroncore-model.md 2.1 and 1.6 to 1.9, not computed by
 * the code under test.
 */
#include "base/rng.h"
#include "device_operands.h"
#include "neuron/device/cost.h"
#include "neuron/device/flight.h"
#include "neuron/device/semaphore.h"
#include "tap.h"

static const osc_sheet *trn2(void)
{
    return osc_sheet_default(OSC_TRN2);
}

/* Issue time in cycles of a clock in MHz. */
static double cycles(const osc_inst *inst, const osc_sheet *sheet, double mhz)
{
    return (double)dev_cost_of(inst, sheet).busy_ps * mhz / 1e6;
}

static void expect(const char *what, const osc_inst *inst, double want)
{
    static const double MHZ[OSC_ENGINE_COUNT] = {[OSC_ENGINE_TENSOR] = 2400,
                                                 [OSC_ENGINE_SCALAR] = 1200,
                                                 [OSC_ENGINE_GPSIMD] = 1200,
                                                 [OSC_ENGINE_VECTOR] = 960};
    double got = cycles(inst, trn2(), MHZ[inst->engine]);
    TAP_OKF(got > want - 0.01 && got < want + 0.01, "%s: %.2f cycles, want %.2f", what, got, want);
}

static osc_ap every_other(osc_ap ap)
{
    ap.dim[0].stride = 2;
    return ap;
}

static void test_vector_modes(void)
{
    osc_ap b = sb(0, OSC_BF16, 128, 1024), h = sb(8192, OSC_F16, 128, 1024),
           f = sb(16384, OSC_F32, 128, 1024);
    osc_ap p = ps(0, OSC_F32, 128, 1024), pb = ps(0, OSC_BF16, 128, 1024);
    osc_engine v = OSC_ENGINE_VECTOR;
    osc_inst i = unary(OSC_OP_TENSOR_COPY, v, b, h);
    expect("copy, 16 bit, contiguous, SBUF: four a cycle", &i, 256);
    i = unary(OSC_OP_TENSOR_COPY, v, every_other(b), h);
    expect("copy, 16 bit, one side strided: two a cycle", &i, 512);
    i = unary(OSC_OP_TENSOR_COPY, v, b, pb);
    expect("copy, 16 bit, contiguous, from PSUM: two a cycle", &i, 512);
    i = unary(OSC_OP_TENSOR_COPY, v, every_other(b), pb);
    expect("copy, 16 bit, strided, from PSUM", &i, 1024);
    i = unary(OSC_OP_TENSOR_COPY, v, b, f);
    expect("copy, fp32 to bf16", &i, 1024);
    i = tensor_scalar(v, OSC_ALU_MUL, b, b, 2);
    expect("tensor_scalar, 16 bit", &i, 256);
    i = tensor_scalar(v, OSC_ALU_MUL, f, f, 2);
    i.alu[1] = OSC_ALU_ADD;
    expect("tensor_scalar, fp32, two operators", &i, 1024);
    i = tensor_tensor(v, OSC_ALU_ADD, b, b, h);
    expect("tensor_tensor, all 16 bit in SBUF", &i, 1024);
    i = tensor_tensor(v, OSC_ALU_ADD, f, b, b);
    expect("tensor_tensor, fp32 result", &i, 2048);
    i = tensor_tensor(v, OSC_ALU_ADD, f, f, p);
    expect("tensor_tensor, one input in PSUM", &i, 1024);
    i = unary(OSC_OP_TENSOR_COPY, v, sb(0, OSC_BF16, 128, 8), sb(64, OSC_BF16, 128, 8));
    expect("the floor", &i, 64);
}

static void test_other_vector_rows(void)
{
    osc_ap b = sb(0, OSC_BF16, 128, 1000), f = sb(16384, OSC_F32, 128, 1000),
           one = sb(32768, OSC_F32, 128, 1);
    osc_engine v = OSC_ENGINE_VECTOR;
    osc_inst i = unary(OSC_OP_SCALAR_TENSOR_TENSOR, v, b, b);
    i.src[1] = immediate();
    i.src[2] = b;
    i.alu[0] = OSC_ALU_SUB;
    i.alu[1] = OSC_ALU_MUL;
    expect("scalar_tensor_tensor, the fast pair", &i, 1000);
    i.alu[0] = OSC_ALU_MUL;
    expect("scalar_tensor_tensor", &i, 2000);
    i = unary(OSC_OP_TENSOR_REDUCE, v, sb(0, OSC_BF16, 128, 1), b);
    i.axes = 1;
    i.alu[0] = OSC_ALU_MAX;
    expect("tensor_reduce, bf16 both sides, maximum", &i, 500);
    i.dst = one;
    expect("tensor_reduce to fp32", &i, 1000);
    i = tensor_scalar(v, OSC_ALU_MUL, f, f, 1);
    i.opcode = OSC_OP_TENSOR_SCALAR_REDUCE;
    i.dst2 = one;
    expect("tensor_scalar_reduce", &i, 1064);
    i = make(OSC_OP_MEMSET, v);
    i.dst = b;
    expect("memset, zero, 16 bit", &i, 500);
    i.imm[0] = 1;
    expect("memset, one", &i, 1000);
    i = unary(OSC_OP_RECIPROCAL, v, f, f);
    expect("reciprocal", &i, 8000);
    i = unary(OSC_OP_SELECT, v, f, f);
    i.src[1] = f;
    i.src[2] = immediate();
    expect("select", &i, 2000);
    i.src[1] = ps(0, OSC_F32, 128, 1000);
    expect("select, one side in PSUM", &i, 1000);
}

static void test_other_engines(void)
{
    osc_ap f = sb(0, OSC_F32, 128, 1000), b = sb(8192, OSC_BF16, 128, 512),
           w = sb(16384, OSC_F32, 128, 512);
    osc_inst i = activation(OSC_ACT_EXP, f, f, 1, 0);
    expect("activation, behind another", &i, 1122);
    TAP_EQ_I64(dev_cost_of(&i, trn2()).alone_ps, 1350 * INT64_C(1000000) / 1200);
    i.opcode = OSC_OP_ACTIVATION_REDUCE;
    i.dst2 = sb(4096, OSC_F32, 128, 1);
    expect("activation_reduce", &i, 1186);
    i = tensor_tensor(OSC_ENGINE_GPSIMD, OSC_ALU_ADD, f, f, f);
    expect("GpSimd elementwise", &i, 1150);
    i = unary(OSC_OP_PARTITION_REDUCE, OSC_ENGINE_GPSIMD, sb(0, OSC_F32, 1, 1000), f);
    expect("partition_reduce, P N / 8", &i, 150 + 16000);
    i = unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 128, 512), b);
    expect("matmul, 16 bit", &i, 512 / 0.988);
    i = unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 128, 512), w);
    expect("matmul, fp32 in one pass", &i, 512 / 0.988);
    i.flags = OSC_INST_FP32_FULL;
    expect("matmul, fp32 in four", &i, 2048 / 0.988);
    i = unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 128, 8), sb(0, OSC_BF16, 128, 8));
    expect("matmul, the floor", &i, 64 / 0.988);
    i = unary(OSC_OP_PE_TRANSPOSE, OSC_ENGINE_TENSOR, ps(0, OSC_BF16, 100, 128),
              sb(0, OSC_BF16, 128, 100));
    expect("transpose, 16 bit", &i, 128 / 0.988);
    i = unary(OSC_OP_PE_TRANSPOSE, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 100, 128),
              sb(0, OSC_F32, 128, 100));
    expect("transpose, 32 bit: two passes", &i, 256 / 0.988);
}

/* Descriptors are pieces contiguous on both sides, at least one per row. */
static void test_transfer_descriptors(void)
{
    osc_ap dst = sb(0, OSC_BF16, 128, 512), src = hbm(0, OSC_BF16, 128, 512);
    osc_inst copy = load(OSC_ENGINE_SYNC, dst, src);
    dev_transfer_cost t = dev_transfer_cost_of(&copy, trn2());
    TAP_EQ_U64(t.descriptors, 128);
    TAP_EQ_U64(t.bytes, 128 * 1024);
    TAP_EQ_U64(t.engines, 16);
    TAP_EQ_U64(t.rows_each, 8);
    TAP_OK(t.hardware_queue);
    copy.src[0].dim[0].stride = 3; /* every element a piece of its own */
    TAP_EQ_U64(dev_transfer_cost_of(&copy, trn2()).descriptors, 128 * 512);
    copy.src[0] = strided(src, 1024, 4, 1, 128); /* four runs of 128 */
    TAP_EQ_U64(dev_transfer_cost_of(&copy, trn2()).descriptors, 128 * 4);
    copy.src[0] = src;
    copy.src[0].part_stride = 0; /* broadcast: each row is read again */
    TAP_EQ_U64(dev_transfer_cost_of(&copy, trn2()).descriptors, 128);
    copy = load(OSC_ENGINE_GPSIMD, sb(0, OSC_F32, 20, 512), hbm(0, OSC_BF16, 20, 512));
    t = dev_transfer_cost_of(&copy, trn2());
    TAP_EQ_U64(t.bytes, 20 * 512 * 4); /* the larger side of a cast */
    TAP_EQ_U64(t.engines, 3);
    TAP_EQ_U64(t.rows_each, 7);
    TAP_OK(!t.hardware_queue);
}

/* A dependent instruction is one that reads, on chip, what an earlier one wrote. */
static void test_dependence(void)
{
    osc_ap a = sb(0, OSC_F32, 32, 16), c = sb(256, OSC_F32, 32, 16);
    osc_inst first = unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, a, c);
    osc_inst reads = unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, c, a);
    TAP_OK(dev_reads_result(&reads, &first));
    reads.src[0].start_partition = 32; /* other partitions */
    TAP_OK(!dev_reads_result(&reads, &first));
    reads.src[0] = sb(64, OSC_F32, 32, 16); /* just behind */
    TAP_OK(!dev_reads_result(&reads, &first));
    reads.src[0] = ps(0, OSC_F32, 32, 16); /* other memory */
    TAP_OK(!dev_reads_result(&reads, &first));
    first.opcode = OSC_OP_DMA_COPY; /* ends when its semaphore says so */
    reads.src[0] = a;
    TAP_OK(!dev_reads_result(&reads, &first));
}

/* ---- parts of the schedule ---- */

/* Random changes, entered out of order; answers against a plain sum over all of them. */
static void test_semaphore(void)
{
    enum { CHANGES = 400 };
    osc_rng rng = {17};
    dev_semaphore s;
    memset(&s, 0, sizeof s);
    int64_t time[CHANGES];
    uint64_t add[CHANGES];
    int64_t now = 0;
    uint32_t wrong = 0;
    for (uint32_t n = 0; n < CHANGES; n++) {
        now += (int64_t)osc_rng_below(&rng, 5);
        time[n] = now + (int64_t)osc_rng_below(&rng, 100);
        add[n] = 1 + osc_rng_below(&rng, 4);
        TAP_REQUIRE(dev_semaphore_add(&s, now, time[n], add[n]));
        for (uint32_t value = 1; value < 1200; value += 37) {
            int64_t want = DEV_NEVER;
            for (uint32_t i = 0; i <= n;
                 i++) { /* the earliest change after which the sum suffices */
                uint64_t sum = 0;
                for (uint32_t k = 0; k <= n; k++)
                    sum += time[k] <= time[i] ? add[k] : 0;
                if (sum >= value && time[i] < want)
                    want = time[i];
            }
            int64_t got = dev_semaphore_reached(&s, value);
            wrong += want <= now ? got > now : got != want;
        }
    }
    TAP_EQ_U64(wrong, 0);
    dev_semaphore_free(&s);
}

/* Whatever is triggered: no engine moves faster than its rate, nor HBM than its share. */
static void test_flights(void)
{
    osc_rng rng = {23};
    dev_dma_state dma;
    dev_dma_start(&dma, trn2());
    int64_t trigger = 0, last = 0;
    double bytes = 0;
    int64_t engine_free[DEV_DMA_ENGINES] = {0};
    for (int n = 0; n < 2000; n++) {
        uint16_t rows = (uint16_t)(1 + osc_rng_below(&rng, 128));
        uint32_t cols = 1 + (uint32_t)osc_rng_below(&rng, 3000);
        osc_inst copy =
            load(OSC_ENGINE_VECTOR, sb(0, OSC_BF16, rows, cols), hbm(0, OSC_BF16, rows, cols));
        dev_transfer_cost cost = dev_transfer_cost_of(&copy, trn2());
        dev_ring_use uses[DEV_DMA_ENGINES];
        trigger += (int64_t)osc_rng_below(&rng, 300000);
        dev_flight flight = dev_fly(&dma, &cost, trigger, uses);
        TAP_OK(flight.begin_ps >= trigger + cost.start_ps && flight.end_ps > flight.begin_ps);
        for (uint32_t i = 0; i < cost.engines; i++) {
            unsigned e = (flight.first_engine + i) % DEV_DMA_ENGINES;
            TAP_OK(uses[i].begin_ps >= engine_free[e] && uses[i].end_ps >= uses[i].begin_ps);
            engine_free[e] = uses[i].end_ps;
        }
        bytes += (double)cost.bytes;
        last = flight.end_ps > last ? flight.end_ps : last;
    }
    TAP_OK(bytes / ((double)last / 1000) <= trn2()->hbm_bw);
}

int main(void)
{
    TAP_RUN(test_vector_modes);
    TAP_RUN(test_other_vector_rows);
    TAP_RUN(test_other_engines);
    TAP_RUN(test_transfer_descriptors);
    TAP_RUN(test_dependence);
    TAP_RUN(test_semaphore);
    TAP_RUN(test_flights);
    return tap_done();
}
