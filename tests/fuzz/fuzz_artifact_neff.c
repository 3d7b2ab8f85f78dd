/*
 * fuzz_artifact_neff.c - NEFF files and instruction records from any bytes.
 *
 * Three doors: the bytes as a file; the bytes as a file whose length and SHA-256 have been put right, so
 * that mutations get past the header; and the bytes as instruction records. What is accepted must
 * survive a round trip unchanged.
 */
#include "artifact/neff.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_and_rewrite(const uint8_t *data, size_t size)
{
    osc_program *program, *again;
    osc_buf file;
    osc_err err = {0};
    if (osc_neff_read(data, size, "fuzz", &program, &err) != OSC_OK) {
        assert(program == NULL && err.message[0] != '\0');
        return;
    }
    osc_buf_init(&file, SIZE_MAX);
    osc_status written = osc_neff_write(program, &file, &err);
    assert(written == OSC_OK);
    osc_status read = osc_neff_read(file.data, file.len, "fuzz", &again, &err);
    assert(read == OSC_OK && osc_program_hash(again) == osc_program_hash(program));
    (void)written;
    (void)read;
    osc_buf_free(&file);
    osc_program_release(again);
    osc_program_release(program);
}

static void put_right(const uint8_t *data, size_t size)
{
    if (size < OSC_NEFF_HEADER_BYTES)
        return;
    uint8_t *file = osc_alloc(size);
    if (file == NULL)
        return;
    memcpy(file, data, size);
    uint64_t length = size - OSC_NEFF_HEADER_BYTES;
    for (unsigned i = 0; i < 8; i++)
        file[16 + i] = (uint8_t)(length >> 8 * i);
    osc_sha256_bytes(file + OSC_NEFF_HEADER_BYTES, (size_t)length, file + 172);
    read_and_rewrite(file, size);
    osc_free(file);
}

static void decode_records(const uint8_t *data, size_t size)
{
    osc_cursor in = osc_cursor_make(data, size);
    osc_buf record;
    osc_inst inst, back;
    char text[OSC_ISA_TEXT_MAX];
    osc_buf_init(&record, 4096);
    while (osc_isa_decode(&in, &inst, NULL) == OSC_OK) {
        osc_buf_clear(&record);
        osc_isa_encode(&inst, &record);
        osc_cursor c = osc_cursor_make(record.data, record.len);
        osc_status status = osc_isa_decode(&c, &back, NULL);
        assert(status == OSC_OK && memcmp(&inst, &back, sizeof inst) == 0);
        osc_isa_disassemble(&inst, text, sizeof text);
        status = osc_isa_assemble(text, &back, NULL);
        assert(status == OSC_OK && memcmp(&inst, &back, sizeof inst) == 0);
        for (unsigned g = 0; g < OSC_GENERATIONS; g++)
            status = osc_isa_check(&inst, osc_sheet_default((osc_generation)g), NULL);
        (void)status;
    }
    osc_buf_free(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_and_rewrite(data, size);
    put_right(data, size);
    decode_records(data, size);
    return 0;
}
