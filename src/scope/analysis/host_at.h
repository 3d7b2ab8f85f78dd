/*
 * host_at.h - what host threads were in: at single instants, and as a walk along one thread.
 */
#ifndef OSC_ANALYSIS_HOST_AT_H
#define OSC_ANALYSIS_HOST_AT_H

#include "scope/analysis/busy.h"

/* A question: what was this thread in at this time; the answers are filled in. */
typedef struct osc_instant {
    int64_t at_ns;
    uint32_t thread;
    uint32_t inner; /* innermost operator, call, range or frame, OSC_NO_ROW: nothing recorded */
    uint32_t range; /* innermost frame or annotation (no ProfilerStep#), OSC_NO_ROW: none */
} osc_instant;

/*
 * Answers n questions in any order. Innermost is what began last of all that was open, the shorter
 * of two that began together. OSC_ENOMEM. Cost: a pass over the slices, and a logarithm of n for
 * slices that cover a question; frames need no sorting.
 */
OSC_MUST_CHECK osc_status osc_host_at(const osc_busy *busy, osc_instant *questions, uint32_t n,
                                      osc_err *err);

/* A stretch of one thread in which the same slice was innermost. */
typedef struct osc_piece {
    int64_t start_ns, end_ns;
    uint32_t slice; /* OSC_NO_ROW: no operator or call was open */
} osc_piece;

/* Walks the counted slices of one thread by time; each instant of [from, to) is in exactly one
 * piece. */
typedef struct osc_pieces {
    const osc_busy *busy;
    const uint32_t *order; /* osc_calls_order */
    uint32_t next, end;    /* positions in order */
    int64_t at_ns, to_ns;
    uint32_t *stack; /* open slices; owned */
    uint32_t depth, room;
    bool failed; /* out of memory; the walk ends early */
} osc_pieces;

/* Starts at from_ns on a thread whose slices are order[first, end). The stack of an earlier walk is
 * reused: zero the struct before the first one, and osc_pieces_free after the last. */
void osc_pieces_start(osc_pieces *p, const osc_busy *busy, uint32_t first, uint32_t end,
                      int64_t from_ns, int64_t to_ns);
/* The next piece, never empty; false at the end. */
bool osc_pieces_next(osc_pieces *p, osc_piece *out);
void osc_pieces_free(osc_pieces *p);

/* Where a thread's slices lie in osc_calls_order: *first and *end (equal when it has none). */
void osc_thread_range(const osc_busy *busy, uint32_t thread, uint32_t *first, uint32_t *end);

#endif
