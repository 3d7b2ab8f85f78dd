/*
 * engines.h - what the engines and DMA queues of a device did: active, waiting for whom, idle.
 *
 * For device profiles of the vendor's tools and for our own captures alike, from the tables
 * executions, device_work and those that hang on them. Active time is the union of an engine's
 * instructions except those that only wait (EVENT_SEMAPHORE); waiting is the time before an
 * instruction in which its semaphore had not its value, plus the length of those that only wait;
 * idle is the rest of the time that the executions took. Rules: summary-metrics.md 1.2 and
 * docs/formats/device-profile.md.
 */
#ifndef OSC_ANALYSIS_ENGINES_H
#define OSC_ANALYSIS_ENGINES_H

#include "scope/analysis/table.h"
#include "scope/store/store.h"

/* Which executions count. All zero: all. */
typedef struct osc_engine_options {
    int64_t nth;         /* only the nth in time (from 1) of those that the others leave; 0 all */
    const char *program; /* only executions of programs with this name; NULL all */
    uint64_t hash;       /* only executions of the program with this hash; 0 all */
    uint32_t columns;    /* width of the timeline's picture; 0: 64 */
} osc_engine_options;

/* Columns of osc_engines, also of its JSON. */
enum {
    OSC_EN_CORE = 0,
    OSC_EN_ENGINE,
    OSC_EN_COUNT,
    OSC_EN_ACTIVE,
    OSC_EN_WAITING,
    OSC_EN_IDLE,
    OSC_EN_SHARE,
    OSC_EN_TIME,
    OSC_EN_WAITS_FOR,
    OSC_EN_COLUMNS
};

/*
 * One row per core and engine. Facts: executions, total_ns, program, source. OSC_ENOTFOUND when the
 * store has no device work or the options leave none (with the way out); OSC_ENOMEM.
 */
OSC_MUST_CHECK osc_status osc_engines(const osc_store *store, const osc_engine_options *options,
                                      osc_table **out, osc_err *err);

/* One row per core, engine and opcode: count, time, mean, bytes, flops. */
OSC_MUST_CHECK osc_status osc_engines_by_opcode(const osc_store *store,
                                                const osc_engine_options *options, osc_table **out,
                                                osc_err *err);

/* One row per core and DMA queue: packets, bytes, time, active time, bandwidth. */
OSC_MUST_CHECK osc_status osc_engines_by_queue(const osc_store *store,
                                               const osc_engine_options *options, osc_table **out,
                                               osc_err *err);

/* One row per core, waiting engine and semaphore: who raises it, how often and how long. */
OSC_MUST_CHECK osc_status osc_engines_by_semaphore(const osc_store *store,
                                                   const osc_engine_options *options,
                                                   osc_table **out, osc_err *err);

/*
 * One row for all instructions, then one per layer of the network (or framework operator) in order
 * of their first start: start, length, and per engine count, time, active time and its share; flops
 * and how much of the tensor engine's peak they are. The vendor's layer_summary, summary-metrics.md
 * 2.1.
 */
OSC_MUST_CHECK osc_status osc_engines_by_layer(const osc_store *store,
                                               const osc_engine_options *options, osc_table **out,
                                               osc_err *err);

/*
 * The engines over time as text: one row per core and engine and one for DMA, in each place '#'
 * busy at least half of it, '+' busy at all, '.' waiting, ' ' neither, '/' a stretch left out
 * because nothing was busy in it. Facts: start_ns, drawn_ns (what the picture covers), cut_ns (what
 * it leaves out).
 */
OSC_MUST_CHECK osc_status osc_engine_timeline(const osc_store *store,
                                              const osc_engine_options *options, osc_table **out,
                                              osc_err *err);

#endif
