/*
 * str.h - strings as {pointer, length} views.
 *
 * Input text is never copied to be looked at: a view points into the input, an arena or a literal,
 * and may hold any byte, NUL included. A NUL-terminated copy is made only at the border to the C
 * library. A view owns nothing; it is valid as long as what it points into.
 */
#ifndef OSC_BASE_STR_H
#define OSC_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct osc_str {
    const char *ptr; /* first byte; may be NULL when len is 0 */
    size_t len;      /* bytes, without any terminator */
} osc_str;

/* A view of a string literal (compile-time length). */
#define OSC_STR(literal) ((osc_str){("" literal), sizeof(literal) - 1})

/* The same as an initialiser, for tables with static storage. */
#define OSC_STR_INIT(literal)             \
    {                                     \
        ("" literal), sizeof(literal) - 1 \
    }

/* Arguments for "%.*s". Lengths over INT_MAX print nothing. */
#define OSC_STR_FMT(s) ((s).len <= 0x7fffffffu ? (int)(s).len : 0), ((s).ptr ? (s).ptr : "")

/* A view of len bytes. */
osc_str osc_str_make(const char *ptr, size_t len);

/* A view of a NUL-terminated string; NULL gives the empty view. */
osc_str osc_str_from_cstr(const char *cstr);

bool osc_str_eq(osc_str a, osc_str b);
bool osc_str_eq_cstr(osc_str a, const char *cstr);

/* Equality that ignores ASCII case. */
bool osc_str_eq_nocase(osc_str a, osc_str b);

/* Byte order: negative, 0 or positive like memcmp, shorter first on a common prefix. */
int osc_str_cmp(osc_str a, osc_str b);

bool osc_str_starts(osc_str s, osc_str prefix);
bool osc_str_ends(osc_str s, osc_str suffix);

/* Index of the first byte c at or after from, or SIZE_MAX. */
size_t osc_str_find_char(osc_str s, char c, size_t from);

/* Index of the first occurrence of needle, or SIZE_MAX. An empty needle is found at 0. */
size_t osc_str_find(osc_str s, osc_str needle);

/* Index of the last byte c, or SIZE_MAX. */
size_t osc_str_rfind_char(osc_str s, char c);

/* The part [from, from + len), clipped to s. */
osc_str osc_str_sub(osc_str s, size_t from, size_t len);

/* s without ASCII white space at both ends. */
osc_str osc_str_trim(osc_str s);

/*
 * Splits at a separator: takes the next piece off the front of *rest into *piece. Returns false when
 * nothing is left. "a,,b" gives "a", "", "b"; "" gives nothing; "a," gives "a", "".
 *
 *     osc_str rest = text, piece;
 *     while (osc_str_split(&rest, ',', &piece)) ...
 *
 * *rest.ptr becomes NULL at the end, so a rest that is not yet started must not have ptr NULL unless
 * it is empty.
 */
bool osc_str_split(osc_str *rest, char separator, osc_str *piece);

/* Next line without its "\n" or "\r\n"; false at the end. A final newline makes no extra line. */
bool osc_str_next_line(osc_str *rest, osc_str *line);

/* NUL-terminated copy into a caller's array, cut to fit (at a UTF-8 boundary); returns out. */
char *osc_str_to_array(osc_str s, char *out, size_t out_size);

/*
 * Optimal string alignment distance of a and b (insert, delete, replace, swap neighbours), counted in
 * bytes. Words over 64 bytes are compared by their first 64.
 */
size_t osc_str_distance(osc_str a, osc_str b);

/*
 * The candidate nearest to word, for "did you mean"; NULL when none is near enough (distance above a
 * third of the longer of the two, at least 1, rounded up). Ties go to the earlier candidate. The
 * result is one of the caller's pointers.
 */
const char *osc_nearest(osc_str word, const char *const *candidates, size_t n);

/*
 * Decodes one UTF-8 code point at s.ptr + *pos and moves *pos past it. An invalid sequence gives
 * U+FFFD and moves on by its maximal valid prefix, at least one byte. *pos must be below s.len.
 */
uint32_t osc_utf8_next(osc_str s, size_t *pos);

/* True when s is valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). */
bool osc_utf8_valid(osc_str s);

/* Writes code point cp (values that are none become U+FFFD) to out, 1 to 4 bytes; returns the count. */
size_t osc_utf8_put(uint32_t cp, char out[4]);

/* Terminal columns s needs: wide East Asian and emoji count 2, combining marks and controls 0. */
size_t osc_utf8_columns(osc_str s);

#endif
