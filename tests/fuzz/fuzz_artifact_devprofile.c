/*
 * fuzz_artifact_devprofile.c - device profile exports: any bytes are an error with a message, or rows; operand
 * texts of any shape decode into bounded parts.
 */
#include "artifact/devprofile.h"

#include "artifact/devprofile_operands.h"

#include <assert.h>
#include <stddef.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_operands(osc_str text)
{
    osc_dp_operands o;
    osc_dp_operands_parse(text, &o);
    assert(o.wait_count <= OSC_DP_SYNCS && o.update_count <= OSC_DP_SYNCS);
    assert(o.field_count <= OSC_DP_FIELDS);
    for (uint32_t i = 0; i < o.field_count; i++) {
        assert(o.fields[i].dims <= OSC_DP_DIMS);
        assert(o.fields[i].text.len < text.len);
        (void)osc_dp_field_elements(&o.fields[i]);
    }
}

/* Every text of a row can be read to its end. */
static size_t read_texts(const osc_devprofile *p)
{
    size_t count, bytes = 0;
    const osc_dp_inst *inst = osc_dp_inst_rows(p, &count);
    for (size_t i = 0; i < count; i++) {
        osc_dp_sync sync;
        check_operands(inst[i].operands);
        (void)osc_dp_semaphore_parse(inst[i].layer, &sync);
        for (size_t c = 0; c < inst[i].opcode.len; c++)
            bytes += inst[i].opcode.ptr[c] != 0;
    }
    const osc_dp_fact *fact = osc_devprofile_facts(p, &count);
    for (size_t i = 0; i < count; i++)
        bytes += fact[i].key.len + fact[i].value.len;
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    osc_err err = {0};
    osc_findings findings = {0};
    osc_devprofile *p = NULL;
    check_operands(osc_str_make((const char *)data, size));
    osc_status status = osc_devprofile_read((const char *)data, size, "fuzz", &findings, &p, &err);
    assert((status == OSC_OK) == (p != NULL));
    assert(status == OSC_OK || err.message[0] != '\0');
    if (p)
        (void)read_texts(p);
    osc_devprofile_free(p);
    osc_findings_free(&findings);
    return 0;
}
