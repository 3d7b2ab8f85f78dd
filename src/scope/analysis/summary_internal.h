/* summary_internal.h - what the formulas are made of; shared by summary.c, summary_totals.c and
 * summary_fields.c. */
#ifndef OSC_ANALYSIS_SUMMARY_INTERNAL_H
#define OSC_ANALYSIS_SUMMARY_INTERNAL_H

#include "scope/analysis/engines_internal.h"
#include "scope/store/kinds.h"

#define OSC_DMA_CLASSES 4u

/* Sums over packets of one class, or all. Times in ns. */
typedef struct osc_dma_total {
    uint64_t count, bytes;
    osc_bounds active, time;
} osc_dma_total;

typedef struct osc_engine_total {
    uint64_t count;
    osc_bounds active, time;
} osc_engine_total;

/* What the device can do; 0: not known. */
typedef struct osc_device_facts {
    double pe_rows, pe_columns, pe_ghz, core_ghz, hbm_bytes_per_s;
    double traced_ns; /* last_hw_timestamp - first_hw_timestamp, or the executions' time */
} osc_device_facts;

/* Throttling of one type on one core. */
typedef struct osc_throttle_total {
    uint32_t core;
    uint32_t type;      /* text id; OSC_NO_ROW: all types of the core */
    int64_t ns;         /* all intervals */
    int64_t limited_ns; /* those with k < n */
    double weighted_ns; /* length times k / n */
} osc_throttle_total;

#define OSC_THROTTLES_MAX 256u

typedef struct osc_totals {
    osc_view view;
    osc_device_facts device;
    osc_bounds total_ns; /* total_time */
    bool total_fitted;   /* from the last NOTIFY and a fitted constant */
    osc_bounds active_ns;
    osc_engine_total engine[OSC_ENGINE_SLOTS];
    uint64_t instructions, matmuls, activates;
    osc_bounds activate_ns;
    uint64_t elements, transposed, regular;
    osc_dma_total packets, transfers, dma[OSC_DMA_CLASSES];
    uint64_t queues; /* distinct (queue, DMA engine) pairs */
    uint64_t hbm_read, hbm_write, sbuf_read, sbuf_write, psum_read, psum_write, psum_to_sbuf;
    uint64_t psum_to_sbuf_count;
    uint64_t input_queue, output_queue, weight_queue, spill_save, spill_reload;
    uint64_t in_bytes, out_bytes, weight_bytes;
    bool has_tensors, has_semaphores, has_collectives;
    uint64_t semaphore_updates;
    osc_throttle_total throttle[OSC_THROTTLES_MAX];
    uint32_t throttle_count, first_core;
    bool throttle_full; /* there were more types than OSC_THROTTLES_MAX */
} osc_totals;

/* flop/s of one core's tensor engine: 2 x rows x columns x clock of the array; 0 unknown. */
double osc_peak_flops(const osc_device_facts *device);

/* What the device of a view can do: a profile's metadata, or the parameters of a capture of
 * ours. */
void osc_device_find(const osc_view *view, osc_device_facts *device);

/* Everything the formulas need; view is freed by the caller in every case. */
OSC_MUST_CHECK osc_status osc_totals_collect(osc_totals *t, const osc_store *store,
                                             const osc_engine_options *options, osc_err *err);

/* A figure with bounds, a text, or nothing. */
typedef struct osc_figure {
    bool present, is_text;
    bool whole; /* an integer */
    osc_bounds number;
    osc_str text;
} osc_figure;

/* One field. */
typedef struct osc_summary_field {
    const char *name;
    const char *unit;
    const char *basis;
    osc_figure (*figure)(const osc_totals *t, int arg);
    int arg;
    const char *formula;
    const char *absent; /* why it is missing when it is; NULL: it then does not apply */
} osc_summary_field;

const osc_summary_field *osc_summary_field_list(size_t *count);

#endif
