/* test_isa_check.c - every static rule: legal samples of all opcodes, and one broken line per rule. */
#include "isa_samples.h"
#include "tap.h"

#include "isa/isa.h"
#include "isa/sheet.h"

#include <string.h>

static osc_status check_line(const char *text, osc_generation generation, osc_err *err)
{
    osc_inst inst;
    osc_status status = osc_isa_assemble(text, &inst, err);
    TAP_OKF(status == OSC_OK, "assembles: %s (%s)", text, err->message);
    return status == OSC_OK ? osc_isa_check(&inst, osc_sheet_default(generation), err)
                            : OSC_EFORMAT;
}

static void test_samples_are_legal(void)
{
    bool seen[OSC_OPCODE_COUNT] = {false};
    for (size_t i = 0; i < ISA_SAMPLE_COUNT; i++) {
        osc_err err = {0};
        osc_inst inst;
        osc_status status = check_line(ISA_SAMPLES[i], OSC_TRN2, &err);
        TAP_OKF(status == OSC_OK, "%s: %s", ISA_SAMPLES[i], err.message);
        TAP_OK(check_line(ISA_SAMPLES[i], OSC_TRN3, &err) == OSC_OK);
        if (osc_isa_assemble(ISA_SAMPLES[i], &inst, &err) == OSC_OK)
            seen[inst.opcode] = true;
    }
    for (unsigned op = 0; op < OSC_OPCODE_COUNT; op++)
        TAP_OKF(seen[op], "a sample of opcode %u", op);
}

/* What the rows say of operands, against what the checker lets pass. */
static void test_rows_count_operands(void)
{
    unsigned most_src[OSC_OPCODE_COUNT] = {0};
    for (size_t i = 0; i < ISA_SAMPLE_COUNT; i++) {
        osc_inst inst;
        osc_err err = {0};
        TAP_REQUIRE(osc_isa_assemble(ISA_SAMPLES[i], &inst, &err) == OSC_OK);
        const osc_isa_row *row = osc_isa_row_of(inst.opcode);
        TAP_OKF(row->has_dst != osc_ap_is_absent(&inst.dst), "dst of %s", row->name);
        TAP_OKF(row->has_dst2 != osc_ap_is_absent(&inst.dst2), "dst2 of %s", row->name);
        for (unsigned k = 0; k < 3; k++) {
            if (!osc_ap_is_absent(&inst.src[k]) && most_src[inst.opcode] <= k)
                most_src[inst.opcode] = k + 1;
        }
    }
    for (unsigned op = 0; op < OSC_OPCODE_COUNT; op++)
        TAP_EQ_U64(most_src[op], osc_isa_row_of(op)->nsrc);
}

#define TT  "Vector tensor_tensor alu0=add dst="
#define BF4 "sbuf.bf16(p0,n4,@0)[8:1]"

static const struct broken_case {
    const char *line;
    osc_generation generation;
    const char *rule; /* part of the message */
} BROKEN[] = {
    /* engines */
    {"Scalar tensor_tensor alu0=add dst=" BF4 " src0=" BF4 " src1=" BF4, OSC_TRN2,
     "does not run it"},
    {"DMA nop", OSC_TRN2, "does not run it"},
    {"none nop", OSC_TRN2, "does not run it"},
    {"Vector tensor_tensor alu0=power dst=" BF4 " src0=" BF4 " src1=" BF4, OSC_TRN2,
     "runs on GpSimd"},
    {"Scalar tensor_copy dst=" BF4 " src0=" BF4, OSC_TRN1, "from trn2 on"},
    {"Scalar tensor_scalar alu0=multiply dst=" BF4 " src0=" BF4 " src1=imm", OSC_TRN1,
     "from trn2 on"},
    {"Scalar tensor_scalar alu0=subtract dst=" BF4 " src0=" BF4 " src1=imm", OSC_TRN2,
     "has only multiply"},
    {"Scalar tensor_scalar alu0=add alu1=multiply dst=" BF4 " src0=" BF4 " src1=imm src2=imm",
     OSC_TRN2, "has only multiply"},
    {"GpSimd tensor_tensor alu0=bitwise_and dst=sbuf.int32(p0,n4,@0) src0=sbuf.int32(p0,n4,@0) "
     "src1=sbuf.int32(p0,n4,@0)",
     OSC_TRN2, "run on Vector"},
    /* operators */
    {TT BF4 " src0=" BF4 " src1=" BF4 " alu1=add", OSC_TRN2, "alu1 may not be add"},
    {"Vector tensor_tensor alu0=abs dst=" BF4 " src0=" BF4 " src1=" BF4, OSC_TRN2,
     "alu0 may not be abs"},
    {"Vector tensor_tensor dst=" BF4 " src0=" BF4 " src1=" BF4, OSC_TRN2, "alu0 may not be bypass"},
    {"Vector tensor_reduce alu0=subtract axes=1 dst=sbuf.bf16(p0,n4,@0) src0=" BF4, OSC_TRN2,
     "alu0 may not be subtract"},
    {"Sync branch alu0=add src0=reg(@0)", OSC_TRN2, "alu0 may not be add"},
    {"Sync reg_alu alu0=divide src0=reg(@0)", OSC_TRN2, "alu0 may not be divide"},
    {"Vector tensor_scalar alu0=bitwise_or alu1=add imm1=1 dst=sbuf.int32(p0,n4,@0) "
     "src0=sbuf.int32(p0,n4,@0) src1=imm src2=imm",
     OSC_TRN2, "do not mix"},
    {"Vector tensor_tensor alu0=bitwise_or dst=" BF4 " src0=" BF4 " src1=" BF4, OSC_TRN2,
     "bit operators take integers"},
    {"Vector tensor_reduce alu0=bitwise_or axes=1 dst=sbuf.fp32(p0,n4,@0) "
     "src0=sbuf.int32(p0,n4,@0)[4:1]",
     OSC_TRN2, "bit operators take integers"},
    {"Vector tensor_scalar alu0=bitwise_or dst=sbuf.int32(p0,n4,@0) src0=sbuf.int32(p0,n4,@0) "
     "src1=sbuf.fp32(p0,n4,@0)",
     OSC_TRN2, "src1 is fp32; bit operators take integers"},
    /* flags and immediates */
    {TT BF4 " src0=" BF4 " src1=" BF4 " flags=accumulate", OSC_TRN2, "flags 0x1"},
    {TT BF4 " src0=" BF4 " src1=" BF4 " flags=0x80", OSC_TRN2, "flags 0x80"},
    {TT BF4 " src0=" BF4 " src1=" BF4 " act=exp", OSC_TRN2, "activation function"},
    {TT BF4 " src0=" BF4 " src1=" BF4 " axes=1", OSC_TRN2, "axes belong to"},
    {"Sync reg_move iimm=1 iimm2=64", OSC_TRN2, "writes register 64"},
    {"Sync reg_move iimm=1 iimm2=-1", OSC_TRN2, "writes register -1"},
    {"Sync reg_move iimm=4294967296", OSC_TRN2, "no 32-bit value"},
    {"Sync branch alu0=less iimm=-2147483649 src0=reg(@0)", OSC_TRN2, "no 32-bit value"},
    {"Sync branch alu0=less iimm2=-1 src0=reg(@0)", OSC_TRN2, "target -1"},
    {"Scalar act_table_load iimm=256", OSC_TRN2, "function set 256"},
    {"Sync reg_alu alu0=add src0=reg(@64)", OSC_TRN2, "src0 is register 64"},
    /* semaphores */
    {"Sync nop wait=256>=1", OSC_TRN2, "waits for semaphore 256"},
    {"Sync nop inc=256+1", OSC_TRN2, "increments semaphore 256"},
    {"Sync nop inc=1+0", OSC_TRN2, "by 0"},
    {"Sync sem_wait", OSC_TRN2, "waits for no semaphore"},
    {"Sync sem_inc", OSC_TRN2, "increments no semaphore"},
    /* places */
    {"Sync nop dst=" BF4, OSC_TRN2, "dst may not be SBUF"},
    {TT BF4 " src0=" BF4, OSC_TRN2, "src1 may not be absent"},
    {TT "hbm.bf16(t0,n4,s8,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "dst may not be HBM"},
    {TT BF4 " src0=" BF4 " src1=imm", OSC_TRN2, "src1 may not be an immediate"},
    {"Sync dma_copy dst=psum.bf16(p0,n4,@0)[8:1] src0=" BF4, OSC_TRN2, "dst may not be PSUM"},
    {"Tensor matmul dst=sbuf.fp32(p0,n4,@0)[8:1] src0=" BF4, OSC_TRN2, "dst may not be SBUF"},
    {"Tensor matmul dst=psum.fp32(p0,n4,@0)[8:1] src0=psum.bf16(p0,n4,@0)[8:1]", OSC_TRN2,
     "src0 may not be PSUM"},
    {"Tensor ldweights src0=psum.bf16(p0,n4,@0)[8:1]", OSC_TRN2, "src0 may not be PSUM"},
    {"GpSimd tensor_copy dst=sbuf.fp32(p0,n4,@0) src0=psum.fp32(p0,n4,@0)", OSC_TRN2,
     "GpSimd cannot reach"},
    {"GpSimd memset dst=psum.fp32(p0,n4,@0)", OSC_TRN2, "GpSimd cannot reach"},
    {TT BF4 " src0=psum.bf16(p0,n4,@0)[8:1] src1=psum.bf16(p0,n4,@0)[8:1]", OSC_TRN2,
     "two inputs are in PSUM"},
    {"Vector tensor_scalar alu0=add dst=" BF4 " src0=" BF4, OSC_TRN2, "src1 may not be absent"},
    {"Vector tensor_scalar alu0=abs alu1=add dst=" BF4 " src0=" BF4, OSC_TRN2,
     "src2 may not be absent"},
    {"Scalar activation act=exp dst=" BF4 " src0=" BF4 " src1=imm", OSC_TRN2,
     "src2 may not be absent"},
    {"Sync reg_alu alu0=add src0=imm", OSC_TRN2, "src0 may not be an immediate"},
    {"GpSimd iota dst=sbuf.int32(p0,n4,@0)[8:1] src0=sbuf.int32(p0,n4,@0)[8:1]", OSC_TRN2,
     "src0 may not be SBUF"},
    /* patterns */
    {TT "sbuf(p0,n4,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "dst has no dtype"},
    {TT "sbuf.int64(p0,n4,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "dst is int64"},
    {TT "sbuf.bf16(p0,n4,@0)[0:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "no elements in dim 0"},
    {TT "psum.bf16(p0,n4,@64)[8:-1] src0=" BF4 " src1=" BF4, OSC_TRN2, "walks PSUM backwards"},
    {TT "sbuf.bf16(p0,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "dst has 0 partitions"},
    {TT "sbuf.bf16(p0,n129,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "dst has 129 partitions"},
    {TT "sbuf.bf16(p96,n33,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "ends at partition 128"},
    {TT "sbuf.bf16(p32,n65,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2,
     "more than 64 partitions start at 0"},
    {TT "sbuf.bf16(p32,n33,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "33 to 64 partitions"},
    {TT "sbuf.bf16(p16,n4,@0)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "up to 32 partitions"},
    {"Sync dma_copy dst=sbuf.bf16(p120,n9,@0)[8:1] src0=sbuf.bf16(p0,n9,@0)[8:1]", OSC_TRN2,
     "ends at partition 128"},
    {TT "sbuf.bf16(p0,n4,@0)[8:9223372036854775807] src0=" BF4 " src1=" BF4, OSC_TRN2,
     "64 bits can count"},
    {TT "sbuf.bf16(p0,n4,@212970)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2,
     "of a partition of 212984"},
    {TT "sbuf.bf16(p0,n4,@180216)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN1,
     "of a partition of 180224"},
    {TT "sbuf.bf16(p0,n4,@0)[8:-1] src0=" BF4 " src1=" BF4, OSC_TRN2, "touches bytes -14"},
    {TT "psum.bf16(p0,n4,@16376)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "of a partition of 16384"},
    {TT "sbuf.bf16(p0,n4,@1)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN2, "not a multiple"},
    {"Vector memset dst=sbuf.uint8(p0,n4,@0)[65537:1]", OSC_TRN2, "one instruction takes 65536"},
    {"Vector memset dst=psum.uint8(p0,n4,@0)[4097:1]", OSC_TRN2, "one instruction takes 4096"},
    /* roles */
    {"Vector tensor_scalar alu0=add dst=" BF4 " src0=" BF4 " src1=sbuf.fp32(p0,n4,@0)[2:1]",
     OSC_TRN2, "one element per partition"},
    {"Vector tensor_scalar alu0=add dst=" BF4 " src0=" BF4 " src1=sbuf.bf16(p0,n4,@0)", OSC_TRN2,
     "src1 must be fp32"},
    {"Scalar activation_reduce act=exp dst=" BF4 " dst2=sbuf.bf16(p0,n4,@0) src0=" BF4
     " src1=imm src2=imm",
     OSC_TRN2, "dst2 must be fp32"},
    {"Sync reg_load src0=sbuf.fp32(p0,n1,@0)", OSC_TRN2, "one int32 or uint32 element"},
    {"Sync reg_load src0=sbuf.int32(p0,n2,@0)", OSC_TRN2, "one int32 or uint32 element"},
    /* relations */
    {"Sync dma_copy dst=sbuf.bf16(p0,n4,@0)[8:1] src0=hbm.bf16(t0,n4,s8,@0)[7:1]", OSC_TRN2,
     "dst has 32 elements, src0 28"},
    {"Sync dma_copy dst=sbuf.int32(p0,n4,@0)[8:1] src0=hbm.int64(t0,n4,s8,@0)[8:1]", OSC_TRN2,
     "no cast from int64"},
    {"Sync dma_copy dst=hbm.uint8(t0,n4,s0,@0)[4294967295:0][4294967295:0] "
     "src0=hbm.uint8(t0,n4,s0,@0)[4294967295:0][4294967295:0]",
     OSC_TRN2, "64 bits can count"},
    {"Sync dma_transpose dst=sbuf.uint8(p0,n8,@0)[4:1] src0=sbuf.uint8(p0,n4,@0)[8:1]", OSC_TRN2,
     "2 or 4 bytes"},
    {"Sync dma_transpose dst=sbuf.fp16(p0,n8,@0)[4:1] src0=sbuf.bf16(p0,n4,@0)[8:1]", OSC_TRN2,
     "one dtype"},
    {"Tensor pe_transpose dst=psum.bf16(p0,n8,@0)[5:1] src0=sbuf.bf16(p0,n4,@0)[8:1]", OSC_TRN2,
     "must be its transpose"},
    {"Tensor pe_transpose dst=psum.fp32(p0,n8,@2040)[4:1] src0=sbuf.fp32(p0,n4,@0)[8:1]", OSC_TRN2,
     "one bank"},
    {TT BF4 " src0=sbuf.bf16(p0,n5,@0)[8:1] src1=" BF4, OSC_TRN2, "src0 has 5 partitions, dst 4"},
    {TT BF4 " src0=" BF4 " src1=sbuf.bf16(p0,n4,@0)[9:1]", OSC_TRN2, "src1 has 9 elements"},
    {"Vector tensor_scalar_reduce alu0=abs alu1=add dst=" BF4 " dst2=sbuf.fp32(p0,n5,@0) src0=" BF4,
     OSC_TRN2, "dst2 has 5 partitions"},
    {"Vector tensor_reduce alu0=add axes=2 dst=sbuf.bf16(p0,n4,@0) src0=" BF4, OSC_TRN2,
     "reduces 2 free dims of 1"},
    {"Vector tensor_reduce alu0=add dst=sbuf.bf16(p0,n4,@0) src0=" BF4, OSC_TRN2,
     "reduces 0 free dims"},
    {"Vector tensor_reduce alu0=add axes=1 dst=sbuf.bf16(p0,n4,@0)[2:1] src0=" BF4, OSC_TRN2,
     "dims kept of src0"},
    {"GpSimd partition_reduce alu0=add dst=sbuf.bf16(p0,n2,@0)[8:1] src0=" BF4, OSC_TRN2,
     "it must be [1, 8]"},
    {"Tensor ldweights src0=sbuf.bf16(p0,n4,@0)[129:1]", OSC_TRN2, "129 columns"},
    {"Tensor ldweights src0=sbuf.int32(p0,n4,@0)[8:1]", OSC_TRN2, "src0 is int32"},
    {"Tensor matmul dst=psum.fp32(p0,n4,@0)[7:1] src0=" BF4, OSC_TRN2, "dst has 7 columns"},
    {"Tensor matmul dst=psum.fp32(p0,n4,@0)[513:1] src0=sbuf.bf16(p0,n4,@0)[513:1]", OSC_TRN2,
     "one matmul takes 512"},
    {"Tensor matmul dst=psum.bf16(p0,n4,@0)[8:1] src0=" BF4, OSC_TRN2, "matmul writes fp32"},
    {"Tensor matmul dst=psum.fp32(p0,n4,@4)[512:1] src0=sbuf.bf16(p0,n4,@0)[512:1]", OSC_TRN2,
     "one bank"},
    {"Tensor matmul dst=psum.fp32(p0,n4,@0)[8:1] src0=sbuf.int32(p0,n4,@0)[8:1]", OSC_TRN2,
     "src0 is int32"},
    {"GpSimd iota dst=sbuf.int32(p0,n4,@0)[8:1] src0=imm[7:1]", OSC_TRN2, "count like dst"},
    {"GpSimd iota dst=sbuf.int32(p0,n4,@0)[8:1]", OSC_TRN2, "count like dst"},
};

static void test_each_rule_refuses(void)
{
    for (size_t i = 0; i < sizeof BROKEN / sizeof BROKEN[0]; i++) {
        const struct broken_case *b = &BROKEN[i];
        osc_err err = {0};
        TAP_EQ_STATUS(check_line(b->line, b->generation, &err), OSC_EHAZARD);
        TAP_OKF(strstr(err.message, b->rule) != NULL, "'%s' in the message of %s: %s", b->rule,
                b->line, err.message);
    }
}

static void test_generations_differ(void)
{
    osc_err err = {0};
    TAP_OK(
        check_line("Tensor matmul dst=psum.fp32(p0,n4,@4)[4000:1] src0=sbuf.bf16(p0,n4,@0)[4000:1]",
                   OSC_TRN3, &err) == OSC_OK);
    TAP_OK(check_line("Tensor matmul dst=psum.bf16(p0,n4,@0)[8:1] src0=" BF4, OSC_TRN3, &err) ==
           OSC_OK);
    TAP_OK(check_line(TT "sbuf.bf16(p0,n4,@240000)[8:1] src0=" BF4 " src1=" BF4, OSC_TRN3, &err) ==
           OSC_OK);
}

/* What text cannot say: numbers outside the enumerations. */
static void test_unknown_numbers(void)
{
    const osc_sheet *sheet = osc_sheet_default(OSC_TRN2);
    osc_err err = {0};
    osc_inst inst = {
        .opcode = OSC_OPCODE_COUNT, .engine = OSC_ENGINE_SYNC, .source = OSC_NO_SOURCE};
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, &err), OSC_EHAZARD);
    inst = (osc_inst){.opcode = OSC_OP_NOP, .engine = OSC_ENGINE_COUNT};
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, &err), OSC_EHAZARD);
    inst = (osc_inst){.opcode = OSC_OP_NOP, .engine = OSC_ENGINE_SYNC, .alu = {OSC_ALU_COUNT, 0}};
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, &err), OSC_EHAZARD);
    inst =
        (osc_inst){.opcode = OSC_OP_ACTIVATION, .engine = OSC_ENGINE_SCALAR, .act = OSC_ACT_COUNT};
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, &err), OSC_EHAZARD);
    inst =
        (osc_inst){.opcode = OSC_OP_NOP, .engine = OSC_ENGINE_SYNC, .nwaits = OSC_INST_WAITS + 1};
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, &err), OSC_EHAZARD);
    inst = (osc_inst){.opcode = OSC_OP_NOP, .engine = OSC_ENGINE_SYNC, .dst = {.space = 9}};
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, &err), OSC_EHAZARD);
    inst = (osc_inst){.opcode = OSC_OP_MEMSET,
                      .engine = OSC_ENGINE_VECTOR,
                      .dst = {.space = OSC_SPACE_SBUF, .dtype = OSC_F32, .nparts = 1, .ndim = 5}};
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, &err), OSC_EHAZARD);
    TAP_EQ_STATUS(osc_isa_check(&inst, sheet, NULL), OSC_EHAZARD);
}

static void test_extent(void)
{
    osc_ap ap = {.space = OSC_SPACE_HBM,
                 .dtype = OSC_F32,
                 .nparts = 3,
                 .offset = 100,
                 .part_stride = -4,
                 .ndim = 2,
                 .dim = {{10, 3, 0}, {-1, 2, 0}}};
    int64_t lo, hi;
    TAP_OK(osc_ap_extent(&ap, &lo, &hi));
    TAP_EQ_I64(lo, 100 - 4 * (2 * 4 + 1));
    TAP_EQ_I64(hi, 100 + 4 * 20 + 4);
    ap.offset = INT64_MAX - 3;
    TAP_OK(!osc_ap_extent(&ap, &lo, &hi));
    ap.part_stride = INT64_MIN;
    TAP_OK(!osc_ap_extent(&ap, &lo, &hi));
    ap.offset = 0; /* one partition, one element: the stride is never taken, and refused */
    ap.nparts = 1;
    ap.dim[0].count = 1;
    TAP_OK(!osc_ap_extent(&ap, &lo, &hi));
    ap.part_stride = 0;
    TAP_OK(osc_ap_extent(&ap, &lo, &hi));
    ap.dim[0].stride = INT64_MAX / 2;
    TAP_OK(!osc_ap_extent(&ap, &lo, &hi));
    ap.ndim = 4;
    ap.dim[0].count = ap.dim[1].count = ap.dim[2].count = ap.dim[3].count = UINT32_MAX;
    TAP_EQ_U64(osc_ap_row_elems(&ap), UINT64_MAX);
}

static void test_dma_engines(void)
{
    static const struct {
        uint16_t dst, src;
        uint32_t engines;
    } CASES[] = {
        {1, 1, 1},      {8, 1, 1},    {9, 1, 2},    {4, 64, 8},
        {128, 128, 16}, {121, 1, 16}, {120, 1, 15}, {1, 0, 1},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        osc_inst inst = {
            .opcode = OSC_OP_DMA_COPY, .dst.nparts = CASES[i].dst, .src[0].nparts = CASES[i].src};
        TAP_EQ_U64(osc_isa_dma_engines(&inst), CASES[i].engines);
    }
}

int main(void)
{
    TAP_RUN(test_samples_are_legal);
    TAP_RUN(test_rows_count_operands);
    TAP_RUN(test_each_rule_refuses);
    TAP_RUN(test_generations_differ);
    TAP_RUN(test_unknown_numbers);
    TAP_RUN(test_extent);
    TAP_RUN(test_dma_engines);
    return tap_done();
}
