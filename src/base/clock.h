/*
 * clock.h - what time it is, and waiting until it is later.
 *
 * Host times are int64 nanoseconds since the UNIX epoch; intervals are measured on the monotonic
 * clock. Any thread.
 */
#ifndef OSC_BASE_CLOCK_H
#define OSC_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* CLOCK_REALTIME in ns since 1970-01-01 UTC. */
int64_t osc_now_ns(void);

/* CLOCK_MONOTONIC in ns; only differences mean something. */
int64_t osc_mono_ns(void);

/* CPU time this thread has used, in ns. */
int64_t osc_thread_cpu_ns(void);

/*
 * Returns at or after the given instant of osc_now_ns, usually within 2 us of it: sleeps to about
 * 60 us before, then spins. Returns at once when it has passed. Signals do not shorten it.
 */
void osc_sleep_until_ns(int64_t realtime_ns);

/* Sleeps at least ns nanoseconds on the monotonic clock, without spinning. */
void osc_sleep_ns(int64_t ns);

#define OSC_TIME_TEXT 40

/* "2026-11-29T10:15:00.123456789Z"; returns out. Any int64 is a date (years 1677 to 2262). */
char *osc_format_utc(int64_t epoch_ns, char out[OSC_TIME_TEXT]);

/* "20261129_101500": for directory names; returns out. */
char *osc_format_utc_compact(int64_t epoch_ns, char out[OSC_TIME_TEXT]);

/* "29 Nov 2026 10:15:00": for people; returns out. */
char *osc_format_utc_human(int64_t epoch_ns, char out[OSC_TIME_TEXT]);

#endif
