/*
 * repair.h - one JSON value of a trace as it was found, written as it should have been.
 */
#ifndef OSC_EXPORT_REPAIR_H
#define OSC_EXPORT_REPAIR_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>

/*
 * Appends text to out: byte by byte when it is one value that every JSON reader takes, else what
 * the forgiving scanner (scope/read/scan.h) makes of it, in valid JSON. True when it had to be
 * changed. Failures are out's.
 *
 * What changes: quotes and control bytes inside strings get their backslash, bytes that are not
 * UTF-8 and lone surrogates become U+FFFD, words such as inf or N/A become null, numbers JSON does
 * not know become texts, commas too many go, brackets that are missing are added.
 */
bool osc_repair_value(osc_str text, osc_buf *out);

/* True when text is one value in JSON that every reader takes. */
bool osc_json_strict(osc_str text);

#endif
