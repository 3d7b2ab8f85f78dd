/*
 * work.h - one piece of work in a device's queue: a fixed-size value, filled in place by the
 * caller.
 *
 * Three cache lines hold all of a typical operator (up to OSC_RT_WORK_ADDRESSES addresses), so
 * submitting allocates nothing. What does not fit is allocated by the submitter and freed by the
 * queue thread.
 */
#ifndef OSC_NEURON_RUNTIME_WORK_H
#define OSC_NEURON_RUNTIME_WORK_H

#include <stdbool.h>
#include <stdint.h>

struct osc_rt_stream;
struct osc_nrt_program;
struct osc_nrt_event;
struct osc_queue;

typedef enum osc_rt_work_kind {
    OSC_RT_WORK_EXEC = 1,
    OSC_RT_WORK_WRITE = 2, /* host to device */
    OSC_RT_WORK_READ = 3,  /* device to host */
    OSC_RT_WORK_COPY = 4,  /* device to device */
    OSC_RT_WORK_FILL = 5,
    OSC_RT_WORK_RECORD = 6, /* event reached */
    OSC_RT_WORK_WAIT = 7,   /* wait for an event, maybe of another device */
    OSC_RT_WORK_TRIM = 8    /* give host pages back */
} osc_rt_work_kind;

#define OSC_RT_WORK_ADDRESSES 12
#define OSC_RT_WORK_INLINE    64

/* Who asked, and when. Host times, ns. */
typedef struct osc_work_tag {
    const char *name; /* "aten::mul"; outlives the process */
    uint64_t correlation;
    int64_t thread_id;
    int64_t enter_ns;    /* the framework entered the operator */
    int64_t schedule_ns; /* the runtime call began; equal to submit_ns when nobody captures */
    int64_t submit_ns;   /* handed to the queue */
} osc_work_tag;

typedef struct osc_work {
    uint32_t kind;                /* osc_rt_work_kind */
    uint32_t count;               /* EXEC: addresses; FILL: bytes of the pattern */
    struct osc_rt_stream *stream; /* NULL: TRIM */
    osc_work_tag tag;
    union {
        struct {
            /* One reference when release is set, else kept by the cache. */
            struct osc_nrt_program *program;
            void **more;   /* owned; NULL: the addresses are in inlined */
            void *scratch; /* device address of the program's scratch, NULL if it needs none */
            bool release;
            void *inlined[OSC_RT_WORK_ADDRESSES];
        } exec;
        struct {
            void *device;     /* device address */
            const void *host; /* WRITE: bytes to send; NULL: they are in inlined */
            void *into;       /* READ: where the bytes go */
            uint64_t bytes;
            bool owned; /* WRITE: host is freed by the queue thread */
            uint8_t inlined[OSC_RT_WORK_INLINE];
        } io;
        struct {
            void *dst;
            const void *src; /* COPY; may belong to another device */
            uint64_t count;  /* COPY: bytes; FILL: repetitions */
            uint8_t pattern[16];
        } copy;
        struct {
            struct osc_nrt_event *event; /* one reference */
            struct osc_queue *other;     /* WAIT: where it was recorded */
            uint64_t ticket;             /* WAIT: by which piece of work */
        } sync;
        struct {
            uint64_t offset, bytes;
        } trim;
    } u;
} osc_work;

#endif
