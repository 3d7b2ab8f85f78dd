/*
 * lower.h - what all lowerings of one compilation share: where values live, and the kernel builder.
 */
#ifndef OSC_NEURON_COMPILER_LOWER_H
#define OSC_NEURON_COMPILER_LOWER_H

#include "base/arena.h"
#include "neuron/compiler/compiler.h"
#include "neuron/compiler/graph.h"
#include "neuron/compiler/ir.h"
#include "neuron/compiler/kernel.h"
#include "neuron/compiler/shape.h"

/* Where a value's elements are: an entry of the tensor table, and how far into it. */
typedef struct osc_place {
    uint32_t tensor; /* UINT32_MAX: not in HBM yet */
    int64_t offset;  /* bytes */
} osc_place;

typedef struct osc_lower {
    const osc_graph *graph;
    bool fuse;        /* nodes may share kernels */
    osc_arena *arena; /* lives as long as the compilation */
    osc_kernel kernel;
    osc_place *place; /* by value; for results written through scratch, the scratch until the end */
    uint32_t *last_use; /* by value: last node that reads it, UINT32_MAX if none does */
    uint32_t *tensor_of_slot;
    uint32_t slot_count;
    uint32_t *deferred; /* outputs whose slot must not be written before the end */
    uint32_t deferred_count;
    const osc_node *node; /* being lowered */
    uint32_t source;      /* its source map index */
    uint64_t flops;
    uint32_t layouts; /* scratch tensors made by osc_lower_scratch */
    /* the open group */
    osc_group *group;
    uint32_t group_last; /* its last node */
    uint32_t *ref_of;    /* by value: result in the open group, or UINT32_MAX */
    bool *computed;      /* by value: a node that was lowered gives it */
    bool *squeezed;      /* by value: a reduction's result without its reduced dims */
} osc_lower;

/* Program tensor index of a value, made on first use: its slot, or scratch. UINT32_MAX after a failure. */
uint32_t osc_lower_tensor(osc_lower *lower, osc_value value);

/* True for graph inputs and results of nodes lowered so far. */
bool osc_lower_is_computed(const osc_lower *lower, osc_value value);

/* A scratch tensor of dense elements. UINT32_MAX after a failure. */
uint32_t osc_lower_scratch(osc_lower *lower, osc_dtype dtype, uint64_t elems);

/* Fails with OSC_EUNSUPPORTED, naming the operator being lowered. */
osc_status osc_lower_refuse(osc_lower *lower, const char *why);

/* ---- lowerings ---- */

/* Groups the graph's nodes and lowers all of them (fuse.c). */
osc_status osc_lower_graph(osc_lower *lower);

/* One side of a move: elements of one dtype at a place, strides in elements. */
typedef struct osc_strided {
    osc_place at;
    const int64_t *stride;
} osc_strided;

/* Moves elements between two strided layouts of one dtype, bits unchanged (lower_copy.c). */
osc_status osc_lower_move(osc_lower *lower, osc_dtype dtype, uint32_t rank, const int64_t *size,
                          const osc_strided *to, const osc_strided *from);

/* A group as a kernel (lower_group.c): operands that memory does not run along are laid out anew first. */
osc_status osc_lower_group(osc_lower *lower, osc_group *group);
/* The same for operands as they are, one region of the plan: row tiles (lower_rows.c). False when out of
 * memory. */
bool osc_lower_rows(osc_lower *lower, osc_group *group, const osc_region *region);
/* True for a reduction of few long rows, which osc_lower_split spreads over all partitions in two kernels
 * (lower_split.c). The group is analysed and selected. */
bool osc_split_pays(const osc_group *group, const osc_plan *plan);
bool osc_lower_split(osc_lower *lower, osc_group *group, const osc_plan *plan);

#endif
