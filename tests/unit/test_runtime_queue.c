/* The ring: order, several submitters, back-pressure, waiting, closing, and not burning the
 * processor. */
#include "base/clock.h"
#include "base/thread.h"
#include "neuron/runtime/queue.h"
#include "runtime_support.h"

#include <time.h>

enum { SUBMITTERS = 4, EACH = 20000 };

typedef struct ledger {
    uint64_t count;
    uint64_t last[SUBMITTERS]; /* newest number seen per submitter */
    uint64_t disorder;
    int64_t nap_ns;
} ledger;

static void note_work(void *context, osc_work *work)
{
    ledger *l = context;
    uint32_t who = work->count;
    l->count++;
    if (work->u.trim.offset != l->last[who] + 1)
        l->disorder++;
    l->last[who] = work->u.trim.offset;
    if (l->nap_ns > 0)
        osc_sleep_ns(l->nap_ns);
}

static uint64_t push(osc_queue *q, uint32_t who, uint64_t number)
{
    uint64_t ticket = 0;
    osc_work *work = osc_queue_reserve(q, &ticket);
    if (work == NULL)
        return 0;
    work->kind = OSC_RT_WORK_TRIM;
    work->count = who;
    work->u.trim.offset = number;
    osc_queue_commit(q, ticket);
    return ticket;
}

static osc_queue *open_queue(ledger *l)
{
    osc_queue *q = NULL;
    TAP_EQ_STATUS(osc_queue_open("test", note_work, l, &q, NULL), OSC_OK);
    return q;
}

static void test_order_and_wait(void)
{
    ledger l = {0};
    osc_queue *q = open_queue(&l);
    TAP_OK(osc_queue_done(q, 0));
    for (uint64_t i = 1; i <= 5000; i++)
        TAP_EQ_U64(push(q, 0, i), i);
    osc_queue_wait(q, 5000);
    TAP_EQ_U64(l.count, 5000);
    TAP_EQ_U64(l.disorder, 0);
    TAP_EQ_U64(osc_queue_last(q), 5000);
    osc_sleep_ns(2000000); /* the thread sleeps by now */
    TAP_EQ_U64(push(q, 0, 5001), 5001);
    osc_queue_wait(q, 5001);
    TAP_EQ_U64(l.count, 5001);
    osc_queue_free(q);
}

static void test_full_ring(void)
{
    ledger l = {.nap_ns = 20000};
    osc_queue *q = open_queue(&l);
    uint64_t ticket, refused = 0;
    for (uint64_t i = 1; i <= 1500; i++) {
        osc_work *work = osc_queue_try_reserve(q, &ticket);
        if (work == NULL) {
            refused++;
            TAP_EQ_U64(push(q, 0, i), i); /* waits for room */
            continue;
        }
        work->count = 0;
        work->u.trim.offset = i;
        osc_queue_commit(q, ticket);
    }
    TAP_OK(refused > 0);
    osc_queue_close(q); /* runs what is there */
    TAP_EQ_U64(l.count, 1500);
    TAP_EQ_U64(l.disorder, 0);
    TAP_OK(osc_queue_done(q, 1500));
    osc_queue_wait(q, 1500);
    TAP_EQ_U64(push(q, 0, 1501), 0);
    TAP_OK(osc_queue_try_reserve(q, &ticket) == NULL);
    osc_queue_free(q);
}

typedef struct submitter {
    osc_queue *q;
    uint32_t who;
    osc_thread thread;
} submitter;

static void submit_many(void *arg)
{
    submitter *s = arg;
    uint64_t last = 0;
    for (uint64_t i = 1; i <= EACH; i++) {
        last = push(s->q, s->who, i);
        if (i % 5000 == 0)
            osc_queue_wait(s->q, last);
    }
    osc_queue_wait(s->q, last);
}

static void test_many_submitters(void)
{
    ledger l = {0};
    osc_queue *q = open_queue(&l);
    submitter s[SUBMITTERS];
    for (uint32_t i = 0; i < SUBMITTERS; i++) {
        s[i] = (submitter){.q = q, .who = i};
        TAP_EQ_STATUS(osc_thread_start(&s[i].thread, "submit", submit_many, &s[i], NULL), OSC_OK);
    }
    for (uint32_t i = 0; i < SUBMITTERS; i++)
        osc_thread_join(&s[i].thread);
    osc_queue_close(q);
    TAP_EQ_U64(l.count, (uint64_t)SUBMITTERS * EACH);
    TAP_EQ_U64(l.disorder, 0);
    osc_queue_free(q);
}

static void test_idle_costs_nothing(void)
{
    ledger l = {0};
    osc_queue *q = open_queue(&l);
    osc_queue_wait(q, push(q, 0, 1));
    struct timespec before, after;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    osc_sleep_ns(200000000);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t used =
        (after.tv_sec - before.tv_sec) * INT64_C(1000000000) + after.tv_nsec - before.tv_nsec;
    tap_note("200 ms idle used %lld us of processor time", (long long)(used / 1000));
    TAP_OK(used < 20000000);
    osc_queue_free(q);
}

/* Waiters for late and early tickets at once: each wakes, none is lost. */
typedef struct waiter {
    osc_queue *q;
    uint64_t ticket;
    osc_thread thread;
} waiter;

static void wait_one(void *arg)
{
    waiter *w = arg;
    osc_queue_wait(w->q, w->ticket);
}

static void test_many_waiters(void)
{
    enum { WAITERS = 6 };
    ledger l = {.nap_ns = 100000};
    osc_queue *q = open_queue(&l);
    waiter w[WAITERS];
    for (uint64_t i = 1; i <= 60; i++)
        (void)push(q, 0, i);
    for (uint32_t i = 0; i < WAITERS; i++) {
        w[i] = (waiter){.q = q, .ticket = 60 - i * 10};
        TAP_EQ_STATUS(osc_thread_start(&w[i].thread, "wait", wait_one, &w[i], NULL), OSC_OK);
    }
    for (uint32_t i = 0; i < WAITERS; i++)
        osc_thread_join(&w[i].thread);
    TAP_OK(osc_queue_done(q, 60));
    osc_queue_free(q);
}

int main(void)
{
    TAP_RUN(test_order_and_wait);
    TAP_RUN(test_full_ring);
    TAP_RUN(test_many_submitters);
    TAP_RUN(test_many_waiters);
    TAP_RUN(test_idle_costs_nothing);
    return tap_done();
}
