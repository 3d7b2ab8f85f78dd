/* busy_internal.h - shared by busy.c and busy_names.c. */
#ifndef OSC_ANALYSIS_BUSY_INTERNAL_H
#define OSC_ANALYSIS_BUSY_INTERNAL_H

#include "scope/analysis/busy.h"

/* OSC_NAME_* bits of a text. */
uint16_t osc_busy_name_bits(osc_str name);

#endif
