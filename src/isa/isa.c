/*
 * isa.c - names and small facts of engines, operators, functions and patterns.
 *
 * Rejected: names inside the opcode table. Operators and activation functions are operands of many
 * rows, so they are tables of their own.
 */
#include "isa/isa.h"

#include <assert.h>
#include <stddef.h>

static const char *const ENGINE_NAMES[OSC_ENGINE_COUNT] = {
    [OSC_ENGINE_NONE] = "none",     [OSC_ENGINE_TENSOR] = "Tensor", [OSC_ENGINE_SCALAR] = "Scalar",
    [OSC_ENGINE_GPSIMD] = "GpSimd", [OSC_ENGINE_DMA] = "DMA",       [OSC_ENGINE_VECTOR] = "Vector",
    [OSC_ENGINE_SYNC] = "Sync",
};

const char *osc_engine_name(osc_engine engine)
{
    return (unsigned)engine < OSC_ENGINE_COUNT ? ENGINE_NAMES[engine] : "?";
}

static const char *const ALU_NAMES[OSC_ALU_COUNT] = {
    [OSC_ALU_BYPASS] = "bypass",      [OSC_ALU_ADD] = "add",
    [OSC_ALU_SUB] = "subtract",       [OSC_ALU_MUL] = "multiply",
    [OSC_ALU_DIV] = "divide",         [OSC_ALU_MAX] = "maximum",
    [OSC_ALU_MIN] = "minimum",        [OSC_ALU_POW] = "power",
    [OSC_ALU_EQ] = "equal",           [OSC_ALU_NE] = "not_equal",
    [OSC_ALU_GE] = "greater_equal",   [OSC_ALU_GT] = "greater",
    [OSC_ALU_LE] = "less_equal",      [OSC_ALU_LT] = "less",
    [OSC_ALU_AND] = "logical_and",    [OSC_ALU_OR] = "logical_or",
    [OSC_ALU_XOR] = "logical_xor",    [OSC_ALU_BITAND] = "bitwise_and",
    [OSC_ALU_BITOR] = "bitwise_or",   [OSC_ALU_BITXOR] = "bitwise_xor",
    [OSC_ALU_BITNOT] = "invert",      [OSC_ALU_SHL] = "left_shift",
    [OSC_ALU_SHR] = "right_shift",    [OSC_ALU_ABSMAX] = "abs_max",
    [OSC_ALU_ABSMIN] = "abs_min",     [OSC_ALU_ABS] = "abs",
    [OSC_ALU_SQUARE] = "square",      [OSC_ALU_RELU] = "relu",
    [OSC_ALU_RSQRT] = "rsqrt",        [OSC_ALU_RECIP] = "reciprocal",
    [OSC_ALU_FLOORMOD] = "floor_mod", [OSC_ALU_FMOD] = "fmod",
};

const char *osc_alu_name(osc_alu op)
{
    return (unsigned)op < OSC_ALU_COUNT ? ALU_NAMES[op] : "?";
}

typedef struct act_row {
    const char *name;
    uint8_t set;
} act_row;

/*
 * Function sets. Names seen in compiled programs (neuroncore-model.md 3.1): reciprocal_sqrt_and_small,
 * natural_log_exp_and_others, reciprocal_and_small, gelu_and_others. The small functions live in every
 * set; which set the functions that no document places (sigmoid, tanh, erf, trigonometry, rounding)
 * belong to is a guess, grouped by kind.
 */
enum { SET_ANY = 0, SET_EXP_LOG, SET_RSQRT, SET_RECIP, SET_GELU, SET_SIGMOID, SET_TRIG, SET_ROUND };

static const act_row ACT_ROWS[OSC_ACT_COUNT] = {
    [OSC_ACT_COPY] = {"copy", SET_ANY},
    [OSC_ACT_SQUARE] = {"square", SET_ANY},
    [OSC_ACT_RELU] = {"relu", SET_ANY},
    [OSC_ACT_SIGMOID] = {"sigmoid", SET_SIGMOID},
    [OSC_ACT_GELU] = {"gelu", SET_GELU},
    [OSC_ACT_GELU_TANH] = {"gelu_apprx_tanh", SET_GELU},
    [OSC_ACT_SILU] = {"silu", SET_SIGMOID},
    [OSC_ACT_TANH] = {"tanh", SET_SIGMOID},
    [OSC_ACT_SOFTPLUS] = {"softplus", SET_EXP_LOG},
    [OSC_ACT_ERF] = {"erf", SET_GELU},
    [OSC_ACT_EXP] = {"exp", SET_EXP_LOG},
    [OSC_ACT_SIGN] = {"sign", SET_ANY},
    [OSC_ACT_ABS] = {"abs", SET_ANY},
    [OSC_ACT_LOG] = {"log", SET_EXP_LOG},
    [OSC_ACT_SIN] = {"sin", SET_TRIG},
    [OSC_ACT_COS] = {"cos", SET_TRIG},
    [OSC_ACT_ARCTAN] = {"arctan", SET_TRIG},
    [OSC_ACT_SQRT] = {"sqrt", SET_RSQRT},
    [OSC_ACT_RSQRT] = {"rsqrt", SET_RSQRT},
    [OSC_ACT_RECIP] = {"reciprocal", SET_RECIP},
    [OSC_ACT_LOG1P] = {"log1p", SET_EXP_LOG},
    [OSC_ACT_EXPM1] = {"expm1", SET_EXP_LOG},
    [OSC_ACT_FLOOR] = {"floor", SET_ROUND},
    [OSC_ACT_CEIL] = {"ceil", SET_ROUND},
    [OSC_ACT_TRUNC] = {"trunc", SET_ROUND},
    [OSC_ACT_ROUND] = {"round", SET_ROUND},
    [OSC_ACT_MISH] = {"mish", SET_EXP_LOG},
};

const char *osc_act_name(osc_act f)
{
    return (unsigned)f < OSC_ACT_COUNT ? ACT_ROWS[f].name : "?";
}

uint8_t osc_act_set(osc_act f)
{
    return (unsigned)f < OSC_ACT_COUNT ? ACT_ROWS[f].set : (uint8_t)SET_ANY;
}

uint64_t osc_ap_row_elems(const osc_ap *ap)
{
    assert(ap->ndim <= OSC_AP_DIMS);
    uint64_t product = 1;
    for (uint32_t i = 0; i < ap->ndim; i++) {
        /* Saturates: a decoded pattern may claim 2^128 elements; the checks refuse it by its size. */
        if (__builtin_mul_overflow(product, (uint64_t)ap->dim[i].count, &product))
            return UINT64_MAX;
    }
    return product;
}

bool osc_ap_is_absent(const osc_ap *ap)
{
    return ap->space == OSC_SPACE_NONE && ap->dtype == OSC_DTYPE_NONE && ap->ndim == 0 &&
           ap->start_partition == 0 && ap->nparts == 0 && ap->tensor == 0 && ap->offset == 0 &&
           ap->part_stride == 0;
}

#define DMA_ENGINES         16u
#define ROWS_PER_DMA_ENGINE 8u

uint32_t osc_isa_dma_engines(const osc_inst *inst)
{
    uint32_t rows = inst->dst.nparts > inst->src[0].nparts ? inst->dst.nparts : inst->src[0].nparts;
    uint32_t engines = (rows + ROWS_PER_DMA_ENGINE - 1) / ROWS_PER_DMA_ENGINE;
    if (engines == 0)
        engines = 1;
    return engines < DMA_ENGINES ? engines : DMA_ENGINES;
}
