/*
 * opkey.h - what makes two eager calls the same program: a flat key, and the graph it stands for.
 *
 * In the key: the name's address (a literal), number and layout of the tensors, which of them are
 * the same tensor, and all arguments. Not in it: addresses, and strides of dimensions of size 1.
 */
#ifndef OSC_NEURON_RUNTIME_OPKEY_H
#define OSC_NEURON_RUNTIME_OPKEY_H

#include "base/status.h"
#include "opscope/neuron.h"

#include <stdint.h>

#define OSC_OPKEY_INLINE 192u /* words on the stack: a dozen tensors of rank 4 */

typedef struct osc_opkey {
    uint64_t *words; /* points to inlined or to memory of its own */
    uint32_t count, cap;
    uint64_t hash;
    uint64_t inlined[OSC_OPKEY_INLINE];
} osc_opkey;

/* Checks the call's indices and ranks and fills *key. Free it with osc_opkey_free. Any thread. */
osc_status osc_opkey_make(const osc_nrt_call *call, osc_opkey *key, osc_err *err) OSC_MUST_CHECK;
void osc_opkey_free(osc_opkey *key);

/* Which tensor's address goes into each slot of the call's program. */
typedef struct osc_opslots {
    uint32_t *tensor; /* index in call->tensors per slot; owned */
    uint32_t count;
} osc_opslots;

/* The one-operator graph of a call that osc_opkey_make accepted, and its slots. The caller frees
 * both. */
osc_status osc_opkey_graph(const osc_nrt_call *call, osc_graph **graph, osc_opslots *slots,
                           osc_err *err) OSC_MUST_CHECK;

#endif
