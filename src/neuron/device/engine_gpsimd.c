/*
 * engine_gpsimd.c - values of GpSimd: exact integers, affine index values, reductions over
 * partitions.
 *
 * Integers are computed in 64 bits and wrap to 32 after each operator, then to the element's
 * width at the store, so a fused pair of operators gives what two separate ones would. Unsigned
 * 32-bit operands wrap to their own range.
 */
#include "neuron/device/alu.h"
#include "neuron/device/convert.h"
#include "neuron/device/engine.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_memory(const osc_ap *ap)
{
    return ap->space == OSC_SPACE_HBM || ap->space == OSC_SPACE_SBUF || ap->space == OSC_SPACE_PSUM;
}

/* Memory operands must be integers, immediates whole numbers in the range of int32 and uint32. */
static bool integer_operand(const osc_inst *inst, unsigned index)
{
    const osc_ap *ap = &inst->src[index];
    if (is_memory(ap))
        return dev_is_int(ap->dtype);
    float v = inst->imm[index];
    return ap->space == OSC_SPACE_NONE || (v == truncf(v) && fabsf(v) <= 4294967296.0f);
}

/* Operators whose result on integers is no integer. */
static bool needs_float(uint8_t op)
{
    return op == OSC_ALU_RSQRT || op == OSC_ALU_RECIP;
}

bool dev_is_exact_int(const osc_inst *inst)
{
    switch (inst->opcode) {
    case OSC_OP_TENSOR_COPY:
    case OSC_OP_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR:
    case OSC_OP_SCALAR_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR_REDUCE:
    case OSC_OP_TENSOR_REDUCE:
    case OSC_OP_PARTITION_REDUCE: break;
    default: return false;
    }
    if (dev_alu_is_bitwise(inst->alu[0]) || dev_alu_is_bitwise(inst->alu[1]))
        return true; /* their memory operands are integers, immediates are truncated */
    if (inst->engine != OSC_ENGINE_GPSIMD || needs_float(inst->alu[0]) || needs_float(inst->alu[1]))
        return false;
    return integer_operand(inst, 0) && integer_operand(inst, 1) && integer_operand(inst, 2);
}

/* The range that operators wrap to: of uint32 when an operand or the result is, else of int32. */
static bool wraps_unsigned(const osc_inst *inst)
{
    bool u32 = inst->dst.dtype == OSC_U32;
    for (unsigned i = 0; i < 3; i++)
        u32 = u32 || (is_memory(&inst->src[i]) && inst->src[i].dtype == OSC_U32);
    return u32;
}

static void wrap(int64_t *v, size_t n, bool unsigned_range)
{
    for (size_t i = 0; i < n; i++)
        v[i] = unsigned_range ? (int64_t)(uint32_t)v[i] : (int64_t)(int32_t)(uint32_t)v[i];
}

typedef struct int_operand {
    dev_view view;
    bool immediate;
    int64_t value;
} int_operand;

/* Truncated, in the range of int64; NaN gives 0. */
static int64_t whole_number(float v)
{
    int64_t whole;
    uint8_t raw[sizeof whole];
    dev_from_f32(OSC_I64, &v, 1, raw);
    memcpy(&whole, raw, sizeof whole);
    return whole;
}

static int_operand int_operand_of(const dev_unit *unit, const osc_inst *inst, unsigned index)
{
    int_operand operand;
    memset(&operand, 0, sizeof operand);
    operand.immediate = !is_memory(&inst->src[index]);
    if (operand.immediate)
        operand.value = whole_number(inst->imm[index]);
    else
        operand.view = dev_view_of(&unit->memory, &inst->src[index]);
    return operand;
}

static void int_operand_load(const int_operand *operand, const dev_block *block, int64_t *out)
{
    if (!operand->immediate) {
        dev_load_i64(&operand->view, block, out);
        return;
    }
    for (uint32_t i = 0; i < block->rows * block->cols; i++)
        out[i] = operand->value;
}

static void int_apply(uint8_t op, bool reverse, int64_t *out, const int64_t *a, const int64_t *b,
                      size_t n, bool unsigned_range)
{
    reverse = reverse && !dev_alu_is_unary(op);
    dev_alu_i64(op, out, reverse ? b : a, reverse ? a : b, n);
    wrap(out, n, unsigned_range);
}

/* Folds values[0..n) into *total, which starts at the identity. */
static void int_fold(uint8_t op, int64_t *total, const int64_t *values, size_t n,
                     bool unsigned_range)
{
    for (size_t i = 0; i < n; i++)
        int_apply(op, false, total, total, &values[i], 1, unsigned_range);
}

static void int_elementwise(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    bool reduce = inst->opcode == OSC_OP_TENSOR_SCALAR_REDUCE;
    bool copy = inst->opcode == OSC_OP_TENSOR_COPY;
    bool two = inst->opcode == OSC_OP_TENSOR_SCALAR || inst->opcode == OSC_OP_SCALAR_TENSOR_TENSOR;
    bool u32 = wraps_unsigned(inst);
    int_operand in = int_operand_of(unit, inst, 0), first = int_operand_of(unit, inst, 1);
    int_operand second = int_operand_of(unit, inst, 2);
    int64_t a[DEV_BLOCK], b[DEV_BLOCK], total[OSC_PARTITIONS];
    dev_block block = dev_block_first(dst.rows, dst.row_elems);
    do {
        uint32_t n = block.rows * block.cols;
        int_operand_load(&in, &block, a);
        if (!copy) {
            int_operand_load(&first, &block, b);
            int_apply(inst->alu[0], (inst->flags & OSC_INST_REVERSE0) != 0, a, a, b, n, u32);
        }
        if (two && inst->alu[1] != OSC_ALU_BYPASS) {
            int_operand_load(&second, &block, b);
            int_apply(inst->alu[1], (inst->flags & OSC_INST_REVERSE1) != 0, a, a, b, n, u32);
        }
        dev_store_i64(&dst, &block, a);
        if (!reduce)
            continue;
        dev_view result = dev_view_of(&unit->memory, &inst->dst2);
        for (uint32_t r = 0; r < block.rows; r++) {
            if (block.col == 0)
                total[r] = dev_reduce_identity_i64(inst->alu[1]);
            int_fold(inst->alu[1], &total[r], a + (size_t)r * block.cols, block.cols, u32);
        }
        dev_block column = {block.row, block.rows, 0, 1};
        dev_store_i64(&result, &column, total);
    } while (dev_block_next(&block, dst.rows, dst.row_elems));
}

static void int_reduce(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    bool u32 = wraps_unsigned(inst);
    uint64_t kept = dst.row_elems, each = src.row_elems / kept;
    int64_t values[DEV_BLOCK];
    for (uint32_t row = 0; row < src.rows; row++) {
        for (uint64_t k = 0; k < kept; k++) {
            int64_t total = dev_reduce_identity_i64(inst->alu[0]);
            for (uint64_t done = 0; done < each; done += DEV_BLOCK) {
                uint32_t n = each - done < DEV_BLOCK ? (uint32_t)(each - done) : DEV_BLOCK;
                dev_block piece = {row, 1, k * each + done, n};
                dev_load_i64(&src, &piece, values);
                int_fold(inst->alu[0], &total, values, n, u32);
            }
            if ((inst->flags & OSC_INST_NEGATE) != 0)
                total = (int64_t)(0 - (uint64_t)total);
            dev_block out = {row, 1, k, 1};
            dev_store_i64(&dst, &out, &total);
        }
    }
}

static void partition_reduce_int(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    bool u32 = wraps_unsigned(inst);
    int64_t total[DEV_BLOCK], values[DEV_BLOCK];
    for (uint64_t col = 0; col < src.row_elems; col += DEV_BLOCK) {
        uint32_t n = src.row_elems - col < DEV_BLOCK ? (uint32_t)(src.row_elems - col) : DEV_BLOCK;
        dev_block piece = {0, 1, col, n};
        dev_load_i64(&src, &piece, total);
        for (uint32_t row = 1; row < src.rows; row++) {
            piece.row = row;
            dev_load_i64(&src, &piece, values);
            int_apply(inst->alu[0], false, total, total, values, n, u32);
        }
        piece.row = 0;
        dev_store_i64(&dst, &piece, total);
    }
}

static void partition_reduce_float(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    dev_alu_fn *fn = dev_alu_f32(inst->alu[0]);
    float total[DEV_BLOCK], values[DEV_BLOCK];
    for (uint64_t col = 0; col < src.row_elems; col += DEV_BLOCK) {
        uint32_t n = src.row_elems - col < DEV_BLOCK ? (uint32_t)(src.row_elems - col) : DEV_BLOCK;
        dev_block piece = {0, 1, col, n};
        dev_load_f32(&src, &piece, total);
        for (uint32_t row = 1; row < src.rows; row++) {
            piece.row = row;
            dev_load_f32(&src, &piece, values);
            fn(total, total, values, n);
        }
        piece.row = 0;
        dev_store_f32(&dst, &piece, total);
    }
}

/* The value at element `col` of a row, wrapping in 64 bits. */
static int64_t iota_value(const osc_inst *inst, uint32_t row, uint64_t col)
{
    const osc_ap *steps = &inst->src[0];
    uint64_t value = (uint64_t)inst->iimm + (uint64_t)(int64_t)inst->channel_multiplier * row;
    for (unsigned d = steps->ndim; d-- > 0;) {
        value += (uint64_t)steps->dim[d].stride * (col % steps->dim[d].count);
        col /= steps->dim[d].count;
    }
    return (int64_t)value;
}

/* dst[p][i0][i1].. = iimm + channel_multiplier * p + sum(step_d * i_d) */
static void iota(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    int64_t values[DEV_BLOCK];
    for (uint32_t row = 0; row < dst.rows; row++) {
        for (uint64_t col = 0; col < dst.row_elems; col += DEV_BLOCK) {
            uint64_t left = dst.row_elems - col;
            uint32_t n = left < DEV_BLOCK ? (uint32_t)left : DEV_BLOCK;
            for (uint32_t i = 0; i < n; i++)
                values[i] = iota_value(inst, row, col + i);
            dev_block piece = {row, 1, col, n};
            dev_store_i64(&dst, &piece, values);
        }
    }
}

void dev_gpsimd_execute(dev_unit *unit, const osc_inst *inst)
{
    switch (inst->opcode) {
    case OSC_OP_IOTA: iota(unit, inst); break;
    case OSC_OP_PARTITION_REDUCE:
        if (dev_is_exact_int(inst))
            partition_reduce_int(unit, inst);
        else
            partition_reduce_float(unit, inst);
        break;
    case OSC_OP_TENSOR_REDUCE: int_reduce(unit, inst); break;
    case OSC_OP_TENSOR_COPY:
    case OSC_OP_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR:
    case OSC_OP_SCALAR_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR_REDUCE: int_elementwise(unit, inst); break;
    default: assert(0 && "opcode is not one of GpSimd's");
    }
}
