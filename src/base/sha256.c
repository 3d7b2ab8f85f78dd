/*
 * sha256.c - SHA-256 as in FIPS 180-4; declared in hash.h.
 */
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* FIPS 180-4, 4.2.2 */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t v, unsigned n)
{
    return v >> n | v << (32 - n);
}

static uint32_t load_be(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static void store_be(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)(v >> 24);
    p[1] = (unsigned char)(v >> 16);
    p[2] = (unsigned char)(v >> 8);
    p[3] = (unsigned char)v;
}

/* FIPS 180-4, 6.2.2 steps 2 and 3: one round on the working variables v[0..7] = a..h. */
static void one_round(uint32_t v[8], uint32_t scheduled)
{
    uint32_t sum1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t t1 = v[7] + sum1 + choice + scheduled;
    uint32_t sum0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    memmove(v + 1, v, 7 * sizeof v[0]);
    v[4] += t1;
    v[0] = t1 + sum0 + majority;
}

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = load_be(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++)
        one_round(v, round_constant[i] + w[i]);
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void osc_sha256_init(osc_sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(s, 0, sizeof *s);
    memcpy(s->state, start, sizeof start);
}

void osc_sha256_update(osc_sha256 *s, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    size_t held = (size_t)(s->total % 64);
    s->total += len;
    if (held > 0) {
        size_t n = len < 64 - held ? len : 64 - held;
        if (n > 0)
            memcpy(s->block + held, p, n);
        if (held + n < 64)
            return;
        compress(s->state, s->block);
        p += n;
        len -= n;
    }
    for (; len >= 64; p += 64, len -= 64)
        compress(s->state, p);
    if (len > 0)
        memcpy(s->block, p, len);
}

void osc_sha256_final(osc_sha256 *s, unsigned char out[OSC_SHA256_SIZE])
{
    static const unsigned char pad[64] = {0x80};
    uint64_t bits = s->total * 8;
    unsigned char length[8];
    size_t held = (size_t)(s->total % 64);
    store_be(length, (uint32_t)(bits >> 32));
    store_be(length + 4, (uint32_t)bits);
    osc_sha256_update(s, pad, held < 56 ? 56 - held : 120 - held);
    osc_sha256_update(s, length, sizeof length);
    assert(s->total % 64 == 0);
    for (int i = 0; i < 8; i++)
        store_be(out + 4 * i, s->state[i]);
}

void osc_sha256_bytes(const void *bytes, size_t len, unsigned char out[OSC_SHA256_SIZE])
{
    osc_sha256 s;
    osc_sha256_init(&s);
    osc_sha256_update(&s, bytes, len);
    osc_sha256_final(&s, out);
}

osc_status osc_sha256_file(const char *path, unsigned char out[OSC_SHA256_SIZE], uint64_t *size,
                           osc_err *err)
{
    unsigned char piece[16384];
    osc_sha256 s;
    osc_sha256_init(&s);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return osc_fail(err, errno == ENOENT ? OSC_ENOTFOUND : OSC_EIO, path, OSC_NO_OFFSET,
                        "cannot open: %s", strerror(errno));
    osc_status status = OSC_OK;
    for (;;) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = osc_fail(err, OSC_EIO, path, s.total, "cannot read: %s", strerror(errno));
        if (n <= 0)
            break;
        osc_sha256_update(&s, piece, (size_t)n);
    }
    (void)close(fd);
    if (size)
        *size = s.total;
    osc_sha256_final(&s, out);
    return status;
}

char *osc_sha256_hex(const unsigned char digest[OSC_SHA256_SIZE], char out[OSC_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < OSC_SHA256_SIZE; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[OSC_SHA256_HEX - 1] = '\0';
    return out;
}
