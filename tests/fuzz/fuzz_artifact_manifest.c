/*
 * fuzz_artifact_manifest.c - run.json from any bytes: no crash, memory bounded by the input, a
 * message with every refusal, and lists that can be walked to their end.
 */
#include "artifact/manifest.h"
#include "base/arena.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Lists take at most an entry per two bytes of text, unescaped texts at most three bytes per byte.
 */
#define MEMORY_FACTOR 64u
#define MEMORY_BASE   ((size_t)64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_arena *arena = osc_arena_new(size * MEMORY_FACTOR + MEMORY_BASE);
    osc_findings findings = {0};
    osc_manifest m;
    osc_err err = {0};
    if (!arena)
        return 0;
    osc_status st =
        osc_manifest_read((const char *)data, size, "run.json", arena, &findings, &m, &err);
    assert(st != OSC_ENOMEM);
    if (st != OSC_OK) {
        assert(err.message[0] != '\0' && m.artifact_count == 0);
    } else {
        size_t bytes = 0;
        for (size_t i = 0; i < m.artifact_count; i++)
            bytes += m.artifacts[i].name.len;
        for (size_t i = 0; i < m.env_count; i++)
            bytes += m.env[i].name.len + m.env[i].value.len;
        for (size_t i = 0; i < m.parameter_count; i++)
            bytes += m.parameters[i].name.len + m.parameters[i].value.len;
        assert(bytes <= 3 * size);
        (void)bytes;
    }
    osc_findings_free(&findings);
    osc_arena_free(arena);
    return 0;
}
