/* disasm.c - see disasm.h. */
#include "scope/analysis/disasm.h"

#include "base/buf.h"
#include "base/num.h"
#include "scope/analysis/engines_internal.h"

#include <stdio.h>

enum { D_INDEX = 0, D_ENGINE, D_OPCODE, D_LABEL, D_WAITS, D_INCS, D_OP, D_AT, D_TEXT, D_COLUMNS };

static const osc_table_column columns[D_COLUMNS] = {
    {"index", "index", "position in its engine's stream", OSC_CELL_I64, OSC_UNIT_COUNT, false},
    {"engine", "engine", "engine that runs or issues it", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"opcode", "opcode", "operation", OSC_CELL_STR, OSC_UNIT_NONE, true},
    {"label", "what", "what it does, in a few words", OSC_CELL_STR, OSC_UNIT_NONE, true},
    {"waits", "waits", "semaphore>=value it waits for", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"incs", "incs", "semaphore+amount it adds when done", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"source_op", "source op", "framework operator it comes from", OSC_CELL_STR, OSC_UNIT_NONE,
     false},
    {"source_at", "source", "file:line it comes from", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"text", "text", "disassembly", OSC_CELL_STR, OSC_UNIT_NONE, false},
};

const char *const osc_disasm_engines[] = {"all", "tensor", "scalar", "gpsimd",
                                          "dma", "vector", "sync",   NULL};

/* "3>=16 4>=1" or "4+1"; *at moves past the instruction's rows. */
static void semaphores(const osc_store *store, uint32_t inst, uint32_t *at, osc_buf *waits,
                       osc_buf *incs)
{
    const osc_semop_cols *s = osc_store_semop(store);
    osc_buf_clear(waits);
    osc_buf_clear(incs);
    while (*at < s->count && s->inst[*at] < inst)
        (*at)++;
    for (; *at < s->count && s->inst[*at] == inst; (*at)++) {
        osc_buf *out = s->is_wait[*at] ? waits : incs;
        bool event = s->sem[*at] >= OSC_SEM_EVENT;
        osc_buf_printf(out, "%s%s%u%s%u", out->len ? " " : "", event ? "E" : "",
                       event ? s->sem[*at] - OSC_SEM_EVENT : s->sem[*at],
                       s->is_wait[*at] ? ">=" : "+", s->value[*at]);
    }
}

static void add_row(const osc_store *store, osc_table *t, uint32_t inst, osc_buf *waits,
                    osc_buf *incs)
{
    const osc_inst_cols *in = osc_store_inst(store);
    uint32_t row = osc_table_add_row(t);
    osc_table_set_i64(t, row, D_INDEX, in->index[inst]);
    osc_table_set_str(t, row, D_ENGINE, osc_engine_text(store, in->engine[inst]));
    osc_table_set_str(t, row, D_OPCODE, osc_store_text(store, in->opcode[inst]));
    osc_table_set_str(t, row, D_LABEL, osc_store_text(store, in->label[inst]));
    osc_table_set_str(t, row, D_WAITS, osc_buf_view(waits));
    osc_table_set_str(t, row, D_INCS, osc_buf_view(incs));
    osc_table_set_str(t, row, D_OP, osc_store_text(store, in->source_op[inst]));
    osc_table_set_str(t, row, D_AT, osc_store_text(store, in->source_at[inst]));
    osc_table_set_str(t, row, D_TEXT, osc_store_text(store, in->text[inst]));
}

static void set_facts(const osc_store *store, osc_table *t)
{
    const osc_program_cols *p = osc_store_program(store);
    char hash[OSC_NUM_TEXT];
    if (p->count == 0)
        return;
    snprintf(hash, sizeof hash, "%llu", (unsigned long long)p->hash[0]);
    osc_table_set_fact_str(t, "program", osc_store_text(store, p->name[0]));
    osc_table_set_fact_str(t, "hash", osc_str_from_cstr(hash));
    osc_table_set_fact_str(t, "cache_key", osc_store_text(store, p->cache_key[0]));
    osc_table_set_fact_str(t, "generation", osc_store_get_meta(store, "generation"));
}

osc_status osc_disasm(const osc_store *store, unsigned engine, osc_table **out, osc_err *err)
{
    const osc_inst_cols *in = osc_store_inst(store);
    osc_table *t = osc_table_new("disasm", columns, D_COLUMNS);
    osc_buf waits, incs;
    uint32_t semop = 0;
    *out = NULL;
    if (!t)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the disassembly");
    osc_buf_init(&waits, SIZE_MAX);
    osc_buf_init(&incs, SIZE_MAX);
    for (uint32_t i = 0; i < in->count; i++) {
        semaphores(store, i, &semop, &waits, &incs);
        if (engine == 0 || in->engine[i] == engine)
            add_row(store, t, i, &waits, &incs);
    }
    set_facts(store, t);
    osc_status status = osc_table_status(t, err);
    if (status == OSC_OK && (waits.failed || incs.failed))
        status = osc_buf_status(waits.failed ? &waits : &incs, "the disassembly", err);
    osc_buf_free(&waits);
    osc_buf_free(&incs);
    if (status != OSC_OK) {
        osc_table_free(t);
        return status;
    }
    *out = t;
    return OSC_OK;
}
