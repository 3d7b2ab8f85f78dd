/*
 * timeline.h - what a scheduled run leaves behind: steps, flights of transfers, semaphore changes.
 *
 * Times are picoseconds from the start of the preamble. Steps stand in order of start, which is the
 * order in which values are computed. Owned by whoever initialised it; one thread.
 */
#ifndef OSC_NEURON_DEVICE_TIMELINE_H
#define OSC_NEURON_DEVICE_TIMELINE_H

#include "base/status.h"
#include "isa/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEV_NO_FLIGHT UINT32_MAX

/* Why a step started later than it became head of its queue: osc_event.wait_kind. */
enum {
    DEV_WAIT_NONE = 0,
    DEV_WAIT_SEMAPHORE,
    DEV_WAIT_BUSY,
    DEV_WAIT_PORT,
    DEV_WAIT_BARRIER,
    DEV_WAIT_START
};

/* One executed instruction. */
typedef struct dev_step {
    int64_t ready_ps, start_ps, end_ps;
    /* When its increments are seen by others (a transfer's: after it has landed). */
    int64_t signal_ps;
    uint32_t index;  /* in the stream of engine */
    uint32_t flight; /* DMA: index of its flight, else DEV_NO_FLIGHT */
    uint16_t wait_sem;
    uint8_t engine; /* osc_engine */
    uint8_t wait_kind;
} dev_step;

/* One executed transfer. */
typedef struct dev_flight {
    int64_t trigger_ps;       /* handed to the DMA engines */
    int64_t begin_ps, end_ps; /* first data to last data over its engines */
    uint32_t cost;            /* index of its transfer cost */
    uint32_t first_use;       /* its ring uses are [first_use, first_use + engines) */
    uint8_t first_engine;     /* they run on engine first_engine, first_engine + 1, .. modulo 16 */
} dev_flight;

/* One DMA engine's part in a flight. */
typedef struct dev_ring_use {
    int64_t begin_ps, end_ps;
    bool queued; /* waited for earlier work of this engine rather than for its own start-up */
} dev_ring_use;

typedef struct dev_sem_change {
    int64_t time_ps; /* when the semaphore changes */
    uint32_t add;
    uint16_t sem;
} dev_sem_change;

typedef struct dev_interval {
    int64_t begin_ps, end_ps;
} dev_interval;

typedef struct dev_timeline {
    bool record; /* keep steps, ring uses and changes; else only what totals need */
    dev_step *step;
    size_t step_count, step_cap;
    dev_flight *flight;
    size_t flight_count, flight_cap;
    dev_ring_use *use;
    size_t use_count, use_cap;
    dev_sem_change *change;
    size_t change_count, change_cap;
    dev_interval *moving; /* one per transfer: when data moved */
    size_t moving_count, moving_cap;
    bool failed; /* an append ran out of memory */
    /* totals */
    int64_t end_ps; /* postamble included */
    int64_t busy_ps[OSC_ENGINE_COUNT];
    uint64_t instructions, transfers, dma_bytes;
} dev_timeline;

void dev_timeline_init(dev_timeline *timeline, bool record);
void dev_timeline_free(dev_timeline *timeline);

/* Room for one more element at the end of an array; NULL (and failed) when memory is out. */
void *dev_timeline_push(dev_timeline *timeline, void **array, size_t *count, size_t *cap,
                        size_t size);

/* Length of the union of the transfers' intervals; sorts them. */
int64_t dev_timeline_dma_busy(dev_timeline *timeline);

#endif
