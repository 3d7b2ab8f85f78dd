/*
 * kineto_json.c - from the bytes of a Chrome trace to rows of the store.
 *
 * One pass: the top-level members, then each event of traceEvents as it comes. An event's members
 * are noted first and interpreted when it is complete, because writers disagree about their order.
 * What an event is follows from its category alone, never from its pid
 * (kineto-trace-format.md 1.5). Times are decimal text turned into integer nanoseconds; a double
 * would lose digits (1.4).
 *
 * Refuses: grouping and linking, which are analyses. Rejected: a document tree; a trace of 2 GB
 * would take 20.
 */
#include "scope/read/kineto_internal.h"

#include "base/num.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Longest top-level text kept as metadata. */
#define META_MAX 4096u

/* Without a base, times above this count from 1970, those below from an unknown start (T03). */
#define EPOCH_NS 100000000000000000LL

static void note(osc_kineto *k, osc_severity severity, const char *code, size_t offset,
                 const char *sentence)
{
    osc_store_note(k->store, severity, code, 1, offset, sentence);
}

/* ---- one event ---- */

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
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (osc_str_eq(key, members[i].key)) {
            memcpy((char *)e + members[i].offset, value, sizeof *value);
            return;
        }
    }
}

/* Takes the members of an event whose '{' was taken. False when it is damaged or the input ends. */
static bool take_event(osc_kineto *k, osc_kineto_event *e)
{
    osc_scan_value key, value;
    bool ended;
    memset(e, 0, sizeof *e);
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

/* Kind and flags of the event's category. */
static osc_slice_kind category_of(osc_kineto *k, const osc_kineto_event *e, uint8_t *flags)
{
    if (e->cat.type != OSC_SCAN_STRING)
        return OSC_KIND_OTHER;
    uint32_t id = osc_intern_put(k->cats, e->cat.text);
    if (id >= OSC_KINETO_CATEGORIES)
        return osc_slice_kind_of(e->cat.text, flags);
    if (id >= k->cat_known) {
        assert(id == k->cat_known || k->cat_known == 0);
        k->cat_flags[id] = 0;
        k->cat_kind[id] = (uint8_t)osc_slice_kind_of(e->cat.text, &k->cat_flags[id]);
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

static osc_lane_kind lane_of(osc_slice_kind kind, uint8_t flags)
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

/* Reads start and length; false in *start_ns's stead sets OSC_SLICE_NO_TIME. */
static void take_times(osc_kineto *k, const osc_kineto_event *e, osc_slice_row *row)
{
    bool has_start = osc_scan_us_to_ns(&e->ts, &row->start_ns);
    bool has_dur = osc_scan_us_to_ns(&e->dur, &row->dur_ns);
    if (!has_start || !has_dur) {
        row->flags |= OSC_SLICE_NO_TIME;
        row->start_ns = has_start ? row->start_ns : 0;
        row->dur_ns = has_dur ? row->dur_ns : 0;
        note(k, OSC_SEV_WARN, "no_time", e->name.offset,
             "events have no start or no duration; they are counted nowhere");
    }
    if (row->dur_ns < 0) {
        row->dur_ns = 0;
        note(k, OSC_SEV_WARN, "negative_duration", e->dur.offset,
             "durations below zero were taken as zero");
    }
    osc_store_clamp(k->store, &row->start_ns, &row->dur_ns);
}

static void add_slice(osc_kineto *k, const osc_kineto_event *e)
{
    osc_slice_row row = {0};
    osc_kineto_args args;
    osc_slice_kind kind = category_of(k, e, &row.flags);
    k->seen_flags |= row.flags;
    osc_kineto_args_read(k, &e->args, &args);
    if (args.lane)
        kind = OSC_KIND_LANE;
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
        row.args_at = e->args.offset;
        row.args_len = (uint32_t)e->args.text.len;
    }
    row.track = track_of(k, e, lane_of(kind, row.flags));
    row.shapes = osc_kineto_shapes(k, &args.shapes);
    row.name = osc_store_intern(k->store, osc_kineto_text(k, &e->name));
    uint32_t slice = osc_store_add_slice(k->store, &row);
    if (slice != OSC_NO_ROW && kind != OSC_KIND_CPU_OP && kind != OSC_KIND_PYTHON)
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
        note(k, OSC_SEV_WARN, "no_time", e->name.offset,
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

static void handle_event(osc_kineto *k, const osc_kineto_event *e)
{
    bool oom = false;
    k->events++;
    bool timed = phase_is(e, 'X'), instant = phase_is(e, 'i') || phase_is(e, 'I');
    if ((timed || instant) && is_memory_name(e->name.text, &oom))
        add_memory(k, e, oom);
    else if (timed)
        add_slice(k, e);
    else if (phase_is(e, 'M'))
        take_label(k, e);
    else if (!instant && !phase_is(e, 's') && !phase_is(e, 'f') && !phase_is(e, 't') &&
             !phase_is(e, 'C'))
        note(k, OSC_SEV_WARN, "unknown_phase", e->ph.offset,
             "events of a phase that PyTorch does not write were left out");
}

/* ---- the list of events ---- */

/* The input ended inside the list of events. Noted once. */
static void note_cut(osc_kineto *k, size_t offset)
{
    if (k->truncated)
        return;
    k->truncated = true;
    note(k, OSC_SEV_ERROR, "truncated", offset,
         "the file ends inside the trace; all complete events before that were kept");
}

/* After a damaged event: on to the next one. False at the end of the input. */
static bool recover(osc_kineto *k, size_t event_at)
{
    size_t stopped = k->scan.pos;
    if (osc_scan_resync(&k->scan, event_at))
        return true;
    note_cut(k, stopped < k->scan.len ? event_at : k->scan.len);
    return false;
}

/* Takes the events of an array whose '[' was taken. False when the input ended inside. */
static bool take_events(osc_kineto *k)
{
    bool ended;
    while (osc_scan_element(&k->scan, &ended)) {
        size_t at = k->scan.pos;
        osc_kineto_event event;
        osc_scan_value other;
        if (osc_scan_take(&k->scan, '{')) {
            if (take_event(k, &event))
                handle_event(k, &event);
            else if (!recover(k, at))
                return false;
        } else if (osc_scan_peek(&k->scan) == '}') {
            k->scan.pos++; /* left over from a damaged event */
        } else if (osc_scan_value_next(&k->scan, &other)) {
            note(k, OSC_SEV_WARN, "not_an_event", at, "entries of traceEvents are not objects");
        } else if (!recover(k, at)) {
            return false;
        }
    }
    return ended;
}

/* ---- the top level ---- */

/* The name of the first device, and nothing else of deviceProperties. */
static void take_device_name(osc_kineto *k, const osc_scan_value *value)
{
    osc_scan inner = {
        .data = k->scan.data, .len = value->offset + value->text.len, .pos = value->offset + 1};
    osc_scan_value key, member;
    bool ended;
    if (value->type != OSC_SCAN_ARRAY || !osc_scan_element(&inner, &ended) ||
        !osc_scan_take(&inner, '{'))
        return;
    while (osc_scan_member(&inner, &key, &ended) && osc_scan_value_next(&inner, &member)) {
        if (osc_str_eq(key.text, OSC_STR("name")) && member.type == OSC_SCAN_STRING)
            osc_store_set_meta(k->store, "device_properties_name", osc_kineto_text(k, &member));
    }
}

static void take_top_member(osc_kineto *k, osc_str key, const osc_scan_value *value)
{
    char name[64];
    if (osc_str_eq(key, OSC_STR("baseTimeNanoseconds")))
        k->has_base = osc_scan_i64(value, &k->base_ns);
    else if (osc_str_eq(key, OSC_STR("deviceProperties")))
        take_device_name(k, value);
    if (value->type == OSC_SCAN_OBJECT || value->type == OSC_SCAN_ARRAY ||
        value->text.len > META_MAX || key.len == 0 || key.len >= sizeof name)
        return;
    osc_store_set_meta(k->store, osc_str_to_array(key, name, sizeof name),
                       osc_kineto_text(k, value));
}

/* The value of traceEvents: a list, or an object that holds one (known-bad-inputs.md P04). */
static bool take_trace_events(osc_kineto *k, bool *found)
{
    if (osc_scan_take(&k->scan, '[')) {
        *found = true;
        if (!take_events(k)) {
            note_cut(k, k->scan.len);
            return false;
        }
        return true;
    }
    osc_scan_value other;
    size_t at = k->scan.pos;
    if (!osc_scan_value_next(&k->scan, &other))
        return false;
    note(k, OSC_SEV_WARN, "trace_events_no_list", at, "traceEvents is not a list; it was left out");
    return true;
}

/* Takes the members of the top-level object. */
static void take_top_level(osc_kineto *k, bool *found)
{
    osc_scan_value key, value;
    bool ended;
    while (osc_scan_member(&k->scan, &key, &ended)) {
        bool more;
        if (osc_str_eq(key.text, OSC_STR("traceEvents"))) {
            more = take_trace_events(k, found);
        } else {
            more = osc_scan_value_next(&k->scan, &value);
            if (more)
                take_top_member(k, key.text, &value);
        }
        if (!more)
            break;
    }
    if (ended || k->truncated)
        return;
    if (*found) {
        note(k, OSC_SEV_WARN, "damaged_tail", k->scan.pos,
             "what follows the events is damaged or missing; no event is lost by it");
    } else {
        k->truncated = true;
        note(k, OSC_SEV_ERROR, "truncated", k->scan.pos,
             "the file ends or is damaged before its events; nothing after that was read");
    }
}

static osc_status take_document(osc_kineto *k, osc_err *err)
{
    char c = osc_scan_peek(&k->scan);
    bool found = false;
    if (osc_scan_take(&k->scan, '[')) {
        found = true;
        if (!take_events(k) && !k->truncated)
            note(k, OSC_SEV_NOTE, "unclosed_list", k->scan.len,
                 "the list of events has no end bracket; the format allows that");
    } else if (osc_scan_take(&k->scan, '{')) {
        take_top_level(k, &found);
    } else if (k->scan.pos >= k->scan.len) {
        return osc_fail(err, OSC_EFORMAT, k->context->input, 0, "empty trace file");
    } else if (k->scan.len >= 2 && (memcmp(k->scan.data, "\xff\xfe", 2) == 0 ||
                                    memcmp(k->scan.data, "\xfe\xff", 2) == 0)) {
        return osc_fail(err, OSC_EFORMAT, k->context->input, 0,
                        "UTF-16 text; save it as UTF-8, e.g. iconv -f UTF-16 -t UTF-8");
    } else {
        const char *hint = c == 'P' ? " (is it a zip archive?)" : "";
        if (c >= ' ' && c <= '~')
            return osc_fail(err, OSC_EFORMAT, k->context->input, k->scan.pos,
                            "not a trace: expected '{' or '[' at byte %zu, found '%c'%s",
                            k->scan.pos, c, hint);
        return osc_fail(err, OSC_EFORMAT, k->context->input, k->scan.pos,
                        "not a trace: expected '{' or '[' at byte %zu, found byte 0x%02x",
                        k->scan.pos, (unsigned)(unsigned char)c);
    }
    if (!found)
        note(k, OSC_SEV_WARN, "no_trace_events", OSC_NO_OFFSET, "the file has no traceEvents list");
    return OSC_OK;
}

/* ---- the end: what is known only after all events ---- */

static void place_times(osc_kineto *k)
{
    char text[OSC_NUM_TEXT];
    if (k->has_base) {
        osc_store_shift(k->store, k->first_slice, k->first_memory, k->base_ns);
        snprintf(text, sizeof text, "%lld", (long long)k->base_ns);
        osc_store_set_meta(k->store, "base_time_ns", osc_str_from_cstr(text));
        return;
    }
    const osc_slice_cols *s = osc_store_slice(k->store);
    if (s->count > k->first_slice && s->start_ns[k->first_slice] < EPOCH_NS)
        note(k, OSC_SEV_NOTE, "relative_times", OSC_NO_OFFSET,
             "times count from an unknown start; the file has no baseTimeNanoseconds");
}

/* "NEURON" from deviceProperties, else from the name of a process that has device lanes ("NEURON
 * 0"). */
static void name_device(osc_kineto *k)
{
    osc_str name = osc_store_get_meta(k->store, "device_properties_name");
    if (name.len == 0)
        name =
            osc_tracks_process_label(k->tracks, osc_tracks_first_pid(k->tracks, OSC_LANE_DEVICE));
    while (name.len > 0 && (name.ptr[name.len - 1] == ' ' ||
                            (name.ptr[name.len - 1] >= '0' && name.ptr[name.len - 1] <= '9')))
        name.len--;
    if (name.len > 0)
        osc_store_set_meta(k->store, "device_name", name);
}

static void note_repairs(osc_kineto *k)
{
    for (unsigned r = 0; r < OSC_REPAIR_COUNT; r++) {
        if (k->scan.repairs[r] == 0)
            continue;
        osc_severity severity = r == OSC_REPAIR_RESYNC ? OSC_SEV_ERROR : OSC_SEV_WARN;
        osc_store_note(k->store, severity, osc_scan_repair_code((osc_scan_repair)r),
                       k->scan.repairs[r], k->scan.first_repair[r],
                       osc_scan_repair_sentence((osc_scan_repair)r));
    }
}

static osc_status finish(osc_kineto *k, osc_err *err)
{
    char text[OSC_NUM_TEXT];
    bool neuron = (k->seen_flags & OSC_SLICE_PRIVATEUSE1) != 0;
    place_times(k);
    name_device(k);
    if (osc_store_memory(k->store)->count > k->first_memory)
        osc_store_set_meta(k->store, "profile_memory", OSC_STR("1"));
    snprintf(text, sizeof text, "%llu", (unsigned long long)k->events);
    osc_store_set_meta(k->store, "event_count", osc_str_from_cstr(text));
    note_repairs(k);
    osc_str instance = k->context->instance, pid = k->context->pid;
    if (instance.len == 0)
        instance = osc_store_get_meta(k->store, "host_name");
    if (instance.len == 0)
        instance = OSC_STR("local");
    if (pid.len == 0)
        pid = osc_tracks_first_pid(k->tracks, OSC_LANE_THREAD);
    return osc_tracks_finish(k->tracks, instance, pid, neuron, err);
}

osc_status osc_kineto_read(osc_store *store, const char *data, size_t len,
                           const osc_kineto_context *context, osc_err *err)
{
    osc_kineto k = {.store = store, .context = context};
    osc_status status;
    osc_scan_init(&k.scan, data, len);
    osc_buf_init(&k.text, SIZE_MAX);
    osc_store_set_input(store, osc_str_from_cstr(context->input));
    k.first_slice = osc_store_slice(store)->count;
    k.first_memory = osc_store_memory(store)->count;
    k.tracks = osc_tracks_new(store);
    k.cats = osc_intern_new(1u << 20);
    if (!k.tracks || !k.cats) {
        status = osc_fail(err, OSC_ENOMEM, context->input, OSC_NO_OFFSET, "out of memory");
        goto done;
    }
    status = take_document(&k, err);
    if (status == OSC_OK)
        status = finish(&k, err);
    if (status == OSC_OK && k.text.failed)
        status = osc_buf_status(&k.text, "a name in the trace", err);
done:
    osc_tracks_free(k.tracks);
    osc_intern_free(k.cats);
    osc_buf_free(&k.text);
    return status;
}
