/* engines_internal.h - the device work of the chosen executions, sorted; shared by engines*.c and
 * summary*.c. */
#ifndef OSC_ANALYSIS_ENGINES_INTERNAL_H
#define OSC_ANALYSIS_ENGINES_INTERNAL_H

#include "scope/analysis/engines.h"

#include <stdbool.h>

typedef enum osc_part_kind {
    OSC_PART_WORKING = 1, /* an instruction whose length is work */
    OSC_PART_BARRIER = 2, /* an instruction whose length is waiting */
    OSC_PART_PACKET = 3,
    OSC_PART_TRANSFER = 4
} osc_part_kind;

/* One instruction, packet or transfer. */
typedef struct osc_view_row {
    int64_t start_ns, end_ns;
    uint32_t group; /* time line: a profile, or one execution of a capture */
    uint32_t work;  /* row of device_work */
    uint8_t kind;   /* osc_part_kind */
} osc_view_row;

typedef struct osc_view {
    const osc_store *store;
    bool profile;       /* a vendor's profile: one time line, times cut to whole ns */
    osc_view_row *rows; /* sorted by group, start, row */
    uint32_t count;
    uint32_t *group_of;  /* per execution: its group, OSC_NO_ROW when it is not chosen */
    uint32_t exec_count; /* executions chosen */
    uint32_t group_count;
    uint32_t core_count;  /* distinct cores among them, as far as more than one matters: 1 or 2 */
    uint32_t *traffic_of; /* per instruction: its row of traffic, OSC_NO_ROW */
    int64_t span_ns;      /* time that all groups took */
    /* text ids of opcodes, OSC_NO_ROW when absent */
    uint32_t matmul[4], activate[4], barrier[2], notify[2];
} osc_view;

/* Chooses and sorts. On failure the view is empty; freed with osc_view_free in every case. */
OSC_MUST_CHECK osc_status osc_view_open(osc_view *v, const osc_store *store,
                                        const osc_engine_options *options, osc_err *err);
void osc_view_free(osc_view *v);

/* Opcode id of a row of device_work, OSC_NO_ROW when it has no instruction. */
uint32_t osc_view_opcode(const osc_view *v, uint32_t work);

/* True when the work's opcode is one of a short list of ids. */
bool osc_view_is(const osc_view *v, uint32_t work, const uint32_t *ids, size_t n);

uint32_t osc_view_core(const osc_view *v, uint32_t work);

/* True for a row of an instruction; else it is a packet or a transfer. */
static inline bool osc_view_is_instruction(const osc_view_row *row)
{
    return row->kind == OSC_PART_WORKING || row->kind == OSC_PART_BARRIER;
}

/* A multiply-accumulate is two operations; stops at INT64_MAX. */
static inline int64_t osc_flops_of(uint64_t elements)
{
    return elements > INT64_MAX / 2 ? INT64_MAX : (int64_t)(2 * elements);
}

/* The engines that have fields and columns of their own: Tensor, Vector, Scalar, GpSimd, Sync. */
#define OSC_ENGINE_SLOTS 5u

/* Place of an engine among them, OSC_ENGINE_SLOTS for any other. */
unsigned osc_engine_slot(uint8_t engine);

/* Core and engine of work as one number; sorts by core, then Tensor, Vector, Scalar, GpSimd, Sync,
 * others. Its lowest 8 bits are the engine, those from 16 on the core. */
uint64_t osc_view_lane_key(const osc_view *v, uint32_t work);

/* A table whose first column is the core: shown to people only where there are several. At most 16
 * columns. */
osc_table *osc_view_table(const osc_view *v, const char *name, const osc_table_column *columns,
                          uint32_t count);

/* "Tensor", ... as the input calls it; "?" for an unknown number. */
osc_str osc_engine_text(const osc_store *store, unsigned engine);
osc_str osc_view_engine_name(const osc_view *v, unsigned engine);

/* A non-negative figure and the bounds between which the true one lies. */
typedef struct osc_bounds {
    double value, low, high;
} osc_bounds;

/* Accepts the rows that count in a sum. */
typedef bool (*osc_view_filter)(const osc_view *v, const osc_view_row *row, int arg);

/* Union, and sum, of the lengths of rows, ns, with what cutting to whole ns may have lost. */
osc_bounds osc_view_union(const osc_view *v, osc_view_filter filter, int arg);
osc_bounds osc_view_sum(const osc_view *v, osc_view_filter filter, int arg);

/* Who raises the semaphores of a store: names found once, asked often. */
typedef struct osc_owners osc_owners;
osc_owners *osc_owners_new(const osc_view *v);
void osc_owners_free(osc_owners *owners); /* NULL allowed */
/* "Tensor", "qGpSimdDynamic", "DMA of Sync", "all engines" (a barrier), "" unknown. Static or the
 * store's. */
osc_str osc_owner_of(const osc_owners *owners, uint32_t program, uint32_t sem);

#endif
