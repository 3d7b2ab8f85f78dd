/* Buffers, cursors and what one writes for the other. */
#include "tap.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/mem.h"

#include <string.h>

static void test_append(void)
{
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    TAP_EQ_STR(osc_buf_c_str(&b), "");
    osc_buf_cstr(&b, "abc");
    osc_buf_str(&b, OSC_STR("def"));
    osc_buf_putc(&b, 'g');
    osc_buf_fill(&b, '-', 3);
    osc_buf_append(&b, NULL, 0);
    osc_buf_printf(&b, "%03d", 7);
    TAP_EQ_VIEW(osc_buf_view(&b), "abcdefg---007");
    TAP_EQ_STR(osc_buf_c_str(&b), "abcdefg---007");
    osc_buf_truncate(&b, 3);
    osc_buf_truncate(&b, 30);
    TAP_EQ_STR(osc_buf_c_str(&b), "abc");
    osc_buf_clear(&b);
    TAP_EQ_U64(b.len, 0);
    osc_buf_free(&b);
    osc_buf_free(NULL);
    TAP_OK(b.data == NULL && !b.failed);
}

static void test_long_printf(void)
{
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_printf(&b, "%0255d|%0256d|%01000d", 1, 2, 3);
    TAP_EQ_U64(b.len, 255 + 1 + 256 + 1 + 1000);
    TAP_EQ_I64(b.data[b.len - 1], '3');
    osc_buf_free(&b);
}

static void test_ceiling(void)
{
    osc_err err = {0};
    osc_buf b;
    osc_buf_init(&b, 10);
    osc_buf_cstr(&b, "0123456789");
    TAP_OK(!b.failed);
    TAP_EQ_STR(osc_buf_c_str(&b), "0123456789");
    TAP_EQ_STATUS(osc_buf_status(&b, "a test", &err), OSC_OK);
    osc_buf_putc(&b, 'x');
    TAP_OK(b.failed);
    osc_buf_putc(&b, 'y');
    TAP_EQ_U64(b.len, 10);
    TAP_EQ_STR(osc_buf_c_str(&b), "");
    TAP_EQ_STATUS(osc_buf_status(&b, "a test", &err), OSC_ENOMEM);
    TAP_OK(strstr(err.message, "a test") != NULL);
    osc_buf_clear(&b);
    osc_buf_printf(&b, "%s", "0123456789");
    TAP_OK(!b.failed);
    osc_buf_printf(&b, "%0300d", 1);
    TAP_OK(b.failed);
    TAP_OK(osc_buf_extend(&b, 0) == NULL);
    osc_buf_free(&b);
    osc_buf_init(&b, SIZE_MAX);
    TAP_OK(!osc_buf_reserve(&b, SIZE_MAX));
    osc_buf_free(&b);
}

static void test_take(void)
{
    osc_buf b;
    size_t len = 9;
    osc_buf_init(&b, 100);
    TAP_OK(osc_buf_take(&b, &len) == NULL);
    TAP_EQ_U64(len, 0);
    osc_buf_cstr(&b, "mine");
    char *mine = (char *)osc_buf_take(&b, &len);
    TAP_REQUIRE(mine != NULL);
    TAP_EQ_STR(mine, "mine");
    TAP_EQ_U64(len, 4);
    TAP_OK(b.data == NULL && b.len == 0 && b.max == 100);
    osc_free(mine);
    osc_buf_fill(&b, 'x', 101);
    TAP_OK(osc_buf_take(&b, &len) == NULL);
    TAP_OK(!b.failed);
}

static void test_patch(void)
{
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    osc_buf_u32(&b, 0);
    osc_buf_u8(&b, 9);
    osc_buf_fill(&b, 0, 3);
    osc_buf_patch_u32(&b, 0, 0x04030201);
    TAP_EQ_MEM(b.data, "\1\2\3\4\11\0\0\0", 8);
    osc_buf_patch_u64(&b, 0, UINT64_C(0x0807060504030201));
    TAP_EQ_MEM(b.data, "\1\2\3\4\5\6\7\10", 8);
    osc_buf_patch_u32(&b, 5, 1);
    TAP_OK(b.failed);
    osc_buf_clear(&b);
    osc_buf_patch_u64(&b, SIZE_MAX, 1);
    TAP_OK(b.failed);
    osc_buf_free(&b);
}

static void write_numbers(osc_buf *b)
{
    osc_buf_u8(b, 0xab);
    osc_buf_u16(b, 0x1234);
    osc_buf_u32(b, 0x89abcdef);
    osc_buf_u64(b, UINT64_C(0x0123456789abcdef));
    osc_buf_i64(b, -2);
    osc_buf_f32(b, 1.5f);
    osc_buf_f64(b, -0.25);
    osc_buf_varint(b, 300);
    osc_buf_varint(b, UINT64_MAX);
    osc_buf_str32(b, OSC_STR("text"));
}

static void test_numbers_round_trip(void)
{
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    write_numbers(&b);
    osc_cursor c = osc_cursor_make(b.data, b.len);
    TAP_EQ_U64(osc_cursor_u8(&c), 0xab);
    TAP_EQ_U64(osc_cursor_u16(&c), 0x1234);
    TAP_EQ_U64(osc_cursor_u32(&c), 0x89abcdef);
    TAP_EQ_U64(osc_cursor_u64(&c), UINT64_C(0x0123456789abcdef));
    TAP_EQ_I64(osc_cursor_i64(&c), -2);
    TAP_EQ_F64((double)osc_cursor_f32(&c), 1.5);
    TAP_EQ_F64(osc_cursor_f64(&c), -0.25);
    TAP_EQ_U64(osc_cursor_varint(&c), 300);
    TAP_EQ_U64(osc_cursor_varint(&c), UINT64_MAX);
    TAP_EQ_VIEW(osc_cursor_str32(&c), "text");
    TAP_OK(osc_cursor_done(&c) && !c.failed);
    osc_buf_free(&b);
}

/* At every cut the reader fails once, stays failed, and names an offset inside the input. */
static void test_cut_everywhere(void)
{
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    write_numbers(&b);
    for (size_t cut = 0; cut < b.len; cut++) {
        osc_cursor c = osc_cursor_make_at(b.data, cut, 1000);
        (void)osc_cursor_u8(&c);
        (void)osc_cursor_u16(&c);
        (void)osc_cursor_u32(&c);
        (void)osc_cursor_u64(&c);
        (void)osc_cursor_i64(&c);
        (void)osc_cursor_f32(&c);
        (void)osc_cursor_f64(&c);
        (void)osc_cursor_varint(&c);
        (void)osc_cursor_varint(&c);
        osc_str last = osc_cursor_str32(&c);
        TAP_OK(c.failed && !c.malformed && last.len == 0);
        TAP_OK(c.failed_at >= 1000 && c.failed_at <= 1000 + cut);
        TAP_EQ_STATUS(osc_cursor_status(&c, "in", "a record", NULL), OSC_ETRUNCATED);
    }
    osc_buf_free(&b);
}

static void test_cursor_moves(void)
{
    osc_err err = {0};
    osc_cursor c = osc_cursor_make_at("abcdef", 6, 100);
    TAP_EQ_VIEW(osc_cursor_bytes(&c, 2), "ab");
    TAP_EQ_U64(osc_cursor_offset(&c), 102);
    osc_cursor sub = osc_cursor_sub(&c, 2);
    TAP_EQ_U64(osc_cursor_offset(&sub), 102);
    TAP_EQ_VIEW(osc_cursor_bytes(&sub, 2), "cd");
    TAP_EQ_U64(osc_cursor_u8(&sub), 0);
    TAP_OK(sub.failed && !c.failed);
    osc_cursor_seek(&c, 1);
    char out[3] = "xx";
    osc_cursor_copy(&c, out, 2);
    TAP_EQ_STR(out, "bc");
    osc_cursor_skip(&c, 3);
    TAP_OK(osc_cursor_done(&c));
    osc_cursor_copy(&c, out, 2);
    TAP_EQ_MEM(out, "\0\0", 2);
    TAP_EQ_STATUS(osc_cursor_status(&c, "file", "a thing", &err), OSC_ETRUNCATED);
    TAP_EQ_U64(err.offset, 106);
    TAP_EQ_STR(err.message, "a thing ends early");
    osc_cursor_seek(&c, 0);
    TAP_EQ_U64(osc_cursor_left(&c), 0);
    c = osc_cursor_make("ab", 2);
    sub = osc_cursor_sub(&c, 3);
    TAP_OK(sub.failed && c.failed);
    c = osc_cursor_make("ab", 2);
    osc_cursor_seek(&c, 3);
    TAP_OK(c.failed);
    c = osc_cursor_make("ab", 2);
    osc_cursor_skip(&c, SIZE_MAX);
    TAP_OK(c.failed);
}

static void test_cursor_of_nothing(void)
{
    osc_cursor c = osc_cursor_make(NULL, 0);
    TAP_EQ_U64(osc_cursor_bytes(&c, 0).len, 0);
    TAP_OK(!c.failed);
    TAP_EQ_U64(osc_cursor_u8(&c), 0);
    TAP_OK(c.failed);
}

static void test_varint_limits(void)
{
    osc_err err = {0};
    osc_cursor c = osc_cursor_make("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    TAP_EQ_U64(osc_cursor_varint(&c), UINT64_MAX);
    c = osc_cursor_make("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
    TAP_EQ_U64(osc_cursor_varint(&c), 0);
    TAP_EQ_STATUS(osc_cursor_status(&c, NULL, "x", &err), OSC_EFORMAT);
    c = osc_cursor_make("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11);
    TAP_EQ_U64(osc_cursor_varint(&c), 0);
    TAP_OK(c.malformed);
    c = osc_cursor_make("\x80", 1);
    (void)osc_cursor_varint(&c);
    TAP_OK(c.failed && !c.malformed);
    c = osc_cursor_make("\x80\x00", 2); /* not minimal, but the format allows it */
    TAP_EQ_U64(osc_cursor_varint(&c), 0);
    TAP_OK(!c.failed);
    osc_cursor_fail(&c);
    TAP_OK(c.failed && c.malformed);
}

static bool grow_under_pressure(void *ctx)
{
    (void)ctx;
    osc_buf b;
    osc_buf_init(&b, SIZE_MAX);
    for (int i = 0; i < 1000; i++)
        osc_buf_u64(&b, (uint64_t)i);
    bool good = b.failed ? b.len < 8000 : b.len == 8000;
    osc_buf_free(&b);
    return good;
}

static void test_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(grow_under_pressure, NULL, 50));
}

int main(void)
{
    TAP_RUN(test_append);
    TAP_RUN(test_long_printf);
    TAP_RUN(test_ceiling);
    TAP_RUN(test_take);
    TAP_RUN(test_patch);
    TAP_RUN(test_numbers_round_trip);
    TAP_RUN(test_cut_everywhere);
    TAP_RUN(test_cursor_moves);
    TAP_RUN(test_cursor_of_nothing);
    TAP_RUN(test_varint_limits);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
