/*
 * check.c - static legality of one instruction.
 *
 * The rules are those that one instruction and the sheet of a generation decide alone: engine, operand
 * places, partitions, PSUM banks, byte ranges inside a partition, element counts, dtypes, operators.
 * What needs the program (tensor spans, branch targets) is checked by osc_program_seal; what needs time
 * or values (order, reads before writes, what a matmul accumulates on) by the device.
 *
 * The idea: RULES gives each opcode a role per operand slot, the operators and flags it may carry and
 * the relation of its shapes. One generic pass checks the roles, then one function per relation the
 * shapes. Sources: neuroncore-model.md 1.4, 1.5, 2.
 *
 * Not checked, on purpose: strides fit int64 here though the hardware has int16 (our tiles address rows
 * of any length; a compiler for hardware would split them); SBUF tiles that overlap (a device matter);
 * which queue a casting DMA is on (a static ring may cast, so no queue is wrong).
 */
#include "isa/isa.h"
#include "isa/sheet.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What an operand slot holds. The comment gives the places allowed. */
typedef enum role {
    ROLE_NONE = 0,    /* absent */
    ROLE_DMA,         /* HBM, SBUF; any dtype */
    ROLE_TILE,        /* SBUF, PSUM; native */
    ROLE_TILE_IMM,    /* SBUF, PSUM, IMM; native */
    ROLE_SBUF,        /* SBUF; native */
    ROLE_PSUM,        /* PSUM; native */
    ROLE_SCALAR,      /* IMM, or [P,1] in SBUF, PSUM: fp32, for bit operators an integer */
    ROLE_OPT_SCALAR,  /* the same; absent when its operator takes one operand */
    ROLE_BIAS,        /* IMM, or [P,1] in SBUF, PSUM: native */
    ROLE_COLUMN,      /* [P,1] in SBUF, PSUM: native */
    ROLE_COLUMN_FP32, /* [P,1] in SBUF, PSUM: fp32 */
    ROLE_STEPS,       /* no memory: NONE or IMM, dims hold steps */
    ROLE_REG,         /* REG */
    ROLE_OPT_REG,     /* REG, absent or IMM */
    ROLE_CELL         /* one 4-byte integer in HBM, SBUF */
} role;

typedef enum relation {
    REL_NONE = 0,    /* nothing to compare */
    REL_DMA,         /* same number of elements; equal or castable dtypes */
    REL_TRANSPOSE,   /* [R, C] to [C, R], bits kept */
    REL_ELEMENTWISE, /* same rows, same elements per row */
    REL_REDUCE,      /* kept dims of src0 are dst's elements */
    REL_PARTITIONS,  /* [P, N] to [1, N] */
    REL_WEIGHTS,     /* [K, M], M <= 128 */
    REL_MATMUL,      /* [K, N] to [M, N] */
    REL_STEPS        /* dims of src0 count like dst's */
} relation;

/* Sets of operators. */
enum {
    OPS_BINARY = 1,  /* two operands, arithmetic */
    OPS_UNARY = 2,   /* one operand, arithmetic */
    OPS_COMPARE = 4, /* comparisons */
    OPS_LOGIC = 8,   /* and, or, xor on truth */
    OPS_BIT = 16,    /* on the bits of integers, two operands */
    OPS_BITNOT = 32, /* on the bits of integers, one operand */
    OPS_BYPASS = 64,
    OPS_ARITH2 = OPS_BINARY | OPS_COMPARE | OPS_LOGIC,
    OPS_ANY2 = OPS_ARITH2 | OPS_BIT,
    OPS_ONE = OPS_UNARY | OPS_BITNOT | OPS_BYPASS,
    OPS_ANY = OPS_ANY2 | OPS_ONE,
    OPS_REDUCE =
        128, /* associative: add, multiply, maximum, minimum, logic, bit, abs_max, abs_min */
    OPS_REDUCE_ROW = 256, /* add, multiply, maximum, minimum */
    OPS_REGISTER = 512    /* what a sequencer computes on 32-bit integers */
};

enum { SLOT_DST = 0, SLOT_DST2, SLOT_SRC0, SLOT_SRC1, SLOT_SRC2, SLOTS };
static const char *const SLOT_NAMES[SLOTS] = {"dst", "dst2", "src0", "src1", "src2"};

typedef struct rule {
    uint8_t roles[SLOTS];
    uint8_t relation;
    uint16_t ops[2]; /* sets allowed for alu[0], alu[1]; 0: must be bypass */
    uint32_t flags;  /* OSC_INST_* allowed */
} rule;

#define REVERSES (OSC_INST_REVERSE0 | OSC_INST_REVERSE1)

static const rule RULES[OSC_OPCODE_COUNT] = {
    [OSC_OP_DMA_COPY] = {{ROLE_DMA, 0, ROLE_DMA}, REL_DMA, {0, 0}, 0},
    [OSC_OP_DMA_TRANSPOSE] = {{ROLE_DMA, 0, ROLE_DMA}, REL_TRANSPOSE, {0, 0}, 0},
    [OSC_OP_TENSOR_COPY] = {{ROLE_TILE, 0, ROLE_TILE}, REL_ELEMENTWISE, {0, 0}, 0},
    [OSC_OP_TENSOR_TENSOR] = {{ROLE_TILE, 0, ROLE_TILE, ROLE_TILE},
                              REL_ELEMENTWISE,
                              {OPS_ANY2, 0},
                              0},
    [OSC_OP_TENSOR_SCALAR] = {{ROLE_TILE, 0, ROLE_TILE, ROLE_OPT_SCALAR, ROLE_OPT_SCALAR},
                              REL_ELEMENTWISE,
                              {OPS_ANY, OPS_ANY},
                              REVERSES},
    [OSC_OP_SCALAR_TENSOR_TENSOR] = {{ROLE_TILE, 0, ROLE_TILE, ROLE_OPT_SCALAR, ROLE_TILE},
                                     REL_ELEMENTWISE,
                                     {OPS_ARITH2 | OPS_UNARY | OPS_BYPASS, OPS_ARITH2},
                                     REVERSES},
    [OSC_OP_TENSOR_REDUCE] = {{ROLE_TILE, 0, ROLE_TILE},
                              REL_REDUCE,
                              {OPS_REDUCE, 0},
                              OSC_INST_NEGATE},
    [OSC_OP_TENSOR_SCALAR_REDUCE] = {{ROLE_TILE, ROLE_COLUMN, ROLE_TILE, ROLE_OPT_SCALAR},
                                     REL_ELEMENTWISE,
                                     {OPS_ARITH2 | OPS_UNARY | OPS_BYPASS, OPS_REDUCE_ROW},
                                     OSC_INST_REVERSE0},
    [OSC_OP_MEMSET] = {{ROLE_TILE}, REL_ELEMENTWISE, {0, 0}, 0},
    [OSC_OP_ACTIVATION] = {{ROLE_TILE, 0, ROLE_TILE, ROLE_SCALAR, ROLE_BIAS},
                           REL_ELEMENTWISE,
                           {0, 0},
                           0},
    [OSC_OP_ACTIVATION_REDUCE] = {{ROLE_TILE, ROLE_COLUMN_FP32, ROLE_TILE, ROLE_SCALAR, ROLE_BIAS},
                                  REL_ELEMENTWISE,
                                  {0, 0},
                                  0},
    [OSC_OP_RECIPROCAL] = {{ROLE_TILE, 0, ROLE_TILE}, REL_ELEMENTWISE, {0, 0}, 0},
    [OSC_OP_LDWEIGHTS] = {{0, 0, ROLE_SBUF}, REL_WEIGHTS, {0, 0}, OSC_INST_FP32_FULL},
    [OSC_OP_MATMUL] = {{ROLE_PSUM, 0, ROLE_SBUF},
                       REL_MATMUL,
                       {0, 0},
                       OSC_INST_ACCUMULATE | OSC_INST_FP32_FULL},
    [OSC_OP_PE_TRANSPOSE] = {{ROLE_PSUM, 0, ROLE_SBUF}, REL_TRANSPOSE, {0, 0}, 0},
    [OSC_OP_IOTA] = {{ROLE_SBUF, 0, ROLE_STEPS}, REL_STEPS, {0, 0}, 0},
    [OSC_OP_SELECT] = {{ROLE_TILE, 0, ROLE_TILE, ROLE_TILE_IMM, ROLE_TILE_IMM},
                       REL_ELEMENTWISE,
                       {0, 0},
                       0},
    [OSC_OP_REG_ALU] = {{0, 0, ROLE_REG, ROLE_OPT_REG}, REL_NONE, {OPS_REGISTER, 0}, 0},
    [OSC_OP_REG_LOAD] = {{0, 0, ROLE_CELL}, REL_NONE, {0, 0}, 0},
    [OSC_OP_REG_STORE] = {{ROLE_CELL, 0, ROLE_REG}, REL_NONE, {0, 0}, 0},
    [OSC_OP_BRANCH] = {{0, 0, ROLE_REG}, REL_NONE, {OPS_COMPARE | OPS_BYPASS, 0}, 0},
    [OSC_OP_PARTITION_REDUCE] = {{ROLE_SBUF, 0, ROLE_SBUF}, REL_PARTITIONS, {OPS_REDUCE, 0}, 0},
    /* nop, act_table_load, sem_wait, sem_inc, reg_move, notify, barrier: no operands */
};

static const uint16_t OPS_OF[OSC_ALU_COUNT] = {
    [OSC_ALU_BYPASS] = OPS_BYPASS,
    [OSC_ALU_ADD] = OPS_BINARY | OPS_REDUCE | OPS_REDUCE_ROW | OPS_REGISTER,
    [OSC_ALU_SUB] = OPS_BINARY | OPS_REGISTER,
    [OSC_ALU_MUL] = OPS_BINARY | OPS_REDUCE | OPS_REDUCE_ROW | OPS_REGISTER,
    [OSC_ALU_DIV] = OPS_BINARY,
    [OSC_ALU_MAX] = OPS_BINARY | OPS_REDUCE | OPS_REDUCE_ROW | OPS_REGISTER,
    [OSC_ALU_MIN] = OPS_BINARY | OPS_REDUCE | OPS_REDUCE_ROW | OPS_REGISTER,
    [OSC_ALU_POW] = OPS_BINARY,
    [OSC_ALU_EQ] = OPS_COMPARE | OPS_REGISTER,
    [OSC_ALU_NE] = OPS_COMPARE | OPS_REGISTER,
    [OSC_ALU_GE] = OPS_COMPARE | OPS_REGISTER,
    [OSC_ALU_GT] = OPS_COMPARE | OPS_REGISTER,
    [OSC_ALU_LE] = OPS_COMPARE | OPS_REGISTER,
    [OSC_ALU_LT] = OPS_COMPARE | OPS_REGISTER,
    [OSC_ALU_AND] = OPS_LOGIC | OPS_REDUCE,
    [OSC_ALU_OR] = OPS_LOGIC | OPS_REDUCE,
    [OSC_ALU_XOR] = OPS_LOGIC | OPS_REDUCE,
    [OSC_ALU_BITAND] = OPS_BIT | OPS_REDUCE | OPS_REGISTER,
    [OSC_ALU_BITOR] = OPS_BIT | OPS_REDUCE | OPS_REGISTER,
    [OSC_ALU_BITXOR] = OPS_BIT | OPS_REDUCE | OPS_REGISTER,
    [OSC_ALU_BITNOT] = OPS_BITNOT,
    [OSC_ALU_SHL] = OPS_BIT | OPS_REGISTER,
    [OSC_ALU_SHR] = OPS_BIT | OPS_REGISTER,
    [OSC_ALU_ABSMAX] = OPS_BINARY | OPS_REDUCE,
    [OSC_ALU_ABSMIN] = OPS_BINARY | OPS_REDUCE,
    [OSC_ALU_ABS] = OPS_UNARY,
    [OSC_ALU_SQUARE] = OPS_UNARY,
    [OSC_ALU_RELU] = OPS_UNARY,
    [OSC_ALU_RSQRT] = OPS_UNARY,
    [OSC_ALU_RECIP] = OPS_UNARY,
    [OSC_ALU_FLOORMOD] = OPS_BINARY,
    [OSC_ALU_FMOD] = OPS_BINARY,
};

/* 1.4: most elements per partition that one instruction may touch. */
#define MAX_SBUF_ELEMENTS 65536u
#define MAX_PSUM_ELEMENTS 4096u

typedef struct check {
    const osc_inst *inst;
    const osc_sheet *sheet;
    const osc_isa_row *row;
    const rule *rule;
    const osc_ap *slot[SLOTS];
    osc_err *err;
} check;

static osc_status broken(const check *c, const char *fmt, ...) OSC_PRINTF(2, 3);

static osc_status broken(const check *c, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return osc_fail(c->err, OSC_EHAZARD, NULL, OSC_NO_OFFSET, "%s on %s: %s", c->row->name,
                    osc_engine_name((osc_engine)c->inst->engine), text);
}

static bool is_bit_op(uint8_t alu)
{
    return (OPS_OF[alu] & (OPS_BIT | OPS_BITNOT)) != 0;
}

static bool takes_one(uint8_t alu)
{
    return (OPS_OF[alu] & OPS_ONE) != 0;
}

static bool in_memory(const osc_ap *ap)
{
    return ap->space == OSC_SPACE_HBM || ap->space == OSC_SPACE_SBUF || ap->space == OSC_SPACE_PSUM;
}

static bool on_chip(const osc_ap *ap)
{
    return ap->space == OSC_SPACE_SBUF || ap->space == OSC_SPACE_PSUM;
}

static bool is_integer(uint8_t dtype)
{
    return !osc_dtype_is_float((osc_dtype)dtype) && osc_dtype_is_native((osc_dtype)dtype);
}

/* Widens [lo, hi] by an axis of `count` steps of `stride` elements. A stride must be countable in
 * bytes even where it is never taken: the device multiplies it all the same. */
static bool widen(int64_t *lo, int64_t *hi, int64_t stride, uint32_t count, int64_t size)
{
    int64_t step, reach;
    assert(count >= 1);
    if (!osc_mul_i64(stride, size, &step) || !osc_mul_i64(step, (int64_t)count - 1, &reach))
        return false;
    return reach < 0 ? osc_add_i64(*lo, reach, lo) : osc_add_i64(*hi, reach, hi);
}

bool osc_ap_extent(const osc_ap *ap, int64_t *lo, int64_t *hi)
{
    int64_t size = (int64_t)osc_dtype_size((osc_dtype)ap->dtype);
    *lo = *hi = ap->offset;
    for (uint32_t i = 0; i < ap->ndim; i++) {
        if (!widen(lo, hi, ap->dim[i].stride, ap->dim[i].count, size))
            return false;
    }
    if (ap->space == OSC_SPACE_HBM && !widen(lo, hi, ap->part_stride, ap->nparts, size))
        return false;
    return osc_add_i64(*hi, size, hi);
}

/* ---- one operand ---- */

static osc_status check_partitions(const check *c, const osc_ap *ap, const char *name)
{
    if (ap->nparts < 1 || ap->nparts > OSC_PARTITIONS)
        return broken(c, "%s has %u partitions; 1 to 128 are possible", name, ap->nparts);
    if (ap->space == OSC_SPACE_HBM)
        return OSC_OK;
    uint32_t start = ap->start_partition;
    if (start + ap->nparts > OSC_PARTITIONS)
        return broken(c, "%s ends at partition %u, beyond 127", name, start + ap->nparts - 1);
    if (c->rule->roles[SLOT_DST] == ROLE_DMA)
        return OSC_OK; /* DMA reaches any partition */
    if (ap->nparts > 64 && start != 0)
        return broken(c, "%s starts at partition %u; more than 64 partitions start at 0", name,
                      start);
    if (ap->nparts > 32 && start % 64 != 0)
        return broken(c, "%s starts at partition %u; 33 to 64 partitions start at 0 or 64", name,
                      start);
    if (start % 32 != 0)
        return broken(c, "%s starts at partition %u; up to 32 partitions start at 0, 32, 64 or 96",
                      name, start);
    return OSC_OK;
}

static osc_status check_range(const check *c, const osc_ap *ap, const char *name)
{
    int64_t lo, hi;
    if (!osc_ap_extent(ap, &lo, &hi))
        return broken(c, "%s spans more bytes than 64 bits can count", name);
    if (ap->space == OSC_SPACE_HBM)
        return OSC_OK; /* the tensor's span is the program's business */
    double limit = ap->space == OSC_SPACE_SBUF ? c->sheet->sbuf_partition_bytes
                                               : c->sheet->psum_partition_bytes;
    if (lo < 0 || (double)hi > limit)
        return broken(c, "%s touches bytes %lld to %lld of a partition of %.0f", name,
                      (long long)lo, (long long)hi - 1, limit);
    if (ap->offset % (int64_t)osc_dtype_size((osc_dtype)ap->dtype) != 0)
        return broken(c, "%s is at byte %lld, not a multiple of its %s element", name,
                      (long long)ap->offset, osc_dtype_name((osc_dtype)ap->dtype));
    return OSC_OK;
}

static osc_status check_dims(const check *c, const osc_ap *ap, const char *name)
{
    if (ap->ndim > OSC_AP_DIMS)
        return broken(c, "%s has %u free dims; %d are possible", name, ap->ndim, OSC_AP_DIMS);
    for (uint32_t i = 0; i < ap->ndim; i++) {
        if (ap->dim[i].count == 0)
            return broken(c, "%s has no elements in dim %u", name, i);
        if (ap->space == OSC_SPACE_PSUM && ap->dim[i].stride < 0)
            return broken(c, "%s walks PSUM backwards in dim %u", name, i);
    }
    uint64_t elements = osc_ap_row_elems(ap);
    uint64_t most = ap->space == OSC_SPACE_PSUM ? MAX_PSUM_ELEMENTS : MAX_SBUF_ELEMENTS;
    if (c->rule->roles[SLOT_DST] != ROLE_DMA && elements > most)
        return broken(c, "%s has %llu elements per partition; one instruction takes %llu", name,
                      (unsigned long long)elements, (unsigned long long)most);
    return OSC_OK;
}

/* A pattern in memory, whatever its role. */
static osc_status check_pattern(const check *c, const osc_ap *ap, const char *name)
{
    if (osc_dtype_size((osc_dtype)ap->dtype) == 0)
        return broken(c, "%s has no dtype", name);
    osc_status status = check_dims(c, ap, name);
    if (status == OSC_OK)
        status = check_partitions(c, ap, name);
    if (status == OSC_OK)
        status = check_range(c, ap, name);
    return status;
}

#define S(space) (1u << OSC_SPACE_##space)

static const uint8_t SPACES_OF[] = {
    [ROLE_NONE] = S(NONE),
    [ROLE_DMA] = S(HBM) | S(SBUF),
    [ROLE_TILE] = S(SBUF) | S(PSUM),
    [ROLE_TILE_IMM] = S(SBUF) | S(PSUM) | S(IMM),
    [ROLE_SBUF] = S(SBUF),
    [ROLE_PSUM] = S(PSUM),
    [ROLE_SCALAR] = S(SBUF) | S(PSUM) | S(IMM),
    [ROLE_OPT_SCALAR] = S(SBUF) | S(PSUM) | S(IMM),
    [ROLE_BIAS] = S(SBUF) | S(PSUM) | S(IMM),
    [ROLE_COLUMN] = S(SBUF) | S(PSUM),
    [ROLE_COLUMN_FP32] = S(SBUF) | S(PSUM),
    [ROLE_STEPS] = S(NONE) | S(IMM),
    [ROLE_REG] = S(REG),
    [ROLE_OPT_REG] = S(NONE) | S(IMM) | S(REG),
    [ROLE_CELL] = S(HBM) | S(SBUF),
};

static const char *const SPACE_NAMES[] = {"absent", "HBM",          "SBUF",
                                          "PSUM",   "an immediate", "a register"};

/* Which operator a scalar operand belongs to: src1 to alu[0], src2 to alu[1]. */
static uint8_t operator_of(const check *c, unsigned slot)
{
    return c->inst->alu[slot == SLOT_SRC2 ? 1 : 0];
}

static osc_status check_space(const check *c, unsigned slot)
{
    const osc_ap *ap = c->slot[slot];
    unsigned space = ap->space;
    uint32_t allowed = SPACES_OF[c->rule->roles[slot]];
    if (c->rule->roles[slot] == ROLE_OPT_SCALAR && takes_one(operator_of(c, slot)))
        allowed |= S(NONE);
    if (space > OSC_SPACE_REG || !(allowed & 1u << space))
        return broken(c, "%s may not be %s", SLOT_NAMES[slot],
                      space > OSC_SPACE_REG ? "in an unknown space" : SPACE_NAMES[space]);
    if (space == OSC_SPACE_PSUM && c->inst->engine == OSC_ENGINE_GPSIMD)
        return broken(c, "%s is in PSUM, which GpSimd cannot reach", SLOT_NAMES[slot]);
    if (space == OSC_SPACE_REG && (ap->offset < 0 || ap->offset >= (int64_t)OSC_REGISTERS))
        return broken(c, "%s is register %lld; there are %u", SLOT_NAMES[slot],
                      (long long)ap->offset, OSC_REGISTERS);
    return OSC_OK;
}

/* dtype and shape that the role itself demands of an operand in memory. */
static osc_status check_role(const check *c, unsigned slot)
{
    const osc_ap *ap = c->slot[slot];
    const char *name = SLOT_NAMES[slot];
    role part = (role)c->rule->roles[slot];
    bool column = part == ROLE_SCALAR || part == ROLE_OPT_SCALAR || part == ROLE_BIAS ||
                  part == ROLE_COLUMN || part == ROLE_COLUMN_FP32;
    if (part != ROLE_DMA && !osc_dtype_is_native((osc_dtype)ap->dtype))
        return broken(c, "%s is %s, which engines cannot read or write", name,
                      osc_dtype_name((osc_dtype)ap->dtype));
    if ((column || part == ROLE_CELL) && osc_ap_row_elems(ap) != 1)
        return broken(c, "%s must have one element per partition", name);
    if (part == ROLE_COLUMN_FP32 && ap->dtype != OSC_F32)
        return broken(c, "%s must be fp32", name);
    if (part == ROLE_SCALAR || part == ROLE_OPT_SCALAR) {
        bool bits = is_bit_op(operator_of(c, slot));
        if (bits ? !is_integer(ap->dtype) : ap->dtype != OSC_F32)
            return broken(c, "%s must be %s", name,
                          bits ? "an integer for a bit operator" : "fp32");
    }
    if (part == ROLE_CELL && (ap->nparts != 1 || (ap->dtype != OSC_I32 && ap->dtype != OSC_U32)))
        return broken(c, "%s must be one int32 or uint32 element", name);
    return OSC_OK;
}

static osc_status check_operands(const check *c)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        osc_status status = check_space(c, slot);
        if (status == OSC_OK && in_memory(c->slot[slot])) {
            status = check_pattern(c, c->slot[slot], SLOT_NAMES[slot]);
            if (status == OSC_OK)
                status = check_role(c, slot);
        }
        if (status != OSC_OK)
            return status;
    }
    unsigned in_psum = 0;
    for (unsigned slot = SLOT_SRC0; slot < SLOTS; slot++)
        in_psum += c->slot[slot]->space == OSC_SPACE_PSUM;
    if (in_psum > 1)
        return broken(c, "two inputs are in PSUM; at most one may be");
    return OSC_OK;
}

/* ---- relations between operands ---- */

static osc_status check_dma(const check *c)
{
    const osc_ap *dst = c->slot[SLOT_DST], *src = c->slot[SLOT_SRC0];
    uint64_t to, from;
    if (!osc_mul_u64(osc_ap_row_elems(dst), dst->nparts, &to) ||
        !osc_mul_u64(osc_ap_row_elems(src), src->nparts, &from))
        return broken(c, "more elements than 64 bits can count");
    if (to != from)
        return broken(c, "dst has %llu elements, src0 %llu", (unsigned long long)to,
                      (unsigned long long)from);
    if (dst->dtype != src->dtype && (!osc_dtype_is_native((osc_dtype)dst->dtype) ||
                                     !osc_dtype_is_native((osc_dtype)src->dtype)))
        return broken(c, "no cast from %s to %s while moving; only native dtypes are cast",
                      osc_dtype_name((osc_dtype)src->dtype), osc_dtype_name((osc_dtype)dst->dtype));
    return OSC_OK;
}

/* All of [lo, hi) of a PSUM pattern in one bank. */
static osc_status check_bank(const check *c, const osc_ap *ap)
{
    int64_t lo, hi, bank = (int64_t)(c->sheet->psum_partition_bytes / c->sheet->psum_banks);
    bool fits = osc_ap_extent(ap, &lo, &hi);
    assert(fits && bank > 0); /* check_range came first */
    if (!fits || lo / bank != (hi - 1) / bank)
        return broken(c, "dst covers PSUM bytes %lld to %lld; one bank of %lld must hold them",
                      (long long)lo, (long long)hi - 1, (long long)bank);
    return OSC_OK;
}

static osc_status check_transpose(const check *c)
{
    const osc_ap *dst = c->slot[SLOT_DST], *src = c->slot[SLOT_SRC0];
    size_t size = osc_dtype_size((osc_dtype)src->dtype);
    if (dst->dtype != src->dtype || (size != 2 && size != 4))
        return broken(c, "src0 is %s, dst %s; one dtype of 2 or 4 bytes is transposed",
                      osc_dtype_name((osc_dtype)src->dtype), osc_dtype_name((osc_dtype)dst->dtype));
    if (osc_ap_row_elems(src) != dst->nparts || osc_ap_row_elems(dst) != src->nparts)
        return broken(c, "src0 is [%u, %llu], so dst must be its transpose", src->nparts,
                      (unsigned long long)osc_ap_row_elems(src));
    return dst->space == OSC_SPACE_PSUM ? check_bank(c, dst) : OSC_OK;
}

static osc_status check_elementwise(const check *c)
{
    const osc_ap *dst = c->slot[SLOT_DST];
    uint64_t elements = osc_ap_row_elems(dst);
    for (unsigned slot = SLOT_DST2; slot < SLOTS; slot++) {
        const osc_ap *ap = c->slot[slot];
        role part = (role)c->rule->roles[slot];
        if (!on_chip(ap))
            continue;
        if (ap->nparts != dst->nparts)
            return broken(c, "%s has %u partitions, dst %u", SLOT_NAMES[slot], ap->nparts,
                          dst->nparts);
        if ((part == ROLE_TILE || part == ROLE_TILE_IMM) && osc_ap_row_elems(ap) != elements)
            return broken(c, "%s has %llu elements per partition, dst %llu", SLOT_NAMES[slot],
                          (unsigned long long)osc_ap_row_elems(ap), (unsigned long long)elements);
    }
    return OSC_OK;
}

static osc_status check_reduce(const check *c)
{
    const osc_ap *dst = c->slot[SLOT_DST], *src = c->slot[SLOT_SRC0];
    if (c->inst->axes < 1 || c->inst->axes > src->ndim)
        return broken(c, "reduces %u free dims of %u", c->inst->axes, src->ndim);
    osc_ap kept = *src;
    kept.ndim = (uint8_t)(src->ndim - c->inst->axes);
    if (dst->nparts != src->nparts || osc_ap_row_elems(dst) != osc_ap_row_elems(&kept))
        return broken(c, "dst is [%u, %llu], the dims kept of src0 are [%u, %llu]", dst->nparts,
                      (unsigned long long)osc_ap_row_elems(dst), src->nparts,
                      (unsigned long long)osc_ap_row_elems(&kept));
    return OSC_OK;
}

static osc_status check_partition_reduce(const check *c)
{
    const osc_ap *dst = c->slot[SLOT_DST], *src = c->slot[SLOT_SRC0];
    if (dst->nparts != 1 || osc_ap_row_elems(dst) != osc_ap_row_elems(src))
        return broken(c, "dst is [%u, %llu]; it must be [1, %llu]", dst->nparts,
                      (unsigned long long)osc_ap_row_elems(dst),
                      (unsigned long long)osc_ap_row_elems(src));
    return OSC_OK;
}

static osc_status check_pe_dtype(const check *c, const osc_ap *ap)
{
    if (!osc_dtype_is_float((osc_dtype)ap->dtype))
        return broken(c, "src0 is %s; Tensor multiplies bf16, fp16 and fp32",
                      osc_dtype_name((osc_dtype)ap->dtype));
    return OSC_OK;
}

static osc_status check_weights(const check *c)
{
    const osc_ap *src = c->slot[SLOT_SRC0];
    if (osc_ap_row_elems(src) > OSC_PARTITIONS)
        return broken(c, "src0 has %llu columns; the array holds 128",
                      (unsigned long long)osc_ap_row_elems(src));
    return check_pe_dtype(c, src);
}

static osc_status check_matmul(const check *c)
{
    const osc_ap *dst = c->slot[SLOT_DST], *src = c->slot[SLOT_SRC0];
    uint64_t n = osc_ap_row_elems(src);
    bool wide = c->sheet->matmul_free_max > 512; /* trn3: any banks, bf16 results */
    if (osc_ap_row_elems(dst) != n)
        return broken(c, "dst has %llu columns, src0 %llu",
                      (unsigned long long)osc_ap_row_elems(dst), (unsigned long long)n);
    if ((double)n > c->sheet->matmul_free_max)
        return broken(c, "src0 has %llu columns; one matmul takes %.0f", (unsigned long long)n,
                      c->sheet->matmul_free_max);
    if (dst->dtype != OSC_F32 && !(wide && dst->dtype == OSC_BF16))
        return broken(c, "dst is %s; matmul writes fp32", osc_dtype_name((osc_dtype)dst->dtype));
    osc_status status = check_pe_dtype(c, src);
    return status == OSC_OK && !wide ? check_bank(c, dst) : status;
}

static osc_status check_steps(const check *c)
{
    const osc_ap *dst = c->slot[SLOT_DST], *steps = c->slot[SLOT_SRC0];
    bool same = steps->ndim == dst->ndim;
    for (uint32_t i = 0; same && i < dst->ndim; i++)
        same = steps->dim[i].count == dst->dim[i].count;
    return same ? OSC_OK : broken(c, "src0 must count like dst, dim by dim");
}

static osc_status check_relation(const check *c)
{
    assert(c->rule->relation <= REL_STEPS);
    switch ((relation)c->rule->relation) {
    case REL_NONE: return OSC_OK;
    case REL_DMA: return check_dma(c);
    case REL_TRANSPOSE: return check_transpose(c);
    case REL_ELEMENTWISE: return check_elementwise(c);
    case REL_REDUCE: return check_reduce(c);
    case REL_PARTITIONS: return check_partition_reduce(c);
    case REL_WEIGHTS: return check_weights(c);
    case REL_MATMUL: return check_matmul(c);
    case REL_STEPS: return check_steps(c);
    }
    return OSC_OK;
}

/* ---- operators, flags, semaphores, immediates ---- */

static osc_status check_operators(const check *c)
{
    const osc_inst *inst = c->inst;
    for (unsigned i = 0; i < 2; i++) {
        uint16_t allowed = c->rule->ops[i] != 0 ? c->rule->ops[i] : OPS_BYPASS;
        if (inst->alu[i] >= OSC_ALU_COUNT || !(OPS_OF[inst->alu[i]] & allowed))
            return broken(c, "alu%u may not be %s", i, osc_alu_name((osc_alu)inst->alu[i]));
    }
    bool bits = is_bit_op(inst->alu[0]) || is_bit_op(inst->alu[1]);
    if (!bits || c->rule->relation == REL_NONE)
        return OSC_OK;
    bool mixed = (is_bit_op(inst->alu[0]) != is_bit_op(inst->alu[1])) &&
                 inst->alu[0] != OSC_ALU_BYPASS && inst->alu[1] != OSC_ALU_BYPASS;
    if (mixed)
        return broken(c, "%s and %s: bit and arithmetic operators do not mix",
                      osc_alu_name((osc_alu)inst->alu[0]), osc_alu_name((osc_alu)inst->alu[1]));
    if (inst->engine == OSC_ENGINE_GPSIMD && c->rule->relation == REL_ELEMENTWISE)
        return broken(c, "bit operators run on Vector");
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (in_memory(c->slot[slot]) && !is_integer(c->slot[slot]->dtype))
            return broken(c, "%s is %s; bit operators take integers", SLOT_NAMES[slot],
                          osc_dtype_name((osc_dtype)c->slot[slot]->dtype));
    }
    return OSC_OK;
}

/* 2.1: what an engine can do of an instruction that several engines share. */
static osc_status check_engine(const check *c)
{
    const osc_inst *inst = c->inst;
    if (inst->engine >= OSC_ENGINE_COUNT || !(c->row->engines & 1u << inst->engine))
        return broken(c, "this engine does not run it");
    if (inst->opcode == OSC_OP_TENSOR_TENSOR && inst->alu[0] == OSC_ALU_POW &&
        inst->engine != OSC_ENGINE_GPSIMD)
        return broken(c, "power of two tensors runs on GpSimd");
    bool shared = inst->opcode == OSC_OP_TENSOR_COPY || inst->opcode == OSC_OP_TENSOR_SCALAR;
    if (inst->engine != OSC_ENGINE_SCALAR || !shared)
        return OSC_OK;
    if (c->sheet->generation == OSC_TRN1)
        return broken(c, "Scalar has it from trn2 on; on trn1 use activation");
    bool plain = (inst->alu[0] == OSC_ALU_MUL &&
                  (inst->alu[1] == OSC_ALU_BYPASS || inst->alu[1] == OSC_ALU_ADD)) ||
                 (inst->alu[0] == OSC_ALU_ADD && inst->alu[1] == OSC_ALU_BYPASS);
    if (inst->opcode == OSC_OP_TENSOR_SCALAR && !plain)
        return broken(c, "Scalar has only multiply, add, and multiply then add");
    return OSC_OK;
}

static osc_status check_semaphores(const check *c)
{
    const osc_inst *inst = c->inst;
    if (inst->nwaits > OSC_INST_WAITS || inst->nincs > OSC_INST_INCS)
        return broken(c, "%u waits and %u increments; %d and %d are possible", inst->nwaits,
                      inst->nincs, OSC_INST_WAITS, OSC_INST_INCS);
    for (unsigned i = 0; i < inst->nwaits; i++) {
        if (inst->waits[i].sem >= OSC_SEMAPHORES)
            return broken(c, "waits for semaphore %u; there are %u", inst->waits[i].sem,
                          OSC_SEMAPHORES);
    }
    for (unsigned i = 0; i < inst->nincs; i++) {
        if (inst->incs[i].sem >= OSC_SEMAPHORES)
            return broken(c, "increments semaphore %u; there are %u", inst->incs[i].sem,
                          OSC_SEMAPHORES);
        if (inst->incs[i].value == 0)
            return broken(c, "increments semaphore %u by 0", inst->incs[i].sem);
    }
    if (inst->opcode == OSC_OP_SEM_WAIT && inst->nwaits == 0)
        return broken(c, "waits for no semaphore");
    if (inst->opcode == OSC_OP_SEM_INC && inst->nincs == 0)
        return broken(c, "increments no semaphore");
    return OSC_OK;
}

static bool writes_register(uint8_t opcode)
{
    return opcode == OSC_OP_REG_MOVE || opcode == OSC_OP_REG_ALU || opcode == OSC_OP_REG_LOAD;
}

static osc_status check_immediates(const check *c)
{
    const osc_inst *inst = c->inst;
    bool activation = inst->opcode == OSC_OP_ACTIVATION || inst->opcode == OSC_OP_ACTIVATION_REDUCE;
    if (inst->flags & ~c->rule->flags)
        return broken(c, "flags 0x%x do not belong here", inst->flags & ~c->rule->flags);
    if (inst->act >= OSC_ACT_COUNT || (inst->act != 0 && !activation))
        return broken(c, "activation function %u does not belong here", inst->act);
    if (inst->axes != 0 && inst->opcode != OSC_OP_TENSOR_REDUCE)
        return broken(c, "axes belong to tensor_reduce");
    if (writes_register(inst->opcode) && (inst->iimm2 < 0 || inst->iimm2 >= (int64_t)OSC_REGISTERS))
        return broken(c, "writes register %lld; there are %u", (long long)inst->iimm2,
                      OSC_REGISTERS);
    bool word = writes_register(inst->opcode) || inst->opcode == OSC_OP_BRANCH;
    if (word && (inst->iimm < INT32_MIN || inst->iimm > (int64_t)UINT32_MAX))
        return broken(c, "%lld is no 32-bit value", (long long)inst->iimm);
    if (inst->opcode == OSC_OP_ACT_TABLE_LOAD && (inst->iimm < 0 || inst->iimm > UINT8_MAX))
        return broken(c, "function set %lld is not in 0..255", (long long)inst->iimm);
    if (inst->opcode == OSC_OP_BRANCH && (inst->iimm2 < 0 || inst->iimm2 > (int64_t)UINT32_MAX))
        return broken(c, "target %lld is no instruction", (long long)inst->iimm2);
    return OSC_OK;
}

osc_status osc_isa_check(const osc_inst *inst, const osc_sheet *sheet, osc_err *err)
{
    assert(sheet->size == sizeof(osc_sheet));
    const osc_isa_row *row = osc_isa_row_of(inst->opcode);
    if (row == NULL)
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET, "no instruction has opcode %u",
                        inst->opcode);
    check c = {inst,
               sheet,
               row,
               &RULES[inst->opcode],
               {&inst->dst, &inst->dst2, &inst->src[0], &inst->src[1], &inst->src[2]},
               err};
    osc_status (*const steps[])(const check *) = {check_operators,  check_engine,
                                                  check_immediates, check_semaphores,
                                                  check_operands,   check_relation};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        osc_status status = steps[i](&c);
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}
