/*
 * memory.c - SBUF and PSUM as byte arrays, and the view of an access pattern.
 *
 * The host pitch of an SBUF partition is its size rounded up to an odd number of cache lines:
 * with a power-of-two pitch the 128 partitions of a small tile would share a handful of cache
 * sets.
 *
 * Rejected: one shadow copy of SBUF in fp32. It would save conversions but could not hold
 * integers or bit-exact copies, and an address written as one type and read as another must see
 * the same bytes.
 */
#include "neuron/device/memory.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

enum { LINE = 64 };

static uint64_t odd_lines(uint64_t bytes)
{
    uint64_t lines = (bytes + LINE - 1) / LINE;
    return (lines | 1u) * LINE;
}

void dev_memory_init(dev_memory *memory, const osc_sheet *sheet)
{
    memset(memory, 0, sizeof *memory);
    memory->sbuf_bytes = (uint64_t)sheet->sbuf_partition_bytes;
    memory->psum_bytes = (uint64_t)sheet->psum_partition_bytes;
    memory->sbuf_pitch = odd_lines(memory->sbuf_bytes);
    memory->psum_pitch = odd_lines(memory->psum_bytes);
}

osc_status dev_memory_ensure(dev_memory *memory, osc_err *err)
{
    if (memory->sbuf == NULL)
        memory->sbuf = osc_calloc(OSC_PARTITIONS, memory->sbuf_pitch);
    if (memory->psum == NULL)
        memory->psum = osc_calloc(OSC_PARTITIONS, memory->psum_pitch);
    if (memory->sbuf == NULL || memory->psum == NULL)
        return osc_fail(
            err, OSC_ENOMEM, NULL, OSC_NO_OFFSET,
            "no host memory for the SBUF and PSUM of a core (%llu bytes)",
            (unsigned long long)(OSC_PARTITIONS * (memory->sbuf_pitch + memory->psum_pitch)));
    return OSC_OK;
}

void dev_memory_poison(dev_memory *memory)
{
    assert(memory->sbuf != NULL && memory->psum != NULL);
    memset(memory->sbuf, 0xff, OSC_PARTITIONS * memory->sbuf_pitch);
    memset(memory->psum, 0xff, OSC_PARTITIONS * memory->psum_pitch);
}

void dev_memory_free(dev_memory *memory)
{
    osc_free(memory->sbuf);
    osc_free(memory->psum);
    memory->sbuf = NULL;
    memory->psum = NULL;
}

/* Copies the inner dimensions, leaving out counts of 1 and joining a dimension with the one
 * inside it when together they step evenly. */
static void merge_dims(dev_view *v, const osc_ap *ap)
{
    v->ndim = 0;
    for (unsigned i = 0; i < ap->ndim; i++) {
        uint32_t count = ap->dim[i].count;
        int64_t stride = ap->dim[i].stride * v->esize;
        if (count == 1)
            continue;
        unsigned last = v->ndim;
        if (last > 0 && v->stride[last - 1] == stride * (int64_t)count &&
            (uint64_t)v->count[last - 1] * count <= UINT32_MAX) {
            v->count[last - 1] *= count;
            v->stride[last - 1] = stride;
        } else {
            v->count[last] = count;
            v->stride[last] = stride;
            v->ndim++;
        }
    }
    v->dense = v->ndim == 0 || (v->ndim == 1 && v->stride[0] == v->esize);
}

dev_view dev_view_of(const dev_memory *memory, const osc_ap *ap)
{
    dev_view v;
    v.dtype = ap->dtype;
    v.esize = (uint8_t)osc_dtype_size((osc_dtype)ap->dtype);
    v.rows = ap->nparts;
    v.row_elems = osc_ap_row_elems(ap);
    switch (ap->space) {
    case OSC_SPACE_SBUF:
        v.base = memory->sbuf + (uint64_t)ap->start_partition * memory->sbuf_pitch;
        v.row_pitch = (int64_t)memory->sbuf_pitch;
        break;
    case OSC_SPACE_PSUM:
        v.base = memory->psum + (uint64_t)ap->start_partition * memory->psum_pitch;
        v.row_pitch = (int64_t)memory->psum_pitch;
        break;
    default:
        assert(ap->space == OSC_SPACE_HBM && ap->tensor < memory->tensor_count);
        v.base = memory->tensor[ap->tensor];
        v.row_pitch = ap->part_stride * v.esize;
        break;
    }
    v.base += ap->offset;
    merge_dims(&v, ap);
    return v;
}
