/*
 * test_read_traffic.c - bytes and multiply-accumulates of our own instructions, by hand; and that
 * the same formulas take them: a small product through the summary.
 */
#include "program_samples.h"
#include "tap.h"

#include "scope/read/program_traffic.h"
#include "scope/store/store.h"

/* Traffic of one instruction; the all-zero row when it has none. */
static osc_traffic_row traffic_of(const char *text)
{
    osc_inst inst;
    osc_err err = {0};
    osc_traffic_row row = {0};
    osc_store *store = osc_store_new();
    osc_status status = osc_isa_assemble(text, &inst, &err);
    TAP_OKF(status == OSC_OK, "%s: %s", text, err.message);
    if (store && status == OSC_OK) {
        osc_traffic_to_store(store, &inst, 7);
        const osc_traffic_cols *t = osc_store_traffic(store);
        if (t->count == 1)
            row = (osc_traffic_row){.elements = t->elements[0],
                                    .hbm_read = t->hbm_read[0],
                                    .hbm_write = t->hbm_write[0],
                                    .sbuf_read = t->sbuf_read[0],
                                    .sbuf_write = t->sbuf_write[0],
                                    .psum_read = t->psum_read[0],
                                    .psum_write = t->psum_write[0],
                                    .psum_to_sbuf = t->psum_to_sbuf[0],
                                    .inst = t->inst[0],
                                    .flags = t->flags[0]};
    }
    osc_store_free(store);
    return row;
}

/* A DMA counts all partitions. */
static void test_dma(void)
{
    osc_traffic_row t = traffic_of("Sync dma_copy dst=sbuf.bf16(p0,n4,@0)[512:1] "
                                   "src0=hbm.fp32(t0,n4,s512,@0)[512:1] inc=3+1 source=0");
    TAP_EQ_U64(t.hbm_read, 4 * 512 * 4);
    TAP_EQ_U64(t.sbuf_write, 4 * 512 * 2);
    TAP_EQ_U64(t.hbm_write + t.sbuf_read + t.elements, 0);
    TAP_EQ_U64(t.inst, 7);
}

/* A compute instruction counts one. */
static void test_compute(void)
{
    osc_traffic_row t =
        traffic_of("Vector tensor_scalar alu0=add imm1=2 dst=sbuf.fp32(p0,n4,@1024)[512:1] "
                   "src0=psum.fp32(p0,n4,@0)[512:1] src1=imm source=0");
    TAP_EQ_U64(t.psum_read, 512 * 4);
    TAP_EQ_U64(t.sbuf_write, 512 * 4);
    TAP_EQ_U64(t.psum_to_sbuf, 512 * 4);
    TAP_EQ_U64(t.flags, OSC_TRAFFIC_PSUM_TO_SBUF);
}

/* rows x columns x moving columns */
static void test_matmul(void)
{
    osc_traffic_row t = traffic_of("Tensor matmul dst=psum.fp32(p0,n32,@2048)[300:1] "
                                   "src0=sbuf.bf16(p0,n64,@0)[300:1] source=0");
    TAP_EQ_U64(t.elements, UINT64_C(64) * 32 * 300);
    TAP_EQ_U64(t.sbuf_read, 300 * 2);
    TAP_EQ_U64(t.psum_write, 300 * 4);
    TAP_EQ_U64(t.flags, OSC_TRAFFIC_REGULAR);
    t = traffic_of("Tensor pe_transpose dst=psum.bf16(p0,n64,@0)[128:1] "
                   "src0=sbuf.bf16(p0,n128,@0)[64:1] source=0");
    TAP_EQ_U64(t.elements, UINT64_C(128) * 64 * 128);
    TAP_EQ_U64(t.flags, OSC_TRAFFIC_TRANSPOSE);
}

static void test_tensors(void)
{
    osc_program *program = sample_base("aten::mul");
    osc_store *store = osc_store_new();
    TAP_REQUIRE(program && store);
    osc_tensors_to_store(store, program, 3);
    const osc_tensor_cols *t = osc_store_tensor(store);
    TAP_EQ_U64(t->count, 2);
    TAP_EQ_U64(t->bytes[0], 4096);
    TAP_EQ_U64(t->program[1], 3);
    TAP_EQ_VIEW(osc_store_text(store, t->kind[0]), "IN");
    TAP_EQ_VIEW(osc_store_text(store, t->kind[1]), "OUT");
    TAP_EQ_VIEW(osc_store_text(store, t->shape[0]), "[4096]");
    osc_store_free(store);
    osc_program_release(program);
}

int main(void)
{
    TAP_RUN(test_dma);
    TAP_RUN(test_compute);
    TAP_RUN(test_matmul);
    TAP_RUN(test_tensors);
    return tap_done();
}
