/* kineto_fast_avx512.c - the instance of kineto_fast_body.h for SIMD level avx512. */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(                                                  \
    __attribute__((target("avx2,bmi,bmi2,pclmul,avx512f,avx512bw,avx512vl"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,pclmul,avx512f,avx512bw,avx512vl")
#endif

#define OSC_JSONBITS_LEVEL 3
#define OSC_FAST_RUN       osc_fast_run_avx512
#include "scope/read/kineto_fast_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int osc_no_avx512; /* a file must declare something */
#endif
