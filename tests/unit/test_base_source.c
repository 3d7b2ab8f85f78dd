/* base/source.h: plain, gzip and zstd streams from files, pipes and memory, whole and broken. */
#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/source_internal.h"
#include "base/thread.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- an input in memory that reads in pieces and fails on request ---- */

typedef struct memory_input {
    const unsigned char *data;
    size_t len, at;
    size_t piece;    /* at most so many bytes a read */
    int64_t fail_at; /* the read of this number fails; -1 none */
    int64_t reads;
    bool closed;
} memory_input;

static ssize_t memory_read(void *context, void *buf, size_t n)
{
    memory_input *m = context;
    if (m->reads++ == m->fail_at) {
        errno = EIO;
        return -1;
    }
    size_t left = m->len - m->at;
    n = n < m->piece ? n : m->piece;
    n = n < left ? n : left;
    memcpy(buf, m->data + m->at, n);
    m->at += n;
    return (ssize_t)n;
}

static void memory_close(void *context)
{
    ((memory_input *)context)->closed = true;
}

static osc_source_input input_of(memory_input *m)
{
    return (osc_source_input){.context = m,
                              .read = memory_read,
                              .close = memory_close,
                              .name = osc_memdup0("memory", 6),
                              .limit = UINT64_MAX,
                              .inflate_always = OSC_INFLATE_ALWAYS};
}

/* ---- what is compressed ---- */

/* Text that looks like a trace: compressible, no two lines alike. */
static char *text_of(size_t n)
{
    char *text = osc_alloc(n + 128);
    size_t at = 0;
    for (unsigned i = 0; text && at < n; i++)
        at += (size_t)snprintf(text + at, 128, "{\"ph\":\"X\",\"name\":\"op%u\",\"ts\":%u.%03u},\n",
                               i % 37, i * 7919u, i % 1000);
    return text;
}

static void put_gzip(osc_buf *out, const char *data, size_t n)
{
    char *packed = NULL;
    size_t len = 0;
    TAP_EQ_STATUS(osc_gzip(data, n, &packed, &len, NULL), OSC_OK);
    osc_buf_append(out, packed, len);
    osc_free(packed);
}

static void put_zstd_block(osc_buf *out, unsigned type, bool last, size_t size)
{
    uint32_t header = (last ? 1u : 0u) | type << 1 | (uint32_t)size << 3;
    for (int i = 0; i < 3; i++)
        osc_buf_u8(out, (uint8_t)(header >> (8 * i)));
}

/* A zstd frame of raw blocks (RFC 8878, 3.1.1): what any decoder must take, and no encoder is needed. */
static void put_zstd(osc_buf *out, const char *data, size_t n)
{
    osc_buf_u32(out, 0xfd2fb528u);
    osc_buf_u8(out, 2u << 6 | 1u << 5); /* content size in 4 bytes, single segment */
    osc_buf_u32(out, (uint32_t)n);
    size_t at = 0;
    do {
        size_t size = n - at < 65536 ? n - at : 65536;
        put_zstd_block(out, 0, at + size == n, size);
        osc_buf_append(out, data + at, size);
        at += size;
    } while (at < n);
}

/* n bytes of zeros from four bytes for each 128 KiB. */
static void put_zstd_zeros(osc_buf *out, size_t blocks)
{
    osc_buf_u32(out, 0xfd2fb528u);
    osc_buf_u8(out, 0);
    osc_buf_u8(out, 7u << 3); /* window of 128 KiB */
    for (size_t i = 0; i < blocks; i++) {
        put_zstd_block(out, 1, i + 1 == blocks, 131072);
        osc_buf_u8(out, 0);
    }
}

typedef void put_member(osc_buf *out, const char *data, size_t n);

/* ---- reading it back ---- */

typedef struct result {
    osc_buf bytes;
    osc_status status;
    osc_err err;
    uint64_t garbage;
    osc_source_form form;
} result;

typedef struct way {
    osc_gzip_engine engine;
    bool no_thread;
    size_t piece; /* bytes a raw read */
    size_t ask;   /* bytes a read of the stream */
} way;

static const way plain_way = {OSC_GZIP_BEST, true, SIZE_MAX, 65536};

static result read_all(const void *data, size_t n, way w, uint64_t max)
{
    memory_input m = {.data = data, .len = n, .piece = w.piece, .fail_at = -1};
    osc_source_options options = {.max_bytes = max, .no_thread = w.no_thread};
    osc_source_input in = input_of(&m);
    osc_source *s = NULL;
    result r = {.status = OSC_OK};
    osc_buf_init(&r.bytes, SIZE_MAX);
    r.status = osc_source_open_input(&in, &options, w.engine, &s, &r.err);
    size_t got = 1;
    while (r.status == OSC_OK && got > 0) {
        unsigned char *room = osc_buf_extend(&r.bytes, w.ask);
        r.status = room ? osc_source_read(s, room, w.ask, &got, &r.err) : OSC_ENOMEM;
        osc_buf_truncate(&r.bytes, r.bytes.len - w.ask + got);
    }
    if (s) {
        osc_err again = {0};
        unsigned char byte;
        r.garbage = osc_source_trailing_garbage(s);
        r.form = osc_source_form_of(s);
        TAP_EQ_STATUS(osc_source_read(s, &byte, 1, &got, &again), r.status);
        TAP_EQ_U64(got, 0);
        TAP_OK(r.status == OSC_OK || strcmp(again.message, r.err.message) == 0);
    }
    osc_source_close(s);
    TAP_OK(m.closed);
    return r;
}

static bool same(const result *r, const char *data, size_t n)
{
    return r->bytes.len == n && (n == 0 || memcmp(r->bytes.data, data, n) == 0);
}

/* True when this build has both; says so when not. */
static bool can(put_member *put)
{
    osc_inflater *z = NULL;
    osc_err err = {0};
    osc_status status = put == put_gzip ? osc_gzip_inflater_new(OSC_GZIP_BEST, "x", &z, &err)
                                        : osc_zstd_inflater_new("x", &z, &err);
    if (z)
        z->free(z);
    if (status == OSC_EUNSUPPORTED)
        tap_note("left out: %s", err.message);
    return status == OSC_OK;
}

static bool have_isal(void)
{
    osc_inflater *z = NULL;
    osc_status status = osc_gzip_inflater_new(OSC_GZIP_ISAL, "x", &z, NULL);
    if (z)
        z->free(z);
    if (status != OSC_OK)
        tap_note("left out: ISA-L is not there");
    return status == OSC_OK;
}

static void check_whole(put_member *put, osc_gzip_engine engine, const char *data, size_t n)
{
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    put(&packed, data, n);
    way ways[] = {{engine, true, SIZE_MAX, 65536}, {engine, false, SIZE_MAX, 65536},
                  {engine, false, 4096, 1u << 20}, {engine, false, 100000, 999},
                  {engine, true, 1000, 5000001},   {engine, false, 1u << 20, 5000001}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        result r = read_all(packed.data, packed.len, ways[i], 0);
        TAP_EQ_STATUS(r.status, OSC_OK);
        TAP_OKF(same(&r, data, n), "way %zu: %zu bytes, not %zu", i, r.bytes.len, n);
        TAP_EQ_U64(r.garbage, 0);
        osc_buf_free(&r.bytes);
    }
    osc_buf_free(&packed);
}

static void test_whole_streams(void)
{
    size_t n = 9000001; /* twice round the blocks */
    char *data = text_of(n);
    TAP_REQUIRE(data != NULL);
    if (can(put_gzip))
        check_whole(put_gzip, OSC_GZIP_ZLIB, data, n);
    if (have_isal())
        check_whole(put_gzip, OSC_GZIP_ISAL, data, n);
    if (can(put_zstd))
        check_whole(put_zstd, OSC_GZIP_BEST, data, n);
    osc_free(data);
}

static void test_plain_stream(void)
{
    char *data = text_of(700000);
    TAP_REQUIRE(data != NULL);
    static const size_t lengths[] = {0, 1, 3, 4, 5, 262144, 262145, 700000};
    static const size_t pieces[] = {1, 4096, SIZE_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t k = lengths[i] > 1000 ? 1 : 0; k < 3; k++) {
            result r = read_all(data, lengths[i], (way){OSC_GZIP_BEST, false, pieces[k], 999}, 0);
            TAP_EQ_STATUS(r.status, OSC_OK);
            TAP_OK(same(&r, data, lengths[i]));
            TAP_EQ_I64(r.form, OSC_SOURCE_PLAIN);
            osc_buf_free(&r.bytes);
        }
    }
    osc_free(data);
}

/* known-bad-inputs.md S05: members, empty ones, padding, one byte at a time or all at once. */
static void check_members(put_member *put, osc_gzip_engine engine)
{
    char *data = text_of(3000);
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    put(&packed, "", 0);
    put(&packed, data, 1000);
    put(&packed, "", 0);
    put(&packed, "", 0);
    osc_buf_fill(&packed, '\0', 100);
    put(&packed, data + 1000, 2000);
    osc_buf_fill(&packed, '\0', 5000);
    size_t whole = packed.len;
    osc_buf_cstr(&packed, "(garbage");
    osc_buf_fill(&packed, '\0', 10);
    for (size_t piece = 1; piece < 5000; piece = piece * 3 + 1) {
        way w = {engine, piece % 2 == 0, piece, 333};
        result r = read_all(packed.data, whole, w, 0);
        TAP_EQ_STATUS(r.status, OSC_OK);
        TAP_OK(same(&r, data, 3000) && r.garbage == 0);
        osc_buf_free(&r.bytes);
        r = read_all(packed.data, packed.len, w, 0);
        TAP_EQ_STATUS(r.status, OSC_OK);
        TAP_OK(same(&r, data, 3000));
        TAP_EQ_U64(r.garbage, 18);
        osc_buf_free(&r.bytes);
    }
    osc_buf_free(&packed);
    osc_free(data);
}

static void test_members(void)
{
    if (can(put_gzip))
        check_members(put_gzip, OSC_GZIP_ZLIB);
    if (have_isal())
        check_members(put_gzip, OSC_GZIP_ISAL);
    if (can(put_zstd))
        check_members(put_zstd, OSC_GZIP_BEST);
}

/* A header with FEXTRA, FNAME, FCOMMENT (RFC 1952, 2.3), as bgzip and others write them. */
static void test_gzip_header_fields(void)
{
    if (!can(put_gzip))
        return;
    osc_buf plain, packed;
    osc_buf_init(&plain, SIZE_MAX);
    osc_buf_init(&packed, SIZE_MAX);
    put_gzip(&plain, "hello", 5);
    for (int round = 0; round < 2; round++) {
        osc_buf_append(&packed, plain.data, 3);
        osc_buf_u8(&packed, 4 | 8 | 16);
        osc_buf_append(&packed, plain.data + 4, 6);
        osc_buf_u16(&packed, 300);
        osc_buf_fill(&packed, 'e', 300);
        osc_buf_append(&packed, "name.json\0comment", 18);
        osc_buf_append(&packed, plain.data + 10, plain.len - 10);
    }
    for (size_t piece = 1; piece < 700; piece = piece * 2 + 1) {
        for (int engine = 0; engine < 3; engine++) {
            result r = read_all(packed.data, packed.len,
                                (way){(osc_gzip_engine)engine, true, piece, 100}, 0);
            TAP_OK(r.status == OSC_EUNSUPPORTED || same(&r, "hellohello", 10));
            osc_buf_free(&r.bytes);
        }
    }
    osc_buf_free(&plain);
    osc_buf_free(&packed);
}

/* ---- broken streams ---- */

static void check_cuts(put_member *put, osc_gzip_engine engine)
{
    char *data = text_of(2000);
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    put(&packed, data, 1000);
    size_t first = packed.len;
    put(&packed, data + 1000, 1000);
    size_t longest = 0, bad = 0;
    for (size_t cut = put == put_gzip ? 2 : 4; cut < packed.len; cut++) {
        result r = read_all(packed.data, cut, (way){engine, cut % 3 > 0, 1 + cut % 70, 77}, 0);
        osc_status want = cut == first ? OSC_OK : OSC_ETRUNCATED;
        bool good = r.status == want && r.bytes.len <= 2000 && r.bytes.len >= longest &&
                    memcmp(r.bytes.data ? (char *)r.bytes.data : "", data, r.bytes.len) == 0 &&
                    (want == OSC_OK || r.err.offset == cut);
        bad += !good;
        longest = r.bytes.len;
        osc_buf_free(&r.bytes);
    }
    TAP_EQ_U64(bad, 0);
    TAP_OK(longest >= 1000); /* raw zstd blocks come out whole or not at all */
    osc_buf_free(&packed);
    osc_free(data);
}

static void test_cut_anywhere(void)
{
    if (can(put_gzip))
        check_cuts(put_gzip, OSC_GZIP_ZLIB);
    if (have_isal())
        check_cuts(put_gzip, OSC_GZIP_ISAL);
    if (can(put_zstd))
        check_cuts(put_zstd, OSC_GZIP_BEST);
}

static void test_wrong_checksum(void)
{
    char *data = text_of(3000000);
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    if (!can(put_gzip)) {
        osc_free(data);
        return;
    }
    put_gzip(&packed, data, 3000000);
    packed.data[packed.len - 6] ^= 1;
    for (int engine = 0; engine < 3; engine++) {
        for (int no_thread = 0; no_thread < 2; no_thread++) {
            result r = read_all(packed.data, packed.len,
                                (way){(osc_gzip_engine)engine, no_thread, 5000, 70000}, 0);
            if (r.status == OSC_EUNSUPPORTED)
                continue;
            TAP_EQ_STATUS(r.status, OSC_EFORMAT);
            TAP_OK(strstr(r.err.message, "checksum") != NULL);
            TAP_OK(same(&r, data, 3000000));
            osc_buf_free(&r.bytes);
        }
    }
    osc_buf_free(&packed);
    osc_free(data);
}

/* Damage in the middle of the second member: all of the first, then the error, from every engine. */
static void test_damage(void)
{
    put_member *const puts[] = {put_gzip, put_zstd};
    char *data = text_of(20000);
    for (int k = 0; k < 2; k++) {
        osc_buf packed;
        if (!can(puts[k]))
            continue;
        osc_buf_init(&packed, SIZE_MAX);
        puts[k](&packed, data, 10000);
        size_t first = packed.len;
        puts[k](&packed, data + 10000, 10000);
        memset(packed.data + first + (k == 0 ? 30 : 4), 0xff, 60);
        for (int engine = 0; engine < 3; engine++) {
            result r = read_all(packed.data, packed.len,
                                (way){(osc_gzip_engine)engine, false, 5000, 70000}, 0);
            if (r.status != OSC_EUNSUPPORTED) {
                TAP_EQ_STATUS(r.status, OSC_EFORMAT);
                TAP_OK(r.err.offset >= first && r.err.offset <= packed.len);
                TAP_OK(r.bytes.len >= 10000 && memcmp(r.bytes.data, data, 10000) == 0);
            }
            osc_buf_free(&r.bytes);
        }
        osc_buf_free(&packed);
    }
    osc_free(data);
}

/* A frame as the zstd program writes it, with a checksum: `printf 'hello hello hello\n' | zstd`. */
static void test_zstd_checksum(void)
{
    unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x6d, 0x00, 0x00,
                             0x38, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x0a, 0x01,
                             0x00, 0x31, 0x4a, 0x11, 0xa3, 0xaa, 0x74, 0xce};
    if (!can(put_zstd))
        return;
    result r = read_all(frame, sizeof frame, plain_way, 0);
    TAP_EQ_STATUS(r.status, OSC_OK);
    TAP_OK(same(&r, "hello hello hello\n", 18));
    osc_buf_free(&r.bytes);
    frame[sizeof frame - 1] ^= 1;
    r = read_all(frame, sizeof frame, plain_way, 0);
    TAP_EQ_STATUS(r.status, OSC_EFORMAT);
    TAP_OK(strstr(r.err.message, "checksum") != NULL);
    osc_buf_free(&r.bytes);
}

/* A skippable frame (pzstd, the seekable format) is no data; a window of 2 GiB is refused. */
static void test_zstd_special_frames(void)
{
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    if (!can(put_zstd))
        return;
    osc_buf_u32(&packed, 0x184d2a5eu);
    osc_buf_u32(&packed, 5);
    osc_buf_cstr(&packed, "index");
    put_zstd(&packed, "data", 4);
    result r = read_all(packed.data, packed.len, (way){OSC_GZIP_BEST, true, 1, 10}, 0);
    TAP_EQ_STATUS(r.status, OSC_OK);
    TAP_OK(same(&r, "data", 4));
    osc_buf_free(&r.bytes);
    osc_buf_cstr(&packed, "X"); /* begins like a skippable frame, and is only garbage */
    r = read_all(packed.data, packed.len, plain_way, 0);
    TAP_EQ_STATUS(r.status, OSC_OK);
    TAP_EQ_U64(r.garbage, 1);
    osc_buf_free(&r.bytes);
    osc_buf_clear(&packed);
    osc_buf_u32(&packed, 0xfd2fb528u);
    osc_buf_u8(&packed, 0);
    osc_buf_u8(&packed, 21u << 3);
    put_zstd_block(&packed, 1, true, 100);
    osc_buf_u8(&packed, 'x');
    r = read_all(packed.data, packed.len, plain_way, 0);
    TAP_EQ_STATUS(r.status, OSC_EUNSUPPORTED);
    TAP_OK(strstr(r.err.message, "window") != NULL);
    osc_buf_free(&r.bytes);
    osc_buf_free(&packed);
}

/* ---- ceilings ---- */

static void check_ceiling(const void *packed, size_t n, const char *data, size_t len)
{
    for (int no_thread = 0; no_thread < 2; no_thread++) {
        way w = {OSC_GZIP_BEST, no_thread, 777, 1000};
        result r = read_all(packed, n, w, len);
        TAP_EQ_STATUS(r.status, OSC_OK);
        TAP_OK(same(&r, data, len));
        osc_buf_free(&r.bytes);
        r = read_all(packed, n, w, len - 1);
        TAP_EQ_STATUS(r.status, OSC_EUNSUPPORTED);
        TAP_OK(strstr(r.err.message, "max_bytes") != NULL);
        TAP_OK(same(&r, data, len - 1));
        osc_buf_free(&r.bytes);
    }
}

static void test_ceiling_given(void)
{
    char *data = text_of(5000);
    put_member *const puts[] = {put_gzip, put_zstd};
    check_ceiling(data, 5000, data, 5000);
    for (int k = 0; k < 2; k++) {
        osc_buf packed;
        osc_buf_init(&packed, SIZE_MAX);
        if (can(puts[k])) {
            puts[k](&packed, data, 5000);
            check_ceiling(packed.data, packed.len, data, 5000);
        }
        osc_buf_free(&packed);
    }
    osc_free(data);
}

/* A bomb is stopped by its ratio; the same bytes pass when the caller gives a ceiling. */
static void test_ceiling_by_ratio(void)
{
    osc_buf packed;
    if (!can(put_zstd))
        return;
    osc_buf_init(&packed, SIZE_MAX);
    put_zstd_zeros(&packed, 100);
    for (int given = 0; given < 2; given++) {
        memory_input m = {.data = packed.data, .len = packed.len, .piece = 64, .fail_at = -1};
        osc_source_options options = {.max_bytes = given ? (uint64_t)1 << 30 : 0};
        osc_source_input in = input_of(&m);
        osc_source *s;
        osc_err err = {0};
        size_t got = 1;
        uint64_t total = 0;
        static char buf[100000];
        in.inflate_always = 1 << 20;
        TAP_REQUIRE(osc_source_open_input(&in, &options, OSC_GZIP_BEST, &s, &err) == OSC_OK);
        osc_status status = OSC_OK;
        while (status == OSC_OK && got > 0) {
            status = osc_source_read(s, buf, sizeof buf, &got, &err);
            total += got;
        }
        TAP_EQ_STATUS(status, given ? OSC_OK : OSC_EUNSUPPORTED);
        TAP_EQ_U64(total, given ? (uint64_t)100 * 131072 : 1 << 20);
        TAP_OK(given || strstr(err.message, "--max-size") != NULL);
        osc_source_close(s);
    }
    osc_buf_free(&packed);
}

/* ---- paths ---- */

static char *path_of(const char *name)
{
    return osc_path_join(tap_tmpdir(), name);
}

static void test_files(void)
{
    char *path = path_of("plain.json.gz"); /* plain, whatever its name says */
    char *data = text_of(400000);
    osc_source *s = NULL;
    osc_source_options options = {0};
    size_t got = 0;
    static char buf[400001];
    TAP_REQUIRE(osc_write_file_atomic(path, data, 400000, NULL) == OSC_OK);
    TAP_REQUIRE(osc_source_open(path, &options, &s, NULL) == OSC_OK);
    TAP_OK(osc_source_seekable(s));
    TAP_EQ_I64(osc_source_form_of(s), OSC_SOURCE_PLAIN);
    TAP_EQ_U64(osc_source_file_size(s), 400000);
    TAP_EQ_STATUS(osc_source_read_at(s, 399000, buf, 5000, &got, NULL), OSC_OK);
    TAP_EQ_U64(got, 1000);
    TAP_EQ_MEM(buf, data + 399000, 1000);
    TAP_EQ_STATUS(osc_source_read(s, buf, sizeof buf, &got, NULL), OSC_OK);
    TAP_EQ_U64(got, 400000);
    TAP_EQ_MEM(buf, data, 400000);
    TAP_EQ_STATUS(osc_source_read_at(s, UINT64_MAX - 5, buf, 5, &got, NULL), OSC_OK);
    TAP_EQ_U64(got, 0);
    TAP_EQ_U64(osc_source_file_position(s), 400000);
    osc_source_close(s);
    options.max_bytes = 399999;
    TAP_EQ_STATUS(osc_source_open(path, &options, &s, NULL), OSC_EUNSUPPORTED);
    TAP_OK(s == NULL);
    osc_free(path);
    osc_free(data);
}

static void test_gzip_under_a_plain_name(void)
{
    char *path = path_of("trace.json");
    osc_buf packed;
    osc_source *s = NULL;
    osc_source_options options = {0};
    size_t got = 0;
    char buf[10];
    osc_buf_init(&packed, SIZE_MAX);
    if (can(put_gzip)) {
        put_gzip(&packed, "[]", 2);
        TAP_REQUIRE(osc_write_file_atomic(path, packed.data, packed.len, NULL) == OSC_OK);
        TAP_REQUIRE(osc_source_open(path, &options, &s, NULL) == OSC_OK);
        TAP_OK(!osc_source_seekable(s));
        TAP_EQ_I64(osc_source_form_of(s), OSC_SOURCE_GZIP);
        TAP_EQ_U64(osc_source_file_size(s), packed.len);
        TAP_EQ_STATUS(osc_source_read(s, buf, sizeof buf, &got, NULL), OSC_OK);
        TAP_EQ_U64(got, 2);
        osc_source_close(s);
    }
    osc_buf_free(&packed);
    osc_free(path);
}

static void test_paths_that_are_no_files(void)
{
    osc_source *s = NULL;
    osc_source_options options = {0};
    osc_err err = {0};
    size_t got = 1;
    char byte;
    TAP_EQ_STATUS(osc_source_open("/dev/null", &options, &s, NULL), OSC_OK);
    TAP_EQ_STATUS(osc_source_read(s, &byte, 1, &got, NULL), OSC_OK);
    TAP_EQ_U64(got, 0);
    osc_source_close(s);
    TAP_EQ_STATUS(osc_source_open(tap_tmpdir(), &options, &s, &err), OSC_EIO);
    TAP_EQ_STR(err.input, tap_tmpdir());
    TAP_OK(strstr(err.message, "directory") != NULL && s == NULL);
    TAP_EQ_STATUS(osc_source_open("/nowhere/x", &options, &s, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.input, "/nowhere/x");
    char *path = path_of("secret");
    TAP_REQUIRE(osc_write_file_atomic(path, "x", 1, NULL) == OSC_OK && chmod(path, 0) == 0);
    if (geteuid() == 0)
        tap_note("left out: root may read everything");
    else
        TAP_EQ_STATUS(osc_source_open(path, &options, &s, &err), OSC_EIO);
    osc_free(path);
}

typedef struct pipe_writer {
    const char *path;
    const unsigned char *data;
    size_t len;
    bool stay; /* keep it open afterwards until told */
    osc_mutex lock;
    osc_cond changed;
    bool leave;
} pipe_writer;

static void write_pipe(void *arg)
{
    pipe_writer *w = arg;
    int fd = open(w->path, O_WRONLY);
    size_t at = 0;
    while (fd >= 0 && at < w->len) {
        ssize_t n = write(fd, w->data + at, w->len - at < 3000 ? w->len - at : 3000);
        if (n < 0)
            break;
        at += (size_t)n;
    }
    osc_mutex_lock(&w->lock);
    while (w->stay && !w->leave)
        osc_cond_wait(&w->changed, &w->lock);
    osc_mutex_unlock(&w->lock);
    if (fd >= 0)
        (void)close(fd);
}

/* Opens a FIFO with the first keep bytes of packed in it. */
static void check_pipe(const osc_buf *packed, size_t keep, bool stay, const char *data, size_t n)
{
    char *path = path_of("fifo");
    pipe_writer w = {.path = path, .data = packed->data, .len = keep, .stay = stay};
    osc_thread thread = {0};
    osc_source *s = NULL;
    osc_source_options options = {0};
    char *back = osc_alloc(n + 1);
    size_t got = 0;
    osc_mutex_init(&w.lock);
    osc_cond_init(&w.changed);
    TAP_REQUIRE(path && back && mkfifo(path, 0600) == 0);
    TAP_REQUIRE(osc_thread_start(&thread, "writer", write_pipe, &w, NULL) == OSC_OK);
    TAP_EQ_STATUS(osc_source_open(path, &options, &s, NULL), OSC_OK);
    TAP_OK(s && !osc_source_seekable(s) && osc_source_file_size(s) == 0);
    if (!stay) {
        TAP_EQ_STATUS(osc_source_read(s, back, n + 1, &got, NULL), OSC_OK);
        TAP_OK(got == n && memcmp(back, data, n) == 0);
    }
    osc_source_close(s); /* must come back although the writer says nothing more */
    osc_mutex_lock(&w.lock);
    w.leave = true;
    osc_cond_broadcast(&w.changed);
    osc_mutex_unlock(&w.lock);
    osc_thread_join(&thread);
    (void)unlink(path);
    osc_free(back);
    osc_free(path);
}

static void test_pipes(void)
{
    char *data = text_of(3000000);
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    osc_buf_append(&packed, data, 300000);
    check_pipe(&packed, packed.len, false, data, 300000);
    osc_buf_clear(&packed);
    if (can(put_gzip)) {
        put_gzip(&packed, data, 3000000);
        check_pipe(&packed, packed.len, false, data, 3000000);
        check_pipe(&packed, 500, true, data, 0);
    }
    osc_buf_free(&packed);
    osc_free(data);
}

/* ---- closing and failing at any time ---- */

static void test_close_in_every_state(void)
{
    char *data = text_of(9000000);
    static char buf[1 << 20];
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    if (can(put_gzip)) {
        put_gzip(&packed, data, 9000000);
        for (int reads = 0; reads < 12; reads++) {
            memory_input m = {
                .data = packed.data, .len = packed.len, .piece = SIZE_MAX, .fail_at = -1};
            osc_source_input in = input_of(&m);
            osc_source_options options = {0};
            osc_source *s = NULL;
            size_t got = 0;
            TAP_EQ_STATUS(osc_source_open_input(&in, &options, OSC_GZIP_BEST, &s, NULL), OSC_OK);
            for (int i = 0; i < reads; i++)
                TAP_EQ_STATUS(osc_source_read(s, buf, sizeof buf, &got, NULL), OSC_OK);
            osc_source_close(s);
            TAP_OK(m.closed);
        }
    }
    osc_source_close(NULL);
    osc_buf_free(&packed);
    osc_free(data);
}

/* Every raw read failing in turn: the bytes before it, then OSC_EIO. */
static void check_read_failures(put_member *put, osc_gzip_engine engine, bool no_thread)
{
    char *data = text_of(60000), *back = osc_alloc(60000);
    osc_buf packed;
    osc_buf_init(&packed, SIZE_MAX);
    put(&packed, data, 60000);
    for (int64_t fail = 0;; fail++) {
        memory_input m = {.data = packed.data, .len = packed.len, .piece = 600, .fail_at = fail};
        osc_source_input in = input_of(&m);
        osc_source_options options = {.no_thread = no_thread};
        osc_source *s = NULL;
        osc_err err = {0};
        size_t got = 1, len = 0;
        osc_status status = osc_source_open_input(&in, &options, engine, &s, &err);
        while (status == OSC_OK && got > 0 && len < 60000) {
            status = osc_source_read(s, back + len, 60000 - len, &got, &err);
            len += got;
        }
        TAP_OK(memcmp(back, data, len) == 0);
        osc_source_close(s);
        TAP_OK(m.closed);
        if (m.reads <= fail) {
            TAP_EQ_U64(len, 60000);
            break;
        }
        TAP_OK(len < 60000 ? status == OSC_EIO && err.offset == (uint64_t)fail * 600
                           : status == OSC_OK);
    }
    osc_buf_free(&packed);
    osc_free(back);
    osc_free(data);
}

static void put_plain(osc_buf *out, const char *data, size_t n)
{
    osc_buf_append(out, data, n);
}

static void test_read_failures(void)
{
    check_read_failures(put_plain, OSC_GZIP_BEST, true);
    for (int no_thread = 0; no_thread < 2; no_thread++) {
        if (can(put_gzip))
            check_read_failures(put_gzip, OSC_GZIP_ZLIB, no_thread);
        if (have_isal())
            check_read_failures(put_gzip, OSC_GZIP_ISAL, no_thread);
        if (can(put_zstd))
            check_read_failures(put_zstd, OSC_GZIP_BEST, no_thread);
    }
}

typedef struct pressure {
    osc_buf packed;
    const char *data;
    size_t len;
    osc_gzip_engine engine;
    bool no_thread;
} pressure;

static bool read_under_pressure(void *ctx)
{
    const pressure *p = ctx;
    memory_input m = {.data = p->packed.data, .len = p->packed.len, .piece = 70000, .fail_at = -1};
    osc_source_input in = {.context = &m,
                           .read = memory_read,
                           .close = memory_close,
                           .name = osc_memdup0("m", 1),
                           .limit = UINT64_MAX,
                           .inflate_always = OSC_INFLATE_ALWAYS};
    osc_source_options options = {.no_thread = p->no_thread};
    osc_source *s = NULL;
    static char back[1 << 20];
    size_t got = 0;
    osc_status status = osc_source_open_input(&in, &options, p->engine, &s, NULL);
    bool good = (status == OSC_OK) == (s != NULL);
    if (status == OSC_OK)
        status = osc_source_read(s, back, p->len, &got, NULL);
    good = good && memcmp(back, p->data, got) == 0 &&
           (status == OSC_ENOMEM || (status == OSC_OK && got == p->len));
    osc_source_close(s);
    return good && m.closed;
}

static void test_out_of_memory(void)
{
    pressure p = {.len = 200000, .data = text_of(200000)};
    TAP_REQUIRE(p.data != NULL);
    put_member *const puts[] = {put_plain, put_gzip, put_gzip, put_zstd};
    for (int k = 0; k < 4; k++) {
        p.engine = k == 1 ? OSC_GZIP_ZLIB : OSC_GZIP_BEST;
        if (k > 0 && !can(puts[k]))
            continue;
        osc_buf_init(&p.packed, SIZE_MAX);
        puts[k](&p.packed, p.data, p.len);
        for (int no_thread = 0; no_thread < 2; no_thread++) {
            p.no_thread = no_thread;
            TAP_OK(tap_oom_sweep(read_under_pressure, &p, 60));
        }
        osc_buf_free(&p.packed);
    }
    char *data;
    memcpy(&data, &p.data, sizeof data);
    osc_free(data);
}

static void test_built_with(void)
{
    const char *text = osc_source_built_with();
    bool gzip = can(put_gzip);
    TAP_OK(strncmp(text, gzip ? "gzip by" : "no gzip", 7) == 0);
    TAP_OK(strstr(text, "zstd") != NULL);
}

int main(void)
{
    TAP_RUN(test_whole_streams);
    TAP_RUN(test_plain_stream);
    TAP_RUN(test_members);
    TAP_RUN(test_gzip_header_fields);
    TAP_RUN(test_cut_anywhere);
    TAP_RUN(test_wrong_checksum);
    TAP_RUN(test_damage);
    TAP_RUN(test_zstd_checksum);
    TAP_RUN(test_zstd_special_frames);
    TAP_RUN(test_ceiling_given);
    TAP_RUN(test_ceiling_by_ratio);
    TAP_RUN(test_files);
    TAP_RUN(test_gzip_under_a_plain_name);
    TAP_RUN(test_paths_that_are_no_files);
    TAP_RUN(test_pipes);
    TAP_RUN(test_close_in_every_state);
    TAP_RUN(test_read_failures);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_built_with);
    return tap_done();
}
