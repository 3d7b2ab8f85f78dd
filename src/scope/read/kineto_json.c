/*
 * kineto_json.c - from the bytes of a Chrome trace to rows of the store: the document around the
 * events.
 *
 * One pass over a window that slides (feed.h): the top-level members, then each event of
 * traceEvents as it comes, in whatever order the file has them. What can be known only when all was
 * seen (time base, names of lanes, eras) is put in at the end.
 *
 * Rejected: a document tree; a trace of 2 GB would take 20.
 */
#include "scope/read/kineto_internal.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/read/args.h"
#include "scope/read/kineto_blocks.h"
#include "scope/read/kineto_fast.h"
#include "scope/store/era.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Longest top-level text kept as metadata. */
#define META_MAX     4096u
#define META_KEY_MAX 64u

/* Without a base, times above this count from 1970, those below from an unknown start (T03). */
#define EPOCH_NS 100000000000000000LL

/* Objects in objects in which traceEvents is looked for (known-bad-inputs.md P04). */
#define DESCENTS 8u

/* From this many events on, the way fractions are written tells an era (known-bad-inputs.md
 * T02). */
#define ERA_EVENTS 1000u

static void note(osc_kineto *k, osc_severity severity, const char *code, uint64_t offset,
                 const char *sentence)
{
    osc_store_note(k->store, severity, code, 1, offset, sentence);
}

static uint64_t here(const osc_kineto *k)
{
    return k->scan.base + k->scan.pos;
}

/* ---- the top level ---- */

/* The name of the first device, and nothing else of deviceProperties. */
static void take_device_name(osc_kineto *k, const osc_scan_value *value)
{
    osc_scan inner = {.data = k->scan.data,
                      .len = value->offset + value->text.len,
                      .pos = value->offset + 1,
                      .opened = true};
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

static void take_base(osc_kineto *k, const osc_scan_value *value)
{
    char text[OSC_NUM_TEXT];
    k->has_base = osc_scan_i64(value, &k->base_ns);
    snprintf(text, sizeof text, "%lld", (long long)k->base_ns);
    if (k->has_base)
        osc_store_set_meta(k->store, "base_time_ns", osc_str_from_cstr(text));
}

/* Who the process is in its job; numbers may be written as texts (known-bad-inputs.md P02). */
static void take_job(osc_kineto *k, const osc_scan_value *value)
{
    static const char *const facts[][2] = {
        {"rank", "rank"}, {"world_size", "world_size"}, {"backend", "distributed_backend"}};
    osc_scan_value fact;
    for (size_t i = 0; value->type == OSC_SCAN_OBJECT && i < sizeof facts / sizeof *facts; i++) {
        if (osc_args_find(value->text, facts[i][0], &fact) &&
            (fact.type == OSC_SCAN_NUMBER || fact.type == OSC_SCAN_STRING))
            osc_store_set_meta(k->store, facts[i][1], osc_kineto_text(k, &fact));
    }
}

static void take_top_member(osc_kineto *k, osc_str key, const osc_scan_value *value)
{
    char name[META_KEY_MAX];
    if (osc_str_eq(key, OSC_STR("baseTimeNanoseconds")))
        take_base(k, value);
    else if (osc_str_eq(key, OSC_STR("deviceProperties")))
        take_device_name(k, value);
    else if (osc_str_eq(key, OSC_STR("distributedInfo")))
        take_job(k, value);
    if (value->type == OSC_SCAN_OBJECT || value->type == OSC_SCAN_ARRAY ||
        value->text.len > META_MAX || key.len == 0 || key.len >= sizeof name)
        return;
    osc_store_set_meta(k->store, osc_str_to_array(key, name, sizeof name),
                       osc_kineto_text(k, value));
}

/* Decides at the start of a list of events whether its python frames are kept. */
static void choose_frames(osc_kineto *k)
{
    osc_frames frames = k->context->options ? k->context->options->frames : OSC_FRAMES_KEEP;
    if (k->fast)
        osc_fast_reset(k->fast);
    k->drop_frames =
        frames == OSC_FRAMES_DROP ||
        (frames == OSC_FRAMES_BY_ERA && osc_era_python(k->store) == OSC_PYTHON_ERA_HIDDEN);
}

static void set_count(osc_kineto *k, const char *key, uint64_t count)
{
    char text[OSC_NUM_TEXT];
    snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    osc_store_set_meta(k->store, key, osc_str_from_cstr(text));
}

/* True when what was just tried depends on bytes that are not here yet. */
static bool unsure(const osc_kineto *k)
{
    return k->scan.starved && k->scan.more;
}

/* Puts the scan back to where it stood before a try and fetches more. False when none can be
 * had. */
static bool again(osc_kineto *k, const osc_scan *before)
{
    k->scan = *before;
    return osc_kineto_more(k, before->pos) || (k->feed.eof && k->feed.status == OSC_OK);
}

/* The next byte that is no blank, not taken; 0 at the end of the input. */
static char peek(osc_kineto *k)
{
    for (;;) {
        osc_scan before = k->scan;
        k->scan.starved = false;
        char c = osc_scan_peek(&k->scan);
        if (!unsure(k))
            return c;
        before.pos = k->scan.pos; /* blanks need not be kept */
        if (!again(k, &before))
            return '\0';
    }
}

enum member { MEMBER_TAKEN, MEMBER_EVENTS, MEMBER_END, MEMBER_DAMAGED };

/* One try at a member of an object. MEMBER_EVENTS: its key is traceEvents and its value is next. */
static enum member try_member(osc_kineto *k, osc_scan_value *key, osc_scan_value *value)
{
    bool ended;
    if (!osc_scan_member(&k->scan, key, &ended))
        return ended ? MEMBER_END : MEMBER_DAMAGED;
    if (osc_str_eq(key->text, OSC_STR("traceEvents"))) {
        char c = osc_scan_peek(&k->scan);
        if (c == '[' || c == '{')
            return MEMBER_EVENTS;
    }
    return osc_scan_value_next(&k->scan, value) ? MEMBER_TAKEN : MEMBER_DAMAGED;
}

/* A member whose value is larger than any window: passes it. */
static enum member skip_member(osc_kineto *k)
{
    osc_scan_value key;
    bool ended;
    note(k, OSC_SEV_WARN, "value_too_large", here(k), "a value larger than 256 MB was skipped");
    if (!osc_scan_member(&k->scan, &key, &ended))
        return MEMBER_DAMAGED;
    (void)osc_scan_peek(&k->scan);
    return osc_kineto_skip_value(k) ? MEMBER_TAKEN : MEMBER_DAMAGED;
}

static enum member take_member(osc_kineto *k)
{
    osc_scan_value key, value = {0};
    for (;;) {
        osc_scan before = k->scan;
        k->scan.starved = false;
        enum member result = try_member(k, &key, &value);
        if (unsure(k)) {
            if (again(k, &before))
                continue;
            if (k->feed.status != OSC_OK)
                return MEMBER_DAMAGED;
            return skip_member(k);
        }
        if (result == MEMBER_TAKEN && osc_str_eq(key.text, OSC_STR("traceEvents")))
            osc_kineto_note(k, OSC_SEV_WARN, "trace_events_no_list", value.offset,
                            "traceEvents is not a list; it was left out");
        else if (result == MEMBER_TAKEN)
            take_top_member(k, key.text, &value);
        return result;
    }
}

/* The events of a list whose '[' was taken. False when the input ended inside. */
static bool take_list(osc_kineto *k)
{
    choose_frames(k);
    osc_kineto_step step = osc_kineto_take_blocks(k);
    assert(step != OSC_STEP_MORE && step != OSC_STEP_STOP);
    return step == OSC_STEP_END;
}

/* The members of objects, the outermost's '{' taken; traceEvents may be an object that holds the
 * list. */
static void take_objects(osc_kineto *k, bool *found)
{
    unsigned depth = 1;
    while (depth > 0) {
        switch (take_member(k)) {
        case MEMBER_TAKEN: break;
        case MEMBER_END: depth--; break;
        case MEMBER_EVENTS:
            if (osc_scan_take(&k->scan, '[')) {
                *found = true;
                if (!take_list(k)) {
                    osc_kineto_note_cut(k, k->scan.len);
                    return;
                }
            } else if (depth < DESCENTS && osc_scan_take(&k->scan, '{')) {
                depth++;
                note(k, OSC_SEV_NOTE, "nested_trace_events", here(k),
                     "traceEvents is an object; the list inside it was read");
            } else if (!osc_kineto_skip_value(k)) {
                return;
            }
            break;
        case MEMBER_DAMAGED:
            if (*found) {
                note(k, OSC_SEV_WARN, "damaged_tail", here(k),
                     "what follows the events is damaged or missing; no event is lost by it");
            } else {
                k->truncated = true;
                note(k, OSC_SEV_ERROR, "truncated", here(k),
                     "the file ends or is damaged before its events; nothing after that was read");
            }
            return;
        }
    }
}

/* Says what the input is instead of a trace. */
static osc_status fail_no_trace(const osc_kineto *k, char c, osc_err *err)
{
    const char *input = k->context->input;
    const osc_scan *s = &k->scan;
    unsigned long long at = here(k);
    if (s->pos >= s->len)
        return osc_fail(err, OSC_EFORMAT, input, 0, "empty trace file");
    if (s->base == 0 && s->len >= 2 &&
        (memcmp(s->data, "\xff\xfe", 2) == 0 || memcmp(s->data, "\xfe\xff", 2) == 0))
        return osc_fail(err, OSC_EFORMAT, input, 0,
                        "UTF-16 text; save it as UTF-8, e.g. iconv -f UTF-16 -t UTF-8");
    const char *hint = c == 'P' ? " (is it a zip archive?)" : "";
    if (c >= ' ' && c <= '~')
        return osc_fail(err, OSC_EFORMAT, input, at,
                        "not a trace: expected '{' or '[' at byte %llu, found '%c'%s", at, c, hint);
    return osc_fail(err, OSC_EFORMAT, input, at,
                    "not a trace: expected '{' or '[' at byte %llu, found byte 0x%02x", at,
                    (unsigned)(unsigned char)c);
}

/* One document: a list of events, or an object that has one. */
static void take_document(osc_kineto *k, char c, bool *found)
{
    bool taken = osc_scan_take(&k->scan, c);
    assert(taken);
    (void)taken;
    if (c == '{') {
        take_objects(k, found);
        return;
    }
    *found = true;
    if (!take_list(k) && !k->truncated && k->feed.status == OSC_OK)
        note(k, OSC_SEV_NOTE, "unclosed_list", k->scan.base + k->scan.len,
             "the list of events has no end bracket; the format allows that");
}

/* All documents of the input; most have one. */
static osc_status take_documents(osc_kineto *k, osc_err *err)
{
    bool found = false;
    char c = peek(k);
    if (k->feed.status == OSC_OK && c != '{' && c != '[')
        return fail_no_trace(k, c, err);
    if (k->feed.status == OSC_OK)
        take_document(k, c, &found);
    while (k->feed.status == OSC_OK && !k->truncated) {
        c = peek(k);
        if (k->scan.pos >= k->scan.len || osc_store_has_note(k->store, "damaged_tail"))
            break;
        if (c != '{' && c != '[') {
            note(k, OSC_SEV_WARN, "trailing_bytes", here(k),
                 "bytes behind the end of the trace were left out");
            break;
        }
        note(k, OSC_SEV_WARN, "several_documents", here(k),
             "several JSON documents in a row; the events of all were read as one trace");
        take_document(k, c, &found);
    }
    if (k->feed.status != OSC_OK) {
        *err = k->feed.err;
        return k->feed.status;
    }
    if (!found)
        note(k, OSC_SEV_WARN, "no_trace_events", OSC_NO_OFFSET, "the file has no traceEvents list");
    return OSC_OK;
}

/* ---- the end: what is known only after all events ---- */

/* Eras that show only in how times are written (kineto-trace-format.md 1.4). */
static void note_era(osc_kineto *k)
{
    if (osc_store_slice(k->store)->count - k->first.slice <= ERA_EVENTS)
        return;
    const unsigned some = OSC_FRACTION_1 | OSC_FRACTION_2 | OSC_FRACTION_3 | OSC_FRACTION_MORE;
    if ((k->fractions & some) == 0)
        note(k, OSC_SEV_NOTE, "whole_microseconds", OSC_NO_OFFSET,
             "all times are whole microseconds, as PyTorch wrote them up to 2.3: each is up to 1 "
             "us off");
    else if (!(k->fractions & (OSC_FRACTION_LEAD | OSC_FRACTION_MORE)) &&
             (k->fractions & OSC_FRACTION_TRAIL) &&
             (k->fractions & (OSC_FRACTION_1 | OSC_FRACTION_2)))
        note(k, OSC_SEV_WARN, "unpadded_fractions", OSC_NO_OFFSET,
             "no fraction of a time begins with 0: nightly builds of March 2024 wrote 12.005 as "
             "12.5, so "
             "times may be up to 0.9 us off; they were read as they stand");
}

static void place_times(osc_kineto *k)
{
    if (k->has_base) {
        osc_store_shift(k->store, &k->first, k->base_ns);
        return;
    }
    const osc_slice_cols *s = osc_store_slice(k->store);
    if (s->count > k->first.slice && s->start_ns[k->first.slice] < EPOCH_NS)
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

/* Flows hold the number of their (pid, tid) until all lanes are known. */
static void place_flows(osc_kineto *k)
{
    uint32_t *track = osc_store_flow_tracks(k->store);
    for (uint32_t i = k->first.flow; i < osc_store_flow(k->store)->count; i++)
        track[i] = osc_tracks_lane_of(k->tracks, track[i]);
}

/* True when device lanes are NeuronCores: a PrivateUse1 backend of that name, or of none. Others of
 * that kind have streams as CUDA devices do. */
static bool is_neuron(const osc_kineto *k)
{
    osc_str name = osc_store_get_meta(k->store, "device_name");
    bool named_so = name.len == 0 || osc_str_eq_nocase(osc_str_sub(name, 0, 6), OSC_STR("neuron"));
    return named_so && (k->seen_flags & OSC_SLICE_PRIVATEUSE1);
}

static osc_status finish(osc_kineto *k, osc_err *err)
{
    osc_kineto_pair_halves(k);
    note_era(k);
    place_times(k);
    place_flows(k);
    name_device(k);
    if (osc_store_memory(k->store)->count > k->first.memory)
        osc_store_set_meta(k->store, "profile_memory", OSC_STR("1"));
    set_count(k, "event_count", k->events);
    if (k->dropped > 0)
        set_count(k, "frames_left_out", k->dropped);
    if (k->counters > 0)
        set_count(k, "counter_events", k->counters);
    note_repairs(k);
    osc_str instance = k->context->instance, pid = k->context->pid;
    if (instance.len == 0)
        instance = osc_store_get_meta(k->store, "host_name");
    if (instance.len == 0)
        instance = OSC_STR("local");
    if (pid.len == 0)
        pid = osc_tracks_first_pid(k->tracks, OSC_LANE_THREAD);
    return osc_tracks_finish(k->tracks, instance, pid, is_neuron(k), err);
}

bool osc_kineto_init(osc_kineto *k, osc_store *store, const osc_kineto_context *context)
{
    memset(k, 0, sizeof *k);
    k->store = store;
    k->context = context;
    k->stop = UINT64_MAX;
    if (context->options)
        k->omit = context->options->omit;
    osc_buf_init(&k->text, SIZE_MAX);
    k->first = osc_store_mark_now(store);
    k->tracks = osc_tracks_new(store);
    k->cats = osc_intern_new(1u << 20);
    k->fast = context->reference ? NULL : osc_fast_new(context->simd);
    return k->tracks && k->cats && (k->fast || context->reference);
}

void osc_kineto_free(osc_kineto *k)
{
    osc_fast_free(k->fast);
    osc_tracks_free(k->tracks);
    osc_intern_free(k->cats);
    osc_buf_free(&k->text);
    osc_free(k->halves);
    osc_feed_free(&k->feed);
}

/* Skips a byte order mark. */
static void take_bom(osc_kineto *k)
{
    osc_kineto_more(k, 0);
    if (k->scan.len >= 3 && memcmp(k->scan.data, "\xef\xbb\xbf", 3) == 0)
        k->scan.pos = 3;
}

static void note_cut_stream(osc_kineto *k)
{
    if (k->feed.cut)
        osc_store_note(
            k->store, OSC_SEV_ERROR,
            k->feed.err.code == OSC_ETRUNCATED ? "gzip_truncated" : "gzip_damaged", 1,
            k->feed.err.offset,
            k->feed.err.code == OSC_ETRUNCATED
                ? "the compressed file ends early; what could be inflated was read"
                : "the compressed file is damaged; what could be inflated before that was read");
}

static osc_status read_feed(osc_kineto *k, osc_err *err)
{
    osc_store_set_input(k->store, osc_str_from_cstr(k->context->input));
    take_bom(k);
    osc_status status = take_documents(k, err);
    note_cut_stream(k);
    if (status == OSC_OK)
        status = finish(k, err);
    if (status == OSC_OK && k->text.failed)
        status = osc_buf_status(&k->text, "a name in the trace", err);
    if (status == OSC_OK && k->failed)
        status = osc_fail(err, OSC_ENOMEM, k->context->input, OSC_NO_OFFSET, "out of memory");
    return status;
}

osc_status osc_kineto_read_source(osc_store *store, osc_source *source,
                                  const osc_kineto_context *context, osc_err *err)
{
    osc_kineto k;
    osc_status status;
    bool ready = osc_kineto_init(&k, store, context);
    osc_feed_init_source(&k.feed, source, context->head, context->window);
    status = ready ? read_feed(&k, err)
                   : osc_fail(err, OSC_ENOMEM, context->input, OSC_NO_OFFSET, "out of memory");
    osc_kineto_free(&k);
    return status;
}

osc_status osc_kineto_read(osc_store *store, const char *data, size_t len,
                           const osc_kineto_context *context, osc_err *err)
{
    osc_kineto k;
    osc_status status;
    bool ready = osc_kineto_init(&k, store, context);
    osc_feed_init_bytes(&k.feed, data, len, context->window);
    status = ready ? read_feed(&k, err)
                   : osc_fail(err, OSC_ENOMEM, context->input, OSC_NO_OFFSET, "out of memory");
    osc_kineto_free(&k);
    return status;
}
