/* device_open.h - where the device work of a path lies: a vendor's profile, a session, or the
 * directory of one .ntff with its .neff beside it. */
#ifndef OSC_READ_DEVICE_OPEN_H
#define OSC_READ_DEVICE_OPEN_H

#include "base/status.h"

#include <stdint.h>

/*
 * The path to open for the device work that path names: its directory for an .ntff of ours, where
 * *hash becomes the number of its program, to choose that program's executions; else path itself,
 * and *hash 0. *out is freed by the caller with osc_free. OSC_ENOMEM only: what is wrong with the
 * path, opening it says.
 */
OSC_MUST_CHECK osc_status osc_device_path(const char *path, char **out, uint64_t *hash,
                                          osc_err *err);

#endif
