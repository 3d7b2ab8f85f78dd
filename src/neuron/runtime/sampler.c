/*
 * sampler.c - /proc/stat, /proc/meminfo and /proc/self/statm, once a second (neuron-explorer.md
 * 1.2).
 *
 * A capture of a few milliseconds still gets two memory samples and one CPU sample, because one is
 * taken at each end. The kernel counts CPU time in ticks of 10 ms: shorter spans show 0 or 100 %,
 * as they are.
 */
#include "neuron/runtime/sampler.h"

#include "artifact/systrace.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/thread.h"

#include <string.h>
#include <unistd.h>

#define PERIOD_NS     INT64_C(1000000000)
#define MAX_PROC_FILE (4u << 20)

typedef struct cpu_ticks {
    uint64_t busy, all;
} cpu_ticks;

struct osc_sampler {
    osc_mutex lock; /* stop flag; the rest is the thread's until it is joined */
    osc_cond wake;
    bool stop;
    osc_thread thread;
    osc_systrace_writer *cpu, *memory;
    cpu_ticks *last; /* per CPU */
    float *percent;
    uint32_t cpus;
    int64_t last_ns;
    osc_status status; /* first failure */
    osc_err error;
};

static void note(osc_sampler *s, osc_status status, const osc_err *err)
{
    if (status == OSC_OK || s->status != OSC_OK)
        return;
    s->status = status;
    s->error = *err;
}

/* ---- parsing ---- */

/* "cpu3 1 2 3 4 ...": user nice system idle iowait irq softirq steal guest guest_nice. */
static bool parse_cpu_line(osc_str line, uint64_t *index, cpu_ticks *out)
{
    osc_str word;
    if (!osc_str_starts(line, OSC_STR("cpu")) || !osc_str_split(&line, ' ', &word) ||
        !osc_parse_u64(osc_str_sub(word, 3, word.len), index))
        return false;
    *out = (cpu_ticks){0, 0};
    /* guest times are part of user and nice already: eight fields make the whole. */
    for (int field = 0; field < 8 && osc_str_split(&line, ' ', &word); field++) {
        uint64_t ticks;
        if (!osc_parse_u64(word, &ticks))
            return false;
        out->all += ticks;
        if (field != 3 && field != 4)
            out->busy += ticks;
    }
    return true;
}

/* Reads all "cpuN" lines into now, which has room for cap CPUs; returns how many there are. */
static uint32_t read_cpus(cpu_ticks *now, uint32_t cap)
{
    char *text;
    size_t len;
    uint32_t count = 0;
    if (osc_read_file("/proc/stat", MAX_PROC_FILE, &text, &len, NULL) != OSC_OK)
        return 0;
    osc_str rest = {text, len}, line;
    while (osc_str_next_line(&rest, &line)) {
        uint64_t index;
        cpu_ticks ticks;
        if (!parse_cpu_line(line, &index, &ticks) || index >= OSC_CPUS_MAX)
            continue;
        if (index < cap)
            now[index] = ticks;
        if (index >= count)
            count = (uint32_t)index + 1;
    }
    osc_free(text);
    return count;
}

/* "MemTotal:  123 kB" -> bytes; 0 when absent. */
static uint64_t meminfo_value(osc_str text, osc_str name)
{
    osc_str line;
    while (osc_str_next_line(&text, &line)) {
        if (!osc_str_starts(line, name))
            continue;
        osc_str number = osc_str_trim(osc_str_sub(line, name.len, line.len));
        size_t space = osc_str_find_char(number, ' ', 0);
        uint64_t kib;
        return osc_parse_u64(osc_str_sub(number, 0, space), &kib) ? kib * 1024 : 0;
    }
    return 0;
}

static uint64_t resident_bytes(void)
{
    char *text;
    size_t len;
    uint64_t pages = 0;
    if (osc_read_file("/proc/self/statm", MAX_PROC_FILE, &text, &len, NULL) != OSC_OK)
        return 0;
    osc_str rest = {text, len}, word;
    (void)osc_str_split(&rest, ' ', &word);
    if (osc_str_split(&rest, ' ', &word) && !osc_parse_u64(word, &pages))
        pages = 0;
    osc_free(text);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- sampling ---- */

static void sample_cpu(osc_sampler *s, int64_t now_ns)
{
    osc_err err = {0};
    cpu_ticks *now = osc_calloc(s->cpus, sizeof *now);
    if (now == NULL || read_cpus(now, s->cpus) == 0) {
        osc_free(now);
        return;
    }
    for (uint32_t i = 0; i < s->cpus; i++) {
        uint64_t all = now[i].all > s->last[i].all ? now[i].all - s->last[i].all : 0;
        uint64_t busy = now[i].busy > s->last[i].busy ? now[i].busy - s->last[i].busy : 0;
        s->percent[i] = all > 0 ? 100.0f * (float)(busy < all ? busy : all) / (float)all : 0.0f;
        s->last[i] = now[i];
    }
    osc_free(now);
    osc_cpu_sample sample = {.time_ns = s->last_ns,
                             .duration_ns = now_ns > s->last_ns ? now_ns - s->last_ns : 0,
                             .percent = s->percent,
                             .cpus = s->cpus};
    osc_status status = osc_systrace_writer_cpu(s->cpu, &sample, &err);
    if (status == OSC_OK)
        status = osc_systrace_writer_flush(s->cpu, &err);
    note(s, status, &err);
}

static void sample_memory(osc_sampler *s, int64_t now_ns)
{
    osc_err err = {0};
    char *text;
    size_t len;
    if (osc_read_file("/proc/meminfo", MAX_PROC_FILE, &text, &len, NULL) != OSC_OK)
        return;
    uint64_t total = meminfo_value((osc_str){text, len}, OSC_STR("MemTotal:"));
    uint64_t available = meminfo_value((osc_str){text, len}, OSC_STR("MemAvailable:"));
    osc_free(text);
    osc_mem_sample sample = {.time_ns = now_ns,
                             .duration_ns = PERIOD_NS,
                             .total_bytes = total,
                             .used_bytes = total > available ? total - available : 0,
                             .process_bytes = resident_bytes()};
    osc_status status = osc_systrace_writer_mem(s->memory, &sample, &err);
    if (status == OSC_OK)
        status = osc_systrace_writer_flush(s->memory, &err);
    note(s, status, &err);
}

static void sample(osc_sampler *s, bool first)
{
    int64_t now = osc_now_ns();
    if (s->cpu != NULL && !first)
        sample_cpu(s, now);
    if (s->memory != NULL)
        sample_memory(s, now);
    s->last_ns = now;
}

static void thread_body(void *arg)
{
    osc_sampler *s = arg;
    osc_mutex_lock(&s->lock);
    int64_t due = osc_mono_ns() + PERIOD_NS;
    while (!s->stop) {
        if (osc_cond_wait_until(&s->wake, &s->lock, due))
            continue;
        osc_mutex_unlock(&s->lock);
        sample(s, false);
        osc_mutex_lock(&s->lock);
        due += PERIOD_NS;
    }
    osc_mutex_unlock(&s->lock);
}

/* ---- life ---- */

static osc_status open_writer(const char *dir, osc_systrace_kind kind, osc_systrace_writer **out,
                              osc_err *err)
{
    char *path = osc_path_join(dir, osc_systrace_file_name(kind));
    if (path == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for a path");
    osc_status status = osc_systrace_writer_open(path, kind, out, err);
    osc_free(path);
    return status;
}

static osc_status open_cpu(osc_sampler *s, const char *dir, osc_err *err)
{
    s->cpus = read_cpus(NULL, 0);
    s->last = osc_calloc((size_t)s->cpus + 1, sizeof *s->last);
    s->percent = osc_calloc((size_t)s->cpus + 1, sizeof *s->percent);
    if (s->last == NULL || s->percent == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for CPU samples");
    (void)read_cpus(s->last, s->cpus);
    return open_writer(dir, OSC_SYSTRACE_CPU_UTIL, &s->cpu, err);
}

static void close_writers(osc_sampler *s)
{
    osc_err err = {0};
    int64_t now = osc_now_ns();
    note(s, osc_systrace_writer_close(s->cpu, now, &err), &err);
    note(s, osc_systrace_writer_close(s->memory, now, &err), &err);
}

static void discard(osc_sampler *s)
{
    osc_free(s->last);
    osc_free(s->percent);
    osc_cond_destroy(&s->wake);
    osc_mutex_destroy(&s->lock);
    osc_free(s);
}

osc_status osc_sampler_start(const char *dir, bool cpu, bool memory, osc_sampler **out,
                             osc_err *err)
{
    *out = NULL;
    osc_sampler *s = osc_calloc(1, sizeof *s);
    if (s == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "no host memory for the sampler");
    osc_mutex_init(&s->lock);
    osc_cond_init(&s->wake);
    osc_status status = cpu ? open_cpu(s, dir, err) : OSC_OK;
    if (status == OSC_OK && memory)
        status = open_writer(dir, OSC_SYSTRACE_HOST_MEM, &s->memory, err);
    if (status == OSC_OK) {
        sample(s, true);
        status = osc_thread_start(&s->thread, "osc-sampler", thread_body, s, err);
    }
    if (status != OSC_OK) {
        close_writers(s);
        discard(s);
        return status;
    }
    *out = s;
    return OSC_OK;
}

osc_status osc_sampler_stop(osc_sampler *sampler, osc_err *err)
{
    if (sampler == NULL)
        return OSC_OK;
    osc_mutex_lock(&sampler->lock);
    sampler->stop = true;
    osc_cond_signal(&sampler->wake);
    osc_mutex_unlock(&sampler->lock);
    osc_thread_join(&sampler->thread);
    sample(sampler, false);
    close_writers(sampler);
    osc_status status = sampler->status;
    if (status != OSC_OK && err != NULL)
        *err = sampler->error;
    discard(sampler);
    return status;
}
