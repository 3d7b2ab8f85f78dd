/*
 * info.h - what a capture is, how much of it there is, and what is wrong with it.
 */
#ifndef OSC_ANALYSIS_INFO_H
#define OSC_ANALYSIS_INFO_H

#include "scope/analysis/table.h"
#include "scope/store/store.h"

/* Columns of the result; facts have a topic and a text, findings a severity and a code as well. */
typedef enum osc_info_column {
    OSC_INFO_TOPIC = 0, /* "framework", ...; "finding" for findings */
    OSC_INFO_TEXT,
    OSC_INFO_FILE,     /* file it was read from, may be empty */
    OSC_INFO_STATE,    /* "complete", ... may be empty */
    OSC_INFO_SEVERITY, /* "note", "warn", "FAIL"; empty for facts */
    OSC_INFO_CODE,
    OSC_INFO_TIMES,  /* how often a finding was met */
    OSC_INFO_OFFSET, /* byte offset of its first case, -1 none */
    OSC_INFO_COLUMNS
} osc_info_column;

/* *out is NULL on failure (OSC_ENOMEM). Facts: findings, failures (counts of rows). */
OSC_MUST_CHECK osc_status osc_info(const osc_store *store, osc_table **out, osc_err *err);

#endif
