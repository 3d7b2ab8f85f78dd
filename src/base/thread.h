/*
 * thread.h - mutex, condition, thread: the system's, with failure reported where it can happen.
 *
 * Locking never fails here: the only causes are programming errors, which are asserted. Structs are
 * open so that they can live inside others; touch them through the functions only.
 */
#ifndef OSC_BASE_THREAD_H
#define OSC_BASE_THREAD_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_mutex {
    pthread_mutex_t impl;
} osc_mutex;

typedef struct osc_cond {
    pthread_cond_t impl; /* waits on the monotonic clock */
} osc_cond;

typedef struct osc_thread {
    pthread_t impl;
    bool running; /* started and not yet joined */
} osc_thread;

#define OSC_MUTEX_INIT            \
    {                             \
        PTHREAD_MUTEX_INITIALIZER \
    }

void osc_mutex_init(osc_mutex *m);
void osc_mutex_destroy(osc_mutex *m);
void osc_mutex_lock(osc_mutex *m);
void osc_mutex_unlock(osc_mutex *m);

void osc_cond_init(osc_cond *c);
void osc_cond_destroy(osc_cond *c);
void osc_cond_wait(osc_cond *c, osc_mutex *m);

/* Waits until signalled or the osc_mono_ns instant has passed; false on the latter. */
bool osc_cond_wait_until(osc_cond *c, osc_mutex *m, int64_t mono_ns);

void osc_cond_signal(osc_cond *c);
void osc_cond_broadcast(osc_cond *c);

/*
 * Starts body(arg) on a new thread named `name` (cut to 15 bytes; NULL for none) with all signals
 * blocked, so that the host program's handlers run on its own threads. OSC_EIO when the system
 * refuses. The thread must be joined.
 */
osc_status osc_thread_start(osc_thread *t, const char *name, void (*body)(void *arg), void *arg,
                            osc_err *err) OSC_MUST_CHECK;

/* Waits for the end; does nothing when it is not running. */
void osc_thread_join(osc_thread *t);

/* The system's number of the calling thread, as in /proc and in traces. */
int64_t osc_thread_id(void);

/* Processors this process may use, at least 1. */
size_t osc_cpu_count(void);

/*
 * Runs body(ctx, i) for i in [0, n) on up to threads threads (0: osc_cpu_count()); the caller takes
 * part. Indices are handed out one by one in order; the call returns when all are done. With fewer
 * threads than asked (system refusal) it still completes. body must not call this again on ctx.
 */
void osc_parallel_for(size_t n, size_t threads, void (*body)(void *ctx, size_t i), void *ctx);

#endif
