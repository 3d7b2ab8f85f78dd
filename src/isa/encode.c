/*
 * encode.c - the binary form of one instruction, and back.
 *
 * A record is a u16 length and that many bytes: version, opcode, engine, counts of waits and increments,
 * a varint that says which fields follow, then those fields in a fixed order (docs/formats/neff.md).
 * Absent fields are zero (source: OSC_NO_SOURCE), so a short instruction is a short record. Signed numbers
 * are zigzag varints.
 *
 * The decoder guarantees enumerations in range, at most four dims, and that encoding the result gives
 * an equivalent record. It does not check legality: that is osc_isa_check's, which knows the generation.
 *
 * Rejected: the fixed struct as it lies in memory. It is five times larger, and its padding and byte
 * order would become part of the format.
 */
#include "isa/isa.h"

#include <assert.h>
#include <string.h>

#define RECORD_VERSION 1u

/* Bits of the field mask, in the order of the fields. Numbers are part of the format. */
#define FIELD_ALU0       (1u << 0)
#define FIELD_ALU1       (1u << 1)
#define FIELD_ACT        (1u << 2)
#define FIELD_AXES       (1u << 3)
#define FIELD_FLAGS      (1u << 4)
#define FIELD_SOURCE     (1u << 5)
#define FIELD_IIMM       (1u << 6)
#define FIELD_IIMM2      (1u << 7)
#define FIELD_IMM0       (1u << 8) /* imm1 and imm2: the next bits */
#define FIELD_MULTIPLIER (1u << 11)
#define FIELD_DST        (1u << 12)
#define FIELD_DST2       (1u << 13)
#define FIELD_SRC0       (1u << 14) /* src1 and src2: the next bits */
#define FIELD_ALL        ((1u << 17) - 1u)

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t value)
{
    uint64_t bits = value >> 1 ^ (value & 1u ? UINT64_MAX : 0);
    int64_t result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t fields_of(const osc_inst *inst)
{
    uint32_t fields = 0;
    fields |= inst->alu[0] ? FIELD_ALU0 : 0u;
    fields |= inst->alu[1] ? FIELD_ALU1 : 0u;
    fields |= inst->act ? FIELD_ACT : 0u;
    fields |= inst->axes ? FIELD_AXES : 0u;
    fields |= inst->flags ? FIELD_FLAGS : 0u;
    fields |= inst->source != OSC_NO_SOURCE ? FIELD_SOURCE : 0u;
    fields |= inst->iimm ? FIELD_IIMM : 0u;
    fields |= inst->iimm2 ? FIELD_IIMM2 : 0u;
    for (uint32_t i = 0; i < 3; i++)
        fields |= float_bits(inst->imm[i]) ? FIELD_IMM0 << i : 0u;
    fields |= inst->channel_multiplier ? FIELD_MULTIPLIER : 0u;
    fields |= osc_ap_is_absent(&inst->dst) ? 0u : FIELD_DST;
    fields |= osc_ap_is_absent(&inst->dst2) ? 0u : FIELD_DST2;
    for (uint32_t i = 0; i < 3; i++)
        fields |= osc_ap_is_absent(&inst->src[i]) ? 0u : FIELD_SRC0 << i;
    return fields;
}

static void encode_pattern(const osc_ap *ap, osc_buf *out)
{
    assert(ap->ndim <= OSC_AP_DIMS && ap->space <= OSC_SPACE_REG);
    osc_buf_u8(out, (uint8_t)(ap->space | ap->ndim << 4));
    osc_buf_u8(out, ap->dtype);
    osc_buf_u8(out, ap->start_partition);
    osc_buf_varint(out, ap->nparts);
    osc_buf_varint(out, ap->tensor);
    osc_buf_varint(out, zigzag(ap->offset));
    osc_buf_varint(out, zigzag(ap->part_stride));
    for (uint32_t i = 0; i < ap->ndim; i++) {
        osc_buf_varint(out, zigzag(ap->dim[i].stride));
        osc_buf_varint(out, ap->dim[i].count);
    }
}

static void encode_numbers(const osc_inst *inst, uint32_t fields, osc_buf *out)
{
    const uint8_t bytes[4] = {inst->alu[0], inst->alu[1], inst->act, inst->axes};
    for (uint32_t i = 0; i < 4; i++) {
        if (fields & FIELD_ALU0 << i)
            osc_buf_u8(out, bytes[i]);
    }
    if (fields & FIELD_FLAGS)
        osc_buf_varint(out, inst->flags);
    if (fields & FIELD_SOURCE)
        osc_buf_varint(out, inst->source);
    if (fields & FIELD_IIMM)
        osc_buf_varint(out, zigzag(inst->iimm));
    if (fields & FIELD_IIMM2)
        osc_buf_varint(out, zigzag(inst->iimm2));
    for (uint32_t i = 0; i < 3; i++) {
        if (fields & FIELD_IMM0 << i)
            osc_buf_u32(out, float_bits(inst->imm[i]));
    }
    if (fields & FIELD_MULTIPLIER)
        osc_buf_varint(out, zigzag(inst->channel_multiplier));
}

static void encode_sem(const osc_sem_op *op, osc_buf *out)
{
    osc_buf_varint(out, op->sem);
    osc_buf_varint(out, op->value);
}

void osc_isa_encode(const osc_inst *inst, osc_buf *out)
{
    assert(inst->nwaits <= OSC_INST_WAITS && inst->nincs <= OSC_INST_INCS);
    size_t start = out->len;
    uint32_t fields = fields_of(inst);
    osc_buf_u16(out, 0); /* the length, known at the end */
    osc_buf_u8(out, RECORD_VERSION);
    osc_buf_u8(out, inst->opcode);
    osc_buf_u8(out, inst->engine);
    osc_buf_u8(out, (uint8_t)(inst->nwaits | inst->nincs << 4));
    osc_buf_varint(out, fields);
    encode_numbers(inst, fields, out);
    for (uint32_t i = 0; i < inst->nwaits; i++)
        encode_sem(&inst->waits[i], out);
    for (uint32_t i = 0; i < inst->nincs; i++)
        encode_sem(&inst->incs[i], out);
    const osc_ap *patterns[5] = {&inst->dst, &inst->dst2, &inst->src[0], &inst->src[1],
                                 &inst->src[2]};
    for (uint32_t i = 0; i < 5; i++) {
        if (fields & FIELD_DST << i)
            encode_pattern(patterns[i], out);
    }
    if (out->failed)
        return;
    size_t length = out->len - start - 2;
    assert(length <= UINT16_MAX);
    out->data[start] = (unsigned char)(length & 0xffu);
    out->data[start + 1] = (unsigned char)(length >> 8);
}

/* A varint that must not be above max; a larger one makes the cursor fail. */
static uint64_t bounded(osc_cursor *in, uint64_t max)
{
    uint64_t value = osc_cursor_varint(in);
    if (value > max) {
        osc_cursor_fail(in);
        return 0;
    }
    return value;
}

static void decode_pattern(osc_cursor *in, osc_ap *ap)
{
    uint8_t head = osc_cursor_u8(in);
    ap->space = head & 0xfu;
    ap->ndim = head >> 4;
    ap->dtype = osc_cursor_u8(in);
    ap->start_partition = osc_cursor_u8(in);
    ap->nparts = (uint16_t)bounded(in, UINT16_MAX);
    ap->tensor = (uint16_t)bounded(in, UINT16_MAX);
    ap->offset = unzigzag(osc_cursor_varint(in));
    ap->part_stride = unzigzag(osc_cursor_varint(in));
    if (ap->space > OSC_SPACE_REG || ap->ndim > OSC_AP_DIMS || ap->dtype >= OSC_DTYPE_COUNT) {
        osc_cursor_fail(in);
        ap->ndim = 0;
        return;
    }
    for (uint32_t i = 0; i < ap->ndim; i++) {
        ap->dim[i].stride = unzigzag(osc_cursor_varint(in));
        ap->dim[i].count = (uint32_t)bounded(in, UINT32_MAX);
    }
}

static float decode_float(osc_cursor *in)
{
    uint32_t bits = osc_cursor_u32(in);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void decode_numbers(osc_cursor *in, uint32_t fields, osc_inst *inst)
{
    uint8_t *const bytes[4] = {&inst->alu[0], &inst->alu[1], &inst->act, &inst->axes};
    for (uint32_t i = 0; i < 4; i++) {
        if (fields & FIELD_ALU0 << i)
            *bytes[i] = osc_cursor_u8(in);
    }
    if (fields & FIELD_FLAGS)
        inst->flags = (uint32_t)bounded(in, UINT32_MAX);
    if (fields & FIELD_SOURCE)
        inst->source = (uint32_t)bounded(in, UINT32_MAX);
    if (fields & FIELD_IIMM)
        inst->iimm = unzigzag(osc_cursor_varint(in));
    if (fields & FIELD_IIMM2)
        inst->iimm2 = unzigzag(osc_cursor_varint(in));
    for (uint32_t i = 0; i < 3; i++) {
        if (fields & FIELD_IMM0 << i)
            inst->imm[i] = decode_float(in);
    }
    if (fields & FIELD_MULTIPLIER)
        inst->channel_multiplier = (int32_t)unzigzag(bounded(in, UINT32_MAX));
}

static void decode_sem(osc_cursor *in, osc_sem_op *op)
{
    op->sem = (uint16_t)bounded(in, OSC_SEMAPHORES - 1);
    op->value = (uint32_t)bounded(in, UINT32_MAX);
}

/* The body of a version 1 record. Leaves the cursor failed on anything out of range. */
static void decode_body(osc_cursor *in, osc_inst *inst)
{
    inst->opcode = osc_cursor_u8(in);
    inst->engine = osc_cursor_u8(in);
    uint8_t counts = osc_cursor_u8(in);
    inst->nwaits = counts & 0xfu;
    inst->nincs = counts >> 4;
    uint32_t fields = (uint32_t)bounded(in, FIELD_ALL);
    if (inst->nwaits > OSC_INST_WAITS || inst->nincs > OSC_INST_INCS) {
        osc_cursor_fail(in);
        return;
    }
    decode_numbers(in, fields, inst);
    for (uint32_t i = 0; i < inst->nwaits; i++)
        decode_sem(in, &inst->waits[i]);
    for (uint32_t i = 0; i < inst->nincs; i++)
        decode_sem(in, &inst->incs[i]);
    osc_ap *const patterns[5] = {&inst->dst, &inst->dst2, &inst->src[0], &inst->src[1],
                                 &inst->src[2]};
    for (uint32_t i = 0; i < 5; i++) {
        if (fields & FIELD_DST << i)
            decode_pattern(in, patterns[i]);
    }
    bool known = inst->opcode < OSC_OPCODE_COUNT && inst->engine < OSC_ENGINE_COUNT &&
                 inst->alu[0] < OSC_ALU_COUNT && inst->alu[1] < OSC_ALU_COUNT &&
                 inst->act < OSC_ACT_COUNT;
    if (!known || osc_cursor_left(in) != 0)
        osc_cursor_fail(in);
}

osc_status osc_isa_decode(osc_cursor *in, osc_inst *inst, osc_err *err)
{
    memset(inst, 0, sizeof *inst);
    inst->source = OSC_NO_SOURCE;
    uint64_t at = osc_cursor_offset(in);
    uint16_t length = osc_cursor_u16(in);
    osc_cursor body = osc_cursor_sub(in, length);
    osc_status status = osc_cursor_status(in, NULL, "an instruction", err);
    if (status != OSC_OK)
        return status;
    uint8_t version = osc_cursor_u8(&body);
    if (version > RECORD_VERSION)
        return osc_fail(
            err, OSC_EVERSION, NULL, at,
            "instruction record of version %u, this program knows %u; use a newer opscope", version,
            RECORD_VERSION);
    if (version == RECORD_VERSION)
        decode_body(&body, inst);
    else
        osc_cursor_fail(&body);
    if (!body.failed)
        return OSC_OK;
    uint64_t bad = body.failed_at;
    memset(inst, 0, sizeof *inst);
    return osc_fail(err, OSC_EFORMAT, NULL, bad, "an instruction record of %u bytes is malformed",
                    length);
}
