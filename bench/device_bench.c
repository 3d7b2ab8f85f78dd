/*
 * device_bench.c - how fast the device simulates: instructions a second without values, and the
 * values' throughput of the two kinds of work that dominate programs.
 *
 * Prints one line per measurement: name, value, unit; best of several runs, CPU time of this
 * thread.
 *     device_bench [runs]
 */
#include "artifact/program.h"
#include "neuron/device/device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static osc_ap tile(osc_space space, int64_t offset, osc_dtype dtype, uint32_t cols)
{
    osc_ap ap;
    memset(&ap, 0, sizeof ap);
    ap.space = (uint8_t)space;
    ap.dtype = (uint8_t)dtype;
    ap.ndim = 1;
    ap.nparts = 128;
    ap.offset = offset;
    ap.part_stride = (int64_t)cols;
    ap.dim[0].stride = 1;
    ap.dim[0].count = cols;
    return ap;
}

static osc_inst make(osc_opcode opcode, osc_engine engine, osc_ap dst, osc_ap src)
{
    osc_inst inst;
    memset(&inst, 0, sizeof inst);
    inst.opcode = (uint8_t)opcode;
    inst.engine = (uint8_t)engine;
    inst.source = OSC_NO_SOURCE;
    inst.dst = dst;
    inst.src[0] = src;
    return inst;
}

static void waits(osc_inst *inst, uint16_t sem, uint32_t value)
{
    if (value > 0)
        inst->waits[inst->nwaits++] = (osc_sem_op){sem, 0, value};
}

static void incs(osc_inst *inst, uint16_t sem)
{
    inst->incs[inst->nincs++] = (osc_sem_op){sem, 0, 1};
}

static uint16_t bound(osc_program *program, const char *name, osc_tensor_kind kind, osc_dtype dtype,
                      uint64_t count, uint32_t slot)
{
    osc_tensor t;
    memset(&t, 0, sizeof t);
    t.name = osc_str_from_cstr(name);
    t.kind = (uint8_t)kind;
    t.dtype = (uint8_t)dtype;
    t.rank = 1;
    t.size[0] = (int64_t)count;
    t.stride[0] = 1;
    t.slot = slot;
    t.span_bytes = count * osc_dtype_size(dtype);
    return (uint16_t)osc_program_add_tensor(program, &t);
}

enum { COLS = 2048 };

/* tiles x (load, add, multiply on Scalar, store) with two buffers, as a compiled elementwise
 * chain runs. */
static osc_program *elementwise_program(uint32_t tiles)
{
    osc_program *p = osc_program_new("elementwise", OSC_TRN2);
    uint64_t elements = 128ull * COLS * tiles;
    uint16_t x = bound(p, "x", OSC_TENSOR_INPUT, OSC_BF16, elements, 0);
    uint16_t y = bound(p, "y", OSC_TENSOR_OUTPUT, OSC_BF16, elements, 1);
    for (uint32_t i = 0; i < tiles; i++) {
        int64_t at = (int64_t)(i % 2) * 2 * COLS * 2;
        osc_ap in = tile(OSC_SPACE_SBUF, at, OSC_BF16, COLS),
               out = tile(OSC_SPACE_SBUF, at + 2 * COLS, OSC_BF16, COLS);
        osc_ap from = tile(OSC_SPACE_HBM, (int64_t)i * 128 * COLS * 2, OSC_BF16, COLS), to = from;
        from.tensor = x;
        to.tensor = y;
        osc_inst load = make(OSC_OP_DMA_COPY, OSC_ENGINE_SYNC, in, from);
        waits(&load, 1, i < 2 ? 0 : i - 1); /* the buffer two tiles ago is read */
        incs(&load, 0);
        osc_inst add = make(OSC_OP_TENSOR_TENSOR, OSC_ENGINE_VECTOR, out, in);
        add.alu[0] = OSC_ALU_ADD;
        add.src[1] = in;
        waits(&add, 0, 16 * (i + 1));
        waits(&add, 3, i < 2 ? 0 : 16 * (i - 1)); /* and its result stored */
        incs(&add, 1);
        osc_inst mul = make(OSC_OP_TENSOR_SCALAR, OSC_ENGINE_SCALAR, out, out);
        mul.alu[0] = OSC_ALU_MUL;
        mul.src[1].space = OSC_SPACE_IMM;
        mul.imm[1] = 0.5f;
        waits(&mul, 1, i + 1);
        incs(&mul, 2);
        osc_inst store = make(OSC_OP_DMA_COPY, OSC_ENGINE_SYNC, to, out);
        waits(&store, 2, i + 1);
        incs(&store, 3);
        osc_program_add_inst(p, &load);
        osc_program_add_inst(p, &add);
        osc_program_add_inst(p, &mul);
        osc_program_add_inst(p, &store);
    }
    return p;
}

/* n matmuls 128 x 128 x 512 that accumulate into PSUM banks in turn. */
static osc_program *matmul_program(uint32_t n)
{
    osc_program *p = osc_program_new("matmul", OSC_TRN2);
    osc_ap none;
    memset(&none, 0, sizeof none);
    for (uint32_t i = 0; i < n; i++) {
        osc_inst weights =
            make(OSC_OP_LDWEIGHTS, OSC_ENGINE_TENSOR, none, tile(OSC_SPACE_SBUF, 0, OSC_BF16, 128));
        osc_inst mm =
            make(OSC_OP_MATMUL, OSC_ENGINE_TENSOR, tile(OSC_SPACE_PSUM, i % 8 * 2048, OSC_F32, 512),
                 tile(OSC_SPACE_SBUF, 4096, OSC_BF16, 512));
        mm.flags = i < 8 ? 0 : OSC_INST_ACCUMULATE;
        osc_program_add_inst(p, &weights);
        osc_program_add_inst(p, &mm);
    }
    return p;
}

/* Vector and Scalar pass a token to and fro: the schedule's worst case, a wait on every
 * instruction. */
static osc_program *ping_pong_program(uint32_t n)
{
    osc_program *p = osc_program_new("ping-pong", OSC_TRN2);
    for (uint32_t i = 0; i < n; i++) {
        osc_inst v =
            make(OSC_OP_TENSOR_COPY, OSC_ENGINE_VECTOR, tile(OSC_SPACE_SBUF, 0, OSC_F32, 64),
                 tile(OSC_SPACE_SBUF, 1024, OSC_F32, 64));
        osc_inst s =
            make(OSC_OP_TENSOR_COPY, OSC_ENGINE_SCALAR, tile(OSC_SPACE_SBUF, 1024, OSC_F32, 64),
                 tile(OSC_SPACE_SBUF, 0, OSC_F32, 64));
        waits(&v, 1, i);
        incs(&v, 0);
        waits(&s, 0, i + 1);
        incs(&s, 1);
        osc_program_add_inst(p, &v);
        osc_program_add_inst(p, &s);
    }
    return p;
}

/* One line: what, how much, the least it must be. False below that. */
static bool report(const char *what, double value, const char *unit, double least)
{
    printf("%-26s %10.2f %-18s least %g%s\n", what, value, unit, least,
           value < least ? "   BELOW" : "");
    return value >= least;
}

static osc_loaded *load_or_die(osc_core *core, osc_program *program)
{
    osc_err err;
    osc_loaded *loaded = NULL;
    if (osc_program_seal(program, &err) != OSC_OK ||
        osc_core_load(core, program, &loaded, &err) != OSC_OK) {
        fprintf(stderr, "device_bench: %s\n", err.message);
        exit(4);
    }
    osc_program_release(program);
    return loaded;
}

static bool measure_simulation(osc_core *core, const char *name, osc_program *program, int runs)
{
    osc_loaded *loaded = load_or_die(core, program);
    osc_run_result result = {0};
    osc_err err;
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double start = cpu_seconds();
        if (osc_core_simulate(core, loaded, &result, &err) != OSC_OK)
            exit(4);
        double t = cpu_seconds() - start;
        best = t < best ? t : best;
    }
    osc_core_unload(loaded);
    return report(name, (double)result.instructions / best * 1e-6, "M instructions/s", 3);
}

static double best_execution(osc_core *core, osc_loaded *loaded, const osc_binding *bindings,
                             uint32_t count, int runs)
{
    osc_run run = {sizeof run, bindings, count, NULL, true, 0, 1, NULL};
    osc_err err;
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double start = cpu_seconds();
        if (osc_core_execute(core, loaded, &run, NULL, &err) != OSC_OK)
            exit(4);
        double t = cpu_seconds() - start;
        best = t < best ? t : best;
    }
    return best;
}

static bool measure_elementwise(osc_core *core, int runs)
{
    enum { TILES = 16 };
    uint64_t bytes = 128ull * COLS * 2 * TILES;
    osc_binding bindings[2] = {{calloc(1, bytes), bytes}, {calloc(1, bytes), bytes}};
    if (bindings[0].base == NULL || bindings[1].base == NULL)
        exit(4);
    osc_loaded *loaded = load_or_die(core, elementwise_program(TILES));
    double t = best_execution(core, loaded, bindings, 2, runs);
    /* bytes of one elementwise operator: in and out; the program does two of them per tile */
    osc_core_unload(loaded);
    free(bindings[0].base);
    free(bindings[1].base);
    return report("values, elementwise bf16", 2.0 * 2 * (double)bytes / t * 1e-9, "GB/s", 0.5);
}

static bool measure_matmul(osc_core *core, int runs)
{
    enum { COUNT = 64 };
    osc_loaded *loaded = load_or_die(core, matmul_program(COUNT));
    double t = best_execution(core, loaded, NULL, 0, runs);
    osc_core_unload(loaded);
    return report("values, matmul bf16", 2.0 * 128 * 128 * 512 * COUNT / t * 1e-9, "GFLOP/s", 10);
}

static void measure_hazards(int runs)
{
    osc_core_options options = {sizeof options, true, false};
    osc_core *core = osc_core_new(osc_sheet_default(OSC_TRN2), &options);
    osc_program *program = elementwise_program(2000);
    osc_err err;
    if (core == NULL || osc_program_seal(program, &err) != OSC_OK)
        exit(4);
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        osc_loaded *loaded = NULL;
        double start = cpu_seconds();
        if (osc_core_load(core, program, &loaded, &err) != OSC_OK) {
            fprintf(stderr, "device_bench: %s\n", err.message);
            exit(4);
        }
        double t = cpu_seconds() - start;
        best = t < best ? t : best;
        osc_core_unload(loaded);
    }
    printf("%-26s %10.3f M instructions/s, once per load\n", "load with hazard checker",
           osc_program_inst_count(program) / best * 1e-6);
    osc_program_release(program);
    osc_core_free(core);
}

int main(void)
{
    enum { RUNS = 5 };
    osc_core_options options = {sizeof options, false, false};
    osc_core *core = osc_core_new(osc_sheet_default(OSC_TRN2), &options);
    if (core == NULL)
        return 4;
    bool good =
        measure_simulation(core, "timing only, elementwise", elementwise_program(50000), RUNS);
    good &= measure_simulation(core, "timing only, matmul", matmul_program(100000), RUNS);
    good &= measure_simulation(core, "timing only, ping-pong", ping_pong_program(100000), RUNS);
    good &= measure_elementwise(core, RUNS);
    good &= measure_matmul(core, RUNS);
    measure_hazards(3);
    osc_core_free(core);
    return good ? 0 : 1;
}
