/*
 * call_stacks.h - the python frames around each call, by containment on its thread; for grouping,
 * for export_stacks and for flame graphs (kineto-trace-format.md 2.6).
 */
#ifndef OSC_ANALYSIS_CALL_STACKS_H
#define OSC_ANALYSIS_CALL_STACKS_H

#include "base/intern.h"
#include "scope/analysis/calls.h"

typedef enum osc_stack_kind {
    OSC_STACK_FRAMES =
        0, /* all frames but those PyTorch leaves out; innermost first, one per line */
    OSC_STACK_MODULES =
        1 /* frames of nn.Module: "ResNet_0.Linear_3", outermost first; without any such
                             frames what operators say in "Module Hierarchy" (TorchScript) */
} osc_stack_kind;

typedef struct osc_call_stacks {
    osc_intern *texts;  /* owned */
    uint32_t *of_slice; /* [slice]: id in texts of a counted host slice, 0 for none; owned */
    bool any;           /* the file has such frames */
} osc_call_stacks;

/* At most depth frames each (modules: 256; deeper ones go to the 256th). The store's frames are
 * used whether or not they are rows. False (and zeroed) when out of memory. */
bool osc_call_stacks_build(const osc_store *store, const osc_calls *calls, osc_stack_kind kind,
                           uint32_t depth, osc_call_stacks *out);

/* Text of an id; empty when nothing was built. */
osc_str osc_call_stacks_text(const osc_call_stacks *stacks, uint32_t id);

void osc_call_stacks_free(osc_call_stacks *stacks); /* NULL allowed; zeroes */

#endif
