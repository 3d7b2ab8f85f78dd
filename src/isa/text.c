/*
 * text.c - one instruction as one line of text, and back.
 *
 *     Vector tensor_tensor alu0=multiply dst=sbuf.bf16(p0,n4,@2048)[512:1] src0=... wait=3>=16 inc=4+1
 *
 * Every field that is not zero appears, in a fixed order, so a line says all there is and assembling it
 * gives the same instruction. The grammar is in docs/formats/neff.md. Numbers are decimal; floats have
 * the nine digits that identify a float, a NaN carries its bits.
 *
 * Rejected: a prettier syntax with implied shapes. People read the summaries of `opscope disasm`; this
 * line is what they compare, so it must be exact.
 */
#include "isa/isa.h"

#include "base/num.h"
#include "base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const SPACE_WORDS[] = {"none", "hbm", "sbuf", "psum", "imm", "reg"};
#define SPACE_COUNT (sizeof SPACE_WORDS / sizeof SPACE_WORDS[0])

static const struct flag_word {
    uint32_t bit;
    const char *word;
} FLAG_WORDS[] = {
    {OSC_INST_ACCUMULATE, "accumulate"}, {OSC_INST_REVERSE0, "reverse0"},
    {OSC_INST_REVERSE1, "reverse1"},     {OSC_INST_NEGATE, "negate"},
    {OSC_INST_FP32_FULL, "fp32_full"},
};
#define FLAG_COUNT (sizeof FLAG_WORDS / sizeof FLAG_WORDS[0])

/* ---- to text ---- */

typedef struct line {
    char *out;
    size_t cap, len; /* len < cap; what does not fit is cut */
} line;

static void put(line *l, const char *fmt, ...) OSC_PRINTF(2, 3);

static void put(line *l, const char *fmt, ...)
{
    size_t room = l->cap - l->len;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(l->out + l->len, room, fmt, args);
    va_end(args);
    assert(n >= 0);
    l->len = (size_t)n < room ? l->len + (size_t)n : l->cap - 1;
}

static void put_float(line *l, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        put(l, "nan:0x%08" PRIx32, bits);
    else
        put(l, "%.9g", (double)value);
}

static void put_flags(line *l, uint32_t flags)
{
    const char *separator = "";
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if (!(flags & FLAG_WORDS[i].bit))
            continue;
        put(l, "%s%s", separator, FLAG_WORDS[i].word);
        separator = "+";
        flags &= ~FLAG_WORDS[i].bit;
    }
    if (flags != 0)
        put(l, "%s0x%" PRIx32, separator, flags);
}

static void put_pattern(line *l, const char *key, const osc_ap *ap)
{
    if (osc_ap_is_absent(ap))
        return;
    assert(ap->space < SPACE_COUNT && ap->ndim <= OSC_AP_DIMS);
    bool hbm = ap->space == OSC_SPACE_HBM;
    bool chip = ap->space == OSC_SPACE_SBUF || ap->space == OSC_SPACE_PSUM;
    const char *separator = "(";
    put(l, " %s=%s", key, SPACE_WORDS[ap->space]);
    if (ap->dtype != OSC_DTYPE_NONE)
        put(l, ".%s", osc_dtype_name((osc_dtype)ap->dtype));
#define ITEM(condition, ...)         \
    do {                             \
        if (condition) {             \
            put(l, "%s", separator); \
            put(l, __VA_ARGS__);     \
            separator = ",";         \
        }                            \
    } while (0)
    ITEM(hbm || ap->tensor != 0, "t%u", ap->tensor);
    ITEM(chip || ap->start_partition != 0, "p%u", ap->start_partition);
    ITEM(ap->nparts != 0, "n%u", ap->nparts);
    ITEM(hbm || ap->part_stride != 0, "s%" PRId64, ap->part_stride);
    ITEM(hbm || chip || ap->offset != 0 || ap->space == OSC_SPACE_REG, "@%" PRId64, ap->offset);
#undef ITEM
    if (*separator == ',')
        put(l, ")");
    for (uint32_t i = 0; i < ap->ndim; i++)
        put(l, "[%" PRIu32 ":%" PRId64 "]", ap->dim[i].count, ap->dim[i].stride);
}

static void put_numbers(line *l, const osc_inst *inst)
{
    static const char *const IMM_KEYS[3] = {"imm0", "imm1", "imm2"};
    for (unsigned i = 0; i < 2; i++) {
        if (inst->alu[i] != OSC_ALU_BYPASS)
            put(l, " alu%u=%s", i, osc_alu_name((osc_alu)inst->alu[i]));
    }
    if (inst->act != 0)
        put(l, " act=%s", osc_act_name((osc_act)inst->act));
    if (inst->axes != 0)
        put(l, " axes=%u", inst->axes);
    if (inst->flags != 0) {
        put(l, " flags=");
        put_flags(l, inst->flags);
    }
    if (inst->iimm != 0)
        put(l, " iimm=%" PRId64, inst->iimm);
    if (inst->iimm2 != 0)
        put(l, " iimm2=%" PRId64, inst->iimm2);
    for (unsigned i = 0; i < 3; i++) {
        if (inst->imm[i] == 0.0f && !signbit(inst->imm[i]))
            continue;
        put(l, " %s=", IMM_KEYS[i]);
        put_float(l, inst->imm[i]);
    }
    if (inst->channel_multiplier != 0)
        put(l, " multiplier=%" PRId32, inst->channel_multiplier);
}

void osc_isa_disassemble(const osc_inst *inst, char *out, size_t cap)
{
    assert(cap > 0);
    const osc_isa_row *row = osc_isa_row_of(inst->opcode);
    line l = {out, cap, 0};
    out[0] = '\0';
    put(&l, "%s ", osc_engine_name((osc_engine)inst->engine));
    if (row == NULL) {
        put(&l, "opcode_%u", inst->opcode);
        return;
    }
    put(&l, "%s", row->name);
    put_numbers(&l, inst);
    put_pattern(&l, "dst", &inst->dst);
    put_pattern(&l, "dst2", &inst->dst2);
    put_pattern(&l, "src0", &inst->src[0]);
    put_pattern(&l, "src1", &inst->src[1]);
    put_pattern(&l, "src2", &inst->src[2]);
    for (unsigned i = 0; i < inst->nwaits; i++)
        put(&l, " wait=%u>=%" PRIu32, inst->waits[i].sem, inst->waits[i].value);
    for (unsigned i = 0; i < inst->nincs; i++)
        put(&l, " inc=%u+%" PRIu32, inst->incs[i].sem, inst->incs[i].value);
    if (inst->source != OSC_NO_SOURCE)
        put(&l, " source=%" PRIu32, inst->source);
}

/* ---- from text ---- */

/* Whole-view numbers in a range. */
static bool parse_int(osc_str text, int64_t min, int64_t max, int64_t *out)
{
    int64_t value;
    if (!osc_parse_i64(text, &value) || value < min || value > max)
        return false;
    *out = value;
    return true;
}

static bool parse_u32(osc_str text, uint32_t *out)
{
    int64_t value;
    if (!parse_int(text, 0, UINT32_MAX, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

/* Index of a word in a table that name_of(0..count-1) describes; false when it is not there. */
static bool parse_word(osc_str text, const char *(*name_of)(unsigned), unsigned count, uint8_t *out)
{
    for (unsigned i = 0; i < count; i++) {
        if (osc_str_eq_cstr(text, name_of(i))) {
            *out = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static const char *engine_word(unsigned i)
{
    return osc_engine_name((osc_engine)i);
}

static const char *opcode_word(unsigned i)
{
    return osc_isa_row_of(i)->name;
}

static const char *alu_word(unsigned i)
{
    return osc_alu_name((osc_alu)i);
}

static const char *act_word(unsigned i)
{
    return osc_act_name((osc_act)i);
}

static const char *dtype_word(unsigned i)
{
    return osc_dtype_name((osc_dtype)i);
}

static const char *space_word(unsigned i)
{
    return SPACE_WORDS[i];
}

static bool parse_float(osc_str text, float *out)
{
    static const osc_str NAN_MARK = {"nan:", 4};
    uint64_t bits;
    double value;
    if (osc_str_starts(text, NAN_MARK)) {
        if (!osc_parse_u64_any(osc_str_sub(text, NAN_MARK.len, SIZE_MAX), &bits) ||
            bits > UINT32_MAX)
            return false;
        uint32_t word = (uint32_t)bits;
        memcpy(out, &word, sizeof word);
        return isnan(*out);
    }
    if (!osc_parse_f64(text, &value))
        return false;
    *out = (float)value;
    return true;
}

static bool parse_flags(osc_str text, uint32_t *flags)
{
    osc_str word;
    while (osc_str_split(&text, '+', &word)) {
        uint64_t bits = 0;
        for (size_t i = 0; i < FLAG_COUNT && bits == 0; i++)
            bits = osc_str_eq_cstr(word, FLAG_WORDS[i].word) ? FLAG_WORDS[i].bit : 0;
        if (bits == 0 && (!osc_parse_u64_any(word, &bits) || bits > UINT32_MAX))
            return false;
        *flags |= (uint32_t)bits;
    }
    return true;
}

/* "3>=16" or "4+1": number, separator, number. */
static bool parse_sem(osc_str text, osc_str separator, osc_sem_op *op)
{
    size_t at = osc_str_find(text, separator);
    int64_t sem;
    if (at == SIZE_MAX || !parse_int(osc_str_sub(text, 0, at), 0, UINT16_MAX, &sem) ||
        !parse_u32(osc_str_sub(text, at + separator.len, SIZE_MAX), &op->value))
        return false;
    op->sem = (uint16_t)sem;
    return true;
}

/* One of "t3", "p0", "n4", "s512", "@2048". */
static bool parse_item(osc_str item, osc_ap *ap)
{
    int64_t value;
    if (item.len < 2)
        return false;
    osc_str number = osc_str_sub(item, 1, SIZE_MAX);
    switch (item.ptr[0]) {
    case '@': return parse_int(number, INT64_MIN, INT64_MAX, &ap->offset);
    case 's': return parse_int(number, INT64_MIN, INT64_MAX, &ap->part_stride);
    case 't':
        if (!parse_int(number, 0, UINT16_MAX, &value))
            return false;
        ap->tensor = (uint16_t)value;
        return true;
    case 'n':
        if (!parse_int(number, 0, UINT16_MAX, &value))
            return false;
        ap->nparts = (uint16_t)value;
        return true;
    case 'p':
        if (!parse_int(number, 0, UINT8_MAX, &value))
            return false;
        ap->start_partition = (uint8_t)value;
        return true;
    default: return false;
    }
}

/* "[512:1]..." */
static bool parse_dims(osc_str text, osc_ap *ap)
{
    while (text.len > 0) {
        size_t end = osc_str_find_char(text, ']', 0);
        size_t colon = osc_str_find_char(text, ':', 0);
        if (text.ptr[0] != '[' || end == SIZE_MAX || colon == SIZE_MAX || colon > end ||
            ap->ndim == OSC_AP_DIMS)
            return false;
        osc_ap_dim *dim = &ap->dim[ap->ndim++];
        if (!parse_u32(osc_str_sub(text, 1, colon - 1), &dim->count) ||
            !parse_int(osc_str_sub(text, colon + 1, end - colon - 1), INT64_MIN, INT64_MAX,
                       &dim->stride))
            return false;
        text = osc_str_sub(text, end + 1, SIZE_MAX);
    }
    return true;
}

static bool parse_pattern(osc_str text, osc_ap *ap)
{
    memset(ap, 0, sizeof *ap);
    size_t head = 0;
    while (head < text.len && text.ptr[head] != '(' && text.ptr[head] != '[')
        head++;
    osc_str rest = osc_str_sub(text, head, SIZE_MAX);
    osc_str word = osc_str_sub(text, 0, head);
    size_t dot = osc_str_find_char(word, '.', 0);
    if (dot != SIZE_MAX &&
        !parse_word(osc_str_sub(word, dot + 1, SIZE_MAX), dtype_word, OSC_DTYPE_COUNT, &ap->dtype))
        return false;
    if (!parse_word(dot == SIZE_MAX ? word : osc_str_sub(word, 0, dot), space_word, SPACE_COUNT,
                    &ap->space))
        return false;
    if (rest.len > 0 && rest.ptr[0] == '(') {
        size_t end = osc_str_find_char(rest, ')', 0);
        if (end == SIZE_MAX)
            return false;
        osc_str items = osc_str_sub(rest, 1, end - 1), item;
        while (osc_str_split(&items, ',', &item)) {
            if (!parse_item(item, ap))
                return false;
        }
        rest = osc_str_sub(rest, end + 1, SIZE_MAX);
    }
    return parse_dims(rest, ap);
}

/* The operand a key names, or NULL. */
static osc_ap *operand_of(osc_str key, osc_inst *inst)
{
    static const char *const KEYS[5] = {"dst", "dst2", "src0", "src1", "src2"};
    osc_ap *const patterns[5] = {&inst->dst, &inst->dst2, &inst->src[0], &inst->src[1],
                                 &inst->src[2]};
    for (unsigned i = 0; i < 5; i++) {
        if (osc_str_eq_cstr(key, KEYS[i]))
            return patterns[i];
    }
    return NULL;
}

static bool parse_sems(osc_str key, osc_str value, osc_inst *inst)
{
    if (osc_str_eq_cstr(key, "wait"))
        return inst->nwaits < OSC_INST_WAITS &&
               parse_sem(value, OSC_STR(">="), &inst->waits[inst->nwaits++]);
    if (osc_str_eq_cstr(key, "inc"))
        return inst->nincs < OSC_INST_INCS &&
               parse_sem(value, OSC_STR("+"), &inst->incs[inst->nincs++]);
    return false;
}

static bool parse_number(osc_str key, osc_str value, osc_inst *inst)
{
    int64_t number;
    if (osc_str_eq_cstr(key, "iimm"))
        return parse_int(value, INT64_MIN, INT64_MAX, &inst->iimm);
    if (osc_str_eq_cstr(key, "iimm2"))
        return parse_int(value, INT64_MIN, INT64_MAX, &inst->iimm2);
    if (osc_str_eq_cstr(key, "source"))
        return parse_u32(value, &inst->source);
    if (osc_str_eq_cstr(key, "imm0"))
        return parse_float(value, &inst->imm[0]);
    if (osc_str_eq_cstr(key, "imm1"))
        return parse_float(value, &inst->imm[1]);
    if (osc_str_eq_cstr(key, "imm2"))
        return parse_float(value, &inst->imm[2]);
    if (osc_str_eq_cstr(key, "axes") && parse_int(value, 0, UINT8_MAX, &number)) {
        inst->axes = (uint8_t)number;
        return true;
    }
    if (osc_str_eq_cstr(key, "multiplier") && parse_int(value, INT32_MIN, INT32_MAX, &number)) {
        inst->channel_multiplier = (int32_t)number;
        return true;
    }
    return false;
}

/* One "key=value". */
static bool parse_pair(osc_str pair, osc_inst *inst)
{
    size_t equals = osc_str_find_char(pair, '=', 0);
    if (equals == SIZE_MAX)
        return false;
    osc_str key = osc_str_sub(pair, 0, equals), value = osc_str_sub(pair, equals + 1, SIZE_MAX);
    osc_ap *operand = operand_of(key, inst);
    if (operand != NULL)
        return parse_pattern(value, operand);
    if (osc_str_eq_cstr(key, "alu0"))
        return parse_word(value, alu_word, OSC_ALU_COUNT, &inst->alu[0]);
    if (osc_str_eq_cstr(key, "alu1"))
        return parse_word(value, alu_word, OSC_ALU_COUNT, &inst->alu[1]);
    if (osc_str_eq_cstr(key, "act"))
        return parse_word(value, act_word, OSC_ACT_COUNT, &inst->act);
    if (osc_str_eq_cstr(key, "flags"))
        return parse_flags(value, &inst->flags);
    return parse_sems(key, value, inst) || parse_number(key, value, inst);
}

osc_status osc_isa_assemble(const char *text, osc_inst *inst, osc_err *err)
{
    osc_str rest = osc_str_from_cstr(text), word = {"", 0};
    uint64_t at = 0; /* where word begins */
    memset(inst, 0, sizeof *inst);
    inst->source = OSC_NO_SOURCE;
    if (!osc_str_split(&rest, ' ', &word) ||
        !parse_word(word, engine_word, OSC_ENGINE_COUNT, &inst->engine))
        return osc_fail(err, OSC_EFORMAT, NULL, at, "no engine is called '%.*s'; e.g. Vector",
                        OSC_STR_FMT(word));
    at += word.len + 1;
    if (!osc_str_split(&rest, ' ', &word) ||
        !parse_word(word, opcode_word, OSC_OPCODE_COUNT, &inst->opcode))
        return osc_fail(err, OSC_EFORMAT, NULL, at,
                        "no instruction is called '%.*s'; docs/isa.md lists them",
                        OSC_STR_FMT(word));
    at += word.len + 1;
    while (osc_str_split(&rest, ' ', &word)) {
        if (!parse_pair(word, inst))
            return osc_fail(err, OSC_EFORMAT, NULL, at, "cannot read '%.*s' of an instruction",
                            OSC_STR_FMT(word));
        at += word.len + 1;
    }
    return OSC_OK;
}
