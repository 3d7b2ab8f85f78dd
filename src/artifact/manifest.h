/*
 * manifest.h - run.json: what ran, on what, with which settings, and every artifact with its
 * SHA-256.
 *
 * Whole facts of the framework are carried verbatim as a JSON object; device parameters, settings,
 * environment and artifacts are ours. Written atomically, readable by people. The reader takes
 * unknown members and missing ones, and refuses a newer major version by name. docs/formats/run.md.
 */
#ifndef OSC_ARTIFACT_MANIFEST_H
#define OSC_ARTIFACT_MANIFEST_H

#include "artifact/finding.h"
#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "isa/sheet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OSC_MANIFEST_MAJOR 1u
#define OSC_MANIFEST_MINOR 0u
#define OSC_MANIFEST_FILE  "run.json"

/* What the writer is told; everything stays the caller's. NULL texts are left out of the file. */
typedef struct osc_manifest_facts {
    size_t size; /* sizeof(osc_manifest_facts) */
    /* JSON object of the framework: script and hash, git, versions, compile path. */
    const char *facts_json;
    const char *settings_json; /* JSON object: every profiler setting */
    const osc_sheet *sheet;    /* device parameters; NULL: no device */
    const char *instance_id;
    const char *instance_type;
    uint64_t pid;
    bool simulated;          /* device times come from a model */
    int64_t window_start_ns; /* capture window, host time */
    int64_t window_end_ns;   /* 0: the window did not close */
    uint64_t dropped_events;
} osc_manifest_facts;

/*
 * Writes <dir>/run.json: the facts, the environment variables that matter (osc_manifest_env_wanted)
 * and every regular file of dir but run.json itself. OSC_EINVAL when one of the JSON texts is not
 * an object.
 */
osc_status osc_manifest_write(const char *dir, const osc_manifest_facts *facts,
                              osc_err *err) OSC_MUST_CHECK;

/*
 * Lists the artifacts anew and, when facts_json is not NULL, replaces the framework's facts; all
 * else is kept from the existing run.json, members this version does not know included.
 * OSC_ENOTFOUND without one.
 */
osc_status osc_manifest_refresh(const char *dir, const char *facts_json,
                                osc_err *err) OSC_MUST_CHECK;

/*
 * True for variables recorded: NEURON_*, NEURONX_*, TORCH_NEURONX_*, OPSCOPE_*, NKI_*, XLA_*, and a
 * few that change what PyTorch does (OMP_NUM_THREADS, PYTHONHASHSEED, ...). Names that smell of a
 * secret (TOKEN, PASSWORD, SECRET, CREDENTIAL, KEY at the end) are not.
 */
bool osc_manifest_env_wanted(const char *name);

typedef struct osc_manifest_artifact {
    osc_str name;
    uint64_t size;
    uint8_t sha256[32];
} osc_manifest_artifact;

typedef struct osc_manifest_pair {
    /* Value: raw JSON text of the member for parameters, unescaped text for env. */
    osc_str name, value;
} osc_manifest_pair;

typedef struct osc_manifest {
    uint32_t major, minor;
    osc_str producer; /* "opscope 0.1.0" */
    osc_str instance_id, instance_type;
    uint64_t pid;
    bool simulated;
    int64_t window_start_ns, window_end_ns;
    uint64_t dropped_events;
    osc_str facts;                       /* raw JSON object, "" if absent: a view into the input */
    osc_str settings;                    /* likewise */
    osc_str generation;                  /* "trn2", "" without device */
    const osc_manifest_pair *parameters; /* device parameters */
    size_t parameter_count;
    const osc_manifest_pair *env;
    size_t env_count;
    const osc_manifest_artifact *artifacts;
    size_t artifact_count;
} osc_manifest;

/*
 * Reads run.json text; arrays and unescaped texts come from arena, raw JSON are views into data;
 * both must outlive *out. OSC_EVERSION on a newer major, OSC_EFORMAT / OSC_ETRUNCATED with the
 * offset on bad JSON. Members of a wrong type are findings ("bad-member") and stay unset.
 */
osc_status osc_manifest_read(const char *data, size_t len, const char *input, osc_arena *arena,
                             osc_findings *findings, osc_manifest *out,
                             osc_err *err) OSC_MUST_CHECK;

/*
 * Compares the listed artifacts with the files in dir: "artifact-missing", "artifact-changed" (size
 * or hash), "artifact-unlisted" (note) go to findings. Reads every file. OSC_EIO only when dir is
 * unreadable.
 */
osc_status osc_manifest_verify(const char *dir, const osc_manifest *m, osc_findings *findings,
                               osc_err *err) OSC_MUST_CHECK;

#endif
