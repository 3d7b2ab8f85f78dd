/*
 * summary_fields.c - every field of the summary: name, unit, basis, formula.
 *
 * A field is one row of the table below and one function of the totals. Formulas are those that
 * reproduce what the vendor's tool wrote (summary-metrics.md 2); where its documentation says
 * otherwise (section 5 there), the files win. Bounds are carried through every formula.
 *
 * Rejected: a small language for formulas. Forty functions of one line each are shorter than its
 * parser, and the compiler checks them.
 */
#include "scope/analysis/summary_internal.h"

#include "base/num.h"

#include <math.h>

#define NS_PER_S 1e9
#define UNEXPORTED \
    54.0 /* events in no table, the same number in all files (summary-metrics.md 1.3) */
#define HFU_SLACK       2e-8 /* the stated hfu is 1.2207e-8 smaller (summary-metrics.md 1.3) */
#define NO_CONSTANTS    "the device's clock, array or memory bandwidth is not known"
#define NO_TENSORS      "the input has no table of tensors"
#define NO_SEMAPHORES   "the input does not record changes of semaphores"
#define NOT_COLLECTIVES "rows of collectives are not computed"

/* ---- figures ---- */

static osc_bounds exactly(double value)
{
    return (osc_bounds){value, value, value};
}

static osc_bounds times(osc_bounds b, double factor)
{
    return (osc_bounds){b.value * factor, b.low * factor, b.high * factor};
}

static osc_bounds over(osc_bounds a, osc_bounds b)
{
    if (b.value == 0)
        return exactly(0);
    double low_divisor = b.low > 0 ? b.low : b.value;
    return (osc_bounds){a.value / b.value, a.low / b.high, a.high / low_divisor};
}

static osc_figure none(void)
{
    return (osc_figure){.present = false};
}

static osc_figure real(osc_bounds b)
{
    return (osc_figure){.present = true, .number = b};
}

static osc_figure seconds(osc_bounds ns)
{
    /* divided, not multiplied by 1e-9, which is not a binary fraction: 10 ns must print as 1e-08 */
    return real((osc_bounds){ns.value / NS_PER_S, ns.low / NS_PER_S, ns.high / NS_PER_S});
}

static osc_figure whole(double value)
{
    return (osc_figure){.present = true, .whole = true, .number = exactly(value)};
}

static osc_figure count_of(uint64_t value)
{
    return whole((double)value);
}

/* ---- constants of the device ---- */

static double peak_flops(const osc_totals *t)
{
    return osc_peak_flops(&t->device);
}

static bool knows_peak(const osc_totals *t)
{
    return peak_flops(t) > 0;
}

static bool knows_memory(const osc_totals *t)
{
    return t->device.hbm_bytes_per_s > 0;
}

static osc_bounds total_s(const osc_totals *t)
{
    return times(t->total_ns, 1 / NS_PER_S);
}

static osc_bounds peak_in_total(const osc_totals *t)
{
    return times(total_s(t), peak_flops(t));
}

static double hardware_flops(const osc_totals *t)
{
    return 2 * (double)t->elements;
}

static double useful_flops(const osc_totals *t)
{
    return 2 * ((double)t->elements - (double)t->transposed);
}

static double model_flops(const osc_totals *t)
{
    return 2 * (double)t->regular;
}

static double hbm_bytes(const osc_totals *t)
{
    return (double)t->hbm_read + (double)t->hbm_write;
}

/* ---- time and counts ---- */

static osc_figure f_total_time(const osc_totals *t, int arg)
{
    (void)arg;
    return seconds(t->total_ns);
}

static osc_figure cycles(const osc_totals *t, osc_bounds ns, double slack)
{
    osc_bounds c = times(ns, t->device.core_ghz);
    osc_figure f = whole(floor(c.value));
    f.number.low = floor(c.low) - slack;
    f.number.high = floor(c.high) + slack;
    return t->device.core_ghz > 0 ? f : none();
}

static osc_figure f_core_cycles(const osc_totals *t, int arg)
{
    (void)arg;
    return cycles(t, t->total_ns, t->view.profile ? 1 : 0);
}

static osc_figure f_dma_cycles(const osc_totals *t, int arg)
{
    (void)arg;
    return cycles(t, t->packets.active, 0);
}

static osc_figure f_total_active(const osc_totals *t, int share)
{
    return share ? real(over(t->active_ns, t->total_ns)) : seconds(t->active_ns);
}

static osc_figure f_events(const osc_totals *t, int rows_too)
{
    if (!t->has_semaphores)
        return none();
    double events = (double)t->semaphore_updates + UNEXPORTED;
    double rows = (double)t->instructions + (double)t->packets.count + (double)t->transfers.count;
    return whole(rows_too ? rows + events : events);
}

/* ---- engines ---- */

static osc_figure f_engine_count(const osc_totals *t, int e)
{
    return count_of(t->engine[e].count);
}

static osc_figure f_engine_time(const osc_totals *t, int e)
{
    return seconds(t->engine[e].time);
}

static osc_figure f_engine_active(const osc_totals *t, int e)
{
    return seconds(t->engine[e].active);
}

static osc_figure f_engine_share(const osc_totals *t, int e)
{
    return real(over(t->engine[e].active, t->total_ns));
}

static osc_figure f_matmuls(const osc_totals *t, int arg)
{
    (void)arg;
    return count_of(t->matmuls);
}

static osc_figure f_activates(const osc_totals *t, int time)
{
    return time ? seconds(t->activate_ns) : count_of(t->activates);
}

/* ---- arithmetic ---- */

enum { FLOPS_HARDWARE = 0, FLOPS_TRANSPOSE, FLOPS_MODEL };

static osc_figure f_flops(const osc_totals *t, int which)
{
    switch (which) {
    case FLOPS_HARDWARE: return whole(hardware_flops(t));
    case FLOPS_TRANSPOSE: return whole(2 * (double)t->transposed);
    default: return whole(model_flops(t));
    }
}

static osc_figure f_ratio(const osc_totals *t, int arg)
{
    (void)arg;
    return knows_peak(t) && knows_memory(t)
               ? real(exactly(peak_flops(t) / t->device.hbm_bytes_per_s))
               : none();
}

static osc_figure f_intensity(const osc_totals *t, int arg)
{
    (void)arg;
    return real(over(exactly(useful_flops(t)), exactly(hbm_bytes(t))));
}

enum { USE_MODEL = 0, USE_INSTRUCTIONS, USE_HARDWARE };

static osc_figure f_utilisation(const osc_totals *t, int which)
{
    double flops = which == USE_MODEL          ? model_flops(t)
                   : which == USE_INSTRUCTIONS ? useful_flops(t)
                                               : hardware_flops(t);
    osc_bounds b = over(exactly(flops), peak_in_total(t));
    if (which == USE_HARDWARE && t->view.profile) {
        b.low *= 1 - HFU_SLACK;
        b.high *= 1 + HFU_SLACK;
    }
    return knows_peak(t) ? real(b) : none();
}

static osc_figure f_achievable(const osc_totals *t, int which)
{
    double flops = which == USE_MODEL ? model_flops(t) : useful_flops(t);
    if (!knows_peak(t) || !knows_memory(t))
        return none();
    osc_bounds intensity = over(exactly(flops), exactly(hbm_bytes(t)));
    return real(over(intensity, exactly(peak_flops(t) / t->device.hbm_bytes_per_s)));
}

/* ---- DMA ---- */

enum { DMA_ACTIVE = 0, DMA_SHARE, DMA_PACKET_TIME, DMA_QUEUES };

static osc_figure f_dma(const osc_totals *t, int which)
{
    switch (which) {
    case DMA_ACTIVE: return seconds(t->packets.active);
    case DMA_SHARE: return real(over(t->packets.active, t->total_ns));
    case DMA_PACKET_TIME: return seconds(t->packets.time);
    default: return count_of(t->queues);
    }
}

enum { TRANSFER_TIME = 0, TRANSFER_COUNT, TRANSFER_BYTES, TRANSFER_MEAN };

static osc_figure f_transfers(const osc_totals *t, int which)
{
    switch (which) {
    case TRANSFER_TIME: return seconds(t->transfers.time);
    case TRANSFER_COUNT: return count_of(t->transfers.count);
    case TRANSFER_BYTES: return count_of(t->transfers.bytes);
    default:
        return real(over(exactly((double)t->transfers.bytes), exactly((double)t->transfers.count)));
    }
}

/* A class without packets has no time, count and size; its shares are 0. */
static osc_figure f_class_active(const osc_totals *t, int c)
{
    return t->dma[c].count > 0 ? seconds(t->dma[c].active) : none();
}

static osc_figure f_class_count(const osc_totals *t, int c)
{
    return t->dma[c].count > 0 ? count_of(t->dma[c].count) : none();
}

static osc_figure f_class_size(const osc_totals *t, int c)
{
    return t->dma[c].bytes > 0 ? count_of(t->dma[c].bytes) : none();
}

static osc_bounds class_active_share(const osc_totals *t, int c)
{
    return t->dma[c].count > 0 ? over(t->dma[c].active, t->packets.active) : exactly(0);
}

static osc_bounds class_packet_share(const osc_totals *t, int c)
{
    return over(exactly((double)t->dma[c].count), exactly((double)t->packets.count));
}

static osc_bounds class_size_share(const osc_totals *t, int c)
{
    return over(exactly((double)t->dma[c].bytes), exactly((double)t->packets.bytes));
}

static osc_figure f_class_active_share(const osc_totals *t, int c)
{
    return real(class_active_share(t, c));
}

static osc_figure f_class_packet_share(const osc_totals *t, int c)
{
    return real(class_packet_share(t, c));
}

static osc_figure f_class_size_share(const osc_totals *t, int c)
{
    return real(class_size_share(t, c));
}

static osc_figure sum_of(osc_bounds a, osc_bounds b)
{
    return real((osc_bounds){a.value + b.value, a.low + b.low, a.high + b.high});
}

enum { DYNAMIC_PACKETS = 0, DYNAMIC_SIZE, DYNAMIC_ACTIVE };

static osc_figure f_dynamic(const osc_totals *t, int which)
{
    const int s = OSC_DMA_SOFTWARE_DYNAMIC, h = OSC_DMA_HARDWARE_DYNAMIC;
    switch (which) {
    case DYNAMIC_PACKETS: return sum_of(class_packet_share(t, s), class_packet_share(t, h));
    case DYNAMIC_SIZE: return sum_of(class_size_share(t, s), class_size_share(t, h));
    default: return sum_of(class_active_share(t, s), class_active_share(t, h));
    }
}

/* ---- memory ---- */

enum {
    MEM_HBM_READ = 0,
    MEM_HBM_WRITE,
    MEM_SBUF_READ,
    MEM_SBUF_WRITE,
    MEM_PSUM_READ,
    MEM_PSUM_WRITE,
    MEM_PSUM_TO_SBUF,
    MEM_PSUM_TO_SBUF_COUNT,
    MEM_INPUT_QUEUE,
    MEM_OUTPUT_QUEUE,
    MEM_WEIGHT_QUEUE,
    MEM_SPILL_SAVE,
    MEM_SPILL_RELOAD
};

static osc_figure f_traffic(const osc_totals *t, int which)
{
    const uint64_t sums[] = {
        t->hbm_read,     t->hbm_write,    t->sbuf_read,          t->sbuf_write,  t->psum_read,
        t->psum_write,   t->psum_to_sbuf, t->psum_to_sbuf_count, t->input_queue, t->output_queue,
        t->weight_queue, t->spill_save,   t->spill_reload};
    return count_of(sums[which]);
}

enum { TENSOR_WEIGHTS = 0, TENSOR_INPUTS, TENSOR_ALL };

static double tensor_bytes(const osc_totals *t, int which)
{
    double bytes = (double)t->weight_bytes;
    bytes += which >= TENSOR_INPUTS ? (double)t->in_bytes : 0;
    return bytes + (which >= TENSOR_ALL ? (double)t->out_bytes : 0);
}

static osc_figure f_tensors(const osc_totals *t, int which)
{
    return t->has_tensors ? whole(tensor_bytes(t, which)) : none();
}

static osc_figure f_bandwidth(const osc_totals *t, int minimum)
{
    double bytes = minimum ? tensor_bytes(t, TENSOR_INPUTS) : hbm_bytes(t);
    if (!knows_memory(t) || (minimum && !t->has_tensors))
        return none();
    return real(over(exactly(bytes), times(total_s(t), t->device.hbm_bytes_per_s)));
}

/* ---- others ---- */

static osc_figure f_collectives(const osc_totals *t, int arg)
{
    (void)arg;
    return t->has_collectives ? none() : whole(0);
}

static osc_figure f_fact(const osc_totals *t, int which)
{
    static const char *const keys[] = {"profile_info.profiler_version", "model_info.nc_idx",
                                       "model_info.nd_idx"};
    osc_str text = osc_store_get_meta(t->view.store, keys[which]);
    double number;
    if (text.len == 0)
        return none();
    if (which > 0 && osc_parse_f64(text, &number))
        return whole(number);
    return (osc_figure){.present = true, .is_text = true, .text = text};
}

/* ---- the table ---- */

/* clang-format off */
#define FIELD(name, unit, basis, figure, arg, formula) {name, unit, basis, figure, arg, formula, NULL}

#define ENGINE_FIELDS(name, index)                                                            \
    FIELD(name "_engine_instruction_count", "n", "rows", f_engine_count, index,               \
          "instructions of the engine, EVENT_SEMAPHORE included"),                            \
    FIELD(name "_engine_instruction_time", "s", "rows", f_engine_time, index,                 \
          "sum of lengths of the engine's instructions except EVENT_SEMAPHORE"),              \
    FIELD(name "_engine_active_time", "s", "rows", f_engine_active, index,                    \
          "union of the same intervals"),                                                     \
    FIELD(name "_engine_active_time_percent", "fraction", "rows", f_engine_share, index,      \
          "active time / total_time")

#define CLASS_FIELDS(name, index, basis)                                                      \
    FIELD(name "_dma_active_time", "s", basis, f_class_active, index,                         \
          "union of the class's packets"),                                                    \
    FIELD(name "_dma_packet_count", "n", basis, f_class_count, index, "packets of the class"), \
    FIELD(name "_dma_size", "B", basis, f_class_size, index, "bytes of the class's packets"), \
    FIELD(name "_dma_active_time_percent", "fraction", basis, f_class_active_share, index,    \
          "active time / dma_active_time"),                                                   \
    FIELD(name "_dma_packet_percent", "fraction", basis, f_class_packet_share, index,         \
          "packets / all packets"),                                                           \
    FIELD(name "_dma_size_percent", "fraction", basis, f_class_size_share, index,             \
          "bytes / bytes of all packets")

#define TRAFFIC_FIELD(name, unit, basis, index) \
    FIELD(name, unit, basis, f_traffic, index, "sum over the instructions")

#define COLLECTIVE_FIELD(name, unit) \
    {name, unit, "zero", f_collectives, 0, "0 without collectives", NOT_COLLECTIVES}
/* clang-format on */

static const osc_summary_field fields[] = {
    {"total_time", "s", "fitted", f_total_time, 0,
     "start of the last NOTIFY + 183.35 ns; without one, or where the trace ends elsewhere, "
     "last_hw_timestamp - first_hw_timestamp; a capture of ours: its executions",
     NULL},
    {"neuroncore_cycle_count", "cycles", "rows", f_core_cycles, 0, "floor(total_time x core clock)",
     NO_CONSTANTS},
    {"total_active_time", "s", "rows", f_total_active, 0,
     "union of all instructions except EVENT_SEMAPHORE and of all packets", NULL},
    {"total_active_time_percent", "fraction", "rows", f_total_active, 1,
     "total_active_time / total_time", NULL},
    {"event_count", "n", "fitted", f_events, 0, "rows of semaphore_update + 54", NO_SEMAPHORES},
    {"trace_count", "n", "fitted", f_events, 1, "instructions + packets + transfers + event_count",
     NO_SEMAPHORES},
    ENGINE_FIELDS("tensor", 0),
    ENGINE_FIELDS("vector", 1),
    ENGINE_FIELDS("scalar", 2),
    ENGINE_FIELDS("gpsimd", 3),
    ENGINE_FIELDS("sync", 4),
    {"matmul_instruction_count", "n", "rows", f_matmuls, 0, "MATMUL, transposes too", NULL},
    {"activate_instruction_count", "n", "rows", f_activates, 0, "ACTIVATE, ACTIVATE_QUANTIZE",
     NULL},
    {"activate_instruction_time", "s", "rows", f_activates, 1, "sum of their lengths", NULL},
    {"hardware_flops", "flop", "rows", f_flops, FLOPS_HARDWARE, "2 x elements", NULL},
    {"transpose_flops", "flop", "rows", f_flops, FLOPS_TRANSPOSE,
     "2 x elements of TRANSPOSE instructions", NULL},
    {"model_flops", "flop", "rows", f_flops, FLOPS_MODEL, "2 x elements of REGULAR instructions",
     NULL},
    {"peak_flops_bandwidth_ratio", "flop/B", "rows", f_ratio, 0,
     "2 x array rows x columns x clock / memory bandwidth", NO_CONSTANTS},
    {"mm_arithmetic_intensity", "flop/B", "rows", f_intensity, 0,
     "(hardware_flops - transpose_flops) / (hbm_read_bytes + hbm_write_bytes)", NULL},
    {"mfu_estimated_percent", "fraction", "rows", f_utilisation, USE_MODEL,
     "model_flops / (peak x total_time)", NO_CONSTANTS},
    {"mfu_hlo_estimated_percent", "fraction", "rows", f_utilisation, USE_MODEL,
     "model_flops / (peak x total_time)", NO_CONSTANTS},
    {"mfu_inst_estimated_percent", "fraction", "rows", f_utilisation, USE_INSTRUCTIONS,
     "(hardware_flops - transpose_flops) / (peak x total_time)", NO_CONSTANTS},
    {"hfu_estimated_percent", "fraction", "rows", f_utilisation, USE_HARDWARE,
     "hardware_flops / (peak x total_time)", NO_CONSTANTS},
    {"mfu_max_achievable_estimated_percent", "fraction", "rows", f_achievable, USE_MODEL,
     "(model_flops / memory bytes) / peak_flops_bandwidth_ratio", NO_CONSTANTS},
    {"mfu_hlo_max_achievable_estimated_percent", "fraction", "rows", f_achievable, USE_MODEL,
     "(model_flops / memory bytes) / peak_flops_bandwidth_ratio", NO_CONSTANTS},
    {"mfu_inst_max_achievable_estimated_percent", "fraction", "rows", f_achievable,
     USE_INSTRUCTIONS, "mm_arithmetic_intensity / peak_flops_bandwidth_ratio", NO_CONSTANTS},
    {"dma_active_time", "s", "rows", f_dma, DMA_ACTIVE, "union of the packets of all queues", NULL},
    {"dma_active_time_percent", "fraction", "rows", f_dma, DMA_SHARE,
     "dma_active_time / total_time", NULL},
    {"dma_active_cycles", "cycles", "rows", f_dma_cycles, 0, "floor(dma_active_time x core clock)",
     NO_CONSTANTS},
    {"dma_packet_time", "s", "rows", f_dma, DMA_PACKET_TIME, "sum of lengths of the packets", NULL},
    {"dma_transfer_time", "s", "rows", f_transfers, TRANSFER_TIME,
     "sum of lengths of the transfers", NULL},
    {"dma_transfer_count", "n", "rows", f_transfers, TRANSFER_COUNT, "transfers", NULL},
    {"dma_transfer_total_bytes", "B", "rows", f_transfers, TRANSFER_BYTES, "their bytes", NULL},
    {"dma_transfer_average_bytes", "B", "rows", f_transfers, TRANSFER_MEAN,
     "dma_transfer_total_bytes / dma_transfer_count", NULL},
    {"dma_queue_count", "n", "rows", f_dma, DMA_QUEUES,
     "distinct pairs of queue and DMA engine among the packets", NULL},
    CLASS_FIELDS("static", OSC_DMA_STATIC, "rows"),
    CLASS_FIELDS("software_dynamic", OSC_DMA_SOFTWARE_DYNAMIC, "rows"),
    CLASS_FIELDS("hardware_dynamic", OSC_DMA_HARDWARE_DYNAMIC, "zero"),
    {"dynamic_dma_packet_percent", "fraction", "rows", f_dynamic, DYNAMIC_PACKETS,
     "software_dynamic + hardware_dynamic share", NULL},
    {"dynamic_dma_size_percent", "fraction", "rows", f_dynamic, DYNAMIC_SIZE,
     "software_dynamic + hardware_dynamic share", NULL},
    {"dynamic_dma_active_time_percent", "fraction", "rows", f_dynamic, DYNAMIC_ACTIVE,
     "software_dynamic + hardware_dynamic share", NULL},
    TRAFFIC_FIELD("hbm_read_bytes", "B", "rows", MEM_HBM_READ),
    TRAFFIC_FIELD("hbm_write_bytes", "B", "rows", MEM_HBM_WRITE),
    TRAFFIC_FIELD("sbuf_read_bytes", "B", "rows", MEM_SBUF_READ),
    TRAFFIC_FIELD("sbuf_write_bytes", "B", "rows", MEM_SBUF_WRITE),
    TRAFFIC_FIELD("psum_read_bytes", "B", "rows", MEM_PSUM_READ),
    TRAFFIC_FIELD("psum_write_bytes", "B", "rows", MEM_PSUM_WRITE),
    TRAFFIC_FIELD("psum_read_sbuf_write_bytes", "B", "rows", MEM_PSUM_TO_SBUF),
    TRAFFIC_FIELD("psum_read_sbuf_write_count", "n", "rows", MEM_PSUM_TO_SBUF_COUNT),
    TRAFFIC_FIELD("weight_queue_bytes", "B", "rows", MEM_WEIGHT_QUEUE),
    TRAFFIC_FIELD("input_queue_bytes", "B", "zero", MEM_INPUT_QUEUE),
    TRAFFIC_FIELD("output_queue_bytes", "B", "zero", MEM_OUTPUT_QUEUE),
    TRAFFIC_FIELD("spill_save_bytes", "B", "zero", MEM_SPILL_SAVE),
    TRAFFIC_FIELD("spill_reload_bytes", "B", "zero", MEM_SPILL_RELOAD),
    {"weight_size_bytes", "B", "rows", f_tensors, TENSOR_WEIGHTS, "tensors WEIGHT", NO_TENSORS},
    {"inputs_and_weights_size_bytes", "B", "rows", f_tensors, TENSOR_INPUTS, "tensors IN, WEIGHT",
     NO_TENSORS},
    {"inputs_outputs_weights_size_bytes", "B", "rows", f_tensors, TENSOR_ALL,
     "tensors IN, OUT, WEIGHT", NO_TENSORS},
    {"mbu_estimated_percent", "fraction", "rows", f_bandwidth, 0,
     "(hbm_read_bytes + hbm_write_bytes) / total_time / memory bandwidth", NO_CONSTANTS},
    {"mbu_min_read_util_percent", "fraction", "rows", f_bandwidth, 1,
     "inputs_and_weights_size_bytes / total_time / memory bandwidth", NO_CONSTANTS},
    COLLECTIVE_FIELD("cc_op_time", "s"),
    COLLECTIVE_FIELD("cc_op_active_time", "s"),
    COLLECTIVE_FIELD("cc_op_active_time_percent", "fraction"),
    COLLECTIVE_FIELD("cc_op_count", "n"),
    COLLECTIVE_FIELD("cc_cores_instruction_time", "s"),
    COLLECTIVE_FIELD("cc_cores_instruction_active_time", "s"),
    COLLECTIVE_FIELD("cc_cores_instruction_active_time_percent", "fraction"),
    COLLECTIVE_FIELD("cc_cores_instruction_count", "n"),
    {"profiler_version", "", "copied", f_fact, 0, "profile_info.profiler_version", NULL},
    {"nc_idx", "", "copied", f_fact, 1, "model_info.nc_idx", NULL},
    {"nd_idx", "", "copied", f_fact, 2, "model_info.nd_idx", NULL},
};

const osc_summary_field *osc_summary_field_list(size_t *count)
{
    *count = sizeof fields / sizeof *fields;
    return fields;
}
