/* test_isa_encode.c - binary and text form of instructions: round trips, properties, hostile bytes. */
#include "isa_samples.h"
#include "tap.h"

#include "base/rng.h"
#include "isa/isa.h"

#include <string.h>

#define SEED UINT64_C(20260703)

static osc_inst sample(size_t index)
{
    osc_inst inst;
    osc_err err = {0};
    osc_status status = osc_isa_assemble(ISA_SAMPLES[index], &inst, &err);
    TAP_OKF(status == OSC_OK, "%s: %s", ISA_SAMPLES[index], err.message);
    return inst;
}

/* Instructions are compared by their encoding's fields: bytes of the struct, which has no padding that
 * assemble and decode do not zero. */
static bool same(const osc_inst *a, const osc_inst *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool binary_round_trip(const osc_inst *inst)
{
    osc_buf first, second;
    osc_inst back;
    osc_err err = {0};
    osc_buf_init(&first, 4096);
    osc_buf_init(&second, 4096);
    osc_isa_encode(inst, &first);
    osc_cursor c = osc_cursor_make(first.data, first.len);
    bool ok = osc_isa_decode(&c, &back, &err) == OSC_OK && osc_cursor_done(&c) && same(inst, &back);
    if (ok)
        osc_isa_encode(&back, &second);
    ok = ok && first.len == second.len && memcmp(first.data, second.data, first.len) == 0;
    osc_buf_free(&first);
    osc_buf_free(&second);
    return ok;
}

static bool text_round_trip(const osc_inst *inst, char *text)
{
    osc_inst back;
    osc_err err = {0};
    osc_isa_disassemble(inst, text, OSC_ISA_TEXT_MAX);
    return strlen(text) < OSC_ISA_TEXT_MAX - 1 && osc_isa_assemble(text, &back, &err) == OSC_OK &&
           same(inst, &back);
}

static void test_samples(void)
{
    char text[OSC_ISA_TEXT_MAX];
    for (size_t i = 0; i < ISA_SAMPLE_COUNT; i++) {
        osc_inst inst = sample(i);
        TAP_OKF(binary_round_trip(&inst), "binary: %s", ISA_SAMPLES[i]);
        TAP_OKF(text_round_trip(&inst, text), "text: %s", ISA_SAMPLES[i]);
    }
}

static int64_t any_i64(osc_rng *r)
{
    uint64_t bits = osc_rng_next(r) >> osc_rng_below(r, 64);
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return osc_rng_below(r, 2) && value != INT64_MIN ? -value : value;
}

static osc_ap any_pattern(osc_rng *r)
{
    osc_ap ap;
    memset(&ap, 0, sizeof ap);
    if (osc_rng_below(r, 4) == 0)
        return ap;
    ap.space = (uint8_t)osc_rng_below(r, OSC_SPACE_REG + 1);
    ap.dtype = (uint8_t)osc_rng_below(r, OSC_DTYPE_COUNT);
    ap.ndim = (uint8_t)osc_rng_below(r, OSC_AP_DIMS + 1);
    ap.start_partition = (uint8_t)osc_rng_below(r, 256);
    ap.nparts = (uint16_t)osc_rng_below(r, 65536);
    ap.tensor = (uint16_t)osc_rng_below(r, 65536);
    ap.offset = any_i64(r);
    ap.part_stride = any_i64(r);
    for (unsigned i = 0; i < ap.ndim; i++) {
        ap.dim[i].stride = any_i64(r);
        ap.dim[i].count = (uint32_t)(osc_rng_next(r) >> osc_rng_below(r, 64));
    }
    return ap;
}

static float any_float(osc_rng *r)
{
    uint32_t bits = osc_rng_below(r, 2) ? (uint32_t)osc_rng_next(r) : 0;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Any instruction that can be encoded, legal or not. */
static osc_inst any_inst(osc_rng *r)
{
    osc_inst inst;
    memset(&inst, 0, sizeof inst);
    inst.opcode = (uint8_t)osc_rng_below(r, OSC_OPCODE_COUNT);
    inst.engine = (uint8_t)osc_rng_below(r, OSC_ENGINE_COUNT);
    inst.alu[0] = (uint8_t)osc_rng_below(r, OSC_ALU_COUNT);
    inst.alu[1] = (uint8_t)osc_rng_below(r, OSC_ALU_COUNT);
    inst.act = (uint8_t)osc_rng_below(r, OSC_ACT_COUNT);
    inst.axes = (uint8_t)osc_rng_below(r, 256);
    inst.flags = (uint32_t)(osc_rng_next(r) >> osc_rng_below(r, 64));
    inst.source = osc_rng_below(r, 2) ? OSC_NO_SOURCE : (uint32_t)osc_rng_next(r);
    inst.iimm = any_i64(r);
    inst.iimm2 = any_i64(r);
    for (unsigned i = 0; i < 3; i++)
        inst.imm[i] = any_float(r);
    inst.channel_multiplier = (int32_t)(uint32_t)osc_rng_next(r);
    inst.nwaits = (uint8_t)osc_rng_below(r, OSC_INST_WAITS + 1);
    inst.nincs = (uint8_t)osc_rng_below(r, OSC_INST_INCS + 1);
    for (unsigned i = 0; i < inst.nwaits; i++)
        inst.waits[i] =
            (osc_sem_op){(uint16_t)osc_rng_below(r, OSC_SEMAPHORES), 0, (uint32_t)osc_rng_next(r)};
    for (unsigned i = 0; i < inst.nincs; i++)
        inst.incs[i] =
            (osc_sem_op){(uint16_t)osc_rng_below(r, OSC_SEMAPHORES), 0, (uint32_t)osc_rng_next(r)};
    inst.dst = any_pattern(r);
    inst.dst2 = any_pattern(r);
    for (unsigned i = 0; i < 3; i++)
        inst.src[i] = any_pattern(r);
    return inst;
}

static void test_random_instructions(void)
{
    osc_rng r = {SEED};
    char text[OSC_ISA_TEXT_MAX];
    tap_note("seed %llu", (unsigned long long)SEED);
    for (unsigned i = 0; i < 20000; i++) {
        osc_inst inst = any_inst(&r);
        bool binary = binary_round_trip(&inst), readable = text_round_trip(&inst, text);
        if (!binary || !readable) {
            TAP_OKF(binary, "binary, case %u", i);
            TAP_OKF(readable, "text, case %u: %s", i, text);
            return;
        }
    }
    TAP_OK(true);
}

/* Whatever the bytes, decode stops inside them, and what it accepts encodes and decodes to itself. */
static void test_hostile_bytes(void)
{
    osc_rng r = {SEED + 1};
    osc_buf buf;
    osc_buf_init(&buf, 65536);
    unsigned accepted = 0, wrong = 0;
    for (unsigned i = 0; i < 20000; i++) {
        osc_inst inst = sample(i % ISA_SAMPLE_COUNT), back;
        osc_err err = {0};
        osc_buf_clear(&buf);
        osc_isa_encode(&inst, &buf);
        for (uint64_t edits = osc_rng_below(&r, 4); edits > 0; edits--)
            buf.data[2 + osc_rng_below(&r, buf.len - 2)] = (unsigned char)osc_rng_next(&r);
        osc_cursor c = osc_cursor_make(buf.data, buf.len);
        if (osc_isa_decode(&c, &back, &err) == OSC_OK) {
            accepted++;
            wrong += !binary_round_trip(&back);
        }
    }
    osc_buf_free(&buf);
    TAP_EQ_U64(wrong, 0);
    TAP_OK(accepted > 5000 && accepted < 20000);
}

static void expect_decode(const void *bytes, size_t n, osc_status want)
{
    osc_inst inst;
    osc_err err = {0};
    osc_cursor c = osc_cursor_make(bytes, n);
    TAP_EQ_STATUS(osc_isa_decode(&c, &inst, &err), want);
    TAP_OK(want == OSC_OK || err.message[0] != '\0');
}

/* The example of docs/formats/neff.md, byte by byte. */
static void test_documented_record(void)
{
    static const uint8_t WANT[] = {
        0x28, 0x00, 0x01, 0x04, 0x05, 0x00, 0x81, 0xa0, 0x03, 0x03, 0x12, 0x08, 0x00, 0x04,
        0x00, 0x00, 0x00, 0x02, 0x80, 0x04, 0x12, 0x08, 0x00, 0x04, 0x00, 0x80, 0x10, 0x00,
        0x02, 0x80, 0x04, 0x12, 0x08, 0x00, 0x04, 0x00, 0x80, 0x20, 0x00, 0x02, 0x80, 0x04,
    };
    osc_inst inst;
    osc_err err = {0};
    osc_buf got;
    osc_buf_init(&got, 4096);
    TAP_EQ_STATUS(
        osc_isa_assemble("Vector tensor_tensor alu0=multiply dst=sbuf.bf16(p0,n4,@0)[512:1] "
                         "src0=sbuf.bf16(p0,n4,@1024)[512:1] "
                         "src1=sbuf.bf16(p0,n4,@2048)[512:1]",
                         &inst, &err),
        OSC_OK);
    osc_isa_encode(&inst, &got);
    TAP_EQ_U64(got.len, sizeof WANT);
    TAP_EQ_MEM(got.data, WANT, sizeof WANT);
    osc_buf_free(&got);
}

static void test_decode_refuses(void)
{
    expect_decode("\5\0\1\0\6\0\0", 7, OSC_OK); /* Sync nop */
    expect_decode("\5\0\1\0\6\0", 6, OSC_ETRUNCATED);
    expect_decode("\5", 1, OSC_ETRUNCATED);
    expect_decode("\5\0\2\0\6\0\0", 7, OSC_EVERSION);
    expect_decode("\5\0\0\0\6\0\0", 7, OSC_EFORMAT);           /* version 0 */
    expect_decode("\5\0\1\x80\6\0\0", 7, OSC_EFORMAT);         /* opcode 128 */
    expect_decode("\5\0\1\0\x07\0\0", 7, OSC_EFORMAT);         /* engine 7 */
    expect_decode("\5\0\1\0\6\5\0", 7, OSC_EFORMAT);           /* five waits */
    expect_decode("\5\0\1\0\6\x30\0", 7, OSC_EFORMAT);         /* three increments */
    expect_decode("\6\0\1\0\6\0\0\0", 8, OSC_EFORMAT);         /* a byte too many */
    expect_decode("\7\0\1\0\6\0\x80\x80\x08", 9, OSC_EFORMAT); /* field 17 */
    expect_decode("\6\0\1\0\6\0\1\xff", 8, OSC_EFORMAT);       /* alu0 255 */
    expect_decode("\2\0\1\0", 4, OSC_EFORMAT);                 /* shorter than its fixed part */
}

static void test_short_buffers(void)
{
    osc_inst inst = sample(2);
    char full[OSC_ISA_TEXT_MAX], cut[64];
    osc_isa_disassemble(&inst, full, sizeof full);
    TAP_EQ_STR(full, ISA_SAMPLES[2]);
    for (size_t cap = 1; cap <= sizeof cut; cap++) {
        memset(cut, 'x', sizeof cut);
        osc_isa_disassemble(&inst, cut, cap);
        TAP_OK(strlen(cut) == cap - 1 && strncmp(cut, full, cap - 1) == 0);
    }
    inst.opcode = 200;
    osc_isa_disassemble(&inst, full, sizeof full);
    TAP_EQ_STR(full, "GpSimd opcode_200");
}

static void test_assemble_refuses(void)
{
    static const char *const BAD[] = {
        "",
        "Vectra nop",
        "Vector",
        "Vector nip",
        "Vector nop x",
        "Vector nop x=1",
        "Vector nop alu0=plus",
        "Vector nop axes=256",
        "Vector nop iimm=1.5",
        "Vector nop imm0=abc",
        "Vector nop imm0=nan:0x1",
        "Vector nop dst=ram",
        "Vector nop dst=sbuf.bf17",
        "Vector nop dst=sbuf(p256)",
        "Vector nop dst=sbuf(q1)",
        "Vector nop dst=sbuf(p)",
        "Vector nop dst=sbuf(p1",
        "Vector nop dst=sbuf[1]",
        "Vector nop dst=sbuf[1:1",
        "Vector nop dst=sbuf[1:1]x",
        "Vector nop dst=sbuf[1:1][1:1][1:1][1:1][1:1]",
        "Vector nop wait=1",
        "Vector nop wait=1>=x",
        "Vector nop wait=1>=1 wait=1>=1 wait=1>=1 wait=1>=1 wait=1>=1",
        "Vector nop inc=1+1 inc=1+1 inc=1+1",
        "Vector nop flags=fast",
        "Vector nop  ",
        "Vector nop multiplier=x",
        "Vector nop source=-1",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        osc_inst inst;
        osc_err err = {0};
        osc_status status = osc_isa_assemble(BAD[i], &inst, &err);
        TAP_OKF(status == OSC_EFORMAT && err.message[0] != '\0', "refused: '%s'", BAD[i]);
    }
}

int main(void)
{
    TAP_RUN(test_samples);
    TAP_RUN(test_random_instructions);
    TAP_RUN(test_hostile_bytes);
    TAP_RUN(test_documented_record);
    TAP_RUN(test_decode_refuses);
    TAP_RUN(test_short_buffers);
    TAP_RUN(test_assemble_refuses);
    return tap_done();
}
