/*
 * registry.c - the registration table of analyses, and options from texts.
 *
 * Each analysis keeps its own typed options; the adapters here fill them from values. An adapter is
 * the only code that a new analysis needs besides itself (docs/howto/add-an-analysis.md).
 */
#include "scope/analysis/registry.h"

#include "base/num.h"
#include "scope/analysis/check.h"
#include "scope/analysis/engines.h"
#include "scope/analysis/flame.h"
#include "scope/analysis/follow.h"
#include "scope/analysis/idle.h"
#include "scope/analysis/info.h"
#include "scope/analysis/key_averages.h"
#include "scope/analysis/path.h"
#include "scope/analysis/steps.h"
#include "scope/analysis/summary.h"

#include <assert.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int64_t number_or(const osc_param_value *v, int64_t otherwise)
{
    return v->set ? v->number : otherwise;
}

static osc_str text_of(const osc_param_value *v)
{
    return v->set ? osc_str_from_cstr(v->text) : (osc_str){0};
}

static uint32_t small(const osc_param_value *v)
{
    return v->number < 0 ? 0 : v->number > UINT32_MAX ? UINT32_MAX : (uint32_t)v->number;
}

/* ---- adapters: parameters in the order of an enum, then the call ---- */

static const char *const yes_no_auto[] = {"auto", "yes", "no", NULL};

enum { KA_BY = 0, KA_STACK_DEPTH, KA_PYTHON, KA_THREADS, KA_PARAMS };

static const osc_param ka_params[KA_PARAMS] = {
    [KA_BY] = {"by", OSC_PARAM_CHOICE, "what tells rows of one name apart", osc_ka_by_names},
    [KA_STACK_DEPTH] = {"stack_depth", OSC_PARAM_INT, "with by=stack: how many frames (5)", NULL},
    [KA_PYTHON] = {"python_rows", OSC_PARAM_CHOICE, "whether python frames are rows", yes_no_auto},
    [KA_THREADS] = {"threads", OSC_PARAM_INT, "worker threads, 0: one for each processor", NULL},
};

static osc_status run_key_averages(const osc_store *store, const osc_param_value *v,
                                   osc_table **out, osc_err *err)
{
    osc_ka_options o = {
        .calls = {.python = (osc_python_rows)v[KA_PYTHON].number, .threads = small(&v[KA_THREADS])},
        .by = v[KA_BY].set ? 1u << v[KA_BY].number : 0,
        .stack_depth = v[KA_STACK_DEPTH].set ? small(&v[KA_STACK_DEPTH]) : 5};
    return osc_key_averages(store, &o, out, err);
}

enum { FOLLOW_NAME = 0, FOLLOW_NTH, FOLLOW_PARAMS };

static const osc_param follow_params[FOLLOW_PARAMS] = {
    [FOLLOW_NAME] = {"name", OSC_PARAM_TEXT, "the operator, range, runtime call or kernel", NULL},
    [FOLLOW_NTH] = {"nth", OSC_PARAM_INT, "which call of it, from 1", NULL},
};

static osc_status run_follow(const osc_store *store, const osc_param_value *v, osc_table **out,
                             osc_err *err)
{
    if (!v[FOLLOW_NAME].set)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "follow needs name=OPERATOR, for example name=aten::mm");
    return osc_follow(store, text_of(&v[FOLLOW_NAME]), small(&v[FOLLOW_NTH]), out, err);
}

enum { STEPS_DEVICE = 0, STEPS_PARAMS };

static const osc_param steps_params[STEPS_PARAMS] = {
    [STEPS_DEVICE] = {"device", OSC_PARAM_TEXT, "only its work", NULL},
};

static osc_status run_steps(const osc_store *store, const osc_param_value *v, osc_table **out,
                            osc_err *err)
{
    osc_steps_options o = {.device = text_of(&v[STEPS_DEVICE])};
    return osc_steps_table(store, &o, out, err);
}

static const char *const idle_by[] = {"each", "class", "cause", NULL};

enum { IDLE_BY = 0, IDLE_STREAMS, IDLE_DEVICE, IDLE_MIN, IDLE_PARAMS };

static const osc_param idle_params[IDLE_PARAMS] = {
    [IDLE_BY] = {"by", OSC_PARAM_CHOICE, "a row per interval, per class, or per cause", idle_by},
    [IDLE_STREAMS] = {"streams", OSC_PARAM_FLAG, "of each stream, not of each device", NULL},
    [IDLE_DEVICE] = {"device", OSC_PARAM_TEXT, "only that one", NULL},
    [IDLE_MIN] = {"min_ns", OSC_PARAM_INT, "leave out shorter intervals", NULL},
};

static osc_status run_idle(const osc_store *store, const osc_param_value *v, osc_table **out,
                           osc_err *err)
{
    osc_idle_options o = {.by_stream = v[IDLE_STREAMS].number != 0,
                          .by = (osc_idle_by)v[IDLE_BY].number,
                          .device = text_of(&v[IDLE_DEVICE]),
                          .min_ns = number_or(&v[IDLE_MIN], 0),
                          .limit = -1};
    return osc_idle_table(store, &o, out, err);
}

enum { PATH_STEP = 0, PATH_SEGMENTS, PATH_PARAMS };

static const osc_param path_params[PATH_PARAMS] = {
    [PATH_STEP] = {"step", OSC_PARAM_INT, "N of ProfilerStep#N; else the step of median length",
                   NULL},
    [PATH_SEGMENTS] = {"segments", OSC_PARAM_FLAG, "a row for each segment of the path", NULL},
};

static osc_status run_path(const osc_store *store, const osc_param_value *v, osc_table **out,
                           osc_err *err)
{
    osc_path_options o = {.step = number_or(&v[PATH_STEP], -1),
                          .segments = v[PATH_SEGMENTS].number != 0,
                          .limit = -1};
    return osc_path_table(store, &o, out, err);
}

enum { CHECK_ONLY = 0, CHECK_PARAMS };

static const osc_param check_params[CHECK_PARAMS] = {
    [CHECK_ONLY] = {"only", OSC_PARAM_CHOICE, "this check alone", osc_check_names},
};

static osc_status run_check(const osc_store *store, const osc_param_value *v, osc_table **out,
                            osc_err *err)
{
    osc_check_options o = {.only =
                               v[CHECK_ONLY].set ? osc_check_names[v[CHECK_ONLY].number] : NULL};
    return osc_check(store, &o, out, err);
}

enum { FLAME_BY = 0, FLAME_METRIC, FLAME_THREADS, FLAME_PARAMS };

static const osc_param flame_params[FLAME_PARAMS] = {
    [FLAME_BY] = {"by", OSC_PARAM_CHOICE, "what a stack is made of", osc_flame_by_names},
    [FLAME_METRIC] = {"metric", OSC_PARAM_CHOICE, "what is added up", osc_flame_metric_names},
    [FLAME_THREADS] = {"threads", OSC_PARAM_INT, "worker threads, 0: one for each processor", NULL},
};

static osc_status run_flame(const osc_store *store, const osc_param_value *v, osc_table **out,
                            osc_err *err)
{
    osc_flame_options o = {.by = (osc_flame_by)v[FLAME_BY].number,
                           .metric = (osc_flame_metric)v[FLAME_METRIC].number,
                           .threads = small(&v[FLAME_THREADS])};
    osc_flame *flame = NULL;
    *out = NULL;
    osc_status status = osc_flame_build(store, &o, &flame, err);
    if (status == OSC_OK)
        status = osc_flame_table(flame, out, err);
    osc_flame_free(flame);
    return status;
}

static const char *const engine_rows[] = {"engine", "opcode", "queue", "semaphore", "layer", NULL};

enum { ENGINES_BY = 0, ENGINES_NTH, ENGINES_PROGRAM, ENGINES_PARAMS };

static const osc_param engines_params[ENGINES_PARAMS] = {
    [ENGINES_BY] = {"by", OSC_PARAM_CHOICE, "of engines: what a row is", engine_rows},
    [ENGINES_NTH] = {"nth", OSC_PARAM_INT, "only that execution, from 1 in order of time", NULL},
    [ENGINES_PROGRAM] = {"program", OSC_PARAM_TEXT, "only executions of this program", NULL},
};

static osc_status run_engines(const osc_store *store, const osc_param_value *v, osc_table **out,
                              osc_err *err)
{
    osc_engine_options o = {.nth = v[ENGINES_NTH].number,
                            .program = v[ENGINES_PROGRAM].set ? v[ENGINES_PROGRAM].text : NULL};
    switch (v[ENGINES_BY].number) {
    case 1: return osc_engines_by_opcode(store, &o, out, err);
    case 2: return osc_engines_by_queue(store, &o, out, err);
    case 3: return osc_engines_by_semaphore(store, &o, out, err);
    case 4: return osc_engines_by_layer(store, &o, out, err);
    default: return osc_engines(store, &o, out, err);
    }
}

static osc_status run_summary(const osc_store *store, const osc_param_value *v, osc_table **out,
                              osc_err *err)
{
    osc_engine_options o = {.nth = v[ENGINES_NTH].number,
                            .program = v[ENGINES_PROGRAM].set ? v[ENGINES_PROGRAM].text : NULL};
    osc_table *missing = NULL;
    osc_status status = osc_summary(store, &o, out, &missing, err);
    osc_table_free(missing);
    return status;
}

static osc_status run_info(const osc_store *store, const osc_param_value *v, osc_table **out,
                           osc_err *err)
{
    (void)v;
    return osc_info(store, out, err);
}

/* ---- the table ---- */

#define ROW(name, summary, params, run)           \
    {                                             \
        name, summary, params, COUNT(params), run \
    }

static const osc_analysis analyses[] = {
    {"info", "what the capture is and what is wrong with it", NULL, 0, run_info},
    ROW("key_averages", "PyTorch's table of operators, exact to the nanosecond", ka_params,
        run_key_averages),
    ROW("follow", "one call's life, from the operator to the instructions", follow_params,
        run_follow),
    ROW("steps", "per step: wall time, device busy, idle and why", steps_params, run_steps),
    ROW("idle", "idle intervals of devices, classified", idle_params, run_idle),
    ROW("path", "the critical path of a step", path_params, run_path),
    ROW("check", "whether the trace is ordered, complete, linked, plausible", check_params,
        run_check),
    ROW("flame", "time by stack", flame_params, run_flame),
    ROW("engines", "what the engines of a device did", engines_params, run_engines),
    ROW("summary", "the summary metrics of a device profile, recomputed", engines_params,
        run_summary),
};

enum { COMMON_SORT = 0, COMMON_LIMIT, COMMON_PARAMS };

static const osc_param common_params[COMMON_PARAMS] = {
    [COMMON_SORT] = {"sort", OSC_PARAM_TEXT, "rank rows by this column", NULL},
    [COMMON_LIMIT] = {"limit", OSC_PARAM_INT, "keep the first rows", NULL},
};

const osc_analysis *osc_analyses(uint32_t *count)
{
    *count = COUNT(analyses);
    return analyses;
}

const osc_param *osc_analysis_common(uint32_t *count)
{
    *count = COMMON_PARAMS;
    return common_params;
}

/* ---- options ---- */

/* Parameter i of an analysis, the common ones after its own; NULL behind the last. */
static const osc_param *param_at(const osc_analysis *a, uint32_t i)
{
    if (i < a->param_count)
        return &a->params[i];
    return i - a->param_count < COMMON_PARAMS ? &common_params[i - a->param_count] : NULL;
}

static bool parse_choice(const osc_param *p, osc_str text, int64_t *out)
{
    for (*out = 0; p->choices[*out]; ++*out) {
        if (osc_str_eq_cstr(text, p->choices[*out]))
            return true;
    }
    return false;
}

/* The value of a parameter from the text behind '='; false when it is none. */
static bool parse_value(const osc_param *p, osc_str text, bool given, osc_param_value *out)
{
    out->set = true;
    out->text = text.ptr;
    switch (p->type) {
    case OSC_PARAM_INT: return given && osc_parse_i64(text, &out->number);
    case OSC_PARAM_CHOICE: return given && parse_choice(p, text, &out->number);
    case OSC_PARAM_FLAG:
        out->number = !given || osc_str_eq_cstr(text, "yes");
        return !given || out->number || osc_str_eq_cstr(text, "no");
    default: return given;
    }
}

static osc_status fail_option(const osc_analysis *a, const char *option, const osc_param *p,
                              osc_err *err)
{
    if (p)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "%s: '%s' is no value of %s: %s",
                        a->name, option, p->name, p->help);
    const char *names[OSC_PARAMS_MAX];
    uint32_t n = 0;
    for (; n < OSC_PARAMS_MAX && param_at(a, n); n++)
        names[n] = param_at(a, n)->name;
    osc_str name = osc_str_from_cstr(option);
    name = osc_str_sub(name, 0, osc_str_find_char(name, '=', 0));
    const char *near = osc_nearest(name, names, n);
    return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "%s has no option '%.*s'; %s%s%s",
                    a->name, OSC_STR_FMT(name),
                    near ? "the nearest is '" : "opscope table lists them", near ? near : "",
                    near ? "'" : "");
}

static osc_status parse_option(const osc_analysis *a, const char *option, osc_param_value *values,
                               osc_err *err)
{
    osc_str text = osc_str_from_cstr(option);
    size_t equals = osc_str_find_char(text, '=', 0);
    osc_str name = osc_str_sub(text, 0, equals);
    bool given = equals != SIZE_MAX;
    const osc_param *p;
    for (uint32_t i = 0; (p = param_at(a, i)) != NULL; i++) {
        if (!osc_str_eq_cstr(name, p->name))
            continue;
        osc_str value = given ? osc_str_sub(text, equals + 1, SIZE_MAX) : (osc_str){"", 0};
        return parse_value(p, value, given, &values[i]) ? OSC_OK : fail_option(a, option, p, err);
    }
    return fail_option(a, option, NULL, err);
}

/* ---- running ---- */

static const osc_analysis *find(osc_str name)
{
    for (size_t i = 0; i < COUNT(analyses); i++) {
        if (osc_str_eq_cstr(name, analyses[i].name))
            return &analyses[i];
    }
    return NULL;
}

static osc_status fail_name(osc_str name, osc_err *err)
{
    const char *names[COUNT(analyses)];
    for (size_t i = 0; i < COUNT(analyses); i++)
        names[i] = analyses[i].name;
    const char *near = osc_nearest(name, names, COUNT(analyses));
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET, "no analysis '%.*s'%s%s%s",
                    OSC_STR_FMT(name), near ? "; the nearest is '" : "", near ? near : "",
                    near ? "'" : "");
}

/* Ranks and cuts a finished table. */
static osc_status arrange(osc_table *table, const osc_param_value *common, osc_err *err)
{
    if (common[COMMON_SORT].set) {
        uint32_t column = osc_table_find(table, common[COMMON_SORT].text);
        if (column == UINT32_MAX)
            return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "%s has no column '%s'",
                            osc_table_name(table), common[COMMON_SORT].text);
        osc_table_sort(table, column, osc_table_column_at(table, column)->type != OSC_CELL_STR);
    }
    if (common[COMMON_LIMIT].number >= 0 && common[COMMON_LIMIT].set &&
        common[COMMON_LIMIT].number < osc_table_rows(table))
        osc_table_truncate(table, small(&common[COMMON_LIMIT]));
    return osc_table_status(table, err);
}

osc_status osc_analysis_run(const osc_store *store, osc_str name, const char *const *options,
                            uint32_t n, osc_table **out, osc_err *err)
{
    osc_param_value values[OSC_PARAMS_MAX] = {0};
    const osc_analysis *a = find(name);
    osc_status status = OSC_OK;
    *out = NULL;
    if (!a)
        return fail_name(name, err);
    assert(a->param_count + COMMON_PARAMS <= OSC_PARAMS_MAX);
    for (uint32_t i = 0; i < n && status == OSC_OK; i++)
        status = parse_option(a, options[i], values, err);
    if (status == OSC_OK)
        status = a->run(store, values, out, err);
    if (status == OSC_OK)
        status = arrange(*out, values + a->param_count, err);
    if (status != OSC_OK) {
        osc_table_free(*out);
        *out = NULL;
    }
    return status;
}
