/*
 * test_device_timing.c - the device's time against published measurements.
 *
 * Each test is a row of the calibration set (neuroncore-model.md 6) or a figure of 1.8 and 1.9
 * that the model did not take as a parameter value directly; the tolerance is the 15 % asked for
 * there.
 */
#include "device_builder.h"

static bool within(double got, double want, double share)
{
    return fabs(got - want) <= want * share;
}

#define NEARLY(got, want)                                                                \
    TAP_OKF(within((double)(got), (want), 0.15), "%s: got %.1f, want %.1f +-15%%", #got, \
            (double)(got), (double)(want))

static int64_t length(const osc_event *e)
{
    return e->end_ns - e->start_ns;
}

/* Row 32 and 33: out = exp(x), x [rows, cols] bf16; load on one queue, store on another. */
static void exp_kernel(bench *b, uint16_t rows, uint32_t cols, osc_engine load_queue,
                       osc_engine store_queue)
{
    bench_open(b, OSC_TRN2);
    uint16_t x = bench_tensor(b, OSC_TENSOR_INPUT, OSC_BF16, (uint64_t)rows * cols);
    uint16_t y = bench_tensor(b, OSC_TENSOR_OUTPUT, OSC_BF16, (uint64_t)rows * cols);
    osc_inst in = load(load_queue, sb(0, OSC_BF16, rows, cols), hbm(x, OSC_BF16, rows, cols));
    uint32_t engines = osc_isa_dma_engines(&in);
    incs(&in, 0, 1);
    add(b, in);
    osc_inst table = make(OSC_OP_ACT_TABLE_LOAD, OSC_ENGINE_SCALAR);
    table.iimm = osc_act_set(OSC_ACT_EXP);
    waits(&table, 0, engines);
    add(b, table);
    osc_inst act =
        activation(OSC_ACT_EXP, sb(16384, OSC_BF16, rows, cols), sb(0, OSC_BF16, rows, cols), 1, 0);
    incs(&act, 1, 1);
    add(b, act);
    osc_inst out = load(store_queue, hbm(y, OSC_BF16, rows, cols), sb(16384, OSC_BF16, rows, cols));
    waits(&out, 1, 1);
    incs(&out, 2, 1);
    add(b, out);
    osc_inst done = make(OSC_OP_SEM_WAIT, OSC_ENGINE_SYNC);
    waits(&done, 2, engines);
    add(b, done);
}

/* Times of the published timeline, from the trigger of the load. */
static void test_exp_kernel_4_by_4096(void)
{
    bench b;
    exp_kernel(&b, 4, 4096, OSC_ENGINE_SYNC, OSC_ENGINE_GPSIMD);
    TAP_REQUIRE(bench_run(&b));
    const osc_event *trigger = event_of(&b, OSC_EV_INST, OSC_ENGINE_SYNC, 0);
    const osc_event *data = event_of(&b, OSC_EV_DMA, OSC_ENGINE_DMA, 0);
    const osc_event *table = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 0);
    const osc_event *act = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 1);
    const osc_event *store = event_of(&b, OSC_EV_INST, OSC_ENGINE_GPSIMD, 0);
    const osc_event *out = event_of(&b, OSC_EV_DMA, OSC_ENGINE_DMA, 1);
    const osc_event *done = event_of(&b, OSC_EV_INST, OSC_ENGINE_SYNC, 1);
    TAP_REQUIRE(trigger && data && table && act && store && out && done);
    NEARLY(data->start_ns - trigger->start_ns, 23283 - 22278);
    NEARLY(length(data), 24699 - 23283);
    NEARLY(table->start_ns - data->end_ns, 25060 - 24699);
    NEARLY(table->start_ns - trigger->start_ns, 25060 - 22278);
    NEARLY(length(table), 1285);
    NEARLY(length(act), 3705);
    TAP_OK(act->start_ns - table->end_ns <= 10);
    TAP_OKF(store->start_ns - act->end_ns >= 30 && store->start_ns - act->end_ns <= 50, "hop %lld",
            (long long)(store->start_ns - act->end_ns));
    NEARLY(out->start_ns - store->start_ns, 30990 - 30095);
    NEARLY(done->start_ns - store->start_ns, 32545 - 30095);
    NEARLY(done->start_ns - trigger->start_ns, 32545 - 22278);
    bench_close(&b);
}

static void test_exp_kernel_128_by_128(void)
{
    bench b;
    exp_kernel(&b, 128, 128, OSC_ENGINE_SYNC, OSC_ENGINE_GPSIMD);
    TAP_REQUIRE(bench_run(&b));
    const osc_event *trigger = event_of(&b, OSC_EV_INST, OSC_ENGINE_SYNC, 0);
    const osc_event *table = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 0);
    const osc_event *act = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 1);
    const osc_event *store = event_of(&b, OSC_EV_INST, OSC_ENGINE_GPSIMD, 0);
    const osc_event *done = event_of(&b, OSC_EV_INST, OSC_ENGINE_SYNC, 1);
    TAP_REQUIRE(trigger && table && act && store && done);
    NEARLY(table->start_ns - trigger->start_ns, 34780 - 33302);
    NEARLY(length(act), 400);
    /* From the kick, as row 33 counts; the figure's 880 ns from producer to kick do not occur in
     * the other figure, where the same engine kicks 35 ns after its producer. */
    NEARLY(done->start_ns - store->start_ns, 38650 - 37420);
    bench_close(&b);
}

/* n matmuls [128,128] x [128,512]; returns the mean interval of the last half. */
static double matmul_interval(osc_generation generation, osc_dtype dtype, uint32_t n)
{
    bench b;
    bench_open(&b, generation);
    for (uint32_t i = 0; i < n; i++) {
        osc_inst weights = make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR);
        weights.src[0] = sb(0, dtype, 128, 128);
        osc_inst mm = unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps((i % 8) * 2048, OSC_F32, 128, 512),
                            sb(4096, dtype, 128, 512));
        weights.flags = mm.flags = dtype == OSC_F32 ? OSC_INST_FP32_FULL : 0;
        add(&b, weights);
        add(&b, mm);
    }
    b.options.check_hazards = false;
    double interval = 0;
    if (bench_load(&b) && bench_execute(&b, false)) {
        const osc_event *first = event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, n | 1u);
        const osc_event *last = event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, 2 * n - 1);
        interval = (double)(last->start_ns - first->start_ns) / ((2.0 * n - 1 - (n | 1u)) / 2);
    }
    bench_close(&b);
    return interval;
}

/* Row 5: 863.7 ns. */
static void test_matmul_fp32(void)
{
    NEARLY(matmul_interval(OSC_TRN2, OSC_F32, 64), 863.7);
}

/* Row 36: 205 to 207 ns back to back on v2; on v3 512 cycles of 2.4 GHz. */
static void test_matmul_interval(void)
{
    NEARLY(matmul_interval(OSC_TRN1, OSC_F16, 64), 206);
    NEARLY(matmul_interval(OSC_TRN2, OSC_BF16, 64), 512 / 2.4);
}

/* Row 36: one matmul of N columns alone takes 141 + 0.407 N ns on v2. */
static void test_matmul_alone(void)
{
    static const uint32_t columns[] = {64, 128, 256, 512};
    for (unsigned i = 0; i < 4; i++) {
        bench b;
        bench_open(&b, OSC_TRN1);
        osc_inst weights = make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR);
        weights.src[0] = sb(0, OSC_F16, 128, 128);
        add(&b, weights);
        add(&b, unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 128, columns[i]),
                      sb(4096, OSC_F16, 128, columns[i])));
        b.options.check_hazards = false;
        TAP_REQUIRE(bench_load(&b) && bench_execute(&b, false));
        const osc_event *ldw = event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, 0);
        const osc_event *mm = event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, 1);
        NEARLY(length(mm), 141 + 0.407 * columns[i]);
        NEARLY(length(ldw), 83);
        TAP_OK(mm->start_ns - ldw->start_ns >= 8 && mm->start_ns - ldw->start_ns <= 20);
        bench_close(&b);
    }
}

/* 1.3: after idling the array starts at half its rate and reaches the whole within about 3 us of
 * work. */
static void test_matmul_ramp(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    osc_inst weights = make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR);
    weights.src[0] = sb(0, OSC_BF16, 128, 128);
    add(&b, weights);
    for (uint32_t i = 0; i < 40; i++)
        add(&b, unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps((i % 8) * 2048, OSC_F32, 128, 512),
                      sb(4096, OSC_BF16, 128, 512)));
    b.options.check_hazards = false;
    TAP_REQUIRE(bench_load(&b) && bench_execute(&b, false));
    int64_t first = event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, 2)->start_ns -
                    event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, 1)->start_ns;
    int64_t last = event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, 40)->start_ns -
                   event_of(&b, OSC_EV_INST, OSC_ENGINE_TENSOR, 39)->start_ns;
    TAP_OK(within((double)first, 2.0 * (double)last, 0.02));
    bench_close(&b);
}

/* Row 37: ACTIVATE copy from PSUM, N = 512: 523 ns alone, 453 behind another, 450 from start to
 * start. */
static void test_activate_on_v2(void)
{
    bench b;
    bench_open(&b, OSC_TRN1);
    for (uint32_t i = 0; i < 4; i++)
        add(&b, activation(OSC_ACT_COPY, sb(i * 1024, OSC_F16, 128, 512),
                           ps(i * 2048, OSC_F32, 128, 512), 1, 0));
    b.options.check_hazards = false;
    TAP_REQUIRE(bench_load(&b) && bench_execute(&b, false));
    const osc_event *first = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 0);
    const osc_event *second = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 1);
    NEARLY(length(first), 523);
    NEARLY(length(second), 453);
    NEARLY(second->start_ns - first->start_ns, 450);
    bench_close(&b);
}

/* Row 38: a chain of one-element activations, each reading the one before: 189 ns on v2. */
static void test_dependent_activations(void)
{
    bench b;
    bench_open(&b, OSC_TRN1);
    for (uint32_t i = 0; i < 16; i++)
        add(&b, activation(OSC_ACT_COPY, sb((i + 1) * 4, OSC_F32, 1, 1), sb(i * 4, OSC_F32, 1, 1),
                           1, 0));
    b.options.check_hazards = false;
    TAP_REQUIRE(bench_load(&b) && bench_execute(&b, false));
    int64_t from = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 2)->start_ns;
    int64_t to = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 12)->start_ns;
    NEARLY((to - from) / 10, 189);
    NEARLY(length(event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, 5)), 159);
    bench_close(&b);
}

/* Bytes per ns of a long row of loads of 128 rows of `bytes` each. */
static double load_rate(uint32_t bytes)
{
    enum { LOADS = 40 };
    bench b;
    bench_open(&b, OSC_TRN2);
    uint32_t cols = bytes / 2;
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, 128ull * cols);
    for (uint32_t i = 0; i < LOADS; i++) {
        osc_inst in = load(i % 2 ? OSC_ENGINE_SYNC : OSC_ENGINE_SCALAR, sb(0, OSC_BF16, 128, cols),
                           hbm(x, OSC_BF16, 128, cols));
        add(&b, in);
    }
    b.options.check_hazards = false;
    double rate = 0;
    if (bench_load(&b) && bench_execute(&b, false)) {
        int64_t first = 0, last = 0;
        for (size_t i = 0; i < b.events; i++) {
            if (b.event[i].kind != OSC_EV_DMA || b.event[i].ring != 0)
                continue;
            first = first == 0 ? b.event[i].end_ns : first;
            last = b.event[i].end_ns;
        }
        rate = (LOADS - 1) * 128.0 * bytes / (double)(last - first);
    }
    bench_close(&b);
    return rate;
}

/* Row 34: the chart of 1.8, per cent of the rate at 32 KiB per partition. */
static void test_dma_chart(void)
{
    static const struct {
        uint32_t bytes;
        double percent;
    } chart[] = {
        {32, 1.3},  {64, 2.5},    {128, 5.0},   {256, 10.3}, {512, 20.6},  {1024, 42},
        {2048, 81}, {4096, 96.6}, {8192, 98.3}, {16384, 99}, {32768, 100},
    };
    double best = load_rate(32768);
    for (unsigned i = 0; i < sizeof chart / sizeof *chart; i++) {
        double percent = load_rate(chart[i].bytes) / best * 100;
        TAP_OKF(within(percent, chart[i].percent, 0.15), "%u bytes: %.1f %%, chart %.1f %%",
                chart[i].bytes, percent, chart[i].percent);
    }
    TAP_OKF(within(best, 368, 0.02), "best %.1f B/ns", best);
}

/* Row 35: 32 KiB through one engine. */
static void test_dma_one_engine(void)
{
    static const struct {
        osc_generation generation;
        double ns;
    } rows[] = {{OSC_TRN1, 1810}, {OSC_TRN2, 1416}};
    for (unsigned i = 0; i < 2; i++) {
        bench b;
        bench_open(&b, rows[i].generation);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, 16384);
        add(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_BF16, 4, 4096), hbm(x, OSC_BF16, 4, 4096)));
        TAP_REQUIRE(bench_load(&b) && bench_execute(&b, false));
        NEARLY(length(event_of(&b, OSC_EV_DMA, OSC_ENGINE_DMA, 0)), rows[i].ns);
        bench_close(&b);
    }
}

/* Row 39: kick to consumer ready on v2, static ring or software descriptors (GpSimd builds for
 * 649 ns before the kick of the figure). */
static void test_dma_kick_to_ready(void)
{
    static const struct {
        uint32_t cols;
        double ns;
    } rows[] = {{128, 925}, {256, 1290}, {512, 1470}, {1024, 1830}};
    for (unsigned i = 0; i < 4; i++) {
        bench b;
        bench_open(&b, OSC_TRN1);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F16, 128ull * rows[i].cols);
        osc_inst in = load(OSC_ENGINE_SYNC, sb(0, OSC_F16, 128, rows[i].cols),
                           hbm(x, OSC_F16, 128, rows[i].cols));
        incs(&in, 0, 1);
        add(&b, in);
        osc_inst done = make(OSC_OP_SEM_WAIT, OSC_ENGINE_VECTOR);
        waits(&done, 0, 16);
        add(&b, done);
        TAP_REQUIRE(bench_load(&b) && bench_execute(&b, false));
        double ready = (double)(event_of(&b, OSC_EV_INST, OSC_ENGINE_VECTOR, 0)->start_ns -
                                event_of(&b, OSC_EV_INST, OSC_ENGINE_SYNC, 0)->start_ns);
        TAP_OKF(within(ready, rows[i].ns, 0.30), "%u columns: %.0f, published %.0f", rows[i].cols,
                ready, rows[i].ns);
        bench_close(&b);
    }
}

/* ---- the RMSNorm of 4.2 and 4.3: one execution per operator, and fused ---- */

static osc_ap column(int64_t offset)
{
    return sb(offset, OSC_F32, 4, 1);
}

static void finish_with_store(bench *b, osc_ap src, uint16_t tensor, uint32_t cols, osc_dtype dtype,
                              uint16_t ready_sem)
{
    osc_inst out = load(OSC_ENGINE_SYNC, hbm(tensor, dtype, 4, cols), src);
    waits(&out, ready_sem, 1);
    incs(&out, 30, 1);
    add(b, out);
    osc_inst done = make(OSC_OP_SEM_WAIT, OSC_ENGINE_SYNC);
    waits(&done, 30, 1);
    add(b, done);
}

static void load_x(bench *b, uint16_t tensor, int64_t offset, osc_dtype dtype, uint32_t cols,
                   uint16_t sem)
{
    osc_inst in = load(OSC_ENGINE_SYNC, sb(offset, dtype, 4, cols), hbm(tensor, dtype, 4, cols));
    incs(&in, sem, 1);
    add(b, in);
}

static double body_us(bench *b)
{
    double us = bench_load(b) ? (double)osc_loaded_body_ns(b->loaded) / 1000 : 0;
    bench_close(b);
    return us;
}

static double mul_us(bool row_factor, bool load_second)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, 2048);
    uint16_t f = bench_tensor(&b, OSC_TENSOR_INPUT, row_factor ? OSC_F32 : OSC_BF16, 2048);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_BF16, 2048);
    load_x(&b, x, 0, OSC_BF16, 512, 0);
    if (load_second)
        load_x(&b, f, 1024, row_factor ? OSC_F32 : OSC_BF16, row_factor ? 1 : 512, 1);
    osc_inst mul;
    osc_ap in = sb(0, OSC_BF16, 4, 512), out = sb(4096, OSC_BF16, 4, 512);
    if (row_factor) {
        mul = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_MUL, out, in, 0);
        mul.src[1] = column(1024);
    } else {
        mul = tensor_tensor(OSC_ENGINE_VECTOR, OSC_ALU_MUL, out, in,
                            load_second ? sb(1024, OSC_BF16, 4, 512) : in);
    }
    waits(&mul, 0, 1);
    if (load_second)
        waits(&mul, 1, 1);
    incs(&mul, 2, 1);
    add(&b, mul);
    finish_with_store(&b, out, y, 512, OSC_BF16, 2);
    return body_us(&b);
}

static double mean_us(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, 2048);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_BF16, 4);
    load_x(&b, x, 0, OSC_BF16, 512, 0);
    osc_inst sum =
        unary(OSC_OP_TENSOR_REDUCE, OSC_ENGINE_VECTOR, column(2048), sb(0, OSC_BF16, 4, 512));
    sum.alu[0] = OSC_ALU_ADD;
    sum.axes = 1;
    waits(&sum, 0, 1);
    add(&b, sum);
    osc_inst scale = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_MUL, sb(2052, OSC_BF16, 4, 1),
                                   column(2048), 1.0f / 512);
    incs(&scale, 1, 1);
    add(&b, scale);
    finish_with_store(&b, sb(2052, OSC_BF16, 4, 1), y, 1, OSC_BF16, 1);
    return body_us(&b);
}

static double small_us(bool rsqrt)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, 4);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_BF16, 4);
    load_x(&b, x, 0, OSC_BF16, 1, 0);
    osc_ap in = sb(0, OSC_BF16, 4, 1), out = sb(64, OSC_BF16, 4, 1);
    osc_inst op = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_ADD, out, in, 1e-6f);
    if (rsqrt) {
        osc_inst table = make(OSC_OP_ACT_TABLE_LOAD, OSC_ENGINE_SCALAR);
        table.iimm = osc_act_set(OSC_ACT_RSQRT);
        add(&b, table);
        op = activation(OSC_ACT_RSQRT, out, in, 1, 0);
    }
    waits(&op, 0, 1);
    incs(&op, 1, 1);
    add(&b, op);
    finish_with_store(&b, out, y, 1, OSC_BF16, 1);
    return body_us(&b);
}

static void test_naive_rms_norm(void)
{
    double parts[6] = {mul_us(false, false), mean_us(),          small_us(false),
                       small_us(true),       mul_us(true, true), mul_us(false, true)};
    double sum = 0;
    for (unsigned i = 0; i < 6; i++)
        sum += parts[i];
    tap_note("mul %.2f mean %.2f add %.2f rsqrt %.2f mul %.2f mul %.2f us", parts[0], parts[1],
             parts[2], parts[3], parts[4], parts[5]);
    TAP_OKF(within(sum, 67, 0.15), "six executions take %.2f us, want 67 +-15%%", sum);
}

static void test_fused_rms_norm(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, 2048);
    uint16_t g = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_BF16, 512);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_BF16, 2048);
    osc_ap xs = sb(0, OSC_BF16, 4, 512), gs = sb(1024, OSC_BF16, 4, 512),
           ys = sb(2048, OSC_BF16, 4, 512);
    load_x(&b, x, 0, OSC_BF16, 512, 0);
    osc_ap gamma = hbm(g, OSC_BF16, 4, 512);
    gamma.part_stride = 0;
    osc_inst in = load(OSC_ENGINE_SYNC, gs, gamma);
    incs(&in, 1, 1);
    add(&b, in);
    osc_inst table = make(OSC_OP_ACT_TABLE_LOAD, OSC_ENGINE_SCALAR);
    table.iimm = osc_act_set(OSC_ACT_RSQRT);
    add(&b, table);
    osc_inst square = activation(OSC_ACT_SQUARE, sb(3072, OSC_BF16, 4, 512), xs, 1, 0);
    square.opcode = OSC_OP_ACTIVATION_REDUCE;
    square.dst2 = column(4096);
    waits(&square, 0, 1);
    add(&b, square);
    osc_inst rsqrt = activation(OSC_ACT_RSQRT, column(4100), column(4096), 1.0f / 512, 1e-6f);
    incs(&rsqrt, 2, 1);
    add(&b, rsqrt);
    osc_inst scale = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_MUL, ys, xs, 0);
    scale.src[1] = column(4100);
    waits(&scale, 2, 1);
    add(&b, scale);
    osc_inst mul = tensor_tensor(OSC_ENGINE_VECTOR, OSC_ALU_MUL, ys, ys, gs);
    waits(&mul, 1, 1);
    incs(&mul, 3, 1);
    add(&b, mul);
    finish_with_store(&b, ys, y, 512, OSC_BF16, 3);
    double us = body_us(&b);
    TAP_OKF(within(us, 12.6, 0.15), "the fused kernel takes %.2f us, want 12.6 +-15%%", us);
}

int main(void)
{
    TAP_RUN(test_exp_kernel_4_by_4096);
    TAP_RUN(test_exp_kernel_128_by_128);
    TAP_RUN(test_matmul_fp32);
    TAP_RUN(test_matmul_interval);
    TAP_RUN(test_matmul_alone);
    TAP_RUN(test_matmul_ramp);
    TAP_RUN(test_activate_on_v2);
    TAP_RUN(test_dependent_activations);
    TAP_RUN(test_dma_chart);
    TAP_RUN(test_dma_one_engine);
    TAP_RUN(test_dma_kick_to_ready);
    TAP_RUN(test_naive_rms_norm);
    TAP_RUN(test_fused_rms_norm);
    return tap_done();
}
