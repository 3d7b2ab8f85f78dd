/*
 * footprint.c - byte sets of patterns and bit maps over memories (see footprint.h).
 *
 * Overlap of two strided patterns is decided by walking the runs of one and descending through the
 * dimensions of the other: at each level a division gives the few indices that can reach the run.
 */
#include "neuron/device/footprint.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

static void add_dim(dev_foot *foot, int64_t stride, uint32_t count)
{
    if (count <= 1 || stride == 0)
        return;
    if (stride < 0) {
        foot->low += stride * ((int64_t)count - 1);
        stride = -stride;
    }
    uint32_t at = foot->ndim++;
    for (; at > 0 && foot->stride[at - 1] < stride; at--) {
        foot->stride[at] = foot->stride[at - 1];
        foot->count[at] = foot->count[at - 1];
    }
    foot->stride[at] = stride;
    foot->count[at] = count;
}

/* Innermost dimensions that continue the run become part of it. */
static void join_runs(dev_foot *foot)
{
    while (foot->ndim > 0 && foot->stride[foot->ndim - 1] <= foot->run) {
        foot->ndim--;
        foot->run += foot->stride[foot->ndim] * ((int64_t)foot->count[foot->ndim] - 1);
    }
}

dev_foot dev_foot_of(const osc_ap *ap)
{
    dev_foot foot;
    memset(&foot, 0, sizeof foot);
    int64_t size = (int64_t)osc_dtype_size((osc_dtype)ap->dtype);
    bool hbm = ap->space == OSC_SPACE_HBM;
    foot.first_row = hbm ? 0 : ap->start_partition;
    foot.rows = hbm ? 1 : ap->nparts;
    foot.low = ap->offset;
    foot.run = size;
    for (unsigned i = 0; i < ap->ndim; i++)
        add_dim(&foot, ap->dim[i].stride * size, ap->dim[i].count);
    if (hbm)
        add_dim(&foot, ap->part_stride * size, ap->nparts);
    join_runs(&foot);
    foot.high = foot.low + foot.run;
    for (uint32_t i = 0; i < foot.ndim; i++)
        foot.high += foot.stride[i] * ((int64_t)foot.count[i] - 1);
    return foot;
}

bool dev_foot_same(const dev_foot *a, const dev_foot *b)
{
    if (a->first_row != b->first_row || a->rows != b->rows || a->low != b->low ||
        a->high != b->high || a->run != b->run || a->ndim != b->ndim)
        return false;
    for (uint32_t i = 0; i < a->ndim; i++)
        if (a->stride[i] != b->stride[i] || a->count[i] != b->count[i])
            return false;
    return true;
}

/* ---- runs ---- */

typedef struct run_walk {
    const dev_foot *foot;
    int64_t at; /* first byte of the run */
    uint32_t index[DEV_FOOT_DIMS];
} run_walk;

static run_walk first_run(const dev_foot *foot)
{
    run_walk walk = {foot, foot->low, {0}};
    return walk;
}

static bool next_run(run_walk *walk)
{
    for (uint32_t i = walk->foot->ndim; i-- > 0;) {
        walk->at += walk->foot->stride[i];
        if (++walk->index[i] < walk->foot->count[i])
            return true;
        walk->at -= walk->foot->stride[i] * (int64_t)walk->foot->count[i];
        walk->index[i] = 0;
    }
    return false;
}

/* Does the part of foot from dimension d inward, shifted to base, touch [low, high)? */
static bool touches(const dev_foot *foot, uint32_t d, int64_t base, int64_t low, int64_t high)
{
    if (d == foot->ndim)
        return base < high && low < base + foot->run;
    int64_t reach = foot->run;
    for (uint32_t i = d + 1; i < foot->ndim; i++)
        reach += foot->stride[i] * ((int64_t)foot->count[i] - 1);
    int64_t stride = foot->stride[d], last = (int64_t)foot->count[d] - 1;
    /* index i covers [base + i * stride, base + i * stride + reach) */
    int64_t from = low - base - reach < 0 ? 0 : (low - base - reach) / stride + 1;
    int64_t to = high - base <= 0 ? -1 : (high - base - 1) / stride;
    to = to < last ? to : last;
    for (int64_t i = from; i <= to; i++)
        if (touches(foot, d + 1, base + i * stride, low, high))
            return true;
    return false;
}

static uint64_t run_count(const dev_foot *foot)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < foot->ndim; i++)
        n *= foot->count[i];
    return n;
}

bool dev_foot_overlap(const dev_foot *a, const dev_foot *b)
{
    if (a->first_row >= b->first_row + b->rows || b->first_row >= a->first_row + a->rows)
        return false;
    if (a->low >= b->high || b->low >= a->high)
        return false;
    if (a->ndim == 0 && b->ndim == 0)
        return true;
    bool swap = run_count(a) > run_count(b);
    const dev_foot *few = swap ? b : a, *many = swap ? a : b;
    run_walk walk = first_run(few);
    do {
        if (touches(many, 0, many->low, walk.at, walk.at + few->run))
            return true;
    } while (next_run(&walk));
    return false;
}

/* ---- bit maps ---- */

enum { WORD = 64 };

bool dev_bits_init(dev_bits *bits, uint32_t rows, uint64_t row_bytes)
{
    bits->rows = rows;
    bits->row_words = row_bytes / WORD + 1;
    bits->word = osc_calloc(rows * bits->row_words, sizeof *bits->word);
    return bits->word != NULL;
}

void dev_bits_free(dev_bits *bits)
{
    osc_free(bits->word);
    bits->word = NULL;
}

/* Bits [from, to) of one word. */
static uint64_t mask_of(uint64_t from, uint64_t to)
{
    uint64_t high = to == WORD ? ~UINT64_C(0) : (UINT64_C(1) << to) - 1;
    return high & ~((UINT64_C(1) << from) - 1);
}

typedef enum bit_action { BITS_SET, BITS_CLEAR, BITS_ALL, BITS_ANY } bit_action;

/* Sets or clears bits of one word, or tells whether a test is decided by them (then the walk
 * stops). */
static bool act_on_word(uint64_t *word, uint64_t mask, bit_action action)
{
    switch (action) {
    case BITS_SET: *word |= mask; return false;
    case BITS_CLEAR: *word &= ~mask; return false;
    case BITS_ALL: return (*word & mask) != mask;
    case BITS_ANY: return (*word & mask) != 0;
    }
    return false;
}

/* The same for whole words, which is where the time goes. */
static bool act_on_words(uint64_t *word, uint64_t n, bit_action action)
{
    uint64_t all = ~UINT64_C(0), any = 0;
    switch (action) {
    case BITS_SET: memset(word, 0xff, n * sizeof *word); return false;
    case BITS_CLEAR: memset(word, 0, n * sizeof *word); return false;
    case BITS_ALL:
        for (uint64_t i = 0; i < n; i++)
            all &= word[i];
        return all != ~UINT64_C(0);
    case BITS_ANY:
        for (uint64_t i = 0; i < n; i++)
            any |= word[i];
        return any != 0;
    }
    return false;
}

static bool act_on_run(uint64_t *row, uint64_t from, uint64_t to, bit_action action)
{
    uint64_t first = from / WORD, last = to / WORD;
    if (first == last)
        return act_on_word(&row[first], mask_of(from % WORD, to % WORD), action);
    if (from % WORD != 0 && act_on_word(&row[first++], mask_of(from % WORD, WORD), action))
        return true;
    if (last > first && act_on_words(&row[first], last - first, action))
        return true;
    return to % WORD != 0 && act_on_word(&row[last], mask_of(0, to % WORD), action);
}

static bool act(const dev_bits *bits, const dev_foot *foot, bit_action action)
{
    assert(foot->first_row + foot->rows <= bits->rows);
    assert(foot->low >= 0 && (uint64_t)foot->high <= bits->row_words * WORD);
    run_walk walk = first_run(foot);
    do {
        for (uint32_t r = 0; r < foot->rows; r++) {
            uint64_t *row = bits->word + (foot->first_row + r) * bits->row_words;
            if (act_on_run(row, (uint64_t)walk.at, (uint64_t)(walk.at + foot->run), action))
                return true;
        }
    } while (next_run(&walk));
    return false;
}

void dev_bits_set(dev_bits *bits, const dev_foot *foot, bool value)
{
    act(bits, foot, value ? BITS_SET : BITS_CLEAR);
}

bool dev_bits_all(const dev_bits *bits, const dev_foot *foot)
{
    return !act(bits, foot, BITS_ALL);
}

bool dev_bits_any(const dev_bits *bits, const dev_foot *foot)
{
    return act(bits, foot, BITS_ANY);
}
