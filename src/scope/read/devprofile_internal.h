/* devprofile_internal.h - state while a device profile becomes rows; shared by devprofile.c,
 * devprofile_work.c and devprofile_tables.c. */
#ifndef OSC_READ_DEVPROFILE_INTERNAL_H
#define OSC_READ_DEVPROFILE_INTERNAL_H

#include "artifact/devprofile.h"
#include "artifact/devprofile_operands.h"
#include "base/buf.h"
#include "base/map.h"
#include "scope/store/store.h"

/* Engines whose names are not the five known ones get numbers from here on. */
#define OSC_DP_FIRST_OTHER_ENGINE 16u

typedef struct osc_dp_reader {
    osc_store *store;
    const osc_devprofile *profile;
    int64_t base_core;  /* core of rows that name none */
    int64_t first_ns;   /* start of the trace */
    int64_t last_ns;    /* and its end */
    double wrap_ns;     /* period of the wait counter */
    uint32_t program;   /* row of programs */
    osc_map execs;      /* core -> row of executions */
    osc_map tracks;     /* core and lane -> row of tracks */
    osc_map engines;    /* text id of an engine's name -> number */
    osc_map queues;     /* text ids of a queue -> row of dma_queues */
    osc_map owners;     /* semaphore -> 1 once its owner is known */
    osc_map triggers;   /* start of an instruction that starts a DMA -> row of instructions */
    osc_map transfers;  /* id of a transfer -> row of instructions that started it */
    osc_map last_end;   /* core and engine -> end of its last instruction */
    osc_map last_start; /* and its start */
    uint32_t other_engines;
    uint64_t unread; /* parts of operand texts that the grammar does not cover */
    osc_buf text;    /* scratch */
    bool failed;     /* out of memory */
} osc_dp_reader;

/* Row of the execution on a core (OSC_DP_NONE: the profile's own core), added when it is new. */
uint32_t osc_dp_exec(osc_dp_reader *r, int64_t core);

/* Row of the track of a lane, added when it is new. lane is "Tensor" or "DMA ..."; copied. */
uint32_t osc_dp_track(osc_dp_reader *r, uint32_t exec, osc_str lane, osc_lane_kind kind);

/* Remembers a value; memory failures are sticky. */
void osc_dp_put(osc_dp_reader *r, osc_map *map, uint64_t key, uint64_t value);

uint32_t osc_dp_intern(osc_dp_reader *r, osc_str text);

/* Instructions and packets: instructions, semaphore_ops, traffic, device_work, slices, tracks. */
void osc_dp_add_instructions(osc_dp_reader *r);
void osc_dp_add_packets(osc_dp_reader *r);

/* A semaphore or event as one number (OSC_SEM_EVENT); numbers too large for that share the last
 * one. */
uint32_t osc_dp_sem_number(const osc_dp_sync *sync);

/* Keeps who raises a semaphore, where the text says it and nothing did before. */
void osc_dp_note_owner(osc_dp_reader *r, const osc_dp_sync *sync);

/* semaphore_updates, throttle, tensors, layers, samples, device_memory, stated_summary,
 * findings. */
void osc_dp_add_tables(osc_dp_reader *r);

#endif
