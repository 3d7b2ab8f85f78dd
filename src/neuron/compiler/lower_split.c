/*
 * lower_split.c - reductions of few long rows in two kernels.
 *
 * A row lives on one partition, so the sum of a whole tensor would keep one lane of 128 busy. Such rows
 * are cut into up to 128 pieces of equal length and a remainder, one per lane; the first kernel reduces
 * the pieces to fp32 partial results in scratch, the second reduces those and does what follows:
 *
 *     sum of [8192, 8192]     128 lanes x 524288  ->  [1, 128] partials  ->  [1, 1]
 *
 * Only groups of one reduction level are split, whose results are all per row: a softmax of a long row
 * needs its maximum before its sum and goes the way of lower_rows.c. Rejected: the reduction over
 * partitions on GpSimd for the second step, which costs 16 cycles an element (neuroncore-model.md 2.1)
 * and saves one small transfer.
 */
#include "neuron/compiler/lower.h"

#include <assert.h>
#include <string.h>

#define FEW_ROWS  32
#define LONG_COLS 16384
#define LANES     128

static uint32_t longest_col_axis(const osc_region *region)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < region->ncol; i++)
        best = region->col[i] > region->col[best] ? i : best;
    return best;
}

bool osc_split_pays(const osc_group *group, const osc_plan *plan)
{
    const osc_region *region = &plan->regions[0];
    if (!group->has_reduce || region->ncol == 0 || osc_region_rows(region) > FEW_ROWS ||
        osc_region_rows(region) == 0 || osc_region_cols(region) < LONG_COLS ||
        region->col[longest_col_axis(region)] < FEW_ROWS)
        return false;
    for (uint32_t i = 0; i < group->count; i++) {
        if (!group->ops[i].dead && group->ops[i].level > 1)
            return false;
    }
    for (uint32_t o = 0; o < group->output_count; o++) {
        if (group->ops[group->outputs[o].ref].full)
            return false;
    }
    return true;
}

typedef struct split {
    osc_lower *lower;
    const osc_group *group;
    const osc_region *region;
    uint32_t operands; /* of the group; partial results come after */
    uint32_t axis;     /* column axis that is cut */
    int64_t lanes, piece, rest;
    uint32_t *partial; /* [op]: scratch tensor of a reduction */
    uint32_t *operand; /* [op]: its operand number */
} split;

/* Scratch of [rows, pieces] fp32 for each reduction. */
static bool make_partials(split *s)
{
    const osc_group *group = s->group;
    int64_t pieces = s->lanes + (s->rest != 0);
    s->partial = OSC_ARENA_ARRAY(group->arena, uint32_t, group->count);
    s->operand = OSC_ARENA_ARRAY(group->arena, uint32_t, group->count);
    if (s->partial == NULL || s->operand == NULL)
        return false;
    uint32_t next = s->operands;
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ops[i].dead || group->ops[i].kind != OSC_IR_REDUCE)
            continue;
        s->partial[i] =
            osc_lower_scratch(s->lower, OSC_F32, (uint64_t)(osc_region_rows(s->region) * pieces));
        s->operand[i] = next++;
    }
    return true;
}

/* The region with room for partial operands, their rows `pieces` apart. */
static bool copy_region(const split *s, osc_region *region)
{
    uint32_t count = s->operands + s->group->count;
    *region = *s->region;
    region->layouts = OSC_ARENA_ARRAY(s->group->arena, osc_layout, count);
    if (region->layouts == NULL)
        return false;
    memcpy(region->layouts, s->region->layouts, s->operands * sizeof region->layouts[0]);
    for (uint32_t o = s->operands; o < count; o++) {
        int64_t step = s->lanes + (s->rest != 0);
        for (uint32_t i = region->nrow; i-- > 0;) {
            region->layouts[o].row[i] = step;
            step *= region->row[i];
        }
    }
    return true;
}

/* Pieces on lanes; with rest, the elements that are left, as one more piece. */
static bool piece_region(const split *s, bool rest, osc_region *region)
{
    if (!copy_region(s, region))
        return false;
    uint32_t lane = region->nrow;
    region->col[s->axis] = rest ? s->rest : s->piece;
    for (uint32_t o = 0; o < s->operands + s->group->count; o++) {
        osc_layout *layout = &region->layouts[o];
        bool partial = o >= s->operands;
        if (rest)
            layout->base += partial ? s->lanes : s->lanes * s->piece * layout->col[s->axis];
        else
            layout->row[lane] = partial ? 1 : s->piece * layout->col[s->axis];
    }
    if (!rest) {
        region->row[lane] = s->lanes;
        region->lane = lane;
        region->nrow++;
    }
    return true;
}

/* The micro-operations up to the reductions, whose results are stored. */
static bool first_kernel(const split *s)
{
    const osc_group *group = s->group;
    osc_group *pieces = osc_group_new(group->arena, group->rank, group->size);
    if (pieces == NULL)
        return false;
    pieces->has_reduce = true;
    for (uint32_t i = 0; i < group->count; i++)
        osc_ir_append(pieces, &group->ops[i]);
    const int64_t none[OSC_MAX_RANK] = {0};
    for (uint32_t i = 0; i < group->count; i++) {
        if (group->ops[i].dead || group->ops[i].kind != OSC_IR_REDUCE)
            continue;
        osc_group_store(pieces, i, OSC_NO_VALUE, OSC_F32, none);
        if (pieces->failed)
            return false;
        pieces->outputs[pieces->output_count - 1].tensor = s->partial[i];
        pieces->outputs[pieces->output_count - 1].operand = s->operand[i];
    }
    osc_group_analyse(pieces);
    for (unsigned part = 0; part < (s->rest != 0 ? 2u : 1u); part++) {
        osc_region region;
        if (pieces->failed || !piece_region(s, part == 1, &region) ||
            !osc_lower_rows(s->lower, pieces, &region))
            return false;
    }
    return true;
}

/* The partial results reduced, and every row operation after them. */
static bool second_kernel(const split *s)
{
    const osc_group *group = s->group;
    osc_group *rows = osc_group_new(group->arena, group->rank, group->size);
    uint32_t *ref = OSC_ARENA_ARRAY(group->arena, uint32_t, group->count);
    osc_region region;
    if (rows == NULL || ref == NULL || !copy_region(s, &region))
        return false;
    rows->has_reduce = true;
    for (uint32_t i = 0; i < group->count; i++) {
        osc_ir_op op = group->ops[i];
        if (op.dead || op.full)
            continue;
        if (op.kind == OSC_IR_REDUCE) {
            osc_ir_op input = {.kind = OSC_IR_INPUT,
                               .dtype = OSC_F32,
                               .value = OSC_NO_VALUE,
                               .source = op.source,
                               .wide = true,
                               .operand = s->operand[i],
                               .tensor = s->partial[i],
                               .sum_into = UINT32_MAX,
                               .sum_of = UINT32_MAX};
            op.arg[0] = osc_ir_append(rows, &input);
            op.sum_of = UINT32_MAX;
        } else {
            for (unsigned a = 0; a < 3; a++)
                op.arg[a].ref = op.arg[a].kind == OSC_IR_REF ? ref[op.arg[a].ref] : 0;
        }
        ref[i] = osc_ir_append(rows, &op).ref;
    }
    for (uint32_t o = 0; o < group->output_count; o++) {
        const osc_ir_output *output = &group->outputs[o];
        osc_group_store(rows, ref[output->ref], output->value, (osc_dtype)output->dtype,
                        output->stride);
        if (rows->failed)
            return false;
        osc_ir_output *copy = &rows->outputs[rows->output_count - 1];
        copy->operand = output->operand;
        copy->tensor = output->tensor;
        copy->skip = output->skip;
    }
    region.ncol = 1;
    region.col[0] = s->lanes + (s->rest != 0);
    for (uint32_t p = s->operands; p < s->operands + group->count; p++)
        region.layouts[p].col[0] = 1;
    osc_group_analyse(rows);
    return !rows->failed && osc_lower_rows(s->lower, rows, &region);
}

bool osc_lower_split(osc_lower *lower, osc_group *group, const osc_plan *plan)
{
    split s = {.lower = lower, .group = group, .region = &plan->regions[0]};
    for (uint32_t o = 0; o < group->output_count; o++)
        s.operands = group->outputs[o].operand + 1;
    s.axis = longest_col_axis(s.region);
    int64_t length = s.region->col[s.axis];
    s.lanes = length < LANES ? length : LANES;
    s.piece = length / s.lanes;
    s.rest = length % s.lanes;
    assert(plan->count == 1 && s.piece >= 1);
    if (!make_partials(&s) || !first_kernel(&s))
        return false;
    osc_kernel_begin(&lower->kernel);
    return second_kernel(&s);
}
