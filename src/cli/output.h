/*
 * output.h - where a command's output goes: result to stdout, talk to stderr.
 *
 * A result is built whole and written once; on a terminal that it does not fit, through a pager.
 * Colour and pager only on a terminal; NO_COLOR, TERM=dumb and the options are obeyed. A reader
 * that goes away (broken pipe) ends the program quietly.
 */
#ifndef OSC_CLI_OUTPUT_H
#define OSC_CLI_OUTPUT_H

#include "base/buf.h"
#include "base/status.h"
#include "cli/cli.h"
#include "scope/analysis/table.h"
#include "scope/export/export.h"

#include <stdbool.h>

struct osc_cli {
    osc_look look; /* of results: colour, and the width of the terminal */
    bool pager;    /* a pager may be used */
    bool found;    /* --strict, and something was wrong with the input: success becomes a finding */
    osc_buf out;   /* the result */
};

/* Decides from the environment, the terminal and "auto", "always", "never" (NULL: auto). */
void osc_cli_init(osc_cli *cli, const char *colour, bool no_pager);
void osc_cli_free(osc_cli *cli);

/* On a terminal: control bytes of the result but line ends become spaces. For a result that holds
 * texts of the input as they are and no colour. */
void osc_cli_guard_terminal(osc_cli *cli);

/* Writes the result to stdout and empties it; returns code (FINDING for OK when `found`), or
 * INTERNAL on a failure. */
int osc_cli_flush(osc_cli *cli, int code);

/* Shows a table in a format and frees it; the exit code, as osc_cli_flush. */
int osc_cli_show(osc_cli *cli, osc_table *table, osc_format format);

/* Prints "opscope: <message>" on stderr and returns the exit code that fits the status. */
int osc_cli_fail(const osc_err *err);

/* Prints one line on stderr, "opscope: " before it. */
void osc_cli_say(const char *fmt, ...) OSC_PRINTF(1, 2);

#endif
