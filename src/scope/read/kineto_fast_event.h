/*
 * kineto_fast_event.h - one try at an event in one layout.
 */
#ifndef OSC_READ_KINETO_FAST_EVENT_H
#define OSC_READ_KINETO_FAST_EVENT_H

#include "scope/read/kineto_fast_skeleton.h"

/* ---- events ---- */

/* 1 to 16 bytes of a pid or tid. */
static inline bool id_of(const char *p, size_t len, osc_fast_id *out)
{
    out->low = osc_fast_load(p, len);
    out->high = osc_fast_load(p + 8, len > 8 ? len - 8 : 0);
    return len <= 16;
}

/* A number that nobody needs. */
static inline const char *pass_number(const char *p)
{
    while ((unsigned char)(*p - '+') <= '9' - '+' && *p != ',' && *p != '/')
        p++;
    return p;
}

/* Id of a name met lately, else OSC_NO_ROW; and its hash. */
static inline uint32_t probe_name(const osc_fast *f, const char *p, size_t len, uint64_t *hash)
{
    *hash = osc_fast_hash(p, len);
    const osc_fast_name *n = &f->names[*hash % OSC_FAST_NAMES];
    if (n->hash == *hash && n->len == len && len <= OSC_FAST_SHORT &&
        osc_jsonbits_equal(n->text, p, len))
        return n->id;
    return OSC_NO_ROW;
}

/* As if nothing had been read yet. */
static inline void start_event(osc_fast_event *e)
{
    e->args = NULL;
    e->dur_text = NULL;
    e->args_len = 0;
    e->pid_len = e->tid_len = 0;
    e->pid = e->tid = (osc_fast_id){0, 0};
    e->dur = 0;
    e->ts_fraction = e->dur_fraction = 0;
    forget_numbers(e);
    e->learn = NULL;
    e->name_hash = 0;
    e->name_id = OSC_NO_ROW;
    e->pair_known = false;
}

/*
 * The same as take_event for a layout of the usual order, without a jump for each field; NULL also
 * when the event is not in the lane of the one before. Most events are.
 */
static inline const char *take_usual(osc_fast *f, osc_fast_layout *l, const char *p,
                                     const char *limit, osc_fast_event *e)
{
    const osc_fast_part *part = l->parts;
    bool flow = l->order == OSC_ORDER_FLOW;
    uint64_t id;
    start_event(e);
    if (!osc_jsonbits_equal(p, part->literal, part->len))
        return NULL;
    const char *from = p += part->len;
    p = flow ? take_digits(p, &id) : text_end(p, limit);
    if (!p)
        return NULL;
    if (flow) {
        e->id = from;
        e->id_len = (size_t)(p - from);
    } else {
        e->name = from;
        e->name_len = (size_t)(p - from);
        if (l->named)
            e->name_id = probe_name(f, from, e->name_len, &e->name_hash);
    }
    if (!osc_jsonbits_equal(p, l->pair, l->pair_len))
        return NULL;
    e->pair_known = true;
    p = take_start(f, p + l->pair_len, &e->ts, &e->ts_fraction);
    part += 4;
    if (!p || !osc_jsonbits_equal(p, part->literal, part->len))
        return NULL;
    p += part->len;
    if (l->order == OSC_ORDER_SLICE) {
        e->dur_text = p;
        p = take_length(p, &e->dur, &e->dur_fraction);
        part++;
        if (!p || !osc_jsonbits_equal(p, part->literal, part->len))
            return NULL;
        p += part->len;
    }
    from = p;
    p = flow ? text_end(p, limit) : take_any_args(f, l, p, limit, e);
    if (!p)
        return NULL;
    if (flow) {
        e->name = from;
        e->name_len = (size_t)(p - from);
    }
    part++;
    if (!osc_jsonbits_equal(p, part->literal, part->len))
        return NULL;
    p += part->len;
    return p <= limit ? p : NULL;
}

/* One try at the event at p in layout l: the byte behind it, or NULL. */
static inline const char *take_event(osc_fast *f, osc_fast_layout *l, const char *p,
                                     const char *limit, osc_fast_event *e)
{
    if (l->order != OSC_ORDER_OTHER && l->pair_len > 0) {
        const char *end = take_usual(f, l, p, limit, e);
        if (end)
            return end;
    }
    start_event(e);
    for (const osc_fast_part *part = l->parts;; part++) {
        uint64_t skipped;
        const char *from;
        if (part - l->parts == l->pair_part) {
            e->pair_from = p;
            if (l->pair_len > 0 && osc_jsonbits_equal(p, l->pair, l->pair_len)) {
                e->pair_known = true;
                p += l->pair_len;
                part += 2;
                goto field;
            }
        }
        if (!osc_jsonbits_equal(p, part->literal, part->len))
            return NULL;
        p += part->len;
    field:
        from = p;
        switch ((osc_fast_field)part->field) {
        case OSC_FIELD_NONE: break;
        case OSC_FIELD_END: return p <= limit ? p : NULL;
        case OSC_FIELD_NAME:
            p = text_end(p, limit);
            if (!p)
                return NULL;
            e->name = from;
            e->name_len = (size_t)(p - from);
            if (l->named)
                e->name_id = probe_name(f, from, e->name_len, &e->name_hash);
            break;
        case OSC_FIELD_TS: p = take_start(f, p, &e->ts, &e->ts_fraction); break;
        case OSC_FIELD_DUR:
            e->dur_text = p;
            p = take_length(p, &e->dur, &e->dur_fraction);
            break;
        case OSC_FIELD_PID:
        case OSC_FIELD_PID_TEXT:
            p = part->field == OSC_FIELD_PID ? take_digits(p, &skipped) : text_end(p, limit);
            if (!p || !id_of(from, (size_t)(p - from), &e->pid))
                return NULL;
            e->pid_text = from;
            e->pid_len = (size_t)(p - from);
            break;
        case OSC_FIELD_TID:
        case OSC_FIELD_TID_TEXT:
            p = part->field == OSC_FIELD_TID ? take_digits(p, &skipped) : text_end(p, limit);
            if (!p || !id_of(from, (size_t)(p - from), &e->tid))
                return NULL;
            e->tid_text = from;
            e->tid_len = (size_t)(p - from);
            e->pair_to = p + part[1].len;
            break;
        case OSC_FIELD_ID:
        case OSC_FIELD_ID_TEXT:
            p = part->field == OSC_FIELD_ID ? take_digits(p, &skipped) : text_end(p, limit);
            if (!p)
                return NULL;
            e->id = from;
            e->id_len = (size_t)(p - from);
            break;
        case OSC_FIELD_ARGS: p = take_any_args(f, l, p, limit, e); break;
        case OSC_FIELD_TEXT: p = text_end(p, limit); break;
        case OSC_FIELD_NUMBER:
            p = pass_number(p);
            if (p == from)
                return NULL;
            break;
        }
        if (!p)
            return NULL;
    }
}

#endif
