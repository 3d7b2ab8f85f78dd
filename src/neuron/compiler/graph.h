/*
 * graph.h - reading an osc_graph inside the compiler; building one is public (opscope/graph.h).
 */
#ifndef OSC_NEURON_COMPILER_GRAPH_H
#define OSC_NEURON_COMPILER_GRAPH_H

#include "base/buf.h"
#include "base/str.h"
#include "isa/dtype.h"
#include "opscope/graph.h"

typedef struct osc_value_info {
    uint8_t dtype; /* osc_dtype */
    uint8_t rank;
    bool is_input, is_output;
    uint32_t slot; /* launch address index; OSC_NO_SLOT for intermediates */
    int64_t size[OSC_MAX_RANK];
    int64_t stride[OSC_MAX_RANK]; /* elements */
} osc_value_info;

typedef struct osc_node {
    osc_str name; /* with overload */
    const osc_arg *args;
    uint32_t nargs;
    const osc_value *outs; /* OSC_NO_VALUE for a result nobody needs */
    uint32_t nouts;
    osc_str file; /* source position, "" when unknown */
    uint32_t line;
} osc_node;

osc_str osc_graph_name(const osc_graph *graph);
uint32_t osc_graph_value_count(const osc_graph *graph);
const osc_value_info *osc_graph_value(const osc_graph *graph, osc_value value);
uint32_t osc_graph_node_count(const osc_graph *graph);
const osc_node *osc_graph_node(const osc_graph *graph, uint32_t index);
/* OSC_OK, or why building failed (sticky error of the builder calls). */
OSC_MUST_CHECK osc_status osc_graph_status(const osc_graph *graph, osc_err *err);
/* Canonical text of the graph (names, shapes, strides, dtypes, arguments): what cache keys hash. */
void osc_graph_describe(const osc_graph *graph, osc_buf *out);

#endif
