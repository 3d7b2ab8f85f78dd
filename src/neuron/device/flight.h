/*
 * flight.h - when the data of a transfer moves: sixteen DMA engines, two descriptor generators,
 * HBM.
 */
#ifndef OSC_NEURON_DEVICE_FLIGHT_H
#define OSC_NEURON_DEVICE_FLIGHT_H

#include "isa/sheet.h"
#include "neuron/device/cost.h"
#include "neuron/device/timeline.h"

#include <stdint.h>

#define DEV_GENERATORS 2u /* hardware descriptor generators of a core (neuroncore-model.md 1.8) */

/* How long the parts of the DMA system are taken. Plain value; zero at the start of a run. */
typedef struct dev_dma_state {
    int64_t spacing_ps; /* between transfers of one generator */
    int64_t descriptors_free_ps[DEV_DMA_ENGINES];
    int64_t data_free_ps[DEV_DMA_ENGINES];
    int64_t generator_free_ps[DEV_GENERATORS];
    int64_t hbm_free_ps;
    uint32_t next_engine;
} dev_dma_state;

void dev_dma_start(dev_dma_state *dma, const osc_sheet *sheet);

/* Flies a transfer triggered at trigger_ps, not before earlier ones. Fills one use per engine of
 * the cost; the flight's cost and first_use are the caller's to set. */
dev_flight dev_fly(dev_dma_state *dma, const dev_transfer_cost *cost, int64_t trigger_ps,
                   dev_ring_use uses[DEV_DMA_ENGINES]);

#endif
