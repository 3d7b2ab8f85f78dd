/*
 * simd.h - which vector instructions the processor has, chosen at run time.
 *
 * Code that has several ways to the same result asks once and keeps the answer; a test can ask for
 * a lower level than the machine's, so that every way runs on one machine.
 * OPSCOPE_SIMD=plain|avx2|avx512 in the environment lowers the best level for a whole process.
 */
#ifndef OSC_BASE_SIMD_H
#define OSC_BASE_SIMD_H

/* Numbers are in order of ability. */
typedef enum osc_simd_level {
    OSC_SIMD_BEST = 0,  /* what osc_simd_pick finds */
    OSC_SIMD_PLAIN = 1, /* C alone */
    OSC_SIMD_AVX2 = 2,  /* AVX2, BMI1, BMI2, PCLMULQDQ */
    OSC_SIMD_AVX512 = 3 /* the same and AVX-512 F, BW, VL */
} osc_simd_level;

/* The level to use: `most` or the best the processor and the environment allow, whichever is lower.
 * Never OSC_SIMD_BEST. Any thread. */
osc_simd_level osc_simd_pick(osc_simd_level most);

/* "plain", "avx2", "avx512". Static storage. */
const char *osc_simd_name(osc_simd_level level);

#endif
