/*
 * stacks.h - the python frames around each node of a call tree, by containment on its thread.
 *
 * For grouping by stack (kineto-trace-format.md 2.6): entries innermost first; frames that PyTorch
 * filters out are left out.
 */
#ifndef OSC_ANALYSIS_STACKS_H
#define OSC_ANALYSIS_STACKS_H

#include "base/intern.h"
#include "scope/analysis/calltree.h"

typedef struct osc_stacks {
    osc_intern *texts; /* stacks, frames separated by newlines; owned */
    uint32_t *of_node; /* id in texts per node; 0 no frame around; owned, NULL when not built */
} osc_stacks;

/* Fills *out with up to depth frames per CPU node. False (and zeroed) when out of memory. */
bool osc_stacks_build(const osc_store *store, const osc_calltree *tree, uint32_t depth,
                      osc_stacks *out);

/* Text of a stack id; empty when stacks were not built. */
osc_str osc_stacks_text(const osc_stacks *stacks, uint32_t id);

void osc_stacks_free(osc_stacks *stacks); /* NULL allowed; zeroes */

#endif
