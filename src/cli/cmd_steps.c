/* cmd_steps.c - `opscope steps`: what each step took, on the host and on the device. */
#include "cli/input.h"

#include "base/str.h"
#include "scope/analysis/steps.h"
#include "scope/export/export.h"

enum { STEPS_LIMIT = 0, STEPS_DEVICE, STEPS_FORMAT };

static const osc_opt options[] = {
    {"limit", 'n', OSC_OPT_INT, "N", "show at most N rows (default: all)", NULL},
    {"device", 'd', OSC_OPT_TEXT, "DEVICE", "only this device, as the table names it", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, md, csv, json or jsonl; the last three carry every column and exact nanoseconds",
     osc_format_names},
};

static osc_status analyse(void *context, const osc_store *store, osc_table **out, osc_err *err)
{
    return osc_steps_table(store, context, out, err);
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format = v[STEPS_FORMAT].set ? (osc_format)v[STEPS_FORMAT].number : OSC_FORMAT_TABLE;
    osc_steps_options o = {0};
    osc_open_options open = {.omit = OSC_OMIT_ARGS | OSC_OMIT_SHAPES | OSC_OMIT_SEQUENCES |
                                     OSC_OMIT_FLOWS};
    osc_table *table = NULL;
    osc_err err = {0};
    if (v[STEPS_DEVICE].set)
        o.device = osc_str_from_cstr(v[STEPS_DEVICE].text);
    if (osc_cli_analyse(call, call->operands[0], &open, false, analyse, &o, &table, &err) != OSC_OK)
        return osc_cli_fail(&err);
    if (v[STEPS_LIMIT].set && v[STEPS_LIMIT].number >= 0 &&
        v[STEPS_LIMIT].number < osc_table_rows(table))
        osc_table_truncate(table, (uint32_t)v[STEPS_LIMIT].number);
    return osc_cli_show(call->cli, table, format);
}

const osc_command osc_command_steps = {
    .name = "steps",
    .summary = "what each profiler step took, on the host and on the device",
    .operands = "TRACE",
    .description =
        "Shows each ProfilerStep of a capture. wall is its length on the host. busy and\n"
        "idle split the wall: whether the device worked, on anything, and if not, why\n"
        "(opscope help idle). work is what was launched in the step, wherever it ran; of\n"
        "it, exposed comm is communication while nothing was computed, and exposed copy is\n"
        "copying while neither was done: compute, exposed comm and exposed copy add up to\n"
        "work. comm is all communication, overlapped or not; compare steps or ranks by\n"
        "exposed comm. host sync is the time in which the step's thread waited for the\n"
        "device; host op, host call and host other split the rest of the wall by what that\n"
        "thread was in. csv and json carry all of them.\n\n"
        "A launch belongs to one step; of two that overlap, to the later. cut says what a\n"
        "step lacks: launches whose device work was not recorded, work launched before the\n"
        "capture, or its own end. A capture without steps is shown as one row. TRACE is a\n"
        "trace file, a session, a directory of ranks, or - for standard input.",
    .example = " opscope steps trace.json.gz\n opscope steps trace.json --format csv",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .takes_trace = true,
    .run = run,
};
