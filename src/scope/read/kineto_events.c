/*
 * kineto_events.c - one event of a trace, however it is written: the reference that the fast reader
 * must equal.
 *
 * An event's members are noted first and interpreted when it is complete, because writers disagree
 * about their order. What an event is follows from its category alone, never from its pid
 * (kineto-trace-format.md 1.5). Times are decimal text turned into integer nanoseconds; a double
 * would lose digits (1.4).
 *
 * The window may end anywhere. An event is therefore tried first, and only when no answer hung on
 * the window's end does it count; else more input is fetched and it is tried again from its first
 * byte.
 *
 * Refuses: grouping and linking, which are analyses.
 */
#include "scope/read/kineto_internal.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/read/kineto_fast.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void osc_kineto_note(osc_kineto *k, osc_severity severity, const char *code, size_t at,
                     const char *sentence)
{
    osc_store_note(k->store, severity, code, 1, k->scan.base + at, sentence);
}

/* ---- one event ---- */

/* Where a member stands, or its event when it has none. */
static size_t place(const osc_kineto_event *e, const osc_scan_value *member)
{
    return member->type != OSC_SCAN_NONE ? member->offset : e->at;
}

static void take_member(osc_kineto_event *e, osc_str key, const osc_scan_value *value)
{
    static const struct {
        osc_str key;
        size_t offset;
    } members[] = {
        {{"ph", 2}, offsetof(osc_kineto_event, ph)},
        {{"cat", 3}, offsetof(osc_kineto_event, cat)},
        {{"name", 4}, offsetof(osc_kineto_event, name)},
        {{"pid", 3}, offsetof(osc_kineto_event, pid)},
        {{"tid", 3}, offsetof(osc_kineto_event, tid)},
        {{"ts", 2}, offsetof(osc_kineto_event, ts)},
        {{"dur", 3}, offsetof(osc_kineto_event, dur)},
        {{"args", 4}, offsetof(osc_kineto_event, args)},
        {{"external id", 11}, offsetof(osc_kineto_event, external)},
        {{"id", 2}, offsetof(osc_kineto_event, id)},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (osc_str_eq(key, members[i].key)) {
            memcpy((char *)e + members[i].offset, value, sizeof *value);
            return;
        }
    }
}

bool osc_kineto_take_event(osc_kineto *k, osc_kineto_event *e)
{
    osc_scan_value key, value;
    bool ended;
    memset(e, 0, sizeof *e);
    e->at = k->scan.pos - 1;
    while (osc_scan_member(&k->scan, &key, &ended)) {
        if (key.escaped) {
            osc_buf_clear(&k->text);
            osc_scan_unescape(&k->scan, &key, &k->text);
            key.text = osc_buf_view(&k->text);
        }
        if (!osc_scan_value_next(&k->scan, &value))
            return false;
        take_member(e, key.text, &value);
    }
    return ended;
}

static bool phase_is(const osc_kineto_event *e, char phase)
{
    return e->ph.text.len == 1 && e->ph.text.ptr[0] == phase;
}

osc_slice_kind osc_kineto_category(osc_kineto *k, const osc_scan_value *cat, uint8_t *flags)
{
    if (cat->type != OSC_SCAN_STRING)
        return OSC_KIND_OTHER;
    uint32_t id = osc_intern_put(k->cats, cat->text);
    if (id >= OSC_KINETO_CATEGORIES)
        return osc_slice_kind_of(cat->text, flags);
    if (id >= k->cat_known) {
        assert(id == k->cat_known || k->cat_known == 0);
        k->cat_flags[id] = 0;
        k->cat_kind[id] = (uint8_t)osc_slice_kind_of(cat->text, &k->cat_flags[id]);
        k->cat_known = id + 1;
    }
    *flags |= k->cat_flags[id];
    return (osc_slice_kind)k->cat_kind[id];
}

/* A pid or tid as canonical text: 17, 17.0 and "17" are the same. out holds a printed number. */
static osc_str id_text(const osc_scan_value *value, char out[OSC_NUM_TEXT])
{
    int64_t number;
    if (value->type == OSC_SCAN_NUMBER && osc_str_find_char(value->text, '.', 0) != SIZE_MAX &&
        osc_scan_i64(value, &number)) {
        int n = snprintf(out, OSC_NUM_TEXT, "%lld", (long long)number);
        return osc_str_make(out, n > 0 ? (size_t)n : 0);
    }
    return value->type == OSC_SCAN_NUMBER || value->type == OSC_SCAN_STRING ? value->text
                                                                            : (osc_str){0};
}

osc_lane_kind osc_kineto_lane(osc_slice_kind kind, uint8_t flags)
{
    assert(kind < OSC_KIND_COUNT);
    if (kind == OSC_KIND_LANE || (flags & OSC_SLICE_STREAM))
        return OSC_LANE_STREAM;
    if (kind == OSC_KIND_SPAN)
        return OSC_LANE_SPAN;
    if (osc_slice_kind_is_device_work(kind) || kind == OSC_KIND_GPU_ANNOTATION ||
        kind == OSC_KIND_SYNC || kind == OSC_KIND_MTIA)
        return OSC_LANE_DEVICE;
    return OSC_LANE_THREAD;
}

static uint32_t track_of(osc_kineto *k, const osc_kineto_event *e, osc_lane_kind lane)
{
    char pid[OSC_NUM_TEXT], tid[OSC_NUM_TEXT];
    return osc_tracks_get(k->tracks, id_text(&e->pid, pid), id_text(&e->tid, tid), lane);
}

static void add_launch(osc_kineto *k, uint32_t slice, const osc_kineto_args *args)
{
    osc_launch_row row = {.sequence_id = args->sequence_id,
                          .exec_id = args->exec_id,
                          .bytes = args->bytes,
                          .device = args->device,
                          .slice = slice};
    if (args->cache_key.type == OSC_SCAN_STRING)
        row.cache_key = osc_store_intern(k->store, osc_kineto_text(k, &args->cache_key));
    if (row.sequence_id || row.exec_id || row.cache_key || row.bytes)
        osc_store_add_launch(k->store, &row);
}

/* Autograd's numbers of an operator or annotation (kineto-trace-format.md 1.7).
 */
static void add_sequence(osc_kineto *k, uint32_t slice, const osc_kineto_args *args)
{
    osc_sequence_row row = {
        .sequence = args->sequence, .fwd_thread = args->fwd_thread, .slice = slice};
    osc_store_add_sequence(k->store, &row);
}

/* Remembers how the fraction of a time is written. */
static void note_fraction(osc_kineto *k, const osc_scan_value *time)
{
    size_t point = osc_str_find_char(time->text, '.', 0);
    size_t digits = 0;
    osc_str fraction =
        point == SIZE_MAX ? (osc_str){0} : osc_str_sub(time->text, point + 1, SIZE_MAX);
    while (digits < fraction.len && fraction.ptr[digits] >= '0' && fraction.ptr[digits] <= '9')
        digits++;
    if (digits == 0)
        return;
    k->fractions |= (uint8_t)(digits <= 3 ? 1u << digits : OSC_FRACTION_MORE);
    k->fractions |= fraction.ptr[0] == '0' ? OSC_FRACTION_LEAD : 0;
    k->fractions |= fraction.ptr[digits - 1] == '0' ? OSC_FRACTION_TRAIL : 0;
}

/* Reads start and length; without a start the slice is OSC_SLICE_NO_TIME. */
static void take_times(osc_kineto *k, const osc_kineto_event *e, osc_slice_row *row)
{
    bool has_start = osc_scan_us_to_ns(&e->ts, &row->start_ns);
    bool has_dur = osc_scan_us_to_ns(&e->dur, &row->dur_ns);
    note_fraction(k, &e->ts);
    note_fraction(k, &e->dur);
    if (!has_start) {
        row->flags |= OSC_SLICE_NO_TIME;
        row->start_ns = 0;
        osc_kineto_note(k, OSC_SEV_WARN, "no_time", place(e, &e->name),
                        "events have no start; they are counted nowhere");
    }
    if (!has_dur) {
        row->dur_ns = 0; /* known-bad-inputs.md P03 */
        if (has_start)
            osc_kineto_note(k, OSC_SEV_WARN, "no_duration", place(e, &e->name),
                            "events have no duration; it was taken as zero");
    }
    if (row->dur_ns < 0) {
        row->dur_ns = 0;
        osc_kineto_note(k, OSC_SEV_WARN, "negative_duration", place(e, &e->dur),
                        "durations below zero were taken as zero");
    }
    osc_store_clamp(k->store, &row->start_ns, &row->dur_ns);
}

static void add_slice(osc_kineto *k, const osc_kineto_event *e)
{
    osc_slice_row row = {0};
    osc_kineto_args args;
    osc_slice_kind kind = osc_kineto_category(k, &e->cat, &row.flags);
    k->seen_flags |= row.flags;
    osc_kineto_args_read(k, &e->args, &args);
    if (args.lane)
        kind = OSC_KIND_LANE;
    if (kind == OSC_KIND_PYTHON && k->drop_frames) {
        k->dropped++;
        return;
    }
    if (e->external.type != OSC_SCAN_NONE && args.external_id == 0)
        (void)osc_scan_i64(&e->external, &args.external_id);
    take_times(k, e, &row);
    row.kind = (uint8_t)kind;
    row.external_id = args.external_id;
    row.correlation = args.correlation;
    row.order = args.order >= 0 && args.order < UINT32_MAX ? (uint32_t)args.order : UINT32_MAX;
    if (args.unfinished)
        row.flags |= OSC_SLICE_UNFINISHED;
    if (e->args.type == OSC_SCAN_OBJECT && e->args.text.len <= UINT32_MAX) {
        row.args_at = k->scan.base + e->args.offset;
        row.args_len = (uint32_t)e->args.text.len;
    }
    row.track = track_of(k, e, osc_kineto_lane(kind, row.flags));
    if (!(k->omit & OSC_OMIT_SHAPES))
        row.shapes = osc_kineto_shapes(k, &args.shapes);
    row.name = osc_store_intern(k->store, osc_kineto_text(k, &e->name));
    uint32_t slice = osc_store_add_slice(k->store, &row);
    if (slice == OSC_NO_ROW)
        return;
    if (args.sequence >= 0 && !(k->omit & OSC_OMIT_SEQUENCES) &&
        (kind == OSC_KIND_CPU_OP || kind == OSC_KIND_USER_ANNOTATION))
        add_sequence(k, slice, &args);
    if (kind != OSC_KIND_CPU_OP && kind != OSC_KIND_PYTHON && !(k->omit & OSC_OMIT_LAUNCHES))
        add_launch(k, slice, &args);
}

static bool is_memory_name(osc_str name, bool *oom)
{
    *oom = osc_str_eq(name, OSC_STR("[OutOfMemory]"));
    return *oom || osc_str_eq(name, OSC_STR("[memory]"));
}

static void add_memory(osc_kineto *k, const osc_kineto_event *e, bool oom)
{
    osc_kineto_args args;
    osc_memory_row row = {.oom = oom};
    osc_kineto_args_read(k, &e->args, &args);
    if (!osc_scan_us_to_ns(&e->ts, &row.at_ns)) {
        osc_kineto_note(k, OSC_SEV_WARN, "no_time", place(e, &e->name),
                        "events have no start or no duration; they are counted nowhere");
        return;
    }
    osc_store_clamp(k->store, &row.at_ns, NULL);
    row.bytes = args.bytes;
    row.device_type =
        args.device_type >= 0 && args.device_type < 1000 ? (int32_t)args.device_type : -1;
    row.track = track_of(k, e, OSC_LANE_THREAD);
    osc_store_add_memory(k->store, &row);
}

/* One end of an arrow: its id is a text, whatever the file makes of it
 * (known-bad-inputs.md L02). */
static void add_flow(osc_kineto *k, const osc_kineto_event *e)
{
    osc_flow_row row = {.phase = phase_is(e, 's') ? 0 : phase_is(e, 't') ? 1 : 2};
    if (k->omit & OSC_OMIT_FLOWS)
        return;
    if (!osc_scan_us_to_ns(&e->ts, &row.at_ns)) {
        osc_kineto_note(k, OSC_SEV_WARN, "flow_no_time", place(e, &e->ph),
                        "flow events have no time; they were left out");
        return;
    }
    osc_store_clamp(k->store, &row.at_ns, NULL);
    if (e->id.type == OSC_SCAN_STRING || e->id.type == OSC_SCAN_NUMBER)
        row.id = osc_store_intern(k->store, osc_kineto_text(k, &e->id));
    if (e->cat.type == OSC_SCAN_STRING)
        row.category = osc_store_intern(k->store, osc_kineto_text(k, &e->cat));
    char pid[OSC_NUM_TEXT], tid[OSC_NUM_TEXT];
    row.track = osc_tracks_pair(k->tracks, id_text(&e->pid, pid), id_text(&e->tid, tid));
    osc_store_add_flow(k->store, &row);
}

static void take_label(osc_kineto *k, const osc_kineto_event *e)
{
    char pid[OSC_NUM_TEXT], tid[OSC_NUM_TEXT];
    osc_kineto_args args;
    bool process = osc_str_eq(e->name.text, OSC_STR("process_name"));
    if (!process && !osc_str_eq(e->name.text, OSC_STR("thread_name")))
        return;
    osc_kineto_args_read(k, &e->args, &args);
    if (args.name.type == OSC_SCAN_STRING)
        osc_tracks_label(k->tracks, id_text(&e->pid, pid),
                         process ? (osc_str){0} : id_text(&e->tid, tid),
                         osc_kineto_text(k, &args.name));
}

/* Notes half of a pair; what is missing shows when all are known. */
static void add_half(osc_kineto *k, const osc_kineto_event *e)
{
    osc_kineto_half half = {.end = phase_is(e, 'E')};
    osc_kineto_args args;
    if (!osc_scan_us_to_ns(&e->ts, &half.at_ns)) {
        osc_kineto_note(k, OSC_SEV_WARN, "no_time", place(e, &e->ph),
                        "events have no start or no duration; they are counted nowhere");
        return;
    }
    osc_store_clamp(k->store, &half.at_ns, NULL);
    osc_slice_kind kind = osc_kineto_category(k, &e->cat, &half.row.flags);
    k->seen_flags |= half.row.flags;
    osc_kineto_args_read(k, &e->args, &args);
    half.row.kind = (uint8_t)kind;
    half.row.external_id = args.external_id;
    half.row.correlation = args.correlation;
    half.row.order = args.order >= 0 && args.order < UINT32_MAX ? (uint32_t)args.order : UINT32_MAX;
    half.track = track_of(k, e, osc_kineto_lane(kind, half.row.flags));
    half.name = osc_store_intern(k->store, osc_kineto_text(k, &e->name));
    if (!osc_kineto_add_half(k, &half))
        k->failed = true;
}

bool osc_kineto_add_half(osc_kineto *k, const osc_kineto_half *half)
{
    if (k->half_count == k->half_cap) {
        uint32_t cap = k->half_cap ? k->half_cap * 2 : 64;
        osc_kineto_half *grown =
            cap > k->half_cap ? osc_realloc_array(k->halves, cap, sizeof *grown) : NULL;
        if (!grown)
            return false;
        k->halves = grown;
        k->half_cap = cap;
    }
    k->halves[k->half_count++] = *half;
    return true;
}

/* The open B that an E closes: the innermost of its name when it has one, else the innermost
 * (N03). */
static uint32_t begin_of(const osc_kineto *k, const uint32_t *open, uint32_t depth,
                         const osc_kineto_half *end)
{
    for (uint32_t i = depth; i > 0; i--) {
        const osc_kineto_half *b = &k->halves[open[i - 1]];
        if (b->track == end->track && (end->name == 0 || b->name == end->name))
            return i - 1;
    }
    return UINT32_MAX;
}

void osc_kineto_pair_halves(osc_kineto *k)
{
    uint32_t *open = k->half_count ? osc_realloc_array(NULL, k->half_count, sizeof *open) : NULL;
    uint32_t depth = 0;
    uint64_t lonely = 0;
    if (k->half_count > 0 && !open)
        k->failed = true;
    for (uint32_t i = 0; open && i < k->half_count; i++) {
        const osc_kineto_half *half = &k->halves[i];
        if (!half->end) {
            open[depth++] = i;
            continue;
        }
        uint32_t at = begin_of(k, open, depth, half);
        if (at == UINT32_MAX) {
            lonely++;
            continue;
        }
        osc_slice_row row = k->halves[open[at]].row;
        row.start_ns = k->halves[open[at]].at_ns;
        row.dur_ns = half->at_ns > row.start_ns ? half->at_ns - row.start_ns : 0;
        row.name = k->halves[open[at]].name;
        row.track = half->track;
        osc_store_clamp(k->store, &row.start_ns, &row.dur_ns);
        osc_store_add_slice(k->store, &row);
        memmove(open + at, open + at + 1, (depth - at - 1) * sizeof *open);
        depth--;
    }
    if (lonely + depth > 0)
        osc_store_note(k->store, OSC_SEV_WARN, "unpaired_events", lonely + depth, OSC_NO_OFFSET,
                       "begin events without an end or ends without a begin were left out");
    osc_free(open);
}

void osc_kineto_handle_event(osc_kineto *k, const osc_kineto_event *e)
{
    bool oom = false;
    k->events++;
    bool timed = phase_is(e, 'X'), instant = phase_is(e, 'i') || phase_is(e, 'I');
    if ((timed || instant) && is_memory_name(e->name.text, &oom))
        add_memory(k, e, oom);
    else if (timed)
        add_slice(k, e);
    else if (phase_is(e, 'B') || phase_is(e, 'E'))
        add_half(k, e);
    else if (phase_is(e, 'M'))
        take_label(k, e);
    else if (phase_is(e, 's') || phase_is(e, 'f') || phase_is(e, 't'))
        add_flow(k, e);
    else if (instant)
        k->instants++;
    else if (phase_is(e, 'C'))
        k->counters++;
    else
        osc_kineto_note(k, OSC_SEV_WARN, "unknown_phase", place(e, &e->ph),
                        "events of a phase that PyTorch does not write were left out");
}

/* ---- the list of events ---- */

void osc_kineto_note_cut(osc_kineto *k, size_t at)
{
    if (k->truncated)
        return;
    k->truncated = true;
    osc_kineto_note(k, OSC_SEV_ERROR, "truncated", at,
                    "the file ends inside the trace; all complete events before that were kept");
}

bool osc_kineto_more(osc_kineto *k, size_t keep)
{
    assert(keep <= k->scan.pos && k->scan.pos <= k->feed.len);
    uint64_t before = k->feed.base;
    bool more = osc_feed_more(&k->feed, keep);
    const osc_open_options *options = k->context->options;
    if (k->feed.source && !k->feed.positioned && options && options->progress)
        options->progress(options->progress_context, osc_source_file_position(k->feed.source),
                          osc_source_file_size(k->feed.source), k->events);
    k->scan.pos -= (size_t)(k->feed.base - before);
    k->scan.data = k->feed.data;
    k->scan.len = k->feed.len;
    k->scan.base = k->feed.base;
    k->scan.more = !k->feed.eof;
    return more;
}

/* True when what was just tried depends on bytes that are not here yet. */
static bool unsure(const osc_kineto *k)
{
    return k->scan.starved && k->scan.more;
}

bool osc_kineto_skip_value(osc_kineto *k)
{
    size_t depth = 0;
    bool inside = false;
    char open = k->scan.data[k->scan.pos], close = open == '{' ? '}' : open == '[' ? ']' : '"';
    do {
        for (; k->scan.pos < k->scan.len; k->scan.pos++) {
            char c = k->scan.data[k->scan.pos];
            if (inside && c == '\\' && k->scan.pos + 1 < k->scan.len)
                k->scan.pos++;
            else if (c == '"')
                inside = !inside;
            else if (!inside && c == open)
                depth++;
            else if (!inside && c == close)
                depth--;
            if (!inside && depth == 0) {
                k->scan.pos++;
                return true;
            }
        }
    } while (osc_kineto_more(k, k->scan.pos));
    return false;
}

/* After a damaged event at pos: on to the next one. False at the end of the input. cut: the event
 * would have gone on behind the end. */
static bool recover(osc_kineto *k, bool cut)
{
    uint64_t event_at = k->scan.base + k->scan.pos;
    osc_scan_note(&k->scan, OSC_REPAIR_RESYNC, k->scan.pos);
    size_t from = k->scan.pos + 1;
    for (;;) {
        k->scan.starved = false;
        if (osc_scan_find_event(&k->scan, from))
            return true;
        if (!unsure(k))
            break;
        size_t at = k->scan.pos;
        size_t keep = at > OSC_SCAN_LOOKBACK ? at - OSC_SCAN_LOOKBACK : 0;
        if (!osc_kineto_more(k, keep) && k->feed.status != OSC_OK)
            return false;
        from = k->scan.pos;
    }
    if (!k->truncated) {
        k->truncated = true;
        osc_store_note(k->store, OSC_SEV_ERROR, "truncated", 1,
                       cut ? k->scan.base + k->scan.len : event_at,
                       "the file ends inside the trace; all complete events before that were kept");
    }
    return false;
}

/* One try at the element at pos, which is no end of the list. True when it was taken. */
static bool try_element(osc_kineto *k, osc_kineto_event *event, bool *is_event, size_t at)
{
    osc_scan_value other;
    *is_event = false;
    if (osc_scan_take(&k->scan, '{')) {
        *is_event = true;
        return osc_kineto_take_event(k, event);
    }
    if (osc_scan_peek(&k->scan) == '}') {
        k->scan.pos++; /* left over from a damaged event */
        return true;
    }
    if (!osc_scan_value_next(&k->scan, &other))
        return false;
    if (!unsure(k))
        osc_kineto_note(k, OSC_SEV_WARN, "not_an_event", at,
                        "entries of traceEvents are not objects");
    return true;
}

/* The element at pos, with as much input as it takes. */
static osc_kineto_step take_element(osc_kineto *k)
{
    osc_kineto_event event;
    bool is_event, taken;
    osc_scan before = k->scan;
    for (;;) {
        before = k->scan;
        k->scan.starved = false;
        taken = try_element(k, &event, &is_event, before.pos);
        if (!unsure(k))
            break;
        k->scan = before;
        if (osc_kineto_more(k, before.pos))
            continue;
        if (k->feed.status != OSC_OK)
            return OSC_STEP_FAIL;
        if (k->feed.eof)
            continue; /* nothing more will come: this try counts */
        k->huge = true;
        osc_kineto_note(k, OSC_SEV_ERROR, "event_too_large", k->scan.pos,
                        "an event larger than 256 MB was skipped");
        return osc_kineto_skip_value(k) ? OSC_STEP_MORE : OSC_STEP_EOF;
    }
    if (!taken) {
        /* the try's repairs are forgotten with it; what counts is that bytes were skipped */
        bool cut = k->scan.starved;
        k->scan = before;
        if (recover(k, cut))
            return OSC_STEP_MORE;
        return k->feed.status != OSC_OK ? OSC_STEP_FAIL : OSC_STEP_EOF;
    }
    if (is_event) {
        osc_kineto_handle_event(k, &event);
        if (k->fast)
            osc_fast_learn(k, &before, &event);
    }
    return OSC_STEP_MORE;
}

/* Passes the commas before the next element. OSC_STEP_MORE: it is at pos. */
static osc_kineto_step next_element(osc_kineto *k)
{
    bool ended;
    for (;;) {
        osc_scan before = k->scan;
        k->scan.starved = false;
        bool more = osc_scan_element(&k->scan, &ended);
        if (unsure(k)) {
            k->scan = before;
            if (osc_kineto_more(k, before.pos) || k->feed.eof)
                continue;
            if (k->feed.status != OSC_OK)
                return OSC_STEP_FAIL;
            k->scan.pos = k->scan.len; /* a window full of blanks */
            continue;
        }
        if (!more)
            return ended ? OSC_STEP_END : OSC_STEP_EOF;
        return k->scan.base + k->scan.pos >= k->stop ? OSC_STEP_STOP : OSC_STEP_MORE;
    }
}

osc_kineto_step osc_kineto_take_events(osc_kineto *k)
{
    for (;;) {
        if (k->fast)
            osc_fast_run(k);
        osc_kineto_step step = next_element(k);
        if (step == OSC_STEP_MORE)
            step = take_element(k);
        if (step != OSC_STEP_MORE)
            return step;
    }
}
