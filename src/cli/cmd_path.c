/* cmd_path.c - `opscope path`: the critical path of a step. */
#include "cli/input.h"

#include "base/str.h"
#include "scope/analysis/path.h"
#include "scope/export/export.h"

static const char *const rows[] = {"name", "segment", NULL};

enum { PATH_STEP = 0, PATH_WORK, PATH_BY, PATH_LIMIT, PATH_FORMAT };

static const osc_opt options[] = {
    {"step", 0, OSC_OPT_INT, "N", "of ProfilerStep#N (default: the step of median length)", NULL},
    {"work", 'w', OSC_OPT_FLAG, NULL,
     "to the end of the last work launched in the step, when that is after the step's own end",
     NULL},
    {"by", 'b', OSC_OPT_CHOICE, "WHAT",
     "name: a row for each contributor (default in tables); segment: each stretch of the path in "
     "order (default in all other formats)",
     rows},
    {"limit", 'n', OSC_OPT_INT, "N",
     "show at most N rows (default: 20 in tables, all in other formats)", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, md, csv, json or jsonl; the last three carry every column and exact nanoseconds",
     osc_format_names},
};

static osc_status analyse(void *context, const osc_store *store, osc_table **out, osc_err *err)
{
    return osc_path_table(store, context, out, err);
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format = v[PATH_FORMAT].set ? (osc_format)v[PATH_FORMAT].number : OSC_FORMAT_TABLE;
    bool people = format == OSC_FORMAT_TABLE || format == OSC_FORMAT_MD;
    osc_path_options o = {.step = v[PATH_STEP].set ? v[PATH_STEP].number : -1,
                          .work = v[PATH_WORK].set,
                          .segments = v[PATH_BY].set ? v[PATH_BY].number == 1 : !people,
                          .limit = v[PATH_LIMIT].set ? v[PATH_LIMIT].number
                                   : people          ? 20
                                                     : -1};
    osc_open_options open = {.omit = OSC_OMIT_SHAPES | OSC_OMIT_FLOWS};
    osc_table *table = NULL;
    osc_err err = {0};
    if (v[PATH_STEP].set && o.step < 0) {
        osc_cli_say("path: steps are counted from 0, there is no step %lld", (long long)o.step);
        return OSC_EXIT_USAGE;
    }
    if (osc_cli_analyse(call, call->operands[0], &open, true, analyse, &o, &table, &err) != OSC_OK)
        return osc_cli_fail(&err);
    return osc_cli_show(call->cli, table, format);
}

const osc_command osc_command_path = {
    .name = "path",
    .summary = "the critical path of a step: who is on it, what would shorten it",
    .operands = "TRACE",
    .description =
        "Walks back from the end of a step along what was waited for last: operators and\n"
        "calls of a thread, launches, device work, the order of streams, waits, the\n"
        "hand-over to autograd's thread and back. The stretches add up to the length of the\n"
        "step exactly.\n\n"
        "gain at most is how much shorter the step were if the contributor took no time and\n"
        "all else stayed as it was: its time on the path, or less where another chain is\n"
        "nearly as long.\n\n"
        "kind is host (operators and calls), other (a host thread in neither), launch (from\n"
        "the call to the begin of its work), kernel, copy, comm, sync (from the end of work\n"
        "to the return of the call that waited), queue (work behind work), unknown. Waits\n"
        "between streams are known from the sync rows of the capture, where it has them;\n"
        "those of collectives are inferred from times else, and counted. A capture without\n"
        "steps is taken as a whole.",
    .example = " opscope path trace.json.gz\n opscope path trace.json --step 7 --by segment -n 50\n"
               " opscope path trace.json --format csv",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .takes_trace = true,
    .run = run,
};
