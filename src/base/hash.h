/*
 * hash.h - three hashes: one for tables, one for identity, one for damage.
 *
 * osc_hash64 is fast and good, the same on every machine and in every release (files carry it), and no
 * protection against an adversary. SHA-256 names content. CRC-32C finds damaged bytes.
 */
#ifndef OSC_BASE_HASH_H
#define OSC_BASE_HASH_H

#include "base/status.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* 64-bit hash of len bytes. The value for given bytes and seed never changes. Any thread. */
uint64_t osc_hash64(const void *bytes, size_t len, uint64_t seed);
uint64_t osc_hash64_str(osc_str s, uint64_t seed);

/* Hash of one number; a bijection, so distinct inputs never collide. */
uint64_t osc_hash_u64(uint64_t value);

/* Mixes a value into a running hash; order matters. */
uint64_t osc_hash_mix(uint64_t hash, uint64_t value);

#define OSC_SHA256_SIZE 32
#define OSC_SHA256_HEX  65 /* with its NUL */

typedef struct osc_sha256 {
    uint32_t state[8];       /* running digest */
    uint64_t total;          /* bytes fed so far */
    unsigned char block[64]; /* bytes not yet compressed: total % 64 of them */
} osc_sha256;

void osc_sha256_init(osc_sha256 *s);
void osc_sha256_update(osc_sha256 *s, const void *bytes, size_t len);
void osc_sha256_final(osc_sha256 *s, unsigned char out[OSC_SHA256_SIZE]);

/* Digest of a memory range in one call. */
void osc_sha256_bytes(const void *bytes, size_t len, unsigned char out[OSC_SHA256_SIZE]);

/* Digest and size of a file, read in pieces. size may be NULL. */
osc_status osc_sha256_file(const char *path, unsigned char out[OSC_SHA256_SIZE], uint64_t *size,
                           osc_err *err) OSC_MUST_CHECK;

/* Lower-case hex of a digest, NUL-terminated; returns out. */
char *osc_sha256_hex(const unsigned char digest[OSC_SHA256_SIZE], char out[OSC_SHA256_HEX]);

/* CRC-32C (Castagnoli). Start with crc 0; feed the result back in to go on. */
uint32_t osc_crc32c(uint32_t crc, const void *bytes, size_t len);

#endif
