/*
 * expand_binary.h - variants of osc_expand_binary; 0 is the plain operator of the row.
 */
#ifndef OSC_NEURON_COMPILER_EXPAND_BINARY_H
#define OSC_NEURON_COMPILER_EXPAND_BINARY_H

typedef enum osc_binary {
    OSC_BINARY_PLAIN = 0,
    OSC_BINARY_ADD,
    OSC_BINARY_RSUB,
    OSC_BINARY_POW,
    OSC_BINARY_QUIET,
    OSC_BINARY_LOGADDEXP,
    OSC_BINARY_XLOGY,
    OSC_BINARY_FLOOR_DIV,
    OSC_BINARY_DIV_MODE
} osc_binary;

#endif
