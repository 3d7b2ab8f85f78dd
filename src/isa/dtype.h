/*
 * dtype.h - element types that memories of the device can hold.
 *
 * The compute engines read any of these into fp32, calculate in fp32 and round once at the write
 * (exceptions: same-type copies are bit exact, and GpSimd adds, subtracts and multiplies integers
 * exactly). 64-bit types exist only at the border: DMA moves their bytes, engines never see them.
 * Source: neuroncore-model.md 3.3.
 */
#ifndef OSC_ISA_DTYPE_H
#define OSC_ISA_DTYPE_H

#include "opscope/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes per element; 0 for OSC_DTYPE_NONE or an unknown number. Any thread. */
size_t osc_dtype_size(osc_dtype dtype);

/* "bf16", "fp32", "int32", "bool", ...; "?" for an unknown number. Static storage. Any thread. */
const char *osc_dtype_name(osc_dtype dtype);

/* True for F16, BF16, F32, F64. */
bool osc_dtype_is_float(osc_dtype dtype);

/* True when the compute engines may read and write it (not the 64- and 128-bit ones). */
bool osc_dtype_is_native(osc_dtype dtype);

/* Single-value conversions with round to nearest even; NaN stays NaN, overflow becomes infinity. */
float osc_f16_to_f32(uint16_t bits);
uint16_t osc_f32_to_f16(float value);
float osc_bf16_to_f32(uint16_t bits);
uint16_t osc_f32_to_bf16(float value);

#endif
