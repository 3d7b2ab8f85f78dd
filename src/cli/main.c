/*
 * main.c - finds the command, parses its options, runs it.
 *
 * Refuses: anything about traces. A command lives in its own file; what is worth testing without a
 * terminal lives in scope/.
 */
#include "cli/heap.h"
#include "cli/output.h"

#include "base/source.h"
#include "base/str.h"

#include <signal.h>
#include <string.h>

static const osc_command *const commands[] = {
    &osc_command_info,   &osc_command_top,   &osc_command_follow, &osc_command_steps,
    &osc_command_idle,   &osc_command_path,  &osc_command_check,  &osc_command_engines,
    &osc_command_disasm, &osc_command_flame, &osc_command_cut,    &osc_command_table,
    &osc_command_schema, &osc_command_help};

const osc_command *const *osc_commands(uint32_t *count)
{
    *count = sizeof commands / sizeof *commands;
    return commands;
}

const osc_command *osc_command_find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[sizeof commands / sizeof *commands + 2];
    size_t n = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        names[n++] = commands[i]->name;
    if (name[0] == '-') {
        names[0] = "--help";
        names[1] = "--version";
        n = 2;
    }
    const char *near = osc_nearest(osc_str_from_cstr(name), names, n);
    const char *what = name[0] == '-' ? "option" : "command";
    if (near)
        osc_cli_say("no %s '%s'; the nearest is '%s'. See opscope help", what, name, near);
    else
        osc_cli_say("no %s '%s'. See opscope help", what, name);
    return OSC_EXIT_USAGE;
}

static void put_version(osc_buf *out)
{
    osc_buf_printf(out, "opscope %s\n", OSC_VERSION);
#if defined(__clang__)
    osc_buf_printf(out, "built with clang %d.%d.%d", __clang_major__, __clang_minor__,
                   __clang_patchlevel__);
#elif defined(__GNUC__)
    osc_buf_printf(out, "built with gcc %d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
    osc_buf_printf(out, ", %u-bit%s\n", (unsigned)(sizeof(void *) * 8),
#if defined(__SANITIZE_ADDRESS__)
                   ", address sanitizer"
#else
                   ""
#endif
    );
    osc_buf_printf(out, "reads %s\n", osc_source_built_with());
}

/* --version, --help, -h and nothing at all. */
static int run_global(const char *arg)
{
    osc_cli cli;
    osc_cli_init(&cli, NULL, false);
    if (arg && strcmp(arg, "--version") == 0)
        put_version(&cli.out);
    else
        osc_help_overview(&cli.out);
    int code = osc_cli_flush(&cli, OSC_EXIT_OK);
    osc_cli_free(&cli);
    return code;
}

static int run_command(const osc_command *command, int argc, char **argv)
{
    osc_parse parse;
    osc_cli cli;
    int code;
    if (!osc_parse_args(command, argc, argv, &parse)) {
        osc_cli_say("%s: %s", command->name, parse.error);
        return OSC_EXIT_USAGE;
    }
    osc_cli_init(&cli, parse.common[OSC_COMMON_COLOR].text, parse.common[OSC_COMMON_NO_PAGER].set);
    parse.call.cli = &cli;
    if (parse.common[OSC_COMMON_HELP].set) {
        osc_help_long(command, &cli.out);
        code = osc_cli_flush(&cli, OSC_EXIT_OK);
    } else if (parse.common[OSC_COMMON_SHORT_HELP].set) {
        osc_help_short(command, &cli.out);
        code = osc_cli_flush(&cli, OSC_EXIT_OK);
    } else {
        code = command->run(&parse.call);
    }
    osc_cli_free(&cli);
    return code;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write, handled quietly */
    if (argc < 2) {
        (void)run_global(NULL);
        return OSC_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return run_global(argv[1]);
    const osc_command *command = osc_command_find(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    osc_heap_prepare();
    return run_command(command, argc - 2, argv + 2);
}
