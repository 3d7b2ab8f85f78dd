/*
 * ir.h - the group: what one kernel computes, as micro-operations on whole tensors.
 *
 * A group has one iteration space (the broadcast shape of its nodes, some dims marked reduced) and a list
 * of micro-operations in order. Each is one engine instruction per tile, before select.c merges some. A
 * micro-operation's result is FULL (one element per point of the space) or ROW (one element per point of
 * the dims that are not reduced). Expanders append micro-operations; nothing here knows tiles or engines'
 * addresses.
 *
 *     naive rms norm, space [4, 512] with dim 1 reduced:
 *     0 input x   1 mul 0 0   2 reduce add 1   3 mul 2 (1/512)   4 add 3 eps   5 act rsqrt 4
 *     6 mul 0 5   7 input w   8 mul 6 7
 */
#ifndef OSC_NEURON_COMPILER_IR_H
#define OSC_NEURON_COMPILER_IR_H

#include "base/arena.h"
#include "base/status.h"
#include "isa/isa.h"
#include "neuron/compiler/graph.h"

typedef enum osc_ir_kind {
    OSC_IR_INPUT = 1, /* an HBM tensor */
    OSC_IR_FILL,      /* arg[0] immediate, to every element */
    OSC_IR_ALU,       /* (arg[0] alu[0] arg[1]) alu[1] arg[2] */
    OSC_IR_ACT,       /* act(arg[0] * arg[1] + arg[2]); NONE means 1 and 0 */
    OSC_IR_SELECT,    /* arg[0] ? arg[1] : arg[2] */
    OSC_IR_COPY, /* arg[0] converted; same dtype bit exact; integers on GpSimd wrap; ROW to FULL repeats */
    OSC_IR_REDUCE /* arg[0] over the reduced dims by alu[0]; ROW, fp32 */
} osc_ir_kind;

typedef enum osc_ir_arg_kind { OSC_IR_NONE = 0, OSC_IR_IMM, OSC_IR_REF } osc_ir_arg_kind;

typedef struct osc_ir_arg {
    uint8_t kind; /* osc_ir_arg_kind */
    uint32_t ref; /* index of the micro-operation */
    double imm;
} osc_ir_arg;

typedef struct osc_ir_op {
    uint8_t kind;    /* osc_ir_kind */
    uint8_t alu[2];  /* osc_alu */
    uint8_t act;     /* osc_act */
    bool reverse[2]; /* operands of alu[i] swapped */
    uint8_t dtype;   /* osc_dtype of the tile */
    uint8_t engine;  /* osc_engine */
    osc_ir_arg arg[3];
    uint32_t source;              /* source map index */
    osc_value value;              /* INPUT: which; others: the node result it is, or OSC_NO_VALUE */
    int64_t stride[OSC_MAX_RANK]; /* INPUT: in elements of dtype, per dim of the space */
    int64_t skip; /* INPUT: elements of dtype before the first one; for halves of 64-bit cells */
    uint32_t operand; /* INPUT: number among the plan's operands */
    /* INPUT: program tensor read instead of the value's own; UINT32_MAX: its own. */
    uint32_t tensor;
    bool wide; /* INPUT: has elements along the columns; set by the planner */
    /* filled by osc_group_analyse and select.c */
    bool full;     /* FULL, else ROW */
    bool dead;     /* merged into another, or unused */
    uint8_t level; /* reductions below it */
    uint32_t uses;
    uint32_t last_use; /* index of the last micro-operation that reads it; UINT32_MAX when stored */
    uint32_t sum_into; /* ACT: the REDUCE add its accumulator serves, or UINT32_MAX */
    uint32_t sum_of;   /* REDUCE: the ACT that produces it, or UINT32_MAX */
} osc_ir_op;

typedef struct osc_ir_output {
    uint32_t ref;
    osc_value value;
    uint8_t dtype; /* osc_dtype written; the value's, or int32 for halves of 64-bit cells */
    int64_t stride[OSC_MAX_RANK]; /* in elements of dtype; 0 on reduced dims of a ROW result */
    int64_t skip;
    uint32_t operand; /* number among the plan's operands */
    uint32_t tensor;  /* program tensor written instead of the value's own; UINT32_MAX: its own */
    bool wide;        /* has elements along the columns; set by the planner */
} osc_ir_output;

typedef struct osc_group {
    osc_arena *arena; /* not owned */
    uint32_t rank;
    int64_t size[OSC_MAX_RANK];
    bool reduced[OSC_MAX_RANK];
    bool has_reduce;
    osc_ir_op *ops;
    uint32_t count, cap;
    osc_ir_output *outputs;
    uint32_t output_count, output_cap;
    uint32_t source; /* given to micro-operations appended next */
    bool closed;     /* nothing may join: it stores what later nodes could not read from it */
    bool failed;     /* out of memory; sticky */
} osc_group;

/* A fresh group over a space; lives in the arena. NULL when out of memory. */
osc_group *osc_group_new(osc_arena *arena, uint32_t rank, const int64_t *size);

osc_ir_arg osc_ir_imm(double value);
osc_ir_arg osc_ir_none(void);

/* Appends a micro-operation as it is, source and value included. */
osc_ir_arg osc_ir_append(osc_group *group, const osc_ir_op *op);

/* Appending. Operands come first in order; a pair of immediates is folded into a FILL operand. */
osc_ir_arg osc_ir_input(osc_group *group, osc_value value, osc_dtype dtype, const int64_t *stride);
osc_ir_arg osc_ir_fill(osc_group *group, osc_dtype dtype, double value);
/* fp32 arithmetic on Vector (power of two tensors on GpSimd). */
osc_ir_arg osc_ir_alu(osc_group *group, osc_alu alu, osc_ir_arg a, osc_ir_arg b);
/* The same with a chosen tile dtype and engine. */
osc_ir_arg osc_ir_alu_as(osc_group *group, osc_alu alu, osc_ir_arg a, osc_ir_arg b, osc_dtype dtype,
                         osc_engine engine);
osc_ir_arg osc_ir_act(osc_group *group, osc_act act, osc_ir_arg a);
/* act(a * scale + bias). */
osc_ir_arg osc_ir_act_affine(osc_group *group, osc_act act, osc_ir_arg a, osc_ir_arg scale,
                             osc_ir_arg bias);
osc_ir_arg osc_ir_select(osc_group *group, osc_ir_arg predicate, osc_ir_arg yes, osc_ir_arg no,
                         osc_dtype dtype);
osc_ir_arg osc_ir_copy(osc_group *group, osc_ir_arg a, osc_dtype dtype, osc_engine engine);
osc_ir_arg osc_ir_reduce(osc_group *group, osc_alu alu, osc_ir_arg a);

/* One int32 half (0 low, 1 high) of a tensor of 64-bit cells; stride in cells. */
osc_ir_arg osc_ir_input_half(osc_group *group, osc_value value, const int64_t *stride,
                             unsigned half);

/* Records that a micro-operation's result goes to a tensor of HBM. */
void osc_group_store(osc_group *group, uint32_t ref, osc_value value, osc_dtype dtype,
                     const int64_t *stride);
/* The same to one half of 64-bit cells; stride in cells. */
void osc_group_store_half(osc_group *group, uint32_t ref, osc_value value, const int64_t *stride,
                          unsigned half);

/* Classes, levels, uses and last uses, from the `wide` flags on. Ops that nothing needs become dead. */
void osc_group_analyse(osc_group *group);
/* Merges micro-operations into the engines' compound instructions (select.c), then analyses again. */
void osc_group_select(osc_group *group);

#endif
