/*
 * kernel.c - the kernel builder: SBUF allocation, operand patterns and the common instruction forms.
 *
 * SBUF is handed out by a rising mark and released as a whole when the next kernel begins. Reuse of the
 * same bytes is safe because sync.c orders accesses by address, not by tile.
 */
#include "neuron/compiler/kernel.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SBUF_ALIGN 32 /* bytes; keeps 16-bit fast modes of the Vector engine on aligned rows */

osc_status osc_kernel_init(osc_kernel *kernel, osc_program *program, const osc_sheet *sheet,
                           osc_arena *arena, osc_err *err)
{
    *kernel = (osc_kernel){.program = program,
                           .sheet = sheet,
                           .arena = arena,
                           .err = err,
                           .source = OSC_NO_SOURCE,
                           .sbuf_limit = (int64_t)sheet->sbuf_partition_bytes};
    kernel->sync = osc_sync_new(arena, program);
    if (kernel->sync == NULL)
        return osc_kernel_fail(kernel, OSC_ENOMEM, "no memory for the compiler");
    return OSC_OK;
}

void osc_kernel_release(osc_kernel *kernel)
{
    kernel->sbuf_used = 0;
}

void osc_kernel_begin(osc_kernel *kernel)
{
    osc_kernel_release(kernel);
    osc_sync_phase(kernel->sync);
}

osc_status osc_kernel_fail(osc_kernel *kernel, osc_status code, const char *fmt, ...)
{
    if (kernel->status != OSC_OK)
        return kernel->status;
    char text[sizeof kernel->err->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kernel->status = osc_fail(kernel->err, code, NULL, OSC_NO_OFFSET, "%s", text);
    return kernel->status;
}

int64_t osc_kernel_free_bytes(const osc_kernel *kernel)
{
    return kernel->sbuf_limit - kernel->sbuf_used;
}

osc_tile osc_kernel_sbuf(osc_kernel *kernel, osc_dtype dtype, uint32_t cols)
{
    int64_t bytes = (int64_t)cols * (int64_t)osc_dtype_size(dtype);
    bytes = (bytes + SBUF_ALIGN - 1) / SBUF_ALIGN * SBUF_ALIGN;
    osc_tile tile = {.space = OSC_SPACE_SBUF,
                     .dtype = (uint8_t)dtype,
                     .cols = cols,
                     .offset = kernel->sbuf_used};
    if (bytes > osc_kernel_free_bytes(kernel)) {
        osc_kernel_fail(kernel, OSC_EUNSUPPORTED,
                        "the operator needs more SBUF than a partition has (%lld bytes)",
                        (long long)kernel->sbuf_limit);
        tile.offset = 0;
        return tile;
    }
    kernel->sbuf_used += bytes;
    return tile;
}

osc_tile osc_kernel_psum(unsigned bank, osc_dtype dtype, uint32_t cols)
{
    assert(bank < OSC_PSUM_BANKS && cols * osc_dtype_size(dtype) <= OSC_PSUM_BANK_BYTES);
    return (osc_tile){.space = OSC_SPACE_PSUM,
                      .dtype = (uint8_t)dtype,
                      .cols = cols,
                      .offset = (int64_t)(bank * OSC_PSUM_BANK_BYTES)};
}

osc_ap osc_tile_at(const osc_tile *tile, uint32_t rows, uint32_t col, uint32_t cols)
{
    assert(rows >= 1 && rows <= OSC_PARTITIONS && cols >= 1 && col + cols <= tile->cols);
    osc_ap ap = {.space = tile->space, .dtype = tile->dtype, .nparts = (uint16_t)rows, .ndim = 1};
    ap.offset = tile->offset + (int64_t)col * (int64_t)osc_dtype_size((osc_dtype)tile->dtype);
    ap.dim[0] = (osc_ap_dim){.stride = 1, .count = cols};
    return ap;
}

osc_ap osc_tile_ap(const osc_tile *tile, uint32_t rows, uint32_t cols)
{
    return osc_tile_at(tile, rows, 0, cols);
}

osc_ap osc_tile_broadcast(const osc_tile *tile, uint32_t rows, uint32_t cols)
{
    osc_ap ap = osc_tile_at(tile, rows, 0, 1);
    ap.dim[0] = (osc_ap_dim){.stride = 0, .count = cols};
    return ap;
}

osc_ap osc_ap_imm(void)
{
    return (osc_ap){.space = OSC_SPACE_IMM, .dtype = OSC_F32};
}

void osc_kernel_load_table(osc_kernel *kernel, osc_act act)
{
    uint8_t set = osc_act_set(act);
    if (set == 0 || set == kernel->act_set || kernel->status != OSC_OK)
        return;
    osc_inst load = {.opcode = OSC_OP_ACT_TABLE_LOAD,
                     .engine = OSC_ENGINE_SCALAR,
                     .iimm = set,
                     .source = kernel->source};
    kernel->act_set = set;
    kernel->status = osc_sync_emit(kernel->sync, &load, kernel->err);
}

void osc_kernel_emit(osc_kernel *kernel, osc_inst *inst)
{
    if (kernel->status != OSC_OK)
        return;
    inst->source = kernel->source;
    if (inst->opcode == OSC_OP_ACTIVATION || inst->opcode == OSC_OP_ACTIVATION_REDUCE)
        osc_kernel_load_table(kernel, (osc_act)inst->act);
    if (kernel->status == OSC_OK)
        kernel->status = osc_sync_emit(kernel->sync, inst, kernel->err);
}

void osc_kernel_dma(osc_kernel *kernel, const osc_ap *dst, const osc_ap *src)
{
    assert(dst->nparts == src->nparts && osc_ap_row_elems(dst) == osc_ap_row_elems(src));
    osc_inst inst = {.opcode = OSC_OP_DMA_COPY, .engine = OSC_ENGINE_SYNC, .dst = *dst};
    inst.src[0] = *src;
    osc_kernel_emit(kernel, &inst);
}

void osc_kernel_copy(osc_kernel *kernel, const osc_ap *dst, const osc_ap *src)
{
    osc_inst inst = {.opcode = OSC_OP_TENSOR_COPY, .engine = OSC_ENGINE_VECTOR, .dst = *dst};
    inst.src[0] = *src;
    osc_kernel_emit(kernel, &inst);
}

void osc_kernel_memset(osc_kernel *kernel, const osc_ap *dst, double value)
{
    osc_inst inst = {.opcode = OSC_OP_MEMSET, .engine = OSC_ENGINE_VECTOR, .dst = *dst};
    if (osc_dtype_is_float((osc_dtype)dst->dtype))
        inst.imm[0] = (float)value;
    else
        inst.iimm = (int64_t)value;
    osc_kernel_emit(kernel, &inst);
}

void osc_kernel_tensor_tensor(osc_kernel *kernel, osc_engine engine, osc_alu alu, const osc_ap *dst,
                              const osc_ap *a, const osc_ap *b)
{
    osc_inst inst = {.opcode = OSC_OP_TENSOR_TENSOR,
                     .engine = (uint8_t)engine,
                     .alu = {(uint8_t)alu, OSC_ALU_BYPASS},
                     .dst = *dst};
    inst.src[0] = *a;
    inst.src[1] = *b;
    osc_kernel_emit(kernel, &inst);
}

void osc_kernel_tensor_imm(osc_kernel *kernel, osc_alu alu, const osc_ap *dst, const osc_ap *a,
                           float value)
{
    osc_inst inst = {.opcode = OSC_OP_TENSOR_SCALAR,
                     .engine = OSC_ENGINE_VECTOR,
                     .alu = {(uint8_t)alu, OSC_ALU_BYPASS},
                     .dst = *dst};
    inst.src[0] = *a;
    inst.src[1] = osc_ap_imm();
    inst.imm[1] = value;
    osc_kernel_emit(kernel, &inst);
}

int64_t osc_ceil_div(int64_t a, int64_t b)
{
    assert(b > 0 && a >= 0);
    return (a + b - 1) / b;
}
