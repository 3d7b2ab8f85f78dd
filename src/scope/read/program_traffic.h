/* program_traffic.h - what the instructions of a program of ours move and compute, and its tensors,
 * as rows of the store; shared by program.c and program_traffic.c. */
#ifndef OSC_READ_PROGRAM_TRAFFIC_H
#define OSC_READ_PROGRAM_TRAFFIC_H

#include "artifact/program.h"
#include "scope/store/store.h"

/* Adds a row of `traffic` for the instruction in row `inst`, if it moves or computes anything. */
void osc_traffic_to_store(osc_store *store, const osc_inst *inst, uint32_t row);

/* Adds the tensor table of a program. */
void osc_tensors_to_store(osc_store *store, const osc_program *program, uint32_t program_row);

#endif
