/*
 * sheet.c - every number of the device model, once, with its unit and its source.
 *
 * SHEET_ROWS is the only place where a value stands. It makes the rows for people (docs/isa.md, the
 * lookup by name) and the three constant sheets for the model. Sections named without a file are of
 * neuroncore-model.md; "measured 7" is section 7 of neuroncore-v2-measured.md. The word behind the
 * colon says how good a value is:
 *
 *     documented  stated by the vendor            derived  computed from published figures
 *     measured    read off a published trace      fitted   chosen so that a published total comes out
 *     guessed     no public figure; a knob
 *
 * Where section 9 gives a range, the value in use and the reason stand in the source. Where the nine
 * trn1 profiles correct section 9 and the model has the parameter, the corrected value is used.
 *
 * Rejected: a data file read at start. A missing or edited file would change results silently; single
 * values can be changed by osc_sheet_set, which a run records.
 */
#include "isa/sheet.h"

#include "base/str.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define GIB (1024.0 * 1024.0 * 1024.0)

/* R(field, unit, trn1, trn2, trn3, meaning, source), in the order of OSC_SHEET_FIELDS */
/* clang-format off */
#define SHEET_ROWS(R) \
    R(pe_mhz, "MHz", 2800, 2400, 2400, "clock of Tensor", "1.2: documented") \
    R(dve_mhz, "MHz", 1120, 960, 1200, "clock of Vector", "1.2: documented") \
    R(act_mhz, "MHz", 1400, 1200, 1200, "clock of Scalar", "1.2: documented") \
    R(pool_mhz, "MHz", 1400, 1200, 1200, "clock of GpSimd", "1.2: documented") \
    R(sbuf_partition_bytes, "B", 180224, 212984, 245752, "usable SBUF per partition", \
      "1.1 and 9 (sbuf_usable): documented") \
    R(psum_partition_bytes, "B", 16384, 16384, 16384, "PSUM per partition", "1.1: documented") \
    R(psum_banks, "banks", 8, 8, 8, "PSUM banks, equal parts of a partition", "1.1: documented") \
    R(hbm_bytes, "B", 16 * GIB, 24 * GIB, 36 * GIB, "HBM of one logical core", \
      "1.1: derived, chip HBM / logical cores: 32 GiB / 2, 96 GiB / 4, 144 GiB / 4") \
    R(matmul_free_max, "elements", 512, 512, 4096, "largest N of a matmul with fp32 results", \
      "1.4, 9: documented") \
    R(pe_ii_min_cycles, "cycles", 64, 64, 64, "least issue time of a matmul", "1.3, 1.6: documented") \
    R(pe_pass_16bit, "passes", 1, 1, 1, "passes of a 16-bit matmul", "9 (pe_pass): documented") \
    R(pe_pass_fp32, "passes", 4, 4, 4, "passes of an fp32 matmul", "9 (pe_pass): documented") \
    R(pe_transpose_fp32_passes, "passes", 4, 2, 2, "passes of a 4-byte PE transpose", \
      "1.6, 9: documented, trn3 as trn2: guessed") \
    R(pe_eff, "ratio", 0.89, 0.988, 0.988, "rate of Tensor against its clock", \
      "1.6, 9: derived; trn1 stands for the 7/8 limit that measured 5 sees behind 220 ns of a burst") \
    R(pe_latency_ns, "ns", 141, 160, 160, "last row streamed to result visible", \
      "1.6, 9: trn1 derived (measured 5 has 143 to 148 at full rate), others guessed") \
    R(ldweights_ns, "ns", 84, 53, 53, "load of 128 x 128 16-bit weights", \
      "measured 5 for trn1: measured; 9 for others: guessed") \
    R(pe_ramp_start, "ratio", 1.0, 0.5, 0.5, "rate factor of Tensor after idling", \
      "1.3, 9: documented; 1 is off") \
    R(pe_ramp_us, "us", 3, 3, 3, "busy time from pe_ramp_start to full rate", "1.3, 9: documented") \
    R(pe_ramp_window_us, "us", 3, 3, 3, "window whose utilisation below half re-arms the ramp", \
      "1.3, 9: documented") \
    R(min_ii_cycles, "cycles", 64, 64, 64, "least issue time on Vector, Scalar, GpSimd", \
      "1.3, 9: documented") \
    R(dve_fixed_cycles, "cycles", 60, 60, 60, "latency of Vector beyond the issue time", \
      "1.3 (60 per access, 100 dependent), 2.2 (about 50 a pass), 9 (50-100): derived") \
    R(act_fixed_cycles, "cycles", 122, 122, 122, "cost of Scalar beyond N, behind a running one", \
      "1.9, measured 6 for trn1: measured; others as trn1: guessed") \
    R(act_fixed_alone_cycles, "cycles", 219, 350, 350, "cost of Scalar beyond N, alone", \
      "measured 6 (156.6 ns) for trn1, 1.9 (292 ns) for trn2: measured; trn3 as trn2: guessed") \
    R(pool_fixed_cycles, "cycles", 150, 150, 150, "start of a GpSimd instruction", "1.3, 9: documented") \
    R(act_accread_cycles, "cycles", 64, 64, 64, "read-out of Scalar's accumulator", "1.9: documented") \
    R(act_table_load_ns, "ns", 368, 1285, 1285, "change of the function set", \
      "1.9, measured 6: measured; trn3 as trn2: guessed") \
    R(dve_perf_contig_16bit, "elements/cycle", 1, 4, 4, \
      "tensor_copy and tensor_scalar on Vector, 16-bit, contiguous, in SBUF", "1.7, 9: documented") \
    R(dve_perf_other_16bit, "elements/cycle", 1, 2, 2, \
      "the same, not contiguous or one side in PSUM", "1.7, 9: documented") \
    R(dve_tt_16bit_scale, "cycles/element", 1, 1, 1, \
      "tensor_tensor on Vector, all three operands 16-bit in SBUF", \
      "1.7, 2.1: documented as N; the port width would allow N/2 on trn2") \
    R(dve_tt_other_scale, "cycles/element", 2, 2, 2, "tensor_tensor on Vector, both inputs in SBUF", \
      "2.1: documented") \
    R(dve_recip_scale, "cycles/element", 8, 8, 8, "reciprocal on Vector", "2.1: documented") \
    R(act_16bit_factor, "elements/cycle", 1, 1, 2, "16-bit tensor_copy and tensor_scalar on Scalar", \
      "1.7, 9: documented") \
    R(pool_scale, "cycles/element", 1, 1, 1, "elementwise instructions on GpSimd", \
      "1.2 (128 elements a cycle on v2 and v4): documented; trn2: guessed") \
    R(sem_hop_ns, "ns", 40, 45, 45, "semaphore change to the waiting engine's start", \
      "1.3, 9: trn1 measured, others guessed") \
    R(dma_engines, "engines", 16, 16, 16, "DMA engines of a core", "1.8, 9: documented") \
    R(dma_rings, "rings", 16, 16, 16, "rings of a DMA engine; stated only, no formula uses it", \
      "1.8, 9: documented") \
    R(dma_bw, "B/ns", 17.3, 23, 33, "rate of one DMA engine in practice", \
      "measured 7 (large stores) for trn1: measured; 1.8, 9 for others: documented") \
    R(dma_bw_peak, "B/ns", 27.2, 27.2, 38.4, "peak rate of one DMA engine; stated only, no formula uses it", \
      "1.8: documented") \
    R(hbm_bw, "B/ns", 410, 368, 600, "HBM share of one core", \
      "9: documented; middle of 362-375 and of 588-612") \
    R(dma_desc_ns, "ns", 7, 107, 75, "least time of one descriptor on its engine", \
      "1.8: trn1 measured (a 4-byte transfer), trn2 derived from the bandwidth chart, trn3 guessed") \
    R(dma_desc_stream_ns, "ns", 1, 0, 0, "time added to each descriptor of a stream", \
      "measured 7 (1 + B/26.3) for trn1: measured; others inside dma_desc_ns") \
    R(dma_start_static_ns, "ns", 438, 700, 700, \
      "trigger to first data, host-built ring (queues of Tensor and Vector)", \
      "measured 7 (median) for trn1: measured; 9 for others: derived") \
    R(dma_start_swdge_ns, "ns", 947, 895, 895, \
      "start of GpSimd's instruction to first data, descriptor building included", \
      "measured 7 (649 + 298) for trn1, 1.8 and 1.9 (store, 895) for trn2: measured; trn3 guessed") \
    R(dma_start_hwdge_ns, "ns", 438, 1005, 1005, \
      "trigger to first data, hardware descriptors (queues of Sync and Scalar), generation included", \
      "1.8 for trn2: measured; trn3 guessed; trn1 has none: its Sync and Scalar use static rings") \
    R(dma_trigger_ns, "ns", 37, 37, 37, "issuing engine busy with a trigger", \
      "1.3 (register WRITE), measured 3 for trn1: measured; others as trn1: guessed") \
    R(dma_sem_write_ns, "ns", 7, 7, 7, "semaphore write of each DMA engine at the end", \
      "1.8, 9: trn1 measured, others guessed") \
    R(dma_wake_ns, "ns", 217, 300, 300, "last semaphore write to the waiting engine's start", \
      "measured 7 (147 + 70) for trn1, 1.8 for trn2: measured; trn3 guessed") \
    R(swdge_spacing_ns, "ns", 649, 650, 650, "GpSimd busy building descriptors, per DMA", \
      "measured 6 for trn1: measured; 9 for others: guessed") \
    R(hwdge_spacing_ns, "ns", 0, 600, 600, "least distance of DMAs of one hardware generator", \
      "1.8, 9: documented; trn1 has none") \
    R(dma_transpose_eff_hbm, "ratio", 0.5, 0.9, 0.9, "rate of dma_transpose against dma_copy, HBM side", \
      "1.8, 9: documented; trn1 as its SBUF figure: guessed") \
    R(dma_transpose_eff_sbuf, "ratio", 0.5, 0.5, 0.5, "the same, SBUF to SBUF", "1.8, 9: documented") \
    R(dma_packet_bytes, "B", 4096, 4096, 4096, "arbitration unit of a DMA ring; stated only, no formula uses it", \
      "1.8, 9: documented") \
    R(neff_preamble_ns, "ns", 3900, 4000, 4000, "start of an execution to its first instruction", \
      "1.9, 9: trn1 measured, others guessed") \
    R(neff_postamble_ns, "ns", 2632, 2600, 2600, "last instruction to end of the execution", \
      "1.9, measured 10 for trn1: measured; 9 for others: guessed") \
    R(notify_ns, "ns", 11, 11, 11, "notify", "1.9, 9: trn1 measured, others as trn1") \
    R(reg_write_ns, "ns", 37, 37, 37, "register move and arithmetic", \
      "1.3, 2.1: trn1 measured, others as trn1") \
    R(reg_load_ns, "ns", 671, 671, 671, "register load from memory", \
      "1.9, 2.1: trn1 measured, others as trn1") \
    R(branch_ns, "ns", 47, 47, 47, "branch", "1.9, measured 3 (42 to 53): measured, others as trn1") \
    R(barrier_ns, "ns", 290, 290, 290, "barrier, from the last engine's coming", \
      "measured 4: measured, others as trn1") \
    R(nop_ns, "ns", 16, 16, 16, "nop", "1.3, measured 3: measured, others as trn1") \
    R(sem_inst_ns, "ns", 13, 13, 13, "sem_wait and sem_inc", \
      "1.3 (9 to 17), measured 3: measured, others as trn1") \
    R(host_link_bw, "B/ns", 16, 16, 16, "host link", "1.1 (figure): documented") \
    R(host_copy_fixed_ns, "ns", 9000, 9000, 9000, "host copy beyond its bytes", \
      "5.2: derived, 13,785 copies in the 124.5 ms of ESM-2 eager, so at most 9.0 us each") \
    R(lnc, "cores", 1, 2, 2, "physical cores of a logical one", "1.1: documented") \
    R(launch_dispatch_us, "us", 30, 30, 30, "dispatch, while a profiler captures", "5.3: fitted") \
    R(launch_lookup_us, "us", 15, 15, 15, "compile cache look-up, captured", "5.3: fitted") \
    R(launch_alloc_us, "us", 25, 25, 25, "allocation of one output, captured", "5.3: fitted") \
    R(launch_submit_us, "us", 45, 45, 45, "submission, captured", "5.3: fitted") \
    R(launch_switch_us, "us", 90, 90, 90, "change of the loaded program, captured", "5.3: fitted") \
    R(launch_notify_us, "us", 70, 70, 70, "completion to event, captured", "5.3: fitted") \
    R(launch_prof_us, "us", 106, 106, 106, "the profiler's own work", "5.3: fitted") \
    R(launch_sigma_us, "us", 0, 0, 0, "spread of a launch, captured", \
      "5.3 has 32: set to 0, simulated time is exact") \
    R(sync_dispatch_us, "us", 20, 20, 20, "dispatch, no profiler", "5.3: fitted") \
    R(sync_lookup_us, "us", 10, 10, 10, "compile cache look-up, no profiler", "5.3: fitted") \
    R(sync_alloc_us, "us", 10, 10, 10, "allocation of one output, no profiler", "5.3: fitted") \
    R(sync_submit_us, "us", 30, 30, 30, "submission, no profiler", "5.3: fitted") \
    R(sync_switch_us, "us", 30, 30, 30, "change of the loaded program, no profiler", "5.3: fitted") \
    R(sync_notify_us, "us", 40, 40, 40, "completion to event, no profiler", "5.3: fitted") \
    R(sync_prof_us, "us", 0, 0, 0, "the profiler's own work, no profiler", "5.3: fitted") \
    R(sync_sigma_us, "us", 0, 0, 0, "spread of a launch, no profiler", \
      "5.3 has 8: set to 0, simulated time is exact")
/* clang-format on */

enum {
#define FIELD_NUMBER(name) FIELD_##name,
    OSC_SHEET_FIELDS(FIELD_NUMBER)
#undef FIELD_NUMBER
        FIELD_COUNT
};

static const osc_sheet_row ROWS[FIELD_COUNT] = {
#define ROW(field, unit_text, v1, v2, v3, meaning_text, source_text) \
    [FIELD_##field] = {.name = #field,                               \
                       .unit = (unit_text),                          \
                       .value = {(v1), (v2), (v3)},                  \
                       .meaning = (meaning_text),                    \
                       .source = (source_text),                      \
                       .offset = offsetof(osc_sheet, field)},
    SHEET_ROWS(ROW)
#undef ROW
};

#define COUNT_ONE(field, unit, v1, v2, v3, meaning, source) +1
_Static_assert((0 SHEET_ROWS(COUNT_ONE)) == FIELD_COUNT, "one row per field of osc_sheet");
#undef COUNT_ONE

static const osc_sheet DEFAULTS[OSC_GENERATIONS] = {
#define VALUE_TRN1(field, unit, v1, v2, v3, meaning, source) .field = (v1),
#define VALUE_TRN2(field, unit, v1, v2, v3, meaning, source) .field = (v2),
#define VALUE_TRN3(field, unit, v1, v2, v3, meaning, source) .field = (v3),
    [OSC_TRN1] = {.size = sizeof(osc_sheet), .generation = OSC_TRN1, SHEET_ROWS(VALUE_TRN1)},
    [OSC_TRN2] = {.size = sizeof(osc_sheet), .generation = OSC_TRN2, SHEET_ROWS(VALUE_TRN2)},
    [OSC_TRN3] = {.size = sizeof(osc_sheet), .generation = OSC_TRN3, SHEET_ROWS(VALUE_TRN3)},
#undef VALUE_TRN1
#undef VALUE_TRN2
#undef VALUE_TRN3
};

const osc_sheet *osc_sheet_default(osc_generation generation)
{
    assert((unsigned)generation < OSC_GENERATIONS);
    return &DEFAULTS[generation];
}

static const char *const GENERATION_NAMES[OSC_GENERATIONS] = {"trn1", "trn2", "trn3"};

osc_status osc_generation_parse(const char *name, osc_generation *out, osc_err *err)
{
    for (unsigned i = 0; i < OSC_GENERATIONS; i++) {
        if (strcmp(name, GENERATION_NAMES[i]) == 0) {
            *out = (osc_generation)i;
            return OSC_OK;
        }
    }
    if (strcmp(name, "inf2") == 0) { /* the same core as trn1 (1.1) */
        *out = OSC_TRN1;
        return OSC_OK;
    }
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                    "unknown device generation '%.32s'; known are trn1, trn2, trn3 and inf2", name);
}

const char *osc_generation_name(osc_generation generation)
{
    return (unsigned)generation < OSC_GENERATIONS ? GENERATION_NAMES[generation] : "?";
}

const osc_sheet_row *osc_sheet_rows(size_t *count)
{
    *count = FIELD_COUNT;
    return ROWS;
}

static const osc_sheet_row *find_row(const char *name)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcmp(ROWS[i].name, name) == 0)
            return &ROWS[i];
    }
    return NULL;
}

static osc_status unknown_name(const char *name, osc_err *err)
{
    const char *names[FIELD_COUNT];
    for (size_t i = 0; i < FIELD_COUNT; i++)
        names[i] = ROWS[i].name;
    const char *nearest = osc_nearest(osc_str_from_cstr(name), names, FIELD_COUNT);
    if (nearest != NULL)
        return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                        "no device parameter '%.64s'; did you mean '%s'?", name, nearest);
    return osc_fail(err, OSC_ENOTFOUND, NULL, OSC_NO_OFFSET,
                    "no device parameter '%.64s'; docs/isa.md lists them", name);
}

/* Parameters that size something in the model; beyond these the model has no place for more. */
static const struct size_limit {
    const char *name;
    double max;
} SIZE_LIMITS[] = {
    {"sbuf_partition_bytes", 1024 * 1024},
    {"psum_partition_bytes", 16384},
    {"psum_banks", 8},
    {"matmul_free_max", 4096},
    {"dma_engines", 16},
    {"dma_rings", 16},
};

static double limit_of(const char *name)
{
    for (size_t i = 0; i < sizeof SIZE_LIMITS / sizeof SIZE_LIMITS[0]; i++) {
        if (strcmp(SIZE_LIMITS[i].name, name) == 0)
            return SIZE_LIMITS[i].max;
    }
    return HUGE_VAL;
}

/* Only a cost may be 0: the model divides by clocks, rates and ratios. */
static bool may_be_zero(const osc_sheet_row *row)
{
    return strcmp(row->unit, "ns") == 0 || strcmp(row->unit, "us") == 0 ||
           strcmp(row->unit, "cycles") == 0;
}

osc_status osc_sheet_set(osc_sheet *sheet, const char *name, double value, osc_err *err)
{
    assert(sheet->size == sizeof(osc_sheet));
    const osc_sheet_row *row = find_row(name);
    if (row == NULL)
        return unknown_name(name, err);
    if (!(value >= 0) || isinf(value) || (value == 0 && !may_be_zero(row)))
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "device parameter '%s' must be a finite number of %s, %s", name, row->unit,
                        may_be_zero(row) ? "0 or more" : "more than 0");
    if (value > limit_of(name))
        return osc_fail(err, OSC_EINVAL, NULL, OSC_NO_OFFSET,
                        "device parameter '%s' may be at most %.0f", name, limit_of(name));
    assert(row->offset <= sizeof(osc_sheet) - sizeof(double));
    memcpy((char *)sheet + row->offset, &value, sizeof value);
    return OSC_OK;
}
