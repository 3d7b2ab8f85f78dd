/*
 * extent.c - see extent.h.
 *
 * Drivers that lose a time stamp write zero (known-bad-inputs.md T05). One such kernel would make a
 * trace last fifty years, so device work at zero does not count where all else lies more than an
 * hour away from it.
 */
#include "scope/analysis/extent.h"

#include "base/num.h"
#include "scope/analysis/sat.h"

#include <assert.h>

#define HOUR_NS INT64_C(3600000000000)

static bool is_device(uint8_t kind)
{
    return osc_slice_kind_is_device_work((osc_slice_kind)kind) || kind == OSC_KIND_SYNC ||
           kind == OSC_KIND_GPU_ANNOTATION || kind == OSC_KIND_MTIA || kind == OSC_KIND_HPU;
}

static bool at_zero(const osc_slice_cols *s, uint32_t slice, int64_t zero)
{
    return s->start_ns[slice] == zero && s->dur_ns[slice] == 0 && is_device(s->kind[slice]);
}

static void widen(osc_extent *e, const osc_slice_cols *s, bool with_zeros)
{
    e->first_ns = e->host_end_ns = INT64_MIN;
    e->last_ns = INT64_MIN;
    bool any = false;
    for (uint32_t i = 0; i < s->count; i++) {
        if ((s->flags[i] & OSC_SLICE_NO_TIME) || (!with_zeros && at_zero(s, i, e->zero_ns)))
            continue;
        int64_t end = osc_slice_end(s, i);
        e->first_ns = !any || s->start_ns[i] < e->first_ns ? s->start_ns[i] : e->first_ns;
        e->last_ns = !any || end > e->last_ns ? end : e->last_ns;
        any = true;
        if (!is_device(s->kind[i]) && s->kind[i] != OSC_KIND_SPAN && end > e->host_end_ns)
            e->host_end_ns = end;
    }
    if (!any) {
        e->first_ns = 0;
        e->last_ns = -1;
    }
}

osc_extent osc_extent_of(const osc_store *store)
{
    const osc_slice_cols *s = osc_store_slice(store);
    osc_extent e = {0};
    (void)osc_parse_i64(osc_store_get_meta(store, "base_time_ns"), &e.zero_ns);
    widen(&e, s, false);
    if (e.last_ns < e.first_ns || e.first_ns - e.zero_ns < HOUR_NS) {
        widen(&e, s, true);
        return e;
    }
    for (uint32_t i = 0; i < s->count; i++)
        e.stampless += at_zero(s, i, e.zero_ns);
    return e;
}

int64_t osc_extent_zero(const osc_store *store)
{
    return osc_extent_of(store).first_ns;
}

int64_t osc_when_ns(osc_when when, int64_t zero_ns)
{
    return when.absolute ? when.ns : osc_add_sat(zero_ns, when.ns);
}

bool osc_extent_stampless(const osc_extent *extent, const osc_slice_cols *slices, uint32_t slice)
{
    assert(slice < slices->count);
    return extent->stampless > 0 && at_zero(slices, slice, extent->zero_ns);
}

bool osc_slice_is_step(const osc_store *store, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(store);
    assert(slice < s->count);
    return (s->kind[slice] == OSC_KIND_USER_ANNOTATION || s->kind[slice] == OSC_KIND_CPU_OP) &&
           osc_str_starts(osc_store_text(store, s->name[slice]), OSC_STR("ProfilerStep#"));
}
