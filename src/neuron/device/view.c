/*
 * view.c - moving the elements of a pattern to and from packed blocks.
 *
 * Dense rows convert straight from and to their memory. Everything else is gathered into (scattered
 * from) a packed block by loops over the innermost dimension, one per element size; the position in
 * the outer dimensions is found once per call by division, then counted up.
 */
#include "neuron/device/convert.h"
#include "neuron/device/memory.h"

#include <assert.h>
#include <string.h>

enum { MAX_ELEMENT = 16 };

/* Where in the inner dimensions an element lies: byte offset from the row's start, and counters. */
typedef struct position {
    int64_t offset;
    uint32_t index[OSC_AP_DIMS];
} position;

static position locate(const dev_view *v, uint64_t col)
{
    position p = {0, {0, 0, 0, 0}};
    for (unsigned i = v->ndim; i-- > 0;) {
        p.index[i] = (uint32_t)(col % v->count[i]);
        col /= v->count[i];
        p.offset += (int64_t)p.index[i] * v->stride[i];
    }
    return p;
}

/* After a run that reached the end of the innermost dimension: its start in the next outer step. */
static void carry(const dev_view *v, position *p)
{
    for (unsigned i = v->ndim; i-- > 0;) {
        if (p->index[i] < v->count[i])
            return;
        p->offset -= (int64_t)v->count[i] * v->stride[i];
        p->index[i] = 0;
        if (i > 0) {
            p->index[i - 1]++;
            p->offset += v->stride[i - 1];
        }
    }
}

#define COPY_STRIDED(bytes)                                            \
    for (uint32_t i = 0; i < n; i++, dst += dst_step, src += src_step) \
    memcpy(dst, src, bytes)

/* n elements of esize bytes between two strided places. */
static void copy_strided(uint8_t *dst, int64_t dst_step, const uint8_t *src, int64_t src_step,
                         uint32_t n, unsigned esize)
{
    switch (esize) {
    case 1: COPY_STRIDED(1); break;
    case 2: COPY_STRIDED(2); break;
    case 4: COPY_STRIDED(4); break;
    case 8: COPY_STRIDED(8); break;
    default:
        assert(esize == MAX_ELEMENT);
        COPY_STRIDED(16);
        break;
    }
}

void dev_view_gather(const dev_view *v, uint32_t row, uint64_t col, uint32_t n, uint8_t *packed)
{
    const uint8_t *base = v->base + (int64_t)row * v->row_pitch;
    if (v->dense) {
        memcpy(packed, base + col * v->esize, (size_t)n * v->esize);
        return;
    }
    position p = locate(v, col);
    unsigned inner = v->ndim - 1u;
    while (n > 0) {
        uint32_t run = v->count[inner] - p.index[inner];
        run = run < n ? run : n;
        copy_strided(packed, v->esize, base + p.offset, v->stride[inner], run, v->esize);
        packed += (size_t)run * v->esize;
        n -= run;
        p.index[inner] += run;
        p.offset += (int64_t)run * v->stride[inner];
        carry(v, &p);
    }
}

void dev_view_scatter(const dev_view *v, uint32_t row, uint64_t col, uint32_t n,
                      const uint8_t *packed)
{
    uint8_t *base = v->base + (int64_t)row * v->row_pitch;
    if (v->dense) {
        memcpy(base + col * v->esize, packed, (size_t)n * v->esize);
        return;
    }
    position p = locate(v, col);
    unsigned inner = v->ndim - 1u;
    while (n > 0) {
        uint32_t run = v->count[inner] - p.index[inner];
        run = run < n ? run : n;
        copy_strided(base + p.offset, v->stride[inner], packed, v->esize, run, v->esize);
        packed += (size_t)run * v->esize;
        n -= run;
        p.index[inner] += run;
        p.offset += (int64_t)run * v->stride[inner];
        carry(v, &p);
    }
}

dev_block dev_block_first(uint32_t rows, uint64_t elems)
{
    assert(rows > 0 && elems > 0);
    dev_block block = {0, 1, 0, DEV_BLOCK};
    if (elems <= DEV_BLOCK) {
        block.cols = (uint32_t)elems;
        block.rows = DEV_BLOCK / block.cols;
        block.rows = block.rows < rows ? block.rows : rows;
    }
    return block;
}

bool dev_block_next(dev_block *block, uint32_t rows, uint64_t elems)
{
    if (elems <= DEV_BLOCK) {
        block->row += block->rows;
        if (block->row >= rows)
            return false;
        block->rows = rows - block->row < block->rows ? rows - block->row : block->rows;
        return true;
    }
    block->col += block->cols;
    if (block->col >= elems) {
        block->col = 0;
        if (++block->row >= rows)
            return false;
    }
    block->cols = elems - block->col < DEV_BLOCK ? (uint32_t)(elems - block->col) : DEV_BLOCK;
    return true;
}

/* A [P,1] operand under a wider block. */
static bool is_column(const dev_view *v, const dev_block *block)
{
    return v->row_elems == 1 && (block->cols > 1 || block->col > 0);
}

static const uint8_t *row_address(const dev_view *v, uint32_t row, uint64_t col)
{
    return v->base + (int64_t)row * v->row_pitch + (int64_t)(col * v->esize);
}

void dev_load_f32(const dev_view *v, const dev_block *block, float *out)
{
    uint8_t packed[DEV_BLOCK * MAX_ELEMENT / 2];
    for (uint32_t r = 0; r < block->rows; r++, out += block->cols) {
        uint32_t row = block->row + r;
        if (is_column(v, block)) {
            float value;
            dev_to_f32(v->dtype, row_address(v, row, 0), 1, &value);
            for (uint32_t i = 0; i < block->cols; i++)
                out[i] = value;
        } else if (v->dense) {
            dev_to_f32(v->dtype, row_address(v, row, block->col), block->cols, out);
        } else {
            dev_view_gather(v, row, block->col, block->cols, packed);
            dev_to_f32(v->dtype, packed, block->cols, out);
        }
    }
}

void dev_store_f32(const dev_view *v, const dev_block *block, const float *in)
{
    uint8_t packed[DEV_BLOCK * MAX_ELEMENT / 2];
    for (uint32_t r = 0; r < block->rows; r++, in += block->cols) {
        uint32_t row = block->row + r;
        if (v->dense) {
            uint8_t *base = v->base + (int64_t)row * v->row_pitch;
            dev_from_f32(v->dtype, in, block->cols, base + block->col * v->esize);
        } else {
            dev_from_f32(v->dtype, in, block->cols, packed);
            dev_view_scatter(v, row, block->col, block->cols, packed);
        }
    }
}

void dev_load_i64(const dev_view *v, const dev_block *block, int64_t *out)
{
    uint8_t packed[DEV_BLOCK * MAX_ELEMENT / 2];
    for (uint32_t r = 0; r < block->rows; r++, out += block->cols) {
        uint32_t row = block->row + r;
        if (is_column(v, block)) {
            int64_t value;
            dev_to_i64(v->dtype, row_address(v, row, 0), 1, &value);
            for (uint32_t i = 0; i < block->cols; i++)
                out[i] = value;
        } else {
            dev_view_gather(v, row, block->col, block->cols, packed);
            dev_to_i64(v->dtype, packed, block->cols, out);
        }
    }
}

void dev_store_i64(const dev_view *v, const dev_block *block, const int64_t *in)
{
    uint8_t packed[DEV_BLOCK * MAX_ELEMENT / 2];
    for (uint32_t r = 0; r < block->rows; r++, in += block->cols) {
        dev_from_i64(v->dtype, in, block->cols, packed);
        dev_view_scatter(v, block->row + r, block->col, block->cols, packed);
    }
}

void dev_load_raw(const dev_view *v, const dev_block *block, uint8_t *out)
{
    for (uint32_t r = 0; r < block->rows; r++, out += (size_t)block->cols * v->esize) {
        uint32_t row = block->row + r;
        if (is_column(v, block))
            copy_strided(out, v->esize, row_address(v, row, 0), 0, block->cols, v->esize);
        else
            dev_view_gather(v, row, block->col, block->cols, out);
    }
}

void dev_store_raw(const dev_view *v, const dev_block *block, const uint8_t *in)
{
    for (uint32_t r = 0; r < block->rows; r++, in += (size_t)block->cols * v->esize)
        dev_view_scatter(v, block->row + r, block->col, block->cols, in);
}
