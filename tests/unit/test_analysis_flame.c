/*
 * test_analysis_flame.c - stacks merged into a tree, as folded text, picture, table, and as
 * PyTorch's export_stacks writes them.
 */
#include "scope_support.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/analysis/flame.h"
#include "scope/analysis/torch_stacks.h"
#include "scope/export/flame.h"

#include <stdio.h>

#define LINKED(id) "\"External id\":" #id ",\"correlation\":" #id

/* Two steps with a frame, operators and kernels; one kernel of nobody; two threads. Times in us. */
/* clang-format off */
#define MODEL                                                          \
    EV("user_annotation", "ProfilerStep#3", 1, 1, 0, 50, "") ","       \
    EV("python_function", "a b.py(1): f", 1, 1, 1, 40, "") ","         \
    EV("cpu_op", "aten::mm", 1, 1, 10, 20, "\"External id\":5") ","    \
    EV("cuda_runtime", "cudaLaunchKernel", 1, 1, 15, 4, LINKED(5)) "," \
    EV("user_annotation", "ProfilerStep#4", 1, 1, 100, 50, "") ","     \
    EV("python_function", "a b.py(1): f", 1, 1, 101, 30.5, "") ","     \
    EV("cpu_op", "aten::mm", 1, 2, 10, 7, "\"External id\":6") ","     \
    EV("kernel", "sgemm;x", 0, 7, 30, 100, LINKED(5)) ","              \
    EV("kernel", "lost", 0, 7, 200, 9, LINKED(99))
/* clang-format on */

static osc_flame *flame_of(const char *text, osc_flame_by by, osc_flame_metric metric)
{
    osc_flame_options o = {.by = by, .metric = metric, .threads = 1};
    osc_store *store = store_of(text);
    osc_flame *flame = NULL;
    osc_err err = {0};
    if (store && osc_flame_build(store, &o, &flame, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "no flame: %s", err.message);
    osc_store_free(store);
    return flame;
}

static void check_folded(const char *text, osc_flame_by by, osc_flame_metric metric, bool ns,
                         const char *want)
{
    osc_flame *flame = flame_of(text, by, metric);
    osc_buf out;
    osc_buf_init(&out, SIZE_MAX);
    if (flame) {
        osc_export_folded(flame, ns, &out);
        TAP_EQ_STR(osc_buf_c_str(&out), want);
    }
    osc_buf_free(&out);
    osc_flame_free(flame);
}

static void test_stacks_of_frames_and_operators(void)
{
    check_folded(TRACE(MODEL), OSC_FLAME_PYTHON, OSC_FLAME_SELF_CPU, false,
                 "ProfilerStep* 29\n"
                 "ProfilerStep*;a_b.py(1):_f 51\n" /* 29.5 and 50.5: the halves meet here */
                 "ProfilerStep*;a_b.py(1):_f;aten::mm 16\n"
                 "ProfilerStep*;a_b.py(1):_f;aten::mm;cudaLaunchKernel 4\n"
                 "aten::mm 7\n");
    check_folded(TRACE(MODEL), OSC_FLAME_OP, OSC_FLAME_SELF_CPU, true,
                 "ProfilerStep* 80000\n"
                 "ProfilerStep*;aten::mm 16000\n"
                 "ProfilerStep*;aten::mm;cudaLaunchKernel 4000\n"
                 "aten::mm 7000\n");
    check_folded(TRACE(MODEL), OSC_FLAME_OP, OSC_FLAME_COUNT, false,
                 "ProfilerStep* 2\n"
                 "ProfilerStep*;aten::mm 1\n"
                 "ProfilerStep*;aten::mm;cudaLaunchKernel 1\n"
                 "aten::mm 1\n");
}

static void test_device_work_hangs_below_its_operator(void)
{
    check_folded(TRACE(MODEL), OSC_FLAME_PYTHON, OSC_FLAME_SELF_DEVICE, false,
                 "ProfilerStep*;a_b.py(1):_f;aten::mm;sgemm_x 100\n"
                 "[no_operator];lost 9\n");
    osc_flame *flame = flame_of(TRACE(MODEL), OSC_FLAME_OP, OSC_FLAME_SELF_DEVICE);
    TAP_REQUIRE(flame != NULL);
    TAP_EQ_I64(osc_flame_facts_of(flame)->total, 109000);
    TAP_EQ_U64(osc_flame_facts_of(flame)->unlinked, 1);
    osc_flame_free(flame);
}

static void test_modules_take_in_other_frames(void)
{
    check_folded(TRACE(EV("python_function", "main.py(1): main", 1, 1, 0, 100, "") "," EV(
                     "python_function", "nn.Module: Net_0", 1, 1, 10, 80,
                     "") "," EV("python_function", "net.py(3): forward", 1, 1, 20, 60,
                                "") "," EV("cpu_op", "aten::relu", 1, 1, 30, 10, "")),
                 OSC_FLAME_MODULE, OSC_FLAME_SELF_CPU, false, "Net_0 70\nNet_0;aten::relu 10\n");
}

/* Names that differ only in what is replaced are one stack; an empty name has one too. */
static void test_names_are_cleaned_before_they_are_merged(void)
{
    check_folded(TRACE(EV("cpu_op", "a b", 1, 1, 0, 10, "") "," EV(
                     "cpu_op", "a;b", 1, 1, 20, 5, "") "," EV("cpu_op", "", 1, 1, 40, 3, "")),
                 OSC_FLAME_OP, OSC_FLAME_SELF_CPU, false, "[no_name] 3\na_b 15\n");
}

static void test_names_do_not_steer_a_terminal(void)
{
    osc_buf out;
    osc_buf_init(&out, 64);
    osc_flame_clean(OSC_STR("\033[31mred\007\x7f x;y"), &out);
    TAP_EQ_VIEW(osc_buf_view(&out), "_[31mred___x_y");
    osc_buf_free(&out);
}

/* A call that overlaps its sibling: PyTorch's self time of the parent is negative. */
static void test_negative_times_are_said_and_left_out(void)
{
    const char *text = TRACE(EV("cpu_op", "p", 1, 1, 0, 10, "") "," EV(
        "cpu_op", "a", 1, 1, 0, 9, "") "," EV("cpu_op", "b", 1, 1, 1, 9, ""));
    osc_flame *flame = flame_of(text, OSC_FLAME_OP, OSC_FLAME_SELF_CPU);
    TAP_REQUIRE(flame != NULL);
    TAP_EQ_I64(osc_flame_facts_of(flame)->negative, -8000);
    TAP_EQ_I64(osc_flame_facts_of(flame)->total, 18000);
    osc_flame_free(flame);
}

/* The sum of the lines is the total, whatever the unit; rounding carries over. */
static void test_lines_add_up(void)
{
    osc_store *store = osc_store_new();
    osc_err err = {0};
    osc_flame_options o = {.by = OSC_FLAME_OP};
    osc_flame *flame = NULL;
    osc_buf out;
    int64_t sum = 0, want = 0;
    TAP_REQUIRE(store != NULL);
    osc_track_row track = {.lane_kind = OSC_LANE_THREAD};
    (void)osc_store_add_track(store, &track);
    for (uint32_t i = 0; i < 500; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "op%u", i % 37);
        osc_slice_row row = {.start_ns = i * 5000,
                             .dur_ns = (i * 7919) % 4999,
                             .name = osc_store_intern(store, osc_str_from_cstr(name)),
                             .order = i,
                             .kind = OSC_KIND_CPU_OP};
        (void)osc_store_add_slice(store, &row);
        want += row.dur_ns;
    }
    TAP_REQUIRE(osc_store_seal(store, &err) == OSC_OK);
    TAP_REQUIRE(osc_flame_build(store, &o, &flame, &err) == OSC_OK);
    TAP_EQ_I64(osc_flame_facts_of(flame)->total, want);
    osc_buf_init(&out, SIZE_MAX);
    osc_export_folded(flame, false, &out);
    osc_str rest = osc_buf_view(&out), line;
    while (osc_str_next_line(&rest, &line)) {
        int64_t value = 0;
        size_t space = osc_str_rfind_char(line, ' ');
        TAP_OK(osc_parse_i64(osc_str_sub(line, space + 1, SIZE_MAX), &value) && value > 0);
        sum += value;
    }
    TAP_EQ_I64(sum, want / 1000);
    osc_buf_free(&out);
    osc_flame_free(flame);
    osc_store_free(store);
}

static void test_one_thread(void)
{
    osc_flame_options o = {.by = OSC_FLAME_OP, .one_thread = true, .thread = 2};
    osc_store *store = store_of(TRACE(MODEL));
    osc_flame *flame = NULL;
    osc_err err = {0};
    TAP_REQUIRE(store != NULL);
    TAP_REQUIRE(osc_flame_build(store, &o, &flame, &err) == OSC_OK);
    TAP_EQ_I64(osc_flame_facts_of(flame)->total, 7000);
    TAP_OK(osc_flame_facts_of(flame)->thread_exists);
    osc_flame_free(flame);
    o.thread = 12345;
    TAP_REQUIRE(osc_flame_build(store, &o, &flame, &err) == OSC_OK);
    TAP_EQ_U64(osc_flame_facts_of(flame)->nodes, 0);
    TAP_OK(!osc_flame_facts_of(flame)->thread_exists);
    osc_flame_free(flame);
    osc_store_free(store);
}

static void test_several_stores_below_nodes_of_their_own(void)
{
    osc_flame_options o = {.by = OSC_FLAME_OP};
    osc_flame *flame = osc_flame_new(&o);
    osc_err err = {0};
    osc_buf out;
    TAP_REQUIRE(flame != NULL);
    for (int rank = 0; rank < 2; rank++) {
        osc_store *store = store_of(rank == 0 ? TRACE(EV("cpu_op", "a", 1, 1, 0, 10, ""))
                                              : TRACE(EV("cpu_op", "b", 1, 1, 0, 4, "") "," EV(
                                                    "cpu_op", "a", 1, 1, 1, 3, "")));
        TAP_REQUIRE(store != NULL);
        TAP_EQ_STATUS(
            osc_flame_add(flame, store, rank ? OSC_STR("rank 1") : OSC_STR("rank 0"), &err),
            OSC_OK);
        osc_store_free(store);
    }
    TAP_EQ_STATUS(osc_flame_finish(flame, &err), OSC_OK);
    osc_buf_init(&out, SIZE_MAX);
    osc_export_folded(flame, false, &out);
    TAP_EQ_STR(osc_buf_c_str(&out), "rank_0;a 10\nrank_1;b 1\nrank_1;b;a 3\n");
    osc_buf_free(&out);
    osc_flame_free(flame);
}

static void test_the_table_has_the_same_stacks(void)
{
    osc_flame *flame = flame_of(TRACE(MODEL), OSC_FLAME_PYTHON, OSC_FLAME_SELF_CPU);
    osc_table *table = NULL;
    osc_err err = {0};
    int64_t sum = 0;
    TAP_REQUIRE(flame && osc_flame_table(flame, &table, &err) == OSC_OK);
    TAP_EQ_U64(osc_table_rows(table), 5);
    TAP_EQ_VIEW(osc_table_cell(table, 1, 0).str, "ProfilerStep*;a_b.py(1):_f");
    TAP_EQ_I64(osc_table_cell(table, 1, 1).i64, 50500);
    for (uint32_t r = 0; r < osc_table_rows(table); r++)
        sum += osc_table_cell(table, r, 1).i64;
    TAP_EQ_I64(sum, osc_flame_facts_of(flame)->total);
    osc_table_free(table);
    osc_flame_free(flame);
}

static void test_the_picture(void)
{
    osc_flame *flame = flame_of(TRACE(EV("cpu_op", "a<b>&c", 1, 1, 0, 100,
                                         "") "," EV("cpu_op", "tiny", 1, 1, 10, 0.001, "")),
                                OSC_FLAME_OP, OSC_FLAME_SELF_CPU);
    osc_buf out;
    TAP_REQUIRE(flame != NULL);
    osc_buf_init(&out, SIZE_MAX);
    osc_export_flame_svg(flame, OSC_STR("x<y\x01"), &out);
    osc_str svg = osc_buf_view(&out);
    TAP_OK(osc_str_starts(svg, OSC_STR("<svg ")) && osc_str_ends(svg, OSC_STR("</svg>\n")));
    TAP_OK(osc_str_find(svg, OSC_STR("<title>a&lt;b&gt;&amp;c\n100.0 us, 100.00 %")) != SIZE_MAX);
    TAP_OK(osc_str_find(svg, OSC_STR("x&lt;y ")) != SIZE_MAX);
    TAP_OK(osc_str_find(svg, OSC_STR("1 boxes are too narrow")) != SIZE_MAX);
    TAP_OK(osc_str_find(svg, OSC_STR("tiny")) == SIZE_MAX);
    osc_buf_free(&out);
    osc_flame_free(flame);
}

/* The picture has names as the input has them, and a box for each thread; the sum stays. */
static void test_picture_of_threads(void)
{
    osc_flame_options o = {.by = OSC_FLAME_PYTHON, .by_thread = true};
    osc_store *store = store_of(TRACE(MODEL));
    osc_flame *flame = NULL;
    osc_err err = {0};
    osc_buf out;
    TAP_REQUIRE(store != NULL);
    TAP_REQUIRE(osc_flame_build(store, &o, &flame, &err) == OSC_OK);
    TAP_EQ_I64(osc_flame_facts_of(flame)->total, 107000);
    TAP_OK(!osc_flame_facts_of(flame)->threads_added);
    osc_buf_init(&out, SIZE_MAX);
    osc_export_flame_svg(flame, OSC_STR("x"), &out);
    osc_str svg = osc_buf_view(&out);
    TAP_OK(osc_str_find(svg, OSC_STR("<title>a b.py(1): f\n")) != SIZE_MAX);
    TAP_OK(osc_str_find(svg, OSC_STR("<title>framework/TID:1\n100.0 us, 93.46 %")) != SIZE_MAX);
    TAP_OK(osc_str_find(svg, OSC_STR("<title>framework/TID:2\n7.0 us, 6.54 %")) != SIZE_MAX);
    osc_buf_clear(&out);
    osc_export_folded(flame, false, &out);
    osc_str folded = osc_buf_view(&out);
    TAP_OK(osc_str_find(folded, OSC_STR("framework/TID:2;aten::mm 7\n")) != SIZE_MAX);
    osc_flame_free(flame);
    o.one_thread = true;
    o.thread = 2; /* one alone needs no name */
    TAP_REQUIRE(osc_flame_build(store, &o, &flame, &err) == OSC_OK);
    TAP_EQ_VIEW(osc_flame_at(flame, 0).name, "aten::mm");
    osc_flame_free(flame);
    o = (osc_flame_options){.by = OSC_FLAME_PYTHON};
    TAP_REQUIRE(osc_flame_build(store, &o, &flame, &err) == OSC_OK);
    TAP_OK(osc_flame_facts_of(flame)->threads_added);
    TAP_EQ_I64(osc_flame_facts_of(flame)->total, 107000);
    osc_flame_free(flame);
    osc_buf_free(&out);
    osc_store_free(store);
}

/* ---- as PyTorch ---- */

#define SEQ(n, thread) "\"Sequence number\":" #n ",\"Fwd thread id\":" #thread

static void test_like_export_stacks(void)
{
    osc_store *store =
        store_of(TRACE(EV("python_function", "m.py(1): main", 1, 1, 0, 300, "") "," EV(
            "python_function", "m.py(2): loss", 1, 1, 10, 50,
            "") "," EV("cpu_op", "aten::sum", 1, 1, 20, 30,
                       SEQ(4, 0)) "," EV("cpu_op", "aten::tiny", 1, 1, 25, 0.9,
                                         "") "," EV("cpu_op",
                                                    "autograd::engine::evaluate_function: "
                                                    "SumBackward0",
                                                    1, 2, 100, 60,
                                                    SEQ(4, 1)) "," EV("cpu_op", "SumBackward0", 1,
                                                                      2, 110, 40,
                                                                      SEQ(4,
                                                                          1)) "," EV("cpu_op",
                                                                                     "aten::expand",
                                                                                     1, 2, 120, 5,
                                                                                     "")));
    osc_torch_stacks stacks;
    osc_err err = {0};
    osc_buf out;
    TAP_REQUIRE(store != NULL);
    TAP_REQUIRE(osc_torch_stacks_build(store, OSC_PYTHON_YES, false, 1, &stacks, &err) == OSC_OK);
    osc_buf_init(&out, SIZE_MAX);
    osc_export_torch_stacks(&stacks, &out);
    TAP_EQ_STR(osc_buf_c_str(&out), "m.py(1):_main 20\n" /* the frame loss itself */
                                    "m.py(1):_main;m.py(2):_loss 29\n"
                                    "m.py(1):_main;m.py(2):_loss 35\n" /* SumBackward0 */
                                    "m.py(1):_main;m.py(2):_loss 5\n");
    osc_buf_free(&out);
    osc_torch_stacks_free(&stacks);
    osc_store_free(store);
    TAP_OK(osc_torch_stacks_on_device("self_cuda_time_total"));
    TAP_OK(!osc_torch_stacks_on_device("self_cpu_time_total"));
}

/* ---- failures ---- */

static bool build_all(void *context)
{
    osc_flame_options o = {.metric = OSC_FLAME_SELF_DEVICE, .threads = 1};
    osc_flame *flame = NULL;
    osc_table *table = NULL;
    osc_torch_stacks stacks;
    osc_err err = {0};
    osc_buf out;
    osc_status status = osc_flame_build(context, &o, &flame, &err);
    bool ok = (status == OSC_OK) == (flame != NULL);
    osc_buf_init(&out, SIZE_MAX);
    if (flame) {
        osc_export_folded(flame, true, &out);
        osc_export_flame_svg(flame, OSC_STR("x"), &out);
        status = osc_flame_table(flame, &table, &err);
        ok = ok && (status == OSC_OK) == (table != NULL);
    }
    osc_buf_free(&out);
    osc_table_free(table);
    osc_flame_free(flame);
    status = osc_torch_stacks_build(context, OSC_PYTHON_YES, false, 1, &stacks, &err);
    ok = ok && (status == OSC_OK || stacks.lines == NULL);
    osc_torch_stacks_free(&stacks);
    return ok;
}

static void test_out_of_memory(void)
{
    osc_store *store = store_of(TRACE(MODEL));
    TAP_REQUIRE(store != NULL);
    TAP_OK(tap_oom_sweep(build_all, store, 2000));
    osc_store_free(store);
}

static void test_an_empty_trace(void)
{
    check_folded(TRACE(""), OSC_FLAME_PYTHON, OSC_FLAME_SELF_CPU, false, "");
    check_folded(TRACE(""), OSC_FLAME_OP, OSC_FLAME_SELF_DEVICE, false, "");
}

int main(void)
{
    TAP_RUN(test_stacks_of_frames_and_operators);
    TAP_RUN(test_device_work_hangs_below_its_operator);
    TAP_RUN(test_modules_take_in_other_frames);
    TAP_RUN(test_names_are_cleaned_before_they_are_merged);
    TAP_RUN(test_names_do_not_steer_a_terminal);
    TAP_RUN(test_negative_times_are_said_and_left_out);
    TAP_RUN(test_lines_add_up);
    TAP_RUN(test_one_thread);
    TAP_RUN(test_several_stores_below_nodes_of_their_own);
    TAP_RUN(test_the_table_has_the_same_stacks);
    TAP_RUN(test_the_picture);
    TAP_RUN(test_picture_of_threads);
    TAP_RUN(test_like_export_stacks);
    TAP_RUN(test_an_empty_trace);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
