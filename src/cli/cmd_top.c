/* cmd_top.c - `opscope top`: which operators take the time. */
#include "cli/output.h"

#include "base/str.h"
#include "scope/analysis/top.h"
#include "scope/export/export.h"
#include "scope/export/torch_table.h"
#include "scope/read/open.h"

static const char *const groups[] = {"shape", "stack", NULL};
static const char *const units[] = {"s", "ms", "us", NULL};

enum {
    TOP_LIMIT = 0,
    TOP_SORT,
    TOP_GROUP_BY,
    TOP_STACK_DEPTH,
    TOP_FORMAT,
    TOP_LIKE_TORCH,
    TOP_SORT_BY,
    TOP_ROW_LIMIT,
    TOP_TOP_LEVEL,
    TOP_TIME_UNIT,
    TOP_HEADER,
    TOP_PYTHON_ROWS,
    TOP_NO_PYTHON_ROWS,
};

static const osc_opt options[] = {
    {"limit", 'n', OSC_OPT_INT, "N",
     "show at most N rows (default: 20 in tables, all in other formats)", NULL},
    {"sort", 's', OSC_OPT_TEXT, "COLUMN",
     "rank by self_device, total_device, self_cpu, total_cpu, avg_device, avg_cpu, count or name; "
     "PyTorch's attribute names are taken too",
     osc_ka_sort_names},
    {"group-by", 'g', OSC_OPT_CHOICE, "WHAT",
     "shape: one row per operator and input shapes; stack: one per operator and python stack",
     groups},
    {"stack-depth", 0, OSC_OPT_INT, "N",
     "with --group-by stack: how many frames tell rows apart (default 5)", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, md, csv, json or jsonl; the last three carry every column and exact nanoseconds",
     osc_format_names},
    {"like-torch", 0, OSC_OPT_FLAG, NULL,
     "print the text that PyTorch's key_averages().table() prints", NULL},
    {"sort-by", 0, OSC_OPT_TEXT, "ATTRIBUTE", "with --like-torch: table()'s sort_by", NULL},
    {"row-limit", 0, OSC_OPT_INT, "N",
     "with --like-torch: table()'s row_limit (default 100, -1 all)", NULL},
    {"top-level-events-only", 0, OSC_OPT_FLAG, NULL,
     "with --like-torch: leave out rows first seen inside another", NULL},
    {"time-unit", 0, OSC_OPT_CHOICE, "UNIT", "with --like-torch: s, ms or us for all times", units},
    {"header", 0, OSC_OPT_TEXT, "TEXT", "with --like-torch: a line above the table", NULL},
    {"python-rows", 0, OSC_OPT_FLAG, NULL, "python frames are rows, as in PyTorch 2.12 and later",
     NULL},
    {"no-python-rows", 0, OSC_OPT_FLAG, NULL,
     "python frames are left out, as in PyTorch up to 2.11", NULL},
};

/* Sorts by the name given; an unknown name is a usage error. */
static int sort(osc_table *table, const char *name)
{
    bool average = false;
    osc_err err = {0};
    osc_ka_column column = osc_ka_column_of(osc_str_from_cstr(name), &average);
    if (column == OSC_KA_COLUMNS) {
        size_t n = 0;
        while (osc_ka_sort_names[n])
            n++;
        const char *near = osc_nearest(osc_str_from_cstr(name), osc_ka_sort_names, n);
        osc_cli_say("top: cannot sort by '%s'; %s%s%s", name, near ? "the nearest column is " : "",
                    near ? near : "", near ? ", opscope top -h lists all" : "see opscope top -h");
        return OSC_EXIT_USAGE;
    }
    if (osc_ka_sort(table, column, average, &err) != OSC_OK)
        return osc_cli_fail(&err);
    return OSC_EXIT_OK;
}

static int show_like_torch(const osc_call *call, osc_table *table)
{
    osc_torch_table_options o = osc_torch_table_defaults();
    const osc_opt_value *v = call->values;
    const char *by = v[TOP_SORT_BY].set ? v[TOP_SORT_BY].text : v[TOP_SORT].text;
    if (by) {
        int code = sort(table, by);
        if (code != OSC_EXIT_OK)
            return code;
    }
    if (v[TOP_ROW_LIMIT].set || v[TOP_LIMIT].set)
        o.row_limit = v[v[TOP_ROW_LIMIT].set ? TOP_ROW_LIMIT : TOP_LIMIT].number;
    o.top_level_events_only = v[TOP_TOP_LEVEL].set;
    if (v[TOP_HEADER].set)
        o.header = osc_str_from_cstr(v[TOP_HEADER].text);
    if (v[TOP_TIME_UNIT].set)
        o.time_unit = osc_str_from_cstr(v[TOP_TIME_UNIT].text);
    osc_export_torch_table(table, &o, &call->cli->out);
    osc_cli_guard_terminal(call->cli); /* PyTorch's text keeps control bytes of names */
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

/* The ranked table for people: FORMAT_TABLE or FORMAT_MD. */
static int show_table(const osc_call *call, const osc_store *store, const osc_table *table,
                      osc_format format)
{
    osc_err err = {0};
    osc_table *top = NULL;
    const osc_opt_value *v = call->values;
    int64_t limit = v[TOP_LIMIT].set ? v[TOP_LIMIT].number : 20;
    bool by_shape = v[TOP_GROUP_BY].set && v[TOP_GROUP_BY].number == 0;
    bool by_stack = v[TOP_GROUP_BY].set && v[TOP_GROUP_BY].number == 1;
    if (osc_top(store, table, limit, by_shape, by_stack, &top, &err) != OSC_OK)
        return osc_cli_fail(&err);
    osc_export(top, format, call->cli->colour, &call->cli->out);
    osc_table_free(top);
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

static int show(const osc_call *call, const osc_store *store, osc_table *table)
{
    const osc_opt_value *v = call->values;
    osc_format format = v[TOP_FORMAT].set ? (osc_format)v[TOP_FORMAT].number : OSC_FORMAT_TABLE;
    if (v[TOP_LIKE_TORCH].set)
        return show_like_torch(call, table);
    bool for_people = format == OSC_FORMAT_TABLE || format == OSC_FORMAT_MD;
    bool ranked = for_people || v[TOP_SORT].set || v[TOP_LIMIT].set;
    if (ranked) {
        bool device = osc_table_fact_i64(table, "total_device_ns") > 0;
        int code = sort(table, v[TOP_SORT].set ? v[TOP_SORT].text
                               : device        ? "self_device"
                                               : "self_cpu");
        if (code != OSC_EXIT_OK)
            return code;
    }
    if (for_people)
        return show_table(call, store, table, format);
    if (v[TOP_LIMIT].set && v[TOP_LIMIT].number >= 0 && v[TOP_LIMIT].number < osc_table_rows(table))
        osc_table_truncate(table, (uint32_t)v[TOP_LIMIT].number);
    osc_export(table, format, call->cli->colour, &call->cli->out);
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

static void say_findings(const osc_store *store)
{
    const osc_finding_cols *f = osc_store_finding(store);
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->severity[i] == OSC_SEV_ERROR) {
            osc_str sentence = osc_store_text(store, f->sentence[i]);
            osc_str file = osc_store_text(store, f->input[i]);
            osc_cli_say("warning: %.*s%s%.*s (opscope info says more)", OSC_STR_FMT(file),
                        file.len > 0 ? ": " : "", OSC_STR_FMT(sentence));
        }
    }
}

/* Options that would do nothing are a misunderstanding: refused, not ignored. */
static bool options_agree(const osc_opt_value *v)
{
    static const int torch_only[] = {TOP_SORT_BY, TOP_ROW_LIMIT, TOP_TOP_LEVEL, TOP_TIME_UNIT,
                                     TOP_HEADER};
    bool by_stack = v[TOP_GROUP_BY].set && v[TOP_GROUP_BY].number == 1;
    for (size_t i = 0; i < sizeof torch_only / sizeof *torch_only; i++) {
        if (v[torch_only[i]].set && !v[TOP_LIKE_TORCH].set) {
            osc_cli_say("top: --%s needs --like-torch", options[torch_only[i]].name);
            return false;
        }
    }
    if (v[TOP_LIKE_TORCH].set && v[TOP_FORMAT].set && v[TOP_FORMAT].number != OSC_FORMAT_TABLE) {
        osc_cli_say("top: --like-torch is a text of its own; leave --format out");
        return false;
    }
    if (v[TOP_STACK_DEPTH].set && (!by_stack || v[TOP_STACK_DEPTH].number < 1)) {
        osc_cli_say(by_stack ? "top: --stack-depth is at least 1"
                             : "top: --stack-depth needs --group-by stack");
        return false;
    }
    return true;
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_ka_options o = {.by_shape = v[TOP_GROUP_BY].set && v[TOP_GROUP_BY].number == 0,
                        .torch_times = v[TOP_LIKE_TORCH].set};
    osc_open_options open = {0};
    osc_store *store = NULL;
    osc_table *table = NULL;
    osc_err err = {0};
    int code;
    if (!options_agree(v))
        return OSC_EXIT_USAGE;
    if (v[TOP_GROUP_BY].set && v[TOP_GROUP_BY].number == 1) {
        int64_t depth = v[TOP_STACK_DEPTH].set ? v[TOP_STACK_DEPTH].number : 5;
        o.stack_depth = depth < 1000 ? (uint32_t)depth : 1000;
    }
    o.tree.python = v[TOP_PYTHON_ROWS].set      ? OSC_PYTHON_YES
                    : v[TOP_NO_PYTHON_ROWS].set ? OSC_PYTHON_NO
                                                : OSC_PYTHON_AUTO;
    if (osc_open(call->operands[0], &open, &store, &err) != OSC_OK ||
        osc_key_averages(store, &o, &table, &err) != OSC_OK) {
        code = osc_cli_fail(&err);
    } else {
        say_findings(store);
        code = show(call, store, table);
    }
    osc_table_free(table);
    osc_store_free(store);
    return code;
}

const osc_command osc_command_top = {
    .name = "top",
    .summary = "which operators take the time",
    .operands = "TRACE",
    .description =
        "Shows the operators of a trace or session ranked by the device work they started, or by "
        "CPU\n"
        "time when no device worked. TRACE is a trace.json or trace.json.gz of any PyTorch "
        "profiler, a\n"
        "session directory, a directory that holds one session, or - for standard input.\n\n"
        "The values are those of PyTorch's key_averages(), exact to the nanosecond. Only \"self\" "
        "columns\n"
        "add up; totals contain what was called inside. Rows of kernels repeat the time of the "
        "operators\n"
        "that launched them, so the table leaves them out; csv, json and jsonl carry every row.",
    .example = " opscope top trace.json.gz -n 10\n opscope top run --group-by shape --format csv\n"
               " opscope top run --like-torch --sort-by self_privateuse1_time_total --row-limit 4",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .run = run,
};
