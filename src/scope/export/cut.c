/*
 * cut.c - see cut.h.
 *
 * The store knows which device work was launched when; the file has the text. The two meet at the
 * place of an event's arguments, which no other event shares: the places of device work that is
 * kept are listed in the order of the file, and the rewriting walks along that list. Host events
 * are decided by their own times, but for those that window.whole_frames keeps, which are on the
 * list too.
 *
 * Names of lanes come last in the output, once each: which lanes are left is known only then, and
 * some writers repeat them a hundred thousand times (known-bad-inputs.md S11).
 */
#include "scope/export/cut.h"

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/sat.h"
#include "scope/read/scan.h"
#include "scope/store/kinds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a flow from its ends. */
#define FLOW_STARTS_IN 1u /* its start lies in the window */
#define FLOW_LEAVES    2u /* an end on a host lane lies outside */

struct osc_cut {
    const osc_store *store;
    osc_window window;
    int64_t base_ns; /* added to times of the file */
    uint64_t
        *places; /* of the arguments of what is kept for another reason than its time, ascending */
    size_t place_count, place_next;
    osc_map reaches;   /* thread to how far behind the window its frames reach, ns */
    osc_map flows;     /* (category, id) to FLOW_* bits */
    osc_intern *lanes; /* "pid" and "pid\ttid" of what was kept */
    osc_intern *names; /* texts of metadata events, once each */
    bool failed;
};

/* ---- what the store says ---- */

static bool is_device(uint8_t kind)
{
    switch ((osc_slice_kind)kind) {
    case OSC_KIND_KERNEL:
    case OSC_KIND_MEMCPY:
    case OSC_KIND_MEMSET:
    case OSC_KIND_GPU_ANNOTATION:
    case OSC_KIND_SYNC:
    case OSC_KIND_MTIA:
    case OSC_KIND_HPU: return true;
    default: return false;
    }
}

/* Overlap of [start, end] with the window; a point counts where it is. */
static bool touches(const osc_window *w, int64_t start, int64_t end)
{
    if (end <= start)
        return start >= w->from_ns && start < w->to_ns;
    return start < w->to_ns && end > w->from_ns;
}

static bool slice_touches(const osc_cut *c, uint32_t i)
{
    const osc_slice_cols *s = osc_store_slice(c->store);
    return touches(&c->window, s->start_ns[i], osc_add_sat(s->start_ns[i], s->dur_ns[i]));
}

/*
 * Python frames that begin in a step and reach beyond it (the profiler's own step() does, in every
 * step: known-bad-inputs.md N04) keep what they contain, or their self time would be wrong. A window
 * of times does not ask for that: the frame of a model's pass would bring the whole pass. Notes for
 * each thread up to when that is. False: no memory.
 */
static bool find_reaches(osc_cut *c)
{
    const osc_slice_cols *s = osc_store_slice(c->store);
    const osc_track_cols *tracks = osc_store_track(c->store);
    for (uint32_t i = 0; c->window.whole_frames && i < s->count; i++) {
        int64_t end = osc_add_sat(s->start_ns[i], s->dur_ns[i]);
        uint64_t known = 0;
        if (s->kind[i] != OSC_KIND_PYTHON || s->start_ns[i] < c->window.from_ns ||
            s->start_ns[i] >= c->window.to_ns || end <= c->window.to_ns)
            continue;
        uint64_t reach = (uint64_t)end - (uint64_t)c->window.to_ns;
        uint32_t thread = tracks->thread[s->track[i]];
        if ((!osc_map_get(&c->reaches, thread, &known) || known < reach) &&
            osc_map_put(&c->reaches, thread, reach) != OSC_OK)
            return false;
    }
    return true;
}

/* True for a slice of the host behind the window that a kept frame contains. */
static bool reached(const osc_cut *c, uint32_t i)
{
    const osc_slice_cols *s = osc_store_slice(c->store);
    uint64_t reach;
    return s->start_ns[i] >= c->window.to_ns &&
           osc_map_get(&c->reaches, osc_store_track(c->store)->thread[s->track[i]], &reach) &&
           (uint64_t)s->start_ns[i] - (uint64_t)c->window.to_ns < reach;
}

/* Annotations of the device repeat one of the host; External id ties them. */
static bool annotations_in(osc_cut *c, osc_map *ids)
{
    const osc_slice_cols *s = osc_store_slice(c->store);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->kind[i] == OSC_KIND_USER_ANNOTATION && s->external_id[i] != 0 &&
            slice_touches(c, i) && osc_map_put(ids, (uint64_t)s->external_id[i], 1) != OSC_OK)
            return false;
    }
    return true;
}

/* Whether device work is kept: by its launch, else its operator, else its own start. */
static bool device_kept(const osc_cut *c, const osc_calls *calls, const osc_map *annotations,
                        uint32_t i)
{
    const osc_slice_cols *s = osc_store_slice(c->store);
    if (s->kind[i] == OSC_KIND_GPU_ANNOTATION && s->external_id[i] != 0)
        return osc_map_get(annotations, (uint64_t)s->external_id[i], NULL);
    uint32_t cause = osc_calls_launch(calls, i);
    if (cause == OSC_NO_ROW)
        cause = osc_calls_op(calls, i);
    if (cause != OSC_NO_ROW)
        return slice_touches(c, cause) || reached(c, cause);
    return s->start_ns[i] >= c->window.from_ns && s->start_ns[i] < c->window.to_ns;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static osc_status list_places(osc_cut *c, const osc_calls *calls, osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(c->store);
    osc_map annotations;
    size_t most = 0;
    osc_map_init(&annotations);
    bool ok = find_reaches(c) && annotations_in(c, &annotations);
    for (uint32_t i = 0; i < s->count && ok; i++)
        most += is_device(s->kind[i]) || reached(c, i);
    c->places = ok ? osc_realloc_array(NULL, most + 1, sizeof *c->places) : NULL;
    ok = c->places != NULL;
    for (uint32_t i = 0; i < s->count && ok; i++) {
        if (s->args_len[i] > 0 &&
            (is_device(s->kind[i]) ? device_kept(c, calls, &annotations, i) : reached(c, i)))
            c->places[c->place_count++] = s->args_at[i];
    }
    osc_map_free(&annotations);
    if (!ok)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    qsort(c->places, c->place_count, sizeof *c->places, by_place);
    return OSC_OK;
}

static uint64_t flow_key(uint32_t category, uint32_t id)
{
    return (uint64_t)category << 32 | id;
}

static bool on_host(const osc_store *store, uint32_t track)
{
    return track < osc_store_track(store)->count &&
           osc_store_track(store)->lane_kind[track] == OSC_LANE_THREAD;
}

static osc_status list_flows(osc_cut *c, osc_err *err)
{
    const osc_flow_cols *f = osc_store_flow(c->store);
    for (uint32_t i = 0; i < f->count; i++) {
        uint64_t key = flow_key(f->category[i], f->id[i]), bits = 0;
        bool inside = f->at_ns[i] >= c->window.from_ns && f->at_ns[i] < c->window.to_ns;
        (void)osc_map_get(&c->flows, key, &bits);
        if (f->phase[i] == 0 && inside)
            bits |= FLOW_STARTS_IN;
        if (!inside && (f->phase[i] == 0 || on_host(c->store, f->track[i])))
            bits |= FLOW_LEAVES;
        if (osc_map_put(&c->flows, key, bits) != OSC_OK)
            return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    }
    return OSC_OK;
}

osc_status osc_cut_new(const osc_store *store, osc_window window, osc_cut **out, osc_err *err)
{
    osc_calls_options options = {
        .python = OSC_PYTHON_NO, .keep_unfinished = true, .keep_duplicates = true};
    osc_calls *calls = NULL;
    *out = NULL;
    if (osc_store_slice(store)->count > 0 && !osc_store_slice(store)->args_at)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET,
                        "the trace was opened without the places of its arguments");
    osc_cut *c = osc_calloc(1, sizeof *c);
    if (!c)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    c->store = store;
    c->window = window;
    (void)osc_parse_i64(osc_store_get_meta(store, "base_time_ns"), &c->base_ns);
    c->lanes = osc_intern_new(SIZE_MAX);
    c->names = osc_intern_new(SIZE_MAX);
    osc_status status = c->lanes && c->names
                            ? osc_calls_build(store, &options, &calls, err)
                            : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    if (status == OSC_OK)
        status = list_places(c, calls, err);
    if (status == OSC_OK)
        status = list_flows(c, err);
    osc_calls_free(calls);
    if (status != OSC_OK) {
        osc_cut_free(c);
        return status;
    }
    *out = c;
    return OSC_OK;
}

void osc_cut_free(osc_cut *c)
{
    if (!c)
        return;
    osc_map_free(&c->reaches);
    osc_map_free(&c->flows);
    osc_intern_free(c->lanes);
    osc_intern_free(c->names);
    osc_free(c->places);
    osc_free(c);
}

/* ---- one event of the file ---- */

typedef struct members {
    osc_scan_value ph, cat, name, pid, tid, ts, dur, args, id;
} members;

static members members_of(osc_str event)
{
    static const struct {
        const char *key;
        size_t offset;
    } table[] = {{"ph", offsetof(members, ph)},     {"cat", offsetof(members, cat)},
                 {"name", offsetof(members, name)}, {"pid", offsetof(members, pid)},
                 {"tid", offsetof(members, tid)},   {"ts", offsetof(members, ts)},
                 {"dur", offsetof(members, dur)},   {"args", offsetof(members, args)},
                 {"id", offsetof(members, id)}};
    members m;
    osc_scan s;
    osc_scan_value key, value;
    bool ended;
    memset(&m, 0, sizeof m);
    osc_scan_init(&s, event.ptr, event.len);
    if (!osc_scan_take(&s, '{'))
        return m;
    while (osc_scan_member(&s, &key, &ended) && osc_scan_value_next(&s, &value)) {
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            if (osc_str_eq_cstr(key.text, table[i].key))
                memcpy((char *)&m + table[i].offset, &value, sizeof value);
        }
    }
    return m;
}

/* Start and end on the store's clock; false when the event has no time. */
static bool times_of(const osc_cut *c, const members *m, int64_t *start, int64_t *end)
{
    int64_t dur = 0;
    if (!osc_scan_us_to_ns(&m->ts, start))
        return false;
    if (!osc_scan_us_to_ns(&m->dur, &dur) || dur < 0)
        dur = 0;
    *start = osc_add_sat(*start, c->base_ns);
    *end = osc_add_sat(*start, dur);
    return true;
}

/* Whether the arguments at this place are those of device work that is kept. */
static bool place_kept(osc_cut *c, uint64_t place)
{
    while (c->place_next < c->place_count && c->places[c->place_next] < place)
        c->place_next++;
    return c->place_next < c->place_count && c->places[c->place_next] == place;
}

static bool flow_kept(const osc_cut *c, const members *m, bool inside)
{
    uint32_t category = osc_store_lookup(c->store, m->cat.text);
    uint32_t id = osc_store_lookup(c->store, m->id.text);
    uint64_t bits;
    if (category == OSC_NO_ROW || id == OSC_NO_ROW ||
        !osc_map_get(&c->flows, flow_key(category, id), &bits))
        return inside;
    return bits == FLOW_STARTS_IN;
}

/* Puts "pid" and "pid\ttid" of an event into lanes, or asks whether they are there (whole: only
 * pid). */
static bool lane(osc_cut *c, const members *m, bool put, bool whole)
{
    osc_buf key;
    osc_buf_init(&key, SIZE_MAX);
    osc_buf_str(&key, m->pid.text);
    if (put && osc_intern_put(c->lanes, osc_buf_view(&key)) == OSC_INTERN_NONE)
        c->failed = true;
    if (put || !whole) {
        osc_buf_putc(&key, '\t');
        osc_buf_str(&key, m->tid.text);
    }
    bool found = !put && osc_intern_find(c->lanes, osc_buf_view(&key)) != OSC_INTERN_NONE;
    if (put && osc_intern_put(c->lanes, osc_buf_view(&key)) == OSC_INTERN_NONE)
        c->failed = true;
    c->failed = c->failed || key.failed;
    osc_buf_free(&key);
    return found;
}

static bool slice_kept(osc_cut *c, const members *m, uint64_t place, int64_t start, int64_t end)
{
    uint8_t flags = 0;
    bool has_place = m->args.type == OSC_SCAN_OBJECT;
    if (!is_device((uint8_t)osc_slice_kind_of(m->cat.text, &flags)))
        return touches(&c->window, start, end) || (has_place && place_kept(c, place));
    if (has_place)
        return place_kept(c, place);
    return start >= c->window.from_ns && start < c->window.to_ns;
}

static bool keep(void *context, osc_str text, uint64_t at)
{
    osc_cut *c = context;
    members m = members_of(text);
    int64_t start, end;
    char phase = m.ph.text.len > 0 ? m.ph.text.ptr[0] : '\0';
    if (phase == 'M') {
        if (osc_intern_put(c->names, text) == OSC_INTERN_NONE)
            c->failed = true;
        return false;
    }
    if (!times_of(c, &m, &start, &end))
        return false; /* without a time it is in no window */
    bool inside = start >= c->window.from_ns && start < c->window.to_ns;
    bool kept = inside;
    if (phase == 'X') {
        uint64_t place = at + (m.args.text.ptr ? (uint64_t)(m.args.text.ptr - text.ptr) : 0);
        kept = slice_kept(c, &m, place, start, end);
    } else if (phase == 's' || phase == 't' || phase == 'f') {
        kept = flow_kept(c, &m, inside);
    }
    if (kept)
        (void)lane(c, &m, true, false);
    return kept;
}

/* Writes the names of lanes that are left: those of a process when anything of it is. */
static osc_status put_names(void *context, osc_rewriter *w, osc_err *err)
{
    osc_cut *c = context;
    osc_status status = OSC_OK;
    for (uint32_t i = 1; i < osc_intern_count(c->names) && status == OSC_OK; i++) {
        osc_str text = osc_intern_get(c->names, i);
        members m = members_of(text);
        if (lane(c, &m, false, osc_str_starts(m.name.text, OSC_STR("process_"))))
            status = osc_rewriter_put(w, text, err);
    }
    return status;
}

osc_rewrite_filter osc_cut_filter(osc_cut *cut)
{
    assert(cut->place_next == 0);
    return (osc_rewrite_filter){.context = cut, .keep = keep, .last = put_names};
}

osc_status osc_cut_status(const osc_cut *cut, osc_err *err)
{
    return cut->failed ? osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory") : OSC_OK;
}
