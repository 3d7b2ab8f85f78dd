/*
 * ranks.h - the traces of a distributed job: one file a rank, in one directory.
 *
 * A directory that holds no session but trace files (plain, gzip, zstd; known by content, among
 * names that hold ".json") is a set of ranks. Which rank a file is follows from its
 * distributedInfo, else from its name ("rank3", "worker_3", "TP-3", "run_3.json"), else from its
 * place in the order of names. Two files that say the same number get different ones: the first by
 * name keeps it, the other the smallest that is free.
 */
#ifndef OSC_READ_RANKS_H
#define OSC_READ_RANKS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_rank {
    char *path;   /* owned */
    int64_t rank; /* number of the rank; distinct within a list */
    int64_t said; /* what the file says of itself, -1 nothing */
    bool guessed; /* rank is not what the file says */
} osc_rank;

typedef struct osc_ranks {
    osc_rank *items; /* by rank; owned */
    uint32_t count;  /* 1 for a file, a session, or standard input (rank 0, guessed) */
    uint32_t others; /* files of a directory of ranks that are no traces and were left out */
} osc_ranks;

/*
 * What path names, as a list of inputs that osc_open takes one by one. Free with osc_ranks_free;
 * empty on failure (OSC_ENOTFOUND, OSC_EIO, OSC_ENOMEM).
 */
OSC_MUST_CHECK osc_status osc_ranks_find(const char *path, osc_ranks *out, osc_err *err);
void osc_ranks_free(osc_ranks *ranks); /* NULL allowed */

#endif
