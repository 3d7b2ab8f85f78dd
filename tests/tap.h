/*
 * tap.h - the unit test harness: prints the Test Anything Protocol, needs nothing else.
 *
 *     #include "tap.h"
 *     static void test_adds(void) { TAP_EQ_I64(add(1, 2), 3); }
 *     int main(void) { TAP_RUN(test_adds); return tap_done(); }
 *
 * One TAP_RUN is one test point. Inside, checks go on after a failure (each prints where and what);
 * TAP_REQUIRE returns from the function instead, for what later lines depend on.
 */
#ifndef OSC_TESTS_TAP_H
#define OSC_TESTS_TAP_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs one test function as one point named after it. */
#define TAP_RUN(function) tap_run(#function, (function))

/* A condition. */
#define TAP_OK(cond) tap_check((cond), __FILE__, __LINE__, "%s", #cond)

/* A condition with a printf message instead of its text. */
#define TAP_OKF(cond, ...) tap_check((cond), __FILE__, __LINE__, __VA_ARGS__)

/* A condition the rest of the test needs: leaves the (void) test function when false. */
#define TAP_REQUIRE(cond)                                        \
    do {                                                         \
        if (!tap_check((cond), __FILE__, __LINE__, "%s", #cond)) \
            return;                                              \
    } while (0)

#define TAP_EQ_I64(got, want) tap_eq_i64((got), (want), #got, __FILE__, __LINE__)
#define TAP_EQ_U64(got, want) tap_eq_u64((got), (want), #got, __FILE__, __LINE__)
#define TAP_EQ_STR(got, want) tap_eq_cstr((got), (want), #got, __FILE__, __LINE__) /* char * */
#define TAP_EQ_VIEW(got, want) \
    tap_eq_view((got), (want), #got, __FILE__, __LINE__) /* osc_str, char * */
#define TAP_EQ_STATUS(got, want) tap_eq_status((got), (want), #got, __FILE__, __LINE__)
#define TAP_EQ_F64(got, want)    tap_eq_f64((got), (want), 0.0, #got, __FILE__, __LINE__)
#define TAP_NEAR(got, want, tol) tap_eq_f64((got), (want), (tol), #got, __FILE__, __LINE__)
#define TAP_EQ_MEM(got, want, n) tap_eq_mem((got), (want), (n), #got, __FILE__, __LINE__)

/* Marks the running test as skipped, with the reason; use as `tap_skip("..."); return;` */
void tap_skip(const char *reason);

/* A "# ..." line. */
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints the plan; returns the exit code for main: 0 when all passed. */
int tap_done(void);

/* A fresh empty directory for this process, removed by tap_done. Static storage. */
const char *tap_tmpdir(void);

/* The repository's root, where tests find their data. Static storage. */
const char *tap_source_dir(void);

/*
 * Out-of-memory sweep: calls body(ctx) with the n-th allocation failing, for n = 0, 1, 2, ... until a
 * run in which no allocation was refused. body returns false when it saw a wrong reaction. At most
 * max_runs runs. Returns false at the first wrong reaction, or when max_runs did not suffice.
 */
bool tap_oom_sweep(bool (*body)(void *ctx), void *ctx, int max_runs);

/* Behind the macros. */
void tap_run(const char *name, void (*function)(void));
bool tap_check(bool ok, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool tap_eq_i64(int64_t got, int64_t want, const char *text, const char *file, int line);
bool tap_eq_u64(uint64_t got, uint64_t want, const char *text, const char *file, int line);
bool tap_eq_cstr(const char *got, const char *want, const char *text, const char *file, int line);
bool tap_eq_view(osc_str got, const char *want, const char *text, const char *file, int line);
bool tap_eq_status(osc_status got, osc_status want, const char *text, const char *file, int line);
bool tap_eq_f64(double got, double want, double tol, const char *text, const char *file, int line);
bool tap_eq_mem(const void *got, const void *want, size_t n, const char *text, const char *file,
                int line);

#endif
