/*
 * demangle.c - the C++ runtime's own demangler: the process's if it has one, else loaded when the
 * first mangled name is met.
 *
 * Names must come out as PyTorch's do, which calls __cxa_demangle; a demangler of our own would
 * differ in some corner. Rejected: linking libstdc++, which costs every start of the program a
 * millisecond for names that few files have; loading it costs such a file half a millisecond, so
 * the program has this one function linked in (cmake/demangle.cmake).
 */
#include "scope/analysis/demangle.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangle_fn(const char *name, char *buffer, size_t *length, int *status);

/* Of the C++ ABI. NULL where nothing of this process has it. */
__attribute__((weak)) demangle_fn __cxa_demangle;

static demangle_fn *find_demangler(osc_demangler *demangler)
{
    if (__cxa_demangle)
        return __cxa_demangle;
    if (!demangler->library)
        demangler->library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *address = demangler->library ? dlsym(demangler->library, "__cxa_demangle") : NULL;
    demangle_fn *demangle;
    memcpy(&demangle, &address, sizeof demangle);
    return demangle;
}

char *osc_demangle(osc_demangler *demangler, osc_str symbol)
{
    demangle_fn *demangle = find_demangler(demangler);
    char *name = demangle ? osc_memdup0(symbol.ptr, symbol.len) : NULL;
    if (!name)
        return NULL;
    int failed = 1;
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
