/*
 * describe.h - opens anything we know by name, for `info`: traces, sessions, and single artifacts.
 */
#ifndef OSC_READ_DESCRIBE_H
#define OSC_READ_DESCRIBE_H

#include "base/status.h"
#include "scope/read/open.h"
#include "scope/store/store.h"

/*
 * Options are those of osc_open; device events are always read. A sealed store. Metadata "source"
 * is "trace" or "session" with all that osc_open reads, or "artifact": then metadata holds what the
 * file says of itself under readable keys, first of them "kind". A vendor's closed file is
 * "artifact" too, with a finding that gives the command that makes it readable. *out is NULL when
 * the path cannot be read at all.
 */
OSC_MUST_CHECK osc_status osc_describe(const char *path, const osc_open_options *options,
                                       osc_store **out, osc_err *err);

#endif
