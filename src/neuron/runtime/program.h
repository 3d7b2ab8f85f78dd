/*
 * program.h - compiled programs inside the runtime: caches, loading per device, release.
 */
#ifndef OSC_NEURON_RUNTIME_PROGRAM_H
#define OSC_NEURON_RUNTIME_PROGRAM_H

#include "artifact/program.h"
#include "base/hash.h"
#include "neuron/device/device.h"
#include "neuron/runtime/rt.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct osc_programs osc_programs; /* program.c */

/* A compiled program and what the runtime knows of it. Read-only once made, but for the marked
 * fields. */
struct osc_nrt_program {
    _Atomic uint32_t references;
    osc_rt *rt;
    osc_program *program; /* one reference */
    uint64_t id;          /* unique in the process, from 1: the model id of traces */
    char *name;           /* owned */
    char *cache_key;      /* owned */
    uint64_t hash;
    uint32_t slots, outputs, instructions;
    uint64_t flops;
    uint64_t scratch_bytes; /* HBM it needs for itself in a run */
    bool from_disk_cache;
    uint64_t *span_bytes;    /* per slot: bytes from its address that may be touched; owned */
    _Atomic int64_t body_ns; /* -1 until somebody asks */
    osc_loaded **loaded;     /* per device; each entry belongs to that device's queue thread */
    unsigned char content[OSC_SHA256_SIZE]; /* key of the content cache */
    struct osc_nrt_program *next;           /* chain of the content cache; its lock */
};

osc_status osc_programs_new(osc_programs **out, osc_err *err) OSC_MUST_CHECK;
void osc_programs_free(osc_programs *programs); /* of a runtime that did not start; NULL allowed */

/* ---- program.c ---- */

/* Wraps a sealed program, whose reference is taken also on failure. key may be "". */
osc_status osc_program_wrap(osc_rt *rt, osc_program *take, const char *key, osc_nrt_program **out,
                            osc_err *err) OSC_MUST_CHECK;
/* Finds or compiles the graph's program; one reference for the caller. Needs the compile lock. */
osc_status osc_program_find(osc_rt *rt, const osc_graph *graph, osc_nrt_program **out,
                            osc_err *err) OSC_MUST_CHECK;
void osc_program_compile_lock(osc_rt *rt);
void osc_program_compile_unlock(osc_rt *rt);
/* Drops the content cache's references. Needs the compile lock. */
void osc_program_forget_all(osc_rt *rt);

/* Programs of the content cache, each with a reference for the caller, who frees the array; at most
 * max. */
size_t osc_program_list(osc_rt *rt, size_t max, osc_nrt_program ***out);

void osc_nrt_program_retain(osc_nrt_program *program);

/* The program made ready for the device; loads it at first use. Queue thread of the device. */
osc_status osc_program_load(osc_nrt_program *program, osc_rt_device *device, osc_loaded **out,
                            osc_err *err) OSC_MUST_CHECK;
/* Unloads what released programs left behind. Queue thread of the device, or after it ended. */
void osc_program_run_unloads(osc_rt_device *device);

/* Puts one execution into the queue; addresses: program->slots. keep: take a reference for the time
 * it is queued. */
osc_status osc_program_launch(osc_rt_stream *stream, osc_nrt_program *program,
                              void *const *addresses, uint32_t count, bool keep,
                              const osc_nrt_op *op, osc_err *err) OSC_MUST_CHECK;

/* Counters of osc_nrt_get_cache_stats. */
typedef struct osc_cache_counters {
    _Atomic uint64_t memory_hits, memory_misses, disk_hits, disk_misses, compilations, compile_ns,
        unsupported;
} osc_cache_counters;
osc_cache_counters *osc_program_counters(osc_rt *rt);

/* ---- opcache.c: the operator cache in front of all this ---- */

typedef struct osc_opcache osc_opcache;
osc_opcache *osc_opcache_new(void);
void osc_opcache_free(osc_opcache *cache);
osc_opcache *osc_program_opcache(osc_rt *rt);
/* Empties it and the content cache once nothing queued uses them. Needs the compile lock. */
void osc_opcache_flush(osc_rt *rt);

#endif
