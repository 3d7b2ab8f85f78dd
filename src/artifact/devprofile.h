/*
 * devprofile.h - a device profile as the vendor's tools export it in JSON: rows of instructions,
 * DMA packets, semaphores, throttling and tensors, typed.
 *
 * The export is one object whose members are lists of flat objects
 * (docs/formats/device-profile.md). Every table that has many rows is declared as data: a column is
 * one line of devprofile_columns.h, and from these lists come the row structs and the reader.
 * Tables with one row (metadata, summary, ...) are facts: table, key, text. Tables and keys that
 * are not known are counted and passed over.
 *
 * Texts are views into memory of the profile. Immutable after reading; any thread may read.
 */
#ifndef OSC_ARTIFACT_DEVPROFILE_H
#define OSC_ARTIFACT_DEVPROFILE_H

#include "artifact/devprofile_columns.h"
#include "artifact/finding.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* D(row, table in the file, meaning) */
#define OSC_DP_TABLES(D)                                                                   \
    D(inst, "instruction", "instructions that the engines executed")                       \
    D(dma, "dma", "DMA packets, and transfers made of them")                               \
    D(sem, "semaphore_update", "changes of semaphores")                                    \
    D(ham, "ham", "intervals in which the hardware limited the tensor engine")             \
    D(active, "active_time", "merged busy intervals of the engines, as the tool saw them") \
    D(pending, "pending_dma", "transfers under way, sampled")                              \
    D(through, "dma_throughput", "bytes moved so far and rate, sampled")                   \
    D(usage, "instruction_usage", "how full SBUF and PSUM are, sampled")                   \
    D(tensor, "neff_node", "tensors of the program")                                       \
    D(queue, "dma_queues_info", "DMA queues that the program declares")                    \
    D(memory, "nc_mem_usage", "device memory by what it is used for")                      \
    D(layer, "layer_summary", "layers and subgraphs")                                      \
    D(warning, "warnings", "what the vendor's tool itself warned of")

#define OSC_DP_ALL(M)                  \
    M(inst, OSC_DP_INST_COLUMNS)       \
    M(dma, OSC_DP_DMA_COLUMNS)         \
    M(sem, OSC_DP_SEM_COLUMNS)         \
    M(ham, OSC_DP_HAM_COLUMNS)         \
    M(active, OSC_DP_ACTIVE_COLUMNS)   \
    M(pending, OSC_DP_PENDING_COLUMNS) \
    M(through, OSC_DP_THROUGH_COLUMNS) \
    M(usage, OSC_DP_USAGE_COLUMNS)     \
    M(tensor, OSC_DP_TENSOR_COLUMNS)   \
    M(queue, OSC_DP_QUEUE_COLUMNS)     \
    M(memory, OSC_DP_MEMORY_COLUMNS)   \
    M(layer, OSC_DP_LAYER_COLUMNS)     \
    M(warning, OSC_DP_WARNING_COLUMNS)

typedef struct osc_devprofile osc_devprofile;

/* osc_dp_<row>: one row. osc_dp_<row>_rows: all rows of the table, in the order of the file. */
#define OSC_DP_TYPE_I64                                                int64_t
#define OSC_DP_TYPE_F64                                                double
#define OSC_DP_TYPE_FLAG                                               bool
#define OSC_DP_TYPE_STR                                                osc_str
#define OSC_DP_MEMBER(R, kind, member, key, absent, required, meaning) OSC_DP_TYPE_##kind member;
#define OSC_DP_DECLARE(row, columns) \
    typedef struct osc_dp_##row {    \
        columns(OSC_DP_MEMBER, row)  \
    } osc_dp_##row;                  \
    const osc_dp_##row *osc_dp_##row##_rows(const osc_devprofile *profile, size_t *count);
OSC_DP_ALL(OSC_DP_DECLARE)
#undef OSC_DP_DECLARE
#undef OSC_DP_MEMBER

/* A member of a table with one row: metadata, profile_info, neff_header, model_info, summary. */
typedef struct osc_dp_fact {
    osc_str table, key;
    osc_str value;  /* a text, or the JSON of anything else */
    bool is_number; /* the file has it as a number */
} osc_dp_fact;

/* A list of the file. */
typedef struct osc_dp_listed {
    osc_str name;
    size_t rows;
    bool known; /* it is one of the tables or facts above */
} osc_dp_listed;

/*
 * Reads an export of len bytes; the bytes are needed no longer afterwards. A file that ends early
 * or is damaged gives the rows before that place and a finding "profile-damaged" with the offset,
 * when there are any instructions or packets; else OSC_ETRUNCATED or OSC_EFORMAT. OSC_EFORMAT too
 * for JSON that is no device profile. Findings: "profile-row" rows without a time, "profile-value"
 * values of another type. findings may be NULL. *out is NULL on failure; freed with
 * osc_devprofile_free.
 */
OSC_MUST_CHECK osc_status osc_devprofile_read(const char *data, size_t len, const char *input,
                                              osc_findings *findings, osc_devprofile **out,
                                              osc_err *err);
void osc_devprofile_free(osc_devprofile *profile); /* NULL allowed */

/* All facts in the order of the file, and one by name: NULL when the file has none. */
const osc_dp_fact *osc_devprofile_facts(const osc_devprofile *profile, size_t *count);
const osc_dp_fact *osc_devprofile_fact(const osc_devprofile *profile, const char *table,
                                       const char *key);
/* A fact as a number; false when it is none. */
bool osc_devprofile_number(const osc_devprofile *profile, const char *table, const char *key,
                           double *value);

/* Every list of the file, in its order. */
const osc_dp_listed *osc_devprofile_lists(const osc_devprofile *profile, size_t *count);
bool osc_devprofile_has(const osc_devprofile *profile, const char *table);

#endif
