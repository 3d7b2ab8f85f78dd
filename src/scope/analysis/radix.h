/*
 * radix.h - sorts row numbers by an unsigned key, in linear time and without comparing.
 *
 * Time stamps of a capture span few bits once the smallest is taken off, so that three or four
 * passes do.
 */
#ifndef OSC_ANALYSIS_RADIX_H
#define OSC_ANALYSIS_RADIX_H

#include <stdint.h>

typedef struct osc_keyed {
    uint64_t key;
    uint32_t value;
} osc_keyed;

/*
 * Sorts n entries by key; equal keys keep their order. spare has room for n entries and is
 * overwritten. The result is in `keys`. Linear in n and in the bits of the largest key; nothing to
 * do on entries in order.
 */
void osc_radix_sort(osc_keyed *keys, osc_keyed *spare, uint32_t n);

#endif
