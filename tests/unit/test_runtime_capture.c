/* Captures: records and files agree to the nanosecond, limits, refusals, full disks, killed
 * processes. */
#include "artifact/manifest.h"
#include "artifact/neff.h"
#include "artifact/ntff.h"
#include "artifact/session.h"
#include "artifact/systrace.h"
#include "artifact/trace_info.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "runtime_support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define ALL (OSC_MODE_DEVICE | OSC_MODE_RUNTIME | OSC_MODE_CPU_UTIL | OSC_MODE_HOST_MEMORY)

static char out_dir[600];

/* ---- work to capture ---- */

static void *blocks[2][2]; /* [device][x, y] */

static bool make_blocks(int32_t device)
{
    float host[64];
    for (int i = 0; i < 64; i++)
        host[i] = (float)i;
    for (int i = 0; i < 2; i++)
        NEED_OK(osc_nrt_alloc(device, 0, 256, &blocks[device][i], ERR));
    NEED_OK(osc_nrt_write(device, 0, blocks[device][0], host, sizeof host, false, NULL, ERR));
    return true;
}

/* y = x * x over n elements: every n is a program of its own. */
static osc_status square(int32_t device, int64_t n, uint64_t correlation)
{
    static const char name[] = "aten::mul.Tensor";
    int64_t one = 1;
    osc_nrt_tensor t[2] = {{blocks[device][0], OSC_F32, 1, &n, &one},
                           {blocks[device][1], OSC_F32, 1, &n, &one}};
    osc_arg args[2] = {{.kind = OSC_ARG_TENSOR, .tensor = 0},
                       {.kind = OSC_ARG_TENSOR, .tensor = 0}};
    uint32_t outs[1] = {1};
    osc_nrt_call call = {.size = sizeof call,
                         .name = name,
                         .tensors = t,
                         .ntensors = 2,
                         .args = args,
                         .nargs = 2,
                         .outs = outs,
                         .nouts = 1};
    osc_nrt_op op = {.size = sizeof op,
                     .name = "aten::mul",
                     .correlation = correlation,
                     .thread_id = 42,
                     .enter_ns = osc_now_ns()};
    return osc_nrt_run_op(device, 0, &call, &op, NULL);
}

static osc_capture_options options(uint32_t modes)
{
    return (osc_capture_options){.size = sizeof(osc_capture_options),
                                 .modes = modes,
                                 .output_dir = out_dir,
                                 .facts_json = "{\"script\":\"test\"}"};
}

/* ---- reading back ---- */

typedef struct contents {
    uint64_t execs, events, running, syncs, switches, schedules, copies, damage;
    int64_t running_ns, exec_ns, parts_ns;
    uint64_t cpu_samples, memory_samples, files;
    bool complete;
} contents;

static void count_event(contents *c, const osc_systrace_event *e)
{
    c->schedules += e->type == OSC_ST_NRTA_EXECUTE_SCHEDULE;
    c->switches += e->type == OSC_ST_NRT_MODEL_SWITCH;
    c->syncs += e->type == OSC_ST_TIMESTAMP_SYNC_POINT;
    c->copies += e->type == OSC_ST_DMEM_BUF_COPYIN || e->type == OSC_ST_DMEM_BUF_COPYOUT;
    if (e->type != OSC_ST_NC_EXEC_RUNNING)
        return;
    c->running++;
    c->running_ns += e->end_ns - e->start_ns;
    int64_t parts = 0;
    for (uint32_t i = 0; i < e->part_count; i++)
        parts += e->parts[i].ns;
    c->damage += parts + e->body_ns != e->end_ns - e->start_ns;
    c->damage += e->nc_stop_ns - e->nc_start_ns != e->end_ns - e->start_ns;
}

/* A process killed between creating a file and writing its header leaves one that is cut short:
 * nothing was in it yet. Every other refusal is damage. */
static void refused(contents *c, osc_status status, const osc_err *err)
{
    c->complete = false;
    if (status == OSC_ETRUNCATED)
        return;
    tap_note("%s: %s", err->input, err->message);
    c->damage++;
}

static void read_systrace(contents *c, const char *data, size_t len, const char *name)
{
    static osc_systrace_reader r;
    osc_systrace_event e;
    osc_cpu_sample cpu;
    osc_mem_sample memory;
    osc_findings f = {0};
    osc_err err = {0};
    osc_status status = osc_systrace_open(&r, data, len, name, &f, &err);
    if (status != OSC_OK) {
        refused(c, status, &err);
        return;
    }
    while (osc_systrace_next_event(&r, &e))
        count_event(c, &e);
    while (osc_systrace_next_cpu(&r, &cpu))
        c->cpu_samples++;
    while (osc_systrace_next_mem(&r, &memory))
        c->memory_samples++;
    c->complete = c->complete && osc_systrace_complete(&r);
    /* A cut end is what a kill leaves; anything else is not. */
    c->damage += osc_findings_find(&f, "damaged-record") != NULL;
    osc_findings_free(&f);
}

static void read_ntff(contents *c, const char *data, size_t len, const char *name)
{
    osc_ntff *ntff;
    osc_findings f = {0};
    size_t count;
    osc_err err = {0};
    osc_status status = osc_ntff_read(data, len, name, &f, &ntff, &err);
    if (status != OSC_OK) {
        refused(c, status, &err);
        return;
    }
    const osc_ntff_exec *x = osc_ntff_execs(ntff, &count);
    for (size_t i = 0; i < count; i++) {
        c->execs++;
        c->exec_ns += x[i].end_ns - x[i].start_ns;
        for (uint32_t k = 0; k < x[i].part_count; k++)
            c->parts_ns += x[i].parts[k].ns;
        c->damage += !osc_str_eq(x[i].op, OSC_STR("aten::mul"));
        c->damage +=
            x[i].sync_host_ns != x[i].end_ns || x[i].sync_dev_ns != x[i].body_dev_ns + x[i].body_ns;
    }
    c->events += osc_ntff_event_count(ntff);
    c->complete = c->complete && osc_ntff_complete(ntff);
    c->damage += osc_findings_find(&f, "damaged-chunk") != NULL;
    c->damage += osc_findings_find(&f, "damaged-header") != NULL;
    osc_ntff_free(ntff);
    osc_findings_free(&f);
}

static void read_one(contents *c, const osc_session_file *file)
{
    char *data;
    size_t len;
    osc_program *program = NULL;
    if (strstr(file->name, ".tmp-") != NULL)
        return;
    c->files++;
    if (osc_read_file(file->path, SIZE_MAX, &data, &len, NULL) != OSC_OK) {
        c->damage++;
        return;
    }
    switch (file->kind) {
    case OSC_ART_NTFF: read_ntff(c, data, len, file->path); break;
    case OSC_ART_NTRACE:
    case OSC_ART_CPU_UTIL:
    case OSC_ART_HOST_MEM: read_systrace(c, data, len, file->path); break;
    case OSC_ART_NEFF:
        c->damage +=
            osc_neff_read((const uint8_t *)data, len, file->path, &program, NULL) != OSC_OK;
        osc_program_release(program);
        break;
    case OSC_ART_TRACE_INFO:
    case OSC_ART_RUN_JSON: break;
    default:
        tap_note("%s: kind %s, %llu bytes", file->path, osc_artifact_kind_name(file->kind),
                 (unsigned long long)file->size);
        c->damage += file->size > 0; /* empty: created a moment before the end */
        break;
    }
    osc_free(data);
}

static contents read_session(const char *dir)
{
    contents c = {.complete = true};
    osc_session *s = NULL;
    osc_err err = {0};
    uint32_t count;
    if (!TAP_OKF(osc_session_open(dir, NULL, &s, &err) == OSC_OK, "%s", err.message))
        return c;
    const osc_session_file *files = osc_session_files(s, &count);
    for (uint32_t i = 0; i < count; i++)
        read_one(&c, &files[i]);
    osc_session_free(s);
    return c;
}

/* ---- the whole of a good capture ---- */

static bool records_are_right(const osc_capture_op *ops, uint64_t count, const contents *c)
{
    uint64_t execs = 0;
    int64_t total = 0, last = 0;
    for (uint64_t i = 0; i < count; i++) {
        const osc_capture_op *op = &ops[i];
        NEED(op->start_ns >= last && op->end_ns > op->start_ns && op->submit_ns <= op->start_ns);
        last = op->start_ns;
        if (op->kind != OSC_CAPTURE_EXEC)
            continue;
        execs++;
        total += op->end_ns - op->start_ns;
        NEED(op->enter_ns <= op->submit_ns && op->correlation == 100 + execs - 1 &&
             op->thread_id == 42);
        NEED(op->end_ns - op->start_ns == op->launch_ns + op->body_ns && op->exec_id == execs);
        NEED(op->sequence >> 48 == 1 && op->neff_hash != 0 && strcmp(op->name, "aten::mul") == 0);
        NEED(strncmp(op->cache_key, "mul--_[", 7) == 0);
        /* neuroncore-model.md 5.3, profiled: 381 us with a switch, 291 without */
        NEED(op->launch_ns == (execs % 3 == 1 ? 381000 : 291000));
    }
    NEED(execs == 9 && execs == c->execs && total == c->exec_ns && total == c->running_ns);
    return true;
}

static bool child_everything(void)
{
    osc_capture *capture;
    osc_capture_options o = options(ALL);
    uint64_t count;
    float host[64];
    NEED(make_blocks(0));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    for (int i = 0; i < 9; i++)
        NEED(square(0, 8 + i / 3, 100 + (uint64_t)i) == OSC_OK);
    NEED_OK(osc_nrt_read(0, 0, host, blocks[0][1], 256, NULL, ERR));
    NEED(host[3] == 9);
    NEED_OK(osc_capture_stop(capture, ERR));
    NEED_OK(osc_capture_stop(capture, ERR));
    NEED(square(0, 8, 999) == OSC_OK); /* after the window */
    const osc_capture_op *ops = osc_capture_ops(capture, &count);
    contents c = read_session(osc_capture_dir(capture));
    NEED(count == 10 && osc_capture_dropped(capture) == 0);
    NEED(records_are_right(ops, count, &c));
    NEED(c.damage == 0 && c.complete && c.files == 5 + 2 * 3);
    NEED(c.events > 9 * 4 && c.running == 9 && c.syncs == 9 && c.schedules == 9 && c.switches == 3);
    NEED(c.copies == 1 && c.cpu_samples >= 1 && c.memory_samples >= 2);
    NEED(strstr(osc_capture_device_json(capture), "\"simulated\":true") != NULL);
    osc_capture_release(capture);
    return true;
}

static bool child_metadata(void)
{
    osc_capture *capture;
    osc_capture_options o = options(OSC_MODE_DEVICE | OSC_MODE_RUNTIME);
    uint32_t core = 1;
    char *data;
    size_t len;
    osc_arena *arena = osc_arena_new(SIZE_MAX);
    osc_findings findings = {0};
    osc_manifest m;
    osc_trace_info info;
    o.cores = &core;
    o.core_count = 1;
    NEED(make_blocks(0) && make_blocks(1));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    NEED(square(0, 8, 1) == OSC_OK && square(1, 8, 2) == OSC_OK); /* core 0 is not captured */
    NEED_OK(osc_nrt_synchronize(0, ERR));
    NEED_OK(osc_capture_stop(capture, ERR));
    char *path = osc_path_join(osc_capture_dir(capture), OSC_MANIFEST_FILE);
    NEED_OK(osc_read_file(path, SIZE_MAX, &data, &len, ERR));
    NEED_OK(osc_manifest_read(data, len, path, arena, &findings, &m, ERR));
    NEED(m.simulated && m.window_end_ns > m.window_start_ns && m.artifact_count == 4);
    NEED(osc_str_eq_cstr(m.facts, "{\"script\":\"test\"}") &&
         osc_str_eq_cstr(m.generation, "trn2"));
    NEED_OK(osc_manifest_verify(osc_capture_dir(capture), &m, &findings, ERR));
    NEED(osc_findings_at_least(&findings, OSC_SEV_NOTE) == 0);
    char *info_path = osc_path_join(osc_capture_dir(capture), "trace_info.pb"), *info_data;
    NEED_OK(osc_read_file(info_path, SIZE_MAX, &info_data, &len, ERR));
    NEED_OK(osc_trace_info_read(info_data, len, info_path, arena, &findings, &info, ERR));
    NEED(info.core_count == 1 && info.cores[0].nc_idx == 1 && info.program_count == 1);
    NEED(info.cores[0].events_kept == 4 && info.window_end_ns > 0 && info.simulated);
    NEED_OK(osc_capture_write_manifest(osc_capture_dir(capture), "{\"more\":1}", ERR));
    uint64_t count;
    const osc_capture_op *ops = osc_capture_ops(capture, &count);
    NEED(count == 1 && ops[0].device == 1 && ops[0].correlation == 2);
    osc_capture_release(capture);
    osc_free(info_data);
    osc_free(info_path);
    osc_free(data);
    osc_free(path);
    osc_arena_free(arena);
    osc_findings_free(&findings);
    return true;
}

/* Serialised ahead or not, the files are the same, and only programs that ran have one. */
static bool child_precache(void)
{
    char *data[2];
    size_t len[2];
    NEED(make_blocks(0));
    NEED(square(0, 8, 1) == OSC_OK && square(0, 9, 2) == OSC_OK);
    for (int i = 0; i < 2; i++) {
        osc_capture *capture;
        osc_capture_options o = options(OSC_MODE_DEVICE);
        char name[OSC_FILE_NAME_MAX];
        uint64_t count;
        o.precache = i == 1;
        NEED_OK(osc_capture_start(&o, &capture, ERR));
        NEED(square(0, 9, 3) == OSC_OK);
        NEED_OK(osc_capture_stop(capture, ERR));
        const osc_capture_op *ops = osc_capture_ops(capture, &count);
        NEED(count == 1 && read_session(osc_capture_dir(capture)).files == 3);
        char *path =
            osc_path_join(osc_capture_dir(capture), osc_neff_file_name(ops[0].neff_hash, 0, name));
        NEED_OK(osc_read_file(path, SIZE_MAX, &data[i], &len[i], ERR));
        osc_free(path);
        osc_capture_release(capture);
    }
    NEED(len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0);
    osc_free(data[0]);
    osc_free(data[1]);
    return true;
}

static bool child_no_files(void)
{
    osc_capture *capture;
    osc_capture_options o = options(0);
    uint64_t count;
    o.output_dir = NULL;
    NEED(make_blocks(0));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    NEED(square(0, 8, 1) == OSC_OK);
    NEED_OK(osc_capture_stop(capture, ERR));
    (void)osc_capture_ops(capture, &count);
    NEED(count == 1 && strcmp(osc_capture_dir(capture), "") == 0);
    osc_capture_release(capture);
    osc_capture_release(NULL);
    return true;
}

static void *square_many(void *device)
{
    intptr_t failures = 0;
    for (uint64_t i = 0; i < 100; i++)
        failures += square((int32_t)(intptr_t)device, 1 + (int64_t)(i % 5), i) != OSC_OK;
    return (void *)failures;
}

/* Two cores at once, from two threads: one trace, a set of files per core. */
static bool child_two_cores(void)
{
    osc_capture *capture;
    osc_capture_options o = options(OSC_MODE_DEVICE | OSC_MODE_RUNTIME);
    pthread_t threads[2];
    uint64_t count;
    NEED(make_blocks(0) && make_blocks(1));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    for (intptr_t i = 0; i < 2; i++)
        NEED(pthread_create(&threads[i], NULL, square_many, (void *)i) == 0);
    for (int i = 0; i < 2; i++) {
        void *failures;
        NEED(pthread_join(threads[i], &failures) == 0 && failures == NULL);
    }
    NEED_OK(osc_capture_stop(capture, ERR));
    (void)osc_capture_ops(capture, &count);
    contents c = read_session(osc_capture_dir(capture));
    NEED(count == 200 && c.execs == 200 && c.running == 200 && c.complete && c.damage == 0);
    NEED(c.files == 3 + 2 * 2 * 5 && c.running_ns == c.exec_ns);
    osc_capture_release(capture);
    return true;
}

/* ---- limits and refusals ---- */

static int warnings;

static void count_warning(void *user, osc_log_level level, const char *text)
{
    (void)user;
    (void)level;
    if (strstr(text, "max_events_per_nc") != NULL)
        warnings++;
}

static bool child_limit(void)
{
    osc_capture *capture;
    osc_capture_options o = options(OSC_MODE_DEVICE | OSC_MODE_RUNTIME);
    uint64_t count;
    o.max_events_per_nc = 10;
    osc_log_set_sink(count_warning, NULL, OSC_LOG_WARN);
    NEED(make_blocks(0));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    for (int i = 0; i < 20; i++)
        NEED(square(0, 8, (uint64_t)i) == OSC_OK);
    NEED_OK(osc_capture_stop(capture, ERR));
    const osc_capture_op *ops = osc_capture_ops(capture, &count);
    /* 4 + 3 + 3 events fit; 17 executions of 3 events do not */
    NEED(count == 3 && ops[2].correlation == 2 && osc_capture_dropped(capture) == 51);
    NEED(warnings == 1);
    contents c = read_session(osc_capture_dir(capture));
    NEED(c.execs == 3 && c.running == 3 && c.damage == 0);
    osc_capture_release(capture);
    return true;
}

static bool child_refusals(void)
{
    osc_capture *a, *b = NULL;
    osc_err err = {0};
    osc_capture_options o = options(ALL);
    uint32_t core = 9;
    o.cores = &core;
    o.core_count = 1;
    NEED(osc_capture_start(&o, &a, &err) == OSC_EINVAL && a == NULL &&
         strstr(err.message, "core 9") != NULL);
    o = options(ALL);
    o.modes = 0x80;
    NEED(osc_capture_start(&o, &a, &err) == OSC_EINVAL);
    o = options(ALL);
    o.size = 8;
    NEED(osc_capture_start(&o, &a, &err) == OSC_EINVAL);
    o = options(ALL);
    o.output_dir = "/proc/version/nowhere";
    NEED(osc_capture_start(&o, &a, &err) == OSC_EIO && strstr(err.input, "/proc/version") != NULL);
    o = options(ALL);
    NEED_OK(osc_capture_start(&o, &a, ERR));
    NEED(osc_capture_start(&o, &b, &err) == OSC_ESTATE && b == NULL);
    NEED(strstr(err.message, "stop it before") != NULL);
    osc_capture_release(a); /* stops it */
    NEED_OK(osc_capture_start(&o, &b, ERR));
    osc_capture_release(b);
    return true;
}

/* ---- the end comes otherwise ---- */

static bool child_left_open(void)
{
    osc_capture *capture;
    osc_capture_options o = options(ALL);
    NEED(make_blocks(0));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    NEED(square(0, 8, 1) == OSC_OK);
    osc_nrt_shutdown();
    contents c = read_session(osc_capture_dir(capture));
    NEED(c.execs == 1 && c.complete && c.damage == 0);
    NEED_OK(osc_capture_stop(capture, ERR));
    osc_capture_release(capture);
    return true;
}

/* Files may grow to 24 KiB: what a full disk does, at a place of our choosing. */
static bool child_full_disk(void)
{
    osc_capture *capture;
    osc_capture_options o = options(ALL);
    osc_err err = {0};
    struct rlimit limit = {24576, 24576};
    uint64_t count;
    NEED(make_blocks(0));
    (void)signal(SIGXFSZ, SIG_IGN);
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (int i = 0; i < 60; i++)
        NEED(square(0, 8, (uint64_t)i) == OSC_OK);
    NEED_OK(osc_nrt_synchronize(0, ERR)); /* the program does not suffer */
    NEED(osc_capture_stop(capture, &err) == OSC_EIO);
    tap_note("%s: %s", err.input, err.message);
    NEED(strstr(err.input, out_dir) != NULL);
    (void)osc_capture_ops(capture, &count);
    NEED(count == 60); /* records are in memory */
    contents c = read_session(osc_capture_dir(capture));
    NEED(c.damage == 0 && c.execs > 0 && c.execs < 60);
    osc_capture_release(capture);
    return true;
}

static bool child_fork_in_capture(void)
{
    osc_capture *capture;
    osc_capture_options o = options(OSC_MODE_DEVICE | OSC_MODE_RUNTIME);
    NEED(make_blocks(0));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    NEED(square(0, 8, 1) == OSC_OK);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        osc_err err = {0};
        bool refused = osc_capture_stop(capture, &err) == OSC_ESTATE;
        osc_capture_release(capture);
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    NEED(waitpid(pid, &status, 0) == pid && status == 0);
    NEED(square(0, 8, 2) == OSC_OK);
    NEED_OK(osc_capture_stop(capture, ERR));
    contents c = read_session(osc_capture_dir(capture));
    NEED(c.execs == 2 && c.complete && c.damage == 0);
    osc_capture_release(capture);
    return true;
}

/* ---- killed ---- */

static int report_fd;

static bool child_captures_forever(void)
{
    osc_capture *capture;
    osc_capture_options o = options(ALL);
    NEED(make_blocks(0));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    for (uint64_t i = 0;; i++) {
        NEED(square(0, 1 + (int64_t)(i % 60), i) == OSC_OK);
        if (i % 8 == 0)
            NEED_OK(osc_nrt_stream_synchronize(0, 0, ERR));
        if (i == 0) /* one execution is in the files: from here on it may die */
            NEED(write(report_fd, osc_capture_dir(capture), strlen(osc_capture_dir(capture))) > 0);
    }
}

static bool kill_one(int64_t delay_ns, contents *total)
{
    int fds[2];
    char dir[1000] = "";
    NEED(pipe(fds) == 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        report_fd = fds[1];
        (void)setenv("TORCH_NEURONX_DISABLE_NEFF_CACHE", "1", 1);
        _exit(child_captures_forever() ? 0 : 1);
    }
    (void)close(fds[1]);
    NEED(read(fds[0], dir, sizeof dir - 1) > 0);
    (void)close(fds[0]);
    osc_sleep_ns(delay_ns);
    (void)kill(pid, SIGKILL);
    int status;
    NEED(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    contents c = read_session(dir);
    NEED(c.damage == 0 && c.execs > 0 && c.running > 0);
    total->execs += c.execs;
    total->files += c.files;
    return true;
}

static void test_killed(void)
{
    contents total = {0};
    for (int i = 0; i < 15; i++)
        TAP_OK(kill_one(i * 2900000, &total));
    tap_note("%llu executions in %llu files read back", (unsigned long long)total.execs,
             (unsigned long long)total.files);
    TAP_OK(total.execs >= 15);
}

/* ---- clocks that differ ---- */

static bool child_drift(void)
{
    osc_capture *capture;
    osc_capture_options o = options(OSC_MODE_DEVICE | OSC_MODE_RUNTIME);
    uint64_t count;
    NEED(make_blocks(0));
    NEED_OK(osc_capture_start(&o, &capture, ERR));
    for (int i = 0; i < 30; i++)
        NEED(square(0, 8, (uint64_t)i) == OSC_OK);
    NEED_OK(osc_capture_stop(capture, ERR));
    const osc_capture_op *ops = osc_capture_ops(capture, &count);
    for (uint64_t i = 0; i < count; i++) {
        int64_t body = ops[i].end_ns - ops[i].start_ns - ops[i].launch_ns;
        /* the device's clock is 0.1 % fast: its body is that much shorter on the host's */
        NEED(body < ops[i].body_ns && body > ops[i].body_ns - ops[i].body_ns / 500);
    }
    osc_capture_release(capture);
    return true;
}

static void test_everything(void)
{
    CHILD(child_everything, PLAIN);
}
static void test_metadata(void)
{
    CHILD(child_metadata, PLAIN);
}
static void test_precache(void)
{
    CHILD(child_precache, PLAIN);
}

static void test_no_files(void)
{
    CHILD(child_no_files, PLAIN);
}
static void test_two_cores(void)
{
    CHILD(child_two_cores, PLAIN);
}
static void test_limit(void)
{
    CHILD(child_limit, PLAIN);
}
static void test_refusals(void)
{
    CHILD(child_refusals, PLAIN);
}
static void test_left_open(void)
{
    CHILD(child_left_open, PLAIN);
}
static void test_full_disk(void)
{
    CHILD(child_full_disk, PLAIN);
}
static void test_drift(void)
{
    CHILD(child_drift, PLAIN, "OPSCOPE_CLOCK_DRIFT_PPB=1000000");
}

static void test_fork_in_capture(void)
{
#if defined(__SANITIZE_THREAD__)
    tap_skip("ThreadSanitizer does not follow a fork of a threaded process");
    return;
#endif
    CHILD(child_fork_in_capture, PLAIN);
}

int main(void)
{
    (void)snprintf(out_dir, sizeof out_dir, "%s/captures", tap_tmpdir());
    TAP_RUN(test_everything);
    TAP_RUN(test_metadata);
    TAP_RUN(test_precache);
    TAP_RUN(test_no_files);
    TAP_RUN(test_two_cores);
    TAP_RUN(test_limit);
    TAP_RUN(test_refusals);
    TAP_RUN(test_left_open);
    TAP_RUN(test_full_disk);
    TAP_RUN(test_fork_in_capture);
    TAP_RUN(test_drift);
    TAP_RUN(test_killed);
    return tap_done();
}
