/*
 * event.h - osc_event, the fixed-size records that device and runtime hand to a capture.
 *
 * One record type for everything that has a place in time. Device records carry device time (ns since
 * the core was opened); the runtime turns it into host time by its sync points. A sink is two function
 * pointers; whoever produces events never knows where they go.
 */
#ifndef OSC_ARTIFACT_EVENT_H
#define OSC_ARTIFACT_EVENT_H

#include <stdint.h>

typedef enum osc_event_kind {
    OSC_EV_INST = 1,      /* one instruction on an engine */
    OSC_EV_DMA = 2,       /* one DMA instruction's transfer on one DMA engine's ring */
    OSC_EV_SEMAPHORE = 3, /* semaphore `a` reached value `b` */
    OSC_EV_EXEC = 4,      /* device body of one execution: preamble start to postamble end */
    OSC_EV_PHASE = 5,     /* preamble (a = 0) or postamble (a = 1) of an execution */
    OSC_EV_NOTIFY = 6,    /* NOTIFY instruction, a = payload */
    OSC_EV_HAZARD = 7     /* hazard finding; a = rule number, b = the other instruction's index */
} osc_event_kind;

/* 56 bytes. Times are ns of the device clock, end >= start >= ready. */
typedef struct osc_event {
    uint8_t kind;   /* osc_event_kind */
    uint8_t engine; /* osc_engine of the stream; OSC_ENGINE_DMA for OSC_EV_DMA */
    uint8_t opcode; /* osc_opcode */
    uint8_t ring;   /* DMA: the DMA engine 0..15 */
    /* Why start > ready: 0 nothing, 1 semaphore, 2 engine or ring busy, 3 port, 4 barrier,
     * 5 DMA start-up. */
    uint8_t wait_kind;
    uint8_t issuer;    /* DMA: osc_engine that triggered it */
    uint16_t wait_sem; /* the semaphore last waited for (wait_kind 1) */
    uint32_t index;    /* instruction's index in its stream (DMA: in the issuer's stream) */
    uint32_t exec;     /* execution number on this core, counted from 1 */
    int64_t ready_ns;  /* when it became head of its queue (INST) or was triggered (DMA) */
    int64_t start_ns;
    int64_t end_ns;
    uint64_t a; /* DMA: bytes */
    uint64_t b; /* DMA: descriptors; INST: elements processed */
} osc_event;

typedef struct osc_event_sink {
    void *context;
    /* Called with events in order of start_ns within one execution; must not block long. */
    void (*emit)(void *context, const osc_event *events, uint32_t count);
} osc_event_sink;

#endif
