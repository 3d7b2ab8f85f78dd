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

static const osc_opt common_options[OSC_COMMON_OPTIONS] = {
    {"color", 0, OSC_OPT_CHOICE, "WHEN", "colour the result: auto (on a terminal), always, never",
     color_choices},
    {"no-pager", 0, OSC_OPT_FLAG, NULL, "never show the result through a pager", NULL},
    {"", 'h', OSC_OPT_FLAG, NULL, "list the options and stop", NULL},
    {"help", 0, OSC_OPT_FLAG, NULL, "show the whole manual page and stop", NULL},
};

static const osc_opt trace_options[OSC_TRACE_OPTIONS] = {
    {"threads", 0, OSC_OPT_INT, "N",
     "read with at most N threads (default: one for each processor); the result is the same", NULL},
    {"max-size", 0, OSC_OPT_SIZE, "SIZE",
     "refuse input of more than SIZE bytes, inflated when compressed; K, M and G are taken "
     "(default: none for plain files, 4 GiB or 200 times its size for a compressed one)",
     NULL},
    {"strict", 0, OSC_OPT_FLAG, NULL,
     "exit with 1 when the input had to be repaired or is incomplete", NULL},
};

/* The table that holds option i of a command, and the option's place in it. */
static const osc_opt *group_of(const osc_command *command, uint32_t i, uint32_t *group,
                               uint32_t *index)
{
    const struct {
        const osc_opt *options;
        uint32_t count;
    } groups[3] = {{command->options, command->option_count},
                   {trace_options, command->takes_trace ? OSC_TRACE_OPTIONS : 0},
                   {common_options, OSC_COMMON_OPTIONS}};
    for (*group = 0; *group < 3; (*group)++) {
        if (i < groups[*group].count) {
            *index = i;
            return &groups[*group].options[i];
        }
        i -= groups[*group].count;
    }
    return NULL;
}

const osc_opt *osc_option_at(const osc_command *command, uint32_t i)
{
    uint32_t group, index;
    return group_of(command, i, &group, &index);
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
    osc_opt_value *const values[3] = {p->out->call.values, p->out->call.trace, p->out->common};
    uint32_t group, index;
    const osc_opt *o;
    for (uint32_t i = 0; (o = group_of(p->command, i, &group, &index)) != NULL; i++) {
        if (letter ? o->letter == letter : name.len > 0 && osc_str_eq_cstr(name, o->name)) {
            *value = &values[group][index];
            return o;
        }
    }
    return NULL;
}

static bool fail_unknown(struct parser *p, osc_str given, osc_str name)
{
    const char *names[OSC_OPTS_MAX + OSC_TRACE_OPTIONS + OSC_COMMON_OPTIONS];
    size_t n = 0;
    const osc_opt *o;
    for (uint32_t i = 0; (o = osc_option_at(p->command, i)) != NULL; i++) {
        if (o->name[0])
            names[n++] = o->name;
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

/* "4096", "500M": bytes, K, M and G in steps of 1,024; false when it is none. */
static bool parse_size(const char *text, int64_t *bytes)
{
    uint64_t size;
    if (!osc_parse_size(osc_str_from_cstr(text), &size) || size == 0 || size > INT64_MAX)
        return false;
    *bytes = (int64_t)size;
    return true;
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
    case OSC_OPT_SIZE:
        if (parse_size(text, &value->number))
            return true;
        snprintf(p->out->error, sizeof p->out->error,
                 "--%s takes a number of bytes such as 500M or 20G, not '%s'", o->name, text);
        return false;
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
    const osc_opt_value *threads = &out->call.trace[OSC_TRACE_THREADS];
    if (threads->set && threads->number < 1) {
        snprintf(out->error, sizeof out->error, "--threads is at least 1, not %s", threads->text);
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
