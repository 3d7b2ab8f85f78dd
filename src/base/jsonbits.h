/*
 * jsonbits.h - 64 bytes of JSON as bits: one 64-bit word for each class of bytes, bit i for byte i.
 *
 * Included once by each file that is compiled for a level: it defines OSC_JSONBITS_LEVEL to a
 * number of osc_simd_level first (else it is plain C) and gets static functions of that level. All
 * give the same bits.
 *
 * A byte is in exactly one class, those that are in none here (letters, control bytes, bytes of
 * UTF-8) count as `odd` by their absence:
 *
 *     quote "   slash \   colon :   comma ,   open_curly {  close_curly }
 *     open_square [  close_square ]
 *     space: blank, tab, LF, CR        number: digits and + - .
 */
#ifndef OSC_BASE_JSONBITS_H
#define OSC_BASE_JSONBITS_H

#include "base/simd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef OSC_JSONBITS_LEVEL
#define OSC_JSONBITS_LEVEL 1 /* OSC_SIMD_PLAIN */
#endif

#if OSC_JSONBITS_LEVEL >= 2
#include <immintrin.h>
#endif

typedef struct osc_jsonbits {
    uint64_t quote, slash, colon, comma;
    uint64_t open_curly, close_curly, open_square, close_square;
    uint64_t space, number;
} osc_jsonbits;

#if OSC_JSONBITS_LEVEL == 3

static inline void osc_jsonbits_of(const char *p, osc_jsonbits *m)
{
    const __m512i v = _mm512_loadu_si512((const void *)p);
    const __m512i low = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
    uint64_t open = _mm512_cmpeq_epi8_mask(low, _mm512_set1_epi8('{'));
    uint64_t close = _mm512_cmpeq_epi8_mask(low, _mm512_set1_epi8('}'));
    uint64_t curly = _mm512_test_epi8_mask(v, _mm512_set1_epi8(0x20));
    /* a blank class byte equals the entry of this table at its low four bits */
    const __m512i blanks = _mm512_broadcast_i32x4(
        _mm_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0));
    m->space = _mm512_cmpeq_epi8_mask(v, _mm512_shuffle_epi8(blanks, v));
    m->quote = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"'));
    m->slash = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'));
    m->colon = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(':'));
    m->comma = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(','));
    uint64_t range = _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8('+')),
                                            _mm512_set1_epi8('9' - '+'));
    uint64_t solidus = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('/'));
    m->number = range & ~solidus & ~m->comma;
    m->open_curly = open & curly;
    m->close_curly = close & curly;
    m->open_square = open & ~curly;
    m->close_square = close & ~curly;
}

/* True when the first n <= 64 bytes are equal; 64 bytes at a and b must be readable. */
static inline bool osc_jsonbits_equal(const char *a, const char *b, size_t n)
{
    __mmask64 first = (__mmask64)_bzhi_u64(~UINT64_C(0), (uint32_t)n);
    return _mm512_mask_cmpneq_epi8_mask(first, _mm512_loadu_si512((const void *)a),
                                        _mm512_loadu_si512((const void *)b)) == 0;
}

/* Bits of the quotes and backslashes in 64 bytes. */
static inline uint64_t osc_jsonbits_text_ends(const char *p)
{
    const __m512i v = _mm512_loadu_si512((const void *)p);
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')) |
           _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'));
}

#elif OSC_JSONBITS_LEVEL == 2

/* The bits of a predicate over two halves. */
#define OSC_JSONBITS_PAIR(x0, x1)                                                                \
    ((uint64_t)(uint32_t)_mm256_movemask_epi8(x0) | (uint64_t)(uint32_t)_mm256_movemask_epi8(x1) \
                                                        << 32)
#define OSC_JSONBITS_EQ(c)                                       \
    OSC_JSONBITS_PAIR(_mm256_cmpeq_epi8(a, _mm256_set1_epi8(c)), \
                      _mm256_cmpeq_epi8(b, _mm256_set1_epi8(c)))

static inline void osc_jsonbits_of(const char *p, osc_jsonbits *m)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    const __m256i bit = _mm256_set1_epi8(0x20);
    const __m256i low_a = _mm256_or_si256(a, bit), low_b = _mm256_or_si256(b, bit);
    const __m256i brace = _mm256_set1_epi8('{'), unbrace = _mm256_set1_epi8('}');
    uint64_t open =
        OSC_JSONBITS_PAIR(_mm256_cmpeq_epi8(low_a, brace), _mm256_cmpeq_epi8(low_b, brace));
    uint64_t close =
        OSC_JSONBITS_PAIR(_mm256_cmpeq_epi8(low_a, unbrace), _mm256_cmpeq_epi8(low_b, unbrace));
    uint64_t curly = OSC_JSONBITS_PAIR(_mm256_slli_epi16(a, 2), _mm256_slli_epi16(b, 2));
    const __m256i blanks = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0));
    m->space = OSC_JSONBITS_PAIR(_mm256_cmpeq_epi8(a, _mm256_shuffle_epi8(blanks, a)),
                                 _mm256_cmpeq_epi8(b, _mm256_shuffle_epi8(blanks, b)));
    m->quote = OSC_JSONBITS_EQ('"');
    m->slash = OSC_JSONBITS_EQ('\\');
    m->colon = OSC_JSONBITS_EQ(':');
    m->comma = OSC_JSONBITS_EQ(',');
    const __m256i plus = _mm256_set1_epi8('+'), span = _mm256_set1_epi8('9' - '+');
    const __m256i from_a = _mm256_sub_epi8(a, plus), from_b = _mm256_sub_epi8(b, plus);
    uint64_t range = OSC_JSONBITS_PAIR(_mm256_cmpeq_epi8(_mm256_min_epu8(from_a, span), from_a),
                                       _mm256_cmpeq_epi8(_mm256_min_epu8(from_b, span), from_b));
    m->number = range & ~OSC_JSONBITS_EQ('/') & ~m->comma;
    m->open_curly = open & curly;
    m->close_curly = close & curly;
    m->open_square = open & ~curly;
    m->close_square = close & ~curly;
}

static inline bool osc_jsonbits_equal(const char *a, const char *b, size_t n)
{
    const __m256i a0 = _mm256_loadu_si256((const __m256i *)(const void *)a);
    const __m256i b0 = _mm256_loadu_si256((const __m256i *)(const void *)b);
    uint64_t same = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a0, b0));
    if (n > 32) {
        const __m256i a1 = _mm256_loadu_si256((const __m256i *)(const void *)(a + 32));
        const __m256i b1 = _mm256_loadu_si256((const __m256i *)(const void *)(b + 32));
        same |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a1, b1)) << 32;
    }
    return _bzhi_u64(~same, (uint32_t)n) == 0;
}

static inline uint64_t osc_jsonbits_text_ends(const char *p)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    return OSC_JSONBITS_EQ('"') | OSC_JSONBITS_EQ('\\');
}

#else

static inline void osc_jsonbits_of(const char *p, osc_jsonbits *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned i = 0; i < 64; i++) {
        uint64_t bit = UINT64_C(1) << i;
        switch (p[i]) {
        case '"': m->quote |= bit; break;
        case '\\': m->slash |= bit; break;
        case ':': m->colon |= bit; break;
        case ',': m->comma |= bit; break;
        case '{': m->open_curly |= bit; break;
        case '}': m->close_curly |= bit; break;
        case '[': m->open_square |= bit; break;
        case ']': m->close_square |= bit; break;
        case ' ':
        case '\t':
        case '\n':
        case '\r': m->space |= bit; break;
        case '+':
        case '-':
        case '.': m->number |= bit; break;
        default: m->number |= p[i] >= '0' && p[i] <= '9' ? bit : 0;
        }
    }
}

static inline bool osc_jsonbits_equal(const char *a, const char *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

static inline uint64_t osc_jsonbits_text_ends(const char *p)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i++)
        bits |= (uint64_t)(p[i] == '"' || p[i] == '\\') << i;
    return bits;
}

#endif

/* Bit i of the result is the exclusive or of bits 0..i: inside of texts, from the bits of their
 * quotes. */
static inline uint64_t osc_jsonbits_prefix_xor(uint64_t x)
{
#if OSC_JSONBITS_LEVEL >= 2
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)x), _mm_set1_epi8(-1), 0));
#else
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
#endif
}

/*
 * Bits of the bytes that a backslash before them makes literal. *carry says whether byte 0 is one,
 * and afterwards whether the byte behind the 64 is. A run of backslashes escapes what follows it
 * when it is odd.
 */
static inline uint64_t osc_jsonbits_escaped(uint64_t slash, uint64_t *carry)
{
    if (slash == 0) {
        uint64_t escaped = *carry;
        *carry = 0;
        return escaped;
    }
    const uint64_t even = UINT64_C(0x5555555555555555);
    slash &= ~*carry;
    uint64_t follows = slash << 1 | *carry;
    uint64_t odd_starts = slash & ~even & ~follows, sum;
    *carry = __builtin_add_overflow(odd_starts, slash, &sum);
    uint64_t invert = sum << 1;
    return (even ^ invert) & follows;
}

/* Position of the lowest set bit; x is not 0. */
static inline unsigned osc_jsonbits_first(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}

#endif
