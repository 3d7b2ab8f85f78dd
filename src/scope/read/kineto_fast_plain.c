/* kineto_fast_plain.c - the instance of kineto_fast_body.h for SIMD level plain. */
#define OSC_JSONBITS_LEVEL 1
#define OSC_FAST_RUN       osc_fast_run_plain
#include "scope/read/kineto_fast_body.h"
