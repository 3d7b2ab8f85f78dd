/*
 * alu.h - the arithmetic of the engines on packed arrays: operators, reductions, activation
 * functions.
 *
 * All float work is IEEE fp32 without contraction. Output may be the same array as an input.
 */
#ifndef OSC_NEURON_DEVICE_ALU_H
#define OSC_NEURON_DEVICE_ALU_H

#include "isa/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void dev_alu_fn(float *out, const float *a, const float *b, size_t n);

/* The fp32 operator; NULL for the bitwise ones, which exist on integers only. Unary operators
 * ignore b (which must still point at n values). */
dev_alu_fn *dev_alu_f32(uint8_t op);

/* True for the operators of one operand. */
bool dev_alu_is_unary(uint8_t op);

/* True for AND, OR, XOR, NOT and shifts on bits. */
bool dev_alu_is_bitwise(uint8_t op);

/* The exact integer operator. Results wrap to 64 bits here and to the element's width at the store.
 * Division truncates; x / 0 and x mod 0 are 0. A shift by 32 or more moves every bit out. */
void dev_alu_i64(uint8_t op, int64_t *out, const int64_t *a, const int64_t *b, size_t n);

/*
 * Reductions run in DEV_LANES partial results, element i going to lane i mod DEV_LANES, which are
 * then folded in a fixed tree: the same value however the row was cut into pieces, as long as
 * every piece but the last is a multiple of DEV_LANES. More accurate than one running sum.
 */
#define DEV_LANES 16u
typedef struct dev_lanes {
    float lane[DEV_LANES];
} dev_lanes;

/* op: ADD, MUL, MAX, MIN, ABSMAX, ABSMIN, AND, OR, XOR. */
void dev_lanes_start(uint8_t op, dev_lanes *lanes);
void dev_lanes_feed(uint8_t op, dev_lanes *lanes, const float *in, size_t n);
float dev_lanes_finish(uint8_t op, const dev_lanes *lanes);

/* The value a reduction over nothing has, for integers: 0, 1, or an end of the int64 range. */
int64_t dev_reduce_identity_i64(uint8_t op);

/* out = f(in), act.c. */
void dev_act_f32(uint8_t f, float *out, const float *in, size_t n);

#endif
