/*
 * test_device_schedule.c - order, events, loops, deadlocks, errors and lack of memory.
 */
#include "base/mem.h"
#include "device_builder.h"

/* The expected message must hold each of the words. */
static void expect_message(const bench *b, const char *const *words)
{
    for (; *words != NULL; words++)
        TAP_OKF(strstr(b->err.message, *words) != NULL, "'%s' lacks '%s'", b->err.message, *words);
}

static osc_status load_status(bench *b)
{
    osc_status status = osc_program_seal(b->program, &b->err);
    TAP_EQ_STATUS(status, OSC_OK);
    b->core = osc_core_new(&b->sheet, &b->options);
    return osc_core_load(b->core, b->program, &b->loaded, &b->err);
}

static void test_empty_program(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    TAP_REQUIRE(bench_run(&b));
    TAP_EQ_I64(osc_loaded_body_ns(b.loaded), 4000 + 2600);
    TAP_EQ_U64(b.events, 3);
    TAP_EQ_U64(b.result.instructions, 0);
    bench_close(&b);
}

static void test_deadlock_is_told_in_words(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    osc_inst a = make(OSC_OP_SEM_WAIT, OSC_ENGINE_VECTOR),
             c = make(OSC_OP_SEM_WAIT, OSC_ENGINE_SCALAR);
    waits(&a, 5, 2);
    incs(&a, 6, 1);
    waits(&c, 6, 1);
    incs(&c, 5, 2);
    add(&b, a);
    add(&b, c);
    osc_inst lost = make(OSC_OP_SEM_WAIT, OSC_ENGINE_SYNC);
    waits(&lost, 9, 1);
    add(&b, lost);
    osc_inst meet = make(OSC_OP_BARRIER, OSC_ENGINE_GPSIMD);
    meet.iimm = 3;
    add(&b, meet);
    meet.engine = OSC_ENGINE_VECTOR;
    add(&b, meet);
    TAP_EQ_STATUS(load_status(&b), OSC_EDEADLOCK);
    expect_message(
        &b, (const char *const[]){
                "Vector[0] sem_wait waits for semaphore 5 >= 2, now 0, which Scalar[0] sem_wait "
                "would raise",
                "Scalar[0] sem_wait waits for semaphore 6 >= 1, now 0, which Vector[0] sem_wait "
                "would raise",
                "Sync[0] sem_wait waits for semaphore 9 >= 1, now 0, which nobody left would raise",
                "GpSimd[0] barrier waits in barrier 3 for Vector", NULL});
    bench_close(&b);
}

/* A static loop: the register counts down from 5, the body runs five times. */
static void test_loop(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 4);
    osc_ap cell = sb(0, OSC_F32, 1, 4);
    osc_inst fill = make(OSC_OP_MEMSET, OSC_ENGINE_VECTOR),
             move = make(OSC_OP_REG_MOVE, OSC_ENGINE_VECTOR);
    fill.dst = cell;
    fill.imm[0] = 1;
    move.iimm = 5;
    move.iimm2 = 7;
    add(&b, fill);
    add(&b, move);
    osc_inst twice = tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_MUL, cell, cell, 2),
             less = make(OSC_OP_REG_ALU, OSC_ENGINE_VECTOR);
    incs(&twice, 0, 1);
    add(&b, twice);
    less.alu[0] = OSC_ALU_SUB;
    less.iimm = 1;
    less.iimm2 = 7;
    less.src[0].space = OSC_SPACE_REG;
    less.src[0].offset = 7;
    add(&b, less);
    osc_inst branch = make(OSC_OP_BRANCH, OSC_ENGINE_VECTOR);
    branch.src[0] = less.src[0];
    branch.alu[0] = OSC_ALU_GT;
    branch.iimm = 0;
    branch.iimm2 = 2;
    add(&b, branch);
    osc_inst out = load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, 1, 4), cell);
    waits(&out, 0, 5);
    add(&b, out);
    TAP_REQUIRE(bench_run(&b));
    TAP_EQ_F64(get(&b, y, OSC_F32, 3), 32);
    TAP_EQ_U64(b.result.instructions, 2 + 3 * 5 + 1);
    bench_close(&b);
}

static void test_loop_without_end(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    osc_inst branch = make(OSC_OP_BRANCH, OSC_ENGINE_SYNC);
    branch.src[0].space = OSC_SPACE_REG;
    branch.alu[0] = OSC_ALU_EQ;
    add(&b, branch);
    TAP_EQ_STATUS(load_status(&b), OSC_EINVAL);
    expect_message(&b, (const char *const[]){"does a loop not end", NULL});
    bench_close(&b);
}

/* A loop whose count comes from memory: scheduled and run together, different each time. */
static void test_loop_on_data(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t n = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_I32, 1),
             y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_I32, 1);
    osc_inst count = make(OSC_OP_REG_LOAD, OSC_ENGINE_SYNC),
             less = make(OSC_OP_REG_ALU, OSC_ENGINE_SYNC);
    osc_inst sum = make(OSC_OP_REG_ALU, OSC_ENGINE_SYNC),
             branch = make(OSC_OP_BRANCH, OSC_ENGINE_SYNC);
    osc_inst out = make(OSC_OP_REG_STORE, OSC_ENGINE_SYNC);
    count.src[0] = hbm(n, OSC_I32, 1, 1);
    count.iimm2 = 1;
    sum.src[0].space = sum.src[1].space = less.src[0].space = OSC_SPACE_REG;
    sum.alu[0] = OSC_ALU_ADD; /* r2 += r1 */
    sum.iimm2 = sum.src[0].offset = 2;
    sum.src[1].offset = 1;
    less.alu[0] = OSC_ALU_SUB;
    less.iimm = 1;
    less.iimm2 = less.src[0].offset = 1;
    branch.src[0] = less.src[0];
    branch.alu[0] = OSC_ALU_NE;
    branch.iimm2 = 1;
    out.dst = hbm(y, OSC_I32, 1, 1);
    out.src[0] = sum.src[0];
    add(&b, count);
    add(&b, sum);
    add(&b, less);
    add(&b, branch);
    add(&b, out);
    put(&b, n, OSC_I32, 0, 4);
    TAP_REQUIRE(bench_run(&b));
    TAP_EQ_I64(osc_loaded_body_ns(b.loaded), 0);
    TAP_EQ_F64(get(&b, y, OSC_I32, 0), 10);
    int64_t four = b.result.body_ns;
    put(&b, n, OSC_I32, 0, 100);
    TAP_REQUIRE(bench_execute(&b, true));
    TAP_EQ_F64(get(&b, y, OSC_I32, 0), 5050);
    TAP_OK(b.result.body_ns > four);
    TAP_OK(!bench_execute(&b, false));
    TAP_EQ_STATUS(b.err.code, OSC_EUNSUPPORTED);
    TAP_EQ_STATUS(osc_core_simulate(b.core, b.loaded, NULL, &b.err), OSC_EUNSUPPORTED);
    bench_close(&b);
}

/* All members go on together, after the last has come. */
static void test_barrier(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    static const osc_engine members[] = {OSC_ENGINE_TENSOR, OSC_ENGINE_SCALAR, OSC_ENGINE_GPSIMD,
                                         OSC_ENGINE_VECTOR, OSC_ENGINE_SYNC};
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = 0; k < i * 10; k++)
            add(&b, make(OSC_OP_NOP, members[i]));
        osc_inst meet = make(OSC_OP_BARRIER, members[i]);
        meet.iimm = 1;
        add(&b, meet);
        add(&b, make(OSC_OP_NOP, members[i]));
    }
    TAP_REQUIRE(bench_run(&b));
    for (unsigned i = 0; i < 5; i++) {
        const osc_event *meet = event_of(&b, OSC_EV_INST, members[i], i * 10),
                        *next = event_of(&b, OSC_EV_INST, members[i], i * 10 + 1);
        TAP_REQUIRE(meet && next);
        TAP_EQ_I64(next->start_ns, 4000 + 40 * 16 + 290);
        TAP_EQ_I64(meet->end_ns, next->start_ns);
        TAP_EQ_I64(meet->start_ns, 4000 + (int64_t)i * 160);
    }
    bench_close(&b);
}

/* ---- events ---- */

static bool before(const osc_event *a, const osc_event *b)
{
    return a->start_ns <= b->start_ns;
}

static void small_program(bench *b)
{
    bench_open(b, OSC_TRN2);
    uint16_t x = bench_tensor(b, OSC_TENSOR_INPUT, OSC_F32, 20 * 30),
             y = bench_tensor(b, OSC_TENSOR_OUTPUT, OSC_F32, 20 * 30);
    osc_ap in = sb(0, OSC_F32, 20, 30), out = sb(512, OSC_F32, 20, 30);
    chain(b, load(OSC_ENGINE_SYNC, in, hbm(x, OSC_F32, 20, 30)), 0);
    chain(b, tensor_scalar(OSC_ENGINE_VECTOR, OSC_ALU_ADD, out, in, 1), 1);
    chain(b, load(OSC_ENGINE_GPSIMD, hbm(y, OSC_F32, 20, 30), out), 2);
    osc_inst note = make(OSC_OP_NOTIFY, OSC_ENGINE_SYNC);
    note.iimm = 77;
    waits(&note, 2, 3);
    add(b, note);
}

static void test_events(void)
{
    bench b;
    small_program(&b);
    TAP_REQUIRE(bench_run(&b));
    uint32_t insts = 0, dmas = 0;
    uint64_t bytes = 0, descriptors = 0;
    for (size_t i = 0; i < b.events; i++) {
        const osc_event *e = &b.event[i];
        TAP_OK(i == 0 || before(&b.event[i - 1], e));
        TAP_OK(e->ready_ns <= e->start_ns && e->start_ns <= e->end_ns && e->exec == 1);
        insts += e->kind == OSC_EV_INST;
        if (e->kind == OSC_EV_DMA) {
            dmas++;
            bytes += e->a;
            descriptors += e->b;
            TAP_OK(e->ring < 16 && e->wait_kind == 5);
        }
    }
    TAP_EQ_U64(insts, 4);
    TAP_EQ_U64(dmas, 2 * 3); /* 20 rows: three engines each way */
    TAP_EQ_U64(bytes, 2 * 20 * 30 * 4);
    TAP_EQ_U64(descriptors, 2 * 20);
    TAP_EQ_U64(b.result.dma_bytes, 2 * 20 * 30 * 4);
    TAP_EQ_U64(b.result.transfers, 2);
    const osc_event *vector = event_of(&b, OSC_EV_INST, OSC_ENGINE_VECTOR, 0);
    const osc_event *sem = event_of(&b, OSC_EV_SEMAPHORE, OSC_ENGINE_NONE, 0);
    const osc_event *note = event_of(&b, OSC_EV_NOTIFY, OSC_ENGINE_SYNC, 0);
    const osc_event *exec = event_of(&b, OSC_EV_EXEC, OSC_ENGINE_NONE, 0);
    TAP_REQUIRE(vector && sem && note && exec);
    TAP_EQ_U64(vector->wait_kind, 1);
    TAP_EQ_U64(vector->wait_sem, 0);
    TAP_EQ_U64(vector->b, 600);
    TAP_OK(sem->a == 0 && sem->b == 3 && sem->start_ns < vector->start_ns);
    TAP_EQ_U64(note->a, 77);
    TAP_EQ_I64(exec->end_ns - exec->start_ns, b.result.body_ns);
    TAP_EQ_I64(b.result.body_ns, osc_loaded_body_ns(b.loaded));
    bench_close(&b);
}

/* Same program, same records, byte for byte; a later start only shifts them; simulate agrees. */
static void test_runs_repeat(void)
{
    bench a, b;
    small_program(&a);
    small_program(&b);
    TAP_REQUIRE(bench_run(&a) && bench_run(&b));
    TAP_REQUIRE(a.events == b.events);
    TAP_EQ_MEM(a.event, b.event, a.events * sizeof *a.event);
    osc_event_sink sink = {&b, collect};
    osc_run run = {sizeof run, NULL, 0, NULL, false, 123456, 9, &sink};
    b.events = 0;
    TAP_EQ_STATUS(osc_core_execute(b.core, b.loaded, &run, &b.result, &b.err), OSC_OK);
    TAP_REQUIRE(a.events == b.events);
    for (size_t i = 0; i < a.events; i++)
        TAP_OK(b.event[i].start_ns == a.event[i].start_ns + 123456 && b.event[i].exec == 9);
    osc_run_result simulated;
    memset(&simulated, 0, sizeof simulated);
    TAP_EQ_STATUS(osc_core_simulate(b.core, b.loaded, &simulated, &b.err), OSC_OK);
    TAP_EQ_MEM(&simulated, &a.result, sizeof simulated);
    bench_close(&a);
    bench_close(&b);
}

/* Two hardware queues feed two generators; a third transfer waits for one of them (600 ns apart).
 */
static void test_descriptor_generators(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 64);
    for (uint32_t i = 0; i < 4; i++)
        add(&b, load(OSC_ENGINE_SYNC, sb(i * 64, OSC_F32, 1, 16), hbm(x, OSC_F32, 1, 16)));
    b.options.check_hazards = false;
    TAP_REQUIRE(bench_run(&b));
    int64_t start[4];
    for (unsigned i = 0; i < 4; i++)
        start[i] = event_of(&b, OSC_EV_DMA, OSC_ENGINE_DMA, i)->start_ns;
    TAP_EQ_I64(start[0], 4000 + 1005);
    TAP_EQ_I64(start[1], 4000 + 37 + 1005);
    TAP_EQ_I64(start[2], start[0] + 600);
    TAP_EQ_I64(start[3], start[1] + 600);
    bench_close(&b);
}

/* HBM to HBM passes HBM twice: 16 engines at 23 B/ns meet 368 B/ns for both directions. */
static void test_hbm_bandwidth_cap(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint64_t elements = 128ull * 8192;
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, elements),
             y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, elements);
    add(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, 128, 8192), hbm(x, OSC_F32, 128, 8192)));
    TAP_REQUIRE(bench_run(&b));
    double rate = (double)elements * 4 * 2 / (double)(b.result.busy_ns[OSC_ENGINE_DMA]);
    TAP_OKF(rate > 360 && rate <= 368.5, "%.1f B/ns", rate);
    bench_close(&b);
}

/* Before v3 Vector and GpSimd share the SBUF port; from v3 on only Vector's fast mode does. */
static void test_shared_port(void)
{
    static const struct {
        osc_generation generation;
        osc_dtype dtype;
        bool shared;
    } cases[] = {{OSC_TRN1, OSC_F32, true}, {OSC_TRN2, OSC_F32, false}, {OSC_TRN2, OSC_BF16, true}};
    for (unsigned i = 0; i < 3; i++) {
        bench b;
        bench_open(&b, cases[i].generation);
        osc_inst v = unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, sb(0, cases[i].dtype, 1, 1000),
                           sb(8192, cases[i].dtype, 1, 1000));
        osc_inst g = unary(OSC_OP_TENSOR_COPY, OSC_ENGINE_GPSIMD, sb(16384, OSC_F32, 1, 1000),
                           sb(24576, OSC_F32, 1, 1000));
        add(&b, v);
        add(&b, g);
        b.options.check_hazards = false;
        TAP_REQUIRE(bench_run(&b));
        const osc_event *first = event_of(&b, OSC_EV_INST, OSC_ENGINE_NONE, 0),
                        *second = event_of(&b, OSC_EV_INST, OSC_ENGINE_NONE, 1);
        TAP_EQ_I64(first->start_ns, (int64_t)b.sheet.neff_preamble_ns);
        TAP_OK((second->start_ns > first->start_ns) == cases[i].shared);
        TAP_OK(!cases[i].shared || second->wait_kind == 3);
        bench_close(&b);
    }
}

/* An activation of a set that is not loaded loads it itself; loaded in good time it costs
 * nothing. */
static void test_function_sets(void)
{
    int64_t took[2];
    for (int early = 0; early < 2; early++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        osc_ap place = sb(0, OSC_F32, 1, 64);
        if (early) {
            osc_inst table = make(OSC_OP_ACT_TABLE_LOAD, OSC_ENGINE_SCALAR);
            table.iimm = osc_act_set(OSC_ACT_EXP);
            add(&b, table);
        }
        add(&b, activation(OSC_ACT_EXP, place, place, 1, 0));
        add(&b, activation(OSC_ACT_SQUARE, place, place, 1, 0)); /* in every set */
        add(&b, activation(OSC_ACT_LOG, place, place, 1, 0));    /* in the same set */
        b.options.check_hazards = false;
        TAP_REQUIRE(bench_run(&b));
        const osc_event *first = event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, (unsigned)early);
        took[early] = first->end_ns - first->start_ns;
        for (unsigned i = 1; i < 3; i++) {
            const osc_event *next =
                event_of(&b, OSC_EV_INST, OSC_ENGINE_SCALAR, (unsigned)early + i);
            TAP_OK(next->end_ns - next->start_ns < 600);
        }
        bench_close(&b);
    }
    TAP_EQ_I64(took[0] - took[1], 1285);
}

/* ---- errors ---- */

static void test_bindings_are_checked(void)
{
    bench b;
    small_program(&b);
    TAP_REQUIRE(bench_load(&b));
    osc_binding bindings[2] = {{b.memory[0], b.bytes[0]}, {b.memory[1], b.bytes[1] - 1}};
    osc_run run = {sizeof run, bindings, 2, NULL, true, 0, 1, NULL};
    TAP_EQ_STATUS(osc_core_execute(b.core, b.loaded, &run, NULL, &b.err), OSC_EHAZARD);
    expect_message(
        &b, (const char *const[]){"'t1' (slot 1) spans 2400 bytes, its memory has 2399", NULL});
    run.binding_count = 1;
    TAP_EQ_STATUS(osc_core_execute(b.core, b.loaded, &run, NULL, &b.err), OSC_EINVAL);
    run.binding_count = 2;
    bindings[1] = (osc_binding){NULL, b.bytes[1]};
    TAP_EQ_STATUS(osc_core_execute(b.core, b.loaded, &run, NULL, &b.err), OSC_EHAZARD);
    bench_close(&b);
}

static void test_scratch_is_laid_out(void)
{
    bench b;
    bench_open(&b, OSC_TRN2);
    uint16_t x = bench_tensor(&b, OSC_TENSOR_INPUT, OSC_F32, 100),
             y = bench_tensor(&b, OSC_TENSOR_OUTPUT, OSC_F32, 100);
    uint16_t scratch[2];
    for (unsigned i = 0; i < 2; i++) {
        osc_tensor t;
        memset(&t, 0, sizeof t);
        t.name = i ? OSC_STR("s1") : OSC_STR("s0");
        t.kind = OSC_TENSOR_SCRATCH;
        t.dtype = OSC_F32;
        t.slot = UINT32_MAX;
        t.span_bytes = 400;
        scratch[i] = (uint16_t)osc_program_add_tensor(b.program, &t);
    }
    for (uint32_t i = 0; i < 100; i++)
        put(&b, x, OSC_F32, i, i);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(scratch[0], OSC_F32, 1, 100), hbm(x, OSC_F32, 1, 100)), 0);
    chain(&b,
          load(OSC_ENGINE_SYNC, hbm(scratch[1], OSC_F32, 1, 100), hbm(scratch[0], OSC_F32, 1, 100)),
          1);
    chain(&b, load(OSC_ENGINE_SYNC, hbm(y, OSC_F32, 1, 100), hbm(scratch[1], OSC_F32, 1, 100)), 2);
    TAP_REQUIRE(bench_run(&b));
    TAP_EQ_U64(osc_program_scratch_bytes(b.program), 2 * 512);
    TAP_EQ_MEM(b.memory[y], b.memory[x], 400);
    bench_close(&b);
}

static void test_generation_must_match(void)
{
    bench b;
    small_program(&b);
    b.sheet = *osc_sheet_default(OSC_TRN1);
    TAP_EQ_STATUS(load_status(&b), OSC_EINVAL);
    expect_message(&b, (const char *const[]){"trn2", "trn1", NULL});
    bench_close(&b);
}

/* A core with less SBUF than its generation refuses what does not fit. */
static void test_smaller_sbuf(void)
{
    bench b;
    small_program(&b);
    TAP_EQ_STATUS(osc_sheet_set(&b.sheet, "sbuf_partition_bytes", 256, &b.err), OSC_OK);
    TAP_EQ_STATUS(load_status(&b), OSC_EHAZARD);
    bench_close(&b);
}

static void test_matmul_needs_fitting_weights(void)
{
    for (int k = 0; k < 3; k++) {
        bench b;
        bench_open(&b, OSC_TRN2);
        osc_inst weights = make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR);
        weights.src[0] = sb(0, OSC_BF16, k == 1 ? 32 : 64, k == 2 ? 32 : 16);
        if (k > 0)
            add(&b, weights);
        add(&b, unary(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, ps(0, OSC_F32, 16, 8),
                      sb(64, OSC_BF16, 64, 8)));
        TAP_EQ_STATUS(load_status(&b), OSC_EHAZARD);
        expect_message(&b, (const char *const[]){"Tensor[", "matmul", NULL});
        bench_close(&b);
    }
}

/* Every allocation of load and first execution may fail; nothing leaks (the sanitizer build
 * watches). */
static bool load_and_run(void *context)
{
    bench *b = context;
    osc_core *core = osc_core_new(&b->sheet, &b->options);
    if (core == NULL)
        return true;
    osc_loaded *loaded = NULL;
    osc_status status = osc_core_load(core, b->program, &loaded, &b->err);
    if (status == OSC_OK) {
        osc_binding bindings[2] = {{b->memory[0], b->bytes[0]}, {b->memory[1], b->bytes[1]}};
        osc_event_sink sink = {b, collect};
        osc_run run = {sizeof run, bindings, 2, NULL, true, 0, 1, &sink};
        b->events = 0;
        status = osc_core_execute(core, loaded, &run, NULL, &b->err);
    }
    osc_core_unload(loaded);
    osc_core_free(core);
    return status == OSC_OK || status == OSC_ENOMEM;
}

static void test_out_of_memory(void)
{
    bench b;
    small_program(&b);
    b.options.poison = false;
    TAP_EQ_STATUS(osc_program_seal(b.program, &b.err), OSC_OK);
    TAP_OK(tap_oom_sweep(load_and_run, &b, 500));
    bench_close(&b);
}

int main(void)
{
    TAP_RUN(test_empty_program);
    TAP_RUN(test_deadlock_is_told_in_words);
    TAP_RUN(test_loop);
    TAP_RUN(test_loop_without_end);
    TAP_RUN(test_loop_on_data);
    TAP_RUN(test_barrier);
    TAP_RUN(test_events);
    TAP_RUN(test_runs_repeat);
    TAP_RUN(test_descriptor_generators);
    TAP_RUN(test_hbm_bandwidth_cap);
    TAP_RUN(test_shared_port);
    TAP_RUN(test_function_sets);
    TAP_RUN(test_bindings_are_checked);
    TAP_RUN(test_scratch_is_laid_out);
    TAP_RUN(test_generation_must_match);
    TAP_RUN(test_smaller_sbuf);
    TAP_RUN(test_matmul_needs_fitting_weights);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
