/*
 * sheet.h - parameter sheets: every number of the device model, per generation, with its source.
 *
 * One row per parameter (name, unit, value for trn1, trn2, trn3, meaning, provenance) generates the struct,
 * the lookup by name and the table in docs/isa.md. Times are picoseconds inside the model so that a cycle
 * of 2.4 GHz adds up exactly enough; the sheet states them in the unit of the source.
 * Source: neuroncore-model.md 9 (device) and 5.3 (launch).
 */
#ifndef OSC_ISA_SHEET_H
#define OSC_ISA_SHEET_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum osc_generation {
    OSC_TRN1 = 0,
    OSC_TRN2 = 1,
    OSC_TRN3 = 2,
    OSC_GENERATIONS = 3
} osc_generation;

/* All values double so that one table serves them all; names as in docs/isa.md. */
/* clang-format off */
#define OSC_SHEET_FIELDS(X) \
    X(pe_mhz) X(dve_mhz) X(act_mhz) X(pool_mhz) \
    X(sbuf_partition_bytes) X(psum_partition_bytes) X(psum_banks) X(hbm_bytes) \
    X(matmul_free_max) X(pe_ii_min_cycles) X(pe_pass_16bit) X(pe_pass_fp32) X(pe_transpose_fp32_passes) \
    X(pe_eff) X(pe_latency_ns) X(ldweights_ns) X(pe_ramp_start) X(pe_ramp_us) X(pe_ramp_window_us) \
    X(min_ii_cycles) X(dve_fixed_cycles) X(act_fixed_cycles) X(act_fixed_alone_cycles) X(pool_fixed_cycles) \
    X(act_accread_cycles) X(act_table_load_ns) \
    X(dve_perf_contig_16bit) X(dve_perf_other_16bit) X(dve_tt_16bit_scale) X(dve_tt_other_scale) \
    X(dve_recip_scale) X(act_16bit_factor) X(pool_scale) \
    X(sem_hop_ns) X(dma_engines) X(dma_rings) X(dma_bw) X(dma_bw_peak) X(hbm_bw) X(dma_desc_ns) \
    X(dma_desc_stream_ns) X(dma_start_static_ns) X(dma_start_swdge_ns) X(dma_start_hwdge_ns) \
    X(dma_trigger_ns) X(dma_sem_write_ns) X(dma_wake_ns) X(swdge_spacing_ns) X(hwdge_spacing_ns) \
    X(dma_transpose_eff_hbm) X(dma_transpose_eff_sbuf) X(dma_packet_bytes) \
    X(neff_preamble_ns) X(neff_postamble_ns) X(notify_ns) X(reg_write_ns) X(reg_load_ns) X(branch_ns) \
    X(barrier_ns) X(nop_ns) X(sem_inst_ns) X(host_link_bw) X(host_copy_fixed_ns) X(lnc) \
    X(launch_dispatch_us) X(launch_lookup_us) X(launch_alloc_us) X(launch_submit_us) X(launch_switch_us) \
    X(launch_notify_us) X(launch_prof_us) X(launch_sigma_us) \
    X(sync_dispatch_us) X(sync_lookup_us) X(sync_alloc_us) X(sync_submit_us) X(sync_switch_us) \
    X(sync_notify_us) X(sync_prof_us) X(sync_sigma_us)
/* clang-format on */
/* launch_*: the "walkthrough-like profile run" column of 5.3, used while a profiler captures the core;
 * sync_*: the "un-profiled sync" column, used otherwise. *_sigma_us default to 0 here: simulated time is exact. */

typedef struct osc_sheet {
    size_t size; /* sizeof(osc_sheet) */
    osc_generation generation;
#define OSC_SHEET_MEMBER(name) double name;
    OSC_SHEET_FIELDS(OSC_SHEET_MEMBER)
#undef OSC_SHEET_MEMBER
} osc_sheet;

typedef struct osc_sheet_row {
    const char *name;
    const char *unit;
    double value[OSC_GENERATIONS];
    const char *meaning; /* what it is, from where to where */
    const char *source;  /* section, and whether documented, measured, derived, fitted or guessed */
    size_t offset;       /* of the double in osc_sheet */
} osc_sheet_row;

/* The default sheet of a generation. Static storage. Any thread. */
const osc_sheet *osc_sheet_default(osc_generation generation);
/* "trn1", "trn2", "trn3", also "inf2" (as trn1). OSC_ENOTFOUND names the known ones. */
OSC_MUST_CHECK osc_status osc_generation_parse(const char *name, osc_generation *out, osc_err *err);
const char *osc_generation_name(osc_generation generation);
const osc_sheet_row *osc_sheet_rows(size_t *count);
/* Sets one value by name; refuses unknown names (suggesting the nearest), NaN, infinities, negative
 * values, 0 where the model divides by it, and sizes the model has no place for. */
OSC_MUST_CHECK osc_status osc_sheet_set(osc_sheet *sheet, const char *name, double value,
                                        osc_err *err);

#endif
