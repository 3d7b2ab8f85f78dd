/*
 * lower_matmul.c - mm, bmm, addmm, baddbmm on the Tensor engine.
 *
 * One nc_matmul multiplies a stationary [K <= 128, M <= 128] by a moving [K, N <= 512] tile into a PSUM
 * bank, K on the partitions of both (neuroncore-model.md 1.6). The loops are
 *
 *     for each 128 rows of the result           left panel [K, 128], loaded once
 *       for each 512 columns                    right panel [K, 512]
 *         for each 128 of K                     ldweights, matmul: accumulate in one bank
 *         evict the bank: alpha, beta * self, rounding
 *
 * when all right panels fit SBUF together, so that each operand is read and turned once; else with the
 * two outer loops exchanged, so that a right panel stays while the left ones stream by.
 *
 * A panel lies in SBUF as [128, K/128, columns]: K index k is partition k % 128 of block k / 128. An
 * operand whose K axis is not contiguous in memory is loaded so directly; one whose K axis is contiguous
 * (the left operand as it usually comes, the right one of a linear layer) is loaded with K in the free
 * dimension and turned by PE transposes, which are bit exact. Panels longer than SBUF allows are cut; the
 * parts of K are then summed in fp32 in SBUF.
 *
 * fp32 operands run in four passes at full precision. Rejected: fp32 by rounding to bf16 as older vendor
 * compilers did by default - results would not agree with the CPU.
 */
#include "neuron/compiler/lower_ops.h"

#include <assert.h>
#include <string.h>

#define LANES      128
#define BANK_COLS  512
#define ACC_BANKS  4u /* banks that results rotate through; the others serve transposes */
#define TURN_BANKS 4u

/* One operand: a [rows, cols] matrix in HBM, strides in elements. */
typedef struct matrix {
    osc_value value;
    osc_dtype dtype;
    int64_t rows, cols;
    int64_t row, col; /* strides */
    int64_t base;     /* elements before the first, of the batch being done */
    int64_t batch;    /* stride from one to the next of the batch */
} matrix;

typedef struct product {
    osc_lower *lower;
    osc_kernel *kernel;
    matrix left, right, out, self; /* self.value OSC_NO_VALUE when absent */
    int64_t batches, m, n, k;
    double alpha, beta;
    int64_t k_step;                    /* K of a panel, a multiple of 128 unless all of K */
    int64_t right_panels;              /* buffers for right panels: all of them, or 2 */
    uint32_t turns, evictions, stages; /* counters that choose banks and buffers */
} product;

/* ---- operands ---- */

static int64_t stride_of(const osc_value_info *info, uint32_t dim)
{
    return info->size[dim] == 1 ? 0 : info->stride[dim];
}

/* The last two dims of a value, or of a value broadcast to them. False when the rank does not fit. */
static bool matrix_of(const osc_lower *lower, osc_value value, int64_t rows, int64_t cols,
                      bool broadcast, matrix *out)
{
    const osc_value_info *info = osc_graph_value(lower->graph, value);
    uint32_t rank = info->rank;
    *out = (matrix){.value = value, .dtype = (osc_dtype)info->dtype, .rows = rows, .cols = cols};
    if (rank > 3 || (!broadcast && rank < 2))
        return false;
    int64_t have_cols = rank >= 1 ? info->size[rank - 1] : 1;
    int64_t have_rows = rank >= 2 ? info->size[rank - 2] : 1;
    if ((have_cols != cols && !(broadcast && have_cols == 1)) ||
        (have_rows != rows && !(broadcast && have_rows == 1)))
        return false;
    out->col = rank >= 1 ? stride_of(info, rank - 1) : 0;
    out->row = rank >= 2 ? stride_of(info, rank - 2) : 0;
    out->batch = rank == 3 ? stride_of(info, 0) : 0;
    return true;
}

static bool is_matmul_dtype(osc_dtype dtype)
{
    return dtype == OSC_F32 || dtype == OSC_BF16 || dtype == OSC_F16;
}

static double number(const osc_node *node, uint32_t index)
{
    if (index >= node->nargs)
        return 1;
    const osc_arg *arg = &node->args[index];
    return arg->kind == OSC_ARG_INT ? (double)arg->i : arg->kind == OSC_ARG_FLOAT ? arg->f : 1;
}

static osc_ap matrix_ap(product *p, const matrix *x, int64_t part, int64_t part_stride,
                        int64_t first)
{
    osc_ap ap = {.space = OSC_SPACE_HBM,
                 .dtype = (uint8_t)x->dtype,
                 .nparts = (uint16_t)part,
                 .part_stride = part_stride};
    ap.tensor = (uint16_t)osc_lower_tensor(p->lower, x->value);
    ap.offset =
        p->lower->place[x->value].offset + (x->base + first) * (int64_t)osc_dtype_size(x->dtype);
    return ap;
}

/* ---- panels ---- */

/* A [K, columns] operand in SBUF: block b of 128 K indices at columns b * width. */
typedef struct panel {
    osc_tile tile;
    uint32_t width;
} panel;

static panel panel_new(product *p, osc_dtype dtype, uint32_t width)
{
    int64_t blocks = osc_ceil_div(p->k_step, LANES);
    return (panel){.tile = osc_kernel_sbuf(p->kernel, dtype, (uint32_t)blocks * width),
                   .width = width};
}

static osc_ap panel_ap(const panel *to, uint32_t block, uint32_t parts, uint32_t cols)
{
    return osc_tile_at(&to->tile, parts, block * to->width, cols);
}

/* K on partitions straight from memory: whole blocks in one DMA, the rest of K in another. */
static void load_direct(product *p, const matrix *x, const panel *to, int64_t k0, int64_t k_count,
                        int64_t first, int64_t cols, int64_t k_stride, int64_t col_stride)
{
    int64_t blocks = k_count / LANES, rest = k_count % LANES;
    int64_t at = k0 * k_stride + first * col_stride;
    if (blocks > 0) {
        osc_ap src = matrix_ap(p, x, LANES, k_stride, at);
        src.ndim = 2;
        src.dim[0] = (osc_ap_dim){.stride = LANES * k_stride, .count = (uint32_t)blocks};
        src.dim[1] = (osc_ap_dim){.stride = col_stride, .count = (uint32_t)cols};
        osc_ap dst = osc_tile_ap(&to->tile, LANES, (uint32_t)cols);
        dst.ndim = 2;
        dst.dim[0] = (osc_ap_dim){.stride = to->width, .count = (uint32_t)blocks};
        dst.dim[1] = (osc_ap_dim){.stride = 1, .count = (uint32_t)cols};
        osc_kernel_dma(p->kernel, &dst, &src);
    }
    if (rest > 0) {
        osc_ap src = matrix_ap(p, x, rest, k_stride, at + blocks * LANES * k_stride);
        src.ndim = 1;
        src.dim[0] = (osc_ap_dim){.stride = col_stride, .count = (uint32_t)cols};
        osc_ap dst = panel_ap(to, (uint32_t)blocks, (uint32_t)rest, (uint32_t)cols);
        osc_kernel_dma(p->kernel, &dst, &src);
    }
}

/* One 128 x 128 block through the PE and a PSUM bank. */
static void turn_block(product *p, const osc_tile *flat, const panel *to, uint32_t block,
                       int64_t parts, int64_t k_parts, int64_t col)
{
    osc_tile bank =
        osc_kernel_psum(ACC_BANKS + p->turns++ % TURN_BANKS, (osc_dtype)flat->dtype, LANES);
    osc_inst inst = {.opcode = OSC_OP_PE_TRANSPOSE, .engine = OSC_ENGINE_TENSOR};
    inst.src[0] = osc_tile_at(flat, (uint32_t)parts, block * LANES, (uint32_t)k_parts);
    inst.dst = osc_tile_ap(&bank, (uint32_t)k_parts, (uint32_t)parts);
    osc_kernel_emit(p->kernel, &inst);
    osc_ap src = osc_tile_ap(&bank, (uint32_t)k_parts, (uint32_t)parts);
    osc_ap dst = osc_tile_at(&to->tile, (uint32_t)k_parts, block * to->width + (uint32_t)col,
                             (uint32_t)parts);
    osc_kernel_copy(p->kernel, &dst, &src);
}

/* K in the free dimension, 128 columns of the panel at a time, then turned. */
static void load_turned(product *p, const matrix *x, const panel *to, const osc_tile flat[2],
                        int64_t k0, int64_t k_count, int64_t first, int64_t cols, int64_t k_stride,
                        int64_t col_stride)
{
    for (int64_t c = 0; c < cols && p->kernel->status == OSC_OK; c += LANES) {
        int64_t parts = cols - c < LANES ? cols - c : LANES;
        const osc_tile *stage = &flat[p->stages++ % 2];
        osc_ap src = matrix_ap(p, x, parts, col_stride, k0 * k_stride + (first + c) * col_stride);
        src.ndim = 1;
        src.dim[0] = (osc_ap_dim){.stride = k_stride, .count = (uint32_t)k_count};
        osc_ap dst = osc_tile_ap(stage, (uint32_t)parts, (uint32_t)k_count);
        osc_kernel_dma(p->kernel, &dst, &src);
        for (int64_t k = 0; k < k_count; k += LANES) {
            int64_t k_parts = k_count - k < LANES ? k_count - k : LANES;
            turn_block(p, stage, to, (uint32_t)(k / LANES), parts, k_parts, c);
        }
    }
}

/* Operand x with K along `k_stride` and the panel's columns along `col_stride`. */
static void load_panel(product *p, const matrix *x, const panel *to, const osc_tile flat[2],
                       int64_t k0, int64_t k_count, int64_t first, int64_t cols, int64_t k_stride,
                       int64_t col_stride)
{
    if (k_stride == 1 && col_stride != 1 && k_count > 1)
        load_turned(p, x, to, flat, k0, k_count, first, cols, k_stride, col_stride);
    else
        load_direct(p, x, to, k0, k_count, first, cols, k_stride, col_stride);
}

/* ---- one result tile ---- */

static void multiply(product *p, const panel *left, const panel *right, int64_t k_count,
                     uint32_t rows, uint32_t cols, const osc_ap *bank)
{
    assert(rows <= LANES && cols <= BANK_COLS && k_count >= 1);
    uint32_t full = p->left.dtype == OSC_F32 ? OSC_INST_FP32_FULL : 0;
    for (int64_t k = 0; k < k_count; k += LANES) {
        uint32_t parts = (uint32_t)(k_count - k < LANES ? k_count - k : LANES);
        osc_inst weights = {.opcode = OSC_OP_LDWEIGHTS, .engine = OSC_ENGINE_TENSOR, .flags = full};
        weights.src[0] = panel_ap(left, (uint32_t)(k / LANES), parts, rows);
        osc_kernel_emit(p->kernel, &weights);
        osc_inst matmul = {.opcode = OSC_OP_MATMUL,
                           .engine = OSC_ENGINE_TENSOR,
                           .dst = *bank,
                           .flags = full | (k > 0 ? OSC_INST_ACCUMULATE : 0)};
        matmul.src[0] = panel_ap(right, (uint32_t)(k / LANES), parts, cols);
        osc_kernel_emit(p->kernel, &matmul);
    }
}

typedef struct buffers {
    panel left[2], *right;                /* right: product.right_panels of them */
    osc_tile flat_left[2], flat_right[2]; /* before turning */
    osc_tile result[2], self[2], sum;
} buffers;

/* dst <- alpha * product + beta * self. */
static void evict(product *p, const buffers *b, const osc_ap *product_ap, int64_t m0, int64_t n0,
                  uint32_t rows, uint32_t cols)
{
    uint32_t turn = p->evictions++ % 2;
    osc_ap dst = osc_tile_ap(&b->result[turn], rows, cols);
    if (p->self.value == OSC_NO_VALUE || p->beta == 0) {
        if (p->alpha == 1)
            osc_kernel_copy(p->kernel, &dst, product_ap);
        else
            osc_kernel_tensor_imm(p->kernel, OSC_ALU_MUL, &dst, product_ap, (float)p->alpha);
    } else {
        osc_ap src = matrix_ap(p, &p->self, rows, p->self.row, m0 * p->self.row + n0 * p->self.col);
        src.ndim = 1;
        src.dim[0] = (osc_ap_dim){.stride = p->self.col, .count = cols};
        osc_ap self = osc_tile_ap(&b->self[turn], rows, cols);
        osc_kernel_dma(p->kernel, &self, &src);
        osc_inst inst = {.opcode = OSC_OP_SCALAR_TENSOR_TENSOR,
                         .engine = OSC_ENGINE_VECTOR,
                         .dst = dst,
                         .alu = {OSC_ALU_MUL, OSC_ALU_ADD}};
        osc_ap scaled = self;
        if (p->beta != 1) { /* beta * self in fp32, over the staging of the sum */
            scaled = osc_tile_ap(&b->sum, rows, cols);
            scaled.offset += (int64_t)(BANK_COLS * sizeof(float));
            osc_kernel_tensor_imm(p->kernel, OSC_ALU_MUL, &scaled, &self, (float)p->beta);
        }
        inst.src[0] = *product_ap;
        inst.src[1] = osc_ap_imm();
        inst.imm[1] = (float)p->alpha;
        inst.src[2] = scaled;
        osc_kernel_emit(p->kernel, &inst);
    }
    osc_ap to = matrix_ap(p, &p->out, rows, p->out.row, m0 * p->out.row + n0 * p->out.col);
    to.ndim = 1;
    to.dim[0] = (osc_ap_dim){.stride = p->out.col, .count = cols};
    osc_kernel_dma(p->kernel, &to, &dst);
}

/* Adds one part of K to the running sum in SBUF. */
static void add_part(product *p, const buffers *b, const osc_ap *bank, uint32_t rows, uint32_t cols,
                     bool first)
{
    osc_ap sum = osc_tile_ap(&b->sum, rows, cols);
    if (first)
        osc_kernel_copy(p->kernel, &sum, bank);
    else
        osc_kernel_tensor_tensor(p->kernel, OSC_ENGINE_VECTOR, OSC_ALU_ADD, &sum, &sum, bank);
}

/* Which panels a result tile needs loaded, the others being there from earlier tiles. */
typedef struct reuse {
    bool left, right;
} reuse;

static void result_tile(product *p, buffers *b, int64_t m0, int64_t n0, reuse there, uint32_t *turn)
{
    uint32_t rows = (uint32_t)(p->m - m0 < LANES ? p->m - m0 : LANES);
    uint32_t cols = (uint32_t)(p->n - n0 < BANK_COLS ? p->n - n0 : BANK_COLS);
    bool parts = p->k > p->k_step;
    osc_ap product_ap = {0};
    for (int64_t k0 = 0; k0 < p->k && p->kernel->status == OSC_OK; k0 += p->k_step) {
        int64_t k_count = p->k - k0 < p->k_step ? p->k - k0 : p->k_step;
        panel *left = &b->left[parts ? *turn % 2 : (uint32_t)(m0 / LANES) % 2];
        panel *right = &b->right[parts ? *turn % 2 : (uint32_t)(n0 / BANK_COLS % p->right_panels)];
        if (!there.left)
            load_panel(p, &p->left, left, b->flat_left, k0, k_count, m0, rows, p->left.col,
                       p->left.row);
        if (!there.right)
            load_panel(p, &p->right, right, b->flat_right, k0, k_count, n0, cols, p->right.row,
                       p->right.col);
        osc_tile bank = osc_kernel_psum(*turn % ACC_BANKS, OSC_F32, BANK_COLS);
        product_ap = osc_tile_ap(&bank, rows, cols);
        multiply(p, left, right, k_count, rows, cols, &product_ap);
        ++*turn;
        if (parts)
            add_part(p, b, &product_ap, rows, cols, k0 == 0);
    }
    if (parts)
        product_ap = osc_tile_ap(&b->sum, rows, cols);
    evict(p, b, &product_ap, m0, n0, rows, cols);
}

/* Bytes of each partition that panels of this K need. */
static int64_t panel_bytes(const product *p, int64_t k, int64_t right_panels)
{
    int64_t blocks = osc_ceil_div(k, LANES), size = (int64_t)osc_dtype_size(p->left.dtype);
    return blocks * size * (right_panels * BANK_COLS + 2 * LANES + 4 * LANES);
}

static void choose_panels(product *p)
{
    int64_t room = osc_kernel_free_bytes(p->kernel) - (4096 + 6 * BANK_COLS * 4);
    p->k_step = p->k;
    p->right_panels = osc_ceil_div(p->n, BANK_COLS);
    if (p->right_panels <= 2 || panel_bytes(p, p->k, p->right_panels) > room)
        p->right_panels = 2;
    while (panel_bytes(p, p->k_step, p->right_panels) > room && p->k_step > LANES)
        p->k_step = osc_ceil_div(osc_ceil_div(p->k_step, 2), LANES) * LANES;
}

static bool allocate(product *p, buffers *b)
{
    osc_dtype dtype = p->left.dtype;
    choose_panels(p);
    b->right = OSC_ARENA_ARRAY(p->lower->arena, panel, (size_t)p->right_panels);
    if (b->right == NULL) {
        osc_kernel_fail(p->kernel, OSC_ENOMEM, "no memory to compile this matmul");
        return false;
    }
    for (int64_t i = 0; i < p->right_panels; i++)
        b->right[i] = panel_new(p, dtype, BANK_COLS);
    for (unsigned i = 0; i < 2; i++) {
        b->left[i] = panel_new(p, dtype, LANES);
        b->flat_left[i] = osc_kernel_sbuf(p->kernel, dtype, (uint32_t)p->k_step);
        b->flat_right[i] = osc_kernel_sbuf(p->kernel, dtype, (uint32_t)p->k_step);
        b->result[i] = osc_kernel_sbuf(p->kernel, p->out.dtype, BANK_COLS);
        b->self[i] = osc_kernel_sbuf(
            p->kernel, p->self.value == OSC_NO_VALUE ? OSC_BF16 : p->self.dtype, BANK_COLS);
    }
    b->sum = osc_kernel_sbuf(p->kernel, OSC_F32, 2 * BANK_COLS);
    return p->kernel->status == OSC_OK;
}

/* K = 0: the product is zero; what is left is beta * self. */
static void empty_product(product *p)
{
    buffers b = {0};
    b.result[0] = b.result[1] = osc_kernel_sbuf(p->kernel, p->out.dtype, BANK_COLS);
    b.self[0] = b.self[1] = osc_kernel_sbuf(
        p->kernel, p->self.value == OSC_NO_VALUE ? OSC_F32 : p->self.dtype, BANK_COLS);
    b.sum = osc_kernel_sbuf(p->kernel, OSC_F32, 2 * BANK_COLS);
    for (int64_t n0 = 0; n0 < p->n; n0 += BANK_COLS) {
        for (int64_t m0 = 0; m0 < p->m && p->kernel->status == OSC_OK; m0 += LANES) {
            uint32_t rows = (uint32_t)(p->m - m0 < LANES ? p->m - m0 : LANES);
            uint32_t cols = (uint32_t)(p->n - n0 < BANK_COLS ? p->n - n0 : BANK_COLS);
            osc_ap zero = osc_tile_ap(&b.sum, rows, cols);
            osc_kernel_memset(p->kernel, &zero, 0);
            evict(p, &b, &zero, m0, n0, rows, cols);
        }
    }
}

static void run_batch(product *p, buffers *b, uint32_t *turn)
{
    int64_t row_tiles = osc_ceil_div(p->m, LANES), col_tiles = osc_ceil_div(p->n, BANK_COLS);
    bool whole_k = p->k <= p->k_step, rows_outside = p->right_panels >= col_tiles;
    for (int64_t i = 0; i < row_tiles * col_tiles && p->kernel->status == OSC_OK; i++) {
        int64_t m = rows_outside ? i / col_tiles : i % row_tiles;
        int64_t n = rows_outside ? i % col_tiles : i / row_tiles;
        reuse there = {.left = whole_k && rows_outside && n > 0, .right = whole_k && m > 0};
        result_tile(p, b, m * LANES, n * BANK_COLS, there, turn);
    }
}

static void run(product *p)
{
    buffers b;
    uint32_t turn = 0;
    assert(p->m > 0 && p->n > 0 && p->batches > 0);
    osc_kernel_begin(p->kernel);
    if (p->k != 0 && !allocate(p, &b))
        return;
    for (int64_t batch = 0; batch < p->batches && p->kernel->status == OSC_OK; batch++) {
        matrix *all[] = {&p->left, &p->right, &p->out, &p->self};
        for (unsigned i = 0; i < 4; i++)
            all[i]->base = batch * all[i]->batch;
        if (p->k == 0) {
            osc_kernel_release(p->kernel);
            empty_product(p);
        } else {
            run_batch(p, &b, &turn);
        }
    }
}

/* A vector as a matrix of one column; one element stands for all rows. */
static bool column_of(const osc_lower *lower, osc_value value, int64_t rows, matrix *out)
{
    const osc_value_info *info = osc_graph_value(lower->graph, value);
    *out = (matrix){.value = value, .dtype = (osc_dtype)info->dtype, .rows = rows, .cols = 1};
    if (info->rank > 1 || (info->rank == 1 && info->size[0] != rows && info->size[0] != 1))
        return false;
    out->row = info->rank == 1 ? stride_of(info, 0) : 0;
    return true;
}

/* Fills the sizes and operands of a product. False when the shapes do not fit together. */
static bool read_operands(product *p, const osc_node *node, unsigned variant, uint32_t first)
{
    const osc_lower *lower = p->lower;
    osc_value left_value = node->args[first].tensor, right_value = node->args[first + 1].tensor;
    const osc_value_info *left = osc_graph_value(lower->graph, left_value);
    const osc_value_info *right = osc_graph_value(lower->graph, right_value);
    const osc_value_info *out = osc_graph_value(lower->graph, node->outs[0]);
    bool batched = variant == OSC_MATMUL_BMM || variant == OSC_MATMUL_BADDBMM;
    bool vector = variant == OSC_MATMUL_ADDMV;
    uint32_t rank = batched ? 3 : 2;
    if (left->rank != rank || right->rank != (vector ? 1 : rank) ||
        out->rank != (vector ? 1 : rank))
        return false;
    p->m = left->size[rank - 2];
    p->k = left->size[rank - 1];
    p->n = vector ? 1 : right->size[rank - 1];
    p->batches = batched ? left->size[0] : 1;
    if (!matrix_of(lower, left_value, p->m, p->k, false, &p->left))
        return false;
    if (vector)
        return right->size[0] == p->k && out->size[0] == p->m &&
               column_of(lower, right_value, p->k, &p->right) &&
               column_of(lower, node->outs[0], p->m, &p->out) &&
               column_of(lower, node->args[0].tensor, p->m, &p->self);
    if (batched && (right->size[0] != p->batches || out->size[0] != p->batches))
        return false;
    return matrix_of(lower, right_value, p->k, p->n, false, &p->right) &&
           matrix_of(lower, node->outs[0], p->m, p->n, false, &p->out) &&
           (first == 0 || matrix_of(lower, node->args[0].tensor, p->m, p->n, true, &p->self));
}

osc_status osc_lower_matmul(osc_lower *lower, const osc_op_row *row)
{
    const osc_node *node = lower->node;
    uint32_t first = row->variant == OSC_MATMUL_MM || row->variant == OSC_MATMUL_BMM ? 0 : 1;
    product p = {.lower = lower, .kernel = &lower->kernel, .alpha = 1, .beta = 1};
    p.self.value = OSC_NO_VALUE;
    if (node->nargs < first + 2 || node->nouts < 1 || node->outs[0] == OSC_NO_VALUE)
        return osc_lower_refuse(lower, "it needs two matrices and a result");
    for (uint32_t a = 0; a < first + 2; a++) {
        if (node->args[a].kind != OSC_ARG_TENSOR)
            return osc_lower_refuse(lower, "its operands must be tensors");
    }
    if (!read_operands(&p, node, row->variant, first))
        return osc_lower_refuse(lower, "its operands' shapes do not fit together");
    if (p.left.dtype != p.right.dtype || !is_matmul_dtype(p.left.dtype) ||
        !is_matmul_dtype(p.out.dtype))
        return osc_lower_refuse(lower, "the Tensor engine multiplies bf16, fp16 and fp32");
    if (first == 1) {
        p.beta = number(node, 3);
        p.alpha = number(node, 4);
    }
    if (p.m == 0 || p.n == 0 || p.batches == 0)
        return lower->kernel.status;
    lower->flops += 2u * (uint64_t)p.m * (uint64_t)p.n * (uint64_t)p.k * (uint64_t)p.batches;
    run(&p);
    return lower->kernel.status;
}
