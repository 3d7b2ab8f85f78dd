/*
 * calls_ids.h - from a number that events carry (External id, correlation) to the event.
 *
 * Such numbers are nearly sequential, so they index an array; wide ranges are hashed into 4-byte
 * slots, with the number read back from the column. A number that several events carry (ranks
 * merged into one file, numbers cut to 32 bits; known-bad-inputs.md L11, L12) keeps all of them, in
 * order of the file.
 */
#ifndef OSC_ANALYSIS_CALLS_IDS_H
#define OSC_ANALYSIS_CALLS_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct osc_ids_repeat {
    int64_t id;
    uint32_t slice;
};

typedef struct osc_ids {
    const int64_t *column; /* id of each slice; the store's */
    uint32_t *cells;       /* slice or OSC_NO_ROW; owned, NULL while empty */
    int64_t low;           /* array: id of cell 0 */
    size_t size;           /* cells; a power of two when hashed */
    bool hashed;
    struct osc_ids_repeat *repeats; /* later events of an id, by (id, slice) once finished; owned */
    size_t repeat_count, repeat_cap;
} osc_ids;

/* Room for count events with ids from low to high. False: out of memory. */
bool osc_ids_init(osc_ids *ids, const int64_t *column, uint32_t count, int64_t low, int64_t high);

/* Adds a slice under its id in the column; at most count, with ascending numbers. */
bool osc_ids_add(osc_ids *ids, uint32_t slice);

/* After the last slice was added. */
void osc_ids_finish(osc_ids *ids);

/* The first slice with an id, OSC_NO_ROW when there is none. */
uint32_t osc_ids_first(const osc_ids *ids, int64_t id);

/* The later ones: *count of them, in order of the file. */
const struct osc_ids_repeat *osc_ids_repeats(const osc_ids *ids, int64_t id, size_t *count);

void osc_ids_free(osc_ids *ids); /* zeroes */

#endif
