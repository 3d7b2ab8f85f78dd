/* cmd_follow.c - `opscope follow`: one operation's life, top to bottom. */
#include "cli/input.h"
#include "cli/output.h"
#include "cli/when.h"

#include "base/str.h"
#include "scope/analysis/follow.h"
#include "scope/export/export.h"
#include "scope/export/waterfall.h"

#include <string.h>

#define LIMIT 40

enum {
    FOLLOW_NTH = 0,
    FOLLOW_AT,
    FOLLOW_SLICE,
    FOLLOW_FRAMES,
    FOLLOW_LIMIT,
    FOLLOW_ALL,
    FOLLOW_FORMAT
};

static const osc_opt options[] = {
    {"nth", 0, OSC_OPT_INT, "N", "which call, in order of start (default 1)", NULL},
    {"at", 0, OSC_OPT_TEXT, "TIME",
     "instead the call that runs then, else the next: 1.2ms from the first event of the "
     "capture on, as tables show it, an integer without a unit is absolute ns",
     NULL},
    {"slice", 0, OSC_OPT_INT, "ROW",
     "instead this slice, as the column slice of machine formats names it", NULL},
    {"frames", 0, OSC_OPT_FLAG, NULL, "also the python frames around the call", NULL},
    {"limit", 'n', OSC_OPT_INT, "N",
     "tell at most N launches of a call, kernels of a graph, instructions of "
     "an execution, -1 all "
     "(default 40)",
     NULL},
    {"all", 'a', OSC_OPT_FLAG, NULL, "tell everything, groups of instructions that repeat too",
     NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, md, csv, json or jsonl; the last three carry every row and column "
     "and exact nanoseconds",
     osc_format_names},
};

static bool parse_time(const char *text, osc_follow_options *out)
{
    osc_when when;
    out->by_time = osc_cli_parse_when(text, &when);
    if (out->by_time) {
        out->at_ns = when.ns;
        out->absolute = when.absolute;
    }
    return out->by_time;
}

struct following {
    const osc_call *call;
    const osc_follow_options *what;
    osc_cli_tables tables;
};

/* Follows the call in one trace; in one of several ranks it may be missing. */
static osc_status follow_rank(void *context, const osc_rank *rank, uint32_t of,
                              const osc_store *store, osc_err *err)
{
    struct following *f = context;
    osc_table *table = NULL;
    osc_status status = osc_follow_call(store, f->what, &table, err);
    if (status == OSC_ENOTFOUND && of > 1) {
        osc_cli_say("rank %lld: %s", (long long)rank->rank, err->message);
        *err = (osc_err){0};
        return OSC_OK;
    }
    return status == OSC_OK ? osc_cli_tables_add(&f->tables, rank->rank, table, err) : status;
}

static osc_status show(struct following *f, osc_err *err)
{
    const osc_opt_value *v = f->call->values;
    osc_buf *out = &f->call->cli->out;
    osc_format format =
        v[FOLLOW_FORMAT].set ? (osc_format)v[FOLLOW_FORMAT].number : OSC_FORMAT_TABLE;
    int64_t limit = v[FOLLOW_ALL].set ? -1 : v[FOLLOW_LIMIT].set ? v[FOLLOW_LIMIT].number : LIMIT;
    osc_table *joined = NULL;
    for (uint32_t i = 0; format == OSC_FORMAT_TABLE && i < f->tables.count; i++) {
        if (f->tables.count > 1)
            osc_buf_printf(out, "%srank %lld\n", i ? "\n" : "", (long long)f->tables.ranks[i]);
        osc_export_waterfall(f->tables.items[i], limit, f->call->cli->look.colour, out);
    }
    if (format == OSC_FORMAT_TABLE)
        return OSC_OK;
    osc_status status = osc_cli_tables_join(&f->tables, &joined, err);
    if (status == OSC_OK)
        osc_export(joined, format, NULL, out);
    osc_table_free(joined);
    return status;
}

/* Options to what to follow; the exit code, OSC_EXIT_OK when they are right. */
static int read_options(const osc_call *call, osc_follow_options *out)
{
    const osc_opt_value *v = call->values;
    int64_t nth = v[FOLLOW_NTH].set ? v[FOLLOW_NTH].number : 1;
    if (call->operand_count > 1)
        out->name = osc_str_from_cstr(call->operands[1]);
    if (nth < 1 || nth > UINT32_MAX) {
        osc_cli_say("follow: calls are counted from 1, there is no call %lld", (long long)nth);
        return OSC_EXIT_USAGE;
    }
    out->nth = (uint32_t)nth;
    if (v[FOLLOW_AT].set && !parse_time(v[FOLLOW_AT].text, out)) {
        osc_cli_say("follow: --at wants a time such as 1.2ms, not '%s'", v[FOLLOW_AT].text);
        return OSC_EXIT_USAGE;
    }
    if (v[FOLLOW_SLICE].set &&
        (v[FOLLOW_SLICE].number < 0 || v[FOLLOW_SLICE].number >= UINT32_MAX)) {
        osc_cli_say("follow: there is no slice %lld", (long long)v[FOLLOW_SLICE].number);
        return OSC_EXIT_USAGE;
    }
    if (v[FOLLOW_SLICE].set && v[FOLLOW_AT].set) {
        osc_cli_say("follow: --at and --slice exclude each other");
        return OSC_EXIT_USAGE;
    }
    out->by_slice = v[FOLLOW_SLICE].set;
    out->slice = out->by_slice ? (uint32_t)v[FOLLOW_SLICE].number : 0;
    out->frames = v[FOLLOW_FRAMES].set;
    if (out->name.len == 0 && !out->by_slice && !out->by_time) {
        osc_cli_say("follow: which operator? Name one, or give --at or --slice; "
                    "opscope top lists them");
        return OSC_EXIT_USAGE;
    }
    return OSC_EXIT_OK;
}

static int run(const osc_call *call)
{
    osc_open_options open = {.device = true, .omit = OSC_OMIT_SHAPES | OSC_OMIT_FLOWS};
    osc_follow_options what = {0};
    struct following f = {.call = call, .what = &what};
    osc_err err = {0};
    int code = read_options(call, &what);
    if (code != OSC_EXIT_OK)
        return code;
    osc_cli_open_options(call, &open);
    what.threads = open.threads;
    osc_status status = osc_cli_each_rank(call, call->operands[0], &open, OSC_CLI_OPEN_WITH_ARGS,
                                          follow_rank, &f, &err);
    bool found = f.tables.count > 0;
    if (status == OSC_OK && found)
        status = show(&f, &err);
    if (status != OSC_OK)
        code = osc_cli_fail(&err);
    else
        code = osc_cli_flush(call->cli, found ? OSC_EXIT_OK : OSC_EXIT_INPUT);
    osc_cli_tables_free(&f.tables);
    return code;
}

const osc_command osc_command_follow = {
    .name = "follow",
    .summary = "one operation's life, from the operator to the instructions",
    .operands = "TRACE [OPERATOR]",
    .description =
        "Shows one call of an operator (or of a range such as ProfilerStep*, a runtime\n"
        "call, a kernel) through every lane. From any trace: the operators inside it that\n"
        "launch, their runtime calls, and the device work with what it waited for: the\n"
        "launch, or earlier work on its stream. The word after a name says how the link to\n"
        "the operator is known: by id, by correlation, or by time (its runtime call lies\n"
        "inside the operator). What has no operator is unlinked.\n\n"
        "From a Neuron session also the stream, the execution on the core, and inside it\n"
        "the launch by its parts and every engine instruction and DMA transfer. Parts of a\n"
        "launch come from a fitted model and say so. What the shares in the last lines\n"
        "leave to 100 % is preamble, postamble and waiting.\n\n"
        "OPERATOR is a name as opscope top shows it or a part that only one name has.\n"
        "Starts of lanes count from the first event of the capture, as in all views, and\n"
        "--at takes them; those of instructions count from their execution, those of a\n"
        "graph's kernels from the first. At the end stand the forward or backward partner,\n"
        "by sequence number, and the calls of the same name before and after.",
    .example = " opscope follow trace.json.gz aten::mm --nth 3\n"
               " opscope follow trace.json.gz --at 12.5ms\n"
               " opscope follow run aten::add --format json",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .takes_trace = true,
    .operands_min = 1,
    .operands_max = 2,
    .file_glob = NULL,
    .run = run,
};
