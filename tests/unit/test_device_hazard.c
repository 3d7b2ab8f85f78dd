/*
 * test_device_hazard.c - the happens-before checker: each rule with a program that breaks it and
 * the same program mended, plus the geometry it rests on against brute force.
 */
#include "base/rng.h"
#include "device_builder.h"
#include "neuron/device/footprint.h"

/* Loads the program; TAP failure unless it is refused with a message that holds all the words. */
static void expect_hazard(bench *b, const char *const *words)
{
    b->err.message[0] = '\0';
    osc_status status = osc_program_seal(b->program, &b->err);
    TAP_EQ_STATUS(status, OSC_OK);
    b->core = osc_core_new(&b->sheet, &b->options);
    status = osc_core_load(b->core, b->program, &b->loaded, &b->err);
    TAP_EQ_STATUS(status, OSC_EHAZARD);
    TAP_OK(b->loaded == NULL);
    for (; *words != NULL; words++)
        TAP_OKF(strstr(b->err.message, *words) != NULL, "'%s' lacks '%s'", b->err.message, *words);
    bench_close(b);
}

static void expect_clean(bench *b)
{
    TAP_OK(bench_run(b));
    bench_close(b);
}

static uint32_t source(bench *b, const char *op)
{
    osc_source s;
    memset(&s, 0, sizeof s);
    s.op = osc_str_from_cstr(op);
    return osc_program_add_source(b->program, &s);
}

/* Vector reads what a load writes; the wait between them is left out or too weak. */
static void read_program(bench *b, uint32_t wait_value)
{
    bench_open(b, OSC_TRN2);
    uint16_t x = bench_tensor(b, OSC_TENSOR_INPUT, OSC_F32, 128 * 64);
    osc_inst in = load(OSC_ENGINE_SYNC, sb(0, OSC_F32, 128, 64), hbm(x, OSC_F32, 128, 64));
    in.source = source(b, "aten::mul");
    incs(&in, 3, 1);
    add(b, in);
    osc_inst copy = unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(1024, OSC_F32, 32, 8),
                          sb(128, OSC_F32, 32, 8));
    copy.source = source(b, "aten::add");
    /* start late enough that only the rule, not the clock, is broken */
    for (uint32_t i = 0; i < 200; i++)
        add(b, make(OSC_OP_NOP, OSC_ENGINE_VECTOR));
    if (wait_value > 0)
        waits(&copy, 3, wait_value);
    add(b, copy);
}

static void test_read_after_write(void)
{
    bench b;
    read_program(&b, 0);
    expect_hazard(&b, (const char *const[]){"Vector[200] tensor_copy of aten::add",
                                            "reads SBUF partitions 0-31 bytes 128-159",
                                            "Sync[0] dma_copy of aten::mul", NULL});
    read_program(&b, 16);
    expect_clean(&b);
}

/* Two engines write the same place. */
static void test_write_after_write(void)
{
    for (int mended = 0; mended < 2; mended++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        osc_inst first = make(OSC_OP_MEMSET, OSC_ENGINE_VECTOR),
                 second = make(OSC_OP_MEMSET, OSC_ENGINE_GPSIMD);
        first.dst = sb(256, OSC_F32, 64, 10);
        second.dst = on_chip(OSC_SPACE_SBUF, 32, 32, 256 + 36, OSC_F32, 4);
        incs(&first, 0, 1);
        if (mended)
            waits(&second, 0, 1);
        add(&b, first);
        for (uint32_t i = 0; i < 50; i++)
            add(&b, make(OSC_OP_NOP, OSC_ENGINE_GPSIMD));
        add(&b, second);
        if (mended)
            expect_clean(&b);
        else
            expect_hazard(&b, (const char *const[]){"GpSimd[50] memset", "writes SBUF",
                                                    "Vector[0] memset", "too", NULL});
    }
}

/* A load overwrites what Scalar still reads. */
static void test_write_after_read(void)
{
    for (int mended = 0; mended < 2; mended++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 64);
        osc_ap place = sb(0, OSC_F32, 1, 64);
        osc_inst in = load(OSC_ENGINE_SYNC, place, hbm(x, OSC_F32, 1, 64));
        incs(&in, 0, 1);
        add(&b, in);
        osc_inst use = activation(OSC_ACT_COPY, sb(512, OSC_F32, 1, 64), place, 1, 0);
        waits(&use, 0, 1);
        incs(&use, 1, 1);
        add(&b, use);
        waits(&in, mended ? 1 : 0, 1); /* unmended: knows the first load, not its reader */
        in.nincs = 0;
        incs(&in, 2, 1);
        add(&b, in);
        if (mended)
            expect_clean(&b);
        else
            expect_hazard(&b, (const char *const[]){"Sync[1] dma_copy", "writes SBUF",
                                                    "Scalar[0] activation reads", NULL});
    }
}

/* Knowledge travels: C waits for B only, B waited for A. */
static void test_order_is_transitive(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    osc_inst a = make(OSC_OP_MEMSET, OSC_ENGINE_VECTOR),
             between = make(OSC_OP_SEM_INC, OSC_ENGINE_SYNC);
    osc_inst c =
        unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_GPSIMD, sb(64, OSC_F32, 1, 4), sb(0, OSC_F32, 1, 4));
    a.dst = sb(0, OSC_F32, 1, 4);
    incs(&a, 0, 1);
    waits(&between, 0, 1);
    incs(&between, 1, 1);
    waits(&c, 1, 1);
    add(&b, a);
    add(&b, between);
    add(&b, c);
    expect_clean(&b);
}

/* A counting semaphore orders only what is needed to reach the value waited for. */
static void test_partial_count(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 1024);
    for (uint32_t i = 0; i < 2; i++) {
        osc_inst in = load(OSC_ENGINE_SYNC, sb(i * 64, OSC_F32, 1, 16), hbm(x, OSC_F32, 1, 16));
        incs(&in, 0, 1);
        add(&b, in);
    }
    osc_inst use = unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(512, OSC_F32, 1, 32),
                         sb(0, OSC_F32, 1, 32));
    waits(&use, 0, 1); /* the second load raises it to 2 */
    add(&b, use);
    expect_hazard(&b, (const char *const[]){"Vector[0]", "Sync[1] dma_copy", NULL});
}

static void test_unwritten(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    osc_inst fill = make(OSC_OP_MEMSET, OSC_ENGINE_VECTOR);
    fill.dst = sb(0, OSC_BF16, 128, 100);
    add(&b, fill);
    add(&b, unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(1024, OSC_BF16, 128, 101),
                  sb(0, OSC_BF16, 128, 101)));
    expect_hazard(&b, (const char *const[]){"Vector[1] tensor_copy", "bytes 0-201",
                                            "nothing has written", NULL});
    /* the 128th partition only */
    bench_open(&b, OSC_TRN2);
    fill.dst = sb(0, OSC_BF16, 127, 100);
    add(&b, fill);
    add(&b, unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(1024, OSC_BF16, 128, 100),
                  sb(0, OSC_BF16, 128, 100)));
    expect_hazard(&b, (const char *const[]){"Vector[1] tensor_copy", "nothing has written", NULL});
}

/* HBM: scratch read before its store has landed; outputs may not be read first, inputs may. */
static void test_hbm(void)
{
    for (int mended = 0; mended < 2; mended++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 64),
                 y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 64);
        osc_inst out = load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, 4, 16), hbm(x, OSC_F32, 4, 16));
        incs(&out, 0, 1);
        add(&b, out);
        osc_inst back = load(OSC_ENGINE_SYNC, sb(0, OSC_F32, 1, 16), hbm(y, OSC_F32, 1, 16));
        if (mended)
            waits(&back, 0, 1);
        incs(&back, 1, 1);
        add(&b, back);
        if (mended)
            expect_clean(&b);
        else
            expect_hazard(&b, (const char *const[]){"Sync[1] dma_copy", "bytes 0-63 of t1",
                                                    "Sync[0] dma_copy", NULL});
    }
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 64);
    add(&b, load(OSC_ENGINE_SYNC, sb(0, OSC_F32, 1, 16), hbm(y, OSC_F32, 1, 16)));
    expect_hazard(&b, (const char *const[]){"Sync[0]", "of t0", "nothing has written", NULL});
}

/* Stores of interleaved columns touch different bytes of overlapping ranges. */
static void test_interleaved_stores_are_clean(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 4096),
             y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 4096);
    for (uint32_t i = 0; i < 4; i++) {
        osc_ap to = hbm(y, OSC_F32, 64, 16), from = hbm(x, OSC_F32, 64, 16);
        to.part_stride = from.part_stride = 64;
        to.offset = from.offset = 64 * i;
        osc_inst out = load(i % 2 ? OSC_ENGINE_SYNC : OSC_ENGINE_SCALAR, to, from);
        incs(&out, 0, 1);
        add(&b, out);
    }
    expect_clean(&b);
}

static void test_accumulate_on_foreign_psum(void)
{
    for (int mended = 0; mended < 2; mended++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        uint16_t step = 0;
        osc_inst fill = make(OSC_OP_MEMSET, OSC_ENGINE_VECTOR);
        fill.dst = sb(0, OSC_BF16, 128, 256);
        chain(&b, fill, step++);
        if (!mended) {
            fill.dst = ps(0, OSC_F32, 128, 128);
            chain(&b, fill, step++);
        }
        osc_inst weights = make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR);
        weights.src[0] = sb(0, OSC_BF16, 128, 128);
        chain(&b, weights, step++);
        osc_inst mm = unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 128, 128),
                            sb(256, OSC_BF16, 128, 128));
        if (mended)
            chain(&b, mm, step++);
        mm.flags = OSC_INST_ACCUMULATE;
        chain(&b, mm, step);
        if (mended)
            expect_clean(&b);
        else
            expect_hazard(&b, (const char *const[]){"Tensor[1] matmul", "accumulates on PSUM",
                                                    "no matmul has written", NULL});
    }
}

/* Engines that met in a barrier know each other's work. */
static void test_barrier_orders(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    osc_inst fill = make(OSC_OP_MEMSET, OSC_ENGINE_VECTOR),
             meet = make(OSC_OP_BARRIER, OSC_ENGINE_VECTOR);
    fill.dst = sb(0, OSC_F32, 1, 4);
    add(&b, fill);
    add(&b, meet);
    meet.engine = OSC_ENGINE_GPSIMD;
    add(&b, meet);
    add(&b,
        unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_GPSIMD, sb(64, OSC_F32, 1, 4), sb(0, OSC_F32, 1, 4)));
    expect_clean(&b);
}

/* A double-buffered pipeline of many tiles stays clean, and one missing wait in it is found. */
static void pipeline(bench *b, uint32_t tiles, uint32_t broken)
{
    bench_open(b, OSC_TRN2);
    uint16_t x = bench_tensor(b, OSC_TENSOR_INPUT, OSC_BF16, 128ull * 32 * tiles);
    uint16_t y = bench_tensor(b, OSC_TENSOR_OUTPUT, OSC_BF16, 128ull * 32 * tiles);
    for (uint32_t i = 0; i < tiles; i++) {
        osc_ap in = sb((i % 2) * 64, OSC_BF16, 128, 32),
               out = sb(128 + (i % 2) * 64, OSC_BF16, 128, 32);
        osc_ap from = hbm(x, OSC_BF16, 128, 32), to = hbm(y, OSC_BF16, 128, 32);
        from.offset = to.offset = (int64_t)i * 128 * 64;
        osc_inst first = load(OSC_ENGINE_SYNC, in, from), last = load(OSC_ENGINE_SCALAR, to, out);
        osc_inst op = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_ADD, out, in, 1);
        if (i >= 2 && i != broken)
            waits(&first, 1, i - 1);
        incs(&first, 0, 1);
        waits(&op, 0, 16 * (i + 1));
        if (i >= 2)
            waits(&op, 2, 16 * (i - 1));
        incs(&op, 1, 1);
        waits(&last, 1, i + 1);
        incs(&last, 2, 1);
        add(b, first);
        add(b, op);
        add(b, last);
    }
}

static void test_pipeline(void)
{
    bench b;
    pipeline(&b, 300, UINT32_MAX);
    TAP_REQUIRE(bench_run(&b));
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < 128ull * 32 * 300; i++)
        wrong += get(&b, 1, OSC_BF16, i) != 1;
    TAP_EQ_U64(wrong, 0);
    bench_close(&b);
    /* With wait number 200 missing the load does not know that the buffer's last load is
     * complete. */
    pipeline(&b, 300, 200);
    expect_hazard(
        &b, (const char *const[]){"Sync[200] dma_copy", "Sync[198] dma_copy writes too", NULL});
}

/* ---- geometry against brute force ---- */

static osc_ap random_pattern(osc_rng *rng)
{
    osc_ap ap;
    memset(&ap, 0, sizeof ap);
    ap.space = OSC_SPACE_HBM;
    ap.dtype = osc_rng_below(rng, 2) ? OSC_BF16 : OSC_F32;
    ap.ndim = (uint8_t)osc_rng_below(rng, 4);
    ap.nparts = (uint16_t)(1 + osc_rng_below(rng, 3));
    ap.part_stride = (int64_t)osc_rng_below(rng, 20) - 5;
    ap.offset = 400 + 2 * (int64_t)osc_rng_below(rng, 60);
    for (unsigned i = 0; i < ap.ndim; i++) {
        ap.dim[i].stride = (int64_t)osc_rng_below(rng, 13) - 4;
        ap.dim[i].count = 1 + (uint32_t)osc_rng_below(rng, 4);
    }
    return ap;
}

static void mark(const osc_ap *ap, uint8_t *bytes)
{
    int64_t size = (int64_t)osc_dtype_size((osc_dtype)ap->dtype);
    uint64_t row = osc_ap_row_elems(ap);
    for (uint64_t i = 0; i < row * ap->nparts; i++) {
        int64_t at = ap->offset + (int64_t)(i / row) * ap->part_stride * size;
        uint64_t rest = i % row;
        for (unsigned d = ap->ndim; d-- > 0;) {
            at += (int64_t)(rest % ap->dim[d].count) * ap->dim[d].stride * size;
            rest /= ap->dim[d].count;
        }
        memset(bytes + at, 1, (size_t)size);
    }
}

static void test_footprints(void)
{
    enum { SPAN = 2048, ROUNDS = 20000 };
    osc_rng rng = {2026};
    uint32_t wrong = 0, overlaps = 0;
    for (int round = 0; round < ROUNDS; round++) {
        osc_ap a = random_pattern(&rng), b = random_pattern(&rng);
        uint8_t in_a[SPAN] = {0}, in_b[SPAN] = {0};
        mark(&a, in_a);
        mark(&b, in_b);
        bool want = false, all = true;
        for (int i = 0; i < SPAN; i++) {
            want |= in_a[i] && in_b[i];
            all &= !in_b[i] || in_a[i];
        }
        dev_foot fa = dev_foot_of(&a), fb = dev_foot_of(&b);
        dev_bits bits;
        TAP_REQUIRE(dev_bits_init(&bits, 1, SPAN));
        dev_bits_set(&bits, &fa, true);
        wrong += dev_foot_overlap(&fa, &fb) != want || dev_foot_overlap(&fb, &fa) != want;
        wrong += dev_bits_any(&bits, &fb) != want || dev_bits_all(&bits, &fb) != all;
        dev_bits_set(&bits, &fa, false);
        wrong += dev_bits_any(&bits, &fa);
        overlaps += want;
        dev_bits_free(&bits);
    }
    TAP_EQ_U64(wrong, 0);
    TAP_OK(overlaps > ROUNDS / 10 && overlaps < ROUNDS - ROUNDS / 10);
}

int main(void)
{
    TAP_RUN(test_read_after_write);
    TAP_RUN(test_write_after_write);
    TAP_RUN(test_write_after_read);
    TAP_RUN(test_order_is_transitive);
    TAP_RUN(test_partial_count);
    TAP_RUN(test_unwritten);
    TAP_RUN(test_hbm);
    TAP_RUN(test_interleaved_stores_are_clean);
    TAP_RUN(test_accumulate_on_foreign_psum);
    TAP_RUN(test_barrier_orders);
    TAP_RUN(test_pipeline);
    TAP_RUN(test_footprints);
    return tap_done();
}
