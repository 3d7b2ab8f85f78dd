/*
 * check.c - the table of checks, what they share, and the result; see check.h.
 *
 * A check is a function that looks at the store and either states what is fine or what it found,
 * with a severity. The table below is the only list: help, documents, options and tests read it.
 * FAIL is for wrong or missing numbers, so that a script may stop on it; everything that readers
 * only have to know is a warning and exits 0.
 *
 * Refuses: repairing. Rejected: a score; one number for trust hides which number is not to be
 * trusted.
 */
#include "scope/analysis/check_internal.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const osc_table_column columns[OSC_CHECK_COLUMNS] = {
    {"check", "check", "stable name", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"verdict", "verdict", "ok, warn or FAIL", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"title", "title", "what should hold", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"evidence", "evidence", "what was seen", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"advice", "advice", "the way out", OSC_CELL_STR, OSC_UNIT_NONE, false},
    {"count", "count", "number of cases", OSC_CELL_I64, OSC_UNIT_COUNT, true},
};

/* C(name, title, worst verdict, function, what it looks at) */
#define CHECKS(C)                                                                                  \
    C("truncated", "file complete", "FAIL", osc_check_truncated,                                   \
      "the input, or a file of a session, ends early")                                             \
    C("empty", "events present", "warn", osc_check_empty,                                          \
      "an input without any event that has a time")                                                \
    C("damaged", "text readable", "FAIL", osc_check_damaged,                                       \
      "text that is not valid JSON: repaired (warn) or skipped (FAIL), with counts and offsets")   \
    C("left_out", "nothing left out", "FAIL", osc_check_left_out,                                  \
      "what else the reader noticed: unknown phases, entries that are no events, clamped times, "  \
      "trailing bytes")                                                                            \
    C("dropped", "no events dropped", "FAIL", osc_check_dropped,                                   \
      "the capture's own count of events it dropped")                                              \
    C("cap", "no cap on events", "warn", osc_check_cap,                                            \
      "a number of events so round that the writer may have stopped there")                        \
    C("names", "names kept", "warn", osc_check_names_lost,                                         \
      "events whose name the writer replaced by \"unknown\"")                                      \
    C("stamps", "time stamps present", "FAIL", osc_check_stamps,                                   \
      "events without a start or length, and device work with zeros for time stamps")              \
    C("durations", "no negative durations", "FAIL", osc_check_durations,                           \
      "lengths below zero, which are taken as zero")                                               \
    C("outliers", "durations plausible", "FAIL", osc_check_outliers,                               \
      "device work longer than the whole trace, or that covers many later kernels of its stream")  \
    C("precision", "precision below 1 us", "warn", osc_check_precision,                            \
      "times in whole microseconds: short events have length 0 and ties nest by list order")       \
    C("fractions", "fractions well written", "warn", osc_check_fractions,                          \
      "fractions of microseconds that never begin with a zero: the nightly builds of March 2024")  \
    C("unfinished", "operators finished", "warn", osc_check_unfinished,                            \
      "operators still open when the profiler stopped, which the table leaves out")                \
    C("nesting", "calls nest", "warn", osc_check_nesting,                                          \
      "calls of one thread that overlap without one containing the other")                         \
    C("threads", "threads apart", "warn", osc_check_threads,                                       \
      "all host events on process 0, thread 0")                                                    \
    C("frames", "frames return", "warn", osc_check_frames,                                         \
      "python frames that end only because the profiler stopped")                                  \
    C("steps", "steps counted once", "warn", osc_check_steps,                                      \
      "steps that occur twice on the host, or numbers that are missing")                           \
    C("window", "steps whole", "warn", osc_check_window,                                           \
      "a first or last step that the window cuts")                                                 \
    C("synchronize", "synchronize before step", "warn", osc_check_drain,                           \
      "device work that ends after the step that started it")                                      \
    C("device", "device work present", "FAIL", osc_check_device,                                   \
      "no device work although there are launches, device memory or a named device, and why")      \
    C("launches", "launches have kernels", "FAIL", osc_check_launches,                             \
      "launches whose kernel is not in the file: at the start of the window, at its end, between") \
    C("kernels", "kernels have launches", "warn", osc_check_kernels,                               \
      "device work whose launch lies before the window")                                           \
    C("linked", "device work linked", "FAIL", osc_check_linked,                                    \
      "device work that belongs to no operator, and by which rule the rest is linked")             \
    C("order", "kernels after launch", "FAIL", osc_check_order,                                    \
      "device work that starts before its launch: the two clocks disagree")                        \
    C("overlap", "kernels one by one", "warn", osc_check_overlap,                                  \
      "kernels of one stream that overlap: their sum is more than the busy time")                  \
    C("annotations", "annotations apart", "warn", osc_check_annotations,                           \
      "device annotations that cover kernels; they are rows but no device time")                   \
    C("sync", "no waits as work", "warn", osc_check_sync_rows,                                     \
      "waits drawn on a stream, which PyTorch's table counts as device time")                      \
    C("stream_sync", "stream syncs wait", "warn", osc_check_stream_sync,                           \
      "a stream's synchronization that begins while one of its kernels runs")                      \
    C("waits", "event waits valid", "warn", osc_check_waits,                                       \
      "waits for an event that name no earlier record of it")                                      \
    C("comms", "collectives described", "warn", osc_check_comms,                                   \
      "record_param_comms events that lack one of the five keys that describe a collective")       \
    C("ids", "ids unique", "FAIL", osc_check_ids,                                                  \
      "External ids that occur twice, or that repeat correlation numbers")                         \
    C("flows", "arrows complete", "warn", osc_check_flows,                                         \
      "flow arrows that lack an end or occur twice; no total uses them")                           \
    C("backward", "backward unambiguous", "warn", osc_check_backward,                              \
      "sequence numbers shared by backward operators of different names")                          \
    C("timing", "device timing present", "FAIL", osc_check_timing,                                 \
      "sessions: operators whose launched work was not seen on the device")                        \
    C("cores", "cores match", "FAIL", osc_check_cores,                                             \
      "sessions: cores with work that were not captured")

static const struct check {
    const char *name, *title;
    void (*run)(osc_check_run *run);
} checks[] = {
#define CHECK_ROW(name, title, worst, run, looks) {name, title, run},
    CHECKS(CHECK_ROW)
#undef CHECK_ROW
};

#define CHECK_COUNT (sizeof checks / sizeof *checks)

static const osc_check_doc docs[] = {
#define CHECK_DOC(name, title, worst, run, looks) {name, title, worst, looks},
    CHECKS(CHECK_DOC)
#undef CHECK_DOC
        {"rank_clocks", "ranks on one clock", "FAIL",
         "directories of ranks: steps or collectives of the ranks lie apart, or a rank has no "
         "known "
         "clock"},
};

const char *const osc_check_names[] = {
#define CHECK_NAME(name, title, worst, run, looks) name,
    CHECKS(CHECK_NAME)
#undef CHECK_NAME
        "rank_clocks",
    NULL};

const osc_check_doc *osc_check_docs(uint32_t *count)
{
    *count = sizeof docs / sizeof *docs;
    return docs;
}

/* ---- what checks say ---- */

void osc_check_fine(osc_check_run *run, const char *fmt, ...)
{
    va_list args;
    if (run->verdict != OSC_SEV_NOTE)
        return;
    if (run->evidence.len > 0)
        osc_buf_cstr(&run->evidence, "; ");
    va_start(args, fmt);
    osc_buf_vprintf(&run->evidence, fmt, args);
    va_end(args);
}

void osc_check_found(osc_check_run *run, osc_severity severity, uint64_t count, const char *advice,
                     const char *fmt, ...)
{
    va_list args;
    assert(severity == OSC_SEV_WARN || severity == OSC_SEV_ERROR);
    if (run->verdict == OSC_SEV_NOTE)
        osc_buf_clear(&run->evidence);
    else
        osc_buf_cstr(&run->evidence, "; ");
    if (severity > run->verdict) {
        run->verdict = severity;
        run->advice = advice;
    }
    run->count += count;
    va_start(args, fmt);
    osc_buf_vprintf(&run->evidence, fmt, args);
    va_end(args);
}

const char *osc_check_name(const osc_check_run *run, uint32_t slice, char out[OSC_CHECK_NAME_TEXT])
{
    osc_str name = osc_store_text(run->store, run->s->name[slice]);
    bool cut = name.len >= OSC_CHECK_NAME_TEXT;
    if (cut)
        name.len = OSC_CHECK_NAME_TEXT - 4;
    while (cut && name.len > 0 && ((unsigned char)name.ptr[name.len] & 0xC0u) == 0x80u)
        name.len--; /* not inside a character */
    (void)osc_str_to_array(name, out, OSC_CHECK_NAME_TEXT);
    if (cut)
        memcpy(out + name.len, "...", 4);
    return out;
}

const char *osc_check_many(uint64_t count, const char *one, const char *many,
                           char out[OSC_CHECK_MANY_TEXT])
{
    char number[OSC_NUM_TEXT];
    snprintf(out, OSC_CHECK_MANY_TEXT, "%s %s", osc_format_count((int64_t)count, number),
             count == 1 ? one : many);
    return out;
}

int64_t osc_check_end(const osc_check_run *run, uint32_t slice)
{
    return run->s->start_ns[slice] + run->s->dur_ns[slice]; /* schema.h: in range */
}

uint64_t osc_check_noted(const osc_check_run *run, const char *code, uint64_t *offset)
{
    const osc_finding_cols *f = osc_store_finding(run->store);
    for (uint32_t i = 0; i < f->count; i++) {
        if (osc_str_eq_cstr(osc_store_text(run->store, f->code[i]), code)) {
            if (offset)
                *offset = f->offset[i];
            return f->times[i];
        }
    }
    return 0;
}

int64_t osc_check_meta(const osc_check_run *run, const char *key)
{
    int64_t value = 0;
    (void)osc_parse_i64(osc_store_get_meta(run->store, key), &value);
    return value;
}

uint64_t osc_check_events(const osc_check_run *run)
{
    int64_t events = osc_check_meta(run, "event_count");
    return events > 0 ? (uint64_t)events : run->s->count;
}

bool osc_check_is_launch(const osc_check_run *run, uint32_t slice)
{
    if (run->s->kind[slice] != OSC_KIND_RUNTIME)
        return false;
    osc_str name = osc_store_text(run->store, run->s->name[slice]);
    return osc_str_find(name, OSC_STR("Launch")) != SIZE_MAX &&
           (osc_str_find(name, OSC_STR("Kernel")) != SIZE_MAX ||
            osc_str_find(name, OSC_STR("Graph")) != SIZE_MAX);
}

/* ---- what checks share ---- */

static int compare_work(const void *left, const void *right, void *context)
{
    const osc_slice_cols *s = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (s->track[a] != s->track[b])
        return s->track[a] < s->track[b] ? -1 : 1;
    if (s->start_ns[a] != s->start_ns[b])
        return s->start_ns[a] < s->start_ns[b] ? -1 : 1;
    if (s->dur_ns[a] != s->dur_ns[b])
        return s->dur_ns[a] > s->dur_ns[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static bool collect_work(osc_check_run *run)
{
    const osc_slice_cols *s = run->s;
    for (uint32_t i = 0; i < s->count; i++)
        run->kinds[s->kind[i] < OSC_KIND_COUNT ? s->kind[i] : OSC_KIND_OTHER]++;
    uint64_t most =
        run->kinds[OSC_KIND_KERNEL] + run->kinds[OSC_KIND_MEMCPY] + run->kinds[OSC_KIND_MEMSET];
    run->work = osc_realloc_array(NULL, (size_t)most + 1, sizeof *run->work);
    if (!run->work)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!osc_slice_kind_is_device_work((osc_slice_kind)s->kind[i]))
            continue;
        assert(run->work_count < most);
        run->work[run->work_count++] = i;
        if (s->correlation[i] == 0)
            continue;
        run->work_unlaunched += osc_calls_launch(run->calls, i) == OSC_NO_ROW &&
                                osc_calls_op(run->calls, i) == OSC_NO_ROW;
        if (osc_map_put(&run->worked, (uint64_t)s->correlation[i], i) != OSC_OK)
            return false;
    }
    qsort_r(run->work, run->work_count, sizeof *run->work, compare_work, (void *)(uintptr_t)s);
    return true;
}

static bool prepare(osc_check_run *run, const osc_store *store, osc_err *err)
{
    static const osc_calls_options options = {.python = OSC_PYTHON_NO, .keep_duplicates = true};
    run->store = store;
    run->s = osc_store_slice(store);
    run->extent = osc_extent_of(store);
    osc_buf_init(&run->evidence, SIZE_MAX);
    return osc_calls_build(store, &options, &run->calls, err) == OSC_OK && collect_work(run);
}

/* ---- the result ---- */

static bool is_allowed(const osc_check_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->allow_count; i++) {
        if (strcmp(options->allow[i], name) == 0)
            return true;
    }
    return false;
}

static void add_row(osc_table *t, const struct check *check, const osc_check_run *run,
                    const osc_check_options *options)
{
    static const char *const verdicts[] = {"ok", "warn", "FAIL"};
    bool allowed = run->verdict == OSC_SEV_ERROR && is_allowed(options, check->name);
    osc_severity verdict = allowed ? OSC_SEV_WARN : run->verdict;
    uint32_t row = osc_table_add_row(t);
    osc_table_set_str(t, row, OSC_CHECK_NAME, osc_str_from_cstr(check->name));
    osc_table_set_str(t, row, OSC_CHECK_VERDICT, osc_str_from_cstr(verdicts[verdict]));
    osc_table_set_str(t, row, OSC_CHECK_TITLE, osc_str_from_cstr(check->title));
    osc_table_set_str(t, row, OSC_CHECK_EVIDENCE, osc_buf_view(&run->evidence));
    if (run->verdict != OSC_SEV_NOTE && run->advice)
        osc_table_set_str(t, row, OSC_CHECK_ADVICE, osc_str_from_cstr(run->advice));
    osc_table_set_i64(t, row, OSC_CHECK_COUNT, (int64_t)run->count);
    osc_table_set_fact_i64(t, "failures",
                           osc_table_fact_i64(t, "failures") + (verdict == OSC_SEV_ERROR));
    osc_table_set_fact_i64(t, "warnings",
                           osc_table_fact_i64(t, "warnings") + (verdict == OSC_SEV_WARN));
}

static void run_all(osc_check_run *run, const osc_check_options *options, osc_table *t)
{
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        if (options->only && strcmp(options->only, checks[i].name) != 0)
            continue;
        run->verdict = OSC_SEV_NOTE;
        run->count = 0;
        run->advice = NULL;
        osc_buf_clear(&run->evidence);
        checks[i].run(run);
        assert(run->evidence.len > 0 || run->evidence.failed || run->failed);
        run->failed = run->failed || run->evidence.failed;
        add_row(t, &checks[i], run, options);
    }
}

osc_status osc_check(const osc_store *store, const osc_check_options *options, osc_table **out,
                     osc_err *err)
{
    osc_check_run run = {0};
    osc_table *t = osc_table_new("check", columns, OSC_CHECK_COLUMNS);
    *out = NULL;
    bool ok = t && prepare(&run, store, err);
    if (ok) {
        osc_table_set_fact_i64(t, "failures", 0);
        osc_table_set_fact_i64(t, "warnings", 0);
        run_all(&run, options, t);
        ok = !run.failed;
    }
    osc_calls_free(run.calls);
    osc_map_free(&run.worked);
    osc_free(run.work);
    osc_buf_free(&run.evidence);
    osc_status status =
        ok ? osc_table_status(t, err)
           : osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory for the checks");
    if (status != OSC_OK) {
        osc_table_free(t);
        return status;
    }
    *out = t;
    return OSC_OK;
}
