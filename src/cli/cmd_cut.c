/* cmd_cut.c - `opscope cut`: a smaller trace, or the same one repaired. */
#include "cli/input.h"
#include "cli/when.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "scope/export/cut.h"
#include "scope/export/rewrite.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

enum { CUT_OUTPUT = 0, CUT_STEP, CUT_FROM, CUT_TO, CUT_OP, CUT_NTH, CUT_REPAIR };

static const osc_opt options[] = {
    {"output", 'o', OSC_OPT_TEXT, "FILE",
     "where the trace goes; .gz and .zst are compressed, - is standard output", NULL},
    {"step", 0, OSC_OPT_INT, "N", "keep ProfilerStep#N", NULL},
    {"from", 0, OSC_OPT_TEXT, "TIME",
     "keep what runs after TIME, from the first event of the capture on: 250us, 12.5ms, 3s, as "
     "tables show it; an integer without a unit is absolute ns",
     NULL},
    {"to", 0, OSC_OPT_TEXT, "TIME", "keep what runs before TIME", NULL},
    {"op", 0, OSC_OPT_TEXT, "NAME", "keep one call of an operator or range", NULL},
    {"nth", 0, OSC_OPT_INT, "N", "with --op: which call, in order of start (default 1)", NULL},
    {"repair", 0, OSC_OPT_FLAG, NULL,
     "keep everything, and write valid JSON whatever the input is (default without a window)",
     NULL},
};

/* What the options ask for. */
typedef struct request {
    bool whole;
    osc_when from, to; /* with --from, --to */
    uint32_t nth;
} request;

static bool time_option(const osc_opt_value *v, const char *name, osc_when *when)
{
    if (!v->set || (osc_cli_parse_when(v->text, when) && when->ns >= 0))
        return true;
    osc_cli_say("cut: --%s takes a time such as 12.5ms, or absolute ns, not '%s'", name, v->text);
    return false;
}

static bool read_request(const osc_opt_value *v, request *r)
{
    bool times = v[CUT_FROM].set || v[CUT_TO].set;
    int windows = v[CUT_STEP].set + times + v[CUT_OP].set;
    *r = (request){.whole = windows == 0, .to = {.ns = INT64_MAX}, .nth = 1};
    if (!v[CUT_OUTPUT].set) {
        osc_cli_say("cut: say where the trace goes: -o FILE");
        return false;
    }
    if (windows > 1 || (windows > 0 && v[CUT_REPAIR].set)) {
        osc_cli_say("cut: --step, --from and --to, --op, and --repair exclude one another");
        return false;
    }
    if (v[CUT_NTH].set &&
        (!v[CUT_OP].set || v[CUT_NTH].number < 1 || v[CUT_NTH].number > UINT32_MAX)) {
        osc_cli_say(v[CUT_OP].set ? "cut: calls are counted from 1" : "cut: --nth needs --op");
        return false;
    }
    if (v[CUT_NTH].set)
        r->nth = (uint32_t)v[CUT_NTH].number;
    if (!time_option(&v[CUT_FROM], "from", &r->from) || !time_option(&v[CUT_TO], "to", &r->to))
        return false;
    bool ordered = r->from.absolute != r->to.absolute || r->from.ns < r->to.ns;
    if (!ordered)
        osc_cli_say("cut: --from lies behind --to");
    return ordered;
}

/* True when both paths name one file. */
static bool same_file(const char *input, const char *output)
{
    struct stat a, b;
    int failed = strcmp(input, "-") == 0 ? fstat(0, &a) : stat(input, &a);
    return failed == 0 && strcmp(output, "-") != 0 && stat(output, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void say_result(const osc_call *call, const char *input, const osc_rewrite_stats *stats)
{
    char written[OSC_NUM_TEXT], read[OSC_NUM_TEXT], count[OSC_NUM_TEXT];
    const char *output = call->values[CUT_OUTPUT].text;
    osc_cli_say("%s: %s of %s events", strcmp(output, "-") == 0 ? "standard output" : output,
                osc_format_count((int64_t)stats->written, written),
                osc_format_count((int64_t)stats->read, read));
    if (stats->repaired > 0)
        osc_cli_say("note: %s: %s place%s not valid JSON and repaired, the first at byte %llu",
                    input, osc_format_count((int64_t)stats->repaired, count),
                    stats->repaired == 1 ? " was" : "s were",
                    (unsigned long long)stats->first_repair);
    if (stats->skipped > 0)
        osc_cli_say("warning: %s: bytes at %s place%s could not be read and are gone", input,
                    osc_format_count((int64_t)stats->skipped, count),
                    stats->skipped == 1 ? "" : "s");
    if (stats->truncated)
        osc_cli_say("warning: %s: ends early; what is there was written", input);
    if (call->trace[OSC_TRACE_STRICT].set &&
        (stats->repaired > 0 || stats->skipped > 0 || stats->truncated))
        call->cli->found = true;
}

/* Rewrites a file to the output. */
static osc_status rewrite(const osc_call *call, const char *path, const char *shown,
                          const osc_rewrite_filter *filter, osc_rewrite_stats *stats, osc_err *err)
{
    osc_open_options open = {0};
    osc_source *source = NULL;
    osc_sink *sink = NULL;
    osc_cli_open_options(call, &open);
    osc_source_options how = {.max_bytes = open.max_bytes};
    osc_status status = osc_source_open(path, &how, &source, err);
    if (status == OSC_OK)
        status = osc_sink_open(call->values[CUT_OUTPUT].text, &sink, err);
    if (status == OSC_OK)
        status = osc_trace_rewrite(source, shown, sink, filter, stats, err);
    osc_source_close(source);
    if (status == OSC_OK && filter && stats->written == 0)
        status = osc_fail(err, OSC_ENOTFOUND, shown, OSC_NO_OFFSET,
                          "no event lies in that window; nothing was written");
    if (status == OSC_OK)
        return osc_sink_commit(sink, err);
    osc_sink_drop(sink);
    return status;
}

static osc_status find_window(const osc_call *call, const osc_store *store, const request *r,
                              osc_window *window, osc_err *err)
{
    const osc_opt_value *v = call->values;
    if (v[CUT_STEP].set)
        return osc_window_of_step(store, v[CUT_STEP].number, window, err);
    if (v[CUT_OP].set)
        return osc_window_of_call(store, osc_str_from_cstr(v[CUT_OP].text), r->nth, window, err);
    *window = osc_window_of_times(store, r->from, r->to);
    return OSC_OK;
}

static osc_status cut_window(const osc_call *call, const request *r, osc_rewrite_stats *stats,
                             osc_err *err)
{
    const char *shown = strcmp(call->operands[0], "-") == 0 ? "standard input" : call->operands[0];
    osc_open_options open = {.omit = OSC_OMIT_SHAPES | OSC_OMIT_SEQUENCES};
    osc_store *store = NULL;
    osc_cut *cut = NULL;
    osc_window window;
    osc_status status = osc_cli_open(call, call->operands[0], &open, true, &store, err);
    if (status == OSC_OK)
        status = find_window(call, store, r, &window, err);
    if (status == OSC_OK)
        status = osc_cut_new(store, window, &cut, err);
    if (status == OSC_OK) {
        osc_str path = osc_store_get_meta(store, "input_path");
        char *input = osc_memdup0(path.ptr, path.len);
        osc_rewrite_filter filter = osc_cut_filter(cut);
        bool standard = osc_str_eq(path, OSC_STR("-"));
        if (!input)
            status = osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory");
        else
            status = rewrite(call, standard ? "/dev/fd/0" : input, shown, &filter, stats, err);
        osc_free(input);
    }
    if (status == OSC_OK)
        status = osc_cut_status(cut, err);
    osc_cut_free(cut);
    osc_store_free(store);
    return status;
}

/* A directory of ranks, or of a session when all is to be kept, is more than one file. */
static bool one_file(const char *input, const request *r)
{
    osc_ranks ranks;
    osc_err err = {0};
    if (strcmp(input, "-") == 0 || !osc_path_is_dir(input))
        return true;
    if (osc_ranks_find(input, &ranks, &err) != OSC_OK)
        return true; /* opening it will say what is wrong */
    uint32_t count = ranks.count;
    osc_ranks_free(&ranks);
    if (count > 1)
        osc_cli_say("cut: %s holds the traces of %u ranks; give one of them", input, count);
    else if (r->whole)
        osc_cli_say("cut: %s is a directory; give the trace in it", input);
    return count == 1 && !r->whole;
}

static int run(const osc_call *call)
{
    const char *input = call->operands[0];
    osc_rewrite_stats stats = {0};
    osc_err err = {0};
    request r;
    osc_status status;
    if (!read_request(call->values, &r) || !one_file(input, &r))
        return OSC_EXIT_USAGE;
    if (same_file(input, call->values[CUT_OUTPUT].text)) {
        osc_cli_say("cut: %s is the input; give another name", call->values[CUT_OUTPUT].text);
        return OSC_EXIT_USAGE;
    }
    if (strcmp(call->values[CUT_OUTPUT].text, "-") == 0)
        (void)signal(SIGPIPE, SIG_DFL); /* nobody reads the rest: end quietly, as filters do */
    if (r.whole)
        status = rewrite(call, input, strcmp(input, "-") == 0 ? "standard input" : input, NULL,
                         &stats, &err);
    else
        status = cut_window(call, &r, &stats, &err);
    if (status != OSC_OK)
        return osc_cli_fail(&err);
    say_result(call, input, &stats);
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

const osc_command osc_command_cut = {
    .name = "cut",
    .summary = "a smaller trace of one step, call or time, or the whole one repaired",
    .operands = "TRACE",
    .description =
        "Writes the part of a trace that belongs to a step, to a call or to a time: host\n"
        "events that overlap it, device work launched in it even when that runs later, the\n"
        "arrows between them, memory records, and the names of lanes that are left. The\n"
        "head of the file (devices, ranks, flags, base time) stays, so that all commands\n"
        "work on the result as on the whole. Events are copied as they stand. With --step\n"
        "a python frame that begins in the step keeps what lies in it behind the step.\n\n"
        "Without a window, or with --repair, everything is kept, and what is not valid JSON\n"
        "in the input is in the output: quotes inside names get their backslash, bytes that\n"
        "are not UTF-8 become U+FFFD, inf and N/A become null, missing brackets are added.",
    .example = " opscope cut trace.json.gz --step 3 -o small.json.gz\n"
               " opscope cut trace.json --op aten::linear --nth 2 -o call.json\n"
               " opscope cut broken.json --repair -o valid.json",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .takes_trace = true,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .run = run,
};
