/*
 * trace_top.c - opens a trace, prints the ten rows with the most CPU time of their own, and adds up the
 * slices of each kind by reading the tables; docs/formats/store.md names the kinds.
 *
 *     make install PREFIX=$HOME/opscope; export PKG_CONFIG_PATH=$HOME/opscope/lib/pkgconfig
 *     cc examples/c/trace_top.c $(pkg-config --cflags --libs opscope) -o trace_top
 *     ./trace_top trace.json.gz
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "opscope/trace.h"

enum { KINDS = 256, LONGEST_NAME = 48 };

static int fail(const osc_err *err)
{
    fprintf(stderr, "trace_top: %s%s%s\n", err->input, err->input[0] ? ": " : "", err->message);
    return 1;
}

/* An analysis by name: the table that PyTorch's key_averages() gives. */
static int print_top(const osc_trace *trace)
{
    const char *options[] = {"sort=self_cpu_ns", "limit=10"};
    osc_result *top;
    osc_err err = {0};
    if (osc_trace_analyse(trace, "key_averages", options, 2, &top, &err) != OSC_OK)
        return fail(&err);
    uint32_t name = osc_result_find(top, "name"), count = osc_result_find(top, "count");
    uint32_t cpu = osc_result_find(top, "self_cpu_ns"),
             device = osc_result_find(top, "self_device_ns");
    printf("%-*s %8s %14s %16s\n", LONGEST_NAME, "name", "calls", "self cpu us", "self device us");
    for (uint64_t r = 0; r < osc_result_rows(top); r++) {
        size_t len;
        const char *text = osc_result_text(top, r, name, &len);
        printf("%-*.*s %8" PRId64 " %14.1f %16.1f\n", LONGEST_NAME,
               (int)(len < LONGEST_NAME ? len : LONGEST_NAME), text, osc_result_i64(top, r, count),
               (double)osc_result_i64(top, r, cpu) / 1e3,
               (double)osc_result_i64(top, r, device) / 1e3);
    }
    osc_result_free(top);
    return 0;
}

/* The tables themselves: columns are plain arrays. */
static int print_kinds(const osc_trace *trace)
{
    osc_column kind = {.size = sizeof kind}, dur = {.size = sizeof dur};
    uint64_t slices[KINDS] = {0};
    int64_t ns[KINDS] = {0};
    osc_err err = {0};
    if (osc_trace_column(trace, "slices", "kind", &kind, &err) != OSC_OK ||
        osc_trace_column(trace, "slices", "dur_ns", &dur, &err) != OSC_OK)
        return fail(&err);
    for (uint64_t i = 0; i < dur.rows; i++) {
        slices[kind.values.u8[i]]++;
        ns[kind.values.u8[i]] += dur.values.i64[i];
    }
    printf("\n%" PRIu64 " slices\n", dur.rows);
    for (int k = 0; k < KINDS; k++) {
        if (slices[k] > 0)
            printf("kind %3d: %8" PRIu64 " slices, %14.1f us\n", k, slices[k], (double)ns[k] / 1e3);
    }
    return 0;
}

int main(int argc, char **argv)
{
    osc_trace *trace;
    osc_err err = {0};
    if (argc < 2) {
        printf("usage: trace_top TRACE\nanalyses:\n");
        for (uint32_t i = 0; osc_analysis_name(i); i++)
            printf("  %-14s %s\n", osc_analysis_name(i), osc_analysis_summary(i));
        return 0;
    }
    if (osc_trace_open(argv[1], NULL, &trace, &err) != OSC_OK)
        return fail(&err);
    int code = print_top(trace);
    if (code == 0)
        code = print_kinds(trace);
    osc_trace_close(trace);
    return code;
}
