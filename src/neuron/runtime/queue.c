/*
 * queue.c - bounded ring with a sequence number per slot (Vyukov), one consumer that sleeps when
 * idle.
 *
 *     tail: next position to reserve, top bit set once closed     done: positions completed
 *     slot[p % N].sequence ==  p      free for the submitter that reserves p
 *                              p + 1  committed, the thread may run it
 *                              p + N  done, free for the next round
 *
 * A submitter takes p by compare-and-swap on tail, so the order of tickets is the order of
 * submission. The thread polls for a few microseconds when it runs dry, then sleeps on a futex; who
 * commits wakes it once. Waiters announce the lowest ticket they need (wake_at), so that a thousand
 * completions cost one wake-up, not a thousand. Every "announce, then look again" pair uses
 * sequentially consistent order: either side sees the other, and no wake-up is lost.
 *
 * Rejected: a mutex and condition variable. They cost about 1 us a call and most of its variance on
 * a two-core machine (pytorch-adapter.md 7); and a spinning thread, which would eat the caller's
 * core.
 */
#include "neuron/runtime/queue.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <assert.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING       1024u /* power of two */
#define CLOSED     (UINT64_C(1) << 63)
#define POLL_NS    15000 /* how long the thread looks for work before it sleeps */
#define POLL_LOOKS 64    /* looks between two readings of the clock */

typedef struct slot {
    _Atomic uint64_t sequence;
    osc_work work;
} slot;

struct osc_queue {
    _Atomic uint64_t tail;      /* submitters */
    char line1[64];             /* keeps what different threads write apart */
    _Atomic uint64_t done;      /* waiters */
    _Atomic uint64_t wake_at;   /* lowest ticket anybody sleeps for, UINT64_MAX if none */
    _Atomic uint32_t done_word; /* futex: changes at every wake-up of waiters */
    char line2[64];
    _Atomic uint32_t asleep; /* futex: 1 while the thread sleeps */
    osc_queue_handler handler;
    void *context;
    osc_thread thread;
    slot *ring;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t expected)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static slot *slot_at(osc_queue *q, uint64_t position)
{
    return &q->ring[position & (RING - 1)];
}

/* ---- the thread ---- */

static bool ready(osc_queue *q, uint64_t position)
{
    return atomic_load(&slot_at(q, position)->sequence) == position + 1;
}

static bool closed_at(osc_queue *q, uint64_t position)
{
    return atomic_load(&q->tail) == (position | CLOSED);
}

/* Looks for work for a short while. */
static bool poll_ready(osc_queue *q, uint64_t position)
{
    int64_t until = osc_mono_ns() + POLL_NS;
    do {
        for (int i = 0; i < POLL_LOOKS; i++) {
            if (ready(q, position))
                return true;
            relax();
        }
    } while (osc_mono_ns() < until);
    return false;
}

/* False when the queue is closed and everything has run. */
static bool await_work(osc_queue *q, uint64_t position)
{
    if (ready(q, position) || poll_ready(q, position))
        return true;
    for (;;) {
        atomic_store(&q->asleep, 1);
        if (ready(q, position)) {
            atomic_store(&q->asleep, 0);
            return true;
        }
        if (closed_at(q, position)) {
            atomic_store(&q->asleep, 0);
            return false;
        }
        futex_wait(&q->asleep, 1);
    }
}

static void publish_done(osc_queue *q, uint64_t ticket)
{
    atomic_store(&q->done, ticket);
    if (atomic_load(&q->wake_at) > ticket)
        return;
    atomic_store(&q->wake_at, UINT64_MAX);
    atomic_fetch_add(&q->done_word, 1);
    futex_wake(&q->done_word, INT32_MAX);
}

static void thread_body(void *arg)
{
    osc_queue *q = arg;
    for (uint64_t position = 0; await_work(q, position); position++) {
        slot *s = slot_at(q, position);
        q->handler(q->context, &s->work);
        atomic_store_explicit(&s->sequence, position + RING, memory_order_release);
        publish_done(q, position + 1);
    }
}

static void wake_thread(osc_queue *q)
{
    if (atomic_load(&q->asleep) != 0 && atomic_exchange(&q->asleep, 0) != 0)
        futex_wake(&q->asleep, 1);
}

/* ---- submitting ---- */

/* One attempt. *full says whether NULL means a full ring (else: closed). */
static osc_work *attempt(osc_queue *q, uint64_t *ticket, bool *full)
{
    uint64_t position = atomic_load_explicit(&q->tail, memory_order_relaxed);
    for (;;) {
        *full = false;
        if ((position & CLOSED) != 0)
            return NULL;
        slot *s = slot_at(q, position);
        uint64_t sequence = atomic_load_explicit(&s->sequence, memory_order_acquire);
        if (sequence == position) {
            if (!atomic_compare_exchange_weak(&q->tail, &position, position + 1))
                continue;
            *ticket = position + 1;
            return &s->work;
        }
        if (sequence < position) {
            *ticket = position + 1;
            *full = true;
            return NULL;
        }
        position = atomic_load_explicit(&q->tail, memory_order_relaxed);
    }
}

osc_work *osc_queue_try_reserve(osc_queue *queue, uint64_t *ticket)
{
    bool full;
    return attempt(queue, ticket, &full);
}

osc_work *osc_queue_reserve(osc_queue *queue, uint64_t *ticket)
{
    for (;;) {
        bool full;
        osc_work *work = attempt(queue, ticket, &full);
        if (work != NULL || !full)
            return work;
        assert(*ticket > RING);
        osc_queue_wait(queue, *ticket - RING);
    }
}

void osc_queue_commit(osc_queue *queue, uint64_t ticket)
{
    assert(ticket > 0);
    atomic_store(&slot_at(queue, ticket - 1)->sequence, ticket);
    wake_thread(queue);
}

/* ---- waiting ---- */

bool osc_queue_done(osc_queue *queue, uint64_t ticket)
{
    return atomic_load(&queue->done) >= ticket;
}

static void announce(osc_queue *q, uint64_t ticket)
{
    uint64_t lowest = atomic_load(&q->wake_at);
    while (ticket < lowest && !atomic_compare_exchange_weak(&q->wake_at, &lowest, ticket)) {
    }
}

void osc_queue_wait(osc_queue *queue, uint64_t ticket)
{
    while (!osc_queue_done(queue, ticket)) {
        /* The word is read before announcing: a wake-up after the announcement then changes it. */
        uint32_t word = atomic_load(&queue->done_word);
        announce(queue, ticket);
        if (!osc_queue_done(queue, ticket))
            futex_wait(&queue->done_word, word);
    }
}

uint64_t osc_queue_last(osc_queue *queue)
{
    return atomic_load(&queue->tail) & ~CLOSED;
}

/* ---- life ---- */

osc_status osc_queue_open(const char *name, osc_queue_handler handler, void *context,
                          osc_queue **out, osc_err *err)
{
    *out = NULL;
    osc_queue *q = osc_calloc(1, sizeof *q);
    slot *ring = osc_calloc(RING, sizeof *ring);
    if (q == NULL || ring == NULL) {
        osc_free(q);
        osc_free(ring);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for the queue %s",
                        name);
    }
    atomic_store(&q->wake_at, UINT64_MAX);
    q->handler = handler;
    q->context = context;
    q->ring = ring;
    for (uint64_t i = 0; i < RING; i++)
        atomic_store(&ring[i].sequence, i);
    osc_status status = osc_thread_start(&q->thread, name, thread_body, q, err);
    if (status != OSC_OK) {
        osc_free(ring);
        osc_free(q);
        return status;
    }
    *out = q;
    return OSC_OK;
}

void osc_queue_close(osc_queue *queue)
{
    (void)atomic_fetch_or(&queue->tail, CLOSED);
    wake_thread(queue);
    osc_thread_join(&queue->thread);
}

void osc_queue_free(osc_queue *queue)
{
    if (queue == NULL)
        return;
    osc_queue_close(queue);
    osc_free(queue->ring);
    osc_free(queue);
}
