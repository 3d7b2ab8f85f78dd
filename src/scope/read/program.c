/*
 * program.c - instructions as rows.
 *
 * They are disassembled here, once, so that nothing above the readers needs the instruction set.
 */
#include "scope/read/program.h"

#include "artifact/neff.h"
#include "artifact/session.h"
#include "base/io.h"
#include "base/mem.h"
#include "isa/isa.h"
#include "scope/read/open.h"
#include "scope/read/program_traffic.h"

#include <stdio.h>

#define TEXT_MAX 1024u
#define NEFF_MAX ((size_t)1 << 30)

/* Name of the place an operand lies in: a tensor's name, SBUF, PSUM. */
static osc_str place_name(const osc_program *program, const osc_ap *ap)
{
    uint32_t count;
    const osc_tensor *tensors = osc_program_tensors(program, &count);
    if (ap->space == OSC_SPACE_HBM && ap->tensor < count)
        return tensors[ap->tensor].name;
    return ap->space == OSC_SPACE_PSUM ? OSC_STR("PSUM") : OSC_STR("SBUF");
}

/* "dma input0 -> SBUF", "activation exp", "tensor_tensor mul". */
static void describe(const osc_program *program, const osc_inst *inst, char out[TEXT_MAX])
{
    const osc_isa_row *row = osc_isa_row_of(inst->opcode);
    const char *name = row ? row->name : "unknown";
    switch (inst->opcode) {
    case OSC_OP_DMA_COPY:
    case OSC_OP_DMA_TRANSPOSE:
        snprintf(out, TEXT_MAX, "dma%s %.*s -> %.*s",
                 inst->opcode == OSC_OP_DMA_TRANSPOSE ? " transpose" : "",
                 OSC_STR_FMT(place_name(program, &inst->src[0])),
                 OSC_STR_FMT(place_name(program, &inst->dst)));
        break;
    case OSC_OP_TENSOR_TENSOR:
    case OSC_OP_TENSOR_SCALAR:
    case OSC_OP_TENSOR_REDUCE:
    case OSC_OP_TENSOR_SCALAR_REDUCE:
    case OSC_OP_SCALAR_TENSOR_TENSOR:
    case OSC_OP_PARTITION_REDUCE:
        snprintf(out, TEXT_MAX, "%s %s", name, osc_alu_name((osc_alu)inst->alu[0]));
        break;
    case OSC_OP_ACTIVATION:
    case OSC_OP_ACTIVATION_REDUCE:
        snprintf(out, TEXT_MAX, "%s %s", name, osc_act_name((osc_act)inst->act));
        break;
    default: snprintf(out, TEXT_MAX, "%s", name); break;
    }
}

static void add_semops(osc_store *store, uint32_t row, const osc_inst *inst)
{
    for (uint32_t i = 0; i < inst->nwaits && i < OSC_INST_WAITS; i++) {
        osc_semop_row op = {
            .inst = row, .sem = inst->waits[i].sem, .value = inst->waits[i].value, .is_wait = 1};
        osc_store_add_semop(store, &op);
    }
    for (uint32_t i = 0; i < inst->nincs && i < OSC_INST_INCS; i++) {
        osc_semop_row op = {.inst = row, .sem = inst->incs[i].sem, .value = inst->incs[i].value};
        osc_store_add_semop(store, &op);
    }
}

static void add_inst(osc_store *store, const osc_program *program, uint32_t program_row,
                     uint32_t index, const osc_inst *inst)
{
    char text[TEXT_MAX];
    uint32_t sources;
    const osc_source *source = osc_program_sources(program, &sources);
    const osc_isa_row *isa = osc_isa_row_of(inst->opcode);
    osc_inst_row row = {.program = program_row, .index = index, .engine = inst->engine};
    row.opcode = osc_store_intern(store, osc_str_from_cstr(isa ? isa->name : "unknown"));
    osc_isa_disassemble(inst, text, sizeof text);
    row.text = osc_store_intern(store, osc_str_from_cstr(text));
    describe(program, inst, text);
    row.label = osc_store_intern(store, osc_str_from_cstr(text));
    if (inst->source < sources) {
        row.source_op = osc_store_intern(store, source[inst->source].op);
        if (source[inst->source].file.len > 0) {
            snprintf(text, sizeof text, "%.*s:%u", OSC_STR_FMT(source[inst->source].file),
                     source[inst->source].line);
            row.source_at = osc_store_intern(store, osc_str_from_cstr(text));
        }
    }
    uint32_t at = osc_store_add_inst(store, &row);
    if (at != OSC_NO_ROW) {
        add_semops(store, at, inst);
        osc_traffic_to_store(store, inst, at);
    }
}

void osc_program_to_store(osc_store *store, const osc_program *program, uint32_t program_row)
{
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        osc_stream stream = osc_program_stream(program, (osc_engine)e);
        for (uint32_t i = 0; i < stream.count; i++)
            add_inst(store, program, program_row, i, &stream.inst[i]);
    }
    osc_tensors_to_store(store, program, program_row);
}

/* A vendor's device profile, which holds the instructions that ran. */
static bool is_profile(const char *path)
{
    osc_sniff sniff = {0};
    return osc_path_is_file(path) && osc_sniff_file(path, &sniff, NULL) == OSC_OK &&
           sniff.kind == OSC_ART_PROFILE_JSON;
}

osc_status osc_open_program(const char *path, osc_store **out, osc_err *err)
{
    char *data = NULL;
    size_t len = 0;
    osc_program *program = NULL;
    *out = NULL;
    if (osc_path_is_dir(path))
        return osc_fail(err, OSC_EINVAL, path, OSC_NO_OFFSET,
                        "a directory; name one of the .neff files in it");
    if (is_profile(path)) {
        osc_open_options whole = {.device = true};
        return osc_open(path, &whole, out, err);
    }
    osc_status status = osc_read_file(path, NEFF_MAX, &data, &len, err);
    if (status == OSC_OK)
        status = osc_neff_read((const uint8_t *)data, len, path, &program, err);
    osc_free(data);
    if (status != OSC_OK)
        return status;
    osc_store *store = osc_store_new();
    if (store) {
        osc_program_row row = {.hash = osc_program_hash(program),
                               .name = osc_store_intern(store, osc_program_name(program)),
                               .cache_key =
                                   osc_store_intern(store, osc_program_cache_key(program))};
        osc_program_to_store(store, program, osc_store_add_program(store, &row));
        osc_store_set_meta(store, "generation",
                           osc_str_from_cstr(osc_generation_name(osc_program_generation(program))));
    }
    osc_program_release(program);
    status = store ? osc_store_seal(store, err)
                   : osc_fail(err, OSC_ENOMEM, path, OSC_NO_OFFSET, "out of memory");
    if (status != OSC_OK) {
        osc_store_free(store);
        return status;
    }
    *out = store;
    return OSC_OK;
}
