/*
 * key_averages_internal.h - rows being summed up, and what tells them apart; shared by
 * key_averages*.c and torch_times.c.
 */
#ifndef OSC_ANALYSIS_KEY_AVERAGES_INTERNAL_H
#define OSC_ANALYSIS_KEY_AVERAGES_INTERNAL_H

#include "base/map.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/call_stacks.h"
#include "scope/analysis/key_averages.h"
#include "scope/analysis/memory_sums.h"

/* Figures of a row, or of one event. */
struct ka_sums {
    int64_t count;
    int64_t self_cpu_ns, total_cpu_ns;
    int64_t self_device_ns, total_device_ns;
    int64_t cpu_bytes, self_cpu_bytes;
    int64_t device_bytes, self_device_bytes;
    int64_t linked, linked_ns; /* device work whose operator is known */
};

struct ka_row {
    struct ka_sums sums;
    int64_t first_start, first_dur; /* its first event: rows stand in that order */
    uint64_t first_index;           /* slice, or number of slices + memory row */
    uint32_t first_order;
    uint32_t name, group;
    uint32_t next; /* next row of the name */
    uint32_t open; /* events of it that the walk is inside of */
    uint8_t device;
    bool annotation;
    bool has_parent; /* of the first event */
};

/* Rows by (name, device, annotation, group). Without groups a name has one or two rows, found
 * through a list; with groups it may have thousands, found through a map. */
struct ka_rows {
    struct ka_row *rows; /* owned */
    uint32_t count, cap;
    uint32_t *by_name; /* first row of each name; owned */
    osc_map by_group;  /* row of the list << 32 | group -> row */
    uint32_t names;
};

bool osc_ka_rows_init(struct ka_rows *r, uint32_t names);
void osc_ka_rows_free(struct ka_rows *r);

/* The row of a key, made when new; OSC_NO_ROW when memory is out. */
uint32_t osc_ka_find_row(struct ka_rows *r, uint32_t name, uint8_t device, bool annotation,
                         uint32_t group);

/* The same; nearly always it is the first of its name. */
static inline uint32_t osc_ka_row(struct ka_rows *r, uint32_t name, uint8_t device, bool annotation,
                                  uint32_t group)
{
    uint32_t at = r->by_name[name];
    if (at != OSC_NO_ROW) {
        const struct ka_row *row = &r->rows[at];
        if (row->device == device && row->annotation == annotation && row->group == group)
            return at;
    }
    return osc_ka_find_row(r, name, device, annotation, group);
}

/* Sorts rows by their first events. moved[old] = new when not NULL. False: out of memory. */
bool osc_ka_rows_sort(struct ka_rows *r, uint32_t *moved);

/* What splits rows besides the name: up to one of each kind, numbered together. */
struct ka_groups {
    const osc_store *store;
    const osc_calls *calls;
    osc_ka_by by[OSC_KA_BY_COUNT];
    uint32_t kinds; /* used entries of by */
    osc_call_stacks stacks, modules;
    struct ka_step *steps; /* by (process, start); owned */
    uint32_t step_count;
    uint32_t *processes; /* [track]; owned */
    osc_intern *device_texts;
    uint32_t *devices;  /* [track] -> id in device_texts; owned */
    uint32_t no_shapes; /* id of "[]" in the store: recorded but empty */
    osc_map pairs;      /* number so far << 32 | number of one kind -> number together */
    uint64_t *parts;    /* the key of each number of pairs; owned */
    uint32_t part_count, part_cap;
    bool failed;
};

bool osc_ka_groups_init(struct ka_groups *g, const osc_store *store, const osc_calls *calls,
                        const osc_ka_options *options);
void osc_ka_groups_free(struct ka_groups *g);

/* Number of the group a slice is in; 0 without grouping. */
uint32_t osc_ka_group(struct ka_groups *g, uint32_t slice);

/* Number of the group of a memory record. */
uint32_t osc_ka_group_of_memory(struct ka_groups *g, uint32_t row);

/* Text of a group in one kind of grouping; valid until the next call. */
osc_str osc_ka_group_text(const struct ka_groups *g, uint32_t group, osc_ka_by by);

/* The sums of everything: fills rows. row_of[slice] is set when not NULL. False: out of memory. */
struct ka_work {
    const osc_store *store;
    const osc_calls *calls;
    const osc_ka_options *options;
    struct ka_groups groups;
    struct ka_rows rows;
    osc_memory_sums memory;
    uint32_t memory_names[2]; /* [memory], [OutOfMemory] */
    uint32_t *row_of;
};

bool osc_ka_sum(struct ka_work *w);

#endif
