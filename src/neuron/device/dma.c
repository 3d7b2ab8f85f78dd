/*
 * dma.c - what DMA transfers do to values; their time is in cost.c and schedule.c.
 *
 * A copy moves elements in the order of both patterns; the shapes may differ as long as the
 * counts agree. Equal types move bytes untouched (any width up to 16); integers convert to
 * integers exactly, wrapping; everything else goes through fp32, as the DMA's converter does
 * (neuroncore-model.md 1.8).
 */
#include "neuron/device/convert.h"
#include "neuron/device/engine.h"

#include <assert.h>
#include <string.h>

/* How a block of packed elements changes type. */
static void convert(uint8_t from, const uint8_t *in, uint8_t to, uint8_t *out, uint32_t n)
{
    union {
        float f32[DEV_BLOCK];
        int64_t i64[DEV_BLOCK];
    } wide;
    if (dev_is_int(from) && dev_is_int(to)) {
        dev_to_i64(from, in, n, wide.i64);
        dev_from_i64(to, wide.i64, n, out);
    } else {
        dev_to_f32(from, in, n, wide.f32);
        dev_from_f32(to, wide.f32, n, out);
    }
}

/* Where a walk over all elements of a view stands. */
typedef struct cursor {
    uint32_t row;
    uint64_t col;
} cursor;

static uint32_t piece_size(const dev_view *v, const cursor *c, uint32_t n)
{
    uint64_t left = v->row_elems - c->col;
    return left < n ? (uint32_t)left : n;
}

static void step(const dev_view *v, cursor *c, uint32_t n)
{
    c->col += n;
    if (c->col == v->row_elems) {
        c->col = 0;
        c->row++;
    }
}

static void read_elements(const dev_view *v, cursor *c, uint32_t n, uint8_t *packed)
{
    while (n > 0) {
        uint32_t piece = piece_size(v, c, n);
        dev_view_gather(v, c->row, c->col, piece, packed);
        step(v, c, piece);
        packed += (size_t)piece * v->esize;
        n -= piece;
    }
}

static void write_elements(const dev_view *v, cursor *c, uint32_t n, const uint8_t *packed)
{
    while (n > 0) {
        uint32_t piece = piece_size(v, c, n);
        dev_view_scatter(v, c->row, c->col, piece, packed);
        step(v, c, piece);
        packed += (size_t)piece * v->esize;
        n -= piece;
    }
}

static void copy_any(const dev_view *dst, const dev_view *src)
{
    uint8_t in[DEV_BLOCK * 16], out[DEV_BLOCK * 16];
    cursor from = {0, 0}, to = {0, 0};
    uint64_t left = (uint64_t)src->rows * src->row_elems;
    assert(left == (uint64_t)dst->rows * dst->row_elems);
    while (left > 0) {
        uint32_t n = left < DEV_BLOCK ? (uint32_t)left : DEV_BLOCK;
        read_elements(src, &from, n, in);
        if (src->dtype == dst->dtype) {
            write_elements(dst, &to, n, in);
        } else {
            convert(src->dtype, in, dst->dtype, out, n);
            write_elements(dst, &to, n, out);
        }
        left -= n;
    }
}

/* Same type, dense rows of the same length: one move per row, which may overlap itself in HBM. */
static bool copy_rows(const dev_view *dst, const dev_view *src)
{
    if (src->dtype != dst->dtype || !src->dense || !dst->dense || src->rows != dst->rows)
        return false;
    size_t bytes = (size_t)src->row_elems * src->esize;
    const uint8_t *from = src->base;
    uint8_t *to = dst->base;
    for (uint32_t r = 0; r < src->rows; r++) {
        memmove(to, from, bytes);
        from += src->row_pitch;
        to += dst->row_pitch;
    }
    return true;
}

static void dma_copy(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    if (!copy_rows(&dst, &src))
        copy_any(&dst, &src);
}

/* dst[c][r] = src[r][c], in blocks of columns so that neither side is walked one line per
 * element. */
static void dma_transpose(dev_unit *unit, const osc_inst *inst)
{
    dev_view dst = dev_view_of(&unit->memory, &inst->dst);
    dev_view src = dev_view_of(&unit->memory, &inst->src[0]);
    uint8_t line[OSC_PARTITIONS * 16], turned[OSC_PARTITIONS * OSC_PARTITIONS * 4];
    uint32_t rows = src.rows;
    assert(src.esize <= 4 && rows <= OSC_PARTITIONS && dst.rows == src.row_elems &&
           dst.dtype == src.dtype);
    for (uint64_t col = 0; col < src.row_elems; col += OSC_PARTITIONS) {
        uint64_t left = src.row_elems - col;
        uint32_t n = left < OSC_PARTITIONS ? (uint32_t)left : OSC_PARTITIONS;
        for (uint32_t r = 0; r < rows; r++) {
            dev_view_gather(&src, r, col, n, line);
            for (uint32_t c = 0; c < n; c++)
                memcpy(turned + ((size_t)c * rows + r) * src.esize, line + (size_t)c * src.esize,
                       src.esize);
        }
        for (uint32_t c = 0; c < n; c++)
            dev_view_scatter(&dst, (uint32_t)(col + c), 0, rows,
                             turned + (size_t)c * rows * src.esize);
    }
}

void dev_dma_execute(dev_unit *unit, const osc_inst *inst)
{
    if (inst->opcode == OSC_OP_DMA_COPY)
        dma_copy(unit, inst);
    else
        dma_transpose(unit, inst);
}
