/*
 * tap.c - see tap.h.
 */
#include "tap.h"

#include "base/io.h"
#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int points;          /* test functions run */
static int failed_points;   /* of them, failed */
static int failed_checks;   /* in the running test */
static const char *skipped; /* reason, when the running test was skipped */
static char tmpdir[256];

void tap_skip(const char *reason)
{
    skipped = reason;
}

void tap_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("# ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
}

void tap_run(const char *name, void (*function)(void))
{
    failed_checks = 0;
    skipped = NULL;
    function();
    points++;
    if (failed_checks > 0)
        failed_points++;
    printf("%s %d - %s", failed_checks > 0 ? "not ok" : "ok", points, name);
    if (skipped && failed_checks == 0)
        printf(" # SKIP %s", skipped);
    printf("\n");
    fflush(stdout);
}

int tap_done(void)
{
    if (tmpdir[0] && osc_remove_tree(tmpdir, NULL) != OSC_OK)
        tap_note("could not remove %s", tmpdir);
    printf("1..%d\n", points);
    return failed_points == 0 ? 0 : 1;
}

const char *tap_tmpdir(void)
{
    if (tmpdir[0])
        return tmpdir;
    const char *base = getenv("TMPDIR");
    (void)snprintf(tmpdir, sizeof tmpdir, "%.200s/opscope-test-XXXXXX",
                   base && *base ? base : "/tmp");
    if (!mkdtemp(tmpdir)) {
        printf("Bail out! no temporary directory %s\n", tmpdir);
        exit(1);
    }
    return tmpdir;
}

const char *tap_source_dir(void)
{
    return OSC_SOURCE_DIR;
}

bool tap_oom_sweep(bool (*body)(void *ctx), void *ctx, int max_runs)
{
    for (int n = 0; n < max_runs; n++) {
        osc_mem_fail_after(n);
        bool good = body(ctx);
        uint64_t refused = osc_mem_refused();
        osc_mem_fail_after(-1);
        if (!good) {
            tap_note("wrong reaction when allocation %d fails", n);
            return false;
        }
        if (refused == 0)
            return true;
    }
    tap_note("still refusing after %d runs", max_runs);
    return false;
}

static bool count(bool ok)
{
    if (!ok)
        failed_checks++;
    return ok;
}

bool tap_check(bool ok, const char *file, int line, const char *fmt, ...)
{
    if (ok)
        return true;
    va_list args;
    va_start(args, fmt);
    printf("# %s:%d: failed: ", file, line);
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    return count(false);
}

bool tap_eq_i64(int64_t got, int64_t want, const char *text, const char *file, int line)
{
    if (got != want)
        tap_note("%s:%d: %s is %lld, want %lld", file, line, text, (long long)got, (long long)want);
    return count(got == want);
}

bool tap_eq_u64(uint64_t got, uint64_t want, const char *text, const char *file, int line)
{
    if (got != want)
        tap_note("%s:%d: %s is %llu (0x%llx), want %llu (0x%llx)", file, line, text,
                 (unsigned long long)got, (unsigned long long)got, (unsigned long long)want,
                 (unsigned long long)want);
    return count(got == want);
}

bool tap_eq_cstr(const char *got, const char *want, const char *text, const char *file, int line)
{
    bool same = got && want ? strcmp(got, want) == 0 : got == want;
    if (!same)
        tap_note("%s:%d: %s is \"%s\", want \"%s\"", file, line, text, got ? got : "(null)",
                 want ? want : "(null)");
    return count(same);
}

bool tap_eq_view(osc_str got, const char *want, const char *text, const char *file, int line)
{
    bool same = osc_str_eq_cstr(got, want);
    if (!same)
        tap_note("%s:%d: %s is \"%.*s\" (%zu bytes), want \"%s\"", file, line, text,
                 OSC_STR_FMT(got), got.len, want);
    return count(same);
}

bool tap_eq_status(osc_status got, osc_status want, const char *text, const char *file, int line)
{
    if (got != want)
        tap_note("%s:%d: %s is %s, want %s", file, line, text, osc_status_name(got),
                 osc_status_name(want));
    return count(got == want);
}

bool tap_eq_f64(double got, double want, double tol, const char *text, const char *file, int line)
{
    bool same = memcmp(&got, &want, sizeof got) == 0 || fabs(got - want) <= tol ||
                (isnan(got) && isnan(want));
    if (!same)
        tap_note("%s:%d: %s is %.17g, want %.17g within %g", file, line, text, got, want, tol);
    return count(same);
}

bool tap_eq_mem(const void *got, const void *want, size_t n, const char *text, const char *file,
                int line)
{
    const unsigned char *g = got, *w = want;
    for (size_t i = 0; i < n; i++) {
        if (g[i] != w[i]) {
            tap_note("%s:%d: %s differs at byte %zu: 0x%02x, want 0x%02x", file, line, text, i,
                     g[i], w[i]);
            return count(false);
        }
    }
    return true;
}
