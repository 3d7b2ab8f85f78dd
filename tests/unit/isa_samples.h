/*
 * isa_samples.h - legal instructions as text, at least one per opcode, for the tests of isa and artifact.
 *
 * All are legal on trn2; they use HBM tensors t0 (input, 4096 bytes) and t1 (output, 4096 bytes).
 */
#ifndef OSC_TESTS_UNIT_ISA_SAMPLES_H
#define OSC_TESTS_UNIT_ISA_SAMPLES_H

static const char *const ISA_SAMPLES[] = {
    "Sync nop",
    "Sync dma_copy dst=sbuf.bf16(p0,n4,@0)[512:1] src0=hbm.bf16(t0,n4,s512,@0)[512:1] inc=1+1 "
    "source=0",
    "GpSimd dma_copy dst=hbm.fp32(t1,n5,s8,@4)[8:1] src0=sbuf.bf16(p37,n5,@64)[2:16][4:1] "
    "wait=1>=1",
    "Tensor dma_copy dst=sbuf.int64(p0,n1,@0)[4:1] src0=hbm.int64(t0,n1,s0,@0)[4:0]",
    "Sync dma_transpose dst=sbuf.bf16(p0,n16,@0)[8:1] src0=hbm.bf16(t0,n8,s16,@0)[16:1]",
    "Vector tensor_copy dst=sbuf.fp16(p0,n128,@0)[64:1] src0=psum.fp32(p0,n128,@2048)[64:1]",
    "Scalar tensor_copy dst=sbuf.fp16(p0,n128,@0)[64:1] src0=psum.fp32(p0,n128,@2048)[64:1]",
    "Vector tensor_tensor alu0=multiply dst=sbuf.bf16(p0,n4,@0)[512:1] "
    "src0=sbuf.bf16(p0,n4,@1024)[512:1] "
    "src1=sbuf.bf16(p0,n4,@2048)[512:1]",
    "GpSimd tensor_tensor alu0=add dst=sbuf.int32(p32,n32,@0)[16:1] "
    "src0=sbuf.int32(p32,n32,@64)[16:1] "
    "src1=sbuf.int32(p64,n32,@128)[16:0]",
    "Vector tensor_tensor alu0=bitwise_xor dst=sbuf.int32(p0,n4,@0)[4:1] "
    "src0=sbuf.int32(p0,n4,@64)[4:1] "
    "src1=sbuf.int32(p0,n4,@128)[4:-1]",
    "Vector tensor_scalar alu0=subtract alu1=maximum flags=reverse0 imm1=1.5 imm2=-0.25 "
    "dst=sbuf.fp32(p0,n64,@0)[16:1] src0=sbuf.fp32(p64,n64,@64)[16:1] src1=imm src2=imm",
    "Vector tensor_scalar alu0=multiply dst=sbuf.bf16(p0,n4,@0)[512:1] "
    "src0=sbuf.bf16(p0,n4,@1024)[512:1] "
    "src1=sbuf.fp32(p0,n4,@4096)",
    "Vector tensor_scalar alu0=left_shift imm1=3 dst=sbuf.uint16(p0,n4,@0)[8:1] "
    "src0=sbuf.uint16(p0,n4,@16)[8:1] src1=imm",
    "Scalar tensor_scalar alu0=multiply alu1=add imm1=2 imm2=1 dst=sbuf.fp32(p0,n1,@0) "
    "src0=psum.fp32(p0,n1,@0) src1=imm src2=imm",
    "Vector scalar_tensor_tensor alu0=subtract alu1=multiply flags=reverse1 "
    "dst=sbuf.bf16(p0,n96,@0)[8:1] src0=sbuf.bf16(p0,n96,@16)[8:1] src1=sbuf.fp32(p0,n96,@64)[1:1] "
    "src2=psum.fp32(p0,n96,@0)[8:1]",
    "Vector tensor_reduce alu0=add axes=1 flags=negate dst=sbuf.fp32(p0,n4,@0)[3:1] "
    "src0=sbuf.bf16(p0,n4,@64)[3:8][8:1]",
    "GpSimd tensor_reduce alu0=bitwise_or axes=2 dst=sbuf.int32(p0,n4,@0) "
    "src0=sbuf.int32(p0,n4,@64)[3:8][8:1]",
    "Vector tensor_scalar_reduce alu0=multiply alu1=add imm1=0.5 dst=sbuf.bf16(p0,n4,@0)[16:1] "
    "dst2=sbuf.fp32(p0,n4,@512) src0=sbuf.bf16(p0,n4,@64)[16:1] src1=imm",
    "GpSimd memset iimm=-7 dst=sbuf.int32(p96,n32,@0)[100:1]",
    "Vector memset imm0=nan:0x7fc00001 dst=psum.fp32(p0,n128,@14336)[512:1]",
    "Scalar activation act=exp imm1=1 imm2=-0 dst=sbuf.bf16(p0,n4,@0)[64:1] "
    "src0=psum.fp32(p0,n4,@0)[64:1] src1=imm src2=imm",
    "Scalar activation_reduce act=square imm2=0.000001 dst=sbuf.fp32(p0,n4,@0)[64:1] "
    "dst2=sbuf.fp32(p0,n4,@1024) src0=sbuf.bf16(p0,n4,@512)[64:1] src1=sbuf.fp32(p0,n4,@2048) "
    "src2=imm",
    "Scalar act_table_load iimm=2",
    "Vector reciprocal dst=sbuf.fp32(p0,n4,@0)[4:1] src0=sbuf.fp32(p0,n4,@16)[4:1]",
    "Tensor ldweights flags=fp32_full src0=sbuf.fp32(p0,n128,@0)[128:1]",
    "Tensor matmul flags=accumulate dst=psum.fp32(p0,n128,@2048)[512:1] "
    "src0=sbuf.bf16(p0,n128,@0)[512:1]",
    "Tensor pe_transpose dst=psum.bf16(p0,n64,@0)[128:1] src0=sbuf.bf16(p0,n128,@0)[64:1]",
    "GpSimd iota iimm=5 multiplier=-8 dst=sbuf.int32(p0,n8,@0)[4:8][8:1] src0=imm[4:100][8:-3]",
    "Vector select imm2=inf dst=sbuf.fp32(p0,n4,@0)[8:1] src0=sbuf.bool(p0,n4,@32)[8:1] "
    "src1=sbuf.fp32(p0,n4,@64)[8:1] src2=imm",
    "Vector sem_wait wait=0>=16 wait=255>=4294967295 wait=2>=0 wait=3>=1",
    "Tensor sem_inc inc=4+1 inc=5+16",
    "Sync reg_move iimm=-2147483648 iimm2=63",
    "Sync reg_alu alu0=add iimm=1 iimm2=0 src0=reg(@0)",
    "Sync reg_alu alu0=right_shift iimm2=1 src0=reg(@0) src1=reg(@63)",
    "GpSimd reg_load iimm2=2 src0=hbm.int32(t0,n1,s0,@4)",
    "Vector reg_store dst=sbuf.int32(p64,n1,@0) src0=reg(@2)",
    "Sync branch alu0=less iimm=10 iimm2=0 src0=reg(@0)",
    "Scalar notify iimm=77",
    "Vector barrier iimm=1",
    "GpSimd partition_reduce alu0=maximum dst=sbuf.fp32(p0,n1,@0)[2:8][8:1] "
    "src0=sbuf.bf16(p0,n100,@64)[16:1]",
};
#define ISA_SAMPLE_COUNT (sizeof ISA_SAMPLES / sizeof ISA_SAMPLES[0])

#endif
