/*
 * flame.h - where the time goes, by stack: python frames, modules, operators and the device work
 * they start, merged over threads and time into one tree.
 *
 * A stack is the chain of calls around an instant of a thread, outermost first; the tree has one
 * node for each distinct stack. Values of nodes are exclusive, so they add up to the total. Memory:
 * four bytes a slice while it is built, then only the distinct stacks. Immutable once built; any
 * thread may read.
 */
#ifndef OSC_ANALYSIS_FLAME_H
#define OSC_ANALYSIS_FLAME_H

#include "base/buf.h"
#include "base/status.h"
#include "base/str.h"
#include "scope/analysis/table.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_flame osc_flame;

typedef enum osc_flame_by {
    OSC_FLAME_PYTHON = 0, /* python frames and operators; files without frames give operators */
    OSC_FLAME_OP = 1,     /* operators only */
    OSC_FLAME_MODULE = 2  /* nn.Module frames and operators */
} osc_flame_by;

typedef enum osc_flame_metric {
    OSC_FLAME_SELF_CPU = 0,    /* ns of host time in no call further in */
    OSC_FLAME_SELF_DEVICE = 1, /* ns of device work, at the operator that started it */
    OSC_FLAME_COUNT = 2        /* calls */
} osc_flame_metric;

/* The names that options have for them, by number, NULL behind the last. */
extern const char *const osc_flame_by_names[];
extern const char *const osc_flame_metric_names[];

typedef struct osc_flame_options {
    osc_flame_by by;
    osc_flame_metric metric;
    bool one_thread; /* only host threads, or device streams, whose number is `thread` */
    int64_t thread;
    bool by_thread;   /* each thread below a node of its own, when there are several */
    uint32_t threads; /* of ours, 0: one for each processor; the result is the same for any */
} osc_flame_options;

/* What a node is; for colours. */
typedef enum osc_flame_kind {
    OSC_FLAME_FRAME = 0, /* a python frame */
    OSC_FLAME_HOST = 1,  /* an operator, annotation or runtime call */
    OSC_FLAME_DEVICE = 2
} osc_flame_kind;

/* A node; parents before children, children by name. */
typedef struct osc_flame_node {
    osc_str name;  /* lives as long as the flame; no space, semicolon, tab, line end, never empty */
    osc_str said;  /* the same as the input has it (of several, the first); never empty */
    int64_t self;  /* of this very stack, never negative */
    int64_t total; /* with all below it */
    uint32_t depth; /* 0 at the outermost call */
    osc_flame_kind kind;
} osc_flame_node;

typedef struct osc_flame_facts {
    int64_t total;      /* sum of all self values */
    int64_t negative;   /* sum of negative self times, which are left out: children that overlap */
    uint64_t unlinked;  /* device work whose operator is not known; it lies under "[no_operator]" */
    bool by_python;     /* the file has frames */
    bool threads_added; /* calls of several threads share nodes */
    bool thread_exists; /* one_thread: some track has this number */
    uint32_t nodes;
} osc_flame_facts;

/* Builds from a sealed store. *out is NULL on failure (OSC_ENOMEM); freed with osc_flame_free. */
OSC_MUST_CHECK osc_status osc_flame_build(const osc_store *store, const osc_flame_options *options,
                                          osc_flame **out, osc_err *err);
void osc_flame_free(osc_flame *flame); /* NULL allowed */

/*
 * The same from several stores, one after the other: new (NULL: out of memory), add each, finish.
 * With a root name its stacks lie below a node of that name ("rank 3"); the store may be freed
 * after it was added. Only a finished flame may be read; after a failure (OSC_ENOMEM) it may only
 * be freed.
 */
osc_flame *osc_flame_new(const osc_flame_options *options);
OSC_MUST_CHECK osc_status osc_flame_add(osc_flame *flame, const osc_store *store, osc_str root,
                                        osc_err *err);
OSC_MUST_CHECK osc_status osc_flame_finish(osc_flame *flame, osc_err *err);

const osc_flame_facts *osc_flame_facts_of(const osc_flame *flame);

/* Node i, below osc_flame_facts.nodes. */
osc_flame_node osc_flame_at(const osc_flame *flame, uint32_t i);

/* The text "root;child;leaf" of one node after the other: call osc_flame_path_to for i = 0, 1, 2,
 * ... Starts zeroed; freed with osc_flame_path_free. */
typedef struct osc_flame_path {
    osc_buf text;
    size_t *ends; /* [depth]: where the name of that level ends */
    uint32_t cap;
} osc_flame_path;

/* The node, with its path in path->text. False when out of memory. */
bool osc_flame_path_to(osc_flame_path *path, const osc_flame *flame, uint32_t i,
                       osc_flame_node *node);
void osc_flame_path_free(osc_flame_path *path);

/* "ns" or "count". */
const char *osc_flame_unit(const osc_flame *flame);

/* One row per stack with a value: its text as "root;child;leaf", and the value. */
OSC_MUST_CHECK osc_status osc_flame_table(const osc_flame *flame, osc_table **out, osc_err *err);

/* Appends a name with what separates stacks (space ; tab line end) and controls as underscores. */
void osc_flame_clean(osc_str name, osc_buf *out);

#endif
