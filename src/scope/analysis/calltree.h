/*
 * calltree.h - the events that PyTorch's key_averages() works on, linked and nested as it does.
 *
 * From the store's slices: which count (kineto-trace-format.md 2.1), which device work belongs to
 * which operator (1.9, 2.2), who contains whom (2.3), and which are duplicates that vanish (2.4).
 * The table of operators, `follow` and later analyses all read this one structure.
 *
 * Nodes are ordered by (start, longest first, profiler's own order), parents before children.
 */
#ifndef OSC_ANALYSIS_CALLTREE_H
#define OSC_ANALYSIS_CALLTREE_H

#include "base/intern.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* c10 device types as PyTorch names them; numbers are ours. */
typedef enum osc_device {
    OSC_DEVICE_CPU = 0,
    OSC_DEVICE_CUDA = 1,
    OSC_DEVICE_PRIVATEUSE1 = 2,
    OSC_DEVICE_XPU = 3,
    OSC_DEVICE_MTIA = 4,
    OSC_DEVICE_HPU = 5,
    OSC_DEVICE_TYPES = 6
} osc_device;

/* "CPU", "CUDA", "PrivateUse1", ... Static storage. */
const char *osc_device_name(osc_device device);

typedef enum osc_python_rows {
    OSC_PYTHON_AUTO = 0, /* what the PyTorch that wrote the file did, as far as it can be told */
    OSC_PYTHON_YES = 1,  /* frames are rows and take part in the nesting: PyTorch 2.12 and later */
    OSC_PYTHON_NO = 2    /* frames are left out: PyTorch up to 2.11 */
} osc_python_rows;

typedef struct osc_calltree_options {
    osc_python_rows python;
    bool keep_overloads;  /* keep "aten::add.Tensor"; PyTorch's table says "aten::add" */
    bool keep_unfinished; /* keep operators that were open at the end; their times are not PyTorch's
                           */
    bool keep_duplicates; /* keep only children of the same name; PyTorch removes them */
} osc_calltree_options;

typedef struct osc_calltree_node {
    int64_t start_ns, end_ns;
    int64_t kernel_ns;               /* device work linked to this very node */
    int64_t cpu_bytes, device_bytes; /* memory records inside it, all threads */
    uint32_t slice;                  /* its slice; OSC_NO_ROW for a memory record */
    uint32_t name;                   /* id in osc_calltree.names */
    uint32_t thread;                 /* thread it is nested on */
    uint32_t order;                  /* breaks ties of time */
    uint32_t parent;                 /* node around it, OSC_NO_ROW at top level */
    uint32_t children;               /* number of direct children */
    uint32_t op;    /* device and runtime nodes: the operator's node, else OSC_NO_ROW */
    uint8_t device; /* osc_device */
    uint8_t kind;   /* osc_slice_kind */
    uint8_t rule;   /* osc_link_rule by which op is known, 0 none */
    bool annotation;
    bool gone; /* removed as a duplicate of its parent */
} osc_calltree_node;

typedef struct osc_calltree {
    osc_calltree_node *nodes; /* owned */
    uint32_t count;
    osc_intern *names;   /* names as rows show them; owned */
    bool any_device;     /* some node is not on the CPU */
    osc_device device;   /* the most frequent device type that is not CPU */
    bool python_rows;    /* frames are among the nodes */
    bool by_correlation; /* the file's External ids are correlation numbers (1.9, PyTorch 1.11
                            to 2.2) */
    uint64_t unlinked;   /* device work whose operator is not known */
    uint64_t unfinished; /* slices left out because they were open at the end */
} osc_calltree;

/*
 * Builds the tree of a sealed store, which must outlive nothing: texts are copied. *out is zeroed
 * on failure (OSC_ENOMEM). Free with osc_calltree_free. Time O(n log n), near O(n) on files in
 * order.
 */
OSC_MUST_CHECK osc_status osc_calltree_build(const osc_store *store,
                                             const osc_calltree_options *options, osc_calltree *out,
                                             osc_err *err);

/* Frees what it owns and zeroes it; NULL is allowed. */
void osc_calltree_free(osc_calltree *tree);

#endif
