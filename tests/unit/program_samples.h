/*
 * program_samples.h - programs for the tests of artifact: every sample instruction, and small ones.
 */
#ifndef OSC_TESTS_UNIT_PROGRAM_SAMPLES_H
#define OSC_TESTS_UNIT_PROGRAM_SAMPLES_H

#include "isa_samples.h"
#include "tap.h"

#include "artifact/program.h"

#include <string.h>

/* A contiguous vector of `bytes` uint8 elements. */
static inline osc_tensor sample_tensor(const char *name, osc_tensor_kind kind, uint32_t slot,
                                       uint64_t bytes)
{
    osc_tensor t = {.name = osc_str_from_cstr(name),
                    .kind = (uint8_t)kind,
                    .dtype = OSC_U8,
                    .rank = 1,
                    .slot = slot,
                    .size = {(int64_t)bytes},
                    .stride = {1},
                    .span_bytes = bytes};
    return t;
}

static inline uint32_t add_line(osc_program *program, const char *text)
{
    osc_inst inst;
    osc_err err = {0};
    osc_status status = osc_isa_assemble(text, &inst, &err);
    if (status != OSC_OK) {
        tap_check(false, __FILE__, __LINE__, "%s: %s", text, err.message);
        return UINT32_MAX;
    }
    return osc_program_add_inst(program, &inst);
}

/* Tensors t0 and t1 that the sample instructions name, one source; not sealed. */
static inline osc_program *sample_base(const char *name)
{
    static const osc_source SOURCE = {
        .op = {"aten::mul", 9}, .file = {"model.py", 8}, .line = 27, .graph_node = 0};
    osc_program *program = osc_program_new(name, OSC_TRN2);
    if (program == NULL)
        return NULL;
    osc_tensor in = sample_tensor("input0", OSC_TENSOR_INPUT, 0, 4096);
    osc_tensor out = sample_tensor("output0", OSC_TENSOR_OUTPUT, 1, 4096);
    osc_program_add_tensor(program, &in);
    osc_program_add_tensor(program, &out);
    osc_program_add_source(program, &SOURCE);
    return program;
}

/* Every sample instruction, every tensor kind, awkward texts; not sealed. */
static inline osc_program *sample_full(void)
{
    static const uint8_t BYTES[5] = {1, 0, 255, 7, 9};
    osc_program *program = sample_base("graph \"q\"\n\xc3\xa9\xff");
    if (program == NULL)
        return NULL;
    osc_tensor inout = sample_tensor("inout\\0", OSC_TENSOR_INOUT, 2, 16);
    osc_tensor scratch = sample_tensor("scratch0", OSC_TENSOR_SCRATCH, UINT32_MAX, 1u << 20);
    osc_tensor constant = sample_tensor("const0", OSC_TENSOR_CONST, UINT32_MAX, sizeof BYTES);
    osc_tensor empty = sample_tensor("empty", OSC_TENSOR_CONST, UINT32_MAX, 0);
    osc_tensor scalar = {.name = {"scalar", 6},
                         .kind = OSC_TENSOR_INPUT,
                         .dtype = OSC_I64,
                         .slot = 3,
                         .span_bytes = 8};
    osc_tensor view = {.name = {"view", 4},
                       .kind = OSC_TENSOR_INPUT,
                       .dtype = OSC_BF16,
                       .rank = 3,
                       .slot = 4,
                       .size = {2, 3, 0},
                       .stride = {-7, 0, INT64_MAX},
                       .span_bytes = INT64_MAX};
    osc_source odd = {.op = {"a\0b", 3},
                      .file = {"\xe2\x82\xac/\"x\".py", 10},
                      .line = UINT32_MAX,
                      .graph_node = UINT32_MAX};
    constant.bytes = BYTES;
    osc_program_add_tensor(program, &inout);
    osc_program_add_tensor(program, &scratch);
    osc_program_add_tensor(program, &constant);
    osc_program_add_tensor(program, &empty);
    osc_program_add_tensor(program, &scalar);
    osc_program_add_tensor(program, &view);
    osc_program_add_source(program, &odd);
    osc_program_set_cache_key(program, OSC_STR("mul--_[4,512]:BFloat16:S(C)_i1:00ff"));
    osc_program_set_flops(program, UINT64_MAX);
    for (size_t i = 0; i < ISA_SAMPLE_COUNT; i++)
        add_line(program, ISA_SAMPLES[i]);
    return program;
}

#endif
