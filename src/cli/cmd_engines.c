/* cmd_engines.c - `opscope engines`: what engines and DMA queues did, and the summary of a
 * profile. */
#include "cli/input.h"
#include "cli/output.h"

#include "base/mem.h"
#include "scope/analysis/engines.h"
#include "scope/analysis/summary.h"
#include "scope/export/engines_text.h"
#include "scope/export/export.h"
#include "scope/read/device_open.h"

enum { ENGINES_BY = 0, ENGINES_NTH, ENGINES_PROGRAM, ENGINES_FORMAT };

enum { BY_ENGINE = 0, BY_OPCODE, BY_QUEUE, BY_SEMAPHORE, BY_LAYER, BY_SUMMARY };

static const char *const groupings[] = {"engine", "opcode",  "queue", "semaphore",
                                        "layer",  "summary", NULL};

static const osc_opt options[] = {
    {"by", 'b', OSC_OPT_CHOICE, "WHAT",
     "rows by engine, opcode, queue, semaphore or layer, or the summary field by field", groupings},
    {"nth", 0, OSC_OPT_INT, "N", "only the nth execution, in time order", NULL},
    {"program", 'p', OSC_OPT_TEXT, "NAME", "only executions of the program with this name", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT", "table, csv, json, jsonl or md", osc_format_names},
};

/* Everything about the engines: one screen, or one JSON object. */
static osc_status show_engines(const osc_store *store, const osc_engine_options *o,
                               osc_format format, osc_cli *cli, osc_err *err)
{
    osc_table *engines = NULL, *timeline = NULL, *summary = NULL, *missing = NULL;
    osc_status status = osc_engines(store, o, &engines, err);
    if (status == OSC_OK)
        status = osc_summary(store, o, &summary, &missing, err);
    if (status == OSC_OK && format == OSC_FORMAT_TABLE)
        status = osc_engine_timeline(store, o, &timeline, err);
    if (status == OSC_OK && format == OSC_FORMAT_JSON) {
        const osc_export_member members[] = {{"summary", summary, true},
                                             {"engines", engines, false},
                                             {"fields", summary, false},
                                             {"underivable", missing, false}};
        osc_export_json_members(members, sizeof members / sizeof *members, &cli->out);
    } else if (status == OSC_OK && format == OSC_FORMAT_TABLE) {
        osc_engines_page page = {engines, timeline, summary, missing};
        osc_export_engines(&page, &cli->look, &cli->out);
    } else if (status == OSC_OK) {
        osc_export(engines, format, &cli->look, &cli->out);
    }
    osc_table_free(engines);
    osc_table_free(timeline);
    osc_table_free(summary);
    osc_table_free(missing);
    return status;
}

static osc_status show_summary(const osc_store *store, const osc_engine_options *o,
                               osc_format format, osc_cli *cli, osc_err *err)
{
    osc_table *summary = NULL, *missing = NULL;
    osc_status status = osc_summary(store, o, &summary, &missing, err);
    if (status == OSC_OK) {
        osc_export(summary, format, &cli->look, &cli->out);
        if (format == OSC_FORMAT_TABLE && osc_table_rows(missing) > 0) {
            osc_buf_putc(&cli->out, '\n');
            osc_export(missing, format, &cli->look, &cli->out);
        }
    }
    osc_table_free(summary);
    osc_table_free(missing);
    return status;
}

static osc_status show_table(const osc_store *store, int64_t by, const osc_engine_options *o,
                             osc_format format, osc_cli *cli, osc_err *err)
{
    osc_table *table = NULL;
    osc_status status = by == BY_OPCODE  ? osc_engines_by_opcode(store, o, &table, err)
                        : by == BY_QUEUE ? osc_engines_by_queue(store, o, &table, err)
                        : by == BY_LAYER ? osc_engines_by_layer(store, o, &table, err)
                                         : osc_engines_by_semaphore(store, o, &table, err);
    if (status == OSC_OK)
        osc_export(table, format, &cli->look, &cli->out);
    osc_table_free(table);
    return status;
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format =
        v[ENGINES_FORMAT].set ? (osc_format)v[ENGINES_FORMAT].number : OSC_FORMAT_TABLE;
    int64_t by = v[ENGINES_BY].set ? v[ENGINES_BY].number : BY_ENGINE;
    osc_engine_options o = {.nth = v[ENGINES_NTH].number, .program = v[ENGINES_PROGRAM].text};
    osc_open_options reading = {.device = true};
    osc_store *store = NULL;
    osc_err err = {0};
    if (v[ENGINES_NTH].set && o.nth < 1) {
        osc_cli_say("engines: --nth counts from 1");
        return OSC_EXIT_USAGE;
    }
    char *path = NULL;
    osc_status status = osc_device_path(call->operands[0], &path, &o.hash, &err);
    if (status == OSC_OK)
        status = osc_cli_open(call, path, &reading, false, &store, &err);
    if (status == OSC_OK && by == BY_ENGINE)
        status = show_engines(store, &o, format, call->cli, &err);
    else if (status == OSC_OK && by == BY_SUMMARY)
        status = show_summary(store, &o, format, call->cli, &err);
    else if (status == OSC_OK)
        status = show_table(store, by, &o, format, call->cli, &err);
    osc_store_free(store);
    osc_free(path);
    return status == OSC_OK ? osc_cli_flush(call->cli, OSC_EXIT_OK) : osc_cli_fail(&err);
}

const osc_command osc_command_engines = {
    .name = "engines",
    .summary = "what the engines and DMA queues of a device did",
    .operands = "PATH",
    .description =
        "Shows, for each engine, how long it was active, how long it waited for a semaphore\n"
        "and for whom, and how long it was idle; and the summary of the profile. PATH is a\n"
        "device profile that AWS's tools exported as JSON (neuron-profile, Neuron\n"
        "Explorer), a session of opscope, or one .ntff with its .neff beside it.\n\n"
        "waits for says who raises the semaphore: an engine, a DMA queue (q...), DMA of the\n"
        "engine that starts the transfer, or all engines, a barrier where each waits for\n"
        "the others. --by semaphore lists every wait.\n\n"
        "Summary fields have AWS's names and units: seconds, fractions, bytes. They are\n"
        "computed from the rows; when the file brings its own summary, the two are\n"
        "compared. Fields that rest on a fitted constant are marked, and those that no row\n"
        "determines are listed and left out. --format json gives {\"summary\": {field:\n"
        "value}, \"engines\": [...], \"fields\": [...], \"underivable\": [...]}.",
    .example =
        " opscope engines profile.json.gz\n opscope engines run --program aten::mul --by opcode",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .takes_trace = true,
    .run = run,
};
