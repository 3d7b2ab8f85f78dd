/*
 * manifest_members.h - member names of run.json, for its writer and reader only. Meaning:
 * docs/formats/run.md.
 */
#ifndef OSC_ARTIFACT_MANIFEST_MEMBERS_H
#define OSC_ARTIFACT_MANIFEST_MEMBERS_H

#include "base/io.h"

#include <stdbool.h>

#define MANIFEST_FORMAT "opscope.run"

#define MEMBER_FORMAT      "format"
#define MEMBER_MAJOR       "major"
#define MEMBER_MINOR       "minor"
#define MEMBER_PRODUCER    "producer"
#define MEMBER_SIMULATED   "simulated"
#define MEMBER_INSTANCE    "instance"
#define MEMBER_WINDOW      "window"
#define MEMBER_DROPPED     "dropped_events"
#define MEMBER_FRAMEWORK   "framework"
#define MEMBER_SETTINGS    "settings"
#define MEMBER_DEVICE      "device"
#define MEMBER_ENVIRONMENT "environment"
#define MEMBER_ARTIFACTS   "artifacts"

#define INSTANCE_ID       "id"
#define INSTANCE_TYPE     "type"
#define INSTANCE_PID      "pid"
#define WINDOW_START      "start_ns"
#define WINDOW_END        "end_ns"
#define DEVICE_GENERATION "generation"
#define DEVICE_PARAMETERS "parameters"
#define PARAMETER_VALUE   "value"
#define PARAMETER_UNIT    "unit"
#define PARAMETER_DEFAULT "default"
#define ARTIFACT_NAME     "name"
#define ARTIFACT_BYTES    "bytes"
#define ARTIFACT_SHA256   "sha256"

/* True for a directory entry that belongs into "artifacts". */
bool osc_manifest_lists(const osc_dir_entry *entry);

#endif
