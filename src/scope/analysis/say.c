/* say.c - see say.h. */
#include "scope/analysis/say.h"

#include <stdio.h>

char *osc_say_ns(int64_t ns, char out[OSC_SAY_TEXT])
{
    char number[OSC_NUM_TEXT];
    int64_t size = ns < 0 ? -(ns + 1) : ns;
    bool us = size < 1000000, s = size >= 10000000000;
    double value = (double)ns / (us ? 1e3 : s ? 1e9 : 1e6);
    snprintf(out, OSC_SAY_TEXT, "%s %s", osc_format_fixed(value, us ? 1 : 3, number),
             us  ? "us"
             : s ? "s"
                 : "ms");
    return out;
}
