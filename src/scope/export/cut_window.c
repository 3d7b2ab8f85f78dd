/* cut_window.c - the window of a step, of a call, of two times; see cut.h. */
#include "scope/export/cut.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/sat.h"
#include "scope/store/kinds.h"

#include <assert.h>
#include <stdlib.h>

#define STEP "ProfilerStep#"

/* True for a slice of a host thread that has a name of its own. */
static bool is_host(const osc_slice_cols *s, uint32_t i)
{
    switch ((osc_slice_kind)s->kind[i]) {
    case OSC_KIND_CPU_OP:
    case OSC_KIND_USER_ANNOTATION:
    case OSC_KIND_PYTHON:
    case OSC_KIND_RUNTIME: return true;
    default: return false;
    }
}

static int64_t end_of(const osc_slice_cols *s, uint32_t i)
{
    return osc_add_sat(s->start_ns[i], s->dur_ns[i]);
}

osc_status osc_window_of_step(const osc_store *store, int64_t number, osc_window *out, osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(store);
    int64_t low = INT64_MAX, high = INT64_MIN;
    *out = (osc_window){.from_ns = INT64_MAX, .to_ns = INT64_MIN, .whole_frames = true};
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t step;
        osc_str name = osc_store_text(store, s->name[i]);
        if (!osc_slice_is_step(store, i) ||
            !osc_parse_i64(osc_str_sub(name, sizeof STEP - 1, SIZE_MAX), &step))
            continue;
        low = step < low ? step : low;
        high = step > high ? step : high;
        if (step != number)
            continue;
        out->from_ns = s->start_ns[i] < out->from_ns ? s->start_ns[i] : out->from_ns;
        out->to_ns = end_of(s, i) > out->to_ns ? end_of(s, i) : out->to_ns;
    }
    if (out->from_ns <= out->to_ns)
        return OSC_OK;
    if (low > high)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "the trace has no steps (" STEP "N); give --from and --to");
    if (low == high)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "there is no step %lld; the only one is %lld", (long long)number,
                        (long long)low);
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                    "there is no step %lld; the steps are %lld to %lld", (long long)number,
                    (long long)low, (long long)high);
}

static int by_time(const void *a, const void *b)
{
    const osc_window *x = a, *y = b;
    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    return (x->to_ns < y->to_ns) - (x->to_ns > y->to_ns);
}

osc_status osc_window_of_call(const osc_store *store, osc_str name, uint32_t nth, osc_window *out,
                              osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(store);
    uint32_t id = osc_store_lookup(store, name), count = 0;
    assert(nth > 0);
    for (uint32_t i = 0; i < s->count; i++)
        count += s->name[i] == id && is_host(s, i);
    if (count == 0)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "nothing on the host is called '%.*s'; see opscope top", OSC_STR_FMT(name));
    if (nth > count)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "there is no call %u of '%.*s'; there are %u", nth, OSC_STR_FMT(name),
                        count);
    osc_window *calls = osc_realloc_array(NULL, count, sizeof *calls);
    if (!calls)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->name[i] == id && is_host(s, i))
            calls[n++] = (osc_window){.from_ns = s->start_ns[i], .to_ns = end_of(s, i)};
    }
    qsort(calls, count, sizeof *calls, by_time);
    *out = calls[nth - 1];
    osc_free(calls);
    return OSC_OK;
}

osc_window osc_window_of_times(const osc_store *store, osc_when from, osc_when to)
{
    osc_extent extent = osc_extent_of(store);
    if (extent.last_ns < extent.first_ns)
        return (osc_window){0};
    return (osc_window){.from_ns = osc_when_ns(from, extent.first_ns),
                        .to_ns = osc_when_ns(to, extent.first_ns)};
}
