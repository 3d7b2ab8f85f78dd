/*
 * output.c - writing results, through a pager where it helps.
 *
 * The pager is run as git runs it: $PAGER by the shell, else less with -FRX. The result goes to it
 * by a pipe; when it cannot be started the result goes straight to the terminal.
 */
#include "cli/output.h"

#include "base/num.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool env_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0';
}

/* Columns for a table: $COLUMNS, the terminal's, or what keeps files and pipes the same anywhere. */
static uint32_t width(bool tty)
{
    const char *asked = getenv("COLUMNS");
    struct winsize size;
    int64_t columns;
    if (asked && osc_parse_i64(osc_str_from_cstr(asked), &columns) && columns > 0 &&
        columns < UINT16_MAX)
        return (uint32_t)columns;
    if (!tty)
        return OSC_EXPORT_WIDTH;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void osc_cli_init(osc_cli *cli, const char *colour, bool no_pager)
{
    bool tty = isatty(STDOUT_FILENO) != 0;
    const char *term = getenv("TERM");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    osc_buf_init(&cli->out, SIZE_MAX);
    cli->look.colour = tty && !dumb && !env_set("NO_COLOR");
    if (colour && strcmp(colour, "always") == 0)
        cli->look.colour = true;
    if (colour && strcmp(colour, "never") == 0)
        cli->look.colour = false;
    cli->look.width = width(tty);
    cli->pager = tty && !dumb && !no_pager;
    cli->found = false;
}

void osc_cli_free(osc_cli *cli)
{
    osc_buf_free(&cli->out);
}

/* Writes all; false on an error other than a reader that went away. */
static bool write_all(int fd, const unsigned char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EPIPE;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool fits_terminal(const osc_buf *out)
{
    struct winsize size;
    size_t lines = 0;
    for (size_t i = 0; i < out->len; i++)
        lines += out->data[i] == '\n';
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        return true;
    return lines < size.ws_row;
}

/* The child: the pager on the read end of the pipe. */
static void run_pager(const int ends[2])
{
    const char *pager = getenv("PAGER");
    (void)dup2(ends[0], STDIN_FILENO);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)setenv("LESS", "FRX", 0);
    (void)signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", pager && pager[0] ? pager : "less", (char *)NULL);
    _exit(127);
}

/* True when a pager took the whole result. */
static bool page(const osc_buf *out)
{
    int ends[2];
    int status = 0;
    assert(!out->failed);
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        run_pager(ends);
    (void)close(ends[0]);
    if (child > 0)
        (void)write_all(ends[1], out->data, out->len);
    (void)close(ends[1]);
    if (child < 0)
        return false;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

void osc_cli_guard_terminal(osc_cli *cli)
{
    osc_str rest = osc_buf_view(&cli->out), line;
    osc_buf safe;
    if (isatty(STDOUT_FILENO) == 0)
        return;
    osc_buf_init(&safe, SIZE_MAX);
    while (osc_str_split(&rest, '\n', &line)) {
        osc_export_safe(line, &safe);
        if (rest.ptr)
            osc_buf_putc(&safe, '\n');
    }
    osc_buf_free(&cli->out);
    cli->out = safe;
}

int osc_cli_flush(osc_cli *cli, int code)
{
    osc_err err = {0};
    if (osc_buf_status(&cli->out, "the result", &err) != OSC_OK)
        return osc_cli_fail(&err);
    bool done = cli->pager && !fits_terminal(&cli->out) && page(&cli->out);
    if (!done && !write_all(STDOUT_FILENO, cli->out.data, cli->out.len)) {
        osc_cli_say("cannot write the result: %s", strerror(errno));
        code = OSC_EXIT_INTERNAL;
    }
    osc_buf_clear(&cli->out);
    return code == OSC_EXIT_OK && cli->found ? OSC_EXIT_FINDING : code;
}

int osc_cli_show(osc_cli *cli, osc_table *table, osc_format format)
{
    osc_export(table, format, &cli->look, &cli->out);
    osc_table_free(table);
    return osc_cli_flush(cli, OSC_EXIT_OK);
}

int osc_cli_fail(const osc_err *err)
{
    if (err->input[0] != '\0')
        osc_cli_say("%s: %s", err->input, err->message);
    else
        osc_cli_say("%s", err->message);
    switch (err->code) {
    case OSC_ENOMEM:
    case OSC_EDEVMEM:
    case OSC_ESTATE: return OSC_EXIT_INTERNAL;
    default: return OSC_EXIT_INPUT;
    }
}

void osc_cli_say(const char *fmt, ...)
{
    char text[2048];
    osc_buf line;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    osc_buf_init(&line, SIZE_MAX);
    osc_buf_cstr(&line, "opscope: ");
    osc_export_safe(osc_str_from_cstr(text), &line); /* names in it come from files */
    osc_buf_putc(&line, '\n');
    (void)write_all(STDERR_FILENO, line.data, line.len);
    osc_buf_free(&line);
}
