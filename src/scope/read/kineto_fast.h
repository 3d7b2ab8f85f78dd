/*
 * kineto_fast.h - events whose layout was seen before, at the speed of memory.
 *
 * A writer writes the same bytes around the values of every event of a kind. So the reader learns
 * from an event that the reference (kineto_events.c) took: which bytes stay and which values stand
 * between them. Later events are compared with such a layout 64 bytes at a time; only their values
 * are looked at:
 *
 *     {\n    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 9,\n    "ts": 12.5, "dur": 8.675,
 *     `------------------------------------------'|      |`-------' |`-------' |`-----------' |
 *       stays                                    name   stays      pid stays   tid stays      ts  ...
 *
 * The arguments, which differ in keys and order, are turned into bits (base/jsonbits.h); the words
 * of bits show where they end, whether their tokens follow each other as the reference expects, and
 * where the colons of the few wanted keys are. All else is passed over without a look at single
 * bytes.
 *
 * Whatever is unusual (an escape, a word, a comma too many, a number too long) makes the fast
 * reader decline before it has changed anything, and the reference takes that one event. Both give
 * the same rows; tests and a fuzz target compare them.
 *
 * Rejected: bits for the whole window as simdjson makes them. Comparing is cheaper for the half of
 * the bytes that repeat, and a restart behind damage costs nothing.
 */
#ifndef OSC_READ_KINETO_FAST_H
#define OSC_READ_KINETO_FAST_H

#include "scope/read/kineto_internal.h"

/* A reader that knows no layout yet. NULL when out of memory. */
osc_fast *osc_fast_new(osc_simd_level level);
void osc_fast_free(osc_fast *fast); /* NULL allowed */

/* A reader that knows what another has learned, and nothing of its store. NULL when out of
 * memory. */
osc_fast *osc_fast_copy(const osc_fast *from);

/* The first place in len bytes where the separator of events (a comma, blanks, a brace) stands;
 * SIZE_MAX: none. And its length with the brace, 0 when it is not known. */
size_t osc_fast_find_separator(const osc_fast *fast, const char *p, size_t len);
size_t osc_fast_separator(const osc_fast *fast);

/* Forgets what belongs to a store (ids, lanes); layouts stay. For a reader that fills several
 * stores. */
void osc_fast_reset(osc_fast *fast);

/* Learns the layout of an event that the reference took: `before` stood at its '{', k->scan stands
 * behind its '}'. */
void osc_fast_learn(osc_kineto *k, const osc_scan *before, const osc_kineto_event *event);

/* Takes events, each with the separator before it, while their layouts are known. Stops before the
 * first that is not, or that lies at or behind k->stop; the scan stands behind the last one
 * taken. */
void osc_fast_run(osc_kineto *k);

#endif
