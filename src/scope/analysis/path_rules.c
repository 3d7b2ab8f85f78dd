/*
 * path_rules.c - what the sync rows of a capture say about who waited for whom.
 *
 * CUPTI records a row for each cudaStreamWaitEvent, cudaEventSynchronize and so on
 * (kineto-trace-format.md 1.7, cuda_sync), when the profiler was told to. The numbers are in the
 * arguments, so they are read again from the file; a capture from a pipe, or opened without
 * arguments, has none, and the walk then goes by times.
 */
#include "scope/analysis/path_internal.h"

#include "base/map.h"
#include "base/mem.h"
#include "scope/analysis/radix.h"
#include "scope/read/args.h"

#include <string.h>

struct reading {
    const osc_busy *busy;
    const osc_slice_cols *s;
    osc_map calls; /* correlation -> runtime call */
    path_rule *rules;
    uint32_t count;
};

static uint32_t call_of(const struct reading *r, int64_t correlation)
{
    uint64_t call;
    bool found = correlation > 0 && osc_map_get(&r->calls, (uint64_t)correlation, &call);
    return found ? (uint32_t)call : OSC_NO_ROW;
}

/* Stream numbers are unsigned 32 bits in the file; all ones says none. */
static int64_t stream_arg(osc_str args, const char *key)
{
    int64_t stream;
    return osc_args_i64(args, key, &stream) && stream >= 0 && stream != UINT32_MAX ? stream : -1;
}

static void take(void *context, uint32_t slice, osc_str args)
{
    struct reading *r = context;
    osc_str name = osc_store_text(r->busy->store, r->s->name[slice]);
    bool is_wait = osc_str_eq(name, OSC_STR("Stream Wait Event"));
    int64_t recorded = 0;
    path_rule rule = {.call = call_of(r, r->s->correlation[slice]),
                      .stream = stream_arg(args, "stream"),
                      .source = stream_arg(args, "wait_on_stream"),
                      .is_wait = is_wait};
    if (rule.call == OSC_NO_ROW)
        return;
    rule.at_ns = rule.source_ns = r->s->start_ns[rule.call];
    if (osc_args_i64(args, "wait_on_cuda_event_record_corr_id", &recorded)) {
        uint32_t record = call_of(r, recorded);
        if (record != OSC_NO_ROW && r->s->start_ns[record] < rule.at_ns)
            rule.source_ns = r->s->start_ns[record];
    }
    if (is_wait && (rule.source < 0 || rule.stream < 0 || rule.source == rule.stream))
        return; /* orders nothing that the stream's own order does not */
    if (osc_str_eq(name, OSC_STR("Event Sync")))
        rule.stream = rule.source;
    r->rules[r->count++] = rule;
}

static bool index_calls(struct reading *r)
{
    for (uint32_t i = 0; i < r->s->count; i++) {
        if (r->s->kind[i] == OSC_KIND_RUNTIME && r->s->correlation[i] > 0 &&
            osc_map_put(&r->calls, (uint64_t)r->s->correlation[i], i) != OSC_OK)
            return false;
    }
    return true;
}

static bool sort_rules(struct reading *r)
{
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)r->count + 1, 2 * sizeof *keys);
    path_rule *sorted = osc_realloc_array(NULL, (size_t)r->count + 1, sizeof *sorted);
    bool ok = keys && sorted;
    for (uint32_t i = 0; ok && i < r->count; i++)
        keys[i] = (osc_keyed){(uint64_t)r->rules[i].at_ns ^ (UINT64_C(1) << 63), i};
    if (ok) {
        osc_radix_sort(keys, keys + r->count, r->count);
        for (uint32_t i = 0; i < r->count; i++)
            sorted[i] = r->rules[keys[i].value];
        memcpy(r->rules, sorted, r->count * sizeof *sorted);
    }
    osc_free(keys);
    osc_free(sorted);
    return ok;
}

static osc_status out_of_memory(osc_err *err)
{
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for sync rows");
}

osc_status path_rules_read(const osc_busy *busy, path_rule **rules, uint32_t *count, osc_err *err)
{
    struct reading r = {.busy = busy, .s = busy->slices};
    uint32_t n = 0;
    *rules = NULL;
    *count = 0;
    for (uint32_t i = 0; i < r.s->count; i++)
        n += r.s->kind[i] == OSC_KIND_SYNC && r.s->correlation[i] > 0;
    if (n == 0)
        return OSC_OK;
    uint32_t *rows = osc_realloc_array(NULL, n, sizeof *rows);
    r.rules = osc_realloc_array(NULL, n, sizeof *r.rules);
    osc_status status = rows && r.rules && index_calls(&r) ? OSC_OK : out_of_memory(err);
    n = 0;
    for (uint32_t i = 0; status == OSC_OK && i < r.s->count; i++) {
        if (r.s->kind[i] == OSC_KIND_SYNC && r.s->correlation[i] > 0)
            rows[n++] = i;
    }
    if (status == OSC_OK) {
        osc_err quiet = {0};
        status = osc_args_each(busy->store, rows, n, take, &r, &quiet);
        if (status != OSC_OK && status != OSC_ENOMEM) { /* cannot be read again: no rules */
            r.count = 0;
            status = OSC_OK;
        }
        if (status != OSC_OK || !sort_rules(&r))
            status = out_of_memory(err);
    }
    osc_free(rows);
    osc_map_free(&r.calls);
    if (status != OSC_OK) {
        osc_free(r.rules);
        return status;
    }
    *rules = r.rules;
    *count = r.count;
    return OSC_OK;
}
