/*
 * registry.h - every analysis that gives a table, as data: its name, what it answers, its options.
 *
 * One row in registry.c makes an analysis callable by name: from the C library (opscope/trace.h)
 * and from `opscope table`. Options are texts "name=value", so that callers need no header for each
 * analysis.
 */
#ifndef OSC_ANALYSIS_REGISTRY_H
#define OSC_ANALYSIS_REGISTRY_H

#include "base/status.h"
#include "base/str.h"
#include "scope/analysis/table.h"
#include "scope/store/store.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum osc_param_type {
    OSC_PARAM_TEXT = 0,
    OSC_PARAM_INT = 1,
    OSC_PARAM_FLAG = 2,  /* "yes" or "no"; the name alone means yes */
    OSC_PARAM_CHOICE = 3 /* one of `choices` */
} osc_param_type;

typedef struct osc_param {
    const char *name;
    osc_param_type type;
    const char *help;           /* one sentence, lower case, no full stop */
    const char *const *choices; /* NULL-terminated; CHOICE only */
} osc_param;

typedef struct osc_param_value {
    bool set;
    const char *text; /* TEXT; lives as long as the option */
    int64_t number;   /* INT; FLAG: 0 or 1; CHOICE: index in choices */
} osc_param_value;

#define OSC_PARAMS_MAX 12u /* of one analysis, those of all included */

typedef struct osc_analysis {
    const char *name;
    const char *summary; /* one line, lower case */
    const osc_param *params;
    uint32_t param_count;
    /* values: by index in params. *out is NULL on failure. */
    osc_status (*run)(const osc_store *store, const osc_param_value *values, osc_table **out,
                      osc_err *err);
} osc_analysis;

/* All analyses in the order lists show them; number i is below *count. Static storage. */
const osc_analysis *osc_analyses(uint32_t *count);

/* Parameters that every analysis takes besides its own: `sort` and `limit`. Static storage. */
const osc_param *osc_analysis_common(uint32_t *count);

/*
 * Runs an analysis by name with n options "name=value". With sort=COLUMN rows are ranked by that
 * column, largest first (texts: smallest first); limit=N keeps the first N. *out is NULL on
 * failure: OSC_ENOTFOUND for an unknown name (with the nearest), OSC_EINVAL for a wrong option, and
 * what the analysis says.
 */
OSC_MUST_CHECK osc_status osc_analysis_run(const osc_store *store, osc_str name,
                                           const char *const *options, uint32_t n, osc_table **out,
                                           osc_err *err);

#endif
