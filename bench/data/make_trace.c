/*
 * make_trace.c - writes a synthetic PyTorch/Kineto GPU trace of any size, and the table it must give.
 *
 * The same program as tools/make_trace.c of the reference material, ours too; a copy, so that benchmarks and tests need
 * nothing else. Equal arguments give equal bytes in both.
 *
 *   cc -O2 -o make_trace make_trace.c
 *   ./make_trace -s 100M -o trace.json                      a file of about 100 MB
 *   ./make_trace -n 2000000 -o trace.json --truth t.json    about 2 million events, with the expected rows
 *   ./make_trace -s 10G | gzip > trace.json.gz
 *
 *   -s SIZE      target size in bytes (K, M, G = powers of ten)       -n EVENTS   target number of X events
 *   -o FILE      output, default stdout                               --truth F   expected key_averages rows
 *   --seed N     default 1; equal arguments give equal bytes          --layers N  transformer layers, default 12
 *   --style S    kineto    several lines per event, as the C++ writer of PyTorch 2.4 .. 2.12 (default)
 *                kineto213 one line per key, as the C++ writer of 2.13
 *                python    one line per event, as the Python exporter
 *                oneline   no line breaks at all, as files that went through json.dump
 *   --no-stack   no python_function events      --no-memory  no [memory] events      --no-flow  no flow events
 *   --names N    spread kernels over N template instances per kind, default 8 (more: more distinct names)
 *
 * The workload is a training loop on one GPU of a data-parallel job: forward on the main thread inside
 * python frames, backward on the autograd thread, gradient all-reduce on a second stream, fused optimizer,
 * one blocking .item() per step.  As in real files, all CPU events come first (thread by thread within a
 * step, so not sorted by time), then the device events with their flows.  This is done by running the same
 * deterministic simulation twice; memory use does not depend on the size.  Every time is a whole number of
 * nanoseconds.  Kernels are linked by "External id" and "correlation"; some launches have no op.
 *
 * The truth file has exact totals in ns: count, self/total CPU, self/total device, per (name, device type,
 * annotation).  It knows no python rows and no memory columns.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ options and output */
enum style { KINETO, KINETO213, PYTHON, ONELINE };
static enum style style = KINETO;
static bool with_stack = true, with_memory = true, with_flow = true;
static int layers = 12, name_variants = 8;
static uint64_t seed = 1;

static char *buf;
static size_t used;
static uint64_t written, x_events;
static int out_fd = 1;
static bool counting; /* calibration: count bytes, write nothing */
enum { BUF = 1 << 20, SLACK = 8192 };

static void flush(void)
{
    size_t off = 0;
    written += used;
    while (!counting && off < used) {
        ssize_t n = write(out_fd, buf + off, used - off);
        if (n <= 0) {
            perror("make_trace: write");
            exit(1);
        }
        off += (size_t)n;
    }
    used = 0;
}

static void room(void)
{
    if (used > BUF - SLACK)
        flush();
}

static void put(const char *s, size_t n)
{
    memcpy(buf + used, s, n);
    used += n;
}
#define LIT(s) put(s, sizeof(s) - 1)

static void put_str(const char *s)
{
    put(s, strlen(s));
}

static void put_u64(uint64_t v)
{
    char t[20];
    int i = 20;
    do {
        t[--i] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    put(t + i, (size_t)(20 - i));
}

static void put_i64(int64_t v)
{
    if (v < 0) {
        LIT("-");
        v = -v;
    }
    put_u64((uint64_t)v);
}

static void put_us(uint64_t ns)
{
    unsigned f = (unsigned)(ns % 1000);
    char t[4] = {'.', (char)('0' + f / 100), (char)('0' + f / 10 % 10), (char)('0' + f % 10)};
    put_u64(ns / 1000);
    put(t, 4);
}

/* a tiny printf: %u uint64, %d int64, %s string, %% */
static void fmt(const char *f, ...)
{
    va_list ap;
    va_start(ap, f);
    for (const char *p = f; *p;) {
        const char *q = p;
        while (*q && *q != '%')
            q++;
        put(p, (size_t)(q - p));
        if (!*q)
            break;
        if (q[1] == 'u')
            put_u64(va_arg(ap, uint64_t));
        else if (q[1] == 'd')
            put_i64(va_arg(ap, int64_t));
        else if (q[1] == '%')
            LIT("%");
        else
            put_str(va_arg(ap, const char *));
        p = q + 2;
    }
    va_end(ap);
}

#include "make_trace_model.c"

/* ------------------------------------------------------------------ printing */
static void head(const char *cat, uint64_t pid, uint64_t tid, uint64_t start, uint64_t dur,
                 const char *name, uint64_t digit, bool has_digit)
{
    room();
    x_events++;
    switch (style) {
    case KINETO: fmt("  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"", cat); break;
    case KINETO213:
        fmt("  {\n    \"ph\": \"X\",\n    \"cat\": \"%s\",\n    \"name\": \"", cat);
        break;
    case PYTHON: fmt("{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"", cat); break;
    default: fmt("{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"", cat); break;
    }
    if (has_digit) { /* "%" or "*" at the end of the name stands for a number */
        put(name, strlen(name) - 1);
        if (name[strlen(name) - 1] == '*')
            LIT("#");
        put_u64(digit);
    } else {
        put_str(name);
    }
    switch (style) {
    case KINETO: fmt("\", \"pid\": %u, \"tid\": %u,\n    \"ts\": ", pid, tid); break;
    case KINETO213: fmt("\",\n    \"pid\": %u,\n    \"tid\": %u,\n    \"ts\": ", pid, tid); break;
    case PYTHON: fmt("\",\"pid\":%u,\"tid\":%u,\"ts\":", pid, tid); break;
    default: fmt("\", \"pid\": %u, \"tid\": %u, \"ts\": ", pid, tid); break;
    }
    put_us(start);
    switch (style) {
    case KINETO:
        LIT(", \"dur\": ");
        put_us(dur);
        LIT(",\n    \"args\": {\n      ");
        break;
    case KINETO213:
        LIT(",\n    \"dur\": ");
        put_us(dur);
        LIT("\n    ,\n    \"args\": {\n      ");
        break;
    case PYTHON:
        LIT(",\"dur\":");
        put_us(dur);
        LIT(",\"args\":{");
        break;
    default:
        LIT(", \"dur\": ");
        put_us(dur);
        LIT(", \"args\": {");
        break;
    }
}

static void tail(void)
{
    switch (style) {
    case KINETO:
    case KINETO213: LIT("\n    }\n  },\n"); break;
    case PYTHON: LIT("}},\n"); break;
    default: LIT("}}, "); break;
    }
}

static void flow(char ph, uint64_t id, uint64_t pid, uint64_t tid, uint64_t ts, const char *cat)
{
    char p[2] = {ph, 0};
    if (!with_flow)
        return;
    room();
    if (style == KINETO || style == KINETO213)
        fmt("  {\n    \"ph\": \"%s\", \"id\": %u, \"pid\": %u, \"tid\": %u, \"ts\": ", p, id, pid,
            tid);
    else
        fmt("{\"ph\":\"%s\",\"id\":%u,\"pid\":%u,\"tid\":%u,\"ts\":", p, id, pid, tid);
    put_us(ts);
    const char *end = ph == 'f' ? ", \"bp\": \"e\"" : "";
    if (style == KINETO || style == KINETO213)
        fmt(",\n    \"cat\": \"%s\", \"name\": \"%s\"%s\n  },\n", cat, cat, end);
    else
        fmt(",\"cat\":\"%s\",\"name\":\"%s\"%s},%s", cat, cat, end, style == PYTHON ? "\n" : " ");
}

static const char *const shape_args[] = {
    "\"Concrete Inputs\": [\"\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", "
    "\"c10::BFloat16\", \"c10::BFloat16\"], \"Input Strides\": [[4096, 1], [1, 4096], [1]], "
    "\"Input Dims\": [[8192, 4096], [4096, 12288], [12288]]",
    "\"Concrete Inputs\": [\"\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", "
    "\"c10::BFloat16\", \"c10::BFloat16\"], \"Input Strides\": [[4096, 1], [1, 4096], [1]], "
    "\"Input Dims\": [[8192, 4096], [4096, 4096], [4096]]",
    "\"Concrete Inputs\": [\"\", \"\", \"1\"], \"Input type\": [\"c10::BFloat16\", "
    "\"c10::BFloat16\", \"Scalar\"], \"Input Strides\": [[8388608, 4096, 1], [8388608, 4096, 1], "
    "[]], \"Input Dims\": [[4, 2048, 4096], [4, 2048, 4096], []]",
    "\"Concrete Inputs\": [\"\", \"tanh\"], \"Input type\": [\"c10::BFloat16\", \"\"], \"Input "
    "Strides\": [[33554432, 16384, 1], []], \"Input Dims\": [[4, 2048, 16384], []]",
    "\"Concrete Inputs\": [\"\", \"[4096]\", \"\", \"\", \"1.0000000000000001e-05\", \"True\"], "
    "\"Input type\": [\"c10::BFloat16\", \"ScalarList\", \"c10::BFloat16\", \"c10::BFloat16\", "
    "\"Scalar\", \"Scalar\"], \"Input Strides\": [[8388608, 4096, 1], [], [1], [1], [], []], "
    "\"Input Dims\": [[4, 2048, 4096], [], [4096], [4096], [], []]",
    "\"Concrete Inputs\": [\"\", \"\", \"\", \"\", \"0.\", \"True\", \"\", \"False\"], \"Input "
    "type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"\", \"Scalar\", "
    "\"Scalar\", \"\", \"Scalar\"], \"Input Strides\": [[8388608, 64, 4096, 1], [8388608, 64, "
    "4096, 1], [8388608, 64, 4096, 1], [], [], [], [], []], \"Input Dims\": [[4, 64, 2048, 64], "
    "[4, 64, 2048, 64], [4, 64, 2048, 64], [], [], [], [], []]",
    "\"Concrete Inputs\": [\"\", \"\"], \"Input type\": [\"TensorList\", \"\"], \"Input Strides\": "
    "[[[4096, 1], [1]], []], \"Input Dims\": [[[12288, 4096], [12288]], []]",
};

static void cpu_event(const struct node *n)
{
    uint64_t tid = n->thread ? GRAD_TID : MAIN_TID, dur = n->end - n->start;
    switch (n->cat) {
    case MEMORY:
        room();
        if (style == KINETO || style == KINETO213)
            fmt("  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
                "\"[memory]\",\n    \"pid\": %u, \"tid\": %u,\n    \"ts\": ",
                (uint64_t)PID, tid);
        else
            fmt("{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\","
                "\"pid\":%u,\"tid\":%u,\"ts\":",
                (uint64_t)PID, tid);
        put_us(n->start);
        fmt(style == KINETO || style == KINETO213 ? ",\n    \"args\": {\n      " : ",\"args\":{");
        fmt("\"Total Reserved\": 21474836480, \"Total Allocated\": %u, \"Bytes\": %d, \"Addr\": "
            "%u, \"Device Id\": 0, \"Device Type\": 1, \"Ev Idx\": %u",
            (uint64_t)((1u << 30) + (n->start & 0xFFFFFFFu)), n->bytes,
            (uint64_t)(0x7F0A00000000u + (n->start & 0x3FFFFFFF)), ev_idx++);
        tail();
        return;
    case RUNTIME:
        head("cuda_runtime", PID, tid, n->start, dur, rows[n->row].name, 0, false);
        if (n->id)
            fmt("\"External id\": %u,      ", (uint64_t)n->id);
        fmt("\"cbid\": %u, \"correlation\": %u", (uint64_t)(200 + n->row), (uint64_t)n->corr);
        tail();
        if (n->flow)
            flow('s', n->flow, PID, tid, n->start, "ac2g");
        else
            flow('f', n->corr, PID, tid, n->start, "ac2g");
        return;
    case PYTHON_FUNCTION: {
        const char *name = frames[n->row];
        bool module = !strncmp(name, "nn.Module", 9);
        head("python_function", PID, tid, n->start, dur, name, n->id % 37, module);
        if (n->py_parent)
            fmt("\"Python parent id\": %u, \"Python id\": %u", (uint64_t)n->py_parent,
                (uint64_t)n->id);
        else
            fmt("\"Python parent id\": null, \"Python id\": %u", (uint64_t)n->id);
        if (module)
            fmt(", \"Python module id\": %u", (uint64_t)(n->id % 37));
        fmt(", \"Ev Idx\": %u", ev_idx++);
        tail();
        return;
    }
    case ANNOTATION:
        head("user_annotation", PID, tid, n->start, dur, rows[n->row].name, step_no,
             n->row == R_STEP);
        fmt("\"External id\": %u,\"Record function id\": 0, \"Ev Idx\": %u", (uint64_t)n->id,
            ev_idx++);
        tail();
        return;
    default:
        head("cpu_op", PID, tid, n->start, dur, rows[n->row].name, 0, false);
        fmt("\"External id\": %u,", (uint64_t)n->id);
        if (n->has_seq)
            fmt("\"Sequence number\": %u, \"Fwd thread id\": %u, ", (uint64_t)n->seq,
                (uint64_t)(n->backward ? 1 : 0));
        fmt("\"Record function id\": %u, ", (uint64_t)(n->backward ? n->id / 3 : 0));
        if (n->args == -2)
            LIT("\"Process Group Name\": \"0\", \"Global rank stride\": 1, \"Out msg nelems\": "
                "50335744, \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\", \"Group size\": "
                "8, \"Global rank start\": 0, \"In msg nelems\": 50335744, \"In split size\": "
                "\"[]\", \"Out split size\": \"[]\", \"dtype\": \"BFloat16\", \"Process Group "
                "Description\": \"default_pg\", \"Collective name\": \"allreduce\", ");
        else if (n->args == -3) {
            LIT("\"Concrete Inputs\": [\"\", \"\", \"\", \"\", \"\"], \"Input type\": "
                "[\"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\"], "
                "\"Input Dims\": [");
            for (int i = 0; i < 4; i++)
                LIT("[[4096, 4096], [4096], [12288, 4096], [12288], [4096, 16384], [4096], [16384, "
                    "4096], [16384]], ");
            LIT("[[], [], [], [], [], [], [], []]], ");
        } else if (n->args >= 0) {
            put_str(shape_args[n->args]);
            LIT(", ");
        }
        fmt("\"Ev Idx\": %u", ev_idx++);
        tail();
        if (n->has_seq && n->args >= 0)
            flow('s', n->seq, PID, tid, n->start, "fwdbwd");
        else if (n->backward && n->seq && nodes[n - nodes].parent >= 0)
            flow('f', n->seq, PID, tid, n->start, "fwdbwd");
        return;
    }
}

static void device_event(const struct kernel *k)
{
    uint64_t dur = k->end - k->start, tid = (uint64_t)k->stream;
    if (k->annotation) {
        head("gpu_user_annotation", 0, tid, k->start, dur, rows[k->row].name, step_no,
             k->row == R_GPU_STEP);
        fmt("\"External id\": %u", (uint64_t)k->ext);
        tail();
        return;
    }
    head(k->copy ? "gpu_memcpy" : "kernel", 0, tid, k->start, dur, rows[k->row].name, 0, false);
    if (k->ext)
        fmt("\"External id\": %u,      ", (uint64_t)k->ext);
    if (k->copy) {
        fmt("\"device\": 0, \"context\": 1,      \"stream\": %u, \"correlation\": %u,      "
            "\"bytes\": %u, \"memory bandwidth (GB/s)\": %u.%u",
            tid, (uint64_t)k->corr, k->bytes, k->bytes / dur, k->bytes * 1000 / dur % 1000);
    } else {
        uint64_t g = (uint64_t)(32 << k->shape);
        fmt("\"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": %u, \"correlation\": "
            "%u,      \"registers per thread\": %u,      \"shared memory\": %u,      \"blocks per "
            "SM\": %u.%u,      \"warps per SM\": %u.%u,      \"grid\": [%u, %u, 1],      "
            "\"block\": [%u, 1, 1],      \"est. achieved occupancy %%\": %u",
            tid, (uint64_t)k->corr, (uint64_t)(32 + 8 * (uint64_t)k->shape), g * 48, g / 132,
            g * 1000000 / 132 % 1000000, g * 4 / 132, g * 4000000 / 132 % 1000000, g,
            (uint64_t)(1 + (uint64_t)k->shape), (uint64_t)(128 << (k->shape % 3)),
            (uint64_t)(12 + 9 * (uint64_t)k->shape));
    }
    tail();
    flow('f', k->corr, 0, tid, k->start, "ac2g");
}

static void meta(const char *name, uint64_t pid, uint64_t tid, const char *key, const char *value)
{
    room();
    if (style == KINETO || style == KINETO213)
        fmt("  {\n    \"name\": \"%s\", \"ph\": \"M\", \"ts\": ", name);
    else
        fmt("{\"ph\":\"M\",\"name\":\"%s\",\"ts\":", name);
    put_us(ORIGIN);
    if (style == KINETO || style == KINETO213)
        fmt(", \"pid\": %u, \"tid\": %u,\n    \"args\": {\n      \"%s\": %s\n    }\n  },\n", pid,
            tid, key, value);
    else
        fmt(",\"pid\":%u,\"tid\":%u,\"args\":{\"%s\":%s}},%s", pid, tid, key, value,
            style == PYTHON ? "\n" : " ");
}

static void reset(void)
{
    rng = seed * 0x2545F4914F6CDD1Du + 88172645463325252u;
    clock_ns[0] = clock_ns[1] = stream_free[0] = stream_free[1] = ORIGIN + 1000;
    next_id = 1024;
    next_corr = 52000;
    next_seq = next_py = next_flow = 0;
    step_no = 2;
    ev_idx = 0;
    for (int i = 0; i < n_rows; i++)
        rows[i].count = 0,
        rows[i].self_cpu = rows[i].total_cpu = rows[i].self_dev = rows[i].total_dev = 0;
}

static void pass(uint64_t steps, bool device)
{
    reset();
    for (uint64_t s = 0; s < steps; s++, step_no++) {
        simulate_step();
        if (device) {
            for (int i = 0; i < n_kernels; i++)
                device_event(&kernels[i]);
        } else {
            /* thread by thread, ops before python frames, as the collector hands them over */
            for (int i = 0; i < n_nodes; i++)
                if (nodes[i].cat != PYTHON_FUNCTION)
                    cpu_event(&nodes[i]);
            for (int i = 0; i < n_nodes; i++)
                if (nodes[i].cat == PYTHON_FUNCTION)
                    cpu_event(&nodes[i]);
        }
    }
}

static void json_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else
            fputc(*s, f);
    fputc('"', f);
}

static void write_truth(const char *path, uint64_t steps)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(1);
    }
    fprintf(f,
            "{\n \"steps\": %" PRIu64 ", \"x_events\": %" PRIu64 ", \"bytes\": %" PRIu64
            ", \"seed\": %" PRIu64 ",\n \"rows\": [",
            steps, x_events, written, seed);
    bool first = true;
    for (int i = 0; i < n_rows; i++) {
        const struct row *r = &rows[i];
        if (!r->count)
            continue;
        fprintf(f, "%s\n  {\"name\": ", first ? "" : ",");
        first = false;
        json_string(f, r->name);
        fprintf(f,
                ", \"device_type\": \"%s\", \"is_user_annotation\": %s, \"input_shapes\": \"\", "
                "\"count\": %" PRIu64 ", \"self_cpu_ns\": %" PRId64 ", \"total_cpu_ns\": %" PRId64
                ", \"self_device_ns\": %" PRId64 ", \"total_device_ns\": %" PRId64 "}",
                r->device, r->annotation ? "true" : "false", r->count, r->self_cpu, r->total_cpu,
                r->self_dev, r->total_dev);
    }
    fprintf(f, "\n ]\n}\n");
    if (fclose(f)) {
        perror(path);
        exit(1);
    }
}

static uint64_t number(const char *s)
{
    char *e;
    double v = strtod(s, &e);
    if (*e == 'K' || *e == 'k')
        v *= 1e3;
    else if (*e == 'M')
        v *= 1e6;
    else if (*e == 'G')
        v *= 1e9;
    return (uint64_t)v;
}

int main(int argc, char **argv)
{
    uint64_t size = 0, events = 0;
    const char *out = NULL, *truth = NULL;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(a, "--no-stack"))
            with_stack = false;
        else if (!strcmp(a, "--no-memory"))
            with_memory = false;
        else if (!strcmp(a, "--no-flow"))
            with_flow = false;
        else if (v && !strcmp(a, "-s"))
            size = number(v), i++;
        else if (v && !strcmp(a, "-n"))
            events = number(v), i++;
        else if (v && !strcmp(a, "-o"))
            out = v, i++;
        else if (v && !strcmp(a, "--truth"))
            truth = v, i++;
        else if (v && !strcmp(a, "--seed"))
            seed = number(v), i++;
        else if (v && !strcmp(a, "--layers"))
            layers = atoi(v), i++;
        else if (v && !strcmp(a, "--names"))
            name_variants = atoi(v), i++;
        else if (v && !strcmp(a, "--style")) {
            style = !strcmp(v, "kineto213") ? KINETO213
                    : !strcmp(v, "python")  ? PYTHON
                    : !strcmp(v, "oneline") ? ONELINE
                                            : KINETO;
            i++;
        } else {
            fprintf(stderr, "make_trace: bad argument %s (see the head of make_trace.c)\n", a);
            return 2;
        }
    }
    if ((!size && !events) || layers < 1 || name_variants < 1 || name_variants > 256) {
        fprintf(stderr, "make_trace: give -s SIZE or -n EVENTS; --layers >= 1; --names 1..256\n");
        return 2;
    }
    buf = malloc(BUF + SLACK);
    if (!buf)
        return 2;
    make_rows();
    /* how many steps: measure three */
    counting = true;
    pass(3, false);
    pass(3, true);
    flush();
    uint64_t steps =
        size ? (size * 3 + written / 2) / written : (events * 3 + x_events / 2) / x_events;
    if (!steps)
        steps = 1;
    counting = false;
    written = x_events = 0;
    if (out && (out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644)) < 0) {
        perror(out);
        return 1;
    }
    const char *nl = style == ONELINE ? " " : "\n";
    fmt("{%s  \"schemaVersion\": 1,%s  \"deviceProperties\": [%s    {%s      \"id\": 0, \"name\": "
        "\"Synthetic GPU 80GB\", \"totalGlobalMem\": 85017493504,%s      \"computeMajor\": 9, "
        "\"computeMinor\": 0,%s      \"maxThreadsPerBlock\": 1024, "
        "\"maxThreadsPerMultiprocessor\": 2048,%s      \"regsPerBlock\": 65536, \"warpSize\": "
        "32,%s      \"sharedMemPerBlock\": 49152, \"numSms\": 132%s    }%s  ],%s",
        nl, nl, nl, nl, nl, nl, nl, nl, nl, nl, nl);
    fmt("  \"record_shapes\": 1,%s  \"with_stack\": %u,%s  \"profile_memory\": %u,%s  "
        "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8, "
        "\"pg_count\": 1, \"nccl_version\": \"2.21.5\"},%s  \"displayTimeUnit\": \"ms\",%s  "
        "\"baseTimeNanoseconds\": %u,%s  \"traceEvents\": [%s",
        nl, (uint64_t)with_stack, nl, (uint64_t)with_memory, nl, nl, nl, BASE, nl, nl);
    meta("process_name", PID, 0, "name", "\"python\"");
    meta("process_labels", PID, 0, "labels", "\"CPU\"");
    meta("process_sort_index", PID, 0, "sort_index", "41210");
    meta("process_name", 0, 0, "name", "\"python\"");
    meta("process_labels", 0, 0, "labels", "\"GPU 0\"");
    meta("process_sort_index", 0, 0, "sort_index", "5000000");
    meta("thread_name", PID, MAIN_TID, "name", "\"thread 41210 (python)\"");
    meta("thread_name", PID, GRAD_TID, "name", "\"thread 41398 (pt_autograd_0)\"");
    meta("thread_name", 0, STREAM, "name", "\"stream 7 \"");
    meta("thread_name", 0, NCCL_STREAM, "name", "\"stream 28 \"");
    pass(steps, false);
    pass(steps, true);
    uint64_t last = clock_ns[0];
    head("Trace", 0, 0, ORIGIN, last - ORIGIN, "PyTorch Profiler (0)", 0, false);
    LIT("\"Op count\": 0");
    tail();
    fmt("  {\"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": "
        "\"\", \"ts\": ");
    put_us(last + 1000);
    fmt("}%s  ],%s  \"traceName\": \"synthetic.json\"%s}%s", nl, nl, nl,
        style == ONELINE ? "" : "\n");
    flush();
    if (truth)
        write_truth(truth, steps);
    fprintf(stderr, "make_trace: %" PRIu64 " steps, %" PRIu64 " X events, %" PRIu64 " bytes\n",
            steps, x_events, written);
    return 0;
}
