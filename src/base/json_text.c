/*
 * json_text.c - JSON string escapes, both ways; declared in json.h.
 *
 * What comes out is valid UTF-8, whatever came in: profilers write Python strings with lone surrogates
 * and raw bytes, and the readers of our output are stricter than that.
 */
#include "base/json.h"

#include <assert.h>
#include <string.h>

#define REPLACEMENT 0xfffdu

static void put_code_point(osc_buf *out, uint32_t cp)
{
    char utf8[4];
    size_t n = osc_utf8_put(cp, utf8);
    osc_buf_append(out, utf8, n);
}

/* Four hexadecimal digits at `at`; false when they are not there. */
static bool hex4(osc_str s, size_t at, uint32_t *value)
{
    uint32_t v = 0;
    if (at > s.len || s.len - at < 4)
        return false;
    for (size_t i = at; i < at + 4; i++) {
        char c = s.ptr[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            digit = (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
        v = v << 4 | digit;
    }
    *value = v;
    return true;
}

/*
 * A \u escape whose digits begin at *at, and the low half that may follow it. Moves *at past what was
 * used. U+FFFD for a lone surrogate or bad digits.
 */
static uint32_t unescape_u(osc_str s, size_t *at)
{
    uint32_t high, low;
    if (!hex4(s, *at, &high))
        return REPLACEMENT;
    *at += 4;
    if (high < 0xd800 || high > 0xdfff)
        return high;
    bool pair = high < 0xdc00 && s.len - *at >= 6 && s.ptr[*at] == '\\' && s.ptr[*at + 1] == 'u' &&
                hex4(s, *at + 2, &low) && low >= 0xdc00 && low <= 0xdfff;
    if (!pair)
        return REPLACEMENT;
    *at += 6;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The escape after a backslash; *at is at the character behind it and is moved past the escape. */
static void unescape_one(osc_str s, size_t *at, osc_buf *out, bool *replaced)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (*at >= s.len) {
        *replaced = true;
        put_code_point(out, REPLACEMENT);
        return;
    }
    char c = s.ptr[(*at)++];
    const char *known = c != '\0' ? strchr(from, c) : NULL;
    if (known) {
        osc_buf_putc(out, to[known - from]);
        return;
    }
    uint32_t cp = c == 'u' ? unescape_u(s, at) : REPLACEMENT;
    /* an escape that spells U+FFFD itself counts as replaced too: nobody can tell them apart later */
    *replaced = *replaced || cp == REPLACEMENT;
    put_code_point(out, cp);
}

bool osc_json_unescape(osc_str raw, osc_buf *out, bool *replaced)
{
    bool any = false;
    for (size_t at = 0; at < raw.len && !out->failed;) {
        char c = raw.ptr[at];
        if (c == '\\') {
            at++;
            unescape_one(raw, &at, out, &any);
        } else if ((unsigned char)c < 0x80) {
            size_t from = at;
            while (at < raw.len && raw.ptr[at] != '\\' && (unsigned char)raw.ptr[at] < 0x80)
                at++;
            osc_buf_append(out, raw.ptr + from, at - from);
        } else {
            uint32_t cp = osc_utf8_next(raw, &at);
            any = any || cp == REPLACEMENT;
            put_code_point(out, cp);
        }
    }
    if (replaced)
        *replaced = any;
    return !out->failed;
}

/* The escape of a byte below 0x80 that may not stand in a string as it is. */
static void quote_control(osc_buf *out, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *known = c != '\0' ? strchr(from, c) : NULL;
    if (known)
        osc_buf_printf(out, "\\%c", to[known - from]);
    else
        osc_buf_printf(out, "\\u%04x", c);
}

static bool plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void osc_json_quote(osc_buf *out, osc_str value)
{
    osc_buf_putc(out, '"');
    for (size_t at = 0; at < value.len && !out->failed;) {
        unsigned char c = (unsigned char)value.ptr[at];
        if (plain(c)) {
            size_t from = at;
            while (at < value.len && plain((unsigned char)value.ptr[at]))
                at++;
            osc_buf_append(out, value.ptr + from, at - from);
        } else if (c < 0x80) {
            quote_control(out, c);
            at++;
        } else {
            size_t before = at;
            uint32_t cp = osc_utf8_next(value, &at);
            if (cp < 0xa0) /* C1 controls: terminals obey them */
                osc_buf_printf(out, "\\u%04x", (unsigned)cp);
            else
                put_code_point(out, cp);
            assert(at > before);
        }
    }
    osc_buf_putc(out, '"');
}
