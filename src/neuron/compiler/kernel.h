/*
 * kernel.h - the kernel builder: what lowering code writes instructions with.
 *
 * A kernel is a stretch of a program that shares SBUF: tiles are allocated, instructions emitted in
 * sequential order, and everything is released at the end. The builder fills in what every instruction
 * has in common (engine, source, table loads) and passes it to sync.h. Errors are sticky: after the
 * first, emitting does nothing and osc_kernel_status says why. One thread.
 */
#ifndef OSC_NEURON_COMPILER_KERNEL_H
#define OSC_NEURON_COMPILER_KERNEL_H

#include "artifact/program.h"
#include "base/arena.h"
#include "isa/sheet.h"
#include "neuron/compiler/sync.h"

typedef struct osc_kernel {
    osc_program *program;   /* not owned */
    const osc_sheet *sheet; /* static */
    osc_arena *arena;       /* not owned */
    osc_sync *sync;
    osc_err *err; /* the caller's; filled at the first failure */
    osc_status status;
    uint32_t source;   /* source map index of what is emitted next */
    int64_t sbuf_used; /* bytes of each partition given out */
    int64_t sbuf_limit;
    uint8_t act_set; /* function set loaded on the Scalar engine; 0 none */
} osc_kernel;

/* A rectangle of SBUF or PSUM: rows on partitions 0 .. , `cols` elements of one dtype in each. */
typedef struct osc_tile {
    uint8_t space;  /* osc_space */
    uint8_t dtype;  /* osc_dtype */
    int64_t offset; /* bytes in each partition */
    uint32_t cols;
} osc_tile;

OSC_MUST_CHECK osc_status osc_kernel_init(osc_kernel *kernel, osc_program *program,
                                          const osc_sheet *sheet, osc_arena *arena, osc_err *err);
/* Releases all tiles and starts a new phase (sync.h): HBM written so far may be read now. */
void osc_kernel_begin(osc_kernel *kernel);
/* Releases all tiles within a phase: for another part of the same work on other elements. */
void osc_kernel_release(osc_kernel *kernel);

/* Keeps the first failure. Returns its code. */
osc_status osc_kernel_fail(osc_kernel *kernel, osc_status code, const char *fmt, ...)
    OSC_PRINTF(3, 4);

/* SBUF bytes of each partition that are still free. */
int64_t osc_kernel_free_bytes(const osc_kernel *kernel);
/* A tile in SBUF on all partitions; 32-byte aligned. Fails the kernel when SBUF is full. */
osc_tile osc_kernel_sbuf(osc_kernel *kernel, osc_dtype dtype, uint32_t cols);
/* A tile over the start of a PSUM bank (2 KiB per partition). */
osc_tile osc_kernel_psum(unsigned bank, osc_dtype dtype, uint32_t cols);

/* Pattern of the first rows x cols elements of a tile. */
osc_ap osc_tile_ap(const osc_tile *tile, uint32_t rows, uint32_t cols);
/* The same starting at a column. */
osc_ap osc_tile_at(const osc_tile *tile, uint32_t rows, uint32_t col, uint32_t cols);
/* [rows, 1] tile read `cols` times by stride 0. */
osc_ap osc_tile_broadcast(const osc_tile *tile, uint32_t rows, uint32_t cols);
/* An immediate operand; its value goes to inst.imm[]. */
osc_ap osc_ap_imm(void);

/* Emits; inst->engine and operands are set, source is filled in. ACTIVATION loads its table if needed. */
void osc_kernel_emit(osc_kernel *kernel, osc_inst *inst);

/* Loads a function's table unless it is there; ahead of its use this hides behind the first loads. */
void osc_kernel_load_table(osc_kernel *kernel, osc_act act);

/* DMA copy on the Sync queue. Element counts and rows of both sides are equal. */
void osc_kernel_dma(osc_kernel *kernel, const osc_ap *dst, const osc_ap *src);
/* dst <- src with cast, on Vector; same dtype is bit exact. */
void osc_kernel_copy(osc_kernel *kernel, const osc_ap *dst, const osc_ap *src);
/* dst <- value: integers for integer dtypes, exact. */
void osc_kernel_memset(osc_kernel *kernel, const osc_ap *dst, double value);
/* dst <- a op b elementwise on an engine. */
void osc_kernel_tensor_tensor(osc_kernel *kernel, osc_engine engine, osc_alu alu, const osc_ap *dst,
                              const osc_ap *a, const osc_ap *b);
/* dst <- a op imm on Vector. */
void osc_kernel_tensor_imm(osc_kernel *kernel, osc_alu alu, const osc_ap *dst, const osc_ap *a,
                           float value);

/* Number of elements of HBM chunk patterns and the like: ceil(a / b), b > 0. */
int64_t osc_ceil_div(int64_t a, int64_t b);

#endif
