/*
 * cmd_top.c - `opscope top`: which operators take the time.
 *
 * Opens only what the question needs: no arguments, shapes and frames only when rows are split by
 * them.
 */
#include "cli/input.h"
#include "cli/output.h"

#include "base/str.h"
#include "scope/analysis/top.h"
#include "scope/export/export.h"
#include "scope/export/torch_table.h"

#include <string.h>

/* In the order of osc_ka_by, and two that are no bits of it. */
static const char *const groups[] = {"shape",  "stack",  "module", "step", "stream",
                                     "thread", "device", "rank",   "name", NULL};
enum { GROUP_RANK = OSC_KA_BY_COUNT, GROUP_NAME };

static const char *const units[] = {"s", "ms", "us", NULL};

enum {
    TOP_LIMIT = 0,
    TOP_SORT,
    TOP_REVERSE,
    TOP_GROUP_BY,
    TOP_STACK_DEPTH,
    TOP_FORMAT,
    TOP_RAW,
    TOP_OUTERMOST,
    TOP_LINKED_ONLY,
    TOP_PYTHON_ROWS,
    TOP_NO_PYTHON_ROWS,
    TOP_LIKE_TORCH,
    TOP_SORT_BY,
    TOP_ROW_LIMIT,
    TOP_TOP_LEVEL,
    TOP_TIME_UNIT,
    TOP_HEADER,
    TOP_NAME_WIDTH,
    TOP_SHAPES_WIDTH,
    TOP_SOURCE_WIDTH,
    TOP_BY_INPUT_SHAPE,
    TOP_BY_STACK_N,
};

static const osc_opt options[] = {
    {"limit", 'n', OSC_OPT_INT, "N",
     "show at most N rows (default: 20 in tables, all in other formats; -1: all)", NULL},
    {"sort", 's', OSC_OPT_TEXT, "COLUMN",
     "rank by self_device, total_device, self_cpu, total_cpu, avg_device, avg_cpu, count or name; "
     "PyTorch's attribute names are taken too",
     osc_ka_sort_names},
    {"reverse", 'r', OSC_OPT_FLAG, NULL, "the smallest first", NULL},
    {"group-by", 'g', OSC_OPT_TEXT, "WHAT",
     "one row for each name and shape (of the inputs), stack (python frames around it), module "
     "(nn.Module around it), step, stream, thread, device or rank; several with commas between",
     groups},
    {"stack-depth", 0, OSC_OPT_INT, "N",
     "with --group-by stack: how many frames tell rows apart (default 5)", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, md, csv, json or jsonl; the last three carry every column and exact nanoseconds",
     osc_format_names},
    {"raw", 0, OSC_OPT_FLAG, NULL,
     "count every event: PyTorch drops a call that is the only one inside another of its name",
     NULL},
    {"outermost", 0, OSC_OPT_FLAG, NULL,
     "a call inside another of its row is part of that one: not counted, not in the total again",
     NULL},
    {"linked-only", 0, OSC_OPT_FLAG, NULL,
     "leave out device work whose operator is not known, such as work launched before the capture",
     NULL},
    {"python-rows", 0, OSC_OPT_FLAG, NULL, "python frames are rows, as in PyTorch 2.12 and later",
     NULL},
    {"no-python-rows", 0, OSC_OPT_FLAG, NULL,
     "python frames are left out, as in PyTorch up to 2.11", NULL},
    {"like-torch", 0, OSC_OPT_FLAG, NULL,
     "print the text that PyTorch's key_averages().table() prints", NULL},
    {"sort-by", 0, OSC_OPT_TEXT, "ATTRIBUTE",
     "with --like-torch: table()'s sort_by, such as cpu_time_total or self_cuda_time_total", NULL},
    {"row-limit", 0, OSC_OPT_INT, "N",
     "with --like-torch: table()'s row_limit (default 100, -1 all)", NULL},
    {"top-level-events-only", 0, OSC_OPT_FLAG, NULL,
     "with --like-torch: leave out rows first seen inside another", NULL},
    {"time-unit", 0, OSC_OPT_CHOICE, "UNIT", "with --like-torch: s, ms or us for all times", units},
    {"header", 0, OSC_OPT_TEXT, "TEXT", "with --like-torch: a line above the table", NULL},
    {"max-name-column-width", 0, OSC_OPT_INT, "N",
     "with --like-torch: the name column is at most N wide (default 55)", NULL},
    {"max-shapes-column-width", 0, OSC_OPT_INT, "N",
     "with --like-torch: the same of input shapes (default 80)", NULL},
    {"max-src-column-width", 0, OSC_OPT_INT, "N",
     "with --like-torch: the same of source locations (default 75)", NULL},
    {"group-by-input-shape", 0, OSC_OPT_FLAG, NULL,
     "with --like-torch: key_averages()'s argument; --group-by shape", NULL},
    {"group-by-stack-n", 0, OSC_OPT_INT, "N",
     "with --like-torch: key_averages()'s argument; --group-by stack --stack-depth N", NULL},
};

/* What is asked for, and what is learned on the way from trace to trace. */
struct top {
    const osc_call *call;
    osc_ka_options ka;
    bool by_rank;
    osc_format format;
    bool for_people; /* a short table, not every row and column */
    osc_top_facts facts;
    osc_ka_total total;
};

static bool is_set(const struct top *t, int option)
{
    return t->call->values[option].set;
}

static int64_t number_of(const struct top *t, int option)
{
    return t->call->values[option].number;
}

/* ---- what is asked for ---- */

static bool take_group(struct top *t, osc_str name)
{
    for (uint32_t g = 0; groups[g]; g++) {
        if (!osc_str_eq_cstr(name, groups[g]))
            continue;
        if (g == GROUP_RANK)
            t->by_rank = true;
        else if (g != GROUP_NAME)
            t->ka.by |= 1u << g;
        return true;
    }
    const char *near = osc_nearest(name, groups, sizeof groups / sizeof *groups - 1);
    osc_cli_say("top: cannot group by '%.*s'; %s%s", OSC_STR_FMT(name),
                near ? "the nearest is " : "see opscope top -h", near ? near : "");
    return false;
}

static bool take_groups(struct top *t)
{
    osc_str rest = osc_str_from_cstr(t->call->values[TOP_GROUP_BY].text), name;
    while (osc_str_split(&rest, ',', &name)) {
        if (!take_group(t, name))
            return false;
    }
    if (is_set(t, TOP_BY_INPUT_SHAPE))
        t->ka.by |= 1u << OSC_KA_BY_SHAPE;
    if (is_set(t, TOP_BY_STACK_N) && number_of(t, TOP_BY_STACK_N) > 0)
        t->ka.by |= 1u << OSC_KA_BY_STACK;
    return true;
}

/* Options that would do nothing are a misunderstanding: refused, not ignored. */
static bool torch_options_agree(const struct top *t)
{
    static const int torch_only[] = {
        TOP_SORT_BY,    TOP_ROW_LIMIT,    TOP_TOP_LEVEL,    TOP_TIME_UNIT,      TOP_HEADER,
        TOP_NAME_WIDTH, TOP_SHAPES_WIDTH, TOP_SOURCE_WIDTH, TOP_BY_INPUT_SHAPE, TOP_BY_STACK_N};
    for (size_t i = 0; i < sizeof torch_only / sizeof *torch_only; i++) {
        if (is_set(t, torch_only[i]) && !is_set(t, TOP_LIKE_TORCH)) {
            osc_cli_say("top: --%s needs --like-torch", options[torch_only[i]].name);
            return false;
        }
    }
    if (!is_set(t, TOP_LIKE_TORCH))
        return true;
    if (is_set(t, TOP_FORMAT) && t->format != OSC_FORMAT_TABLE) {
        osc_cli_say("top: --like-torch is a text of its own; leave --format out");
        return false;
    }
    if (t->by_rank || t->ka.by & ~(1u << OSC_KA_BY_SHAPE | 1u << OSC_KA_BY_STACK)) {
        osc_cli_say("top: PyTorch's table knows rows by name, shape and stack only; leave "
                    "--like-torch out");
        return false;
    }
    for (int o = TOP_NAME_WIDTH; o <= TOP_SOURCE_WIDTH; o++) {
        if (is_set(t, o) && (number_of(t, o) < 4 || number_of(t, o) > 100000)) {
            osc_cli_say("top: --%s is from 4 to 100,000", options[o].name);
            return false;
        }
    }
    return true;
}

static bool options_agree(const struct top *t)
{
    bool by_stack = t->ka.by & 1u << OSC_KA_BY_STACK;
    if (is_set(t, TOP_STACK_DEPTH) && (!by_stack || number_of(t, TOP_STACK_DEPTH) < 1)) {
        osc_cli_say(by_stack ? "top: --stack-depth is at least 1"
                             : "top: --stack-depth needs --group-by stack");
        return false;
    }
    if (is_set(t, TOP_PYTHON_ROWS) && is_set(t, TOP_NO_PYTHON_ROWS)) {
        osc_cli_say("top: --python-rows and --no-python-rows contradict each other");
        return false;
    }
    return torch_options_agree(t);
}

static bool take_options(struct top *t)
{
    t->format = is_set(t, TOP_FORMAT) ? (osc_format)number_of(t, TOP_FORMAT) : OSC_FORMAT_TABLE;
    t->for_people =
        !is_set(t, TOP_LIKE_TORCH) && (t->format == OSC_FORMAT_TABLE || t->format == OSC_FORMAT_MD);
    if (!take_groups(t) || !options_agree(t))
        return false;
    int64_t depth = is_set(t, TOP_STACK_DEPTH)  ? number_of(t, TOP_STACK_DEPTH)
                    : is_set(t, TOP_BY_STACK_N) ? number_of(t, TOP_BY_STACK_N)
                                                : 5;
    t->ka.stack_depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
    t->ka.like_torch = is_set(t, TOP_LIKE_TORCH);
    t->ka.outermost = is_set(t, TOP_OUTERMOST);
    t->ka.linked_only = is_set(t, TOP_LINKED_ONLY);
    t->ka.calls.keep_duplicates = is_set(t, TOP_RAW);
    t->ka.calls.python = is_set(t, TOP_PYTHON_ROWS)      ? OSC_PYTHON_YES
                         : is_set(t, TOP_NO_PYTHON_ROWS) ? OSC_PYTHON_NO
                                                         : OSC_PYTHON_AUTO;
    return true;
}

static osc_open_options open_options(const struct top *t)
{
    osc_open_options o = {.omit = OSC_OMIT_ARGS | OSC_OMIT_SEQUENCES | OSC_OMIT_FLOWS |
                                  OSC_OMIT_LAUNCHES};
    if (!(t->ka.by & 1u << OSC_KA_BY_SHAPE))
        o.omit |= OSC_OMIT_SHAPES;
    if (t->ka.by & 1u << OSC_KA_BY_MODULE) /* TorchScript keeps them in arguments */
        o.omit &= ~OSC_OMIT_ARGS;
    if (t->ka.by & (1u << OSC_KA_BY_STACK | 1u << OSC_KA_BY_MODULE))
        o.frames = OSC_FRAMES_KEEP;
    else
        o.frames = t->ka.calls.python == OSC_PYTHON_YES  ? OSC_FRAMES_KEEP
                   : t->ka.calls.python == OSC_PYTHON_NO ? OSC_FRAMES_DROP
                                                         : OSC_FRAMES_BY_ERA;
    return o;
}

/* ---- what is shown ---- */

/* Sorts by the name given; an unknown name is a usage error. */
static int sort(const struct top *t, osc_table *table, const char *name)
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
    if (osc_ka_sort(table, column, average, is_set(t, TOP_REVERSE), &err) != OSC_OK)
        return osc_cli_fail(&err);
    return OSC_EXIT_OK;
}

static void set_width(const struct top *t, int option, uint32_t *width)
{
    if (is_set(t, option))
        *width = (uint32_t)number_of(t, option);
}

static int show_like_torch(const struct top *t, osc_table *table)
{
    osc_torch_table_options o = osc_torch_table_defaults();
    const osc_opt_value *v = t->call->values;
    const char *by = v[TOP_SORT_BY].set ? v[TOP_SORT_BY].text : v[TOP_SORT].text;
    if (by) {
        int code = sort(t, table, by);
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
    set_width(t, TOP_NAME_WIDTH, &o.max_name_column_width);
    set_width(t, TOP_SHAPES_WIDTH, &o.max_shapes_column_width);
    set_width(t, TOP_SOURCE_WIDTH, &o.max_src_column_width);
    if (osc_table_fact_i64(table, "with_flops") > 0)
        osc_cli_say("note: PyTorch's table also had FLOPs, which the file does not carry");
    osc_export_torch_table(table, &o, &t->call->cli->out);
    osc_cli_guard_terminal(t->call->cli); /* PyTorch's text keeps control bytes of names */
    return osc_cli_flush(t->call->cli, OSC_EXIT_OK);
}

/* The ranked table for people: FORMAT_TABLE or FORMAT_MD. */
static int show_table(const struct top *t, const osc_table *table)
{
    osc_err err = {0};
    osc_table *top = NULL;
    osc_top_options o = {.limit = is_set(t, TOP_LIMIT) ? number_of(t, TOP_LIMIT) : 20,
                         .by = t->ka.by,
                         .linked_only = t->ka.linked_only,
                         .by_rank = osc_table_find(table, "rank") != UINT32_MAX};
    if (osc_top(table, &t->facts, &o, &top, &err) != OSC_OK)
        return osc_cli_fail(&err);
    osc_export(top, t->format, &t->call->cli->look, &t->call->cli->out);
    osc_table_free(top);
    return osc_cli_flush(t->call->cli, OSC_EXIT_OK);
}

static int show(const struct top *t, osc_table *table)
{
    if (is_set(t, TOP_LIKE_TORCH))
        return show_like_torch(t, table);
    if (t->for_people || is_set(t, TOP_SORT) || is_set(t, TOP_LIMIT) || is_set(t, TOP_REVERSE)) {
        bool device = osc_table_fact_i64(table, "total_device_ns") > 0;
        int code = sort(t, table,
                        is_set(t, TOP_SORT) ? t->call->values[TOP_SORT].text
                        : device            ? "self_device"
                                            : "self_cpu");
        if (code != OSC_EXIT_OK)
            return code;
    }
    if (t->for_people)
        return show_table(t, table);
    int64_t limit = is_set(t, TOP_LIMIT) ? number_of(t, TOP_LIMIT) : -1;
    if (limit >= 0 && limit < osc_table_rows(table))
        osc_table_truncate(table, (uint32_t)limit);
    osc_export(table, t->format, &t->call->cli->look, &t->call->cli->out);
    return osc_cli_flush(t->call->cli, OSC_EXIT_OK);
}

/* ---- from trace to table ---- */

static osc_status analyse(void *context, const osc_store *store, osc_table **out, osc_err *err)
{
    struct top *t = context;
    osc_status status = osc_key_averages(store, &t->ka, out, err);
    if (status != OSC_OK)
        return status;
    osc_ka_total_add(&t->total, *out);
    return t->for_people ? osc_top_look(store, &t->facts, err) : OSC_OK;
}

/* The rows of all ranks: added up unless they are to stay apart. */
static osc_status join_ranks(const struct top *t, osc_table **table, osc_err *err)
{
    osc_table *merged = NULL;
    if (osc_table_find(*table, "rank") == UINT32_MAX)
        return OSC_OK;
    osc_status status = osc_ka_merge(*table, t->by_rank, &t->total, &merged, err);
    osc_table_free(*table);
    *table = merged;
    return status;
}

static int run(const osc_call *call)
{
    struct top t = {.call = call};
    osc_table *table = NULL;
    osc_err err = {0};
    if (!take_options(&t))
        return OSC_EXIT_USAGE;
    osc_open_options open = open_options(&t);
    int code;
    osc_cli_open_options(call, &open);
    t.ka.calls.threads = open.threads;
    bool need_args = !(open.omit & OSC_OMIT_ARGS);
    if (osc_cli_analyse(call, call->operands[0], &open, need_args, analyse, &t, &table, &err) !=
            OSC_OK ||
        join_ranks(&t, &table, &err) != OSC_OK)
        code = osc_cli_fail(&err);
    else
        code = show(&t, table);
    osc_table_free(table);
    return code;
}

const osc_command osc_command_top = {
    .name = "top",
    .summary = "which operators take the time",
    .operands = "TRACE",
    .description =
        "Shows the operators of a trace or session ranked by the device work they started,\n"
        "or by CPU time when no device worked. TRACE is a trace.json, .json.gz or .json.zst\n"
        "of any PyTorch profiler, a session directory, a directory that holds one session,\n"
        "or the traces of several ranks, or - for standard input.\n\n"
        "The values are those of PyTorch's key_averages(), exact to the nanosecond. Only\n"
        "\"self\" columns add up; totals contain what was called inside. Rows of kernels\n"
        "repeat the time of the operators that launched them, so the table leaves them out;\n"
        "csv, json and jsonl carry every row.",
    .example = " opscope top trace.json.gz -n 10\n opscope top run --group-by shape --format csv\n"
               " opscope top trace.json.gz --group-by step,module --sort self_cpu\n"
               " opscope top run --like-torch --sort-by self_privateuse1_time_total --row-limit 4",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .takes_trace = true,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .run = run,
};
