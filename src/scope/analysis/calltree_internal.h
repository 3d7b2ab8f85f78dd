/* calltree_internal.h - a call tree being built; shared by calltree.c, link.c, memory.c. */
#ifndef OSC_ANALYSIS_CALLTREE_INTERNAL_H
#define OSC_ANALYSIS_CALLTREE_INTERNAL_H

#include "scope/analysis/calltree.h"
#include "scope/analysis/demangle.h"

struct build {
    const osc_store *store;
    const osc_calltree_options *options;
    osc_calltree *tree;       /* nodes in file order until they are sorted */
    uint32_t *name_map;       /* [store name * 2 + overload cut] -> row name */
    osc_device kernel_device; /* device type of kernels in this file */
    osc_demangler demangler;
    bool failed; /* a name could not be kept */
};

/* Fills op, rule, kernel_ns of operators and the thread of runtime calls. False: out of memory. */
bool osc_calltree_link(struct build *b);

/* Sums memory records into CPU nodes, appends those that none covers. False: out of memory. */
bool osc_calltree_memory(struct build *b);

#endif
