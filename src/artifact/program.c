/*
 * program.c - building, sealing and sharing an osc_program.
 *
 * While it is built, a program is a set of growing arrays; texts and constant bytes are copied into its
 * arena. Sealing checks every instruction against the sheet of the generation and every HBM pattern
 * against its tensor, computes the digest, and from then on nothing changes, so any thread may read.
 *
 * The digest covers what a NEFF file of the program holds: name, cache key, flops, generation, tensors
 * with constant bytes, sources, streams. Equal digests mean equal files, which the file names rely on.
 * Texts become valid UTF-8 when they are added, because the NEFF stores them as JSON.
 *
 * Rejected: streams in the arena. An arena cannot grow an array in place, and streams are most of a
 * program; doubling there would cost twice the memory.
 */
#include "artifact/program.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TENSORS      (UINT16_MAX + 1u) /* osc_ap.tensor is 16 bits wide */
#define MAX_INSTRUCTIONS (UINT32_MAX - 1u)
#define NOT_BOUND        UINT32_MAX /* slot of scratch and constants */

typedef struct stream {
    osc_inst *inst; /* owned */
    uint32_t count, cap;
} stream;

struct osc_program {
    atomic_uint references;
    bool sealed;
    osc_status failure; /* first failed add; OSC_OK while all went well */
    osc_generation generation;
    osc_arena *arena;
    osc_str name, cache_key;
    uint64_t flops;
    stream streams[OSC_ENGINE_COUNT];
    osc_tensor *tensors; /* owned */
    uint32_t tensor_count, tensor_cap;
    osc_source *sources; /* owned */
    uint32_t source_count, source_cap;
    uint32_t slots;
    uint8_t digest[OSC_SHA256_SIZE];
};

/* ---- reading ---- */

osc_str osc_program_name(const osc_program *program)
{
    return program->name;
}

osc_str osc_program_cache_key(const osc_program *program)
{
    return program->cache_key;
}

osc_generation osc_program_generation(const osc_program *program)
{
    return program->generation;
}

osc_stream osc_program_stream(const osc_program *program, osc_engine engine)
{
    assert((unsigned)engine < OSC_ENGINE_COUNT);
    const stream *s = &program->streams[engine];
    return (osc_stream){s->inst, s->count};
}

uint32_t osc_program_inst_count(const osc_program *program)
{
    uint32_t count = 0;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        count += program->streams[e].count;
    return count;
}

const osc_tensor *osc_program_tensors(const osc_program *program, uint32_t *count)
{
    *count = program->tensor_count;
    return program->tensors;
}

const osc_source *osc_program_sources(const osc_program *program, uint32_t *count)
{
    *count = program->source_count;
    return program->sources;
}

uint32_t osc_program_slots(const osc_program *program)
{
    assert(program->sealed);
    return program->slots;
}

uint64_t osc_program_scratch_bytes(const osc_program *program)
{
    uint32_t count;
    const osc_tensor *tensor = osc_program_tensors(program, &count);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        if (tensor[i].kind == OSC_TENSOR_SCRATCH)
            bytes += (tensor[i].span_bytes + OSC_SCRATCH_ALIGN - 1) / OSC_SCRATCH_ALIGN *
                     OSC_SCRATCH_ALIGN;
    return bytes;
}

uint64_t osc_program_flops(const osc_program *program)
{
    return program->flops;
}

void osc_program_digest(const osc_program *program, uint8_t digest[32])
{
    assert(program->sealed);
    memcpy(digest, program->digest, sizeof program->digest);
}

uint64_t osc_program_hash(const osc_program *program)
{
    assert(program->sealed);
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)program->digest[i] << 8 * i;
    return value >> 1;
}

/* ---- building ---- */

/* A copy in the arena whose bytes are valid UTF-8; {NULL, 0} when memory is out. */
static osc_str copy_text(osc_arena *arena, osc_str text)
{
    if (osc_utf8_valid(text))
        return osc_arena_copy(arena, text);
    osc_str copy = {NULL, 0};
    size_t room;
    /* A bad byte becomes U+FFFD, three bytes. */
    if (!osc_mul_size(text.len, 3, &room))
        return copy;
    char *out = osc_arena_alloc(arena, room, 1);
    if (out == NULL)
        return copy;
    size_t used = 0;
    for (size_t pos = 0; pos < text.len;)
        used += osc_utf8_put(osc_utf8_next(text, &pos), out + used);
    assert(used <= room);
    return osc_str_make(out, used);
}

static void fail_build(osc_program *program, osc_status why)
{
    if (program->failure == OSC_OK)
        program->failure = why;
}

static bool set_text(osc_program *program, osc_str text, osc_str *out)
{
    *out = copy_text(program->arena, text);
    if (out->ptr == NULL)
        fail_build(program, OSC_ENOMEM);
    return out->ptr != NULL;
}

osc_program *osc_program_new(const char *name, osc_generation generation)
{
    assert((unsigned)generation < OSC_GENERATIONS);
    osc_program *program = osc_calloc(1, sizeof *program);
    if (program == NULL)
        return NULL;
    atomic_init(&program->references, 1);
    program->generation = generation;
    program->arena = osc_arena_new(SIZE_MAX);
    if (program->arena == NULL || !set_text(program, osc_str_from_cstr(name), &program->name)) {
        osc_program_release(program);
        return NULL;
    }
    return program;
}

void osc_program_set_cache_key(osc_program *program, osc_str key)
{
    assert(!program->sealed);
    set_text(program, key, &program->cache_key);
}

void osc_program_set_flops(osc_program *program, uint64_t flops)
{
    assert(!program->sealed);
    program->flops = flops;
}

/* Makes room for one more of `count` elements; false (remembered) when that is not possible. */
static bool grow(osc_program *program, void **array, uint32_t count, uint32_t *cap, uint32_t max,
                 size_t element)
{
    if (program->failure != OSC_OK)
        return false;
    if (count < *cap)
        return true;
    if (count >= max) {
        fail_build(program, OSC_EUNSUPPORTED);
        return false;
    }
    uint32_t wanted = *cap == 0 ? 8u : *cap > max / 2 ? max : *cap * 2;
    void *larger = osc_realloc_array(*array, wanted, element);
    if (larger == NULL) {
        fail_build(program, OSC_ENOMEM);
        return false;
    }
    *array = larger;
    *cap = wanted;
    return true;
}

static bool copy_bytes(osc_program *program, osc_tensor *tensor)
{
    if (tensor->kind != OSC_TENSOR_CONST || tensor->bytes == NULL) {
        tensor->bytes = NULL;
        return true;
    }
    if (tensor->span_bytes > SIZE_MAX) {
        fail_build(program, OSC_ENOMEM);
        return false;
    }
    uint8_t *copy = osc_arena_alloc(program->arena, (size_t)tensor->span_bytes, 0);
    if (copy == NULL) {
        fail_build(program, OSC_ENOMEM);
        return false;
    }
    memcpy(copy, tensor->bytes, (size_t)tensor->span_bytes);
    tensor->bytes = copy;
    return true;
}

uint32_t osc_program_add_tensor(osc_program *program, const osc_tensor *tensor)
{
    assert(!program->sealed && tensor->rank <= OSC_MAX_RANK);
    void *array = program->tensors;
    bool room = grow(program, &array, program->tensor_count, &program->tensor_cap, MAX_TENSORS,
                     sizeof *tensor);
    program->tensors = array;
    if (!room)
        return UINT32_MAX;
    osc_tensor copy = *tensor;
    for (unsigned i = copy.rank; i < OSC_MAX_RANK; i++)
        copy.size[i] = copy.stride[i] = 0;
    if (!set_text(program, tensor->name, &copy.name) || !copy_bytes(program, &copy))
        return UINT32_MAX;
    program->tensors[program->tensor_count] = copy;
    return program->tensor_count++;
}

uint32_t osc_program_add_source(osc_program *program, const osc_source *source)
{
    assert(!program->sealed);
    void *array = program->sources;
    bool room = grow(program, &array, program->source_count, &program->source_cap, MAX_INSTRUCTIONS,
                     sizeof *source);
    program->sources = array;
    if (!room)
        return UINT32_MAX;
    osc_source copy = *source;
    if (!set_text(program, source->op, &copy.op) || !set_text(program, source->file, &copy.file))
        return UINT32_MAX;
    program->sources[program->source_count] = copy;
    return program->source_count++;
}

uint32_t osc_program_add_inst(osc_program *program, const osc_inst *inst)
{
    assert(!program->sealed && inst->engine < OSC_ENGINE_COUNT);
    stream *s = &program->streams[inst->engine];
    void *array = s->inst;
    bool room = grow(program, &array, s->count, &s->cap, MAX_INSTRUCTIONS, sizeof *inst);
    s->inst = array;
    if (!room)
        return UINT32_MAX;
    s->inst[s->count] = *inst;
    return s->count++;
}

osc_inst *osc_program_inst_mut(osc_program *program, osc_engine engine, uint32_t index)
{
    assert(!program->sealed && (unsigned)engine < OSC_ENGINE_COUNT);
    assert(index < program->streams[engine].count);
    return &program->streams[engine].inst[index];
}

/* ---- sealing ---- */

static osc_status check_tensor(const osc_program *program, uint32_t index, osc_err *err)
{
    const osc_tensor *t = &program->tensors[index];
    bool bound =
        t->kind == OSC_TENSOR_INPUT || t->kind == OSC_TENSOR_OUTPUT || t->kind == OSC_TENSOR_INOUT;
    if (!bound && t->kind != OSC_TENSOR_SCRATCH && t->kind != OSC_TENSOR_CONST)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "tensor %u '%.*s' has unknown kind %u", index, OSC_STR_FMT(t->name),
                        t->kind);
    if (osc_dtype_size((osc_dtype)t->dtype) == 0)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "tensor %u '%.*s' has no dtype",
                        index, OSC_STR_FMT(t->name));
    if (bound ? t->slot >= MAX_TENSORS : t->slot != NOT_BOUND)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "tensor %u '%.*s' has slot %u, which its kind does not allow", index,
                        OSC_STR_FMT(t->name), t->slot);
    if (t->span_bytes > INT64_MAX)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "tensor %u '%.*s' spans over 2^63 bytes", index, OSC_STR_FMT(t->name));
    if (t->kind == OSC_TENSOR_CONST && t->bytes == NULL && t->span_bytes != 0)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "constant %u '%.*s' has no bytes",
                        index, OSC_STR_FMT(t->name));
    for (unsigned i = 0; i < t->rank; i++) {
        if (t->size[i] < 0)
            return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                            "tensor %u '%.*s' has size %lld in dim %u", index, OSC_STR_FMT(t->name),
                            (long long)t->size[i], i);
    }
    return OSC_OK;
}

static int by_name(const void *a, const void *b)
{
    const osc_str *x = a, *y = b;
    return osc_str_cmp(*x, *y);
}

/* Names are the keys of the NEFF's variable map, so they must differ. */
static osc_status check_names(const osc_program *program, osc_err *err)
{
    if (program->tensor_count == 0)
        return OSC_OK;
    osc_str *names = osc_calloc(program->tensor_count, sizeof *names);
    if (names == NULL)
        return osc_fail(err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
                        "out of memory while sealing a program");
    for (uint32_t i = 0; i < program->tensor_count; i++)
        names[i] = program->tensors[i].name;
    qsort(names, program->tensor_count, sizeof *names, by_name);
    osc_status status = OSC_OK;
    for (uint32_t i = 0; i < program->tensor_count && status == OSC_OK; i++) {
        if (names[i].len == 0 || (i > 0 && osc_str_eq(names[i], names[i - 1])))
            status = osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                              "tensor name '%.*s' is empty or used twice", OSC_STR_FMT(names[i]));
    }
    osc_free(names);
    return status;
}

static osc_status check_hbm(const osc_program *program, const osc_ap *ap, bool written,
                            osc_err *err)
{
    if (ap->tensor >= program->tensor_count)
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET, "names tensor %u of %u", ap->tensor,
                        program->tensor_count);
    const osc_tensor *t = &program->tensors[ap->tensor];
    if (written && (t->kind == OSC_TENSOR_INPUT || t->kind == OSC_TENSOR_CONST))
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "writes to '%.*s', which is only read", OSC_STR_FMT(t->name));
    int64_t lo, hi;
    if (!osc_ap_extent(ap, &lo, &hi) || lo < 0 || (uint64_t)hi > t->span_bytes)
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "touches bytes %lld to %lld of '%.*s', which has %llu", (long long)lo,
                        (long long)hi - 1, OSC_STR_FMT(t->name), (unsigned long long)t->span_bytes);
    return OSC_OK;
}

static osc_status check_inst(const osc_program *program, const osc_inst *inst,
                             uint32_t stream_length, osc_err *err)
{
    osc_status status = osc_isa_check(inst, osc_sheet_default(program->generation), err);
    if (status != OSC_OK)
        return status;
    const osc_ap *patterns[5] = {&inst->dst, &inst->dst2, &inst->src[0], &inst->src[1],
                                 &inst->src[2]};
    for (unsigned i = 0; i < 5; i++) {
        if (patterns[i]->space != OSC_SPACE_HBM)
            continue;
        status = check_hbm(program, patterns[i], i < 2, err);
        if (status != OSC_OK)
            return status;
    }
    if (inst->opcode == OSC_OP_BRANCH && inst->iimm2 > (int64_t)stream_length)
        return osc_fail(err, OSC_EHAZARD, NULL, OSC_NO_OFFSET,
                        "branch to instruction %lld of a stream of %u", (long long)inst->iimm2,
                        stream_length);
    if (inst->source != OSC_NO_SOURCE && inst->source >= program->source_count)
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET, "names source %u of %u", inst->source,
                        program->source_count);
    return OSC_OK;
}

/* Puts the place in front of the message that the check wrote. */
static void name_place(osc_err *err, osc_engine engine, uint32_t index)
{
    if (err == NULL)
        return;
    osc_err inner = *err;
    osc_fail(err, inner.code, inner.input, inner.offset, "%s[%u]: %s", osc_engine_name(engine),
             index, inner.message);
}

static osc_status check_streams(const osc_program *program, osc_err *err)
{
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        const stream *s = &program->streams[e];
        for (uint32_t i = 0; i < s->count; i++) {
            osc_status status = s->inst[i].engine == e
                                    ? check_inst(program, &s->inst[i], s->count, err)
                                    : osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                                               "the instruction is of another engine");
            if (status != OSC_OK) {
                name_place(err, (osc_engine)e, i);
                return status;
            }
        }
    }
    return OSC_OK;
}

/* The canonical encoding: everything length-prefixed or fixed, little endian, in table order. */
static void describe_tensor(const osc_tensor *t, osc_buf *out)
{
    osc_buf_str32(out, t->name);
    osc_buf_u8(out, t->kind);
    osc_buf_u8(out, t->dtype);
    osc_buf_u8(out, t->rank);
    osc_buf_u32(out, t->slot);
    osc_buf_u64(out, t->span_bytes);
    for (unsigned i = 0; i < t->rank; i++) {
        osc_buf_i64(out, t->size[i]);
        osc_buf_i64(out, t->stride[i]);
    }
}

static void flush(osc_buf *piece, osc_sha256 *sha)
{
    osc_sha256_update(sha, piece->data, piece->len);
    osc_buf_truncate(piece, 0);
}

static osc_status compute_digest(osc_program *program, osc_err *err)
{
    osc_sha256 sha;
    osc_buf piece; /* reused, so that a digest needs no second copy of the program */
    osc_sha256_init(&sha);
    osc_buf_init(&piece, SIZE_MAX);
    osc_buf_str(&piece, OSC_STR("opscope program 1\n"));
    osc_buf_str32(&piece, program->name);
    osc_buf_str32(&piece, program->cache_key);
    osc_buf_u64(&piece, program->flops);
    osc_buf_u8(&piece, (uint8_t)program->generation);
    osc_buf_u32(&piece, program->tensor_count);
    for (uint32_t i = 0; i < program->tensor_count; i++) {
        const osc_tensor *t = &program->tensors[i];
        describe_tensor(t, &piece);
        flush(&piece, &sha);
        if (t->bytes != NULL)
            osc_sha256_update(&sha, t->bytes, (size_t)t->span_bytes);
    }
    osc_buf_u32(&piece, program->source_count);
    for (uint32_t i = 0; i < program->source_count; i++) {
        osc_buf_str32(&piece, program->sources[i].op);
        osc_buf_str32(&piece, program->sources[i].file);
        osc_buf_u32(&piece, program->sources[i].line);
        osc_buf_u32(&piece, program->sources[i].graph_node);
    }
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++) {
        osc_buf_u32(&piece, program->streams[e].count);
        for (uint32_t i = 0; i < program->streams[e].count; i++) {
            osc_isa_encode(&program->streams[e].inst[i], &piece);
            flush(&piece, &sha);
        }
    }
    flush(&piece, &sha);
    osc_status status = osc_buf_status(&piece, "the digest of a program", err);
    osc_buf_free(&piece);
    osc_sha256_final(&sha, program->digest);
    return status;
}

static uint32_t count_slots(const osc_program *program)
{
    uint32_t slots = 0;
    for (uint32_t i = 0; i < program->tensor_count; i++) {
        uint32_t slot = program->tensors[i].slot;
        if (slot != NOT_BOUND && slot >= slots)
            slots = slot + 1;
    }
    return slots;
}

osc_status osc_program_seal(osc_program *program, osc_err *err)
{
    assert(!program->sealed);
    if (program->failure == OSC_EUNSUPPORTED)
        return osc_fail(err, OSC_EUNSUPPORTED, NULL, OSC_NO_OFFSET,
                        "a program holds at most %u tensors and %u instructions a stream",
                        MAX_TENSORS, MAX_INSTRUCTIONS);
    if (program->failure != OSC_OK)
        return osc_fail(err, program->failure, NULL, OSC_NO_OFFSET,
                        "out of memory while building program '%.*s'", OSC_STR_FMT(program->name));
    osc_status status = check_names(program, err);
    for (uint32_t i = 0; i < program->tensor_count && status == OSC_OK; i++)
        status = check_tensor(program, i, err);
    if (status == OSC_OK)
        status = check_streams(program, err);
    if (status == OSC_OK)
        status = compute_digest(program, err);
    if (status != OSC_OK)
        return status;
    program->slots = count_slots(program);
    program->sealed = true;
    return OSC_OK;
}

/* ---- sharing ---- */

osc_program *osc_program_retain(osc_program *program)
{
    unsigned before = atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return program;
}

void osc_program_release(osc_program *program)
{
    if (program == NULL)
        return;
    unsigned before = atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before != 1)
        return;
    for (unsigned e = 0; e < OSC_ENGINE_COUNT; e++)
        osc_free(program->streams[e].inst);
    osc_free(program->tensors);
    osc_free(program->sources);
    osc_arena_free(program->arena);
    osc_free(program);
}
