/* Interning, the uint64 map, random numbers, hashes. */
#include "tap.h"

#include "base/hash.h"
#include "base/intern.h"
#include "base/io.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>

static void test_intern(void)
{
    osc_intern *t = osc_intern_new(SIZE_MAX);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("")), 0);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("mul")), 1);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("add")), 2);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("mul")), 1);
    TAP_EQ_U64(osc_intern_find(t, OSC_STR("add")), 2);
    TAP_EQ_U64(osc_intern_find(t, OSC_STR("sub")), OSC_INTERN_NONE);
    TAP_EQ_U64(osc_intern_find(t, osc_str_make(NULL, 0)), 0);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("m\0l")), 3);
    TAP_EQ_VIEW(osc_intern_get(t, 1), "mul");
    TAP_EQ_VIEW(osc_intern_get(t, 999), "");
    TAP_EQ_U64(osc_intern_get(t, 3).len, 3);
    TAP_EQ_U64(osc_intern_count(t), 4);
    osc_intern_free(t);
    osc_intern_free(NULL);
}

static void test_intern_many(void)
{
    osc_intern *t = osc_intern_new(SIZE_MAX);
    TAP_REQUIRE(t != NULL);
    char text[32];
    bool good = true;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 20000; i++) {
            (void)snprintf(text, sizeof text, "name-%u", i * 7);
            good = good && osc_intern_put(t, osc_str_from_cstr(text)) == i;
        }
    }
    TAP_OK(good);
    TAP_EQ_U64(osc_intern_count(t), 20001);
    TAP_EQ_VIEW(osc_intern_get(t, 20000), "name-140000");
    TAP_OK(osc_intern_bytes(t) > 200000);
    osc_intern_free(t);
}

static void test_intern_limit(void)
{
    osc_intern *t = osc_intern_new(10);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("12345678")), 1);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("abcdefgh")), OSC_INTERN_NONE);
    TAP_EQ_U64(osc_intern_put(t, OSC_STR("12345678")), 1);
    TAP_EQ_U64(osc_intern_count(t), 2);
    osc_intern_free(t);
}

static bool intern_under_pressure(void *ctx)
{
    (void)ctx;
    osc_intern *t = osc_intern_new(SIZE_MAX);
    bool good = true;
    for (uint32_t i = 1; t && i <= 200; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "n%u", i);
        uint32_t id = osc_intern_put(t, osc_str_from_cstr(text));
        if (id == OSC_INTERN_NONE)
            break;
        good = good && id == i && osc_str_eq_cstr(osc_intern_get(t, i), text);
    }
    osc_intern_free(t);
    return good;
}

static void test_intern_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(intern_under_pressure, NULL, 50));
}

static void test_map_basics(void)
{
    osc_map m;
    uint64_t v = 5;
    osc_map_init(&m);
    TAP_OK(!osc_map_get(&m, 1, &v) && v == 5);
    TAP_OK(!osc_map_remove(&m, 1));
    TAP_EQ_STATUS(osc_map_put(&m, 0, 10), OSC_OK);
    TAP_EQ_STATUS(osc_map_put(&m, UINT64_MAX, 11), OSC_OK);
    TAP_EQ_STATUS(osc_map_put(&m, 0, 12), OSC_OK);
    TAP_EQ_U64(m.count, 2);
    TAP_OK(osc_map_get(&m, 0, &v) && v == 12);
    TAP_OK(osc_map_get(&m, UINT64_MAX, NULL));
    TAP_OK(osc_map_remove(&m, 0));
    TAP_OK(!osc_map_get(&m, 0, &v));
    osc_map_free(&m);
    osc_map_free(NULL);
}

/* The map against a plain array under random puts and removals of few keys. */
static void test_map_against_model(void)
{
    enum { KEYS = 500 };
    static uint64_t model[KEYS];
    static bool there[KEYS];
    osc_rng rng = {42};
    osc_map m;
    osc_map_init(&m);
    bool good = true;
    size_t count = 0;
    for (int step = 0; step < 40000; step++) {
        size_t k = (size_t)osc_rng_below(&rng, KEYS);
        uint64_t v = osc_rng_next(&rng), got = 0;
        if (osc_rng_below(&rng, 2)) {
            good = good && osc_map_put(&m, k * 1024, v) == OSC_OK;
            count += !there[k];
            there[k] = true;
            model[k] = v;
        } else {
            good = good && osc_map_remove(&m, k * 1024) == there[k];
            count -= there[k];
            there[k] = false;
        }
        size_t q = (size_t)osc_rng_below(&rng, KEYS);
        bool found = osc_map_get(&m, q * 1024, &got);
        good = good && found == there[q] && (!found || got == model[q]) && m.count == count;
    }
    TAP_OK(good);
    size_t pos = 0, seen = 0;
    for (uint64_t key, value; osc_map_next(&m, &pos, &key, &value); seen++)
        good = good && there[key / 1024] && model[key / 1024] == value;
    TAP_OK(good);
    TAP_EQ_U64(seen, count);
    osc_map_free(&m);
}

static bool map_under_pressure(void *ctx)
{
    (void)ctx;
    osc_map m;
    osc_map_init(&m);
    uint64_t stored = 0;
    while (stored < 100 && osc_map_put(&m, stored, stored) == OSC_OK)
        stored++;
    bool good = m.count == stored;
    for (uint64_t i = 0, v; i < stored; i++)
        good = good && osc_map_get(&m, i, &v) && v == i;
    osc_map_free(&m);
    return good;
}

static void test_map_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(map_under_pressure, NULL, 20));
}

/* The values are part of files: they may never change. */
static void test_hash64_is_stable(void)
{
    TAP_EQ_U64(osc_hash64("", 0, 0), osc_hash64(NULL, 0, 0));
    unsigned char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
    uint64_t all = 0;
    for (size_t n = 0; n <= sizeof bytes; n++)
        all = osc_hash_mix(all, osc_hash64(bytes, n, n));
    TAP_EQ_U64(osc_hash64("opscope", 7, 0), UINT64_C(0x56223a721c8fc6ca));
    TAP_EQ_U64(all, UINT64_C(0xe9528767ddb7e97f));
}

static void test_hash64_spreads(void)
{
    /* flipping any one bit of the input flips about half of the output */
    unsigned char bytes[64] = {0};
    uint64_t base = osc_hash64(bytes, sizeof bytes, 1);
    int least = 64, most = 0;
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        int flipped = __builtin_popcountll(base ^ osc_hash64(bytes, sizeof bytes, 1));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        least = flipped < least ? flipped : least;
        most = flipped > most ? flipped : most;
    }
    TAP_OKF(least >= 12 && most <= 52, "%d to %d bits flip", least, most);
    TAP_OK(osc_hash64("a", 1, 0) != osc_hash64("a", 1, 1));
    TAP_OK(osc_hash64("a\0", 2, 0) != osc_hash64("a", 1, 0));
    TAP_OK(osc_hash_mix(osc_hash_mix(0, 1), 2) != osc_hash_mix(osc_hash_mix(0, 2), 1));
    TAP_OK(osc_hash_u64(0) != osc_hash_u64(1));
}

static const char *sha_of(const void *bytes, size_t n)
{
    static char hex[OSC_SHA256_HEX];
    unsigned char digest[OSC_SHA256_SIZE];
    osc_sha256_bytes(bytes, n, digest);
    return osc_sha256_hex(digest, hex);
}

/* Test vectors of FIPS 180-4's examples. */
static void test_sha256(void)
{
    TAP_EQ_STR(sha_of("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    TAP_EQ_STR(sha_of("abc", 3),
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    TAP_EQ_STR(sha_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_sha256_in_pieces(void)
{
    char text[300], hex[OSC_SHA256_HEX];
    memset(text, 'a', sizeof text);
    for (size_t n = 50; n < sizeof text; n += 7) {
        osc_sha256 s;
        unsigned char digest[OSC_SHA256_SIZE];
        osc_sha256_init(&s);
        osc_sha256_update(&s, text, n / 3);
        osc_sha256_update(&s, text, 0);
        osc_sha256_update(&s, text, n - n / 3);
        osc_sha256_final(&s, digest);
        TAP_EQ_STR(osc_sha256_hex(digest, hex), sha_of(text, n));
    }
}

static void test_sha256_file(void)
{
    unsigned char digest[OSC_SHA256_SIZE];
    char hex[OSC_SHA256_HEX];
    uint64_t size = 0;
    osc_err err = {0};
    char *path = osc_path_join(tap_tmpdir(), "sha");
    char *content = osc_calloc(1, 100000);
    TAP_REQUIRE(path && content);
    TAP_EQ_STATUS(osc_write_file_atomic(path, content, 100000, &err), OSC_OK);
    TAP_EQ_STATUS(osc_sha256_file(path, digest, &size, &err), OSC_OK);
    TAP_EQ_U64(size, 100000);
    TAP_EQ_STR(osc_sha256_hex(digest, hex), sha_of(content, 100000));
    TAP_EQ_STATUS(osc_sha256_file("/nonexistent/x", digest, &size, &err), OSC_ENOTFOUND);
    TAP_EQ_STATUS(osc_sha256_file(tap_tmpdir(), digest, NULL, &err), OSC_EIO);
    osc_free(path);
    osc_free(content);
}

static void test_crc32c(void)
{
    TAP_EQ_U64(osc_crc32c(0, "", 0), 0);
    TAP_EQ_U64(osc_crc32c(0, "123456789", 9), 0xe3069283);
    TAP_EQ_U64(osc_crc32c(osc_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
    unsigned char zeros[32] = {0};
    TAP_EQ_U64(osc_crc32c(0, zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
}

static void test_rng(void)
{
    osc_rng r = {0};
    TAP_EQ_U64(osc_rng_next(&r), UINT64_C(0xe220a8397b1dcdaf)); /* splitmix64, seed 0 */
    TAP_EQ_U64(osc_rng_next(&r), UINT64_C(0x6e789e6aa1b965f4));
    TAP_EQ_U64(osc_rng_below(&r, 0), 0);
    TAP_EQ_U64(osc_rng_below(&r, 1), 0);
    double sum = 0, squares = 0;
    bool inside = true;
    for (int i = 0; i < 10000; i++) {
        double u = osc_rng_unit(&r), n = osc_rng_normal(&r);
        inside = inside && u >= 0 && u < 1 && osc_rng_below(&r, 7) < 7;
        sum += n;
        squares += n * n;
    }
    TAP_OK(inside);
    TAP_NEAR(sum / 10000, 0.0, 0.05);
    TAP_NEAR(squares / 10000, 1.0, 0.05);
    unsigned char a[13] = {0}, b[13] = {0};
    osc_rng r1 = {9}, r2 = {9};
    osc_rng_bytes(&r1, a, 13);
    osc_rng_bytes(&r2, b, 13);
    TAP_EQ_MEM(a, b, 13);
}

int main(void)
{
    TAP_RUN(test_intern);
    TAP_RUN(test_intern_many);
    TAP_RUN(test_intern_limit);
    TAP_RUN(test_intern_out_of_memory);
    TAP_RUN(test_map_basics);
    TAP_RUN(test_map_against_model);
    TAP_RUN(test_map_out_of_memory);
    TAP_RUN(test_hash64_is_stable);
    TAP_RUN(test_hash64_spreads);
    TAP_RUN(test_sha256);
    TAP_RUN(test_sha256_in_pieces);
    TAP_RUN(test_sha256_file);
    TAP_RUN(test_crc32c);
    TAP_RUN(test_rng);
    return tap_done();
}
