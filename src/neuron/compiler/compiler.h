/*
 * compiler.h - from osc_graph to osc_program.
 *
 * Passes, in order: verify (names, dtypes, ranks) -> normalise (views folded, dims coalesced) ->
 * group (elementwise chains and row reductions that may share a kernel) -> lower (tiles, engines,
 * SBUF and PSUM addresses, DMA patterns) -> order (semaphores) -> seal. Thread-safe: no shared state.
 */
#ifndef OSC_NEURON_COMPILER_COMPILER_H
#define OSC_NEURON_COMPILER_COMPILER_H

#include "artifact/program.h"
#include "base/status.h"
#include "isa/sheet.h"
#include "neuron/compiler/graph.h"

typedef struct osc_compile_options {
    size_t size; /* sizeof(osc_compile_options) */
    osc_generation generation;
    bool fuse; /* group nodes into shared kernels; off = one kernel per node, same program */
} osc_compile_options;

/*
 * Compiles the graph; *out gets one reference. Fails with OSC_EUNSUPPORTED naming the operator, overload,
 * dtype or shape that has no lowering, so that the caller can fall back. Same graph and options give the
 * same program, byte for byte. The caller keeps the graph. Any thread.
 */
OSC_MUST_CHECK osc_status osc_compile(const osc_graph *graph, const osc_compile_options *options,
                                      osc_program **out, osc_err *err);

/* True when there is a lowering of that name; dtypes and shapes may still be refused. */
bool osc_compiler_has_op(const char *name);
/* All operator names with a lowering, sorted. Static storage. */
const char *const *osc_compiler_ops(size_t *count);

#endif
