/*
 * waterfall.c - lane, event, instruction, each further in than what it is part of.
 *
 *     framework/TID:4711              +1,204.1 us    20.3 us
 *     neuron_hw/NC:0                  +1,233.1 us   388.2 us  core: aten::rsqrt
 *       nc_exec_running                                       neff 3957600758
 *         launch                                    377.0 us  fitted
 *                switch 90, submit 45, notify 70, profiling 106
 *         Sync    dma x -> SBUF           +380.9 us     2.1 us  dma start-up
 *                 1 transfer, 4.1 KB, 16.0 B/ns
 *
 * Starts of slices count from the window, those of instructions from their execution. What does not
 * fit beside a line stands below it; nothing is cut but names that leave no room.
 */
#include "scope/export/waterfall.h"

#include "base/num.h"
#include "scope/analysis/follow.h"
#include "scope/export/export.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WIDTH        80u
#define NAME_WIDTH   35u
#define START_WIDTH  12u
#define LENGTH_WIDTH 11u
#define REMARK_AT    (NAME_WIDTH + START_WIDTH + LENGTH_WIDTH + 2u)
#define REMARK_WIDTH (WIDTH - REMARK_AT)
#define NOTE_AT      13u /* under the instruction's name, past its engine */

static osc_str text_of(const osc_table *t, uint32_t row, osc_follow_column column)
{
    return osc_table_cell(t, row, column).str;
}

static int64_t number_of(const osc_table *t, uint32_t row, osc_follow_column column)
{
    return osc_table_cell(t, row, column).i64;
}

/* A text, right-aligned in a width. */
static void pad_left(osc_buf *out, const char *text, size_t width)
{
    size_t length = strlen(text);
    osc_buf_fill(out, ' ', width > length ? width - length : 0);
    osc_buf_cstr(out, text);
}

/* Words that fit a width are taken off the front of a text. */
static osc_str take_line(osc_str *rest, size_t width)
{
    size_t pos = 0, fit = 0;
    while (pos < rest->len) {
        size_t space = osc_str_find_char(*rest, ' ', pos);
        size_t word_end = space == SIZE_MAX ? rest->len : space;
        if (osc_utf8_columns(osc_str_sub(*rest, 0, word_end)) > width)
            break;
        fit = word_end;
        pos = word_end + 1;
    }
    if (fit == 0)
        fit = rest->len < width ? rest->len : width; /* one word wider than the column */
    osc_str line = osc_str_sub(*rest, 0, fit);
    *rest = osc_str_trim(osc_str_sub(*rest, fit, SIZE_MAX));
    return line;
}

static bool fits_beside(osc_str remark)
{
    return osc_utf8_columns(remark) <= REMARK_WIDTH;
}

/* Ends a line, with a remark beside it if there is one. */
static void put_remark(osc_buf *out, size_t column, osc_str remark)
{
    assert(fits_beside(remark));
    if (remark.len > 0) {
        osc_buf_fill(out, ' ', column < REMARK_AT ? REMARK_AT - column : 1);
        osc_export_safe(remark, out);
    }
    osc_buf_putc(out, '\n');
}

/* A text on lines of its own, as many as it needs. */
static void put_note(osc_buf *out, size_t indent, osc_str note)
{
    while (note.len > 0) {
        osc_buf_fill(out, ' ', indent);
        osc_export_safe(take_line(&note, WIDTH - indent), out);
        osc_buf_putc(out, '\n');
    }
}

/* A remark beside its line, or below it when it is too long. */
static void put_remark_or_note(osc_buf *out, size_t column, size_t indent, osc_str remark)
{
    put_remark(out, column, fits_beside(remark) ? remark : OSC_STR(""));
    if (!fits_beside(remark))
        put_note(out, indent, remark);
}

/* Nanoseconds where microseconds with one decimal would say little. */
static char *format_length(int64_t ns, char out[OSC_NUM_TEXT])
{
    if (ns >= 0 && ns < 100)
        snprintf(out, OSC_NUM_TEXT, "%d ns", (int)ns);
    else
        osc_format_ns(ns, out);
    return out;
}

/* Name, start and length; with_start false leaves the start blank. */
static size_t put_line(osc_buf *out, uint32_t indent, osc_str name, bool with_start,
                       int64_t offset_ns, int64_t dur_ns)
{
    char time[OSC_NUM_TEXT], start[OSC_NUM_TEXT + 1];
    osc_buf_fill(out, ' ', indent);
    size_t used = indent + osc_export_cut(name, NAME_WIDTH - indent, out);
    assert(used <= NAME_WIDTH);
    osc_buf_fill(out, ' ', NAME_WIDTH - used);
    snprintf(start, sizeof start, "%s%s", offset_ns < 0 ? "" : "+", osc_format_ns(offset_ns, time));
    pad_left(out, with_start ? start : "", START_WIDTH);
    pad_left(out, format_length(dur_ns, time), LENGTH_WIDTH);
    return NAME_WIDTH + START_WIDTH + LENGTH_WIDTH;
}

static void put_slice(const osc_table *t, uint32_t row, bool colour, osc_buf *out)
{
    osc_str name = text_of(t, row, OSC_FOLLOW_NAME),
            waited = text_of(t, row, OSC_FOLLOW_WAITED_FOR);
    osc_str detail = text_of(t, row, OSC_FOLLOW_DETAIL);
    bool told = osc_str_eq(name, osc_table_fact_str(t, "name"));
    osc_buf_cstr(out, colour ? "\033[1m" : "");
    size_t column =
        put_line(out, 2, text_of(t, row, OSC_FOLLOW_LANE), true,
                 number_of(t, row, OSC_FOLLOW_OFFSET_NS), number_of(t, row, OSC_FOLLOW_DUR_NS));
    osc_buf_cstr(out, colour ? "\033[0m" : "");
    put_remark_or_note(out, column, 4, waited);
    if (told && detail.len == 0)
        return;
    osc_buf_fill(out, ' ', 4);
    column = 4 + osc_export_cut(name, WIDTH - 4, out);
    if (detail.len > 0 && column + 5 <= WIDTH) {
        osc_buf_cstr(out, "  ");
        (void)osc_export_cut(detail, WIDTH - column - 2, out);
    }
    osc_buf_putc(out, '\n');
}

static void put_inner(const osc_table *t, uint32_t row, osc_buf *out)
{
    char name[160];
    osc_str engine = text_of(t, row, OSC_FOLLOW_ENGINE), label = text_of(t, row, OSC_FOLLOW_NAME);
    bool launch = osc_str_eq(text_of(t, row, OSC_FOLLOW_KIND), OSC_STR("launch"));
    bool fitted = osc_table_cell(t, row, OSC_FOLLOW_FITTED).boolean;
    osc_str waited = text_of(t, row, OSC_FOLLOW_WAITED_FOR),
            detail = text_of(t, row, OSC_FOLLOW_DETAIL);
    if (engine.len > 0)
        snprintf(name, sizeof name, "%-6.*s %.*s", OSC_STR_FMT(engine), OSC_STR_FMT(label));
    else
        osc_str_to_array(label, name, sizeof name);
    size_t column =
        put_line(out, 6, osc_str_from_cstr(name), !launch, number_of(t, row, OSC_FOLLOW_OFFSET_NS),
                 number_of(t, row, OSC_FOLLOW_DUR_NS));
    put_remark_or_note(out, column, NOTE_AT, launch && fitted ? OSC_STR("fitted") : waited);
    put_note(out, NOTE_AT, detail);
}

/* Where the call was made, on the first line or its own; a long path loses its front. */
static void put_source(osc_buf *out, size_t used, osc_str source)
{
    size_t columns = osc_utf8_columns(source);
    if (source.len == 0)
        return;
    if (used + 3 + columns <= WIDTH) {
        osc_buf_cstr(out, "   ");
        osc_export_safe(source, out);
        return;
    }
    size_t pos = 0;
    while (pos < source.len && osc_utf8_columns(osc_str_sub(source, pos, SIZE_MAX)) > WIDTH - 5)
        (void)osc_utf8_next(source, &pos);
    osc_buf_cstr(out, pos > 0 ? "\n  ..." : "\n  ");
    osc_export_safe(osc_str_sub(source, pos, SIZE_MAX), out);
}

static void put_head(const osc_table *t, osc_buf *out)
{
    char calls[2 * OSC_NUM_TEXT];
    snprintf(calls, sizeof calls, "  call %lld of %lld", (long long)osc_table_fact_i64(t, "call"),
             (long long)osc_table_fact_i64(t, "calls"));
    size_t used = osc_export_cut(osc_table_fact_str(t, "name"), WIDTH - strlen(calls), out);
    osc_buf_cstr(out, calls);
    put_source(out, used + strlen(calls), osc_table_fact_str(t, "source"));
    osc_buf_cstr(out, "\n\n  lane");
    osc_buf_fill(out, ' ', NAME_WIDTH - 6);
    pad_left(out, "start", START_WIDTH);
    pad_left(out, "length", LENGTH_WIDTH);
    osc_buf_cstr(out, "  waited for\n");
}

/* "of 402.6 us on the device: 96 % launch, 3 % data movement, 0.05 % arithmetic" */
static void put_shares(const osc_table *t, osc_buf *out)
{
    char time[OSC_NUM_TEXT];
    double total = (double)osc_table_fact_i64(t, "total_ns");
    double launch = 100 * (double)osc_table_fact_i64(t, "launch_ns");
    double data = 100 * (double)osc_table_fact_i64(t, "data_ns");
    double arithmetic = 100 * (double)osc_table_fact_i64(t, "arithmetic_ns");
    if (total <= 0)
        return;
    osc_buf_printf(out, "\n  %s on the device",
                   osc_format_ns(osc_table_fact_i64(t, "total_ns"), time));
    if (launch + data + arithmetic > 0)
        osc_buf_printf(out, ": %.1f %% launch, %.1f %% data, %.2f %% arithmetic", launch / total,
                       data / total, arithmetic / total);
    osc_buf_putc(out, '\n');
    if (osc_table_fact_i64(t, "simulated"))
        osc_buf_cstr(out,
                     "  device time is simulated; launch parts are fitted, see docs/model.md\n");
    if (launch / total >= 80)
        osc_buf_cstr(out,
                     "  --> fewer, larger programs would pay: fuse operators, or torch.compile\n");
}

void osc_export_waterfall(const osc_table *follow, int64_t limit, bool colour, osc_buf *out)
{
    int64_t told = 0, left_out = 0;
    put_head(follow, out);
    for (uint32_t row = 0; row <= osc_table_rows(follow); row++) {
        int64_t level = row < osc_table_rows(follow) ? number_of(follow, row, OSC_FOLLOW_LEVEL) : 0;
        if (level == 0) {
            if (left_out > 0)
                osc_buf_printf(out, "      ... %lld more instructions (--limit -1 tells all)\n",
                               (long long)left_out);
            told = left_out = 0;
            if (row < osc_table_rows(follow))
                put_slice(follow, row, colour, out);
        } else if (level == 1) {
            if (limit >= 0 && told >= limit)
                left_out++;
            else
                put_inner(follow, row, out);
            told++;
        }
    }
    put_shares(follow, out);
}
