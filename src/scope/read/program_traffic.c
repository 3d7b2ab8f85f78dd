/*
 * program_traffic.c - bytes and multiply-accumulates of our own instructions, counted as the
 * vendor's tool counts them, so that one formula serves both: a DMA counts all partitions, a
 * compute instruction the bytes of one (summary-metrics.md 1.2), a matrix product rows x columns x
 * moving columns.
 */
#include "scope/read/program_traffic.h"

#include "base/mem.h"

#include <stdio.h>

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t out;
    return osc_mul_u64(a, b, &out) ? out : UINT64_MAX;
}

/* Bytes of an operand: of one partition, or of all. */
static uint64_t bytes_of(const osc_ap *ap, bool all)
{
    uint64_t row = product(osc_ap_row_elems(ap), osc_dtype_size((osc_dtype)ap->dtype));
    return all ? product(row, ap->nparts) : row;
}

static void add_read(osc_traffic_row *t, const osc_ap *ap, bool all)
{
    uint64_t bytes = bytes_of(ap, all);
    if (ap->space == OSC_SPACE_HBM)
        t->hbm_read += bytes;
    else if (ap->space == OSC_SPACE_SBUF)
        t->sbuf_read += bytes;
    else if (ap->space == OSC_SPACE_PSUM)
        t->psum_read += bytes;
}

static void add_write(osc_traffic_row *t, const osc_ap *ap, bool all)
{
    uint64_t bytes = bytes_of(ap, all);
    if (ap->space == OSC_SPACE_HBM)
        t->hbm_write += bytes;
    else if (ap->space == OSC_SPACE_SBUF)
        t->sbuf_write += bytes;
    else if (ap->space == OSC_SPACE_PSUM)
        t->psum_write += bytes;
}

static void add_arithmetic(osc_traffic_row *t, const osc_inst *inst)
{
    uint64_t columns = osc_ap_row_elems(&inst->src[0]);
    uint64_t rows = inst->src[0].nparts;
    if (inst->opcode == OSC_OP_MATMUL) {
        t->elements = product(product(rows, inst->dst.nparts), columns);
        t->flags |= OSC_TRAFFIC_REGULAR;
    } else if (inst->opcode == OSC_OP_PE_TRANSPOSE) {
        /* the data is the stationary side, an identity of `rows` columns moves through it */
        t->elements = product(product(rows, columns), rows);
        t->flags |= OSC_TRAFFIC_TRANSPOSE;
    }
}

void osc_traffic_to_store(osc_store *store, const osc_inst *inst, uint32_t row)
{
    const osc_isa_row *isa = osc_isa_row_of(inst->opcode);
    bool dma = inst->opcode == OSC_OP_DMA_COPY || inst->opcode == OSC_OP_DMA_TRANSPOSE;
    osc_traffic_row t = {.inst = row};
    if (!isa || inst->opcode == OSC_OP_IOTA) /* IOTA's source is a pattern, no memory */
        return;
    for (unsigned i = 0; i < isa->nsrc && i < 3; i++)
        add_read(&t, &inst->src[i], dma);
    if (isa->has_dst)
        add_write(&t, &inst->dst, dma);
    if (isa->has_dst2)
        add_write(&t, &inst->dst2, dma);
    add_arithmetic(&t, inst);
    if (!dma && t.psum_read > 0 && t.sbuf_write > 0) {
        t.psum_to_sbuf = t.sbuf_write;
        t.flags |= OSC_TRAFFIC_PSUM_TO_SBUF;
    }
    if (t.elements | t.hbm_read | t.hbm_write | t.sbuf_read | t.sbuf_write | t.psum_read |
        t.psum_write)
        osc_store_add_traffic(store, &t);
}

static const char *kind_name(unsigned kind)
{
    static const char *const names[] = {"", "IN", "OUT", "INOUT", "SCRATCH", "WEIGHT"};
    return kind < sizeof names / sizeof *names ? names[kind] : "";
}

void osc_tensors_to_store(osc_store *store, const osc_program *program, uint32_t program_row)
{
    uint32_t count;
    const osc_tensor *tensor = osc_program_tensors(program, &count);
    for (uint32_t i = 0; i < count; i++) {
        char shape[32 * OSC_MAX_RANK + 4] = "[";
        size_t at = 1;
        for (unsigned d = 0; d < tensor[i].rank && d < OSC_MAX_RANK; d++)
            at += (size_t)snprintf(shape + at, sizeof shape - at, "%s%lld", d > 0 ? " " : "",
                                   (long long)tensor[i].size[d]);
        (void)snprintf(shape + at, sizeof shape - at, "]");
        const char *dtype = osc_dtype_name((osc_dtype)tensor[i].dtype);
        osc_tensor_row row = {
            .bytes = tensor[i].span_bytes,
            .program = program_row,
            .name = osc_store_intern(store, tensor[i].name),
            .kind = osc_store_intern(store, osc_str_from_cstr(kind_name(tensor[i].kind))),
            .shape = osc_store_intern(store, osc_str_from_cstr(shape)),
            .format = osc_store_intern(store, osc_str_from_cstr(dtype))};
        osc_store_add_tensor(store, &row);
    }
}
