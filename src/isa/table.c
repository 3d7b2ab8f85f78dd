/*
 * table.c - the instruction set as one table: a row per opcode.
 *
 * A row is the documentation of its instruction and the data that encoder, checker, disassembler and
 * docs/isa.md share. Costs are issue occupancy in cycles of the executing engine; N is the number of
 * elements per partition of the main input, P the number of partitions, MIN the sheet's min_ii_cycles.
 * The fixed latency of an engine (sheet: dve_fixed_cycles, act_fixed_cycles, ...) comes on top.
 *
 * Integers. Every engine reads a native dtype into fp32, computes in fp32 and rounds once at the write,
 * so int32 arithmetic on Vector is exact only up to 2^24. Three exceptions: a copy between equal dtypes
 * moves bits; the bit operators and shifts work on the integers themselves; GpSimd adds, subtracts,
 * multiplies, compares and takes max and min of integers exactly. A compiler that needs exact int32
 * arithmetic therefore places it on GpSimd.
 *
 * Rejected: deriving the checker's rules from the prose. The words are for people; the same facts stand
 * as data in check.c, and a test has one failing case per rule.
 */
#include "isa/isa.h"

#include <stddef.h>

#define BIT(engine) (1u << OSC_ENGINE_##engine)
#define ALL_ENGINES (BIT(TENSOR) | BIT(SCALAR) | BIT(GPSIMD) | BIT(VECTOR) | BIT(SYNC))

/* clang-format off */
static const osc_isa_row ROWS[OSC_OPCODE_COUNT] = {
    [OSC_OP_NOP] = {
        .opcode = OSC_OP_NOP, .name = "nop", .engines = ALL_ENGINES,
        .operands = "none",
        .cost = "nop_ns",
        .semantics = "Does nothing; its waits and increments still count.",
        .provenance = "neuroncore-model.md 1.3 (NOP 16 ns)",
    },
    [OSC_OP_DMA_COPY] = {
        .opcode = OSC_OP_DMA_COPY, .name = "dma_copy", .engines = ALL_ENGINES,
        .operands = "dst, src: HBM or SBUF in any pair, never PSUM; equal element counts, shapes may "
                    "differ; equal dtypes of any size, or two native dtypes (cast through fp32)",
        .cost = "issuing engine: dma_trigger_ns (GpSimd: swdge_spacing_ns). Transfer: its rows are spread "
                "over min(16, ceil(rows/8)) DMA engines; on each, data flow at dma_bw from the queue's "
                "start latency on (Sync, Scalar: hwdge; GpSimd: swdge; others: static ring), not done "
                "before the descriptors are, dma_desc_ns each from the trigger on; all together at most "
                "hbm_bw; then dma_sem_write_ns, and dma_wake_ns to a waiting engine",
        .semantics = "Copies element by element in pattern order. Each DMA engine that took part adds "
                     "the increments once.",
        .provenance = "neuroncore-model.md 1.8, 2.1 (dma_copy)",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_DMA_TRANSPOSE] = {
        .opcode = OSC_OP_DMA_TRANSPOSE, .name = "dma_transpose", .engines = ALL_ENGINES,
        .operands = "src [R, C], dst [C, R]: HBM or SBUF, never PSUM; one dtype of 2 or 4 bytes",
        .cost = "as dma_copy with dma_bw times dma_transpose_eff_hbm, or dma_transpose_eff_sbuf when "
                "both sides are SBUF",
        .semantics = "dst[c, r] = src[r, c], bits unchanged.",
        .provenance = "neuroncore-model.md 1.8, 2.1 (dma_transpose)",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_TENSOR_COPY] = {
        .opcode = OSC_OP_TENSOR_COPY, .name = "tensor_copy",
        .engines = BIT(VECTOR) | BIT(SCALAR) | BIT(GPSIMD),
        .operands = "dst, src: SBUF or PSUM (GpSimd: SBUF only); native dtypes; Scalar from trn2 on",
        .cost = "max(MIN, N); Vector on trn2 and later with 16-bit in and out: N/dve_perf_contig_16bit "
                "both SBUF and contiguous, N/dve_perf_other_16bit otherwise; Scalar as activation, 16-bit "
                "N/act_16bit_factor; GpSimd pool_fixed_cycles + N*pool_scale",
        .semantics = "dst = src; bits unchanged when the dtypes are equal, else through fp32.",
        .provenance = "neuroncore-model.md 1.7, 2.1 (tensor_copy), 3.3",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_TENSOR_TENSOR] = {
        .opcode = OSC_OP_TENSOR_TENSOR, .name = "tensor_tensor", .engines = BIT(VECTOR) | BIT(GPSIMD),
        .operands = "dst, src0, src1: SBUF or PSUM, not both inputs in PSUM (GpSimd: SBUF only); native "
                    "dtypes; bit operators: Vector, integers only; power: GpSimd",
        .cost = "Vector: max(MIN, N) with one input in PSUM; both in SBUF and all 16-bit "
                "N*dve_tt_16bit_scale, else N*dve_tt_other_scale; GpSimd: pool_fixed_cycles + "
                "N*pool_scale",
        .semantics = "dst = src0 alu0 src1, element by element. int32 on Vector goes through fp32; "
                     "GpSimd computes integers exactly.",
        .provenance = "neuroncore-model.md 1.7, 2.1 (tensor_tensor), 3.2",
        .nsrc = 2, .has_dst = true,
    },
    [OSC_OP_TENSOR_SCALAR] = {
        .opcode = OSC_OP_TENSOR_SCALAR, .name = "tensor_scalar",
        .engines = BIT(VECTOR) | BIT(SCALAR) | BIT(GPSIMD),
        .operands = "dst, src0: SBUF or PSUM (GpSimd: SBUF only), native; src1 (o0), src2 (o1): "
                    "immediate or [P,1] fp32 (bit operators: [P,1] of an integer dtype); absent where "
                    "the operator is unary or bypass; both operators arithmetic or both bit operators; "
                    "Scalar from trn2 on and only multiply, add, multiply then add",
        .cost = "as tensor_copy; one or two operators alike",
        .semantics = "dst = (src0 alu0 o0) alu1 o1; the flags reverse0 and reverse1 swap the operands "
                     "of an operator.",
        .provenance = "neuroncore-model.md 1.7, 2.1 (tensor_scalar); GpSimd beyond rsqrt is our choice, "
                      "for exact integers",
        .nsrc = 3, .has_dst = true,
    },
    [OSC_OP_SCALAR_TENSOR_TENSOR] = {
        .opcode = OSC_OP_SCALAR_TENSOR_TENSOR, .name = "scalar_tensor_tensor", .engines = BIT(VECTOR),
        .operands = "dst, src0, src2: SBUF or PSUM, src0 and src2 not both PSUM; native; src1 (o0): "
                    "immediate or [P,1] fp32; arithmetic operators only",
        .cost = "max(MIN, N*dve_tt_16bit_scale) when src0 and src2 are 16-bit in SBUF, alu0 subtract, "
                "alu1 multiply and N even; else max(MIN, N*dve_tt_other_scale)",
        .semantics = "dst = (src0 alu0 o0) alu1 src2.",
        .provenance = "neuroncore-model.md 2.1 (scalar_tensor_tensor)",
        .nsrc = 3, .has_dst = true,
    },
    [OSC_OP_TENSOR_REDUCE] = {
        .opcode = OSC_OP_TENSOR_REDUCE, .name = "tensor_reduce", .engines = BIT(VECTOR) | BIT(GPSIMD),
        .operands = "src0: SBUF or PSUM (GpSimd: SBUF only), at least `axes` free dims; dst [P, product "
                    "of the free dims kept]; native; alu0 a reducible operator",
        .cost = "max(MIN, N/2) when in and out are bf16 and alu0 is add or maximum; else max(MIN, N); "
                "GpSimd pool_fixed_cycles + N*pool_scale",
        .semantics = "Reduces the last `axes` free dims in fp32; a sum takes 16 partial results in pattern "
                     "order, folded by a fixed tree (GpSimd: exact for integers); flag negate gives the "
                     "negative.",
        .provenance = "neuroncore-model.md 2.1 (tensor_reduce); GpSimd is our choice, for exact integer "
                      "sums",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_TENSOR_SCALAR_REDUCE] = {
        .opcode = OSC_OP_TENSOR_SCALAR_REDUCE, .name = "tensor_scalar_reduce", .engines = BIT(VECTOR),
        .operands = "dst, src0: SBUF or PSUM, native; src1 (o0): immediate or [P,1] fp32, absent where "
                    "alu0 is unary or bypass; dst2 [P,1] native; alu1 add, multiply, maximum or minimum",
        .cost = "max(MIN, N) + MIN",
        .semantics = "dst = src0 alu0 o0, and dst2 = reduction by alu1 of those results (before "
                     "rounding to dst) over the row.",
        .provenance = "neuroncore-model.md 2.1 (tensor_scalar_reduce)",
        .nsrc = 2, .has_dst = true, .has_dst2 = true,
    },
    [OSC_OP_MEMSET] = {
        .opcode = OSC_OP_MEMSET, .name = "memset", .engines = BIT(VECTOR) | BIT(GPSIMD),
        .operands = "dst: SBUF or PSUM (GpSimd: SBUF only), native; value imm0, for integer dtypes iimm",
        .cost = "Vector: max(MIN, N/2) for zero in bf16 or fp16, else max(MIN, N); GpSimd "
                "pool_fixed_cycles + N*pool_scale",
        .semantics = "dst = value, rounded to the dtype (integers: low bits of iimm).",
        .provenance = "neuroncore-model.md 2.1 (memset)",
        .has_dst = true,
    },
    [OSC_OP_ACTIVATION] = {
        .opcode = OSC_OP_ACTIVATION, .name = "activation", .engines = BIT(SCALAR),
        .operands = "dst, src0: SBUF or PSUM, native; src1 (scale), src2 (bias): immediate or [P,1] "
                    "fp32 (bias: any native dtype)",
        .cost = "max(MIN, N + act_fixed_cycles) behind a running one, N + act_fixed_alone_cycles alone",
        .semantics = "dst = act(src0 * scale + bias). A program loads the function's set by "
                     "act_table_load before (set 0 needs none); only such loads are charged. On trn1 an "
                     "immediate bias stands for a constant [P,1] vector.",
        .provenance = "neuroncore-model.md 1.9, 2.1 (activation), 3.1",
        .nsrc = 3, .has_dst = true,
    },
    [OSC_OP_ACTIVATION_REDUCE] = {
        .opcode = OSC_OP_ACTIVATION_REDUCE, .name = "activation_reduce", .engines = BIT(SCALAR),
        .operands = "as activation; dst2 [P,1] fp32",
        .cost = "as activation with N + act_accread_cycles for N",
        .semantics = "dst as activation, and dst2 = sum of the results (before rounding to dst) over "
                     "the row.",
        .provenance = "neuroncore-model.md 1.9, 2.1 (activation_reduce)",
        .nsrc = 3, .has_dst = true, .has_dst2 = true,
    },
    [OSC_OP_ACT_TABLE_LOAD] = {
        .opcode = OSC_OP_ACT_TABLE_LOAD, .name = "act_table_load", .engines = BIT(SCALAR),
        .operands = "iimm = function set, 0..255",
        .cost = "act_table_load_ns",
        .semantics = "Loads a function set, so that later activations of the set find it there.",
        .provenance = "neuroncore-model.md 1.9, 3.1",
    },
    [OSC_OP_RECIPROCAL] = {
        .opcode = OSC_OP_RECIPROCAL, .name = "reciprocal", .engines = BIT(VECTOR),
        .operands = "dst, src0: SBUF or PSUM, native",
        .cost = "max(MIN, N*dve_recip_scale)",
        .semantics = "dst = 1 / src0 in fp32.",
        .provenance = "neuroncore-model.md 2.1 (reciprocal)",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_LDWEIGHTS] = {
        .opcode = OSC_OP_LDWEIGHTS, .name = "ldweights", .engines = BIT(TENSOR),
        .operands = "src0: SBUF [K <= 128, M <= 128], bf16, fp16 or fp32",
        .cost = "usable after 32 cycles, done after ldweights_ns; both times pe_pass_fp32 with flag "
                "fp32_full; hidden behind a running matmul",
        .semantics = "Loads the stationary operand of the matmuls that follow.",
        .provenance = "neuroncore-model.md 1.6, 2.1 (nc_matmul)",
        .nsrc = 1,
    },
    [OSC_OP_MATMUL] = {
        .opcode = OSC_OP_MATMUL, .name = "matmul", .engines = BIT(TENSOR),
        .operands = "src0: SBUF [K, N <= matmul_free_max], bf16, fp16 or fp32; dst: PSUM [M, N] fp32, in "
                    "one bank before trn3 (trn3: fp32 or bf16, up to all banks)",
        .cost = "max(pe_ii_min_cycles, N) * passes / pe_eff, passes = pe_pass_fp32 with fp32 "
                "operands and flag fp32_full, else pe_pass_16bit; slower while pe_ramp lasts; results "
                "visible pe_latency_ns later",
        .semantics = "dst = stationary^T . src0, products summed in fp32; flag accumulate adds to what "
                     "PSUM holds, which must come from a matmul.",
        .provenance = "neuroncore-model.md 1.4, 1.6, 2.1 (nc_matmul)",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_PE_TRANSPOSE] = {
        .opcode = OSC_OP_PE_TRANSPOSE, .name = "pe_transpose", .engines = BIT(TENSOR),
        .operands = "src0: SBUF [P <= 128, F <= 128]; dst: PSUM [F, P]; one dtype of 2 or 4 bytes; dst "
                    "in one bank",
        .cost = "max(P, min(64, F)) cycles, 4-byte dtypes times pe_transpose_fp32_passes, / pe_eff",
        .semantics = "dst[f, p] = src0[p, f], bits unchanged. Leaves no stationary operand behind.",
        .provenance = "neuroncore-model.md 1.6, 2.1 (nc_transpose)",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_IOTA] = {
        .opcode = OSC_OP_IOTA, .name = "iota", .engines = BIT(GPSIMD),
        .operands = "dst: SBUF, native; src0: no memory, its dims give counts (as dst) and steps",
        .cost = "pool_fixed_cycles + N",
        .semantics = "dst = iimm + channel_multiplier * (row of the pattern) + sum of step_i * index_i, "
                     "computed in int64 and cast to dst.",
        .provenance = "neuroncore-model.md 2.1 (iota)",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_SELECT] = {
        .opcode = OSC_OP_SELECT, .name = "select", .engines = BIT(VECTOR) | BIT(GPSIMD),
        .operands = "dst, src0 (predicate): SBUF or PSUM (GpSimd: SBUF only), native; src1, src2: the "
                    "same or immediate; at most one input in PSUM",
        .cost = "max(MIN, N) when one input is in PSUM, else max(MIN, N*dve_tt_other_scale); GpSimd "
                "pool_fixed_cycles + N*pool_scale",
        .semantics = "dst = src0 non-zero ? src1 : src2; the chosen value keeps its bits when its dtype "
                     "is dst's.",
        .provenance = "neuroncore-model.md 2.1 (tensor_copy_predicated, select_reduce, affine_select)",
        .nsrc = 3, .has_dst = true,
    },
    [OSC_OP_SEM_WAIT] = {
        .opcode = OSC_OP_SEM_WAIT, .name = "sem_wait", .engines = ALL_ENGINES,
        .operands = "at least one wait",
        .cost = "sem_inst_ns after the last wait holds",
        .semantics = "Holds the stream until every wait (semaphore >= value) holds.",
        .provenance = "neuroncore-model.md 1.3",
    },
    [OSC_OP_SEM_INC] = {
        .opcode = OSC_OP_SEM_INC, .name = "sem_inc", .engines = ALL_ENGINES,
        .operands = "at least one increment",
        .cost = "sem_inst_ns",
        .semantics = "Adds to semaphores.",
        .provenance = "neuroncore-model.md 1.3",
    },
    [OSC_OP_REG_MOVE] = {
        .opcode = OSC_OP_REG_MOVE, .name = "reg_move", .engines = ALL_ENGINES,
        .operands = "iimm2 = destination register 0..63; iimm = 32-bit value",
        .cost = "reg_write_ns",
        .semantics = "reg[iimm2] = iimm.",
        .provenance = "neuroncore-model.md 1.3, 2.1 (register_move)",
    },
    [OSC_OP_REG_ALU] = {
        .opcode = OSC_OP_REG_ALU, .name = "reg_alu", .engines = ALL_ENGINES,
        .operands = "iimm2 = destination register; src0: register; src1: register, or none and iimm is "
                    "the second operand",
        .cost = "reg_write_ns",
        .semantics = "reg[iimm2] = reg[src0] alu0 (reg[src1] or iimm), 32-bit integers that wrap.",
        .provenance = "neuroncore-model.md 1.3, 2.1 (register_alloc/move/load/store)",
        .nsrc = 2,
    },
    [OSC_OP_REG_LOAD] = {
        .opcode = OSC_OP_REG_LOAD, .name = "reg_load", .engines = ALL_ENGINES,
        .operands = "iimm2 = destination register; src0: one int32 or uint32 element in HBM or SBUF",
        .cost = "reg_load_ns",
        .semantics = "reg[iimm2] = src0. Makes control flow depend on data.",
        .provenance = "neuroncore-model.md 2.1 (register_load)",
        .nsrc = 1,
    },
    [OSC_OP_REG_STORE] = {
        .opcode = OSC_OP_REG_STORE, .name = "reg_store", .engines = ALL_ENGINES,
        .operands = "dst: one int32 or uint32 element in HBM or SBUF; src0: register",
        .cost = "reg_write_ns",
        .semantics = "dst = reg[src0].",
        .provenance = "neuroncore-model.md 1.9 (TENSOR_STORE), 2.1 (register_store)",
        .nsrc = 1, .has_dst = true,
    },
    [OSC_OP_BRANCH] = {
        .opcode = OSC_OP_BRANCH, .name = "branch", .engines = ALL_ENGINES,
        .operands = "src0: register; alu0: a comparison or bypass; iimm: value compared with; iimm2: "
                    "target, 0..length of the stream",
        .cost = "branch_ns",
        .semantics = "When reg[src0] alu0 iimm is true (bypass: reg[src0] non-zero), goes on at "
                     "instruction iimm2 of this stream; the stream's length ends it.",
        .provenance = "neuroncore-model.md 1.3, 2.1 (branches/loops)",
        .nsrc = 1,
    },
    [OSC_OP_NOTIFY] = {
        .opcode = OSC_OP_NOTIFY, .name = "notify", .engines = ALL_ENGINES,
        .operands = "iimm = payload",
        .cost = "notify_ns",
        .semantics = "Delivers the payload to the event sink.",
        .provenance = "neuroncore-model.md 1.9",
    },
    [OSC_OP_BARRIER] = {
        .opcode = OSC_OP_BARRIER, .name = "barrier", .engines = ALL_ENGINES,
        .operands = "iimm = number of the barrier",
        .cost = "barrier_ns after the last engine has come",
        .semantics = "All engines whose streams hold a barrier of this number meet; all go on together.",
        .provenance = "neuroncore-model.md 1.9; neuroncore-v2-measured.md 4",
    },
    [OSC_OP_PARTITION_REDUCE] = {
        .opcode = OSC_OP_PARTITION_REDUCE, .name = "partition_reduce", .engines = BIT(GPSIMD),
        .operands = "src0: SBUF [P, N], native; dst: SBUF [1, N], native; alu0 a reducible operator",
        .cost = "pool_fixed_cycles + P*N/8",
        .semantics = "dst[0, i] = reduction by alu0 of src0[0..P-1, i], in partition order.",
        .provenance = "neuroncore-model.md 2.1 (tensor_partition_reduce)",
        .nsrc = 1, .has_dst = true,
    },
};
/* clang-format on */

const osc_isa_row *osc_isa_row_of(unsigned opcode)
{
    return opcode < OSC_OPCODE_COUNT ? &ROWS[opcode] : NULL;
}
