/*
 * text.c - aligned columns for a terminal: texts left, numbers right, the last text column
 * unpadded, and all of it as wide as the terminal at most.
 *
 * Widths are counted in terminal columns, so that wide characters line up. A table that is too wide
 * first gives up columns, those of the least use first (table.h), until the rest fits with texts cut
 * to a legible length; then the widest texts give way until all fits. What is left out is named
 * below the table. Wrapping cells was tried and lost: rows of several lines cannot be compared by
 * eye. Machine formats never cut.
 */
#include "scope/export/export.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define TEXT_MIN    20u /* texts are not cut below this while columns can be left out */
#define COLUMNS_MIN 2u  /* columns that are never left out */
#define MAX_COLUMNS 64u
#define GAP         "   "

struct layout {
    uint32_t shown[MAX_COLUMNS]; /* table columns that are printed */
    size_t width[MAX_COLUMNS];
    osc_scale scale[MAX_COLUMNS];
    uint32_t count;
    size_t indent; /* of the lines below */
    osc_buf whole, cut;
};

static const char *label(const osc_table *table, const struct layout *l, uint32_t i)
{
    return osc_table_column_at(table, l->shown[i])->label;
}

static bool is_text(const osc_table *table, uint32_t column)
{
    osc_cell_type type = osc_table_column_at(table, column)->type;
    return type == OSC_CELL_STR || type == OSC_CELL_BOOL;
}

/* The whole cell as it is printed, in l->whole. */
static osc_str cell_text(const osc_table *table, struct layout *l, uint32_t row, uint32_t i)
{
    osc_buf_clear(&l->whole);
    osc_export_cell(table, row, l->shown[i], &l->scale[i], &l->whole);
    return osc_buf_view(&l->whole);
}

/* All columns for people, as wide as they want to be. */
static void measure(const osc_table *table, struct layout *l)
{
    assert(osc_table_columns(table) <= MAX_COLUMNS);
    for (uint32_t c = 0; c < osc_table_columns(table); c++) {
        if (!osc_export_shows(table, c))
            continue;
        l->shown[l->count] = c;
        l->scale[l->count] = osc_export_scale(table, c);
        l->width[l->count] = strlen(osc_table_column_at(table, c)->label);
        l->count++;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        for (uint32_t r = 0; r < osc_table_rows(table); r++) {
            size_t width = osc_utf8_columns(cell_text(table, l, r, i));
            l->width[i] = width > l->width[i] ? width : l->width[i];
        }
    }
}

/* The least that a column is cut to. */
static size_t narrowest(const osc_table *table, const struct layout *l, uint32_t i)
{
    size_t least = strlen(label(table, l, i));
    least = least > TEXT_MIN ? least : TEXT_MIN;
    return is_text(table, l->shown[i]) && least < l->width[i] ? least : l->width[i];
}

static size_t row_width(const osc_table *table, const struct layout *l, bool with_cuts)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < l->count; i++)
        sum += (i > 0 ? strlen(GAP) : 0) + (with_cuts ? narrowest(table, l, i) : l->width[i]);
    return sum;
}

/* Leaves out the column of the least use, the last of them; the first stays, it says what the row
 * is about. */
static void leave_one_out(const osc_table *table, struct layout *l)
{
    uint32_t worst = 1;
    for (uint32_t i = 2; i < l->count; i++) {
        if (osc_table_column_at(table, l->shown[i])->use >=
            osc_table_column_at(table, l->shown[worst])->use)
            worst = i;
    }
    l->count--;
    for (uint32_t i = worst; i < l->count; i++) {
        l->shown[i] = l->shown[i + 1];
        l->width[i] = l->width[i + 1];
        l->scale[i] = l->scale[i + 1];
    }
}

/* Takes away what is too wide, a column at a time from the widest text. */
static void cut_texts(const osc_table *table, struct layout *l, size_t width)
{
    for (size_t now = row_width(table, l, false); now > width; now--) {
        uint32_t widest = UINT32_MAX;
        for (uint32_t i = 0; i < l->count; i++) {
            if (l->width[i] > narrowest(table, l, i) &&
                (widest == UINT32_MAX || l->width[i] > l->width[widest]))
                widest = i;
        }
        if (widest == UINT32_MAX)
            return; /* two columns, and the terminal is narrower than they are */
        l->width[widest]--;
    }
}

/* Lines below stand under the second column where they fit there. */
static size_t footer_indent(const osc_table *table, const struct layout *l, size_t width)
{
    size_t indent = l->count > 0 ? l->width[0] + strlen(GAP) : 0;
    for (uint32_t f = 0; f < osc_table_footers(table); f++) {
        size_t length = osc_utf8_columns(osc_table_footer(table, f));
        size_t room = length < width ? width - length : 0;
        indent = indent < room ? indent : room;
    }
    return indent;
}

/* A text that is too wide: its begin and a third from its end, where a frame has its function and
 * an operator what tells it from its like. Returns the columns used. */
static size_t cut_middle(osc_str text, size_t columns, osc_buf *out)
{
    size_t from = 0, back = osc_utf8_columns(text);
    size_t room = (columns - strlen("...")) / 3;
    while (back > room) {
        size_t at = from;
        (void)osc_utf8_next(text, &from);
        size_t width = osc_utf8_columns(osc_str_sub(text, at, from - at));
        back -= width < back ? width : back;
    }
    size_t front = osc_export_cut(text, columns - back, out);
    osc_buf_str(out, osc_str_sub(text, from, SIZE_MAX));
    return front + back;
}

static void put(const osc_table *table, struct layout *l, uint32_t i, osc_str text, osc_buf *out)
{
    osc_buf_clear(&l->cut);
    size_t width = osc_utf8_columns(text);
    if (width > l->width[i]) {
        width = cut_middle(text, l->width[i], &l->cut);
        text = osc_buf_view(&l->cut);
    }
    size_t pad = l->width[i] - width;
    if (i > 0)
        osc_buf_cstr(out, GAP);
    if (is_text(table, l->shown[i])) {
        osc_buf_str(out, text);
        if (i + 1 < l->count)
            osc_buf_fill(out, ' ', pad);
    } else {
        osc_buf_fill(out, ' ', pad);
        osc_buf_str(out, text);
    }
}

/* Names what the terminal had no room for. */
static void put_left_out(const osc_table *table, const struct layout *l, size_t width, osc_buf *out)
{
    uint32_t n = 0, i = 0;
    osc_buf names, line;
    osc_buf_init(&names, SIZE_MAX);
    osc_buf_init(&line, SIZE_MAX);
    for (uint32_t c = 0; c < osc_table_columns(table); c++) {
        if (i < l->count && l->shown[i] == c)
            i++;
        else if (osc_export_shows(table, c))
            osc_buf_printf(&names, "%s%s", n++ > 0 ? ", " : "",
                           osc_table_column_at(table, c)->label);
    }
    if (n > 0) {
        osc_buf_printf(&line, "%u column%s left out: ", n, n == 1 ? "" : "s");
        osc_buf_str(&line, osc_buf_view(&names));
        osc_buf_cstr(&line, "; a wider terminal, or --format csv, has all");
        size_t length = osc_utf8_columns(osc_buf_view(&line));
        size_t room = length < width ? width - length : 0;
        size_t indent = l->indent < room ? l->indent : room;
        osc_buf_fill(out, ' ', indent);
        osc_export_wrap(osc_buf_view(&line), indent, width, out);
    }
    out->failed |= names.failed | line.failed;
    osc_buf_free(&names);
    osc_buf_free(&line);
}

static void put_lines(const osc_table *table, struct layout *l, bool colour, osc_buf *out)
{
    osc_buf_cstr(out, colour ? "\033[1m" : "");
    for (uint32_t i = 0; i < l->count; i++)
        put(table, l, i, osc_str_from_cstr(label(table, l, i)), out);
    osc_buf_cstr(out, colour ? "\033[0m\n" : "\n");
    for (uint32_t r = 0; r < osc_table_rows(table); r++) {
        for (uint32_t i = 0; i < l->count; i++)
            put(table, l, i, cell_text(table, l, r, i), out);
        osc_buf_putc(out, '\n');
    }
}

void osc_export_text(const osc_table *table, const osc_look *look, osc_buf *out)
{
    size_t width = !look ? OSC_EXPORT_WIDTH : look->width > 0 ? look->width : SIZE_MAX;
    struct layout l = {.count = 0};
    osc_buf_init(&l.whole, SIZE_MAX);
    osc_buf_init(&l.cut, SIZE_MAX);
    measure(table, &l);
    while (l.count > COLUMNS_MIN && row_width(table, &l, true) > width)
        leave_one_out(table, &l);
    cut_texts(table, &l, width);
    put_lines(table, &l, look && look->colour, out);
    l.indent = footer_indent(table, &l, width);
    for (uint32_t f = 0; f < osc_table_footers(table); f++) {
        osc_buf_fill(out, ' ', l.indent);
        osc_export_wrap(osc_table_footer(table, f), l.indent, width, out);
    }
    put_left_out(table, &l, width, out);
    out->failed |= l.whole.failed | l.cut.failed;
    osc_buf_free(&l.whole);
    osc_buf_free(&l.cut);
}
