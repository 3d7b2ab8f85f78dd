/*
 * timeline_support.h - small timelines as stores, for the tests of steps, idle and path: times in ns, one process, one
 * device; and random ones.
 */
#ifndef OSC_TESTS_UNIT_TIMELINE_SUPPORT_H
#define OSC_TESTS_UNIT_TIMELINE_SUPPORT_H

#include "tap.h"

#include "base/rng.h"
#include "scope/analysis/busy.h"
#include "scope/store/store.h"

#include <stdio.h>
#include <string.h>

enum { TL_THREADS = 2, TL_STREAMS = 2 };

typedef struct timeline {
    osc_store *store;
    osc_calls *calls; /* after tl_open */
    osc_busy busy;
    uint32_t order;
} timeline;

static inline uint32_t tl_track(osc_store *s, const char *lane, uint32_t thread, int64_t number,
                                osc_lane_kind kind)
{
    char name[64];
    snprintf(name, sizeof name, "host/PID:1/%s", lane);
    osc_track_row row = {.name = osc_store_intern(s, osc_str_from_cstr(name)),
                         .lane = osc_store_intern(s, osc_str_from_cstr(lane)),
                         .thread = thread,
                         .number = number,
                         .lane_kind = (uint8_t)kind};
    return osc_store_add_track(s, &row);
}

/* Tracks: threads 0 and 1, then streams 7 and 8 of device 0. */
static inline timeline tl_new(void)
{
    timeline t = {.store = osc_store_new()};
    tl_track(t.store, "framework/TID:1", 0, 1, OSC_LANE_THREAD);
    tl_track(t.store, "framework/TID:2", 1, 2, OSC_LANE_THREAD);
    tl_track(t.store, "device:0/Stream:7", 2, 7, OSC_LANE_DEVICE);
    tl_track(t.store, "device:0/Stream:8", 3, 8, OSC_LANE_DEVICE);
    return t;
}

static inline uint32_t tl_add(timeline *t, osc_slice_kind kind, const char *name, uint32_t track,
                              int64_t start, int64_t end, int64_t correlation)
{
    osc_slice_row row = {.start_ns = start,
                         .dur_ns = end - start,
                         .correlation = correlation,
                         .name = osc_store_intern(t->store, osc_str_from_cstr(name)),
                         .track = track,
                         .order = t->order++,
                         .kind = (uint8_t)kind};
    if (kind == OSC_KIND_CPU_OP)
        row.external_id = 1000000 + t->order;
    return osc_store_add_slice(t->store, &row);
}

static inline void tl_step(timeline *t, const char *name, int64_t start, int64_t end)
{
    tl_add(t, OSC_KIND_USER_ANNOTATION, name, 0, start, end, 0);
}

static inline void tl_op(timeline *t, const char *name, uint32_t thread, int64_t start, int64_t end)
{
    tl_add(t, OSC_KIND_CPU_OP, name, thread, start, end, 0);
}

static inline void tl_call(timeline *t, const char *name, uint32_t thread, int64_t start,
                           int64_t end, int64_t correlation)
{
    tl_add(t, OSC_KIND_RUNTIME, name, thread, start, end, correlation);
}

/* Work on stream 7 or 8; what it is follows from its name. */
static inline void tl_work(timeline *t, const char *name, int64_t stream, int64_t start,
                           int64_t end, int64_t correlation)
{
    osc_slice_kind kind = strncmp(name, "Memcpy", 6) == 0   ? OSC_KIND_MEMCPY
                          : strncmp(name, "Memset", 6) == 0 ? OSC_KIND_MEMSET
                                                            : OSC_KIND_KERNEL;
    tl_add(t, kind, name, TL_THREADS + (uint32_t)(stream - 7), start, end, correlation);
}

static inline bool tl_seal(timeline *t)
{
    osc_err err = {0};
    bool ok = osc_store_seal(t->store, &err) == OSC_OK;
    return tap_check(ok, __FILE__, __LINE__, "sealed: %s", err.message);
}

/* Seals the store and builds what the analyses start from. */
static inline bool tl_open(timeline *t)
{
    osc_err err = {0};
    return tl_seal(t) && tap_check(osc_busy_open(t->store, &t->calls, &t->busy, &err) == OSC_OK,
                                   __FILE__, __LINE__, "opened: %s", err.message);
}

static inline void tl_free(timeline *t)
{
    osc_busy_free(&t->busy);
    osc_calls_free(t->calls);
    osc_store_free(t->store);
    memset(t, 0, sizeof *t);
}

/*
 * A random timeline within [0, 400): calls of two threads one after the other, some of which launch work on
 * two streams, some of which wait; work with unknown launches; work that begins before its launch (T09); work without length (T05);
 * collectives and copies; overlapping work of one stream (N02). Thread 1 runs backward nodes.
 */
static inline timeline tl_random(osc_rng *rng, bool steps)
{
    timeline t = tl_new();
    int64_t correlation = 1;
    if (steps) {
        tl_step(&t, "ProfilerStep#1", 10, 150);
        tl_step(&t, "ProfilerStep#2", 140, 260); /* overlaps: adjust_profiler_step */
        tl_step(&t, "ProfilerStep#3", 270, 390);
    }
    for (uint32_t thread = 0; thread < TL_THREADS; thread++) {
        int64_t at = (int64_t)osc_rng_below(rng, 40);
        while (at < 360) {
            int64_t end = at + 1 + (int64_t)osc_rng_below(rng, 12);
            uint64_t what = osc_rng_below(rng, 8);
            if (what == 0) {
                tl_call(&t, "cudaDeviceSynchronize", thread, at, end, 0);
            } else if (what < 6) {
                static const char *const names[] = {"gemm", "relu", "ncclDevKernel_AllReduce",
                                                    "Memcpy DtoH", "Memset (Device)"};
                const char *name = names[osc_rng_below(rng, 5)];
                int64_t start = at - 3 + (int64_t)osc_rng_below(rng, 30);
                int64_t dur = (int64_t)osc_rng_below(rng, 25);
                tl_call(&t, "cudaLaunchKernel", thread, at, end, correlation);
                tl_work(&t, name, 7 + (int64_t)osc_rng_below(rng, 2), start, start + dur,
                        osc_rng_below(rng, 10) == 0 ? 0 : correlation);
                correlation++;
            } else {
                static const char backward[] = "autograd::engine::evaluate_function: AddBackward0";
                tl_op(&t,
                      what == 6     ? "aten::view"
                      : thread == 1 ? backward
                                    : "aten::add",
                      thread, at, end);
            }
            at = end + (int64_t)osc_rng_below(rng, 15);
        }
    }
    return t;
}

#endif
