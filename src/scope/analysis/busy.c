/*
 * busy.c - collects device work, finds its launches, sorts it; see busy.h.
 *
 * One pass over the slices counts and looks at names, a second one collects, and a radix sort
 * brings the items into order of time per device. A session tells executions twice, in the
 * framework's file and in the runtime's own; the runtime's are kept.
 *
 * Refuses: repairing times. An item without length holds no time and is left out; one that is much
 * too long (known-bad-inputs.md T12) is what the file says, and `check` tells.
 */
#include "scope/analysis/busy_internal.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "scope/analysis/radix.h"

#include <assert.h>
#include <string.h>

bool osc_busy_is_host(const osc_busy *b, uint32_t slice)
{
    const osc_slice_cols *s = b->slices;
    switch ((osc_slice_kind)s->kind[slice]) {
    case OSC_KIND_CPU_OP:
    case OSC_KIND_USER_ANNOTATION:
    case OSC_KIND_PYTHON: return true;
    case OSC_KIND_RUNTIME: return !(s->flags[slice] & OSC_SLICE_STREAM);
    case OSC_KIND_OTHER: /* writers without categories (kineto-trace-format.md 1.1 item 4) */
        return osc_store_track(b->store)->lane_kind[s->track[slice]] == OSC_LANE_THREAD;
    default: return false;
    }
}

bool osc_busy_is_op(const osc_busy *b, uint32_t slice)
{
    uint8_t kind = b->slices->kind[slice];
    return (kind == OSC_KIND_CPU_OP || (kind == OSC_KIND_OTHER && osc_busy_is_host(b, slice))) &&
           !(osc_busy_name(b, slice) & OSC_NAME_STEP);
}

osc_str osc_busy_text(const osc_busy *b, uint32_t slice)
{
    const osc_slice_cols *s = osc_store_slice(b->store);
    osc_str raw = osc_store_text(b->store, s->name[slice]);
    if (osc_busy_name(b, slice) & OSC_NAME_STEP) /* rows of key_averages join all steps */
        return raw;
    return osc_calls_counts(b->calls, slice)
               ? osc_calls_text(b->calls, osc_calls_name(b->calls, slice))
               : raw;
}

uint32_t osc_busy_thread(const osc_busy *b, uint32_t slice)
{
    if (osc_calls_counts(b->calls, slice))
        return osc_calls_thread(b->calls, slice);
    return osc_store_track(b->store)->thread[b->slices->track[slice]];
}

osc_str osc_busy_device(const osc_busy *b, uint32_t device)
{
    return osc_intern_get(b->devices, device + 1);
}

uint32_t osc_busy_find_device(const osc_busy *b, osc_str name)
{
    uint32_t id = osc_intern_find(b->devices, name);
    return id == OSC_INTERN_NONE || id == 0 ? OSC_NO_ROW : id - 1;
}

/* ---- collecting ---- */

struct build {
    osc_busy *b;
    const osc_slice_cols *s;
    const osc_launch_cols *l;
    uint32_t *lane_of; /* [track] lane, OSC_NO_ROW until seen */
    osc_map calls;     /* sequence id -> runtime call of the framework */
    osc_map sequences; /* slice -> its sequence id */
    osc_map owners;    /* execution -> operator, from the links of a session */
    uint8_t *worked;   /* bit of each slice: a launch that some device work has */
    osc_map only_call; /* operator -> its launch without a number, OSC_NO_ROW when it has several */
    bool executions;   /* the runtime's own executions are there */
};

static void look_at_name(osc_busy *b, uint32_t name)
{
    if (!(b->name_bits[name] & OSC_NAME_KNOWN))
        b->name_bits[name] =
            (uint16_t)(osc_busy_name_bits(osc_store_text(b->store, name)) | OSC_NAME_KNOWN);
}

/* Device work, and its class by kind; false for everything else. */
static bool is_work(const struct build *x, uint32_t slice, uint8_t *cls)
{
    const osc_track_cols *t = osc_store_track(x->b->store);
    bool on_core = t->lane_kind[x->s->track[slice]] == OSC_LANE_CORE;
    *cls = OSC_BUSY_COMPUTE;
    switch ((osc_slice_kind)x->s->kind[slice]) {
    case OSC_KIND_KERNEL: return !x->executions;
    case OSC_KIND_MEMCPY:
    case OSC_KIND_MEMSET: *cls = OSC_BUSY_COPY; return true;
    case OSC_KIND_MTIA:
        if (osc_busy_name(x->b, slice) & OSC_NAME_COPY)
            *cls = OSC_BUSY_COPY;
        return !(osc_busy_name(x->b, slice) & OSC_NAME_WAIT);
    case OSC_KIND_HPU:
    case OSC_KIND_HW: return true;
    case OSC_KIND_NRT: return on_core;
    default: return false;
    }
}

/* "2" of device:2/Stream:7, "NC:0" of neuron_hw/NC:0; *stream is "7" or empty. */
static osc_str split_lane(osc_str lane, osc_str *stream)
{
    size_t at = osc_str_find(lane, OSC_STR("/Stream:"));
    *stream = (osc_str){0};
    if (at != SIZE_MAX) {
        *stream = osc_str_sub(lane, at + 8, SIZE_MAX);
        lane = osc_str_sub(lane, 0, at);
    }
    if (osc_str_starts(lane, OSC_STR("device:")))
        return osc_str_sub(lane, 7, SIZE_MAX);
    at = osc_str_rfind_char(lane, '/');
    return at == SIZE_MAX ? lane : osc_str_sub(lane, at + 1, SIZE_MAX);
}

/* The lane of a track, made when first seen; OSC_NO_ROW: out of memory. */
static uint32_t lane_of(struct build *x, uint32_t track)
{
    osc_busy *b = x->b;
    if (x->lane_of[track] != OSC_NO_ROW)
        return x->lane_of[track];
    osc_busy_lane lane = {.track = track};
    osc_str text = osc_store_text(b->store, osc_store_track(b->store)->lane[track]);
    uint32_t id = osc_intern_put(b->devices, split_lane(text, &lane.name));
    if (id == OSC_INTERN_NONE)
        return OSC_NO_ROW;
    lane.device = id == 0 ? 0 : id - 1;
    b->lanes[b->lane_count] = lane;
    x->lane_of[track] = b->lane_count;
    return b->lane_count++;
}

/* Names, the window, and which numbers device work has; in one pass. */
static void survey(struct build *x)
{
    osc_busy *b = x->b;
    b->start_ns = INT64_MAX;
    b->end_ns = INT64_MIN;
    for (uint32_t i = 0; i < x->s->count; i++)
        x->executions = x->executions || x->s->kind[i] == OSC_KIND_HW;
    for (uint32_t i = 0; i < x->s->count; i++) {
        uint8_t cls;
        look_at_name(b, x->s->name[i]);
        if (x->s->kind[i] == OSC_KIND_PYTHON)
            continue;
        bool work = is_work(x, i, &cls);
        b->count += work;
        if ((!work && !osc_busy_is_host(b, i)) || x->s->dur_ns[i] <= 0 ||
            (x->s->flags[i] & OSC_SLICE_NO_TIME))
            continue;
        b->start_ns = x->s->start_ns[i] < b->start_ns ? x->s->start_ns[i] : b->start_ns;
        b->end_ns = osc_slice_end(x->s, i) > b->end_ns ? osc_slice_end(x->s, i) : b->end_ns;
    }
    if (b->start_ns > b->end_ns)
        b->start_ns = b->end_ns = 0;
}

/* Sequence numbers of runtime calls, and the operators of executions (sessions only). */
static bool index_session(struct build *x)
{
    const osc_link_cols *k = osc_store_link(x->b->store);
    for (uint32_t i = 0; i < x->l->count; i++) {
        uint32_t slice = x->l->slice[i];
        if (x->l->sequence_id[i] == 0 || slice >= x->s->count)
            continue;
        if (osc_map_put(&x->sequences, slice, x->l->sequence_id[i]) != OSC_OK)
            return false;
        if (x->s->kind[slice] == OSC_KIND_RUNTIME && osc_busy_is_host(x->b, slice) &&
            osc_map_put(&x->calls, x->l->sequence_id[i], slice) != OSC_OK)
            return false;
    }
    for (uint32_t i = 0; i < k->count; i++) {
        if (k->rule[i] == OSC_LINK_EXTERNAL_ID &&
            osc_map_put(&x->owners, k->to[i], k->from[i]) != OSC_OK)
            return false;
    }
    return true;
}

/* Launches that carry no number, by their operator (a backend that only says which operator it
 * works for). */
static bool index_only_calls(struct build *x)
{
    for (uint32_t i = 0; i < x->s->count; i++) {
        if (x->s->kind[i] != OSC_KIND_RUNTIME || x->s->correlation[i] != 0 ||
            !(osc_busy_name(x->b, i) & OSC_NAME_LAUNCH) || !osc_busy_is_host(x->b, i))
            continue;
        uint32_t op = osc_calls_op(x->b->calls, i);
        bool first = op != OSC_NO_ROW && !osc_map_get(&x->only_call, op, NULL);
        if (op != OSC_NO_ROW && osc_map_put(&x->only_call, op, first ? i : OSC_NO_ROW) != OSC_OK)
            return false;
    }
    return true;
}

/* The host call that launched a slice, best known first. */
static uint32_t launch_of(const struct build *x, uint32_t slice)
{
    uint64_t sequence, found;
    uint32_t call = osc_calls_launch(x->b->calls, slice);
    if (call != OSC_NO_ROW)
        return call;
    if (osc_map_get(&x->sequences, slice, &sequence) && osc_map_get(&x->calls, sequence, &found))
        return (uint32_t)found;
    if (osc_map_get(&x->owners, slice, &found) && osc_busy_is_host(x->b, (uint32_t)found))
        return (uint32_t)found;
    uint32_t op = osc_calls_op(x->b->calls, slice);
    bool only = op != OSC_NO_ROW && osc_map_get(&x->only_call, op, &found) && found != OSC_NO_ROW &&
                x->s->start_ns[found] <= x->s->start_ns[slice];
    return only ? (uint32_t)found : op;
}

/* True when the operator of a slice, or one around it, is a collective. */
static bool in_collective(const osc_busy *b, uint32_t slice)
{
    uint32_t op = osc_calls_op(b->calls, slice);
    while (op != OSC_NO_ROW && !(osc_busy_name(b, op) & OSC_NAME_COMM_OP))
        op = osc_calls_parent(b->calls, op);
    return op != OSC_NO_ROW;
}

static bool collect(struct build *x)
{
    osc_busy *b = x->b;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->s->count; i++) {
        uint8_t cls;
        if (!is_work(x, i, &cls))
            continue;
        uint32_t launch = launch_of(x, i);
        if (launch != OSC_NO_ROW)
            x->worked[launch / 8] = (uint8_t)(x->worked[launch / 8] | 1u << launch % 8);
        if (x->s->dur_ns[i] <= 0 || (x->s->flags[i] & OSC_SLICE_NO_TIME)) {
            b->unstamped += x->s->dur_ns[i] <= 0;
            continue;
        }
        uint32_t lane = lane_of(x, x->s->track[i]);
        if (lane == OSC_NO_ROW)
            return false;
        if ((osc_busy_name(b, i) & OSC_NAME_COMM) || in_collective(b, i))
            cls = OSC_BUSY_COMM;
        b->items[n] = (osc_busy_item){.start_ns = x->s->start_ns[i],
                                      .end_ns = osc_slice_end(x->s, i),
                                      .slice = i,
                                      .launch = launch,
                                      .lane = lane,
                                      .device = b->lanes[lane].device,
                                      .cls = cls};
        b->unlaunched += b->items[n].launch == OSC_NO_ROW;
        n++;
    }
    b->count = n;
    b->device_count = osc_intern_count(b->devices) - 1;
    if (n > 0 && b->device_count == 0)
        b->device_count = 1; /* a device without a name */
    return true;
}

/* Launches in the capture whose work is not: of runtimes whose other launches do have work (T10,
 * T11). */
static void count_lost(struct build *x)
{
    for (uint32_t i = 0; i < x->s->count; i++) {
        if (x->s->kind[i] != OSC_KIND_RUNTIME || !(osc_busy_name(x->b, i) & OSC_NAME_KERNELS))
            continue;
        if (x->s->correlation[i] != 0 && !(x->worked[i / 8] >> i % 8 & 1))
            x->b->lost++;
    }
}

/* By (device, start, order of the file). */
static bool sort_items(osc_busy *b)
{
    osc_keyed *keys = osc_realloc_array(NULL, (size_t)b->count + 1, 2 * sizeof *keys);
    osc_busy_item *sorted = osc_realloc_array(NULL, (size_t)b->count + 1, sizeof *sorted);
    b->device_first = osc_calloc((size_t)b->device_count + 2, sizeof *b->device_first);
    bool ok = keys && sorted && b->device_first;
    if (ok) {
        int64_t least = INT64_MAX;
        for (uint32_t i = 0; i < b->count; i++)
            least = b->items[i].start_ns < least ? b->items[i].start_ns : least;
        for (uint32_t i = 0; i < b->count; i++) {
            keys[i] = (osc_keyed){(uint64_t)(b->items[i].start_ns - least), i};
            b->device_first[b->items[i].device + 1]++;
        }
        osc_radix_sort(keys, keys + b->count, b->count);
        for (uint32_t d = 0; d < b->device_count; d++)
            b->device_first[d + 1] += b->device_first[d];
        for (uint32_t i = 0; i < b->count; i++) { /* stable by device; ends up one device ahead */
            const osc_busy_item *item = &b->items[keys[i].value];
            sorted[b->device_first[item->device]++] = *item;
        }
        for (uint32_t d = b->device_count; d > 0; d--)
            b->device_first[d] = b->device_first[d - 1];
        b->device_first[0] = 0;
        osc_free(b->items);
        b->items = sorted;
        sorted = NULL;
    }
    osc_free(keys);
    osc_free(sorted);
    return ok;
}

static bool allocate(struct build *x)
{
    osc_busy *b = x->b;
    uint32_t tracks = osc_store_track(b->store)->count;
    b->devices = osc_intern_new(SIZE_MAX);
    b->lanes = osc_realloc_array(NULL, (size_t)tracks + 1, sizeof *b->lanes);
    b->name_bits = osc_calloc((size_t)osc_store_text_count(b->store) + 1, sizeof *b->name_bits);
    x->lane_of = osc_realloc_array(NULL, (size_t)tracks + 1, sizeof *x->lane_of);
    x->worked = osc_calloc((size_t)x->s->count / 8 + 1, 1);
    if (!b->devices || !b->lanes || !b->name_bits || !x->lane_of || !x->worked)
        return false;
    memset(x->lane_of, 0xff, ((size_t)tracks + 1) * sizeof *x->lane_of); /* OSC_NO_ROW */
    return true;
}

osc_status osc_busy_build(const osc_store *store, const osc_calls *calls, osc_busy *out,
                          osc_err *err)
{
    memset(out, 0, sizeof *out);
    out->store = store;
    out->slices = osc_store_slice(store);
    out->calls = calls;
    struct build x = {.b = out, .s = osc_store_slice(store), .l = osc_store_launch(store)};
    bool ok = allocate(&x);
    if (ok)
        survey(&x);
    ok = ok && index_session(&x) && index_only_calls(&x);
    if (ok) {
        out->items = osc_realloc_array(NULL, (size_t)out->count + 1, sizeof *out->items);
        ok = out->items && collect(&x);
    }
    if (ok) {
        count_lost(&x);
        ok = sort_items(out);
    }
    osc_free(x.lane_of);
    osc_map_free(&x.calls);
    osc_map_free(&x.sequences);
    osc_map_free(&x.owners);
    osc_free(x.worked);
    osc_map_free(&x.only_call);
    if (ok)
        return OSC_OK;
    osc_busy_free(out);
    return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for device work");
}

void osc_busy_free(osc_busy *b)
{
    if (!b)
        return;
    osc_free(b->items);
    osc_free(b->lanes);
    osc_intern_free(b->devices);
    osc_free(b->device_first);
    osc_free(b->name_bits);
    memset(b, 0, sizeof *b);
}

osc_status osc_busy_open(const osc_store *store, osc_calls **calls, osc_busy *out, osc_err *err)
{
    static const osc_calls_options all = {
        .python = OSC_PYTHON_NO, .keep_unfinished = true, .keep_duplicates = true};
    memset(out, 0, sizeof *out);
    osc_status status = osc_calls_build(store, &all, calls, err);
    if (status == OSC_OK)
        status = osc_busy_build(store, *calls, out, err);
    if (status != OSC_OK) {
        osc_calls_free(*calls);
        *calls = NULL;
    }
    return status;
}

osc_status osc_busy_pick_device(const osc_busy *b, osc_str name, uint32_t *device, osc_err *err)
{
    *device = OSC_NO_ROW;
    if (name.len == 0)
        return OSC_OK;
    *device = osc_busy_find_device(b, name);
    if (*device != OSC_NO_ROW)
        return OSC_OK;
    osc_buf names;
    osc_buf_init(&names, 200);
    for (uint32_t d = 0; d < b->device_count && !names.failed; d++)
        osc_buf_printf(&names, "%s%.*s", d ? ", " : "", OSC_STR_FMT(osc_busy_device(b, d)));
    osc_status status = osc_fail(
        err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET, "no device '%.*s'; there is %.*s%s",
        OSC_STR_FMT(name), OSC_STR_FMT(b->device_count ? osc_buf_view(&names) : OSC_STR("none")),
        names.failed ? ", ..." : "");
    osc_buf_free(&names);
    return status;
}

const char *osc_busy_why_none(const osc_busy *busy)
{
    if (busy->count > 0)
        return "";
    if (busy->unstamped > 0)
        return "device events are there, but none has a length";
    if (busy->lost > 0)
        return "launches are there, but no device events: was the device synchronised before the "
               "profiler stopped?";
    return "no device work in this capture: was the device among the profiler's activities?";
}
