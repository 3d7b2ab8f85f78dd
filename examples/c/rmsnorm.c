/*
 * rmsnorm.c - RMSNorm on a virtual NeuronCore from plain C, profiled: x / sqrt(mean(x^2) + eps) *
 * weight.
 *
 * Uses only include/opscope. Builds a graph of six operators, compiles it into one program,
 * launches it inside a capture, checks the values against the host and prints where the time went.
 * The operators are the same six that the eager walkthrough runs one by one.
 *
 *     make install PREFIX=$HOME/opscope; export PKG_CONFIG_PATH=$HOME/opscope/lib/pkgconfig
 *     cc examples/c/rmsnorm.c $(pkg-config --cflags --libs opscope) -lm -o rmsnorm
 *     ./rmsnorm [output directory]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "opscope/neuron.h"

enum { ROWS = 4, COLS = 512, RUNS = 3 };
static const double eps = 1e-6;
static const int64_t full[2] = {ROWS, COLS}, column[2] = {ROWS, 1}, row[1] = {COLS};
static const int64_t full_stride[2] = {COLS, 1}, column_stride[2] = {1, 1}, row_stride[1] = {1};

static int fail(const char *what, const osc_err *err)
{
    fprintf(stderr, "rmsnorm: %s: %s\n", what, err->message);
    return 1;
}

static osc_arg tensor(osc_value v)
{
    return (osc_arg){.kind = OSC_ARG_TENSOR, .tensor = v};
}

/* An intermediate of the given shape. */
static osc_value temporary(osc_graph *g, const int64_t *size, const int64_t *stride)
{
    return osc_graph_tensor(g, OSC_F32, 2, size, stride, false, false, OSC_NO_SLOT);
}

/* out = name(a, b): operators whose arguments are two tensors. */
static void binary(osc_graph *g, const char *name, osc_value a, osc_value b, osc_value out)
{
    osc_arg args[2] = {tensor(a), tensor(b)};
    (void)osc_graph_op(g, name, args, 2, &out, 1);
}

/* Slots: 0 x, 1 weight, 2 result. */
static osc_graph *build(void)
{
    static const int64_t last_dim = -1;
    osc_graph *g = osc_graph_new("rms_norm");
    if (g == NULL)
        return NULL;
    osc_value x = osc_graph_tensor(g, OSC_F32, 2, full, full_stride, true, false, 0);
    osc_value weight = osc_graph_tensor(g, OSC_F32, 1, row, row_stride, true, false, 1);
    osc_value result = osc_graph_tensor(g, OSC_F32, 2, full, full_stride, false, true, 2);
    osc_value square = temporary(g, full, full_stride), scaled = temporary(g, full, full_stride);
    osc_value mean = temporary(g, column, column_stride), sum = temporary(g, column, column_stride);
    osc_value root = temporary(g, column, column_stride);

    binary(g, "aten::mul.Tensor", x, x, square);
    osc_arg mean_args[4] = {tensor(square),
                            {.kind = OSC_ARG_INTS, .ints = &last_dim, .count = 1},
                            {.kind = OSC_ARG_INT, .i = 1 /* keepdim */},
                            {.kind = OSC_ARG_NONE /* dtype */}};
    (void)osc_graph_op(g, "aten::mean.dim", mean_args, 4, &mean, 1);
    osc_arg add_args[3] = {
        tensor(mean), {.kind = OSC_ARG_FLOAT, .f = eps}, {.kind = OSC_ARG_INT, .i = 1}};
    (void)osc_graph_op(g, "aten::add.Scalar", add_args, 3, &sum, 1);
    osc_arg rsqrt_args[1] = {tensor(sum)};
    (void)osc_graph_op(g, "aten::rsqrt", rsqrt_args, 1, &root, 1);
    binary(g, "aten::mul.Tensor", x, root, scaled);
    binary(g, "aten::mul.Tensor", scaled, weight, result);
    return g;
}

/* Largest relative difference from the host's own RMSNorm. */
static double worst_error(const float *x, const float *weight, const float *result)
{
    double worst = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < COLS; c++)
            sum += (double)x[r * COLS + c] * x[r * COLS + c];
        for (int c = 0; c < COLS; c++) {
            double want = x[r * COLS + c] / sqrt(sum / COLS + eps) * weight[c];
            double off = fabs(result[r * COLS + c] - want) / (fabs(want) + 1e-3);
            worst = off > worst ? off : worst;
        }
    }
    return worst;
}

static float x[ROWS * COLS], weight[COLS], result[ROWS * COLS];

static osc_status upload(void *address[3], osc_err *err)
{
    const uint64_t bytes[3] = {sizeof x, sizeof weight, sizeof result};
    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = (float)((i * 37) % 101) / 50.0f - 1.0f;
    for (int i = 0; i < COLS; i++)
        weight[i] = 1.0f + (float)(i % 7) / 8.0f;
    for (int i = 0; i < 3; i++) {
        osc_status status = osc_nrt_alloc(0, 0, bytes[i], &address[i], err);
        if (status != OSC_OK)
            return status;
    }
    osc_status status = osc_nrt_write(0, 0, address[0], x, sizeof x, false, NULL, err);
    return status == OSC_OK
               ? osc_nrt_write(0, 0, address[1], weight, sizeof weight, false, NULL, err)
               : status;
}

static osc_status run(osc_nrt_program *program, void *address[3], osc_err *err)
{
    osc_nrt_op op = {.size = sizeof op, .name = "example::rms_norm", .correlation = 1};
    for (int i = 0; i < RUNS; i++) {
        osc_status status = osc_nrt_launch(0, 0, program, address, 3, &op, err);
        if (status != OSC_OK)
            return status;
    }
    return osc_nrt_read(0, 0, result, address[2], sizeof result, NULL, err);
}

static void report(const osc_capture *capture)
{
    static const char *const kinds[] = {"", "execute", "write", "read", "copy", "fill"};
    uint64_t count;
    const osc_capture_op *ops = osc_capture_ops(capture, &count);
    printf("%-8s %-26s %12s %12s %12s\n", "kind", "operator", "start us", "launch us", "body us");
    for (uint64_t i = 0; i < count; i++) {
        double body = ops[i].kind == OSC_CAPTURE_EXEC ? (double)ops[i].body_ns
                                                      : (double)(ops[i].end_ns - ops[i].start_ns);
        printf("%-8s %-26s %12.3f %12.3f %12.3f\n", kinds[ops[i].kind], ops[i].name,
               (double)(ops[i].start_ns - ops[0].start_ns) / 1e3, (double)ops[i].launch_ns / 1e3,
               body / 1e3);
    }
    printf("artifacts: %s\n", osc_capture_dir(capture));
}

int main(int argc, char **argv)
{
    osc_err err = {0};
    osc_nrt_program *program;
    osc_capture *capture;
    osc_nrt_info info = {.size = sizeof info};
    osc_nrt_program_info facts = {.size = sizeof facts};
    void *address[3] = {NULL, NULL, NULL};
    if (osc_neuron_abi() != OSC_NEURON_ABI || osc_nrt_get_info(&info, &err) != OSC_OK)
        return fail("no device", &err);
    printf("%u virtual NeuronCores of a %s, %.1f GiB each\n", info.device_count, info.instance_type,
           (double)info.hbm_bytes / (1024.0 * 1024.0 * 1024.0));

    osc_graph *graph = build();
    if (graph == NULL || osc_nrt_compile(graph, &program, &err) != OSC_OK)
        return fail("compile", &err);
    osc_graph_free(graph);
    if (osc_nrt_program_get_info(program, &facts, &err) != OSC_OK)
        return fail("program", &err);
    printf("compiled %s: %u instructions, device body %.3f us%s\n", facts.name, facts.instructions,
           (double)facts.body_ns / 1e3, facts.from_disk_cache ? " (from the compile cache)" : "");

    if (upload(address, &err) != OSC_OK)
        return fail("upload", &err);
    osc_capture_options options = {.size = sizeof options,
                                   .modes = OSC_MODE_DEVICE | OSC_MODE_RUNTIME,
                                   .output_dir = argc > 1 ? argv[1] : "rmsnorm_output"};
    if (osc_capture_start(&options, &capture, &err) != OSC_OK)
        return fail("capture", &err);
    if (run(program, address, &err) != OSC_OK)
        return fail("run", &err);
    if (osc_capture_stop(capture, &err) != OSC_OK)
        return fail("capture", &err);
    report(capture);

    double worst = worst_error(x, weight, result);
    printf("largest relative error against the host: %.1e\n", worst);
    osc_capture_release(capture);
    osc_nrt_program_release(program);
    for (int i = 0; i < 3; i++)
        osc_nrt_free(address[i]);
    osc_nrt_shutdown();
    return worst < 1e-4 ? 0 : 1;
}
