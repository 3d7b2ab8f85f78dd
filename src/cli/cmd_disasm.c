/* cmd_disasm.c - `opscope disasm`: the instructions of a device program. */
#include "cli/output.h"

#include "base/str.h"
#include "scope/analysis/disasm.h"
#include "scope/export/export.h"
#include "scope/read/program.h"

enum { DISASM_ENGINE = 0, DISASM_FORMAT };

static const osc_opt options[] = {
    {"engine", 'e', OSC_OPT_CHOICE, "ENGINE",
     "only one engine's stream: tensor, scalar, gpsimd, vector or sync", osc_disasm_engines},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT", "table, csv, json, jsonl or md", osc_format_names},
};

static void put_head(const osc_table *t, osc_buf *out)
{
    osc_str key = osc_table_fact_str(t, "cache_key");
    osc_buf_cstr(out, "program ");
    osc_str generation = osc_table_fact_str(t, "generation");
    osc_export_safe(osc_table_fact_str(t, "program"), out);
    if (generation.len > 0)
        osc_buf_printf(out, "   for %.*s", OSC_STR_FMT(generation));
    osc_buf_printf(out, "   hash %.*s\n", OSC_STR_FMT(osc_table_fact_str(t, "hash")));
    if (key.len > 0) {
        osc_buf_cstr(out, "cache key ");
        osc_export_safe(key, out);
        osc_buf_putc(out, '\n');
    }
    osc_buf_putc(out, '\n');
}

static int run(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_format format =
        v[DISASM_FORMAT].set ? (osc_format)v[DISASM_FORMAT].number : OSC_FORMAT_TABLE;
    osc_store *store = NULL;
    osc_table *table = NULL;
    osc_err err = {0};
    int code;
    if (osc_open_program(call->operands[0], &store, &err) != OSC_OK ||
        osc_disasm(store, (unsigned)v[DISASM_ENGINE].number, &table, &err) != OSC_OK) {
        code = osc_cli_fail(&err);
    } else {
        if (format == OSC_FORMAT_TABLE)
            put_head(table, &call->cli->out);
        osc_look look = {.colour = call->cli->look.colour}; /* operands are never cut */
        osc_export(table, format, &look, &call->cli->out);
        code = osc_cli_flush(call->cli, OSC_EXIT_OK);
    }
    osc_table_free(table);
    osc_store_free(store);
    return code;
}

const osc_command osc_command_disasm = {
    .name = "disasm",
    .summary = "the instructions of a device program",
    .operands = "FILE",
    .description =
        "Lists the instructions of a NEFF that opscope wrote, engine by engine, or those\n"
        "that ran in a device profile of the vendor's tools, in time order: index (program\n"
        "counter), engine, the semaphores it waits for (3>=16: semaphore 3 must be at least\n"
        "16) and raises (4+1), the framework operator it comes from, and its text. NEFFs of\n"
        "the vendor's compiler hold instructions whose form is not public; they are named\n"
        "and refused.",
    .example = " opscope disasm run/neff_3957600758_vnc_0.neff --engine vector",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = "*.neff",
    .run = run,
};
