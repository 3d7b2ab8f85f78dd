/* session_internal.h - state while a session directory is read; shared by the session_*.c files. */
#ifndef OSC_READ_SESSION_INTERNAL_H
#define OSC_READ_SESSION_INTERNAL_H

#include "artifact/finding.h"
#include "artifact/session.h"
#include "base/arena.h"
#include "base/map.h"
#include "scope/read/open.h"
#include "scope/read/tracks.h"

typedef struct osc_session_reader {
    osc_store *store;
    const osc_open_options *options;
    osc_session *session;
    osc_findings findings; /* what the artifact readers met; copied to the store at the end */
    osc_arena *arena;      /* arrays of small artifacts */
    osc_tracks *tracks;    /* lanes of the runtime and the cores */
    char pid[24];          /* process id as text, "" unknown */
    osc_map programs;      /* hash -> row of programs */
    osc_map execs;         /* core << 48 ^ exec id -> row of executions */
    bool failed;           /* out of memory */
    osc_map tracking;      /* tracking id -> start of an interval whose stop is still to come */
} osc_session_reader;

/* Bytes of an artifact; *data is freed by the caller with osc_free. Failure is a finding, false. */
bool osc_session_bytes(osc_session_reader *r, const osc_session_file *file, char **data,
                       size_t *len);

/* Adds a row to the list of files. */
void osc_session_note_file(osc_session_reader *r, const osc_session_file *file, const char *state,
                           uint64_t events);

/* After a reader failed: a damaged artifact becomes a finding and a row of the list of files, and
 * reading goes on. False for lack of memory, which stops. */
bool osc_session_note_failure(osc_session_reader *r, const osc_session_file *file,
                              osc_status status, const osc_err *why);

/* run.json and trace_info.pb: metadata and programs. Memory failures only. */
OSC_MUST_CHECK osc_status osc_session_read_facts(osc_session_reader *r, osc_err *err);

/* ntrace.pb: runtime and hardware events, executions, launch parts. */
OSC_MUST_CHECK osc_status osc_session_read_systrace(osc_session_reader *r, osc_err *err);

/* .neff and .ntff: instructions of programs, device work of executions. */
OSC_MUST_CHECK osc_status osc_session_read_device(osc_session_reader *r, osc_err *err);

/* Joins framework, runtime and hardware slices by id; adds rows to links. */
OSC_MUST_CHECK osc_status osc_session_link(osc_session_reader *r, osc_err *err);

/* Row of the program with a hash, added by name when it is not known yet. OSC_NO_ROW: hash 0, or
 * sticky. */
uint32_t osc_session_program(osc_session_reader *r, uint64_t hash, osc_str name, osc_str cache_key);

/* Row of an execution; *found false when (core, exec id) was not seen yet. */
uint32_t osc_session_exec(osc_session_reader *r, uint32_t core, uint64_t exec_id, bool *found);

/* Adds an execution, its slice on the core's lane and its launch parts; remembers it. */
uint32_t osc_session_add_exec(osc_session_reader *r, osc_exec_row *row, int64_t correlation,
                              const osc_launch_part *parts, uint32_t part_count);

/* Number of a lane of this process. */
uint32_t osc_session_track(osc_session_reader *r, int64_t core, osc_lane_kind kind);

/* Text of a string member of a JSON object, by a path of keys separated by '/'; empty when absent.
 * Copied to the arena. */
osc_str osc_session_json_text(osc_session_reader *r, osc_str json, const char *path);

#endif
