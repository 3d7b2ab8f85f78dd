/* disasm.h - the instructions of a program as a table. */
#ifndef OSC_ANALYSIS_DISASM_H
#define OSC_ANALYSIS_DISASM_H

#include "scope/analysis/table.h"
#include "scope/store/store.h"

/*
 * Every instruction in stream order: index, engine, operation, text, waits ("3>=16"), incs ("4+1"),
 * source operator and place. engine 0: all. Facts: program, hash, cache_key, generation.
 * *out is NULL on failure (OSC_ENOMEM); freed with osc_table_free.
 */
OSC_MUST_CHECK osc_status osc_disasm(const osc_store *store, unsigned engine, osc_table **out,
                                     osc_err *err);

/* Engine names by number, NULL-terminated from number 1 on, for options: "tensor", "scalar", ... */
extern const char *const osc_disasm_engines[];

#endif
