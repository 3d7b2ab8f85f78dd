/*
 * fuzz_read_fast.c - the fast reader against the reference on the same bytes: same rows, texts,
 * findings.
 *
 * The first byte chooses the SIMD level, the size of the window and what is wanted. With its top
 * bit set the rest is put between well-formed events, so that it meets a reader that has learned
 * layouts, lanes and arguments; this is where most mutations of a whole file never get.
 */
#include "../unit/read_same.h"

#include "base/buf.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An operator, a frame and a flow: the last two make no rows when nothing is wanted. */
static const char event[] =
    "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 412, \"tid\": "
    "413,\n"
    "    \"ts\": 3605057436111.023, \"dur\": 7.125,\n    \"args\": {\n      \"External id\": "
    "1027,\"Sequence number\""
    ": 5, \"Fwd thread id\": 0, \"Input Dims\": [[4, 5], [5, 6]], \"Ev Idx\": 2\n    }\n  },\n  "
    "{\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py(7): f\", \"pid\": 412, "
    "\"tid\": "
    "413,\n"
    "    \"ts\": 3605057436112.023, \"dur\": 3.125,\n    \"args\": {\n      \"Python id\": "
    "17, \"Ev Idx\": 3\n    }\n  },\n  "
    "{\n    \"ph\": \"s\", \"id\": 52, \"pid\": 412, \"tid\": 413, \"ts\": 3605057436112.611,\n    "
    "\"cat\": "
    "\"ac2g\", \"name\": \"ac2g\"\n  }";

static const read_way ways[] = {
    {.name = "best"},
    {.name = "plain", .simd = OSC_SIMD_PLAIN},
    {.name = "avx2", .simd = OSC_SIMD_AVX2},
    {.name = "window of 64", .window = 64},
    {.name = "window of 333, plain", .window = 333, .simd = OSC_SIMD_PLAIN},
    {.name = "nothing wanted", .omit = 0x1f, .frames = OSC_FRAMES_DROP},
    {.name = "by era", .omit = 0x08, .frames = OSC_FRAMES_BY_ERA},
    {.name = "reference in a window of 97", .window = 97, .reference = true},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char difference[512];
    osc_buf text;
    if (size == 0)
        return 0;
    osc_buf_init(&text, (size_t)16 << 20);
    if (data[0] & 0x80) {
        osc_buf_cstr(&text, "{\"traceEvents\": [\n  ");
        for (int i = 0; i < 4; i++) {
            osc_buf_cstr(&text, event);
            osc_buf_cstr(&text, ",\n  ");
        }
        osc_buf_append(&text, data + 1, size - 1);
        osc_buf_cstr(&text, ",\n  ");
        osc_buf_cstr(&text, event);
        osc_buf_cstr(&text, "\n  ]\n}\n");
    } else {
        osc_buf_append(&text, data + 1, size - 1);
    }
    const read_way *way = &ways[data[0] & 7];
    if (!text.failed &&
        !reads_same((const char *)text.data, text.len, way, difference, sizeof difference)) {
        fprintf(stderr, "%s: %s\n", way->name, difference);
        abort();
    }
    osc_buf_free(&text);
    return 0;
}
