/*
 * input.c - opening traces for commands: options, progress, several ranks, findings.
 *
 * A pipe whose events' arguments will be asked for later is copied to a temporary file that has no
 * name any more, and that file takes the place of standard input: everything below sees a file.
 */
#include "cli/input.h"

#include "artifact/session.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/progress.h"
#include "scope/analysis/join.h"
#include "scope/read/describe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPOOL_BYTES ((size_t)1 << 20)
#define SPOOL_MAX   ((uint64_t)64 << 30) /* as for pipes in base/source_input.c */

/* ---- a pipe that must be read twice ---- */

static bool is_pipe(const char *path)
{
    struct stat st;
    int failed = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(path, &st);
    return failed == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* A file without a name, in TMPDIR or /tmp; -1 with errno. */
static int nameless_file(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[4096];
    osc_buf name;
    osc_buf_init(&name, sizeof path - 1);
    osc_buf_printf(&name, "%s/opscope-", dir);
    osc_buf_fill(&name, 'X', 6); /* what mkstemp replaces */
    (void)osc_str_to_array(osc_buf_view(&name), path, sizeof path);
    fd = name.failed ? -1 : mkstemp(path);
    if (fd >= 0)
        (void)unlink(path);
    osc_buf_free(&name);
    return fd;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static osc_status copy_all(int from, int to, const char *name, const char *dir, uint64_t max,
                           osc_progress *progress, osc_err *err)
{
    char *buf = osc_alloc(SPOOL_BYTES);
    uint64_t done = 0;
    osc_status status = OSC_OK;
    if (!buf)
        return osc_fail(err, OSC_ENOMEM, name, OSC_NO_OFFSET, "no memory to copy it");
    for (;;) {
        ssize_t n = read(from, buf, SPOOL_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = osc_fail(err, OSC_EIO, name, done, "cannot read: %s", strerror(errno));
        else if (!write_all(to, buf, (size_t)n))
            status =
                osc_fail(err, OSC_EIO, name, OSC_NO_OFFSET,
                         "cannot copy it to a temporary file in %s: %s; set TMPDIR, or save it "
                         "to a file and give that",
                         dir, strerror(errno));
        if (n <= 0 || status != OSC_OK)
            break;
        done += (uint64_t)n;
        if (done > max) {
            status = osc_fail(err, OSC_EUNSUPPORTED, name, done,
                              "longer than the ceiling of %llu bytes; a higher one can be given "
                              "(--max-size)",
                              (unsigned long long)max);
            break;
        }
        osc_progress_draw(progress, done, 0, 0);
    }
    osc_free(buf);
    return status;
}

/* Copies a pipe; *fd is then the copy, at its beginning. */
static osc_status spool(const char *path, uint64_t max, int *fd, osc_err *err)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    const char *tmp = getenv("TMPDIR");
    const char *dir = tmp && tmp[0] ? tmp : "/tmp";
    osc_progress progress;
    int from = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *fd = -1;
    if (from < 0)
        return osc_fail(err, OSC_EIO, name, OSC_NO_OFFSET, "cannot open: %s", strerror(errno));
    osc_status status = OSC_OK;
    int copy = nameless_file(dir);
    if (copy < 0)
        status =
            osc_fail(err, OSC_EIO, name, OSC_NO_OFFSET,
                     "cannot make a temporary file in %s: %s; set TMPDIR", dir, strerror(errno));
    osc_progress_begin(&progress, name);
    if (status == OSC_OK)
        status = copy_all(from, copy, name, dir, max, &progress, err);
    osc_progress_end(&progress);
    if (!standard)
        (void)close(from);
    if (status == OSC_OK && lseek(copy, 0, SEEK_SET) == 0) {
        *fd = copy;
        return OSC_OK;
    }
    if (copy >= 0)
        (void)close(copy);
    return status;
}

/* Makes what path names readable twice; name is filled with the path to use instead. */
static osc_status make_file(const char *path, uint64_t max, char *name, size_t size, osc_err *err)
{
    int fd;
    snprintf(name, size, "%s", path);
    if (!is_pipe(path))
        return OSC_OK;
    osc_status status = spool(path, max, &fd, err);
    if (status != OSC_OK)
        return status;
    if (strcmp(path, "-") != 0) {
        snprintf(name, size, "/dev/fd/%d", fd); /* stays open to the end of the program */
        return OSC_OK;
    }
    int failed = dup2(fd, STDIN_FILENO);
    int reason = errno;
    (void)close(fd);
    if (failed < 0)
        return osc_fail(err, OSC_EIO, "standard input", OSC_NO_OFFSET, "cannot read: %s",
                        strerror(reason));
    return OSC_OK;
}

/* ---- findings ---- */

/* quiet: only what --strict makes of them; the command shows them itself. */
static void say_findings(const osc_call *call, const osc_store *store, bool quiet)
{
    const osc_finding_cols *f = osc_store_finding(store);
    bool strict = call->trace[OSC_TRACE_STRICT].set;
    for (uint32_t i = 0; i < f->count; i++) {
        bool repaired = f->severity[i] > OSC_SEV_NOTE;
        osc_str sentence = osc_store_text(store, f->sentence[i]);
        osc_str file = osc_store_text(store, f->input[i]);
        if (!quiet && (f->severity[i] == OSC_SEV_ERROR || (strict && repaired)))
            osc_cli_say("warning: %.*s%s%.*s (opscope info says more)", OSC_STR_FMT(file),
                        file.len > 0 ? ": " : "", OSC_STR_FMT(sentence));
        if (strict && repaired)
            call->cli->found = true;
    }
}

/* ---- opening ---- */

void osc_cli_open_options(const osc_call *call, osc_open_options *options)
{
    const osc_opt_value *threads = &call->trace[OSC_TRACE_THREADS];
    const osc_opt_value *max = &call->trace[OSC_TRACE_MAX_SIZE];
    if (threads->set)
        options->threads = threads->number < 1024 ? (uint32_t)threads->number : 1024;
    if (max->set)
        options->max_bytes = (uint64_t)max->number < SIZE_MAX ? (size_t)max->number : SIZE_MAX;
}

/* osc_open or osc_describe, with the options of the command line and progress. */
static osc_status open_with(const osc_call *call, const char *path, const char *shown,
                            const osc_open_options *options, osc_cli_how how, osc_store **out,
                            osc_err *err)
{
    osc_open_options o = *options;
    osc_progress progress;
    osc_str base = osc_path_base(osc_str_from_cstr(shown));
    assert(call->command->takes_trace);
    osc_cli_open_options(call, &o);
    osc_progress_begin(&progress, strcmp(shown, "-") == 0 ? "standard input" : base.ptr);
    o.progress = osc_progress_draw;
    o.progress_context = &progress;
    osc_status status =
        how == OSC_CLI_DESCRIBE ? osc_describe(path, &o, out, err) : osc_open(path, &o, out, err);
    osc_progress_end(&progress);
    if (status == OSC_OK)
        say_findings(call, *out, how == OSC_CLI_DESCRIBE || call->command->tells_findings);
    return status;
}

/* Fills name with the path to open: of a directory of several sessions the newest, and says so. */
static osc_status pick_session(const char *path, char *name, size_t size, osc_err *err)
{
    char *newest = NULL;
    size_t count = 0;
    osc_status status = OSC_OK;
    if (strcmp(path, "-") != 0 && osc_path_is_dir(path))
        status = osc_session_newest(path, &newest, &count, err);
    if (status == OSC_OK && count > 1)
        osc_cli_say("note: %s holds %zu sessions; this is the newest, %s", path, count, newest);
    const char *use = status == OSC_OK && count > 1 ? newest : path;
    if (strlen(use) >= size)
        status = osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET, "the path is too long");
    else
        snprintf(name, size, "%s", use);
    osc_free(newest);
    return status;
}

static osc_status open_how(const osc_call *call, const char *path, const osc_open_options *options,
                           osc_cli_how how, osc_store **out, osc_err *err)
{
    const osc_opt_value *given = &call->trace[OSC_TRACE_MAX_SIZE];
    char given_name[4096], name[4096];
    *out = NULL;
    osc_status picked = pick_session(path, given_name, sizeof given_name, err);
    if (picked != OSC_OK)
        return picked;
    path = given_name;
    snprintf(name, sizeof name, "%s", path);
    if (how == OSC_CLI_OPEN_WITH_ARGS) {
        uint64_t max =
            given->set && (uint64_t)given->number < SPOOL_MAX ? (uint64_t)given->number : SPOOL_MAX;
        osc_status copied = make_file(path, max, name, sizeof name, err);
        if (copied != OSC_OK)
            return copied;
    }
    return open_with(call, name, path, options, how, out, err);
}

osc_status osc_cli_open(const osc_call *call, const char *path, const osc_open_options *options,
                        bool need_args, osc_store **out, osc_err *err)
{
    return open_how(call, path, options, need_args ? OSC_CLI_OPEN_WITH_ARGS : OSC_CLI_OPEN, out,
                    err);
}

/* ---- several ranks ---- */

static void say_ranks(const osc_ranks *ranks)
{
    uint32_t guessed = 0;
    if (ranks->count < 2)
        return;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const osc_rank *r = &ranks->items[i];
        if (r->said >= 0 && r->said != r->rank)
            osc_cli_say("warning: %s: says that it is rank %lld, as another file does; "
                        "called rank %lld here",
                        r->path, (long long)r->said, (long long)r->rank);
        guessed += r->said < 0;
    }
    if (guessed > 0)
        osc_cli_say("note: %u of %u files do not say which rank they are; numbered by their names",
                    guessed, ranks->count);
    if (ranks->others > 0)
        osc_cli_say("note: %u file%s that %s no trace left out", ranks->others,
                    ranks->others == 1 ? "" : "s", ranks->others == 1 ? "is" : "are");
}

osc_status osc_cli_each_rank(const osc_call *call, const char *path,
                             const osc_open_options *options, osc_cli_how how, osc_cli_rank_fn fn,
                             void *context, osc_err *err)
{
    osc_ranks ranks;
    osc_status status = osc_ranks_find(path, &ranks, err);
    if (status == OSC_OK)
        say_ranks(&ranks);
    for (uint32_t i = 0; i < ranks.count && status == OSC_OK; i++) {
        osc_store *store = NULL;
        status = open_how(call, ranks.items[i].path, options, how, &store, err);
        if (status == OSC_OK)
            status = fn(context, &ranks.items[i], ranks.count, store, err);
        osc_store_free(store);
    }
    osc_ranks_free(&ranks);
    return status;
}

/* ---- tables of several ranks ---- */

void osc_cli_tables_free(osc_cli_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++)
        osc_table_free(tables->items[i]);
    osc_free(tables->items);
    osc_free(tables->ranks);
    *tables = (osc_cli_tables){0};
}

osc_status osc_cli_tables_add(osc_cli_tables *tables, int64_t rank, osc_table *table, osc_err *err)
{
    size_t n = (size_t)tables->count + 1;
    osc_table **items = osc_realloc_array(tables->items, n, sizeof(osc_table *));
    if (items)
        tables->items = items;
    int64_t *ranks = osc_realloc_array(tables->ranks, n, sizeof *ranks);
    if (ranks)
        tables->ranks = ranks;
    if (!items || !ranks) {
        osc_table_free(table);
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
    }
    items[tables->count] = table;
    ranks[tables->count++] = rank;
    return OSC_OK;
}

osc_status osc_cli_tables_join(osc_cli_tables *tables, osc_table **out, osc_err *err)
{
    assert(tables->count > 0);
    *out = NULL;
    if (tables->count > 1)
        return osc_table_join((const osc_table *const *)tables->items, tables->ranks, tables->count,
                              out, err);
    *out = tables->items[0];
    tables->count = 0;
    return OSC_OK;
}

/* ---- one analysis of each rank ---- */

typedef struct analyse_context {
    osc_cli_analysis analysis;
    void *context; /* the analysis's own */
    osc_cli_tables tables;
} analyse_context;

static osc_status analyse_rank(void *context, const osc_rank *rank, uint32_t of,
                               const osc_store *store, osc_err *err)
{
    analyse_context *a = context;
    osc_table *table = NULL;
    (void)of;
    osc_status status = a->analysis(a->context, store, &table, err);
    return status == OSC_OK ? osc_cli_tables_add(&a->tables, rank->rank, table, err) : status;
}

osc_status osc_cli_analyse(const osc_call *call, const char *path, const osc_open_options *options,
                           bool need_args, osc_cli_analysis analysis, void *context,
                           osc_table **out, osc_err *err)
{
    analyse_context a = {.analysis = analysis, .context = context};
    *out = NULL;
    osc_status status =
        osc_cli_each_rank(call, path, options, need_args ? OSC_CLI_OPEN_WITH_ARGS : OSC_CLI_OPEN,
                          analyse_rank, &a, err);
    if (status == OSC_OK)
        status = osc_cli_tables_join(&a.tables, out, err);
    osc_cli_tables_free(&a.tables);
    return status;
}
