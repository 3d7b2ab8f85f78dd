/*
 * engines_text.c - one screen about a device profile; see engines_text.h.
 *
 * First the picture, because the eye finds the engine that everyone waits for sooner than a table
 * does; then the table; then four lines of summary in words, and what to make of the numbers:
 * fitted constants, and whether the file's own summary agrees.
 */
#include "scope/export/engines_text.h"

#include "base/num.h"
#include "scope/analysis/engines.h"
#include "scope/analysis/say.h"
#include "scope/analysis/summary.h"
#include "scope/export/export.h"

#include <string.h>

#define LABEL_COLUMNS 13
#define DIFFER_SHOWN  4u

/* ---- values of the summary ---- */

static uint32_t row_of(const osc_table *summary, const char *field)
{
    for (uint32_t r = 0; r < osc_table_rows(summary); r++) {
        if (osc_str_eq_cstr(osc_table_cell(summary, r, OSC_SU_FIELD).str, field))
            return r;
    }
    return UINT32_MAX;
}

static double value_of(const osc_table *summary, const char *field)
{
    uint32_t r = row_of(summary, field);
    return r == UINT32_MAX ? 0 : osc_table_cell(summary, r, OSC_SU_VALUE).f64;
}

static bool has(const osc_table *summary, const char *field)
{
    return row_of(summary, field) != UINT32_MAX;
}

static void put_ns(const osc_table *summary, const char *seconds, osc_buf *out)
{
    char text[OSC_SAY_TEXT];
    osc_buf_cstr(out, osc_say_ns(osc_round(value_of(summary, seconds) * 1e9), text));
}

static void put_bytes(const osc_table *summary, const char *field, osc_buf *out)
{
    char text[OSC_NUM_TEXT];
    osc_buf_cstr(out, osc_format_bytes((uint64_t)value_of(summary, field), text));
}

/* 17,039,360 flop as "17 Mflop". */
static void put_flops(double flops, osc_buf *out)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    size_t i = 0;
    while (flops >= 1000 && i + 1 < sizeof prefix / sizeof *prefix) {
        flops /= 1000;
        i++;
    }
    osc_buf_printf(out, "%.3g %sflop", flops, prefix[i]);
}

static void put_percent(double fraction, osc_buf *out)
{
    osc_buf_printf(out, "%.3g %%", 100 * fraction);
}

static void label(const char *text, osc_buf *out)
{
    osc_buf_printf(out, "%-*s", LABEL_COLUMNS, text);
}

/* ---- head and picture ---- */

static void put_head(const osc_engines_page *p, osc_buf *out)
{
    osc_str program = osc_table_fact_str(p->engines, "program");
    int64_t runs = osc_table_fact_i64(p->engines, "executions");
    bool profile = osc_str_eq_cstr(osc_table_fact_str(p->engines, "source"), "device-profile");
    osc_export_safe(program.len > 0 ? program : OSC_STR("device"), out);
    if (profile)
        osc_buf_cstr(out, "   device profile   ");
    else
        osc_buf_printf(out, "   %lld execution%s   ", (long long)runs, runs == 1 ? "" : "s");
    put_ns(p->summary, "total_time", out);
    osc_buf_cstr(out,
                 !profile && runs > 1 ? " together, something ran in " : ", something ran in ");
    put_percent(value_of(p->summary, "total_active_time_percent"), out);
    osc_buf_cstr(out, "\n\n");
}

static void put_picture(const osc_table *t, bool colour, osc_buf *out)
{
    char drawn[OSC_SAY_TEXT], cut[OSC_SAY_TEXT];
    size_t width = 0;
    uint32_t lane = osc_table_find(t, "lane"), cells = osc_table_find(t, "cells");
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        size_t own = osc_utf8_columns(osc_table_cell(t, r, lane).str);
        width = own > width ? own : width;
    }
    width = width > 24 ? 24 : width < 3 ? 3 : width;
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        size_t used = osc_export_cut(osc_table_cell(t, r, lane).str, width, out);
        osc_buf_fill(out, ' ', width - used);
        osc_buf_cstr(out, colour ? " |\033[36m" : " |");
        osc_buf_str(out, osc_table_cell(t, r, cells).str);
        osc_buf_cstr(out, colour ? "\033[0m|\n" : "|\n");
    }
    osc_say_ns(osc_table_fact_i64(t, "drawn_ns"), drawn);
    osc_buf_fill(out, ' ', width + 2);
    osc_buf_printf(out, "%s   # busy  + partly  . waiting", drawn);
    if (osc_table_fact_i64(t, "cut_ns") > 0)
        osc_buf_printf(out, "   / left out: %s in which nothing ran",
                       osc_say_ns(osc_table_fact_i64(t, "cut_ns"), cut));
    osc_buf_cstr(out, "\n\n");
}

/* "3, 380.0 us each: 1.140 ms; bodies 36.8 us; between them 1.210 ms; together 2.387 ms" */
static void put_launches(const osc_table *engines, osc_buf *out)
{
    char each[OSC_SAY_TEXT], all[OSC_SAY_TEXT], bodies[OSC_SAY_TEXT], rest[OSC_SAY_TEXT];
    int64_t runs = osc_table_fact_i64(engines, "executions");
    int64_t launch = osc_table_fact_i64(engines, "launch_ns");
    int64_t body = osc_table_fact_i64(engines, "total_ns");
    int64_t wall = osc_table_fact_i64(engines, "wall_ns"), between = wall - launch - body;
    if (launch <= 0 || runs <= 0)
        return;
    label("launches", out);
    if (runs > 1)
        osc_buf_printf(out, "%lld, %s each: ", (long long)runs, osc_say_ns(launch / runs, each));
    osc_buf_printf(out, "%s; %s %s", osc_say_ns(launch, all), runs > 1 ? "bodies" : "body",
                   osc_say_ns(body, bodies));
    if (wall > 0 && between > 0 && runs > 1)
        osc_buf_printf(out, "; between them %s", osc_say_ns(between, rest));
    if (wall > 0 && between >= 0)
        osc_buf_printf(out, "; in all %s", osc_say_ns(wall, rest));
    osc_buf_putc(out, '\n');
}

/* ---- summary in words ---- */

static void put_arithmetic(const osc_table *s, osc_buf *out)
{
    label("arithmetic", out);
    if (value_of(s, "hardware_flops") == 0) {
        osc_buf_cstr(out, "no matrix products\n");
        return;
    }
    put_flops(value_of(s, "hardware_flops"), out);
    osc_buf_cstr(out, " on the tensor engine, ");
    put_flops(value_of(s, "model_flops"), out);
    osc_buf_cstr(out, " of them the model's");
    if (has(s, "mfu_estimated_percent")) {
        osc_buf_cstr(out, ": ");
        put_percent(value_of(s, "mfu_estimated_percent"), out);
        osc_buf_cstr(out, " of peak");
    }
    osc_buf_putc(out, '\n');
}

static void put_memory(const osc_table *s, osc_buf *out)
{
    label("memory", out);
    put_bytes(s, "hbm_read_bytes", out);
    osc_buf_cstr(out, " read, ");
    put_bytes(s, "hbm_write_bytes", out);
    osc_buf_cstr(out, " written");
    if (has(s, "mbu_estimated_percent")) {
        osc_buf_cstr(out, ": ");
        put_percent(value_of(s, "mbu_estimated_percent"), out);
        osc_buf_cstr(out, " of the bandwidth");
    }
    if (value_of(s, "spill_save_bytes") > 0) {
        osc_buf_cstr(out, ", ");
        put_bytes(s, "spill_save_bytes", out);
        osc_buf_cstr(out, " spilled");
    }
    osc_buf_putc(out, '\n');
}

static void put_dma(const osc_table *s, osc_buf *out)
{
    static const struct {
        const char *name, *count, *share;
    } classes[] = {
        {"static", "static_dma_packet_count", "static_dma_size_percent"},
        {"software dynamic", "software_dynamic_dma_packet_count",
         "software_dynamic_dma_size_percent"},
        {"hardware dynamic", "hardware_dynamic_dma_packet_count",
         "hardware_dynamic_dma_size_percent"},
    };
    double packets = 0;
    char text[OSC_NUM_TEXT];
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        packets += value_of(s, classes[i].count);
    label("DMA", out);
    if (value_of(s, "dma_queue_count") == 0) {
        osc_buf_cstr(out, "no packets\n");
        return;
    }
    osc_buf_printf(out, "%s packets on %.0f queues, ", osc_format_count((int64_t)packets, text),
                   value_of(s, "dma_queue_count"));
    osc_buf_cstr(out, "active ");
    put_ns(s, "dma_active_time", out);
    osc_buf_cstr(out, " (");
    put_percent(value_of(s, "dma_active_time_percent"), out);
    osc_buf_cstr(out, ")");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (value_of(s, classes[i].share) > 0)
            osc_buf_printf(out, ", %.3g %% of bytes %s", 100 * value_of(s, classes[i].share),
                           classes[i].name);
    }
    osc_buf_putc(out, '\n');
}

static void put_throttle(const osc_table *s, osc_buf *out)
{
    char text[OSC_SAY_TEXT];
    for (uint32_t r = 0; r < osc_table_rows(s); r++) {
        osc_str field = osc_table_cell(s, r, OSC_SU_FIELD).str;
        double ns = osc_table_cell(s, r, OSC_SU_VALUE).f64;
        if (!osc_str_starts(field, OSC_STR("throttle_active_nc")) || !(ns > 0))
            continue;
        label("throttling", out);
        osc_buf_printf(out, "the hardware limited the tensor engine for %s\n",
                       osc_say_ns((int64_t)ns, text));
    }
}

/* ---- how far to trust it ---- */

static void put_stated(const osc_table *s, osc_buf *out)
{
    uint32_t counts[3] = {0};
    static const char *const verdicts[3] = {"exact", "within", "differs"};
    for (uint32_t r = 0; r < osc_table_rows(s); r++) {
        for (size_t i = 0; i < 3; i++)
            counts[i] += osc_str_eq_cstr(osc_table_cell(s, r, OSC_SU_VERDICT).str, verdicts[i]);
    }
    if (counts[0] + counts[1] + counts[2] == 0)
        return;
    label("stated", out);
    osc_buf_printf(out, "the file's own summary: %u fields equal, %u within rounding", counts[0],
                   counts[1]);
    if (counts[2] == 0) {
        osc_buf_cstr(out, ", none differs\n");
        return;
    }
    osc_buf_printf(out, ", %u DIFFER:", counts[2]);
    for (uint32_t r = 0, shown = 0; r < osc_table_rows(s) && shown < DIFFER_SHOWN; r++) {
        if (!osc_str_eq_cstr(osc_table_cell(s, r, OSC_SU_VERDICT).str, "differs"))
            continue;
        osc_buf_cstr(out, shown++ > 0 ? ", " : " ");
        osc_export_safe(osc_table_cell(s, r, OSC_SU_FIELD).str, out);
    }
    osc_buf_cstr(out, counts[2] > DIFFER_SHOWN ? ", ... (--by summary)\n" : " (--by summary)\n");
}

static void put_trust(const osc_table *s, const osc_table *missing, osc_buf *out)
{
    bool any = false;
    for (uint32_t r = 0; r < osc_table_rows(s); r++) {
        if (!osc_str_eq_cstr(osc_table_cell(s, r, OSC_SU_BASIS).str, "fitted"))
            continue;
        if (!any)
            label("fitted", out);
        osc_buf_cstr(out, any ? ", " : "");
        osc_export_safe(osc_table_cell(s, r, OSC_SU_FIELD).str, out);
        any = true;
    }
    if (any)
        osc_buf_cstr(out, " use constants fitted on one runtime\n");
    if (osc_table_rows(missing) > 0) {
        label("underivable", out);
        osc_buf_printf(out, "%u fields follow from no rows (--by summary)\n",
                       osc_table_rows(missing));
    }
}

void osc_export_engines(const osc_engines_page *page, const osc_look *look, osc_buf *out)
{
    put_head(page, out);
    if (osc_table_rows(page->timeline) > 0)
        put_picture(page->timeline, look->colour, out);
    osc_export_text(page->engines, look, out);
    osc_buf_putc(out, '\n');
    put_launches(page->engines, out);
    put_arithmetic(page->summary, out);
    put_memory(page->summary, out);
    put_dma(page->summary, out);
    put_throttle(page->summary, out);
    put_stated(page->summary, out);
    put_trust(page->summary, page->missing, out);
}
