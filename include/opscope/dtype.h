/*
 * dtype.h - element types, shared by the public interface and the instruction set.
 * Meaning and rounding rules: src/isa/dtype.h.
 */
#ifndef OPSCOPE_DTYPE_H
#define OPSCOPE_DTYPE_H

/* Fixed numbers, part of the NEFF format; never reused. */
typedef enum osc_dtype {
    OSC_DTYPE_NONE = 0,
    OSC_BOOL = 1, /* one byte, 0 or 1 */
    OSC_U8 = 2,
    OSC_I8 = 3,
    OSC_I16 = 4,
    OSC_I32 = 5,
    OSC_I64 = 6, /* border only */
    OSC_F16 = 7,
    OSC_BF16 = 8,
    OSC_F32 = 9,
    OSC_F64 = 10, /* border only */
    OSC_U16 = 11,
    OSC_U32 = 12,
    OSC_RAW128 = 13, /* 16-byte cells (complex double): DMA moves only */
    OSC_DTYPE_COUNT
} osc_dtype;

#endif
