/*
 * expand_ternary.h - variants of osc_expand_ternary and osc_expand_backward.
 */
#ifndef OSC_NEURON_COMPILER_EXPAND_TERNARY_H
#define OSC_NEURON_COMPILER_EXPAND_TERNARY_H

typedef enum osc_ternary {
    OSC_TERNARY_WHERE = 0,
    OSC_TERNARY_ADDCMUL,
    OSC_TERNARY_ADDCDIV,
    OSC_TERNARY_LERP,
    OSC_TERNARY_MASKED_FILL
} osc_ternary;

typedef enum osc_backward {
    OSC_BACKWARD_THRESHOLD = 0,
    OSC_BACKWARD_SIGMOID,
    OSC_BACKWARD_TANH,
    OSC_BACKWARD_SILU,
    OSC_BACKWARD_GELU,
    OSC_BACKWARD_LEAKY_RELU,
    OSC_BACKWARD_HARDTANH,
    OSC_BACKWARD_SOFTPLUS,
    OSC_BACKWARD_HARDSIGMOID,
    OSC_BACKWARD_ELU
} osc_backward;

#endif
