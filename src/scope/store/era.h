/*
 * era.h - what PyTorch's releases did differently, told from facts of the
 * store.
 *
 * The eras are those of kineto-trace-format.md 1.4 and 5. Only what several
 * rooms must decide alike is here; the readers' own detection stays with them.
 */
#ifndef OSC_STORE_ERA_H
#define OSC_STORE_ERA_H

#include "scope/store/store.h"

#include <stdbool.h>

typedef enum osc_python_era {
    OSC_PYTHON_ERA_UNKNOWN = 0, /* neither version nor time base is known (yet) */
    OSC_PYTHON_ERA_HIDDEN = 1,  /* key_averages has no python frames: PyTorch up to 2.11 */
    OSC_PYTHON_ERA_ROWS = 2     /* frames are rows: PyTorch 2.12 and later */
} osc_python_era;

/*
 * By metadata "torch_version" when the session says it, else by the quarter
 * that "base_time_ns" names. A file without either is of the time before both,
 * which the caller may take as HIDDEN once all of it was read.
 */
osc_python_era osc_era_python(const osc_store *store);

/* First time base whose traces have python rows, ns. */
#define OSC_ERA_PYTHON_ROWS_NS INT64_C(1782967788000000000)

#endif
