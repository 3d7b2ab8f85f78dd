/*
 * demangle.c - the C++ runtime's own demangler, loaded when the first mangled name is met.
 *
 * Names must come out as PyTorch's do, which calls __cxa_demangle; a demangler of our own would
 * differ in some corner. Rejected: linking libstdc++, which costs every start of the program a
 * millisecond for names that few files have.
 */
#include "scope/analysis/demangle.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangle_fn(const char *name, char *buffer, size_t *length, int *status);

char *osc_demangle(osc_demangler *demangler, osc_str symbol)
{
    if (!demangler->library)
        demangler->library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *address = demangler->library ? dlsym(demangler->library, "__cxa_demangle") : NULL;
    char *name = address ? osc_memdup0(symbol.ptr, symbol.len) : NULL;
    if (!name)
        return NULL;
    demangle_fn *demangle;
    int failed = 1;
    memcpy(&demangle, &address, sizeof demangle);
    char *text = demangle(name, NULL, NULL, &failed);
    char *result = text && failed == 0 ? osc_memdup0(text, strlen(text)) : NULL;
    free(text); /* allocated by the C++ runtime with malloc */
    osc_free(name);
    return result;
}

void osc_demangler_close(osc_demangler *demangler)
{
    if (!demangler)
        return;
    if (demangler->library)
        (void)dlclose(demangler->library);
    demangler->library = NULL;
}
