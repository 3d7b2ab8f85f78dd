/*
 * options.c - parses a command line by the command's option table.
 *
 * GNU manners: --name=value and --name value, -n5 and -n 5, bundled letters, "--" ends the options,
 * options and operands in any order. A value may begin with '-' ("--row-limit -1"). What is unknown
 * is named together with the nearest thing that is known.
 */
#include "cli/cli.h"

#include "base/num.h"
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const color_choices[] = {"auto", "always", "never", NULL};

static const osc_opt common_options[] = {
    {"color", 0, OSC_OPT_CHOICE, "WHEN", "colour the result: auto (on a terminal), always, never",
     color_choices},
    {"no-pager", 0, OSC_OPT_FLAG, NULL, "never show the result through a pager", NULL},
    {"", 'h', OSC_OPT_FLAG, NULL, "list the options and stop", NULL},
    {"help", 0, OSC_OPT_FLAG, NULL, "show the whole manual page and stop", NULL},
};

const osc_opt *osc_common_options(uint32_t *count)
{
    *count = sizeof common_options / sizeof *common_options;
    return common_options;
}

struct parser {
    const osc_command *command;
    osc_parse *out;
    char **argv;
    int argc;
    int at; /* next argument */
};

/* The option and its value slot by long name (letter 0) or by letter; NULL when unknown. */
static const osc_opt *find(struct parser *p, osc_str name, char letter, osc_opt_value **value)
{
    for (uint32_t i = 0; i < p->command->option_count; i++) {
        const osc_opt *o = &p->command->options[i];
        if (letter ? o->letter == letter : osc_str_eq_cstr(name, o->name)) {
            *value = &p->out->call.values[i];
            return o;
        }
    }
    for (uint32_t i = 0; i < sizeof common_options / sizeof *common_options; i++) {
        const osc_opt *o = &common_options[i];
        if (letter ? o->letter == letter : name.len > 0 && osc_str_eq_cstr(name, o->name)) {
            *value = &p->out->common[i];
            return o;
        }
    }
    return NULL;
}

static bool fail_unknown(struct parser *p, osc_str given, osc_str name)
{
    const char *names[OSC_OPTS_MAX + 4];
    size_t n = 0;
    for (uint32_t i = 0; i < p->command->option_count; i++)
        names[n++] = p->command->options[i].name;
    for (uint32_t i = 0; i < sizeof common_options / sizeof *common_options; i++) {
        if (common_options[i].name[0])
            names[n++] = common_options[i].name;
    }
    const char *near = name.len > 0 ? osc_nearest(name, names, n) : NULL;
    if (near)
        snprintf(p->out->error, sizeof p->out->error,
                 "no option '%.*s'; the nearest is '--%s'. See opscope %s -h", OSC_STR_FMT(given),
                 near, p->command->name);
    else
        snprintf(p->out->error, sizeof p->out->error, "no option '%.*s'. See opscope %s -h",
                 OSC_STR_FMT(given), p->command->name);
    return false;
}

static bool set_choice(struct parser *p, const osc_opt *o, osc_opt_value *value)
{
    size_t n = 0;
    char all[160] = "";
    assert(o->choices != NULL);
    for (; o->choices[n]; n++) {
        if (strcmp(value->text, o->choices[n]) == 0) {
            value->number = (int64_t)n;
            return true;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", n ? ", " : "", o->choices[n]);
    }
    const char *near = osc_nearest(osc_str_from_cstr(value->text), o->choices, n);
    if (near)
        snprintf(p->out->error, sizeof p->out->error,
                 "--%s takes one of %s; '%s' is nearest to '%s'", o->name, all, near, value->text);
    else
        snprintf(p->out->error, sizeof p->out->error, "--%s takes one of %s, not '%s'", o->name,
                 all, value->text);
    return false;
}

/* Keeps the value of an option; text is NULL for a flag. */
static bool set(struct parser *p, const osc_opt *o, osc_opt_value *value, const char *text)
{
    assert(text != NULL || o->kind == OSC_OPT_FLAG);
    value->set = true;
    value->text = text;
    switch (o->kind) {
    case OSC_OPT_FLAG:
    case OSC_OPT_TEXT: return true;
    case OSC_OPT_CHOICE: return set_choice(p, o, value);
    case OSC_OPT_INT:
        if (osc_parse_i64(osc_str_from_cstr(text), &value->number))
            return true;
        snprintf(p->out->error, sizeof p->out->error, "%s%s takes a whole number, not '%s'",
                 o->name[0] ? "--" : "-", o->name, text);
        return false;
    }
    return false;
}

/* The value of an option that needs one: what is glued to it, or the next argument. */
static bool take_value(struct parser *p, const osc_opt *o, osc_opt_value *value, const char *glued,
                       const char *given)
{
    if (o->kind == OSC_OPT_FLAG) {
        if (glued) {
            snprintf(p->out->error, sizeof p->out->error, "--%s takes no value", o->name);
            return false;
        }
        return set(p, o, value, NULL);
    }
    if (!glued && p->at >= p->argc) {
        snprintf(p->out->error, sizeof p->out->error, "'%s' needs a value (%s)", given, o->metavar);
        return false;
    }
    return set(p, o, value, glued ? glued : p->argv[p->at++]);
}

static bool take_long(struct parser *p, const char *arg)
{
    const char *equals = strchr(arg, '=');
    osc_str given = osc_str_from_cstr(arg);
    osc_str name = osc_str_sub(given, 2, equals ? (size_t)(equals - arg) - 2 : SIZE_MAX);
    osc_opt_value *value;
    const osc_opt *o = find(p, name, 0, &value);
    if (!o)
        return fail_unknown(p, osc_str_sub(given, 0, name.len + 2), name);
    return take_value(p, o, value, equals ? equals + 1 : NULL, arg);
}

static bool take_letters(struct parser *p, const char *arg)
{
    for (const char *c = arg + 1; *c; c++) {
        osc_opt_value *value;
        const osc_opt *o = find(p, (osc_str){0}, *c, &value);
        if (!o) {
            char given[3] = {'-', *c, '\0'};
            return fail_unknown(p, osc_str_from_cstr(given), (osc_str){0});
        }
        if (o->kind != OSC_OPT_FLAG)
            return take_value(p, o, value, c[1] ? c + 1 : NULL, arg);
        if (!set(p, o, value, NULL))
            return false;
    }
    return true;
}

static bool take_operand(struct parser *p, const char *arg)
{
    osc_call *call = &p->out->call;
    assert(p->command->operands_max <= OSC_OPERANDS_MAX);
    if (call->operand_count >= p->command->operands_max) {
        snprintf(p->out->error, sizeof p->out->error,
                 "one argument too many: '%s'. Usage: opscope %s %s", arg, p->command->name,
                 p->command->operands);
        return false;
    }
    call->operands[call->operand_count++] = arg;
    return true;
}

bool osc_parse_args(const osc_command *command, int argc, char **argv, osc_parse *out)
{
    struct parser p = {command, out, argv, argc, 0};
    bool operands_only = false;
    memset(out, 0, sizeof *out);
    assert(command->option_count <= OSC_OPTS_MAX);
    out->call.command = command;
    while (p.at < argc) {
        const char *arg = argv[p.at++];
        bool ok;
        if (!operands_only && strcmp(arg, "--") == 0) {
            operands_only = true;
            continue;
        }
        if (operands_only || arg[0] != '-' || arg[1] == '\0')
            ok = take_operand(&p, arg);
        else
            ok = arg[1] == '-' ? take_long(&p, arg) : take_letters(&p, arg);
        if (!ok)
            return false;
    }
    bool help = out->common[OSC_COMMON_SHORT_HELP].set || out->common[OSC_COMMON_HELP].set;
    if (!help && out->call.operand_count < command->operands_min) {
        snprintf(out->error, sizeof out->error, "an argument is missing. Usage: opscope %s %s",
                 command->name, command->operands);
        return false;
    }
    return true;
}
