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
 * Starts of slices count from the first event, those of instructions from their execution. What does not
 * fit beside a line stands below it; nothing is cut but names that leave no room.
 */
#include "scope/export/waterfall.h"

#include "base/mem.h"
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
#define PERIOD_MAX   16u /* rows that may repeat as a group */
#define REPEATS_MIN  2u  /* times more from which they are summarised */
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

/* A text on one line of its own, cut where it does not fit. */
static void put_cut(osc_buf *out, size_t indent, osc_str text)
{
    osc_buf_fill(out, ' ', indent);
    (void)osc_export_cut(text, WIDTH - indent, out);
    osc_buf_putc(out, '\n');
}

static bool same_line(osc_str name, osc_str detail)
{
    return 4 + osc_utf8_columns(name) + 2 + osc_utf8_columns(detail) <= WIDTH;
}

/* Name and detail on one line, else below each other. */
static void put_name(osc_buf *out, osc_str name, osc_str detail)
{
    bool together = name.len > 0 && same_line(name, detail);
    if (name.len > 0) {
        osc_buf_fill(out, ' ', 4);
        (void)osc_export_cut(name, WIDTH - 4, out);
        osc_buf_cstr(out, together && detail.len > 0 ? "  " : "");
        if (together)
            osc_export_safe(detail, out);
        osc_buf_putc(out, '\n');
    }
    if (!together)
        put_note(out, 6, detail);
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
    put_remark(out, column, fits_beside(waited) ? waited : OSC_STR(""));
    if (!fits_beside(waited))
        put_cut(out, 4, waited);
    if (!told || detail.len > 0)
        put_name(out, told && !same_line(name, detail) ? OSC_STR("") : name, detail);
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
    osc_buf_putc(out, '\n');
    put_note(out, 2, osc_table_fact_str(t, "note"));
    osc_buf_cstr(out, "\n  lane");
    osc_buf_fill(out, ' ', NAME_WIDTH - 6);
    pad_left(out, "start", START_WIDTH);
    pad_left(out, "length", LENGTH_WIDTH);
    osc_buf_cstr(out, "  waited for\n");
}

/* "3 launches: 12.3 us from call's end to start, 4.0 us of it behind other work", and why there are
 * no arguments. */
static void put_waits(const osc_table *t, osc_buf *out)
{
    char delay[OSC_NUM_TEXT], queue[OSC_NUM_TEXT], count[OSC_NUM_TEXT], line[240];
    int64_t launches = osc_table_fact_i64(t, "launches");
    osc_str problem = osc_table_fact_str(t, "args");
    osc_buf_putc(out, '\n');
    if (osc_table_fact_i64(t, "delay_ns") != 0) {
        snprintf(line, sizeof line,
                 "%s launch%s: %s from call's end to start, %s of it behind other work",
                 osc_format_count(launches, count), launches == 1 ? "" : "es",
                 osc_format_ns(osc_table_fact_i64(t, "delay_ns"), delay),
                 osc_format_ns(osc_table_fact_i64(t, "queue_ns"), queue));
        put_note(out, 2, osc_str_from_cstr(line));
    }
    if (osc_table_fact_i64(t, "unlinked") > 0)
        osc_buf_printf(out, "  device work without an operator: %s\n",
                       osc_format_count(osc_table_fact_i64(t, "unlinked"), count));
    if (problem.len > 0) {
        osc_buf_cstr(out, "  without grid, block and bytes:\n");
        put_note(out, 4, problem);
    }
}

/* "402.6 us on the device: 96.0 % launch, 3.0 % data, 0.05 % arithmetic" */
static void put_shares(const osc_table *t, osc_buf *out)
{
    char time[OSC_NUM_TEXT];
    double total = (double)osc_table_fact_i64(t, "total_ns");
    double launch = 100 * (double)osc_table_fact_i64(t, "launch_ns");
    double data = 100 * (double)osc_table_fact_i64(t, "data_ns");
    double arithmetic = 100 * (double)osc_table_fact_i64(t, "arithmetic_ns");
    put_waits(t, out);
    if (total <= 0)
        return;
    osc_buf_printf(out, "  %s on the device",
                   osc_format_ns(osc_table_fact_i64(t, "total_ns"), time));
    if (launch + arithmetic > 0)
        osc_buf_printf(out, ": %.1f %% launch, %.1f %% data, %.2f %% arithmetic", launch / total,
                       data / total, arithmetic / total);
    else if (data > 0 && data < 100 * total) /* kernels of other devices have no such parts */
        osc_buf_printf(out, ": %.1f %% kernels, %.1f %% copies", 100 - data / total, data / total);
    osc_buf_putc(out, '\n');
    if (osc_table_fact_i64(t, "simulated"))
        osc_buf_cstr(out, "  device time is simulated; launch parts are fitted, "
                          "see docs/model.md\n");
    if (launch / total >= 80)
        osc_buf_cstr(out, "  --> fewer, larger programs would pay: fuse operators, "
                          "or torch.compile\n");
}

/* ---- what is inside a slice ---- */

/* The rows inside one slice, by row; longest runs of repeated ones are told once. */
struct block {
    const osc_table *t;
    uint32_t *rows; /* of level 1; NULL when out of memory: then nothing is
                     summarised */
    uint32_t count;
    const char *what; /* "instructions" */
};

static bool same_work(const osc_table *t, uint32_t a, uint32_t b)
{
    return osc_str_eq(text_of(t, a, OSC_FOLLOW_KIND), text_of(t, b, OSC_FOLLOW_KIND)) &&
           osc_str_eq(text_of(t, a, OSC_FOLLOW_ENGINE), text_of(t, b, OSC_FOLLOW_ENGINE)) &&
           osc_str_eq(text_of(t, a, OSC_FOLLOW_NAME), text_of(t, b, OSC_FOLLOW_NAME));
}

/* How many more times the `period` rows from `at` on follow each other. */
static uint32_t repeats_of(const struct block *b, uint32_t at, uint32_t period)
{
    uint32_t matched = 0;
    while (at + period + matched < b->count &&
           same_work(b->t, b->rows[at + matched], b->rows[at + period + matched]))
        matched++;
    return matched / period;
}

/* The period whose repetition covers most rows from `at` on, the shortest of equals; 0: none
 * worth it. */
static uint32_t best_period(const struct block *b, uint32_t at, uint32_t *repeats)
{
    uint32_t best = 0, covered = 0;
    for (uint32_t period = 1; period <= PERIOD_MAX; period++) {
        uint32_t times = repeats_of(b, at, period);
        if (times >= REPEATS_MIN && times * period > covered) {
            best = period;
            covered = times * period;
            *repeats = times;
        }
    }
    return best;
}

/* "      ... these 3 lines 15 times more, until +401.2 us" */
static void put_repeats(const struct block *b, uint32_t period, uint32_t repeats, uint32_t last,
                        osc_buf *out)
{
    char time[OSC_NUM_TEXT], count[OSC_NUM_TEXT], lines[48];
    int64_t end =
        number_of(b->t, last, OSC_FOLLOW_OFFSET_NS) + number_of(b->t, last, OSC_FOLLOW_DUR_NS);
    snprintf(lines, sizeof lines, period > 1 ? "these %u lines" : "the same", period);
    osc_buf_printf(out, "      ... %s %s times more, until %s%s (--all tells them)\n", lines,
                   osc_format_count(repeats, count), end < 0 ? "" : "+", osc_format_ns(end, time));
}

static void put_block(const struct block *b, int64_t limit, osc_buf *out)
{
    int64_t told = 0;
    char count[OSC_NUM_TEXT];
    uint32_t i = 0;
    while (i < b->count && (limit < 0 || told < limit)) {
        uint32_t repeats = 0, period = limit < 0 ? 0 : best_period(b, i, &repeats);
        for (uint32_t k = 0; k < (period ? period : 1); k++, told++)
            put_inner(b->t, b->rows[i + k], out);
        i += period ? period * (repeats + 1) : 1;
        if (period)
            put_repeats(b, period, repeats, b->rows[i - 1], out);
    }
    if (i < b->count)
        osc_buf_printf(out, "      ... %s more %s (--all tells them)\n",
                       osc_format_count(b->count - i, count), b->what);
}

/* Takes the rows of level 1 that follow a row of level 0; the next row of level 0. */
static uint32_t take_block(struct block *b, uint32_t row)
{
    b->count = 0;
    b->what = osc_str_eq(text_of(b->t, row, OSC_FOLLOW_KIND), OSC_STR("graph")) ? "in this launch"
                                                                                : "instructions";
    for (row++; row < osc_table_rows(b->t) && number_of(b->t, row, OSC_FOLLOW_LEVEL) > 0; row++) {
        if (number_of(b->t, row, OSC_FOLLOW_LEVEL) == 1)
            b->rows[b->count++] = row;
    }
    return row;
}

/* ---- all ---- */

static bool is_kind(const osc_table *t, uint32_t row, const char *kind)
{
    return osc_str_eq_cstr(text_of(t, row, OSC_FOLLOW_KIND), kind);
}

/* Frames around the call and calls related to it. */
static bool is_around(const osc_table *t, uint32_t row)
{
    return is_kind(t, row, "frame") || is_kind(t, row, "forward") || is_kind(t, row, "backward") ||
           is_kind(t, row, "previous") || is_kind(t, row, "next");
}

static void put_around(const osc_table *t, uint32_t row, osc_buf *out)
{
    osc_str name = text_of(t, row, OSC_FOLLOW_NAME), detail = text_of(t, row, OSC_FOLLOW_DETAIL);
    bool neighbour = is_kind(t, row, "previous") || is_kind(t, row, "next");
    size_t column =
        put_line(out, 2, text_of(t, row, OSC_FOLLOW_KIND), true,
                 number_of(t, row, OSC_FOLLOW_OFFSET_NS), number_of(t, row, OSC_FOLLOW_DUR_NS));
    put_remark_or_note(out, column, 4, neighbour ? detail : OSC_STR(""));
    if (!neighbour)
        put_name(out, name, detail);
}

/* A frame: its end says most, so a long one loses its front. */
static void put_frame(const osc_table *t, uint32_t row, osc_buf *out)
{
    char time[OSC_NUM_TEXT];
    osc_str name = text_of(t, row, OSC_FOLLOW_NAME);
    size_t pos = 0, room = NAME_WIDTH + START_WIDTH - 2;
    while (pos < name.len &&
           osc_utf8_columns(osc_str_sub(name, pos, SIZE_MAX)) > room - (pos ? 3 : 0))
        (void)osc_utf8_next(name, &pos);
    osc_buf_cstr(out, pos > 0 ? "  ..." : "  ");
    name = osc_str_sub(name, pos, SIZE_MAX);
    osc_export_safe(name, out);
    osc_buf_fill(out, ' ', room - (pos ? 3 : 0) - osc_utf8_columns(name));
    pad_left(out, format_length(number_of(t, row, OSC_FOLLOW_DUR_NS), time), LENGTH_WIDTH);
    osc_buf_cstr(out, "  frame\n");
}

static void put_left_out(int64_t launches, osc_buf *out)
{
    char count[OSC_NUM_TEXT];
    if (launches > 0)
        osc_buf_printf(out, "  ... %s more calls (--all tells them)\n",
                       osc_format_count(launches, count));
}

/* All rows; those of launches beyond the limit are counted. Rows around the call stand apart. */
static void put_rows(struct block *b, int64_t limit, bool colour, osc_buf *out)
{
    int64_t left_out = 0, launches = osc_table_fact_i64(b->t, "groups");
    bool apart = false;
    for (uint32_t row = 0, next; row < osc_table_rows(b->t); row = next) {
        next = take_block(b, row);
        if (limit >= 0 && number_of(b->t, row, OSC_FOLLOW_GROUP) > limit) {
            left_out = launches - limit;
            continue;
        }
        if (!is_around(b->t, row)) {
            put_slice(b->t, row, colour, out);
            put_block(b, limit, out);
            continue;
        }
        put_left_out(left_out, out);
        left_out = 0;
        if (is_kind(b->t, row, "frame")) {
            put_frame(b->t, row, out);
            continue;
        }
        if (!apart) {
            osc_buf_putc(out, '\n');
            apart = true;
        }
        put_around(b->t, row, out);
    }
    put_left_out(left_out, out);
}

void osc_export_waterfall(const osc_table *follow, int64_t limit, bool colour, osc_buf *out)
{
    struct block b = {.t = follow};
    b.rows = osc_realloc_array(NULL, (size_t)osc_table_rows(follow) + 1, sizeof *b.rows);
    if (!b.rows) {
        out->failed = true;
        return;
    }
    put_head(follow, out);
    put_rows(&b, limit, colour, out);
    put_shares(follow, out);
    osc_free(b.rows);
}
