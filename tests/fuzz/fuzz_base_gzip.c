/* Inflating arbitrary bytes under a ceiling. */
#include "base/io.h"
#include "base/mem.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *out;
    size_t len;
    osc_status status = osc_gunzip(data, size, "fuzz", (size_t)1 << 16, &out, &len, NULL);
    bool with_data = status == OSC_OK || status == OSC_ETRUNCATED;
    if (with_data != (out != NULL) || len > (size_t)1 << 16)
        abort();
    osc_free(out);
    return 0;
}
