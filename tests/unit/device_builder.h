/*
 * device_builder.h - small programs for the device's tests, built instruction by instruction.
 *
 * Everything is static inline so that each test program uses what it needs. A bench owns a
 * program in the making, a core, and up to eight host tensors that are bound as slots 0..7.
 */
#ifndef OSC_TESTS_DEVICE_BUILDER_H
#define OSC_TESTS_DEVICE_BUILDER_H

#include "artifact/program.h"
#include "device_operands.h"
#include "isa/dtype.h"
#include "neuron/device/device.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 8, MAX_EVENTS = 200000 };

typedef struct bench {
    osc_generation generation;
    osc_sheet sheet;
    osc_core_options options;
    osc_program *program;
    osc_core *core;
    osc_loaded *loaded;
    uint8_t *memory[MAX_TENSORS];
    uint64_t bytes[MAX_TENSORS];
    uint32_t tensors;
    osc_event *event; /* of the last run */
    size_t events;
    osc_run_result result;
    osc_err err;
} bench;

static inline void bench_open(bench *b, osc_generation generation)
{
    memset(b, 0, sizeof *b);
    b->generation = generation;
    b->sheet = *osc_sheet_default(generation);
    b->options.size = sizeof b->options;
    b->options.check_hazards = true;
    b->options.poison = true;
    b->program = osc_program_new("test", generation);
}

static inline void bench_close(bench *b)
{
    osc_core_unload(b->loaded);
    osc_core_free(b->core);
    osc_program_release(b->program);
    for (uint32_t i = 0; i < b->tensors; i++)
        free(b->memory[i]);
    free(b->event);
}

/* A bound tensor of count elements, zeroed. */
static inline uint16_t bench_tensor(bench *b, osc_tensor_kind kind, osc_dtype dtype, uint64_t count)
{
    char name[16];
    snprintf(name, sizeof name, "t%u", b->tensors);
    osc_tensor t;
    memset(&t, 0, sizeof t);
    t.name = osc_str_from_cstr(name);
    t.kind = (uint8_t)kind;
    t.dtype = (uint8_t)dtype;
    t.rank = 1;
    t.size[0] = (int64_t)count;
    t.stride[0] = 1;
    t.slot = b->tensors;
    t.span_bytes = count * osc_dtype_size(dtype);
    b->bytes[b->tensors] = t.span_bytes;
    b->memory[b->tensors] = calloc(1, t.span_bytes + 1);
    b->tensors++;
    return (uint16_t)osc_program_add_tensor(b->program, &t);
}

/* ---- building ---- */

static inline uint32_t add(bench *b, osc_inst inst)
{
    return osc_program_add_inst(b->program, &inst);
}

/*
 * Appends instructions that run strictly one after another, whatever their engines: each waits
 * for a semaphore of its own that the one before raises. step counts from 0 for the first.
 */
static inline void chain(bench *b, osc_inst inst, uint16_t step)
{
    bool dma = inst.opcode == OSC_OP_DMA_COPY || inst.opcode == OSC_OP_DMA_TRANSPOSE;
    static uint32_t raised; /* how much the instruction before raised its semaphore by */
    if (step > 0)
        waits(&inst, (uint16_t)(step - 1), raised);
    raised = dma ? osc_isa_dma_engines(&inst) : 1;
    incs(&inst, step, 1);
    add(b, inst);
}

/* ---- running ---- */

static inline void collect(void *context, const osc_event *events, uint32_t count)
{
    bench *b = context;
    if (b->event == NULL)
        b->event = malloc(MAX_EVENTS * sizeof *b->event);
    for (uint32_t i = 0; i < count && b->events < MAX_EVENTS; i++)
        b->event[b->events++] = events[i];
}

static inline bool bench_load(bench *b)
{
    osc_status status = osc_program_seal(b->program, &b->err);
    if (status == OSC_OK && b->core == NULL)
        b->core = osc_core_new(&b->sheet, &b->options);
    if (status == OSC_OK)
        status = osc_core_load(b->core, b->program, &b->loaded, &b->err);
    if (status != OSC_OK)
        tap_note("load: %s", b->err.message);
    return status == OSC_OK;
}

static inline bool bench_execute(bench *b, bool values)
{
    osc_binding bindings[MAX_TENSORS];
    for (uint32_t i = 0; i < b->tensors; i++)
        bindings[i] = (osc_binding){b->memory[i], b->bytes[i]};
    uint64_t scratch_bytes = osc_program_scratch_bytes(b->program);
    uint8_t *scratch = scratch_bytes > 0 ? malloc(scratch_bytes) : NULL;
    osc_event_sink sink = {b, collect};
    osc_run run = {sizeof run, bindings, b->tensors, scratch, values, 0, 1, &sink};
    b->events = 0;
    osc_status status = osc_core_execute(b->core, b->loaded, &run, &b->result, &b->err);
    free(scratch);
    if (status != OSC_OK)
        tap_note("execute: %s", b->err.message);
    return status == OSC_OK;
}

static inline bool bench_run(bench *b)
{
    return bench_load(b) && bench_execute(b, true);
}

/* The n-th event of a kind on an engine (OSC_ENGINE_NONE: any), NULL when there is none. */
static inline const osc_event *event_of(const bench *b, osc_event_kind kind, osc_engine engine,
                                        unsigned n)
{
    for (size_t i = 0; i < b->events; i++) {
        const osc_event *e = &b->event[i];
        if (e->kind == kind && (engine == OSC_ENGINE_NONE || e->engine == engine) && n-- == 0)
            return e;
    }
    return NULL;
}

/* ---- host tensors ---- */

static inline double get(const bench *b, uint32_t tensor, osc_dtype dtype, uint64_t i)
{
    const uint8_t *p = b->memory[tensor] + i * osc_dtype_size(dtype);
    union {
        uint16_t u16;
        int16_t i16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        float f32;
        double f64;
    } v;
    memcpy(&v, p, osc_dtype_size(dtype));
    switch (dtype) {
    case OSC_BOOL:
    case OSC_U8: return *p;
    case OSC_I8: return (int8_t)*p;
    case OSC_I16: return v.i16;
    case OSC_U16: return v.u16;
    case OSC_I32: return v.i32;
    case OSC_U32: return v.u32;
    case OSC_I64: return (double)v.i64;
    case OSC_F16: return (double)osc_f16_to_f32(v.u16);
    case OSC_BF16: return (double)osc_bf16_to_f32(v.u16);
    case OSC_F32: return (double)v.f32;
    default: return v.f64;
    }
}

/* Stores a value that the type can hold (the tests' own inputs). */
static inline void put(bench *b, uint32_t tensor, osc_dtype dtype, uint64_t i, double value)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        float f32;
        double f64;
    } v;
    memset(&v, 0, sizeof v);
    switch (dtype) {
    case OSC_BOOL:
    case OSC_U8: v.u8 = (uint8_t)value; break;
    case OSC_I8: v.i8 = (int8_t)value; break;
    case OSC_I16: v.i16 = (int16_t)value; break;
    case OSC_U16: v.u16 = (uint16_t)value; break;
    case OSC_I32: v.i32 = (int32_t)value; break;
    case OSC_U32: v.u32 = (uint32_t)value; break;
    case OSC_I64: v.i64 = (int64_t)value; break;
    case OSC_F16: v.u16 = osc_f32_to_f16((float)value); break;
    case OSC_BF16: v.u16 = osc_f32_to_bf16((float)value); break;
    case OSC_F32: v.f32 = (float)value; break;
    default: v.f64 = value; break;
    }
    memcpy(b->memory[tensor] + i * osc_dtype_size(dtype), &v, osc_dtype_size(dtype));
}

#endif
