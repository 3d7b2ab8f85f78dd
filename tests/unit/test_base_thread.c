/* Threads, clock, log. */
#include "tap.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct shared {
    osc_mutex lock;
    osc_cond changed;
    int value;
    int64_t thread_id;
    bool signals_blocked;
};

static void add_many(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < 10000; i++) {
        osc_mutex_lock(&s->lock);
        s->value++;
        osc_mutex_unlock(&s->lock);
    }
}

static void test_mutex(void)
{
    struct shared s = {.value = 0};
    osc_thread threads[4];
    osc_mutex_init(&s.lock);
    for (int i = 0; i < 4; i++)
        TAP_EQ_STATUS(osc_thread_start(&threads[i], "a name far too long", add_many, &s, NULL),
                      OSC_OK);
    for (int i = 0; i < 4; i++) {
        osc_thread_join(&threads[i]);
        osc_thread_join(&threads[i]);
    }
    TAP_EQ_I64(s.value, 40000);
    osc_mutex_destroy(&s.lock);
}

static void answer(void *arg)
{
    struct shared *s = arg;
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    osc_mutex_lock(&s->lock);
    while (s->value != 1)
        osc_cond_wait(&s->changed, &s->lock);
    s->value = 2;
    s->thread_id = osc_thread_id();
    s->signals_blocked = sigismember(&mask, SIGINT) == 1;
    osc_cond_broadcast(&s->changed);
    osc_mutex_unlock(&s->lock);
}

static void test_condition(void)
{
    struct shared s = {.value = 0};
    osc_thread t;
    osc_mutex_init(&s.lock);
    osc_cond_init(&s.changed);
    TAP_EQ_STATUS(osc_thread_start(&t, NULL, answer, &s, NULL), OSC_OK);
    osc_mutex_lock(&s.lock);
    s.value = 1;
    osc_cond_signal(&s.changed);
    while (s.value != 2)
        osc_cond_wait(&s.changed, &s.lock);
    TAP_OK(!osc_cond_wait_until(&s.changed, &s.lock, osc_mono_ns() + 1000000));
    TAP_OK(!osc_cond_wait_until(&s.changed, &s.lock, -5));
    osc_mutex_unlock(&s.lock);
    osc_thread_join(&t);
    TAP_OK(s.thread_id > 0 && s.thread_id != osc_thread_id());
    TAP_OK(s.signals_blocked);
    osc_cond_destroy(&s.changed);
    osc_mutex_destroy(&s.lock);
}

static void test_start_without_memory(void)
{
    osc_thread t;
    osc_err err = {0};
    struct shared s = {.value = 0};
    osc_mem_fail_after(0);
    TAP_EQ_STATUS(osc_thread_start(&t, NULL, add_many, &s, &err), OSC_ENOMEM);
    osc_mem_fail_after(-1);
    osc_thread_join(&t);
    TAP_EQ_I64(s.value, 0);
}

struct marks {
    atomic_int seen[1000];
};

static void mark(void *ctx, size_t i)
{
    struct marks *m = ctx;
    atomic_fetch_add(&m->seen[i], 1);
}

static void test_parallel_for(void)
{
    static const size_t counts[] = {0, 1, 2, 1000}, threads[] = {0, 1, 3, 16, 1000};
    for (size_t a = 0; a < 4; a++) {
        for (size_t b = 0; b < 5; b++) {
            static struct marks m;
            memset(&m, 0, sizeof m);
            osc_parallel_for(counts[a], threads[b], mark, &m);
            bool good = true;
            for (size_t i = 0; i < 1000; i++)
                good = good && atomic_load(&m.seen[i]) == (i < counts[a] ? 1 : 0);
            TAP_OKF(good, "%zu items on %zu threads", counts[a], threads[b]);
        }
    }
    TAP_OK(osc_cpu_count() >= 1);
}

static void test_clocks(void)
{
    int64_t mono = osc_mono_ns(), now = osc_now_ns(), cpu = osc_thread_cpu_ns();
    TAP_OK(now > INT64_C(1600000000000000000));
    osc_sleep_ns(2000000);
    osc_sleep_ns(-1);
    TAP_OK(osc_mono_ns() - mono >= 2000000);
    int64_t until = osc_now_ns() + 500000;
    osc_sleep_until_ns(until);
    TAP_OK(osc_now_ns() >= until);
    osc_sleep_until_ns(0);
    osc_sleep_until_ns(osc_now_ns() - 1);
    TAP_OK(osc_thread_cpu_ns() >= cpu);
}

static void test_utc(void)
{
    char t[OSC_TIME_TEXT];
    TAP_EQ_STR(osc_format_utc(0, t), "1970-01-01T00:00:00.000000000Z");
    TAP_EQ_STR(osc_format_utc(-1, t), "1969-12-31T23:59:59.999999999Z");
    TAP_EQ_STR(osc_format_utc(INT64_C(1795947300123456789), t), "2026-11-29T10:15:00.123456789Z");
    TAP_EQ_STR(osc_format_utc(INT64_C(951782400000000000), t), "2000-02-29T00:00:00.000000000Z");
    TAP_EQ_STR(osc_format_utc(INT64_C(951868800000000000), t), "2000-03-01T00:00:00.000000000Z");
    TAP_EQ_STR(osc_format_utc(INT64_MAX, t), "2262-04-11T23:47:16.854775807Z");
    TAP_EQ_STR(osc_format_utc(INT64_MIN, t), "1677-09-21T00:12:43.145224192Z");
    TAP_EQ_STR(osc_format_utc_compact(INT64_C(1795947300123456789), t), "20261129_101500");
    TAP_EQ_STR(osc_format_utc_human(INT64_C(1795947300123456789), t), "29 Nov 2026 10:15:00");
}

struct heard {
    char last[1200];
    int lines;
};

static void hear(void *user, osc_log_level level, const char *text)
{
    struct heard *h = user;
    h->lines++;
    (void)snprintf(h->last, sizeof h->last, "%d %s", (int)level, text);
}

static void test_log(void)
{
    struct heard h = {.lines = 0};
    osc_log(OSC_LOG_ERROR, "nobody listens");
    osc_log_set_sink(hear, &h, OSC_LOG_INFO);
    osc_log(OSC_LOG_WARN, "lost %d events", 3);
    TAP_EQ_STR(h.last, "1 lost 3 events");
    osc_log(OSC_LOG_DEBUG, "too talkative");
    TAP_EQ_I64(h.lines, 1);
    osc_log(OSC_LOG_INFO, "%02000d", 1);
    TAP_EQ_U64(strlen(h.last), 2 + 1000);
    osc_log_set_sink(NULL, NULL, OSC_LOG_ERROR);
    osc_log(OSC_LOG_ERROR, "gone");
    TAP_EQ_I64(h.lines, 2);
}

int main(void)
{
    TAP_RUN(test_mutex);
    TAP_RUN(test_condition);
    TAP_RUN(test_start_without_memory);
    TAP_RUN(test_parallel_for);
    TAP_RUN(test_clocks);
    TAP_RUN(test_utc);
    TAP_RUN(test_log);
    return tap_done();
}
