/*
 * test_api_threads.c - many threads run every analysis on one open trace at once, and get what one
 * gets.
 */
#include "tap.h"

#include "base/thread.h"
#include "opscope/trace.h"

#include <stdio.h>
#include <string.h>

#define THREADS  4
#define ANALYSES 32

static osc_trace *trace;
static char *alone[ANALYSES]; /* what one thread gets; "" where the analysis refuses */

struct job {
    osc_thread thread;
    uint32_t first; /* each thread begins with another analysis */
    uint32_t wrong;
};

/* The result of analysis i as JSON; NULL where it refuses. */
static char *run(uint32_t i)
{
    const char *options[] = {"name=aten::add"};
    osc_result *result = NULL;
    char *text = NULL;
    uint32_t n = strcmp(osc_analysis_name(i), "follow") == 0;
    if (osc_trace_analyse(trace, osc_analysis_name(i), options, n, &result, NULL) == OSC_OK &&
        osc_result_format(result, "json", &text, NULL, NULL) != OSC_OK)
        text = NULL;
    osc_result_free(result);
    return text;
}

static void work(void *arg)
{
    struct job *job = arg;
    uint32_t count = 0;
    while (osc_analysis_name(count))
        count++;
    for (uint32_t k = 0; k < 3 * count; k++) {
        uint32_t i = (job->first + k) % count;
        char *text = run(i);
        job->wrong += strcmp(text ? text : "", alone[i]) != 0;
        osc_text_free(text);
    }
}

static void test_all_at_once(void)
{
    static char none[] = "";
    struct job jobs[THREADS] = {0};
    char path[1024];
    osc_err err = {0};
    osc_trace_options o = {.size = sizeof o, .device = true};
    (void)snprintf(path, sizeof path, "%s/tests/data/scope/session", tap_source_dir());
    TAP_REQUIRE(osc_trace_open(path, &o, &trace, &err) == OSC_OK);
    for (uint32_t i = 0; osc_analysis_name(i) && i < ANALYSES; i++) {
        alone[i] = run(i);
        alone[i] = alone[i] ? alone[i] : none;
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        jobs[t].first = 2 * t;
        TAP_REQUIRE(osc_thread_start(&jobs[t].thread, "job", work, &jobs[t], &err) == OSC_OK);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        osc_thread_join(&jobs[t].thread);
        TAP_EQ_U64(jobs[t].wrong, 0);
    }
    for (uint32_t i = 0; i < ANALYSES; i++) {
        if (alone[i] != none)
            osc_text_free(alone[i]);
    }
    osc_trace_close(trace);
}

int main(void)
{
    TAP_RUN(test_all_at_once);
    return tap_done();
}
