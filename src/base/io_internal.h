/*
 * io_internal.h - what the .c files behind io.h share.
 */
#ifndef OSC_BASE_IO_INTERNAL_H
#define OSC_BASE_IO_INTERNAL_H

#include "base/status.h"

#include <stddef.h>

/* Fills err from errno: "cannot <action>: <reason>"; OSC_ENOTFOUND for an absent path, OSC_ENOMEM,
 * else OSC_EIO. */
osc_status osc_io_fail(osc_err *err, const char *path, const char *action);

/* Writes all bytes, going on after signals and short writes. path is for the message. */
osc_status osc_io_write_all(int fd, const char *path, const void *data, size_t len,
                            osc_err *err) OSC_MUST_CHECK;

/*
 * Creates a file nobody else has, beside path, with its name in *name (NULL when there is no
 * memory; the caller frees it). Its descriptor, or -1 with errno set.
 */
int osc_io_create_temporary(const char *path, char **name);

#endif
