/*
 * cli.h - how a command is declared, parsed, helped and run.
 *
 * A command is data: one table of options, a few paragraphs, a function. From it come parsing, -h,
 * --help, the man page and the shell completions, so none of them can disagree. Only this folder
 * prints, and only it decides exit codes (coding style, rule 17).
 */
#ifndef OSC_CLI_CLI_H
#define OSC_CLI_CLI_H

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    OSC_EXIT_OK = 0,
    OSC_EXIT_FINDING = 1, /* something wrong was found: by check, or in the input with --strict */
    OSC_EXIT_USAGE = 2,   /* the command line is wrong */
    OSC_EXIT_INPUT = 3,   /* the input cannot be read */
    OSC_EXIT_INTERNAL = 4 /* out of memory, or a fault of ours */
};

typedef enum osc_opt_kind {
    OSC_OPT_FLAG = 0,
    OSC_OPT_TEXT = 1,
    OSC_OPT_INT = 2,
    OSC_OPT_CHOICE = 3, /* one of `choices` */
    OSC_OPT_SIZE = 4    /* bytes: "4096", "500M", "20G" */
} osc_opt_kind;

typedef struct osc_opt {
    const char *name; /* long name without dashes */
    char letter;      /* short name, 0 none */
    osc_opt_kind kind;
    const char *metavar;        /* "N", "FORMAT"; NULL for flags */
    const char *help;           /* one sentence, lower case, no full stop */
    const char *const *choices; /* NULL-terminated; CHOICE only (others: completion) */
} osc_opt;

typedef struct osc_opt_value {
    bool set;
    const char *text; /* as given; NULL for flags */
    int64_t number;   /* INT; SIZE: bytes; CHOICE: index in choices */
} osc_opt_value;

/* Options that every command has which reads a trace; input.h obeys them. */
typedef enum osc_trace_option {
    OSC_TRACE_THREADS = 0,
    OSC_TRACE_MAX_SIZE,
    OSC_TRACE_STRICT,
    OSC_TRACE_OPTIONS
} osc_trace_option;

#define OSC_OPTS_MAX     24u
#define OSC_OPERANDS_MAX 8u

typedef struct osc_cli osc_cli; /* where output goes; output.h */

struct osc_command;

typedef struct osc_call {
    const struct osc_command *command;
    osc_opt_value values[OSC_OPTS_MAX]; /* by index in the command's own table */
    osc_opt_value trace[OSC_TRACE_OPTIONS];
    const char *operands[OSC_OPERANDS_MAX];
    uint32_t operand_count;
    osc_cli *cli;
} osc_call;

typedef struct osc_command {
    const char *name;
    const char *summary;     /* one line, lower case */
    const char *operands;    /* "TRACE", "SESSION OP" */
    const char *description; /* paragraphs separated by blank lines */
    const char *example;     /* lines of shell, "" none */
    const osc_opt *options;
    uint32_t option_count;
    bool
        takes_trace; /* also has the options of osc_trace_option: true where osc_cli_open is used */
    bool tells_findings; /* its result shows what the readers noticed, so stderr need not */
    uint32_t operands_min, operands_max;
    /* What completion offers for operands: "*.neff"; NULL any file; "" none. */
    const char *file_glob;
    int (*run)(const osc_call *call);
} osc_command;

/* All commands, in the order help lists them. Static storage. */
const osc_command *const *osc_commands(uint32_t *count);

/* The command of a name, NULL when there is none. */
const osc_command *osc_command_find(const char *name);

/* Option i of a command: its own, then those of traces, then those every command has. NULL after
 * the last, so that a loop needs no count. */
const osc_opt *osc_option_at(const osc_command *command, uint32_t i);

/* Options every command has (--color, --no-pager, -h, --help). */
enum {
    OSC_COMMON_COLOR = 0,
    OSC_COMMON_NO_PAGER,
    OSC_COMMON_SHORT_HELP,
    OSC_COMMON_HELP,
    OSC_COMMON_OPTIONS
};

/* What parsing a command line came to. */
typedef struct osc_parse {
    osc_call call;
    osc_opt_value common[OSC_COMMON_OPTIONS];
    char error[256]; /* why it is wrong; "" when it is right */
} osc_parse;

/* Parses argv[0..argc) (what follows the command's name). False and an error when it is wrong. */
bool osc_parse_args(const osc_command *command, int argc, char **argv, osc_parse *out);

/* The texts made from the tables. Appended to out. */
void osc_help_overview(osc_buf *out);
void osc_help_short(const osc_command *command, osc_buf *out);
void osc_help_long(const osc_command *command, osc_buf *out);
void osc_help_man(const osc_command *command, osc_buf *out); /* NULL: opscope(1) itself */
/* shell is "bash", "zsh" or "fish"; false for others. */
bool osc_help_completion(const char *shell, osc_buf *out);

extern const osc_command osc_command_check;
extern const osc_command osc_command_steps, osc_command_idle, osc_command_path;
extern const osc_command osc_command_flame, osc_command_schema, osc_command_table;
extern const osc_command osc_command_engines;
extern const osc_command osc_command_cut;
extern const osc_command osc_command_info, osc_command_top, osc_command_follow, osc_command_disasm,
    osc_command_help;

#endif
