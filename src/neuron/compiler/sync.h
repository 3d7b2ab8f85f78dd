/*
 * sync.h - ordering: from instructions in sequential order to streams with semaphores.
 *
 * Lowering code emits instructions in an order that would be right if each ran alone after the one
 * before. This pass looks at what each reads and writes and adds the waits and increments that keep that
 * meaning when six queues and sixteen DMA engines run at once. Lowering code writes no semaphore.
 */
#ifndef OSC_NEURON_COMPILER_SYNC_H
#define OSC_NEURON_COMPILER_SYNC_H

#include "artifact/program.h"
#include "base/arena.h"
#include "base/status.h"

typedef struct osc_sync osc_sync;

/* State for one program; lives in the arena. NULL when out of memory. */
osc_sync *osc_sync_new(osc_arena *arena, osc_program *program);

/*
 * Appends the instruction (copied; its waits and incs are overwritten) to its engine's stream, ordered
 * after every earlier instruction whose SBUF or PSUM bytes it shares with at least one of the two writing,
 * and after every access of an earlier phase to the same HBM tensor under the same rule.
 */
OSC_MUST_CHECK osc_status osc_sync_emit(osc_sync *sync, const osc_inst *inst, osc_err *err);

/*
 * Starts a new phase. Within a phase, accesses to one HBM tensor are taken to be disjoint or ordered
 * through SBUF (load, compute, store of the same elements); across phases they are ordered.
 */
void osc_sync_phase(osc_sync *sync);

/* Turns positions into semaphore counts; call once, after the last instruction. */
OSC_MUST_CHECK osc_status osc_sync_finish(osc_sync *sync, osc_err *err);

#endif
