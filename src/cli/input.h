/*
 * input.h - what every command that takes a trace shares: opening it, progress, several ranks,
 * findings.
 *
 * Progress (bytes, rate, time left) goes to stderr when that is a terminal and the work is long.
 * Findings of the readers that change what the result means are said on stderr, one line each.
 */
#ifndef OSC_CLI_INPUT_H
#define OSC_CLI_INPUT_H

#include "cli/output.h"
#include "scope/analysis/table.h"
#include "scope/read/open.h"
#include "scope/read/ranks.h"

/*
 * Commands that use this file set takes_trace, so that they have --threads, --max-size and
 * --strict.
 *
 * Puts these options into *options; osc_cli_open does so itself.
 */
void osc_cli_open_options(const osc_call *call, osc_open_options *options);

/* Opens one input for a command; with need_args a pipe is first copied to an unlinked temporary
 * file, so that osc_args_each can read it again. Says findings. On failure *out is NULL and err is
 * filled. */
OSC_MUST_CHECK osc_status osc_cli_open(const osc_call *call, const char *path,
                                       const osc_open_options *options, bool need_args,
                                       osc_store **out, osc_err *err);

/* How the ranks of an operand are opened. */
typedef enum osc_cli_how {
    OSC_CLI_OPEN = 0,
    OSC_CLI_OPEN_WITH_ARGS = 1, /* osc_cli_open with need_args */
    OSC_CLI_DESCRIBE =
        2 /* osc_describe: single artifacts too, and findings are left to the command */
} osc_cli_how;

/* Takes one opened rank; of: how many there are. The store is freed afterwards. */
typedef osc_status (*osc_cli_rank_fn)(void *context, const osc_rank *rank, uint32_t of,
                                      const osc_store *store, osc_err *err);

/* Opens what the operand names, one trace or the ranks of a directory one after the other, and
 * calls fn for each. Says on stderr what is unclear about the ranks. Stops at the first failure. */
OSC_MUST_CHECK osc_status osc_cli_each_rank(const osc_call *call, const char *path,
                                            const osc_open_options *options, osc_cli_how how,
                                            osc_cli_rank_fn fn, void *context, osc_err *err);

/* The tables of ranks, collected by an osc_cli_rank_fn. Zero-initialise. */
typedef struct osc_cli_tables {
    osc_table **items; /* owned */
    int64_t *ranks;    /* owned */
    uint32_t count;
} osc_cli_tables;

/* Takes the table over, also on failure (OSC_ENOMEM). */
OSC_MUST_CHECK osc_status osc_cli_tables_add(osc_cli_tables *tables, int64_t rank, osc_table *table,
                                             osc_err *err);
/* All as one table: the only one itself (it leaves the list), several joined (osc_table_join). */
OSC_MUST_CHECK osc_status osc_cli_tables_join(osc_cli_tables *tables, osc_table **out,
                                              osc_err *err);
void osc_cli_tables_free(osc_cli_tables *tables);

/* One analysis of one opened rank: gives its table. */
typedef osc_status (*osc_cli_analysis)(void *context, const osc_store *store, osc_table **out,
                                       osc_err *err);

/*
 * Runs an analysis on what the operand names: one trace, or every rank of a directory, one after
 * the other, so that only one is in memory. The tables are joined; with several ranks a column
 * "rank" stands first. *out is NULL on failure.
 */
OSC_MUST_CHECK osc_status osc_cli_analyse(const osc_call *call, const char *path,
                                          const osc_open_options *options, bool need_args,
                                          osc_cli_analysis analysis, void *context, osc_table **out,
                                          osc_err *err);

#endif
