/*
 * flight.c - the time of transfers, computed when they are triggered (see flight.h).
 *
 * A DMA engine is two stages in order: descriptors (at least dma_desc_ns each, from the trigger
 * on) and data (from the trigger plus the start latency, at dma_bw). So a single small transfer
 * costs its latency, and a stream of them the descriptor rate; both are what the published
 * figures show (neuroncore-model.md 1.8: chart, and 1.9: 128 rows of 256 bytes move in 0.47 us
 * although the chart's rate would need 0.86 us). HBM is a bucket that drains at the core's share
 * of bandwidth: a transfer ends no earlier than the bucket has taken its bytes, each side in HBM
 * counted.
 *
 * Simplified, on purpose: engines serve transfers in the order of triggers, not packet by packet
 * in turn; rows go to engines in blocks, starting behind the engine the last transfer used.
 *
 * Rejected: one event per descriptor. A strided transfer has tens of thousands of equal ones, and
 * their sum is a product.
 */
#include "neuron/device/flight.h"

#include <assert.h>
#include <string.h>

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void dev_dma_start(dev_dma_state *dma, const osc_sheet *sheet)
{
    memset(dma, 0, sizeof *dma);
    dma->spacing_ps = (int64_t)(sheet->hwdge_spacing_ns * 1000.0 + 0.5);
}

/* When descriptor generation starts: a hardware queue waits for the generator that is free first.
 */
static int64_t take_generator(dev_dma_state *dma, const dev_transfer_cost *cost, int64_t trigger_ps)
{
    if (!cost->hardware_queue || dma->spacing_ps == 0)
        return trigger_ps;
    int64_t *generator = dma->generator_free_ps;
    unsigned chosen = generator[1] < generator[0];
    int64_t start_ps = later(trigger_ps, generator[chosen]);
    generator[chosen] = start_ps + dma->spacing_ps;
    return start_ps;
}

/* One DMA engine's share of a transfer. */
static dev_ring_use use_engine(dev_dma_state *dma, unsigned number, const dev_transfer_cost *cost,
                               uint32_t rows, int64_t fetched_ps)
{
    int64_t *descriptors = &dma->descriptors_free_ps[number], *data = &dma->data_free_ps[number];
    int64_t ready_ps = fetched_ps + cost->start_ps;
    dev_ring_use use;
    use.begin_ps = later(ready_ps, *data);
    use.queued = *data > ready_ps;
    *descriptors = later(fetched_ps, *descriptors) + rows * cost->row_desc_ps;
    use.end_ps = later(use.begin_ps + rows * cost->row_data_ps, *descriptors);
    *data = use.end_ps;
    return use;
}

dev_flight dev_fly(dev_dma_state *dma, const dev_transfer_cost *cost, int64_t trigger_ps,
                   dev_ring_use uses[DEV_DMA_ENGINES])
{
    assert(cost->engines >= 1 && cost->engines <= DEV_DMA_ENGINES);
    dev_flight flight = {
        .trigger_ps = trigger_ps, .begin_ps = INT64_MAX, .first_engine = (uint8_t)dma->next_engine};
    int64_t fetched_ps = take_generator(dma, cost, trigger_ps);
    for (uint32_t i = 0, rows = cost->rows; i < cost->engines; i++) {
        uint32_t mine = rows < cost->rows_each ? rows : cost->rows_each;
        uses[i] =
            use_engine(dma, (flight.first_engine + i) % DEV_DMA_ENGINES, cost, mine, fetched_ps);
        flight.begin_ps = uses[i].begin_ps < flight.begin_ps ? uses[i].begin_ps : flight.begin_ps;
        flight.end_ps = later(flight.end_ps, uses[i].end_ps);
        rows -= mine;
    }
    dma->next_engine = (flight.first_engine + cost->engines) % DEV_DMA_ENGINES;
    dma->hbm_free_ps = later(dma->hbm_free_ps, flight.begin_ps) + cost->hbm_ps;
    flight.end_ps = later(flight.end_ps, dma->hbm_free_ps);
    return flight;
}
