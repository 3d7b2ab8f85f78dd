/* cmd_table.c - `opscope table`: any analysis, and any table of the store, by name. */
#include "cli/input.h"

#include "base/str.h"
#include "scope/analysis/registry.h"
#include "scope/analysis/schema.h"
#include "scope/export/export.h"

#include <string.h>

enum { TABLE_LIMIT = 0, TABLE_FORMAT };

#define ROWS_FOR_PEOPLE 20

static const osc_opt options[] = {
    {"limit", 'n', OSC_OPT_INT, "N", "at most N rows (default: 20 in tables, all in other formats)",
     NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT", "table, csv, json, jsonl or md", osc_format_names},
};

struct request {
    osc_str name;
    osc_table_id table;         /* OSC_TABLE_COUNT: an analysis */
    const char *const *options; /* of the analysis */
    uint32_t option_count;
    uint32_t limit;
};

static osc_status analyse(void *context, const osc_store *store, osc_table **out, osc_err *err)
{
    const struct request *r = context;
    if (r->table != OSC_TABLE_COUNT)
        return osc_schema_rows(store, r->table, 0, r->limit, out, err);
    return osc_analysis_run(store, r->name, r->options, r->option_count, out, err);
}

static bool is_analysis(osc_str name)
{
    uint32_t count;
    const osc_analysis *all = osc_analyses(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (osc_str_eq_cstr(name, all[i].name))
            return true;
    }
    return false;
}

static void put_params(const osc_param *params, uint32_t count, osc_buf *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const osc_param *p = &params[i];
        osc_buf_printf(out, "    %-16s %s", p->name, p->help);
        for (uint32_t c = 0; p->type == OSC_PARAM_CHOICE && p->choices[c]; c++)
            osc_buf_printf(out, "%s%s", c ? ", " : ": ", p->choices[c]);
        osc_buf_putc(out, '\n');
    }
}

/* What there is to ask for. */
static int list(const osc_call *call)
{
    osc_buf *out = &call->cli->out;
    uint32_t count, common;
    const osc_analysis *all = osc_analyses(&count);
    const osc_param *params = osc_analysis_common(&common);
    for (uint32_t i = 0; i < count; i++) {
        osc_buf_printf(out, "%-18s   %s\n", all[i].name, all[i].summary);
        put_params(all[i].params, all[i].param_count, out);
    }
    osc_buf_cstr(out, "of all analyses\n");
    put_params(params, common, out);
    osc_buf_cstr(out, "\nThe tables of the store are listed by: opscope schema\n");
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

static int unknown_name(osc_str name)
{
    const char *names[32 + OSC_TABLE_COUNT];
    uint32_t count, n = 0;
    const osc_analysis *all = osc_analyses(&count);
    for (uint32_t i = 0; i < count && n < 32; i++)
        names[n++] = all[i].name;
    for (unsigned t = 0; t < OSC_TABLE_COUNT; t++)
        names[n++] = osc_store_table_def((osc_table_id)t)->name;
    const char *near = osc_nearest(name, names, n);
    osc_cli_say("table: no analysis or table '%.*s'; %s%s%s", OSC_STR_FMT(name),
                near ? "the nearest is '" : "", near ? near : "",
                near ? "'" : "opscope table lists them");
    return OSC_EXIT_USAGE;
}

/* Finds out what is asked for; an exit code when that is wrong. */
static int understand(const osc_call *call, bool for_people, struct request *r)
{
    const osc_opt_value *v = call->values;
    if (call->operand_count < 2) {
        osc_cli_say("table: which one? opscope table lists them");
        return OSC_EXIT_USAGE;
    }
    r->name = osc_str_from_cstr(call->operands[1]);
    r->table = is_analysis(r->name) ? OSC_TABLE_COUNT : osc_schema_find(r->name);
    if (r->table == OSC_TABLE_COUNT && !is_analysis(r->name))
        return unknown_name(r->name);
    r->options = call->operands + 2;
    r->option_count = call->operand_count - 2;
    r->limit =
        v[TABLE_LIMIT].set && v[TABLE_LIMIT].number >= 0 && v[TABLE_LIMIT].number < UINT32_MAX
            ? (uint32_t)v[TABLE_LIMIT].number
        : for_people && !v[TABLE_LIMIT].set ? ROWS_FOR_PEOPLE
                                            : UINT32_MAX;
    if (r->table != OSC_TABLE_COUNT && r->option_count > 0) {
        osc_cli_say("table: a table of the store takes no options; '%s' is one", call->operands[1]);
        return OSC_EXIT_USAGE;
    }
    return OSC_EXIT_OK;
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format = v[TABLE_FORMAT].set ? (osc_format)v[TABLE_FORMAT].number : OSC_FORMAT_TABLE;
    bool for_people = format == OSC_FORMAT_TABLE || format == OSC_FORMAT_MD;
    osc_open_options open = {.device = true};
    struct request r;
    osc_table *table = NULL;
    osc_err err = {0};
    if (call->operand_count == 0)
        return list(call);
    int code = understand(call, for_people, &r);
    if (code != OSC_EXIT_OK)
        return code;
    if (osc_cli_analyse(call, call->operands[0], &open, true, analyse, &r, &table, &err) !=
        OSC_OK) {
        code = osc_cli_fail(&err);
        return err.code == OSC_EINVAL ? OSC_EXIT_USAGE : code;
    }
    if (osc_table_rows(table) > r.limit)
        osc_table_truncate(table, r.limit);
    return osc_cli_show(call->cli, table, format);
}

const osc_command osc_command_table = {
    .name = "table",
    .summary = "any analysis, or any table that a trace becomes, by name",
    .operands = "[TRACE NAME [OPTION=VALUE]...]",
    .description =
        "Prints the table of an analysis (key_averages, steps, idle, ...) with its options,\n"
        "or the rows of a table of the store (slices, links, ...). This is what the C\n"
        "library gives; the commands named after analyses show the same in a form made for\n"
        "reading. Without operands it lists the analyses and their options; opscope schema\n"
        "lists the tables of the store.",
    .example = " opscope table trace.json key_averages by=shape sort=self_device_ns limit=10\n"
               " opscope table trace.json slices --format csv > slices.csv",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .takes_trace = true,
    .operands_min = 0,
    .operands_max = OSC_OPERANDS_MAX,
    .file_glob = NULL,
    .run = run,
};
