/*
 * ops.h - what the engines compute: ALU operators and activation functions.
 *
 * Their numbers are part of the NEFF format (docs/formats/neff.md): never reused, new ones at the end.
 * All functions from any thread; the texts have static storage.
 */
#ifndef OSC_ISA_OPS_H
#define OSC_ISA_OPS_H

#include <stdint.h>

/* ALU operators of Vector, Scalar (mul, add) and GpSimd. neuroncore-model.md 3.2. Comparisons give 1 or 0. */
/* clang-format off */
typedef enum osc_alu {
    OSC_ALU_BYPASS = 0, /* first operand unchanged */
    OSC_ALU_ADD, OSC_ALU_SUB, OSC_ALU_MUL, OSC_ALU_DIV, OSC_ALU_MAX, OSC_ALU_MIN, OSC_ALU_POW,
    OSC_ALU_EQ, OSC_ALU_NE, OSC_ALU_GE, OSC_ALU_GT, OSC_ALU_LE, OSC_ALU_LT,
    OSC_ALU_AND, OSC_ALU_OR, OSC_ALU_XOR,                /* logical: any non-zero is true, result 1/0 */
    OSC_ALU_BITAND, OSC_ALU_BITOR, OSC_ALU_BITXOR, OSC_ALU_BITNOT, OSC_ALU_SHL, OSC_ALU_SHR, /* ints only */
    OSC_ALU_ABSMAX, OSC_ALU_ABSMIN,
    OSC_ALU_ABS, OSC_ALU_SQUARE, OSC_ALU_RELU, OSC_ALU_RSQRT, OSC_ALU_RECIP, /* unary on the first operand */
    OSC_ALU_FLOORMOD, OSC_ALU_FMOD,
    OSC_ALU_COUNT
} osc_alu;
/* clang-format on */
const char *osc_alu_name(osc_alu op);
/* MAX and MIN return NaN when either operand is NaN (what PyTorch's maximum and amax do). */

/* Activation functions of ScalarE: out = f(in * scale + bias). neuroncore-model.md 3.1. */
/* clang-format off */
typedef enum osc_act {
    OSC_ACT_COPY = 0, OSC_ACT_SQUARE, OSC_ACT_RELU, OSC_ACT_SIGMOID, OSC_ACT_GELU, OSC_ACT_GELU_TANH,
    OSC_ACT_SILU, OSC_ACT_TANH, OSC_ACT_SOFTPLUS, OSC_ACT_ERF, OSC_ACT_EXP, OSC_ACT_SIGN, OSC_ACT_ABS,
    OSC_ACT_LOG, OSC_ACT_SIN, OSC_ACT_COS, OSC_ACT_ARCTAN, OSC_ACT_SQRT, OSC_ACT_RSQRT, OSC_ACT_RECIP,
    OSC_ACT_LOG1P, OSC_ACT_EXPM1, OSC_ACT_FLOOR, OSC_ACT_CEIL, OSC_ACT_TRUNC, OSC_ACT_ROUND, OSC_ACT_MISH,
    OSC_ACT_COUNT
} osc_act;
/* clang-format on */
const char *osc_act_name(osc_act f);
/* The table set a function lives in; a program loads it by ACT_TABLE_LOAD before. Set 0 = in every set. */
uint8_t osc_act_set(osc_act f);

#endif
