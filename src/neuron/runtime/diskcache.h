/*
 * diskcache.h - compiled programs on disk, shared by processes and runs.
 *
 * <dir>/ab/cd/<32 hex>.neff, the layout of torchneuron-face.md 3.4. An entry is written to a
 * temporary file beside it and renamed, so a name always shows a whole file however many processes
 * write and die. Entries are checked by the NEFF's own hash at loading; a damaged one is removed.
 */
#ifndef OSC_NEURON_RUNTIME_DISKCACHE_H
#define OSC_NEURON_RUNTIME_DISKCACHE_H

#include "artifact/program.h"
#include "neuron/runtime/cachekey.h"

#include <stdbool.h>

/* True and one reference in *out when a good entry is there. Any other outcome is a miss. Any
 * thread. */
bool osc_diskcache_load(const char *dir, const osc_cachekey *key, osc_generation generation,
                        osc_program **out);

/* Saves the program; failure (full disk, no permission) is logged and otherwise ignored. Any
 * thread. */
void osc_diskcache_save(const char *dir, const osc_cachekey *key, const osc_program *program);

/* The entry's path; the caller frees it with osc_free. NULL: no memory. */
char *osc_diskcache_path(const char *dir, const osc_cachekey *key);

#endif
