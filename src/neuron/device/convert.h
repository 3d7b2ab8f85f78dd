/*
 * convert.h - arrays of memory elements to what the engines calculate with, and back.
 *
 * Memory elements are unaligned bytes of an osc_dtype. The float side rounds to nearest even; the
 * integer side wraps to the width of the element, as two's complement hardware does. Float to
 * integer truncates toward zero and saturates, NaN gives 0: what PyTorch's .to(int) does inside
 * the range of the type. (neuroncore-model.md 3.3 leaves the mode open; it is fixed here, in
 * dev_from_f32.)
 */
#ifndef OSC_NEURON_DEVICE_CONVERT_H
#define OSC_NEURON_DEVICE_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n elements of dtype at raw (packed) to fp32. Not for 128-bit cells. Any thread. */
void dev_to_f32(uint8_t dtype, const uint8_t *raw, size_t n, float *out);

/* n fp32 values to packed elements of dtype at raw. bool stores 1 for every non-zero, NaN
 * included. */
void dev_from_f32(uint8_t dtype, const float *in, size_t n, uint8_t *raw);

/* The same through exact 64-bit integers; dtype must be an integer type or bool. */
void dev_to_i64(uint8_t dtype, const uint8_t *raw, size_t n, int64_t *out);

/* From exact integers; a float dtype is converted with one rounding, an integer type wraps. */
void dev_from_i64(uint8_t dtype, const int64_t *in, size_t n, uint8_t *raw);

/* True for bool and the integer types. */
bool dev_is_int(uint8_t dtype);

#endif
