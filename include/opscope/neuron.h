/*
 * neuron.h - the virtual NeuronCore as a C library: discovery, memory, streams, events, copies,
 * operators, programs, captures.
 *
 * Plain C ABI, versioned by OSC_NEURON_ABI; structs passed by pointer start with their size. All
 * calls are thread-safe unless they say otherwise. Work is asynchronous: each device has one queue
 * thread that takes work in submission order and computes values and simulated time. An execution
 * is laid on the host's time line at max(submitted, core free), and synchronising really waits
 * until that instant. Times are int64 nanoseconds since the UNIX epoch unless named *_dev_ns
 * (device clock). Pointers to handles and results must not be NULL unless a comment allows it; err
 * and op may always be.
 *
 * The first call that needs the runtime starts it and reads the environment once: instance type,
 * cores, memory, caches, clock, model parameters. All variables: docs/runtime.md.
 */
#ifndef OPSCOPE_NEURON_H
#define OPSCOPE_NEURON_H

#include "opscope/graph.h"
#include "opscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OSC_NEURON_ABI 1
OSC_API uint32_t osc_neuron_abi(void); /* the library's OSC_NEURON_ABI */

/* ---- life cycle ---- */

typedef struct osc_nrt_info {
    size_t size;            /* sizeof(osc_nrt_info), set by the caller */
    char instance_type[16]; /* "trn2" */
    char instance_id[64];   /* "i-local" or the host's stable stand-in */
    uint32_t device_count;  /* logical NeuronCores visible */
    uint64_t hbm_bytes;     /* per device */
    bool is_virtual;        /* true: simulated time and values */
} osc_nrt_info;

/* Starts the runtime; does nothing when it runs already. OSC_EINVAL names a wrong environment
 * variable. OSC_ESTATE in a forked child of a process that had started it (message: the
 * documented fork text), and after shutdown; the same two answers come from every call below
 * that does work. */
OSC_API osc_status osc_nrt_init(osc_err *err) OSC_MUST_CHECK;
OSC_API bool osc_nrt_is_initialized(void);
OSC_API bool osc_nrt_in_bad_fork(void);
/* Discovery without starting threads or memory; works before init. */
OSC_API osc_status osc_nrt_get_info(osc_nrt_info *info, osc_err *err) OSC_MUST_CHECK;
/* Drains all queues, joins threads, ends an open capture (its files are completed). Later work is
 * refused with OSC_ESTATE, later frees are accepted. Safe to call twice, and in a forked child
 * (does nothing). */
OSC_API void osc_nrt_shutdown(void);

/* ---- memory ---- */

/* Device memory, 256-byte aligned. The address is not readable by the host (it faults): only copies
 * and programs reach it. Stream-ordered: a freed block may be handed out again at once. 0 bytes
 * gives NULL and OSC_OK. OSC_EDEVMEM: message names the size wanted, in use, and the capacity. */
OSC_API osc_status osc_nrt_alloc(int32_t device, int64_t stream, uint64_t bytes, void **out,
                                 osc_err *err) OSC_MUST_CHECK;
OSC_API void osc_nrt_free(void *address); /* NULL allowed; never blocks; allowed after shutdown */
/* Device that owns an address, -1 if none. */
OSC_API int32_t osc_nrt_device_of(const void *address);

typedef struct osc_nrt_memory {
    size_t size; /* sizeof(osc_nrt_memory) */
    /* Bytes. allocated: by osc_nrt_alloc; reserved: and what the allocator caches and programs need
     * as scratch. */
    uint64_t capacity, allocated, peak_allocated, reserved, peak_reserved;
    uint64_t alloc_count, free_count, oom_count;
    uint64_t total_allocated_bytes, total_freed_bytes;
} osc_nrt_memory;
OSC_API osc_status osc_nrt_memory_stats(int32_t device, osc_nrt_memory *out,
                                        osc_err *err) OSC_MUST_CHECK;
OSC_API void osc_nrt_memory_reset_peak(int32_t device);
OSC_API void osc_nrt_memory_reset_totals(int32_t device);
OSC_API void osc_nrt_empty_cache(void);

/* ---- streams and events ---- */

/* Stream 0 is each device's default. Streams of one device share its core; their copies may overlap
 * compute in simulated time. priority is kept and has no effect: one core runs everything in order.
 */
OSC_API osc_status osc_nrt_stream_create(int32_t device, int32_t priority, int64_t *out,
                                         osc_err *err) OSC_MUST_CHECK;
/* True when the stream is idle at this instant. */
OSC_API bool osc_nrt_stream_query(int32_t device, int64_t stream);
/* Waits for the stream's (device's) work and simulated end; returns and clears the first error of
 * that work. */
OSC_API osc_status osc_nrt_stream_synchronize(int32_t device, int64_t stream,
                                              osc_err *err) OSC_MUST_CHECK;
OSC_API osc_status osc_nrt_synchronize(int32_t device, osc_err *err) OSC_MUST_CHECK;

typedef struct osc_nrt_event osc_nrt_event;
OSC_API osc_status osc_nrt_event_create(osc_nrt_event **out, osc_err *err) OSC_MUST_CHECK;
/* NULL allowed; safe while work still refers to it. */
OSC_API void osc_nrt_event_destroy(osc_nrt_event *event);
OSC_API osc_status osc_nrt_event_record(osc_nrt_event *event, int32_t device, int64_t stream,
                                        osc_err *err) OSC_MUST_CHECK;
OSC_API osc_status osc_nrt_event_wait(osc_nrt_event *event, int32_t device, int64_t stream,
                                      osc_err *err) OSC_MUST_CHECK;
OSC_API bool osc_nrt_event_query(osc_nrt_event *event); /* true: never recorded, or reached */
OSC_API osc_status osc_nrt_event_synchronize(osc_nrt_event *event, osc_err *err) OSC_MUST_CHECK;
/* Simulated time between two reached events, ns. OSC_ESTATE when one is not recorded or not
 * reached. */
OSC_API osc_status osc_nrt_event_elapsed(osc_nrt_event *start, osc_nrt_event *end, int64_t *ns,
                                         osc_err *err) OSC_MUST_CHECK;

/* ---- who asks: framework facts that travel with every piece of work ---- */

typedef struct osc_nrt_op {
    size_t size;          /* sizeof(osc_nrt_op) */
    const char *name;     /* "aten::mul"; a literal, or interned by the caller for good */
    uint64_t correlation; /* framework correlation id, 0 if none */
    int64_t thread_id;    /* OS thread of the caller */
    int64_t enter_ns;     /* when the framework entered the operator; 0 = now */
} osc_nrt_op;

/* ---- copies (contiguous bytes; strided and casting copies are operators) ---- */

/* Host to device. The bytes are taken before the call returns (small or non_blocking) or the call
 * waits. */
OSC_API osc_status osc_nrt_write(int32_t device, int64_t stream, void *dst, const void *src,
                                 uint64_t bytes, bool non_blocking, const osc_nrt_op *op,
                                 osc_err *err) OSC_MUST_CHECK;
/* Device to host. Always waits for the value; returns the first error of earlier work on the
 * stream. */
OSC_API osc_status osc_nrt_read(int32_t device, int64_t stream, void *dst, const void *src,
                                uint64_t bytes, const osc_nrt_op *op, osc_err *err) OSC_MUST_CHECK;
/* Device to device, also across devices. Asynchronous. */
OSC_API osc_status osc_nrt_copy(int32_t device, int64_t stream, void *dst, const void *src,
                                uint64_t bytes, const osc_nrt_op *op, osc_err *err) OSC_MUST_CHECK;
/* Fills with a repeated pattern of 1, 2, 4, 8 or 16 bytes, as a DMA from a constant.
 * Asynchronous. */
OSC_API osc_status osc_nrt_fill(int32_t device, int64_t stream, void *dst, uint64_t count,
                                const void *pattern, uint32_t pattern_bytes, const osc_nrt_op *op,
                                osc_err *err) OSC_MUST_CHECK;

/* ---- operators (eager): one call packs one ATen operator ---- */

typedef struct osc_nrt_tensor {
    void *address;  /* device address of the first element; NULL allowed for 0 elements */
    uint32_t dtype; /* osc_dtype */
    uint32_t rank;
    const int64_t *size, *stride; /* elements; stay the caller's */
} osc_nrt_tensor;

typedef struct osc_nrt_call {
    size_t size;                   /* sizeof(osc_nrt_call) */
    const char *name;              /* schema name with overload, a literal: "aten::mul.Tensor" */
    const osc_nrt_tensor *tensors; /* all that args and outs mention, by index */
    uint32_t ntensors;
    const osc_arg *args; /* schema order; TENSOR args: arg.tensor = index in tensors */
    uint32_t nargs;
    const uint32_t *outs; /* indices in tensors; OSC_NO_VALUE for a result nobody needs */
    uint32_t nouts;
} osc_nrt_call;

/*
 * Runs one operator: key (name, dtypes, sizes, strides, immediates, aliasing) -> memory cache ->
 * disk cache -> compiler -> queue. The fast path is a hash, a probe and a ring push.
 * OSC_EUNSUPPORTED (also remembered) when there is no lowering: the caller falls back. The outputs
 * must not partly overlap the inputs.
 */
OSC_API osc_status osc_nrt_run_op(int32_t device, int64_t stream, const osc_nrt_call *call,
                                  const osc_nrt_op *op, osc_err *err) OSC_MUST_CHECK;
/* True when the compiler has a lowering under this name. Cheap. */
OSC_API bool osc_nrt_has_op(const char *name);
/* The compiler's operator names, sorted, static. */
OSC_API const char *const *osc_nrt_op_names(size_t *count);

/* ---- programs (compiled graphs) ---- */

typedef struct osc_nrt_program osc_nrt_program;

typedef struct osc_nrt_program_info {
    size_t size;
    const char *name; /* lives as long as the program */
    const char *cache_key;
    uint64_t hash;   /* the number in neff_<hash>_vnc_<n>.neff */
    int64_t body_ns; /* device body, preamble through postamble */
    uint32_t instructions;
    uint32_t slots; /* addresses a launch takes */
    uint64_t flops;
    bool from_disk_cache;
} osc_nrt_program_info;

/* Compiles or finds a graph. The result has one reference. */
OSC_API osc_status osc_nrt_compile(const osc_graph *graph, osc_nrt_program **out,
                                   osc_err *err) OSC_MUST_CHECK;
/* Loads a .neff file of ours. */
OSC_API osc_status osc_nrt_load_neff(const char *path, osc_nrt_program **out,
                                     osc_err *err) OSC_MUST_CHECK;
OSC_API void osc_nrt_program_release(osc_nrt_program *program);
OSC_API osc_status osc_nrt_program_get_info(const osc_nrt_program *program,
                                            osc_nrt_program_info *out, osc_err *err) OSC_MUST_CHECK;
/* Enqueues one execution; addresses: one per slot. */
OSC_API osc_status osc_nrt_launch(int32_t device, int64_t stream, osc_nrt_program *program,
                                  void *const *addresses, uint32_t count, const osc_nrt_op *op,
                                  osc_err *err) OSC_MUST_CHECK;

typedef struct osc_nrt_cache_stats {
    size_t size;
    uint64_t memory_hits, memory_misses, disk_hits, disk_misses, compilations, compile_ns,
        unsupported;
} osc_nrt_cache_stats;
OSC_API void osc_nrt_get_cache_stats(osc_nrt_cache_stats *out);

#ifdef __cplusplus
}
#endif

#include "opscope/capture.h"

#endif
