/* test_artifact_program.c - building, sealing, digests, sharing, lack of memory. */
#include "program_samples.h"
#include "tap.h"

#include "artifact/program.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_contents(void)
{
    osc_err err = {0};
    uint32_t count;
    osc_program *p = sample_full();
    TAP_REQUIRE(p != NULL);
    TAP_EQ_STATUS(osc_program_seal(p, &err), OSC_OK);
    TAP_EQ_VIEW(osc_program_name(p),
                "graph \"q\"\n\xc3\xa9\xef\xbf\xbd"); /* the bad byte became U+FFFD */
    TAP_EQ_I64(osc_program_generation(p), OSC_TRN2);
    TAP_EQ_U64(osc_program_flops(p), UINT64_MAX);
    TAP_EQ_U64(osc_program_slots(p), 5);
    TAP_EQ_U64(osc_program_inst_count(p), ISA_SAMPLE_COUNT);
    const osc_tensor *tensors = osc_program_tensors(p, &count);
    TAP_EQ_U64(count, 8);
    TAP_EQ_VIEW(tensors[2].name, "inout\\0");
    TAP_EQ_MEM(tensors[4].bytes, "\1\0\xff\7\x09", 5);
    const osc_source *sources = osc_program_sources(p, &count);
    TAP_EQ_U64(count, 2);
    TAP_EQ_U64(sources[1].op.len, 3);
    osc_stream vector = osc_program_stream(p, OSC_ENGINE_VECTOR);
    TAP_OK(vector.count > 0 && vector.inst[0].opcode == OSC_OP_TENSOR_COPY);
    TAP_EQ_U64(osc_program_stream(p, OSC_ENGINE_DMA).count, 0);
    osc_program_release(p);
}

typedef void (*change)(osc_program *p);

static void no_change(osc_program *p)
{
    (void)p;
}
static void other_key(osc_program *p)
{
    osc_program_set_cache_key(p, OSC_STR("k"));
}
static void other_flops(osc_program *p)
{
    osc_program_set_flops(p, 1);
}
static void more_tensor(osc_program *p)
{
    osc_tensor t = sample_tensor("more", OSC_TENSOR_SCRATCH, UINT32_MAX, 4);
    osc_program_add_tensor(p, &t);
}
static void other_const(osc_program *p)
{
    osc_tensor t = sample_tensor("more", OSC_TENSOR_CONST, UINT32_MAX, 4);
    t.bytes = (const uint8_t *)"abcd";
    osc_program_add_tensor(p, &t);
}
static void other_const_bytes(osc_program *p)
{
    osc_tensor t = sample_tensor("more", OSC_TENSOR_CONST, UINT32_MAX, 4);
    t.bytes = (const uint8_t *)"abce";
    osc_program_add_tensor(p, &t);
}
static void more_source(osc_program *p)
{
    osc_source s = {.op = OSC_STR("x"), .file = OSC_STR("")};
    osc_program_add_source(p, &s);
}
static void more_inst(osc_program *p)
{
    add_line(p, "Sync nop");
}
static void other_stream(osc_program *p)
{
    add_line(p, "Scalar nop");
}
static void patched_inst(osc_program *p)
{
    uint32_t index = add_line(p, "Sync nop");
    osc_inst *inst = osc_program_inst_mut(p, OSC_ENGINE_SYNC, index);
    inst->nincs = 1;
    inst->incs[0] = (osc_sem_op){3, 0, 1};
}

static void digest_after(change edit, uint8_t digest[32], uint64_t *hash)
{
    osc_err err = {0};
    osc_program *p = sample_base("base");
    edit(p);
    TAP_EQ_STATUS(osc_program_seal(p, &err), OSC_OK);
    osc_program_digest(p, digest);
    *hash = osc_program_hash(p);
    osc_program_release(p);
}

static void test_digest_sees_everything(void)
{
    static const change CHANGES[] = {no_change,    other_key,         other_flops, more_tensor,
                                     other_const,  other_const_bytes, more_source, more_inst,
                                     other_stream, patched_inst};
    enum { N = sizeof CHANGES / sizeof CHANGES[0] };
    uint8_t digests[N][32], again[32];
    uint64_t hash, value = 0;
    for (size_t i = 0; i < N; i++) {
        digest_after(CHANGES[i], digests[i], &hash);
        digest_after(CHANGES[i], again, &hash);
        TAP_EQ_MEM(again, digests[i], 32);
        for (size_t k = 0; k < i; k++)
            TAP_OKF(memcmp(digests[i], digests[k], 32) != 0, "digests %zu and %zu differ", i, k);
    }
    memcpy(&value, digests[N - 1], 8); /* little endian hosts only, as all we test on */
    TAP_EQ_U64(hash, value >> 1);
    TAP_OK(hash <= INT64_MAX);
}

/* Seals `sample_base` after an edit; the message must hold `part`. */
static void expect_refused(change edit, osc_status want, const char *part)
{
    osc_err err = {0};
    osc_program *p = sample_base("bad");
    edit(p);
    TAP_EQ_STATUS(osc_program_seal(p, &err), want);
    TAP_OKF(strstr(err.message, part) != NULL, "'%s' in: %s", part, err.message);
    osc_program_release(p);
}

static void bad_inst(osc_program *p)
{
    add_line(p, "Sync nop");
    add_line(p, "Sync nop inc=1+0");
}
static void bad_tensor_index(osc_program *p)
{
    add_line(p, "Sync dma_copy dst=sbuf.uint8(p0,n1,@0)[4:1] src0=hbm.uint8(t2,n1,s0,@0)[4:1]");
}
static void beyond_span(osc_program *p)
{
    add_line(p, "Sync dma_copy dst=sbuf.uint8(p0,n2,@0)[4:1] src0=hbm.uint8(t0,n2,s4092,@1)[4:1]");
}
static void before_span(osc_program *p)
{
    add_line(p, "Sync dma_copy dst=sbuf.uint8(p0,n1,@0)[4:1] src0=hbm.uint8(t0,n1,s0,@2)[4:-1]");
}
static void far_span(osc_program *p)
{
    add_line(p, "Sync dma_copy dst=sbuf.uint8(p0,n2,@0)[4:1] "
                "src0=hbm.uint8(t0,n2,s9223372036854775807,@9223372036854775807)[4:1]");
}
static void writes_input(osc_program *p)
{
    add_line(p, "Sync dma_copy src0=sbuf.uint8(p0,n1,@0)[4:1] dst=hbm.uint8(t0,n1,s0,@0)[4:1]");
}
static void bad_branch(osc_program *p)
{
    add_line(p, "Sync branch alu0=less iimm2=2 src0=reg(@0)");
}
static void bad_source(osc_program *p)
{
    add_line(p, "Sync nop source=1");
}
static void moved_engine(osc_program *p)
{
    osc_program_inst_mut(p, OSC_ENGINE_SYNC, add_line(p, "Sync nop"))->engine = OSC_ENGINE_VECTOR;
}
static void same_name(osc_program *p)
{
    osc_tensor t = sample_tensor("input0", OSC_TENSOR_INPUT, 2, 4);
    osc_program_add_tensor(p, &t);
}
static void no_name(osc_program *p)
{
    osc_tensor t = sample_tensor("", OSC_TENSOR_INPUT, 2, 4);
    osc_program_add_tensor(p, &t);
}
static void add_odd(osc_program *p, osc_tensor_kind kind, uint32_t slot, uint64_t span,
                    osc_dtype dtype)
{
    osc_tensor t = sample_tensor("odd", kind, slot, 4);
    t.span_bytes = span;
    t.dtype = (uint8_t)dtype;
    osc_program_add_tensor(p, &t);
}
static void bad_kind(osc_program *p)
{
    add_odd(p, (osc_tensor_kind)9, 0, 4, OSC_U8);
}
static void slotless_input(osc_program *p)
{
    add_odd(p, OSC_TENSOR_INPUT, UINT32_MAX, 4, OSC_U8);
}
static void slotted_scratch(osc_program *p)
{
    add_odd(p, OSC_TENSOR_SCRATCH, 0, 4, OSC_U8);
}
static void huge_span(osc_program *p)
{
    add_odd(p, OSC_TENSOR_SCRATCH, UINT32_MAX, UINT64_MAX, OSC_U8);
}
static void no_dtype(osc_program *p)
{
    add_odd(p, OSC_TENSOR_INPUT, 0, 4, OSC_DTYPE_NONE);
}
static void no_bytes(osc_program *p)
{
    add_odd(p, OSC_TENSOR_CONST, UINT32_MAX, 4, OSC_U8);
}
static void negative_size(osc_program *p)
{
    osc_tensor t = sample_tensor("odd", OSC_TENSOR_INPUT, 2, 4);
    t.size[0] = -1;
    osc_program_add_tensor(p, &t);
}

static void test_seal_refuses(void)
{
    expect_refused(bad_inst, OSC_EHAZARD, "Sync[1]: nop on Sync: increments semaphore 1 by 0");
    expect_refused(bad_tensor_index, OSC_EHAZARD, "tensor 2 of 2");
    expect_refused(beyond_span, OSC_EHAZARD, "bytes 1 to 4096 of 'input0', which has 4096");
    expect_refused(before_span, OSC_EHAZARD, "bytes -1 to 2");
    expect_refused(far_span, OSC_EHAZARD, "64 bits can count");
    expect_refused(writes_input, OSC_EHAZARD, "writes to 'input0'");
    expect_refused(bad_branch, OSC_EHAZARD, "branch to instruction 2 of a stream of 1");
    expect_refused(bad_source, OSC_EINVAL, "source 1 of 1");
    expect_refused(moved_engine, OSC_EINVAL, "another engine");
    expect_refused(same_name, OSC_EINVAL, "'input0' is empty or used twice");
    expect_refused(no_name, OSC_EINVAL, "empty or used twice");
    expect_refused(bad_kind, OSC_EINVAL, "unknown kind 9");
    expect_refused(slotless_input, OSC_EINVAL, "slot");
    expect_refused(slotted_scratch, OSC_EINVAL, "slot");
    expect_refused(huge_span, OSC_EINVAL, "2^63");
    expect_refused(no_dtype, OSC_EINVAL, "no dtype");
    expect_refused(no_bytes, OSC_EINVAL, "has no bytes");
    expect_refused(negative_size, OSC_EINVAL, "size -1");
}

static void test_last_byte_is_reachable(void)
{
    osc_err err = {0};
    osc_program *p = sample_base("edge");
    add_line(p, "Sync dma_copy dst=sbuf.uint8(p0,n2,@0)[4:1] src0=hbm.uint8(t0,n2,s4092,@0)[4:1]");
    add_line(p, "Sync dma_copy dst=sbuf.uint8(p0,n1,@0)[4:1] src0=hbm.uint8(t0,n1,s0,@3)[4:-1]");
    add_line(p, "Sync branch alu0=less iimm2=3 src0=reg(@0)"); /* to the end of the stream */
    TAP_EQ_STATUS(osc_program_seal(p, &err), OSC_OK);
    osc_program_release(p);
}

static void test_tensor_limit(void)
{
    osc_err err = {0};
    osc_program *p = osc_program_new("many", OSC_TRN2);
    char name[16];
    uint32_t index = 0;
    for (uint32_t i = 0; i <= 65536; i++) {
        snprintf(name, sizeof name, "t%u", i);
        osc_tensor t = sample_tensor(name, OSC_TENSOR_SCRATCH, UINT32_MAX, 1);
        index = osc_program_add_tensor(p, &t);
        if (i == 65535)
            TAP_EQ_U64(index, 65535);
    }
    TAP_EQ_U64(index, UINT32_MAX);
    TAP_EQ_STATUS(osc_program_seal(p, &err), OSC_EUNSUPPORTED);
    osc_program_release(p);
}

static void test_references(void)
{
    osc_err err = {0};
    osc_program *p = sample_base("shared");
    TAP_EQ_STATUS(osc_program_seal(p, &err), OSC_OK);
    TAP_OK(osc_program_retain(p) == p);
    osc_program_release(p);
    TAP_EQ_VIEW(osc_program_name(p), "shared"); /* ASan would see a freed one */
    osc_program_release(p);
    osc_program_release(NULL);
}

/* Owns one reference at start; the last thread to release frees. */
static void use_and_release(void *context)
{
    osc_program *p = context;
    for (unsigned i = 0; i < 2000; i++) {
        osc_program *mine = osc_program_retain(p);
        if (osc_program_inst_count(mine) != 1)
            abort();
        osc_program_release(mine);
    }
    osc_program_release(p);
}

static void test_references_across_threads(void)
{
    osc_err err = {0};
    osc_thread threads[4];
    osc_program *p = sample_base("shared");
    add_line(p, "Sync nop");
    TAP_EQ_STATUS(osc_program_seal(p, &err), OSC_OK);
    for (unsigned i = 0; i < 4; i++) {
        osc_program_retain(p);
        TAP_EQ_STATUS(osc_thread_start(&threads[i], "share", use_and_release, p, &err), OSC_OK);
    }
    osc_program_release(p);
    for (unsigned i = 0; i < 4; i++)
        osc_thread_join(&threads[i]);
    TAP_OK(true); /* LeakSanitizer and ThreadSanitizer judge */
}

static bool build_without_memory(void *context)
{
    (void)context;
    osc_err err = {0};
    osc_program *p = sample_full();
    if (p == NULL)
        return osc_mem_refused() > 0;
    osc_status status = osc_program_seal(p, &err);
    osc_program_release(p);
    return osc_mem_refused() > 0 ? status == OSC_ENOMEM && err.message[0] != '\0'
                                 : status == OSC_OK;
}

static void test_out_of_memory(void)
{
    TAP_OK(tap_oom_sweep(build_without_memory, NULL, 300));
}

int main(void)
{
    TAP_RUN(test_contents);
    TAP_RUN(test_digest_sees_everything);
    TAP_RUN(test_seal_refuses);
    TAP_RUN(test_last_byte_is_reachable);
    TAP_RUN(test_tensor_limit);
    TAP_RUN(test_references);
    TAP_RUN(test_references_across_threads);
    TAP_RUN(test_out_of_memory);
    return tap_done();
}
