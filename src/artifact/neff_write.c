/*
 * neff_write.c - the writer half of neff.h.
 *
 * The tar is built first, then the header in front of it, which holds its length and SHA-256. Members
 * and JSON keys have a fixed order and nothing depends on time, place or addresses, so a program always
 * gives the same file.
 */
#include "artifact/neff_layout.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/tar.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A member under construction: tar needs its size in front. */
typedef struct member {
    osc_buf *tar;
    osc_buf body;
    osc_jw json;
    osc_err *err;
} member;

static void member_begin(member *m, uint32_t indent)
{
    osc_buf_clear(&m->body);
    osc_jw_init(&m->json, &m->body, indent);
}

static osc_status member_end(member *m, const char *name)
{
    osc_status status = osc_buf_status(&m->body, name, m->err);
    if (status != OSC_OK)
        return status;
    return osc_tar_add(m->tar, osc_str_from_cstr(name), m->body.data, m->body.len, m->err);
}

static osc_status write_info(member *m, const osc_program *program)
{
    uint8_t digest[OSC_SHA256_SIZE];
    char hex[OSC_SHA256_HEX];
    osc_program_digest(program, digest);
    member_begin(m, 2);
    osc_jw *w = &m->json;
    osc_jw_begin_obj(w);
    osc_jw_kv_cstr(w, "format", NEFF_MARKER);
    osc_jw_kv_u64(w, "format_version", OSC_NEFF_FORMAT_VERSION);
    osc_jw_kv_cstr(w, "tool", NEFF_OUR_BUILD " " OSC_VERSION);
    osc_jw_kv_cstr(w, "generation", osc_generation_name(osc_program_generation(program)));
    osc_jw_kv_str(w, "name", osc_program_name(program));
    osc_jw_kv_str(w, "cache_key", osc_program_cache_key(program));
    osc_jw_kv_u64(w, "flops", osc_program_flops(program));
    osc_jw_kv_u64(w, "num_tpb", 1);
    osc_jw_kv_cstr(w, "digest", osc_sha256_hex(digest, hex));
    osc_jw_end_obj(w);
    return member_end(m, "info.json");
}

static void write_numbers(osc_jw *w, const char *key, const int64_t *values, unsigned count)
{
    osc_jw_key(w, key);
    osc_jw_begin_arr(w);
    for (unsigned i = 0; i < count; i++)
        osc_jw_i64(w, values[i]);
    osc_jw_end_arr(w);
}

static void const_name(uint32_t index, char out[32])
{
    snprintf(out, 32, "const_%u.bin", index);
}

static void write_var(osc_jw *w, const osc_tensor *t, uint32_t index)
{
    char file[32];
    assert(t->kind < NEFF_KINDS && NEFF_KIND[t->kind].kind != NULL);
    osc_jw_key_str(w, t->name);
    osc_jw_begin_obj(w);
    osc_jw_kv_cstr(w, "type", NEFF_KIND[t->kind].type);
    osc_jw_kv_u64(w, "var_id", index);
    osc_jw_kv_u64(w, "size", t->span_bytes);
    osc_jw_kv_cstr(w, "kind", NEFF_KIND[t->kind].kind);
    osc_jw_kv_cstr(w, "dtype", osc_dtype_name((osc_dtype)t->dtype));
    write_numbers(w, "shape", t->size, t->rank);
    write_numbers(w, "stride", t->stride, t->rank);
    if (t->slot != UINT32_MAX)
        osc_jw_kv_u64(w, "slot", t->slot);
    if (t->kind == OSC_TENSOR_CONST) {
        const_name(index, file);
        osc_jw_kv_cstr(w, "file_name", file);
    }
    osc_jw_end_obj(w);
}

static bool is_dma(const osc_inst *inst)
{
    return inst->opcode == OSC_OP_DMA_COPY || inst->opcode == OSC_OP_DMA_TRANSPOSE;
}

static uint32_t count_dma(osc_stream stream)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < stream.count; i++)
        count += is_dma(&stream.inst[i]);
    return count;
}

/* One queue set per engine that issues transfers; its instances are the 16 DMA engines. */
static void write_queues(osc_jw *w, const osc_program *program)
{
    osc_jw_key(w, "dma_queue");
    osc_jw_begin_obj(w);
    for (uint32_t i = 0; i < NEFF_ENGINES; i++) {
        char name[32];
        if (count_dma(osc_program_stream(program, NEFF_ENGINE[i].engine)) == 0)
            continue;
        snprintf(name, sizeof name, "q_%s", NEFF_ENGINE[i].name);
        osc_jw_key(w, name);
        osc_jw_begin_obj(w);
        osc_jw_kv_cstr(w, "type", "data");
        osc_jw_kv_u64(w, "num_queues", 16);
        osc_jw_kv_cstr(w, "owner", NEFF_ENGINE[i].name);
        osc_jw_end_obj(w);
    }
    osc_jw_end_obj(w);
}

static void write_engine_files(osc_jw *w, const osc_program *program)
{
    osc_jw_key(w, "engines");
    osc_jw_begin_obj(w);
    for (uint32_t i = 0; i < NEFF_ENGINES; i++) {
        char name[32];
        if (osc_program_stream(program, NEFF_ENGINE[i].engine).count == 0)
            continue;
        osc_jw_key(w, NEFF_ENGINE[i].name);
        osc_jw_begin_obj(w);
        snprintf(name, sizeof name, "%s.json", NEFF_ENGINE[i].name);
        osc_jw_kv_cstr(w, "json", name);
        snprintf(name, sizeof name, "%s.bin", NEFF_ENGINE[i].name);
        osc_jw_kv_cstr(w, "bin", name);
        osc_jw_end_obj(w);
    }
    osc_jw_end_obj(w);
}

static osc_status write_def(member *m, const osc_program *program)
{
    uint32_t count;
    const osc_tensor *tensors = osc_program_tensors(program, &count);
    member_begin(m, 2);
    osc_jw *w = &m->json;
    osc_jw_begin_obj(w);
    osc_jw_kv_str(w, "name", osc_program_name(program));
    osc_jw_key(w, "var");
    osc_jw_begin_obj(w);
    for (uint32_t i = 0; i < count; i++)
        write_var(w, &tensors[i], i);
    osc_jw_end_obj(w);
    write_queues(w, program);
    write_engine_files(w, program);
    osc_jw_end_obj(w);
    return member_end(m, "sg00/def.json");
}

static osc_status write_sources(member *m, const osc_program *program)
{
    uint32_t count;
    const osc_source *sources = osc_program_sources(program, &count);
    member_begin(m, 0); /* may have many entries; people read it through opscope */
    osc_jw *w = &m->json;
    osc_jw_begin_obj(w);
    osc_jw_key(w, "sources");
    osc_jw_begin_arr(w);
    for (uint32_t i = 0; i < count; i++) {
        osc_jw_begin_obj(w);
        osc_jw_kv_str(w, "op", sources[i].op);
        osc_jw_kv_str(w, "file", sources[i].file);
        osc_jw_kv_u64(w, "line", sources[i].line);
        osc_jw_kv_u64(w, "node", sources[i].graph_node);
        osc_jw_end_obj(w);
    }
    osc_jw_end_arr(w);
    osc_jw_end_obj(w);
    return member_end(m, "sg00/source_map.json");
}

/* The summary of one stream, for people and tools that do not decode it. */
static osc_status write_engine_json(member *m, const neff_engine *e, osc_stream stream)
{
    uint32_t per_opcode[OSC_OPCODE_COUNT] = {0};
    char name[64];
    for (uint32_t i = 0; i < stream.count; i++)
        per_opcode[stream.inst[i].opcode]++;
    member_begin(m, 2);
    osc_jw *w = &m->json;
    osc_jw_begin_obj(w);
    osc_jw_kv_cstr(w, "engine", e->name);
    osc_jw_kv_u64(w, "instructions", stream.count);
    osc_jw_kv_u64(w, "dma", count_dma(stream));
    osc_jw_key(w, "opcodes");
    osc_jw_begin_obj(w);
    for (unsigned op = 0; op < OSC_OPCODE_COUNT; op++) {
        if (per_opcode[op] != 0)
            osc_jw_kv_u64(w, osc_isa_row_of(op)->name, per_opcode[op]);
    }
    osc_jw_end_obj(w);
    osc_jw_end_obj(w);
    snprintf(name, sizeof name, "sg00/%s.json", e->name);
    return member_end(m, name);
}

static osc_status write_engine_bin(member *m, const neff_engine *e, osc_stream stream)
{
    char name[64];
    osc_buf_clear(&m->body);
    osc_buf_append(&m->body, NEFF_BIN_MAGIC, NEFF_BIN_MAGIC_BYTES);
    osc_buf_u32(&m->body, NEFF_BIN_VERSION);
    osc_buf_u32(&m->body, (uint32_t)e->engine);
    osc_buf_u32(&m->body, stream.count);
    for (uint32_t i = 0; i < stream.count; i++)
        osc_isa_encode(&stream.inst[i], &m->body);
    snprintf(name, sizeof name, "sg00/%s.bin", e->name);
    return member_end(m, name);
}

static osc_status write_engines(member *m, const osc_program *program)
{
    for (uint32_t i = 0; i < NEFF_ENGINES; i++) {
        const neff_engine *e = &NEFF_ENGINE[i];
        osc_stream stream = osc_program_stream(program, e->engine);
        if (stream.count == 0)
            continue;
        osc_status status = write_engine_json(m, e, stream);
        if (status == OSC_OK)
            status = write_engine_bin(m, e, stream);
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}

static osc_status write_consts(member *m, const osc_program *program)
{
    uint32_t count;
    const osc_tensor *tensors = osc_program_tensors(program, &count);
    for (uint32_t i = 0; i < count; i++) {
        char file[32], name[64];
        if (tensors[i].kind != OSC_TENSOR_CONST)
            continue;
        const_name(i, file);
        snprintf(name, sizeof name, "sg00/%s", file);
        osc_status status = osc_tar_add(m->tar, osc_str_from_cstr(name), tensors[i].bytes,
                                        (size_t)tensors[i].span_bytes, m->err);
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}

/* Text in a field of fixed width: cut at a UTF-8 boundary, then NULs, at least one. */
static void put_text(osc_buf *out, osc_str text, size_t width)
{
    char field[NEFF_NAME_BYTES] = {0};
    assert(width <= sizeof field);
    osc_str_to_array(text, field, width);
    size_t used = strlen(field);
    memset(field + used, 0, sizeof field - used);
    osc_buf_append(out, field, width);
}

static void write_header(osc_buf *out, const osc_program *program, const osc_buf *tar)
{
    size_t start = out->len;
    uint8_t hash[OSC_SHA256_SIZE], uuid[OSC_NEFF_UUID_BYTES], nodes[NEFF_TPB_PER_NODE_BYTES] = {1};
    const osc_sheet *sheet = osc_sheet_default(osc_program_generation(program));
    osc_sha256_bytes(tar->data, tar->len, hash);
    osc_neff_uuid(program, uuid);
    osc_buf_u64(out, NEFF_PKG_VERSION);
    osc_buf_u64(out, OSC_NEFF_HEADER_BYTES);
    osc_buf_u64(out, tar->len);
    osc_buf_u64(out, NEFF_MAJOR);
    osc_buf_u64(out, NEFF_MINOR);
    put_text(out, OSC_STR(NEFF_OUR_BUILD " " OSC_VERSION), NEFF_BUILD_VERSION_BYTES);
    osc_buf_u32(out, 1); /* num_tpb */
    osc_buf_append(out, hash, sizeof hash);
    osc_buf_append(out, uuid, sizeof uuid);
    put_text(out, osc_program_name(program), NEFF_NAME_BYTES);
    osc_buf_u32(out, 1); /* requested_tpb_count */
    osc_buf_append(out, nodes, sizeof nodes);
    osc_buf_u64(out, 0); /* feature_bits */
    osc_buf_u32(out, (uint32_t)sheet->lnc);
    osc_buf_fill(out, 0, NEFF_PAD_BYTES);
    assert(out->failed || out->len - start == OSC_NEFF_HEADER_BYTES);
}

void osc_neff_uuid(const osc_program *program, uint8_t uuid[OSC_NEFF_UUID_BYTES])
{
    uint8_t digest[OSC_SHA256_SIZE];
    osc_program_digest(program, digest);
    memcpy(uuid, digest, OSC_NEFF_UUID_BYTES);
}

osc_status osc_neff_write(const osc_program *program, osc_buf *out, osc_err *err)
{
    osc_buf tar;
    member m = {.tar = &tar, .err = err};
    osc_buf_init(&tar, out->max);
    osc_buf_init(&m.body, out->max);
    osc_status status = write_info(&m, program);
    if (status == OSC_OK)
        status = write_def(&m, program);
    if (status == OSC_OK)
        status = write_sources(&m, program);
    if (status == OSC_OK)
        status = write_engines(&m, program);
    if (status == OSC_OK)
        status = write_consts(&m, program);
    if (status == OSC_OK) {
        osc_tar_finish(&tar);
        status = osc_buf_status(&tar, "a NEFF", err);
    }
    if (status == OSC_OK) {
        write_header(out, program, &tar);
        osc_buf_append(out, tar.data, tar.len);
        status = osc_buf_status(out, "a NEFF", err);
    }
    osc_buf_free(&m.body);
    osc_buf_free(&tar);
    return status;
}
