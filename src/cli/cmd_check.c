/* cmd_check.c - `opscope check`: ordered, complete, linked, plausible? */
#include "cli/input.h"

#include "base/str.h"
#include "scope/analysis/check.h"
#include "scope/export/export.h"
#include "scope/export/verdicts.h"

#include <string.h>

enum { CHECK_FORMAT = 0, CHECK_ONLY, CHECK_ALLOW };

/* Most names that --allow takes. */
#define ALLOW_MAX 40u

static const osc_opt options[] = {
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT", "table, csv, json, jsonl or md", osc_format_names},
    {"only", 0, OSC_OPT_TEXT, "CHECK",
     "run this check alone, named as the column check of --format csv has it", osc_check_names},
    {"allow", 0, OSC_OPT_TEXT, "CHECKS",
     "a FAIL of these checks (names joined by commas) is a warning", osc_check_names},
};

/* The check of a name, NULL and a usage message when there is none. */
static const char *find_check(osc_str name)
{
    size_t n = 0;
    for (; osc_check_names[n]; n++) {
        if (osc_str_eq_cstr(name, osc_check_names[n]))
            return osc_check_names[n];
    }
    const char *near = osc_nearest(name, osc_check_names, n);
    osc_cli_say("check: no check '%.*s'; %s%s", OSC_STR_FMT(name),
                near ? "the nearest is " : "--format csv has the names in its column check",
                near ? near : "");
    return NULL;
}

/* Fills the options of the analysis; allow has room for ALLOW_MAX names. */
static bool take_options(const osc_opt_value *v, const char **allow, osc_check_options *out)
{
    *out = (osc_check_options){.allow = allow};
    if (v[CHECK_ONLY].set && !(out->only = find_check(osc_str_from_cstr(v[CHECK_ONLY].text))))
        return false;
    osc_str list = osc_str_from_cstr(v[CHECK_ALLOW].set ? v[CHECK_ALLOW].text : ""), name;
    while (list.len > 0 && osc_str_split(&list, ',', &name)) {
        if (out->allow_count == ALLOW_MAX) {
            osc_cli_say("check: --allow takes at most %u names", ALLOW_MAX);
            return false;
        }
        if (!(allow[out->allow_count++] = find_check(name)))
            return false;
    }
    return true;
}

struct checking {
    const osc_check_options *options;
    osc_check_ranks *ranks;
    osc_cli_tables tables;
};

/* One rank: its checks, and what the ranks are compared by. */
static osc_status check_one(void *context, const osc_rank *rank, uint32_t of,
                            const osc_store *store, osc_err *err)
{
    struct checking *c = context;
    osc_table *table = NULL;
    if (of > 1 && !osc_check_ranks_add(c->ranks, store, rank->rank))
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the ranks");
    osc_status status = osc_check(store, c->options, &table, err);
    return status == OSC_OK ? osc_cli_tables_add(&c->tables, rank->rank, table, err) : status;
}

static int show(const osc_call *call, const osc_table *table)
{
    const osc_opt_value *v = call->values;
    osc_format format = v[CHECK_FORMAT].set ? (osc_format)v[CHECK_FORMAT].number : OSC_FORMAT_TABLE;
    if (format == OSC_FORMAT_TABLE)
        osc_export_verdicts(table, call->cli->look.colour, &call->cli->out);
    else
        osc_export(table, format, NULL, &call->cli->out);
    return osc_cli_flush(call->cli, osc_table_fact_i64(table, "failures") > 0 ? OSC_EXIT_FINDING
                                                                              : OSC_EXIT_OK);
}

static int run(const osc_call *call)
{
    const char *allow[ALLOW_MAX];
    osc_check_options check;
    osc_open_options open = {.device = true};
    osc_table *table = NULL;
    osc_err err = {0};
    if (!take_options(call->values, allow, &check))
        return OSC_EXIT_USAGE;
    struct checking c = {.options = &check, .ranks = osc_check_ranks_new()};
    osc_status status = c.ranks ? osc_cli_each_rank(call, call->operands[0], &open,
                                                    OSC_CLI_OPEN_WITH_ARGS, check_one, &c, &err)
                                : osc_fail(&err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    if (status == OSC_OK)
        status = osc_cli_tables_join(&c.tables, &table, &err);
    if (status == OSC_OK)
        osc_check_ranks_verdict(c.ranks, &check, table);
    int code = status == OSC_OK ? show(call, table) : osc_cli_fail(&err);
    osc_cli_tables_free(&c.tables);
    osc_check_ranks_free(c.ranks);
    osc_table_free(table);
    return code;
}

const osc_command osc_command_check = {
    .name = "check",
    .summary = "whether a trace is ordered, complete, linked and plausible",
    .operands = "TRACE",
    .description =
        "Runs every check on a trace, a session directory, a directory of ranks, or - for\n"
        "standard input, and lists each with its verdict, what was seen, and the way out.\n\n"
        "FAIL: a number of the table would be wrong, or data is missing. The exit status is\n"
        "then 1, so a script can stop. warn: something to know before drawing conclusions;\n"
        "the exit status stays 0. --allow turns a FAIL that is known and accepted into a\n"
        "warning.",
    .example = " opscope check trace.json.gz\n opscope check run --allow truncated\n"
               " opscope check ranks/ --only rank_clocks --format json",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .takes_trace = true,
    .tells_findings = true,
    .run = run,
};
