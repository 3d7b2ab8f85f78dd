/*
 * fuzz_artifact_sniff.c - recognition of a file by its first bytes, under every name that matters.
 */
#include "artifact/session.h"

#include <assert.h>
#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
        NULL,           "", "x/1_instid_0_vnc_0.ntff", "ntrace.pb", "cpu_util.pb", "trace.json",
        "trace_info.pb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        osc_sniff out;
        osc_sniff_bytes(names[i], data, size, size, &out);
        assert(out.kind >= OSC_ART_UNKNOWN && out.kind <= OSC_ART_PROFILE_JSON);
        assert(osc_artifact_kind_name(out.kind)[0] != '\0');
        /* nothing becomes the vendor's without a kind: the message names what to export */
        assert(out.origin != OSC_ORIGIN_VENDOR || out.kind != OSC_ART_UNKNOWN);
    }
    return 0;
}
