/*
 * tracks.c - the track builder; see tracks.h.
 *
 * Two maps: (pid, tid) to a dense thread number, and (thread, kind) to a track. Keys are ids of a
 * private string pool, so any text or number is one.
 */
#include "scope/read/tracks.h"

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"

#include <assert.h>

struct pending {
    uint32_t pid, tid; /* ids of keys */
    uint32_t thread;
    osc_lane_kind kind;
};

struct id_pair {
    uint32_t pid, tid; /* ids of keys */
};

struct osc_tracks {
    osc_store *store;
    osc_intern *keys;
    osc_map threads; /* pid id << 32 | tid id -> thread */
    osc_map tracks;  /* thread << 8 | kind -> index in items */
    osc_map lanes;   /* thread -> index of its first item */
    osc_map labels;  /* pid id << 32 | tid id -> label id in keys */
    struct pending *items;
    uint32_t count, cap;
    uint32_t first_track, first_thread, next_thread;
    struct id_pair *pairs; /* by thread number, from first_thread on */
    uint32_t pair_cap;
    bool failed;
};

osc_tracks *osc_tracks_new(osc_store *store)
{
    osc_tracks *t = osc_calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->store = store;
    t->keys = osc_intern_new(SIZE_MAX);
    t->first_track = osc_store_track(store)->count;
    for (uint32_t i = 0; i < t->first_track; i++) {
        if (osc_store_track(store)->thread[i] >= t->next_thread)
            t->next_thread = osc_store_track(store)->thread[i] + 1;
    }
    t->first_thread = t->next_thread;
    if (!t->keys) {
        osc_free(t);
        return NULL;
    }
    return t;
}

void osc_tracks_free(osc_tracks *t)
{
    if (!t)
        return;
    osc_map_free(&t->threads);
    osc_map_free(&t->tracks);
    osc_map_free(&t->lanes);
    osc_map_free(&t->labels);
    osc_intern_free(t->keys);
    osc_free(t->items);
    osc_free(t->pairs);
    osc_free(t);
}

static uint64_t pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static bool reserve_pair(osc_tracks *t)
{
    uint32_t count = t->next_thread - t->first_thread;
    if (count < t->pair_cap)
        return true;
    uint32_t cap = t->pair_cap ? t->pair_cap * 2 : 16;
    struct id_pair *grown = osc_realloc_array(t->pairs, cap, sizeof *grown);
    if (!grown)
        return false;
    t->pairs = grown;
    t->pair_cap = cap;
    return true;
}

/* The thread number of a pair of key ids, new when unseen; false when memory is out. */
static bool thread_of(osc_tracks *t, uint32_t pid, uint32_t tid, uint32_t *thread)
{
    uint64_t found;
    if (!osc_map_get(&t->threads, pair(pid, tid), &found)) {
        found = t->next_thread;
        if (!reserve_pair(t) || osc_map_put(&t->threads, pair(pid, tid), found) != OSC_OK)
            return false;
        t->pairs[found - t->first_thread] = (struct id_pair){pid, tid};
        t->next_thread++;
    }
    *thread = (uint32_t)found;
    return true;
}

static bool reserve(osc_tracks *t)
{
    if (t->count < t->cap)
        return true;
    uint32_t cap = t->cap ? t->cap * 2 : 16;
    struct pending *grown = osc_realloc_array(t->items, cap, sizeof *grown);
    if (!grown)
        return false;
    t->items = grown;
    t->cap = cap;
    return true;
}

uint32_t osc_tracks_get(osc_tracks *t, osc_str pid, osc_str tid, osc_lane_kind kind)
{
    assert(kind >= OSC_LANE_THREAD && kind <= OSC_LANE_SPAN);
    struct pending item = {osc_intern_put(t->keys, pid), osc_intern_put(t->keys, tid), 0, kind};
    if (item.pid == OSC_INTERN_NONE || item.tid == OSC_INTERN_NONE ||
        !thread_of(t, item.pid, item.tid, &item.thread)) {
        t->failed = true;
        return OSC_NO_ROW;
    }
    uint64_t key = (uint64_t)item.thread << 8 | (uint64_t)kind;
    uint64_t index;
    if (osc_map_get(&t->tracks, key, &index))
        return t->first_track + (uint32_t)index;
    if (!reserve(t) || osc_map_put(&t->tracks, key, t->count) != OSC_OK ||
        (!osc_map_get(&t->lanes, item.thread, NULL) &&
         osc_map_put(&t->lanes, item.thread, t->count) != OSC_OK)) {
        t->failed = true;
        return OSC_NO_ROW;
    }
    t->items[t->count] = item;
    return t->first_track + t->count++;
}

uint32_t osc_tracks_pair(osc_tracks *t, osc_str pid, osc_str tid)
{
    uint32_t p = osc_intern_put(t->keys, pid), i = osc_intern_put(t->keys, tid), thread;
    if (p != OSC_INTERN_NONE && i != OSC_INTERN_NONE && thread_of(t, p, i, &thread))
        return thread;
    t->failed = true;
    return OSC_NO_ROW;
}

uint32_t osc_tracks_lane_of(const osc_tracks *t, uint32_t pair)
{
    uint64_t index;
    if (pair != OSC_NO_ROW && osc_map_get(&t->lanes, pair, &index))
        return t->first_track + (uint32_t)index;
    return OSC_NO_ROW;
}

void osc_tracks_label(osc_tracks *t, osc_str pid, osc_str tid, osc_str label)
{
    uint32_t p = osc_intern_put(t->keys, pid), i = osc_intern_put(t->keys, tid);
    uint32_t text = osc_intern_put(t->keys, label);
    if (p == OSC_INTERN_NONE || i == OSC_INTERN_NONE || text == OSC_INTERN_NONE ||
        osc_map_put(&t->labels, pair(p, i), text) != OSC_OK)
        t->failed = true;
}

static osc_str label_of(const osc_tracks *t, uint32_t pid, uint32_t tid)
{
    uint64_t label;
    if (!osc_map_get(&t->labels, pair(pid, tid), &label))
        return (osc_str){0};
    return osc_intern_get(t->keys, (uint32_t)label);
}

uint32_t osc_tracks_count(const osc_tracks *t)
{
    return t->count;
}

uint32_t osc_tracks_pair_count(const osc_tracks *t)
{
    return t->next_thread - t->first_thread;
}

void osc_tracks_merge(osc_tracks *t, const osc_tracks *other, uint32_t *lanes, uint32_t *pairs)
{
    assert(other->first_track == 0 && other->first_thread == 0);
    for (uint32_t i = 0; i < osc_tracks_pair_count(other); i++)
        pairs[i] = osc_tracks_pair(t, osc_intern_get(other->keys, other->pairs[i].pid),
                                   osc_intern_get(other->keys, other->pairs[i].tid));
    for (uint32_t i = 0; i < other->count; i++)
        lanes[i] =
            osc_tracks_get(t, osc_intern_get(other->keys, other->items[i].pid),
                           osc_intern_get(other->keys, other->items[i].tid), other->items[i].kind);
    size_t at = 0;
    uint64_t key, label;
    while (osc_map_next(&other->labels, &at, &key, &label))
        osc_tracks_label(t, osc_intern_get(other->keys, (uint32_t)(key >> 32)),
                         osc_intern_get(other->keys, (uint32_t)key),
                         osc_intern_get(other->keys, (uint32_t)label));
    t->failed = t->failed || other->failed;
}

osc_str osc_tracks_process_label(const osc_tracks *t, osc_str pid)
{
    uint32_t id = osc_intern_find(t->keys, pid);
    return id == OSC_INTERN_NONE ? (osc_str){0} : label_of(t, id, 0);
}

osc_str osc_tracks_first_pid(const osc_tracks *t, osc_lane_kind kind)
{
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->items[i].kind == kind)
            return osc_intern_get(t->keys, t->items[i].pid);
    }
    return (osc_str){0};
}

/* "7" of "stream 7": some writers put the word into the number. */
static osc_str stream_number(osc_str tid)
{
    bool word = tid.len > 7 && osc_str_eq_nocase(osc_str_sub(tid, 0, 7), OSC_STR("stream "));
    return word ? osc_str_sub(tid, 7, SIZE_MAX) : tid;
}

/* "framework/TID:12" and its like. */
static void lane_name(const osc_tracks *t, const struct pending *item, bool neuron, osc_buf *out)
{
    osc_str pid = osc_intern_get(t->keys, item->pid), tid = osc_intern_get(t->keys, item->tid);
    switch (item->kind) {
    case OSC_LANE_THREAD: osc_buf_printf(out, "framework/TID:%.*s", OSC_STR_FMT(tid)); break;
    case OSC_LANE_STREAM:
        osc_buf_printf(out, "framework/Stream:%.*s", OSC_STR_FMT(stream_number(tid)));
        break;
    case OSC_LANE_RUNTIME: osc_buf_printf(out, "neuron_rt/NC:%.*s", OSC_STR_FMT(tid)); break;
    case OSC_LANE_CORE: osc_buf_printf(out, "neuron_hw/NC:%.*s", OSC_STR_FMT(tid)); break;
    case OSC_LANE_DEVICE:
        if (neuron)
            osc_buf_printf(out, "neuron_hw/NC:%.*s", OSC_STR_FMT(pid));
        else
            osc_buf_printf(out, "device:%.*s/Stream:%.*s", OSC_STR_FMT(pid),
                           OSC_STR_FMT(stream_number(tid)));
        break;
    case OSC_LANE_ENGINE:
        osc_buf_printf(out, "neuron_device/NC:%.*s/%.*s", OSC_STR_FMT(pid), OSC_STR_FMT(tid));
        break;
    case OSC_LANE_QUEUE:
        osc_buf_printf(out, "neuron_device/NC:%.*s/DMA %.*s", OSC_STR_FMT(pid), OSC_STR_FMT(tid));
        break;
    case OSC_LANE_SPAN: osc_buf_printf(out, "profiler/%.*s", OSC_STR_FMT(tid)); break;
    }
}

static void add_track(osc_tracks *t, const struct pending *item, osc_str instance, osc_str pid,
                      bool neuron, osc_buf *text)
{
    int64_t number = 0;
    osc_str id =
        osc_intern_get(t->keys, item->kind == OSC_LANE_DEVICE && neuron ? item->pid : item->tid);
    if (!osc_parse_i64(stream_number(id), &number))
        number = 0;
    osc_track_row row = {.label = osc_store_intern(t->store, label_of(t, item->pid, item->tid)),
                         .thread = item->thread,
                         .number = number,
                         .lane_kind = (uint8_t)item->kind};
    osc_buf_clear(text);
    lane_name(t, item, neuron, text);
    row.lane = osc_store_intern(t->store, osc_buf_view(text));
    osc_buf_clear(text);
    osc_str process = item->kind == OSC_LANE_THREAD ? osc_intern_get(t->keys, item->pid) : pid;
    osc_buf_printf(text, "%.*s/PID:%.*s/", OSC_STR_FMT(instance), OSC_STR_FMT(process));
    osc_buf_str(text, osc_store_text(t->store, row.lane));
    row.name = osc_store_intern(t->store, osc_buf_view(text));
    osc_store_add_track(t->store, &row);
}

osc_status osc_tracks_finish(osc_tracks *t, osc_str instance, osc_str pid, bool neuron,
                             osc_err *err)
{
    assert(osc_store_track(t->store)->count == t->first_track);
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    for (uint32_t i = 0; i < t->count; i++)
        add_track(t, &t->items[i], instance, pid, neuron, &text);
    bool failed = t->failed || text.failed;
    osc_buf_free(&text);
    if (failed)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "out of memory for the list of lanes");
    return OSC_OK;
}
