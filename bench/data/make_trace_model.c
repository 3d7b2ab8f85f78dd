/*
 * make_trace_model.c - the workload of make_trace.c: names, a training loop's events, one step at a time.
 *
 * Part of make_trace.c's translation unit, apart only for its length.
 */
/* ------------------------------------------------------------------ random numbers */
static uint64_t rng;
static uint64_t rnd(void)
{
    uint64_t z = (rng += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
static uint64_t between(uint64_t lo, uint64_t hi)
{
    return lo + rnd() % (hi - lo + 1);
}

/* ------------------------------------------------------------------ names and their rows */
struct row {
    char *name;
    const char *device;
    bool annotation;
    uint64_t count;
    int64_t self_cpu, total_cpu, self_dev, total_dev;
};
static struct row rows[4096];
static int n_rows;

static int row_of(const char *name, const char *device, bool annotation)
{
    for (int i = 0; i < n_rows; i++)
        if (!strcmp(rows[i].name, name) && rows[i].device == device &&
            rows[i].annotation == annotation)
            return i;
    if (n_rows == 4096)
        exit(3);
    rows[n_rows] = (struct row){.name = strdup(name), .device = device, .annotation = annotation};
    return n_rows++;
}
static const char CPU[] = "CPU", CUDA[] = "CUDA";

enum {
    K_GEMM,
    K_ELEM,
    K_ADD,
    K_NORM,
    K_NORM_BW,
    K_SOFTMAX,
    K_ATTN,
    K_ATTN_BW,
    K_REDUCE,
    K_ADAM,
    K_NCCL,
    K_CAST,
    K_KINDS
};
static int kernel_rows[K_KINDS][256];

static void make_kernel_names(void)
{
    static const char *const pattern[K_KINDS] = {
        "void synth::gemm::device_kernel<synth::gemm::Universal<synth::Shape<128, %d, 64>, "
        "synth::bfloat16, synth::layout::RowMajor, synth::bfloat16, synth::layout::ColumnMajor, "
        "float, synth::epilogue::LinearCombination<%d>>>(synth::gemm::Params)",
        "void at::native::vectorized_elementwise_kernel<%d, "
        "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
        "at::native::GeluType)::{lambda()#%d}, std::array<char*, 2ul> >(int, "
        "at::native::GeluCUDAKernelImpl, std::array<char*, 2ul>)",
        "void at::native::elementwise_kernel<128, %d, "
        "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> "
        ">(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> "
        "const&)::{lambda(int)#%d}>(int)",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, "
        "float, %d, %d>(int, float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 "
        "const*, float*, float*, c10::BFloat16*)",
        "void at::native::(anonymous "
        "namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, %d, "
        "%d>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 "
        "const*, c10::BFloat16*, int)",
        "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, %d, "
        "false, %d>(c10::BFloat16*, c10::BFloat16 const*, int, int, int, bool const*, int, bool)",
        "void synth_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, %d, 4, false, false, "
        "synth::bfloat16>, false, true, false, %d>(Flash_fwd_params)",
        "void "
        "synth_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, "
        "128, %d, 8, %d, synth::bfloat16>, false, true>(Flash_bwd_params)",
        "void at::native::reduce_kernel<512, %d, at::native::ReduceOp<c10::BFloat16, "
        "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor>, unsigned int, "
        "c10::BFloat16, %d> >(at::native::ReduceOp)",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        "namespace)::FusedOptimizerTensorListMetadata<%d>, at::native::(anonymous "
        "namespace)::FusedAdamMathFunctor<float, %d>, float const*>(float const*)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL<%d, %d>(ncclDevKernelArgsStorage<4096ul>)",
        "void "
        "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
        "TensorIteratorBase&)::{lambda()#%d}, std::array<char*, 2ul>, %d>(int)",
    };
    char t[600];
    for (int k = 0; k < K_KINDS; k++)
        for (int v = 0; v < name_variants; v++) {
            snprintf(t, sizeof t, pattern[k], 64 << (v % 4), 1 + v);
            kernel_rows[k][v] = row_of(t, CUDA, false);
        }
}

/* ------------------------------------------------------------------ one step in memory */
enum cat { OP, ANNOTATION, PYTHON_FUNCTION, RUNTIME, MEMORY };
struct node {
    uint64_t start, end;
    int64_t child_cpu, dev; /* sums over direct children; own kernels and the whole subtree */
    int row, parent, args, thread;
    enum cat cat;
    uint32_t id, corr, seq, flow, py_parent;
    int64_t bytes;
    bool has_seq, backward;
};
struct kernel {
    uint64_t start, end;
    int row, stream, shape;
    uint32_t ext, corr;
    bool copy, annotation;
    uint64_t bytes;
};
static struct node *nodes;
static int n_nodes, cap_nodes;
static struct kernel *kernels;
static int n_kernels, cap_kernels;

static uint64_t clock_ns[2],
    stream_free[2]; /* main thread, autograd thread; compute and NCCL stream */
static int top[2];  /* open CPU node per thread */
static int pytop;   /* open python frame of the main thread */
static uint32_t next_id, next_corr, next_seq, next_py, next_flow;
static uint64_t ev_idx, step_no, allocated;
static const uint64_t BASE = 1767189312000000000u, ORIGIN = 3605057436108407u;
enum { PID = 41210, MAIN_TID = 41210, GRAD_TID = 41398, STREAM = 7, NCCL_STREAM = 28 };

static int add_node(void)
{
    if (n_nodes == cap_nodes) {
        cap_nodes = cap_nodes ? cap_nodes * 2 : 1 << 14;
        nodes = realloc(nodes, (size_t)cap_nodes * sizeof *nodes);
        if (!nodes)
            exit(2);
    }
    memset(&nodes[n_nodes], 0, sizeof *nodes);
    return n_nodes++;
}

static int begin(int th, int row, enum cat cat, int args)
{
    clock_ns[th] += between(80, 900);
    int i = add_node();
    struct node *n = &nodes[i];
    n->row = row;
    n->cat = cat;
    n->args = args;
    n->thread = th;
    n->start = clock_ns[th];
    if (cat == PYTHON_FUNCTION) {
        n->parent = pytop;
        n->py_parent = pytop >= 0 ? nodes[pytop].id : 0;
        n->id = ++next_py;
        pytop = i;
    } else {
        n->parent = top[th];
        n->id = cat == RUNTIME ? 0 : ++next_id;
        top[th] = i;
    }
    return i;
}

static void end(int i)
{
    struct node *n = &nodes[i];
    clock_ns[n->thread] += between(60, 700);
    n->end = clock_ns[n->thread];
    if (n->cat == PYTHON_FUNCTION) {
        pytop = n->parent;
        return;
    }
    top[n->thread] = n->parent;
    int64_t dur = (int64_t)(n->end - n->start);
    struct row *r = &rows[n->row];
    r->count++;
    r->total_cpu += dur;
    r->self_cpu += dur - n->child_cpu;
    r->total_dev += n->dev;
    if (n->parent >= 0) {
        nodes[n->parent].child_cpu += dur;
        nodes[n->parent].dev += n->dev;
    }
}

static void memory_event(int th, int64_t bytes)
{
    if (!with_memory)
        return;
    int i = add_node();
    nodes[i] = (struct node){.cat = MEMORY, .thread = th, .parent = -1, .bytes = bytes};
    nodes[i].start = nodes[i].end = clock_ns[th] += between(20, 90);
    allocated += (uint64_t)bytes;
}

/* R_* are row numbers, set up in make_rows() */
/* clang-format off */
#define CPU_ROWS(X) \
    X(LINEAR, "aten::linear") \
    X(ADDMM, "aten::addmm") \
    X(T, "aten::t") \
    X(TRANSPOSE, "aten::transpose") \
    X(AS_STRIDED, "aten::as_strided") \
    X(LAYER_NORM, "aten::layer_norm") \
    X(NATIVE_LAYER_NORM, "aten::native_layer_norm") \
    X(EMPTY, "aten::empty") \
    X(VIEW, "aten::view") \
    X(GELU, "aten::gelu") \
    X(ADD, "aten::add") \
    X(SDPA, "aten::scaled_dot_product_attention") \
    X(FLASH, "aten::_flash_attention_forward") \
    X(FLASH_BW, "aten::_flash_attention_backward") \
    X(MM, "aten::mm") \
    X(SUM, "aten::sum") \
    X(EV_ADDMM, "autograd::engine::evaluate_function: AddmmBackward0") \
    X(BW_ADDMM, "AddmmBackward0") \
    X(EV_LN, "autograd::engine::evaluate_function: NativeLayerNormBackward0") \
    X(BW_LN, "NativeLayerNormBackward0") \
    X(LN_BW, "aten::native_layer_norm_backward") \
    X(EV_GELU, "autograd::engine::evaluate_function: GeluBackward0") \
    X(BW_GELU, "GeluBackward0") \
    X(GELU_BW, "aten::gelu_backward") \
    X(EV_SDPA, "autograd::engine::evaluate_function: "                                                             "ScaledDotProductFlashAttentionBackward0") \
    X(BW_SDPA, "ScaledDotProductFlashAttentionBackward0") \
    X(EV_ACC, "autograd::engine::evaluate_function: "                                                             "torch::autograd::AccumulateGrad") \
    X(ACC, "torch::autograd::AccumulateGrad") \
    X(DETACH, "aten::detach") \
    X(DETACH_, "detach") \
    X(ALLREDUCE, "c10d::allreduce_") \
    X(COMMS, "record_param_comms") \
    X(FUSED_ADAM, "aten::_fused_adamw_") \
    X(ITEM, "aten::item") \
    X(LOCAL_SCALAR, "aten::_local_scalar_dense") \
    X(TO, "aten::to") \
    X(TO_COPY, "aten::_to_copy") \
    X(COPY, "aten::copy_") \
    X(MSE, "aten::mse_loss") \
    X(LAUNCH, "cudaLaunchKernel") \
    X(LAUNCH_EX, "cudaLaunchKernelExC") \
    X(MEMCPY, "cudaMemcpyAsync") \
    X(STREAM_SYNC, "cudaStreamSynchronize") \
    X(DEVICE_SYNC, "cudaDeviceSynchronize") \
    X(EVENT_RECORD, "cudaEventRecord")
/* clang-format on */
#define X(id, name) R_##id,
enum { CPU_ROWS(X) R_COUNT };
#undef X
static int R_STEP, R_OPT, R_FWD, R_GPU_STEP, R_GPU_OPT, R_GPU_FWD, R_HTOD, R_DTOH;

static void make_rows(void)
{
#define X(id, name) row_of(name, CPU, false);
    CPU_ROWS(X)
#undef X
    R_STEP = row_of("ProfilerStep*", CPU, true);
    R_OPT = row_of("Optimizer.step#AdamW.step", CPU, true);
    R_FWD = row_of("DistributedDataParallel.forward", CPU, true);
    R_GPU_STEP = row_of("ProfilerStep*", CUDA, true);
    R_GPU_OPT = row_of("Optimizer.step#AdamW.step", CUDA, true);
    R_GPU_FWD = row_of("DistributedDataParallel.forward", CUDA, true);
    R_HTOD = row_of("Memcpy HtoD (Pinned -> Device)", CUDA, false);
    R_DTOH = row_of("Memcpy DtoH (Device -> Pageable)", CUDA, false);
    make_kernel_names();
}

static int leaf(int th, int row, int args)
{
    int i = begin(th, row, OP, args);
    end(i);
    return i;
}

/* a runtime call; if it launches, a device event on a stream */
static void runtime(int th, int row, int krow, int stream, uint64_t dur, int shape, uint64_t bytes)
{
    int op = top[th];
    int i = begin(th, row, RUNTIME, 0);
    nodes[i].corr = ++next_corr;
    /* only ops carry an External id to their launches, annotations do not */
    bool linked = op >= 0 && nodes[op].cat == OP;
    nodes[i].id = linked ? nodes[op].id : 0;
    clock_ns[th] += between(2500, 7000);
    end(i);
    if (krow < 0)
        return;
    nodes[i].flow = nodes[i].corr;
    if (n_kernels == cap_kernels) {
        cap_kernels = cap_kernels ? cap_kernels * 2 : 1 << 13;
        kernels = realloc(kernels, (size_t)cap_kernels * sizeof *kernels);
        if (!kernels)
            exit(2);
    }
    int s = stream == NCCL_STREAM;
    uint64_t start = nodes[i].end + between(900, 3000);
    if (start < stream_free[s])
        start = stream_free[s] + between(0, 900);
    dur += rnd() % (dur / 8 + 1);
    kernels[n_kernels++] = (struct kernel){.start = start,
                                           .end = start + dur,
                                           .row = krow,
                                           .stream = stream,
                                           .shape = shape,
                                           .ext = nodes[i].id,
                                           .corr = nodes[i].corr,
                                           .copy = bytes != 0,
                                           .bytes = bytes};
    stream_free[s] = start + dur;
    struct row *r = &rows[krow];
    r->count++;
    r->self_dev += (int64_t)dur;
    r->total_dev += (int64_t)dur;
    if (linked) {
        nodes[op].dev += (int64_t)dur;
        rows[nodes[op].row].self_dev += (int64_t)dur;
    }
}

static void launch(int th, int kind, uint64_t dur, int shape)
{
    runtime(th, rnd() % 4 ? R_LAUNCH : R_LAUNCH_EX,
            kernel_rows[kind][rnd() % (uint64_t)name_variants], STREAM, dur, shape, 0);
}

static int py(int frame)
{
    return with_stack ? begin(0, frame, PYTHON_FUNCTION, 0) : -1;
}

static void py_end(int i)
{
    if (i >= 0)
        end(i);
}

static const char *const frames[] = {
    "torch/nn/modules/module.py(1747): _call_impl",
    "torch/nn/modules/linear.py(124): forward",
    "<built-in function linear>",
    "synth/model/block.py(88): forward",
    "torch/nn/modules/normalization.py(216): forward",
    "torch/nn/functional.py(2905): layer_norm",
    "<built-in method layer_norm of type object at 0x7f31c49fc0e0>",
    "<built-in function scaled_dot_product_attention>",
    "synth/model/attention.py(141): forward",
    "<built-in function gelu>",
    "torch/nn/modules/activation.py(734): forward",
    "train.py(212): train_step",
    "torch/optim/optimizer.py(484): wrapper",
    "torch/optim/adamw.py(243): step",
    "torch/_tensor.py(570): backward",
    "torch/autograd/__init__.py(347): backward",
    "<built-in method run_backward of torch._C._EngineBase object at 0x7f31b04a2c30>",
    "<built-in method item of Tensor object at 0x7f30d6c1b920>",
    "nn.Module: Linear_%",
    "nn.Module: Block_%",
    "nn.Module: LayerNorm_%",
    "nn.Module: GELU_%",
    "nn.Module: Attention_%",
    "torch/nn/modules/module.py(1755): _wrapped_call_impl",
    "<built-in method _get_tracing_state of PyCapsule object at 0x7f31b9a5b4b0>",
    "torch/nn/functional.py(1695): __getattr__",
};
enum {
    F_CALL,
    F_LINEAR,
    F_BLINEAR,
    F_BLOCK,
    F_NORM,
    F_FNORM,
    F_BNORM,
    F_BSDPA,
    F_ATTN,
    F_BGELU,
    F_ACT,
    F_TRAIN,
    F_OPTW,
    F_OPT,
    F_BACKWARD,
    F_ABACKWARD,
    F_RUN,
    F_BITEM,
    F_MLINEAR,
    F_MBLOCK,
    F_MNORM,
    F_MGELU,
    F_MATTN,
    F_WRAP,
    F_TRACING,
    F_GETATTR
};

static int open_module(int module, int forward, int *saved)
{
    saved[0] = py(module);
    saved[1] = py(F_WRAP);
    saved[2] = py(F_CALL);
    py_end(py(F_TRACING));
    return saved[3] = py(forward);
}
static void close_module(int *saved)
{
    for (int i = 3; i >= 0; i--)
        py_end(saved[i]);
}

static void op_seq(int i)
{
    nodes[i].has_seq = true;
    nodes[i].seq = ++next_seq;
}

static void linear(int shape)
{
    int m[4];
    open_module(F_MLINEAR, F_LINEAR, m);
    py_end(py(F_GETATTR));
    int b = py(F_BLINEAR);
    int l = begin(0, R_LINEAR, OP, shape);
    int t = begin(0, R_T, OP, shape);
    int tr = begin(0, R_TRANSPOSE, OP, shape);
    leaf(0, R_AS_STRIDED, shape);
    end(tr);
    end(t);
    leaf(0, R_VIEW, shape);
    int a = begin(0, R_ADDMM, OP, shape);
    op_seq(a);
    memory_event(0, 4096 * (1 + shape));
    launch(0, K_GEMM, 40000 + 9000 * (uint64_t)shape, shape);
    end(a);
    end(l);
    py_end(b);
    close_module(m);
}

static void norm(int shape)
{
    int m[4];
    open_module(F_MNORM, F_NORM, m);
    int f = py(F_FNORM), b = py(F_BNORM);
    int l = begin(0, R_LAYER_NORM, OP, shape), n = begin(0, R_NATIVE_LAYER_NORM, OP, shape);
    op_seq(n);
    for (int i = 0; i < 3; i++) {
        int e = begin(0, R_EMPTY, OP, shape);
        memory_event(0, 2048);
        end(e);
    }
    launch(0, K_NORM, 9000, shape);
    end(n);
    end(l);
    py_end(b);
    py_end(f);
    close_module(m);
}

static void simple(int row, int kind, uint64_t dur, int shape)
{
    int i = begin(0, row, OP, shape);
    op_seq(i);
    memory_event(0, 8192);
    launch(0, kind, dur, shape);
    end(i);
}

static void block(int k)
{
    int m[4], g[4];
    open_module(F_MBLOCK, F_BLOCK, m);
    norm(k % 4);
    linear(k % 5);
    int a[4];
    open_module(F_MATTN, F_ATTN, a);
    int b = py(F_BSDPA);
    int s = begin(0, R_SDPA, OP, 5), f = begin(0, R_FLASH, OP, 5);
    op_seq(f);
    launch(0, K_ATTN, 70000, 5);
    end(f);
    end(s);
    py_end(b);
    close_module(a);
    linear((k + 1) % 5);
    simple(R_ADD, K_ADD, 7000, 2);
    norm((k + 2) % 4);
    linear((k + 2) % 5);
    open_module(F_MGELU, F_ACT, g);
    b = py(F_BGELU);
    simple(R_GELU, K_ELEM, 12000, 3);
    py_end(b);
    close_module(g);
    linear((k + 3) % 5);
    simple(R_ADD, K_ADD, 7000, 2);
    close_module(m);
}

static int bw_open(int ev, int bw, uint32_t seq, int *saved)
{
    saved[0] = begin(1, ev, OP, -1);
    nodes[saved[0]].has_seq = nodes[saved[0]].backward = true;
    nodes[saved[0]].seq = seq;
    saved[1] = begin(1, bw, OP, -1);
    nodes[saved[1]].has_seq = nodes[saved[1]].backward = true;
    nodes[saved[1]].seq = seq;
    return saved[1];
}
static void bw_close(int *saved)
{
    end(saved[1]);
    end(saved[0]);
}

static void allreduce(void)
{
    int a = begin(1, R_ALLREDUCE, OP, 6), c = begin(1, R_COMMS, OP, -2);
    runtime(1, R_LAUNCH_EX, kernel_rows[K_NCCL][rnd() % (uint64_t)name_variants], NCCL_STREAM,
            180000, 6, 0);
    runtime(1, R_EVENT_RECORD, -1, 0, 0, 0, 0);
    end(c);
    end(a);
}

static void block_backward(uint32_t *seq)
{
    int s[2];
    for (int i = 0; i < 4; i++) {
        bw_open(R_EV_ADDMM, R_BW_ADDMM, (*seq)--, s);
        for (int j = 0; j < 2; j++) {
            int t = begin(1, R_T, OP, i);
            end(t);
            int m = begin(1, R_MM, OP, i);
            memory_event(1, 16384);
            launch(1, K_GEMM, 42000 + 8000 * (uint64_t)i, i);
            end(m);
        }
        int r = begin(1, R_SUM, OP, i);
        launch(1, K_REDUCE, 6000, i);
        end(r);
        bw_close(s);
        bw_open(R_EV_ACC, R_ACC, 0, s);
        int d = begin(1, R_DETACH, OP, i);
        leaf(1, R_DETACH_, i);
        end(d);
        bw_close(s);
        if (i == 1) {
            bw_open(R_EV_GELU, R_BW_GELU, (*seq)--, s);
            int g = begin(1, R_GELU_BW, OP, 3);
            launch(1, K_ELEM, 15000, 3);
            end(g);
            bw_close(s);
        }
        if (i == 2) {
            bw_open(R_EV_SDPA, R_BW_SDPA, (*seq)--, s);
            int g = begin(1, R_FLASH_BW, OP, 5);
            launch(1, K_ATTN_BW, 150000, 5);
            end(g);
            bw_close(s);
        }
    }
    for (int i = 0; i < 2; i++) {
        bw_open(R_EV_LN, R_BW_LN, (*seq)--, s);
        int l = begin(1, R_LN_BW, OP, i);
        launch(1, K_NORM_BW, 14000, i);
        launch(1, K_REDUCE, 5000, i);
        end(l);
        bw_close(s);
    }
    memory_event(1, -16384);
    allreduce();
}

static void gpu_annotation(int row, int from, int stream, uint32_t ext)
{
    uint64_t a = UINT64_MAX, b = 0;
    for (int i = from; i < n_kernels; i++)
        if (kernels[i].stream == stream && !kernels[i].annotation) {
            if (kernels[i].start < a)
                a = kernels[i].start;
            if (kernels[i].end > b)
                b = kernels[i].end;
        }
    if (!b)
        return;
    if (n_kernels == cap_kernels) {
        cap_kernels *= 2;
        kernels = realloc(kernels, (size_t)cap_kernels * sizeof *kernels);
        if (!kernels)
            exit(2);
    }
    kernels[n_kernels++] = (struct kernel){
        .start = a, .end = b, .row = row, .stream = stream, .ext = ext, .annotation = true};
    rows[row].count++;
    rows[row].self_dev += (int64_t)(b - a);
    rows[row].total_dev += (int64_t)(b - a);
}

static void simulate_step(void)
{
    int m[4];
    n_nodes = n_kernels = 0;
    top[0] = top[1] = pytop = -1;
    allocated = 1u << 30;
    int step = begin(0, R_STEP, ANNOTATION, 0), train = py(F_TRAIN);
    int to = begin(0, R_TO, OP, 6), tc = begin(0, R_TO_COPY, OP, 6), cp = begin(0, R_COPY, OP, 6);
    runtime(0, R_MEMCPY, R_HTOD, STREAM, 21000, 6, 1 << 20);
    end(cp);
    end(tc);
    end(to);
    int fwd = begin(0, R_FWD, ANNOTATION, 0), k0 = n_kernels;
    for (int k = 0; k < layers; k++)
        block(k);
    end(fwd);
    gpu_annotation(R_GPU_FWD, k0, STREAM, nodes[fwd].id);
    simple(R_MSE, K_REDUCE, 8000, 6);
    /* a launch under the annotation only: no op, so no External id */
    runtime(0, R_LAUNCH, kernel_rows[K_CAST][0], STREAM, 4000, 6, 0);
    m[0] = py(F_BACKWARD);
    m[1] = py(F_ABACKWARD);
    m[2] = py(F_RUN);
    clock_ns[1] = clock_ns[0] + between(4000, 20000);
    uint32_t seq = next_seq;
    for (int k = 0; k < layers; k++)
        block_backward(&seq);
    clock_ns[0] = clock_ns[1] + between(3000, 9000);
    for (int i = 2; i >= 0; i--)
        py_end(m[i]);
    int w = py(F_OPTW), opt = begin(0, R_OPT, ANNOTATION, 0), o = py(F_OPT), k1 = n_kernels;
    for (int i = 0; i < 1 + layers / 4; i++) {
        int f = begin(0, R_FUSED_ADAM, OP, -3);
        for (int j = 0; j < 4; j++)
            launch(0, K_ADAM, 60000, 6);
        end(f);
    }
    py_end(o);
    end(opt);
    gpu_annotation(R_GPU_OPT, k1, STREAM, nodes[opt].id);
    py_end(w);
    w = py(F_BITEM);
    int it = begin(0, R_ITEM, OP, -1), ls = begin(0, R_LOCAL_SCALAR, OP, -1);
    runtime(0, R_MEMCPY, R_DTOH, STREAM, 1800, 6, 4);
    if (stream_free[0] > clock_ns[0])
        clock_ns[0] = stream_free[0] + between(2000, 6000);
    runtime(0, R_STREAM_SYNC, -1, 0, 0, 0, 0);
    end(ls);
    end(it);
    py_end(w);
    py_end(train);
    runtime(0, R_DEVICE_SYNC, -1, 0, 0, 0, 0);
    end(step);
    gpu_annotation(R_GPU_STEP, 0, STREAM, nodes[step].id);
    gpu_annotation(R_GPU_STEP, 0, NCCL_STREAM, nodes[step].id);
    clock_ns[0] += between(20000, 90000);
}
