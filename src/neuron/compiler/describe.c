/*
 * describe.c - the canonical text of a graph, which cache keys hash.
 *
 * One line per tensor and per operator, in the order they were added. Two graphs have the same text
 * exactly when the compiler makes the same program from them: names, dtypes, sizes, strides, slots and
 * arguments are in it (floats as hexadecimal, so that no digit is lost). Source positions are in it too,
 * because they are in the program's source map.
 */
#include "neuron/compiler/graph.h"

#include <inttypes.h>

static void describe_ints(osc_buf *out, const int64_t *ints, uint32_t count)
{
    osc_buf_putc(out, '[');
    for (uint32_t i = 0; i < count; i++)
        osc_buf_printf(out, "%s%" PRId64, i ? "," : "", ints[i]);
    osc_buf_putc(out, ']');
}

static void describe_value(osc_buf *out, uint32_t index, const osc_value_info *info)
{
    osc_buf_printf(out, "v%" PRIu32 " %s ", index, osc_dtype_name((osc_dtype)info->dtype));
    describe_ints(out, info->size, info->rank);
    describe_ints(out, info->stride, info->rank);
    if (info->is_input)
        osc_buf_cstr(out, " in");
    if (info->is_output)
        osc_buf_cstr(out, " out");
    if (info->slot != OSC_NO_SLOT)
        osc_buf_printf(out, " slot%" PRIu32, info->slot);
    osc_buf_putc(out, '\n');
}

static void describe_arg(osc_buf *out, const osc_arg *arg)
{
    switch (arg->kind) {
    case OSC_ARG_TENSOR: osc_buf_printf(out, " v%" PRIu32, arg->tensor); break;
    case OSC_ARG_INT: osc_buf_printf(out, " %" PRId64, arg->i); break;
    case OSC_ARG_FLOAT: osc_buf_printf(out, " %a", arg->f); break;
    case OSC_ARG_INTS:
        osc_buf_putc(out, ' ');
        describe_ints(out, arg->ints, arg->count);
        break;
    case OSC_ARG_TENSORS:
        osc_buf_cstr(out, " v");
        describe_ints(out, arg->ints, arg->count);
        break;
    default: osc_buf_cstr(out, " none"); break;
    }
}

static void describe_node(osc_buf *out, const osc_node *node)
{
    for (uint32_t o = 0; o < node->nouts; o++) {
        if (node->outs[o] == OSC_NO_VALUE)
            osc_buf_cstr(out, "_ ");
        else
            osc_buf_printf(out, "v%" PRIu32 " ", node->outs[o]);
    }
    osc_buf_cstr(out, "= ");
    osc_buf_str(out, node->name);
    for (uint32_t a = 0; a < node->nargs; a++)
        describe_arg(out, &node->args[a]);
    if (node->file.len != 0)
        osc_buf_printf(out, " @%.*s:%" PRIu32, OSC_STR_FMT(node->file), node->line);
    osc_buf_putc(out, '\n');
}

void osc_graph_describe(const osc_graph *graph, osc_buf *out)
{
    osc_buf_cstr(out, "graph ");
    osc_buf_str(out, osc_graph_name(graph));
    osc_buf_putc(out, '\n');
    for (uint32_t v = 0; v < osc_graph_value_count(graph); v++)
        describe_value(out, v, osc_graph_value(graph, v));
    for (uint32_t n = 0; n < osc_graph_node_count(graph); n++)
        describe_node(out, osc_graph_node(graph, n));
}
