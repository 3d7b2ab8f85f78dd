/*
 * jsonpattern.h - bytes compared with a pattern in which some may be any digit.
 *
 * Included once by each file that is compiled for a level, as jsonbits.h, which it includes.
 */
#ifndef OSC_BASE_JSONPATTERN_H
#define OSC_BASE_JSONPATTERN_H

#include "base/jsonbits.h"

/* In a pattern, of osc_jsonbits_like: any digit. All other bytes of patterns are below 0x80. */
#define OSC_JSONBITS_DIGIT ((char)0xb0)

#if OSC_JSONBITS_LEVEL == 3

/* Bits of the bytes at p that are not as the 64 of a pattern. */
static inline uint64_t osc_jsonbits_unlike(const char *p, const char *pattern)
{
    const __m512i v = _mm512_loadu_si512((const void *)p);
    const __m512i t = _mm512_loadu_si512((const void *)pattern);
    /* 0 where equal, 0 to 9 where a digit stands */
    const __m512i differ = _mm512_xor_si512(v, _mm512_and_si512(t, _mm512_set1_epi8(0x7f)));
    const __m512i most = _mm512_maskz_mov_epi8(_mm512_movepi8_mask(t), _mm512_set1_epi8(9));
    return _mm512_cmpgt_epu8_mask(differ, most);
}

#elif OSC_JSONBITS_LEVEL == 2

static inline uint64_t osc_jsonbits_unlike(const char *p, const char *pattern)
{
    const __m256i low = _mm256_set1_epi8(0x7f), nine = _mm256_set1_epi8(9);
    uint64_t same = 0;
    for (unsigned at = 0; at < 64; at += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + at));
        const __m256i t = _mm256_loadu_si256((const __m256i *)(const void *)(pattern + at));
        const __m256i differ = _mm256_xor_si256(v, _mm256_and_si256(t, low));
        const __m256i most = _mm256_and_si256(_mm256_cmpgt_epi8(_mm256_setzero_si256(), t), nine);
        same |= (uint64_t)(uint32_t)_mm256_movemask_epi8(
                    _mm256_cmpeq_epi8(_mm256_subs_epu8(differ, most), _mm256_setzero_si256()))
                << at;
    }
    return ~same;
}

#else

/* Not 0 when the 8 bytes at p are not as a pattern. */
static inline uint64_t osc_jsonbits_unlike(const char *p, const char *pattern)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t v, t;
    memcpy(&v, p, 8);
    memcpy(&t, pattern, 8);
    uint64_t differ = v ^ (t & low);
    uint64_t room = low - ((t & ~low) >> 7) * 9; /* 0x7f less what may differ */
    return (((differ & low) + room) | differ) & ~low;
}

#endif

/*
 * True when size bytes at p are as a pattern of which size bytes, at least 64, can be read. Four
 * steps at a time, without a branch between them; the last of them look at the last 64 bytes again.
 * Nothing behind the size (or the first 64 bytes) is touched.
 */
static inline bool osc_jsonbits_like(const char *p, const char *pattern, size_t size)
{
#if OSC_JSONBITS_LEVEL >= 2
    if (size < 64)
        return size == 0 || osc_jsonbits_unlike(p, pattern) << (64 - size) == 0;
    size_t last = size - 64;
    for (size_t at = 0;; at += 256) {
        uint64_t bad = 0;
        for (size_t step = at; step < at + 256; step += 64) {
            size_t here = step < last ? step : last;
            bad |= osc_jsonbits_unlike(p + here, pattern + here);
        }
        if (bad)
            return false;
        if (at + 192 >= last)
            return true;
    }
#else
    for (; size > 8; p += 8, pattern += 8, size -= 8) {
        if (osc_jsonbits_unlike(p, pattern))
            return false;
    }
    uint64_t first = size ? ~UINT64_C(0) >> (64 - 8 * size) : 0; /* on little-endian machines */
    return (osc_jsonbits_unlike(p, pattern) & first) == 0;
#endif
}

#endif
