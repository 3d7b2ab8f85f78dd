/*
 * log.c - see log.h. The lock guards the sink and is held while it runs, so lines never mix.
 */
#include "base/log.h"

#include "base/thread.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_MAX_BYTES 1001

static osc_mutex lock = OSC_MUTEX_INIT;
static osc_log_sink sink;
static void *sink_user;
static osc_log_level sink_level;

void osc_log_set_sink(osc_log_sink new_sink, void *user, osc_log_level max_level)
{
    osc_mutex_lock(&lock);
    sink = new_sink;
    sink_user = user;
    sink_level = max_level;
    osc_mutex_unlock(&lock);
}

void osc_log(osc_log_level level, const char *fmt, ...)
{
    osc_mutex_lock(&lock);
    if (sink && level <= sink_level) {
        char line[LINE_MAX_BYTES];
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(line, sizeof line, fmt, args);
        va_end(args);
        sink(sink_user, level, line);
    }
    osc_mutex_unlock(&lock);
}
