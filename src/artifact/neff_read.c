/*
 * neff_read.c - the reader half of neff.h.
 *
 * Header, length and SHA-256 first, so that a damaged file is named as damaged; then one pass over
 * the tar makes a sorted index of members (names in an arena, contents stay views into the input),
 * the JSON members rebuild the tables, the engine binaries the streams. Sealing checks the program
 * as if it had just been compiled, and its digest must be the one the file states, so nothing that
 * the checks do not cover can differ from what was written.
 *
 * Refuses: the vendor's NEFFs (their engine binaries are not public), newer versions, anything
 * after the data. Unknown JSON keys and members are skipped: a newer minor change may add them.
 */
#include "artifact/neff_layout.h"

#include "base/arena.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/num.h"
#include "base/tar.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct member {
    osc_str name; /* in the arena */
    osc_str data; /* in the input */
} member;

typedef struct reader {
    const uint8_t *data; /* the whole file */
    size_t len;
    const char *input; /* name for messages, may be NULL */
    osc_err *err;
    osc_arena *arena; /* member index and unescaped texts */
    member *members;  /* sorted by name */
    size_t member_count;
    osc_program *program;
} reader;

/* What info.json says. */
typedef struct info {
    bool marked; /* "format" is ours */
    uint64_t version;
    osc_str generation, name, cache_key, digest;
    uint64_t flops;
} info;

/* Offset in the file of a view into it. */
static uint64_t offset_of(const reader *r, const char *at)
{
    const char *start = (const char *)r->data;
    return at >= start && at <= start + r->len ? (uint64_t)(at - start) : OSC_NO_OFFSET;
}

static osc_status damaged(const reader *r, uint64_t offset, const char *what)
{
    return osc_fail(r->err, OSC_EFORMAT, r->input, offset,
                    "damaged NEFF: %s; remove it, so that the program is compiled again", what);
}

static osc_status no_memory(const reader *r)
{
    return osc_fail(r->err, OSC_ENOMEM, r->input, OSC_NO_OFFSET,
                    "out of memory while reading a NEFF");
}

static osc_status foreign(const reader *r, osc_str build)
{
    return osc_fail(
        r->err, OSC_EFOREIGN, r->input, 0,
        "this NEFF was written by the Neuron compiler (build '%.*s'), not by opscope; its engine "
        "binaries are a closed format; to see its profile: neuron-explorer view -d DIR "
        "--output-format json --output-file F, then open F",
        OSC_STR_FMT(osc_str_sub(build, 0, 64)));
}

static osc_status too_new(const reader *r, const char *what, uint64_t found, uint64_t known)
{
    return osc_fail(
        r->err, OSC_EVERSION, r->input, OSC_NO_OFFSET,
        "this NEFF has %s %llu, this program knows %llu; use a newer opscope, or remove the "
        "file, so that the program is compiled again",
        what, (unsigned long long)found, (unsigned long long)known);
}

/* ---- header ---- */

typedef struct header {
    uint64_t pkg_version, header_size, data_size, major;
    osc_str build, hash, uuid;
} header;

static osc_str field_text(osc_cursor *c, size_t width)
{
    osc_str field = osc_cursor_bytes(c, width);
    size_t end = osc_str_find_char(field, '\0', 0);
    return osc_str_sub(field, 0, end);
}

static void scan_header(const reader *r, header *h)
{
    osc_cursor c = osc_cursor_make(r->data, r->len);
    h->pkg_version = osc_cursor_u64(&c);
    h->header_size = osc_cursor_u64(&c);
    h->data_size = osc_cursor_u64(&c);
    h->major = osc_cursor_u64(&c);
    osc_cursor_skip(&c, 8); /* minor */
    h->build = field_text(&c, NEFF_BUILD_VERSION_BYTES);
    osc_cursor_skip(&c, 4); /* num_tpb */
    h->hash = osc_cursor_bytes(&c, NEFF_HASH_BYTES);
    h->uuid = osc_cursor_bytes(&c, OSC_NEFF_UUID_BYTES);
}

static osc_status check_header(const reader *r, const header *h)
{
    if (r->len >= 16 && h->header_size != OSC_NEFF_HEADER_BYTES)
        return osc_fail(r->err, OSC_EFORMAT, r->input, 8,
                        "not a NEFF: it does not say that its header has %u bytes; opscope info "
                        "tells what it is",
                        OSC_NEFF_HEADER_BYTES);
    if (r->len < OSC_NEFF_HEADER_BYTES)
        return osc_fail(
            r->err, OSC_ETRUNCATED, r->input, r->len,
            "a NEFF of %zu bytes ends inside its header of %u; remove it, so that the program "
            "is compiled again",
            r->len, OSC_NEFF_HEADER_BYTES);
    if (!osc_str_starts(h->build, OSC_STR(NEFF_OUR_BUILD)))
        return foreign(r, h->build);
    if (h->pkg_version > NEFF_PKG_VERSION)
        return too_new(r, "package version", h->pkg_version, NEFF_PKG_VERSION);
    if (h->major > NEFF_MAJOR)
        return too_new(r, "NEFF version", h->major, NEFF_MAJOR);
    uint64_t behind = r->len - OSC_NEFF_HEADER_BYTES;
    if (h->data_size > behind)
        return osc_fail(
            r->err, OSC_ETRUNCATED, r->input, r->len,
            "a NEFF ends after %llu of %llu bytes of data; remove it, so that the program is "
            "compiled again",
            (unsigned long long)behind, (unsigned long long)h->data_size);
    if (h->data_size < behind)
        return damaged(r, OSC_NEFF_HEADER_BYTES + h->data_size, "bytes follow its data");
    uint8_t hash[OSC_SHA256_SIZE];
    osc_sha256_bytes(r->data + OSC_NEFF_HEADER_BYTES, (size_t)behind, hash);
    if (memcmp(hash, h->hash.ptr, sizeof hash) != 0)
        return damaged(r, OSC_NEFF_HEADER_BYTES,
                       "the SHA-256 of its data is not the one in its header");
    return OSC_OK;
}

/* ---- members ---- */

static int by_name(const void *a, const void *b)
{
    const member *x = a, *y = b;
    return osc_str_cmp(x->name, y->name);
}

static osc_status index_members(reader *r)
{
    osc_tar_reader tar;
    osc_tar_entry entry;
    bool found = true;
    size_t most = r->len / OSC_TAR_BLOCK;
    r->members = OSC_ARENA_ARRAY(r->arena, member, most);
    if (r->members == NULL)
        return no_memory(r);
    osc_tar_reader_init(&tar, r->data + OSC_NEFF_HEADER_BYTES, r->len - OSC_NEFF_HEADER_BYTES,
                        OSC_NEFF_HEADER_BYTES, r->input);
    for (;;) {
        osc_status status = osc_tar_next(&tar, &entry, &found, r->err);
        if (status != OSC_OK || !found) {
            qsort(r->members, r->member_count, sizeof(member), by_name);
            return status;
        }
        assert(r->member_count < most);
        osc_str name = osc_arena_copy(r->arena, entry.name);
        if (name.ptr == NULL)
            return no_memory(r);
        r->members[r->member_count++] = (member){name, entry.data};
    }
}

static bool find_member(const reader *r, const char *name, osc_str *data)
{
    if (r->member_count == 0)
        return false;
    member wanted = {.name = osc_str_from_cstr(name)};
    const member *m = bsearch(&wanted, r->members, r->member_count, sizeof *m, by_name);
    if (m != NULL)
        *data = m->data;
    return m != NULL;
}

static osc_status need_member(const reader *r, const char *name, osc_str *data)
{
    char what[96];
    if (find_member(r, name, data))
        return OSC_OK;
    snprintf(what, sizeof what, "it has no member '%.48s'", name);
    return damaged(r, OSC_NO_OFFSET, what);
}

/* ---- JSON values ---- */

static osc_status bad_value(const reader *r, const osc_json_token *t, const char *key)
{
    char what[96];
    snprintf(what, sizeof what, "unexpected value of '%.48s'", key);
    return damaged(r, offset_of(r, t->text.ptr), what);
}

/* The status of a scan, its offset moved from the member to the file. */
static osc_status json_status(const reader *r, const osc_json *j)
{
    osc_status status = osc_json_status(j, r->input, r->err);
    uint64_t base = offset_of(r, j->data);
    if (status != OSC_OK && r->err != NULL && r->err->offset != OSC_NO_OFFSET &&
        base != OSC_NO_OFFSET)
        r->err->offset += base;
    return status;
}

static osc_status take_text(const reader *r, osc_json *j, const char *key, osc_str *out)
{
    osc_json_token t = osc_json_next(j);
    if (t.type != OSC_JSON_STRING)
        return bad_value(r, &t, key);
    *out = t.text;
    if (!t.escaped)
        return OSC_OK;
    osc_buf plain;
    osc_buf_init(&plain, SIZE_MAX);
    bool ok = osc_json_unescape(t.text, &plain, NULL);
    *out = ok ? osc_arena_copy(r->arena, osc_buf_view(&plain)) : osc_str_make(NULL, 0);
    osc_buf_free(&plain);
    return out->ptr != NULL ? OSC_OK : no_memory(r);
}

static osc_status take_u64(const reader *r, osc_json *j, const char *key, uint64_t max,
                           uint64_t *out)
{
    osc_json_token t = osc_json_next(j);
    if (t.type != OSC_JSON_NUMBER || !osc_parse_u64(t.text, out) || *out > max)
        return bad_value(r, &t, key);
    return OSC_OK;
}

/* An array of at most OSC_MAX_RANK integers. */
static osc_status take_dims(const reader *r, osc_json *j, const char *key, int64_t *out,
                            uint8_t *count)
{
    osc_json_token t = osc_json_next(j);
    *count = 0;
    if (t.type != OSC_JSON_ARR_BEGIN)
        return bad_value(r, &t, key);
    while (osc_json_next_element(j, &t)) {
        if (*count == OSC_MAX_RANK || t.type != OSC_JSON_NUMBER || !osc_json_i64(&t, &out[*count]))
            return bad_value(r, &t, key);
        (*count)++;
    }
    return OSC_OK;
}

static osc_status begin_object(const reader *r, osc_json *j, const char *key)
{
    osc_json_token t = osc_json_next(j);
    return t.type == OSC_JSON_OBJ_BEGIN ? OSC_OK : bad_value(r, &t, key);
}

static osc_status skip_value(const reader *r, osc_json *j)
{
    return osc_json_skip_value(j, NULL) ? OSC_OK : json_status(r, j);
}

/* ---- info.json ---- */

static osc_status read_info_member(const reader *r, osc_json *j, const osc_json_token *key,
                                   info *out)
{
    osc_str format;
    if (osc_json_is(key, "format")) {
        osc_status status = take_text(r, j, "format", &format);
        out->marked = status == OSC_OK && osc_str_eq_cstr(format, NEFF_MARKER);
        return status;
    }
    if (osc_json_is(key, "format_version"))
        return take_u64(r, j, "format_version", UINT64_MAX, &out->version);
    if (osc_json_is(key, "generation"))
        return take_text(r, j, "generation", &out->generation);
    if (osc_json_is(key, "name"))
        return take_text(r, j, "name", &out->name);
    if (osc_json_is(key, "cache_key"))
        return take_text(r, j, "cache_key", &out->cache_key);
    if (osc_json_is(key, "digest"))
        return take_text(r, j, "digest", &out->digest);
    if (osc_json_is(key, "flops"))
        return take_u64(r, j, "flops", UINT64_MAX, &out->flops);
    return skip_value(r, j);
}

static osc_status read_info(const reader *r, const header *h, info *out)
{
    osc_str text;
    osc_json j;
    osc_json_token key;
    if (!find_member(r, "info.json", &text))
        return foreign(r, h->build);
    osc_json_init(&j, text.ptr, text.len);
    osc_status status = begin_object(r, &j, "info.json");
    while (status == OSC_OK && osc_json_next_member(&j, &key))
        status = read_info_member(r, &j, &key, out);
    if (status == OSC_OK)
        status = json_status(r, &j);
    if (status == OSC_OK && !out->marked)
        return foreign(r, h->build);
    if (status == OSC_OK && out->version > OSC_NEFF_FORMAT_VERSION)
        return too_new(r, "format version", out->version, OSC_NEFF_FORMAT_VERSION);
    return status;
}

static osc_status start_program(reader *r, const info *in)
{
    char generation[16], *name = osc_arena_strdup(r->arena, in->name);
    osc_generation parsed;
    if (name == NULL)
        return no_memory(r);
    if (osc_generation_parse(osc_str_to_array(in->generation, generation, sizeof generation),
                             &parsed, NULL) != OSC_OK)
        return damaged(r, OSC_NO_OFFSET, "its device generation is unknown");
    r->program = osc_program_new(name, parsed);
    if (r->program == NULL)
        return no_memory(r);
    osc_program_set_cache_key(r->program, in->cache_key);
    osc_program_set_flops(r->program, in->flops);
    return OSC_OK;
}

/* ---- sg00/def.json ---- */

/* Keys of a variable that were met. */
enum {
    HAS_ID = 1u << 0,
    HAS_SIZE = 1u << 1,
    HAS_KIND = 1u << 2,
    HAS_DTYPE = 1u << 3,
    HAS_SHAPE = 1u << 4,
    HAS_STRIDE = 1u << 5,
    HAS_ALL = (1u << 6) - 1u
};

typedef struct var {
    osc_tensor tensor;
    uint64_t id;
    uint8_t strides;
    unsigned has;
} var;

static osc_status take_kind(const reader *r, osc_json *j, uint8_t *out)
{
    osc_str text;
    osc_status status = take_text(r, j, "kind", &text);
    for (uint8_t i = 0; status == OSC_OK && i < NEFF_KINDS; i++) {
        if (NEFF_KIND[i].kind != NULL && osc_str_eq_cstr(text, NEFF_KIND[i].kind)) {
            *out = i;
            return OSC_OK;
        }
    }
    return status != OSC_OK ? status
                            : damaged(r, offset_of(r, text.ptr), "unknown kind of a variable");
}

static osc_status take_dtype(const reader *r, osc_json *j, uint8_t *out)
{
    osc_str text;
    osc_status status = take_text(r, j, "dtype", &text);
    for (unsigned i = 0; status == OSC_OK && i < OSC_DTYPE_COUNT; i++) {
        if (osc_str_eq_cstr(text, osc_dtype_name((osc_dtype)i))) {
            *out = (uint8_t)i;
            return OSC_OK;
        }
    }
    return status != OSC_OK ? status
                            : damaged(r, offset_of(r, text.ptr), "unknown dtype of a variable");
}

static osc_status read_var_member(const reader *r, osc_json *j, const osc_json_token *key, var *v)
{
    if (osc_json_is(key, "var_id")) {
        v->has |= HAS_ID;
        return take_u64(r, j, "var_id", UINT16_MAX, &v->id);
    }
    if (osc_json_is(key, "size")) {
        v->has |= HAS_SIZE;
        return take_u64(r, j, "size", INT64_MAX, &v->tensor.span_bytes);
    }
    if (osc_json_is(key, "kind")) {
        v->has |= HAS_KIND;
        return take_kind(r, j, &v->tensor.kind);
    }
    if (osc_json_is(key, "dtype")) {
        v->has |= HAS_DTYPE;
        return take_dtype(r, j, &v->tensor.dtype);
    }
    if (osc_json_is(key, "shape")) {
        v->has |= HAS_SHAPE;
        return take_dims(r, j, "shape", v->tensor.size, &v->tensor.rank);
    }
    if (osc_json_is(key, "stride")) {
        v->has |= HAS_STRIDE;
        return take_dims(r, j, "stride", v->tensor.stride, &v->strides);
    }
    if (osc_json_is(key, "slot")) {
        uint64_t slot = 0;
        osc_status status = take_u64(r, j, "slot", UINT16_MAX, &slot);
        v->tensor.slot = (uint32_t)slot;
        return status;
    }
    return skip_value(r, j);
}

static osc_status take_const(const reader *r, var *v)
{
    char name[64];
    osc_str bytes;
    snprintf(name, sizeof name, "sg00/const_%u.bin", (unsigned)v->id);
    osc_status status = need_member(r, name, &bytes);
    if (status == OSC_OK && bytes.len != v->tensor.span_bytes)
        return damaged(r, offset_of(r, bytes.ptr), "a constant's file is not of its size");
    v->tensor.bytes = (const uint8_t *)bytes.ptr;
    return status;
}

static osc_status read_var(const reader *r, osc_json *j, const osc_json_token *name, uint32_t index)
{
    var v = {.tensor = {.slot = UINT32_MAX}};
    osc_json_token key;
    osc_status status = begin_object(r, j, "var");
    while (status == OSC_OK && osc_json_next_member(j, &key))
        status = read_var_member(r, j, &key, &v);
    if (status == OSC_OK)
        status = json_status(r, j);
    if (status != OSC_OK)
        return status;
    if (v.has != HAS_ALL || v.id != index || v.strides != v.tensor.rank)
        return damaged(r, offset_of(r, name->text.ptr), "a variable is incomplete or out of order");
    osc_buf plain;
    osc_buf_init(&plain, SIZE_MAX);
    if (!osc_json_unescape(name->text, &plain, NULL))
        status = no_memory(r);
    v.tensor.name = osc_buf_view(&plain);
    if (status == OSC_OK && v.tensor.kind == OSC_TENSOR_CONST)
        status = take_const(r, &v);
    if (status == OSC_OK && osc_program_add_tensor(r->program, &v.tensor) == UINT32_MAX)
        status = no_memory(r);
    osc_buf_free(&plain);
    return status;
}

static osc_status read_vars(const reader *r, osc_json *j)
{
    osc_json_token name;
    uint32_t index = 0;
    osc_status status = begin_object(r, j, "var");
    while (status == OSC_OK && osc_json_next_member(j, &name))
        status = read_var(r, j, &name, index++);
    return status;
}

static osc_status read_def(const reader *r)
{
    osc_str text;
    osc_json j;
    osc_json_token key;
    osc_status status = need_member(r, "sg00/def.json", &text);
    if (status != OSC_OK)
        return status;
    osc_json_init(&j, text.ptr, text.len);
    status = begin_object(r, &j, "def.json");
    while (status == OSC_OK && osc_json_next_member(&j, &key))
        status = osc_json_is(&key, "var") ? read_vars(r, &j) : skip_value(r, &j);
    return status == OSC_OK ? json_status(r, &j) : status;
}

/* ---- sg00/source_map.json ---- */

static osc_status read_source(const reader *r, osc_json *j)
{
    osc_source source = {.op = OSC_STR(""), .file = OSC_STR("")};
    osc_json_token key;
    osc_status status = OSC_OK;
    while (status == OSC_OK && osc_json_next_member(j, &key)) {
        uint64_t number = 0;
        if (osc_json_is(&key, "op")) {
            status = take_text(r, j, "op", &source.op);
        } else if (osc_json_is(&key, "file")) {
            status = take_text(r, j, "file", &source.file);
        } else if (osc_json_is(&key, "line")) {
            status = take_u64(r, j, "line", UINT32_MAX, &number);
            source.line = (uint32_t)number;
        } else if (osc_json_is(&key, "node")) {
            status = take_u64(r, j, "node", UINT32_MAX, &number);
            source.graph_node = (uint32_t)number;
        } else {
            status = skip_value(r, j);
        }
    }
    if (status == OSC_OK)
        status = json_status(r, j);
    if (status == OSC_OK && osc_program_add_source(r->program, &source) == UINT32_MAX)
        status = no_memory(r);
    return status;
}

static osc_status read_source_list(const reader *r, osc_json *j)
{
    osc_json_token t = osc_json_next(j);
    osc_status status = t.type == OSC_JSON_ARR_BEGIN ? OSC_OK : bad_value(r, &t, "sources");
    while (status == OSC_OK && osc_json_next_element(j, &t))
        status = t.type == OSC_JSON_OBJ_BEGIN ? read_source(r, j) : bad_value(r, &t, "sources");
    return status;
}

static osc_status read_sources(const reader *r)
{
    osc_str text;
    osc_json j;
    osc_json_token key;
    osc_status status = need_member(r, "sg00/source_map.json", &text);
    if (status != OSC_OK)
        return status;
    osc_json_init(&j, text.ptr, text.len);
    status = begin_object(r, &j, "source_map.json");
    while (status == OSC_OK && osc_json_next_member(&j, &key))
        status = osc_json_is(&key, "sources") ? read_source_list(r, &j) : skip_value(r, &j);
    return status == OSC_OK ? json_status(r, &j) : status;
}

/* ---- sg00/<engine>.bin ---- */

static osc_status read_stream(const reader *r, const neff_engine *e, osc_str bytes)
{
    osc_cursor c = osc_cursor_make_at(bytes.ptr, bytes.len, offset_of(r, bytes.ptr));
    osc_str magic = osc_cursor_bytes(&c, NEFF_BIN_MAGIC_BYTES);
    uint32_t version = osc_cursor_u32(&c), engine = osc_cursor_u32(&c), count = osc_cursor_u32(&c);
    if (!osc_str_eq_cstr(magic, NEFF_BIN_MAGIC) || c.failed || engine != (uint32_t)e->engine ||
        version == 0)
        return damaged(r, c.base, "an engine binary has a bad head");
    if (version > NEFF_BIN_VERSION)
        return too_new(r, "engine binary version", version, NEFF_BIN_VERSION);
    if (count > osc_cursor_left(&c) / NEFF_RECORD_MIN)
        return damaged(r, c.base, "an engine binary has fewer instructions than it says");
    for (uint32_t i = 0; i < count; i++) {
        osc_inst inst;
        uint64_t at = osc_cursor_offset(&c);
        osc_status status = osc_isa_decode(&c, &inst, r->err);
        if (status == OSC_OK && inst.engine != (uint8_t)e->engine)
            return damaged(r, at, "an instruction is of another engine");
        if (status == OSC_OK && osc_program_add_inst(r->program, &inst) == UINT32_MAX)
            return no_memory(r);
        if (status != OSC_OK)
            return status;
    }
    return osc_cursor_done(&c)
               ? OSC_OK
               : damaged(r, osc_cursor_offset(&c), "bytes follow the last instruction");
}

static osc_status read_streams(const reader *r)
{
    for (uint32_t i = 0; i < NEFF_ENGINES; i++) {
        char name[64];
        osc_str bytes;
        snprintf(name, sizeof name, "sg00/%s.bin", NEFF_ENGINE[i].name);
        if (!find_member(r, name, &bytes))
            continue;
        osc_status status = read_stream(r, &NEFF_ENGINE[i], bytes);
        if (status != OSC_OK)
            return status;
    }
    return OSC_OK;
}

/* ---- the whole ---- */

static osc_status finish_program(const reader *r, const header *h, const info *in)
{
    uint8_t digest[OSC_SHA256_SIZE];
    char hex[OSC_SHA256_HEX];
    osc_status status = osc_program_seal(r->program, r->err);
    if (status != OSC_OK)
        return status;
    osc_program_digest(r->program, digest);
    if (!osc_str_eq_cstr(in->digest, osc_sha256_hex(digest, hex)))
        return damaged(r, OSC_NO_OFFSET, "its program is not the one its digest names");
    if (memcmp(h->uuid.ptr, digest, OSC_NEFF_UUID_BYTES) != 0)
        return damaged(r, OSC_NO_OFFSET, "its uuid is not its program's");
    return OSC_OK;
}

static osc_status read_all(reader *r)
{
    header h = {0};
    info in = {.generation = OSC_STR(""),
               .name = OSC_STR(""),
               .cache_key = OSC_STR(""),
               .digest = OSC_STR("")};
    scan_header(r, &h);
    osc_status status = check_header(r, &h);
    if (status == OSC_OK)
        status = index_members(r);
    if (status == OSC_OK)
        status = read_info(r, &h, &in);
    if (status == OSC_OK)
        status = start_program(r, &in);
    if (status == OSC_OK)
        status = read_def(r);
    if (status == OSC_OK)
        status = read_sources(r);
    if (status == OSC_OK)
        status = read_streams(r);
    if (status == OSC_OK)
        status = finish_program(r, &h, &in);
    return status;
}

/* The layers below do not know the file's name. */
static void name_input(osc_err *err, const char *input)
{
    if (err != NULL && input != NULL && err->input[0] == '\0')
        osc_str_to_array(osc_str_from_cstr(input), err->input, sizeof err->input);
}

osc_status osc_neff_read(const uint8_t *data, size_t len, const char *input_name, osc_program **out,
                         osc_err *err)
{
    *out = NULL;
    reader r = {.data = data, .len = len, .input = input_name, .err = err};
    r.arena = osc_arena_new(SIZE_MAX);
    osc_status status = r.arena != NULL ? read_all(&r) : no_memory(&r);
    osc_arena_free(r.arena);
    if (status == OSC_OK) {
        *out = r.program;
        return OSC_OK;
    }
    osc_program_release(r.program);
    name_input(err, input_name);
    return status;
}
