/*
 * lod_sort.c - puts the intervals of a track into order of time.
 *
 * Files hold a track in a few stretches, each in order (operators, then runtime calls, then
 * frames), so stretches are found and merged, two and two. A track in real disorder (events written
 * at their end, shuffled files) is first sorted by start with a radix sort; the merge then has only
 * ties left to do.
 *
 * Rejected: qsort. It costs 150 ns an event at ten million, and its order of equals is not defined.
 */
#include "scope/store/lod_internal.h"

#include <string.h>

#define MERGE_STRETCHES 64u /* with more stretches than this the radix sort is cheaper */
#define DIGIT_BITS      11u
#define DIGITS          (1u << DIGIT_BITS)

/* True when b must stand before a, which stands before it now. */
static inline bool wrong(const osc_lod_input *in, const lod_entry *a, const lod_entry *b)
{
    if (a->start != b->start)
        return a->start > b->start;
    if (a->dur != b->dur)
        return a->dur < b->dur;
    if (a->dur == LOD_FAR && in->dur_ns[a->id] != in->dur_ns[b->id])
        return in->dur_ns[a->id] < in->dur_ns[b->id];
    return a->id > b->id;
}

/* End of the stretch in order that begins at `from`. */
static uint32_t stretch_end(const osc_lod_input *in, const lod_entry *e, uint32_t from, uint32_t n)
{
    uint32_t i = from + 1;
    while (i < n && !wrong(in, &e[i - 1], &e[i]))
        i++;
    return i;
}

/* Stretches in order, counted up to `most`. */
static uint32_t stretches(const osc_lod_input *in, const lod_entry *e, uint32_t n, uint32_t most)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n && found < most; found++)
        i = stretch_end(in, e, i, n);
    return found;
}

/* Merges [a, middle) and [middle, end) of `from` into the same places of `to`. */
static void merge(const osc_lod_input *in, const lod_entry *from, uint32_t a, uint32_t middle,
                  uint32_t end, lod_entry *to)
{
    uint32_t b = middle;
    for (uint32_t i = a; i < end; i++) {
        bool second = b < end && (a == middle || wrong(in, &from[a], &from[b]));
        to[i] = from[second ? b++ : a++];
    }
}

/* One pass over all pairs of stretches; the number of stretches left. */
static uint32_t merge_pass(const osc_lod_input *in, const lod_entry *from, uint32_t n,
                           lod_entry *to)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; left++) {
        uint32_t middle = stretch_end(in, from, i, n);
        uint32_t end = middle < n ? stretch_end(in, from, middle, n) : n;
        merge(in, from, i, middle, end, to);
        i = end;
    }
    return left;
}

/* Sorts by start only, stable; the result is where it returns. */
static lod_entry *radix(lod_entry *from, lod_entry *to, uint32_t n)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        least = from[i].start < least ? from[i].start : least;
        most = from[i].start > most ? from[i].start : most;
    }
    uint64_t range = (uint64_t)most - (uint64_t)least;
    for (unsigned shift = 0; shift < 64 && range >> shift > 0; shift += DIGIT_BITS) {
        uint32_t place[DIGITS] = {0}, sum = 0;
        for (uint32_t i = 0; i < n; i++)
            place[((uint64_t)from[i].start - (uint64_t)least) >> shift & (DIGITS - 1)]++;
        for (uint32_t d = 0; d < DIGITS; d++) {
            uint32_t here = place[d];
            place[d] = sum;
            sum += here;
        }
        for (uint32_t i = 0; i < n; i++)
            to[place[((uint64_t)from[i].start - (uint64_t)least) >> shift & (DIGITS - 1)]++] =
                from[i];
        lod_entry *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

bool osc_lod_sorted(const osc_lod_input *in, const lod_entry *entries, uint32_t n)
{
    return stretch_end(in, entries, 0, n) >= n;
}

lod_entry *osc_lod_sort(const osc_lod_input *in, lod_entry *entries, lod_entry *spare, uint32_t n)
{
    uint32_t found = stretches(in, entries, n, MERGE_STRETCHES);
    if (found == MERGE_STRETCHES && n > DIGITS) {
        lod_entry *sorted = radix(entries, spare, n);
        spare = sorted == entries ? spare : entries;
        entries = sorted;
    }
    for (uint32_t left = found; left > 1;) {
        left = merge_pass(in, entries, n, spare);
        lod_entry *swap = entries;
        entries = spare;
        spare = swap;
    }
    return entries;
}
