/*
 * engine_vector.c - values of VectorE: copies, fills, elementwise operators, reductions, select.
 *
 * Every elementwise instruction is the same walk: load a block of each operand as fp32, apply one
 * or two operators, store the block, which rounds once. The same functions serve ScalarE and
 * GpSimd where the instruction set gives them these opcodes; exact integer work is GpSimd's
 * (engine_gpsimd.c).
 *
 * Rejected: one specialised loop per opcode and type. The block walk costs a few percent of the
 * arithmetic, and the number of combinations is in the hundreds.
 */
#include "neuron/device/alu.h"
#include "neuron/device/convert.h"
#include "neuron/device/engine.h"

#include <assert.h>
#include <string.h>

dev_operand dev_operand_of(const dev_unit *unit, const osc_inst *inst, unsigned index)
{
    dev_operand operand;
    memset(&operand, 0, sizeof operand);
    const osc_ap *ap = &inst->src[index];
    if (ap->space == OSC_SPACE_IMM || ap->space == OSC_SPACE_NONE) {
        operand.immediate = true;
        operand.value = inst->imm[index];
    } else {
        operand.view = dev_view_of(&unit->memory, ap);
    }
    return operand;
}

void dev_operand_load(const dev_operand *operand, const dev_block *block, float *buffer,
                      bool *filled)
{
    if (!operand->immediate) {
        dev_load_f32(&operand->view, block, buffer);
    } else if (!*filled) {
        for (uint32_t i = 0; i < DEV_BLOCK; i++)
            buffer[i] = operand->value;
        *filled = true;
    }
}

static uint32_t block_size(const dev_block *block)
{
    return block->rows * block->cols;
}

/* out = a alu b, operands swapped when reversed (an operator of one operand has nothing to swap).
 */
static void apply(uint8_t op, bool reverse, float *out, const float *a, const float *b, size_t n)
{
    dev_alu_fn *fn = dev_alu_f32(op);
    assert(fn != NULL);
    reverse = reverse && !dev_alu_is_unary(op);
    if (op != OSC_ALU_BYPASS || out != a)
        fn(out, reverse ? b : a, reverse ? a : b, n);
}

/* Bit-exact between equal types, else over fp32. */
static void tensor_copy(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    union {
        float f32[DEV_BLOCK];
        uint8_t raw[DEV_BLOCK * 16];
    } buffer;
    dev_block block = dev_block_first(dst.rows, dst.row_elems);
    do {
        if (src.dtype == dst.dtype) {
            dev_load_raw(&src, &block, buffer.raw);
            dev_store_raw(&dst, &block, buffer.raw);
        } else {
            dev_load_f32(&src, &block, buffer.f32);
            dev_store_f32(&dst, &block, buffer.f32);
        }
    } while (dev_block_next(&block, dst.rows, dst.row_elems));
}

/*
 * dst = (src[0] alu[0] first) alu[1] second. TENSOR_TENSOR has no second; a reducing instruction
 * also folds each row of the results by alu[1] into dst2.
 */
typedef struct chain {
    dev_view dst;
    dev_operand in, first, second;
    bool has_second;
    bool reduce;
    dev_view total;
} chain;

static chain chain_of(const dev_unit *unit, const osc_inst *inst)
{
    chain c;
    memset(&c, 0, sizeof c);
    c.dst = dev_view_of(&unit->memory, &inst->dst);
    c.in = dev_operand_of(unit, inst, 0);
    c.first = dev_operand_of(unit, inst, 1);
    c.reduce = inst->opcode == OSC_OP_TENSOR_SCALAR_REDUCE;
    c.has_second = inst->opcode != OSC_OP_TENSOR_TENSOR && !c.reduce;
    if (c.has_second)
        c.second = dev_operand_of(unit, inst, 2);
    if (c.reduce)
        c.total = dev_view_of(&unit->memory, &inst->dst2);
    return c;
}

static void store_totals(const dev_view *total, const dev_block *block, uint8_t op,
                         const dev_lanes *lanes)
{
    float sums[DEV_BLOCK];
    for (uint32_t r = 0; r < block->rows; r++)
        sums[r] = dev_lanes_finish(op, &lanes[r]);
    dev_block column = {block->row, block->rows, 0, 1};
    dev_store_f32(total, &column, sums);
}

void dev_reduce_rows(const dev_view *total, uint64_t row_elems, const dev_block *block, uint8_t op,
                     const float *values, dev_lanes *lanes)
{
    assert(block->rows <= OSC_PARTITIONS);
    for (uint32_t r = 0; r < block->rows; r++) {
        if (block->col == 0)
            dev_lanes_start(op, &lanes[r]);
        dev_lanes_feed(op, &lanes[r], values + (size_t)r * block->cols, block->cols);
    }
    if (block->col + block->cols == row_elems)
        store_totals(total, block, op, lanes);
}

static void elementwise(dev_unit *unit, const osc_inst *inst)
{
    chain c = chain_of(unit, inst);
    float a[DEV_BLOCK], b[DEV_BLOCK], d[DEV_BLOCK], result[DEV_BLOCK];
    dev_lanes lanes[OSC_PARTITIONS];
    bool in_filled = false, first_filled = false, second_filled = false;
    bool skip_second = !c.has_second || inst->alu[1] == OSC_ALU_BYPASS;
    dev_block block = dev_block_first(c.dst.rows, c.dst.row_elems);
    do {
        uint32_t n = block_size(&block);
        dev_operand_load(&c.in, &block, a, &in_filled);
        dev_operand_load(&c.first, &block, b, &first_filled);
        apply(inst->alu[0], (inst->flags & OSC_INST_REVERSE0) != 0, result, a, b, n);
        if (!skip_second) {
            dev_operand_load(&c.second, &block, d, &second_filled);
            apply(inst->alu[1], (inst->flags & OSC_INST_REVERSE1) != 0, result, result, d, n);
        }
        dev_store_f32(&c.dst, &block, result);
        if (c.reduce)
            dev_reduce_rows(&c.total, c.dst.row_elems, &block, inst->alu[1], result, lanes);
    } while (dev_block_next(&block, c.dst.rows, c.dst.row_elems));
}

static void memset_dst(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_block block = dev_block_first(dst.rows, dst.row_elems);
    uint8_t raw[DEV_BLOCK * 8];
    for (uint32_t i = 0; i < DEV_BLOCK; i++) {
        if (dev_is_int(dst.dtype))
            dev_from_i64(dst.dtype, &inst->iimm, 1, raw + (size_t)i * dst.esize);
        else
            dev_from_f32(dst.dtype, &inst->imm[0], 1, raw + (size_t)i * dst.esize);
    }
    do
        dev_store_raw(&dst, &block, raw);
    while (dev_block_next(&block, dst.rows, dst.row_elems));
}

static void reciprocal(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    float values[DEV_BLOCK];
    dev_block block = dev_block_first(dst.rows, dst.row_elems);
    do {
        dev_load_f32(&src, &block, values);
        dev_alu_f32(OSC_ALU_RECIP)(values, values, values, block_size(&block));
        dev_store_f32(&dst, &block, values);
    } while (dev_block_next(&block, dst.rows, dst.row_elems));
}

/* The product of the trailing `axes` counts: how many elements make one result. */
static uint64_t reduced_elems(const osc_inst *inst)
{
    const osc_ap *ap = &inst->src[0];
    uint64_t n = 1;
    assert(inst->axes <= ap->ndim);
    for (unsigned i = ap->ndim - inst->axes; i < ap->ndim; i++)
        n *= ap->dim[i].count;
    return n;
}

/* One result of a row whose elements do not fit a block: piece by piece. */
static float reduce_long(uint8_t op, const dev_view *src, uint32_t row, uint64_t from,
                         uint64_t count)
{
    float values[DEV_BLOCK];
    dev_lanes lanes;
    dev_lanes_start(op, &lanes);
    while (count > 0) {
        uint32_t n = count < DEV_BLOCK ? (uint32_t)count : DEV_BLOCK;
        dev_block piece = {row, 1, from, n};
        dev_load_f32(src, &piece, values);
        dev_lanes_feed(op, &lanes, values, n);
        from += n;
        count -= n;
    }
    return dev_lanes_finish(op, &lanes);
}

/* `groups` results of a row whose elements together fit a block. */
static void reduce_short(uint8_t op, const dev_view *src, uint32_t row, uint64_t from,
                         uint32_t groups, uint32_t each, float *results)
{
    float values[DEV_BLOCK];
    dev_block piece = {row, 1, from, groups * each};
    dev_load_f32(src, &piece, values);
    for (uint32_t g = 0; g < groups; g++) {
        dev_lanes lanes;
        dev_lanes_start(op, &lanes);
        dev_lanes_feed(op, &lanes, values + (size_t)g * each, each);
        results[g] = dev_lanes_finish(op, &lanes);
    }
}

static void tensor_reduce(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    uint64_t each = reduced_elems(inst);
    uint64_t kept = src.row_elems / each;
    uint8_t op = inst->alu[0];
    float results[DEV_BLOCK];
    uint32_t at_once = each < DEV_BLOCK ? (uint32_t)(DEV_BLOCK / each) : 1;
    for (uint32_t row = 0; row < src.rows; row++) {
        for (uint64_t done = 0; done < kept; done += at_once) {
            uint32_t groups = kept - done < at_once ? (uint32_t)(kept - done) : at_once;
            if (each > DEV_BLOCK)
                results[0] = reduce_long(op, &src, row, done * each, each);
            else
                reduce_short(op, &src, row, done * each, groups, (uint32_t)each, results);
            if ((inst->flags & OSC_INST_NEGATE) != 0)
                for (uint32_t g = 0; g < groups; g++)
                    results[g] = -results[g];
            dev_block out = {row, 1, done, groups};
            dev_store_f32(&dst, &out, results);
        }
    }
}

/* One side of a SELECT as bytes of the destination's type; an immediate is converted once. */
static void select_side(const dev_operand *side, uint8_t dtype, const dev_block *block,
                        uint8_t *raw, bool *filled)
{
    if (!side->immediate && side->view.dtype == dtype) {
        dev_load_raw(&side->view, block, raw);
        return;
    }
    if (side->immediate && *filled)
        return;
    float values[DEV_BLOCK];
    bool ignored = false;
    dev_operand_load(side, block, values, &ignored);
    dev_from_f32(dtype, values, side->immediate ? DEV_BLOCK : block_size(block), raw);
    *filled = side->immediate;
}

static void select_value(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_operand predicate = dev_operand_of(unit, inst, 0);
    dev_operand yes = dev_operand_of(unit, inst, 1), no = dev_operand_of(unit, inst, 2);
    float p[DEV_BLOCK];
    uint8_t yes_raw[DEV_BLOCK * 8], no_raw[DEV_BLOCK * 8], out[DEV_BLOCK * 8];
    bool p_filled = false, yes_filled = false, no_filled = false;
    dev_block block = dev_block_first(dst.rows, dst.row_elems);
    do {
        uint32_t n = block_size(&block);
        dev_operand_load(&predicate, &block, p, &p_filled);
        select_side(&yes, dst.dtype, &block, yes_raw, &yes_filled);
        select_side(&no, dst.dtype, &block, no_raw, &no_filled);
        for (uint32_t i = 0; i < n; i++) {
            const uint8_t *from = p[i] != 0.0f ? yes_raw : no_raw;
            memcpy(out + (size_t)i * dst.esize, from + (size_t)i * dst.esize, dst.esize);
        }
        dev_store_raw(&dst, &block, out);
    } while (dev_block_next(&block, dst.rows, dst.row_elems));
}

void dev_vector_execute(dev_unit *unit, const osc_inst *inst)
{
    switch (inst->opcode) {
    case OSC_OP_TENSOR_COPY: tensor_copy(unit, inst); break;
    case OSC_OP_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR:
    case OSC_OP_SCALAR_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR_REDUCE: elementwise(unit, inst); break;
    case OSC_OP_TENSOR_REDUCE: tensor_reduce(unit, inst); break;
    case OSC_OP_MEMSET: memset_dst(unit, inst); break;
    case OSC_OP_RECIPROCAL: reciprocal(unit, inst); break;
    case OSC_OP_SELECT: select_value(unit, inst); break;
    default: assert(0 && "opcode is not one of VectorE's");
    }
}
