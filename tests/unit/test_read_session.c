/*
 * test_read_session.c - a session directory becomes one store, and `follow` tells a call's life from it.
 *
 * tests/data/scope holds the same session as files, for the command line's tests; they are compared so
 * that files written by this version stay readable.
 */
#include "scope_session.h"

#include "scope/analysis/disasm.h"
#include "scope/analysis/follow.h"
#include "scope/analysis/info.h"
#include "scope/analysis/key_averages.h"
#include "scope/export/waterfall.h"
#include "scope/read/describe.h"
#include "scope/read/open.h"
#include "scope/read/program.h"

static osc_store *open_session(const char *path)
{
    osc_open_options options = {.device = true};
    osc_store *store = NULL;
    osc_err err = {0};
    osc_status status = osc_open(path, &options, &store, &err);
    TAP_OKF(status == OSC_OK, "%s: %s", path, err.message);
    return store;
}

static osc_store *sample_store(void)
{
    char *dir = write_session(tap_tmpdir());
    osc_store *store = dir ? open_session(dir) : NULL;
    osc_free(dir);
    return store;
}

static void test_everything_is_read(void)
{
    osc_store *s = sample_store();
    TAP_REQUIRE(s != NULL);
    TAP_EQ_U64(osc_store_exec(s)->count, 2);
    TAP_EQ_U64(osc_store_program(s)->count, 1);
    TAP_EQ_U64(osc_store_inst(s)->count, 3);
    TAP_EQ_U64(osc_store_semop(s)->count, 4);
    TAP_EQ_U64(osc_store_work(s)->count, 16);
    TAP_EQ_U64(osc_store_part(s)->count, 4);
    TAP_EQ_VIEW(osc_store_get_meta(s, "torch_version"), "2.13.0");
    TAP_EQ_VIEW(osc_store_get_meta(s, "pairs_matched"), "1");
    const osc_exec_cols *e = osc_store_exec(s);
    TAP_EQ_I64(e->start_ns[0], SESSION_T0 + 110 * SESSION_US);
    TAP_EQ_I64(e->body_ns[0], SESSION_T0 + 490 * SESSION_US);
    TAP_EQ_U64(e->sequence_id[1], 72);
    TAP_EQ_VIEW(osc_store_text(s, osc_store_track(s)->name[osc_store_slice(s)->track[e->slice[0]]]),
                "i-test/PID:4711/neuron_hw/NC:0");
    osc_store_free(s);
}

/* Device times are moved by the execution's sync point: the preamble begins where the body does. */
static void test_device_clock(void)
{
    osc_store *s = sample_store();
    TAP_REQUIRE(s != NULL && osc_store_work(s)->count > 0);
    const osc_work_cols *w = osc_store_work(s);
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->kind[i] == OSC_WORK_PREAMBLE)
            TAP_EQ_I64(w->start_ns[i], osc_store_exec(s)->body_ns[w->exec[i]]);
    }
    osc_store_free(s);
}

/* The lanes our exporter and the runtime add are not in PyTorch's table. */
static void test_lanes_do_not_count(void)
{
    osc_store *s = sample_store();
    osc_ka_options options = {.calls = {.python = OSC_PYTHON_NO}};
    osc_table *t = NULL;
    osc_err err = {0};
    TAP_REQUIRE(s != NULL);
    TAP_EQ_STATUS(osc_key_averages(s, &options, &t, &err), OSC_OK);
    TAP_EQ_U64(osc_table_rows(t), 5);
    TAP_EQ_VIEW(osc_table_fact_str(t, "device"), "NEURON");
    TAP_EQ_I64(osc_table_fact_i64(t, "total_device_ns"), 789000);
    osc_table_free(t);
    osc_store_free(s);
}

static osc_table *follow(const osc_store *s, const char *name, uint32_t nth)
{
    osc_table *t = NULL;
    osc_err err = {0};
    osc_status status = osc_follow(s, osc_str_from_cstr(name), nth, &t, &err);
    TAP_OKF(status == OSC_OK, "follow: %s", err.message);
    return t;
}

static const char first_call[] =
    "aten::add  call 1 of 2   model.py:27 norm\n"
    "\n"
    "  lane                                    start     length  waited for\n"
    "  framework/TID:4712                    +1.0 us    40.0 us\n"
    "  neuron_rt/NC:0                        +3.0 us     1.0 us\n"
    "    nrta_tensor_write  4 B\n"
    "  neuron_rt/NC:0                      +101.0 us     9.0 us\n"
    "    dmem_buf_copyin  4 B\n"
    "  framework/Stream:0                    +6.0 us   495.0 us\n"
    "  neuron_rt/NC:0                        +5.0 us     1.0 us\n"
    "    nrta_execute_schedule\n"
    "  neuron_hw/NC:0                      +111.0 us   390.0 us\n"
    "    nc_exec_running  neff HASH (aten::add)\n"
    "      launch                                      380.0 us  fitted\n"
    "             submit 200, switch 180\n"
    "      preamble                        +380.0 us     4.0 us\n"
    "      Sync   dma input0 -> SBUF       +385.0 us     0.3 us  dma start-up\n"
    "             2 transfers, 4.1 KB, 13.7 B/ns\n"
    "      Vector tensor_scalar add        +385.4 us     0.5 us\n"
    "             semaphore 3 <- Sync dma input0 -> SBUF\n"
    "      Sync   dma SBUF -> output0      +387.0 us     0.4 us\n"
    "             semaphore 4 <- Vector tensor_scalar add\n"
    "             1 transfer, 4.1 KB, 10.2 B/ns\n"
    "      postamble                       +387.4 us     2.6 us\n"
    "\n"
    "  next                                 +51.0 us    10.0 us  10.0 us between them\n"
    "\n"
    "  399.0 us on the device: 95.2 % launch, 2.4 % data, 0.13 % arithmetic\n"
    "  device time is simulated; launch parts are fitted, see docs/model.md\n"
    "  --> fewer, larger programs would pay: fuse operators, or torch.compile\n";

/* The whole text, with the program's hash put in. */
static void test_first_call(void)
{
    osc_store *s = sample_store();
    osc_buf got, want;
    TAP_REQUIRE(s != NULL);
    osc_table *t = follow(s, "aten::add", 1);
    TAP_REQUIRE(t != NULL);
    osc_buf_init(&got, SIZE_MAX);
    osc_buf_init(&want, SIZE_MAX);
    osc_export_waterfall(t, 40, false, &got);
    const char *hash = strstr(first_call, "HASH");
    osc_buf_append(&want, first_call, (size_t)(hash - first_call));
    osc_buf_printf(&want, "%llu%s", (unsigned long long)osc_store_program(s)->hash[0], hash + 4);
    TAP_EQ_VIEW(osc_buf_view(&got), osc_buf_c_str(&want));
    osc_buf_free(&got);
    osc_buf_free(&want);
    osc_table_free(t);
    osc_store_free(s);
}

/* Names come from files: none of their bytes may steer the terminal. */
static void test_names_cannot_steer(void)
{
    osc_store *s = sample_store();
    osc_buf out;
    TAP_REQUIRE(s != NULL);
    osc_table *t = follow(s, "aten::add", 1);
    TAP_REQUIRE(t != NULL);
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        osc_table_set_str(t, r, OSC_FOLLOW_NAME,
                          OSC_STR("a\033]0;b\007\r\xc2\x9b"
                                  "2J"));
        osc_table_set_str(t, r, OSC_FOLLOW_DETAIL, OSC_STR("\033[2J"));
        osc_table_set_str(t, r, OSC_FOLLOW_WAITED_FOR, OSC_STR("\x7f\n\033c"));
    }
    osc_table_set_fact_str(t, "source", OSC_STR("\033[31m.py:1 f"));
    osc_buf_init(&out, SIZE_MAX);
    osc_export_waterfall(t, -1, false, &out);
    for (size_t i = 0; i < out.len; i++)
        TAP_REQUIRE(out.data[i] == '\n' || (out.data[i] >= 0x20 && out.data[i] < 0x7f));
    osc_buf_free(&out);
    osc_table_free(t);
    osc_store_free(s);
}

/* The second call waited for the core; no line passes 80 columns. */
static void test_second_call(void)
{
    osc_store *s = sample_store();
    osc_buf out;
    osc_str rest, line;
    bool waited = false;
    TAP_REQUIRE(s != NULL);
    osc_table *t = follow(s, "aten::add", 2);
    TAP_REQUIRE(t != NULL);
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        if (osc_str_eq_cstr(osc_table_cell(t, r, OSC_FOLLOW_KIND).str, "execution"))
            waited =
                osc_str_eq_cstr(osc_table_cell(t, r, OSC_FOLLOW_WAITED_FOR).str, "core: aten::add");
    }
    TAP_OK(waited);
    osc_buf_init(&out, SIZE_MAX);
    osc_export_waterfall(t, 1, false, &out);
    rest = osc_buf_view(&out);
    while (osc_str_next_line(&rest, &line))
        TAP_OKF(osc_utf8_columns(line) <= 80, "%.*s", OSC_STR_FMT(line));
    TAP_OK(osc_str_find(osc_buf_view(&out), OSC_STR("5 more instructions")) != SIZE_MAX);
    osc_buf_free(&out);
    osc_table_free(t);
    osc_store_free(s);
}

/* Device time of a call: what its executions and copies take, as in PyTorch's table. */
static void test_totals(void)
{
    osc_store *s = sample_store();
    TAP_REQUIRE(s != NULL);
    osc_table *t = follow(s, "ProfilerStep*", 1);
    TAP_REQUIRE(t != NULL);
    TAP_EQ_I64(osc_table_fact_i64(t, "total_ns"), 789000);
    TAP_EQ_I64(osc_table_fact_i64(t, "launch_ns"), 760000);
    TAP_EQ_I64(osc_table_fact_i64(t, "arithmetic_ns"), 1000);
    osc_table_free(t);
    osc_store_free(s);
}

static void test_wrong_names(void)
{
    osc_store *s = sample_store();
    osc_table *t = NULL;
    osc_err err = {0};
    TAP_REQUIRE(s != NULL);
    TAP_EQ_STATUS(osc_follow(s, OSC_STR("aten::adx"), 1, &t, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "no operator 'aten::adx'; the nearest is 'aten::add'");
    TAP_EQ_STATUS(osc_follow(s, OSC_STR("aten::add"), 3, &t, &err), OSC_ENOTFOUND);
    TAP_EQ_STR(err.message, "there are only 2 calls of 'aten::add', no call 3");
    TAP_OK(t == NULL);
    osc_store_free(s);
}

static bool has_finding(const osc_table *t, const char *severity, const char *code)
{
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        if (osc_str_eq_cstr(osc_table_cell(t, r, OSC_INFO_SEVERITY).str, severity) &&
            osc_str_eq_cstr(osc_table_cell(t, r, OSC_INFO_CODE).str, code))
            return true;
    }
    return false;
}

static osc_table *info_of(const char *path)
{
    osc_store *store = NULL;
    osc_table *t = NULL;
    osc_err err = {0};
    osc_open_options options = {0};
    osc_status status = osc_describe(path, &options, &store, &err);
    if (status == OSC_OK)
        status = osc_info(store, &t, &err);
    TAP_OKF(status == OSC_OK, "%s: %s", path, err.message);
    osc_store_free(store);
    return t;
}

/* Half of the runtime's trace: what is whole is read, and info says FAIL. */
static void test_truncated_runtime_trace(void)
{
    char *top = osc_path_join(tap_tmpdir(), "cut"), *dir = write_session(top), *data = NULL;
    size_t len = 0;
    osc_err err = {0};
    char *path = osc_path_join(dir, "ntrace.pb");
    TAP_REQUIRE(osc_read_file(path, SIZE_MAX / 4, &data, &len, &err) == OSC_OK);
    session_put(dir, "ntrace.pb", data, len / 2);
    osc_table *t = info_of(top);
    TAP_REQUIRE(t != NULL);
    TAP_OK(has_finding(t, "FAIL", "truncated") || has_finding(t, "warn", "truncated"));
    TAP_OK(has_finding(t, "note", "simulated"));
    osc_table_free(t);
    osc_free(data);
    osc_free(path);
    osc_free(dir);
    osc_free(top);
}

/* Each artifact alone is known by its content. */
static void test_single_artifacts(void)
{
    char *dir = write_session(tap_tmpdir());
    osc_dir_list list = {0};
    osc_err err = {0};
    TAP_REQUIRE(osc_list_dir(dir, &list, &err) == OSC_OK);
    TAP_EQ_U64(list.count, 6);
    for (size_t i = 0; i < list.count; i++) {
        char *path = osc_path_join(dir, list.entries[i].name);
        osc_table *t = info_of(path);
        TAP_OKF(t != NULL && osc_table_rows(t) >= 4, "%s", list.entries[i].name);
        osc_table_free(t);
        osc_free(path);
    }
    osc_dir_list_free(&list);
    osc_free(dir);
}

static void test_disassembly(void)
{
    char *dir = write_session(tap_tmpdir()), name[OSC_FILE_NAME_MAX];
    osc_program *p = session_program();
    TAP_REQUIRE(dir != NULL && p != NULL);
    char *path = osc_path_join(dir, osc_neff_file_name(osc_program_hash(p), 0, name));
    osc_store *s = NULL;
    osc_table *t = NULL;
    osc_err err = {0};
    TAP_EQ_STATUS(osc_open_program(path, &s, &err), OSC_OK);
    TAP_REQUIRE(s != NULL);
    TAP_EQ_STATUS(osc_disasm(s, OSC_ENGINE_VECTOR, &t, &err), OSC_OK);
    TAP_EQ_U64(osc_table_rows(t), 1);
    TAP_EQ_VIEW(osc_table_cell(t, 0, osc_table_find(t, "waits")).str, "3>=1");
    TAP_EQ_VIEW(osc_table_cell(t, 0, osc_table_find(t, "incs")).str, "4+1");
    TAP_EQ_VIEW(osc_table_cell(t, 0, osc_table_find(t, "source_op")).str, "aten::mul");
    osc_table_free(t);
    osc_store_free(s);
    osc_free(path);
    osc_free(dir);
    osc_program_release(p);
}

static bool read_once(void *context)
{
    osc_open_options options = {.device = true};
    osc_store *store = NULL;
    osc_table *t = NULL;
    osc_err err = {0};
    osc_status status = osc_open(context, &options, &store, &err);
    if (status == OSC_OK)
        status = osc_follow(store, OSC_STR("aten::add"), 1, &t, &err);
    osc_table_free(t);
    osc_store_free(store);
    return status == OSC_OK || osc_mem_refused() > 0;
}

static void test_out_of_memory(void)
{
    char *dir = write_session(tap_tmpdir());
    TAP_REQUIRE(dir != NULL);
    TAP_OK(tap_oom_sweep(read_once, dir, 4000));
    osc_free(dir);
}

/* The session kept as files is read like a fresh one. */
static void test_kept_files(void)
{
    char *path = osc_path_join(tap_source_dir(), "tests/data/scope/session");
    osc_store *kept = open_session(path), *fresh = sample_store();
    TAP_REQUIRE(kept != NULL && fresh != NULL);
    TAP_EQ_U64(osc_store_work(kept)->count, osc_store_work(fresh)->count);
    TAP_EQ_U64(osc_store_link(kept)->count, osc_store_link(fresh)->count);
    TAP_EQ_U64(osc_store_program(kept)->hash[0], osc_store_program(fresh)->hash[0]);
    osc_store_free(kept);
    osc_store_free(fresh);
    osc_free(path);
}

int main(void)
{
    TAP_RUN(test_everything_is_read);
    TAP_RUN(test_device_clock);
    TAP_RUN(test_lanes_do_not_count);
    TAP_RUN(test_first_call);
    TAP_RUN(test_names_cannot_steer);
    TAP_RUN(test_second_call);
    TAP_RUN(test_totals);
    TAP_RUN(test_wrong_names);
    TAP_RUN(test_truncated_runtime_trace);
    TAP_RUN(test_single_artifacts);
    TAP_RUN(test_disassembly);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_kept_files);
    return tap_done();
}
