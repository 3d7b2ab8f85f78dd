/*
 * fuzz_analysis_check.c - any bytes as a trace: every check, the overview, and the comparison of it with itself.
 *
 * Nothing may crash, hang or leak. Each check gives one verdict with evidence; a trace compared with itself as two
 * ranks of one job is never apart.
 */
#include "base/buf.h"
#include "scope/analysis/check.h"
#include "scope/analysis/info.h"
#include "scope/export/overview.h"
#include "scope/export/verdicts.h"
#include "scope/read/kineto.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void compare(const osc_store *store, osc_table *t)
{
    static const osc_check_options options;
    osc_check_ranks *ranks = osc_check_ranks_new();
    if (ranks && osc_check_ranks_add(ranks, store, 0) && osc_check_ranks_add(ranks, store, 1)) {
        uint32_t row = osc_table_rows(t);
        osc_check_ranks_verdict(ranks, &options, t);
        demand(osc_table_rows(t) == row + 1);
        demand(!osc_str_eq_cstr(osc_table_cell(t, row, OSC_CHECK_VERDICT).str, "FAIL"));
    }
    osc_check_ranks_free(ranks);
}

static void check(const osc_store *store, osc_buf *out)
{
    static const osc_check_options options;
    osc_table *t = NULL;
    osc_err err;
    uint32_t count;
    if (osc_check(store, &options, &t, &err) == OSC_OK) {
        (void)osc_check_docs(&count);
        demand(osc_table_rows(t) == count - 1);
        for (uint32_t r = 0; r < osc_table_rows(t); r++)
            demand(osc_table_cell(t, r, OSC_CHECK_EVIDENCE).str.len > 0);
        compare(store, t);
        osc_export_verdicts(t, true, out);
    }
    osc_table_free(t);
    t = NULL;
    if (osc_info(store, &t, &err) == OSC_OK)
        osc_export_overview(t, true, out);
    osc_table_free(t);
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
        check(store, &out);
    osc_buf_free(&out);
    osc_store_free(store);
    return 0;
}
