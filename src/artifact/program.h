/*
 * program.h - osc_program, the waist between whatever makes device code and the device.
 *
 * A program is one launch's worth of work for one NeuronCore: an instruction stream per engine, the
 * tensor table, and a source map from instruction to framework operator (and file and line when known).
 * The compiler builds it, the runtime binds addresses to its tensors, the device runs it, and a NEFF
 * file is its serialised form (artifact/neff.h). Immutable once sealed; then any thread may read it.
 *
 * Preamble and postamble (neuroncore-model.md 1.9) are charged by the device, not written as
 * instructions. Every stream starts at time 0 after the preamble. Semaphores start at 0.
 */
#ifndef OSC_ARTIFACT_PROGRAM_H
#define OSC_ARTIFACT_PROGRAM_H

#include "base/str.h"
#include "isa/isa.h"
#include "isa/sheet.h"
#include "opscope/graph.h" /* OSC_MAX_RANK */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum osc_tensor_kind {
    OSC_TENSOR_INPUT = 1,
    OSC_TENSOR_OUTPUT = 2,
    OSC_TENSOR_INOUT = 3,   /* read and written in place */
    OSC_TENSOR_SCRATCH = 4, /* HBM scratch of this program; the runtime allocates it per load */
    OSC_TENSOR_CONST = 5    /* bytes held by the program itself */
} osc_tensor_kind;

/* One entry of the tensor table. Sizes and strides describe the framework's view; `span_bytes` is how
 * many bytes from the first element the program may touch, which is what the device bounds-checks. */
typedef struct osc_tensor {
    osc_str name;  /* "input0", "output0", ... */
    uint8_t kind;  /* osc_tensor_kind */
    uint8_t dtype; /* osc_dtype */
    uint8_t rank;  /* <= OSC_MAX_RANK */
    /* Position in the launch's list of addresses; UINT32_MAX for scratch and const. */
    uint32_t slot;
    int64_t size[OSC_MAX_RANK];
    int64_t stride[OSC_MAX_RANK]; /* elements */
    uint64_t span_bytes;
    const uint8_t *bytes; /* CONST only: span_bytes bytes */
} osc_tensor;

/* Where instructions come from. */
typedef struct osc_source {
    osc_str op;   /* framework operator, "aten::mul" */
    osc_str file; /* "" when unknown */
    uint32_t line;
    uint32_t graph_node; /* index of the node in the graph, for compiled programs */
} osc_source;

typedef struct osc_stream {
    const osc_inst *inst;
    uint32_t count;
} osc_stream;

typedef struct osc_program osc_program;

/* ---- reading (any thread) ---- */
osc_str osc_program_name(const osc_program *program); /* "aten::mul" or the graph's name */
osc_str osc_program_cache_key(
    const osc_program *program); /* the compile cache key, torchneuron-face.md 2.3 */
osc_generation osc_program_generation(const osc_program *program);
osc_stream osc_program_stream(const osc_program *program, osc_engine engine);
uint32_t osc_program_inst_count(const osc_program *program); /* over all streams */
const osc_tensor *osc_program_tensors(const osc_program *program, uint32_t *count);
const osc_source *osc_program_sources(const osc_program *program, uint32_t *count);
uint32_t osc_program_slots(const osc_program *program); /* addresses a launch must give */
/* HBM bytes the program needs for itself in a run: its SCRATCH tensors in table order, each 256-byte aligned. */
#define OSC_SCRATCH_ALIGN 256u
uint64_t osc_program_scratch_bytes(const osc_program *program);
uint64_t osc_program_flops(const osc_program *program); /* model flops, 0 when unknown */
/* SHA-256 of the canonical content: all that a NEFF file of the program holds (name, cache key, flops,
 * generation, tensors with constant bytes, sources, streams). Sealed programs only. */
void osc_program_digest(const osc_program *program, uint8_t digest[32]);
/* The numeric hash of file names: first 8 digest bytes, little endian, shifted right by one (fits int64). */
uint64_t osc_program_hash(const osc_program *program);

/* ---- building (one thread, then sealed) ---- */
osc_program *osc_program_new(const char *name,
                             osc_generation generation); /* NULL when out of memory */
void osc_program_set_cache_key(osc_program *program, osc_str key);
void osc_program_set_flops(osc_program *program, uint64_t flops);
/* All add functions return the new index, or UINT32_MAX when out of memory (sticky: seal then fails).
 * They copy what they are given, names and const bytes included; texts become valid UTF-8 (a bad byte
 * becomes U+FFFD). Tensor names must differ and not be empty. */
uint32_t osc_program_add_tensor(osc_program *program, const osc_tensor *tensor);
uint32_t osc_program_add_source(osc_program *program, const osc_source *source);
/* Appends to the stream of inst->engine; returns its index in that stream. */
uint32_t osc_program_add_inst(osc_program *program, const osc_inst *inst);
/* The appended instruction, to patch waits and incs before sealing. Valid until the next add. */
osc_inst *osc_program_inst_mut(osc_program *program, osc_engine engine, uint32_t index);
/* Checks every instruction (osc_isa_check on the default sheet, tensor indices, HBM patterns within
 * span_bytes, no writes to inputs and constants, branch targets, sources) and freezes the program. On
 * failure nothing is frozen; OSC_EHAZARD names the instruction, OSC_EINVAL the table entry. */
OSC_MUST_CHECK osc_status osc_program_seal(osc_program *program, osc_err *err);

/* Reference count, atomic. release(NULL) is allowed. A new program has one reference. */
osc_program *osc_program_retain(osc_program *program);
void osc_program_release(osc_program *program);

#endif
