/*
 * kineto_fast_stamp.h - events that make no rows, compared whole with what came before.
 *
 * Included by kineto_fast_body.h, once for each SIMD level.
 */
#ifndef OSC_READ_KINETO_FAST_STAMP_H
#define OSC_READ_KINETO_FAST_STAMP_H

#include "scope/read/kineto_fast_numbers.h"

#define STAMP_WAYS 4u

/* A number of an event's first bytes but for six, for layouts whose first 40 bytes hold a value. */
static inline uint32_t recent_of(const char *p)
{
    uint64_t h = osc_fast_load(p + 6, 8) * UINT64_C(0x9e3779b97f4a7c15) ^
                 osc_fast_load(p + 14, 8) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(h >> 32) % OSC_FAST_RECENT;
}

/* The event at p as the stamp has it from `from` on: the byte behind, or NULL. */
static inline const char *take_stamp(osc_fast_stamp *s, const char *from, const char *limit)
{
    if (s->size == 0 || limit - from < (ptrdiff_t)s->size ||
        !osc_jsonbits_like(from, s->text, s->size))
        return NULL;
    s->hits++;
    return from + s->size;
}

/* Where the stamps of a frame are whose name begins at p and ends at `end`: frames differ in the
 * number of digits of their length and in their arguments, which goes with the kind of name. */
static inline osc_fast_stamp *frame_stamps(osc_fast *f, const osc_fast_layout *l, const char *p,
                                           const char *end)
{
    uint64_t h = osc_fast_load(p, 2) << 12 | (uint64_t)(l - f->layouts) << 4 |
                 digit_count(osc_fast_load(end + l->dur_at, 8));
    return &f->frames[(h * UINT64_C(0x9e3779b97f4a7c15) >> 56) / STAMP_WAYS * STAMP_WAYS];
}

/* A frame that is left out, at p in layout l: the byte behind, or NULL. */
static inline const char *pass_frame(osc_fast *f, const osc_fast_layout *l, const char *p,
                                     const char *limit)
{
    const osc_fast_part *part = l->parts;
    if (part->field != OSC_FIELD_NAME || !osc_jsonbits_equal(p, part->literal, part->len))
        return NULL;
    p += part->len;
    const char *tail = text_end(p, limit);
    if (!tail || *p == '[')
        return NULL;
    osc_fast_stamp *set = frame_stamps(f, l, p, tail);
    for (unsigned i = 0; i < STAMP_WAYS && set[i].size > 0; i++) {
        const char *end = set[i].layout == l - f->layouts ? take_stamp(&set[i], tail, limit) : NULL;
        if (end)
            return end;
    }
    return NULL;
}

/* A flow that is left out, at p: the byte behind, or NULL. */
static inline const char *pass_flow(osc_fast *f, const char *p, const char *limit)
{
    osc_fast_stamp *set = &f->flows[recent_of(p) / STAMP_WAYS * STAMP_WAYS];
    for (unsigned i = 0; i < STAMP_WAYS && set[i].size > 0; i++) {
        const char *end = take_stamp(&set[i], p, limit);
        if (end)
            return end;
    }
    return NULL;
}

/* The stamp of a set that is to be learned anew. */
static inline osc_fast_stamp *stamp_to_learn(osc_fast_stamp *set)
{
    unsigned misses = 0;
    for (unsigned i = 0; i < STAMP_WAYS; i++) {
        if (set[i].size == 0)
            return &set[i];
        misses += set[i].misses;
    }
    return &set[misses % STAMP_WAYS];
}

/* Remembers the event from p to end, in layout l, that makes no rows. */
static inline void learn_stamp(osc_fast *f, osc_fast_layout *l, const char *p, const char *end,
                               const osc_fast_event *e)
{
    if (l->mute == OSC_FAST_MUTE_FLOW) {
        osc_fast_stamp *set = &f->flows[recent_of(p) / STAMP_WAYS * STAMP_WAYS];
        osc_fast_learn_stamp(stamp_to_learn(set), (uint8_t)(l - f->layouts), p, end, false);
    } else if (l->parts[0].field == OSC_FIELD_NAME) {
        const char *tail = e->name + e->name_len;
        if (e->dur_text && e->dur_text - tail < UINT16_MAX)
            l->dur_at = (uint16_t)(e->dur_text - tail);
        osc_fast_stamp *set = frame_stamps(f, l, e->name, tail);
        osc_fast_learn_stamp(stamp_to_learn(set), (uint8_t)(l - f->layouts), tail, end, true);
    }
}

#endif
