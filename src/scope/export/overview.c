/* overview.c - see overview.h. */
#include "scope/export/overview.h"

#include "base/num.h"
#include "scope/analysis/info.h"
#include "scope/export/export.h"

#define WIDTH          80u
#define FINDING_INDENT 8u

static osc_str text_of(const osc_table *t, uint32_t row, osc_info_column column)
{
    return osc_table_cell(t, row, column).str;
}

static bool is_finding(const osc_table *t, uint32_t row)
{
    return text_of(t, row, OSC_INFO_SEVERITY).len > 0;
}

static size_t widest(const osc_table *t, osc_info_column column)
{
    size_t width = 0;
    for (uint32_t r = 0; r < osc_table_rows(t); r++) {
        size_t columns = osc_utf8_columns(text_of(t, r, column));
        if (!is_finding(t, r) && columns > width && columns <= WIDTH / 2)
            width = columns;
    }
    return width;
}

/* A text padded to a width when more follows on the line. */
static void put_padded(osc_str text, size_t width, bool more, osc_buf *out)
{
    size_t columns = osc_utf8_columns(text);
    osc_export_safe(text, out);
    if (more)
        osc_buf_fill(out, ' ', columns < width ? width - columns + 2 : 2);
}

static void put_fact(const osc_table *t, uint32_t row, const size_t width[3], osc_buf *out)
{
    osc_str file = text_of(t, row, OSC_INFO_FILE), state = text_of(t, row, OSC_INFO_STATE);
    osc_str text = text_of(t, row, OSC_INFO_TEXT);
    put_padded(text_of(t, row, OSC_INFO_TOPIC), width[0], text.len + file.len + state.len > 0, out);
    put_padded(text, width[1], file.len + state.len > 0, out);
    if (file.len > 0)
        put_padded(file, width[2], state.len > 0, out);
    osc_export_safe(state, out);
    osc_buf_putc(out, '\n');
}

static void put_finding(const osc_table *t, uint32_t row, bool colour, osc_buf *out)
{
    osc_str severity = text_of(t, row, OSC_INFO_SEVERITY), file = text_of(t, row, OSC_INFO_FILE);
    int64_t times = osc_table_cell(t, row, OSC_INFO_TIMES).i64;
    int64_t offset = osc_table_cell(t, row, OSC_INFO_OFFSET).i64;
    char number[OSC_NUM_TEXT];
    osc_buf line;
    osc_buf_init(&line, SIZE_MAX);
    osc_buf_str(&line, text_of(t, row, OSC_INFO_TEXT));
    if (times > 1)
        osc_buf_printf(&line, "; %s times", osc_format_count(times, number));
    if (offset >= 0)
        osc_buf_printf(&line, "; first at byte %s", osc_format_count(offset, number));
    if (file.len > 0)
        osc_buf_printf(&line, " (%.*s)", OSC_STR_FMT(file));
    const char *on = osc_str_eq(severity, OSC_STR("FAIL"))   ? "\033[31m"
                     : osc_str_eq(severity, OSC_STR("warn")) ? "\033[33m"
                                                             : "";
    osc_buf_printf(out, "  %s%.*s%s  ", colour ? on : "", OSC_STR_FMT(severity),
                   colour ? "\033[0m" : "");
    osc_export_wrap(osc_buf_view(&line), FINDING_INDENT, WIDTH, out);
    osc_buf_free(&line);
}

void osc_export_overview(const osc_table *info, bool colour, osc_buf *out)
{
    size_t width[3] = {widest(info, OSC_INFO_TOPIC), 0, widest(info, OSC_INFO_FILE)};
    bool any = false;
    /* The width of a text only matters where something follows it. */
    for (uint32_t r = 0; r < osc_table_rows(info); r++) {
        size_t columns = osc_utf8_columns(text_of(info, r, OSC_INFO_TEXT));
        bool follows =
            text_of(info, r, OSC_INFO_FILE).len + text_of(info, r, OSC_INFO_STATE).len > 0;
        if (!is_finding(info, r) && follows && columns > width[1] && columns <= WIDTH / 2)
            width[1] = columns;
    }
    for (uint32_t r = 0; r < osc_table_rows(info); r++) {
        if (!is_finding(info, r))
            put_fact(info, r, width, out);
    }
    for (uint32_t r = 0; r < osc_table_rows(info); r++) {
        if (!is_finding(info, r))
            continue;
        osc_buf_cstr(out, any ? "" : "\nFindings\n");
        any = true;
        put_finding(info, r, colour, out);
    }
}
