/* info_internal.h - the lines of `info` being made; shared by info.c and info_trace.c. */
#ifndef OSC_ANALYSIS_INFO_INTERNAL_H
#define OSC_ANALYSIS_INFO_INTERNAL_H

#include "base/buf.h"
#include "base/num.h"
#include "scope/analysis/calls.h"
#include "scope/analysis/extent.h"
#include "scope/analysis/info.h"

/* Early 1973: later times are dates, earlier ones a count from an unknown start. */
#define INFO_DATES_SINCE_NS INT64_C(100000000000000000)

struct info {
    const osc_store *store;
    osc_table *table;
    osc_calls *calls; /* without python frames, duplicates kept, no launches; owned */
    osc_buf text;     /* the line being made */
    uint64_t kinds[OSC_KIND_COUNT];
    uint32_t steps;
    osc_str first_step;
    osc_extent extent;
};

/* Facts of the capture as text, empty when not known, and as number, 0 then. */
osc_str info_meta(const struct info *i, const char *key);
int64_t info_number(const struct info *i, const char *key);

/* A line grows by pieces; end_line makes it a row. put_some leaves out what there is none of. */
void info_put(struct info *i, const char *separator, const char *text);
void info_put_count(struct info *i, uint64_t count, const char *one, const char *many);
void info_put_some(struct info *i, uint64_t count, const char *one, const char *many);
void info_put_when(struct info *i);
void info_put_steps(struct info *i);
void info_end_line(struct info *i, const char *topic, osc_str file, osc_str state);

/* All lines about a trace file. False: memory is out. */
bool info_tell_trace(struct info *i);

#endif
