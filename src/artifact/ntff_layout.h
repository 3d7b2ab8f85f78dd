/*
 * ntff_layout.h - offsets and sizes of the NTFF file, shared by its writer and reader only.
 * The prose is docs/formats/ntff.md; a test compares the two byte by byte.
 */
#ifndef OSC_ARTIFACT_NTFF_LAYOUT_H
#define OSC_ARTIFACT_NTFF_LAYOUT_H

#include "artifact/ntff.h"

/* File header. */
#define NTFF_MAGIC          "OSCNTFF" /* with its NUL: 8 bytes */
#define NTFF_MAGIC_BYTES    8u
#define NTFF_HEADER_CRC_AT  188u   /* u32 over all bytes before it */
#define NTFF_HEADER_MAX     65536u /* a newer minor version may lengthen the header up to this */
#define NTFF_FLAG_SIMULATED 1u

/* Chunk header. */
#define NTFF_CHUNK_BYTES  32u
#define NTFF_CHUNK_CRC_AT 28u /* u32 over the 28 bytes before it */

/* Chunk types: four letters, so that a hex dump reads well. */
#define NTFF_FOURCC(a, b, c, d) \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define NTFF_EXEC   NTFF_FOURCC('E', 'X', 'E', 'C')
#define NTFF_EVENTS NTFF_FOURCC('E', 'V', 'T', 'S')
#define NTFF_DROPS  NTFF_FOURCC('D', 'R', 'O', 'P')
#define NTFF_END    NTFF_FOURCC('E', 'N', 'D', ' ')

#define NTFF_EXEC_FIXED_BYTES 120u /* of an execution record, before its names */
#define NTFF_PART_FIXED_BYTES 16u  /* of a launch part, before its name */
#define NTFF_PART_FITTED      1u
#define NTFF_DROPS_BYTES      16u
#define NTFF_END_BYTES        40u

#endif
