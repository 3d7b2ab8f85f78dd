/* simd.c - see simd.h. */
#include "base/simd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

const char *osc_simd_name(osc_simd_level level)
{
    static const char *const names[] = {"best", "plain", "avx2", "avx512"};
    return (unsigned)level < 4 ? names[level] : "?";
}

#if defined(CPU_FEATURE_ACTIVE)
/* CPU_FEATURE_ACTIVE with a defined result for bit 31 as well: glibc 2.36 shifts a signed 1. */
static bool active(unsigned feature)
{
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / 128);
    return leaf->active_array[feature % 128 / 32] >> feature % 32 & 1;
}
#endif

/* What the C library found out when the process began: the compiler's own test asks the processor once more,
 * which a virtual machine answers in 40 us. */
static osc_simd_level of_processor(void)
{
#if defined(CPU_FEATURE_ACTIVE)
    if (!active(x86_cpu_AVX2) || !active(x86_cpu_BMI1) || !active(x86_cpu_BMI2) ||
        !active(x86_cpu_PCLMULQDQ))
        return OSC_SIMD_PLAIN;
    bool wide = active(x86_cpu_AVX512F) && active(x86_cpu_AVX512BW) && active(x86_cpu_AVX512VL);
    return wide ? OSC_SIMD_AVX512 : OSC_SIMD_AVX2;
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("pclmul"))
        return OSC_SIMD_PLAIN;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return OSC_SIMD_AVX512;
    return OSC_SIMD_AVX2;
#else
    return OSC_SIMD_PLAIN;
#endif
}

osc_simd_level osc_simd_pick(osc_simd_level most)
{
    osc_simd_level best = of_processor();
    const char *wish = getenv("OPSCOPE_SIMD");
    for (int l = OSC_SIMD_PLAIN; wish && l < (int)best; l++) {
        if (strcmp(wish, osc_simd_name((osc_simd_level)l)) == 0)
            best = (osc_simd_level)l;
    }
    return most != OSC_SIMD_BEST && most < best ? most : best;
}
