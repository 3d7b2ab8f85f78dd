/*
 * rows_emit.c - micro-operations of a row kernel to engine instructions.
 *
 * One switch from kinds of micro-operations to instruction forms. A FULL operand is a dense tile; a ROW
 * operand is a scalar operand where the instruction has one ([rows, 1] in fp32, of which a copy is made
 * for other dtypes), else a tile read with stride 0.
 */
#include "neuron/compiler/rows.h"

#include <assert.h>

/* ---- operands of the job being emitted ---- */

const osc_tile *osc_rows_tile(const osc_rows *r, uint32_t ref)
{
    const osc_ir_op *op = &r->group->ops[ref];
    const osc_rows_home *h = &r->homes[ref];
    if (op->kind == OSC_IR_INPUT)
        return &h->tile[r->set_of[(size_t)r->depth_at * r->group->count + ref]];
    if (!op->full)
        return &h->tile[r->row_set % OSC_ROWS_ROW_SETS];
    return &h->tile[r->job_serial % h->sets];
}

/* Pattern of a result as an operand next to results of `cols` columns. */
static osc_ap operand_ap(const osc_rows *r, uint32_t ref, uint32_t cols)
{
    const osc_tile *tile = osc_rows_tile(r, ref);
    if (r->group->ops[ref].full)
        return osc_tile_ap(tile, r->block.rows, cols);
    return osc_tile_broadcast(tile, r->block.rows, cols);
}

/* [rows, 1] in fp32: the result itself, or a copy made once per value. */
static osc_ap row_fp32(osc_rows *r, uint32_t ref)
{
    const osc_ir_op *op = &r->group->ops[ref];
    osc_rows_home *h = &r->homes[ref];
    osc_ap from = osc_tile_ap(osc_rows_tile(r, ref), r->block.rows, 1);
    if (op->dtype == OSC_F32)
        return from;
    assert(!op->full);
    uint64_t serial = r->whole ? r->job_serial + 1 : h->serial;
    if (op->kind == OSC_IR_INPUT)
        serial = r->serial_of[(size_t)r->depth_at * r->group->count + ref];
    osc_ap copy = osc_tile_ap(&h->fp32[serial % OSC_ROWS_ROW_SETS], r->block.rows, 1);
    if (h->cast_serial[serial % OSC_ROWS_ROW_SETS] != serial) {
        osc_kernel_copy(r->kernel, &copy, &from);
        h->cast_serial[serial % OSC_ROWS_ROW_SETS] = serial;
    }
    return copy;
}

/* An immediate or [rows, 1] operand. */
static osc_ap scalar_ap(osc_rows *r, const osc_ir_arg *arg, float *imm)
{
    if (arg->kind == OSC_IR_REF)
        return row_fp32(r, arg->ref);
    *imm = (float)arg->imm;
    return osc_ap_imm();
}

/* ---- micro-operations to instructions ---- */

static bool is_full_ref(const osc_rows *r, const osc_ir_arg *arg)
{
    return arg->kind == OSC_IR_REF && r->group->ops[arg->ref].full;
}

static uint32_t reverse_flags(const osc_ir_op *op)
{
    return (op->reverse[0] ? OSC_INST_REVERSE0 : 0) | (op->reverse[1] ? OSC_INST_REVERSE1 : 0);
}

/* Two stages: tensor_scalar, or scalar_tensor_tensor when the second operand is a tensor. */
static void emit_two_stage(osc_rows *r, const osc_ir_op *op, osc_inst *inst, uint32_t cols)
{
    inst->flags = reverse_flags(op);
    inst->src[1] = scalar_ap(r, &op->arg[1], &inst->imm[1]);
    if (is_full_ref(r, &op->arg[2])) {
        inst->opcode = OSC_OP_SCALAR_TENSOR_TENSOR;
        inst->src[2] = operand_ap(r, op->arg[2].ref, cols);
    } else {
        inst->opcode = OSC_OP_TENSOR_SCALAR;
        inst->src[2] = scalar_ap(r, &op->arg[2], &inst->imm[2]);
    }
}

static void emit_alu(osc_rows *r, const osc_ir_op *op, const osc_ap *dst, uint32_t cols)
{
    osc_inst inst = {.engine = op->engine, .alu = {op->alu[0], op->alu[1]}, .dst = *dst};
    inst.src[0] = operand_ap(r, op->arg[0].ref, cols);
    bool row = op->arg[1].kind == OSC_IR_REF && !is_full_ref(r, &op->arg[1]) &&
               is_full_ref(r, &op->arg[0]) && op->engine == OSC_ENGINE_VECTOR &&
               !(op->alu[0] >= OSC_ALU_BITAND && op->alu[0] <= OSC_ALU_SHR);
    if (op->alu[1] != OSC_ALU_BYPASS) {
        emit_two_stage(r, op, &inst, cols);
    } else if (op->arg[1].kind == OSC_IR_REF && !row) {
        osc_ap other = operand_ap(r, op->arg[1].ref, cols);
        inst.opcode = OSC_OP_TENSOR_TENSOR;
        inst.src[1] = other;
        if (op->reverse[0]) {
            inst.src[1] = inst.src[0];
            inst.src[0] = other;
        }
    } else {
        inst.opcode = OSC_OP_TENSOR_SCALAR;
        inst.flags = reverse_flags(op);
        inst.src[1] =
            op->arg[1].kind == OSC_IR_NONE ? (osc_ap){0} : scalar_ap(r, &op->arg[1], &inst.imm[1]);
    }
    osc_kernel_emit(r->kernel, &inst);
}

static osc_ap result_ap(osc_rows *r, uint32_t i, bool partial)
{
    if (partial)
        return osc_tile_ap(&r->partial[i], r->block.rows, 1);
    return osc_tile_ap(osc_rows_tile(r, i), r->block.rows, 1);
}

/* Adds a chunk's result to what earlier chunks gave. */
static void emit_accumulate(osc_rows *r, uint32_t i)
{
    osc_ap total = result_ap(r, i, false), part = result_ap(r, i, true);
    osc_kernel_tensor_tensor(r->kernel, OSC_ENGINE_VECTOR, (osc_alu)r->group->ops[i].alu[0], &total,
                             &total, &part);
}

static void emit_act(osc_rows *r, const osc_ir_op *op, const osc_ap *dst, uint32_t cols, bool sums,
                     bool partial)
{
    osc_inst inst = {
        .opcode = OSC_OP_ACTIVATION, .engine = OSC_ENGINE_SCALAR, .act = op->act, .dst = *dst};
    inst.src[0] = operand_ap(r, op->arg[0].ref, cols);
    inst.src[1] = inst.src[2] = osc_ap_imm();
    inst.imm[1] = 1.0f;
    if (op->arg[1].kind != OSC_IR_NONE)
        inst.src[1] = scalar_ap(r, &op->arg[1], &inst.imm[1]);
    if (op->arg[2].kind != OSC_IR_NONE)
        inst.src[2] = scalar_ap(r, &op->arg[2], &inst.imm[2]);
    if (sums) {
        inst.opcode = OSC_OP_ACTIVATION_REDUCE;
        inst.dst2 = result_ap(r, op->sum_into, partial);
    }
    osc_kernel_emit(r->kernel, &inst);
    if (sums && partial)
        emit_accumulate(r, op->sum_into);
}

static void emit_select(osc_rows *r, const osc_ir_op *op, const osc_ap *dst, uint32_t cols)
{
    osc_inst inst = {.opcode = OSC_OP_SELECT, .engine = OSC_ENGINE_VECTOR, .dst = *dst};
    for (unsigned a = 0; a < 3; a++) {
        if (op->arg[a].kind == OSC_IR_REF) {
            inst.src[a] = operand_ap(r, op->arg[a].ref, cols);
        } else {
            inst.src[a] = osc_ap_imm();
            inst.imm[a] = (float)op->arg[a].imm;
        }
    }
    osc_kernel_emit(r->kernel, &inst);
}

static void emit_reduce(osc_rows *r, uint32_t i, uint32_t cols, bool partial)
{
    const osc_ir_op *op = &r->group->ops[i];
    if (op->sum_of != UINT32_MAX)
        return; /* the activation has summed already */
    osc_inst inst = {.opcode = OSC_OP_TENSOR_REDUCE,
                     .engine = op->engine,
                     .axes = 1,
                     .alu = {op->alu[0], OSC_ALU_BYPASS},
                     .dst = result_ap(r, i, partial)};
    inst.src[0] = operand_ap(r, op->arg[0].ref, cols);
    osc_kernel_emit(r->kernel, &inst);
    if (partial)
        emit_accumulate(r, i);
}

void osc_rows_emit(osc_rows *r, uint32_t i, const osc_rows_job *j)
{
    const osc_ir_op *op = &r->group->ops[i];
    bool partial = !j->whole && j->chunk > 0;
    assert(!op->dead && op->kind != OSC_IR_INPUT);
    uint32_t cols = op->full || op->kind == OSC_IR_REDUCE ? r->chunk.cols : 1;
    r->kernel->source = op->source;
    osc_ap dst = osc_tile_ap(osc_rows_tile(r, i), r->block.rows, op->full ? cols : 1);
    r->homes[i].serial = r->job_serial + 1;
    switch (op->kind) {
    case OSC_IR_FILL: osc_kernel_memset(r->kernel, &dst, op->arg[0].imm); break;
    case OSC_IR_ALU: emit_alu(r, op, &dst, cols); break;
    case OSC_IR_ACT: {
        bool sums = op->sum_into != UINT32_MAX && !r->group->ops[op->sum_into].dead &&
                    (j->whole || r->group->ops[op->sum_into].level == j->pass + 1);
        emit_act(r, op, &dst, cols, sums, partial);
        break;
    }
    case OSC_IR_SELECT: emit_select(r, op, &dst, cols); break;
    case OSC_IR_COPY: {
        osc_inst inst = {.opcode = OSC_OP_TENSOR_COPY, .engine = op->engine, .dst = dst};
        inst.src[0] = operand_ap(r, op->arg[0].ref, cols);
        osc_kernel_emit(r->kernel, &inst);
        break;
    }
    case OSC_IR_REDUCE: emit_reduce(r, i, cols, partial); break;
    default: break;
    }
}

void osc_rows_store(osc_rows *r, uint32_t i)
{
    for (uint32_t o = 0; o < r->group->output_count; o++) {
        const osc_ir_output *output = &r->group->outputs[o];
        if (output->ref != i)
            continue;
        bool full = r->group->ops[i].full;
        bool own = output->tensor == UINT32_MAX;
        uint32_t tensor = own ? osc_lower_tensor(r->lower, output->value) : output->tensor;
        osc_ap dst = osc_region_ap(r->region, output->operand, &r->block, full ? &r->chunk : NULL,
                                   (osc_dtype)output->dtype, (uint16_t)tensor, output->skip);
        dst.offset += own ? r->lower->place[output->value].offset : 0;
        osc_ap src = osc_tile_ap(osc_rows_tile(r, i), r->block.rows, full ? r->chunk.cols : 1);
        osc_kernel_dma(r->kernel, &dst, &src);
    }
}
