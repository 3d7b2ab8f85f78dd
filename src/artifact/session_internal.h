/*
 * session_internal.h - the body of osc_session, for session.c and session_pair.c only.
 */
#ifndef OSC_ARTIFACT_SESSION_INTERNAL_H
#define OSC_ARTIFACT_SESSION_INTERNAL_H

#include "artifact/session.h"
#include "base/arena.h"

struct osc_session {
    char *dir;              /* owned */
    osc_arena *arena;       /* owns all that follows */
    osc_findings *findings; /* while opening only, not owned */
    const char *instance, *stamp;
    uint64_t pid;
    osc_session_file *files; /* sorted by name */
    uint32_t file_count;
    osc_session_pair *pairs; /* sorted by core, then hash */
    uint32_t pair_count;
};

/* Fills pairs from files and reports what does not fit. */
osc_status osc_session_make_pairs(osc_session *s, osc_err *err) OSC_MUST_CHECK;

#endif
