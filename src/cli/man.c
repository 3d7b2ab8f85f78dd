/*
 * man.c - the manual pages in roff, from the same tables as the rest of the help.
 */
#include "cli/cli.h"

#include "base/str.h"

#include <string.h>

/* Text with what roff would take for markup escaped. */
static void put_roff(osc_buf *out, osc_str text)
{
    bool line_start = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (line_start && (c == '.' || c == '\''))
            osc_buf_cstr(out, "\\&");
        if (c == '\\')
            osc_buf_cstr(out, "\\e");
        else if (c == '-')
            osc_buf_cstr(out, "\\-");
        else
            osc_buf_putc(out, c);
        line_start = c == '\n';
    }
}

static void put_cstr(osc_buf *out, const char *text)
{
    put_roff(out, osc_str_from_cstr(text));
}

static void put_paragraphs(osc_buf *out, const char *text)
{
    osc_str rest = osc_str_from_cstr(text), line;
    bool verbatim = false;
    while (osc_str_next_line(&rest, &line)) {
        bool indented = line.len > 0 && line.ptr[0] == ' ';
        if (indented != verbatim)
            osc_buf_cstr(out, indented ? ".nf\n" : ".fi\n");
        verbatim = indented;
        if (line.len == 0)
            osc_buf_cstr(out, ".PP");
        else
            put_roff(out, line);
        osc_buf_putc(out, '\n');
    }
    if (verbatim)
        osc_buf_cstr(out, ".fi\n");
}

static void put_option(osc_buf *out, const osc_opt *o)
{
    osc_buf_cstr(out, ".TP\n");
    if (o->letter)
        osc_buf_printf(out, "\\fB\\-%c\\fR%s", o->letter, o->name[0] ? ", " : "");
    if (o->name[0]) {
        osc_buf_cstr(out, "\\fB\\-\\-");
        put_cstr(out, o->name);
        osc_buf_cstr(out, "\\fR");
    }
    if (o->metavar)
        osc_buf_printf(out, " \\fI%s\\fR", o->metavar);
    osc_buf_putc(out, '\n');
    put_cstr(out, o->help);
    osc_buf_cstr(out, "\n");
}

static void put_head(osc_buf *out, const char *title, const char *name, const char *summary)
{
    osc_buf_printf(out, ".TH %s 1 \"\" \"opscope %s\" \"opscope manual\"\n.SH NAME\n", title,
                   OSC_VERSION);
    put_cstr(out, name);
    osc_buf_cstr(out, " \\- ");
    put_cstr(out, summary);
    osc_buf_cstr(out, "\n.SH SYNOPSIS\n");
}

static void put_exit_status(osc_buf *out)
{
    osc_buf_cstr(
        out,
        ".SH EXIT STATUS\n"
        "0 done, 1 something wrong was found (check; with \\-\\-strict in any input), 2 wrong\n"
        "usage, 3 input cannot be read, 4 out of memory or a fault of opscope.\n");
}

/* opscope(1): the list of commands. */
static void put_overview(osc_buf *out)
{
    uint32_t count;
    const osc_command *const *commands = osc_commands(&count);
    put_head(out, "OPSCOPE", "opscope",
             "where the time of a PyTorch program goes on an accelerator");
    osc_buf_cstr(
        out,
        ".B opscope\n.I COMMAND\n[OPTIONS] FILE...\n.SH DESCRIPTION\n"
        "Reads the traces that PyTorch's profilers write, and the captures of a NeuronCore, real\n"
        "or virtual, and shows where time goes: from the operator down to the engine instruction.\n"
        ".SH COMMANDS\n");
    for (uint32_t i = 0; i < count; i++) {
        osc_buf_printf(out, ".TP\n\\fBopscope\\-%s\\fR(1)\n", commands[i]->name);
        put_cstr(out, commands[i]->summary);
        osc_buf_putc(out, '\n');
    }
    put_exit_status(out);
    osc_buf_cstr(out,
                 ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colour when set\n.TP\n.B COLUMNS\nwidth of "
                 "tables; the terminal's when not set, 120 without one\n.TP\n.B PAGER\n"
                 "program that shows long results on a terminal; less when not set\n");
}

void osc_help_man(const osc_command *command, osc_buf *out)
{
    char name[64] = "opscope-", title[64] = "OPSCOPE\\-";
    if (!command) {
        put_overview(out);
        return;
    }
    size_t used = strlen(title);
    for (size_t i = 0; command->name[i] && used + 1 < sizeof title; i++) {
        char c = command->name[i];
        title[used++] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        title[used] = '\0';
    }
    osc_str_to_array(osc_str_from_cstr(command->name), name + strlen(name),
                     sizeof name - strlen(name));
    put_head(out, title, name, command->summary);
    osc_buf_printf(out, ".B opscope %s\n[OPTIONS]\n.I %s\n.SH DESCRIPTION\n", command->name,
                   command->operands);
    put_paragraphs(out, command->description);
    osc_buf_cstr(out, ".SH OPTIONS\n");
    const osc_opt *o;
    for (uint32_t i = 0; (o = osc_option_at(command, i)) != NULL; i++)
        put_option(out, o);
    if (command->example[0]) {
        osc_buf_cstr(out, ".SH EXAMPLES\n");
        put_paragraphs(out, command->example);
    }
    put_exit_status(out);
    osc_buf_cstr(out, ".SH SEE ALSO\n\\fBopscope\\fR(1)\n");
}
