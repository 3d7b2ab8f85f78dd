/*
 * str.c - see str.h. UTF-8 is in utf8.c.
 */
#include "base/str.h"

#include <assert.h>
#include <string.h>

osc_str osc_str_make(const char *ptr, size_t len)
{
    osc_str s = {ptr, len};
    return s;
}

osc_str osc_str_from_cstr(const char *cstr)
{
    return osc_str_make(cstr, cstr ? strlen(cstr) : 0);
}

bool osc_str_eq(osc_str a, osc_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool osc_str_eq_cstr(osc_str a, const char *cstr)
{
    return osc_str_eq(a, osc_str_from_cstr(cstr));
}

/* ASCII only: no locale may change what a file means. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool osc_str_eq_nocase(osc_str a, osc_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    }
    return true;
}

int osc_str_cmp(osc_str a, osc_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;
    if (order != 0 || a.len == b.len)
        return order;
    return a.len < b.len ? -1 : 1;
}

bool osc_str_starts(osc_str s, osc_str prefix)
{
    return s.len >= prefix.len && osc_str_eq(osc_str_make(s.ptr, prefix.len), prefix);
}

bool osc_str_ends(osc_str s, osc_str suffix)
{
    return s.len >= suffix.len &&
           osc_str_eq(osc_str_sub(s, s.len - suffix.len, suffix.len), suffix);
}

size_t osc_str_find_char(osc_str s, char c, size_t from)
{
    if (from >= s.len)
        return SIZE_MAX;
    const char *p = memchr(s.ptr + from, c, s.len - from);
    return p ? (size_t)(p - s.ptr) : SIZE_MAX;
}

size_t osc_str_find(osc_str s, osc_str needle)
{
    if (needle.len == 0)
        return 0;
    if (s.len == 0)
        return SIZE_MAX;
    const char *p = memmem(s.ptr, s.len, needle.ptr, needle.len);
    return p ? (size_t)(p - s.ptr) : SIZE_MAX;
}

size_t osc_str_rfind_char(osc_str s, char c)
{
    for (size_t i = s.len; i > 0; i--) {
        if (s.ptr[i - 1] == c)
            return i - 1;
    }
    return SIZE_MAX;
}

osc_str osc_str_sub(osc_str s, size_t from, size_t len)
{
    if (from > s.len)
        from = s.len;
    if (len > s.len - from)
        len = s.len - from;
    return osc_str_make(s.ptr ? s.ptr + from : NULL, len);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

osc_str osc_str_trim(osc_str s)
{
    size_t from = 0, end = s.len;
    while (from < end && is_space(s.ptr[from]))
        from++;
    while (end > from && is_space(s.ptr[end - 1]))
        end--;
    return osc_str_sub(s, from, end - from);
}

bool osc_str_split(osc_str *rest, char separator, osc_str *piece)
{
    static const char tail[1] = "";
    /* a piece after a final separator is empty, but there: its ptr is not NULL */
    if (!rest->ptr || (rest->len == 0 && rest->ptr != tail)) {
        *rest = *piece = osc_str_make(NULL, 0);
        return false;
    }
    size_t at = osc_str_find_char(*rest, separator, 0);
    if (at == SIZE_MAX) {
        *piece = *rest;
        *rest = osc_str_make(NULL, 0);
        return true;
    }
    *piece = osc_str_sub(*rest, 0, at);
    *rest = osc_str_sub(*rest, at + 1, SIZE_MAX);
    if (rest->len == 0)
        rest->ptr = tail;
    return true;
}

bool osc_str_next_line(osc_str *rest, osc_str *line)
{
    if (rest->len == 0) {
        *line = osc_str_make(NULL, 0);
        return false;
    }
    size_t at = osc_str_find_char(*rest, '\n', 0);
    size_t end = at == SIZE_MAX ? rest->len : at;
    *line = osc_str_sub(*rest, 0, end);
    if (line->len > 0 && at != SIZE_MAX && line->ptr[line->len - 1] == '\r')
        line->len--;
    *rest = osc_str_sub(*rest, at == SIZE_MAX ? end : end + 1, SIZE_MAX);
    return true;
}

char *osc_str_to_array(osc_str s, char *out, size_t out_size)
{
    assert(out_size > 0);
    size_t n = s.len < out_size ? s.len : out_size - 1;
    if (n < s.len) {
        /* do not cut inside a character: step back over its continuation bytes */
        size_t back = n;
        while (back > 0 && n - back < 4 && ((unsigned char)s.ptr[back] & 0xc0) == 0x80)
            back--;
        if (((unsigned char)s.ptr[back] & 0xc0) != 0x80)
            n = back;
    }
    if (n > 0)
        memcpy(out, s.ptr, n);
    out[n] = '\0';
    return out;
}

/* Words are compared by their first so many bytes; three rows of the table live on the stack. */
#define DISTANCE_MAX 64

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

size_t osc_str_distance(osc_str a, osc_str b)
{
    size_t rows[3][DISTANCE_MAX + 1];
    a = osc_str_sub(a, 0, DISTANCE_MAX);
    b = osc_str_sub(b, 0, DISTANCE_MAX);
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *now = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t replace = above[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
            now[j] = min3(above[j] + 1, now[j - 1] + 1, replace);
            bool swapped =
                i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1];
            if (swapped && above2[j - 2] + 1 < now[j])
                now[j] = above2[j - 2] + 1;
        }
    }
    return rows[a.len % 3][b.len];
}

const char *osc_nearest(osc_str word, const char *const *candidates, size_t n)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        osc_str candidate = osc_str_from_cstr(candidates[i]);
        size_t longer = candidate.len > word.len ? candidate.len : word.len;
        size_t allowed = (longer + 2) / 3;
        size_t distance = osc_str_distance(word, candidate);
        if (distance <= allowed && distance < longer && distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}
