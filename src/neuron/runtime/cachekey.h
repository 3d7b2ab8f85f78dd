/*
 * cachekey.h - what names a compiled program: its content's digest, its place on disk, its text in
 * traces.
 */
#ifndef OSC_NEURON_RUNTIME_CACHEKEY_H
#define OSC_NEURON_RUNTIME_CACHEKEY_H

#include "base/hash.h"
#include "base/status.h"
#include "isa/sheet.h"
#include "opscope/graph.h"

typedef struct osc_cachekey {
    unsigned char digest[OSC_SHA256_SIZE]; /* of the graph's text and the generation */
    char disk[33];                         /* 32 hex digits: digest and the code that compiles */
    char *text;                            /* "mul--_[4,512]:BFloat16:S(C)...:<64 hex>", owned */
} osc_cachekey;

/* Fills *key; free it with osc_cachekey_free. Any thread. */
osc_status osc_cachekey_make(const osc_graph *graph, osc_generation generation, osc_cachekey *key,
                             osc_err *err) OSC_MUST_CHECK;
void osc_cachekey_free(osc_cachekey *key);

#endif
