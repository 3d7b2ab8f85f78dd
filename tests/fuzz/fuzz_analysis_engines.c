/*
 * fuzz_analysis_engines.c - any device profile that can be read gives tables without NaN and without negative
 * times, in every analysis of engines.
 */
#include "scope/analysis/engines.h"

#include "scope/analysis/summary.h"
#include "scope/read/devprofile.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Shares of an engine's time never exceed it, and every figure is a number. */
static void check_tables(const osc_table *engines, const osc_table *summary)
{
    for (uint32_t r = 0; engines && r < osc_table_rows(engines); r++) {
        assert(osc_table_cell(engines, r, OSC_EN_ACTIVE).i64 >= 0);
        assert(osc_table_cell(engines, r, OSC_EN_WAITING).i64 >= 0);
        assert(osc_table_cell(engines, r, OSC_EN_IDLE).i64 >= 0);
    }
    for (uint32_t r = 0; summary && r < osc_table_rows(summary); r++)
        assert(!isnan(osc_table_cell(summary, r, OSC_SU_VALUE).f64));
}

static void analyse(const osc_store *store)
{
    static osc_status (*const analyses[])(const osc_store *, const osc_engine_options *,
                                          osc_table **, osc_err *) = {
        osc_engines_by_opcode, osc_engines_by_queue, osc_engines_by_semaphore, osc_engines_by_layer,
        osc_engine_timeline};
    const osc_engine_options all = {0};
    osc_table *engines = NULL, *summary = NULL, *missing = NULL;
    osc_status a = osc_engines(store, &all, &engines, NULL);
    osc_status b = osc_summary(store, &all, &summary, &missing, NULL);
    assert((a == OSC_OK) == (engines != NULL) && (b == OSC_OK) == (summary != NULL));
    check_tables(engines, summary);
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++) {
        osc_table *table = NULL;
        osc_status status = analyses[i](store, &all, &table, NULL);
        assert((status == OSC_OK) == (table != NULL));
        osc_table_free(table);
    }
    osc_table_free(engines);
    osc_table_free(summary);
    osc_table_free(missing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_err err = {0};
    osc_store *store = osc_store_new();
    assert(store);
    osc_status status = osc_devprofile_to_store(store, (const char *)data, size, "fuzz", &err);
    assert(status == OSC_OK || err.message[0] != '\0');
    if (status == OSC_OK && osc_store_seal(store, &err) == OSC_OK)
        analyse(store);
    osc_store_free(store);
    return 0;
}
