/* devprofile.h - a vendor's device profile (artifact/devprofile.h) as rows of the store:
 * instructions and packets on tracks, who waited for whom, traffic, throttling, tensors, layers. */
#ifndef OSC_READ_DEVPROFILE_H
#define OSC_READ_DEVPROFILE_H

#include "base/status.h"
#include "scope/store/store.h"

#include <stddef.h>

/*
 * Reads len bytes of a device profile's JSON into store. input names it in messages; the bytes are
 * needed no longer afterwards. Metadata "source" becomes "device-profile"; facts of the file become
 * metadata "<table>.<key>". Damage is a finding when anything could be read. OSC_EFORMAT,
 * OSC_ETRUNCATED, OSC_ENOMEM.
 */
OSC_MUST_CHECK osc_status osc_devprofile_to_store(osc_store *store, const char *data, size_t len,
                                                  const char *input, osc_err *err);

#endif
