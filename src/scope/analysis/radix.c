/*
 * radix.c - least significant digit first, 11 bits at a time; see radix.h.
 *
 * Rejected: merge sort by comparing. On millions of device events it takes several times as long,
 * and inversions, of which profilers write thousands a file, do not make this one slower.
 */
#include "scope/analysis/radix.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static uint32_t digit(uint64_t key, unsigned shift)
{
    return (uint32_t)(key >> shift) & (DIGITS - 1);
}

static void pass(const osc_keyed *in, osc_keyed *out, uint32_t n, unsigned shift)
{
    uint32_t at[DIGITS] = {0};
    for (uint32_t i = 0; i < n; i++)
        at[digit(in[i].key, shift)]++;
    uint32_t sum = 0;
    for (uint32_t d = 0; d < DIGITS; d++) {
        uint32_t here = at[d];
        at[d] = sum;
        sum += here;
    }
    assert(sum == n);
    for (uint32_t i = 0; i < n; i++)
        out[at[digit(in[i].key, shift)]++] = in[i];
}

void osc_radix_sort(osc_keyed *keys, osc_keyed *spare, uint32_t n)
{
    uint64_t used = 0;
    bool in_order = true;
    osc_keyed *in = keys, *out = spare;
    for (uint32_t i = 0; i < n; i++) {
        used |= keys[i].key;
        in_order = in_order && (i == 0 || keys[i - 1].key <= keys[i].key);
    }
    for (unsigned shift = 0; !in_order && shift < 64 && used >> shift != 0; shift += DIGIT_BITS) {
        if (digit(used, shift) == 0)
            continue; /* nobody has a bit here */
        pass(in, out, n, shift);
        osc_keyed *swap = in;
        in = out;
        out = swap;
    }
    if (in != keys)
        memcpy(keys, in, n * sizeof *keys);
}
