/*
 * kinds.h - the small enumerations of the store, with the names people and files use for them.
 *
 * Numbers are fixed: other programs will read them from exported tables.
 */
#ifndef OSC_STORE_KINDS_H
#define OSC_STORE_KINDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What a slice is; Kineto's activity types (kineto-trace-format.md 1.3) plus our own. */
typedef enum osc_slice_kind {
    OSC_KIND_OTHER = 0,
    OSC_KIND_CPU_OP = 1,
    OSC_KIND_USER_ANNOTATION = 2,
    OSC_KIND_PYTHON = 3,
    OSC_KIND_RUNTIME = 4, /* a host call into a device runtime or driver */
    OSC_KIND_KERNEL = 5,
    OSC_KIND_MEMCPY = 6,
    OSC_KIND_MEMSET = 7,
    OSC_KIND_GPU_ANNOTATION = 8,
    OSC_KIND_SYNC = 9, /* sync, event and profiler ranges: device rows, never busy time */
    OSC_KIND_MTIA = 10,
    OSC_KIND_HPU = 11,
    OSC_KIND_OVERHEAD = 12,
    OSC_KIND_SPAN = 13, /* the profiler's own span, cat Trace */
    OSC_KIND_LANE = 14, /* drawn beside Kineto's events by our exporter; Kineto never counted it */
    OSC_KIND_NRT = 15,  /* the runtime's own trace: nrta_execute_schedule, copies */
    OSC_KIND_HW = 16,   /* nc_exec_running */
    OSC_KIND_INST = 17, /* an instruction on an engine of a device profile */
    OSC_KIND_DMA = 18,  /* a packet or transfer of a DMA queue of a device profile */
    OSC_KIND_COUNT
} osc_slice_kind;

#define OSC_SLICE_UNFINISHED  0x01u /* still open when the profiler stopped */
#define OSC_SLICE_NO_TIME     0x02u /* its start or length was missing or unreadable */
#define OSC_SLICE_XPU         0x04u /* its category named an XPU */
#define OSC_SLICE_PRIVATEUSE1 0x08u /* its category named a PrivateUse1 backend */
/* Drawn on a stream lane: what a driver says it did for a stream. */
#define OSC_SLICE_STREAM 0x10u

typedef enum osc_lane_kind {
    OSC_LANE_THREAD = 1,  /* framework/TID:<id> */
    OSC_LANE_STREAM = 2,  /* framework/Stream:<n> */
    OSC_LANE_RUNTIME = 3, /* neuron_rt/NC:<n> */
    OSC_LANE_CORE = 4,    /* neuron_hw/NC:<n> */
    OSC_LANE_DEVICE = 5,  /* device:<d>/Stream:<n> of another accelerator */
    OSC_LANE_SPAN = 6,
    OSC_LANE_ENGINE = 7, /* neuron_device/NC:<n>/<engine> */
    OSC_LANE_QUEUE = 8   /* neuron_device/NC:<n>/DMA <engine> <queue> */
} osc_lane_kind;

/* How a link is known, best first. */
typedef enum osc_link_rule {
    OSC_LINK_EXTERNAL_ID = 1,
    OSC_LINK_CORRELATION = 2,
    OSC_LINK_CONTAINMENT = 3,
    OSC_LINK_SEQUENCE_ID = 4,
    OSC_LINK_EXEC_ID = 5
} osc_link_rule;

typedef enum osc_work_kind {
    OSC_WORK_INST = 1,
    OSC_WORK_DMA = 2,
    OSC_WORK_PREAMBLE = 3,
    OSC_WORK_POSTAMBLE = 4,
    OSC_WORK_TRANSFER = 5 /* a transfer as a whole; its packets are rows of OSC_WORK_DMA */
} osc_work_kind;

/* Who made the descriptors of a DMA packet. */
typedef enum osc_dma_class {
    OSC_DMA_OTHER = 0,
    OSC_DMA_STATIC = 1,           /* the compiler */
    OSC_DMA_SOFTWARE_DYNAMIC = 2, /* GpSimd, while running */
    OSC_DMA_HARDWARE_DYNAMIC = 3  /* the descriptor generation hardware */
} osc_dma_class;

#define OSC_TRAFFIC_REGULAR      0x01u /* arithmetic of the model */
#define OSC_TRAFFIC_TRANSPOSE    0x02u /* a transpose on the tensor engine */
#define OSC_TRAFFIC_PSUM_TO_SBUF 0x04u

/* Added to the number of an event (not a semaphore) that work waits for. */
#define OSC_SEM_EVENT 0x10000u

/* Why work started later than it was ready; the numbers of artifact/event.h. */
typedef enum osc_wait_kind {
    OSC_WAIT_NOTHING = 0,
    OSC_WAIT_SEMAPHORE = 1,
    OSC_WAIT_BUSY = 2,
    OSC_WAIT_PORT = 3,
    OSC_WAIT_BARRIER = 4,
    OSC_WAIT_DMA_START = 5
} osc_wait_kind;

/* Static names: "cpu_op", "correlation". "?" for a number that is none. */
const char *osc_slice_kind_name(osc_slice_kind kind);
const char *osc_link_rule_name(osc_link_rule rule);

/* Kind of a Chrome-trace category, old names folded in (kineto-trace-format.md 1.3); sets the
 * OSC_SLICE_XPU or OSC_SLICE_PRIVATEUSE1 bit in *flags. OSC_KIND_OTHER when unknown. */
osc_slice_kind osc_slice_kind_of(osc_str category, uint8_t *flags);

/* True for work done by a device: kernels, copies, fills. */
bool osc_slice_kind_is_device_work(osc_slice_kind kind);

#endif
