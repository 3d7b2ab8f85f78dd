/* test_artifact_neff.c - NEFF files: round trip, the header byte by byte, damage, foreign and newer files. */
#include "program_samples.h"
#include "tap.h"

#include "artifact/neff.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tar.h"

#include <stdlib.h>
#include <string.h>

static osc_program *sealed_full(void)
{
    osc_err err = {0};
    osc_program *p = sample_full();
    osc_status status = p ? osc_program_seal(p, &err) : OSC_ENOMEM;
    TAP_OKF(status == OSC_OK, "sealed: %s", err.message);
    return p;
}

static void write_file(const osc_program *p, osc_buf *out)
{
    osc_err err = {0};
    osc_buf_init(out, SIZE_MAX);
    osc_status status = osc_neff_write(p, out, &err);
    TAP_OKF(status == OSC_OK, "written: %s", err.message);
}

static void test_round_trip(void)
{
    osc_err err = {0};
    osc_buf first, second;
    osc_program *p = sealed_full(), *back = NULL;
    uint32_t count, count2;
    write_file(p, &first);
    osc_status status = osc_neff_read(first.data, first.len, "a.neff", &back, &err);
    TAP_OKF(status == OSC_OK, "read: %s", err.message);
    TAP_REQUIRE(back != NULL);
    write_file(back, &second);
    TAP_EQ_U64(second.len, first.len);
    TAP_EQ_MEM(second.data, first.data, first.len);
    TAP_EQ_U64(osc_program_hash(back), osc_program_hash(p));
    TAP_EQ_U64(osc_program_slots(back), osc_program_slots(p));
    TAP_OK(osc_str_eq(osc_program_name(back), osc_program_name(p)));
    const osc_tensor *a = osc_program_tensors(p, &count), *b = osc_program_tensors(back, &count2);
    TAP_EQ_U64(count2, count);
    for (uint32_t i = 0; i < count && i < count2; i++) {
        TAP_OK(osc_str_eq(a[i].name, b[i].name) && a[i].kind == b[i].kind &&
               a[i].slot == b[i].slot);
        TAP_EQ_MEM(b[i].stride, a[i].stride, sizeof a[i].stride);
    }
    osc_buf_free(&first);
    osc_buf_free(&second);
    osc_program_release(p);
    osc_program_release(back);
}

static void test_write_is_deterministic_and_appends(void)
{
    osc_buf first, second;
    osc_err err = {0};
    osc_program *p = sealed_full(), *q = sealed_full();
    write_file(p, &first);
    osc_buf_init(&second, SIZE_MAX);
    osc_buf_cstr(&second, "xyz");
    TAP_EQ_STATUS(osc_neff_write(q, &second, &err), OSC_OK);
    TAP_EQ_U64(second.len, first.len + 3);
    TAP_EQ_MEM(second.data + 3, first.data, first.len);
    osc_buf_free(&second);
    osc_buf_init(&second, 2000);
    TAP_EQ_STATUS(osc_neff_write(q, &second, &err), OSC_ENOMEM);
    osc_buf_free(&first);
    osc_buf_free(&second);
    osc_program_release(p);
    osc_program_release(q);
}

/* docs/formats/neff.md, header table. */
static void test_header_bytes(void)
{
    osc_buf f;
    osc_program *p = sealed_full();
    uint8_t hash[32], digest[32], uuid[16];
    write_file(p, &f);
    osc_cursor c = osc_cursor_make(f.data, f.len);
    TAP_EQ_U64(osc_cursor_u64(&c), 2);
    TAP_EQ_U64(osc_cursor_u64(&c), 1024);
    TAP_EQ_U64(osc_cursor_u64(&c), f.len - 1024);
    TAP_EQ_U64(osc_cursor_u64(&c), 2);
    TAP_EQ_U64(osc_cursor_u64(&c), 0);
    osc_str build = osc_cursor_bytes(&c, 128);
    TAP_OK(memcmp(build.ptr, "opscope " OSC_VERSION "\0", sizeof "opscope " OSC_VERSION) == 0);
    TAP_EQ_U64(osc_cursor_u32(&c), 1);
    osc_sha256_bytes(f.data + 1024, f.len - 1024, hash);
    TAP_EQ_MEM(osc_cursor_bytes(&c, 32).ptr, hash, 32);
    osc_program_digest(p, digest);
    osc_neff_uuid(p, uuid);
    TAP_EQ_MEM(uuid, digest, 16);
    TAP_EQ_MEM(osc_cursor_bytes(&c, 16).ptr, uuid, 16);
    TAP_EQ_U64(osc_cursor_offset(&c), 220);
    TAP_OK(memcmp(osc_cursor_bytes(&c, 256).ptr, "graph \"q\"\n\xc3\xa9\xef\xbf\xbd\0", 15) == 0);
    TAP_EQ_U64(osc_cursor_u32(&c), 1);
    TAP_EQ_U64(osc_cursor_u8(&c), 1);
    osc_cursor_skip(&c, 63);
    TAP_EQ_U64(osc_cursor_u64(&c), 0);
    TAP_EQ_U64(osc_cursor_u32(&c), 2); /* lnc of trn2 */
    TAP_EQ_U64(osc_cursor_offset(&c), 556);
    osc_buf_free(&f);
    osc_program_release(p);
}

static void test_every_truncation(void)
{
    osc_buf f;
    osc_err err = {0};
    osc_program *p = sealed_full(), *back;
    write_file(p, &f);
    unsigned wrong = 0;
    for (size_t n = 0; n < f.len; n += n < 1100 ? 1 : 61) {
        uint8_t *cut = osc_alloc(n + 1); /* exact size, for ASan */
        memcpy(cut, f.data, n);
        err = (osc_err){0};
        osc_status status = osc_neff_read(cut, n, "cut.neff", &back, &err);
        wrong += status != OSC_ETRUNCATED || back != NULL || strcmp(err.input, "cut.neff") != 0;
        osc_free(cut);
    }
    TAP_EQ_U64(wrong, 0);
    osc_buf_free(&f);
    osc_program_release(p);
}

/* Rewrites the hash after a change of the data, as a malicious writer would. */
static void rehash(osc_buf *f)
{
    osc_sha256_bytes(f->data + 1024, f->len - 1024, f->data + 172);
}

static void test_any_flipped_byte(void)
{
    osc_buf f;
    osc_rng r = {99};
    osc_program *p = sealed_full(), *back;
    write_file(p, &f);
    unsigned accepted = 0, silent = 0;
    tap_note("seed 99");
    for (unsigned i = 0; i < 1000; i++) {
        osc_err err = {0};
        size_t at = 1024 + (size_t)osc_rng_below(&r, f.len - 1024);
        uint8_t before = f.data[at];
        f.data[at] ^= (uint8_t)(1u << osc_rng_below(&r, 8));
        TAP_OK(i % 100 != 0 || osc_neff_read(f.data, f.len, "x", &back, &err) == OSC_EFORMAT);
        rehash(&f); /* now the hash does not protect */
        err = (osc_err){0};
        osc_status status = osc_neff_read(f.data, f.len, "x", &back, &err);
        accepted += status == OSC_OK;
        silent += status != OSC_OK && err.message[0] == '\0';
        if (status ==
            OSC_OK) { /* only bytes that say nothing: padding, spaces, unused JSON values */
            TAP_OK(osc_program_hash(back) == osc_program_hash(p));
            osc_program_release(back);
        }
        f.data[at] = before;
        rehash(&f);
    }
    TAP_EQ_U64(silent, 0);
    TAP_OKF(accepted < 850, "%u of 1000 accepted", accepted);
    osc_buf_free(&f);
    osc_program_release(p);
}

static void expect_read(osc_buf *f, osc_status want, const char *part)
{
    osc_err err = {0};
    osc_program *back;
    TAP_EQ_STATUS(osc_neff_read(f->data, f->len, "dir/f.neff", &back, &err), want);
    TAP_OK(back == NULL);
    TAP_OKF(strstr(err.message, part) != NULL, "'%s' in: %s", part, err.message);
    TAP_EQ_STR(err.input, "dir/f.neff");
}

static void test_header_damage(void)
{
    osc_buf f;
    osc_program *p = sealed_full();
    write_file(p, &f);
    f.data[0] = 3;
    expect_read(&f, OSC_EVERSION, "package version 3, this program knows 2; use a newer opscope");
    f.data[0] = 2;
    f.data[24] = 3;
    expect_read(&f, OSC_EVERSION, "NEFF version 3");
    f.data[24] = 2;
    f.data[8] = 1;
    expect_read(&f, OSC_EFORMAT, "not a NEFF");
    f.data[8] = 0;
    f.data[210] ^= 1;
    expect_read(&f, OSC_EFORMAT, "uuid");
    f.data[210] ^= 1;
    f.data[180] ^= 1;
    expect_read(&f, OSC_EFORMAT, "SHA-256");
    f.data[180] ^= 1;
    osc_buf_putc(&f, 'x');
    expect_read(&f, OSC_EFORMAT, "bytes follow its data");
    osc_buf_free(&f);
    osc_program_release(p);
}

static void test_foreign(void)
{
    osc_buf f, tar;
    osc_err err = {0};
    osc_program *p = sealed_full();
    write_file(p, &f);
    memset(f.data + 40, 0, 128);
    memcpy(f.data + 40, "2.21.33363.0+82129205", 21);
    expect_read(&f, OSC_EFOREIGN, "Neuron compiler (build '2.21.33363.0+82129205')");
    /* right build text, but the archive is not ours */
    memcpy(f.data + 40, "opscope x\0\0\0\0\0\0\0\0\0\0\0\0", 21);
    osc_buf_init(&tar, SIZE_MAX);
    TAP_EQ_STATUS(osc_tar_add(&tar, OSC_STR("info.json"), "{\"name\":\"x\"}", 12, &err), OSC_OK);
    osc_tar_finish(&tar);
    osc_buf_truncate(&f, 1024);
    osc_buf_append(&f, tar.data, tar.len);
    osc_buf_patch_u64(&f, 16, tar.len);
    rehash(&f);
    expect_read(&f, OSC_EFOREIGN, "neuron-explorer view");
    osc_buf_free(&tar);
    osc_buf_free(&f);
    osc_program_release(p);
}

typedef struct edit {
    const char *member, *from, *to; /* replaces the first `from`; to NULL drops the member */
    osc_status want;
    const char *part;
} edit;

/* Copies the archive of `whole` to `out` with one member edited, and a right header. */
static void edited(const osc_buf *whole, const edit *e, osc_buf *out)
{
    osc_tar_reader r;
    osc_tar_entry entry;
    osc_err err = {0};
    bool found;
    osc_buf tar, body;
    osc_buf_init(&tar, SIZE_MAX);
    osc_buf_init(&body, SIZE_MAX);
    osc_tar_reader_init(&r, whole->data + 1024, whole->len - 1024, 1024, "x");
    while (osc_tar_next(&r, &entry, &found, &err) == OSC_OK && found) {
        osc_buf_clear(&body);
        osc_buf_str(&body, entry.data);
        if (osc_str_eq_cstr(entry.name, e->member)) {
            if (e->to == NULL)
                continue;
            size_t at = osc_str_find(entry.data, osc_str_from_cstr(e->from));
            TAP_OKF(at != SIZE_MAX, "%s holds %s", e->member, e->from);
            osc_buf_clear(&body);
            osc_buf_str(&body, osc_str_sub(entry.data, 0, at));
            osc_buf_cstr(&body, e->to);
            osc_buf_str(&body, osc_str_sub(entry.data, at + strlen(e->from), SIZE_MAX));
        }
        TAP_OK(osc_tar_add(&tar, entry.name, body.data, body.len, &err) == OSC_OK);
    }
    osc_tar_finish(&tar);
    osc_buf_init(out, SIZE_MAX);
    osc_buf_append(out, whole->data, 1024);
    osc_buf_append(out, tar.data, tar.len);
    osc_buf_patch_u64(out, 16, tar.len);
    rehash(out);
    osc_buf_free(&tar);
    osc_buf_free(&body);
}

static void test_member_damage(void)
{
    static const edit EDITS[] = {
        {"info.json", NULL, NULL, OSC_EFOREIGN, "Neuron compiler"},
        {"info.json", "opscope-neff", "other", OSC_EFOREIGN, "Neuron compiler"},
        {"info.json", "\"format_version\": 1", "\"format_version\": 2", OSC_EVERSION,
         "format version 2"},
        {"info.json", "trn2", "trn7", OSC_EFORMAT, "generation"},
        {"info.json", "\"flops\": ", "\"flops\": -", OSC_EFORMAT, "'flops'"},
        {"info.json", "}", "", OSC_ETRUNCATED, ""},
        {"info.json", "mul--", "mul++", OSC_EFORMAT, "digest"},
        {"sg00/def.json", NULL, NULL, OSC_EFORMAT, "no member 'sg00/def.json'"},
        {"sg00/source_map.json", NULL, NULL, OSC_EFORMAT, "no member 'sg00/source_map.json'"},
        {"sg00/vector.bin", NULL, NULL, OSC_EFORMAT, "digest"},
        {"sg00/const_4.bin", NULL, NULL, OSC_EFORMAT, "no member 'sg00/const_4.bin'"},
        {"sg00/const_4.bin", "\x01", "", OSC_EFORMAT, "not of its size"},
        {"sg00/const_4.bin", "\x01", "\x02", OSC_EFORMAT, "digest"},
        {"sg00/def.json", "\"var_id\": 1", "\"var_id\": 2", OSC_EFORMAT, "out of order"},
        {"sg00/def.json", "\"var_id\": 1", "\"var_id\": 70000", OSC_EFORMAT, "'var_id'"},
        {"sg00/def.json", "\"size\": 4096", "\"size\": 1", OSC_EHAZARD, "'input0'"},
        {"sg00/def.json", "\"size\": 4096", "\"size\": 9223372036854775808", OSC_EFORMAT, "'size'"},
        {"sg00/def.json", "\"kind\": \"input\"", "\"kind\": \"none\"", OSC_EFORMAT, "kind"},
        {"sg00/def.json", "\"dtype\": \"uint8\"", "\"dtype\": \"uint9\"", OSC_EFORMAT, "dtype"},
        {"sg00/def.json", "\"shape\"", "\"shade\"", OSC_EFORMAT, "incomplete"},
        {"sg00/def.json", "\"shape\": [", "\"shape\": [1,2,3,4,5,6,7,8,9,", OSC_EFORMAT, "'shape'"},
        {"sg00/def.json", "\"shape\": [", "\"shape\": [1,", OSC_EFORMAT, "incomplete"},
        {"sg00/def.json", "output0", "input0", OSC_EINVAL, "used twice"},
        {"sg00/source_map.json", "\"line\":27", "\"line\":28", OSC_EFORMAT, "digest"},
        {"sg00/source_map.json", "\"line\":27", "\"line\":4294967296", OSC_EFORMAT, "'line'"},
        {"sg00/vector.bin", "OSCI", "OSCJ", OSC_EFORMAT, "bad head"},
        {"sg00/vector.bin", "OSCI\x01", "OSCI\x02", OSC_EVERSION, "engine binary version 2"},
    };
    osc_buf whole, f;
    osc_program *p = sealed_full();
    write_file(p, &whole);
    for (size_t i = 0; i < sizeof EDITS / sizeof EDITS[0]; i++) {
        edited(&whole, &EDITS[i], &f);
        expect_read(&f, EDITS[i].want, EDITS[i].part);
        osc_buf_free(&f);
    }
    osc_buf_free(&whole);
    osc_program_release(p);
}

/* A newer minor change may add keys and members. */
static void test_unknown_things_are_skipped(void)
{
    static const edit EDITS[] = {
        {"info.json", "{", "{\"new\": [1, {\"a\": null}],", OSC_OK, ""},
        {"sg00/def.json", "{", "{\"new\": {},", OSC_OK, ""},
        {"sg00/def.json", "\"var_id\": 0", "\"new\": \"x\", \"var_id\": 0", OSC_OK, ""},
        {"sg00/source_map.json", "\"line\"", "\"new\":1.5,\"line\"", OSC_OK, ""},
        {"sg00/vector.json", NULL, NULL, OSC_OK, ""},
    };
    osc_buf whole, f;
    osc_program *p = sealed_full(), *back;
    write_file(p, &whole);
    for (size_t i = 0; i < sizeof EDITS / sizeof EDITS[0]; i++) {
        osc_err err = {0};
        edited(&whole, &EDITS[i], &f);
        osc_status status = osc_neff_read(f.data, f.len, "f", &back, &err);
        TAP_OKF(status == OSC_OK, "edit %zu: %s", i, err.message);
        osc_program_release(back);
        osc_buf_free(&f);
    }
    osc_buf_free(&whole);
    osc_program_release(p);
}

/* The largest heap the reader had at one time; sizes are kept in front of each block. */
static struct counted {
    size_t now, peak;
} heap;

static void *counted_realloc(void *user, void *ptr, size_t size)
{
    (void)user;
    size_t *old = ptr ? (size_t *)ptr - 2 : NULL;
    size_t *block = malloc(size + 2 * sizeof(size_t));
    if (block == NULL)
        return NULL;
    heap.now += size;
    heap.peak = heap.now > heap.peak ? heap.now : heap.peak;
    block[0] = size;
    if (old != NULL) {
        memcpy(block + 2, ptr, old[0] < size ? old[0] : size);
        heap.now -= old[0];
        free(old);
    }
    return block + 2;
}

static void counted_release(void *user, void *ptr)
{
    (void)user;
    size_t *block = (size_t *)ptr - 2;
    heap.now -= block[0];
    free(block);
}

/* The file that grows most when read: nothing but the shortest instruction. */
static void test_memory_is_bounded(void)
{
    const osc_mem_hook hook = {counted_realloc, counted_release, NULL};
    osc_buf f;
    osc_err err = {0};
    osc_program *p = sample_base("small"), *back;
    for (unsigned i = 0; i < 4097; i++) /* one over a power of two: the arrays double once more */
        add_line(p, "Sync nop");
    TAP_EQ_STATUS(osc_program_seal(p, &err), OSC_OK);
    write_file(p, &f);
    osc_mem_set_hook(&hook);
    TAP_EQ_STATUS(osc_neff_read(f.data, f.len, "f", &back, &err), OSC_OK);
    osc_program_release(back);
    osc_mem_set_hook(NULL);
    tap_note("%zu bytes, peak heap %zu", f.len, heap.peak);
    TAP_OK(heap.now == 0);
    TAP_OK(heap.peak <= f.len * OSC_NEFF_MEMORY_FACTOR);
    osc_buf_free(&f);
    osc_program_release(p);
}

static bool write_and_read_without_memory(void *context)
{
    const osc_buf *whole = context;
    osc_err err = {0};
    osc_program *back = NULL;
    osc_buf out;
    osc_status status = osc_neff_read(whole->data, whole->len, "f", &back, &err);
    if (status == OSC_OK) {
        osc_buf_init(&out, SIZE_MAX);
        status = osc_neff_write(back, &out, &err);
        osc_buf_free(&out);
        osc_program_release(back);
    }
    return osc_mem_refused() > 0 ? status == OSC_ENOMEM : status == OSC_OK;
}

static void test_out_of_memory(void)
{
    osc_buf whole;
    osc_program *p = sealed_full();
    write_file(p, &whole);
    TAP_OK(tap_oom_sweep(write_and_read_without_memory, &whole, 1000));
    osc_buf_free(&whole);
    osc_program_release(p);
}

int main(void)
{
    TAP_RUN(test_round_trip);
    TAP_RUN(test_write_is_deterministic_and_appends);
    TAP_RUN(test_header_bytes);
    TAP_RUN(test_every_truncation);
    TAP_RUN(test_any_flipped_byte);
    TAP_RUN(test_header_damage);
    TAP_RUN(test_foreign);
    TAP_RUN(test_member_damage);
    TAP_RUN(test_unknown_things_are_skipped);
    TAP_RUN(test_memory_is_bounded);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
