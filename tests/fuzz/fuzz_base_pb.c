/* The protobuf reader on arbitrary bytes, into nested messages as deep as 20. */
#include "base/pb.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_DEPTH 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_cursor levels[MAX_DEPTH];
    size_t depth = 1, fields = 0;
    levels[0] = osc_cursor_make(data, size);
    while (depth > 0 && fields < 10000) {
        osc_cursor *c = &levels[depth - 1];
        osc_pb_field f;
        if (!osc_pb_next(c, &f)) {
            if (c->failed && c->failed_at > size)
                abort();
            depth--;
            continue;
        }
        fields++;
        if (f.offset >= size || f.number == 0)
            abort();
        if (f.wire == OSC_PB_BYTES && depth < MAX_DEPTH) {
            levels[depth] = osc_pb_sub(&f, c);
            depth++;
        }
    }
    return 0;
}
