/*
 * test_analysis_engines.c - engines and summary of device profiles, against numbers computed by
 * hand and, where real profiles are at hand, against what the vendor's tool stated in them.
 */
#include "tap.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "scope/analysis/engines.h"
#include "scope/analysis/summary.h"
#include "scope/read/devprofile.h"
#include "scope/read/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define META                                                                                \
    "\"metadata\":[{\"first_hw_timestamp\":0,\"last_hw_timestamp\":1000,\"pe_num_rows\":4," \
    "\"pe_num_cols\":2,\"pe_clock_freq\":1,\"pe_clock_others\":0.5,\"hbm_ddr_bandwidth\":1e9}]"

#define I(engine, opcode, start, dur, more)                                        \
    "{\"subgroup\":\"" engine "\",\"opcode\":\"" opcode "\",\"timestamp\":" #start \
    ",\"duration\":" #dur more "}"
#define D(type, queue, engine, start, dur, size, all)                                   \
    "{\"queue_type\":\"" type "\",\"dma_queue\":\"" queue "\",\"dma_engine\":\"" engine \
    "\",\"timestamp\":" #start ",\"duration\":" #dur ",\"transfer_size\":" #size        \
    ",\"aggregated\":\"" all "\"}"

/* Rows in no order, as files have them. */
/* clang-format off */
static const char small[] =
    "{\"dma\":[" D("software_dynamic", "0", "1", 400, 50, 8, "no") ","
                 D("data", "1", "0", 100, 20, 32, "no") ","
                 D("instruction", "2", "0", 110, 20, 16, "no") ","
                 D("odd", "4", "0", 600, 5, 1, "no") ","
                 D("hardware_dynamic", "3", "0", 600, 10, 4, "no") ","
                 D("data", "1", "0", 90, 110, 48, "yes") "],"
    "\"instruction\":["
    I("Scalar", "ACTIVATE", 300, 40, ",\"operands\":\"S[5] (Tensor)>=1 S[4] (Scalar)++@complete EXP\","
      "\"evt_wait_time\":60,\"psum_read_bytes\":8,\"sbuf_write_bytes\":4,\"psum_read_sbuf_write_bytes\":4,"
      "\"is_psum_read_sbuf_write\":true,\"instruction_type\":\"REGULAR\"") ","
    I("Tensor", "MATMUL", 140, 30, ",\"instruction_type\":\"TRANSPOSE\",\"elements\":16") ","
    I("tensor", "MATMUL", 100, 50, ",\"instruction_type\":\"REGULAR\",\"elements\":80,"
      "\"sbuf_read_bytes\":10,\"psum_write_bytes\":20") ","
    I("Tensor", "EVENT_SEMAPHORE", 200, 100, ",\"operands\":\"setter=0 $S[2]==1\"") ","
    I("Sync", "WRITE", 500, 5, ",\"hbm_read_bytes\":64,\"weight_queue_bytes\":64") ","
    I("Scalar", "ACTIVATE_QUANTIZE", 400, 10, "") "],"
    "\"ham\":[{\"timestamp\":1,\"duration\":100,\"k\":1,\"n\":2,\"type\":0},"
             "{\"timestamp\":2,\"duration\":50,\"k\":1,\"n\":1,\"type\":99},"
             "{\"timestamp\":3,\"duration\":20,\"k\":3,\"n\":4,\"type\":\"periodic\"}],"
    "\"neff_node\":[{\"type\":\"IN\",\"size\":\"10\"},{\"type\":\"WEIGHT\",\"size\":\"20\"},"
                   "{\"type\":\"OUT\",\"size\":\"40\"},{\"type\":\"\",\"size\":\"\"}],"
    "\"semaphore_update\":[{\"timestamp\":5,\"id\":\"2\",\"value\":1}],"
    META "}";
/* clang-format on */

static osc_store *store_of(const char *text)
{
    osc_store *store = osc_store_new();
    osc_err err = {0};
    if (!store || osc_devprofile_to_store(store, text, strlen(text), "p.json", &err) != OSC_OK ||
        osc_store_seal(store, &err) != OSC_OK) {
        tap_check(false, __FILE__, __LINE__, "cannot read: %s", err.message);
        osc_store_free(store);
        return NULL;
    }
    return store;
}

static osc_table *summary_of(const char *text, osc_table **missing)
{
    osc_store *store = store_of(text);
    osc_engine_options all = {0};
    osc_table *t = NULL;
    osc_err err = {0};
    if (store && osc_summary(store, &all, &t, missing, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "no summary: %s", err.message);
    osc_store_free(store);
    return t;
}

static uint32_t field_row(const osc_table *t, const char *field)
{
    for (uint32_t r = 0; t && r < osc_table_rows(t); r++) {
        if (osc_str_eq_cstr(osc_table_cell(t, r, OSC_SU_FIELD).str, field))
            return r;
    }
    return UINT32_MAX;
}

static void check_field(const osc_table *t, const char *field, double want)
{
    uint32_t row = field_row(t, field);
    if (!tap_check(row != UINT32_MAX, __FILE__, __LINE__, "no field %s", field))
        return;
    double got = osc_table_cell(t, row, OSC_SU_VALUE).f64;
    double tolerance = 1e-12 * (want != 0 ? want : 1);
    tap_check(got >= want - tolerance && got <= want + tolerance, __FILE__, __LINE__,
              "%s is %.17g, not %.17g", field, got, want);
}

struct want {
    const char *field;
    double value;
};

static void check_fields(const char *text, const struct want *want, size_t n)
{
    osc_table *t = summary_of(text, NULL);
    for (size_t i = 0; i < n; i++)
        check_field(t, want[i].field, want[i].value);
    osc_table_free(t);
}

#define CHECK_FIELDS(text, want) check_fields(text, want, sizeof want / sizeof *want)

/* ---- formulas ---- */

static void test_times(void)
{
    static const struct want want[] = {
        {"total_time", 1e-6},
        {"neuroncore_cycle_count", 500},
        {"total_active_time", 175e-9}, /* 100-170 300-340 400-450 500-505 600-610 */
        {"total_active_time_percent", 0.175},
        {"event_count", 55},
        {"trace_count", 6 + 6 + 55},
        {"tensor_engine_instruction_count", 3},
        {"tensor_engine_instruction_time", 80e-9},
        {"tensor_engine_active_time", 70e-9},
        {"tensor_engine_active_time_percent", 0.07},
        {"scalar_engine_instruction_count", 2},
        {"scalar_engine_active_time", 50e-9},
        {"vector_engine_instruction_count", 0},
        {"vector_engine_active_time", 0},
        {"sync_engine_instruction_time", 5e-9},
        {"matmul_instruction_count", 2},
        {"activate_instruction_count", 2},
        {"activate_instruction_time", 50e-9},
    };
    CHECK_FIELDS(small, want);
}

/* peak: 2 x 4 x 2 x 1 GHz = 16 flop/ns; memory 1 byte/ns */
static void test_arithmetic(void)
{
    static const struct want want[] = {
        {"hardware_flops", 192},
        {"transpose_flops", 32},
        {"model_flops", 160},
        {"peak_flops_bandwidth_ratio", 16},
        {"mm_arithmetic_intensity", 2.5},
        {"mfu_estimated_percent", 0.01},
        {"mfu_hlo_estimated_percent", 0.01},
        {"mfu_inst_estimated_percent", 0.01},
        {"hfu_estimated_percent", 0.012},
        {"mfu_max_achievable_estimated_percent", 0.15625},
        {"mfu_hlo_max_achievable_estimated_percent", 0.15625},
        {"mfu_inst_max_achievable_estimated_percent", 0.15625},
    };
    CHECK_FIELDS(small, want);
}

static void test_dma(void)
{
    static const struct want want[] = {
        {"dma_active_time", 90e-9},
        {"dma_active_time_percent", 0.09},
        {"dma_active_cycles", 45},
        {"dma_packet_time", 105e-9},
        {"dma_transfer_time", 110e-9},
        {"dma_transfer_count", 1},
        {"dma_transfer_total_bytes", 48},
        {"dma_transfer_average_bytes", 48},
        {"dma_queue_count", 5},
        {"static_dma_active_time", 30e-9},
        {"static_dma_packet_count", 2},
        {"static_dma_size", 48},
        {"static_dma_active_time_percent", 30.0 / 90},
        {"static_dma_packet_percent", 0.4},
        {"static_dma_size_percent", 48.0 / 61},
        {"software_dynamic_dma_active_time", 50e-9},
        {"software_dynamic_dma_packet_count", 1},
        {"software_dynamic_dma_size", 8},
        {"hardware_dynamic_dma_active_time", 10e-9},
        {"hardware_dynamic_dma_packet_count", 1},
        {"hardware_dynamic_dma_size", 4},
        {"hardware_dynamic_dma_active_time_percent", 10.0 / 90},
        {"dynamic_dma_packet_percent", 0.4},
        {"dynamic_dma_size_percent", 12.0 / 61},
        {"dynamic_dma_active_time_percent", 60.0 / 90},
    };
    CHECK_FIELDS(small, want);
}

static void test_memory(void)
{
    static const struct want want[] = {
        {"hbm_read_bytes", 64},
        {"hbm_write_bytes", 0},
        {"sbuf_read_bytes", 10},
        {"sbuf_write_bytes", 4},
        {"psum_read_bytes", 8},
        {"psum_write_bytes", 20},
        {"psum_read_sbuf_write_bytes", 4},
        {"psum_read_sbuf_write_count", 1},
        {"weight_queue_bytes", 64},
        {"spill_save_bytes", 0},
        {"weight_size_bytes", 20},
        {"inputs_and_weights_size_bytes", 30},
        {"inputs_outputs_weights_size_bytes", 70},
        {"mbu_estimated_percent", 0.064},
        {"mbu_min_read_util_percent", 0.03},
        {"cc_op_time", 0},
    };
    CHECK_FIELDS(small, want);
}

static void test_throttling(void)
{
    static const struct want want[] = {
        {"throttle_active_nc0_time_ns", 120},
        {"throttle_avg_util_limit_nc0_percent", 0.115},
        {"throttle_activity_0_active_time_nc0_percent", 0.1},
        {"throttle_activity_0_avg_util_limit_nc0_percent", 0.5},
        {"throttle_unknown_active_time_nc0_percent", 0.05},
        {"throttle_unknown_avg_util_limit_nc0_percent", 1},
        {"throttle_periodic_active_time_nc0_percent", 0.02},
        {"throttle_periodic_avg_util_limit_nc0_percent", 0.75},
    };
    CHECK_FIELDS(small, want);
}

/* A sum of n cut lengths may be n ns short; two intervals that overlap 1 short and 2 long. */
static void test_bounds(void)
{
    osc_table *t = summary_of(small, NULL);
    uint32_t time = field_row(t, "tensor_engine_instruction_time");
    uint32_t active = field_row(t, "tensor_engine_active_time");
    TAP_REQUIRE(time != UINT32_MAX && active != UINT32_MAX);
    TAP_NEAR(osc_table_cell(t, time, OSC_SU_LOW).f64, 80e-9, 1e-20);
    TAP_NEAR(osc_table_cell(t, time, OSC_SU_HIGH).f64, 82e-9, 1e-20);
    TAP_NEAR(osc_table_cell(t, active, OSC_SU_LOW).f64, 69e-9, 1e-20);
    TAP_NEAR(osc_table_cell(t, active, OSC_SU_HIGH).f64, 72e-9, 1e-20);
    osc_table_free(t);
}

#define NOTIFIED(start, last)                                  \
    "{\"instruction\":[" I("Sync", "NOTIFY", 30, 8, "") "," I( \
        "Sync", "NOTIFY", start, 8,                            \
        "") "],\"metadata\":[{\"first_hw_timestamp\":0,\"last_hw_timestamp\":" #last "}]}"

static void check_total(const char *text, double seconds, const char *basis)
{
    osc_table *t = summary_of(text, NULL);
    uint32_t row = field_row(t, "total_time");
    TAP_REQUIRE(row != UINT32_MAX);
    check_field(t, "total_time", seconds);
    TAP_EQ_VIEW(osc_table_cell(t, row, OSC_SU_BASIS).str, basis);
    osc_table_free(t);
}

/* The fitted end holds only where the trace ends as the runs did that it was fitted on. */
static void test_total_time(void)
{
    check_total(NOTIFIED(70000, 70354), 70183.35e-9, "fitted");
    check_total(NOTIFIED(70000, 90000), 90000e-9, "rows");
    check_total("{\"instruction\":[" I("Sync", "DRAIN", 30, 8, "") "]}", 38e-9, "rows");
}

/* ---- what is missing ---- */

static bool is_missing(const osc_table *missing, const char *field)
{
    for (uint32_t r = 0; missing && r < osc_table_rows(missing); r++) {
        if (osc_str_eq_cstr(osc_table_cell(missing, r, 0).str, field))
            return osc_table_cell(missing, r, 1).str.len > 0;
    }
    return false;
}

static void test_missing_tables(void)
{
    static const char *const absent[] = {
        "mfu_estimated_percent",
        "peak_flops_bandwidth_ratio",
        "neuroncore_cycle_count",
        "mbu_estimated_percent",
        "event_count",
        "trace_count",
        "weight_size_bytes",
        "instance_type",
    };
    osc_table *missing = NULL;
    osc_table *t = summary_of("{\"instruction\":[" I("Vector", "COPY", 10, 40, "") "]}", &missing);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        TAP_OKF(field_row(t, absent[i]) == UINT32_MAX, "%s is there", absent[i]);
        TAP_OKF(is_missing(missing, absent[i]), "%s has no reason", absent[i]);
    }
    check_field(t, "vector_engine_active_time", 40e-9);
    check_field(t, "static_dma_packet_percent", 0);
    check_field(t, "throttle_active_nc0_time_ns", 0);
    /* a class without packets has shares and nothing else, and that is no gap */
    TAP_OK(field_row(t, "hardware_dynamic_dma_size") == UINT32_MAX);
    TAP_OK(!is_missing(missing, "hardware_dynamic_dma_size"));
    osc_table_free(t);
    osc_table_free(missing);
}

static void test_collectives_are_not_zero(void)
{
    osc_table *missing = NULL;
    osc_table *t = summary_of("{\"cc_ops\":[{\"operation\":\"AllGather\"}],\"instruction\":[" I(
                                  "Vector", "COPY", 10, 40, "") "]}",
                              &missing);
    TAP_OK(field_row(t, "cc_op_time") == UINT32_MAX);
    TAP_OK(is_missing(missing, "cc_op_time"));
    osc_table_free(t);
    osc_table_free(missing);
}

static void test_stated(void)
{
    osc_table *missing = NULL;
    osc_table *t = summary_of(
        "{\"instruction\":[" I(
            "Vector", "COPY", 10, 40,
            "") "],\"summary\":[{"
                "\"vector_engine_instruction_count\":1,\"vector_engine_active_time\":4.07e-8,"
                "\"vector_engine_instruction_time\":4.2e-8,\"hbm_read_bytes\":5,\"driver_version\":"
                "\"2.1\","
                "\"total_exec_time\":3}]}",
        &missing);
    TAP_REQUIRE(t);
    static const char *const fields[][2] = {{"vector_engine_instruction_count", "exact"},
                                            {"vector_engine_active_time", "within"},
                                            {"vector_engine_instruction_time", "differs"},
                                            {"hbm_read_bytes", "differs"}};
    for (size_t i = 0; i < 4; i++)
        TAP_EQ_VIEW(osc_table_cell(t, field_row(t, fields[i][0]), OSC_SU_VERDICT).str,
                    fields[i][1]);
    TAP_EQ_I64(osc_table_fact_i64(t, "differ"), 2);
    TAP_OK(is_missing(missing, "total_exec_time") && is_missing(missing, "driver_version"));
    osc_table_free(t);
    osc_table_free(missing);
}

/* ---- engines ---- */

static osc_table *engines_of(const char *text)
{
    osc_store *store = store_of(text);
    osc_engine_options all = {0};
    osc_table *t = NULL;
    osc_err err = {0};
    if (store && osc_engines(store, &all, &t, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "no engines: %s", err.message);
    osc_store_free(store);
    return t;
}

static void check_engine(const osc_table *t, uint32_t row, const char *name, int64_t active,
                         int64_t waiting, int64_t idle)
{
    TAP_REQUIRE(t && row < osc_table_rows(t));
    TAP_EQ_VIEW(osc_table_cell(t, row, OSC_EN_ENGINE).str, name);
    TAP_EQ_I64(osc_table_cell(t, row, OSC_EN_ACTIVE).i64, active);
    TAP_EQ_I64(osc_table_cell(t, row, OSC_EN_WAITING).i64, waiting);
    TAP_EQ_I64(osc_table_cell(t, row, OSC_EN_IDLE).i64, idle);
}

static void test_breakdown(void)
{
    osc_table *t = engines_of(small);
    check_engine(t, 0, "tensor", 70, 100, 830); /* as the file spells it first in time */
    check_engine(t, 1, "Scalar", 50, 60, 890);
    check_engine(t, 2, "Sync", 5, 0, 995);
    TAP_EQ_VIEW(osc_table_cell(t, 1, OSC_EN_WAITS_FOR).str, "Tensor 100.0 %");
    osc_table_free(t);
}

/* 46,811 ns are one round of the counter at 1.4 GHz. */
#define WAITER(start, wait)                                     \
    "{\"instruction\":[" I("Vector", "COPY", 0, 100, "") "," I( \
        "Vector", "COPY", start, 10,                            \
        ",\"operands\":\"S[9] (qX)>=1\",\"evt_wait_time\":" #wait) "]}"

static int64_t waiting_of(const char *text)
{
    osc_table *t = engines_of(text);
    int64_t ns = t ? osc_table_cell(t, 0, OSC_EN_WAITING).i64 : -1;
    osc_table_free(t);
    return ns;
}

static void test_wait_counter_wraps(void)
{
    TAP_EQ_I64(waiting_of(WAITER(1100, 1000)), 1000);    /* the whole gap */
    TAP_EQ_I64(waiting_of(WAITER(1100, 400)), 400);      /* ready late, then waited */
    TAP_EQ_I64(waiting_of(WAITER(1100, 9000)), 1000);    /* more than the gap: the gap */
    TAP_EQ_I64(waiting_of(WAITER(141034, 500)), 140934); /* three rounds and 500 */
    TAP_EQ_I64(waiting_of(WAITER(100, 77)), 0);
}

static void test_several_cores(void)
{
    const char *text = "{\"instruction\":[" I("Vector", "COPY", 0, 100, ",\"pcore_idx\":1") "," I(
        "Vector", "COPY", 50, 100,
        ",\"pcore_idx\":0") "," I("Zeta", "SPIN", 10, 20,
                                  ",\"pcore_idx\":0") "],\"ham\":[{\"timestamp\":1,\"duration\":10,"
                                                      "\"k\":1,\"n\":2,\"type\":0,\"pcore_idx\":1}]"
                                                      ","
                                                      "\"metadata\":[{\"first_hw_timestamp\":0,"
                                                      "\"last_hw_timestamp\":200}]}";
    osc_table *t = engines_of(text);
    TAP_REQUIRE(t);
    TAP_EQ_U64(osc_table_rows(t), 3);
    check_engine(t, 0, "Vector", 100, 0, 100);
    check_engine(t, 1, "Zeta", 20, 0, 180);
    check_engine(t, 2, "Vector", 100, 0, 100);
    TAP_EQ_I64(osc_table_cell(t, 2, OSC_EN_CORE).i64, 1);
    osc_table_free(t);
    t = summary_of(text, NULL);
    check_field(t, "vector_engine_active_time", 150e-9); /* union over the cores: one time line */
    check_field(t, "throttle_active_nc1_time_ns", 10);
    check_field(t, "total_time", 200e-9);
    osc_table_free(t);
}

static void test_other_tables(void)
{
    osc_store *store = store_of(small);
    osc_engine_options all = {.columns = 20};
    osc_table *opcodes = NULL, *queues = NULL, *waits = NULL, *timeline = NULL;
    osc_err err = {0};
    TAP_REQUIRE(store);
    TAP_EQ_STATUS(osc_engines_by_opcode(store, &all, &opcodes, &err), OSC_OK);
    TAP_EQ_STATUS(osc_engines_by_queue(store, &all, &queues, &err), OSC_OK);
    TAP_EQ_STATUS(osc_engines_by_semaphore(store, &all, &waits, &err), OSC_OK);
    TAP_EQ_STATUS(osc_engine_timeline(store, &all, &timeline, &err), OSC_OK);
    TAP_REQUIRE(opcodes && queues && waits && timeline);
    TAP_EQ_U64(osc_table_rows(opcodes), 5);
    TAP_EQ_VIEW(osc_table_cell(opcodes, 0, osc_table_find(opcodes, "opcode")).str,
                "EVENT_SEMAPHORE");
    TAP_EQ_I64(osc_table_cell(opcodes, 1, osc_table_find(opcodes, "flops")).i64, 192);
    TAP_EQ_U64(osc_table_rows(queues), 5);
    TAP_EQ_I64(osc_table_cell(queues, 0, osc_table_find(queues, "bytes")).i64, 8);
    TAP_EQ_U64(osc_table_rows(waits), 2);
    TAP_EQ_VIEW(osc_table_cell(waits, 0, osc_table_find(waits, "semaphore")).str, "S[2]");
    TAP_EQ_VIEW(osc_table_cell(waits, 0, osc_table_find(waits, "owner")).str, "unknown");
    TAP_EQ_U64(osc_table_rows(timeline), 4); /* three engines and DMA */
    TAP_EQ_I64(osc_table_fact_i64(timeline, "drawn_ns") + osc_table_fact_i64(timeline, "cut_ns"),
               510);
    osc_table_free(opcodes);
    osc_table_free(queues);
    osc_table_free(waits);
    osc_table_free(timeline);
    osc_store_free(store);
}

/* A number that no semaphore has stays one number, whichever table it stands in. */
static void test_semaphores_out_of_range(void)
{
    osc_store *store = store_of("{\"instruction\":[" I(
        "Sync", "WRITE", 500, 5,
        ",\"operands\":\"$E[4294967295]==1\"") "],"
                                               "\"semaphore_update\":[{\"timestamp\":5,\"id\":\"$E["
                                               "4294967295]\",\"value\":1}]," META "}");
    TAP_REQUIRE(store);
    TAP_EQ_U64(osc_store_semup(store)->sem[0], 2 * OSC_SEM_EVENT - 1);
    TAP_EQ_U64(osc_store_semop(store)->sem[0], 2 * OSC_SEM_EVENT - 1);
    osc_store_free(store);
}

/* An engine that waits 10 ns for each of 80 owners: those that are not told apart are nobody's. */
static void test_many_owners(void)
{
    osc_buf text;
    osc_engine_options all = {0};
    osc_table *t = NULL;
    osc_err err = {0};
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "{\"instruction\":[");
    for (int i = 0; i < 80; i++)
        osc_buf_printf(&text,
                       "%s{\"subgroup\":\"Sync\",\"opcode\":\"WRITE\",\"timestamp\":%d,"
                       "\"duration\":2,\"evt_wait_time\":10,\"operands\":\"S[%d] (Q%02d)>=1\"}",
                       i > 0 ? "," : "", 10 + 12 * i, i, i);
    osc_buf_cstr(&text, "]," META "}");
    osc_store *store = store_of(osc_buf_c_str(&text));
    TAP_REQUIRE(store);
    TAP_EQ_STATUS(osc_engines(store, &all, &t, &err), OSC_OK);
    if (t)
        TAP_EQ_VIEW(osc_table_cell(t, 0, OSC_EN_WAITS_FOR).str, "others 20.0 %, Q00 1.2 %");
    osc_table_free(t);
    osc_store_free(store);
    osc_buf_free(&text);
}

/* Layer "a": 100 to 170 on Tensor (union 70, flop to its last end), Scalar to 340. */
static void test_layers(void)
{
    const char *text =
        "{\"instruction\":[" I("Tensor", "MATMUL", 100, 50, ",\"layer\":\"a\",\"elements\":80,\"instruction_type\":\"REGULAR\"") "," I(
            "Tensor", "MATMUL", 140, 30,
            ",\"layer\":\"a\",\"elements\":16") "," I("Tensor", "EVENT_SEMAPHORE", 170, 500,
                                                      ",\"layer\":\"b\"") "," I("Scalar",
                                                                                "ACTIVATE", 300, 40,
                                                                                ",\"layer\":"
                                                                                "\"a\"") "," I("Syn"
                                                                                               "c",
                                                                                               "DRA"
                                                                                               "IN",
                                                                                               20,
                                                                                               10,
                                                                                               "") "]," META
                                                                                                   "}";
    osc_store *store = store_of(text);
    osc_engine_options all = {0};
    osc_table *t = NULL;
    osc_err err = {0};
    TAP_REQUIRE(store && osc_engines_by_layer(store, &all, &t, &err) == OSC_OK);
    TAP_EQ_U64(osc_table_rows(t), 3);
    TAP_EQ_VIEW(osc_table_cell(t, 0, 0).str, "(all)");
    TAP_EQ_VIEW(osc_table_cell(t, 1, 0).str, "a");
    TAP_EQ_VIEW(osc_table_cell(t, 2, 0).str, "b");
    uint32_t length = osc_table_find(t, "duration_ns");
    TAP_EQ_I64(osc_table_cell(t, 0, length).i64, 650);
    TAP_EQ_I64(osc_table_cell(t, 1, length).i64, 240);
    TAP_EQ_I64(osc_table_cell(t, 1, osc_table_find(t, "tensor_engine_active_time")).i64, 70);
    TAP_EQ_I64(osc_table_cell(t, 1, osc_table_find(t, "tensor_engine_instruction_time")).i64, 80);
    TAP_EQ_I64(osc_table_cell(t, 1, osc_table_find(t, "scalar_engine_instruction_count")).i64, 1);
    TAP_EQ_I64(osc_table_cell(t, 1, osc_table_find(t, "tensor_engine_flop_count")).i64, 192);
    TAP_NEAR(osc_table_cell(t, 1, osc_table_find(t, "tensor_engine_hfu")).f64, 192.0 / (16 * 70),
             1e-12);
    TAP_NEAR(osc_table_cell(t, 1, osc_table_find(t, "tensor_engine_mfu")).f64, 160.0 / (16 * 70),
             1e-12);
    TAP_EQ_I64(osc_table_cell(t, 2, osc_table_find(t, "tensor_engine_active_time")).i64, 0);
    osc_table_free(t);
    osc_store_free(store);
}

/* ---- captures of ours ---- */

static osc_store *open_session(void)
{
    char path[1024];
    osc_open_options options = {.device = true};
    osc_store *store = NULL;
    osc_err err = {0};
    snprintf(path, sizeof path, "%s/tests/data/scope/session", tap_source_dir());
    if (osc_open(path, &options, &store, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "cannot open: %s", err.message);
    return store;
}

/* Two executions of 10 us: 2 x [dma 4 KiB in on two rings, Vector 0.5 us, dma 4 KiB out]. */
static void test_session(void)
{
    osc_store *store = open_session();
    osc_engine_options all = {0}, second = {.nth = 2}, third = {.nth = 3};
    osc_table *t = NULL;
    osc_err err = {0};
    TAP_REQUIRE(store);
    TAP_EQ_STATUS(osc_summary(store, &all, &t, NULL, &err), OSC_OK);
    check_field(t, "total_time", 20e-6);
    check_field(t, "vector_engine_active_time", 1e-6);
    check_field(t, "dma_transfer_count", 4);
    check_field(t, "dma_transfer_average_bytes", 4096);
    check_field(t, "hbm_read_bytes", 8192);
    check_field(t, "sbuf_write_bytes", 8192 + 2 * 1024); /* Vector: one partition of bf16[512] */
    check_field(t, "static_dma_packet_count", 6);
    uint32_t row = field_row(t, "total_time");
    TAP_EQ_F64(osc_table_cell(t, row, OSC_SU_LOW).f64, osc_table_cell(t, row, OSC_SU_HIGH).f64);
    osc_table_free(t);
    TAP_EQ_STATUS(osc_summary(store, &second, &t, NULL, &err), OSC_OK);
    check_field(t, "total_time", 10e-6);
    osc_table_free(t);
    TAP_EQ_STATUS(osc_summary(store, &third, &t, NULL, &err), OSC_ENOTFOUND);
    TAP_OK(t == NULL);
    osc_store_free(store);
}

/* ---- failures ---- */

static bool analyse_with_failures(void *context)
{
    const osc_store *store = context;
    osc_engine_options all = {0};
    osc_table *engines = NULL, *summary = NULL, *missing = NULL, *waits = NULL, *queues = NULL;
    osc_err err = {0};
    osc_status a = osc_engines(store, &all, &engines, &err);
    osc_status b = osc_summary(store, &all, &summary, &missing, &err);
    osc_status c = osc_engines_by_semaphore(store, &all, &waits, &err);
    osc_status d = osc_engines_by_queue(store, &all, &queues, &err);
    osc_table *layers = NULL, *timeline = NULL;
    osc_status e = osc_engines_by_layer(store, &all, &layers, &err);
    osc_status f = osc_engine_timeline(store, &all, &timeline, &err);
    bool right = (a == OSC_OK) == (engines != NULL) && (b == OSC_OK) == (summary != NULL) &&
                 (b == OSC_OK) == (missing != NULL) && (c == OSC_OK) == (waits != NULL) &&
                 (d == OSC_OK) == (queues != NULL) && (e == OSC_OK) == (layers != NULL) &&
                 (f == OSC_OK) == (timeline != NULL) && (a == OSC_OK || a == OSC_ENOMEM);
    osc_table_free(engines);
    osc_table_free(summary);
    osc_table_free(missing);
    osc_table_free(waits);
    osc_table_free(queues);
    osc_table_free(layers);
    osc_table_free(timeline);
    return right;
}

static bool read_with_failures(void *context)
{
    osc_store *store = osc_store_new();
    osc_err err = {0};
    (void)context;
    if (!store)
        return true;
    osc_status status = osc_devprofile_to_store(store, small, strlen(small), "p.json", &err);
    bool right = status == OSC_OK || status == OSC_ENOMEM;
    if (status == OSC_OK) {
        osc_status sealed = osc_store_seal(store, &err);
        right = sealed == OSC_OK || sealed == OSC_ENOMEM;
    }
    osc_store_free(store);
    return right;
}

static void test_out_of_memory(void)
{
    osc_store *store = store_of(small);
    TAP_REQUIRE(store);
    TAP_OK(tap_oom_sweep(analyse_with_failures, store, 2000));
    osc_store_free(store);
    TAP_OK(tap_oom_sweep(read_with_failures, NULL, 4000));
}

/* ---- real profiles ---- */

static uint32_t check_real(const char *path)
{
    osc_open_options options = {.device = true};
    osc_engine_options all = {0};
    osc_store *store = NULL;
    osc_table *t = NULL;
    osc_err err = {0};
    uint32_t compared = 0;
    if (osc_open(path, &options, &store, &err) != OSC_OK ||
        osc_summary(store, &all, &t, NULL, &err) != OSC_OK)
        tap_check(false, __FILE__, __LINE__, "%s: %s", path, err.message);
    if (!store)
        return 0;
    for (uint32_t r = 0; t && r < osc_table_rows(t); r++) {
        osc_str verdict = osc_table_cell(t, r, OSC_SU_VERDICT).str;
        compared += verdict.len > 0;
        TAP_OKF(!osc_str_eq_cstr(verdict, "differs"), "%s: %.*s is %.17g, stated %.*s", path,
                OSC_STR_FMT(osc_table_cell(t, r, OSC_SU_FIELD).str),
                osc_table_cell(t, r, OSC_SU_VALUE).f64,
                OSC_STR_FMT(osc_table_cell(t, r, OSC_SU_STATED).str));
    }
    TAP_OKF(compared >= 100, "%s: only %u fields compared", path, compared);
    TAP_OKF(osc_store_traffic(store)->count > 0 && osc_store_semop(store)->count > 0, "%s", path);
    osc_table_free(t);
    osc_store_free(store);
    return compared;
}

static void test_real_profiles(void)
{
    const char *shared = getenv("OPSCOPE_SHARED");
    char dir[1024], path[2048];
    osc_dir_list list = {0};
    uint32_t fields = 0;
    if (shared)
        snprintf(dir, sizeof dir, "%s/neuron_profiles", shared);
    else
        snprintf(dir, sizeof dir, "%s/../shared/neuron_profiles", tap_source_dir());
    if (osc_list_dir(dir, &list, NULL) != OSC_OK) {
        tap_skip("no real profiles (OPSCOPE_SHARED names the folder that holds neuron_profiles/)");
        return;
    }
    size_t files = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (!osc_str_ends(osc_str_from_cstr(list.entries[i].name), OSC_STR(".json.gz")))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, list.entries[i].name);
        fields += check_real(path);
        files++;
    }
    tap_note("%zu profiles, %u fields", files, fields);
    TAP_OK(files > 0);
    osc_dir_list_free(&list);
}

int main(void)
{
    TAP_RUN(test_times);
    TAP_RUN(test_arithmetic);
    TAP_RUN(test_dma);
    TAP_RUN(test_memory);
    TAP_RUN(test_throttling);
    TAP_RUN(test_bounds);
    TAP_RUN(test_total_time);
    TAP_RUN(test_missing_tables);
    TAP_RUN(test_collectives_are_not_zero);
    TAP_RUN(test_stated);
    TAP_RUN(test_breakdown);
    TAP_RUN(test_wait_counter_wraps);
    TAP_RUN(test_several_cores);
    TAP_RUN(test_other_tables);
    TAP_RUN(test_semaphores_out_of_range);
    TAP_RUN(test_many_owners);
    TAP_RUN(test_layers);
    TAP_RUN(test_session);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_real_profiles);
    return tap_done();
}
