/* cmd_idle.c - `opscope idle`: when devices did nothing, and why. */
#include "cli/input.h"
#include "cli/when.h"

#include "base/str.h"
#include "scope/analysis/idle.h"
#include "scope/export/export.h"

static const char *const groups[] = {"class", "cause", NULL};

enum { IDLE_LIMIT = 0, IDLE_MIN, IDLE_BY, IDLE_STREAMS, IDLE_DEVICE, IDLE_FORMAT };

static const osc_opt options[] = {
    {"limit", 'n', OSC_OPT_INT, "N",
     "show at most N rows (default: the 20 longest in tables, all in other formats)", NULL},
    {"min", 0, OSC_OPT_TEXT, "TIME",
     "leave out intervals shorter than TIME: 10us, 1.5ms, or a number of ns", NULL},
    {"by", 'b', OSC_OPT_CHOICE, "WHAT", "sum the intervals by class or by cause", groups},
    {"streams", 0, OSC_OPT_FLAG, NULL, "idle time of each stream, not of the whole device", NULL},
    {"device", 'd', OSC_OPT_TEXT, "DEVICE", "only this device, as the table names it", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, md, csv, json or jsonl; the last three carry every column and exact nanoseconds",
     osc_format_names},
};

static osc_status analyse(void *context, const osc_store *store, osc_table **out, osc_err *err)
{
    return osc_idle_table(store, context, out, err);
}

/* A heading without rows says less than the sentences that would stand below it. */
static void say_sentences(const osc_table *table, osc_buf *out)
{
    for (uint32_t i = 0; i < osc_table_footers(table); i++) {
        osc_export_safe(osc_table_footer(table, i), out);
        osc_buf_putc(out, '\n');
    }
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format = v[IDLE_FORMAT].set ? (osc_format)v[IDLE_FORMAT].number : OSC_FORMAT_TABLE;
    bool people = format == OSC_FORMAT_TABLE || format == OSC_FORMAT_MD;
    osc_idle_options o = {.by_stream = v[IDLE_STREAMS].set,
                          .by =
                              v[IDLE_BY].set ? (osc_idle_by)(v[IDLE_BY].number + 1) : OSC_IDLE_EACH,
                          .longest = people || v[IDLE_LIMIT].set,
                          .limit = v[IDLE_LIMIT].set ? v[IDLE_LIMIT].number
                                   : people          ? 20
                                                     : -1};
    osc_open_options open = {.omit = OSC_OMIT_ARGS | OSC_OMIT_SHAPES | OSC_OMIT_SEQUENCES |
                                     OSC_OMIT_FLOWS};
    osc_table *table = NULL;
    osc_err err = {0};
    osc_when min = {0};
    if (v[IDLE_DEVICE].set)
        o.device = osc_str_from_cstr(v[IDLE_DEVICE].text);
    if (v[IDLE_MIN].set && (!osc_cli_parse_when(v[IDLE_MIN].text, &min) || min.ns < 0)) {
        osc_cli_say("idle: --min takes a time such as 10us or 1.5ms, not '%s'", v[IDLE_MIN].text);
        return OSC_EXIT_USAGE;
    }
    o.min_ns = min.ns;
    if (osc_cli_analyse(call, call->operands[0], &open, false, analyse, &o, &table, &err) != OSC_OK)
        return osc_cli_fail(&err);
    if (!people || osc_table_rows(table) > 0)
        return osc_cli_show(call->cli, table, format);
    say_sentences(table, &call->cli->out);
    osc_table_free(table);
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

const osc_command osc_command_idle = {
    .name = "idle",
    .summary = "when devices did nothing, and why",
    .operands = "TRACE",
    .description =
        "Shows the idle time of each device in pieces that have one cause each, the longest\n"
        "first. The work after an idle interval decides: when its launch began, and what\n"
        "its thread did until then.\n\n"
        "no launch: the host had not launched it and was in the operator or frame shown.\n"
        "host wait: the same, in a data loader, a lock, a sleep. sync: the host waited for\n"
        "the device. launch: the launch had begun and not arrived. queue: launched before\n"
        "the interval began, so a stream, an event or the device held it; of one or two us,\n"
        "it is how long the device takes from one kernel to the next. other stream,\n"
        "collective: the same, while another stream worked (with --streams). unknown: its\n"
        "launch is not in the capture. edge: the ends of the capture.\n\n"
        "Columns: cause, what the host was in; inside, the range or frame around that;\n"
        "launched before, the time from the begin of the launch to that of the next work.\n"
        "start counts from the first event of the capture, as everywhere: opscope follow --at\n"
        "and opscope cut --from take it, and start_ns of csv and json, which is absolute.\n\n"
        "All pieces of a device add up to the window less its busy time, which is a union\n"
        "and counts no waits. TRACE is a trace file, a session, a directory of ranks, or -\n"
        "for standard input.",
    .example = " opscope idle trace.json.gz --min 50us\n opscope idle trace.json --by cause -n 10\n"
               " opscope idle trace.json --streams --format csv",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .takes_trace = true,
    .run = run,
};
