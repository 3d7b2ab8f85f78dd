/*
 * hash.c - osc_hash64 and CRC-32C; see hash.h. SHA-256 is in sha256.c.
 *
 * osc_hash64 folds 64 x 64 -> 128 bit products of the input with odd constants, in the manner of
 * wyhash: 16 bytes a step, 48 in three independent lanes for long inputs. The product is also written
 * out in 32-bit parts for machines without a 128-bit type, with equal results.
 */
#include "base/hash.h"

#include <string.h>

#define K0 UINT64_C(0x9e3779b97f4a7c15)
#define K1 UINT64_C(0xbf58476d1ce4e5b9)
#define K2 UINT64_C(0x94d049bb133111eb)
#define K3 UINT64_C(0xd6e8feb86659fd93)

/* Low half xor high half of a * b. */
static uint64_t fold(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    wide p = (wide)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
#else
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, mid1 = ah * bl, mid2 = al * bh;
    uint64_t carry = (low >> 32) + (uint32_t)mid1 + (uint32_t)mid2;
    uint64_t high = ah * bh + (mid1 >> 32) + (mid2 >> 32) + (carry >> 32);
    return (a * b) ^ high;
#endif
}

/* n bytes at p, low first, n at most 8. */
static uint64_t load(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&v, p, n);
#else
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
#endif
    return v;
}

uint64_t osc_hash64(const void *bytes, size_t len, uint64_t seed)
{
    const unsigned char *p = bytes;
    size_t left = len;
    uint64_t h = seed ^ fold(seed ^ K0, K1);
    if (left > 48) {
        uint64_t lane1 = h, lane2 = h;
        for (; left > 48; p += 48, left -= 48) {
            h = fold(load(p, 8) ^ K1, load(p + 8, 8) ^ h);
            lane1 = fold(load(p + 16, 8) ^ K2, load(p + 24, 8) ^ lane1);
            lane2 = fold(load(p + 32, 8) ^ K3, load(p + 40, 8) ^ lane2);
        }
        h ^= lane1 ^ lane2;
    }
    for (; left > 16; p += 16, left -= 16)
        h = fold(load(p, 8) ^ K1, load(p + 8, 8) ^ h);
    uint64_t a = 0, b = 0;
    if (left > 8) {
        a = load(p, 8);
        b = load(p + 8, left - 8);
    } else if (left > 0) {
        a = load(p, left);
    }
    return fold(K1 ^ (uint64_t)len, fold(a ^ K2, b ^ h));
}

uint64_t osc_hash64_str(osc_str s, uint64_t seed)
{
    return osc_hash64(s.ptr, s.len, seed);
}

uint64_t osc_hash_u64(uint64_t value)
{
    /* the finaliser of splitmix64: each step is invertible */
    value += K0;
    value = (value ^ value >> 30) * K1;
    value = (value ^ value >> 27) * K2;
    return value ^ value >> 31;
}

uint64_t osc_hash_mix(uint64_t hash, uint64_t value)
{
    return osc_hash_u64(hash ^ osc_hash_u64(value) * K3);
}

/* One table entry of the reflected polynomial 0x82f63b78. */
static uint32_t crc_entry(uint32_t byte)
{
    for (int bit = 0; bit < 8; bit++)
        byte = byte >> 1 ^ (0x82f63b78u & (0u - (byte & 1u)));
    return byte;
}

/*
 * Half-byte steps with a 16-entry table built on the stack: no global table to initialise, about
 * 300 MB/s, which is more than the files it guards need.
 */
uint32_t osc_crc32c(uint32_t crc, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; i++)
        table[i] = crc_entry(i << 4);
    /* an entry for high nibble h is the byte h << 4; for a nibble step it is enough */
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}
