/*
 * fuzz_artifact_ntff.c - NTFF files from any bytes.
 *
 * Two doors: the bytes as they are, and the bytes with every checksum put right, so that mutations
 * reach what lies behind the checksums. Everything that is kept must be readable to the last event,
 * and a file that is not complete must have a finding.
 */
#include "artifact/ntff.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADER 192u
#define CHUNK  32u

static void read_all(const uint8_t *data, size_t size)
{
    osc_findings findings = {0};
    osc_ntff *n;
    osc_err err = {0};
    osc_status st = osc_ntff_read(data, size, "fuzz", &findings, &n, &err);
    if (st != OSC_OK) {
        assert(n == NULL && err.message[0] != '\0' && err.code == st);
        osc_findings_free(&findings);
        return;
    }
    size_t execs, bytes = 0;
    const osc_ntff_exec *e = osc_ntff_execs(n, &execs);
    for (size_t i = 0; i < execs; i++) {
        bytes += e[i].op.len;
        assert(e[i].part_count <= OSC_LAUNCH_PARTS_MAX);
        for (uint32_t k = 0; k < e[i].part_count; k++)
            bytes += e[i].parts[k].name.len;
    }
    assert(bytes <= size);
    osc_event events[7];
    uint64_t seen = 0;
    for (size_t got; (got = osc_ntff_events(n, seen, 7, events)) > 0;)
        seen += got;
    assert(seen == osc_ntff_event_count(n));
    assert(osc_ntff_complete(n) || findings.count > 0);
    osc_ntff_free(n);
    osc_findings_free(&findings);
}

static uint64_t get(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* Magic, version and all checksums as a writer of these bytes would have set them. */
static void put_right(uint8_t *file, size_t size)
{
    memcpy(file, "OSCNTFF\0\1\0", 10);
    put_u32(file + 12, HEADER);
    put_u32(file + 188, osc_crc32c(0, file, 188));
    size_t at = HEADER;
    while (size - at >= CHUNK) {
        uint8_t *head = file + at;
        uint64_t payload = get(head + 8, 8);
        if (payload > size - at - CHUNK)
            return;
        put_u32(head + 20, osc_crc32c(0, head + CHUNK, (size_t)payload));
        put_u32(head + 28, osc_crc32c(0, head, 28));
        at += CHUNK + (size_t)payload;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    if (size < HEADER)
        return 0;
    uint8_t *file = osc_alloc(size);
    if (file) {
        memcpy(file, data, size);
        put_right(file, size);
        read_all(file, size);
        osc_free(file);
    }
    return 0;
}
