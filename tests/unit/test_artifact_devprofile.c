/*
 * test_artifact_devprofile.c - device profile exports: rows whatever their order and types, damage,
 * and the operand grammar, each form of summary-metrics.md 4 once.
 */
#include "tap.h"

#include "artifact/devprofile.h"
#include "artifact/devprofile_operands.h"
#include "base/io.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define INST(members) "{\"timestamp\":10,\"duration\":5," members "}"
#define ONE(members)  "{\"instruction\":[" INST(members) "]}"

static osc_devprofile *read_text(const char *text, osc_findings *findings)
{
    osc_devprofile *p = NULL;
    osc_err err = {0};
    osc_status status = osc_devprofile_read(text, strlen(text), "p.json", findings, &p, &err);
    TAP_OKF(status == OSC_OK, "read: %s", err.message);
    return p;
}

static const osc_dp_inst *first_inst(const osc_devprofile *p)
{
    size_t n;
    const osc_dp_inst *rows = osc_dp_inst_rows(p, &n);
    TAP_OK(n > 0);
    return n > 0 ? rows : NULL;
}

/* ---- rows ---- */

static void test_types(void)
{
    osc_devprofile *p = read_text(ONE("\"id\":9223372036854775807,\"pc\":\"41\",\"evt_wait_time\":"
                                      "2.9,\"hbm_read_bytes\":\"7\","
                                      "\"is_psum_read_sbuf_write\":true,\"opcode\":"
                                      "\"MAT\\u004dUL\",\"predecessors\":[{\"id\":3}],"
                                      "\"layer\":null,\"unheard\":{\"a\":[1,2]}"),
                                  NULL);
    TAP_REQUIRE(p);
    const osc_dp_inst *i = first_inst(p);
    TAP_EQ_I64(i->start_ns, 10);
    TAP_EQ_I64(i->dur_ns, 5);
    TAP_EQ_I64(i->id, INT64_MAX); /* not through a double */
    TAP_EQ_I64(i->pc, 41);
    TAP_EQ_I64(i->wait_ns, 2);
    TAP_EQ_I64(i->hbm_read, 7);
    TAP_OK(i->is_psum_to_sbuf);
    TAP_EQ_VIEW(i->opcode, "MATMUL");
    TAP_EQ_VIEW(i->predecessors, "[{\"id\":3}]");
    TAP_EQ_VIEW(i->layer, "");
    TAP_EQ_I64(i->core, OSC_DP_NONE);
    TAP_EQ_I64(i->trigger_ns, OSC_DP_NONE);
    osc_devprofile_free(p);
}

static void test_names_of_newer_tools(void)
{
    osc_devprofile *p = read_text("{\"instruction\":[{\"start_ts\":3,\"duration_ns\":4,\"engine\":"
                                  "\"vector\",\"pcore_idx\":1,\"tensor_elements\":6}]}",
                                  NULL);
    TAP_REQUIRE(p);
    const osc_dp_inst *i = first_inst(p);
    TAP_EQ_I64(i->start_ns, 3);
    TAP_EQ_I64(i->dur_ns, 4);
    TAP_EQ_VIEW(i->engine, "vector");
    TAP_EQ_I64(i->core, 1);
    TAP_EQ_I64(i->elements, 6);
    osc_devprofile_free(p);
}

static void test_dma_flags(void)
{
    size_t n;
    osc_devprofile *p = read_text(
        "{\"dma\":[{\"timestamp\":1,\"duration\":2,\"aggregated\":\"no\",\"dma_engine\":\"15\"},"
        "{\"timestamp\":1,\"duration\":2,\"aggregated\":\"yes\",\"source\":[[\"WEIGHT\"]]}]}",
        NULL);
    TAP_REQUIRE(p);
    const osc_dp_dma *d = osc_dp_dma_rows(p, &n);
    TAP_EQ_U64(n, 2);
    TAP_OK(!d[0].aggregated && d[1].aggregated);
    TAP_EQ_I64(d[0].engine, 15);
    TAP_EQ_I64(d[1].engine, OSC_DP_NONE);
    TAP_EQ_VIEW(d[1].source, "[[\"WEIGHT\"]]");
    osc_devprofile_free(p);
}

static void test_facts_and_lists(void)
{
    size_t n;
    double value = 0;
    osc_devprofile *p = read_text("{\"metadata\":[{\"pe_clock_freq\":2.8,\"vnc_enabled\":false}],"
                                  "\"summary\":{\"total_time\":1e-3},\"future\":[1,2,3],"
                                  "\"instruction\":[" INST("\"pc\":1") "]}",
                                  NULL);
    TAP_REQUIRE(p);
    TAP_OK(osc_devprofile_number(p, "metadata", "pe_clock_freq", &value));
    TAP_EQ_F64(value, 2.8);
    TAP_EQ_VIEW(osc_devprofile_fact(p, "metadata", "vnc_enabled")->value, "false");
    TAP_OK(osc_devprofile_fact(p, "summary", "total_time")->is_number);
    TAP_OK(osc_devprofile_fact(p, "metadata", "nothing") == NULL);
    TAP_OK(osc_devprofile_has(p, "future") && !osc_devprofile_has(p, "ham"));
    const osc_dp_listed *lists = osc_devprofile_lists(p, &n);
    TAP_EQ_U64(n, 4);
    TAP_EQ_U64(lists[2].rows, 3);
    TAP_OK(!lists[2].known && lists[0].known);
    osc_devprofile_free(p);
}

static void test_bad_rows_are_counted(void)
{
    size_t n;
    osc_findings findings = {0};
    osc_devprofile *p =
        read_text("{\"instruction\":[{\"duration\":5},7," INST("\"pc\":[1]") "," INST(
                      "\"pc\":\"x\"") "," INST("\"pc\":1e300") "]}",
                  &findings);
    TAP_REQUIRE(p);
    const osc_dp_inst *rows = osc_dp_inst_rows(p, &n);
    TAP_EQ_U64(n, 3);
    TAP_EQ_I64(rows[0].pc, OSC_DP_NONE);
    const osc_finding *lost = osc_findings_find(&findings, "profile-row");
    const osc_finding *odd = osc_findings_find(&findings, "profile-value");
    TAP_REQUIRE(lost && odd);
    TAP_EQ_U64(lost->count, 2);
    TAP_EQ_U64(lost->offset, 16);
    TAP_EQ_U64(odd->count, 3);
    osc_devprofile_free(p);
    osc_findings_free(&findings);
}

static void test_no_profile(void)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "7",
                                        "{}",
                                        "{\"metadata\":[{\"a\":1}]}",
                                        "{\"instruction\":[]}",
                                        "{\"instruction\":7}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        osc_devprofile *p = NULL;
        osc_err err = {0};
        osc_status status =
            osc_devprofile_read(texts[i], strlen(texts[i]), "p.json", NULL, &p, &err);
        TAP_OKF(status == OSC_EFORMAT || status == OSC_ETRUNCATED, "%s", texts[i]);
        TAP_OK(p == NULL && err.message[0] != '\0');
    }
}

/* Cut anywhere: either an error, or all rows before the cut and a finding that says where. */
static void test_cut_anywhere(void)
{
    const char *text = "{\"instruction\":[" INST("\"opcode\":\"A\"") "," INST(
        "\"opcode\":\"B\"") "],\"dma\":[{\"timestamp\":1,\"duration\":2}]}";
    size_t first = strlen("{\"instruction\":[" INST("\"opcode\":\"A\""));
    for (size_t len = 0; len < strlen(text); len++) {
        osc_devprofile *p = NULL;
        osc_findings findings = {0};
        osc_err err = {0};
        osc_status status = osc_devprofile_read(text, len, "p.json", &findings, &p, &err);
        if (len < first) {
            TAP_OKF(status != OSC_OK && p == NULL, "cut at %zu", len);
        } else {
            size_t n = 0;
            const osc_finding *f = osc_findings_find(&findings, "profile-damaged");
            TAP_OKF(status == OSC_OK && p, "cut at %zu: %s", len, err.message);
            TAP_OKF(f && f->offset <= len, "cut at %zu has no offset", len);
            (void)(p && osc_dp_inst_rows(p, &n));
            TAP_OK(n >= 1);
        }
        osc_devprofile_free(p);
        osc_findings_free(&findings);
    }
}

struct bytes {
    char *data;
    size_t len;
};

static bool read_with_failures(void *context)
{
    const struct bytes *b = context;
    osc_devprofile *p = NULL;
    osc_findings findings = {0};
    osc_err err = {0};
    osc_status status = osc_devprofile_read(b->data, b->len, "p.json", &findings, &p, &err);
    bool right = status == OSC_OK ? p != NULL : status == OSC_ENOMEM && p == NULL;
    osc_devprofile_free(p);
    osc_findings_free(&findings);
    return right;
}

static void test_out_of_memory(void)
{
    struct bytes b = {0};
    osc_err err = {0};
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/data/scope/device_profile.json", tap_source_dir());
    TAP_REQUIRE(osc_read_file(path, 1 << 20, &b.data, &b.len, &err) == OSC_OK);
    TAP_OK(tap_oom_sweep(read_with_failures, &b, 2000));
    osc_free(b.data);
}

/* ---- operands ---- */

static osc_dp_operands operands(const char *text)
{
    osc_dp_operands o;
    osc_dp_operands_parse(osc_str_from_cstr(text), &o);
    return o;
}

static void test_matmul(void)
{
    osc_dp_operands o =
        operands("S[5] (Tensor)++@complete acc_flags=3 src=fp16@0x2fb00[1,0,0][512,1,1] "
                 "dst=0x2000800[1,0,0][512,1,1] 128*64");
    TAP_EQ_U64(o.unread, 0);
    TAP_EQ_U64(o.update_count, 1);
    TAP_EQ_U64(o.wait_count, 0);
    TAP_EQ_I64(o.updates[0].op, OSC_DP_ADD);
    TAP_EQ_U64(o.updates[0].number, 5);
    TAP_EQ_I64(o.updates[0].value, 1);
    TAP_EQ_VIEW(o.updates[0].owner, "Tensor");
    TAP_EQ_U64(o.rows, 128);
    TAP_EQ_U64(o.columns, 64);
    TAP_EQ_I64(osc_dp_operands_field(&o, "acc_flags")->number, 3);
    const osc_dp_field *src = osc_dp_operands_field(&o, "src");
    const osc_dp_field *dst = osc_dp_operands_field(&o, "dst");
    TAP_REQUIRE(src && dst);
    TAP_EQ_I64(src->kind, OSC_DP_ACCESS);
    TAP_EQ_VIEW(src->dtype, "fp16");
    TAP_EQ_U64(src->address, 0x2fb00);
    TAP_EQ_I64(src->place.space, OSC_DP_SBUF);
    TAP_EQ_U64(osc_dp_field_elements(src), 512);
    TAP_EQ_VIEW(dst->dtype, "");
    TAP_EQ_I64(dst->place.space, OSC_DP_PSUM);
    TAP_EQ_U64(dst->place.bank, 1);
    TAP_EQ_U64(dst->place.offset, 0);
}

static void test_ldweights_runs_backwards(void)
{
    osc_dp_operands o = operands("S[4] (Scalar)>=1 src=fp16@0x40fe[-1,0,-32][32,1,4] 128*128 ");
    const osc_dp_field *src = osc_dp_operands_field(&o, "src");
    TAP_REQUIRE(src);
    TAP_EQ_I64(o.waits[0].op, OSC_DP_WAIT_GE);
    TAP_EQ_I64(o.waits[0].value, 1);
    TAP_EQ_U64(src->dims, 3);
    TAP_EQ_I64(src->step[0], -1);
    TAP_EQ_I64(src->step[2], -32);
    TAP_EQ_U64(osc_dp_field_elements(src), 128);
}

static void test_activate(void)
{
    osc_dp_operands o =
        operands("S[5] (Tensor)>=2 S[4] (Scalar)++@complete COPY bias_imm=0.250000 "
                 "src=fp32@0x2000000[1,1,1][512,1,1] dst=fp32@0x4100[1,1,1][512,1,1] channels=128 "
                 "scale=1.000000 imm=[0x0] accumulator_cmd=IDLE");
    TAP_EQ_U64(o.unread, 0);
    TAP_EQ_VIEW(o.function, "COPY");
    TAP_EQ_U64(o.wait_count, 1);
    TAP_EQ_U64(o.update_count, 1);
    TAP_EQ_F64(osc_dp_operands_field(&o, "bias_imm")->real, 0.25);
    TAP_EQ_I64(osc_dp_operands_field(&o, "imm")->kind, OSC_DP_LIST);
    TAP_EQ_I64(osc_dp_operands_field(&o, "accumulator_cmd")->kind, OSC_DP_TEXT);
    TAP_EQ_I64(osc_dp_operands_field(&o, "channels")->number, 128);
}

static void test_dma_direct2d(void)
{
    osc_dp_operands o = operands(" semaphore=24 sem_increment=16  src_elem_size=256 "
                                 "src_pattern=[256,1][128,1] dst_pattern=[262144,1][128,2] "
                                 "dst_addr_imm=0xfffc002ff00 compute_op=NONE ");
    const osc_dp_field *pattern = osc_dp_operands_field(&o, "dst_pattern");
    TAP_REQUIRE(pattern);
    TAP_EQ_U64(o.unread, 0);
    TAP_EQ_I64(pattern->kind, OSC_DP_PATTERN);
    TAP_EQ_I64(pattern->step[0], 262144);
    TAP_EQ_U64(osc_dp_field_elements(pattern), 256);
    TAP_EQ_I64(osc_dp_operands_field(&o, "dst_addr_imm")->number, INT64_C(0xfffc002ff00));
    TAP_EQ_I64(osc_dp_operands_field(&o, "sem_increment")->number, 16);
}

static void test_runtime_code(void)
{
    osc_dp_operands o = operands("setter=0 $S[2]==7 $S[2]+=3@complete");
    TAP_EQ_U64(o.unread, 0);
    TAP_EQ_I64(o.waits[0].op, OSC_DP_WAIT_EQ);
    TAP_EQ_I64(o.waits[0].value, 7);
    TAP_EQ_VIEW(o.waits[0].owner, "");
    TAP_EQ_I64(o.updates[0].value, 3);
    o = operands("setter=0 $S[2]==8 $S[2]=0@complete");
    TAP_EQ_I64(o.updates[0].op, OSC_DP_SET);
    TAP_EQ_I64(o.updates[0].value, 0);
    o = operands("$E[4]==1- cycle=1 ");
    TAP_OK(o.waits[0].event && o.waits[0].consumes);
    TAP_EQ_U64(o.waits[0].number, 4);
    TAP_EQ_U64(o.unread, 0);
    o = operands(" addr=uint32@0x3c01f4000[1,0][2,1] data=$R[130],$R[131] ");
    TAP_EQ_U64(o.unread, 0);
    TAP_EQ_I64(osc_dp_operands_field(&o, "data")->kind, OSC_DP_LIST);
    TAP_EQ_I64(osc_dp_operands_field(&o, "addr")->place.space, OSC_DP_MEMORY);
    o = operands("cmp_op=EQ dtype=uint32 cmp0=$R[7] cmp1=0x10");
    TAP_EQ_I64(osc_dp_operands_field(&o, "cmp0")->kind, OSC_DP_REGISTER);
    TAP_EQ_I64(osc_dp_operands_field(&o, "cmp0")->number, 7);
    TAP_EQ_I64(osc_dp_operands_field(&o, "cmp1")->number, 16);
    o = operands("data=0x2,0x2 size=4,4 dst=0xffff026f038,0xffff024f038");
    TAP_EQ_U64(o.unread, 0);
    TAP_EQ_I64(osc_dp_operands_field(&o, "dst")->kind, OSC_DP_LIST);
    o = operands(" qSyncSpillReload0 block_id=0 ");
    TAP_EQ_VIEW(o.function, "qSyncSpillReload0");
    o = operands(" ");
    TAP_EQ_U64(o.unread + o.field_count + o.wait_count, 0);
}

/* What no rule covers is counted, and what stands around it is still read. */
static void test_unknown_forms(void)
{
    osc_dp_operands o = operands("S[4] (Scalar)>> ?? a=[1,x] S[9] (Tensor)>=2 b=1 two words");
    TAP_EQ_U64(o.wait_count, 1);
    TAP_EQ_U64(o.waits[0].number, 9);
    TAP_EQ_I64(osc_dp_operands_field(&o, "b")->number, 1);
    TAP_EQ_VIEW(osc_dp_operands_field(&o, "a")->text, "[1,x]");
    TAP_EQ_VIEW(o.function, "two");
    TAP_OK(o.unread >= 3);
    o = operands("S[1] (a)>=1 S[2] (a)>=1 S[3] (a)>=1 S[4] (a)>=1 S[5] (a)>=1");
    TAP_EQ_U64(o.wait_count, OSC_DP_SYNCS);
    TAP_EQ_U64(o.unread, 1);
}

static void test_semaphore_ids(void)
{
    osc_dp_sync s;
    TAP_OK(osc_dp_semaphore_parse(OSC_STR("2"), &s) && s.number == 2 && s.owner.len == 0);
    TAP_OK(osc_dp_semaphore_parse(OSC_STR("S[24] (qGpSimdDynamic)"), &s));
    TAP_EQ_U64(s.number, 24);
    TAP_EQ_VIEW(s.owner, "qGpSimdDynamic");
    TAP_OK(osc_dp_semaphore_parse(OSC_STR("$E[4]"), &s) && s.event);
    TAP_OK(!osc_dp_semaphore_parse(OSC_STR("-1"), &s));
    TAP_OK(!osc_dp_semaphore_parse(OSC_STR("S[24]x"), &s));
    TAP_OK(!osc_dp_semaphore_parse(OSC_STR(""), &s));
}

/* The address map of summary-metrics.md 4.2, at its borders. */
static void test_places(void)
{
    osc_dp_place p = osc_dp_place_of(0x2ffff);
    TAP_OK(p.space == OSC_DP_SBUF && p.offset == 0x2ffff);
    TAP_OK(osc_dp_place_of(0x30000).space == OSC_DP_MEMORY);
    p = osc_dp_place_of(0x2002004);
    TAP_OK(p.space == OSC_DP_PSUM && p.bank == 4 && p.offset == 4);
    TAP_OK(osc_dp_place_of(0x2004000).space == OSC_DP_MEMORY);
    p = osc_dp_place_of(UINT64_C(0xfffc002ff00));
    TAP_OK(p.space == OSC_DP_SBUF_DMA && p.partition == 0 && p.offset == 0x2ff00);
    p = osc_dp_place_of(UINT64_C(0xfffc0000000) + 127 * 0x40000 + 8);
    TAP_OK(p.space == OSC_DP_SBUF_DMA && p.partition == 127 && p.offset == 8);
    TAP_OK(osc_dp_place_of(UINT64_C(0xfffc0030000)).space == OSC_DP_MEMORY);
    TAP_OK(osc_dp_place_of(UINT64_C(0xffff1002038)).space == OSC_DP_DEVICE);
    TAP_EQ_STR(osc_dp_space_name(OSC_DP_PSUM), "psum");
    TAP_EQ_U64(osc_dp_dtype_bytes(OSC_STR("fp16")), 2);
    TAP_EQ_U64(osc_dp_dtype_bytes(OSC_STR("odd")), 0);
}

/* Elements never overflow into a small number. */
static void test_element_overflow(void)
{
    osc_dp_operands o = operands("src=0x0[1,1][9223372036854775807,3] dst=0x0[1][-2]");
    TAP_EQ_U64(osc_dp_field_elements(osc_dp_operands_field(&o, "src")), 0);
    TAP_EQ_U64(osc_dp_field_elements(osc_dp_operands_field(&o, "dst")), 0);
}

int main(void)
{
    TAP_RUN(test_types);
    TAP_RUN(test_names_of_newer_tools);
    TAP_RUN(test_dma_flags);
    TAP_RUN(test_facts_and_lists);
    TAP_RUN(test_bad_rows_are_counted);
    TAP_RUN(test_no_profile);
    TAP_RUN(test_cut_anywhere);
    TAP_RUN(test_out_of_memory);
    TAP_RUN(test_matmul);
    TAP_RUN(test_ldweights_runs_backwards);
    TAP_RUN(test_activate);
    TAP_RUN(test_dma_direct2d);
    TAP_RUN(test_runtime_code);
    TAP_RUN(test_unknown_forms);
    TAP_RUN(test_semaphore_ids);
    TAP_RUN(test_places);
    TAP_RUN(test_element_overflow);
    return tap_done();
}
