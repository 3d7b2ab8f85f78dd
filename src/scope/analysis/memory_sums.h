/*
 * memory_sums.h - bytes allocated and freed inside a time, of all threads (kineto-trace-format.md
 * 2.5).
 *
 * PyTorch adds to an event of the host every record whose time lies within it, ends included. With
 * the records sorted and summed up once, an event's figure is a difference of two sums. Records
 * that no event covers, and out-of-memory records, become events of their own.
 */
#ifndef OSC_ANALYSIS_MEMORY_SUMS_H
#define OSC_ANALYSIS_MEMORY_SUMS_H

#include "scope/store/store.h"

typedef struct osc_memory_sums {
    const osc_memory_cols *records;
    uint32_t *sorted;      /* rows of [memory] records by time, order of the file on ties */
    int64_t *cpu, *device; /* [i]: bytes of the first i of them */
    int32_t *covered; /* [i]: events that begin to cover record i, less those that end before it */
    uint32_t count;
} osc_memory_sums;

/* Bytes in a time, and where the search for a later one may begin. */
typedef struct osc_memory_bytes {
    int64_t cpu, device;
} osc_memory_bytes;

/* False (and zeroed) when out of memory. Free with osc_memory_sums_free. */
bool osc_memory_sums_build(const osc_store *store, osc_memory_sums *out);
void osc_memory_sums_free(osc_memory_sums *sums); /* NULL allowed; zeroes */

/*
 * Bytes of the records from start_ns to end_ns, which are marked as covered. *cursor, 0 at first,
 * makes calls with ascending starts cheap.
 */
osc_memory_bytes osc_memory_sums_take(osc_memory_sums *sums, int64_t start_ns, int64_t end_ns,
                                      uint32_t *cursor);

/* What a record counts for: host or device bytes. */
osc_memory_bytes osc_memory_record_bytes(const osc_memory_cols *records, uint32_t row);

#endif
