/*
 * kineto_fast_hash.h - short texts as numbers: loads that are masked, and a hash for tables in
 * memory.
 */
#ifndef OSC_READ_KINETO_FAST_HASH_H
#define OSC_READ_KINETO_FAST_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The low `len` bytes of 8 at p as a number; len 0 to 8. */
static inline uint64_t osc_fast_load(const char *p, size_t len)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return len >= 8 ? v : v & ((UINT64_C(1) << (8 * len)) - 1);
}

static inline uint64_t osc_fast_fold(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    a = (a ^ a >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    b = (b ^ b >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return a ^ (b << 32 | b >> 32);
#endif
}

/* A hash of len bytes, of which up to 31 more are loaded and masked; never leaves this process. */
static inline uint64_t osc_fast_hash(const char *p, size_t len)
{
    uint64_t h = UINT64_C(0x94d049bb133111eb) ^ len;
    if (len <= 32) { /* most names, without a loop whose end the processor cannot guess */
        size_t l1 = len > 8 ? len - 8 : 0, l2 = len > 16 ? len - 16 : 0,
               l3 = len > 24 ? len - 24 : 0;
        return osc_fast_fold(osc_fast_load(p, len) ^ UINT64_C(0xd6e8feb86659fd93),
                             osc_fast_load(p + 8, l1) ^ h) ^
               osc_fast_fold(osc_fast_load(p + 16, l2) ^ UINT64_C(0x9e3779b97f4a7c15),
                             osc_fast_load(p + 24, l3) ^ h);
    }
    for (; len > 16; p += 16, len -= 16)
        h = osc_fast_fold(osc_fast_load(p, 8) ^ UINT64_C(0xd6e8feb86659fd93),
                          osc_fast_load(p + 8, 8) ^ h);
    return osc_fast_fold(osc_fast_load(p, len) ^ UINT64_C(0x9e3779b97f4a7c15),
                         osc_fast_load(p + 8, len > 8 ? len - 8 : 0) ^ h);
}

#endif
