/*
 * fuzz_read_kineto.c - any bytes as a trace: read, aggregate by name, shape and stack, follow, print.
 *
 * Nothing may crash, hang or leak; what was read must add up: no more slices than events, and the self
 * times of all CPU rows are what their nodes took less what was inside.
 */
#include "base/buf.h"
#include "scope/analysis/follow.h"
#include "scope/analysis/info.h"
#include "scope/analysis/key_averages.h"
#include "scope/analysis/top.h"
#include "scope/export/export.h"
#include "scope/export/torch_table.h"
#include "scope/export/waterfall.h"
#include "scope/read/kineto.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const osc_table *t, osc_buf *out)
{
    static const osc_look look = {.colour = true, .width = 40};
    for (int f = 0; f < OSC_FORMATS; f++) {
        osc_buf_clear(out);
        osc_export(t, (osc_format)f, &look, out);
    }
}

static void analyse(const osc_store *store, osc_buf *out)
{
    osc_ka_options options = {
        .by = (1u << OSC_KA_BY_COUNT) - 1, .stack_depth = 3, .calls = {.python = OSC_PYTHON_YES}};
    osc_top_options wanted = {.limit = -1, .by = options.by};
    osc_top_facts facts = {0};
    osc_torch_table_options torch = osc_torch_table_defaults();
    osc_table *t = NULL, *other = NULL;
    osc_err err;
    if (osc_key_averages(store, &options, &t, &err) == OSC_OK) {
        if (osc_table_rows(t) > osc_store_slice(store)->count + osc_store_memory(store)->count)
            abort();
        show(t, out);
        osc_buf_clear(out);
        osc_export_torch_table(t, &torch, out);
        if (osc_top_look(store, &facts, &err) == OSC_OK &&
            osc_top(t, &facts, &wanted, &other, &err) == OSC_OK)
            show(other, out);
        osc_table_free(other);
        other = NULL;
        if (osc_table_rows(t) > 0 &&
            osc_follow(store, osc_table_cell(t, 0, OSC_KA_NAME).str, 1, &other, &err) == OSC_OK)
            osc_export_waterfall(other, 5, false, out);
        osc_table_free(other);
    }
    osc_table_free(t);
    if (osc_info(store, &t, &err) == OSC_OK) {
        show(t, out);
        osc_table_free(t);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_kineto_context context = {.input = "fuzz.json"};
    osc_store *store = osc_store_new();
    osc_buf out;
    osc_err err;
    osc_buf_init(&out, (size_t)64 << 20);
    if (store && osc_kineto_read(store, (const char *)data, size, &context, &err) == OSC_OK &&
        osc_store_seal(store, &err) == OSC_OK)
        analyse(store, &out);
    osc_buf_free(&out);
    osc_store_free(store);
    return 0;
}
