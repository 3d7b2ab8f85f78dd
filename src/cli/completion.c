/*
 * completion.c - completion scripts for bash, zsh and fish, from the command tables.
 *
 * Each script offers commands, the options of the command being typed, the values of options that
 * have a fixed set, and files. They call nothing: all words are in the script.
 */
#include "cli/cli.h"

#include "base/str.h"

#include <string.h>

/* One word of a single-quoted shell string. */
static void put_quoted(osc_buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            osc_buf_cstr(out, "'\\''");
        else
            osc_buf_putc(out, *c);
    }
}

static void put_words(osc_buf *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        osc_buf_printf(out, "%s%s", i ? " " : "", words[i]);
}

/* Calls put(out, command, option) for all options of a command. */
static void each_option(osc_buf *out, const osc_command *command,
                        void (*put)(osc_buf *, const osc_command *, const osc_opt *))
{
    const osc_opt *o;
    for (uint32_t i = 0; (o = osc_option_at(command, i)) != NULL; i++)
        put(out, command, o);
}

static void put_commands(osc_buf *out)
{
    uint32_t count;
    const osc_command *const *commands = osc_commands(&count);
    for (uint32_t i = 0; i < count; i++)
        osc_buf_printf(out, "%s%s", i ? " " : "", commands[i]->name);
}

/* ---- bash ---- */

static void bash_word(osc_buf *out, const osc_command *command, const osc_opt *o)
{
    (void)command;
    if (o->name[0])
        osc_buf_printf(out, "--%s ", o->name);
    if (o->letter)
        osc_buf_printf(out, "-%c ", o->letter);
}

static void bash_choices(osc_buf *out, const osc_command *command, const osc_opt *o)
{
    if (!o->choices)
        return;
    osc_buf_printf(out, "        %s:--%s", command->name, o->name);
    if (o->letter)
        osc_buf_printf(out, "|%s:-%c", command->name, o->letter);
    osc_buf_cstr(out, ") COMPREPLY=($(compgen -W '");
    put_words(out, o->choices);
    osc_buf_cstr(out, "' -- \"$word\")); return ;;\n");
}

static void bash(osc_buf *out)
{
    uint32_t count;
    const osc_command *const *commands = osc_commands(&count);
    osc_buf_cstr(out,
                 "# bash completion for opscope\n_opscope() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                 "    local command=${COMP_WORDS[1]} options=\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '");
    put_commands(out);
    osc_buf_cstr(out, " --version --help' -- \"$word\")); return\n    fi\n"
                      "    case $command:$before in\n");
    for (uint32_t i = 0; i < count; i++)
        each_option(out, commands[i], bash_choices);
    osc_buf_cstr(out, "    esac\n    case $command in\n");
    for (uint32_t i = 0; i < count; i++) {
        osc_buf_printf(out, "        %s) options='", commands[i]->name);
        each_option(out, commands[i], bash_word);
        osc_buf_cstr(out, "' ;;\n");
    }
    osc_buf_cstr(out, "    esac\n    case $word in\n"
                      "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
                      "        *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
                      "complete -o filenames -F _opscope opscope\n");
}

/* ---- zsh ---- */

/* Text inside a '...[text]' specification. */
static void zsh_text(osc_buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '[' || *c == ']' || *c == ':')
            osc_buf_putc(out, '\\');
        char one[2] = {*c, '\0'};
        put_quoted(out, one);
    }
}

static void zsh_one(osc_buf *out, const osc_opt *o, const char *dash, const char *name)
{
    osc_buf_printf(out, " \\\n                '%s%s%s[", dash, name,
                   o->metavar && dash[1] ? "=" : "");
    zsh_text(out, o->help);
    osc_buf_cstr(out, "]");
    if (o->metavar) {
        osc_buf_printf(out, ":%s:", o->metavar);
        if (o->choices) {
            osc_buf_cstr(out, "(");
            put_words(out, o->choices);
            osc_buf_cstr(out, ")");
        }
    }
    osc_buf_cstr(out, "'");
}

static void zsh_option(osc_buf *out, const osc_command *command, const osc_opt *o)
{
    char letter[2] = {o->letter, '\0'};
    (void)command;
    if (o->name[0])
        zsh_one(out, o, "--", o->name);
    if (o->letter)
        zsh_one(out, o, "-", letter);
}

static void zsh(osc_buf *out)
{
    uint32_t count;
    const osc_command *const *commands = osc_commands(&count);
    osc_buf_cstr(out, "#compdef opscope\n_opscope() {\n    local -a commands\n    commands=(\n");
    for (uint32_t i = 0; i < count; i++) {
        osc_buf_printf(out, "        '%s:", commands[i]->name);
        zsh_text(out, commands[i]->summary);
        osc_buf_cstr(out, "'\n");
    }
    osc_buf_cstr(out, "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
                      "        return\n    fi\n    local command=$words[2]\n    shift words\n"
                      "    (( CURRENT-- ))\n    case $command in\n");
    for (uint32_t i = 0; i < count; i++) {
        osc_buf_printf(out, "        %s)\n            _arguments", commands[i]->name);
        each_option(out, commands[i], zsh_option);
        osc_buf_cstr(out, " \\\n                '*:file:_files' ;;\n");
    }
    osc_buf_cstr(out, "    esac\n}\n_opscope \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(osc_buf *out, const osc_command *command, const osc_opt *o)
{
    osc_buf_printf(out, "complete -c opscope -n '__fish_seen_subcommand_from %s'", command->name);
    if (o->letter)
        osc_buf_printf(out, " -s %c", o->letter);
    if (o->name[0])
        osc_buf_printf(out, " -l %s", o->name);
    if (o->metavar)
        osc_buf_cstr(out, " -r");
    if (o->choices) {
        osc_buf_cstr(out, " -f -a '");
        put_words(out, o->choices);
        osc_buf_cstr(out, "'");
    }
    osc_buf_cstr(out, " -d '");
    put_quoted(out, o->help);
    osc_buf_cstr(out, "'\n");
}

static void fish(osc_buf *out)
{
    uint32_t count;
    const osc_command *const *commands = osc_commands(&count);
    osc_buf_cstr(out, "# fish completion for opscope\n");
    for (uint32_t i = 0; i < count; i++) {
        osc_buf_printf(out, "complete -c opscope -n __fish_use_subcommand -f -a %s -d '",
                       commands[i]->name);
        put_quoted(out, commands[i]->summary);
        osc_buf_cstr(out, "'\n");
        each_option(out, commands[i], fish_option);
    }
}

bool osc_help_completion(const char *shell, osc_buf *out)
{
    if (strcmp(shell, "bash") == 0)
        bash(out);
    else if (strcmp(shell, "zsh") == 0)
        zsh(out);
    else if (strcmp(shell, "fish") == 0)
        fish(out);
    else
        return false;
    return true;
}
