/*
 * test_device_random.c - whatever the instruction set allows, the device runs: no crash, no
 * access outside (the sanitizer build watches), the same bytes and nanoseconds every time.
 *
 * Instructions are drawn at random around a common shape, so that many are legal; osc_isa_check
 * decides.
 */
#include "base/hash.h"
#include "base/rng.h"
#include "device_builder.h"

enum { PROGRAMS = 60, TRIES = 6000, HBM_BYTES = 1 << 16 };

static uint32_t pick(osc_rng *rng, uint32_t bound)
{
    return (uint32_t)osc_rng_below(rng, bound);
}

/* Splits n into up to four counts whose product is n. */
static void split(osc_rng *rng, uint32_t n, osc_ap *ap)
{
    ap->ndim = 0;
    for (uint32_t d = 0; d < 3 && n > 1; d++) {
        uint32_t factor = 1 + pick(rng, n);
        while (n % factor != 0)
            factor--;
        ap->dim[ap->ndim++].count = factor;
        n /= factor;
    }
    ap->dim[ap->ndim++].count = n;
}

/* A pattern of n elements a row; strides dense, or anything small. */
static osc_ap random_pattern(osc_rng *rng, uint16_t rows, uint32_t n)
{
    static const uint8_t spaces[] = {OSC_SPACE_SBUF, OSC_SPACE_SBUF, OSC_SPACE_SBUF, OSC_SPACE_PSUM,
                                     OSC_SPACE_HBM};
    osc_ap ap;
    memset(&ap, 0, sizeof ap);
    ap.space = spaces[pick(rng, sizeof spaces)];
    ap.dtype = (uint8_t)(1 + pick(rng, OSC_DTYPE_COUNT - 1));
    ap.nparts = rows;
    ap.start_partition = ap.space == OSC_SPACE_HBM ? 0 : (uint8_t)(32 * pick(rng, 4));
    ap.tensor = ap.space == OSC_SPACE_HBM ? (uint16_t)pick(rng, 2) : 0;
    split(rng, n, &ap);
    bool dense = pick(rng, 2) == 0;
    int64_t step = 1;
    for (unsigned d = ap.ndim; d-- > 0;) {
        ap.dim[d].stride = dense ? step : (int64_t)pick(rng, 9) - 3;
        step *= ap.dim[d].count;
    }
    ap.part_stride = ap.space == OSC_SPACE_HBM ? (int64_t)pick(rng, 60) : 0;
    size_t size = osc_dtype_size((osc_dtype)ap.dtype);
    ap.offset = (int64_t)(size * pick(rng, ap.space == OSC_SPACE_PSUM ? 64 : 700));
    return ap;
}

static osc_ap random_operand(osc_rng *rng, uint16_t rows, uint32_t n)
{
    osc_ap none;
    memset(&none, 0, sizeof none);
    switch (pick(rng, 8)) {
    case 0: return none;
    case 1:
    case 2: return immediate();
    case 3: return random_pattern(rng, rows, 1);
    default: return random_pattern(rng, rows, n);
    }
}

static float random_float(osc_rng *rng)
{
    static const float values[] = {0,  -0.0f, 1,     -1,       3,   0.5f,
                                   31, 1e30f, -2.5f, INFINITY, NAN, 65536};
    return values[pick(rng, sizeof values / sizeof *values)];
}

/* Only these carry operators, the first of them in alu[0], some also in alu[1]. */
static void random_operators(osc_rng *rng, osc_inst *inst)
{
    switch (inst->opcode) {
    case OSC_OP_TENSOR_SCALAR:
    case OSC_OP_SCALAR_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR_REDUCE:
        inst->alu[1] = (uint8_t)pick(rng, OSC_ALU_COUNT);
        inst->flags = pick(rng, 2) ? OSC_INST_REVERSE0 : 0;
        inst->alu[0] = (uint8_t)pick(rng, OSC_ALU_COUNT);
        break;
    case OSC_OP_TENSOR_REDUCE:
        inst->axes = (uint8_t)(1 + pick(rng, 3));
        inst->flags = pick(rng, 2) ? OSC_INST_NEGATE : 0;
        inst->alu[0] = (uint8_t)pick(rng, OSC_ALU_COUNT);
        break;
    case OSC_OP_TENSOR_TENSOR:
    case OSC_OP_PARTITION_REDUCE:
    case OSC_OP_REG_ALU: inst->alu[0] = (uint8_t)pick(rng, OSC_ALU_COUNT); break;
    case OSC_OP_ACTIVATION:
    case OSC_OP_ACTIVATION_REDUCE: inst->act = (uint8_t)pick(rng, OSC_ACT_COUNT); break;
    default: break;
    }
}

/* Operands whose shapes follow the main ones by a rule of their opcode. */
static void random_special(osc_rng *rng, osc_inst *inst, uint16_t rows, uint32_t n)
{
    if (inst->opcode == OSC_OP_PE_TRANSPOSE || inst->opcode == OSC_OP_DMA_TRANSPOSE)
        inst->dst = random_pattern(rng, (uint16_t)(n > 128 ? 128 : n), rows);
    if (inst->opcode == OSC_OP_PARTITION_REDUCE)
        inst->dst = random_pattern(rng, 1, n);
    if (inst->opcode == OSC_OP_TENSOR_REDUCE && inst->axes <= inst->src[0].ndim) {
        uint32_t kept = 1;
        for (unsigned d = 0; d + inst->axes < inst->src[0].ndim; d++)
            kept *= inst->src[0].dim[d].count;
        inst->dst = random_pattern(rng, rows, kept);
    }
    if (inst->opcode == OSC_OP_IOTA) {
        memset(&inst->src[0], 0, sizeof inst->src[0]);
        inst->src[0].ndim = inst->dst.ndim;
        memcpy(inst->src[0].dim, inst->dst.dim, sizeof inst->dst.dim);
        for (unsigned d = 0; d < inst->dst.ndim; d++)
            inst->src[0].dim[d].stride = (int64_t)osc_rng_next(rng);
    }
    if (inst->opcode == OSC_OP_SEM_INC)
        incs(inst, (uint16_t)pick(rng, OSC_SEMAPHORES), 3);
    if (inst->opcode == OSC_OP_REG_ALU || inst->opcode == OSC_OP_REG_STORE) {
        memset(inst->src, 0, sizeof inst->src);
        inst->src[0].space = OSC_SPACE_REG;
        inst->src[0].offset = pick(rng, OSC_REGISTERS);
        inst->iimm = (int64_t)(int32_t)(uint32_t)osc_rng_next(rng);
    }
}

static osc_inst random_inst(osc_rng *rng, uint16_t rows, uint32_t n)
{
    static const uint8_t engines[] = {OSC_ENGINE_TENSOR, OSC_ENGINE_SCALAR, OSC_ENGINE_GPSIMD,
                                      OSC_ENGINE_VECTOR, OSC_ENGINE_SYNC};
    uint32_t opcode = pick(rng, OSC_OPCODE_COUNT);
    osc_inst inst = make((osc_opcode)opcode, (osc_engine)engines[pick(rng, sizeof engines)]);
    const osc_isa_row *row = osc_isa_row_of(inst.opcode);
    inst.iimm = pick(rng, 4) ? (int64_t)pick(rng, 100) : (int64_t)osc_rng_next(rng);
    inst.iimm2 = (int64_t)pick(rng, 64);
    inst.channel_multiplier = (int32_t)(uint32_t)osc_rng_next(rng);
    if (row->has_dst)
        inst.dst = random_pattern(rng, rows, n);
    if (row->has_dst2)
        inst.dst2 = random_pattern(rng, rows, 1);
    for (unsigned i = 0; i < row->nsrc; i++) {
        inst.imm[i] = random_float(rng);
        inst.src[i] = i == 0 ? random_pattern(rng, rows, n) : random_operand(rng, rows, n);
    }
    random_operators(rng, &inst);
    random_special(rng, &inst, rows, n);
    /* half of the time one dtype for all, which more opcodes ask for */
    if (pick(rng, 2))
        inst.dst.dtype = row->has_dst ? inst.src[0].dtype : 0;
    return inst;
}

static bool inside_tensor(const osc_ap *ap)
{
    int64_t low, high;
    return ap->space != OSC_SPACE_HBM ||
           (osc_ap_extent(ap, &low, &high) && low >= 0 && high <= HBM_BYTES);
}

/* Adds legal instructions; counts them by opcode. Waits are left out, so nothing can block. */
static uint32_t fill(bench *b, osc_rng *rng, uint32_t *by_opcode)
{
    uint32_t added = 0;
    for (int i = 0; i < TRIES; i++) {
        static const uint32_t widths[] = {1, 2, 7, 64, 96, 128, 500, 512, 1100};
        static const uint16_t heights[] = {1, 3, 32, 64, 128};
        uint16_t rows = heights[pick(rng, 5)];
        osc_inst inst = random_inst(rng, rows, widths[pick(rng, 9)]);
        bool skip = inst.opcode == OSC_OP_MATMUL || inst.opcode == OSC_OP_BRANCH ||
                    inst.opcode == OSC_OP_SEM_WAIT || inst.opcode == OSC_OP_BARRIER;
        osc_err ignored;
        bool fits = inside_tensor(&inst.dst) && inside_tensor(&inst.dst2) &&
                    inside_tensor(&inst.src[0]) && inside_tensor(&inst.src[1]) &&
                    inside_tensor(&inst.src[2]);
        if (skip || !fits || osc_isa_check(&inst, &b->sheet, &ignored) != OSC_OK)
            continue;
        add(b, inst);
        by_opcode[inst.opcode]++;
        added++;
    }
    return added;
}

static void build(bench *b, uint64_t seed, uint32_t *by_opcode, uint32_t *added)
{
    osc_rng rng = {seed};
    bench_open(b, (osc_generation)(seed % 3));
    b->options.check_hazards = b->options.poison = false;
    for (unsigned i = 0; i < 2; i++) {
        bench_tensor(b, OSC_TENSOR_INOUT, OSC_U8, HBM_BYTES);
        osc_rng_bytes(&rng, b->memory[i], HBM_BYTES);
    }
    *added += fill(b, &rng, by_opcode);
}

static void test_random_programs(void)
{
    uint32_t by_opcode[OSC_OPCODE_COUNT] = {0}, added = 0;
    uint64_t digest = 0;
    tap_note("seeds 1000 to %d", 1000 + PROGRAMS - 1);
    for (uint64_t seed = 1000; seed < 1000 + PROGRAMS; seed++) {
        bench a, b;
        build(&a, seed, by_opcode, &added);
        build(&b, seed, by_opcode, &added);
        TAP_REQUIRE(bench_run(&a) && bench_run(&b));
        TAP_REQUIRE(a.events == b.events);
        TAP_EQ_MEM(a.event, b.event, a.events * sizeof *a.event);
        TAP_EQ_MEM(a.memory[0], b.memory[0], HBM_BYTES);
        TAP_EQ_MEM(a.memory[1], b.memory[1], HBM_BYTES);
        TAP_OK(a.result.body_ns > 0 && a.result.body_ns == b.result.body_ns);
        digest = digest * 31 + osc_hash64(a.memory[0], HBM_BYTES, 0) +
                 osc_hash64(a.memory[1], HBM_BYTES, 0);
        bench_close(&a);
        bench_close(&b);
    }
    tap_note("digest of all memories %016llx: equal on builds with and without AVX2",
             (unsigned long long)digest);
    TAP_OK(added > 10000);
    tap_note("%u instructions", added);
    for (unsigned op = 0; op < OSC_OPCODE_COUNT; op++) {
        bool skipped = op == OSC_OP_MATMUL || op == OSC_OP_BRANCH || op == OSC_OP_SEM_WAIT ||
                       op == OSC_OP_BARRIER;
        TAP_OKF(skipped || by_opcode[op] > 0, "no legal %s was drawn", osc_isa_row_of(op)->name);
    }
}

int main(void)
{
    TAP_RUN(test_random_programs);
    return tap_done();
}
