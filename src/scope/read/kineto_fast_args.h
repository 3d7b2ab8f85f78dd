/*
 * kineto_fast_args.h - arguments of an event by words of bits: where they end, whether they are
 * plain, the wanted ones.
 *
 * Included by kineto_fast_skeleton.h, once for each SIMD level.
 */
#ifndef OSC_READ_KINETO_FAST_ARGS_H
#define OSC_READ_KINETO_FAST_ARGS_H

#include "scope/read/kineto_fast_numbers.h"

/* ---- arguments ---- */

struct args_state {
    uint64_t inside;      /* all ones: byte 0 is inside a text */
    uint64_t escaped;     /* 1: byte 0 is made literal by a backslash */
    uint64_t value_due;   /* 1: the next byte that is no space follows a bracket, comma or colon */
    uint64_t after_open;  /* 1: the byte before was an opening bracket */
    uint64_t after_quote; /* 1: the byte before ended a text */
    uint64_t text_ended;  /* 1: the next byte that is no space follows a text */
    uint64_t scalar;      /* 1: the byte before belongs to a number or word */
    uint32_t depth;       /* of braces */
};

/* True when what begins at the set bits are the words true, false and null. */
static inline bool words_known(const char *p, uint64_t starts)
{
    for (; starts; starts &= starts - 1) {
        const char *w = p + osc_jsonbits_first(starts);
        unsigned len = memcmp(w, "null", 4) == 0 || memcmp(w, "true", 4) == 0 ? 4
                       : memcmp(w, "false", 5) == 0                           ? 5
                                                                              : 0;
        char next = w[len];
        if (len == 0 || !(next == ',' || next == '}' || next == ']' || next == ' ' ||
                          next == '\n' || next == '\r' || next == '\t'))
            return false;
    }
    return true;
}

/* Bits at brace depth 1, up to and with the brace that ends the object; *end is that brace's or
 * 64. */
static inline uint64_t top_level(uint64_t open, uint64_t close, uint32_t *depth, unsigned *end)
{
    uint64_t braces = open | close, level = 0, from = 0;
    *end = 64;
    while (braces) {
        unsigned at = osc_jsonbits_first(braces);
        uint64_t below = (UINT64_C(1) << at) - 1;
        if (*depth == 1)
            level |= below & ~from;
        from = below;
        braces &= braces - 1;
        if (open >> at & 1) {
            ++*depth;
        } else if (--*depth == 0) {
            *end = at;
            return level;
        }
    }
    return *depth == 1 ? level | ~from : level;
}

/*
 * Bits of the bytes i of the 64 at p where a colon may follow a wanted key: by its last letter, p[i
 * - 2], and the fourth from the end, p[i - 5]. Eight classes of such pairs; a byte's class is
 * looked up by its halves:
 *
 *     1 l.id   2 d.id e.id c.id s.ed   4 t.on   8 m.er   16 _.dx n.ex   32 D.ms y.es   64 T.pe v.ce l.ne   128 _.ey
 *
 * The halves of `t` would let in more than 4. Others may still pass; take_key looks at the whole
 * key.
 */
static inline uint64_t may_be_wanted(const char *p)
{
#if OSC_JSONBITS_LEVEL >= 2
    const __m128i last_low =
        _mm_setr_epi8(0, 0, 8, 32, 3, 64, 0, 0, 16, (char)128, 0, 0, 0, 0, 4, 0);
    const __m128i first_low = _mm_setr_epi8(16, 0, 0, 2, 2 | 4 | 32 | 64, 2, 64, 0, 0, 32, 0, 0,
                                            1 | 64, 8, 16, (char)128);
    const __m128i first_high = _mm_setr_epi8(0, 0, 16, 0, 32, (char)(64 | 128), 1 | 2 | 8 | 16 | 64,
                                             2 | 4 | 32 | 64, 0, 0, 0, 0, 0, 0, 0, 0);
#endif
#if OSC_JSONBITS_LEVEL == 3
    const __m512i last = _mm512_loadu_si512((const void *)(p - 2));
    const __m512i first = _mm512_loadu_si512((const void *)(p - 5));
    const __m512i half = _mm512_and_si512(_mm512_srli_epi16(first, 4), _mm512_set1_epi8(15));
    const __m512i classes =
        _mm512_and_si512(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(first_low), first),
                         _mm512_shuffle_epi8(_mm512_broadcast_i32x4(first_high), half));
    uint64_t t = _mm512_cmpeq_epi8_mask(first, _mm512_set1_epi8('t'));
    uint64_t n = _mm512_cmpeq_epi8_mask(last, _mm512_set1_epi8('n'));
    return _mm512_test_epi8_mask(classes,
                                 _mm512_shuffle_epi8(_mm512_broadcast_i32x4(last_low), last)) &
           ~(t & ~n);
#elif OSC_JSONBITS_LEVEL == 2
    uint64_t bits = 0;
    for (unsigned at = 0; at < 64; at += 32) {
        const __m256i last = _mm256_loadu_si256((const __m256i *)(const void *)(p + at - 2));
        const __m256i first = _mm256_loadu_si256((const __m256i *)(const void *)(p + at - 5));
        const __m256i half = _mm256_and_si256(_mm256_srli_epi16(first, 4), _mm256_set1_epi8(15));
        const __m256i classes =
            _mm256_and_si256(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(first_low), first),
                             _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(first_high), half));
        const __m256i both = _mm256_and_si256(
            classes, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(last_low), last));
        const __m256i none = _mm256_cmpeq_epi8(both, _mm256_setzero_si256());
        const __m256i t = _mm256_cmpeq_epi8(first, _mm256_set1_epi8('t'));
        const __m256i n = _mm256_cmpeq_epi8(last, _mm256_set1_epi8('n'));
        bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(
                    _mm256_or_si256(none, _mm256_andnot_si256(n, t)))
                << at;
    }
    return ~bits;
#else
    (void)p;
    return ~UINT64_C(0);
#endif
}

/* As if the event had no arguments. */
static inline void forget_numbers(osc_fast_event *e)
{
    for (int i = 0; i < OSC_KEY_SHAPES; i++)
        e->numbers[i] = 0;
    e->numbers[OSC_KEY_ORDER] = e->numbers[OSC_KEY_SEQUENCE] = e->numbers[OSC_KEY_DEVICE] = -1;
    e->shapes = NULL;
}

/* Looks at the key that ends before the colon at c and takes its value. False when the reference
 * must. */
static inline bool take_key(const osc_fast *f, const char *c, osc_fast_event *e)
{
    const osc_fast_key_entry *entry = osc_fast_find_key(f, c);
    if (!entry)
        return true;
    const char *value = c + 1 + (c[1] == ' ');
    if (entry->key == OSC_KEY_RARE)
        return false;
    if (entry->key == OSC_KEY_SHAPES) {
        e->shapes = *value == '[' ? value : NULL;
        return *value == '[';
    }
    return take_integer(value, &e->numbers[entry->key]);
}

#define KEPT 30u

static inline bool take_keys(const osc_fast *f, const char *const *colons, unsigned n,
                             osc_fast_event *e)
{
    for (unsigned i = 0; i < n; i++) {
        if (!take_key(f, colons[i], e))
            return false;
    }
    return true;
}

/*
 * The arguments whose '{' is at p: wanted values into e, and the byte behind their '}'. NULL when a
 * token does not follow the one before it as in plain JSON, or a wanted value is unusual.
 */
static inline const char *take_args(const osc_fast *f, const char *p, const char *limit,
                                    osc_fast_event *e)
{
    struct args_state s = {.value_due = 1}; /* as if something led to the object's own brace */
    const char *kept[KEPT + 66];            /* colons behind keys that may be wanted */
    unsigned count = 0;
    e->args = p;
    for (; p < limit; p += 64) {
        osc_jsonbits m;
        osc_jsonbits_of(p, &m);
        uint64_t quote = m.quote;
        if (m.slash | s.escaped)
            quote &= ~osc_jsonbits_escaped(m.slash, &s.escaped);
        uint64_t text = osc_jsonbits_prefix_xor(quote) ^ s.inside; /* without closing quotes */
        uint64_t out = ~(text | quote);
        uint64_t open_curly = m.open_curly & out, close_curly = m.close_curly & out;
        uint64_t level = ~UINT64_C(0);
        unsigned end = 64;
        if (s.depth != 1 || open_curly) {
            level = top_level(open_curly, close_curly, &s.depth, &end);
        } else if (close_curly) {
            end = osc_jsonbits_first(close_curly);
            level = (close_curly & -close_curly) - 1;
        }
        if (end != 64) {
            uint64_t valid = (UINT64_C(2) << end) - 1;
            quote &= valid;
            out &= valid;
        }
        uint64_t opening = quote & text, closing = quote & ~text;
        uint64_t colon = m.colon & out, comma = m.comma & out;
        uint64_t opens = (m.open_curly | m.open_square) & out;
        uint64_t closes = (m.close_curly | m.close_square) & out;
        uint64_t ends = comma | colon | closes, space = m.space & out;
        uint64_t scalar = out & ~(ends | opens | space);
        uint64_t starts = scalar & ~(scalar << 1 | s.scalar);

        /* where a value (or a closing bracket) must stand: behind brackets, commas and colons,
         * spaces apart */
        uint64_t lead = opens | comma | colon, sum;
        uint64_t next = lead << 1 | s.value_due;
        bool over = __builtin_add_overflow(next & space, space, &sum);
        uint64_t due = (next | sum) & ~space;
        uint64_t behind = closing << 1 | s.after_quote;
        uint64_t apart = behind | s.text_ended; /* the same with spaces between */
        bool text_over = __builtin_add_overflow(apart & space, space, &sum);
        uint64_t ended = (apart | sum) & ~space;
        uint64_t bad = (opening | opens | starts) & ~due;
        bad |= due & ends & ~(closes & (opens << 1 | s.after_open));
        bad |= (ended & ~ends) | (colon & ~behind);
        uint64_t odd = starts & ~m.number;
        if (bad || (odd && !words_known(p, odd)))
            return NULL;

        /* kept for later without a branch on how many there are; more than two are rare */
        uint64_t keys = colon & level & may_be_wanted(p);
        uint64_t rest = keys & (keys - 1);
        kept[count] = p + (keys ? osc_jsonbits_first(keys) : 0);
        kept[count + 1] = p + (rest ? osc_jsonbits_first(rest) : 0);
        for (uint64_t more = rest & (rest - 1), i = 2; more; more &= more - 1)
            kept[count + i++] = p + osc_jsonbits_first(more);
        count += (unsigned)__builtin_popcountll(keys);
        if (end != 64) {
            e->args_len = (size_t)(p + end + 1 - e->args);
            return take_keys(f, kept, count, e) ? p + end + 1 : NULL;
        }
        if (count >= KEPT) {
            if (!take_keys(f, kept, count, e))
                return NULL;
            count = 0;
        }
        s.value_due = lead >> 63 | over;
        s.after_open = opens >> 63;
        s.after_quote = closing >> 63;
        s.text_ended = text_over;
        s.scalar = scalar >> 63;
        s.inside = (uint64_t)((int64_t)text >> 63);
    }
    return NULL;
}

#endif
