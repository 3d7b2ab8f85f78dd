/*
 * device_open.c - where the device work of a path lies; see device_open.h.
 *
 * An .ntff alone names its program by hash only; the .neff with the instructions lies beside it,
 * and matching the two is the session reader's work. So the directory is read, and the caller
 * learns which program's executions the file held.
 */
#include "scope/read/device_open.h"

#include "artifact/session.h"
#include "base/io.h"
#include "base/mem.h"

#include <string.h>

osc_status osc_device_path(const char *path, char **out, uint64_t *hash, osc_err *err)
{
    osc_sniff sniff = {0};
    osc_str use = osc_str_from_cstr(path);
    *hash = 0;
    if (strcmp(path, "-") != 0 && osc_path_is_file(path) &&
        osc_sniff_file(path, &sniff, NULL) == OSC_OK && sniff.kind == OSC_ART_NTFF &&
        sniff.origin == OSC_ORIGIN_OURS && sniff.has_hash) {
        use = osc_path_dir(use);
        *hash = sniff.hash;
    }
    *out = osc_memdup0(use.ptr, use.len);
    return *out ? OSC_OK : osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "out of memory");
}
