/*
 * read_bench.c - the trace reader alone: CPU and wall time from opening a file to sealed tables.
 *
 *     read_bench FILE [all|top] [THREADS [SIMD [ROUNDS]]]
 *
 * `top` leaves out what `opscope top` does (the default), `all` keeps everything. SIMD is a number
 * of osc_simd_level, 0: what the processor has. Prints the best of ROUNDS (9), what was read, and a
 * sum over all columns that is the same for every number of threads and SIMD level.
 */
#include "base/source.h"
#include "scope/read/kineto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct setting {
    const char *path;
    osc_open_options options;
    uint32_t simd;
};

static double cpu_seconds(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static osc_store *read_file(const struct setting *s)
{
    osc_err err = {0};
    osc_source *source = NULL;
    osc_kineto_context context = {
        .input = s->path, .options = &s->options, .simd = (osc_simd_level)s->simd};
    osc_store *store = osc_store_new();
    if (s->options.omit & OSC_OMIT_ARGS) {
        osc_store_omit_column(store, OSC_TABLE_slice, "args_at");
        osc_store_omit_column(store, OSC_TABLE_slice, "args_len");
    }
    if (s->options.omit & OSC_OMIT_SHAPES)
        osc_store_omit_column(store, OSC_TABLE_slice, "shapes");
    if (osc_source_open(s->path, &(osc_source_options){0}, &source, &err) != OSC_OK ||
        osc_kineto_read_source(store, source, &context, &err) != OSC_OK ||
        osc_store_seal(store, &err) != OSC_OK) {
        fprintf(stderr, "read_bench: %s\n", err.message);
        exit(1);
    }
    osc_source_close(source);
    return store;
}

/* Over the values of all columns; what pads is not looked at. */
static uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint64_t sum_store(const osc_store *store)
{
    static const size_t sizes[] = {8, 8, 4, 4, 1, 4};
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++) {
        const osc_table_def *def = osc_store_table_def((osc_table_id)t);
        for (uint32_t c = 0; c < def->column_count; c++) {
            uint32_t n;
            const void *column = osc_store_column(store, (osc_table_id)t, c, &n);
            sum = sum_bytes(sum, &n, sizeof n);
            if (column)
                sum = sum_bytes(sum, column, n * sizes[def->columns[c].type]);
        }
    }
    for (uint32_t i = 0; i < osc_store_text_count(store); i++) {
        osc_str text = osc_store_text(store, i);
        sum = sum_bytes(sum, text.ptr, text.len);
    }
    return sum;
}

static void report(const osc_store *store)
{
    osc_str events = osc_store_get_meta(store, "event_count");
    printf("%.*s events, %" PRIu32 " slices, %" PRIu32
           " flows, %zu bytes of tables, sum %016" PRIx64 "\n",
           OSC_STR_FMT(events), osc_store_slice(store)->count, osc_store_flow(store)->count,
           osc_store_bytes(store), sum_store(store));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: read_bench FILE [all|top] [THREADS [SIMD [ROUNDS]]]\n", stderr);
        return 2;
    }
    bool all = argc > 2 && strcmp(argv[2], "all") == 0;
    struct setting s = {.path = argv[1], .simd = argc > 4 ? (uint32_t)atoi(argv[4]) : 0};
    s.options.threads = argc > 3 ? (uint32_t)atoi(argv[3]) : 1;
    if (!all) {
        s.options.omit = OSC_OMIT_ARGS | OSC_OMIT_SHAPES | OSC_OMIT_FLOWS | OSC_OMIT_SEQUENCES |
                         OSC_OMIT_LAUNCHES;
        s.options.frames = OSC_FRAMES_BY_ERA;
    }
    int rounds = argc > 5 ? atoi(argv[5]) : 9;
    double cpu = 1e9, wall = 1e9;
    for (int i = 0; i < rounds; i++) {
        double c = cpu_seconds(), w = wall_seconds();
        osc_store *store = read_file(&s);
        c = cpu_seconds() - c;
        w = wall_seconds() - w;
        cpu = c < cpu ? c : cpu;
        wall = w < wall ? w : wall;
        if (i == rounds - 1)
            report(store);
        osc_store_free(store);
    }
    printf("%.2f ms of CPU, %.2f ms of wall time, best of %d\n", cpu * 1e3, wall * 1e3, rounds);
    return 0;
}
