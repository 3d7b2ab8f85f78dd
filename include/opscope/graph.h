/*
 * graph.h - osc_graph, the waist between frameworks and the compiler.
 *
 * A graph is a list of ATen operators over tensor values, built through flat C calls in topological
 * order. Names are schema names with overload: "aten::mul.Tensor", "aten::mean.dim",
 * "aten::_fused_rms_norm" (no dot when the overload is empty). Arguments follow the operator's
 * schema order, keyword-only arguments included, so lowering code reads like the ATen
 * documentation. Values are views: dtype, sizes, strides in elements, any rank up to 8, stride 0
 * for broadcasts. A graph never sees data. One thread builds a graph; a finished graph may be read
 * by any thread.
 */
#ifndef OPSCOPE_GRAPH_H
#define OPSCOPE_GRAPH_H

#include "opscope/dtype.h"
#include "opscope/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OSC_MAX_RANK 8

typedef uint32_t osc_value; /* index of a tensor value in its graph */
#define OSC_NO_VALUE UINT32_MAX
#define OSC_NO_SLOT  UINT32_MAX

typedef enum osc_arg_kind {
    OSC_ARG_NONE = 0, /* None, or a default left out */
    OSC_ARG_TENSOR = 1,
    OSC_ARG_INT = 2, /* int, bool, and dtype arguments (osc_dtype number) */
    OSC_ARG_FLOAT = 3,
    OSC_ARG_INTS = 4,   /* int list */
    OSC_ARG_TENSORS = 5 /* tensor list: value numbers widened to int64 in ints */
} osc_arg_kind;

/* One argument. Plain value; ints belongs to the caller until the call returns. */
typedef struct osc_arg {
    uint32_t kind; /* osc_arg_kind */
    osc_value tensor;
    int64_t i;
    double f;
    const int64_t *ints;
    uint32_t count; /* of ints */
} osc_arg;

typedef struct osc_graph osc_graph;

/* An empty graph; name is copied. NULL when out of memory. */
OSC_API osc_graph *osc_graph_new(const char *name);
OSC_API void osc_graph_free(osc_graph *graph); /* NULL allowed */

/* Adds a tensor value; size and stride (rank entries each, elements) are copied. slot: position of
 * its address in a launch, or OSC_NO_SLOT for an intermediate. An input and an output may share a
 * slot (in place). Returns OSC_NO_VALUE on rank > OSC_MAX_RANK, negative size or lack of memory;
 * that is remembered and compiling the graph fails with the reason. */
OSC_API osc_value osc_graph_tensor(osc_graph *graph, osc_dtype dtype, uint32_t rank,
                                   const int64_t *size, const int64_t *stride, bool is_input,
                                   bool is_output, uint32_t slot);
/* Appends an operator; everything is copied. Returns its index or UINT32_MAX. outs may hold
 * OSC_NO_VALUE for results nobody needs. */
OSC_API uint32_t osc_graph_op(osc_graph *graph, const char *name, const osc_arg *args,
                              uint32_t nargs, const osc_value *outs, uint32_t nouts);
/* Source position of the operator added last; file is copied. */
OSC_API void osc_graph_op_source(osc_graph *graph, const char *file, uint32_t line);

#ifdef __cplusplus
}
#endif
#endif
