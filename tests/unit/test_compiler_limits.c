/*
 * test_compiler_limits.c - graphs that cannot be built or compiled, memory running out, the other
 * generations, and sizes far over SBUF.
 */
#include "compiler_support.h"

#include "base/buf.h"

/* ---- building graphs ---- */

static void test_builder_errors(void)
{
    int64_t size[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, negative[1] = {-1};
    osc_err err = {0};
    osc_graph *graph = osc_graph_new("bad");
    TAP_OK(osc_graph_tensor(graph, OSC_F32, 9, size, size, true, false, 0) == OSC_NO_VALUE);
    TAP_EQ_STATUS(osc_graph_status(graph, &err), OSC_EUNSUPPORTED);
    TAP_OK(strstr(err.message, "bad") != NULL && strstr(err.message, "8 dim") != NULL);
    TAP_OK(osc_graph_tensor(graph, OSC_F32, 1, negative, size, true, false, 0) == OSC_NO_VALUE);
    TAP_EQ_STATUS(osc_graph_status(graph, &err), OSC_EUNSUPPORTED); /* the first reason stays */
    osc_graph_free(graph);

    graph = osc_graph_new("bad");
    osc_arg arg = {.kind = OSC_ARG_TENSOR, .tensor = 5};
    osc_value out = 0;
    TAP_OK(osc_graph_op(graph, "aten::neg", &arg, 1, &out, 1) == UINT32_MAX);
    TAP_EQ_STATUS(osc_graph_status(graph, &err), OSC_EINVAL);
    osc_graph_free(graph);
    osc_graph_free(NULL);
}

static void test_describe(void)
{
    osc_graph *graph = osc_graph_new("g");
    int64_t size[2] = {2, 3}, stride[2] = {3, 1}, dims[1] = {-1};
    osc_value x = osc_graph_tensor(graph, OSC_F32, 2, size, stride, true, false, 0);
    osc_value y = osc_graph_tensor(graph, OSC_F32, 1, size, stride + 1, false, true, 1);
    osc_arg args[3] = {{.kind = OSC_ARG_TENSOR, .tensor = x}, cs_ints(dims, 1), cs_f(0.5)};
    osc_graph_op(graph, "aten::sum.dim_IntList", args, 3, &y, 1);
    osc_graph_op_source(graph, "model.py", 7);
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_graph_describe(graph, &text);
    TAP_EQ_STR(osc_buf_c_str(&text), "graph g\n"
                                     "v0 fp32 [2,3][3,1] in slot0\n"
                                     "v1 fp32 [2][1] out slot1\n"
                                     "v1 = aten::sum.dim_IntList v0 [-1] 0x1p-1 @model.py:7\n");
    osc_buf_free(&text);
    osc_graph_free(graph);
}

/* ---- refusals ---- */

static void refuse(const char *name, osc_dtype dtype, const int64_t *a, uint32_t a_rank,
                   const int64_t *b, uint32_t b_rank, const int64_t *out, uint32_t out_rank,
                   const char *reason)
{
    cs_case c;
    cs_begin(&c, name);
    cs_tensor *x = cs_in(&c, dtype, a_rank, a, CS_DENSE),
              *w = cs_in(&c, dtype, b_rank, b, CS_DENSE);
    cs_tensor *y = cs_out(&c, dtype, out_rank, out, CS_DENSE);
    osc_arg args[2] = {cs_t(x), cs_t(w)};
    cs_op(&c, name, args, 2, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_EUNSUPPORTED);
    TAP_OKF(strstr(c.err.message, reason) && strstr(c.err.message, name), "%s: %s", name,
            c.err.message);
    cs_end(&c);
}

static void test_refusals(void)
{
    int64_t s[3] = {4, 5, 6}, t[3] = {5, 4, 6};
    refuse("aten::add.Tensor", OSC_F32, s, 2, t, 2, s, 2, "broadcast");
    refuse("aten::add.Tensor", OSC_I64, s, 2, s, 2, s, 2, "dtype");
    refuse("aten::mm", OSC_F32, s, 2, s, 2, s, 2, "fit together");
    refuse("aten::mm", OSC_I32, s, 2, t, 2, (int64_t[]){4, 4}, 2, "bf16, fp16 and fp32");
    refuse("aten::bmm", OSC_F32, s, 2, t, 2, s, 2, "fit together");
    refuse("aten::bitwise_and.Tensor", OSC_F32, s, 2, s, 2, s, 2, "integers");
}

static void test_missing_slot(void)
{
    int64_t size[1] = {4}, stride[1] = {1};
    osc_graph *graph = osc_graph_new("gap");
    osc_program *program = NULL;
    osc_err err = {0};
    osc_compile_options options = {.size = sizeof options, .generation = OSC_TRN2, .fuse = true};
    osc_value x = osc_graph_tensor(graph, OSC_F32, 1, size, stride, true, false, 0);
    osc_value y = osc_graph_tensor(graph, OSC_F32, 1, size, stride, false, true, 7);
    osc_arg arg = {.kind = OSC_ARG_TENSOR, .tensor = x};
    osc_graph_op(graph, "aten::neg", &arg, 1, &y, 1);
    TAP_EQ_STATUS(osc_compile(graph, &options, &program, &err), OSC_EINVAL);
    TAP_OK(program == NULL && strstr(err.message, "slot") != NULL);
    osc_graph_free(graph);
}

/* A result nobody computes, and an operand nobody computed, are found before anything runs. */
static void test_missing_values(void)
{
    int64_t size[1] = {4};
    for (unsigned k = 0; k < 3; k++) {
        cs_case c;
        cs_begin(&c, "missing");
        cs_tensor *x = cs_in(&c, OSC_F32, 1, size, CS_DENSE), *never = cs_mid(&c, OSC_F32, 1, size);
        cs_tensor *y = cs_out(&c, OSC_F32, 1, size, CS_DENSE);
        if (k == 0)
            cs_out(&c, OSC_F32, 1, size, CS_DENSE);
        osc_arg arg = cs_t(k == 0 ? x : never);
        cs_op(&c, k == 2 ? "aten::clone" : "aten::neg", &arg, 1, y);
        TAP_EQ_STATUS(cs_run(&c), k == 0 ? OSC_EINVAL : OSC_EUNSUPPORTED);
        TAP_OKF(strstr(c.err.message, k == 0 ? "slot 2" : "no earlier operator") != NULL, "%s",
                c.err.message);
        cs_end(&c);
    }
}

/* ---- memory runs out ---- */

/* A graph with every kind of lowering in it. */
static void build_mixed(cs_case *c)
{
    int64_t size[2] = {40, 48}, row[2] = {40, 1};
    static const int64_t dim[1] = {1};
    cs_begin(c, "mixed");
    cs_tensor *x = cs_in(c, OSC_F32, 2, size, CS_PERMUTED),
              *w = cs_in(c, OSC_F32, 2, (int64_t[]){48, 40}, CS_DENSE);
    cs_tensor *mean = cs_mid(c, OSC_F32, 2, row), *centred = cs_mid(c, OSC_F32, 2, size);
    cs_tensor *product = cs_mid(c, OSC_F32, 2, (int64_t[]){40, 40}),
              *y = cs_out(c, OSC_BF16, 2, (int64_t[]){40, 40}, CS_DENSE);
    cs_op(c, "aten::mean.dim", (osc_arg[]){cs_t(x), cs_ints(dim, 1), cs_i(1), cs_none()}, 4, mean);
    cs_op(c, "aten::sub.Tensor", (osc_arg[]){cs_t(x), cs_t(mean)}, 2, centred);
    cs_op(c, "aten::mm", (osc_arg[]){cs_t(centred), cs_t(w)}, 2, product);
    cs_op(c, "aten::_to_copy", (osc_arg[]){cs_t(product)}, 1, y);
}

static bool compile_without_memory(void *context)
{
    const osc_graph *graph = context;
    osc_compile_options options = {.size = sizeof options, .generation = OSC_TRN2, .fuse = true};
    osc_program *program = NULL;
    osc_err err = {0};
    osc_status status = osc_compile(graph, &options, &program, &err);
    bool right = status == OSC_OK ? program != NULL : status == OSC_ENOMEM && program == NULL;
    if (!right)
        tap_note("status %s: %s", osc_status_name(status), err.message);
    osc_program_release(program);
    return right;
}

static void test_out_of_memory(void)
{
    cs_case c;
    build_mixed(&c);
    TAP_OK(tap_oom_sweep(compile_without_memory, c.graph, 4000));
    cs_end(&c);
}

static bool build_without_memory(void *context)
{
    (void)context;
    int64_t size[2] = {2, 3}, stride[2] = {3, 1};
    osc_graph *graph = osc_graph_new("memory");
    if (graph == NULL)
        return true;
    osc_value x = osc_graph_tensor(graph, OSC_F32, 2, size, stride, true, false, 0);
    osc_value y = osc_graph_tensor(graph, OSC_F32, 2, size, stride, false, true, 1);
    bool right = true;
    if (x != OSC_NO_VALUE && y != OSC_NO_VALUE) {
        osc_arg arg = {.kind = OSC_ARG_TENSOR, .tensor = x};
        uint32_t node = osc_graph_op(graph, "aten::neg", &arg, 1, &y, 1);
        osc_graph_op_source(graph, "file.py", 1);
        right = (node == UINT32_MAX) <= (osc_graph_status(graph, NULL) == OSC_ENOMEM);
    } else {
        right = osc_graph_status(graph, NULL) == OSC_ENOMEM;
    }
    osc_graph_free(graph);
    return right;
}

static void test_builder_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(build_without_memory, NULL, 200));
}

/* ---- generations ---- */

static void test_generations(void)
{
    static const osc_generation all[] = {OSC_TRN1, OSC_TRN2, OSC_TRN3};
    for (unsigned g = 0; g < 3; g++) {
        cs_case c;
        osc_rng rng = {5};
        build_mixed(&c);
        c.generation = all[g];
        cs_fill(&c.tensors[0], &rng, -1, 1);
        cs_fill(&c.tensors[1], &rng, -1, 1);
        TAP_OKF(cs_run(&c) == OSC_OK, "%s: %s", osc_generation_name(all[g]), c.err.message);
        cs_end(&c);
    }
}

/* ---- sizes far over SBUF ---- */

/* 8192 x 8192 bf16: 128 MiB against 26 MiB of SBUF. Compared at sampled elements. */
static void test_large_elementwise(void)
{
    cs_case c;
    osc_rng rng = {9};
    int64_t size[2] = {8192, 8192};
    cs_begin(&c, "aten::add.Tensor");
    cs_tensor *x = cs_in(&c, OSC_BF16, 2, size, CS_DENSE),
              *row = cs_in(&c, OSC_BF16, 1, size, CS_DENSE);
    cs_tensor *y = cs_out(&c, OSC_BF16, 2, size, CS_DENSE);
    for (int64_t i = 0; i < x->span; i++)
        cs_store(x, i, (double)(i % 251) - 100);
    cs_fill(row, &rng, -1, 1);
    cs_op(&c, "aten::add.Tensor", (osc_arg[]){cs_t(x), cs_t(row), cs_i(1)}, 3, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    for (unsigned k = 0; k < 20000; k++) {
        int64_t i = (int64_t)osc_rng_below(&rng, (uint64_t)y->elems);
        double want = cs_load(x, i) + cs_load(row, i % 8192);
        TAP_REQUIRE(cs_near(cs_load(y, i), want, cs_tolerance(OSC_BF16, want)));
    }
    tap_note("8192 x 8192 bf16 add: body %" PRId64 " ns, %u instructions", c.body_ns,
             c.instructions);
    cs_end(&c);
}

static void test_large_sum(void)
{
    cs_case c;
    int64_t size[2] = {8192, 8192};
    cs_begin(&c, "aten::sum");
    cs_tensor *x = cs_in(&c, OSC_BF16, 2, size, CS_DENSE),
              *y = cs_out(&c, OSC_F32, 0, size, CS_DENSE);
    double want = 0;
    for (int64_t i = 0; i < x->span; i++) {
        cs_store(x, i, (double)(i % 251) - 100);
        want += (double)(i % 251) - 100;
    }
    cs_op(&c, "aten::sum", (osc_arg[]){cs_t(x), cs_none()}, 2, y);
    TAP_EQ_STATUS(cs_run(&c), OSC_OK);
    TAP_NEAR(cs_load(y, 0), want, fabs(want) * 1e-5);
    TAP_OKF(c.body_ns < 1000000, "one lane would take 70 ms, 128 take %" PRId64 " ns", c.body_ns);
    cs_end(&c);
}

int main(void)
{
    TAP_RUN(test_builder_errors);
    TAP_RUN(test_describe);
    TAP_RUN(test_refusals);
    TAP_RUN(test_missing_slot);
    TAP_RUN(test_missing_values);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_builder_out_of_memory);
    TAP_RUN(test_generations);
    TAP_RUN(test_large_elementwise);
    TAP_RUN(test_large_sum);
    return tap_done();
}
