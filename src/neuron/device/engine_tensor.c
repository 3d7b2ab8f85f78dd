/*
 * engine_tensor.c - values of TensorE: load weights, multiply moving rows, transpose.
 *
 * dst[m][n] (+)= sum over k of weights[k][m] * moving[k][n], fp32 products added in the order of
 * k, the sum then added to what PSUM holds. The kernel computes tiles of 4 x 16 results that stay
 * in vector registers over the whole of k; the tile shape does not change the order of any sum.
 * fp32 operands without FP32_FULL are rounded to the 10 mantissa bits of tf32, which is what one
 * pass of the array multiplies (neuroncore-model.md 1.6, 3.3).
 *
 * Rejected: a BLAS. Its order of summation is its own secret, and results must not depend on the
 * host.
 */
#include "neuron/device/clones.h"
#include "neuron/device/convert.h"
#include "neuron/device/engine.h"

#include <assert.h>
#include <string.h>

enum {
    TILE_M = 4,
    TILE_N = 16,
    MAX_N = 512,
    PAD_M = OSC_PARTITIONS,
    PANEL = OSC_PARTITIONS * TILE_N
};

/* Round to nearest even at bit 13: tf32. Infinities and NaN stay. */
static void round_tf32(float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &v[i], 4);
        if ((u & 0x7f800000u) == 0x7f800000u)
            continue;
        u = (u + 0xfffu + ((u >> 13) & 1u)) & ~0x1fffu;
        memcpy(&v[i], &u, 4);
    }
}

static void load_row(const dev_view *v, uint32_t row, uint64_t col, uint32_t n, bool tf32,
                     float *out)
{
    dev_block piece = {row, 1, col, n};
    dev_load_f32(v, &piece, out);
    if (tf32)
        round_tf32(out, n);
}

static bool is_tf32(const osc_inst *inst)
{
    return inst->src[0].dtype == OSC_F32 && (inst->flags & OSC_INST_FP32_FULL) == 0;
}

static void ldweights(dev_unit *unit, const osc_inst *inst)
{
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    dev_weights *w = unit->weights;
    assert(src.rows <= OSC_PARTITIONS && src.row_elems <= OSC_PARTITIONS);
    w->k = src.rows;
    w->m = (uint32_t)src.row_elems;
    uint32_t padded = (w->m + TILE_M - 1) / TILE_M * TILE_M;
    for (uint32_t k = 0; k < w->k; k++) {
        load_row(&src, k, 0, w->m, is_tf32(inst), w->value[k]);
        for (uint32_t m = w->m; m < padded; m++)
            w->value[k][m] = 0.0f;
    }
}

typedef float lanes8 __attribute__((vector_size(32), aligned(4), may_alias));

/* One tile: out[i][0..16) = sum over k of w[k][i] * x[k][0..16), i in 0..3. */
#define TILE_ROW(i)                                                       \
    do {                                                                  \
        lanes8 factor = {w[i], w[i], w[i], w[i], w[i], w[i], w[i], w[i]}; \
        sum##i##0 += factor * x0;                                         \
        sum##i##1 += factor * x1;                                         \
    } while (0)

#define STORE_ROW(i)                                  \
    do {                                              \
        *(lanes8 *)(out + (i)*MAX_N) = sum##i##0;     \
        *(lanes8 *)(out + (i)*MAX_N + 8) = sum##i##1; \
    } while (0)

DEV_CLONES static void tile(const float *w, const float *x, uint32_t k_count, float *out)
{
    lanes8 sum00 = {0}, sum01 = {0}, sum10 = {0}, sum11 = {0};
    lanes8 sum20 = {0}, sum21 = {0}, sum30 = {0}, sum31 = {0};
    for (uint32_t k = 0; k < k_count; k++, w += PAD_M, x += TILE_N) {
        lanes8 x0 = *(const lanes8 *)x, x1 = *(const lanes8 *)(x + 8);
        TILE_ROW(0);
        TILE_ROW(1);
        TILE_ROW(2);
        TILE_ROW(3);
    }
    STORE_ROW(0);
    STORE_ROW(1);
    STORE_ROW(2);
    STORE_ROW(3);
}

/* Columns [col, col + 16) of the moving operand, one line of 16 per k, zero beyond its end. */
static void load_panel(const dev_view *moving, uint32_t k_count, uint64_t col, uint32_t n,
                       bool tf32, float *panel)
{
    for (uint32_t k = 0; k < k_count; k++, panel += TILE_N) {
        load_row(moving, k, col, n, tf32, panel);
        for (uint32_t i = n; i < TILE_N; i++)
            panel[i] = 0.0f;
    }
}

/* Adds to, or replaces, one row of the destination. */
static void store_row(const dev_view *dst, uint32_t row, uint64_t col, uint32_t n, bool accumulate,
                      float *values)
{
    dev_block piece = {row, 1, col, n};
    if (accumulate) {
        float held[MAX_N];
        dev_load_f32(dst, &piece, held);
        for (uint32_t i = 0; i < n; i++)
            values[i] = held[i] + values[i];
    }
    dev_store_f32(dst, &piece, values);
}

/* One piece of up to MAX_N columns: converts the moving operand panel by panel, then multiplies. */
static void matmul_piece(dev_unit *unit, const osc_inst *inst, const dev_view *dst,
                         const dev_view *moving, uint64_t col, uint32_t n)
{
    const dev_weights *w = unit->weights;
    float result[TILE_M * MAX_N];
    uint32_t k_count = w->k < moving->rows ? w->k : moving->rows;
    bool accumulate = (inst->flags & OSC_INST_ACCUMULATE) != 0;
    float *panels = unit->weights->panels;
    uint32_t tiles = (n + TILE_N - 1) / TILE_N;
    for (uint32_t t = 0; t < tiles; t++) {
        uint32_t at = t * TILE_N;
        load_panel(moving, k_count, col + at, n - at < TILE_N ? n - at : TILE_N, is_tf32(inst),
                   panels + (size_t)t * PANEL);
    }
    for (uint32_t m = 0; m < dst->rows; m += TILE_M) {
        for (uint32_t t = 0; t < tiles; t++)
            tile(&w->value[0][m], panels + (size_t)t * PANEL, k_count, result + (size_t)t * TILE_N);
        for (uint32_t i = 0; i < TILE_M && m + i < dst->rows; i++)
            store_row(dst, m + i, col, n, accumulate, result + (size_t)i * MAX_N);
    }
}

static void matmul(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view moving = dev_view_of(&unit->memory, &inst->src[0]);
    assert(dst.rows <= OSC_PARTITIONS && moving.rows <= OSC_PARTITIONS);
    for (uint64_t col = 0; col < dst.row_elems; col += MAX_N) {
        uint64_t left = dst.row_elems - col;
        matmul_piece(unit, inst, &dst, &moving, col, left < MAX_N ? (uint32_t)left : MAX_N);
    }
}

/* Bit exact when the types agree (v3: is_transpose), else through fp32 like any copy. */
static void pe_transpose(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    uint8_t row[OSC_PARTITIONS * 8];
    float values[OSC_PARTITIONS];
    uint8_t packed[OSC_PARTITIONS * 8];
    assert(src.row_elems <= OSC_PARTITIONS && dst.row_elems <= OSC_PARTITIONS);
    for (uint32_t p = 0; p < src.rows; p++) {
        uint32_t n = (uint32_t)src.row_elems;
        dev_view_gather(&src, p, 0, n, row);
        if (src.dtype != dst.dtype) {
            dev_to_f32(src.dtype, row, n, values);
            dev_from_f32(dst.dtype, values, n, packed);
        } else {
            memcpy(packed, row, (size_t)n * src.esize);
        }
        for (uint32_t f = 0; f < n; f++)
            dev_view_scatter(&dst, f, p, 1, packed + (size_t)f * dst.esize);
    }
}

void dev_tensor_execute(dev_unit *unit, const osc_inst *inst)
{
    switch (inst->opcode) {
    case OSC_OP_LDWEIGHTS: ldweights(unit, inst); break;
    case OSC_OP_MATMUL: matmul(unit, inst); break;
    case OSC_OP_PE_TRANSPOSE: pe_transpose(unit, inst); break;
    default: assert(0 && "opcode is not one of TensorE's");
    }
}
