/*
 * neff_layout.h - offsets and names of the NEFF file, shared by its writer and reader only.
 * The prose is docs/formats/neff.md.
 */
#ifndef OSC_ARTIFACT_NEFF_LAYOUT_H
#define OSC_ARTIFACT_NEFF_LAYOUT_H

#include "artifact/neff.h"

/* Header: field widths in file order (neuron-explorer.md 1.5); the numbers are little endian. */
#define NEFF_PKG_VERSION         2u /* 2: hash is a SHA-256 */
#define NEFF_MAJOR               2u
#define NEFF_MINOR               0u
#define NEFF_BUILD_VERSION_BYTES 128u
#define NEFF_HASH_BYTES          32u
#define NEFF_NAME_BYTES          256u
#define NEFF_TPB_PER_NODE_BYTES  64u
#define NEFF_PAD_BYTES           468u

/* neff_build_version of our files begins with this; so does the sniffer's test. */
#define NEFF_OUR_BUILD "opscope"
/* "format" of info.json. */
#define NEFF_MARKER "opscope-neff"

/* Engine binary: magic, u32 version, u32 engine, u32 count of records, then the records. */
#define NEFF_BIN_MAGIC       "OSCI"
#define NEFF_BIN_MAGIC_BYTES 4u
#define NEFF_BIN_VERSION     1u
#define NEFF_RECORD_MIN      7u /* least bytes of one instruction record */

/* One engine that can have a stream. */
typedef struct neff_engine {
    osc_engine engine;
    const char *name; /* in member names and JSON */
} neff_engine;

#define NEFF_ENGINES 5u
static const neff_engine NEFF_ENGINE[NEFF_ENGINES] = {
    {OSC_ENGINE_TENSOR, "tensor"}, {OSC_ENGINE_SCALAR, "scalar"}, {OSC_ENGINE_GPSIMD, "gpsimd"},
    {OSC_ENGINE_VECTOR, "vector"}, {OSC_ENGINE_SYNC, "sync"},
};

/* "kind" of a variable and the public "type" it has, by osc_tensor_kind. */
typedef struct neff_kind {
    const char *kind, *type;
} neff_kind;

#define NEFF_KINDS 6u
static const neff_kind NEFF_KIND[NEFF_KINDS] = {
    [OSC_TENSOR_INPUT] = {"input", "input"}, [OSC_TENSOR_OUTPUT] = {"output", "output"},
    [OSC_TENSOR_INOUT] = {"inout", "input"}, [OSC_TENSOR_SCRATCH] = {"scratch", "tmp-buf"},
    [OSC_TENSOR_CONST] = {"const", "file"},
};

#endif
