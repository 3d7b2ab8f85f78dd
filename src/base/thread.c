/*
 * thread.c - see thread.h.
 */
#include "base/thread.h"

#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_PARALLEL 64

/* The only errors these calls know are misuse, which is ours. */
static void must(int result)
{
    assert(result == 0);
    (void)result;
}

void osc_mutex_init(osc_mutex *m)
{
    must(pthread_mutex_init(&m->impl, NULL));
}

void osc_mutex_destroy(osc_mutex *m)
{
    must(pthread_mutex_destroy(&m->impl));
}

void osc_mutex_lock(osc_mutex *m)
{
    must(pthread_mutex_lock(&m->impl));
}

void osc_mutex_unlock(osc_mutex *m)
{
    must(pthread_mutex_unlock(&m->impl));
}

void osc_cond_init(osc_cond *c)
{
    pthread_condattr_t attr;
    must(pthread_condattr_init(&attr));
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    must(pthread_cond_init(&c->impl, &attr));
    must(pthread_condattr_destroy(&attr));
}

void osc_cond_destroy(osc_cond *c)
{
    must(pthread_cond_destroy(&c->impl));
}

void osc_cond_wait(osc_cond *c, osc_mutex *m)
{
    must(pthread_cond_wait(&c->impl, &m->impl));
}

bool osc_cond_wait_until(osc_cond *c, osc_mutex *m, int64_t mono_ns)
{
    if (mono_ns < 0)
        mono_ns = 0;
    struct timespec t = {.tv_sec = (time_t)(mono_ns / 1000000000),
                         .tv_nsec = (long)(mono_ns % 1000000000)};
    int result = pthread_cond_timedwait(&c->impl, &m->impl, &t);
    assert(result == 0 || result == ETIMEDOUT);
    return result == 0;
}

void osc_cond_signal(osc_cond *c)
{
    must(pthread_cond_signal(&c->impl));
}

void osc_cond_broadcast(osc_cond *c)
{
    must(pthread_cond_broadcast(&c->impl));
}

struct start {
    void (*body)(void *arg);
    void *arg;
    char name[16];
};

static void *trampoline(void *arg)
{
    struct start s = *(struct start *)arg;
    osc_free(arg);
    if (s.name[0])
        (void)pthread_setname_np(pthread_self(), s.name);
    s.body(s.arg);
    return NULL;
}

osc_status osc_thread_start(osc_thread *t, const char *name, void (*body)(void *arg), void *arg,
                            osc_err *err)
{
    sigset_t all, before;
    t->running = false;
    struct start *s = osc_calloc(1, sizeof *s);
    if (!s)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no memory to start a thread");
    s->body = body;
    s->arg = arg;
    (void)osc_str_to_array(osc_str_from_cstr(name), s->name, sizeof s->name);
    (void)sigfillset(&all);
    /* a new thread inherits the mask, so it is blocked from its first instruction on */
    must(pthread_sigmask(SIG_SETMASK, &all, &before));
    int result = pthread_create(&t->impl, NULL, trampoline, s);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL));
    if (result != 0) {
        osc_free(s);
        return osc_fail(err, OSC_EIO, NULL, OSC_NO_OFFSET, "cannot start a thread: %s",
                        strerror(result));
    }
    t->running = true;
    return OSC_OK;
}

void osc_thread_join(osc_thread *t)
{
    if (!t->running)
        return;
    must(pthread_join(t->impl, NULL));
    t->running = false;
}

int64_t osc_thread_id(void)
{
    return (int64_t)syscall(SYS_gettid);
}

size_t osc_cpu_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);
        return n > 0 ? (size_t)n : 1;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (size_t)n : 1;
}

struct parallel {
    atomic_size_t next;
    size_t n;
    void (*body)(void *ctx, size_t i);
    void *ctx;
};

static void parallel_worker(void *arg)
{
    struct parallel *p = arg;
    for (size_t i = atomic_fetch_add(&p->next, 1); i < p->n; i = atomic_fetch_add(&p->next, 1))
        p->body(p->ctx, i);
}

void osc_parallel_for(size_t n, size_t threads, void (*body)(void *ctx, size_t i), void *ctx)
{
    struct parallel p = {.n = n, .body = body, .ctx = ctx};
    osc_thread helpers[MAX_PARALLEL - 1];
    size_t want = threads ? threads : osc_cpu_count(), started = 0;
    if (want > n)
        want = n;
    if (want > MAX_PARALLEL)
        want = MAX_PARALLEL;
    while (started + 1 < want &&
           osc_thread_start(&helpers[started], "osc-worker", parallel_worker, &p, NULL) == OSC_OK)
        started++;
    parallel_worker(&p);
    for (size_t i = 0; i < started; i++)
        osc_thread_join(&helpers[i]);
}
