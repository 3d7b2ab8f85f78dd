/* cmd_schema.c - `opscope schema`: the tables that a trace becomes, and their columns. */
#include "cli/output.h"

#include "base/str.h"
#include "scope/analysis/schema.h"
#include "scope/export/export.h"

enum { SCHEMA_FORMAT = 0 };

static const osc_opt options[] = {
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, csv, json, jsonl or md; machine formats list the columns of all tables",
     osc_format_names},
};

static int unknown_table(const char *name)
{
    const char *near = osc_schema_nearest(osc_str_from_cstr(name));
    osc_cli_say("schema: no table '%s'; %s%s%s", name, near ? "the nearest is '" : "",
                near ? near : "", near ? "'" : "opscope schema lists them");
    return OSC_EXIT_USAGE;
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format =
        v[SCHEMA_FORMAT].set ? (osc_format)v[SCHEMA_FORMAT].number : OSC_FORMAT_TABLE;
    bool for_people = format == OSC_FORMAT_TABLE || format == OSC_FORMAT_MD;
    osc_table_id which = OSC_TABLE_COUNT;
    osc_table *table = NULL;
    osc_err err = {0};
    if (call->operand_count > 0) {
        which = osc_schema_find(osc_str_from_cstr(call->operands[0]));
        if (which == OSC_TABLE_COUNT)
            return unknown_table(call->operands[0]);
    }
    osc_status status = for_people && which == OSC_TABLE_COUNT
                            ? osc_schema_tables(&table, &err)
                            : osc_schema_columns(which, &table, &err);
    if (status != OSC_OK)
        return osc_cli_fail(&err);
    if (which == OSC_TABLE_COUNT && for_people)
        osc_table_add_footer(table, OSC_STR("opscope schema TABLE lists the columns of a table"));
    return osc_cli_show(call->cli, table, format);
}

const osc_command osc_command_schema = {
    .name = "schema",
    .summary = "the tables that a trace becomes, and their columns",
    .operands = "[TABLE]",
    .description =
        "Every file that opscope reads becomes rows of the same tables, which all commands\n"
        "and the C library work on. Without TABLE this lists the tables, with TABLE its\n"
        "columns: type, unit and meaning. A column whose unit is a table's name holds row\n"
        "numbers of that table.",
    .example = " opscope schema\n opscope schema slices\n opscope schema --format json",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 0,
    .operands_max = 1,
    .file_glob = "",
    .run = run,
};
