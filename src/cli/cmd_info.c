/* cmd_info.c - `opscope info`: what is this, can I trust it. */
#include "cli/input.h"

#include "base/io.h"
#include "scope/analysis/info.h"
#include "scope/export/export.h"
#include "scope/export/overview.h"

enum { INFO_FORMAT = 0 };

static const osc_opt options[] = {
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT", "table, csv, json, jsonl or md", osc_format_names},
};

typedef struct info_context {
    const osc_call *call;
    osc_format format;
    osc_cli_tables tables; /* for formats that carry all ranks in one table */
    bool more;             /* a section stands above */
} info_context;

static void put_section(info_context *c, const osc_rank *rank, uint32_t of, const osc_table *table)
{
    osc_buf *out = &c->call->cli->out;
    if (of > 1) {
        osc_buf_printf(out, "%srank %lld%s  ", c->more ? "\n" : "", (long long)rank->rank,
                       rank->guessed ? " (guessed)" : "");
        osc_export_safe(osc_path_base(osc_str_from_cstr(rank->path)), out);
        osc_buf_putc(out, '\n');
    }
    osc_export_overview(table, c->call->cli->look.colour, out);
    c->more = true;
}

static osc_status show_rank(void *context, const osc_rank *rank, uint32_t of,
                            const osc_store *store, osc_err *err)
{
    info_context *c = context;
    osc_table *table = NULL;
    osc_status status = osc_info(store, &table, err);
    if (status != OSC_OK)
        return status;
    if (c->format != OSC_FORMAT_TABLE)
        return osc_cli_tables_add(&c->tables, rank->rank, table, err);
    put_section(c, rank, of, table);
    osc_table_free(table);
    return OSC_OK;
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    info_context c = {.call = call, .format = OSC_FORMAT_TABLE};
    osc_open_options open = {0};
    osc_table *table = NULL;
    osc_err err = {0};
    if (v[INFO_FORMAT].set)
        c.format = (osc_format)v[INFO_FORMAT].number;
    osc_status status =
        osc_cli_each_rank(call, call->operands[0], &open, OSC_CLI_DESCRIBE, show_rank, &c, &err);
    if (status == OSC_OK && c.format != OSC_FORMAT_TABLE)
        status = osc_cli_tables_join(&c.tables, &table, &err);
    if (table)
        osc_export(table, c.format, NULL, &call->cli->out);
    osc_table_free(table);
    osc_cli_tables_free(&c.tables);
    return status == OSC_OK ? osc_cli_flush(call->cli, OSC_EXIT_OK) : osc_cli_fail(&err);
}

const osc_command osc_command_info = {
    .name = "info",
    .summary = "what a file or session is, and whether it can be trusted",
    .operands = "PATH",
    .description =
        "Says what PATH is, how much is in it, and what is wrong with it. PATH is a trace,\n"
        "a session directory or one above it, a directory with the traces of several ranks,\n"
        "or a single artifact (.neff, .ntff, .pb, run.json), ours or the vendor's; files\n"
        "are known by their content and may be compressed with gzip or zstd.\n\n"
        "Findings have a severity: note, warn, or FAIL when data is missing or damaged. A\n"
        "damaged file that can be read in part is read in part, so the exit status is 0\n"
        "unless nothing can be read.",
    .example = " opscope info run\n opscope info trace.json.gz --format json",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .takes_trace = true,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .run = run,
};
