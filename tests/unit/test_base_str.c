/* Views, splitting, nearest word, UTF-8. */
#include "tap.h"

#include <string.h>

static void test_compare(void)
{
    osc_str empty = osc_str_make(NULL, 0);
    TAP_OK(osc_str_eq(empty, OSC_STR("")));
    TAP_OK(osc_str_eq(OSC_STR("abc"), osc_str_from_cstr("abc")));
    TAP_OK(!osc_str_eq(OSC_STR("abc"), OSC_STR("abd")));
    TAP_OK(!osc_str_eq(OSC_STR("abc"), OSC_STR("ab")));
    TAP_OK(osc_str_eq_cstr(empty, NULL));
    TAP_OK(osc_str_eq_nocase(OSC_STR("AbC"), OSC_STR("aBc")));
    TAP_OK(!osc_str_eq_nocase(OSC_STR("a["), OSC_STR("A{")));
    TAP_OK(osc_str_cmp(OSC_STR("a"), OSC_STR("b")) < 0);
    TAP_OK(osc_str_cmp(OSC_STR("ab"), OSC_STR("a")) > 0);
    TAP_OK(osc_str_cmp(empty, OSC_STR("")) == 0);
    TAP_OK(osc_str_cmp(OSC_STR("\xff"), OSC_STR("a")) > 0);
    TAP_EQ_U64(osc_str_from_cstr(NULL).len, 0);
}

static void test_prefix_suffix_find(void)
{
    osc_str s = OSC_STR("aten::mul");
    TAP_OK(osc_str_starts(s, OSC_STR("aten::")));
    TAP_OK(!osc_str_starts(OSC_STR("at"), OSC_STR("aten")));
    TAP_OK(osc_str_starts(s, OSC_STR("")));
    TAP_OK(osc_str_ends(s, OSC_STR("::mul")));
    TAP_OK(!osc_str_ends(OSC_STR("l"), s));
    TAP_EQ_U64(osc_str_find(s, OSC_STR("::")), 4);
    TAP_EQ_U64(osc_str_find(s, OSC_STR("x")), SIZE_MAX);
    TAP_EQ_U64(osc_str_find(s, OSC_STR("")), 0);
    TAP_EQ_U64(osc_str_find(osc_str_make(NULL, 0), OSC_STR("a")), SIZE_MAX);
    TAP_EQ_U64(osc_str_find_char(s, ':', 0), 4);
    TAP_EQ_U64(osc_str_find_char(s, ':', 5), 5);
    TAP_EQ_U64(osc_str_find_char(s, ':', 6), SIZE_MAX);
    TAP_EQ_U64(osc_str_find_char(s, 'a', 99), SIZE_MAX);
    TAP_EQ_U64(osc_str_rfind_char(s, ':'), 5);
    TAP_EQ_U64(osc_str_rfind_char(s, 'z'), SIZE_MAX);
}

static void test_sub_and_trim(void)
{
    osc_str s = OSC_STR("hello");
    TAP_EQ_VIEW(osc_str_sub(s, 1, 3), "ell");
    TAP_EQ_VIEW(osc_str_sub(s, 3, SIZE_MAX), "lo");
    TAP_EQ_VIEW(osc_str_sub(s, 9, 2), "");
    TAP_EQ_VIEW(osc_str_trim(OSC_STR(" \t a b\r\n")), "a b");
    TAP_EQ_VIEW(osc_str_trim(OSC_STR(" \n ")), "");
    TAP_EQ_VIEW(osc_str_trim(osc_str_make(NULL, 0)), "");
}

/* Pieces joined by '|', so that an empty piece shows. */
static const char *split_text(osc_str text, char *out, size_t size)
{
    osc_str rest = text, piece;
    size_t n = 0;
    while (osc_str_split(&rest, ',', &piece) && n + piece.len + 2 < size) {
        if (piece.len > 0)
            memcpy(out + n, piece.ptr, piece.len);
        n += piece.len;
        out[n++] = '|';
    }
    out[n] = '\0';
    return out;
}

static void test_split(void)
{
    char out[64];
    TAP_EQ_STR(split_text(OSC_STR("a,bc,d"), out, sizeof out), "a|bc|d|");
    TAP_EQ_STR(split_text(OSC_STR("a,,b"), out, sizeof out), "a||b|");
    TAP_EQ_STR(split_text(OSC_STR("a,"), out, sizeof out), "a||");
    TAP_EQ_STR(split_text(OSC_STR(","), out, sizeof out), "||");
    TAP_EQ_STR(split_text(OSC_STR(""), out, sizeof out), "");
    TAP_EQ_STR(split_text(osc_str_make(NULL, 0), out, sizeof out), "");
    TAP_EQ_STR(split_text(OSC_STR("alone"), out, sizeof out), "alone|");
}

static void test_lines(void)
{
    osc_str rest = OSC_STR("one\r\ntwo\n\nlast\r"), line;
    TAP_OK(osc_str_next_line(&rest, &line));
    TAP_EQ_VIEW(line, "one");
    TAP_OK(osc_str_next_line(&rest, &line));
    TAP_EQ_VIEW(line, "two");
    TAP_OK(osc_str_next_line(&rest, &line));
    TAP_EQ_VIEW(line, "");
    TAP_OK(osc_str_next_line(&rest, &line));
    TAP_EQ_VIEW(line, "last\r");
    TAP_OK(!osc_str_next_line(&rest, &line));
    rest = OSC_STR("x\n");
    TAP_OK(osc_str_next_line(&rest, &line));
    TAP_OK(!osc_str_next_line(&rest, &line));
}

static void test_to_array(void)
{
    char out[6];
    TAP_EQ_STR(osc_str_to_array(OSC_STR("abc"), out, sizeof out), "abc");
    TAP_EQ_STR(osc_str_to_array(OSC_STR("abcdefgh"), out, sizeof out), "abcde");
    TAP_EQ_STR(osc_str_to_array(OSC_STR("abc\xe2\x82\xac"), out, sizeof out), "abc");
    TAP_EQ_STR(osc_str_to_array(OSC_STR("ab\xe2\x82\xac!"), out, sizeof out), "ab\xe2\x82\xac");
    TAP_EQ_STR(osc_str_to_array(OSC_STR("\x80\x80\x80\x80\x80\x80\x80"), out, sizeof out),
               "\x80\x80\x80\x80\x80");
    TAP_EQ_STR(osc_str_to_array(osc_str_make(NULL, 0), out, 1), "");
}

static void test_distance(void)
{
    TAP_EQ_U64(osc_str_distance(OSC_STR(""), OSC_STR("")), 0);
    TAP_EQ_U64(osc_str_distance(OSC_STR("abc"), OSC_STR("")), 3);
    TAP_EQ_U64(osc_str_distance(OSC_STR("kitten"), OSC_STR("sitting")), 3);
    TAP_EQ_U64(osc_str_distance(OSC_STR("tpo"), OSC_STR("top")), 1);
    TAP_EQ_U64(osc_str_distance(OSC_STR("abcd"), OSC_STR("badc")), 2);
    char a[200], b[200];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    TAP_EQ_U64(osc_str_distance(osc_str_make(a, 200), osc_str_make(b, 200)), 64);
}

static void test_nearest(void)
{
    static const char *const commands[] = {"info", "top", "follow", "disasm"};
    TAP_EQ_STR(osc_nearest(OSC_STR("tpo"), commands, 4), "top");
    TAP_EQ_STR(osc_nearest(OSC_STR("folow"), commands, 4), "follow");
    TAP_EQ_STR(osc_nearest(OSC_STR("top"), commands, 4), "top");
    TAP_OK(osc_nearest(OSC_STR("zzzzzzz"), commands, 4) == NULL);
    TAP_OK(osc_nearest(OSC_STR(""), commands, 4) == NULL);
    TAP_OK(osc_nearest(OSC_STR("top"), commands, 0) == NULL);
}

static void test_utf8_valid(void)
{
    TAP_OK(osc_utf8_valid(OSC_STR("")));
    TAP_OK(osc_utf8_valid(OSC_STR("plain")));
    TAP_OK(osc_utf8_valid(OSC_STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf")));
    TAP_OK(osc_utf8_valid(OSC_STR("\xef\xbf\xbd")));
    TAP_OK(!osc_utf8_valid(OSC_STR("\xc0\x80")));         /* overlong NUL */
    TAP_OK(!osc_utf8_valid(OSC_STR("\xe0\x80\x80")));     /* overlong */
    TAP_OK(!osc_utf8_valid(OSC_STR("\xed\xa0\x80")));     /* surrogate */
    TAP_OK(!osc_utf8_valid(OSC_STR("\xf4\x90\x80\x80"))); /* above U+10FFFF */
    TAP_OK(!osc_utf8_valid(OSC_STR("\xf5\x80\x80\x80")));
    TAP_OK(!osc_utf8_valid(OSC_STR("\x80")));
    TAP_OK(!osc_utf8_valid(OSC_STR("a\xe2\x82")));
}

static size_t count_points(osc_str s, size_t *replaced)
{
    size_t n = 0;
    *replaced = 0;
    for (size_t pos = 0; pos < s.len; n++)
        *replaced += osc_utf8_next(s, &pos) == 0xfffd;
    return n;
}

/* Unicode 15, table 3-8: how many replacements ill-formed sequences give. */
static void test_utf8_replacement_counts(void)
{
    size_t replaced;
    TAP_EQ_U64(count_points(OSC_STR("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), &replaced), 9);
    TAP_EQ_U64(replaced, 8);
    TAP_EQ_U64(count_points(OSC_STR("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), &replaced), 9);
    TAP_EQ_U64(replaced, 8);
    TAP_EQ_U64(count_points(OSC_STR("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), &replaced), 5);
    TAP_EQ_U64(replaced, 4);
}

static void test_utf8_round_trip(void)
{
    bool good = true;
    for (uint32_t cp = 0; cp <= 0x10ffff; cp += cp < 0x3000 ? 1 : 61) {
        char bytes[4];
        size_t pos = 0, n = osc_utf8_put(cp, bytes);
        bool surrogate = cp >= 0xd800 && cp <= 0xdfff;
        uint32_t back = osc_utf8_next(osc_str_make(bytes, n), &pos);
        good = good && pos == n && back == (surrogate ? 0xfffd : cp);
    }
    TAP_OK(good);
    char bytes[4];
    TAP_EQ_U64(osc_utf8_put(0x110000, bytes), 3);
    TAP_EQ_MEM(bytes, "\xef\xbf\xbd", 3);
}

static void test_columns(void)
{
    TAP_EQ_U64(osc_utf8_columns(OSC_STR("abc")), 3);
    TAP_EQ_U64(osc_utf8_columns(OSC_STR("\xc3\xa9")), 1);
    TAP_EQ_U64(osc_utf8_columns(OSC_STR("e\xcc\x81")), 1);
    TAP_EQ_U64(osc_utf8_columns(OSC_STR("\xe4\xb8\xad")), 2);
    TAP_EQ_U64(osc_utf8_columns(OSC_STR("\xf0\x9f\x98\x80")), 2);
    TAP_EQ_U64(osc_utf8_columns(OSC_STR("a\nb\x7f")), 2);
}

int main(void)
{
    TAP_RUN(test_compare);
    TAP_RUN(test_prefix_suffix_find);
    TAP_RUN(test_sub_and_trim);
    TAP_RUN(test_split);
    TAP_RUN(test_lines);
    TAP_RUN(test_to_array);
    TAP_RUN(test_distance);
    TAP_RUN(test_nearest);
    TAP_RUN(test_utf8_valid);
    TAP_RUN(test_utf8_replacement_counts);
    TAP_RUN(test_utf8_round_trip);
    TAP_RUN(test_columns);
    return tap_done();
}
