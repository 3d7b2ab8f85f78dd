/*
 * log.h - the one way a library may speak: through a sink that the program set.
 *
 * Without a sink nothing is said. A sink is called from any thread that logs, one call at a time.
 */
#ifndef OSC_BASE_LOG_H
#define OSC_BASE_LOG_H

#include "base/status.h"

typedef enum osc_log_level {
    OSC_LOG_ERROR = 0,
    OSC_LOG_WARN = 1,
    OSC_LOG_INFO = 2,
    OSC_LOG_DEBUG = 3
} osc_log_level;

/* text is one line without a newline, valid during the call. */
typedef void (*osc_log_sink)(void *user, osc_log_level level, const char *text);

/* Sets the sink (NULL: silence) and the most talkative level that reaches it. Any thread. */
void osc_log_set_sink(osc_log_sink sink, void *user, osc_log_level max_level);

/* Says a line, cut at 1,000 bytes. Any thread. */
void osc_log(osc_log_level level, const char *fmt, ...) OSC_PRINTF(2, 3);

#endif
