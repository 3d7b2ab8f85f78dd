/*
 * graph.c - building and reading an osc_graph.
 *
 * A graph owns everything it was given: strings, arguments and lists are copied into one arena, values
 * and nodes live in two growing arrays. Building never returns a reason; the first failure is kept and
 * osc_graph_status hands it out, so that a binding may make a hundred calls and check once.
 *
 * Refused here: negative sizes, ranks over OSC_MAX_RANK, argument tensors that do not exist. What an
 * operator's arguments must look like is the business of verify.c.
 */
#include "neuron/compiler/graph.h"

#include "base/arena.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define GRAPH_BYTES_MAX ((size_t)1 << 30) /* ceiling of copied names and arguments */
#define GRAPH_ITEMS_MAX (1u << 22)        /* ceiling of values, and of nodes */

struct osc_graph {
    osc_arena *arena;
    osc_str name;
    osc_value_info *values;
    uint32_t value_count, value_cap;
    osc_node *nodes;
    uint32_t node_count, node_cap;
    osc_status status; /* first failure of a builder call */
    osc_err err;
};

osc_graph *osc_graph_new(const char *name)
{
    osc_graph *graph = osc_calloc(1, sizeof *graph);
    if (graph == NULL)
        return NULL;
    graph->arena = osc_arena_new(GRAPH_BYTES_MAX);
    if (graph->arena != NULL)
        graph->name = osc_arena_copy(graph->arena, osc_str_from_cstr(name ? name : ""));
    if (graph->arena == NULL || graph->name.ptr == NULL) {
        osc_graph_free(graph);
        return NULL;
    }
    return graph;
}

void osc_graph_free(osc_graph *graph)
{
    if (graph == NULL)
        return;
    osc_arena_free(graph->arena);
    osc_free(graph->values);
    osc_free(graph->nodes);
    osc_free(graph);
}

/* Keeps the first failure only: later ones are its consequences. */
static void graph_fail(osc_graph *graph, osc_status code, const char *what)
{
    if (graph->status != OSC_OK)
        return;
    graph->status = osc_fail(&graph->err, code, NULL, OSC_NO_OFFSET, "graph '%.*s': %s",
                             OSC_STR_FMT(graph->name), what);
}

/* Room for one more element of an array that doubles. */
static bool graph_grow(void **array, uint32_t count, uint32_t *cap, size_t element)
{
    if (count < *cap)
        return true;
    if (*cap >= GRAPH_ITEMS_MAX)
        return false;
    uint32_t wanted = *cap == 0 ? 16 : *cap * 2;
    void *grown = osc_realloc_array(*array, wanted, element);
    if (grown == NULL)
        return false;
    *array = grown;
    *cap = wanted;
    return true;
}

osc_value osc_graph_tensor(osc_graph *graph, osc_dtype dtype, uint32_t rank, const int64_t *size,
                           const int64_t *stride, bool is_input, bool is_output, uint32_t slot)
{
    if (rank > OSC_MAX_RANK) {
        graph_fail(graph, OSC_EUNSUPPORTED, "a tensor has more than 8 dimensions");
        return OSC_NO_VALUE;
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (size[d] < 0 || stride[d] < 0) {
            graph_fail(graph, OSC_EINVAL, "a tensor has a negative size or stride");
            return OSC_NO_VALUE;
        }
    }
    if (!graph_grow((void **)&graph->values, graph->value_count, &graph->value_cap,
                    sizeof *graph->values)) {
        graph_fail(graph, OSC_ENOMEM, "no memory for another tensor");
        return OSC_NO_VALUE;
    }
    osc_value_info *info = &graph->values[graph->value_count];
    memset(info, 0, sizeof *info);
    info->dtype = (uint8_t)dtype;
    info->rank = (uint8_t)rank;
    info->is_input = is_input;
    info->is_output = is_output;
    info->slot = slot;
    for (uint32_t d = 0; d < rank; d++) {
        info->size[d] = size[d];
        info->stride[d] = stride[d];
    }
    return graph->value_count++;
}

/* Copies the lists inside arguments; the tensor numbers were checked. */
static osc_arg *graph_copy_args(osc_graph *graph, const osc_arg *args, uint32_t nargs)
{
    osc_arg *copy = OSC_ARENA_ARRAY(graph->arena, osc_arg, nargs);
    if (copy == NULL)
        return NULL;
    for (uint32_t a = 0; a < nargs; a++) {
        copy[a] = args[a];
        if (args[a].kind != OSC_ARG_INTS && args[a].kind != OSC_ARG_TENSORS)
            continue;
        int64_t *ints = OSC_ARENA_ARRAY(graph->arena, int64_t, args[a].count);
        if (ints == NULL)
            return NULL;
        for (uint32_t i = 0; i < args[a].count; i++)
            ints[i] = args[a].ints[i];
        copy[a].ints = ints;
    }
    return copy;
}

static bool graph_args_valid(const osc_graph *graph, const osc_arg *args, uint32_t nargs)
{
    for (uint32_t a = 0; a < nargs; a++) {
        if (args[a].kind > OSC_ARG_TENSORS)
            return false;
        if (args[a].kind == OSC_ARG_TENSOR && args[a].tensor >= graph->value_count)
            return false;
        if (args[a].kind != OSC_ARG_TENSORS)
            continue;
        for (uint32_t i = 0; i < args[a].count; i++) {
            if (args[a].ints[i] < 0 || args[a].ints[i] >= (int64_t)graph->value_count)
                return false;
        }
    }
    return true;
}

uint32_t osc_graph_op(osc_graph *graph, const char *name, const osc_arg *args, uint32_t nargs,
                      const osc_value *outs, uint32_t nouts)
{
    bool valid = graph_args_valid(graph, args, nargs);
    for (uint32_t o = 0; o < nouts; o++)
        valid = valid && (outs[o] == OSC_NO_VALUE || outs[o] < graph->value_count);
    if (!valid) {
        graph_fail(graph, OSC_EINVAL, "an operator names a tensor that was not added before it");
        return UINT32_MAX;
    }
    osc_str text = osc_arena_copy(graph->arena, osc_str_from_cstr(name));
    osc_arg *copied = graph_copy_args(graph, args, nargs);
    osc_value *results = OSC_ARENA_ARRAY(graph->arena, osc_value, nouts);
    if (text.ptr == NULL || copied == NULL || results == NULL ||
        !graph_grow((void **)&graph->nodes, graph->node_count, &graph->node_cap,
                    sizeof *graph->nodes)) {
        graph_fail(graph, OSC_ENOMEM, "no memory for another operator");
        return UINT32_MAX;
    }
    for (uint32_t o = 0; o < nouts; o++)
        results[o] = outs[o];
    graph->nodes[graph->node_count] =
        (osc_node){.name = text, .args = copied, .nargs = nargs, .outs = results, .nouts = nouts};
    return graph->node_count++;
}

void osc_graph_op_source(osc_graph *graph, const char *file, uint32_t line)
{
    if (graph->node_count == 0)
        return;
    osc_node *node = &graph->nodes[graph->node_count - 1];
    osc_str copy = osc_arena_copy(graph->arena, osc_str_from_cstr(file ? file : ""));
    if (copy.ptr == NULL) {
        graph_fail(graph, OSC_ENOMEM, "no memory for a source position");
        return;
    }
    node->file = copy;
    node->line = line;
}

osc_str osc_graph_name(const osc_graph *graph)
{
    return graph->name;
}

uint32_t osc_graph_value_count(const osc_graph *graph)
{
    return graph->value_count;
}

const osc_value_info *osc_graph_value(const osc_graph *graph, osc_value value)
{
    assert(value < graph->value_count);
    return &graph->values[value];
}

uint32_t osc_graph_node_count(const osc_graph *graph)
{
    return graph->node_count;
}

const osc_node *osc_graph_node(const osc_graph *graph, uint32_t index)
{
    assert(index < graph->node_count);
    return &graph->nodes[index];
}

osc_status osc_graph_status(const osc_graph *graph, osc_err *err)
{
    if (graph->status != OSC_OK && err != NULL)
        *err = graph->err;
    return graph->status;
}
