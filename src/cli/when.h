/*
 * when.h - times on the command line, as people write them and as opscope's tables show them.
 */
#ifndef OSC_CLI_WHEN_H
#define OSC_CLI_WHEN_H

#include "scope/analysis/extent.h"

#include <stdbool.h>

/*
 * "12ms", "+1,204.1 us", "0.5s", "700ns": from the zero of the capture (osc_extent). An integer
 * without a unit is absolute, in ns. Commas between digits and a space before the unit are as
 * tables have them. False when the text is no time.
 */
bool osc_cli_parse_when(const char *text, osc_when *out);

#endif
