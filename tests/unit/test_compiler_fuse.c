/*
 * test_compiler_fuse.c - graphs of several nodes: what fuses, what it costs, and that values are right.
 */
#include "compiler_support.h"

#include "neuron/compiler/graph.h"

#include <stdlib.h>

static uint64_t seed_of(void)
{
    const char *text = getenv("OPSCOPE_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20260733;
}

/* ---- the walkthrough's norm ---- */

static void naive_norm(cs_case *c, osc_rng *rng, int64_t rows, int64_t cols, bool fuse)
{
    static const int64_t last[1] = {-1};
    int64_t full[2] = {rows, cols}, row[2] = {rows, 1};
    cs_begin(c, "rms_norm_fn");
    c->no_fuse = !fuse;
    cs_tensor *x = cs_in(c, OSC_BF16, 2, full, CS_DENSE),
              *w = cs_in(c, OSC_BF16, 1, full + 1, CS_DENSE);
    cs_tensor *y = cs_out(c, OSC_BF16, 2, full, CS_DENSE);
    cs_tensor *sq = cs_mid(c, OSC_BF16, 2, full), *mean = cs_mid(c, OSC_BF16, 2, row);
    cs_tensor *sum = cs_mid(c, OSC_BF16, 2, row), *rms = cs_mid(c, OSC_BF16, 2, row);
    cs_tensor *scaled = cs_mid(c, OSC_BF16, 2, full);
    cs_fill(x, rng, -2, 2);
    cs_fill(w, rng, 0.5, 1.5);
    cs_op(c, "aten::mul.Tensor", (osc_arg[]){cs_t(x), cs_t(x)}, 2, sq);
    cs_op(c, "aten::mean.dim", (osc_arg[]){cs_t(sq), cs_ints(last, 1), cs_i(1), cs_none()}, 4,
          mean);
    cs_op(c, "aten::add.Tensor", (osc_arg[]){cs_t(mean), cs_f(1e-6), cs_i(1)}, 3, sum);
    cs_op(c, "aten::rsqrt", (osc_arg[]){cs_t(sum)}, 1, rms);
    cs_op(c, "aten::mul.Tensor", (osc_arg[]){cs_t(x), cs_t(rms)}, 2, scaled);
    cs_op(c, "aten::mul.Tensor", (osc_arg[]){cs_t(scaled), cs_t(w)}, 2, y);
}

static void check_norm(const cs_case *c, int64_t rows, int64_t cols, double loose)
{
    const cs_tensor *x = &c->tensors[0], *w = &c->tensors[1], *y = &c->tensors[2];
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < cols; i++)
            sum += cs_load(x, r * cols + i) * cs_load(x, r * cols + i);
        double rms = 1 / sqrt(sum / (double)cols + 1e-6);
        for (int64_t i = 0; i < cols; i++) {
            double want = cs_load(x, r * cols + i) * rms * cs_load(w, i),
                   got = cs_load(y, r * cols + i);
            if (!TAP_OKF(cs_near(got, want, cs_tolerance(OSC_BF16, want) * loose),
                         "row %" PRId64 " col %" PRId64 ": got %g, want %g", r, i, got, want))
                return;
        }
    }
}

/* neuroncore-model.md 4.3: three transfers, one table load, one pass each of square-and-sum, rsqrt, scale. */
static void test_naive_norm_is_one_kernel(void)
{
    cs_case c;
    osc_rng rng = {seed_of()};
    naive_norm(&c, &rng, 4, 512, true);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    TAP_EQ_STR(c.err.message, "");
    TAP_EQ_U64(c.opcodes[OSC_OP_DMA_COPY], 3);
    TAP_EQ_U64(c.opcodes[OSC_OP_ACTIVATION_REDUCE], 1);
    TAP_EQ_U64(c.opcodes[OSC_OP_ACTIVATION], 1);
    TAP_EQ_U64(c.opcodes[OSC_OP_ACT_TABLE_LOAD], 1);
    TAP_EQ_U64(c.opcodes[OSC_OP_SCALAR_TENSOR_TENSOR], 1);
    TAP_EQ_U64(c.instructions, 7);
    TAP_OKF(fabs((double)c.body_ns - 12600) < 0.15 * 12600, "body %" PRId64 " ns", c.body_ns);
    check_norm(&c, 4, 512, 1);
    cs_end(&c);
}

/* The same graph one kernel per node: right, rounded at every node, and slower. */
static void test_naive_norm_unfused(void)
{
    cs_case c;
    osc_rng rng = {seed_of()};
    naive_norm(&c, &rng, 4, 512, false);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    TAP_OK(c.opcodes[OSC_OP_DMA_COPY] >= 14);
    check_norm(&c, 4, 512, 4);
    cs_end(&c);
}

/* Many row tiles: the weight is loaded once. Rows too long for SBUF: passes. */
static void test_naive_norm_large(void)
{
    cs_case c;
    osc_rng rng = {seed_of()};
    naive_norm(&c, &rng, 700, 96, true);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    TAP_EQ_U64(c.opcodes[OSC_OP_DMA_COPY], 6 + 6 + 1);
    check_norm(&c, 700, 96, 1);
    cs_end(&c);
    naive_norm(&c, &rng, 3, 60000, true);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    check_norm(&c, 3, 60000, 1);
    cs_end(&c);
}

/* ---- random graphs ---- */

#define NODES 10

typedef struct model {
    double *values[CS_TENSORS];
} model;

static double apply(unsigned op, double a, double b)
{
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return fmax(a, b);
    case 4: return tanh(a);
    case 5: return 1 / (1 + exp(-a));
    case 6: return fabs(a);
    default: return a < 0 ? 0 : a;
    }
}

static const char *const NAMES[] = {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor",
                                    "aten::maximum",    "aten::tanh",       "aten::sigmoid",
                                    "aten::abs",        "aten::relu"};

/* Value of tensor t at a point of [rows, cols], t being [rows, cols], [rows, 1] or [cols]. */
static double at(const model *m, const cs_case *c, uint32_t t, int64_t row, int64_t col)
{
    const cs_tensor *x = &c->tensors[t];
    if (x->rank == 1)
        return m->values[t][col];
    return m->values[t][row * x->size[1] + (x->size[1] == 1 ? 0 : col)];
}

static void model_elementwise(model *m, const cs_case *c, uint32_t y, unsigned op, uint32_t a,
                              uint32_t b)
{
    const cs_tensor *out = &c->tensors[y];
    for (int64_t r = 0; r < out->size[0]; r++) {
        for (int64_t i = 0; i < out->size[1]; i++)
            m->values[y][r * out->size[1] + i] = apply(op, at(m, c, a, r, i), at(m, c, b, r, i));
    }
}

static void model_reduce(model *m, const cs_case *c, uint32_t y, uint32_t a, bool largest)
{
    const cs_tensor *in = &c->tensors[a];
    for (int64_t r = 0; r < in->size[0]; r++) {
        double sum = 0, most = -INFINITY;
        for (int64_t i = 0; i < in->size[1]; i++) {
            sum += at(m, c, a, r, i);
            most = fmax(most, at(m, c, a, r, i));
        }
        m->values[y][r] = largest ? most : sum / (double)in->size[1];
    }
}

static uint32_t pick(osc_rng *rng, uint32_t count)
{
    return (uint32_t)osc_rng_below(rng, count);
}

/* Adds one node whose operands are any earlier tensors, and its value to the model. */
static void random_node(cs_case *c, model *m, osc_rng *rng, bool last, int64_t rows, int64_t cols)
{
    static const int64_t dim[1] = {1};
    uint32_t have = c->count, a = pick(rng, have), b = pick(rng, have);
    int64_t full[2] = {rows, cols}, row[2] = {rows, 1};
    bool wide_a = c->tensors[a].rank == 2 && c->tensors[a].size[1] != 1;
    bool reduces = wide_a && !last && osc_rng_below(rng, 3) == 0;
    unsigned op = (unsigned)osc_rng_below(rng, 8);
    bool row_only = c->tensors[a].rank == 2 && c->tensors[b].rank == 2 &&
                    c->tensors[a].size[1] == 1 && (op >= 4 || c->tensors[b].size[1] == 1) &&
                    cols != 1;
    if (c->tensors[a].rank == 1 && (op >= 4 || c->tensors[b].rank == 1))
        a = 0; /* keep every result two-dimensional */
    if (op >= 4 && c->tensors[a].rank == 2 && c->tensors[a].size[1] != 1)
        row_only = false;
    bool tall = row_only || reduces;
    if (c->tensors[a].rank == 1 && c->tensors[b].size[1] == 1)
        tall = false;
    bool store = last || osc_rng_below(rng, 4) == 0;
    cs_tensor *y = store ? cs_out(c, OSC_F32, 2, tall ? row : full, CS_DENSE)
                         : cs_mid(c, OSC_F32, 2, tall ? row : full);
    uint32_t index = c->count - 1;
    m->values[index] = osc_calloc((size_t)(rows * cols) + 1, sizeof(double));
    if (reduces) {
        bool largest = osc_rng_below(rng, 2) == 0;
        cs_op(c, largest ? "aten::amax" : "aten::mean.dim",
              (osc_arg[]){cs_t(&c->tensors[a]), cs_ints(dim, 1), cs_i(1), cs_none()},
              largest ? 3 : 4, y);
        model_reduce(m, c, index, a, largest);
        return;
    }
    cs_op(c, NAMES[op], (osc_arg[]){cs_t(&c->tensors[a]), cs_t(&c->tensors[b])}, op < 4 ? 2 : 1, y);
    model_elementwise(m, c, index, op, a, op < 4 ? b : a);
}

static bool compare_all(const cs_case *c, const model *m, uint64_t seed)
{
    for (uint32_t t = 0; t < c->count; t++) {
        const cs_tensor *y = &c->tensors[t];
        for (int64_t i = 0; y->output && i < y->elems; i++) {
            double got = cs_load(y, i), want = m->values[t][i];
            if (!cs_near(got, want, 1e-4 + 1e-4 * fabs(want)))
                return tap_check(false, __FILE__, __LINE__,
                                 "graph %" PRIu64 " tensor %u element %" PRId64 ": got %g, want %g",
                                 seed, t, i, got, want);
        }
    }
    return true;
}

static bool random_graph(uint64_t seed, int64_t rows, int64_t cols)
{
    cs_case c;
    model m;
    osc_rng rng = {seed};
    int64_t full[2] = {rows, cols}, row[2] = {rows, 1};
    memset(&m, 0, sizeof m);
    cs_begin(&c, "random");
    c.no_fuse = osc_rng_below(&rng, 4) == 0;
    cs_in(&c, OSC_F32, 2, full, CS_DENSE);
    cs_in(&c, OSC_F32, 1, full + 1, CS_DENSE);
    cs_in(&c, OSC_F32, 2, row, CS_DENSE);
    for (uint32_t t = 0; t < 3; t++) {
        cs_tensor *x = &c.tensors[t];
        cs_fill(x, &rng, -1, 1);
        m.values[t] = osc_calloc((size_t)x->elems + 1, sizeof(double));
        for (int64_t i = 0; i < x->elems; i++)
            m.values[t][i] = cs_load(x, i);
    }
    for (unsigned n = 0; n < NODES; n++)
        random_node(&c, &m, &rng, n == NODES - 1, rows, cols);
    cs_run(&c);
    bool ok = TAP_OKF(c.status == OSC_OK, "graph %" PRIu64 ": %s", seed, c.err.message) &&
              compare_all(&c, &m, seed);
    for (uint32_t t = 0; t < c.count; t++)
        osc_free(m.values[t]);
    cs_end(&c);
    return ok;
}

static void test_random_graphs(void)
{
    uint64_t seed = seed_of();
    tap_note("seed %" PRIu64, seed);
    for (unsigned i = 0; i < 60; i++) {
        if (!random_graph(seed + i, 1 + (int64_t)(i * 37 % 300), 1 + (int64_t)(i * 53 % 700)))
            return;
    }
    TAP_OK(random_graph(seed + 1000, 2, 30000));
}

/* v[i] = tanh(v[i-1] * v[i-9]) + v[i-17], every tenth minus its row mean: many live values, several groups. */
static void test_long_chain(void)
{
    enum { LENGTH = 40, ROWS = 130, COLS = 300 };
    static const int64_t last[1] = {1};
    static double values[LENGTH][ROWS * COLS];
    cs_case c;
    osc_rng rng = {seed_of()};
    int64_t full[2] = {ROWS, COLS}, row[2] = {ROWS, 1};
    cs_begin(&c, "chain");
    cs_tensor *v[LENGTH] = {cs_in(&c, OSC_F32, 2, full, CS_DENSE)};
    cs_fill(v[0], &rng, -1, 1);
    for (int64_t k = 0; k < ROWS * COLS; k++)
        values[0][k] = cs_load(v[0], k);
    for (int i = 1; i < LENGTH; i++) {
        int near = i < 9 ? 0 : i - 9, far = i < 17 ? 0 : i - 17;
        cs_tensor *product = cs_mid(&c, OSC_F32, 2, full), *curve = cs_mid(&c, OSC_F32, 2, full);
        v[i] =
            i == LENGTH - 1 ? cs_out(&c, OSC_F32, 2, full, CS_DENSE) : cs_mid(&c, OSC_F32, 2, full);
        cs_op(&c, "aten::mul.Tensor", (osc_arg[]){cs_t(v[i - 1]), cs_t(v[near])}, 2, product);
        cs_op(&c, "aten::tanh", (osc_arg[]){cs_t(product)}, 1, curve);
        cs_op(&c, i % 10 ? "aten::add.Tensor" : "aten::sub.Tensor",
              (osc_arg[]){cs_t(curve), cs_t(v[far])}, 2, v[i]);
        for (int k = 0; k < ROWS * COLS; k++) {
            double t = tanh(values[i - 1][k] * values[near][k]);
            values[i][k] = i % 10 ? t + values[far][k] : t - values[far][k];
        }
    }
    cs_tensor *mean = cs_out(&c, OSC_F32, 2, row, CS_DENSE);
    cs_op(&c, "aten::mean.dim",
          (osc_arg[]){cs_t(v[LENGTH - 1]), cs_ints(last, 1), cs_i(1), cs_none()}, 4, mean);
    TAP_OKF(cs_run(&c) == OSC_OK, "%s", c.err.message);
    for (int k = 0; k < ROWS * COLS; k++)
        TAP_REQUIRE(cs_near(cs_load(v[LENGTH - 1], k), values[LENGTH - 1][k], 1e-3));
    tap_note("chain of %u nodes: %u instructions, body %" PRId64 " ns",
             osc_graph_node_count(c.graph), c.instructions, c.body_ns);
    cs_end(&c);
}

/* An output on the slot of an input that a later node still reads. */
static void test_in_place_output(void)
{
    cs_case c;
    int64_t size[2] = {5, 33};
    osc_rng rng = {seed_of()};
    cs_begin(&c, "mutation");
    cs_tensor *x = cs_in(&c, OSC_F32, 2, size, CS_DENSE);
    cs_tensor *mean = cs_mid(&c, OSC_F32, 2, (int64_t[]){5, 1});
    cs_tensor *y = cs_tensor_add(&c, OSC_F32, 2, size, CS_DENSE, true, x->slot);
    cs_tensor *z = cs_out(&c, OSC_F32, 2, (int64_t[]){33, 5}, CS_DENSE);
    (void)z;
    cs_fill(x, &rng, -1, 1);
    double before[165], sums[5] = {0};
    for (int i = 0; i < 165; i++)
        sums[i / 33] += before[i] = cs_load(x, i);
    cs_op(&c, "aten::sum.dim_IntList",
          (osc_arg[]){cs_t(x), cs_ints((int64_t[]){1}, 1), cs_i(1), cs_none()}, 4, mean);
    cs_op(&c, "aten::mul.Tensor", (osc_arg[]){cs_t(x), cs_t(mean)}, 2, y);
    cs_op(&c, "aten::fill.Scalar", (osc_arg[]){cs_t(z), cs_f(2)}, 2, z);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    for (int i = 0; i < 165; i++)
        TAP_REQUIRE(cs_near(cs_load(y, i), before[i] * sums[i / 33], 1e-4));
    TAP_OK(cs_load(z, 164) == 2);
    cs_end(&c);
}

/* Same graph, same bytes; another graph, another digest. */
static void test_deterministic(void)
{
    uint8_t digest[3][32];
    for (int i = 0; i < 3; i++) {
        cs_case c;
        osc_rng rng = {1};
        osc_program *program = NULL;
        osc_err err = {0};
        osc_compile_options options = {
            .size = sizeof options, .generation = OSC_TRN2, .fuse = true};
        naive_norm(&c, &rng, 300, i == 2 ? 65 : 64, true);
        TAP_EQ_STATUS(osc_compile(c.graph, &options, &program, &err), OSC_OK);
        osc_program_digest(program, digest[i]);
        osc_program_release(program);
        cs_end(&c);
    }
    TAP_EQ_MEM(digest[0], digest[1], 32);
    TAP_OK(memcmp(digest[0], digest[2], 32) != 0);
}

static void test_unknown_operator(void)
{
    cs_case c;
    int64_t size[1] = {4};
    cs_begin(&c, "unknown");
    cs_tensor *x = cs_in(&c, OSC_F32, 1, size, CS_DENSE),
              *y = cs_out(&c, OSC_F32, 1, size, CS_DENSE);
    cs_op(&c, "aten::lgamma", (osc_arg[]){cs_t(x)}, 1, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_EUNSUPPORTED);
    TAP_OK(strstr(c.err.message, "aten::lgamma") != NULL);
    TAP_OK(!osc_compiler_has_op("aten::lgamma") && osc_compiler_has_op("aten::mul.Tensor"));
    cs_end(&c);
}

static void test_names_are_sorted(void)
{
    size_t count;
    const char *const *names = osc_compiler_ops(&count);
    TAP_OK(count > 100);
    for (size_t i = 1; i < count; i++)
        TAP_OKF(strcmp(names[i - 1], names[i]) < 0, "%s before %s", names[i - 1], names[i]);
}

int main(void)
{
    TAP_RUN(test_naive_norm_is_one_kernel);
    TAP_RUN(test_naive_norm_unfused);
    TAP_RUN(test_naive_norm_large);
    TAP_RUN(test_random_graphs);
    TAP_RUN(test_long_chain);
    TAP_RUN(test_in_place_output);
    TAP_RUN(test_deterministic);
    TAP_RUN(test_unknown_operator);
    TAP_RUN(test_names_are_sorted);
    return tap_done();
}
