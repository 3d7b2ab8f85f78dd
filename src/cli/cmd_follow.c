/* cmd_follow.c - `opscope follow`: one operation's life, top to bottom. */
#include "cli/output.h"

#include "base/str.h"
#include "scope/analysis/follow.h"
#include "scope/export/export.h"
#include "scope/export/waterfall.h"
#include "scope/read/open.h"

enum { FOLLOW_NTH = 0, FOLLOW_LIMIT, FOLLOW_FORMAT };

static const osc_opt options[] = {
    {"nth", 0, OSC_OPT_INT, "N", "which call, in order of start (default 1)", NULL},
    {"limit", 'n', OSC_OPT_INT, "N",
     "tell at most N instructions of an execution, -1 all (default 40)", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, md, csv, json or jsonl; the last three carry every column and exact nanoseconds",
     osc_format_names},
};

static int show(const osc_call *call, const osc_store *store, uint32_t nth)
{
    const osc_opt_value *v = call->values;
    osc_format format =
        v[FOLLOW_FORMAT].set ? (osc_format)v[FOLLOW_FORMAT].number : OSC_FORMAT_TABLE;
    osc_table *table = NULL;
    osc_err err = {0};
    if (osc_follow(store, osc_str_from_cstr(call->operands[1]), nth, &table, &err) != OSC_OK)
        return osc_cli_fail(&err);
    if (format == OSC_FORMAT_TABLE)
        osc_export_waterfall(table, v[FOLLOW_LIMIT].set ? v[FOLLOW_LIMIT].number : 40,
                             call->cli->colour, &call->cli->out);
    else
        osc_export(table, format, false, &call->cli->out);
    osc_table_free(table);
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

static int run(const osc_call *call)
{
    osc_open_options open = {.device = true};
    osc_store *store = NULL;
    osc_err err = {0};
    int64_t nth = call->values[FOLLOW_NTH].set ? call->values[FOLLOW_NTH].number : 1;
    if (nth < 1 || nth > UINT32_MAX) {
        osc_cli_say("follow: calls are counted from 1, there is no call %lld", (long long)nth);
        return OSC_EXIT_USAGE;
    }
    if (osc_open(call->operands[0], &open, &store, &err) != OSC_OK)
        return osc_cli_fail(&err);
    int code = show(call, store, (uint32_t)nth);
    osc_store_free(store);
    return code;
}

const osc_command osc_command_follow = {
    .name = "follow",
    .summary = "one operation's life, from the operator to the instructions",
    .operands = "TRACE OPERATOR",
    .description =
        "Shows one call of an operator (or of a range such as ProfilerStep*) through every lane:\n"
        "the framework's thread, the stream, the runtime call, the execution on the core, and "
        "inside it\n"
        "the launch by its parts and every engine instruction and DMA transfer, each with what it "
        "waited\n"
        "for. Copies the operator caused are shown too. A plain trace has fewer lanes than a "
        "session.\n\n"
        "Starts of lanes count from the first profiler step, those of instructions from the start "
        "of\n"
        "their execution. Parts of a launch come from a fitted model and say so. What the shares "
        "in the\n"
        "last lines leave to 100 % is preamble, postamble and waiting.",
    .example = " opscope follow run aten::mul --nth 2\n opscope follow run aten::add --format json",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 2,
    .operands_max = 2,
    .file_glob = NULL,
    .run = run,
};
