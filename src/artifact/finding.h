/*
 * finding.h - what a reader met and went on from: counted, bounded, each with its first place.
 *
 * A damaged file may hold a million bad records. Findings of the same name on the same input are
 * one entry with a count and the first offset, so the list stays short and nothing is lost
 * silently. Launch parts, which several artifacts carry, are declared here too.
 */
#ifndef OSC_ARTIFACT_FINDING_H
#define OSC_ARTIFACT_FINDING_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum osc_severity {
    OSC_SEV_NOTE = 0, /* worth knowing, nothing is wrong */
    OSC_SEV_WARN = 1, /* results may be incomplete or surprising */
    OSC_SEV_ERROR = 2 /* data is missing or damaged */
} osc_severity;

/* "note", "warn", "error". Static storage. */
const char *osc_severity_name(osc_severity severity);

typedef struct osc_finding {
    const char *name; /* stable id, "truncated", "uuid-mismatch"; static storage */
    osc_severity severity;
    osc_status code; /* OSC_OK for notes, else the reason (OSC_ETRUNCATED, OSC_EFORMAT, ...) */
    uint64_t offset; /* first byte offset in the input, or OSC_NO_OFFSET */
    uint64_t count;  /* how often it was met, at least 1 */
    char input[256]; /* file name, "" if none */
    /* One plain sentence of the first occurrence; says the way out if there is one. */
    char text[384];
} osc_finding;

/* A list of findings. Zero-initialise, free with osc_findings_free. One thread at a time. */
typedef struct osc_findings {
    osc_finding *items; /* owned */
    size_t count;       /* entries */
    size_t cap;         /* entries allocated */
    /* Findings not kept: over OSC_FINDINGS_MAX different ones, or memory out. */
    uint64_t suppressed;
} osc_findings;

#define OSC_FINDINGS_MAX 4096

/*
 * Adds or counts a finding. list may be NULL (then nothing happens). name must be a literal; input
 * may be NULL. Never fails: what cannot be kept is counted in `suppressed`.
 */
void osc_findings_add(osc_findings *list, const char *name, osc_severity severity, osc_status code,
                      const char *input, uint64_t offset, const char *fmt, ...) OSC_PRINTF(7, 8);

/* The entry of that name (any input), or NULL. */
const osc_finding *osc_findings_find(const osc_findings *list, const char *name);

/* Number of entries at or above a severity. */
size_t osc_findings_at_least(const osc_findings *list, osc_severity severity);

/* Frees the entries and empties the list; NULL allowed. */
void osc_findings_free(osc_findings *list);

/* One named part of a launch interval (neuroncore-model.md 5.3), in the order it happened. */
typedef struct osc_launch_part {
    osc_str name; /* "submit", "switch", "profiling", ... */
    int64_t ns;   /* its length */
    /* True: a parameter fitted to published totals, not a measured or predicted time. */
    bool fitted;
} osc_launch_part;

/* Most parts a record may carry. */
#define OSC_LAUNCH_PARTS_MAX 16u

#endif
