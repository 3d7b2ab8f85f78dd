/* cmd_info.c - `opscope info`: what is this, can I trust it. */
#include "cli/output.h"

#include "scope/analysis/info.h"
#include "scope/export/export.h"
#include "scope/export/overview.h"
#include "scope/read/describe.h"

enum { INFO_FORMAT = 0 };

static const osc_opt options[] = {
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT", "table, csv, json, jsonl or md", osc_format_names},
};

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format = v[INFO_FORMAT].set ? (osc_format)v[INFO_FORMAT].number : OSC_FORMAT_TABLE;
    osc_store *store = NULL;
    osc_table *table = NULL;
    osc_err err = {0};
    int code;
    if (osc_describe(call->operands[0], &store, &err) != OSC_OK ||
        osc_info(store, &table, &err) != OSC_OK) {
        code = osc_cli_fail(&err);
    } else {
        if (format == OSC_FORMAT_TABLE)
            osc_export_overview(table, call->cli->colour, &call->cli->out);
        else
            osc_export(table, format, false, &call->cli->out);
        code = osc_cli_flush(call->cli, OSC_EXIT_OK);
    }
    osc_table_free(table);
    osc_store_free(store);
    return code;
}

const osc_command osc_command_info = {
    .name = "info",
    .summary = "what a file or session is, and whether it can be trusted",
    .operands = "PATH",
    .description = "Says what PATH is, how much is in it, and what is wrong with it. PATH is a "
                   "trace, a session\n"
                   "directory or one above it, or a single artifact (.neff, .ntff, .pb, run.json), "
                   "ours or the\n"
                   "vendor's; files are known by their content.\n\n"
                   "Findings have a severity: note, warn, or FAIL when data is missing or damaged. "
                   "A damaged file\n"
                   "that can be read in part is read in part, so the exit status is 0 unless "
                   "nothing can be read.",
    .example = " opscope info run\n opscope info trace.json.gz --format json",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .run = run,
};
