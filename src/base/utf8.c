/*
 * utf8.c - decoding, checking, writing and measuring UTF-8; declared in str.h.
 *
 * Decoding follows the Unicode recommendation for ill-formed text: each maximal prefix of a valid
 * sequence becomes one U+FFFD, so the count of replacements is the same in every conforming reader.
 */
#include "base/str.h"

#include <assert.h>

#define REPLACEMENT 0xfffdu

/*
 * Bounds of the second byte for a lead byte, which exclude overlong forms, surrogates and code points
 * above U+10FFFF. Returns the number of continuation bytes, 0 for ASCII and for bytes that lead nothing.
 */
static size_t lead_byte(unsigned char c, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (c >= 0xc2 && c <= 0xdf)
        return 1;
    if (c >= 0xe0 && c <= 0xef) {
        if (c == 0xe0)
            *low = 0xa0;
        if (c == 0xed)
            *high = 0x9f;
        return 2;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        if (c == 0xf0)
            *low = 0x90;
        if (c == 0xf4)
            *high = 0x8f;
        return 3;
    }
    return 0;
}

/* As osc_utf8_next; *valid tells a real U+FFFD from a replacement. */
static uint32_t decode(osc_str s, size_t *pos, bool *valid)
{
    assert(*pos < s.len);
    unsigned char low, high;
    unsigned char c = (unsigned char)s.ptr[(*pos)++];
    *valid = true;
    if (c < 0x80)
        return c;
    size_t more = lead_byte(c, &low, &high);
    *valid = false;
    if (more == 0)
        return REPLACEMENT;
    uint32_t cp = c & (0x3fu >> more);
    for (size_t i = 0; i < more; i++) {
        if (*pos >= s.len)
            return REPLACEMENT;
        unsigned char next = (unsigned char)s.ptr[*pos];
        if (next < low || next > high)
            return REPLACEMENT;
        low = 0x80;
        high = 0xbf;
        cp = cp << 6 | (next & 0x3fu);
        (*pos)++;
    }
    *valid = true;
    return cp;
}

uint32_t osc_utf8_next(osc_str s, size_t *pos)
{
    bool valid;
    return decode(s, pos, &valid);
}

bool osc_utf8_valid(osc_str s)
{
    bool valid = true;
    for (size_t pos = 0; pos < s.len && valid;)
        (void)decode(s, &pos, &valid);
    return valid;
}

size_t osc_utf8_put(uint32_t cp, char out[4])
{
    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        cp = REPLACEMENT;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t more = cp < 0x800 ? 1 : cp < 0x10000 ? 2 : 3;
    static const uint32_t lead_mark[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(unsigned char)(lead_mark[more] | cp >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(unsigned char)(0x80u | (cp >> (6 * (more - i)) & 0x3fu));
    return more + 1;
}

struct range {
    uint32_t first, last;
};

static bool in_ranges(uint32_t cp, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cp >= ranges[i].first && cp <= ranges[i].last)
            return true;
    }
    return false;
}

/* The blocks that matter in names of operators and annotations; not all of Unicode's width data. */
static size_t columns_of(uint32_t cp)
{
    static const struct range none[] = {
        {0x0000, 0x001f}, {0x007f, 0x009f}, {0x0300, 0x036f},   {0x1ab0, 0x1aff},
        {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},   {0xfe00, 0xfe0f},
        {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
        {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
        {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
        {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
    };
    if (in_ranges(cp, none, sizeof none / sizeof none[0]))
        return 0;
    return in_ranges(cp, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
}

size_t osc_utf8_columns(osc_str s)
{
    size_t columns = 0;
    for (size_t pos = 0; pos < s.len;)
        columns += columns_of(osc_utf8_next(s, &pos));
    return columns;
}
