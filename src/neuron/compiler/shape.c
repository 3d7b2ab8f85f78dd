/*
 * shape.c - folding axes, splitting them into rows and columns, cutting tiles.
 *
 * Steps: drop axes of size 1; order the rest by the reference operand's strides, so that the innermost
 * axis is the one memory runs along; divide into rows and columns; fold neighbours that every operand
 * walks as one. An elementwise space keeps its innermost axis as columns (a row per partition, as
 * neuroncore-model.md 4.2 lays out x[4,512]) unless that leaves lanes idle or tiles thin:
 *
 *     [4, 65536]  contiguous   -> 262144 elements as 128 x 2048
 *     [90000, 3]  contiguous   -> 270000 elements as 127 x 2110, and a last row of 2030
 *     [90000, 3]  strided      -> 128 lanes of [703, 3], and 16 rows of 3
 *
 * Rejected: full folding of every contiguous tensor over 128 partitions. It is faster on the machine for
 * a few sizes but makes 128 tiny descriptors of a 4 KiB tensor, and is not what the published profiles
 * show.
 */
#include "neuron/compiler/shape.h"

#include <assert.h>
#include <string.h>

#define LANES        128
#define THIN_COLS    256  /* rows shorter than this are worth merging */
#define WIDE_COLS    512  /* columns a merged row has at least */
#define LONG_COLS    8192 /* and at most */
#define WIDEST_LOOP  2048 /* columns that absorbing looped row axes may make */
#define SPREAD_ELEMS 4096 /* fewer elements than this stay where they are */

typedef struct axis {
    int64_t size;
    int64_t *stride; /* per operand */
} axis;

typedef struct axes {
    axis at[OSC_AXES];
    uint32_t count;
} axes;

/* Axes of size over 1, outermost first. */
static bool collect_axes(osc_arena *arena, const osc_shape *shape, uint32_t dim_of[], axes *out)
{
    for (uint32_t d = 0; d < shape->rank; d++) {
        if (shape->size[d] == 1)
            continue;
        axis *a = &out->at[out->count];
        a->size = shape->size[d];
        a->stride = OSC_ARENA_ARRAY(arena, int64_t, shape->operands + 1);
        if (a->stride == NULL)
            return false;
        for (uint32_t o = 0; o < shape->operands; o++)
            a->stride[o] = shape->strides[o][d];
        dim_of[out->count++] = d;
    }
    return true;
}

/* Insertion sort by falling reference stride; axes the reference repeats (stride 0) stay in place. */
static void order_axes(axes *list, uint32_t dim_of[], uint32_t reference)
{
    for (uint32_t i = 1; i < list->count; i++) {
        for (uint32_t j = i; j > 0; j--) {
            int64_t outer = list->at[j - 1].stride[reference],
                    inner = list->at[j].stride[reference];
            if (outer == 0 || inner == 0 || outer >= inner)
                break;
            axis a = list->at[j];
            list->at[j] = list->at[j - 1];
            list->at[j - 1] = a;
            uint32_t d = dim_of[j];
            dim_of[j] = dim_of[j - 1];
            dim_of[j - 1] = d;
        }
    }
}

static bool foldable(const axis *outer, const axis *inner, uint32_t operands)
{
    for (uint32_t o = 0; o < operands; o++) {
        if (outer->stride[o] != inner->stride[o] * inner->size)
            return false;
    }
    return true;
}

static void fold(axes *list, uint32_t operands)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (kept > 0 && foldable(&list->at[kept - 1], &list->at[i], operands)) {
            list->at[kept - 1].size *= list->at[i].size;
            list->at[kept - 1].stride = list->at[i].stride;
        } else {
            list->at[kept++] = list->at[i];
        }
    }
    list->count = kept;
}

/* ---- regions ---- */

static bool region_fill(osc_arena *arena, osc_region *region, const axes *rows, const axes *cols,
                        uint32_t operands)
{
    memset(region, 0, sizeof *region);
    region->layouts = OSC_ARENA_ARRAY(arena, osc_layout, operands + 1);
    if (region->layouts == NULL)
        return false;
    region->nrow = rows->count;
    region->ncol = cols->count;
    for (uint32_t i = 0; i < rows->count; i++) {
        region->row[i] = rows->at[i].size;
        for (uint32_t o = 0; o < operands; o++)
            region->layouts[o].row[i] = rows->at[i].stride[o];
    }
    for (uint32_t i = 0; i < cols->count; i++) {
        region->col[i] = cols->at[i].size;
        for (uint32_t o = 0; o < operands; o++)
            region->layouts[o].col[i] = cols->at[i].stride[o];
    }
    return true;
}

/* The longest row axis goes to the partitions; of equals the innermost. */
static void choose_lane(osc_region *region)
{
    region->lane = region->nrow;
    for (uint32_t i = 0; i < region->nrow; i++) {
        if (region->lane == region->nrow || region->row[i] >= region->row[region->lane])
            region->lane = i;
    }
}

/* Last row axis and only column axis as one, cut into equal rows, the remainder as a second region. */
static bool merge_rows(osc_arena *arena, osc_plan *plan, uint32_t operands)
{
    osc_region *main = &plan->regions[0], *rest = &plan->regions[1];
    uint32_t r = main->nrow - 1;
    int64_t total = main->row[r] * main->col[0];
    int64_t cols = (total + LANES - 1) / LANES;
    cols = cols < WIDE_COLS ? WIDE_COLS : cols > LONG_COLS ? LONG_COLS : cols;
    *rest = *main;
    rest->layouts = OSC_ARENA_ARRAY(arena, osc_layout, operands + 1);
    if (rest->layouts == NULL)
        return false;
    main->row[r] = total / cols;
    main->col[0] = cols;
    rest->row[r] = 1;
    rest->col[0] = total % cols;
    for (uint32_t o = 0; o < operands; o++) {
        int64_t step = main->layouts[o].col[0];
        main->layouts[o].row[r] = cols * step;
        rest->layouts[o] = main->layouts[o];
        rest->layouts[o].base += main->row[r] * cols * step;
    }
    plan->count = rest->col[0] == 0 ? 1 : 2;
    return true;
}

/* Several rows side by side in each lane: row axis r becomes [lanes, group], the group a column axis. */
static bool pack_rows(osc_arena *arena, osc_plan *plan, uint32_t operands)
{
    osc_region *main = &plan->regions[0], *rest = &plan->regions[1];
    uint32_t r = main->lane;
    int64_t width = osc_region_cols(main), rows = main->row[r];
    int64_t group = (rows + LANES - 1) / LANES;
    group = group * width > WIDE_COLS ? WIDE_COLS / width : group;
    *rest = *main;
    rest->layouts = OSC_ARENA_ARRAY(arena, osc_layout, operands + 1);
    if (rest->layouts == NULL)
        return false;
    main->row[r] = rows / group;
    rest->row[r] = rows % group;
    memmove(main->col + 1, main->col, main->ncol * sizeof main->col[0]);
    main->col[0] = group;
    for (uint32_t o = 0; o < operands; o++) {
        osc_layout *layout = &main->layouts[o];
        rest->layouts[o] = *layout;
        rest->layouts[o].base += main->row[r] * group * layout->row[r];
        memmove(layout->col + 1, layout->col, main->ncol * sizeof layout->col[0]);
        layout->col[0] = layout->row[r];
        layout->row[r] *= group;
    }
    main->ncol++;
    plan->count = rest->row[r] == 0 ? 1 : 2;
    return true;
}

static uint32_t longest(const axes *list)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < list->count; i++)
        best = list->at[i].size >= list->at[best].size ? i : best;
    return best;
}

/* Row axes that would only be looped over join the columns, innermost first, while rows stay short. */
static void widen_cols(axes *rows, axes *cols)
{
    uint32_t lane = longest(rows);
    int64_t width = cols->at[0].size;
    for (uint32_t i = rows->count; i-- > 0;) {
        int64_t size = rows->at[i].size;
        if (i == lane || cols->count == OSC_AP_DIMS - 1 || width * size > WIDEST_LOOP)
            continue;
        width *= size;
        memmove(cols->at + 1, cols->at, cols->count * sizeof cols->at[0]);
        cols->at[0] = rows->at[i];
        cols->count++;
        memmove(rows->at + i, rows->at + i + 1, (rows->count - i - 1) * sizeof rows->at[0]);
        rows->count--;
        lane -= lane > i ? 1 : 0;
    }
}

/* One axis gets a row axis of size 1 in front, so that it may be spread like any other. */
static bool add_unit_row(osc_arena *arena, axes *rows, const axes *cols, uint32_t operands)
{
    rows->at[0] = (axis){.size = 1, .stride = OSC_ARENA_ARRAY(arena, int64_t, operands + 1)};
    if (rows->at[0].stride == NULL)
        return false;
    for (uint32_t o = 0; o < operands; o++)
        rows->at[0].stride[o] = cols->at[0].size * cols->at[0].stride[o];
    rows->count = 1;
    return true;
}

/* Elementwise: the innermost axis is the columns, then thin or lonely rows are reshaped. */
static bool plan_elementwise(osc_arena *arena, axes *list, uint32_t operands, osc_plan *plan)
{
    axes rows = *list, cols = {.count = 0};
    osc_region *region = &plan->regions[0];
    plan->count = 1;
    if (list->count == 0)
        return region_fill(arena, region, &rows, &cols, operands);
    cols.at[0] = list->at[list->count - 1];
    cols.count = 1;
    rows.count--;
    fold(&rows, operands);
    if (rows.count == 0 && !add_unit_row(arena, &rows, &cols, operands))
        return false;
    int64_t r = rows.at[rows.count - 1].size, c = cols.at[0].size;
    bool thin = c < THIN_COLS && r > LANES, lonely = r < LANES && r * c > SPREAD_ELEMS;
    bool merged = (thin || lonely) && foldable(&rows.at[rows.count - 1], &cols.at[0], operands);
    if (!merged)
        widen_cols(&rows, &cols);
    if (!region_fill(arena, region, &rows, &cols, operands))
        return false;
    choose_lane(region);
    if (merged && !merge_rows(arena, plan, operands))
        return false;
    if (!merged && osc_region_cols(region) * 2 <= THIN_COLS &&
        region->row[region->lane] >= 2 * LANES && !pack_rows(arena, plan, operands))
        return false;
    for (uint32_t i = 0; i < plan->count; i++)
        choose_lane(&plan->regions[i]);
    return true;
}

bool osc_plan_make(osc_arena *arena, const osc_shape *shape, osc_plan *plan)
{
    axes list = {.count = 0}, rows = {.count = 0}, cols = {.count = 0};
    uint32_t dim_of[OSC_AXES];
    memset(plan, 0, sizeof *plan);
    if (!collect_axes(arena, shape, dim_of, &list))
        return false;
    order_axes(&list, dim_of, shape->reference);
    if (shape->reduced == NULL)
        return plan_elementwise(arena, &list, shape->operands, plan);
    for (uint32_t i = 0; i < list.count; i++) {
        axes *side = shape->reduced[dim_of[i]] ? &cols : &rows;
        side->at[side->count++] = list.at[i];
    }
    fold(&rows, shape->operands);
    fold(&cols, shape->operands);
    plan->count = 1;
    if (!region_fill(arena, &plan->regions[0], &rows, &cols, shape->operands))
        return false;
    choose_lane(&plan->regions[0]);
    return true;
}

static int64_t product(const int64_t *sizes, uint32_t count)
{
    int64_t p = 1;
    for (uint32_t i = 0; i < count; i++)
        p *= sizes[i];
    return p;
}

int64_t osc_region_rows(const osc_region *region)
{
    return product(region->row, region->nrow);
}

int64_t osc_region_cols(const osc_region *region)
{
    return product(region->col, region->ncol);
}

/* ---- tiles ---- */

static int64_t lane_size(const osc_region *region)
{
    return region->lane < region->nrow ? region->row[region->lane] : 1;
}

int64_t osc_region_blocks(const osc_region *region)
{
    int64_t lanes = lane_size(region);
    if (lanes == 0)
        return 0;
    return osc_region_rows(region) / lanes * ((lanes + LANES - 1) / LANES);
}

osc_block osc_region_block(const osc_region *region, int64_t index)
{
    osc_block block = {.rows = 1};
    int64_t lanes = lane_size(region), blocks = (lanes + LANES - 1) / LANES;
    if (region->lane == region->nrow)
        return block;
    int64_t first = index % blocks * LANES, left = index / blocks;
    block.at[region->lane] = first;
    block.rows = (uint32_t)(lanes - first < LANES ? lanes - first : LANES);
    for (uint32_t i = region->nrow; i-- > 0;) {
        if (i == region->lane)
            continue;
        block.at[i] = left % region->row[i];
        left /= region->row[i];
    }
    return block;
}

osc_cutting osc_region_cut(const osc_region *region, int64_t most)
{
    assert(most >= 1);
    osc_cutting cutting = {.cut = 0, .step = 1, .chunks = 1, .cols = 1};
    if (region->ncol == 0)
        return cutting;
    int64_t inner = 1;
    uint32_t cut = region->ncol - 1;
    while (cut > 0 && inner * region->col[cut] <= most && region->ncol - cut < OSC_AP_DIMS)
        inner *= region->col[cut--];
    int64_t step = most / (inner == 0 ? 1 : inner), size = region->col[cut];
    step = step > size ? size : step;
    step = step == 0 ? 1 : step;
    cutting.cut = cut;
    cutting.step = step;
    cutting.chunks = product(region->col, cut) * ((size + step - 1) / step);
    if (osc_region_cols(region) == 0)
        cutting.chunks = 0;
    cutting.cols = (uint32_t)(step * inner);
    return cutting;
}

osc_chunk osc_region_chunk(const osc_region *region, const osc_cutting *cutting, int64_t index)
{
    osc_chunk chunk = {.cut = cutting->cut, .count = 1, .cols = 1};
    assert(index >= 0 && index < cutting->chunks);
    if (region->ncol == 0)
        return chunk;
    int64_t size = region->col[cutting->cut];
    int64_t pieces = (size + cutting->step - 1) / cutting->step;
    int64_t first = index % pieces * cutting->step, left = index / pieces;
    chunk.at[cutting->cut] = first;
    chunk.count = size - first < cutting->step ? size - first : cutting->step;
    for (uint32_t i = cutting->cut; i-- > 0;) {
        chunk.at[i] = left % region->col[i];
        left /= region->col[i];
    }
    int64_t inner = product(region->col + cutting->cut + 1, region->ncol - cutting->cut - 1);
    chunk.cols = (uint32_t)(chunk.count * inner);
    return chunk;
}

/* Appends a dim, folding it into the one before when the walk is the same. */
static void add_dim(osc_ap *ap, int64_t stride, int64_t count)
{
    if (count == 1)
        return;
    if (ap->ndim > 0) {
        osc_ap_dim *outer = &ap->dim[ap->ndim - 1];
        if (outer->stride == stride * count) {
            outer->stride = stride;
            outer->count *= (uint32_t)count;
            return;
        }
    }
    assert(ap->ndim < OSC_AP_DIMS);
    ap->dim[ap->ndim++] = (osc_ap_dim){.stride = stride, .count = (uint32_t)count};
}

osc_ap osc_region_ap(const osc_region *region, uint32_t operand, const osc_block *block,
                     const osc_chunk *chunk, osc_dtype dtype, uint16_t tensor, int64_t offset)
{
    const osc_layout *layout = &region->layouts[operand];
    assert(block->rows >= 1 && block->rows <= LANES);
    osc_ap ap = {.space = OSC_SPACE_HBM,
                 .dtype = (uint8_t)dtype,
                 .tensor = tensor,
                 .nparts = (uint16_t)block->rows};
    int64_t at = layout->base + offset;
    for (uint32_t i = 0; i < region->nrow; i++)
        at += block->at[i] * layout->row[i];
    if (region->lane < region->nrow)
        ap.part_stride = layout->row[region->lane];
    if (chunk != NULL && region->ncol > 0) {
        for (uint32_t i = 0; i <= chunk->cut; i++)
            at += chunk->at[i] * layout->col[i];
        add_dim(&ap, layout->col[chunk->cut], chunk->count);
        for (uint32_t i = chunk->cut + 1; i < region->ncol; i++)
            add_dim(&ap, layout->col[i], region->col[i]);
    }
    ap.offset = at * (int64_t)osc_dtype_size(dtype);
    return ap;
}
