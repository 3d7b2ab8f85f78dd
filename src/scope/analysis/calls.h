/*
 * calls.h - the events that PyTorch's key_averages() works on, linked and nested as it does.
 *
 * From the store's slices: which count (kineto-trace-format.md 2.1), which device work belongs to
 * which operator (1.9, 2.2), who contains whom (2.3), and which are duplicates that vanish (2.4).
 * The table of operators, `follow`, `path` and others all read this one structure.
 *
 * Everything is addressed by slice number; OSC_NO_ROW is "none". Arrays are kept small (a few bytes
 * a slice) since traces have tens of millions. Immutable once built; any thread may read.
 */
#ifndef OSC_ANALYSIS_CALLS_H
#define OSC_ANALYSIS_CALLS_H

#include "base/status.h"
#include "base/str.h"
#include "scope/analysis/device.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct osc_calls osc_calls;

typedef enum osc_python_rows {
    OSC_PYTHON_AUTO = 0, /* what the PyTorch that wrote the file did, as far as it can be told */
    OSC_PYTHON_YES = 1,  /* frames are rows and take part in the nesting: PyTorch 2.12 and later */
    OSC_PYTHON_NO = 2    /* frames are left out: PyTorch up to 2.11 */
} osc_python_rows;

typedef struct osc_calls_options {
    osc_python_rows python;
    bool keep_overloads;  /* keep "aten::add.Tensor"; PyTorch's table says "aten::add" */
    bool keep_unfinished; /* keep operators open at the end; their times are not PyTorch's */
    bool keep_duplicates; /* keep only children of the same name; PyTorch removes them */
    bool no_launches;     /* osc_calls_launch will not be asked; saves memory */
    uint32_t threads;     /* at most; 0: one for each processor. The result is the same for any */
} osc_calls_options;

typedef struct osc_calls_facts {
    bool any_device;     /* some slice is not on the CPU */
    osc_device device;   /* the most frequent device type that is not CPU */
    bool python_rows;    /* frames take part */
    bool by_correlation; /* External ids are correlation numbers (1.9, PyTorch 1.11 to 2.2) */
    uint64_t unlinked;   /* device work whose operator is not known */
    uint64_t unfinished; /* slices left out because they were open at the end */
} osc_calls_facts;

/* Builds from a sealed store, which must outlive the result. *out is NULL on failure
 * (OSC_ENOMEM). */
OSC_MUST_CHECK osc_status osc_calls_build(const osc_store *store, const osc_calls_options *options,
                                          osc_calls **out, osc_err *err);
void osc_calls_free(osc_calls *calls); /* NULL allowed */

const osc_calls_facts *osc_calls_facts_of(const osc_calls *calls);

/* True when a slice is an event of key_averages (before duplicates are removed). */
bool osc_calls_counts(const osc_calls *calls, uint32_t slice);

/* True when it was removed as a duplicate of its parent. */
bool osc_calls_gone(const osc_calls *calls, uint32_t slice);

/* The counted CPU slice around a CPU slice on its thread, duplicates skipped. */
uint32_t osc_calls_parent(const osc_calls *calls, uint32_t slice);

/* The operator that a device slice or a runtime call belongs to, duplicates skipped, and by
 * which rule that is known (0: none). */
uint32_t osc_calls_op(const osc_calls *calls, uint32_t slice);
osc_link_rule osc_calls_rule(const osc_calls *calls, uint32_t slice);

/* The runtime call with the correlation number of a device slice; when several carry it, the
 * nearest before it in the file or in time. OSC_NO_ROW when built with no_launches. */
uint32_t osc_calls_launch(const osc_calls *calls, uint32_t slice);

/* Device type; CPU for host work. */
osc_device osc_calls_device(const osc_calls *calls, uint32_t slice);

/* Thread number (tracks.thread) a CPU slice is nested on: a linked runtime call takes its
 * operator's. */
uint32_t osc_calls_thread(const osc_calls *calls, uint32_t slice);

/* Device work linked to this very operator, ns. */
int64_t osc_calls_kernel_ns(const osc_calls *calls, uint32_t slice);

/* Name of a counted slice as rows show it: an id below osc_calls_names, and its text. */
uint32_t osc_calls_name(const osc_calls *calls, uint32_t slice);
uint32_t osc_calls_names(const osc_calls *calls);
osc_str osc_calls_text(const osc_calls *calls, uint32_t name);

/* Counted CPU slices by (thread, start, longest first, profiler's own order): parents before
 * children. */
const uint32_t *osc_calls_order(const osc_calls *calls, uint32_t *count);

#endif
