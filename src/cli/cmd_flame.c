/* cmd_flame.c - `opscope flame`: stacks for flame-graph tools, or the flame graph itself. */
#include "cli/input.h"

#include "base/str.h"
#include "scope/analysis/flame.h"
#include "scope/analysis/torch_stacks.h"
#include "scope/export/export.h"
#include "scope/export/flame.h"

#include <stdio.h>

static const char *const units[] = {"us", "ns", NULL};

enum {
    FLAME_BY = 0,
    FLAME_METRIC,
    FLAME_THREAD,
    FLAME_BY_THREAD,
    FLAME_UNIT,
    FLAME_SVG,
    FLAME_FORMAT,
    FLAME_LIKE_TORCH,
};

static const osc_opt options[] = {
    {"by", 0, OSC_OPT_CHOICE, "WHAT",
     "what a stack is made of: python (frames and operators; the default), op (operators), or "
     "module (nn.Module frames and operators)",
     osc_flame_by_names},
    {"metric", 'm', OSC_OPT_CHOICE, "METRIC",
     "self_cpu (the default), self_device (device work, below the operator that started it), or "
     "count",
     osc_flame_metric_names},
    {"thread", 0, OSC_OPT_INT, "NUMBER", "only the thread (or stream) with this number", NULL},
    {"by-thread", 0, OSC_OPT_FLAG, NULL,
     "begin stacks with their thread when there are several; --svg always does", NULL},
    {"unit", 'u', OSC_OPT_CHOICE, "UNIT", "us (the default) or ns, both whole", units},
    {"svg", 0, OSC_OPT_FLAG, NULL, "draw the flame graph as an SVG picture", NULL},
    {"format", 'f', OSC_OPT_CHOICE, "FORMAT",
     "table, csv, json, jsonl or md, with exact nanoseconds, instead of folded stacks",
     osc_format_names},
    {"like-torch", 0, OSC_OPT_CHOICE, "METRIC",
     "print the text of PyTorch's export_stacks(): self_cpu_time_total, self_cuda_time_total, ...",
     osc_torch_stacks_metrics},
};

/* Options that would do nothing are a misunderstanding: refused, not ignored. */
static bool options_agree(const osc_opt_value *v)
{
    for (int i = 0; v[FLAME_LIKE_TORCH].set && i < FLAME_LIKE_TORCH; i++) {
        if (v[i].set) {
            osc_cli_say("flame: --like-torch is a text of its own; leave --%s out",
                        options[i].name);
            return false;
        }
    }
    if (v[FLAME_SVG].set && (v[FLAME_FORMAT].set || v[FLAME_UNIT].set)) {
        osc_cli_say("flame: --svg is a format of its own; leave --%s out",
                    options[v[FLAME_FORMAT].set ? FLAME_FORMAT : FLAME_UNIT].name);
        return false;
    }
    if (v[FLAME_FORMAT].set && v[FLAME_UNIT].set) {
        osc_cli_say("flame: --format gives exact nanoseconds; leave --unit out");
        return false;
    }
    return true;
}

static int show_like_torch(const osc_call *call, const osc_store *store)
{
    bool device = osc_torch_stacks_on_device(call->values[FLAME_LIKE_TORCH].text);
    osc_torch_stacks stacks;
    osc_err err = {0};
    uint32_t threads = (uint32_t)call->trace[OSC_TRACE_THREADS].number;
    if (osc_torch_stacks_build(store, OSC_PYTHON_AUTO, device, threads, &stacks, &err) != OSC_OK)
        return osc_cli_fail(&err);
    bool recorded = false;
    if (osc_torch_stacks_recorded(store, &stacks, &recorded, &err) != OSC_OK) {
        osc_torch_stacks_free(&stacks);
        return osc_cli_fail(&err);
    }
    if (recorded)
        osc_export_torch_stacks(&stacks, &call->cli->out);
    else
        osc_cli_say("note: PyTorch writes nothing here: %s",
                    stacks.texts.any
                        ? "the capture was made without _ExperimentalConfig(verbose=True). Without "
                          "--like-torch this command shows the stacks"
                        : "the trace has no python frames (with_stack=True)");
    osc_torch_stacks_free(&stacks);
    osc_cli_guard_terminal(call->cli); /* names keep their control bytes, as PyTorch's do */
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

static void say_facts(const osc_flame_facts *f, const osc_opt_value *v)
{
    bool device = v[FLAME_METRIC].set && v[FLAME_METRIC].number == OSC_FLAME_SELF_DEVICE;
    if (f->nodes == 0)
        osc_cli_say("note: %s", !f->thread_exists ? "no thread or stream has this number"
                                : device          ? "the trace has no device work"
                                                  : "the trace has no calls on the host");
    else if (v[FLAME_BY].set && v[FLAME_BY].number != OSC_FLAME_OP && !f->by_python)
        osc_cli_say("note: the trace has no python frames (with_stack=True): stacks are operators");
    if (f->negative < 0)
        osc_cli_say(
            "note: %lld ns of negative self time are left out: calls overlap their callers' "
            "other calls",
            (long long)-f->negative);
    if (f->threads_added && f->nodes > 0)
        osc_cli_say("note: the threads are added up; --by-thread begins each stack with its own");
    if (f->unlinked > 0)
        osc_cli_say("note: device work of no operator in the trace (%llu events) is below "
                    "[no_operator]",
                    (unsigned long long)f->unlinked);
}

/* The picture, titled with what its widths mean: "trace.json.gz: self_cpu of all threads". */
static void draw(const osc_call *call, const osc_flame *flame)
{
    const osc_opt_value *v = call->values;
    osc_flame_metric metric =
        v[FLAME_METRIC].set ? (osc_flame_metric)v[FLAME_METRIC].number : OSC_FLAME_SELF_CPU;
    osc_buf title;
    osc_buf_init(&title, SIZE_MAX);
    osc_buf_printf(&title, "%s: %s of ", call->operands[0], osc_flame_metric_names[metric]);
    if (v[FLAME_THREAD].set)
        osc_buf_printf(&title, "thread %lld", (long long)v[FLAME_THREAD].number);
    else
        osc_buf_cstr(&title, metric == OSC_FLAME_SELF_DEVICE ? "all devices" : "all threads");
    osc_export_flame_svg(flame, osc_str_from_cstr(osc_buf_c_str(&title)), &call->cli->out);
    osc_buf_free(&title);
}

static int show(const osc_call *call, const osc_flame *flame)
{
    const osc_opt_value *v = call->values;
    osc_buf *out = &call->cli->out;
    osc_table *table = NULL;
    osc_err err = {0};
    if (v[FLAME_SVG].set) {
        draw(call, flame);
    } else if (v[FLAME_FORMAT].set) {
        if (osc_flame_table(flame, &table, &err) != OSC_OK)
            return osc_cli_fail(&err);
        return osc_cli_show(call->cli, table, (osc_format)v[FLAME_FORMAT].number);
    } else {
        osc_export_folded(flame, v[FLAME_UNIT].set && v[FLAME_UNIT].number == 1, out);
        osc_cli_guard_terminal(call->cli);
    }
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

static osc_status add_rank(void *context, const osc_rank *rank, uint32_t of, const osc_store *store,
                           osc_err *err)
{
    char root[32] = "";
    if (of > 1)
        (void)snprintf(root, sizeof root, "rank %lld", (long long)rank->rank);
    return osc_flame_add(context, store, osc_str_from_cstr(root), err);
}

/* The flame graph of a trace, or of all ranks of a directory, each below a node of its own. */
static int run_flame(const osc_call *call)
{
    const osc_opt_value *v = call->values;
    osc_flame_options o = {.by = v[FLAME_BY].set ? (osc_flame_by)v[FLAME_BY].number : 0,
                           .metric = v[FLAME_METRIC].set ? (osc_flame_metric)v[FLAME_METRIC].number
                                                         : OSC_FLAME_SELF_CPU,
                           .one_thread = v[FLAME_THREAD].set,
                           .thread = v[FLAME_THREAD].number,
                           .by_thread = v[FLAME_BY_THREAD].set || v[FLAME_SVG].set,
                           .threads = (uint32_t)call->trace[OSC_TRACE_THREADS].number};
    osc_open_options open = {.omit = OSC_OMIT_SHAPES | OSC_OMIT_FLOWS | OSC_OMIT_ARGS |
                                     OSC_OMIT_SEQUENCES};
    osc_flame *flame = osc_flame_new(&o);
    osc_err err = {.code = OSC_ENOMEM, .message = "out of memory for the stacks"};
    int code;
    if (!flame ||
        osc_cli_each_rank(call, call->operands[0], &open, OSC_CLI_OPEN, add_rank, flame, &err) !=
            OSC_OK ||
        osc_flame_finish(flame, &err) != OSC_OK) {
        code = osc_cli_fail(&err);
    } else {
        say_facts(osc_flame_facts_of(flame), v);
        code = show(call, flame);
    }
    osc_flame_free(flame);
    return code;
}

static int run_like_torch(const osc_call *call)
{
    osc_open_options open = {.omit = OSC_OMIT_SHAPES | OSC_OMIT_FLOWS};
    osc_store *store = NULL;
    osc_err err = {0};
    if (osc_cli_open(call, call->operands[0], &open, true, &store, &err) != OSC_OK)
        return osc_cli_fail(&err);
    int code = show_like_torch(call, store);
    osc_store_free(store);
    return code;
}

static int run(const osc_call *call)
{
    if (!options_agree(call->values))
        return OSC_EXIT_USAGE;
    return call->values[FLAME_LIKE_TORCH].set ? run_like_torch(call) : run_flame(call);
}

const osc_command osc_command_flame = {
    .name = "flame",
    .summary = "stacks for flame-graph tools, or the flame graph itself",
    .operands = "TRACE",
    .description =
        "Prints folded stacks, one a line: \"outer;inner 12\", the value being the time of\n"
        "this very stack over all threads. flamegraph.pl, speedscope, inferno and others\n"
        "read them. With --svg the flame graph itself: a picture that needs no other file;\n"
        "hover over a box for its figures.\n\n"
        "Stacks are python frames and operators as they lie inside each other on their\n"
        "thread. With --metric self_device the leaves are kernels and copies, below the\n"
        "operator that started them. Spaces, semicolons and line ends in names become\n"
        "underscores, as in PyTorch's export_stacks(); the picture has the names as they\n"
        "are. Threads are added up, also one that only waits: --by-thread begins each\n"
        "stack with its thread, as the picture does, and --thread shows one alone.\n\n"
        "--like-torch prints that function's own text: a line per event, not merged.\n"
        "PyTorch's file is empty unless the capture was made with\n"
        "_ExperimentalConfig(verbose=True); this one is not.",
    .example = " opscope flame trace.json.gz > trace.folded\n"
               " opscope flame trace.json.gz --by op --metric self_device --svg > trace.svg",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .takes_trace = true,
    .operands_min = 1,
    .operands_max = 1,
    .file_glob = NULL,
    .run = run,
};
