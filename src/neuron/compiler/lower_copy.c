/*
 * lower_copy.c - data movement: strided copies, concatenation, and dtype changes that only drop bytes.
 *
 * A copy that keeps the dtype, or narrows an integer (which keeps its low bytes), moves bits and needs no
 * engine: DMA goes from HBM to HBM. Where source and destination run along different axes, element by
 * element descriptors would cost some hundred nanoseconds each; the DMA transpose moves 128 x 128 tiles of
 * 2- and 4-byte elements instead (neuroncore-model.md 1.8).
 */
#include "neuron/compiler/lower_ops.h"

#include <assert.h>
#include <string.h>

#define TILE      128
#define MOVE_MOST ((int64_t)1 << 20) /* elements of a row that one DMA instruction moves */

/* ---- transposes ---- */

/* Axes of a 2-D transpose inside a move: `inner_from` is contiguous in the source, `inner_to` in the
 * destination. False when DMA copies do as well. */
static bool find_transpose(osc_dtype dtype, uint32_t rank, const int64_t *size,
                           const osc_strided *to, const osc_strided *from, uint32_t *inner_from,
                           uint32_t *inner_to)
{
    size_t bytes = osc_dtype_size(dtype);
    if (bytes != 2 && bytes != 4)
        return false;
    *inner_from = *inner_to = rank;
    for (uint32_t d = 0; d < rank; d++) {
        if (size[d] == 1)
            continue;
        if (from->stride[d] == 1)
            *inner_from = d;
        if (to->stride[d] == 1)
            *inner_to = d;
    }
    return *inner_from < rank && *inner_to < rank && *inner_from != *inner_to &&
           size[*inner_from] >= 8 && size[*inner_to] >= 8;
}

static osc_ap tile_pattern(const osc_strided *side, osc_dtype dtype, int64_t at, int64_t row_stride,
                           int64_t rows, int64_t col_stride, int64_t cols)
{
    osc_ap ap = {.space = OSC_SPACE_HBM,
                 .dtype = (uint8_t)dtype,
                 .nparts = (uint16_t)rows,
                 .ndim = 1,
                 .tensor = (uint16_t)side->at.tensor,
                 .part_stride = row_stride};
    ap.offset = side->at.offset + at * (int64_t)osc_dtype_size(dtype);
    ap.dim[0] = (osc_ap_dim){.stride = col_stride, .count = (uint32_t)cols};
    return ap;
}

/* One 2-D slice: rows along b (contiguous in `to`), columns along a (contiguous in `from`). */
static void transpose_slice(osc_lower *lower, osc_dtype dtype, const int64_t *size, uint32_t a,
                            uint32_t b, const osc_strided *to, int64_t to_at,
                            const osc_strided *from, int64_t from_at)
{
    for (int64_t r = 0; r < size[b]; r += TILE) {
        for (int64_t c = 0; c < size[a] && lower->kernel.status == OSC_OK; c += TILE) {
            int64_t rows = size[b] - r < TILE ? size[b] - r : TILE;
            int64_t cols = size[a] - c < TILE ? size[a] - c : TILE;
            osc_inst inst = {.opcode = OSC_OP_DMA_TRANSPOSE, .engine = OSC_ENGINE_SYNC};
            inst.src[0] = tile_pattern(from, dtype, from_at + r * from->stride[b] + c,
                                       from->stride[b], rows, 1, cols);
            inst.dst = tile_pattern(to, dtype, to_at + c * to->stride[a] + r, to->stride[a], cols,
                                    1, rows);
            osc_kernel_emit(&lower->kernel, &inst);
        }
    }
}

static void transpose(osc_lower *lower, osc_dtype dtype, uint32_t rank, const int64_t *size,
                      const osc_strided *to, const osc_strided *from, uint32_t a, uint32_t b)
{
    int64_t slices = 1;
    for (uint32_t d = 0; d < rank; d++)
        slices *= d == a || d == b ? 1 : size[d];
    for (int64_t s = 0; s < slices && lower->kernel.status == OSC_OK; s++) {
        int64_t left = s, to_at = 0, from_at = 0;
        for (uint32_t d = rank; d-- > 0;) {
            if (d == a || d == b)
                continue;
            to_at += left % size[d] * to->stride[d];
            from_at += left % size[d] * from->stride[d];
            left /= size[d];
        }
        transpose_slice(lower, dtype, size, a, b, to, to_at, from, from_at);
    }
}

/* ---- moves ---- */

osc_status osc_lower_move(osc_lower *lower, osc_dtype dtype, uint32_t rank, const int64_t *size,
                          const osc_strided *to, const osc_strided *from)
{
    osc_plan plan;
    uint32_t a, b;
    for (uint32_t d = 0; d < rank; d++) {
        if (size[d] == 0)
            return lower->kernel.status;
    }
    if (find_transpose(dtype, rank, size, to, from, &a, &b)) {
        transpose(lower, dtype, rank, size, to, from, a, b);
        return lower->kernel.status;
    }
    const int64_t *strides[2] = {from->stride, to->stride};
    osc_shape shape = {
        .rank = rank, .size = size, .operands = 2, .strides = strides, .reference = 1};
    if (!osc_plan_make(lower->arena, &shape, &plan))
        return osc_kernel_fail(&lower->kernel, OSC_ENOMEM, "no memory to compile this copy");
    for (uint32_t g = 0; g < plan.count; g++) {
        const osc_region *region = &plan.regions[g];
        osc_cutting cutting = osc_region_cut(region, MOVE_MOST);
        int64_t blocks = osc_region_blocks(region);
        for (int64_t i = 0; i < blocks * cutting.chunks && lower->kernel.status == OSC_OK; i++) {
            osc_block block = osc_region_block(region, i / cutting.chunks);
            osc_chunk chunk = osc_region_chunk(region, &cutting, i % cutting.chunks);
            osc_ap src =
                osc_region_ap(region, 0, &block, &chunk, dtype, (uint16_t)from->at.tensor, 0);
            osc_ap dst =
                osc_region_ap(region, 1, &block, &chunk, dtype, (uint16_t)to->at.tensor, 0);
            src.offset += from->at.offset;
            dst.offset += to->at.offset;
            osc_kernel_dma(&lower->kernel, &dst, &src);
        }
    }
    return lower->kernel.status;
}

/* Strides of a value broadcast to a shape, times `scale`. */
static bool broadcast_strides(const osc_value_info *info, uint32_t rank, const int64_t *size,
                              int64_t scale, int64_t stride[])
{
    osc_group shape = {.rank = rank};
    memcpy(shape.size, size, rank * sizeof size[0]);
    if (!osc_ex_strides(&shape, info, stride))
        return false;
    for (uint32_t d = 0; d < rank; d++)
        stride[d] *= scale;
    return true;
}

osc_status osc_lower_copy(osc_lower *lower, const osc_op_row *row)
{
    (void)row;
    osc_value from = lower->node->args[0].tensor, to = lower->node->outs[0];
    const osc_value_info *source = osc_graph_value(lower->graph, from);
    const osc_value_info *result = osc_graph_value(lower->graph, to);
    osc_dtype dtype = (osc_dtype)result->dtype;
    int64_t scale = (int64_t)(osc_dtype_size((osc_dtype)source->dtype) / osc_dtype_size(dtype));
    int64_t from_stride[OSC_MAX_RANK], to_stride[OSC_MAX_RANK];
    assert(scale >= 1); /* is_move lets only equal and narrower dtypes through */
    if (!broadcast_strides(source, result->rank, result->size, scale, from_stride) ||
        !broadcast_strides(result, result->rank, result->size, 1, to_stride))
        return osc_lower_refuse(lower,
                                "the source's shape does not broadcast to the destination's");
    uint32_t src = osc_lower_tensor(lower, from), dst = osc_lower_tensor(lower, to);
    if (lower->kernel.status != OSC_OK)
        return lower->kernel.status;
    osc_strided side_from = {.at = {.tensor = src, .offset = lower->place[from].offset},
                             .stride = from_stride};
    osc_strided side_to = {.at = {.tensor = dst, .offset = lower->place[to].offset},
                           .stride = to_stride};
    osc_kernel_begin(&lower->kernel);
    return osc_lower_move(lower, dtype, result->rank, result->size, &side_to, &side_from);
}

/* ---- concatenation ---- */

/* The legacy empty tensor of shape [0], which cat skips whatever the other shapes are. */
static bool skipped(const osc_value_info *info)
{
    return info->rank == 1 && info->size[0] == 0;
}

/* Moves one input to its slice of the result. stack: the input lacks the dim. */
static osc_status place_part(osc_lower *lower, osc_value part, osc_value out, uint32_t dim,
                             bool stack, int64_t at)
{
    const osc_value_info *info = osc_graph_value(lower->graph, part);
    const osc_value_info *result = osc_graph_value(lower->graph, out);
    int64_t to_stride[OSC_MAX_RANK];
    if (info->dtype != result->dtype || info->rank + (stack ? 1u : 0u) != result->rank)
        return osc_lower_refuse(lower, "its inputs differ in dtype or rank from the result");
    for (uint32_t d = 0; d < info->rank; d++) {
        uint32_t t = stack && d >= dim ? d + 1 : d;
        if (t != dim && info->size[d] != result->size[t])
            return osc_lower_refuse(lower, "its inputs' shapes do not fit together");
        to_stride[d] = result->stride[t];
    }
    uint32_t src = osc_lower_tensor(lower, part), dst = osc_lower_tensor(lower, out);
    if (lower->kernel.status != OSC_OK)
        return lower->kernel.status;
    int64_t bytes = (int64_t)osc_dtype_size((osc_dtype)info->dtype);
    osc_strided from = {.at = {.tensor = src, .offset = lower->place[part].offset},
                        .stride = info->stride};
    osc_strided to = {.at = {.tensor = dst,
                             .offset = lower->place[out].offset + at * result->stride[dim] * bytes},
                      .stride = to_stride};
    return osc_lower_move(lower, (osc_dtype)info->dtype, info->rank, info->size, &to, &from);
}

osc_status osc_lower_cat(osc_lower *lower, const osc_op_row *row)
{
    const osc_node *node = lower->node;
    bool stack = row->variant == 1;
    if (node->nargs < 1 || node->args[0].kind != OSC_ARG_TENSORS || node->nouts != 1 ||
        node->outs[0] == OSC_NO_VALUE)
        return osc_lower_refuse(lower, "its first argument must be a list of tensors");
    const osc_value_info *result = osc_graph_value(lower->graph, node->outs[0]);
    int64_t dim = node->nargs > 1 && node->args[1].kind == OSC_ARG_INT ? node->args[1].i : 0;
    dim += dim < 0 ? (int64_t)result->rank : 0;
    if (dim < 0 || dim >= (int64_t)result->rank)
        return osc_lower_refuse(lower, "it has no such dim");
    osc_kernel_begin(&lower->kernel);
    int64_t at = 0;
    for (uint32_t i = 0; i < node->args[0].count && lower->kernel.status == OSC_OK; i++) {
        osc_value part = (osc_value)node->args[0].ints[i];
        const osc_value_info *info = osc_graph_value(lower->graph, part);
        if (!stack && skipped(info))
            continue;
        place_part(lower, part, node->outs[0], (uint32_t)dim, stack, at);
        at += stack ? 1 : info->size[dim];
    }
    return lower->kernel.status;
}
