/*
 * semaphore.h - counting semaphores in simulated time.
 *
 * A semaphore only rises. Changes are entered when they are decided, which may be long before they
 * happen and out of order; the question asked is when the value first reaches a bound.
 */
#ifndef OSC_NEURON_DEVICE_SEMAPHORE_H
#define OSC_NEURON_DEVICE_SEMAPHORE_H

#include <stdbool.h>
#include <stdint.h>

#define DEV_NEVER INT64_MAX

typedef struct dev_pending {
    int64_t time_ps;
    uint64_t add;
} dev_pending;

typedef struct dev_semaphore {
    uint64_t folded, total; /* value up to now; with all changes known */
    dev_pending *item;      /* owned; the changes between the two, by time: [head, count) */
    uint32_t head, count, cap;
    uint8_t waiters; /* bit per engine whose next instruction waits for it; the caller's */
} dev_semaphore;

/* When the value reaches `value`: DEV_NEVER if it does not yet, 0 if it did in the past. */
int64_t dev_semaphore_reached(const dev_semaphore *s, uint32_t value);

/* Enters a change at time_ps, not before now_ps, which never goes back. False when out of memory.
 */
bool dev_semaphore_add(dev_semaphore *s, int64_t now_ps, int64_t time_ps, uint64_t add);

void dev_semaphore_free(dev_semaphore *s);

#endif
