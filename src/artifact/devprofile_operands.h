/*
 * devprofile_operands.h - the operand text of an instruction in a device profile, decoded.
 *
 *     S[5] (Tensor)>=2 S[4] (Scalar)++@complete COPY src=fp32@0x2000000[1,1,1][512,1,1] channels=9
 *     wait             update                   name access with steps and counts         number
 *
 * The grammar is that of docs/formats/device-profile.md (summary-metrics.md 4). Parts are
 * recognised by their shape, not by their place, because runtime code has them in another order.
 * What no rule covers is kept as text and counted; nothing is guessed.
 */
#ifndef OSC_ARTIFACT_DEVPROFILE_OPERANDS_H
#define OSC_ARTIFACT_DEVPROFILE_OPERANDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define OSC_DP_DIMS   4u
#define OSC_DP_SYNCS  4u  /* waits, and updates, of one instruction */
#define OSC_DP_FIELDS 32u /* key=value of one instruction */

typedef enum osc_dp_sync_op {
    OSC_DP_WAIT_GE = 1, /* >= */
    OSC_DP_WAIT_EQ = 2, /* == */
    OSC_DP_ADD = 3,     /* ++, += */
    OSC_DP_SUB = 4,     /* --, -= */
    OSC_DP_SET = 5      /* = */
} osc_dp_sync_op;

/* A wait for, or a change of, a semaphore or an event. */
typedef struct osc_dp_sync {
    osc_dp_sync_op op;
    bool event;    /* $E[n]: an event; else a semaphore */
    bool consumes; /* a wait that ends in '-': takes the event back */
    uint32_t number;
    int64_t value;
    osc_str owner; /* who raises it: an engine or a DMA queue; empty when the text does not say */
} osc_dp_sync;

/* Where an address lies (summary-metrics.md 4.2). */
typedef enum osc_dp_space {
    OSC_DP_MEMORY = 0,   /* device memory, or what is not known */
    OSC_DP_SBUF = 1,     /* offset inside a partition */
    OSC_DP_PSUM = 2,     /* offset inside a partition, bank known */
    OSC_DP_SBUF_DMA = 3, /* SBUF as DMA sees it: partition and offset */
    OSC_DP_DEVICE = 4    /* device registers, doorbells */
} osc_dp_space;

typedef struct osc_dp_place {
    osc_dp_space space;
    uint32_t bank;      /* PSUM */
    uint32_t partition; /* SBUF_DMA */
    /* Bytes: SBUF, SBUF_DMA inside the partition, PSUM inside the bank; else the address. */
    uint64_t offset;
} osc_dp_place;

typedef enum osc_dp_value {
    OSC_DP_TEXT = 0,     /* a word, or what no rule covers */
    OSC_DP_NUMBER = 1,   /* decimal or hexadecimal, `number` */
    OSC_DP_REAL = 2,     /* decimal fraction, `real` */
    OSC_DP_ACCESS = 3,   /* [dtype@]address[steps][counts] */
    OSC_DP_PATTERN = 4,  /* [steps][counts] */
    OSC_DP_REGISTER = 5, /* $R[n], `number` */
    OSC_DP_LIST = 6      /* values joined by commas, or in brackets */
} osc_dp_value;

/* key=value. Steps and counts are fastest dimension first, in elements. */
typedef struct osc_dp_field {
    osc_str key;
    osc_str text; /* the value as written */
    osc_dp_value kind;
    osc_str dtype; /* ACCESS: empty when not written */
    osc_dp_place place;
    uint64_t address;
    int64_t number;
    double real;
    uint32_t dims;
    int64_t step[OSC_DP_DIMS], count[OSC_DP_DIMS];
} osc_dp_field;

typedef struct osc_dp_operands {
    osc_dp_sync waits[OSC_DP_SYNCS], updates[OSC_DP_SYNCS];
    osc_dp_field fields[OSC_DP_FIELDS];
    uint32_t wait_count, update_count, field_count;
    osc_str function;       /* a bare word: COPY */
    uint32_t rows, columns; /* a bare size: 128*128 of the PE array; 0 none */
    uint32_t unread;        /* parts that no rule covers, or for which there was no room */
    osc_str first_unread;   /* the first of them */
} osc_dp_operands;

/* Decodes a text; the result's texts are views into it. Never fails. Any thread. */
void osc_dp_operands_parse(osc_str text, osc_dp_operands *out);

/* The field of a key, NULL when there is none. */
const osc_dp_field *osc_dp_operands_field(const osc_dp_operands *operands, const char *key);

/* Number of elements of an access or pattern: the product of its counts; 0 when there are none, an
 * overflow or a negative count. */
uint64_t osc_dp_field_elements(const osc_dp_field *field);

/* "S[24] (qGpSimdDynamic)", "$S[2]", "$E[4]" or "24": number and owner. False when it is none of
 * them. */
bool osc_dp_semaphore_parse(osc_str text, osc_dp_sync *out);

/* Where an address lies. */
osc_dp_place osc_dp_place_of(uint64_t address);
const char *osc_dp_space_name(osc_dp_space space); /* "sbuf", "psum", ...; static storage */

/* Bytes of an element of a dtype as the text writes it ("fp16"); 0 when unknown. */
uint32_t osc_dp_dtype_bytes(osc_str dtype);

#endif
