/*
 * test_api_trace.c - opscope/trace.h as a program sees it: tables, analyses, results, text,
 * failures.
 */
#include "tap.h"

#include "base/mem.h"
#include "opscope/trace.h"

#include <stdio.h>
#include <string.h>

static const char *data(const char *name)
{
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s/tests/data/scope/%s", tap_source_dir(), name);
    return path;
}

static osc_trace *open_data(const char *name)
{
    osc_trace *trace = NULL;
    osc_err err = {0};
    if (osc_trace_open(data(name), NULL, &trace, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "cannot open: %s", err.message);
    return trace;
}

static void test_tables_by_name(void)
{
    osc_trace *trace = open_data("cuda.json");
    osc_column dur = {.size = sizeof dur}, name = {.size = sizeof name};
    osc_err err = {0};
    int64_t sum = 0;
    TAP_REQUIRE(trace != NULL);
    TAP_EQ_U64(osc_trace_abi(), OSC_TRACE_ABI);
    TAP_REQUIRE(osc_trace_column(trace, "slices", "dur_ns", &dur, &err) == OSC_OK);
    TAP_REQUIRE(osc_trace_column(trace, "slices", "name", &name, &err) == OSC_OK);
    TAP_EQ_U64(dur.rows, osc_trace_rows(trace, "slices"));
    TAP_EQ_U64(dur.type, OSC_TYPE_I64);
    TAP_EQ_STR(dur.unit, "ns");
    TAP_EQ_U64(name.type, OSC_TYPE_TEXT);
    for (uint64_t i = 0; i < dur.rows; i++) {
        size_t len;
        const char *text = osc_trace_text(trace, name.values.u32[i], &len);
        TAP_EQ_U64(strlen(text), len);
        if (strcmp(text, "aten::relu") == 0)
            sum += dur.values.i64[i];
    }
    TAP_EQ_I64(sum, 50000); /* two calls */
    TAP_OK(osc_trace_bytes(trace) > 1000);
    TAP_EQ_STR(osc_trace_fact(trace, "no such fact"), "");
    TAP_EQ_STR(osc_trace_fact(trace, "source"), "trace");
    osc_trace_close(trace);
}

static void test_every_column_of_every_table(void)
{
    osc_trace *trace = open_data("session");
    osc_err err = {0};
    uint64_t cells = 0;
    TAP_REQUIRE(trace != NULL);
    for (uint32_t t = 0; t < osc_trace_tables(); t++) {
        const char *table = osc_trace_table_name(t);
        TAP_OK(strlen(osc_trace_table_meaning(t)) > 5);
        for (uint32_t c = 0; c < osc_trace_columns(table); c++) {
            osc_column by_number = {.size = sizeof by_number}, by_name = by_number;
            TAP_REQUIRE(osc_trace_column_at(trace, table, c, &by_number, &err) == OSC_OK);
            TAP_REQUIRE(osc_trace_column(trace, table, by_number.name, &by_name, &err) == OSC_OK);
            TAP_OK(by_name.values.any == by_number.values.any);
            TAP_OK(by_number.rows == 0 || by_number.values.any != NULL);
            cells += by_number.rows;
        }
    }
    TAP_OK(cells > 50);
    TAP_OK(osc_trace_table_name(osc_trace_tables()) == NULL);
    TAP_OK(osc_trace_table_meaning(osc_trace_tables()) == NULL);
    osc_trace_close(trace);
}

static void test_wrong_names_are_answered_with_near_ones(void)
{
    osc_trace *trace = open_data("cuda.json");
    osc_column column = {.size = sizeof column};
    osc_result *result = NULL;
    osc_err err = {0};
    const char *wrong[] = {"by=colour"}, *unknown[] = {"stack_dept=3"};
    TAP_REQUIRE(trace != NULL);
    TAP_EQ_STATUS(osc_trace_column(trace, "slice", "name", &column, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "no table 'slice'; the nearest is 'slices'");
    TAP_EQ_STATUS(osc_trace_column(trace, "slices", "dur_n", &column, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "no column 'dur_n'; the nearest is 'dur_ns'");
    TAP_EQ_STATUS(osc_trace_column_at(trace, "slices", 99, &column, &err), OSC_ENOTFOUND);
    column.size = 0;
    TAP_EQ_STATUS(osc_trace_column(trace, "slices", "name", &column, &err), OSC_EINVAL);
    TAP_EQ_U64(osc_trace_columns("slice"), 0);
    TAP_EQ_U64(osc_trace_rows(trace, "slice"), 0);
    TAP_EQ_STATUS(osc_trace_analyse(trace, "key_average", NULL, 0, &result, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "no analysis 'key_average'; the nearest is 'key_averages'");
    TAP_EQ_STATUS(osc_trace_analyse(trace, "key_averages", wrong, 1, &result, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_trace_analyse(trace, "key_averages", unknown, 1, &result, &err), OSC_EINVAL);
    TAP_EQ_STR(err.message,
               "key_averages has no option 'stack_dept'; the nearest is 'stack_depth'");
    TAP_OK(result == NULL);
    osc_trace_close(trace);
}

/* A caller built with an older header: nothing is written behind what it knows. */
static void test_small_structs_stay_small(void)
{
    osc_trace *trace = open_data("cuda.json");
    osc_column column;
    osc_err err = {0};
    TAP_REQUIRE(trace != NULL);
    memset(&column, 0x77, sizeof column);
    column.size = offsetof(osc_column, meaning);
    TAP_REQUIRE(osc_trace_column(trace, "slices", "dur_ns", &column, &err) == OSC_OK);
    TAP_EQ_STR(column.unit, "ns");
    TAP_EQ_U64(column.size, offsetof(osc_column, meaning));
    TAP_EQ_U64(column.rows, 0x7777777777777777u);
    osc_trace_close(trace);
}

static void test_an_analysis_and_its_result(void)
{
    osc_trace *trace = open_data("cuda.json");
    const char *options[] = {"sort=self_cpu_ns", "limit=2", "python_rows=no"};
    osc_result_column column = {.size = sizeof column};
    osc_result *top = NULL;
    osc_err err = {0};
    size_t len;
    TAP_REQUIRE(trace != NULL);
    TAP_REQUIRE(osc_trace_analyse(trace, "key_averages", options, 3, &top, &err) == OSC_OK);
    osc_trace_close(trace); /* a result is on its own */
    TAP_EQ_U64(osc_result_rows(top), 2);
    uint32_t cpu = osc_result_find(top, "self_cpu_ns"), name = osc_result_find(top, "name");
    TAP_REQUIRE(osc_result_column_at(top, cpu, &column));
    TAP_EQ_STR(column.name, "self_cpu_ns");
    TAP_EQ_STR(column.unit, "ns");
    TAP_EQ_U64(column.type, OSC_TYPE_I64);
    TAP_EQ_I64(osc_result_i64(top, 0, cpu), 250000);
    TAP_EQ_I64(osc_result_i64(top, 1, cpu), 70000);
    const char *text = osc_result_text(top, 1, name, &len);
    TAP_EQ_VIEW(osc_str_make(text, len), "aten::addmm");
    TAP_EQ_I64(osc_result_fact_i64(top, "total_device_ns"), 225500);
    (void)osc_result_fact_text(top, "device", &len);
    TAP_EQ_U64(len, 4);
    TAP_EQ_I64(osc_result_i64(top, 9, cpu), 0); /* cells that are not there */
    TAP_EQ_I64(osc_result_i64(top, 0, name), 0);
    TAP_EQ_F64(osc_result_f64(top, 0, cpu), 0);
    TAP_EQ_STR(osc_result_text(top, 0, 999, NULL), "");
    TAP_OK(!osc_result_column_at(top, 999, &column));
    TAP_EQ_U64(osc_result_find(top, "nothing"), UINT32_MAX);
    osc_result_free(top);
}

static void test_results_as_text(void)
{
    static const char *const formats[] = {"csv", "json", "jsonl", "md", "table"};
    osc_trace *trace = open_data("cuda.json");
    const char *options[] = {"limit=1"};
    osc_result *top = NULL;
    osc_err err = {0};
    char *text;
    size_t len;
    TAP_REQUIRE(trace != NULL);
    TAP_REQUIRE(osc_trace_analyse(trace, "key_averages", options, 1, &top, &err) == OSC_OK);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        TAP_REQUIRE(osc_result_format(top, formats[i], &text, &len, &err) == OSC_OK);
        TAP_OK(len > 10 && strlen(text) == len && strstr(text, "ProfilerStep") != NULL);
        osc_text_free(text);
    }
    TAP_EQ_STATUS(osc_result_format(top, "xml", &text, &len, &err), OSC_EINVAL);
    TAP_OK(text == NULL && len == 0);
    osc_text_free(text);
    osc_result_free(top);
    osc_result_free(NULL);
    osc_trace_close(trace);
    osc_trace_close(NULL);
}

/* Each registered analysis runs on a trace or says in a sentence why not; its options are
 * described. */
static void test_every_analysis(void)
{
    osc_trace *trace = open_data("session");
    uint32_t ran = 0;
    TAP_REQUIRE(trace != NULL);
    for (uint32_t i = 0; osc_analysis_name(i); i++) {
        const char *named[] = {"name=aten::add"}, *name, *help, *const * values;
        bool follow = strcmp(osc_analysis_name(i), "follow") == 0;
        osc_result *result;
        osc_err err = {0};
        TAP_OK(strlen(osc_analysis_summary(i)) > 5);
        osc_status status =
            osc_trace_analyse(trace, osc_analysis_name(i), named, follow, &result, &err);
        TAP_OKF(status == OSC_OK || strlen(err.message) > 10, "%s: %s", osc_analysis_name(i),
                err.message);
        ran += status == OSC_OK && osc_result_columns(result) > 0;
        osc_result_free(result);
        uint32_t k = 0;
        for (; osc_analysis_option(i, k, &name, &help, &values); k++)
            TAP_OK(strlen(name) > 1 && strlen(help) > 5);
        TAP_OK(k >= 2); /* sort and limit */
    }
    TAP_OK(ran >= 5);
    TAP_OK(osc_analysis_summary(1000) == NULL);
    TAP_OK(!osc_analysis_option(1000, 0, NULL, NULL, NULL));
    osc_trace_close(trace);
}

static void count_progress(void *context, uint64_t done, uint64_t all, uint64_t events)
{
    uint64_t *most = context;
    (void)all;
    (void)events;
    *most = done > *most ? done : *most;
}

static void test_opening(void)
{
    uint64_t most = 0;
    osc_trace_options o = {.size = sizeof o,
                           .threads = 2,
                           .device = true,
                           .progress = count_progress,
                           .progress_context = &most};
    osc_trace *trace = NULL;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_trace_open(data("session"), &o, &trace, &err), OSC_OK);
    TAP_OK(trace && osc_trace_rows(trace, "device_work") > 0);
    osc_trace_close(trace);
    o.size = 0;
    TAP_EQ_STATUS(osc_trace_open(data("session"), &o, &trace, &err), OSC_EINVAL);
    TAP_EQ_STATUS(osc_trace_open(data("nothing.json"), NULL, &trace, &err), OSC_ENOTFOUND);
    TAP_OK(trace == NULL && strlen(err.message) > 5);
    TAP_OK(osc_trace_open(data("zip.json"), NULL, &trace, NULL) != OSC_OK);
}

static bool use_all(void *context)
{
    static const char *const options[] = {"by=shape", "limit=3"};
    osc_trace *trace = NULL;
    osc_result *result = NULL;
    char *text = NULL;
    osc_err err = {0};
    bool ok = true;
    (void)context;
    if (osc_trace_open(data("cuda.json"), NULL, &trace, &err) != OSC_OK)
        return trace == NULL;
    if (osc_trace_analyse(trace, "key_averages", options, 2, &result, &err) != OSC_OK)
        ok = result == NULL;
    else if (osc_result_format(result, "json", &text, NULL, &err) != OSC_OK)
        ok = text == NULL;
    osc_text_free(text);
    osc_result_free(result);
    osc_trace_close(trace);
    return ok;
}

static void test_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(use_all, NULL, 3000));
}

int main(void)
{
    TAP_RUN(test_tables_by_name);
    TAP_RUN(test_every_column_of_every_table);
    TAP_RUN(test_wrong_names_are_answered_with_near_ones);
    TAP_RUN(test_small_structs_stay_small);
    TAP_RUN(test_an_analysis_and_its_result);
    TAP_RUN(test_results_as_text);
    TAP_RUN(test_every_analysis);
    TAP_RUN(test_opening);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
