/*
 * lower_rows.c - a group as one kernel: rows on partitions, columns in the free dimension.
 *
 * Every block of up to 128 rows is loaded, computed and stored in turn; loads run ahead of the stores of
 * earlier blocks into rotating buffers, so that DMA overlaps compute:
 *
 *     load 0   load 1   compute 0  store 0   load 2   compute 1  store 1   ...
 *
 * A row that fits SBUF is processed whole: intermediates stay where they are, also across reductions. A
 * longer row is cut into chunks and walked once per reduction level (a softmax three times): each pass
 * recomputes what it needs from the inputs and adds to [rows, 1] accumulators. Without reductions chunks
 * are independent and one pass is enough.
 *
 * Rejected: spilling intermediates of long rows to HBM. Recomputing costs engine time, which such
 * kernels have to spare, instead of DMA time, which they have not.
 */
#include "neuron/compiler/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MAX_PASSES 16u
#define CHUNK_COLS 8192 /* columns of a chunk when a row is cut */

/* ---- buffers ---- */

static uint32_t dtype_bytes(const osc_ir_op *op)
{
    return (uint32_t)osc_dtype_size((osc_dtype)op->dtype);
}

/* A free slot of this element size, or a new one. */
static uint32_t take_slot(osc_rows *r, bool *busy, uint32_t bytes)
{
    for (uint32_t s = 0; s < r->slot_count; s++) {
        if (!busy[s] && r->slots[s] == bytes) {
            busy[s] = true;
            return s;
        }
    }
    busy[r->slot_count] = true;
    r->slots[r->slot_count] = bytes;
    return r->slot_count++;
}

/* Linear scan: FULL intermediates share slots once their last reader has passed. */
static bool assign_slots(osc_rows *r)
{
    osc_group *group = r->group;
    r->slots = OSC_ARENA_ARRAY(group->arena, uint32_t, group->count + 1);
    bool *busy = OSC_ARENA_ARRAY(group->arena, bool, group->count + 1);
    if (r->slots == NULL || busy == NULL)
        return false;
    for (uint32_t i = 0; i < group->count; i++) {
        const osc_ir_op *op = &group->ops[i];
        if (op->dead)
            continue;
        if (op->full && op->kind != OSC_IR_INPUT)
            r->homes[i].slot = take_slot(r, busy, dtype_bytes(op));
        for (uint32_t d = 0; d <= i; d++) {
            const osc_ir_op *done = &group->ops[d];
            if (!done->dead && done->full && done->kind != OSC_IR_INPUT && done->last_use == i)
                busy[r->homes[d].slot] = false;
        }
        if (op->full && op->kind != OSC_IR_INPUT && op->last_use < i)
            busy[r->homes[i].slot] = false; /* result only summed: nobody reads the tile */
    }
    return true;
}

/* SBUF bytes that one column costs with these numbers of copies. */
static int64_t bytes_per_col(const osc_rows *r, uint32_t input_sets, uint32_t temp_sets)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < r->group->count; i++) {
        const osc_ir_op *op = &r->group->ops[i];
        if (!op->dead && op->full && op->kind == OSC_IR_INPUT)
            bytes += (int64_t)dtype_bytes(op) * input_sets;
    }
    for (uint32_t s = 0; s < r->slot_count; s++)
        bytes += (int64_t)r->slots[s] * temp_sets;
    return bytes == 0 ? 1 : bytes;
}

/* Bytes of all [rows, 1] tiles and what alignment may waste. */
static int64_t row_tile_bytes(const osc_rows *r)
{
    return (int64_t)(r->group->count * (OSC_ROWS_SETS + 2 * OSC_ROWS_ROW_SETS) +
                     r->slot_count * OSC_ROWS_SETS + 4) *
           32;
}

/* Copies of each buffer and columns of a tile: whole rows if they fit, with as much overlap as fits. */
static void choose_tiling(osc_rows *r, bool reduces)
{
    static const uint32_t choices[][2] = {{4, 2}, {3, 2}, {2, 2}, {2, 1}, {1, 1}};
    enum { CHOICES = sizeof choices / sizeof choices[0] };
    int64_t cols = osc_region_cols(r->region), blocks = osc_region_blocks(r->region);
    int64_t room = osc_kernel_free_bytes(r->kernel) - row_tile_bytes(r);
    bool single = blocks <= 1;
    for (unsigned c = 0; c < CHOICES; c++) {
        if (single && c < CHOICES - 1)
            continue;
        int64_t fit = room / bytes_per_col(r, choices[c][0], choices[c][1]);
        if (fit < cols || (!reduces && cols > CHUNK_COLS))
            continue;
        r->cutting = osc_region_cut(r->region, cols < 1 ? 1 : cols);
        if (reduces && r->cutting.chunks != 1)
            break; /* more column axes than a pattern has: passes */
        r->input_sets = choices[c][0];
        r->temp_sets = choices[c][1];
        return;
    }
    int64_t most = room / bytes_per_col(r, 2, 2);
    most = most > CHUNK_COLS ? CHUNK_COLS : most;
    r->input_sets = r->temp_sets = 2;
    r->cutting = osc_region_cut(r->region, most < 1 ? 1 : most);
    r->passes = reduces ? 1 : 0; /* counted later */
}

static void allocate_row_tiles(osc_rows *r, osc_rows_home *h, const osc_ir_op *op)
{
    h->sets = op->kind == OSC_IR_INPUT ? OSC_ROWS_SETS : OSC_ROWS_ROW_SETS;
    for (uint32_t s = 0; s < h->sets; s++)
        h->tile[s] = osc_kernel_sbuf(r->kernel, (osc_dtype)op->dtype, 1);
    for (uint32_t s = 0; s < OSC_ROWS_ROW_SETS && op->dtype != OSC_F32; s++)
        h->fp32[s] = osc_kernel_sbuf(r->kernel, OSC_F32, 1);
}

static void allocate_tiles(osc_rows *r)
{
    osc_group *group = r->group;
    uint32_t cols = r->cutting.cols == 0 ? 1 : r->cutting.cols;
    int64_t slot_offset[OSC_ROWS_SETS];
    for (uint32_t i = 0; i < group->count; i++) {
        const osc_ir_op *op = &group->ops[i];
        osc_rows_home *h = &r->homes[i];
        h->has_block = h->has_chunk = -1;
        if (op->dead)
            continue;
        if (!op->full) {
            allocate_row_tiles(r, h, op);
        } else if (op->kind == OSC_IR_INPUT) {
            h->sets = r->input_sets;
            for (uint32_t s = 0; s < h->sets; s++)
                h->tile[s] = osc_kernel_sbuf(r->kernel, (osc_dtype)op->dtype, cols);
        }
        if (op->kind == OSC_IR_REDUCE)
            r->partial[i] = osc_kernel_sbuf(r->kernel, OSC_F32, 1);
    }
    for (uint32_t s = 0; s < r->slot_count; s++) {
        static const osc_dtype of_size[] = {OSC_U8, OSC_U8, OSC_BF16, OSC_F32, OSC_F32};
        for (uint32_t t = 0; t < r->temp_sets; t++)
            slot_offset[t] = osc_kernel_sbuf(r->kernel, of_size[r->slots[s]], cols).offset;
        for (uint32_t i = 0; i < group->count; i++) {
            const osc_ir_op *op = &group->ops[i];
            if (op->dead || !op->full || op->kind == OSC_IR_INPUT || r->homes[i].slot != s)
                continue;
            r->homes[i].sets = r->temp_sets;
            for (uint32_t t = 0; t < r->temp_sets; t++)
                r->homes[i].tile[t] = (osc_tile){.space = OSC_SPACE_SBUF,
                                                 .dtype = op->dtype,
                                                 .offset = slot_offset[t],
                                                 .cols = cols};
        }
    }
}

/* ---- passes over long rows ---- */

/* needed[pass][op]: FULL micro-operations a pass executes. */
static bool find_passes(osc_rows *r)
{
    osc_group *group = r->group;
    uint32_t top = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        if (!group->ops[i].dead && group->ops[i].level > top)
            top = group->ops[i].level;
    }
    r->passes = top + 1;
    if (r->passes > MAX_PASSES)
        return false;
    r->needed = OSC_ARENA_ARRAY(group->arena, bool, (size_t)r->passes * group->count);
    if (r->needed == NULL)
        return false;
    for (uint32_t pass = 0; pass < r->passes; pass++) {
        bool *needed = r->needed + (size_t)pass * group->count;
        for (uint32_t o = 0; o < group->output_count; o++) {
            const osc_ir_op *op = &group->ops[group->outputs[o].ref];
            needed[group->outputs[o].ref] |= op->full && op->level == pass;
        }
        for (uint32_t i = group->count; i-- > 0;) {
            const osc_ir_op *op = &group->ops[i];
            bool root = !op->dead && op->kind == OSC_IR_REDUCE && op->level == pass + 1;
            if (root)
                needed[i] = true;
            if (!needed[i])
                continue;
            for (unsigned a = 0; a < 3; a++) {
                if (op->arg[a].kind == OSC_IR_REF && group->ops[op->arg[a].ref].full)
                    needed[op->arg[a].ref] = true;
            }
        }
    }
    return true;
}

static uint64_t job_count(const osc_rows *r)
{
    uint64_t blocks = (uint64_t)osc_region_blocks(r->region);
    uint64_t chunks = (uint64_t)r->cutting.chunks;
    return r->passes == 0 ? blocks * chunks : blocks * r->passes * (chunks + 1);
}

static osc_rows_job job_at(const osc_rows *r, uint64_t index)
{
    uint64_t blocks = (uint64_t)osc_region_blocks(r->region), chunks = (uint64_t)r->cutting.chunks;
    osc_rows_job j = {0};
    if (r->passes == 0) {
        j.whole = true;
        j.block = (int64_t)(index % blocks);
        j.chunk = (int64_t)(index / blocks);
        j.first = true;
        return j;
    }
    uint64_t in_block = index % (r->passes * (chunks + 1));
    j.block = (int64_t)(index / (r->passes * (chunks + 1)));
    j.pass = (uint32_t)(in_block / (chunks + 1));
    j.chunk = (int64_t)(in_block % (chunks + 1));
    j.epilogue = j.chunk == (int64_t)chunks;
    j.first = in_block == 0;
    return j;
}

/* ---- loads ---- */

/* True when an input's elements do not depend on the row. */
static bool same_for_all_rows(const osc_rows *r, const osc_ir_op *op)
{
    const osc_layout *layout = &r->region->layouts[op->operand];
    for (uint32_t i = 0; i < r->region->nrow; i++) {
        if (layout->row[i] != 0)
            return false;
    }
    return true;
}

static void load_input(osc_rows *r, uint32_t i, const osc_rows_job *j, const osc_block *block,
                       const osc_chunk *chunk)
{
    const osc_ir_op *op = &r->group->ops[i];
    osc_rows_home *h = &r->homes[i];
    int64_t block_key = same_for_all_rows(r, op) ? 0 : j->block;
    int64_t chunk_key = op->full ? j->chunk : 0;
    if (h->has_block == block_key && h->has_chunk == chunk_key && h->has_rows >= block->rows)
        return;
    h->newest = (h->newest + 1) % h->sets;
    h->has_block = block_key;
    h->has_chunk = chunk_key;
    h->has_rows = block->rows;
    h->serial++;
    r->kernel->source = op->source;
    bool own = op->tensor == UINT32_MAX;
    uint32_t tensor = own ? osc_lower_tensor(r->lower, op->value) : op->tensor;
    osc_ap src = osc_region_ap(r->region, op->operand, block, op->full ? chunk : NULL,
                               (osc_dtype)op->dtype, (uint16_t)tensor, op->skip);
    src.offset += own ? r->lower->place[op->value].offset : 0;
    osc_ap dst = osc_tile_ap(&h->tile[h->newest], block->rows, op->full ? chunk->cols : 1);
    osc_kernel_dma(r->kernel, &dst, &src);
}

static void load_job(osc_rows *r, const osc_rows_job *j, uint32_t depth_at)
{
    osc_block block = osc_region_block(r->region, j->block);
    osc_chunk chunk = {0};
    if (!j->epilogue)
        chunk = osc_region_chunk(r->region, &r->cutting, j->chunk);
    for (uint32_t i = 0; i < r->group->count; i++) {
        const osc_ir_op *op = &r->group->ops[i];
        if (op->kind != OSC_IR_INPUT || op->dead)
            continue;
        bool wanted = op->full ? !j->epilogue &&
                                     (j->whole || r->needed[(size_t)j->pass * r->group->count + i])
                               : j->first;
        if (wanted)
            load_input(r, i, j, &block, &chunk);
        r->set_of[(size_t)depth_at * r->group->count + i] = (uint8_t)r->homes[i].newest;
        r->serial_of[(size_t)depth_at * r->group->count + i] = r->homes[i].serial;
    }
}

/* What a reduction over nothing gives (PyTorch: sum 0, prod 1; maximum of nothing is refused earlier). */
static float identity_of(uint8_t alu)
{
    switch (alu) {
    case OSC_ALU_MUL: return 1.0f;
    case OSC_ALU_MAX: return -INFINITY;
    case OSC_ALU_MIN: return INFINITY;
    default: return 0.0f;
    }
}

/* Which micro-operations run in a job of a kernel with passes. */
static bool runs_in(const osc_rows *r, uint32_t i, const osc_rows_job *j)
{
    const osc_ir_op *op = &r->group->ops[i];
    if (op->full || op->kind == OSC_IR_REDUCE)
        return !j->epilogue && r->needed[(size_t)j->pass * r->group->count + i];
    if (op->level == 0)
        return j->first;
    return j->epilogue && op->level == j->pass + 1;
}

/* Makes a job the one being emitted. */
static void enter_job(osc_rows *r, const osc_rows_job *j, uint64_t at)
{
    r->block = osc_region_block(r->region, j->block);
    if (!j->epilogue)
        r->chunk = osc_region_chunk(r->region, &r->cutting, j->chunk);
    r->whole = j->whole;
    r->depth_at = (uint32_t)(at % OSC_ROWS_DEPTH);
    r->job_serial = at;
    r->row_set =
        j->whole ? (uint32_t)(at % OSC_ROWS_ROW_SETS) : (uint32_t)(j->block % OSC_ROWS_ROW_SETS);
}

/* End of a pass for a reduction: its accumulator is the result. */
static void finish_reduce(osc_rows *r, uint32_t i)
{
    if (r->cutting.chunks == 0) {
        osc_ap dst = osc_tile_ap(osc_rows_tile(r, i), r->block.rows, 1);
        osc_kernel_memset(r->kernel, &dst, identity_of(r->group->ops[i].alu[0]));
    }
    r->homes[i].serial = r->job_serial + 1;
    osc_rows_store(r, i);
}

/* One micro-operation of the job entered. */
static void emit_step(osc_rows *r, uint32_t i, const osc_rows_job *j)
{
    const osc_ir_op *op = &r->group->ops[i];
    bool reduce = op->kind == OSC_IR_REDUCE;
    if (op->dead)
        return;
    if (!j->whole && reduce && j->epilogue && op->level == j->pass + 1) {
        finish_reduce(r, i);
        return;
    }
    if (!j->whole && !runs_in(r, i, j))
        return;
    if (op->kind != OSC_IR_INPUT)
        osc_rows_emit(r, i, j);
    if (!reduce || j->whole)
        osc_rows_store(r, i);
}

/*
 * Emits the job, or two jobs step by step in turns: the engines run in order, so while one job's
 * activation runs on Scalar, Vector can work on the other.
 */
static void emit_jobs(osc_rows *r, uint64_t at, unsigned count)
{
    osc_rows_job jobs[2] = {job_at(r, at), job_at(r, at + count - 1)};
    for (uint32_t i = 0; i < r->group->count && r->kernel->status == OSC_OK; i++) {
        for (unsigned k = 0; k < count; k++) {
            enter_job(r, &jobs[k], at + k);
            emit_step(r, i, &jobs[k]);
        }
    }
}

/* The first table a kernel needs is loaded while its first inputs are on their way (4.3). */
static void load_first_table(osc_kernel *kernel, const osc_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const osc_ir_op *op = &group->ops[i];
        if (op->dead || op->kind != OSC_IR_ACT || osc_act_set((osc_act)op->act) == 0)
            continue;
        kernel->source = op->source;
        osc_kernel_load_table(kernel, (osc_act)op->act);
        return;
    }
}

bool osc_lower_rows(osc_lower *lower, osc_group *group, const osc_region *region)
{
    osc_rows r = {.lower = lower, .kernel = &lower->kernel, .group = group, .region = region};
    r.homes = OSC_ARENA_ARRAY(group->arena, osc_rows_home, group->count);
    r.partial = OSC_ARENA_ARRAY(group->arena, osc_tile, group->count);
    r.set_of = OSC_ARENA_ARRAY(group->arena, uint8_t, (size_t)OSC_ROWS_DEPTH * group->count);
    r.serial_of = OSC_ARENA_ARRAY(group->arena, uint64_t, (size_t)OSC_ROWS_DEPTH * group->count);
    if (r.homes == NULL || r.partial == NULL || r.set_of == NULL || r.serial_of == NULL)
        return false;
    if (osc_region_rows(region) == 0 || (osc_region_cols(region) == 0 && !group->has_reduce))
        return true;
    osc_kernel_release(&lower->kernel);
    if (!assign_slots(&r))
        return false;
    choose_tiling(&r, group->has_reduce);
    if (r.passes != 0 && !find_passes(&r))
        return false;
    allocate_tiles(&r);
    load_first_table(r.kernel, group);
    uint64_t jobs = job_count(&r), ahead = r.input_sets - 1, loaded = 0, step = 1;
    bool paired = r.passes == 0 && r.input_sets >= 2 && r.temp_sets >= 2;
    for (uint64_t at = 0; at < jobs && r.kernel->status == OSC_OK; at += step) {
        for (; loaded < jobs && loaded <= at + ahead; loaded++) {
            osc_rows_job next = job_at(&r, loaded);
            load_job(&r, &next, (uint32_t)(loaded % OSC_ROWS_DEPTH));
        }
        step = paired && at + 1 < jobs ? 2 : 1;
        emit_jobs(&r, at, (unsigned)step);
    }
    return true;
}
