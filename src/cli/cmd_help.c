/* cmd_help.c - `opscope help`: manual pages, and the texts that packaging installs. */
#include "cli/output.h"

#include "base/str.h"

#include <assert.h>
#include <string.h>

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

enum { HELP_MAN = 0, HELP_COMPLETION = 1 };

static const osc_opt options[] = {
    {"man", 0, OSC_OPT_FLAG, NULL, "print the manual page in roff", NULL},
    {"completion", 0, OSC_OPT_CHOICE, "SHELL", "print a completion script for bash, zsh or fish",
     shells},
};

static int fail_unknown(const char *name)
{
    const char *names[32];
    uint32_t count;
    const osc_command *const *commands = osc_commands(&count);
    assert(count <= sizeof names / sizeof *names);
    for (uint32_t i = 0; i < count; i++)
        names[i] = commands[i]->name;
    const char *near = osc_nearest(osc_str_from_cstr(name), names, count);
    if (near)
        osc_cli_say("no command '%s'; the nearest is '%s'. See opscope help", name, near);
    else
        osc_cli_say("no command '%s'. See opscope help", name);
    return OSC_EXIT_USAGE;
}

static int run(const osc_call *call)
{
    osc_buf *out = &call->cli->out;
    const char *name = call->operand_count > 0 ? call->operands[0] : NULL;
    const osc_command *command = name ? osc_command_find(name) : NULL;
    if (name && !command && !(call->values[HELP_MAN].set && strcmp(name, "opscope") == 0))
        return fail_unknown(name);
    if (call->values[HELP_COMPLETION].set)
        (void)osc_help_completion(call->values[HELP_COMPLETION].text, out);
    else if (call->values[HELP_MAN].set)
        osc_help_man(command, out);
    else if (command)
        osc_help_long(command, out);
    else
        osc_help_overview(out);
    return osc_cli_flush(call->cli, OSC_EXIT_OK);
}

const osc_command osc_command_help = {
    .name = "help",
    .summary = "show the manual page of a command",
    .operands = "[COMMAND]",
    .description =
        "Without a command: lists the commands. With one: shows its manual page.\n\n"
        "Packaging uses --man (opscope help --man top; opscope help --man opscope for the\n"
        "page of the program itself) and --completion.",
    .example = " opscope help top\n opscope help --completion bash > opscope.bash",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operands_min = 0,
    .operands_max = 1,
    .file_glob = "",
    .run = run,
};
