/*
 * scope_support.h - helpers of the scope wing's tests: stores from JSON text, rows by name.
 */
#ifndef OSC_TESTS_UNIT_SCOPE_SUPPORT_H
#define OSC_TESTS_UNIT_SCOPE_SUPPORT_H

#include "tap.h"

#include "scope/analysis/key_averages.h"
#include "scope/read/kineto.h"
#include "scope/store/store.h"

#include <string.h>

/* An X event; times in us as text. args may be "". */
#define EV(cat, name, pid, tid, ts, dur, args)                                               \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}}"

/* A trace of events joined by commas. */
#define TRACE(events) "{\"traceEvents\":[" events "]}"

/* Reads text into a new store, sealed; NULL (and a failed check) when that fails. */
static inline osc_store *store_of_bytes(const char *data, size_t len)
{
    osc_kineto_context context = {.input = "test.json"};
    osc_err err = {0};
    osc_store *store = osc_store_new();
    if (!store || osc_kineto_read(store, data, len, &context, &err) != OSC_OK ||
        osc_store_seal(store, &err) != OSC_OK) {
        tap_check(false, __FILE__, __LINE__, "cannot read: %s", err.message);
        osc_store_free(store);
        return NULL;
    }
    return store;
}

static inline osc_store *store_of(const char *text)
{
    return store_of_bytes(text, strlen(text));
}

/* The key_averages table of a trace; NULL (and a failed check) when that fails. */
static inline osc_table *rows_of(const char *text, const osc_ka_options *options)
{
    static const osc_ka_options defaults = {.calls = {.python = OSC_PYTHON_NO}};
    osc_store *store = store_of(text);
    osc_table *table = NULL;
    osc_err err = {0};
    if (store && osc_key_averages(store, options ? options : &defaults, &table, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "no table: %s", err.message);
    osc_store_free(store);
    return table;
}

/* Row with a name and device type, UINT32_MAX when there is none. */
static inline uint32_t row_named(const osc_table *t, const char *name, const char *device)
{
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        if (osc_str_eq_cstr(osc_table_cell(t, r, OSC_KA_NAME).str, name) &&
            osc_str_eq_cstr(osc_table_cell(t, r, OSC_KA_DEVICE_TYPE).str, device))
            return r;
    }
    return UINT32_MAX;
}

/* A figure of a CPU row; INT64_MIN when there is no such row. */
static inline int64_t figure(const osc_table *t, const char *name, osc_ka_column column)
{
    uint32_t row = row_named(t, name, "CPU");
    return row == UINT32_MAX ? INT64_MIN : osc_table_cell(t, row, column).i64;
}

/* How often a finding was noted, 0 when it was not. */
static inline uint64_t noted(const osc_store *store, const char *code)
{
    const osc_finding_cols *f = osc_store_finding(store);
    for (uint32_t i = 0; i < f->count; i++) {
        if (osc_str_eq_cstr(osc_store_text(store, f->code[i]), code))
            return f->times[i];
    }
    return 0;
}

#endif
