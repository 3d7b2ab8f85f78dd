/* kineto_fast_avx2.c - the instance of kineto_fast_body.h for SIMD level avx2. */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,pclmul"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,pclmul")
#endif

#define OSC_JSONBITS_LEVEL 2
#define OSC_FAST_RUN       osc_fast_run_avx2
#include "scope/read/kineto_fast_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int osc_no_avx2; /* a file must declare something */
#endif
