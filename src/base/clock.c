/*
 * clock.c - see clock.h.
 *
 * The calendar is computed here: gmtime needs a time_t of unknown width and a lock in some libraries.
 */
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

/* A timer wakes up to about 60 us late on an idle machine; the rest is spun. */
#define SPIN_NS 60000

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    int failed = clock_gettime(id, &t);
    assert(failed == 0);
    (void)failed;
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t osc_now_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t osc_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t osc_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Sleeps until an instant of a clock; signals do not shorten it. */
static void sleep_until(clockid_t id, int64_t instant)
{
    if (instant <= 0)
        return;
    struct timespec t = {.tv_sec = (time_t)(instant / NS_PER_S),
                         .tv_nsec = (long)(instant % NS_PER_S)};
    while (clock_nanosleep(id, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

void osc_sleep_until_ns(int64_t realtime_ns)
{
    int64_t left = realtime_ns - osc_now_ns();
    if (left > SPIN_NS)
        sleep_until(CLOCK_REALTIME, realtime_ns - SPIN_NS);
    while (osc_now_ns() < realtime_ns) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

void osc_sleep_ns(int64_t ns)
{
    if (ns > 0)
        sleep_until(CLOCK_MONOTONIC, osc_mono_ns() + ns);
}

struct calendar {
    int64_t year;
    int month, day, hour, minute, second; /* month from 1 */
    int64_t ns;
};

/* Proleptic Gregorian date of an epoch time, by eras of 400 years that begin in March. */
static struct calendar calendar_of(int64_t epoch_ns)
{
    int64_t ns = epoch_ns % NS_PER_S, seconds = epoch_ns / NS_PER_S;
    if (ns < 0) {
        ns += NS_PER_S;
        seconds--;
    }
    int64_t days = seconds / 86400, in_day = seconds % 86400;
    if (in_day < 0) {
        in_day += 86400;
        days--;
    }
    days += 719468; /* days from 0000-03-01 to 1970-01-01 */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t in_era = days - era * 146097;
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    int64_t march = (5 * in_year + 2) / 153; /* month counted from March */
    struct calendar c;
    c.day = (int)(in_year - (153 * march + 2) / 5 + 1);
    c.month = (int)(march < 10 ? march + 3 : march - 9);
    c.year = year + era * 400 + (c.month <= 2);
    c.hour = (int)(in_day / 3600);
    c.minute = (int)(in_day / 60 % 60);
    c.second = (int)(in_day % 60);
    c.ns = ns;
    assert(c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= 31);
    return c;
}

char *osc_format_utc(int64_t epoch_ns, char out[OSC_TIME_TEXT])
{
    struct calendar c = calendar_of(epoch_ns);
    (void)snprintf(out, OSC_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", (int)c.year, c.month,
                   c.day, c.hour, c.minute, c.second, (int)c.ns);
    return out;
}

char *osc_format_utc_compact(int64_t epoch_ns, char out[OSC_TIME_TEXT])
{
    struct calendar c = calendar_of(epoch_ns);
    (void)snprintf(out, OSC_TIME_TEXT, "%04d%02d%02d_%02d%02d%02d", (int)c.year, c.month, c.day,
                   c.hour, c.minute, c.second);
    return out;
}

char *osc_format_utc_human(int64_t epoch_ns, char out[OSC_TIME_TEXT])
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct calendar c = calendar_of(epoch_ns);
    (void)snprintf(out, OSC_TIME_TEXT, "%d %s %04d %02d:%02d:%02d", c.day, months[c.month - 1],
                   (int)c.year, c.hour, c.minute, c.second);
    return out;
}
