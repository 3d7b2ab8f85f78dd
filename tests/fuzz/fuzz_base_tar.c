/* The tar reader on arbitrary bytes. */
#include "base/tar.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_tar_reader r;
    osc_tar_entry e;
    bool found = true;
    size_t total = 0;
    osc_tar_reader_init(&r, data, size, 0, "fuzz");
    while (found) {
        osc_err err = {0};
        if (osc_tar_next(&r, &e, &found, &err) != OSC_OK) {
            if (found || (err.offset != OSC_NO_OFFSET && err.offset > size))
                abort();
            break;
        }
        total += e.data.len;
        for (size_t i = 0; found && i < e.data.len; i += 64)
            total += (unsigned char)e.data.ptr[i] == 0;
    }
    return total == SIZE_MAX;
}
