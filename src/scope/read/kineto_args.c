/*
 * kineto_args.c - the arguments of an event: which are kept, and how shapes are spelled.
 *
 * Keys are matched by length first; an event has five to twenty, most of which nobody here needs.
 * Everything else stays in the file, where slices.args_at and args_len find it again.
 */
#include "scope/read/kineto_internal.h"

#include "base/num.h"

#include <string.h>

osc_str osc_kineto_text(osc_kineto *k, const osc_scan_value *value)
{
    if (!value->escaped)
        return value->text;
    osc_buf_clear(&k->text);
    osc_scan_unescape(&k->scan, value, &k->text);
    return osc_buf_view(&k->text);
}

static bool key_is(osc_str key, osc_str name)
{
    return key.len == name.len && memcmp(key.ptr, name.ptr, name.len) == 0;
}

static void take_i64(const osc_scan_value *value, int64_t *out)
{
    int64_t number;
    if (osc_scan_i64(value, &number))
        *out = number;
}

static void take_u64(const osc_scan_value *value, uint64_t *out)
{
    uint64_t number;
    if (osc_parse_u64(osc_str_trim(value->text), &number))
        *out = number;
}

static bool is_false(const osc_scan_value *value)
{
    return osc_str_eq_nocase(value->text, OSC_STR("false"));
}

/* One member; the order of the tests is by how often the keys occur. */
static void take_member(osc_str key, const osc_scan_value *value, osc_kineto_args *out)
{
    if (key_is(key, OSC_STR("External id")) || key_is(key, OSC_STR("external id")))
        take_i64(value, &out->external_id);
    else if (key_is(key, OSC_STR("Ev Idx")) || key_is(key, OSC_STR("Profiler Event Index")))
        take_i64(value, &out->order);
    else if (key_is(key, OSC_STR("correlation")))
        take_i64(value, &out->correlation);
    else if (key_is(key, OSC_STR("Sequence number")))
        take_i64(value, &out->sequence);
    else if (key_is(key, OSC_STR("Fwd thread id")))
        take_i64(value, &out->fwd_thread);
    else if (key_is(key, OSC_STR("Input Dims")))
        out->shapes = *value;
    else if (key_is(key, OSC_STR("finished")))
        out->unfinished = is_false(value);
    else if (key_is(key, OSC_STR("Bytes")) || key_is(key, OSC_STR("bytes")))
        take_i64(value, &out->bytes);
    else if (key_is(key, OSC_STR("Device Type")))
        take_i64(value, &out->device_type);
    else if (key_is(key, OSC_STR("device")))
        take_i64(value, &out->device);
    else if (key_is(key, OSC_STR("nrt_sequence_id")))
        take_u64(value, &out->sequence_id);
    else if (key_is(key, OSC_STR("exec_id")))
        take_i64(value, &out->exec_id);
    else if (key_is(key, OSC_STR("neff_cache_key")))
        out->cache_key = *value;
    else if (key_is(key, OSC_STR("opscope_lane")))
        out->lane = true;
    else if (key_is(key, OSC_STR("name")) || key_is(key, OSC_STR("labels")))
        out->name = *value;
}

/* A scan of the inside of a container value, with offsets of the whole file. */
static osc_scan inner_scan(const osc_kineto *k, const osc_scan_value *container)
{
    osc_scan inner = {.data = k->scan.data,
                      .len = container->offset + container->text.len,
                      .pos = container->offset + 1,
                      .base = k->scan.base,
                      .opened = true};
    return inner;
}

/* Commas at pos: one when a value came before and one follows, none else. */
static char pass_commas(osc_scan *s, char before)
{
    size_t at = s->pos, count = 0;
    while (osc_scan_take(s, ','))
        count++;
    char next = osc_scan_peek(s);
    size_t due = before == 'v' && next != '}' && next != ']' ? 1 : 0;
    if (count != due)
        osc_scan_note(s, OSC_REPAIR_COMMA, at);
    return ',';
}

/* A value that is no key, or the value of a member that `key` names (NULL: none). */
static void take_value(osc_scan *s, const osc_scan_value *key, osc_kineto_args *out)
{
    osc_scan_value value;
    char c = osc_scan_peek(s);
    size_t at = s->pos;
    if (c == '{' || c == '[') {
        /* its inside is walked like the rest; whole it is taken only where its text is wanted */
        if (key && key_is(key->text, OSC_STR("Input Dims")) && osc_scan_value_next(s, &value))
            out->shapes = value;
        s->pos = at;
    } else if (osc_scan_value_next(s, &value) && key) {
        take_member(key->text, &value, out);
    }
}

/*
 * Walks the tokens inside an arguments object. A member is a text at the object's own level of
 * braces that follows a brace or comma and is followed by a colon; anything else that stands there
 * is passed over. So a damaged member costs itself and no other, and the fast reader, which sees
 * tokens only, agrees.
 */
static void walk_args(osc_scan *s, osc_kineto_args *out)
{
    osc_scan_value key;
    size_t depth = 1;
    char before = '{'; /* the token before: a bracket, ',', ':', or 'v' for a value */
    for (;;) {
        char c = osc_scan_peek(s);
        size_t at = s->pos;
        if (at >= s->len)
            return;
        if (c == ',') {
            before = pass_commas(s, before);
        } else if (c == '}' || c == ']') {
            s->pos++;
            depth -= c == '}';
            if (depth == 0)
                return;
            before = 'v';
        } else if (c == ':') {
            s->pos++;
            before = ':';
        } else {
            if (before == 'v')
                osc_scan_note(s, OSC_REPAIR_COMMA, s->pos);
            bool may_be_key = c == '"' && (before == '{' || before == ',') && depth == 1;
            if (c == '{' || c == '[') {
                s->pos++;
                depth += c == '{';
                before = c;
            } else if (may_be_key && osc_scan_value_next(s, &key) && osc_scan_take(s, ':')) {
                take_value(s, &key, out);
                before = osc_scan_peek(s) == '{' || osc_scan_peek(s) == '[' ? ':' : 'v';
            } else {
                if (!may_be_key)
                    take_value(s, NULL, out);
                before = 'v';
            }
            if (s->pos == at)
                return; /* a text without an end */
        }
    }
}

void osc_kineto_args_read(osc_kineto *k, const osc_scan_value *args, osc_kineto_args *out)
{
    memset(out, 0, sizeof *out);
    out->order = -1;
    out->device = -1;
    out->sequence = -1;
    if (args->type != OSC_SCAN_OBJECT)
        return;
    osc_scan inner = inner_scan(k, args);
    walk_args(&inner, out);
    /* the outer pass over the object counted bare quotes */
    osc_scan_add_repairs(&k->scan, &inner, OSC_REPAIR_BARE_QUOTE);
}

/* Writes one argument's dimensions; a list of lists is a TensorList and prints as []. */
static void write_dims(osc_kineto *k, const osc_scan_value *list, osc_buf *out)
{
    osc_scan inner = inner_scan(k, list);
    osc_scan_value value;
    bool ended, first = true;
    size_t start = out->len;
    osc_buf_putc(out, '[');
    while (osc_scan_element(&inner, &ended) && osc_scan_value_next(&inner, &value)) {
        if (value.type == OSC_SCAN_ARRAY) {
            osc_buf_truncate(out, start);
            osc_buf_cstr(out, "[]");
            return;
        }
        if (!first)
            osc_buf_cstr(out, ", ");
        osc_buf_str(out, value.text);
        first = false;
    }
    osc_buf_putc(out, ']');
}

uint32_t osc_kineto_shapes(osc_kineto *k, const osc_scan_value *dims)
{
    if (dims->type != OSC_SCAN_ARRAY)
        return 0;
    osc_scan inner = inner_scan(k, dims);
    osc_scan_value value;
    bool ended, first = true;
    osc_buf_clear(&k->text);
    osc_buf_putc(&k->text, '[');
    while (osc_scan_element(&inner, &ended) && osc_scan_value_next(&inner, &value)) {
        if (value.type != OSC_SCAN_ARRAY)
            continue;
        if (!first)
            osc_buf_cstr(&k->text, ", ");
        write_dims(k, &value, &k->text);
        first = false;
    }
    osc_buf_putc(&k->text, ']');
    return osc_store_intern(k->store, osc_buf_view(&k->text));
}
