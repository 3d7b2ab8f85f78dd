/*
 * kineto_fast.c - layouts, and what is the same at every SIMD level; see kineto_fast.h.
 */
#include "scope/read/kineto_fast_internal.h"

#include "base/jsonpattern.h"
#include "base/mem.h"
#include "base/num.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define FIRST_CREDIT 512
#define MOST_CREDIT  4096

/* ---- keys ---- */

static const struct {
    const char *text;
    osc_fast_key key;
    bool any_case;
} wanted[] = {
    {"External id", OSC_KEY_EXTERNAL, true},
    {"Ev Idx", OSC_KEY_ORDER, false},
    {"correlation", OSC_KEY_CORRELATION, false},
    {"Profiler Event Index", OSC_KEY_ORDER, false},
    {"Sequence number", OSC_KEY_SEQUENCE, false},
    {"Fwd thread id", OSC_KEY_FWD_THREAD, false},
    {"Input Dims", OSC_KEY_SHAPES, false},
    {"Bytes", OSC_KEY_BYTES, true},
    {"Device Type", OSC_KEY_DEVICE_TYPE, false},
    {"device", OSC_KEY_DEVICE, false},
    {"finished", OSC_KEY_RARE, false},
    {"nrt_sequence_id", OSC_KEY_RARE, false},
    {"exec_id", OSC_KEY_RARE, false},
    {"neff_cache_key", OSC_KEY_RARE, false},
    {"opscope_lane", OSC_KEY_RARE, false},
};
#define WANTED (sizeof wanted / sizeof *wanted)

static bool place_keys(osc_fast *f, uint32_t factor)
{
    memset(f->keys, 0, sizeof f->keys);
    for (size_t i = 0; i < WANTED; i++) {
        size_t len = strlen(wanted[i].text);
        /* as in a file, at the end of 24 bytes: zeros, the quote, the key */
        unsigned char text[24] = {0}, mask[24] = {0};
        assert(len < sizeof text && len >= 4);
        text[sizeof text - 1 - len] = '"';
        memcpy(text + sizeof text - len, wanted[i].text, len);
        memset(mask + sizeof text - 1 - len, 0xff, len + 1);
        if (wanted[i].any_case)
            mask[sizeof text - len] = 0xdf;
        uint32_t tail;
        memcpy(&tail, text + sizeof text - 4, 4);
        osc_fast_key_entry *e = &f->keys[(tail * factor) >> 26];
        if (e->len != 0)
            return false;
        e->len = (uint8_t)len;
        e->key = (uint8_t)wanted[i].key;
        for (unsigned part = 0; part < 3; part++) {
            memcpy(&e->value[part], text + 16 - 8 * part, 8);
            memcpy(&e->mask[part], mask + 16 - 8 * part, 8);
            e->value[part] &= e->mask[part];
        }
    }
    return true;
}

/* A table without collisions, so that a key that is not wanted costs one comparison. */
static void make_keys(osc_fast *f)
{
    uint32_t factor = 0x9e3779b1u;
    while (!place_keys(f, factor))
        factor = factor * 5 + 2; /* odd again; some hundred tries */
    f->key_factor = factor;
}

/* ---- life ---- */

osc_fast *osc_fast_new(osc_simd_level level)
{
    osc_fast *f = osc_calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->credit = FIRST_CREDIT;
    make_keys(f);
    switch (osc_simd_pick(level)) {
#if defined(__x86_64__)
    case OSC_SIMD_AVX512: f->run = osc_fast_run_avx512; break;
    case OSC_SIMD_AVX2: f->run = osc_fast_run_avx2; break;
#endif
    default: f->run = osc_fast_run_plain; break;
    }
    return f;
}

void osc_fast_free(osc_fast *f)
{
    osc_free(f);
}

void osc_fast_reset(osc_fast *f)
{
    if (f->count == 0)
        return; /* no layout, so nothing came after it */
    memset(f->names, 0, sizeof f->names);
    memset(f->lanes, 0, sizeof f->lanes);
    for (uint32_t i = 0; i < f->count; i++) {
        f->layouts[i].category_known = false;
        f->layouts[i].track = OSC_NO_ROW;
        f->layouts[i].pair_len = 0;
    }
}

osc_fast *osc_fast_copy(const osc_fast *from)
{
    osc_fast *f = osc_alloc(sizeof *f);
    if (!f)
        return NULL;
    memcpy(f, from, sizeof *f);
    osc_fast_reset(f);
    return f;
}

size_t osc_fast_find_separator(const osc_fast *f, const char *p, size_t len)
{
    const char *there =
        f->separator_len > 0 ? memmem(p, len, f->separator, f->separator_len) : NULL;
    return there ? (size_t)(there - p) : SIZE_MAX;
}

size_t osc_fast_separator(const osc_fast *f)
{
    return f->separator_len;
}

void osc_fast_run(osc_kineto *k)
{
    osc_fast *f = k->fast;
    if (f->count > 0 && f->separator_len > 0 && !k->scan.opened && k->scan.pos < k->scan.len &&
        k->scan.base + k->scan.pos < k->stop)
        f->run(k, f);
}

/* ---- learning ---- */

/* The layout being made, and the bytes from `from` on that are not in it yet. */
struct maker {
    osc_fast_layout *layout;
    const char *from;
    bool ok;
};

static void add_part(struct maker *m, const char *to, osc_fast_field field)
{
    osc_fast_layout *l = m->layout;
    do {
        size_t len = (size_t)(to - m->from);
        bool whole = len <= OSC_FAST_LITERAL;
        if (l->part_count == OSC_FAST_PARTS) {
            m->ok = false;
            return;
        }
        osc_fast_part *part = &l->parts[l->part_count++];
        part->len = (uint8_t)(whole ? len : OSC_FAST_LITERAL);
        part->field = (uint8_t)(whole ? field : OSC_FIELD_NONE);
        memcpy(part->literal, m->from, part->len);
        m->from += part->len;
    } while (m->from < to || l->parts[l->part_count - 1].field != field);
}

/* The field of a member, NONE: its value belongs to the bytes that stay. */
static bool field_of(osc_str key, const osc_scan_value *value, osc_fast_field *out)
{
    bool text = value->type == OSC_SCAN_STRING, number = value->type == OSC_SCAN_NUMBER;
    *out = OSC_FIELD_NONE;
    if (osc_str_eq(key, OSC_STR("ph")) || osc_str_eq(key, OSC_STR("cat")))
        return text;
    if (osc_str_eq(key, OSC_STR("name")))
        *out = OSC_FIELD_NAME;
    else if (osc_str_eq(key, OSC_STR("pid")))
        *out = text ? OSC_FIELD_PID_TEXT : OSC_FIELD_PID;
    else if (osc_str_eq(key, OSC_STR("tid")))
        *out = text ? OSC_FIELD_TID_TEXT : OSC_FIELD_TID;
    else if (osc_str_eq(key, OSC_STR("id")))
        *out = text ? OSC_FIELD_ID_TEXT : OSC_FIELD_ID;
    else if (osc_str_eq(key, OSC_STR("ts")))
        *out = OSC_FIELD_TS;
    else if (osc_str_eq(key, OSC_STR("dur")))
        *out = OSC_FIELD_DUR;
    else if (osc_str_eq(key, OSC_STR("args")))
        *out = OSC_FIELD_ARGS;
    else if (osc_str_eq(key, OSC_STR("external id")))
        return false;
    else
        *out = text ? OSC_FIELD_TEXT : number ? OSC_FIELD_NUMBER : OSC_FIELD_NONE;
    if (*out == OSC_FIELD_NAME)
        return text;
    if (*out == OSC_FIELD_ARGS)
        return value->type == OSC_SCAN_OBJECT;
    if (*out == OSC_FIELD_TS || *out == OSC_FIELD_DUR)
        return number;
    return text || number || value->type == OSC_SCAN_WORD;
}

/* Fills in what the members that stay say. False when such events are not for the fast reader. */
static bool describe(osc_kineto *k, const osc_kineto_event *e, osc_fast_layout *l)
{
    if (e->ph.text.len != 1 || !strchr("Xistf", e->ph.text.ptr[0]) ||
        e->ts.type != OSC_SCAN_NUMBER || e->name.type != OSC_SCAN_STRING)
        return false;
    l->phase = e->ph.text.ptr[0];
    if (l->phase == 'X' && e->dur.type != OSC_SCAN_NUMBER)
        return false;
    if (e->cat.text.len > sizeof l->cat || (e->pid.type == OSC_SCAN_WORD) ||
        (e->tid.type == OSC_SCAN_WORD))
        return false;
    uint8_t flags = 0;
    osc_slice_kind kind = osc_kineto_category(k, &e->cat, &flags);
    l->kind = (uint8_t)kind;
    l->flags = flags;
    l->lane = (uint8_t)osc_kineto_lane(kind, flags);
    l->cat_len = (uint8_t)e->cat.text.len;
    if (l->cat_len > 0)
        memcpy(l->cat, e->cat.text.ptr, l->cat_len);
    l->track = OSC_NO_ROW;
    l->mute = strchr("stf", l->phase)                      ? OSC_FAST_MUTE_FLOW
              : l->phase == 'X' && kind == OSC_KIND_PYTHON ? OSC_FAST_MUTE_FRAME
                                                           : 0;
    l->named = l->phase == 'X' && !(kind == OSC_KIND_PYTHON && k->drop_frames);
    return true;
}

/* The field of a pid or tid however it is written. */
static osc_fast_field plain_field(uint8_t field)
{
    return field == OSC_FIELD_PID_TEXT   ? OSC_FIELD_PID
           : field == OSC_FIELD_TID_TEXT ? OSC_FIELD_TID
                                         : (osc_fast_field)field;
}

static osc_fast_order order_of(const osc_fast_layout *l)
{
    static const uint8_t orders[][8] = {
        [OSC_ORDER_SLICE] = {OSC_FIELD_NAME, OSC_FIELD_PID, OSC_FIELD_TID, OSC_FIELD_TS,
                             OSC_FIELD_DUR, OSC_FIELD_ARGS, OSC_FIELD_END},
        [OSC_ORDER_INSTANT] = {OSC_FIELD_NAME, OSC_FIELD_PID, OSC_FIELD_TID, OSC_FIELD_TS,
                               OSC_FIELD_ARGS, OSC_FIELD_END},
        [OSC_ORDER_FLOW] = {OSC_FIELD_ID, OSC_FIELD_PID, OSC_FIELD_TID, OSC_FIELD_TS,
                            OSC_FIELD_NAME, OSC_FIELD_END},
    };
    for (unsigned o = OSC_ORDER_SLICE; o <= OSC_ORDER_FLOW; o++) {
        uint32_t i = 0;
        while (i < l->part_count && i < 8 &&
               plain_field(l->parts[i].field) == (osc_fast_field)orders[o][i])
            i++;
        if (i == l->part_count)
            return (osc_fast_order)o;
    }
    return OSC_ORDER_OTHER;
}

/* Walks the event again, member by member, and cuts it into parts. False when it has no simple
 * layout. */
static bool make_layout(osc_kineto *k, const osc_scan *before, osc_fast_layout *l)
{
    osc_scan s = *before;
    size_t end = k->scan.pos;
    struct maker m = {.layout = l, .from = s.data + s.pos, .ok = true};
    osc_scan_value key, value;
    uint32_t seen = 0;
    bool ended;
    memset(s.repairs, 0, sizeof s.repairs);
    if (!osc_scan_take(&s, '{'))
        return false;
    while (osc_scan_member(&s, &key, &ended)) {
        osc_fast_field field;
        if (key.escaped || !osc_scan_value_next(&s, &value) || value.escaped ||
            !field_of(key.text, &value, &field))
            return false;
        if (field == OSC_FIELD_NONE)
            continue;
        uint32_t bit = UINT32_C(1) << (field == OSC_FIELD_PID_TEXT   ? OSC_FIELD_PID
                                       : field == OSC_FIELD_TID_TEXT ? OSC_FIELD_TID
                                       : field == OSC_FIELD_ID_TEXT  ? OSC_FIELD_ID
                                                                     : field);
        if (field < OSC_FIELD_TEXT && (seen & bit))
            return false;
        seen |= bit;
        add_part(&m, value.text.ptr, field);
        if (!m.ok)
            return false;
        m.from = value.text.ptr + value.text.len;
    }
    for (unsigned r = 0; r < OSC_REPAIR_COUNT; r++) {
        if (s.repairs[r] > 0)
            return false;
    }
    if (!ended || s.pos != end)
        return false;
    l->pair_part = 255;
    for (uint32_t i = 0; i + 1 < l->part_count; i++) {
        osc_fast_field field = plain_field(l->parts[i].field);
        if (field == OSC_FIELD_PID && plain_field(l->parts[i + 1].field) == OSC_FIELD_TID)
            l->pair_part = (uint8_t)i;
    }
    l->has_id = seen & UINT32_C(1) << OSC_FIELD_ID;
    add_part(&m, s.data + end, OSC_FIELD_END);
    l->order = (uint8_t)order_of(l);
    return m.ok;
}

static bool same_layout(const osc_fast_layout *a, const osc_fast_layout *b)
{
    if (a->part_count != b->part_count || a->phase != b->phase)
        return false;
    for (uint32_t i = 0; i < a->part_count; i++) {
        const osc_fast_part *p = &a->parts[i], *q = &b->parts[i];
        if (p->len != q->len || p->field != q->field || memcmp(p->literal, q->literal, p->len) != 0)
            return false;
    }
    return true;
}

/* What stands between the event at pos and the one before: one comma and blanks. */
static void learn_separator(osc_fast *f, const osc_scan *before)
{
    size_t at = before->pos;
    while (at > 0 && strchr(" \n\r\t", before->data[at - 1]) && before->data[at - 1] != '\0')
        at--;
    size_t len = before->pos - at + 2; /* with the comma and the brace of the event */
    if (at < 2 || before->data[at - 1] != ',' || before->data[at - 2] != '}' ||
        len > OSC_FAST_LITERAL)
        return;
    memcpy(f->separator, before->data + at - 1, len);
    f->separator_len = (uint8_t)len;
}

void osc_fast_learn(osc_kineto *k, const osc_scan *before, const osc_kineto_event *event)
{
    osc_fast *f = k->fast;
    if (f->credit <= 0)
        return;
    f->credit--;
    learn_separator(f, before);
    osc_fast_layout made;
    memset(&made, 0, sizeof made);
    if (!describe(k, event, &made) || !make_layout(k, before, &made))
        return;
    for (uint32_t i = 0; i < f->count; i++) {
        if (same_layout(&f->layouts[i], &made))
            return;
    }
    uint32_t at = f->count < OSC_FAST_LAYOUTS ? f->count++ : f->victim++ % OSC_FAST_LAYOUTS;
    f->layouts[at] = made;
    if (f->count == OSC_FAST_LAYOUTS) { /* some may name the one that went */
        memset(f->guess, 0, sizeof f->guess);
        memset(f->frames, 0, sizeof f->frames);
        memset(f->flows, 0, sizeof f->flows);
    }
}

static size_t digit_run(const char *p)
{
    size_t n = 0;
    while ((unsigned char)(p[n] - '0') < 10)
        n++;
    return n;
}

/* The digits at p, at most 16 and, perhaps with a fraction, an argument's whole value; how many
 * bytes, or 0. */
static size_t whole_digits(const char *p, bool fraction)
{
    size_t n = digit_run(p);
    if (n == 0 || n > 16)
        return 0;
    if (fraction && p[n] == '.') {
        size_t more = digit_run(p + n + 1);
        if (more == 0 || more > 16)
            return 0;
        n += more + 1;
    }
    char next = p[n];
    return next == ',' || next == '}' || next == ' ' || next == '\n' || next == '\r' || next == '\t'
               ? n
               : 0;
}

/* A number of n bytes at value, whose key is known. False when there are too many. */
static bool add_number(osc_fast_skeleton *s, const char *args, const char *value, size_t n,
                       uint8_t key)
{
    unsigned i = s->numbers;
    if (i == OSC_FAST_NUMBERS || (key != OSC_KEY_NONE && s->picks == OSC_FAST_PICKS))
        return false;
    if (value[-1] == '-')
        s->negative |= (uint16_t)(1u << i);
    s->wanted[i] = key;
    s->at[i] = (uint16_t)(value - args);
    s->width[i] = (uint8_t)digit_run(value);
    s->all[i] = (uint8_t)n;
    for (size_t d = 0; d < n; d++) {
        if (value[d] != '.')
            s->text[s->at[i] + d] = OSC_JSONBITS_DIGIT;
    }
    if (key != OSC_KEY_NONE)
        s->pick[s->picks++] = (uint8_t)i;
    s->numbers++;
    return true;
}

void osc_fast_learn_args(const osc_fast *f, const osc_fast_event *e)
{
    osc_fast_skeleton *s = e->learn;
    if (e->args_len > OSC_FAST_ARGS || s->misses > s->hits / 16 + 24)
        return;
    uint32_t hits = s->key == e->skeleton_key ? s->hits : 0;
    uint32_t misses = s->misses + 1;
    memset(s, 0, offsetof(osc_fast_skeleton, text));
    s->hits = hits;
    s->misses = misses;
    s->shapes = -1;
    memcpy(s->text, e->args, e->args_len);
    const char *end = e->args + e->args_len;
    bool inside = false;
    uint32_t depth = 0;
    for (const char *p = e->args; p < end; p++) {
        if (*p & 0x80)
            return; /* its key is still 0 */
        if (inside && *p == '\\')
            p++;
        else if (*p == '"')
            inside = !inside;
        else if (!inside && (*p == '{' || *p == '}'))
            depth += *p == '{' ? 1u : -1u;
        if (!inside && *p >= '0' && *p <= '9')
            s->text[p - e->args] = OSC_JSONBITS_DIGIT; /* of a list, or of nobody's number */
        if (inside || *p != ':' || depth != 1)
            continue;
        const osc_fast_key_entry *key = osc_fast_find_key(f, p);
        const char *value = p + 1 + (p[1] == ' ');
        if (key && key->key == OSC_KEY_SHAPES)
            s->shapes = (int16_t)(value - e->args);
        value += *value == '-';
        size_t n = whole_digits(value, key == NULL);
        if (n == 0 && key && key->key != OSC_KEY_SHAPES)
            return; /* a text, which stays in a pattern though its value matters */
        if (n == 0)
            continue;
        if (!add_number(s, e->args, value, n, key ? key->key : OSC_KEY_NONE))
            return;
        p = value + n - 1;
    }
    s->size = (uint16_t)e->args_len;
    s->key = e->skeleton_key;
}

void osc_fast_learn_stamp(osc_fast_stamp *s, uint8_t layout, const char *p, const char *end,
                          bool inside)
{
    size_t size = (size_t)(end - p);
    if (size > OSC_FAST_STAMP || s->misses > s->hits / 8 + 64)
        return;
    s->misses++;
    s->size = 0;
    s->layout = layout;
    for (size_t i = 0; i < size; i++) {
        char c = p[i];
        if ((c & 0x80) || c == '\\')
            return;
        inside ^= c == '"';
        s->text[i] = !inside && c >= '0' && c <= '9' ? OSC_JSONBITS_DIGIT : c;
    }
    s->size = (uint16_t)size;
}

/* ---- ids and lanes ---- */

uint32_t osc_fast_name_miss(osc_kineto *k, osc_fast *f, uint64_t hash, const char *p, size_t len)
{
    uint32_t id = osc_store_intern(k->store, osc_str_make(p, len));
    if (len == 0 || len > UINT32_MAX || id == 0)
        return id;
    osc_fast_name *n = &f->names[hash % OSC_FAST_NAMES];
    n->hash = hash;
    if (len <= OSC_FAST_SHORT)
        memcpy(n->text, p, len);
    n->len = (uint32_t)len;
    n->id = id;
    return id;
}

static bool id_same(osc_fast_id a, osc_fast_id b)
{
    return a.low == b.low && a.high == b.high;
}

/* The lane of the event's pair, or with OSC_FAST_PAIR the pair's number. */
static uint32_t find_lane(osc_kineto *k, osc_fast *f, uint8_t lane, const osc_fast_event *e)
{
    uint64_t mix = (e->pid.low ^ e->pid.high * 31) * UINT64_C(0x9e3779b97f4a7c15);
    mix = (mix ^ e->tid.low ^ e->tid.high * 31 ^ lane) * UINT64_C(0xbf58476d1ce4e5b9);
    osc_fast_lane *there = &f->lanes[mix >> 32 & (OSC_FAST_LANES - 1)];
    if (there->lane == lane && id_same(there->pid, e->pid) && id_same(there->tid, e->tid))
        return there->track;
    osc_str pid = osc_str_make(e->pid_text, e->pid_len),
            tid = osc_str_make(e->tid_text, e->tid_len);
    uint32_t track = lane == OSC_FAST_PAIR
                         ? osc_tracks_pair(k->tracks, pid, tid)
                         : osc_tracks_get(k->tracks, pid, tid, (osc_lane_kind)lane);
    *there = (osc_fast_lane){e->pid, e->tid, track, lane};
    return track;
}

uint32_t osc_fast_track(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e)
{
    bool flow = l->phase == 's' || l->phase == 't' || l->phase == 'f';
    l->track = find_lane(k, f,
                         flow              ? OSC_FAST_PAIR
                         : l->phase == 'i' ? OSC_LANE_THREAD
                                           : l->lane,
                         e);
    l->pid = e->pid;
    l->tid = e->tid;
    return l->track;
}

void osc_fast_keep_pair(const osc_kineto *k, osc_fast_layout *l, const osc_fast_event *e)
{
    if (l->pair_part == 255)
        return;
    /* where rows have lanes, the layout's must be this pair's */
    bool flow = l->phase == 's' || l->phase == 't' || l->phase == 'f';
    bool no_rows = (flow && (k->omit & OSC_OMIT_FLOWS)) ||
                   (l->phase == 'X' && l->kind == OSC_KIND_PYTHON && k->drop_frames);
    bool lane = l->track != OSC_NO_ROW && id_same(l->pid, e->pid) && id_same(l->tid, e->tid);
    size_t len = (size_t)(e->pair_to - e->pair_from);
    l->pair_len = 0;
    if ((!no_rows && !lane) || len > sizeof l->pair)
        return;
    memcpy(l->pair, e->pair_from, len);
    l->pair_len = (uint8_t)len;
}

/* ---- rows that are not slices ---- */

static uint32_t track_of(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e)
{
    if (l->track != OSC_NO_ROW &&
        (e->pair_known || (id_same(l->pid, e->pid) && id_same(l->tid, e->tid))))
        return l->track;
    return osc_fast_track(k, f, l, e);
}

static bool commit_instant(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e)
{
    bool memory = e->name_len == 8 && memcmp(e->name, "[memory]", 8) == 0;
    bool oom = e->name_len == 13 && memcmp(e->name, "[OutOfMemory]", 13) == 0;
    k->events++;
    if (!memory && !oom) {
        k->instants++;
        return true;
    }
    int64_t type = e->numbers[OSC_KEY_DEVICE_TYPE];
    osc_memory_row row = {.at_ns = e->ts,
                          .bytes = e->numbers[OSC_KEY_BYTES],
                          .device_type = type >= 0 && type < 1000 ? (int32_t)type : -1,
                          .track = track_of(k, f, l, e),
                          .oom = oom};
    osc_store_add_memory(k->store, &row);
    return true;
}

static bool commit_flow(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e)
{
    k->events++;
    if (k->omit & OSC_OMIT_FLOWS)
        return true;
    osc_flow_row row = {.at_ns = e->ts, .phase = l->phase == 's' ? 0 : l->phase == 't' ? 1 : 2};
    if (l->has_id)
        row.id = osc_store_intern(k->store, osc_str_make(e->id, e->id_len));
    if (!l->category_known) {
        l->category = osc_store_intern(k->store, osc_str_make(l->cat, l->cat_len));
        l->category_known = true;
    }
    row.category = l->category;
    row.track = track_of(k, f, l, e);
    osc_store_add_flow(k->store, &row);
    return true;
}

static uint32_t shapes_of(osc_kineto *k, const osc_fast_event *e)
{
    if (!e->shapes || (k->omit & OSC_OMIT_SHAPES))
        return 0;
    osc_scan s = {.data = k->scan.data,
                  .len = (size_t)(e->args - k->scan.data) + e->args_len,
                  .pos = (size_t)(e->shapes - k->scan.data),
                  .base = k->scan.base};
    osc_scan_value value;
    return osc_scan_value_next(&s, &value) ? osc_kineto_shapes(k, &value) : 0;
}

/* Rows of other tables that belong to a slice. */
static void commit_more(osc_kineto *k, const osc_fast_layout *l, const osc_fast_event *e,
                        uint32_t slice)
{
    if (e->numbers[OSC_KEY_SEQUENCE] >= 0 && !(k->omit & OSC_OMIT_SEQUENCES) &&
        (l->kind == OSC_KIND_CPU_OP || l->kind == OSC_KIND_USER_ANNOTATION)) {
        osc_sequence_row sequence = {.sequence = e->numbers[OSC_KEY_SEQUENCE],
                                     .fwd_thread = e->numbers[OSC_KEY_FWD_THREAD],
                                     .slice = slice};
        osc_store_add_sequence(k->store, &sequence);
    }
    if (e->numbers[OSC_KEY_BYTES] != 0 && l->kind != OSC_KIND_CPU_OP &&
        l->kind != OSC_KIND_PYTHON && !(k->omit & OSC_OMIT_LAUNCHES)) {
        osc_launch_row launch = {.bytes = e->numbers[OSC_KEY_BYTES],
                                 .device = e->numbers[OSC_KEY_DEVICE],
                                 .slice = slice};
        osc_store_add_launch(k->store, &launch);
    }
}

/* Straight into the columns; the order of texts and lanes is the reference's. */
static bool commit_slice(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e)
{
    uint32_t track = track_of(k, f, l, e);
    uint32_t shapes = e->shapes ? shapes_of(k, e) : 0;
    uint32_t name = e->name_id != OSC_NO_ROW
                        ? e->name_id
                        : osc_fast_name_of(k, f, e->name, e->name_len, e->name_hash);
    osc_slice_cols *c = osc_store_slice_room(k->store);
    if (!c)
        return true;
    int64_t order = e->numbers[OSC_KEY_ORDER];
    uint32_t at = c->count++;
    c->start_ns[at] = e->ts;
    c->dur_ns[at] = e->dur;
    c->external_id[at] = e->numbers[OSC_KEY_EXTERNAL];
    c->correlation[at] = e->numbers[OSC_KEY_CORRELATION];
    c->name[at] = name;
    c->track[at] = track;
    c->order[at] = order >= 0 && order < UINT32_MAX ? (uint32_t)order : UINT32_MAX;
    c->kind[at] = l->kind;
    c->flags[at] = l->flags;
    if (c->args_at)
        c->args_at[at] = e->args ? k->scan.base + (uint64_t)(e->args - k->scan.data) : 0;
    if (c->args_len)
        c->args_len[at] = (uint32_t)e->args_len;
    if (c->shapes)
        c->shapes[at] = shapes;
    if (e->numbers[OSC_KEY_SEQUENCE] >= 0 || e->numbers[OSC_KEY_BYTES] != 0)
        commit_more(k, l, e, at);
    return true;
}

bool osc_fast_commit(osc_kineto *k, osc_fast *f, osc_fast_layout *l, const osc_fast_event *e)
{
    if (e->ts > OSC_TIME_MAX || e->dur > OSC_DUR_MAX)
        return false;
    if (l->phase == 'i')
        return commit_instant(k, f, l, e);
    if (l->phase != 'X')
        return commit_flow(k, f, l, e);
    if (e->name_len > 0 && e->name[0] == '[')
        return false; /* an allocator record drawn as an interval: rare */
    k->events++;
    k->seen_flags |= l->flags;
    if (l->kind == OSC_KIND_PYTHON && k->drop_frames) {
        k->dropped++;
        return true;
    }
    k->fractions |= (uint8_t)(e->ts_fraction | e->dur_fraction);
    return commit_slice(k, f, l, e);
}
