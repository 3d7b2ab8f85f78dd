/*
 * devprofile_operands.c - the decoder of operand text; see devprofile_operands.h.
 *
 * One pass over blank-separated parts. A part that begins like a semaphore or an event is a wait or
 * an update, one with '=' is a field, two numbers around '*' are a size, another word is the
 * function. The only part that holds a blank is a semaphore with its owner: "S[4] (Scalar)>=1".
 */
#include "artifact/devprofile_operands.h"

#include "base/mem.h"
#include "base/num.h"

#include <assert.h>
#include <string.h>

/* Address map, summary-metrics.md 4.2. */
#define SBUF_PARTITION_BYTES UINT64_C(0x30000)
#define PSUM_BASE            UINT64_C(0x2000000)
#define PSUM_BANK            UINT64_C(0x800)
#define PSUM_BANKS           8u
#define DMA_SBUF_BASE        UINT64_C(0xfffc0000000)
#define DMA_PARTITION        UINT64_C(0x40000)
#define DMA_PARTITIONS       128u
#define DEVICE_BASE          UINT64_C(0xffff0000000)
#define DEVICE_END           UINT64_C(0xffff2000000)

/* ---- pieces ---- */

static bool starts(osc_str s, size_t at, const char *word)
{
    return osc_str_starts(osc_str_sub(s, at, SIZE_MAX), osc_str_from_cstr(word));
}

/* Decimal with sign, or hexadecimal; the whole text. */
static bool parse_number(osc_str s, int64_t *out)
{
    uint64_t u;
    if (osc_parse_i64(s, out))
        return true;
    if (!osc_parse_u64_any(s, &u) || u > INT64_MAX)
        return false;
    *out = (int64_t)u;
    return true;
}

/* "[n]" at *at: its number; moves *at behind it. */
static bool bracket_number(osc_str s, size_t *at, uint32_t *out)
{
    uint64_t value;
    size_t end = osc_str_find_char(s, ']', *at);
    if (*at >= s.len || s.ptr[*at] != '[' || end == SIZE_MAX)
        return false;
    if (!osc_parse_u64(osc_str_sub(s, *at + 1, end - *at - 1), &value) || value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    *at = end + 1;
    return true;
}

/* "[a,b,c]" at *at: up to OSC_DP_DIMS numbers; moves *at behind it. */
static bool bracket_list(osc_str s, size_t *at, int64_t out[OSC_DP_DIMS], uint32_t *count)
{
    size_t end = osc_str_find_char(s, ']', *at);
    if (*at >= s.len || s.ptr[*at] != '[' || end == SIZE_MAX)
        return false;
    osc_str rest = osc_str_sub(s, *at + 1, end - *at - 1), piece;
    *count = 0;
    while (osc_str_split(&rest, ',', &piece)) {
        if (*count == OSC_DP_DIMS || !parse_number(piece, &out[*count]))
            return false;
        (*count)++;
    }
    *at = end + 1;
    return *count > 0;
}

/* ---- semaphores ---- */

/* Name of a semaphore or event at *at: "S[4] (Scalar)", "$S[2]", "$E[4]". */
static bool sync_name(osc_str s, size_t *at, osc_dp_sync *out)
{
    size_t pos = *at;
    bool runtime = starts(s, pos, "$");
    pos += runtime;
    if (!starts(s, pos, "S[") && !(runtime && starts(s, pos, "E[")))
        return false;
    out->event = s.ptr[pos] == 'E';
    pos++;
    if (!bracket_number(s, &pos, &out->number))
        return false;
    size_t open = pos;
    while (open < s.len && s.ptr[open] == ' ')
        open++;
    size_t close = starts(s, open, "(") ? osc_str_find_char(s, ')', open) : SIZE_MAX;
    if (close != SIZE_MAX) {
        out->owner = osc_str_trim(osc_str_sub(s, open + 1, close - open - 1));
        pos = close + 1;
    }
    *at = pos;
    return true;
}

bool osc_dp_semaphore_parse(osc_str text, osc_dp_sync *out)
{
    uint64_t number;
    size_t at = 0;
    text = osc_str_trim(text);
    *out = (osc_dp_sync){0};
    if (osc_parse_u64(text, &number) && number <= UINT32_MAX) {
        out->number = (uint32_t)number;
        return true;
    }
    return sync_name(text, &at, out) && at == text.len;
}

/* What follows the name: ">=16", "==1-", "++@complete", "+=2@complete", "=0@complete". */
static bool sync_action(osc_str s, osc_dp_sync *out)
{
    static const struct {
        const char *text;
        osc_dp_sync_op op;
        bool alone; /* no number follows; it is 1 */
    } actions[] = {
        {">=", OSC_DP_WAIT_GE, false}, {"==", OSC_DP_WAIT_EQ, false}, {"++", OSC_DP_ADD, true},
        {"--", OSC_DP_SUB, true},      {"+=", OSC_DP_ADD, false},     {"-=", OSC_DP_SUB, false},
        {"=", OSC_DP_SET, false},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (!starts(s, 0, actions[i].text))
            continue;
        out->op = actions[i].op;
        s = osc_str_sub(s, strlen(actions[i].text), SIZE_MAX);
        size_t mark = osc_str_find_char(s, '@', 0); /* when: @complete is the only one seen */
        if (mark != SIZE_MAX)
            s = osc_str_sub(s, 0, mark);
        bool wait = out->op == OSC_DP_WAIT_GE || out->op == OSC_DP_WAIT_EQ;
        if (wait && osc_str_ends(s, OSC_STR("-"))) {
            out->consumes = true;
            s = osc_str_sub(s, 0, s.len - 1);
        }
        out->value = 1;
        return actions[i].alone ? s.len == 0 : parse_number(s, &out->value);
    }
    return false;
}

static void unread(osc_dp_operands *o, osc_str part)
{
    if (o->unread++ == 0)
        o->first_unread = part;
}

static void take_sync(osc_dp_operands *o, osc_str part, const osc_dp_sync *sync)
{
    bool wait = sync->op == OSC_DP_WAIT_GE || sync->op == OSC_DP_WAIT_EQ;
    uint32_t *count = wait ? &o->wait_count : &o->update_count;
    if (*count == OSC_DP_SYNCS) {
        unread(o, part);
        return;
    }
    (wait ? o->waits : o->updates)[(*count)++] = *sync;
}

/* ---- fields ---- */

/* [dtype@]0x<hex>[steps][counts], or the pattern alone. */
static bool parse_access(osc_dp_field *f)
{
    osc_str s = f->text;
    uint32_t counts;
    size_t bracket = osc_str_find_char(s, '[', 0), at = osc_str_find_char(s, '@', 0);
    if (bracket == SIZE_MAX)
        return false;
    size_t from = at != SIZE_MAX && at < bracket ? at + 1 : 0;
    osc_str address = osc_str_sub(s, from, bracket - from);
    if (address.len > 0) {
        if (!osc_str_starts(address, OSC_STR("0x")) || !osc_parse_u64_any(address, &f->address))
            return false;
    } else if (from > 0) {
        return false;
    }
    if (!bracket_list(s, &bracket, f->step, &f->dims) ||
        !bracket_list(s, &bracket, f->count, &counts) || counts != f->dims || bracket != s.len)
        return false;
    f->dtype = osc_str_sub(s, 0, from > 0 ? from - 1 : 0);
    f->kind = address.len > 0 ? OSC_DP_ACCESS : OSC_DP_PATTERN;
    if (f->kind == OSC_DP_ACCESS)
        f->place = osc_dp_place_of(f->address);
    return true;
}

static bool parse_register(osc_str s, int64_t *number)
{
    uint32_t value;
    size_t at = 2;
    if (!osc_str_starts(s, OSC_STR("$R[")) || !bracket_number(s, &at, &value) || at != s.len)
        return false;
    *number = value;
    return true;
}

static bool is_word(osc_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '.' && c != '-' && c != '(' && c != ')')
            return false;
    }
    return s.len > 0;
}

/* Every piece is a number or a register. */
static bool is_list(osc_str s)
{
    osc_str piece;
    int64_t number;
    if (s.len >= 2 && s.ptr[0] == '[' && s.ptr[s.len - 1] == ']')
        s = osc_str_sub(s, 1, s.len - 2);
    while (osc_str_split(&s, ',', &piece)) {
        if (!parse_number(piece, &number) && !parse_register(piece, &number))
            return false;
    }
    return true;
}

/* False: the value is kept as text that no rule covers. */
static bool parse_value(osc_dp_field *f)
{
    if (parse_number(f->text, &f->number)) {
        f->kind = OSC_DP_NUMBER;
        return true;
    }
    if (osc_parse_f64(f->text, &f->real)) {
        f->kind = OSC_DP_REAL;
        return true;
    }
    if (parse_register(f->text, &f->number)) {
        f->kind = OSC_DP_REGISTER;
        return true;
    }
    if (parse_access(f))
        return true;
    f->dims = 0;
    if (f->text.len > 0 && is_list(f->text)) {
        f->kind = OSC_DP_LIST;
        return true;
    }
    return is_word(f->text);
}

static void take_field(osc_dp_operands *o, osc_str part, size_t equals)
{
    if (o->field_count == OSC_DP_FIELDS) {
        unread(o, part);
        return;
    }
    osc_dp_field *f = &o->fields[o->field_count++];
    memset(f, 0, sizeof *f);
    f->key = osc_str_sub(part, 0, equals);
    f->text = osc_str_sub(part, equals + 1, SIZE_MAX);
    if (!is_word(f->key) || !parse_value(f))
        unread(o, part);
}

static bool take_size(osc_dp_operands *o, osc_str part)
{
    uint64_t rows, columns;
    size_t star = osc_str_find_char(part, '*', 0);
    if (star == SIZE_MAX || !osc_parse_u64(osc_str_sub(part, 0, star), &rows) ||
        !osc_parse_u64(osc_str_sub(part, star + 1, SIZE_MAX), &columns) || rows > UINT32_MAX ||
        columns > UINT32_MAX)
        return false;
    o->rows = (uint32_t)rows;
    o->columns = (uint32_t)columns;
    return true;
}

/* ---- the whole ---- */

/* End of the part that begins at `at`: the next blank, or behind the action of a semaphore. */
static size_t part_end(osc_str s, size_t at, osc_dp_sync *sync, bool *is_sync)
{
    size_t pos = at;
    *sync = (osc_dp_sync){0};
    *is_sync = sync_name(s, &pos, sync);
    if (!*is_sync)
        pos = at;
    size_t blank = osc_str_find_char(s, ' ', pos);
    size_t end = blank == SIZE_MAX ? s.len : blank;
    if (*is_sync && !sync_action(osc_str_sub(s, pos, end - pos), sync))
        *is_sync = false;
    return end;
}

void osc_dp_operands_parse(osc_str text, osc_dp_operands *out)
{
    /* the arrays are written before they are read; clearing them costs more than parsing */
    out->wait_count = out->update_count = out->field_count = 0;
    out->rows = out->columns = out->unread = 0;
    out->function = out->first_unread = (osc_str){0};
    for (size_t at = 0; at < text.len;) {
        osc_dp_sync sync;
        bool is_sync;
        if (text.ptr[at] == ' ' || text.ptr[at] == '\t') {
            at++;
            continue;
        }
        size_t end = part_end(text, at, &sync, &is_sync);
        assert(end > at);
        osc_str part = osc_str_sub(text, at, end - at);
        size_t equals = osc_str_find_char(part, '=', 0);
        if (is_sync)
            take_sync(out, part, &sync);
        else if (equals != SIZE_MAX)
            take_field(out, part, equals);
        else if (!take_size(out, part)) {
            if (out->function.len == 0 && is_word(part))
                out->function = part;
            else
                unread(out, part);
        }
        at = end;
    }
}

const osc_dp_field *osc_dp_operands_field(const osc_dp_operands *operands, const char *key)
{
    for (uint32_t i = 0; i < operands->field_count; i++) {
        if (osc_str_eq_cstr(operands->fields[i].key, key))
            return &operands->fields[i];
    }
    return NULL;
}

uint64_t osc_dp_field_elements(const osc_dp_field *field)
{
    uint64_t product = 1;
    assert(field->dims <= OSC_DP_DIMS);
    for (uint32_t d = 0; d < field->dims; d++) {
        if (field->count[d] < 0 || !osc_mul_u64(product, (uint64_t)field->count[d], &product))
            return 0;
    }
    return field->dims > 0 ? product : 0;
}

osc_dp_place osc_dp_place_of(uint64_t address)
{
    osc_dp_place place = {.space = OSC_DP_MEMORY, .offset = address};
    uint64_t in_dma = address - DMA_SBUF_BASE;
    if (address < SBUF_PARTITION_BYTES) {
        place.space = OSC_DP_SBUF;
    } else if (address >= PSUM_BASE && address < PSUM_BASE + PSUM_BANKS * PSUM_BANK) {
        place.space = OSC_DP_PSUM;
        place.bank = (uint32_t)((address - PSUM_BASE) / PSUM_BANK);
        place.offset = (address - PSUM_BASE) % PSUM_BANK;
    } else if (address >= DMA_SBUF_BASE && in_dma < DMA_PARTITIONS * DMA_PARTITION &&
               in_dma % DMA_PARTITION < SBUF_PARTITION_BYTES) {
        place.space = OSC_DP_SBUF_DMA;
        place.partition = (uint32_t)(in_dma / DMA_PARTITION);
        place.offset = in_dma % DMA_PARTITION;
    } else if (address >= DEVICE_BASE && address < DEVICE_END) {
        place.space = OSC_DP_DEVICE;
    }
    return place;
}

const char *osc_dp_space_name(osc_dp_space space)
{
    switch (space) {
    case OSC_DP_MEMORY: return "memory";
    case OSC_DP_SBUF: return "sbuf";
    case OSC_DP_PSUM: return "psum";
    case OSC_DP_SBUF_DMA: return "sbuf-dma";
    case OSC_DP_DEVICE: return "device";
    }
    return "?";
}

uint32_t osc_dp_dtype_bytes(osc_str dtype)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {
        {"fp32", 4},  {"fp32r", 4},  {"tf32", 4},  {"fp16", 2},   {"bf16", 2},   {"bfloat16", 2},
        {"int32", 4}, {"uint32", 4}, {"int16", 2}, {"uint16", 2}, {"int8", 1},   {"uint8", 1},
        {"int64", 8}, {"uint64", 8}, {"fp8", 1},   {"fp8_e4", 1}, {"fp8_e5", 1}, {"fp8_e3", 1},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (osc_str_eq_cstr(dtype, types[i].name))
            return types[i].bytes;
    }
    return 0;
}
