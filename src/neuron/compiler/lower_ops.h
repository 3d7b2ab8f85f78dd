/*
 * lower_ops.h - lowerings of operators that are kernels of their own (rows of kind WHOLE).
 */
#ifndef OSC_NEURON_COMPILER_LOWER_OPS_H
#define OSC_NEURON_COMPILER_LOWER_OPS_H

#include "neuron/compiler/expand.h"

typedef enum osc_matmul {
    OSC_MATMUL_MM = 0,
    OSC_MATMUL_BMM,
    OSC_MATMUL_ADDMM,
    OSC_MATMUL_BADDBMM,
    OSC_MATMUL_ADDMV
} osc_matmul;

/* Strided copy with cast; argument 0 to result 0 (lower_copy.c). */
osc_status osc_lower_copy(osc_lower *lower, const osc_op_row *row);
/* cat(tensors, dim), variant 1: stack (lower_copy.c). */
osc_status osc_lower_cat(osc_lower *lower, const osc_op_row *row);
/* mm, bmm, addmm, baddbmm, addmv (lower_matmul.c). */
osc_status osc_lower_matmul(osc_lower *lower, const osc_op_row *row);

#endif
