/* verdicts.c - see verdicts.h. Lines fit 80 columns; advice stands below what it is about (cli.md
 * "check"). */
#include "scope/export/verdicts.h"

#include "base/num.h"
#include "scope/export/export.h"

#include <stdio.h>

#define WIDTH         80u
#define VERDICT_WIDTH 6u
#define TITLE_WIDTH   27u
#define ADVICE_INDENT 8u

struct view {
    const osc_table *t;
    uint32_t rank, check, verdict, title, evidence, advice; /* columns; rank may be UINT32_MAX */
    osc_buf *out;
    bool colour;
};

static osc_str text(const struct view *v, uint32_t row, uint32_t column)
{
    return osc_table_cell(v->t, row, column).str;
}

static void put_row(const struct view *v, uint32_t row)
{
    osc_str verdict = text(v, row, v->verdict), advice = text(v, row, v->advice);
    osc_str check = text(v, row, v->check);
    osc_str title = text(v, row, v->title);
    bool fail = osc_str_eq(verdict, OSC_STR("FAIL"));
    const char *on = fail ? "\033[31m" : osc_str_eq(verdict, OSC_STR("warn")) ? "\033[33m" : "";
    osc_buf_printf(v->out, "%s%.*s%s", v->colour ? on : "", OSC_STR_FMT(verdict),
                   v->colour && on[0] ? "\033[0m" : "");
    osc_buf_fill(v->out, ' ', VERDICT_WIDTH - verdict.len);
    osc_export_safe(title, v->out);
    size_t wide = osc_utf8_columns(title);
    osc_buf_fill(v->out, ' ', wide < TITLE_WIDTH ? TITLE_WIDTH - wide : 1);
    osc_export_wrap(text(v, row, v->evidence), VERDICT_WIDTH + TITLE_WIDTH, WIDTH, v->out);
    if (osc_str_eq(verdict, OSC_STR("ok")))
        return;
    osc_buf line;
    osc_buf_init(&line, SIZE_MAX);
    osc_buf_printf(&line, "%.*s%s", OSC_STR_FMT(check), advice.len > 0 ? ": " : "");
    osc_buf_str(&line, advice);
    if (fail)
        osc_buf_printf(&line, "; or go on with what is there: --allow %.*s", OSC_STR_FMT(check));
    osc_buf_fill(v->out, ' ', ADVICE_INDENT);
    osc_export_wrap(osc_buf_view(&line), ADVICE_INDENT, WIDTH, v->out);
    osc_buf_free(&line);
}

static void put_count(int64_t count, const char *one, const char *many, osc_buf *out)
{
    char number[OSC_NUM_TEXT];
    if (count == 0)
        osc_buf_printf(out, "no %s", many);
    else
        osc_buf_printf(out, "%s %s", osc_format_count(count, number), count == 1 ? one : many);
}

void osc_export_verdicts(const osc_table *checks, bool colour, osc_buf *out)
{
    struct view v = {.t = checks,
                     .rank = osc_table_find(checks, "rank"),
                     .check = osc_table_find(checks, "check"),
                     .verdict = osc_table_find(checks, "verdict"),
                     .title = osc_table_find(checks, "title"),
                     .evidence = osc_table_find(checks, "evidence"),
                     .advice = osc_table_find(checks, "advice"),
                     .out = out,
                     .colour = colour};
    int64_t before = INT64_MIN;
    for (uint32_t row = 0; row < osc_table_rows(checks); row++) {
        int64_t rank = v.rank == UINT32_MAX ? before : osc_table_cell(checks, row, v.rank).i64;
        if (rank != before && rank >= 0)
            osc_buf_printf(out, "%srank %lld\n", row > 0 ? "\n" : "", (long long)rank);
        else if (rank != before)
            osc_buf_printf(out, "%sall ranks\n", row > 0 ? "\n" : "");
        before = rank;
        put_row(&v, row);
    }
    put_count(osc_table_fact_i64(checks, "failures"), "failure", "failures", out);
    osc_buf_cstr(out, ", ");
    put_count(osc_table_fact_i64(checks, "warnings"), "warning", "warnings", out);
    osc_buf_putc(out, '\n');
}
