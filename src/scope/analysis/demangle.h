/* demangle.h - readable names of C++ symbols, for kernels of ROCm files that PyTorch demangles
 * itself. */
#ifndef OSC_ANALYSIS_DEMANGLE_H
#define OSC_ANALYSIS_DEMANGLE_H

#include "base/str.h"

/* The C++ runtime, loaded at the first use. Zero-initialise. One thread at a time. */
typedef struct osc_demangler {
    void *library; /* handle, NULL while not loaded or when it is not installed */
} osc_demangler;

/*
 * The demangled form of an Itanium-ABI symbol ("_Z..."), as PyTorch prints it. NULL when it is
 * none, or when the C++ runtime is not installed; the caller then keeps the raw name. Freed with
 * osc_free.
 */
char *osc_demangle(osc_demangler *demangler, osc_str symbol);

/* Lets the library go and zeroes the struct; NULL is allowed. */
void osc_demangler_close(osc_demangler *demangler);

#endif
