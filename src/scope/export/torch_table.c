/*
 * torch_table.c - PyTorch's table() bit by bit (kineto-trace-format.md 2.7).
 *
 * Column order, widths, the two spaces after every cell, the title line that is one longer than its
 * rules when a title is: all as PyTorch writes them, because people compare the two. Lengths count
 * code points. A test holds it against texts that PyTorch printed.
 */
#include "scope/export/torch_table.h"

#include "base/mem.h"
#include "scope/analysis/key_averages.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX   20u
#define DEFAULT_WIDTH 12u
#define CELL_MAX      64u

struct layout {
    const osc_table *table;
    const osc_torch_table_options *options;
    osc_str device; /* "CUDA" */
    bool device_time, device_memory, memory, shapes, stack;
    size_t name_width, shapes_width, source_width;
    size_t width[COLUMNS_MAX];
    bool left[COLUMNS_MAX];
    uint32_t columns;
    double cpu_us, device_us; /* what percents are of */
    osc_buf *out;
};

osc_torch_table_options osc_torch_table_defaults(void)
{
    return (osc_torch_table_options){.row_limit = 100,
                                     .max_name_column_width = 55,
                                     .max_shapes_column_width = 80,
                                     .max_src_column_width = 75};
}

static osc_cell cell(const struct layout *l, uint32_t row, osc_ka_column column)
{
    return osc_table_cell(l->table, row, column);
}

static size_t code_points(osc_str text)
{
    size_t pos = 0, count = 0;
    while (pos < text.len) {
        (void)osc_utf8_next(text, &pos);
        count++;
    }
    return count;
}

/* The first n code points, or from code point n on. */
static osc_str first_points(osc_str text, size_t n)
{
    size_t pos = 0;
    while (n-- > 0 && pos < text.len)
        (void)osc_utf8_next(text, &pos);
    return osc_str_sub(text, 0, pos);
}

static osc_str skip_points(osc_str text, size_t n)
{
    return osc_str_sub(text, first_points(text, n).len, SIZE_MAX);
}

/* One cell, padded to its column, and the two spaces after it. */
static void put(const struct layout *l, uint32_t column, osc_str text)
{
    assert(column < l->columns);
    size_t length = code_points(text);
    size_t pad = l->width[column] > length ? l->width[column] - length : 0;
    if (!l->left[column])
        osc_buf_fill(l->out, ' ', pad);
    osc_buf_str(l->out, text);
    osc_buf_fill(l->out, ' ', (l->left[column] ? pad : 0) + 2);
}

static void put_cstr(const struct layout *l, uint32_t column, const char *text)
{
    put(l, column, osc_str_from_cstr(text));
}

/* ---- values ---- */

/* A time in us as _format_time does, or in the unit that was asked for. */
static void format_time(const struct layout *l, double us, char out[CELL_MAX])
{
    osc_str unit = l->options->time_unit;
    bool own = unit.len == 0;
    if (own ? us >= 1000000.0 : osc_str_eq(unit, OSC_STR("s")))
        snprintf(out, CELL_MAX, "%.3fs", us / 1000000.0);
    else if (own ? us >= 1000.0 : osc_str_eq(unit, OSC_STR("ms")))
        snprintf(out, CELL_MAX, "%.3fms", us / 1000.0);
    else
        snprintf(out, CELL_MAX, "%.3fus", us);
}

/* A time of a row, in us. */
static double us_of(const struct layout *l, uint32_t row, osc_ka_column column)
{
    return osc_ka_us(l->table, row, column);
}

static void put_time(const struct layout *l, uint32_t column, double us)
{
    char text[CELL_MAX];
    format_time(l, us, text);
    put_cstr(l, column, text);
}

static void put_share(const struct layout *l, uint32_t column, double us, double total_us)
{
    char text[CELL_MAX] = "NaN";
    if (total_us != 0)
        snprintf(text, sizeof text, "%.2f%%", us * 100.0 / total_us);
    put_cstr(l, column, text);
}

static void put_memory(const struct layout *l, uint32_t column, int64_t bytes)
{
    char text[CELL_MAX];
    double size = (double)bytes, magnitude = size < 0 ? -size : size;
    if (magnitude >= 1073741824.0)
        snprintf(text, sizeof text, "%.2f GB", size / 1073741824.0);
    else if (magnitude >= 1048576.0)
        snprintf(text, sizeof text, "%.2f MB", size / 1048576.0);
    else if (magnitude >= 1024.0)
        snprintf(text, sizeof text, "%.2f KB", size / 1024.0);
    else
        snprintf(text, sizeof text, "%lld B", (long long)bytes);
    put_cstr(l, column, text);
}

/* ---- layout ---- */

static size_t at_most(size_t value, size_t limit)
{
    return value < limit ? value : limit;
}

/* The longest line of a stack, in code points. */
static size_t longest_entry(osc_str stack)
{
    osc_str rest = stack, line;
    size_t longest = 0;
    while (osc_str_split(&rest, '\n', &line)) {
        size_t length = code_points(line);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Device rows whose time adds up to the total: no annotations, no HPU (2.7). */
static bool is_device_work(const struct layout *l, uint32_t row)
{
    osc_str type = cell(l, row, OSC_KA_DEVICE_TYPE).str;
    return !osc_str_eq(type, OSC_STR("CPU")) && !osc_str_eq(type, OSC_STR("HPU")) &&
           !cell(l, row, OSC_KA_IS_USER_ANNOTATION).boolean;
}

static void sum_up(struct layout *l)
{
    for (uint32_t r = 0; r < osc_table_rows(l->table); r++) {
        l->cpu_us += us_of(l, r, OSC_KA_SELF_CPU_NS);
        if (is_device_work(l, r))
            l->device_us += us_of(l, r, OSC_KA_SELF_DEVICE_NS);
    }
}

/* Which columns there are and how wide names, shapes and sources get. */
static void look_at_rows(struct layout *l)
{
    size_t name = 0, shapes = 0, source = 0;
    for (uint32_t r = 0; r < osc_table_rows(l->table); r++) {
        osc_str shape = cell(l, r, OSC_KA_INPUT_SHAPES).str;
        size_t length = code_points(cell(l, r, OSC_KA_NAME).str);
        name = length > name ? length : name;
        length = code_points(shape);
        shapes = length > shapes ? length : shapes;
        length = longest_entry(cell(l, r, OSC_KA_STACK).str);
        source = length > source ? length : source;
        l->device_time |= cell(l, r, OSC_KA_SELF_DEVICE_NS).i64 > 0;
        l->device_memory |= cell(l, r, OSC_KA_SELF_DEVICE_BYTES).i64 > 0;
        l->shapes |= shape.len > 0 && !osc_str_eq(shape, OSC_STR("[]"));
    }
    l->stack = source > 0;
    l->name_width = at_most(name + 4, l->options->max_name_column_width);
    l->shapes_width = at_most(shapes + 4, l->options->max_shapes_column_width);
    l->source_width = at_most(source + 4, l->options->max_src_column_width);
    l->memory = osc_table_fact_i64(l->table, "profile_memory") != 0;
    l->device = osc_table_fact_str(l->table, "device");
    l->device_memory &= l->memory && l->device.len > 0;
    sum_up(l);
}

static void add_column(struct layout *l, size_t width, bool left)
{
    assert(l->columns < COLUMNS_MAX);
    l->width[l->columns] = width;
    l->left[l->columns++] = left;
}

static void lay_out(struct layout *l)
{
    uint32_t plain =
        5u + (l->device_time ? 4u : 0) + (l->memory ? 2u : 0) + (l->device_memory ? 2u : 0) + 1u;
    add_column(l, l->name_width, false);
    for (uint32_t i = 0; i < plain; i++)
        add_column(l, DEFAULT_WIDTH, false);
    if (l->shapes)
        add_column(l, l->shapes_width, false);
    if (l->stack)
        add_column(l, l->source_width, true);
}

/* ---- lines ---- */

static void put_rule(const struct layout *l)
{
    for (uint32_t c = 0; c < l->columns; c++) {
        osc_buf_fill(l->out, '-', l->width[c]);
        osc_buf_cstr(l->out, "  ");
    }
    osc_buf_putc(l->out, '\n');
}

static void put_double_rule(const struct layout *l)
{
    size_t length = 0;
    for (uint32_t c = 0; c < l->columns; c++)
        length += l->width[c] + 2;
    osc_buf_fill(l->out, '=', length - 2);
    osc_buf_putc(l->out, '\n');
}

/* A title with the device's name where it has a '@'. */
static void put_title(const struct layout *l, uint32_t column, const char *pattern)
{
    char text[CELL_MAX * 2];
    const char *at = strchr(pattern, '@');
    if (!at) {
        put_cstr(l, column, pattern);
        return;
    }
    snprintf(text, sizeof text, "%.*s%.*s%s", (int)(at - pattern), pattern, OSC_STR_FMT(l->device),
             at + 1);
    put_cstr(l, column, text);
}

static void put_titles(const struct layout *l)
{
    static const char *const cpu[] = {"Name",        "Self CPU %", "Self CPU",
                                      "CPU total %", "CPU total",  "CPU time avg"};
    static const char *const device[] = {"Self @", "Self @ %", "@ total", "@ time avg"};
    uint32_t c = 0;
    for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++)
        put_title(l, c++, cpu[i]);
    for (size_t i = 0; l->device_time && i < sizeof device / sizeof *device; i++)
        put_title(l, c++, device[i]);
    if (l->memory) {
        put_title(l, c++, "CPU Mem");
        put_title(l, c++, "Self CPU Mem");
    }
    if (l->device_memory) {
        put_title(l, c++, "@ Mem");
        put_title(l, c++, "Self @ Mem");
    }
    put_title(l, c++, "# of Calls");
    if (l->shapes)
        put_title(l, c++, "Input Shapes");
    if (l->stack)
        put_title(l, c++, "Source Location");
    osc_buf_putc(l->out, '\n');
}

/* A source entry that is too long loses its left end. */
static void put_source(const struct layout *l, uint32_t column, osc_str entry)
{
    size_t length = code_points(entry);
    if (length <= l->source_width) {
        put(l, column, entry);
        return;
    }
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_cstr(&text, "...");
    osc_buf_str(&text, skip_points(entry, length - l->source_width + 3));
    put(l, column, osc_buf_view(&text));
    osc_buf_free(&text);
}

static void put_name(const struct layout *l, osc_str name)
{
    size_t limit = l->options->max_name_column_width;
    if (limit < 3 || code_points(name) < limit - 3) {
        put(l, 0, name);
        return;
    }
    osc_buf text;
    osc_buf_init(&text, SIZE_MAX);
    osc_buf_str(&text, first_points(name, limit - 3));
    osc_buf_cstr(&text, "...");
    put(l, 0, osc_buf_view(&text));
    osc_buf_free(&text);
}

/* The lines after a row with a stack: its further entries, then a blank one. */
static void put_stack_rest(const struct layout *l, osc_str rest)
{
    osc_str entry;
    bool more = true;
    while (more) {
        more = osc_str_split(&rest, '\n', &entry);
        for (uint32_t c = 0; c + 1 < l->columns; c++)
            put_cstr(l, c, "");
        put_source(l, l->columns - 1, more ? entry : (osc_str){0});
        osc_buf_putc(l->out, '\n');
    }
}

static void put_row(const struct layout *l, uint32_t r)
{
    char text[CELL_MAX];
    double count = (double)cell(l, r, OSC_KA_COUNT).i64;
    double cpu = us_of(l, r, OSC_KA_TOTAL_CPU_NS), device = us_of(l, r, OSC_KA_TOTAL_DEVICE_NS);
    double self_cpu = us_of(l, r, OSC_KA_SELF_CPU_NS);
    double self_device = us_of(l, r, OSC_KA_SELF_DEVICE_NS);
    uint32_t c = 1;
    put_name(l, cell(l, r, OSC_KA_NAME).str);
    put_share(l, c++, self_cpu, l->cpu_us);
    put_time(l, c++, self_cpu);
    put_share(l, c++, cpu, l->cpu_us);
    put_time(l, c++, cpu);
    put_time(l, c++, cpu / count);
    if (l->device_time) {
        put_time(l, c++, self_device);
        put_share(l, c++, self_device, l->device_us);
        put_time(l, c++, device);
        put_time(l, c++, device / count);
    }
    if (l->memory) {
        put_memory(l, c++, cell(l, r, OSC_KA_CPU_BYTES).i64);
        put_memory(l, c++, cell(l, r, OSC_KA_SELF_CPU_BYTES).i64);
    }
    if (l->device_memory) {
        put_memory(l, c++, cell(l, r, OSC_KA_DEVICE_BYTES).i64);
        put_memory(l, c++, cell(l, r, OSC_KA_SELF_DEVICE_BYTES).i64);
    }
    snprintf(text, sizeof text, "%lld", (long long)cell(l, r, OSC_KA_COUNT).i64);
    put_cstr(l, c++, text);
    if (l->shapes)
        put(l, c++, first_points(cell(l, r, OSC_KA_INPUT_SHAPES).str, l->shapes_width));
    osc_str rest = cell(l, r, OSC_KA_STACK).str, entry = {0};
    if (l->stack) {
        (void)osc_str_split(&rest, '\n', &entry);
        put_source(l, c, entry);
    }
    osc_buf_putc(l->out, '\n');
    if (l->stack)
        put_stack_rest(l, rest);
}

static void put_rows(const struct layout *l)
{
    int64_t printed = 0;
    for (uint32_t r = 0; r < osc_table_rows(l->table) && printed != l->options->row_limit; r++) {
        if (l->options->top_level_events_only && cell(l, r, OSC_KA_HAS_PARENT).boolean)
            continue;
        put_row(l, r);
        printed++;
    }
}

void osc_export_torch_table(const osc_table *key_averages, const osc_torch_table_options *options,
                            osc_buf *out)
{
    struct layout l = {.table = key_averages, .options = options, .out = out};
    char text[CELL_MAX];
    if (osc_table_rows(key_averages) == 0)
        return; /* PyTorch prints an empty text */
    look_at_rows(&l);
    lay_out(&l);
    if (options->header.ptr) {
        put_double_rule(&l);
        osc_buf_str(out, options->header);
        osc_buf_putc(out, '\n');
    }
    if (options->top_level_events_only) {
        put_double_rule(&l);
        osc_buf_cstr(out, "This report only display top-level ops statistics\n");
    }
    put_rule(&l);
    put_titles(&l);
    put_rule(&l);
    put_rows(&l);
    put_rule(&l);
    format_time(&l, l.cpu_us, text);
    osc_buf_printf(out, "Self CPU time total: %s\n", text);
    if (l.device_time) {
        format_time(&l, l.device_us, text);
        osc_buf_printf(out, "Self %.*s time total: %s\n", OSC_STR_FMT(l.device), text);
    }
}
