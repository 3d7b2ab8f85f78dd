/*
 * session_link.c - who caused whom across the layers of a session.
 *
 *     cpu_op --External id--> runtime call, stream lane, device work   (the framework's own file)
 *     cpu_op --External id--> nrta_* in the system trace               (its correlation number)
 *     nrta_* --nrt_sequence_id--> nc_exec_running, copy on the device
 *
 * Ids of the framework and of the runtime are different number spaces and never compared.
 */
#include "scope/read/session_internal.h"

static void add_link(osc_store *store, uint32_t from, uint32_t to, osc_link_rule rule)
{
    osc_link_row row = {.from = from, .to = to, .rule = (uint8_t)rule};
    osc_store_add_link(store, &row);
}

/* Operators by External id; the last one wins, as in PyTorch. */
static bool index_operators(const osc_store *store, osc_map *ops)
{
    const osc_slice_cols *s = osc_store_slice(store);
    for (uint32_t i = 0; i < s->count; i++) {
        if ((s->kind[i] == OSC_KIND_CPU_OP || s->kind[i] == OSC_KIND_USER_ANNOTATION) &&
            s->external_id[i] > 0 && osc_map_put(ops, (uint64_t)s->external_id[i], i) != OSC_OK)
            return false;
    }
    return true;
}

/* The runtime's host call of each sequence id; the first one. */
static bool index_calls(const osc_store *store, osc_map *calls)
{
    const osc_launch_cols *l = osc_store_launch(store);
    const osc_slice_cols *s = osc_store_slice(store);
    const osc_track_cols *t = osc_store_track(store);
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t slice = l->slice[i];
        bool call =
            s->kind[slice] == OSC_KIND_NRT && t->lane_kind[s->track[slice]] == OSC_LANE_RUNTIME;
        if (call && l->sequence_id[i] != 0 && !osc_map_get(calls, l->sequence_id[i], NULL) &&
            osc_map_put(calls, l->sequence_id[i], slice) != OSC_OK)
            return false;
    }
    return true;
}

static bool is_linked_kind(uint8_t kind)
{
    return kind == OSC_KIND_RUNTIME || kind == OSC_KIND_LANE || kind == OSC_KIND_NRT ||
           kind == OSC_KIND_HW || osc_slice_kind_is_device_work((osc_slice_kind)kind);
}

osc_status osc_session_link(osc_session_reader *r, osc_err *err)
{
    osc_map ops = {0}, calls = {0};
    const osc_slice_cols *s = osc_store_slice(r->store);
    const osc_launch_cols *l = osc_store_launch(r->store);
    bool ok = index_operators(r->store, &ops) && index_calls(r->store, &calls);
    uint64_t from;
    for (uint32_t i = 0; ok && i < s->count; i++) {
        if (is_linked_kind(s->kind[i]) && s->external_id[i] > 0 &&
            osc_map_get(&ops, (uint64_t)s->external_id[i], &from))
            add_link(r->store, (uint32_t)from, i, OSC_LINK_EXTERNAL_ID);
    }
    for (uint32_t i = 0; ok && i < l->count; i++) {
        uint32_t slice = l->slice[i];
        if ((s->kind[slice] == OSC_KIND_HW || s->kind[slice] == OSC_KIND_NRT) &&
            osc_map_get(&calls, l->sequence_id[i], &from) && from != slice)
            add_link(r->store, (uint32_t)from, slice, OSC_LINK_SEQUENCE_ID);
    }
    osc_map_free(&ops);
    osc_map_free(&calls);
    return ok ? OSC_OK : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for links");
}
