/*
 * clones.h - hot loops compiled twice, for AVX2 and for the baseline, chosen at start-up.
 *
 * Both versions do the same IEEE operations in the same order (no fused multiply-add, no
 * reassociation), so results do not depend on the host. The thread sanitizer runs before the
 * chooser of such functions is safe, and other compilers or systems lack them: there the macro is
 * empty.
 */
#ifndef OSC_NEURON_DEVICE_CLONES_H
#define OSC_NEURON_DEVICE_CLONES_H

#include <stdint.h> /* defines __GLIBC__ where the C library can choose versions at load time */

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(address_sanitizer)
#define DEV_NO_CLONES 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define DEV_NO_CLONES 1
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(DEV_NO_CLONES)
#define DEV_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define DEV_CLONES
#endif

#endif
