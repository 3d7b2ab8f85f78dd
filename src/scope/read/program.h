/* program.h - device programs as rows: the instructions of a NEFF, disassembled, with their
 * semaphores. */
#ifndef OSC_READ_PROGRAM_H
#define OSC_READ_PROGRAM_H

#include "artifact/program.h"
#include "base/status.h"
#include "scope/store/store.h"

/* Adds the instructions of a sealed program, engine by engine, as rows that name program_row. */
void osc_program_to_store(osc_store *store, const osc_program *program, uint32_t program_row);

/*
 * Opens a .neff file as a sealed store with one program, or a vendor's device profile, whose
 * program is the instructions that ran. *out is NULL on failure: OSC_EFOREIGN for a NEFF of the
 * vendor's compiler, OSC_EVERSION, OSC_ETRUNCATED, OSC_EFORMAT, OSC_ENOTFOUND, OSC_EIO.
 */
OSC_MUST_CHECK osc_status osc_open_program(const char *path, osc_store **out, osc_err *err);

#endif
