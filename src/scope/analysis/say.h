/* say.h - one time in a sentence: the unit a person would say, with enough digits. */
#ifndef OSC_ANALYSIS_SAY_H
#define OSC_ANALYSIS_SAY_H

#include "base/num.h"

#include <stdint.h>

#define OSC_SAY_TEXT (OSC_NUM_TEXT + 4)

/* "434.6 us", "2.355 ms", "12.300 s"; returns out. Unlike osc_format_ns it leaves us at 1 ms. */
char *osc_say_ns(int64_t ns, char out[OSC_SAY_TEXT]);

#endif
