/*
 * queue.h - the way from many callers to one device: a bounded ring and the thread that empties it.
 *
 * Work is taken strictly in the order of its tickets (1, 2, 3, ...). Submitting is reserve, fill in
 * place, commit: no lock, no allocation, and no system call while the thread is awake. A full ring
 * makes the submitter wait. Tickets complete in order, so "done up to n" is one number.
 */
#ifndef OSC_NEURON_RUNTIME_QUEUE_H
#define OSC_NEURON_RUNTIME_QUEUE_H

#include "base/status.h"
#include "neuron/runtime/work.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_queue osc_queue;

/* Runs one piece of work on the queue's thread. Must not wait for later work of the same queue. */
typedef void (*osc_queue_handler)(void *context, osc_work *work);

/* Starts the thread. context must outlive the queue. */
osc_status osc_queue_open(const char *name, osc_queue_handler handler, void *context,
                          osc_queue **out, osc_err *err) OSC_MUST_CHECK;
/* Refuses new work, runs what is there, joins the thread. Safe to call twice; one thread. */
void osc_queue_close(osc_queue *queue);
/* Closes and frees. NULL allowed. Nobody else may use the queue any more. */
void osc_queue_free(osc_queue *queue);

/*
 * A place for one piece of work and its ticket; the content is undefined. The caller fills it and
 * must commit soon: later work waits for it. Waits while the ring is full. NULL when the queue is
 * closed.
 */
osc_work *osc_queue_reserve(osc_queue *queue, uint64_t *ticket) OSC_MUST_CHECK;
/* The same, but NULL at once when the ring is full. */
osc_work *osc_queue_try_reserve(osc_queue *queue, uint64_t *ticket) OSC_MUST_CHECK;
void osc_queue_commit(osc_queue *queue, uint64_t ticket);

/* True when work up to and including ticket has run. Ticket 0 is always done. */
bool osc_queue_done(osc_queue *queue, uint64_t ticket);
/* Waits until then. Never on the queue's own thread. */
void osc_queue_wait(osc_queue *queue, uint64_t ticket);
/* The newest ticket handed out; 0 if none. */
uint64_t osc_queue_last(osc_queue *queue);

#endif
