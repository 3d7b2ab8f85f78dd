/*
 * kineto_fast_body.h - takes events in known layouts; compiled once for each SIMD level.
 *
 * The including file defines OSC_FAST_RUN (the name of the function) and OSC_JSONBITS_LEVEL.
 * Nothing here changes the store: a try fills an osc_fast_event, and osc_fast_commit is called when
 * all of it fitted.
 *
 * No bounds are checked byte by byte. Behind the window are OSC_FEED_PAD zero bytes, which are no
 * part of any event, so a try that runs into them fails where it stands; the loops over texts and
 * arguments, which could go further, look at the end once in 64 bytes.
 */
#ifndef OSC_READ_KINETO_FAST_BODY_H
#define OSC_READ_KINETO_FAST_BODY_H

#ifndef OSC_FAST_RUN
#define OSC_FAST_RUN osc_fast_run_plain
#endif
#include "scope/read/kineto_fast_internal.h"

#include <assert.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include "scope/read/kineto_fast_event.h"
#include "scope/read/kineto_fast_stamp.h"

/* ---- which layout ---- */

#define GUESS_BYTES 40u
#define AHEAD_BYTES 640u
#define AHEAD_LINES 4u

/* A number of the event's first bytes; the same for events of a layout that begins with as many
 * that stay. */
static inline uint32_t guess_of(const char *p)
{
    uint64_t a = osc_fast_load(p + 8, 8), b = osc_fast_load(p + 16, 8);
    uint64_t c = osc_fast_load(p + 24, 8), d = osc_fast_load(p + 32, 8);
    uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) ^ b * UINT64_C(0xbf58476d1ce4e5b9) ^
                 c * UINT64_C(0x94d049bb133111eb) ^ d * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) % OSC_FAST_GUESSES;
}

/* The event at p in a layout that its first bytes do not tell: the ones met lately, then all. */
static const char *search_event(osc_fast *f, const char *p, const char *limit, osc_fast_event *e,
                                uint32_t *layout)
{
    uint8_t *recent = f->recent[recent_of(p)];
    const char *end;
    for (unsigned i = 0; i < 2 && recent[i] > 0; i++) {
        *layout = recent[i] - 1u;
        end = take_event(f, &f->layouts[*layout], p, limit, e);
        if (!end)
            continue;
        uint8_t hit = recent[i];
        recent[i] = recent[0];
        recent[0] = hit;
        return end;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        end = take_event(f, &f->layouts[i], p, limit, e);
        if (!end)
            continue;
        *layout = i;
        recent[1] = recent[0];
        recent[0] = (uint8_t)(i + 1);
        if (f->layouts[i].parts[0].len >= GUESS_BYTES)
            f->guess[guess_of(p)] = (uint8_t)(i + 1);
        return end;
    }
    return NULL;
}

/* The event at p in whichever layout it has. */
static inline const char *find_event(osc_fast *f, const char *p, const char *limit,
                                     osc_fast_event *e, uint32_t *layout)
{
    uint8_t guess = f->guess[guess_of(p)];
    if (guess > 0) {
        *layout = guess - 1u;
        const char *end = take_event(f, &f->layouts[*layout], p, limit, e);
        if (end)
            return end;
    }
    return search_event(f, p, limit, e, layout);
}

/* The event at p if it makes no rows and came in the same way before: the byte behind, or NULL. */
static inline const char *pass_event(osc_kineto *k, osc_fast *f, const char *p, const char *limit)
{
    const char *end;
    uint8_t guess = f->guess[guess_of(p)];
    if (guess > 0 && (f->mute & OSC_FAST_MUTE_FRAME) &&
        f->layouts[guess - 1].mute == OSC_FAST_MUTE_FRAME) {
        const osc_fast_layout *l = &f->layouts[guess - 1];
        end = pass_frame(f, l, p, limit);
        if (!end)
            return NULL;
        k->seen_flags |= l->flags;
        k->dropped++;
        k->events++;
        return end;
    }
    if (!(f->mute & OSC_FAST_MUTE_FLOW))
        return NULL;
    end = pass_flow(f, p, limit);
    k->events += end != NULL;
    return end;
}

/* The bytes of the events after the next ones, from the second-level cache: what an event's end
 * depends on comes too late for the processor to do it by itself. An address behind the window does
 * no harm. */
static inline void fetch_ahead(const char *p)
{
    uintptr_t ahead = (uintptr_t)p + AHEAD_BYTES;
    for (uintptr_t line = 0; line < AHEAD_LINES; line++)
        __builtin_prefetch((const void *)(ahead + line * 64));
}

void OSC_FAST_RUN(osc_kineto *k, osc_fast *f)
{
    const char *base = k->scan.data, *limit = base + k->scan.len, *p = base + k->scan.pos;
    uint64_t left = k->stop - k->scan.base;
    const char *stop = left < k->scan.len ? base + left : limit;
    const size_t gap =
        f->separator_len - 1u; /* the last byte of the separator is the event's brace */
    osc_fast_event e;
    uint32_t layout = 0;
    assert(k->stop >= k->scan.base + k->scan.pos);
    f->mute = (uint8_t)((k->drop_frames ? OSC_FAST_MUTE_FRAME : 0) |
                        (k->omit & OSC_OMIT_FLOWS ? OSC_FAST_MUTE_FLOW : 0));
    while (p + gap < stop && osc_jsonbits_equal(p, f->separator, gap + 1)) {
        fetch_ahead(p);
        const char *end = f->mute ? pass_event(k, f, p + gap, limit) : NULL;
        if (end) {
            f->credit += f->credit < 4096;
            p = end;
            continue;
        }
        end = find_event(f, p + gap, limit, &e, &layout);
        if (!end || !osc_fast_commit(k, f, &f->layouts[layout], &e))
            break;
        osc_fast_layout *l = &f->layouts[layout];
        if (!e.pair_known)
            osc_fast_keep_pair(k, l, &e);
        if (l->mute & f->mute)
            learn_stamp(f, l, p + gap, end, &e);
        else if (e.learn)
            osc_fast_learn_args(f, &e);
        f->credit += f->credit < 4096;
        p = end;
    }
    k->scan.pos = (size_t)(p - base);
}

#else

void OSC_FAST_RUN(osc_kineto *k, osc_fast *f)
{
    (void)k; /* the reference reads everything on big-endian machines */
    (void)f;
}

#endif

#endif
