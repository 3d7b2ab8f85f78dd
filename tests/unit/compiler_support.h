/*
 * compiler_support.h - builds graphs over random tensors, runs them on the virtual core with the hazard
 * checker and poisoned memory, and reads results back for comparison with plain loops in double.
 */
#ifndef OSC_TESTS_COMPILER_SUPPORT_H
#define OSC_TESTS_COMPILER_SUPPORT_H

#include "tap.h"

#include "base/mem.h"
#include "base/rng.h"
#include "isa/dtype.h"
#include "neuron/compiler/compiler.h"
#include "neuron/device/device.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CS_TENSORS 160u
#define CS_GUARD   0xA5

typedef struct cs_tensor {
    osc_dtype dtype;
    uint32_t rank;
    int64_t size[OSC_MAX_RANK], stride[OSC_MAX_RANK];
    int64_t elems, span; /* elements of the view, of the memory behind it */
    uint8_t *data;
    osc_value value;
    uint32_t slot; /* OSC_NO_SLOT: intermediate */
    bool output;
} cs_tensor;

typedef struct cs_case {
    osc_graph *graph;
    cs_tensor tensors[CS_TENSORS];
    uint32_t count;
    uint32_t slots;
    bool no_fuse;
    osc_generation generation;
    osc_status status;
    osc_err err;
    int64_t body_ns;
    uint32_t instructions;
    uint64_t opcodes[OSC_OPCODE_COUNT];
} cs_case;

typedef enum cs_layout { CS_DENSE = 0, CS_PADDED, CS_PERMUTED, CS_LAYOUTS, CS_BROADCAST } cs_layout;

static inline void cs_begin(cs_case *c, const char *name)
{
    memset(c, 0, sizeof *c);
    c->generation = OSC_TRN2;
    c->graph = osc_graph_new(name);
}

static inline void cs_end(cs_case *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        osc_free(c->tensors[i].data);
    osc_graph_free(c->graph);
}

/* Strides of a layout; BROADCAST repeats every second dim. */
static inline void cs_strides(cs_tensor *t, cs_layout layout)
{
    int64_t step = layout == CS_PADDED ? 2 : 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t d = layout == CS_PERMUTED ? i : t->rank - 1 - i;
        t->stride[d] = step;
        if (layout == CS_BROADCAST && d % 2 == 1)
            t->stride[d] = 0;
        else
            step *= t->size[d] + (layout == CS_PADDED ? 1 : 0);
    }
    t->elems = 1;
    t->span = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        t->elems *= t->size[d];
        t->span += (t->size[d] - 1) * t->stride[d];
    }
    if (t->elems == 0)
        t->span = 0;
}

/* Adds a tensor. slot: CS_NEW for the next free one, OSC_NO_SLOT for an intermediate, or a used one. */
#define CS_NEW (UINT32_MAX - 1)
static inline cs_tensor *cs_tensor_add(cs_case *c, osc_dtype dtype, uint32_t rank,
                                       const int64_t *size, cs_layout layout, bool output,
                                       uint32_t slot)
{
    cs_tensor *t = &c->tensors[c->count++];
    t->dtype = dtype;
    t->rank = rank;
    t->output = output;
    for (uint32_t d = 0; d < rank; d++)
        t->size[d] = size[d];
    cs_strides(t, layout);
    t->slot = slot == CS_NEW ? c->slots++ : slot;
    bool external = t->slot != OSC_NO_SLOT;
    t->value = osc_graph_tensor(c->graph, dtype, rank, t->size, t->stride, external && !output,
                                external && output, t->slot);
    t->data = osc_calloc((size_t)t->span + 1, osc_dtype_size(dtype));
    memset(t->data, CS_GUARD, ((size_t)t->span + 1) * osc_dtype_size(dtype));
    return t;
}

static inline cs_tensor *cs_in(cs_case *c, osc_dtype dtype, uint32_t rank, const int64_t *size,
                               cs_layout layout)
{
    return cs_tensor_add(c, dtype, rank, size, layout, false, CS_NEW);
}

static inline cs_tensor *cs_out(cs_case *c, osc_dtype dtype, uint32_t rank, const int64_t *size,
                                cs_layout layout)
{
    return cs_tensor_add(c, dtype, rank, size, layout, true, CS_NEW);
}

static inline cs_tensor *cs_mid(cs_case *c, osc_dtype dtype, uint32_t rank, const int64_t *size)
{
    return cs_tensor_add(c, dtype, rank, size, CS_DENSE, false, OSC_NO_SLOT);
}

/* Index of every dim of a linear element number. */
static inline void cs_unravel(const cs_tensor *t, int64_t linear, int64_t index[])
{
    for (uint32_t d = t->rank; d-- > 0;) {
        index[d] = linear % t->size[d];
        linear /= t->size[d];
    }
}

static inline int64_t cs_at(const cs_tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        at += index[d] * t->stride[d];
    return at;
}

static inline double cs_load(const cs_tensor *t, int64_t at)
{
    const uint8_t *p = t->data + (size_t)at * osc_dtype_size(t->dtype);
    union {
        uint16_t u16;
        int16_t i16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        float f32;
        double f64;
    } v = {0};
    memcpy(&v, p, osc_dtype_size(t->dtype) <= 8 ? osc_dtype_size(t->dtype) : 8);
    switch (t->dtype) {
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

static inline void cs_store(cs_tensor *t, int64_t at, double x)
{
    uint8_t *p = t->data + (size_t)at * osc_dtype_size(t->dtype);
    union {
        uint8_t u8;
        uint16_t u16;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } v = {0};
    switch (t->dtype) {
    case OSC_F32: v.f32 = (float)x; break;
    case OSC_F64: v.f64 = x; break;
    case OSC_F16: v.u16 = osc_f32_to_f16((float)x); break;
    case OSC_BF16: v.u16 = osc_f32_to_bf16((float)x); break;
    case OSC_BOOL: v.u8 = x != 0; break;
    default: v.i64 = (int64_t)x; break; /* low bytes */
    }
    memcpy(p, &v, osc_dtype_size(t->dtype));
}

/* Element of t for an index of a (possibly larger) broadcast shape, aligned at the right. */
static inline double cs_bcast(const cs_tensor *t, uint32_t rank, const int64_t *index)
{
    int64_t at = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        at += t->size[d] == 1 ? 0 : index[rank - t->rank + d] * t->stride[d];
    return cs_load(t, at);
}

static inline void cs_fill(cs_tensor *t, osc_rng *rng, double low, double high)
{
    int64_t index[OSC_MAX_RANK];
    for (int64_t i = 0; i < t->elems; i++) {
        double x = low + (high - low) * osc_rng_unit(rng);
        cs_unravel(t, i, index);
        cs_store(t, cs_at(t, index), osc_dtype_is_float(t->dtype) ? x : floor(x));
    }
}

static inline osc_arg cs_t(const cs_tensor *t)
{
    return (osc_arg){.kind = OSC_ARG_TENSOR, .tensor = t->value};
}
static inline osc_arg cs_i(int64_t i)
{
    return (osc_arg){.kind = OSC_ARG_INT, .i = i};
}
static inline osc_arg cs_f(double f)
{
    return (osc_arg){.kind = OSC_ARG_FLOAT, .f = f};
}
static inline osc_arg cs_none(void)
{
    return (osc_arg){.kind = OSC_ARG_NONE};
}
static inline osc_arg cs_ints(const int64_t *ints, uint32_t n)
{
    return (osc_arg){.kind = OSC_ARG_INTS, .ints = ints, .count = n};
}

static inline void cs_op(cs_case *c, const char *name, const osc_arg *args, uint32_t n,
                         const cs_tensor *out)
{
    osc_graph_op(c->graph, name, args, n, &out->value, 1);
}

static inline void cs_count(cs_case *c, const osc_program *program)
{
    c->instructions = osc_program_inst_count(program);
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        osc_stream stream = osc_program_stream(program, (osc_engine)e);
        for (uint32_t i = 0; i < stream.count; i++)
            c->opcodes[stream.inst[i].opcode]++;
    }
}

/* Compiles, checks hazards, and runs with values. Inputs are copied where an output shares their slot. */
static inline osc_status cs_run(cs_case *c)
{
    osc_compile_options options = {
        .size = sizeof options, .generation = c->generation, .fuse = !c->no_fuse};
    osc_core_options core_options = {
        .size = sizeof core_options, .check_hazards = true, .poison = true};
    osc_program *program = NULL;
    osc_loaded *loaded = NULL;
    osc_binding bindings[CS_TENSORS];
    memset(bindings, 0, sizeof bindings);
    c->status = osc_compile(c->graph, &options, &program, &c->err);
    if (c->status != OSC_OK)
        return c->status;
    cs_count(c, program);
    osc_core *core = osc_core_new(osc_sheet_default(c->generation), &core_options);
    c->status = osc_core_load(core, program, &loaded, &c->err);
    for (uint32_t i = 0; i < c->count; i++) {
        cs_tensor *t = &c->tensors[i];
        if (t->slot == OSC_NO_SLOT)
            continue;
        osc_binding *b = &bindings[t->slot];
        uint64_t bytes = (uint64_t)t->span * osc_dtype_size(t->dtype);
        if (b->base != NULL && t->output)
            memcpy(t->data, b->base, bytes); /* in place: the result starts as the input */
        if (b->base == NULL || t->output)
            *b = (osc_binding){.base = t->data, .bytes = bytes};
    }
    uint8_t *scratch = NULL;
    if (c->status == OSC_OK) {
        c->body_ns = osc_loaded_body_ns(loaded);
        scratch = osc_calloc((size_t)osc_program_scratch_bytes(program) + 1, 1);
        osc_run run = {.size = sizeof run,
                       .bindings = bindings,
                       .binding_count = c->slots,
                       .scratch = scratch,
                       .values = true,
                       .exec = 1};
        c->status = osc_core_execute(core, loaded, &run, NULL, &c->err);
    }
    osc_free(scratch);
    osc_core_unload(loaded);
    osc_core_free(core);
    osc_program_release(program);
    return c->status;
}

static inline double cs_tolerance(osc_dtype dtype, double want)
{
    switch (dtype) {
    case OSC_F32: return 1e-5 + 2e-5 * fabs(want);
    case OSC_F16: return 1e-5 + 1.01 * fabs(want) / 2048 + 3e-8;
    case OSC_BF16: return 1e-5 + 1.01 * fabs(want) / 256;
    default: return 0;
    }
}

static inline bool cs_near(double got, double want, double tolerance)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got))
        return want == got || (fabs(want) > 3e38 && fabs(got) > 3e38);
    return fabs(got - want) <= tolerance;
}

/* Bytes of the result's memory that are not elements of the view must not have changed. */
static inline bool cs_gaps_intact(const cs_tensor *t)
{
    size_t bytes = osc_dtype_size(t->dtype);
    uint8_t *touched = osc_calloc((size_t)t->span + 1, 1);
    int64_t index[OSC_MAX_RANK];
    bool intact = true;
    for (int64_t i = 0; i < t->elems; i++) {
        cs_unravel(t, i, index);
        touched[cs_at(t, index)] = 1;
    }
    for (int64_t i = 0; i <= t->span && intact; i++) {
        for (size_t b = 0; b < bytes && !touched[i]; b++)
            intact = intact && t->data[(size_t)i * bytes + b] == CS_GUARD;
    }
    osc_free(touched);
    return intact;
}

#endif
