/*
 * status.c - see status.h.
 */
#include "base/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

osc_status osc_fail(osc_err *err, osc_status code, const char *input, uint64_t offset,
                    const char *fmt, ...)
{
    assert(code < 0);
    if (!err)
        return code;
    err->code = code;
    err->offset = offset;
    (void)snprintf(err->input, sizeof err->input, "%s", input ? input : "");
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    return code;
}

const char *osc_status_name(osc_status code)
{
    switch (code) {
    case OSC_OK: return "ok";
    case OSC_ENOMEM: return "out of memory";
    case OSC_EIO: return "input/output";
    case OSC_EFORMAT: return "format";
    case OSC_EVERSION: return "version";
    case OSC_ETRUNCATED: return "truncated";
    case OSC_EINVAL: return "invalid argument";
    case OSC_ENOTFOUND: return "not found";
    case OSC_EUNSUPPORTED: return "unsupported";
    case OSC_EDEVMEM: return "device memory";
    case OSC_EDEADLOCK: return "deadlock";
    case OSC_EHAZARD: return "hazard";
    case OSC_ESTATE: return "state";
    case OSC_EFOREIGN: return "foreign format";
    }
    return "unknown";
}
