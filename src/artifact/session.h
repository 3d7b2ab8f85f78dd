/*
 * session.h - a capture's directory: how it is named, what is in it, what belongs together.
 *
 *     <dir>/<instance>_pid_<pid>/<timestamp>/
 *         trace.json  ntrace.pb  trace_info.pb  cpu_util.pb  host_mem.pb  run.json
 *         neff_<hash>_vnc_<n>.neff   <hash>_instid_<i>_vnc_<n>.ntff
 *
 * Files are known by their content, not their names: the vendor's closed .ntff and .pb carry the
 * same names as ours. Nothing here reads whole artifacts; at most the first KiB of each is looked
 * at. Layout after neuron-explorer.md 1.1 to 1.3 and torchneuron-face.md 1.3;
 * docs/formats/session.md.
 */
#ifndef OSC_ARTIFACT_SESSION_H
#define OSC_ARTIFACT_SESSION_H

#include "artifact/finding.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- names ---- */

#define OSC_FILE_NAME_MAX 96

/* "neff_<hash>_vnc_<core>.neff" and "<hash>_instid_<i>_vnc_<core>.ntff"; return out. */
char *osc_neff_file_name(uint64_t hash, uint32_t core, char out[OSC_FILE_NAME_MAX]);
char *osc_ntff_file_name(uint64_t hash, uint32_t instance_index, uint32_t core,
                         char out[OSC_FILE_NAME_MAX]);

/*
 * Creates <dir>/<instance>_pid_<pid>/<timestamp>/ and gives its path in *path (caller frees with
 * osc_free; NULL on failure). The directory is new: when one of that second exists, "_2", "_3", ...
 * is appended. OSC_EIO names the path and the system's reason.
 */
osc_status osc_session_create(const char *dir, const char *instance, uint64_t pid, int64_t now_ns,
                              char **path, osc_err *err) OSC_MUST_CHECK;

/* ---- recognition by content ---- */

typedef enum osc_artifact_kind {
    OSC_ART_UNKNOWN = 0,
    OSC_ART_NEFF = 1,
    OSC_ART_NTFF = 2,
    OSC_ART_NTRACE = 3,
    OSC_ART_TRACE_INFO = 4,
    OSC_ART_CPU_UTIL = 5,
    OSC_ART_HOST_MEM = 6,
    OSC_ART_TRACE_JSON = 7, /* a Chrome trace, plain or gzip */
    OSC_ART_RUN_JSON = 8,
    OSC_ART_PROFILE_JSON = 9 /* the vendor viewer's JSON export of a device or system profile */
} osc_artifact_kind;

/* "neff", "ntff", "ntrace", ... Static storage. */
const char *osc_artifact_kind_name(osc_artifact_kind kind);

typedef enum osc_origin {
    OSC_ORIGIN_UNKNOWN = 0, /* not decidable: empty, or too short */
    OSC_ORIGIN_OURS = 1,    /* our open format; a NEFF is ours when its build version says so */
    OSC_ORIGIN_VENDOR = 2   /* the vendor's */
} osc_origin;

typedef struct osc_sniff {
    osc_artifact_kind kind;
    osc_origin origin;
    uint32_t major; /* format version of ours, else 0 */
    bool has_hash;  /* the three below are known (NTFF of ours; NEFF: uuid only) */
    bool has_uuid;
    uint64_t hash;
    uint8_t uuid[16];
    uint32_t core, instance_index;
} osc_sniff;

/*
 * Looks at the first bytes (give up to OSC_SNIFF_BYTES) of a file called name (base name or path;
 * used only where content cannot tell: which closed format a foreign binary is). Never fails. Any
 * thread.
 */
#define OSC_SNIFF_BYTES 4096u
void osc_sniff_bytes(const char *name, const void *head, size_t len, uint64_t file_size,
                     osc_sniff *out);

/* The same for a file on disk. OSC_EIO, OSC_ENOTFOUND. */
osc_status osc_sniff_file(const char *path, osc_sniff *out, osc_err *err) OSC_MUST_CHECK;

/*
 * Fills err for a closed vendor file and returns OSC_EFOREIGN. The message names the file and the
 * command that makes it readable: neuron-explorer view -d DIR --output-format json --output-file F.
 */
osc_status osc_foreign_fail(const char *path, osc_artifact_kind kind, osc_err *err);

/* ---- a session ---- */

typedef struct osc_session_file {
    osc_artifact_kind kind;
    osc_origin origin;
    const char *name; /* in the session directory */
    const char *path; /* full */
    uint64_t size;
    bool has_hash, has_uuid, has_core;
    uint64_t hash; /* from the content where it carries one, else from the name */
    uint8_t uuid[16];
    uint32_t core, instance_index;
} osc_session_file;

/* A NEFF and an NTFF that belong together; indices into files, OSC_NO_FILE when one is missing. */
#define OSC_NO_FILE UINT32_MAX
typedef struct osc_session_pair {
    uint64_t hash;
    uint32_t core;
    uint32_t neff, ntff;
    bool matched; /* both are there and their uuids agree */
} osc_session_pair;

typedef struct osc_session osc_session;

/*
 * Opens a session: path is its directory, or a parent (up to three levels above) that holds exactly
 * one. Several: OSC_EINVAL, the message lists them and says which is the newest. None: OSC_ENOTFOUND, says what was looked for
 * and found. Pairing and recognition problems go to findings:
 *   "foreign-file"   a closed vendor file, with the command that makes it readable
 *   "missing-neff" / "missing-ntff"  half a pair
 *   "uuid-mismatch"  same hash, different compilation
 *   "empty-ntff"     0 bytes: the core ran nothing in the window (note)
 *   "name-mismatch"  an .ntff whose name says another hash or core than its content
 *   "unknown-file"   a file of no known kind (note)
 */
osc_status osc_session_open(const char *path, osc_findings *findings, osc_session **out,
                            osc_err *err) OSC_MUST_CHECK;
void osc_session_free(osc_session *s); /* NULL allowed */

/*
 * The newest of the sessions that osc_session_open would find under path, by the stamps in their
 * paths, else by the times of their directories. *out is owned by the caller (osc_free), NULL when
 * there is none; *count says how many there are.
 */
osc_status osc_session_newest(const char *path, char **out, size_t *count,
                              osc_err *err) OSC_MUST_CHECK;

/* All valid until osc_session_free; any thread. */
const char *osc_session_dir(const osc_session *s);
const char *osc_session_instance(
    const osc_session *s);                           /* "i-local"; "" when the path does not say */
uint64_t osc_session_pid(const osc_session *s);      /* 0 when the path does not say */
const char *osc_session_stamp(const osc_session *s); /* "20261129_101500", "" if none */
/* Sorted by name. */
const osc_session_file *osc_session_files(const osc_session *s, uint32_t *count);
/* Sorted by core, then hash. */
const osc_session_pair *osc_session_pairs(const osc_session *s, uint32_t *count);
/* First file of a kind that is ours (or a JSON), NULL if none. */
const osc_session_file *osc_session_find(const osc_session *s, osc_artifact_kind kind);

#endif
