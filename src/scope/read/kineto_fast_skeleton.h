/*
 * kineto_fast_skeleton.h - arguments that come again as their name had them before, but for
 * numbers.
 */
#ifndef OSC_READ_KINETO_FAST_SKELETON_H
#define OSC_READ_KINETO_FAST_SKELETON_H

#include "scope/read/kineto_fast_args.h"

/* ---- arguments met before ---- */

/* The arguments at p as the skeleton has them, numbers with as many digits: the byte behind, or
 * NULL. */
static inline const char *take_pattern(osc_fast_skeleton *s, const char *p, const char *limit,
                                       osc_fast_event *e)
{
    if (limit - p < (ptrdiff_t)s->size || !osc_jsonbits_like(p, s->text, s->size))
        return NULL;
    for (unsigned j = 0; j < s->picks; j++) {
        unsigned i = s->pick[j];
        int64_t value = (int64_t)digits_there(p + s->at[i], s->width[i]);
        e->numbers[s->wanted[i]] = s->negative >> i & 1 ? -value : value;
    }
    if (s->shapes >= 0)
        e->shapes = p + s->shapes;
    s->hits++;
    e->args = p;
    e->args_len = s->size;
    return p + s->size;
}

/* The same whatever number of digits there are. */
static inline const char *take_pieces(osc_fast_skeleton *s, const char *p, const char *limit,
                                      osc_fast_event *e)
{
    const char *start = p;
    size_t from = 0;
    for (unsigned i = 0;; i++) {
        size_t to = i < s->numbers ? s->at[i] : s->size;
        if (s->shapes >= (int)from && s->shapes < (int)to)
            e->shapes = p + ((size_t)s->shapes - from);
        if (limit - p < (ptrdiff_t)(to - from) || !osc_jsonbits_like(p, s->text + from, to - from))
            return NULL;
        p += to - from;
        if (i == s->numbers)
            break;
        uint64_t value;
        p = take_digits(p, &value);
        if (!p)
            return NULL;
        e->numbers[s->wanted[i]] = s->negative >> i & 1 ? -(int64_t)value : (int64_t)value;
        if (*p == '.') { /* a fraction, of a number that nobody needs */
            if (s->wanted[i] != OSC_KEY_NONE)
                return NULL;
            p = take_digits(p + 1, &value);
            if (!p)
                return NULL;
        }
        from = to + s->all[i];
    }
    s->hits++;
    e->args = start;
    e->args_len = (size_t)(p - start);
    return p;
}

/* The set of skeletons of a key. */
static inline osc_fast_skeleton *skeletons_of(osc_fast *f, uint64_t key)
{
    return &f->skeletons[(key >> 1) % (OSC_FAST_SKELETONS / OSC_FAST_WAYS) * OSC_FAST_WAYS];
}

/* The arguments at p as one of a set has them, numbers with as many digits. *full: all are that
 * key's. */
static inline const char *take_patterns(osc_fast_skeleton *set, uint64_t key, const char *p,
                                        const char *limit, osc_fast_event *e, bool *full)
{
    unsigned others = 0;
    for (unsigned i = 0; i < OSC_FAST_WAYS; i++) {
        if (set[i].key != key) {
            others++;
            continue;
        }
        const char *end = take_pattern(&set[i], p, limit, e);
        if (end)
            return end;
    }
    *full = others == 0;
    return NULL;
}

/* The same whatever number of digits there are. e->learn: the one that had them, else one of
 * another key or the next in turn. */
static inline const char *take_any_pieces(osc_fast_skeleton *set, uint64_t key, const char *p,
                                          const char *limit, osc_fast_event *e)
{
    unsigned misses = 0;
    osc_fast_skeleton *other = NULL;
    e->skeleton_key = key;
    for (unsigned i = 0; i < OSC_FAST_WAYS; i++) {
        misses += set[i].misses;
        if (set[i].key != key) {
            other = other ? other : &set[i];
            continue;
        }
        const char *end = take_pieces(&set[i], p, limit, e);
        if (end) {
            e->learn = &set[i]; /* with the digits of now */
            return end;
        }
        forget_numbers(e);
    }
    e->learn = other ? other : &set[misses % OSC_FAST_WAYS];
    return NULL;
}

/* What bytes of the arguments look like when digits are all the same: tells those of a name
 * apart. */
static inline uint64_t look_of(const char *p, const char *limit)
{
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    if (limit - p < 256)
        return 0;
    return ((osc_fast_load(p + 120, 8) & high) * UINT64_C(0x9e3779b97f4a7c15) ^
            (osc_fast_load(p + 184, 8) & high) * UINT64_C(0xbf58476d1ce4e5b9) ^
            (osc_fast_load(p + 248, 8) & high) * UINT64_C(0x94d049bb133111eb)) &
           ~UINT64_C(1);
}

/* The arguments at p, as the event's name had them before or in any other way. */
static inline const char *take_any_args(osc_fast *f, const osc_fast_layout *l, const char *p,
                                        const char *limit, osc_fast_event *e)
{
    /* what a frame's name begins with decides about its arguments, the rest does not */
    uint64_t name = l->kind == OSC_KIND_PYTHON && e->name_hash
                        ? osc_fast_load(e->name, 2) * UINT64_C(0xbf58476d1ce4e5b9)
                        : e->name_hash;
    uint64_t key = (name ^ (uint64_t)(l - f->layouts) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
    osc_fast_skeleton *set = skeletons_of(f, key);
    bool full;
    const char *end = take_patterns(set, key, p, limit, e, &full);
    if (end)
        return end;
    uint64_t fine = key ^ look_of(p, limit);
    osc_fast_skeleton *more = skeletons_of(f, fine);
    bool split = full && e->name_hash; /* more kinds of arguments than one set holds */
    end = split ? take_patterns(more, fine, p, limit, e, &full) : NULL;
    if (!end)
        end = take_any_pieces(set, key, p, limit, e);
    if (!end && split)
        end = take_any_pieces(more, fine, p, limit, e);
    if (end)
        return end;
    return *p == '{' ? take_args(f, p, limit, e) : NULL;
}

#endif
