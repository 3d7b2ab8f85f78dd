/*
 * api.h - what the files of the C library's trace side share.
 */
#ifndef OSC_API_API_H
#define OSC_API_API_H

#include "opscope/trace.h"
#include "scope/store/store.h"

#include <stddef.h>

/* The store of an open trace. */
const osc_store *osc_api_store(const osc_trace *trace);

/*
 * Copies a public struct to a caller who knows only its first `room` bytes. Both begin with a
 * size_t, the caller's own, which is kept.
 */
void osc_api_put(const void *from, size_t bytes, void *to, size_t room);

#endif
