/*
 * expand.h - from an ATen node to micro-operations: what the rows of ops_table.c are made of.
 *
 * An expander reads its node's arguments in schema order, appends micro-operations to the open group and
 * hands over its results. Operators differ mostly in one ALU operator or activation function, which is
 * data in their row. Adding an operator is one row, and an expander if none fits.
 */
#ifndef OSC_NEURON_COMPILER_EXPAND_H
#define OSC_NEURON_COMPILER_EXPAND_H

#include "neuron/compiler/lower.h"

/* How a row's operator relates to an iteration space. */
typedef enum osc_op_kind {
    OSC_ROW_ELEMENTWISE = 1, /* space = shape of the first result */
    OSC_ROW_REDUCE,          /* space = shape of argument 0, reduced over `dims` */
    OSC_ROW_WHOLE            /* lowered alone: row->lower */
} osc_op_kind;

/* Which dims a REDUCE row reduces. */
typedef enum osc_op_dims {
    OSC_DIMS_ALL = 0, /* every dim */
    OSC_DIMS_ARG1,    /* argument 1: list, int, or None for all */
    OSC_DIMS_ARG2,    /* argument 2 */
    OSC_DIMS_SHAPE,   /* as many last dims as the list in argument 1 has entries */
    OSC_DIMS_SHAPE2   /* the same with argument 2 */
} osc_op_dims;

typedef struct osc_expand {
    osc_lower *lower;
    osc_group *group;
    const osc_node *node;
    const struct osc_op_row *row;
} osc_expand;

typedef struct osc_op_row {
    const char *name; /* schema name with overload */
    uint8_t kind;     /* osc_op_kind */
    uint8_t dims;     /* osc_op_dims */
    void (*expand)(osc_expand *ex);
    osc_status (*lower)(osc_lower *lower, const struct osc_op_row *row);
    uint8_t alu;     /* osc_alu */
    uint8_t act;     /* osc_act */
    uint8_t variant; /* of the expander */
} osc_op_row;

/* The row of a name, NULL if there is none. */
const osc_op_row *osc_op_find(osc_str name);

/* ---- arguments ---- */

const osc_arg *osc_ex_raw(const osc_expand *ex,
                          uint32_t index); /* a NONE argument beyond the last */
/* Argument as an operand: tensors become inputs or results of this group, numbers immediates. */
osc_ir_arg osc_ex_arg(osc_expand *ex, uint32_t index);
bool osc_ex_has(const osc_expand *ex, uint32_t index); /* not None */
osc_dtype osc_ex_dtype(const osc_expand *ex,
                       uint32_t index); /* of a tensor; I32 or F32 for numbers */
double osc_ex_number(const osc_expand *ex, uint32_t index, double when_none);
int64_t osc_ex_int(const osc_expand *ex, uint32_t index, int64_t when_none);
osc_dtype osc_ex_out_dtype(const osc_expand *ex, uint32_t index);
void osc_ex_refuse(osc_expand *ex, const char *why); /* EUNSUPPORTED, sticky */

/* ---- values ---- */

/* dtype of an operand's tile; F32 for float immediates. */
osc_dtype osc_ex_tile_dtype(const osc_expand *ex, osc_ir_arg a);
/* Conversion as PyTorch's `to`: floats to integers truncate, integers wrap, anything to bool is != 0. */
osc_ir_arg osc_ex_convert(osc_expand *ex, osc_ir_arg a, osc_dtype to);
/* Result `index` is this operand, shaped like the space. */
void osc_ex_out(osc_expand *ex, uint32_t index, osc_ir_arg a);
/* Result of a reduction: keepdim says whether reduced dims are there with size 1 or gone. */
void osc_ex_out_kept(osc_expand *ex, uint32_t index, osc_ir_arg a, bool keepdim);
/* Number of elements that one reduction takes in. */
double osc_ex_reduced_count(const osc_expand *ex);

/* Strides of a value on the group's space, aligned at the right, 0 where it broadcasts. False when it
 * does not fit. */
bool osc_ex_strides(const osc_group *group, const osc_value_info *info, int64_t stride[]);

/* ---- expanders, by family ---- */

void osc_expand_act(osc_expand *ex);    /* row->act of argument 0 */
void osc_expand_unary(osc_expand *ex);  /* row->variant, see expand_unary.c */
void osc_expand_binary(osc_expand *ex); /* argument 0 row->alu argument 1 */
void osc_expand_compare(osc_expand *ex);
void osc_expand_logical(osc_expand *ex);
void osc_expand_bitwise(osc_expand *ex);
void osc_expand_ternary(osc_expand *ex); /* row->variant, see expand_ternary.c */
void osc_expand_backward(osc_expand *ex);
void osc_expand_copy(osc_expand *ex);
void osc_expand_fill(osc_expand *ex);
void osc_expand_reduce(osc_expand *ex);
void osc_expand_var(osc_expand *ex);
void osc_expand_vector_norm(osc_expand *ex);
void osc_expand_mse_loss(osc_expand *ex);
void osc_expand_softmax(osc_expand *ex);
void osc_expand_layer_norm(osc_expand *ex);
void osc_expand_rms_norm(osc_expand *ex);
void osc_expand_softmax_backward(osc_expand *ex);

#endif
