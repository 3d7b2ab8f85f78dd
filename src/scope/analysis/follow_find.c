/*
 * follow_find.c - which call is meant: by name and number, by name and time, by time alone, by
 * slice. Of a time at which only Python runs, the next call.
 *
 * A name is taken as rows show it ("ProfilerStep*"), then as the file has it ("ProfilerStep#3"),
 * then without its namespace ("mul"), then as a part that one name only has. Operators go before
 * kernels of the same name. A part of several names is refused with some of them, a name nobody has
 * with the nearest.
 */
#include "scope/analysis/follow_internal.h"

#include "base/mem.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/sat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HOST_USES   1u
#define DEVICE_USES 2u
#define SHOWN       4u /* candidates named in a refusal */

/* What a name was resolved to. */
struct wanted {
    uint32_t name; /* id of osc_calls_name, OSC_NO_ROW: by text of the file */
    uint32_t text; /* id of the store's texts when name is none */
    uint8_t where; /* HOST_USES, DEVICE_USES */
};

struct search {
    struct follow_call *c;
    uint8_t *uses; /* per name */
    uint32_t names;
    osc_str text;
};

static bool tells(const struct follow_call *c, uint32_t slice)
{
    return osc_calls_counts(c->calls, slice) && !osc_calls_gone(c->calls, slice);
}

static uint8_t side_of(const struct follow_call *c, uint32_t slice)
{
    return osc_calls_device(c->calls, slice) == OSC_DEVICE_CPU ? HOST_USES : DEVICE_USES;
}

static bool is_wanted(const struct follow_call *c, const struct wanted *w, uint32_t slice)
{
    if (!tells(c, slice) || side_of(c, slice) != w->where)
        return false;
    return w->name != OSC_NO_ROW ? osc_calls_name(c->calls, slice) == w->name
                                 : osc_store_slice(c->f.store)->name[slice] == w->text;
}

/* ---- names ---- */

static osc_str name_text(const struct search *s, uint32_t name)
{
    return osc_calls_text(s->c->calls, name);
}

static bool is_same(osc_str full, osc_str text)
{
    return osc_str_eq(full, text);
}

static bool is_without_namespace(osc_str full, osc_str text)
{
    size_t colon = osc_str_rfind_char(full, ':');
    return colon != SIZE_MAX && osc_str_find_char(full, ' ', 0) > colon &&
           osc_str_eq(osc_str_sub(full, colon + 1, SIZE_MAX), text);
}

static bool is_part(osc_str full, osc_str text)
{
    return osc_str_find(full, text) != SIZE_MAX;
}

/* Names used on a side that fit; the number, the first in *found. */
static uint32_t names_that(const struct search *s, bool (*fits)(osc_str, osc_str), uint8_t side,
                           uint32_t *found)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->names; i++) {
        if ((s->uses[i] & side) && fits(name_text(s, i), s->text) && count++ == 0)
            *found = i;
    }
    return count;
}

static osc_status fail_ambiguous(const struct search *s, bool (*fits)(osc_str, osc_str),
                                 uint8_t side, uint32_t count, osc_err *err)
{
    osc_buf *text = &s->c->f.text;
    uint32_t told = 0;
    osc_buf_clear(text);
    for (uint32_t i = 0; i < s->names && told < SHOWN; i++) {
        if ((s->uses[i] & side) && fits(name_text(s, i), s->text))
            osc_buf_printf(text, "%s'%.60s'", told++ ? ", " : "", name_text(s, i).ptr);
    }
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET, "%u names have '%.*s' in them: %s%s",
                    count, OSC_STR_FMT(s->text), osc_buf_c_str(text), count > told ? ", ..." : "");
}

/* Whether a host name has the text behind the last colon in it: 'aten::addmm' for aten::mm. */
static bool find_relative(const struct search *s, osc_str *part, uint32_t *found)
{
    size_t colon = osc_str_rfind_char(s->text, ':');
    struct search tail = *s;
    tail.text = *part = osc_str_sub(s->text, colon == SIZE_MAX ? 0 : colon + 1, SIZE_MAX);
    return colon != SIZE_MAX && part->len > 1 && names_that(&tail, is_part, HOST_USES, found) > 0;
}

/* "no operator 'x'; the nearest is 'y'" */
static osc_status fail_unknown(const struct search *s, osc_err *err)
{
    bool any = false;
    osc_str part;
    uint32_t relative = 0;
    const char **names = osc_realloc_array(NULL, (size_t)s->names + 1, sizeof *names);
    size_t count = 0;
    for (uint32_t i = 0; i < s->names; i++) {
        any |= s->uses[i] != 0;
        if (names && s->uses[i])
            names[count++] = name_text(s, i).ptr; /* a NUL follows each */
    }
    const char *near = names ? osc_nearest(s->text, names, count) : NULL;
    osc_free(names);
    if (!any)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no operator '%.*s': no operators were recorded; opscope "
                        "info says what is there",
                        OSC_STR_FMT(s->text));
    if (find_relative(s, &part, &relative))
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no operator '%.*s'; '%.60s' has '%.*s' in it", OSC_STR_FMT(s->text),
                        name_text(s, relative).ptr, OSC_STR_FMT(part));
    if (near && strlen(near) <= 2 * s->text.len)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no operator '%.*s'; the nearest is '%s'", OSC_STR_FMT(s->text), near);
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                    "no operator '%.*s'; opscope top lists those there are", OSC_STR_FMT(s->text));
}

/* A text of the file that rows show otherwise, such as the number of a step. */
static bool find_raw(const struct search *s, struct wanted *out)
{
    const osc_slice_cols *slices = osc_store_slice(s->c->f.store);
    out->name = OSC_NO_ROW;
    out->text = osc_store_lookup(s->c->f.store, s->text);
    for (uint32_t i = 0; out->text != OSC_NO_ROW && i < slices->count; i++) {
        out->where = HOST_USES | DEVICE_USES;
        if (slices->name[i] != out->text || !tells(s->c, i))
            continue;
        out->where = side_of(s->c, i);
        return true;
    }
    return false;
}

static osc_status resolve(const struct search *s, struct wanted *out, osc_err *err)
{
    static bool (*const ways[])(osc_str, osc_str) = {is_same, is_without_namespace, is_part};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        for (uint8_t side = HOST_USES; side <= DEVICE_USES && s->text.len > 0; side++) {
            uint32_t found = OSC_NO_ROW, count = names_that(s, ways[way], side, &found);
            if (count > 1)
                return fail_ambiguous(s, ways[way], side, count, err);
            if (count == 1) {
                *out = (struct wanted){.name = found, .where = side};
                return OSC_OK;
            }
        }
        if (way == 0 && find_raw(s, out))
            return OSC_OK;
    }
    return fail_unknown(s, err);
}

static osc_status resolve_name(struct follow_call *c, struct wanted *out, osc_err *err)
{
    struct search s = {.c = c, .names = osc_calls_names(c->calls), .text = c->options->name};
    uint32_t count = osc_store_slice(c->f.store)->count;
    s.uses = osc_calloc((size_t)s.names + 1, sizeof *s.uses);
    if (!s.uses)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while following");
    for (uint32_t i = 0; i < count; i++) {
        if (tells(c, i))
            s.uses[osc_calls_name(c->calls, i)] |= side_of(c, i);
    }
    osc_status status = resolve(&s, out, err);
    osc_free(s.uses);
    return status;
}

/* ---- calls of that name ---- */

static int compare_starts(const void *left, const void *right, void *context)
{
    const osc_slice_cols *s = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (s->start_ns[a] != s->start_ns[b])
        return s->start_ns[a] < s->start_ns[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* All calls in order of start; NULL when out of memory. */
static uint32_t *list_calls(struct follow_call *c, const struct wanted *w)
{
    osc_slice_cols s = *osc_store_slice(c->f.store);
    uint32_t n = 0;
    bool ordered = true;
    c->count_of = 0;
    for (uint32_t i = 0; i < s.count; i++)
        c->count_of += is_wanted(c, w, i);
    uint32_t *calls = osc_realloc_array(NULL, (size_t)c->count_of + 1, sizeof *calls);
    if (!calls)
        return NULL;
    for (uint32_t i = 0; i < s.count && n < c->count_of; i++) {
        if (!is_wanted(c, w, i))
            continue;
        ordered = ordered && (n == 0 || s.start_ns[calls[n - 1]] <= s.start_ns[i]);
        calls[n++] = i;
    }
    if (!ordered)
        qsort_r(calls, n, sizeof *calls, compare_starts, &s);
    return calls;
}

/* Index of the call that runs at a time, the one begun last if there are several; else of the
 * next. */
static uint32_t call_at(const struct follow_call *c, const uint32_t *calls, int64_t at)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    uint32_t found = OSC_NO_ROW, i = 0;
    for (; i < c->count_of && s->start_ns[calls[i]] <= at; i++) {
        if (s->start_ns[calls[i]] + s->dur_ns[calls[i]] > at)
            found = i;
    }
    return found != OSC_NO_ROW || i == c->count_of ? found : i;
}

static int64_t asked_time(const struct follow_call *c)
{
    return osc_when_ns((osc_when){c->options->at_ns, c->options->absolute}, c->zero);
}

static osc_status pick_call(struct follow_call *c, const uint32_t *calls, osc_err *err)
{
    const osc_follow_options *o = c->options;
    uint32_t at = o->nth > 0 ? o->nth - 1 : 0;
    uint32_t slice = o->by_slice ? o->slice : c->found;
    if (slice != OSC_NO_ROW)
        for (at = 0; at < c->count_of && calls[at] != slice;)
            at++;
    else if (o->by_time)
        at = call_at(c, calls, asked_time(c));
    if (at == OSC_NO_ROW)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no call of '%.*s' runs or begins after that time", OSC_STR_FMT(c->name));
    if (at >= c->count_of)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "there %s only %u call%s of '%.*s', no call %u",
                        c->count_of == 1 ? "is" : "are", c->count_of, c->count_of == 1 ? "" : "s",
                        OSC_STR_FMT(c->name), at + 1);
    c->slice = calls[at];
    int64_t start = osc_store_slice(c->f.store)->start_ns[c->slice];
    if (o->by_time && !o->by_slice && start > asked_time(c))
        c->later_ns = osc_sub_sat(start, asked_time(c));
    c->number = at + 1;
    c->previous = at > 0 ? calls[at - 1] : OSC_NO_ROW;
    c->next = at + 1 < c->count_of ? calls[at + 1] : OSC_NO_ROW;
    return OSC_OK;
}

/* ---- without a name ---- */

/* True for what does something itself; a range or a frame is only around it. */
static bool is_call(const struct follow_call *c, uint32_t slice)
{
    uint8_t kind = osc_store_slice(c->f.store)->kind[slice];
    return kind != OSC_KIND_USER_ANNOTATION && kind != OSC_KIND_PYTHON &&
           !osc_slice_is_step(c->f.store, slice);
}

/*
 * The innermost host slice at a time: the one begun last. Where only Python runs that is a range
 * around very much, such as the step: then the next call is the answer.
 */
static osc_status find_at(const struct follow_call *c, uint32_t *out, osc_err *err)
{
    const osc_slice_cols *s = osc_store_slice(c->f.store);
    int64_t at = asked_time(c);
    uint32_t next = OSC_NO_ROW;
    *out = OSC_NO_ROW;
    for (uint32_t i = 0; i < s->count; i++) {
        if (osc_slice_end(s, i) <= at || !tells(c, i) || side_of(c, i) != HOST_USES)
            continue;
        if (s->start_ns[i] > at) {
            if (is_call(c, i) && (next == OSC_NO_ROW || s->start_ns[i] < s->start_ns[next]))
                next = i;
        } else if (*out == OSC_NO_ROW || s->start_ns[i] >= s->start_ns[*out]) {
            *out = i;
        }
    }
    if (next != OSC_NO_ROW && (*out == OSC_NO_ROW || !is_call(c, *out)))
        *out = next;
    return *out != OSC_NO_ROW ? OSC_OK
                              : osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                                         "no operator or runtime call runs or begins after that "
                                         "time");
}

static osc_status wanted_of(struct follow_call *c, struct wanted *w, osc_err *err)
{
    uint32_t slice = c->options->slice;
    if (!c->options->by_slice && (c->options->name.len > 0 || !c->options->by_time))
        return resolve_name(c, w, err);
    if (!c->options->by_slice) {
        osc_status status = find_at(c, &slice, err);
        if (status != OSC_OK)
            return status;
        c->found = slice;
    } else if (slice >= osc_store_slice(c->f.store)->count || !tells(c, slice)) {
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "slice %u is no operator, range, runtime call or device work", slice);
    }
    *w = (struct wanted){.name = osc_calls_name(c->calls, slice), .where = side_of(c, slice)};
    return OSC_OK;
}

osc_status osc_follow_find(struct follow_call *c, osc_err *err)
{
    struct wanted w = {.name = OSC_NO_ROW};
    osc_status status = wanted_of(c, &w, err);
    if (status != OSC_OK)
        return status;
    c->name = w.name != OSC_NO_ROW ? osc_calls_text(c->calls, w.name)
                                   : osc_store_text(c->f.store, w.text);
    uint32_t *calls = list_calls(c, &w);
    if (!calls)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while following");
    status = pick_call(c, calls, err);
    osc_free(calls);
    return status;
}
