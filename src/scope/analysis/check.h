/*
 * check.h - can a trace be trusted: ordered, complete, linked, plausible?
 *
 * Every check is one row of a registration table: name, title, what it looks at, what to do about
 * it. All are listed with a verdict, also the good ones. FAIL: a number of the table would be wrong
 * or data is missing. warn: the reader should know something before he draws conclusions. The
 * checks are those of PyTorch's own trace validator (kineto-trace-format.md 2.11) and what
 * known-bad-inputs.md says can be seen in a file.
 */
#ifndef OSC_ANALYSIS_CHECK_H
#define OSC_ANALYSIS_CHECK_H

#include "scope/analysis/table.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Columns of the result. */
typedef enum osc_check_column {
    OSC_CHECK_NAME = 0, /* machine name, for --only and --allow */
    OSC_CHECK_VERDICT,  /* "ok", "warn", "FAIL" */
    OSC_CHECK_TITLE,    /* what should hold */
    OSC_CHECK_EVIDENCE, /* what was seen */
    OSC_CHECK_ADVICE,   /* the way out; empty when ok */
    OSC_CHECK_COUNT,    /* number of cases, 0 when ok */
    OSC_CHECK_COLUMNS
} osc_check_column;

typedef struct osc_check_options {
    const char *only;         /* run this check alone; NULL: all */
    const char *const *allow; /* names whose FAIL becomes a warning; may be NULL */
    uint32_t allow_count;
} osc_check_options;

/* One row of the registration table, for documents and messages. Static storage. */
typedef struct osc_check_doc {
    const char *name;
    const char *title;
    const char *worst; /* "FAIL" or "warn" */
    const char *looks; /* what it looks at, one sentence */
} osc_check_doc;

/* All checks in the order they are listed, the one over ranks included. */
const osc_check_doc *osc_check_docs(uint32_t *count);

/* Names of all checks, NULL-terminated; for options and messages. */
extern const char *const osc_check_names[];

/*
 * Runs the checks on a sealed store. Facts: failures, warnings. *out is NULL on failure
 * (OSC_ENOMEM). Work that only the arguments of events show is read again from the input; an input
 * that cannot be read twice is said so.
 */
OSC_MUST_CHECK osc_status osc_check(const osc_store *store, const osc_check_options *options,
                                    osc_table **out, osc_err *err);

/* What the ranks of a job are compared by; zero-initialise, free with osc_check_ranks_free. */
typedef struct osc_check_ranks osc_check_ranks;

/* A new empty comparison; NULL when out of memory. */
osc_check_ranks *osc_check_ranks_new(void);
void osc_check_ranks_free(osc_check_ranks *ranks); /* NULL allowed */

/* Notes the steps and collectives of one rank; the store may be freed afterwards. False: out of
 * memory. */
bool osc_check_ranks_add(osc_check_ranks *ranks, const osc_store *store, int64_t rank);

/*
 * Adds the verdict over all ranks noted to a table that osc_check made for `one` of them, and
 * renews its facts. Does nothing for fewer than two ranks.
 */
void osc_check_ranks_verdict(const osc_check_ranks *ranks, const osc_check_options *options,
                             osc_table *table);

#endif
