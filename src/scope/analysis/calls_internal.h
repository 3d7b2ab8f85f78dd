/*
 * calls_internal.h - what osc_calls is made of; shared by calls*.c and by key_averages, which walks
 * every event and cannot afford a function call for each question.
 *
 * One slice costs 13 bytes: flags, `up`, `own` and a place in `order`. Whatever can be had from the
 * store's columns is not kept a second time.
 */
#ifndef OSC_ANALYSIS_CALLS_INTERNAL_H
#define OSC_ANALYSIS_CALLS_INTERNAL_H

#include "base/intern.h"
#include "base/map.h"
#include "base/thread.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/calls_ids.h"
#include "scope/analysis/demangle.h"

/* Bits of osc_calls.flags. */
#define CALLS_COUNTED     0x01u /* an event of key_averages */
#define CALLS_GONE        0x02u /* removed as a duplicate */
#define CALLS_CHILD_SHIFT 2     /* two bits: 0, 1, or 2 for more direct children */
#define CALLS_CHILDREN    0x0cu
#define CALLS_RULE_SHIFT  4 /* three bits: osc_link_rule */
#define CALLS_RULE        0x70u
#define CALLS_BIG         0x80u /* device work linked to it: the sum is in `big` */

/* Values of osc_calls.name_map that are no names. */
#define CALLS_NAME_UNSEEN  UINT32_MAX
#define CALLS_NAME_DROPPED (UINT32_MAX - 1) /* PyTorch leaves such events out */
#define CALLS_NAME_WANTED  (UINT32_MAX - 2) /* a counted slice has it; while building */

struct osc_calls {
    const osc_store *store;
    const osc_slice_cols *slices;
    const uint32_t *thread_of_track;
    osc_calls_facts facts;
    uint8_t *flags;
    uint32_t *up;    /* host work: parent; device work: operator */
    uint32_t *own;   /* runtime calls: operator; other host work: ns of device work linked to it */
    osc_map big;     /* slice -> ns, where those do not fit `own` */
    uint32_t *order; /* counted slices of the host */
    uint32_t order_count;
    uint32_t threads;       /* thread numbers are below it */
    uint32_t *thread_first; /* [threads + 1]: first entry of each thread in order */
    osc_ids launches;       /* correlation -> runtime call */
    uint32_t *processes;    /* [track] -> number of its process; only when numbers repeat */
    uint32_t *name_map;     /* [store name * 2 + overload cut] -> name */
    osc_intern *names;
    uint8_t device_of_kind[OSC_KIND_COUNT];
    bool cut_overloads;
};

/* Numbers that slices carry: how many do, and their range. */
struct calls_range {
    int64_t low, high;
    uint32_t count;
};

/* What a pass over slices counts. */
struct calls_counts {
    uint32_t per_kind[OSC_KIND_COUNT]; /* counted slices */
    struct calls_range op_ids, launch_ids;
    struct calls_range repeats;      /* ids that repeat their event's correlation */
    uint64_t work_ids, work_repeats; /* device work with an id; where it repeats the correlation */
    uint64_t unfinished, unlinked;   /* osc_calls_facts */
};

/* The slices of one worker. */
struct calls_share {
    struct calls_build *build;
    uint32_t from, to;
    struct calls_counts counts;
};

/* Slices that make a worker worth its start, and workers at most. */
#define CALLS_PER_WORKER  50000u
#define CALLS_WORKERS_MAX 64u

/* What exists only while a structure is built. */
struct calls_build {
    osc_calls *calls;
    const osc_calls_options *options;
    osc_demangler demangler;
    struct calls_share shares[CALLS_WORKERS_MAX];
    uint32_t workers;           /* shares used */
    struct calls_counts counts; /* of all shares */
    osc_ids ops;                /* External id -> operator or annotation */
    uint32_t *around; /* by correlation: [entry of order] operator open when this one began */
    uint32_t *ooms;   /* rows of out-of-memory records */
    uint32_t oom_count;
    uint8_t *done;  /* [thread]: whether its part had memory */
    osc_mutex lock; /* owns calls.big while threads nest; no other lock is held with it */
};

static inline int64_t calls_end(const osc_slice_cols *s, uint32_t slice)
{
    return s->start_ns[slice] + s->dur_ns[slice];
}

static inline uint32_t calls_row_name(const osc_calls *c, uint32_t slice)
{
    bool cut = c->cut_overloads && c->slices->kind[slice] == OSC_KIND_CPU_OP;
    return c->name_map[(size_t)c->slices->name[slice] * 2 + cut];
}

static inline bool calls_on_cpu(const osc_calls *c, uint32_t slice)
{
    return c->device_of_kind[c->slices->kind[slice]] == OSC_DEVICE_CPU;
}

/* The thread a host slice is nested on; before nesting, `own` of runtime calls is known. */
static inline uint32_t calls_thread(const osc_calls *c, uint32_t slice)
{
    bool moved = (c->flags[slice] & CALLS_RULE) && c->slices->kind[slice] == OSC_KIND_RUNTIME;
    return c->thread_of_track[c->slices->track[moved ? c->own[slice] : slice]];
}

/* Device work linked to a host slice, ns. */
static inline int64_t calls_kernel_ns(const osc_calls *c, uint32_t slice)
{
    uint64_t sum = c->slices->kind[slice] == OSC_KIND_RUNTIME ? 0 : c->own[slice];
    if (c->flags[slice] & CALLS_BIG)
        (void)osc_map_get(&c->big, slice, &sum);
    return (int64_t)sum;
}

/* Sets the same; only `big` may need memory. */
bool osc_calls_set_kernel_ns(struct calls_build *b, uint32_t slice, int64_t ns);

/* Workers that a number of events is worth, at most `threads` (0: processors). */
uint32_t osc_calls_workers(uint32_t threads, uint32_t events);

/* Does body for each share of the slices, in parallel; context is the array of shares. */
void osc_calls_each_share(struct calls_build *b, void (*body)(void *shares, size_t i));

/* Marks the names that PyTorch leaves out in name_map; then makes row names of those that are
 * wanted. The latter is false when memory is out. */
void osc_calls_drop_names(osc_calls *c);
bool osc_calls_learn_names(struct calls_build *b);

/* Fills the rule, `up` of device work and `own` of host work. By id before the order is known, by
 * correlation after. False: out of memory. */
bool osc_calls_link_by_id(struct calls_build *b);
bool osc_calls_link_by_correlation(struct calls_build *b);

/* The runtime call behind a slice: itself, or the one with its correlation; OSC_NO_ROW when
 * unknown. */
uint32_t osc_calls_find_launch(const osc_calls *c, uint32_t slice);

/* Numbers the processes of tracks by their names "<instance>/PID:<pid>/...": a number for each
 * track, which the caller frees; NULL: out of memory. */
uint32_t *osc_calls_number_processes(const osc_store *store);

/* The innermost host slice of a thread that is open at a time, as PyTorch would nest an instant;
 * OSC_NO_ROW when there is none. Duplicates are not skipped. */
uint32_t osc_calls_open_at(const osc_calls *c, uint32_t thread, int64_t at_ns);

/* Sorts slices by (start, longest, profiler's own order, order of the file). Allocates nothing
 * when they are in order. False: out of memory. */
bool osc_calls_sort_slices(const osc_slice_cols *s, uint32_t *items, uint32_t count);

/* Fills `order` and `thread_first`; then `up` of CPU slices, and who is gone. False: out of
 * memory. */
bool osc_calls_sort(struct calls_build *b);
bool osc_calls_nest(struct calls_build *b);

#endif
