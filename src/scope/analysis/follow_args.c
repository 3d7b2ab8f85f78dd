/*
 * follow_args.c - what arguments of launches and device work say: grid, block, bytes, streams,
 * graphs, events.
 *
 * The input is read again for them, in one pass for all slices of the call. Their names are those
 * of every vendor (kineto-trace-format.md 1.7): a key that is not there is not told. An input that
 * cannot be read twice is no failure; the result says that arguments are missing.
 */
#include "scope/analysis/follow_internal.h"

#include "base/mem.h"
#include "base/num.h"
#include "scope/read/args.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Arguments longer than this are cut. */
#define VALUE_MAX 48u

/* key, what is written before its value; in the order they are told */
static const struct {
    const char *key, *before;
} told[] = {
    {"graph id", "graph "},
    {"grid", "grid "},
    {"block", "block "},
    {"kind", ""},
    {"wait_on_stream", "waits for stream "},
    {"wait_on_cuda_event_record_corr_id", "for event recorded by correlation "},
    {"event_id", "event "},
    {"cmd_name", ""},
    {"executable_name", "executable "},
    {"direction", ""},
    {"sqid", "queue "},
    {"sycl queue", "sycl queue "},
    {"Collective name", ""},
};

struct reading {
    struct follow_call *c;
    uint32_t *order; /* items by slice */
    osc_buf value;
};

static int compare_slices(const void *left, const void *right, void *context)
{
    const struct follow_item *items = context;
    uint32_t a = items[*(const uint32_t *)left].slice, b = items[*(const uint32_t *)right].slice;
    return a < b ? -1 : a > b;
}

static struct follow_item *item_of(const struct reading *r, uint32_t slice)
{
    uint32_t low = 0, high = r->c->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->c->items[r->order[middle]].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->c->count && r->c->items[r->order[low]].slice == slice
               ? &r->c->items[r->order[low]]
               : NULL;
}

/* "[32, 8, 1]" as "32x8x1"; other values as they are. Cut when long. */
static void say_value(osc_str value, osc_buf *out)
{
    bool list = value.len > 1 && value.ptr[0] == '[';
    size_t told_bytes = 0;
    for (size_t i = 0; i < value.len && told_bytes < VALUE_MAX; i++) {
        char ch = value.ptr[i];
        if (ch == '"' || (list && (ch == '[' || ch == ']' || ch == ' ' || ch == '\n')))
            continue;
        osc_buf_putc(out, list && ch == ',' ? 'x' : ch);
        told_bytes++;
    }
    if (told_bytes == VALUE_MAX)
        osc_buf_cstr(out, "...");
}

/* A value as JSON text or, for a string, what it says; false when the key is not there. */
static bool find_value(struct reading *r, osc_str args, const char *key, osc_str *out)
{
    osc_scan_value value;
    if (!osc_args_find(args, key, &value))
        return false;
    osc_buf_clear(&r->value);
    if (!osc_args_text(args, key, &r->value))
        osc_buf_str(&r->value, value.text);
    *out = osc_buf_view(&r->value);
    return out->len > 0;
}

static void take_args(void *context, uint32_t slice, osc_str args)
{
    struct reading *r = context;
    osc_buf *about = &r->c->about;
    struct follow_item *item = item_of(r, slice);
    size_t begin = about->len;
    int64_t bytes;
    osc_str value;
    if (!item || begin > UINT32_MAX - 1)
        return;
    if (item->bytes == 0 &&
        (osc_args_i64(args, "bytes", &bytes) || osc_args_i64(args, "size", &bytes) ||
         osc_args_i64(args, "mem size", &bytes)))
        item->bytes = bytes;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (!find_value(r, args, told[i].key, &value) || osc_str_eq_cstr(value, "-1"))
            continue;
        int64_t number;
        if (told[i].before[0] == '\0' && osc_parse_i64(value, &number))
            continue; /* a word of the vendor's as its bare number (ROCm's kind of a copy) */
        if (osc_str_starts(value, OSC_STR("Dispatch "))) /* ROCm says so of every kernel */
            continue;
        osc_buf_printf(about, "%s%s", about->len > begin ? ", " : "", told[i].before);
        say_value(value, about);
    }
    if (about->len > begin)
        item->about = (uint32_t)begin;
    osc_buf_putc(about, '\0');
}

osc_status osc_follow_args(struct follow_call *c, osc_err *err)
{
    struct reading r = {.c = c};
    uint32_t n = 0;
    osc_err why = {0};
    osc_status status = OSC_ENOMEM;
    osc_buf_init(&r.value, SIZE_MAX);
    r.order = osc_realloc_array(NULL, (size_t)c->count + 1, sizeof *r.order);
    uint32_t *slices = osc_realloc_array(NULL, (size_t)c->count + 1, sizeof *slices);
    if (r.order && slices) {
        for (uint32_t i = 0; i < c->count; i++)
            r.order[i] = i;
        qsort_r(r.order, c->count, sizeof *r.order, compare_slices, c->items);
        for (uint32_t i = 0; i < c->count; i++) {
            if (c->items[r.order[i]].rank != RANK_OP)
                slices[n++] = c->items[r.order[i]].slice;
        }
        status = n > 0 ? osc_args_each(c->f.store, slices, n, take_args, &r, &why) : OSC_OK;
    }
    osc_free(r.order);
    osc_free(slices);
    osc_buf_free(&r.value);
    if (status == OSC_ENOMEM || c->about.failed)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET, "out of memory while following");
    if (status != OSC_OK)
        snprintf(c->problem, sizeof c->problem, "%.150s", why.message);
    return OSC_OK;
}
