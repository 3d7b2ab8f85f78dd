/*
 * cost.c - the cost formulas (neuroncore-model.md 2.1 with 1.6 to 1.9) on the numbers of the
 * sheet.
 *
 * busy is what throughput sees: issue to next issue. visible is what a waiting consumer sees:
 * issue to result in memory. The difference is the pipeline's depth, which the schedule charges
 * only where something waits for the result.
 *
 * Rejected: one table of formulas as text, evaluated at load. It reads well and hides that the
 * formulas share conditions (types, places, contiguity) which code states once.
 */
#include "neuron/device/cost.h"

#include <assert.h>
#include <string.h>

/* Fast weight load: 128 rows, four at a time (1.6). The first moving row may follow then. */
static const double FAST_LOAD_CYCLES = 32;

/* Cycles at a clock in MHz, as ps. */
static int64_t cycles_ps(double cycles, double mhz)
{
    return (int64_t)(cycles * 1e6 / mhz + 0.5);
}

static int64_t ns_ps(double ns)
{
    return (int64_t)(ns * 1000.0 + 0.5);
}

static double at_least(double value, double floor)
{
    return value > floor ? value : floor;
}

static bool is_16bit(const osc_ap *ap)
{
    return ap->dtype == OSC_BF16 || ap->dtype == OSC_F16;
}

static bool in_sbuf(const osc_ap *ap)
{
    return ap->space == OSC_SPACE_SBUF;
}

static bool in_psum(const osc_ap *ap)
{
    return ap->space == OSC_SPACE_PSUM;
}

/* The innermost dimension steps by one element (or there is only one). */
static bool minor_contiguous(const osc_ap *ap)
{
    return ap->ndim == 0 || ap->dim[ap->ndim - 1].count == 1 || ap->dim[ap->ndim - 1].stride == 1;
}

uint64_t dev_elements(const osc_inst *inst)
{
    const osc_ap *src = &inst->src[0];
    bool memory =
        src->space == OSC_SPACE_SBUF || src->space == OSC_SPACE_PSUM || src->space == OSC_SPACE_HBM;
    return osc_ap_row_elems(memory ? src : &inst->dst);
}

/* ---- Vector ---- */

/* 1.7: elements per cycle of the one-input instructions. */
static double perf_mode(const osc_inst *inst, const osc_sheet *sheet)
{
    const osc_ap *dst = &inst->dst, *src = &inst->src[0];
    bool one_input = inst->opcode == OSC_OP_TENSOR_COPY || inst->opcode == OSC_OP_TENSOR_SCALAR;
    if (!one_input || !is_16bit(dst) || !is_16bit(src))
        return 1;
    bool contiguous = minor_contiguous(dst) && minor_contiguous(src);
    bool both_sbuf = in_sbuf(dst) && in_sbuf(src);
    if (both_sbuf && contiguous)
        return sheet->dve_perf_contig_16bit;
    if (both_sbuf || (contiguous && in_sbuf(dst) != in_sbuf(src)))
        return sheet->dve_perf_other_16bit;
    return 1;
}

static double two_input_scale(const osc_inst *inst, const osc_sheet *sheet)
{
    const osc_ap *a = &inst->src[0], *b = &inst->src[1];
    if (in_psum(a) != in_psum(b))
        return 1;
    bool all_16bit = is_16bit(a) && is_16bit(b) && is_16bit(&inst->dst);
    return all_16bit ? sheet->dve_tt_16bit_scale : sheet->dve_tt_other_scale;
}

static double scalar_tensor_tensor_scale(const osc_inst *inst, const osc_sheet *sheet)
{
    const osc_ap *a = &inst->src[0], *b = &inst->src[2];
    bool fast = in_sbuf(a) && in_sbuf(b) && is_16bit(a) && is_16bit(b) &&
                inst->alu[0] == OSC_ALU_SUB && inst->alu[1] == OSC_ALU_MUL &&
                dev_elements(inst) % 2 == 0;
    return fast ? sheet->dve_tt_16bit_scale : sheet->dve_tt_other_scale;
}

static double vector_cycles(const osc_inst *inst, const osc_sheet *sheet)
{
    double n = (double)dev_elements(inst), floor = sheet->min_ii_cycles;
    bool bf16 = inst->src[0].dtype == OSC_BF16 && inst->dst.dtype == OSC_BF16;
    switch (inst->opcode) {
    case OSC_OP_TENSOR_TENSOR: return at_least(n * two_input_scale(inst, sheet), floor);
    case OSC_OP_SCALAR_TENSOR_TENSOR:
        return at_least(n * scalar_tensor_tensor_scale(inst, sheet), floor);
    case OSC_OP_TENSOR_REDUCE:
        if (bf16 && (inst->alu[0] == OSC_ALU_ADD || inst->alu[0] == OSC_ALU_MAX))
            n /= 2;
        return at_least(n, floor);
    case OSC_OP_TENSOR_SCALAR_REDUCE: return at_least(n, floor) + floor;
    case OSC_OP_MEMSET:
        return at_least(inst->imm[0] == 0.0f && is_16bit(&inst->dst) ? n / 2 : n, floor);
    case OSC_OP_RECIPROCAL: return at_least(n * sheet->dve_recip_scale, floor);
    case OSC_OP_SELECT: {
        bool straddles = in_psum(&inst->src[0]) || in_psum(&inst->src[1]) || in_psum(&inst->src[2]);
        return at_least(straddles ? n : n * sheet->dve_tt_other_scale, floor);
    }
    default: return at_least(n / perf_mode(inst, sheet), floor);
    }
}

static void vector_cost(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    cost->busy_ps = cycles_ps(vector_cycles(inst, sheet), sheet->dve_mhz);
    cost->alone_ps = cost->busy_ps + cycles_ps(sheet->dve_fixed_cycles, sheet->dve_mhz);
    cost->piped_ps = cost->alone_ps;
}

/* ---- Scalar, GpSimd ---- */

/* 1.9: N cycles and a fixed part, smaller while the pipeline is still full. */
static void scalar_cost(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    double n = (double)dev_elements(inst);
    if (inst->opcode == OSC_OP_TENSOR_COPY || inst->opcode == OSC_OP_TENSOR_SCALAR)
        n /= is_16bit(&inst->dst) && is_16bit(&inst->src[0]) ? sheet->act_16bit_factor : 1;
    if (inst->opcode == OSC_OP_ACTIVATION_REDUCE)
        n += sheet->act_accread_cycles;
    double piped = n + sheet->act_fixed_cycles;
    cost->busy_ps = cycles_ps(at_least(piped, sheet->min_ii_cycles), sheet->act_mhz);
    cost->piped_ps = cost->busy_ps;
    cost->alone_ps = cycles_ps(n + sheet->act_fixed_alone_cycles, sheet->act_mhz);
}

static void gpsimd_cost(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    double n = (double)dev_elements(inst) * sheet->pool_scale;
    if (inst->opcode == OSC_OP_PARTITION_REDUCE)
        n = (double)dev_elements(inst) * inst->src[0].nparts / 8;
    cost->busy_ps =
        cycles_ps(at_least(sheet->pool_fixed_cycles + n, sheet->min_ii_cycles), sheet->pool_mhz);
    cost->alone_ps = cost->busy_ps;
    cost->piped_ps = cost->busy_ps;
}

/* ---- Tensor ---- */

static double passes(const osc_inst *inst, const osc_sheet *sheet)
{
    bool full = inst->src[0].dtype == OSC_F32 && (inst->flags & OSC_INST_FP32_FULL) != 0;
    return full ? sheet->pe_pass_fp32 : sheet->pe_pass_16bit;
}

static void weights_cost(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    cost->kind = DEV_WEIGHTS;
    cost->busy_ps = cycles_ps(FAST_LOAD_CYCLES * passes(inst, sheet), sheet->pe_mhz);
    cost->alone_ps = ns_ps(sheet->ldweights_ns * passes(inst, sheet));
    cost->piped_ps = cost->alone_ps;
}

static void stream_cost(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    double n = (double)dev_elements(inst), cycles;
    if (inst->opcode == OSC_OP_PE_TRANSPOSE) {
        double floor = n < sheet->pe_ii_min_cycles ? n : sheet->pe_ii_min_cycles;
        cycles = at_least(inst->src[0].nparts, floor);
        cycles *= osc_dtype_size((osc_dtype)inst->src[0].dtype) == 4
                      ? sheet->pe_transpose_fp32_passes
                      : 1;
    } else {
        cycles = at_least(n, sheet->pe_ii_min_cycles) * passes(inst, sheet);
    }
    cost->kind = DEV_STREAM;
    cost->busy_ps = cycles_ps(cycles / sheet->pe_eff, sheet->pe_mhz);
    cost->alone_ps = cost->busy_ps + ns_ps(sheet->pe_latency_ns);
    cost->piped_ps = cost->alone_ps;
}

/* ---- sequencer ---- */

static double control_ns(const osc_inst *inst, const osc_sheet *sheet)
{
    switch (inst->opcode) {
    case OSC_OP_SEM_WAIT:
    case OSC_OP_SEM_INC: return sheet->sem_inst_ns;
    case OSC_OP_REG_MOVE:
    case OSC_OP_REG_ALU:
    case OSC_OP_REG_STORE: return sheet->reg_write_ns;
    case OSC_OP_REG_LOAD: return sheet->reg_load_ns;
    case OSC_OP_BRANCH: return sheet->branch_ns;
    case OSC_OP_NOTIFY: return sheet->notify_ns;
    case OSC_OP_BARRIER: return sheet->barrier_ns;
    default: return sheet->nop_ns;
    }
}

static void control_cost(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    cost->kind = inst->opcode == OSC_OP_BRANCH    ? DEV_BRANCH
                 : inst->opcode == OSC_OP_BARRIER ? DEV_BARRIER
                                                  : DEV_CONTROL;
    cost->busy_ps = ns_ps(control_ns(inst, sheet));
    cost->alone_ps = cost->busy_ps;
    cost->piped_ps = cost->busy_ps;
}

/* GpSimd builds the descriptors itself and is busy with that; other engines ring a doorbell. */
static void trigger_cost(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    cost->kind = DEV_DMA;
    cost->busy_ps =
        ns_ps(inst->engine == OSC_ENGINE_GPSIMD ? sheet->swdge_spacing_ns : sheet->dma_trigger_ns);
    cost->alone_ps = cost->busy_ps;
    cost->piped_ps = cost->busy_ps;
}

/* ---- ports ---- */

static uint8_t banks_of(const osc_ap *ap)
{
    if (!in_psum(ap))
        return 0;
    int64_t low, high;
    if (!osc_ap_extent(ap, &low, &high))
        return 0xff;
    unsigned first = (unsigned)(low / OSC_PSUM_BANK_BYTES),
             last = (unsigned)((high - 1) / OSC_PSUM_BANK_BYTES);
    unsigned mask = 0;
    for (unsigned bank = first; bank <= last && bank < OSC_PSUM_BANKS; bank++)
        mask |= 1u << bank;
    return (uint8_t)mask;
}

/* 1.5: before v3, Vector and GpSimd exclude each other at SBUF, and Vector and Scalar at PSUM; from
 * v3 on only Vector's fast modes share a bus with GpSimd, and only equal banks of PSUM collide. */
static void port_use(const osc_inst *inst, const osc_sheet *sheet, dev_cost *cost)
{
    const osc_ap *all[] = {&inst->dst, &inst->dst2, &inst->src[0], &inst->src[1], &inst->src[2]};
    bool first_generation = sheet->generation == OSC_TRN1;
    if (inst->engine == OSC_ENGINE_GPSIMD)
        cost->sbuf_port = true;
    for (unsigned i = 0; i < 5; i++) {
        if (inst->engine == OSC_ENGINE_VECTOR && in_sbuf(all[i]))
            cost->sbuf_port |= first_generation || perf_mode(inst, sheet) > 1;
        if (inst->engine == OSC_ENGINE_VECTOR || inst->engine == OSC_ENGINE_SCALAR)
            cost->psum_banks |= banks_of(all[i]);
    }
    if (first_generation && cost->psum_banks != 0)
        cost->psum_banks = 0xff;
}

dev_cost dev_cost_of(const osc_inst *inst, const osc_sheet *sheet)
{
    dev_cost cost;
    memset(&cost, 0, sizeof cost);
    cost.opcode = inst->opcode;
    cost.nwaits = inst->nwaits;
    cost.nincs = inst->nincs;
    memcpy(cost.waits, inst->waits, sizeof cost.waits);
    memcpy(cost.incs, inst->incs, sizeof cost.incs);
    switch (inst->opcode) {
    case OSC_OP_DMA_COPY:
    case OSC_OP_DMA_TRANSPOSE: trigger_cost(inst, sheet, &cost); return cost;
    case OSC_OP_LDWEIGHTS: weights_cost(inst, sheet, &cost); return cost;
    case OSC_OP_MATMUL:
    case OSC_OP_PE_TRANSPOSE: stream_cost(inst, sheet, &cost); return cost;
    case OSC_OP_NOP:
    case OSC_OP_SEM_WAIT:
    case OSC_OP_SEM_INC:
    case OSC_OP_REG_MOVE:
    case OSC_OP_REG_ALU:
    case OSC_OP_REG_LOAD:
    case OSC_OP_REG_STORE:
    case OSC_OP_BRANCH:
    case OSC_OP_NOTIFY:
    case OSC_OP_BARRIER: control_cost(inst, sheet, &cost); return cost;
    case OSC_OP_ACT_TABLE_LOAD:
        cost.busy_ps = cost.alone_ps = cost.piped_ps = ns_ps(sheet->act_table_load_ns);
        cost.table_set = (uint8_t)inst->iimm;
        return cost;
    case OSC_OP_ACTIVATION:
    case OSC_OP_ACTIVATION_REDUCE: cost.table_set = osc_act_set((osc_act)inst->act); break;
    default: break;
    }
    if (inst->engine == OSC_ENGINE_VECTOR)
        vector_cost(inst, sheet, &cost);
    else if (inst->engine == OSC_ENGINE_SCALAR)
        scalar_cost(inst, sheet, &cost);
    else
        gpsimd_cost(inst, sheet, &cost);
    port_use(inst, sheet, &cost);
    assert(cost.busy_ps >= 0 && cost.alone_ps >= 0);
    return cost;
}

/* ---- transfers ---- */

/* Elements of one row that lie next to each other. */
static uint64_t contiguous_run(const osc_ap *ap)
{
    uint64_t run = 1;
    for (unsigned i = ap->ndim; i-- > 0;) {
        if (ap->dim[i].count == 1)
            continue;
        if (ap->dim[i].stride != (int64_t)run)
            break;
        run *= ap->dim[i].count;
    }
    return run;
}

static double start_latency(const osc_inst *inst, const osc_sheet *sheet, bool *hardware_queue)
{
    *hardware_queue = inst->engine == OSC_ENGINE_SYNC || inst->engine == OSC_ENGINE_SCALAR;
    if (inst->engine == OSC_ENGINE_GPSIMD)
        return sheet->dma_start_swdge_ns;
    return *hardware_queue ? sheet->dma_start_hwdge_ns : sheet->dma_start_static_ns;
}

static double rate_factor(const osc_inst *inst, const osc_sheet *sheet)
{
    if (inst->opcode != OSC_OP_DMA_TRANSPOSE)
        return 1;
    bool on_chip = in_sbuf(&inst->dst) && in_sbuf(&inst->src[0]);
    return on_chip ? sheet->dma_transpose_eff_sbuf : sheet->dma_transpose_eff_hbm;
}

dev_transfer_cost dev_transfer_cost_of(const osc_inst *inst, const osc_sheet *sheet)
{
    const osc_ap *dst = &inst->dst, *src = &inst->src[0];
    dev_transfer_cost t;
    memset(&t, 0, sizeof t);
    uint64_t elements = osc_ap_row_elems(src) * src->nparts;
    uint64_t src_bytes = elements * osc_dtype_size((osc_dtype)src->dtype);
    uint64_t dst_bytes = elements * osc_dtype_size((osc_dtype)dst->dtype);
    uint64_t run = contiguous_run(src), dst_run = contiguous_run(dst);
    if (inst->opcode == OSC_OP_DMA_COPY && dst_run < run)
        run = dst_run; /* a transpose turns its elements on the way: only the reading side counts */
    t.bytes = src_bytes > dst_bytes ? src_bytes : dst_bytes;
    t.rows = dst->nparts > src->nparts ? dst->nparts : src->nparts;
    t.engines = osc_isa_dma_engines(inst);
    t.rows_each = (t.rows + t.engines - 1) / t.engines;
    t.descriptors = (elements + run - 1) / run;
    if (t.descriptors < t.rows)
        t.descriptors = t.rows;
    double row_bytes = (double)t.bytes / t.rows, row_descriptors = (double)t.descriptors / t.rows;
    double stream = row_descriptors * sheet->dma_desc_stream_ns;
    t.row_data_ps = ns_ps(row_bytes / (sheet->dma_bw * rate_factor(inst, sheet)) + stream);
    t.row_desc_ps = ns_ps(row_descriptors * sheet->dma_desc_ns);
    t.start_ps = ns_ps(start_latency(inst, sheet, &t.hardware_queue));
    uint64_t hbm = (src->space == OSC_SPACE_HBM ? src_bytes : 0) +
                   (dst->space == OSC_SPACE_HBM ? dst_bytes : 0);
    t.hbm_ps = ns_ps((double)hbm / sheet->hbm_bw);
    assert(t.engines >= 1 && t.engines <= DEV_DMA_ENGINES);
    return t;
}

/* ---- dependence inside one stream ---- */

static bool overlaps(const osc_ap *a, const osc_ap *b)
{
    bool chip = a->space == OSC_SPACE_SBUF || a->space == OSC_SPACE_PSUM;
    if (!chip || a->space != b->space)
        return false;
    if (a->start_partition >= b->start_partition + b->nparts ||
        b->start_partition >= a->start_partition + a->nparts)
        return false;
    int64_t a_low, a_high, b_low, b_high;
    if (!osc_ap_extent(a, &a_low, &a_high) || !osc_ap_extent(b, &b_low, &b_high))
        return true;
    return a_low < b_high && b_low < a_high;
}

bool dev_reads_result(const osc_inst *later, const osc_inst *earlier)
{
    bool transfer = earlier->opcode == OSC_OP_DMA_COPY || earlier->opcode == OSC_OP_DMA_TRANSPOSE;
    if (transfer) /* its completion is known by semaphore only */
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (overlaps(&later->src[i], &earlier->dst) || overlaps(&later->src[i], &earlier->dst2))
            return true;
    return false;
}
