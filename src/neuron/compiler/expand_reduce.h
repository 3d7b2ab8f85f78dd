/*
 * expand_reduce.h - variants of the reducing expanders.
 */
#ifndef OSC_NEURON_COMPILER_EXPAND_REDUCE_H
#define OSC_NEURON_COMPILER_EXPAND_REDUCE_H

typedef enum osc_reduce { OSC_REDUCE_PLAIN = 0, OSC_REDUCE_MEAN, OSC_REDUCE_TRUTH } osc_reduce;
typedef enum osc_softmax { OSC_SOFTMAX_PLAIN = 0, OSC_SOFTMAX_LOG } osc_softmax;
typedef enum osc_var { OSC_VAR_PLAIN = 0, OSC_VAR_STD, OSC_VAR_MEAN, OSC_VAR_STD_MEAN } osc_var;

#endif
