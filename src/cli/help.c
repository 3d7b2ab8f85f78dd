/*
 * help.c - the texts of `opscope help`, -h, --help and the man pages, from the command tables.
 */
#include "cli/cli.h"

#include "base/str.h"

#include <stdio.h>

#define HELP_COLUMN 30u
#define WIDTH       80u

/* "-n, --limit N" */
static void option_form(const osc_opt *o, osc_buf *out)
{
    if (o->letter)
        osc_buf_printf(out, "-%c%s", o->letter, o->name[0] ? ", " : "");
    else
        osc_buf_cstr(out, "    ");
    if (o->name[0])
        osc_buf_printf(out, "--%s", o->name);
    if (o->metavar)
        osc_buf_printf(out, " %s", o->metavar);
}

/* Appends words, broken so that no line passes WIDTH; later lines are indented. */
static void put_wrapped(osc_buf *out, size_t column, size_t indent, const char *text)
{
    osc_str rest = osc_str_from_cstr(text), word;
    bool first = true;
    while (osc_str_split(&rest, ' ', &word)) {
        size_t need = word.len + (first ? 0 : 1);
        if (!first && column + need > WIDTH) {
            osc_buf_putc(out, '\n');
            osc_buf_fill(out, ' ', indent);
            column = indent;
            first = true;
        }
        if (!first)
            osc_buf_putc(out, ' ');
        osc_buf_str(out, word);
        column += word.len + (first ? 0 : 1);
        first = false;
    }
    osc_buf_putc(out, '\n');
}

static void put_option(const osc_opt *o, osc_buf *out)
{
    size_t start = out->len;
    osc_buf_cstr(out, "  ");
    option_form(o, out);
    size_t column = out->len - start;
    if (column + 2 > HELP_COLUMN) {
        osc_buf_putc(out, '\n');
        column = 0;
    }
    osc_buf_fill(out, ' ', HELP_COLUMN - column);
    put_wrapped(out, HELP_COLUMN, HELP_COLUMN, o->help);
}

static void put_options(const osc_command *command, osc_buf *out)
{
    const osc_opt *o;
    for (uint32_t i = 0; (o = osc_option_at(command, i)) != NULL; i++)
        put_option(o, out);
}

void osc_help_overview(osc_buf *out)
{
    uint32_t count;
    const osc_command *const *commands = osc_commands(&count);
    osc_buf_cstr(out, "opscope shows where the time of a PyTorch program goes on an accelerator,\n"
                      "from the operator down to the engine instruction.\n\n"
                      "usage: opscope COMMAND [OPTIONS] FILE...\n\n");
    for (uint32_t i = 0; i < count; i++)
        osc_buf_printf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    osc_buf_cstr(out,
                 "\nopscope help COMMAND shows the manual page, opscope COMMAND -h its options,\n"
                 "opscope --version how this program was built.\n");
}

void osc_help_short(const osc_command *command, osc_buf *out)
{
    osc_buf_printf(out, "usage: opscope %s [OPTIONS] %s\n\n%s\n\n", command->name,
                   command->operands, command->summary);
    put_options(command, out);
}

/* Appends the joined lines of a paragraph, wrapped, and empties it. */
static void end_paragraph(osc_buf *out, osc_buf *paragraph, size_t indent)
{
    if (paragraph->len == 0)
        return;
    osc_buf_fill(out, ' ', indent);
    put_wrapped(out, indent, indent, osc_buf_c_str(paragraph));
    osc_buf_clear(paragraph);
}

/* Paragraphs wrapped; lines that begin with a space are kept as they are. */
static void put_paragraphs(osc_buf *out, const char *text, size_t indent)
{
    osc_str rest = osc_str_from_cstr(text), line;
    osc_buf paragraph;
    osc_buf_init(&paragraph, SIZE_MAX);
    while (osc_str_next_line(&rest, &line)) {
        if (line.len > 0 && line.ptr[0] != ' ') {
            osc_buf_cstr(&paragraph, paragraph.len ? " " : "");
            osc_buf_str(&paragraph, line);
            continue;
        }
        end_paragraph(out, &paragraph, indent);
        osc_buf_fill(out, ' ', line.len ? indent : 0);
        osc_buf_str(out, line);
        osc_buf_putc(out, '\n');
    }
    end_paragraph(out, &paragraph, indent);
    osc_buf_free(&paragraph);
}

void osc_help_long(const osc_command *command, osc_buf *out)
{
    osc_buf_printf(out, "NAME\n    opscope-%s - %s\n\nSYNOPSIS\n    opscope %s [OPTIONS] %s\n\n",
                   command->name, command->summary, command->name, command->operands);
    osc_buf_cstr(out, "DESCRIPTION\n");
    put_paragraphs(out, command->description, 4);
    osc_buf_cstr(out, "\nOPTIONS\n");
    put_options(command, out);
    if (command->example[0]) {
        osc_buf_cstr(out, "\nEXAMPLES\n");
        put_paragraphs(out, command->example, 4);
    }
    osc_buf_cstr(
        out,
        "\nEXIT STATUS\n"
        "    0 done, 1 something wrong was found (check; with --strict in any input), 2 wrong\n"
        "    usage, 3 input cannot be read, 4 out of memory or a fault of opscope\n");
}
